/* What is wrong with a configuration, and where. */
#include "config/config.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

int mp_config_note(struct mcplug_config *config, const struct mp_source *source,
                   const char *server, bool is_warning, const char *path, mp_view at,
                   const char *fmt, ...)
{
    struct mp_str text;
    char line[1024];
    va_list ap;

    if (config->n_problems >= MP_PROBLEMS_MAX)
        return MCPLUG_OK;
    struct mp_problem *list =
        mp_resize(config->problems, (config->n_problems + 1) * sizeof *list);
    if (!list) {
        config->incomplete = true;
        return MCPLUG_ENOMEM;
    }
    config->problems = list;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);

    struct mp_problem *p = &list[config->n_problems];
    mp_str_init(&text, sizeof line);
    mp_str_adds(&text, line);
    *p = (struct mp_problem){.is_warning = is_warning,
                             .file = source->path,
                             .server = server ? mp_strdup(server) : NULL,
                             .path = mp_strdup(path),
                             .text = mp_str_take(&text)};
    if (at.len && source->file.text.data)
        p->at = mp_place_of(
            mp_bytes(source->file.text.data, source->file.text.len),
            (size_t)(at.data - (const unsigned char *)source->file.text.data));
    if (!p->path || !p->text || (server && !p->server)) {
        mp_free(p->server);
        mp_free(p->path);
        mp_free(p->text);
        config->incomplete = true;
        return MCPLUG_ENOMEM;
    }
    config->n_problems++;
    return MCPLUG_OK;
}
