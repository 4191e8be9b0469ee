/* `mcplug plugins --check`: the contract kit, which is a program of its own. */
#include "cli/base/modules.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/base/child.h"
#include "cli/base/oneshot.h"
#include "cli/base/doc.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>

#define CHECK_MS 60000
#define SETTINGS_MAX 100
#define BEHIND_MAX 100 /* words behind -- */

/* ---- settings as mcplug-check takes them ---- */

struct words {
    const char *at[3 + 4 * SETTINGS_MAX + 1 + BEHIND_MAX];
    size_t n;
    struct cli_setting settings[SETTINGS_MAX]; /* what `at` points into */
    size_t n_settings;
};

static void add_setting(struct words *w, const struct cli_setting *s)
{
    w->at[w->n++] = s->list ? "add" : s->key ? "put" : "set";
    w->at[w->n++] = s->name;
    if (s->key)
        w->at[w->n++] = s->key;
    w->at[w->n++] = s->value;
}

static int read_settings(struct words *w, const struct cli_list *given,
                         struct mcplug_error *err)
{
    int r = MCPLUG_OK;
    for (size_t i = 0; r == MCPLUG_OK && i < given->n; i++) {
        r = cli_setting_parse(given->items[i], &w->settings[i], err);
        if (r == MCPLUG_OK) {
            w->n_settings++;
            add_setting(w, &w->settings[i]);
        }
    }
    return r;
}

/* What vaults and probes are tried with. */
static int add_behind(struct words *w, char *const *given, struct mcplug_error *err)
{
    if (!given || !given[0])
        return MCPLUG_OK;
    w->at[w->n++] = "--";
    for (size_t i = 0; given[i]; i++) {
        if (i == BEHIND_MAX)
            return mp_fail(err, MCPLUG_EINVAL, "more than %d words after --", BEHIND_MAX);
        w->at[w->n++] = given[i];
    }
    return MCPLUG_OK;
}

/* ---- findings ---- */

static json_t *failed_json(const char *line)
{
    json_t *words = json_string(line);
    return json_pack("{s:b,s:o}", "passed", 0, "check", words ? words : json_string("?"));
}

static json_t *read_findings(const struct cli_child *child, const char *file)
{
    json_t *list = json_array(), *calls = NULL; /* what it called last */
    const char *p = child->output.data, *end = p ? p + child->output.len : p;
    bool ended = false;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((newline ? newline : end) - p);
        json_t *one = json_loadb(p, len, 0, NULL);
        if (json_object_get(one, "check"))
            json_array_append(list, one);
        if (json_object_get(one, "calls")) {
            json_decref(calls);
            calls = json_incref(json_object_get(one, "calls"));
        }
        ended = ended || json_object_get(one, "end");
        json_decref(one);
        p += len + 1;
    }
    if (!ended || child->end != CLI_CHILD_EXITED) {
        char what[128], line[1024];
        cli_child_describe(child, CHECK_MS, what, sizeof what);
        if (json_string_value(calls))
            snprintf(line, sizeof line, "%s: %s %s", file, json_string_value(calls),
                     what);
        else
            snprintf(line, sizeof line, "%s: %s during the check", file, what);
        json_array_append_new(list, failed_json(line));
    }
    json_decref(calls);
    return list;
}

static void put_finding(struct cli_out *out, const json_t *finding)
{
    const char *line = json_string_value(json_object_get(finding, "check"));
    bool passed = json_is_true(json_object_get(finding, "passed"));
    static const char advice[] = "warning: ";
    bool warns = passed && line && strncmp(line, advice, sizeof advice - 1) == 0;
    if (warns)
        line += sizeof advice - 1;
    cli_out_s(out, warns ? "warn  " : passed ? "ok    " : "FAIL  ");
    if (line)
        cli_out_shown(out, line, strlen(line));
    cli_out_s(out, "\n");
}

static int put_findings(struct cli *cli, const json_t *list)
{
    int code = CLI_OK;
    size_t i;
    json_t *finding;
    json_array_foreach(list, i, finding)
    {
        if (!json_is_true(json_object_get(finding, "passed")))
            code = CLI_TOOL_ERROR;
        if (!cli->args.json)
            put_finding(&cli->out, finding);
    }
    return cli->args.json ? cli_put_tree(cli, list, code) : code;
}

static int run(struct cli *cli, const char *file, const struct words *words)
{
    char *program = cli_helper_path("mcplug-check");
    struct cli_child child = {.program = program, .words = words->at};
    int code = CLI_INTERNAL;

    if (program)
        cli_children_run(&child, 1, CHECK_MS, true);
    if (!program) {
        cli_error("out of memory");
    } else if (child.end == CLI_CHILD_LOST) {
        cli_error("cannot run %s: %s", program, strerror(child.number));
        code = CLI_IO_ERROR;
    } else {
        json_t *list = read_findings(&child, file);
        code = put_findings(cli, list);
        json_decref(list);
    }
    mp_str_clear(&child.output);
    mp_free(program);
    return code;
}

int cli_modules_check(struct cli *cli, const char *file)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct words words = {.at = {file}, .n = 1};
    int code;

    if (cli->args.words.n > SETTINGS_MAX) {
        cli_error("more than %d settings", SETTINGS_MAX);
        return CLI_USAGE;
    }
    int r = read_settings(&words, &cli->args.words, &err);
    if (r == MCPLUG_OK)
        r = add_behind(&words, cli->args.server_command, &err);
    if (r == MCPLUG_OK) {
        code = run(cli, file, &words);
    } else {
        json_t *list = json_pack("[o]", failed_json(err.text));
        code = put_findings(cli, list);
        json_decref(list);
    }
    for (size_t i = 0; i < words.n_settings; i++)
        cli_setting_clear(&words.settings[i]);
    return code;
}
