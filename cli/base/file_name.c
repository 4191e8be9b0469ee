#include "cli/base/file_name.h"

#include "base/mem.h"
#include "base/text.h"

#include <strings.h>

#define SEGMENT_MAX 1024 /* bytes that are looked at */
#define EXTENSION_MAX 16

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (mp_lower(c) >= 'a' && mp_lower(c) <= 'z');
}

/* ---- the last segment ---- */

/* Of SCHEME:REST; one letter is no scheme but a drive. */
static size_t scheme_len(const char *uri, size_t len)
{
    size_t n = 0;

    while (n < len && (is_alnum(uri[n]) || uri[n] == '+' || uri[n] == '-'))
        n++;
    return n > 1 && n < len && uri[n] == ':' ? n + 1 : 0;
}

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

static struct mcplug_bytes last_segment(const char *uri, size_t len, bool *is_uri)
{
    size_t scheme = scheme_len(uri, len), end = scheme, start;

    *is_uri = scheme != 0;
    if (scheme == 5 && strncasecmp(uri, "data:", 5) == 0)
        return mp_bytes(uri, 0);
    while (end < len && !(scheme && (uri[end] == '?' || uri[end] == '#')))
        end++;
    while (end > scheme && is_separator(uri[end - 1]))
        end--;
    for (start = end; start > scheme && !is_separator(uri[start - 1]);)
        start--;
    if (end - start > SEGMENT_MAX)
        start = end - SEGMENT_MAX;
    return mp_bytes(uri + start, end - start);
}

static size_t decode(struct mcplug_bytes text, bool is_uri, char *out)
{
    const char *p = (const char *)text.data;
    size_t put = 0;

    for (size_t i = 0; i < text.len; i++) {
        bool escape = is_uri && p[i] == '%' && text.len - i > 2 &&
                      mp_hex_value(p[i + 1]) >= 0 && mp_hex_value(p[i + 2]) >= 0;
        out[put++] =
            escape ? (char)(mp_hex_value(p[i + 1]) << 4 | mp_hex_value(p[i + 2])) : p[i];
        i += escape ? 2 : 0;
    }
    return put;
}

/* ---- what may be in a name ---- */

static bool is_fit(const unsigned char *p, size_t n)
{
    if (n == 1)
        return is_alnum((char)*p) || (*p && strchr("._-+@=,", *p));
    if (n == 0)
        return false;
    uint32_t c = mp_utf8_get(p, n);
    /* no blanks, quotes and dots of other scripts, nor what others have for themselves */
    return c >= 0xc0 && !(c >= 0x2000 && c <= 0x206f) && c != 0x3000 &&
           !(c >= 0xe000 && c <= 0xf8ff) && c < 0xe0000 && !mp_utf8_deceives(c);
}

/* In place: it only gets shorter. */
static size_t clean(char *text, size_t len)
{
    size_t put = 0;

    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = mp_utf8_len((const unsigned char *)text + i, len - i);
        if (is_fit((const unsigned char *)text + i, n)) {
            memmove(text + put, text + i, n);
            put += n;
        } else if (put == 0 || text[put - 1] != '_') {
            text[put++] = '_';
        }
    }
    return put;
}

const char *cli_name_extension(const char *name)
{
    const char *dot = strrchr(name, '.'), *end = name + strlen(name);

    if (!dot || dot == name || end - dot < 2 || end - dot > EXTENSION_MAX)
        return end;
    for (const char *p = dot + 1; p < end; p++)
        if (!is_alnum(*p))
            return end;
    return dot;
}

void mp_safe_name(const char *uri, size_t len, struct mp_str *out)
{
    char text[SEGMENT_MAX + 1], *name = text;
    bool is_uri;
    struct mcplug_bytes segment = last_segment(uri, len, &is_uri);
    size_t n = clean(text, decode(segment, is_uri, text));

    for (; n && strchr("._-", *name); name++)
        n--;
    while (n && strchr("._", name[n - 1]))
        n--;
    name[n] = '\0';
    const char *extension = cli_name_extension(name);
    size_t tail = strlen(extension), stem = n - tail;
    if (stem > CLI_SAFE_NAME_MAX - tail) {
        stem = CLI_SAFE_NAME_MAX - tail;
        while (stem && ((unsigned char)name[stem] & 0xc0) == 0x80)
            stem--;
    }
    if (n) {
        mp_str_add(out, name, stem);
        mp_str_add(out, extension, tail);
    }
}

/* ---- media types ---- */

const char *mp_mime_extension(const char *mime, size_t len)
{
    static const struct {
        const char *mime, *extension;
    } types[] = {
        {"application/gzip", ".gz"},   {"application/javascript", ".js"},
        {"application/json", ".json"}, {"application/pdf", ".pdf"},
        {"application/xml", ".xml"},   {"application/yaml", ".yaml"},
        {"application/zip", ".zip"},   {"audio/aac", ".aac"},
        {"audio/flac", ".flac"},       {"audio/mp4", ".m4a"},
        {"audio/mp3", ".mp3"},         {"audio/mpeg", ".mp3"},
        {"audio/ogg", ".ogg"},         {"audio/wav", ".wav"},
        {"audio/x-wav", ".wav"},       {"audio/webm", ".weba"},
        {"image/avif", ".avif"},       {"image/bmp", ".bmp"},
        {"image/gif", ".gif"},         {"image/jpeg", ".jpg"},
        {"image/jpg", ".jpg"},         {"image/png", ".png"},
        {"image/svg+xml", ".svg"},     {"image/tiff", ".tiff"},
        {"image/webp", ".webp"},       {"text/css", ".css"},
        {"text/csv", ".csv"},          {"text/html", ".html"},
        {"text/javascript", ".js"},    {"text/markdown", ".md"},
        {"text/xml", ".xml"},          {"text/yaml", ".yaml"},
        {"video/mp4", ".mp4"},         {"video/webm", ".webm"},
    };
    const char *parameters = len ? memchr(mime, ';', len) : NULL;

    if (parameters)
        len = (size_t)(parameters - mime);
    while (len && mime[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < MP_COUNT(types); i++)
        if (strlen(types[i].mime) == len && strncasecmp(types[i].mime, mime, len) == 0)
            return types[i].extension;
    return len > 5 && strncasecmp(mime, "text/", 5) == 0 ? ".txt" : ".bin";
}
