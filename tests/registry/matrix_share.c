/* Who shares a server, its queues, its tools. */
#include "matrix.h"
#include "matrix_kit.h"

#include <stdlib.h>
#include <unistd.h>

static int64_t pid_of(const struct user *u)
{
    struct mcplug_status s = {.struct_size = sizeof s};
    mcplug_server_status(u->server, &s);
    return s.pid;
}

/* ---- R1: one connection for each configuration ---- */

START_TEST(servers_with_the_same_settings_share_one_process_and_others_do_not)
{
    struct rig *r = rig_new(STDIO, "");

    struct user *a = rig_add(r), *b = rig_add(r);
    r->ao.identity = "somebody";
    struct user *other = rig_add(r), *other_too = rig_add(r);
    r->ao.identity = NULL;
    r->ao.dedicated = 1;
    struct user *own = rig_add(r), *own_too = rig_add(r);
    r->ao.dedicated = 0;
    struct user *late = rig_add(r); /* not with a dedicated one */
    mcplug_settings_put(r->settings, "env", "MORE", "1");
    struct user *changed = rig_add(r);
    for (unsigned i = 0; i < r->n_users; i++)
        UNTIL(r, 10000, r->users[i].ready);
    ck_assert_int_eq(pid_of(a), pid_of(b));
    ck_assert_int_eq(pid_of(a), pid_of(late));
    ck_assert_int_eq(pid_of(other), pid_of(other_too));
    struct user *apart[] = {a, other, own, own_too, changed};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            ck_assert_int_ne(pid_of(apart[i]), pid_of(apart[k]));
    ck_assert_uint_eq(rig_noted(r, "start "), 5);
    struct mcplug_status s = {.struct_size = sizeof s};
    mcplug_server_status(a->server, &s);
    ck_assert_uint_eq(s.servers, 3);
    ck_assert_str_eq(s.transport, "stdio");
    ck_assert_str_eq(s.revision, "2026-07-28");
    r->ao.identity = "x"; /* the books are those of several servers */
    rig_end(r);
}
END_TEST

START_TEST(who_answers_questions_is_part_of_what_is_shared)
{
    struct rig *r = rig_new(STDIO, "");
    int me, you;

    r->ao.state = NULL; /* its `arg` is the rig */
    r->ao.elicit = (mcplug_input_fn *)(void *)abort;
    r->ao.arg = &me;
    struct user *a = rig_add(r), *b = rig_add(r);
    r->ao.arg = &you;
    struct user *c = rig_add(r);
    for (unsigned i = 0; i < r->n_users; i++)
        UNTIL(r, 10000, r->users[i].ready);
    ck_assert_int_eq(pid_of(a), pid_of(b));
    ck_assert_int_ne(pid_of(a), pid_of(c));
    rig_end(r);
}
END_TEST

START_TEST(last_release_ends_the_server_and_the_others_do_not)
{
    struct rig *r = rig_up((enum wire)_i, true, "");

    struct shot *mine = rig_fire(r, 0, "mute", 10, 0);
    struct shot *theirs = rig_fire(r, 1, "mute", 10, 0);
    UNTIL(r, 10000, rig_noted(r, "call mute") == 20);
    rig_release(r, &r->users[0]);
    UNTIL(r, 5000, r->users[0].released);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(mine[i].code, MCPLUG_ECANCELED);
        ck_assert_uint_eq(theirs[i].ended, 0);
    }
    ck_assert_uint_eq(rig_status(r).sent, 10);
    ck_assert_uint_eq(rig_status(r).servers, 1);
    rig_good(r);
    ck_assert_uint_eq(rig_status(r).starts, 1);
    rig_release(r, &r->users[1]);
    UNTIL(r, 5000, r->users[1].released);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(theirs[i].code, MCPLUG_ECANCELED);
    check_no_children();
    rig_end(r);
}
END_TEST

/* ---- R2: acquire ---- */

START_TEST(nothing_is_started_before_the_first_call_of_a_server_without_ready)
{
    struct rig *r = rig_new(STDIO, "");

    rig_add_lazy(r);
    rig_run(r, 100);
    ck_assert(rig_is(r, MCPLUG_STATE_RESTING));
    ck_assert_uint_eq(rig_noted(r, "start "), 0);
    ck_assert_ptr_null(mcplug_server_list(r->users[0].server, MCPLUG_TOOLS));
    ck_assert_ptr_null(mcplug_server_fact(r->users[0].server, "pid"));
    ck_assert_str_eq(mcplug_server_revision(r->users[0].server), "");
    rig_good(r);
    ck_assert_uint_eq(rig_noted(r, "start "), 1);
    ck_assert_ptr_nonnull(mcplug_server_fact(r->users[0].server, "pid"));
    rig_end(r);
}
END_TEST

START_TEST(acquire_of_a_ready_server_is_ready_in_the_next_turn)
{
    struct rig *r = rig_up((enum wire)_i, true, "");

    struct user *u = rig_add(r);
    mcplug_turn(r->host, 0);
    ck_assert_uint_eq(u->ready, 1);
    ck_assert_int_eq(u->why.code, 0);
    ck_assert_uint_eq(mcplug_list_count(mcplug_server_list(u->server, MCPLUG_TOOLS)), 8);
    ck_assert_uint_eq(rig_status(r).starts, 1);
    rig_end(r);
}
END_TEST

START_TEST(lists_stay_while_the_server_is_down)
{
    struct rig *r = rig_up(STDIO, true, "");

    rig_kill(r);
    UNTIL(r, 5000, !rig_is(r, MCPLUG_STATE_READY));
    ck_assert_uint_eq(
        mcplug_list_count(mcplug_server_list(r->users[0].server, MCPLUG_TOOLS)), 8);
    ck_assert_int_eq(rig_status(r).pid, 0);
    ck_assert_uint_eq(rig_status(r).tools, 8);
    rig_good(r);
    rig_end(r);
}
END_TEST

/* ---- R7: queues ---- */

static struct rig *queue_up(const char *name, unsigned concurrent, unsigned waiting)
{
    struct rig *r = rig_new(STDIO, "");
    static const char *const apart[] = {"get_a", "", "get_b", "other", NULL};

    ck_assert_int_eq(mcplug_set_queue(r->host, name, concurrent, waiting), 0);
    r->ao.queue = name;
    r->ao.tool_queues = apart;
    rig_add(r);
    rig_add(r);
    UNTIL(r, 10000, r->users[1].ready);
    return r;
}

START_TEST(queue_lets_so_many_run_and_refuses_with_the_numbers)
{
    struct rig *r = queue_up("few", 2, 3);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    struct shot *s = rig_fire(r, 0, "mute", 5, 0);
    UNTIL(r, 5000, rig_noted(r, "call mute") == 2);
    rig_run(r, 30);
    ck_assert_uint_eq(rig_noted(r, "call mute"), 2);
    ck_assert_uint_eq(rig_status(r).sent, 2);
    ck_assert_uint_eq(rig_status(r).waiting, 3);
    ck_assert_ptr_null(rig_try(r, 1, "mute", "{}", NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_EOVERLOADED);
    ck_assert_msg(strstr(err.text, "\"few\": 3 calls wait already, 2 run (limit 2)"),
                  "%s", err.text);
    struct shot *free_one = rig_fire(r, 1, "get_a", 1, 0); /* has no queue */
    UNTIL(r, 5000, free_one->ended);
    free_one = rig_fire(r, 1, "get_b", 1, 0); /* has another */
    UNTIL(r, 5000, free_one->ended);
    ck_assert_uint_eq(rig_status(r).waiting, 3);
    mcplug_cancel(s[4].call); /* it waits: nobody ever hears of it */
    UNTIL(r, 5000, s[4].ended);
    for (int i = 0; i < 4; i++) { /* each end lets another one in */
        mcplug_cancel(s[i].call);
        UNTIL(r, 5000, s[i].ended);
    }
    rig_run(r, 30);
    ck_assert_uint_eq(rig_noted(r, "call mute"), 4);
    ck_assert_uint_eq(rig_status(r).calls->cancelled, 5);
    r->ao.queue = NULL;
    rig_end(r);
}
END_TEST

START_TEST(user_with_many_calls_delays_another_by_one)
{
    struct rig *r = queue_up("one", 1, 0);

    struct shot *first = rig_fire(r, 0, "mute", 1, 0);
    struct shot *many = rig_fire(r, 0, "good", 200, 0);
    struct shot *few = rig_fire(r, 1, "good", 3, 0);
    UNTIL(r, 5000, rig_noted(r, "call mute") == 1);
    mcplug_cancel(first->call);
    UNTIL(r, 10000, rig_done(r));
    for (unsigned i = 0; i < 3; i++)
        ck_assert_msg(few[i].order <= 2 * i + 3, "call %u was served as number %u", i,
                      few[i].order);
    for (int i = 1; i < 200; i++) /* of one user, the oldest first */
        HOLDS(many[i].order > many[i - 1].order, "%d before its turn", i);
    rig_end(r);
}
END_TEST

START_TEST(deadline_in_a_queue_names_the_queue)
{
    struct rig *r = queue_up("slow", 1, 0);

    struct shot *s = rig_fire(r, 0, "mute", 1, 0);
    struct shot *late = rig_fire(r, 1, "good", 1, 60);
    UNTIL(r, 5000, late->ended);
    ck_assert_int_eq(late->code, MCPLUG_ETIMEDOUT);
    ck_assert_msg(strstr(late->text, "waiting in queue \"slow\" (1 run, "), "%s",
                  late->text);
    mcplug_cancel(s->call);
    rig_good(r);
    ck_assert_uint_ge(rig_status(r).queued_ms, 0);
    rig_end(r);
}
END_TEST

START_TEST(queue_goes_on_when_its_server_was_killed)
{
    struct rig *r = queue_up("q", 2, 0);

    struct shot *s = rig_fire(r, 0, "mute", 2, 0);
    struct shot *good = rig_fire(r, 1, "good", 50, 0);
    UNTIL(r, 5000, rig_noted(r, "call mute") == 2);
    rig_kill(r);
    UNTIL(r, 15000, rig_done(r));
    ck_assert_int_ne(s[0].code, 0);
    ck_assert_int_ne(s[1].code, 0);
    unsigned lost = 0; /* that were written just then */
    for (int i = 0; i < 50; i++)
        lost += good[i].code != 0;
    ck_assert_uint_le(lost, 4);
    rig_good(r);
    rig_end(r);
}
END_TEST

START_TEST(server_that_does_not_come_is_waited_for_by_1024_calls_and_no_more)
{
    struct rig *r = rig_new(STDIO, "--fail mute 9");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    rig_add(r);
    rig_fire(r, 0, "good", 1024, 0);
    ck_assert_ptr_null(rig_try(r, 0, "good", "{}", NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_EOVERLOADED);
    ck_assert_msg(
        strstr(err.text,
               "overloaded, 1024 calls are waiting until it is up (limit 1024)"),
        "%s", err.text);
    ck_assert_uint_eq(rig_status(r).waiting, 1024);
    rig_run(r, 50);
    rig_end(r);
}
END_TEST

/* ---- R9: filters ---- */

START_TEST(filtered_tool_is_neither_listed_nor_called)
{
    struct rig *r = rig_new(STDIO, "");
    static const char *const some[] = {"GET_*", "Good", "mute", NULL};
    static const char *const not [] = {"get_B", "MUTE", NULL};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    r->ao.tools_allowed = some;
    r->ao.tools_denied = not ;
    struct user *u = rig_add(r);
    r->ao.tools_allowed = r->ao.tools_denied = NULL;
    struct user *all = rig_add(r);
    UNTIL(r, 10000, all->ready);
    mcplug_list *list = mcplug_server_list(u->server, MCPLUG_TOOLS);
    ck_assert_uint_eq(mcplug_list_count(list), 2);
    ck_assert_int_ge(mcplug_list_find(list, "good"), 0);
    ck_assert_int_ge(mcplug_list_find(list, "get_a"), 0);
    ck_assert_uint_eq(mcplug_list_count(mcplug_server_list(all->server, MCPLUG_TOOLS)),
                      8);
    static const char *const refused[] = {"get_b", "mute", "fails", "no_such_tool"};
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(rig_try(r, 0, refused[i], "{}", NULL, &err));
        ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
        ck_assert_msg(strstr(err.text, "is not allowed"), "%s", err.text);
    }
    struct shot *s = rig_fire(r, 1, "get_b", 1, 0); /* the other one may */
    UNTIL(r, 5000, s->ended);
    ck_assert_int_eq(s->code, 0);
    rig_good(r);
    ck_assert_uint_eq(rig_noted(r, "start "), 1);
    ck_assert_uint_eq(rig_noted(r, "call get_b"), 1);
    rig_end(r);
}
END_TEST

void add_share_tests(Suite *suite)
{
    TCase *t = tcase_create("shared");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, servers_with_the_same_settings_share_one_process_and_others_do_not);
    tcase_add_test(t, who_answers_questions_is_part_of_what_is_shared);
    tcase_add_loop_test(t, last_release_ends_the_server_and_the_others_do_not, 0, WIRES);
    tcase_add_test(t, nothing_is_started_before_the_first_call_of_a_server_without_ready);
    tcase_add_loop_test(t, acquire_of_a_ready_server_is_ready_in_the_next_turn, 0, WIRES);
    tcase_add_test(t, lists_stay_while_the_server_is_down);
    tcase_add_test(t, queue_lets_so_many_run_and_refuses_with_the_numbers);
    tcase_add_test(t, user_with_many_calls_delays_another_by_one);
    tcase_add_test(t, deadline_in_a_queue_names_the_queue);
    tcase_add_test(t, queue_goes_on_when_its_server_was_killed);
    tcase_add_test(t, server_that_does_not_come_is_waited_for_by_1024_calls_and_no_more);
    tcase_add_test(t, filtered_tool_is_neither_listed_nor_called);
    suite_add_tcase(suite, t);
}
