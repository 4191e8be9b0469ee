/* plugins/openai/openai.h - the API of OpenAI.
 *
 * "openai" is the Responses API, which its newest models work best with.
 *
 *   openai.c       what the core sees: features and settings
 *   write.c        what requests are made of
 *   responses.c    Responses: the request, its answer
 *
 * [loop]
 */
#ifndef MCPLUG_OPENAI_H
#define MCPLUG_OPENAI_H

#include "../common/model.h"

#define OPENAI_URL "https://api.openai.com/v1"

extern const struct model_api openai_responses;

/* ---- write.c ---- */

/* Is it OpenAI itself, and no other server that speaks alike? */
int openai_is_own(const struct model *m);
/* Path, key, and the body up to the model's name. A URL is what vendors call the base,
 * which most end with /v1; one of a host alone gets that. */
void openai_begin(struct model_request *rq, const char *path);
/* `,"NAME":`, or without a comma behind an opening bracket. */
void openai_member(struct model_text *t, const char *name);
/* A comma, unless something was opened or nothing is there. */
void openai_comma(struct model_text *t);
/* A data URL as a JSON string. */
void openai_data_url(struct model_text *t, const struct mcplug_item *item);
/* The name of a file as a JSON string: the APIs want one of every document. */
void openai_file_name(struct model_text *t, const struct mcplug_item *item);
/* The name of a tool as a JSON string. A model may call tools that do not exist by names
 * that its API refuses to see again: those are changed. */
void openai_tool_name(struct model_text *t, const char *name);
/* Arguments of a call as a JSON string; for what is no JSON object, {}. */
void openai_arguments(struct model_text *t, const struct mcplug_json *json,
                      struct mcplug_bytes arguments);
/* `Error: ` goes before what a tool says, for the APIs have no other way to say that it
 * failed; but not if it begins like that anyway. */
const char *openai_error_prefix(const struct mcplug_item *result);
/* The texts of a result as one JSON string, a line each, and then `last` (NULL: none):
 * many servers take no list of texts. */
void openai_result_text(struct model_text *t, const struct mcplug_mem *mem,
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

#endif /* MCPLUG_OPENAI_H */
