#include "cli/commands/commands.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NOTE_MAX 4096
#define INDENT 9 /* of what stands below a mark */

static const char *const healths[] = {"ok", "warning", "wrong"};

/* ---- noting ---- */

static char *format(const char *fmt, va_list ap)
{
    char line[NOTE_MAX];
    vsnprintf(line, sizeof line, fmt, ap);
    return mp_strdup(line);
}

void cli_doctor_note(struct cli_doctor *d, enum cli_health health, const char *about,
                     const char *fmt, ...)
{
    struct cli_check *list = mp_resize(d->checks, (d->n + 1) * sizeof *list);
    va_list ap;

    d->counts[health]++;
    if (!list) {
        d->failed = true;
        return;
    }
    d->checks = list;
    va_start(ap, fmt);
    struct cli_check check = {health, mp_strdup(about), format(fmt, ap), NULL};
    va_end(ap);
    if (check.about && check.text) {
        list[d->n++] = check;
    } else {
        mp_free(check.about);
        mp_free(check.text);
        d->failed = true;
    }
}

void cli_doctor_todo(struct cli_doctor *d, const char *fmt, ...)
{
    va_list ap;
    if (d->n == 0 || d->checks[d->n - 1].todo)
        return;
    va_start(ap, fmt);
    d->checks[d->n - 1].todo = format(fmt, ap);
    va_end(ap);
}

size_t cli_doctor_troubles(const struct cli_doctor *d)
{
    return d->counts[CLI_DOUBTFUL] + d->counts[CLI_WRONG];
}

bool cli_doctor_wants(const struct cli_doctor *d, const char *server)
{
    const struct cli_list *words = &d->cli->args.words;
    bool wanted = words->n == 0;
    for (size_t i = 0; !wanted && i < words->n; i++)
        wanted = strcmp(words->items[i], server) == 0;
    return wanted;
}

/* ---- telling ---- */

/* One paragraph, whatever newlines are in it. */
static void put_line(struct cli_out *out, const char *text, size_t column)
{
    struct mp_str shown;
    mp_str_init(&shown, (size_t)8 * NOTE_MAX);
    mp_str_add_escaped(&shown, text, strlen(text), false);
    if (shown.data)
        cli_out_wrapped(out, shown.data, shown.len, INDENT, column);
    mp_str_clear(&shown);
}

static void put_check(struct cli_out *out, const struct cli_check *c)
{
    static const enum cli_style styles[] = {CLI_GREEN, CLI_YELLOW, CLI_RED};
    const char *mark = healths[c->health];
    char line[NOTE_MAX + 256];

    cli_out_style(out, styles[c->health]);
    cli_out_s(out, mark);
    cli_out_style(out, CLI_PLAIN);
    cli_out_spaces(out, INDENT - strlen(mark));
    snprintf(line, sizeof line, "%.200s: %s", c->about, c->text);
    put_line(out, line, INDENT);
    if (c->todo)
        put_line(out, c->todo, 0);
}

static void put_people(struct cli_out *out, const struct cli_doctor *d)
{
    size_t wrong = d->counts[CLI_WRONG], warnings = d->counts[CLI_DOUBTFUL];
    for (size_t i = 0; i < d->n; i++)
        put_check(out, &d->checks[i]);
    cli_out_f(out, "%zu problem%s, %zu warning%s\n", wrong, wrong == 1 ? "" : "s",
              warnings, warnings == 1 ? "" : "s");
}

static bool put_json(struct cli_out *out, const struct cli_doctor *d)
{
    struct mp_str text;

    mp_str_init(&text, (size_t)256 << 20);
    mp_str_adds(&text, "{\"versions\":{");
    for (size_t i = 0; i < d->n_versions; i++)
        cli_json_member(&text, d->versions[i].name, d->versions[i].value);
    mp_str_adds(&text, "},\"checks\":[");
    for (size_t i = 0; i < d->n; i++) {
        const struct cli_check *c = &d->checks[i];
        mp_str_adds(&text, i ? ",{" : "{");
        cli_json_member(&text, "about", c->about);
        cli_json_member(&text, "state", healths[c->health]);
        cli_json_member(&text, "text", c->text);
        if (c->todo)
            cli_json_member(&text, "todo", c->todo);
        mp_str_addc(&text, '}');
    }
    bool ok = mp_str_adds(&text, "]}\n") && !text.failed;
    if (ok)
        cli_out_json(out, text.data, text.len);
    mp_str_clear(&text);
    return ok;
}

/* ---- the command ---- */

static void clear(struct cli_doctor *d)
{
    for (size_t i = 0; i < d->n; i++) {
        mp_free(d->checks[i].about);
        mp_free(d->checks[i].text);
        mp_free(d->checks[i].todo);
    }
    mp_free(d->checks);
    json_decref(d->modules);
    json_decref(d->packages);
}

static bool names_exist(struct cli *cli)
{
    for (size_t i = 0; i < cli->args.words.n; i++)
        if (!cli_by_name_find(cli, cli->args.words.items[i]))
            return false;
    return true;
}

static int run(struct cli *cli)
{
    struct cli_doctor d = {.cli = cli};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    cli_log_show(-1); /* what others would warn of has its place among the checks */
    d.config = cli_config_silent(cli, &err);
    if (!d.config) {
        cli_error("%s", err.text);
        return CLI_INTERNAL;
    }
    if (!names_exist(cli))
        return cli_by_name_none(cli);
    cli_doctor_gather(&d);
    cli_doctor_versions(&d);
    cli_doctor_modules(&d);
    cli_doctor_helper(&d);
    cli_doctor_places(&d);
    cli_doctor_config(&d);
    cli_doctor_servers(&d);
    cli_doctor_environment(&d);
    bool told = true;
    if (cli->args.json)
        told = put_json(&cli->out, &d);
    else
        put_people(&cli->out, &d);
    int code = d.counts[CLI_WRONG] ? 1 : CLI_OK;
    if (d.failed || !told) {
        cli_error("out of memory");
        if (cli->args.json)
            cli_out_retract(&cli->out);
        code = CLI_INTERNAL;
    }
    clear(&d);
    return code;
}

const struct cli_command cli_cmd_doctor = {
    .name = "doctor",
    .words = "[NAME...]",
    .summary = "Check the installation and the configuration, and suggest fixes.",
    .details = "Checks versions, modules, directories, the configuration, each server's "
               "command or URL with the variables and secrets that it needs, and "
               "environment variables. Connects to nothing, starts no server and shows "
               "no secrets. With names, only those servers are checked.\n\n"
               "The exit code is 1 if there is a problem; warnings do not count.",
    .flags = CLI_CONFIG,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_SERVER}},
    .run = run,
};
