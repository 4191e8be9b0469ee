#include "registry/queue.h"

#include "base/error.h"
#include "base/mem.h"

#include <assert.h>

#define BUCKETS 64 /* at first */

/* A list of tickets, the oldest first. */
struct line {
    struct mp_ticket *first, **last;
};

/* One that takes turns with others: a server among servers, a user among the users of a
 * server. There while somebody waits in it, so memory follows those who wait. */
struct mp_lane {
    struct mp_lane *over; /* the server of a user; of a server, the root */
    const void *key;
    struct mp_lane *next, **prev;                  /* the others of `over`, in turn */
    struct mp_lane *first, **last;                 /* of a server: its users */
    struct line line;                              /* of a user */
    struct mp_lane *next_in_bucket, **prev_bucket; /* found by `over` and `key` */
};

struct mp_queue {
    struct mp_loop *loop;
    char *name;
    unsigned limit, room;
    unsigned running, waiting; /* the granted run */
    struct mp_lane root;
    struct line granted; /* they have their slot, turn() is still to run */
    struct mp_job job;
    struct mp_lane **buckets;
    size_t n_buckets, n_lanes;
};

/* ---- lines ---- */

static void line_init(struct line *line)
{
    line->first = NULL;
    line->last = &line->first;
}

static void line_add(struct line *line, struct mp_ticket *ticket)
{
    ticket->next = NULL;
    ticket->prev = line->last;
    *line->last = ticket;
    line->last = &ticket->next;
}

static void line_remove(struct line *line, struct mp_ticket *ticket)
{
    *ticket->prev = ticket->next;
    if (ticket->next)
        ticket->next->prev = ticket->prev;
    else
        line->last = ticket->prev;
    ticket->next = NULL;
    ticket->prev = NULL;
}

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
    lane->next_in_bucket = *head;
    if (*head)
        (*head)->prev_bucket = &lane->next_in_bucket;
    lane->prev_bucket = head;
    *head = lane;
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

static void lane_append(struct mp_lane *lane)
{
    lane->next = NULL;
    lane->prev = lane->over->last;
    *lane->over->last = lane;
    lane->over->last = &lane->next;
}

static void lane_unlink(struct mp_lane *lane)
{
    *lane->prev = lane->next;
    if (lane->next)
        lane->next->prev = lane->prev;
    else
        lane->over->last = lane->prev;
}

static void lane_init(struct mp_lane *lane, struct mp_lane *over, const void *key)
{
    lane->over = over;
    lane->key = key;
    lane->last = &lane->first;
    line_init(&lane->line);
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
    lane_append(lane);
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
    lane_unlink(lane);
    *lane->prev_bucket = lane->next_in_bucket;
    if (lane->next_in_bucket)
        lane->next_in_bucket->prev_bucket = lane->prev_bucket;
    q->n_lanes--;
    mp_free(lane);
    return true;
}

/* It had its turn: the others come first now. */
static void lane_had_turn(struct mp_queue *q, struct mp_lane *lane)
{
    if (!lane_drop_empty(q, lane)) {
        lane_unlink(lane);
        lane_append(lane);
    }
}

/* ---- slots ---- */

static void on_job(struct mp_job *job)
{
    struct mp_queue *q = MP_OF(job, struct mp_queue, job);
    struct mp_ticket *ticket = q->granted.first;

    if (!ticket)
        return;
    line_remove(&q->granted, ticket);
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
        line_remove(&user->line, ticket);
        ticket->lane = NULL;
        q->waiting--;
        q->running++;
        line_add(&q->granted, ticket);
        lane_had_turn(q, user);
        lane_had_turn(q, server);
    }
    if (q->granted.first)
        mp_job_defer(q->loop, &q->job, on_job);
}

static int overloaded(const struct mp_queue *q, struct mcplug_error *err)
{
    return mp_fail(err, MCPLUG_EOVERLOADED,
                   "queue \"%.64s\": %u call%s already, %u run%s (limit %u)", q->name,
                   q->waiting, q->waiting == 1 ? " waits" : "s wait", q->running,
                   q->running == 1 ? "s" : "", q->limit);
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
        return overloaded(q, err);
    } else {
        site = lane_get(q, &q->root, server);
        lane = site ? lane_get(q, site, user) : NULL;
        if (!lane) {
            if (site)
                lane_drop_empty(q, site);
            return mp_fail_nomem(err);
        }
        line_add(&lane->line, ticket);
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
        line_remove(&lane->line, ticket);
        q->waiting--;
        if (lane_drop_empty(q, lane))
            lane_drop_empty(q, server);
        return;
    }
    if (!ticket->running)
        line_remove(&q->granted, ticket);
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
    q->limit = limit ? limit : MP_QUEUE_LIMIT;
    q->room = waiting ? waiting : MP_QUEUE_WAITING;
    lane_init(&q->root, NULL, NULL);
    line_init(&q->granted);
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

const char *mp_queue_name(const struct mp_queue *q)
{
    return q->name;
}

void mp_queue_set(struct mp_queue *q, unsigned limit, unsigned waiting)
{
    q->limit = limit ? limit : MP_QUEUE_LIMIT;
    q->room = waiting ? waiting : MP_QUEUE_WAITING;
    grant(q);
}

unsigned mp_queue_limit(const struct mp_queue *q)
{
    return q->limit;
}

unsigned mp_queue_running(const struct mp_queue *q)
{
    return q->running;
}

unsigned mp_queue_waiting(const struct mp_queue *q)
{
    return q->waiting;
}
