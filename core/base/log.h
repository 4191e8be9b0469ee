/* Log lines on their way to the embedder's function. */
#ifndef MP_BASE_LOG_H
#define MP_BASE_LOG_H

#include <mcplug/types.h>

#include <stdarg.h>
#include <stdbool.h>

struct mp_log {
    void (*fn)(void *arg, int level, const char *source, const char *text);
    void *arg;
    int level; /* the most verbose one wanted; -1: none */
};

bool mp_log_wants(const struct mp_log *log, int level);
/* `source`: "mcp:NAME", "plugin:NAME" or "core". The text is escaped and at most
 * 4 KiB. [any] */
void mp_log(const struct mp_log *log, int level, const char *source, const char *fmt, ...)
    MCPLUG_PRINTF(4, 5);
void mp_logv(const struct mp_log *log, int level, const char *source, const char *fmt,
             va_list ap);

#endif
