/* Making contents beside the loop: short results at the end of the turn, long ones, and
 * what may write files, on a thread of the pool. [loop] */
#ifndef MP_CONTENT_RENDER_H
#define MP_CONTENT_RENDER_H

#include "content/content.h"
#include "convert/convert.h"
#include "base/event.h"
#include "loop/loop.h"

/* Who is asked how many tokens a text is: a model. [loop] */
struct mp_counter {
    void (*ref)(struct mp_counter *counter);
    void (*unref)(struct mp_counter *counter);
    /* `done` follows, once, and never from inside: the tokens, or MP_COUNT_FAILED or
     * MP_COUNT_NONE. `text` is kept by the caller until then. give: cancel. NULL: that
     * failed. Within a bounded time, and what failed is logged. */
    void *(*start)(struct mp_counter *counter, struct mcplug_bytes text,
                   void (*done)(void *arg, int64_t tokens), void *arg);
    void (*cancel)(void *count); /* before `done` */
};

struct mp_renderer { /* of a host */
    struct mp_loop *loop;
    struct mp_events *log;
    struct mp_store *store;
    struct mp_converters *converters; /* borrow */
    uint32_t max_tokens;              /* without a limit of its own */
    bool no_files;                    /* the user wants none */
    unsigned under_way;
    struct mp_render *renders;
};

/* Reads the environment. `dir` is for results; NULL: the usual one. MCPLUG_ENOMEM */
int mp_renderer_init(struct mp_renderer *r, struct mp_loop *loop, struct mp_events *log,
                     const char *dir, struct mcplug_error *err);
/* Cancels all; `under_way` is 0 when they have ended. */
void mp_renderer_end(struct mp_renderer *r);
void mp_renderer_clear(struct mp_renderer *r);

/* As mcplug_render(), with options that were taken, of which `model` is `counter`: NULL,
 * there is none that can count. */
mcplug_call *mp_render(struct mp_renderer *r, mcplug_result *result,
                       const struct mcplug_render_options *options,
                       struct mp_counter *counter, bool in_toolbox,
                       mcplug_render_fn *done, void *arg, struct mcplug_error *err);

#endif
