/* Streams of events, cut in every way. */
#include "../../plugins/common/sse.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What came out: <type|data|id|retry> for each event, with "-" for no data. */
struct seen {
    struct sse_in in;
    char log[8192], data[4096];
    size_t n_log, n_data;
    unsigned pieces, events;
    size_t bytes; /* of data, also beyond what is kept */
    int broken;   /* a promise of the callbacks; noted here, since asserting is slow */
};

static struct seen seen;

static void put(char c)
{
    if (seen.n_log + 3 >= sizeof seen.log)
        return;
    if (c == '\n' || c == '\0')
        seen.log[seen.n_log++] = '\\';
    seen.log[seen.n_log++] = c == '\n' ? 'n' : c == '\0' ? '0' : c;
    seen.log[seen.n_log] = '\0';
}

static void puts_log(const char *text)
{
    while (*text)
        put(*text++);
}

static void on_data(void *arg, const char *type, struct mcplug_bytes piece)
{
    if (arg != &seen || !type || piece.len == 0)
        seen.broken = 1;
    seen.pieces++;
    seen.bytes += piece.len;
    if (piece.len <= sizeof seen.data - seen.n_data) {
        memcpy(seen.data + seen.n_data, piece.data, piece.len);
        seen.n_data += piece.len;
    }
}

static void on_event(void *arg, const char *type, int has_data)
{
    char retry[32];
    if (arg != &seen || has_data != (seen.pieces > 0))
        seen.broken = 1;
    seen.events++;
    if (seen.n_log + 2000 < sizeof seen.log) {
        put('<');
        puts_log(type);
        put('|');
        for (size_t i = 0; i < seen.n_data; i++)
            put(seen.data[i]);
        if (!has_data)
            put('-');
        put('|');
        puts_log(seen.in.id);
        snprintf(retry, sizeof retry, "|%lld>", (long long)seen.in.retry_ms);
        puts_log(retry);
    }
    seen.pieces = 0;
    seen.n_data = 0;
}

static void begin(void)
{
    memset(&seen, 0, sizeof seen);
    sse_in_init(&seen.in, on_data, on_event, &seen);
}

static void promises_were_kept(void)
{
    ck_assert(!seen.broken);
}

/* From memory of its own, so that reading beyond is noticed. */
static void feed(const void *bytes, size_t len)
{
    unsigned char *copy = malloc(len ? len : 1);
    if (!copy)
        abort();
    memcpy(copy, bytes, len);
    sse_in_feed(&seen.in, copy, len);
    free(copy);
}

static void say(const char *text)
{
    feed(text, strlen(text));
}

static const struct {
    const char *stream;
    size_t len;
    const char *want;
} streams[] = {
#define ROW(stream, want)                                                                \
    {                                                                                    \
        stream, sizeof stream - 1, want                                                  \
    }
    ROW("data: a\n\n", "<|a||-1>"),
    ROW("data:a\n\n", "<|a||-1>"),
    ROW("data:  a \n\n", "<| a ||-1>"), /* one blank is left out */
    ROW("data:\ta\n\n", "<|\ta||-1>"),
    ROW("data: a: b\n\n", "<|a: b||-1>"),
    ROW("data: a\r\rdata: b\r\n\r\ndata: c\n\n", "<|a||-1><|b||-1><|c||-1>"),
    ROW("data: a\r\n\rdata: b\n\r\n", "<|a||-1><|b||-1>"),
    ROW("data: a\n\rdata: b\r\r\n", "<|a||-1><|b||-1>"),
    ROW("data: a\ndata: b\ndata: c\n\n", "<|a\\nb\\nc||-1>"),
    ROW("data: a\r\ndata\r\ndata:\r\ndata: b\r\n\r\n", "<|a\\n\\n\\nb||-1>"),
    ROW("data\n\n", "<|-||-1>"),
    ROW("data:\n\n", "<|-||-1>"),
    ROW("data: \n\n", "<|-||-1>"),
    ROW("data:  \n\n", "<| ||-1>"),
    ROW("data\ndata\n\n", "<|\\n||-1>"),
    ROW("data\ndata: x\n\n", "<|\\nx||-1>"),
    ROW("data: x\ndata\n\n", "<|x\\n||-1>"),
    /* byte order marks */
    ROW("\xef\xbb\xbf"
        "data: a\n\n\xef\xbb\xbf"
        "data: b\n\ndata: c\n\n",
        "<|a||-1><|c||-1>"),
    ROW("\xef\xbb"
        "data: a\n\ndata: b\n\n",
        "<|b||-1>"),
    ROW("\xef\n\ndata: b\n\n", "<|b||-1>"),
    ROW("\xef\xbb\xbf\xef\xbb\xbf"
        "data: a\ndata: b\n\n",
        "<|b||-1>"),
    ROW("\xef\xbb\xbf\n\xef\xbb\xbf:\n\n", ""),
    /* comments, unknown fields, and what looks nearly known */
    ROW(": hello\n\n:\n\n: data: a\n\n\n\n", ""),
    ROW(":\ndata: a\n: x\ndata: b\n\n", "<|a\\nb||-1>"),
    ROW("dat: a\ndataa: b\nDATA: c\n data: d\ndata : e\nx\n\n", ""),
    ROW("a-name-longer-than-all-that-are-known: x\ndata: a\n\n", "<|a||-1>"),
    ROW("dataaaaaaaaaaa\ndata\0: x\nretryretry: 1\n\n", ""),
    ROW("da\0ta: x\n\0\n\n", ""),
    /* types */
    ROW("event: endpoint\ndata: /x\n\ndata: y\n\n", "<endpoint|/x||-1><|y||-1>"),
    ROW("event: a\nevent: b\ndata: y\n\n", "<b|y||-1>"),
    ROW("event: a\nevent\ndata: y\n\n", "<|y||-1>"),
    ROW("event: a\n\ndata: y\n\n", "<a|-||-1><|y||-1>"),
    ROW("event: a\0b\ndata: y\n\n", "<a?b|y||-1>"),
    ROW("event: 0123456789012345678901234567890\n\n",
        "<0123456789012345678901234567890|-||-1>"),
    ROW("event: 01234567890123456789012345678901\n\n",
        "<0123456789012345678901234567890|-||-1>"),
    ROW("data: /x\nevent: endpoint\n\ndata: y\nevent: message\nid: 1\n\n",
        "<endpoint|/x||-1><message|y|1|-1>"),
    ROW("data: /x\r\nevent: endpoint\r\n\r\nid: 1\r\ndata: y\r\nevent: message\r\n\r\n",
        "<endpoint|/x||-1><message|y|1|-1>"),
    ROW("event: a\ndata: x\nevent: b\ndata: y\n\n", "<b|x\\ny||-1>"),
    /* ids */
    ROW("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "<|a|1|-1><|b|1|-1><|c||-1>"),
    ROW("id: 1\n\n", "<|-|1|-1>"),
    ROW("data: a\nid: 1\n\n", "<|a|1|-1>"),
    ROW("id: 1\nid: 2\n\n", "<|-|2|-1>"),
    ROW("id: 1\nid: 2\0\n\n", "<|-|1|-1>"),
    ROW("id: 1\n\nid: \0\ndata: a\n\n", "<|-|1|-1><|a|1|-1>"),
    ROW("id:\n\n", "<|-||-1>"),
    ROW("id: 1\ndata: a\n", ""),
    /* retry */
    ROW("retry: 1500\n\n", "<|-||1500>"),
    ROW("retry:0\n\n", "<|-||0>"),
    ROW("retry: 007\n\n", "<|-||7>"),
    ROW("retry: 1500\nretry: 1a\nretry: -1\nretry: 1.5\nretry:  2\nretry: 3 \nretry\n"
        "retry:\n\n",
        "<|-||1500>"),
    ROW("retry: 86400000\n\nretry: 86400001\n\n", "<|-||86400000><|-||86400000>"),
    ROW("retry: 99999999999999999999999999\n\n", "<|-||86400000>"),
    /* a stream that primes a client to come back */
    ROW("id: 7\nretry: 500\ndata:\n\n: x\n\nevent: message\nid: 8\ndata: {}\n\n",
        "<|-|7|500><message|{}|8|500>"),
    /* an end that is none */
    ROW("data: a\n\ndata: b\n", "<|a||-1>"),
    ROW("data: a\n\ndata: b", "<|a||-1>"),
    ROW("data: a\r\n\r", "<|a||-1>"),
    ROW("data: a\0b\n\n", "<|a\\0b||-1>"),
    ROW("data: \xe4\xb8\x96\xff\n\n", "<|\xe4\xb8\x96\xff||-1>"),
    ROW("", ""),
    ROW("\n\r\r\n\n", ""),
#undef ROW
};

START_TEST(events_are_the_same_wherever_the_stream_is_cut)
{
    const char *p = streams[_i].stream;
    size_t len = streams[_i].len;
    for (size_t i = 0; i <= len; i++)
        for (size_t j = i; j <= len; j++) {
            begin();
            feed(p, i);
            feed(p + i, j - i);
            feed(p + j, len - j);
            if (seen.broken || strcmp(seen.log, streams[_i].want) != 0)
                ck_abort_msg("stream %d cut at %zu and %zu: %s, not %s", _i, i, j,
                             seen.log, streams[_i].want);
        }
}
END_TEST

START_TEST(events_are_the_same_byte_by_byte)
{
    begin();
    for (size_t i = 0; i < streams[_i].len; i++)
        feed(streams[_i].stream + i, 1);
    ck_assert_str_eq(seen.log, streams[_i].want);
}
END_TEST

static char type_at_data[64];

static void note_type(void *arg, const char *type, struct mcplug_bytes piece)
{
    on_data(arg, type, piece);
    snprintf(type_at_data, sizeof type_at_data, "%s", type);
}

START_TEST(data_comes_with_the_type_that_was_said_before)
{
    begin();
    sse_in_init(&seen.in, note_type, on_event, &seen);
    say("event: early\ndata: a\n");
    ck_assert_str_eq(type_at_data, "early");
    say("\ndata: b\n");
    ck_assert_str_eq(type_at_data, "");
    say("event: late\n\n");
    ck_assert_str_eq(seen.log, "<early|a||-1><late|b||-1>");
}
END_TEST

START_TEST(data_is_handed_on_as_it_comes_and_in_one_piece)
{
    begin();
    say("data: abc");
    ck_assert_uint_eq(seen.n_data, 3);
    ck_assert_uint_eq(seen.pieces, 1);
    say("def");
    ck_assert_uint_eq(seen.n_data, 6);
    ck_assert_uint_eq(seen.pieces, 2);
    say("ghi\n");
    ck_assert_uint_eq(seen.pieces, 3);
    ck_assert_uint_eq(seen.events, 0);
    say("\n");
    ck_assert_str_eq(seen.log, "<|abcdefghi||-1>");
}
END_TEST

static void say_long_id(size_t len)
{
    char *text = malloc(len + 16);
    ck_assert_ptr_nonnull(text);
    memset(text, 'i', len + 16);
    memcpy(text, "id: ", 4);
    memcpy(text + 4 + len, "\n\n", 3);
    for (size_t i = 0; i < 6 + len; i += 100)
        feed(text + i, 6 + len - i < 100 ? 6 + len - i : 100);
    free(text);
}

START_TEST(an_id_that_cannot_be_kept_counts_as_none)
{
    begin();
    say("id: 1\n\n");
    say_long_id(SSE_ID_MAX - 1);
    ck_assert_uint_eq(strlen(seen.in.id), SSE_ID_MAX - 1);
    say_long_id(SSE_ID_MAX);
    ck_assert_str_eq(seen.in.id, "");
    say("id: 2\n\n");
    ck_assert_str_eq(seen.in.id, "2");
    say_long_id(100000);
    ck_assert_str_eq(seen.in.id, "");
    ck_assert_uint_eq(seen.events, 5);
}
END_TEST

START_TEST(a_nul_far_behind_in_an_id_is_noticed_too)
{
    static char text[5000];
    begin();
    say("id: 1\n\n");
    memset(text, 'i', sizeof text);
    memcpy(text, "id:", 3);
    text[4000] = '\0';
    memcpy(text + sizeof text - 2, "\n\n", 2);
    feed(text, sizeof text);
    ck_assert_str_eq(seen.in.id, "1");
}
END_TEST

START_TEST(an_id_counts_only_once_its_event_is_over)
{
    begin();
    say("id: 1\n\nid: 2\ndata: a\n");
    ck_assert_str_eq(seen.in.id, "1");
    say("\n");
    ck_assert_str_eq(seen.in.id, "2");
}
END_TEST

START_TEST(a_new_stream_begins_without_the_event_that_was_cut_off)
{
    begin();
    say("id: 1\nretry: 10\n\nid: 2\nevent: x\ndata: lost");
    ck_assert_int_eq(sse_in_restart(&seen.in), 1);
    seen.pieces = 0;
    seen.n_data = 0;
    say("\xef\xbb\xbf"
        "data: kept\n\n");
    ck_assert_str_eq(seen.log, "<|-|1|10><|kept|1|10>");
}
END_TEST

START_TEST(restarting_tells_whether_data_was_handed_on)
{
    static const struct {
        const char *text;
        int want;
    } table[] = {
        {"", 0},
        {"data: a", 1},
        {"data: a\n", 1},
        {"data: a\n\n", 0},
        {"data: a\n\n\xef", 0},
        {"data:", 0},
        {"data:\n", 0},
        {"data:\ndata", 0},
        {"data:\ndata:", 1}, /* the LF between */
        {"data:\ndata\n", 1},
        {"id: 1\nevent: x\n: y", 0},
        {"\xef\xbb", 0},
        {"data: a\r", 1},
        {"data: a\r\n\r", 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        begin();
        say(table[i].text);
        ck_assert_msg(sse_in_restart(&seen.in) == table[i].want, "%s", table[i].text);
        ck_assert_int_eq(sse_in_restart(&seen.in), 0);
        seen.pieces = 0;
        seen.n_data = seen.n_log = 0;
        seen.log[0] = '\0';
        say("\xef\xbb\xbf\ndata: b\n\n");
        ck_assert_str_eq(seen.log, "<|b||-1>");
    }
}
END_TEST

START_TEST(long_lines_and_many_short_ones_take_no_memory_and_little_time)
{
    size_t size = 4 << 20;
    unsigned char *bytes = malloc(size);
    ck_assert_ptr_nonnull(bytes);
    begin();

    memset(bytes, 'x', size); /* one line, of data, of nothing known, of a comment */
    say("data:");
    sse_in_feed(&seen.in, bytes, size);
    ck_assert_uint_eq(seen.bytes, size);
    ck_assert_uint_eq(seen.pieces, 1);
    say("\nunknown:");
    sse_in_feed(&seen.in, bytes, size);
    say("\n:");
    sse_in_feed(&seen.in, bytes, size);
    say("\n");
    sse_in_feed(&seen.in, bytes, size);
    say("\nretry:");
    sse_in_feed(&seen.in, bytes, size);
    say("\n\n");
    ck_assert_uint_eq(seen.events, 1);
    ck_assert_uint_eq(seen.bytes, size);

    /* Were each line end looked for anew up to the end, this would take minutes. */
    memset(bytes, '\r', size);
    sse_in_feed(&seen.in, bytes, size);
    memset(bytes, '\n', size);
    sse_in_feed(&seen.in, bytes, size);
    ck_assert_uint_eq(seen.events, 1);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_sse");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 30);
    tcase_add_checked_fixture(t, NULL, promises_were_kept);
    tcase_add_loop_test(t, events_are_the_same_wherever_the_stream_is_cut, 0,
                        COUNT(streams));
    tcase_add_loop_test(t, events_are_the_same_byte_by_byte, 0, COUNT(streams));
    tcase_add_test(t, data_comes_with_the_type_that_was_said_before);
    tcase_add_test(t, data_is_handed_on_as_it_comes_and_in_one_piece);
    tcase_add_test(t, an_id_that_cannot_be_kept_counts_as_none);
    tcase_add_test(t, a_nul_far_behind_in_an_id_is_noticed_too);
    tcase_add_test(t, an_id_counts_only_once_its_event_is_over);
    tcase_add_test(t, a_new_stream_begins_without_the_event_that_was_cut_off);
    tcase_add_test(t, restarting_tells_whether_data_was_handed_on);
    tcase_add_test(t, long_lines_and_many_short_ones_take_no_memory_and_little_time);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
