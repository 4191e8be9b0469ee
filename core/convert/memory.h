/* Files in memory: content on its way to a converter and back. [any] */
#ifndef MP_CONVERT_MEMORY_H
#define MP_CONVERT_MEMORY_H

#include "base/buf.h"

/* One without a name; -1: errno says why. Its position is its beginning. */
int mp_memory_file(void);
/* Writes `len` bytes behind the `at` that are there. 0, or an errno. */
int mp_memory_write(int fd, uint64_t at, const void *data, size_t len);
/* Reads all of it; text->len is `size` then. 0, or an errno. */
int mp_memory_read(int fd, uint64_t size, struct mp_str *text);

#endif
