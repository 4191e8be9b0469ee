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
    if (run->cli->args.yes || !isatty(STDERR_FILENO))
        return;
    a->is_own = !isatty(STDIN_FILENO);
    a->fd = a->is_own ? open_terminal() : STDIN_FILENO;
}

void cli_run_ask_close(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;

    cli_run_ask_drop(run);
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

static bool show(struct cli_run *run, const char *server, const char *tool,
                 const char *arguments, size_t len)
{
    struct cli_consent *c = cli_consent_new();
    char *laid_out = mcplug_json_layout(arguments, len);
    bool is_shown = c && laid_out;

    if (is_shown) {
        cli_run_end_line(run);
        cli_out_s(&c->out, "The model asks to use the tool \"");
        cli_out_shown(&c->out, tool, strlen(tool));
        if (*server) {
            cli_out_s(&c->out, "\" of server \"");
            cli_out_shown(&c->out, server, strlen(server));
        }
        cli_out_s(&c->out, "\", which may have effects, with these arguments:\n");
        cli_consent_lines(c, MODEL, laid_out);
        if (run->ask.is_own)
            tcflush(run->ask.fd, TCIFLUSH);
        is_shown = cli_consent_show(c, "Allow it (a: always, this tool)? [y/N/a] ");
    }
    mcplug_text_free(laid_out);
    mp_free(c);
    return is_shown;
}

static void refuse(mcplug_use *use, const char *text)
{
    mcplug_use_answer(use, text, strlen(text), 1);
}

void cli_run_approve(void *arg, mcplug_use *use, const char *server, const char *tool,
                     const char *arguments, size_t len)
{
    struct cli_run *run = arg;
    struct cli_run_ask *a = &run->ask;

    if (is_always(a, tool)) {
        mcplug_use_allow(use);
        return;
    }
    if (a->fd < 0) {
        cli_note("the tool %s was not allowed: it may have effects, and there is no "
                 "terminal to ask at",
                 tool);
        if (!a->was_refused)
            cli_detail("--yes allows all tools, --tools PATTERN chooses among them.");
        a->was_refused = a->is_refusing = true;
        refuse(use, no_terminal);
        a->is_refusing = false;
        return;
    }
    cli_progress_pause(&run->progress, true);
    cli_hold(true);
    a->tool = mp_strdup(tool);
    if (!a->tool || !show(run, server, tool, arguments, len)) {
        cli_hold(false);
        mp_free(mp_move(&a->tool));
        refuse(use, not_allowed);
        return;
    }
    a->use = use;
    a->is_asking = true;
    a->len = 0;
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
    mcplug_use *use = mp_move(&a->use);
    bool always = is_always_word(a->line, a->len);

    a->is_asking = false;
    cli_hold(false);
    cli_progress_pause(&run->progress, false);
    if (always)
        add_always(a);
    mp_free(mp_move(&a->tool));
    if (always || cli_is_yes(a->line, a->len))
        mcplug_use_allow(use);
    else
        refuse(use, not_allowed);
}

void cli_run_ask_read(struct cli_run *run)
{
    struct cli_run_ask *a = &run->ask;
    char piece[256];
    ssize_t n = read(a->fd, piece, sizeof piece);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) { /* nobody is there any more */
        a->len = 0;
        take_answer(run);
        if (a->is_own)
            close(a->fd);
        a->fd = -1;
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

void cli_run_ask_stop(struct cli_run *run)
{
    if (!run->ask.is_asking)
        return;
    run->ask.is_asking = false;
    if (write(STDERR_FILENO, "\n", 1) == 1) /* behind the question */
        cli_hold(false);
}

void cli_run_ask_drop(struct cli_run *run)
{
    mcplug_use *use = mp_move(&run->ask.use);

    cli_run_ask_stop(run);
    mp_free(mp_move(&run->ask.tool));
    if (use)
        refuse(use, not_allowed);
}
