/* Servers that stay up: what a record, a name, an identity, a queue and a filter promise,
 * where it is easily forgotten. */
#include "config_kit.h"

#include "server_kit.h"

static mcplug_settings *simple(void)
{
    return SCRIPTED("TOOLS", TOOL("quick") "," TOOL("slow"), "RESULT", "\"content\":[]");
}

static size_t tools_of(mcplug_server *h)
{
    return mcplug_list_count(mcplug_server_list(h, MCPLUG_TOOLS));
}

static unsigned n_copies;

static void on_record_copied(void *arg, mcplug_call *c, const struct mcplug_record *r)
{
    struct mcplug_record *copy = malloc(sizeof *copy); /* nothing of ours around it */
    (void)arg, (void)c;
    *copy = *r;
    char *first = strdup(mcplug_record_json(copy));
    ck_assert_msg(strstr(first, "\"namespace\":\"s\"") != NULL, "%s", first);
    ck_assert_str_eq(mcplug_record_json(r), first);
    copy->name_space = "other"; /* the copy is what counts */
    ck_assert_ptr_nonnull(strstr(mcplug_record_json(copy), "\"other\""));
    free(first);
    free(copy);
    n_copies++;
}

START_TEST(a_copy_of_a_record_is_as_good_as_the_record)
{
    n_copies = 0;
    begin(NULL);
    put_in("s", simple(), NULL);
    warm_up();
    ck_assert_ptr_nonnull(mcplug_toolbox_call(box, "mcp__s__quick", NULL, NULL,
                                              on_record_copied, NULL, &err));
    UNTIL(n_copies);
    ck_assert_ptr_nonnull(mcplug_toolbox_call(box, "mcp__s__quick", "{}", NULL,
                                              on_record_copied, NULL, &err));
    end(); /* and one that is cancelled */
    ck_assert_uint_eq(n_copies, 2);
}
END_TEST

START_TEST(nobody_need_be_told_that_a_toolbox_is_warm)
{
    struct warmed w = {0};
    begin(NULL);
    put_in("s", simple(), NULL);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, NULL, NULL, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, on_warm, &w, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, NULL, NULL, NULL), MCPLUG_OK);
    UNTIL(w.times);
    ck_assert_uint_eq(w.ready, 1);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, NULL, NULL, &err), MCPLUG_OK);
    turn_for(50);
    ck_assert_int_eq(status_of("s").state, MCPLUG_STATE_READY);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, NULL, NULL, &err), MCPLUG_OK);
    end();
}
END_TEST

START_TEST(every_number_of_a_state_has_a_name)
{
    ck_assert_str_eq(mcplug_state_name(MCPLUG_STATE_RESTING), "resting");
    ck_assert_str_eq(mcplug_state_name(MCPLUG_STATE_ENDED), "ended");
    ck_assert_str_eq(mcplug_state_name((enum mcplug_state)(MCPLUG_STATE_ENDED + 1)),
                     "unknown");
    ck_assert_str_eq(mcplug_state_name((enum mcplug_state)99), "unknown");
    ck_assert_str_eq(mcplug_state_name((enum mcplug_state) - 1), "unknown");
}
END_TEST

/* ---- who may what ---- */

static unsigned n_ready;

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    (void)arg, (void)server;
    ck_assert_msg(!why, "%s", why->text);
    n_ready++;
}

static mcplug_server *named(mcplug_config *conf, const char *identity, bool start)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .identity = identity};
    mcplug_server *h = NULL;
    n_ready = 0;
    int r =
        mcplug_open_named(host, conf, "e", &o, start ? on_ready : NULL, NULL, &h, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    UNTIL(n_ready == start);
    return h;
}

START_TEST(what_one_identity_was_offered_another_does_not_see)
{
    char text[4096];
    begin_bare();
    snprintf(text, sizeof text,
             "{'mcpServers':{'e':{'command':'%s/examples/mcplug-example-server'}}}",
             getenv("MCPLUG_BUILD"));
    give(USER, text);
    mcplug_config *conf = mcplug_config_load(NULL, &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
    ck_assert_uint_eq(tools_of(named(conf, "alice", true)), 14);
    ck_assert_ptr_null(mcplug_server_list(named(conf, "bob", false), MCPLUG_TOOLS));
    ck_assert_ptr_null(mcplug_server_list(named(conf, NULL, false), MCPLUG_TOOLS));
    ck_assert_uint_eq(tools_of(named(conf, NULL, true)), 14);
    ck_assert_ptr_null(mcplug_server_list(named(conf, "bob", false), MCPLUG_TOOLS));
    end();
    begin_bare(); /* what is known is nobody's: with no identity it is there */
    ck_assert_ptr_null(mcplug_server_list(named(conf, "alice", false), MCPLUG_TOOLS));
    ck_assert_uint_eq(tools_of(named(conf, NULL, false)), 14);
    mcplug_config_free(conf);
    end();
}
END_TEST

START_TEST(a_tool_is_called_by_its_name_only)
{
    static const char *const denied[] = {"slow", NULL};
    struct mcplug_server_options o = {.struct_size = sizeof o, .tools_denied = denied};
    struct outcome out = {0};
    begin_bare();
    mcplug_server *h = hold(simple(), &o);
    for (int i = 0; i < 2; i++) {
        err = (struct mcplug_error)MCPLUG_ERROR_INIT;
        ck_assert_ptr_null(mcplug_request(
            h, "tools/call", i ? "{\"name\":\"slow\"}" : "{\"name\":\"quick\"}", NULL,
            on_outcome, &out, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "mcplug_call_tool"));
    }
    ck_assert_ptr_nonnull(mcplug_request(h, "ping", NULL, NULL, on_outcome, &out, &err));
    UNTIL(out.times);
    ck_assert_int_eq(out.code, MCPLUG_OK);
    ck_assert_uint_eq(out.times, 1);
    ck_assert_uint_eq(status(h).calls->issued, 1);
    end();
}
END_TEST

START_TEST(a_server_has_its_own_name)
{
    struct mcplug_server_options a = {.struct_size = sizeof a, .name = "one"};
    struct mcplug_server_options b = {.struct_size = sizeof b, .name = "two"};
    begin_bare();
    mcplug_server *x = hold(simple(), &a), *y = hold(simple(), &b);
    mcplug_server *z = hold(simple(), NULL);
    ck_assert_int_eq(status(x).pid, status(y).pid);
    ck_assert_int_eq(status(x).pid, status(z).pid);
    ck_assert_str_eq(mcplug_server_name(x), "one");
    ck_assert_str_eq(mcplug_server_name(y), "two");
    ck_assert_str_eq(status(y).name, "two");
    ck_assert(mcplug_server_name(z)[0] != '\0');
    mcplug_close_wait(x);
    ck_assert_str_eq(mcplug_server_name(y), "two");
    end();
}
END_TEST

/* ---- many ---- */

enum { MANY = 5000 };

static void count_end(void *arg, mcplug_call *c, mcplug_result *result,
                      const struct mcplug_error *why)
{
    (void)c, (void)result;
    (*(unsigned *)arg) += why && why->code == MCPLUG_ECANCELED;
}

START_TEST(as_many_calls_wait_as_the_queue_may_hold)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .queue = "q"};
    unsigned cancelled = 0, taken = 0;
    begin_bare();
    mcplug_server *h = hold(simple(), &o);
    ck_assert_int_eq(mcplug_set_queue(host, "q", 1, MANY), MCPLUG_OK);
    ck_assert_ptr_nonnull(
        mcplug_call_tool(h, "hang", NULL, NULL, count_end, &cancelled, &err));
    while (taken <= MANY &&
           mcplug_call_tool(h, "quick", NULL, NULL, count_end, &cancelled, &err))
        taken++;
    ck_assert_msg(taken == MANY, "%u, then: %s", taken, err.text);
    ck_assert_int_eq(err.code, MCPLUG_EOVERLOADED);
    turn();
    ck_assert_uint_eq(status(h).waiting, MANY);
    ck_assert_uint_eq(status(h).sent, 1);
    mcplug_close_wait(h);
    ck_assert_uint_eq(cancelled, MANY + 1);
    end();
}
END_TEST

START_TEST(a_size_that_cuts_a_member_is_refused)
{
    char name[] = "half a pointer to this would be used";
    struct mcplug_options o = {.client_name = name};
    size_t at = offsetof(struct mcplug_options, client_name);

    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    for (size_t i = 1; i < sizeof o.client_name; i++) {
        o.struct_size = (uint32_t)(at + i);
        ck_assert_ptr_null(mcplug_new(&o, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "struct_size"));
    }
    o.struct_size = (uint32_t)(at + sizeof o.client_name);
    mcplug *h = mcplug_new(&o, &err);
    ck_assert_msg(h != NULL, "%s", err.text);
    mcplug_free(h);
    o.struct_size = sizeof o.struct_size; /* has no members at all */
    ck_assert_ptr_nonnull(h = mcplug_new(&o, &err));
    mcplug_free(h);
}
END_TEST

START_TEST(options_without_their_size_are_refused)
{
    struct mcplug_options ho = {.log_level = 1};
    struct mcplug_toolbox_options bo = {.batch = 2};
    struct mcplug_server_options o = {.idle_ms = 5};
    struct mcplug_call_options co = {.timeout_ms = 5};
    struct mcplug_config_options fo = {.strict = 1};
    struct outcome out = {0};
    struct seen seen = {0};
    mcplug_server *h = NULL;
    begin(NULL);
    put_in("s", simple(), NULL);
    warm_up();
    mcplug_settings *s = simple();
    ck_assert_ptr_null(mcplug_new(&ho, &err));
    ck_assert_str_eq(err.text, "options without their struct_size");
    ck_assert_ptr_null(mcplug_config_load(&fo, &err));
    ck_assert_ptr_null(mcplug_toolbox_new(host, &bo, &err));
    ck_assert_int_eq(mcplug_open(host, s, &o, NULL, NULL, &h, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_open_wait(host, s, &o, &h, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_toolbox_add(box, "t", s, &o, &err), MCPLUG_EINVAL);
    err.code = MCPLUG_OK;
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__s__quick", "{}", &co, on_record, &seen, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_ptr_null(mcplug_call_tool(mcplug_toolbox_server(box, "s"), "quick", NULL,
                                        &co, on_outcome, &out, &err));
    ck_assert_ptr_null(mcplug_request(mcplug_toolbox_server(box, "s"), "ping", NULL, &co,
                                      on_outcome, &out, &err));
    mcplug_settings_free(s);
    end();
    ck_assert_uint_eq(out.times + seen.times, 0);
}
END_TEST

START_TEST(what_is_not_there_is_refused_or_left_alone)
{
    const char *server = NULL;
    struct outcome out = {0};
    mcplug_server *h = NULL;
    begin(NULL);
    put_in("s", simple(), NULL);
    warm_up();
    mcplug_cancel(NULL);
    mcplug_close(NULL, NULL, NULL);
    mcplug_close_wait(NULL);
    mcplug_toolbox_free(NULL, NULL, NULL);
    ck_assert_uint_eq(mcplug_list_count(NULL), 0);
    ck_assert_ptr_null(mcplug_toolbox_call(box, NULL, NULL, NULL, on_record, NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__s__quick", NULL, NULL, NULL, NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(mcplug_toolbox_tool(box, 0, NULL));
    ck_assert(!mcplug_toolbox_find(box, NULL, NULL, NULL));
    ck_assert(mcplug_toolbox_find(box, "mcp__s__quick", NULL, NULL));
    ck_assert(mcplug_toolbox_find(box, "mcp__s__quick", &server, NULL));
    ck_assert_str_eq(server, "s");
    ck_assert_int_eq(mcplug_open(host, NULL, NULL, NULL, NULL, &h, &err), MCPLUG_EINVAL);
    mcplug_settings *s = simple();
    ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, NULL, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_toolbox_add(box, NULL, s, NULL, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_toolbox_add(box, "t", NULL, NULL, &err), MCPLUG_EINVAL);
    mcplug_settings_free(s);
    ck_assert_ptr_null(mcplug_call_tool(mcplug_toolbox_server(box, "s"), NULL, NULL, NULL,
                                        on_outcome, &out, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "`tool` must not be NULL"));
    end();
}
END_TEST

static int released_with;

static void release_at_once(void *arg, mcplug_server *h, const struct mcplug_error *why)
{
    mcplug_settings *s = arg;
    mcplug_server *other = NULL;
    ck_assert_int_eq(why->code, MCPLUG_ECANCELED);
    released_with = mcplug_open_wait(host, s, NULL, &other, &err);
    mcplug_close_wait(h);
}

START_TEST(who_is_told_while_the_host_is_freed_can_not_wait)
{
    mcplug_server *h = NULL;
    mcplug_settings *s = SCRIPTED("DELAY", "5");
    begin_bare();
    released_with = MCPLUG_OK;
    ck_assert_int_eq(mcplug_open(host, s, NULL, release_at_once, s, &h, &err), MCPLUG_OK);
    turn();
    end();
    ck_assert_int_ne(released_with, MCPLUG_OK);
    mcplug_settings_free(s);
}
END_TEST

static unsigned n_calls_again;

static void call_again(void *arg, mcplug_call *call, mcplug_result *result,
                       const struct mcplug_error *why)
{
    (void)call, (void)result;
    ck_assert_ptr_nonnull(why);
    if (++n_calls_again && why->code != MCPLUG_ECLOSED && why->code != MCPLUG_ECANCELED)
        mcplug_call_tool(arg, "quick", NULL, NULL, call_again, arg, NULL);
}

START_TEST(who_calls_again_whenever_it_fails_stops_nobody)
{
    mcplug_server *bad = NULL;
    struct outcome out = {0};
    begin_bare();
    mcplug_settings *s = mcplug_settings_new("carrier-pigeon"); /* which lasts */
    mcplug_server *good = hold(simple(), NULL);
    ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &bad, &err), MCPLUG_OK);
    mcplug_settings_free(s);
    mcplug_call_tool(bad, "quick", NULL, NULL, call_again, bad, &err);
    UNTIL(n_calls_again > 5000);
    ck_assert_ptr_nonnull(
        mcplug_call_tool(good, "quick", NULL, NULL, on_outcome, &out, &err));
    UNTIL(out.times);
    ck_assert_int_eq(out.code, MCPLUG_OK);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_test(tc, a_copy_of_a_record_is_as_good_as_the_record);
    tcase_add_test(tc, nobody_need_be_told_that_a_toolbox_is_warm);
    tcase_add_test(tc, every_number_of_a_state_has_a_name);
    tcase_add_test(tc, what_one_identity_was_offered_another_does_not_see);
    tcase_add_test(tc, a_tool_is_called_by_its_name_only);
    tcase_add_test(tc, a_server_has_its_own_name);
    tcase_add_test(tc, as_many_calls_wait_as_the_queue_may_hold);
    tcase_add_test(tc, options_without_their_size_are_refused);
    tcase_add_test(tc, a_size_that_cuts_a_member_is_refused);
    tcase_add_test(tc, what_is_not_there_is_refused_or_left_alone);
    tcase_add_test(tc, who_is_told_while_the_host_is_freed_can_not_wait);
    tcase_add_test(tc, who_calls_again_whenever_it_fails_stops_nobody);
}

int main(void)
{
    return run_suite("api_server_rules", add);
}
