/* Conversions in mcplug-worker: what it does, what it may not do, and what is left when
 * it goes wrong. The module trial.c does what its content says. */
#include "suite.h"

#include "api/host.h"
#include "base/mem.h"
#include "convert/pool.h"
#include "plugin_modules.h"
#include "quick.h"
#include "sanitized.h"

#include <mcplug/content.h>

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static mcplug *host;
static const mcplug_converted *got;
static struct mcplug_error err;
static const char *settings;
static struct mcplug_convert_options options;

static void make_host(void)
{
    const char *dirs[] = {own_dir, NULL};
    struct mcplug_options o = {
        .struct_size = sizeof o, .plugin_dirs = dirs, .converters = settings};

    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

static void setup(void)
{
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    options = (struct mcplug_convert_options){
        .struct_size = sizeof options, .mime = "x-test/trial", .want = "text/plain"};
    settings = NULL;
    got = NULL;
    own_dir_make();
    place("trial.so", "trial.so");
    make_host();
}

static void teardown(void)
{
    mcplug_converted_unref(got);
    got = NULL;
    mcplug_free(host);
    own_dir_remove();
    /* Nothing is left behind. */
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

static int convert(const char *what)
{
    mcplug_converted_unref(got);
    got = NULL;
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    return mcplug_convert_wait(host, what, strlen(what), &options, &got, &err);
}

static const char *text_of(const char *what)
{
    size_t len;

    ck_assert_msg(convert(what) == MCPLUG_OK, "%s: %s", what, err.text);
    ck_assert_str_eq(mcplug_converted_mime(got), "text/plain");
    const char *text = mcplug_converted_data(got, &len);
    ck_assert_uint_eq(strlen(text), len);
    return text;
}

#define assert_fails(what, expected, words)                                              \
    do {                                                                                 \
        int r_ = convert(what);                                                          \
        ck_assert_msg(r_ == (expected), "%s: %d (%s)", what, r_, err.text);              \
        ck_assert_msg(strstr(err.text, words), "%s: %s", what, err.text);                \
    } while (0)

static size_t workers(void)
{
    return mp_converters_workers(host->conversions.converters);
}

/* ---- what it does ---- */

START_TEST(content_goes_in_and_comes_out)
{
    ck_assert_str_eq(text_of("some words"), "SOME WORDS");
    ck_assert_str_eq(text_of(""), "");
    ck_assert_str_eq(text_of("file"), "a file");
    ck_assert_str_eq(text_of("thread"), "1");
}
END_TEST

START_TEST(parameters_and_capitals_of_a_type_do_not_matter)
{
    options.mime = "X-Test/Trial; charset=utf-8";
    ck_assert_str_eq(text_of("abc"), "ABC");
}
END_TEST

START_TEST(a_worker_is_kept_and_used_again)
{
    char first[32];

    snprintf(first, sizeof first, "%s", text_of("pid"));
    for (int i = 0; i < 20; i++)
        ck_assert_str_eq(text_of("pid"), first);
    ck_assert_uint_eq(workers(), 1);
    ck_assert_int_ne(atoi(first), (int)getpid());
}
END_TEST

START_TEST(facts_come_along_and_wrong_ones_are_refused)
{
    ck_assert_str_eq(text_of("facts"), "0");
    ck_assert_str_eq(mcplug_converted_fact(got, "pages"), "12");
    ck_assert_ptr_nonnull(strstr(mcplug_converted_fact(got, "title"), "lines"));
    ck_assert_ptr_null(strchr(mcplug_converted_fact(got, "title"), '\n'));
    ck_assert_str_eq(mcplug_converted_fact(got, "fact-15"), "x");
    ck_assert_ptr_null(mcplug_converted_fact(got, "one-more"));
    ck_assert_ptr_null(mcplug_converted_fact(got, "latin"));
    ck_assert_ptr_null(mcplug_converted_fact(got, NULL));
}
END_TEST

START_TEST(settings_of_the_user_and_of_the_caller_reach_it)
{
    ck_assert_str_eq(text_of("setting"), "none");
    options.settings = "{\"word\": \"mine\"}";
    ck_assert_str_eq(text_of("setting"), "mine");
    mcplug_converted_unref(mp_move(&got));
    mcplug_free(host);
    settings = "{\"trial\": {\"word\": \"configured\"}, \"other\": {}}";
    make_host();
    ck_assert_str_eq(text_of("setting"), "mine");
    options.settings = NULL;
    ck_assert_str_eq(text_of("setting"), "configured");
}
END_TEST

START_TEST(settings_that_are_wrong_are_named)
{
    options.settings = "{\"wrod\": \"x\"}";
    assert_fails("setting", MCPLUG_ECONFIG, "word");
    options.settings = "[1]";
    assert_fails("setting", MCPLUG_EINVAL, "settings");
    options.settings = "{";
    ck_assert_int_ne(convert("setting"), MCPLUG_OK);
    for (size_t i = 0; i < 4; i++) {
        static const char *const wrong[] = {"[]", "{", "{\"trial\": 1}",
                                            "{\"trial\": {\"isolation\": \"some\"}}"};
        struct mcplug_options o = {.struct_size = sizeof o, .converters = wrong[i]};
        ck_assert_ptr_null(mcplug_new(&o, &err));
        ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
        ck_assert_ptr_nonnull(strstr(err.text, "converters: "));
    }
}
END_TEST

START_TEST(without_isolation_it_runs_in_the_program)
{
    mcplug_free(host);
    settings = "{\"trial\": {\"isolation\": \"none\", \"word\": \"inside\"}}";
    make_host();
    ck_assert_int_eq(atoi(text_of("pid")), (int)getpid());
    ck_assert_str_eq(text_of("setting"), "inside");
    ck_assert_str_eq(text_of("file"), "a file");
    assert_fails("refuse", MCPLUG_EPROTO, "it says refuse");
    ck_assert_uint_eq(workers(), 0);
}
END_TEST

START_TEST(what_no_module_does_is_said)
{
    options.mime = "x-test/nobody";
    assert_fails("x", MCPLUG_ENOTSUP, "no module offers a converter for");
    options.mime = "x-test/trial";
    options.want = "image/png";
    assert_fails("x", MCPLUG_ENOTSUP, "");
    options.want = "no type";
    assert_fails("x", MCPLUG_EINVAL, "not a media type");
    options.want = NULL;
    options.mime = "not a type";
    assert_fails("x", MCPLUG_EINVAL, "not a media type");
    options.mime = NULL;
    assert_fails("x", MCPLUG_EINVAL, "must be given");
}
END_TEST

START_TEST(limits_are_the_hosts_to_keep)
{
    options.max_bytes = 1000;
    assert_fails("large", MCPLUG_ETOOBIG, "more than the 1000 allowed");
    options.max_bytes = 1 << 20;
    ck_assert_int_eq(convert("large"), MCPLUG_OK);
    size_t len;
    mcplug_converted_data(got, &len);
    ck_assert_uint_eq(len, 1 << 20);
}
END_TEST

/* ---- what breaks the rules ---- */

static size_t descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

START_TEST(results_that_break_the_rules_are_failures)
{
    assert_fails("refuse", MCPLUG_EPROTO, "it says refuse");
    assert_fails("silent", MCPLUG_EPROTO, "gave no reason");
    assert_fails("positive", MCPLUG_EPROTO, "returned 5");
    assert_fails("nothing", MCPLUG_EPROTO, "");
    assert_fails("untyped", MCPLUG_EPROTO, "no type");
    assert_fails("short-file", MCPLUG_EPROTO, "shorter");
    ck_assert_str_eq(text_of("still here"), "STILL HERE");
    ck_assert_uint_eq(workers(), 1);
}
END_TEST

START_TEST(a_process_that_says_nonsense_is_not_believed)
{
    ck_assert_str_eq(text_of("first"), "FIRST");
    size_t before = descriptors();
    assert_fails("lie", MCPLUG_EIO, "nonsense");
    assert_fails("lie-noise", MCPLUG_EIO, "nonsense");
    assert_fails("lie-empty", MCPLUG_EIO, "");
    ck_assert_str_eq(text_of("next"), "NEXT");
    ck_assert_uint_eq(descriptors(), before);
}
END_TEST

START_TEST(memory_that_a_converter_lacks_is_not_the_hosts)
{
    assert_fails("nomemory", MCPLUG_EIO, "out of memory");
    ck_assert_str_eq(text_of("next"), "NEXT");
}
END_TEST

static const struct {
    const char *what, *words;
} ends[] = {
    {"crash", "signal 4"},  {"abort", "signal 6"}, {"exit", "status 7"},
    {"stack", "signal 11"}, {"nomem", ""},
};

START_TEST(a_worker_that_ends_is_one_failed_conversion)
{
    if (SANITIZED && strcmp(ends[_i].what, "nomem") == 0)
        return;
    assert_fails(ends[_i].what, MCPLUG_EIO,
                 SANITIZED && strcmp(ends[_i].what, "stack") == 0 ? "ended"
                                                                  : ends[_i].words);
    ck_assert_str_eq(text_of("next"), "NEXT");
    ck_assert_uint_eq(workers(), 1);
}
END_TEST

static const char *const hangs[] = {"hang", "spin"};

START_TEST(a_worker_that_hangs_is_ended_in_time)
{
    options.timeout_ms = 1500;
    assert_fails(hangs[_i], MCPLUG_ETIMEDOUT, "too long");
    options.timeout_ms = 0;
    ck_assert_str_eq(text_of("next"), "NEXT");
    ck_assert_uint_eq(workers(), 1);
}
END_TEST

START_TEST(a_worker_that_was_killed_while_idle_is_replaced)
{
    for (int i = 0; i < 5; i++) {
        int pid = atoi(text_of("pid"));
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_str_eq(text_of("next"), "NEXT");
        ck_assert_int_ne(atoi(text_of("pid")), pid);
    }
    ck_assert_uint_eq(workers(), 1);
}
END_TEST

START_TEST(a_worker_that_was_stopped_while_idle_is_replaced)
{
    int pid = atoi(text_of("pid"));

    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    options.timeout_ms = 1000;
    assert_fails("next", MCPLUG_ETIMEDOUT, "too long");
    options.timeout_ms = 0;
    ck_assert_str_eq(text_of("next"), "NEXT");
}
END_TEST

/* ---- what it may not do ---- */

static const char *const forbidden[] = {"open",   "create", "socket", "unix",   "exec",
                                        "fork",   "vfork",  "kill",   "ptrace", "unlink",
                                        "memory", "stat",   "stop",   "queue",  "owner"};

START_TEST(what_a_converter_may_not_do_fails)
{
    FILE *f = fopen("/tmp/mcplug-trial", "w"); /* for unlink */

    if (f)
        fclose(f);
    for (size_t i = 0; i < MP_COUNT(forbidden); i++) {
        int os_error = atoi(text_of(forbidden[i]));
        ck_assert_msg(os_error == EPERM || (os_error == ENOSYS && i < 8), "%s: %s",
                      forbidden[i], strerror(os_error));
        ck_assert_str_eq(text_of("next"), "NEXT");
    }
    unlink("/tmp/mcplug-trial");
}
END_TEST

START_TEST(a_worker_has_no_descriptors_and_no_environment_of_the_host)
{
    int file = open("/etc/passwd", O_RDONLY), ends[2]; /* without O_CLOEXEC */

    ck_assert(file >= 0 && pipe(ends) == 0);
    setenv("MCPLUG_TEST_SECRET", "s3cret", 1);
    /* the standard ones, the socket, and the two files of this conversion */
    ck_assert_str_eq(text_of("inheritance"),
                     "0 1 2 3 4 5 LC_ALL=C.UTF-8 MALLOC_ARENA_MAX=2 ");
    unsetenv("MCPLUG_TEST_SECRET");
    close(file);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* ---- many ---- */

struct many {
    int done, ok, ended;
};

static void on_converted(void *arg, mcplug_call *call, const mcplug_converted *converted,
                         const struct mcplug_error *why)
{
    struct many *m = arg;

    (void)call;
    m->done++;
    m->ok += converted && strcmp(mcplug_converted_data(converted, NULL), "ABC") == 0;
    m->ended += why && why->code == MCPLUG_EIO;
}

START_TEST(a_hundred_at_once_end_and_the_bad_ones_alone_fail)
{
    struct many m = {0};
    int n = (int)fewer(100);

    for (int i = 0; i < n; i++) {
        const char *what = i % 10 == 9 ? "crash" : "abc";
        ck_assert_ptr_nonnull(
            mcplug_convert(host, what, strlen(what), &options, on_converted, &m, &err));
    }
    while (m.done < n)
        mcplug_turn(host, 1);
    ck_assert_int_eq(m.ok, n * 9 / 10);
    ck_assert_int_eq(m.ended, n / 10);
    ck_assert_uint_le(workers(), (size_t)sysconf(_SC_NPROCESSORS_ONLN));
}
END_TEST

static long resident_of(int pid)
{
    char path[64];
    long pages = 0;

    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

START_TEST(a_thousand_in_a_row_need_no_more_memory)
{
    int n = (int)fewer(1000);
    long ours = 0, theirs = 0;
    int pid = 0;

    for (int i = 0; i < n; i++) {
        ck_assert_str_eq(text_of("abc"), "ABC");
        if (i == n / 10) {
            pid = atoi(text_of("pid"));
            ours = resident_of((int)getpid());
            theirs = resident_of(pid);
        }
    }
    ck_assert_int_eq(atoi(text_of("pid")), pid);
    if (!SANITIZED && !getenv("MCPLUG_TEST_VALGRIND")) {
        ck_assert_int_le(resident_of((int)getpid()), ours + 2048);
        ck_assert_int_le(resident_of(pid), theirs + 1024);
    }
}
END_TEST

/* ---- the end ---- */

START_TEST(a_conversion_can_be_cancelled)
{
    struct many m = {0};
    mcplug_call *call = mcplug_convert(host, "hang", 4, &options, on_converted, &m, &err);

    ck_assert_ptr_nonnull(call);
    for (int i = 0; i < 3; i++)
        mcplug_turn(host, 0);
    mcplug_cancel(call);
    while (!m.done)
        mcplug_turn(host, 1);
    ck_assert_int_eq(m.ok + m.ended, 0);
    ck_assert_str_eq(text_of("next"), "NEXT");
}
END_TEST

START_TEST(a_host_can_go_in_the_middle_of_one)
{
    struct many m = {0};

    ck_assert_ptr_nonnull(
        mcplug_convert(host, "hang", 4, &options, on_converted, &m, &err));
    mcplug_turn(host, 0);
    mcplug_free(host);
    ck_assert_int_eq(m.done, 1);
    make_host();
}
END_TEST

START_TEST(what_is_wrong_with_the_arguments_is_said)
{
    const mcplug_converted *out;

    ck_assert_int_eq(mcplug_convert_wait(NULL, "", 0, &options, &out, &err),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_convert_wait(host, NULL, 1, &options, &out, &err),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_convert_wait(host, "", 0, &options, NULL, &err),
                     MCPLUG_EINVAL);
    ck_assert_ptr_null(mcplug_convert(host, "", 0, &options, NULL, NULL, &err));
    ck_assert_ptr_null(mcplug_converted_mime(NULL));
    ck_assert_ptr_null(mcplug_converted_data(NULL, NULL));
    ck_assert_ptr_null(mcplug_converted_ref(NULL));
    mcplug_converted_unref(NULL);
}
END_TEST

START_TEST(without_the_helper_the_reason_is_given)
{
    const char *dirs[] = {own_dir, NULL};
    struct mcplug_options o = {
        .struct_size = sizeof o, .plugin_dirs = dirs, .helper_dir = "/nowhere"};

    mcplug_free(host);
    host = mcplug_new(&o, &err);
    /* under valgrind posix_spawn() does not see it fail */
    assert_fails("x", MCPLUG_EIO,
                 getenv("MCPLUG_TEST_VALGRIND")
                     ? "ended"
                     : "/nowhere/mcplug-worker cannot be started");
}
END_TEST

int main(int argc, char **argv)
{
    if (!modules_find(argc, argv))
        return TEST_SKIP;

    Suite *s = suite_create("convert_convert");
    TCase *tc = tcase_create("convert");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, content_goes_in_and_comes_out);
    tcase_add_test(tc, parameters_and_capitals_of_a_type_do_not_matter);
    tcase_add_test(tc, a_worker_is_kept_and_used_again);
    tcase_add_test(tc, facts_come_along_and_wrong_ones_are_refused);
    tcase_add_test(tc, settings_of_the_user_and_of_the_caller_reach_it);
    tcase_add_test(tc, settings_that_are_wrong_are_named);
    tcase_add_test(tc, without_isolation_it_runs_in_the_program);
    tcase_add_test(tc, what_no_module_does_is_said);
    tcase_add_test(tc, limits_are_the_hosts_to_keep);
    tcase_add_test(tc, results_that_break_the_rules_are_failures);
    tcase_add_test(tc, a_process_that_says_nonsense_is_not_believed);
    tcase_add_test(tc, memory_that_a_converter_lacks_is_not_the_hosts);
    tcase_add_loop_test(tc, a_worker_that_ends_is_one_failed_conversion, 0,
                        MP_COUNT(ends));
    tcase_add_loop_test(tc, a_worker_that_hangs_is_ended_in_time, 0, MP_COUNT(hangs));
    tcase_add_test(tc, a_worker_that_was_killed_while_idle_is_replaced);
    tcase_add_test(tc, a_worker_that_was_stopped_while_idle_is_replaced);
    tcase_add_test(tc, what_a_converter_may_not_do_fails);
    tcase_add_test(tc, a_worker_has_no_descriptors_and_no_environment_of_the_host);
    tcase_add_test(tc, a_hundred_at_once_end_and_the_bad_ones_alone_fail);
    tcase_add_test(tc, a_thousand_in_a_row_need_no_more_memory);
    tcase_add_test(tc, a_conversion_can_be_cancelled);
    tcase_add_test(tc, a_host_can_go_in_the_middle_of_one);
    tcase_add_test(tc, what_is_wrong_with_the_arguments_is_said);
    tcase_add_test(tc, without_the_helper_the_reason_is_given);
    suite_add_tcase(s, tc);
    return run_to_end(s);
}
