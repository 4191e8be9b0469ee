/* Files of the configuration, read whole and replaced whole. */
#ifndef MP_CONFIG_FILE_H
#define MP_CONFIG_FILE_H

#include "base/buf.h"

#include <sys/stat.h>

#define MP_FILE_MAX ((size_t)1 << 20) /* the longest file that is read */
#define MP_FILE_LOCK_MS 30000         /* how long a writer waits for others */
#define MP_FILE_LINKS 40              /* that are followed, as many as the kernel does */
#define MP_FILE_NAME_KEPT 200 /* of a file's name in the names that are made from it */

/* To whom a file belongs, and the directory that it is in: either can change it. */
struct mp_owners {
    uid_t file, dir;
};

struct mp_file {
    bool exists;
    struct stat st; /* when it exists */
    struct mp_str text;
    struct mp_owners owners; /* of mp_file_read_placed() alone */
    const char *stranger; /* likewise; what belongs to neither us nor root, such as "its
                             directory belongs to another user": there is no text then */
};

/* Reads the regular file at `path`, through links. One that is not there is no failure:
 * `exists` is false then. MCPLUG_EIO, MCPLUG_ETOOBIG or MCPLUG_ECONFIG (a directory, a
 * device); the message begins with the path. Clear `out` in any case. */
int mp_file_read(const char *path, struct mp_file *out, struct mcplug_error *err);
/* The same for files that may be longer: those of other programs. */
MP_SHARED int mp_file_read_up_to(const char *path, size_t max, struct mp_file *out,
                                 struct mcplug_error *err);
/* The same, but a link at the end of the path is refused. */
int mp_file_read_own(const char *path, struct mp_file *out, struct mcplug_error *err);
/* The same, through links, for a file that others may have put there: one of a `stranger`
 * is not read. To whom the file, its directory and the links on the way belong is asked
 * of descriptors that are open: what is read is what was looked at, whoever renames
 * things meanwhile. */
int mp_file_read_placed(const char *path, struct mp_file *out, struct mcplug_error *err);
MP_SHARED void mp_file_clear(struct mp_file *file); /* wipes: there may be secrets */

/* Makes the new text from the old one (empty when there is no file). Returning anything
 * but MCPLUG_OK leaves the file as it is and is what mp_file_update() returns. An `out`
 * equal to `old` writes nothing. */
typedef int mp_file_change(void *arg, const struct mp_file *old, struct mp_str *out,
                           struct mcplug_error *err);

/* Replaces a file so that every reader, and whoever comes after a crash or a kill at any
 * moment, sees the old text or the new one: lock, read, change, temporary file beside it,
 * fsync, rename, fsync of the directory, unlock. Mode and owner are kept; a new file gets
 * `mode`. A link stays a link, and what it leads to is replaced. Missing directories are
 * made, with 0700. The lock is of the directory, so it leaves nothing behind (but where
 * files alone can be locked, as on some network file systems, an empty .NAME.lock), and
 * `change` may not update another file there; temporary files that killed writers left
 * are removed. A file that we may not write is not replaced, even where the directory
 * would let us; nor is one that an editor writes at the same time. MCPLUG_EIO with the
 * step that failed, beginning with the path. Blocks. [any] */
int mp_file_update(const char *path, mode_t mode, mp_file_change *change, void *arg,
                   struct mcplug_error *err);

/* What has to be written elsewhere together with a file. It is called when the new text
 * is on the disk under a temporary name; `real` is where the file will be, without links,
 * and `owners` are those that it will have. Returning anything but MCPLUG_OK leaves the
 * file as it is. It may not update a file in the same directory. */
typedef int mp_file_commit(void *arg, const char *real, struct mp_owners owners,
                           struct mcplug_error *err);

/* mp_file_update(), with `commit` before the file is replaced. Only a rename can fail
 * after that. */
int mp_file_update_with(const char *path, mode_t mode, mp_file_change *change,
                        mp_file_commit *commit, void *arg, struct mcplug_error *err);

/* mp_file_update() for what can be had again: without fsync, so that after a crash of the
 * machine it may be empty or broken, and with less time to wait for the lock. */
int mp_file_update_cache(const char *path, mode_t mode, unsigned wait_ms,
                         mp_file_change *change, void *arg, struct mcplug_error *err);

/* Fill errors that begin with the path, the middle of a long one left out. `after` is
 * said behind the words for `os_error`, or NULL. */
int mp_file_fail(struct mcplug_error *err, int code, const char *path, const char *what);
int mp_file_fail_os(struct mcplug_error *err, const char *path, int os_error,
                    const char *what, const char *after);

#endif
