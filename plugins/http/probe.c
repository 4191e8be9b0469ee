/* The probe `http`: a server behind any transport is alive when a URL of it answers. */
#include "http.h"

#include <string.h>

struct look {
    const struct mcplug_host *host;
    mcplug_check *check;
    const struct mcplug_fetch *fetch;
    mcplug_fetch_client *client;
    mcplug_fetch_request *request; /* NULL: not under way */
    char *url;
};

static void judge(struct look *k, int status)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char *name = web_status_name(status);

    if (status >= 200 && status < 400) {
        k->host->health->verdict(k->check, NULL);
        return;
    }
    k->host->diag->fail(&why, MCPLUG_EREFUSED, "healthUrl: HTTP %d%s%s", status,
                        name[0] != '\0' ? " " : "", name);
    why.peer_status = status;
    k->host->health->verdict(k->check, &why);
}

/* The status is all that is wanted. The rest of the answer is not waited for, and what of
 * it comes is not kept: the check is over at the end of this turn. */
static void on_head(void *arg, const struct mcplug_fetch_head *head)
{
    struct look *k = arg;
    k->fetch->stop(k->request);
    k->request = NULL;
    judge(k, head->status);
}

static void on_body(void *arg, struct mcplug_bytes piece)
{
    (void)arg, (void)piece;
}

/* No head that counts: a redirect that is not followed, or no answer at all. */
static void on_done(void *arg, const struct mcplug_error *why)
{
    struct look *k = arg;
    k->request = NULL;
    if (why != NULL && why->peer_status >= 300 && why->peer_status < 400)
        judge(k, why->peer_status);
    else
        k->host->health->verdict(k->check, why);
}

static void look_free(struct look *k)
{
    k->fetch->client_free(k->client);
    k->host->mem->free(k->url);
    k->host->mem->free(k);
}

static int begin(struct look *k, struct web_module *module, const mcplug_props *settings,
                 const char *url, struct mcplug_error *err)
{
    static const struct mcplug_fetch_events events = {
        .struct_size = sizeof events,
        .head = on_head,
        .body = on_body,
        .done = on_done,
    };

    if ((k->url = k->host->mem->alloc(strlen(url) + 1)) == NULL)
        return k->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    strcpy(k->url, url);
    int r = k->fetch->client_new(module->fetch_ctx, settings, k->url, &k->client, err);
    if (r != MCPLUG_OK)
        return r;
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask, .method = "GET", .url = k->url};
    return k->fetch->start(k->client, &ask, &events, k, &k->request, err);
}

static int probe_start(void *ctx, mcplug_check *check, const mcplug_props *settings,
                       void **out, struct mcplug_error *err)
{
    struct web_module *module = ctx;
    const struct mcplug_host *host = module->host;

    if (host->health == NULL)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "this host makes no health checks");
    int r = web_use(module, err);
    if (r != MCPLUG_OK)
        return r;
    struct look *k = host->mem->alloc(sizeof *k);
    if (k == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    k->host = host;
    k->check = check;
    k->fetch = module->fetch;
    r = begin(k, module, settings, host->diag->prop(settings, "healthUrl"), err);
    if (r != MCPLUG_OK) {
        look_free(k);
        return r;
    }
    *out = k;
    return MCPLUG_OK;
}

static void probe_stop(void *p)
{
    struct look *k = p;
    k->fetch->stop(k->request);
    k->request = NULL;
}

static void probe_destroy(void *p)
{
    look_free(p);
}

const struct mcplug_option http_probe_options[] = {
    {"healthUrl", "url", NULL, "http://HOST[:PORT]/PATH or https://.."},
    MCPLUG_FETCH_OPTIONS,
    {NULL, NULL, NULL, NULL},
};

const struct mcplug_probe_ops http_probe_ops = {
    .struct_size = sizeof http_probe_ops,
    .start = probe_start,
    .stop = probe_stop,
    .destroy = probe_destroy,
};
