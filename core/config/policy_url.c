#include "config/policy_url.h"

#include "base/mem.h"
#include "base/text.h"

#include "../../plugins/common/ip.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define PASSES 8 /* how often something may be escaped */

static const char no_memory[] = "needs more memory than there is";

/* ---- letters ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return mp_lower(c) >= 'a' && mp_lower(c) <= 'z';
}

static void lower_all(char *text)
{
    for (; *text; text++)
        *text = mp_lower(*text);
}

/* ---- spellings of a path; all of them work in place, for nothing grows ---- */

/* The byte that is escaped at `p`, or -1. */
static int escaped(const char *p)
{
    if (p[0] != '%' || mp_hex_value(p[1]) < 0 || mp_hex_value(p[2]) < 0)
        return -1;
    return mp_hex_value(p[1]) << 4 | mp_hex_value(p[2]);
}

/* Is it written without an escape, in the spelling at hand? Not what would end the path,
 * or be a star. */
static bool is_plain(int c, bool thorough)
{
    if (c <= ' ' || c >= 0x7f)
        return false;
    return is_letter((char)c) || is_digit((char)c) || strchr("-._~/", c) ||
           (thorough && !strchr("*?#", c));
}

/* Once. Returns whether there was anything. */
static bool unescape(char *text, bool thorough)
{
    static const char digits[] = "0123456789ABCDEF";
    char *to = text;
    bool found = false;

    for (const char *p = text; *p;) {
        int c = escaped(p);
        if (is_plain(c, thorough)) {
            *to++ = (char)c;
            p += 3;
            found = true;
        } else if (c >= 0) { /* that it is in small letters or capitals means nothing */
            *to++ = '%';
            *to++ = digits[c >> 4];
            *to++ = digits[c & 15];
            p += 3;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
    return found;
}

/* A NUL ends a path for some, and C0 and C1 begin another spelling of ASCII: there is no
 * honest use for either. */
static bool has_trick(const char *text)
{
    for (const char *p = text; *p; p++) {
        int c = escaped(p);
        if (c == 0 || c == 0xc0 || c == 0xc1)
            return true;
    }
    return false;
}

/* Some take a backslash for a slash. */
static void merge_slashes(char *text, bool escapes)
{
    char *to = text;

    for (const char *p = text; *p; p++) {
        char c = escapes && *p == '\\' ? '/' : *p;
        if (c != '/' || to == text || to[-1] != '/')
            *to++ = c;
    }
    *to = '\0';
}

/* 1 for ".", 2 for "..", else 0. `thorough`: what begins with ; is not part of it. */
static int dots_of(const char *segment, size_t len, bool thorough)
{
    const char *semicolon = thorough ? memchr(segment, ';', len) : NULL;

    if (semicolon)
        len = (size_t)(semicolon - segment);
    if (len == 0 || len > 2 || segment[0] != '.' || segment[len - 1] != '.')
        return 0;
    return (int)len;
}

/* `path` begins with a slash. Returns whether there were any. */
static bool remove_dots(char *path, bool thorough)
{
    size_t len = strlen(path), n = 0;
    bool found = false;

    for (size_t at = 0, next; at < len; at = next) {
        next = at + 1 + strcspn(path + at + 1, "/");
        int dots = dots_of(path + at + 1, next - at - 1, thorough);
        if (dots == 0) {
            memmove(path + n, path + at, next - at);
            n += next - at;
            continue;
        }
        found = true;
        if (dots == 2)
            while (n > 0 && path[--n] != '/')
                ;
        if (next == len)
            path[n++] = '/';
    }
    path[n] = '\0';
    return found;
}

/* Respells `text`, which begins with a slash. `escapes`: it is of a URL that may have
 * them, and a query, which stays as it is. Returns NULL or what is wrong. */
static const char *respell(char *text, enum mp_spelling spelling, bool escapes,
                           bool *dots)
{
    size_t path = escapes ? strcspn(text, "?") : strlen(text), len = strlen(text);
    bool thorough = spelling == MP_BARE;
    char *query = text + path, mark = *query;

    if (spelling == MP_RAW)
        return NULL;
    *query = '\0';
    for (int i = 0; escapes && unescape(text, thorough) && thorough; i++)
        if (i == PASSES)
            return "has an escape of an escape of an escape";
    if (escapes && has_trick(text))
        return "has an escape that is not a character";
    if (thorough)
        merge_slashes(text, escapes);
    if (remove_dots(text, thorough && escapes))
        *dots = true;
    size_t now = strlen(text);
    *query = mark;
    memmove(text + now, query, len - path + 1);
    return NULL;
}

/* Fills out->path. Only what is of a URL keeps a slash that was put before it. */
static const char *spell_all(const char *text, size_t len, bool escapes,
                             struct mp_url_parts *out, bool *dots)
{
    size_t slash = len == 0 || text[0] != '/', size = slash + len + 1;
    const char *why = NULL;

    if (len >= URL_MAX)
        return "is too long";
    out->memory = mp_alloc(size * MP_SPELLINGS);
    if (!out->memory)
        return no_memory;
    *dots = false;
    for (size_t i = 0; !why && i < MP_SPELLINGS; i++) {
        char *path = out->memory + i * size;
        path[0] = '/';
        memcpy(path + slash, text, len);
        why = respell(path, (enum mp_spelling)i, escapes, dots);
        out->path[i] = path + (slash && !escapes);
    }
    return why;
}

void mp_url_parts_clear(struct mp_url_parts *parts)
{
    mp_free(parts->memory);
    memset(parts, 0, sizeof *parts);
}

/* ---- schemes ---- */

/* Returns its length with the colon, 0 when there is none. */
static size_t read_scheme(const char *text, struct mp_url_parts *out)
{
    size_t n = 0;

    while (is_letter(text[n]) ||
           (n && (is_digit(text[n]) || (text[n] && strchr("+-.", text[n])))))
        n++;
    if (n == 0 || n >= sizeof out->scheme || text[n] != ':')
        return 0;
    memcpy(out->scheme, text, n);
    out->scheme[n] = '\0';
    lower_all(out->scheme);
    return n + 1;
}

static bool has_host(const char *scheme)
{
    return strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0 ||
           strcmp(scheme, "ws") == 0 || strcmp(scheme, "wss") == 0;
}

/* A host may be written with slashes before it, capitals, and a dot at its end, a port
 * with zeros. */
static void respell_tcp(char *text)
{
    if (text[0] == '/' && text[1] == '/')
        memmove(text, text + 2, strlen(text + 2) + 1);
    lower_all(text);
    char *colon = strrchr(text, ':');
    while (colon && colon[1] == '0' && colon[2])
        memmove(colon + 1, colon + 2, strlen(colon + 2) + 1);
    if (colon && colon > text && colon[-1] == '.')
        memmove(colon - 1, colon, strlen(colon) + 1);
}

/* HOST, HOST:PORT, [IPV6]:PORT. */
struct tcp_parts {
    char host[IP_HOST_MAX]; /* plain */
    const char *port;       /* "": none */
};

static bool split_tcp(const char *text, struct tcp_parts *out)
{
    char host[IP_HOST_MAX];
    const char *bracket = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = bracket ? bracket + 1 : strrchr(text, ':');
    const char *end = colon ? colon : text + strlen(text);
    size_t len = (size_t)(end - text);

    if (len >= sizeof host || (*end && *end != ':'))
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    out->port = *end ? end + 1 : end;
    return ip_plain_host(host, out->host, sizeof out->host);
}

static const char *check_tcp(const char *text)
{
    struct tcp_parts parts;

    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p <= ' ' || *p >= 0x7f || *p == '\\')
            return "has a character that is not allowed in a host";
    return split_tcp(text, &parts) ? NULL : "has a malformed host";
}

/* What is behind the colon of unix:, tcp: and what other modules may know. */
static const char *read_rest(const char *rest, struct mp_url_parts *out)
{
    bool dots;

    if (!rest[0])
        return "has nothing after its scheme";
    const char *why = spell_all(rest, strlen(rest), false, out, &dots);
    if (why || strcmp(out->scheme, "tcp") != 0)
        return why;
    for (size_t i = 0; i < MP_SPELLINGS; i++) {
        strcpy(out->path[i], rest);
        respell_tcp(out->path[i]);
    }
    return check_tcp(out->path[MP_RAW]);
}

/* ---- patterns ---- */

/* `pattern`: stars may stand in it. Without a path, a pattern fits any. */
static const char *read_web(const char *text, bool pattern, struct mp_url_parts *out,
                            bool *dots)
{
    struct url url;
    const char *why = (pattern ? url_parse_pattern : url_parse)(text, &url);

    if (why)
        return why;
    if (!ip_plain_host(url.host, out->host, sizeof out->host))
        return "has a malformed host name";
    out->is_ipv6 = url.is_ipv6;
    out->port = url.port;
    return pattern && !url.target_len
               ? NULL
               : spell_all(text + url.target, url.target_len, true, out, dots);
}

const char *mp_pattern_read(const char *text, struct mp_url_parts *out)
{
    bool dots = false;

    memset(out, 0, sizeof *out);
    if (strnlen(text, URL_MAX) >= URL_MAX)
        return "is too long";
    size_t at = read_scheme(text, out);
    if (at == 0)
        return "does not begin with a scheme such as https:";
    if (!has_host(out->scheme))
        return read_rest(text + at, out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p <= ' ' || *p >= 0x7f || *p == '\\' || *p == '#')
            return "has a character that is not allowed in a URL: a blank, a backslash, "
                   "#, or one beyond ASCII";
    if (strncmp(text + at, "//", 2) != 0)
        return "has no // after its scheme";
    if (text[at + 2 + strcspn(text + at + 2, "/?")] == '?')
        return "has no / after its host";
    const char *why = read_web(text, true, out, &dots);
    return !why && dots ? "has a . or .. in its path, which is never sent to a server"
                        : why;
}

const char *mp_subject_url_read(const char *text, struct mp_url_parts *out)
{
    bool dots;

    memset(out, 0, sizeof *out);
    size_t at = read_scheme(text, out);
    if (at == 0)
        return "has no scheme";
    return has_host(out->scheme) ? read_web(text, false, out, &dots)
                                 : read_rest(text + at, out);
}

/* ---- does it fit? ---- */

static bool same_address(const char *a, const char *b)
{
    unsigned char x[IP_BYTES], y[IP_BYTES];

    return ip_read(a, x) && ip_read(b, y) && memcmp(x, y, sizeof x) == 0;
}

/* By what other names a rule of "deny" may mean that host: its address in one spelling,
 * and where it is this machine, whatever that is called. */
struct names {
    const char *list[5]; /* NULL-ended */
    char address[IP_TEXT];
};

static void names_of(const char *host, struct names *out)
{
    unsigned char address[IP_BYTES];
    size_t n = 0;

    out->list[n++] = host;
    if (ip_read(host, address)) {
        ip_text(address, out->address);
        out->list[n++] = out->address;
    }
    if (ip_host_is_loopback(host)) {
        out->list[n++] = "localhost";
        out->list[n++] = "127.0.0.1";
    }
    out->list[n] = NULL;
}

/* Both are plain. Every address and name of this machine is this machine. */
static bool is_same_host(const char *pattern, const char *host)
{
    return same_address(pattern, host) ||
           (ip_host_is_loopback(pattern) && ip_host_is_loopback(host));
}

/* A rule of "allow" that is about addresses does not fit a name that looks like one:
 * 10.evil.example. */
static bool is_no_address(const char *pattern, const char *host)
{
    struct in_addr four;

    return ip_is_pattern(pattern) && inet_pton(AF_INET, host, &four) != 1;
}

static bool host_fits(const struct mp_url_parts *pattern, const struct mp_url_parts *url,
                      bool deny)
{
    struct names names;

    if (pattern->host[strspn(pattern->host, "*")] == '\0')
        return true;
    if (!deny)
        return pattern->is_ipv6 == url->is_ipv6 && /* which has no stars */
               !is_no_address(pattern->host, url->host) &&
               mp_glob(pattern->host, url->host, false);
    if (is_same_host(pattern->host, url->host))
        return true;
    names_of(url->host, &names);
    for (size_t i = 0; names.list[i]; i++)
        if (!strchr(names.list[i], ':') && mp_glob(pattern->host, names.list[i], false))
            return true;
    return false;
}

static bool tcp_fits(const char *pattern, const char *url, bool deny)
{
    struct tcp_parts want, have;
    struct names names;
    char text[2 * IP_HOST_MAX];

    if (!split_tcp(pattern, &want) || !split_tcp(url, &have))
        return deny;
    if (!deny)
        return !is_no_address(want.host, have.host) && mp_glob(pattern, url, false);
    if (mp_glob(pattern, url, false) ||
        (mp_glob(want.port, have.port, false) && is_same_host(want.host, have.host)))
        return true;
    names_of(have.host, &names);
    for (size_t i = 0; names.list[i]; i++) { /* a star may stand for host and port */
        snprintf(text, sizeof text, "%s%s%s", names.list[i], *have.port ? ":" : "",
                 have.port);
        if (mp_glob(pattern, text, false))
            return true;
    }
    return false;
}

/* `deny`: a rule for a path is one for it with any query, too. */
static bool path_fits(const char *pattern, const char *path, bool deny)
{
    if (mp_glob(pattern, path, false))
        return true;
    const char *query = strchr(path, '?');
    if (!deny || !query || strchr(pattern, '?'))
        return false;
    char alone[URL_MAX + 1];
    memcpy(alone, path, (size_t)(query - path));
    alone[query - path] = '\0';
    return mp_glob(pattern, alone, false);
}

static bool paths_fit(const struct mp_url_parts *pattern, const struct mp_url_parts *url,
                      bool deny)
{
    bool web = has_host(url->scheme);

    if (!pattern->path[MP_RAW])
        return true;
    for (int i = deny || !web ? MP_RAW : MP_PLAIN; i < MP_SPELLINGS; i++)
        if (path_fits(pattern->path[i], url->path[i], deny && web) == deny)
            return deny;
    return !deny;
}

static bool port_fits(const struct mp_url_parts *pattern, const struct mp_url_parts *url)
{
    return !pattern->port || pattern->port == url->port;
}

bool mp_pattern_fits(const struct mp_url_parts *pattern, const struct mp_url_parts *url,
                     bool deny)
{
    if (strcmp(pattern->scheme, url->scheme) != 0)
        return false;
    if (strcmp(url->scheme, "tcp") == 0)
        return tcp_fits(pattern->path[MP_RAW], url->path[MP_RAW], deny);
    return (!has_host(url->scheme) ||
            (port_fits(pattern, url) && host_fits(pattern, url, deny))) &&
           paths_fit(pattern, url, deny);
}

/* ---- what it means for a socket ---- */

/* Any of this machine's addresses is all of them, also where a pattern has but one. */
static size_t addresses_of(const char *host, const char *port,
                           char out[MP_RULE_ADDRESSES][MP_RULE_ADDRESS])
{
    static const char *const local[] = {"127.*", "0.0.0.0", "[::1]", "[::]"};
    unsigned char address[IP_BYTES];
    char text[IP_TEXT];
    size_t n = 0;
    bool is_local = ip_host_is_loopback(host) || mp_glob(host, "127.0.0.1", false);

    for (size_t i = 0; is_local && i < MP_COUNT(local); i++)
        snprintf(out[n++], MP_RULE_ADDRESS, "%s:%s", local[i], port);
    if (ip_read(host, address)) {
        ip_text(address, text);
        snprintf(out[n++], MP_RULE_ADDRESS, strchr(text, ':') ? "[%s]:%s" : "%s:%s", text,
                 port);
    } else if (ip_is_pattern(host)) {
        snprintf(out[n++], MP_RULE_ADDRESS, "%s:%s", host, port);
    }
    return n;
}

size_t mp_pattern_addresses(const struct mp_url_parts *pattern,
                            const struct mp_url_parts *url,
                            char out[MP_RULE_ADDRESSES][MP_RULE_ADDRESS])
{
    struct tcp_parts want, have;
    char port[16] = "*";

    if (strcmp(pattern->scheme, url->scheme) != 0)
        return 0;
    if (strcmp(url->scheme, "tcp") == 0) {
        if (!split_tcp(pattern->path[MP_RAW], &want) ||
            !split_tcp(url->path[MP_RAW], &have))
            return 0;
        size_t len = strlen(want.host); /* a star at its end may stand for a port */
        const char *ports =
            !*want.port && len && want.host[len - 1] == '*' ? "*" : want.port;
        return mp_glob(ports, have.port, false) && strlen(ports) < 16
                   ? addresses_of(want.host, ports, out)
                   : 0;
    }
    if (!has_host(url->scheme) || !port_fits(pattern, url) ||
        !paths_fit(pattern, url, true))
        return 0;
    if (pattern->port)
        snprintf(port, sizeof port, "%u", pattern->port);
    return addresses_of(pattern->host, port, out);
}
