/* From an entry to what a transport is given. */
#include "config/config.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/expand.h"
#include "config/keys.h"
#include "config/secret.h"
#include "config/supervision.h"
#include "plugin/props.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define NAMES_MAX ((size_t)16 << 10) /* of all missing variables */
#define VARIABLES "variables"

struct resolver {
    const struct mcplug_config *config;
    const struct mp_entry *entry;
    const struct mp_vaults *vaults; /* NULL: secrets are not looked up */
    const mcplug_props *known;      /* variables; NULL: ask the environment .. */
    mcplug_props *found;            /* .. and keep what it says, unless this is NULL */
    bool has_secrets;
    bool no_memory;
    const char *dir;     /* what relative paths of the entry are relative to */
    bool secrets;        /* may the text at hand have them? */
    bool literal;        /* nothing is put in */
    struct mp_str names; /* of variables that are not set, "A, B" */
};

/* ---- expansion ---- */

static const char *variable(void *arg, const char *name)
{
    struct resolver *r = arg;

    if (r->known)
        return mp_props_map_get(r->known, VARIABLES, name);
    const char *value = getenv(name);
    if (value && r->found &&
        mp_props_put(r->found, VARIABLES, name, value) == MCPLUG_ENOMEM)
        r->no_memory = true;
    return value;
}

static int secret(void *arg, const char *kind, const char *name, struct mp_str *out,
                  struct mcplug_error *err)
{
    struct resolver *r = arg;
    enum mcplug_scope scope = r->entry->source->scope;
    bool is_command = strcmp(kind, "cmd") == 0;

    if (!r->secrets)
        return mp_fail(err, MCPLUG_ECONFIG,
                       "${%s:..} can stand in \"env\" and \"headers\" alone", kind);
    if (is_command && scope != MCPLUG_SCOPE_USER && scope != MCPLUG_SCOPE_ENTERPRISE)
        return mp_fail(err, MCPLUG_ECONFIG,
                       "${cmd:..} works in the user's own file alone, not in the %s "
                       "scope",
                       mp_scope_name(scope));
    r->has_secrets = true;
    if (!r->vaults)
        return mp_str_addf(out, "${%s:%s}", kind, name) ? MCPLUG_OK : mp_fail_nomem(err);
    if (is_command)
        return mp_secret_command(name, r->dir, out, err);
    if (strcmp(kind, "file") == 0)
        return mp_secret_file(name, r->config->paths.home, r->dir, out, err);
    return r->vaults->get(r->vaults->arg, kind, name, out, err);
}

/* Is it in "A, B" already? */
static bool has_name(const struct mp_str *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = names->data; p && (p = strstr(p, name)); p += len)
        if ((p == names->data || p[-1] == ' ') && (p[len] == '\0' || p[len] == ','))
            return true;
    return false;
}

static void missing(void *arg, const char *name)
{
    struct resolver *r = arg;
    if (has_name(&r->names, name))
        return;
    mp_str_adds(&r->names, r->names.len ? ", " : "");
    mp_str_adds(&r->names, name);
}

/* give: the value as text, expanded; NULL with `err`. */
static char *expand(struct resolver *r, const char *key, mp_view value,
                    struct mcplug_error *err)
{
    const struct mp_expansion e = {variable, secret, missing, r};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_str out;

    if (!mp_view_is_string(value) || r->literal) { /* a number, true, false: as written */
        char *text = mp_view_is_string(value)
                         ? mp_view_strdup(value)
                         : mp_strndup((const char *)value.data, value.len);
        if (!text)
            mp_fail_nomem(err);
        return text;
    }
    char *text = mp_view_strdup(value);
    mp_str_init(&out, MP_EXPAND_MAX);
    int rc = text ? mp_expand(&e, text, &out, &why) : mp_fail_nomem(&why);
    mp_free(text);
    if (rc == MCPLUG_OK) {
        mp_str_adds(&out, "");
        if ((text = mp_str_take(&out)))
            return text;
        rc = mp_fail_nomem(&why);
    }
    mp_str_clear(&out);
    mp_fail(err, rc, "server \"%s\": %s: %s", r->entry->name, key, why.text);
    return NULL;
}

/* ---- settings ---- */

static const struct mcplug_option *find_option(const struct mcplug_option *options,
                                               const char *name)
{
    for (const struct mcplug_option *o = options; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static int no_fit(const struct resolver *r, const char *key, int rc,
                  struct mcplug_error *err)
{
    if (rc == MCPLUG_ENOMEM)
        return mp_fail_nomem(err);
    return mp_fail(err, rc, "server \"%s\": %s cannot be set: there is too much of it",
                   r->entry->name, key);
}

static int add_list(struct resolver *r, mcplug_props *props, const char *key,
                    mp_view list, struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view item;
    int rc = MCPLUG_OK;
    while (rc == MCPLUG_OK && mp_walk_element(&w, &item)) {
        char *value = expand(r, key, item, err);
        if (!value)
            return err->code;
        if ((rc = mp_props_add(props, key, value)) != MCPLUG_OK)
            no_fit(r, key, rc, err);
        mp_free(value);
    }
    return rc;
}

static int put_map(struct resolver *r, mcplug_props *props, const char *key, mp_view map,
                   struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(map);
    mp_view name, item;
    int rc = MCPLUG_OK;
    while (rc == MCPLUG_OK && mp_walk_member(&w, &name, &item)) {
        char *text = mp_view_strdup(name);
        char *value = text ? expand(r, key, item, err) : NULL;
        if (!value) {
            rc = text ? err->code : mp_fail_nomem(err);
        } else {
            rc = mp_props_put(props, key, text, value);
            memset(value, 0, strlen(value)); /* it may be a secret */
            if (rc != MCPLUG_OK)
                no_fit(r, key, rc, err);
        }
        mp_free(text);
        mp_free(value);
    }
    return rc;
}

static int set_one(struct resolver *r, mcplug_props *props, const char *key, mp_view v,
                   struct mcplug_error *err)
{
    char *value = expand(r, key, v, err), *path = NULL;
    if (!value)
        return err->code;
    if (strcmp(key, "cwd") == 0 && value[0] != '/' &&
        !(path = mp_path_join(r->dir, value))) {
        mp_free(value);
        return mp_fail_nomem(err);
    }
    int rc = mp_props_set(props, key, path ? path : value);
    if (rc != MCPLUG_OK)
        no_fit(r, key, rc, err);
    mp_free(path);
    mp_free(value);
    return rc;
}

static int fill(struct resolver *r, const struct mcplug_option *options,
                mcplug_props *props, struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(r->entry->json);
    mp_view name, value;
    int rc = MCPLUG_OK;

    while (rc == MCPLUG_OK && mp_walk_member(&w, &name, &value)) {
        char *key = mp_view_strdup(name);
        if (!key)
            return mp_fail_nomem(err);
        const struct mp_key *known = mp_key_find(name);
        r->secrets = known && known->shown == MP_HIDDEN;
        if (!find_option(options, key) || mp_view_is_null(value))
            rc = MCPLUG_OK;
        else if (mp_view_is_array(value))
            rc = add_list(r, props, key, value, err);
        else if (mp_view_is_object(value))
            rc = put_map(r, props, key, value, err);
        else
            rc = set_one(r, props, key, value, err);
        mp_free(key);
    }
    /* A project's server starts where the project is. */
    if (rc == MCPLUG_OK && mp_scope_needs_approval(r->entry->source->scope) &&
        find_option(options, "cwd") && !mp_props_get(props, "cwd") &&
        (rc = mp_props_set(props, "cwd", r->dir)) != MCPLUG_OK)
        no_fit(r, "cwd", rc, err);
    return rc;
}

void mp_resolved_times(const struct mp_resolved *resolved, uint32_t *connect_ms,
                       uint32_t *request_ms, uint64_t *tool_ms)
{
    *connect_ms = *connect_ms ? *connect_ms : resolved->connect_ms;
    *request_ms = *request_ms ? *request_ms : resolved->request_ms;
    *tool_ms = *tool_ms ? *tool_ms : resolved->tool_ms;
}

/* ---- policy ---- */

/* What a policy looks at, as props; with `expanded`, variables are put in. */
static int look(struct resolver *r, bool expanded, mcplug_props *props,
                struct mcplug_error *err)
{
    int rc = MCPLUG_OK;
    r->literal = !expanded;
    for (const struct mp_key *k = mp_keys; rc == MCPLUG_OK && k->name; k++) {
        if (!k->judged)
            continue;
        const char *key = k->name;
        mp_view value = mp_view_get(r->entry->json, key), name, item;
        struct mp_walk w = mp_walk_into(value);
        if (mp_view_is_array(value))
            rc = add_list(r, props, key, value, err);
        else if (value.len && !mp_view_is_object(value) && !mp_view_is_null(value))
            rc = set_one(r, props, key, value, err);
        else if (mp_view_is_object(value)) /* values of variables do not matter */
            while (rc == MCPLUG_OK && mp_walk_member(&w, &name, &item)) {
                char *text = mp_view_strdup(name);
                rc = text ? mp_props_put(props, key, text, "") : MCPLUG_ENOMEM;
                if (rc != MCPLUG_OK)
                    no_fit(r, key, rc, err);
                mp_free(text);
            }
    }
    return rc;
}

static enum mp_verdict worse(enum mp_verdict a, enum mp_verdict b)
{
    return a == MP_BLOCKED || b == MP_BLOCKED ? MP_BLOCKED : a == MP_ALLOWED ? b : a;
}

/* A socket in parts is judged as the URL that it comes to; a path by all its spellings.
 */
static enum mp_verdict judge_socket(const struct mcplug_config *config,
                                    struct mp_subject *subject, const char *scheme,
                                    const char *first, const char *second)
{
    struct mp_str url;
    mp_str_init(&url, MP_EXPAND_MAX);
    mp_str_adds(&url, scheme);
    mp_str_adds(&url, first);
    if (second) {
        mp_str_addc(&url, ':');
        mp_str_adds(&url, second);
    }
    subject->url = url.data;
    enum mp_verdict verdict =
        url.failed ? MP_NOT_ALLOWED : mp_policy_judge(config->policy, subject);
    mp_str_clear(&url);
    return verdict;
}

static enum mp_verdict judge_path(const struct mcplug_config *config,
                                  struct mp_subject *subject, const char *path)
{
    char *joined =
        path[0] == '/' ? mp_strdup(path) : mp_path_join(config->paths.cwd, path);
    char *real = joined ? realpath(joined, NULL) : NULL;
    enum mp_verdict verdict =
        joined ? judge_socket(config, subject, "unix:", joined, NULL) : MP_NOT_ALLOWED;
    if (real)
        verdict = worse(verdict, judge_socket(config, subject, "unix:", real, NULL));
    mp_free(joined);
    free(real);
    return verdict;
}

/* As it would stand in a URL: an IPv6 address in brackets, a port without zeros. */
static enum mp_verdict judge_host(const struct mcplug_config *config,
                                  struct mp_subject *subject, const char *host,
                                  const char *port)
{
    char name[512];
    bool bare = strchr(host, ':') && host[0] != '[';
    snprintf(name, sizeof name, "%s%.500s%s", bare ? "[" : "", host, bare ? "]" : "");
    while (port && port[0] == '0' && port[1])
        port++;
    return judge_socket(config, subject, "tcp:", name, port);
}

static enum mp_verdict judge_address(const struct mcplug_config *config,
                                     struct mp_subject *subject,
                                     const mcplug_props *props)
{
    const char *url = mp_props_get(props, "url"), *path = mp_props_get(props, "path");
    const char *host = mp_props_get(props, "host"), *port = mp_props_get(props, "port");
    enum mp_verdict verdict = MP_ALLOWED;

    if (!path && url && strncasecmp(url, "unix:", 5) == 0)
        path = url + 5;
    if (path)
        verdict = judge_path(config, subject, path);
    if (host)
        verdict = worse(verdict, judge_host(config, subject, host, port));
    subject->url = url;
    if (url || (!path && !host))
        verdict = worse(verdict, mp_policy_judge(config->policy, subject));
    return verdict;
}

static bool is_moved(const mcplug_props *props, const char *home)
{
    const char *command = mp_props_get(props, "command"),
               *cwd = mp_props_get(props, "cwd");
    return (command && command[0] != '/' && strchr(command, '/')) ||
           (cwd && *cwd && !(home && strcmp(cwd, home) == 0));
}

static enum mp_verdict judge_props(const struct mcplug_config *config, const char *name,
                                   const char *home, const mcplug_props *props)
{
    const char *command = mp_props_get(props, "command");
    const char *const *args = mp_props_list(props, "args");
    const char *const *env = mp_props_list(props, "env");
    const char *insecure = mp_props_get(props, "insecure");
    struct mp_subject subject = {.name = name, .moved = is_moved(props, home)};
    size_t n = 0, m = 0;

    while (args[n])
        n++;
    while (env[m])
        m++;
    const char **line = mp_alloc((n + 2) * sizeof *line);
    const char **names = mp_alloc((m + 1) * sizeof *names);
    if (!line || !names) {
        mp_free(line);
        mp_free(names);
        return MP_NOT_ALLOWED;
    }
    line[0] = command ? command : "";
    memcpy(line + 1, args, n * sizeof *line);
    for (size_t i = 0; i < m; i += 2) /* name, value, name, value .. */
        names[i / 2] = env[i];
    subject.command = command || n ? line : NULL;
    subject.env = names;
    subject.detour = mp_props_get(props, "proxy") || mp_props_get(props, "caFile") ||
                     mp_props_get(props, "certFile") ||
                     (insecure && strcmp(insecure, "false") != 0);
    enum mp_verdict verdict = judge_address(config, &subject, props);
    mp_free(line);
    mp_free(names);
    return verdict;
}

/* give: where an entry's server starts unless it says otherwise; NULL: where we are */
static char *home_of(const struct mp_entry *entry)
{
    return mp_scope_needs_approval(entry->source->scope) && entry->source->real
               ? mp_path_dir(entry->source->real)
               : NULL;
}

static int policy_broken(const struct mcplug_config *config, struct mcplug_error *err)
{
    return mp_fail(err, MCPLUG_EREFUSED,
                   "the enterprise policy cannot be used, so no server is: %s",
                   config->policy_error);
}

int mp_config_judge(const struct mcplug_config *config, const struct mp_entry *entry,
                    const mcplug_props *props, struct mcplug_error *err)
{
    if (config->policy_error)
        return policy_broken(config, err);
    if (!config->policy)
        return MCPLUG_OK;
    char *home = entry ? home_of(entry) : NULL;
    enum mp_verdict verdict = judge_props(config, entry ? entry->name : "", home, props);
    mp_free(home);
    return verdict == MP_ALLOWED
               ? MCPLUG_OK
               : mp_fail(err, MCPLUG_EREFUSED, "%s", mp_verdict_text(verdict));
}

/* Before it may see variables, an entry can be blocked, but who knows if it is allowed?
 */
static int judge(const struct mcplug_config *config, const struct mp_entry *entry,
                 bool approved, struct mcplug_error *err)
{
    struct resolver r = {.config = config, .entry = entry, .dir = config->paths.cwd};
    if (config->policy_error)
        return policy_broken(config, err);
    if (!config->policy)
        return MCPLUG_OK;
    mcplug_props *props = mp_props_new();
    char *home = home_of(entry);
    mp_str_init(&r.names, NAMES_MAX);
    int rc = props ? look(&r, approved, props, err) : mp_fail_nomem(err);
    if (rc == MCPLUG_OK) {
        enum mp_verdict verdict = judge_props(config, entry->name, home, props);
        if (verdict == MP_BLOCKED || (verdict != MP_ALLOWED && approved))
            rc = mp_fail(err, MCPLUG_EREFUSED, "%s", mp_verdict_text(verdict));
    }
    mp_free(home);
    mp_str_clear(&r.names);
    mp_props_free(props);
    return rc;
}

int mp_entry_usable(const struct mcplug_config *config, const struct mp_entry *entry,
                    enum mcplug_entry_state *state, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const struct mp_problem *p;
    bool approved = !mp_scope_needs_approval(entry->source->scope) ||
                    entry->approval == MCPLUG_APPROVAL_GIVEN;

    if (entry->broken) {
        *state = MCPLUG_ENTRY_BROKEN;
        p = mp_config_problem_of(config, entry);
        return mp_fail(err, MCPLUG_ECONFIG, "%s:%zu:%zu: %s: %s", entry->source->path,
                       p ? p->at.line : 1, p ? p->at.column : 1, p ? p->path : "",
                       p ? p->text : "cannot be used");
    }
    /* variables count once the entry may see them */
    if (judge(config, entry, approved, &why) != MCPLUG_OK) {
        *state = MCPLUG_ENTRY_BLOCKED;
        return mp_fail(err, MCPLUG_EREFUSED, "Cannot use MCP server \"%s\": %s",
                       entry->name, why.text);
    }
    if (entry->disabled) {
        *state = MCPLUG_ENTRY_DISABLED;
        return mp_fail(err, MCPLUG_ECONFIG, "server \"%s\" is disabled in %s",
                       entry->name, entry->source->path);
    }
    if (!approved) {
        *state = MCPLUG_ENTRY_NEEDS_APPROVAL;
        return mp_fail(err, MCPLUG_ECONFIG,
                       entry->approval == MCPLUG_APPROVAL_CHANGED
                           ? "server \"%s\" of %s has changed since it was approved"
                           : "server \"%s\" of %s has not been approved",
                       entry->name, entry->source->path);
    }
    *state = MCPLUG_ENTRY_READY;
    return MCPLUG_OK;
}

/* ---- the whole ---- */

/* What relative paths of the entry are relative to. give; NULL: no memory */
static char *dir_of(const struct mcplug_config *config, const struct mp_entry *entry)
{
    const char *real = entry->source->real;
    return real ? mp_path_dir(real) : mp_strdup(config->paths.cwd);
}

int mp_entry_resolve(const struct mcplug_config *config, const struct mp_entry *entry,
                     const struct mcplug_option *options, struct mp_resolved *out,
                     struct mcplug_error *err)
{
    char *dir = dir_of(config, entry);
    struct resolver r = {.config = config, .entry = entry, .dir = dir};
    struct mp_timeouts timeouts;

    memset(out, 0, sizeof *out);
    mp_str_init(&r.names, NAMES_MAX);
    out->props = mp_props_new();
    r.found = out->variables = mp_props_new();
    int rc = dir && out->props && r.found ? mp_entry_type(entry, &out->type, err)
                                          : mp_fail_nomem(err);
    if (rc == MCPLUG_OK)
        rc = fill(&r, options, out->props, err);
    if (rc == MCPLUG_OK)
        rc = mp_entry_timeouts(entry, &timeouts, err);
    if (rc == MCPLUG_OK) {
        out->connect_ms = timeouts.connect_ms;
        out->request_ms = timeouts.request_ms;
        out->tool_ms = timeouts.tool_ms;
        out->has_secrets = r.has_secrets;
        if (r.no_memory || r.names.failed ||
            (r.names.len && !(out->missing = mp_str_take(&r.names))))
            rc = mp_fail_nomem(err);
    }
    mp_str_clear(&r.names);
    mp_free(dir);
    return rc;
}

int mp_entry_secrets(const struct mcplug_config *config, const struct mp_entry *entry,
                     const struct mcplug_option *options, const mcplug_props *variables,
                     const struct mp_vaults *vaults, mcplug_props **out,
                     struct mcplug_error *err)
{
    char *dir = dir_of(config, entry);
    struct resolver r = {.config = config,
                         .entry = entry,
                         .vaults = vaults,
                         .known = variables,
                         .dir = dir};
    mcplug_props *props = mp_props_new();

    mp_str_init(&r.names, NAMES_MAX);
    int rc = dir && props ? fill(&r, options, props, err) : mp_fail_nomem(err);
    if (rc == MCPLUG_OK)
        *out = mp_move(&props);
    mp_props_free(props);
    mp_str_clear(&r.names);
    mp_free(dir);
    return rc;
}

void mp_resolved_clear(struct mp_resolved *resolved)
{
    mp_free(resolved->type);
    mp_props_free(resolved->props);
    mp_free(resolved->missing);
    mp_props_free(resolved->variables);
    memset(resolved, 0, sizeof *resolved);
}

static void each_in(mp_view value, void (*fn)(void *arg, const char *name), void *arg)
{
    struct mp_walk w = mp_walk_into(value);
    mp_view key, item;

    if (mp_view_is_string(value)) {
        char *text = mp_view_strdup(value);
        if (text)
            mp_expand_each(text, fn, arg);
        mp_free(text);
    } else if (mp_view_is_object(value)) {
        while (mp_walk_member(&w, &key, &item))
            if (mp_view_is_string(item))
                each_in(item, fn, arg);
    } else if (mp_view_is_array(value)) {
        while (mp_walk_element(&w, &item))
            if (mp_view_is_string(item))
                each_in(item, fn, arg);
    }
}

static int ignore_secret(void *arg, const char *kind, const char *name,
                         struct mp_str *out, struct mcplug_error *err)
{
    (void)arg, (void)kind, (void)name, (void)out, (void)err;
    return MCPLUG_OK;
}

static void note_missing(struct resolver *r, mp_view value)
{
    const struct mp_expansion e = {variable, ignore_secret, missing, r};
    struct mp_walk w = mp_walk_into(value);
    mp_view key, item;

    if (mp_view_is_string(value)) {
        char *text = mp_view_strdup(value);
        struct mp_str out;
        mp_str_init(&out, MP_EXPAND_MAX);
        if (text)
            mp_expand(&e, text, &out, NULL);
        mp_str_clear(&out);
        mp_free(text);
    } else if (mp_view_is_object(value)) {
        while (mp_walk_member(&w, &key, &item))
            note_missing(r, item);
    } else if (mp_view_is_array(value)) {
        while (mp_walk_element(&w, &item))
            note_missing(r, item);
    }
}

char *mp_entry_missing(const struct mp_entry *entry)
{
    static const char *const keys[] = {"command", "args", "env", "cwd", "url", "headers"};
    struct resolver r = {.entry = entry};

    mp_str_init(&r.names, NAMES_MAX);
    for (size_t i = 0; i < MP_COUNT(keys); i++)
        note_missing(&r, mp_view_get(entry->json, keys[i]));
    char *names = r.names.len ? mp_str_take(&r.names) : NULL;
    mp_str_clear(&r.names);
    return names;
}

void mp_entry_each_name(const struct mp_entry *entry,
                        void (*fn)(void *arg, const char *name), void *arg)
{
    struct mp_walk w = mp_walk_into(entry->json);
    mp_view key, value;
    while (mp_walk_member(&w, &key, &value))
        each_in(value, fn, arg);
}
