/* The directory of stored results: whether it may be used, the names in it, what there
 * is, and room for more. core/content/store.h is for everybody else. [any] */
#ifndef MP_CONTENT_RESULTS_H
#define MP_CONTENT_RESULTS_H

#include "content/store.h"

#include <limits.h>
#include <sys/stat.h>
#include <time.h>

typedef char mp_file_name[NAME_MAX + 1];

struct mp_store {
    char *dir;
    uint64_t quota, age_s;
};

/* ---- the directory ---- */

/* Opens it, if nobody else can change it. `make`: it and those above it are made, 0700.
 * `*out` is -1 where it is missing and not to be made. give */
int mp_results_open(const struct mp_store *s, bool make, int *out,
                    struct mcplug_error *err);
void mp_results_lock(int dir);
void mp_results_unlock(int *dir); /* and closes it; -1 is fine */

int64_t mp_results_now(clockid_t clock); /* milliseconds */

/* ---- names ---- */

struct mp_result_name {
    char server[MP_STORE_WORD_MAX + 1], tool[MP_STORE_WORD_MAX + 1];
    int64_t time_ms;
    const char *ext; /* in the name */
};

/* false: it is not the name of a result. */
bool mp_result_name_read(const char *name, struct mp_result_name *out);
/* Reads the digits of a TIME. Returns what is behind them; NULL: there is none. */
const char *mp_result_time_read(const char *text, int64_t *out);

/* What stands before and behind the TIME. */
struct mp_result_frame {
    char head[4 + 2 * (MP_STORE_WORD_MAX + 1) + 1];
    char tail[1 + MP_SAFE_NAME_MAX + 1 + MP_EXTENSION_MAX + 1];
};

void mp_result_frame_init(struct mp_result_frame *f, const char *server, const char *tool,
                          const char *name, const char *ext);

/* Is it a regular file of ours? */
bool mp_result_is_ours(int dir, const char *name, struct stat *st);

/* ---- what there is ---- */

struct mp_result_entry {
    int64_t time_ms;
    uint64_t size;
    char *name;
};

struct mp_results {
    struct mp_result_entry *list; /* newest first */
    size_t n, cap;
    uint64_t size; /* of all */
};

/* `removes`: also what writers left that were killed, and what is too much to be listed.
 */
int mp_results_read(struct mp_results *l, const struct mp_store *s, int dir, bool removes,
                    struct mcplug_error *err);
void mp_results_clear(struct mp_results *l);

/* Does what mp_store_sweep() promises; the lock is held. `l` gets what is left; clear it
 * in any case. */
int mp_results_make_room(const struct mp_store *s, int dir, uint64_t need,
                         struct mp_results *l, struct mcplug_error *err);

/* MCPLUG_ETOOBIG: one result alone is larger than the quota. */
int mp_results_fail_quota(const struct mp_store *s, uint64_t size,
                          struct mcplug_error *err);

#endif
