#include "ide_target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Both are large. */
struct work {
    struct ide_search search;
    struct ide ide;
    char why[400];
};

static int look(const struct mcplug_host *host, mcplug_self *self, const char *transport,
                const char *name, struct work *work, struct mcplug_error *err)
{
    const struct mcplug_json *json = host->service(self, "json", 1);
    if (json == NULL)
        return host->diag->fail(err, MCPLUG_ENOTSUP, "the core reads no JSON for us");
    ide_search_from_environment(&work->search, host->mem->alloc, host->mem->free);
    work->search.check_ports =
        0; /* connecting will tell, and does not hold up the loop */
    int r = ide_choose(json, &work->search, transport, name, &work->ide, work->why,
                       sizeof work->why);
    return r == MCPLUG_OK ? r : host->diag->fail(err, r, "%s", work->why);
}

static int set_token(const struct mcplug_host *host, const char *token, int family,
                     struct ide_target *out, struct mcplug_error *err)
{
    const char *before;
    if (token[0] == '\0')
        return MCPLUG_OK;
    if (!ide_token_valid(token))
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "authToken: 10 to 500 visible ASCII characters");
    out->header = ide_token_header(family, &before);
    snprintf(out->value, sizeof out->value, "%s%s", before, token);
    return MCPLUG_OK;
}

int ide_target_find(const struct mcplug_host *host, mcplug_self *self,
                    const mcplug_props *settings, const char *transport,
                    struct ide_target *out, struct mcplug_error *err)
{
    const char *url = host->diag->prop(settings, "url");
    const char *token = host->diag->prop(settings, "authToken");
    int family = strcmp(transport, "http") == 0 ? IDE_COMPANION : IDE_LOCK;
    *out = (struct ide_target){.header = NULL};
    if (url != NULL && strlen(url) >= sizeof out->url)
        return host->diag->fail(err, MCPLUG_ECONFIG, "url: too long");
    if (url != NULL && url[0] != '\0') {
        snprintf(out->url, sizeof out->url, "%s", url);
        return set_token(host, token != NULL ? token : "", family, out, err);
    }
    struct work *work = host->mem->alloc(sizeof *work);
    if (work == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    int r = look(host, self, transport, host->diag->prop(settings, "ideName"), work, err);
    if (r == MCPLUG_OK) {
        ide_url(&work->ide, out->url, sizeof out->url);
        r = set_token(host, token != NULL && token[0] != '\0' ? token : work->ide.token,
                      work->ide.family, out, err);
    }
    explicit_bzero(work->ide.token, sizeof work->ide.token);
    host->mem->free(work);
    return r;
}

mcplug_buf *ide_target_greeting(const struct mcplug_host *host)
{
    char text[96];
    int n = snprintf(text, sizeof text,
                     "{\"jsonrpc\":\"2.0\",\"method\":\"ide_connected\","
                     "\"params\":{\"pid\":%ld}}",
                     (long)getpid());
    return host->mem->buf_new(text, (size_t)n);
}
