/* plugins/socket/lookup.c - names to addresses, see lookup.h */
#include "lookup.h"

#include <errno.h>
#include <string.h>

struct socket_lookup {
    const struct mcplug_host *host;
    struct socket_address what;
    socket_lookup_fn *fn; /* NULL: abandoned. [loop] */
    void *arg;
    struct addrinfo *found;
    int status, os_error;
};

static void run(void *arg) /* the pool thread's part */
{
    struct socket_lookup *k = arg;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    k->status = getaddrinfo(k->what.node, k->what.port, &hints, &k->found);
    k->os_error = k->status == EAI_SYSTEM ? errno : 0;
}

static const char *reason(const struct socket_lookup *k, int work_status)
{
    if (work_status != MCPLUG_OK)
        return "the lookup was cancelled";
    return k->os_error != 0 ? strerror(k->os_error) : gai_strerror(k->status);
}

static void done(void *arg, int work_status)
{
    struct socket_lookup *k = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    if (k->fn != NULL) {
        if (k->found == NULL)
            k->host->diag->fail(&why, MCPLUG_EREFUSED, "cannot find %s: %s", k->what.text,
                                reason(k, work_status));
        why.os_error = k->os_error;
        k->fn(k->arg, k->found, &why);
    } else if (k->found != NULL) {
        freeaddrinfo(k->found);
    }
    k->host->mem->free(k);
}

struct socket_lookup *socket_lookup_start(const struct mcplug_host *host,
                                          mcplug_self *self,
                                          const struct socket_address *what,
                                          socket_lookup_fn *fn, void *arg)
{
    struct socket_lookup *k = host->mem->alloc(sizeof *k);
    if (k == NULL)
        return NULL;
    *k = (struct socket_lookup){.host = host, .what = *what, .fn = fn, .arg = arg};
    if (host->loop->work(self, run, done, k) == MCPLUG_OK)
        return k;
    host->mem->free(k);
    return NULL;
}

void socket_lookup_abandon(struct socket_lookup *lookup)
{
    if (lookup != NULL)
        lookup->fn = NULL;
}
