/* Functions of the loop's thread that are called on another one. */
#include "server_kit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static mcplug_server *server;
static mcplug_call *call;
static mcplug_input *question;

static void on_done(void *arg, mcplug_call *c, mcplug_result *r,
                    const struct mcplug_error *why)
{
    (void)c, (void)r;
    if (arg)
        *(int *)arg = why ? why->code : MCPLUG_OK;
}

static void on_list(void *arg, mcplug_call *c, mcplug_list *l,
                    const struct mcplug_error *why)
{
    (void)arg, (void)c, (void)l, (void)why;
}

static void on_question(void *arg, mcplug_server *s, mcplug_input *input,
                        const char *params, size_t len)
{
    (void)arg, (void)s, (void)params, (void)len;
    question = input;
}

/* A call that hangs, and another one whose question has no answer yet. */
static void begin_busy(int *hangs)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .elicit = on_question};

    begin(NULL);
    put_in("box", SCRIPTED("TOOLS", TOOL("t"), "RESULT", "\"content\":[]"), NULL);
    warm_up();
    server = hold(example(NULL), &o);
    call =
        mcplug_call_tool(server, "sleep", "{\"ms\":600000}", NULL, on_done, hangs, &err);
    ck_assert_ptr_nonnull(call);
    ck_assert_ptr_nonnull(
        mcplug_call_tool(server, "ask_name", NULL, NULL, on_done, NULL, &err));
    UNTIL(question);
    logged[0] = '\0';
}

/* ---- what is refused ---- */

#define TEXT "called on another thread than the loop's; use mcplug_post()"

static void refused_by_error(const char *function)
{
    char text[200];
    snprintf(text, sizeof text, "%s: " TEXT, function);
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, text);
    ck_assert_msg(!*logged, "%s", logged);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
}

static void refused_in_log(const char *function)
{
    char text[200];
    snprintf(text, sizeof text, "ERR core %s: " TEXT "\n", function);
    ck_assert_str_eq(logged, text);
    logged[0] = '\0';
}

#define NO_INT(function, ...)                                                            \
    ck_assert_int_eq(function(__VA_ARGS__, &err), MCPLUG_EINVAL);                        \
    refused_by_error(#function)
#define NO_POINTER(function, ...)                                                        \
    ck_assert_ptr_null(function(__VA_ARGS__, &err));                                     \
    refused_by_error(#function)
#define NOTHING(value, function, ...)                                                    \
    ck_assert_int_eq((intptr_t)function(__VA_ARGS__), value);                            \
    refused_in_log(#function)
#define NOT_DONE(function, ...)                                                          \
    function(__VA_ARGS__);                                                               \
    refused_in_log(#function)

static void all_of_the_host(void)
{
    mcplug_settings *s = example(NULL);
    mcplug_server *h = NULL;

    NO_INT(mcplug_open, host, s, NULL, NULL, NULL, &h);
    NO_INT(mcplug_open_named, host, NULL, "x", NULL, NULL, NULL, &h);
    NO_POINTER(mcplug_toolbox_new, host, NULL);
    NOTHING(MCPLUG_EINVAL, mcplug_set_queue, host, "q", 1, 1);
    NOTHING(-1, mcplug_timeout, host);
    NOT_DONE(mcplug_turn, host, 1);
    NOT_DONE(mcplug_run, host);
    mcplug_settings_free(s);
}

static void all_of_the_server(void)
{
    struct mcplug_ledger ledger = {.struct_size = sizeof ledger};
    struct mcplug_status state = {.struct_size = sizeof state};

    NO_POINTER(mcplug_call_tool, server, "echo", "{}", NULL, on_done, NULL);
    NO_POINTER(mcplug_request, server, "ping", NULL, NULL, on_done, NULL);
    NO_POINTER(mcplug_ping, server, NULL, on_done, NULL);
    NO_POINTER(mcplug_get_list, server, MCPLUG_TOOLS, NULL, on_list, NULL);
    NO_POINTER(mcplug_subscribe, server, "x:1", NULL, on_done, NULL);
    NO_POINTER(mcplug_unsubscribe, server, "x:1", NULL, on_done, NULL);
    NO_INT(mcplug_restart, server);
    NOTHING(0, mcplug_server_revision, server);
    NOTHING(0, mcplug_server_info, server);
    NOTHING(0, mcplug_server_capabilities, server);
    NOTHING(0, mcplug_server_instructions, server);
    NOTHING(0, mcplug_server_fact, server, "pid");
    NOTHING(0, mcplug_server_list, server, MCPLUG_TOOLS);
    NOT_DONE(mcplug_server_ledger, server, &ledger);
    ck_assert_uint_eq(ledger.issued, 0);
    NOT_DONE(mcplug_server_status, server, &state);
    ck_assert_ptr_null(state.name);
    NOT_DONE(mcplug_close, server, NULL, NULL);
    NOT_DONE(mcplug_cancel, call);
    NOTHING(0, mcplug_input_server, question);
    NOTHING(0, mcplug_input_call, question);
    NOTHING(MCPLUG_EINVAL, mcplug_input_answer, question, "{}");
    NOT_DONE(mcplug_input_refuse, question, -1, "no");
}

static void all_of_the_toolbox(void)
{
    mcplug_settings *s = example(NULL);
    struct seen seen;

    NO_INT(mcplug_toolbox_add, box, "x", s, NULL);
    NO_INT(mcplug_toolbox_add_named, box, NULL, "x", NULL);
    NO_INT(mcplug_toolbox_remove, box, "box", NULL, NULL);
    NO_INT(mcplug_toolbox_warm_up, box, NULL, NULL);
    NO_POINTER(mcplug_toolbox_call, box, "mcp__box__t", "{}", NULL, on_record, &seen);
    NOTHING(0, mcplug_toolbox_server, box, "box");
    NOTHING(0, mcplug_toolbox_count, box);
    NOTHING(0, mcplug_toolbox_name, box, 0);
    NOTHING(0, mcplug_toolbox_tool, box, 0, NULL);
    NOTHING(0, mcplug_toolbox_json, box, MCPLUG_FORMAT_MCP, NULL);
    NOTHING(0, mcplug_toolbox_find, box, "mcp__box__t", NULL, NULL);
    NOTHING(0, mcplug_toolbox_instructions, box);
    NOT_DONE(mcplug_toolbox_free, box, NULL, NULL);
    mcplug_settings_free(s);
}

/* ---- what is not ---- */

static void answer_and_cancel(void *arg)
{
    ck_assert_int_eq(mcplug_input_answer(question, "{\"action\":\"decline\"}"),
                     MCPLUG_OK);
    mcplug_cancel(call);
    (void)arg;
}

/* All that was refused above is as it was before. */
static void waits_and_posts(const int *hangs)
{
    mcplug_result *result = NULL;
    const struct mcplug_record *record = NULL;

    ck_assert_str_eq(mcplug_server_name(server), mcplug_server_name(server));
    ck_assert_int_eq(
        mcplug_call_tool_wait(server, "echo", "{\"text\":\"x\"}", NULL, &result, &err),
        MCPLUG_OK);
    mcplug_result_unref(result);
    ck_assert_int_eq(
        mcplug_toolbox_call_wait(box, "mcp__box__t", "{}", NULL, &record, &err),
        MCPLUG_OK);
    ck_assert_ptr_null(record->why);
    mcplug_record_unref(record);
    ck_assert_int_eq(*hangs, 1);
    ck_assert_int_eq(mcplug_post(host, answer_and_cancel, NULL), MCPLUG_OK);
    ck_assert_int_eq(mcplug_ping_wait(server, NULL, &err), MCPLUG_OK);
    mcplug_toolbox_free_wait(box);
    mcplug_close_wait(server);
    ck_assert_int_eq(*hangs, MCPLUG_ECANCELED);
    ck_assert_msg(!strstr(logged, TEXT), "%s", logged);
}

START_TEST(functions_of_the_loop_refuse_to_run_beside_our_thread)
{
    int hangs = 1;
    begin_busy(&hangs);
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    all_of_the_host();
    all_of_the_server();
    all_of_the_toolbox();
    ck_assert_int_eq(mcplug_fd(host), -1);
    waits_and_posts(&hangs);
    end();
}
END_TEST

static void *run(void *arg)
{
    mcplug_run(host);
    return arg;
}

static void on_running(void *arg)
{
    *(atomic_bool *)arg = true;
}

START_TEST(functions_of_the_loop_refuse_to_run_beside_mcplug_run)
{
    atomic_bool runs = false;
    pthread_t thread;
    int hangs = 1;

    begin_busy(&hangs);
    ck_assert_int_eq(mcplug_post(host, on_running, &runs), MCPLUG_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, run, NULL), 0);
    while (!runs) /* until then the loop is nobody's */
        sched_yield();
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_EINVAL);
    refused_by_error("mcplug_start_thread");
    all_of_the_host();
    all_of_the_server();
    all_of_the_toolbox();
    NOTHING(-1, mcplug_fd, host);
    NOT_DONE(mcplug_free, host);
    waits_and_posts(&hangs);
    mcplug_stop(host);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_ge(mcplug_fd(host), 0); /* it belongs to us again */
    end();
}
END_TEST

static void start_inside(void *arg)
{
    *(int *)arg = mcplug_start_thread(host, &err);
    mcplug_stop(host);
}

START_TEST(a_thread_is_not_started_inside_mcplug_run)
{
    int r = 0;
    begin_bare();
    ck_assert_int_eq(mcplug_post(host, start_inside, &r), MCPLUG_OK);
    mcplug_run(host);
    ck_assert_int_eq(r, MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, functions_of_the_loop_refuse_to_run_beside_our_thread);
    tcase_add_test(tc, functions_of_the_loop_refuse_to_run_beside_mcplug_run);
    tcase_add_test(tc, a_thread_is_not_started_inside_mcplug_run);
}

int main(void)
{
    return run_suite("api_threads", add);
}
