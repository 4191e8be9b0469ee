/* Which tools of a server may be used: toolsAllowed and toolsDenied of its entry. What
 * they leave out is as if the server did not have it. */
#ifndef CLI_ALLOWED_H
#define CLI_ALLOWED_H

#include "config/supervision.h"

#include <mcplug/mcplug.h>

struct cli_allowed {
    const struct mp_entry *entry; /* NULL: given in place, so everything is allowed */
    struct mp_supervision supervision;
    bool unknown; /* for want of memory, so nothing is */
};

/* `entry` must outlive it. MCPLUG_ENOMEM. Clear in any case. */
int cli_allowed_init(struct cli_allowed *allowed, const struct mp_entry *entry,
                     struct mcplug_error *err);
void cli_allowed_clear(struct cli_allowed *allowed);

/* One that was zeroed allows everything. */
bool cli_allowed_has(const struct cli_allowed *allowed, const char *tool);
/* The same for an item of a list: resources and prompts are always allowed. */
bool cli_allowed_item(const struct cli_allowed *allowed, enum mcplug_kind kind,
                      mp_view name);
/* How many tools of a list are. */
size_t cli_allowed_count(const struct mp_entry *entry, const mcplug_list *tools);
/* The same; false was told to the user, with the list and the file that say so. */
bool cli_allowed_tell(const struct cli_allowed *allowed, const char *tool);

#endif
