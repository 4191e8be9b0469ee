/* book.h - the page of memory that the monkey shares with its filters and proxies: what
 * they have done, and whether they are to leave everything alone. */
#ifndef MONKEY_BOOK_H
#define MONKEY_BOOK_H

#include <stdatomic.h>
#include <stdint.h>

enum fault {
    CUT,       /* ends the connection, after a part of what was to be moved */
    RESET,     /* ends it at once: RST, or SIGKILL for the peer of a pipe */
    CORRUPT,   /* one byte becomes another one */
    DUPLICATE, /* what was read is written twice */
    DROP,      /* or not at all */
    DELAY,     /* or later, up to 400 ms */
    PIECES,    /* or byte by byte */
    SILENCE,   /* nothing is moved any more, and nothing ends */
    REFUSE,    /* a connection that was accepted is reset */
    FAULTS
};

static const char *const fault_names[FAULTS] = {"cut",        "reset",   "corrupted",
                                                "duplicated", "dropped", "delayed",
                                                "pieces",     "silent",  "refused"};

struct book {
    atomic_uint calm;   /* not 0: no faults */
    atomic_uint serial; /* makes every process draw other numbers */
    atomic_ulong faults[FAULTS];
};

/* splitmix64: any seed will do, 0 too. */
static inline uint64_t drawn(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

#endif
