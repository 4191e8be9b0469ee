/* The embedding API against the example server, through the real stdio module. */
#include "api/host.h"
#include "fake.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static mcplug *host;

static mcplug_settings *example(const char *arg)
{
    const char *build = getenv("MCPLUG_BUILD");
    char path[4096];
    mcplug_settings *s = mcplug_settings_new("stdio");
    ck_assert_ptr_nonnull(build);
    snprintf(path, sizeof path, "%s/examples/mcplug-example-server", build);
    mcplug_settings_set(s, "command", path);
    if (arg) {
        mcplug_settings_add(s, "args", "--era");
        mcplug_settings_add(s, "args", arg);
    }
    return s;
}

static mcplug_server *open_example(const char *era)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server = NULL;
    mcplug_settings *s = example(era);
    ck_assert_msg(mcplug_open_wait(host, s, NULL, &server, &err) == MCPLUG_OK, "%s",
                  err.text);
    mcplug_settings_free(s);
    return server;
}

static void begin(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    host = mcplug_new(NULL, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

static void echo_once(mcplug_server *server, const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    char args[128];
    snprintf(args, sizeof args, "{\"text\":\"%s\"}", text);
    int r = mcplug_call_tool_wait(server, "echo", args, NULL, &result, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), text));
    mcplug_result_unref(result);
}

START_TEST(the_blocking_forms_run_the_loop_themselves)
{
    begin();
    mcplug_server *modern = open_example("modern"), *legacy = open_example("legacy");
    ck_assert_str_eq(mcplug_server_revision(modern), "2026-07-28");
    ck_assert_str_eq(mcplug_server_revision(legacy), "2025-11-25");
    ck_assert_ptr_nonnull(mcplug_server_fact(modern, "pid"));
    echo_once(modern, "one");
    echo_once(legacy, "two");
    mcplug_list *tools = NULL;
    ck_assert_int_eq(mcplug_get_list_wait(modern, MCPLUG_TOOLS, NULL, &tools, NULL),
                     MCPLUG_OK);
    ck_assert_int_ge(mcplug_list_find(tools, "echo"), 0);
    mcplug_close_wait(modern);
    ck_assert_str_eq(mcplug_list_name(tools, 0), "echo"); /* outlives its server */
    mcplug_list_unref(tools);
    mcplug_free(host); /* closes the other one */
}
END_TEST

static void *hammer(void *arg)
{
    for (int i = 0; i < 200; i++)
        echo_once(arg, "thread");
    return NULL;
}

START_TEST(with_a_thread_of_ours_any_thread_may_wait)
{
    pthread_t threads[4];
    begin();
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_EINVAL);
    mcplug_server *server = open_example(NULL);
    for (size_t i = 0; i < MP_COUNT(threads); i++)
        pthread_create(&threads[i], NULL, hammer, server);
    for (size_t i = 0; i < MP_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    mcplug_close_wait(server);
    mcplug_free(host);
}
END_TEST

START_TEST(a_stop_that_found_nobody_does_not_end_our_thread)
{
    begin();
    mcplug_stop(host);
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    mcplug_stop(host);
    mcplug_server *server = open_example(NULL);
    echo_once(server, "still there");
    mcplug_free(host);
}
END_TEST

START_TEST(a_stop_that_was_on_its_way_does_not_end_our_thread)
{
    begin();
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    mp_loop_stop(host->loop); /* as one that did not see the thread yet */
    mcplug_server *server = open_example(NULL);
    echo_once(server, "still there");
    mcplug_free(host);
}
END_TEST

static void *stop_often(void *arg)
{
    for (int i = 0; i < 2000; i++)
        mcplug_stop(arg);
    return NULL;
}

START_TEST(a_thread_of_ours_starts_and_ends_while_others_stop)
{
    pthread_t other;
    begin();
    ck_assert_ptr_nonnull(mcplug_toolbox_new(host, NULL, NULL)); /* goes with the host */
    ck_assert_int_eq(pthread_create(&other, NULL, stop_often, host), 0);
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    mcplug_server *server = open_example(NULL);
    echo_once(server, "still there");
    pthread_join(other, NULL);
    mcplug_free(host);
}
END_TEST

static struct outcome last;
static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    (void)arg;
    ck_assert_ptr_null(why);
    ck_assert_ptr_nonnull(mcplug_call_tool(server, "echo", "{\"text\":\"x\"}", NULL,
                                           on_outcome, &last, NULL));
}

START_TEST(a_foreign_loop_polls_the_descriptor)
{
    mcplug_server *server = NULL;
    begin();
    mcplug_settings *s = example(NULL);
    memset(&last, 0, sizeof last);
    ck_assert_int_eq(mcplug_open(host, s, NULL, on_ready, NULL, &server, NULL),
                     MCPLUG_OK);
    mcplug_settings_free(s);
    for (int i = 0; i < 1000 && !last.times; i++) {
        struct pollfd p = {mcplug_fd(host), POLLIN, 0};
        poll(&p, 1, mcplug_timeout(host));
        mcplug_turn(host, 0);
    }
    ck_assert_uint_eq(last.times, 1);
    ck_assert_int_eq(last.code, 0);
    mcplug_free(host);
}
END_TEST

START_TEST(settings_that_no_transport_takes_are_refused_with_their_name)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server;
    begin();
    mcplug_settings *s = mcplug_settings_new("stdio");
    ck_assert_int_eq(mcplug_open_wait(host, s, NULL, &server, &err), MCPLUG_ECONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "command"));
    mcplug_settings_set(s, "command", "true");
    mcplug_settings_set(s, "comand", "true");
    ck_assert_int_eq(mcplug_open_wait(host, s, NULL, &server, &err), MCPLUG_ECONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "comand"));
    mcplug_settings_free(s);
    s = mcplug_settings_new("carrier-pigeon");
    ck_assert_int_eq(mcplug_open_wait(host, s, NULL, &server, &err), MCPLUG_ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, "carrier-pigeon"));
    mcplug_settings_free(s);
    s = mcplug_settings_new(NULL);
    ck_assert_int_eq(mcplug_open_wait(host, s, NULL, &server, &err), MCPLUG_ECONFIG);
    mcplug_settings_set(s, "url", "no scheme");
    ck_assert_int_eq(mcplug_open_wait(host, s, NULL, &server, &err), MCPLUG_ECONFIG);
    mcplug_settings_free(s);
    mcplug_free(host);
}
END_TEST

START_TEST(the_era_of_a_server_is_remembered)
{
    begin();
    mcplug_server *server = open_example("legacy");
    mcplug_close_wait(server);
    server = open_example("legacy");
    struct mcplug_status status = {.struct_size = sizeof status};
    mcplug_server_status(server, &status);
    /* initialize, three lists, and no server/discover before them */
    ck_assert_uint_eq(status.wire->issued, 4);
    mcplug_free(host);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, the_blocking_forms_run_the_loop_themselves);
    tcase_add_test(tc, with_a_thread_of_ours_any_thread_may_wait);
    tcase_add_test(tc, a_stop_that_found_nobody_does_not_end_our_thread);
    tcase_add_test(tc, a_stop_that_was_on_its_way_does_not_end_our_thread);
    tcase_add_test(tc, a_thread_of_ours_starts_and_ends_while_others_stop);
    tcase_add_test(tc, a_foreign_loop_polls_the_descriptor);
    tcase_add_test(tc, settings_that_no_transport_takes_are_refused_with_their_name);
    tcase_add_test(tc, the_era_of_a_server_is_remembered);
}

int main(void)
{
    return run_suite("api_host", add);
}
