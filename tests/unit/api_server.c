/* Servers that stay up, through the embedding API: who shares what with whom,
 * the blocking forms, and what of it the configuration says. */
#include "config_kit.h"

#include "registry/registry.h"
#include "server_kit.h"
#include "session/session_private.h"

#include <pthread.h>

static mcplug_config *conf;

static void echo(mcplug_server *h, const char *text)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    char args[64];

    snprintf(args, sizeof args, "{\"text\":\"%s\"}", text);
    int r = mcplug_call_tool_wait(h, "echo", args, NULL, &result, &why);
    ck_assert_msg(r == MCPLUG_OK, "%s", why.text);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), text));
    mcplug_result_unref(result);
}

/* ---- the blocking forms ---- */

START_TEST(the_blocking_forms_run_the_loop_themselves)
{
    mcplug_result *result = NULL;
    begin_bare();
    mcplug_server *h = hold(example("modern"), NULL);
    struct mcplug_status s = status(h);
    ck_assert_int_eq(s.state, MCPLUG_STATE_READY);
    ck_assert_str_eq(mcplug_state_name(s.state), "ready");
    ck_assert_str_eq(s.name, "mcplug-example-server");
    ck_assert_str_eq(mcplug_server_name(h), s.name);
    ck_assert_str_eq(s.transport, "stdio");
    ck_assert_str_eq(s.revision, "2026-07-28");
    ck_assert_uint_eq(s.servers, 1);
    ck_assert_uint_eq(s.tools, 14);
    ck_assert_uint_eq(s.starts, 1);
    ck_assert_uint_eq(s.restarts, 0);
    ck_assert(lives(s.pid));
    ck_assert_str_eq(mcplug_server_revision(h), s.revision);
    ck_assert_int_eq(strtoll(mcplug_server_fact(h, "pid"), NULL, 10), s.pid);
    ck_assert_ptr_null(mcplug_server_list(h, MCPLUG_TEMPLATES));
    ck_assert_ptr_nonnull(mcplug_server_list(h, MCPLUG_PROMPTS));
    echo(h, "one");
    ck_assert_int_eq(mcplug_call_tool_wait(h, "nothing", NULL, NULL, &result, &err),
                     MCPLUG_EPEER);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), "Unknown tool"));
    mcplug_result_unref(result);
    ck_assert_int_eq(mcplug_call_tool_wait(h, "echo", "[", NULL, &result, NULL),
                     MCPLUG_EINVAL);
    s = status(h);
    ck_assert_uint_eq(s.calls->issued, 2);
    ck_assert_uint_eq(s.calls->ok, 1);
    ck_assert_uint_eq(s.calls->peer_error, 1);
    mcplug_close_wait(h);
    ck_assert(!lives(s.pid));
    end();
}
END_TEST

static void *live_with_it(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5; i++) {
        mcplug_server *h = NULL;
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        mcplug_settings *s = example(NULL);
        int r = mcplug_open_wait(host, s, NULL, &h, &why);
        ck_assert_msg(r == MCPLUG_OK, "%s", why.text);
        mcplug_settings_free(s);
        for (int k = 0; k < 10; k++)
            echo(h, "thread");
        mcplug_close_wait(h);
    }
    return NULL;
}

START_TEST(with_a_thread_of_ours_any_thread_may_wait)
{
    pthread_t threads[4];
    begin_bare();
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    for (size_t i = 0; i < MP_COUNT(threads); i++)
        pthread_create(&threads[i], NULL, live_with_it, NULL);
    for (size_t i = 0; i < MP_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    mcplug_server *h = hold(example(NULL), NULL);
    echo(h, "last");
    end(); /* with the server held */
}
END_TEST

START_TEST(after_a_failure_there_is_no_server)
{
    mcplug_server *h = (mcplug_server *)8;
    begin_bare();
    mcplug_settings *s = mcplug_settings_new("carrier-pigeon");
    ck_assert_int_ne(mcplug_open_wait(host, s, NULL, &h, &err), MCPLUG_OK);
    ck_assert_ptr_nonnull(strstr(err.text, "carrier-pigeon"));
    mcplug_settings_free(s);
    s = mcplug_settings_new("stdio");
    ck_assert_int_ne(mcplug_open_wait(host, s, NULL, &h, NULL), MCPLUG_OK);
    mcplug_settings_free(s);
    ck_assert_ptr_eq(h, (mcplug_server *)8); /* not written */
    end();
}
END_TEST

static void wait_inside(void *arg, mcplug_call *call, mcplug_result *result,
                        const struct mcplug_error *why)
{
    mcplug_server *h = *(mcplug_server **)arg, *other = NULL;
    mcplug_settings *s = example(NULL);
    (void)call, (void)result, (void)why;

    ck_assert_int_eq(mcplug_call_tool_wait(h, "echo", NULL, NULL, NULL, NULL),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_open_wait(host, s, NULL, &other, NULL), MCPLUG_EINVAL);
    ck_assert_ptr_null(other);
    mcplug_settings_free(s);
    *(mcplug_server **)arg = NULL;
}

START_TEST(nobody_can_wait_inside_a_callback)
{
    begin_bare();
    mcplug_server *h = hold(example(NULL), NULL), *at = h;
    mcplug_call_tool(h, "meta", NULL, NULL, wait_inside, &at, NULL);
    UNTIL(!at);
    echo(h, "still fine");
    mcplug_close_wait(h);
    end();
}
END_TEST

/* ---- R1: who shares ---- */

START_TEST(r1_servers_share_a_process_unless_they_must_not)
{
    struct mcplug_server_options own = {.struct_size = sizeof own, .dedicated = 1};
    struct mcplug_server_options who = {.struct_size = sizeof who, .identity = "bob"};
    struct mcplug_server_options named = {.struct_size = sizeof named, .name = "other"};
    begin_bare();
    mcplug_server *a = hold(example(NULL), NULL), *b = hold(example(NULL), &named);
    mcplug_server *c = hold(example(NULL), &own), *d = hold(example(NULL), &own);
    mcplug_server *e = hold(example(NULL), &who), *f = hold(example(NULL), &who);
    mcplug_server *g = hold(example("legacy"), NULL);
    int64_t pid = status(a).pid;
    ck_assert_int_eq(status(b).pid, pid); /* a name is not what a server is */
    ck_assert_uint_eq(status(a).servers, 2);
    ck_assert_uint_eq(status(b).servers, 2);
    ck_assert_int_ne(status(c).pid, pid);
    ck_assert_int_ne(status(d).pid, pid);
    ck_assert_int_ne(status(c).pid, status(d).pid);
    ck_assert_uint_eq(status(c).servers, 1);
    ck_assert_int_ne(status(e).pid, pid);
    ck_assert_int_eq(status(e).pid, status(f).pid);
    ck_assert_int_ne(status(g).pid, pid);
    echo(a, "a");
    echo(b, "b");
    ck_assert_uint_eq(status(a).calls->ok, 2); /* of all who share it */
    mcplug_close_wait(a);
    ck_assert(lives(pid));
    echo(b, "on");
    mcplug_close_wait(b);
    ck_assert(!lives(pid));
    int64_t left[] = {status(c).pid, status(d).pid, status(e).pid, status(g).pid};
    end();
    for (size_t i = 0; i < MP_COUNT(left); i++)
        ck_assert(!lives(left[i]));
}
END_TEST

START_TEST(r1_a_release_ends_the_calls_of_that_server_alone)
{
    struct outcome mine = {0}, other = {0};
    begin_bare();
    mcplug_server *a = hold(example(NULL), NULL), *b = hold(example(NULL), NULL);
    mcplug_call_tool(a, "sleep", "{\"ms\":60000}", NULL, on_outcome, &mine, NULL);
    mcplug_call_tool(b, "sleep", "{\"ms\":300}", NULL, on_outcome, &other, NULL);
    turn_for(50);
    ck_assert_uint_eq(status(a).sent, 2);
    mcplug_close_wait(a);
    ck_assert_uint_eq(mine.times, 1);
    ck_assert_int_eq(mine.code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(other.times, 0);
    UNTIL(other.times);
    ck_assert_int_eq(other.code, MCPLUG_OK);
    mcplug_close_wait(b);
    end();
}
END_TEST

/* ---- idle ---- */

START_TEST(an_idle_server_is_stopped_and_the_next_call_starts_it)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 600};
    begin_bare();
    mcplug_server *h = hold(example(NULL), &o);
    int64_t first = status(h).pid;
    for (int i = 0; i < 5; i++) { /* a call is as good as any, every time */
        turn_for(150);
        echo(h, "busy");
    }
    ck_assert_int_eq(status(h).pid, first);
    UNTIL(status(h).state == MCPLUG_STATE_RESTING);
    ck_assert(!lives(first));
    ck_assert_int_eq(status(h).pid, 0);
    ck_assert_uint_eq(status(h).up_ms, 0);
    ck_assert_uint_eq(mcplug_list_count(mcplug_server_list(h, MCPLUG_TOOLS)), 14);
    turn_for(100);
    ck_assert_uint_eq(status(h).starts, 1); /* nobody wanted it */
    echo(h, "again");
    ck_assert_uint_eq(status(h).starts, 2);
    ck_assert_uint_eq(status(h).restarts, 1);
    ck_assert_int_ne(status(h).pid, first);
    mcplug_close_wait(h);
    end();
}
END_TEST

/* ---- the end ---- */

static unsigned n_released;

static void on_released(void *arg)
{
    (void)arg;
    n_released++;
}

/* _i: 0 never started, 1 up, 2 with another server on it, 3 on its way */
START_TEST(a_release_is_told_also_when_the_host_is_freed_at_once)
{
    mcplug_server *h = NULL, *other = NULL;
    mcplug_settings *s = example(NULL);
    struct outcome out = {0};
    n_released = 0;
    begin_bare();
    ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &h, &err), MCPLUG_OK);
    if (_i == 1 || _i == 2)
        echo(h, "up");
    if (_i == 2)
        ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &other, &err), MCPLUG_OK);
    if (_i == 3) {
        mcplug_call_tool(h, "meta", NULL, NULL, on_outcome, &out, NULL);
        mcplug_turn(host, 0);
    }
    mcplug_settings_free(s);
    mcplug_close(h, on_released, NULL);
    ck_assert_uint_eq(n_released, 0);
    end();
    ck_assert_uint_eq(n_released, 1);
    ck_assert_uint_eq(out.times, _i == 3);
}
END_TEST

START_TEST(freeing_the_host_ends_calls_and_processes)
{
    struct outcome out = {0};
    begin_bare();
    mcplug_server *h = hold(example(NULL), NULL);
    int64_t pid = status(h).pid;
    mcplug_call_tool(h, "sleep", "{\"ms\":60000}", NULL, on_outcome, &out, NULL);
    end();
    ck_assert_uint_eq(out.times, 1);
    ck_assert_int_eq(out.code, MCPLUG_ECANCELED);
    ck_assert(!lives(pid));
}
END_TEST

/* ---- R7: queues ---- */

static void three_sleeps(mcplug_server *h, struct outcome *out)
{
    memset(out, 0, 3 * sizeof *out);
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_nonnull(mcplug_call_tool(h, "sleep", "{\"ms\":700}", NULL,
                                               on_outcome, &out[i], &err));
}

START_TEST(r7_a_queue_limits_how_many_run_and_wait)
{
    static const char *const queues[] = {"echo", "", "meta", "elsewhere", NULL};
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .queue = "q", .tool_queues = queues};
    struct outcome out[3], more = {0};
    begin_bare();
    mcplug_server *h = hold(example(NULL), &o);
    three_sleeps(h, out); /* one at a time, as long as nobody says otherwise */
    ck_assert_uint_eq(status(h).sent, 1);
    ck_assert_uint_eq(status(h).waiting, 2);
    echo(h, "past them");
    ck_assert_int_eq(mcplug_set_queue(host, "q", 2, 1), MCPLUG_OK);
    turn();
    ck_assert_uint_eq(status(h).sent, 2);
    ck_assert_uint_eq(status(h).waiting, 1);
    ck_assert_ptr_null(
        mcplug_call_tool(h, "sleep", "{\"ms\":1}", NULL, on_outcome, &more, &err));
    ck_assert_int_eq(err.code, MCPLUG_EOVERLOADED);
    ck_assert_ptr_nonnull(strstr(err.text, "q"));
    UNTIL(out[0].times && out[1].times && out[2].times);
    ck_assert_uint_ge(status(h).queued_ms, 100); /* the wait can be seen */
    mcplug_set_queue(host, "q", 0, 0);
    three_sleeps(h, out);
    ck_assert_uint_eq(status(h).sent, 1);
    mcplug_close_wait(h);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(out[i].code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(more.times, 0);
    end();
}
END_TEST

/* ---- by name ---- */

static unsigned n_ready;

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    (void)arg, (void)server;
    ck_assert_msg(!why, "%s", why->text);
    n_ready++;
}

static mcplug_server *hold_named(const char *name, const struct mcplug_server_options *o)
{
    mcplug_server *h = NULL;
    n_ready = 0;
    int r = mcplug_open_named(host, conf, name, o, on_ready, NULL, &h, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    UNTIL(n_ready);
    return h;
}

static void load_example(const char *members, const char *queues)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{'mcpServers':{'e':{'command':'%s/examples/mcplug-example-server'%s}}%s}",
             getenv("MCPLUG_BUILD"), members, queues);
    give(USER, text);
    conf = mcplug_config_load(NULL, &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
    ck_assert_msg(!mcplug_config_problem(conf, 0), "%s", mcplug_config_problem(conf, 0));
}

START_TEST(a_named_server_is_kept_as_its_entry_says)
{
    struct outcome out[3];
    begin_bare();
    load_example(",'shared':false,'toolsDenied':['ENV','ex*'],'queue':'q',"
                 "'toolQueues':{'echo':''},'idle':'2s','keepAlive':true",
                 ",'queues':{'q':{'concurrent':2}}");
    mcplug_server *a = hold_named("e", NULL), *b = hold_named("e", NULL);
    ck_assert_str_eq(mcplug_server_name(a), "e");
    ck_assert_int_ne(status(a).pid, status(b).pid);
    ck_assert_uint_eq(mcplug_list_count(mcplug_server_list(a, MCPLUG_TOOLS)), 12);
    ck_assert_ptr_null(
        mcplug_call_tool(a, "env", "{\"name\":\"x\"}", NULL, on_outcome, out, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
    three_sleeps(a, out);
    ck_assert_uint_eq(status(a).sent, 2);
    ck_assert_uint_eq(status(a).waiting, 1);
    echo(a, "past them");
    ck_assert_uint_eq(a->service->session->o.keep_alive_ms, 50000);
    UNTIL(status(b).state == MCPLUG_STATE_RESTING);
    mcplug_config_free(conf); /* nothing of it is needed any more */
    echo(b, "back");
    end();
}
END_TEST

START_TEST(what_a_program_asks_for_comes_before_the_entry)
{
    static const char *const denied[] = {"add", NULL};
    struct mcplug_server_options o = {.struct_size = sizeof o, .tools_denied = denied};
    struct mcplug_server_options own = {.struct_size = sizeof own, .dedicated = 1};
    begin_bare();
    load_example(",'toolsDenied':['env']", "");
    mcplug_server *a = hold_named("e", &o), *b = hold_named("e", NULL);
    mcplug_server *c = hold_named("e", &own);
    ck_assert_int_eq(status(a).pid, status(b).pid);
    ck_assert_int_ne(status(a).pid, status(c).pid);
    ck_assert_int_eq((int)mcplug_list_find(mcplug_server_list(a, MCPLUG_TOOLS), "add"),
                     -1);
    ck_assert_int_ge(mcplug_list_find(mcplug_server_list(a, MCPLUG_TOOLS), "env"), 0);
    ck_assert_int_eq((int)mcplug_list_find(mcplug_server_list(b, MCPLUG_TOOLS), "env"),
                     -1);
    mcplug_config_free(conf);
    end();
}
END_TEST

/* All of a simple program: on its own thread, or beside one of ours. */
START_TEST(a_named_server_can_be_waited_for)
{
    mcplug_server *h = NULL;
    mcplug_server *server = NULL;
    mcplug_result *result = NULL;
    mcplug_list *list = NULL;
    begin_bare();
    load_example("", "");
    if (_i)
        ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_open_named_wait(host, conf, "e", NULL, &h, &err), 0);
    ck_assert_int_eq(mcplug_get_list_wait(h, MCPLUG_TOOLS, NULL, &list, &err), 0);
    ck_assert_int_ge(mcplug_list_find(list, "echo"), 0);
    mcplug_list_unref(list);
    ck_assert_int_eq(mcplug_request_wait(h, "resources/list", NULL, NULL, &result, &err),
                     0);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), "\"resources\""));
    mcplug_result_unref(result);
    ck_assert_int_eq(mcplug_request_wait(h, "no/such", NULL, NULL, NULL, &err),
                     MCPLUG_EPEER);
    mcplug_close_wait(h);
    ck_assert_int_eq(mcplug_open_named_wait(host, conf, "e", NULL, &server, &err), 0);
    ck_assert_int_eq(
        mcplug_call_tool_wait(server, "echo", "{\"text\":\"hi\"}", NULL, &result, &err),
        0);
    mcplug_result_unref(result);
    mcplug_close_wait(server);
    ck_assert_int_eq(mcplug_open_named_wait(host, conf, "nobody", NULL, &h, &err),
                     MCPLUG_ECONFIG);
    ck_assert_int_eq(mcplug_open_named_wait(host, conf, "nobody", NULL, &server, NULL),
                     MCPLUG_ECONFIG);
    mcplug_config_free(conf);
    end();
}
END_TEST

START_TEST(a_name_that_nobody_has_is_refused)
{
    mcplug_server *h = NULL;
    begin_bare();
    load_example("", "");
    ck_assert_int_eq(mcplug_open_named(host, conf, "nobody", NULL, NULL, NULL, &h, &err),
                     MCPLUG_ECONFIG);
    ck_assert_str_eq(err.text, "there is no server \"nobody\"");
    ck_assert_ptr_null(h);
    mcplug_config_free(conf);
    end();
}
END_TEST

START_TEST(a_toolbox_takes_servers_by_name)
{
    struct seen s;
    begin(NULL);
    load_example(",'toolsAllowed':['echo']", "");
    ck_assert_int_eq(mcplug_toolbox_add_named(box, conf, "e", NULL, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_toolbox_add_named(box, conf, "e", NULL, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_toolbox_add_named(box, conf, "f", NULL, &err),
                     MCPLUG_ECONFIG);
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(box), 1 + 2);
    used(&s, "mcp__e__echo", "{\"text\":\"named\"}");
    ck_assert_str_eq(s.result, "named");
    char *says = strdup(mcplug_toolbox_instructions(box));
    ck_assert_ptr_nonnull(strstr(says, "#### MCP Server: e\n"));
    end();
    begin(NULL); /* what it offers is known at once now, and a call starts it */
    ck_assert_int_eq(mcplug_toolbox_add_named(box, conf, "e", NULL, &err), MCPLUG_OK);
    mcplug_config_free(conf);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 1 + 2);
    ck_assert_str_eq(mcplug_toolbox_instructions(box), says);
    turn_for(50);
    ck_assert_uint_eq(status_of("e").starts, 0);
    used(&s, "mcp__e__echo", "{\"text\":\"lazy\"}");
    ck_assert_str_eq(s.result, "lazy");
    ck_assert_uint_eq(status_of("e").starts, 1);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 1 + 2);
    free(says);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_test(tc, the_blocking_forms_run_the_loop_themselves);
    tcase_add_test(tc, with_a_thread_of_ours_any_thread_may_wait);
    tcase_add_test(tc, after_a_failure_there_is_no_server);
    tcase_add_test(tc, nobody_can_wait_inside_a_callback);
    tcase_add_test(tc, r1_servers_share_a_process_unless_they_must_not);
    tcase_add_test(tc, r1_a_release_ends_the_calls_of_that_server_alone);
    tcase_add_test(tc, an_idle_server_is_stopped_and_the_next_call_starts_it);
    tcase_add_loop_test(tc, a_release_is_told_also_when_the_host_is_freed_at_once, 0, 4);
    tcase_add_test(tc, freeing_the_host_ends_calls_and_processes);
    tcase_add_test(tc, r7_a_queue_limits_how_many_run_and_wait);
    tcase_add_test(tc, a_named_server_is_kept_as_its_entry_says);
    tcase_add_test(tc, what_a_program_asks_for_comes_before_the_entry);
    tcase_add_loop_test(tc, a_named_server_can_be_waited_for, 0, 2);
    tcase_add_test(tc, a_name_that_nobody_has_is_refused);
    tcase_add_test(tc, a_toolbox_takes_servers_by_name);
}

int main(void)
{
    return run_suite("api_server", add);
}
