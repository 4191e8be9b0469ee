/* plugins/common/fds.h - descriptors that keep away from 0, 1 and 2. The core has it too.
 *
 * A daemon may have closed them, and then the system gives these numbers to whatever is
 * opened next. Each library that prints would write into it, and libuv ends the process
 * rather than close one of them.
 */
#ifndef MCPLUG_COMMON_FDS_H
#define MCPLUG_COMMON_FDS_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Takes what open(), socket(), .. returned, with close-on-exec: the same file, above 2;
 * -1 with errno set, as they have it. */
static inline int fds_high(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3), os_error = errno;
    close(fd);
    errno = os_error;
    return higher;
}

/* For libraries that open something themselves: those of 0, 1 and 2 that are free are
 * taken, until fds_unplug(). To read or write them fails as if they were closed: EBADF.
 */
struct fds_plugs {
    int fds[3];
};

static inline void fds_plug(struct fds_plugs *plugs)
{
    for (int i = 0; i < 3; i++)
        plugs->fds[i] = -1;
    for (int i = 0; i < 3; i++) {
        int fd = open("/", O_PATH | O_CLOEXEC);
        if (fd < 0 || fd > 2) { /* none is free */
            if (fd >= 0)
                close(fd);
            return;
        }
        plugs->fds[i] = fd;
    }
}

static inline void fds_unplug(const struct fds_plugs *plugs)
{
    for (int i = 0; i < 3; i++)
        if (plugs->fds[i] >= 0)
            close(plugs->fds[i]);
}

#endif /* MCPLUG_COMMON_FDS_H */
