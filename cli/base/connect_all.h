/* Many servers of the configuration: connects to some of them at a time, tells of each
 * as soon as something is known, and closes it again. The next one begins when one has
 * gone, so that never more of them run than were asked for. */
#ifndef CLI_CONNECT_ALL_H
#define CLI_CONNECT_ALL_H

#include "base/batch.h"
#include "cli/base/oneshot.h"
#include "cli/base/by_name.h"

enum cli_state {
    CLI_STATE_PENDING, /* nothing is known yet */
    CLI_STATE_CONNECTED,
    CLI_STATE_FAILED, /* also what can't be used, or must not */
    CLI_STATE_DISABLED,
    CLI_STATE_NEEDS_APPROVAL,
    CLI_STATE_NEEDS_AUTH
};

enum cli_stage {
    CLI_STAGE_WAITS, /* for its turn */
    CLI_STAGE_OPENS,
    CLI_STAGE_SETTLED, /* to be told */
    CLI_STAGE_CLOSES,
    CLI_STAGE_GONE
};

struct cli_connect_all;

struct cli_member {
    struct cli_connect_all *roster;
    mcplug_entry *entry;
    char *type; /* "stdio"; NULL: not known */
    enum cli_state state;
    char *reason;  /* one line; NULL: none */
    char *missing; /* "A, B": variables that are not set; NULL: none */
    struct cli_remarks remarks;
    struct cli_journal *journal; /* NULL: none, or it has gone */

    char *name, *version; /* what it calls itself; NULL: not told */
    char revision[32];    /* "": not connected */
    int64_t tools;        /* -1: not known */
    uint64_t ms;          /* that connecting took */

    enum cli_stage stage;
    mcplug_server *server;
    uint64_t began;
};

struct cli_connect_all {
    struct cli *cli;
    struct cli_member *members; /* by name */
    size_t n;

    /* A member has begun to connect (it is pending), or all is known of it. */
    void (*news)(struct cli_connect_all *r, struct cli_member *m);
    /* There will be no more news. Servers may still be on their way out. */
    void (*done)(struct cli_connect_all *r);
    void *arg;

    mcplug *host;
    struct mp_batch batch; /* of members, by their index, until they have gone */
    size_t n_wanted;       /* to connect to */
    size_t n_settled;      /* of those */
    struct cli_loop loop;  /* ends once all is known that will be */
};

/* Those that `cli`'s words name, or all that the configuration has; states that need no
 * connection are known then. CLI_OK, or the exit code after having told why not. Clear
 * in any case. */
int cli_connect_all_init(struct cli_connect_all *r, struct cli *cli);
void cli_connect_all_clear(struct cli_connect_all *r);

/* Connects to those that can be used. Returns when all have gone; 0, or the exit code of
 * the signal that ended it. */
int cli_connect_all_run(struct cli_connect_all *r);
/* No more are begun, and those under way are closed. */
void cli_connect_all_stop(struct cli_connect_all *r);

const char *cli_member_state(const struct cli_member *m); /* "needs-approval" */
/* The line that tells most of what it wrote to stderr; NULL: none. borrow */
const char *cli_member_remark(const struct cli_member *m);

#endif
