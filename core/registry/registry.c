#include "registry/registry.h"

#include <sys/random.h>

void mp_registry_init(struct mp_registry *r, const struct mp_registry_options *options)
{
    memset(r, 0, sizeof *r);
    r->o = *options;
    mp_starts_init(&r->starts, MP_STARTS_MAX);
    if (getrandom(&r->seed, sizeof r->seed, GRND_NONBLOCK) != (ssize_t)sizeof r->seed)
        r->seed = (uintptr_t)r; /* it only keeps servers from starting in step */
}

void mp_registry_end(struct mp_registry *r)
{
    struct mcplug_error why = {.struct_size = sizeof why,
                               .code = MCPLUG_ECANCELED,
                               .text = "the host is being freed"};

    for (struct mp_service *s = r->services; s; s = s->next)
        s->retired = true; /* before anybody is told of one */
    for (struct mp_service *s = r->services; s; s = s->next)
        mp_keeper_end(&s->keeper, &why);
}

bool mp_registry_idle(const struct mp_registry *r)
{
    for (const struct mp_service *s = r->services; s; s = s->next)
        if (s->keeper.state != MP_KEEPER_ENDED || s->calls || s->n_alive != s->n_servers)
            return false; /* one was closed, and nobody told yet */
    return true;
}

void mp_registry_clear(struct mp_registry *r)
{
    while (r->services)
        mp_service_free(r->services);
    while (r->queues) {
        struct mp_queue *q = r->queues;
        r->queues = q->next;
        mp_queue_free(q);
    }
}

struct mp_queue *mp_registry_queue(struct mp_registry *r, const char *name)
{
    struct mp_queue *q = r->queues;

    while (q && strcmp(q->name, name) != 0)
        q = q->next;
    if (q || !(q = mp_queue_new(r->o.loop, name, 0, 0)))
        return q;
    q->next = r->queues;
    r->queues = q;
    return q;
}

int mp_registry_find(struct mp_registry *r, struct mp_target *target,
                     const struct mcplug_server_options *o, struct mp_service **out,
                     struct mcplug_error *err)
{
    bool own = o->dedicated || o->once;

    for (struct mp_service *s = own ? NULL : r->services; s; s = s->next) {
        if (!mp_service_fits(s, target, o))
            continue;
        mp_service_share(s, o);
        *out = s;
        return MCPLUG_OK;
    }
    return mp_service_new(r, target, o, out, err);
}
