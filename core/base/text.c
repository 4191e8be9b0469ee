#include "base/text.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

bool mp_text_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

size_t mp_utf8_len(const unsigned char *p, size_t avail)
{
    if (avail == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;

    size_t n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (avail < n)
        return 0;
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

bool mp_is_utf8(const char *text)
{
    size_t left = strlen(text), n = 1;

    for (; left && n; text += n, left -= n)
        n = mp_utf8_len((const unsigned char *)text, left);
    return left == 0;
}

size_t mp_utf8_put(uint32_t code, char out[4])
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; --i; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[n] | code);
    return n;
}

uint32_t mp_utf8_get(const unsigned char *p, size_t n)
{
    static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = p[0] & mask[n];
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (p[i] & 0x3f);
    return code;
}

/* By their first character, the last included. Beside control characters, these are
 * Default_Ignorable_Code_Point of Unicode, separators of lines, annotations, and
 * characters whose glyph is empty. Spaces of other widths show as what they are. */
static const struct {
    uint32_t first, last;
} deceiving[] = {
    {0x00, 0x1f},       /* C0 */
    {0x7f, 0x9f},       /* DEL, C1 */
    {0xad, 0xad},       /* soft hyphen */
    {0x34f, 0x34f},     /* combining grapheme joiner */
    {0x61c, 0x61c},     /* Arabic letter mark, of direction */
    {0x70f, 0x70f},     /* Syriac abbreviation mark */
    {0x115f, 0x1160},   /* Hangul fillers */
    {0x17b4, 0x17b5},   /* Khmer inherent vowels */
    {0x180b, 0x180f},   /* Mongolian variation selectors, vowel separator */
    {0x200b, 0x200f},   /* zero width, direction */
    {0x2028, 0x202e},   /* separators of lines, embedding and override of direction */
    {0x2060, 0x206f},   /* invisible operators, isolates of direction */
    {0x2800, 0x2800},   /* Braille without dots */
    {0x3164, 0x3164},   /* Hangul filler */
    {0xfe00, 0xfe0f},   /* variation selectors */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xffa0, 0xffa0},   /* Hangul filler of half width */
    {0xfff0, 0xfffc},   /* reserved, annotations, object replacement */
    {0x13430, 0x1343f}, /* controls of hieroglyphs */
    {0x16fe4, 0x16fe4}, /* Khitan filler */
    {0x1bca0, 0x1bca3}, /* controls of shorthand */
    {0x1d159, 0x1d159}, /* null notehead */
    {0x1d173, 0x1d17a}, /* controls of musical notation */
    {0xe0000, 0xe0fff}, /* tags, more variation selectors */
};

bool mp_utf8_deceives(uint32_t c)
{
    size_t low = 0, high = MP_COUNT(deceiving);

    if (c >= 0x20 && c < 0x7f)
        return false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c > deceiving[middle].last)
            low = middle + 1;
        else if (c < deceiving[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

size_t mp_escape(const char *text, size_t *len, bool multiline, bool more, char *out,
                 size_t cap)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + *len;
    size_t done = 0;

    while (p < end) {
        char shown[16];
        size_t n = mp_utf8_len(p, (size_t)(end - p)), put;
        if (n == 0) {
            size_t want = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc2 ? 2 : 1;
            if (more && (size_t)(end - p) < want) /* it may go on behind `end` */
                break;
            put = (size_t)snprintf(shown, sizeof shown, "\\x%02x", *p);
            n = 1;
        } else {
            uint32_t code = mp_utf8_get(p, n);
            bool kept = multiline && (code == '\n' || code == '\t');
            if (!kept && mp_utf8_deceives(code))
                put = (size_t)snprintf(shown, sizeof shown,
                                       code < 0x80 ? "\\x%02x" : "\\u{%x}", code);
            else
                put = mp_utf8_put(code, shown);
        }
        if (put > cap - done)
            break;
        memcpy(out + done, shown, put);
        done += put;
        p += n;
    }
    *len = (size_t)(p - (const unsigned char *)text);
    return done;
}

bool mp_str_add_escaped(struct mp_str *s, const char *text, size_t len, bool multiline)
{
    char out[512];
    while (len) {
        size_t used = len;
        size_t put = mp_escape(text, &used, multiline, false, out, sizeof out);
        if (!mp_str_add(s, out, put))
            return false;
        text += used;
        len -= used;
    }
    return true;
}

/* Length of the blank or control character there; 0: it is none. */
static size_t blank_len(const unsigned char *p, size_t len)
{
    if (*p <= ' ' || *p == 0x7f)
        return 1;
    return len > 1 && p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0 ? 2 : 0;
}

size_t mp_text_line(char *out, size_t size, const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = 0, end = 0; /* `end`: after the last that is no blank */

    for (size_t k; len; p += k, len -= k) {
        size_t blank = blank_len(p, len), whole = mp_utf8_len(p, len);
        k = blank ? blank : whole ? whole : 1;
        if (n + k >= size)
            break;
        if (blank && !n)
            continue;
        if (blank || !whole) {
            out[n++] = blank ? ' ' : '?';
        } else {
            memcpy(out + n, p, k);
            n += k;
        }
        end = blank ? end : n;
    }
    out[end] = '\0';
    return end;
}

void mp_text_duration(char *out, size_t size, uint64_t ms, bool exact)
{
    unsigned long long s = ms / 1000;

    if (s == 0 || (exact && ms % 1000))
        snprintf(out, size, "%llums", (unsigned long long)ms);
    else if (exact || s < 60)
        snprintf(out, size, "%llus", s);
    else
        snprintf(out, size, "%llum %llus", s / 60, s % 60);
}

/* Goes back to the last * only: what the ones before it stood for need never change. */
bool mp_glob(const char *pattern, const char *text, bool any_case)
{
    const char *star = NULL, *again = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (*pattern == *text ||
                   (any_case && mp_lower(*pattern) == mp_lower(*text))) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
