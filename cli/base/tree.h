/* Trees (jansson) of JSON text, built late and only of what is wanted. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include "json/walk.h"

#include <jansson.h>

/* The numbers of trees as they were written. jansson has 64 bits or a double for one, so
 * what it would write is another text, and often another number: 12345678901234567890,
 * 1.10, 1e400. Zeroed at first. */
struct cli_numbers {
    struct cli_number {
        json_t *node; /* counted: no other node is found at its address */
        char *text;
    } * items;
    size_t n, cap;
    bool sorted;
};

void cli_numbers_clear(struct cli_numbers *numbers);

/* give; builds the tree of `text`, which a scan has passed. What jansson refuses is
 * kept as well as it can be: lone surrogates as U+FFFD, numbers beyond its own as the
 * nearest of a double, NUL in a key as U+FFFD, the later of two equal keys. `numbers`, if
 * not NULL, notes how they were written; a whole number is a JSON_INTEGER then, also as
 * 1.0 or 1e3. NULL: out of memory (MCPLUG_ENOMEM), or no JSON after all. */
json_t *cli_tree(mp_view text, struct cli_numbers *numbers, struct mcplug_error *err);

/* give: mp_free; the tree as compact JSON, each number that was noted as it was written.
 * NULL: out of memory. */
char *cli_tree_text(const json_t *tree, struct cli_numbers *numbers);

#endif
