/* client_kit.c - what the conformance scenarios share. */
#include "client_kit.h"

#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

/* A suite gives up after 30 s and says little then; we say more before that. */
enum { CONNECT_MS = 10000, REQUEST_MS = 10000 };

int client_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return -1;
}

/* ---- answers to the server ------------------------------------------------- */

static json_t *fill_one(const json_t *field)
{
    const char *type = json_string_value(json_object_get(field, "type"));
    json_t *value = json_object_get(field, "default");

    if (!value)
        value = json_array_get(json_object_get(field, "enum"), 0);
    if (value)
        return json_deep_copy(value);
    if (!type)
        type = "string";
    if (strcmp(type, "boolean") == 0)
        return json_true();
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        return json_integer(1);
    if (strcmp(type, "object") == 0)
        return json_object();
    if (strcmp(type, "array") == 0)
        return json_array();
    if (strcmp(type, "null") == 0)
        return json_null();
    return json_string("some text");
}

json_t *client_fill(const json_t *schema)
{
    json_t *filled = json_object();
    json_t *field;
    const char *name;

    json_object_foreach(json_object_get(schema, "properties"), name, field)
        json_object_set_new(filled, name, fill_one(field));
    return filled;
}

/* The answer to a question for a form: accepted, filled in. give, or NULL */
static char *accept_form(const char *params, size_t len)
{
    json_t *question = json_loadb(params, len, 0, NULL);
    json_t *answer = json_pack("{s:s,s:o}", "action", "accept", "content",
                               client_fill(json_object_get(question, "requestedSchema")));
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

    json_decref(answer);
    json_decref(question);
    return text;
}

static void on_elicit(void *arg, mcplug_server *server, mcplug_input *input,
                      const char *params, size_t len)
{
    struct client *c = arg;

    c->questions++;
    if (c->elicit) {
        c->elicit(arg, server, input, params, len);
        return;
    }
    char *answer = accept_form(params, len);
    if (!answer || mcplug_input_answer(input, answer) != MCPLUG_OK)
        mcplug_input_refuse(input, -32603, "no answer");
    free(answer);
}

static void on_sample(void *arg, mcplug_server *server, mcplug_input *input,
                      const char *params, size_t len)
{
    struct client *c = arg;
    (void)server, (void)params, (void)len;

    c->questions++;
    mcplug_input_answer(input, "{\"role\":\"assistant\",\"model\":\"none\","
                               "\"content\":{\"type\":\"text\",\"text\":\"some text\"}}");
}

static void on_roots(void *arg, mcplug_server *server, mcplug_input *input,
                     const char *params, size_t len)
{
    struct client *c = arg;
    (void)server, (void)params, (void)len;

    c->questions++;
    mcplug_input_answer(input, "{\"roots\":[]}");
}

/* ---- the connection -------------------------------------------------------- */

static void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)arg, (void)level;
    fprintf(stderr, "%s: %s\n", source, text);
}

int client_open(struct client *c, const char *url, unsigned asks)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_options options = {
        .struct_size = sizeof options, .log_level = MCPLUG_LOG_WARN, .log = on_log};
    struct mcplug_server_options so = {
        .struct_size = sizeof so,
        .once = 1,
        .timeout_ms = CONNECT_MS,
        .request_ms = REQUEST_MS,
        .tool_ms = REQUEST_MS,
        .arg = c,
        .elicit = asks & ASKS_ELICIT ? on_elicit : NULL,
        .sample = asks & ASKS_SAMPLE ? on_sample : NULL,
        .roots = asks & ASKS_ROOTS ? on_roots : NULL,
    };
    int r = -1;

    mcplug_settings *settings = mcplug_settings_new(NULL);
    c->host = mcplug_new(&options, &err);
    if (!settings || !c->host)
        client_fail("no host: %s", err.text);
    else if (mcplug_settings_set(settings, "url", url) != MCPLUG_OK)
        client_fail("%s: cannot be set", url);
    else if (mcplug_open_wait(c->host, settings, &so, &c->server, &err) != MCPLUG_OK)
        client_fail("%s: %s: %s", url, mcplug_error_name(err.code), err.text);
    else
        r = 0;
    mcplug_settings_free(settings);
    return r;
}

void client_close(struct client *c)
{
    if (c->server)
        mcplug_close_wait(c->server);
    mcplug_free(c->host);
    json_decref(c->context);
}

/* ---- requests -------------------------------------------------------------- */

static char *dump(const json_t *value)
{
    return value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
}

/* Takes the result of a request and gives what is in it, or NULL after a line. */
static json_t *load(const char *what, mcplug_result *result)
{
    size_t len;
    const char *text = mcplug_result_json(result, &len);
    json_t *value = json_loadb(text, len, 0, NULL);

    if (!value)
        client_fail("%s: the result cannot be read: %.200s", what, text);
    mcplug_result_unref(result);
    return value;
}

int client_request(struct client *c, const char *method, const json_t *params,
                   json_t **out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    char *text = dump(params);

    int r = mcplug_request_wait(c->server, method, text, NULL, &result, &err);
    free(text);
    if (r != MCPLUG_OK) {
        mcplug_result_unref(result);
        return client_fail("%s: %s: %s", method, mcplug_error_name(err.code), err.text);
    }
    json_t *value = load(method, result);
    if (value && out)
        *out = json_incref(value);
    json_decref(value);
    return value ? 0 : -1;
}

struct ping {
    bool done;
    int code;
};

static void on_ping(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct ping *p = arg;
    (void)call, (void)result;

    p->done = true;
    p->code = why ? why->code : MCPLUG_OK;
}

int client_ping(struct client *c)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct ping p = {0};

    if (!mcplug_ping(c->server, NULL, on_ping, &p, &err))
        return client_fail("ping: %s", err.text);
    while (!p.done)
        mcplug_turn(c->host, 1);
    return p.code == MCPLUG_OK ? 0 : client_fail("ping: %s", mcplug_error_name(p.code));
}

int client_list(struct client *c, enum mcplug_kind kind, json_t **out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_list *list = NULL;

    if (mcplug_get_list_wait(c->server, kind, NULL, &list, &err) != MCPLUG_OK)
        return client_fail("list %d: %s: %s", kind, mcplug_error_name(err.code),
                           err.text);
    json_t *items = json_array();
    for (size_t i = 0; i < mcplug_list_count(list); i++) {
        size_t len;
        const char *text = mcplug_list_item(list, i, &len);
        json_array_append_new(items, json_loadb(text, len, 0, NULL));
    }
    int whole = json_array_size(items) == mcplug_list_count(list);
    mcplug_list_unref(list);
    if (!whole) {
        json_decref(items);
        return client_fail("list %d: an item cannot be read", kind);
    }
    *out = items;
    return 0;
}

static const char *first_text(const json_t *result)
{
    const json_t *block = json_array_get(json_object_get(result, "content"), 0);
    const char *text = json_string_value(json_object_get(block, "text"));

    return text ? text : "";
}

int client_call(struct client *c, const char *tool, const json_t *arguments,
                const char *want)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    char *text = dump(arguments);

    int r = mcplug_call_tool_wait(c->server, tool, text, NULL, &result, &err);
    free(text);
    if (r != MCPLUG_OK) {
        client_fail("%s: %s: %s", tool, mcplug_error_name(err.code), err.text);
    } else if (mcplug_result_is_error(result)) {
        r = client_fail("%s: %s", tool, mcplug_result_error_text(result));
    } else if (want) {
        json_t *value = load(tool, mcplug_result_ref(result));
        if (!strstr(first_text(value), want))
            r = client_fail("%s: `%s` is not in its answer `%s`", tool, want,
                            first_text(value));
        json_decref(value);
    }
    mcplug_result_unref(result);
    return r == MCPLUG_OK ? 0 : -1;
}

json_t *client_find(const json_t *items, const char *name)
{
    json_t *item;
    size_t i;

    json_array_foreach(items, i, item)
    {
        const char *its = json_string_value(json_object_get(item, "name"));
        if (its && strcmp(its, name) == 0)
            return item;
    }
    return NULL;
}

/* ---- the command ----------------------------------------------------------- */

int client_command(struct client *c, const char *const words[], int *out)
{
    const char *program = getenv("MCPLUG_COMMAND");
    const char *argv[16] = {program};
    size_t n = 1;
    int status;
    pid_t pid;

    if (!program)
        return client_fail("MCPLUG_COMMAND is not set");
    for (; *words && n < sizeof argv / sizeof *argv - 4; words++)
        argv[n++] = *words;
    argv[n++] = "--strict-mcp-config";
    argv[n++] = "--url";
    argv[n++] = c->url;
    int e = posix_spawn(&pid, program, NULL, NULL, (char *const *)argv, environ);
    if (e != 0)
        return client_fail("%s: %s", program, strerror(e));
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return client_fail("%s has not ended by itself", program);
    *out = WEXITSTATUS(status);
    return 0;
}
