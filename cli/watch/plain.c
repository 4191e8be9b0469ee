#include "cli/watch/watch.h"

#include "cli/base/entries.h"
#include "cli/base/reason.h"

#include <stdio.h>
#include <time.h>

#define JSON_MAX ((size_t)1 << 20)
#define STATE_WIDTH ((size_t)14) /* needs-approval */

/* What is wrong with it now; NULL: nothing, or only before. For `table` that is all that
 * went wrong as long as it is not ready; an event tells it once. */
static const char *trouble(const struct cli_watched *s, bool table)
{
    const char *error = cli_watched_error(s);
    bool down = !s->usable || cli_watched_down(s) ||
                (table && s->handle && !cli_watched_healthy(s));
    return *error && down ? error : NULL;
}

/* Its last words before that; NULL: none */
static const char *words_of(const struct cli_watched *s, const char *error)
{
    return error && s->usable ? s->words : NULL;
}

static bool is_waiting(const struct cli_watched *s)
{
    return s->handle && !s->leaving && s->status.state == MCPLUG_STATE_WAITING;
}

static void stamp(char out[40])
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    size_t n = strftime(out, 30, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &tm));
    snprintf(out + n, 40 - n, ".%03ldZ", now.tv_nsec / 1000000 % 1000);
}

/* ---- JSON ---- */

static void add_text(struct mp_str *out, const char *name, const char *text)
{
    if (text)
        cli_json_member(out, name, text);
    else
        mp_str_addf(out, ",\"%s\":null", name);
}

static void put_json(struct cli_out *out, const struct cli_watched *s, bool table)
{
    bool known = *s->status.revision != '\0';
    const char *error = trouble(s, table);
    struct mp_str text;
    char at[40];

    stamp(at);
    mp_str_init(&text, JSON_MAX);
    mp_str_addf(&text, "{\"time\":\"%s\"", at);
    cli_json_member(&text, "server", mcplug_entry_name(s->member->entry));
    cli_json_member(&text, "state", cli_watched_state(s));
    add_text(&text, "revision", known ? s->status.revision : NULL);
    if (known)
        mp_str_addf(&text, ",\"tools\":%zu", cli_watched_tools(s));
    else
        mp_str_adds(&text, ",\"tools\":null");
    mp_str_addf(&text, ",\"restarts\":%llu", (unsigned long long)cli_watched_restarts(s));
    if (is_waiting(s))
        mp_str_addf(&text, ",\"next_ms\":%llu", (unsigned long long)s->status.next_ms);
    else
        mp_str_adds(&text, ",\"next_ms\":null");
    add_text(&text, "error", error);
    add_text(&text, "stderr", words_of(s, error));
    mp_str_adds(&text, "}\n");
    if (!text.failed)
        cli_out_json(out, text.data, text.len);
    mp_str_clear(&text);
}

/* ---- for people ---- */

/* "2025-11-25 (legacy), 13 tools, 2 restarts", "in 4s: the server ended" */
static void add_detail(struct mp_str *out, const struct cli_watched *s, bool table)
{
    const struct mcplug_status *status = &s->status;
    const char *error = trouble(s, table);
    unsigned long long restarts = cli_watched_restarts(s);
    size_t tools = cli_watched_tools(s);
    char room[CLI_REASON_SIZE];

    if (s->usable && status->state == MCPLUG_STATE_READY) {
        mp_str_addf(out, "%s (%s), %zu tool%s", status->revision,
                    cli_era_of(status->revision), tools, tools == 1 ? "" : "s");
        if (restarts)
            mp_str_addf(out, ", %llu restart%s", restarts, restarts == 1 ? "" : "s");
    } else if (is_waiting(s)) {
        mp_str_addf(out, "%llus", cli_watched_seconds(s));
        mp_str_adds(out, error ? ": " : "");
    }
    mp_str_adds(out, error ? cli_reason(error, false, room) : "");
}

static void put_line(struct cli_out *out, const struct cli_watched *s)
{
    const char *name = mcplug_entry_name(s->member->entry);
    const char *words = words_of(s, trouble(s, false));
    struct mp_str text;
    char at[40];

    stamp(at);
    cli_out_f(out, "%s ", at);
    cli_out_shown(out, name, strlen(name));
    cli_out_f(out, " %s", cli_watched_state(s));
    mp_str_init(&text, JSON_MAX);
    add_detail(&text, s, false);
    mp_str_adds(&text, words ? " | " : "");
    mp_str_adds(&text, words ? words : "");
    cli_out_s(out, text.len ? " " : "");
    cli_out_shown(out, text.data ? text.data : "", text.len);
    cli_out_s(out, "\n");
    mp_str_clear(&text);
}

/* A row of the table; what it said last stands below, as `list` has it. */
static void put_row(struct cli_out *out, const struct cli_watched *s, size_t names)
{
    const char *name = mcplug_entry_name(s->member->entry), *state = cli_watched_state(s);
    const char *words = words_of(s, trouble(s, true));
    size_t n = strlen(name), width = strlen(state), indent = names + 2 + STATE_WIDTH + 2;
    struct mp_str text;

    cli_out_shown(out, name, n);
    cli_out_spaces(out, (n < names ? names - n : 0) + 2);
    cli_out_s(out, state);
    mp_str_init(&text, JSON_MAX);
    add_detail(&text, s, true);
    if (text.len) {
        cli_out_spaces(out, (width < STATE_WIDTH ? STATE_WIDTH - width : 0) + 2);
        cli_out_shown(out, text.data, text.len);
    }
    cli_out_s(out, "\n");
    if (words) {
        cli_out_spaces(out, out->width && indent > out->width / 2 ? 4 : indent);
        cli_out_style(out, CLI_DIM);
        cli_out_s(out, "| ");
        cli_out_shown(out, words, strlen(words));
        cli_out_style(out, CLI_PLAIN);
        cli_out_s(out, "\n");
    }
    mp_str_clear(&text);
}

/* ---- the whole ---- */

void cli_watch_put_event(struct cli_watch *w, struct cli_watched *s)
{
    struct cli_out *out = &w->cli->out;

    if (w->cli->args.json)
        put_json(out, s, false);
    else
        put_line(out, s);
    cli_out_flush(out);
}

void cli_watch_put_table(struct cli_watch *w)
{
    struct cli_out *out = &w->cli->out;
    size_t names = 0;

    for (size_t i = 0; i < w->n; i++) {
        size_t n = strlen(mcplug_entry_name(w->all[i].member->entry));
        names = n > names && n <= MCPLUG_NAME_MAX ? n : names;
        cli_watched_look(&w->all[i]);
    }
    for (size_t i = 0; i < w->n; i++) {
        if (w->cli->args.json)
            put_json(out, &w->all[i], true);
        else
            put_row(out, &w->all[i], names);
    }
    cli_out_flush(out);
}
