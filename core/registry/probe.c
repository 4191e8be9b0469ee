#include "registry/probe.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "config/policy_url.h" /* URLs as the modules read them */
#include "json/scan.h"
#include "json/walk.h"
#include "plugin/props.h"
#include "registry/health.h"

#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS_MAX = 16, NAME_BYTES = MP_PROBE_NAME };

static const char url_option[] = "healthUrl";

/* A request of a module's. It outlives the check when that ends first: the session
 * answers every one. */
struct question {
    mcplug_check *check; /* NULL: nobody wants to hear of it any more */
    struct question *next, **prev;
    void (*fn)(void *arg, struct mcplug_bytes reply, const struct mcplug_error *why);
    void *arg;
    struct mp_request request; /* its texts are behind it */
};

struct mcplug_check {
    struct mp_session *session;
    struct mp_loop *loop;
    struct mp_events *log;
    const struct mcplug_probe_ops *ops;
    const char *name; /* of the probe */
    void *instance;
    mcplug_props *settings;
    struct mcplug_target target;
    uint64_t timeout_ms, deadline;
    bool started;      /* there is an instance */
    bool told, failed; /* the verdict is in, and it was not good */
    bool over;         /* stopped, or done is being told */
    bool complained;
    struct mcplug_error why;
    struct question *questions;
    unsigned n_questions; /* in all */
    struct mp_timer timer;
    struct mp_job job;
    void (*done)(void *arg, const struct mcplug_error *why);
    void *arg;
    char source[256];
};

static void complain(mcplug_check *c, const char *what)
{
    if (!c->complained)
        mp_log(c->log, MCPLUG_LOG_WARN, c->source, "probe %s breaks its contract: %s",
               c->name, what);
    c->complained = true;
}

/* ---- the end ---- */

/* `stop`: there was no verdict. May be called twice. */
static void end_instance(mcplug_check *c, bool stop)
{
    c->over = true;
    mp_timer_stop(c->loop, &c->timer);
    mp_job_drop(c->loop, &c->job);
    while (c->questions) {
        struct question *q = c->questions;
        mp_links_drop(q, next, prev);
        q->check = NULL;
        mp_request_cancel(&q->request);
    }
    if (c->started && stop)
        c->ops->stop(c->instance);
    if (c->started)
        c->ops->destroy(c->instance);
    c->started = false;
}

static void check_free(mcplug_check *c)
{
    end_instance(c, false);
    mp_props_free(c->settings);
    mp_free(c);
}

static void finish(mcplug_check *c, bool stop)
{
    end_instance(c, stop);
    c->done(c->arg, c->failed ? &c->why : NULL);
    check_free(c);
}

static void on_verdict(struct mp_job *job)
{
    finish(MP_OF(job, mcplug_check, job), false);
}

static void on_deadline(struct mp_timer *timer)
{
    mcplug_check *c = MP_OF(timer, mcplug_check, timer);

    c->failed = true;
    mp_fail(&c->why, MCPLUG_ETIMEDOUT, "no answer within %llums",
            (unsigned long long)c->timeout_ms);
    finish(c, true);
}

/* ---- what modules call ---- */

static const struct mcplug_target *health_target(const mcplug_check *check)
{
    mcplug_check *c = (mcplug_check *)check; /* of ours, and never const */

    c->target.silent_ms = mp_session_silent_ms(c->session);
    return &c->target;
}

static void on_answer(void *arg, mcplug_call *call, mcplug_result *result,
                      const struct mcplug_error *why)
{
    struct question *q = arg;
    struct mcplug_bytes reply = {NULL, 0};
    (void)call;

    if (q->check) {
        mp_links_drop(q, next, prev);
        if (!why && result)
            reply.data = (const unsigned char *)mcplug_result_json(result, &reply.len);
        q->fn(q->arg, reply, why);
    }
    mp_request_clear(&q->request);
    mp_free(q);
}

static int health_request(mcplug_check *c, const char *method, struct mcplug_bytes params,
                          void (*fn)(void *arg, struct mcplug_bytes reply,
                                     const struct mcplug_error *why),
                          void *arg)
{
    struct mp_ask ask = {.method = method, .params = params, .done = on_answer};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    uint64_t now = mp_loop_now(c->loop);

    if (c->told || c->over) {
        complain(c, "a request after the verdict");
        return MCPLUG_ECLOSED;
    }
    if (now >= c->deadline)
        return MCPLUG_ETIMEDOUT;
    if (c->n_questions == REQUESTS_MAX)
        return MCPLUG_EOVERLOADED;
    mp_loop_tick(c->loop); /* a module may have been busy for long */
    ask.now = mp_loop_now(c->loop);
    ask.timeout_ms = c->deadline - now;
    struct question *q = mp_alloc(sizeof *q + mp_request_room(&ask));
    if (!q)
        return MCPLUG_ENOMEM;
    *q = (struct question){.check = c, .fn = fn, .arg = arg};
    ask.arg = q;
    int r = mp_request_init(&q->request, (char *)(q + 1), &ask, &why);
    if (r == MCPLUG_OK && (r = mp_request_begin(&q->request, c->session, &why)) != 0)
        mp_request_clear(&q->request);
    if (r != MCPLUG_OK) {
        mp_free(q);
        return why.code;
    }
    q->request.pings = true; /* an error is an answer, too */
    c->n_questions++;
    mp_links_push(c->questions, q, next, prev);
    return MCPLUG_OK;
}

static void health_verdict(mcplug_check *c, const struct mcplug_error *why)
{
    if (c->over) /* a verdict that comes too late is no fault, only lost */
        return;
    if (c->told) {
        complain(c, "two verdicts");
        return;
    }
    c->told = true;
    c->failed = why != NULL;
    if (why) { /* a reason that a module gives is an error, and has a text */
        mp_error_copy(&c->why, why);
        if (c->why.code >= 0)
            c->why.code = MCPLUG_EIO;
        if (!c->why.text[0])
            mp_fail(&c->why, c->why.code, "probe %s reports a failure without a reason",
                    c->name);
    }
    mp_job_defer(c->loop, &c->job, on_verdict);
}

const struct mcplug_health mp_probe_health = {
    .struct_size = sizeof mp_probe_health,
    .target = health_target,
    .request = health_request,
    .verdict = health_verdict,
};

/* ---- our own probe, which needs no module ---- */

static void own_answered(void *arg, struct mcplug_bytes reply,
                         const struct mcplug_error *why)
{
    (void)reply;
    health_verdict(arg, why);
}

static int own_start(void *ctx, mcplug_check *c, const mcplug_props *settings, void **out,
                     struct mcplug_error *err)
{
    const struct mcplug_bytes none = {NULL, 0};
    bool modern = mp_session_is_modern(c->session);
    const char *method = modern ? "server/discover" : "ping";
    (void)ctx, (void)settings;

    int r = health_request(c, method, none, own_answered, c);
    if (r != MCPLUG_OK)
        return mp_fail(err, r, "%s could not be sent: %s", method, mp_error_name(r));
    *out = c;
    return MCPLUG_OK;
}

static void own_end(void *p)
{
    (void)p;
}

static const struct mcplug_probe_ops own_ops = {
    .struct_size = sizeof own_ops,
    .start = own_start,
    .stop = own_end,
    .destroy = own_end,
};

/* ---- finding one ---- */

/* What "healthProbe" may be: a name, or the text of an object with name and settings.
 * give `settings`, which may be empty. */
static int read(const char *text, char name[MP_PROBE_NAME], mcplug_props **settings,
                struct mcplug_error *err)
{
    static const struct mp_scan_limits limits = {.depth = 3, .tokens = 4096};
    mp_view object = mp_text(text), word;
    mcplug_props *props = mp_props_new();
    char *own = NULL;
    int r = props ? MCPLUG_OK : mp_fail_nomem(err);

    if (r == MCPLUG_OK && text[0] == '{') {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        if (mp_scan_text(text, object.len, &limits, NULL, &why) != MCPLUG_OK)
            r = mp_fail(err, MCPLUG_ECONFIG, "\"healthProbe\" is not JSON: %s", why.text);
        word = r == MCPLUG_OK ? mp_view_get(object, "name") : mp_text("");
        if (r == MCPLUG_OK && !mp_view_is_string(word))
            r = mp_fail(err, MCPLUG_ECONFIG, "the probe has no \"name\"");
        if (r == MCPLUG_OK && !(own = mp_view_strdup(word)))
            r = mp_fail_nomem(err);
        if (r == MCPLUG_OK)
            r = mp_props_add_json(props, object, "name", err);
    }
    const char *given = own ? own : text;
    if (r == MCPLUG_OK && strlen(given) >= MP_PROBE_NAME / 2)
        r = mp_fail(err, MCPLUG_ENOTSUP, "no module offers the probe \"%.64s\"", given);
    if (r == MCPLUG_OK) {
        mp_probe_name(given, name);
        *settings = mp_move(&props);
    }
    mp_free(own);
    mp_props_free(props);
    return r;
}

/* give `settings` */
static int find(struct mp_catalogue *catalogue, const char *text,
                const struct mp_offer **out, mcplug_props **settings,
                struct mcplug_error *err)
{
    char name[MP_PROBE_NAME];
    mcplug_props *props = NULL;
    int r = read(text, name, &props, err);

    if (r == MCPLUG_OK)
        r = mp_catalogue_find(catalogue, MCPLUG_PROBE, name, out, err);
    if (r == MCPLUG_OK)
        *settings = mp_move(&props);
    mp_props_free(props);
    return r;
}

static bool same_origin(const char *a, const char *b)
{
    struct url one, other;
    return a && b && !url_parse(a, &one) && !url_parse(b, &other) &&
           url_same_origin(&one, &other);
}

static bool is_elsewhere(const char *url, const struct mp_session *s)
{
    return url && !same_origin(url, mp_props_get(mp_session_settings(s), "url"));
}

/* What a probe may have of the server's own settings, headers and certificates with their
 * secrets: nothing when any address it was given is elsewhere. give; NULL: no memory */
static mcplug_props *known_settings(const struct mcplug_feature *f, const char *url,
                                    const char *other, const struct mp_session *s)
{
    if (!s || is_elsewhere(url, s) || is_elsewhere(other, s))
        return mp_props_new();
    return mp_props_known(mp_session_settings(s), f->options);
}

static int check_url(const struct mcplug_feature *f, const char *url,
                     struct mcplug_error *err)
{
    const char *const *accepts = f->accepts;
    struct url parts;
    const char *wrong = url_parse(url, &parts);

    if (wrong) /* and not quoted: there may be a password in it */
        return mp_fail(err, MCPLUG_ECONFIG, "%s: it %s", url_option, wrong);
    if (!accepts || !*accepts)
        return MCPLUG_OK;
    while (*accepts && strcmp(*accepts, parts.scheme) != 0)
        accepts++;
    if (*accepts)
        return MCPLUG_OK;
    return mp_fail(err, MCPLUG_ECONFIG, "%s: the probe \"%s\" takes no %s", url_option,
                   f->name, parts.scheme);
}

/* What it comes to counts, whoever set it: the entry, or the program that opened it. */
static int judge(const struct mp_target *target, mcplug_props *props, const char *what,
                 struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int r = mp_target_judge_probe(target, props, &why);

    return r == MCPLUG_OK ? r : mp_fail(err, r, "%s: %s", what, why.text);
}

/* `own` are those that were given for the probe itself. give `out` */
static int make_settings(const struct mcplug_feature *f, const struct mp_target *target,
                         const mcplug_props *own, const char *url,
                         const struct mp_session *s, mcplug_props **out,
                         struct mcplug_error *err)
{
    const struct mcplug_option *o = f->options;
    char what[NAME_BYTES + 16];

    while (o && o->name && strcmp(o->name, url_option) != 0)
        o++;
    if (!o || !o->name)
        url = NULL; /* the probe does not know it */
    else if (mp_props_get(own, url_option))
        url = mp_props_get(own, url_option);
    mcplug_props *props = known_settings(f, url, mp_props_get(own, "url"), s);
    int r = props ? MCPLUG_OK : mp_fail_nomem(err);
    if (r == MCPLUG_OK && url)
        r = check_url(f, url, err);
    if (r == MCPLUG_OK && url && mp_props_set(props, url_option, url) != MCPLUG_OK)
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK && mp_props_merge(props, own) != MCPLUG_OK)
        r = mp_fail(err, MCPLUG_ECONFIG, "probe \"%s\": invalid settings", f->name);
    snprintf(what, sizeof what, "probe \"%s\"", f->name);
    if (r == MCPLUG_OK)
        r = mp_props_check(props, f->options, what, err);
    if (r == MCPLUG_OK)
        r = judge(target, props, what, err);
    if (r == MCPLUG_OK)
        *out = mp_move(&props);
    mp_props_free(props);
    return r;
}

int mp_probe_check(struct mp_catalogue *catalogue, const struct mp_target *target,
                   const char *name, const char *url, struct mcplug_error *err)
{
    const struct mp_offer *offer = NULL;
    mcplug_props *settings = NULL, *own = NULL;

    if (!name)
        return MCPLUG_OK;
    int r = find(catalogue, name, &offer, &own, err);
    if (r == MCPLUG_OK)
        r = make_settings(&offer->feature, target, own, url, NULL, &settings, err);
    mp_props_free(own);
    mp_props_free(settings);
    return r;
}

/* ---- starting ---- */

/* The timer runs before the module does, so that it comes before the time-outs of what
 * the module asks. */
static int start(mcplug_check *c, void *ctx, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (mp_timer_start(c->loop, &c->timer, c->timeout_ms, on_deadline) != MCPLUG_OK)
        return mp_fail_nomem(err);
    int r = c->ops->start(ctx, c, c->settings, &c->instance, &why);
    c->started = r == MCPLUG_OK;
    if (c->started)
        return MCPLUG_OK;
    if (c->told)
        complain(c, "a verdict, and start() failed");
    c->over = true;
    int told = r < 0 ? r : MCPLUG_EIO;
    if (why.code != told || !why.text[0])
        return mp_fail(err, told, "probe %s failed without a reason (%d)", c->name, r);
    if (err)
        mp_error_copy(err, &why);
    return told;
}

int mp_probe_start(const struct mp_probe_options *o,
                   void (*done)(void *arg, const struct mcplug_error *why), void *arg,
                   mcplug_check **out, struct mcplug_error *err)
{
    const struct mp_identity *id = mp_session_identity(o->session);
    const char *pid = mp_identity_fact(id, "pid"), *url = mp_identity_fact(id, "url");
    uint64_t now = mp_loop_now(o->loop);
    const struct mp_offer *offer = NULL;
    mcplug_check *c = mp_alloc(sizeof *c);

    if (!c)
        return mp_fail_nomem(err);
    c->session = o->session;
    c->loop = o->loop;
    c->log = o->log;
    c->done = done;
    c->arg = arg;
    c->timeout_ms = o->timeout_ms ? o->timeout_ms : MP_HEALTH_CHECK_MS;
    c->deadline = c->timeout_ms > UINT64_MAX - now ? UINT64_MAX : now + c->timeout_ms;
    c->why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    snprintf(c->source, sizeof c->source, "mcp:%.200s", mp_session_name(o->session));
    c->target = (struct mcplug_target){
        .struct_size = sizeof c->target,
        .pid = pid ? (int32_t)strtol(pid, NULL, 10) : 0,
        .server = mp_session_name(o->session),
        .transport = mp_session_transport(o->session),
        .url = url ? url : mp_props_get(mp_session_settings(o->session), "url"),
        .revision = id->revision,
    };
    mcplug_props *own = NULL;
    int r = o->name ? find(o->catalogue, o->name, &offer, &own, err) : MCPLUG_OK;
    if (r == MCPLUG_OK && offer)
        r = make_settings(&offer->feature, o->target, own, o->url, o->session,
                          &c->settings, err);
    mp_props_free(own);
    if (r == MCPLUG_OK) {
        c->ops = offer ? offer->feature.ops : &own_ops;
        c->name = offer ? offer->feature.name : "of the core";
        r = start(c, offer ? offer->plugin->ctx : NULL, err);
    }
    if (r == MCPLUG_OK)
        *out = c;
    else
        check_free(c);
    return r;
}

void mp_probe_cancel(mcplug_check *c)
{
    if (!c || c->over) /* its end is being told */
        return;
    end_instance(c, !c->told);
    check_free(c);
}
