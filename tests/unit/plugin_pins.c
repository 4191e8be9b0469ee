#include "plugin_modules.h"

#include "plugin/pins.h"

/* ---- a list of one's own ---- */

static const char *hex_of(const char *file)
{
    static char hex[2][MP_SHA256_HEX + 1];
    static unsigned turn;
    unsigned char digest[MP_SHA256_BYTES];
    char *out = hex[turn++ % 2];

    ck_assert_int_eq(mp_sha256_file(file, digest), 0);
    mp_sha256_hex(digest, out);
    return out;
}

static const char *list(void)
{
    return own("modules.allow");
}

static void write_list(const char *text, size_t len)
{
    FILE *f = fopen(list(), "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, len, f), len);
    fclose(f);
    ck_assert_int_eq(chmod(list(), 0644), 0);
}

static void write_pin(const char *name, const char *hex)
{
    char text[256];
    int n = snprintf(text, sizeof text, "# ours\n\n%s %s\n", name, hex);
    write_list(text, (size_t)n);
}

/* A catalogue under the list, which must belong to `owner`. */
static void open_pinned(uid_t owner)
{
    const char *dirs[] = {own_dir, NULL};
    struct mp_catalogue_options options = {
        .log = &log_stream,
        .loop = loop,
        .dirs = dirs,
        .wire = &wire,
        .pins = list(),
        .pins_owner = owner,
    };
    mp_catalogue_free(cat);
    n_lines = 0;
    mp_events_init(&log_stream, on_log, NULL, MCPLUG_LOG_VERBOSE);
    cat = mp_catalogue_new(&options, &err);
    ck_assert_ptr_nonnull(cat);
}

/* The file is refused as everything is, for that reason. */
static void expect_nothing_loads(const char *reason)
{
    const char *file = place("good.so", "loopback.so");
    char message[sizeof err.text];

    ck_assert_int_lt(load(file), 0);
    snprintf(message, sizeof message, "no module may be loaded: %.200s%s", list(),
             reason);
    expect_error(file, message);
}

static bool is_mapped(const char *file)
{
    char line[PATH_MAX + 100];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");

    ck_assert_ptr_nonnull(maps);
    while (!found && fgets(line, sizeof line, maps))
        found = strstr(line, file) != NULL;
    fclose(maps);
    return found;
}

/* ---- which modules load ---- */

START_TEST(without_a_list_everything_loads)
{
    open_pinned(geteuid());
    ck_assert_int_eq(load(place("good.so", "loopback.so")), MCPLUG_OK);
}
END_TEST

START_TEST(what_is_listed_loads_and_what_is_not_is_never_mapped)
{
    const char *file = place("good.so", "loopback.so");
    char message[sizeof err.text];

    write_pin("good", hex_of(file));
    open_pinned(geteuid());
    ck_assert_ptr_nonnull(find("loopback"));

    const char *other = place("other.so", "mirror.so");
    ck_assert_int_eq(load(other), MCPLUG_EINVAL);
    snprintf(message, sizeof message, "is not in %.150s (SHA-256 %s)", list(),
             hex_of(other));
    expect_error(other, message);
    ck_assert(is_mapped("/loopback.so"));
    ck_assert(!is_mapped("/mirror.so"));
}
END_TEST

START_TEST(asking_for_what_is_not_listed_says_why)
{
    place("good.so", "loopback.so");
    write_list("", 0);
    open_pinned(geteuid());
    ck_assert_ptr_null(find("loopback"));
    ck_assert_ptr_nonnull(strstr(err.text, "modules.allow (SHA-256 "));
    ck_assert(logged("modules.allow (SHA-256 "));
    ck_assert(!is_mapped("/loopback.so"));
}
END_TEST

START_TEST(one_byte_more_is_another_file)
{
    const char *file = place("good.so", "loopback.so");

    write_pin("good", hex_of(file));
    open_pinned(geteuid());
    FILE *f = fopen(file, "a");
    ck_assert_ptr_nonnull(f);
    fputc('x', f);
    fclose(f);
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, ": is not in "));
}
END_TEST

START_TEST(the_right_bytes_under_a_wrong_name_are_refused)
{
    const char *file = place("good.so", "loopback.so");
    char message[sizeof err.text];

    write_pin("better", hex_of(file));
    open_pinned(geteuid());
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    snprintf(message, sizeof message,
             "is the module \"good\", but %.200s lists it as \"better\"", list());
    expect_error(file, message);
}
END_TEST

START_TEST(a_list_that_changes_counts_from_the_next_load_on)
{
    const char *file = place("good.so", "loopback.so");

    write_list("# nothing yet\n", 14);
    open_pinned(geteuid());
    ck_assert_int_eq(load(file), MCPLUG_EINVAL);
    write_pin("good", hex_of(file));
    ck_assert_int_eq(load(file), MCPLUG_OK);
}
END_TEST

START_TEST(modules_compiled_in_are_not_asked_about)
{
    const struct mp_offer *offer = NULL;

    write_list("", 0);
    open_pinned(geteuid());
    for (size_t i = 0; mp_builtins[i]; i++) {
        struct mcplug_feature f = mp_plugin_feature(mp_builtins[i], 0);
        ck_assert_int_eq(mp_catalogue_find(cat, f.kind, f.name, &offer, &err), MCPLUG_OK);
    }
}
END_TEST

/* ---- the list itself ---- */

static void expect_pins(const char *text, size_t n)
{
    struct mp_pins pins;

    write_list(text, strlen(text));
    ck_assert_int_eq(mp_pins_read(&pins, list(), geteuid(), &err), MCPLUG_OK);
    ck_assert(pins.exist);
    ck_assert_uint_eq(pins.n, n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_str_eq(pins.list[i].name, "stdio");
        ck_assert_uint_eq(pins.list[i].sha256[0], 0xba);
        ck_assert_uint_eq(pins.list[i].sha256[31], 0xad);
    }
    mp_pins_clear(&pins);
}

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

START_TEST(comments_blanks_either_case_and_either_line_end_are_fine)
{
    expect_pins("", 0);
    expect_pins("\n \t\n# stdio\n  #\n", 0);
    expect_pins("stdio " ABC, 1);
    expect_pins("stdio " ABC "\r\n\r\nstdio " ABC "\r\n", 2);
    expect_pins("\t stdio \t " ABC " \n", 1);
    expect_pins("stdio BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
                1);
}
END_TEST

START_TEST(a_malformed_line_lets_nothing_load_and_is_named)
{
    static const char *const wrong[] = {
        "stdio",
        "stdio " ABC "0",
        "stdio " ABC " # mine",
        ABC " stdio",
        ABC,
        "stdio g" ABC,
        "stdio ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "stdio: sha256:" ABC,
    };
    char text[1024];

    open_pinned(geteuid());
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        const char *good = hex_of(place("good.so", "loopback.so"));
        int n =
            snprintf(text, sizeof text, "good %s\n\n%s\ngood %s\n", good, wrong[i], good);
        write_list(text, (size_t)n);
        expect_nothing_loads(
            ":3: expected a module's name and its SHA-256 in 64 hex digits");
    }
    write_list("# a\nstdio\0" ABC "\n", 4 + 6 + 65);
    expect_nothing_loads(":2: has a NUL byte");
    ck_assert(!is_mapped("/loopback.so"));
}
END_TEST

START_TEST(a_list_that_others_can_write_lets_nothing_load)
{
    write_pin("good", hex_of(place("good.so", "loopback.so")));
    open_pinned(geteuid());
    ck_assert_int_eq(chmod(list(), 0664), 0);
    expect_nothing_loads(": it is writable by users other than its owner (mode 0664)");
    ck_assert_int_eq(chmod(list(), 0646), 0);
    expect_nothing_loads(": it is writable by users other than its owner (mode 0646)");
}
END_TEST

START_TEST(a_list_of_somebody_else_lets_nothing_load)
{
    char reason[100];

    write_pin("good", hex_of(place("good.so", "loopback.so")));
    if (geteuid() == 0)
        ck_assert_int_eq(chown(list(), 12345, 0), 0);
    open_pinned(0);
    snprintf(reason, sizeof reason, ": belongs to user %ld, not to root",
             geteuid() ? (long)geteuid() : 12345L);
    expect_nothing_loads(reason);
}
END_TEST

START_TEST(a_list_that_cannot_be_read_lets_nothing_load)
{
    open_pinned(geteuid());
    ck_assert_int_eq(mkdir(list(), 0755), 0);
    expect_nothing_loads(": is not a regular file");
    ck_assert_int_eq(rmdir(list()), 0);
    ck_assert_int_eq(symlink("modules.allow", list()), 0);
    expect_nothing_loads(": cannot be read: Too many levels of symbolic links");
    ck_assert_int_eq(unlink(list()), 0);
    if (geteuid() != 0) {
        write_list("", 0);
        ck_assert_int_eq(chmod(list(), 0), 0);
        expect_nothing_loads(": cannot be read: Permission denied");
    }
}
END_TEST

START_TEST(a_list_may_be_a_megabyte_and_no_more)
{
    char *text = malloc(MP_PINS_BYTES + 1);

    ck_assert_ptr_nonnull(text);
    memset(text, '\n', MP_PINS_BYTES + 1);
    open_pinned(geteuid());
    write_list(text, MP_PINS_BYTES);
    ck_assert_int_eq(load(place("good.so", "loopback.so")), MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, ": is not in "));
    write_list(text, MP_PINS_BYTES + 1);
    expect_nothing_loads(": is larger than 1048576 bytes");
    free(text);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("plugin_pins");
    TCase *tc = tcase(suite, "modules");
    tcase_add_test(tc, without_a_list_everything_loads);
    tcase_add_test(tc, what_is_listed_loads_and_what_is_not_is_never_mapped);
    tcase_add_test(tc, asking_for_what_is_not_listed_says_why);
    tcase_add_test(tc, one_byte_more_is_another_file);
    tcase_add_test(tc, the_right_bytes_under_a_wrong_name_are_refused);
    tcase_add_test(tc, a_list_that_changes_counts_from_the_next_load_on);
    tcase_add_test(tc, modules_compiled_in_are_not_asked_about);

    tc = tcase(suite, "list");
    tcase_add_test(tc, comments_blanks_either_case_and_either_line_end_are_fine);
    tcase_add_test(tc, a_malformed_line_lets_nothing_load_and_is_named);
    tcase_add_test(tc, a_list_that_others_can_write_lets_nothing_load);
    tcase_add_test(tc, a_list_of_somebody_else_lets_nothing_load);
    tcase_add_test(tc, a_list_that_cannot_be_read_lets_nothing_load);
    tcase_add_test(tc, a_list_may_be_a_megabyte_and_no_more);
    return suite;
}

int main(int argc, char **argv)
{
    return modules_find(argc, argv) ? run_to_end(make_suite()) : TEST_SKIP;
}
