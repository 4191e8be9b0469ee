#include "cli/base/cli.h"
#include "cli/base/loop.h"
#include "cli/base/progress.h"

#include "suite.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WENT_ON 99 /* what a child ends with that was to end earlier */
#define LONG_MS 600000

static struct cli_loop loop;
static int stopped, woken;
static int restored; /* where it is noted; 0: nowhere */
static short seen;

static void on_stop(void *arg, int number)
{
    ck_assert_ptr_eq(arg, &loop);
    ck_assert_int_eq(loop.signal, number);
    stopped++;
}

static void on_stop_end(void *arg, int number)
{
    on_stop(arg, number);
    cli_loop_end(&loop, 77);
}

static bool on_other(void *arg, int number)
{
    (void)arg;
    return number == SIGTERM;
}

static void on_woken(void *arg, short revents)
{
    (void)arg;
    woken++;
    seen = revents;
}

static void on_restore(void *arg)
{
    (void)arg;
    if (restored && write(restored, "r", 1) != 1)
        _exit(WENT_ON);
}

/* Signals are those of a process, and so is its end: each test has a child. */
static void open_loop(void)
{
    struct mcplug_options options = {.struct_size = sizeof options, .log_level = -1};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    loop = (struct cli_loop){.leave_ms = LONG_MS,
                             .arg = &loop,
                             .stop = on_stop,
                             .other = on_other,
                             .woken = on_woken,
                             .restore = on_restore};
    mcplug *host = mcplug_new(&options, &err);
    if (!host)
        _exit(WENT_ON);
    signal(SIGINT, SIG_DFL); /* may be ignored in the background */
    signal(SIGTERM, SIG_DFL);
    cli_loop_open(&loop, host);
}

static void turn(void)
{
    cli_loop_turn(&loop, -1, 0, cli_now());
}

static int exit_code_of(void (*what)(void))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        open_loop();
        what();
        mcplug_free(loop.host);
        cli_loop_close(&loop);
        _exit(WENT_ON);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "status %x", (unsigned)status);
    return WEXITSTATUS(status);
}

static void two_signals(void)
{
    turn();
    raise(SIGINT);
    turn();
    if (stopped != 1 || loop.signal != SIGINT)
        return;
    turn();
    raise(SIGINT);
    turn();
}

START_TEST(the_first_signal_stops_and_the_second_ends_at_once)
{
    ck_assert_int_eq(exit_code_of(two_signals), CLI_SIGNAL + SIGINT);
}
END_TEST

static void signal_at_the_end(void)
{
    cli_loop_end(&loop, CLI_OK);
    turn();
    raise(SIGINT);
    turn();
}

START_TEST(a_signal_ends_at_once_when_only_servers_are_waited_for)
{
    ck_assert_int_eq(exit_code_of(signal_at_the_end), CLI_SIGNAL + SIGINT);
}
END_TEST

static void servers_stay(void)
{
    loop.leave_ms = 10;
    loop.stop = on_stop_end;
    raise(SIGINT);
    for (int i = 0; i < 1000; i++)
        cli_loop_turn(&loop, -1, 0, 0);
}

START_TEST(servers_that_do_not_go_after_a_signal_are_left)
{
    ck_assert_int_eq(exit_code_of(servers_stay), 77);
}
END_TEST

static void no_limit_before_the_end(void)
{
    loop.leave_ms = 0;
    raise(SIGINT);
    turn();
    turn();
    _exit(stopped == 1 ? CLI_OK : WENT_ON);
}

START_TEST(what_the_command_still_does_after_a_signal_has_no_limit)
{
    ck_assert_int_eq(exit_code_of(no_limit_before_the_end), CLI_OK);
}
END_TEST

static void other_signals(void)
{
    cli_loop_end(&loop, CLI_OK);
    raise(SIGTERM);
    turn();
    raise(SIGTERM);
    turn();
    _exit(stopped ? WENT_ON : CLI_OK);
}

START_TEST(a_signal_that_means_something_else_does_not_end_us)
{
    ck_assert_int_eq(exit_code_of(other_signals), CLI_OK);
}
END_TEST

static void one_more_descriptor(void)
{
    int fds[2];

    if (pipe(fds) != 0 || write(fds[1], "x", 1) != 1)
        return;
    cli_loop_turn(&loop, fds[0], POLLIN, cli_now() + LONG_MS);
    if (woken != 1 || seen != POLLIN)
        return;
    turn();
    _exit(woken == 2 && seen == 0 ? CLI_OK : WENT_ON);
}

START_TEST(one_more_descriptor_is_told_of_before_each_turn_of_the_library)
{
    ck_assert_int_eq(exit_code_of(one_more_descriptor), CLI_OK);
}
END_TEST

START_TEST(the_terminal_is_restored_before_the_process_ends)
{
    char byte = 0;
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    restored = fds[1];
    ck_assert_int_eq(exit_code_of(signal_at_the_end), CLI_SIGNAL + SIGINT);
    ck_assert_int_eq(read(fds[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'r');
    restored = 0;
    close(fds[0]);
    close(fds[1]);
}
END_TEST

START_TEST(the_first_exit_code_counts)
{
    struct cli_loop one = {.signal_fd = -1};
    cli_loop_end(&one, 5);
    cli_loop_end(&one, 6);
    ck_assert(one.ending);
    ck_assert_int_eq(one.exit_code, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_loop");
    TCase *tc = tcase_create("loop");
    tcase_add_test(tc, the_first_signal_stops_and_the_second_ends_at_once);
    tcase_add_test(tc, a_signal_ends_at_once_when_only_servers_are_waited_for);
    tcase_add_test(tc, servers_that_do_not_go_after_a_signal_are_left);
    tcase_add_test(tc, what_the_command_still_does_after_a_signal_has_no_limit);
    tcase_add_test(tc, a_signal_that_means_something_else_does_not_end_us);
    tcase_add_test(tc, one_more_descriptor_is_told_of_before_each_turn_of_the_library);
    tcase_add_test(tc, the_terminal_is_restored_before_the_process_ends);
    tcase_add_test(tc, the_first_exit_code_counts);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
