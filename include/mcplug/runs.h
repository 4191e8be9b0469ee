/* mcplug/runs.h - runs: a model that calls tools, of MCP servers and of the program. Part
 * of <mcplug/mcplug.h>.
 *
 *   mcplug_thread *thread = mcplug_thread_new();
 *   mcplug_thread_say(thread, "Which files are in /srv?");
 *   struct mcplug_run_options o = {
 *       .struct_size = sizeof o, .model = model, .box = box};
 *   struct mcplug_run_result *result = NULL;
 *   if (mcplug_thread_run_wait(thread, &o, &result, &err) == 0)
 *       puts(result->text);
 *
 * A thread is a conversation, and all that is kept of it. A run asks a model what comes
 * next, calls the tools that it wants to use, adds what they answer to the thread, and
 * asks again, until the model is done or a limit is reached. Whatever becomes of a tool
 * is an answer for the model; it ends no run. A thread can be run again, with another
 * model too, be saved, and be taken up by another program.
 */
#ifndef MCPLUG_RUNS_H
#define MCPLUG_RUNS_H

#include <mcplug/mcplug.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models -------------------------------------------------------------- */

/* give: mcplug_model_free. `settings`: the type is that of a module ("anthropic"), and
 * "model" the name that its API has for the model. What else can be set is up to the
 * module (`mcplug plugins anthropic` shows it), but for these: "contextTokens", how long
 * a conversation may be (200000), and what a million tokens cost, in the currency of the
 * limit: "priceInput", "priceOutput", "priceCached", "priceToCache". The key of an API is
 * a setting, or in the environment, under the name that the module documents. */
MCPLUG_API mcplug_model *mcplug_model_new(mcplug *host, const mcplug_settings *settings,
                                          struct mcplug_error *err);
/* A model of the configuration, of "models" in the user's or the administrator's file.
 * Its secrets are looked up when it is first asked. `overlay`, which may be NULL, is put
 * on top of what the file says. MCPLUG_ENOTSUP: there is none of that name. A name such
 * as "anthropic/claude-sonnet-4-5" is a type and the API's name for a model, and `config`
 * may be NULL then. */
MCPLUG_API mcplug_model *mcplug_model_new_named(mcplug *host, mcplug_config *config,
                                                const char *name,
                                                const mcplug_settings *overlay,
                                                struct mcplug_error *err);
/* What so many tokens cost; < 0: the model has no prices. */
MCPLUG_API double mcplug_model_cost(const mcplug_model *model,
                                    const struct mcplug_usage *usage);
/* Runs that are under way go on with it. */
MCPLUG_API void mcplug_model_free(mcplug_model *model);

/* ---- threads ------------------------------------------------------------- */

/* A thread belongs to no host. While a run works on it, it may be read on the loop
 * thread, and not be changed: MCPLUG_EINVAL. It holds 256 MiB, and 100000 messages. */

/* give: mcplug_thread_free; NULL: no memory */
MCPLUG_API mcplug_thread *mcplug_thread_new(void);
/* give. One that mcplug_thread_json() wrote. MCPLUG_EPROTO: it is none, and `err` says
 * where. */
MCPLUG_API mcplug_thread *mcplug_thread_parse(const char *json, size_t len,
                                              struct mcplug_error *err);
/* Not while a run works on it: it is freed when that has ended. */
MCPLUG_API void mcplug_thread_free(mcplug_thread *thread);
/* The user says something: text, an image or a document, which is copied. What is said
 * without a run in between is one message. MCPLUG_ETOOBIG: the thread is full. */
MCPLUG_API int mcplug_thread_add(mcplug_thread *thread, const struct mcplug_item *item,
                                 struct mcplug_error *err);
MCPLUG_API int mcplug_thread_say(mcplug_thread *thread, const char *text);
/* Takes back the last `n` items that the user said, which no model has answered: so they
 * can be said in other words. MCPLUG_EINVAL: there are fewer. */
MCPLUG_API int mcplug_thread_take_back(mcplug_thread *thread, size_t n,
                                       struct mcplug_error *err);
/* The user's answer to a tool that is shown (MCPLUG_TOOL_SHOWN), after a run that ended
 * with MCPLUG_RUN_ASKED. `id` is that of its use. MCPLUG_EINVAL: nothing of that id is
 * waiting. */
MCPLUG_API int mcplug_thread_answer(mcplug_thread *thread, const char *id,
                                    const char *text, struct mcplug_error *err);
MCPLUG_API size_t mcplug_thread_count(const mcplug_thread *thread);
/* borrow, until the thread is changed. `out`->raw is empty. 0: there is none. */
MCPLUG_API int mcplug_thread_message(const mcplug_thread *thread, size_t i,
                                     struct mcplug_message *out);
/* {"messages":[{"role":"user","content":[{"type":"text","text":".."}]},..]}, with blocks
 * as MCP has them in sampling. borrow, until the thread is changed; NULL: no memory.
 * `len` may be NULL. */
MCPLUG_API const char *mcplug_thread_json(mcplug_thread *thread, size_t *len);

/* ---- tools of the program ------------------------------------------------- */

typedef struct mcplug_use mcplug_use; /* one call of a tool in a run */

enum {                            /* mcplug_tool.flags */
       MCPLUG_TOOL_READ_ONLY = 1, /* has no effects: may run beside others */
       /* Is shown to the user, who answers: MCPLUG_RUN_TOOL_BEGINS says what, and the
        * run ends with MCPLUG_RUN_ASKED. */
       MCPLUG_TOOL_SHOWN = 2,
       /* A tool of an MCP server: `integration` says of which, and `name` what it is
        * called there. The tools of a toolbox need not be listed here. */
       MCPLUG_TOOL_MCP = 4
};

struct mcplug_tool {
    uint32_t struct_size;
    uint32_t flags;
    const char *name;        /* letters, digits, _ and -, 64 at most */
    const char *description; /* NULL: none */
    const char *schema;      /* of the arguments: a JSON object. NULL: any */
    /* Does it: `arguments` is a JSON object that conforms to the schema. Answer now or
     * later with mcplug_use_answer(). Not for MCPLUG_TOOL_SHOWN and MCPLUG_TOOL_MCP. */
    void (*call)(void *arg, mcplug_use *use, const char *arguments, size_t len);
    void *arg;
    const char *integration; /* a server of the toolbox */
};

/* What a tool answers, once; `use` is gone then. Text, UTF-8; not 0 `is_error`: it
 * failed, and says why. After mcplug_use_is_cancelled() the answer is dropped, but it
 * should be given: it frees the use. What has no answer when the host is freed is freed
 * with it, and must not be answered any more. */
MCPLUG_API void mcplug_use_answer(mcplug_use *use, const char *text, size_t len,
                                  int is_error);
/* The same as a JSON value: a string is taken as it is, an object or array is written
 * with indentation, and anything else is printed. Of what is no JSON the text counts. */
MCPLUG_API void mcplug_use_answer_json(mcplug_use *use, const char *json, size_t len);
MCPLUG_API int mcplug_use_is_cancelled(const mcplug_use *use);

/* ---- runs ----------------------------------------------------------------- */

enum mcplug_run_event_type {
    MCPLUG_RUN_TEXT = 1,     /* text: some more of the answer, UTF-8 */
    MCPLUG_RUN_THOUGHT,      /* text: of what the model thinks aloud */
    MCPLUG_RUN_RETRY,        /* the model is asked again in `ms`, for `why` */
    MCPLUG_RUN_TOOL_BEGINS,  /* id, tool, server; text: the arguments, as JSON. One that
                                is shown (MCPLUG_TOOL_SHOWN) begins, and ends in no run */
    MCPLUG_RUN_TOOL_REPORTS, /* id, tool, server, progress, total; text: or NULL */
    MCPLUG_RUN_TOOL_ENDS,    /* id, tool, server, ms, failed; text: what it answered;
                                record, if it is of MCP */
    MCPLUG_RUN_STEP_ENDS,    /* usage: of this step */
    MCPLUG_RUN_WARNS         /* text: something that a user should know, one line */
};

struct mcplug_run_event { /* borrow, all of it */
    uint32_t struct_size;
    uint32_t type; /* enum mcplug_run_event_type */
    uint32_t step; /* from 1 */
    uint32_t failed;
    const char *text; /* with a NUL behind it */
    size_t len;
    const char *id, *tool;
    const char *server; /* "": of the program, or our own */
    uint64_t ms;
    double progress, total; /* `total` < 0: not known */
    const struct mcplug_usage *usage;
    const struct mcplug_record *record;
    const struct mcplug_error *why;
};

struct mcplug_run_options {
    uint32_t struct_size;
    uint32_t max_steps;  /* requests to the model; 0: 50 */
    mcplug_model *model; /* must be given */
    mcplug_toolbox *box; /* NULL: none. Not freed before the run has ended */
    const char *system;  /* instructions, before those of the servers; NULL: none */
    /* More tools, NULL-ended; kept by the program until the run has ended. */
    const struct mcplug_tool *const *tools;
    /* Which tools of the box are used, as patterns: "get_*", of the names that they have
     * there or at their server. NULL-ended, NULL: all; kept likewise. */
    const char *const *tools_allowed;
    uint64_t max_tokens;  /* of all requests and answers together; 0: no limit */
    double max_cost;      /* MCPLUG_ECONFIG: the model has no prices. 0: no limit */
    uint64_t max_ms;      /* 0: no limit */
    uint32_t max_repeats; /* turns with the same call and arguments; 0: 8 */
    uint32_t max_output;  /* tokens of one answer; 0: as the model's settings say */
    void *arg;            /* for all of the following */
    void (*event)(void *arg, const struct mcplug_run_event *event);
    /* May this tool be called? Answer now or later: mcplug_use_allow(), or
     * mcplug_use_answer() with what the model is to know instead. Tools that say that
     * they only read are not asked about, nor those that toolsApproved of their server
     * names; those that toolsAsked names always are. NULL: all may but these, which
     * answer the model that the user cannot be asked. */
    void (*approve)(void *arg, mcplug_use *use, const char *server, const char *tool,
                    const char *arguments, size_t len);
    void (*free_arg)(void *arg); /* when the run has ended */
    /* Tokens that the definitions of tools may take in a request; 0: a tenth of the
     * model's context. Where all of them would take more, the model is offered
     * search_tools, the tools of the program, those of `tools_first`, and those that this
     * thread has found or used. */
    uint64_t tool_budget;
    /* Tools of the box that are offered even then, as long as they take half of the
     * budget at most: names or patterns like those of `tools_allowed`, the most wanted
     * first. NULL-ended, NULL: none; kept likewise. */
    const char *const *tools_first;
    uint64_t reserved; /* 0 */
};

MCPLUG_API void mcplug_use_allow(mcplug_use *use);
/* Is it asked about because toolsAsked names it? Then a consent that the user gave
 * before, to all calls or to all of this tool, does not cover it. */
MCPLUG_API int mcplug_use_must_ask(const mcplug_use *use);

enum mcplug_run_end {
    MCPLUG_RUN_DONE = 1, /* the model has no more to say */
    MCPLUG_RUN_LENGTH,   /* its answer was as long as it may be */
    MCPLUG_RUN_REFUSED,  /* it does not want to answer */
    MCPLUG_RUN_FULL,     /* the conversation does not fit any more */
    MCPLUG_RUN_ASKED,    /* tools are shown, and wait for mcplug_thread_answer() */
    MCPLUG_RUN_STEPS,    /* a limit: of steps, .. */
    MCPLUG_RUN_TOKENS,
    MCPLUG_RUN_COST,
    MCPLUG_RUN_TIME,
    MCPLUG_RUN_REPEATED /* the same call, again and again */
};
MCPLUG_API const char *mcplug_run_end_name(enum mcplug_run_end end); /* "done" [any] */

struct mcplug_run_result { /* give: mcplug_run_result_free */
    uint32_t struct_size;
    uint32_t end;     /* enum mcplug_run_end */
    const char *text; /* of the last answer, also of one that was cut */
    size_t len;
    uint32_t steps, calls; /* requests to the model, calls of tools */
    const struct mcplug_usage *usage;
    double cost; /* < 0: not known */
    uint64_t ms;
};
MCPLUG_API void mcplug_run_result_free(struct mcplug_run_result *result);

/* `result` is NULL with `why`: the model could not be asked, or its answer broke off. The
 * thread has all that came before then, and can be run again. Of an answer that was cut,
 * for whatever reason, it has the text that was told, as the last message, and no uses of
 * tools: the user says something before it is run again. If nothing had come, the last
 * message is still the user's, and what they say next is added to it. */
typedef void mcplug_run_fn(void *arg, mcplug_call *call,
                           const struct mcplug_run_result *result /* borrow */,
                           const struct mcplug_error *why);
/* Goes on with a thread whose last message is the user's. mcplug_cancel() ends it, and
 * the calls of tools that are under way: MCPLUG_ECANCELED. */
MCPLUG_API mcplug_call *mcplug_thread_run(mcplug_thread *thread,
                                          const struct mcplug_run_options *options,
                                          mcplug_run_fn *done, void *arg,
                                          struct mcplug_error *err);
/* The same, waiting. give `out`, which may be NULL. */
MCPLUG_API int mcplug_thread_run_wait(mcplug_thread *thread,
                                      const struct mcplug_run_options *options,
                                      struct mcplug_run_result **out,
                                      struct mcplug_error *err);

#ifdef __cplusplus
}
#endif
#endif /* MCPLUG_RUNS_H */
