/* What a program says of itself and of its servers: versions and options. Against the
 * example server, through the real stdio module. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

START_TEST(the_header_the_library_and_the_package_have_one_version)
{
    char text[64];

    snprintf(text, sizeof text, "%d.%d.%d", MCPLUG_VERSION_MAJOR, MCPLUG_VERSION_MINOR,
             MCPLUG_VERSION_PATCH);
    ck_assert_str_eq(text, PACKAGE_VERSION);
    ck_assert_str_eq(mcplug_version(), PACKAGE_VERSION);
    ck_assert_uint_eq(mcplug_version_number(), MCPLUG_VERSION_NUMBER);
    snprintf(text, sizeof text, "%u.%u.%u", mcplug_version_number() >> 16,
             mcplug_version_number() >> 8 & 0xff, mcplug_version_number() & 0xff);
    ck_assert_str_eq(text, PACKAGE_VERSION);
}
END_TEST

/* ---- where helpers are ---- */

static mcplug_settings *example(void)
{
    const char *build = getenv("MCPLUG_BUILD");
    char path[4096];
    mcplug_settings *s = mcplug_settings_new("stdio");
    ck_assert_ptr_nonnull(build);
    snprintf(path, sizeof path, "%s/examples/mcplug-example-server", build);
    mcplug_settings_set(s, "command", path);
    return s;
}

static int open_with(const struct mcplug_options *options, struct mcplug_error *err)
{
    mcplug *host = mcplug_new(options, err);
    mcplug_server *server = NULL;
    mcplug_settings *s = example();

    ck_assert_msg(host != NULL, "%s", err->text);
    struct mcplug_server_options once = {.struct_size = sizeof once, .once = 1};
    int r = mcplug_open_wait(host, s, &once, &server, err);
    mcplug_settings_free(s);
    mcplug_free(host);
    return r;
}

START_TEST(helpers_are_where_the_program_says)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *helpers = getenv("MCPLUG_HELPER_PATH");

    ck_assert_ptr_nonnull(helpers);
    char *right = strdup(helpers);
    struct mcplug_options o = {.struct_size = sizeof o, .helper_dir = "/nonexistent"};
    ck_assert_int_ne(open_with(&o, &err), MCPLUG_OK);
    ck_assert_msg(strstr(err.text, "/nonexistent/mcplug-reaper") != NULL, "%s", err.text);
    setenv("MCPLUG_HELPER_PATH", "/nonexistent", 1);
    o.helper_dir = right;
    ck_assert_msg(open_with(&o, &err) == MCPLUG_OK, "%s", err.text);
    free(right);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, helpers_are_where_the_program_says);
    tcase_add_test(tc, the_header_the_library_and_the_package_have_one_version);
}

int main(void)
{
    return run_suite("api_options", add);
}
