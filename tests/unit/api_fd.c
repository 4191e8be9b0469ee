/* A foreign loop that knows nothing but the descriptor: epoll, without any time-out. */
#include "server_kit.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

static int epoll_fd;
static unsigned n_settime;

/* In place of libc's, to count. */
int timerfd_settime(int fd, int flags, const struct itimerspec *new,
                    struct itimerspec *old)
{
    n_settime++;
    return (int)syscall(SYS_timerfd_settime, fd, flags, new, old);
}

static void begin_epoll(void)
{
    begin_bare();
    struct epoll_event e = {.events = EPOLLIN};
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    ck_assert_int_eq(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, mcplug_fd(host), &e), 0);
}

static void end_epoll(void)
{
    close(epoll_fd);
    end();
}

/* The suite's own limit ends it when nothing comes. */
#define WAIT_UNTIL(condition)                                                            \
    while (!(condition)) {                                                               \
        struct epoll_event e_;                                                           \
        ck_assert_int_eq(epoll_wait(epoll_fd, &e_, 1, -1), 1);                           \
        mcplug_turn(host, 0);                                                            \
    }

static bool is_readable(void)
{
    struct epoll_event e;
    return epoll_wait(epoll_fd, &e, 1, 0) == 1;
}

static unsigned n_ready, n_closed, n_of_state[MCPLUG_STATE_ENDED + 1];
static int last_code;

static void on_ready(void *arg, mcplug_server *h, const struct mcplug_error *why)
{
    (void)arg, (void)h;
    n_ready++;
    last_code = why ? why->code : MCPLUG_OK;
}

static void on_closed(void *arg)
{
    (void)arg;
    n_closed++;
}

static void on_state(void *arg, mcplug_server *h, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    (void)arg, (void)h, (void)why;
    n_of_state[state]++;
}

static mcplug_server *open_and_wait(mcplug_settings *settings,
                                    const struct mcplug_server_options *o)
{
    mcplug_server *h = NULL;
    n_ready = 0;
    ck_assert_int_eq(mcplug_open(host, settings, o, on_ready, NULL, &h, &err), MCPLUG_OK);
    mcplug_settings_free(settings);
    ck_assert(is_readable());
    WAIT_UNTIL(n_ready);
    return h;
}

static void call(mcplug_server *h, const char *tool, const char *args, uint64_t ms,
                 struct outcome *out)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = ms};
    *out = (struct outcome){0};
    ck_assert_ptr_nonnull(mcplug_call_tool(h, tool, args, &o, on_outcome, out, &err));
}

START_TEST(calls_end_and_time_out_by_the_descriptor_alone)
{
    struct outcome slow, quick;
    begin_epoll();
    mcplug_server *h = open_and_wait(example(NULL), NULL);
    ck_assert_int_eq(last_code, MCPLUG_OK);
    call(h, "sleep", "{\"ms\":60000}", 50, &slow);
    call(h, "echo", "{\"text\":\"x\"}", 0, &quick);
    WAIT_UNTIL(quick.times);
    ck_assert_int_eq(quick.code, MCPLUG_OK);
    WAIT_UNTIL(slow.times);
    ck_assert_int_eq(slow.code, MCPLUG_ETIMEDOUT);
    n_closed = 0;
    mcplug_close(h, on_closed, NULL);
    ck_assert(is_readable());
    WAIT_UNTIL(n_closed);
    end_epoll();
}
END_TEST

/* The server ignores the end of its input and SIGTERM: two timers, one after the other.
 */
START_TEST(a_server_that_does_not_go_is_killed_in_time)
{
    begin_epoll();
    mcplug_settings *s = scripted((const char *const[]){
        "FIRST", "trap '' TERM; trap 'sleep 60; sleep 60' EXIT", NULL});
    mcplug_settings_set(s, "closeGrace", "20ms");
    mcplug_settings_set(s, "termGrace", "20ms");
    mcplug_server *h = open_and_wait(s, NULL);
    ck_assert_msg(last_code == MCPLUG_OK, "%s", logged);
    n_closed = 0;
    mcplug_close(h, on_closed, NULL);
    WAIT_UNTIL(n_closed);
    end_epoll();
}
END_TEST

START_TEST(a_server_that_dies_is_started_again)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .state = on_state};
    struct outcome died, again;
    begin_epoll();
    mcplug_server *h = open_and_wait(
        scripted((const char *const[]){"TOOLS", "", "RESULT", "\"content\":[]", NULL}),
        &o);
    memset(n_of_state, 0, sizeof n_of_state);
    call(h, "die", "{}", 0, &died);
    WAIT_UNTIL(n_of_state[MCPLUG_STATE_READY]);
    ck_assert_uint_eq(died.times, 1);
    call(h, "x", "{}", 0, &again);
    WAIT_UNTIL(again.times);
    ck_assert_int_eq(again.code, MCPLUG_OK);
    end_epoll();
}
END_TEST

static void on_post(void *arg)
{
    *(int *)arg = 1;
}

static void *post_it(void *arg)
{
    mcplug_post(host, on_post, arg);
    return NULL;
}

START_TEST(a_post_of_another_thread_makes_it_readable)
{
    int done = 0;
    pthread_t thread;
    begin_epoll();
    while (is_readable())
        mcplug_turn(host, 0);
    pthread_create(&thread, NULL, post_it, &done);
    WAIT_UNTIL(done);
    pthread_join(thread, NULL);
    end_epoll();
}
END_TEST

START_TEST(there_is_none_while_a_thread_of_ours_runs_the_loop)
{
    begin_bare();
    ck_assert_int_ge(mcplug_fd(host), 0);
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_fd(host), -1);
    mcplug_server *h = NULL;
    mcplug_settings *s = example(NULL);
    ck_assert_int_eq(mcplug_open_wait(host, s, NULL, &h, &err), MCPLUG_OK);
    mcplug_settings_free(s);
    mcplug_close_wait(h);
    end();
}
END_TEST

/* Deadlines of calls are later than what is due next anyway. */
START_TEST(a_hundred_calls_arm_the_timer_a_few_times)
{
    struct outcome out;
    begin_epoll();
    mcplug_server *h = open_and_wait(example(NULL), NULL);
    unsigned before = n_settime;
    ck_assert_uint_gt(before, 0);
    for (int i = 0; i < 100; i++) {
        call(h, "echo", "{\"text\":\"x\"}", 0, &out);
        WAIT_UNTIL(out.times);
    }
    ck_assert_uint_le(n_settime - before, 10);
    end_epoll();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, calls_end_and_time_out_by_the_descriptor_alone);
    tcase_add_test(tc, a_server_that_does_not_go_is_killed_in_time);
    tcase_add_test(tc, a_server_that_dies_is_started_again);
    tcase_add_test(tc, a_post_of_another_thread_makes_it_readable);
    tcase_add_test(tc, there_is_none_while_a_thread_of_ours_runs_the_loop);
    tcase_add_test(tc, a_hundred_calls_arm_the_timer_a_few_times);
}

int main(void)
{
    return run_suite("api_fd", add);
}
