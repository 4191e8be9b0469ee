/* What an entry asks for, and secrets that it should have asked for. */
#include "cli/doctor/doctor.h"

#include "base/mem.h"
#include "base/path.h"
#include "cli/base/packages.h"
#include "cli/base/entries.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 2000              /* bytes of a list of names */
#define WHOLE_MAX ((size_t)2 << 20) /* of one member of an entry */

struct visit {
    struct cli_doctor *d;
    const struct mcplug_entry_info *entry;
    const char *dir, *key; /* the member that is visited */
    char about[MCPLUG_NAME_MAX + 16];
    const json_t *options; /* of its transport; NULL: not known */
    struct mp_str missing; /* "A, B" */
};

/* Is it in "A, B" already? */
static bool listed(const struct mp_str *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list->data; at && *at;) {
        size_t n = strcspn(at, ",");
        if (n == len && memcmp(at, name, n) == 0)
            return true;
        at += n + strspn(at + n, ", ");
    }
    return false;
}

static void list_add(struct mp_str *list, const char *name)
{
    if (!listed(list, name) && list->len + strlen(name) + 2 < NAMES_MAX)
        mp_str_addf(list, "%s%s", list->len ? ", " : "", name);
}

/* ---- only the text ---- */

static void not_set(void *arg, const char *name)
{
    bool *incomplete = arg;
    (void)name;
    *incomplete = true;
}

static void not_asked(void *arg, const char *kind, const char *name)
{
    bool *incomplete = arg;
    (void)kind, (void)name;
    *incomplete = true;
}

char *cli_doctor_expand(mp_view text)
{
    bool incomplete = false;
    const struct mcplug_expansion e = {.struct_size = sizeof e,
                                       .arg = &incomplete,
                                       .missing = not_set,
                                       .secret = not_asked};
    char *raw = mp_view_strdup(text);
    char *result = raw ? mcplug_expand(raw, &e, NULL) : NULL;

    mp_free(raw);
    if (!incomplete)
        return result;
    mcplug_text_free(result);
    return NULL;
}

/* ---- secrets that are asked for ---- */

/* give: the file that ${file:NAME} means; NULL: there is no home. */
static char *secret_path(const struct visit *v, const char *name)
{
    const char *home = v->d->cli->paths.home;
    if (name[0] == '~' && name[1] == '/')
        return home ? mp_path_join(home, name + 2) : NULL;
    return name[0] == '/' ? mp_strdup(name) : mp_path_join(v->dir, name);
}

static void check_file(struct visit *v, const char *name)
{
    char *path = secret_path(v, name);
    struct stat st;

    if (!path || stat(path, &st) != 0 || access(path, R_OK) != 0) {
        cli_doctor_note(v->d, CLI_DOUBTFUL, v->about, "${file:%s} can't be read: %s",
                        name, path ? strerror(errno) : "there is no home directory");
        cli_doctor_todo(v->d, "Put the secret into that file, with chmod 600.");
    } else if (!S_ISREG(st.st_mode)) {
        cli_doctor_note(v->d, CLI_DOUBTFUL, v->about, "${file:%s} is not a regular file",
                        name);
        cli_doctor_todo(v->d, "Put the secret into a file of its own.");
    } else if (st.st_mode & S_IROTH) {
        cli_doctor_note(v->d, CLI_DOUBTFUL, v->about, "everyone can read ${file:%s}",
                        name);
        cli_doctor_todo(v->d, "chmod 600 %s", path);
    }
    mp_free(path);
}

/* The vaults that packages bring. */
static void name_vaults(const struct visit *v, struct mp_str *out)
{
    size_t i;
    json_t *one;

    json_array_foreach(v->d->packages, i, one)
    {
        const char *kind = json_string_value(json_object_get(one, "kind"));
        if (strcmp(kind, "vault") == 0)
            mp_str_addf(out, ", and with the package %s ${%s:..}",
                        json_string_value(json_object_get(one, "package")),
                        json_string_value(json_object_get(one, "name")));
    }
}

static void check_vault(struct visit *v, const char *kind)
{
    const char *package = cli_package_of(v->d->packages, "vault", kind);
    struct mp_str others;

    if (cli_doctor_feature(v->d, "vault", kind, NULL))
        return;
    cli_doctor_note(v->d, CLI_WRONG, v->about,
                    "%s uses ${%s:..}, but no module offers the vault \"%s\"", v->key,
                    kind, kind);
    mp_str_init(&others, 1024);
    name_vaults(v, &others);
    if (package)
        cli_doctor_todo(v->d, "Install the package %s.", package);
    else
        cli_doctor_todo(v->d, "Available are ${file:..} and ${cmd:..}%s.",
                        others.data ? others.data : "");
    mp_str_clear(&others);
}

static void on_secret(void *arg, const char *kind, const char *name)
{
    struct visit *v = arg;
    enum mcplug_scope scope = v->entry->scope;

    if (strcmp(v->key, "env") != 0 && strcmp(v->key, "headers") != 0) {
        cli_doctor_note(
            v->d, CLI_WRONG, v->about,
            "%s has ${%s:..}, which is allowed only in \"env\" and \"headers\"", v->key,
            kind);
        cli_doctor_todo(v->d, "Pass the secret in one of these.");
    } else if (strcmp(kind, "file") == 0) {
        check_file(v, name);
    } else if (strcmp(kind, "cmd") != 0) {
        check_vault(v, kind);
    } else if (scope != MCPLUG_SCOPE_USER && scope != MCPLUG_SCOPE_ENTERPRISE) {
        cli_doctor_note(v->d, CLI_WRONG, v->about,
                        "%s has ${cmd:..}, which is allowed only in your user file, not "
                        "in the %s scope",
                        v->key, cli_scope_name(scope));
        cli_doctor_todo(v->d, "Use a variable, or move the server to the user scope.");
    }
}

static void on_missing(void *arg, const char *name)
{
    struct visit *v = arg;
    list_add(&v->missing, name);
}

/* ---- all texts of an entry ---- */

static void visit_text(struct visit *v, mp_view value)
{
    const struct mcplug_expansion e = {
        .struct_size = sizeof e, .arg = v, .missing = on_missing, .secret = on_secret};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *text = mp_view_strdup(value);

    if (text && strstr(text, "${")) {
        char *expanded = mcplug_expand(text, &e, &err);
        if (!expanded) {
            cli_doctor_note(v->d, CLI_WRONG, v->about, "%s: %s", v->key, err.text);
            cli_doctor_todo(v->d, "Correct %s, line %zu.", v->entry->file,
                            v->entry->line);
        }
        mcplug_text_free(expanded);
    }
    mp_free(text);
}

/* What its transport does not know is not expanded. */
static bool is_option(const struct visit *v, const char *key)
{
    size_t i;
    json_t *option;
    json_array_foreach(v->options, i, option)
    {
        const char *name = json_string_value(json_object_get(option, "name"));
        if (name && strcmp(name, key) == 0)
            return true;
    }
    return v->options == NULL;
}

static void visit_member(struct visit *v, mp_view value)
{
    struct mp_walk w = mp_walk_into(value);
    mp_view key, item;

    if (mp_view_is_string(value))
        visit_text(v, value);
    else if (mp_view_is_object(value))
        while (mp_walk_member(&w, &key, &item))
            visit_text(v, item);
    else if (mp_view_is_array(value))
        while (mp_walk_element(&w, &item))
            visit_text(v, item);
}

static const json_t *options_of(struct cli_doctor *d,
                                const struct mcplug_entry_info *entry)
{
    mp_view json = mp_bytes(entry->json, entry->json_len);
    const json_t *feature = NULL;
    char *url = NULL;

    if (mp_view_get(json, "type").len || mp_view_get(json, "command").len) {
        feature = cli_doctor_feature(d, "transport", entry->type, NULL);
        if (!feature)
            feature = cli_doctor_feature(d, "locator", entry->type, NULL);
    } else if ((url = cli_doctor_expand(mp_view_get(json, "url")))) {
        url[strcspn(url, ":")] = '\0';
        feature = cli_doctor_feature(d, "transport", NULL, url);
    }
    mcplug_text_free(url);
    return json_object_get(feature, "options");
}

void cli_doctor_references(struct cli_doctor *d, const struct mcplug_entry_info *entry,
                           const char *dir)
{
    struct visit v = {.d = d, .entry = entry, .dir = dir};
    struct mp_walk w = mp_walk_into(mp_bytes(entry->json, entry->json_len));
    mp_view name, value;

    v.options = options_of(d, entry);
    snprintf(v.about, sizeof v.about, "server %.64s", entry->name);
    mp_str_init(&v.missing, NAMES_MAX);
    while (mp_walk_member(&w, &name, &value)) {
        char *key = mp_view_strdup(name);
        v.key = key;
        if (key && is_option(&v, key))
            visit_member(&v, value);
        mp_free(key);
    }
    if (v.missing.len) {
        cli_doctor_note(d, CLI_DOUBTFUL, v.about,
                        "needs environment variables that are not set");
        cli_doctor_todo(d, "Set the following environment variables: %s", v.missing.data);
    }
    mp_str_clear(&v.missing);
}

/* ---- secrets that stand in the file ---- */

/* Would masking change the member `key` of an entry? */
static bool is_masked(mp_view key, mp_view value)
{
    struct mp_str whole;
    mp_str_init(&whole, WHOLE_MAX);
    mp_str_addc(&whole, '{');
    mp_str_add(&whole, key.data, key.len);
    mp_str_addc(&whole, ':');
    mp_str_add(&whole, value.data, value.len);
    mp_str_adds(&whole, "}");
    char *text = mp_str_take(&whole), *before = NULL, *masked = NULL, *after = NULL;
    if (text)
        masked = mcplug_json_masked(text, strlen(text));
    if (masked) {
        before = mcplug_json_canonical(text, strlen(text));
        after = mcplug_json_canonical(masked, strlen(masked));
    }
    bool differs = before && after && strcmp(before, after) != 0;
    mp_free(text);
    mcplug_text_free(before);
    mcplug_text_free(masked);
    mcplug_text_free(after);
    return differs;
}

/* Nothing but references without a default, and the word that says how a header is
 * meant. */
static bool only_refers(mp_view value)
{
    static const char *const words[] = {"", "bearer", "basic", "token"};
    char *text = mp_view_strdup(value), *to = text, *end;
    bool harmless = false;

    for (char *at = text; at && *at;) {
        if (strncmp(at, "${", 2) == 0 && (end = strchr(at, '}'))) {
            char *fallback = strstr(at, ":-");
            if (!fallback || fallback > end || fallback + 2 == end) {
                at = end + 1;
                continue;
            }
        }
        *to++ = *at++;
    }
    while (to && to > text && isspace((unsigned char)to[-1]))
        to--;
    if (to)
        *to = '\0';
    for (size_t i = 0; text && i < MP_COUNT(words); i++)
        harmless = harmless || strcasecmp(text, words[i]) == 0;
    mp_free(text);
    return harmless;
}

/* Adds "env.API_KEY" for each member that may be a secret: of variables and header
 * fields, those whose name tells. */
static size_t find_in(const char *outer, mp_view object, struct mp_str *names)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;
    size_t n = 0;

    while (mp_walk_member(&w, &key, &value)) {
        char *name = mp_view_strdup(key), path[320];
        bool map = name && mp_view_is_object(value) &&
                   (strcmp(name, "env") == 0 || strcmp(name, "headers") == 0);
        if (!outer && map) {
            n += find_in(name, value, names);
        } else if (name &&
                   (outer ? mcplug_name_is_telling(name) : is_masked(key, value)) &&
                   !only_refers(value)) {
            snprintf(path, sizeof path, "%s%s%.200s", outer ? outer : "",
                     outer ? "." : "", name);
            list_add(names, path);
            n++;
        }
        mp_free(name);
    }
    return n;
}

void cli_doctor_literals(struct cli_doctor *d, const struct mcplug_entry_info *entry)
{
    mp_view json = mp_bytes(entry->json, entry->json_len);
    bool project = entry->scope == MCPLUG_SCOPE_PROJECT;
    bool open = entry->real && entry->mode & (S_IRGRP | S_IROTH);
    char about[MCPLUG_NAME_MAX + 16];
    struct mp_str names;

    if (entry->scope == MCPLUG_SCOPE_ENTERPRISE || entry->scope == MCPLUG_SCOPE_PACKAGE)
        return; /* not this user's to change */
    snprintf(about, sizeof about, "server %.64s", entry->name);
    mp_str_init(&names, NAMES_MAX);
    size_t n = project || open ? find_in(NULL, json, &names) : 0;
    if (n) {
        cli_doctor_note(d, CLI_DOUBTFUL, about,
                        "what looks like %s is in %s, which others can read: %s",
                        n == 1 ? "a secret" : "secrets", entry->file,
                        names.data ? names.data : "");
        if (project)
            cli_doctor_todo(d, "Replace it with ${VARIABLE} and set that variable: "
                               "everyone who has the project can read the file.");
        else
            cli_doctor_todo(d, "chmod 600 %s", entry->file);
    }
    mp_str_clear(&names);
}
