#include "cli/commands/commands.h"

#include "base/mem.h"
#include "base/path.h"
#include "cli/base/entries.h"
#include "cli/base/oneshot.h"
#include "cli/base/message.h"
#include "cli/base/modules.h"
#include "cli/base/packages.h"
#include "cli/base/key_value.h"
#include "cli/complete/words.h"
#include "plugins/common/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_MAX ((size_t)1 << 20)

/* ---- from words to an entry ---- */

/* With two slashes, or a scheme that packages or modules have. */
static bool is_url(struct cli *cli, const char *word)
{
    char scheme[33];
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz");

    if (url_scheme(word))
        return true;
    if (n < 2 || n >= sizeof scheme || word[n] != ':')
        return false;
    memcpy(scheme, word, n);
    scheme[n] = '\0';
    json_t *packages = cli_packages();
    bool is_known = cli_package_of(packages, "transport", scheme) != NULL;
    json_decref(packages);
    if (!is_known) {
        json_t *feature = cli_modules_type(cli, scheme);
        is_known = json_array_size(json_object_get(feature, "accepts")) > 0;
        json_decref(feature);
    }
    return is_known;
}

static bool has_option(const json_t *feature, const char *name)
{
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(feature, "options"), i, o)
    {
        if (strcmp(json_string_value(json_object_get(o, "name")), name) == 0)
            return true;
    }
    return false;
}

/* Is a type one that takes a URL? If no module has it, the look of the word decides. */
static bool wants_url(struct cli *cli, const char *type)
{
    json_t *feature = type ? cli_modules_type(cli, type) : NULL;
    bool wants = has_option(feature, "url") && !has_option(feature, "command") &&
                 !has_option(feature, "path") && !has_option(feature, "host");
    json_decref(feature);
    return wants;
}

/* Takes `value`. false: told. */
static bool set(json_t *object, const char *key, json_t *value, const char *text)
{
    if (value && json_object_set_new(object, key, value) == 0)
        return true;
    cli_error("\"%.100s\" is not UTF-8", text);
    return false;
}

static bool set_text(json_t *object, const char *key, const char *text)
{
    return set(object, key, json_string(text), text);
}

/* The member `key` of `entry`, made by `make` where it is missing. */
static json_t *member(json_t *entry, const char *key, json_t *(*make)(void))
{
    json_t *there = json_object_get(entry, key);
    if (!there && json_object_set_new(entry, key, make()) == 0)
        there = json_object_get(entry, key);
    return there;
}

static bool append(json_t *entry, const char *key, const char *text)
{
    json_t *list = member(entry, key, json_array), *value = json_string(text);
    if (json_is_array(list) && value && json_array_append(list, value) == 0) {
        json_decref(value);
        return true;
    }
    json_decref(value);
    cli_error(value ? "\"%.100s\" is given both as a value and as a list"
                    : "\"%.100s\" is not UTF-8",
              value ? key : text);
    return false;
}

static bool put(json_t *entry, const char *key, const char *name, const char *text)
{
    json_t *map = member(entry, key, json_object);
    if (json_is_object(map))
        return set_text(map, name, text);
    cli_error("\"%.100s\" is given both as a value and as a map", key);
    return false;
}

static bool add_args(const struct cli_args *args, json_t *entry)
{
    char **more = args->server_command;
    bool ok = true;
    for (size_t i = 2; ok && i < args->words.n; i++)
        ok = append(entry, "args", args->words.items[i]);
    for (size_t i = args->words.n < 2 ? 1 : 0; ok && more && more[0] && more[i]; i++)
        ok = append(entry, "args", more[i]);
    return ok;
}

/* `NAME=VALUE` or `NAME: VALUE`, each a member of the object `key`. */
static bool add_map(const struct cli_list *list, const char *key, char between,
                    json_t *entry)
{
    bool ok = true;
    for (size_t i = 0; ok && i < list->n; i++) {
        const char *text = list->items[i], *at = strchr(text, between);
        if (text[0] == '@' && between == ':') {
            cli_error("--header @FILE cannot be stored; ${file:PATH} in the value is "
                      "read when the server is used");
            return false;
        }
        if (!at || at == text) {
            cli_error("--%s: expected %s, got \"%.100s\"",
                      between == '=' ? "env" : "header",
                      between == '=' ? "NAME=VALUE" : "\"NAME: VALUE\"", text);
            return false;
        }
        char *name = mp_strndup(text, (size_t)(at - text));
        at += 1 + (between == ':' ? strspn(at + 1, " \t") : 0);
        ok = name && put(entry, key, name, at);
        mp_free(name);
    }
    return ok;
}

/* A key that is true or false is not a text. */
static bool set_setting(json_t *entry, const char *name, const char *text)
{
    struct mcplug_key key = {.struct_size = sizeof key};
    bool flag = false;

    for (size_t i = 0; !flag && mcplug_config_key(i, &key); i++)
        flag = strcmp(key.name, name) == 0 && key.type && strcmp(key.type, "bool") == 0;
    if (flag && strcmp(text, "true") == 0)
        return set(entry, name, json_true(), text);
    if (flag && strcmp(text, "false") == 0)
        return set(entry, name, json_false(), text);
    return set_text(entry, name, text);
}

static bool add_settings(const struct cli_list *list, json_t *entry)
{
    bool ok = true;
    for (size_t i = 0; ok && i < list->n; i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        struct cli_setting s;
        if (cli_setting_parse(list->items[i], &s, &err) != MCPLUG_OK) {
            cli_error("%s", err.text);
            return false;
        }
        ok = s.list  ? append(entry, s.name, s.value)
             : s.key ? put(entry, s.name, s.key, s.value)
                     : set_setting(entry, s.name, s.value);
        cli_setting_clear(&s);
    }
    return ok;
}

/* A path that means the same from everywhere. give: mp_free; NULL: no memory */
static char *from_here(const char *path, bool project)
{
    return path[0] == '/' || project ? mp_strdup(path) : mp_path_absolute(path);
}

/* In the user's own file, relative paths would mean another place each time. */
static bool set_path(const struct cli_args *args, json_t *entry, const char *key,
                     const char *path)
{
    bool project = args->scope && strcmp(args->scope, "user") != 0;
    char *text = from_here(path, project);
    bool ok = text && set_text(entry, key, text);
    mp_free(text);
    return ok;
}

/* What the words say that makes no sense, if anything. */
static bool check_words(struct cli *cli, const char *first, bool url)
{
    const struct cli_args *args = &cli->args;
    const char *type = args->type, *name = args->words.items[0];
    if (!first && !type)
        cli_error("missing command or URL. Usage: mcplug add %.64s -- COMMAND [ARGS...], "
                  "or mcplug add %.64s URL",
                  name, name);
    else if (url && (args->words.n > 2 || (args->words.n == 2 && args->server_command)))
        cli_error("a URL takes no arguments");
    else if (url && !is_url(cli, first))
        cli_error("transport \"%.32s\": expected a URL, got \"%.100s\"", type, first);
    else if (first && !url && cli_is_address(first))
        cli_error(CLI_NO_SCHEME, first);
    else if (first && !url && url_scheme(first))
        cli_error("transport \"%.32s\": expected a command, got the URL \"%.100s\"", type,
                  first);
    else
        return true;
    return false;
}

/* give: free; NULL: told */
static char *make_entry(struct cli *cli)
{
    const struct cli_args *args = &cli->args;
    const char *type = args->type;
    const char *first = args->words.n > 1      ? args->words.items[1]
                        : args->server_command ? args->server_command[0]
                                               : NULL;
    bool program = type && cli_is_program_type(type);
    bool url = first && !program && (is_url(cli, first) || wants_url(cli, type));
    json_t *entry = json_object();
    char *text = NULL;

    bool ok = entry && check_words(cli, first, url);
    if (ok && type && !(program && first))
        ok = set_text(entry, "type", type);
    if (ok && first && !url && strchr(first, '/'))
        ok = set_path(args, entry, "command", first);
    else if (ok && first)
        ok = set_text(entry, url ? "url" : "command", first);
    ok = ok && (url || add_args(args, entry)) && add_settings(&args->set, entry) &&
         add_map(&args->env, "env", '=', entry) &&
         add_map(&args->headers, "headers", ':', entry);
    if (ok && args->cwd)
        ok = set_path(args, entry, "cwd", args->cwd);
    if (ok && args->insecure)
        ok = set(entry, "insecure", json_true(), "");
    if (ok && !(text = json_dumps(entry, JSON_COMPACT)))
        cli_error("out of memory");
    json_decref(entry);
    return text;
}

/* ---- adding ---- */

static int tell_added(struct cli *cli, enum mcplug_scope scope, const char *name,
                      const char *file, mp_view json)
{
    struct cli_out *out = &cli->out;
    const mcplug_entry *other = mcplug_entry_find(cli->config, name);
    struct mp_str text;
    int code = CLI_OK;

    if (cli->args.json) {
        mp_str_init(&text, ENTRY_MAX * 2);
        mp_str_addc(&text, '{');
        cli_json_member(&text, "name", name);
        cli_json_member(&text, "scope", cli_scope_name(scope));
        cli_json_member(&text, "file", file);
        mp_str_adds(&text, ",\"entry\":");
        cli_json_masked(&text, json);
        mp_str_adds(&text, "}\n");
        code = cli_put_document(cli, &text, CLI_OK);
    } else {
        char type[MCPLUG_TYPE_MAX];
        mcplug_json_type((const char *)json.data, json.len, type);
        cli_out_f(out, "Added %s server \"%s\" to the %s scope: ", type, name,
                  cli_scope_name(scope));
        cli_out_shown(out, file, strlen(file));
        cli_out_s(out, "\n");
    }
    if (other && cli_entry_info(other).scope < scope)
        cli_note("note: \"%s\" of the %s scope takes precedence here: %s", name,
                 cli_scope_name(cli_entry_info(other).scope), cli_entry_info(other).file);
    if (scope == MCPLUG_SCOPE_LOCAL && access(".git", F_OK) == 0 && !cli->args.quiet)
        cli_hint("%s is private: keep it out of version control.",
                 strrchr(file, '/') + 1);
    return code;
}

static int add(struct cli *cli, const char *name, mp_view json)
{
    enum mcplug_scope scope;
    const char *file;
    if (!cli_scope(cli, MCPLUG_SCOPE_USER, &scope))
        return CLI_USAGE;
    int code = cli_entry_add(cli, scope, name, json, true, &file);
    return code == CLI_OK ? tell_added(cli, scope, name, file, json) : code;
}

static int run_add(struct cli *cli)
{
    char *entry = make_entry(cli);
    int code = CLI_USAGE;
    if (entry)
        code = add(cli, cli->args.words.items[0], mp_text(entry));
    free(entry);
    return code;
}

static int run_add_json(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t line, column;
    char *text = cli_read_value(cli->args.words.items[1], &err);
    int code = CLI_USAGE;

    mp_view json = mp_text(text);
    size_t skip = text ? strspn(text, " \t\r\n") : 0;
    size_t end = json.len;
    while (end > skip && strchr(" \t\r\n", text[end - 1]))
        end--;
    if (!text) {
        cli_error("%s", err.text);
        code = err.code == MCPLUG_EIO ? CLI_IO_ERROR : CLI_USAGE;
    } else if (mcplug_json_check(text, json.len, &line, &column, &err) != MCPLUG_OK) {
        cli_error("the entry is not JSON: line %zu, column %zu: %s", line, column,
                  err.text);
    } else {
        code = add(cli, cli->args.words.items[0], mp_bytes(text + skip, end - skip));
    }
    mp_free(text);
    return code;
}

/* --set: NAME= and, for lists and objects, NAME[]= and NAME. of the keys that no other
 * option sets. */
static void offer_keys(struct cli_cursor *at)
{
    struct mcplug_key key = {.struct_size = sizeof key};
    char text[64];

    for (size_t i = 0; mcplug_config_key(i, &key); i++) {
        if (key.is_setting || strcmp(key.name, "type") == 0)
            continue;
        bool list = strcmp(key.type, "list") == 0, map = strcmp(key.type, "map") == 0;
        snprintf(text, sizeof text, "%s%s", key.name, list ? "[]=" : map ? "." : "=");
        cli_candidate(&at->cli->out, at->head, text, key.help);
    }
}

#define AT(member) offsetof(struct cli_args, member)

#define SCOPE_OPTION                                                                     \
    {                                                                                    \
        "scope", 's', CLI_TEXT, "SCOPE",                                                 \
            "which file to write: user (the default), project (.mcp.json, to share), "   \
            "or local (.mcplug.local.json)",                                             \
            AT(scope), .complete.is = CLI_WORD_SCOPE                                     \
    }

static const struct cli_option add_options[] = {
    SCOPE_OPTION,
    {"transport", 't', CLI_TEXT, "NAME",
     "stdio, http, sse, websocket or another transport that a module offers; by default "
     "stdio for a command, otherwise derived from the URL",
     AT(type), .complete.is = CLI_WORD_TRANSPORT},
    {"env", 'e', CLI_LIST, "NAME=VALUE",
     "set an environment variable of the server; ${VAR} in VALUE is expanded when the "
     "server is used; may be repeated",
     AT(env), .complete.is = CLI_WORD_FREE},
    {"header", 'H', CLI_LIST, "NAME: VALUE",
     "send a header with every request to the URL; ${VAR} and ${file:PATH} are expanded "
     "when the server is used; may be repeated",
     AT(headers), .complete.is = CLI_WORD_AT_FILE},
    {"cwd", 0, CLI_TEXT, "DIR", "the working directory of the server", AT(cwd),
     .complete.is = CLI_WORD_DIRECTORY},
    {"set", 0, CLI_LIST, "NAME=VALUE",
     "any other key of the entry, or setting of the transport (mcplug plugins TYPE lists "
     "them)",
     AT(set), .complete.offer = offer_keys},
    {"insecure", 0, CLI_FLAG, NULL, "accept any certificate of the server",
     .at = AT(insecure)},
    {.name = NULL},
};

static const struct cli_option add_json_options[] = {
    SCOPE_OPTION,
    {.name = NULL},
};

const struct cli_command cli_cmd_add = {
    .name = "add",
    .words = "NAME (URL | COMMAND [ARGS...])",
    .summary = "Add a server, to be used by its name.",
    .details = "Put -- before a command that has options of its own. Then use the name "
               "with other commands: `mcplug tools NAME`, `mcplug call NAME TOOL`.\n\n"
               "Secrets need not be in the file: ${VAR} in a value is expanded when the "
               "server is used, and so are ${file:PATH}, ${cmd:COMMAND} and "
               "${keyring:NAME} in --env and --header. See mcplug.json(5).",
    .options = add_options,
    .flags = CLI_CONFIG | CLI_COMMAND,
    .min_words = 1,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_FREE}, {.is = CLI_WORD_FILE}},
    .run = run_add,
};

const struct cli_command cli_cmd_add_json = {
    .name = "add-json",
    .words = "NAME JSON",
    .summary = "Add a server from a JSON entry, as other programs write it.",
    .details = "JSON is the entry itself: {\"command\": ..}. - reads it from standard "
               "input, @FILE from a file.",
    .options = add_json_options,
    .flags = CLI_CONFIG,
    .min_words = 2,
    .max_words = 2,
    .complete = {{.is = CLI_WORD_FREE}},
    .run = run_add_json,
};
