/* One inbound message, as the assembler delivers it: its text, where the parts of
 * its envelope lie, and the strings that were too long to keep in memory. A reply
 * that reaches the embedder is this same object, seen as a result. */
#ifndef MP_RPC_MESSAGE_H
#define MP_RPC_MESSAGE_H

#include "json/walk.h"

#include <mcplug/mcplug.h>

#include <stdatomic.h>

/* A string in the message's spill file. */
struct mp_spilled {
    size_t at, len;  /* its cut form in the text, quotes included */
    uint64_t offset; /* in the file */
    uint64_t size;
};

enum mp_message_state {
    MP_MESSAGE_READ,   /* one JSON value */
    MP_MESSAGE_NOISE,  /* not JSON by its first byte: a stray line */
    MP_MESSAGE_BROKEN, /* meant as JSON, but could not be read: see `error` */
    /* no messages, but told in one order with them; for the link alone: */
    MP_MESSAGE_REMARK, /* a line beside the protocol */
    MP_MESSAGE_END,    /* of its exchange, for the reason `error` */
    MP_MESSAGE_OVERRUN /* its exchange is ended by us, for that reason */
};

struct mcplug_result {
    atomic_uint refs;
    enum mp_message_state state;
    struct mcplug_result *next; /* while it waits for its delivery */
    uint64_t exchange;          /* the transport's reply stream, 0: none */

    char *text; /* NUL-ended; of noise and broken ones, the first bytes */
    size_t len;
    struct mp_span body; /* what the embedder sees: the result or the error object */

    int spill_fd;         /* -1: none */
    bool salvaged_string; /* `salvaged_id` was one, "1" for 1 */
    struct mp_spilled *spills;
    size_t n_spills;

    struct mcplug_error *error; /* why it could not be read */
    uint64_t salvaged_id;       /* 0: none */
    _Atomic(char *) error_text; /* of mcplug_result_error_text(), once asked for */

    struct mp_envelope env; /* last: most of it is not used, nor touched */
};

typedef struct mcplug_result mp_message;

/* give; `text` is copied when `owned` is NULL, else `owned` (heap, NUL-ended) is
 * taken, even on failure. */
mp_message *mp_message_new(const char *text, size_t len, char *owned);
void mp_message_unref(mp_message *m);
mp_message *mp_message_ref(mp_message *m);

/* The part of the text; len 0 for a span that is not there. */
mp_view mp_message_view(const mp_message *m, struct mp_span span);
/* A member of its params, result or error. */
mp_view mp_message_inner(const mp_message *m, const char *name);

/* Every member of its params, result and error, and of the `_meta` there, has a name of
 * its own: mp_view_unique(). */
int mp_message_unique(const mp_message *m, struct mcplug_error *err);

/* Chooses the part that the embedder sees and ends it with a NUL; the text behind
 * it is no longer whole after that. Spilled strings outside of it are forgotten. */
void mp_message_expose(mp_message *m, struct mp_span body);

#endif
