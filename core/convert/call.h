/* Conversions beside the loop, on a thread of the pool. [loop] */
#ifndef MP_CONVERT_CALL_H
#define MP_CONVERT_CALL_H

#include "convert/convert.h"
#include "session/session.h"

struct mp_convert_calls { /* of a host */
    struct mp_loop *loop;
    struct mp_converters *converters;
    struct mp_convert_call *first;
    unsigned under_way;
};

/* Cancels all; `under_way` is 0 when they have ended. */
void mp_convert_calls_end(struct mp_convert_calls *c);

/* As mcplug_convert(), with options that were taken. */
mcplug_call *mp_convert_start(struct mp_convert_calls *c, const void *data, size_t len,
                              const struct mcplug_convert_options *options,
                              mcplug_convert_fn *done, void *arg,
                              struct mcplug_error *err);

#endif
