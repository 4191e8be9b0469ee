#include "config/config.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/supervision.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define IN_PLACE "--mcp-config"

static const struct mcplug_scope_info scopes[MP_SCOPES] = {
    [MCPLUG_SCOPE_ENTERPRISE] = {"enterprise", "set by the administrator for all users",
                                 0, 0},
    [MCPLUG_SCOPE_LOCAL] = {"local", "this directory, private", 1, 1},
    [MCPLUG_SCOPE_PROJECT] = {"project", "this directory, shared", 1, 1},
    [MCPLUG_SCOPE_USER] = {"user", "everywhere", 1, 0},
    [MCPLUG_SCOPE_DYNAMIC] = {"dynamic", "given with --mcp-config", 0, 0},
    [MCPLUG_SCOPE_PACKAGE] = {"package", "installed with packages", 0, 0},
};

const struct mcplug_scope_info *mcplug_scope_info(enum mcplug_scope scope)
{
    return (size_t)scope < MP_SCOPES ? &scopes[scope] : NULL;
}

const char *mp_scope_name(enum mcplug_scope scope)
{
    return scopes[scope].name;
}

int mcplug_scope_find(const char *name, enum mcplug_scope *out)
{
    for (size_t i = 0; name && out && i < MP_SCOPES; i++)
        if (strcmp(scopes[i].name, name) == 0) {
            *out = (enum mcplug_scope)i;
            return 1;
        }
    return 0;
}

bool mp_scope_needs_approval(enum mcplug_scope scope)
{
    return scopes[scope].needs_approval;
}

int mcplug_name_check(const char *name, struct mcplug_error *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t len = name ? strlen(name) : 0;
    if (!name)
        return mp_fail_null(err, "`name`");
    if (len == 0 || strspn(name, letters) != len)
        return mp_fail(err, MCPLUG_ECONFIG,
                       "Invalid name %.128s. Names can only contain letters, numbers, "
                       "hyphens, and underscores.",
                       name);
    if (len > MCPLUG_NAME_MAX)
        return mp_fail(err, MCPLUG_ECONFIG,
                       "Invalid name %.128s. Names can have at most %d characters.", name,
                       MCPLUG_NAME_MAX);
    return MCPLUG_OK;
}

/* ---- problems ---- */

int mp_config_note(struct mcplug_config *config, const struct mp_source *source,
                   const char *server, bool is_warning, const char *path, mp_view at,
                   const char *fmt, ...)
{
    struct mp_str text;
    char line[1024];
    va_list ap;

    if (config->n_problems >= MP_PROBLEMS_MAX)
        return MCPLUG_OK;
    struct mp_problem *list =
        mp_resize(config->problems, (config->n_problems + 1) * sizeof *list);
    if (!list) {
        config->incomplete = true;
        return MCPLUG_ENOMEM;
    }
    config->problems = list;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);

    struct mp_problem *p = &list[config->n_problems];
    mp_str_init(&text, sizeof line);
    mp_str_adds(&text, line);
    *p = (struct mp_problem){.is_warning = is_warning,
                             .file = source->path,
                             .server = server ? mp_strdup(server) : NULL,
                             .path = mp_strdup(path),
                             .text = mp_str_take(&text)};
    if (at.len && source->file.text.data)
        p->at = mp_place_of(
            mp_bytes(source->file.text.data, source->file.text.len),
            (size_t)(at.data - (const unsigned char *)source->file.text.data));
    if (!p->path || !p->text || (server && !p->server)) {
        mp_free(p->server);
        mp_free(p->path);
        mp_free(p->text);
        config->incomplete = true;
        return MCPLUG_ENOMEM;
    }
    config->n_problems++;
    return MCPLUG_OK;
}

const char *mp_config_note_once(struct mcplug_config *config,
                                const struct mp_source *source, const char *path,
                                mp_view at, const char *text)
{
    for (int tries = 0; tries < 2; tries++) {
        for (size_t i = 0; i < config->n_problems; i++)
            if (config->problems[i].file == source->path &&
                strcmp(config->problems[i].path, path) == 0)
                return mp_problem_text(&config->problems[i]);
        if (tries == 0)
            mp_config_note(config, source, NULL, false, path, at, "%s", text);
    }
    return NULL;
}

const struct mp_problem *mp_config_problem_of(const struct mcplug_config *config,
                                              const struct mp_entry *entry)
{
    for (size_t i = 0; i < config->n_problems; i++) {
        const struct mp_problem *p = &config->problems[i];
        if (!p->is_warning && p->file == entry->source->path && p->server &&
            strcmp(p->server, entry->name) == 0)
            return p;
    }
    return NULL;
}

const char *mp_problem_text(struct mp_problem *p)
{
    struct mp_str line;
    if (p->line)
        return p->line;
    mp_str_init(&line, MP_FILE_MAX);
    mp_str_adds(&line, p->file);
    if (p->at.line)
        mp_str_addf(&line, ":%zu:%zu", p->at.line, p->at.column);
    mp_str_adds(&line, ": ");
    if (p->path[0]) {
        mp_str_adds(&line, p->path);
        mp_str_adds(&line, ": ");
    }
    mp_str_adds(&line, p->text);
    p->line = mp_str_take(&line);
    return p->line ? p->line : p->text;
}

/* ---- sources ---- */

static void source_clear(struct mp_source *source)
{
    mp_free(source->path);
    mp_free(source->real);
    mp_file_clear(&source->file);
}

/* Room for one more. `path` is copied. */
static struct mp_source *source_add(struct mcplug_config *config, enum mcplug_scope scope,
                                    const char *path)
{
    struct mp_source *source = &config->sources[config->n_sources];
    if (config->n_sources >= MP_CONFIG_FILES) { /* what forbids something comes first */
        config->too_many = true;
        return NULL;
    }
    char *copy = mp_strdup(path);
    if (!copy) {
        config->incomplete = true;
        return NULL;
    }
    memset(source, 0, sizeof *source);
    source->scope = scope;
    source->path = copy;
    config->n_sources++;
    return source;
}

static mp_view source_text(const struct mp_source *source)
{
    return mp_bytes(source->file.text.data, source->file.text.len);
}

/* The value in it, once it is known to be JSON. */
static mp_view source_value(const struct mp_source *source)
{
    return mp_view_trim(source_text(source));
}

/* Who could have written this file? The administrator's and the user's own must be
 * theirs. A project's must be the user's or root's, for who owns it, or its directory,
 * can put another one there after it was approved; what came with it is for approval to
 * judge. */
static const char *mistrust(const struct mcplug_config *config,
                            const struct mp_source *source)
{
    const struct stat *st = &source->file.st;

    switch (source->scope) {
    case MCPLUG_SCOPE_ENTERPRISE:
    case MCPLUG_SCOPE_PACKAGE:
        if (st->st_uid != config->paths.owner && st->st_uid != 0)
            return "does not belong to root, so it is not used";
        return st->st_mode & (S_IWGRP | S_IWOTH)
                   ? "is writable by users other than root, so it is not used"
                   : NULL;
    case MCPLUG_SCOPE_USER:
    case MCPLUG_SCOPE_LOCAL:
        if (st->st_uid != geteuid() && st->st_uid != 0)
            return "belongs to another user, so it is not used";
        return st->st_mode & S_IWOTH
                   ? "is writable by everyone, so it is not used; fix that with chmod o-w"
                   : NULL;
    default:
        return NULL;
    }
}

/* Checks what was read; problems make the source a broken one. */
static void source_check(struct mcplug_config *config, struct mp_source *source)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_place at = {0, 0};
    mp_view text = source_text(source), none = {0};
    const char *doubt = source->real ? mistrust(config, source) : NULL;

    if (source->file.stranger) {
        source->broken = source->strange = true;
        mp_config_note(config, source, NULL, true, "", none, "%s, so it is not used",
                       source->file.stranger);
    } else if (doubt) {
        source->broken = true;
        mp_config_note(config, source, NULL, false, "", none, "%s", doubt);
    } else if (source_value(source).len == 0) {
        return; /* an empty file is one without servers */
    } else if (mp_json_check(text, &at, &why) != MCPLUG_OK) {
        source->broken = true;
        config->incomplete = config->incomplete || why.code == MCPLUG_ENOMEM;
        mp_config_note(config, source, NULL, false, "", none, "%s", why.text);
        if (config->n_problems)
            config->problems[config->n_problems - 1].at = at;
    } else if (!mp_view_is_object(source_value(source))) {
        source->broken = true;
        mp_config_note(config, source, NULL, false, "", text,
                       "expected an object with \"mcpServers\"");
    }
}

/* A message without the path that it begins with: problems have theirs. */
static const char *behind_path(const char *text, const char *path)
{
    size_t len = strlen(path);
    if (strncmp(text, path, len) == 0 && strncmp(text + len, ": ", 2) == 0)
        return text + len + 2;
    return text;
}

/* Reads a file into a new source. One that is not there leaves no trace, unless it
 * was `asked` for by name. */
static void read_file(struct mcplug_config *config, enum mcplug_scope scope,
                      const char *path, bool asked)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_source *source = source_add(config, scope, path);
    mp_view none = {0};
    if (!source)
        return;
    int r = mp_scope_needs_approval(scope)
                ? mp_file_read_placed(path, &source->file, &why)
                : mp_file_read(path, &source->file, &why);
    if (r == MCPLUG_OK && !source->file.exists && !asked) {
        source_clear(source);
        config->n_sources--;
        return;
    }
    if (r != MCPLUG_OK || !source->file.exists) {
        source->broken = true;
        config->incomplete = config->incomplete || r == MCPLUG_ENOMEM;
        mp_config_note(config, source, NULL, false, "", none, "%s",
                       r == MCPLUG_OK ? "there is no such file"
                                      : behind_path(why.text, path));
        return;
    }
    char *real = realpath(path, NULL);
    source->real = mp_strdup(real ? real : path);
    free(real);
    if (!source->real)
        config->incomplete = source->broken = true;
    else
        source_check(config, source);
}

/* ---- where to look ---- */

static void read_in(struct mcplug_config *config, enum mcplug_scope scope,
                    const char *dir, const char *name)
{
    char *path = mp_path_join(dir, name);
    if (path)
        read_file(config, scope, path, false);
    else
        config->incomplete = true;
    mp_free(path);
}

/* What a file took to read; of one that was refused the text is gone. */
static size_t source_cost(const struct mp_source *source)
{
    return source->file.text.len ? source->file.text.len : MP_PROJECT_MAX / 16;
}

/* Of the directories above others may be the authors: large files there would make every
 * command slow, and every TAB. */
static void read_project(struct mcplug_config *config)
{
    char *dir = mp_strdup(config->paths.cwd);
    size_t cost = 0;

    if (!dir)
        config->incomplete = true;
    while (dir) {
        size_t before = config->n_sources;
        read_in(config, MCPLUG_SCOPE_PROJECT, dir, MP_PROJECT_FILE);
        bool top = strcmp(dir, "/") == 0;
        if (config->n_sources > before)
            cost += source_cost(&config->sources[before]);
        if (cost > MP_PROJECT_MAX && !top) {
            mp_config_note(config, &config->sources[before], NULL, false, "",
                           (mp_view){0},
                           "with this one, more than %zu MiB of " MP_PROJECT_FILE
                           " were read; those in the directories above are ignored",
                           MP_PROJECT_MAX >> 20);
            break;
        }
        char *up = top ? NULL : mp_path_dir(dir);
        if (!top && !up)
            config->incomplete = true;
        mp_free(dir);
        dir = up;
    }
    mp_free(dir);
}

static int is_json(const struct dirent *e)
{
    size_t len = strlen(e->d_name);
    return e->d_name[0] != '.' && len > 5 && strcmp(e->d_name + len - 5, ".json") == 0;
}

static void read_packages(struct mcplug_config *config)
{
    struct dirent **list = NULL;
    int n = scandir(config->paths.packages, &list, is_json, alphasort);
    if (n < 0 && errno == ENOMEM)
        config->incomplete = true;
    for (int i = 0; i < n; i++) {
        read_in(config, MCPLUG_SCOPE_PACKAGE, config->paths.packages, list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

/* The later one wins, so they are read from the last. */
static void read_dynamic(struct mcplug_config *config, const char *const *given)
{
    size_t n = 0;
    while (given && given[n])
        n++;
    while (n--) {
        const char *text = given[n];
        if (text[strspn(text, " \t\r\n")] != '{') {
            read_file(config, MCPLUG_SCOPE_DYNAMIC, text, true);
            continue;
        }
        struct mp_source *source = source_add(config, MCPLUG_SCOPE_DYNAMIC, IN_PLACE);
        if (!source)
            return;
        mp_str_init(&source->file.text, MP_FILE_MAX);
        source->file.exists = true;
        mp_str_adds(&source->file.text, text);
        if (source->file.text.failed)
            config->incomplete = source->broken = true;
        else
            source_check(config, source);
    }
}

/* The administrator's file, if it is there at all, is all there is: also when it can't
 * be used, for then it is not known what it wanted to keep out. */
static bool read_managed(struct mcplug_config *config)
{
    struct stat st;
    /* a link that leads nowhere is there, too */
    bool there = lstat(config->paths.managed, &st) == 0 || errno != ENOENT;
    read_file(config, MCPLUG_SCOPE_ENTERPRISE, config->paths.managed, there);
    return config->n_sources > 0;
}

/* ---- entries ---- */

static void entry_add(struct mcplug_config *config, struct mp_source *source, mp_view key,
                      mp_view value, struct mp_place at)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char *name = mp_view_strdup(key);
    if (!name) {
        config->incomplete = true;
        return;
    }
    struct mp_entry *entry = &config->entries[config->n_entries++];
    memset(entry, 0, sizeof *entry);
    entry->config = config;
    entry->name = name;
    entry->source = source;
    entry->json = value;
    entry->at = at;
    entry->disabled = mp_view_true(mp_view_get(value, "disabled"));
    if (mcplug_name_check(name, &why) != MCPLUG_OK) {
        entry->broken = true;
        mp_config_note(config, source, name, false, "mcpServers", key, "%s", why.text);
    }
    mp_entry_check_shape(entry);
    if (mp_scope_needs_approval(source->scope) && source->real)
        entry->approval = mp_approvals_of(&config->approvals, source->real,
                                          source->file.owners, name, value, &entry->was);
}

static void take_plugin_dirs(struct mcplug_config *config, const struct mp_source *source,
                             mp_view list)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view item;
    size_t n = 0;

    if (!mp_view_is_array(list)) {
        mp_config_note(config, source, NULL, false, "pluginDirs", list,
                       "expected a list of directories");
        return;
    }
    char **dirs = mp_alloc((mp_view_count(list) + 1) * sizeof *dirs);
    while (dirs && mp_walk_element(&w, &item)) {
        char *dir = mp_view_strdup(item);
        if (dir && dir[0] == '/') {
            dirs[n++] = dir;
            continue;
        }
        mp_free(dir);
        mp_config_note(config, source, NULL, false, "pluginDirs", item,
                       "expected an absolute path");
    }
    config->plugin_dirs = dirs;
}

static void read_entries(struct mcplug_config *config, struct mp_source *source)
{
    mp_view text = source_value(source), servers = mp_view_get(text, "mcpServers");
    mp_view dirs = mp_view_get(text, "pluginDirs"), key, value;
    bool own =
        source->scope == MCPLUG_SCOPE_USER || source->scope == MCPLUG_SCOPE_ENTERPRISE;

    mp_config_check_top(config, source, text);
    mp_config_take_queues(config, source, mp_view_get(text, "queues"));
    mp_config_take_vaults(config, source, mp_view_get(text, "vaults"));
    mp_config_take_converters(config, source, mp_view_get(text, "converters"));
    mp_config_take_models(config, source, mp_view_get(text, "models"));
    if (dirs.len && own && !config->plugin_dirs)
        take_plugin_dirs(config, source, dirs);
    else if (dirs.len && !own)
        mp_config_note(config, source, NULL, true, "pluginDirs", dirs,
                       "is allowed only in the user's own file, and ignored here");
    if (!servers.len && mp_view_is_object(mp_view_get(text, "servers")))
        mp_config_note(config, source, NULL, true, "servers",
                       mp_view_get(text, "servers"),
                       "servers are expected in \"mcpServers\"; `mcplug import vscode` "
                       "reads this form");
    else if (!servers.len && !source->queues.len && !source->vaults.len &&
             !source->models.len && !config->converters &&
             source->scope == MCPLUG_SCOPE_DYNAMIC)
        mp_config_note(config, source, NULL, true, "", text,
                       "it has no \"mcpServers\", so it adds nothing");
    if (!servers.len)
        return;
    if (!mp_view_is_object(servers)) {
        mp_config_note(config, source, NULL, false, "mcpServers", servers,
                       "expected an object with one member per server");
        return;
    }
    struct mp_walk w = mp_walk_into(servers);
    struct mp_place at = {1, 1};
    size_t taken = 0;
    const unsigned char *from = source_text(source).data;
    while (mp_walk_member(&w, &key, &value)) {
        if (taken++ >= MP_CONFIG_SERVERS) {
            mp_config_note(config, source, NULL, false, "mcpServers", key,
                           "more than %d servers; this one and those that follow are "
                           "ignored",
                           MP_CONFIG_SERVERS);
            break;
        }
        at = mp_place_after(at, from, key.data);
        from = key.data;
        entry_add(config, source, key, value, at);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct mp_entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order)
        return order;
    return x->source < y->source ? -1 : x->source > y->source;
}

/* Of one name, the first source wins: they stand in the order of their scopes. */
static void find_winners(struct mcplug_config *config)
{
    const struct mp_entry *winner = NULL;

    config->winners = mp_alloc((config->n_entries + 1) * sizeof(struct mp_entry *));
    if (!config->winners) {
        config->incomplete = true;
        return;
    }
    qsort(config->entries, config->n_entries, sizeof *config->entries, by_name);
    for (size_t i = 0; i < config->n_entries; i++) {
        struct mp_entry *entry = &config->entries[i];
        if (!winner || strcmp(winner->name, entry->name) != 0)
            winner = config->winners[config->n_winners++] = entry;
        else
            entry->by = winner;
    }
}

/* ---- the whole ---- */

static size_t count_servers(const struct mcplug_config *config)
{
    size_t n = 0;
    for (size_t i = 0; i < config->n_sources; i++)
        if (!config->sources[i].broken)
            n += mp_view_count(
                mp_view_get(source_value(&config->sources[i]), "mcpServers"));
    return n;
}

static void read_sources(struct mcplug_config *config,
                         const struct mcplug_config_options *o)
{
    config->exclusive = read_managed(config);
    if (config->exclusive)
        return;
    if (!o->strict && config->paths.has_cwd) {
        read_in(config, MCPLUG_SCOPE_LOCAL, config->paths.cwd, MP_LOCAL_FILE);
        read_project(config);
    }
    if (!o->strict && config->paths.settings)
        read_file(config, MCPLUG_SCOPE_USER, config->paths.settings, false);
    read_dynamic(config, o->more);
    if (!o->strict)
        read_packages(config);
}

static void read_policy(struct mcplug_config *config)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int r =
        mp_policy_read(config->paths.policy, config->paths.owner, &config->policy, &why);
    if (r != MCPLUG_OK && !(config->policy_error = mp_strdup(why.text)))
        config->incomplete = true;
}

mcplug_config *mcplug_config_load(const struct mcplug_config_options *options,
                                  struct mcplug_error *err)
{
    struct mcplug_config_options given = {0};
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (mp_take_bare_options(&given, options, err) != MCPLUG_OK)
        return NULL;
    struct mcplug_config *config = mp_alloc(sizeof *config);
    if (!config) {
        mp_fail_nomem(err);
        return NULL;
    }
    atomic_init(&config->refs, 1);
    int r = mp_paths_init(&config->paths, err);
    config->sources = mp_alloc_raw(MP_CONFIG_FILES * sizeof *config->sources);
    if (r == MCPLUG_OK && !config->sources)
        r = mp_fail_nomem(err);
    if (r != MCPLUG_OK) {
        mcplug_config_free(config);
        return NULL;
    }
    read_policy(config);
    read_sources(config, &given);
    if (mp_approvals_read(config->paths.approvals, &config->approvals, &why) !=
        MCPLUG_OK) {
        struct mp_source *source =
            source_add(config, MCPLUG_SCOPE_USER, config->paths.approvals);
        if (source) {
            source->broken = true;
            mp_config_note(config, source, NULL, false, "", (mp_view){0}, "%s",
                           behind_path(why.text, source->path));
        }
    }
    config->entries = mp_alloc((count_servers(config) + 1) * sizeof *config->entries);
    for (size_t i = 0; config->entries && i < config->n_sources; i++)
        if (!config->sources[i].broken)
            read_entries(config, &config->sources[i]);
    if (config->entries)
        find_winners(config);
    if (!config->entries || config->incomplete) {
        /* a part of it could be the part that forbids something */
        mp_fail(err, MCPLUG_ENOMEM, "out of memory for the configuration");
        mcplug_config_free(config);
        return NULL;
    }
    if (config->too_many)
        mp_config_note(config, &config->sources[MP_CONFIG_FILES - 1], NULL, false, "",
                       (mp_view){0}, "more than %d files; those that follow are ignored",
                       MP_CONFIG_FILES);
    return config;
}

struct mcplug_config *mp_config_ref(struct mcplug_config *config)
{
    atomic_fetch_add(&config->refs, 1);
    return config;
}

void mcplug_config_free(struct mcplug_config *config)
{
    if (!config || atomic_fetch_sub(&config->refs, 1) > 1)
        return;
    for (size_t i = 0; i < config->n_sources; i++)
        source_clear(&config->sources[i]);
    for (size_t i = 0; i < config->n_entries; i++)
        mp_free(config->entries[i].name);
    for (size_t i = 0; i < config->n_problems; i++) {
        mp_free(config->problems[i].server);
        mp_free(config->problems[i].path);
        mp_free(config->problems[i].text);
        mp_free(config->problems[i].line);
    }
    mp_free_list((const char *const *)config->plugin_dirs);
    mp_free(config->converters);
    mp_config_free_models(config);
    mp_free(config->new_local);
    mp_free(config->new_project);
    mp_free(config->sources);
    mp_free(config->entries);
    mp_free(config->winners);
    mp_free(config->problems);
    mp_free(config->policy_error);
    mp_policy_free(config->policy);
    mp_file_clear(&config->approvals);
    mp_paths_clear(&config->paths);
    mp_free(config);
}

/* ---- what there is ---- */

size_t mcplug_config_count(const mcplug_config *config)
{
    return config ? config->n_winners : 0;
}

const char *mcplug_config_name(const mcplug_config *config, size_t i)
{
    return config && i < config->n_winners ? config->winners[i]->name : NULL;
}

const char *mcplug_config_problem(mcplug_config *config, size_t i)
{
    return config && i < config->n_problems ? mp_problem_text(&config->problems[i])
                                            : NULL;
}

const char *const *mcplug_config_plugin_dirs(const mcplug_config *config)
{
    return config ? (const char *const *)config->plugin_dirs : NULL;
}

const char *mcplug_config_entry(const mcplug_config *config, const char *name,
                                size_t *len)
{
    const struct mp_entry *entry = mcplug_entry_find(config, name);
    if (!entry || !len)
        return NULL;
    *len = entry->json.len;
    return (const char *)entry->json.data;
}

mcplug_entry *mcplug_entry_at(const mcplug_config *config, size_t i)
{
    return config && i < config->n_entries ? &config->entries[i] : NULL;
}

mcplug_entry *mcplug_entry_find(const mcplug_config *config, const char *name)
{
    size_t low = 0, high = config && name ? config->n_winners : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(config->winners[middle]->name, name);
        if (order == 0)
            return config->winners[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

mcplug_entry *mcplug_entry_find_in(const mcplug_config *config, const char *name,
                                   enum mcplug_scope scope)
{
    for (size_t i = 0; config && name && i < config->n_entries; i++)
        if (config->entries[i].source->scope == scope &&
            strcmp(config->entries[i].name, name) == 0)
            return &config->entries[i];
    return NULL;
}

bool mp_config_damaged(const struct mcplug_config *config)
{
    for (size_t i = 0; i < config->n_sources; i++)
        if (config->sources[i].broken && !config->sources[i].strange)
            return true;
    return false;
}

void mcplug_text_free(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    mp_free(text);
}
