/* One health check by a probe, against a real server: the connection to that is one of
 * the public API with a loop of its own, so that nothing of it gets between what the
 * module does on the kit's. */
#include "helpers/check/kit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"

#include <mcplug/mcplug.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERDICT_MS 3000 /* as the core has it */
#define CONNECT_MS 10000
#define ASKS_MAX 16

struct mp_kit_peer {
    mcplug *host;
    mcplug_config *config;
    mcplug_server *server;
    char name[256];
};

struct ask {
    char *method, *params; /* params: NULL if empty */
    void (*fn)(void *arg, struct mcplug_bytes reply, const struct mcplug_error *why);
    void *arg;
};

struct mcplug_check {
    struct mp_kit *kit;
    const char *name;
    struct mp_kit_peer *peer;
    struct mcplug_target target;
    struct ask asks[ASKS_MAX];
    size_t n_asks, n_answered;
    int verdicts;
    bool late_ask, nobody_asked; /* after its verdict; without a function to answer */
    struct mcplug_error why;     /* of the first verdict; code 0: alive */
    bool no_code;                /* a reason that has none */
};

/* ---- the server ---- */

static bool is_configured(const mcplug_config *config, const char *name)
{
    for (size_t i = 0; config && i < mcplug_config_count(config); i++)
        if (strcmp(mcplug_config_name(config, i), name) == 0)
            return true;
    return false;
}

static int open_command(struct mp_kit_peer *peer, const char *const *words,
                        const struct mcplug_server_options *options,
                        struct mcplug_error *err)
{
    mcplug_settings *s = mcplug_settings_new("stdio");
    int r = s ? mcplug_settings_set(s, "command", words[0]) : MCPLUG_ENOMEM;

    for (size_t i = 1; r == MCPLUG_OK && words[i]; i++)
        r = mcplug_settings_add(s, "args", words[i]);
    r = r == MCPLUG_OK ? mcplug_open_wait(peer->host, s, options, &peer->server, err)
                       : mp_fail_nomem(err);
    mcplug_settings_free(s);
    return r;
}

struct mp_kit_peer *mp_kit_peer_open(const char *const *words, struct mcplug_error *err)
{
    const struct mcplug_server_options options = {.struct_size = sizeof options,
                                                  .timeout_ms = CONNECT_MS};
    struct mp_kit_peer *peer = mp_alloc(sizeof *peer);

    if (!peer) {
        mp_fail_nomem(err);
        return NULL;
    }
    peer->host = mcplug_new(NULL, err);
    if (peer->host && !words[1])
        peer->config = mcplug_config_load(NULL, NULL);
    int r = MCPLUG_EIO;
    if (peer->host && is_configured(peer->config, words[0]))
        r = mcplug_open_named_wait(peer->host, peer->config, words[0], &options,
                                   &peer->server, err);
    else if (peer->host)
        r = open_command(peer, words, &options, err);
    if (r == MCPLUG_OK) {
        snprintf(peer->name, sizeof peer->name, "%s", mcplug_server_name(peer->server));
        return peer;
    }
    mp_kit_peer_close(peer);
    return NULL;
}

void mp_kit_peer_close(struct mp_kit_peer *peer)
{
    if (!peer)
        return;
    if (peer->server)
        mcplug_close_wait(peer->server);
    mcplug_free(peer->host);
    mcplug_config_free(peer->config);
    mp_free(peer);
}

/* As it came over the wire; the public API keeps the pages of tools. */
static int ask_tools(mcplug_server *server, struct mp_str *out, struct mcplug_error *err)
{
    mcplug_list *list = NULL;
    int r = mcplug_get_list_wait(server, MCPLUG_TOOLS, NULL, &list, err);

    mp_str_adds(out, "{\"tools\":[");
    for (size_t i = 0; r == MCPLUG_OK && i < mcplug_list_count(list); i++) {
        size_t len;
        const char *item = mcplug_list_item(list, i, &len);
        mp_str_adds(out, i ? "," : "");
        mp_str_add(out, item, len);
    }
    mp_str_adds(out, "]}");
    if (r == MCPLUG_OK && out->failed)
        r = mp_fail_nomem(err);
    mcplug_list_unref(list);
    return r;
}

static void answer(mcplug_check *c, const struct ask *ask)
{
    const struct mcplug_call_options options = {.struct_size = sizeof options,
                                                .timeout_ms = VERDICT_MS};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    struct mp_str tools;
    struct mcplug_bytes reply = {NULL, 0};

    mp_str_init(&tools, (size_t)64 << 20);
    int r;
    if (strcmp(ask->method, "tools/list") == 0) {
        r = ask_tools(c->peer->server, &tools, &why);
        if (r == MCPLUG_OK)
            reply = (struct mcplug_bytes){(const unsigned char *)tools.data, tools.len};
    } else {
        r = mcplug_request_wait(c->peer->server, ask->method, ask->params, &options,
                                &result, &why);
        if (r == MCPLUG_EPEER) /* an answer, too */
            r = MCPLUG_OK;
        if (r == MCPLUG_OK && result)
            reply.data = (const unsigned char *)mcplug_result_json(result, &reply.len);
    }
    mp_kit_enter(c->kit, "probe \"%s\": the function for its answer", c->name);
    ask->fn(ask->arg, reply, r == MCPLUG_OK ? NULL : &why);
    mp_kit_leave(c->kit);
    mcplug_result_unref(result);
    mp_str_clear(&tools);
}

/* ---- host->health ---- */

static const struct mcplug_target *kit_target(const mcplug_check *check)
{
    return &check->target;
}

static int kit_request(mcplug_check *check, const char *method,
                       struct mcplug_bytes params,
                       void (*fn)(void *arg, struct mcplug_bytes reply,
                                  const struct mcplug_error *why),
                       void *arg)
{
    struct ask *ask = &check->asks[check->n_asks];

    check->late_ask = check->late_ask || check->verdicts;
    check->nobody_asked = check->nobody_asked || !fn || !method;
    if (check->verdicts || !fn || !method)
        return MCPLUG_EINVAL;
    if (check->n_asks == ASKS_MAX)
        return MCPLUG_EOVERLOADED;
    *ask = (struct ask){mp_strdup(method), NULL, fn, arg};
    if (params.len)
        ask->params = mp_strndup((const char *)params.data, params.len);
    if (!ask->method || (params.len && !ask->params)) {
        mp_free(ask->method);
        mp_free(ask->params);
        return MCPLUG_ENOMEM;
    }
    check->n_asks++;
    return MCPLUG_OK;
}

static void kit_verdict(mcplug_check *check, const struct mcplug_error *why)
{
    if (check->verdicts++ || !why)
        return;
    mp_error_copy(&check->why, why);
    check->no_code = why->code >= 0;
}

const struct mcplug_health mp_kit_health = {
    .struct_size = sizeof mp_kit_health,
    .target = kit_target,
    .request = kit_request,
    .verdict = kit_verdict,
};

/* ---- one check ---- */

struct alarm {
    struct mp_timer timer;
    bool rang;
};

static void on_alarm(struct mp_timer *timer)
{
    MP_OF(timer, struct alarm, timer)->rang = true;
}

static void await_verdict(mcplug_check *c)
{
    struct alarm alarm = {0};

    mp_loop_turn(c->kit->loop, false); /* brings its clock up to date */
    if (mp_timer_start(c->kit->loop, &alarm.timer, VERDICT_MS, on_alarm) != MCPLUG_OK)
        return;
    while (!c->verdicts && !alarm.rang) {
        if (c->n_answered < c->n_asks) {
            answer(c, &c->asks[c->n_answered++]);
            continue;
        }
        mp_kit_enter(c->kit, "probe \"%s\": a callback of its timers or watches",
                     c->name);
        mp_loop_turn(c->kit->loop, true);
        mp_kit_leave(c->kit);
    }
    mp_timer_stop(c->kit->loop, &alarm.timer);
}

static void sum_up(struct mp_kit *kit, const mcplug_check *c)
{
    if (!c->verdicts)
        mp_kit_say(kit, false, "probe \"%s\": no verdict within %d s", c->name,
                   VERDICT_MS / 1000);
    if (c->verdicts > 1)
        mp_kit_say(kit, false, "probe \"%s\": verdict() more than once", c->name);
    if (c->late_ask)
        mp_kit_say(kit, false, "probe \"%s\": request() after its verdict", c->name);
    if (c->nobody_asked)
        mp_kit_say(kit, false, "probe \"%s\": request() without a method or function",
                   c->name);
    if (c->no_code)
        mp_kit_say(kit, false,
                   "probe \"%s\": verdict() for a reason without an error code", c->name);
    else if (c->verdicts && c->why.code && !c->why.text[0])
        mp_kit_say(kit, false, "probe \"%s\": verdict() for a reason without a text",
                   c->name);
    else if (c->verdicts)
        mp_kit_say(kit, true, "probe \"%s\": says that the server \"%s\" is %s%s",
                   c->name, c->peer->name, c->why.code ? "not well: " : "alive",
                   c->why.code ? c->why.text : "");
}

static void check_free(mcplug_check *c)
{
    for (size_t i = 0; i < c->n_asks; i++) {
        mp_free(c->asks[i].method);
        mp_free(c->asks[i].params);
    }
    mp_free(c);
}

void mp_kit_probe(struct mp_kit *kit, const struct mp_offer *offer,
                  const mcplug_props *settings)
{
    const struct mcplug_probe_ops *ops = offer->feature.ops;
    const char *name = offer->feature.name;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_server *server = kit->peer->server;
    mcplug_check *c = mp_alloc(sizeof *c);
    void *p = NULL;

    if (!c) {
        mp_kit_say(kit, false, "probe \"%s\": out of memory", name);
        return;
    }
    const char *pid = mcplug_server_fact(server, "pid");
    c->kit = kit;
    c->name = name;
    c->peer = kit->peer;
    c->why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    c->target = (struct mcplug_target){
        .struct_size = sizeof c->target,
        .pid = pid ? (int32_t)strtol(pid, NULL, 10) : 0,
        .server = c->peer->name,
        .transport = "stdio",
        .url = mcplug_server_fact(server, "url"),
        .revision = mcplug_server_revision(server),
    };
    if (!pid)
        c->target.transport = "";
    mp_kit_enter(kit, "probe \"%s\": start()", name);
    int r = ops->start(offer->plugin->ctx, c, settings, &p, &why);
    mp_kit_leave(kit);
    if (r != MCPLUG_OK) {
        mp_kit_say(kit, false, "probe \"%s\": start() failed: %s", name,
                   why.text[0] ? why.text : "no reason given");
        if (c->verdicts)
            mp_kit_say(kit, false, "probe \"%s\": a verdict, and start() failed", name);
        check_free(c);
        return;
    }
    await_verdict(c);
    sum_up(kit, c);
    if (!c->verdicts) {
        mp_kit_enter(kit, "probe \"%s\": stop()", name);
        ops->stop(p);
        mp_kit_leave(kit);
    }
    mp_kit_enter(kit, "probe \"%s\": destroy()", name);
    ops->destroy(p);
    mp_kit_leave(kit);
    check_free(c);
}
