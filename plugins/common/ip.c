/* plugins/common/ip.c - hosts as the network takes them, see ip.h */
#include "ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const unsigned char mapped[12] = {[10] = 0xff, 0xff};

/* ---- hosts ------------------------------------------------------------------- */

static int hex(char c)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF", *at;

    at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) % 16 : -1;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

int ip_plain_host(const char *host, char *out, size_t size)
{
    size_t n = 0, len = strlen(host);

    if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    }
    if (memchr(host, ':', len) != NULL && memchr(host, '%', len) != NULL)
        len = strcspn(host, "%"); /* the zone */
    for (size_t i = 0; i < len; i++) {
        int is_escape = host[i] == '%' && i + 2 < len && hex(host[i + 1]) >= 0 &&
                        hex(host[i + 2]) >= 0;
        int c = is_escape ? hex(host[i + 1]) * 16 + hex(host[i + 2]) : host[i];
        i += is_escape ? 2 : 0;
        if (c == '\0' || n + 1 >= size)
            return 0;
        out[n++] = lower((char)c);
    }
    while (n > 1 && out[n - 1] == '.')
        n--;
    out[n] = '\0';
    return 1;
}

static int is_local_name(const char *host)
{
    static const char name[] = "localhost";
    size_t len = strlen(host), tail = sizeof name - 1;

    return len >= tail && strcmp(host + len - tail, name) == 0 &&
           (len == tail || host[len - tail - 1] == '.');
}

int ip_host_is_loopback(const char *host)
{
    unsigned char address[IP_BYTES];

    return ip_read(host, address) ? ip_is_loopback(address) : is_local_name(host);
}

int ip_is_pattern(const char *host)
{
    return host[strspn(host, "0123456789.*")] == '\0' &&
           host[strcspn(host, "0123456789")] != '\0';
}

/* ---- addresses --------------------------------------------------------------- */

static void map_four(const void *four, unsigned char out[IP_BYTES])
{
    memmove(out + 12, four, 4);
    memcpy(out, mapped, sizeof mapped);
}

/* IPv4 inside of IPv6, but for ::, ::1 and their neighbours, which are none. */
static int has_four(const unsigned char address[IP_BYTES])
{
    static const unsigned char compatible[12] = {0}, nat64[12] = {0, 0x64, 0xff, 0x9b};

    return memcmp(address, nat64, sizeof nat64) == 0 ||
           (memcmp(address, compatible, sizeof compatible) == 0 &&
            (address[12] != 0 || address[13] != 0));
}

int ip_read(const char *host, unsigned char out[IP_BYTES])
{
    struct in_addr four;

    if (inet_pton(AF_INET6, host, out) == 1) {
        if (has_four(out))
            map_four(out + 12, out);
        return 1;
    }
    /* inet_aton() would take what follows a blank for nothing. */
    if (host[0] == '\0' || host[strspn(host, "0123456789abcdefx.")] != '\0' ||
        inet_aton(host, &four) == 0)
        return 0;
    map_four(&four, out);
    return 1;
}

void ip_text(const unsigned char address[IP_BYTES], char out[IP_TEXT])
{
    int is_four = memcmp(address, mapped, sizeof mapped) == 0;

    if (inet_ntop(is_four ? AF_INET : AF_INET6, address + (is_four ? 12 : 0), out,
                  IP_TEXT) == NULL)
        out[0] = '\0';
}

int ip_is_loopback(const unsigned char address[IP_BYTES])
{
    static const unsigned char none[IP_BYTES] = {0}, one[IP_BYTES] = {[15] = 1};

    if (memcmp(address, mapped, sizeof mapped) == 0)
        return address[12] == 127 || memcmp(address + 12, none, 4) == 0;
    return memcmp(address, none, IP_BYTES) == 0 || memcmp(address, one, IP_BYTES) == 0;
}

/* ---- sockets ----------------------------------------------------------------- */

int ip_of_socket(const struct sockaddr *socket, unsigned char out[IP_BYTES],
                 unsigned *port)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    if (socket->sa_family == AF_INET) {
        memcpy(&four, socket, sizeof four);
        map_four(&four.sin_addr, out);
        *port = ntohs(four.sin_port);
        return 1;
    }
    if (socket->sa_family != AF_INET6)
        return 0;
    memcpy(&six, socket, sizeof six);
    memcpy(out, &six.sin6_addr, IP_BYTES);
    if (has_four(out))
        map_four(out + 12, out);
    *port = ntohs(six.sin6_port);
    return 1;
}

/* `pattern` has * for any characters. */
static int fits(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;

    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++from;
        } else {
            return 0;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

int ip_is_denied(const char *const *rules, const unsigned char address[IP_BYTES],
                 unsigned port, char out[IP_TEXT])
{
    char text[IP_TEXT], whole[IP_TEXT + 16];

    ip_text(address, text);
    snprintf(whole, sizeof whole, strchr(text, ':') != NULL ? "[%s]:%u" : "%s:%u", text,
             port);
    for (; *rules != NULL; rules++)
        if (fits(*rules, whole)) {
            memcpy(out, text, sizeof text);
            return 1;
        }
    return 0;
}

int ip_is_denied_socket(const char *const *rules, const struct sockaddr *socket,
                        char out[IP_TEXT])
{
    unsigned char address[IP_BYTES];
    unsigned port;

    return rules[0] != NULL && ip_of_socket(socket, address, &port) &&
           ip_is_denied(rules, address, port, out);
}

int ip_is_denied_peer(const char *const *rules, int fd, char out[IP_TEXT])
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;

    return rules[0] != NULL && getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
           ip_is_denied_socket(rules, (const struct sockaddr *)&peer, out);
}
