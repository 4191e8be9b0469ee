/* The input as UTF-8. UTF-8, UTF-16 and windows-1252 are decoded here; the others by
 * iconv(), whose modules of each charset are opened once and stay open. */
#include "html.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* Labels as documents have them, and what iconv() calls the charset that browsers take
 * for them. "": one of ours. */
static const struct label {
    const char *label, *name;
} labels[] = {
    {"utf-8", ""},
    {"utf8", ""},
    {"unicode-1-1-utf-8", ""},
    {"us-ascii", "1252"},
    {"ascii", "1252"},
    {"iso-8859-1", "1252"},
    {"iso8859-1", "1252"},
    {"iso_8859-1", "1252"},
    {"latin1", "1252"},
    {"l1", "1252"},
    {"windows-1252", "1252"},
    {"cp1252", "1252"},
    {"x-cp1252", "1252"},
    {"utf-16", "16le"},
    {"utf-16le", "16le"},
    {"unicode", "16le"},
    {"utf-16be", "16be"},
    {"windows-1250", "CP1250"},
    {"cp1250", "CP1250"},
    {"windows-1251", "CP1251"},
    {"cp1251", "CP1251"},
    {"windows-1253", "CP1253"},
    {"windows-1254", "CP1254"},
    {"iso-8859-9", "CP1254"},
    {"latin5", "CP1254"},
    {"windows-1255", "CP1255"},
    {"windows-1256", "CP1256"},
    {"windows-1257", "CP1257"},
    {"windows-1258", "CP1258"},
    {"iso-8859-2", "ISO-8859-2"},
    {"latin2", "ISO-8859-2"},
    {"iso-8859-3", "ISO-8859-3"},
    {"iso-8859-4", "ISO-8859-4"},
    {"iso-8859-5", "ISO-8859-5"},
    {"iso-8859-6", "ISO-8859-6"},
    {"iso-8859-7", "ISO-8859-7"},
    {"iso-8859-8", "ISO-8859-8"},
    {"iso-8859-13", "ISO-8859-13"},
    {"iso-8859-15", "ISO-8859-15"},
    {"latin9", "ISO-8859-15"},
    {"koi8-r", "KOI8-R"},
    {"koi8-u", "KOI8-U"},
    {"macintosh", "MACINTOSH"},
    {"shift_jis", "CP932"},
    {"shift-jis", "CP932"},
    {"sjis", "CP932"},
    {"x-sjis", "CP932"},
    {"windows-31j", "CP932"},
    {"euc-jp", "EUC-JP-MS"},
    {"x-euc-jp", "EUC-JP-MS"},
    {"iso-2022-jp", "ISO-2022-JP"},
    {"euc-kr", "UHC"},
    {"ks_c_5601-1987", "UHC"},
    {"gb2312", "GB18030"},
    {"gbk", "GB18030"},
    {"x-gbk", "GB18030"},
    {"gb18030", "GB18030"},
    {"big5", "BIG5-HKSCS"},
    {"big5-hkscs", "BIG5-HKSCS"},
};
enum { N_LABELS = sizeof labels / sizeof labels[0] };

struct html_charsets {
    iconv_t open[N_LABELS];
};

static bool is_ours(const char *name)
{
    return name[0] == '\0' || name[0] == '1';
}

struct html_charsets *html_charsets_new(const struct mcplug_mem *mem)
{
    struct html_charsets *c = mem->alloc(sizeof *c);
    for (size_t i = 0; c && i < N_LABELS; i++) {
        bool again = i > 0 && strcmp(labels[i].name, labels[i - 1].name) == 0;
        c->open[i] = is_ours(labels[i].name) || again
                         ? (iconv_t)-1
                         : iconv_open("UTF-8", labels[i].name);
    }
    return c;
}

void html_charsets_free(const struct mcplug_mem *mem, struct html_charsets *c)
{
    for (size_t i = 0; c && i < N_LABELS; i++)
        if (c->open[i] != (iconv_t)-1)
            iconv_close(c->open[i]);
    mem->free(c);
}

/* ---- which one ---- */

static const char *find_label(const char *label, size_t len)
{
    for (size_t i = 0; i < N_LABELS; i++)
        if (strlen(labels[i].label) == len &&
            strncasecmp(labels[i].label, label, len) == 0)
            return labels[i].name;
    return NULL;
}

/* The value after `=`, perhaps quoted; NULL: a label that is not known. */
static const char *label_after(const char *s, const char *end)
{
    while (s < end && isspace((unsigned char)*s))
        s++;
    if (s == end || *s++ != '=')
        return NULL;
    while (s < end && (isspace((unsigned char)*s) || *s == '"' || *s == '\''))
        s++;
    const char *label = s;
    while (s < end && (isalnum((unsigned char)*s) || *s == '-' || *s == '_'))
        s++;
    return find_label(label, (size_t)(s - label));
}

static const char *find(const char *s, const char *end, const char *word)
{
    size_t n = strlen(word);
    for (; (size_t)(end - s) >= n; s++)
        if (strncasecmp(s, word, n) == 0)
            return s;
    return NULL;
}

/* What `<meta charset=..>`, `<meta .. content="..; charset=..">` or `<?xml encoding=..?>`
 * declares. Such a declaration can be read, so it is not in UTF-16, whatever it says. */
static const char *declared(struct mcplug_bytes in)
{
    const char *s = (const char *)in.data;
    const char *end = s + (in.len < HTML_SNIFF_MAX ? in.len : HTML_SNIFF_MAX);
    const char *name = NULL, *tag, *word;
    if ((size_t)(end - s) > 5 && memcmp(s, "<?xml", 5) == 0) {
        const char *stop = memchr(s, '>', (size_t)(end - s));
        if (stop && (word = find(s, stop, "encoding")))
            name = label_after(word + 8, stop);
    }
    while (!name && (tag = find(s, end, "<meta"))) {
        const char *stop = memchr(tag, '>', (size_t)(end - tag));
        stop = stop ? stop : end;
        if ((word = find(tag, stop, "charset")))
            name = label_after(word + 7, stop);
        s = stop;
    }
    return name && strncmp(name, "16", 2) == 0 ? "" : name;
}

/* ---- decoding ---- */

/* The length of the valid UTF-8 character at `s`; 0: there is none. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] > 0xf4 || n > left || n < 2)
        return s[0] < 0x80 ? 1 : 0;
    uint32_t c = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

static bool from_utf8(struct mcplug_bytes in, struct plain_text *out)
{
    bool valid = true;
    size_t from = 0, i = 0;
    while (i < in.len) {
        size_t n = utf8_len(in.data + i, in.len - i);
        if (n == 0) {
            valid = false;
            plain_text_add(out, (const char *)in.data + from, i - from);
            plain_text_add(out, REPLACEMENT, 3);
            /* One for a character that is cut short. */
            while (++i < in.len && (in.data[i] & 0xc0) == 0x80)
                ;
            from = i;
        }
        i += n;
    }
    plain_text_add(out, (const char *)in.data + from, in.len - from);
    return valid;
}

static void add_char(struct plain_text *out, uint32_t c)
{
    char s[4];
    size_t n = 0;
    if (c < 0x80) {
        s[n++] = (char)c;
    } else if (c < 0x800) {
        s[n++] = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        s[n++] = (char)(0xe0 | c >> 12);
        s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    } else {
        s[n++] = (char)(0xf0 | c >> 18);
        s[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    }
    if (c >= 0x80)
        s[n++] = (char)(0x80 | (c & 0x3f));
    plain_text_add(out, s, n);
}

static void from_1252(struct mcplug_bytes in, struct plain_text *out)
{
    static const uint16_t high[32] = {
        0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
        0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d,   0x017d, 0x8f,
        0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
        0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};
    for (size_t i = 0; i < in.len; i++) {
        unsigned char c = in.data[i];
        add_char(out, c >= 0x80 && c < 0xa0 ? high[c - 0x80] : c);
    }
}

static uint32_t unit(const unsigned char *s, bool big)
{
    return big ? (uint32_t)s[0] << 8 | s[1] : (uint32_t)s[1] << 8 | s[0];
}

static void from_utf16(struct mcplug_bytes in, bool big, struct plain_text *out)
{
    for (size_t i = 0; i + 1 < in.len; i += 2) {
        uint32_t c = unit(in.data + i, big);
        uint32_t low = i + 3 < in.len ? unit(in.data + i + 2, big) : 0;
        if (c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            i += 2;
        }
        add_char(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    }
    if (in.len % 2)
        add_char(out, 0xfffd);
}

/* False: that charset cannot be opened. Opened anew, for a descriptor has a state. */
static bool from_iconv(const char *name, struct mcplug_bytes in, struct plain_text *out)
{
    iconv_t cd = iconv_open("UTF-8", name);
    if (cd == (iconv_t)-1)
        return false;
    char *from = (char *)in.data, part[4096];
    size_t left = in.len;
    while (left > 0) {
        char *to = part;
        size_t room = sizeof part;
        size_t r = iconv(cd, &from, &left, &to, &room);
        plain_text_add(out, part, sizeof part - room);
        if (r == (size_t)-1 && errno != E2BIG && left > 0) {
            plain_text_add(out, REPLACEMENT, 3);
            from++;
            left--;
            iconv(cd, NULL, NULL, NULL, NULL);
        }
    }
    iconv_close(cd);
    return true;
}

static void from_ascii(struct mcplug_bytes in, struct plain_text *out)
{
    for (size_t i = 0; i < in.len; i++)
        add_char(out, in.data[i] < 0x80 ? in.data[i] : 0xfffd);
}

static struct mcplug_bytes skip(struct mcplug_bytes in, size_t n)
{
    return (struct mcplug_bytes){in.data + n, in.len - n};
}

void html_decode(const char *mime, struct mcplug_bytes in, struct plain_text *out)
{
    const char *name = NULL, *word = NULL;
    if (in.len >= 3 && memcmp(in.data, "\xef\xbb\xbf", 3) == 0) {
        name = "";
        in = skip(in, 3);
    } else if (in.len >= 2 && memcmp(in.data, "\xff\xfe", 2) == 0) {
        name = "16le";
        in = skip(in, 2);
    } else if (in.len >= 2 && memcmp(in.data, "\xfe\xff", 2) == 0) {
        name = "16be";
        in = skip(in, 2);
    }
    if (!name && mime && (word = find(mime, mime + strlen(mime), "charset")))
        name = label_after(word + 7, mime + strlen(mime));
    if (!name)
        name = declared(in);
    if (!name) {
        if (from_utf8(in, out))
            return;
        out->len = 0;
        name = "1252";
    }
    if (strcmp(name, "1252") == 0)
        from_1252(in, out);
    else if (name[0] == '1')
        from_utf16(in, strcmp(name, "16be") == 0, out);
    else if (name[0] == '\0')
        from_utf8(in, out);
    else if (!from_iconv(name, in, out))
        from_ascii(in, out);
}
