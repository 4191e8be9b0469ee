/* `mcplug watch`: servers that are kept up, and shown as they come and go.
 *
 *   watch.c       the servers: who is on it, starts, what they tell, the end
 *   watch_state.c how they are
 *   watch_again.c started anew, as the configuration has it then
 *   watch_kept.c  the lines that were heard of each of them last
 *   watch_plain.c a line per event, and a table
 *   watch_term.c  the terminal: its modes, its signals, what is written to it
 *   watch_view.c  what is drawn there; watch_rows.c has its rows
 *   watch_keys.c  what the keys do there
 *
 * The servers know nothing of who looks at them but that he is to be told. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "base/buf.h"
#include "cli/base/connect_all.h"
#include "cli/base/keys.h"

#include <termios.h>

/* ---- the lines that are kept of one server ---- */

#define CLI_KEPT_LINES 500
#define CLI_KEPT_BYTES ((size_t)65536)
#define CLI_KEPT_LINE 2048 /* bytes of one line; the rest is cut off */

struct cli_kept {
    char *lines[CLI_KEPT_LINES]; /* as they came: not escaped, but for NULs */
    size_t first, n, bytes;
    uint64_t added; /* in all */
};

/* `12:00:00Z | text` for what came from stderr, without the bar for what happened. */
void cli_kept_add(struct cli_kept *k, bool from_stderr, const char *text, size_t len);
/* The i-th that is still there; the oldest one is the first. borrow */
const char *cli_kept_line(const struct cli_kept *k, size_t i);
void cli_kept_clear(struct cli_kept *k);
/* Adds text in which a NUL is \x00. */
void cli_kept_text(struct mp_str *out, const char *text, size_t len);

/* ---- the servers ---- */

struct cli_watch;

/* What the configuration was when somebody had it read anew; counted. */
struct cli_reading {
    struct mcplug_config *config;
    size_t users;
};
void cli_reading_drop(struct cli_reading *reading);

struct cli_watched {
    struct cli_watch *watch;
    struct cli_member *member; /* its entry, its settings, why it is not to be started */
    struct cli_reading *reading; /* that the entry is of; NULL: the command's own */
    mcplug_server *handle;       /* NULL: not begun, not to be started, or gone */
    bool usable;                 /* it is to be started, or was */
    bool begun;                  /* its turn has come, or it did not wait for it */
    bool answered;               /* ready, or given up on: what --until-ready waits for */
    bool was_ready;              /* since it was begun */
    bool leaving, gone;
    bool was_up;                 /* when it was told to go */
    enum mcplug_state told;      /* the state that was told last */
    uint64_t told_starts;        /* how many starts there had been then */
    struct mcplug_status status; /* as of cli_watched_look(); strings do not last */
    struct mcplug_error error;   /* likewise; code 0: none */
    uint64_t calls;              /* likewise, made so far */
    char *heard; /* on stderr since it was started or ready, what tells most; or NULL */
    char *words; /* that of the last failure; NULL: none */
    struct cli_kept kept;
    void (*when_gone)(struct cli_watched *s); /* of what it was; NULL: nothing to do */
};

struct cli_watch {
    struct cli *cli;
    struct cli_connect_all roster; /* its members, and the size of its batches */
    struct cli_watched *all;
    size_t n;
    struct mp_batch batch; /* first starts, by index, until they have ended */
    mcplug *host;
    struct cli_loop loop; /* ends with cli_watch_leave() */
    size_t held;          /* handles that are not gone */

    /* Something of it is another now; with `event` that is a new state, or its end. */
    void (*news)(struct cli_watch *w, struct cli_watched *s, bool event);
    void *arg;
};

/* Those that the command line names, or all; their settings are looked up, but nothing is
 * started. CLI_OK, or the exit code after having told why not. Clear in any case. */
int cli_watch_init(struct cli_watch *w, struct cli *cli);
/* Waits for what is left to go. */
void cli_watch_clear(struct cli_watch *w);

/* All are to go; nothing is left of them once `held` is 0. */
void cli_watch_leave(struct cli_watch *w, int exit_code);
/* How many could be started at all? */
size_t cli_watch_usable(const struct cli_watch *w);

/* Brings `status` up to date. */
void cli_watched_look(struct cli_watched *s);
/* "ready", "pending", "needs-approval", .. as of the last look */
const char *cli_watched_state(const struct cli_watched *s);
/* What went wrong last, or why it is not started; "": nothing. borrow */
const char *cli_watched_error(const struct cli_watched *s);
/* It failed, and is neither up nor on its way. */
bool cli_watched_down(const struct cli_watched *s);
/* Ready, or at rest since it was. */
bool cli_watched_healthy(const struct cli_watched *s);
/* Those that may be used. */
size_t cli_watched_tools(const struct cli_watched *s);
/* Attempts after the first one. */
uint64_t cli_watched_restarts(const struct cli_watched *s);
/* Until the next attempt. */
unsigned long long cli_watched_seconds(const struct cli_watched *s);
/* How many others have the same connection? */
unsigned cli_watched_others(const struct cli_watched *s);
/* Starts it anew, as the configuration has it now: `*reading`, or if that is NULL what
 * becomes of it then; drop it. `*is_other`: it was another one before, or was not to be
 * started. MCPLUG_ECONFIG: it is not to be started now. */
int cli_watched_restart(struct cli_watched *s, struct cli_reading **reading,
                        bool *is_other, struct mcplug_error *err);

/* The length of an error without what the server said, which has a place of its own. */
size_t cli_error_len(const char *text);

/* ---- for watch_again.c ---- */

/* Looks its settings up; if that fails it is not usable any more. */
void cli_watched_prepare(struct cli_watched *s);
/* false: it could not even be tried, and is not usable any more. */
bool cli_watched_start(struct cli_watched *s);
/* Lets go of its handle, to be given another one, or none. */
/* `gone` (or NULL) is told when nothing of it is left. */
void cli_watched_let_go(struct cli_watched *s, void (*gone)(struct cli_watched *s));
/* Not to be started, for that reason. */
void cli_watched_give_up(struct cli_watched *s, const char *why);

/* ---- without a screen ---- */

/* `2026-11-16T15:04:05.123Z NAME state detail`, or a JSON object; as of the last look. */
void cli_watch_put_event(struct cli_watch *w, struct cli_watched *s);
/* All of them, as they are: a table, or JSON objects. */
void cli_watch_put_table(struct cli_watch *w);

/* ---- the terminal ---- */

struct cli_term {
    int fd, signal_fd; /* `fd` is our own, and never blocks */
    bool colour;
    bool open; /* the screen is ours */
    bool lost; /* nobody is there any more */
    struct termios before;
    size_t width, height;
    struct mp_str unsent;
    size_t sent; /* bytes of that */
    int shown;   /* the level of log lines before */
};

/* false: there is none that could be drawn on. */
bool cli_term_init(struct cli_term *t);
void cli_term_clear(struct cli_term *t);
void cli_term_enter(struct cli_term *t);
void cli_term_leave(struct cli_term *t);
/* Leaves, stops as Ctrl+Z does, and comes back. */
void cli_term_suspend(struct cli_term *t);
void cli_term_measure(struct cli_term *t);
/* Writes what it takes; the rest is `unsent`. false: nobody is there any more. */
bool cli_term_write(struct cli_term *t, const char *data, size_t len);
bool cli_term_flush(struct cli_term *t);

/* ---- the view ---- */

enum cli_view_page { CLI_VIEW_SERVERS, CLI_VIEW_LOG, CLI_VIEW_HELP };

struct cli_view {
    struct cli_watch *watch;
    struct cli_term *term;
    struct cli_keys keys;
    enum cli_view_page page, before_help;
    size_t selected, top; /* `top`: the first server that is shown */
    size_t back;          /* lines of the log below what is shown */
    uint64_t seen;        /* how many there had been */
    size_t help_top;      /* the first line of the help that is shown */
    char note[640];       /* in place of the keys; "": none */
    uint64_t note_until;
    bool dirty;
    uint64_t drawn; /* when */
    struct mp_str frame, last;
};

void cli_view_init(struct cli_view *v, struct cli_watch *w, struct cli_term *t);
void cli_view_clear(struct cli_view *v);
/* Draws if anything differs from what is there. false: nobody is there any more. */
bool cli_view_draw(struct cli_view *v);
/* Rows for servers, or for lines of a log. */
size_t cli_view_rows(const struct cli_view *v);
/* How far `back` goes: the page is full then, if there are as many lines. */
size_t cli_view_back_most(struct cli_view *v);
/* How far `help_top` goes; 0: all of it is there. */
size_t cli_view_help_most(const struct cli_view *v);
void cli_view_note(struct cli_view *v, const char *fmt, ...) MCPLUG_PRINTF(2, 3);
/* true: the user wants to leave. */
bool cli_view_key(struct cli_view *v, int key);

/* ---- rows ---- */

/* One row of the screen: no more than its width gets into it, whatever is put. */
struct cli_row {
    struct mp_str *out;
    size_t left;
    bool colour;
};

struct cli_row cli_row_begin(struct cli_view *v, size_t at);
void cli_row_style(struct cli_row *r, enum cli_style style);
void cli_row_end(struct cli_row *r);
void cli_row_spaces(struct cli_row *r, size_t n);
/* Words of anybody, escaped and cut to `columns`; returns how many it took. */
size_t cli_row_text(struct cli_row *r, const char *text, size_t columns);
/* The same, filled up with blanks. */
void cli_row_cell(struct cli_row *r, const char *text, size_t columns);
void cli_row_number(struct cli_row *r, const char *text, size_t columns);
/* The same, cut in the middle: names often differ at the end only. */
void cli_row_name(struct cli_row *r, const char *text, size_t columns);
/* Columns that it takes. */
size_t cli_shown_columns(const char *text);

#endif
