#include "web_post.h"

#include <stdio.h>
#include <string.h>

int web_post_init(struct web_post *p, struct web_outbox *o, mcplug_buf *frame,
                  const struct mcplug_envelope *env)
{
    const char *method = env != NULL ? web_meta(env, "method") : NULL;
    const char *revision = env != NULL ? web_meta(env, "protocol-version") : NULL;
    p->outbox = o;
    p->frame = frame;
    p->answer.retry_after_ms = -1;
    if (env != NULL) {
        p->kind = env->kind;
        p->serial = env->serial;
        p->number = env->kind == MCPLUG_REQUEST ? env->exchange : 0;
    }
    p->is_modern = revision != NULL && strcmp(revision, WEB_FIRST_MODERN) >= 0;
    p->once = method != NULL && p->kind == MCPLUG_REQUEST && !web_is_harmless(method);
    p->is_initialize = method != NULL && strcmp(method, "initialize") == 0;
    p->is_initialized =
        method != NULL && strcmp(method, "notifications/initialized") == 0;
    p->is_cancel = method != NULL && strcmp(method, "notifications/cancelled") == 0;
    p->is_standing = method != NULL && strcmp(method, "subscriptions/listen") == 0;
    web_outbox_enlist(o, p);
    return env == NULL || web_headers_take(p, env) == 0 ? MCPLUG_OK : MCPLUG_ENOMEM;
}

static void stop_timer(struct web_post *p)
{
    if (p->timer != NULL)
        p->outbox->host->loop->timer_stop(p->timer);
    p->timer = NULL;
}

static void stop(struct web_post *p)
{
    p->outbox->fetch->stop(p->request);
    p->request = NULL;
    stop_timer(p);
}

void web_post_clear(struct web_post *p)
{
    struct web_outbox *o = p->outbox;
    stop(p);
    web_outbox_delist(p);
    o->n_active -= p->is_active ? 1 : 0;
    o->n_late -= p->is_late ? 1 : 0;
    o->n_aside -= p->is_aside ? 1 : 0;
    if (o->barrier == p)
        o->barrier = NULL;
    o->host->mem->buf_unref(p->frame);
    o->host->mem->free(p->headers);
    web_answer_clear(o->host, &p->answer);
}

void web_post_rest(struct web_post *p)
{
    p->request = NULL;
    stop_timer(p);
}

/* ---- its POST ---- */

/* How long one that awaits no reply may take. */
static unsigned patience(const struct web_post *p)
{
    return p->is_cancel ? WEB_CANCEL_MS : WEB_OPEN_MS;
}

int web_post_start(struct web_post *p, const char *url, const struct mcplug_pair *more,
                   size_t n_more, const char *const *wants,
                   const struct mcplug_fetch_events *events, struct mcplug_error *err)
{
    struct web_outbox *o = p->outbox;
    if (n_more > 0)
        memcpy(p->headers + p->n_headers, more, n_more * sizeof *more);
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask,
        .flags =
            (p->once ? MCPLUG_FETCH_ONCE : 0) | (p->number != 0 ? MCPLUG_FETCH_EAGER : 0),
        .method = "POST",
        .url = url,
        .headers = p->headers,
        .n_headers = p->n_headers + n_more,
        .wants = wants,
        .body = p->frame,
    };
    if (p->number == 0 || !o->replies)
        web_post_allow(p, p->is_initialized || p->number != 0 ? WEB_BARRIER_MS
                                                              : patience(p));
    int r = o->fetch->start(o->client, &ask, events, p, &p->request, err);
    if (r != MCPLUG_OK)
        return r;
    if (p->number != 0 && !p->is_active && !p->is_late && !p->is_standing) {
        p->is_active = 1;
        o->n_active++;
    } else if (p->number == 0 && !p->is_aside) {
        p->is_aside = 1;
        o->n_aside++;
    }
    return MCPLUG_OK;
}

void web_post_written(void *arg)
{
    struct web_post *p = arg;
    if (p->owes)
        p->outbox->host->wire->written(p->outbox->conn, p->serial);
    p->owes = 0;
}

/* The reply comes by another way: the POST gives its place to another request, unless
 * there are as many of its kind as there may be requests. */
static void give_way(struct web_post *p)
{
    struct web_outbox *o = p->outbox;
    if (!p->is_active || o->n_late >= o->max_active)
        return;
    p->is_active = 0;
    o->n_active--;
    p->is_late = 1;
    o->n_late++;
}

static void on_too_late(void *arg)
{
    struct web_post *p = arg;
    struct web_outbox *o = p->outbox;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    p->timer = NULL;
    if (o->barrier == p || p->number != 0) { /* others have waited long enough for it */
        o->barrier = o->barrier == p ? NULL : o->barrier;
        if (p->number == 0)
            web_post_allow(p, WEB_OPEN_MS);
        else
            give_way(p);
        web_outbox_pump(o);
        return;
    }
    o->fetch->stop(p->request);
    o->host->diag->fail(&why, MCPLUG_ETIMEDOUT, "no %s within %u s",
                        p->kind == 0 ? "stream" : "answer", patience(p) / 1000);
    o->ops->done(p, &why);
}

void web_post_allow(struct web_post *p, uint64_t ms)
{
    stop_timer(p);
    p->timer = p->outbox->host->loop->timer_start(p->outbox->self, ms, on_too_late, p);
}

/* ---- its answer ---- */

static void on_enough(void *arg)
{
    struct web_post *p = arg;
    p->timer = NULL;
    p->outbox->fetch->stop(p->request);
    p->outbox->ops->done(p, NULL);
}

void web_post_taken(struct web_post *p)
{
    struct web_outbox *o = p->outbox;
    stop_timer(p);
    p->timer = o->host->loop->timer_start(o->self, WEB_LINGER_MS, on_enough, p);
    if (o->barrier != p)
        return;
    o->barrier = NULL;
    if (o->hold == NULL)
        web_outbox_hold(o, 0); /* not from inside of an event */
}

void web_post_keep(struct web_post *p, struct mcplug_bytes piece)
{
    const struct web_outbox *o = p->outbox;
    int is_full = web_answer_keep(o->host, &p->answer, piece);
    if (is_full && p->kind != 0 && p->timer == NULL)
        p->timer = o->host->loop->timer_start(o->self, 0, on_enough, p);
}

/* ---- once more ---- */

static void on_again(void *arg)
{
    struct web_post *p = arg;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    p->timer = NULL;
    if (p->outbox->is_shut)
        return; /* it goes with the connection */
    p->outbox->host->wire->describe(p->outbox->conn, "delay", "");
    if (p->outbox->ops->begin(p, &err) != MCPLUG_OK)
        web_post_end(p, &err);
}

void web_post_again_in(struct web_post *p, int64_t ms)
{
    const struct web_outbox *o = p->outbox;
    p->timer = o->host->loop->timer_start(o->self, (uint64_t)ms, on_again, p);
    if (p->timer == NULL)
        web_post_fail(p, MCPLUG_ENOMEM, "out of memory");
}

int web_post_waits(struct web_post *p)
{
    const struct web_answer *a = &p->answer;
    const struct web_outbox *o = p->outbox;
    char delay[128];
    if ((a->status != 429 && a->status != 503) || a->retry_after_ms < 0 ||
        a->retry_after_ms > WEB_RETRY_AFTER_MAX || p->retries >= WEB_RETRIES_MAX)
        return 0;
    p->retries++;
    snprintf(delay, sizeof delay, "HTTP %d %s: the server asked to retry after %llds",
             a->status, web_status_name(a->status),
             (long long)(a->retry_after_ms + 999) / 1000);
    o->host->diag->log(o->self, MCPLUG_LOG_VERBOSE, "%s", delay);
    o->host->wire->describe(o->conn, "delay", delay); /* for who does not wait as long */
    web_post_again_in(p, a->retry_after_ms);
    return 1;
}

/* ---- its end ---- */

void web_post_end(struct web_post *p, const struct mcplug_error *why)
{
    struct web_outbox *o = p->outbox;
    if (p->number != 0)
        o->host->wire->exchange_end(o->conn, p->number, why);
    else
        web_post_written(p); /* nobody waits for it, but it is counted */
    if (why != NULL && p->number == 0 && p->kind != 0)
        o->host->diag->log(o->self, p->is_cancel ? MCPLUG_LOG_VERBOSE : MCPLUG_LOG_WARN,
                           "a %s was refused: %s",
                           p->kind == MCPLUG_RESPONSE ? "response" : "notification",
                           why->text);
    o->ops->free(p);
    web_outbox_pump(o);
}

void web_post_fail(struct web_post *p, int code, const char *text)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    p->outbox->host->diag->fail(&why, code, "%s", text);
    web_post_end(p, &why);
}
