#include "base/log.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 4096

bool mp_log_wants(const struct mp_log *log, int level)
{
    return log->fn && level <= log->level;
}

void mp_logv(const struct mp_log *log, int level, const char *source, const char *fmt,
             va_list ap)
{
    char raw[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 1];

    if (!mp_log_wants(log, level))
        return;
    vsnprintf(raw, sizeof raw, fmt, ap);
    size_t len = strlen(raw);
    size_t put = mp_escape(raw, &len, false, false, line, sizeof line - 1);
    line[put] = '\0';
    log->fn(log->arg, level, source, line);
}

void mp_log(const struct mp_log *log, int level, const char *source, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    mp_logv(log, level, source, fmt, ap);
    va_end(ap);
}
