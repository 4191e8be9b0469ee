#include "api/pull.h"

#include "api/host.h"
#include "base/error.h"
#include "base/mem.h"
#include "toolbox/toolbox.h"

#include <errno.h>
#include <time.h>

/* One event, and what it points to. */
struct mp_pulled {
    struct mcplug_event event;
    struct mp_pull *pull;
    struct mp_pulled *next, **prev; /* of all */
    struct mp_pulled *newer;        /* of the same rank */
    struct mcplug_error why;
    size_t bytes;
    char texts[];
};

static enum mp_pull_rank rank_of(const struct mp_pulled *p)
{
    return p->event.type == MCPLUG_EVENT_DONE    ? MP_PULL_DONE
           : p->event.type == MCPLUG_EVENT_STATE ? MP_PULL_STATE
                                                 : MP_PULL_NEWS;
}

/* ---- life ---- */

int mp_pull_init(struct mp_pull *pull, uint32_t wanted, struct mcplug_error *err)
{
    pthread_condattr_t attr;

    if (wanted >> (MCPLUG_EVENT_LOG + 1))
        return mp_fail(err, MCPLUG_EINVAL, "`events` has bits of no event: 0x%x", wanted);
    if (!wanted)
        return MCPLUG_OK;
    pull->last = &pull->first;
    for (int i = 0; i < MP_PULL_RANKS; i++)
        pull->newest[i] = &pull->oldest[i];
    pthread_mutex_init(&pull->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&pull->cond, &attr);
    pthread_condattr_destroy(&attr);
    pull->wanted = wanted;
    return MCPLUG_OK;
}

/* `texts`: room for them, besides the name of the server. */
static struct mp_pulled *pulled_new(struct mp_pull *pull, const char *server,
                                    size_t texts)
{
    size_t len = server ? strlen(server) + 1 : 0;
    struct mp_pulled *p = texts > SIZE_MAX / 2 ? NULL : mp_alloc(sizeof *p + len + texts);

    if (!p)
        return NULL;
    p->pull = pull;
    p->bytes = len + texts;
    p->event.struct_size = sizeof p->event;
    if (server)
        p->event.server = memcpy(p->texts + texts, server, len);
    return p;
}

static void pulled_free(struct mp_pulled *p)
{
    if (!p)
        return;
    mcplug_result_unref(p->event.result);
    mcplug_list_unref(p->event.list);
    mcplug_call_unref(p->event.call);
    mp_free(p);
}

void mp_pull_stop(struct mp_pull *pull)
{
    if (!pull->wanted)
        return;
    pthread_mutex_lock(&pull->lock);
    pull->stopped = true;
    pthread_cond_broadcast(&pull->cond);
    pthread_mutex_unlock(&pull->lock);
}

bool mp_pull_unstop(struct mp_pull *pull)
{
    if (!pull->wanted)
        return false;
    pthread_mutex_lock(&pull->lock);
    bool stopped = pull->stopped;
    pull->stopped = false;
    pthread_mutex_unlock(&pull->lock);
    return stopped;
}

void mp_pull_end(struct mp_pull *pull)
{
    if (!pull->wanted)
        return;
    pthread_mutex_lock(&pull->lock);
    pull->ended = true;
    pthread_cond_broadcast(&pull->cond);
    while (pull->waiting)
        pthread_cond_wait(&pull->cond, &pull->lock);
    pthread_mutex_unlock(&pull->lock);
}

void mp_pull_forget(struct mp_pull *pull)
{
    if (!pull->wanted)
        return;
    pulled_free(mp_move(&pull->current));
    while (pull->first) {
        struct mp_pulled *p = pull->first;
        pull->first = p->next;
        pulled_free(p);
    }
    pull->wanted = 0;
}

void mp_pull_clear(struct mp_pull *pull)
{
    if (!pull->wanted)
        return;
    mp_pull_forget(pull);
    pthread_cond_destroy(&pull->cond);
    pthread_mutex_destroy(&pull->lock);
}

/* ---- in and out, under the lock ---- */

static void append(struct mp_pull *pull, struct mp_pulled *p)
{
    enum mp_pull_rank rank = rank_of(p);

    p->event.dropped = pull->dropped;
    pull->dropped = 0;
    p->next = p->newer = NULL;
    p->prev = pull->last;
    *pull->last = p;
    pull->last = &p->next;
    *pull->newest[rank] = p;
    pull->newest[rank] = &p->newer;
    pull->count[rank]++;
    pull->bytes += p->bytes;
}

/* The oldest of its rank, which is what goes both in order and when there is no room. */
static struct mp_pulled *take_oldest(struct mp_pull *pull, enum mp_pull_rank rank)
{
    struct mp_pulled *p = pull->oldest[rank];

    pull->oldest[rank] = p->newer;
    if (!p->newer)
        pull->newest[rank] = &pull->oldest[rank];
    *p->prev = p->next;
    if (p->next)
        p->next->prev = p->prev;
    else
        pull->last = p->prev;
    pull->count[rank]--;
    pull->bytes -= p->bytes;
    return p;
}

static size_t places_taken(const struct mp_pull *pull)
{
    return pull->count[MP_PULL_NEWS] + pull->count[MP_PULL_STATE] +
           pull->count[MP_PULL_DONE] + pull->reserved;
}

/* Drops what is worth no more than `rank` until there is room for one more, and for so
 * many bytes. false: that was not enough. The next one in line says how many are missing
 * before it. */
static bool make_room(struct mp_pull *pull, enum mp_pull_rank rank, size_t bytes)
{
    while (places_taken(pull) >= MP_PULL_MAX ||
           (bytes && pull->bytes + bytes > MP_PULL_BYTES)) {
        enum mp_pull_rank worst =
            pull->oldest[MP_PULL_NEWS] ? MP_PULL_NEWS : MP_PULL_STATE;
        if (worst > rank || worst == MP_PULL_DONE || !pull->oldest[worst])
            return false;
        struct mp_pulled *p = take_oldest(pull, worst);
        uint64_t *missing = p->next ? &p->next->event.dropped : &pull->dropped;
        *missing += p->event.dropped + 1;
        pulled_free(p);
    }
    return true;
}

/* ---- adding ---- */

static void copy_why(struct mp_pulled *p, const struct mcplug_error *why)
{
    if (!why)
        return;
    p->why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    mp_error_copy(&p->why, why);
    p->event.why = &p->why;
}

void mp_pull_add(struct mp_pull *pull, const struct mcplug_event *event)
{
    size_t texts = event->text ? event->len + 1 : 0;
    struct mp_pulled *p = pulled_new(pull, event->server, texts);

    if (p) {
        const char *server = p->event.server;
        p->event = *event;
        p->event.struct_size = sizeof p->event;
        p->event.server = server;
        if (event->text)
            p->event.text = memcpy(p->texts, event->text, event->len);
        mcplug_call_ref(p->event.call);
        copy_why(p, event->why);
    }
    pthread_mutex_lock(&pull->lock);
    bool was_empty = !pull->first;
    if (p && make_room(pull, rank_of(p), p->bytes)) {
        append(pull, p);
        p = NULL;
    } else {
        pull->dropped++;
        was_empty = false;
    }
    pthread_cond_signal(&pull->cond);
    pthread_mutex_unlock(&pull->lock);
    pulled_free(p);
    /* a line may come outside of a turn, and on any thread */
    if (was_empty && event->type == MCPLUG_EVENT_LOG && pull->loop)
        mp_loop_wake(pull->loop);
}

struct mp_pulled *mp_pull_reserve(struct mp_pull *pull, const char *server, void *arg,
                                  struct mcplug_error *err)
{
    struct mp_pulled *p = pulled_new(pull, server, 0);
    if (!p) {
        mp_fail_nomem(err);
        return NULL;
    }
    p->event.type = MCPLUG_EVENT_DONE;
    p->event.arg = arg;
    pthread_mutex_lock(&pull->lock);
    bool has_room = make_room(pull, MP_PULL_DONE, 0);
    pull->reserved += has_room;
    pthread_mutex_unlock(&pull->lock);
    if (has_room)
        return p;
    pulled_free(p);
    mp_fail(err, MCPLUG_EOVERLOADED,
            "the queue of events is full: %d calls are under way, or have ended and "
            "were not pulled (mcplug_next_event)",
            MP_PULL_MAX);
    return NULL;
}

void mp_pull_cancel(struct mp_pulled *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->pull->lock);
    p->pull->reserved--;
    pthread_mutex_unlock(&p->pull->lock);
    pulled_free(p);
}

static void call_ended(struct mp_pulled *p, mcplug_call *call,
                       const struct mcplug_error *why)
{
    struct mp_pull *pull = p->pull;

    p->event.call = mcplug_call_ref(call);
    copy_why(p, why);
    pthread_mutex_lock(&pull->lock);
    pull->reserved--;
    append(pull, p);
    pthread_cond_signal(&pull->cond);
    pthread_mutex_unlock(&pull->lock);
}

void mp_pull_done(void *place, mcplug_call *call, mcplug_result *result,
                  const struct mcplug_error *why)
{
    struct mp_pulled *p = place;
    p->event.result = mcplug_result_ref(result);
    call_ended(p, call, why);
}

void mp_pull_list_done(void *place, mcplug_call *call, mcplug_list *list,
                       const struct mcplug_error *why)
{
    struct mp_pulled *p = place;
    p->event.list = mcplug_list_ref(list);
    call_ended(p, call, why);
}

void mp_pull_progress(void *place, mcplug_call *call, double progress, double total,
                      const char *message)
{
    const struct mp_pulled *p = place;
    struct mcplug_event event = {.type = MCPLUG_EVENT_PROGRESS,
                                 .server = p->event.server,
                                 .arg = p->event.arg,
                                 .call = call,
                                 .text = message,
                                 .len = message ? strlen(message) : 0,
                                 .progress = progress,
                                 .total = total};
    mp_pull_add(p->pull, &event);
}

/* ---- pulling ---- */

static struct mp_pulled *take_first(struct mp_pull *pull)
{
    return pull->first ? take_oldest(pull, rank_of(pull->first)) : NULL;
}

static const struct mcplug_event *show(struct mp_pull *pull, struct mp_pulled *p)
{
    pulled_free(pull->current);
    pull->current = p;
    return p ? &p->event : NULL;
}

const struct mcplug_event *mp_pull_next(struct mp_pull *pull)
{
    pthread_mutex_lock(&pull->lock);
    struct mp_pulled *p = take_first(pull);
    pthread_mutex_unlock(&pull->lock);
    return show(pull, p);
}

const struct mcplug_event *mp_pull_wait(struct mp_pull *pull, int wait_ms)
{
    struct timespec until;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000L;
    if (wait_ms > 0 && until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&pull->lock);
    pull->waiting++;
    while (!pull->first && !pull->ended && !pull->stopped && wait_ms != 0 &&
           r != ETIMEDOUT)
        r = wait_ms < 0 ? pthread_cond_wait(&pull->cond, &pull->lock)
                        : pthread_cond_timedwait(&pull->cond, &pull->lock, &until);
    bool is_over = pull->ended || (pull->stopped && wait_ms != 0);
    pull->stopped = pull->stopped && wait_ms == 0;
    struct mp_pulled *p = is_over ? NULL : take_first(pull), *before = pull->current;
    pull->current = p;
    pull->waiting--;
    if (pull->ended) /* the host may be gone from here on */
        pthread_cond_broadcast(&pull->cond);
    pthread_mutex_unlock(&pull->lock);
    pulled_free(before);
    return p ? &p->event : NULL;
}

static void on_waited(struct mp_timer *timer)
{
    (void)timer; /* it has ended the turn */
}

/* The loop runs here, until there is one. */
static const struct mcplug_event *turn_until(struct mp_pull *pull, int wait_ms)
{
    bool stopped = wait_ms != 0 && mp_pull_unstop(pull);
    const struct mcplug_event *event = stopped ? show(pull, NULL) : mp_pull_next(pull);
    struct mp_timer timer = {0};

    if (!event && !stopped && wait_ms > 0 &&
        mp_timer_start(pull->loop, &timer, (unsigned)wait_ms, on_waited) != MCPLUG_OK)
        wait_ms = 0;
    bool more = !event && !stopped;
    while (more) {
        mp_loop_turn(pull->loop, wait_ms != 0);
        stopped = wait_ms != 0 && mp_pull_unstop(pull);
        event = stopped ? NULL : mp_pull_next(pull);
        more = !event && !stopped && (wait_ms < 0 || timer.slot != 0);
    }
    mp_timer_stop(pull->loop, &timer);
    if (stopped) /* nor does mcplug_run() end by it */
        mp_loop_unstop(pull->loop);
    return event;
}

const struct mcplug_event *mcplug_next_event(mcplug *host, int wait_ms)
{
    struct mp_pull *pull = host ? &host->pull : NULL;

    if (!pull || !pull->wanted || mp_loop_forked(host->loop))
        return NULL;
    if (!mp_loop_here(host->loop))
        return mp_pull_wait(pull, wait_ms);
    if (mp_loop_in_turn(host->loop))
        return mp_pull_next(pull);
    return turn_until(pull, wait_ms);
}

/* ---- in place of a program's callbacks ---- */

static void add_state(const struct mp_registry *registry, const char *server, void *arg,
                      enum mcplug_state state, const struct mcplug_error *why)
{
    struct mcplug_event event = {.type = MCPLUG_EVENT_STATE,
                                 .server = server,
                                 .arg = arg,
                                 .state = state,
                                 .why = why};
    mp_pull_add(&mp_host_of(registry)->pull, &event);
}

static void add_text(const struct mp_registry *registry, enum mcplug_event_type type,
                     const char *server, void *arg, const char *text, size_t len)
{
    struct mcplug_event event = {
        .type = type, .server = server, .arg = arg, .text = text, .len = len};
    mp_pull_add(&mp_host_of(registry)->pull, &event);
}

static void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    add_state(server->service->registry, server->name, arg, state, why);
}

static void on_changed(void *arg, mcplug_server *server, int kind, const char *uri)
{
    struct mcplug_event event = {.type = MCPLUG_EVENT_CHANGED,
                                 .server = server->name,
                                 .arg = arg,
                                 .kind = (uint32_t)kind,
                                 .text = uri,
                                 .len = uri ? strlen(uri) : 0};
    mp_pull_add(&mp_host_of(server->service->registry)->pull, &event);
}

static void on_logged(void *arg, mcplug_server *server, const char *params, size_t len)
{
    add_text(server->service->registry, MCPLUG_EVENT_LOGGED, server->name, arg, params,
             len);
}

static void on_remark(void *arg, mcplug_server *server, const char *line, size_t len)
{
    add_text(server->service->registry, MCPLUG_EVENT_REMARK, server->name, arg, line,
             len);
}

void mp_pull_fill_server(const struct mp_pull *pull, struct mcplug_server_options *o)
{
    if (!o->state && mp_pull_wants(pull, MCPLUG_EVENT_STATE))
        o->state = on_state;
    if (!o->changed && mp_pull_wants(pull, MCPLUG_EVENT_CHANGED))
        o->changed = on_changed;
    if (!o->logged && mp_pull_wants(pull, MCPLUG_EVENT_LOGGED))
        o->logged = on_logged;
    if (!o->remark && mp_pull_wants(pull, MCPLUG_EVENT_REMARK))
        o->remark = on_remark;
}

static void on_box_state(void *arg, mcplug_toolbox *box, const char *server,
                         enum mcplug_state state, const struct mcplug_error *why)
{
    add_state(box->registry, server, arg, state, why);
}

static void on_box_changed(void *arg, mcplug_toolbox *box)
{
    add_text(box->registry, MCPLUG_EVENT_CHANGED, NULL, arg, NULL, 0);
}

static void on_box_logged(void *arg, mcplug_toolbox *box, const char *server,
                          const char *params, size_t len)
{
    add_text(box->registry, MCPLUG_EVENT_LOGGED, server, arg, params, len);
}

static void on_box_remark(void *arg, mcplug_toolbox *box, const char *server,
                          const char *line, size_t len)
{
    add_text(box->registry, MCPLUG_EVENT_REMARK, server, arg, line, len);
}

void mp_pull_fill_toolbox(const struct mp_pull *pull, struct mcplug_toolbox_options *o)
{
    if (!o->state && mp_pull_wants(pull, MCPLUG_EVENT_STATE))
        o->state = on_box_state;
    if (!o->changed && mp_pull_wants(pull, MCPLUG_EVENT_CHANGED))
        o->changed = on_box_changed;
    if (!o->logged && mp_pull_wants(pull, MCPLUG_EVENT_LOGGED))
        o->logged = on_box_logged;
    if (!o->remark && mp_pull_wants(pull, MCPLUG_EVENT_REMARK))
        o->remark = on_box_remark;
}

void mp_pull_log(void *arg, int level, const char *source, const char *text)
{
    struct mcplug_event event = {.type = MCPLUG_EVENT_LOG,
                                 .server = strncmp(source, "mcp:", 4) ? NULL : source + 4,
                                 .kind = (uint32_t)level,
                                 .text = text,
                                 .len = strlen(text)};
    mp_pull_add(arg, &event);
}
