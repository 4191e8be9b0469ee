/* The server goes while nobody, one or a hundred calls wait for it. */
#include "matrix.h"
#include "matrix_kit.h"

#include <signal.h>
#include <unistd.h>

static const struct {
    enum wire wire;
    bool shared;
    unsigned calls;
} deaths[] = {
    {STDIO, true, 0},      {STDIO, true, 1},      {STDIO, true, 100},
    {STDIO, false, 0},     {STDIO, false, 1},     {STDIO, false, 100},
    {HTTP, true, 0},       {HTTP, true, 1},       {HTTP, true, 100},
    {HTTP, false, 0},      {HTTP, false, 1},      {HTTP, false, 100},
    {SSE, true, 0},        {SSE, true, 1},        {SSE, true, 100},
    {SSE, false, 0},       {SSE, false, 1},       {SSE, false, 100},
    {WEBSOCKET, true, 0},  {WEBSOCKET, true, 1},  {WEBSOCKET, true, 100},
    {WEBSOCKET, false, 0}, {WEBSOCKET, false, 1}, {WEBSOCKET, false, 100},
};

static void check_lost(struct rig *r, unsigned first, double since, const char *what)
{
    double last = 0;

    for (unsigned i = first; i < r->n_shots; i++) {
        const struct shot *s = &r->shots[i];
        HOLDS(s->code != 0, "%s: a call was answered by a dead server", what);
        HOLDS(s->code != MCPLUG_ECANCELED && s->code != MCPLUG_ETIMEDOUT &&
                  s->code != MCPLUG_EPEER,
              "%s: %s, \"%s\"", what, mcplug_error_name(s->code), s->text);
        last = s->at > last ? s->at : last;
    }
    ck_assert_msg(r->n_shots == first || last - since <= bound_ms(),
                  "%s: the last call ended after %.1f ms", what, last - since);
}

/* R3: promised for each wire, shared or not, whatever is under way. */
START_TEST(killed_server_ends_every_call_once_and_serves_the_next)
{
    enum wire wire = deaths[_i].wire;
    unsigned calls = deaths[_i].calls;
    struct rig *r = rig_up(wire, deaths[_i].shared, "");

    rig_good(r);
    unsigned first = r->n_shots;
    for (unsigned i = 0; i < calls; i++)
        rig_fire(r, i % r->n_users, "mute", 1, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == calls);
    ck_assert_uint_eq(rig_status(r).sent, calls);
    double since = now_ms();
    if (wire != STDIO)
        peer_stop(r);
    else
        rig_kill(r);
    UNTIL(r, bound_ms() + 5000, rig_done(r));
    check_lost(r, first, since, wire_names[wire]);
    if (wire != HTTP) { /* which has no connection while nobody calls */
        UNTIL(r, bound_ms(), !rig_is(r, MCPLUG_STATE_READY) || rig_status(r).starts > 1);
    }
    if (wire != STDIO)
        peer_start(r);
    double again = now_ms();
    rig_good(r);
    ck_assert_msg(now_ms() - again < 3000 + bound_ms(), "served after %.0f ms",
                  now_ms() - again);
    struct mcplug_status s = rig_status(r);
    ck_assert_int_eq(s.state, MCPLUG_STATE_READY);
    ck_assert_uint_eq(s.sent + s.waiting, 0);
    if (wire == STDIO)
        ck_assert_uint_eq(s.starts, 2); /* the step of 0 s was enough */
    rig_end(r);
}
END_TEST

/* Over a network that resets everything and is there again at once. */
START_TEST(reset_connections_end_every_call_and_the_next_is_served)
{
    enum wire wire = (enum wire)_i;
    struct rig *r = rig_up(wire, true, "");

    rig_fire(r, 0, "mute", 5, 0);
    rig_fire(r, 1, "mute", 5, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == 10);
    double since = now_ms();
    rig_kill(r);
    UNTIL(r, bound_ms() + 5000, rig_done(r));
    check_lost(r, 0, since, wire_names[wire]);
    rig_good(r);
    rig_end(r);
}
END_TEST

START_TEST(exit_in_the_middle_of_a_call_is_told_to_its_caller_with_the_status)
{
    struct rig *r = rig_up(STDIO, true, "");
    struct shot *s = rig_fire(r, 0, "exit", 1, 0);

    UNTIL(r, bound_ms() + 1000, rig_done(r));
    ck_assert_int_eq(s->code, MCPLUG_ECLOSED);
    ck_assert_int_eq(s->peer_status, 3);
    rig_good(r);
    struct mcplug_status st = rig_status(r);
    ck_assert_uint_eq(st.restarts, 1);
    ck_assert_ptr_nonnull(st.error); /* the last thing that went wrong */
    rig_end(r);
}
END_TEST

/* A request that left is not made a second time, though nothing says that it arrived. */
START_TEST(call_that_kills_its_server_is_made_once)
{
    enum wire wire = (enum wire)_i;
    struct rig *r = rig_up(wire, true, "");
    struct shot *s = rig_fire(r, 0, "exit", 1, 0);

    for (double since = now_ms(); !s->ended && now_ms() - since < 5000;) {
        rig_turn(r);
        if (wire != STDIO && rig_noted(r, "call exit") == rig_noted(r, "start "))
            peer_start(r);
    }
    ck_assert_uint_eq(s->ended, 1);
    ck_assert_int_ne(s->code, 0);
    ck_assert_uint_eq(rig_noted(r, "call exit"), 1);
    ck_assert_msg(strstr(s->text, "had already been sent"), "%s", s->text);
    if (wire != STDIO && rig_noted(r, "start ") == 1)
        peer_start(r);
    rig_run(r, 20); /* it may take a moment until the other connections are known to go */
    rig_good(r);
    rig_end(r);
}
END_TEST

/* R8: the tree of processes goes before the next one comes. */
START_TEST(restart_leaves_none_of_fifty_escaped_grandchildren)
{
    struct rig *r = rig_up(STDIO, _i, "--kin 50");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    UNTIL(r, 5000, kin_alive(r) == 50); /* they take their names by and by */
    rig_fire(r, 0, "mute", 3, 0);
    UNTIL(r, 5000, rig_noted(r, "call mute") == 3);
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    UNTIL(r, 20000, rig_is(r, MCPLUG_STATE_STARTING));
    ck_assert_uint_le(kin_alive(r), 50); /* none of the old when the new come */
    UNTIL(r, 20000, rig_is(r, MCPLUG_STATE_READY));
    UNTIL(r, 5000, kin_alive(r) == 50);
    ck_assert(rig_done(r));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(r->shots[i].code, MCPLUG_ECLOSED);
        ck_assert_msg(strstr(r->shots[i].text, "had already been sent"), "%s",
                      r->shots[i].text);
    }
    rig_good(r);
    rig_end(r);
}
END_TEST

/* A server that was killed leaves its tree to us. */
START_TEST(killed_server_takes_its_escaped_grandchildren_with_it)
{
    struct rig *r = rig_up(STDIO, true, "--kin 10");

    UNTIL(r, 5000, kin_alive(r) == 10);
    rig_kill(r);
    UNTIL(r, 20000, rig_status(r).starts == 2 && rig_is(r, MCPLUG_STATE_READY));
    UNTIL(r, 5000, kin_alive(r) == 10);
    rig_good(r);
    rig_end(r);
}
END_TEST

START_TEST(server_killed_over_and_over_never_loses_a_call)
{
    struct rig *r = rig_up(STDIO, true, "");

    for (int round = 0; round < 3; round++) {
        rig_fire(r, 0, "mute", 10, 0);
        rig_kill(r); /* some are written, some may not be */
        struct shot *s = rig_fire(r, 1, "good", 10, 0);
        for (int i = 0; i < 10; i++)
            UNTIL(r, 15000, s[i].ended);
        for (struct shot *m = s - 10; m < s; m++)
            if (m->call)
                mcplug_cancel(m->call);
        UNTIL(r, 5000, rig_done(r));
        UNTIL(r, 15000, rig_is(r, MCPLUG_STATE_READY));
    }
    rig_good(r);
    rig_end(r);
}
END_TEST

void add_kill_tests(Suite *suite)
{
    TCase *t = tcase_create("killed");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, killed_server_ends_every_call_once_and_serves_the_next, 0,
                        (int)(sizeof deaths / sizeof *deaths));
    tcase_add_loop_test(t, reset_connections_end_every_call_and_the_next_is_served, HTTP,
                        WIRES);
    tcase_add_loop_test(t, call_that_kills_its_server_is_made_once, 0, WIRES);
    tcase_add_test(t, exit_in_the_middle_of_a_call_is_told_to_its_caller_with_the_status);
    tcase_add_loop_test(t, restart_leaves_none_of_fifty_escaped_grandchildren, 0, 2);
    tcase_add_test(t, killed_server_takes_its_escaped_grandchildren_with_it);
    tcase_add_test(t, server_killed_over_and_over_never_loses_a_call);
    suite_add_tcase(suite, t);
}
