/* Servers that stay up, at the edges: when the last one goes, when nothing is called,
 * and when a server is slow. */
#include "config_kit.h"

#include "api/host.h"
#include "talker_kit.h"

#include <signal.h>

/* ---- the last one goes ---- */

START_TEST(a_shared_server_that_may_be_idle_lingers_and_is_found_again)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 700};
    begin_bare();
    mcplug_server *h = hold(talks(NULL, NULL), &o);
    int64_t pid = status(h).pid;
    for (int i = 0; i < 2; i++) {
        mcplug_close_wait(h);
        turn_for(200);
        ck_assert(lives(pid));
        h = hold(talks(NULL, NULL), &o);
        ck_assert_int_eq(status(h).pid, pid);
        ck_assert_uint_eq(status(h).starts, 1);
        quick(h);
    }
    mcplug_close_wait(h);
    uint64_t since = now_ms();
    UNTIL(!lives(pid));
    ck_assert_uint_ge(now_ms() - since, 500);
    ck_assert_uint_lt(now_ms() - since, 5000);
    UNTIL(!host->registry.services);
    ck_assert_uint_eq(booked('+'), 1);
    h = hold(talks(NULL, NULL), &o); /* and now it is another one */
    ck_assert_int_ne(status(h).pid, pid);
    end();
}
END_TEST

START_TEST(the_idle_time_of_a_server_that_lingers_begins_with_the_release)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 10000};
    begin_bare();
    mcplug_server *h = hold(talks(NULL, NULL), &o);
    int64_t pid = status(h).pid;
    mp_loop_fake_clock(host->loop);
    pass(9000);
    mcplug_close_wait(h);
    pass(9990);
    ck_assert(lives(pid));
    ck_assert_ptr_nonnull(host->registry.services);
    pass(10);
    SOON(!host->registry.services);
    ck_assert(!lives(pid));
    end();
}
END_TEST

static unsigned n_released;
static int64_t released_pid;
static bool lived_on;

static void on_released(void *arg)
{
    (void)arg;
    n_released++;
    lived_on = lives(released_pid);
}

static void never_asked(void *arg, mcplug_server *server, mcplug_input *input,
                        const char *params, size_t len)
{
    (void)arg, (void)server, (void)input, (void)params, (void)len;
    ck_abort_msg("asked");
}

/* _i: 0 dedicated, 1 .. 4 it could ask somebody who is gone */
START_TEST(a_server_that_is_nobody_elses_is_gone_when_its_release_is_told)
{
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .idle_ms = 600000,
                                      .dedicated = _i == 0,
                                      .roots = _i == 1 ? never_asked : NULL,
                                      .elicit = _i == 2 ? never_asked : NULL,
                                      .elicit_url = _i == 3 ? never_asked : NULL,
                                      .sample = _i == 4 ? never_asked : NULL};
    n_released = 0;
    begin_bare();
    mcplug_server *h = hold(talks(NULL, NULL), &o);
    released_pid = status(h).pid;
    ck_assert(lives(released_pid));
    mcplug_close(h, on_released, NULL);
    ck_assert_uint_eq(n_released, 0);
    UNTIL(n_released);
    ck_assert(!lived_on);
    UNTIL(!host->registry.services);
    end();
    ck_assert_uint_eq(n_released, 1);
}
END_TEST

/* _i: 1 the program is gone too, so that it would never come up again */
START_TEST(a_server_that_dies_while_it_lingers_is_not_started_again)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 600000};
    begin_bare();
    mcplug_settings *s = talks(NULL, NULL);
    if (_i) {
        ck_assert_int_eq(symlink("/bin/sh", at("shell")), 0);
        mcplug_settings_set(s, "command", at("shell"));
    }
    mcplug_server *h = hold(s, &o);
    int64_t pid = status(h).pid;
    mcplug_close_wait(h);
    ck_assert(lives(pid));
    ck_assert_ptr_nonnull(host->registry.services);
    if (_i)
        unlink(at("shell"));
    kill((pid_t)pid, SIGKILL);
    UNTIL(!host->registry.services);
    ck_assert(!lives(pid));
    turn_for(300);
    ck_assert_uint_eq(booked('+'), 1);
    end();
}
END_TEST

START_TEST(a_host_is_freed_while_a_server_lingers)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 600000};
    begin_bare();
    mcplug_server *h = hold(talks(NULL, NULL), &o);
    int64_t pid = status(h).pid;
    mcplug_close_wait(h);
    if (_i)
        kill((pid_t)pid, SIGKILL);
    ck_assert(_i || lives(pid));
    mcplug_free(host);
    ck_assert(!lives(pid));
    ck_assert_uint_eq(booked('+'), 1);
    unlink(book);
}
END_TEST

START_TEST(a_host_that_was_busy_for_long_lets_servers_leave_in_their_time)
{
    begin_bare();
    mcplug_settings *s = talks("BEFORE", "trap 'echo T >> \"$BOOK\"' TERM\n"
                                         "trap 'sleep 0.2; echo E >> \"$BOOK\"' EXIT");
    mcplug_settings_set(s, "closeGrace", "700ms");
    hold(s, NULL);
    usleep(900000); /* nobody turns its loop */
    mcplug_free(host);
    ck_assert_uint_eq(booked('T'), 0);
    ck_assert_uint_eq(booked('E'), 1);
    unlink(book);
}
END_TEST

/* ---- idle ---- */

/* _i: 0 the second one says never, 1 longer, 2 never, and the first one has gone,
 * 3 longer, and the first one has gone, 4 shorter than the first */
START_TEST(who_wants_a_server_longest_has_his_way)
{
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .idle_ms = _i == 4 ? 600000 : 400};
    begin_bare();
    mcplug_server *first = hold(talks(NULL, NULL), &o);
    int64_t pid = status(first).pid;
    if (_i == 2 || _i == 3)
        mcplug_close_wait(first);
    o.idle_ms = _i == 4 ? 100 : _i % 2 ? 600000 : 0;
    mcplug_server *second = hold(talks(NULL, NULL), &o);
    turn_for(600);
    ck_assert_int_eq(status(second).state, MCPLUG_STATE_READY);
    ck_assert_int_eq(status(second).pid, pid);
    ck_assert_uint_eq(booked('+'), 1);
    end();
}
END_TEST

/* _i: 0 the first one said nothing, 1 a minute, 2 never */
START_TEST(who_wants_a_server_watched_closest_has_his_way)
{
    static const uint64_t firsts[] = {0, 60000, UINT64_MAX};
    struct mcplug_server_options o = {.struct_size = sizeof o, .probe_ms = firsts[_i]};
    begin_bare();
    mcplug_server *h = hold(talks(NULL, NULL), &o);
    const struct mp_health *health = &h->service->health;
    mp_loop_fake_clock(host->loop);
    pass(1000);
    o.probe_ms = 5000;
    hold(talks(NULL, NULL), &o);
    o.probe_ms = 20000;
    hold(talks(NULL, NULL), &o);
    ck_assert_uint_eq(status(h).servers, 3);
    ck_assert_uint_eq(health->idle_ms, 5000);
    ck_assert_uint_eq(health->checks, 0);
    pass(5000); /* it is not looked at the old pace once more */
    ck_assert_uint_eq(health->checks, 1);
    end();
}
END_TEST

START_TEST(a_call_that_takes_longer_than_it_may_be_idle_keeps_it_up)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 300};
    struct outcome out = {0};
    begin_bare();
    mcplug_server *h = hold(talks("SLOW", "0.8"), &o);
    int64_t pid = status(h).pid;
    ck_assert_ptr_nonnull(
        mcplug_call_tool(h, "slow", NULL, NULL, on_outcome, &out, &err));
    UNTIL(out.times);
    ck_assert_msg(out.code == MCPLUG_OK, "%s", out.text);
    ck_assert(lives(pid));
    UNTIL(status(h).state == MCPLUG_STATE_RESTING); /* and when it is done, it may go */
    ck_assert(!lives(pid));
    end();
}
END_TEST

/* ---- a server that is slow ---- */

START_TEST(a_call_after_one_that_timed_out_is_not_lost)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .dedicated = 1};
    struct mcplug_call_options brief = {.struct_size = sizeof brief, .timeout_ms = 200};
    struct outcome first, second;
    begin_bare();
    mcplug_server *h = hold(talks("SLOW", "3.5"), &o);
    int64_t pid = status(h).pid;
    call(h, "slow", &brief, &first);
    UNTIL(first.times);
    ck_assert_int_eq(first.code, MCPLUG_ETIMEDOUT);
    call(h, "quick", NULL, &second); /* it has not come to this one yet */
    UNTIL(second.times);
    ck_assert_msg(second.code == MCPLUG_OK, "%s", second.text);
    ck_assert_int_eq(status(h).pid, pid);
    ck_assert_uint_eq(status(h).starts, 1);
    end();
}
END_TEST

/* _i: 1 the server is not up yet */
START_TEST(time_that_was_spent_before_counts)
{
    struct mcplug_call_options o = {
        .struct_size = sizeof o, .timeout_ms = 30000, .waited_ms = 29700};
    struct outcome out;
    mcplug_server *h = NULL;
    begin_bare();
    mcplug_settings *s = SCRIPTED("FIRST", _i ? "exec cat > /dev/null" : "");
    ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &h, &err), MCPLUG_OK);
    mcplug_settings_free(s);
    if (!_i) {
        call(h, "any", NULL, &out);
        UNTIL(out.times);
    }
    uint64_t since = now_ms();
    call(h, "hang", &o, &out);
    UNTIL(out.times);
    ck_assert_int_eq(out.code, MCPLUG_ETIMEDOUT);
    ck_assert_uint_ge(now_ms() - since, 200);
    ck_assert_uint_lt(now_ms() - since, 4000);
    o.waited_ms = 40000; /* more than there is: at once, and still by its callback */
    since = now_ms();
    call(h, "hang", &o, &out);
    ck_assert_uint_eq(out.times, 0);
    UNTIL(out.times);
    ck_assert_int_eq(out.code, MCPLUG_ETIMEDOUT);
    ck_assert_uint_lt(now_ms() - since, 3000);
    const struct mcplug_ledger *calls = status(h).calls;
    ck_assert_uint_eq(calls->timed_out, 2);
    ck_assert_uint_eq(calls->issued, _i ? 2 : 3);
    mcplug_call *c = mcplug_call_tool(h, "hang", NULL, &o, on_outcome, &out, &err);
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(err.code, MCPLUG_OK);
    mcplug_cancel(c);
    UNTIL(out.times == 2);
    ck_assert_int_eq(out.code, MCPLUG_ECANCELED);
    end();
}
END_TEST

/* ---- what is told ---- */

struct told {
    unsigned n_ready, n_stopping, n_blamed; /* since it was cleared */
    char why[512];
};

static void on_state(void *arg, mcplug_server *h, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct told *t = arg;
    (void)h;
    t->n_ready += state == MCPLUG_STATE_READY;
    t->n_stopping += state == MCPLUG_STATE_STOPPING;
    t->n_blamed += why != NULL;
    if (why)
        snprintf(t->why, sizeof t->why, "%s", why->text);
}

START_TEST(a_restart_as_asked_tells_of_no_old_failure)
{
    struct told told = {0};
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .state = on_state, .arg = &told};
    begin_bare();
    mcplug_server *h = hold(talks(NULL, NULL), &o);
    UNTIL(told.n_ready);
    told = (struct told){0};
    kill((pid_t)status(h).pid, SIGKILL);
    UNTIL(told.n_ready);
    ck_assert_uint_ge(told.n_blamed, 1); /* this one had a reason */
    ck_assert_ptr_nonnull(status(h).error);
    told = (struct told){0};
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_ERESTARTING);
    UNTIL(told.n_ready);
    ck_assert_uint_eq(told.n_stopping, 1);
    ck_assert_msg(told.n_blamed == 0, "%s", told.why);
    end();
}
END_TEST

static void on_changed(void *arg, mcplug_server *h, int kind, const char *uri)
{
    unsigned *n = arg;
    (void)h;
    *n += uri && kind == MCPLUG_RESOURCES && strcmp(uri, "x:1") == 0;
}

START_TEST(resources_that_are_subscribed_to_stay_so_after_a_restart)
{
    unsigned n_changed = 0;
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .changed = on_changed, .arg = &n_changed};
    begin_bare();
    mcplug_server *h =
        hold(talks("CAPS", "\"tools\":{},\"resources\":{\"subscribe\":true}"), &o);
    ck_assert_ptr_nonnull(mcplug_subscribe(h, "x:1", NULL, NULL, NULL, &err));
    UNTIL(booked('s') == 1);
    for (unsigned i = 2; i < 4; i++) {
        if (i == 2)
            kill((pid_t)status(h).pid, SIGKILL);
        else
            ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
        UNTIL(booked('s') == i);
        UNTIL(n_changed == i - 1); /* it may have changed meanwhile */
        UNTIL(status(h).state == MCPLUG_STATE_READY);
    }
    ck_assert_ptr_nonnull(mcplug_unsubscribe(h, "x:1", NULL, NULL, NULL, &err));
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
    UNTIL(status(h).starts == 4 && status(h).state == MCPLUG_STATE_READY);
    quick(h);
    ck_assert_uint_eq(booked('s'), 3);
    mcplug_close_wait(h);
    end();
}
END_TEST

static void on_changed_leaves(void *arg, mcplug_server *h, int kind, const char *uri)
{
    char *told = arg;
    ck_assert_int_eq(kind, MCPLUG_RESOURCES);
    mcplug_unsubscribe(h, uri, NULL, NULL, NULL, NULL);
    strcat(told, uri);
}

START_TEST(whoever_hears_of_a_change_may_unsubscribe)
{
    char told[64] = "";
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .changed = on_changed_leaves, .arg = told};
    begin_bare();
    mcplug_settings *s = talks("CAPS", "\"tools\":{},\"resources\":{\"subscribe\":true}");
    mcplug_server *h = hold(s, &o);
    mcplug_subscribe(h, "x:1", NULL, NULL, NULL, &err);
    mcplug_subscribe(h, "x:2", NULL, NULL, NULL, &err);
    UNTIL(booked('s') == 2);
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
    UNTIL(status(h).starts == 2 && status(h).state == MCPLUG_STATE_READY);
    quick(h);
    ck_assert_str_eq(told, "x:1x:2");
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
    UNTIL(status(h).starts == 3 && status(h).state == MCPLUG_STATE_READY);
    quick(h);
    ck_assert_str_eq(told, "x:1x:2"); /* that was all */
    mcplug_close_wait(h);
    end();
}
END_TEST

START_TEST(call_that_tells_nobody_is_refused)
{
    begin_bare();
    mcplug_server *h = hold(talks(NULL, NULL), NULL);
    for (int i = 0; i < 4; i++) {
        err = (struct mcplug_error)MCPLUG_ERROR_INIT;
        if (i == 0)
            ck_assert_ptr_null(
                mcplug_call_tool(h, "quick", NULL, NULL, NULL, NULL, &err));
        else if (i == 1)
            ck_assert_ptr_null(mcplug_request(h, "ping", NULL, NULL, NULL, NULL, &err));
        else if (i == 2)
            ck_assert_ptr_null(mcplug_ping(h, NULL, NULL, NULL, &err));
        else
            mcplug_get_list(h, MCPLUG_TOOLS, NULL, NULL, NULL, &err);
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        ck_assert_str_eq(err.text, "`done` must not be NULL");
    }
    quick(h);
    mcplug_close_wait(h);
    end();
}
END_TEST

static mcplug_server *waited_for;

static void on_late(void *arg)
{
    mcplug_close_wait(waited_for);
    ++*(unsigned *)arg;
}

START_TEST(release_wait_in_a_callback_only_begins)
{
    unsigned n = 0;
    begin_bare();
    waited_for = hold(talks(NULL, NULL), NULL);
    int64_t pid = status(waited_for).pid;
    ck_assert_int_eq(mcplug_post(host, on_late, &n), MCPLUG_OK);
    UNTIL(n == 1 && !lives(pid));
    end();
}
END_TEST

START_TEST(server_without_a_name_is_called_by_its_program_or_address)
{
    static const char *const urls[][2] = {
        {"http://127.0.0.1:1/mcp?key=k#x", "http://127.0.0.1:1/mcp"},
        {"http://me:pw@127.0.0.1:1", "http://127.0.0.1:1"}};
    begin_bare();
    for (size_t i = 0; i < MP_COUNT(urls); i++) {
        mcplug_settings *s = mcplug_settings_new(NULL);
        mcplug_server *h = NULL;
        mcplug_settings_set(s, "url", urls[i][0]);
        int r = mcplug_open(host, s, NULL, NULL, NULL, &h, &err);
        ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
        ck_assert_str_eq(mcplug_server_name(h), urls[i][1]);
        mcplug_settings_free(s);
        mcplug_close_wait(h);
    }
    mcplug_server *h = hold(talks(NULL, NULL), NULL);
    ck_assert_str_eq(mcplug_server_name(h), "sh");
    mcplug_close_wait(h);
    end();
}
END_TEST

START_TEST(l1_every_line_has_its_severity_and_its_server)
{
    static const char *const denied[] = {"slow", NULL};
    struct mcplug_server_options o = {.struct_size = sizeof o, .name = "none"};
    mcplug_settings *none = mcplug_settings_new("stdio");
    mcplug_server *h = NULL;
    begin_bare();
    mcplug_settings_set(none, "command", "/nonexistent/x");
    ck_assert_int_eq(mcplug_open_wait(host, none, &o, &h, &err), MCPLUG_EREFUSED);
    mcplug_settings_free(none);
    LOGGED("ERR mcp:none connection failed: Failed to spawn process");
    UNTIL(strstr(logged, "WRN mcp:none restart 1 in 0ms: Failed to spawn process"));

    o.name = "s";
    o.tools_denied = denied;
    h = hold(talks(NULL, NULL), &o);
    LOGGED("VRB mcp:s ready after ");
    ck_assert_uint_eq(tools_of(h), 1);
    LOGGED("VRB mcp:s 1 of 2 tools are allowed by toolsAllowed and toolsDenied");
    quick(h);
    LOGGED("VRB mcp:s Tool 'quick' completed successfully in ");
    mp_loop_fake_clock(host->loop);
    kill((pid_t)status(h).pid, SIGSTOP);
    pass(MP_HEALTH_IDLE_MS);
    pass(MP_HEALTH_CHECK_MS);
    LOGGED("ERR mcp:s health check failed: ");
    kill((pid_t)status(h).pid, SIGKILL);
    SOON(strstr(logged, "WRN mcp:s restart 1 in 0ms: "));
    LOGGED("ERR mcp:s STDIO connection dropped after ");
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_test(tc, a_shared_server_that_may_be_idle_lingers_and_is_found_again);
    tcase_add_test(tc, the_idle_time_of_a_server_that_lingers_begins_with_the_release);
    tcase_add_loop_test(
        tc, a_server_that_is_nobody_elses_is_gone_when_its_release_is_told, 0, 5);
    tcase_add_loop_test(tc, a_server_that_dies_while_it_lingers_is_not_started_again, 0,
                        2);
    tcase_add_loop_test(tc, a_host_is_freed_while_a_server_lingers, 0, 2);
    tcase_add_test(tc, a_host_that_was_busy_for_long_lets_servers_leave_in_their_time);
    tcase_add_loop_test(tc, who_wants_a_server_longest_has_his_way, 0, 5);
    tcase_add_loop_test(tc, who_wants_a_server_watched_closest_has_his_way, 0, 3);
    tcase_add_test(tc, a_call_that_takes_longer_than_it_may_be_idle_keeps_it_up);
    tcase_add_test(tc, a_call_after_one_that_timed_out_is_not_lost);
    tcase_add_loop_test(tc, time_that_was_spent_before_counts, 0, 2);
    tcase_add_test(tc, a_restart_as_asked_tells_of_no_old_failure);
    tcase_add_test(tc, resources_that_are_subscribed_to_stay_so_after_a_restart);
    tcase_add_test(tc, whoever_hears_of_a_change_may_unsubscribe);
    tcase_add_test(tc, call_that_tells_nobody_is_refused);
    tcase_add_test(tc, release_wait_in_a_callback_only_begins);
    tcase_add_test(tc, server_without_a_name_is_called_by_its_program_or_address);
    tcase_add_test(tc, l1_every_line_has_its_severity_and_its_server);
}

int main(void)
{
    return run_suite("api_server_edges", add);
}
