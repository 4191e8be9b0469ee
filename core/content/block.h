/* The words for a block of content that is no text: one place for all who show it. */
#ifndef MP_CONTENT_BLOCK_H
#define MP_CONTENT_BLOCK_H

#include "json/walk.h"

#include <mcplug/admin.h>

/* Adds the line that is there in place of a block, or before its text; none before text
 * that is not embedded. */
int mp_block_note(struct mp_str *note, const mcplug_result *result,
                  const struct mcplug_block *block, struct mcplug_error *err);
/* Adds a string on one line, whatever it has; `otherwise` where there is none. */
void mp_block_word(struct mp_str *note, mp_view string, const char *otherwise);

#endif
