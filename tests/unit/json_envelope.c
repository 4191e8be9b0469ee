#include "json/scan.h"

#include "base/buf.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* Of an envelope only as much is set as was found. */
static size_t noted_size(const struct mp_envelope *env)
{
    return offsetof(struct mp_envelope, inner) + env->n_inner * sizeof env->inner[0];
}

static const struct mp_scan_limits wide = {64, 1000000};

static void is_span(const char *text, struct mp_span span, const char *expected)
{
    ck_assert_uint_eq(span.len, strlen(expected));
    ck_assert_mem_eq(text + span.at, expected, span.len);
}

static struct mp_envelope scan(const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_envelope env;
    int r = mp_scan_text(text, strlen(text), &wide, &env, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    return env;
}

START_TEST(the_members_of_a_request_are_found)
{
    const char *text =
        " { \"jsonrpc\" : \"2.0\",\"id\":17 ,\"method\":\"tools/call\","
        "\"params\":{\"name\":\"x\",\"arguments\":{\"name\":[1]} , \"n\":1}}";
    struct mp_envelope env = scan(text);

    is_span(text, env.jsonrpc, "\"2.0\"");
    is_span(text, env.id, "17");
    is_span(text, env.method, "\"tools/call\"");
    is_span(text, env.params, "{\"name\":\"x\",\"arguments\":{\"name\":[1]} , \"n\":1}");
    ck_assert_uint_eq(env.result.len, 0);
    ck_assert_uint_eq(env.error.len, 0);
    ck_assert_uint_eq(env.n_inner, 3);
    ck_assert_uint_eq(env.n_inner_seen, 3);
    is_span(text, env.inner[0].key, "\"name\"");
    is_span(text, env.inner[0].value, "\"x\"");
    is_span(text, env.inner[1].key, "\"arguments\"");
    is_span(text, env.inner[1].value, "{\"name\":[1]}");
    is_span(text, env.inner[2].key, "\"n\"");
    is_span(text, env.inner[2].value, "1");
}
END_TEST

START_TEST(the_members_of_an_answer_are_found)
{
    const char *text = "{\"result\":{\"content\":[{}],\"ok\":true},\"id\":-1.5e3}";
    struct mp_envelope env = scan(text);
    is_span(text, env.result, "{\"content\":[{}],\"ok\":true}");
    is_span(text, env.id, "-1.5e3");
    is_span(text, env.inner[0].value, "[{}]");
    is_span(text, env.inner[1].value, "true");

    text = "{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}";
    env = scan(text);
    is_span(text, env.id, "null");
    is_span(text, env.inner[0].value, "-32700");
    is_span(text, env.inner[1].value, "\"m\"");
}
END_TEST

START_TEST(only_objects_have_inner_members)
{
    ck_assert_uint_eq(scan("{\"params\":[{\"a\":1}]}").n_inner, 0);
    ck_assert_uint_eq(scan("{\"result\":\"a\"}").n_inner, 0);
    ck_assert_uint_eq(scan("{\"result\":{}}").n_inner, 0);
    ck_assert_uint_eq(scan("{\"method\":{\"a\":1},\"other\":{\"b\":2}}").n_inner, 0);
    ck_assert_uint_eq(scan("{\"other\":{\"params\":{\"b\":2}}}").n_inner, 0);
    ck_assert_uint_eq(scan("[{\"params\":{\"b\":2}}]").n_inner, 0);
}
END_TEST

START_TEST(names_are_exact)
{
    struct mp_envelope none = {0};
    static const char *const texts[] = {
        "{\"ID\":1,\"Method\":2,\"PARAMS\":{\"a\":1}}",
        "{\"result\\u0000\":{},\"i\\n\":1,\"\\u0130d\":2,\"\\/\":3}",
        "{\"\":1,\"i\":2,\"idd\":3,\"jsonrpc2\":4,\"a-longer-name\":5}",
        "{\"x\":{\"id\":1,\"id\":2}}",
        "{\"\xc3\xa9id\":1,\"error\xc3\xa9\":2}",
        "[{\"id\":1,\"id\":2}]",
        "[\"id\",1]",
        "\"id\"",
    };
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        struct mp_envelope env = scan(texts[i]);
        ck_assert_mem_eq(&env, &none, noted_size(&none));
    }
}
END_TEST

START_TEST(each_of_the_six_may_come_once_only)
{
    static const char *const names[] = {"jsonrpc", "id",     "method",
                                        "params",  "result", "error"};
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        struct mp_envelope env;
        char text[80], expected[80];
        snprintf(text, sizeof text, "{\"%s\":{\"id\":1,\"id\":1},\"%s\":1}", names[i],
                 names[i]);
        snprintf(expected, sizeof expected, "duplicate member \"%s\" at byte %zu",
                 names[i], strlen(names[i]) + 20);
        ck_assert_int_eq(mp_scan_text(text, strlen(text), &wide, &env, &err),
                         MCPLUG_EPROTO);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(mp_scan_text(text, strlen(text), &wide, NULL, &err), MCPLUG_OK);

        /* an escape does not make another name of it */
        snprintf(text, sizeof text, "{\"\\u00%02x%s\":1,\"%s\":1}", names[i][0],
                 names[i] + 1, names[i]);
        snprintf(expected, sizeof expected, "duplicate member \"%s\" at byte %zu",
                 names[i], strlen(names[i]) + 11);
        ck_assert_int_eq(mp_scan_text(text, strlen(text), &wide, &env, &err),
                         MCPLUG_EPROTO);
        ck_assert_str_eq(err.text, expected);
    }
}
END_TEST

START_TEST(names_may_be_escaped)
{
    const char *text = "{\"i\\u0064\":1,\"\\u0070aram\\u0073\":{\"\\u0061\":2}}";
    struct mp_envelope env = scan(text);

    is_span(text, env.id, "1");
    is_span(text, env.params, "{\"\\u0061\":2}");
    ck_assert_uint_eq(env.n_inner, 1);
    ck_assert_uint_eq(env.names, MP_KEYS_ESCAPED);
}
END_TEST

/* However the text is cut, two equal names are never missed. */
START_TEST(names_that_may_be_the_same_are_noted)
{
    static const struct {
        const char *text;
        unsigned names;
    } texts[] = {
        {"{\"result\":{\"content\":[],\"isError\":true},\"id\":1}", 0},
        {"{\"result\":{\"content\":[],\"content\":[]},\"id\":1}", MP_KEYS_ALIKE},
        {"{\"result\":{\"_meta\":{},\"x\":1}}", MP_KEYS_META},
        {"{\"result\":{\"\":1,\"\":2}}", MP_KEYS_ALIKE},
        {"{\"other\":{\"a\":1,\"a\":2}}", 0},
    };

    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        size_t len = strlen(texts[i].text), used;
        ck_assert_uint_eq(scan(texts[i].text).names, texts[i].names);
        for (size_t cut = 1; cut < len; cut++) {
            struct mp_scan s;
            mp_scan_init(&s, &wide);
            ck_assert_int_eq(mp_scan_feed(&s, texts[i].text, cut, false, &used, NULL), 0);
            ck_assert_int_eq(
                mp_scan_feed(&s, texts[i].text + cut, len - cut, false, &used, NULL), 0);
            ck_assert_int_eq(mp_scan_end(&s, NULL), 0);
            ck_assert_uint_eq(s.env.names & texts[i].names & MP_KEYS_ALIKE,
                              texts[i].names & MP_KEYS_ALIKE);
            ck_assert(!(texts[i].names & MP_KEYS_META) || s.env.names);
        }
    }
}
END_TEST

START_TEST(more_inner_members_than_are_noted_are_counted)
{
    for (unsigned n = MP_INNER_MAX - 1; n <= MP_INNER_MAX + 1; n++) {
        char text[1024] = "{\"result\":{";
        for (unsigned i = 0; i < n; i++)
            sprintf(text + strlen(text), "%s\"m%u\":%u", i ? "," : "", i, i);
        strcat(text, "},\"id\":1}");
        struct mp_envelope env = scan(text);
        ck_assert_uint_eq(env.n_inner_seen, n);
        ck_assert_uint_eq(env.n_inner, n < MP_INNER_MAX ? n : MP_INNER_MAX);
        is_span(text, env.inner[MP_INNER_MAX - 2].key, "\"m10\"");
        is_span(text, env.id, "1");
    }
}
END_TEST

/* ---- strings that are not kept ---- */

START_TEST(a_feed_stops_behind_the_string_that_was_open)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_scan s;
    size_t used;

    mp_scan_init(&s, &wide);
    /* none is open yet, so that nothing stops it */
    ck_assert_int_eq(mp_scan_feed(&s, "[\"a\",\"bc", 8, true, &used, &err), MCPLUG_OK);
    ck_assert_uint_eq(used, 8);
    ck_assert(s.in_string && s.string_is_value);
    ck_assert_uint_eq(s.string_at, 5);
    ck_assert_int_eq(mp_scan_feed(&s, "d\\", 2, true, &used, &err), MCPLUG_OK);
    ck_assert(s.in_string);
    ck_assert_int_eq(mp_scan_feed(&s, "\"e\",\"f\"]", 8, true, &used, &err), MCPLUG_OK);
    ck_assert_uint_eq(used, 3);
    ck_assert(!s.in_string);
    ck_assert_int_eq(mp_scan_feed(&s, ",\"f\"]", 5, true, &used, &err), MCPLUG_OK);
    ck_assert_uint_eq(used, 5);
    ck_assert_int_eq(mp_scan_end(&s, &err), MCPLUG_OK);
    ck_assert_uint_eq(s.seen, 18);
}
END_TEST

START_TEST(a_key_is_told_from_a_value)
{
    struct mp_scan s;
    size_t used;

    mp_scan_init(&s, &wide);
    ck_assert_int_eq(mp_scan_feed(&s, "{ \"ke", 5, false, &used, NULL), MCPLUG_OK);
    ck_assert(s.in_string && !s.string_is_value);
    ck_assert_uint_eq(s.string_at, 2);
}
END_TEST

/* Keeps a text as a reader with little room does: once a string value is longer than
 * `room`, the rest of it goes away. Returns the number of bytes it dropped. */
static size_t keep(struct mp_scan *s, const char *text, size_t piece, size_t room,
                   struct mp_str *kept)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t dropped = 0, len = strlen(text);
    bool dropping = false;

    mp_scan_init(s, &wide);
    for (size_t at = 0, used; at < len; at += used) {
        size_t n = len - at < piece ? len - at : piece;
        ck_assert_int_eq(mp_scan_feed(s, text + at, n, dropping, &used, &err), MCPLUG_OK);
        size_t gone = !dropping ? 0 : s->in_string ? used : used - 1;
        mp_str_add(kept, text + at + gone, used - gone);
        mp_scan_dropped(s, gone);
        dropping = s->in_string && s->string_is_value && s->at - s->string_at > room;
        if (dropping && s->at - s->string_at > room + 1) { /* what is too much already */
            size_t more = s->at - s->string_at - room - 1;
            kept->len -= more;
            mp_scan_dropped(s, more);
            gone += more;
        }
        dropped += gone;
        ck_assert_uint_eq(s->at, kept->len);
    }
    ck_assert_int_eq(mp_scan_end(s, &err), MCPLUG_OK);
    ck_assert_uint_eq(s->seen, len);
    return dropped;
}

START_TEST(spans_are_right_in_what_is_kept_of_the_text)
{
    static const char *const texts[] = {
        "{\"result\":{\"a\":\"long long long string\",\"b\":[\"another long "
        "string\",{\"c\":\"a third one, long\"}],\"d\":7},\"id\":\"an id that is long\"}",
        "{\"id\":1,\"method\":\"0123456789012345678901234567890\",\"params\":"
        "{\"k\":{\"l\":\"0123456789 012345678901234567890 "
        "0123456789\"},\"m\":\"12345\"}}",
        "{\"error\":\"0123456789012345678901234567890123456789\",\"id\":3}",
        "[\"0123456789012345678901234567890123456789\"]",
        "\"0123456789012345678901234567890123456789\"",
    };
    for (size_t i = 0; i < MP_COUNT(texts); i++)
        for (size_t piece = 1; piece < 40; piece++)
            for (size_t room = 0; room < 20; room += 5) {
                struct mp_scan s;
                struct mp_str kept;
                mp_str_init(&kept, 1000);
                size_t dropped = keep(&s, texts[i], piece, room, &kept);
                ck_assert(piece > 1 || dropped > 0);
                mp_str_addc(&kept, '\0');
                /* what was kept is a text of its own, with the same spans */
                struct mp_envelope env = scan(kept.data);
                ck_assert(env.names == s.env.names || s.env.names & MP_KEYS_ALIKE);
                s.env.names = env.names;
                ck_assert_mem_eq(&env, &s.env, noted_size(&s.env));
                mp_str_clear(&kept);
            }
}
END_TEST

/* ---- messages that cannot be read ---- */

static const struct {
    const char *head, *tail;
    bool found;
    uint64_t id;
} salvages[] = {
    /* the end of the message is looked at first */
    {"", "..], \"jsonrpc\":\"2.0\", \"id\" : 42 }", true, 42},
    {"", "\"id\":42,\"jsonrpc\":\"2.0\"}\n", true, 42},
    {"{\"id\":1,", "x\"},\"id\":2}", true, 2},
    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":NaN", "}}", true, 3},
    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":NaN}}", "", true, 3},
    {"", "\"id\":0}", true, 0},
    {"", "\"id\":18446744073709551615}", true, UINT64_MAX},
    /* what else is called id is not taken for it */
    {"{\"id\":3,\"result\":[{\"id\":1},{", "\"id\":7},{\"id\":8}]}", true, 3},
    {"{\"result\":[{\"id\":1},{", "\"id\":7},{\"id\":8}],\"id\":3}", true, 3},
    {"{\"result\":[{\"id\":1},{", "\"id\":7},{\"id\":8}]}", false, 0},
    {"{\"method\":\"m\",\"params\":{\"id\":5,\"x\":NaN}}", "", false, 0},
    {"{\"a\":\"\\\"id\\\":5\",\"b\":\"\\\\\",\"id\":6,", "..}", true, 6},
    {"", "{\"a\":\"\\\\\",\"id\":6,\"b\":\"{{{\\\"\",\"c\":\"\\\\\"}", true, 6},
    /* where braces say nothing, what is nearest to either end */
    {"", "\"id\":7},{\"id\":8", true, 8},
    {"[\"id\":7},{\"id\":8 ,", "nothing", true, 7},
    {"\"id\":7,", "}} }}", true, 7},
    /* a number that may go on elsewhere is none */
    {"{\"id\":12", "3,..}", false, 0},
    {"{\"id\":12 ", "..}", true, 12},
    {"{\"id\":12", "", true, 12},
    {"", "{\"id\":12", true, 12},
    /* no integers */
    {"", "\"id\":18446744073709551616}", false, 0},
    {"", "\"id\":99999999999999999999999}", false, 0},
    {"", "\"id\":-1}", false, 0},
    {"", "\"id\":1.5}", false, 0},
    {"", "\"id\":1e3}", false, 0},
    {"", "\"id\":007}", false, 0},
    {"", "\"id\":\"7\"}", false, 0},
    {"", "\"id\":null}", false, 0},
    {"", "\"id\":}", false, 0},
    {"", "\"id\":", false, 0},
    {"", "\"id\"}", false, 0},
    {"", "\"id\"", false, 0},
    {"", "\"idx\":7}", false, 0},
    {"", "}", false, 0},
    {"{", "\"", false, 0},
    {"", "", false, 0},
};

START_TEST(the_id_of_a_broken_message_is_salvaged)
{
    for (size_t i = 0; i < MP_COUNT(salvages); i++) {
        uint64_t id = 4711;
        bool found =
            mp_scan_salvage_id(salvages[i].head, strlen(salvages[i].head),
                               salvages[i].tail, strlen(salvages[i].tail), false, &id);
        ck_assert_msg(found == salvages[i].found && id == (found ? salvages[i].id : 4711),
                      "%s | %s", salvages[i].head, salvages[i].tail);
    }
}
END_TEST

static const struct {
    const char *head, *tail;
    uint64_t id; /* 0: none */
} quoted[] = {
    {"{\"id\":\"7\",\"result\":{\"id\":\"8\"", "..", 7},
    {"{\"result\":[{\"id\":\"1\"},{", "\"id\":\"7\"}],\"id\":\"3\"}", 3},
    {"{\"result\":[{\"id\":\"1\"},{", "\"id\":\"7\"}]}", 0},
    {"{\"id\":\"12\"", "3,..}", 12}, /* the quote shows that it is all */
    {"{\"id\":\"12", "3\",..}", 0},
    {"", "\"id\" : \"7\" }", 7},
    {"", "\"id\":\"7\"", 7},
    {"", "\"id\":\"7\"x}", 0},
    {"", "\"id\":\"7", 0},
    {"", "\"id\":\"\"}", 0},
    {"", "\"id\":\"", 0},
    {"", "\"id\":\"07\"}", 0},
    {"", "\"id\":\"7 \"}", 0},
    {"", "\"id\":\"seven\"}", 0},
    {"", "\"id\":\"18446744073709551616\"}", 0},
    {"", "\"id\":7}", 0},
    {"", "\"id\":", 0},
};

START_TEST(an_id_that_is_a_string_is_salvaged_on_demand)
{
    for (size_t i = 0; i < MP_COUNT(quoted); i++) {
        uint64_t id = 0;
        bool found =
            mp_scan_salvage_id(quoted[i].head, strlen(quoted[i].head), quoted[i].tail,
                               strlen(quoted[i].tail), true, &id);
        ck_assert_msg(found == (quoted[i].id != 0) && id == quoted[i].id, "%s | %s",
                      quoted[i].head, quoted[i].tail);
    }
}
END_TEST

START_TEST(nothing_is_salvaged_from_nothing)
{
    uint64_t id;
    ck_assert(!mp_scan_salvage_id(NULL, 0, NULL, 0, false, &id));
    ck_assert(!mp_scan_salvage_id(NULL, 0, NULL, 0, true, &id));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_envelope");
    TCase *t = tcase_create("all");

    tcase_add_test(t, the_members_of_a_request_are_found);
    tcase_add_test(t, the_members_of_an_answer_are_found);
    tcase_add_test(t, only_objects_have_inner_members);
    tcase_add_test(t, names_are_exact);
    tcase_add_test(t, each_of_the_six_may_come_once_only);
    tcase_add_test(t, names_may_be_escaped);
    tcase_add_test(t, names_that_may_be_the_same_are_noted);
    tcase_add_test(t, more_inner_members_than_are_noted_are_counted);
    tcase_add_test(t, a_feed_stops_behind_the_string_that_was_open);
    tcase_add_test(t, a_key_is_told_from_a_value);
    tcase_add_test(t, spans_are_right_in_what_is_kept_of_the_text);
    tcase_add_test(t, the_id_of_a_broken_message_is_salvaged);
    tcase_add_test(t, an_id_that_is_a_string_is_salvaged_on_demand);
    tcase_add_test(t, nothing_is_salvaged_from_nothing);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
