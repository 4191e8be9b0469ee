#include "json/walk.h"

#include "base/buf.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void is_view(mp_view v, const char *expected)
{
    ck_assert_uint_eq(v.len, strlen(expected));
    if (v.len)
        ck_assert_mem_eq(v.data, expected, v.len);
}

/* ---- over values ---- */

START_TEST(the_members_of_an_object_come_in_order)
{
    struct mp_walk w = mp_walk_into(mp_text("{ \"a\" : 1 ,\"b\":[{\"}\":\"]\"}],\n"
                                            "\"\\\"\":\"x\\\\\",\"d\":{\"e\":null}\t}"));
    static const char *const expected[][2] = {{"\"a\"", "1"},
                                              {"\"b\"", "[{\"}\":\"]\"}]"},
                                              {"\"\\\"\"", "\"x\\\\\""},
                                              {"\"d\"", "{\"e\":null}"}};
    mp_view key, value;

    for (size_t i = 0; i < MP_COUNT(expected); i++) {
        ck_assert(mp_walk_member(&w, &key, &value));
        is_view(key, expected[i][0]);
        is_view(value, expected[i][1]);
    }
    ck_assert(!mp_walk_member(&w, &key, &value));
    ck_assert(!mp_walk_member(&w, &key, &value));
}
END_TEST

START_TEST(the_elements_of_an_array_come_in_order)
{
    struct mp_walk w =
        mp_walk_into(mp_text("[1,\"a,]\" , [ ],{},true,-1.5e3 ,null,[[\"[\"]]]"));
    static const char *const expected[] = {"1",    "\"a,]\"", "[ ]",  "{}",
                                           "true", "-1.5e3",  "null", "[[\"[\"]]"};
    mp_view value;

    for (size_t i = 0; i < MP_COUNT(expected); i++) {
        ck_assert(mp_walk_element(&w, &value));
        is_view(value, expected[i]);
    }
    ck_assert(!mp_walk_element(&w, &value));
    ck_assert(!mp_walk_element(&w, &value));
}
END_TEST

START_TEST(members_with_one_name_are_found)
{
    static const struct {
        const char *text, *twice;
    } texts[] = {
        {"{}", NULL},
        {"[1,1]", NULL},
        {"\"a\"", NULL},
        {"{\"a\":{\"b\":1},\"b\":2,\"c\":[\"a\"]}", NULL},
        {"{\"a\":1,\"b\":2,\"a\":3}", "duplicate member \"a\""},
        {"{\"name\":1,\"n\\u0061me\":2}", "duplicate member \"n\\u0061me\""},
        {"{\"\\u00e9\":1,\"\xc3\xa9\":2}", "duplicate member \"\xc3\xa9\""},
        {"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}",
         "duplicate member \"\xf0\x9f\x98\x80\""},
        {"{\"a\\/b\":1,\"a/b\":2}", "duplicate member \"a/b\""},
        {"{\"a\\u0000b\":1,\"a\":2,\"a\\u0000c\":3}", NULL},
        {"{\"\":1,\"\":2}", "duplicate member \"\""},
    };

    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        int r = mp_view_unique(mp_text(texts[i].text), &err);
        ck_assert_int_eq(r, texts[i].twice ? MCPLUG_EPROTO : MCPLUG_OK);
        ck_assert_str_eq(err.text, texts[i].twice ? texts[i].twice : "");
    }
}
END_TEST

START_TEST(one_pair_among_many_members_is_found)
{
    for (size_t n = 2; n < 60; n++)
        for (size_t twice = 0; twice < n; twice++) {
            struct mp_str s;
            mp_str_init(&s, 4096);
            for (size_t i = 0; i < n; i++)
                mp_str_addf(&s, "%c\"%s%zu\":1", i ? ',' : '{', i % 3 ? "k" : "\\u006b",
                            i);
            ck_assert_int_eq(mp_view_unique(mp_bytes(s.data, s.len + 1), NULL),
                             MCPLUG_OK);
            mp_str_addf(&s, ",\"k%zu\":2}", twice);
            ck_assert_int_eq(mp_view_unique(mp_bytes(s.data, s.len), NULL),
                             MCPLUG_EPROTO);
            mp_str_clear(&s);
        }
}
END_TEST

static void look_for_twice(size_t n)
{
    static struct mp_str s;

    if (!s.max)
        mp_str_init(&s, 1 << 24);
    mp_str_reset(&s);
    for (size_t i = 0; i < n; i++)
        mp_str_addf(&s, "%c\"%zu\":1", i ? ',' : '{', 1000000 + i * 7919 % n);
    mp_str_addc(&s, '}');
    ck_assert_int_eq(mp_view_unique(mp_bytes(s.data, s.len), NULL), MCPLUG_OK);
}

START_TEST(many_members_take_little_longer_than_few)
{
    ck_assert_double_lt(grows_by(look_for_twice, 3000), 24);
}
END_TEST

START_TEST(what_is_no_container_has_nothing_inside)
{
    static const char *const texts[] = {"",   "1",    "\"abc\"", "null", "{}",
                                        "[]", "{ }",  "[ \n]",   "[",    "{",
                                        "}",  "true", "-1"};
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        struct mp_walk w = mp_walk_into(mp_text(texts[i]));
        mp_view key, value;
        ck_assert(!mp_walk_element(&w, &value));
        w = mp_walk_into(mp_text(texts[i]));
        ck_assert(!mp_walk_member(&w, &key, &value));
        ck_assert_uint_eq(mp_view_count(mp_text(texts[i])), 0);
    }
    ck_assert_uint_eq(mp_view_count(mp_bytes(NULL, 0)), 0);
}
END_TEST

START_TEST(an_object_has_no_elements_and_an_array_no_members)
{
    mp_view key, value;
    struct mp_walk w = mp_walk_into(mp_text("{\"a\":1,\"b\":2}"));
    ck_assert(!mp_walk_element(&w, &value));
    w = mp_walk_into(mp_text("[\"a\",\"b\"]"));
    ck_assert(!mp_walk_member(&w, &key, &value));
}
END_TEST

START_TEST(text_that_no_scan_passed_ends_the_walk)
{
    static const char *const texts[] = {
        "{\"a\"", "{\"a\":",   "{\"a\":}", "{\"a}", "{\"a\":[1", "{1:2}",
        "{,}",    "{\"a\" 1}", "[,,]",     "[\"a",  "[}]",       "{\"a\":\"b\\\"}"};
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        mp_view text = mp_text(texts[i]), key, value;
        struct mp_walk w = mp_walk_into(text);
        for (int n = 0; mp_walk_member(&w, &key, &value); n++)
            ck_assert_int_lt(n, 5);
        w = mp_walk_into(text);
        for (int n = 0; mp_walk_element(&w, &value); n++)
            ck_assert_int_lt(n, 5);
    }
}
END_TEST

START_TEST(members_and_elements_are_counted)
{
    ck_assert_uint_eq(mp_view_count(mp_text("{\"a\":[1,2,3],\"b\":{}}")), 2);
    ck_assert_uint_eq(mp_view_count(mp_text("[{\"a\":1,\"b\":2},[3,4],\"5,6\"]")), 3);
}
END_TEST

START_TEST(long_values_are_skipped_whatever_is_in_them)
{
    struct mp_str s;
    mp_view value;

    for (size_t len = 0; len < 100; len++) {
        mp_str_init(&s, 10000);
        mp_str_adds(&s, "[[\"");
        for (size_t i = 0; i < len; i++)
            mp_str_adds(&s, i % 7 == 3 ? "\\\"" : i % 11 == 5 ? "\\\\" : "]");
        mp_str_adds(&s, "\",");
        for (size_t i = 0; i < len; i++)
            mp_str_adds(&s, "1,");
        mp_str_adds(&s, "{}],7]");
        struct mp_walk w = mp_walk_into(mp_bytes(s.data, s.len));
        ck_assert(mp_walk_element(&w, &value));
        ck_assert_uint_eq(mp_view_count(value), len + 2);
        ck_assert(mp_walk_element(&w, &value));
        is_view(value, "7");
        mp_str_clear(&s);
    }
}
END_TEST

/* ---- asking ---- */

START_TEST(a_member_is_found_by_its_unescaped_name)
{
    mp_view v = mp_text("{\"a\":1,\"\\u0062\\/\":2,\"a\":3,\"\":4,\"\\ud83d\\ude00\":5,"
                        "\"ab\":6,\"\xc3\xa9\":7}");
    is_view(mp_view_get(v, "a"), "1");
    is_view(mp_view_get(v, "b/"), "2");
    is_view(mp_view_get(v, ""), "4");
    is_view(mp_view_get(v, "\xf0\x9f\x98\x80"), "5");
    is_view(mp_view_get(v, "ab"), "6");
    is_view(mp_view_get(v, "\xc3\xa9"), "7");
    is_view(mp_view_get(v, "b"), "");
    is_view(mp_view_get(v, "abc"), "");
    is_view(mp_view_get(mp_text("[\"a\",1]"), "a"), "");
    is_view(mp_view_get(mp_bytes(NULL, 0), "a"), "");
}
END_TEST

START_TEST(a_path_leads_through_several_levels)
{
    mp_view v = mp_text("{\"capabilities\":{\"tools\":{\"listChanged\":true},\"x\":null},"
                        "\"n\":1}");
    ck_assert(mp_view_true(mp_view_path(v, "capabilities/tools/listChanged")));
    ck_assert(mp_view_is_null(mp_view_path(v, "capabilities/x")));
    is_view(mp_view_path(v, "n"), "1");
    is_view(mp_view_path(v, "n/a"), "");
    is_view(mp_view_path(v, "capabilities/none/listChanged"), "");
    is_view(mp_view_path(v, "capabilities/"), "");
    is_view(mp_view_path(v, ""), "");
}
END_TEST

START_TEST(kinds_are_told_by_the_text)
{
    ck_assert(mp_view_is_object(mp_text("{}")) && !mp_view_is_object(mp_text("[]")));
    ck_assert(mp_view_is_array(mp_text("[]")) && !mp_view_is_array(mp_text("{}")));
    ck_assert(mp_view_is_string(mp_text("\"\"")) && !mp_view_is_string(mp_text("1")));
    ck_assert(mp_view_is_null(mp_text("null")) && !mp_view_is_null(mp_text("0")));
    ck_assert(mp_view_true(mp_text("true")) && !mp_view_true(mp_text("\"true\"")));
    mp_view none = mp_bytes(NULL, 0);
    ck_assert(!mp_view_is_object(none) && !mp_view_is_array(none));
    ck_assert(!mp_view_is_string(none) && !mp_view_is_null(none) && !mp_view_true(none));
}
END_TEST

START_TEST(strings_are_compared_unescaped)
{
    ck_assert(mp_view_equals(mp_text("\"abc\""), "abc"));
    ck_assert(mp_view_equals(mp_text("\"\""), ""));
    ck_assert(mp_view_equals(mp_text("\"a\\u0062c\\n\""), "abc\n"));
    ck_assert(mp_view_equals(mp_text("\"\\ud800x\""), "\xef\xbf\xbdx"));
    ck_assert(mp_view_equals(mp_text("\"x\\ud800\""), "x\xef\xbf\xbd"));
    ck_assert(!mp_view_equals(mp_text("\"x\\ud800\""), "x"));
    ck_assert(!mp_view_equals(mp_text("\"abc\""), "ab"));
    ck_assert(!mp_view_equals(mp_text("\"ab\""), "abc"));
    ck_assert(!mp_view_equals(mp_text("\"a\\u0062\""), "abc"));
    ck_assert(!mp_view_equals(mp_text("\"a\\u0062c\""), "ab"));
    ck_assert(!mp_view_equals(mp_text("\"a\\u0000\""), "a"));
    ck_assert(!mp_view_equals(mp_text("1"), "1"));
    ck_assert(!mp_view_equals(mp_bytes(NULL, 0), ""));

    char text[1000] = "\"", plain[1000] = "";
    for (int i = 0; i < 90; i++) {
        strcat(text, i % 3 ? "x" : "\\u00e9");
        strcat(plain, i % 3 ? "x" : "\xc3\xa9");
    }
    strcat(text, "\"");
    ck_assert(mp_view_equals(mp_text(text), plain));
    plain[strlen(plain) - 1] = 'y';
    ck_assert(!mp_view_equals(mp_text(text), plain));
}
END_TEST

/* ---- numbers ---- */

START_TEST(integers_are_read_when_they_fit)
{
    static const struct {
        const char *text;
        int64_t n;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"42", 42},
                {"-7", -7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {"",
                                      "-",
                                      "1.0",
                                      "1e3",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "null",
                                      "\"1\"",
                                      "[1]",
                                      "99999999999999999999999999",
                                      "1 "};
    int64_t n = 0;

    for (size_t i = 0; i < MP_COUNT(good); i++) {
        ck_assert(mp_view_int(mp_text(good[i].text), &n));
        ck_assert_int_eq(n, good[i].n);
    }
    n = 5;
    for (size_t i = 0; i < MP_COUNT(bad); i++)
        ck_assert_msg(!mp_view_int(mp_text(bad[i]), &n), "%s", bad[i]);
    ck_assert(!mp_view_int(mp_bytes(NULL, 0), &n));
    ck_assert_int_eq(n, 5);
}
END_TEST

START_TEST(doubles_are_read_as_strtod_does)
{
    static const char *const texts[] = {"0",
                                        "1",
                                        "-1",
                                        "0.1",
                                        "1.5",
                                        "-2.5e-3",
                                        "1E5",
                                        "1e+2",
                                        "3.141592653589793",
                                        "123456789012345678901234567890",
                                        "1.7976931348623157e308",
                                        "5e-324",
                                        "2e-324",
                                        "1e-400",
                                        "0.000000000000000000000000000001e30",
                                        "9007199254740993",
                                        "2.2250738585072011e-308",
                                        "0e999999999999999999999",
                                        "1e-99999999999999999999",
                                        "8.98846567431158e307",
                                        "179769313486231570000000000000000000000e270"};
    static const char *const bad[] = {
        "", "-", "null", "\"1\"", "1e309", "-1e400", "1e99999999999999999999"};
    double d = 0;

    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        ck_assert(mp_view_double(mp_text(texts[i]), &d));
        ck_assert_msg(d == strtod(texts[i], NULL), "%s gave %.17g", texts[i], d);
    }
    ck_assert(mp_view_double(mp_text("-0"), &d));
    ck_assert(signbit(d));
    for (size_t i = 0; i < MP_COUNT(bad); i++)
        ck_assert_msg(!mp_view_double(mp_text(bad[i]), &d), "%s", bad[i]);
    ck_assert(!mp_view_double(mp_bytes(NULL, 0), &d));
}
END_TEST

START_TEST(a_double_of_very_many_digits_is_still_rounded_right)
{
    /* 1 + 2^-53 lies halfway; one digit far behind decides */
    static const char half[] = "1.00000000000000011102230246251565404236316680908203125";
    char text[3000];
    double d;

    memset(text, '0', sizeof text);
    memcpy(text, half, sizeof half - 1);
    ck_assert(mp_view_double(mp_bytes(text, 2000), &d));
    ck_assert(d == 1.0);
    text[1999] = '1';
    ck_assert(mp_view_double(mp_bytes(text, 2000), &d));
    ck_assert(d == 1.0000000000000002);

    memset(text, '9', sizeof text);
    ck_assert(!mp_view_double(mp_bytes(text, sizeof text), &d));
    memcpy(text + 2990, "e-2990    ", 10);
    ck_assert(mp_view_double(mp_bytes(text, 2996), &d));
    ck_assert(d == 1.0);
}
END_TEST

START_TEST(the_locale_does_not_matter)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    double d;
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        setlocale(LC_ALL, names[i]); /* where it is installed */
        ck_assert(mp_view_double(mp_text("1234.5"), &d));
        ck_assert(d == 1234.5);
    }
}
END_TEST

/* ---- strings ---- */

static const struct {
    const char *inside, *plain;
    size_t len;
} escapes[] = {
    {"", "", 0},
    {"abc", "abc", 3},
    {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 8},
    {"\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac", 6},
    {"a\\u0000b", "a\0b", 3},
    {"\\ud83d\\ude00!", "\xf0\x9f\x98\x80!", 5},
    {"\\ud83d", "\xef\xbf\xbd", 3},
    {"\\ude00", "\xef\xbf\xbd", 3},
    {"\\ud83dx", "\xef\xbf\xbdx", 4},
    {"\\ud83d\\n", "\xef\xbf\xbd\n", 4},
    {"\\ud83d\\u0041",
     "\xef\xbf\xbd"
     "A",
     4},
    {"\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80", 7},
    {"\\ude00\\ud83d", "\xef\xbf\xbd\xef\xbf\xbd", 6},
    {"\xc3\xa9\\\\u0041", "\xc3\xa9\\u0041", 8},
};

START_TEST(a_string_is_added_unescaped)
{
    for (size_t i = 0; i < MP_COUNT(escapes); i++) {
        char text[100];
        struct mp_str s;
        snprintf(text, sizeof text, "\"%s\"", escapes[i].inside);
        mp_str_init(&s, 100);
        mp_str_adds(&s, "<");
        ck_assert(mp_str_add_view(&s, mp_text(text)));
        ck_assert_uint_eq(s.len, escapes[i].len + 1);
        ck_assert_mem_eq(s.data + 1, escapes[i].plain, escapes[i].len);
        mp_str_clear(&s);

        char *copy = mp_view_strdup(mp_text(text));
        ck_assert_str_eq(copy, escapes[i].plain);
        mp_free(copy);
    }
}
END_TEST

START_TEST(what_is_no_string_adds_nothing)
{
    struct mp_str s;
    mp_str_init(&s, 100);
    ck_assert(mp_str_add_view(&s, mp_text("123")));
    ck_assert(mp_str_add_view(&s, mp_bytes(NULL, 0)));
    ck_assert_uint_eq(s.len, 0);
    ck_assert_ptr_null(mp_view_strdup(mp_text("123")));
    ck_assert_ptr_null(mp_view_strdup(mp_text("\"")));
    ck_assert_ptr_null(mp_view_strdup(mp_bytes(NULL, 0)));
}
END_TEST

START_TEST(a_string_beyond_the_maximum_fails)
{
    struct mp_str s;
    mp_str_init(&s, 3);
    ck_assert(mp_str_add_view(&s, mp_text("\"\\u0041\\u0042\\u0043\"")));
    ck_assert_str_eq(s.data, "ABC");
    ck_assert(!mp_str_add_view(&s, mp_text("\"D\"")));
    ck_assert(s.failed);
    mp_str_clear(&s);
    ck_assert(!mp_str_add_view(&s, mp_text("\"\\u0041\\u0042\\u0043\\u0044\"")));
    mp_str_clear(&s);
}
END_TEST

START_TEST(pieces_are_unescaped_like_the_whole)
{
    for (size_t i = 0; i < MP_COUNT(escapes); i++) {
        size_t len = strlen(escapes[i].inside);
        for (size_t a = 0; a <= len; a++)
            for (size_t b = a; b <= len; b++) {
                struct mp_unescape u = {0, 0, {0}};
                size_t cuts[] = {0, a, b, len}, n = 0;
                char all[200];
                for (size_t k = 0; k < 3; k++) {
                    size_t in = cuts[k + 1] - cuts[k];
                    char *out = malloc(4 + 3 * in); /* no more than was promised */
                    size_t put =
                        mp_unescape_feed(&u, escapes[i].inside + cuts[k], in, out);
                    memcpy(all + n, out, put);
                    n += put;
                    free(out);
                }
                n += mp_unescape_end(&u, all + n);
                ck_assert_uint_eq(n, escapes[i].len);
                ck_assert_mem_eq(all, escapes[i].plain, n);
            }
    }
}
END_TEST

START_TEST(an_escape_that_was_cut_off_is_left_out)
{
    struct mp_unescape u = {0, 0, {0}};
    char out[32];
    ck_assert_uint_eq(mp_unescape_feed(&u, "a\\u00", 5, out), 1);
    ck_assert_uint_eq(mp_unescape_end(&u, out), 0);
    ck_assert_uint_eq(mp_unescape_feed(&u, "41", 2, out), 2);
    ck_assert_mem_eq(out, "41", 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_walk");
    TCase *t = tcase_create("all");

    tcase_add_test(t, the_members_of_an_object_come_in_order);
    tcase_add_test(t, the_elements_of_an_array_come_in_order);
    tcase_add_test(t, members_with_one_name_are_found);
    tcase_add_test(t, one_pair_among_many_members_is_found);
    tcase_add_test(t, many_members_take_little_longer_than_few);
    tcase_add_test(t, what_is_no_container_has_nothing_inside);
    tcase_add_test(t, an_object_has_no_elements_and_an_array_no_members);
    tcase_add_test(t, text_that_no_scan_passed_ends_the_walk);
    tcase_add_test(t, members_and_elements_are_counted);
    tcase_add_test(t, long_values_are_skipped_whatever_is_in_them);
    tcase_add_test(t, a_member_is_found_by_its_unescaped_name);
    tcase_add_test(t, a_path_leads_through_several_levels);
    tcase_add_test(t, kinds_are_told_by_the_text);
    tcase_add_test(t, strings_are_compared_unescaped);
    tcase_add_test(t, integers_are_read_when_they_fit);
    tcase_add_test(t, doubles_are_read_as_strtod_does);
    tcase_add_test(t, a_double_of_very_many_digits_is_still_rounded_right);
    tcase_add_test(t, the_locale_does_not_matter);
    tcase_add_test(t, a_string_is_added_unescaped);
    tcase_add_test(t, what_is_no_string_adds_nothing);
    tcase_add_test(t, a_string_beyond_the_maximum_fails);
    tcase_add_test(t, pieces_are_unescaped_like_the_whole);
    tcase_add_test(t, an_escape_that_was_cut_off_is_left_out);
    tcase_set_timeout(t, 60); /* some are large, and valgrind is slow */
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
