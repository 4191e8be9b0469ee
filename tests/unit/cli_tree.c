#include "cli/base/tree.h"

#include "base/buf.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define FFFD "\xef\xbf\xbd"
#define LARGEST "1.7976931348623157e308"

static json_t *tree_of(const char *text)
{
    static const struct mp_scan_limits limits = {64, 1000000};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    ck_assert_int_eq(mp_scan_text(text, strlen(text), &limits, NULL, &err), MCPLUG_OK);
    json_t *tree = cli_tree(mp_text(text), NULL, &err);
    ck_assert_msg(tree != NULL, "%s: %s", text, err.text);
    return tree;
}

/* `expected`: the same as jansson reads it. */
static void becomes(const char *text, const char *expected)
{
    json_t *tree = tree_of(text);
    json_t *wanted = json_loads(expected, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    ck_assert_ptr_nonnull(wanted);
    ck_assert_msg(json_equal(tree, wanted), "%s did not become %s", text, expected);
    json_decref(tree);
    json_decref(wanted);
}

static const char *const ordinary[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "42",
    "-9223372036854775808",
    "1.5",
    "-2.5e-3",
    "1E2",
    "0.1",
    "1e-400",
    "\"\"",
    "\"abc\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"a\\u0000b\"",
    "\"\xe2\x82\xac\"",
    "[]",
    "{}",
    "[ ]",
    "{ }",
    "[1, [2, [3]], {\"a\": {\"b\": []}}]",
    " {\"a\":1 , \"b\" : [true ,false, null ] } ",
    "{\"a\":1,\"b\":2,\"a\":3}",
    "{\"\":\"\"}",
    "{\"\\u0061\\n\":1}",
};

START_TEST(ordinary_text_becomes_what_jansson_makes_of_it)
{
    for (size_t i = 0; i < MP_COUNT(ordinary); i++)
        becomes(ordinary[i], ordinary[i]);
}
END_TEST

START_TEST(beside_something_odd_the_rest_stays_the_same)
{
    for (size_t i = 0; i < MP_COUNT(ordinary); i++) {
        char text[300], expected[300];
        snprintf(text, sizeof text, "[%s,1e999,{\"x\":%s}]", ordinary[i], ordinary[i]);
        snprintf(expected, sizeof expected, "[%s," LARGEST ",{\"x\":%s}]", ordinary[i],
                 ordinary[i]);
        becomes(text, expected);
    }
}
END_TEST

START_TEST(a_lone_surrogate_is_accepted_by_the_scan_and_becomes_fffd_in_the_tree)
{
    becomes("[\"\\ud83d\"]", "[\"" FFFD "\"]");
    becomes("[\"\\ude00 \\ud83d\\ud83d\\ude00\"]",
            "[\"" FFFD " " FFFD "\xf0\x9f\x98\x80\"]");
    becomes("{\"\\ud800\":{\"\\udfffk\":1}}", "{\"" FFFD "\":{\"" FFFD "k\":1}}");
}
END_TEST

START_TEST(a_number_too_large_becomes_the_nearest_there_is)
{
    becomes("9223372036854775808", "9223372036854775808.0");
    becomes("[-9223372036854775809,1]", "[-9223372036854775809.0,1]");
    becomes("{\"n\":123456789012345678901234567890}",
            "{\"n\":123456789012345678901234567890.0}");
    becomes("[1e400,-1.5E+999,0.5]", "[" LARGEST ",-" LARGEST ",0.5]");
}
END_TEST

/* Through a tree that notes its numbers, and back. */
static void stays(const char *text)
{
    struct cli_numbers numbers = {0};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *tree = cli_tree(mp_text(text), &numbers, &err);
    char *written = tree ? cli_tree_text(tree, &numbers) : NULL;

    ck_assert_msg(written != NULL, "%s: %s", text, err.text);
    ck_assert_str_eq(written, text);
    mp_free(written);
    json_decref(tree);
    cli_numbers_clear(&numbers);
}

START_TEST(a_number_that_is_noted_is_written_as_it_came)
{
    static const char *const numbers[] = {
        "0",
        "-0",
        "1",
        "-1",
        "1.0",
        "1.10",
        "-0.0",
        "1e3",
        "1E+3",
        "0.1",
        "1e-7",
        "9007199254740993",
        "1e400",
        "-1.5E+999",
        "1e-400",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "12345678901234567890",
        "3.14159265358979323846264338327950288",
    };
    char text[200];

    for (size_t i = 0; i < MP_COUNT(numbers); i++) {
        stays(numbers[i]);
        snprintf(text, sizeof text, "[%s,{\"a\":[%s,1],\"b\":%s}]", numbers[i],
                 numbers[i], numbers[i]);
        stays(text);
    }
    stays("{\"a\":[true,false,null,\"\\\"\\n\\u0000\\u0001\xe2\x82\xac\"],\"b\":{},\"c\":"
          "[]}");
}
END_TEST

START_TEST(a_whole_number_that_is_noted_is_an_integer_to_the_tree)
{
    struct cli_numbers numbers = {0};
    json_t *tree = cli_tree(mp_text("[1.0,1e3,1.5,1e400]"), &numbers, NULL);

    ck_assert(json_is_integer(json_array_get(tree, 0)));
    ck_assert_int_eq(json_integer_value(json_array_get(tree, 1)), 1000);
    ck_assert(json_is_real(json_array_get(tree, 2)));
    ck_assert(json_is_real(json_array_get(tree, 3)));
    json_decref(tree);
    cli_numbers_clear(&numbers);
}
END_TEST

/* What is noted keeps its node, so that no later one is taken for it. */
START_TEST(a_node_that_was_replaced_lends_its_number_to_no_other)
{
    struct cli_numbers numbers = {0};
    json_t *tree = json_object();

    for (int i = 0; i < 100; i++) {
        json_object_set_new(tree, "a", cli_tree(mp_text("1.10"), &numbers, NULL));
        json_object_set_new(tree, "a", json_integer(i));
        json_object_set_new(tree, "b", json_integer(i));
    }
    char *written = cli_tree_text(tree, &numbers);
    ck_assert_str_eq(written, "{\"a\":99,\"b\":99}");
    mp_free(written);
    json_decref(tree);
    cli_numbers_clear(&numbers);
}
END_TEST

START_TEST(a_nul_in_a_key_becomes_fffd)
{
    becomes("{\"a\\u0000b\":1,\"\\u0000\":2}", "{\"a" FFFD "b\":1,\"" FFFD "\":2}");
}
END_TEST

START_TEST(the_later_of_two_equal_keys_is_kept)
{
    becomes("{\"a\":1,\"a\":2}", "{\"a\":2}");
    becomes("{\"a\":1,\"b\":1e999,\"\\u0061\":2}", "{\"a\":2,\"b\":" LARGEST "}");
    becomes("{\"id\":1e999,\"id\":2}", "{\"id\":2}");
}
END_TEST

START_TEST(the_deepest_text_is_built)
{
    char text[300] = "";
    for (int i = 0; i < 64; i++)
        strcat(text, "[");
    strcat(text, "1e999");
    for (int i = 0; i < 64; i++)
        strcat(text, "]");
    json_t *tree = tree_of(text), *at = tree;
    for (int i = 0; i < 64; i++)
        at = json_array_get(at, 0);
    ck_assert(json_is_real(at));
    json_decref(tree);
}
END_TEST

START_TEST(text_that_no_scan_passed_is_refused_with_a_reason)
{
    static const char *const texts[] = {"", "[1", "\"\xff\"", "[1e999,\"\xff\"]", "NaN"};
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        ck_assert_ptr_null(cli_tree(mp_text(texts[i]), NULL, &err));
        ck_assert_int_eq(err.code, MCPLUG_EPROTO);
        ck_assert_str_ne(err.text, "");
    }
    ck_assert_ptr_null(cli_tree(mp_bytes(NULL, 0), NULL, NULL));
}
END_TEST

/* ---- without memory ---- */

static unsigned count, failing, live;
static bool for_good; /* every allocation from the failing one on fails */

static void *scarce_alloc(size_t size)
{
    count++;
    if (count == failing || (for_good && count > failing))
        return NULL;
    live++;
    return malloc(size);
}

static void scarce_free(void *p)
{
    live -= p != NULL;
    free(p);
}

START_TEST(without_memory_there_is_an_error_and_no_leak)
{
    static const char *const texts[] = {
        "{\"a\":[1,2.5,\"text\",{\"b\":[[],{}]}],\"c\":{\"d\":null}}",
        "{\"a\":[1,2.5,\"\\ud800\",{\"b\":[[],{}]}],\"c\":{\"d\\u0000\":1e999}}",
    };
    json_set_alloc_funcs(scarce_alloc, scarce_free);
    for (size_t i = 0; i < MP_COUNT(texts); i++)
        for (int good = 0; good < 2; good++) {
            json_t *tree = NULL;
            failing = 0;
            do {
                struct mcplug_error err = MCPLUG_ERROR_INIT;
                failing++;
                count = 0;
                for_good = good;
                tree = cli_tree(mp_text(texts[i]), NULL, &err);
                ck_assert(tree || err.code == MCPLUG_ENOMEM);
                json_decref(tree);
                ck_assert_uint_eq(live, 0);
            } while (count >= failing); /* until none was left to fail */
            ck_assert_ptr_nonnull(tree);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_tree");
    TCase *t = tcase_create("all");

    tcase_add_test(t, ordinary_text_becomes_what_jansson_makes_of_it);
    tcase_add_test(t, beside_something_odd_the_rest_stays_the_same);
    tcase_add_test(t,
                   a_lone_surrogate_is_accepted_by_the_scan_and_becomes_fffd_in_the_tree);
    tcase_add_test(t, a_number_too_large_becomes_the_nearest_there_is);
    tcase_add_test(t, a_number_that_is_noted_is_written_as_it_came);
    tcase_add_test(t, a_whole_number_that_is_noted_is_an_integer_to_the_tree);
    tcase_add_test(t, a_node_that_was_replaced_lends_its_number_to_no_other);
    tcase_add_test(t, a_nul_in_a_key_becomes_fffd);
    tcase_add_test(t, the_later_of_two_equal_keys_is_kept);
    tcase_add_test(t, the_deepest_text_is_built);
    tcase_add_test(t, text_that_no_scan_passed_is_refused_with_a_reason);
    tcase_add_test(t, without_memory_there_is_an_error_and_no_leak);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
