#include "cli/base/tree.h"

#include "base/buf.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define FFFD "\xef\xbf\xbd"

static json_t *tree_of(const char *text)
{
    static const struct mp_scan_limits limits = {64, 1000000};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    ck_assert_int_eq(mp_scan_text(text, strlen(text), &limits, NULL, &err), MCPLUG_OK);
    json_t *tree = cli_tree(mp_text(text), &err);
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
        snprintf(expected, sizeof expected, "[%s,\"1e999\",{\"x\":%s}]", ordinary[i],
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

START_TEST(a_number_too_large_becomes_a_string_of_its_digits)
{
    becomes("9223372036854775808", "\"9223372036854775808\"");
    becomes("[-9223372036854775809,1]", "[\"-9223372036854775809\",1]");
    becomes("{\"n\":123456789012345678901234567890}",
            "{\"n\":\"123456789012345678901234567890\"}");
    becomes("[1e400,-1.5E+999,0.5]", "[\"1e400\",\"-1.5E+999\",0.5]");
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
    becomes("{\"a\":1,\"b\":1e999,\"\\u0061\":2}", "{\"a\":2,\"b\":\"1e999\"}");
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
    ck_assert_str_eq(json_string_value(at), "1e999");
    json_decref(tree);
}
END_TEST

START_TEST(text_that_no_scan_passed_is_refused_with_a_reason)
{
    static const char *const texts[] = {"", "[1", "\"\xff\"", "[1e999,\"\xff\"]", "NaN"};
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        ck_assert_ptr_null(cli_tree(mp_text(texts[i]), &err));
        ck_assert_int_eq(err.code, MCPLUG_EPROTO);
        ck_assert_str_ne(err.text, "");
    }
    ck_assert_ptr_null(cli_tree(mp_bytes(NULL, 0), NULL));
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
                tree = cli_tree(mp_text(texts[i]), &err);
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
    tcase_add_test(t, a_number_too_large_becomes_a_string_of_its_digits);
    tcase_add_test(t, a_nul_in_a_key_becomes_fffd);
    tcase_add_test(t, the_later_of_two_equal_keys_is_kept);
    tcase_add_test(t, the_deepest_text_is_built);
    tcase_add_test(t, text_that_no_scan_passed_is_refused_with_a_reason);
    tcase_add_test(t, without_memory_there_is_an_error_and_no_leak);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
