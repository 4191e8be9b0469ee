/* fetch_kit.h - the service fetch, and servers of a few lines for it to ask. */
#ifndef TEST_FETCH_KIT_H
#define TEST_FETCH_KIT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "plugin/catalogue.h"
#include "plugin/props.h"
#include "suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <mcplug/fetch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEST_SKIP 77 /* as automake has it */

/* ---- the other end ---- */

#define OK_2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static struct server {
    int fd, port;
    const char *answer; /* to each request */
    /* All of a request is in; its head is, so the answer says Connection: close; its head
     * is, and it hangs up. */
    enum { WHOLE, EARLY, NEVER } when;
    char url[64]; /* of /a/b */
    pthread_t thread;
    pthread_mutex_t lock;
    unsigned n;          /* requests */
    char request[65536]; /* the last one, with its body as it came */
} one, two;

static size_t body_left(const char *all, const char *body, size_t have)
{
    const char *length = strcasestr(all, "\r\ncontent-length:");
    size_t got = have - (size_t)(body - all);
    if (strcasestr(all, "\r\ntransfer-encoding: chunked") != NULL)
        return strstr(body, "0\r\n\r\n") != NULL ? 0 : 1;
    size_t wanted = length && length < body ? strtoul(length + 17, NULL, 10) : 0;
    return wanted > got ? wanted - got : 0;
}

/* One request, or its head; `have` bytes of it are there already. False: the peer has
 * closed. */
static bool read_request(int fd, char *all, size_t size, size_t *have, bool head_only)
{
    ssize_t n;
    for (;;) {
        const char *body = strstr(all, "\r\n\r\n");
        if (body && (head_only || body_left(all, body + 4, *have) == 0))
            return true;
        if ((n = read(fd, all + *have, size - 1 - *have)) <= 0)
            return false;
        all[ *have += (size_t)n] = '\0';
    }
}

struct caller {
    struct server *server;
    int fd;
};

static void *serve_one(void *arg)
{
    struct caller caller = *(struct caller *)arg;
    struct server *s = caller.server;
    char *all = malloc(sizeof s->request);
    free(arg);
    for (;;) {
        size_t have = 0;
        all[0] = '\0';
        if (!read_request(caller.fd, all, sizeof s->request, &have, s->when != WHOLE))
            break;
        pthread_mutex_lock(&s->lock);
        memcpy(s->request, all, sizeof s->request);
        s->n++;
        pthread_mutex_unlock(&s->lock);
        if (s->when == NEVER ||
            send(caller.fd, s->answer, strlen(s->answer), MSG_NOSIGNAL) < 0 ||
            !read_request(caller.fd, all, sizeof s->request, &have, false))
            break;
    }
    free(all);
    close(caller.fd);
    return NULL;
}

static void *serve(void *arg)
{
    struct server *s = arg;
    pthread_t callers[64];
    size_t n = 0;
    int fd;
    while (n < 64 && (fd = accept(s->fd, NULL, NULL)) >= 0) {
        struct caller *caller = malloc(sizeof *caller);
        *caller = (struct caller){s, fd};
        if (pthread_create(&callers[n++], NULL, serve_one, caller) != 0)
            abort();
    }
    while (n)
        pthread_join(callers[--n], NULL);
    return NULL;
}

static void server_start(struct server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    pthread_mutex_init(&s->lock, NULL);
    s->answer = OK_2;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(s->fd, 16), 0);
    ck_assert_int_eq(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
    s->port = ntohs(a.sin_port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d/a/b", s->port);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

/* When nobody is connected any more. */
static void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

/* ---- this end ---- */

static struct mp_loop *loop;
static struct mp_catalogue *cat;
static const struct mcplug_fetch *fetch;
static void *fetch_ctx;
static mcplug_fetch_client *client;
static struct mcplug_error err;

/* What came of a request. */
static struct outcome {
    mcplug_fetch_request *request;
    bool is_inside; /* of start() */
    unsigned heads, sents, dones;
    int status;
    int64_t length;
    char type[64];
    char values[MCPLUG_FETCH_WANTS_MAX][9000];
    bool has_value[MCPLUG_FETCH_WANTS_MAX];
    size_t n_wants;
    char body[65536];
    size_t len;
    int code, peer_status;
    char text[512];
} came;

static inline void on_head(void *arg, const struct mcplug_fetch_head *head)
{
    struct outcome *o = arg;
    ck_assert(!o->is_inside);
    o->heads++;
    o->status = head->status;
    o->length = head->length;
    snprintf(o->type, sizeof o->type, "%s", head->type);
    for (size_t i = 0; i < o->n_wants; i++) {
        o->has_value[i] = head->values[i] != NULL;
        snprintf(o->values[i], sizeof o->values[i], "%s",
                 head->values[i] ? head->values[i] : "");
    }
}

static inline void on_body(void *arg, struct mcplug_bytes piece)
{
    struct outcome *o = arg;
    ck_assert(!o->is_inside);
    ck_assert_uint_eq(o->heads, 1);
    ck_assert_uint_lt(o->len + piece.len, sizeof o->body);
    memcpy(o->body + o->len, piece.data, piece.len);
    o->len += piece.len;
}

static inline void on_sent(void *arg)
{
    struct outcome *o = arg;
    ck_assert(!o->is_inside);
    o->sents++;
}

static inline void on_done(void *arg, const struct mcplug_error *why)
{
    struct outcome *o = arg;
    ck_assert(!o->is_inside);
    o->dones++;
    o->request = NULL;
    o->code = why ? why->code : MCPLUG_OK;
    o->peer_status = why ? why->peer_status : 0;
    snprintf(o->text, sizeof o->text, "%s", why ? why->text : "");
}

static const struct mcplug_fetch_events plain_events = {
    .struct_size = sizeof plain_events,
    .head = on_head,
    .body = on_body,
    .sent = on_sent,
    .done = on_done,
};

static inline int begin(struct mcplug_fetch_ask ask,
                        const struct mcplug_fetch_events *events)
{
    memset(&came, 0, sizeof came);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    ask.struct_size = sizeof ask;
    ask.method = ask.method ? ask.method : "GET";
    ask.url = ask.url ? ask.url : one.url;
    while (ask.wants && ask.wants[came.n_wants] && came.n_wants < MCPLUG_FETCH_WANTS_MAX)
        came.n_wants++;
    came.is_inside = (ask.flags & MCPLUG_FETCH_EAGER) == 0;
    int r = fetch->start(client, &ask, events, &came, &came.request, &err);
    came.is_inside = false;
    return r;
}

static inline void until_done(void)
{
    while (!came.dones)
        mp_loop_turn(loop, true);
    ck_assert_uint_eq(came.dones, 1);
}

/* A whole request that goes well. */
static inline void get(struct mcplug_fetch_ask ask)
{
    ck_assert_msg(begin(ask, &plain_events) == MCPLUG_OK, "%s", err.text);
    until_done();
    ck_assert_msg(came.code == MCPLUG_OK, "%s", came.text);
    ck_assert_uint_eq(came.heads, 1);
}
#define GET(...) get((struct mcplug_fetch_ask){__VA_ARGS__})

/* The value of a header of the last request; NULL: none. */
static inline const char *sent_header(struct server *s, const char *name)
{
    static char value[65536];
    char line[64];
    const char *end = strstr(s->request, "\r\n\r\n"), *found = NULL;
    snprintf(line, sizeof line, "\r\n%s:", name);
    const char *at = strcasestr(s->request, line);
    if (at && at < end) {
        at += strlen(line);
        at += strspn(at, " ");
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\r"), at);
        found = value;
    }
    return found;
}

static inline void open_client(struct server *s, const char *const *headers)
{
    mcplug_props *props = mp_props_new();
    for (; headers && headers[0]; headers += 2)
        ck_assert_int_eq(mp_props_put(props, "headers", headers[0], headers[1]),
                         MCPLUG_OK);
    fetch->client_free(client);
    client = NULL;
    ck_assert_msg(fetch->client_new(fetch_ctx, props, s->url, &client, &err) == MCPLUG_OK,
                  "%s", err.text);
    mp_props_free(props);
}
#define OPEN(...) open_client(&one, (const char *const[]){__VA_ARGS__, NULL})

static inline void setup(void)
{
    struct mp_catalogue_options options = {0};
    const struct mp_offer *offer;

    server_start(&one);
    server_start(&two);
    options.loop = loop = mp_loop_new(&err);
    cat = mp_catalogue_new(&options, &err);
    ck_assert_ptr_nonnull(cat);
    ck_assert_msg(mp_catalogue_find(cat, MCPLUG_SERVICE, MCPLUG_FETCH, &offer, &err) ==
                      MCPLUG_OK,
                  "%s", err.text);
    ck_assert_uint_ge(offer->feature.version, MCPLUG_FETCH_VERSION);
    fetch = offer->feature.ops;
    fetch_ctx = offer->plugin->ctx;
    open_client(&one, NULL);
}

static inline void teardown(void)
{
    fetch->client_free(client);
    client = NULL;
    mp_catalogue_free(cat);
    mp_loop_free(loop);
    server_stop(&one);
    server_stop(&two);
}

/* False: this build has no fetch. */
static inline bool has_fetch(void)
{
    struct mp_catalogue_options options = {0};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const struct mp_offer *offer;
    options.loop = mp_loop_new(&why);
    struct mp_catalogue *c = mp_catalogue_new(&options, &why);
    bool has =
        mp_catalogue_find(c, MCPLUG_SERVICE, MCPLUG_FETCH, &offer, &why) == MCPLUG_OK;
    mp_catalogue_free(c);
    mp_loop_free(options.loop);
    return has;
}

#endif
