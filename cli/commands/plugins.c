#include "cli/commands/commands.h"

#include "cli/base/modules.h"
#include "base/nearest.h"
#include "cli/base/doc.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>

static const char *get(const json_t *object, const char *name)
{
    const char *s = json_string_value(json_object_get(object, name));
    return s ? s : "";
}

static void shown(struct cli_out *out, const char *text)
{
    cli_out_shown(out, text, strlen(text));
}

/* ---- the table ---- */

enum { KIND, NAME, VERSION, STATE, COLUMNS };

struct row {
    const char *cells[COLUMNS];
};

static struct row make_row(const json_t *module, const json_t *feature)
{
    struct row row = {{feature ? get(feature, "kind") : "-",
                       get(feature ? feature : module, "name"), get(module, "version"),
                       get(module, "state")}};
    return row;
}

/* Calls `fn` for each feature of each module that could be loaded. */
static void each_row(const json_t *list,
                     void (*fn)(void *arg, const struct row *row, const json_t *module),
                     void *arg)
{
    size_t i, k;
    json_t *module, *feature;
    json_array_foreach(list, i, module)
    {
        const json_t *features = json_object_get(module, "features");
        struct row row = make_row(module, NULL);
        if (json_object_get(module, "error"))
            continue;
        json_array_foreach(features, k, feature)
        {
            row = make_row(module, feature);
            fn(arg, &row, module);
        }
        if (json_array_size(features) == 0)
            fn(arg, &row, module);
    }
}

static void measure(void *arg, const struct row *row, const json_t *module)
{
    size_t *widths = arg;
    (void)module;
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t n = cli_columns(row->cells[i], strlen(row->cells[i]));
        widths[i] = n > widths[i] ? n : widths[i];
    }
}

struct table {
    struct cli_out *out;
    size_t widths[COLUMNS];
};

static void put_row(void *arg, const struct row *row, const json_t *module)
{
    const struct table *t = arg;
    const char *file = get(module, "file");
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t n = cli_columns(row->cells[i], strlen(row->cells[i]));
        if (i == NAME)
            cli_out_style(t->out, CLI_BOLD);
        shown(t->out, row->cells[i]);
        if (i == NAME)
            cli_out_style(t->out, CLI_PLAIN);
        if (i + 1 < COLUMNS || *file)
            cli_out_spaces(t->out, t->widths[i] - n + 2);
    }
    shown(t->out, file);
    cli_out_s(t->out, "\n");
}

static void put_table(struct cli_out *out, const json_t *list)
{
    struct table t = {.out = out};
    size_t i;
    json_t *module;
    each_row(list, measure, t.widths);
    each_row(list, put_row, &t);
    json_array_foreach(list, i, module)
    {
        if (json_object_get(module, "error")) {
            shown(out, get(module, "error"));
            cli_out_s(out, "\n");
        }
    }
    if (json_array_size(list) == 0)
        cli_note("no modules found");
}

/* ---- one in full ---- */

static void put_fact(struct cli_out *out, const char *caption, const char *text)
{
    if (!*text)
        return;
    cli_out_f(out, "  %s: ", caption);
    shown(out, text);
    cli_out_s(out, "\n");
}

static void put_option(struct cli_out *out, const json_t *option)
{
    const char *fallback = json_string_value(json_object_get(option, "default"));
    const char *help = get(option, "help");
    cli_out_s(out, "    ");
    cli_out_style(out, CLI_BOLD);
    shown(out, get(option, "name"));
    cli_out_style(out, CLI_PLAIN);
    cli_out_s(out, "  ");
    shown(out, get(option, "type"));
    if (json_is_true(json_object_get(option, "required")))
        cli_out_s(out, ", required");
    if (fallback) {
        cli_out_s(out, ", default ");
        shown(out, fallback);
    }
    cli_out_s(out, "\n");
    if (*help) {
        cli_out_style(out, CLI_DIM);
        cli_out_wrapped(out, help, strlen(help), 8, 0);
        cli_out_style(out, CLI_PLAIN);
    }
}

static void put_feature(struct cli_out *out, const json_t *feature)
{
    size_t i;
    json_t *one;
    const char *summary = get(feature, "summary");
    const json_t *accepts = json_object_get(feature, "accepts");
    const json_t *options = json_object_get(feature, "options");

    cli_out_s(out, "\n");
    shown(out, get(feature, "kind"));
    cli_out_s(out, " ");
    cli_out_style(out, CLI_BOLD);
    shown(out, get(feature, "name"));
    cli_out_style(out, CLI_PLAIN);
    cli_out_s(out, *summary ? " - " : "");
    shown(out, summary);
    cli_out_s(out, "\n");
    json_array_foreach(accepts, i, one)
    {
        cli_out_s(out, i ? ", " : "  Accepts: ");
        shown(out, json_string_value(one) ? json_string_value(one) : "");
    }
    cli_out_s(out, json_array_size(accepts) ? "\n" : "");
    cli_out_s(out, json_array_size(options) ? "  Settings:\n" : "");
    json_array_foreach(options, i, one)
    {
        put_option(out, one);
    }
}

static void put_module(struct cli_out *out, const json_t *module)
{
    const char *summary = get(module, "summary"), *file = get(module, "file");
    char abi[64];
    size_t i;
    json_t *feature;

    cli_out_style(out, CLI_BOLD);
    shown(out, get(module, "name"));
    cli_out_style(out, CLI_PLAIN);
    cli_out_s(out, " ");
    shown(out, get(module, "version"));
    cli_out_s(out, *summary ? " - " : "");
    shown(out, summary);
    cli_out_s(out, "\n");
    put_fact(out, "File", *file ? file : "(built in)");
    put_fact(out, "State", get(module, "state"));
    put_fact(out, "License", get(module, "license"));
    put_fact(out, "Origin", get(module, "origin"));
    json_int_t needs = json_integer_value(json_object_get(module, "needs"));
    snprintf(abi, sizeof abi, "%.16s; needs minor %lld of the core", get(module, "abi"),
             (long long)needs);
    put_fact(out, "ABI", abi);
    json_array_foreach(json_object_get(module, "features"), i, feature)
    {
        put_feature(out, feature);
    }
}

/* Is `name` that of the module, of its file, or of something it offers? */
static bool is_named(const json_t *module, const char *name, const char **best)
{
    const char *file = get(module, "file"), *base = strrchr(file, '/');
    size_t i, len = strlen(name);
    json_t *feature;
    base = base ? base + 1 : file;
    if (strcmp(name, get(module, "name")) == 0 || (*file && strcmp(name, file) == 0) ||
        (strncmp(base, name, len) == 0 && strcmp(base + len, ".so") == 0))
        return true;
    mp_nearest(name, get(module, "name"), best);
    json_array_foreach(json_object_get(module, "features"), i, feature)
    {
        if (strcmp(name, get(feature, "name")) == 0)
            return true;
        mp_nearest(name, get(feature, "name"), best);
    }
    return false;
}

static int put_named(struct cli *cli, const json_t *list, const char *name)
{
    const char *best = NULL;
    size_t i;
    json_t *module;
    json_array_foreach(list, i, module)
    {
        if (!is_named(module, name, &best))
            continue;
        const char *error = json_string_value(json_object_get(module, "error"));
        if (error) {
            cli_error("%s", error);
            return CLI_BAD_MODULE;
        }
        if (cli->args.json)
            return cli_put_tree(cli, module, CLI_OK);
        put_module(&cli->out, module);
        return CLI_OK;
    }
    cli_error("no module offers \"%s\"%s%s%s", name, best ? "; did you mean \"" : "",
              best ? best : "", best ? "\"?" : "");
    cli_hint("`mcplug plugins` lists the modules that are installed.");
    return CLI_NOT_FOUND;
}

/* ---- the command ---- */

static int list_them(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *list = cli_modules_find(cli, &err);
    int code = CLI_OK;

    if (!list) {
        cli_error("%s", err.text);
        return CLI_INTERNAL;
    }
    if (cli->args.words.n) {
        code = put_named(cli, list, cli->args.words.items[0]);
    } else if (cli->args.json) {
        code = cli_put_tree(cli, list, CLI_OK);
    } else {
        put_table(&cli->out, list);
    }
    json_decref(list);
    return code;
}

static int run(struct cli *cli)
{
    const struct cli_args *args = &cli->args;
    if (args->inspect)
        return cli_modules_inspect(cli, args->inspect);
    if (args->check)
        return cli_modules_check(cli, args->check);
    if (args->words.n > 1) {
        cli_error("expected one module, got several");
        return CLI_USAGE;
    }
    return list_them(cli);
}

static const struct cli_option options[] = {
    {"check", 0, CLI_TEXT, "FILE.so",
     "check the module against its contract; KEY=VALUE are settings to open it with, as "
     "for --set",
     offsetof(struct cli_args, check), .complete.is = CLI_WORD_FILE},
    {"inspect", 0, CLI_TEXT, "FILE.so", NULL, offsetof(struct cli_args, inspect),
     .complete.is = CLI_WORD_FILE},
    {.name = NULL},
};

const struct cli_command cli_cmd_plugins = {
    .name = "plugins",
    .words = "[NAME | KEY=VALUE... [-- WORD...]]",
    .summary = "List the installed modules, show one in full, or check one.",
    .details =
        "Each file is inspected in a process of its own, so a module that crashes "
        "affects only its own line. With NAME, everything that a module declares is "
        "shown, including its settings.\n\n"
        "With --check, a module is loaded and used as the core would use it, and each "
        "rule of the contract is reported as kept or broken; the exit code is 1 if one "
        "was broken. A probe is tried with the server after --, a command or a "
        "configured name; a vault is asked for the secret of the name after --; a "
        "locator is asked if there are settings, or anything after --; a converter is "
        "run with the file after --; a model is asked, and one whose URL is not set is "
        "led to an endpoint that fails.",
    .options = options,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_MODULE}, {.is = CLI_WORD_FREE}},
    .run = run,
};
