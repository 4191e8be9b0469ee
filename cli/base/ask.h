/* Questions of a server to the user (elicitation), asked at the terminal one after the
 * other while the loop goes on. Words of the server are marked as such, line by line;
 * what was typed before a prompt is dropped, and nothing is sent without an explicit yes.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include <mcplug/mcplug.h>

#include <stdbool.h>

struct cli_ask;

/* give; NULL: no memory. `fd`: the terminal, which is read. */
struct cli_ask *cli_ask_new(int fd);
/* What is still open is answered with "cancel". */
void cli_ask_free(struct cli_ask *ask);

/* take `input`. `url`: the user is to visit a page, not to fill in a form. */
void cli_ask_put(struct cli_ask *ask, mcplug_input *input, const char *params, size_t len,
                 bool url);
bool cli_ask_waits(const struct cli_ask *ask); /* for a line of the user */
/* While it is held, nothing is asked, because the user is asked something else. Not while
 * a question waits. */
void cli_ask_hold(struct cli_ask *ask, bool hold);
/* The terminal is readable. */
void cli_ask_read(struct cli_ask *ask);
/* The request that the questions belong to is over: nothing is asked any more. */
void cli_ask_stop(struct cli_ask *ask);
/* The same, and "cancel" is the answer to all of them. Not while one is being put. */
void cli_ask_abandon(struct cli_ask *ask);

#endif
