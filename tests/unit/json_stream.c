#include "json/stream.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/scan.h"
#include "quick.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a consumer that writes down what it is told ---- */

struct notes {
    struct mp_str text;
    unsigned options;
    enum mp_stream_answer (*answer)(const struct mp_stream_event *event, unsigned nth);
    unsigned nth; /* events of all kinds but pieces */
};

/* Pieces of strings and raw values are joined: where they are cut is not compared. */
static enum mp_stream_answer note(void *arg, const struct mp_stream_event *e)
{
    static const char *const names[] = {"{", "[", "?", "end", "key ", "\"",
                                        "",  "t", "f", "n",   "raw "};
    struct notes *n = arg;
    bool pieces = e->kind == MP_STREAM_STRING || e->kind == MP_STREAM_RAW;

    if (!pieces || e->flags & MP_STREAM_FIRST)
        mp_str_addf(&n->text, "%u%s", e->depth, names[e->kind]);
    if (e->len)
        mp_str_add(&n->text, e->data, e->len);
    if (!pieces || e->flags & MP_STREAM_LAST)
        mp_str_addf(&n->text, "%s%s%s\n", e->flags & MP_STREAM_INTEGER ? " int" : "",
                    e->flags & MP_STREAM_ESCAPED ? " esc" : "",
                    e->flags & MP_STREAM_CUT ? " cut" : "");
    return n->answer && !pieces ? n->answer(e, n->nth++) : MP_STREAM_GO;
}

static int feed(struct mp_stream *s, const char *data, size_t len,
                struct mcplug_error *err)
{
    char *copy = malloc(len ? len : 1); /* nothing may be read behind a piece */
    if (len)
        memcpy(copy, data, len);
    int r = mp_stream_feed(s, copy, len, err);
    free(copy);
    return r;
}

/* Reads it in pieces of those sizes, the last for all that follow, and notes how it
 * ended. */
static void read_pieces(struct notes *n, const char *text, size_t len, size_t first,
                        size_t others)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_stream s;
    int r = MCPLUG_OK;

    mp_str_reset(&n->text);
    n->nth = 0;
    mp_stream_init(&s, n->options, note, n);
    for (size_t at = 0; at < len && r == MCPLUG_OK;) {
        size_t size = at ? others : first;
        size = size < len - at ? size : len - at;
        r = feed(&s, text + at, size, &err);
        at += size;
    }
    if (r == MCPLUG_OK)
        r = mp_stream_end(&s, &err);
    mp_str_addf(&n->text, "%s", r == MCPLUG_OK ? s.stopped ? "stopped" : "ok" : err.text);
}

static struct notes n, m;

static void setup(void)
{
    memset(&n, 0, sizeof n);
    mp_str_init(&n.text, 1 << 26);
    memset(&m, 0, sizeof m);
    mp_str_init(&m.text, 1 << 26);
}

static void teardown(void)
{
    mp_str_clear(&n.text);
    mp_str_clear(&m.text);
}

/* Whole, in two pieces cut anywhere, and byte by byte: always the same. */
static void read_all_ways(const char *text, size_t len)
{
    read_pieces(&n, text, len, len, len);
    m.answer = n.answer;
    m.options = n.options;
    for (size_t cut = 0; cut <= len; cut++) {
        read_pieces(&m, text, len, cut ? cut : 1, cut ? len : 1);
        HOLDS(strcmp(n.text.data, m.text.data) == 0, "cut at %zu: %.99s\n%s\n--\n%s", cut,
              text, n.text.data, m.text.data);
    }
}

static void reports(const char *text, const char *expected)
{
    read_all_ways(text, strlen(text));
    ck_assert_str_eq(n.text.data, expected);
}

/* ---- what is reported ---- */

START_TEST(everything_is_reported_in_order_with_its_depth)
{
    reports(" {\"a\" : [1,-2.5e+3, \"x\" ,true,false,null,{}],\n\"b\":{\"c\":\"\"}, "
            "\"\":[ ] }\r\n",
            "0{\n1key a\n1[\n21 int\n2-2.5e+3\n2\"x\n2t\n2f\n2n\n2{\n2end\n1end\n"
            "1key b\n1{\n2key c\n2\"\n1end\n1key \n1[\n1end\n0end\nok");
    reports("0", "00 int\nok");
    reports("-12 ", "0-12 int\nok");
    reports("1.5e-7", "01.5e-7\nok");
    reports("null", "0n\nok");
    reports("\"a\xff\xc3\"", "0\"a\xff\xc3\nok"); /* UTF-8 is not checked */
}
END_TEST

START_TEST(escapes_are_checked_marked_and_not_resolved)
{
    reports("{\"\\u0061\":\"\\ud83d\",\"b\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
            "0{\n1key \\u0061 esc\n1\"\\ud83d esc\n1key b\n"
            "1\"\\\"\\\\\\/\\b\\f\\n\\r\\t esc\n0end\nok");
    reports("[\"\\x\"]", "0[\n1\"\\unexpected character 'x' in an escape at byte 3");
    reports("[\"\\u12g4\"]",
            "0[\n1\"\\u12unexpected character 'g' in an escape at byte 6");
    reports("[\"a\nb\"]", "0[\n1\"acontrol character 0x0a in a string at byte 3");
}
END_TEST

START_TEST(values_are_announced_to_those_who_ask)
{
    n.options = MP_STREAM_ASK;
    reports("[1,{\"a\":\"b\"},null]",
            "0[\n1?\n11 int\n1{\n2key a\n2?\n2\"b\n1end\n1?\n1n\n0end\nok");
}
END_TEST

/* The scan says what JSON is, and how a fault is put. */
START_TEST(the_scan_and_the_stream_agree_on_what_is_json)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "{",
                                        "[",
                                        "}",
                                        "{}}",
                                        "[]]",
                                        "[1",
                                        "[1,",
                                        "[1,]",
                                        "[,]",
                                        "{\"a\"",
                                        "{\"a\":",
                                        "{\"a\":1",
                                        "{\"a\":1,",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "{\"a\" 1}",
                                        "{1:2}",
                                        "[1 2]",
                                        "01",
                                        "-",
                                        "-a",
                                        "1.",
                                        "1.e",
                                        "1e",
                                        "1e+",
                                        "1e+x",
                                        "+1",
                                        ".5",
                                        "1.5.5",
                                        "12x",
                                        "tru",
                                        "trux",
                                        "nul",
                                        "falze",
                                        "nan",
                                        "\"a",
                                        "\"a\\",
                                        "\"\\u00",
                                        "'a'",
                                        "[\"a\":1]",
                                        "{\"a\",1}",
                                        "[1}",
                                        "{\"a\":1]",
                                        "1 2",
                                        "{} x",
                                        "\"\x01\"",
                                        "[\x01]",
                                        "/**/1",
                                        "[1]\n[2]",
                                        "\xef\xbb\xbf{}",
                                        "-0",
                                        "[-0.0e-0]",
                                        "1E5",
                                        "{}",
                                        "[[[]]]",
                                        "true",
                                        " \t\r\n7\n",
                                        "[1,2,3]",
                                        "{\"a\":{\"a\":[{}]}}",
                                        "[nulll]",
                                        "[1e5,1E-5]"};

    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        size_t len = strlen(texts[i]);
        int r = mp_scan_text(texts[i], len, &mp_scan_defaults, NULL, &err);
        read_all_ways(texts[i], len);
        const char *last = strrchr(n.text.data, '\n');
        last = last ? last + 1 : n.text.data;
        const char *expected = r == MCPLUG_OK ? "ok" : err.text;
        /* behind what an open string had before its fault */
        size_t tail = strlen(expected);
        ck_assert_uint_ge(strlen(last), tail);
        ck_assert_str_eq(last + strlen(last) - tail, expected);
    }
}
END_TEST

START_TEST(a_stream_that_failed_stays_failed)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT, again = MCPLUG_ERROR_INIT;
    struct mp_stream s;

    mp_stream_init(&s, 0, note, &n);
    ck_assert_int_eq(mp_stream_feed(&s, "[1,]", 4, &err), MCPLUG_EPROTO);
    ck_assert_int_eq(mp_stream_feed(&s, "2]", 2, &again), MCPLUG_EPROTO);
    ck_assert_str_eq(err.text, again.text);
    ck_assert_int_eq(mp_stream_end(&s, NULL), MCPLUG_EPROTO);
    ck_assert_str_eq(n.text.data, "0[\n11 int\n");
}
END_TEST

START_TEST(lines_are_values_of_their_own)
{
    n.options = MP_STREAM_LINES;
    reports("{}\n[1]\r\n\n 2\n", "0{\n0end\n0[\n11 int\n0end\n02 int\nok");
    reports("{} {}", "0{\n0end\nunexpected text after the value at byte 3");
    reports("1\n2x", "01 int\n02 int\nunexpected text after the value at byte 3");
    reports("{}\n[", "0{\n0end\n0[\ntext ends inside an array at byte 4");
    reports("\n", "text ends before a value at byte 1");
}
END_TEST

/* ---- limits ---- */

static void add_times(struct mp_str *text, const char *what, size_t times)
{
    for (size_t i = 0; i < times; i++)
        mp_str_adds(text, what);
}

static enum mp_stream_answer skip_top(const struct mp_stream_event *e, unsigned nth)
{
    (void)nth;
    return e->depth == 0 ? MP_STREAM_SKIP : MP_STREAM_GO;
}

static enum mp_stream_answer raw_top(const struct mp_stream_event *e, unsigned nth)
{
    (void)nth;
    return e->depth == 0 ? MP_STREAM_AS_RAW : MP_STREAM_GO;
}

START_TEST(one_level_more_than_the_limit_is_refused)
{
    struct mp_str text;

    mp_str_init(&text, 1 << 20);
    for (size_t depth = MP_STREAM_DEPTH; depth <= MP_STREAM_DEPTH + 1; depth++) {
        bool fits = depth == MP_STREAM_DEPTH;
        for (int way = 0; way < 3; way++) {
            mp_str_reset(&text);
            add_times(&text, "[", depth / 2);
            add_times(&text, "{\"a\":", depth - depth / 2 - 1);
            add_times(&text, "{", 1);
            add_times(&text, "}", depth - depth / 2);
            add_times(&text, "]", depth / 2);
            n.answer = way == 0 ? NULL : way == 1 ? skip_top : raw_top;
            read_pieces(&n, text.data, text.len, 7, 100);
            const char *end = strrchr(n.text.data, fits ? 'o' : 'n');
            ck_assert_ptr_nonnull(end);
            if (fits)
                ck_assert_str_eq(end, "ok");
            else
                ck_assert_ptr_nonnull(
                    strstr(n.text.data, "nesting deeper than 512 at byte 1536"));
        }
    }
    mp_str_clear(&text);
}
END_TEST

START_TEST(keys_and_numbers_beyond_what_is_held_are_cut_and_marked)
{
    struct mp_str text, expected;

    mp_str_init(&text, 1 << 20);
    mp_str_init(&expected, 1 << 20);
    for (size_t len = MP_STREAM_HELD - 1; len <= MP_STREAM_HELD + 1; len++) {
        bool cut = len > MP_STREAM_HELD;
        size_t kept = cut ? MP_STREAM_HELD : len;
        mp_str_reset(&text);
        mp_str_adds(&text, "{\"");
        add_times(&text, "k", len);
        mp_str_adds(&text, "\":");
        add_times(&text, "7", len);
        mp_str_adds(&text, ",\"b\":12}");

        mp_str_reset(&expected);
        mp_str_adds(&expected, "0{\n1key ");
        add_times(&expected, "k", kept);
        mp_str_adds(&expected, cut ? " cut\n1" : "\n1");
        add_times(&expected, "7", kept);
        mp_str_adds(&expected, cut ? " int cut\n" : " int\n");
        mp_str_adds(&expected, "1key b\n112 int\n0end\nok");

        static const size_t pieces[] = {1, 3, 16, 4095, 4096, 4097, 4098, 1 << 20};
        for (size_t i = 0; i < MP_COUNT(pieces); i++) {
            read_pieces(&n, text.data, text.len, pieces[i], pieces[i]);
            ck_assert_str_eq(n.text.data, expected.data);
        }
    }
    mp_str_clear(&text);
    mp_str_clear(&expected);
}
END_TEST

/* ---- answers ---- */

static enum mp_stream_answer skip_deep(const struct mp_stream_event *e, unsigned nth)
{
    (void)nth;
    return e->depth == 1 && e->kind <= MP_STREAM_SCALAR ? MP_STREAM_SKIP : MP_STREAM_GO;
}

START_TEST(what_is_skipped_is_not_reported)
{
    n.options = MP_STREAM_ASK;
    n.answer = skip_deep;
    reports("{\"a\":[1,{\"]\":\"\\\"}]\"}],\"b\":\"x\\\"\",\"c\":-1.5, \"d\":true,\"e\":"
            "{ }}",
            "0{\n1key a\n1[\n1key b\n1?\n1key c\n1?\n1key d\n1?\n1key e\n1{\n0end\nok");
}
END_TEST

START_TEST(what_is_skipped_needs_brackets_that_match)
{
    n.answer = skip_top;
    reports("[{]", "0[\nunexpected character ']' at byte 2");
    reports("{\"a\":[}", "0{\nunexpected character '}' at byte 6");
    reports("[\\\"]", "0[\nunexpected character '\\' at byte 1");
    reports("[1,2", "0[\ntext ends inside an array at byte 4");
    reports("[1,{", "0[\ntext ends inside an object at byte 4");
    reports("[\"]", "0[\ntext ends inside a string at byte 3");
    reports("[]]", "0[\nunexpected text after the value at byte 2");
    /* and nothing else */
    reports("[1 2,,\"\x01\"]", "0[\nok");
}
END_TEST

static enum mp_stream_answer skip_rest(const struct mp_stream_event *e, unsigned nth)
{
    (void)nth;
    return e->depth == 2 && e->kind <= MP_STREAM_SCALAR ? MP_STREAM_SKIP_REST
                                                        : MP_STREAM_GO;
}

START_TEST(the_rest_of_a_container_is_skipped_up_to_its_end)
{
    n.options = MP_STREAM_ASK;
    n.answer = skip_rest;
    reports("[[1,2,[3]],[[4],\"]\"],{\"a\":{},\"b\":5},[\"]\",6],[],7]",
            "0[\n1[\n2?\n1end\n1[\n2[\n1end\n1{\n2key a\n2{\n1end\n1[\n2?\n1end\n"
            "1[\n1end\n1?\n17 int\n0end\nok");
}
END_TEST

static enum mp_stream_answer rest_of_nothing(const struct mp_stream_event *e,
                                             unsigned nth)
{
    (void)e;
    (void)nth;
    return MP_STREAM_SKIP_REST;
}

START_TEST(the_rest_of_the_document_is_its_value)
{
    n.options = MP_STREAM_ASK;
    n.answer = rest_of_nothing;
    reports("[1,2] ", "0[\nok");
    reports("12", "0?\nok");
    reports("\"a\"x", "0?\nunexpected text after the value at byte 3");
}
END_TEST

static enum mp_stream_answer raw_deep(const struct mp_stream_event *e, unsigned nth)
{
    (void)nth;
    return e->depth == 1 && e->kind <= MP_STREAM_SCALAR ? MP_STREAM_AS_RAW : MP_STREAM_GO;
}

START_TEST(a_raw_value_comes_as_it_is_and_is_checked)
{
    n.options = MP_STREAM_ASK;
    n.answer = raw_deep;
    reports("[ {\"a\" : [ 1,\n2 ]} , \"x\\\"\",-1.50e0 ,null,[] ]",
            "0[\n1{\n1raw {\"a\" : [ 1,\n2 ]}\n1?\n1raw \"x\\\"\"\n1?\n1raw -1.50e0\n"
            "1?\n1raw null\n1[\n1raw []\n0end\nok");
    reports("[[1,2 3]]", "0[\n1[\n1raw [1,2 unexpected character '3' at byte 6");
    reports("[\"a\tb\"]", "0[\n1?\n1raw \"acontrol character 0x09 in a string at byte 3");
    n.answer = raw_top;
    reports("12.5", "0?\n0raw 12.5\nok");
    reports("12.", "0?\n0raw 12.text ends inside a number at byte 3");
}
END_TEST

static enum mp_stream_answer stop_soon(const struct mp_stream_event *e, unsigned nth)
{
    (void)e;
    return nth == 3 ? MP_STREAM_STOP : MP_STREAM_GO;
}

START_TEST(nothing_is_read_behind_a_stop)
{
    n.answer = stop_soon;
    reports("{\"a\":[1,2,", "0{\n1key a\n1[\n21 int\nstopped");
    reports("[1,2,3,,,]", "0[\n11 int\n12 int\n13 int\nstopped");
    n.options = MP_STREAM_ASK;
    reports("{\"a\":1,\"b\"x", "0{\n1key a\n1?\n11 int\nstopped");
    reports("[1,\"a", "0[\n1?\n11 int\n1?\nstopped");
}
END_TEST

/* ---- random documents ---- */

static unsigned random_state;

static unsigned draw(unsigned below)
{
    random_state = random_state * 1103515245u + 12345;
    return (random_state >> 16) % below;
}

static void add_string(struct mp_str *text)
{
    static const char *const parts[] = {"\\\\",
                                        "\\\"",
                                        "a",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "\\\\",
                                        "\\u00e9",
                                        "\xc3\xa9",
                                        ",",
                                        ":",
                                        "long words in "};

    mp_str_addc(text, '"');
    for (unsigned i = draw(12); i; i--)
        mp_str_adds(text, parts[draw(MP_COUNT(parts))]);
    mp_str_addc(text, '"');
}

static void add_value(struct mp_str *text, unsigned depth)
{
    static const char *const scalars[] = {"true", "false", "null", "0", "-1.5e9", "77"};
    unsigned kind = draw(depth ? 5 : 3);

    if (kind < 2) {
        mp_str_adds(text, scalars[draw(MP_COUNT(scalars))]);
    } else if (kind == 2) {
        add_string(text);
    } else {
        mp_str_addc(text, kind == 3 ? '{' : '[');
        for (unsigned i = draw(6); i; i--) {
            if (kind == 3) {
                add_string(text);
                mp_str_addc(text, ':');
            }
            add_value(text, depth - 1);
            mp_str_adds(text, i > 1 ? " ," : " ");
        }
        mp_str_addc(text, kind == 3 ? '}' : ']');
    }
}

static unsigned chosen;

/* The value that the `chosen` event is about is crossed in another way. */
static enum mp_stream_answer skip_one(const struct mp_stream_event *e, unsigned nth)
{
    return nth == chosen && e->kind <= MP_STREAM_SCALAR ? MP_STREAM_SKIP : MP_STREAM_GO;
}

static enum mp_stream_answer raw_one(const struct mp_stream_event *e, unsigned nth)
{
    return nth == chosen && e->kind <= MP_STREAM_SCALAR ? MP_STREAM_AS_RAW : MP_STREAM_GO;
}

/* Cuts out of the notes what a raw value left there; the rest must be what is left when
 * that value is skipped. */
static void drop_raw(struct mp_str *text)
{
    char *raw = strstr(text->data, "raw ");
    if (!raw)
        return;
    while (raw > text->data && raw[-1] != '\n')
        raw--;
    char *end = strchr(raw, '\n') + 1; /* no newline is inside of these values */
    memmove(raw, end, strlen(end) + 1);
    text->len = strlen(text->data);
}

START_TEST(skipped_or_not_what_follows_is_the_same)
{
    struct mp_str text;

    mp_str_init(&text, 1 << 20);
    n.options = m.options = MP_STREAM_ASK;
    for (unsigned i = 0; i < fewer(4000); i++) {
        random_state = i;
        mp_str_reset(&text);
        mp_str_adds(&text, "[");
        add_value(&text, 5);
        mp_str_adds(&text, ",");
        add_value(&text, 5);
        mp_str_adds(&text, "]");

        n.answer = m.answer = NULL;
        read_pieces(&n, text.data, text.len, 1 + draw(200), 1 + draw(200));
        read_pieces(&m, text.data, text.len, text.len, 1);
        HOLDS(strcmp(n.text.data, m.text.data) == 0, "%u: %s", i, text.data);
        HOLDS(strcmp(n.text.data + n.text.len - 2, "ok") == 0, "%u: %s\n%s", i, text.data,
              n.text.data);

        chosen = draw(20);
        n.answer = raw_one;
        m.answer = skip_one;
        read_pieces(&n, text.data, text.len, 1 + draw(200), 1 + draw(200));
        read_pieces(&m, text.data, text.len, 1 + draw(200), 1 + draw(200));
        drop_raw(&n.text);
        HOLDS(strcmp(n.text.data, m.text.data) == 0, "%u: %s\n%s\n--\n%s", i, text.data,
              n.text.data, m.text.data);
    }
    mp_str_clear(&text);
}
END_TEST

/* Runs of backslashes of every length, at every place of the blocks that are skipped. */
START_TEST(runs_of_backslashes_are_skipped_wherever_they_are)
{
    struct mp_str text;

    mp_str_init(&text, 1 << 20);
    n.answer = skip_deep;
    for (unsigned before = 0; before < 130; before++)
        for (unsigned run = 0; run < 9; run++) {
            mp_str_reset(&text);
            mp_str_adds(&text, "{\"a\":[\"");
            add_times(&text, "x", before);
            add_times(&text, "\\", run);
            mp_str_adds(&text, run % 2 ? "\"]\"" : "\"");
            mp_str_adds(&text, ",\"");
            add_times(&text, "]", 100);
            mp_str_adds(&text, "\"],\"b\":1}");
            read_pieces(&n, text.data, text.len, text.len, text.len);
            HOLDS(strcmp(n.text.data, "0{\n1key a\n1[\n1key b\n11 int\n0end\nok") == 0,
                  "%u, %u: %s", before, run, n.text.data);
        }
    mp_str_clear(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_stream");
    TCase *tc = tcase_create("json_stream");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, everything_is_reported_in_order_with_its_depth);
    tcase_add_test(tc, escapes_are_checked_marked_and_not_resolved);
    tcase_add_test(tc, values_are_announced_to_those_who_ask);
    tcase_add_test(tc, the_scan_and_the_stream_agree_on_what_is_json);
    tcase_add_test(tc, a_stream_that_failed_stays_failed);
    tcase_add_test(tc, lines_are_values_of_their_own);
    tcase_add_test(tc, one_level_more_than_the_limit_is_refused);
    tcase_add_test(tc, keys_and_numbers_beyond_what_is_held_are_cut_and_marked);
    tcase_add_test(tc, what_is_skipped_is_not_reported);
    tcase_add_test(tc, what_is_skipped_needs_brackets_that_match);
    tcase_add_test(tc, the_rest_of_a_container_is_skipped_up_to_its_end);
    tcase_add_test(tc, the_rest_of_the_document_is_its_value);
    tcase_add_test(tc, a_raw_value_comes_as_it_is_and_is_checked);
    tcase_add_test(tc, nothing_is_read_behind_a_stop);
    tcase_add_test(tc, skipped_or_not_what_follows_is_the_same);
    tcase_add_test(tc, runs_of_backslashes_are_skipped_wherever_they_are);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
