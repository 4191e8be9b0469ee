#include "cli/base/oneshot.h"
#include "cli/base/key_value.h"
#include "cli/base/packages.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROOTS_MAX ((size_t)1 << 20)

int cli_setting_parse(const char *text, struct cli_setting *out, struct mcplug_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return mp_fail(err, MCPLUG_EINVAL,
                       "expected a setting NAME=VALUE, got \"%.100s\"", text);

    memset(out, 0, sizeof *out);
    out->name = mp_strndup(text, (size_t)(equals - text));
    out->value = equals + 1;
    if (!out->name)
        return mp_fail_nomem(err);
    size_t len = strlen(out->name);
    char *dot = strchr(out->name, '.');
    if (len > 2 && strcmp(out->name + len - 2, "[]") == 0) {
        out->name[len - 2] = '\0';
        out->list = true;
    } else if (dot && dot > out->name && dot[1]) {
        *dot = '\0';
        out->key = dot + 1;
    }
    return MCPLUG_OK;
}

void cli_setting_clear(struct cli_setting *s)
{
    mp_free(s->name);
    memset(s, 0, sizeof *s);
}

int cli_setting_apply(mcplug_settings *settings, const char *text,
                      struct mcplug_error *err)
{
    struct cli_setting s;
    int r = cli_setting_parse(text, &s, err);
    if (r != MCPLUG_OK)
        return r;
    if (s.list)
        r = mcplug_settings_add(settings, s.name, s.value);
    else if (s.key)
        r = mcplug_settings_put(settings, s.name, s.key, s.value);
    else
        r = mcplug_settings_set(settings, s.name, s.value);
    if (r != MCPLUG_OK)
        mp_fail(err, r, "--set %s conflicts with an earlier --set", s.name);
    cli_setting_clear(&s);
    return r;
}

static int put_env(mcplug_settings *settings, const char *text, struct mcplug_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return mp_fail(err, MCPLUG_EINVAL, "--env: expected NAME=VALUE, got \"%.100s\"",
                       text);
    char *name = mp_strndup(text, (size_t)(equals - text));
    int r = name ? mcplug_settings_put(settings, "env", name, equals + 1) : MCPLUG_ENOMEM;
    if (r != MCPLUG_OK)
        mp_fail(err, r, "--env %s cannot be set", name ? name : text);
    mp_free(name);
    return r;
}

static int put_header(mcplug_settings *settings, const char *line,
                      struct mcplug_error *err)
{
    const char *colon = strchr(line, ':');
    if (!colon || colon == line)
        return mp_fail(err, MCPLUG_EINVAL, "--header: expected \"NAME: VALUE\"%s",
                       colon ? "" : ", with a colon");
    char *name = mp_strndup(line, (size_t)(colon - line));
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    int r = name ? mcplug_settings_put(settings, "headers", name, value) : MCPLUG_ENOMEM;
    if (r != MCPLUG_OK)
        mp_fail(err, r, "--header %.60s cannot be set", name ? name : "");
    mp_free(name);
    return r;
}

/* A header, or @FILE with one a line; empty lines are left out. */
static int put_headers(mcplug_settings *settings, const char *given,
                       struct mcplug_error *err)
{
    if (given[0] != '@')
        return put_header(settings, given, err);
    char *text = cli_read_value(given, err), *rest = text, *line;
    if (!text)
        return err->code;
    size_t len = strlen(text);
    int r = MCPLUG_OK;
    while (r == MCPLUG_OK && (line = strsep(&rest, "\r\n")))
        if (*line)
            r = put_header(settings, line, err);
    memset(text, 0, len); /* it may be a secret */
    mp_free(text);
    return r;
}

int cli_settings_apply(mcplug_settings *s, const struct cli_args *args,
                       struct mcplug_error *err)
{
    char **command = args->server_command;
    int r = MCPLUG_OK;

    if (command)
        r = mcplug_settings_set(s, "command", command[0]);
    for (size_t i = 1; r == MCPLUG_OK && command && command[i]; i++)
        r = mcplug_settings_add(s, "args", command[i]);
    if (r == MCPLUG_OK && args->url)
        r = mcplug_settings_set(s, "url", args->url);
    if (r == MCPLUG_OK && args->cwd)
        r = mcplug_settings_set(s, "cwd", args->cwd);
    if (r != MCPLUG_OK)
        return mp_fail(err, r,
                       r == MCPLUG_ENOMEM ? "out of memory"
                                          : "too many arguments for a server");
    for (size_t i = 0; r == MCPLUG_OK && i < args->env.n; i++)
        r = put_env(s, args->env.items[i], err);
    for (size_t i = 0; r == MCPLUG_OK && i < args->headers.n; i++)
        r = put_headers(s, args->headers.items[i], err);
    if (r == MCPLUG_OK && args->insecure &&
        (r = mcplug_settings_set(s, "insecure", "true")) != MCPLUG_OK)
        mp_fail_nomem(err);
    for (size_t i = 0; r == MCPLUG_OK && i < args->set.n; i++)
        r = cli_setting_apply(s, args->set.items[i], err);
    return r;
}

bool cli_is_address(const char *word)
{
    const char *colon = strchr(word, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    return digits && colon > word && !memchr(word, '/', (size_t)(colon - word)) &&
           (colon[1 + digits] == '\0' || colon[1 + digits] == '/');
}

mcplug_settings *cli_settings(const struct cli_args *args, struct mcplug_error *err)
{
    char program[MCPLUG_TYPE_MAX];
    const char *type = args->type;
    if (!type && args->server_command) {
        cli_program_type(program);
        type = program;
    }
    mcplug_settings *s = mcplug_settings_new(type);
    if (!s) {
        mp_fail_nomem(err);
        return NULL;
    }
    if (cli_settings_apply(s, args, err) != MCPLUG_OK) {
        mcplug_settings_free(s);
        return NULL;
    }
    return s;
}

/* ---- roots ---- */

static void add_file_uri(struct mp_str *out, const char *path)
{
    mp_str_adds(out, "\"file://");
    for (const char *p = path; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || strchr("/-._~!$&'()*+,;=:@", c);
        if (plain)
            mp_str_addc(out, (char)c);
        else
            mp_str_addf(out, "%%%02X", c);
    }
    mp_str_adds(out, "\"");
}

static int add_root(struct mp_str *out, const char *dir, struct mcplug_error *err)
{
    struct stat st;
    char *real = realpath(dir, NULL);
    if (!real)
        return mp_fail_os(err, MCPLUG_EINVAL, errno, "--root %s", dir);
    int r = MCPLUG_OK;
    if (stat(real, &st) != 0 || !S_ISDIR(st.st_mode)) {
        r = mp_fail(err, MCPLUG_EINVAL, "--root %s is not a directory", dir);
    } else {
        const char *name = strrchr(real, '/');
        name = name && name[1] ? name + 1 : real;
        mp_str_adds(out, "{\"uri\":");
        add_file_uri(out, real);
        mp_str_adds(out, ",\"name\":");
        mp_str_add_json(out, name, strlen(name));
        mp_str_addc(out, '}');
    }
    free(real);
    return r;
}

char *cli_roots(const struct cli_args *args, struct mcplug_error *err)
{
    struct mp_str out;
    int r = MCPLUG_OK;
    mp_str_init(&out, ROOTS_MAX);
    mp_str_adds(&out, "{\"roots\":[");
    for (size_t i = 0; r == MCPLUG_OK && i < args->roots.n; i++) {
        if (i)
            mp_str_addc(&out, ',');
        r = add_root(&out, args->roots.items[i], err);
    }
    mp_str_adds(&out, "]}");
    if (r != MCPLUG_OK) {
        mp_str_clear(&out);
        return NULL;
    }
    char *text = mp_str_take(&out);
    if (!text)
        mp_fail_nomem(err);
    return text;
}

/* OpenTelemetry's names for W3C trace context in an environment. What --meta says
 * itself is left alone. */
bool cli_meta(const struct cli_args *args, char **out, struct mcplug_error *err)
{
    static const char *const names[][2] = {{"TRACEPARENT", "traceparent"},
                                           {"TRACESTATE", "tracestate"},
                                           {"BAGGAGE", "baggage"}};
    const char *given = args->meta ? strchr(args->meta, '{') : NULL;
    struct mp_str meta;

    mp_str_init(&meta, ROOTS_MAX);
    mp_str_addc(&meta, '{');
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        const char *value = getenv(names[i][0]);
        if (!value || !*value || (given && mp_view_get(mp_text(given), names[i][1]).len))
            continue;
        mp_str_addf(&meta, "%s\"%s\":", meta.len > 1 ? "," : "", names[i][1]);
        mp_str_add_json(&meta, value, strlen(value));
    }
    bool wanted = given || meta.len > 1;
    if (given && meta.len > 1 && mp_view_count(mp_text(given)))
        mp_str_addc(&meta, ',');
    mp_str_adds(&meta, given ? given + 1 : "}");
    *out = wanted ? mp_str_take(&meta) : NULL;
    mp_str_clear(&meta);
    if (wanted && !*out)
        mp_fail_nomem(err);
    return !wanted || *out;
}
