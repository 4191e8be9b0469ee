/* plugins/websocket/target.c - where to connect and how, see target.h */
#include "target.h"

#include "../common/header.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *set_or_null(const struct mcplug_host *host, const mcplug_props *p,
                               const char *name)
{
    const char *value = host->diag->prop(p, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static int read_url(struct ws_target *t, const struct mcplug_host *host,
                    const mcplug_props *settings, struct mcplug_error *err)
{
    const char *text = host->diag->prop(settings, "url");
    const char *wrong = url_parse(text, &t->url);
    if (wrong == NULL && strcmp(t->url.scheme, "ws") != 0 &&
        strcmp(t->url.scheme, "wss") != 0)
        wrong = "is neither ws:// nor wss://";
    if (wrong != NULL)
        return host->diag->fail(err, MCPLUG_ECONFIG, "url: %s", wrong);

    url_origin(&t->url, t->origin, sizeof t->origin);
    const char *bare = strstr(t->origin, "://");
    snprintf(t->host, sizeof t->host, "%s", bare != NULL ? bare + 3 : t->origin);
    if (strlen(t->host) > WS_HOST_MAX)
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "url: the host is longer than %d bytes", WS_HOST_MAX);
    int slash = t->url.target_len == 0 || text[t->url.target] != '/';
    if (t->url.target_len + (size_t)slash > WS_PATH_MAX)
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "url: path and query are longer than %d bytes",
                                WS_PATH_MAX);
    snprintf(t->path, sizeof t->path, "%s%.*s", slash ? "/" : "", (int)t->url.target_len,
             text + t->url.target);
    return MCPLUG_OK;
}

static int check_header(const struct mcplug_host *host, const char *name,
                        const char *value, struct mcplug_error *err)
{
    if (!header_is_name(name, strlen(name)))
        return host->diag->fail(err, MCPLUG_ECONFIG, "headers: \"%.60s\" is not a name",
                                name);
    if (header_is_reserved(name))
        return host->diag->fail(
            err, MCPLUG_ECONFIG,
            "headers: %.60s is set by the protocol and cannot be changed", name);
    if (!header_is_value(value))
        return host->diag->fail(
            err, MCPLUG_ECONFIG,
            "headers: the value of %.60s has a character that is not allowed in a header",
            name);
    return MCPLUG_OK;
}

static void add_header(struct ws_target *t, const char *name, const char *value)
{
    size_t n = strlen(name), v = strlen(value);
    memcpy(t->headers + t->headers_len, name, n);
    memcpy(t->headers + t->headers_len + n, ": ", 2);
    memcpy(t->headers + t->headers_len + n + 2, value, v);
    memcpy(t->headers + t->headers_len + n + 2 + v, "\r\n", 2);
    t->headers_len += n + v + 4;
}

static int read_headers(struct ws_target *t, const struct mcplug_host *host,
                        const mcplug_props *settings, struct mcplug_error *err)
{
    const char *const *list = host->diag->prop_list(settings, "headers");
    char agent[96];
    int has_agent = 0;

    snprintf(agent, sizeof agent, "mcplug/%s", host->version);
    size_t size = sizeof "User-Agent: \r\n" + strlen(agent);
    for (size_t i = 0; list[i] != NULL; i += 2) {
        int r = check_header(host, list[i], list[i + 1], err);
        if (r != MCPLUG_OK)
            return r;
        size += strlen(list[i]) + strlen(list[i + 1]) + 4;
        has_agent |= strcasecmp(list[i], "User-Agent") == 0;
    }
    if (size > WS_HEADERS_MAX)
        return host->diag->fail(err, MCPLUG_ECONFIG, "headers: more than %d bytes",
                                WS_HEADERS_MAX);
    t->headers = host->mem->alloc(size);
    if (t->headers == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (!has_agent)
        add_header(t, "User-Agent", agent);
    for (size_t i = 0; list[i] != NULL; i += 2)
        add_header(t, list[i], list[i + 1]);
    return MCPLUG_OK;
}

static int read_protocol(struct ws_target *t, const struct mcplug_host *host,
                         const mcplug_props *settings, struct mcplug_error *err)
{
    t->subprotocol = set_or_null(host, settings, "subprotocol");
    if (t->subprotocol == NULL)
        return MCPLUG_OK;
    size_t len = strlen(t->subprotocol);
    if (len <= WS_PROTOCOL_MAX && header_is_name(t->subprotocol, len))
        return MCPLUG_OK;
    return host->diag->fail(err, MCPLUG_ECONFIG, "subprotocol: not a name");
}

static int read_tls(struct ws_target *t, const struct mcplug_host *host,
                    const mcplug_props *settings, struct mcplug_error *err)
{
    t->ca_file = set_or_null(host, settings, "caFile");
    t->cert_file = set_or_null(host, settings, "certFile");
    t->key_file = set_or_null(host, settings, "keyFile");
    t->insecure = host->diag->prop_int(settings, "insecure", 0) != 0;
    if (t->key_file != NULL && t->cert_file == NULL)
        return host->diag->fail(err, MCPLUG_ECONFIG, "keyFile without certFile");
    if (!t->url.secure && (t->ca_file != NULL || t->cert_file != NULL))
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "caFile and certFile are for wss:// addresses");
    return MCPLUG_OK;
}

int ws_target_init(struct ws_target *target, const struct mcplug_host *host,
                   const mcplug_props *settings, struct mcplug_error *err)
{
    *target = (struct ws_target){.ping_ms = 0};
    target->ping_ms = (uint64_t)host->diag->prop_int(settings, "ping", 30000);
    target->connect_ms =
        (uint64_t)host->diag->prop_int(settings, "connectTimeout", 60000);
    target->denied = host->diag->prop_list(settings, "denyAddresses");
    int r = read_url(target, host, settings, err);
    if (r == MCPLUG_OK)
        r = read_protocol(target, host, settings, err);
    if (r == MCPLUG_OK)
        r = read_tls(target, host, settings, err);
    if (r == MCPLUG_OK)
        r = read_headers(target, host, settings, err);
    return r;
}

void ws_target_clear(struct ws_target *target, const struct mcplug_host *host)
{
    if (target->headers != NULL)
        explicit_bzero(target->headers, target->headers_len);
    host->mem->free(target->headers);
    target->headers = NULL;
}
