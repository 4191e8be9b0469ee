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

static void put_files(struct cli_cursor *at, int files, const char *from)
{
    at->files = files;
    at->files_at = from;
}

/* The word, or what of it is the value of an option. */
static void put_ruled(struct cli_cursor *at, const struct cli_rule *rule)
{
    if (rule->choices)
        cli_candidates_choices(at, rule->choices);
    if (rule->offer)
        rule->offer(at);
    switch (rule->is) {
    case CLI_WORD_UNSET:
    case CLI_WORD_FREE:
        break;
    case CLI_WORD_FILE:
        put_files(at, CLI_FILES_ANY, at->value);
        break;
    case CLI_WORD_DIRECTORY:
        put_files(at, CLI_FILES_DIRECTORIES, at->value);
        break;
    case CLI_WORD_AT_FILE:
        if (at->value[0] == '@')
            put_files(at, CLI_FILES_ANY, at->value + 1);
        break;
    case CLI_WORD_COMMAND:
        cli_candidates_commands(at);
        break;
    case CLI_WORD_IMPORTER:
        cli_candidates_importers(at);
        break;
    case CLI_WORD_MODULE:
        cli_candidates_modules(at);
        break;
    case CLI_WORD_TRANSPORT:
        cli_candidates_transports(at);
        break;
    case CLI_WORD_SCOPE:
        cli_candidates_scopes(at);
        break;
    case CLI_WORD_SERVER:
    case CLI_WORD_SERVER_ENABLED:
    case CLI_WORD_SERVER_DISABLED:
    case CLI_WORD_SERVER_APPROVED:
    case CLI_WORD_SERVER_UNAPPROVED:
        cli_candidates_servers(at, rule->is);
        break;
    case CLI_WORD_TOOL:
        cli_candidates_items(at, MCPLUG_TOOLS);
        break;
    case CLI_WORD_TOOL_ARGUMENT:
        cli_candidates_arguments(at, MCPLUG_TOOLS);
        break;
    case CLI_WORD_PROMPT:
        cli_candidates_items(at, MCPLUG_PROMPTS);
        break;
    case CLI_WORD_PROMPT_ARGUMENT:
        cli_candidates_arguments(at, MCPLUG_PROMPTS);
        break;
    case CLI_WORD_RESOURCE:
        cli_candidates_items(at, MCPLUG_RESOURCES);
        break;
    }
}

static void put_value(struct cli_cursor *at)
{
    mp_free(at->head);
    at->head = mp_strndup(at->word, (size_t)(at->value - at->word));
    if (at->head)
        put_ruled(at, &at->option->complete);
}

/* Of the command's own word number `index`; NULL: it takes no more. */
static const struct cli_rule *rule_of(const struct cli_command *command, size_t index)
{
    size_t last = CLI_RULES - 1;

    if (index >= command->max_words)
        return NULL;
    while (last > 0 && !cli_rule_is_set(&command->complete[last]))
        last--;
    return &command->complete[index < last ? index : last];
}

static bool may_be_qualified(const struct cli_command *command, const char *word)
{
    return command->flags & CLI_QUALIFIED && strncmp(word, "mcp__", 5) == 0;
}

/* Tells the server's name from the command's own words. */
static void split_words(struct cli_cursor *at)
{
    at->own = at->words.items;
    at->n_own = at->words.n;
    if (!(at->command->flags & CLI_SERVER) || at->in_place || at->n_own == 0)
        return;
    at->server = at->own[0];
    if (!may_be_qualified(at->command, at->server)) {
        at->own++;
        at->n_own--;
    }
}

static void put_word(struct cli_cursor *at)
{
    if (at->command->flags & CLI_SERVER && !at->in_place && !at->server) {
        if (may_be_qualified(at->command, at->word))
            cli_candidates_qualified(at);
        cli_candidates_servers(at, CLI_WORD_SERVER);
        return;
    }
    const struct cli_rule *rule = rule_of(at->command, at->n_own);
    if (rule)
        put_ruled(at, rule);
}

static void put_candidates(struct cli_cursor *at)
{
    const char *equals = strchr(at->word, '=');

    if (at->lost)
        return;
    if (at->command)
        split_words(at);
    if (at->behind) { /* the server's own words */
        put_files(at, CLI_FILES_ANY, at->word);
    } else if (at->option) {
        put_value(at);
    } else if (strncmp(at->word, "--", 2) == 0 && equals) {
        at->option = find(at->command, at->word + 2, (size_t)(equals - at->word - 2), 0);
        at->value = equals + 1;
        if (at->option && at->option->value)
            put_value(at);
    } else if (at->word[0] == '-') {
        cli_candidates_options(at);
    } else if (!at->command) {
        cli_candidates_commands(at);
    } else {
        put_word(at);
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
    at.head = mp_strdup("");
    if (at.head && cursor > 0 && cursor <= n) {
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
    mp_free(at.head);
    mp_free(at.words.items);
    mp_free(at.given.items);
    return CLI_OK;
}

const struct cli_command cli_cmd_candidates = {
    .name = "__complete",
    .words = "CWORD",
    .summary = "Print completions of a word, for the scripts of mcplug completion.",
    .flags = CLI_COMMAND,
    .max_words = CLI_MANY,
    .hidden = true,
    .run = run,
};
