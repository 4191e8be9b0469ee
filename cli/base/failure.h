/* What a program reads of a failure: with --json, the one document on standard output is
 *
 *     {"error":{"kind":"not-found","message":"..","hint":"..","exit":2}}
 *
 * It is made of what cli_error() and cli_hint() were given (message.h) and of the outcome
 * of the command, here and nowhere else. */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include "cli/base/cli.h"
#include "cli/base/doc.h"

/* Puts the document, unless there is another one: nothing happens without --json, for an
 * outcome that is no failure, and after output. A command with CLI_LINES gets it as its
 * last line if an error was reported.
 *
 * `remark`: the line on the server's stderr that tells most; NULL: none. `peer`: the
 * error object of a server that answered with one, or a result that cannot be used; NULL:
 * none. */
void cli_failure_put(struct cli *cli, int outcome, const char *remark,
                     const struct cli_doc *peer);

/* The same as a member, `"error":{..}`, of a line that a command with CLI_LINES puts
 * last; there is no other document then. Adds nothing for CLI_OK. */
void cli_failure_add(struct cli *cli, struct mp_str *out, int outcome);

/* Standard output is to have one document in any case: from now on SIGINT and SIGTERM end
 * the process with one, where no command has taken them (signals.h). */
void cli_failure_arm(struct cli *cli);
/* The process is about to end by that signal: writes the document if nothing was written.
 * Async-signal-safe. */
void cli_failure_signal(int number);

#endif
