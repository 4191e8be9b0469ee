#include "cli/base/args.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/option.h"
#include "plugins/common/url.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct cli_args, member)

/* Of every command. Clang-format would make one long line of it. */
/* clang-format off */
#define GLOBAL_OPTIONS(json_help)                                                        \
    {"json", 0, CLI_FLAG, NULL, json_help, .at = AT(json)},                              \
    {"plugin-dir", 0, CLI_LIST, "DIR",                                                   \
     "search DIR for modules before all other directories; may be repeated",                 \
     AT(plugin_dirs), .complete.is = CLI_WORD_DIRECTORY},                                \
    {"verbose", 'v', CLI_COUNT, NULL,                                                    \
     "log connections, calls and the server's stderr; -vv logs every message as well",                \
     .at = AT(verbose)},                                                                 \
    {"quiet", 'q', CLI_FLAG, NULL, "log nothing, not even warnings", .at = AT(quiet)},   \
    {"log-file", 0, CLI_TEXT, "FILE",                                                    \
     "append a timestamped log to FILE",     \
     AT(log_file), .complete.is = CLI_WORD_FILE},                                        \
    {"help", 'h', CLI_FLAG, NULL, "show help for the command", .at = AT(help)},                \
    {"version", 0, CLI_FLAG, NULL, "print the version", .at = AT(version)},              \
    {.name = NULL},
/* clang-format on */

static const struct cli_option global_options[] = {
    GLOBAL_OPTIONS("print exactly one JSON document")};
/* with CLI_LINES */
static const struct cli_option line_options[] = {
    GLOBAL_OPTIONS("print one JSON object per line")};

static const struct cli_choice revisions[] = {
    {"2026-07-28", NULL}, {"2025-11-25", NULL}, {"2025-06-18", NULL},
    {"2025-03-26", NULL}, {"2024-11-05", NULL}, {0},
};

static const struct cli_choice levels[] = {
    {"debug", NULL},   {"info", NULL},      {"notice", NULL},
    {"warning", NULL}, {"error", NULL},     {"critical", NULL},
    {"alert", NULL},   {"emergency", NULL}, {0},
};

static const struct cli_option server_options[] = {
    {"url", 0, CLI_TEXT, "URL",
     "connect to the server at URL instead of starting one: https://HOST/PATH, "
     "ws://HOST/PATH, unix:PATH, tcp:HOST:PORT",
     AT(url), .complete.is = CLI_WORD_FREE},
    {"header", 'H', CLI_LIST, "NAME: VALUE",
     "send a header with every request to the URL; @FILE reads headers from a file, one "
     "per line, which keeps secrets off the command line; may be repeated",
     AT(headers), .complete.is = CLI_WORD_AT_FILE},
    {"insecure", 0, CLI_FLAG, NULL, "accept any certificate of the server",
     .at = AT(insecure)},
    {"env", 0, CLI_LIST, "NAME=VALUE",
     "set an environment variable of the server; may be repeated", AT(env),
     .complete.is = CLI_WORD_FREE},
    {"cwd", 0, CLI_TEXT, "DIR", "start the server in DIR", AT(cwd),
     .complete.is = CLI_WORD_DIRECTORY},
    {"type", 0, CLI_TEXT, "NAME",
     "the transport; by default stdio for a command, otherwise derived from the URL",
     AT(type), .complete.is = CLI_WORD_TRANSPORT},
    {"set", 0, CLI_LIST, "NAME=VALUE",
     "any other setting of the transport (mcplug plugins TYPE lists them); NAME[]=VALUE "
     "adds to a list, NAME.KEY=VALUE sets an entry of a map",
     AT(set), .complete.is = CLI_WORD_FREE},
    {"timeout", 0, CLI_DURATION, "TIME",
     "give up on a request after TIME: 250ms, 2s, 5m, "
     "1h",
     AT(timeout), .complete.is = CLI_WORD_FREE},
    {"connect-timeout", 0, CLI_DURATION, "TIME", "give up connecting after TIME",
     AT(connect_timeout), .complete.is = CLI_WORD_FREE},
    {"revision", 0, CLI_TEXT, "DATE",
     "use only that revision of the protocol, such as 2025-11-25", AT(revision),
     .complete.choices = revisions},
    {"log-level", 0, CLI_TEXT, "LEVEL",
     "show the server's log messages of LEVEL and above: debug, info, notice, warning, "
     "error, critical, alert, emergency",
     AT(log_level), .complete.choices = levels},
    {"root", 0, CLI_LIST, "DIR", "offer DIR to the server as a root; may be repeated",
     AT(roots), .complete.is = CLI_WORD_DIRECTORY},
    {"no-input", 0, CLI_FLAG, NULL,
     "never prompt the user when the server asks for input", .at = AT(no_input)},
    {.name = NULL},
};

static const struct cli_option config_options[] = {
    {"mcp-config", 0, CLI_LIST, "JSON",
     "add the servers of a file or of a JSON text; may be repeated, the last one wins",
     AT(mcp_config), .complete.is = CLI_WORD_FILE},
    {"strict-mcp-config", 0, CLI_FLAG, NULL,
     "use only the servers of --mcp-config and ignore all other files",
     .at = AT(strict_mcp_config)},
    {.name = NULL},
};

static const struct cli_option request_options[] = {
    {"meta", 0, CLI_TEXT, "JSON", "a JSON object for the request's _meta", AT(meta),
     .complete.is = CLI_WORD_AT_FILE},
    {"progress", 0, CLI_FLAG, NULL, "show progress even if stderr is not a terminal",
     .at = AT(progress)},
    {"no-progress", 0, CLI_FLAG, NULL, "do not show progress", .at = AT(no_progress)},
    {.name = NULL},
};

size_t cli_command_groups(const struct cli_command *command,
                          struct cli_group out[CLI_GROUPS])
{
    bool lines = command && command->flags & CLI_LINES;
    size_t n = 0;
    if (command && command->options)
        out[n++] = (struct cli_group){"Options", command->options};
    if (command && command->flags & CLI_REQUEST)
        out[n++] = (struct cli_group){"Request options", request_options};
    if (command && command->flags & CLI_SERVER)
        out[n++] = (struct cli_group){"Server options", server_options};
    if (command && command->flags & (CLI_SERVER | CLI_CONFIG))
        out[n++] = (struct cli_group){"Configuration options", config_options};
    out[n++] =
        (struct cli_group){"General options", lines ? line_options : global_options};
    return n;
}

bool cli_rule_is_set(const struct cli_rule *rule)
{
    return rule->is != CLI_WORD_UNSET || rule->choices || rule->offer;
}

const struct cli_command *cli_command_find(const char *name, size_t len)
{
    for (size_t i = 0; cli_commands[i]; i++)
        if (strlen(cli_commands[i]->name) == len &&
            memcmp(cli_commands[i]->name, name, len) == 0)
            return cli_commands[i];
    return NULL;
}

bool cli_list_add(struct cli_list *list, const char *item)
{
    const char **items = mp_resize(list->items, (list->n + 2) * sizeof *items);
    if (!items)
        return false;
    list->items = items;
    items[list->n++] = item;
    items[list->n] = NULL;
    return true;
}

void cli_args_clear(struct cli_args *args)
{
    mp_free(args->words.items);
    mp_free(args->plugin_dirs.items);
    mp_free(args->mcp_config.items);
    mp_free(args->env.items);
    mp_free(args->headers.items);
    mp_free(args->set.items);
    mp_free(args->roots.items);
    mp_free(args->servers.items);
    mp_free(args->tools.items);
    memset(args, 0, sizeof *args);
}

/* ---- one option ---- */

struct reader {
    struct cli_args *args;
    char **argv;
    int argc, at;
    struct mcplug_error *err;
};

static int take_duration(const struct cli_option *o, const char *text, int64_t least,
                         uint64_t *out, struct mcplug_error *err)
{
    int64_t ms;
    size_t len = strlen(text);
    /* A bare number would have to be guessed at: people think of seconds here, and
     * settings of modules mean milliseconds. */
    bool has_unit = len > 0 && strchr("smh", text[len - 1]);
    if (!has_unit || !mp_option_parse("duration", text, &ms) || ms < least)
        return mp_fail(
            err, MCPLUG_EINVAL,
            "--%s: expected a time with its unit, such as 500ms, 20s or 5m, got \"%s\"",
            o->name, text);
    *out = (uint64_t)ms;
    return MCPLUG_OK;
}

static int take_number(const struct cli_option *o, const char *text, int64_t least,
                       uint64_t *out, struct mcplug_error *err)
{
    int64_t n;
    if (!mp_option_parse("int", text, &n) || n < least)
        return mp_fail(err, MCPLUG_EINVAL,
                       "--%s: expected a number of at least %d, got \"%s\"", o->name,
                       (int)least, text);
    *out = (uint64_t)n;
    return MCPLUG_OK;
}

static int take(struct reader *r, const struct cli_option *o, const char *value)
{
    void *at = (char *)r->args + o->at;
    int rc;

    switch (o->type) {
    case CLI_FLAG:
        *(bool *)at = true;
        return MCPLUG_OK;
    case CLI_COUNT:
        ++*(int *)at;
        return MCPLUG_OK;
    case CLI_TEXT:
        *(const char **)at = value;
        return MCPLUG_OK;
    case CLI_LIST:
        return cli_list_add(at, value) ? MCPLUG_OK : mp_fail_nomem(r->err);
    case CLI_DURATION:
        return take_duration(o, value, 1, at, r->err);
    case CLI_NUMBER:
        return take_number(o, value, 1, at, r->err);
    case CLI_AGE:
    case CLI_LIMIT:
        rc = o->type == CLI_AGE ? take_duration(o, value, 0, at, r->err)
                                : take_number(o, value, 0, at, r->err);
        *(uint64_t *)at += rc == MCPLUG_OK;
        return rc;
    }
    return MCPLUG_EINVAL;
}

/* The value that stands behind an option as a word of its own. */
static int take_next(struct reader *r, const struct cli_option *o)
{
    if (r->at >= r->argc || strcmp(r->argv[r->at], "--") == 0)
        return mp_fail(r->err, MCPLUG_EINVAL, "missing value of --%s. Usage: --%s %s",
                       o->name, o->name, o->value);
    return take(r, o, r->argv[r->at++]);
}

static const struct cli_option *find_in(const struct cli_command *command,
                                        const char *name, size_t len, char letter)
{
    struct cli_group groups[CLI_GROUPS];
    size_t n = cli_command_groups(command, groups);

    for (size_t i = 0; i < n; i++)
        for (const struct cli_option *o = groups[i].options; o->name; o++)
            if (name ? strlen(o->name) == len && memcmp(o->name, name, len) == 0
                     : o->letter == letter)
                return o;
    return NULL;
}

static int unknown_option(struct reader *r, const char *name, size_t len)
{
    const struct cli_command *command = r->args->command;
    char word[64];
    if (len >= sizeof word)
        len = sizeof word - 1;
    memcpy(word, name, len);
    word[len] = '\0';

    for (size_t i = 0; !command && cli_commands[i]; i++)
        if (find_in(cli_commands[i], name, len, 0))
            return mp_fail(r->err, MCPLUG_EINVAL,
                           "--%s must come after the command: mcplug %s --%s", word,
                           cli_commands[i]->name, word);

    const char *best = NULL;
    struct cli_group groups[CLI_GROUPS];
    size_t n = cli_command_groups(command, groups);
    for (size_t i = 0; i < n; i++)
        for (const struct cli_option *o = groups[i].options; o->name; o++)
            if (o->help)
                mp_nearest(word, o->name, &best);
    return mp_fail(r->err, MCPLUG_EINVAL, "unknown option --%s%s%s%s%s%s%s", word,
                   command ? " of \"" : "", command ? command->name : "",
                   command ? "\"" : "", best ? "; did you mean --" : "", best ? best : "",
                   best ? "?" : "");
}

/* Behind a command, an option may be meant for it: only those that cannot be are ours. */
static bool is_ours(const struct reader *r, const struct cli_option *o)
{
    static const char *const ours[] = {"scope", "transport", "json", "help"};
    const struct cli_list *words = &r->args->words;
    const struct cli_command *c = r->args->command;

    if (!c || !(c->flags & CLI_COMMAND) || words->n < 2 || url_scheme(words->items[1]))
        return true;
    for (size_t i = 0; o && i < MP_COUNT(ours); i++)
        if (strcmp(o->name, ours[i]) == 0)
            return true;
    return false;
}

static int not_ours(struct reader *r, const char *option)
{
    const struct cli_list *words = &r->args->words;
    return mp_fail(r->err, MCPLUG_EINVAL,
                   "%.64s is ambiguous: put -- before the server's command, and options "
                   "of mcplug before the --: mcplug %s %.64s -- %.64s ..",
                   option, r->args->command->name, words->items[0], words->items[1]);
}

static int take_long(struct reader *r, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    const struct cli_option *o = find_in(r->args->command, text, len, 0);

    if (!is_ours(r, o))
        return not_ours(r, text - 2);
    if (!o)
        return unknown_option(r, text, len);
    if (equals && !o->value)
        return mp_fail(r->err, MCPLUG_EINVAL, "--%s takes no value", o->name);
    if (equals)
        return take(r, o, equals + 1);
    return o->value ? take_next(r, o) : take(r, o, NULL);
}

static int take_letters(struct reader *r, const char *text)
{
    for (; *text; text++) {
        const struct cli_option *o = find_in(r->args->command, NULL, 0, *text);
        char option[] = {'-', *text, '\0'};
        if (!is_ours(r, NULL))
            return not_ours(r, option);
        if (!o)
            return mp_fail(r->err, MCPLUG_EINVAL, "unknown option -%c", *text);
        if (o->value && text[1])
            return take(r, o, text + 1);
        int rc = o->value ? take_next(r, o) : take(r, o, NULL);
        if (rc)
            return rc;
    }
    return MCPLUG_OK;
}

static int take_word(struct reader *r, const char *word)
{
    struct cli_args *args = r->args;

    if (args->command)
        return cli_list_add(&args->words, word) ? MCPLUG_OK : mp_fail_nomem(r->err);

    args->command = cli_command_find(word, strlen(word));
    if (args->command)
        return MCPLUG_OK;
    const char *best = NULL;
    for (size_t i = 0; cli_commands[i]; i++)
        if (!cli_commands[i]->hidden)
            mp_nearest(word, cli_commands[i]->name, &best);
    return mp_fail(r->err, MCPLUG_EINVAL, "there is no command \"%.64s\"%s%s%s", word,
                   best ? "; did you mean \"" : "", best ? best : "", best ? "\"?" : "");
}

/* ---- the whole ---- */

/* Where the server is not given in place, the first word is its name. */
static void take_server(struct cli_args *args)
{
    const struct cli_command *c = args->command;
    struct cli_list *words = &args->words;

    if (!c || !(c->flags & CLI_SERVER) || args->server_command || args->url ||
        args->type || words->n == 0)
        return;
    args->server = words->items[0];
    if (c->flags & CLI_QUALIFIED && strncmp(args->server, "mcp__", 5) == 0)
        return; /* the word is for the command as well */
    memmove(words->items, words->items + 1, words->n-- * sizeof *words->items);
}

bool cli_args_alter(const struct cli_args *args)
{
    return args->server_command || args->url || args->type || args->cwd ||
           args->revision || args->log_level || args->insecure || args->env.n ||
           args->headers.n || args->set.n || args->roots.n;
}

/* No server at all: is that what the command is about, with nothing said that only one
 * could take? */
static int check_none(const struct cli_args *args, struct mcplug_error *err)
{
    if (!(args->command->flags & CLI_ALL_SERVERS) || cli_args_alter(args))
        return mp_fail(err, MCPLUG_EINVAL,
                       "no server given: use a name that `mcplug list` shows, put its "
                       "command after --, or use --url URL");
    if (args->refresh)
        return mp_fail(
            err, MCPLUG_EINVAL,
            "--refresh needs the name of a server; `mcplug list` asks all of them");
    return MCPLUG_OK;
}

/* Are its words names of the configuration? */
static bool takes_names(const struct cli_command *c)
{
    return c->complete[0].is >= CLI_WORD_SERVER &&
           c->complete[0].is <= CLI_WORD_SERVER_UNAPPROVED;
}

static int check_server(const struct cli_args *args, struct mcplug_error *err)
{
    const struct cli_command *c = args->command;

    if (args->server_command && !(c->flags & (CLI_SERVER | CLI_COMMAND | CLI_IN_PLACE)) &&
        !args->check)
        return mp_fail(
            err, MCPLUG_EINVAL, "\"%s\" %s", c->name,
            takes_names(c)
                ? "needs the name of a server; add the server with `mcplug add` first"
                : "uses no server, so nothing can follow --");
    if (c->flags & (CLI_SERVER | CLI_IN_PLACE) && args->server_command &&
        !args->server_command[0])
        return mp_fail(err, MCPLUG_EINVAL, "missing server command after --");
    if (!(c->flags & CLI_SERVER))
        return MCPLUG_OK;
    if (args->server_command && args->url)
        return mp_fail(err, MCPLUG_EINVAL,
                       "use either --url or a command after --, not both");
    if (!args->server && !args->server_command && !args->url && !args->type)
        return check_none(args, err);
    if (args->progress && args->no_progress)
        return mp_fail(err, MCPLUG_EINVAL,
                       "--progress and --no-progress exclude each "
                       "other");
    return MCPLUG_OK;
}

static int check(const struct cli_args *args, struct mcplug_error *err)
{
    const struct cli_command *c = args->command;

    if (args->help || args->version)
        return MCPLUG_OK;
    if (!c)
        return mp_fail(err, MCPLUG_EINVAL,
                       "no command given; `mcplug help` lists the commands");
    if (args->json && c->hidden)
        return mp_fail(err, MCPLUG_EINVAL, "\"%s\" has no --json", c->name);
    int r = check_server(args, err);
    if (r != MCPLUG_OK)
        return r;
    if (args->words.n < c->min_words)
        return mp_fail(err, MCPLUG_EINVAL, "missing argument. Usage: mcplug %s %s%s",
                       c->name, args->server ? "SERVER " : "", c->words);
    if (args->words.n > c->max_words)
        return mp_fail(err, MCPLUG_EINVAL, "unexpected argument \"%.64s\" of \"%s\"%s",
                       args->words.items[c->max_words], c->name,
                       c->flags & CLI_SERVER && !args->server_command
                           ? "; is a -- missing before the server's command?"
                           : "");
    return MCPLUG_OK;
}

/* Whoever asked for JSON gets it, wherever the line goes wrong. */
static bool asks_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0 || strncmp(argv[i], "--json=", 7) == 0)
            return true;
    return false;
}

int cli_args_parse(struct cli_args *args, int argc, char **argv, struct mcplug_error *err)
{
    struct reader r = {.args = args, .argv = argv, .argc = argc, .at = 1, .err = err};
    int rc = MCPLUG_OK;

    while (rc == MCPLUG_OK && r.at < argc) {
        char *word = argv[r.at++];
        if (strcmp(word, "--") == 0) {
            bool texts = args->command && args->command->flags & CLI_TEXTS;
            while (texts && rc == MCPLUG_OK && r.at < argc)
                rc = take_word(&r, argv[r.at++]);
            if (texts)
                break;
            args->server_command = argv + r.at;
            break;
        }
        if (word[0] == '-' && word[1] == '-')
            rc = take_long(&r, word + 2);
        else if (word[0] == '-' && word[1])
            rc = take_letters(&r, word + 1);
        else
            rc = take_word(&r, word);
    }
    if (rc == MCPLUG_OK)
        take_server(args);
    else
        args->json = args->json || asks_for_json(argc, argv);
    return rc ? rc : check(args, err);
}
