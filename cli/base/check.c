/* `mcplug plugins --check`: the contract kit, in a child process. */
#include "cli/base/modules.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/base/child.h"
#include "cli/base/oneshot.h"
#include "plugin/catalogue.h"
#include "plugin/props.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MS 60000
#define WORDS_MAX 100

/* ---- in the child: one JSON object per line ---- */

static void report_object(int fd, json_t *object)
{
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (line) {
        cli_child_report(fd, line, strlen(line));
        cli_child_report(fd, "\n", 1);
    }
    free(line);
    json_decref(object);
}

static void on_finding(void *arg, bool passed, const char *line)
{
    const int *fd = arg;
    json_t *words = json_string(line);
    report_object(*fd, json_pack("{s:b,s:o}", "passed", passed, "check",
                                 words ? words : json_string("?")));
}

static int read_settings(const struct cli_args *args, mcplug_props *props,
                         struct mcplug_error *err)
{
    int r = MCPLUG_OK;
    for (size_t i = 0; r == MCPLUG_OK && i < args->words.n; i++) {
        struct cli_setting s;
        r = cli_setting_parse(args->words.items[i], &s, err);
        if (r != MCPLUG_OK)
            break;
        if (s.list)
            r = mp_props_add(props, s.name, s.value);
        else if (s.key)
            r = mp_props_put(props, s.name, s.key, s.value);
        else
            r = mp_props_set(props, s.name, s.value);
        if (r != MCPLUG_OK)
            mp_fail(err, r, "setting %s does not fit what was set before", s.name);
        cli_setting_clear(&s);
    }
    return r;
}

int cli_modules_check_here(struct cli *cli, const char *file)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_props *props = mp_props_new();
    int fd = cli_child_begin();
    int r = props ? read_settings(&cli->args, props, &err) : mp_fail_nomem(&err);

    if (r == MCPLUG_OK)
        r = mp_plugin_contract(file, cli->args.words.n ? props : NULL, on_finding, &fd,
                               &err);
    if (r < 0)
        on_finding(&fd, false, err.text);
    report_object(fd, json_pack("{s:b}", "end", 1)); /* a module may call exit() */
    mp_props_free(props);
    return r == 0 ? CLI_OK : CLI_TOOL_ERROR;
}

/* ---- in the parent ---- */

static json_t *read_findings(const struct cli_child *child, const char *file)
{
    json_t *list = json_array();
    const char *p = child->output.data, *end = p ? p + child->output.len : p;
    bool ended = false;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((newline ? newline : end) - p);
        json_t *one = json_loadb(p, len, 0, NULL);
        if (json_object_get(one, "check"))
            json_array_append(list, one);
        ended = ended || json_object_get(one, "end");
        json_decref(one);
        p += len + 1;
    }
    if (!ended || child->end != CLI_CHILD_EXITED) {
        char what[128], line[1024];
        cli_child_describe(child, CHECK_MS, what, sizeof what);
        snprintf(line, sizeof line, "%s: %s during the check", file, what);
        json_array_append_new(list, json_pack("{s:b,s:s}", "passed", 0, "check", line));
    }
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
    if (cli->args.json) {
        char *text = json_dumps(list, JSON_COMPACT);
        cli_out_s(&cli->out, text ? text : "[]");
        cli_out_s(&cli->out, "\n");
        free(text);
    }
    return code;
}

int cli_modules_check(struct cli *cli, const char *file)
{
    const char *words[WORDS_MAX + 4] = {"plugins", "--check-here", file};
    const struct cli_args *args = &cli->args;
    if (args->words.n > WORDS_MAX) {
        cli_error("that are more than %d settings", WORDS_MAX);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < args->words.n; i++)
        words[3 + i] = args->words.items[i];
    struct cli_child child = {.words = words};
    cli_children_run(&child, 1, CHECK_MS, true);
    json_t *list = read_findings(&child, file);
    int code = put_findings(cli, list);
    json_decref(list);
    mp_str_clear(&child.output);
    return code;
}
