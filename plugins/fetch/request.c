#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- curl's callbacks ---- */

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
    return fetch_head_line(arg, line, size * n);
}

int fetch_is_quiet(const struct mcplug_fetch_request *f)
{
    return f->client->is_quiet && !f->is_eager;
}

/* A peer that floods us leaves room for the others. */
static int must_wait(struct mcplug_fetch_request *f, size_t len)
{
    struct mcplug_fetch_client *client = f->client;
    size_t cost = f->is_coded ? len / (FETCH_TURN_CODED / FETCH_TURN) : len;
    if (cost <= client->budget && !fetch_is_quiet(f)) {
        client->budget -= cost;
        return 0;
    }
    client->n_paused += f->paused ? 0 : 1;
    f->paused = 1;
    return 1;
}

static int is_bomb(const struct mcplug_fetch_request *f)
{
    curl_off_t came = 0;
    if (f->decoded <= FETCH_DECODED_MAX)
        return 0;
    curl_easy_getinfo(f->easy, CURLINFO_SIZE_DOWNLOAD_T, &came);
    return f->decoded / FETCH_RATIO_MAX > (uint64_t)came;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct mcplug_fetch_request *f = arg;
    size_t len = size * n;
    if (f->stopped || f->broken != CURLE_OK)
        return 0;
    if (f->is_late && !fetch_is_quiet(f))
        fetch_tell_head(f);
    if (f->stopped)
        return 0;
    if (must_wait(f, len))
        return CURL_WRITEFUNC_PAUSE;
    f->decoded += len;
    if (is_bomb(f)) {
        f->code = MCPLUG_ETOOBIG;
        f->reason = "the answer decompresses to more than " FETCH_TEXT(
            FETCH_DECODED_MAX) " bytes, " FETCH_TEXT(FETCH_RATIO_MAX) " times its "
                                                                      "compressed "
                                                                      "size";
        return 0;
    }
    if (f->told && len > 0)
        f->events->body(f->arg, (struct mcplug_bytes){(const unsigned char *)data, len});
    return f->stopped ? 0 : len;
}

/* Has any of it left? curl counts what it wrote, over all its tries. */
static int may_have_left(const struct mcplug_fetch_request *f)
{
    long size = 0;
    curl_easy_getinfo(f->easy, CURLINFO_REQUEST_SIZE, &size);
    return f->written || (f->has_begun && size > 0);
}

/* curl sends a request again, on its own, when a connection that was kept alive turns
 * out to be dead. What must be done at most once is not sent again once some of it may
 * have left. */
static int on_again(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct mcplug_fetch_request *f = arg;
    (void)local_ip, (void)local_port;
    int stops = fetch_must_not_try(f) || fetch_is_denied_peer(f, ip, port);
    f->tries++;
    return stops ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* The same before it connects for that: a server that is down is told at once. */
int fetch_must_not_try(const struct mcplug_fetch_request *f)
{
    return f->tries > 0 && (f->n_pulled > 0 || (f->once && may_have_left(f)));
}

/* ---- easy handles ---- */

/* Texts are copied, for which memory may be lacking. Without these, a request would go
 * where it must not, or trust whom it must not. Our certificate, and that the server's
 * may be any, is about the origin of the settings alone. */
static int set_security(const struct mcplug_fetch_client *client, const struct url *url,
                        int is_own, CURL *e)
{
    const char *proxy = fetch_proxy(client, url);
    long strict = is_own && client->insecure ? 0L : 1L;
    CURLcode bad = CURLE_OK;
    curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, strict);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, strict * 2L);
    if (client->ca != NULL)
        bad |= curl_easy_setopt(e, CURLOPT_CAINFO, client->ca);
    if (client->cert != NULL && is_own)
        bad |= curl_easy_setopt(e, CURLOPT_SSLCERT, client->cert);
    if (client->key != NULL && is_own)
        bad |= curl_easy_setopt(e, CURLOPT_SSLKEY, client->key);
    if (proxy != NULL)
        bad |= curl_easy_setopt(e, CURLOPT_PROXY, proxy);
    bad |= curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= curl_easy_setopt(e, CURLOPT_USERAGENT, client->user_agent);
    bad |= curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    return bad == CURLE_OK ? 0 : -1;
}

/* What holds for every request to that origin. */
static CURL *new_easy(struct mcplug_fetch_client *client, const struct url *url,
                      int is_own)
{
    CURL *e = curl_easy_init();
    if (e == NULL)
        return NULL;
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* a name lookup is not waited for */
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, client->connect_ms);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, fetch_open_socket);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, fetch_close_socket);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, client);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_READFUNCTION, fetch_body_pull);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_again);
    curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* of a proxy */
    curl_easy_setopt(e, CURLOPT_HTTP09_ALLOWED, 0L);
    if (url->secure) {
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
    } else {
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    }
    if (set_security(client, url, is_own, e) == 0)
        return e;
    curl_easy_cleanup(e);
    return NULL;
}

static CURL *take_easy(struct mcplug_fetch_client *client, const struct url *url,
                       int is_own)
{
    return is_own && client->n_spare > 0 ? client->spare[--client->n_spare]
                                         : new_easy(client, url, is_own);
}

static void give_easy(struct mcplug_fetch_client *client, CURL *e, int is_own)
{
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(e, CURLOPT_PRIVATE, NULL);
    if (is_own && client->n_spare < FETCH_SPARE_MAX)
        client->spare[client->n_spare++] = e;
    else
        curl_easy_cleanup(e);
}

/* ---- those that have ended ---- */

static void ended_add(struct fetch_ended *list, struct mcplug_fetch_request *f)
{
    if (list->first == NULL)
        list->last = &list->first;
    f->ended_next = NULL;
    f->ended_before = list->last;
    *list->last = f;
    list->last = &f->ended_next;
}

static void ended_remove(struct mcplug_fetch_request *f)
{
    struct mcplug_fetch_client *client = f->client;
    if (f->ended_before == NULL)
        return;
    *f->ended_before = f->ended_next;
    if (f->ended_next != NULL)
        f->ended_next->ended_before = f->ended_before;
    else if (client->ended.last == &f->ended_next)
        client->ended.last = f->ended_before;
    else
        client->ended_early.last = f->ended_before;
    f->ended_before = NULL;
}

/* A server may be so quick that its answer is in before start() returns. Were that told
 * as soon as possible, its connection would be used again, and again, before those that
 * have become readable meanwhile. */
void fetch_note_ended(struct mcplug_fetch_client *client)
{
    CURLMsg *msg;
    int left;
    while ((msg = curl_multi_info_read(client->multi, &left)) != NULL) {
        struct mcplug_fetch_request *f = NULL;
        if (msg->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&f);
        f->result = msg->data.result;
        ended_add(client->is_quiet ? &client->ended_early : &client->ended, f);
    }
}

void fetch_ended_join(struct mcplug_fetch_client *client)
{
    struct mcplug_fetch_request *f;
    while ((f = client->ended_early.first) != NULL) {
        ended_remove(f);
        ended_add(&client->ended, f);
    }
}

/* ---- one request ---- */

static void request_free(struct mcplug_fetch_request *f)
{
    struct mcplug_fetch_client *client = f->client;
    ended_remove(f);
    fetch_share_give(f);
    if (f->added)
        curl_multi_remove_handle(client->multi, f->easy);
    if (f->easy != NULL)
        give_easy(client, f->easy, f->is_own);
    if (f->prev != NULL)
        f->prev->next = f->next;
    else if (client->requests == f)
        client->requests = f->next;
    if (f->next != NULL)
        f->next->prev = f->prev;
    client->n_under_way--;
    client->n_stopped -= f->stopped ? 1 : 0;
    client->n_paused -= f->paused ? 1 : 0;
    client->n_broken -= f->broken != CURLE_OK ? 1 : 0;
    client->n_owing -= f->owes ? 1 : 0;
    client->n_late -= f->is_late ? 1 : 0;
    client->n_resumed -= f->is_resumed ? 1 : 0;
    client->host->mem->buf_unref(f->body);
    fetch_head_clear(f);
    client->host->mem->free(f->lines);
    client->host->mem->free(f->cookie.data);
    client->host->mem->free(f->moved);
    client->host->mem->free(f);
}

static int out_of_memory(const struct mcplug_fetch_client *client,
                         struct mcplug_error *err)
{
    return client->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
}

static CURLcode set_method(struct mcplug_fetch_request *f)
{
    CURL *e = f->easy;
    int is_post = strcmp(f->method, "POST") == 0;
    if (f->pulled > 0) {
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, NULL);
        curl_easy_setopt(e, CURLOPT_READDATA, f);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
                         f->pulled == MCPLUG_FETCH_STREAM ? (curl_off_t)-1
                                                          : (curl_off_t)f->pulled);
        return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, is_post ? NULL : f->method);
    }
    if (is_post || f->body != NULL) {
        struct mcplug_bytes body = {(const unsigned char *)"", 0};
        if (f->body != NULL)
            body = f->client->host->mem->buf_bytes(f->body);
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, body.data);
        curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, is_post ? NULL : f->method);
    }
    curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
    if (strcmp(f->method, "HEAD") == 0)
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST,
                            strcmp(f->method, "GET") == 0 ? NULL : f->method);
}

static int begin(struct mcplug_fetch_request *f)
{
    CURL *e = f->easy;
    f->problem[0] = f->denied[0] = '\0';
    f->code = MCPLUG_OK;
    f->header_bytes = 0;
    f->decoded = 0;
    f->told = f->tries = f->written = 0;
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, f->problem);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, f);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(e, CURLOPT_PREREQDATA, f);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, f);
    curl_easy_setopt(e, CURLOPT_PRIVATE, f);
    curl_easy_setopt(e, CURLOPT_MAXAGE_CONN,
                     f->client->idle_s > 0 ? f->client->idle_s : 60L);
    curl_easy_setopt(e, CURLOPT_FORBID_REUSE, fetch_share_is_exceeded(f) ? 1L : 0L);
    if (fetch_cookies_write(f) != 0)
        return -1;
    curl_easy_setopt(e, CURLOPT_HTTPHEADER,
                     f->cookie.data != NULL ? &f->cookie : f->lines);
    if (set_method(f) != CURLE_OK || curl_easy_setopt(e, CURLOPT_URL, f->url) != CURLE_OK)
        return -1;
    if (curl_multi_add_handle(f->client->multi, e) != CURLM_OK)
        return -1;
    f->added = 1;
    f->has_begun = 1;
    return 0;
}

/* When curl tries again, it counts the body anew, but not the request: one that left, of
 * whose body nothing has, is on its second try. */
int fetch_is_written(const struct mcplug_fetch_request *f)
{
    curl_off_t sent = 0;
    if (!f->has_begun)
        return 0;
    if (f->written || (f->body == NULL && f->pulled == 0))
        return 1;
    curl_easy_getinfo(f->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (f->pulled > 0) /* the end of a stream is asked for when all before it has left */
        return f->is_at_end || (uint64_t)sent >= f->pulled;
    return (size_t)sent >= f->client->host->mem->buf_bytes(f->body).len ||
           (sent == 0 && fetch_must_not_try(f));
}

static int set_up(struct mcplug_fetch_request *f, const struct mcplug_fetch_ask *ask,
                  struct mcplug_error *err)
{
    struct mcplug_fetch_client *client = f->client;
    struct url other;
    f->is_own = strcmp(ask->url, client->url) == 0;
    if (!f->is_own) {
        const char *wrong = url_parse(ask->url, &other);
        if (wrong != NULL || strncmp(other.scheme, "http", 4) != 0)
            return client->host->diag->fail(err, MCPLUG_EINVAL, "the address %s",
                                            wrong != NULL ? wrong : "is not an HTTP URL");
        f->is_own = url_same_origin(&other, &client->origin);
    }
    if ((f->pulled > 0 && (f->body != NULL || f->events->pull == NULL)) ||
        (f->pulled > INT64_MAX && f->pulled != MCPLUG_FETCH_STREAM))
        return client->host->diag->fail(err, MCPLUG_EINVAL,
                                        "a body is given, or pulled by pull()");
    f->url = ask->url;
    while (f->wants != NULL && f->wants[f->n_wants] != NULL)
        if (++f->n_wants > MCPLUG_FETCH_WANTS_MAX) {
            f->n_wants = 0;
            return client->host->diag->fail(err, MCPLUG_EINVAL,
                                            "more than %d headers are wanted",
                                            MCPLUG_FETCH_WANTS_MAX);
        }
    int r = fetch_lines_set(f, ask, err);
    if (r != MCPLUG_OK)
        return r;
    f->easy = take_easy(client, f->is_own ? &client->origin : &other, f->is_own);
    if ((client->multi == NULL && fetch_loop_renew(client) != 0) || f->easy == NULL ||
        (fetch_share_take(f) && begin(f) != 0))
        return out_of_memory(client, err);
    return MCPLUG_OK;
}

/* Before anything else of them is read. */
static int check(const struct mcplug_fetch_client *client,
                 const struct mcplug_fetch_ask *ask,
                 const struct mcplug_fetch_events *events, struct mcplug_error *err)
{
    const unsigned known = MCPLUG_FETCH_ONCE | MCPLUG_FETCH_EAGER;
    if (!MCPLUG_KNOWS(ask, struct mcplug_fetch_ask, pulled) ||
        !MCPLUG_KNOWS(events, struct mcplug_fetch_events, pull))
        return client->host->diag->fail(err, MCPLUG_EINVAL, "struct_size is not set");
    if ((ask->flags & ~known) != 0)
        return client->host->diag->fail(err, MCPLUG_EINVAL, "unknown flags: 0x%x",
                                        (unsigned)(ask->flags & ~known));
    if (events->reserved != 0)
        return client->host->diag->fail(err, MCPLUG_EINVAL, "reserved is not 0");
    if (client->busy) /* curl refuses it, too */
        return client->host->diag->fail(err, MCPLUG_EINVAL,
                                        "start() inside of head(), body() or pull()");
    return MCPLUG_OK;
}

int fetch_start(mcplug_fetch_client *client, const struct mcplug_fetch_ask *ask,
                const struct mcplug_fetch_events *events, void *arg,
                mcplug_fetch_request **out, struct mcplug_error *err)
{
    int r = check(client, ask, events, err);
    if (r != MCPLUG_OK)
        return r;
    struct mcplug_fetch_request *f = client->host->mem->alloc(sizeof *f);
    if (f == NULL)
        return out_of_memory(client, err);
    f->client = client;
    f->events = events;
    f->arg = arg;
    f->method = ask->method;
    f->wants = ask->wants;
    f->pulled = ask->pulled;
    f->once = (ask->flags & MCPLUG_FETCH_ONCE) != 0;
    f->is_eager = (ask->flags & MCPLUG_FETCH_EAGER) != 0;
    f->body = ask->body != NULL ? client->host->mem->buf_ref(ask->body) : NULL;
    f->next = client->requests;
    if (f->next != NULL)
        f->next->prev = f;
    client->requests = f;
    client->n_under_way++;
    r = set_up(f, ask, err);
    if (r != MCPLUG_OK) {
        request_free(f);
        return r;
    }
    *out = f;
    client->is_quiet = 1;
    fetch_kick(client);
    client->is_quiet = 0;
    f->written = fetch_is_written(f);
    f->owes = !f->written;
    client->n_owing += f->owes ? 1 : 0;
    if (client->failed || client->ended_early.first != NULL || client->n_stopped > 0 ||
        client->n_late > 0)
        fetch_soon(client); /* it has ended already */
    return MCPLUG_OK;
}

void fetch_stop(struct mcplug_fetch_request *f)
{
    if (f == NULL)
        return;
    f->client->n_stopped += f->stopped ? 0 : 1;
    f->stopped = 1;
    if (!f->client->busy && !f->client->telling)
        request_free(f);
}

/* ---- what came of it ---- */

/* Sends it again, elsewhere. True when it goes on. */
static int redirected(struct mcplug_fetch_request *f, struct mcplug_error *why)
{
    char to[URL_MAX];
    const char *location = f->location != NULL ? f->location : "";
    const char *reason = f->n_pulled > 0 ? "its body cannot be sent again"
                                         : url_redirect(f->url, location, f->head.status,
                                                        strcmp(f->method, "GET") == 0,
                                                        f->hops, to, sizeof to);
    if (reason != NULL) {
        f->client->host->diag->fail(
            why, MCPLUG_EREFUSED,
            "HTTP %d redirects to \"%.200s\", which is not followed: %s", f->head.status,
            location, reason);
        why->peer_status = f->head.status;
        return 0;
    }
    curl_multi_remove_handle(f->client->multi, f->easy);
    f->added = 0;
    f->hops++;
    char *moved = f->client->host->mem->alloc(strlen(to) + 1);
    if (moved != NULL) {
        f->client->host->mem->free(f->moved);
        f->url = f->moved = strcpy(moved, to);
        if (begin(f) == 0)
            return 1;
    }
    out_of_memory(f->client, why);
    return 0;
}

static void finish(struct mcplug_fetch_request *f, CURLcode code)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const struct mcplug_fetch_events *events = f->events;
    void *arg = f->arg;
    if (f->stopped) {
        request_free(f);
        return;
    }
    if (code == CURLE_OK && !f->told && f->head.status >= 300 && f->head.status < 400) {
        if (redirected(f, &why))
            return;
    } else if (f->code != MCPLUG_OK) {
        f->client->host->diag->fail(&why, f->code, "%s", f->reason);
    } else if (code != CURLE_OK) {
        fetch_explain(f, code, &why);
    } else if (!f->told) {
        struct url room;
        f->client->host->diag->fail(&why, MCPLUG_EPROTO, "%s: the answer has no headers",
                                    fetch_peer(f, &room)->host);
    }
    int left = why.code != MCPLUG_OK && f->owes && may_have_left(f);
    if (left && events->sent != NULL) {
        f->client->telling = 1; /* stop() may come */
        events->sent(arg);
        f->client->telling = 0;
    }
    int stopped = f->stopped;
    request_free(f);
    if (!stopped)
        events->done(arg, why.code != MCPLUG_OK ? &why : NULL);
}

void fetch_begin(struct mcplug_fetch_request *f)
{
    struct mcplug_fetch_client *client = f->client;
    if ((client->multi == NULL && fetch_loop_renew(client) != 0) || begin(f) != 0) {
        finish(f, CURLE_OUT_OF_MEMORY);
        return;
    }
    fetch_kick(client);
    fetch_collect(client);
}

/* A request that was stopped from inside of curl and has not ended by itself. */
static void sweep(struct mcplug_fetch_client *client)
{
    for (struct mcplug_fetch_request *f = client->requests, *next; f != NULL; f = next) {
        next = f->next;
        if (f->stopped)
            request_free(f);
    }
}

/* Whether a request left decides whether it may be made again, so that is told when it
 * happens: the answer, or the end of the connection, may be late. */
static void tell_sent(struct mcplug_fetch_client *client)
{
    client->telling = 1;
    for (struct mcplug_fetch_request *f = client->requests;
         f != NULL && client->n_owing > 0; f = f->next) {
        if (!f->owes || f->stopped || !fetch_is_written(f))
            continue;
        f->owes = 0;
        client->n_owing--;
        f->written = 1;
        if (f->events->sent != NULL)
            f->events->sent(f->arg);
    }
    client->telling = 0;
}

void fetch_tell_head(struct mcplug_fetch_request *f)
{
    f->is_late = 0;
    f->client->n_late--;
    f->events->head(f->arg, &f->head);
}

static void tell_heads(struct mcplug_fetch_client *client)
{
    client->telling = client->busy = 1; /* as if curl had called */
    for (struct mcplug_fetch_request *f = client->requests;
         f != NULL && client->n_late > 0; f = f->next)
        if (f->is_late && !f->stopped)
            fetch_tell_head(f);
    client->telling = client->busy = 0;
}

static void finish_broken(struct mcplug_fetch_client *client)
{
    while (client->n_broken > 0) { /* what is told may end others */
        struct mcplug_fetch_request *f = client->requests;
        while (f->broken == CURLE_OK)
            f = f->next;
        finish(f, f->broken);
    }
}

/* curl had no memory for its own books. They are not to be trusted then: 7.88 divides by
 * zero at the next call. What is under way has failed, and a new curl begins. */
static void begin_anew(struct mcplug_fetch_client *client)
{
    struct mcplug_fetch_request *f;
    for (f = client->requests; f != NULL; f = f->next) {
        if (f->added)
            curl_multi_remove_handle(client->multi, f->easy);
        f->added = 0;
        f->lost = f->has_begun;
    }
    fetch_loop_renew(client);
    for (;;) { /* what is told may end others, or begin some */
        for (f = client->requests; f != NULL && !f->lost; f = f->next)
            continue;
        if (f == NULL)
            return;
        finish(f, CURLE_OUT_OF_MEMORY);
    }
}

void fetch_collect(struct mcplug_fetch_client *client)
{
    struct mcplug_fetch_request *f;
    int has_ended = 0;
    if (client->failed || client->timer == NULL) /* none could be started */
        fetch_ended_join(client);
    if (client->n_late > 0)
        tell_heads(client);
    tell_sent(client); /* before anything is told to have ended */
    while ((f = client->ended.first) != NULL) {
        ended_remove(f);
        finish(f, f->result);
        has_ended = 1;
    }
    if (client->n_broken > 0)
        finish_broken(client);
    if (has_ended)
        fetch_kick(client); /* redirected ones */
    if (client->ended.first != NULL)
        fetch_soon(client);
    if (client->n_stopped > 0)
        sweep(client);
    if (client->failed)
        begin_anew(client);
}
