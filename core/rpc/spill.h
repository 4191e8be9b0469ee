/* The file that takes the long strings of one message while they arrive. It has no
 * name (or loses it at once), mode 0600, and is gone with its descriptor. */
#ifndef MP_RPC_SPILL_H
#define MP_RPC_SPILL_H

#include "json/walk.h"

struct mp_spill {
    int fd;         /* -1: not open yet */
    uint64_t size;  /* of all strings so far */
    uint64_t start; /* where the string being written begins */
    struct mp_unescape unescape;
    char *scratch;
};

void mp_spill_init(struct mp_spill *s);
void mp_spill_clear(struct mp_spill *s);

/* The directory for it: `dir` when given, else $XDG_RUNTIME_DIR/mcplug, else
 * $XDG_CACHE_HOME or ~/.cache with /mcplug, made private. give */
char *mp_spill_dir(const char *dir);

/* Begins a string; opens the file below `dir` for the first one. */
int mp_spill_begin(struct mp_spill *s, const char *dir, struct mcplug_error *err);
/* Adds raw bytes of the inside of a JSON string; they are written unescaped. */
int mp_spill_add(struct mp_spill *s, const char *raw, size_t len, uint64_t max,
                 struct mcplug_error *err);
int mp_spill_end(struct mp_spill *s, uint64_t max, struct mcplug_error *err);

#endif
