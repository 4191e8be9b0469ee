/* plugins/common/url.h - the addresses of servers, and where a request may go.
 *
 * Strict on purpose: what is accepted here means the same to every other reader of
 * URLs. No user names, no backslashes, no blanks or control characters, no escapes and no
 * letters beyond ASCII in host names (xn-- is their form on the wire, and what a person
 * can tell from others), ports from 1 to 65535. Pure functions, no memory.
 */
#ifndef MCPLUG_COMMON_URL_H
#define MCPLUG_COMMON_URL_H

#include <stddef.h>
#include <stdint.h>

enum { URL_MAX = 8192, URL_HOST_MAX = 256 };

struct url {
    char scheme[8];          /* "http" "https" "ws" "wss", in small letters */
    char host[URL_HOST_MAX]; /* in small letters; IPv6 addresses without brackets */
    uint16_t port;           /* the scheme's own when none was written */
    int secure;              /* https, wss */
    int is_ipv6;
    size_t target;     /* where path and query begin in the text; may be its end */
    size_t target_len; /* without the fragment */
};

/* Takes `text` apart. NULL, or what is wrong with it (static text, such as "has a user
 * name; use a header"). */
const char *url_parse(const char *text, struct url *out);

/* The length of the scheme that `text` begins with, of any kind, when :// follows it; 0:
 * it is not such a URL. What is a URL is asked here, and its parts are taken from
 * url_parse(): readers of their own differ in some case. */
size_t url_scheme(const char *text);

/* The same for a pattern of URLs: * may stand in the host and for the port, which is 0
 * then, and IPv4 addresses may have any spelling (ip.h). */
const char *url_parse_pattern(const char *text, struct url *out);

/* Scheme, host and port alike. ws counts as http, wss as https. */
int url_same_origin(const struct url *a, const struct url *b);

/* Is it this machine, see ip_host_is_loopback()? */
int url_is_loopback(const struct url *url);

/* "scheme://host[:port]" without the default port; for messages. */
void url_origin(const struct url *url, char *out, size_t size);

/* The same with the path, of any text that may be an address: without user name and
 * query, and where readers differ on what is a password and what the host, the scheme
 * alone. For messages. */
void url_place(const char *text, char *out, size_t size);

/* Resolves `reference` (absolute, //host, /path, path, ?query; dot segments are removed)
 * against the absolute `base`. NULL and `out` filled, or what is wrong. */
const char *url_resolve(const char *base, const char *reference, char *out, size_t size);

/* May a request that got `status` with `location` be sent again, and where to? Only 307
 * and 308, only within one origin, at most 3 in a row (`hops` were followed so far), and
 * never from https to http. GET may also follow 301 and 302. NULL and `out` filled, or
 * the reason (static text) why it is refused. */
const char *url_redirect(const char *from, const char *location, int status, int is_get,
                         int hops, char *out, size_t size);

#endif /* MCPLUG_COMMON_URL_H */
