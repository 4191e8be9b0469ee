/* `free_arg` of options: once, when no callback with `arg` can run any more, and never
 * after a failure. */
#include "server_kit.h"

#include <pthread.h>

/* What a struct's callbacks get: none of them may come after its end. */
struct owned {
    unsigned freed, heard;
    pthread_t thread;
};

static void on_free(void *arg)
{
    struct owned *o = arg;
    o->freed++;
    o->thread = pthread_self();
}

static void hear(struct owned *o)
{
    ck_assert_uint_eq(o->freed, 0);
    o->heard++;
}

/* ---- hosts ---- */

static void hear_log(void *arg, int level, const char *source, const char *text)
{
    (void)level, (void)source, (void)text;
    hear(arg);
}

START_TEST(the_log_of_a_host_is_freed_last)
{
    struct owned own = {0};
    struct mcplug_options o = {.struct_size = sizeof o,
                               .log_level = MCPLUG_LOG_TRACE,
                               .log = hear_log,
                               .log_arg = &own,
                               .free_arg = on_free};

    mcplug *h = mcplug_new(&o, NULL);
    ck_assert_ptr_nonnull(h);
    mcplug_server *s = NULL;
    mcplug_settings *settings = example(NULL);
    ck_assert_int_eq(mcplug_open_wait(h, settings, NULL, &s, NULL), MCPLUG_OK);
    mcplug_settings_free(settings);
    ck_assert_uint_eq(own.freed, 0);
    mcplug_free(h);
    ck_assert_uint_gt(own.heard, 0);
    ck_assert_uint_eq(own.freed, 1);
    o.json = "{\"none\":1}";
    ck_assert_ptr_null(mcplug_new(&o, NULL));
    ck_assert_uint_eq(own.freed, 1);
}
END_TEST

static void count_post(void *arg)
{
    ++*(unsigned *)arg;
}

static void post_once_more(void *arg)
{
    ck_assert_int_eq(mcplug_post(host, count_post, arg), MCPLUG_OK);
}

START_TEST(what_is_posted_runs_in_mcplug_free_at_the_latest)
{
    unsigned n = 0;
    begin_bare();
    if (_i)
        ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(mcplug_post(host, post_once_more, &n), MCPLUG_OK);
    end();
    ck_assert_uint_eq(n, 100);
}
END_TEST

/* ---- servers ---- */

static void hear_state(void *arg, mcplug_server *s, enum mcplug_state state,
                       const struct mcplug_error *why)
{
    (void)s, (void)state, (void)why;
    hear(arg);
}

static void hear_question(void *arg, mcplug_server *s, mcplug_input *input,
                          const char *params, size_t len)
{
    (void)s, (void)params, (void)len;
    hear(arg);
    mcplug_input_answer(input, "{\"action\":\"decline\"}");
}

static struct mcplug_server_options options_for(struct owned *own)
{
    return (struct mcplug_server_options){.struct_size =
                                              sizeof(struct mcplug_server_options),
                                          .arg = own,
                                          .state = hear_state,
                                          .elicit = hear_question,
                                          .free_arg = on_free};
}

static void on_closed(void *arg)
{
    ck_assert_uint_eq(((struct owned *)arg)->freed, 1); /* before this */
    ((struct owned *)arg)->heard = 1000;
}

START_TEST(the_arg_of_a_server_goes_when_it_is_closed)
{
    struct owned own = {0};
    struct mcplug_server_options o = options_for(&own);
    begin_bare();
    mcplug_server *a = hold(example(NULL), &o), *b = hold(example(NULL), &o);
    ck_assert_uint_eq(status(a).servers, 2);
    mcplug_close(a, on_closed, &own);
    UNTIL(own.heard == 1000);
    ck_assert_uint_eq(own.freed, 1); /* b has it still, and frees it on its own */
    own = (struct owned){0};
    mcplug_call_tool_wait(b, "ask_name", NULL, NULL, NULL, &err);
    ck_assert_uint_eq(own.heard, 1);
    ck_assert_uint_eq(own.freed, 0);
    end(); /* closes it */
    ck_assert_uint_eq(own.freed, 1);
}
END_TEST

START_TEST(the_arg_of_a_server_stays_when_it_is_not_opened)
{
    struct owned own = {0};
    struct mcplug_server_options o = options_for(&own);
    mcplug_server *h = NULL;
    begin(NULL);
    mcplug_settings *s = mcplug_settings_new("stdio");
    mcplug_settings_set(s, "command", "/nonexistent/server");
    ck_assert_int_ne(mcplug_open_wait(host, s, &o, &h, &err), MCPLUG_OK);
    o.json = "{\"none\":1}";
    ck_assert_int_eq(mcplug_open(host, s, &o, NULL, NULL, &h, &err), MCPLUG_ECONFIG);
    ck_assert_int_eq(mcplug_toolbox_add(box, "x", s, &o, &err), MCPLUG_ECONFIG);
    mcplug_settings_free(s);
    end();
    ck_assert_uint_eq(own.freed, 0);
}
END_TEST

/* ---- calls ---- */

static void hear_progress(void *arg, mcplug_call *c, double progress, double total,
                          const char *message)
{
    (void)c, (void)progress, (void)total, (void)message;
    hear(arg);
}

static struct mcplug_call_options call_for(struct owned *own)
{
    *own = (struct owned){0};
    return (struct mcplug_call_options){.struct_size = sizeof(struct mcplug_call_options),
                                        .progress = hear_progress,
                                        .progress_arg = own,
                                        .free_arg = on_free};
}

static struct owned own_call;

static void on_done(void *arg, mcplug_call *c, mcplug_result *r,
                    const struct mcplug_error *why)
{
    (void)c, (void)r, (void)why;
    ck_assert_uint_eq(own_call.freed, 0); /* after this */
    ++*(unsigned *)arg;
}

static void on_list(void *arg, mcplug_call *c, mcplug_list *l,
                    const struct mcplug_error *why)
{
    (void)l;
    on_done(arg, c, NULL, why);
}

START_TEST(the_arg_of_progress_goes_after_done)
{
    unsigned n = 0;
    struct mcplug_call_options o = call_for(&own_call);
    begin_bare();
    mcplug_server *h = hold(example(NULL), NULL);
    ck_assert_ptr_nonnull(
        mcplug_call_tool(h, "sleep", "{\"ms\":600000}", &o, on_done, &n, &err));
    mcplug_call *call = mcplug_call_tool(h, "echo", NULL, &o, NULL, NULL, &err);
    ck_assert_ptr_null(call); /* `done` is missing: it was not made */
    ck_assert_uint_eq(own_call.freed, 0);
    mcplug_close(h, NULL, NULL);
    UNTIL(n == 1);
    ck_assert_uint_eq(own_call.freed, 1);

    h = hold(example(NULL), NULL);
    o = call_for(&own_call);
    ck_assert_ptr_nonnull(mcplug_get_list(h, MCPLUG_TEMPLATES, &o, on_list, &n, &err));
    UNTIL(n == 2);
    ck_assert_uint_eq(own_call.freed, 1);
    o = call_for(&own_call);
    ck_assert_ptr_nonnull(mcplug_subscribe(h, "x:1", &o, NULL, NULL, &err));
    UNTIL(own_call.freed);
    o = call_for(&own_call);
    mcplug_result *r = NULL;
    ck_assert_int_eq(mcplug_call_tool_wait(h, "echo", "{\"text\":\"x\"}", &o, &r, &err),
                     MCPLUG_OK);
    mcplug_result_unref(r);
    end();
    ck_assert_uint_eq(own_call.freed, 0); /* not by those that wait */
}
END_TEST

/* ---- toolboxes ---- */

static void hear_changed(void *arg, mcplug_toolbox *b)
{
    (void)b;
    hear(arg);
}

static void hear_record(void *arg, mcplug_call *c, const struct mcplug_record *r)
{
    (void)r;
    on_done(arg, c, NULL, NULL);
}

START_TEST(the_arg_of_a_toolbox_goes_when_it_is_freed)
{
    struct owned own = {0}, server = {0};
    struct mcplug_toolbox_options o = {.struct_size = sizeof o,
                                       .arg = &own,
                                       .changed = hear_changed,
                                       .free_arg = on_free};
    struct mcplug_server_options so = options_for(&server);
    struct mcplug_call_options co = call_for(&own_call);
    unsigned n = 0;

    begin(&o);
    put_in("box", SCRIPTED("TOOLS", TOOL("t"), "RESULT", "\"content\":[]"), &so);
    warm_up();
    ck_assert_ptr_nonnull(
        mcplug_toolbox_call(box, "mcp__box__t", "{}", &co, hear_record, &n, &err));
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__box__t", "[", &co, hear_record, &n, &err));
    UNTIL(n == 1);
    ck_assert_uint_eq(own_call.freed, 1);
    ck_assert_uint_eq(own.freed, 0);
    ck_assert_uint_eq(server.freed, 0);
    if (_i)
        mcplug_toolbox_free(box, on_closed, &own);
    if (_i)
        UNTIL(own.heard == 1000);
    end();
    ck_assert_uint_eq(own.freed, 1);
    ck_assert_uint_eq(server.freed, 1);
}
END_TEST

/* ---- where it runs ---- */

static void note_thread(void *arg)
{
    *(pthread_t *)arg = pthread_self();
}

START_TEST(it_runs_on_the_loop_thread)
{
    struct owned own = {0};
    struct mcplug_server_options o = options_for(&own);
    pthread_t loop;
    begin_bare();
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    mcplug_server *h = hold(example(NULL), &o);
    ck_assert_int_eq(mcplug_post(host, note_thread, &loop), MCPLUG_OK);
    mcplug_close_wait(h);
    ck_assert_uint_eq(own.freed, 1);
    ck_assert(pthread_equal(own.thread, loop));
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, the_log_of_a_host_is_freed_last);
    tcase_add_loop_test(tc, what_is_posted_runs_in_mcplug_free_at_the_latest, 0, 2);
    tcase_add_test(tc, the_arg_of_a_server_goes_when_it_is_closed);
    tcase_add_test(tc, the_arg_of_a_server_stays_when_it_is_not_opened);
    tcase_add_test(tc, the_arg_of_progress_goes_after_done);
    tcase_add_loop_test(tc, the_arg_of_a_toolbox_goes_when_it_is_freed, 0, 2);
    tcase_add_test(tc, it_runs_on_the_loop_thread);
}

int main(void)
{
    return run_suite("api_free_arg", add);
}
