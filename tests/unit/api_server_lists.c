/* Servers that stay up, and their lists: those that change at a bad time, cannot be had,
 * or hang. */
#include "config_kit.h"

#include "api/host.h"
#include "talker_kit.h"

/* ---- lists that change ---- */

START_TEST(a_list_that_changes_during_the_start_is_fetched_again)
{
    begin_bare();
    mcplug_server *h =
        hold(talks("BETWEEN", "tools=\"$tools,$tool\\\"new\\\"}\"; changed"), NULL);
    UNTIL(tools_of(h) == 3);
    ck_assert_int_ge(mcplug_list_find(mcplug_server_list(h, MCPLUG_TOOLS), "new"), 0);
    turn_for(1200);
    ck_assert_uint_eq(booked('*'), 2); /* and that was all */
    ck_assert_uint_eq(status(h).tools, 3);
    end();
}
END_TEST

/* _i: 0 it says so before and after each list, 1 all the time */
START_TEST(a_server_whose_lists_always_change_is_asked_once_a_second)
{
    static const char *const hooks[][2] = {
        {"BEFORE", "AFTER=changed; changed"},
        {"AFTER", "if [ -z \"$on\" ]; then on=1\n"
                  "(while changed 2>/dev/null; do sleep 0.01; done) & fi"}};
    begin_bare();
    mcplug_server *h = hold(talks(hooks[_i][0], hooks[_i][1]), NULL);
    uint64_t since = now_ms();
    turn_for(1300);
    unsigned n = booked('*'), most = 3 + (unsigned)((now_ms() - since) / 1000);
    ck_assert_msg(n >= 2 && n <= most, "%u times in %u ms", n,
                  (unsigned)(now_ms() - since));
    quick(h); /* nothing else suffers */
    mcplug_close_wait(h);
    end();
}
END_TEST

/* Says that its tools change when it is let go, and has one more from then on. The list
 * that it is asked for then is $SPOILT until there are $GOOD in the book. */
static mcplug_settings *spoils(const char *spoilt, const char *good)
{
    mcplug_settings *s = talks("SPOILT", spoilt);
    mcplug_settings_put(s, "env", "GOOD", good);
    mcplug_settings_put(
        s, "env", "BEFORE",
        "n=$((n+1)); if [ $n -gt 1 ]; then tools=\"$tool\\\"new\\\"}\"\n"
        "if [ $n -lt \"$GOOD\" ]; then put \"\\\"id\\\":$id,$SPOILT\"; continue; fi; fi");
    mcplug_settings_put(s, "env", "AFTER",
                        "if [ $n = 1 ]; then (for i in 1 2; do\n"
                        "while [ ! -e \"$BOOK.go\" ]; do sleep 0.02; done; changed\n"
                        "while [ -e \"$BOOK.go\" ]; do sleep 0.02; done\n"
                        "echo '~' >> \"$BOOK\"; done) & fi");
    return s;
}

#define REFUSAL "\"error\":{\"code\":-32603,\"message\":\"busy\"}"
#define NONSENSE "\"result\":{}"

static unsigned told_of(const char *text)
{
    unsigned n = 0;
    for (const char *at = logged; (at = strstr(at, text)); at++)
        n++;
    return n;
}

/* Holds it, and tells it to say that its tools have changed, which it spoils once. */
static mcplug_server *hold_spoilt(mcplug_settings *s)
{
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .probe_ms = UINT64_C(1) << 40}; /* never */
    begin_bare();
    mcplug_settings_put(s, "env", "BOOK", book);
    mcplug_server *h = hold(s, &o);
    mp_loop_fake_clock(host->loop);
    mp_service_recall(h->service, mp_strdup(at("kept.json")));
    let_go(true);
    SOON(told_of("cannot get its list of tools") == 1);
    return h;
}

/* _i: 0 it refuses, 1 it makes no sense */
START_TEST(a_change_is_not_lost_when_its_list_cannot_be_had)
{
    mcplug_server *h = hold_spoilt(spoils(_i ? NONSENSE : REFUSAL, "3"));
    ck_assert_uint_eq(tools_of(h), 2);
    ck_assert_int_ne(access(at("kept.json"), F_OK), 0); /* the old one has no new date */
    pass(MP_RETRY_MS - 1);
    ck_assert_uint_eq(booked('*'), 2);
    pass(1);
    SOON(tools_of(h) == 1);
    ck_assert_uint_eq(booked('*'), 3);
    ck_assert_int_eq(access(at("kept.json"), F_OK), 0);
    pass(1000000);
    ck_assert_uint_eq(booked('*'), 3);
    let_go(false);
    end();
}
END_TEST

START_TEST(a_server_that_refuses_a_list_is_left_alone_until_it_changes_again)
{
    mcplug_server *h = hold_spoilt(spoils(REFUSAL, "5"));
    for (unsigned n = 2; n <= MP_REFUSALS_MAX; n++) {
        pass((uint64_t)MP_RETRY_MS << (n - 2));
        SOON(told_of("cannot get its list") == n);
    }
    pass(100000000);
    ck_assert_uint_eq(booked('*'), 1 + MP_REFUSALS_MAX);
    ck_assert_int_eq(status(h).state, MCPLUG_STATE_READY);
    ck_assert_uint_eq(tools_of(h), 2);
    let_go(false);
    SOON(booked('~') == 1); /* it has seen that */
    let_go(true);
    SOON(tools_of(h) == 1);
    let_go(false);
    end();
}
END_TEST

START_TEST(a_list_that_makes_no_sense_is_asked_for_less_and_less_often)
{
    uint64_t ms = MP_RETRY_MS;
    mcplug_server *h = hold_spoilt(spoils(NONSENSE, "99"));
    for (unsigned n = 2; n < 9; n++) {
        pass(ms - 1);
        ck_assert_uint_eq(told_of("cannot get its list"), n - 1);
        pass(1);
        SOON(told_of("cannot get its list") == n);
        if (n <= MP_RETRY_DOUBLINGS + 1)
            ms *= 2;
    }
    ck_assert_int_eq(status(h).state, MCPLUG_STATE_READY);
    let_go(false);
    end();
}
END_TEST

/* ---- lists that hang ---- */

static void on_told(void *arg, mcplug_server *h, int kind, const char *uri)
{
    (void)h, (void)uri;
    *(int *)arg |= kind;
}

static mcplug_server *open_lazily(mcplug_settings *s,
                                  const struct mcplug_server_options *o)
{
    mcplug_server *h = NULL;
    int r = mcplug_open(host, s, o, NULL, NULL, &h, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(s);
    return h;
}

/* _i: 0 it never comes, 1 it comes late */
START_TEST(a_server_with_its_tools_is_ready_though_another_list_hangs)
{
    int told = 0;
    struct outcome out;
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .changed = on_told, .arg = &told};
    begin_bare();
    mp_loop_fake_clock(host->loop);
    mcplug_server *h = open_lazily(
        talks("BETWEEN",
              _i ? "while [ ! -e \"$BOOK.go\" ]; do sleep 0.02; done" : "continue"),
        &o);
    call(h, "quick", NULL, &out);
    SOON(h->service->lists[0].list && h->service->session);
    pass(MP_LISTS_MS - 1);
    ck_assert_int_eq(status(h).state, MCPLUG_STATE_STARTING);
    pass(1);
    ck_assert_int_eq(status(h).state, MCPLUG_STATE_READY);
    ck_assert_uint_eq(tools_of(h), 2);
    ck_assert_ptr_null(mcplug_server_list(h, MCPLUG_PROMPTS));
    ck_assert_int_eq(told, 0);
    let_go(_i);
    SOON(out.times && (!_i || told));
    ck_assert_msg(out.code == MCPLUG_OK, "%s", out.text);
    ck_assert_int_eq(told, _i ? MCPLUG_PROMPTS : 0);
    ck_assert_int_eq(mcplug_server_list(h, MCPLUG_PROMPTS) != NULL, _i);
    let_go(false);
    end();
}
END_TEST

START_TEST(a_server_without_its_tools_fails_at_once_though_another_list_hangs)
{
    begin_bare();
    mp_loop_fake_clock(host->loop);
    mcplug_settings *s = talks("BETWEEN", "continue");
    mcplug_settings_put(s, "env", "BEFORE",
                        "put \"\\\"id\\\":$id,\\\"error\\\":{\\\"code\\\":-32603,"
                        "\\\"message\\\":\\\"busy\\\"}\"; continue");
    mcplug_server *h = open_lazily(s, NULL);
    struct outcome out;
    call(h, "quick", NULL, &out);
    SOON(status(h).error);
    ck_assert_int_eq(status(h).error->code, MCPLUG_EPEER);
    ck_assert_uint_eq(out.times, 0); /* another attempt may bring them */
    end();
}
END_TEST

START_TEST(a_server_that_dies_when_asked_for_another_list_was_never_ready)
{
    struct outcome out;
    begin_bare();
    mcplug_server *h = open_lazily(talks("BETWEEN", "exit 3"), NULL);
    call(h, "quick", NULL, &out);
    UNTIL(status(h).starts == 3);
    ck_assert_uint_eq(status(h).restarts, 0);
    ck_assert(!h->service->keeper.was_ready);
    ck_assert_msg(strstr(status(h).error->text, "exited with status 3") != NULL, "%s",
                  status(h).error->text);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_test(tc, a_list_that_changes_during_the_start_is_fetched_again);
    tcase_add_loop_test(tc, a_server_whose_lists_always_change_is_asked_once_a_second, 0,
                        2);
    tcase_add_loop_test(tc, a_change_is_not_lost_when_its_list_cannot_be_had, 0, 2);
    tcase_add_test(tc, a_server_that_refuses_a_list_is_left_alone_until_it_changes_again);
    tcase_add_test(tc, a_list_that_makes_no_sense_is_asked_for_less_and_less_often);
    tcase_add_loop_test(tc, a_server_with_its_tools_is_ready_though_another_list_hangs, 0,
                        2);
    tcase_add_test(tc,
                   a_server_without_its_tools_fails_at_once_though_another_list_hangs);
    tcase_add_test(tc, a_server_that_dies_when_asked_for_another_list_was_never_ready);
}

int main(void)
{
    return run_suite("api_server_lists", add);
}
