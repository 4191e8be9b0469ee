#include "cli/base/progress.h"

#include "base/text.h"
#include "cli/base/message.h"
#include "cli/base/out.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define REDRAW_MS 50      /* a flood of news must not become a flood of output */
#define PATIENCE_MS 30000 /* silence after which we say that it still runs */

uint64_t cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

size_t cli_progress_text(const struct cli_progress *p, uint64_t ms, char *out, size_t cap)
{
    char elapsed[32], amount[64] = "";
    mp_text_duration(elapsed, sizeof elapsed, ms / 1000 * 1000, false);

    if (!p->any)
        return (size_t)snprintf(out, cap, "%s still running (%s elapsed)", p->what,
                                elapsed);
    if (p->total > 0)
        snprintf(amount, sizeof amount, " %.0f%%", p->done / p->total * 100);
    else
        snprintf(amount, sizeof amount, " %.6g", p->done);
    const char *message = p->message[0] ? p->message : p->what;
    return (size_t)snprintf(out, cap, "%s%s, %s", message, amount,
                            ms < 1000 ? "0s" : elapsed);
}

static void show(struct cli_progress *p, uint64_t now)
{
    char text[512];
    bool theirs = p->mode == CLI_PROGRESS_LINE && p->any && p->message[0];
    size_t mark = theirs ? sizeof CLI_SERVERS - 1 : 0; /* the words are the server's */
    memcpy(text, CLI_SERVERS, mark);
    cli_progress_text(p, now - p->began, text + mark, sizeof text - mark);
    if (p->mode == CLI_PROGRESS_LINE)
        cli_status_show(text);
    else
        cli_tell("", text, strlen(text));
    p->told = now;
    p->dirty = false;
}

/* A line that is there counts the seconds; one that is not appears after the time that
 * patience lasts, and where lines are not written over, again after as much. */
static void plan(struct cli_progress *p, uint64_t now)
{
    if (!p->running || p->paused || p->mode == CLI_PROGRESS_OFF)
        p->due = 0;
    else if (p->dirty)
        p->due = p->told + REDRAW_MS;
    else if (p->mode == CLI_PROGRESS_LINE && p->told)
        p->due = now + 1000 - (now - p->began) % 1000;
    else
        p->due = (p->told ? p->told : p->began) + PATIENCE_MS;
}

void cli_progress_begin(struct cli_progress *p, const char *what)
{
    enum cli_progress_mode mode = p->mode;
    memset(p, 0, sizeof *p);
    p->mode = mode;
    p->total = -1;
    p->running = true;
    p->began = cli_now();
    snprintf(p->what, sizeof p->what, "%s", what);
    plan(p, p->began);
}

void cli_progress_news(struct cli_progress *p, double done, double total,
                       const char *message)
{
    if (!p->running)
        return;
    uint64_t now = cli_now();
    p->any = true;
    p->done = done;
    p->total = total;
    snprintf(p->message, sizeof p->message, "%s", message ? message : "");
    if (p->mode == CLI_PROGRESS_OFF)
        return;
    if (p->mode == CLI_PROGRESS_LOG ||
        (!p->paused && (!p->told || now >= p->told + REDRAW_MS)))
        show(p, now);
    else
        p->dirty = true;
    plan(p, now);
}

void cli_progress_tick(struct cli_progress *p)
{
    uint64_t now = cli_now();
    if (p->due == 0 || now < p->due)
        return;
    if (p->mode == CLI_PROGRESS_LOG && p->any)
        p->any = false; /* no news since: say that it runs, not what it said last */
    show(p, now);
    plan(p, now);
}

void cli_progress_pause(struct cli_progress *p, bool paused)
{
    if (!p->running || p->mode == CLI_PROGRESS_OFF)
        return;
    if (paused && p->mode == CLI_PROGRESS_LINE)
        cli_status_show(NULL);
    p->paused = paused;
    p->dirty = !paused && p->any;
    plan(p, cli_now());
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->running && p->mode == CLI_PROGRESS_LINE)
        cli_status_show(NULL);
    p->running = false;
    p->due = 0;
}
