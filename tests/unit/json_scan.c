#include "json/scan.h"
#include "quick.h"

#include "base/mem.h"
#include "base/text.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of an envelope only as much is set as was found. */
static size_t noted_size(const struct mp_envelope *env)
{
    return offsetof(struct mp_envelope, inner) + env->n_inner * sizeof env->inner[0];
}

static const struct mp_scan_limits wide = {64, 1000000};

/* A string literal that may hold NUL bytes. */
struct text {
    const char *data;
    size_t len;
};
#define T(literal)                                                                       \
    {                                                                                    \
        literal, sizeof(literal) - 1                                                     \
    }

static const struct text valid[] = {
    T("{}"),
    T("[]"),
    T("null"),
    T("true"),
    T("false"),
    T("0"),
    T("-0"),
    T("42"),
    T("\"\""),
    T(" \t\r\n[ ] \n"),
    T("[[]]"),
    T("[[],[[]]]"),
    T("{\"\":0}"),
    T("[1,2 , 3]"),
    T("{\"a\":{\"b\":[{}]}}"),
    T("{\"a\":1,\"a\":2}"),
    T("[-1.5e+10,0.1,1E5,1e-2,0e1,-0.0,123456789012345678901234567890]"),
    T("[1e400]"),
    T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uABcd\""),
    T("\"\\ud83d\\ude00\""),
    T("[\"\\ud800\",\"\\udfff\\ud800\"]"),
    T("\"\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf\""),
    T("\"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf \xf0\x9f\x98\x80\""),
    T("{\"\xc3\xa9\":\"\xe2\x82\xac\"}"),
    T("[[\"deep\",[\"er\"]],{\"x\":[true,null]}]"),
    T("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[],\"isError\":false}}"),
    T("{\"method\":\"notifications/x\",\"params\":{\"a\":[1,{\"b\":\"c\"}],\"d\":-1e3}}"),
    T("{\"id\":\"seven\",\"error\":{\"code\":-32601,\"message\":\"no\\u0020such\"}}"),
};

static const struct text invalid[] = {
    T(""),
    T(" "),
    T("["),
    T("{"),
    T("]"),
    T("}"),
    T("[}"),
    T("{]"),
    T("[1}"),
    T("[,]"),
    T("[1,]"),
    T("[,1]"),
    T("[1,,2]"),
    T("[1 2]"),
    T("[1:2]"),
    T("{,}"),
    T("{\"a\"}"),
    T("{\"a\":}"),
    T("{\"a\":1,}"),
    T("{\"a\" 1}"),
    T("{\"a\",1}"),
    T("{a:1}"),
    T("{1:1}"),
    T("{'a':1}"),
    T("{\"a\":1 \"b\":2}"),
    T("{\"a\":1}}"),
    T("[]]"),
    T("[] []"),
    T("1 2"),
    T("\"a\"b"),
    T("nul"),
    T("nulL"),
    T("NULL"),
    T("True"),
    T("tru"),
    T("truee"),
    T("nan"),
    T("NaN"),
    T("Infinity"),
    T("-Infinity"),
    T("+1"),
    T("01"),
    T("-01"),
    T("-"),
    T("--1"),
    T(".5"),
    T("-.5"),
    T("5."),
    T("5.e1"),
    T("1e"),
    T("1e+"),
    T("1eE2"),
    T("1.2.3"),
    T("0x10"),
    T("1_000"),
    T("1a"),
    T("[1.]"),
    T("[-]"),
    T("[1e]"),
    T("\"abc"),
    T("\"a\\\""),
    T("'a'"),
    T("\"\\x41\""),
    T("\"\\U0041\""),
    T("\"\\u12\""),
    T("\"\\u12G4\""),
    T("\"\\u\""),
    T("\"\\\n\""),
    T("\"\n\""),
    T("\"\t\""),
    T("\"\x1f\""),
    T("\"\x00\""),
    T("[1\x00]"),
    T("\x00"),
    T("1\x00"),
    T("\xef\xbb\xbf{}"),
    T("\f1"),
    T("\v1"),
    T("\xc2\xa0[]"),
    T("// a\n1"),
    T("/* a */ 1"),
    T("[1,2"),
    T("{\"a\":"),
    T("{\"a\":1"),
    T("\"\x80\""),
    T("\"\xc0\xaf\""),
    T("\"\xc1\xbf\""),
    T("\"\xe0\x9f\xbf\""),
    T("\"\xed\xa0\x80\""),
    T("\"\xed\xbf\xbf\""),
    T("\"\xf0\x8f\xbf\xbf\""),
    T("\"\xf4\x90\x80\x80\""),
    T("\"\xf5\x80\x80\x80\""),
    T("\"\xff\""),
    T("\"\xe2\x82\""),
    T("\"\xe2\x82"),
    T("\"\xc3\"\""),
    T("\"\xf0\x9f\x98\""),
    T("[\"\xe9\"]"),
    T("\xc3\xa9"),
    T("{\"id\":1,\"id\":2}"),
    T("{\"params\":{},\"x\":1,\"params\":[]}"),
};

START_TEST(what_is_json_is_accepted)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_envelope env;
    for (size_t i = 0; i < MP_COUNT(valid); i++)
        ck_assert_msg(mp_scan_text(valid[i].data, valid[i].len, &wide, &env, &err) == 0,
                      "%s: %s", valid[i].data, err.text);
}
END_TEST

START_TEST(what_is_not_json_is_refused)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_envelope env;
    for (size_t i = 0; i < MP_COUNT(invalid); i++)
        ck_assert_msg(mp_scan_text(invalid[i].data, invalid[i].len, &wide, &env, &err) ==
                          MCPLUG_EPROTO,
                      "%zu: %s", i, invalid[i].data);
}
END_TEST

/* ---- what an error says ---- */

static const struct {
    struct text in;
    const char *text;
} errors[] = {
    {T("[1,x]"), "unexpected character 'x' at byte 3"},
    {T("[1,\x01]"), "unexpected character 0x01 at byte 3"},
    {T("\xef\xbb\xbf{}"), "unexpected character 0xef at byte 0"},
    {T("[1\x00]"), "unexpected character 0x00 at byte 2"},
    {T("{\"a\":1,}"), "unexpected character '}' at byte 7"},
    {T("-x"), "unexpected character 'x' at byte 1"},
    {T("[tru ]"), "unexpected character 0x20 at byte 4"},
    {T("\"\\q\""), "unexpected character 'q' in an escape at byte 2"},
    {T("\"\\u00g0\""), "unexpected character 'g' in an escape at byte 5"},
    {T("\"a\nb\""), "control character 0x0a in a string at byte 2"},
    {T("\"a\x00\""), "control character 0x00 in a string at byte 2"},
    {T("\"ab\xc3(\""), "invalid UTF-8 at byte 4"},
    {T("\"ab\xff\""), "invalid UTF-8 at byte 3"},
    {T("{} x"), "unexpected text after the value at byte 3"},
    {T("1]"), "unexpected text after the value at byte 1"},
    {T(""), "text ends before a value at byte 0"},
    {T("  "), "text ends before a value at byte 2"},
    {T("[\"abc"), "text ends inside a string at byte 5"},
    {T("\"\\u12"), "text ends inside a string at byte 5"},
    {T("\"\xe2\x82"), "text ends inside a string at byte 3"},
    {T("-"), "text ends inside a number at byte 1"},
    {T("[1"), "text ends inside a number at byte 2"},
    {T("fals"), "text ends inside a literal at byte 4"},
    {T("[1,"), "text ends inside an array at byte 3"},
    {T("[{\"a\":1"), "text ends inside a number at byte 7"},
    {T("[{\"a\":1 "), "text ends inside an object at byte 8"},
    {T("{\"a\""), "text ends inside an object at byte 4"},
    {T("{\"id\":1,\"id\":2}"), "duplicate member \"id\" at byte 8"},
    {T("{\"error\":1, \"error\" :2}"), "duplicate member \"error\" at byte 12"},
};

START_TEST(an_error_names_what_and_where)
{
    for (size_t i = 0; i < MP_COUNT(errors); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        struct mp_envelope env;
        int r = mp_scan_text(errors[i].in.data, errors[i].in.len, &wide, &env, &err);
        ck_assert_int_eq(r, MCPLUG_EPROTO);
        ck_assert_int_eq(err.code, MCPLUG_EPROTO);
        ck_assert_str_eq(err.text, errors[i].text);
    }
}
END_TEST

START_TEST(a_failed_scan_stays_failed_and_says_the_same)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT, again = MCPLUG_ERROR_INIT;
    struct mp_scan s;
    size_t used;

    mp_scan_init(&s, &wide);
    ck_assert_int_eq(mp_scan_feed(&s, "[1,,", 4, false, &used, &err), MCPLUG_EPROTO);
    ck_assert_uint_eq(used, 3);
    ck_assert_int_eq(mp_scan_feed(&s, "2]", 2, false, &used, &again), MCPLUG_EPROTO);
    ck_assert_uint_eq(used, 0);
    ck_assert_str_eq(err.text, again.text);
    ck_assert_int_eq(mp_scan_end(&s, &again), MCPLUG_EPROTO);
    ck_assert_str_eq(err.text, again.text);
    ck_assert_int_eq(mp_scan_end(&s, NULL), MCPLUG_EPROTO);
}
END_TEST

START_TEST(a_scan_that_ended_too_early_stays_failed)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_scan s;
    size_t used;

    mp_scan_init(&s, &wide);
    ck_assert_int_eq(mp_scan_feed(&s, "[", 1, false, &used, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_scan_end(&s, &err), MCPLUG_EPROTO);
    ck_assert_int_eq(mp_scan_feed(&s, "]", 1, false, &used, &err), MCPLUG_EPROTO);
    ck_assert_str_eq(err.text, "text ends inside an array at byte 1");
}
END_TEST

START_TEST(nothing_at_all_can_be_fed)
{
    struct mp_scan s;
    size_t used = 1;

    mp_scan_init(&s, &wide);
    ck_assert_int_eq(mp_scan_feed(&s, NULL, 0, false, &used, NULL), MCPLUG_OK);
    ck_assert_uint_eq(used, 0);
    ck_assert_int_eq(mp_scan_text(NULL, 0, &wide, NULL, NULL), MCPLUG_EPROTO);
}
END_TEST

/* ---- pieces ---- */

static void feed_pieces(struct mp_scan *s, const struct text *t, size_t piece,
                        struct mcplug_error *err)
{
    size_t used;

    mp_scan_init(s, &wide);
    for (size_t at = 0; at < t->len; at += piece) {
        size_t n = t->len - at < piece ? t->len - at : piece;
        char *copy = malloc(n); /* so that a look beyond the piece is seen */
        memcpy(copy, t->data + at, n);
        mp_scan_feed(s, copy, n, false, &used, err);
        free(copy);
    }
    mp_scan_end(s, err);
}

static void feed_split(struct mp_scan *s, const struct text *t, size_t split,
                       struct mcplug_error *err)
{
    size_t used;

    mp_scan_init(s, &wide);
    mp_scan_feed(s, t->data, split, false, &used, err);
    mp_scan_feed(s, t->data + split, t->len - split, false, &used, err);
    mp_scan_end(s, err);
}

/* Two names that may be the same are never missed; one that was cut may be any. */
static void same_names(struct mp_envelope *env, const struct mp_envelope *whole)
{
    ck_assert(env->names == whole->names || env->names & MP_KEYS_ALIKE);
    env->names = whole->names;
}

static void same_however_split(const struct text *t)
{
    struct mcplug_error whole_err = MCPLUG_ERROR_INIT, err;
    struct mp_scan whole, s;

    feed_split(&whole, t, t->len, &whole_err);
    for (size_t split = 0; split < t->len; split++) {
        memset(&err, 0, sizeof err);
        feed_split(&s, t, split, &err);
        ck_assert_str_eq(err.text, whole_err.text);
        same_names(&s.env, &whole.env);
        ck_assert_mem_eq(&s.env, &whole.env, noted_size(&whole.env));
    }
    for (size_t piece = 1; piece < 20; piece++) {
        memset(&err, 0, sizeof err);
        feed_pieces(&s, t, piece, &err);
        ck_assert_str_eq(err.text, whole_err.text);
        same_names(&s.env, &whole.env);
        ck_assert_mem_eq(&s.env, &whole.env, noted_size(&whole.env));
    }
}

START_TEST(every_split_gives_the_same_spans)
{
    for (size_t i = 0; i < MP_COUNT(valid); i++)
        same_however_split(&valid[i]);
}
END_TEST

START_TEST(every_split_gives_the_same_error)
{
    for (size_t i = 0; i < MP_COUNT(invalid); i++)
        same_however_split(&invalid[i]);
    for (size_t i = 0; i < MP_COUNT(errors); i++)
        same_however_split(&errors[i].in);
}
END_TEST

/* ---- characters ---- */

static bool string_accepted(const unsigned char *inside, size_t len)
{
    char text[128] = "\"";
    memcpy(text + 1, inside, len);
    text[len + 1] = '"';
    return mp_scan_text(text, len + 2, &wide, NULL, NULL) == MCPLUG_OK;
}

START_TEST(utf8_is_judged_as_everywhere_else)
{
    static const unsigned char edge[] = {0x00, 0x22, 0x41, 0x7f, 0x80, 0x8f,
                                         0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    static const unsigned char last[] = {0x7f, 0x80, 0xbf, 0xc0};
    enum { N = sizeof edge };
    for (unsigned lead = 0x80; lead < 0x100; lead++)
        for (unsigned i = 0; i < N * N * sizeof last; i++) {
            unsigned char c[4] = {(unsigned char)lead, edge[i % N], edge[i / N % N],
                                  last[i / N / N]};
            size_t n = mp_utf8_len(c, sizeof c);
            for (size_t len = 1; len <= sizeof c; len++)
                if (n == len || n == 0)
                    HOLDS(string_accepted(c, len) == (n == len),
                          "%02x %02x %02x %02x, %zu of them", c[0], c[1], c[2], c[3],
                          len);
        }
}
END_TEST

START_TEST(a_bad_byte_is_found_wherever_it_stands)
{
    static const unsigned char bad[] = {0x00, 0x0a, 0x1f, 0x80, 0xff};
    for (size_t len = 1; len < 70; len++)
        for (size_t at = 0; at < len; at++)
            for (size_t i = 0; i < sizeof bad; i++) {
                unsigned char text[70];
                memset(text, ' ' + (int)(len % 2), len);
                ck_assert(string_accepted(text, len));
                text[at] = bad[i];
                ck_assert(!string_accepted(text, len));
            }
}
END_TEST

/* ---- limits ---- */

static int scan_nested(uint32_t depth, uint32_t limit, const char *open,
                       const char *close, struct mcplug_error *err)
{
    struct mp_scan_limits limits = {limit, 1000};
    char text[1024] = "";
    for (uint32_t i = 0; i < depth; i++)
        strcat(text, open);
    strcat(text, "1");
    for (uint32_t i = 0; i < depth; i++)
        strcat(text, close);
    return mp_scan_text(text, strlen(text), &limits, NULL, err);
}

START_TEST(nesting_is_allowed_up_to_the_limit_and_no_deeper)
{
    static const uint32_t limits[] = {0, 1, 2, 3, 63, 64};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char expected[80];

    for (size_t i = 0; i < MP_COUNT(limits); i++) {
        uint32_t n = limits[i];
        ck_assert_int_eq(scan_nested(n, n, "[", "]", &err), MCPLUG_OK);
        ck_assert_int_eq(scan_nested(n, n, "{\"a\":", "}", &err), MCPLUG_OK);
        ck_assert_int_eq(scan_nested(n + 1, n, "[", "]", &err), MCPLUG_ETOOBIG);
        snprintf(expected, sizeof expected, "nesting deeper than %u at byte %u", n, n);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(scan_nested(n + 1, n, "{\"a\":", "}", &err), MCPLUG_ETOOBIG);
    }
}
END_TEST

START_TEST(a_depth_limit_beyond_64_counts_as_64)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    ck_assert_int_eq(scan_nested(64, 2000, "[", "]", &err), MCPLUG_OK);
    ck_assert_int_eq(scan_nested(65, 2000, "[", "]", &err), MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "nesting deeper than 64 at byte 64");
}
END_TEST

START_TEST(brackets_are_told_apart_at_every_level)
{
    static const char open[] = "[{\"a\":[[{\"b\":{\"c\":[", close[] = "]}}]]}]";
    char text[64];
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    snprintf(text, sizeof text, "%s%s", open, close);
    ck_assert_int_eq(mp_scan_text(text, strlen(text), &wide, NULL, &err), MCPLUG_OK);
    for (size_t i = sizeof open - 1; text[i]; i++) {
        char right = text[i];
        text[i] = right == ']' ? '}' : ']';
        ck_assert_int_eq(mp_scan_text(text, strlen(text), &wide, NULL, &err),
                         MCPLUG_EPROTO);
        text[i] = right;
    }
}
END_TEST

START_TEST(every_value_and_key_counts_up_to_the_limit)
{
    static const char text[] = "{\"a\":[1,true,\"x\"],\"b\":{}}"; /* 8 */
    struct mp_scan_limits limits = {64, 8};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_int_eq(mp_scan_text(text, strlen(text), &limits, NULL, &err), MCPLUG_OK);
    limits.tokens = 7;
    ck_assert_int_eq(mp_scan_text(text, strlen(text), &limits, NULL, &err),
                     MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "more than 7 values at byte 22");
    limits.tokens = 6;
    ck_assert_int_eq(mp_scan_text(text, strlen(text), &limits, NULL, &err),
                     MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "more than 6 values at byte 18");
}
END_TEST

START_TEST(a_bomb_of_ten_megabytes_is_stopped_at_the_limit)
{
    size_t len = 10 * 1024 * 1024;
    char *text = malloc(len);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_scan_limits limits = {64, 200000};
    struct timespec before, after;

    text[0] = '[';
    for (size_t i = 1; i + 3 <= len; i += 3)
        memcpy(text + i, "{},", 3);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    int r = mp_scan_text(text, len, &limits, NULL, &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    ck_assert_int_eq(r, MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "more than 200000 values at byte 599998");
    HOLDS((double)(after.tv_sec - before.tv_sec) +
                  1e-9 * (double)(after.tv_nsec - before.tv_nsec) <
              0.5,
          "it took half a second");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_scan");
    TCase *t = tcase_create("all");

    tcase_add_test(t, what_is_json_is_accepted);
    tcase_add_test(t, what_is_not_json_is_refused);
    tcase_add_test(t, an_error_names_what_and_where);
    tcase_add_test(t, a_failed_scan_stays_failed_and_says_the_same);
    tcase_add_test(t, a_scan_that_ended_too_early_stays_failed);
    tcase_add_test(t, nothing_at_all_can_be_fed);
    tcase_add_test(t, every_split_gives_the_same_spans);
    tcase_add_test(t, every_split_gives_the_same_error);
    tcase_add_test(t, utf8_is_judged_as_everywhere_else);
    tcase_add_test(t, a_bad_byte_is_found_wherever_it_stands);
    tcase_add_test(t, nesting_is_allowed_up_to_the_limit_and_no_deeper);
    tcase_add_test(t, a_depth_limit_beyond_64_counts_as_64);
    tcase_add_test(t, brackets_are_told_apart_at_every_level);
    tcase_add_test(t, every_value_and_key_counts_up_to_the_limit);
    tcase_add_test(t, a_bomb_of_ten_megabytes_is_stopped_at_the_limit);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
