/* Modules that are wrong, and some that only look so. */
#include "plugin_modules.h"

#include <signal.h>
#include <sys/wait.h>

#define NAMES "is not 1 to 32 of a-z, 0-9 and -"

static const struct {
    const char *module, *message;
    int code;
} wrongs[] = {
    {"no_symbol", "is not a module: it has no symbol mcplug_plugin_1", MCPLUG_EINVAL},
    {"other_abi", "was built for module ABI 2, this core has 1", MCPLUG_ENOTSUP},
    {"magic",
     "is not a module: its descriptor begins with 0x7f454c46 instead of 0x4d43504c",
     MCPLUG_EINVAL},
    {"abi_major", "its descriptor is of module ABI 3, this core has 1", MCPLUG_ENOTSUP},
    {"abi_needs", "needs module ABI 1.7, this core has 1.4", MCPLUG_ENOTSUP},
#ifdef __LP64__
    {"struct_size", "its descriptor has 80 bytes, less than the minimum of 88",
     MCPLUG_EINVAL},
    {"tiny", "its descriptor has 8 bytes, less than the minimum of 88", MCPLUG_EINVAL},
    {"feature_size", "its features have 40 bytes each, less than the minimum of 48",
     MCPLUG_EINVAL},
    {"small_ops",
     "the functions of the transport \"wrong\" take 32 bytes, less than the minimum of "
     "40",
     MCPLUG_EINVAL},
    {"small_vault",
     "the functions of the vault \"wrong\" take 8 bytes, less than the minimum of 16",
     MCPLUG_EINVAL},
#endif
    {"no_name", "has no name", MCPLUG_EINVAL},
    {"empty_name", "has no name", MCPLUG_EINVAL},
    {"bad_name", "its name \"Wrong Name\" " NAMES, MCPLUG_EINVAL},
    {"long_name", "its name \"a-name-that-is-longer-than-thirty-2\" " NAMES,
     MCPLUG_EINVAL},
    {"no_version", "has no version", MCPLUG_EINVAL},
    {"no_features", "offers nothing", MCPLUG_EINVAL},
    {"null_features", "offers nothing", MCPLUG_EINVAL},
    {"many_features", "offers 65 features, 64 are allowed", MCPLUG_EINVAL},
    {"feature_no_name", "feature 0, a transport, has no name", MCPLUG_EINVAL},
    {"feature_bad_name", "the transport name \"../wrong\" " NAMES, MCPLUG_EINVAL},
    {"no_ops", "the transport \"wrong\" has no functions", MCPLUG_EINVAL},
    {"no_open", "the transport \"wrong\" lacks the function open", MCPLUG_EINVAL},
    {"no_send", "the transport \"wrong\" lacks the function send", MCPLUG_EINVAL},
    {"no_close", "the transport \"wrong\" lacks the function close", MCPLUG_EINVAL},
    {"no_destroy", "the transport \"wrong\" lacks the function destroy", MCPLUG_EINVAL},
    {"no_start", "the probe \"wrong\" lacks the function start", MCPLUG_EINVAL},
    {"no_stop", "the probe \"wrong\" lacks the function stop", MCPLUG_EINVAL},
    {"no_probe_destroy", "the probe \"wrong\" lacks the function destroy", MCPLUG_EINVAL},
    {"no_match", "the converter \"wrong\" lacks the function match", MCPLUG_EINVAL},
    {"no_convert", "the converter \"wrong\" lacks the function convert", MCPLUG_EINVAL},
    {"no_get", "the vault \"wrong\" lacks the function get", MCPLUG_EINVAL},
    {"twice", "offers the probe \"wrong\" twice", MCPLUG_EINVAL},
    {"option_no_name", "option 1 of \"wrong\" has an empty name", MCPLUG_EINVAL},
    {"option_no_type", "the option \"wait\" of \"wrong\" has no type", MCPLUG_EINVAL},
    {"option_bad_type", "the option \"wait\" of \"wrong\" has the unknown type \"float\"",
     MCPLUG_EINVAL},
    {"option_no_help", "the option \"wait\" of \"wrong\" has no help text",
     MCPLUG_EINVAL},
    {"option_twice", "\"wrong\" declares the option \"url\" twice", MCPLUG_EINVAL},
    {"option_many", "\"wrong\" declares more than 64 options", MCPLUG_EINVAL},
    {"accepts_many", "\"wrong\" accepts more than 64 schemes or types", MCPLUG_EINVAL},
    {"init_fails", "refused to load: the moon is full", MCPLUG_ECONFIG},
    {"init_fails_silently", "refused to load: EIO", MCPLUG_EIO},
    {"unresolved", "cannot be loaded: undefined symbol: mcplug_test_nobody_has_this",
     MCPLUG_EINVAL},
};

START_TEST(a_wrong_module_is_refused_in_one_line_and_others_still_load)
{
    char module[128];
    snprintf(module, sizeof module, "wrong_%s.so", wrongs[_i].module);
    const char *file = place(module, "wrong.so");
    place("good.so", "loopback.so");

    ck_assert_int_eq(load(file), wrongs[_i].code);
    expect_error(file, wrongs[_i].message);
    ck_assert_int_eq(err.code, wrongs[_i].code);

    ck_assert_ptr_null(find("wrong"));
    ck_assert_ptr_nonnull(strstr(err.text, wrongs[_i].message));
    ck_assert_ptr_nonnull(find("loopback"));
    find("wrong");
    size_t told = 0;
    for (size_t i = 0; i < n_lines; i++)
        told += strstr(lines[i], wrongs[_i].message) != NULL;
    ck_assert_uint_eq(told, 1);
}
END_TEST

START_TEST(a_module_of_another_abi_is_refused_with_its_number)
{
    const char *file = place("wrong_other_abi.so", "x.so");
    ck_assert_int_eq(load(file), MCPLUG_ENOTSUP);
    expect_error(file, "was built for module ABI 2, this core has 1");
}
END_TEST

START_TEST(a_file_that_is_no_library_is_refused)
{
    const char *file = own("text.so");
    FILE *f = fopen(file, "w");
    fputs("hello", f);
    fclose(f);
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    expect_error(file, "cannot be loaded: file too short");
}
END_TEST

START_TEST(a_long_path_leaves_room_for_the_reason)
{
    char part[101], path[sizeof own_dir + 512];
    memset(part, 'd', 100);
    part[100] = '\0';
    snprintf(path, sizeof path, "%s", own_dir);
    for (int i = 0; i < 4; i++) {
        strcat(strcat(path, "/"), part);
        ck_assert_int_eq(mkdir(path, 0755), 0);
    }
    const char *short_name = place("wrong_no_version.so", "short.so");
    strcat(path, "/last.so");
    ck_assert_int_eq(rename(short_name, path), 0);
    ck_assert_int_eq(load(path), MCPLUG_EINVAL);
    ck_assert_int_eq(strncmp(err.text, path, 100), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "/last.so: has no version"));
}
END_TEST

START_TEST(a_module_of_a_later_release_loads_and_its_unknown_kinds_are_ignored)
{
    const char *file = place("wrong_newer.so", "wrong.so");
    ck_assert_msg(load(file) == MCPLUG_OK, "%s", err.text);
    const struct mp_offer *offer = NULL;
    ck_assert_ptr_nonnull(find("wrong"));
    ck_assert_int_eq(mp_catalogue_find(cat, MCPLUG_CONVERTER, "wrong", &offer, &err),
                     MCPLUG_OK);
    ck_assert_uint_eq(offer->feature.kind, MCPLUG_CONVERTER);
    ck_assert_int_eq(mp_catalogue_find(cat, 9, "wrong", &offer, &err), MCPLUG_ENOTSUP);
    ck_assert(logged("its feature 2 is of kind 9, which this core does not know"));
    ck_assert_str_eq(mp_kind_name(9), "kind 9");
}
END_TEST

START_TEST(a_module_of_the_first_release_loads)
{
    place("old.so", "old.so");
    ck_assert_msg(find("old") != NULL, "%s", err.text);
}
END_TEST

START_TEST(a_module_that_dies_in_its_constructor_takes_only_its_own_process)
{
    place("crash.so", "crash.so");
    place("good.so", "loopback.so");
    pid_t child = fork();
    if (child == 0) {
        load(own("crash.so"));
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    ck_assert_ptr_nonnull(find("loopback"));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("plugin_handshake");
    TCase *tc = tcase(suite, "handshake");
    tcase_add_loop_test(tc, a_wrong_module_is_refused_in_one_line_and_others_still_load,
                        0, MP_COUNT(wrongs));
    tcase_add_test(tc, a_module_of_another_abi_is_refused_with_its_number);
    tcase_add_test(tc, a_file_that_is_no_library_is_refused);
    tcase_add_test(tc, a_long_path_leaves_room_for_the_reason);
    tcase_add_test(tc,
                   a_module_of_a_later_release_loads_and_its_unknown_kinds_are_ignored);
    tcase_add_test(tc, a_module_of_the_first_release_loads);
    tcase_add_test(tc, a_module_that_dies_in_its_constructor_takes_only_its_own_process);
    return suite;
}

int main(int argc, char **argv)
{
    return modules_find(argc, argv) ? run_to_end(make_suite()) : TEST_SKIP;
}
