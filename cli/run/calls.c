/* Calls that another program's model has made: they are read from standard input, in the
 * forms of MCP, OpenAI and Anthropic, and each result is printed in the form of its call.
 *
 * They are made by a run like any other, so that a model hears the same words of the same
 * failures: its model is a module of our own, which says what was read. */
#define MCPLUG_BUILTIN
#include "cli/run/run.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/base/message.h"
#include "json/walk.h"

#include <mcplug/plugin.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define STEP ((size_t)1 << 16)
#define CALLS_MAX 1024 /* at once, as of a model's answer */
#define LINE_MAX_BYTES ((size_t)512 << 20)
#define NAME "calls" /* of the module, its feature and the model */

enum form { FORM_MCP, FORM_CHAT, FORM_RESPONSES, FORM_ANTHROPIC };

struct call {
    enum form form;
    char *id; /* JSON, as it came */
    char *name;
    char *arguments; /* JSON; "": none */
};

struct cli_calls {
    struct cli_run *run;
    struct mp_str in; /* read and not used yet */
    size_t at;        /* looked at so far */
    size_t begin, depth;
    size_t line; /* of `begin`, and of `at`: from 1 */
    size_t next_line;
    bool in_value, in_string, is_escaped, has_ended, waits;
    struct call *calls;
    size_t n;
    int code; /* when all are done */
};

/* ---- the model ---- */

/* A module has no other way to its program. */
static struct cli_calls *asked;

static int open_model(void *ctx, const mcplug_props *settings, void **out,
                      struct mcplug_error *err)
{
    (void)settings, (void)err;
    *out = ctx;
    return MCPLUG_OK;
}

static void close_model(void *m)
{
    (void)m;
}

/* The first answer is the calls, the second that all is said. */
static int ask(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
               void **out, struct mcplug_error *err)
{
    const struct mcplug_host *host = m;
    (void)err;

    *out = m;
    for (size_t i = 0; prompt->n_messages == 1 && i < asked->n; i++)
        host->reply->call(reply, NULL, asked->calls[i].name,
                          mp_text(asked->calls[i].arguments));
    host->reply->end(reply, prompt->n_messages == 1 ? MCPLUG_STOP_TOOLS : MCPLUG_STOP_END,
                     NULL);
    return MCPLUG_OK;
}

static void drop(void *request)
{
    (void)request;
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    (void)self, (void)err;
    *ctx = (void *)host;
    return MCPLUG_OK;
}

static const struct mcplug_model_ops ops = {
    .struct_size = sizeof ops,
    .open = open_model,
    .close = close_model,
    .ask = ask,
    .drop = drop,
};

static const struct mcplug_option options[] = {MCPLUG_MODEL_OPTIONS,
                                               {NULL, NULL, NULL, NULL}};
static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_MODEL,
     .name = NAME,
     .summary = "calls of another program",
     .options = options,
     .ops = &ops},
};

MCPLUG_PLUGIN(calls) = {
    MCPLUG_HEAD(4),
    .name = NAME,
    .version = "1",
    .license = "MIT",
    .summary = "Calls of another program",
    MCPLUG_FEATURES(features),
    .init = init,
};

mcplug_model *cli_calls_model(struct cli_calls *calls, struct mcplug_error *err)
{
    mcplug_settings *s = mcplug_settings_new(NAME);
    mcplug_model *model = NULL;

    if (s && mcplug_settings_set(s, "model", NAME) == MCPLUG_OK)
        model = mcplug_model_new(calls->run->host, s, err);
    else
        mp_fail_nomem(err);
    mcplug_settings_free(s);
    return model;
}

/* ---- life ---- */

struct cli_calls *cli_calls_new(struct cli_run *run)
{
    static const struct mcplug_plugin *const own[] = {&mcplug_builtin_calls, NULL};
    struct cli_calls *c = mp_alloc(sizeof *c);

    if (!c) {
        cli_error("out of memory");
        return NULL;
    }
    c->run = run;
    c->line = c->next_line = 1;
    mp_str_init(&c->in, CLI_RUN_FILE_MAX);
    run->cli->plugins = own;
    asked = c;
    return c;
}

static void clear_batch(struct cli_calls *c)
{
    for (size_t i = 0; i < c->n; i++) {
        mp_free(c->calls[i].id);
        mp_free(c->calls[i].name);
        mp_free(c->calls[i].arguments);
    }
    mp_free(c->calls);
    c->calls = NULL;
    c->n = 0;
}

void cli_calls_free(struct cli_calls *c)
{
    if (!c)
        return;
    clear_batch(c);
    mp_str_clear(&c->in);
    asked = NULL;
    mp_free(c);
}

/* ---- reading a call ---- */

static char *copy(mp_view v)
{
    return mp_strndup((const char *)v.data, v.len);
}

/* Arguments are an object, or the text of one. */
static char *arguments_of(mp_view v)
{
    if (mp_view_is_string(v))
        return mp_view_strdup(v);
    return v.len ? copy(v) : mp_strdup("");
}

static char *name_of(mp_view v)
{
    return mp_view_is_string(v) ? mp_view_strdup(v) : mp_strdup("");
}

static bool read_call(mp_view v, struct call *out)
{
    mp_view function = mp_view_get(v, "function"), id = mp_view_get(v, "id");
    mp_view from = v, arguments = mp_view_get(v, "arguments");

    if (mp_view_is_object(function)) {
        out->form = FORM_CHAT;
        from = function;
        arguments = mp_view_get(function, "arguments");
    } else if (mp_view_equals(mp_view_get(v, "type"), "function_call")) {
        out->form = FORM_RESPONSES;
        id = mp_view_get(v, "call_id");
    } else if (mp_view_get(v, "input").len) {
        out->form = FORM_ANTHROPIC;
        arguments = mp_view_get(v, "input");
    }
    out->id = copy(id.len ? id : mp_text("null"));
    out->name = name_of(mp_view_get(from, "name"));
    out->arguments = arguments_of(arguments);
    return out->id && out->name && out->arguments;
}

/* The calls of a message: "tool_calls" of OpenAI's, "content" of Anthropic's, "output" of
 * a response. */
static mp_view list_of(mp_view v)
{
    static const char *const names[] = {"tool_calls", "content", "output"};

    for (size_t i = 0; i < MP_COUNT(names); i++)
        if (mp_view_is_array(mp_view_get(v, names[i])) && !mp_view_get(v, "name").len)
            return mp_view_get(v, names[i]);
    return (mp_view){0};
}

/* What else is in the content of a message: texts, thoughts. */
static bool is_call(mp_view v)
{
    mp_view type = mp_view_get(v, "type");
    return !type.len || mp_view_equals(type, "function") ||
           mp_view_equals(type, "function_call") || mp_view_equals(type, "tool_use");
}

static int fail_reading(struct cli_calls *c, int code, const char *what)
{
    cli_error("standard input, line %zu: %s", c->line, what);
    cli_hint("Expected calls of tools: {\"id\":\"1\",\"name\":\"NAME\",\"arguments\":"
             "{}}, one per line, or an array of them.");
    cli_run_finish(c->run, code);
    return code;
}

static int add_call(struct cli_calls *c, mp_view v)
{
    if (!mp_view_is_object(v))
        return fail_reading(c, CLI_BAD_ARGUMENTS, "a call is not a JSON object");
    if (c->n == CALLS_MAX)
        return fail_reading(c, CLI_TOO_BIG, "more than 1024 calls at once");
    struct call *calls = mp_resize(c->calls, (c->n + 1) * sizeof *calls);
    if (!calls)
        return fail_reading(c, CLI_INTERNAL, "out of memory");
    c->calls = calls;
    calls[c->n] = (struct call){0};
    return read_call(v, &calls[c->n++]) ? CLI_OK
                                        : fail_reading(c, CLI_INTERNAL, "out of memory");
}

static int read_batch(struct cli_calls *c, mp_view text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    static const struct mp_scan_limits limits = {.depth = 64, .tokens = 1000000};
    mp_view list = {0}, v;
    int code = CLI_OK;

    if (mp_scan_text((const char *)text.data, text.len, &limits, NULL, &err) != MCPLUG_OK)
        return fail_reading(c, CLI_BAD_ARGUMENTS, err.text);
    bool is_message = !mp_view_is_array(text) && (list = list_of(text)).len;
    if (mp_view_is_array(text))
        list = text;
    if (!list.len)
        return add_call(c, text);
    struct mp_walk w = mp_walk_into(list);
    while (code == CLI_OK && mp_walk_element(&w, &v))
        if (!is_message || is_call(v))
            code = add_call(c, v);
    return code;
}

/* ---- the stream ---- */

/* Looks for the end of the next value; false: more is needed, or it is wrong. */
static bool find_value(struct cli_calls *c, mp_view *out)
{
    while (c->at < c->in.len) {
        char ch = c->in.data[c->at++];
        c->next_line += ch == '\n';
        if (c->in_string) {
            c->in_string = c->is_escaped || ch != '"';
            c->is_escaped = !c->is_escaped && ch == '\\';
            continue;
        }
        if (!c->in_value && strchr(" \t\r\n", ch) && ch)
            continue;
        if (!c->in_value) {
            c->in_value = true;
            c->begin = c->at - 1;
            c->line = c->next_line;
            c->depth = 0;
        }
        c->in_string = ch == '"';
        c->depth += ch == '{' || ch == '[';
        c->depth -= (ch == '}' || ch == ']') && c->depth;
        if (c->depth == 0) {
            c->in_value = false;
            *out = mp_bytes(c->in.data + c->begin, c->at - c->begin);
            return true;
        }
    }
    return false;
}

/* What was used is dropped. */
static void shift(struct cli_calls *c)
{
    size_t from = c->in_value ? c->begin : c->at;

    if (!from)
        return;
    memmove(c->in.data, c->in.data + from, c->in.len - from + 1);
    c->in.len -= from;
    c->at -= from;
    c->begin = 0;
}

/* The next batch, or waiting for one, or the end. */
static void go_on(struct cli_calls *c)
{
    mp_view value;

    c->waits = false;
    while (!c->run->is_finished && !c->run->loop.signal) {
        if (!find_value(c, &value)) {
            if (c->has_ended && c->in_value)
                fail_reading(c, CLI_BAD_ARGUMENTS, "the JSON text breaks off");
            else if (c->has_ended)
                cli_run_finish(c->run, c->code);
            else
                c->waits = true;
            return;
        }
        int code = read_batch(c, value);
        shift(c);
        if (code == CLI_OK && c->n) {
            code = cli_run_start(c->run);
            if (code != CLI_OK)
                cli_run_finish(c->run, code);
            return;
        }
    }
}

void cli_calls_begin(struct cli_calls *c)
{
    go_on(c);
}

bool cli_calls_waits(const struct cli_calls *c)
{
    return c && c->waits;
}

void cli_calls_read(struct cli_calls *c)
{
    if (!mp_str_reserve(&c->in, STEP)) {
        fail_reading(c, CLI_TOO_BIG, "the JSON text is longer than 32 MiB");
        return;
    }
    ssize_t n = read(STDIN_FILENO, c->in.data + c->in.len, STEP);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0) {
        fail_reading(c, CLI_IO_ERROR, strerror(errno));
        return;
    }
    c->has_ended = n == 0;
    c->in.len += (size_t)n;
    c->in.data[c->in.len] = '\0';
    go_on(c);
}

/* ---- results ---- */

/* For those who take nothing but text. */
static void add_text(struct mp_str *out, const struct mcplug_item *result)
{
    struct mp_str text;

    mp_str_init(&text, LINE_MAX_BYTES);
    mp_str_adds(&text, "");
    for (uint32_t i = 0; i < result->n_items; i++) {
        const struct mcplug_item *item = result->items[i];
        mp_str_adds(&text, i ? "\n" : "");
        if (item->kind == MCPLUG_ITEM_TEXT)
            mp_str_add_bytes(&text, item->text);
        else
            mp_str_addf(&text, "[%s]", item->mime ? item->mime : "data");
    }
    mp_str_add_json(out, text.data ? text.data : "", text.len);
    out->failed = out->failed || text.failed;
    mp_str_clear(&text);
}

static void add_block(struct mp_str *out, const struct mcplug_item *item, enum form form)
{
    const char *text = (const char *)item->text.data;
    const char *kind = item->kind == MCPLUG_ITEM_IMAGE ? "image" : "document";

    if (item->kind == MCPLUG_ITEM_TEXT) {
        mp_str_adds(out, "{\"type\":\"text\",\"text\":");
    } else if (form == FORM_ANTHROPIC) {
        mp_str_addf(out, "{\"type\":\"%s\",\"source\":{\"type\":\"base64\",", kind);
        mp_str_addf(out, "\"media_type\":\"%s\",\"data\":", item->mime);
    } else {
        mp_str_addf(out, "{\"type\":\"%s\",\"mimeType\":\"%s\",\"data\":", kind,
                    item->mime);
    }
    mp_str_add_json(out, text, item->text.len);
    mp_str_adds(out,
                form == FORM_ANTHROPIC && item->kind != MCPLUG_ITEM_TEXT ? "}}" : "}");
}

static void add_blocks(struct mp_str *out, const struct mcplug_item *result,
                       enum form form)
{
    mp_str_addc(out, '[');
    for (uint32_t i = 0; i < result->n_items; i++) {
        mp_str_adds(out, i ? "," : "");
        add_block(out, result->items[i], form);
    }
    mp_str_addc(out, ']');
}

static void put_result(struct cli_calls *c, const struct call *call,
                       const struct mcplug_item *result)
{
    struct mp_str line;

    mp_str_init(&line, LINE_MAX_BYTES);
    switch (call->form) {
    case FORM_CHAT:
        mp_str_adds(&line, "{\"role\":\"tool\",\"tool_call_id\":");
        cli_run_add_json(&line, mp_text(call->id));
        mp_str_adds(&line, ",\"content\":");
        add_text(&line, result);
        break;
    case FORM_RESPONSES:
        mp_str_adds(&line, "{\"type\":\"function_call_output\",\"call_id\":");
        cli_run_add_json(&line, mp_text(call->id));
        mp_str_adds(&line, ",\"output\":");
        add_text(&line, result);
        break;
    case FORM_ANTHROPIC:
        mp_str_adds(&line, "{\"type\":\"tool_result\",\"tool_use_id\":");
        cli_run_add_json(&line, mp_text(call->id));
        mp_str_adds(&line, ",\"content\":");
        add_blocks(&line, result, call->form);
        mp_str_adds(&line, result->is_error ? ",\"is_error\":true" : "");
        break;
    case FORM_MCP:
        mp_str_adds(&line, "{\"id\":");
        cli_run_add_json(&line, mp_text(call->id));
        mp_str_adds(&line, ",\"name\":");
        mp_str_add_json(&line, call->name, strlen(call->name));
        mp_str_adds(&line, ",\"content\":");
        add_blocks(&line, result, call->form);
        mp_str_addf(&line, ",\"isError\":%s", result->is_error ? "true" : "false");
        break;
    }
    mp_str_addc(&line, '}');
    if (line.failed) {
        cli_error("out of memory for a result of %s", call->name);
        c->code = CLI_INTERNAL;
    }
    if (result->is_error && c->code == CLI_OK)
        c->code = CLI_TOOL_ERROR;
    cli_run_put_line(c->run, &line);
}

void cli_calls_ran(struct cli_calls *c, const struct mcplug_error *why)
{
    struct mcplug_message m = {.struct_size = sizeof m};

    if (mcplug_thread_message(c->run->thread, 2, &m))
        for (size_t i = 0; i < c->n && i < m.n_items; i++)
            put_result(c, &c->calls[i], m.items[i]);
    clear_batch(c);
    mcplug_thread_free(mp_move(&c->run->thread));
    if (!why)
        go_on(c);
}
