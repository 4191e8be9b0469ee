#include "api/host.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

/* ---- eras remembered ---- */

static enum mp_era recall(void *arg, uint64_t hash)
{
    const mcplug *host = arg;
    size_t n = host->n_eras < MP_ERAS_KEPT ? host->n_eras : MP_ERAS_KEPT;

    for (size_t i = 0; i < n; i++)
        if (host->eras[i].hash == hash)
            return host->eras[i].era;
    return MP_ERA_UNKNOWN;
}

/* A ring: the oldest makes way. */
static void remember(void *arg, uint64_t hash, enum mp_era era)
{
    mcplug *host = arg;
    size_t n = host->n_eras < MP_ERAS_KEPT ? host->n_eras : MP_ERAS_KEPT;

    for (size_t i = 0; i < n; i++) {
        if (host->eras[i].hash == hash) {
            host->eras[i].era = era;
            return;
        }
    }
    host->eras[host->n_eras % MP_ERAS_KEPT].hash = hash;
    host->eras[host->n_eras++ % MP_ERAS_KEPT].era = era;
}

/* ---- opening ---- */

static int check_settings(const struct mp_offer *offer, const mcplug_props *settings,
                          mcplug_props **out, struct mcplug_error *err)
{
    char what[64];
    mcplug_props *props = mp_props_copy(settings);

    if (!props)
        return mp_fail_nomem(err);
    snprintf(what, sizeof what, "transport \"%.32s\"", offer->feature.name);
    int r = mp_props_check(props, offer->feature.options, what, err);
    if (r == MCPLUG_OK)
        *out = props;
    else
        mp_props_free(props);
    return r;
}

/* For a URL whose transport nobody named: the oldest way of HTTP comes last. */
static int fallback(void *arg, const mcplug_props *settings, const struct mp_offer **out,
                    mcplug_props **checked, struct mcplug_error *err)
{
    mcplug *host = arg;
    int r = mp_catalogue_find(host->catalogue, MCPLUG_TRANSPORT, "sse", out, err);
    return r == MCPLUG_OK ? check_settings(*out, settings, checked, err) : r;
}

static void gone(void *arg, mcplug_server *s)
{
    (void)arg;
    if (!s->prev)
        return;
    *s->prev = s->next;
    if (s->next)
        s->next->prev = s->prev;
}

int mp_host_transport(mcplug *host, const char *type, const char *url,
                      const struct mp_offer **out, struct mcplug_error *err)
{
    char scheme[33];

    if (type)
        return mp_catalogue_find(host->catalogue, MCPLUG_TRANSPORT, type, out, err);
    size_t n = url ? strcspn(url, ":") : 0;
    if (n == 0 || n >= sizeof scheme || url[n] != ':')
        return mp_fail(err, MCPLUG_ECONFIG, "%s",
                       url ? "the URL has no scheme before a colon" /* nor is it shown */
                           : "neither a transport type nor a URL was given");
    for (size_t i = 0; i < n; i++)
        scheme[i] = (char)(url[i] >= 'A' && url[i] <= 'Z' ? url[i] + 32 : url[i]);
    scheme[n] = '\0';
    return mp_catalogue_accepts(host->catalogue, MCPLUG_TRANSPORT, scheme, out, err);
}

static const char *name_of(const mcplug_settings *settings,
                           const struct mcplug_server_options *o, char *room, size_t size)
{
    const char *name = NULL;

    if (o && o->struct_size >= offsetof(struct mcplug_server_options, name) + sizeof name)
        name = o->name;
    return name ? name : mp_settings_name(settings, room, size);
}

int mcplug_open(mcplug *host, const mcplug_settings *settings,
                const struct mcplug_server_options *options,
                void (*ready)(void *arg, mcplug_server *server,
                              const struct mcplug_error *why),
                void *ready_arg, mcplug_server **out, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    struct mcplug_server_options o = {0};
    char room[256];
    const struct mp_offer *offer;
    mcplug_props *props;

    if (!err)
        err = &own;
    if (host->freeing)
        return mp_fail(err, MCPLUG_ECLOSED, "the host is being freed");
    int r = mp_host_transport(host, settings->type, mp_props_get(settings->props, "url"),
                              &offer, err);
    if (r != MCPLUG_OK)
        return r;
    r = check_settings(offer, settings->props, &props, err);
    if (r != MCPLUG_OK)
        return r;
    r = mp_take_options(&o, options, err);
    if (r != MCPLUG_OK) {
        mp_props_free(props);
        return r;
    }
    if (!o.timeout_ms)
        o.timeout_ms = host->connect_ms;
    if (!o.tool_ms)
        o.tool_ms = host->tool_ms;
    struct mp_session_config cfg = {
        .loop = host->loop,
        .log = &host->log,
        .client_name = host->client_name,
        .client_version = host->client_version,
        .spill_dir = host->spill_dir,
        .recall = recall,
        .remember = remember,
        .fallback =
            !settings->type && strcmp(offer->feature.name, "http") == 0 ? fallback : NULL,
        .gone = gone,
        .arg = host,
    };
    r = mp_session_open(&cfg, offer, props, &o, name_of(settings, &o, room, sizeof room),
                        ready, ready_arg, out, err);
    mp_props_free(props);
    if (r == MCPLUG_OK) {
        mcplug_server *s = *out;
        s->next = host->servers;
        s->prev = &host->servers;
        if (host->servers)
            host->servers->prev = &s->next;
        host->servers = s;
    }
    return r;
}

void mcplug_close(mcplug_server *server, void (*closed)(void *arg), void *arg)
{
    if (!server)
        return;
    if (!server->is_kept) {
        mp_session_close(server, closed, arg);
        return;
    }
    mp_log(server->cfg.log, MCPLUG_LOG_ERROR, server->source,
           "mcplug_close() of a connection that handles have does nothing: release them");
    if (closed && mp_loop_post(server->cfg.loop, closed, arg) != MCPLUG_OK)
        closed(arg); /* no memory: rather inside than never */
}

/* ---- what is known of it ---- */

const char *mcplug_server_name(const mcplug_server *server)
{
    return server->name;
}

const char *mcplug_server_revision(const mcplug_server *server)
{
    return server->revision;
}

const char *mcplug_server_info(const mcplug_server *server)
{
    return server->info ? server->info : "{}";
}

const char *mcplug_server_capabilities(const mcplug_server *server)
{
    return server->capabilities ? server->capabilities : "{}";
}

const char *mcplug_server_instructions(const mcplug_server *server)
{
    return server->instructions ? server->instructions : "";
}

const char *mcplug_server_fact(const mcplug_server *server, const char *name)
{
    return mp_session_fact(server, name);
}

void mcplug_server_ledger(const mcplug_server *server, struct mcplug_ledger *out)
{
    const struct mp_rpc_counts *c = mp_rpc_counts(server->rpc);
    struct mcplug_ledger all = {
        .struct_size = out->struct_size,
        .under_way = mp_rpc_under_way(server->rpc),
        .issued = c->issued,
        .ok = c->ended[MP_OK],
        .tool_error = c->ended[MP_TOOL_ERROR],
        .peer_error = c->ended[MP_PEER_ERROR],
        .transport_error = c->ended[MP_TRANSPORT_ERROR],
        .timed_out = c->ended[MP_TIMED_OUT],
        .cancelled = c->ended[MP_CANCELLED],
        .late = c->late,
        .unknown = c->unknown,
        .noise = mp_rpc_noise(server->rpc)->count,
    };
    memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
}

/* ---- requests ---- */

mcplug_call *mcplug_request(mcplug_server *server, const char *method, const char *params,
                            const struct mcplug_call_options *options,
                            mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    struct mp_request *call =
        mp_request_start(server, method, mp_text(params), NULL, options, done, arg, err);
    return call ? &call->base : NULL;
}

mcplug_call *mcplug_call_tool(mcplug_server *server, const char *tool,
                              const char *arguments,
                              const struct mcplug_call_options *options,
                              mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    struct mp_request *call = mp_request_start(server, "tools/call", mp_text(arguments),
                                               tool, options, done, arg, err);
    return call ? &call->base : NULL;
}

void mcplug_cancel(mcplug_call *call)
{
    if (call)
        call->cancel(call);
}

mcplug_call *mcplug_ping(mcplug_server *server, const struct mcplug_call_options *options,
                         mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    const char *method = server->era == MP_ERA_MODERN ? "server/discover" : "ping";
    struct mp_request *call = mp_request_start(server, method, mp_bytes(NULL, 0), NULL,
                                               options, done, arg, err);
    if (call)
        call->pings = true;
    return call ? &call->base : NULL;
}

int mcplug_get_list(mcplug_server *server, enum mcplug_kind kind, mcplug_list_fn *done,
                    void *arg, struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;
    return mp_lists_get(server, kind, done, arg, err ? err : &own);
}

int mcplug_subscribe(mcplug_server *server, const char *uri, struct mcplug_error *err)
{
    return mp_notify_subscribe(server, uri, true, err);
}

int mcplug_unsubscribe(mcplug_server *server, const char *uri, struct mcplug_error *err)
{
    return mp_notify_subscribe(server, uri, false, err);
}
