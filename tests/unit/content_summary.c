#include "content/summary.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "quick.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct mp_str text, got, whole;
static bool is_json;
static uint64_t chars;

static void setup(void)
{
    mp_str_init(&text, 1 << 28);
    mp_str_init(&got, 1 << 20);
    mp_str_init(&whole, 1 << 20);
}

static void teardown(void)
{
    mp_str_clear(&text);
    mp_str_clear(&got);
    mp_str_clear(&whole);
}

/* Whatever the data is. */
static void is_a_line(const struct mp_str *s)
{
    HOLDS(s->len > 0 && s->len <= MP_SUMMARY_MAX, "%zu bytes", s->len);
    HOLDS(strlen(s->data) == s->len && mp_is_utf8(s->data), "not UTF-8: %s", s->data);
    for (size_t i = 0; i < s->len; i++)
        HOLDS((unsigned char)s->data[i] >= 0x20 && s->data[i] != 0x7f, "control at %zu",
              i);
}

static void summarise(const char *data, size_t len, size_t first, size_t others, bool cut)
{
    struct mp_summary *s = mp_summary_new();

    for (size_t at = 0; at < len;) {
        size_t n = at ? others : first;
        n = n < len - at ? n : len - at;
        char *copy = malloc(n); /* nothing may be read behind a piece */
        memcpy(copy, data + at, n);
        mp_summary_feed(s, copy, n);
        free(copy);
        at += n;
    }
    mp_summary_feed(s, NULL, 0);
    mp_summary_end(s, cut);
    mp_str_reset(&got);
    ck_assert(mp_summary_add(s, &got));
    is_json = mp_summary_is_json(s);
    chars = mp_summary_chars(s);
    mp_summary_free(s);
    is_a_line(&got);
}

/* Whole, in two pieces cut anywhere, byte by byte. */
static void summarise_all_ways(const char *data, size_t len, bool cut)
{
    summarise(data, len, len, len, cut);
    mp_str_reset(&whole);
    mp_str_adds(&whole, got.data);
    bool was_json = is_json;
    uint64_t had_chars = chars;
    for (size_t at = 0; at <= len; at++) {
        summarise(data, len, at ? at : 1, at ? len : 1, cut);
        HOLDS(strcmp(got.data, whole.data) == 0, "cut at %zu: %s instead of %s", at,
              got.data, whole.data);
        HOLDS(is_json == was_json && chars == had_chars, "cut at %zu", at);
    }
}

static void json_is(const char *json, const char *expected)
{
    summarise_all_ways(json, strlen(json), false);
    ck_assert_str_eq(got.data, expected);
    ck_assert(is_json);
}

static void text_is(const char *data, const char *expected)
{
    summarise_all_ways(data, strlen(data), false);
    ck_assert_str_eq(got.data, expected);
    ck_assert(!is_json);
}

static void cut_is(const char *data, const char *expected, bool json)
{
    summarise_all_ways(data, strlen(data), true);
    ck_assert_str_eq(got.data, expected);
    ck_assert_int_eq(is_json, json);
}

static void add_times(const char *what, size_t times)
{
    for (size_t i = 0; i < times; i++)
        mp_str_adds(&text, what);
}

/* ---- JSON ---- */

START_TEST(types_lengths_ranges_and_samples_are_shown)
{
    json_is("{\"s\":\"abc\",\"i\":-7,\"r\":2.50,\"t\":true,\"f\":false,\"n\":null,"
            "\"o\":{},\"a\":[]}",
            "{s: string (\"abc\"), i: integer -7, r: number 2.50, t: true, f: false, "
            "n: null, o: {}, a: []}");
    json_is("[1,-5,3]", "[3 × integer -5..3]");
    json_is("[1.5,2,-3e2]", "[3 × number -3e2..2]");
    json_is("[true,false]", "[2 × boolean]");
    json_is("[\"a\",\"b\",\"a\"]", "[3 × string (\"a\", \"b\")]");
    json_is("[\"a\",\"b\",\"three\"]", "[3 × string ≤ 5 (\"a\", \"b\", …)]");
    json_is("[[1,2],[],[3,4,5]]", "[3 × [0..3 × integer 1..5]]");
    json_is("[[1,2],[3,4]]", "[2 × [2 × integer 1..4]]");
    json_is("[1,\"a\",null,{\"b\":1},[2]]",
            "[5 × {b: integer 1} | [1 × integer 2] | string (\"a\") | integer 1 | null]");
    json_is("[9223372036854775807,-9223372036854775808]",
            "[2 × integer -9223372036854775808..9223372036854775807]");
    json_is("[9223372036854775808,1,1e999,-1E+999,0.00,-0.5e-400]",
            "[6 × number -1E+999..1e999]");
    json_is("[0.1234567890123456789012345]", "[1 × number 0.123456789012345678…]");
}
END_TEST

START_TEST(objects_in_an_array_are_merged_over_all)
{
    json_is("{\"items\":[{\"id\":1,\"name\":\"alpha\"},{\"name\":\"beta\",\"id\":2,"
            "\"url\":\"x\"},{\"id\":3,\"name\":null,\"tags\":[\"t\"]}],\"total\":3}",
            "{items: [3 × {id: integer 1..3, name: string (\"alpha\", \"beta\") | null, "
            "url?: string (\"x\"), tags?: [1 × string (\"t\")]}], total: integer 3}");
    /* the last of many */
    mp_str_adds(&text, "[");
    for (int i = 0; i < 100000; i++)
        mp_str_addf(&text, "{\"id\":%d},", i);
    mp_str_adds(&text, "{\"id\":\"x\",\"late\":[]}]");
    summarise(text.data, text.len, 65536, 65536, false);
    ck_assert_str_eq(got.data,
                     "[100001 × {id: string (\"x\") | integer 0..99999, late?: []}]");
}
END_TEST

START_TEST(a_key_that_is_twice_in_one_object_counts_once)
{
    json_is("[{\"a\":1,\"a\":2},{\"b\":3}]", "[2 × {a?: integer 1..2, b?: integer 3}]");
}
END_TEST

START_TEST(strings_are_measured_in_characters_and_shown_escaped)
{
    json_is("[\"\\u00e9\xc3\xa9\\ud83d\\ude00\\n\",\"\",\"0123456789\"]",
            "[3 × string ≤ 10 (\"éé😀\\n\", \"\", …)]");
    json_is("[\"123456789012345678901234\"]",
            "[1 × string (\"123456789012345678901234\")]");
    json_is("[\"1234567890123456789012345\"]",
            "[1 × string ≤ 25 (\"123456789012345678901234…\")]");
    json_is("[\"a\\u0000\\u001b[31m\\\"\\\\\xe2\x80\xae\x7f\\u2028\"]",
            "[1 × string (\"a\\x00\\x1b[31m\\\"\\\\\\u{202e}\\x7f\\u{2028}\")]");
    json_is("[\"\xff\\ud800\xc3\"]", "[1 × string (\"\\xff\xef\xbf\xbd\\xc3\")]");
}
END_TEST

START_TEST(keys_are_shown_as_names_or_in_quotes)
{
    json_is("{\"a-b_1\":1,\"odd key\":2,\"\":3,\"\\u0061\":4,\"1\":5,\"\\n\":6,"
            "\"\\u00e9\":7}",
            "{a-b_1: integer 1, \"odd key\": integer 2, \"\": integer 3, a: integer 4, "
            "\"1\": integer 5, \"\\n\": integer 6, \"é\": integer 7}");
    json_is("[{\"a\":1},{\"\\u0061\":2}]", "[2 × {a: integer 1..2}]");
    /* 48 bytes are kept, 40 characters are shown, all are compared */
    json_is("[{\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk1\":1},"
            "{\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk2\":2},"
            "{\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk1\":3}]",
            "[3 × {\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…\"?: integer 1..3, "
            "\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…\"?: integer 2}]");
    json_is("{\"12345678901234567890123456789012345é7\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
            "\xc3\xa9\xc3\xa9\":1}",
            "{\"12345678901234567890123456789012345é7\xc3\xa9\xc3\xa9\xc3\xa9…\": "
            "integer 1}");
}
END_TEST

START_TEST(nesting_is_shown_to_a_depth)
{
    json_is("[[[[[[[[1]]]]]]]]", "[1 × [1 × [1 × [1 × [1 × [1 × […]]]]]]]");
    json_is("{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":1}}}}}}}",
            "{a: {b: {c: {d: {e: {f: {…}}}}}}}");
    json_is("{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":1}}}}}}",
            "{a: {b: {c: {d: {e: {f: integer 1}}}}}}");
}
END_TEST

START_TEST(keys_beyond_the_limit_are_counted)
{
    struct mp_str expected;

    mp_str_init(&expected, 10000);
    for (int n = 24; n < 27; n++) {
        mp_str_reset(&text);
        mp_str_reset(&expected);
        for (int i = 0; i < n; i++) {
            mp_str_addf(&text, i % 2 ? "%s\"k%d\":%d" : "%s\"k%d\":\"%d\"", i ? "," : "{",
                        i, i);
            if (i < 24)
                mp_str_addf(&expected,
                            i % 2 ? "%sk%d: integer %d" : "%sk%d: string (\"%d\")",
                            i ? ", " : "{", i, i);
        }
        mp_str_addc(&text, '}');
        if (n > 24)
            mp_str_addf(&expected, ", … %d more key%s", n - 24, n > 25 ? "s" : "");
        mp_str_addc(&expected, '}');
        json_is(text.data, expected.data);
    }
    mp_str_clear(&expected);
}
END_TEST

/* ---- maps ---- */

static void add_map(int n, const char *value)
{
    mp_str_reset(&text);
    for (int i = 0; i < n; i++)
        mp_str_addf(&text, "%s\"key %d\":%s", i ? "," : "{", i, value);
    mp_str_addc(&text, '}');
    summarise(text.data, text.len, 1000, 999, false);
}

START_TEST(an_object_with_many_keys_of_one_type_is_a_map)
{
    add_map(5000, "[1,2]");
    ck_assert_str_eq(got.data, "{\"key 0\", …: [2 × integer 1..2] × 5000}");
    add_map(8, "{\"a\":1,\"b\":{\"c\":\"x\"}}");
    ck_assert_ptr_null(strstr(got.data, " × "));
    add_map(9, "{\"a\":1,\"b\":{\"c\":\"x\"}}");
    ck_assert_str_eq(got.data,
                     "{\"key 0\", …: {a: integer 1, b: {c: string (\"x\")}} × 9}");
    add_map(500, "7");
    ck_assert_str_eq(got.data, "{\"key 0\", …: integer 7 × 500}");
    add_map(30, "7"); /* so many may be names */
    ck_assert_ptr_nonnull(strstr(got.data, "\"key 23\": integer 7, … 6 more keys}"));
}
END_TEST

START_TEST(a_map_merges_what_its_members_have)
{
    mp_str_adds(&text, "{\"users\":{");
    for (int i = 0; i < 3000; i++)
        mp_str_addf(&text,
                    "%s\"user%d\":{\"age\":%d,\"name\":\"n%d\"%s,\"in\":{\"x\":%d}}",
                    i ? "," : "", i, i, i % 2, i % 7 ? "" : ",\"seven\":null", -i);
    mp_str_adds(&text, "},\"n\":1}");
    summarise(text.data, text.len, 100, 100, false);
    ck_assert_str_eq(got.data, "{users: {\"user0\", …: {age: integer 0..2999, name: "
                               "string (\"n0\", \"n1\"), seven?: null, in: {x: integer "
                               "-2999..0}} × 3000}, n: integer 1}");
}
END_TEST

START_TEST(objects_with_other_keys_each_are_maps)
{
    mp_str_adds(&text, "[");
    for (int i = 0; i < 1000; i++)
        mp_str_addf(&text, "%s{\"id-%d\":%d}", i ? "," : "", i, i);
    mp_str_adds(&text, "]");
    summarise(text.data, text.len, 100, 100, false);
    ck_assert_str_eq(got.data, "[1000 × {\"id-0\", …: integer 0..999 × 1}]");
}
END_TEST

START_TEST(records_with_many_fields_stay_records)
{
    mp_str_adds(&text, "[");
    for (int i = 0; i < 300; i++)
        for (int k = 0; k < 30; k++)
            mp_str_addf(&text, "%s\"f%d\":\"v\"%s",
                        k   ? ","
                        : i ? ",{"
                            : "{",
                        k, k == 29 ? "}" : "");
    mp_str_adds(&text, "]");
    summarise(text.data, text.len, 100, 100, false);
    ck_assert_ptr_nonnull(strstr(got.data, "[300 × {f0: string (\"v\"), f1: "));
    ck_assert_ptr_nonnull(strstr(got.data, "f23: string (\"v\"), … 6 more keys}]"));
}
END_TEST

/* ---- lines of JSON ---- */

START_TEST(lines_of_json_are_merged)
{
    text_is("{\"a\":1}\n{\"a\":2,\"b\":\"x\"}\n",
            "2 lines of JSON: {a: integer 1..2, b?: string (\"x\")}");
    text_is("[1]\n[2,3]\n[]", "3 lines of JSON: [0..2 × integer 1..3]");
    text_is("{\n\"a\":1\n}\n{}\n", "2 JSON values: {a?: integer 1}");
    json_is("{\"a\":1}\n", "{a: integer 1}");
    cut_is("{\"a\":1}\n{\"a\":2}\n{\"", "≥ 3 lines of JSON: {a: integer 1..2}", false);
}
END_TEST

/* ---- text ---- */

START_TEST(text_is_lines_and_how_it_begins)
{
    text_is("", "empty");
    text_is("hello", "text, 1 line, longest 5 characters, begins \"hello\"");
    text_is("a\n\nlong\xc3\xa9r\n",
            "text, 3 lines, longest 6 characters, begins \"a\\n\\nlongér\\n\"");
    text_is("12 monkeys\n",
            "text, 1 line, longest 10 characters, begins \"12 monkeys\\n\"");
    text_is("\"a string\"",
            "text, 1 line, longest 10 characters, begins \"\\\"a string\\\"\"");
    text_is(" \n", "text, 1 line, longest 1 character, begins \" \\n\"");
    text_is("\x1b[31m\xe2\x80\xae\xff",
            "text, 1 line, longest 7 characters, begins \"\\x1b[31m\\u{202e}\\xff\"");
    for (int i = 0; i < 120000; i++)
        mp_str_addf(&text, "line %d\n", i);
    summarise(text.data, text.len, 4096, 4096, false);
    ck_assert_str_eq(got.data, "text, 120,000 lines, longest 11 characters, begins "
                               "\"line 0\\nline 1\\nline 2\\nline 3\\nline 4\\nline 5\\n"
                               "line 6\\nline 7\\nline 8\\nline 9\\nline 10\\nli…\"");
    ck_assert_uint_eq(chars, text.len);
}
END_TEST

START_TEST(what_is_no_json_after_all_is_text)
{
    text_is("{\"a\":1,}",
            "text, 1 line, longest 8 characters, begins \"{\\\"a\\\":1,}\"");
    text_is("{\"a\":[1", "text, 1 line, longest 7 characters, begins \"{\\\"a\\\":[1\"");
    text_is("[INFO] x\n[INFO] y\n",
            "text, 2 lines, longest 8 characters, begins \"[INFO] x\\n[INFO] y\\n\"");
    text_is("[1] [2]", "text, 1 line, longest 7 characters, begins \"[1] [2]\"");
    add_times("[", 513);
    add_times("]", 513);
    summarise(text.data, text.len, text.len, 1, false);
    ck_assert(strncmp(got.data, "text, 1 line, longest 1,026 characters", 38) == 0);
    ck_assert(!is_json);
}
END_TEST

START_TEST(binary_data_is_named)
{
    summarise_all_ways("\x89PNG\0\0\n", 7, false);
    ck_assert_str_eq(got.data, "binary data, 7 bytes, begins \"\\x89PNG\\x00\\x00\\n\"");
}
END_TEST

START_TEST(a_table_is_its_columns)
{
    text_is("id,name,\"odd, one\"\n1,a,x\n2,b,\"y,z\"\n",
            "CSV, 3 lines, 3 columns: id, name, \"odd, one\"; then \"1,a,x\"");
    text_is("a\tb\r\n1\t2\r\n3\t4\r\n", "TSV, 3 lines, 2 columns: a, b; then \"1\\t2\"");
    text_is("a;b\n1;2\n3;4", "CSV, 3 lines, 2 columns: a, b; then \"1;2\"");
    text_is(
        "One, two\nthree, four, five\nsix, seven\n",
        "text, 3 lines, longest 17 characters, begins \"One, two\\nthree, four, five\\n"
        "six, seven\\n\"");
    mp_str_adds(&text, "c0");
    for (int i = 1; i < 100; i++)
        mp_str_addf(&text, ",c%d", i);
    mp_str_adds(&text, "\n");
    for (int row = 0; row < 50000; row++) {
        mp_str_addf(&text, "%d", row);
        add_times(",1", 99);
        mp_str_adds(&text, "\n");
    }
    summarise(text.data, text.len, 4096, 4096, false);
    ck_assert_ptr_nonnull(strstr(got.data, "CSV, 50,001 lines, 100 columns: c0, c1, "));
    ck_assert_ptr_nonnull(strstr(got.data, "c23, …; then \"0,1,1,1"));
}
END_TEST

/* ---- cut ---- */

START_TEST(what_was_cut_says_so)
{
    cut_is("{\"items\":[{\"id\":1,\"x\":2},{\"id\":2,",
           "{items: [≥ 2 × {id: integer 1..2, x: integer 2}], …}", true);
    cut_is("[{\"a\":1},{},{", "[≥ 3 × {a?: integer 1}]", true);
    cut_is("[", "[…]", true);
    cut_is("{", "{…}", true);
    cut_is("{\"a\":", "{a: …, …}", true);
    cut_is("{\"a\":\"abc", "{a: string (\"abc\"), …}", true);
    cut_is("{\"a\":1}", "{a: integer 1}", true);
    cut_is("{\"a\":1}}",
           "text, ≥ 1 line, longest 8 characters, begins \"{\\\"a\\\":1}}\"", false);
    cut_is("hello\nwor", "text, ≥ 2 lines, longest 5 characters, begins \"hello\\nwor\"",
           false);
    cut_is("", "empty", false);
}
END_TEST

/* ---- hostile ---- */

START_TEST(the_text_is_never_too_long)
{
    /* 24 keys of 24 members each, with names and samples that are escaped */
    mp_str_adds(&text, "{");
    for (int i = 0; i < 24; i++) {
        mp_str_addf(&text, "%s\"\\u202e\\u202e\\u202e\\u202e%d\":%s{", i ? "," : "", i,
                    i % 2 ? "[[" : "");
        for (int k = 0; k < 24; k++)
            mp_str_addf(&text, "%s\"\\u202e%d %d\":%s", k ? "," : "", i, k,
                        k % 2 ? "\"\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\""
                              : "[1e999,{}]");
        mp_str_adds(&text, i % 2 ? "}]]" : "}");
    }
    mp_str_adds(&text, "}");
    summarise(text.data, text.len, 1000, 1000, false);
    ck_assert_uint_gt(got.len, 100);
    ck_assert(is_json);

    mp_str_reset(&text);
    for (int i = 0; i < 100; i++)
        mp_str_addf(&text,
                    "%s\"%d\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001"
                    "\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001"
                    "\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001"
                    "\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001"
                    "\":%s",
                    i ? "," : "{", i, i % 3 ? "1" : "[null]");
    mp_str_adds(&text, "}");
    summarise(text.data, text.len, 1000, 1000, false);
    ck_assert(is_json);

    mp_str_reset(&text);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 60; k++)
            mp_str_adds(&text, k == 59 ? "\xe2\x80\xae\n" : "\xe2\x80\xae\xe2\x80\xae,");
    summarise(text.data, text.len, 1000, 1000, false);
}
END_TEST

START_TEST(millions_of_keys_and_huge_strings_are_summarised)
{
    mp_str_adds(&text, "{\"many\":{");
    for (int i = 0; i < 1000000; i++)
        mp_str_addf(&text, "%s\"%d\":%s", i ? "," : "", i, i % 2 ? "1" : "\"x\"");
    mp_str_adds(&text, "},\"");
    add_times("k", 1000000);
    mp_str_adds(&text, "\":\"");
    add_times("\\ud83d\\ude00\xff", 300000);
    mp_str_adds(&text, "\"}");
    summarise(text.data, text.len, 65536, 65536, false);
    ck_assert(is_json);
    ck_assert_ptr_nonnull(strstr(got.data, "\"23\": integer 1, … 999976 more keys}"));
    ck_assert_ptr_nonnull(strstr(got.data, "string ≤ 600000 (\""));
}
END_TEST

/* So that a document of small objects that are all different takes no longer. */
static void many_shapes(size_t n)
{
    struct mp_summary *s = mp_summary_new();
    struct mp_str json;

    mp_str_init(&json, 1 << 26);
    mp_str_adds(&json, "[");
    for (size_t i = 0; i < n; i++)
        mp_str_addf(&json,
                    "%s{\"a%zu\":{\"b%zu\":[{\"c%zu\":1},{\"d%zu\":{\"e\":\"x\"}}]},"
                    "\"f%zu\":[1]}",
                    i ? "," : "", i, i * 7, i * 3, i * 5, i);
    mp_summary_feed(s, json.data, json.len);
    mp_summary_end(s, true);
    mp_summary_free(s);
    mp_str_clear(&json);
}

START_TEST(time_grows_with_the_data_alone)
{
    ck_assert_double_lt(grows_by(many_shapes, 2000), 24);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("content_summary");
    TCase *tc = tcase_create("content_summary");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, types_lengths_ranges_and_samples_are_shown);
    tcase_add_test(tc, objects_in_an_array_are_merged_over_all);
    tcase_add_test(tc, a_key_that_is_twice_in_one_object_counts_once);
    tcase_add_test(tc, strings_are_measured_in_characters_and_shown_escaped);
    tcase_add_test(tc, keys_are_shown_as_names_or_in_quotes);
    tcase_add_test(tc, nesting_is_shown_to_a_depth);
    tcase_add_test(tc, keys_beyond_the_limit_are_counted);
    tcase_add_test(tc, an_object_with_many_keys_of_one_type_is_a_map);
    tcase_add_test(tc, a_map_merges_what_its_members_have);
    tcase_add_test(tc, objects_with_other_keys_each_are_maps);
    tcase_add_test(tc, records_with_many_fields_stay_records);
    tcase_add_test(tc, lines_of_json_are_merged);
    tcase_add_test(tc, text_is_lines_and_how_it_begins);
    tcase_add_test(tc, what_is_no_json_after_all_is_text);
    tcase_add_test(tc, binary_data_is_named);
    tcase_add_test(tc, a_table_is_its_columns);
    tcase_add_test(tc, what_was_cut_says_so);
    tcase_add_test(tc, the_text_is_never_too_long);
    if (!is_slow())
        tcase_add_test(tc, millions_of_keys_and_huge_strings_are_summarised);
    tcase_add_test(tc, time_grows_with_the_data_alone);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
