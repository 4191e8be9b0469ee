#include "rpc/unsent.h"

#include "base/error.h"
#include "base/mem.h"
#include "rpc/rpc.h"

int mp_unsent_room(struct mp_unsent *w, size_t len, struct mcplug_error *err)
{
    if (w->bytes + len > MP_QUEUE_MAX && w->bytes > 0)
        return mp_fail(err, MCPLUG_EOVERLOADED,
                       "overloaded: %zu bytes in %zu messages wait to be written, the "
                       "limit is %d bytes",
                       w->bytes, w->count, MP_QUEUE_MAX);
    if (w->first + w->count < w->cap)
        return MCPLUG_OK;
    if (w->first > 0 && w->first >= w->count) {
        memmove(w->frames, w->frames + w->first, w->count * sizeof *w->frames);
        w->first = 0;
        return MCPLUG_OK;
    }
    size_t cap = w->cap ? w->cap * 2 : 16;
    struct mp_unsent_frame *more = mp_resize(w->frames, cap * sizeof *more);
    if (!more)
        return mp_fail_nomem(err);
    w->frames = more;
    w->cap = cap;
    return MCPLUG_OK;
}

void mp_unsent_add(struct mp_unsent *w, uint64_t serial, size_t len)
{
    w->frames[w->first + w->count++] = (struct mp_unsent_frame){serial, len};
    w->bytes += len;
}

void mp_unsent_forget(struct mp_unsent *w, uint64_t serial)
{
    struct mp_unsent_frame *f = w->frames + w->first;
    size_t at = 0, end = w->count;

    while (at < end && f[at].serial != serial) { /* nearly always the first */
        size_t middle = at + (end - at) / 2;
        if (f[middle].serial <= serial) /* they count up */
            at = f[middle].serial == serial ? middle : middle + 1;
        else
            end = middle;
    }
    if (at >= end)
        return;
    w->bytes -= f[at].len;
    w->count--;
    if (at > w->count / 2) {
        memmove(f + at, f + at + 1, (w->count - at) * sizeof *f);
        return;
    }
    memmove(f + 1, f, at * sizeof *f);
    w->first++;
}

void mp_unsent_clear(struct mp_unsent *w)
{
    mp_free(w->frames);
    *w = (struct mp_unsent){0};
}
