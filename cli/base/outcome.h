/* How a command ends: the exit code, and for programs the kind of a failure.
 *
 * A command returns one of these. The exit code is the low byte, so that returning it
 * from main() is enough; the kind is above it. With --json a program reads the kind in
 * `{"error":{"kind": ..}}`. Names and exit codes of this list are kept; mcplug(1) has the
 * same table, and tests/unit/cli_failure.c compares the two. */
#ifndef CLI_OUTCOME_H
#define CLI_OUTCOME_H

#include <stddef.h>

/* X(CLI_ name, kind, exit code, message where no other was recorded) */
#define CLI_FAILURES(X)                                                                  \
    X(USAGE, "usage", 2, "The command line is wrong")                                    \
    X(BAD_ARGUMENTS, "arguments", 2, "The arguments are wrong")                          \
    X(NOT_FOUND, "not-found", 2, "There is nothing of that name")                        \
    X(BAD_CONFIG, "config", 2, "The configuration is wrong")                             \
    X(TOOL_DENIED, "tool-denied", 2, "The tool is not allowed")                          \
    X(NO_SERVER, "connect", 3, "The server cannot be reached")                           \
    X(UNSUPPORTED, "unsupported", 3, "No module offers that")                            \
    X(DISABLED, "disabled", 3, "The server is disabled")                                 \
    X(NEEDS_APPROVAL, "needs-approval", 3, "The server is not approved")                 \
    X(NEEDS_AUTH, "needs-auth", 3, "The server requires credentials")                    \
    X(BLOCKED, "policy", 3, "The policy does not allow the server")                      \
    X(PEER_ERROR, "peer", 4, "The server answered with an error")                        \
    X(BROKEN_PROTOCOL, "protocol", 4, "The server broke the protocol")                   \
    X(LOST, "lost", 4, "The connection was lost")                                        \
    X(TOO_BIG, "limit", 4, "A limit was exceeded")                                       \
    X(BAD_MODULE, "module", 4, "The module cannot be used")                              \
    X(IO_ERROR, "io", 4, "A file cannot be read or written")                             \
    X(INTERNAL, "internal", 4, "Out of memory")                                          \
    X(TIMED_OUT, "timeout", 5, "A time limit passed")                                    \
    X(MODEL_FAILED, "model", 6, "The model could not be asked")                          \
    X(RUN_LIMIT, "run-limit", 7, "A limit of the run was reached")                       \
    X(UNFINISHED, "unfinished", 8, "The model did not finish its answer")

enum cli_kind {
    CLI_KIND_NONE,
#define CLI_KIND(id, name, exit, text) CLI_KIND_##id,
    CLI_FAILURES(CLI_KIND)
#undef CLI_KIND
        CLI_KIND_CANCELLED, /* of every CLI_SIGNAL + number */
    CLI_KINDS
};

enum cli_outcome {
    CLI_OK = 0,
    CLI_TOOL_ERROR = 1, /* the tool said isError, a module broke its contract */
    CLI_NOTHING = 1,    /* what was searched for is not there */
    CLI_FINDINGS = 1,   /* a definition would be refused */
#define CLI_OUTCOME(id, name, exit, text) CLI_##id = (exit) | CLI_KIND_##id << 8,
    CLI_FAILURES(CLI_OUTCOME)
#undef CLI_OUTCOME
        CLI_SIGNAL = 128, /* + its number: 130 for Ctrl+C */
    CLI_BROKEN_PIPE = 141 /* nobody reads our output any more */
};

static inline int cli_exit_code(int outcome)
{
    return outcome & 0xff;
}

/* Of the two, the one with the higher exit code; else the first. */
static inline int cli_worse(int first, int second)
{
    return cli_exit_code(second) > cli_exit_code(first) ? second : first;
}

struct cli_kind_info {
    const char *name; /* what programs read */
    int exit_code;    /* 128: and the number of the signal */
    const char *text; /* the message where no other was recorded */
};
/* NULL for CLI_KIND_NONE and from CLI_KINDS on. */
const struct cli_kind_info *cli_kind_info(enum cli_kind kind);
/* Of a failure. One that is only an exit code is CLI_KIND_INTERNAL. */
enum cli_kind cli_kind_of(int outcome);

#endif
