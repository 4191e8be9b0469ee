/* Conversions without memory, on the host's side: they are right, or there is an error
 * that says so. No process, descriptor or byte is left behind. */
#include "nomem_kit.h"

#include "convert/convert.h"
#include "convert/memory.h"
#include "plugin/catalogue.h"
#include "quick.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>

static struct mp_loop *loop;
static struct mp_catalogue *catalogue;

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

static void setup(void)
{
    const char *dirs[] = {getenv("MCPLUG_TEST_MODULES"), NULL};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_catalogue_options o = {.dirs = dirs};

    fail_at = 0;
    unsetenv("MCPLUG_PLUGIN_PATH");
    loop = mp_loop_new(&err);
    o.loop = loop;
    catalogue = mp_catalogue_new(&o, &err);
    ck_assert_msg(catalogue != NULL, "%s", err.text);
}

static void teardown(void)
{
    fail_at = 0;
    mp_catalogue_free(catalogue);
    mp_loop_free(loop);
}

/* One life of all converters, in which one allocation or all from one on fail. Was that
 * one reached? */
static bool try_once(const char *settings, const char *what, unsigned long at, bool on)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_converted made = MP_CONVERTED_NONE;
    int r = MCPLUG_ENOMEM, fd = mp_memory_file();

    ck_assert_int_eq(mp_memory_write(fd, 0, what, strlen(what)), 0);
    calls = 0;
    fail_at = at;
    forever = on;
    struct mp_converters *c = mp_converters_new(catalogue, loop, settings, &err);
    if (c) {
        struct mp_conversion conversion = {
            .mime = "x-test/trial", .want = "text/plain", .fd = fd, .size = strlen(what)};
        mp_converters_ready(c);
        r = mp_convert(c, &conversion, &made, &err);
        mp_converters_rest(c);
    }
    bool reached = calls >= at;
    fail_at = 0;
    if (r == MCPLUG_OK) {
        ck_assert_uint_eq(made.size, strlen(what));
        ck_assert_str_eq(made.mime, "text/plain");
    } else {
        ck_assert_msg(err.code == r && err.text[0], "%d %d %s", r, err.code, err.text);
        ck_assert_int_eq(made.fd, -1);
    }
    if (!reached)
        ck_assert_int_eq(r, MCPLUG_OK);
    mp_converted_clear(&made);
    mp_converters_free(c);
    close(fd);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    return reached;
}

static const char *const cases[] = {
    NULL,
    "{\"trial\": {\"word\": \"x\"}}",
    "{\"trial\": {\"isolation\": \"none\"}}",
};

START_TEST(a_conversion_without_memory_says_so)
{
    size_t before = 0;

    for (int on = 0; on < 2; on++)
        for (unsigned long at = 1; try_once(cases[_i], "some words", at, on);
             at += is_slow() ? 4 : 1) {
            ck_assert_uint_lt(at, 5000);
            if (at == 1)
                before = descriptors();
            ck_assert_uint_le(descriptors(), before);
        }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("convert_nomem");
    TCase *t = tcase_create("nomem");

    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_conversion_without_memory_says_so, 0, MP_COUNT(cases));
    suite_add_tcase(s, t);
    return run_to_end(s);
}
