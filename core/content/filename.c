#include "content/filename.h"

#include "base/mem.h"
#include "base/text.h"

/* Bytes of a segment that are looked at, half of them at its end. */
#define RAW_MAX 1024

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Of ASCII, whatever the locale of the program is. */
static bool is_same(const char *a, const char *b, size_t len)
{
    size_t i = 0;

    while (i < len && mp_lower(a[i]) == mp_lower(b[i]))
        i++;
    return i == len;
}

/* ---- the last segment ---- */

/* The length of "SCHEME:"; 0: there is none. One letter is a drive, unless // follows. */
static size_t scheme_len(const char *uri, size_t len)
{
    size_t n = 0;

    while (n < len && (is_plain(uri[n]) || (n && strchr("+.-", uri[n]) && uri[n])))
        n++;
    if (n == 0 || n == len || uri[n] != ':')
        return 0;
    return n > 1 || (len > 3 && uri[2] == '/' && uri[3] == '/') ? n + 1 : 0;
}

static size_t decode(char *text, size_t len)
{
    size_t put = 0;

    for (size_t i = 0; i < len; i++) {
        int high = text[i] == '%' && len - i > 2 ? mp_hex_value(text[i + 1]) : -1;
        int low = high >= 0 ? mp_hex_value(text[i + 2]) : -1;
        text[put++] = low >= 0 ? (char)(high << 4 | low) : text[i];
        i += low >= 0 ? 2 : 0;
    }
    return put;
}

static size_t last_segment(const char *uri, size_t len, char raw[RAW_MAX])
{
    size_t scheme = scheme_len(uri, len);

    if (scheme == 5 && is_same(uri, "data:", 5))
        return 0; /* its segments are data */
    uri += scheme;
    len -= scheme;
    for (size_t i = 0; scheme && i < len; i++)
        if (uri[i] == '?' || uri[i] == '#')
            len = i;
    while (len && (uri[len - 1] == '/' || uri[len - 1] == '\\'))
        len--;
    size_t start = len;
    while (start && uri[start - 1] != '/' && uri[start - 1] != '\\')
        start--;
    uri += start;
    len -= start;
    if (len <= RAW_MAX) {
        memcpy(raw, uri, len);
    } else {
        memcpy(raw, uri, RAW_MAX / 2);
        memcpy(raw + RAW_MAX / 2, uri + len - RAW_MAX / 2, RAW_MAX / 2);
        len = RAW_MAX;
    }
    return scheme ? decode(raw, len) : len;
}

/* ---- what may be in a name ---- */

/* Beside what is invisible: blanks, quotes and slashes of other scripts. */
static bool is_awkward(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0xa0, 0xa0},        {0xab, 0xab},     {0xb4, 0xb4},     {0xbb, 0xbb},
        {0x1680, 0x1680},    {0x2000, 0x200a}, {0x2018, 0x201f}, {0x202f, 0x202f},
        {0x2039, 0x203a},    {0x2044, 0x2044}, {0x205f, 0x205f}, {0x2215, 0x2215},
        {0x3000, 0x3000},    {0xe000, 0xf8ff}, {0xfdd0, 0xfdef}, {0xff02, 0xff02},
        {0xff07, 0xff07},    {0xff0f, 0xff0f}, {0xff3c, 0xff3c}, {0xfffd, 0xffff},
        {0xf0000, 0x10ffff},
    };

    for (size_t i = 0; i < MP_COUNT(ranges); i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return mp_utf8_deceives(c);
}

/* In place: it never gets longer. */
static size_t clean(char *text, size_t len)
{
    size_t put = 0;

    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        const unsigned char *p = (const unsigned char *)text + i;
        n = mp_utf8_len(p, len - i);
        bool good = n == 1 ? is_plain(text[i]) || (text[i] && strchr("._-+@=,", text[i]))
                           : n > 1 && !is_awkward(mp_utf8_get(p, n));
        if (good) {
            memmove(text + put, p, n);
            put += n;
        } else if (put == 0 || text[put - 1] != '_') {
            text[put++] = '_';
        }
    }
    return put;
}

const char *mp_name_extension(const char *name)
{
    const char *dot = strrchr(name, '.'), *end = name + strlen(name);

    if (!dot || dot == name || end - dot < 2 || end - dot > MP_EXTENSION_MAX + 1)
        return end;
    for (const char *p = dot + 1; p < end; p++)
        if (!is_plain(*p))
            return end;
    return dot;
}

size_t mp_safe_name_put(const char *uri, size_t len, size_t max, char *out)
{
    char raw[RAW_MAX + 1], *name = raw;
    size_t n = clean(raw, last_segment(uri, len, raw));

    while (n && strchr("._-", name[0])) {
        name++;
        n--;
    }
    while (n && strchr("._", name[n - 1]))
        n--;
    name[n] = '\0';
    const char *extension = mp_name_extension(name);
    size_t tail = strlen(extension), stem = n - tail;
    if (tail >= max) { /* there is room for a piece of the whole alone */
        stem = n;
        tail = 0;
    }
    if (stem + tail > max) {
        stem = max - tail;
        while (stem && ((unsigned char)name[stem] & 0xc0) == 0x80)
            stem--;
        while (tail == 0 && stem && strchr("._", name[stem - 1]))
            stem--;
    }
    memcpy(out, name, stem);
    memcpy(out + stem, extension, tail);
    out[stem + tail] = '\0';
    return stem + tail;
}

void mp_safe_name(const char *uri, size_t len, struct mp_str *out)
{
    char name[MP_SAFE_NAME_MAX + 1];

    mp_str_add(out, name, mp_safe_name_put(uri, len, MP_SAFE_NAME_MAX, name));
}

/* ---- media types ---- */

#define OFFICE "application/vnd.openxmlformats-officedocument."
#define OPEN "application/vnd.oasis.opendocument."

static const struct {
    const char *mime, *extension;
} types[] = {
    {"application/atom+xml", ".atom"},
    {"application/epub+zip", ".epub"},
    {"application/gzip", ".gz"},
    {"application/x-gzip", ".gz"},
    {"application/java-archive", ".jar"},
    {"application/javascript", ".js"},
    {"application/json", ".json"},
    {"application/ld+json", ".jsonld"},
    {"application/jsonl", ".jsonl"},
    {"application/x-ndjson", ".jsonl"},
    {"application/x-ipynb+json", ".ipynb"},
    {"application/msword", ".doc"},
    {"application/ogg", ".ogg"},
    {"application/pdf", ".pdf"},
    {"application/x-pdf", ".pdf"},
    {"application/postscript", ".ps"},
    {"application/rtf", ".rtf"},
    {"application/sql", ".sql"},
    {"application/toml", ".toml"},
    {"application/vnd.apache.parquet", ".parquet"},
    {"application/vnd.ms-excel", ".xls"},
    {"application/vnd.ms-powerpoint", ".ppt"},
    {"application/vnd.sqlite3", ".sqlite"},
    {OPEN "presentation", ".odp"},
    {OPEN "spreadsheet", ".ods"},
    {OPEN "text", ".odt"},
    {OFFICE "presentationml.presentation", ".pptx"},
    {OFFICE "spreadsheetml.sheet", ".xlsx"},
    {OFFICE "wordprocessingml.document", ".docx"},
    {"application/wasm", ".wasm"},
    {"application/x-7z-compressed", ".7z"},
    {"application/x-bzip2", ".bz2"},
    {"application/x-sh", ".sh"},
    {"application/x-tar", ".tar"},
    {"application/x-xz", ".xz"},
    {"application/x-yaml", ".yaml"},
    {"application/xhtml+xml", ".xhtml"},
    {"application/xml", ".xml"},
    {"application/yaml", ".yaml"},
    {"application/zip", ".zip"},
    {"application/x-zip-compressed", ".zip"},
    {"application/zstd", ".zst"},
    {"audio/aac", ".aac"},
    {"audio/flac", ".flac"},
    {"audio/x-flac", ".flac"},
    {"audio/midi", ".mid"},
    {"audio/mp4", ".m4a"},
    {"audio/x-m4a", ".m4a"},
    {"audio/mp3", ".mp3"},
    {"audio/mpeg", ".mp3"},
    {"audio/ogg", ".ogg"},
    {"audio/opus", ".opus"},
    {"audio/wav", ".wav"},
    {"audio/wave", ".wav"},
    {"audio/vnd.wave", ".wav"},
    {"audio/x-wav", ".wav"},
    {"audio/webm", ".weba"},
    {"font/otf", ".otf"},
    {"font/ttf", ".ttf"},
    {"font/woff", ".woff"},
    {"font/woff2", ".woff2"},
    {"image/apng", ".apng"},
    {"image/avif", ".avif"},
    {"image/bmp", ".bmp"},
    {"image/gif", ".gif"},
    {"image/heic", ".heic"},
    {"image/heif", ".heif"},
    {"image/jpeg", ".jpg"},
    {"image/jpg", ".jpg"},
    {"image/jxl", ".jxl"},
    {"image/png", ".png"},
    {"image/svg+xml", ".svg"},
    {"image/tiff", ".tiff"},
    {"image/vnd.microsoft.icon", ".ico"},
    {"image/x-icon", ".ico"},
    {"image/webp", ".webp"},
    {"message/rfc822", ".eml"},
    {"text/calendar", ".ics"},
    {"text/css", ".css"},
    {"text/csv", ".csv"},
    {"text/html", ".html"},
    {"text/javascript", ".js"},
    {"text/markdown", ".md"},
    {"text/x-markdown", ".md"},
    {"text/plain", ".txt"},
    {"text/tab-separated-values", ".tsv"},
    {"text/vcard", ".vcf"},
    {"text/vtt", ".vtt"},
    {"text/x-c", ".c"},
    {"text/x-diff", ".diff"},
    {"text/x-python", ".py"},
    {"text/x-shellscript", ".sh"},
    {"text/xml", ".xml"},
    {"text/yaml", ".yaml"},
    {"text/x-yaml", ".yaml"},
    {"video/mp4", ".mp4"},
    {"video/mpeg", ".mpeg"},
    {"video/ogg", ".ogv"},
    {"video/quicktime", ".mov"},
    {"video/webm", ".webm"},
    {"video/x-matroska", ".mkv"},
    {"video/x-msvideo", ".avi"},
};

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len > n && is_same(text + len - n, end, n);
}

const char *mp_mime_extension(const char *mime, size_t len)
{
    const char *semicolon = len ? memchr(mime, ';', len) : NULL;

    if (semicolon)
        len = (size_t)(semicolon - mime);
    for (; len && (mime[0] == ' ' || mime[0] == '\t'); mime++)
        len--;
    while (len && (mime[len - 1] == ' ' || mime[len - 1] == '\t'))
        len--;
    for (size_t i = 0; i < MP_COUNT(types); i++)
        if (strlen(types[i].mime) == len && is_same(types[i].mime, mime, len))
            return types[i].extension;
    if (ends_with(mime, len, "+json"))
        return ".json";
    if (ends_with(mime, len, "+xml"))
        return ".xml";
    if (ends_with(mime, len, "+zip"))
        return ".zip";
    return len > 5 && is_same(mime, "text/", 5) ? ".txt" : ".bin";
}

const char *mp_extension_mime(const char *extension)
{
    for (size_t i = 0; i < MP_COUNT(types); i++)
        if (strlen(types[i].extension) == strlen(extension) &&
            is_same(types[i].extension, extension, strlen(extension)))
            return types[i].mime;
    return NULL;
}
