/* Runs: a thread, a model and tools. [loop]
 *
 *   thread.c, thread_json.c  the messages
 *   model.c, reply.c         a model, and one request to it
 *   count.c                  the tokens of a text, counted by a model
 *   offer.c                  which tools the model is offered, and what they look like
 *   find.c                   search_tools: when there are too many to offer all
 *   use.c                    the calls of one turn: who does them, in which order
 *   run.c                    the steps, limits and the end
 *
 * Every run ends exactly once, and leaves its thread in order: see thread.h. */
#ifndef MP_RUN_RUN_H
#define MP_RUN_RUN_H

#include "run/model.h"
#include "run/thread.h"
#include "toolbox/toolbox.h"

#define MP_RUN_STEPS 50
#define MP_RUN_REPEATS 8
#define MP_RUN_TOOLS 4096        /* of the program */
#define MP_RUN_BUDGET_PERCENT 10 /* of the context that definitions may have */
#define MP_RUN_FIRST_PART 2      /* of the budget, for those that are wanted first */
#define MP_SEARCH_TOOLS "search_tools"

struct mp_runs {
    struct mp_models models;
    struct mp_thread_run *first;
    struct mcplug_use *left; /* by runs that have ended: the program has yet to answer */
    unsigned under_way;
    bool ending; /* nothing begins any more */
};

/* ---- offer.c ---- */

struct mp_known {                  /* a tool that the model may call */
    struct mcplug_definition def;  /* for the model; name NULL: gone, or cannot be used */
    char *block;                   /* texts of it */
    mp_view schema;                /* as it was given: arguments are checked by it */
    char *server, *tool;           /* of MCP, and what it is called there; else NULL */
    const struct mcplug_tool *own; /* of the program; NULL: of the toolbox */
    bool is_search;                /* search_tools */
    bool is_read_only;
    bool is_first; /* wanted by the program, and there is room for it */
    bool is_offered;
    bool is_bad;      /* its definition made a request fail */
    bool is_left_out; /* models would refuse it, or the program has one of that name */
    uint64_t tokens;  /* that the definition takes, about */
    uint64_t hash;    /* of what it was made of */
};

struct mp_offered {
    struct mp_known **known; /* all */
    size_t n, cap;
    const struct mcplug_definition **defs; /* what is offered, in an order that stays */
    size_t n_defs, defs_cap;
    uint64_t budget;  /* tokens */
    uint64_t tokens;  /* of what is offered */
    uint64_t first;   /* of what is wanted first */
    size_t max;       /* that a request may have; 0: any number */
    uint64_t seen;    /* of the toolbox: mcplug_toolbox.built */
    size_t n_heard;   /* messages of the thread that were looked at, */
    size_t n_before;  /* and that were there before the run */
    bool is_begun;    /* those of the toolbox have been looked at */
    bool is_searched; /* there are too many: they are found by search_tools */
};

struct mp_thread_run;
/* At the beginning: the tools of the program. MCPLUG_EINVAL: one is wrong. */
int mp_offer_own(struct mp_thread_run *run, struct mcplug_error *err);
/* Brings it up to date with the toolbox and the thread; what is new comes last. */
int mp_offer_update(struct mp_thread_run *run, struct mcplug_error *err);
void mp_offer_clear(struct mp_offered *offered);
struct mp_known *mp_offer_find(const struct mp_offered *offered, const char *name);
/* From the next request on. */
bool mp_offer_add(struct mp_offered *offered, struct mp_known *known);
/* Which tool an API's words are about, if they name one; NULL: none. */
struct mp_known *mp_offer_blame(const struct mp_offered *offered, const char *words);
void mp_offer_withdraw(struct mp_offered *offered, struct mp_known *known);

/* ---- find.c ---- */

/* Adds the definition of search_tools, as tools/list would have it. */
void mp_search_define(const struct mp_offered *offered, struct mp_str *out);
/* Adds what it answers: a line for each tool that it finds, which begins with its name
 * and ": ". What stands there is offered from the next request on, and in later runs of
 * the thread. */
int mp_offer_search(const struct mp_offered *offered, mp_view arguments,
                    struct mp_str *out);

/* ---- use.c ---- */

enum mp_use_state { MP_USE_WAITS, MP_USE_ASKS, MP_USE_RUNS, MP_USE_ENDED };

struct mcplug_use {
    struct mp_thread_run *run; /* NULL: it is over, see mp_runs.left */
    const struct mcplug_item *item;
    struct mp_known *known; /* NULL: there is no such tool */
    enum mp_use_state state;
    bool is_checked;   /* it can be called */
    bool is_allowed;   /* asked for already */
    bool must_ask;     /* toolsAsked names it */
    bool is_shown;     /* the user answers, after the run */
    bool is_program_s; /* which holds it, and frees it by answering */
    mcplug_call *call;
    uint64_t began_at;
    struct mcplug_item *result;
    struct mcplug_use *next, **prev; /* in mp_runs.left */
};

/* Begins the calls of the last message. mp_run_uses_ended() follows when all have ended,
 * from a job. */
int mp_uses_start(struct mp_thread_run *run, struct mcplug_error *err);
/* Ends those that are under way; the same follows. */
void mp_uses_stop(struct mp_thread_run *run);
void mp_uses_clear(struct mp_thread_run *run);
/* Frees what the program never answered. */
void mp_uses_forget(struct mp_runs *runs);

/* ---- run.c ---- */

struct mp_thread_run {
    struct mcplug_call base;
    struct mp_runs *runs;
    struct mp_thread_run *next, **prev;
    struct mcplug_thread *thread;
    struct mcplug_model *model;
    struct mcplug_run_options o;
    struct mp_str system;
    struct mp_offered offered;
    struct mcplug_prompt prompt;
    struct mcplug_reply *reply;

    struct mcplug_use **uses; /* of this turn */
    size_t n_uses, uses_cap;
    struct mp_job uses_job;

    struct { /* calls that were made, by their hash */
        uint64_t hash;
        uint32_t count; /* of turns with it */
        uint32_t step;  /* that it was counted in last */
    } * repeats;
    size_t n_repeats, repeats_cap;

    struct mp_job job; /* the next step, or the end */
    struct mp_timer timer;
    uint64_t began_at;
    bool is_stopping; /* for `end`, or cancelled */
    bool is_cancelled;
    enum mcplug_run_end end; /* 0: not yet */
    struct mcplug_error why;
    struct mcplug_run_result result;
    struct mcplug_usage usage;
    struct mp_str text; /* of the last answer, as far as it was told */
    size_t n_taken;     /* bytes of it that are in the thread */
    unsigned quarantined;
    mcplug_run_fn *done;
    void *arg;
};

mcplug_call *mp_run_start(struct mp_runs *runs, struct mcplug_thread *thread,
                          const struct mcplug_run_options *options, mcplug_run_fn *done,
                          void *arg, struct mcplug_error *err);
void mp_runs_end(struct mp_runs *runs); /* cancels all */
void mp_run_uses_ended(struct mp_thread_run *run);
/* Has this call been made in too many turns? */
bool mp_run_repeats(struct mp_thread_run *run, const struct mcplug_item *use);
void mp_run_tell(struct mp_thread_run *run, struct mcplug_run_event *event);
void mp_run_warn(struct mp_thread_run *run, const char *fmt, ...) MCPLUG_PRINTF(2, 3);

#endif
