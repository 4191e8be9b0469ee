/* URLs: what is accepted has parts that fit and stays what it is when it is resolved
 * again; no redirect leads to another origin. */
#include "../../plugins/common/url.h"

#include <stdlib.h>
#include <string.h>

static void must(int holds)
{
    if (!holds)
        abort();
}

static void check_host(const struct url *u)
{
    must(u->host[0] && memchr(u->host, 0, sizeof u->host) != NULL);
    for (const char *p = u->host; *p; p++)
        must(*p > ' ' && *p < 0x7F && !strchr("/\\@%?#[]ABCXYZ", *p) &&
             (*p != ':' || u->is_ipv6));
}

static void check_parsed(const char *text, const struct url *u)
{
    struct url again;
    char origin[URL_HOST_MAX + 32], out[URL_MAX];

    must(u->port > 0 && u->target + u->target_len <= strlen(text));
    must(!u->target_len || text[u->target] == '/' || text[u->target] == '?');
    must(!memchr(text + u->target, '#', u->target_len));
    must(u->secure == (!strcmp(u->scheme, "https") || !strcmp(u->scheme, "wss")));
    check_host(u);
    for (const char *p = text; *p; p++)
        must(*p > ' ' && *p < 0x7F && *p != '\\');

    url_origin(u, origin, sizeof origin);
    must(!url_parse(origin, &again) && again.target_len == 0);
    must(url_same_origin(u, &again) && url_is_loopback(u) == url_is_loopback(&again));
    must(!strcmp(u->scheme, again.scheme));
    must(!url_resolve(text, "", out, sizeof out) && !url_parse(out, &again));
    must(url_same_origin(u, &again));
}

/* A path that was resolved has no dots left to remove. */
static void check_resolved(const char *text)
{
    struct url u;
    char again[URL_MAX];
    size_t len = strlen(text);

    must(!url_parse(text, &u));
    check_parsed(text, &u);
    must(u.target + u.target_len == len && !strchr(text, '#'));
    size_t end = u.target + strcspn(text + u.target, "?");
    for (size_t at = u.target; at < end;) {
        size_t n = 1 + strcspn(text + at + 1, "/?");
        must(!(n == 2 && text[at + 1] == '.'));
        must(!(n == 3 && text[at + 1] == '.' && text[at + 2] == '.'));
        at += n;
    }
    must(!url_resolve(text, "", again, sizeof again) && !strcmp(text, again));
    must(!url_resolve("ws://other/x/y?z", text, again, sizeof again));
    must(!strcmp(text, again));
    must(!url_resolve(text, "", again, len + 1));
    must(url_resolve(text, "", again, len) != NULL);
}

static void check_redirect(const char *from, const char *to, int status, int is_get,
                           int hops)
{
    struct url a, b;
    char out[URL_MAX];

    if (url_redirect(from, to, status, is_get, hops, out, sizeof out))
        return;
    must(!url_parse(from, &a) && !url_parse(out, &b));
    must(url_same_origin(&a, &b) && !strcmp(a.scheme, b.scheme));
    must(hops < 3 && to[0]);
    must(status == 307 || status == 308 || (is_get && (status == 301 || status == 302)));
    check_resolved(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const bases[] = {"http://h/a/b?c", "https://h:8443",
                                        "ws://[::1]/x", "wss://a.b/c/../d"};
    struct url u;
    char out[URL_MAX];

    if (size < 2 || size > 20000)
        return 0;
    /* An octet of choices, then base and reference with a line end between. */
    int status = 300 + data[0] % 10, is_get = data[0] / 10 % 2, hops = data[0] / 20 % 5;
    char *base = strndup((const char *)data + 1, size - 1);
    must(base != NULL);
    char *reference = strchr(base, '\n');
    if (reference)
        *reference++ = '\0';

    const char *why = url_parse(base, &u);
    must(!why || why[0]);
    if (!why)
        check_parsed(base, &u);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (!url_resolve(bases[i], base, out, sizeof out))
            check_resolved(out);
        check_redirect(bases[i], base, status, is_get, hops);
    }
    if (reference) {
        if (!url_resolve(base, reference, out, sizeof out))
            check_resolved(out);
        check_redirect(base, reference, status, is_get, hops);
    }
    free(base);
    return 0;
}
