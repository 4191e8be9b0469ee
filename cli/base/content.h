/* Content blocks of tools and prompts, and contents of resources, for people. */
#ifndef CLI_CONTENT_H
#define CLI_CONTENT_H

#include "cli/base/doc.h"

struct cli_oneshot;

#define CLI_LAID_OUT_MAX ((size_t)1 << 24) /* bytes; a longer text is not laid out */

/* As mcplug_block_write() has it; a note ends its line, and a link is followed by what is
 * known of its target. On a terminal, unless `doc` is raw, JSON is laid out, and the HTML
 * of an app is a note. MCPLUG_OK or MCPLUG_EIO. */
int cli_content_block(const struct cli_doc *doc, const struct mcplug_block *block,
                      struct cli_out *out);
/* All blocks of an array, or the one that there is, from the `skip`-th on. Each begins
 * on a line of its own. */
int cli_content_blocks(const struct cli_doc *doc, mp_view blocks, size_t skip,
                       struct cli_out *out);
/* The text of a result: on a terminal, unless `doc` is raw, an object or array of JSON is
 * laid out. */
int cli_content_text(const struct cli_doc *doc, mp_view string, struct cli_out *out);
/* Is it the HTML of an MCP App, which is for a browser? */
bool cli_content_is_app(const struct mcplug_block *block);
/* Its data, decoded. MCPLUG_EPROTO: it is not Base64; what came before is written. */
int cli_content_data(const struct cli_doc *doc, const struct mcplug_block *block,
                     struct cli_out *out);

/* Bytes as they are: data, or what a terminal was asked to show. */
void cli_content_bytes(struct cli_out *out, const char *data, size_t len);

/* What blocks were shown that people can do more with. Begins as zeros. */
struct cli_seen {
    size_t images, sounds, files, links; /* files: all other data */
    mp_view link;                        /* the URI of the first one */
};
void cli_seen_add(struct cli_seen *seen, mp_view blocks);
/* Tells how to save or read what was seen: a line each, if standard output and standard
 * error are terminals. `saves`: the command has -o. */
void cli_seen_tell(const struct cli_seen *seen, struct cli_oneshot *link, bool saves);

/* A size for people, rounded: 999 bytes, 1.2 kB, 35 MB. 32 bytes are enough. */
void cli_size_text(char *out, size_t size, uint64_t bytes);

/* A string of the server on one line, escaped; nothing when it is none. */
void cli_out_view(struct cli_out *out, mp_view string);

#endif
