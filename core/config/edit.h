/* Changing one member of a JSON text and no other byte of it: keys that we do not know,
 * their order, indentation, line ends and odd spellings stay as they are. What is added
 * is laid out like its neighbours. */
#ifndef MP_CONFIG_EDIT_H
#define MP_CONFIG_EDIT_H

#include "json/walk.h"

/* `text` has passed mp_json_check(); a text of white space alone counts as `{}`. `path`
 * is a NULL-ended list of keys ("mcpServers", "github"), at least one. `out` gets the
 * whole new text. MCPLUG_ECONFIG names the key on the way that is no object. */

/* Sets the last key to `value` (JSON text), where it stands if it is there, else behind
 * the last member of its object; objects on the way are made. */
int mp_edit_set(mp_view text, const char *const *path, mp_view value, struct mp_str *out,
                struct mcplug_error *err);
/* Takes the member away, with the comma and the line that were its own. MCPLUG_EINVAL:
 * it is not there. */
int mp_edit_remove(mp_view text, const char *const *path, struct mp_str *out,
                   struct mcplug_error *err);

#endif
