/* What a peer says that is no message: counted, and the first of it logged. */
#ifndef MP_RPC_NOISE_H
#define MP_RPC_NOISE_H

#include "base/event.h"
#include "rpc/message.h"

struct mp_noise {
    uint64_t count;
    unsigned logged;
    char last[121]; /* fit for a line of ours; "": none */
};

/* `what` it is: "what is no message". The same again is logged once. */
void mp_noise_take(struct mp_noise *noise, struct mp_events *log, const char *source,
                   const char *what, const mp_message *m);

#endif
