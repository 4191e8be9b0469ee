/* Frames that the transport keeps until they can be written: which, and how much. */
#ifndef MP_RPC_UNSENT_H
#define MP_RPC_UNSENT_H

#include <mcplug/types.h>

struct mp_unsent {
    struct mp_unsent_frame {
        uint64_t serial;
        size_t len;
    } * frames; /* those from `first` on, oldest first */
    size_t first, count, cap;
    size_t bytes; /* of all */
};

/* Is there room for one more? MCPLUG_EOVERLOADED, _ENOMEM */
int mp_unsent_room(struct mp_unsent *w, size_t len, struct mcplug_error *err);
void mp_unsent_add(struct mp_unsent *w, uint64_t serial, size_t len); /* after that */
/* It was written, or nobody waits for it any more; none is fine. */
void mp_unsent_forget(struct mp_unsent *w, uint64_t serial);
void mp_unsent_clear(struct mp_unsent *w);

#endif
