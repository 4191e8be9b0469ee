#include "client.h"

#include "../common/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(const struct mcplug_host *host, struct mcplug_error *err)
{
    return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
}

/* ---- headers ---- */

static int check_header(const struct mcplug_host *host, const char *name,
                        const char *value, struct mcplug_error *err)
{
    if (!header_is_name(name, strlen(name)))
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "headers: \"%.60s\" is not the name of a header", name);
    if (header_is_reserved(name))
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "headers: %.60s is set by the protocol", name);
    if (!header_is_value(value))
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "headers: the value of %.60s has control characters",
                                name);
    return MCPLUG_OK;
}

static int add_line(struct mcplug_fetch_client *client, const char *name,
                    const char *value)
{
    size_t size = strlen(name) + strlen(value) + 3;
    char *line = client->host->mem->alloc(size);
    if (line == NULL)
        return -1;
    snprintf(line, size, value[0] != '\0' ? "%s: %s" : "%s;", name, value);
    struct curl_slist *more = curl_slist_append(client->fixed, line);
    memset(line, 0, size); /* it may be a secret */
    client->host->mem->free(line);
    if (more == NULL)
        return -1;
    client->fixed = more;
    return 0;
}

static int set_headers(struct mcplug_fetch_client *client, const mcplug_props *settings,
                       struct mcplug_error *err)
{
    const char *const *pair = client->host->diag->prop_list(settings, "headers");
    for (; pair[0] != NULL; pair += 2) {
        int r = check_header(client->host, pair[0], pair[1], err);
        if (r != MCPLUG_OK)
            return r;
        if (add_line(client, pair[0], pair[1]) != 0)
            return out_of_memory(client->host, err);
    }
    return MCPLUG_OK;
}

/* ---- the rest ---- */

static int take(struct mcplug_fetch_client *client, const mcplug_props *settings,
                const char *name, char **out)
{
    const char *value = client->host->diag->prop(settings, name);
    if (value == NULL || value[0] == '\0')
        return 0;
    *out = client->host->mem->alloc(strlen(value) + 1);
    if (*out == NULL)
        return -1;
    strcpy(*out, value);
    return 0;
}

static int take_denied(struct mcplug_fetch_client *client, const mcplug_props *settings)
{
    const struct mcplug_host *host = client->host;
    const char *const *list = host->diag->prop_list(settings, "denyAddresses");
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    if (n == 0)
        return 0;
    client->denied = host->mem->alloc((n + 1) * sizeof *client->denied);
    for (size_t i = 0; client->denied != NULL && i < n; i++) {
        client->denied[i] = host->mem->alloc(strlen(list[i]) + 1);
        if (client->denied[i] == NULL)
            return -1;
        strcpy(client->denied[i], list[i]);
    }
    return client->denied != NULL ? 0 : -1;
}

int fetch_is_denied(struct mcplug_fetch_request *f, const struct sockaddr *to)
{
    const char *const *denied = (const char *const *)f->client->denied;
    return denied != NULL && ip_is_denied_socket(denied, to, f->denied);
}

int fetch_is_denied_peer(struct mcplug_fetch_request *f, const char *ip, int port)
{
    const char *const *denied = (const char *const *)f->client->denied;
    unsigned char address[IP_BYTES];
    return denied != NULL && ip != NULL && ip_read(ip, address) &&
           ip_is_denied(denied, address, (unsigned)port, f->denied);
}

/* curl reads https_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY itself, and http_proxy in
 * small letters only, because HTTP_PROXY is what a CGI program gets from a request. */
const char *fetch_proxy(const struct mcplug_fetch_client *client, const struct url *url)
{
    const char *big = getenv("HTTP_PROXY");
    if (client->proxy != NULL)
        return strcmp(client->proxy, "none") == 0 ? "" : client->proxy;
    if (url_is_loopback(url))
        return "";
    if (url->secure || big == NULL || big[0] == '\0' || getenv("http_proxy") != NULL ||
        getenv("REQUEST_METHOD") != NULL)
        return NULL;
    return big;
}

static int set_up(struct mcplug_fetch_client *client, const mcplug_props *settings,
                  const char *url, struct mcplug_error *err)
{
    const struct mcplug_diag *diag = client->host->diag;
    const char *wrong = url_parse(url, &client->origin);
    if (wrong != NULL && strchr(url, '@') != NULL) /* there may be a password before */
        return diag->fail(err, MCPLUG_ECONFIG, "url: it %s", wrong);
    if (wrong != NULL)
        return diag->fail(err, MCPLUG_ECONFIG, "url \"%.200s\" %s", url, wrong);
    if (strncmp(client->origin.scheme, "http", 4) != 0)
        return diag->fail(err, MCPLUG_ECONFIG, "url \"%.200s\": expected http or https",
                          url);
    client->url = client->host->mem->alloc(strlen(url) + 1);
    if (client->url == NULL)
        return out_of_memory(client->host, err);
    strcpy(client->url, url);
    snprintf(client->user_agent, sizeof client->user_agent, "mcplug/%s",
             client->host->version);
    client->insecure = diag->prop_int(settings, "insecure", 0) != 0;
    client->connect_ms = (long)diag->prop_int(settings, "connectTimeout", 30000);
    if (take(client, settings, "caFile", &client->ca) != 0 ||
        take(client, settings, "certFile", &client->cert) != 0 ||
        take(client, settings, "keyFile", &client->key) != 0 ||
        take(client, settings, "proxy", &client->proxy) != 0 ||
        take_denied(client, settings) != 0)
        return out_of_memory(client->host, err);
    int r = set_headers(client, settings, err);
    if (r == MCPLUG_OK && fetch_loop_init(client) != 0)
        r = out_of_memory(client->host, err);
    return r;
}

int fetch_client_new(void *ctx, const mcplug_props *settings, const char *url,
                     mcplug_fetch_client **out, struct mcplug_error *err)
{
    struct fetch_module *module = ctx;
    const struct mcplug_host *host = module->host;
    struct mcplug_fetch_client *client = host->mem->alloc(sizeof *client);
    if (client == NULL)
        return out_of_memory(host, err);
    client->host = host;
    client->self = module->self;
    client->module = module;
    int r = set_up(client, settings, url, err);
    if (r == MCPLUG_OK)
        *out = client;
    else
        fetch_client_free(client);
    return r;
}

void fetch_client_free(mcplug_fetch_client *client)
{
    if (client == NULL)
        return;
    const struct mcplug_mem *mem = client->host->mem;
    while (client->requests != NULL)
        fetch_stop(client->requests);
    while (client->n_spare > 0)
        curl_easy_cleanup(client->spare[--client->n_spare]);
    fetch_loop_clear(client);
    fetch_cookies_clear(client);
    for (struct curl_slist *line = client->fixed; line != NULL; line = line->next)
        memset(line->data, 0, strlen(line->data));
    curl_slist_free_all(client->fixed);
    mem->free(client->url);
    mem->free(client->ca);
    mem->free(client->cert);
    mem->free(client->key);
    mem->free(client->proxy);
    for (size_t i = 0; client->denied != NULL && client->denied[i] != NULL; i++)
        mem->free(client->denied[i]);
    mem->free(client->denied);
    mem->free(client);
}
