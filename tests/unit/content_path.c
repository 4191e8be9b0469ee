#include "content/path.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/stream.h"
#include "quick.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct mp_str got, whole, text;
static uint64_t count;
static bool done;
static size_t wanted; /* bytes, before no more is wanted */

static void setup(void)
{
    mp_str_init(&got, 1 << 26);
    mp_str_init(&whole, 1 << 26);
    mp_str_init(&text, 1 << 28);
    wanted = SIZE_MAX;
}

static void teardown(void)
{
    mp_str_clear(&got);
    mp_str_clear(&whole);
    mp_str_clear(&text);
}

static int keep(void *arg, const char *data, size_t len)
{
    ck_assert_ptr_eq(arg, &got);
    HOLDS(len > 0, "an empty piece");
    mp_str_add(&got, data, len);
    return got.len < wanted;
}

static struct mp_path *parsed(const char *expression)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_path *path = NULL;
    int r = mp_path_parse(expression, &path, &err);

    ck_assert_msg(r == MCPLUG_OK, "%s: %s", expression, err.text);
    return path;
}

/* Adds to what was got how it ended, if not well. */
static void run_pieces(const struct mp_path *path, const char *json, size_t len,
                       size_t first, size_t others)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_select *s = mp_select_new(path, keep, &got);
    int r = MCPLUG_OK;

    mp_str_reset(&got);
    done = false;
    for (size_t at = 0; at < len && r == MCPLUG_OK && !done;) {
        size_t n = at ? others : first;
        n = n < len - at ? n : len - at;
        char *copy = malloc(n); /* nothing may be read behind a piece */
        memcpy(copy, json + at, n);
        r = mp_select_feed(s, copy, n, &done, &err);
        free(copy);
        at += n;
    }
    if (r == MCPLUG_OK)
        r = mp_select_end(s, &err);
    count = mp_select_count(s);
    mp_select_free(s);
    mp_str_adds(&got, r == MCPLUG_OK ? "" : err.text);
}

/* Whole, in two pieces cut anywhere, byte by byte. */
static void selects(const char *expression, const char *json, const char *expected)
{
    struct mp_path *path = parsed(expression);
    size_t len = strlen(json);

    for (size_t cut = 0; cut <= len; cut++) {
        run_pieces(path, json, len, cut ? cut : 1, cut ? len : 1);
        if (strcmp(got.data, expected) != 0)
            ck_abort_msg("%s, cut at %zu: got %s instead of %s", expression, cut,
                         got.data, expected);
    }
    mp_path_free(path);
}

#define DOCUMENT                                                                         \
    "{\"items\": [{\"id\":1,\"name\":\"alpha\",\"tags\":[\"x\",\"y\"]},\n"               \
    " {\"id\":2,\"name\":\"be\\\"ta\",\"tags\":[]}, 7 ,{\"id\":null, "                   \
    "\"name\":[ 1, {} ]}],"                                                              \
    "\"odd key\":true,\"\":\"empty\",\"a\":{\"b\":{\"c\":-1.50}},\"total\":3}\n"

/* ---- what is selected ---- */

START_TEST(members_and_elements_are_selected_as_they_are)
{
    selects(".total", DOCUMENT, "3\n");
    selects(".items[3].name", DOCUMENT, "[ 1, {} ]\n");
    selects(".items[1].name", DOCUMENT, "\"be\\\"ta\"\n");
    selects(".a.b.c", DOCUMENT, "-1.50\n");
    selects(".a", DOCUMENT, "{\"b\":{\"c\":-1.50}}\n");
    selects("[\"a\"].b", DOCUMENT, "{\"c\":-1.50}\n");
    selects(".[\"odd key\"]", DOCUMENT, "true\n");
    selects(".\"odd key\"", DOCUMENT, "true\n");
    selects(".[\"\"]", DOCUMENT, "\"empty\"\n");
    selects(".items[0].tags.[1]", DOCUMENT, "\"y\"\n");
    selects(" .a?.b?.c \n", DOCUMENT, "-1.50\n");
    selects(".a-b.$c.\xc3\xa9", "{\"a-b\":{\"$c\":{\"\xc3\xa9\":[]}}}", "[]\n");
}
END_TEST

START_TEST(a_dot_is_the_document)
{
    selects(".", " {\"a\": 1} \n", "{\"a\": 1}\n");
    selects(".", "12", "12\n");
    selects(".", "\"x\"", "\"x\"\n");
    selects(".", "[1,2] 3", "[1,2]\nunexpected text after the value at byte 6");
    ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(brackets_select_every_element_or_some)
{
    selects(".items[].id", DOCUMENT, "1\n2\nnull\n");
    ck_assert_uint_eq(count, 3);
    selects(".items[0:2].id", DOCUMENT, "1\n2\n");
    selects(".items[1:3]", DOCUMENT, "{\"id\":2,\"name\":\"be\\\"ta\",\"tags\":[]}\n7\n");
    selects(".items[2:]", DOCUMENT, "7\n{\"id\":null, \"name\":[ 1, {} ]}\n");
    selects(".items[:1][].name", DOCUMENT, "\"alpha\"\n");
    selects(".items[ 0 : 1 ].name", DOCUMENT, "\"alpha\"\n");
    selects(".items[3:1]", DOCUMENT, "");
    selects(".items[][]", "{\"items\":[[1,2],3,{\"a\":4}]}", "1\n2\n4\n");
    selects(".[]", "{\"a\":1,\"b\":[2]}", "1\n[2]\n");
    selects("[0:2][]", "[[1],[2],[3]]", "[1]\n[2]\n");
    selects("[0:2][][]", "[[1],[2],[3]]", "1\n2\n");
    selects("[][0:1]", "[[1,2],[3,4],[]]", "1\n3\n");
}
END_TEST

START_TEST(what_is_not_there_is_no_error)
{
    selects(".missing", DOCUMENT, "");
    ck_assert_uint_eq(count, 0);
    selects(".items[99]", DOCUMENT, "");
    selects(".items.id", DOCUMENT, "");
    selects(".items[0][0]", DOCUMENT, "");
    selects(".total.x", DOCUMENT, "");
    selects("[0]", DOCUMENT, "");
    selects(".a", "[{\"a\":1}]", "");
    selects(".a", "\"a\"", "");
}
END_TEST

START_TEST(keys_are_compared_with_their_escapes_resolved)
{
    selects(".a", "{\"\\u0061\":1,\"a\":2}", "1\n2\n");
    selects(".[\"\\u0061\"]", "{\"\\u0061\":1,\"a\":2,\"b\":3}", "1\n2\n");
    selects(".[\"\\ud83d\\ude00\"]", "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
            "1\n2\n");
    selects(".\xc3\xa9", "{\"\\u00e9\":1}", "1\n");
    selects(".[\"a\\u0000b\"]", "{\"a\":1,\"a\\u0000b\":2,\"a\\u0000c\":3}", "2\n");
    selects(".[\"a\\\"]\"]", "{\"a\\\"]\":1}", "1\n");
    selects(".a", "{\"\\ud800\":1,\"a\xff\":2,\"\\u006\\u0061\":3}",
            "unexpected character '\\' in an escape at byte 25");
}
END_TEST

START_TEST(every_one_of_two_keys_that_are_the_same_matches)
{
    selects(".a.b", "{\"a\":{\"b\":1,\"b\":2},\"c\":0,\"a\":{\"b\":3}}", "1\n2\n3\n");
}
END_TEST

/* ---- what is not JSON ---- */

START_TEST(what_is_not_json_is_reported_with_its_byte)
{
    selects(".a", "{\"a\":1,}", "1\nunexpected character '}' at byte 7");
    selects(".a", "{\"a\":[1,2 ", "[1,2 text ends inside an array at byte 10");
    selects(".a", "{\"b\":[1,2", "text ends inside an array at byte 9");
    selects(".a", "{\"b\":[1}", "unexpected character '}' at byte 7");
    selects(".a", "", "text ends before a value at byte 0");
    selects(".a", "{\"a\":tru}", "truunexpected character '}' at byte 8");
}
END_TEST

START_TEST(a_run_that_failed_stays_failed)
{
    struct mp_path *path = parsed(".a");
    struct mp_select *s = mp_select_new(path, keep, &got);

    ck_assert_int_eq(mp_select_feed(s, "{]", 2, NULL, NULL), MCPLUG_EPROTO);
    ck_assert_int_eq(mp_select_feed(s, "{\"a\":1}", 7, &done, NULL), MCPLUG_EPROTO);
    ck_assert(!done);
    ck_assert_int_eq(mp_select_end(s, NULL), MCPLUG_EPROTO);
    ck_assert_uint_eq(got.len, 0);
    mp_select_free(s);
    mp_path_free(path);
}
END_TEST

START_TEST(nesting_has_a_limit_wherever_it_is)
{
    for (int levels = MP_STREAM_DEPTH; levels <= MP_STREAM_DEPTH + 1; levels++)
        for (int way = 0; way < 2; way++) {
            struct mp_path *path = parsed(way ? ".a" : ".b");
            mp_str_reset(&text);
            mp_str_adds(&text, "{\"a\":");
            for (int i = 1; i < levels; i++)
                mp_str_addc(&text, '[');
            for (int i = 1; i < levels; i++)
                mp_str_addc(&text, ']');
            mp_str_addc(&text, '}');
            run_pieces(path, text.data, text.len, 100, 100);
            const char *why = strstr(got.data, "nesting deeper than 512 at byte 516");
            ck_assert_int_eq(why == NULL, levels == MP_STREAM_DEPTH);
            mp_path_free(path);
        }
}
END_TEST

/* ---- the end of a run ---- */

START_TEST(a_run_is_done_when_nothing_more_can_match)
{
    static const struct {
        const char *path, *json, *expected;
        bool done;
    } runs[] = {
        {"[1]", "[1,2,", "2\n", true},
        {"[0:2]", "[1,2,", "1\n2\n", true},
        {"[0].a", "[{\"a\":1},", "1\n", true},
        {"[0].a", "[{\"a\":1", "", false},
        {"[1][0]", "[7,[3", "", false},
        {"[1][0]", "[7,[3,", "3\n", true},
        {"[0][5]", "[[1],", "", true},
        {"[0].a", "[[", "", true},
        {".a", "[", "", true},
        {"[0]", "{", "", true},
        {"[0]", "1 ", "", true},
        {"[5:2]", "[1", "", true},
        {".a", "{\"a\":1,", "1\n", false}, /* it may come again */
        {".a[0]", "{\"a\":[1,", "1\n", false},
        {"[]", "[1,", "1\n", false},
        {"[0:]", "[1,", "1\n", false},
    };

    for (size_t i = 0; i < MP_COUNT(runs); i++) {
        struct mp_path *path = parsed(runs[i].path);
        struct mp_select *s = mp_select_new(path, keep, &got);
        mp_str_reset(&got);
        mp_str_adds(&got, "");
        ck_assert_int_eq(
            mp_select_feed(s, runs[i].json, strlen(runs[i].json), &done, NULL), 0);
        ck_assert_msg(done == runs[i].done, "%s of %s", runs[i].path, runs[i].json);
        if (done || strcmp(runs[i].expected, "") != 0)
            ck_assert_str_eq(got.data, runs[i].expected);
        if (done) { /* whatever follows is ignored */
            ck_assert_int_eq(mp_select_feed(s, "}}[1]x", 6, &done, NULL), MCPLUG_OK);
            ck_assert(done);
            ck_assert_int_eq(mp_select_end(s, NULL), MCPLUG_OK);
            ck_assert_str_eq(got.data, runs[i].expected);
        }
        mp_select_free(s);
        mp_path_free(path);
    }
}
END_TEST

START_TEST(a_writer_that_wants_no_more_ends_the_run)
{
    struct mp_path *path = parsed(".items[].id");

    wanted = 4;
    run_pieces(path, DOCUMENT, strlen(DOCUMENT), 1000, 1000);
    ck_assert_str_eq(got.data, "1\n2\n");
    ck_assert(done);
    ck_assert_uint_eq(count, 2);
    wanted = 1;
    run_pieces(path, DOCUMENT, strlen(DOCUMENT), 1, 1);
    ck_assert_str_eq(got.data, "1");
    ck_assert_uint_eq(count, 0);
    mp_path_free(path);
}
END_TEST

/* ---- large ---- */

START_TEST(a_million_keys_and_elements_are_crossed)
{
    enum { N = 200000 };
    struct mp_path *path = parsed(".last[199999]"), *none = parsed(".none");

    mp_str_addc(&text, '{');
    for (int i = 0; i < 5 * N; i++)
        mp_str_addf(&text, "\"key %d\":\"}\\\"{\",", i);
    mp_str_adds(&text, "\"last\":[");
    for (int i = 0; i < N; i++)
        mp_str_addf(&text, "%s{\"n\":%d}", i ? "," : "", i);
    mp_str_adds(&text, "]}");
    run_pieces(path, text.data, text.len, 5000, 4096);
    ck_assert_str_eq(got.data, "{\"n\":199999}\n");
    run_pieces(none, text.data, text.len, 1, 10000);
    ck_assert_str_eq(got.data, "");
    mp_path_free(path);
    mp_path_free(none);
}
END_TEST

START_TEST(a_huge_key_matches_nothing_and_a_huge_value_streams)
{
    struct mp_path *path = parsed(".a");

    mp_str_adds(&text, "{\"");
    for (int i = 0; i < 1000000; i++)
        mp_str_addc(&text, 'a');
    mp_str_adds(&text, "\":1,\"a\":\"");
    for (int i = 0; i < 1000000; i++)
        mp_str_adds(&text, "\\u0000\xff");
    mp_str_adds(&text, "\"}");
    run_pieces(path, text.data, text.len, 65536, 65536);
    ck_assert_uint_eq(got.len, 7000003);
    ck_assert_mem_eq(got.data, "\"\\u0000\xff", 8);
    ck_assert_uint_eq(count, 1);
    mp_path_free(path);
}
END_TEST

START_TEST(the_longest_key_matches_however_it_is_escaped)
{
    struct mp_str expression;
    struct mp_path *path = NULL;

    mp_str_init(&expression, 10000);
    mp_str_addc(&expression, '.');
    for (int i = 0; i < MP_PATH_KEY_MAX; i++)
        mp_str_addc(&expression, 'k');
    path = parsed(expression.data);
    mp_str_adds(&text, "{\"");
    for (int i = 0; i < MP_PATH_KEY_MAX; i++)
        mp_str_adds(&text, "\\u006b");
    mp_str_adds(&text, "\":1}");
    run_pieces(path, text.data, text.len, text.len, 1);
    ck_assert_str_eq(got.data, "1\n");
    run_pieces(path, text.data, text.len, 1, 1);
    ck_assert_str_eq(got.data, "1\n");
    mp_path_free(path);
    mp_str_clear(&expression);
}
END_TEST

/* ---- expressions ---- */

static void is_refused(const char *expression, const char *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_path *path = NULL;

    ck_assert_msg(mp_path_parse(expression, &path, &err) == MCPLUG_EINVAL, "%s",
                  expression);
    ck_assert_ptr_null(path);
    if (!strstr(err.text, why))
        ck_abort_msg("%s: got \"%s\" instead of \"%s\"", expression, err.text, why);
}

START_TEST(wrong_expressions_are_refused_with_column_and_what_was_expected)
{
    is_refused("", "column 1: expected a path that begins with . or [");
    is_refused("items", "column 1: expected a path that begins with . or [, such as "
                        ".items[0].name, got \"i\"");
    is_refused("$.items", "column 1: expected a path");
    is_refused("..", "column 2: expected a name, a name in quotes or [, got \".\"");
    is_refused(".a.", "column 4: expected a name, a name in quotes or [, got the end");
    is_refused(".a..b", "column 4: expected a name");
    is_refused(".0", "column 2: expected a name, or an index in brackets such as [0]");
    is_refused(".a b", "column 3: expected . or [, got \" \"");
    is_refused(".a|.b", "column 3: expected . or [, got \"|\"");
    is_refused(".\xc3\xa9+", "column 3: expected . or [, got \"+\"");
    is_refused(".[", "column 3: expected an index, a slice such as 2:5, a name in quotes "
                     "or ], got the end");
    is_refused(".[a]", "column 3: expected an index");
    is_refused(".[1", "column 4: expected ], got the end");
    is_refused(".[1,2]", "column 4: expected ], got \",\"");
    is_refused(".[:]", "column 4: expected an index, got \"]\"");
    is_refused(".[ :]", "column 5: expected an index");
    is_refused(".[1:x]", "column 5: expected an index, got \"x\"");
    is_refused(".[1:2:3]", "column 6: expected ], got \":\"");
    is_refused(".[\"a]", "column 3: expected a name in quotes as JSON has it: text ends");
    is_refused(".[\"a\\x\"]", "column 3: expected a name in quotes as JSON has it");
    is_refused(".[\"a\"", "column 6: expected ], got the end");
    is_refused(".[99999999999999999999]", "the index is too large");
    is_refused(".[9223372036854775808]", "the index is too large");
    is_refused(".[2:5][0]", "column 8: expected ] or a name in quotes behind a slice");
    is_refused(".[2:5][1:2]", "column 8: expected ] or a name");
    is_refused(".\xff", "must be UTF-8");
}
END_TEST

START_TEST(what_counts_from_the_end_is_refused_with_what_works)
{
    is_refused(".items[-1]",
               "column 8: an index from the end of an array is not "
               "supported, as it needs all of the array in memory: use [N]");
    is_refused(".items[-3:]", "column 8: an index from the end");
    is_refused(".items[1:-1]", "column 10: an index from the end");
    is_refused(".items[:-1]", "column 9: an index from the end");
}
END_TEST

static void add_times(struct mp_str *s, const char *what, size_t times)
{
    for (size_t i = 0; i < times; i++)
        mp_str_adds(s, what);
}

START_TEST(expressions_have_limits)
{
    add_times(&text, ".a", MP_PATH_STEPS);
    mp_path_free(parsed(text.data));
    add_times(&text, "[0]", 1);
    is_refused(text.data, "column 131: more than 64 steps");

    mp_str_reset(&text);
    add_times(&text, ".", 1);
    add_times(&text, "k", MP_PATH_KEY_MAX);
    mp_path_free(parsed(text.data));
    add_times(&text, "k", 1);
    is_refused(text.data, "column 2: the name is longer than 512 bytes");

    mp_str_reset(&text);
    add_times(&text, " ", MP_PATH_MAX - 1);
    add_times(&text, ".", 1);
    mp_path_free(parsed(text.data));
    add_times(&text, " ", 1);
    is_refused(text.data, "at most 4096 bytes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("content_path");
    TCase *tc = tcase_create("content_path");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, members_and_elements_are_selected_as_they_are);
    tcase_add_test(tc, a_dot_is_the_document);
    tcase_add_test(tc, brackets_select_every_element_or_some);
    tcase_add_test(tc, what_is_not_there_is_no_error);
    tcase_add_test(tc, keys_are_compared_with_their_escapes_resolved);
    tcase_add_test(tc, every_one_of_two_keys_that_are_the_same_matches);
    tcase_add_test(tc, what_is_not_json_is_reported_with_its_byte);
    tcase_add_test(tc, a_run_that_failed_stays_failed);
    tcase_add_test(tc, nesting_has_a_limit_wherever_it_is);
    tcase_add_test(tc, a_run_is_done_when_nothing_more_can_match);
    tcase_add_test(tc, a_writer_that_wants_no_more_ends_the_run);
    tcase_add_test(tc, a_million_keys_and_elements_are_crossed);
    if (!is_slow())
        tcase_add_test(tc, a_huge_key_matches_nothing_and_a_huge_value_streams);
    tcase_add_test(tc, the_longest_key_matches_however_it_is_escaped);
    tcase_add_test(tc, wrong_expressions_are_refused_with_column_and_what_was_expected);
    tcase_add_test(tc, what_counts_from_the_end_is_refused_with_what_works);
    tcase_add_test(tc, expressions_have_limits);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
