/* Modules as commands and panels see them. */
#include <mcplug/admin.h>

#include "base/buf.h"
#include "json/walk.h"
#include "plugin_modules.h"
#include "suite.h"

static mcplug *host;
static const char *dirs[] = {own_dir, NULL};

static void setup(void)
{
    struct mcplug_options options = {.struct_size = sizeof options, .plugin_dirs = dirs};

    unsetenv("MCPLUG_PLUGIN_PATH");
    own_dir_make();
    host = mcplug_new(&options, &err);
    ck_assert_ptr_nonnull(host);
}

static void teardown(void)
{
    mcplug_free(host);
    own_dir_remove();
}

START_TEST(files_and_links_are_listed_and_nothing_is_loaded)
{
    place("good.so", "b.so");
    place("crash.so", "a.so");
    ck_assert_int_eq(symlink("b.so", own("c.so")), 0);

    mcplug_modules *modules = mcplug_modules_new(host, &err);
    ck_assert_ptr_nonnull(modules);
    struct mcplug_module m = {.struct_size = sizeof m};
    size_t i = 0;
    while (mcplug_modules_get(modules, i, &m) && !m.file)
        i++; /* compiled in */
    ck_assert_str_eq(m.name, "a");
    ck_assert_str_eq(m.file, own("a.so"));
    ck_assert_int_eq(m.again, 0);
    ck_assert_int_eq(mcplug_modules_get(modules, i + 1, &m), 1);
    ck_assert_str_eq(m.name, "b");
    ck_assert_int_eq(mcplug_modules_get(modules, i + 2, &m), 1);
    ck_assert_str_eq(m.name, "c");
    ck_assert_str_eq(m.file, own("b.so"));
    ck_assert_int_eq(m.again, 1);
    ck_assert_int_eq(mcplug_modules_get(modules, SIZE_MAX, &m), 0);
    mcplug_modules_free(modules);
}
END_TEST

START_TEST(the_search_path_ends_with_the_installed_directory)
{
    mcplug_modules *modules = mcplug_modules_new(host, &err);
    ck_assert_ptr_nonnull(modules);
    ck_assert_str_eq(mcplug_modules_dir(modules, 0), own_dir);
    ck_assert_ptr_nonnull(mcplug_modules_dir(modules, 1));
    ck_assert_ptr_null(mcplug_modules_dir(modules, 2));
    mcplug_modules_free(modules);
    mcplug_modules_free(NULL);
}
END_TEST

START_TEST(a_member_that_a_caller_does_not_know_is_not_written)
{
    place("good.so", "a.so");
    mcplug_modules *modules = mcplug_modules_new(host, &err);
    ck_assert_ptr_nonnull(modules);
    struct mcplug_module m = {.struct_size = offsetof(struct mcplug_module, file),
                              .file = "untouched"};
    ck_assert_int_eq(mcplug_modules_get(modules, 0, &m), 1);
    ck_assert_ptr_nonnull(m.name);
    ck_assert_str_eq(m.file, "untouched");
    mcplug_modules_free(modules);
}
END_TEST

START_TEST(a_module_is_described_with_its_options)
{
    char *text = mcplug_module_describe(host, place("good.so", "a.so"), &err);
    ck_assert_msg(text != NULL, "%s", err.text);
    mp_view module = mp_text(text), feature, option;
    ck_assert(mp_view_equals(mp_view_get(module, "name"), "good"));
    ck_assert(mp_view_equals(mp_view_get(module, "file"), own("a.so")));
    struct mp_walk features = mp_walk_into(mp_view_get(module, "features"));
    ck_assert(mp_walk_element(&features, &feature));
    ck_assert(mp_view_equals(mp_view_get(feature, "kind"), "transport"));
    ck_assert(mp_view_equals(mp_view_get(feature, "name"), "loopback"));
    struct mp_walk accepts = mp_walk_into(mp_view_get(feature, "accepts"));
    mp_view scheme;
    ck_assert(mp_walk_element(&accepts, &scheme));
    ck_assert(mp_view_equals(scheme, "loopback"));
    struct mp_walk options = mp_walk_into(mp_view_get(feature, "options"));
    ck_assert(mp_walk_element(&options, &option));
    ck_assert(mp_view_equals(mp_view_get(option, "name"), "delay"));
    ck_assert(mp_view_equals(mp_view_get(option, "type"), "duration"));
    ck_assert(!mp_view_true(mp_view_get(option, "required")));
    mcplug_text_free(text);
}
END_TEST

START_TEST(a_module_that_is_refused_says_why)
{
    const char *file = place("good.so", "a.so");
    ck_assert_int_eq(chmod(file, 0666), 0);
    ck_assert_ptr_null(mcplug_module_describe(host, file, &err));
    ck_assert_ptr_nonnull(
        strstr(err.text, "it is writable by users other than its owner"));
    ck_assert_ptr_null(mcplug_module_describe(host, "no-such-module", &err));
    mcplug_text_free(NULL);
}
END_TEST

int main(int argc, char **argv)
{
    if (!modules_find(argc, argv))
        return TEST_SKIP;
    Suite *suite = suite_create("api_admin_modules");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, files_and_links_are_listed_and_nothing_is_loaded);
    tcase_add_test(tc, the_search_path_ends_with_the_installed_directory);
    tcase_add_test(tc, a_member_that_a_caller_does_not_know_is_not_written);
    tcase_add_test(tc, a_module_is_described_with_its_options);
    tcase_add_test(tc, a_module_that_is_refused_says_why);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
