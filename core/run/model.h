/* A model that can be asked, and one request to it. Retries are made here, for all
 * modules: by the word of the API, and only while nothing of the answer has come. [loop]
 */
#ifndef MP_RUN_MODEL_H
#define MP_RUN_MODEL_H

#include <mcplug/mcplug.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "connect/target.h"
#include "content/render.h"

#define MP_MODEL_RETRIES 2
#define MP_MODEL_CONTEXT 200000            /* tokens, where nobody says otherwise */
#define MP_ANSWER_BYTES ((size_t)64 << 20) /* of one answer */
#define MP_ANSWER_CALLS 1024
#define MP_COUNT_MS 10000 /* for one count of tokens */

/* What models need of a host; at its beginning they are all gone. */
struct mp_models {
    struct mp_loop *loop;
    struct mp_events *log;
    struct mp_connector *connector;
    struct mcplug_model *first;
};

struct mcplug_model {
    unsigned refs;
    struct mp_models *models; /* NULL: the host is gone */
    struct mcplug_model *next, **prev;
    const struct mp_offer *offer;
    const struct mcplug_model_ops *ops;
    struct mp_target *target; /* what it is reached with */
    mcplug_props *settings;   /* of the module */
    void *m;                  /* the module's; NULL: secrets are to be looked up first */
    char *name;               /* of the model */
    struct mp_counter counter;
    bool cannot_count; /* it said so */
    double context;    /* tokens */
    /* of a million tokens; < 0: not known */
    double price_input, price_output, price_cached, price_to_cache;
};

/* take `target` */
struct mcplug_model *mp_model_new(struct mp_models *models, struct mp_target *target,
                                  struct mcplug_error *err);
/* Opens it with what was looked up, unless it is. */
int mp_model_open(struct mcplug_model *model, const mcplug_settings *settings,
                  struct mcplug_error *err);
struct mcplug_model *mp_model_ref(struct mcplug_model *model);
void mp_model_unref(struct mcplug_model *model);
/* Closes all; nothing asks them any more. */
void mp_models_clear(struct mp_models *models);
/* < 0: not known */
double mp_model_cost(const struct mcplug_model *model, const struct mcplug_usage *usage);

struct mp_model_call {
    char *id; /* "": to be made up */
    char *name;
    struct mp_str arguments;
    size_t after; /* bytes of the text that came before it */
};

struct mp_model_answer { /* all that a model said */
    struct mp_str text;
    struct mp_model_call *calls;
    size_t n_calls, calls_cap;
    struct mcplug_usage usage;
    struct mp_str raw;
    enum mcplug_stop stop;
};

struct mp_ask_events {
    /* Some more of it, whole characters of UTF-8. */
    void (*text)(void *arg, const char *text, size_t len, bool is_thought);
    void (*retry)(void *arg, uint64_t ms, const struct mcplug_error *why);
    /* The last one: the answer, borrow, or the reason why there is none. Both: the model
     * says that the conversation is too long for it. */
    void (*end)(void *arg, struct mp_model_answer *answer,
                const struct mcplug_error *why);
};

/* `prompt` is kept by the caller until end(). No event comes from inside of it. */
struct mcplug_reply *mp_model_ask(struct mcplug_model *model,
                                  const struct mcplug_prompt *prompt,
                                  const struct mp_ask_events *events, void *arg,
                                  struct mcplug_error *err);
/* The same, but only usage() counts of the answer, and it is asked once. For modules that
 * have count(), whose refusals are told by end(), too. NULL: no memory. `err` must not be
 * NULL. */
struct mcplug_reply *mp_model_count(struct mcplug_model *model,
                                    const struct mcplug_prompt *prompt,
                                    const struct mp_ask_events *events, void *arg,
                                    struct mcplug_error *err);
/* No event follows. Also fine in events but end(). */
void mp_reply_cancel(struct mcplug_reply *reply);

extern const struct mcplug_reply_ops mp_reply_ops; /* for modules */

/* ---- count.c ---- */

extern const struct mp_counter mp_model_counts; /* model->counter */
/* borrow; NULL: it cannot count. `model` may be NULL. */
struct mp_counter *mp_model_counter(struct mcplug_model *model);

#endif
