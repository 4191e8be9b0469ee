/* The file that takes the long strings of one message while they arrive. It has no
 * name (or loses it at once), mode 0600, and is gone with its descriptor. */
#ifndef MP_RPC_SPILL_H
#define MP_RPC_SPILL_H

#include "json/walk.h"

struct mp_spill {
    int fd;           /* -1: not open yet */
    uint64_t size;    /* of all strings so far */
    uint64_t start;   /* where the string being written begins */
    const char *dirs; /* as given to begin; borrow */
    size_t place;     /* of `dirs`, where the file is */
    uint64_t budget;  /* that may be written before free space is looked at again */
    struct mp_unescape unescape;
    char *scratch;
};

void mp_spill_init(struct mp_spill *s);
void mp_spill_clear(struct mp_spill *s);

/* The places for it, in one text: `dir` alone when given; else a list, disks first:
 * mcplug in $XDG_CACHE_HOME or ~/.cache, $TMPDIR, /var/tmp, /tmp, and mcplug in
 * $XDG_RUNTIME_DIR, which is memory on many systems. A directory's name is such a text,
 * too, unless it begins with a line end. give */
char *mp_spill_dir(const char *dir);

/* The directory of place `i`. `own`: it is made when it is missing, as is the one above
 * it, both private. give; NULL: there are no more, or no memory. */
char *mp_spill_place(const char *dirs, size_t i, bool *own);

/* What is never taken of a file system of that size: 5 %, or 1 GiB. */
uint64_t mp_spill_reserve(uint64_t total);
/* What may be written to the file system of that file, its reserve left free; 0 as well
 * where it cannot be told. */
uint64_t mp_spill_usable(int fd);

/* Begins a string; opens the file for the first one, in the first of the places where
 * that can be done. `dirs` must stay until clear. When a place is full later, the file,
 * if it has no more than 256 MiB yet, is copied to the next one on another disk that has
 * room. A place is full when its reserve is all that is free. */
int mp_spill_begin(struct mp_spill *s, const char *dirs, struct mcplug_error *err);
/* Adds raw bytes of the inside of a JSON string; they are written unescaped. */
int mp_spill_add(struct mp_spill *s, const char *raw, size_t len, uint64_t max,
                 struct mcplug_error *err);
int mp_spill_end(struct mp_spill *s, uint64_t max, struct mcplug_error *err);

#endif
