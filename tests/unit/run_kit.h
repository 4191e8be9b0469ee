/* For the suites about runs: a host with a scripted model, tools of the program that note
 * what they are asked, and a run that is waited for. */
#ifndef RUN_KIT_H
#define RUN_KIT_H

#include "box_kit.h"
#include "script_model.h"

#include "run/run.h"

static mcplug_model *model;
static mcplug_thread *thread;
static char told[1 << 16]; /* the events, one a line */
static struct ran {
    unsigned times, freed;
    bool ok;
    int code;
    char why[500], text[1 << 16];
    struct mcplug_run_result result;
    struct mcplug_usage usage;
} ran;
static struct mcplug_run_options o;
static mcplug_call *run_call;
static const char *cancel_at; /* when that is told */
static uint64_t retry_ms;     /* of the last event of that type */

/* ---- a host, a model, a thread ---- */

/* NAME, VALUE, .. NULL */
static inline mcplug_model *new_model(const char *type, const char *const *settings)
{
    mcplug_settings *s = mcplug_settings_new(type);
    for (; settings && *settings; settings += 2)
        mcplug_settings_set(s, settings[0], settings[1]);
    mcplug_model *m = mcplug_model_new(host, s, &err);
    mcplug_settings_free(s);
    return m;
}
#define MODEL(type, ...) new_model(type, (const char *const[]){__VA_ARGS__, NULL})

static inline void on_event(void *arg, const struct mcplug_run_event *e)
{
    size_t n = strlen(told);
    char *at = told + n;
    size_t room = sizeof told - n;
    int len = (int)e->len;
    const char *text = e->text ? e->text : "";
    ck_assert_ptr_eq(arg, &ran);
    ck_assert_uint_eq(e->struct_size, sizeof *e);

    switch (e->type) {
    case MCPLUG_RUN_TEXT:
        snprintf(at, room, "text %.*s\n", len, text);
        break;
    case MCPLUG_RUN_THOUGHT:
        snprintf(at, room, "thought %.*s\n", len, text);
        break;
    case MCPLUG_RUN_RETRY:
        snprintf(at, room, "retry %s\n", e->why->text);
        retry_ms = e->ms;
        break;
    case MCPLUG_RUN_TOOL_BEGINS:
        snprintf(at, room, "begins %s %s@%s %.*s\n", e->id, e->tool, e->server, len,
                 text);
        break;
    case MCPLUG_RUN_TOOL_REPORTS:
        snprintf(at, room, "reports %s %s@%s %.0f\n", e->id, e->tool, e->server,
                 e->progress);
        break;
    case MCPLUG_RUN_TOOL_ENDS:
        snprintf(at, room, "ends %s %s@%s %s: %.*s\n", e->id, e->tool, e->server,
                 e->failed ? "failed" : "ok", len, text);
        break;
    case MCPLUG_RUN_STEP_ENDS:
        snprintf(at, room, "step %u %d/%d\n", e->step, (int)e->usage->input,
                 (int)e->usage->output);
        break;
    default:
        snprintf(at, room, "warns %.*s\n", len, text);
        break;
    }
    if (text[0])
        ck_assert_uint_eq(strlen(text + len), 0); /* a NUL behind it */
    if (cancel_at && strstr(at, cancel_at) && run_call) {
        cancel_at = NULL;
        mcplug_cancel(run_call);
    }
}

static inline void on_freed(void *arg)
{
    ck_assert_ptr_eq(arg, &ran);
    ran.freed++;
}

static inline void begin_run(void)
{
    static const struct mcplug_plugin *const plugins[] = {&mcplug_builtin_script, NULL};

    modules = plugins;
    begin(NULL);
    logged[0] = told[0] = '\0';
    model = MODEL("script", "model", "m1");
    ck_assert_msg(model != NULL, "%s", err.text);
    thread = mcplug_thread_new();
    mcplug_thread_say(thread, "hi");
    o = (struct mcplug_run_options){.struct_size = sizeof o,
                                    .model = model,
                                    .box = box,
                                    .arg = &ran,
                                    .event = on_event,
                                    .free_arg = on_freed};
}

static inline void end_run(void)
{
    mcplug_thread_free(thread);
    mcplug_model_free(model);
    end();
    ck_assert_uint_eq(player.opened, player.closed);
    script_clear();
}

/* ---- a run ---- */

static inline void on_done(void *arg, mcplug_call *call,
                           const struct mcplug_run_result *r,
                           const struct mcplug_error *why)
{
    ck_assert_ptr_eq(arg, &ran);
    ck_assert_ptr_eq(call, run_call);
    ck_assert_int_eq(r == NULL, why != NULL);
    ran.times++;
    ran.ok = r != NULL;
    if (r) {
        ran.result = *r;
        ran.usage = *r->usage;
        ck_assert_uint_eq(r->len, strlen(r->text));
        snprintf(ran.text, sizeof ran.text, "%s", r->text);
    } else {
        ran.code = why->code;
        snprintf(ran.why, sizeof ran.why, "%s", why->text);
    }
}

static inline mcplug_call *start_run(void)
{
    memset(&ran, 0, sizeof ran);
    told[0] = '\0';
    run_call = mcplug_thread_run(thread, &o, on_done, &ran, &err);
    ck_assert_msg(run_call != NULL, "%s", err.text);
    ck_assert_uint_eq(ran.times, 0);
    ck_assert_str_eq(told, ""); /* nothing is told inside of it */
    return run_call;
}

/* Every use has its result, in their order, in the message behind it. */
static inline void check_order(bool may_wait)
{
    size_t n = mcplug_thread_count(thread);

    for (size_t i = 0; i < n; i++) {
        struct mcplug_message m = {.struct_size = sizeof m}, next = m;
        size_t k = 0;
        mcplug_thread_message(thread, i, &m);
        ck_assert_uint_eq(m.role,
                          i % 2 ? (uint32_t)MCPLUG_ROLE_ASSISTANT : MCPLUG_ROLE_USER);
        bool has_next = mcplug_thread_message(thread, i + 1, &next);
        for (size_t j = 0; j < m.n_items; j++) {
            if (m.items[j]->kind != MCPLUG_ITEM_TOOL_USE)
                continue;
            bool waits = may_wait && i + 2 >= n &&
                         (!has_next || k >= next.n_items ||
                          strcmp(next.items[k]->id, m.items[j]->id) != 0);
            ck_assert(waits || (has_next && k < next.n_items &&
                                next.items[k]->kind == MCPLUG_ITEM_TOOL_RESULT &&
                                strcmp(next.items[k]->id, m.items[j]->id) == 0));
            k += !waits;
        }
    }
    const char *json = mcplug_thread_json(thread, NULL);
    mcplug_thread *again = mcplug_thread_parse(json, strlen(json), &err);
    ck_assert_msg(again != NULL, "%s\n%s", err.text, json);
    ck_assert_str_eq(mcplug_thread_json(again, NULL), json);
    mcplug_thread_free(again);
}

static inline void await_run(void)
{
    UNTIL(ran.times);
    turn();
    ck_assert_uint_eq(ran.times, 1);
    ck_assert_uint_eq(ran.freed, o.free_arg != NULL);
    check_order(ran.result.end == MCPLUG_RUN_ASKED);
    run_call = NULL;
}

static inline void run_it(void)
{
    start_run();
    await_run();
}

#define RAN(what, words)                                                                 \
    do {                                                                                 \
        ck_assert_msg(ran.ok, "%d %s\n%s", ran.code, ran.why, told);                     \
        ck_assert_str_eq(mcplug_run_end_name(ran.result.end), what);                     \
        ck_assert_str_eq(ran.text, words);                                               \
    } while (0)
#define FAILED(why_code, words)                                                          \
    do {                                                                                 \
        ck_assert(!ran.ok);                                                              \
        ck_assert_int_eq(ran.code, why_code);                                            \
        ck_assert_str_eq(ran.why, words);                                                \
    } while (0)
/* The last line of a prompt, or the last of a thread as a prompt would have it. */
#define PROMPTED(i, words)                                                               \
    ck_assert_msg(strstr(script_prompt(i), words) != NULL, "no: %s\nin: %s", words,      \
                  script_prompt(i))
#define TOLD(words)                                                                      \
    ck_assert_msg(strstr(told, words) != NULL, "no: %s\nin: %s", words, told)
#define NOT_TOLD(words) ck_assert_msg(strstr(told, words) == NULL, "%s", told)
#define ASKED_FOR(n) ck_assert_uint_eq(player.asked, n)

/* ---- tools of the program ---- */

static struct kept { /* uses that wait for the test */
    mcplug_use *use;
    char arguments[256];
} kept[32];
static size_t n_kept;

static inline void keep(void *arg, mcplug_use *u, const char *arguments, size_t len)
{
    (void)arg;
    ck_assert_uint_eq(strlen(arguments), len);
    ck_assert_uint_lt(n_kept, MP_COUNT(kept));
    snprintf(kept[n_kept].arguments, sizeof kept[0].arguments, "%s", arguments);
    kept[n_kept++].use = u;
}

static inline void answer_kept(size_t i, const char *text)
{
    ck_assert_ptr_nonnull(kept[i].use);
    mcplug_use_answer(mp_move(&kept[i].use), text, strlen(text), 0);
}

/* Answers at once, with what `arg` says, or with the arguments. */
static inline void reply_now(void *arg, mcplug_use *u, const char *arguments, size_t len)
{
    const char *text = arg;
    mcplug_use_answer(u, text ? text : arguments, text ? strlen(text) : len, 0);
}

static inline void fail_now(void *arg, mcplug_use *u, const char *arguments, size_t len)
{
    (void)arguments, (void)len;
    mcplug_use_answer(u, arg, strlen(arg), 1);
}

static inline void json_now(void *arg, mcplug_use *u, const char *arguments, size_t len)
{
    (void)arguments, (void)len;
    mcplug_use_answer_json(u, arg, strlen(arg));
}

#define OWN(tool_name, fn, ...)                                                          \
    (&(const struct mcplug_tool){.struct_size = sizeof(struct mcplug_tool),              \
                                 .name = tool_name,                                      \
                                 .call = fn,                                             \
                                 __VA_ARGS__})
#define TOOLS(...) ((const struct mcplug_tool *const[]){__VA_ARGS__, NULL})

#endif
