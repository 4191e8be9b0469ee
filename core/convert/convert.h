/* Conversions: content of one type as content of another, by modules. Which module does
 * it is found by the type; it runs in a process of its own (pool.h), or in this one if
 * the user's file says so.
 *
 *   call.c     conversions of a program, beside the loop
 *   convert.c  finding a converter, and asking it
 *   memory.c   files in memory, which bodies are
 *   pool.c     processes of mcplug-worker
 *   message.c  what is said to them
 *   run.c      one conversion with a module that is loaded; the worker has it too
 */
#ifndef MP_CONVERT_CONVERT_H
#define MP_CONVERT_CONVERT_H

#include "base/buf.h"
#include "base/event.h"
#include "loop/loop.h"
#include "convert/run.h"

#define MP_CONVERT_MS 20000 /* without another limit, the start of a worker included */

struct mp_converters; /* of a host */

/* give. `settings`: a JSON object, of converters by their names; NULL: none. borrow the
 * rest. MCPLUG_ECONFIG: it is no such object. */
struct mp_converters *mp_converters_new(struct mp_catalogue *catalogue,
                                        struct mp_loop *loop, const char *settings,
                                        struct mcplug_error *err);
/* Nothing may be under way. Before the catalogue. [loop] */
void mp_converters_free(struct mp_converters *c);
/* Before and after conversions: loads what the user wants in this process, and sees to it
 * that idle processes end. [loop] */
void mp_converters_ready(struct mp_converters *c);
void mp_converters_rest(struct mp_converters *c);
size_t mp_converters_workers(struct mp_converters *c); /* processes now; for tests */
/* A setting that is a number, for what the core does itself. */
int64_t mp_converters_number(const struct mp_converters *c, const char *converter,
                             const char *name, int64_t fallback);

struct mp_conversion { /* borrow, all of it */
    const char *mime;  /* with parameters, if it has some */
    const char *want;  /* NULL: the same type */
    int fd;            /* bytes 0 .. size of this file */
    uint64_t size;
    uint32_t max_width, max_height;
    uint64_t max_bytes, max_pixels;
    const char *extra;            /* settings for this one: a JSON object; NULL: none */
    uint32_t timeout_ms;          /* 0: MP_CONVERT_MS */
    const atomic_bool *cancelled; /* NULL: cannot be */
};

struct mp_converted {
    int fd; /* a file without a name that nobody else writes to any more */
    uint64_t size;
    char mime[MP_MIME_MAX];
    struct mp_str facts; /* NAME, newline, value, newline, .. */
};
#define MP_CONVERTED_NONE                                                                \
    {                                                                                    \
        .fd = -1                                                                         \
    }
void mp_converted_clear(struct mp_converted *out);

/* [any], blocks. MCPLUG_ENOTSUP: there is no converter for that, and which package has
 * one; or it does not know this form of the content. Else as the module and
 * mp_pool_ask() say. */
int mp_convert(struct mp_converters *c, const struct mp_conversion *what,
               struct mp_converted *out, struct mcplug_error *err);

#endif
