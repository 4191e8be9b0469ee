/* Images of a result, drawn on the terminal that it is printed on. */
#ifndef CLI_PICTURES_H
#define CLI_PICTURES_H

#include "cli/base/oneshot.h"

#define CLI_PICTURES 8 /* of one result; the others stay notes */

/* Draws the images among `blocks`, one after the other, and calls `next` with a document
 * that has the drawings; cli_content_block() prints them. What cannot be drawn stays a
 * note. Ctrl+C ends the command. false: nothing is to be drawn, or on no terminal, and
 * `next` is not called. */
bool cli_pictures_draw(struct cli_oneshot *link, const struct cli_doc *doc,
                       mp_view blocks, cli_result_fn *next);

/* Prints the drawing of a block, if there is one, and ends its line. */
void cli_pictures_put(const struct cli_pictures *pictures,
                      const struct mcplug_block *block, struct cli_out *out);

/* The option. */
#define CLI_IMAGES_OPTION                                                                \
    {                                                                                    \
        "no-images", 0, CLI_FLAG, NULL, "do not draw images on a terminal",              \
            .at = offsetof(struct cli_args, no_images)                                   \
    }

#endif
