/* plugins/gemini/gemini.h - the Gemini API of Google, generateContent. */
#ifndef MCPLUG_GEMINI_H
#define MCPLUG_GEMINI_H

#include "../common/model.h"

/* Fills the request, for model_api.write(). */
int gemini_write(struct model_request *rq, struct mcplug_error *err);

/* What has come of the answer. rq->raw is the content object, written as parts come. */
struct gemini_turn {
    size_t n_parts, n_calls;
    int is_open; /* the last part of rq->raw is a text that more may be added to */
    int open_is_thought; /* .. of what the model thinks aloud */
    int has_stop;
    enum mcplug_stop stop;
};

void gemini_event(struct model_request *rq, const char *type, struct mcplug_bytes json);
void gemini_whole(struct model_request *rq, struct mcplug_bytes json);
void gemini_over(struct model_request *rq);
void gemini_error(struct model_request *rq, struct mcplug_bytes json,
                  struct model_problem *problem);

#endif /* MCPLUG_GEMINI_H */
