/* Results of tools that were too large for the conversation of a model, kept as files in
 * a private directory until they are too old or there are too many. They are read with
 * whatever reads files, or with mp_search() and the descriptor of mp_store_open().
 *
 * The directory has mode 0700, the files 0600, whatever the umask is. A directory that is
 * not ours, that others can write to or could replace, or that is reached through a link
 * of another user, is refused. A name is never used twice: a file that is there is not
 * overwritten. A result appears under its name when it is complete. It is not written out
 * to the disk (fsync): it can be had again.
 *
 * Processes and threads that use one directory take turns: it is locked (flock) while
 * old results are removed and a new one gets its name. Who cannot have the lock within
 * seconds goes on without it: then the quota may be exceeded by what the others add.
 * Everything here blocks. [any] */
#ifndef MP_CONTENT_STORE_H
#define MP_CONTENT_STORE_H

#include "content/filename.h"

#include <mcplug/types.h>

#include <stdbool.h>
#include <stdint.h>

#define MP_STORE_QUOTA ((uint64_t)4 << 30) /* bytes of all results together */
#define MP_STORE_AGE (7 * 24 * 3600)       /* seconds that a result is kept */
#define MP_STORE_FILES 10000               /* results; the oldest are removed first */
#define MP_STORE_WORD_MAX 80               /* bytes of a server or tool in a name */

struct mp_store;

/* `dir` NULL: "results" in mcplug in $XDG_CACHE_HOME or ~/.cache, absolute paths only, or
 * in /var/tmp/mcplug-UID. That is the file system to which long strings are spilled
 * first (mp_spill_dir). `quota`, `age_s` 0: as above. Nothing is created yet. give; NULL:
 * no memory */
struct mp_store *mp_store_new(const char *dir, uint64_t quota, uint64_t age_s);
void mp_store_free(struct mp_store *s);
const char *mp_store_dir(const struct mp_store *s); /* absolute */

/* ---- writing ---- */

/* MCPLUG_ETOOBIG: the result is larger than the quota; nothing is removed then.
 * MCPLUG_EIO: the directory is refused, the disk is full but for its reserve
 * (mp_spill_reserve), or RLIMIT_FSIZE is reached. The text names the directory. */

struct mp_store_file; /* one that is being written, without a name yet */

/* Makes the directory and those above it, and removes what is too old. `s` must outlast
 * it. give */
int mp_store_begin(const struct mp_store *s, struct mp_store_file **out,
                   struct mcplug_error *err);
/* After a failure only drop is of use: commit fails, too. */
int mp_store_write(struct mp_store_file *f, const void *data, size_t len,
                   struct mcplug_error *err);

/* Names it mcp-SERVER-TOOL-TIME[-NAME][.EXT] and makes room for it. SERVER and TOOL are
 * cut, and have _ for all but ASCII letters and digits. TIME is milliseconds since the
 * epoch, and no other result has the same. `name` is made safe as mp_safe_name() does, so
 * that it may be a URI; NULL: none. `ext` as mp_mime_extension() returns it is not added
 * where NAME has it already; NULL: none. `path` gets the absolute path, give. take `f`,
 * also on failure. */
int mp_store_commit(struct mp_store_file *f, const char *server, const char *tool,
                    const char *name, const char *ext, char **path,
                    struct mcplug_error *err);
void mp_store_drop(struct mp_store_file *f);

/* Stores the first `size` bytes of the file `fd`. Where they are all of it, it has no
 * name and is on the same file system, it gets one without being copied: who writes to
 * `fd` later writes to the result. Else it is copied. `fd` stays open and the caller's;
 * its position is not changed. MCPLUG_EINVAL: it is not a file or shorter. */
int mp_store_adopt(const struct mp_store *s, int fd, uint64_t size, const char *server,
                   const char *tool, const char *ext, char **path,
                   struct mcplug_error *err);

/* Removes what is too old, and the oldest until `need` more bytes and one more result fit
 * in. Results from the future by more than their age are too old: the clock was wrong.
 * begin, commit and adopt do it by themselves. Who reads a file that is removed keeps
 * it. */
int mp_store_sweep(const struct mp_store *s, uint64_t need, struct mcplug_error *err);

/* ---- what there is ---- */

/* As its name says. Borrowed until `fn` returns. */
struct mp_stored {
    const char *name;
    const char *server, *tool;
    const char *ext; /* with its dot, or "" */
    int64_t time_ms;
    uint64_t size;
};

/* Newest first, at most 2 * MP_STORE_FILES. `fn` returns false to stop. Files with other
 * names, links, directories and files of other owners are ignored. Without the directory
 * there are none. */
int mp_store_each(const struct mp_store *s,
                  bool (*fn)(void *arg, const struct mp_stored *one), void *arg,
                  struct mcplug_error *err);

/* By its name, a beginning of it that no other has, its TIME, or its absolute path. The
 * descriptor is of a regular file of ours, O_RDONLY and close-on-exec. `name` gets the
 * full name; NULL is fine. give both. MCPLUG_EINVAL: there is none, or several, which the
 * text names. */
int mp_store_open(const struct mp_store *s, const char *which, int *fd, char **name,
                  struct mcplug_error *err);

/* `name` in full. MCPLUG_EINVAL: there is no such result. */
int mp_store_remove(const struct mp_store *s, const char *name, struct mcplug_error *err);

#endif
