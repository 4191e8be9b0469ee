#include "cli/watch/watch.h"

#include "base/error.h"

static void restart(struct cli_view *v, struct cli_watched *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_reading *reading = NULL;

    bool is_other;

    int r = cli_watched_restart(s, &reading, &is_other, &err);
    const char *name =
        mcplug_entry_name(s->member->entry); /* it may be another one now */
    cli_watched_look(s);
    unsigned others = cli_watched_others(s);
    if (r != MCPLUG_OK)
        cli_view_note(v, "%.64s: %.500s", name, err.text);
    else if (others)
        cli_view_note(v, "restarting %.64s, also for %u other%s that share%s it", name,
                      others, others == 1 ? "" : "s", others == 1 ? "s" : "");
    else
        cli_view_note(v, "restarting %.64s%s", name,
                      is_other ? " with its current configuration" : "");
    cli_reading_drop(reading);
}

static void restart_down(struct cli_view *v)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_reading *reading = NULL;
    size_t n = 0;
    bool is_other;

    for (size_t i = 0; i < v->watch->n; i++) {
        struct cli_watched *s = &v->watch->all[i];
        cli_watched_look(s);
        if (cli_watched_down(s) &&
            cli_watched_restart(s, &reading, &is_other, &err) == MCPLUG_OK)
            n++;
    }
    cli_reading_drop(reading);
    if (n)
        cli_view_note(v, "restarting %zu server%s", n, n == 1 ? "" : "s");
    else
        cli_view_note(v, "no server is down");
}

/* Moves within 0 .. last. */
static void move(size_t *at, ptrdiff_t by, size_t last)
{
    if (*at > last)
        *at = last;
    if (by < 0)
        *at = *at > (size_t)-by ? *at - (size_t)-by : 0;
    else
        *at = last - *at > (size_t)by ? *at + (size_t)by : last;
}

/* How far a key goes; 0: it is none of these. */
static ptrdiff_t distance(const struct cli_view *v, int key)
{
    ptrdiff_t page = (ptrdiff_t)cli_view_rows(v);
    switch (key) {
    case CLI_KEY_UP:
    case 'k':
        return -1;
    case CLI_KEY_DOWN:
    case 'j':
        return 1;
    case CLI_KEY_PAGE_UP:
    case 'b':
        return -page;
    case CLI_KEY_PAGE_DOWN:
    case ' ':
        return page;
    case CLI_KEY_HOME:
    case 'g':
        return -PTRDIFF_MAX;
    case CLI_KEY_END:
    case 'G':
        return PTRDIFF_MAX;
    default:
        return 0;
    }
}

static void show_help(struct cli_view *v)
{
    v->before_help = v->page;
    v->page = CLI_VIEW_HELP;
    v->help_top = 0;
}

static bool on_servers(struct cli_view *v, int key)
{
    struct cli_watched *s = &v->watch->all[v->selected];

    switch (key) {
    case 'q':
        return true;
    case 'r':
        restart(v, s);
        break;
    case 'R':
        restart_down(v);
        break;
    case 'l':
    case '\r':
    case '\n':
        v->page = CLI_VIEW_LOG;
        v->back = 0;
        break;
    case '?':
    case 'h':
        show_help(v);
        break;
    default:
        move(&v->selected, distance(v, key), v->watch->n - 1);
        break;
    }
    return false;
}

static void on_log(struct cli_view *v, int key)
{
    struct cli_watched *s = &v->watch->all[v->selected];

    switch (key) {
    case 'q':
    case 'l':
    case CLI_KEY_ESC:
        v->page = CLI_VIEW_SERVERS;
        break;
    case 'r':
        restart(v, s);
        break;
    case '?':
    case 'h':
        show_help(v);
        break;
    default: /* counted from the end, which is where news come */
        move(&v->back, -distance(v, key), cli_view_back_most(v));
        break;
    }
}

bool cli_view_key(struct cli_view *v, int key)
{
    if (key == CLI_KEY_NONE)
        return false;
    v->dirty = true;
    v->note[0] = '\0';
    switch (v->page) {
    case CLI_VIEW_LOG:
        on_log(v, key);
        return false;
    case CLI_VIEW_HELP:
        if (distance(v, key) && cli_view_help_most(v))
            move(&v->help_top, distance(v, key), cli_view_help_most(v));
        else
            v->page = v->before_help;
        return false;
    default:
        return on_servers(v, key);
    }
}
