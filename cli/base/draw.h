/* Images as text for a terminal: converted to pixels that fit it, and these to the text
 * that it takes. */
#ifndef CLI_DRAW_H
#define CLI_DRAW_H

#include "cli/base/out.h"
#include "cli/base/screen.h"

#include <mcplug/content.h>

#define CLI_PIXELS "image/x-portable-arbitrarymap"
#define CLI_TERMINAL_TEXT "text/x-terminal"

struct cli_draw {
    mcplug *host; /* borrow */
    struct cli_screen screen;
    const char *settings;    /* more of them, as members of a JSON object; NULL: none */
    uint32_t timeout_ms;     /* of each of the two conversions; 0: as mcplug_convert() */
    uint32_t max_side;       /* of the pixels; 0: as the screen says */
    mcplug_convert_fn *done; /* as that of mcplug_convert(), once; the text that it gets
                                is an image and does nothing else to a terminal */
    void *arg;
    mcplug_call **call; /* where the one under way is noted, for mcplug_cancel() */
    bool asks;          /* ask the terminal, once there are pixels for it */
};

/* `mime` NULL: as the bytes say, which are copied. `d` stays until `done` was called.
 * MCPLUG_OK; else `done` is not called. */
int cli_draw_start(struct cli_draw *d, const void *data, size_t len, const char *mime,
                   struct mcplug_error *err);

/* Prints what `done` got. Whatever comes behind it has no colours of it. */
void cli_draw_put(const mcplug_converted *drawn, struct cli_out *out);

#endif
