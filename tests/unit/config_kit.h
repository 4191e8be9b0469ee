/* For the suites about the configuration: a home, a project and an administrator of the
 * test's own, below one temporary directory. */
#ifndef CONFIG_KIT_H
#define CONFIG_KIT_H

#include "config/config.h"
#include "plugin/props.h"

#include "base/mem.h"
#include "file_kit.h"

#include <limits.h>

#define USER "home/.config/mcplug/settings.json"
#define APPROVALS "home/.local/state/mcplug/approvals.json"
#define LOCAL "project/.mcplug.local.json"
#define PROJECT "project/.mcp.json"
#define ABOVE ".mcp.json"
#define MANAGED "etc/managed.json"
#define POLICY "etc/policy.json"

static struct mcplug_config *config;
static uid_t installed_owner;

/* ---- in place of core/config/installed.c ---- */

const char *mp_installed_system_dir(void)
{
    static char path[sizeof top + 8];
    snprintf(path, sizeof path, "%s/etc", top);
    return path;
}

const char *mp_installed_package_dir(void)
{
    static char path[sizeof top + 16];
    snprintf(path, sizeof path, "%s/servers.d", top);
    return path;
}

uid_t mp_installed_owner(void)
{
    return installed_owner;
}

/* ---- files ---- */

/* The text with " for ', until 31 others were asked for. */
static inline const char *json(const char *text)
{
    static char texts[32][8192];
    static unsigned n;
    char *copy = texts[n++ % 32];
    size_t len = strlen(text);

    ck_assert_uint_lt(len, sizeof texts[0]);
    for (size_t i = 0; i <= len; i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    return copy;
}

static inline void make_dirs(const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%s", at(name));
    for (char *p = path + strlen(top) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
        *p = '/';
    }
}

/* Writes a file with " for '. */
static inline void give(const char *name, const char *text)
{
    make_dirs(name);
    put(name, json(text), 0600);
}

static inline void world(void)
{
    char real[PATH_MAX];

    ck_assert_ptr_nonnull(realpath(top, real));
    ck_assert_uint_lt(strlen(real), sizeof top);
    memcpy(top, real, strlen(real) + 1);
    installed_owner = geteuid();
    make_dirs("home/");
    make_dirs("etc/");
    make_dirs("servers.d/");
    make_dirs("project/");
    ck_assert_int_eq(chdir(at("project")), 0);
    setenv("HOME", at("home"), 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CACHE_HOME");
}

static inline void unload(void)
{
    mcplug_config_free(config);
    config = NULL;
    ck_assert_int_eq(chdir("/"), 0);
}

/* ---- configurations ---- */

static inline bool load_with(const char *const *dynamic, bool strict)
{
    struct mcplug_config_options options = {
        .struct_size = sizeof options, .strict = strict, .more = dynamic};

    mcplug_config_free(config);
    memset(&err, 0, sizeof err);
    config = mcplug_config_load(&options, &err);
    return config != NULL;
}

static inline void load(void)
{
    ck_assert_msg(load_with(NULL, false), "%s", err.text);
}

static inline struct mp_entry *entry(const char *name)
{
    struct mp_entry *e = mcplug_entry_find(config, name);
    ck_assert_msg(e != NULL, "no server %s", name);
    return e;
}

static inline int no_vault(void *arg, const char *vault, const char *name,
                           struct mp_str *out, struct mcplug_error *why)
{
    (void)arg, (void)name, (void)out;
    return mp_fail(why, MCPLUG_ENOTSUP, "there is no vault \"%s\"", vault);
}

/* As core/connect does it: judged, resolved, and with its secrets. */
static inline int resolve_entry(const struct mp_entry *e,
                                const struct mcplug_option *options,
                                const struct mp_vaults *vaults, struct mp_resolved *out,
                                struct mcplug_error *why)
{
    static const struct mp_vaults none = {no_vault, NULL};
    mcplug_props *props = NULL;
    int r = MCPLUG_OK;

    memset(out, 0, sizeof *out);
    if (mcplug_entry_state(e, why) != MCPLUG_ENTRY_READY)
        r = MCPLUG_ECONFIG;
    if (r == MCPLUG_OK)
        r = mp_entry_resolve(e, options, out, why);
    if (r == MCPLUG_OK && out->has_secrets) {
        r = mp_entry_secrets(e, options, out->variables, vaults ? vaults : &none, &props,
                             why);
        if (r == MCPLUG_OK) {
            mp_props_free(out->props);
            out->props = props;
        }
    }
    return r;
}

static inline enum mcplug_entry_state state_of(const char *name)
{
    memset(&err, 0, sizeof err);
    enum mcplug_entry_state state = mcplug_entry_state(entry(name), &err);
    ck_assert_int_eq(err.code, state == MCPLUG_ENTRY_READY     ? MCPLUG_OK
                               : state == MCPLUG_ENTRY_BLOCKED ? MCPLUG_EREFUSED
                                                               : MCPLUG_ECONFIG);
    ck_assert((state == MCPLUG_ENTRY_READY) == (err.text[0] == '\0'));
    return state;
}

#define HAS(text, part)                                                                  \
    ck_assert_msg(strstr((text), (part)) != NULL, "no \"%s\" in: %s", (part), (text))

/* All problems, a line each. The paths in them are without the test's directory. */
static inline const char *problems(void)
{
    static char all[1 << 16];
    size_t len = 0;

    all[0] = '\0';
    for (size_t i = 0; i < config->n_problems && len < sizeof all - 2048; i++) {
        const char *text = mp_problem_text(&config->problems[i]);
        size_t skip = strncmp(text, top, strlen(top)) == 0 ? strlen(top) + 1 : 0;
        len += (size_t)snprintf(all + len, sizeof all - len, "%s%s\n",
                                config->problems[i].is_warning ? "(warning) " : "",
                                text + skip);
    }
    return all;
}

#endif
