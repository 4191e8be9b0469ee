#include "cli/run/run.h"

#include "base/mem.h"
#include "cli/base/by_name.h"
#include "cli/base/consent.h"
#include "cli/base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#define MODEL "model| " /* begins every line in the words of the model */

static const char no_terminal[] = "This call was not allowed: the tool may have effects, "
                                  "and no user is there to confirm "
                                  "it. Do not call it again.";
static const char no_user[] =
    "This call was not allowed: the user must confirm each call of this tool, and is not "
    "there. Do not call it again.";
static const char not_allowed[] =
    "The user did not allow this call. Do not repeat it unless they ask for it.";

/* ---- the terminal ---- */

/* Standard input may be what the prompt was read from, while somebody sits at the
 * terminal all the same. Not in the background, where reading from it would stop us. */
static int open_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

    if (fd >= 0 && tcgetpgrp(fd) != getpgrp()) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void cli_run_ask_open(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;

    a->fd = -1;
    if (!isatty(STDERR_FILENO))
        return;
    a->is_own = !isatty(STDIN_FILENO);
    a->fd = a->is_own ? open_terminal() : STDIN_FILENO;
    if (a->fd >= 0)
        a->questions = cli_ask_new(a->fd);
}

void cli_run_ask_close(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;

    cli_run_ask_drop(run);
    cli_ask_free(mp_move(&a->questions));
    if (a->is_own && a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    for (size_t i = 0; i < a->n; i++)
        mp_free(a->always[i]);
    mp_free(a->always);
    a->always = NULL;
    a->n = 0;
}

/* ---- asking ---- */

static bool is_always(const struct cli_run_ask *a, const char *tool)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->always[i], tool) == 0)
            return true;
    return false;
}

static bool show(struct cli_run *run)
{
    const struct cli_run_ask *a = &run->ask;
    bool must_ask = mcplug_use_must_ask(a->use);
    struct cli_consent *c = cli_consent_new();
    char *laid_out = mcplug_json_layout(a->arguments, strlen(a->arguments));
    bool is_shown = c && laid_out;

    if (is_shown) {
        cli_run_end_line(run);
        cli_out_s(&c->out, "The model asks to use the tool \"");
        cli_out_shown(&c->out, a->tool, strlen(a->tool));
        if (*a->server) {
            cli_out_s(&c->out, "\" of server \"");
            cli_out_shown(&c->out, a->server, strlen(a->server));
        }
        cli_out_s(&c->out, must_ask
                               ? "\", which is in toolsAsked, with these arguments:\n"
                               : "\", which may have effects, with these "
                                 "arguments:\n");
        cli_consent_lines(c, MODEL, laid_out);
        cli_drop_typed(a->fd);
        is_shown =
            cli_consent_show(c, must_ask ? "Allow it? [y/N] "
                                         : "Allow it (a: always, this tool)? [y/N/a] ");
    }
    mcplug_text_free(laid_out);
    mp_free(c);
    return is_shown;
}

static void refuse(mcplug_use *use, const char *text)
{
    mcplug_use_answer(use, text, strlen(text), 1);
}

/* give: that it was about */
static mcplug_use *let_go(struct cli_run_ask *a)
{
    a->is_asking = false;
    mp_free(mp_move(&a->server));
    mp_free(mp_move(&a->tool));
    mp_free(mp_move(&a->arguments));
    return mp_move(&a->use);
}

bool cli_run_asks(const struct cli_run *run)
{
    return run->ask.is_asking || cli_ask_waits(run->ask.questions);
}

/* Asks what comes next, if nothing waits for an answer. */
static void ask_next(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;

    if (a->is_stopped)
        return;
    if (a->use && !cli_run_asks(run)) {
        cli_progress_pause(&run->progress, true);
        cli_hold(true);
        a->is_asking = show(run);
        a->len = 0;
        if (!a->is_asking) {
            cli_hold(false);
            refuse(let_go(a), not_allowed);
        }
    }
    if (a->is_asking || !cli_ask_waits(a->questions))
        cli_ask_hold(a->questions, a->is_asking);
    cli_progress_pause(&run->progress, cli_run_asks(run));
}

/* Nobody can be asked. */
static void refuse_all(struct cli_run *run, mcplug_use *use, const char *tool)
{
    struct cli_run_ask *a = &run->ask;
    bool must_ask = mcplug_use_must_ask(use);

    cli_note("the tool %s was not allowed: it %s, and there is no terminal to ask at",
             tool, must_ask ? "is in toolsAsked" : "may have effects");
    if (!a->was_refused && !must_ask)
        cli_detail("--yes allows all tools, --tools PATTERN chooses among them, and "
                   "toolsApproved of a server names those that need no question.");
    a->was_refused |= !must_ask;
    a->is_refusing = true;
    refuse(use, must_ask ? no_user : no_terminal);
    a->is_refusing = false;
}

void cli_run_approve(void *arg, mcplug_use *use, const char *server, const char *tool,
                     const char *arguments, size_t len)
{
    struct cli_run *run = arg;
    struct cli_run_ask *a = &run->ask;

    if (!mcplug_use_must_ask(use) && (run->cli->args.yes || is_always(a, tool))) {
        mcplug_use_allow(use);
        return;
    }
    if (a->fd < 0) {
        refuse_all(run, use, tool);
        return;
    }
    a->use = use;
    a->server = mp_strdup(server);
    a->tool = mp_strdup(tool);
    a->arguments = mp_strndup(arguments, len);
    if (a->server && a->tool && a->arguments)
        ask_next(run);
    else
        refuse(let_go(a), not_allowed);
}

void cli_run_question(struct cli_run *run, mcplug_input *input, const char *params,
                      size_t len, bool url)
{
    struct cli_run_ask *a = &run->ask;

    if (a->fd < 0 || a->is_stopped || run->is_finished || cli_talk_waits(run->talk)) {
        mcplug_input_answer(input, "{\"action\":\"cancel\"}");
        return;
    }
    cli_run_end_line(run);
    cli_progress_pause(&run->progress, true);
    cli_ask_put(a->questions, input, params, len, url);
    ask_next(run);
}

/* ---- the answer ---- */

static void add_always(struct cli_run_ask *a)
{
    if (mp_grow(&a->always, &a->cap, a->n + 1))
        a->always[a->n++] = mp_move(&a->tool);
}

static bool is_always_word(const char *line, size_t len)
{
    return (len == 1 && strncasecmp(line, "a", 1) == 0) ||
           (len == 6 && strncasecmp(line, "always", 6) == 0);
}

static void take_answer(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;
    bool always = is_always_word(a->line, a->len) && !mcplug_use_must_ask(a->use);
    bool yes = always || cli_is_yes(a->line, a->len);

    if (always)
        add_always(a);
    mcplug_use *use = let_go(a);
    cli_hold(false);
    ask_next(run);
    if (yes)
        mcplug_use_allow(use);
    else
        refuse(use, not_allowed);
}

/* Nobody is there any more. */
static void lose_terminal(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;

    cli_ask_abandon(a->questions);
    a->len = 0;
    take_answer(run);
    if (a->is_own)
        close(a->fd);
    a->fd = -1;
}

static void read_answer(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;
    char piece[256];
    ssize_t n = read(a->fd, piece, sizeof piece);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        lose_terminal(run);
        return;
    }
    /* What a terminal gives behind the line was typed before the next question. */
    for (ssize_t i = 0; i < n; i++) {
        if (piece[i] == '\n') {
            take_answer(run);
            return;
        }
        if (a->len < sizeof a->line)
            a->line[a->len++] = piece[i];
    }
}

void cli_run_ask_read(struct cli_run *run)
{
    if (run->ask.is_asking) {
        read_answer(run);
    } else {
        cli_ask_read(run->ask.questions);
        ask_next(run);
    }
}

void cli_run_ask_stop(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;

    a->is_stopped = true;
    cli_ask_stop(a->questions);
    if (!a->is_asking)
        return;
    a->is_asking = false;
    if (write(STDERR_FILENO, "\n", 1) == 1) /* behind the question */
        cli_hold(false);
}

void cli_run_ask_drop(struct cli_run *run)
{
    cli_run_ask_stop(run);
    mcplug_use *use = let_go(&run->ask);
    if (use)
        refuse(use, not_allowed);
    cli_ask_abandon(run->ask.questions);
    cli_ask_hold(run->ask.questions, false);
    run->ask.is_stopped = false;
}
