#include "config/policy.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "config/file.h"
#include "config/policy_url.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40
#define SHOWN "%.200s" /* of a path in a message */

struct rule {
    char *name;               /* NULL: any */
    char **command;           /* NULL-ended; NULL: any */
    struct mp_url_parts *url; /* NULL: any */
};

struct rules {
    struct rule *list;
    size_t n;
    bool given; /* the member is there */
};

struct mp_policy {
    struct rules allow, deny;
};

/* ---- memory ---- */

static void rules_clear(struct rules *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        struct rule *rule = &rules->list[i];
        mp_free_list((const char *const *)rule->command);
        mp_free(rule->name);
        if (rule->url)
            mp_url_parts_clear(rule->url);
        mp_free(rule->url);
    }
    mp_free(rules->list);
}

void mp_policy_free(struct mp_policy *policy)
{
    if (!policy)
        return;
    rules_clear(&policy->allow);
    rules_clear(&policy->deny);
    mp_free(policy);
}

/* ---- reading the text ---- */

struct reading {
    mp_view text;
    struct mp_place *at;
    struct mcplug_error *err;
};

#define WRONG(r, part, ...)                                                              \
    (place(r, part), mp_fail((r)->err, MCPLUG_ECONFIG, __VA_ARGS__))

static void place(struct reading *r, mp_view part)
{
    if (r->at)
        *r->at = mp_place_of(r->text, (size_t)(part.data - r->text.data));
}

static int read_string(struct reading *r, mp_view value, const char *key, char **out)
{
    struct mp_str text;

    if (!mp_view_is_string(value))
        return WRONG(r, value, "\"%s\" must be a string", key);
    mp_str_init(&text, value.len * 3);
    bool ok = mp_str_add_view(&text, value) && mp_str_reserve(&text, 0);
    bool has_nul = ok && memchr(text.data, '\0', text.len);
    *out = ok && !has_nul ? mp_str_take(&text) : NULL;
    mp_str_clear(&text);
    if (has_nul)
        return WRONG(r, value, "\"%s\" has a NUL character", key);
    return *out ? MCPLUG_OK : mp_fail_nomem(r->err);
}

static int read_command(struct reading *r, mp_view value, struct rule *rule)
{
    struct mp_walk w = mp_walk_into(value);
    mp_view word;
    size_t n = 0;
    int code = MCPLUG_OK;

    if (!mp_view_is_array(value) || mp_view_count(value) == 0)
        return WRONG(r, value,
                     "\"command\" must be a list of strings, the command first");
    rule->command = mp_alloc((mp_view_count(value) + 1) * sizeof *rule->command);
    if (!rule->command)
        return mp_fail_nomem(r->err);
    while (code == MCPLUG_OK && mp_walk_element(&w, &word))
        code = read_string(r, word, "command", &rule->command[n++]);
    if (code == MCPLUG_OK && !rule->command[0][0])
        return WRONG(r, value, "\"command\" begins with an empty string");
    return code;
}

static int read_url(struct reading *r, mp_view value, struct rule *rule)
{
    char *text = NULL;
    int code = read_string(r, value, "url", &text);

    if (code == MCPLUG_OK) {
        rule->url = mp_alloc(sizeof *rule->url);
        const char *why = rule->url ? mp_pattern_read(text, rule->url) : NULL;
        if (!rule->url)
            code = mp_fail_nomem(r->err);
        else if (why)
            code = WRONG(r, value, "\"url\" %s", why);
    }
    mp_free(text);
    return code;
}

static int read_rule(struct reading *r, mp_view value, struct rule *rule)
{
    struct mp_walk w = mp_walk_into(value);
    mp_view key, part;
    int code = MCPLUG_OK;

    if (!mp_view_is_object(value))
        return WRONG(r, value, "a rule must be an object");
    if (mp_view_count(value) == 0)
        return WRONG(r, value, "a rule without a condition; use name, command or url");
    while (code == MCPLUG_OK && mp_walk_member(&w, &key, &part)) {
        if (mp_view_equals(key, "name"))
            code = mp_view_equals(part, "") ? WRONG(r, part, "\"name\" is empty")
                                            : read_string(r, part, "name", &rule->name);
        else if (mp_view_equals(key, "command"))
            code = read_command(r, part, rule);
        else if (mp_view_equals(key, "url"))
            code = read_url(r, part, rule);
        else
            code = WRONG(r, key, "%.*s is unknown; a rule has name, command and url",
                         key.len > 60 ? 60 : (int)key.len, (const char *)key.data);
    }
    return code;
}

static int read_rules(struct reading *r, mp_view value, const char *key,
                      struct rules *rules)
{
    struct mp_walk w = mp_walk_into(value);
    mp_view part;
    int code = MCPLUG_OK;

    if (!mp_view_is_array(value))
        return WRONG(r, value, "\"%s\" must be a list of rules", key);
    rules->given = true;
    rules->list = mp_alloc(mp_view_count(value) * sizeof *rules->list);
    if (!rules->list)
        return mp_fail_nomem(r->err);
    while (code == MCPLUG_OK && mp_walk_element(&w, &part))
        code = read_rule(r, part, &rules->list[rules->n++]);
    return code;
}

static int read_policy(struct reading *r, struct mp_policy *policy)
{
    mp_view all = mp_view_trim(r->text), key, value;
    int code = MCPLUG_OK;

    if (!mp_view_is_object(all))
        return WRONG(r, all, "a policy is an object with \"allow\" and \"deny\"");
    struct mp_walk w = mp_walk_into(all);
    while (code == MCPLUG_OK && mp_walk_member(&w, &key, &value)) {
        if (mp_view_equals(key, "allow"))
            code = read_rules(r, value, "allow", &policy->allow);
        else if (mp_view_equals(key, "deny"))
            code = read_rules(r, value, "deny", &policy->deny);
        else
            code = WRONG(r, key, "%.*s is unknown; a policy has allow and deny",
                         key.len > 60 ? 60 : (int)key.len, (const char *)key.data);
    }
    return code;
}

int mp_policy_parse(mp_view text, struct mp_policy **out, struct mp_place *at,
                    struct mcplug_error *err)
{
    struct mp_place somewhere = {1, 1};
    struct reading r = {.text = text, .at = at ? at : &somewhere, .err = err};
    struct mp_policy *policy = NULL;

    int code = mp_json_check(text, r.at, err);
    if (code != MCPLUG_OK)
        return code;
    policy = mp_alloc(sizeof *policy);
    code = policy ? read_policy(&r, policy) : mp_fail_nomem(err);
    if (code == MCPLUG_OK)
        *out = mp_move(&policy);
    mp_policy_free(policy);
    return code;
}

/* ---- reading the file ---- */

/* `what` is "" or names the directory that `st` is of, with a blank behind it. */
static int check_owner(const char *path, const char *what, const struct stat *st,
                       uid_t owner, struct mcplug_error *err)
{
    if (st->st_uid != owner)
        return mp_fail(err, MCPLUG_ECONFIG, SHOWN ": %sbelongs to user %ld, not to %s",
                       path, what, (long)st->st_uid, owner ? "its owner" : "root");
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return mp_fail(err, MCPLUG_ECONFIG, SHOWN ": %s%s (mode %04o)", path, what,
                       what[0] ? "is writable by users other than its owner"
                               : "it is writable by users other than its owner",
                       (unsigned)st->st_mode & 07777);
    return MCPLUG_OK;
}

/* Leaves the directory of `path` in `out`, with a slash at its end or empty. */
static size_t dir_of(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash + 1 - path) : 0;

    memcpy(out, path, len);
    out[len] = '\0';
    return len;
}

/* Whoever can write the directory can put another file there. That goes for the
 * directory of every link on the way, too. */
static int check_dirs(const char *path, uid_t owner, struct mcplug_error *err)
{
    char at[PATH_MAX], dir[PATH_MAX], to[PATH_MAX], what[180];
    struct stat st;
    int n = snprintf(at, sizeof at, "%s", path);

    if (n < 0 || (size_t)n >= sizeof at)
        return mp_fail(err, MCPLUG_ECONFIG, SHOWN ": the path is too long", path);
    for (int links = 0; links < LINKS_MAX; links++) {
        size_t len = dir_of(at, dir);
        if (stat(len ? dir : ".", &st) != 0)
            return mp_fail_os(err, MCPLUG_EIO, errno, SHOWN ": its directory", path);
        snprintf(what, sizeof what, "its directory %.160s ", len ? dir : ".");
        int r = check_owner(path, what, &st, owner, err);
        if (r != MCPLUG_OK)
            return r;
        ssize_t got = readlink(at, to, sizeof to - 1);
        if (got < 0)
            return MCPLUG_OK; /* no link: the file, or what open() will complain about */
        to[got] = '\0';
        n = snprintf(at, sizeof at, "%s%s", to[0] == '/' ? "" : dir, to);
        if (n < 0 || (size_t)n >= sizeof at)
            return mp_fail(err, MCPLUG_ECONFIG, SHOWN ": the path is too long", path);
    }
    return mp_fail(err, MCPLUG_ECONFIG, SHOWN ": too many links", path);
}

int mp_policy_read(const char *path, uid_t owner, struct mp_policy **out,
                   struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_place at = {1, 1};
    struct mp_file file;
    struct stat st;

    if (lstat(path, &st) != 0) {
        if (errno != ENOENT)
            return mp_fail_os(err, MCPLUG_EIO, errno, SHOWN ": cannot be read", path);
        *out = NULL;
        return MCPLUG_OK;
    }
    int r = check_dirs(path, owner, err);
    if (r != MCPLUG_OK)
        return r;
    r = mp_file_read(path, &file, err);
    if (r == MCPLUG_OK && !file.exists) /* a link; who removes its file gains nothing */
        r = mp_fail(err, MCPLUG_ECONFIG, SHOWN ": leads to a file that does not exist",
                    path);
    if (r == MCPLUG_OK)
        r = check_owner(path, "", &file.st, owner, err);
    if (r == MCPLUG_OK) {
        mp_view text = mp_bytes(file.text.len ? file.text.data : "", file.text.len);
        r = mp_policy_parse(text, out, &at, &why);
        if (r == MCPLUG_ENOMEM)
            mp_fail_nomem(err);
        else if (r != MCPLUG_OK)
            mp_fail(err, r, SHOWN ":%zu:%zu: %s", path, at.line, at.column, why.text);
    }
    mp_file_clear(&file);
    return r;
}

/* ---- judging ---- */

/* Variables that make a command line run another program, or that program other code, or
 * that lead it over another wire: where programs, libraries and plugins are looked for,
 * what interpreters read before the script, where launchers such as npx and uvx get what
 * they start, which proxy, certificates, resolver or engine is asked, and files that say
 * any of this. Not what a program of its own accord takes for an address of its service:
 * DATABASE_URL. * stands for any characters. */
/* clang-format off */
static const char *const telling[] = {
    /* the system's */
    "PATH", "LD_*", "DYLD_*", "LIBPATH", "SHLIB_PATH", "GCONV_PATH", "GLIBC_TUNABLES",
    "LOCPATH", "HOME", "IFS", "XDG_CONFIG_*", "XDG_DATA_*", "XDG_*_HOME",
    "XDG_RUNTIME_DIR", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "SSL_CERT_*",
    "SSLKEYLOGFILE", "GTK_*MODULES", "GTK_PATH", "GIO_*MODULE*", "GST_PLUGIN_*",
    "GST_REGISTRY*", "QT_*PLUGIN*", "DBUS_*_ADDRESS", "KRB5_CONFIG", "KRB5_TRACE",
    "ODBCINI", "ODBCSYSINI",
    /* who is asked for a name, and by whom a request goes */
    "*_PROXY", "NODE_USE_*", "HOSTALIASES", "RES_OPTIONS", "LOCALDOMAIN",
    /* certificates of others */
    "CURL_*", "*_CA_BUNDLE", "*_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    /* shells, and what programs run for people */
    "BASH_*", "ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND",
    "ZDOTDIR", "FPATH", "EDITOR", "*_EDITOR", "VISUAL", "PAGER", "*PAGER", "BROWSER",
    "LESSOPEN", "LESSCLOSE", "*_ASKPASS", "*_ASKPASS_*",
    /* interpreters */
    "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_*", "NODE_TLS_*", "NODE_COMPILE_CACHE",
    "ELECTRON_RUN_AS_NODE", "TS_NODE_*", "TSX_*", "BUN_*", "DENO_*",
    "PYTHON*", "VIRTUAL_ENV", "PERL*", "RUBY*", "GEM_*", "BUNDLE_*", "BUNDLER_*",
    "LUA_*", "PHPRC", "PHP_INI_*", "COMPOSER_*", "CLASSPATH", "JAVA_*", "_JAVA_*",
    "JDK_*", "MAVEN_*", "GRADLE_*", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS",
    "DOTNET_SHARED_STORE", "DOTNET_ROOT*", "NUGET_*", "CORECLR_*", "COR_*", "ERL_*",
    "ELIXIR_*", "MIX_*", "JULIA_*", "R_PROFILE*", "R_ENVIRON*", "R_LIBS*", "R_HOME",
    "GUILE_*", "TCLLIBPATH", "CAML_LD_*", "OCAMLPATH", "EMACSLOADPATH",
    /* launchers, and what they fetch and build with */
    "NPM_CONFIG_*", "PREFIX", "YARN_*", "PNPM_*", "COREPACK_*", "NVM_*", "FNM_*",
    "VOLTA_*", "ASDF_*", "MISE_*", "UV_*", "PIP_*", "PIPX_*", "POETRY_*", "PDM_*",
    "PIPENV_*", "HATCH_*", "CONDA_*", "MAMBA_*", "PYENV_*", "RBENV_*", "CARGO_*",
    "RUSTUP_*", "RUSTC*", "RUSTFLAGS", "GOPROXY", "GOFLAGS", "GOPATH", "GOBIN", "GOROOT",
    "GOENV", "GOTOOLCHAIN", "GONOSUMDB", "GONOPROXY", "GOSUMDB", "GOPRIVATE",
    "GOINSECURE", "GOVCS", "GOAUTH", "NIX_*", "HOMEBREW_*", "MAKE", "MAKEFLAGS",
    "MAKEFILES", "GNUMAKEFLAGS", "CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CPPFLAGS",
    "CXXFLAGS", "LDFLAGS", "CMAKE_*", "PKG_CONFIG*", "GIT_*", "SSH_SK_*",
    /* browsers that servers start */
    "*_EXECUTABLE_PATH", "*_DOWNLOAD_HOST", "*_DOWNLOAD_BASE_URL", "*_BROWSERS_PATH",
    "CHROME_PATH", "CHROME_BIN", "FIREFOX_BIN",
    /* engines and clouds, and files that name programs and endpoints for them */
    "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_TLS*", "DOCKER_CERT_PATH",
    "DOCKER_CONTENT_TRUST*", "BUILDKIT_HOST", "CONTAINER_HOST", "CONTAINERD_*",
    "CONTAINERS_*", "PODMAN_*", "REGISTRY_AUTH_FILE", "KUBECONFIG", "KUBERNETES_SERVICE_*",
    "HELM_*", "TF_CLI_*", "TF_PLUGIN_*", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ENDPOINT_URL*", "AWS_CONTAINER_*", "AWS_EC2_METADATA_*",
    "AWS_WEB_IDENTITY_TOKEN_FILE", "BOTO_CONFIG", "CLOUDSDK_*",
    "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_EXTERNAL_ACCOUNT_*", "GCE_METADATA_*",
    "AZURE_CONFIG_DIR", "AZURE_AUTHORITY_HOST", "AZURE_EXTENSION_DIR", "MSI_ENDPOINT",
    "IDENTITY_ENDPOINT",
};
/* What these take in, and is only words. */
static const char *const harmless[] = {
    "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_TERMINAL_PROMPT",
};
/* clang-format on */

static bool is_among(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (mp_glob(list[i], name, true))
            return true;
    return false;
}

/* In either case, for some are read in both; and a = ends the name that a process sees,
 * whatever it was meant to be. */
static bool is_telling(const char *name)
{
    char copy[256];

    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(name, "="), name);
    return is_among(telling, MP_COUNT(telling), copy) &&
           !is_among(harmless, MP_COUNT(harmless), copy);
}

bool mp_policy_is_telling(const char *const *env)
{
    for (size_t i = 0; env && env[i]; i++)
        if (is_telling(env[i]))
            return true;
    return false;
}

static bool command_fits(const struct rule *rule, const struct mp_subject *subject,
                         bool deny)
{
    size_t i = 0;

    if (!subject->command)
        return false;
    while (rule->command[i] && subject->command[i] &&
           strcmp(rule->command[i], subject->command[i]) == 0)
        i++;
    if (rule->command[i] || subject->command[i] || (!deny && subject->moved))
        return false;
    return deny || !mp_policy_is_telling(subject->env);
}

/* `url` is NULL when the subject's can't be read. */
static bool rule_fits(const struct rule *rule, const struct mp_subject *subject,
                      const struct mp_url_parts *url, bool deny)
{
    if (rule->name && !mp_glob(rule->name, subject->name ? subject->name : "", false))
        return false;
    if (rule->command && !command_fits(rule, subject, deny))
        return false;
    if (rule->url && (!subject->url || (!deny && subject->detour)))
        return false;
    if (rule->url && !(url ? mp_pattern_fits(rule->url, url, deny) : deny))
        return false;
    if (deny || (!rule->command && !rule->url))
        return true;
    /* One that has both is not let in by the half that the rule is about. */
    return (rule->command || !subject->command) && (rule->url || !subject->url);
}

static bool is_denied(const struct rules *rules, const struct mp_subject *subject,
                      const struct mp_url_parts *url)
{
    for (size_t i = 0; i < rules->n; i++)
        if (rule_fits(&rules->list[i], subject, url, true))
            return true;
    return false;
}

/* With a clean-up command it takes a rule for that, too, or one about the name alone. */
static bool is_allowed(const struct rules *rules, const struct mp_subject *subject,
                       const struct mp_subject *after, const struct mp_url_parts *url)
{
    bool fits = false, clean_up_fits = !subject->clean_up;

    for (size_t i = 0; i < rules->n; i++) {
        const struct rule *rule = &rules->list[i];
        bool about_name = !rule->command && !rule->url;
        if (rule_fits(rule, subject, url, false)) {
            if (about_name)
                return true;
            fits = true;
        }
        if (rule->command && rule_fits(rule, after, url, false))
            clean_up_fits = true;
    }
    return fits && clean_up_fits;
}

/* One of the other URLs is let in by a rule that is about URLs, whether or not that is
 * about the command as well. */
static bool is_allowed_beside(const struct rules *rules, const struct mp_subject *beside,
                              const struct mp_url_parts *url)
{
    struct mp_subject alone = *beside;

    alone.command = NULL;
    for (size_t i = 0; i < rules->n; i++) {
        const struct rule *rule = &rules->list[i];
        if ((rule->url || !rule->command) &&
            (rule_fits(rule, beside, url, false) || rule_fits(rule, &alone, url, false)))
            return true;
    }
    return false;
}

static enum mp_verdict judge_beside(const struct mp_policy *policy,
                                    const struct mp_subject *subject, const char *text)
{
    struct mp_url_parts parts = {.memory = NULL}, *url = NULL;
    struct mp_subject beside = *subject;
    enum mp_verdict verdict = MP_ALLOWED;

    beside.url = text;
    if (!mp_subject_url_read(text, &parts))
        url = &parts;
    if (is_denied(&policy->deny, &beside, url))
        verdict = MP_BLOCKED;
    else if (policy->allow.given && !is_allowed_beside(&policy->allow, &beside, url))
        verdict = MP_NOT_ALLOWED;
    mp_url_parts_clear(&parts);
    return verdict;
}

enum mp_verdict mp_policy_judge(const struct mp_policy *policy,
                                const struct mp_subject *subject)
{
    struct mp_url_parts parts = {.memory = NULL}, *url = NULL;
    struct mp_subject after = *subject; /* what is left to run when it has ended */
    enum mp_verdict verdict = MP_ALLOWED;

    if (!policy)
        return MP_ALLOWED;
    if (subject->url && !mp_subject_url_read(subject->url, &parts))
        url = &parts;
    after.command = subject->clean_up;
    if (is_denied(&policy->deny, subject, url) || is_denied(&policy->deny, &after, url))
        verdict = MP_BLOCKED;
    else if (policy->allow.given && !is_allowed(&policy->allow, subject, &after, url))
        verdict = MP_NOT_ALLOWED;
    mp_url_parts_clear(&parts);
    for (size_t i = 0; subject->urls && subject->urls[i]; i++) {
        enum mp_verdict other = judge_beside(policy, subject, subject->urls[i]);
        verdict = other > verdict ? other : verdict;
    }
    return verdict;
}

static bool addresses_for(const struct mp_policy *policy,
                          const struct mp_subject *subject, const char *text,
                          bool (*add)(void *arg, const char *address), void *arg)
{
    char found[MP_RULE_ADDRESSES][MP_RULE_ADDRESS];
    struct mp_url_parts url = {.memory = NULL};
    bool ok = true, readable = text && !mp_subject_url_read(text, &url);

    for (size_t i = 0; readable && i < policy->deny.n; i++) {
        const struct rule *rule = &policy->deny.list[i];
        const char *name = subject->name ? subject->name : "";
        if (!rule->url || (rule->name && !mp_glob(rule->name, name, false)) ||
            (rule->command && !command_fits(rule, subject, true)))
            continue;
        size_t n = mp_pattern_addresses(rule->url, &url, found);
        for (size_t k = 0; ok && k < n; k++)
            ok = add(arg, found[k]);
    }
    mp_url_parts_clear(&url);
    return ok;
}

bool mp_policy_addresses(const struct mp_policy *policy, const struct mp_subject *subject,
                         bool (*add)(void *arg, const char *address), void *arg)
{
    bool ok = addresses_for(policy, subject, subject->url, add, arg);

    for (size_t i = 0; ok && subject->urls && subject->urls[i]; i++)
        ok = addresses_for(policy, subject, subject->urls[i], add, arg);
    return ok;
}

const char *mp_verdict_text(enum mp_verdict verdict)
{
    static const char *const texts[] = {
        [MP_ALLOWED] = "",
        [MP_NOT_ALLOWED] = "not allowed by enterprise policy",
        [MP_BLOCKED] = "server is explicitly blocked by enterprise policy",
    };
    return texts[verdict];
}
