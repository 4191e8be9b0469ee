/* plugins/openai/openai.h - the two APIs of OpenAI.
 *
 * "openai" is the Responses API, which its newest models work best with. "openai-chat" is
 * Chat Completions, which others have too: llama.cpp, Ollama, vLLM, and most services.
 * What these are known to do differently is accepted.
 *
 *   openai.c       what the core sees: features and settings
 *   write.c        what requests of both have in common
 *   responses.c    Responses: the request, its answer
 *   chat.c         Chat Completions: the request
 *   chat_answer.c  its answer
 *   chat_call.c    calls of tools that come in pieces
 *
 * [loop]
 */
#ifndef MCPLUG_OPENAI_H
#define MCPLUG_OPENAI_H

#include "../common/model.h"

#define OPENAI_URL "https://api.openai.com/v1"

extern const struct model_api openai_responses, openai_chat;

/* ---- write.c ---- */

/* Is it OpenAI itself, and no other server that speaks alike? */
int openai_is_own(const struct model *m);
/* Path, key, and the body up to the model's name. A URL is what vendors call the base,
 * which most end with /v1; one of a host alone gets that. */
void openai_begin(struct model_request *rq, const char *path);
/* `,"NAME":`, or without a comma behind an opening bracket. */
void openai_member(struct text *t, const char *name);
/* A comma, unless something was opened or nothing is there. */
void openai_comma(struct text *t);
/* A data URL as a JSON string. */
void openai_data_url(struct text *t, const struct mcplug_item *item);
/* The name of a file as a JSON string: the APIs want one of every document. */
void openai_file_name(struct text *t, const struct mcplug_item *item);
/* The name of a tool as a JSON string. A model may call tools that do not exist by names
 * that its API refuses to see again: those are changed. */
void openai_tool_name(struct text *t, const char *name);
/* Arguments of a call as a JSON string; for what is no JSON object, {}. */
void openai_arguments(struct text *t, const struct mcplug_json *json,
                      struct mcplug_bytes arguments);
/* The texts of a result as one JSON string, a line each, and then `last` (NULL: none):
 * many servers take no list of texts. */
void openai_result_text(struct text *t, const struct mcplug_mem *mem,
                        const struct mcplug_item *result, const char *last);
/* Are there images or documents in the result of a tool? */
int openai_has_files(const struct mcplug_item *result);
/* An id for a call that came without one. No other call of the conversation has it. */
void openai_make_id(const struct model_request *rq, size_t n, char *out, size_t size);
/* What error documents say, of these APIs and of servers that imitate them. */
void openai_error(struct model_request *rq, struct mcplug_bytes json,
                  struct model_problem *problem);
/* The status that an error within a stream would have had. */
int openai_error_status(const struct model_request *rq, struct mcplug_bytes json);

/* ---- chat_answer.c ---- */

void chat_event(struct model_request *rq, const char *type, struct mcplug_bytes json);
void chat_whole(struct model_request *rq, struct mcplug_bytes json);
void chat_over(struct model_request *rq);
void chat_clear(struct model_request *rq);

/* ---- chat_call.c ---- */

struct chat_call {
    int64_t index; /* -1: it has none */
    struct text id, name, arguments;
    struct text extra; /* `extra_content`, JSON, which has to be sent back */
    text_half half;
    /* How far the arguments are, as JSON: an object that is closed is complete. */
    size_t depth;
    int in_string, is_escape, is_closed;
};

struct chat_calls {
    const struct mcplug_mem *mem;
    struct chat_call *all;
    size_t n, room;
    size_t held; /* bytes of them all */
};

/* Takes one element of `tool_calls`, which may be a piece of a call. MCPLUG_ETOOBIG: it
 * is one call too many, or all are too long; MCPLUG_ENOMEM. */
int chat_calls_take(struct chat_calls *calls, const struct mcplug_json *json,
                    struct mcplug_bytes element);
/* The answer was cut: drops the last call if its arguments are no JSON. True if it was.
 */
int chat_calls_drop_cut(struct chat_calls *calls, const struct mcplug_json *json);
/* Gives each call an id of its own: some servers give none, or all the same. MCPLUG_OK or
 * MCPLUG_ENOMEM. */
int chat_calls_name(struct chat_calls *calls, const struct model_request *rq);
void chat_calls_clear(struct chat_calls *calls);

struct chat_state { /* of a request */
    int is_begun;
    struct text content;        /* as it came, between the quotes of a string */
    struct text reasoning;      /* the same */
    const char *reasoning_name; /* the member that it came as; static */
    struct text details;        /* elements of `reasoning_details` */
    struct text extra;          /* `extra_content`, JSON */
    struct chat_calls calls;
    enum mcplug_stop stop; /* what `finish_reason` means; 0: it has not come */
    int is_refusal;
};

#endif /* MCPLUG_OPENAI_H */
