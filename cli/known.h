/* What a configured server offered last, kept on disk: who completes words at a prompt
 * asks here and starts nothing. A server whose definition changed is another one. */
#ifndef CLI_KNOWN_H
#define CLI_KNOWN_H

#include "config/config.h"

#include <mcplug/mcplug.h>

/* Keeps `list`, in place of what was kept of that kind. It is for convenience alone, so
 * whatever fails is not told. Files that nobody has written for long are removed. */
void cli_known_save(const struct mp_places *places, const struct mp_entry *entry,
                    enum mcplug_kind kind, const mcplug_list *list);

struct cli_known {
    struct mp_file file;
};

/* false: nothing is kept, or others could have written it. Clear in any case. */
bool cli_known_load(const struct mp_places *places, const struct mp_entry *entry,
                    struct cli_known *out);
void cli_known_clear(struct cli_known *known);

/* The array of that kind; len 0: never asked for. */
mp_view cli_known_items(const struct cli_known *known, enum mcplug_kind kind);
/* An item's name, or its URI, after the kind. */
mp_view cli_known_name(mp_view item, enum mcplug_kind kind);

#endif
