#include "run/run.h"

#include "base/error.h"
#include "base/event.h"
#include "base/hash.h"
#include "base/links.h"
#include "base/mem.h"
#include "json/scan.h"

#include <stdarg.h>
#include <stdio.h>

static void on_job(struct mp_job *job);

/* ---- telling ---- */

void mp_run_tell(struct mp_thread_run *run, struct mcplug_run_event *event)
{
    event->struct_size = sizeof *event;
    event->step = run->result.steps;
    if (run->o.event)
        run->o.event(run->o.arg, event);
}

void mp_run_warn(struct mp_thread_run *run, const char *fmt, ...)
{
    struct mcplug_error line = MCPLUG_ERROR_INIT;
    va_list ap;

    va_start(ap, fmt);
    mp_failv(&line, MCPLUG_EINVAL, fmt, ap);
    va_end(ap);
    mp_log(run->runs->models.log, MCPLUG_LOG_WARN, "core", "%s", line.text);
    struct mcplug_run_event e = {
        .type = MCPLUG_RUN_WARNS, .text = line.text, .len = strlen(line.text)};
    mp_run_tell(run, &e);
}

const char *mcplug_run_end_name(enum mcplug_run_end end)
{
    static const char *const names[] = {
        [MCPLUG_RUN_DONE] = "done",       [MCPLUG_RUN_LENGTH] = "length",
        [MCPLUG_RUN_REFUSED] = "refused", [MCPLUG_RUN_FULL] = "full",
        [MCPLUG_RUN_ASKED] = "asked",     [MCPLUG_RUN_STEPS] = "steps",
        [MCPLUG_RUN_TOKENS] = "tokens",   [MCPLUG_RUN_COST] = "cost",
        [MCPLUG_RUN_TIME] = "time",       [MCPLUG_RUN_REPEATED] = "repeated",
    };
    return end > 0 && (size_t)end < MP_COUNT(names) ? names[end] : "unknown";
}

/* ---- the end ---- */

/* Whoever wants to go on with the thread may. */
static void let_go(struct mp_thread_run *run)
{
    struct mcplug_thread *thread = mp_move(&run->thread);

    mp_uses_clear(run); /* which point into it */
    if (!thread)
        return;
    thread->is_running = false;
    if (thread->is_freed)
        mcplug_thread_free(thread);
}

static void run_free(struct mp_thread_run *run)
{
    struct mp_loop *loop = run->runs->models.loop;

    if (run->prev) {
        mp_links_drop(run, next, prev);
        run->runs->under_way--;
    }
    mp_job_drop(loop, &run->job);
    mp_job_drop(loop, &run->uses_job);
    mp_timer_stop(loop, &run->timer);
    mp_reply_cancel(run->reply);
    let_go(run);
    mp_offer_clear(&run->offered);
    mp_free(run->uses);
    mp_free(run->repeats);
    mp_str_clear(&run->system);
    mp_str_clear(&run->text);
    mp_model_unref(run->model);
    mcplug_call_unref(&run->base);
}

static int add_text(struct mp_thread_run *run, const char *text, size_t len,
                    struct mcplug_error *err)
{
    if (!len)
        return MCPLUG_OK;
    return mp_thread_put(
        run->thread, MCPLUG_ROLE_ASSISTANT,
        mp_item_new(MCPLUG_ITEM_TEXT, mp_bytes(text, len), NULL, NULL, NULL), err);
}

/* What came of an answer that was cut is kept, as far as it was told. Some APIs refuse a
 * text of blanks, so that counts as nothing. */
static int keep_cut(struct mp_thread_run *run, struct mcplug_error *err)
{
    mp_view text = mp_bytes(run->text.data, run->text.len);
    struct mp_said *last = run->thread->said[run->thread->n - 1];
    bool goes_on = last->m.role == MCPLUG_ROLE_ASSISTANT;

    if (text.len == run->n_taken)
        return MCPLUG_OK;
    text.data += run->n_taken;
    text.len -= run->n_taken;
    if (!mp_view_trim(text).len)
        return MCPLUG_OK;
    int r = add_text(run, (const char *)text.data, text.len, err);
    if (r == MCPLUG_OK && goes_on) /* after a pause: the raw turn lacks this text */
        mp_thread_drop_raw(run->thread, last);
    return r;
}

static void finish(struct mp_thread_run *run)
{
    struct mcplug_run_result *result = &run->result;
    bool ok = run->end != 0 && !run->is_cancelled;

    run->base.cancel = NULL;
    run->is_stopping = true;
    if (keep_cut(run, &run->why) != MCPLUG_OK)
        ok = false;
    if (run->end != MCPLUG_RUN_ASKED &&
        mp_thread_close_turn(run->thread,
                             "The run was stopped before this tool answered.",
                             &run->why) != MCPLUG_OK)
        ok = false;
    if (run->is_cancelled)
        mp_fail(&run->why, MCPLUG_ECANCELED, "cancelled");
    result->end = run->end;
    result->text = run->text.len ? run->text.data : "";
    result->len = run->text.len;
    result->ms = mp_loop_now(run->runs->models.loop) - run->began_at;
    result->cost = mp_model_cost(run->model, &run->usage);
    let_go(run);
    run->done(run->arg, &run->base, ok ? result : NULL, ok ? NULL : &run->why);
    if (run->o.free_arg)
        run->o.free_arg(run->o.arg);
    run_free(run);
}

static void finish_later(struct mp_thread_run *run, enum mcplug_run_end end)
{
    run->end = end;
    run->is_stopping = true;
    mp_job_defer(run->runs->models.loop, &run->job, on_job);
}

static void fail_later(struct mp_thread_run *run, const struct mcplug_error *why)
{
    if (why != &run->why)
        mp_error_copy(&run->why, why);
    finish_later(run, 0);
}

/* Ends what is under way; then the run. */
static void stop(struct mp_thread_run *run)
{
    run->is_stopping = true;
    mp_reply_cancel(mp_move(&run->reply));
    if (run->n_uses)
        mp_uses_stop(run);
    else
        mp_job_defer(run->runs->models.loop, &run->job, on_job);
}

static void cancel(mcplug_call *call)
{
    struct mp_thread_run *run = MP_OF(call, struct mp_thread_run, base);

    run->is_cancelled = true;
    stop(run);
}

void mp_runs_end(struct mp_runs *runs)
{
    runs->ending = true;
    for (struct mp_thread_run *run = runs->first; run; run = run->next)
        if (run->base.cancel)
            cancel(&run->base);
}

static void on_time(struct mp_timer *timer)
{
    struct mp_thread_run *run = MP_OF(timer, struct mp_thread_run, timer);

    if (run->is_stopping) /* it ends for another reason */
        return;
    run->end = MCPLUG_RUN_TIME;
    stop(run);
}

/* ---- limits ---- */

bool mp_run_repeats(struct mp_thread_run *run, const struct mcplug_item *use)
{
    uint64_t hash = 0;
    size_t i = 0;

    mp_hash_add(&hash, use->name, strlen(use->name));
    mp_hash_add(&hash, use->text.data, use->text.len);
    while (i < run->n_repeats && run->repeats[i].hash != hash)
        i++;
    if (i == run->n_repeats) {
        if (!mp_grow(&run->repeats, &run->repeats_cap, i + 1))
            return false;
        run->repeats[i].hash = hash;
        run->repeats[i].count = run->repeats[i].step = 0;
        run->n_repeats++;
    }
    /* ten dice of one turn are no loop */
    if (run->repeats[i].step != run->result.steps)
        run->repeats[i].count++;
    run->repeats[i].step = run->result.steps;
    return run->repeats[i].count > run->o.max_repeats;
}

/* 0: none is reached */
static enum mcplug_run_end limit(const struct mp_thread_run *run)
{
    const struct mcplug_usage *u = &run->usage;

    if (run->result.steps >= run->o.max_steps)
        return MCPLUG_RUN_STEPS;
    if (run->o.max_tokens && u->input + u->output >= run->o.max_tokens)
        return MCPLUG_RUN_TOKENS;
    if (run->o.max_cost > 0 && mp_model_cost(run->model, u) >= run->o.max_cost)
        return MCPLUG_RUN_COST;
    return 0;
}

/* ---- an answer ---- */

static bool has_id(const struct mp_model_answer *a, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(a->calls[i].id, id) == 0)
            return true;
    return false;
}

static bool is_nested_well(mp_view json)
{
    static const struct mp_scan_limits limits = {.depth = MP_THREAD_DEPTH,
                                                 .tokens = 1000000};
    return mp_scan_text((const char *)json.data, json.len, &limits, NULL, NULL) ==
           MCPLUG_OK;
}

static bool is_object(mp_view *arguments)
{
    return mp_frame_object(arguments, "arguments", NULL) == MCPLUG_OK &&
           is_nested_well(*arguments);
}

/* Arguments that are no object are noted, and answered. */
static int add_call(struct mp_thread_run *run, struct mp_model_answer *a, size_t i,
                    struct mcplug_error *err)
{
    struct mp_model_call *call = &a->calls[i];
    mp_view arguments = mp_bytes(call->arguments.data, call->arguments.len);
    char id[64];

    /* No other of the thread has that one: some APIs insist. */
    for (size_t k = i; call->id && (!*call->id || has_id(a, i, call->id)); k++) {
        snprintf(id, sizeof id, "call_%zu_%zu", run->thread->n, k + 1);
        mp_free(call->id);
        call->id = mp_strdup(id);
    }
    bool fits = !mp_view_trim(arguments).len || is_object(&arguments);
    if (!fits || !arguments.len)
        arguments = mp_text("{}");
    struct mcplug_item *item = call->id ? mp_item_new(MCPLUG_ITEM_TOOL_USE, arguments,
                                                      NULL, call->name, call->id)
                                        : NULL;
    if (item)
        item->is_error = !fits;
    return mp_thread_put(run->thread, MCPLUG_ROLE_ASSISTANT, item, err);
}

/* A turn that goes on after a pause: two arrays become one. What cannot be put together
 * is made from the items from now on. */
static bool join_raw(struct mp_str *raw, mp_view more)
{
    mp_view had = mp_bytes(raw->data, raw->len);

    if (!mp_view_is_array(had) || !mp_view_is_array(more)) {
        mp_str_reset(raw);
        return true;
    }
    if (!mp_view_count(more))
        return true;
    raw->len--;
    if (mp_view_count(had))
        mp_str_addc(raw, ',');
    mp_str_add(raw, more.data + 1, more.len - 1);
    return !raw->failed;
}

/* Of what is no JSON the items are all there is. */
static int take_raw(struct mp_thread_run *run, struct mp_model_answer *a, bool goes_on,
                    struct mcplug_error *err)
{
    struct mp_said *said = run->thread->said[run->thread->n - 1];
    mp_view raw = mp_view_trim(mp_bytes(a->raw.data, a->raw.len));
    bool ok = true;

    if (raw.len && !is_nested_well(raw)) {
        mp_log(run->runs->models.log, MCPLUG_LOG_WARN, "core",
               "the raw turn of the model \"%s\" is no JSON, and is not kept",
               run->model->name);
        raw.len = 0;
    }
    if (!goes_on) {
        said->type = mp_strdup(run->model->offer->feature.name);
        said->model = mp_strdup(run->model->name);
        ok = said->type && said->model;
    }
    if (raw.len > MP_THREAD_BYTES - run->thread->bytes)
        return mp_fail(err, MCPLUG_ETOOBIG, "the thread is full: it holds %zu MiB",
                       MP_THREAD_BYTES >> 20);
    size_t before = said->raw.len;
    if (ok)
        ok = goes_on ? join_raw(&said->raw, raw) : mp_str_add_bytes(&said->raw, raw);
    if (!ok)
        mp_str_clear(&said->raw);
    run->thread->bytes += said->raw.len - before;
    said->m.raw = mp_bytes(said->raw.data, said->raw.len);
    return ok ? MCPLUG_OK : mp_fail_nomem(err);
}

static int take_answer(struct mp_thread_run *run, struct mp_model_answer *a,
                       struct mcplug_error *err)
{
    size_t before = run->thread->n, at = 0;
    bool goes_on = run->thread->said[before - 1]->m.role == MCPLUG_ROLE_ASSISTANT;
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && i < a->n_calls; i++) {
        r = add_text(run, a->text.data + at, a->calls[i].after - at, err);
        at = a->calls[i].after;
        if (r == MCPLUG_OK)
            r = add_call(run, a, i, err);
    }
    if (r == MCPLUG_OK)
        r = add_text(run, a->text.data + at, a->text.len - at, err);
    bool has_more = a->text.len || a->n_calls || a->raw.len;
    if (r == MCPLUG_OK && (run->thread->n > before || (goes_on && has_more)))
        r = take_raw(run, a, goes_on, err);
    run->n_taken = run->text.len;
    return r == MCPLUG_OK && run->text.failed ? mp_fail_nomem(err) : r;
}

static void add_usage(struct mcplug_usage *sum, const struct mcplug_usage *u)
{
    sum->input += u->input;
    sum->input_cached += u->input_cached;
    sum->input_to_cache += u->input_to_cache;
    sum->output += u->output;
}

static void after_answer(struct mp_thread_run *run, const struct mp_model_answer *a)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    if (a->n_calls && a->stop != MCPLUG_STOP_REFUSED) {
        const struct mp_said *turn = run->thread->said[run->thread->n - 1];
        for (size_t i = 0; i < turn->m.n_items; i++)
            if (turn->items[i]->kind == MCPLUG_ITEM_TOOL_USE &&
                mp_run_repeats(run, turn->items[i])) {
                finish_later(run, MCPLUG_RUN_REPEATED);
                return;
            }
        if (mp_uses_start(run, &why) != MCPLUG_OK)
            fail_later(run, &why);
        return;
    }
    switch (a->stop) {
    case MCPLUG_STOP_PAUSED:
        mp_job_defer(run->runs->models.loop, &run->job, on_job);
        break;
    case MCPLUG_STOP_LENGTH:
        finish_later(run, MCPLUG_RUN_LENGTH);
        break;
    case MCPLUG_STOP_REFUSED:
        finish_later(run, MCPLUG_RUN_REFUSED);
        break;
    case MCPLUG_STOP_FULL:
        finish_later(run, MCPLUG_RUN_FULL);
        break;
    default:
        finish_later(run, MCPLUG_RUN_DONE);
        break;
    }
}

/* ---- asking ---- */

static void on_text(void *arg, const char *text, size_t len, bool is_thought)
{
    struct mcplug_run_event e = {.type =
                                     is_thought ? MCPLUG_RUN_THOUGHT : MCPLUG_RUN_TEXT,
                                 .text = text,
                                 .len = len};
    struct mp_thread_run *run = arg;

    if (!is_thought)
        mp_str_add(&run->text, text, len);
    mp_run_tell(run, &e);
}

static void on_retry(void *arg, uint64_t ms, const struct mcplug_error *why)
{
    struct mcplug_run_event e = {.type = MCPLUG_RUN_RETRY, .ms = ms, .why = why};
    struct mp_thread_run *run = arg;

    mp_log(run->runs->models.log, MCPLUG_LOG_WARN, "core",
           "the model is asked again in %llu ms: %s", (unsigned long long)ms, why->text);
    mp_run_tell(run, &e);
}

/* A tool that the API refuses is left out, and it is asked once more. */
static bool quarantine(struct mp_thread_run *run, const struct mcplug_error *why)
{
    struct mp_known *known = why->code == MCPLUG_EPEER && why->peer_status == 400
                                 ? mp_offer_blame(&run->offered, why->text)
                                 : NULL;
    if (!known || run->quarantined >= 8)
        return false;
    run->quarantined++;
    known->is_bad = true;
    mp_offer_withdraw(&run->offered, known);
    mp_run_warn(run, "the tool %s is left out, for the model's API refuses it: %s",
                known->def.name, why->text);
    return true;
}

static void on_end(void *arg, struct mp_model_answer *a,
                   const struct mcplug_error *failure)
{
    struct mp_thread_run *run = arg;
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    run->reply = NULL;
    if (failure && a) {
        mp_run_warn(run, "%s", failure->text);
        finish_later(run, MCPLUG_RUN_FULL);
    } else if (failure && quarantine(run, failure)) {
        run->result.steps--;
        mp_job_defer(run->runs->models.loop, &run->job, on_job);
    } else if (failure) {
        fail_later(run, failure);
    } else if (take_answer(run, a, &why) != MCPLUG_OK) {
        fail_later(run, &why);
    } else {
        struct mcplug_run_event e = {.type = MCPLUG_RUN_STEP_ENDS, .usage = &a->usage};
        add_usage(&run->usage, &a->usage);
        mp_run_tell(run, &e);
        if (!run->is_stopping)
            after_answer(run, a);
    }
}

static void step(struct mp_thread_run *run)
{
    static const struct mp_ask_events events = {
        .text = on_text, .retry = on_retry, .end = on_end};
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    run->end = limit(run);
    if (run->end) {
        finish(run);
        return;
    }
    if (mp_offer_update(run, &why) == MCPLUG_OK && !run->is_stopping) {
        run->result.steps++;
        if (run->thread->said[run->thread->n - 1]->m.role == MCPLUG_ROLE_USER)
            mp_str_reset(&run->text); /* else the answer goes on after a pause */
        run->n_taken = run->text.len;
        run->prompt =
            (struct mcplug_prompt){.struct_size = sizeof run->prompt,
                                   .max_tokens = run->o.max_output,
                                   .model = run->model->name,
                                   .system = mp_bytes(run->system.data, run->system.len),
                                   .messages = run->thread->messages,
                                   .n_messages = run->thread->n,
                                   .tools = run->offered.defs,
                                   .n_tools = run->offered.n_defs};
        run->reply = mp_model_ask(run->model, &run->prompt, &events, run, &why);
        if (run->reply)
            return;
    }
    if (run->is_stopping) /* cancelled by a callback */
        return;
    mp_error_copy(&run->why, &why);
    run->end = 0;
    finish(run);
}

static void on_job(struct mp_job *job)
{
    struct mp_thread_run *run = MP_OF(job, struct mp_thread_run, job);

    if (run->is_stopping)
        finish(run);
    else
        step(run);
}

/* ---- after the tools ---- */

void mp_run_uses_ended(struct mp_thread_run *run)
{
    bool waits = false;
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && i < run->n_uses; i++) {
        struct mcplug_use *use = run->uses[i];
        waits |= use->is_shown;
        if (use->result)
            r = mp_thread_put_result(run->thread, mp_move(&use->result), &run->why);
    }
    mp_uses_clear(run);
    if (r != MCPLUG_OK || run->is_stopping) {
        finish_later(run, r == MCPLUG_OK ? run->end : 0);
    } else if (waits) {
        finish_later(run, MCPLUG_RUN_ASKED);
    } else {
        mp_job_defer(run->runs->models.loop, &run->job, on_job);
    }
}

/* ---- the beginning ---- */

/* Instructions: of the program, then of the servers. */
static int take_system(struct mp_thread_run *run, struct mcplug_error *err)
{
    const char *more = run->o.box ? mcplug_toolbox_instructions(run->o.box) : "";

    mp_str_init(&run->system, (size_t)16 << 20);
    if (!more)
        return mp_fail_nomem(err);
    if (run->o.system)
        mp_str_adds(&run->system, run->o.system);
    if (run->system.len && *more)
        mp_str_adds(&run->system, "\n\n");
    mp_str_adds(&run->system, more);
    run->o.system = NULL; /* the program's */
    return run->system.failed ? mp_fail_nomem(err) : MCPLUG_OK;
}

static int take_thread(struct mp_thread_run *run, struct mcplug_thread *thread,
                       struct mcplug_error *err)
{
    int r = mp_thread_close_turn(thread, "The user has not answered.", err);

    if (r == MCPLUG_OK &&
        (!thread->n || thread->said[thread->n - 1]->m.role != MCPLUG_ROLE_USER))
        r = mp_fail(err, MCPLUG_EINVAL, "the user has said nothing new in this thread");
    if (r != MCPLUG_OK)
        return r;
    thread->is_running = true;
    run->thread = thread;
    mp_thread_show_raw(thread, run->model->offer->feature.name, run->model->name);
    return MCPLUG_OK;
}

static int begin(struct mp_thread_run *run, struct mcplug_thread *thread,
                 struct mcplug_error *err)
{
    struct mp_loop *loop = run->runs->models.loop;
    int r = take_system(run, err);

    if (r == MCPLUG_OK)
        r = take_thread(run, thread, err);
    if (r == MCPLUG_OK) /* tools of the program that are wrong fail it at once */
        r = mp_offer_own(run, err);
    if (r == MCPLUG_OK && run->o.max_ms &&
        mp_timer_start(loop, &run->timer, run->o.max_ms, on_time) != MCPLUG_OK)
        r = mp_fail_nomem(err);
    return r;
}

mcplug_call *mp_run_start(struct mp_runs *runs, struct mcplug_thread *thread,
                          const struct mcplug_run_options *options, mcplug_run_fn *done,
                          void *arg, struct mcplug_error *err)
{
    struct mp_thread_run *run = mp_alloc(sizeof *run);

    if (!run) {
        mp_fail_nomem(err);
        return NULL;
    }
    atomic_init(&run->base.refs, 1);
    run->base.loop = runs->models.loop;
    run->runs = runs;
    run->o = *options;
    run->o.max_steps = run->o.max_steps ? run->o.max_steps : MP_RUN_STEPS;
    run->o.max_repeats = run->o.max_repeats ? run->o.max_repeats : MP_RUN_REPEATS;
    run->model = mp_model_ref(options->model);
    run->offered.budget =
        run->o.tool_budget
            ? run->o.tool_budget
            : (uint64_t)(run->model->context / 100 * MP_RUN_BUDGET_PERCENT);
    run->offered.n_before = thread->n;
    run->done = done;
    run->arg = arg;
    run->began_at = mp_loop_now(runs->models.loop);
    run->result.struct_size = sizeof run->result;
    run->result.usage = &run->usage;
    run->usage.struct_size = sizeof run->usage;
    mp_error_init(&run->why);
    mp_str_init(&run->text, MP_ANSWER_BYTES);
    if (begin(run, thread, err) != MCPLUG_OK) {
        run_free(run);
        return NULL;
    }
    run->base.cancel = cancel;
    mp_links_push(runs->first, run, next, prev);
    runs->under_way++;
    mp_job_defer(runs->models.loop, &run->job, on_job);
    return &run->base;
}
