/* What an entry asks for, and secrets that it should have asked for. */
#include "cli/doctor/doctor.h"

#include "base/error.h"
#include "base/mem.h"
#include "config/expand.h"
#include "config/keys.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 2000 /* bytes of a list of names */

struct visit {
    struct cli_doctor *d;
    const struct mp_entry *entry;
    const char *dir, *key; /* the member that is visited */
    char about[MP_NAME_MAX + 16];
    const json_t *options; /* of its transport; NULL: not known */
    struct mp_str missing; /* "A, B" */
    bool incomplete;       /* something was not put in */
};

static const char *variable(void *arg, const char *name)
{
    (void)arg;
    return getenv(name);
}

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
    struct visit *v = arg;
    (void)name;
    v->incomplete = true;
}

static int not_asked(void *arg, const char *kind, const char *name, struct mp_str *out,
                     struct mcplug_error *err)
{
    struct visit *v = arg;
    (void)kind, (void)name, (void)out, (void)err;
    v->incomplete = true;
    return MCPLUG_OK;
}

char *cli_doctor_expand(mp_view text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct visit v = {.incomplete = false};
    const struct mp_expansion e = {variable, not_asked, not_set, &v};
    char *raw = mp_view_strdup(text), *result = NULL;
    struct mp_str out;

    mp_str_init(&out, MP_EXPAND_MAX);
    if (raw && mp_expand(&e, raw, &out, &err) == MCPLUG_OK && !v.incomplete) {
        mp_str_adds(&out, "");
        result = mp_str_take(&out);
    }
    mp_str_clear(&out);
    mp_free(raw);
    return result;
}

/* ---- secrets that are asked for ---- */

/* give: as mp_secret_file() takes it; NULL: there is no home. */
static char *secret_path(const struct visit *v, const char *name)
{
    const char *home = v->d->config->paths.home;
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
        cli_doctor_note(v->d, CLI_DOUBTFUL, v->about, "${file:%s} is no regular file",
                        name);
        cli_doctor_todo(v->d, "Put the secret into a file of its own.");
    } else if (st.st_mode & S_IROTH) {
        cli_doctor_note(v->d, CLI_DOUBTFUL, v->about, "everybody can read ${file:%s}",
                        name);
        cli_doctor_todo(v->d, "chmod 600 %s", path);
    }
    mp_free(path);
}

static void check_vault(struct visit *v, const char *kind)
{
    const char *package = cli_doctor_package("vault", kind);
    if (cli_doctor_feature(v->d, "vault", kind, NULL))
        return;
    cli_doctor_note(v->d, CLI_WRONG, v->about,
                    "%s asks for ${%s:..}, and no module offers the vault \"%s\"", v->key,
                    kind, kind);
    if (package)
        cli_doctor_todo(v->d, "Install the package %s.", package);
    else
        cli_doctor_todo(v->d, "There are ${file:..} and ${cmd:..}, and with the package "
                              "mcplug-keyring ${keyring:..}.");
}

static int on_secret(void *arg, const char *kind, const char *name, struct mp_str *out,
                     struct mcplug_error *err)
{
    struct visit *v = arg;
    enum mp_scope scope = v->entry->source->scope;

    (void)out, (void)err;
    if (strcmp(v->key, "env") != 0 && strcmp(v->key, "headers") != 0) {
        cli_doctor_note(v->d, CLI_WRONG, v->about,
                        "%s has ${%s:..}, which can stand in \"env\" and \"headers\" "
                        "alone",
                        v->key, kind);
        cli_doctor_todo(v->d, "Hand the secret over in one of these.");
    } else if (strcmp(kind, "file") == 0) {
        check_file(v, name);
    } else if (strcmp(kind, "cmd") != 0) {
        check_vault(v, kind);
    } else if (scope != MP_SCOPE_USER && scope != MP_SCOPE_ENTERPRISE) {
        cli_doctor_note(v->d, CLI_WRONG, v->about,
                        "%s has ${cmd:..}, which works in your own file alone, not in "
                        "the %s scope",
                        v->key, mp_scope_name(scope));
        cli_doctor_todo(v->d, "Use a variable, or move the server to the user scope.");
    }
    return MCPLUG_OK;
}

static void on_missing(void *arg, const char *name)
{
    struct visit *v = arg;
    list_add(&v->missing, name);
}

/* ---- all texts of an entry ---- */

static void visit_text(struct visit *v, mp_view value)
{
    const struct mp_expansion e = {variable, on_secret, on_missing, v};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *text = mp_view_strdup(value);
    struct mp_str out;

    if (!text)
        return;
    mp_str_init(&out, MP_EXPAND_MAX);
    if (strstr(text, "${") && mp_expand(&e, text, &out, &err) != MCPLUG_OK) {
        cli_doctor_note(v->d, CLI_WRONG, v->about, "%s: %s", v->key, err.text);
        cli_doctor_todo(v->d, "Correct %s, line %zu.", v->entry->source->path,
                        v->entry->at.line);
    }
    if (out.data)
        explicit_bzero(out.data, out.len);
    mp_str_clear(&out);
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

static const json_t *options_of(struct cli_doctor *d, const struct mp_entry *entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const json_t *feature = NULL;
    char *type = NULL, *url = NULL;

    if (mp_entry_type(entry, &type, &err) == MCPLUG_OK && type) {
        feature = cli_doctor_feature(d, "transport", type, NULL);
    } else if ((url = cli_doctor_expand(mp_view_get(entry->json, "url")))) {
        url[strcspn(url, ":")] = '\0';
        feature = cli_doctor_feature(d, "transport", NULL, url);
    }
    mp_free(type);
    mp_free(url);
    return json_object_get(feature, "options");
}

void cli_doctor_references(struct cli_doctor *d, const struct mp_entry *entry,
                           const char *dir)
{
    struct visit v = {.d = d, .entry = entry, .dir = dir};
    struct mp_walk w = mp_walk_into(entry->json);
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
        cli_doctor_note(d, CLI_DOUBTFUL, v.about, "asks for variables that are not set");
        cli_doctor_todo(d, "Set the following environment variables: %s", v.missing.data);
    }
    mp_str_clear(&v.missing);
}

/* ---- secrets that stand in the file ---- */

/* Would masking change the member `key` of an entry? */
static bool is_masked(mp_view key, mp_view value)
{
    struct mp_str whole, before, masked, after;
    mp_str_init(&whole, MP_FILE_MAX * 2);
    mp_str_init(&before, MP_FILE_MAX * 8);
    mp_str_init(&masked, MP_FILE_MAX * 8);
    mp_str_init(&after, MP_FILE_MAX * 8);
    mp_str_addc(&whole, '{');
    mp_str_add(&whole, key.data, key.len);
    mp_str_addc(&whole, ':');
    mp_str_add(&whole, value.data, value.len);
    mp_str_adds(&whole, "}");
    mp_view text = mp_bytes(whole.data, whole.len);
    bool differs = !whole.failed && mp_json_canonical(text, &before) &&
                   mp_mask_entry(text, &masked) &&
                   mp_json_canonical(mp_bytes(masked.data, masked.len), &after) &&
                   strcmp(before.data, after.data) != 0;
    mp_str_clear(&whole);
    mp_str_clear(&before);
    mp_str_clear(&masked);
    mp_str_clear(&after);
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
                   (outer ? mp_key_tells(name, strlen(name)) : is_masked(key, value)) &&
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

void cli_doctor_literals(struct cli_doctor *d, const struct mp_entry *entry)
{
    const struct mp_source *source = entry->source;
    bool project = source->scope == MP_SCOPE_PROJECT;
    bool open = source->real && source->file.st.st_mode & (S_IRGRP | S_IROTH);
    char about[MP_NAME_MAX + 16];
    struct mp_str names;

    if (source->scope == MP_SCOPE_ENTERPRISE || source->scope == MP_SCOPE_PACKAGE)
        return; /* not this user's to change */
    snprintf(about, sizeof about, "server %.64s", entry->name);
    mp_str_init(&names, NAMES_MAX);
    size_t n = project || open ? find_in(NULL, entry->json, &names) : 0;
    if (n) {
        cli_doctor_note(d, CLI_DOUBTFUL, about,
                        "what looks like %s stands in %s, which others can read: %s",
                        n == 1 ? "a secret" : "secrets", source->path,
                        names.data ? names.data : "");
        if (project)
            cli_doctor_todo(d, "Write ${VARIABLE} in its place, and set that variable: "
                               "the file is for everybody who has the project.");
        else
            cli_doctor_todo(d, "chmod 600 %s", source->path);
    }
    mp_str_clear(&names);
}
