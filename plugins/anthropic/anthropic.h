/* plugins/anthropic/anthropic.h - the Messages API of Anthropic. */
#ifndef MCPLUG_ANTHROPIC_H
#define MCPLUG_ANTHROPIC_H

#include "../common/model.h"

/* Fills the request, for model_api.write(). */
int anthropic_write(struct model_request *rq, struct mcplug_error *err);

/* What has come of the answer. */
struct anthropic_turn {
    /* The block that is being written. Texts are what is between the quotes of JSON
     * strings, as it came. */
    int is_open;
    uint64_t index;
    struct text start; /* content_block */
    struct text text, thinking, signature;
    struct text citations; /* elements of an array */
    struct text input;     /* of a tool, JSON */
    text_half half;        /* of `input` */

    size_t n_blocks, n_calls;
    int has_stop;
    enum mcplug_stop stop;
    uint64_t input_tokens, output_tokens, cache_read, cache_written;
};

void anthropic_event(struct model_request *rq, const char *type,
                     struct mcplug_bytes json);
void anthropic_whole(struct model_request *rq, struct mcplug_bytes json);
void anthropic_over(struct model_request *rq);
void anthropic_error(struct model_request *rq, struct mcplug_bytes json,
                     struct model_problem *problem);
void anthropic_clear(struct model_request *rq);

#endif /* MCPLUG_ANTHROPIC_H */
