/* session.c - who speaks here, and who wants to hear of what. */
#include "server.h"

#include <stdlib.h>
#include <string.h>

/* An open subscriptions/listen request. */
struct listen {
    struct listen *next;
    json_t *id;
    bool tools;
    json_t *uris; /* array of strings, or NULL */
};

static const char instructions[] =
    "A server to try MCP hosts against. Call echo or add for a quick answer, sleep for "
    "a slow one, big for a huge one; ask_name, ask_model and list_roots ask the client "
    "back. grow changes the list of tools, touch changes a resource.";

json_t *server_info(const struct request *rq)
{
    json_t *info =
        must(json_pack("{ssss}", "name", SERVER_NAME, "version", SERVER_VERSION));
    if (since(rq, "2025-06-18"))
        json_object_set_new(info, "title", json_string("mcplug example server"));
    return info;
}

static json_t *capabilities(const struct request *rq)
{
    json_t *caps = literal("{'tools':{'listChanged':true},'resources':{'subscribe':true},"
                           "'prompts':{},'logging':{}}");
    if (since(rq, "2025-03-26"))
        json_object_set_new(caps, "completions", json_object());
    return caps;
}

/* The revision to speak with a client that offers `wanted`: that one, or the
 * newest we know, which the client may then refuse. */
static const char *legacy_version(const char *wanted)
{
    static const char *const known[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                        "2024-11-05"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(known[i], wanted))
            return known[i];
    }
    return known[0];
}

void on_initialize(const struct request *rq)
{
    struct peer *p = rq->peer;
    const char *wanted = param_string(rq, "protocolVersion");
    struct request agreed = *rq;

    if (!wanted) {
        refuse(rq, INVALID_PARAMS, "initialize lacks protocolVersion");
        return;
    }
    p->legacy = agreed.version = legacy_version(wanted);
    json_decref(p->caps);
    p->caps = json_incref(json_object_get(rq->params, "capabilities"));
    reply(&agreed,
          must(json_pack("{sssssoso}", "protocolVersion", p->legacy, "instructions",
                         instructions, "serverInfo", server_info(&agreed), "capabilities",
                         capabilities(&agreed))));
}

void on_discover(const struct request *rq)
{
    json_t *result =
        must(json_pack("{sososs}", "supportedVersions", supported_versions(),
                       "capabilities", capabilities(rq), "instructions", instructions));
    reply_cacheable(rq, result, 3600000);
}

void on_ping(const struct request *rq)
{
    reply(rq, json_object());
}

void on_set_level(const struct request *rq)
{
    int level = level_of(json_object_get(rq->params, "level"));

    if (level < 0) {
        refuse(rq, INVALID_PARAMS, "No such log level");
        return;
    }
    rq->peer->log_level = level;
    reply(rq, json_object());
}

/* ---- legacy subscriptions: one set of URIs ---- */

void on_subscribe(const struct request *rq)
{
    json_t *watched = rq->peer->watched;
    const char *uri = param_string(rq, "uri");

    if (!uri) {
        refuse(rq, INVALID_PARAMS, "uri must be a string");
    } else if (json_object_size(watched) >= SUBSCRIPTION_LIMIT) {
        refuse(rq, INTERNAL_ERROR, "Too many subscriptions");
    } else {
        json_object_set_new(watched, uri, json_true());
        reply(rq, json_object());
    }
}

void on_unsubscribe(const struct request *rq)
{
    const char *uri = param_string(rq, "uri");

    if (!uri) {
        refuse(rq, INVALID_PARAMS, "uri must be a string");
        return;
    }
    json_object_del(rq->peer->watched, uri);
    reply(rq, json_object());
}

/* ---- modern subscriptions: requests that stay open ---- */

static json_t *subscription_params(const struct listen *l)
{
    return must(json_pack("{s{sO}}", "_meta", META("subscriptionId"), l->id));
}

static bool is_string_array(json_t *array)
{
    size_t i;
    json_t *item;

    json_array_foreach(array, i, item)
    {
        if (!json_is_string(item))
            return false;
    }
    return json_is_array(array);
}

/* Answers with what of the wishes will be heard; prompts and the list of
 * resources never change here. */
static void acknowledge(struct peer *p, const struct listen *l)
{
    json_t *granted = must(json_object()), *params = subscription_params(l);

    if (l->tools)
        json_object_set_new(granted, "toolsListChanged", json_true());
    if (l->uris)
        json_object_set(granted, "resourceSubscriptions", l->uris);
    json_object_set_new(params, "notifications", granted);
    notify(p, "notifications/subscriptions/acknowledged", params);
}

void on_listen(const struct request *rq)
{
    struct peer *p = rq->peer;
    json_t *wishes = json_object_get(rq->params, "notifications");
    json_t *uris = json_object_get(wishes, "resourceSubscriptions");

    if (!json_is_object(wishes)) {
        refuse(rq, INVALID_PARAMS, "notifications must be an object");
    } else if (uris && !is_string_array(uris)) {
        refuse(rq, INVALID_PARAMS, "resourceSubscriptions must be an array of strings");
    } else if (p->listen_count >= SUBSCRIPTION_LIMIT) {
        refuse(rq, INTERNAL_ERROR, "Too many subscriptions");
    } else {
        struct listen *l = must(calloc(1, sizeof *l));
        l->id = json_incref(rq->id);
        l->tools = json_is_true(json_object_get(wishes, "toolsListChanged"));
        l->uris = json_incref(uris);
        l->next = p->listens;
        p->listens = l;
        p->listen_count++;
        acknowledge(p, l);
    }
}

static void listen_free(struct listen *l)
{
    json_decref(l->id);
    json_decref(l->uris);
    free(l);
}

void listens_finish(struct peer *p)
{
    for (struct listen *l = p->listens; l; l = l->next) {
        struct request rq = {
            .peer = p, .id = l->id, .version = MODERN_VERSION, .modern = true};
        reply(&rq, subscription_params(l));
    }
    listens_clear(p);
}

void listens_clear(struct peer *p)
{
    while (p->listens) {
        struct listen *gone = p->listens;
        p->listens = gone->next;
        listen_free(gone);
    }
    p->listen_count = 0;
}

void on_cancelled(const struct request *rq)
{
    json_t *id = json_object_get(rq->params, "requestId");

    if (!id || calls_cancel(rq->peer, id))
        return;
    for (struct listen **at = &rq->peer->listens; *at; at = &(*at)->next) {
        struct listen *l = *at;
        if (!json_equal(l->id, id))
            continue;
        *at = l->next;
        listen_free(l);
        rq->peer->listen_count--;
        return;
    }
}

/* ---- news ---- */

void announce_tools(struct peer *p)
{
    if (p->legacy)
        notify(p, "notifications/tools/list_changed", NULL);
    for (struct listen *l = p->listens; l; l = l->next) {
        if (l->tools)
            notify(p, "notifications/tools/list_changed", subscription_params(l));
    }
}

static bool contains(json_t *strings, const char *wanted)
{
    size_t i;
    json_t *item;

    json_array_foreach(strings, i, item)
    {
        if (!strcmp(json_string_value(item), wanted))
            return true;
    }
    return false;
}

void announce_resource(struct peer *p, const char *uri)
{
    static const char method[] = "notifications/resources/updated";

    if (json_object_get(p->watched, uri))
        notify(p, method, must(json_pack("{ss}", "uri", uri)));
    for (struct listen *l = p->listens; l; l = l->next) {
        json_t *params;
        if (!l->uris || !contains(l->uris, uri))
            continue;
        params = subscription_params(l);
        json_object_set_new(params, "uri", json_string(uri));
        notify(p, method, params);
    }
}
