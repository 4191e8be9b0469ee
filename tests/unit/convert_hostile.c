/* A worker that was taken over: what it sends is believed in nothing. tests/evil/
 * evil_worker.c is started in place of mcplug-worker, and does what an act says. */
#include "suite.h"

#include "api/host.h"
#include "base/mem.h"
#include "convert/pool.h"
#include "plugin_modules.h"
#include "quick.h"

#include <mcplug/content.h>

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static mcplug *host;
static const char *build;

static void set_act(const char *act)
{
    FILE *f = fopen(own("helpers/act"), "w");

    ck_assert_ptr_nonnull(f);
    fprintf(f, "%s %s/helpers/mcplug-worker\n", act, build);
    ck_assert_int_eq(fclose(f), 0);
}

static void setup(void)
{
    char program[PATH_MAX];
    const char *dirs[] = {own_dir, NULL};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mcplug_options o = {.struct_size = sizeof o, .plugin_dirs = dirs};

    own_dir_make();
    place("trial.so", "trial.so");
    ck_assert_int_eq(mkdir(own("helpers"), 0700), 0);
    snprintf(program, sizeof program, "%s/tests/evil/evil_worker", build);
    ck_assert_int_eq(symlink(program, own("helpers/mcplug-worker")), 0);
    o.helper_dir = own("helpers");
    host = mcplug_new(&o, &why);
    ck_assert_msg(host != NULL, "%s", why.text);
}

static void teardown(void)
{
    mcplug_free(host);
    own_dir_remove();
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

static int convert(const char *act, uint32_t timeout_ms, char text[32],
                   struct mcplug_error *why)
{
    const struct mcplug_convert_options options = {.struct_size = sizeof options,
                                                   .mime = "x-test/trial",
                                                   .want = "text/plain",
                                                   .timeout_ms = timeout_ms};
    const mcplug_converted *got = NULL;

    set_act(act);
    *why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int r = mcplug_convert_wait(host, "some words", 10, &options, &got, why);
    ck_assert_int_eq(r == MCPLUG_OK, got != NULL);
    snprintf(text, 32, "%s", got ? mcplug_converted_data(got, NULL) : "");
    mcplug_converted_unref(got);
    return r;
}

static size_t workers(void)
{
    return mp_converters_workers(host->conversions.converters);
}

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

static void assert_good_one_follows(void)
{
    struct mcplug_error why;
    char text[32];

    ck_assert_msg(convert("good", 0, text, &why) == MCPLUG_OK, "%s", why.text);
    ck_assert_str_eq(text, "SOME WORDS");
    ck_assert_uint_eq(workers(), 1);
}

#define NONSENSE "the converter's process said nonsense"
#define LATE "the converter took too long"
#define SHORT_MS 400

static const struct {
    const char *act;
    int code;
    const char *text;
    uint32_t timeout_ms;
    bool is_believed; /* that it failed, so the worker is used again */
} lies[] = {
    /* before it is asked */
    {"no-hello", MCPLUG_ETIMEDOUT, LATE, SHORT_MS, false},
    {"other-hello", MCPLUG_EIO, NONSENSE, 0, false},
    {"two-hellos", MCPLUG_EIO, NONSENSE, 0, false},
    {"early", MCPLUG_EIO, NONSENSE, 0, false},
    {"positive-hello", MCPLUG_EIO, "the converter gave no reason", 0, false},
    {"silent-hello", MCPLUG_EIO, "the converter gave no reason", 0, false},
    {"cancelled-hello", MCPLUG_EIO, "cancelled", 0, false},
    {"long-hello", MCPLUG_EIO, "no way", 0, false},
    {"gone", MCPLUG_EIO, "the converter ended with status 9", 0, false},
    /* whether it can do it */
    {"match-serial", MCPLUG_EIO, NONSENSE, 0, false},
    {"match-more", MCPLUG_EIO, NONSENSE, 0, false},
    {"match-less", MCPLUG_EIO, NONSENSE, 0, false},
    {"no-match", MCPLUG_ETIMEDOUT, LATE, SHORT_MS, false},
    /* the answer */
    {"never", MCPLUG_ETIMEDOUT, LATE, SHORT_MS, false},
    {"closed", MCPLUG_EIO, "the converter ended", 0, false},
    {"serial", MCPLUG_EIO, NONSENSE, 0, false},
    {"kind", MCPLUG_EIO, NONSENSE, 0, false},
    {"magic", MCPLUG_EIO, NONSENSE, 0, false},
    {"positive", MCPLUG_EIO, NONSENSE, 0, false},
    {"silent", MCPLUG_EIO, NONSENSE, 0, false},
    {"unknown", MCPLUG_EIO, "an error of its own", 0, true},
    {"nomem", MCPLUG_EIO, "out of memory", 0, true},
    {"long-error", MCPLUG_EPROTO, "x", 0, true},
    /* its file, which is ours */
    {"larger", MCPLUG_EIO, NONSENSE, 0, false},
    {"smaller", MCPLUG_EIO, NONSENSE, 0, false},
    {"huge", MCPLUG_EIO, NONSENSE, 0, false},
    {"sparse", MCPLUG_EIO, NONSENSE, 0, false},
    {"sealed", MCPLUG_EIO, NONSENSE, 0, false},
    {"mapped", MCPLUG_EIO, NONSENSE, 0, false},
    {"fd-pipe", MCPLUG_EIO, NONSENSE, 0, false},
    {"fd-directory", MCPLUG_EIO, NONSENSE, 0, false},
    {"fd-file", MCPLUG_EIO, NONSENSE, 0, false},
    {"fd-two", MCPLUG_EIO, NONSENSE, 0, false},
    {"fd-many", MCPLUG_EIO, NONSENSE, 0, false},
    /* texts */
    {"no-type", MCPLUG_EIO, NONSENSE, 0, false},
    {"half-type", MCPLUG_EIO, NONSENSE, 0, false},
    {"type-line", MCPLUG_EIO, NONSENSE, 0, false},
    {"long-type", MCPLUG_EIO, NONSENSE, 0, false},
    {"many-facts", MCPLUG_EIO, NONSENSE, 0, false},
    {"half-fact", MCPLUG_EIO, NONSENSE, 0, false},
    {"open-fact", MCPLUG_EIO, NONSENSE, 0, false},
    {"fact-name", MCPLUG_EIO, NONSENSE, 0, false},
    {"fact-escape", MCPLUG_EIO, NONSENSE, 0, false},
    {"fact-bytes", MCPLUG_EIO, NONSENSE, 0, false},
    {"long-facts", MCPLUG_EIO, NONSENSE, 0, false},
    /* torn messages */
    {"text-longer", MCPLUG_EIO, NONSENSE, 0, false},
    {"text-endless", MCPLUG_EIO, NONSENSE, 0, false},
    {"text-shorter", MCPLUG_EIO, NONSENSE, 0, false},
    {"text-nul", MCPLUG_EIO, NONSENSE, 0, false},
    {"half", MCPLUG_EIO, NONSENSE, 0, false},
    {"behind", MCPLUG_EIO, NONSENSE, 0, false},
    {"flood", MCPLUG_EIO, NONSENSE, 0, false},
    {"empty", MCPLUG_EIO, "the converter ended", 0, false},
};

static size_t lie(size_t i)
{
    struct mcplug_error why;
    uint32_t ms = lies[i].timeout_ms;
    char text[32];
    int r = convert(lies[i].act, ms, text, &why);

    /* on a busy machine the time may be over before it is asked, and it is innocent */
    for (; ms && workers() && ms < 30000; ms *= 2)
        r = convert(lies[i].act, ms, text, &why);

    ck_assert_msg(r == lies[i].code && why.code == r, "%s: %d (%s)", lies[i].act, r,
                  why.text);
    ck_assert_msg(strstr(why.text, lies[i].text), "%s: %s", lies[i].act, why.text);
    for (const char *p = why.text; *p;
         p++) /* nothing that means something to a terminal */
        ck_assert_msg((unsigned char)*p >= ' ', "%s: %s", lies[i].act, why.text);
    ck_assert_uint_eq(workers(), lies[i].is_believed);
    return descriptors() - workers() * 2; /* of each its socket, and what names it */
}

START_TEST(a_lie_is_one_failed_conversion_and_leaves_nothing)
{
    size_t after = lie((size_t)_i);

    ck_assert_uint_eq(lie((size_t)_i), after);
    if (lies[_i].is_believed)
        return;
    assert_good_one_follows();
    ck_assert_uint_le(descriptors() - workers() * 2, after); /* there may be no pidfd */
}
END_TEST

START_TEST(lies_in_a_row_leave_nothing)
{
    size_t after = 0;

    for (size_t i = 0; i < MP_COUNT(lies); i++) {
        if (lies[i].is_believed)
            continue;
        size_t n = lie(i);
        ck_assert_msg(!after || n == after, "%s: %zu descriptors, then %zu", lies[i].act,
                      after, n);
        after = n;
    }
    assert_good_one_follows();
}
END_TEST

START_TEST(an_answer_to_nothing_is_not_taken_for_the_next_one)
{
    struct mcplug_error why;
    char text[32];

    for (int i = 0; i < 3; i++) {
        ck_assert_msg(convert("again", 0, text, &why) == MCPLUG_OK, "%s", why.text);
        ck_assert_str_eq(text, "a lie\n");
    }
    assert_good_one_follows();
}
END_TEST

int main(int argc, char **argv)
{
    build = getenv("MCPLUG_BUILD");
    if (!build || !modules_find(argc, argv))
        return TEST_SKIP;

    Suite *s = suite_create("convert_hostile");
    TCase *tc = tcase_create("hostile");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    if (!is_quick() && !is_slow()) /* a host and a good worker for each */
        tcase_add_loop_test(tc, a_lie_is_one_failed_conversion_and_leaves_nothing, 0,
                            MP_COUNT(lies));
    tcase_add_test(tc, lies_in_a_row_leave_nothing);
    tcase_add_test(tc, an_answer_to_nothing_is_not_taken_for_the_next_one);
    suite_add_tcase(s, tc);
    return run_to_end(s);
}
