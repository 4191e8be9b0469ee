/* The assembler: turns pieces of bytes into messages, within bounds. It looks at
 * every byte once, keeps what fits in memory, and diverts long strings to a file
 * while they arrive: once the text of a message has reached half of its memory, a
 * string that is longer than MP_SPILL_MIN goes to the file, and only its beginning
 * stays, if there is somebody who asked for it. What cannot be read is delivered too,
 * with the reason and the id of the call it meant to answer, so that this call can fail
 * at once. */
#ifndef MP_RPC_ASSEMBLER_H
#define MP_RPC_ASSEMBLER_H

#include "base/buf.h"
#include "rpc/message.h"
#include "rpc/spill.h"

enum {
    MP_SPILL_MIN = 64 * 1024,    /* shorter strings stay, or a quarter of the memory */
    MP_SPILL_KEEP = 1024,        /* of a diverted string in the text */
    MP_SLICE = 64 * 1024,        /* pieces are looked at in slices of this */
    MP_SLICE_FILLING = 4 * 1024, /* the same when memory runs short */
    MP_EDGE = 256                /* what is kept of an unreadable message at either end */
};

struct mp_assembler_limits {
    struct mp_scan_limits scan;
    size_t memory;   /* of one message */
    uint64_t spill;  /* of one message */
    const char *dir; /* for spill files, see mp_spill_dir; borrow */
    /* Is there a use for the long strings of a message with that id (len 0: not known
     * yet) which is no request or notification? Asked before the first is diverted, and
     * with every slice behind it: a call may end. NULL: there is. */
    bool (*wanted)(void *arg, mp_view id);
    void *arg;
};

struct mp_assembler {
    struct mp_assembler_limits limits;
    enum { MP_AT_START, MP_READING, MP_DIVERTING, MP_SKIPPING } mode;
    enum mp_message_state verdict;
    unsigned mark; /* bytes of a byte order mark before the message */
    struct mp_scan scan;
    struct mp_str text;
    struct mp_spill spill;
    struct mp_spilled *spills;
    size_t n_spills;
    struct mp_unread *unread; /* while skipping; NULL: no memory for it */
};

void mp_assembler_init(struct mp_assembler *a, const struct mp_assembler_limits *limits);
void mp_assembler_clear(struct mp_assembler *a);

enum mp_piece {
    MP_PIECE_MORE, /* others follow */
    MP_PIECE_LAST, /* it ends the message */
    MP_PIECE_CUT   /* the stream ended: a message that is not whole is noise then */
};

/* Takes a piece. `*out` (give) is set when the last one completed a message; an empty
 * line completes none. MCPLUG_ENOMEM is the only failure. */
int mp_assembler_feed(struct mp_assembler *a, struct mcplug_bytes piece,
                      enum mp_piece kind, mp_message **out);

/* The message being read has passed a limit, and will be of no use however long it goes
 * on: the reason. NULL: not so. */
const struct mcplug_error *mp_assembler_overrun(const struct mp_assembler *a);

#endif
