#include "cli/watch/watch.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/base/reason.h"

#include <stdarg.h>
#include <stdio.h>

#define FRAME_MAX ((size_t)1 << 22)
#define TEXT_MAX ((size_t)1 << 16) /* of one text as it is shown */
#define NAME_MIN 8
#define NAME_FAIR ((size_t)24) /* that names may take from the columns, or a third */
#define STATE_WIDTH 14         /* needs-approval */
#define ERROR_MIN 20
#define NOTE_MS 5000

/* ---- columns ---- */

enum { TOOLS, ERA, CALLS, RUNNING, RESTARTS, UPTIME, COLUMNS };

static const struct {
    const char *title;
    size_t width;
} columns[COLUMNS] = {
    [ERA] = {"ERA", 6},           [TOOLS] = {"TOOLS", 5},       [CALLS] = {"CALLS", 6},
    [RUNNING] = {"RUN/QUEUE", 9}, [RESTARTS] = {"RESTARTS", 8}, [UPTIME] = {"UPTIME", 7},
};

/* As they stand, from the left. */
static const int order[COLUMNS] = {ERA, TOOLS, CALLS, RUNNING, RESTARTS, UPTIME};
/* The most important one first: those that do not fit are left out from the end. */
static const int importance[COLUMNS] = {RESTARTS, UPTIME, TOOLS, ERA, CALLS, RUNNING};

struct layout {
    size_t name;
    bool shown[COLUMNS];
    bool error;
};

/* How wide names may be, with `room` for them, the error and the columns: what the others
 * leave, or what is fair, if that is more; on a narrow screen half of it. */
static size_t name_most(size_t room, size_t error, size_t width)
{
    size_t rest = room > error ? room - error : 0, all = error;
    size_t most = rest > room / 2 ? rest : room / 2;
    size_t fair = width / 3 > NAME_FAIR ? width / 3 : NAME_FAIR;

    for (size_t i = 0; i < COLUMNS; i++)
        all += 2 + columns[i].width;
    if (room > all && room - all > fair)
        fair = room - all;
    most = most < fair ? most : fair;
    return most < NAME_MIN ? NAME_MIN : most > MCPLUG_NAME_MAX ? MCPLUG_NAME_MAX : most;
}

/* What names need comes first, then the least that an error takes, then the columns; what
 * is left is for the error. A long name must not cost the others their columns. */
static struct layout lay_out(const struct cli_view *v)
{
    struct layout l = {.name = 4};
    size_t width = v->term->width, fixed = 2 + 2 + STATE_WIDTH;

    for (size_t i = 0; i < v->watch->n; i++) {
        const struct cli_watched *s = &v->watch->all[i];
        size_t n = cli_shown_columns(mcplug_entry_name(s->member->entry));
        l.name = n > l.name ? n : l.name;
        l.error = l.error || *cli_watched_error(s);
    }
    size_t error = l.error ? 2 + ERROR_MIN : 0;
    size_t most = name_most(width > fixed ? width - fixed : 0, error, width);
    l.name = l.name < most ? l.name : most;
    size_t used = fixed + l.name + error;
    for (size_t i = 0; i < COLUMNS; i++) {
        used += 2 + columns[importance[i]].width;
        if (used > width)
            break;
        l.shown[importance[i]] = true;
    }
    return l;
}

/* "59s", "12m 3s", "5h 12m", "3d 4h" */
static void uptime_text(uint64_t ms, char *out, size_t cap)
{
    unsigned long long s = ms / 1000, m = s / 60, h = m / 60;
    if (m == 0)
        snprintf(out, cap, "%llus", s);
    else if (h == 0)
        snprintf(out, cap, "%llum %llus", m, s % 60);
    else if (h < 24)
        snprintf(out, cap, "%lluh %llum", h, m % 60);
    else
        snprintf(out, cap, "%llud %lluh", h / 24, h % 24);
}

static void count_text(uint64_t n, char *out, size_t cap)
{
    if (n < 100000)
        snprintf(out, cap, "%llu", (unsigned long long)n);
    else
        snprintf(out, cap, "%lluk", (unsigned long long)n / 1000);
}

static void column_text(const struct cli_watched *s, int column, char *out, size_t cap)
{
    const struct mcplug_status *status = &s->status;
    bool known = *status->revision != '\0';

    out[0] = '\0';
    if (!s->handle)
        return;
    switch (column) {
    case ERA:
        if (known)
            snprintf(out, cap, "%s", cli_era_of(status->revision));
        break;
    case TOOLS:
        if (known)
            count_text(cli_watched_tools(s), out, cap);
        break;
    case CALLS:
        count_text(s->calls, out, cap);
        break;
    case RUNNING:
        snprintf(out, cap, "%u/%u", status->sent, status->waiting);
        break;
    case RESTARTS:
        count_text(cli_watched_restarts(s), out, cap);
        break;
    default:
        if (status->state == MCPLUG_STATE_READY)
            uptime_text(status->up_ms, out, cap);
        break;
    }
}

/* ---- the servers ---- */

static enum cli_style style_of(const struct cli_watched *s)
{
    if (!s->usable)
        return s->member->state == CLI_STATE_DISABLED ? CLI_DIM
               : s->member->state == CLI_STATE_FAILED ? CLI_RED
                                                      : CLI_YELLOW;
    if (!s->handle || s->leaving)
        return CLI_DIM;
    switch (s->status.state) {
    case MCPLUG_STATE_READY:
        return CLI_GREEN;
    case MCPLUG_STATE_WAITING:
    case MCPLUG_STATE_PARKED:
        return CLI_RED;
    default:
        return CLI_YELLOW;
    }
}

static void state_text(const struct cli_watched *s, char *out, size_t cap)
{
    const char *state = cli_watched_state(s);
    if (s->handle && !s->leaving && s->status.state == MCPLUG_STATE_WAITING)
        snprintf(out, cap, "%s %llus", state, cli_watched_seconds(s));
    else
        snprintf(out, cap, "%s", state);
}

static void draw_titles(struct cli_view *v, const struct layout *l, size_t at)
{
    struct cli_row r = cli_row_begin(v, at);

    cli_row_style(&r, CLI_DIM);
    cli_row_spaces(&r, 2);
    cli_row_cell(&r, "NAME", l->name + 2);
    cli_row_cell(&r, "STATE", STATE_WIDTH);
    for (size_t i = 0; i < COLUMNS; i++) {
        int c = order[i];
        if (!l->shown[c])
            continue;
        cli_row_spaces(&r, 2);
        if (c == ERA)
            cli_row_cell(&r, columns[c].title, columns[c].width);
        else
            cli_row_number(&r, columns[c].title, columns[c].width);
    }
    cli_row_spaces(&r, 2);
    if (l->error)
        cli_row_text(&r, "LAST ERROR", r.left);
    cli_row_end(&r);
}

/* What it said itself tells most; what is known of its end goes before, if there is room
 * for both. */
static void draw_error(struct cli_row *r, const struct cli_watched *s)
{
    char room[CLI_REASON_SIZE];
    const char *fact = cli_reason(cli_watched_error(s), false, room);
    struct mp_str text;

    mp_str_init(&text, TEXT_MAX);
    if (s->usable && *fact && s->words) {
        mp_str_addf(&text, "%s | ", fact);
        mp_str_adds(&text, s->words);
        if (text.data && cli_shown_columns(text.data) > r->left && r->left >= ERROR_MIN) {
            mp_str_reset(&text);
            mp_str_adds(&text, "| ");
            mp_str_adds(&text, s->words);
        } else if (r->left < ERROR_MIN) {
            mp_str_reset(&text);
        }
    }
    cli_row_text(r, text.len ? text.data : fact, r->left);
    mp_str_clear(&text);
}

static void draw_server(struct cli_view *v, const struct layout *l, size_t i, size_t at)
{
    const struct cli_watched *s = &v->watch->all[i];
    struct cli_row r = cli_row_begin(v, at);
    char text[64];
    bool here = i == v->selected;

    cli_row_text(&r, here ? "> " : "  ", 2);
    cli_row_style(&r, here ? CLI_BOLD : CLI_PLAIN);
    cli_row_name(&r, mcplug_entry_name(s->member->entry), l->name);
    cli_row_style(&r, CLI_PLAIN);
    cli_row_spaces(&r, 2);
    state_text(s, text, sizeof text);
    cli_row_style(&r, style_of(s));
    cli_row_cell(&r, text, STATE_WIDTH);
    cli_row_style(&r, CLI_PLAIN);
    for (size_t k = 0; k < COLUMNS; k++) {
        int c = order[k];
        if (!l->shown[c])
            continue;
        column_text(s, c, text, sizeof text);
        cli_row_spaces(&r, 2);
        if (c == ERA)
            cli_row_cell(&r, text, columns[c].width);
        else
            cli_row_number(&r, text, columns[c].width);
    }
    if (s->usable && s->status.state == MCPLUG_STATE_READY)
        cli_row_style(&r, CLI_DIM); /* that was before */
    cli_row_spaces(&r, 2);
    draw_error(&r, s);
    cli_row_end(&r);
}

/* "mcplug watch: 5 servers, 3 ready, 1 down, 12 calls" */
static void draw_head(struct cli_view *v, size_t at)
{
    const struct cli_watch *w = v->watch;
    size_t ready = 0, down = 0, resting = 0, unused = 0;
    uint64_t calls = 0;
    struct mp_str text;

    for (size_t i = 0; i < w->n; i++) {
        const struct cli_watched *s = &w->all[i];
        ready += s->handle && s->status.state == MCPLUG_STATE_READY;
        down += cli_watched_down(s);
        resting += s->handle && s->status.state == MCPLUG_STATE_RESTING;
        unused += !s->usable;
        calls += s->calls;
    }
    mp_str_init(&text, 512);
    mp_str_addf(&text, "mcplug watch: %zu server%s, %zu ready", w->n,
                w->n == 1 ? "" : "s", ready);
    if (down)
        mp_str_addf(&text, ", %zu down", down);
    if (resting)
        mp_str_addf(&text, ", %zu resting", resting);
    if (unused)
        mp_str_addf(&text, ", %zu not started", unused);
    if (calls)
        mp_str_addf(&text, ", %llu calls", (unsigned long long)calls);
    struct cli_row r = cli_row_begin(v, at);
    cli_row_style(&r, CLI_BOLD);
    cli_row_text(&r, text.data ? text.data : "", r.left);
    cli_row_end(&r);
    mp_str_clear(&text);
}

static void draw_foot(struct cli_view *v, const char *keys)
{
    const struct cli_watch *w = v->watch;
    struct cli_row r = cli_row_begin(v, v->term->height - 1);
    char text[128];

    if (w->loop.ending) {
        snprintf(text, sizeof text, "closing %zu server%s; q leaves at once", w->held,
                 w->held == 1 ? "" : "s");
        cli_row_text(&r, text, r.left);
    } else if (v->note[0]) {
        cli_row_style(&r, CLI_YELLOW);
        cli_row_text(&r, v->note, r.left);
    } else {
        cli_row_style(&r, CLI_DIM);
        cli_row_text(&r, keys, r.left);
    }
    cli_row_end(&r);
}

/* The keys that matter most come first: on a narrow screen the rest is cut off. */
static void draw_servers(struct cli_view *v)
{
    size_t rows = cli_view_rows(v);
    struct layout l = lay_out(v);

    if (v->selected < v->top)
        v->top = v->selected;
    if (v->selected >= v->top + rows)
        v->top = v->selected - rows + 1;
    if (v->top + rows > v->watch->n)
        v->top = v->watch->n > rows ? v->watch->n - rows : 0;
    draw_head(v, 0);
    draw_titles(v, &l, 1);
    for (size_t i = 0; i < rows; i++) {
        if (v->top + i < v->watch->n) {
            draw_server(v, &l, v->top + i, 2 + i);
        } else {
            struct cli_row r = cli_row_begin(v, 2 + i);
            cli_row_end(&r);
        }
    }
    draw_foot(v, "q quit  r restart  l log  ? help  R restart all that are down");
}

/* ---- a log ---- */

/* The pieces of a line, each as wide as the screen; returns how many there are. With
 * `from`, those from there on are drawn from row `at` on, `rows` of them at most. */
static size_t wrap(struct cli_view *v, const char *line, size_t from, size_t at,
                   size_t rows, bool draw)
{
    struct mp_str shown;
    size_t done = 0, n = 0, width = v->term->width;

    mp_str_init(&shown, TEXT_MAX);
    mp_str_add_escaped(&shown, line, strlen(line), false);
    while (shown.data && done < shown.len && width) {
        size_t len = cli_columns_fit(shown.data + done, shown.len - done, width);
        if (!len)
            break; /* not even one character is that narrow */
        if (draw && n >= from && n - from < rows) {
            struct cli_row r = cli_row_begin(v, at + n - from);
            mp_str_add(r.out, shown.data + done, len);
            r.left -= cli_columns(shown.data + done, len);
            cli_row_end(&r);
        }
        done += len;
        n++;
    }
    mp_str_clear(&shown);
    return n ? n : 1;
}

/* Lines from the first one on until the page is full; `filled` rows. */
static size_t first_page(struct cli_view *v, const struct cli_kept *k, size_t *filled)
{
    size_t rows = cli_view_rows(v), n = 0;

    for (*filled = 0; n < k->n && *filled < rows; n++)
        *filled += wrap(v, cli_kept_line(k, n), 0, 0, 0, false);
    return n;
}

size_t cli_view_back_most(struct cli_view *v)
{
    const struct cli_kept *k = &v->watch->all[v->selected].kept;
    size_t filled, n = first_page(v, k, &filled);
    /* where a line runs on below the page, there is one step more to its beginning */
    return k->n - n + (filled > cli_view_rows(v));
}

static void draw_log_head(struct cli_view *v, const struct cli_watched *s)
{
    struct cli_row r = cli_row_begin(v, 0);
    char state[64];

    cli_row_style(&r, CLI_BOLD);
    cli_row_text(&r, mcplug_entry_name(s->member->entry), r.left);
    cli_row_style(&r, CLI_PLAIN);
    state_text(s, state, sizeof state);
    cli_row_spaces(&r, 2);
    cli_row_style(&r, style_of(s));
    cli_row_text(&r, state, r.left);
    cli_row_end(&r);
}

/* The page ends with a line, but at the top it begins with one. */
static void draw_log(struct cli_view *v)
{
    const struct cli_watched *s = &v->watch->all[v->selected];
    size_t rows = cli_view_rows(v), filled = 0, cut = 0, at = 1;

    if (v->back && s->kept.added > v->seen) /* what is looked at stays where it is */
        v->back += (size_t)(s->kept.added - v->seen);
    v->seen = s->kept.added;
    size_t most = cli_view_back_most(v);
    v->back = v->back < most ? v->back : most;
    bool top = v->back && v->back == most;
    draw_log_head(v, s);

    size_t end = top ? s->kept.n : s->kept.n - v->back, first = top ? 0 : end;
    while (first > 0 && filled < rows)
        filled += wrap(v, cli_kept_line(&s->kept, --first), 0, 0, 0, false);
    cut = filled > rows ? filled - rows : 0;
    for (size_t i = first; i < end && at <= rows; i++) {
        size_t n = wrap(v, cli_kept_line(&s->kept, i), cut, at, 1 + rows - at, true);
        at += n - cut;
        cut = 0;
    }
    for (; at <= rows; at++) {
        struct cli_row r = cli_row_begin(v, at);
        if (at == 1 && !s->kept.n)
            cli_row_text(&r, "nothing yet", r.left);
        cli_row_end(&r);
    }
    draw_foot(v, v->back ? "q back  G end  r restart  ? help  up/down/page scroll"
                         : "q back  r restart  ? help  up/down/page scroll");
}

/* ---- help ---- */

static const char *const help[] = {
    "up, down, j, k   select, or scroll",
    "r                restart it",
    "R                all that are down",
    "l, Enter         its log: stderr and",
    "                 what happened to it",
    "q, Esc           back from there",
    "q, Ctrl+C        close all, and leave",
    "",
    "pending      waiting for its turn",
    "queued       too many others start",
    "starting     being started",
    "ready        up, its tools are known",
    "waiting 4s   failed; next attempt in 4s",
    "parked       it would fail again: fix",
    "             the problem, then press r",
    "resting      stopped because idle",
    "stopping     being stopped",
    "ended        gone",
    "failed, disabled, needs-approval",
    "             not started: fix that,",
    "             then press r",
};

size_t cli_view_help_most(const struct cli_view *v)
{
    size_t rows = v->term->height > 1 ? v->term->height - 1 : 0;
    return MP_COUNT(help) > rows ? MP_COUNT(help) - rows : 0;
}

static void draw_help(struct cli_view *v)
{
    size_t rows = v->term->height > 1 ? v->term->height - 1 : 0;
    size_t most = cli_view_help_most(v);

    v->help_top = v->help_top < most ? v->help_top : most;
    for (size_t i = 0; i < rows; i++) {
        struct cli_row r = cli_row_begin(v, i);
        size_t line = v->help_top + i;
        cli_row_text(&r, line < MP_COUNT(help) ? help[line] : "", r.left);
        cli_row_end(&r);
    }
    draw_foot(v, most ? "up, down scroll; any other key: back" : "any key: back");
}

/* ---- the whole ---- */

size_t cli_view_rows(const struct cli_view *v)
{
    size_t others = v->page == CLI_VIEW_LOG ? 2 : 3;
    return v->term->height > others ? v->term->height - others : 1;
}

void cli_view_note(struct cli_view *v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->note, sizeof v->note, fmt, ap);
    va_end(ap);
    v->note_until = cli_now() + NOTE_MS;
    v->dirty = true;
}

bool cli_view_draw(struct cli_view *v)
{
    v->dirty = false;
    v->drawn = cli_now();
    if (v->note[0] && v->drawn >= v->note_until)
        v->note[0] = '\0';
    for (size_t i = 0; i < v->watch->n; i++)
        cli_watched_look(&v->watch->all[i]);
    mp_str_reset(&v->frame);
    if (v->page == CLI_VIEW_LOG)
        draw_log(v);
    else if (v->page == CLI_VIEW_HELP)
        draw_help(v);
    else
        draw_servers(v);
    if (v->frame.failed || (v->frame.len == v->last.len && v->last.data &&
                            memcmp(v->frame.data, v->last.data, v->last.len) == 0))
        return true;
    struct mp_str last = v->last;
    v->last = v->frame;
    v->frame = last;
    return cli_term_write(v->term, v->last.data, v->last.len);
}

void cli_view_init(struct cli_view *v, struct cli_watch *w, struct cli_term *t)
{
    memset(v, 0, sizeof *v);
    v->watch = w;
    v->term = t;
    v->dirty = true;
    mp_str_init(&v->frame, FRAME_MAX);
    mp_str_init(&v->last, FRAME_MAX);
}

void cli_view_clear(struct cli_view *v)
{
    mp_str_clear(&v->frame);
    mp_str_clear(&v->last);
}
