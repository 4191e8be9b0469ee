/* __complete CWORD -- WORD...: what the word number CWORD (from 0, which is the program)
 * may become. Asked by the scripts of `mcplug completion` on every press of a key: it
 * starts nothing, loads nothing, tells no errors. */
#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/complete/words.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 65536

/* ---- the line ---- */

static const struct cli_option *find(const struct cli_command *command, const char *name,
                                     size_t len, char letter)
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

/* Notes an option of the line; the few that say where things are found count here too. */
static void note(struct cli_cursor *at, const struct cli_option *o, const char *value)
{
    struct cli_args *args = &at->cli->args;

    cli_list_add(&at->given, o->name);
    if (o->at == offsetof(struct cli_args, url) ||
        o->at == offsetof(struct cli_args, type))
        at->in_place = true;
    else if (o->at == offsetof(struct cli_args, strict_mcp_config))
        args->strict_mcp_config = true;
    else if (value && o->at == offsetof(struct cli_args, mcp_config))
        cli_list_add(&args->mcp_config, value);
    else if (value && o->at == offsetof(struct cli_args, plugin_dirs))
        cli_list_add(&args->plugin_dirs, value);
}

/* -abVALUE: the option that wants its value from the next word; NULL: none does. */
static const struct cli_option *
letters(struct cli_cursor *at, const struct cli_command *command, const char *text)
{
    for (; *text; text++) {
        const struct cli_option *o = find(command, NULL, 0, *text);
        if (!o)
            return NULL;
        if (o->value && !text[1])
            return o;
        note(at, o, o->value ? text + 1 : NULL);
        if (o->value)
            return NULL;
    }
    return NULL;
}

static const struct cli_option *
take_option(struct cli_cursor *at, const struct cli_command *command, const char *word)
{
    if (word[1] != '-')
        return letters(at, command, word + 1);
    size_t len = strcspn(word + 2, "=");
    const struct cli_option *o = find(command, word + 2, len, 0);
    bool has_value = word[2 + len];
    if (o && o->value && !has_value)
        return o;
    if (o)
        note(at, o, has_value ? word + 3 + len : NULL);
    return NULL;
}

/* Words before the cursor tell what is wanted; those behind it, what is given already. */
static void read_line(struct cli_cursor *at, char **words, size_t n, size_t cursor)
{
    const struct cli_command *command = NULL;
    const struct cli_option *open = NULL; /* waits for its value */

    at->word = at->value = cursor < n ? words[cursor] : "";
    for (size_t i = 1; i < n; i++) {
        const char *word = words[i];
        if (i == cursor) {
            at->option = open;
            open = NULL;
        } else if (open) {
            note(at, open, word);
            open = NULL;
        } else if (strcmp(word, "--") == 0) {
            at->in_place = true;
            at->behind = i < cursor;
            break;
        } else if (word[0] == '-' && word[1]) {
            open = take_option(at, command, word);
        } else if (!command) {
            command = cli_command_find(word, strlen(word));
            at->command = i < cursor ? command : NULL;
            at->lost = !command && i < cursor;
            if (!command)
                break;
        } else if (i < cursor) {
            cli_list_add(&at->words, word);
        }
    }
    if (cursor >= n)
        at->option = open;
}

/* ---- which candidates ---- */

enum want {
    NOTHING,
    FILES,
    COMMANDS,
    SHELLS,
    IMPORTERS,
    MODULES,
    SERVERS,
    ENABLED,
    DISABLED,
    APPROVED,
    UNAPPROVED,
    TOOLS,
    TOOL_ARGUMENTS,
    PROMPTS,
    PROMPT_ARGUMENTS,
    RESOURCES,
    REFERENCE, /* complete's own words */
    REFERENCE_NAME,
    REFERENCE_ARGUMENT
};

/* Behind the server's name, where there is one. */
static const struct rule {
    const char *command;
    enum want words[3]; /* the last one goes on */
} rules[] = {
    {"tools", {TOOLS}},
    {"call", {TOOLS, TOOL_ARGUMENTS, TOOL_ARGUMENTS}},
    {"resources", {RESOURCES}},
    {"read", {RESOURCES}},
    {"prompts", {PROMPTS}},
    {"prompt", {PROMPTS, PROMPT_ARGUMENTS, PROMPT_ARGUMENTS}},
    {"complete", {REFERENCE, REFERENCE_NAME, REFERENCE_ARGUMENT}},
    {"plugins", {MODULES}},
    {"help", {COMMANDS}},
    {"completion", {SHELLS}},
    {"import", {IMPORTERS}},
    {"add", {NOTHING, FILES, FILES}},
    {"get", {SERVERS}},
    {"remove", {SERVERS}},
    {"logs", {SERVERS}},
    {"list", {SERVERS, SERVERS, SERVERS}},
    {"watch", {SERVERS, SERVERS, SERVERS}},
    {"doctor", {SERVERS, SERVERS, SERVERS}},
    {"enable", {DISABLED, DISABLED, DISABLED}},
    {"disable", {ENABLED, ENABLED, ENABLED}},
    {"approve", {UNAPPROVED, UNAPPROVED, UNAPPROVED}},
    {"reset-approvals", {APPROVED, APPROVED, APPROVED}},
};

static enum want want_of(const struct cli_command *command, size_t index)
{
    if (index >= command->max_words)
        return NOTHING;
    for (size_t i = 0; i < MP_COUNT(rules); i++)
        if (strcmp(rules[i].command, command->name) == 0)
            return rules[i].words[index < 2 ? index : 2];
    return NOTHING;
}

/* Words of `complete`: prompt NAME ARGUMENT, or resource TEMPLATE PLACEHOLDER. */
static void put_reference(struct cli_cursor *at, const char *server, enum want want,
                          const char *const *words)
{
    if (want == REFERENCE) {
        cli_candidate(&at->cli->out, "", "prompt", "an argument of a prompt");
        cli_candidate(&at->cli->out, "", "resource", "a placeholder of a template");
    } else if (server && want == REFERENCE_NAME) {
        cli_candidates_items(at, server,
                             strcmp(words[0], "prompt") == 0 ? MCPLUG_PROMPTS
                                                             : MCPLUG_TEMPLATES);
    } else if (server && strcmp(words[0], "prompt") == 0) {
        cli_candidates_argument_names(at, server, words[1]);
    }
}

/* `words` are those of the command, `n` before the cursor. */
static void put_offers(struct cli_cursor *at, const char *server, enum want want,
                       const char *const *words, size_t n)
{
    bool qualified = server && n && words[0] == server;
    const char *item = n && !qualified ? words[0] : NULL;

    if (want == REFERENCE || want == REFERENCE_NAME ||
        (want == REFERENCE_ARGUMENT && n == 2))
        put_reference(at, server, want, words);
    else if (want == TOOL_ARGUMENTS)
        cli_candidates_arguments(at, server ? server : "", MCPLUG_TOOLS, item);
    else if (want == PROMPT_ARGUMENTS)
        cli_candidates_arguments(at, server ? server : "", MCPLUG_PROMPTS, item);
    else if (server && want == TOOLS)
        cli_candidates_items(at, server, MCPLUG_TOOLS);
    else if (server && want == PROMPTS)
        cli_candidates_items(at, server, MCPLUG_PROMPTS);
    else if (server && want == RESOURCES)
        cli_candidates_items(at, server, MCPLUG_RESOURCES);
}

static void put_wanted(struct cli_cursor *at, enum want want)
{
    struct cli_out *out = &at->cli->out;

    if (want == FILES) {
        at->files = CLI_FILES_ANY;
        at->files_at = at->word;
    } else if (want == COMMANDS) {
        cli_candidates_commands(out);
    } else if (want == SHELLS) {
        cli_candidates_shells(out);
    } else if (want == IMPORTERS) {
        cli_candidates_importers(out);
    } else if (want == MODULES) {
        cli_candidates_modules(at);
    } else if (want == SERVERS) {
        cli_candidates_servers(at, CLI_ALL);
    } else if (want == ENABLED || want == DISABLED) {
        cli_candidates_servers(at, want == ENABLED ? CLI_ENABLED : CLI_DISABLED);
    } else if (want == APPROVED || want == UNAPPROVED) {
        cli_candidates_servers(at, want == APPROVED ? CLI_APPROVED : CLI_UNAPPROVED);
    }
}

static void put_words(struct cli_cursor *at)
{
    const struct cli_command *c = at->command;
    const char *const *words = at->words.items;
    const char *server = NULL;
    size_t n = at->words.n;

    if (c->flags & CLI_SERVER && !at->in_place) {
        bool may = c->flags & CLI_QUALIFIED;
        if (n == 0) {
            if (may && strncmp(at->word, "mcp__", 5) == 0)
                cli_candidates_qualified(at);
            cli_candidates_servers(at, CLI_ALL);
            return;
        }
        server = words[0];
        if (!may || strncmp(server, "mcp__", 5) != 0) {
            words++;
            n--;
        }
    }
    enum want want = want_of(c, n);
    if (c->flags & CLI_SERVER)
        put_offers(at, server, want, words, n);
    else
        put_wanted(at, want);
}

static void put_candidates(struct cli_cursor *at)
{
    const char *equals = strchr(at->word, '=');

    if (at->lost)
        return;
    if (at->behind) { /* the server's own words */
        at->files = CLI_FILES_ANY;
        at->files_at = at->word;
    } else if (at->option) {
        cli_candidates_values(at);
    } else if (strncmp(at->word, "--", 2) == 0 && equals) {
        at->option = find(at->command, at->word + 2, (size_t)(equals - at->word - 2), 0);
        at->value = equals + 1;
        if (at->option && at->option->value)
            cli_candidates_values(at);
    } else if (at->word[0] == '-') {
        cli_candidates_options(at);
    } else if (!at->command) {
        cli_candidates_commands(&at->cli->out);
    } else {
        put_words(at);
    }
}

static int run(struct cli *cli)
{
    struct cli_cursor at = {.cli = cli};
    struct cli_args *args = &cli->args;
    char **words = args->server_command;
    size_t n = 0, cursor = args->words.n ? strtoul(args->words.items[0], NULL, 10) : 0;

    while (words && words[n] && n < WORDS_MAX)
        n++;
    if (cursor > 0 && cursor <= n) {
        read_line(&at, words, n, cursor);
        put_candidates(&at);
    }
    if (at.files && !strchr(at.word, '\n')) {
        cli_out_f(&cli->out, ":%d\t", at.files);
        cli_out_add(&cli->out, at.word, (size_t)(at.files_at - at.word));
        cli_out_s(&cli->out, "\n");
    } else {
        cli_out_f(&cli->out, ":%d\n", CLI_FILES_NONE);
    }
    mp_free(at.words.items);
    mp_free(at.given.items);
    return CLI_OK;
}

const struct cli_command cli_cmd_candidates = {
    .name = "__complete",
    .words = "CWORD",
    .summary = "What a word may become, for the scripts of mcplug completion.",
    .flags = CLI_COMMAND,
    .max_words = CLI_MANY,
    .hidden = true,
    .run = run,
};
