/* Files that are not written beyond RLIMIT_FSIZE: for that the system sends SIGXFSZ,
 * which ends the process, and a library must not touch signals. [any] */
#ifndef MP_BASE_FSIZE_H
#define MP_BASE_FSIZE_H

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

/* How many bytes a file may get from `at` on. */
static inline uint64_t mp_fsize_room(uint64_t at)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return at < limit.rlim_cur ? limit.rlim_cur - at : 0;
}

/* As write(), in a file that is written at `at`; EFBIG instead of the signal. */
static inline ssize_t mp_fsize_write(int fd, uint64_t at, const void *data, size_t len)
{
    uint64_t room = len ? mp_fsize_room(at) : 0;

    if (len && room == 0) {
        errno = EFBIG;
        return -1;
    }
    return write(fd, data, len < room ? len : (size_t)room);
}

#endif
