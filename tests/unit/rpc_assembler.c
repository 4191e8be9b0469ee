#include "fake.h"
#include "quick.h"

#include "rpc/assembler.h"

#include <stdio.h>
#include <stdlib.h>

static struct mp_assembler a;

static void begin(size_t memory, uint64_t spill)
{
    struct mp_assembler_limits limits = {.scan = {.depth = 64, .tokens = 100000},
                                         .memory = memory,
                                         .spill = spill,
                                         .dir = "/tmp"};
    mp_assembler_init(&a, &limits);
}

static mp_message *feed(const char *text, size_t len, bool last)
{
    mp_message *m;
    int r = mp_assembler_feed(&a, mp_bytes(text, len),
                              last ? MP_PIECE_LAST : MP_PIECE_MORE, &m);
    HOLDS(r == MCPLUG_OK, "%d", r);
    return m;
}

static mp_message *feed_all(const char *text, size_t piece)
{
    size_t len = strlen(text);
    mp_message *m = NULL;
    for (size_t at = 0; at < len; at += piece) {
        HOLDS(!m, "a message before its end");
        size_t n = len - at < piece ? len - at : piece;
        m = feed(text + at, n, at + n == len);
    }
    return m;
}

/* A reply whose text is `n` times `unit`. */
static char *reply(const char *unit, size_t n)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"type\":"
                               "\"text\",\"text\":\"";
    static const char tail[] = "\"}],\"isError\":false},\"id\":7}";
    size_t u = strlen(unit);
    char *text = malloc(sizeof head + sizeof tail + u * n), *p = text;
    p = stpcpy(p, head);
    for (size_t i = 0; i < n; i++)
        p = stpcpy(p, unit);
    strcpy(p, tail);
    return text;
}

START_TEST(pieces_of_any_size_make_the_same_message)
{
    char *text = reply("h\\u00e9 \xe2\x82\xac \\\"q\\\" ", 50);
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        begin(1 << 20, 0);
        mp_message *m = feed_all(text, piece);
        ck_assert_ptr_nonnull(m);
        ck_assert_int_eq(m->state, MP_MESSAGE_READ);
        ck_assert_str_eq(m->text, text);
        ck_assert(mp_bytes_eq(mp_message_view(m, m->env.id), "7"));
        ck_assert(mp_bytes_eq(mp_message_inner(m, "isError"), "false"));
        mp_message_unref(m);
        mp_assembler_clear(&a);
    }
    free(text);
}
END_TEST

static void check_spilled(const char *unit, const char *plain, size_t n, size_t piece)
{
    char *text = reply(unit, n);
    size_t p = strlen(plain);
    begin(256 * 1024, 1 << 30);
    mp_message *m = feed_all(text, piece);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(m->state, MP_MESSAGE_READ);
    ck_assert_uint_eq(m->n_spills, 1);
    ck_assert_uint_lt(m->len, 4096);
    ck_assert(mp_bytes_eq(mp_message_view(m, m->env.id), "7"));
    ck_assert(mp_bytes_eq(mp_message_inner(m, "isError"), "false"));
    ck_assert_int_eq(mp_scan_text(m->text, m->len, &a.limits.scan, NULL, NULL), 0);

    mp_message_expose(m, m->env.result);
    struct mcplug_spill s = {.struct_size = sizeof s};
    ck_assert_int_eq(mcplug_result_spill(m, 0, &s), MCPLUG_OK);
    ck_assert_uint_eq(s.size, p * n);
    const char *json = mcplug_result_json(m, NULL);
    ck_assert_int_eq(json[s.json_offset], '"');
    ck_assert_int_eq(json[s.json_offset + s.json_len - 1], '"');
    char *whole = malloc(p * n);
    size_t got = 0;
    int64_t r;
    while ((r = mcplug_result_spill_read(m, 0, got, whole + got, 10007)) > 0)
        got += (size_t)r;
    ck_assert_uint_eq(got, p * n);
    for (size_t i = 0; i < n; i++)
        HOLDS(memcmp(whole + i * p, plain, p) == 0, "repetition %zu is wrong", i);
    free(whole);
    mp_message_unref(m);
    mp_assembler_clear(&a);
    free(text);
}

START_TEST(a_long_string_goes_to_the_file_unescaped_and_whole)
{
    static const size_t pieces[] = {1000, 4096, 65536, 100000, 1 << 20};
    for (size_t i = 0; i < MP_COUNT(pieces); i++) {
        check_spilled("0123456789", "0123456789", 50000, pieces[i]);
        check_spilled("a\\n\\u20ac\xf0\x9f\x98\x80", "a\n\xe2\x82\xac\xf0\x9f\x98\x80",
                      30000, pieces[i]);
        check_spilled("\\ud83d\\ude00", "\xf0\x9f\x98\x80", 40000, pieces[i]);
        check_spilled("\\\"", "\"", 300000, pieces[i]);
    }
    check_spilled("x", "x", 200000, 1);
}
END_TEST

START_TEST(several_long_strings_share_one_file)
{
    struct mp_str text;
    mp_str_init(&text, 1 << 26);
    mp_str_adds(&text, "{\"id\":7,\"result\":{\"content\":[");
    for (int i = 0; i < 20; i++) {
        mp_str_addf(&text, "%s{\"text\":\"", i ? "," : "");
        for (int k = 0; k < 100000; k++)
            mp_str_addc(&text, (char)('a' + i));
        mp_str_adds(&text, "\"}");
    }
    mp_str_adds(&text, "]}}");
    begin(256 * 1024, 1 << 30);
    mp_message *m = feed_all(text.data, 65536);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(m->state, MP_MESSAGE_READ);
    ck_assert_uint_gt(m->n_spills, 15);
    for (size_t i = 0; i < m->n_spills; i++) {
        char c;
        ck_assert_uint_eq(m->spills[i].size, 100000);
        ck_assert_int_eq(mcplug_result_spill_read(m, i, 99999, &c, 1), 1);
        ck_assert_int_eq(m->text[m->spills[i].at + 1], c);
    }
    mp_message_unref(m);
    mp_assembler_clear(&a);
    mp_str_clear(&text);
}
END_TEST

static void check_broken(const char *text, size_t piece, int code, const char *words,
                         uint64_t id)
{
    mp_message *m = feed_all(text, piece);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(m->state, MP_MESSAGE_BROKEN);
    ck_assert_int_eq(m->error->code, code);
    ck_assert_msg(strstr(m->error->text, words) != NULL, "%s", m->error->text);
    ck_assert_uint_eq(m->salvaged_id, id);
    mp_message_unref(m);
}

START_TEST(what_exceeds_the_limits_fails_with_the_limit_and_its_id)
{
    char *text = reply("x", 500000);
    begin(256 * 1024, 300000);
    check_broken(text, 65536, MCPLUG_ETOOBIG, "300000", 7);
    free(text);

    struct mp_str many;
    mp_str_init(&many, 1 << 26);
    mp_str_adds(&many, "{\"id\":9,\"result\":{\"a\":[");
    for (int i = 0; i < 60000; i++)
        mp_str_adds(&many, "\"abcdef\",");
    mp_str_adds(&many, "1]}}");
    check_broken(many.data, 5000, MCPLUG_ETOOBIG, "262144", 9);
    mp_str_clear(&many);

    mp_message *m =
        feed_all("{\"id\":1,\"result\":{}}", 3); /* and the next one is fine */
    ck_assert_int_eq(m->state, MP_MESSAGE_READ);
    mp_message_unref(m);
    mp_assembler_clear(&a);
}
END_TEST

START_TEST(a_spill_that_cannot_be_written_fails_its_message_alone)
{
    char *text = reply("x", 500000);
    begin(256 * 1024, 1 << 30);
    a.limits.dir = "/proc/no/such/place";
    check_broken(text, 65536, MCPLUG_EIO,
                 "cannot create a spill file in /proc/no/such/place: ", 7);
    free(text);
    mp_assembler_clear(&a);
}
END_TEST

/* ---- what nobody asked for ---- */

static bool any, seven; /* a call is under way; that with id 7 is */

static bool is_wanted(void *arg, mp_view id)
{
    ck_assert_ptr_eq(arg, &any);
    return id.len ? seven && mp_bytes_eq(id, "7") : any;
}

/* Feeds it up to the beginning of `until`, in pieces; was there ever a file? */
static bool spills_before(const char *text, const char *until)
{
    size_t len = until ? (size_t)(strstr(text, until) - text) : strlen(text);
    bool spilled = false;

    for (size_t at = 0; at < len; at += 5000) {
        mp_message *m = feed(text + at, len - at < 5000 ? len - at : 5000, false);
        ck_assert_ptr_null(m);
        spilled = spilled || a.spill.fd >= 0;
    }
    return spilled;
}

static void expect_broken(const char *words, uint64_t id)
{
    mp_message *m = feed("", 0, true);

    ck_assert_int_eq(a.spill.fd, -1);
    ck_assert_int_eq(m->state, MP_MESSAGE_BROKEN);
    ck_assert_int_eq(m->error->code, MCPLUG_ETOOBIG);
    ck_assert_ptr_nonnull(strstr(m->error->text, words));
    ck_assert_uint_eq(m->salvaged_id, id);
    mp_message_unref(m);
}

static char *around(const char *head, const char *tail)
{
    enum { LONG = 900000 };
    char *text = malloc(strlen(head) + LONG + strlen(tail) + 1), *p = stpcpy(text, head);

    memset(p, 'x', LONG);
    strcpy(p + LONG, tail);
    return text;
}

static void begin_asked(void)
{
    begin(256 * 1024, 1 << 30);
    a.limits.wanted = is_wanted;
    a.limits.arg = &any;
    any = seven = true;
}

START_TEST(only_answers_to_calls_under_way_spill)
{
    static const struct {
        const char *head, *tail;
        bool any;
        uint64_t id; /* of the call that is failed */
    } texts[] = {
        {"{\"method\":\"notifications/message\",\"params\":{\"data\":\"", "\"}}", true,
         0},
        {"{\"id\":7,\"method\":\"sampling/createMessage\",\"params\":{\"a\":\"", "\"}}",
         true, 0},
        {"{\"id\":8,\"result\":{\"a\":\"", "\"}}", true, 8},
        {"{\"id\":\"seven\",\"result\":{\"a\":\"", "\"}}", true, 0},
        {"{\"result\":{\"a\":\"", "\"},\"id\":7}", false, 7},
        {"[{\"id\":7,\"result\":{\"a\":\"", "\"}}]", true, 0},
    };

    begin_asked();
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        char *text = around(texts[i].head, texts[i].tail);
        any = texts[i].any;
        ck_assert_msg(!spills_before(text, NULL), "%s", texts[i].head);
        if (text[0] == '[')
            mp_message_unref(feed("", 0, true));
        else
            expect_broken("exceeds 262144 bytes of memory", texts[i].id);
        free(text);
    }
    any = true;
    char *text = around("{\"id\":7,\"result\":{\"a\":\"", "\"}}");
    ck_assert(spills_before(text, NULL));
    mp_message *m = feed("", 0, true);
    ck_assert_int_eq(m->state, MP_MESSAGE_READ);
    ck_assert_uint_eq(m->n_spills, 1);
    mp_message_unref(m);
    free(text);
    mp_assembler_clear(&a);
}
END_TEST

START_TEST(what_turns_out_to_be_nobodys_leaves_the_disk)
{
    char *text = around("{\"result\":{\"a\":\"", "\"},\"id\":8 }");
    begin_asked();
    ck_assert(spills_before(text, "\"id\"")); /* it could be anybody's answer */
    feed("\"id\":8 }", 8, false);
    ck_assert_int_eq(a.spill.fd, -1);
    expect_broken("no call waits for", 8);
    free(text);

    text = around("{\"result\":{\"a\":\"", "\"},\"method\":\"m\",\"id\":7}");
    ck_assert(spills_before(text, "\"method\""));
    feed("\"method\":\"m\",", 13, false);
    ck_assert_int_eq(a.spill.fd, -1);
    feed("\"id\":7}", 7, false);
    expect_broken("no call waits for", 0);
    free(text);
    mp_assembler_clear(&a);
}
END_TEST

START_TEST(the_answer_to_a_call_that_has_ended_leaves_the_disk)
{
    char *text = around("{\"id\":7,\"result\":{\"a\":\"", "\"}}");
    begin_asked();
    ck_assert(spills_before(text, "\"}}"));
    ck_assert_int_ge(a.spill.fd, 0);
    seven = false; /* it was cancelled */
    feed("xxx", 3, false);
    ck_assert_int_eq(a.spill.fd, -1);
    feed("\"}}", 3, false);
    expect_broken("no call waits for", 7);
    free(text);
    mp_assembler_clear(&a);
}
END_TEST

START_TEST(unreadable_messages_keep_the_id_wherever_it_stands)
{
    begin(1 << 20, 0);
    check_broken("{\"id\":5,\"result\":{\"a\":tru}}", 4, MCPLUG_EPROTO, "byte", 5);
    check_broken("{\"result\":{\"a\":\"\x80\"},\"id\":6}", 4, MCPLUG_EPROTO, "UTF-8", 6);
    check_broken("{\"result\":{\"a\":1", 4, MCPLUG_EPROTO, "ends", 0);
    check_broken("{\"id\":1,\"id\":2}", 100, MCPLUG_EPROTO, "duplicate", 2);
    mp_assembler_clear(&a);
}
END_TEST

START_TEST(what_the_end_of_the_stream_cuts_short_is_noise)
{
    static const struct {
        const char *text;
        enum mp_message_state state;
    } lines[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"con", MP_MESSAGE_NOISE},
        {"{\"id\":4,\"result\":{}", MP_MESSAGE_NOISE},
        {"{", MP_MESSAGE_NOISE},
        {"[{\"id\":4", MP_MESSAGE_NOISE},
        {"{\"id\":4,\"result\":{}}", MP_MESSAGE_READ},
        {"{\"id\":4,\"result\":tru}", MP_MESSAGE_BROKEN},
    };
    for (size_t i = 0; i < MP_COUNT(lines); i++) {
        for (int whole = 0; whole <= 1; whole++) {
            mp_message *m;
            size_t len = strlen(lines[i].text);
            begin(1 << 20, 0);
            if (!whole)
                ck_assert_ptr_null(feed(lines[i].text, len, false));
            struct mcplug_bytes piece = mp_bytes(lines[i].text, whole ? len : 0);
            ck_assert_int_eq(mp_assembler_feed(&a, piece, MP_PIECE_CUT, &m), MCPLUG_OK);
            ck_assert_ptr_nonnull(m);
            ck_assert_int_eq(m->state, lines[i].state);
            ck_assert_str_eq(m->text, lines[i].text);
            mp_message_unref(m);
            m = feed_all("{\"id\":1,\"result\":{}}", 100);
            ck_assert_int_eq(m->state, MP_MESSAGE_READ);
            mp_message_unref(m);
            mp_assembler_clear(&a);
        }
    }
}
END_TEST

START_TEST(what_does_not_begin_as_json_is_noise_of_which_little_is_kept)
{
    static const char *const lines[] = {"Server started", "[INFO] ready", "7",
                                        "\"text\"",       "\xef\xbf\xbd", "true"};
    begin(1 << 20, 0);
    for (size_t i = 0; i < MP_COUNT(lines); i++) {
        mp_message *m = feed_all(lines[i], 100);
        ck_assert_int_eq(m->state, MP_MESSAGE_NOISE);
        ck_assert_str_eq(m->text, lines[i]);
        mp_message_unref(m);
    }
    char *block = malloc(1 << 20);
    memset(block, 'n', 1 << 20);
    for (int i = 0; i < 300; i++)
        ck_assert_ptr_null(feed(block, 1 << 20, false));
    mp_message *m = feed("", 0, true);
    ck_assert_int_eq(m->state, MP_MESSAGE_NOISE);
    ck_assert_uint_eq(m->len, MP_EDGE);
    mp_message_unref(m);
    free(block);
    mp_assembler_clear(&a);
}
END_TEST

START_TEST(empty_lines_and_blanks_are_no_message)
{
    begin(1 << 20, 0);
    ck_assert_ptr_null(feed("", 0, true));
    ck_assert_ptr_null(feed("  \t\r", 4, true));
    mp_message *m = feed("  {}  ", 6, true);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(m->state, MP_MESSAGE_READ);
    mp_message_unref(m);
    mp_assembler_clear(&a);
}
END_TEST

START_TEST(a_byte_order_mark_is_passed_over_wherever_it_is_cut)
{
    static const char text[] = " \xef\xbb\xbf{\"id\":1,\"result\":{}}";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        begin(1 << 20, 0);
        mp_message *m = feed_all(text, piece);
        ck_assert_ptr_nonnull(m);
        ck_assert_int_eq(m->state, MP_MESSAGE_READ);
        mp_message_unref(m);
        m = feed_all("\xef\xbb{}", piece); /* not whole: noise, with all its bytes */
        ck_assert_int_eq(m->state, MP_MESSAGE_NOISE);
        ck_assert_str_eq(m->text, "\xef\xbb{}");
        mp_message_unref(m);
        mp_assembler_clear(&a);
    }
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, pieces_of_any_size_make_the_same_message);
    tcase_add_test(tc, a_long_string_goes_to_the_file_unescaped_and_whole);
    tcase_add_test(tc, several_long_strings_share_one_file);
    tcase_add_test(tc, what_exceeds_the_limits_fails_with_the_limit_and_its_id);
    tcase_add_test(tc, a_spill_that_cannot_be_written_fails_its_message_alone);
    tcase_add_test(tc, only_answers_to_calls_under_way_spill);
    tcase_add_test(tc, what_turns_out_to_be_nobodys_leaves_the_disk);
    tcase_add_test(tc, the_answer_to_a_call_that_has_ended_leaves_the_disk);
    tcase_add_test(tc, unreadable_messages_keep_the_id_wherever_it_stands);
    tcase_add_test(tc, what_the_end_of_the_stream_cuts_short_is_noise);
    tcase_add_test(tc, what_does_not_begin_as_json_is_noise_of_which_little_is_kept);
    tcase_add_test(tc, empty_lines_and_blanks_are_no_message);
    tcase_add_test(tc, a_byte_order_mark_is_passed_over_wherever_it_is_cut);
}

int main(void)
{
    return run_suite("rpc_assembler", add);
}
