#include "base/buf.h"
#include "base/mem.h"
#include "plugin/props.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define WHAT "transport \"x\""

static const struct mcplug_option options[] = {
    {"command", "string", NULL, "Program to start"},
    {"token", "secret", "", "Who we are"},
    {"retries", "int", "3", "How often"},
    {"verbose", "bool", "no", "More words"},
    {"timeout", "duration", "30s", "How long"},
    {"limit", "bytes", "16M", "How much"},
    {"args", "list", NULL, "Its arguments"},
    {"env", "map", NULL, "Its environment"},
    {NULL, NULL, NULL, NULL},
};

static mcplug_props *props;
static struct mcplug_error err;

static void setup(void)
{
    props = mp_props_new();
    ck_assert_ptr_nonnull(props);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
}

static void teardown(void)
{
    mp_props_free(props);
}

static void expect(const char *message)
{
    ck_assert_int_eq(mp_props_check(props, options, WHAT, &err), MCPLUG_ECONFIG);
    ck_assert_str_eq(err.text, message);
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
}

START_TEST(what_was_set_is_given_back)
{
    ck_assert_int_eq(mp_props_set(props, "command", "cat"), MCPLUG_OK);
    ck_assert_int_eq(mp_props_set(props, "command", "dog"), MCPLUG_OK);
    ck_assert_int_eq(mp_props_add(props, "args", "-a"), MCPLUG_OK);
    ck_assert_int_eq(mp_props_add(props, "args", ""), MCPLUG_OK);
    ck_assert_int_eq(mp_props_put(props, "env", "HOME", "/"), MCPLUG_OK);
    ck_assert_int_eq(mp_props_put(props, "env", "PATH", "/bin"), MCPLUG_OK);
    ck_assert_int_eq(mp_props_put(props, "env", "HOME", "/root"), MCPLUG_OK);

    ck_assert_str_eq(mp_props_get(props, "command"), "dog");
    const char *const *list = mp_props_list(props, "args");
    ck_assert_str_eq(list[0], "-a");
    ck_assert_str_eq(list[1], "");
    ck_assert_ptr_null(list[2]);
    list = mp_props_list(props, "env");
    ck_assert_str_eq(list[0], "HOME");
    ck_assert_str_eq(list[1], "/root");
    ck_assert_str_eq(list[2], "PATH");
    ck_assert_str_eq(list[3], "/bin");
    ck_assert_ptr_null(list[4]);
}
END_TEST

START_TEST(what_was_not_set_is_null_or_an_empty_list)
{
    mp_props_add(props, "args", "-a");
    mp_props_set(props, "command", "cat");
    ck_assert_ptr_null(mp_props_get(props, "nothing"));
    ck_assert_ptr_null(mp_props_get(props, "args"));
    ck_assert_ptr_null(mp_props_get(props, NULL));
    ck_assert_ptr_null(mp_props_list(props, "nothing")[0]);
    ck_assert_ptr_null(mp_props_list(props, "command")[0]);
    ck_assert_int_eq(mp_props_int(props, "nothing", -7), -7);
}
END_TEST

START_TEST(a_name_keeps_the_shape_it_began_with)
{
    mp_props_set(props, "v", "1");
    mp_props_add(props, "l", "1");
    mp_props_put(props, "m", "k", "1");
    ck_assert_int_eq(mp_props_add(props, "v", "2"), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_put(props, "v", "k", "2"), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_set(props, "l", "2"), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_put(props, "l", "k", "2"), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_set(props, "m", "2"), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_add(props, "m", "2"), MCPLUG_EINVAL);
}
END_TEST

START_TEST(a_missing_name_or_value_is_refused)
{
    ck_assert_int_eq(mp_props_set(props, NULL, "1"), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_set(props, "", "1"), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_set(props, "a", NULL), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_add(props, "a", NULL), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_put(props, "a", NULL, "1"), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_props_put(props, "a", "k", NULL), MCPLUG_EINVAL);
}
END_TEST

START_TEST(one_setting_more_than_allowed_is_too_many)
{
    char name[16];
    for (int i = 0; i < MP_PROPS_MAX; i++) {
        snprintf(name, sizeof name, "n%d", i);
        ck_assert_int_eq(mp_props_set(props, name, "1"), MCPLUG_OK);
    }
    ck_assert_int_eq(mp_props_set(props, "more", "1"), MCPLUG_ETOOBIG);
    ck_assert_int_eq(mp_props_set(props, "n0", "2"), MCPLUG_OK);
}
END_TEST

START_TEST(one_item_more_than_allowed_is_too_many)
{
    char name[16];
    for (int i = 0; i < MP_PROPS_ITEMS; i++) {
        snprintf(name, sizeof name, "n%d", i);
        ck_assert_int_eq(mp_props_add(props, "args", name), MCPLUG_OK);
        ck_assert_int_eq(mp_props_put(props, "env", name, "1"), MCPLUG_OK);
    }
    ck_assert_int_eq(mp_props_add(props, "args", "more"), MCPLUG_ETOOBIG);
    ck_assert_int_eq(mp_props_put(props, "env", "more", "1"), MCPLUG_ETOOBIG);
    ck_assert_int_eq(mp_props_put(props, "env", "n0", "2"), MCPLUG_OK);
    ck_assert_ptr_null(mp_props_list(props, "args")[MP_PROPS_ITEMS]);
    ck_assert_ptr_null(mp_props_list(props, "env")[2 * MP_PROPS_ITEMS]);
}
END_TEST

START_TEST(fallbacks_apply_once_the_options_are_attached)
{
    mp_props_set(props, "command", "cat");
    ck_assert_ptr_null(mp_props_get(props, "timeout"));
    ck_assert_int_eq(mp_props_check(props, options, WHAT, &err), MCPLUG_OK);
    ck_assert_str_eq(mp_props_get(props, "timeout"), "30s");
    ck_assert_int_eq(mp_props_int(props, "timeout", -1), 30000);
    ck_assert_int_eq(mp_props_int(props, "limit", -1), 16 << 20);
    ck_assert_int_eq(mp_props_int(props, "retries", -1), 3);
    ck_assert_int_eq(mp_props_int(props, "verbose", -1), 0);
    ck_assert_ptr_null(mp_props_get(props, "token"));
    ck_assert_ptr_null(mp_props_list(props, "args")[0]);
    ck_assert_int_eq(mp_props_int(props, "command", -1), -1);
}
END_TEST

START_TEST(a_failed_check_attaches_nothing)
{
    expect(WHAT ": missing setting: command");
    ck_assert_ptr_null(mp_props_get(props, "timeout"));
}
END_TEST

START_TEST(an_unknown_name_is_refused_with_the_nearest_known_one)
{
    mp_props_set(props, "comand", "cat");
    expect(WHAT ": unknown setting \"comand\"; did you mean \"command\"?");
}
END_TEST

START_TEST(an_unknown_name_that_is_near_to_none_stands_alone)
{
    mp_props_set(props, "colour", "red");
    expect(WHAT ": unknown setting \"colour\"");
}
END_TEST

START_TEST(a_setting_of_a_module_without_options_is_unknown)
{
    mp_props_set(props, "colour", "red");
    ck_assert_int_eq(mp_props_check(props, NULL, WHAT, &err), MCPLUG_ECONFIG);
    ck_assert_str_eq(err.text, WHAT ": unknown setting \"colour\"");
    mcplug_props *none = mp_props_new();
    ck_assert_int_eq(mp_props_check(none, NULL, WHAT, &err), MCPLUG_OK);
    mp_props_free(none);
}
END_TEST

START_TEST(all_missing_settings_are_named_but_no_lists_and_maps)
{
    static const struct mcplug_option needy[] = {
        {"a", "string", NULL, "-"}, {"b", "list", NULL, "-"}, {"c", "map", NULL, "-"},
        {"d", "int", NULL, "-"},    {"e", "int", "", "-"},    {NULL, NULL, NULL, NULL}};
    ck_assert_int_eq(mp_props_check(props, needy, WHAT, &err), MCPLUG_ECONFIG);
    ck_assert_str_eq(err.text, WHAT ": missing settings: a, d");
}
END_TEST

START_TEST(a_list_where_a_value_belongs_is_refused_and_the_other_way_round)
{
    mp_props_add(props, "command", "cat");
    expect(WHAT ": the setting \"command\": expected a single value, got a list");
    teardown();
    setup();
    mp_props_set(props, "args", "cat");
    expect(WHAT ": the setting \"args\": expected a list, got a single value");
    teardown();
    setup();
    mp_props_add(props, "env", "cat");
    expect(WHAT ": the setting \"env\": expected a map, got a list");
}
END_TEST

START_TEST(a_malformed_value_is_shown_with_what_was_wanted)
{
    mp_props_set(props, "timeout", "so\non");
    expect(WHAT
           ": the setting \"timeout\": expected a duration like 250ms, 2s, 5m or 1h, "
           "got \"so\\x0aon\"");
    mp_props_set(props, "timeout", "1s");
    mp_props_set(props, "limit", "16m");
    expect(WHAT ": the setting \"limit\": expected a size like 512, 64k, 16M or 1G, got "
                "\"16m\"");
    mp_props_set(props, "limit", "1");
    mp_props_set(props, "retries", "1.5");
    expect(WHAT ": the setting \"retries\": expected a number, got \"1.5\"");
    mp_props_set(props, "retries", "-1");
    mp_props_set(props, "verbose", "YES");
    expect(WHAT ": the setting \"verbose\": expected true or false, got \"YES\"");
}
END_TEST

START_TEST(a_secret_is_never_shown)
{
    mp_props_put(props, "token", "k", "hunter2");
    mp_props_check(props, options, WHAT, &err);
    ck_assert_ptr_null(strstr(err.text, "hunter2"));
}
END_TEST

static const struct {
    const char *type, *text;
    bool good;
    int64_t value;
} numbers[] = {
    {"int", "0", true, 0},
    {"int", "-12", true, -12},
    {"int", "9223372036854775807", true, INT64_MAX},
    {"int", "9223372036854775808", false, 0},
    {"int", "-9223372036854775807", true, -INT64_MAX},
    {"int", "", false, 0},
    {"int", "-", false, 0},
    {"int", "--1", false, 0},
    {"int", "+1", false, 0},
    {"int", " 1", false, 0},
    {"int", "1 ", false, 0},
    {"int", "0x10", false, 0},
    {"int", "1k", false, 0},
    {"bool", "true", true, 1},
    {"bool", "yes", true, 1},
    {"bool", "1", true, 1},
    {"bool", "false", true, 0},
    {"bool", "no", true, 0},
    {"bool", "0", true, 0},
    {"bool", "2", false, 0},
    {"bool", "", false, 0},
    {"bool", "on", false, 0},
    {"duration", "250ms", true, 250},
    {"duration", "2s", true, 2000},
    {"duration", "5m", true, 300000},
    {"duration", "1h", true, 3600000},
    {"duration", "17", true, 17},
    {"duration", "0", true, 0},
    {"duration", "-1s", false, 0},
    {"duration", "1d", false, 0},
    {"duration", "s", false, 0},
    {"duration", "1 s", false, 0},
    {"duration", "2562047788015h", true, INT64_C(2562047788015) * 3600000},
    {"duration", "2562047788016h", false, 0},
    {"bytes", "512", true, 512},
    {"bytes", "64k", true, 65536},
    {"bytes", "64K", true, 65536},
    {"bytes", "16M", true, 16 << 20},
    {"bytes", "1G", true, 1 << 30},
    {"bytes", "8589934591G", true, INT64_C(8589934591) << 30},
    {"bytes", "8589934592G", false, 0},
    {"bytes", "1T", false, 0},
    {"bytes", "1kB", false, 0},
    {"bytes", "-1", false, 0},
    {"float", "1", false, 0},
};

START_TEST(numbers_are_read_strictly)
{
    int64_t n = 42;
    ck_assert_msg(mp_option_parse(numbers[_i].type, numbers[_i].text, &n) ==
                      numbers[_i].good,
                  "%s \"%s\"", numbers[_i].type, numbers[_i].text);
    if (numbers[_i].good)
        ck_assert_int_eq(n, numbers[_i].value);
}
END_TEST

START_TEST(before_the_check_numbers_are_read_as_int_or_bool)
{
    mp_props_set(props, "a", "12");
    mp_props_set(props, "b", "yes");
    mp_props_set(props, "c", "5m");
    ck_assert_int_eq(mp_props_int(props, "a", -1), 12);
    ck_assert_int_eq(mp_props_int(props, "b", -1), 1);
    ck_assert_int_eq(mp_props_int(props, "c", -1), -1);
}
END_TEST

START_TEST(a_copy_has_everything_and_is_on_its_own)
{
    mp_props_set(props, "command", "cat");
    mp_props_put(props, "env", "A", "1");
    mp_props_check(props, options, WHAT, &err);
    mcplug_props *copy = mp_props_copy(props);
    mp_props_set(props, "command", "dog");
    ck_assert_str_eq(mp_props_get(copy, "command"), "cat");
    ck_assert_str_eq(mp_props_list(copy, "env")[1], "1");
    ck_assert_str_eq(mp_props_get(copy, "timeout"), "30s");
    mp_props_free(copy);
}
END_TEST

START_TEST(what_is_known_can_be_picked_out)
{
    mp_props_set(props, "command", "cat");
    mp_props_set(props, "colour", "red");
    mcplug_props *known = mp_props_known(props, options);
    ck_assert_str_eq(mp_props_get(known, "command"), "cat");
    ck_assert_ptr_null(mp_props_get(known, "colour"));
    mp_props_free(known);
}
END_TEST

START_TEST(the_order_of_settings_and_of_maps_does_not_change_the_hash)
{
    mcplug_props *other = mp_props_new();
    mp_props_set(props, "a", "1");
    mp_props_set(props, "b", "2");
    mp_props_put(props, "m", "x", "1");
    mp_props_put(props, "m", "y", "2");
    mp_props_put(other, "m", "y", "2");
    mp_props_put(other, "m", "x", "1");
    mp_props_set(other, "b", "2");
    mp_props_set(other, "a", "1");
    ck_assert_uint_eq(mp_props_hash(props), mp_props_hash(other));
    mp_props_free(other);
}
END_TEST

START_TEST(different_settings_have_different_hashes)
{
    uint64_t hashes[9];
    size_t n = 0;
    hashes[n++] = mp_props_hash(props);
    mp_props_set(props, "a", "bc");
    hashes[n++] = mp_props_hash(props);
    mp_props_set(props, "a", "");
    hashes[n++] = mp_props_hash(props);
    mp_props_add(props, "l", "1");
    hashes[n++] = mp_props_hash(props);
    mp_props_add(props, "l", "2");
    hashes[n++] = mp_props_hash(props);
    mp_props_put(props, "m", "1", "2");
    hashes[n++] = mp_props_hash(props);
    mp_props_put(props, "m", "2", "1");
    hashes[n++] = mp_props_hash(props);
    mcplug_props *other = mp_props_new();
    mp_props_set(other, "ab", "c");
    hashes[n++] = mp_props_hash(other);
    mp_props_add(other, "l", "2");
    mp_props_add(other, "l", "1");
    hashes[n++] = mp_props_hash(other);
    mp_props_free(other);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(hashes[i], hashes[j]);
}
END_TEST

START_TEST(the_hash_is_the_same_on_every_machine)
{
    mp_props_set(props, "command", "cat");
    mp_props_add(props, "args", "-u");
    mp_props_put(props, "env", "A", "1");
    ck_assert_uint_eq(mp_props_hash(props), UINT64_C(13732255929922369310));
}
END_TEST

static void note_url(void *arg, const char *name, const char *url)
{
    struct mp_str *out = arg;
    mp_str_addf(out, "%s=%s ", name, url);
}

START_TEST(urls_are_known_by_their_declaration_and_their_name)
{
    static const struct mcplug_option declared[] = {
        {"where", "url", "", "help"},
        {"other", "url", "http://fallback/", "help"},
        {"feedURL", "string", "", "help"},
        {"proxy", "string", "", "help"},
        {"text", "string", "http://text/", "help"},
        {"urls", "list", "", "help"},
        {NULL, NULL, NULL, NULL},
    };
    mcplug_props *p = mp_props_new();
    struct mp_str out;

    mp_str_init(&out, 4096);
    mp_props_set(p, "where", "http://a/");
    mp_props_set(p, "feedURL", "http://b/");
    mp_props_set(p, "proxy", "c:1");
    mp_props_set(p, "text", "http://d/");
    mp_props_add(p, "urls", "http://e/");
    mp_props_each_url(p, note_url, &out); /* nothing is attached: by name alone */
    ck_assert_str_eq(out.data, "feedURL=http://b/ proxy=c:1 ");
    mp_str_clear(&out);
    mp_str_init(&out, 4096);
    ck_assert_int_eq(mp_props_check(p, declared, "x", NULL), MCPLUG_OK);
    mp_props_each_url(p, note_url, &out);
    ck_assert_str_eq(
        out.data, "where=http://a/ feedURL=http://b/ proxy=c:1 other=http://fallback/ ");
    mp_str_clear(&out);
    mp_props_free(p);
}
END_TEST

START_TEST(addresses_are_set_by_the_policy_alone)
{
    static const struct mcplug_option declared[] = {
        {"denied", "addresses", "", "help"},
        {NULL, NULL, NULL, NULL},
    };
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_props *p = mp_props_new();

    mp_props_add(p, "denied", "10.*:*");
    ck_assert_int_eq(mp_props_check(p, declared, "x", &why), MCPLUG_ECONFIG);
    ck_assert_str_eq(why.text,
                     "x: the setting \"denied\" cannot be set: it is the policy's");
    mp_props_free(p);

    p = mp_props_new();
    mp_props_add(p, "denyed", "10.*:*");
    ck_assert_int_eq(mp_props_check(p, declared, "x", &why), MCPLUG_ECONFIG);
    ck_assert_str_eq(why.text, "x: unknown setting \"denyed\"");
    mp_props_free(p);

    p = mp_props_new();
    ck_assert_int_eq(mp_props_deny(p, "10.*:*"), MCPLUG_ENOTSUP);
    ck_assert_int_eq(mp_props_check(p, declared, "x", &why), MCPLUG_OK);
    ck_assert_int_eq(mp_props_deny(p, "10.*:*"), MCPLUG_OK);
    ck_assert_int_eq(mp_props_deny(p, "10.*:*"), MCPLUG_OK);
    ck_assert_int_eq(mp_props_deny(p, "[::1]:80"), MCPLUG_OK);
    mcplug_props *copy = mp_props_copy(p); /* it goes on to another transport, too */
    ck_assert_int_eq(mp_props_check(copy, declared, "x", &why), MCPLUG_OK);
    const char *const *list = mp_props_list(copy, "denied");
    ck_assert_str_eq(list[0], "10.*:*");
    ck_assert_str_eq(list[1], "[::1]:80");
    ck_assert_ptr_null(list[2]);
    mp_props_free(copy);
    mp_props_free(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_props");
    TCase *tc = tcase_create("props");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_was_set_is_given_back);
    tcase_add_test(tc, what_was_not_set_is_null_or_an_empty_list);
    tcase_add_test(tc, a_name_keeps_the_shape_it_began_with);
    tcase_add_test(tc, a_missing_name_or_value_is_refused);
    tcase_add_test(tc, one_setting_more_than_allowed_is_too_many);
    tcase_add_test(tc, one_item_more_than_allowed_is_too_many);
    tcase_add_test(tc, fallbacks_apply_once_the_options_are_attached);
    tcase_add_test(tc, a_failed_check_attaches_nothing);
    tcase_add_test(tc, an_unknown_name_is_refused_with_the_nearest_known_one);
    tcase_add_test(tc, an_unknown_name_that_is_near_to_none_stands_alone);
    tcase_add_test(tc, a_setting_of_a_module_without_options_is_unknown);
    tcase_add_test(tc, all_missing_settings_are_named_but_no_lists_and_maps);
    tcase_add_test(tc, a_list_where_a_value_belongs_is_refused_and_the_other_way_round);
    tcase_add_test(tc, a_malformed_value_is_shown_with_what_was_wanted);
    tcase_add_test(tc, a_secret_is_never_shown);
    tcase_add_loop_test(tc, numbers_are_read_strictly, 0, MP_COUNT(numbers));
    tcase_add_test(tc, before_the_check_numbers_are_read_as_int_or_bool);
    tcase_add_test(tc, a_copy_has_everything_and_is_on_its_own);
    tcase_add_test(tc, what_is_known_can_be_picked_out);
    tcase_add_test(tc, the_order_of_settings_and_of_maps_does_not_change_the_hash);
    tcase_add_test(tc, different_settings_have_different_hashes);
    tcase_add_test(tc, the_hash_is_the_same_on_every_machine);
    tcase_add_test(tc, addresses_are_set_by_the_policy_alone);
    tcase_add_test(tc, urls_are_known_by_their_declaration_and_their_name);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
