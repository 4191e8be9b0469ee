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

/* ---- model_text.c: text that grows ---- */

/* Once something did not fit or memory ran out, `failed` is MCPLUG_ETOOBIG or
 * MCPLUG_ENOMEM and nothing is added any more. `data` has a NUL behind it, or is NULL. */
struct model_text {
    const struct mcplug_mem *mem;
    char *data;
    size_t len, size, max;
    int failed;
};

/* A surrogate whose other half has not come so far: pieces of a string may be cut there.
 * 0: none. */
typedef uint16_t model_half;

void text_init(struct model_text *t, const struct mcplug_mem *mem, size_t max);
void text_clear(struct model_text *t);           /* frees; can be used again */
void text_cut(struct model_text *t, size_t len); /* forgets what is behind */
struct mcplug_bytes text_bytes(const struct model_text *t);
void text_add(struct model_text *t, const void *data, size_t len);
void text_adds(struct model_text *t, const char *s);
void text_addu(struct model_text *t, uint64_t n);
void text_add_bytes(struct model_text *t, struct mcplug_bytes b);
/* A JSON string with its quotes, of bytes that should be UTF-8: what is not becomes
 * U+FFFD. The second is for a C string; NULL: "". */
void text_add_string(struct model_text *t, struct mcplug_bytes utf8);
void text_add_strings(struct model_text *t, const char *utf8);
/* What is between the quotes of a JSON string, as it is: pieces of a string become one.
 * Nothing if it is no string. */
void text_add_inside(struct model_text *t, struct mcplug_bytes string);
/* What a JSON string says, as UTF-8. A half at its end is kept in `half`, with which the
 * next piece begins. text_add_half() writes one that stays alone, as U+FFFD. */
void text_add_unescaped(struct model_text *t, struct mcplug_bytes string,
                        model_half *half);
void text_add_half(struct model_text *t, model_half *half);
/* For the path of a URL: all but letters, digits and - . _ ~ / as %XX. */
void text_add_path(struct model_text *t, const char *s);

/* ---- model_text.c: JSON that is known to be valid ---- */

/* Without blanks around it. */
struct mcplug_bytes json_trim(struct mcplug_bytes value);
/* What is inside of an array or object, of which the next element or member is taken off,
 * in linear time; empty when it is neither. 0: there is no other. A key has its quotes.
 */
struct mcplug_bytes json_inside(struct mcplug_bytes value);
int json_next(struct mcplug_bytes *rest, struct mcplug_bytes *value);
int json_next_member(struct mcplug_bytes *rest, struct mcplug_bytes *key,
                     struct mcplug_bytes *value);
/* Is it this string, written without escapes? */
int json_is(struct mcplug_bytes value, const char *text);
int json_is_string(struct mcplug_bytes value);
int json_is_object(struct mcplug_bytes value);
int json_is_array(struct mcplug_bytes value);

/* ---- what an API is ---- */

struct model_request;

/* What an API says of an error. */
struct model_problem {
    int status;             /* of HTTP, or what it would be */
    int is_too_long;        /* the conversation is */
    int is_key;             /* the key is refused, whatever the status says */
    int64_t retry_after_ms; /* -1: none; headers count more */
    struct model_text words;
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
    struct model_text path, body; /* for write(): the path begins with / */
    struct model_text raw; /* of the turn, for the API: bounded by MODEL_TURN_MAX */
    int is_done;           /* [DONE] has come */

    /* of model.c */
    mcplug_reply *reply;
    struct model_text url, event, said;
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
    model_half half;
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
