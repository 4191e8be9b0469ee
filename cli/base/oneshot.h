/* One server for one command: connects, lets the command ask, and closes in order. */
#ifndef CLI_ONESHOT_H
#define CLI_ONESHOT_H

#include "cli/base/ask.h"
#include "cli/base/cli.h"
#include "cli/base/doc.h"
#include "cli/base/journal.h"
#include "cli/base/loop.h"
#include "cli/base/progress.h"

#include <mcplug/mcplug.h>

struct cli_oneshot;

/* The lines that a server wrote last, told when it fails. */
#define CLI_REMARKS 10
struct cli_remarks {
    char *lines[CLI_REMARKS];
    size_t n;   /* in all; the last ones are kept */
    char *best; /* the one that tells most; NULL: none */
};

typedef void cli_ready_fn(struct cli_oneshot *link, void *job);
typedef void cli_result_fn(struct cli_oneshot *link, void *job,
                           const struct cli_doc *doc);
/* `list` is NULL when it could not be had; cli_oneshot_fail() tells why. */
typedef void cli_list_fn(struct cli_oneshot *link, void *job, enum mcplug_kind kind,
                         mcplug_list *list, const struct mcplug_error *why);

struct cli_oneshot {
    struct cli *cli;
    mcplug_entry *entry;         /* of the configuration; NULL: given in place */
    struct cli_journal *journal; /* of that entry; NULL: nothing is kept */
    mcplug *host;
    mcplug_server *server;
    cli_ready_fn *ready;
    cli_ready_fn
        *ended; /* of a command that set it: called once, when it has finished and
                   before the server is closed, which may outlast our patience */
    void *job;

    mcplug_call *call; /* under way; what Ctrl+C cancels */
    cli_result_fn *done;
    struct cli_list_wish { /* one per kind */
        struct cli_oneshot *link;
        enum mcplug_kind kind;
        cli_list_fn *fn;
    } wishes[4];

    bool connected, dropped, finished, closed;
    bool answered; /* the result is there: what becomes of the server no longer counts */
    int exit_code;
    struct cli_loop loop; /* ends once the server is being closed */
    char told[512];       /* the failure that was told; "": none */
    bool broke;           /* and it is one of the connection or of a request */
    struct cli_remarks remarks;
    bool started_again; /* since the last of them */
    struct cli_progress progress;
    struct cli_ask *ask; /* NULL: nobody to ask */
    bool asking;         /* it waited for a line when the loop was turned */
    char *roots;         /* answer to roots/list; NULL: none were given */
    char *meta;          /* for the _meta of requests; NULL: nothing */
};

/* Connects to the server that the command line names, calls `ready`, and goes on until
 * somebody calls cli_oneshot_finish(). Returns the exit code. */
int cli_oneshot_run(struct cli *cli, cli_ready_fn *ready, void *job);

/* The same for a request whose params are made of words. `make` gets an object of the
 * words KEY=VALUE, from the `first`-th on, as strings, and gives the params; NULL: a word
 * is not UTF-8. They are the job, as text. */
typedef json_t *cli_params_fn(const struct cli_list *words, json_t *arguments);
int cli_oneshot_run_words(struct cli *cli, size_t first, cli_params_fn *make,
                          cli_ready_fn *ready);

/* The command has what it wanted, or not; the first one counts. */
void cli_oneshot_finish(struct cli_oneshot *link, int exit_code);
/* Tells what went wrong and finishes with the fitting exit code. `result` is the
 * error object of a server that answered with one, or NULL. */
void cli_oneshot_fail(struct cli_oneshot *link, const struct mcplug_error *why,
                      const mcplug_result *result);
/* Finishes after output: with `r`, what the output functions returned. */
void cli_oneshot_done(struct cli_oneshot *link, int r, int exit_code);

/* With --json: prints the result as it came, and finishes. false: it is to be printed for
 * people. */
bool cli_oneshot_put_json(struct cli_oneshot *link, const struct cli_doc *doc,
                          int exit_code);

/* `fn` gets the result; failures end the command and are told. One request at a time.
 * `what` names it for people who wait. */
void cli_oneshot_request(struct cli_oneshot *link, const char *what, const char *method,
                         const char *params, cli_result_fn *fn);
void cli_oneshot_call_tool(struct cli_oneshot *link, const char *tool,
                           const char *arguments, cli_result_fn *fn);
void cli_oneshot_ping(struct cli_oneshot *link, cli_result_fn *fn);
/* One of each kind at a time. */
void cli_oneshot_list(struct cli_oneshot *link, enum mcplug_kind kind, cli_list_fn *fn);

/* ---- also for commands that have many servers ---- */

typedef void cli_log_fn(void *arg, int level, const char *source, const char *text);
/* A host as the command line wants it; `log` is called when lines are shown, go to a file
 * or are kept. give: mcplug_free; NULL with `err`. */
mcplug *cli_host_new(struct cli *cli, cli_log_fn *log, void *arg,
                     struct mcplug_error *err);
/* `LEVEL LOGGER: DATA` of a notifications/message; adds it. */
void cli_logged_text(mp_view params, struct mp_str *out);
/* "modern" or "legacy". */
const char *cli_era_of(const char *revision);

/* ---- for the parts of a link ---- */

/* fail.c */
void cli_remarks_add(struct cli_remarks *r, const char *line, size_t len);
void cli_remarks_tell(const struct cli_remarks *r);
void cli_remarks_clear(struct cli_remarks *r);

/* settings.c: how to reach the server. give; NULL with `err`. */
mcplug_settings *cli_settings(const struct cli_args *args, struct mcplug_error *err);
/* HOST:PORT, perhaps with a path behind it. */
bool cli_is_address(const char *word);
#define CLI_NO_SCHEME                                                                    \
    "\"%.100s\" looks like a URL without a scheme; write http:// or the like before it"
/* Puts what the command line says on top of settings that are there. */
int cli_settings_apply(mcplug_settings *s, const struct cli_args *args,
                       struct mcplug_error *err);
/* The answer to roots/list. give: mp_free; NULL with `err`. */
char *cli_roots(const struct cli_args *args, struct mcplug_error *err);
/* give `out`: --meta, joined by the trace context that the environment has; NULL when
 * there is neither. false: no memory. */
bool cli_meta(const struct cli_args *args, char **out, struct mcplug_error *err);

/* `NAME=VALUE`, `NAME[]=VALUE` and `NAME.KEY=VALUE` in place. */
struct cli_setting {
    char *name, *key; /* of one block; key: NULL but for maps */
    const char *value;
    bool list;
};
int cli_setting_parse(const char *text, struct cli_setting *out,
                      struct mcplug_error *err);
void cli_setting_clear(struct cli_setting *s);
/* Sets one such, of --set, on top of what is there. */
int cli_setting_apply(mcplug_settings *settings, const char *text,
                      struct mcplug_error *err);

#endif
