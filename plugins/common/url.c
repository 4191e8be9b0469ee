/* plugins/common/url.c - the addresses of servers, see url.h */
#include "url.h"

#include "ip.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_LEN = 253, LABEL_MAX_LEN = 63, REDIRECTS_MAX = 3 };

static const char too_long[] = "is too long";
static const char bad_scheme[] = "does not begin with http://, https://, ws:// or wss://";
static const char bad_host[] = "has a malformed host name";
static const char beyond_ascii[] = "has a character beyond ASCII, which needs an escape";
static const char foreign_host[] =
    "has letters beyond ASCII in its host name; write that in its xn-- form";

/* ---- letters, whatever the locale ------------------------------------------ */

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static int is_hex(char c)
{
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}

/* ---- parts ----------------------------------------------------------------- */

/* What holds for every part, of references too. */
static const char *check_text(const char *text)
{
    if (strnlen(text, URL_MAX) >= URL_MAX)
        return too_long;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p <= ' ' || *p == 0x7F)
            return "has a blank or control character";
        if (*p > 0x7F)
            return beyond_ascii;
        if (*p == '\\')
            return "has a backslash";
    }
    return NULL;
}

static int has_beyond_ascii(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] > 0x7F)
            return 1;
    return 0;
}

/* Returns the length of the scheme with "://", 0 when it is none of ours. */
static size_t parse_scheme(const char *text, struct url *out)
{
    static const struct {
        const char *name;
        uint16_t port;
        int secure;
    } table[] = {{"http", 80, 0}, {"https", 443, 1}, {"ws", 80, 0}, {"wss", 443, 1}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t len = strlen(table[i].name), n = 0;
        while (n < len && lower(text[n]) == table[i].name[n])
            n++;
        if (n < len || strncmp(text + len, "://", 3) != 0)
            continue;
        memcpy(out->scheme, table[i].name, len + 1);
        out->port = table[i].port;
        out->secure = table[i].secure;
        return len + 3;
    }
    return 0;
}

/* Some readers take 0x7f.1, 127.1, 0177.0.0.1 or a mere number for an address. Where
 * the last label looks like that, only four plain decimal numbers will do. */
static int is_numeric(const char *label, size_t len)
{
    size_t digits = 0, hex = 2;
    while (digits < len && is_digit(label[digits]))
        digits++;
    if (digits == len)
        return 1;
    if (len < 2 || label[0] != '0' || lower(label[1]) != 'x')
        return 0;
    while (hex < len && is_hex(label[hex]))
        hex++;
    return hex == len;
}

/* `pattern`: with stars, and with addresses in whatever spelling they are to be met. */
static const char *parse_name(const char *text, size_t len, int pattern, struct url *out)
{
    const char *last = out->host;
    size_t last_len = 0;
    struct in_addr address;

    if (len > NAME_MAX_LEN)
        return "has a host name that is too long";
    for (size_t i = 0; i < len; i++) {
        char c = lower(text[i]);
        if (c == '%')
            return "has an escape in its host name";
        if (!is_letter(c) && !is_digit(c) && !strchr(pattern ? "-_.*" : "-_.", c))
            return bad_host;
        out->host[i] = c;
    }
    out->host[len] = '\0';
    for (size_t at = 0; at < len; at += last_len + 1) { /* one dot may end the name */
        last = out->host + at;
        last_len = strcspn(last, ".");
        if (last_len == 0 || last_len > LABEL_MAX_LEN)
            return bad_host;
    }
    if (!pattern && is_numeric(last, last_len) &&
        inet_pton(AF_INET, out->host, &address) != 1)
        return "has a malformed IPv4 address";
    return NULL;
}

/* Written in one way only, so that equal addresses are equal text. */
static const char *parse_ipv6(const char *text, size_t len, struct url *out)
{
    struct in6_addr address;
    char copy[INET6_ADDRSTRLEN];

    if (len == 0 || len >= sizeof copy)
        return "has a malformed IPv6 address";
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (inet_pton(AF_INET6, copy, &address) != 1 ||
        !inet_ntop(AF_INET6, &address, out->host, sizeof out->host))
        return "has a malformed IPv6 address";
    out->is_ipv6 = 1;
    return NULL;
}

static const char *parse_port(const char *text, size_t len, int pattern, struct url *out)
{
    unsigned port = 0;
    if (pattern && len == 1 && text[0] == '*') {
        out->port = 0;
        return NULL;
    }
    if (len == 0 || len > 5 || text[0] == '0')
        return "has a malformed port";
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(text[i]))
            return "has a malformed port";
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    if (port > 65535)
        return "has a port above 65535";
    out->port = (uint16_t)port;
    return NULL;
}

static const char *parse_authority(const char *text, size_t len, int pattern,
                                   struct url *out)
{
    const char *end = text + len, *host_end, *why;

    if (memchr(text, '@', len))
        return "has a user name; use a header";
    if (len > 0 && text[0] == '[') {
        host_end = memchr(text, ']', len);
        if (!host_end)
            return "has a malformed IPv6 address";
        why = parse_ipv6(text + 1, (size_t)(host_end - text - 1), out);
        host_end++;
        if (!why && host_end < end && *host_end != ':')
            why = bad_host;
    } else {
        host_end = memchr(text, ':', len);
        if (!host_end)
            host_end = end;
        if (host_end == text)
            return "has no host name";
        why = parse_name(text, (size_t)(host_end - text), pattern, out);
    }
    if (!why && host_end < end)
        why = parse_port(host_end + 1, (size_t)(end - host_end - 1), pattern, out);
    return why;
}

static const char *parse(const char *text, int pattern, struct url *out)
{
    struct url url;
    memset(&url, 0, sizeof url);

    if (!text || !text[0])
        return "is empty";
    const char *why = check_text(text);
    size_t at = why && why != beyond_ascii ? 0 : parse_scheme(text, &url);
    size_t len = strcspn(text + at, "/?#");
    if (why == beyond_ascii && at > 0 && has_beyond_ascii(text + at, len))
        return foreign_host;
    if (why)
        return why;
    if (at == 0)
        return bad_scheme;
    why = parse_authority(text + at, len, pattern, &url);
    if (why)
        return why;
    url.target = at + len;
    url.target_len = strcspn(text + url.target, "#");
    *out = url;
    return NULL;
}

const char *url_parse(const char *text, struct url *out)
{
    return parse(text, 0, out);
}

const char *url_parse_pattern(const char *text, struct url *out)
{
    return parse(text, 1, out);
}

/* ---- origins --------------------------------------------------------------- */

int url_same_origin(const struct url *a, const struct url *b)
{
    return !a->secure == !b->secure && a->port == b->port && !a->is_ipv6 == !b->is_ipv6 &&
           strcmp(a->host, b->host) == 0;
}

int url_is_loopback(const struct url *url)
{
    char host[URL_HOST_MAX];

    return ip_plain_host(url->host, host, sizeof host) && ip_host_is_loopback(host);
}

void url_origin(const struct url *url, char *out, size_t size)
{
    const char *open = url->is_ipv6 ? "[" : "", *close = url->is_ipv6 ? "]" : "";
    char port[8] = "";

    if (url->port != (url->secure ? 443 : 80))
        snprintf(port, sizeof port, ":%u", (unsigned)url->port);
    snprintf(out, size, "%s://%s%s%s%s", url->scheme, open, url->host, close, port);
}

size_t url_scheme(const char *text)
{
    size_t n = 0;

    while (is_letter(text[n]) ||
           (n > 0 && text[n] && (is_digit(text[n]) || strchr("+.-", text[n]))))
        n++;
    return strncmp(text + n, "://", 3) == 0 ? n : 0;
}

/* Where the host begins behind a user name, in a text that has one which every reader
 * takes for that; 0: it has none, or readers differ. */
static size_t behind_login(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789-._~!$&'()*+,;=:%";
    size_t scheme = url_scheme(text), at = scheme + 3;

    if (scheme == 0)
        return 0;
    at += strspn(text + at, letters);
    if (text[at] != '@')
        return 0;
    at++;
    size_t host = strspn(text + at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789-._:[]");
    return host > 0 && (!text[at + host] || strchr("/?#", text[at + host])) ? at : 0;
}

void url_place(const char *text, char *out, size_t size)
{
    size_t len = strcspn(text, "?#"), host;
    struct url url;

    if (!url_parse(text, &url)) {
        url_origin(&url, out, size);
        size_t at = strlen(out);
        snprintf(out + at, size - at, "%.*s", (int)(len - url.target), text + url.target);
    } else if ((host = behind_login(text)) > 0 && !strchr(text + host, '@')) {
        snprintf(out, size, "%.*s%.*s", (int)(url_scheme(text) + 3), text,
                 (int)strcspn(text + host, "?#"), text + host);
    } else { /* what is before a later @ may be a password with a slash in it */
        snprintf(out, size, "%.*s", (int)(strchr(text, '@') ? strcspn(text, ":") : len),
                 text);
    }
}

/* ---- references ------------------------------------------------------------ */

struct joined {
    char data[URL_MAX];
    size_t len;
    int full; /* something did not fit */
};

static void add(struct joined *to, const char *text, size_t len)
{
    if (len >= sizeof to->data - to->len) {
        to->full = 1;
        return;
    }
    memcpy(to->data + to->len, text, len);
    to->len += len;
    to->data[to->len] = '\0';
}

/* A colon in the first segment of a path is not allowed, so it ends a scheme; whether
 * that is one of ours is seen later. */
static int has_scheme(const char *reference)
{
    return reference[strcspn(reference, ":/?#")] == ':';
}

/* Puts the two together; dots and fragment are still in it. */
static void merge(const char *base, const struct url *url, const char *reference,
                  struct joined *to)
{
    const char *target = base + url->target;
    size_t path = strcspn(target, "?#");

    if (has_scheme(reference)) {
        add(to, reference, strlen(reference));
        return;
    }
    if (reference[0] == '/' && reference[1] == '/') {
        add(to, base, strlen(url->scheme) + 1);
    } else if (reference[0] == '/') {
        add(to, base, url->target);
    } else if (reference[0] == '?') {
        add(to, base, url->target + path);
    } else if (reference[0] == '\0' || reference[0] == '#') {
        add(to, base, url->target + url->target_len);
    } else {
        size_t folder = path;
        while (folder > 0 && target[folder - 1] != '/')
            folder--;
        add(to, base, url->target + folder);
        if (folder == 0)
            add(to, "/", 1);
    }
    add(to, reference, strlen(reference));
}

/* Removes "." and ".." from a path, which is empty or begins with a slash. Returns its
 * new length. */
static size_t remove_dots(char *path, size_t len)
{
    size_t n = 0;
    for (size_t at = 0, next; at < len; at = next) {
        next = at + 1;
        while (next < len && path[next] != '/')
            next++;
        size_t size = next - at; /* with the slash before */
        int one = size == 2 && path[at + 1] == '.';
        int two = size == 3 && path[at + 1] == '.' && path[at + 2] == '.';
        if (two)
            while (n > 0 && path[--n] != '/')
                ;
        if (!one && !two) {
            memmove(path + n, path + at, size);
            n += size;
        } else if (next == len) {
            path[n++] = '/';
        }
    }
    return n;
}

const char *url_resolve(const char *base, const char *reference, char *out, size_t size)
{
    struct joined text = {.len = 0};
    struct url url;

    const char *why = url_parse(base, &url);
    if (!why)
        why = reference ? check_text(reference) : "is missing";
    if (why)
        return why;
    merge(base, &url, reference, &text);
    if (text.full)
        return too_long;
    why = url_parse(text.data, &url);
    if (why)
        return why;

    char *target = text.data + url.target;
    size_t path = strcspn(target, "?#"), query = url.target_len - path;
    size_t kept = remove_dots(target, path);
    memmove(target + kept, target + path, query);
    target[kept + query] = '\0';
    if (url.target + kept + query >= size)
        return too_long;
    memcpy(out, text.data, url.target + kept + query + 1);
    return NULL;
}

const char *url_redirect(const char *from, const char *location, int status, int is_get,
                         int hops, char *out, size_t size)
{
    char to[URL_MAX];
    struct url a, b;

    if ((status == 301 || status == 302) && !is_get)
        return "it would change the request's method";
    if (status != 301 && status != 302 && status != 307 && status != 308)
        return "it is not of a kind that is followed";
    if (hops >= REDIRECTS_MAX)
        return "it is the fourth in a row";
    if (!location || !location[0])
        return "it has no location";
    if (url_parse(from, &a) || url_resolve(from, location, to, sizeof to) ||
        url_parse(to, &b))
        return "its location is not a valid URL";
    if (a.secure && !b.secure)
        return "it leads from https to http";
    if (!url_same_origin(&a, &b) || strcmp(a.scheme, b.scheme) != 0)
        return "it leads to another origin";
    if (strlen(to) >= size)
        return "its location is too long";
    memcpy(out, to, strlen(to) + 1);
    return NULL;
}
