/* What every part of the command shares. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/base/args.h"
#include "cli/base/out.h"
#include "cli/base/outcome.h"

#include <mcplug/admin.h>

struct cli {
    struct cli_args args;
    mcplug_config *config;     /* NULL until cli_config() */
    struct mcplug_paths paths; /* of the first configuration that was read */
    mcplug_entry *server;      /* that the command line names; see by_name.h */
    const char *tool;          /* behind mcp__SERVER__ */
    bool is_usable;            /* that server; it was judged */
    bool is_told;              /* the failure is part of what was put: see failure.h */
    const struct mcplug_plugin *const *plugins; /* of our own, for hosts; NULL: none */
    struct cli_out out;                         /* stdout, or the file of --output */
};

#endif
