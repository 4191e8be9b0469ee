/* From an entry to what a transport is given. */
#include "config/config.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/expand.h"
#include "config/keys.h"
#include "config/secret.h"
#include "config/supervision.h"
#include "plugin/props.h"

#include "../../plugins/common/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define NAMES_MAX ((size_t)16 << 10) /* of all missing variables */
#define VARIABLES "variables"

struct resolver {
    const struct mp_entry *entry;
    const struct mp_vaults *vaults; /* NULL: secrets are not looked up */
    const mcplug_props *known;      /* variables; NULL: ask the environment .. */
    mcplug_props *found;            /* .. and keep what it says, unless this is NULL */
    bool has_secrets;
    bool no_memory;
    const char *dir;     /* what relative paths of the entry are relative to */
    bool is_far;         /* its directories are those of another machine */
    bool secrets;        /* may the text at hand have them? */
    bool literal;        /* nothing is put in */
    bool names_only;     /* of members: their values do not matter */
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
                       "${%s:..} is allowed only in \"env\" and \"headers\"", kind);
    if (is_command && scope != MCPLUG_SCOPE_USER && scope != MCPLUG_SCOPE_ENTERPRISE)
        return mp_fail(
            err, MCPLUG_ECONFIG,
            "${cmd:..} is allowed only in the user's own file, not in the %s scope",
            mp_scope_name(scope));
    r->has_secrets = true;
    if (!r->vaults)
        return mp_str_addf(out, "${%s:%s}", kind, name) ? MCPLUG_OK : mp_fail_nomem(err);
    if (is_command)
        return mp_secret_command(name, r->dir, MP_SECRET_MS, out, err);
    if (strcmp(kind, "file") == 0)
        return mp_secret_file(name, r->entry->config->paths.home, r->dir, out, err);
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

    char *text = mp_view_text(value);
    if (text && (!mp_view_is_string(value) || r->literal))
        return text; /* a number, true, false: as written */
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

static int no_fit(const struct mp_entry *entry, const char *key, int rc,
                  struct mcplug_error *err)
{
    if (rc == MCPLUG_ENOMEM)
        return mp_fail_nomem(err);
    return mp_fail(err, rc, "server \"%s\": %s cannot be set: it is too long",
                   entry->name, key);
}

/* Is it relative to the file? A program of one word is looked for in PATH. */
static bool is_beside(const struct resolver *r, const char *key, const char *value)
{
    return value[0] != '/' && ((strcmp(key, "cwd") == 0 && !r->is_far) ||
                               (strcmp(key, "program") == 0 && strchr(value, '/')));
}

/* Sets `key`, adds to its list or puts `name` into its map. */
static int put(struct resolver *r, mcplug_props *props, const char *key, bool to_list,
               const char *name, mp_view v, struct mcplug_error *err)
{
    bool name_only = name && r->names_only;
    char *value = name_only ? mp_strdup("") : expand(r, key, v, err), *path = NULL;
    int rc = value ? MCPLUG_OK : MCPLUG_ENOMEM;

    if (!value && !name_only)
        return err->code;
    if (value && is_beside(r, key, value) && !(path = mp_path_join(r->dir, value)))
        rc = MCPLUG_ENOMEM;
    if (rc == MCPLUG_OK)
        rc = to_list ? mp_props_add(props, key, value)
             : name  ? mp_props_put(props, key, name, value)
                     : mp_props_set(props, key, path ? path : value);
    mp_free(path);
    mcplug_text_free(value); /* it may be a secret */
    return rc == MCPLUG_OK ? rc : no_fit(r->entry, key, rc, err);
}

static int put_all(struct resolver *r, mcplug_props *props, const char *key, mp_view v,
                   struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(v);
    mp_view name, item;
    int rc = MCPLUG_OK;

    if (mp_view_is_array(v)) {
        while (rc == MCPLUG_OK && mp_walk_element(&w, &item))
            rc = put(r, props, key, true, NULL, item, err);
    } else if (mp_view_is_object(v)) {
        while (rc == MCPLUG_OK && mp_walk_member(&w, &name, &item)) {
            char *text = mp_view_strdup(name);
            rc = text ? put(r, props, key, false, text, item, err) : mp_fail_nomem(err);
            mp_free(text);
        }
    } else if (v.len && !mp_view_is_null(v)) {
        rc = put(r, props, key, false, NULL, v, err);
    }
    return rc;
}

/* What relative paths of the entry are relative to. give; NULL: no memory */
static char *dir_of(const struct mp_entry *entry)
{
    const char *real = entry->source->real;
    return real ? mp_path_dir(real) : mp_strdup(entry->config->paths.cwd);
}

int mp_entry_set_cwd(const struct mp_entry *entry, const struct mcplug_option *options,
                     mcplug_props *props, struct mcplug_error *err)
{
    if (!mp_scope_needs_approval(entry->source->scope) || mp_props_get(props, "cwd") ||
        !mp_option_find(options, mp_text("\"cwd\"")))
        return MCPLUG_OK;
    char *dir = dir_of(entry);
    int rc = dir ? mp_props_set(props, "cwd", dir) : MCPLUG_ENOMEM;
    mp_free(dir);
    return rc == MCPLUG_OK ? rc : no_fit(entry, "cwd", rc, err);
}

/* Settings that the transport declares; the rest is left out. */
static int fill(struct resolver *r, const struct mcplug_option *options,
                mcplug_props *props, struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(r->entry->json);
    mp_view name, value;
    int rc = MCPLUG_OK;

    r->is_far = mp_option_find(options, mp_text("\"host\"")) &&
                mp_view_get(r->entry->json, "host").len;
    while (rc == MCPLUG_OK && mp_walk_member(&w, &name, &value)) {
        const struct mcplug_option *o = mp_option_find(options, name);
        const struct mp_key *known = mp_key_find(name);
        r->secrets = known && known->shown == MP_HIDDEN;
        if (o)
            rc = put_all(r, props, o->name, value, err);
    }
    return rc == MCPLUG_OK && !r->is_far ? mp_entry_set_cwd(r->entry, options, props, err)
                                         : rc;
}

/* ---- policy ---- */

static enum mp_verdict worse(enum mp_verdict a, enum mp_verdict b)
{
    return a > b ? a : b;
}

/* What the policy is asked of settings: a verdict, or which addresses they must not lead
 * to. */
struct judging {
    const struct mcplug_config *config;
    mcplug_props *fence; /* takes the addresses; NULL: a verdict */
    bool is_probe;       /* the addresses are for its URLs alone */
};

/* A module that has no setting for them connects to names as it likes. */
static bool deny_address(void *arg, const char *address)
{
    int rc = mp_props_deny(arg, address);
    return rc == MCPLUG_OK || rc == MCPLUG_ENOTSUP;
}

static enum mp_verdict ask(const struct judging *j, const struct mp_subject *subject)
{
    struct mp_subject s = *subject;

    if (!j->fence)
        return mp_policy_judge(j->config->policy, subject);
    s.url = j->is_probe ? NULL : subject->url;
    return mp_policy_addresses(j->config->policy, &s, deny_address, j->fence)
               ? MP_ALLOWED
               : MP_BLOCKED;
}

/* A socket in parts is judged as the URL that it comes to. */
static enum mp_verdict judge_socket(const struct judging *j, struct mp_subject *subject,
                                    const char *scheme, const char *first,
                                    const char *second)
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
    enum mp_verdict verdict = url.failed ? MP_BLOCKED : ask(j, subject);
    mp_str_clear(&url);
    return verdict;
}

/* By all its spellings. */
static enum mp_verdict judge_path(const struct judging *j, struct mp_subject *subject,
                                  const char *path)
{
    char *joined =
        path[0] == '/' ? mp_strdup(path) : mp_path_join(j->config->paths.cwd, path);
    char *real = joined ? realpath(joined, NULL) : NULL;
    enum mp_verdict verdict =
        joined ? judge_socket(j, subject, "unix:", joined, NULL) : MP_BLOCKED;
    if (real)
        verdict = worse(verdict, judge_socket(j, subject, "unix:", real, NULL));
    mp_free(joined);
    free(real);
    return verdict;
}

static enum mp_verdict judge_address(const struct judging *j, struct mp_subject *subject,
                                     const mcplug_props *props)
{
    const char *url = mp_props_get(props, "url"), *path = mp_props_get(props, "path");
    const char *host = mp_props_get(props, "host"), *port = mp_props_get(props, "port");
    const char *image = mp_props_get(props, "image");
    enum mp_verdict verdict = MP_ALLOWED;

    if (!path && url && strncasecmp(url, "unix:", 5) == 0)
        path = url + 5;
    if (path)
        verdict = judge_path(j, subject, path);
    if (host) { /* as it would stand in a URL: IPv6 in brackets, a port without zeros;
                   who logs in there (USER@HOST) is no part of it */
        char name[512];
        const char *at = strrchr(host, '@');
        host = at ? at + 1 : host;
        bool bare = strchr(host, ':') && host[0] != '[';
        snprintf(name, sizeof name, "%s%.500s%s", bare ? "[" : "", host, bare ? "]" : "");
        while (port && port[0] == '0' && port[1])
            port++;
        verdict = worse(verdict, judge_socket(j, subject, "tcp:", name, port));
    }
    if (image)
        verdict = worse(verdict, judge_socket(j, subject, "docker:", image, NULL));
    subject->url = url;
    if (url || (!path && !host && !image))
        verdict = worse(verdict, ask(j, subject));
    return verdict;
}

static bool is_relative(const char *command)
{
    return command && command[0] != '/' && strchr(command, '/');
}

/* What leads an address elsewhere, or reaches it by other means: a proxy, certificates,
 * the client's program and options; and what opens a container to this machine. */
static bool is_detour(const mcplug_props *props)
{
    static const char *const texts[] = {"proxy", "caFile", "certFile", "program",
                                        "network"};
    static const char *const lists[] = {"sshOptions", "mounts", "runArgs"};
    const char *insecure = mp_props_get(props, "insecure");

    for (size_t i = 0; i < MP_COUNT(texts); i++)
        if (mp_props_is_set(props, texts[i])) /* what a module does anyway is none */
            return true;
    for (size_t i = 0; i < MP_COUNT(lists); i++)
        if (mp_props_list(props, lists[i])[0])
            return true;
    return mp_props_is_set(props, "insecure") &&
           (!insecure || strcmp(insecure, "false") != 0);
}

/* URLs beside the one that is called so. */
struct urls {
    char **list; /* NULL-ended */
    size_t n, cap;
    bool failed;
};

/* A proxy needs no scheme, and a login for it is no part of where it is. */
static void proxy_place(const char *proxy, char out[URL_MAX + 8])
{
    char text[URL_MAX + 8];

    snprintf(text, sizeof text, "%s%.*s", url_scheme(proxy) ? "" : "http://", URL_MAX,
             proxy);
    url_place(text, out, URL_MAX + 8);
}

static void add_url(void *arg, const char *name, const char *url)
{
    struct urls *urls = arg;
    bool is_proxy = strcmp(name, "proxy") == 0;
    char place[URL_MAX + 8];

    if (strcmp(name, "url") == 0 || !*url || (is_proxy && strcmp(url, "none") == 0))
        return;
    if (is_proxy)
        proxy_place(url, place);
    if (!mp_grow(&urls->list, &urls->cap, urls->n + 2) ||
        !(urls->list[urls->n] = mp_strdup(is_proxy ? place : url)))
        urls->failed = true;
    else
        urls->list[++urls->n] = NULL;
}

/* A probe may have a "url" as well, and that is not the server's. */
static void add_probe_url(void *arg, const char *name, const char *url)
{
    add_url(arg, strcmp(name, "url") == 0 ? "" : name, url);
}

/* The settings of the probe, as they stand in the entry; NULL: it has none. */
static int entry_probe(const struct mp_entry *entry, mcplug_props **out,
                       struct mcplug_error *err)
{
    mp_view probe = mp_view_get(entry->json, "healthProbe");
    mcplug_props *props = mp_view_is_object(probe) ? mp_props_new() : NULL;
    int rc = MCPLUG_OK;

    *out = NULL;
    if (mp_view_is_object(probe))
        rc = props ? mp_props_add_json(props, probe, "name", err) : mp_fail_nomem(err);
    if (rc == MCPLUG_OK)
        *out = mp_move(&props);
    mp_props_free(props);
    return rc;
}

/* The command line, and behind it names of variables; NULL: no memory. */
static const char **words_of(const mcplug_props *props, const char *first,
                             const char *const **env_names)
{
    const char *const *args = mp_props_list(props, "args");
    const char *const *env = mp_props_list(props, "env"); /* name, value, name, .. */
    size_t n = 0, m = 0;

    while (args[n])
        n++;
    while (env[m])
        m++;
    const char **line = mp_alloc((n + 2 + m / 2 + 1) * sizeof *line);
    if (!line)
        return NULL;
    line[0] = first;
    memcpy(line + 1, args, n * sizeof *line);
    for (size_t i = 0; i < m; i += 2)
        line[n + 2 + i / 2] = env[i];
    *env_names = line + n + 2;
    return line;
}

/* `sure`: it is known what it comes to. Else it can be blocked, but who knows if it is
 * allowed? */
static int judge_props(const struct judging *j, const struct mp_entry *entry,
                       const mcplug_props *props, const mcplug_props *probe, bool sure,
                       struct mcplug_error *err)
{
    const char *command = mp_props_get(props, "command"),
               *cwd = mp_props_get(props, "cwd"), *image = mp_props_get(props, "image");
    const char *const *clean_up = mp_props_list(props, "cleanUp"), *const *names = NULL;
    struct urls urls = {.list = NULL};
    /* where its server starts unless it says otherwise; not on another machine */
    char *home = entry && !mp_props_get(props, "host") &&
                         mp_scope_needs_approval(entry->source->scope) &&
                         entry->source->real
                     ? mp_path_dir(entry->source->real)
                     : NULL;
    const char **line = words_of(props, command ? command : image ? image : "", &names);

    mp_props_each_url(props, add_url, &urls);
    if (probe)
        mp_props_each_url(probe, add_probe_url, &urls);
    enum mp_verdict verdict = MP_ALLOWED;
    bool failed = !line || urls.failed;
    if (!failed) {
        struct mp_subject subject = {
            .name = entry ? entry->name : "",
            .command = command || line[1] ? line : NULL,
            .clean_up = clean_up[0] ? clean_up : NULL,
            .env = names,
            .urls = (const char *const *)urls.list,
            .moved = is_relative(command) || is_relative(clean_up[0]) ||
                     (cwd && *cwd && !(home && strcmp(cwd, home) == 0)),
            .detour = is_detour(props) || (probe && is_detour(probe)) ||
                      (image && mp_policy_is_telling(names))};
        verdict = judge_address(j, &subject, props);
    }
    mp_free_list((const char *const *)urls.list);
    mp_free(line);
    mp_free(home);
    if (failed)
        return mp_fail_nomem(err);
    return verdict == MP_ALLOWED || (!sure && verdict == MP_NOT_ALLOWED)
               ? MCPLUG_OK
               : mp_fail(err, MCPLUG_EREFUSED, "%s", mp_verdict_text(verdict));
}

/* Is there a policy to be asked? A broken one is MCPLUG_EREFUSED in `rc`. */
static bool has_policy(const struct mcplug_config *config, int *rc,
                       struct mcplug_error *err)
{
    *rc =
        config->policy_error
            ? mp_fail(err, MCPLUG_EREFUSED,
                      "the enterprise policy cannot be used, so no server is allowed: %s",
                      config->policy_error)
            : MCPLUG_OK;
    return *rc == MCPLUG_OK && config->policy;
}

int mp_config_judge(const struct mcplug_config *config, const struct mp_entry *entry,
                    const mcplug_props *props, const mcplug_props *probe, bool is_found,
                    struct mcplug_error *err)
{
    const struct judging j = {.config = config};
    mcplug_props *own = NULL;
    int rc;

    if (!has_policy(config, &rc, err))
        return rc;
    if (entry && !probe)
        rc = entry_probe(entry, &own, err);
    if (rc == MCPLUG_OK)
        rc = judge_props(&j, entry, props, probe ? probe : own, !is_found, err);
    mp_props_free(own);
    return rc;
}

int mp_config_fence(const struct mcplug_config *config, const struct mp_entry *entry,
                    mcplug_props *props, struct mcplug_error *err)
{
    const struct judging j = {.config = config, .fence = props};
    int rc;

    return has_policy(config, &rc, err) ? judge_props(&j, entry, props, NULL, true, err)
                                        : rc;
}

int mp_config_fence_probe(const struct mcplug_config *config,
                          const struct mp_entry *entry, const mcplug_props *props,
                          mcplug_props *probe, struct mcplug_error *err)
{
    const struct judging j = {.config = config, .fence = probe, .is_probe = true};
    int rc;

    return has_policy(config, &rc, err) ? judge_props(&j, entry, props, probe, true, err)
                                        : rc;
}

/* Settings that no row of the table has, and whose names say what they are. Those that
 * only their module knows are judged with what it declares, when they are used. */
static int put_urls(struct resolver *r, mcplug_props *props, struct mcplug_error *err)
{
    struct mp_walk w = mp_walk_into(r->entry->json);
    mp_view name, value;
    int rc = MCPLUG_OK;

    while (rc == MCPLUG_OK && mp_walk_member(&w, &name, &value)) {
        char *text = mp_key_find(name) ? NULL : mp_view_strdup(name);
        if (text && mp_option_is_url(text, NULL))
            rc = put_all(r, props, text, value, err);
        else if (!text && !mp_key_find(name))
            rc = mp_fail_nomem(err);
        mp_free(text);
    }
    return rc;
}

/* The same of an entry, by what a policy looks at. Variables count once the entry may see
 * them, which is when it is approved. */
static int judge(const struct mp_entry *entry, bool approved, struct mcplug_error *err)
{
    struct resolver r = {.entry = entry,
                         .dir = entry->config->paths.cwd,
                         .is_far = mp_view_get(entry->json, "host").len != 0,
                         .names_only = true};
    const struct judging j = {.config = entry->config};
    int rc;

    if (!has_policy(entry->config, &rc, err))
        return rc;
    mcplug_props *props = mp_props_new(), *probe = NULL;
    mp_str_init(&r.names, NAMES_MAX);
    rc = props ? entry_probe(entry, &probe, err) : mp_fail_nomem(err);
    for (const struct mp_key *k = mp_keys; rc == MCPLUG_OK && k->name; k++) {
        r.literal = !approved || k->ours; /* nothing is put into those */
        if (k->judged)
            rc = put_all(&r, props, k->name, mp_view_get(entry->json, k->name), err);
    }
    r.literal = !approved;
    if (rc == MCPLUG_OK)
        rc = put_urls(&r, props, err);
    if (rc == MCPLUG_OK)
        rc = judge_props(&j, entry, props, probe, approved, err);
    mp_str_clear(&r.names);
    mp_props_free(props);
    mp_props_free(probe);
    return rc;
}

static void note_command(void *arg, const char *name)
{
    bool *found = arg;
    *found = *found || strncmp(name, "cmd:", 4) == 0;
}

enum mcplug_entry_state mcplug_entry_state(const mcplug_entry *entry,
                                           struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (!entry) {
        mp_fail_null(err, "`entry`");
        return MCPLUG_ENTRY_NONE;
    }
    bool approved = !mp_scope_needs_approval(entry->source->scope) ||
                    entry->approval == MCPLUG_APPROVAL_GIVEN;
    bool commands = false;

    if (entry->broken) {
        const struct mp_problem *p = mp_config_problem_of(entry->config, entry);
        mp_fail(err, MCPLUG_ECONFIG, "%s:%zu:%zu: %s: %s", entry->source->path,
                p ? p->at.line : 1, p ? p->at.column : 1, p ? p->path : "",
                p ? p->text : "cannot be used");
        return MCPLUG_ENTRY_BROKEN;
    }
    if (judge(entry, approved, &why) != MCPLUG_OK) {
        mp_fail(err, MCPLUG_EREFUSED, "Cannot use MCP server \"%s\": %s", entry->name,
                why.text);
        return MCPLUG_ENTRY_BLOCKED;
    }
    if (entry->disabled) {
        mp_fail(err, MCPLUG_ECONFIG, "server \"%s\" is disabled in %s", entry->name,
                entry->source->path);
        return MCPLUG_ENTRY_DISABLED;
    }
    if (!approved) /* nobody is asked about what is refused afterwards */
        mcplug_entry_each_name(entry, note_command, &commands);
    if (commands) {
        mp_fail(err, MCPLUG_ECONFIG,
                "server \"%s\" of %s: ${cmd:..} is allowed only in the user's own file, "
                "not in the %s scope",
                entry->name, entry->source->path, mp_scope_name(entry->source->scope));
        return MCPLUG_ENTRY_BROKEN;
    }
    if (!approved) {
        mp_fail(err, MCPLUG_ECONFIG,
                entry->approval == MCPLUG_APPROVAL_CHANGED
                    ? "server \"%s\" of %s has changed since it was approved"
                    : "server \"%s\" of %s has not been approved",
                entry->name, entry->source->path);
        return MCPLUG_ENTRY_NEEDS_APPROVAL;
    }
    return MCPLUG_ENTRY_READY;
}

/* ---- the whole ---- */

int mp_entry_resolve(const struct mp_entry *entry, const struct mcplug_option *options,
                     struct mp_resolved *out, struct mcplug_error *err)
{
    char *dir = dir_of(entry);
    struct resolver r = {.entry = entry, .dir = dir};

    memset(out, 0, sizeof *out);
    mp_str_init(&r.names, NAMES_MAX);
    out->props = mp_props_new();
    r.found = out->variables = mp_props_new();
    int rc = dir && out->props && r.found ? mp_entry_type(entry, &out->type, err)
                                          : mp_fail_nomem(err);
    if (rc == MCPLUG_OK)
        rc = fill(&r, options, out->props, err);
    if (rc == MCPLUG_OK) {
        out->has_secrets = r.has_secrets;
        if (r.no_memory || r.names.failed ||
            (r.names.len && !(out->missing = mp_str_take(&r.names))))
            rc = mp_fail_nomem(err);
    }
    mp_str_clear(&r.names);
    mp_free(dir);
    return rc;
}

int mp_entry_secrets(const struct mp_entry *entry, const struct mcplug_option *options,
                     const mcplug_props *variables, const struct mp_vaults *vaults,
                     mcplug_props **out, struct mcplug_error *err)
{
    char *dir = dir_of(entry);
    struct resolver r = {
        .entry = entry, .vaults = vaults, .known = variables, .dir = dir};
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

/* ---- what it asks for ---- */

/* Calls `fn` for the texts of a setting, which has no other values inside of others. */
static void each_text(mp_view value, void (*fn)(void *arg, const char *text), void *arg)
{
    struct mp_walk w = mp_walk_into(value);
    bool object = mp_view_is_object(value);
    mp_view key, item;
    char *text = mp_view_strdup(value);

    if (text)
        fn(arg, text);
    mp_free(text);
    while (object ? mp_walk_member(&w, &key, &item) : mp_walk_element(&w, &item))
        if (mp_view_is_string(item))
            each_text(item, fn, arg);
}

static int ignore_secret(void *arg, const char *kind, const char *name,
                         struct mp_str *out, struct mcplug_error *err)
{
    (void)arg, (void)kind, (void)name, (void)out, (void)err;
    return MCPLUG_OK;
}

static void note_missing(void *arg, const char *text)
{
    const struct mp_expansion e = {variable, ignore_secret, missing, arg};
    struct mp_str out;

    mp_str_init(&out, MP_EXPAND_MAX);
    mp_expand(&e, text, &out, NULL);
    mp_str_clear(&out);
}

char *mcplug_entry_missing(const mcplug_entry *entry)
{
    static const char *const keys[] = {"command", "args", "env",    "cwd",
                                       "cleanUp", "url",  "headers"};
    struct resolver r = {.entry = entry};

    mp_str_init(&r.names, NAMES_MAX);
    for (size_t i = 0; entry && i < MP_COUNT(keys); i++)
        each_text(mp_view_get(entry->json, keys[i]), note_missing, &r);
    char *names = r.names.len ? mp_str_take(&r.names) : NULL;
    mp_str_clear(&r.names);
    return names;
}

struct names {
    void (*fn)(void *arg, const char *name);
    void *arg;
};

static void each_name(void *arg, const char *text)
{
    const struct names *names = arg;
    mp_expand_each(text, names->fn, names->arg);
}

void mcplug_entry_each_name(const mcplug_entry *entry,
                            void (*fn)(void *arg, const char *name), void *arg)
{
    if (!entry || !fn)
        return;
    struct names names = {fn, arg};
    struct mp_walk w = mp_walk_into(entry->json);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value)) {
        const struct mp_key *known = mp_key_find(key);
        if (!(known && known->ours) && !mp_key_is_foreign(key))
            each_text(value, each_name, &names);
    }
}
