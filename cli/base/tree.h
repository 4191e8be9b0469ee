/* Trees (jansson) of JSON text, built late and only of what is wanted. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include "json/walk.h"

#include <jansson.h>

/* give; builds the tree of `text`, which a scan has passed. What jansson refuses is
 * kept as well as it can be: lone surrogates as U+FFFD, integers beyond 64 bits and
 * reals beyond a double as strings of their digits, NUL in a key as U+FFFD, the later
 * of two equal keys. NULL: out of memory (MCPLUG_ENOMEM), or no JSON after all. */
json_t *cli_tree(mp_view text, struct mcplug_error *err);

#endif
