#include "net_private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { RETRY_MAX_S = 86400 };

/* A value that is kept as long as the request; none when it is too long. */
static const char *keep(struct net_fetch *f, char **at, const char *value, size_t len)
{
    const struct mcplug_mem *mem = f->net->host->mem;
    mem->free(*at);
    *at = len < NET_VALUE_MAX ? mem->alloc(len + 1) : NULL;
    if (*at != NULL)
        memcpy(*at, value, len);
    return *at;
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
static void keep_alive(struct net *net, const char *value, size_t len)
{
    char text[128];
    copy(text, sizeof text, value, len);
    const char *at = strcasestr(text, "timeout=");
    long s = at != NULL ? strtol(at + 8, NULL, 10) : 0;
    if (s > 0 && s < 3600)
        net->idle_s = s > 2 ? s - 1 : 1;
}

static void take(struct net_fetch *f, const char *name, size_t name_len,
                 const char *value, size_t len)
{
    struct net_head *h = &f->head;
#define IS(text) (name_len == sizeof(text) - 1 && strncasecmp(name, text, name_len) == 0)
    if (IS("content-type")) {
        copy(h->type, sizeof h->type, value, len);
        h->is_json = is_type(value, len, "application/json");
        h->is_events = is_type(value, len, "text/event-stream");
    } else if (IS("mcp-session-id")) {
        h->session = keep(f, &f->session, value, len);
    } else if (IS("retry-after")) {
        h->retry_after_ms = retry_after(value, len);
    } else if (IS("location")) {
        keep(f, &f->location, value, len);
    } else if (IS("content-encoding")) {
        f->is_coded = !is_type(value, len, "identity");
    } else if (IS("keep-alive")) {
        keep_alive(f->net, value, len);
    }
#undef IS
}

/* A status line begins a head; there are several when the server says 1xx first. */
static void begin(struct net_fetch *f)
{
    memset(&f->head, 0, sizeof f->head);
    f->head.retry_after_ms = -1;
    f->net->host->mem->free(f->location);
    f->location = NULL;
    f->is_coded = 0;
}

static int will_be_redirected(const struct net_fetch *f)
{
    return f->head.status >= 300 && f->head.status < 400;
}

static void end(struct net_fetch *f)
{
    long status = 0;
    curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
    f->head.status = (int)status;
    if (status < 200 || will_be_redirected(f) || f->told)
        return;
    f->told = 1;
    f->written = 1;
    f->events->head(f->arg, &f->head);
}

size_t net_head_line(struct net_fetch *f, const char *line, size_t len)
{
    size_t whole = len;
    f->header_bytes += len;
    if (f->header_bytes > NET_HEADER_MAX) {
        f->net->host->diag->fail(&f->why, MCPLUG_ETOOBIG,
                                 "the headers of the answer are longer than %d bytes",
                                 NET_HEADER_MAX);
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
