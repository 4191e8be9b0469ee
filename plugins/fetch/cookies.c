/* Cookies of the client's origin: in memory, host and port and scheme alike, and bounded.
 * The oldest make room. */
#include "client.h"

#include "../common/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct fetch_cookie {
    uint64_t age;   /* when it was set, as a number that counts up */
    time_t expires; /* 0: with the client */
    char *name;     /* its text, with value and path behind it */
    char *value, *path;
    size_t size; /* of the text */
};

struct part {
    const char *at;
    size_t len;
};

/* ---- the jar ---- */

static void drop(struct mcplug_fetch_client *client, size_t i)
{
    struct fetch_cookie *c = &client->cookies[i];
    client->cookie_bytes -= c->size;
    memset(c->name, 0, c->size); /* it may be a secret */
    client->host->mem->free(c->name);
    client->n_cookies--;
    memmove(c, c + 1, (client->n_cookies - i) * sizeof *c);
}

static void drop_oldest(struct mcplug_fetch_client *client)
{
    size_t oldest = 0;
    for (size_t i = 1; i < client->n_cookies; i++)
        if (client->cookies[i].age < client->cookies[oldest].age)
            oldest = i;
    drop(client, oldest);
}

void fetch_cookies_clear(struct mcplug_fetch_client *client)
{
    while (client->n_cookies > 0)
        drop(client, client->n_cookies - 1);
    client->host->mem->free(client->cookies);
}

static int is_same(const struct fetch_cookie *c, const char *name, const char *path)
{
    return strcmp(c->name, name) == 0 && strcmp(c->path, path) == 0;
}

/* The longest paths come first, as servers expect it. */
static void insert(struct mcplug_fetch_client *client, const struct fetch_cookie *c)
{
    size_t i = client->n_cookies++, len = strlen(c->path);
    while (i > 0 && strlen(client->cookies[i - 1].path) < len) {
        client->cookies[i] = client->cookies[i - 1];
        i--;
    }
    client->cookies[i] = *c;
    client->cookie_bytes += c->size;
}

static void put(struct mcplug_fetch_client *client, struct part name, struct part value,
                struct part path, time_t expires)
{
    const struct mcplug_mem *mem = client->host->mem;
    struct fetch_cookie c = {.expires = expires};
    c.size = name.len + value.len + path.len + 3;
    c.name = mem->alloc(c.size);
    if (client->cookies == NULL)
        client->cookies = mem->alloc(FETCH_COOKIES_MAX * sizeof *client->cookies);
    if (c.name == NULL || client->cookies == NULL) {
        mem->free(c.name);
        return;
    }
    c.value = c.name + name.len + 1;
    c.path = c.value + value.len + 1;
    memcpy(c.name, name.at, name.len);
    memcpy(c.value, value.at, value.len);
    memcpy(c.path, path.at, path.len);
    for (size_t i = 0; i < client->n_cookies; i++)
        if (is_same(&client->cookies[i], c.name, c.path)) {
            drop(client, i);
            break;
        }
    if (expires != 0 && expires <= time(NULL)) { /* so a server takes one back */
        mem->free(c.name);
        return;
    }
    while (client->n_cookies == FETCH_COOKIES_MAX ||
           client->cookie_bytes + c.size > FETCH_COOKIE_BYTES_MAX)
        drop_oldest(client);
    c.age = ++client->cookie_age;
    insert(client, &c);
}

/* ---- Set-Cookie ---- */

static struct part trimmed(const char *at, size_t len)
{
    while (len > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        len--;
    }
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    return (struct part){at, len};
}

/* What is between semicolons, as name and value. False at the end. */
static int next_part(const char **at, size_t *left, struct part *name, struct part *value)
{
    if (*left == 0)
        return 0;
    const char *end = memchr(*at, ';', *left);
    size_t len = end != NULL ? (size_t)(end - *at) : *left;
    const char *sign = memchr(*at, '=', len);
    size_t before = sign != NULL ? (size_t)(sign - *at) : len;
    *name = trimmed(*at, before);
    *value = sign != NULL ? trimmed(sign + 1, len - before - 1) : trimmed(*at, 0);
    *at += len + (end != NULL);
    *left -= len + (end != NULL);
    return 1;
}

/* Does a cookie for this domain come to our host, too? That it goes to others is their
 * loss: here it goes to none. */
static int is_ours(const struct mcplug_fetch_client *client, struct part domain)
{
    const char *host = client->origin.host;
    size_t n = strlen(host);
    unsigned char address[IP_BYTES];
    if (domain.len > 0 && *domain.at == '.') {
        domain.at++;
        domain.len--;
    }
    if (domain.len == n)
        return strncasecmp(host, domain.at, n) == 0;
    return domain.len > 0 && domain.len < n && !ip_read(host, address) &&
           host[n - domain.len - 1] == '.' &&
           strncasecmp(host + n - domain.len, domain.at, domain.len) == 0;
}

/* Up to the last slash of the path that was asked for. */
static struct part directory(const char *url_text)
{
    struct url url;
    if (url_parse(url_text, &url) != NULL)
        return (struct part){"/", 1};
    const char *path = url_text + url.target;
    size_t n = 0, last = 0;
    for (; n < url.target_len && path[n] != '?'; n++)
        last = path[n] == '/' ? n : last;
    return last > 0 ? (struct part){path, last} : (struct part){"/", 1};
}

static time_t lifetime(struct part seconds)
{
    char text[24];
    if (seconds.len == 0 || seconds.len >= sizeof text)
        return 0;
    if (*seconds.at != '-' && (*seconds.at < '0' || *seconds.at > '9'))
        return 0; /* no number: as if it were not there */
    memcpy(text, seconds.at, seconds.len);
    text[seconds.len] = '\0';
    long long s = strtoll(text, NULL, 10);
    if (s <= 0)
        return 1; /* long ago */
    return time(NULL) + (s > FETCH_COOKIE_AGE_MAX ? FETCH_COOKIE_AGE_MAX : (time_t)s);
}

static time_t date(struct part text)
{
    char copy[64];
    if (text.len >= sizeof copy)
        return 0;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    time_t when = curl_getdate(copy, NULL);
    return when == -1 ? 0 : when < 1 ? 1 : when;
}

static int is_safe(struct part text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < 0x20 || text.at[i] == 0x7f)
            return 0;
    return 1;
}

void fetch_cookie_take(struct mcplug_fetch_request *f, const char *line, size_t len)
{
    struct mcplug_fetch_client *client = f->client;
    struct part name, value, key, what, path = directory(f->url);
    time_t by_age = 0, by_date = 0;
    if (len > FETCH_COOKIE_MAX || !is_safe((struct part){line, len}) ||
        !next_part(&line, &len, &name, &value) || !header_is_name(name.at, name.len))
        return;
#define IS(text) (key.len == strlen(text) && strncasecmp(key.at, text, key.len) == 0)
    while (next_part(&line, &len, &key, &what)) {
        if (IS("max-age"))
            by_age = lifetime(what);
        else if (IS("expires"))
            by_date = date(what);
        else if (IS("path") && what.len > 0 && *what.at == '/')
            path = what;
        else if (IS("domain") && what.len > 0 && !is_ours(client, what))
            return;
        else if (IS("secure") && !client->origin.secure)
            return;
    }
#undef IS
    put(client, name, value, path, by_age != 0 ? by_age : by_date);
}

/* ---- Cookie ---- */

/* `len` bytes of a request's path, `for_path` that of a cookie. */
static int is_below(const char *path, size_t len, const char *for_path)
{
    size_t n = strlen(for_path);
    if (n > len || strncmp(path, for_path, n) != 0)
        return 0;
    return n == len || for_path[n - 1] == '/' || path[n] == '/';
}

int fetch_cookies_write(struct mcplug_fetch_request *f)
{
    struct mcplug_fetch_client *client = f->client;
    const struct mcplug_mem *mem = client->host->mem;
    time_t now = time(NULL);
    struct url url;
    mem->free(f->cookie.data);
    f->cookie.data = NULL;
    if (client->n_cookies == 0 || !f->is_own || f->has_cookie ||
        url_parse(f->url, &url) != NULL)
        return 0;
    const char *path = url.target_len > 0 ? f->url + url.target : "/";
    size_t len = url.target_len > 0 ? strcspn(path, "?#") : 1;
    char *at = mem->alloc(client->cookie_bytes + 2 * client->n_cookies + 16);
    if (at == NULL)
        return -1;
    f->cookie.data = at;
    f->cookie.next = f->lines;
    at += sprintf(at, "Cookie:");
    char *begin = at;
    for (size_t i = 0; i < client->n_cookies; i++) {
        const struct fetch_cookie *c = &client->cookies[i];
        if ((c->expires == 0 || c->expires > now) && is_below(path, len, c->path))
            at += sprintf(at, "%s%s=%s", at > begin ? "; " : " ", c->name, c->value);
    }
    if (at == begin) {
        mem->free(f->cookie.data);
        f->cookie.data = NULL;
    }
    return 0;
}
