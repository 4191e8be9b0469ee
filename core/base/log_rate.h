/* How many lines of one kind the log may have: a peer that causes them, or writes them,
 * is not to fill a disk or a screen. [any] */
#ifndef MP_BASE_LOG_RATE_H
#define MP_BASE_LOG_RATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MP_LOG_RATE_MS = 10000,
    MP_LOG_RATE_WARN = 100,  /* lines of one kind and source in that time: errors, .. */
    MP_LOG_RATE_MORE = 1000, /* .. and what is more verbose */
    MP_LOG_RATE_KINDS = 128, /* that are counted; of more, the oldest is forgotten */
    MP_LOG_RATE_SOURCE = 40, /* bytes that are kept of a source .. */
    MP_LOG_RATE_TEXT = 80    /* .. and of a line */
};

struct mp_log_kind {
    uint64_t source;  /* a hash */
    const void *like; /* what such lines have in common, by its address */
    int kind, level;
    uint64_t since; /* ms */
    unsigned lines; /* that went through since then */
    uint64_t more;  /* that did not */
    char from[MP_LOG_RATE_SOURCE], text[MP_LOG_RATE_TEXT];
};

struct mp_log_rate {
    pthread_mutex_t lock;
    uint64_t (*clock)(void); /* ms; NULL: the system's. For tests */
    size_t n;
    struct mp_log_kind kinds[MP_LOG_RATE_KINDS]; /* the first `n` */
};

enum mp_log_verdict {
    MP_LOG_PASS,
    MP_LOG_LAST, /* it may pass, and those behind it do not */
    MP_LOG_DROP
};

void mp_log_rate_init(struct mp_log_rate *r);
enum mp_log_verdict mp_log_rate_count(struct mp_log_rate *r, const char *source, int kind,
                                      const void *like, int level, const char *text);
/* Takes a kind whose time is over and of which lines were dropped; false: there is none.
 */
bool mp_log_rate_over(struct mp_log_rate *r, struct mp_log_kind *out);

#endif
