#include "convert/call.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "convert/memory.h"
#include "convert/message.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct mcplug_converted {
    atomic_uint refs;
    char mime[MP_MIME_MAX];
    struct mp_str data;
    struct mp_str facts; /* NAME, NUL, value, NUL, .. */
};

struct mp_convert_call {
    struct mcplug_call base;
    struct mp_convert_calls *calls;
    struct mp_convert_call *next, **prev;
    struct mp_conversion what; /* its texts and its file are ours */
    mcplug_convert_fn *done;
    void *arg;
    struct mp_job job;
    atomic_bool cancelled;
    mcplug_converted *converted;
    struct mcplug_error why;
    int r;
};

/* ---- what was made [any] ---- */

const mcplug_converted *mcplug_converted_ref(const mcplug_converted *converted)
{
    if (converted)
        atomic_fetch_add(&((mcplug_converted *)converted)->refs, 1);
    return converted;
}

void mcplug_converted_unref(const mcplug_converted *converted)
{
    mcplug_converted *c = (mcplug_converted *)converted;

    if (c && atomic_fetch_sub(&c->refs, 1) == 1) {
        mp_str_clear(&c->data);
        mp_str_clear(&c->facts);
        mp_free(c);
    }
}

const char *mcplug_converted_mime(const mcplug_converted *converted)
{
    return converted ? converted->mime : NULL;
}

const char *mcplug_converted_data(const mcplug_converted *converted, size_t *len)
{
    if (len)
        *len = converted ? converted->data.len : 0;
    return converted ? converted->data.data : NULL;
}

const char *mcplug_converted_fact(const mcplug_converted *converted, const char *name)
{
    const char *at = converted ? converted->facts.data : NULL;
    const char *end = at ? at + converted->facts.len : NULL;

    while (name && at && at < end) {
        const char *value = at + strlen(at) + 1;
        if (value >= end)
            return NULL;
        if (strcmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

static int take(struct mp_convert_call *x, struct mp_converted *made)
{
    mcplug_converted *c = mp_alloc(sizeof *c);

    if (!c)
        return mp_fail_nomem(&x->why);
    atomic_init(&c->refs, 1);
    x->converted = c;
    memcpy(c->mime, made->mime, sizeof c->mime);
    c->facts = made->facts;
    mp_str_init(&made->facts, 0);
    for (size_t i = 0; i < c->facts.len; i++)
        if (c->facts.data[i] == '\n')
            c->facts.data[i] = '\0';
    mp_str_init(&c->data, (size_t)MP_CONVERT_OUTPUT + 1);
    int os_error = mp_memory_read(made->fd, made->size, &c->data);
    return os_error ? mp_fail_os(&x->why, os_error == ENOMEM ? MCPLUG_ENOMEM : MCPLUG_EIO,
                                 os_error, "what came out cannot be read")
                    : MCPLUG_OK;
}

/* ---- one conversion ---- */

static void call_free(struct mp_convert_call *x)
{
    if (x->prev) {
        mp_links_drop(x, next, prev);
        x->calls->under_way--;
    }
    mp_job_drop(x->calls->loop, &x->job);
    if (x->what.fd >= 0)
        close(x->what.fd);
    mp_free((char *)x->what.mime);
    mp_free((char *)x->what.want);
    mp_free((char *)x->what.extra);
    mcplug_converted_unref(x->converted);
    mcplug_call_unref(&x->base);
}

static void finish(struct mp_convert_call *x)
{
    x->base.cancel = NULL;
    if (x->cancelled)
        x->r = mp_fail(&x->why, MCPLUG_ECANCELED, "cancelled");
    mp_converters_rest(x->calls->converters);
    bool ok = x->r == MCPLUG_OK;
    x->done(x->arg, &x->base, ok ? x->converted : NULL, ok ? NULL : &x->why);
    call_free(x);
}

static void convert(void *arg)
{
    struct mp_convert_call *x = arg;
    struct mp_converted made = MP_CONVERTED_NONE;

    x->r = mp_convert(x->calls->converters, &x->what, &made, &x->why);
    if (x->r == MCPLUG_OK)
        x->r = take(x, &made);
    mp_converted_clear(&made);
}

static void on_converted(void *arg, int status)
{
    struct mp_convert_call *x = arg;

    if (status != MCPLUG_OK)
        x->r = mp_fail(&x->why, status, "cannot be worked on by another thread");
    finish(x);
}

static void on_job(struct mp_job *job)
{
    struct mp_convert_call *x = MP_OF(job, struct mp_convert_call, job);

    mp_converters_ready(x->calls->converters);
    int r =
        x->cancelled ? MCPLUG_OK : mp_loop_work(x->calls->loop, convert, on_converted, x);
    if (r == MCPLUG_OK && !x->cancelled)
        return;
    if (r != MCPLUG_OK)
        x->r = mp_fail(&x->why, r, "cannot be worked on by another thread");
    finish(x);
}

static void cancel(mcplug_call *call)
{
    atomic_store(&MP_OF(call, struct mp_convert_call, base)->cancelled, true);
}

void mp_convert_calls_end(struct mp_convert_calls *c)
{
    for (struct mp_convert_call *x = c->first; x; x = x->next)
        cancel(&x->base);
}

static int take_options(struct mp_convert_call *x, const void *data, size_t len,
                        const struct mcplug_convert_options *o, struct mcplug_error *err)
{
    x->what = (struct mp_conversion){.mime = mp_strdup(o->mime),
                                     .want = o->want ? mp_strdup(o->want) : NULL,
                                     .extra = o->settings ? mp_strdup(o->settings) : NULL,
                                     .fd = mp_memory_file(),
                                     .size = len,
                                     .max_width = o->max_width,
                                     .max_height = o->max_height,
                                     .max_bytes = o->max_bytes,
                                     .timeout_ms = o->timeout_ms,
                                     .cancelled = &x->cancelled};
    if (x->what.fd < 0)
        return mp_fail_os(err, MCPLUG_EIO, errno, "no file in memory");
    if (!x->what.mime || (o->want && !x->what.want) || (o->settings && !x->what.extra))
        return mp_fail_nomem(err);
    int os_error = mp_memory_write(x->what.fd, 0, data, len);
    return os_error ? mp_fail_os(err, MCPLUG_EIO, os_error, "no file in memory")
                    : MCPLUG_OK;
}

mcplug_call *mp_convert_start(struct mp_convert_calls *c, const void *data, size_t len,
                              const struct mcplug_convert_options *options,
                              mcplug_convert_fn *done, void *arg,
                              struct mcplug_error *err)
{
    struct mp_convert_call *x = mp_alloc(sizeof *x);

    if (!x) {
        mp_fail_nomem(err);
        return NULL;
    }
    atomic_init(&x->base.refs, 1);
    x->base.cancel = cancel;
    x->base.loop = c->loop;
    x->calls = c;
    x->done = done;
    x->arg = arg;
    mp_error_init(&x->why);
    if (take_options(x, data, len, options, err) != MCPLUG_OK) {
        call_free(x);
        return NULL;
    }
    mp_links_push(c->first, x, next, prev);
    c->under_way++;
    mp_job_defer(c->loop, &x->job, on_job);
    return &x->base;
}
