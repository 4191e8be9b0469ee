#include "config/jsontext.h"

#include "base/buf.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <time.h>

struct fault {
    const char *text;
    size_t line, column;
    const char *said;
};

static void is_refused(const struct fault *f)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_place at = {0, 0};

    ck_assert_msg(mp_json_check(mp_text(f->text), &at, &err) == MCPLUG_ECONFIG, "%s",
                  f->text);
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
    ck_assert_msg(strcmp(err.text, f->said) == 0, "%s: %s", f->text, err.text);
    ck_assert_msg(at.line == f->line && at.column == f->column, "%s: %zu, %zu", f->text,
                  at.line, at.column);
    ck_assert_int_eq(mp_json_check(mp_text(f->text), NULL, NULL), MCPLUG_ECONFIG);
}

static void are_refused(const struct fault *faults, size_t n)
{
    for (size_t i = 0; i < n; i++)
        is_refused(&faults[i]);
}

/* ---- places ---- */

START_TEST(places_count_lines_and_characters_from_one)
{
    mp_view text = mp_text("a\xc3\xa9z\r\n\nx\xf0\x9f\x98\x80y");
    static const struct {
        size_t offset, line, column;
    } cases[] = {{0, 1, 1}, {1, 1, 2}, {3, 1, 3},  {4, 1, 4},  {6, 2, 1},
                 {7, 3, 1}, {8, 3, 2}, {12, 3, 3}, {13, 3, 4}, {99, 3, 4}};

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        struct mp_place at = mp_place_of(text, cases[i].offset);
        ck_assert_uint_eq(at.line, cases[i].line);
        ck_assert_uint_eq(at.column, cases[i].column);
    }
    struct mp_place none = mp_place_of(mp_bytes(NULL, 0), 0);
    ck_assert(none.line == 1 && none.column == 1);
}
END_TEST

/* ---- check ---- */

START_TEST(json_passes_the_check)
{
    static const char *const texts[] = {"{}",
                                        " [ ] \n",
                                        "null",
                                        "\"a\\u0000\\/\"",
                                        "-1.5e+3",
                                        "{\"a\":{\"a\":[{\"a\":1}]}}",
                                        "[{\"a\":1},{\"a\":2}]",
                                        "{\"\":1,\" \":2}",
                                        "{\"jsonrpc\":{\"id\":1},\"id\":2}",
                                        "\t{\r\n\"a\" : \"//, }\" }",
                                        "{\"a\":1,\"A\":2,\"\\u0041b\":3}"};
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        struct mp_place at = {7, 7};
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        ck_assert_msg(mp_json_check(mp_text(texts[i]), &at, &err) == MCPLUG_OK, "%s: %s",
                      texts[i], err.text);
        ck_assert(at.line == 7 && at.column == 7);
    }
}
END_TEST

START_TEST(what_other_programs_accept_is_named)
{
    static const struct fault faults[] = {
        {"// x\n{}", 1, 1, "JSON has no comments; remove this one"},
        {"{\n  \"a\": 1 /* x */\n}", 2, 10, "JSON has no comments; remove this one"},
        {"{} # x", 1, 4, "JSON has no comments; remove this one"},
        {"{\"a\": /* 1}", 1, 7, "this comment is not closed"},
        {"{\"a\":1,\n}", 1, 7, "trailing comma before '}'"},
        {"[1, 2 , ]", 1, 7, "trailing comma before ']'"},
        {"{'a':1}", 1, 2, "single quotes; JSON allows only double quotes"},
        {"[\xe2\x80\x98x\xe2\x80\x99]", 1, 2,
         "single quotes; JSON allows only double quotes"},
        {"{\"a\":\xe2\x80\x9cx\xe2\x80\x9d}", 1, 6,
         "a typographic quote; JSON allows only the plain double quote"},
        {"\xef\xbb\xbf{}", 1, 1,
         "begins with a byte order mark; save it as UTF-8 without one"},
        {"\xff\xfe{", 1, 1, "is UTF-16; save it as UTF-8"},
        {"{ab-c:1}", 1, 2, "the key ab-c needs double quotes"},
        {"{\"a\":1, 2:3}", 1, 9, "the key 2 needs double quotes"},
        {"[True]", 1, 2, "True is not a JSON value; put text in double quotes"},
        {"[1, tru]", 1, 5, "tru is not a JSON value; put text in double quotes"},
        {"{\"a\":nulL}", 1, 6, "nulL is not a JSON value; put text in double quotes"},
        {"NaN", 1, 1, "NaN is not a JSON value; put text in double quotes"},
        {"[01]", 1, 2, "01 is not a JSON number"},
        {"[1,.5]", 1, 4, ".5 is not a JSON number"},
        {"[+1]", 1, 2, "+1 is not a JSON number"},
        {"[1.]", 1, 2, "1. is not a JSON number"},
        {"-", 1, 1, "- is not a JSON number"},
        {"0x1F", 1, 1, "0x1F is not a JSON number"},
    };
    are_refused(faults, MP_COUNT(faults));
}
END_TEST

START_TEST(what_is_missing_or_too_much_is_named)
{
    static const struct fault faults[] = {
        {"", 1, 1, "is empty"},
        {" \n ", 2, 2, "is empty"},
        {"{\"a\":1\n \"b\":2}", 2, 2, "a comma is missing before this member"},
        {"[1 true]", 1, 4, "a comma is missing before this value"},
        {"[{} {}]", 1, 5, "a comma is missing before this value"},
        {"{\"a\" 1}", 1, 6, "a ':' is missing after the key \"a\""},
        {"{\"a\",}", 1, 5, "a ':' is missing after the key \"a\""},
        {"{\"a\":}", 1, 6, "a value is missing before '}'"},
        {"{\"a\"}", 1, 5, "a value is missing before '}'"},
        {"{:1}", 1, 2, "a key in double quotes is missing before ':'"},
        {"{{}}", 1, 2, "a key in double quotes is missing before '{'"},
        {"[,1]", 1, 2, "a comma without a value before it"},
        {"[1,,2]", 1, 4, "a comma without a value before it"},
        {"{,}", 1, 2, "a comma without a member before it"},
        {"{\"a\":1;}", 1, 7, "unexpected character ;"},
        {"[1/2]", 1, 3, "unexpected character /"},
        {"[\xc3\xa9]", 1, 2, "unexpected character \xc3\xa9"},
        {"[\x01]", 1, 2, "unexpected control character 0x01"},
        {"[\"a\":1]", 1, 5,
         "unexpected ':'; it is allowed only between a key and its value in {}"},
        {"{\"a\":\"x, \"b\":1}", 1, 11,
         "text outside of quotes; is a quote missing before it?"},
        {"{} {}", 1, 4, "a second value; only one is allowed"},
        {"1 \"a\"", 1, 3, "a second value; only one is allowed"},
        {"{},", 1, 3, "unexpected text after the end"},
        {"{} x", 1, 4, "unexpected text after the end"},
        {"{}}", 1, 3, "unmatched '}'"},
        {"]", 1, 1, "unmatched ']'"},
    };
    are_refused(faults, MP_COUNT(faults));
}
END_TEST

START_TEST(an_unclosed_bracket_or_string_is_named_with_where_it_was_opened)
{
    static const struct fault faults[] = {
        {"{\n  \"a\": [1, 2", 2, 13, "ends before the '[' of line 2, column 8 is closed"},
        {"{\"a\":{\"b\":1}\n", 2, 1, "ends before the '{' of line 1, column 1 is closed"},
        {"[tru", 1, 5, "ends before the '[' of line 1, column 1 is closed"},
        {"{\n\"a\": [1}", 2, 8, "'}' does not close the '[' of line 2, column 6"},
        {"[{]", 1, 3, "']' does not close the '{' of line 1, column 2"},
        {"{\"\xc3\xa9\": \"x", 1, 9,
         "ends inside the string that begins in line 1, column 7"},
        {"[\"a\\\"]", 1, 7, "ends inside the string that begins in line 1, column 2"},
    };
    are_refused(faults, MP_COUNT(faults));
}
END_TEST

START_TEST(what_strings_may_not_hold_is_named)
{
    static const struct fault faults[] = {
        {"{\"a\": \"x\ny\"}", 1, 7,
         "this string is not closed on its line; write a line break as \\n"},
        {"{\"a\r\n:1}", 1, 2,
         "this string is not closed on its line; write a line break as \\n"},
        {"[\"\t\"]", 1, 3, "a tab in a string; write it as \\t"},
        {"[\"\x1b\"]", 1, 3, "a control character in a string; write it as \\u001b"},
        {"[\"C:\\dir\"]", 1, 5, "unknown escape; write a backslash as \\\\"},
        {"[\"\\\\\\x\"]", 1, 5, "unknown escape; write a backslash as \\\\"},
        {"[\"\\u12g4\"]", 1, 3, "four hexadecimal digits are missing after \\u"},
        {"[\"\\u\"]", 1, 3, "four hexadecimal digits are missing after \\u"},
        {"[\"a\xff\"]", 1, 4, "a byte that is not UTF-8"},
        {"[\"\xc3(\"]", 1, 4, "a byte that is not UTF-8"},
        {"[\xff]", 1, 2, "a byte that is not UTF-8"},
    };
    are_refused(faults, MP_COUNT(faults));
}
END_TEST

START_TEST(a_key_given_twice_is_refused_at_its_second_place)
{
    static const struct fault faults[] = {
        {"{\"env\":1,\n \"env\":2}", 2, 2, "\"env\" is given twice"},
        {"{\"id\":1,\"id\":2}", 1, 9, "\"id\" is given twice"},
        {"{\"a\":1,\"\\u0061\":2}", 1, 8, "\"a\" is given twice"},
        {"[1,{\"b\":{\"c\":1,\"d\":2,\"c\":3},\"b\":4}]", 1, 22, "\"c\" is given twice"},
        {"{\"z\":1,\"a\":2,\"z\":3,\"a\":4}", 1, 14, "\"z\" is given twice"},
        {"{\"\":1,\"\":2,\"\":3}", 1, 7, "\"\" is given twice"},
        {"{\"a\\n\":1,\"a\\u000a\":2}", 1, 10, "\"a \" is given twice"},
    };
    are_refused(faults, MP_COUNT(faults));
}
END_TEST

START_TEST(a_long_name_in_a_message_is_cut_between_characters)
{
    char name[400] = "x", text[1000];
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    for (int i = 0; i < 100; i++)
        strcat(name, "\xc3\xa9");
    snprintf(text, sizeof text, "{\"%s\":1,\"%s\":2}", name, name);
    ck_assert_int_eq(mp_json_check(mp_text(text), NULL, &err), MCPLUG_ECONFIG);
    ck_assert_ptr_nonnull(strstr(err.text, "\xc3\xa9\" is given twice"));
    ck_assert_uint_lt(strlen(err.text), 100);
}
END_TEST

START_TEST(a_limit_is_refused_one_over_it)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_place at;
    struct mp_str s;

    mp_str_init(&s, 1 << 22);
    for (int depth = 64; depth <= 65; depth++) {
        mp_str_reset(&s);
        for (int i = 0; i < depth; i++)
            mp_str_addc(&s, '[');
        for (int i = 0; i < depth; i++)
            mp_str_addc(&s, ']');
        ck_assert_int_eq(mp_json_check(mp_bytes(s.data, s.len), &at, &err),
                         depth == 64 ? MCPLUG_OK : MCPLUG_ETOOBIG);
    }
    ck_assert_str_eq(err.text, "nested more than 64 levels deep");
    ck_assert_uint_eq(at.column, 65);
    for (int n = 999999; n <= 1000000; n++) {
        mp_str_reset(&s);
        for (int i = 0; i < n; i++)
            mp_str_adds(&s, i ? ",1" : "[1");
        mp_str_addc(&s, ']');
        ck_assert_int_eq(mp_json_check(mp_bytes(s.data, s.len), &at, &err),
                         n == 999999 ? MCPLUG_OK : MCPLUG_ETOOBIG);
    }
    ck_assert_str_eq(err.text, "more than 1000000 keys and values");
    mp_str_clear(&s);
}
END_TEST

/* Processor time in seconds. */
static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

START_TEST(hostile_texts_of_a_megabyte_are_checked_quickly)
{
    static const struct {
        const char *head, *format, *tail;
        int n, code;
    } cases[] = {
        {"{", "\"%d\":1,", "\"x\":1}", 49998, MCPLUG_OK},
        {"{", "\"%d\":1,", "\"40000\":1}", 49998, MCPLUG_ECONFIG},
        {"{", "\"\\u0061aaaaaaa%d\":1,", "\"x\":1}", 49998, MCPLUG_OK},
        {"[", "{\"a\":%d},", "0]", 33000, MCPLUG_OK},
        {"[\"", "\\\\\\\"%d", "]", 80000, MCPLUG_ECONFIG},
        {"", "/*%d", "", 100000, MCPLUG_ECONFIG},
        {"[", "%d", "x]", 150000, MCPLUG_ECONFIG},
    };
    struct mp_str s;

    mp_str_init(&s, 1 << 21);
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        mp_str_reset(&s);
        mp_str_adds(&s, cases[i].head);
        for (int k = 0; k < cases[i].n; k++)
            mp_str_addf(&s, cases[i].format, k); /* one of the table above */
        mp_str_adds(&s, cases[i].tail);
        double start = now();
        int r = mp_json_check(mp_bytes(s.data, s.len), NULL, NULL);
        ck_assert_msg(r == cases[i].code, "%zu: %d", i, r);
        ck_assert_msg(now() - start < 5, "%zu took %g s", i, now() - start);
    }
    mp_str_clear(&s);
}
END_TEST

/* ---- other spellings ---- */

START_TEST(equal_entries_have_the_same_canonical_text)
{
    static const char *const cases[][2] = {
        {" { \"a\" : [ 1.0e+2 , -0 ] , \"b\":{ } }\n", "{\"a\":[1.0e+2,-0],\"b\":{}}"},
        {"\"\\u0041\\/\\u00e9\\ud83d\\ude00\"", "\"A/\xc3\xa9\xf0\x9f\x98\x80\""},
        {"\"\\n\\u000a\\\"\\\\\\b\\u0008\\u0000\"",
         "\"\\n\\n\\\"\\\\\\u0008\\u0008\\u0000\""},
        {"{\"\\u0062\":\"\",\"a\":\"\\u007f\"}", "{\"b\":\"\",\"a\":\"\x7f\"}"},
        {"[ true,false , null ]", "[true,false,null]"},
        {"\"\\ud800\"", "\"\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        struct mp_str s;
        mp_str_init(&s, 1000);
        mp_str_adds(&s, ">");
        ck_assert(mp_json_canonical(mp_text(cases[i][0]), &s));
        ck_assert_str_eq(s.data + 1, cases[i][1]);
        mp_str_clear(&s);
        ck_assert(mp_json_canonical(mp_text(cases[i][1]), &s));
        ck_assert_str_eq(s.data, cases[i][1]);
        mp_str_clear(&s);
    }
}
END_TEST

/* As of a file: `unit` per level, lines after the first begin with `depth` of them. */
static bool layout(mp_view value, size_t depth, const char *unit, const char *newline,
                   struct mp_str *out)
{
    struct mp_json_style style = {.comma = ", ", .colon = ": ", .pad = ""};
    struct mp_str indent;

    mp_str_init(&indent, depth * strlen(unit));
    for (size_t i = 0; i < depth && *unit; i++)
        mp_str_adds(&indent, unit);
    if (*unit) {
        style.newline = mp_text(newline);
        style.indent = mp_bytes(indent.data, indent.len);
        style.unit = mp_text(unit);
    }
    bool ok = mp_json_write(value, &style, out);
    mp_str_clear(&indent);
    return ok;
}

START_TEST(a_value_is_laid_out)
{
    static const char value[] = "{\"a\":[1,\"\\u0041\",{}],\"b\":{ },\"c\":[ ],"
                                "\"d\":[1,\n2],\"e\":{\"f\":[[true]]}}";
    static const struct {
        size_t depth;
        const char *unit, *newline, *expected;
    } cases[] = {
        {0, "  ", "\n",
         "{\n  \"a\": [\n    1,\n    \"\\u0041\",\n    {}\n  ],\n  \"b\": {},\n"
         "  \"c\": [],\n  \"d\": [1, 2],\n  \"e\": {\n    \"f\": [\n      [true]\n"
         "    ]\n  }\n}"},
        {1, "\t", "\r\n",
         "{\r\n\t\t\"a\": [\r\n\t\t\t1,\r\n\t\t\t\"\\u0041\",\r\n\t\t\t{}\r\n\t\t],\r\n"
         "\t\t\"b\": {},\r\n\t\t\"c\": [],\r\n\t\t\"d\": [1, 2],\r\n\t\t\"e\": {\r\n"
         "\t\t\t\"f\": [\r\n\t\t\t\t[true]\r\n\t\t\t]\r\n\t\t}\r\n\t}"},
        {3, "", "\n",
         "{\"a\": [1, \"\\u0041\", {}], \"b\": {}, \"c\": [], \"d\": [1, 2], "
         "\"e\": {\"f\": [[true]]}}"},
    };
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        struct mp_str s;
        mp_str_init(&s, 1000);
        ck_assert(
            layout(mp_text(value), cases[i].depth, cases[i].unit, cases[i].newline, &s));
        ck_assert_str_eq(s.data, cases[i].expected);
        mp_str_clear(&s);
    }
    struct mp_str lines;
    mp_str_init(&lines, 1000);
    ck_assert(mp_json_layout(mp_text(value), &lines));
    ck_assert_str_eq(lines.data, cases[0].expected);
    mp_str_clear(&lines);
}
END_TEST

START_TEST(scalars_are_laid_out_as_they_are)
{
    static const char *const values[] = {"1.0e+2", "\"\\/\"", "null", "{}", "[]"};
    for (size_t i = 0; i < MP_COUNT(values); i++) {
        struct mp_str s;
        mp_str_init(&s, 1000);
        ck_assert(layout(mp_text(values[i]), 2, "  ", "\n", &s));
        ck_assert_str_eq(s.data, values[i]);
        mp_str_clear(&s);
    }
}
END_TEST

START_TEST(a_style_of_ones_own_is_kept_to)
{
    struct mp_json_style style = {.comma = " ,", .colon = " : ", .pad = " "};
    mp_view value = mp_text("{\"a\":[1,2],\"b\":{\"c\":{}}}");
    struct mp_str s;

    mp_str_init(&s, 1000);
    ck_assert(mp_json_write(value, &style, &s));
    ck_assert_str_eq(s.data, "{ \"a\" : [1 ,2] ,\"b\" : { \"c\" : {} } }");
    mp_str_reset(&s);
    style.newline = mp_text("\n");
    style.indent = mp_text(">");
    style.unit = mp_text("-");
    ck_assert(mp_json_write(value, &style, &s));
    ck_assert_str_eq(s.data, "{\n>-\"a\" : [1 ,2],\n>-\"b\" : {\n>--\"c\" : {}\n>-}\n>}");
    mp_str_clear(&s);
}
END_TEST

START_TEST(what_does_not_fit_fails)
{
    struct mp_str s;

    mp_str_init(&s, 5);
    ck_assert(!mp_json_canonical(mp_text("[1,2,3]"), &s));
    mp_str_clear(&s);
    ck_assert(!mp_json_canonical(mp_text("\"\\u0000\""), &s));
    mp_str_clear(&s);
    ck_assert(!layout(mp_text("[1,2]"), 0, "", "\n", &s));
    mp_str_clear(&s);
    ck_assert(!layout(mp_text("[[]]"), 1000, "  ", "\n", &s));
    mp_str_clear(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_jsontext");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, places_count_lines_and_characters_from_one);
    tcase_add_test(t, json_passes_the_check);
    tcase_add_test(t, what_other_programs_accept_is_named);
    tcase_add_test(t, what_is_missing_or_too_much_is_named);
    tcase_add_test(t, an_unclosed_bracket_or_string_is_named_with_where_it_was_opened);
    tcase_add_test(t, what_strings_may_not_hold_is_named);
    tcase_add_test(t, a_key_given_twice_is_refused_at_its_second_place);
    tcase_add_test(t, a_long_name_in_a_message_is_cut_between_characters);
    tcase_add_test(t, a_limit_is_refused_one_over_it);
    tcase_add_test(t, hostile_texts_of_a_megabyte_are_checked_quickly);
    tcase_add_test(t, equal_entries_have_the_same_canonical_text);
    tcase_add_test(t, a_value_is_laid_out);
    tcase_add_test(t, scalars_are_laid_out_as_they_are);
    tcase_add_test(t, a_style_of_ones_own_is_kept_to);
    tcase_add_test(t, what_does_not_fit_fails);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
