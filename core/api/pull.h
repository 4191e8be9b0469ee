/* The events that a program pulls instead of being called: mcplug_next_event(). Its
 * functions stand in for callbacks that the program did not give, so that nothing below
 * knows of the queue, and a call costs nothing more without it.
 *
 * It is bounded. What is lost first is what a program can do without; the end of a call
 * never is, for its place is reserved when the call is made. */
#ifndef MP_API_PULL_H
#define MP_API_PULL_H

#include "loop/loop.h"

#include <mcplug/mcplug.h>

#include <pthread.h>

#define MP_PULL_MAX 4096                         /* events, and places reserved */
#define MP_PULL_BYTES ((size_t)64 * 1024 * 1024) /* of their texts */

struct mp_pulled;

/* How much it is worth. */
enum mp_pull_rank { MP_PULL_NEWS, MP_PULL_STATE, MP_PULL_DONE, MP_PULL_RANKS };

struct mp_pull {
    struct mp_loop *loop;
    uint32_t wanted;           /* of MCPLUG_EVENT_BIT(); fixed. 0: there is no queue */
    struct mp_pulled *current; /* what the program looks at */

    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t cond;
    struct mp_pulled *first, **last;
    struct mp_pulled *oldest[MP_PULL_RANKS], **newest[MP_PULL_RANKS];
    size_t count[MP_PULL_RANKS], reserved, bytes;
    uint64_t dropped; /* since the last that is in here */
    bool stopped;     /* who waits, or is about to, is to return */
    bool ended;       /* nobody waits any more */
    unsigned waiting; /* threads inside mp_pull_wait() */
};

int mp_pull_init(struct mp_pull *pull, uint32_t wanted, struct mcplug_error *err);
/* Lets who is inside mp_pull_wait() return, and waits until they have. [loop] */
void mp_pull_end(struct mp_pull *pull);
void mp_pull_clear(struct mp_pull *pull); /* the loop has ended */
/* The same in a child of fork(), where a lock may be held by nobody. */
void mp_pull_forget(struct mp_pull *pull);
/* Who waits for an event returns without one; if nobody does, the next who would. [any]
 */
void mp_pull_stop(struct mp_pull *pull);
/* Forgets that; true: there was a stop. */
bool mp_pull_unstop(struct mp_pull *pull);

static inline bool mp_pull_wants(const struct mp_pull *pull, enum mcplug_event_type type)
{
    return pull->wanted >> type & 1;
}

/* Copies what `event` points to; its call gets a reference. Not for DONE. [any] */
void mp_pull_add(struct mp_pull *pull, const struct mcplug_event *event);
/* A place for the end of a call. give: it is the `arg` of the functions below, of which
 * one is called once, or mp_pull_cancel() is. */
struct mp_pulled *mp_pull_reserve(struct mp_pull *pull, const char *server, void *arg,
                                  struct mcplug_error *err);
void mp_pull_cancel(struct mp_pulled *place);
void mp_pull_done(void *place, mcplug_call *call, mcplug_result *result,
                  const struct mcplug_error *why);
void mp_pull_list_done(void *place, mcplug_call *call, mcplug_list *list,
                       const struct mcplug_error *why);
void mp_pull_progress(void *place, mcplug_call *call, double progress, double total,
                      const char *message);

/* Takes the oldest; the one before is gone. NULL: there is none. */
const struct mcplug_event *mp_pull_next(struct mp_pull *pull);
/* The same, waiting for another thread to add one; `wait_ms` < 0: without limit. NULL
 * after mp_pull_stop(), and from mp_pull_end() on. */
const struct mcplug_event *mp_pull_wait(struct mp_pull *pull, int wait_ms);

/* Stand in for callbacks that are not set and of which the queue wants the events. */
void mp_pull_fill_server(const struct mp_pull *pull, struct mcplug_server_options *o);
void mp_pull_fill_toolbox(const struct mp_pull *pull, struct mcplug_toolbox_options *o);
void mp_pull_log(void *pull, int level, const char *source, const char *text); /* [any] */

#endif
