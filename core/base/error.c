#include "base/error.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void flatten(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
}

/* Who does not say how long theirs is has the oldest there is. */
static bool has_flags(const struct mcplug_error *err)
{
    return err->struct_size >= offsetof(struct mcplug_error, reserved);
}

void mp_error_flag(struct mcplug_error *err, uint32_t flags)
{
    if (err && has_flags(err))
        err->flags = flags;
}

int mp_failv(struct mcplug_error *err, int code, const char *fmt, va_list ap)
{
    if (err) {
        if (err->struct_size == 0)
            err->struct_size = offsetof(struct mcplug_error, flags);
        mp_error_flag(err, 0);
        err->code = code;
        err->os_error = 0;
        err->peer_status = 0;
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        flatten(err->text);
    }
    return code;
}

int mp_fail(struct mcplug_error *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    mp_failv(err, code, fmt, ap);
    va_end(ap);
    return code;
}

int mp_fail_os(struct mcplug_error *err, int code, int os_error, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        mp_failv(err, code, fmt, ap);
        va_end(ap);
        size_t n = strlen(err->text);
        snprintf(err->text + n, sizeof err->text - n, ": %s", strerror(os_error));
        err->os_error = os_error;
    }
    return code;
}

int mp_fail_nomem(struct mcplug_error *err)
{
    return mp_fail(err, MCPLUG_ENOMEM, "out of memory");
}

int mp_fail_null(struct mcplug_error *err, const char *what)
{
    return mp_fail(err, MCPLUG_EINVAL, "%s must not be NULL", what);
}

void mp_error_copy(struct mcplug_error *to, const struct mcplug_error *from)
{
    size_t n = from->struct_size < sizeof *to ? from->struct_size : sizeof *to;

    memset(to, 0, sizeof *to);
    memcpy(to, from, n);
    to->struct_size = sizeof *to;
    to->flags &= MCPLUG_ERROR_SENT | MCPLUG_ERROR_RETRY;
    to->reserved = 0;
    to->text[sizeof to->text - 1] = '\0';
    flatten(to->text);
}

void mp_error_give(struct mcplug_error *to, const struct mcplug_error *from)
{
    if (!to)
        return;
    to->code = from->code;
    to->os_error = from->os_error;
    to->peer_status = from->peer_status;
    memcpy(to->text, from->text, sizeof to->text);
    mp_error_flag(to, from->flags);
}

const struct mcplug_error mp_no_error = MCPLUG_ERROR_INIT;

static const struct mcplug_error no_memory = {
    .struct_size = sizeof no_memory, .code = MCPLUG_ENOMEM, .text = "out of memory"};

static bool is_static(const struct mcplug_error *kept)
{
    return kept == &mp_no_error || kept == &no_memory;
}

void mp_error_keep(const struct mcplug_error **kept, const struct mcplug_error *why)
{
    struct mcplug_error *own =
        is_static(*kept) ? mp_alloc(sizeof *own) : (struct mcplug_error *)*kept;

    if (own && own != why)
        mp_error_copy(own, why);
    *kept = own ? own : &no_memory;
}

void mp_error_drop(const struct mcplug_error **kept)
{
    if (!is_static(*kept))
        mp_free((struct mcplug_error *)*kept);
    *kept = &mp_no_error;
}

const char *mp_error_name(int code)
{
    static const char *const names[] = {
        "OK",    "EINVAL",      "ENOMEM",  "ENOTSUP",   "ECONFIG",     "EREFUSED",
        "EAUTH", "EPROTO",      "ETOOBIG", "ETIMEDOUT", "ECANCELED",   "ECLOSED",
        "EIO",   "EOVERLOADED", "EPEER",   "ERESTART",  "ERESTARTING",
    };
    unsigned i = 0u - (unsigned)code; /* INT_MIN has no opposite */
    return i < sizeof names / sizeof names[0] ? names[i] : "EUNKNOWN";
}

enum { OPTIONS_MAX = 64 * 1024 }; /* bytes of a struct: more is no size */

static bool is_zero(const unsigned char *p, size_t len)
{
    while (len && *p == 0)
        p++, len--;
    return len == 0;
}

int mp_take_options_(void *own, uint32_t size, size_t align, size_t reserved,
                     const void *given, uint32_t given_size, struct mcplug_error *err)
{
    const unsigned char *bytes = given;

    memcpy(own, &size, sizeof size);
    if (!given)
        return MCPLUG_OK;
    if (given_size < sizeof size || given_size > OPTIONS_MAX)
        return mp_fail(err, MCPLUG_EINVAL, "options without their struct_size");
    if (given_size > sizeof size && given_size % align != 0) /* it may halve a pointer */
        return mp_fail(err, MCPLUG_EINVAL,
                       "options whose struct_size is %u, which is the size of no release",
                       given_size);
    if (given_size > size && !is_zero(bytes + size, given_size - size))
        return mp_fail(err, MCPLUG_ENOTSUP,
                       "options of a newer release: members behind the %u bytes that "
                       "this library knows are set",
                       size);
    if (reserved && given_size >= reserved + sizeof(uint32_t) &&
        !is_zero(bytes + reserved, sizeof(uint32_t)))
        return mp_fail(err, MCPLUG_EINVAL, "`reserved` must be 0");
    memcpy(own, given, given_size < size ? given_size : size);
    memcpy(own, &size, sizeof size);
    return MCPLUG_OK;
}

void mp_give_struct_(void *out, uint32_t size, const void *own, size_t own_size)
{
    if (size > sizeof size)
        memcpy((char *)out + sizeof size, (const char *)own + sizeof size,
               (size < own_size ? size : own_size) - sizeof size);
}
