/* Content blocks of tools and prompts, and contents of resources, for people. */
#ifndef CLI_CONTENT_H
#define CLI_CONTENT_H

#include "cli/base/doc.h"

/* As mcplug_block_write() has it; a note ends its line. MCPLUG_OK or MCPLUG_EIO. */
int cli_content_block(const struct cli_doc *doc, const struct mcplug_block *block,
                      struct cli_out *out);
/* All blocks of an array, or the one that there is, from the `skip`-th on. Each begins
 * on a line of its own. */
int cli_content_blocks(const struct cli_doc *doc, mp_view blocks, size_t skip,
                       struct cli_out *out);
/* Its data, decoded. MCPLUG_EPROTO: it is not Base64; what came before is written. */
int cli_content_data(const struct cli_doc *doc, const struct mcplug_block *block,
                     struct cli_out *out);

/* A string of the server on one line, escaped; nothing when it is none. */
void cli_out_view(struct cli_out *out, mp_view string);

#endif
