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

static size_t count_ready(const struct mcplug_toolbox *box)
{
    size_t n = 0;
    for (size_t i = 0; i < box->n_members; i++)
        n += box->members[i]->warmth == MP_WARM;
    return n;
}

static void tell_all(struct mcplug_toolbox *box)
{
    struct mp_warm_up *all = box->warm_ups;
    size_t ready = count_ready(box);

    box->warm_ups = NULL;
    while (all) {
        struct mp_warm_up *w = all;
        all = w->next;
        if (w->done)
            w->done(w->arg, box, ready, box->n_members - ready);
        mp_free(w);
    }
}

static void finish(struct mcplug_toolbox *box)
{
    struct mp_str types;

    mp_str_init(&types, 4096);
    count_types(box, &types);
    mp_log(box->registry->o.log, MCPLUG_LOG_VERBOSE, "core",
           "%zu of %zu servers are ready%s%s%s", count_ready(box), box->n_members,
           types.len ? " (" : "", types.len ? types.data : "", types.len ? ")" : "");
    mp_str_clear(&types);
    tell_all(box);
}

static void settled(struct mp_box_server *m, const struct mcplug_error *why)
{
    struct mcplug_toolbox *box = m->box;
    uint64_t ms = mp_loop_now(box->registry->o.loop) - m->began_at;

    m->warmth = why ? MP_FAILED_TO_WARM : MP_WARM;
    mp_batch_done(&box->batch, m->index);
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

static bool waits(void *arg, size_t i)
{
    const struct mcplug_toolbox *box = arg;
    const struct mp_box_server *m = box->members[i];
    return m->warmth != MP_WARM || !mp_service_ready(m->server->service);
}

/* One may be in a state already which nobody will tell of again. */
static bool begin(void *arg, size_t i)
{
    struct mcplug_toolbox *box = arg;
    struct mp_box_server *m = box->members[i];
    struct mp_service *s = m->server->service;

    m->warmth = MP_WARMING;
    m->began_at = mp_loop_now(box->registry->o.loop);
    mp_keeper_want(&s->keeper);
    bool ready = mp_service_ready(s);
    if (!ready && s->keeper.state != MP_KEEPER_WAITING &&
        s->keeper.state != MP_KEEPER_PARKED)
        return true;
    settled(m, ready ? NULL : s->error);
    return false;
}

/* In a turn of its own, so that whoever asked has returned. */
static void on_job(struct mp_job *job)
{
    struct mcplug_toolbox *box = MP_OF(job, struct mcplug_toolbox, warm_job);

    box->batch.n = box->n_members;
    while (!box->freeing && mp_batch_begin(&box->batch))
        ;
    bool over = !box->batch.n_running && !mp_batch_may_begin(&box->batch);
    if (over && !box->freeing && box->warm_ups)
        finish(box);
}

static void go_on(struct mcplug_toolbox *box)
{
    if (!box->freeing)
        mp_job_defer(box->registry->o.loop, &box->warm_job, on_job);
}

int mcplug_toolbox_warm_up(struct mcplug_toolbox *box,
                           void (*done)(void *, struct mcplug_toolbox *, size_t, size_t),
                           void *arg, struct mcplug_error *err)
{
    if (mp_box_check(box, err) != MCPLUG_OK)
        return MCPLUG_EINVAL;
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
        box->batch = (struct mp_batch){
            .size = box->o.batch, .arg = box, .waits = waits, .begin = begin};
    while (*end)
        end = &(*end)->next;
    *end = w;
    go_on(box);
    return MCPLUG_OK;
}

void mp_warm_removed(struct mcplug_toolbox *box, size_t index)
{
    mp_batch_remove(&box->batch, index);
    if (box->warm_ups) /* which may have waited for this one alone */
        go_on(box);
}

void mp_warm_clear(struct mcplug_toolbox *box)
{
    mp_job_drop(box->registry->o.loop, &box->warm_job);
    tell_all(box);
}
