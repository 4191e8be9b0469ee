/* The server does not come, comes late, or is let go before it has come. */
#include "matrix.h"
#include "matrix_kit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* One that exits at once is tried as a server of either era in each attempt: two
 * processes each. */
START_TEST(server_whose_first_starts_fail_serves_the_calls_that_waited)
{
    struct rig *r = rig_new(STDIO, "--fail exit 4");

    rig_add(r);
    struct shot *s = rig_fire(r, 0, "good", 20, 20000);
    rig_add(r);
    UNTIL(r, 15000, rig_done(r));
    for (int i = 0; i < 20; i++)
        ck_assert_msg(s[i].code == 0, "%s", s[i].text);
    ck_assert_uint_eq(r->users[0].ready, 1);
    ck_assert_uint_eq(r->users[1].ready, 1);
    ck_assert_int_eq(r->users[0].why.code, 0);
    ck_assert_uint_eq(rig_status(r).starts, 3);
    ck_assert_uint_eq(rig_status(r).restarts, 0);
    rig_end(r);
}
END_TEST

/* R2: the server is good in either case, and nothing stays behind. */
static const struct {
    const char *args;
    unsigned ms;
} early[] = {
    {"", 0},
    {"", 5},
    {"--fail mute 9", 0},
    {"--fail mute 9", 100},
    {"--fail stubborn 9", 100},
    {"--fail exit 99", 0},
    {"--fail exit 99", 100},
    {"--kin 5", 1},
};

START_TEST(release_before_it_is_ready_is_told_as_cancelled_and_leaves_nothing)
{
    struct rig *r = rig_new(STDIO, early[_i].args);

    r->ao.dedicated = _i % 2;
    rig_add(r);
    struct shot *s = rig_fire(r, 0, "mute", 5, 0);
    rig_run(r, early[_i].ms);
    bool was_ready = r->users[0].ready;
    rig_release(r, &r->users[0]);
    UNTIL(r, 10000, r->users[0].released);
    ck_assert_uint_eq(r->users[0].ready, 1);
    ck_assert(was_ready || r->users[0].why.code == MCPLUG_ECANCELED);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_ECANCELED);
    rig_end(r);
}
END_TEST

START_TEST(release_while_connecting_leaves_no_connection)
{
    struct rig *r = rig_new((enum wire)_i, "");

    rig_add(r);
    if (_i % 2)
        rig_turn(r);
    rig_release(r, &r->users[0]);
    UNTIL(r, 10000, r->users[0].released);
    ck_assert_uint_eq(r->users[0].ready, 1);
    rig_end(r);
}
END_TEST

START_TEST(host_that_is_freed_ends_every_call_and_every_wait)
{
    static const char *const args[] = {"", "", "--fail mute 9", "--fail exit 99"};
    struct rig *r = rig_new(STDIO, args[_i]);

    rig_add(r);
    rig_add(r);
    if (_i == 0)
        UNTIL(r, 10000, r->users[1].ready);
    rig_fire(r, 0, "mute", 20, 0);
    rig_fire(r, 1, "good", 20, 0);
    rig_run(r, _i == 1 ? 0 : 50);
    rig_free(r);
}
END_TEST

/* One that only its idle time keeps up. */
START_TEST(host_that_is_freed_ends_servers_that_nobody_holds)
{
    struct rig *r = rig_new(STDIO, "");

    r->ao.idle_ms = 60000;
    rig_add(r);
    UNTIL(r, 10000, r->users[0].ready);
    rig_release(r, &r->users[0]);
    UNTIL(r, 10000, r->users[0].released);
    rig_run(r, 20);
    rig_free(r);
}
END_TEST

/* R5 */
START_TEST(second_restart_at_once_is_mcp_restart_in_progress)
{
    struct rig *r = rig_up((enum wire)_i, true, "");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    rig_fire(r, 0, "mute", 3, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == 3);
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    ck_assert_int_eq(mcplug_restart(r->users[1].server, &err), MCPLUG_ERESTARTING);
    ck_assert_int_eq(err.code, MCPLUG_ERESTARTING);
    ck_assert_msg(strstr(err.text, "mcp_restart_in_progress"), "%s", err.text);
    struct shot *s = rig_fire(r, 1, "good", 3, 20000); /* wait for the new one */
    while (!rig_is(r, MCPLUG_STATE_READY) || rig_status(r).starts < 2) {
        int code = mcplug_restart(r->users[1].server, &err);
        ck_assert_msg(code == MCPLUG_ERESTARTING, "%d in state %s", code,
                      mcplug_state_name(rig_status(r).state));
        rig_turn(r);
    }
    UNTIL(r, 10000, rig_done(r));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(r->shots[i].code, MCPLUG_ECLOSED);
        ck_assert_int_eq(s[i].code, 0);
    }
    ck_assert_uint_eq(rig_status(r).starts, 2);
    ck_assert_int_eq(mcplug_restart(r->users[1].server, &err), 0); /* and again */
    UNTIL(r, 10000, rig_status(r).starts == 3 && rig_is(r, MCPLUG_STATE_READY));
    rig_end(r);
}
END_TEST

START_TEST(cancel_during_a_restart_ends_only_that_call)
{
    struct rig *r = rig_up((enum wire)_i, true, "");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    struct shot *s = rig_fire(r, 1, "good", 10, 20000);
    ck_assert_uint_eq(rig_status(r).waiting, 10);
    for (int i = 0; i < 10; i += 2) {
        mcplug_cancel(s[i].call);
        mcplug_cancel(s[i].call); /* twice is once */
        ck_assert_uint_eq(s[i].ended, 0);
    }
    UNTIL(r, 15000, rig_done(r));
    for (int i = 0; i < 10; i++)
        ck_assert_msg(s[i].code == (i % 2 ? 0 : MCPLUG_ECANCELED), "%d: %s", i,
                      s[i].text);
    ck_assert_uint_eq(rig_noted(r, "call good"), 5);
    rig_good(r);
    rig_end(r);
}
END_TEST

START_TEST(restart_of_a_server_that_waits_for_its_next_attempt_is_now)
{
    struct rig *r = rig_new(STDIO, "--fail exit 8");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    rig_add(r);
    UNTIL(r, 20000, rig_is(r, MCPLUG_STATE_WAITING) && rig_status(r).next_ms > 1500);
    ck_assert_uint_eq(rig_status(r).starts, 3); /* 6 processes */
    double since = now_ms();
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0); /* fails: 7 and 8 */
    UNTIL(r, 10000, rig_is(r, MCPLUG_STATE_WAITING));
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    UNTIL(r, 10000, r->users[0].ready);
    ck_assert_int_eq(r->users[0].why.code, 0);
    ck_assert_msg(now_ms() - since < 1500 + bound_ms(), "%.0f ms", now_ms() - since);
    rig_end(r);
}
END_TEST

START_TEST(cause_that_lasts_is_told_at_once_and_waits_for_a_restart)
{
    struct rig *r = rig_new(STDIO, "");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    mcplug_settings_set(r->settings, "nonsense", "1");
    rig_add(r);
    UNTIL(r, 5000, r->users[0].ready);
    ck_assert_int_eq(r->users[0].why.code, MCPLUG_ECONFIG);
    ck_assert(rig_is(r, MCPLUG_STATE_PARKED));
    struct shot *s = rig_fire(r, 0, "good", 2, 0);
    UNTIL(r, 1000, rig_done(r));
    ck_assert_int_eq(s[0].code, MCPLUG_ECONFIG);
    ck_assert_uint_eq(rig_status(r).starts, 1);
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    UNTIL(r, 1000, rig_is(r, MCPLUG_STATE_PARKED) && rig_status(r).starts == 2);
    rig_end(r);
}
END_TEST

/* One that is missing, may not be run, or is below a file that is no directory. */
START_TEST(nobody_waits_for_a_program_that_cannot_be_run)
{
    struct rig *r = rig_new(STDIO, "");
    char path[128], peer[4096];

    snprintf(path, sizeof path, "%s/server", r->dir);
    if (_i)
        fclose(fopen(path, "w"));
    mcplug_settings_set(r->settings, "command", path);
    if (_i == 2) {
        char below[160];
        snprintf(below, sizeof below, "%s/server", path);
        mcplug_settings_set(r->settings, "command", below);
    }
    rig_add(r);
    struct shot *s = rig_fire(r, 0, "good", 2, 0);
    double since = now_ms();
    UNTIL(r, 5000, r->users[0].ready && rig_done(r));
    ck_assert_msg(now_ms() - since < 1000 + bound_ms(), "%.0f ms", now_ms() - since);
    ck_assert_int_eq(r->users[0].why.code, MCPLUG_EREFUSED);
    ck_assert_msg(strstr(r->users[0].why.text, path), "%s", r->users[0].why.text);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(s[i].code == MCPLUG_EREFUSED && strstr(s[i].text, path), "%s",
                      s[i].text);
    s = rig_fire(r, 0, "good", 1, 0); /* nor does who comes later */
    UNTIL(r, 1000, rig_done(r));
    ck_assert_msg(strstr(s->text, "initialization failed"), "%s", s->text);
    unlink(path);
    peer_path(peer, sizeof peer);
    if (_i == 0) {
        ck_assert_int_eq(symlink(peer, path), 0);
        UNTIL(r, 20000, rig_is(r, MCPLUG_STATE_READY)); /* attempts go on */
        rig_good(r);
        unlink(path);
    }
    rig_end(r);
}
END_TEST

/* A socket that is not there yet is another matter: its server may be on its way. */
START_TEST(who_waits_for_a_socket_that_is_not_there_waits)
{
    struct rig *r = rig_new(STDIO, "");
    char where[160];

    mcplug_settings_free(r->settings);
    r->settings = mcplug_settings_new("unix");
    snprintf(where, sizeof where, "unix:%s/socket", r->dir);
    mcplug_settings_set(r->settings, "url", where);
    rig_add(r);
    UNTIL(r, 10000, rig_status(r).starts == 2);
    ck_assert_uint_eq(r->users[0].ready, 0);
    rig_end(r);
}
END_TEST

static void set_shell(struct rig *r, const char *script)
{
    mcplug_settings_free(r->settings);
    r->settings = mcplug_settings_new("stdio");
    mcplug_settings_set(r->settings, "command", "sh");
    mcplug_settings_add(r->settings, "args", "-c");
    mcplug_settings_add(r->settings, "args", script);
    mcplug_settings_put(r->settings, "env", "FLAG", r->spill);
}

START_TEST(what_a_server_said_last_is_part_of_why_it_did_not_start)
{
    static const char *const scripts[] = {
        "echo hello >&2; printf ' no\\tkey h\\303\\244rd \\377\\033[1m\\302\\205 \\n "
        "\\n\\n' >&2; "
        "exit 7",
        "for i in 1 2 3 4 5 6 7 8 9; do "
        "t=\"$t\\303\\244\\303\\244\\303\\244\\303\\244\\303"
        "\\244\\303\\244\\303\\244\\303\\244\\303\\244\\303\\244\"; done\n"
        "printf \"x$t\\n\" >&2; exit 7",
        "exit 7"};
    static const char *const ends[] = {"; stderr: no key h\303\244rd ? [1m", "\303\244",
                                       "status 7)"};
    struct rig *r = rig_new(STDIO, "");

    set_shell(r, scripts[_i]);
    rig_add(r);
    UNTIL(r, 10000, rig_is(r, MCPLUG_STATE_WAITING) && rig_status(r).starts > 1);
    const char *text = rig_status(r).error->text, *said = strstr(text, "; stderr: ");
    size_t n = strlen(text), k = strlen(ends[_i]);
    ck_assert_msg(n > k && strcmp(text + n - k, ends[_i]) == 0, "%s", text);
    ck_assert_int_eq(said != NULL, _i < 2);
    ck_assert(_i != 1 || strlen(said) == 10 + 159); /* whole characters */
    ck_assert_ptr_nonnull(strstr(text, "exited with status 7"));
    if (said)
        ck_assert_uint_ge(rig_logged(r, "; stderr: "), 1);
    rig_end(r);
}
END_TEST

/* The second attempt says nothing, and so nothing is said of it. */
START_TEST(what_a_server_said_in_an_attempt_is_forgotten_with_the_next)
{
    struct rig *r = rig_new(STDIO, "");

    set_shell(r, "if [ -d \"$FLAG\" ]; then rmdir \"$FLAG\"; echo once >&2; fi; exit 7");
    r->ao.revision = "2026-07-28"; /* one process each */
    rig_add(r);
    UNTIL(r, 10000, rig_status(r).error);
    ck_assert_msg(strstr(rig_status(r).error->text, "; stderr: once"), "%s",
                  rig_status(r).error->text);
    UNTIL(r, 10000, rig_is(r, MCPLUG_STATE_WAITING) && rig_status(r).starts > 1);
    ck_assert_msg(!strstr(rig_status(r).error->text, "said"), "%s",
                  rig_status(r).error->text);
    ck_assert_int_eq(mkdir(r->spill, 0700), 0);
    rig_end(r);
}
END_TEST

/* A machine that stood still for an hour: nobody is taken for dead, and nothing comes in
 * bursts. */
START_TEST(clock_jump_of_an_hour_kills_nobody)
{
    struct rig *r = rig_up((enum wire)_i, true, "");

    struct shot *s = rig_fire(r, 0, "mute", 5, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == 5);
    for (int i = 0; i < 3; i++) {
        clock_jump(3600);
        rig_run(r, 50);
    }
    struct mcplug_status st = rig_status(r);
    if (st.starts != 1 || st.sent != 5)
        rig_show(r);
    ck_assert_uint_eq(st.starts, 1);
    ck_assert_uint_eq(st.sent, 5);
    rig_good(r);
    for (int i = 0; i < 5; i++)
        mcplug_cancel(s[i].call);
    UNTIL(r, 5000, rig_done(r));
    clock_jump(3600); /* idle this time, with a probe that may be under way */
    rig_turn(r);
    clock_jump(3600);
    rig_run(r, 100);
    rig_good(r);
    ck_assert_uint_eq(rig_status(r).starts, 1);
    rig_end(r);
}
END_TEST

START_TEST(clock_jump_of_an_hour_in_a_crash_loop_makes_one_attempt)
{
    struct rig *r = rig_new(STDIO, "--fail exit 99999");

    rig_add(r);
    for (int i = 0; i < 6; i++) {
        UNTIL(r, 10000, rig_is(r, MCPLUG_STATE_WAITING) && rig_status(r).next_ms > 0);
        uint64_t starts = rig_status(r).starts;
        clock_jump(3600);
        UNTIL(r, 10000, rig_status(r).starts > starts);
        UNTIL(r, 10000, rig_is(r, MCPLUG_STATE_WAITING));
        ck_assert_uint_eq(rig_status(r).starts, starts + 1);
    }
    rig_end(r);
}
END_TEST

/* As daemons may run: the next descriptors that are opened would have these numbers. */
START_TEST(host_without_descriptors_0_1_and_2_leaves_them_alone_on_every_wire)
{
    struct rig *r = rig_new((enum wire)_i, "");

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    r->n_fds -= 3;
    rig_add(r);
    UNTIL(r, 10000, rig_is(r, MCPLUG_STATE_READY));
    rig_good(r);
    for (int fd = 0; fd < 3; fd++)
        ck_assert_msg(fcntl(fd, F_GETFD) < 0, "descriptor %d is in use", fd);
    rig_end(r);
    for (int fd = 0; fd < 3; fd++)
        ck_assert_msg(fcntl(fd, F_GETFD) < 0, "descriptor %d is in use at the end", fd);
}
END_TEST

void add_start_tests(Suite *suite)
{
    TCase *t = tcase_create("started");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, server_whose_first_starts_fail_serves_the_calls_that_waited);
    tcase_add_loop_test(
        t, release_before_it_is_ready_is_told_as_cancelled_and_leaves_nothing, 0,
        (int)(sizeof early / sizeof *early));
    tcase_add_loop_test(t, release_while_connecting_leaves_no_connection, 0, WIRES);
    tcase_add_loop_test(t, host_that_is_freed_ends_every_call_and_every_wait, 0, 4);
    tcase_add_loop_test(
        t, host_without_descriptors_0_1_and_2_leaves_them_alone_on_every_wire, 0, WIRES);
    tcase_add_test(t, host_that_is_freed_ends_servers_that_nobody_holds);
    tcase_add_loop_test(t, second_restart_at_once_is_mcp_restart_in_progress, 0, WIRES);
    tcase_add_loop_test(t, cancel_during_a_restart_ends_only_that_call, 0, WIRES);
    tcase_add_test(t, restart_of_a_server_that_waits_for_its_next_attempt_is_now);
    tcase_add_test(t, cause_that_lasts_is_told_at_once_and_waits_for_a_restart);
    tcase_add_loop_test(t, nobody_waits_for_a_program_that_cannot_be_run, 0, 3);
    tcase_add_test(t, who_waits_for_a_socket_that_is_not_there_waits);
    tcase_add_loop_test(t, what_a_server_said_last_is_part_of_why_it_did_not_start, 0, 3);
    tcase_add_test(t, what_a_server_said_in_an_attempt_is_forgotten_with_the_next);
    suite_add_tcase(suite, t);
    t = tcase_create("jumped");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, clock_jump_of_an_hour_kills_nobody, 0, WIRES);
    tcase_add_test(t, clock_jump_of_an_hour_in_a_crash_loop_makes_one_attempt);
    suite_add_tcase(suite, t);
}
