/* `tools --lint` and `tools --repair`: what the APIs of models refuse. */
#ifndef CLI_LINT_H
#define CLI_LINT_H

#include "cli/base/listing.h"

extern const struct cli_option cli_lint_options[];

/* Of the server that is given, or of all whose tools are known. `tools` is their
 * listing. */
int cli_lint_run(struct cli *cli, const struct cli_listing *tools);

#endif
