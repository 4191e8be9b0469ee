/* Servers and what is asked of their connection: one attempt only, one of its own, which
 * lists it waits for, and how long somebody waits for it. */
#include "config_kit.h"

#include "api/host.h"
#include "talker_kit.h"

#include <signal.h>

struct ready {
    unsigned times;
    int code;
    char text[512];
};

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct ready *r = arg;
    ck_assert_ptr_nonnull(server);
    r->times++;
    r->code = why ? why->code : MCPLUG_OK;
    snprintf(r->text, sizeof r->text, "%s", why ? why->text : "");
}

static mcplug_server *open_for(mcplug_settings *s, const struct mcplug_server_options *o,
                               struct ready *ready)
{
    mcplug_server *h = NULL;
    memset(ready, 0, sizeof *ready);
    int r = mcplug_open(host, s, o, on_ready, ready, &h, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_uint_eq(ready->times, 0); /* never inside */
    mcplug_settings_free(s);
    return h;
}

struct states {
    unsigned n_blamed, n_ended;
    enum mcplug_state last;
};

static void on_state(void *arg, mcplug_server *h, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct states *s = arg;
    (void)h;
    s->last = state;
    s->n_blamed += why != NULL;
    s->n_ended += state == MCPLUG_STATE_ENDED;
}

/* ---- once ---- */

static void on_any_list(void *arg, mcplug_call *call, mcplug_list *list,
                        const struct mcplug_error *why)
{
    (void)arg, (void)call, (void)list, (void)why;
    ck_abort_msg("told of a list that was refused");
}

/* Nothing can be asked of it any more; each refusal says of which server. */
static void is_gone_for_good(mcplug_server *h)
{
    struct outcome out = {0};
    for (int i = 0; i < 7; i++) {
        int r = MCPLUG_OK;
        err = (struct mcplug_error)MCPLUG_ERROR_INIT;
        if (i == 0)
            mcplug_call_tool(h, "quick", NULL, NULL, on_outcome, &out, &err);
        else if (i == 1)
            r = mcplug_call_tool_wait(h, "quick", NULL, NULL, NULL, &err);
        else if (i == 2)
            mcplug_request(h, "resources/list", NULL, NULL, on_outcome, &out, &err);
        else if (i == 3)
            mcplug_ping(h, NULL, on_outcome, &out, &err);
        else if (i == 4)
            mcplug_get_list(h, MCPLUG_TOOLS, NULL, on_any_list, NULL, &err);
        else if (i == 5)
            mcplug_subscribe(h, "x:1", NULL, NULL, NULL, &err);
        else
            r = mcplug_restart(h, &err);
        ck_assert_msg(err.code == MCPLUG_ECLOSED && strstr(err.text, "\"single\""),
                      "%d: %d, %s", i, err.code, err.text);
        ck_assert(r == MCPLUG_OK || r == MCPLUG_ECLOSED);
    }
    turn_for(50);
    ck_assert_uint_eq(out.times, 0);
    ck_assert_int_eq(status(h).state, MCPLUG_STATE_ENDED);
    ck_assert_int_eq(status(h).pid, 0);
    ck_assert_ptr_nonnull(status(h).error);
    ck_assert_uint_eq(status(h).starts, 1);
}

/* _i: 0 the program is not there, 1 it ends, 2 no module can do it, 3 it says nothing */
START_TEST(once_the_first_attempt_decides)
{
    struct states states = {0};
    struct ready ready;
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .once = 1,
                                      .name = "single",
                                      .timeout_ms = _i == 3 ? 300 : 0,
                                      .state = on_state,
                                      .arg = &states};
    begin_bare();
    mcplug_settings *s = _i == 1   ? SCRIPTED("FIRST", "exit 3")
                         : _i == 3 ? SCRIPTED("FIRST", "exec cat > /dev/null")
                                   : mcplug_settings_new(_i ? "carrier-pigeon" : "stdio");
    if (_i == 0)
        mcplug_settings_set(s, "command", "/nonexistent/x");
    uint64_t since = now_ms();
    mcplug_server *h = open_for(s, &o, &ready);
    UNTIL(ready.times);
    ck_assert_uint_lt(now_ms() - since, 10000); /* it is not tried for a minute */
    ck_assert_int_ne(ready.code, MCPLUG_OK);
    ck_assert(ready.text[0]);
    UNTIL(states.n_ended);
    ck_assert_uint_ge(states.n_blamed, 1);
    is_gone_for_good(h);
    turn_for(_i ? 100 : 1300); /* when the others would be tried again */
    ck_assert_uint_eq(status(h).starts, 1);
    ck_assert_uint_eq(ready.times, 1);
    mcplug_close_wait(h);
    end();
}
END_TEST

START_TEST(once_gone_it_is_gone)
{
    struct states states = {0};
    struct outcome slow, queued;
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .once = 1,
                                      .name = "single",
                                      .queue = "q",
                                      .state = on_state,
                                      .arg = &states};
    begin_bare();
    mcplug_server *h = hold(talks("SLOW", "20"), &o);
    quick(h);
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_ECLOSED);
    ck_assert_ptr_nonnull(strstr(err.text, "\"single\" was opened without supervision"));
    ck_assert_int_eq(status(h).state, MCPLUG_STATE_READY);
    call(h, "slow", NULL, &slow);
    call(h, "quick", NULL, &queued); /* never sent, and nothing can send it any more */
    turn_for(100);
    ck_assert_ptr_null(status(h).error);
    kill((pid_t)status(h).pid, SIGKILL);
    UNTIL(slow.times && queued.times);
    ck_assert_msg(slow.code == MCPLUG_ECLOSED, "%d %s", slow.code, slow.text);
    ck_assert_msg(queued.code == MCPLUG_ECLOSED, "%d %s", queued.code, queued.text);
    UNTIL(states.n_ended);
    ck_assert_uint_ge(states.n_blamed, 1);
    is_gone_for_good(h);
    ck_assert_uint_eq(booked('+'), 1);
    ck_assert_ptr_nonnull(strstr(mcplug_server_info(h), "\"name\":\"s\""));
    ck_assert_uint_eq(states.n_ended, 1);
    mcplug_close_wait(h);
    end();
}
END_TEST

START_TEST(once_idle_it_is_gone_and_nothing_went_wrong)
{
    struct states states = {0};
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .once = 1,
                                      .name = "single",
                                      .idle_ms = 200,
                                      .state = on_state,
                                      .arg = &states};
    begin_bare();
    mcplug_server *h = hold(talks(NULL, NULL), &o);
    quick(h);
    UNTIL(states.n_ended);
    ck_assert_uint_eq(states.n_blamed, 0);
    ck_assert_ptr_null(status(h).error);
    ck_assert_int_eq(mcplug_call_tool_wait(h, "quick", NULL, NULL, NULL, &err),
                     MCPLUG_ECLOSED);
    ck_assert_str_eq(err.text,
                     "server \"single\" is not connected: stopped because it was idle");
    ck_assert_uint_eq(booked('+'), 1);
    end();
}
END_TEST

/* _i: 0 none unless asked for, 1 those that are */
START_TEST(once_no_list_is_fetched_but_any_can_be_had)
{
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .once = 1, .lists = _i ? MCPLUG_TOOLS : 0};
    mcplug_list *list = NULL;
    begin_bare();
    mcplug_server *h = hold(talks("BETWEEN", "echo p >> \"$BOOK\""), &o);
    turn_for(100);
    ck_assert_uint_eq(booked('*'), (unsigned)_i);
    ck_assert_uint_eq(booked('p'), 0);
    ck_assert_int_eq(mcplug_server_list(h, MCPLUG_TOOLS) != NULL, _i);
    ck_assert_int_eq(mcplug_get_list_wait(h, MCPLUG_TOOLS, NULL, &list, &err), MCPLUG_OK);
    ck_assert_uint_eq(mcplug_list_count(list), 2);
    mcplug_list_unref(list);
    ck_assert_uint_eq(booked('*'), 1);
    ck_assert_uint_eq(tools_of(h), 2); /* as it was found last */
    ck_assert_int_eq(mcplug_get_list_wait(h, MCPLUG_PROMPTS, NULL, &list, &err),
                     MCPLUG_OK);
    ck_assert_uint_eq(mcplug_list_count(list), 0);
    mcplug_list_unref(list);
    ck_assert_uint_eq(booked('p'), 1);
    mcplug_close_wait(h);
    end();
}
END_TEST

/* _i: 0 dedicated, 1 once, which is that too */
START_TEST(one_of_its_own_is_nobody_elses)
{
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .dedicated = _i == 0, .once = _i == 1};
    begin_bare();
    mcplug_server *a = hold(talks(NULL, NULL), &o), *b = hold(talks(NULL, NULL), &o);
    mcplug_server *c = hold(talks(NULL, NULL), NULL), *d = hold(talks(NULL, NULL), NULL);
    int64_t pid = status(b).pid;
    ck_assert_int_ne(status(a).pid, pid);
    ck_assert_int_ne(status(a).pid, status(c).pid);
    ck_assert_int_ne(status(c).pid, pid);
    ck_assert_int_eq(status(c).pid, status(d).pid);
    ck_assert_uint_eq(status(a).servers, 1);
    ck_assert_uint_eq(status(c).servers, 2);
    kill((pid_t)status(a).pid, SIGKILL);
    UNTIL(status(a).state == (_i ? MCPLUG_STATE_ENDED : MCPLUG_STATE_READY) &&
          (_i || status(a).starts == 2));
    ck_assert_int_eq(status(b).pid, pid); /* theirs is another matter */
    ck_assert_uint_eq(status(c).starts, 1);
    quick(b);
    quick(c);
    ck_assert_uint_eq(booked('+'), _i ? 3 : 4);
    end();
}
END_TEST

/* ---- lists ---- */

START_TEST(ready_waits_for_the_lists_that_are_wanted_and_no_others)
{
    static const struct {
        unsigned lists, tools, prompts;
    } cases[] = {
        {0, 1, 1}, {MCPLUG_TOOLS, 1, 0}, {MCPLUG_PROMPTS, 0, 1}, {MCPLUG_NO_LISTS, 0, 0}};
    struct mcplug_server_options o = {.struct_size = sizeof o, .lists = cases[_i].lists};
    mcplug_list *list = NULL;
    begin_bare();
    mcplug_server *h = hold(talks("BETWEEN", "echo p >> \"$BOOK\""), &o);
    ck_assert_int_eq(status(h).state, MCPLUG_STATE_READY);
    ck_assert_int_eq(mcplug_server_list(h, MCPLUG_TOOLS) != NULL, cases[_i].tools);
    ck_assert_int_eq(mcplug_server_list(h, MCPLUG_PROMPTS) != NULL, cases[_i].prompts);
    turn_for(100);
    ck_assert_uint_eq(booked('*'), cases[_i].tools);
    ck_assert_uint_eq(booked('p'), cases[_i].prompts);
    ck_assert_uint_eq(status(h).tools, 2 * cases[_i].tools);
    quick(h);
    ck_assert_int_eq(mcplug_get_list_wait(h, MCPLUG_TOOLS, NULL, &list, &err), MCPLUG_OK);
    ck_assert_uint_eq(mcplug_list_count(list), 2);
    mcplug_list_unref(list);
    ck_assert_int_eq(mcplug_get_list_wait(h, MCPLUG_PROMPTS, NULL, &list, &err),
                     MCPLUG_OK);
    mcplug_list_unref(list);
    ck_assert_uint_eq(booked('*'), 1);
    ck_assert_uint_eq(booked('p'), 1);
    mcplug_close_wait(h);
    end();
}
END_TEST

/* _i: 1 both are there before it is up */
START_TEST(who_joins_a_server_that_is_up_without_lists_has_his)
{
    struct mcplug_server_options none = {.struct_size = sizeof none,
                                         .lists = MCPLUG_NO_LISTS};
    struct ready first, second;
    begin_bare();
    mcplug_server *a = open_for(talks(NULL, NULL), &none, &first);
    if (!_i) {
        UNTIL(first.times);
        ck_assert_ptr_null(mcplug_server_list(a, MCPLUG_TOOLS));
        ck_assert_uint_eq(booked('*'), 0);
    }
    mcplug_server *b = open_for(talks(NULL, NULL), NULL, &second);
    UNTIL(first.times && second.times);
    ck_assert_int_eq(second.code, MCPLUG_OK);
    ck_assert_int_eq(status(a).pid, status(b).pid);
    ck_assert_uint_eq(tools_of(b), 2);
    ck_assert_ptr_nonnull(mcplug_server_list(b, MCPLUG_PROMPTS));
    ck_assert_uint_eq(booked('*'), 1);
    ck_assert_uint_eq(booked('+'), 1);
    ck_assert_int_eq(mcplug_restart(a, &err), MCPLUG_OK); /* and they stay wanted */
    UNTIL(status(b).starts == 2 && status(b).state == MCPLUG_STATE_READY);
    ck_assert_uint_eq(booked('*'), 2);
    end();
}
END_TEST

static void on_list(void *arg, mcplug_call *call, mcplug_list *list,
                    const struct mcplug_error *why)
{
    struct ready *r = arg;
    (void)call;
    ck_assert((list == NULL) == (why != NULL));
    r->times++;
    r->code = why ? why->code : MCPLUG_OK;
}

/* _i: 0 it is not up, 1 it is, and the list hangs, 2 it is not up, and another stays */
START_TEST(a_list_that_is_waited_for_ends_with_the_close)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .lists = MCPLUG_NO_LISTS};
    struct ready ready, listed = {0};
    begin_bare();
    mcplug_server *other = NULL;
    mcplug_settings *s =
        talks(_i == 1 ? "BEFORE" : "AFTER", _i == 1 ? "continue" : "true");
    if (_i != 1) { /* never up */
        mcplug_settings_free(s);
        s = SCRIPTED("FIRST", "exec cat > /dev/null");
    }
    if (_i == 2)
        ck_assert_int_eq(mcplug_open(host, s, &o, NULL, NULL, &other, &err), MCPLUG_OK);
    mcplug_server *h = open_for(s, &o, &ready);
    UNTIL(_i != 1 || ready.times);
    ck_assert_ptr_nonnull(mcplug_get_list(h, MCPLUG_TOOLS, NULL, on_list, &listed, &err));
    turn_for(50);
    ck_assert_uint_eq(listed.times, 0);
    mcplug_close(h, NULL, NULL);
    ck_assert_uint_eq(listed.times, 0); /* never inside */
    UNTIL(listed.times && ready.times);
    ck_assert_int_eq(listed.code, MCPLUG_ECANCELED);
    ck_assert_int_eq(ready.code, _i == 1 ? MCPLUG_OK : MCPLUG_ECANCELED);
    turn_for(50);
    ck_assert_uint_eq(listed.times, 1);
    ck_assert_uint_eq(ready.times, 1);
    end();
}
END_TEST

/* ---- how long somebody waits ---- */

static mcplug_server *open_silent(uint64_t ready_ms, struct ready *ready)
{
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .name = "late", .ready_ms = ready_ms};
    mcplug_settings *s = SCRIPTED("FIRST", "exec cat > /dev/null");
    return open_for(s, &o, ready);
}

START_TEST(who_waits_gives_up_in_his_own_time)
{
    struct ready five, twenty, all, newcomer;
    struct outcome out;
    begin_bare();
    mp_loop_fake_clock(host->loop);
    mcplug_server *h = open_silent(5000, &five);
    open_silent(20500, &twenty);
    pass(1000);
    open_silent(0, &all);
    ck_assert_uint_eq(status(h).servers, 3);
    pass(3999);
    ck_assert_uint_eq(five.times, 0);
    pass(1);
    ck_assert_uint_eq(five.times, 1);
    ck_assert_int_eq(five.code, MCPLUG_ETIMEDOUT);
    ck_assert_msg(strstr(five.text, "server \"late\" was not ready within 5s"), "%s",
                  five.text);
    ck_assert_uint_eq(twenty.times + all.times, 0);
    pass(2000);
    open_silent(50000, &newcomer); /* one has given up: newcomers need not wait */
    mcplug_turn(host, 0);
    ck_assert_uint_eq(newcomer.times, 1);
    ck_assert_msg(strstr(newcomer.text, "failed 2s ago"), "%s", newcomer.text);
    open_silent(0, &newcomer);
    call(h, "quick", NULL, &out);
    mcplug_turn(host, 0);
    ck_assert_uint_eq(newcomer.times, 1);
    ck_assert_uint_eq(out.times, 1);
    ck_assert_msg(strstr(out.text, "failed 2s ago"), "%s", out.text);
    ck_assert_uint_eq(twenty.times + all.times,
                      0); /* they have their time all the same */
    pass(13499);
    ck_assert_uint_eq(twenty.times, 0);
    pass(1);
    ck_assert_uint_eq(twenty.times, 1);
    ck_assert_msg(strstr(twenty.text, "within 20500ms"), "%s", twenty.text);
    pass(40499); /* a minute after it came */
    ck_assert_uint_eq(all.times, 0);
    pass(1);
    ck_assert_uint_eq(all.times, 1);
    ck_assert_int_eq(all.code, MCPLUG_ETIMEDOUT);
    ck_assert_msg(strstr(all.text, "within 60s"), "%s", all.text);
    ck_assert_uint_eq(five.times + twenty.times, 2);
    ck_assert_uint_ge(status(h).starts, 2); /* attempts go on */
    end();
}
END_TEST

START_TEST(who_says_nothing_waits_with_all_the_others)
{
    struct ready first, second;
    begin_bare();
    mp_loop_fake_clock(host->loop);
    open_silent(0, &first);
    pass(30000);
    open_silent(0, &second);
    pass(29999);
    ck_assert_uint_eq(first.times + second.times, 0);
    pass(1);
    ck_assert_uint_eq(first.times, 1);
    ck_assert_uint_eq(second.times, 1);
    end();
}
END_TEST

START_TEST(an_attempt_that_succeeds_lets_newcomers_wait_again)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .ready_ms = 300};
    struct ready ready;
    begin_bare();
    mcplug_server *h =
        open_for(SCRIPTED("FIRST", "while [ ! -e \"$BOOK.go\" ]; do sleep 0.02; done",
                          "TOOLS", TOOL("quick"), "RESULT", "\"content\":[]"),
                 &o, &ready);
    UNTIL(ready.times);
    ck_assert_int_eq(ready.code, MCPLUG_ETIMEDOUT);
    let_go(true);
    UNTIL(status(h).state == MCPLUG_STATE_READY); /* it was not given up */
    quick(h);
    ck_assert_uint_eq(ready.times, 1);
    let_go(false);
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
    struct outcome out;
    call(h, "quick", NULL, &out);
    turn_for(500);
    ck_assert_uint_eq(out.times, 0); /* it waits */
    let_go(true);
    UNTIL(out.times);
    ck_assert_msg(out.code == MCPLUG_OK, "%s", out.text);
    let_go(false);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_loop_test(tc, once_the_first_attempt_decides, 0, 4);
    tcase_add_test(tc, once_gone_it_is_gone);
    tcase_add_test(tc, once_idle_it_is_gone_and_nothing_went_wrong);
    tcase_add_loop_test(tc, once_no_list_is_fetched_but_any_can_be_had, 0, 2);
    tcase_add_loop_test(tc, one_of_its_own_is_nobody_elses, 0, 2);
    tcase_add_loop_test(tc, ready_waits_for_the_lists_that_are_wanted_and_no_others, 0,
                        4);
    tcase_add_loop_test(tc, who_joins_a_server_that_is_up_without_lists_has_his, 0, 2);
    tcase_add_loop_test(tc, a_list_that_is_waited_for_ends_with_the_close, 0, 3);
    tcase_add_test(tc, who_waits_gives_up_in_his_own_time);
    tcase_add_test(tc, who_says_nothing_waits_with_all_the_others);
    tcase_add_test(tc, an_attempt_that_succeeds_lets_newcomers_wait_again);
}

int main(void)
{
    return run_suite("api_server_once", add);
}
