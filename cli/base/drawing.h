/* Is a text for a terminal an image and nothing else? It was made of content of others,
 * by a library: it must not set titles, fill the clipboard, read files or ask for
 * answers. */
#ifndef CLI_DRAWING_H
#define CLI_DRAWING_H

#include <stdbool.h>
#include <stddef.h>

/* Characters, newlines, colours, and images of Kitty, iTerm2 and Sixel whose data is in
 * the text, whole. */
bool cli_drawing_is_one(const char *text, size_t len);
/* Of one: does it leave colours on, for whatever is printed behind it? */
bool cli_drawing_leaves_colours(const char *text, size_t len);

#endif
