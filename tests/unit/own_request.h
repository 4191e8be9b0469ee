/* A request of a session in a block of its own, which is freed after `done`. */
#ifndef TESTS_OWN_REQUEST_H
#define TESTS_OWN_REQUEST_H

#include "base/error.h"
#include "base/mem.h"
#include "session/session_private.h"

struct own_request {
    mcplug_done_fn *done;
    void *arg;
    struct mp_request request; /* its texts are behind it */
};

static inline void own_request_cancel(mcplug_call *call)
{
    mp_request_cancel(MP_OF(call, struct mp_request, base));
}

static inline void own_request_done(void *arg, mcplug_call *call, mcplug_result *result,
                                    const struct mcplug_error *why)
{
    struct own_request *own = arg;

    own->done(own->arg, call, result, why);
    mp_request_clear(&own->request);
    mp_free(own);
}

/* NULL with `err`. */
static inline struct mp_request *own_request(struct mp_session *s, const char *method,
                                             mp_view params, const char *tool,
                                             const struct mcplug_call_options *o,
                                             mcplug_done_fn *done, void *arg,
                                             struct mcplug_error *err)
{
    struct mp_ask ask = {.method = method,
                         .tool = tool,
                         .tool_len = tool ? strlen(tool) : 0,
                         .params = params,
                         .done = own_request_done};

    mp_loop_tick(s->cfg.loop);
    ask.now = mp_loop_now(s->cfg.loop);
    if (mp_request_check(done != NULL, err) != MCPLUG_OK ||
        mp_take_options(&ask.o, o, err) != MCPLUG_OK)
        return NULL;
    ask.timeout_ms = ask.o.timeout_ms ? ask.o.timeout_ms
                     : tool           ? s->o.tool_ms
                                      : s->o.request_ms;
    struct own_request *own = mp_alloc(sizeof *own + mp_request_room(&ask));
    if (!own) {
        mp_fail_nomem(err);
        return NULL;
    }
    own->done = done;
    own->arg = arg;
    ask.arg = own;
    if (mp_request_init(&own->request, (char *)(own + 1), &ask, err) == MCPLUG_OK) {
        own->request.base.cancel = own_request_cancel;
        own->request.base.loop = s->cfg.loop;
        if (mp_request_begin(&own->request, s, err) == MCPLUG_OK)
            return &own->request;
        mp_request_clear(&own->request);
    }
    mp_free(own);
    return NULL;
}

#endif
