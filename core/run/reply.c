/* One request to a model: what its module tells, and asking again. */
#include "run/model.h"

#include "base/error.h"
#include "base/event.h"
#include "base/mem.h"

#include <stdlib.h>

enum { FIRST_WAIT_MS = 500, LAST_WAIT_MS = 8000, LONGEST_WAIT_MS = 120000 };

/* What is told waits until the module's callback has returned. */
struct mcplug_reply {
    struct mcplug_model *model;
    const struct mcplug_prompt *prompt;
    const struct mp_ask_events *events;
    void *arg;
    void *request; /* the module's; NULL: none is under way */
    struct mp_lookup *lookup;
    unsigned tries;
    struct mp_timer timer; /* until the next */
    struct mp_job job;
    uint64_t wait_ms;  /* that the API asks for; UINT64_MAX: it does not */
    bool is_count;     /* of tokens: no answer is wanted */
    bool has_ended;    /* this request */
    bool is_telling;   /* and must not be freed */
    bool is_cancelled; /* meanwhile */
    bool has_said;     /* something, so it is not asked again */
    bool is_too_long;  /* more came than is kept */
    bool no_memory;    /* for what came */
    size_t bytes;      /* that are kept */
    struct mcplug_error why;

    struct mp_model_answer answer;
    size_t told;           /* bytes of its text */
    struct mp_str thought; /* not told yet */
};

/* ---- its parts ---- */

static void answer_clear(struct mp_model_answer *a)
{
    for (size_t i = 0; i < a->n_calls; i++) {
        mp_free(a->calls[i].id);
        mp_free(a->calls[i].name);
        mp_str_clear(&a->calls[i].arguments);
    }
    mp_free(a->calls);
    mp_str_clear(&a->text);
    mp_str_clear(&a->raw);
}

static void answer_init(struct mp_model_answer *a)
{
    *a = (struct mp_model_answer){.usage = {.struct_size = sizeof a->usage}};
    mp_str_init(&a->text, MP_ANSWER_BYTES);
    mp_str_init(&a->raw, MP_ANSWER_BYTES);
}

static void drop_request(struct mcplug_reply *r)
{
    if (r->request)
        r->model->ops->drop(mp_move(&r->request));
}

static void reply_free(struct mcplug_reply *r)
{
    struct mp_loop *loop = r->model->models->loop;

    drop_request(r);
    if (r->lookup)
        mp_lookup_cancel(r->lookup);
    mp_timer_stop(loop, &r->timer);
    mp_job_drop(loop, &r->job);
    answer_clear(&r->answer);
    mp_str_clear(&r->thought);
    mp_model_unref(r->model);
    mp_free(r);
}

void mp_reply_cancel(struct mcplug_reply *r)
{
    if (!r)
        return;
    r->is_cancelled = true;
    if (!r->is_telling)
        reply_free(r);
}

/* ---- asking ---- */

static void on_job(struct mp_job *job);

static void later(struct mcplug_reply *r)
{
    mp_job_defer(r->model->models->loop, &r->job, on_job);
}

static void not_asked(struct mcplug_reply *r, const struct mcplug_error *why)
{
    mp_error_copy(&r->why, why);
    r->has_ended = true;
    later(r);
}

static int ask(struct mcplug_reply *r, struct mcplug_error *err)
{
    struct mcplug_model *m = r->model;
    int result =
        (r->is_count ? m->ops->count : m->ops->ask)(m->m, r, r->prompt, &r->request, err);

    if (result != MCPLUG_OK)
        r->request = NULL;
    return result;
}

static void on_found(void *arg, const struct mp_endpoint *at,
                     const struct mcplug_error *why, bool is_secret)
{
    struct mcplug_reply *r = arg;
    struct mcplug_model *m = r->model;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    (void)is_secret;

    r->lookup = NULL;
    if (why)
        not_asked(r, why);
    else if (mp_model_open(m, at->settings, &err) != MCPLUG_OK ||
             ask(r, &err) != MCPLUG_OK)
        not_asked(r, &err);
}

static int start(struct mcplug_reply *r, struct mcplug_error *err)
{
    struct mcplug_model *m = r->model;

    r->has_ended = false;
    r->wait_ms = UINT64_MAX;
    mp_error_init(&r->why);
    mp_str_reset(&r->answer.raw); /* of the request before */
    r->answer.usage = (struct mcplug_usage){.struct_size = sizeof r->answer.usage};
    return m->m ? ask(r, err)
                : mp_lookup_start(m->models->connector, m->target, 0, on_found, r,
                                  &r->lookup, err);
}

/* Less up to a quarter, so that many who were refused do not come back together. */
static uint64_t own_wait(const struct mcplug_reply *r)
{
    uint64_t ms = FIRST_WAIT_MS;

    for (unsigned i = 1; i < r->tries && ms < LAST_WAIT_MS; i++)
        ms *= 2;
    ms = ms > LAST_WAIT_MS ? LAST_WAIT_MS : ms;
    return ms - mp_loop_now(r->model->models->loop) % 100 * ms / 400;
}

static bool may_retry(const struct mcplug_reply *r)
{
    return r->why.code != MCPLUG_OK && !r->is_count &&
           r->why.flags & MCPLUG_ERROR_RETRY && !r->has_said &&
           r->tries <= MP_MODEL_RETRIES &&
           (r->wait_ms == UINT64_MAX || r->wait_ms <= LONGEST_WAIT_MS);
}

static void on_timer(struct mp_timer *timer)
{
    struct mcplug_reply *r = MP_OF(timer, struct mcplug_reply, timer);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    r->tries++;
    if (start(r, &why) != MCPLUG_OK)
        not_asked(r, &why);
}

/* ---- telling ---- */

/* Bytes at the end that begin a character of UTF-8 and do not end it. */
static size_t partial(const char *text, size_t len)
{
    for (size_t n = 1; n <= 3 && n <= len; n++) {
        unsigned char c = (unsigned char)text[len - n];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t wants = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return wants > n ? n : 0;
    }
    return 0;
}

/* The beginning of a character waits for its end, which does not come if it fails. */
static size_t whole_of(const struct mcplug_reply *r, const struct mp_str *text)
{
    return r->has_ended && r->why.code == MCPLUG_OK
               ? text->len
               : text->len - partial(text->data, text->len);
}

static void tell_thought(struct mcplug_reply *r)
{
    struct mp_str *text = &r->thought;
    size_t whole = whole_of(r, text), rest = text->len - whole;
    char begun[4] = "";

    if (rest)
        memcpy(begun, text->data + whole, rest);
    if (whole) {
        text->data[whole] = '\0';
        r->events->text(r->arg, text->data, whole, true);
    }
    mp_str_reset(text);
    mp_str_add(text, begun, rest);
}

static void tell_text(struct mcplug_reply *r)
{
    struct mp_str *text = &r->answer.text;
    size_t whole = whole_of(r, text);

    if (r->thought.len)
        tell_thought(r);
    if (!r->is_cancelled && whole > r->told) {
        size_t from = r->told;
        char held = text->data[whole];
        r->told = whole;
        text->data[whole] = '\0';
        r->events->text(r->arg, text->data + from, whole - from, false);
        text->data[whole] = held;
    }
}

static void finish(struct mcplug_reply *r)
{
    bool is_full = r->why.code == MCPLUG_ETOOBIG;

    if (r->why.code == MCPLUG_OK && r->is_too_long)
        mp_fail(&r->why, MCPLUG_ETOOBIG,
                "the answer of the model has more than %zu MiB or %d calls",
                MP_ANSWER_BYTES >> 20, MP_ANSWER_CALLS);
    else if (r->why.code == MCPLUG_OK && r->no_memory)
        mp_fail_nomem(&r->why);
    bool ok = r->why.code == MCPLUG_OK;
    drop_request(r);
    r->events->end(r->arg, ok || is_full ? &r->answer : NULL, ok ? NULL : &r->why);
}

static void on_job(struct mp_job *job)
{
    struct mcplug_reply *r = MP_OF(job, struct mcplug_reply, job);
    struct mp_loop *loop = r->model->models->loop;

    r->is_telling = true;
    tell_text(r);
    if (!r->has_ended || r->is_cancelled) {
        r->is_telling = false;
        if (r->is_cancelled)
            reply_free(r);
        return;
    }
    drop_request(r);
    if (may_retry(r)) {
        uint64_t ms = r->wait_ms == UINT64_MAX ? own_wait(r) : r->wait_ms;
        r->events->retry(r->arg, ms, &r->why);
        r->is_telling = false;
        if (r->is_cancelled ||
            mp_timer_start(loop, &r->timer, ms, on_timer) == MCPLUG_OK) {
            if (r->is_cancelled)
                reply_free(r);
            return;
        }
        mp_fail_nomem(&r->why);
    }
    finish(r);
    reply_free(r);
}

static struct mcplug_reply *reply_new(struct mcplug_model *model, bool is_count,
                                      const struct mcplug_prompt *prompt,
                                      const struct mp_ask_events *events, void *arg,
                                      struct mcplug_error *err)
{
    struct mcplug_reply *r = mp_alloc(sizeof *r);

    if (!r) {
        mp_fail_nomem(err);
        return NULL;
    }
    r->model = mp_model_ref(model);
    r->prompt = prompt;
    r->events = events;
    r->arg = arg;
    r->is_count = is_count;
    r->tries = 1;
    answer_init(&r->answer);
    mp_str_init(&r->thought, MP_ANSWER_BYTES);
    if (start(r, err) == MCPLUG_OK)
        return r;
    if (is_count) { /* how it fails matters more than when */
        not_asked(r, err);
        return r;
    }
    reply_free(r);
    return NULL;
}

struct mcplug_reply *mp_model_ask(struct mcplug_model *model,
                                  const struct mcplug_prompt *prompt,
                                  const struct mp_ask_events *events, void *arg,
                                  struct mcplug_error *err)
{
    return reply_new(model, false, prompt, events, arg, err);
}

struct mcplug_reply *mp_model_count(struct mcplug_model *model,
                                    const struct mcplug_prompt *prompt,
                                    const struct mp_ask_events *events, void *arg,
                                    struct mcplug_error *err)
{
    return reply_new(model, true, prompt, events, arg, err);
}

/* ---- what modules call ---- */

/* Is there room for so much more? */
static bool fits(struct mcplug_reply *r, size_t len)
{
    if (len > MP_ANSWER_BYTES - r->bytes) {
        r->is_too_long = true;
        return false;
    }
    r->bytes += len;
    return true;
}

static void reply_text(mcplug_reply *r, struct mcplug_bytes piece)
{
    if (r->has_ended || !piece.len)
        return;
    r->has_said = true;
    if (fits(r, piece.len))
        r->no_memory |= !mp_str_add_bytes(&r->answer.text, piece);
    later(r);
}

static void reply_thought(mcplug_reply *r, struct mcplug_bytes piece)
{
    if (r->has_ended || !piece.len)
        return;
    r->has_said = true;
    mp_str_add_bytes(&r->thought, piece);
    later(r);
}

static void reply_call(mcplug_reply *r, const char *id, const char *name,
                       struct mcplug_bytes arguments)
{
    struct mp_model_answer *a = &r->answer;

    if (r->has_ended)
        return;
    r->has_said = true;
    r->is_too_long |= a->n_calls >= MP_ANSWER_CALLS;
    if (r->is_too_long || !fits(r, arguments.len + strlen(id ? id : "")) ||
        !fits(r, strlen(name ? name : "")))
        return;
    if (!mp_grow(&a->calls, &a->calls_cap, a->n_calls + 1)) {
        r->no_memory = true;
        return;
    }
    struct mp_model_call *call = &a->calls[a->n_calls++];
    *call = (struct mp_model_call){.id = mp_strdup(id ? id : ""),
                                   .name = mp_strdup(name ? name : ""),
                                   .after = a->text.len};
    mp_str_init(&call->arguments, MP_ANSWER_BYTES);
    mp_str_add_bytes(&call->arguments, arguments);
    r->no_memory |= !call->id || !call->name || call->arguments.failed;
}

static void reply_usage(mcplug_reply *r, const struct mcplug_usage *usage)
{
    if (r->has_ended || !usage)
        return;
    size_t size = usage->struct_size;
    struct mcplug_usage own = {0};

    memcpy(&own, usage, size < sizeof own ? size : sizeof own);
    own.struct_size = sizeof own;
    own.reserved = 0;
    r->answer.usage = own;
}

static void reply_raw(mcplug_reply *r, struct mcplug_bytes json)
{
    if (r->has_ended)
        return;
    mp_str_reset(&r->answer.raw);
    r->is_too_long |= json.len > MP_ANSWER_BYTES;
    if (json.len <= MP_ANSWER_BYTES)
        r->no_memory |= !mp_str_add_bytes(&r->answer.raw, json);
}

static void reply_retry_after(mcplug_reply *r, uint64_t ms)
{
    r->wait_ms = ms;
}

static void reply_end(mcplug_reply *r, enum mcplug_stop stop,
                      const struct mcplug_error *why)
{
    if (r->has_ended)
        return;
    r->has_ended = true;
    r->answer.stop = stop;
    if (why)
        mp_error_copy(&r->why, why);
    if (why && r->why.code == MCPLUG_OK)
        r->why.code = MCPLUG_EIO;
    later(r);
}

const struct mcplug_reply_ops mp_reply_ops = {
    .struct_size = sizeof mp_reply_ops,
    .text = reply_text,
    .thought = reply_thought,
    .call = reply_call,
    .usage = reply_usage,
    .raw = reply_raw,
    .retry_after = reply_retry_after,
    .end = reply_end,
};
