/* Where a file really is, behind all links, and the lock that its writers take turns
 * with. Part of config/file.h. */
#ifndef MP_CONFIG_ATOMIC_FILE_H
#define MP_CONFIG_ATOMIC_FILE_H

#include <stdbool.h>
#include <mcplug/types.h>

#include <sys/types.h>

#define MP_TARGET_KEPT 200  /* of the file's name in the names that are made from it */
#define MP_TARGET_SHOWN 240 /* of a path, of the 496 bytes that an error has */
#define MP_TARGET_LINKS 40  /* as many as the kernel follows */
#define MP_TARGET_TRIES 16  /* for one that others move all the time */
#define MP_TARGET_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define MP_TARGET_UNCHANGED "the file is unchanged"

struct mp_atomic_file {
    const char *path; /* as the caller says it, borrowed */
    char *dir;
    char *name;
    int fd;        /* the directory, and its lock */
    int lock_fd;   /* of a lock file, where directories cannot be locked */
    bool is_cache; /* what is written need not outlast a crash of the machine */
};

/* Finds where `path` leads to, makes its directories, and waits for the lock.
 * `mode` is that of a lock file. Clear it in any case. */
int mp_atomic_file_lock(struct mp_atomic_file *p, const char *path, mode_t mode,
                        unsigned wait_ms, struct mcplug_error *err);
void mp_atomic_file_clear(struct mp_atomic_file *p); /* unlocks */

/* Writes out what became of the names in a directory; returns an errno. */
int mp_atomic_file_sync(int dir_fd);

/* Fill errors that begin with the path, the middle of a long one left out. `after` is
 * said behind the words for `os_error`, or NULL. */
int mp_atomic_file_fail(struct mcplug_error *err, int code, const char *path,
                        const char *what);
int mp_atomic_file_fail_os(struct mcplug_error *err, const char *path, int os_error,
                           const char *what, const char *after);

#endif
