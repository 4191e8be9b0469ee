#include "net_private.h"

#include "header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static int add_line(struct net *net, const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 3;
    char *line = net->host->mem->alloc(size);
    if (line == NULL)
        return -1;
    snprintf(line, size, value[0] != '\0' ? "%s: %s" : "%s;", name, value);
    struct curl_slist *more = curl_slist_append(net->fixed, line);
    memset(line, 0, size); /* it may be a secret */
    net->host->mem->free(line);
    if (more == NULL)
        return -1;
    net->fixed = more;
    return 0;
}

static int set_headers(struct net *net, const mcplug_props *settings,
                       const struct net_header *extra, struct mcplug_error *err)
{
    const char *const *pair = net->host->diag->prop_list(settings, "headers");
    struct curl_slist *first = curl_slist_append(NULL, "Expect:");
    if (first == NULL)
        return out_of_memory(net->host, err);
    net->fixed = first;
    if (extra != NULL && extra->name != NULL &&
        add_line(net, extra->name, extra->value) != 0)
        return out_of_memory(net->host, err);
    for (; pair[0] != NULL; pair += 2) {
        int r = check_header(net->host, pair[0], pair[1], err);
        if (r != MCPLUG_OK)
            return r;
        if (strcasecmp(pair[0], "user-agent") == 0) {
            snprintf(net->user_agent, sizeof net->user_agent, "%s", pair[1]);
            continue;
        }
        if (add_line(net, pair[0], pair[1]) != 0)
            return out_of_memory(net->host, err);
    }
    return MCPLUG_OK;
}

/* ---- the rest ---- */

static int take(struct net *net, const mcplug_props *settings, const char *name,
                char **out)
{
    const char *value = net->host->diag->prop(settings, name);
    if (value == NULL || value[0] == '\0')
        return 0;
    *out = net->host->mem->alloc(strlen(value) + 1);
    if (*out == NULL)
        return -1;
    strcpy(*out, value);
    return 0;
}

/* curl reads https_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY itself, and http_proxy in
 * small letters only, because HTTP_PROXY is what a CGI program gets from a request. */
static int choose_proxy(struct net *net)
{
    const char *big = getenv("HTTP_PROXY");
    if (net->proxy != NULL) {
        net->no_proxy = strcmp(net->proxy, "none") == 0;
        return 0;
    }
    if (url_is_loopback(&net->origin)) {
        net->no_proxy = 1;
        return 0;
    }
    if (net->origin.secure || big == NULL || big[0] == '\0' ||
        getenv("http_proxy") != NULL || getenv("REQUEST_METHOD") != NULL)
        return 0;
    net->proxy = net->host->mem->alloc(strlen(big) + 1);
    if (net->proxy == NULL)
        return -1;
    strcpy(net->proxy, big);
    return 0;
}

static int set_up(struct net *net, const mcplug_props *settings, const char *url,
                  const struct net_header *extra, struct mcplug_error *err)
{
    const struct mcplug_diag *diag = net->host->diag;
    const char *wrong = url_parse(url, &net->origin);
    if (wrong != NULL && strchr(url, '@') != NULL) /* there may be a password before */
        return diag->fail(err, MCPLUG_ECONFIG, "url: it %s", wrong);
    if (wrong != NULL)
        return diag->fail(err, MCPLUG_ECONFIG, "url \"%.200s\" %s", url, wrong);
    if (strncmp(net->origin.scheme, "http", 4) != 0)
        return diag->fail(err, MCPLUG_ECONFIG, "url \"%.200s\": http or https is wanted",
                          url);
    snprintf(net->user_agent, sizeof net->user_agent, "mcplug/%s", net->host->version);
    net->insecure = diag->prop_int(settings, "insecure", 0) != 0;
    net->connect_ms = (long)diag->prop_int(settings, "connectTimeout", 30000);
    if (take(net, settings, "caFile", &net->ca) != 0 ||
        take(net, settings, "certFile", &net->cert) != 0 ||
        take(net, settings, "keyFile", &net->key) != 0 ||
        take(net, settings, "proxy", &net->proxy) != 0 || choose_proxy(net) != 0)
        return out_of_memory(net->host, err);
    int r = set_headers(net, settings, extra, err);
    if (r == MCPLUG_OK && net_loop_init(net) != 0)
        r = out_of_memory(net->host, err);
    return r;
}

int net_new(const struct mcplug_host *host, mcplug_self *self,
            const mcplug_props *settings, const char *url, const struct net_header *extra,
            struct net **out, struct mcplug_error *err)
{
    struct net *net = host->mem->alloc(sizeof *net);
    if (net == NULL)
        return out_of_memory(host, err);
    net->host = host;
    net->self = self;
    int r = set_up(net, settings, url, extra, err);
    if (r == MCPLUG_OK)
        *out = net;
    else
        net_free(net);
    return r;
}

void net_free(struct net *net)
{
    if (net == NULL)
        return;
    const struct mcplug_mem *mem = net->host->mem;
    while (net->fetches != NULL)
        net_stop(net->fetches);
    while (net->n_spare > 0)
        curl_easy_cleanup(net->spare[--net->n_spare]);
    net_loop_clear(net);
    for (struct curl_slist *line = net->fixed; line != NULL; line = line->next)
        memset(line->data, 0, strlen(line->data));
    curl_slist_free_all(net->fixed);
    mem->free(net->ca);
    mem->free(net->cert);
    mem->free(net->key);
    mem->free(net->proxy);
    mem->free(net);
}

int net_library_init(const struct mcplug_host *host, struct mcplug_error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return MCPLUG_OK;
    return host->diag->fail(err, MCPLUG_EIO, "libcurl does not start");
}

void net_library_fini(void)
{
    curl_global_cleanup();
}
