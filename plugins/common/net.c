#include "net.h"

#include "net_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- curl's callbacks ---- */

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
    return net_head_line(arg, line, size * n);
}

/* A peer that floods us leaves room for the others. */
static int must_wait(struct net_fetch *f, size_t len)
{
    struct net *net = f->net;
    size_t cost = f->is_coded ? len / (NET_TURN_CODED / NET_TURN) : len;
    if (cost <= net->budget) {
        net->budget -= cost;
        return 0;
    }
    net->n_paused += f->paused ? 0 : 1;
    f->paused = 1;
    return 1;
}

static int is_bomb(const struct net_fetch *f)
{
    curl_off_t came = 0;
    if (!f->is_coded || f->decoded <= NET_DECODED_MAX)
        return 0;
    curl_easy_getinfo(f->easy, CURLINFO_SIZE_DOWNLOAD_T, &came);
    return f->decoded / NET_RATIO_MAX > (uint64_t)came;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct net_fetch *f = arg;
    size_t len = size * n;
    if (f->stopped || f->broken != CURLE_OK)
        return 0;
    if (must_wait(f, len))
        return CURL_WRITEFUNC_PAUSE;
    f->decoded += len;
    if (is_bomb(f)) {
        f->net->host->diag->fail(&f->why, MCPLUG_ETOOBIG,
                                 "the answer becomes more than %d bytes, %d times its "
                                 "compressed size",
                                 NET_DECODED_MAX, NET_RATIO_MAX);
        return 0;
    }
    if (f->told && len > 0)
        f->events->body(f->arg, (struct mcplug_bytes){(const unsigned char *)data, len});
    return f->stopped ? 0 : len;
}

/* Has any of it left? curl counts what it wrote, over all its tries. */
static int may_have_left(const struct net_fetch *f)
{
    long size = 0;
    curl_easy_getinfo(f->easy, CURLINFO_REQUEST_SIZE, &size);
    return f->written || size > 0;
}

/* curl sends a request again, on its own, when a connection that was kept alive turns
 * out to be dead. What must be done at most once is not sent again once some of it may
 * have left. */
static int on_again(void *arg, char *ip, char *local_ip, int port, int local_port)
{
    struct net_fetch *f = arg;
    (void)ip, (void)local_ip, (void)port, (void)local_port;
    int stops = net_must_not_try(f);
    f->tries++;
    return stops ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* The same before it connects for that: a server that is down is told at once. */
int net_must_not_try(const struct net_fetch *f)
{
    return f->tries > 0 && f->once && may_have_left(f);
}

/* ---- easy handles ---- */

/* Texts are copied, for which memory may be lacking. Without these, a request would go
 * where it must not, or trust whom it must not. */
static int set_security(const struct net *net, CURL *e)
{
    CURLcode bad = CURLE_OK;
    curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, net->insecure ? 0L : 1L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, net->insecure ? 0L : 2L);
    if (net->ca != NULL)
        bad |= curl_easy_setopt(e, CURLOPT_CAINFO, net->ca);
    if (net->cert != NULL)
        bad |= curl_easy_setopt(e, CURLOPT_SSLCERT, net->cert);
    if (net->key != NULL)
        bad |= curl_easy_setopt(e, CURLOPT_SSLKEY, net->key);
    if (net->no_proxy)
        bad |= curl_easy_setopt(e, CURLOPT_PROXY, "");
    else if (net->proxy != NULL)
        bad |= curl_easy_setopt(e, CURLOPT_PROXY, net->proxy);
    bad |= curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= curl_easy_setopt(e, CURLOPT_USERAGENT, net->user_agent);
    bad |= curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    return bad == CURLE_OK ? 0 : -1;
}

/* What holds for every request of this connection. */
static CURL *new_easy(struct net *net)
{
    CURL *e = curl_easy_init();
    if (e == NULL)
        return NULL;
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* a name lookup is not waited for */
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, net->connect_ms);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, net_open_socket);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, net_close_socket);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, net);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_again);
    curl_easy_setopt(e, CURLOPT_HTTP09_ALLOWED, 0L);
    if (net->origin.secure) {
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
    } else {
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    }
    if (set_security(net, e) == 0)
        return e;
    curl_easy_cleanup(e);
    return NULL;
}

static CURL *take_easy(struct net *net)
{
    return net->n_spare > 0 ? net->spare[--net->n_spare] : new_easy(net);
}

static void give_easy(struct net *net, CURL *e)
{
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(e, CURLOPT_PRIVATE, NULL);
    if (net->n_spare < NET_SPARE_MAX)
        net->spare[net->n_spare++] = e;
    else
        curl_easy_cleanup(e);
}

/* ---- one request ---- */

static void fetch_free(struct net_fetch *f)
{
    struct net *net = f->net;
    if (f->added)
        curl_multi_remove_handle(net->multi, f->easy);
    if (f->easy != NULL)
        give_easy(net, f->easy);
    if (f->prev != NULL)
        f->prev->next = f->next;
    else if (net->fetches == f)
        net->fetches = f->next;
    if (f->next != NULL)
        f->next->prev = f->prev;
    net->n_under_way--;
    net->n_stopped -= f->stopped ? 1 : 0;
    net->n_paused -= f->paused ? 1 : 0;
    net->n_broken -= f->broken != CURLE_OK ? 1 : 0;
    net->n_owing -= f->owes ? 1 : 0;
    net->host->mem->buf_unref(f->body);
    net->host->mem->free(f->text);
    net->host->mem->free(f->session);
    net->host->mem->free(f->location);
    net->host->mem->free(f->moved);
    net->host->mem->free(f);
}

static int out_of_memory(const struct net *net, struct mcplug_error *err)
{
    return net->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
}

/* The lines of this request, in memory of its own, and behind them those of all. */
static int set_lines(struct net_fetch *f, const struct net_ask *ask)
{
    size_t size = 1;
    for (size_t i = 0; i < ask->n_headers; i++)
        if (ask->headers[i].value != NULL)
            size += strlen(ask->headers[i].name) + strlen(ask->headers[i].value) + 3;
    f->text = f->net->host->mem->alloc(size);
    if (f->text == NULL)
        return -1;
    char *at = f->text;
    for (size_t i = 0; i < ask->n_headers && f->n_lines < NET_LINES_MAX; i++) {
        const struct net_header *h = &ask->headers[i];
        if (h->value == NULL)
            continue;
        struct curl_slist *line = &f->lines[f->n_lines++];
        line->data = at;
        line->next = f->net->fixed;
        if (line > f->lines)
            line[-1].next = line;
        /* curl wants `Name;` for a header without a value */
        at += sprintf(at, h->value[0] != '\0' ? "%s: %s" : "%s;", h->name, h->value) + 1;
    }
    return 0;
}

static CURLcode set_method(struct net_fetch *f)
{
    CURL *e = f->easy;
    if (strcmp(f->method, "POST") == 0) {
        struct mcplug_bytes body = {(const unsigned char *)"", 0};
        if (f->body != NULL)
            body = f->net->host->mem->buf_bytes(f->body);
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, NULL);
        curl_easy_setopt(e, CURLOPT_POST, 1L);
        curl_easy_setopt(e, CURLOPT_POSTFIELDS, body.data);
        return curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    }
    curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
    return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST,
                            strcmp(f->method, "GET") == 0 ? NULL : f->method);
}

static int begin(struct net_fetch *f)
{
    CURL *e = f->easy;
    f->problem[0] = '\0';
    f->why.code = MCPLUG_OK;
    f->header_bytes = 0;
    f->decoded = 0;
    f->told = f->tries = f->written = 0;
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, f->problem);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, f);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(e, CURLOPT_PREREQDATA, f);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, f);
    curl_easy_setopt(e, CURLOPT_PRIVATE, f);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, f->n_lines > 0 ? f->lines : f->net->fixed);
    curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, f->net->idle_s > 0 ? f->net->idle_s : 60L);
    if (set_method(f) != CURLE_OK || curl_easy_setopt(e, CURLOPT_URL, f->url) != CURLE_OK)
        return -1;
    if (curl_multi_add_handle(f->net->multi, e) != CURLM_OK)
        return -1;
    f->added = 1;
    return 0;
}

/* When curl tries again, it counts the body anew, but not the request: one that left, of
 * whose body nothing has, is on its second try. */
int net_is_written(const struct net_fetch *f)
{
    curl_off_t sent = 0;
    if (f->written || f->body == NULL)
        return 1;
    curl_easy_getinfo(f->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return (size_t)sent >= f->net->host->mem->buf_bytes(f->body).len ||
           (sent == 0 && net_must_not_try(f));
}

int net_start(struct net *net, const struct net_ask *ask, const struct net_events *events,
              void *arg, struct net_fetch **out, struct mcplug_error *err)
{
    struct net_fetch *f = net->host->mem->alloc(sizeof *f);
    if (f == NULL)
        return out_of_memory(net, err);
    f->net = net;
    f->events = events;
    f->arg = arg;
    f->method = ask->method;
    f->once = ask->once;
    f->why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    f->body = ask->body != NULL ? net->host->mem->buf_ref(ask->body) : NULL;
    f->next = net->fetches;
    if (f->next != NULL)
        f->next->prev = f;
    net->fetches = f;
    net->n_under_way++;
    f->url = ask->url;
    f->easy = take_easy(net);
    if ((net->multi == NULL && net_loop_renew(net) != 0) || f->easy == NULL ||
        set_lines(f, ask) != 0 || begin(f) != 0) {
        fetch_free(f);
        return out_of_memory(net, err);
    }
    *out = f;
    net_kick(net);
    f->written = net_is_written(f);
    f->owes = !f->written;
    net->n_owing += f->owes ? 1 : 0;
    if (net->failed || (size_t)net->running < net->n_under_way || net->n_stopped > 0)
        net_soon(net); /* it has failed already */
    return MCPLUG_OK;
}

void net_stop(struct net_fetch *f)
{
    if (f == NULL)
        return;
    f->net->n_stopped += f->stopped ? 0 : 1;
    f->stopped = 1;
    if (!f->net->busy)
        fetch_free(f);
}

/* ---- what came of it ---- */

/* Sends it again, elsewhere. True when it goes on. */
static int redirected(struct net_fetch *f, struct mcplug_error *why)
{
    char to[URL_MAX];
    const char *location = f->location != NULL ? f->location : "";
    const char *reason =
        url_redirect(f->url, location, f->head.status, strcmp(f->method, "GET") == 0,
                     f->hops, to, sizeof to);
    if (reason != NULL) {
        f->net->host->diag->fail(
            why, MCPLUG_EREFUSED,
            "HTTP %d redirects to \"%.200s\", which is not followed: %s", f->head.status,
            location, reason);
        why->peer_status = f->head.status;
        return 0;
    }
    curl_multi_remove_handle(f->net->multi, f->easy);
    f->added = 0;
    f->hops++;
    char *moved = f->net->host->mem->alloc(strlen(to) + 1);
    if (moved != NULL) {
        f->net->host->mem->free(f->moved);
        f->url = f->moved = strcpy(moved, to);
        if (begin(f) == 0)
            return 1;
    }
    out_of_memory(f->net, why);
    return 0;
}

static void finish(struct net_fetch *f, CURLcode code)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const struct net_events *events = f->events;
    void *arg = f->arg;
    if (f->stopped) {
        fetch_free(f);
        return;
    }
    if (code == CURLE_OK && !f->told && f->head.status >= 300 && f->head.status < 400) {
        if (redirected(f, &why))
            return;
    } else if (f->why.code != MCPLUG_OK) {
        why = f->why;
    } else if (code != CURLE_OK) {
        net_explain(f, code, &why);
    } else if (!f->told) {
        f->net->host->diag->fail(&why, MCPLUG_EPROTO, "%s: an answer without a head",
                                 f->net->origin.host);
    }
    int left = why.code != MCPLUG_OK && f->body != NULL && may_have_left(f);
    fetch_free(f);
    if (left && events->sent != NULL)
        events->sent(arg);
    events->done(arg, why.code != MCPLUG_OK ? &why : NULL);
}

/* A request that was stopped from inside of curl and has not ended by itself. */
static void sweep(struct net *net)
{
    for (struct net_fetch *f = net->fetches, *next; f != NULL; f = next) {
        next = f->next;
        if (f->stopped)
            fetch_free(f);
    }
}

/* Whether a request left decides whether it may be made again, so that is told when it
 * happens: the answer, or the end of the connection, may be late. */
static void tell_sent(struct net *net)
{
    for (struct net_fetch *f = net->fetches; f != NULL && net->n_owing > 0; f = f->next) {
        if (!f->owes || f->stopped || !net_is_written(f))
            continue;
        f->owes = 0;
        net->n_owing--;
        f->written = 1;
        if (f->events->sent != NULL)
            f->events->sent(f->arg);
    }
}

static void finish_broken(struct net *net)
{
    while (net->n_broken > 0) { /* what is told may end others */
        struct net_fetch *f = net->fetches;
        while (f->broken == CURLE_OK)
            f = f->next;
        finish(f, f->broken);
    }
}

/* curl had no memory for its own books. They are not to be trusted then: 7.88 divides by
 * zero at the next call. What is under way has failed, and a new curl begins. */
static void begin_anew(struct net *net)
{
    struct net_fetch *f;
    for (f = net->fetches; f != NULL; f = f->next) {
        if (f->added)
            curl_multi_remove_handle(net->multi, f->easy);
        f->added = 0;
        f->lost = 1;
    }
    net_loop_renew(net);
    for (;;) { /* what is told may end others, or begin some */
        for (f = net->fetches; f != NULL && !f->lost; f = f->next)
            continue;
        if (f == NULL)
            return;
        finish(f, CURLE_OUT_OF_MEMORY);
    }
}

void net_collect(struct net *net)
{
    CURLMsg *msg;
    int left, ended = 0;
    tell_sent(net); /* before anything is told to have ended */
    while ((msg = curl_multi_info_read(net->multi, &left)) != NULL) {
        struct net_fetch *f = NULL;
        if (msg->msg != CURLMSG_DONE)
            continue;
        CURLcode code = msg->data.result;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&f);
        finish(f, code);
        ended = 1;
    }
    if (net->n_broken > 0)
        finish_broken(net);
    if (ended)
        net_kick(net); /* redirected ones */
    if (net->n_stopped > 0)
        sweep(net);
    if (net->failed)
        begin_anew(net);
}
