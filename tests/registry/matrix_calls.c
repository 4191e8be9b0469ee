/* Calls that are cancelled, fail, or outlive the connection they were meant for. */
#include "matrix.h"
#include "matrix_kit.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- R6: cancel ---- */

START_TEST(cancel_reaches_the_server_on_every_wire)
{
    enum wire wire = (enum wire)(_i % WIRES);
    struct rig *r = rig_up(wire, _i < WIRES, "");

    struct shot *s = rig_fire(r, 0, "mute", 10, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == 10);
    for (int i = 0; i < 10; i++) {
        mcplug_cancel(s[i].call);
        ck_assert_uint_eq(s[i].ended, 0); /* not inside of it */
    }
    UNTIL(r, bound_ms(), rig_done(r));
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_ECANCELED);
    if (wire == HTTP)
        UNTIL(r, 5000, rig_noted(r, "left mute") == 10);
    else
        UNTIL(r, 5000, rig_noted(r, "cancelled ") == 10);
    rig_run(r, 50); /* is it alive? it says so */
    rig_good(r);
    ck_assert_uint_eq(rig_status(r).starts, 1);
    ck_assert_uint_eq(rig_status(r).calls->cancelled, 10);
    rig_end(r);
}
END_TEST

START_TEST(deadline_reaches_the_server_on_every_wire)
{
    enum wire wire = (enum wire)_i;
    struct rig *r = rig_up(wire, true, "");

    struct shot *s = rig_fire(r, 0, "mute", 3, 100);
    UNTIL(r, 5000, rig_done(r));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_ETIMEDOUT);
    if (wire == HTTP)
        UNTIL(r, 5000, rig_noted(r, "left mute") == 3);
    else
        UNTIL(r, 5000, rig_noted(r, "cancelled ") == 3);
    rig_good(r);
    ck_assert_uint_eq(rig_status(r).starts, 1);
    rig_end(r);
}
END_TEST

/* In its own end, of its own call or another, a program does what it likes. */
static void cancel_all(void *arg)
{
    struct rig *r = arg;
    for (unsigned i = 0; i < r->n_shots; i++)
        if (r->shots[i].call)
            mcplug_cancel(r->shots[i].call);
}

START_TEST(calls_cancelled_at_every_moment_of_a_kill_end_once)
{
    struct rig *r = rig_up(STDIO, true, "");

    for (int round = 0; round < 8; round++) {
        uint64_t starts = rig_status(r).starts;
        rig_fire(r, 0, round % 2 ? "mute" : "good", 20, 0);
        rig_fire(r, 1, "mute", 20, 0);
        if (round % 3 == 0)
            rig_turn(r);
        if (round == 1 || round == 4)
            rig_kill(r);
        for (int i = 0; i < round / 2; i++)
            mcplug_turn(r->host, 0);
        ck_assert_int_eq(mcplug_post(r->host, cancel_all, r), 0);
        UNTIL(r, 5000, rig_done(r));
        starts += round == 1 || round == 4;
        UNTIL(r, 15000, rig_status(r).starts == starts && rig_is(r, MCPLUG_STATE_READY));
    }
    rig_good(r);
    rig_end(r);
}
END_TEST

static void release_all(struct rig *r)
{
    for (unsigned i = 0; i < r->n_users; i++)
        if (r->users[i].server)
            rig_release(r, &r->users[i]);
}

/* Whichever callback comes as the n-th: of a state, of ready, of a call's end. */
START_TEST(servers_may_be_closed_in_any_callback)
{
    for (unsigned n = 1; n <= 14; n++) {
        struct rig *r = rig_new(STDIO, "");

        r->countdown = n;
        r->hook = release_all;
        rig_add(r);
        rig_add(r);
        rig_fire(r, 0, "good", 3, 0);
        rig_fire(r, 1, "exit", 1, 0);
        rig_fire(r, 1, "good", 3, 0);
        UNTIL(r, 10000, !r->countdown);
        UNTIL(r, 10000, r->users[0].released && r->users[1].released);
        rig_end(r);
    }
}
END_TEST

static void restart_all(struct rig *r)
{
    for (unsigned i = 0; i < r->n_users; i++)
        mcplug_restart(r->users[i].server, NULL);
}

START_TEST(server_may_be_restarted_in_any_callback)
{
    for (unsigned n = 1; n <= 10; n++) {
        struct rig *r = rig_new(STDIO, "");

        r->countdown = n;
        r->hook = restart_all;
        rig_add(r);
        rig_add(r);
        rig_fire(r, 0, "good", 3, 20000);
        rig_fire(r, 1, "good", 3, 20000);
        UNTIL(r, 10000, !r->countdown && rig_done(r));
        UNTIL(r, 10000, rig_is(r, MCPLUG_STATE_READY));
        rig_good(r);
        rig_end(r);
    }
}
END_TEST

/* ---- what tools and peers say ---- */

START_TEST(every_outcome_is_in_the_books_once)
{
    struct rig *r = rig_up((enum wire)_i, true, "");

    rig_fire(r, 0, "good", 7, 0);
    struct shot *fails = rig_fire(r, 1, "fails", 5, 0);
    struct shot *refuses = rig_fire(r, 0, "refuses", 3, 0);
    rig_fire(r, 1, "mute", 2, 50);
    struct shot *mute = rig_fire(r, 1, "mute", 4, 0);
    for (int i = 0; i < 4; i++)
        mcplug_cancel(mute[i].call);
    UNTIL(r, 10000, rig_done(r));
    ck_assert(fails->is_error);
    ck_assert_int_eq(refuses->code, MCPLUG_EPEER);
    ck_assert_int_eq(refuses->peer_status, -32050);
    struct mcplug_ledger l = *rig_status(r).calls;
    ck_assert_uint_eq(l.issued, 21);
    ck_assert_uint_eq(l.ok, 7);
    ck_assert_uint_eq(l.tool_error, 5);
    ck_assert_uint_eq(l.peer_error, 3);
    ck_assert_uint_eq(l.timed_out, 2);
    ck_assert_uint_eq(l.cancelled, 4);
    ck_assert_uint_eq(l.transport_error, 0);
    rig_end(r);
}
END_TEST

START_TEST(wrong_arguments_are_refused_ready_or_not_and_not_counted)
{
    struct rig *r = rig_new(STDIO, "");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    rig_add(r);
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(rig_try(r, 0, "good", "[1]", NULL, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        ck_assert_ptr_null(rig_try(r, 0, "good", "{\"a\":", NULL, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        UNTIL(r, 10000, r->users[0].ready);
    }
    ck_assert_uint_eq(rig_status(r).calls->issued, 0);
    rig_good(r);
    rig_end(r);
}
END_TEST

/* ---- sent again or not ---- */

/* A server that does not read: the pipe fills, and what does not fit stays with us. */
START_TEST(unwritten_calls_survive_a_restart_and_written_ones_say_so)
{
    enum { CALLS = 60 };
    struct rig *r = rig_up(STDIO, true, "");
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *args = malloc(8192);

    snprintf(args, 8192, "{\"x\":\"%08000d\"}", 0);
    struct shot *listen_lost = rig_fire(r, 0, "deaf", 1, 0);
    UNTIL(r, 5000, rig_noted(r, "call deaf") == 1);
    struct shot *s = &r->shots[r->n_shots];
    for (unsigned i = 0; i < CALLS; i++)
        ck_assert_msg(rig_try(r, i % 2, "good", args, NULL, &err), "%s", err.text);
    free(args);
    rig_run(r, 20);
    ck_assert(!listen_lost->ended);
    if (_i)
        rig_kill(r);
    else
        ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    UNTIL(r, 20000, rig_done(r));
    ck_assert_int_ne(listen_lost->code, 0);
    unsigned ok = 0;
    for (int i = 0; i < CALLS; i++) {
        ok += s[i].code == 0;
        ck_assert_msg(s[i].code == 0 || strstr(s[i].text, "had already been sent"), "%s",
                      s[i].text);
        ck_assert_uint_eq(s[i].order, listen_lost->order + 1 + (unsigned)i); /* as made */
    }
    ck_assert_uint_ge(ok, CALLS / 2); /* a pipe holds 64 KiB: eight of them */
    ck_assert_uint_lt(ok, CALLS);
    ck_assert_uint_eq(rig_noted(r, "call good"), ok); /* nothing was made twice */
    ck_assert_uint_eq(rig_noted(r, "call deaf"), 1);
    rig_good(r);
    rig_end(r);
}
END_TEST

START_TEST(cancel_of_a_call_that_is_not_written_is_never_seen_by_the_server)
{
    struct rig *r = rig_up(STDIO, true, "");
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *args = malloc(8192);

    snprintf(args, 8192, "{\"x\":\"%08000d\"}", 0);
    rig_fire(r, 0, "deaf", 1, 0);
    UNTIL(r, 5000, rig_noted(r, "call deaf") == 1);
    for (unsigned i = 0; i < 30; i++)
        ck_assert_ptr_nonnull(rig_try(r, 0, "good", args, NULL, &err));
    free(args);
    rig_run(r, 20);
    for (unsigned i = 1; i < r->n_shots; i++)
        mcplug_cancel(r->shots[i].call);
    UNTIL(r, 5000, r->shots[r->n_shots - 1].ended);
    rig_kill(r);
    UNTIL(r, 10000, rig_done(r));
    ck_assert_uint_eq(rig_status(r).calls->cancelled, 30);
    rig_good(r);
    ck_assert_uint_eq(rig_noted(r, "call good"), 2);
    rig_end(r);
}
END_TEST

void add_call_tests(Suite *suite)
{
    TCase *t = tcase_create("called");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, cancel_reaches_the_server_on_every_wire, 0, 2 * WIRES);
    tcase_add_loop_test(t, deadline_reaches_the_server_on_every_wire, 0, WIRES);
    tcase_add_test(t, calls_cancelled_at_every_moment_of_a_kill_end_once);
    tcase_add_test(t, servers_may_be_closed_in_any_callback);
    tcase_add_test(t, server_may_be_restarted_in_any_callback);
    tcase_add_loop_test(t, every_outcome_is_in_the_books_once, 0, WIRES);
    tcase_add_test(t, wrong_arguments_are_refused_ready_or_not_and_not_counted);
    tcase_add_loop_test(t, unwritten_calls_survive_a_restart_and_written_ones_say_so, 0,
                        2);
    tcase_add_test(t, cancel_of_a_call_that_is_not_written_is_never_seen_by_the_server);
    suite_add_tcase(suite, t);
}
