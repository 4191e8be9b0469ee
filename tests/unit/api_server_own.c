/* Servers that share a connection, and what is each one's own all the same: its calls,
 * its tools, its questions, its subscriptions; and what is known of it. */
#include "config_kit.h"

#include "server_kit.h"

#include <signal.h>

static mcplug_settings *simple(void)
{
    return SCRIPTED("TOOLS", TOOL("quick") "," TOOL("slow"), "RESULT", "\"content\":[]",
                    "SAYS", "Be kind.");
}

static void run(mcplug_server *h, const char *tool, const char *args, int code)
{
    struct outcome out = {0};
    ck_assert_ptr_nonnull(mcplug_call_tool(h, tool, args, NULL, on_outcome, &out, &err));
    UNTIL(out.times);
    ck_assert_msg(out.code == code, "%d: %s", out.code, out.text);
}

/* ---- the books ---- */

static struct mcplug_ledger ledger(mcplug_server *h)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    mcplug_server_ledger(h, &l);
    ck_assert_uint_eq(l.struct_size, sizeof l);
    ck_assert_uint_eq(l.issued, l.under_way + l.ok + l.tool_error + l.peer_error +
                                    l.transport_error + l.timed_out + l.cancelled);
    ck_assert_uint_eq(l.late + l.unknown + l.noise, 0); /* of the wire only */
    return l;
}

static void books_add_up(mcplug_server *a, mcplug_server *b)
{
    struct mcplug_ledger x = ledger(a), y = ledger(b);
    const struct mcplug_ledger *all = status(a).calls;
    ck_assert_ptr_eq(all, status(b).calls);
    ck_assert_uint_eq(x.issued + y.issued, all->issued);
    ck_assert_uint_eq(x.under_way + y.under_way, all->under_way);
    ck_assert_uint_eq(x.ok + y.ok, all->ok);
    ck_assert_uint_eq(x.tool_error + y.tool_error, all->tool_error);
    ck_assert_uint_eq(x.peer_error + y.peer_error, all->peer_error);
    ck_assert_uint_eq(x.transport_error + y.transport_error, all->transport_error);
    ck_assert_uint_eq(x.timed_out + y.timed_out, all->timed_out);
    ck_assert_uint_eq(x.cancelled + y.cancelled, all->cancelled);
}

START_TEST(the_books_of_all_who_share_a_server_add_up)
{
    struct mcplug_call_options brief = {.struct_size = sizeof brief, .timeout_ms = 100};
    struct outcome out[4] = {0};
    begin_bare();
    mcplug_server *a = hold(example("modern"), NULL), *b = hold(example("modern"), NULL);
    uint64_t before = status(a).wire->issued;
    ck_assert_uint_ge(before, 1); /* to connect, and for the lists */
    books_add_up(a, b);
    run(a, "echo", "{\"text\":\"x\"}", MCPLUG_OK);
    run(a, "echo", "{\"text\":\"x\"}", MCPLUG_OK);
    run(b, "fail", "{}", MCPLUG_OK); /* isError */
    run(b, "nothing", "{}", MCPLUG_EPEER);
    mcplug_call_tool(a, "sleep", "{\"ms\":30000}", &brief, on_outcome, &out[0], &err);
    UNTIL(out[0].times);
    mcplug_call *c =
        mcplug_call_tool(b, "sleep", "{\"ms\":30000}", NULL, on_outcome, &out[1], &err);
    turn_for(50);
    books_add_up(a, b);
    mcplug_cancel(c);
    UNTIL(out[1].times);
    mcplug_call_tool(a, "sleep", "{\"ms\":30000}", NULL, on_outcome, &out[2], &err);
    mcplug_ping(b, NULL, on_outcome, &out[3], &err);
    UNTIL(out[3].times);
    books_add_up(a, b);
    struct mcplug_ledger x = ledger(a), y = ledger(b);
    ck_assert_uint_eq(x.issued, 4);
    ck_assert_uint_eq(x.ok, 2);
    ck_assert_uint_eq(x.timed_out, 1);
    ck_assert_uint_eq(x.under_way, 1);
    ck_assert_uint_eq(y.issued, 4);
    ck_assert_uint_eq(y.ok, 1);
    ck_assert_uint_eq(y.tool_error, 1);
    ck_assert_uint_eq(y.peer_error, 1);
    ck_assert_uint_eq(y.cancelled, 1);
    const struct mcplug_ledger *wire = status(a).wire;
    ck_assert_uint_ge(wire->issued, before + 8);
    kill((pid_t)status(a).pid, SIGKILL);
    UNTIL(out[2].times);
    ck_assert_uint_eq(ledger(a).transport_error, 1);
    ck_assert_uint_eq(ledger(b).transport_error, 0);
    UNTIL(status(a).starts == 2 && status(a).state == MCPLUG_STATE_READY);
    books_add_up(a, b);
    wire = status(a).wire; /* the first connection's are not forgotten */
    ck_assert_uint_gt(wire->issued, before + 8);
    ck_assert_uint_eq(wire->issued, wire->under_way + wire->ok + wire->tool_error +
                                        wire->peer_error + wire->transport_error +
                                        wire->timed_out + wire->cancelled);
    mcplug_close_wait(a);
    ck_assert_uint_eq(status(b).calls->issued, 8); /* nor those of one who has gone */
    ck_assert_uint_eq(ledger(b).issued, 4);
    end();
}
END_TEST

/* ---- a tool that is denied ---- */

static mcplug_list *told_list;

static void on_list(void *arg, mcplug_call *call, mcplug_list *list,
                    const struct mcplug_error *why)
{
    (void)arg, (void)call;
    ck_assert_ptr_null(why);
    told_list = mcplug_list_ref(list);
}

static void has_no_slow(mcplug_list *list)
{
    ck_assert_uint_eq(mcplug_list_count(list), 1);
    ck_assert_int_eq((int)mcplug_list_find(list, "slow"), -1);
    ck_assert_int_eq((int)mcplug_list_find(list, "quick"), 0);
}

/* _i: 0 it is denied, 1 others are allowed; and each before it is up, and after */
START_TEST(there_is_no_way_to_a_tool_that_is_denied)
{
    static const char *const denied[] = {"slow", NULL}, *const allowed[] = {"q*", NULL};
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .tools_denied = _i ? NULL : denied,
                                      .tools_allowed = _i ? allowed : NULL};
    struct outcome out = {0};
    mcplug_list *list = NULL;
    mcplug_server *h = NULL;
    begin_bare();
    mcplug_server *free_one = hold(simple(), NULL); /* whom nothing is denied */
    mcplug_settings *s = simple();
    ck_assert_int_eq(mcplug_open(host, s, &o, NULL, NULL, &h, &err), MCPLUG_OK);
    mcplug_settings_free(s);
    for (int i = 0; i < 2; i++) {
        err = (struct mcplug_error)MCPLUG_ERROR_INIT;
        ck_assert_ptr_null(
            mcplug_call_tool(h, "slow", "{}", NULL, on_outcome, &out, &err));
        ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
        ck_assert_ptr_nonnull(strstr(err.text, "'slow'"));
        ck_assert_int_eq(mcplug_call_tool_wait(h, "slow", "{}", NULL, NULL, &err),
                         MCPLUG_ECONFIG);
        ck_assert_ptr_null(mcplug_request(h, "tools/call",
                                          "{\"name\":\"slow\",\"arguments\":{}}", NULL,
                                          on_outcome, &out, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "mcplug_call_tool()"));
        ck_assert_int_eq(
            mcplug_request_wait(h, "tools/call", "{\"name\":\"slow\"}", NULL, NULL, &err),
            MCPLUG_EINVAL);
        ck_assert_ptr_null(
            mcplug_request(h, "tools/list", NULL, NULL, on_outcome, &out, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "mcplug_get_list()"));
        ck_assert_int_eq(mcplug_request_wait(h, "tools/list", "{}", NULL, NULL, &err),
                         MCPLUG_EINVAL);
        ck_assert_ptr_nonnull(
            mcplug_get_list(h, MCPLUG_TOOLS, NULL, on_list, NULL, &err));
        UNTIL(told_list);
        has_no_slow(told_list);
        mcplug_list_unref(told_list);
        told_list = NULL;
        ck_assert_int_eq(mcplug_get_list_wait(h, MCPLUG_TOOLS, NULL, &list, &err),
                         MCPLUG_OK);
        has_no_slow(list);
        mcplug_list_unref(list);
        has_no_slow(mcplug_server_list(h, MCPLUG_TOOLS));
        run(h, "quick", NULL, MCPLUG_OK);
    }
    ck_assert_uint_eq(out.times, 0);
    ck_assert_uint_eq(ledger(h).issued, 2);
    ck_assert_uint_eq(mcplug_list_count(mcplug_server_list(free_one, MCPLUG_TOOLS)), 2);
    run(free_one, "slow", NULL, MCPLUG_OK);
    end();
}
END_TEST

START_TEST(a_toolbox_has_no_way_to_a_tool_that_is_denied_either)
{
    static const char *const denied[] = {"slow", NULL};
    struct mcplug_server_options o = {.struct_size = sizeof o, .tools_denied = denied};
    struct outcome out = {0};
    struct seen seen = {0};
    begin(NULL);
    put_in("s", simple(), &o);
    warm_up();
    for (size_t i = 0; i < mcplug_toolbox_count(box); i++)
        ck_assert_ptr_null(strstr(mcplug_toolbox_name(box, i), "slow"));
    ck_assert(!mcplug_toolbox_find(box, "mcp__s__slow", NULL, NULL));
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__s__slow", "{}", NULL, on_record, &seen, &err));
    ck_assert_int_ne(err.code, MCPLUG_OK);
    mcplug_server *h = mcplug_toolbox_server(box, "s");
    ck_assert_ptr_null(mcplug_call_tool(h, "slow", "{}", NULL, on_outcome, &out, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
    ck_assert_ptr_null(mcplug_request(h, "tools/call", "{\"name\":\"slow\"}", NULL,
                                      on_outcome, &out, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    has_no_slow(mcplug_server_list(h, MCPLUG_TOOLS));
    used(&seen, "mcp__s__quick", "{}");
    ck_assert(seen.ok);
    end();
    ck_assert_uint_eq(out.times, 0);
}
END_TEST

/* ---- questions ---- */

static struct asked {
    unsigned times;
    mcplug_server *of;
    mcplug_input *input;
    mcplug_call *call; /* that it belongs to */
} asked;

static void on_elicit(void *arg, mcplug_server *server, mcplug_input *input,
                      const char *params, size_t len)
{
    struct asked *a = arg;
    ck_assert_ptr_nonnull(strstr(params, "What is your name?"));
    ck_assert_uint_eq(strlen(params), len);
    ck_assert_ptr_eq(mcplug_input_server(input), server);
    a->times++;
    a->of = server;
    a->input = input;
    a->call = mcplug_input_call(input);
}

/* _i: 0 the call is known by which it came, 1 it is not: the oldest is asked */
START_TEST(a_question_is_of_the_server_whose_call_it_belongs_to)
{
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .elicit = on_elicit, .arg = &asked};
    const char *era = _i ? "legacy" : "modern";
    begin_bare();
    mcplug_server *a = hold(example(era), &o), *b = hold(example(era), &o);
    mcplug_server *c = hold(example(era), &o), *const all[] = {a, b, c, b};
    ck_assert_int_eq(status(a).pid, status(b).pid);
    ck_assert_uint_eq(status(a).servers, 3);
    for (size_t i = 0; i < MP_COUNT(all); i++) {
        struct outcome out = {0};
        memset(&asked, 0, sizeof asked);
        mcplug_call *call =
            mcplug_call_tool(all[i], "ask_name", NULL, NULL, on_outcome, &out, &err);
        UNTIL(asked.times);
        ck_assert_ptr_eq(asked.of, _i ? a : all[i]);
        ck_assert_ptr_eq(asked.call, _i ? NULL : call);
        ck_assert_int_eq(mcplug_input_answer(asked.input, "{\"action\":\"accept\","
                                                          "\"content\":{\"name\":"
                                                          "\"Ann\"}}"),
                         MCPLUG_OK);
        UNTIL(out.times);
        ck_assert_msg(strstr(out.json, "Hello, Ann") != NULL, "%s", out.json);
        ck_assert_uint_eq(asked.times, 1);
    }
    end();
}
END_TEST

/* _i: 0 its call ends with it, and nobody waits for the answer, 1 the next one is it */
START_TEST(a_question_outlives_the_server_that_was_asked)
{
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .elicit = on_elicit, .arg = &asked};
    const char *era = _i ? "legacy" : "modern";
    struct outcome out = {0};
    begin_bare();
    memset(&asked, 0, sizeof asked);
    mcplug_server *a = hold(example(era), &o), *b = hold(example(era), &o);
    mcplug_call_tool(_i ? b : a, "ask_name", NULL, NULL, on_outcome, &out, &err);
    UNTIL(asked.times);
    ck_assert_ptr_eq(asked.of, a);
    mcplug_close_wait(a);
    ck_assert_ptr_eq(mcplug_input_server(asked.input), _i ? b : NULL);
    mcplug_input_answer(asked.input,
                        "{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}");
    UNTIL(out.times);
    ck_assert_int_eq(out.code, _i ? MCPLUG_OK : MCPLUG_ECANCELED);
    run(b, "echo", "{\"text\":\"x\"}", MCPLUG_OK);
    end();
}
END_TEST

/* ---- subscriptions ---- */

#define URI "example:///counter"

static void on_changed(void *arg, mcplug_server *h, int kind, const char *uri)
{
    (void)h;
    if (uri) {
        ck_assert_int_eq(kind, MCPLUG_RESOURCES);
        ++*(unsigned *)arg;
    }
}

/* _i: 1 of the older era */
START_TEST(only_who_subscribed_hears_of_it)
{
    unsigned n[3] = {0};
    mcplug_server *h[3] = {NULL};
    struct mcplug_server_options o = {.struct_size = sizeof o, .changed = on_changed};
    begin_bare();
    mcplug_settings *s = example(_i ? "legacy" : "modern");
    for (int i = 0; i < 3; i++) {
        o.arg = &n[i];
        ck_assert_int_eq(mcplug_open(host, s, &o, NULL, NULL, &h[i], &err), MCPLUG_OK);
    }
    mcplug_settings_free(s);
    for (int i = 0; i < 2; i++) /* before it is up */
        ck_assert_ptr_nonnull(mcplug_subscribe(h[i], URI, NULL, NULL, NULL, &err));
    run(h[2], "echo", "{\"text\":\"x\"}", MCPLUG_OK);
    ck_assert_uint_eq(status(h[0]).servers, 3);
    turn_for(200);
    memset(n, 0, sizeof n);
    run(h[2], "touch", "{\"uri\":\"" URI "\"}", MCPLUG_OK);
    UNTIL(n[0] == 1 && n[1] == 1);
    ck_assert_ptr_nonnull(mcplug_unsubscribe(h[0], URI, NULL, NULL, NULL, &err));
    run(h[2], "touch", "{\"uri\":\"" URI "\"}", MCPLUG_OK);
    UNTIL(n[1] == 2); /* whom it is still of use to */
    turn_for(50);
    ck_assert_uint_eq(n[0], 1);
    mcplug_close_wait(h[1]);
    run(h[2], "touch", "{\"uri\":\"" URI "\"}", MCPLUG_OK);
    turn_for(100);
    ck_assert_uint_eq(n[0], 1);
    ck_assert_uint_eq(n[1], 2);
    ck_assert_uint_eq(n[2], 0);
    end();
}
END_TEST

/* ---- what is known of it ---- */

static void knows_it(mcplug_server *h, const char *pid)
{
    ck_assert_str_eq(mcplug_server_revision(h), "2025-06-18");
    ck_assert_msg(strstr(mcplug_server_info(h), "\"version\":\"1\""), "%s",
                  mcplug_server_info(h));
    ck_assert_ptr_nonnull(strstr(mcplug_server_capabilities(h), "\"tools\""));
    ck_assert_str_eq(mcplug_server_instructions(h), "Be kind.");
    ck_assert_str_eq(mcplug_server_fact(h, "pid"), pid);
    ck_assert_ptr_null(mcplug_server_fact(h, "no such fact"));
    ck_assert_uint_eq(mcplug_list_count(mcplug_server_list(h, MCPLUG_TOOLS)), 2);
}

/* _i: 0 it died, and does not come back, 1 it was opened once, 2 it rests */
START_TEST(what_was_known_of_a_server_is_known_while_it_is_down)
{
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .once = _i == 1,
                                      .lists = MCPLUG_TOOLS,
                                      .idle_ms = _i == 2 ? 300 : 0};
    mcplug_server *h = NULL;
    char pid[32], shell[512];
    begin_bare();
    mcplug_settings *s = simple();
    snprintf(shell, sizeof shell, "%s", at("shell"));
    ck_assert_int_eq(symlink("/bin/sh", shell), 0);
    mcplug_settings_set(s, "command", shell);
    ck_assert_int_eq(mcplug_open(host, s, &o, NULL, NULL, &h, &err), MCPLUG_OK);
    ck_assert_str_eq(mcplug_server_revision(h), ""); /* nothing yet */
    ck_assert_str_eq(mcplug_server_info(h), "{}");
    ck_assert_str_eq(mcplug_server_capabilities(h), "{}");
    ck_assert_str_eq(mcplug_server_instructions(h), "");
    ck_assert_ptr_null(mcplug_server_fact(h, "pid"));
    mcplug_settings_free(s);
    run(h, "quick", NULL, MCPLUG_OK);
    snprintf(pid, sizeof pid, "%lld", (long long)status(h).pid);
    knows_it(h, pid);
    unlink(shell);
    if (_i != 2)
        kill((pid_t)status(h).pid, SIGKILL);
    UNTIL(status(h).state == (_i == 2   ? MCPLUG_STATE_RESTING
                              : _i == 1 ? MCPLUG_STATE_ENDED
                                        : MCPLUG_STATE_WAITING));
    knows_it(h, pid);
    ck_assert_int_eq(status(h).pid, 0);
    ck_assert_str_eq(status(h).revision, "2025-06-18");
    ck_assert_str_eq(status(h).transport, "stdio");
    if (_i == 0) { /* attempts that fail take nothing of it */
        UNTIL(status(h).starts >= 3);
        knows_it(h, pid);
    }
    end();
}
END_TEST

START_TEST(structs_to_be_filled_are_filled_as_far_as_their_size_goes)
{
    struct mcplug_status st;
    struct mcplug_ledger l;
    uint32_t sizes[] = {0, 2, sizeof(uint32_t), offsetof(struct mcplug_ledger, issued)};

    begin_bare();
    mcplug_server *h = hold(example("modern"), NULL);
    run(h, "echo", "{\"text\":\"x\"}", MCPLUG_OK);
    for (size_t i = 0; i < MP_COUNT(sizes); i++) {
        memset(&st, 0x5a, sizeof st);
        memset(&l, 0x5a, sizeof l);
        st.struct_size = l.struct_size = sizes[i];
        mcplug_server_status(h, &st);
        mcplug_server_ledger(h, &l);
        ck_assert_uint_eq(l.issued, 0x5a5a5a5a5a5a5a5a);
        ck_assert_uint_eq(st.starts, 0x5a5a5a5a5a5a5a5a);
    }
    ck_assert_uint_eq(l.under_way, 0);
    mcplug_close_wait(h);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_test(tc, the_books_of_all_who_share_a_server_add_up);
    tcase_add_test(tc, structs_to_be_filled_are_filled_as_far_as_their_size_goes);
    tcase_add_loop_test(tc, there_is_no_way_to_a_tool_that_is_denied, 0, 2);
    tcase_add_test(tc, a_toolbox_has_no_way_to_a_tool_that_is_denied_either);
    tcase_add_loop_test(tc, a_question_is_of_the_server_whose_call_it_belongs_to, 0, 2);
    tcase_add_loop_test(tc, a_question_outlives_the_server_that_was_asked, 0, 2);
    tcase_add_loop_test(tc, only_who_subscribed_hears_of_it, 0, 2);
    tcase_add_loop_test(tc, what_was_known_of_a_server_is_known_while_it_is_down, 0, 3);
}

int main(void)
{
    return run_suite("api_server_own", add);
}
