/* Filling caller-allocated errors. Low code fills, only an edge tells a person. */
#ifndef MP_BASE_ERROR_H
#define MP_BASE_ERROR_H

#include <mcplug/types.h>

#include <stdarg.h>

/* Fills `err` when it is not NULL and returns `code`. Control bytes in the text
 * are replaced, so that it stays one line. [any] */
int mp_fail(struct mcplug_error *err, int code, const char *fmt, ...) MCPLUG_PRINTF(3, 4);
int mp_failv(struct mcplug_error *err, int code, const char *fmt, va_list ap);

/* The same with errno `os_error`, whose words are appended. */
int mp_fail_os(struct mcplug_error *err, int code, int os_error, const char *fmt, ...)
    MCPLUG_PRINTF(4, 5);

int mp_fail_nomem(struct mcplug_error *err); /* MCPLUG_ENOMEM */

/* Copies `from` into `to`, reading no more than its struct_size. */
void mp_error_copy(struct mcplug_error *to, const struct mcplug_error *from);

const char *mp_error_name(int code); /* "ETIMEDOUT" .. */

#endif
