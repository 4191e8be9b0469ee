/* Filling caller-allocated errors. Low code fills, only an edge tells a person. */
#ifndef MP_BASE_ERROR_H
#define MP_BASE_ERROR_H

#include <mcplug/types.h>

#include "base/shared.h"

#include <stdarg.h>

/* MCPLUG_ERROR_INIT without the cost of clearing all of `text`: for what every call
 * passes, and hardly any fills. */
static inline void mp_error_init(struct mcplug_error *err)
{
    err->struct_size = sizeof *err;
    err->code = err->os_error = err->peer_status = 0;
    err->text[0] = '\0';
    err->flags = err->reserved = 0;
}

/* Fills `err` when it is not NULL and returns `code`. Control bytes in the text
 * are replaced, so that it stays one line. [any] */
MP_SHARED int mp_fail(struct mcplug_error *err, int code, const char *fmt, ...)
    MCPLUG_PRINTF(3, 4);
MP_SHARED int mp_failv(struct mcplug_error *err, int code, const char *fmt, va_list ap);

/* The same with errno `os_error`, whose words are appended. */
MP_SHARED int mp_fail_os(struct mcplug_error *err, int code, int os_error,
                         const char *fmt, ...) MCPLUG_PRINTF(4, 5);

MP_SHARED int mp_fail_nomem(struct mcplug_error *err); /* MCPLUG_ENOMEM */

/* MCPLUG_EINVAL, for public functions: `what`, "`host` and `out`", must not be NULL. */
int mp_fail_null(struct mcplug_error *err, const char *what);

/* What is known of the request: MCPLUG_ERROR_*; filling an error says nothing of it.
 * Written where the struct has it: it may be a module's or a program's. NULL is fine. */
void mp_error_flag(struct mcplug_error *err, uint32_t flags);

/* Copies `from` into `to`, reading no more than its struct_size: what comes from modules
 * passes here. `to` need not be initialised, and is of this build. */
MP_SHARED void mp_error_copy(struct mcplug_error *to, const struct mcplug_error *from);

/* The other way: to a program, whose struct may be an older one. NULL is fine. */
void mp_error_give(struct mcplug_error *to, const struct mcplug_error *from);

/* An error that is kept for later, of which most objects never have one: a pointer that
 * begins as &mp_no_error and is never NULL. Its block stays where it is until it is
 * dropped. */
extern const struct mcplug_error mp_no_error;
/* Copies `why`; without memory the error that is kept says so instead. */
void mp_error_keep(const struct mcplug_error **kept, const struct mcplug_error *why);
void mp_error_drop(const struct mcplug_error **kept); /* it is &mp_no_error again */

const char *mp_error_name(int code); /* "ETIMEDOUT" .. */

/* Fills the zeroed struct `own` with what the program's `given` has of it: NULL is fine,
 * and it may be older or newer. Both begin with struct_size. MCPLUG_EINVAL: that is 0 or
 * no size that the struct can have had, or `reserved` is not 0, so that it can get a
 * meaning; MCPLUG_ENOTSUP: members that this build does not know are set. */
#define mp_take_options(own, given, err)                                                 \
    mp_take_options_(own, sizeof *(own), _Alignof(__typeof__(*(own))),                   \
                     offsetof(__typeof__(*(own)), reserved), given,                      \
                     (given) ? (given)->struct_size : 0, err)
/* Of one that has no such member. */
#define mp_take_bare_options(own, given, err)                                            \
    mp_take_options_(own, sizeof *(own), _Alignof(__typeof__(*(own))), 0, given,         \
                     (given) ? (given)->struct_size : 0, err)
int mp_take_options_(void *own, uint32_t size, size_t align, size_t reserved,
                     const void *given, uint32_t given_size, struct mcplug_error *err);

/* The size of a struct that ends with that member: of the release that had no more. */
#define MP_SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* The other way: `out` gets as much of `own` as it has room for; its struct_size stays.
 */
#define mp_give_struct(out, own)                                                         \
    mp_give_struct_(out, (out)->struct_size, &(own), sizeof(own))
void mp_give_struct_(void *out, uint32_t size, const void *own, size_t own_size);

#endif
