#include "watch.h"

#include "entries.h"

#include <stdio.h>
#include <time.h>

#define JSON_MAX ((size_t)1 << 20)

/* What is wrong with it now; NULL: nothing, or only before. */
static const char *trouble(const struct cli_watched *s)
{
    const char *error = cli_watched_error(s);
    return *error && (!s->usable || cli_watched_down(s)) ? error : NULL;
}

static size_t tools_of(const struct cli_watched *s)
{
    mcplug_list *list =
        s->handle && !s->leaving ? mcplug_handle_list(s->handle, MCPLUG_TOOLS) : NULL;
    return list ? mcplug_list_count(list) : 0;
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

static void put_json(struct cli_out *out, const struct cli_watched *s)
{
    bool known = *s->status.revision != '\0';
    const char *error = trouble(s);
    struct mp_str text;
    char at[40];

    stamp(at);
    mp_str_init(&text, JSON_MAX);
    mp_str_addf(&text, "{\"time\":\"%s\"", at);
    cli_json_member(&text, "server", s->member->entry->name);
    cli_json_member(&text, "state", cli_watched_state(s));
    if (known)
        cli_json_member(&text, "revision", s->status.revision);
    else
        mp_str_adds(&text, ",\"revision\":null");
    if (known)
        mp_str_addf(&text, ",\"tools\":%zu", tools_of(s));
    else
        mp_str_adds(&text, ",\"tools\":null");
    mp_str_addf(&text, ",\"restarts\":%llu", (unsigned long long)s->status.restarts);
    if (error)
        cli_json_member(&text, "error", error);
    else
        mp_str_adds(&text, ",\"error\":null");
    mp_str_adds(&text, "}\n");
    if (!text.failed)
        cli_out_json(out, text.data, text.len);
    mp_str_clear(&text);
}

/* ---- for people ---- */

/* "2025-11-25 (legacy), 13 tools, 2 restarts", "in 4s: the server ended" */
static void add_detail(struct mp_str *out, const struct cli_watched *s)
{
    const struct mcplug_status *status = &s->status;
    const char *error = trouble(s);
    size_t tools = tools_of(s);

    if (s->usable && status->state == MCPLUG_STATE_READY) {
        mp_str_addf(out, "%s (%s), %zu tool%s", status->revision,
                    cli_era_of(status->revision), tools, tools == 1 ? "" : "s");
        if (status->restarts)
            mp_str_addf(out, ", %llu restart%s", (unsigned long long)status->restarts,
                        status->restarts == 1 ? "" : "s");
    } else if (s->usable && status->state == MCPLUG_STATE_WAITING) {
        mp_str_addf(out, "%llus", (unsigned long long)(status->next_ms + 999) / 1000);
        mp_str_adds(out, error ? ": " : "");
    }
    mp_str_adds(out, error ? error : "");
}

static void put_detail(struct cli_out *out, const struct cli_watched *s)
{
    struct mp_str text;
    mp_str_init(&text, JSON_MAX);
    add_detail(&text, s);
    cli_out_s(out, text.len ? " " : "");
    cli_out_shown(out, text.data ? text.data : "", text.len);
    mp_str_clear(&text);
    cli_out_s(out, "\n");
}

static void put_line(struct cli_out *out, const struct cli_watched *s)
{
    const char *name = s->member->entry->name;
    char at[40];

    stamp(at);
    cli_out_f(out, "%s ", at);
    cli_out_shown(out, name, strlen(name));
    cli_out_f(out, " %s", cli_watched_state(s));
    put_detail(out, s);
}

/* ---- the whole ---- */

void cli_watch_put_event(struct cli_watch *w, struct cli_watched *s)
{
    struct cli_out *out = &w->cli->out;

    cli_watched_look(s);
    if (w->cli->args.json)
        put_json(out, s);
    else
        put_line(out, s);
    cli_out_flush(out);
}

void cli_watch_put_table(struct cli_watch *w)
{
    struct cli_out *out = &w->cli->out;
    size_t names = 0;

    for (size_t i = 0; i < w->n; i++) {
        size_t n = strlen(w->all[i].member->entry->name);
        names = n > names && n <= MP_NAME_MAX ? n : names;
        cli_watched_look(&w->all[i]);
    }
    for (size_t i = 0; i < w->n; i++) {
        const struct cli_watched *s = &w->all[i];
        const char *name = s->member->entry->name, *state = cli_watched_state(s);
        size_t n = strlen(name);
        if (w->cli->args.json) {
            put_json(out, s);
            continue;
        }
        cli_out_shown(out, name, n);
        cli_out_spaces(out, (n < names ? names - n : 0) + 2);
        cli_out_f(out, "%-14s ", state);
        put_detail(out, s);
    }
    cli_out_flush(out);
}
