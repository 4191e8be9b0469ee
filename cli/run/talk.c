/* A conversation: a line is typed, the thread is run, and the next line is typed.
 *
 * What is in the thread: a line whose run ended before the model had answered anything is
 * taken back, and put into the next prompt again. Whatever came of an answer stays. If
 * the last message is still the user's then, as after a limit, an empty line goes on. */
#include "base/mem.h"
#include "cli/base/catalogue.h"
#include "cli/base/history.h"
#include "cli/base/line_term.h"
#include "cli/base/message.h"
#include "cli/run/run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROMPT "> "

struct cli_talk {
    struct cli_run *run;
    struct cli_line_term term;
    char *line;       /* whose answer is under way, or that is to be typed again */
    size_t n_before;  /* messages of the thread when that was said */
    bool is_stopping; /* the answer */
    int saved;        /* how it went to save the thread */
    char *save;       /* where /save has it */
    unsigned turns;
};

/* ---- life ---- */

bool cli_talk_wanted(const struct cli *cli)
{
    const struct cli_args *args = &cli->args;

    return !args->words.n && !args->tools_only && !args->json && isatty(STDIN_FILENO) &&
           isatty(STDERR_FILENO);
}

struct cli_talk *cli_talk_new(struct cli_run *run)
{
    struct cli_talk *t = mp_alloc(sizeof *t);

    if (!t) {
        cli_error("out of memory");
        return NULL;
    }
    t->run = run;
    cli_line_term_init(&t->term, STDIN_FILENO, STDERR_FILENO, PROMPT);
    return t;
}

void cli_talk_free(struct cli_talk *t)
{
    if (!t)
        return;
    cli_talk_leave(t);
    cli_line_term_clear(&t->term);
    mp_free(t->line);
    mp_free(t->save);
    mp_free(t);
}

void cli_talk_leave(struct cli_talk *t)
{
    if (!t || !t->term.is_open)
        return;
    cli_line_term_close(&t->term);
    cli_hold(false);
}

bool cli_talk_waits(const struct cli_talk *t)
{
    return t && t->term.is_open;
}

bool cli_talk_has_more(const struct cli_talk *t)
{
    return cli_talk_waits(t) && cli_line_term_has_more(&t->term);
}

bool cli_talk_is_stopped(const struct cli_talk *t)
{
    return t && t->is_stopping;
}

/* ---- the prompt ---- */

/* Messages that come while a line is typed wait for its end. */
static void prompt(struct cli_talk *t)
{
    cli_run_end_line(t->run);
    cli_hold(true);
    cli_line_term_open(&t->term);
}

static void end(struct cli_talk *t)
{
    cli_talk_leave(t);
    if (t->turns > 1)
        cli_run_put_total(t->run);
    cli_run_finish(t->run, t->saved);
}

/* Is the last message the user's, so that the model could be asked? */
static bool is_pending(const struct cli_talk *t)
{
    struct mcplug_message m = {.struct_size = sizeof m};
    size_t n = mcplug_thread_count(t->run->thread);

    return n && mcplug_thread_message(t->run->thread, n - 1, &m) &&
           m.role == MCPLUG_ROLE_USER;
}

static void tell_pending(const struct cli_talk *t)
{
    if (is_pending(t))
        cli_note("an empty line lets the model go on");
}

void cli_talk_begin(struct cli_talk *t)
{
    struct cli_run *run = t->run;

    if (run->max_cost > 0 && mcplug_model_cost(run->model, &run->spent) < 0) {
        cli_error("--max-cost: the model needs the settings priceInput and priceOutput");
        cli_run_finish(run, CLI_BAD_CONFIG);
        return;
    }
    cli_history_read(&run->cli->paths, &t->term.edit);
    cli_tell_aside(run->cli, "Ctrl+D ends the conversation, /help shows more.");
    tell_pending(t);
    prompt(t);
}

/* ---- a turn ---- */

/* What the thread got of the line that is not to be sent now goes back to the user. */
static void take_back(struct cli_talk *t)
{
    struct cli_run *run = t->run;

    if (t->line && mcplug_thread_take_back(run->thread, run->n_said, NULL) == MCPLUG_OK)
        cli_line_edit_set(&t->term.edit, t->line, strlen(t->line));
    run->n_said = 0;
}

static void start(struct cli_talk *t)
{
    struct cli_run *run = t->run;

    t->is_stopping = false;
    t->n_before = mcplug_thread_count(run->thread);
    t->turns++;
    run->ask.fd = STDIN_FILENO; /* also after an end of file at a question */
    cli_progress_begin(&run->progress, "The model is");
    if (cli_run_start(run) == CLI_OK)
        return;
    cli_progress_end(&run->progress);
    take_back(t);
    prompt(t);
}

void cli_talk_ran(struct cli_talk *t)
{
    if (t && mcplug_thread_count(t->run->thread) == t->n_before)
        take_back(t);
}

void cli_talk_go_on(struct cli_talk *t, int saved)
{
    t->saved = saved;
    t->is_stopping = false;
    tell_pending(t);
    prompt(t);
}

/* ---- commands ---- */

static void help(void)
{
    struct cli_out *out = mp_alloc(sizeof *out);

    if (!out)
        return;
    cli_out_init(out, STDERR_FILENO);
    cli_out_s(out, "/save FILE  save it now, and after each answer\n"
                   "/quit       end it, as Ctrl+D does\n"
                   "/help       this text\n"
                   "@FILE       a word that attaches a file; @@ begins with @\n"
                   "Tab         completes the name of a file behind @\n"
                   "Alt+Enter   goes on in the next line, as does \\ at its end\n"
                   "Ctrl+C      stops the answer, or clears the line\n"
                   "Up, Ctrl+R  lines that were typed before; those that\n"
                   "            begin with a space are not kept\n");
    cli_out_flush(out);
    mp_free(out);
}

static void save(struct cli_talk *t, const char *path)
{
    struct cli_run *run = t->run;
    char *copy;

    if (!*path) {
        cli_error("/save: expected the name of a file");
        return;
    }
    if (cli_run_check_save(path) != CLI_OK || cli_run_save(run, path) != CLI_OK)
        return;
    if (!(copy = mp_strdup(path))) {
        cli_error("out of memory");
        return;
    }
    mp_free(t->save);
    run->save = t->save = copy;
    t->saved = CLI_OK;
    cli_note("saved in %s", path);
}

/* A word of letters behind a slash: the path of a file has another slash, or a dot. */
static bool is_command(const char *line)
{
    size_t n = line[0] == '/' ? strspn(line + 1, "abcdefghijklmnopqrstuvwxyz") : 0;

    return n > 0 && (!line[n + 1] || strchr(" \t\n", line[n + 1]));
}

static void command(struct cli_talk *t, const char *line)
{
    size_t n = strcspn(line, " \t\n");
    const char *rest = line + n + strspn(line + n, " \t\n");

    if (n == 5 && strncmp(line, "/quit", n) == 0) {
        end(t);
        return;
    }
    if (n == 5 && strncmp(line, "/help", n) == 0) {
        help();
    } else if (n == 5 && strncmp(line, "/save", n) == 0) {
        save(t, rest);
    } else {
        cli_error("there is no command %.*s", (int)(n < 64 ? n : 64), line);
        cli_hint("/help lists them. A space before it sends the line as it is.");
    }
    prompt(t);
}

/* ---- lines ---- */

static void entered(struct cli_talk *t)
{
    struct cli_line_edit *e = &t->term.edit;
    struct cli_run *run = t->run;
    char *line = mp_strdup(e->line.len ? e->line.data : "");

    cli_talk_leave(t);
    cli_line_edit_set(e, "", 0);
    if (!line) {
        cli_error("out of memory");
        prompt(t);
        return;
    }
    if (cli_line_edit_remember(e, line))
        cli_history_add(&run->cli->paths, line);
    mp_free(t->line);
    t->line = line;
    run->n_said = 0;
    bool is_empty = !line[strspn(line, " \t\n")];
    if (is_command(line)) {
        command(t, line);
    } else if (is_empty && !is_pending(t)) {
        prompt(t);
    } else if (cli_run_say(run, line) != CLI_OK) {
        take_back(t);
        prompt(t);
    } else {
        start(t);
    }
}

/* Something is written in the place of the line, which is then shown again. */
static void begin_above(struct cli_talk *t)
{
    cli_line_term_erase(&t->term);
    cli_hold(false);
}

static void end_above(struct cli_talk *t)
{
    cli_hold(true);
    cli_line_term_draw(&t->term);
}

static void interrupted(struct cli_talk *t)
{
    if (t->term.edit.interrupts > 1) {
        end(t);
        return;
    }
    begin_above(t);
    cli_note("Ctrl+C once more, or Ctrl+D, ends the conversation");
    end_above(t);
}

static void complete(struct cli_talk *t)
{
    struct cli_line_edit *e = &t->term.edit;
    struct mp_str more, all;

    mp_str_init(&more, CLI_LINE_MAX);
    mp_str_init(&all, CLI_LINE_MAX);
    cli_run_complete(e->line.len ? e->line.data : "", e->at, &more, &all);
    begin_above(t);
    if (more.len)
        cli_line_edit_insert(e, more.data, more.len);
    else if (all.len)
        cli_tell("", all.data, all.len);
    end_above(t);
    mp_str_clear(&more);
    mp_str_clear(&all);
}

static void take_event(struct cli_talk *t, enum cli_line_event event)
{
    switch (event) {
    case CLI_LINE_ENTERED:
        entered(t);
        break;
    case CLI_LINE_ENDED:
        end(t);
        break;
    case CLI_LINE_INTERRUPTED:
        interrupted(t);
        break;
    case CLI_LINE_COMPLETES:
        complete(t);
        break;
    default:
        break;
    }
}

void cli_talk_read(struct cli_talk *t)
{
    take_event(t, cli_line_term_read(&t->term));
}

/* ---- signals ---- */

static bool interrupt(struct cli_talk *t)
{
    struct cli_run *run = t->run;

    if (t->term.is_open) {
        take_event(t, cli_line_term_interrupt(&t->term));
        return true;
    }
    if (!run->call || t->is_stopping)
        return false;
    t->is_stopping = true;
    if (!cli_run_asks(run) && (!run->cli->out.last || run->cli->out.last == '\n'))
        cli_tell("", "", 0); /* behind the ^C of the terminal */
    cli_run_ask_stop(run);
    mcplug_cancel(run->call); /* its end is followed by the next prompt */
    return true;
}

bool cli_talk_signal(struct cli_talk *t, int number)
{
    if (!t)
        return false;
    struct cli_out *out = &t->run->cli->out;
    switch (number) {
    case SIGINT:
        return interrupt(t);
    case SIGWINCH:
        if (out->terminal)
            out->width = cli_width(out->fd);
        cli_line_term_signal(&t->term, number);
        return true;
    case SIGTSTP:
    case SIGCONT:
        cli_line_term_signal(&t->term, number);
        return true;
    default:
        return false;
    }
}
