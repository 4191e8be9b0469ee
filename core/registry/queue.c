#include "registry/queue.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"

#include <assert.h>

#define BUCKETS 64 /* at first */

/* ---- lanes ---- */

static size_t bucket_of(const struct mp_queue *q, const struct mp_lane *over,
                        const void *key)
{
    uint64_t mixed = (uint64_t)(uintptr_t)over * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (uint64_t)(uintptr_t)key) * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(mixed >> 32) & (q->n_buckets - 1);
}

static void bucket_add(struct mp_queue *q, struct mp_lane *lane)
{
    struct mp_lane **head = &q->buckets[bucket_of(q, lane->over, lane->key)];
    mp_links_push(*head, lane, next_in_bucket, prev_bucket);
}

/* Without memory the buckets stay as few as they are: slower, not wrong. */
static void buckets_double(struct mp_queue *q)
{
    size_t n = q->n_buckets;
    struct mp_lane **old = q->buckets, **more = mp_alloc(2 * n * sizeof *more);
    if (!more)
        return;
    q->buckets = more;
    q->n_buckets = 2 * n;
    for (size_t i = 0; i < n; i++) {
        struct mp_lane *lane = old[i];
        while (lane) {
            struct mp_lane *next = lane->next_in_bucket;
            bucket_add(q, lane);
            lane = next;
        }
    }
    mp_free(old);
}

static void lane_init(struct mp_lane *lane, struct mp_lane *over, const void *key)
{
    lane->over = over;
    lane->key = key;
    lane->last = &lane->first;
    lane->line.last = &lane->line.first;
}

/* The one there is, or a new one that comes last. NULL: no memory. */
static struct mp_lane *lane_get(struct mp_queue *q, struct mp_lane *over, const void *key)
{
    struct mp_lane *lane = q->buckets[bucket_of(q, over, key)];
    while (lane && (lane->over != over || lane->key != key))
        lane = lane->next_in_bucket;
    if (lane || !(lane = mp_alloc(sizeof *lane)))
        return lane;
    lane_init(lane, over, key);
    mp_links_append(over->last, lane, next, prev);
    bucket_add(q, lane);
    if (++q->n_lanes > q->n_buckets)
        buckets_double(q);
    return lane;
}

/* Nobody waits in it any more: it goes. */
static bool lane_drop_empty(struct mp_queue *q, struct mp_lane *lane)
{
    if (lane->first || lane->line.first)
        return false;
    mp_links_remove(lane->over->last, lane, next, prev);
    mp_links_drop(lane, next_in_bucket, prev_bucket);
    q->n_lanes--;
    mp_free(lane);
    return true;
}

/* It had its turn: the others come first now. */
static void lane_had_turn(struct mp_queue *q, struct mp_lane *lane)
{
    if (!lane_drop_empty(q, lane)) {
        mp_links_remove(lane->over->last, lane, next, prev);
        mp_links_append(lane->over->last, lane, next, prev);
    }
}

/* ---- slots ---- */

static void on_job(struct mp_job *job)
{
    struct mp_queue *q = MP_OF(job, struct mp_queue, job);
    struct mp_ticket *ticket = q->granted.first;

    if (!ticket)
        return;
    mp_links_remove(q->granted.last, ticket, next, prev);
    ticket->running = true;
    if (q->granted.first)
        mp_job_defer(q->loop, &q->job, on_job);
    ticket->turn(ticket); /* may be the end of the queue too */
}

/* Slots that are free go to those whose turn it is. */
static void grant(struct mp_queue *q)
{
    while (q->waiting && q->running < q->limit) {
        struct mp_lane *server = q->root.first, *user = server->first;
        struct mp_ticket *ticket = user->line.first;
        mp_links_remove(user->line.last, ticket, next, prev);
        ticket->lane = NULL;
        q->waiting--;
        q->running++;
        mp_links_append(q->granted.last, ticket, next, prev);
        lane_had_turn(q, user);
        lane_had_turn(q, server);
    }
    if (q->granted.first)
        mp_job_defer(q->loop, &q->job, on_job);
}

int mp_queue_join(struct mp_queue *q, struct mp_ticket *ticket, const void *server,
                  const void *user, struct mcplug_error *err)
{
    struct mp_lane *site, *lane;

    assert(!ticket->queue);
    if (q->running < q->limit) { /* nobody waits then */
        q->running++;
        ticket->running = true;
    } else if (q->waiting >= q->room) {
        return mp_fail(err, MCPLUG_EOVERLOADED,
                       "queue \"%.64s\": %u call%s already, %u run%s (limit %u)", q->name,
                       q->waiting, q->waiting == 1 ? " waits" : "s wait", q->running,
                       q->running == 1 ? "s" : "", q->limit);
    } else {
        site = lane_get(q, &q->root, server);
        lane = site ? lane_get(q, site, user) : NULL;
        if (!lane) {
            if (site)
                lane_drop_empty(q, site);
            return mp_fail_nomem(err);
        }
        mp_links_append(lane->line.last, ticket, next, prev);
        ticket->lane = lane;
        ticket->running = false;
        q->waiting++;
    }
    ticket->queue = q;
    return MCPLUG_OK;
}

void mp_ticket_leave(struct mp_ticket *ticket)
{
    struct mp_queue *q = ticket->queue;
    struct mp_lane *lane = ticket->lane;

    if (!q)
        return;
    ticket->queue = NULL;
    ticket->lane = NULL;
    if (lane) {
        struct mp_lane *server = lane->over;
        mp_links_remove(lane->line.last, ticket, next, prev);
        q->waiting--;
        if (lane_drop_empty(q, lane))
            lane_drop_empty(q, server);
        return;
    }
    if (!ticket->running)
        mp_links_remove(q->granted.last, ticket, next, prev);
    ticket->running = false;
    q->running--;
    grant(q);
}

/* ---- the queue ---- */

struct mp_queue *mp_queue_new(struct mp_loop *loop, const char *name, unsigned limit,
                              unsigned waiting)
{
    struct mp_queue *q = mp_alloc(sizeof *q);
    if (!q)
        return NULL;
    q->loop = loop;
    mp_queue_set(q, limit, waiting);
    lane_init(&q->root, NULL, NULL);
    q->granted.last = &q->granted.first;
    q->n_buckets = BUCKETS;
    q->buckets = mp_alloc(BUCKETS * sizeof *q->buckets);
    q->name = mp_strdup(name);
    if (!q->buckets || !q->name) {
        mp_queue_free(q);
        return NULL;
    }
    return q;
}

void mp_queue_free(struct mp_queue *q)
{
    if (!q)
        return;
    mp_job_drop(q->loop, &q->job);
    assert(!q->running && !q->waiting);
    mp_free(q->buckets);
    mp_free(q->name);
    mp_free(q);
}

void mp_queue_set(struct mp_queue *q, unsigned limit, unsigned waiting)
{
    q->limit = limit ? limit : MP_QUEUE_LIMIT;
    q->room = waiting ? waiting : MP_QUEUE_WAITING;
    grant(q);
}
