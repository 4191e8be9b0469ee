#include "cli/complete/words.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/base/modules.h"
#include "cli/base/packages.h"
#include "cli/import/import.h"

#include <mcplug/admin.h>

#include <string.h>

#define VALUE_MAX 1024
#define DESCRIPTION_MAX ((size_t)1 << 16) /* read; longer ones are not shown */
#define DESCRIPTION_COLUMNS 100

/* ---- one line ---- */

/* Would it be shown as it is? */
static bool is_plain(const char *text, size_t len)
{
    char shown[VALUE_MAX];
    size_t used = len;
    return len > 0 && len < sizeof shown &&
           mp_escape(text, &used, false, false, shown, sizeof shown) == len &&
           used == len && memcmp(text, shown, len) == 0;
}

/* The first line that has something in it. */
static void put_description(struct cli_out *out, const char *text, size_t len)
{
    struct mp_str shown;
    size_t skip = 0;

    while (skip < len && strchr(" \t\r\n", text[skip]))
        skip++;
    text += skip;
    len -= skip;
    const char *newline = len ? memchr(text, '\n', len) : NULL;
    if (newline)
        len = (size_t)(newline - text);
    while (len && strchr(" \t\r", text[len - 1]))
        len--;
    mp_str_init(&shown, DESCRIPTION_MAX * 8);
    mp_str_add_escaped(&shown, text, len, false);
    if (shown.len && !shown.failed) {
        size_t fits = cli_columns_fit(shown.data, shown.len, DESCRIPTION_COLUMNS);
        cli_out_s(out, "\t");
        cli_out_add(out, shown.data, fits);
        if (fits < shown.len)
            cli_out_s(out, "..");
    }
    mp_str_clear(&shown);
}

void cli_candidate(struct cli_out *out, const char *head, const char *value,
                   const char *description)
{
    size_t len = strlen(value);
    if (!is_plain(value, len) || (*head && !is_plain(head, strlen(head))))
        return;
    cli_out_s(out, head);
    cli_out_add(out, value, len);
    if (description)
        put_description(out, description, strlen(description));
    cli_out_s(out, "\n");
}

void cli_candidate_view(struct cli_out *out, const char *head, mp_view value,
                        mp_view description)
{
    struct mp_str text, about;
    mp_str_init(&text, VALUE_MAX);
    mp_str_init(&about, DESCRIPTION_MAX);
    /* A NUL of the server's would cut it to another name. */
    if (mp_str_add_view(&text, value) && text.len && !memchr(text.data, 0, text.len) &&
        (*head || text.data[0] != '-')) {
        bool told = mp_str_add_view(&about, description) && about.len;
        cli_candidate(out, head, text.data, told ? about.data : NULL);
    }
    mp_str_clear(&text);
    mp_str_clear(&about);
}

/* ---- words ---- */

void cli_candidates_choices(struct cli_cursor *at, const struct cli_choice *choices)
{
    for (; choices->name; choices++)
        cli_candidate(&at->cli->out, at->head, choices->name, choices->about);
}

void cli_candidates_scopes(struct cli_cursor *at)
{
    const struct mcplug_scope_info *scope;
    for (int i = 0; (scope = mcplug_scope_info((enum mcplug_scope)i)); i++)
        if (scope->is_writable)
            cli_candidate(&at->cli->out, at->head, scope->name, scope->about);
}

void cli_candidates_commands(struct cli_cursor *at)
{
    for (size_t i = 0; cli_commands[i]; i++)
        if (!cli_commands[i]->hidden)
            cli_candidate(&at->cli->out, at->head, cli_commands[i]->name,
                          cli_commands[i]->summary);
}

void cli_candidates_importers(struct cli_cursor *at)
{
    for (const struct cli_importer *i = cli_importers; i->name; i++)
        cli_candidate(&at->cli->out, at->head, i->name, i->title);
}

/* ---- modules ---- */

/* Does the list of packages have it, as a feature or as the file of a package? */
static bool is_packaged(const json_t *packages, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(packages, i, one)
    {
        const char *package = json_string_value(json_object_get(one, "package"));
        const char *last = strrchr(package, '-');
        if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0 ||
            strcmp(last ? last + 1 : package, name) == 0)
            return true;
    }
    return false;
}

/* Files by name, without loading any; those of `packages` are left out. */
static void put_modules(struct cli_cursor *at, const json_t *packages, bool compiled_in)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = cli_modules_host(at->cli, true, &err);
    mcplug_modules *modules = host ? mcplug_modules_new(host, &err) : NULL;
    struct mcplug_module m = {.struct_size = sizeof m}, before = m;

    for (size_t i = 0; modules && mcplug_modules_get(modules, i, &m); i++) {
        bool again = m.name[0] == '-' || (!m.file && !compiled_in);
        for (size_t k = 0; k < i && !again && mcplug_modules_get(modules, k, &before);
             k++)
            again = before.file && m.file && strcmp(before.name, m.name) == 0;
        if (!again && !is_packaged(packages, m.name))
            cli_candidate(&at->cli->out, at->head, m.name,
                          m.file ? "a module" : "compiled in");
    }
    mcplug_modules_free(modules);
    mcplug_free(host);
}

void cli_candidates_modules(struct cli_cursor *at)
{
    put_modules(at, NULL, true);
}

/* What packages bring, installed or not, and what else there is. */
void cli_candidates_transports(struct cli_cursor *at)
{
    json_t *packages = cli_packages(), *one;
    size_t i;

    json_array_foreach(packages, i, one)
    {
        const char *kind = json_string_value(json_object_get(one, "kind"));
        const char *summary = json_string_value(json_object_get(one, "summary"));
        if (*summary && (strcmp(kind, "transport") == 0 || strcmp(kind, "locator") == 0))
            cli_candidate(&at->cli->out, at->head,
                          json_string_value(json_object_get(one, "name")), summary);
    }
    put_modules(at, packages, false);
    json_decref(packages);
}

/* ---- options ---- */

static bool is_given(const struct cli_cursor *at, const struct cli_option *o)
{
    for (size_t i = 0; i < at->given.n; i++)
        if (strcmp(at->given.items[i], o->name) == 0)
            return o->type != CLI_LIST && o->type != CLI_COUNT;
    return false;
}

void cli_candidates_options(struct cli_cursor *at)
{
    struct cli_group groups[CLI_GROUPS];
    size_t n = cli_command_groups(at->command, groups);

    for (size_t i = 0; i < n; i++)
        for (const struct cli_option *o = groups[i].options; o->name; o++)
            if (o->help && !is_given(at, o))
                cli_candidate(&at->cli->out, "--", o->name, o->help);
}
