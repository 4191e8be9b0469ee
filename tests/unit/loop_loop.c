#include "fake.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
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
    static struct mp_post own;
    (void)arg;
    for (int i = 0; i < 10; i++)
        mp_loop_post(loop, post_note, (void *)"p");
    mp_loop_post_own(loop, &own, post_note, (void *)"o");
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
    ck_assert_str_eq(order, "ppppppppppoz");
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

/* ---- for a foreign loop ---- */

static unsigned n_timerfds(void)
{
    unsigned n = 0;
    char link[64];
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *e; (e = readdir(dir));) {
        ssize_t len = readlinkat(dirfd(dir), e->d_name, link, sizeof link - 1);
        link[len < 0 ? 0 : len] = '\0';
        n += strcmp(link, "anon_inode:[timerfd]") == 0;
    }
    closedir(dir);
    return n;
}

static bool is_readable(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, 0) == 1;
}

/* Until it has nothing to do, without a wait. */
static void turn_all(int fd)
{
    int turns = 0;
    for (; turns < 10 && is_readable(fd); turns++)
        mp_loop_turn(loop, false);
    ck_assert_int_lt(turns, 10);
}

/* One wait for as long as it takes, and the turn. */
static void turn_when_readable(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    ck_assert_int_eq(poll(&p, 1, -1), 1);
    mp_loop_turn(loop, false);
}

START_TEST(there_is_no_timerfd_before_a_foreign_loop_asks_for_the_descriptor)
{
    struct letter a = {.c = 'a'};
    begin(false);
    mp_timer_start(loop, &a.timer, 1, on_timer);
    ck_assert_int_ge(mp_loop_timeout(loop), 0);
    mp_loop_turn(loop, true);
    ck_assert_uint_eq(n_timerfds(), 0);
    int fd = mp_loop_fd(loop);
    ck_assert_uint_eq(n_timerfds(), 1);
    ck_assert_int_eq(mp_loop_fd(loop), fd);
    ck_assert_uint_eq(n_timerfds(), 1);
    mp_timer_stop(loop, &a.timer);
    mp_loop_free(loop);
    ck_assert_uint_eq(n_timerfds(), 0);
}
END_TEST

static void start_next(struct mp_timer *t)
{
    struct letter *next = MP_OF(t, struct letter, timer) + 1;
    on_timer(t);
    mp_timer_start(loop, &next->timer, 10, on_timer);
}

/* Started before the descriptor was asked for, outside of a turn, and in one; a later one
 * and an earlier one. */
START_TEST(timers_make_the_descriptor_readable)
{
    struct letter all[] = {{.c = 'a'}, {.c = 'b'}, {.c = 'c'}, {.c = 'd'}};
    begin(false);
    mp_timer_start(loop, &all[2].timer, 40, start_next);
    int fd = mp_loop_fd(loop);
    mp_timer_start(loop, &all[0].timer, 20, start_next);
    while (strlen(order) < MP_COUNT(all))
        turn_when_readable(fd);
    for (size_t i = 0; i < MP_COUNT(all); i++) /* how they mix is up to the machine */
        ck_assert_ptr_nonnull(strchr(order, all[i].c));
    turn_all(fd);
    mp_loop_free(loop);
}
END_TEST

START_TEST(a_timer_that_is_due_already_makes_the_descriptor_readable_at_once)
{
    struct letter a = {.c = 'a'};
    begin(false);
    int fd = mp_loop_fd(loop);
    turn_all(fd);
    mp_timer_start(loop, &a.timer, 0, on_timer);
    ck_assert(is_readable(fd));
    turn_all(fd);
    ck_assert_str_eq(order, "a");
    mp_loop_free(loop);
}
END_TEST

START_TEST(what_is_queued_outside_of_a_turn_makes_the_descriptor_readable)
{
    struct letter a = {.c = 'a'}, b = {.c = 'b'};
    begin(false);
    int fd = mp_loop_fd(loop);
    turn_all(fd);
    mp_job_defer(loop, &a.job, on_job);
    ck_assert(is_readable(fd));
    turn_all(fd);
    ck_assert_str_eq(order, "a");
    mp_loop_post(loop, post_note, (void *)"p");
    ck_assert(is_readable(fd));
    turn_all(fd);
    ck_assert_str_eq(order, "ap");
    mp_job_defer(loop, &b.job, on_job); /* with others that go on for ever */
    mp_job_defer(loop, &first.job, again);
    mp_loop_turn(loop, false);
    ck_assert(is_readable(fd));
    mp_job_drop(loop, &first.job);
    turn_all(fd);
    mp_loop_free(loop);
}
END_TEST

static void watch_now(struct mp_job *job)
{
    (void)job;
    watch = mp_watch_start(loop, pair[0], MP_READABLE, on_readable, NULL);
}

/* libuv registers a descriptor when it is run next. */
START_TEST(a_descriptor_watched_since_the_last_turn_makes_it_readable)
{
    for (int in_turn = 0; in_turn < 2; in_turn++) {
        begin(false);
        received = 0;
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        int fd = mp_loop_fd(loop);
        turn_all(fd);
        if (in_turn) {
            mp_job_defer(loop, &first.job, watch_now);
            mp_loop_post(loop, post_nothing, NULL);
            turn_all(fd);
        } else {
            watch_now(NULL);
        }
        turn_all(fd);
        ck_assert_int_eq(write(pair[1], "x", 1), 1);
        turn_when_readable(fd);
        ck_assert_uint_eq(received, 1);
        close(pair[1]);
        while (watch)
            turn_when_readable(fd);
        close(pair[0]);
        mp_loop_free(loop);
    }
}
END_TEST

/* In place of libc's, to count. */
static unsigned n_settime;
int timerfd_settime(int fd, int flags, const struct itimerspec *new,
                    struct itimerspec *old)
{
    n_settime++;
    return (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
}

/* Deadlines of calls, all later than the first: no call of timerfd_settime for each. */
START_TEST(a_tick_that_comes_sooner_is_left_alone)
{
    struct letter all[] = {{.c = 'a'}, {.c = 'b'}, {.c = 'c'}, {.c = 'd'}};
    begin(false);
    int fd = mp_loop_fd(loop);
    turn_all(fd);
    mp_timer_start(loop, &all[0].timer, 1000000, on_timer);
    ck_assert_uint_eq(n_settime, 1);
    mp_timer_start(loop, &all[1].timer, 2000000, on_timer);
    mp_timer_stop(loop, &all[0].timer);
    turn_all(fd);
    ck_assert_uint_eq(n_settime, 1);
    mp_timer_start(loop, &all[2].timer, 500000, on_timer);
    ck_assert_uint_eq(n_settime, 2);
    mp_timer_start(loop, &all[3].timer, 20, on_timer);
    mp_timer_stop(loop, &all[3].timer);
    turn_when_readable(fd); /* for one that was stopped; it is armed for the next */
    ck_assert_uint_eq(n_settime, 4);
    ck_assert_str_eq(order, "");
    mp_timer_stop(loop, &all[1].timer);
    mp_timer_stop(loop, &all[2].timer);
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
    tcase_add_test(tc, there_is_no_timerfd_before_a_foreign_loop_asks_for_the_descriptor);
    tcase_add_test(tc, timers_make_the_descriptor_readable);
    tcase_add_test(tc, a_timer_that_is_due_already_makes_the_descriptor_readable_at_once);
    tcase_add_test(tc, what_is_queued_outside_of_a_turn_makes_the_descriptor_readable);
    tcase_add_test(tc, a_descriptor_watched_since_the_last_turn_makes_it_readable);
    tcase_add_test(tc, a_tick_that_comes_sooner_is_left_alone);
}

int main(void)
{
    return run_suite("loop_loop", add);
}
