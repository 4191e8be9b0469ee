/* How many tokens a text is to a model: one request to it, and a time that it may take.
 * What has no number is no failure of who asks: see mp_counter. */
#include "run/model.h"

#include "base/error.h"
#include "base/event.h"
#include "base/mem.h"

struct mp_count {
    struct mcplug_model *model;
    struct mcplug_reply *reply; /* NULL: it has ended */
    struct mp_timer timer;
    struct mcplug_prompt prompt;
    struct mcplug_message message;
    struct mcplug_item item;
    const struct mcplug_message *messages[1];
    const struct mcplug_item *items[1];
    void (*done)(void *arg, int64_t tokens);
    void *arg;
};

static struct mcplug_model *model_of(struct mp_counter *counter)
{
    return MP_OF(counter, struct mcplug_model, counter);
}

static void ref(struct mp_counter *counter)
{
    mp_model_ref(model_of(counter));
}

static void unref(struct mp_counter *counter)
{
    mp_model_unref(model_of(counter));
}

static void cancel(void *count)
{
    struct mp_count *c = count;

    mp_timer_stop(c->model->models->loop, &c->timer);
    mp_reply_cancel(c->reply);
    mp_model_unref(c->model);
    mp_free(c);
}

static void log_failure(const struct mcplug_model *m, const struct mcplug_error *why)
{
    mp_log(m->models->log, MCPLUG_LOG_WARN, "core",
           "the model \"%s\" did not count the tokens of a result, which is not cut: %s",
           m->name, why->text);
}

static void end(struct mp_count *c, int64_t tokens)
{
    void (*done)(void *arg, int64_t tokens) = c->done;
    void *arg = c->arg;

    cancel(c);
    done(arg, tokens);
}

/* A text is at least one token. */
static void on_end(void *arg, struct mp_model_answer *a, const struct mcplug_error *why)
{
    struct mp_count *c = arg;
    struct mcplug_error none = MCPLUG_ERROR_INIT;
    uint64_t n = a && !why ? a->usage.input : 0;

    c->reply = NULL;
    if (why && why->code == MCPLUG_ENOTSUP) {
        c->model->cannot_count = true;
        end(c, MP_COUNT_NONE);
        return;
    }
    if (!why && (!n || n > INT64_MAX))
        mp_fail(&none, MCPLUG_EPROTO, "its module told no number");
    if (why || none.code != MCPLUG_OK)
        log_failure(c->model, why ? why : &none);
    end(c, n && n <= INT64_MAX ? (int64_t)n : MP_COUNT_FAILED);
}

static void on_time(struct mp_timer *timer)
{
    struct mp_count *c = MP_OF(timer, struct mp_count, timer);
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    mp_fail(&why, MCPLUG_ETIMEDOUT, "no answer within %d s", MP_COUNT_MS / 1000);
    log_failure(c->model, &why);
    end(c, MP_COUNT_FAILED);
}

static void ignore(void *arg, const char *text, size_t len, bool is_thought)
{
    (void)arg, (void)text, (void)len, (void)is_thought;
}

static void *start(struct mp_counter *counter, struct mcplug_bytes text,
                   void (*done)(void *arg, int64_t tokens), void *arg)
{
    static const struct mp_ask_events events = {.text = ignore, .end = on_end};
    struct mcplug_model *m = model_of(counter);
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_count *c = mp_alloc(sizeof *c);

    if (!c) {
        mp_fail_nomem(&why);
        log_failure(m, &why);
        return NULL;
    }
    c->model = mp_model_ref(m);
    c->done = done;
    c->arg = arg;
    c->item = (struct mcplug_item){
        .struct_size = sizeof c->item, .kind = MCPLUG_ITEM_TEXT, .text = text};
    c->items[0] = &c->item;
    c->message = (struct mcplug_message){.struct_size = sizeof c->message,
                                         .role = MCPLUG_ROLE_USER,
                                         .items = c->items,
                                         .n_items = 1};
    c->messages[0] = &c->message;
    c->prompt = (struct mcplug_prompt){.struct_size = sizeof c->prompt,
                                       .model = m->name,
                                       .messages = c->messages,
                                       .n_messages = 1};
    if (mp_timer_start(m->models->loop, &c->timer, MP_COUNT_MS, on_time) != MCPLUG_OK)
        mp_fail_nomem(&why);
    else
        c->reply = mp_model_count(m, &c->prompt, &events, c, &why);
    if (c->reply)
        return c;
    log_failure(m, &why);
    cancel(c);
    return NULL;
}

const struct mp_counter mp_model_counts = {
    .ref = ref, .unref = unref, .start = start, .cancel = cancel};

struct mp_counter *mp_model_counter(struct mcplug_model *m)
{
    bool can =
        m && !m->cannot_count && MCPLUG_HAS(m->ops, struct mcplug_model_ops, count);
    return can ? &m->counter : NULL;
}
