/* The embedding API where programs are odd: away for long, in a callback, in a hurry to
 * free. Most of it against the example server, through the real stdio module. */
#include "fake.h"
#include "now.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static mcplug *host;
static struct outcome o;
static struct fake f;

static mcplug_settings *example(void)
{
    const char *build = getenv("MCPLUG_BUILD");
    char path[4096];
    mcplug_settings *s = mcplug_settings_new("stdio");
    ck_assert_ptr_nonnull(build);
    snprintf(path, sizeof path, "%s/examples/mcplug-example-server", build);
    mcplug_settings_set(s, "command", path);
    return s;
}

static void begin(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    memset(&o, 0, sizeof o);
    host = mcplug_new(NULL, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

static mcplug_server *open_example(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server = NULL;
    mcplug_settings *s = example();
    ck_assert_msg(mcplug_open_wait(host, s, NULL, &server, &err) == MCPLUG_OK, "%s",
                  err.text);
    mcplug_settings_free(s);
    return server;
}

static void echo(mcplug_server *server, const char *args)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    int r = mcplug_call_tool_wait(server, "echo", args, NULL, &result, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), "hello"));
    mcplug_result_unref(result);
}

/* ---- time ---- */

START_TEST(a_program_that_was_elsewhere_for_long_gets_its_whole_timeout)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 50};
    begin();
    mcplug_server *server = open_example();
    usleep(60000);
    double began = now_ms();
    ck_assert_int_eq(
        mcplug_call_tool_wait(server, "sleep", "{\"ms\":60000}", &co, NULL, NULL),
        MCPLUG_ETIMEDOUT);
    ck_assert_uint_ge(now_ms() - began, 49);
    usleep(60000);
    began = now_ms();
    ck_assert_ptr_nonnull(
        mcplug_call_tool(server, "sleep", "{\"ms\":60000}", &co, on_outcome, &o, NULL));
    while (!o.times)
        mcplug_turn(host, 0);
    ck_assert_uint_ge(now_ms() - began, 49);
    mcplug_free(host);
}
END_TEST

START_TEST(a_limit_in_the_environment_counts_when_it_is_a_number)
{
    static const char *const odd[] = {"-1", "", "0", "soon", "10x", " 10"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    for (size_t i = 0; i < MP_COUNT(odd); i++) {
        setenv("MCP_TOOL_TIMEOUT", odd[i], 1);
        setenv("MCP_TIMEOUT", odd[i], 1);
        begin();
        echo(open_example(), "{\"text\":\"hello\"}");
        mcplug_free(host);
    }
    unsetenv("MCP_TIMEOUT");
    setenv("MCP_TOOL_TIMEOUT", "50", 1);
    begin();
    mcplug_server *server = open_example();
    ck_assert_int_eq(
        mcplug_call_tool_wait(server, "sleep", "{\"ms\":60000}", NULL, NULL, &err),
        MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(err.text, "MCP tool call 'sleep' timed out after 50ms");
    mcplug_free(host);
    unsetenv("MCP_TOOL_TIMEOUT");
}
END_TEST

START_TEST(the_longest_of_all_timeouts_is_one)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = UINT64_MAX};
    begin();
    mcplug_server *server = open_example();
    mcplug_result *result = NULL;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(
            mcplug_call_tool_wait(server, "sleep", "{\"ms\":1}", &co, &result, NULL),
            MCPLUG_OK);
        mcplug_result_unref(result);
    }
    mcplug_free(host);
}
END_TEST

START_TEST(pretty_printed_arguments_reach_the_server)
{
    begin();
    echo(open_example(), "\n{\n  \"text\":\n  \"hello\"\r\n}\n");
    mcplug_free(host);
}
END_TEST

/* ---- callbacks ---- */

static unsigned refusals;
static void refused(int result, const struct mcplug_error *err)
{
    ck_assert_int_eq(result, MCPLUG_EINVAL);
    ck_assert_int_eq(err->code, MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(strstr(err->text, "callback"));
    refusals++;
}

static void wait_here(void *arg)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server = arg, *other = NULL;
    mcplug_settings *s = example();
    mcplug_result *result = NULL;
    mcplug_list *list = NULL;
    refused(mcplug_call_tool_wait(server, "echo", "{}", NULL, &result, &err), &err);
    refused(mcplug_request_wait(server, "ping", NULL, NULL, &result, &err), &err);
    refused(mcplug_get_list_wait(server, MCPLUG_TOOLS, NULL, &list, &err), &err);
    refused(mcplug_open_wait(host, s, NULL, &other, &err), &err);
    mcplug_settings_free(s);
}

static void close_here(void *arg)
{
    mcplug_close_wait(arg);
}

static void done_waits(void *arg, mcplug_call *call, mcplug_result *result,
                       const struct mcplug_error *why)
{
    (void)call, (void)result, (void)why;
    wait_here(arg);
    mcplug_stop(host);
}

START_TEST(waiting_inside_a_callback_is_refused)
{
    begin();
    mcplug_server *server = open_example();
    mcplug_call_tool(server, "echo", "{\"text\":\"x\"}", NULL, done_waits, server, NULL);
    mcplug_run(host);
    ck_assert_uint_eq(refusals, 4);
    mcplug_post(host, wait_here, server);
    mcplug_turn(host, 1);
    ck_assert_uint_eq(refusals, 8);
    echo(server, "{\"text\":\"hello\"}"); /* none the worse for it */
    mcplug_close_wait(server);
    mcplug_free(host);
}
END_TEST

START_TEST(close_wait_inside_a_callback_only_begins)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    begin();
    mcplug_server *server = open_example();
    ck_assert_ptr_nonnull(
        mcplug_call_tool(server, "sleep", "{\"ms\":60000}", NULL, on_outcome, &o, &err));
    mcplug_post(host, close_here, server);
    double began = now_ms();
    while (!o.times && now_ms() - began < 10000)
        mcplug_turn(host, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    mcplug_free(host);
}
END_TEST

START_TEST(waiting_on_the_thread_of_the_loop_is_refused)
{
    begin();
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    mcplug_server *server = open_example();
    mcplug_post(host, wait_here, server);
    echo(server, "{\"text\":\"hello\"}"); /* behind it in the queue */
    ck_assert_uint_eq(refusals, 4);
    mcplug_free(host);
}
END_TEST

START_TEST(a_thread_of_ours_outlives_a_stop)
{
    begin();
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    mcplug_server *server = open_example();
    mcplug_stop(host);
    echo(server, "{\"text\":\"hello\"}");
    mcplug_stop(host);
    echo(server, "{\"text\":\"hello\"}");
    mcplug_close_wait(server);
    mcplug_free(host);
}
END_TEST

/* ---- ends ---- */

static unsigned n_posted;
static void on_posted(void *arg)
{
    (void)arg;
    n_posted++;
}

START_TEST(what_was_posted_runs_before_the_host_is_gone)
{
    begin();
    for (int i = 0; i < 3; i++)
        mcplug_post(host, on_posted, NULL);
    mcplug_free(host);
    ck_assert_uint_eq(n_posted, 3);
    begin();
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    for (int i = 0; i < 3; i++)
        mcplug_post(host, on_posted, NULL);
    mcplug_free(host);
    ck_assert_uint_eq(n_posted, 6);
}
END_TEST

static char order[32];
static int ready_code;
static void note(char what)
{
    size_t n = strlen(order);
    ck_assert_uint_lt(n + 1, sizeof order);
    order[n] = what;
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    (void)arg, (void)server;
    note('r');
    ready_code = why ? why->code : MCPLUG_OK;
}

static void on_closed(void *arg)
{
    (void)arg;
    note('c');
}

static mcplug_server *start_example(void)
{
    mcplug_server *server = NULL;
    mcplug_settings *s = example();
    int r = mcplug_open(host, s, NULL, on_ready, NULL, &server, NULL);
    mcplug_settings_free(s);
    ck_assert_int_eq(r, MCPLUG_OK);
    memset(order, 0, sizeof order);
    return server;
}

START_TEST(who_closes_or_frees_while_connecting_is_told_once)
{
    begin();
    mcplug_close(start_example(), on_closed, NULL);
    ck_assert_str_eq(order, "");
    while (!strchr(order, 'c'))
        mcplug_turn(host, 1);
    ck_assert_str_eq(order, "rc");
    ck_assert_int_eq(ready_code, MCPLUG_ECANCELED);
    start_example();
    ready_code = 0;
    mcplug_free(host);
    ck_assert_str_eq(order, "r");
    ck_assert_int_eq(ready_code, MCPLUG_ECANCELED);
}
END_TEST

START_TEST(a_second_close_is_harmless)
{
    begin();
    mcplug_server *server = open_example();
    memset(order, 0, sizeof order);
    ck_assert_ptr_nonnull(
        mcplug_call_tool(server, "sleep", "{\"ms\":60000}", NULL, on_outcome, &o, NULL));
    mcplug_close(server, on_closed, NULL);
    mcplug_close(server, NULL, NULL);
    while (!strchr(order, 'c'))
        mcplug_turn(host, 1);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    mcplug_close(open_example(), on_closed, NULL);
    mcplug_free(host); /* which closes it too */
    ck_assert_str_eq(order, "cc");
}
END_TEST

static void done_opens(void *arg, mcplug_call *call, mcplug_result *result,
                       const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server = NULL;
    mcplug_settings *s = example();
    on_outcome(arg, call, result, why);
    ck_assert_int_eq(mcplug_open(host, s, NULL, on_ready, NULL, &server, &err),
                     MCPLUG_ECLOSED);
    ck_assert_int_eq(err.code, MCPLUG_ECLOSED);
    mcplug_settings_free(s);
}

START_TEST(a_host_that_is_being_freed_opens_no_server)
{
    begin();
    ck_assert_ptr_nonnull(mcplug_call_tool(open_example(), "sleep", "{\"ms\":60000}",
                                           NULL, done_opens, &o, NULL));
    memset(order, 0, sizeof order);
    mcplug_free(host);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    ck_assert_str_eq(order, "");
}
END_TEST

/* ---- results ---- */

struct spilled {
    unsigned times;
    size_t spills, json_len, offset, cut;
    uint64_t size;
    char json[64];
};

static void on_spilled(void *arg, mcplug_call *c, mcplug_result *result,
                       const struct mcplug_error *why)
{
    struct spilled *s = arg;
    struct mcplug_spill one = {.struct_size = sizeof one};
    (void)c;
    ck_assert_msg(result != NULL, "%s", why ? why->text : "nothing");
    s->times++;
    snprintf(s->json, sizeof s->json, "%s", mcplug_result_json(result, &s->json_len));
    s->spills = mcplug_result_spills(result);
    if (mcplug_result_spill(result, 0, &one) == MCPLUG_OK) {
        s->offset = one.json_offset;
        s->cut = one.json_len;
        s->size = one.size;
    }
}

/* A reply with a string of that size, inside of the result or beside it. */
static struct spilled reply_long(uint64_t memory, size_t size, bool inside)
{
    struct mp_session_options so = {.max_memory = memory};
    struct spilled s = {0};
    char *text = malloc(size + 1);
    memset(text, 'x', size);
    text[size] = '\0';
    fake_init(&f);
    fake_modern(&f, &so, "{\"tools\":{}}");
    fake_call(f.server, "t", NULL, NULL, on_spilled, &s, NULL);
    unsigned long long id = ll(fake_expect(&f, "tools/call"));
    if (inside)
        fake_sayf(&f,
                  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"content\":[\"%s\"]}}",
                  id, text);
    else
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"x\":\"%s\",\"id\":%llu,\"result\":{}}",
                  text, id);
    free(text);
    fake_clear(&f);
    ck_assert_uint_eq(s.times, 1);
    return s;
}

/* Told by what is logged of them: in memory they do not fit. */
START_TEST(what_no_call_waits_for_does_not_spill)
{
    static const char *const heads[] = {
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"a\":",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\",\"params\":{\"a\":",
        "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{\"a\":",
    };
    enum { MEMORY = 100000 };
    struct mp_session_options so = {.max_memory = MEMORY};
    struct spilled s = {0};
    char text[3 * MEMORY + 1];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fake_init(&f);
    fake_modern(&f, &so, "{\"tools\":{}}");
    fake_call(f.server, "t", NULL, NULL, on_spilled, &s, NULL);
    unsigned long long id = ll(fake_expect(&f, "tools/call"));
    for (size_t i = 0; i < MP_COUNT(heads); i++) {
        f.logged[0] = '\0';
        fake_sayf(&f, "%s\"%s\"}}", heads[i], text);
        ck_assert_msg(strstr(f.logged, "exceeds 100000 bytes of memory"), "%s", f.logged);
        ck_assert_uint_eq(s.times, 0);
    }
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"a\":\"%s\"}}", id,
              text);
    ck_assert_uint_eq(s.times, 1);
    ck_assert_uint_eq(s.spills, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_long_string_beside_the_result_is_no_spill_of_it)
{
    static const size_t memory[] = {16384, 1 << 20};
    for (size_t i = 0; i < MP_COUNT(memory); i++) {
        struct spilled s = reply_long(memory[i], 3 * memory[i], false);
        ck_assert_uint_eq(s.spills, 0);
        ck_assert_str_eq(s.json, "{}");
        ck_assert_uint_eq(s.json_len, 2);
    }
}
END_TEST

START_TEST(long_strings_spill_also_where_memory_is_short)
{
    static const size_t memory[] = {16384, 32768, 100000, 1 << 20};
    for (size_t i = 0; i < MP_COUNT(memory); i++) {
        struct spilled s = reply_long(memory[i], 3 * memory[i], true);
        ck_assert_uint_eq(s.spills, 1);
        ck_assert_uint_eq(s.size, 3 * memory[i]);
        ck_assert_uint_eq(s.offset, strlen("{\"content\":["));
        ck_assert_uint_eq(s.offset + s.cut + 2, s.json_len);
    }
}
END_TEST

static mcplug_result *kept;
static void keep(void *arg, mcplug_call *c, mcplug_result *result,
                 const struct mcplug_error *why)
{
    (void)arg, (void)c, (void)why;
    kept = mcplug_result_ref(result);
}

static void *read_error_text(void *arg)
{
    return (void *)mcplug_result_error_text(arg);
}

START_TEST(every_thread_reads_the_same_error_text)
{
    pthread_t threads[8];
    void *text;
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    fake_call(f.server, "t", NULL, NULL, keep, NULL, NULL);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"isError\":true,"
              "\"content\":[{\"text\":\"boo\"}]}}",
              ll(fake_expect(&f, "tools/call")));
    for (size_t i = 0; i < MP_COUNT(threads); i++)
        pthread_create(&threads[i], NULL, read_error_text, kept);
    for (size_t i = 0; i < MP_COUNT(threads); i++) {
        pthread_join(threads[i], &text);
        ck_assert_ptr_eq(text, mcplug_result_error_text(kept));
        ck_assert_str_eq(text, "boo");
    }
    mcplug_result_unref(kept);
    fake_clear(&f);
}
END_TEST

START_TEST(no_list_is_an_empty_list)
{
    size_t len = 7;
    ck_assert_uint_eq(mcplug_list_count(NULL), 0);
    ck_assert_ptr_null(mcplug_list_item(NULL, 0, &len));
    ck_assert_uint_eq(len, 7);
    ck_assert_ptr_null(mcplug_list_name(NULL, 0));
    ck_assert_int_eq(mcplug_list_find(NULL, "echo"), -1);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_program_that_was_elsewhere_for_long_gets_its_whole_timeout);
    tcase_add_test(tc, a_limit_in_the_environment_counts_when_it_is_a_number);
    tcase_add_test(tc, the_longest_of_all_timeouts_is_one);
    tcase_add_test(tc, pretty_printed_arguments_reach_the_server);
    tcase_add_test(tc, waiting_inside_a_callback_is_refused);
    tcase_add_test(tc, waiting_on_the_thread_of_the_loop_is_refused);
    tcase_add_test(tc, close_wait_inside_a_callback_only_begins);
    tcase_add_test(tc, a_thread_of_ours_outlives_a_stop);
    tcase_add_test(tc, what_was_posted_runs_before_the_host_is_gone);
    tcase_add_test(tc, who_closes_or_frees_while_connecting_is_told_once);
    tcase_add_test(tc, a_second_close_is_harmless);
    tcase_add_test(tc, a_host_that_is_being_freed_opens_no_server);
    tcase_add_test(tc, what_no_call_waits_for_does_not_spill);
    tcase_add_test(tc, a_long_string_beside_the_result_is_no_spill_of_it);
    tcase_add_test(tc, long_strings_spill_also_where_memory_is_short);
    tcase_add_test(tc, every_thread_reads_the_same_error_text);
    tcase_add_test(tc, no_list_is_an_empty_list);
}

int main(void)
{
    return run_suite("api_edges", add);
}
