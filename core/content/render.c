#include "content/render.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "session/session.h"

#include <stdlib.h>
#include <strings.h>

#define AT_ONCE ((size_t)1 << 16) /* bytes of a result that need no thread */

struct mp_render {
    struct mcplug_call base;
    struct mp_renderer *renderer;
    struct mp_render *next, **prev;
    mcplug_result *result;
    struct mp_content_rules rules; /* its strings are ours */
    struct mp_make make;
    struct mp_counter *counter; /* NULL: none */
    void *count;                /* that is under way */
    int64_t tokens;             /* what came of it */
    bool is_begun;              /* the first step of two was made */
    bool is_long;               /* a thread works on it */
    mcplug_render_fn *done;
    void *arg;
    struct mp_job job;
    atomic_bool cancelled;     /* the thread that works on it reads it */
    mcplug_rendering *content; /* once it is made */
    struct mcplug_error why;
    int r;
};

/* ---- the renderer ---- */

static uint32_t tokens_of(const char *text)
{
    char *end;
    unsigned long long n = text ? strtoull(text, &end, 10) : 0;
    bool ok = text && text[0] >= '1' && text[0] <= '9' && !*end && n <= UINT32_MAX / 8;

    return ok ? (uint32_t)n : MP_OUTPUT_TOKENS;
}

/* Only what says so turns files off. */
static bool is_off(const char *text)
{
    static const char *const words[] = {"0", "false", "no", "off"};

    for (size_t i = 0; text && i < MP_COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

int mp_renderer_init(struct mp_renderer *r, struct mp_loop *loop, struct mp_events *log,
                     const char *dir, struct mcplug_error *err)
{
    *r = (struct mp_renderer){.loop = loop, .log = log};
    r->max_tokens = tokens_of(secure_getenv("MAX_MCP_OUTPUT_TOKENS"));
    r->no_files = is_off(secure_getenv("ENABLE_MCP_LARGE_OUTPUT_FILES"));
    r->store = mp_store_new(dir, 0, 0);
    return r->store ? MCPLUG_OK : mp_fail_nomem(err);
}

void mp_renderer_clear(struct mp_renderer *r)
{
    mp_store_free(r->store);
    r->store = NULL;
}

/* ---- one result ---- */

static void render_free(struct mp_render *x)
{
    if (x->prev) {
        mp_links_drop(x, next, prev);
        x->renderer->under_way--;
    }
    mp_job_drop(x->renderer->loop, &x->job);
    mp_make_clear(&x->make);
    if (x->counter)
        x->counter->unref(x->counter);
    mcplug_result_unref(x->result);
    mcplug_rendering_unref(x->content);
    mp_free((char *)x->rules.server);
    mp_free((char *)x->rules.tool);
    mp_free((char *)x->rules.definition);
    mcplug_call_unref(&x->base);
}

/* A file that no text refers to is of no use. */
static void drop_stored(struct mp_render *x)
{
    if (x->cancelled && x->content && x->content->stored) {
        mp_store_remove(x->rules.store, strrchr(x->content->stored, '/') + 1, NULL);
        mp_free(mp_move(&x->content->stored));
    }
}

static void finish(struct mp_render *x)
{
    const struct mp_renderer *r = x->renderer;

    x->base.cancel = NULL;
    drop_stored(x);
    if (r->converters)
        mp_converters_rest(r->converters);
    if (x->cancelled)
        x->r = mp_fail(&x->why, MCPLUG_ECANCELED, "cancelled");
    else if (x->r == MCPLUG_OK && x->content->warning)
        mp_log(r->log, MCPLUG_LOG_WARN, "core", "tool '%s' of server \"%s\": %s",
               x->rules.tool, x->rules.server, x->content->warning);
    bool ok = x->r == MCPLUG_OK;
    x->done(x->arg, &x->base, ok ? x->content : NULL, ok ? NULL : &x->why);
    render_free(x);
}

/* As far as it can be made: a question is to be answered first. */
static void make(void *arg)
{
    struct mp_render *x = arg;
    bool is_first = !x->is_begun;

    x->is_begun = true;
    if (is_first)
        x->r = mp_make_begin(&x->make, &x->why);
    if (x->r == MCPLUG_OK && !(is_first && x->make.question.len))
        x->r = mp_make_end(&x->make, x->tokens, &x->content, &x->why);
    drop_stored(x);
}

static void go_on(struct mp_render *x);

static void on_counted(void *arg, int64_t tokens)
{
    struct mp_render *x = arg;

    x->count = NULL;
    x->tokens = tokens;
    go_on(x);
}

static void after_make(struct mp_render *x)
{
    bool is_asked = x->r == MCPLUG_OK && !x->content && !x->cancelled;

    if (is_asked) {
        const struct mp_str *text = &x->make.question;
        x->count =
            x->counter->start(x->counter, mp_bytes(text->data, text->len), on_counted, x);
    }
    if (is_asked && !x->count)
        on_counted(x, MP_COUNT_FAILED);
    else if (!is_asked)
        finish(x);
}

static void on_made(void *arg, int status)
{
    struct mp_render *x = arg;

    if (status != MCPLUG_OK)
        x->r = mp_fail(&x->why, status, "cannot be worked on by another thread");
    after_make(x);
}

/* What needs a thread and gets none is made here: a result is worth a pause. */
static void go_on(struct mp_render *x)
{
    if (!x->cancelled && x->is_long &&
        mp_loop_work(x->renderer->loop, make, on_made, x) == MCPLUG_OK)
        return;
    x->rules.converters = NULL; /* which take longer than a pause may */
    if (!x->cancelled)
        make(x);
    after_make(x);
}

/* Could it need a file, or a converter? The former wait for disks, and for others who use
 * the directory. A name of a member that is not here as it is has an escape. */
static bool may_wait(const struct mp_content_rules *rules, const char *json, size_t len)
{
    static const char *const words[] = {"\"data\"", "\"blob\"", "\\u00"};

    if (rules->store && len > (size_t)rules->max_tokens / 2 * MP_CHARS_PER_TOKEN)
        return true;
    for (size_t i = 0; i < MP_COUNT(words); i++)
        if (memmem(json, len, words[i], strlen(words[i])))
            return true;
    return false;
}

static void on_job(struct mp_job *job)
{
    struct mp_render *x = MP_OF(job, struct mp_render, job);
    size_t len;
    const char *json = mcplug_result_json(x->result, &len);

    x->is_long = len > AT_ONCE || mcplug_result_spills(x->result) ||
                 may_wait(&x->rules, json, len);
    if (x->rules.converters && x->is_long)
        mp_converters_ready(x->rules.converters);
    go_on(x);
}

/* A thread can't be stopped; what it makes is dropped. */
static void cancel(mcplug_call *call)
{
    struct mp_render *x = MP_OF(call, struct mp_render, base);

    x->cancelled = true;
    if (x->count) {
        x->counter->cancel(mp_move(&x->count));
        mp_job_defer(x->renderer->loop, &x->job, on_job);
    }
}

void mp_renderer_end(struct mp_renderer *r)
{
    for (struct mp_render *x = r->renders; x; x = x->next)
        cancel(&x->base);
}

static bool take_rules(struct mp_render *x, const struct mcplug_render_options *o)
{
    struct mp_content_rules *rules = &x->rules;
    const struct mp_renderer *r = x->renderer;

    rules->server = mp_strdup(o->server ? o->server : "");
    rules->tool = mp_strdup(o->tool ? o->tool : "");
    rules->definition = o->definition ? mp_strdup(o->definition) : NULL;
    rules->max_tokens = o->max_tokens ? o->max_tokens : r->max_tokens;
    rules->tail = o->tail < 100 ? o->tail : 99;
    rules->count = o->count;
    rules->count_arg = o->count_arg;
    rules->store = o->no_files || r->no_files ? NULL : r->store;
    rules->converters = r->converters;
    rules->cancelled = &x->cancelled;
    if (!rules->server || !rules->tool || (o->definition && !rules->definition))
        return false;
    rules->whole = o->whole || strcmp(rules->server, "ide") == 0;
    return true;
}

mcplug_call *mp_render(struct mp_renderer *r, mcplug_result *result,
                       const struct mcplug_render_options *options,
                       struct mp_counter *counter, bool in_toolbox,
                       mcplug_render_fn *done, void *arg, struct mcplug_error *err)
{
    struct mp_render *x = mp_alloc(sizeof *x);

    if (!x) {
        mp_fail_nomem(err);
        return NULL;
    }
    atomic_init(&x->base.refs, 1);
    x->base.cancel = cancel;
    x->base.loop = r->loop;
    x->renderer = r;
    x->result = mcplug_result_ref(result);
    x->rules.in_toolbox = in_toolbox;
    x->rules.asks = counter != NULL;
    x->counter = counter;
    if (counter)
        counter->ref(counter);
    mp_make_init(&x->make, result, &x->rules);
    x->done = done;
    x->arg = arg;
    mp_error_init(&x->why);
    if (!take_rules(x, options)) {
        mp_fail_nomem(err);
        render_free(x);
        return NULL;
    }
    mp_links_push(r->renders, x, next, prev);
    r->under_way++;
    mp_job_defer(r->loop, &x->job, on_job);
    return &x->base;
}
