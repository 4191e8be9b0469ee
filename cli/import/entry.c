/* One server of another program, as an entry of ours. */
#include "cli/import/form.h"

#include "base/error.h"
#include "base/mem.h"
#include "plugins/common/url.h"

#include <strings.h>

#define TIMEOUT_MAX 1e9 /* milliseconds; more is no time */

#define EVERY 0xff
#define ONLY(program) (1u << (program))

static const struct key {
    const char *name;
    enum cli_import_field field;
    unsigned programs;
} keys[] = {
    {"type", CLI_F_TYPE, EVERY},
    {"transport", CLI_F_TYPE, EVERY},
    {"transportType", CLI_F_TYPE, EVERY},
    {"command", CLI_F_COMMAND, EVERY},
    {"args", CLI_F_ARGS, EVERY},
    {"env", CLI_F_ENV, EVERY},
    {"cwd", CLI_F_CWD, EVERY},
    {"url", CLI_F_URL, EVERY},
    {"serverUrl", CLI_F_URL, EVERY},
    {"httpUrl", CLI_F_HTTP_URL, EVERY},
    {"tcp", CLI_F_TCP, ONLY(CLI_GEMINI)},
    {"headers", CLI_F_HEADERS, EVERY},
    {"http_headers", CLI_F_HEADERS, ONLY(CLI_CODEX)},
    {"env_http_headers", CLI_F_ENV_HEADERS, ONLY(CLI_CODEX)},
    {"bearer_token", CLI_F_BEARER, ONLY(CLI_CODEX)},
    {"bearer_token_env_var", CLI_F_BEARER_VAR, ONLY(CLI_CODEX)},
    {"includeTools", CLI_F_ALLOWED, EVERY},
    {"excludeTools", CLI_F_DENIED, EVERY},
    {"enabledTools", CLI_F_ALLOWED, EVERY},
    {"disabledTools", CLI_F_DENIED, EVERY},
    {"allowedTools", CLI_F_ALLOWED, EVERY},
    {"enabled_tools", CLI_F_ALLOWED, ONLY(CLI_CODEX)},
    {"disabled_tools", CLI_F_DENIED, ONLY(CLI_CODEX)},
    {"timeout", CLI_F_TIMEOUT, ONLY(CLI_GEMINI) | ONLY(CLI_ZED) | ONLY(CLI_CLAUDE_CODE)},
    {"startup_timeout_sec", CLI_F_CONNECT_SEC, ONLY(CLI_CODEX)},
    {"startup_timeout_ms", CLI_F_CONNECT_MS, ONLY(CLI_CODEX)},
    {"tool_timeout_sec", CLI_F_TOOL_SEC, ONLY(CLI_CODEX)},
    {"disabled", CLI_F_DISABLED, EVERY},
    {"enabled", CLI_F_ENABLED, EVERY},
    {"envFile", CLI_F_ENV_FILE, EVERY},
    {"env_vars", CLI_F_NOTHING,
     ONLY(CLI_CODEX)}, /* all of the environment is inherited */
    {"source", CLI_F_NOTHING, ONLY(CLI_ZED)},
};

/* What a "type" there says. */
enum wire { UNKNOWN, STDIO, HTTP, SSE, WEBSOCKET };

/* ---- reading ---- */

/* Nothing is lost when such a value is left out. */
static bool is_empty(mp_view v)
{
    return mp_view_is_null(v) || mp_view_equals(v, "") || v.data[0] == 'f' ||
           ((mp_view_is_object(v) || mp_view_is_array(v)) && mp_view_count(v) == 0);
}

static enum cli_import_field field_of(const struct cli_import_form *e, const char *key)
{
    for (size_t i = 0; i < MP_COUNT(keys); i++)
        if (strcmp(keys[i].name, key) == 0 && keys[i].programs & ONLY(e->source.program))
            return keys[i].field;
    return CLI_F_FIELDS;
}

/* Sorts the members; the first of several that mean the same counts. */
static int read_members(struct cli_import_form *e, mp_view from)
{
    struct mp_walk w = mp_walk_into(from);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value)) {
        char *name = mp_view_strdup(key);
        if (!name)
            return mp_fail_nomem(e->err);
        enum cli_import_field field = field_of(e, name);
        if (field != CLI_F_FIELDS && e->at[field].len == 0 && !mp_view_is_null(value))
            e->at[field] = value;
        else if (field != CLI_F_NOTHING && !is_empty(value))
            cli_import_left_out(e->notes, NULL, name);
        mp_free(name);
    }
    return MCPLUG_OK;
}

/* ---- times, switches ---- */

/* `v` times `unit`, in milliseconds; 0: not given, or no time. */
static uint64_t milliseconds(struct cli_import_form *e, const char *key, mp_view v,
                             double unit)
{
    double n = 0;
    if (v.len == 0)
        return 0;
    if (!mp_view_double(v, &n) || !(n > 0) || n * unit > TIMEOUT_MAX) {
        if (!is_empty(v) && !mp_view_equals(v, "0"))
            cli_import_left_out(e->notes, NULL, key);
        return 0;
    }
    uint64_t ms = (uint64_t)(n * unit);
    return (double)ms < n * unit - 1e-6 || ms == 0 ? ms + 1 : ms;
}

static void add_timeouts(struct cli_import_form *e)
{
    bool seconds = e->source.program == CLI_ZED, comma = false;
    uint64_t all = milliseconds(e, "timeout", e->at[CLI_F_TIMEOUT], seconds ? 1000 : 1);
    uint64_t connect =
        milliseconds(e, "startup_timeout_sec", e->at[CLI_F_CONNECT_SEC], 1000);
    uint64_t tool = milliseconds(e, "tool_timeout_sec", e->at[CLI_F_TOOL_SEC], 1000);
    uint64_t ms[3];

    if (!connect)
        connect = milliseconds(e, "startup_timeout_ms", e->at[CLI_F_CONNECT_MS], 1);
    ms[0] = connect;
    ms[1] = e->source.program == CLI_GEMINI ? all : 0;
    ms[2] = tool ? tool : all;
    for (size_t i = 0; i < MP_COUNT(ms); i++) {
        static const char *const names[] = {"connect", "request", "tool"};
        if (!ms[i])
            continue;
        if (!comma)
            cli_form_begin(e, "timeouts");
        mp_str_addf(e->out, "%c\"%s\":%llu", comma ? ',' : '{', names[i],
                    (unsigned long long)ms[i]);
        comma = true;
    }
    if (comma)
        mp_str_addc(e->out, '}');
}

static void add_disabled(struct cli_import_form *e)
{
    bool off = mp_view_true(e->at[CLI_F_DISABLED]) ||
               (e->at[CLI_F_ENABLED].len && e->at[CLI_F_ENABLED].data[0] == 'f') ||
               cli_import_is_off(&e->source, e->name);
    if (off) {
        cli_form_begin(e, "disabled");
        mp_str_adds(e->out, "true");
    }
}

/* ---- the two forms ---- */

static enum wire read_type(struct cli_import_form *e)
{
    static const struct {
        const char *word;
        enum wire wire;
    } words[] = {
        {"stdio", STDIO},  {"local", STDIO},         {"http", HTTP},
        {"sse", SSE},      {"streamablehttp", HTTP}, {"httpstream", HTTP},
        {"ws", WEBSOCKET}, {"websocket", WEBSOCKET}, {"remote", UNKNOWN},
    };
    char *type = mp_view_strdup(e->at[CLI_F_TYPE]);
    enum wire wire = UNKNOWN;
    bool known = !type;
    size_t n = 0;

    e->out->failed |= !type && mp_view_is_string(e->at[CLI_F_TYPE]); /* no memory */
    for (size_t i = 0; type && type[i]; i++) /* streamable-http, streamableHttp, .. */
        if (type[i] != '-' && type[i] != '_')
            type[n++] = (char)(type[i] >= 'A' && type[i] <= 'Z' ? type[i] + 32 : type[i]);
    if (type)
        type[n] = '\0';
    for (size_t i = 0; !known && i < MP_COUNT(words); i++)
        if (strcmp(type, words[i].word) == 0) {
            wire = words[i].wire;
            known = true;
        }
    if (!known)
        cli_import_left_out(e->notes, NULL, "type");
    mp_free(type);
    return wire;
}

/* Settings of the other form, which have no use in this one. */
static void leave_out(struct cli_import_form *e, enum cli_import_field field,
                      const char *key)
{
    if (e->at[field].len && !is_empty(e->at[field]))
        cli_import_left_out(e->notes, NULL, key);
}

static int add_remote(struct cli_import_form *e, enum wire wire, mp_view url)
{
    static const char *const names[] = {NULL, NULL, "http", "sse", "websocket"};
    enum cli_import_program program = e->source.program;

    if (wire == UNKNOWN || wire == STDIO) {
        bool http = url.data == e->at[CLI_F_HTTP_URL].data || program == CLI_CODEX ||
                    program == CLI_ZED;
        wire = http                                                         ? HTTP
               : program == CLI_GEMINI && url.data == e->at[CLI_F_URL].data ? SSE
                                                                            : UNKNOWN;
    }
    if (names[wire]) {
        cli_form_begin(e, "type");
        mp_str_addf(e->out, "\"%s\"", names[wire]);
    }
    leave_out(e, CLI_F_COMMAND, "command");
    leave_out(e, CLI_F_ARGS, "args");
    leave_out(e, CLI_F_ENV, "env");
    leave_out(e, CLI_F_CWD, "cwd");
    leave_out(e, CLI_F_ENV_FILE, "envFile");
    int r = cli_form_text(e, "url", url, true);
    return r ? r : cli_form_headers(e);
}

/* Remarks on commands that work there and not here. */
static void look_at_command(struct cli_import_form *e)
{
    char *command = mp_view_strdup(e->at[CLI_F_COMMAND]);
    if (command && e->at[CLI_F_ARGS].len == 0 && strchr(command, ' ') && e->rest.len == 0)
        cli_import_note(
            e->notes,
            "the command contains spaces; here it must be the name of one program");
    if (command &&
        (strcasecmp(command, "cmd") == 0 || strcasecmp(command, "cmd.exe") == 0))
        cli_import_note(e->notes, "the command is for Windows");
    mp_free(command);
}

static int note_env_file(struct cli_import_form *e)
{
    struct mp_str path, ours;
    mp_str_init(&ours, CLI_IMPORT_ENTRY);
    int r = cli_form_read(e, e->at[CLI_F_ENV_FILE], &path);
    if (!r) {
        cli_import_translate(&e->source, path.data, false, e->notes, &ours);
        cli_import_note(e->notes, "the environment file %.400s is not read",
                        ours.data ? ours.data : "");
    }
    mp_str_clear(&path);
    mp_str_clear(&ours);
    return r;
}

static int add_local(struct cli_import_form *e, mp_view url)
{
    look_at_command(e);
    if (e->at[CLI_F_ENV].len <= CLI_IMPORT_ENV)
        e->source.env = e->at[CLI_F_ENV];
    if (url.len)
        cli_import_left_out(e->notes, NULL, "url");
    leave_out(e, CLI_F_HEADERS, "headers");
    leave_out(e, CLI_F_ENV_HEADERS, "env_http_headers");
    leave_out(e, CLI_F_BEARER_VAR, "bearer_token_env_var");
    leave_out(e, CLI_F_BEARER, "bearer_token");
    int r = cli_form_text(e, "command", e->at[CLI_F_COMMAND], false);
    if (!r)
        r = cli_form_args(e);
    if (!r)
        r = cli_form_env(e);
    if (!r)
        r = cli_form_text(e, "cwd", e->at[CLI_F_CWD], false);
    if (!r && cli_form_is_said(e->at[CLI_F_ENV_FILE]))
        r = note_env_file(e);
    return r;
}

/* { path, args, env } or a list of words. */
static void open_command(struct cli_import_form *e)
{
    mp_view command = e->at[CLI_F_COMMAND], first = mp_bytes(NULL, 0);
    struct mp_walk w = mp_walk_into(command);

    if (mp_view_is_object(command)) {
        if (e->at[CLI_F_ARGS].len == 0)
            e->at[CLI_F_ARGS] = mp_view_get(command, "args");
        if (e->at[CLI_F_ENV].len == 0)
            e->at[CLI_F_ENV] = mp_view_get(command, "env");
        e->at[CLI_F_COMMAND] = mp_view_get(command, "path");
        for (size_t i = 0; i < CLI_F_FIELDS; i++)
            if (mp_view_is_null(e->at[i]))
                e->at[i].len = 0;
    } else if (mp_view_is_array(command) && mp_walk_element(&w, &first)) {
        e->rest = command;
        e->at[CLI_F_COMMAND] = first;
    }
    if (!cli_form_is_said(e->at[CLI_F_COMMAND]))
        e->at[CLI_F_COMMAND] = mp_bytes(NULL, 0);
}

static bool is_url(mp_view text)
{
    char *copy = mp_view_strdup(text);
    bool is = copy && url_scheme(copy);
    mp_free(copy);
    return is;
}

/* The URL that the program would use. */
static mp_view choose_url(const struct cli_import_form *e)
{
    if (cli_form_is_said(e->at[CLI_F_HTTP_URL]))
        return e->at[CLI_F_HTTP_URL];
    if (cli_form_is_said(e->at[CLI_F_URL]))
        return e->at[CLI_F_URL];
    if (cli_form_is_said(e->at[CLI_F_TCP]) && is_url(e->at[CLI_F_TCP]))
        return e->at[CLI_F_TCP];
    return mp_bytes(NULL, 0);
}

static int add_form(struct cli_import_form *e)
{
    open_command(e);
    mp_view url = choose_url(e);
    enum wire wire = read_type(e);
    bool command = e->at[CLI_F_COMMAND].len > 0;

    if (!command && url.len == 0) {
        if (e->source.program == CLI_ZED &&
            !mp_view_equals(e->at[CLI_F_NOTHING], "custom"))
            return cli_form_skip(e, "has no command; an extension of Zed provides it");
        return cli_form_skip(e, e->at[CLI_F_TCP].len ? "tcp is not supported here"
                                                     : "has neither command nor url");
    }
    bool remote = !command || (url.len && (e->source.program == CLI_GEMINI ||
                                           (wire != UNKNOWN && wire != STDIO)));
    int r = remote ? add_remote(e, wire, url) : add_local(e, url);
    if (!r)
        r = cli_form_tools(e, "toolsAllowed", e->at[CLI_F_ALLOWED]);
    if (!r)
        r = cli_form_tools(e, "toolsDenied", e->at[CLI_F_DENIED]);
    return r;
}

int cli_import_entry(const struct cli_import_source *source, const char *name,
                     mp_view from, struct mp_str *out, struct cli_import_notes *notes,
                     struct mcplug_error *err)
{
    struct cli_import_form e = {
        .source = *source, .name = name, .out = out, .notes = notes, .err = err};

    if (!mp_view_is_object(from))
        return cli_form_skip(&e, "is not an object");
    int r = read_members(&e, from);
    mp_str_addc(out, '{');
    if (!r)
        r = add_form(&e);
    if (!r) {
        add_timeouts(&e);
        add_disabled(&e);
        mp_str_addc(out, '}');
    }
    return !r && out->failed ? mp_fail_nomem(err) : r;
}
