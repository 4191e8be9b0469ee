/* What every part of the command shares. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/base/args.h"
#include "cli/base/out.h"

#include <mcplug/admin.h>

enum { /* exit codes */
       CLI_OK = 0,
       CLI_TOOL_ERROR = 1,   /* the tool said isError */
       CLI_NOTHING = 1,      /* what was searched for is not there */
       CLI_USAGE = 2,        /* a mistake on the command line */
       CLI_NO_SERVER = 3,    /* could not connect */
       CLI_FAILED = 4,       /* protocol or transport failure, or a write that failed */
       CLI_TIMED_OUT = 5,    /* a limit of time passed, whichever */
       CLI_SIGNAL = 128,     /* + its number: 130 for Ctrl+C */
       CLI_BROKEN_PIPE = 141 /* nobody reads our output any more */
};

struct cli {
    struct cli_args args;
    mcplug_config *config;     /* NULL until cli_config() */
    struct mcplug_paths paths; /* of the first configuration that was read */
    mcplug_entry *server;      /* that the command line names; see by_name.h */
    const char *tool;          /* behind mcp__SERVER__ */
    bool is_usable;            /* that server; it was judged */
    struct cli_out out;        /* stdout, or the file of --output */
};

#endif
