#include "cli/import/toml.h"

#include "base/buf.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* `toml` says what `json` says. */
static void is(const char *toml, const char *json)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_place at;
    struct mp_str out;

    mp_str_init(&out, 1 << 24);
    int e = cli_toml_to_json(mp_text(toml), &out, &at, &err);
    ck_assert_msg(e == MCPLUG_OK, "%s\n%s", toml, err.text);
    ck_assert_str_eq(out.data, json);
    e = mp_json_check(mp_bytes(out.data, out.len), &at, &err);
    ck_assert_msg(e == MCPLUG_OK, "%s\n%s", out.data, err.text);
    mp_str_clear(&out);
}

static int fails_with(mp_view toml, size_t line, size_t column, const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_place at = {0, 0};
    struct mp_str out;

    mp_str_init(&out, 1 << 24);
    int e = cli_toml_to_json(toml, &out, &at, &err);
    ck_assert_msg(e != MCPLUG_OK, "%.80s", (const char *)toml.data);
    ck_assert_int_eq(err.code, e);
    ck_assert_uint_eq(out.len, 0);
    ck_assert_msg(strstr(err.text, text), "%s\nhas not: %s", err.text, text);
    ck_assert_msg(at.line == line && at.column == column, "%.80s\n%s: %zu:%zu",
                  (const char *)toml.data, err.text, at.line, at.column);
    mp_str_clear(&out);
    return e;
}

static void fails(const char *toml, size_t line, size_t column, const char *text)
{
    ck_assert_int_eq(fails_with(mp_text(toml), line, column, text), MCPLUG_ECONFIG);
}

/* ---- documents ---- */

START_TEST(an_empty_text_is_an_empty_table)
{
    is("", "{}");
    is(" \t\n\r\n", "{}");
    is("# nothing but this", "{}");
    is("\xef\xbb\xbf# a byte order mark before it\na = 1", "{\"a\":1}");
}
END_TEST

START_TEST(comments_end_with_their_line)
{
    is("# first\na = 1 # second\n  # third\n[t] # fourth\nb = \"# none\"#fifth",
       "{\"a\":1,\"t\":{\"b\":\"# none\"}}");
    fails("a = 1 # \x01\n", 1, 9, "0x01");
    fails("a = 1 # \x7f\n", 1, 9, "0x7f");
}
END_TEST

START_TEST(lines_may_end_as_on_windows)
{
    is("a = 1\r\n\r\n# x\r\n[t]\r\nb = [\r\n 1,\r\n 2\r\n]\r\n",
       "{\"a\":1,\"t\":{\"b\":[1,2]}}");
    is("a = \"\"\"\r\none\r\ntwo\"\"\"", "{\"a\":\"one\\ntwo\"}");
    fails("a = 1\rb = 2", 1, 6, "the line ends");
    fails("a = \"x\ry\"", 1, 7, "the line ends");
}
END_TEST

START_TEST(bytes_that_are_not_utf8_are_refused)
{
    fails("a = \"\xff\"", 1, 6, "UTF-8");
    fails("# \xc3(", 1, 3, "UTF-8");
    fails("a = 1\nb = \"\xed\xa0\x80\"", 2, 6, "UTF-8");
}
END_TEST

/* ---- keys ---- */

START_TEST(keys_are_bare_or_quoted)
{
    is("bare_key-1 = 1\n1234 = 2\n\"a b\" = 3\n'c \"d\"' = 4\n\"\\u00e9\" = 5\n\"\" = 6",
       "{\"bare_key-1\":1,\"1234\":2,\"a b\":3,\"c \\\"d\\\"\":4,\"\xc3\xa9\":5,\"\":6}");
    fails("= 1", 1, 1, "a key");
    fails("a b = 1", 1, 3, "'b' where =");
    fails("\xc3\xa9 = 1", 1, 1, "'\xc3\xa9' where a key");
    fails("\"\"\"a\"\"\" = 1", 1, 1, "several lines");
    fails("a = 1\n'b = 1\n", 2, 1, "not closed");
    fails("a\n= 1", 1, 2, "the line ends where =");
}
END_TEST

START_TEST(dotted_keys_make_tables)
{
    is("a.b.c = 1\na . \"b\" . d = 2\na.'e f' = 3\n3.14 = 4",
       "{\"a\":{\"b\":{\"c\":1,\"d\":2},\"e f\":3},\"3\":{\"14\":4}}");
    is("apple.kind = 1\norange.kind = 2\napple.skin = 3",
       "{\"apple\":{\"kind\":1,\"skin\":3},\"orange\":{\"kind\":2}}");
    fails("a.b = 1\na.b.c = 2", 2, 3, "\"b\" is given already");
    fails("a. = 1", 1, 4, "a key");
    fails("a..b = 1", 1, 3, "a key");
}
END_TEST

START_TEST(a_key_given_twice_is_refused)
{
    fails("a = 1\na = 2", 2, 1, "\"a\" is given twice");
    fails("a = 1\n\"a\" = 2", 2, 1, "\"a\" is given twice");
    fails("[t]\nx = 1\ny = 2\n  x = 3", 4, 3, "\"x\" is given twice");
    fails("a.b = 1\na.b = 2", 2, 3, "\"b\" is given twice");
    fails("a = {b = 1, b = 2}", 1, 13, "\"b\" is given twice");
    is("a = 1\nA = 2", "{\"a\":1,\"A\":2}");
}
END_TEST

/* ---- tables ---- */

START_TEST(tables_come_in_any_order)
{
    is("[x.y.z.w]\n[x]\na = 1\n[ x . q ]\n", "{\"x\":{\"y\":{\"z\":{\"w\":{}}},\"a\":1,"
                                             "\"q\":{}}}");
    is("[mcp_servers.\"my.server\"]\ncommand = \"x\"\n[mcp_servers.\"my.server\".env]\n"
       "A = \"1\"",
       "{\"mcp_servers\":{\"my.server\":{\"command\":\"x\",\"env\":{\"A\":\"1\"}}}}");
    is("[a.b]\nx = 1\n[a]\ny = 2\n[a.c]\nz = 3",
       "{\"a\":{\"b\":{\"x\":1},\"y\":2,\"c\":{\"z\":3}}}");
}
END_TEST

START_TEST(a_table_given_twice_is_refused)
{
    fails("[a]\nb = 1\n[a]\nc = 2", 3, 2, "the table \"a\" is given twice");
    fails("[a]\n[x]\n[a]\n", 3, 2, "given twice");
    fails("[a.b]\n[a.b]", 2, 4, "the table \"b\" is given twice");
    fails("[a]\nb = 1\n[a.b]\nc = 2", 3, 4, "\"b\" is given twice");
    fails("[a]\nb = 1\n[a.b.c]", 3, 4, "is not a table");
    fails("[a]\nb.c = 1\n[a.b]\n", 3, 4, "the table \"b\" is given twice");
    fails("a = {b = 1}\n[a.c]", 2, 2, "is not a table");
    fails("a = {}\n[a]", 2, 2, "given twice");
}
END_TEST

START_TEST(dotted_keys_do_not_reach_into_tables_of_headers)
{
    fails("[a.b.c]\nz = 9\n[a]\nb.c.t = 1", 4, 1, "\"b\" is given already");
    fails("[a.b]\n[a]\nb.t = 1", 3, 1, "\"b\" is given already");
    fails("a = {b = 1}\na.c = 2", 2, 1, "\"a\" is given already");
    is("[fruit]\napple.color = 1\n[fruit.apple.taste]\nsweet = true",
       "{\"fruit\":{\"apple\":{\"color\":1,\"taste\":{\"sweet\":true}}}}");
}
END_TEST

START_TEST(headers_are_closed_and_alone_in_their_line)
{
    fails("[a", 1, 3, "the file ends where ]");
    fails("[a]]", 1, 4, "the end of the line");
    fails("[a] b = 1", 1, 5, "the end of the line");
    fails("[]", 1, 2, "a key");
    fails("[a.]", 1, 4, "a key");
    fails("[[a]\n", 1, 5, "]]");
    fails("[[a] ]", 1, 5, "]]");
    fails("[ [a]]", 1, 3, "a key");
    fails("a = 1 b = 2", 1, 7, "the end of the line");
}
END_TEST

START_TEST(arrays_of_tables_grow)
{
    is("[[p]]\nn = 1\n[[p]]\n[[p]]\nn = 3\n", "{\"p\":[{\"n\":1},{},{\"n\":3}]}");
    is("[[f]]\nn = 1\n[f.x]\nc = 2\n[[f.v]]\nk = 3\n[[f.v]]\nk = 4\n[[f]]\nn = 5\n"
       "[[f.v]]\nk = 6",
       "{\"f\":[{\"n\":1,\"x\":{\"c\":2},\"v\":[{\"k\":3},{\"k\":4}]},"
       "{\"n\":5,\"v\":[{\"k\":6}]}]}");
    fails("[f.x]\n[[f]]", 2, 3, "not as [[..]]");
    fails("f = []\n[[f]]", 2, 3, "not as [[..]]");
    fails("[[f]]\n[f]", 2, 2, "given twice");
    fails("f = [{}]\n[f.x]", 2, 2, "is not a table");
    fails("[[f]]\n[[f.v]]\n[f.v]", 3, 4, "given twice");
}
END_TEST

START_TEST(inline_tables_are_complete)
{
    is("a = {}\nb = { x = 1, y.z = 2, y.w = [ 3, { q = 4 } ] }",
       "{\"a\":{},\"b\":{\"x\":1,\"y\":{\"z\":2,\"w\":[3,{\"q\":4}]}}}");
    is("h = { \"X-Key\" = \"V\", 'Y' = '' }", "{\"h\":{\"X-Key\":\"V\",\"Y\":\"\"}}");
    fails("a = {x = 1,}", 1, 12, "a key");
    fails("a = {x = 1\n}", 1, 11, "the line ends where , or }");
    fails("a = {x = 1 y = 2}", 1, 12, ", or }");
    fails("a = {x = 1", 1, 11, "the file ends");
    fails("a = {,}", 1, 6, "a key");
    fails("a = {b = {c = 1}, b.d = 2}", 1, 19, "given already");
}
END_TEST

/* ---- values ---- */

START_TEST(arrays_may_have_several_lines)
{
    is("a = [ 1, 'x', [2.0, true], {}, ]", "{\"a\":[1,\"x\",[2.0,true],{}]}");
    is("a = [ # first\n  1, # one\n\n  2 # two\n  , 3\n]\nb = []",
       "{\"a\":[1,2,3],\"b\":[]}");
    fails("a = [1 2]", 1, 8, ", or ]");
    fails("a = [,]", 1, 6, "a value");
    fails("a = [1,,2]", 1, 8, "a value");
    fails("a = [1,\n2", 2, 2, "the file ends");
}
END_TEST

START_TEST(basic_strings_have_escapes)
{
    is("a = \"\\b\\t\\n\\f\\r\\\"\\\\ \\u00E9 \\U0001F600 / \t'\"",
       "{\"a\":\"\\u0008\\t\\n\\u000c\\r\\\"\\\\ \xc3\xa9 \xf0\x9f\x98\x80 / \\t'\"}");
    is("a = \"\\u0000\"", "{\"a\":\"\\u0000\"}");
    fails("a = \"\\x41\"", 1, 6, "escape");
    fails("a = \"\\e\"", 1, 6, "escape");
    fails("a = \"\\", 1, 6, "escape");
    fails("a = \"\\u12\"", 1, 6, "4 hexadecimal digits");
    fails("a = \"\\U0001F60\"", 1, 6, "8 hexadecimal digits");
    fails("a = \"\\ud800\"", 1, 6, "U+D800");
    fails("a = \"\\U00110000\"", 1, 6, "U+110000");
    fails("a = \"x\nb = 1", 1, 5, "not closed");
    fails("a = \"x\x1f\"", 1, 7, "0x1f");
}
END_TEST

START_TEST(literal_strings_have_none)
{
    is("a = 'C:\\Users\\n \"x\" \\u00e9'",
       "{\"a\":\"C:\\\\Users\\\\n \\\"x\\\" \\\\u00e9\"}");
    is("a = '''\nI [dw]on't need \\d{2}\nx'''",
       "{\"a\":\"I [dw]on't need \\\\d{2}\\nx\"}");
    fails("a = 'it's'", 1, 9, "the end of the line");
    fails("a = 'x", 1, 5, "not closed");
}
END_TEST

START_TEST(strings_of_several_lines_trim_what_a_backslash_ends)
{
    is("a = \"\"\"\nRoses\n  Violets\"\"\"", "{\"a\":\"Roses\\n  Violets\"}");
    is("a = \"\"\"\\\n    The quick \\  \n\n\n   fox \\\n  \"\"\"",
       "{\"a\":\"The quick fox \"}");
    is("a = \"\"\"x \\\r\n\t y\"\"\"", "{\"a\":\"x y\"}");
    is("a = \"\"\"one\\ttwo \\\\\n\"\"\"", "{\"a\":\"one\\ttwo \\\\\\n\"}");
    fails("a = \"\"\"x \\ y\"\"\"", 1, 10, "escape");
    fails("a = \"\"\"x\ny", 1, 5, "never closed");
    fails("a = '''x\ny''", 1, 5, "never closed");
    fails("a = \"\"\"x\ry\"\"\"", 1, 9, "the line ends");
}
END_TEST

START_TEST(quotes_may_stand_before_the_closing_ones)
{
    is("a = \"\"\"\"\"\"", "{\"a\":\"\"}");
    is("a = \"\"\"x\"y\"\"z\"\"\"", "{\"a\":\"x\\\"y\\\"\\\"z\"}");
    is("a = \"\"\"\"one quote\"\"\"\"", "{\"a\":\"\\\"one quote\\\"\"}");
    is("a = \"\"\"\"\"two\"\"\"\"\"", "{\"a\":\"\\\"\\\"two\\\"\\\"\"}");
    is("a = '''''two'''''", "{\"a\":\"''two''\"}");
    is("a = \"\"\"x\\\"\"\"\"", "{\"a\":\"x\\\"\"}");
    fails("a = \"\"\"x\"\"\"\"\"\"", 1, 14, "the end of the line");
}
END_TEST

START_TEST(integers_have_signs_and_underscores)
{
    is("a = +99\nb = 42\nc = 0\nd = -17\ne = 1_000\nf = 5_3_4\ng = -0\nh = +0",
       "{\"a\":99,\"b\":42,\"c\":0,\"d\":-17,\"e\":1000,\"f\":534,\"g\":-0,\"h\":0}");
    is("a = 9223372036854775807\nb = -9223372036854775808",
       "{\"a\":9223372036854775807,\"b\":-9223372036854775808}");
    fails("a = 9223372036854775808", 1, 5, "not a valid number");
    fails("a = -9223372036854775809", 1, 5, "not a valid number");
    static const char *const wrong[] = {"01",  "-01", "1__0", "_1", "1_",
                                        "+-1", "+",   "1a",   "--1"};
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        char text[32];
        snprintf(text, sizeof text, "a = %s", wrong[i]);
        fails(text, 1, 5, "is no");
    }
}
END_TEST

START_TEST(integers_have_other_bases)
{
    is("a = 0xDEADBEEF\nb = 0xdead_beef\nc = 0o755\nd = 0b1101_0110\ne = 0x0",
       "{\"a\":3735928559,\"b\":3735928559,\"c\":493,\"d\":214,\"e\":0}");
    is("a = 0x7fffffffffffffff\nb = 0o777777777777777777777\n"
       "c = 0b111111111111111111111111111111111111111111111111111111111111111",
       "{\"a\":9223372036854775807,\"b\":9223372036854775807,\"c\":9223372036854775807}");
    static const char *const wrong[] = {
        "0x8000000000000000", "0x", "+0x1", "0xg", "0o8", "0b2", "0x_1", "0x1_", "0X1"};
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        char text[48];
        snprintf(text, sizeof text, "a = %s", wrong[i]);
        fails(text, 1, 5, "not a valid number");
    }
}
END_TEST

START_TEST(floats_become_numbers)
{
    is("a = +1.0\nb = 3.1415\nc = -0.01\nd = 5e+22\ne = 1e06\nf = -2E-2\ng = 6.626e-34\n"
       "h = 224_617.445_991_228\ni = 0.0\nj = 1e1_0",
       "{\"a\":1.0,\"b\":3.1415,\"c\":-0.01,\"d\":5e+22,\"e\":1e06,\"f\":-2E-2,"
       "\"g\":6.626e-34,\"h\":224617.445991228,\"i\":0.0,\"j\":1e10}");
    static const char *const wrong[] = {".7",   "7.",   "3.e+20", "1._5",  "1_.5", "1e",
                                        "01.5", "1e_5", "1.e1",   "1.2.3", "1e5.2"};
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        char text[32];
        snprintf(text, sizeof text, "a = %s", wrong[i]);
        fails(text, 1, 5, "not a valid number");
    }
}
END_TEST

START_TEST(inf_and_nan_become_strings)
{
    is("a = inf\nb = +inf\nc = -inf\nd = nan\ne = +nan\nf = -nan",
       "{\"a\":\"inf\",\"b\":\"inf\",\"c\":\"-inf\",\"d\":\"nan\",\"e\":\"nan\","
       "\"f\":\"nan\"}");
    fails("a = Inf", 1, 5, "quotes");
}
END_TEST

START_TEST(booleans_are_small_words)
{
    is("a = true\nb = false", "{\"a\":true,\"b\":false}");
    fails("a = True", 1, 5, "text needs quotes");
    fails("a = yes", 1, 5, "text needs quotes");
    fails("a = null", 1, 5, "text needs quotes");
    fails("a =", 1, 4, "the file ends where a value");
    fails("a = \nb = 1", 1, 5, "the line ends where a value");
}
END_TEST

START_TEST(dates_become_strings)
{
    is("a = 1979-05-27T07:32:00Z\nb = 1979-05-27 07:32:00.999999-07:00\n"
       "c = 1979-05-27t07:32:00\nd = 1979-05-27\ne = 07:32:00\nf = 00:32:00.5\n"
       "g = 2000-02-29 # leap\nh = [1979-05-27 , 1979-05-28]\ni = 23:59:60",
       "{\"a\":\"1979-05-27T07:32:00Z\",\"b\":\"1979-05-27 07:32:00.999999-07:00\","
       "\"c\":\"1979-05-27t07:32:00\",\"d\":\"1979-05-27\",\"e\":\"07:32:00\","
       "\"f\":\"00:32:00.5\",\"g\":\"2000-02-29\",\"h\":[\"1979-05-27\",\"1979-05-28\"],"
       "\"i\":\"23:59:60\"}");
    static const char *const wrong[] = {"1979-13-01",
                                        "1979-00-01",
                                        "1979-02-30",
                                        "1900-02-29",
                                        "1979-05-27T25:00:00",
                                        "1979-05-27T07:60:00",
                                        "07:32",
                                        "1979-05-27T07:32",
                                        "1979-05-27T",
                                        "1979-5-27",
                                        "07:32:00.",
                                        "24:00:00",
                                        "1979-05-27T07:32:00+24:00",
                                        "1979-05-27T07:32:00+0100",
                                        "1979-05-27Z"};
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        char text[64];
        snprintf(text, sizeof text, "a = %s", wrong[i]);
        fails(text, 1, 5, "not a date");
    }
}
END_TEST

START_TEST(columns_count_characters)
{
    fails("a = 1\n\"\xc3\xa9\xc3\xa9\" = x", 2, 8, "text needs quotes");
}
END_TEST

/* ---- limits ---- */

static void add_times(struct mp_str *s, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        mp_str_adds(s, text);
}

static void is_too_big(struct mp_str *s, size_t line, size_t column)
{
    ck_assert(!s->failed);
    ck_assert_int_eq(fails_with(mp_bytes(s->data, s->len), line, column, ""),
                     MCPLUG_ETOOBIG);
}

START_TEST(nesting_has_a_limit)
{
    struct mp_str s;
    mp_str_init(&s, 1 << 20);
    mp_str_adds(&s, "a = ");
    add_times(&s, 31, "[");
    add_times(&s, 31, "]");
    char *json = NULL;
    ck_assert_int_gt(asprintf(&json, "{\"a\":%s}", s.data + 4), 0);
    is(s.data, json);
    free(json);

    mp_str_reset(&s);
    mp_str_adds(&s, "a = ");
    add_times(&s, 32, "[");
    is_too_big(&s, 1, 36);
    mp_str_reset(&s);
    add_times(&s, 40, "a.");
    mp_str_adds(&s, "a = 1");
    is_too_big(&s, 1, 65);
    mp_str_reset(&s);
    mp_str_adds(&s, "[");
    add_times(&s, 40, "a.");
    mp_str_adds(&s, "a]");
    is_too_big(&s, 1, 66);
    mp_str_reset(&s);
    mp_str_adds(&s, "a = ");
    add_times(&s, 40, "{a=");
    is_too_big(&s, 1, 98);
    mp_str_clear(&s);
}
END_TEST

START_TEST(values_have_a_limit)
{
    struct mp_str s;
    mp_str_init(&s, 1 << 20);
    mp_str_adds(&s, "a=[");
    add_times(&s, 99998, "1,"); /* the document and the array count too */
    mp_str_adds(&s, "]");
    struct mp_str out;
    mp_str_init(&out, 1 << 20);
    ck_assert_int_eq(cli_toml_to_json(mp_bytes(s.data, s.len), &out, NULL, NULL),
                     MCPLUG_OK);
    mp_str_clear(&out);
    s.len--;
    mp_str_adds(&s, "1]");
    is_too_big(&s, 1, 199999 + 1);
    mp_str_clear(&s);
}
END_TEST

START_TEST(a_text_has_a_limit)
{
    struct mp_str s;
    mp_str_init(&s, 2 << 20);
    mp_str_adds(&s, "a = 1\n#");
    add_times(&s, (1 << 20) - s.len, "x");
    is(s.data, "{\"a\":1}");
    mp_str_adds(&s, "x");
    is_too_big(&s, 1, 1);
    mp_str_clear(&s);
}
END_TEST

START_TEST(many_keys_are_found_fast)
{
    struct mp_str s, out;
    mp_str_init(&s, 1 << 20);
    mp_str_init(&out, 4 << 20);
    for (unsigned i = 0; i < 90000; i++)
        mp_str_addf(&s, "%x=1\n", i);
    ck_assert_int_eq(cli_toml_to_json(mp_bytes(s.data, s.len), &out, NULL, NULL),
                     MCPLUG_OK);
    mp_str_adds(&s, "7=2");
    ck_assert_int_eq(fails_with(mp_bytes(s.data, s.len), 90001, 1, "given twice"),
                     MCPLUG_ECONFIG);
    mp_str_clear(&s);
    mp_str_clear(&out);
}
END_TEST

START_TEST(what_has_no_room_fails)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str out;
    mp_str_init(&out, 10);
    ck_assert_int_eq(cli_toml_to_json(mp_text("a = \"0123456789\""), &out, NULL, &err),
                     MCPLUG_ENOMEM);
    mp_str_clear(&out);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_toml");
    TCase *documents = tcase_create("documents"), *keys = tcase_create("keys");
    TCase *tables = tcase_create("tables"), *values = tcase_create("values");
    TCase *limits = tcase_create("limits");

    tcase_add_test(documents, an_empty_text_is_an_empty_table);
    tcase_add_test(documents, comments_end_with_their_line);
    tcase_add_test(documents, lines_may_end_as_on_windows);
    tcase_add_test(documents, bytes_that_are_not_utf8_are_refused);
    tcase_add_test(keys, keys_are_bare_or_quoted);
    tcase_add_test(keys, dotted_keys_make_tables);
    tcase_add_test(keys, a_key_given_twice_is_refused);
    tcase_add_test(tables, tables_come_in_any_order);
    tcase_add_test(tables, a_table_given_twice_is_refused);
    tcase_add_test(tables, dotted_keys_do_not_reach_into_tables_of_headers);
    tcase_add_test(tables, headers_are_closed_and_alone_in_their_line);
    tcase_add_test(tables, arrays_of_tables_grow);
    tcase_add_test(tables, inline_tables_are_complete);
    tcase_add_test(values, arrays_may_have_several_lines);
    tcase_add_test(values, basic_strings_have_escapes);
    tcase_add_test(values, literal_strings_have_none);
    tcase_add_test(values, strings_of_several_lines_trim_what_a_backslash_ends);
    tcase_add_test(values, quotes_may_stand_before_the_closing_ones);
    tcase_add_test(values, integers_have_signs_and_underscores);
    tcase_add_test(values, integers_have_other_bases);
    tcase_add_test(values, floats_become_numbers);
    tcase_add_test(values, inf_and_nan_become_strings);
    tcase_add_test(values, booleans_are_small_words);
    tcase_add_test(values, dates_become_strings);
    tcase_add_test(values, columns_count_characters);
    tcase_set_timeout(limits, 120); /* valgrind is slow */
    tcase_add_test(limits, nesting_has_a_limit);
    tcase_add_test(limits, values_have_a_limit);
    tcase_add_test(limits, a_text_has_a_limit);
    tcase_add_test(limits, many_keys_are_found_fast);
    tcase_add_test(limits, what_has_no_room_fails);
    suite_add_tcase(s, documents);
    suite_add_tcase(s, keys);
    suite_add_tcase(s, tables);
    suite_add_tcase(s, values);
    suite_add_tcase(s, limits);
    return s;
}

int main(void)
{
    return run_to_end(suite());
}
