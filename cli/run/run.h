/* run: a model that is asked, and the tools of servers that it may call.
 *
 *   command.c  what is asked for, the model, and how it ends
 *   talk.c     a conversation at the terminal: a line, an answer, the next line
 *   servers.c  which servers, and waiting for those of which nothing is known
 *   used.c     which tools were called most
 *   prompt.c   what is said: words, files, standard input
 *   complete.c names of files in it
 *   show.c     what happens, for people and as JSON
 *   allow.c    asking: before a tool may do something, and what servers ask
 *   thread.c   --save and --resume
 *   calls.c    --tools-only: the calls are read, and there is no model
 */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "base/buf.h"
#include "cli/base/ask.h"
#include "cli/base/cli.h"
#include "cli/base/journal.h"
#include "cli/base/loop.h"
#include "cli/base/oneshot.h"
#include "cli/base/progress.h"

#include <mcplug/mcplug.h>

#define CLI_RUN_FILE_MAX ((size_t)32 << 20) /* of one that is attached, and of stdin */
#define CLI_RUN_STEP ((size_t)1 << 18)      /* of reading */
#define CLI_RUN_TEXT_MAX ((size_t)64 << 20) /* of an answer, as the library has it */

struct cli_run;

struct cli_run_server {
    struct cli_run *run;
    mcplug_entry *entry; /* NULL: given in place */
    char name[MCPLUG_NAME_MAX + 1];
    struct cli_journal *journal; /* NULL: nothing is kept */
    struct cli_remarks remarks;
    bool is_awaited; /* nothing is known of it yet */
};

struct cli_run_call { /* of a tool, under way */
    char *id, *arguments;
};

/* What the user is asked at the terminal, one question after the other: whether a tool
 * may be called, and what servers ask in the middle of a call. */
struct cli_run_ask {
    int fd;                    /* the terminal; -1: there is none */
    bool is_own;               /* opened by us */
    bool is_stopped;           /* the run is: nothing is asked any more */
    struct cli_ask *questions; /* of servers; NULL: they cannot ask */
    bool is_asking;            /* whether a tool may be called, which waits for a line */
    mcplug_use *use;           /* that this is about, or will be; NULL: none */
    char *server, *tool, *arguments; /* of it */
    char line[64];    /* typed so far; the rest of a longer one does not count */
    size_t len;       /* of that */
    char **always;    /* tools that are allowed from now on */
    size_t n, cap;    /* of these */
    bool was_refused; /* for want of a terminal: what to do was said */
    bool is_refusing; /* the same now: its line was said already */
};

struct cli_run {
    struct cli *cli;
    mcplug *host;
    mcplug_model *model;
    mcplug_thread *thread;
    mcplug_toolbox *box; /* NULL: no servers */
    mcplug_call *call;   /* the run; NULL: none is under way */
    struct cli_loop loop;
    struct cli_run_server *servers;
    size_t n_servers, n_awaited;
    char *system;     /* instructions; NULL: none */
    char **most_used; /* names of tools, NULL-ended; NULL: not known */
    double max_cost;
    struct cli_run_ask ask;
    struct cli_calls *calls; /* --tools-only; NULL: not */
    struct cli_talk *talk;   /* a conversation; NULL: not */
    const char *save;        /* where the thread is saved; NULL: nowhere. borrow */
    size_t n_said;           /* items of the prompt that is being added to the thread */

    /* What has happened so far; also of a run that has no result. */
    uint32_t steps, n_calls;
    struct mcplug_usage usage;
    struct mcplug_usage spent; /* by runs before this one */
    struct mp_str text;        /* of the last answer */
    uint32_t text_step;        /* that it is of */
    uint64_t began;
    struct cli_progress progress;
    struct cli_run_call *running;
    size_t n_running, running_cap;

    bool is_finished, is_freed; /* the command; the toolbox */
    int code;
};

/* The command has what it wanted, or not; the first one counts. */
void cli_run_finish(struct cli_run *run, int code);
/* Ends what is under way, and the command with `code` if nothing is. */
void cli_run_stop(struct cli_run *run, int code);

/* ---- servers.c ---- */

/* Looks them up. CLI_OK, or an outcome that was reported. */
int cli_run_find_servers(struct cli_run *run);
/* Makes the toolbox, and starts those of which nothing is known. When all of them are
 * there, n_awaited is 0. */
int cli_run_open_servers(struct cli_run *run);
void cli_run_clear_servers(struct cli_run *run);
/* Log lines of the host, an mcplug_options.log. */
void cli_run_log(void *arg, int level, const char *source, const char *text);

/* ---- used.c ---- */

/* borrow: names of tools in the toolbox, those first that were called most, so far as it
 * is known. NULL-ended, and the same each time; NULL: no memory. */
const char *const *cli_run_most_used(struct cli_run *run);
void cli_run_clear_most_used(struct cli_run *run);

/* ---- prompt.c ---- */

/* Adds what the user says to the thread. */
int cli_run_read_prompt(struct cli_run *run);
/* The same for a line of a conversation: text, in which words @FILE are files; a blank in
 * a file's name has a backslash before it. What is added counts in n_said. */
int cli_run_say(struct cli_run *run, const char *line);
/* Reads `fd` to its end, `max` bytes at most, for which `out` has room and two steps
 * more; standard input with a note if nothing comes. Returns an outcome that was
 * reported. */
int cli_run_read(int fd, const char *name, size_t max, struct mp_str *out);

/* ---- show.c ---- */

void cli_run_event(void *arg, const struct mcplug_run_event *event);
/* The last lines. `result` may be NULL; the failure was reported. */
void cli_run_put_result(struct cli_run *run, const struct mcplug_run_result *result,
                        int code);
/* Adds up. */
void cli_run_count(struct mcplug_usage *sum, const struct mcplug_usage *usage);
/* What a conversation has used. */
void cli_run_put_total(struct cli_run *run);
/* What else is said begins on a line of its own. */
void cli_run_end_line(struct cli_run *run);
/* A line of JSON: take `line`. */
void cli_run_put_line(struct cli_run *run, struct mp_str *line);
/* Adds JSON, in one line. */
void cli_run_add_json(struct mp_str *out, mp_view json);

/* ---- allow.c ---- */

void cli_run_ask_open(struct cli_run *run);
void cli_run_ask_close(struct cli_run *run);
/* mcplug_run_options.approve */
void cli_run_approve(void *arg, mcplug_use *use, const char *server, const char *tool,
                     const char *arguments, size_t len);
/* A server asks the user: take `input`. */
void cli_run_question(struct cli_run *run, mcplug_input *input, const char *params,
                      size_t len, bool url);
/* Does something wait for a line at the terminal? */
bool cli_run_asks(const struct cli_run *run);
/* The terminal is readable. */
void cli_run_ask_read(struct cli_run *run);
/* The run is being stopped: nothing is asked any more. */
void cli_run_ask_stop(struct cli_run *run);
/* It is over: lets go of what was asked about. */
void cli_run_ask_drop(struct cli_run *run);

/* ---- thread.c ---- */

int cli_run_resume(struct cli_run *run, const char *path);
/* Could a file be saved there? Asked before a model costs something. */
int cli_run_check_save(const char *path);
int cli_run_save(struct cli_run *run, const char *path);

/* ---- calls.c ---- */

/* give: cli_calls_free; NULL: reported. It brings a module of its own. */
struct cli_calls *cli_calls_new(struct cli_run *run);
void cli_calls_free(struct cli_calls *calls);
/* The model that makes the calls; NULL with `err`. */
mcplug_model *cli_calls_model(struct cli_calls *calls, struct mcplug_error *err);
/* Begins to read them. */
void cli_calls_begin(struct cli_calls *calls);
/* Does it wait for standard input? */
bool cli_calls_waits(const struct cli_calls *calls);
void cli_calls_read(struct cli_calls *calls);
/* A batch of them was run; `why` NULL: to its end. */
void cli_calls_ran(struct cli_calls *calls, const struct mcplug_error *why);

/* ---- complete.c ---- */

/* The line has a name of a file behind an @ before `at`: adds what is missing of it to
 * `more`, or, where there are several, what they have in common; and all of them to
 * `all`. Both stay empty if there is none. */
void cli_run_complete(const char *line, size_t at, struct mp_str *more,
                      struct mp_str *all);

/* ---- talk.c ---- */

/* Is there a user at a terminal who did not say anything yet? */
bool cli_talk_wanted(const struct cli *cli);
/* give: cli_talk_free; NULL: no memory, which was reported */
struct cli_talk *cli_talk_new(struct cli_run *run);
void cli_talk_free(struct cli_talk *talk); /* NULL is fine, here and below */
/* The first prompt. */
void cli_talk_begin(struct cli_talk *talk);
/* Does it wait for standard input? */
bool cli_talk_waits(const struct cli_talk *talk);
/* Was more typed already than the last line? */
bool cli_talk_has_more(const struct cli_talk *talk);
void cli_talk_read(struct cli_talk *talk);
/* true: this signal was for the line, or for the answer that comes. */
bool cli_talk_signal(struct cli_talk *talk, int number);
/* Did the user stop the answer? */
bool cli_talk_is_stopped(const struct cli_talk *talk);
/* An answer has ended. What the user said and no model answered is taken back. */
void cli_talk_ran(struct cli_talk *talk);
/* The next prompt. `saved`: how it went to save the thread. */
void cli_talk_go_on(struct cli_talk *talk, int saved);
/* The terminal is as it was. */
void cli_talk_leave(struct cli_talk *talk);

/* ---- command.c ---- */

/* Runs the thread. CLI_OK, or an outcome that was reported. */
int cli_run_start(struct cli_run *run);

#endif
