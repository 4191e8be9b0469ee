#include "convert/memory.h"

#include "../../plugins/common/fds.h"
#include "base/fsize.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int mp_memory_file(void)
{
    return fds_high(memfd_create("mcplug", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

int mp_memory_write(int fd, uint64_t at, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t n = mp_fsize_write(fd, at, p, len);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            p += n;
            at += (uint64_t)n;
            len -= (size_t)n;
        }
    }
    return 0;
}

int mp_memory_read(int fd, uint64_t size, struct mp_str *text)
{
    if (!mp_str_reserve(text, (size_t)size))
        return ENOMEM;
    while (text->len < size) {
        ssize_t n =
            pread(fd, text->data + text->len, (size_t)size - text->len, (off_t)text->len);
        if (n == 0 || (n < 0 && errno != EINTR))
            return n ? errno : EIO;
        text->len += n > 0 ? (size_t)n : 0;
    }
    text->data[text->len] = '\0';
    return 0;
}
