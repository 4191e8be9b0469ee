#include "client.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { RETRY_MAX_S = 86400 };

/* A value that is kept as long as the request. Several of one name are one list; one that
 * is too long is left out whole, with what follows of that name: a part could mean
 * something else. `bit` is its own in f->left_out. */
static void keep(struct mcplug_fetch_request *f, char **at, unsigned bit,
                 const char *value, size_t len)
{
    const struct mcplug_mem *mem = f->client->host->mem;
    size_t before = *at != NULL ? strlen(*at) + 2 : 0;
    if (f->left_out & bit)
        return;
    char *all =
        before + len < FETCH_VALUE_MAX ? mem->resize(*at, before + len + 1) : NULL;
    if (all == NULL) {
        mem->free(*at);
        *at = NULL;
        f->left_out |= bit;
        return;
    }
    if (before > 0)
        memcpy(all + before - 2, ", ", 2);
    memcpy(all + before, value, len);
    all[before + len] = '\0';
    *at = all;
}

static void copy(char *out, size_t size, const char *value, size_t len)
{
    if (len >= size)
        len = 0; /* more than can be right: as if it were not there */
    memcpy(out, value, len);
    out[len] = '\0';
}

/* Seconds, or a date. */
static int64_t retry_after(const char *value, size_t len)
{
    char text[64];
    copy(text, sizeof text, value, len);
    if (text[0] == '\0')
        return -1;
    if (strspn(text, "0123456789") == strlen(text)) {
        long s = strlen(text) > 6 ? RETRY_MAX_S : atol(text);
        return (s > RETRY_MAX_S ? RETRY_MAX_S : s) * 1000;
    }
    time_t when = curl_getdate(text, NULL), now = time(NULL);
    if (when == -1)
        return -1;
    if (when <= now)
        return 0;
    return (when - now > RETRY_MAX_S ? RETRY_MAX_S : when - now) * 1000;
}

static int is_type(const char *value, size_t len, const char *type)
{
    size_t n = strlen(type);
    if (len < n || strncasecmp(value, type, n) != 0)
        return 0;
    return len == n || value[n] == ';' || value[n] == ' ' || value[n] == '\t';
}

/* How long the peer keeps a connection that is idle: "timeout=5, max=100". */
static void keep_alive(struct mcplug_fetch_client *client, const char *value, size_t len)
{
    char text[128];
    copy(text, sizeof text, value, len);
    const char *at = strcasestr(text, "timeout=");
    long s = at != NULL ? strtol(at + 8, NULL, 10) : 0;
    if (s > 0 && s < 3600)
        client->idle_s = s > 2 ? s - 1 : 1;
}

/* The media type, without its parameters. */
static void take_type(struct mcplug_fetch_request *f, const char *value, size_t len)
{
    size_t n = 0;
    while (n < len && value[n] != ';' && value[n] != ' ' && value[n] != '\t')
        n++;
    copy(f->type, sizeof f->type, value, n);
    for (char *c = f->type; *c != '\0'; c++)
        *c |= *c >= 'A' && *c <= 'Z' ? 0x20 : 0;
}

static int64_t number(const char *value, size_t len)
{
    int64_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9' || n > INT64_MAX / 10 - 1)
            return -1;
        n = n * 10 + (value[i] - '0');
    }
    return len > 0 ? n : -1;
}

static void take(struct mcplug_fetch_request *f, const char *name, size_t name_len,
                 const char *value, size_t len)
{
    struct mcplug_fetch_head *h = &f->head;
#define IS(text) (name_len == strlen(text) && strncasecmp(name, text, name_len) == 0)
    switch (name[0] | 0x20) {
    case 'c':
        if (IS("content-type"))
            take_type(f, value, len);
        else if (IS("content-length"))
            h->length = number(value, len);
        else if (IS("content-encoding"))
            f->is_coded = !is_type(value, len, "identity");
        break;
    case 'k':
        if (IS("keep-alive"))
            keep_alive(f->client, value, len);
        break;
    case 'l':
        if (IS("location") && f->location == NULL)
            keep(f, &f->location, 1u << MCPLUG_FETCH_WANTS_MAX, value, len);
        break;
    case 'r':
        if (IS("retry-after"))
            h->retry_after_ms = retry_after(value, len);
        break;
    case 's':
        if (IS("set-cookie") && f->is_own)
            fetch_cookie_take(f, value, len);
        break;
    }
    for (size_t i = 0; i < f->n_wants; i++)
        if (((f->wants[i][0] ^ name[0]) | 0x20) == 0x20 && IS(f->wants[i]))
            keep(f, &f->values[i], 1u << i, value, len);
#undef IS
}

void fetch_head_clear(struct mcplug_fetch_request *f)
{
    const struct mcplug_mem *mem = f->client->host->mem;
    for (size_t i = 0; i < f->n_wants; i++) {
        mem->free(f->values[i]);
        f->values[i] = NULL;
    }
    mem->free(f->location);
    f->location = NULL;
    f->left_out = 0;
}

/* A status line begins a head; there are several when the server says 1xx first. */
static void begin(struct mcplug_fetch_request *f)
{
    fetch_head_clear(f);
    f->head = (struct mcplug_fetch_head){
        .struct_size = sizeof f->head,
        .type = f->type,
        .length = -1,
        .retry_after_ms = -1,
        .values = (const char *const *)f->values,
    };
    f->type[0] = '\0';
    f->is_coded = 0;
}

static int will_be_redirected(const struct mcplug_fetch_request *f)
{
    return f->head.status >= 300 && f->head.status < 400;
}

static void end(struct mcplug_fetch_request *f)
{
    long status = 0;
    curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
    f->head.status = (int)status;
    if (status >= 300 && f->is_later)
        fetch_resume(f); /* curl sends no more of the body, but would wait for it */
    if (status < 200 || will_be_redirected(f) || f->told)
        return;
    if (f->is_coded)
        f->head.length = -1; /* it is not that of what body() gets */
    f->told = 1;
    f->written = 1;
    f->is_late = 1;
    f->client->n_late++;
    if (!fetch_is_quiet(f))
        fetch_tell_head(f);
}

size_t fetch_head_line(struct mcplug_fetch_request *f, const char *line, size_t len)
{
    size_t whole = len;
    f->header_bytes += len;
    if (f->header_bytes > FETCH_HEADER_MAX) {
        f->code = MCPLUG_ETOOBIG;
        f->reason = "the headers of the answer are longer than " FETCH_TEXT(
            FETCH_HEADER_MAX) " bytes";
        return 0;
    }
    if (f->told || f->stopped) /* trailers */
        return f->stopped ? 0 : whole;
    while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    const char *colon = memchr(line, ':', len);
    if (len == 0) {
        end(f);
    } else if (len > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
        begin(f);
    } else if (colon != NULL) {
        size_t name_len = (size_t)(colon - line);
        const char *value = colon + 1;
        size_t left = len - name_len - 1;
        while (left > 0 && (*value == ' ' || *value == '\t')) {
            value++;
            left--;
        }
        while (left > 0 && (value[left - 1] == ' ' || value[left - 1] == '\t'))
            left--;
        take(f, line, name_len, value, left);
    }
    return f->stopped ? 0 : whole;
}
