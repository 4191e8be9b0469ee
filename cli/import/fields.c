/* The parts of an entry: texts, lists and maps, in our form. */
#include "cli/import/form.h"

#include "base/error.h"
#include "base/mem.h"

#include <strings.h>

/* ---- reading ---- */

int cli_form_skip(struct cli_import_form *e, const char *why)
{
    return mp_fail(e->err, MCPLUG_ENOTSUP, "%s", why);
}

static bool is_text(mp_view v)
{
    return v.len && !mp_view_is_object(v) && !mp_view_is_array(v) && !mp_view_is_null(v);
}

int cli_form_read(struct cli_import_form *e, mp_view v, struct mp_str *out)
{
    mp_str_init(out, CLI_IMPORT_TEXT);
    if (v.len > CLI_IMPORT_TEXT)
        return cli_form_skip(e, "has a string that is too long");
    if (mp_view_is_string(v))
        mp_str_add_view(out, v);
    else
        mp_str_add(out, v.data, v.len);
    mp_str_adds(out, "");
    if (out->failed)
        return mp_fail_nomem(e->err);
    return strlen(out->data) == out->len ? MCPLUG_OK
                                         : cli_form_skip(e, "has a NUL character");
}

bool cli_form_is_said(mp_view v)
{
    return mp_view_is_string(v) && v.len > 2;
}

/* ---- writing ---- */

void cli_form_begin(struct cli_import_form *e, const char *key)
{
    mp_str_addf(e->out, "%s\"%s\":", e->comma ? "," : "", key);
    e->comma = true;
}

static void add_string(struct cli_import_form *e, const char *text, size_t len)
{
    mp_str_add_json(e->out, text, len);
}

/* Adds a text with its variables in our form. */
static int add_text(struct cli_import_form *e, mp_view v, bool is_url)
{
    struct mp_str text, ours;
    mp_str_init(&ours, CLI_IMPORT_ENTRY);
    int r = cli_form_read(e, v, &text);
    if (!r) {
        cli_import_translate(&e->source, text.data, is_url, e->notes, &ours);
        add_string(e, ours.data ? ours.data : "", ours.len);
        e->out->failed |= ours.failed;
    }
    mp_str_clear(&text);
    mp_str_clear(&ours);
    return r;
}

int cli_form_text(struct cli_import_form *e, const char *key, mp_view v, bool is_url)
{
    if (v.len == 0)
        return MCPLUG_OK;
    if (!mp_view_is_string(v)) {
        cli_import_left_out(e->notes, NULL, key);
        return MCPLUG_OK;
    }
    cli_form_begin(e, key);
    return add_text(e, v, is_url);
}

/* Adds the elements of a list of texts; `first` leaves out that many. */
static int add_elements(struct cli_import_form *e, mp_view list, size_t first,
                        bool *comma)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view v;

    for (size_t i = 0; mp_walk_element(&w, &v); i++) {
        if (!is_text(v))
            return cli_form_skip(e, "has arguments that are not strings");
        if (i < first)
            continue;
        if (*comma)
            mp_str_addc(e->out, ',');
        *comma = true;
        int r = add_text(e, v, false);
        if (r)
            return r;
    }
    return MCPLUG_OK;
}

int cli_form_args(struct cli_import_form *e)
{
    mp_view args = e->at[CLI_F_ARGS];
    bool comma = false;

    if (args.len && !mp_view_is_array(args))
        return cli_form_skip(e, "has arguments that are not a list");
    if (mp_view_count(args) + mp_view_count(e->rest) > CLI_IMPORT_MEMBERS)
        return cli_form_skip(e, "has too many arguments");
    if (mp_view_count(args) == 0 && mp_view_count(e->rest) <= 1)
        return MCPLUG_OK;
    cli_form_begin(e, "args");
    mp_str_addc(e->out, '[');
    int r = add_elements(e, e->rest, 1, &comma);
    if (!r)
        r = add_elements(e, args, 0, &comma);
    mp_str_addc(e->out, ']');
    return r;
}

/* Names of tools, taken as they are. */
int cli_form_tools(struct cli_import_form *e, const char *key, mp_view list)
{
    struct mp_walk w = mp_walk_into(list);
    bool comma = false;
    mp_view v;

    if (list.len == 0)
        return MCPLUG_OK;
    if (!mp_view_is_array(list) || mp_view_count(list) > CLI_IMPORT_MEMBERS)
        return cli_form_skip(e, "has a list of tools that can't be read");
    cli_form_begin(e, key);
    mp_str_addc(e->out, '[');
    while (mp_walk_element(&w, &v)) {
        struct mp_str text;
        if (!mp_view_is_string(v))
            return cli_form_skip(e, "has a list of tools that can't be read");
        int r = cli_form_read(e, v, &text);
        if (!r) {
            if (comma)
                mp_str_addc(e->out, ',');
            comma = true;
            add_string(e, text.data, text.len);
        }
        mp_str_clear(&text);
        if (r)
            return r;
    }
    mp_str_addc(e->out, ']');
    return MCPLUG_OK;
}

/* ---- maps: variables and header fields ---- */

struct map {
    struct cli_import_form *entry;
    const char *key;
    char *names[CLI_IMPORT_MEMBERS]; /* that are in it */
    size_t n;
};

static bool has_name(const struct map *map, const char *name)
{
    bool fields = strcmp(map->key, "headers") == 0;
    for (size_t i = 0; i < map->n; i++)
        if ((fields ? strcasecmp : strcmp)(map->names[i], name) == 0)
            return true;
    return false;
}

/* Begins the member `name`; false: it has no place. */
static bool begin_member(struct map *map, mp_view name)
{
    struct cli_import_form *e = map->entry;
    struct mp_str text;

    bool ok = cli_form_read(e, name, &text) == MCPLUG_OK && text.len > 0 &&
              !strchr(text.data, '=') && !has_name(map, text.data);
    if (!ok) {
        e->out->failed |= text.failed;
        cli_import_left_out(e->notes, map->key, text.data ? text.data : "");
        mp_str_clear(&text);
        return false;
    }
    if (map->n == 0) {
        cli_form_begin(e, map->key);
        mp_str_addc(e->out, '{');
    } else {
        mp_str_addc(e->out, ',');
    }
    add_string(e, text.data, text.len);
    mp_str_addc(e->out, ':');
    map->names[map->n] = mp_str_take(&text);
    e->out->failed |= !map->names[map->n];
    map->n += map->names[map->n] != NULL;
    return !e->out->failed;
}

static void leave_member_out(struct map *map, mp_view name)
{
    char *text = mp_view_strdup(name);
    cli_import_left_out(map->entry->notes, map->key, text ? text : "");
    mp_free(text);
}

/* Letters, digits and _: a variable can be asked for. */
static bool is_variable(mp_view v)
{
    bool ok = mp_view_is_string(v) && v.len > 2 && v.len < 1024;
    for (size_t i = 1; ok && i + 1 < v.len; i++)
        ok = v.data[i] == '_' || (v.data[i] >= '0' && v.data[i] <= '9') ||
             (v.data[i] >= 'a' && v.data[i] <= 'z') ||
             (v.data[i] >= 'A' && v.data[i] <= 'Z');
    return ok;
}

/* Adds `before` and the variable that the string `name` names. */
static void add_variable(struct cli_import_form *e, const char *before, mp_view name)
{
    mp_str_addf(e->out, "\"%s${%.*s}\"", before, (int)name.len - 2,
                (const char *)name.data + 1);
}

/* Adds the members of `from`; with `variables` their values are names of such. */
static int add_members(struct map *map, mp_view from, bool variables)
{
    struct cli_import_form *e = map->entry;
    struct mp_walk w = mp_walk_into(from);
    mp_view name, value;
    int r = MCPLUG_OK;

    if (from.len && !mp_view_is_object(from))
        cli_import_left_out(e->notes, NULL, map->key);
    while (!r && mp_walk_member(&w, &name, &value)) {
        if (map->n == CLI_IMPORT_MEMBERS)
            r = cli_form_skip(e, "has too many variables or header fields");
        else if (variables ? !is_variable(value) : !is_text(value))
            leave_member_out(map, name);
        else if (!begin_member(map, name))
            continue;
        else if (variables)
            add_variable(e, "", value);
        else
            r = add_text(e, value, false);
    }
    return r;
}

static void end_map(struct map *map)
{
    if (map->n)
        mp_str_addc(map->entry->out, '}');
    for (size_t i = 0; i < map->n; i++)
        mp_free(map->names[i]);
}

int cli_form_env(struct cli_import_form *e)
{
    mp_view env = e->source.env;
    struct map *map = mp_alloc(sizeof *map);
    if (!map)
        return mp_fail_nomem(e->err);
    map->entry = e;
    map->key = "env";
    e->source.env.len = 0; /* "A": "${A}" means the one outside */
    int r = add_members(map, e->at[CLI_F_ENV], false);
    e->source.env = env;
    end_map(map);
    mp_free(map);
    return r;
}

/* A bearer token comes first, as the other fields do not replace it there. */
static int add_bearer(struct map *map)
{
    struct cli_import_form *e = map->entry;
    mp_view field = mp_text("\"Authorization\"");
    struct mp_str text;

    if (e->at[CLI_F_BEARER_VAR].len && !is_variable(e->at[CLI_F_BEARER_VAR])) {
        cli_import_left_out(e->notes, NULL, "bearer_token_env_var");
    } else if (e->at[CLI_F_BEARER_VAR].len) {
        if (begin_member(map, field))
            add_variable(e, "Bearer ", e->at[CLI_F_BEARER_VAR]);
    } else if (cli_form_is_said(e->at[CLI_F_BEARER]) && begin_member(map, field)) {
        struct mp_str ours;
        mp_str_init(&ours, CLI_IMPORT_ENTRY);
        int r = cli_form_read(e, e->at[CLI_F_BEARER], &text);
        if (!r) {
            mp_str_adds(&ours, "Bearer ");
            cli_import_translate(&e->source, text.data, false, e->notes, &ours);
            add_string(e, ours.data ? ours.data : "", ours.len);
            e->out->failed |= ours.failed;
        }
        mp_str_clear(&text);
        mp_str_clear(&ours);
        return r;
    }
    return MCPLUG_OK;
}

int cli_form_headers(struct cli_import_form *e)
{
    struct map *map = mp_alloc(sizeof *map);
    if (!map)
        return mp_fail_nomem(e->err);
    map->entry = e;
    map->key = "headers";
    int r = add_bearer(map);
    if (!r)
        r = add_members(map, e->at[CLI_F_ENV_HEADERS], true);
    if (!r)
        r = add_members(map, e->at[CLI_F_HEADERS], false);
    end_map(map);
    mp_free(map);
    return r;
}
