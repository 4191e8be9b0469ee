/* What is changed in files: see <mcplug/admin.h>. */
#include "config/config.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "config/edit.h"

#include <errno.h>
#include <unistd.h>

struct change {
    const char *path, *name;
    mp_view entry; /* len 0: take it away */
    bool disable, enable;
    const char *approvals; /* where its approval is to be written */
    char *approved;        /* the file for which it was; NULL: for none so far */
};

/* The text must be one that can be changed without losing anything. */
static int check_old(const char *path, const struct mp_file *old,
                     struct mcplug_error *err)
{
    mp_view text = mp_bytes(old->text.data, old->text.len), value = mp_view_trim(text);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (value.len == 0)
        return MCPLUG_OK;
    if (mp_json_check_file(path, text, &why) != MCPLUG_OK)
        return mp_fail(err, MCPLUG_ECONFIG, "%s; nothing was changed", why.text);
    if (!mp_view_is_object(value))
        return mp_fail(err, MCPLUG_ECONFIG,
                       "%s: expected an object with \"mcpServers\"; nothing was changed",
                       path);
    return MCPLUG_OK;
}

static int apply(void *arg, const struct mp_file *old, struct mp_str *out,
                 struct mcplug_error *err)
{
    static const char truth[] = "true";
    const struct change *c = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char *path[] = {"mcpServers", c->name, NULL, NULL};
    mp_view text = mp_bytes(old->text.data, old->text.len);

    int r = check_old(c->path, old, err);
    if (r != MCPLUG_OK)
        return r;
    mp_view servers = mp_view_get(mp_view_trim(text), "mcpServers");
    mp_view there = mp_view_get(servers, c->name);
    if (c->entry.len && there.len)
        return mp_fail(err, MCPLUG_EINVAL, "MCP server %s already exists in %s", c->name,
                       c->path);
    if (!c->entry.len && !there.len)
        return mp_fail(err, MCPLUG_EINVAL, "server \"%s\" is no longer in %s", c->name,
                       c->path);
    if (c->entry.len) {
        r = mp_edit_set(text, path, c->entry, out, err);
        if (r == MCPLUG_OK && /* nothing is written that could not be read again */
            mp_json_check(mp_bytes(out->data, out->len), NULL, &why) != MCPLUG_OK)
            r = mp_fail(err, MCPLUG_EINVAL, "the entry does not fit into %s: %s", c->path,
                        why.text);
        return r;
    }
    if (c->disable || c->enable)
        path[2] = "disabled";
    if (c->disable)
        return mp_edit_set(text, path, mp_bytes(truth, 4), out, err);
    if (c->enable && !mp_view_get(there, "disabled").len)
        return mp_str_add(out, old->text.data, old->text.len) ? MCPLUG_OK
                                                              : mp_fail_nomem(err);
    return mp_edit_remove(text, path, out, err);
}

const char *mcplug_config_scope_file(struct mcplug_config *config,
                                     enum mcplug_scope scope)
{
    if (!config)
        return NULL;
    if (scope == MCPLUG_SCOPE_USER)
        return config->paths.settings;
    if (!mcplug_scope_info(scope) || !mp_scope_needs_approval(scope))
        return NULL;
    bool local = scope == MCPLUG_SCOPE_LOCAL;
    char **slot = local ? &config->new_local : &config->new_project;
    if (!*slot)
        *slot = mp_path_join(config->paths.cwd, local ? MP_LOCAL_FILE : MP_PROJECT_FILE);
    return *slot;
}

int mp_entry_broken(const struct mp_entry *entry, size_t before, int code,
                    struct mcplug_error *err)
{
    const struct mcplug_config *config = entry->config;

    if (!entry->broken)
        return MCPLUG_OK;
    for (size_t i = before; i < config->n_problems; i++)
        if (!config->problems[i].is_warning)
            return mp_fail(err, code, "Invalid configuration: %s: %s",
                           config->problems[i].path + strlen("mcpServers."),
                           config->problems[i].text);
    return mp_fail(err, code, "Invalid configuration: %s: it can't be used", entry->name);
}

/* The same checks as for an entry that is read from a file. */
static int check_new(struct mcplug_config *config, enum mcplug_scope scope,
                     const char *name, mp_view json, struct mcplug_error *err)
{
    struct mp_source source = {.scope = scope, .path = config->paths.cwd};
    struct mp_entry entry = {
        .config = config, .name = (char *)name, .source = &source, .json = json};
    size_t before = config->n_problems;
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    mp_entry_check_shape(&entry);
    int r = mp_entry_broken(&entry, before, MCPLUG_EINVAL, err);
    if (r != MCPLUG_OK)
        return r;
    entry.disabled = false;
    entry.approval = MCPLUG_APPROVAL_GIVEN;
    if (config->exclusive)
        return mp_fail(err, MCPLUG_ECONFIG,
                       "Cannot add MCP server \"%s\": not allowed by enterprise policy; "
                       "only the servers of %s can be used",
                       name, config->paths.managed);
    if (mcplug_entry_state(&entry, &why) != MCPLUG_ENTRY_READY) {
        const char *text = strstr(why.text, "\": ");
        return mp_fail(err, MCPLUG_ECONFIG, "Cannot add MCP server \"%s\": %s", name,
                       text ? text + 3 : why.text);
    }
    return MCPLUG_OK;
}

/* An entry and its approval come together. */
static int approve_new(void *arg, const char *real, struct mp_owners owners,
                       struct mcplug_error *err)
{
    struct change *c = arg;
    bool strange_dir = owners.dir != geteuid() && owners.dir != 0;

    if (strange_dir || (owners.file != geteuid() && owners.file != 0))
        return mp_fail(
            err, MCPLUG_EINVAL,
            "%s: %s belongs to another user, so its servers would not be used; "
            "nothing was changed",
            c->path, strange_dir ? "its directory" : "it");
    char *copy = mp_strdup(real);
    int r = copy ? mp_approvals_add(c->approvals, real, owners, c->name, c->entry, err)
                 : mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        c->approved = mp_move(&copy);
    mp_free(copy);
    return r;
}

/* Both files are locked at once, by their directories: that must not be the same one. */
static bool is_beside(const char *path, const char *other)
{
    char *one = mp_path_dir(path), *two = other ? mp_path_dir(other) : NULL;
    struct stat a, b;
    bool same = one && two && stat(one, &a) == 0 && stat(two, &b) == 0 &&
                a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    mp_free(one);
    mp_free(two);
    return same;
}

static int add_approved(struct change *c, mode_t mode, struct mcplug_error *err)
{
    struct mcplug_error ignored = MCPLUG_ERROR_INIT;
    size_t removed;

    if (!mp_is_utf8(c->path))
        return mp_fail(err, MCPLUG_EINVAL,
                       "the name of this directory is not UTF-8, so nothing in it can be "
                       "approved");
    if (is_beside(c->path, c->approvals))
        return mp_fail(err, MCPLUG_EINVAL,
                       "%s: a project cannot be where approvals are stored", c->path);
    int r = mp_file_update_with(c->path, mode, apply, approve_new, c, err);
    if (r != MCPLUG_OK && c->approved) /* of nothing: the rename failed */
        mp_approvals_remove(c->approvals, c->approved, c->name, &removed, &ignored);
    mp_free(c->approved);
    return r;
}

int mcplug_entry_add(mcplug_config *config, enum mcplug_scope scope, const char *name,
                     const char *json, size_t len, int approved, const char **file,
                     struct mcplug_error *err)
{
    if (!config || !name || !json)
        return mp_fail_null(err, "`config`, `name` and `json`");
    mp_view entry = mp_bytes(json, len);
    struct change c = {.name = name,
                       .entry = entry,
                       .path = mcplug_config_scope_file(config, scope),
                       .approvals = config->paths.approvals};
    int r = mcplug_scope_info(scope)
                ? mcplug_name_check(name, err)
                : mp_fail(err, MCPLUG_EINVAL, "there is no scope %d", (int)scope);
    if (r == MCPLUG_OK && strncmp(name, "mcp__", 5) == 0)
        r = mp_fail(err, MCPLUG_EINVAL,
                    "Invalid name %s. Names cannot begin with mcp__, which names of "
                    "tools begin with (mcp__SERVER__TOOL).",
                    name);
    if (r == MCPLUG_OK)
        r = check_new(config, scope, name, entry, err);
    if (r != MCPLUG_OK)
        return r;
    if (!c.path)
        return mp_fail(err, MCPLUG_EINVAL,
                       "cannot add a server to the %s scope; use local, project or user",
                       mp_scope_name(scope));
    mode_t mode = scope == MCPLUG_SCOPE_PROJECT ? 0644 : 0600;
    if (approved && mp_scope_needs_approval(scope))
        r = add_approved(&c, mode, err);
    else
        r = mp_file_update(c.path, mode, apply, &c, err);
    if (r == MCPLUG_OK && file)
        *file = c.path;
    return r;
}

/* Scopes that have a file of the user's. */
static int writable(const struct mp_entry *entry, struct mcplug_error *err)
{
    if (!entry)
        return mp_fail_null(err, "`entry`");
    enum mcplug_scope scope = entry->source->scope;
    if (mcplug_scope_info(scope)->is_writable)
        return MCPLUG_OK;
    return mp_fail(
        err, MCPLUG_EINVAL,
        "server \"%s\" is defined in %s (%s scope), which mcplug does not change",
        entry->name, entry->source->path, mp_scope_name(scope));
}

int mcplug_entry_remove(const mcplug_entry *entry, struct mcplug_error *err)
{
    int r = writable(entry, err);
    if (r != MCPLUG_OK)
        return r;
    struct change c = {.name = entry->name, .path = entry->source->path};
    size_t removed;
    r = mp_file_update(c.path, 0600, apply, &c, err);
    if (r == MCPLUG_OK && mp_scope_needs_approval(entry->source->scope))
        r = mp_approvals_remove(entry->config->paths.approvals, entry->source->real,
                                entry->name, &removed, err);
    return r;
}

/* Sets or takes away "disabled". */
static int disable(const mcplug_entry *entry, bool disabled, struct mcplug_error *err)
{
    int r = writable(entry, err);
    if (r != MCPLUG_OK)
        return r;
    struct change c = {.name = entry->name,
                       .path = entry->source->path,
                       .disable = disabled,
                       .enable = !disabled};
    return mp_file_update(c.path, 0600, apply, &c, err);
}

int mcplug_entry_disable(const mcplug_entry *entry, struct mcplug_error *err)
{
    return disable(entry, true, err);
}

int mcplug_entry_enable(const mcplug_entry *entry, struct mcplug_error *err)
{
    return disable(entry, false, err);
}

int mcplug_entry_approve(mcplug_entry *entry, struct mcplug_error *err)
{
    if (!entry)
        return mp_fail_null(err, "`entry`");
    if (!mp_scope_needs_approval(entry->source->scope))
        return MCPLUG_OK;
    int r = mp_approvals_add(entry->config->paths.approvals, entry->source->real,
                             entry->source->file.owners, entry->name, entry->json, err);
    if (r == MCPLUG_OK)
        entry->approval = MCPLUG_APPROVAL_GIVEN;
    return r;
}

int mcplug_approvals_reset(mcplug_config *config, const char *name, size_t *forgotten,
                           struct mcplug_error *err)
{
    size_t total = 0, n;
    int r = config ? MCPLUG_OK : mp_fail_null(err, "`config`");

    for (size_t i = 0; r == MCPLUG_OK && i < config->n_sources; i++) {
        const struct mp_source *source = &config->sources[i];
        if (!source->real || !mp_scope_needs_approval(source->scope))
            continue;
        r = mp_approvals_remove(config->paths.approvals, source->real, name, &n, err);
        total += r == MCPLUG_OK ? n : 0;
    }
    if (r == MCPLUG_OK && forgotten)
        *forgotten = total;
    return r;
}

int mcplug_approvals_reset_all(mcplug_config *config, size_t *forgotten,
                               struct mcplug_error *err)
{
    size_t n;

    if (!config)
        return mp_fail_null(err, "`config`");
    return mp_approvals_remove(config->paths.approvals, NULL, NULL,
                               forgotten ? forgotten : &n, err);
}
