/* Content blocks of tools and prompts, and contents of resources, for people. */
#ifndef CLI_CONTENT_H
#define CLI_CONTENT_H

#include "cli/base/doc.h"

/* Each block begins on a line of its own. Text as it is; what is no text becomes a
 * note of one line, `[image/png, 1234 bytes]`. MCPLUG_OK or MCPLUG_EIO. */
int cli_content_block(const struct cli_doc *doc, mp_view block, struct cli_out *out);
/* All blocks of an array, from the `skip`-th on. */
int cli_content_blocks(const struct cli_doc *doc, mp_view blocks, size_t skip,
                       struct cli_out *out);

/* A blob, decoded. MCPLUG_EPROTO: it is not Base64; what came before is written. */
int cli_content_blob(const struct cli_doc *doc, mp_view base64, struct cli_out *out);
/* `[MIME, N bytes]` and a newline. */
int cli_content_note(const struct cli_doc *doc, mp_view mime, mp_view base64,
                     struct cli_out *out);

/* A string of the server on one line, escaped; nothing when it is none. */
void cli_out_view(struct cli_out *out, mp_view string);

#endif
