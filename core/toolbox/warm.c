#include "toolbox/toolbox.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/tally.h"

static void go_on(struct mcplug_toolbox *box);

/* "stdio 20, http 8" of those that are up. */
static void count_types(const struct mcplug_toolbox *box, struct mp_str *out)
{
    struct mp_tally types = {.rows = NULL};

    for (size_t i = 0; i < box->n_members; i++) {
        const struct mp_service *s = box->members[i]->server->service;
        if (s->transport)
            mp_tally_add(&types, s->transport, mp_service_ready(s));
    }
    for (size_t i = 0; i < types.n; i++)
        if (types.rows[i].count)
            mp_str_addf(out, "%s%s %zu", out->len ? ", " : "", types.rows[i].name,
                        types.rows[i].count);
    mp_tally_clear(&types);
}

static void tell_all(struct mcplug_toolbox *box, size_t ready)
{
    struct mp_warm_up *all = box->warm_ups;
    size_t failed = box->n_members - ready;

    box->warm_ups = NULL;
    while (all) {
        struct mp_warm_up *w = all;
        all = w->next;
        if (w->done)
            w->done(w->arg, box, ready, failed);
        mp_free(w);
    }
}

static size_t count_ready(const struct mcplug_toolbox *box)
{
    size_t n = 0;
    for (size_t i = 0; i < box->n_members; i++)
        n += box->members[i]->warmth == MP_WARM;
    return n;
}

static void finish(struct mcplug_toolbox *box)
{
    size_t ready = count_ready(box);
    struct mp_str types;

    mp_str_init(&types, 4096);
    count_types(box, &types);
    mp_log(box->registry->o.log, MCPLUG_LOG_VERBOSE, "core",
           "%zu of %zu servers are ready%s%s%s", ready, box->n_members,
           types.len ? " (" : "", types.len ? types.data : "", types.len ? ")" : "");
    mp_str_clear(&types);
    tell_all(box, ready);
}

static void settled(struct mp_box_server *m, const struct mcplug_error *why)
{
    struct mcplug_toolbox *box = m->box;
    uint64_t ms = mp_loop_now(box->registry->o.loop) - m->began_at;

    m->warmth = why ? MP_FAILED_TO_WARM : MP_WARM;
    box->warming--;
    if (why)
        mp_log(box->registry->o.log, MCPLUG_LOG_WARN, m->server->service->source,
               "not ready after %llums: %s", (unsigned long long)ms, why->text);
    if (box->o.settled)
        box->o.settled(box->o.arg, box, m->name, ms, why);
    go_on(box);
}

void mp_warm_heard(struct mp_box_server *m, enum mcplug_state state,
                   const struct mcplug_error *why)
{
    if (m->warmth == MP_FAILED_TO_WARM) {
        if (state == MCPLUG_STATE_READY)
            m->warmth = MP_WARM; /* it has come up by itself */
    } else if (m->warmth != MP_WARMING) {
        return; /* one that is up before its turn, with others, is settled then */
    } else if (state == MCPLUG_STATE_READY) {
        settled(m, NULL);
    } else if (why) {
        settled(m, why);
    }
}

static void begin(struct mp_box_server *m)
{
    struct mp_service *s = m->server->service;

    m->warmth = MP_WARMING;
    m->began_at = mp_loop_now(m->box->registry->o.loop);
    m->box->warming++;
    mp_keeper_want(&s->keeper);
}

/* One that is in a state already which nobody will tell of again. */
static bool is_settled(const struct mp_box_server *m, const struct mcplug_error **why)
{
    const struct mp_service *s = m->server->service;

    *why = mp_service_ready(s) ? NULL : &s->error;
    return mp_service_ready(s) || s->keeper.state == MP_KEEPER_WAITING ||
           s->keeper.state == MP_KEEPER_PARKED;
}

/* In a turn of its own, so that whoever asked has returned. */
static void on_job(struct mp_job *job)
{
    struct mcplug_toolbox *box = MP_OF(job, struct mcplug_toolbox, warm_job);
    const struct mcplug_error *why;

    while (box->warming < box->batch && box->next_cold < box->n_members) {
        struct mp_box_server *m = box->members[box->next_cold++];
        if (m->warmth == MP_WARM && mp_service_ready(m->server->service))
            continue;
        begin(m);
        if (is_settled(m, &why)) {
            settled(m, why); /* comes back here */
            return;
        }
    }
    if (!box->warming && box->next_cold == box->n_members && box->warm_ups)
        finish(box);
}

static void go_on(struct mcplug_toolbox *box)
{
    if (!box->freeing)
        mp_job_defer(box->registry->o.loop, &box->warm_job, on_job);
}

int mp_toolbox_warm_up(struct mcplug_toolbox *box,
                       void (*done)(void *, struct mcplug_toolbox *, size_t, size_t),
                       void *arg, struct mcplug_error *err)
{
    struct mp_warm_up *w = mp_alloc(sizeof *w), **end = &box->warm_ups;

    if (!w)
        return mp_fail_nomem(err);
    if (box->freeing) {
        mp_free(w);
        return mp_fail(err, MCPLUG_ECLOSED, "the toolbox is being freed");
    }
    w->done = done;
    w->arg = arg;
    if (!box->warm_ups)
        box->next_cold = 0;
    while (*end)
        end = &(*end)->next;
    *end = w;
    go_on(box);
    return MCPLUG_OK;
}

void mp_warm_clear(struct mcplug_toolbox *box)
{
    mp_job_drop(box->registry->o.loop, &box->warm_job);
    tell_all(box, count_ready(box));
}
