/* For locators whose answer is a command line of the transport stdio: its words, added to
 * "args". */
#ifndef COMMON_COMMAND_LINE_H
#define COMMON_COMMAND_LINE_H

#include <mcplug/plugin.h>

static inline int command_line_add(const struct mcplug_place_ops *ops,
                                   mcplug_place *place, const char *const *words)
{
    int r = MCPLUG_OK;

    for (; r == MCPLUG_OK && *words; words++)
        r = ops->add(place, "args", *words);
    return r;
}

/* `option` and its value; nothing when that is NULL or empty. */
static inline int command_line_add_option(const struct mcplug_place_ops *ops,
                                          mcplug_place *place, const char *option,
                                          const char *value)
{
    const char *const words[] = {option, value, NULL};
    return value && *value ? command_line_add(ops, place, words) : MCPLUG_OK;
}

#endif
