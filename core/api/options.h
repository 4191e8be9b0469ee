/* Options that are given as JSON: they fill what the program left open. [any] */
#ifndef MP_API_OPTIONS_H
#define MP_API_OPTIONS_H

#include "config/supervision.h"

#include <mcplug/mcplug.h>

/* First `o->json`, then the text of an entry, which may be empty. What `o` points to
 * after that is in `kept`: clear it in any case, when the server has been opened. */
int mp_server_options_fill(struct mcplug_server_options *o, mp_view entry,
                           struct mp_supervision *kept, struct mcplug_error *err);

struct mp_host_json {
    char *client_name, *client_version, *spill_dir, *helper_dir, *results_dir;
    char **plugin_dirs; /* NULL-ended */
    int32_t log_level;
};
/* The same of a host; clear `kept` in any case, when there is one. */
int mp_host_options_fill(struct mcplug_options *o, struct mp_host_json *kept,
                         struct mcplug_error *err);
void mp_host_json_clear(struct mp_host_json *kept);

#endif
