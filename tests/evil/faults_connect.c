/* Servers with which no session comes up, or only by a detour. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- detours ---- */

START_TEST(a_server_that_exits_on_discover_is_started_once_more)
{
    struct peer *p = peer_up("--legacy exit-on-discover 1");
    ck_assert_str_eq(mcplug_server_revision(p->server), "2025-11-25");
    check_good(p);
    ck_assert_uint_eq(p->n_bad, 0);
    peer_end(p);
}
END_TEST

START_TEST(a_server_that_is_silent_on_discover_is_initialized)
{
    struct peer *p = peer_up("--legacy silent-on-discover");
    ck_assert_str_eq(mcplug_server_revision(p->server), "2025-11-25");
    ck_assert(now_ms() - p->began < 1500 + bound_ms());
    check_good(p);
    ck_assert_uint_eq(p->n_bad, 0);
    peer_end(p);
}
END_TEST

START_TEST(what_era_a_server_has_is_remembered)
{
    struct peer *p = peer_up("--legacy silent-on-discover");
    mcplug_close_wait(p->server);
    p->ready = 0;
    double since = now_ms();
    ck_assert_int_eq(peer_open(p), 0);
    ck_assert(now_ms() - since < 1000); /* straight into initialize */
    check_good(p);
    peer_end(p);
}
END_TEST

/* ---- no session ---- */

static void check_failure(const char *mode, int code, const char *text)
{
    struct peer *p = peer_new(mode);
    double since = now_ms();

    p->o.timeout_ms = 400;
    ck_assert_int_ne(peer_open(p), 0);
    ck_assert(now_ms() - since < 400 + bound_ms());
    ck_assert_msg(p->why.code == code, "%s: %d, %s", mode, p->why.code, p->why.text);
    ck_assert_msg(strstr(p->why.text, text), "%s: \"%s\"", mode, p->why.text);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_ERROR, text), 1);
    peer_run(p, 50);
    ck_assert_uint_eq(p->ready, 1);
    ck_assert_uint_eq(p->dropped, 0);
    peer_end(p);
}

#define GONE "Process not found - stdio server process terminated"

START_TEST(a_server_that_exits_at_once_is_a_failure_with_its_status)
{
    check_failure("exit-at-once 3", MCPLUG_ECLOSED,
                  GONE " (server exited with status 3)");
    check_failure("exit-at-once 0", MCPLUG_ECLOSED,
                  GONE " (server exited with status 0)");
}
END_TEST

START_TEST(a_server_that_dies_at_once_is_a_failure_with_its_signal)
{
    check_failure("die-at-once 9", MCPLUG_ECLOSED,
                  GONE " (server was killed by signal 9 (Killed))");
}
END_TEST

START_TEST(a_server_that_never_answers_is_given_up_in_time)
{
    check_failure("mute-from-start", MCPLUG_ETIMEDOUT,
                  "Connection to MCP server \"peer\" timed out after 400ms");
}
END_TEST

START_TEST(a_hundred_servers_that_exit_at_once_leave_nothing_behind)
{
    struct peer *p = peer_new("exit-at-once 1");
    for (unsigned i = 0; i < 100; i++) {
        p->ready = 0;
        ck_assert_int_eq(peer_open(p), MCPLUG_ECLOSED);
        mcplug_close_wait(p->server);
    }
    p->server = NULL;
    p->ready = 0;
    peer_end(p);
}
END_TEST

/* `ready` must come, once, and before `dropped` where that comes at all. */
START_TEST(a_server_that_goes_while_its_lists_are_fetched_is_told_once)
{
    struct peer *p = peer_new("exit-on-list");
    p->o.lists = MCPLUG_TOOLS;
    peer_open(p);
    peer_run(p, 50);
    ck_assert_uint_eq(p->ready, 1);
    ck_assert_msg(strstr(p->why.text, GONE), "%s", p->why.text);
    peer_end(p);
}
END_TEST

START_TEST(a_list_that_cannot_be_fetched_is_no_reason_not_to_connect)
{
    struct peer *p = peer_new("wrong-list");
    p->o.lists = MCPLUG_TOOLS | MCPLUG_PROMPTS;
    ck_assert_int_eq(peer_open(p), 0);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_WARN, "cannot get its list of tools"), 1);
    check_good(p);
    peer_end(p);
}
END_TEST

/* ---- the system says no ---- */

static void check_spawn(const char *command, const char *cwd, const char *text)
{
    struct peer *p = peer_new("plain");

    mcplug_settings_set(p->settings, "command", command);
    if (cwd)
        mcplug_settings_set(p->settings, "cwd", cwd);
    ck_assert_int_eq(peer_open(p), MCPLUG_EREFUSED);
    ck_assert_msg(
        strstr(p->why.text, "Failed to spawn process - check command and permissions"),
        "%s", p->why.text);
    ck_assert_msg(strstr(p->why.text, text), "%s", p->why.text);
    peer_end(p);
}

START_TEST(a_program_that_cannot_be_run_is_named_with_the_reason)
{
    check_spawn("/no/such/program", NULL, "\"/no/such/program\": No such file");
    check_spawn("/etc/passwd", NULL, "\"/etc/passwd\": Permission denied");
    check_spawn("/bin/true", "/no/such/dir", "enter directory \"/no/such/dir\"");
}
END_TEST

/* Every number of descriptors from none to enough: each failure is told, and nothing
 * of it stays. */
START_TEST(too_few_descriptors_are_a_clear_error)
{
    struct peer *p = peer_new("plain");
    struct rlimit old, few;
    unsigned failed = 0, worked = 0;

    getrlimit(RLIMIT_NOFILE, &old);
    int lowest = dup(0);
    close(lowest);
    for (int i = 0; i < 24 && !worked; i++) {
        p->ready = 0;
        p->server = NULL;
        few = (struct rlimit){(rlim_t)(lowest + i), old.rlim_max};
        setrlimit(RLIMIT_NOFILE, &few);
        int r = mcplug_open_wait(p->host, p->settings, &p->o, &p->server, &p->err);
        setrlimit(RLIMIT_NOFILE, &old);
        failed += r != 0;
        worked += r == 0;
        if (r != 0)
            ck_assert_msg(p->err.text[0] && p->err.code != MCPLUG_EINVAL, "%d: %s", i,
                          p->err.text);
    }
    ck_assert_uint_ge(failed, 5);
    ck_assert_uint_eq(worked, 1);
    p->ready = 1;
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(a_spill_directory_that_cannot_be_used_fails_the_call_alone)
{
    struct peer *p = peer_new("huge-string 4");
    char file[80];

    p->o.max_memory = 1024 * 1024;
    ck_assert_int_eq(rmdir(p->spill_dir), 0);
    snprintf(file, sizeof file, "%s", p->spill_dir);
    close(open(file, O_CREAT | O_WRONLY, 0600)); /* a file in its place */
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = shoot(p, "bad", 1, bound_ms());
    ck_assert_int_eq(s->code, MCPLUG_EIO);
    ck_assert_msg(strstr(s->text, file), "%s", s->text);
    check_good(p);
    unlink(file);
    mkdtemp(strcpy(p->spill_dir, "/tmp/mcplug-evil-XXXXXX"));
    peer_end(p);
}
END_TEST

void add_connect_tests(Suite *suite)
{
    TCase *t = tcase_create("connect");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_server_that_exits_on_discover_is_started_once_more);
    tcase_add_test(t, a_server_that_is_silent_on_discover_is_initialized);
    tcase_add_test(t, what_era_a_server_has_is_remembered);
    tcase_add_test(t, a_server_that_exits_at_once_is_a_failure_with_its_status);
    tcase_add_test(t, a_server_that_dies_at_once_is_a_failure_with_its_signal);
    tcase_add_test(t, a_server_that_never_answers_is_given_up_in_time);
    tcase_add_test(t, a_hundred_servers_that_exit_at_once_leave_nothing_behind);
    tcase_add_test(t, a_server_that_goes_while_its_lists_are_fetched_is_told_once);
    tcase_add_test(t, a_list_that_cannot_be_fetched_is_no_reason_not_to_connect);
    tcase_add_test(t, a_program_that_cannot_be_run_is_named_with_the_reason);
    tcase_add_test(t, too_few_descriptors_are_a_clear_error);
    tcase_add_test(t, a_spill_directory_that_cannot_be_used_fails_the_call_alone);
    suite_add_tcase(suite, t);
}
