/* plugins/common/model.h - what modules that speak with models over HTTP have in common.
 *
 * A module describes its API by a struct model_api: how a prompt becomes a request, what
 * an event of the answer means. All else is done here: the key, the request, its stream,
 * time-outs, errors and what they are worth. Everything is [loop].
 *
 * Bounds: 64 MiB of a request, 16 MiB of an event, 32 MiB and 4096 items of a turn, 64
 * KiB of an error.
 */
#ifndef MCPLUG_COMMON_MODEL_H
#define MCPLUG_COMMON_MODEL_H

#include "sse.h"
#include "text.h"
#include "web.h"
#include "web_answer.h"

enum {
    MODEL_HEADERS_MAX = 8,
    MODEL_ITEMS_MAX = 4096,
    MODEL_WORDS_MAX = 400,
    MODEL_IDLE_MS = 5 * 60 * 1000,
    MODEL_GRACE_MS = 1000 /* for the end of a stream whose answer is complete */
};
#define MODEL_REQUEST_MAX ((size_t)64 << 20)
#define MODEL_EVENT_MAX ((size_t)16 << 20)
#define MODEL_TURN_MAX ((size_t)32 << 20)

/* ---- what an API is ---- */

struct model_request;

/* What an API says of an error. */
struct model_problem {
    int status;             /* of HTTP, or what it would be */
    int is_too_long;        /* the conversation is */
    int is_key;             /* the key is refused, whatever the status says */
    int64_t retry_after_ms; /* -1: none; headers count more */
    struct text words;
};

struct model_api {            /* static */
    const char *name;         /* for messages: "Anthropic" */
    const char *url;          /* where it is, without a / at the end */
    const char *key_variable; /* of the environment; NULL: it needs no key */
    uint32_t max_tokens;      /* of an answer, when nobody says; 0: not sent */
    size_t state_size;        /* of the API's own part of a request: zeroed, rq->state */
    /* Fills rq->path, rq->body and, with model_header(), what else the API wants. With
     * rq->is_count it is to be counted. MCPLUG_OK, or an error: nothing is sent. */
    int (*write)(struct model_request *rq, struct mcplug_error *err);
    /* An event of the stream: valid JSON. `type` is what SSE says, of which long ones are
     * cut; may be "". "[DONE]" does not come here: rq->is_done is set, and over() called.
     */
    void (*event)(struct model_request *rq, const char *type, struct mcplug_bytes json);
    /* An answer that is one valid JSON document, as that of is_count always is. Must call
     * one of model_end(), model_counted(), model_fail(), model_fail_api(). */
    void (*whole)(struct model_request *rq, struct mcplug_bytes json);
    /* "[DONE]" has come, or the stream has ended, and the API has not called one of
     * these. If it does not when the stream ends, the answer broke off. May be NULL. */
    void (*over)(struct model_request *rq);
    /* What an error document says: its words, and if it says so, that the conversation is
     * too long, which is also looked for in the document's text. */
    void (*error)(struct model_request *rq, struct mcplug_bytes json,
                  struct model_problem *problem);
    void (*clear)(struct model_request *rq); /* of its state; may be NULL */
};

struct model { /* what open() gives */
    const struct mcplug_host *host;
    mcplug_self *self;
    const struct mcplug_json *json;
    const struct mcplug_fetch *fetch;
    mcplug_fetch_client *client;
    const struct model_api *api;
    const mcplug_props *settings;
    char *url;    /* without a / at its end */
    char *key;    /* NULL: none; for headers alone, never for a message */
    char *bearer; /* "Bearer KEY"; NULL: none */
    uint64_t idle_ms;
};

struct model_request { /* what ask() and count() give */
    struct model *model;
    const struct mcplug_prompt *prompt;
    int is_count;
    uint32_t
        max_tokens; /* of the prompt, the settings or the API; 0: none of them says */
    void *state;
    struct text path, body; /* for write(): the path begins with / */
    struct text raw;        /* of the turn, for the API: bounded by MODEL_TURN_MAX */
    int is_done;            /* [DONE] has come */

    /* of model.c */
    mcplug_reply *reply;
    struct text url, event, said;
    struct mcplug_pair headers[MODEL_HEADERS_MAX];
    size_t n_headers, n_items, n_told;
    mcplug_buf *sent;
    mcplug_fetch_request *request;
    struct sse_in events;
    struct web_answer answer;
    int is_error, is_whole, is_ending, is_over;
    int should_retry;       /* of x-should-retry: 0 no, 1 yes, -1: not said */
    int64_t retry_after_ms; /* of retry-after-ms; -1: none */
    enum mcplug_stop stop;
    text_half half;
    int half_is_thought;
    uint64_t heard; /* when the last byte came */
    mcplug_timer *timer;
};

/* ---- model.c: for the tables of a module ---- */

/* The settings of every API, but `url`, which has its own fallback. */
#define MODEL_OPTIONS(key_variable)                                                      \
    {"apiKey", "secret", "",                                                             \
     "default: the environment variable " key_variable                                   \
     ", which is sent to the API's own address and this machine only"},                  \
        {"maxTokens", "int", "0", "how long an answer may be; 0: as the API has it"},    \
        {"idleTimeout", "duration", "5m", "an answer that pauses for so long fails"},    \
        MCPLUG_MODEL_OPTIONS, MCPLUG_FETCH_OPTIONS

/* A module has web_init() and web_fini() of web.h, and an open() that calls this with its
 * ctx and its API; the rest of struct mcplug_model_ops is as it is. */
int model_open(void *ctx, const struct model_api *api, const mcplug_props *settings,
               void **out, struct mcplug_error *err);
void model_close(void *m);
int model_ask(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
              void **out, struct mcplug_error *err);
int model_count(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
                void **out, struct mcplug_error *err);
void model_drop(void *request);

/* ---- model.c: for write() ---- */

/* Both live until write() has returned, at least. */
void model_header(struct model_request *rq, const char *name, const char *value);

/* Adds the tools of the prompt to the body, if there are any. */
struct model_tools {
    const char *head;    /* before all of them: ,"tools":[ */
    const char *name;    /* before each one's name: {"name": */
    const char *schema;  /* before its schema: ,"parameters": */
    const char *between; /* behind it, if there are more: }, */
    const char *tail;    /* behind the last one: }] */
};
void model_add_tools(struct model_request *rq, const struct model_tools *words);

/* ---- model.c: what the answer says ---- */

/* All are ignored once the request has ended or failed. */

/* One more item of the turn, a block or a call. More than MODEL_ITEMS_MAX fail it: 0. */
int model_item(struct model_request *rq);
/* A JSON string, which may be a piece; what is no string is ignored. */
void model_tell_text(struct model_request *rq, struct mcplug_bytes string);
void model_tell_thought(struct model_request *rq, struct mcplug_bytes string);
/* `id` may be NULL. */
void model_tell_call(struct model_request *rq, const char *id, const char *name,
                     struct mcplug_bytes arguments);
/* The same of JSON: `id` may be missing; without a name that is a string the request
 * fails. */
void model_tell_call_json(struct model_request *rq, struct mcplug_bytes id,
                          struct mcplug_bytes name, struct mcplug_bytes arguments);
void model_tell_usage(struct model_request *rq, const struct mcplug_usage *usage);
/* A number of a JSON object that is not negative; otherwise `fallback`. */
uint64_t model_number(const struct model_request *rq, struct mcplug_bytes object,
                      const char *key, uint64_t fallback);
/* The answer is complete. rq->raw is told, if there is something in it; if it has failed,
 * the request fails. */
void model_end(struct model_request *rq, enum mcplug_stop stop);
void model_counted(struct model_request *rq, uint64_t tokens);
/* Everything that is not an error of the API: MCPLUG_EPROTO, MCPLUG_ENOMEM .. */
void model_fail(struct model_request *rq, int code, const char *fmt, ...)
    MCPLUG_PRINTF(3, 4);
/* An error document that came with, or would have had, this status. */
void model_fail_api(struct model_request *rq, int status, struct mcplug_bytes json);

#endif /* MCPLUG_COMMON_MODEL_H */
