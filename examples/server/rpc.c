/* rpc.c - from a line to a method, and from a result to a line. */
#include "server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_MODERN = 1, IN_LEGACY = 2, IN_BOTH = 3 };

struct method {
    const char *name;
    unsigned eras;
    void (*run)(const struct request *rq);
};

static const struct method methods[] = {
    {"server/discover", IN_MODERN, on_discover},
    {"initialize", IN_LEGACY, on_initialize},
    {"ping", IN_LEGACY, on_ping},
    {"logging/setLevel", IN_LEGACY, on_set_level},
    {"tools/list", IN_BOTH, on_tools_list},
    {"tools/call", IN_BOTH, on_tools_call},
    {"resources/list", IN_BOTH, on_resources_list},
    {"resources/templates/list", IN_BOTH, on_templates_list},
    {"resources/read", IN_BOTH, on_resources_read},
    {"resources/subscribe", IN_LEGACY, on_subscribe},
    {"resources/unsubscribe", IN_LEGACY, on_unsubscribe},
    {"subscriptions/listen", IN_MODERN, on_listen},
    {"prompts/list", IN_BOTH, on_prompts_list},
    {"prompts/get", IN_BOTH, on_prompts_get},
    {"completion/complete", IN_BOTH, on_complete},
};

static const struct method *method_find(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!strcmp(methods[i].name, name))
            return &methods[i];
    }
    return NULL;
}

/* ---- answers ---- */

static json_t *envelope(json_t *id)
{
    json_t *message = must(json_pack("{ss}", "jsonrpc", "2.0"));
    json_object_set(message, "id", id ? id : json_null());
    return message;
}

json_t *answer_of(const struct request *rq, json_t *result)
{
    if (rq->modern) {
        json_t *meta = json_object_get(result, "_meta");
        if (!json_object_get(result, "resultType"))
            json_object_set_new(result, "resultType", json_string("complete"));
        if (!meta) {
            meta = json_object();
            json_object_set_new(result, "_meta", meta);
        }
        json_object_set_new(meta, META("serverInfo"), server_info(rq));
    }
    json_t *message = envelope(rq->id);
    json_object_set_new(message, "result", result);
    return message;
}

void reply(const struct request *rq, json_t *result)
{
    peer_put_json(rq->peer, answer_of(rq, result));
}

void reply_cacheable(const struct request *rq, json_t *result, int ttl_ms)
{
    if (rq->modern) {
        json_object_set_new(result, "ttlMs", json_integer(ttl_ms));
        json_object_set_new(result, "cacheScope", json_string("public"));
    }
    reply(rq, result);
}

json_t *text_of(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : must(json_string("(not UTF-8)"));
}

void refuse_with(const struct request *rq, int code, const char *message, json_t *data)
{
    json_t *answer = envelope(rq->id);
    json_t *error = must(json_pack("{siso}", "code", code, "message", text_of(message)));
    if (data)
        json_object_set_new(error, "data", data);
    json_object_set_new(answer, "error", error);
    peer_put_json(rq->peer, answer);
}

void refuse(const struct request *rq, int code, const char *format, ...)
{
    char *message = NULL;
    va_list ap;

    va_start(ap, format);
    if (vasprintf(&message, format, ap) < 0)
        message = NULL;
    va_end(ap);
    refuse_with(rq, code, must(message), NULL);
    free(message);
}

void notify(struct peer *p, const char *method, json_t *params)
{
    json_t *message = must(json_pack("{ssss}", "jsonrpc", "2.0", "method", method));
    if (params)
        json_object_set_new(message, "params", params);
    peer_put_json(p, message);
}

/* Cursors are ours to read only: the key and where to go on. */
static bool cursor_read(const char *cursor, const char *key, size_t count, size_t *at)
{
    size_t len = strlen(key);
    char *end;

    if (strncmp(cursor, key, len) != 0 || cursor[len] != '@')
        return false;
    unsigned long n = strtoul(cursor + len + 1, &end, 16);
    *at = n;
    return *end == '\0' && end != cursor + len + 1 && n <= count;
}

void reply_page(const struct request *rq, const char *key, json_t *items)
{
    json_t *cursor = json_object_get(rq->params, "cursor");
    size_t count = json_array_size(items), at = 0, most = rq->peer->world->opt.page;

    if (cursor && (!json_is_string(cursor) ||
                   !cursor_read(json_string_value(cursor), key, count, &at))) {
        refuse(rq, INVALID_PARAMS, "Invalid cursor");
        return;
    }
    size_t end = most && count - at > most ? at + most : count;
    json_t *page = must(json_array()), *result = must(json_object());
    for (size_t i = at; i < end; i++)
        json_array_append(page, json_array_get(items, i));
    json_object_set_new(result, key, page);
    if (end < count)
        json_object_set_new(result, "nextCursor", json_sprintf("%s@%zx", key, end));
    reply_cacheable(rq, result, 60000);
}

/* ---- small questions about a request ---- */

bool since(const struct request *rq, const char *version)
{
    return strcmp(rq->version, version) >= 0; /* revisions are dates */
}

json_t *supported_versions(void)
{
    /* Only what a request may name for itself: a legacy revision has to be
     * agreed in a handshake. */
    return must(json_pack("[s]", MODERN_VERSION));
}

int level_of(json_t *name)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};

    for (int i = 0; json_is_string(name) && i < LEVEL_NONE; i++) {
        if (!strcmp(levels[i], json_string_value(name)))
            return i;
    }
    return -1;
}

const char *param_string(const struct request *rq, const char *name)
{
    return json_string_value(json_object_get(rq->params, name));
}

json_t *literal(const char *text)
{
    char *copy = must(strdup(text));
    for (char *c = copy; *c; c++) {
        if (*c == '\'')
            *c = '"';
    }
    json_t *value = must(json_loads(copy, JSON_DECODE_ANY, NULL));
    free(copy);
    return value;
}

/* ---- eras ---- */

static void refuse_version(const struct request *rq, json_t *requested)
{
    json_t *data = must(json_object());
    json_object_set_new(data, "supported", supported_versions());
    json_object_set(data, "requested", requested);
    refuse_with(rq, UNSUPPORTED_VERSION,
                "Unsupported protocol version: this server takes " MODERN_VERSION, data);
}

/* Reads what a modern request says about itself; false after refusing it. */
static bool modern_open(struct request *rq)
{
    json_t *version = json_object_get(rq->meta, META("protocolVersion"));
    json_t *level = json_object_get(rq->meta, META("logLevel"));
    json_t *info = json_object_get(rq->meta, META("clientInfo"));

    rq->modern = true;
    rq->version = MODERN_VERSION;
    rq->caps = json_object_get(rq->meta, META("clientCapabilities"));
    rq->log_level = level ? level_of(level) : LEVEL_NONE;
    if (!json_is_string(version))
        refuse(rq, INVALID_PARAMS, "_meta lacks %s", META("protocolVersion"));
    else if (strcmp(json_string_value(version), MODERN_VERSION) != 0)
        refuse_version(rq, version);
    else if (!json_is_object(rq->caps))
        refuse(rq, INVALID_PARAMS, "_meta lacks %s", META("clientCapabilities"));
    else if (info && !json_is_object(info))
        refuse(rq, INVALID_PARAMS, "%s must be an object", META("clientInfo"));
    else if (rq->log_level < 0)
        refuse(rq, INVALID_PARAMS, "%s is no log level", META("logLevel"));
    else
        return true;
    return false;
}

static bool legacy_open(struct request *rq, const struct method *m)
{
    rq->version = rq->peer->legacy ? rq->peer->legacy : "";
    rq->caps = rq->peer->caps;
    rq->log_level = rq->peer->log_level;
    if (rq->peer->legacy || m->run == on_ping || m->run == on_initialize)
        return true;
    refuse(rq, INVALID_REQUEST, "Not initialized");
    return false;
}

/* A request is modern when it says so, when its method is, or when nothing on
 * this connection has made it legacy. */
static bool is_modern(const struct request *rq, const struct method *m)
{
    enum era era = rq->peer->world->opt.era;

    if (era == ERA_LEGACY)
        return false;
    if (era == ERA_MODERN || m->eras == IN_MODERN)
        return true;
    if (json_object_get(rq->meta, META("protocolVersion")))
        return true;
    return !rq->peer->legacy && m->eras == IN_BOTH;
}

static void handle_request(struct request *rq, const char *name)
{
    const struct method *m = method_find(name);
    bool modern = m && is_modern(rq, m);

    if (m && m->run == on_initialize && rq->peer->world->opt.era == ERA_MODERN)
        refuse_version(rq, json_object_get(rq->params, "protocolVersion"));
    else if (!m || !(m->eras & (modern ? IN_MODERN : IN_LEGACY)))
        refuse(rq, METHOD_NOT_FOUND, "Method not found: %s", name);
    else if (modern ? modern_open(rq) : legacy_open(rq, m))
        m->run(rq);
}

static void handle_message(struct peer *p, json_t *message)
{
    struct request rq = {.peer = p, .id = json_object_get(message, "id")};
    json_t *method = json_object_get(message, "method");
    json_t *params = json_object_get(message, "params");
    bool good_id = json_is_string(rq.id) || json_is_integer(rq.id);

    if (json_is_object(params)) {
        json_t *meta = json_object_get(params, "_meta");
        rq.params = params;
        rq.meta = json_is_object(meta) ? meta : NULL;
    }
    if (json_is_string(method) && !rq.id) {
        if (!strcmp(json_string_value(method), "notifications/cancelled"))
            on_cancelled(&rq);
    } else if (json_is_string(method) && good_id && (!params || rq.params)) {
        handle_request(&rq, json_string_value(method));
    } else if (good_id && !method &&
               (json_object_get(message, "result") ||
                json_object_get(message, "error"))) {
        calls_answered(p, message);
    } else {
        rq.id = good_id ? rq.id : NULL;
        refuse(&rq, INVALID_REQUEST, "Not a JSON-RPC message");
    }
}

void peer_handle(struct peer *p, const char *line, size_t len)
{
    struct request nobody = {.peer = p};
    json_error_t err;

    if (len == SIZE_MAX) {
        refuse(&nobody, INVALID_REQUEST, "Message longer than %d bytes", LINE_LIMIT);
        return;
    }
    json_t *message = json_loadb(line, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &err);
    /* 2025-03-26 alone lets a client send several messages as one array; they
     * are answered one by one, which JSON-RPC permits. */
    bool batch =
        p->legacy && !strcmp(p->legacy, "2025-03-26") && json_array_size(message) > 0;
    if (!message) {
        refuse(&nobody, PARSE_ERROR, "Parse error: %s", err.text);
    } else if (batch) {
        size_t i;
        json_t *one;
        json_array_foreach(message, i, one) handle_message(p, one);
    } else {
        handle_message(p, message);
    }
    json_decref(message);
}
