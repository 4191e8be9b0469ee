#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct mp_loop *loop;
static char order[64];

static void note(char c)
{
    size_t n = strlen(order);
    order[n] = c;
    order[n + 1] = '\0';
}

static void begin(bool fake)
{
    order[0] = '\0';
    loop = mp_loop_new(NULL);
    if (fake)
        mp_loop_fake_clock(loop);
}

struct letter {
    struct mp_timer timer;
    struct mp_job job;
    char c;
};

static void on_timer(struct mp_timer *t)
{
    note(MP_OF(t, struct letter, timer)->c);
}

START_TEST(timers_run_in_order_of_their_time_and_only_then)
{
    struct letter a = {.c = 'a'}, b = {.c = 'b'}, c = {.c = 'c'};
    begin(true);
    mp_timer_start(loop, &c.timer, 30, on_timer);
    mp_timer_start(loop, &a.timer, 10, on_timer);
    mp_timer_start(loop, &b.timer, 20, on_timer);
    mp_loop_advance(loop, 9);
    ck_assert_str_eq(order, "");
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "a");
    mp_loop_advance(loop, 100);
    ck_assert_str_eq(order, "abc");
    mp_loop_free(loop);
}
END_TEST

START_TEST(a_stopped_timer_never_runs_and_a_restarted_one_moves)
{
    struct letter a = {.c = 'a'}, b = {.c = 'b'};
    begin(true);
    mp_timer_start(loop, &a.timer, 10, on_timer);
    mp_timer_start(loop, &b.timer, 10, on_timer);
    mp_timer_stop(loop, &a.timer);
    mp_timer_stop(loop, &a.timer);
    mp_timer_start(loop, &b.timer, 50, on_timer);
    mp_loop_advance(loop, 49);
    ck_assert_str_eq(order, "");
    mp_loop_advance(loop, 1);
    ck_assert_str_eq(order, "b");
    mp_loop_free(loop);
}
END_TEST

static uint64_t last_due;
static size_t n_ran;

static void in_order(struct mp_timer *t)
{
    ck_assert_uint_ge(t->due, last_due);
    last_due = t->due;
    n_ran++;
}

START_TEST(a_thousand_timers_started_and_stopped_at_random_keep_their_order)
{
    static struct mp_timer all[1000];
    size_t running = 0;
    begin(true);
    srandom(7);
    for (size_t i = 0; i < 20 * MP_COUNT(all); i++) {
        struct mp_timer *t = &all[(size_t)random() % MP_COUNT(all)];
        if (random() % 3 == 0)
            mp_timer_stop(loop, t);
        else
            mp_timer_start(loop, t, (uint64_t)random() % 5000, in_order);
    }
    for (size_t i = 0; i < MP_COUNT(all); i++)
        running += all[i].slot != 0;
    ck_assert_uint_gt(running, 100);
    mp_loop_advance(loop, 5000);
    ck_assert_uint_eq(n_ran, running);
    mp_loop_free(loop);
}
END_TEST

START_TEST(one_turn_ends_when_a_timer_has_rung_that_was_due_before)
{
    struct letter a = {.c = 'a'};
    begin(false);
    mp_timer_start(loop, &a.timer, 2, on_timer);
    usleep(20000);
    mp_loop_turn(loop, true); /* and does not wait for something else on top */
    ck_assert_str_eq(order, "a");
    mp_loop_free(loop);
}
END_TEST

static void on_job(struct mp_job *j)
{
    note(MP_OF(j, struct letter, job)->c);
}

static struct letter first = {.c = '1'}, second = {.c = '2'};

static void on_deferring(struct mp_timer *t)
{
    (void)t;
    note('<');
    mp_job_defer(loop, &first.job, on_job);
    mp_job_defer(loop, &second.job, on_job);
    mp_job_defer(loop, &first.job, on_job); /* waits already */
    note('>');
}

START_TEST(jobs_run_after_the_callback_that_deferred_them_in_the_same_turn)
{
    struct letter a = {.c = 'a'};
    begin(true);
    mp_timer_start(loop, &a.timer, 10, on_deferring);
    mp_loop_advance(loop, 10);
    ck_assert_str_eq(order, "<>12");
    mp_loop_free(loop);
}
END_TEST

START_TEST(a_job_deferred_outside_of_a_turn_runs_next_and_a_dropped_one_never)
{
    begin(true);
    mp_job_defer(loop, &first.job, on_job);
    mp_job_defer(loop, &second.job, on_job);
    ck_assert_str_eq(order, "");
    ck_assert_int_eq(mp_loop_timeout(loop), 0);
    mp_job_drop(loop, &first.job);
    mp_loop_turn(loop, false);
    ck_assert_str_eq(order, "2");
    mp_loop_free(loop);
}
END_TEST

static unsigned n_again, n_posted;

static void post_nothing(void *arg)
{
    (void)arg;
    n_posted++;
}

static void again(struct mp_job *job)
{
    n_again++;
    mp_job_defer(loop, job, again);
}

static void stop_it(struct mp_timer *timer)
{
    (void)timer;
    mp_loop_stop(loop);
}

START_TEST(a_job_that_never_ends_keeps_nobody_from_his_turn)
{
    struct mp_job job = {0};
    struct mp_timer timer = {0};
    begin(false);
    n_again = 0;
    mp_job_defer(loop, &job, again);
    mp_timer_start(loop, &timer, 20, stop_it);
    mp_loop_run(loop);
    ck_assert_uint_gt(n_again, 1000);
    mp_loop_post(loop, post_nothing, NULL);
    mp_loop_turn(loop, false);
    ck_assert_uint_eq(n_posted, 1);
    ck_assert_int_eq(mp_loop_timeout(loop), 0);
    mp_job_drop(loop, &job);
    mp_loop_free(loop);
}
END_TEST

static void post_note(void *arg)
{
    note(*(char *)arg);
    if (*(char *)arg == 'z')
        mp_loop_stop(loop);
}

static void *poster(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++)
        mp_loop_post(loop, post_note, (void *)"p");
    mp_loop_post(loop, post_note, (void *)"z");
    return NULL;
}

START_TEST(posts_from_another_thread_arrive_all_and_in_order)
{
    pthread_t t;
    begin(false);
    pthread_create(&t, NULL, poster, NULL);
    mp_loop_run(loop);
    pthread_join(t, NULL);
    ck_assert_str_eq(order, "ppppppppppz");
    mp_loop_free(loop);
}
END_TEST

static struct mp_watch *watch;
static int pair[2];
static size_t received;

static void on_readable(void *arg, unsigned events)
{
    char buf[100];
    (void)arg;
    ck_assert_uint_eq(events & MP_READABLE, MP_READABLE);
    ssize_t n = read(pair[0], buf, sizeof buf);
    if (n > 0) {
        received += (size_t)n;
    } else {
        note('e');
        mp_watch_stop(watch);
        watch = NULL;
    }
}

START_TEST(a_descriptor_that_fails_is_read_to_its_end)
{
    char block[1000] = {0};
    begin(false);
    received = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_int_eq(write(pair[0], block, 10), 10); /* unread by the peer: it resets */
    ck_assert_int_eq(write(pair[1], block, sizeof block), sizeof block);
    close(pair[1]);
    watch = mp_watch_start(loop, pair[0], MP_READABLE, on_readable, NULL);
    for (int i = 0; i < 50 && watch; i++)
        mp_loop_turn(loop, false);
    ck_assert_str_eq(order, "e");
    ck_assert_uint_eq(received, sizeof block);
    close(pair[0]);
    mp_loop_free(loop);
}
END_TEST

static void on_writable(void *arg, unsigned events)
{
    unsigned *got = arg;
    *got |= events;
    mp_watch_stop(watch);
}

/* A connection that is refused is one: who waits to write would else be called again and
 * again, and never for what he waits for. */
START_TEST(who_waits_to_write_hears_of_a_failure)
{
    unsigned got = 0;
    begin(false);
    ck_assert_int_eq(pipe(pair), 0);
    close(pair[0]);
    watch = mp_watch_start(loop, pair[1], MP_WRITABLE, on_writable, &got);
    mp_loop_turn(loop, true);
    ck_assert_uint_eq(got & MP_WRITABLE, MP_WRITABLE);
    close(pair[1]);
    mp_loop_turn(loop, false);
    mp_loop_free(loop);
}
END_TEST

static void work_run(void *arg)
{
    *(int *)arg = 1;
}

static void work_done(void *arg, int status)
{
    ck_assert_int_eq(*(int *)arg, 1);
    ck_assert_int_eq(status, MCPLUG_OK);
    note('w');
    mp_loop_stop(loop);
}

START_TEST(pool_work_runs_elsewhere_and_is_done_here)
{
    int ran = 0;
    begin(false);
    ck_assert_int_eq(mp_loop_work(loop, work_run, work_done, &ran), MCPLUG_OK);
    mp_loop_run(loop);
    ck_assert_str_eq(order, "w");
    mp_loop_free(loop);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, timers_run_in_order_of_their_time_and_only_then);
    tcase_add_test(tc, a_stopped_timer_never_runs_and_a_restarted_one_moves);
    tcase_add_test(tc, a_thousand_timers_started_and_stopped_at_random_keep_their_order);
    tcase_add_test(tc, one_turn_ends_when_a_timer_has_rung_that_was_due_before);
    tcase_add_test(tc, jobs_run_after_the_callback_that_deferred_them_in_the_same_turn);
    tcase_add_test(tc,
                   a_job_deferred_outside_of_a_turn_runs_next_and_a_dropped_one_never);
    tcase_add_test(tc, a_job_that_never_ends_keeps_nobody_from_his_turn);
    tcase_add_test(tc, posts_from_another_thread_arrive_all_and_in_order);
    tcase_add_test(tc, a_descriptor_that_fails_is_read_to_its_end);
    tcase_add_test(tc, who_waits_to_write_hears_of_a_failure);
    tcase_add_test(tc, pool_work_runs_elsewhere_and_is_done_here);
}

int main(void)
{
    return run_suite("loop_loop", add);
}
