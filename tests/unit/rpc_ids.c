/* Peers that repeat the ids of our requests as strings: "1" for 1. */
#include "fake.h"

#include <stdio.h>

static struct fake f;
static struct outcome o, beside;
static unsigned n_progress;

#define MODERN                                                                           \
    "\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"    \
    "\"capabilities\":{\"tools\":{}}}"
#define LEGACY                                                                           \
    "\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"    \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}"
#define UNKNOWN_METHOD "\"error\":{\"code\":-32601,\"message\":\"no\"}"

static void begin(bool exchanges)
{
    memset(&o, 0, sizeof o);
    memset(&beside, 0, sizeof beside);
    n_progress = 0;
    fake_init(&f);
    f.ops.caps = exchanges ? MCPLUG_CAN_EXCHANGE : 0;
    fake_session(&f, NULL);
}

static void answer(uint64_t id, const char *what)
{
    char line[512];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"%llu\",%s}", ll(id), what);
    if (f.ops.caps & MCPLUG_CAN_EXCHANGE)
        fake_say_on(&f, id, line);
    else
        fake_say(&f, line);
}

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    (void)arg, (void)call, (void)progress, (void)total, (void)message;
    n_progress++;
}

static uint64_t call_into(struct outcome *out)
{
    struct mcplug_call_options co = {
        .struct_size = sizeof co, .timeout_ms = 1000, .progress = on_progress};
    ck_assert_ptr_nonnull(fake_call(f.server, "t", NULL, &co, on_outcome, out, NULL));
    return fake_expect(&f, "tools/call");
}

static void start(bool modern, bool exchanges)
{
    begin(exchanges);
    uint64_t id = fake_expect(&f, "server/discover");
    answer(id, modern ? MODERN : UNKNOWN_METHOD);
    if (!modern) {
        answer(fake_expect(&f, "initialize"), LEGACY);
        fake_expect(&f, "notifications/initialized");
    }
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, 0);
}

static struct mcplug_ledger books(void)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.issued, l.under_way + l.ok + l.tool_error + l.peer_error +
                                    l.transport_error + l.timed_out + l.cancelled);
    return l;
}

START_TEST(a_server_that_answers_with_strings_is_understood)
{
    start(_i & 1, _i & 2);
    uint64_t id = call_into(&o), second = call_into(&beside);
    answer(second, "\"result\":{\"n\":2}");
    ck_assert_uint_eq(o.times, 0);
    ck_assert_uint_eq(beside.times, 1);
    ck_assert_str_eq(beside.json, "{\"n\":2}");
    answer(id, "\"error\":{\"code\":-5,\"message\":\"no luck\"}");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.peer_status, -5);
    ck_assert_uint_eq(beside.times, 1);
    ck_assert_uint_eq(books().late + books().unknown, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(its_numbers_are_understood_too)
{
    start(true, false);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(call_into(&o)));
    ck_assert_uint_eq(o.times, 1);
    answer(call_into(&beside), "\"result\":{}");
    ck_assert_uint_eq(beside.times, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(its_late_and_its_unknown_answers_are_told_apart)
{
    start(true, false);
    uint64_t id = call_into(&o);
    answer(id, "\"result\":{}");
    answer(id, "\"result\":{}");
    answer(99999, "\"result\":{}");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_uint_eq(books().late, 1);
    ck_assert_uint_eq(books().unknown, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(its_progress_reaches_the_call)
{
    start(true, false);
    uint64_t id = call_into(&o);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
              "\"progressToken\":\"%llu\",\"progress\":1}}",
              ll(id));
    ck_assert_uint_eq(n_progress, 1);
    answer(id, "\"result\":{}");
    fake_clear(&f);
}
END_TEST

START_TEST(its_broken_reply_fails_its_own_call)
{
    start(true, false);
    uint64_t id = call_into(&o);
    call_into(&beside);
    answer(id, "\"result\":{\"n\":NaN}");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    ck_assert_uint_eq(beside.times, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_string_that_is_not_the_text_of_an_id_is_unknown)
{
    static const char *const wrong[] = {
        "",    " 1",  "1 ", "01",      "+1",  "-1",    "1.0",
        "1e0", "0x1", "0",  "\\u0031", "one", "99999", "18446744073709551617"};
    begin(false);
    uint64_t id = fake_expect(&f, "server/discover");
    ck_assert_uint_eq(id, 1);
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\"," MODERN "}", wrong[i]);
        ck_assert_msg(f.readies == 0, "\"%s\"", wrong[i]);
    }
    ck_assert_uint_eq(books().unknown, MP_COUNT(wrong));
    answer(id, MODERN);
    ck_assert_uint_eq(f.readies, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(strings_of_a_server_that_has_answered_with_numbers_are_unknown)
{
    memset(&o, 0, sizeof o);
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    uint64_t id = call_into(&o);
    answer(id, "\"result\":{}");
    answer(id, "\"result\":{\"n\":NaN}");
    ck_assert_uint_eq(o.times, 0);
    fake_pass(&f, 1000);
    ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
    ck_assert_uint_eq(books().unknown, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_first_string_on_the_stream_of_another_request_is_unknown)
{
    begin(true);
    uint64_t probe = fake_expect(&f, "server/discover");
    fake_pass(&f, 10000);
    uint64_t second = fake_expect(&f, "initialize");
    char line[512];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"%llu\"," LEGACY "}",
             ll(second));
    fake_say_on(&f, probe, line);
    ck_assert_uint_eq(f.readies, 0);
    ck_assert_uint_eq(books().unknown, 1);
    fake_say_on(&f, second, line);
    fake_expect(&f, "notifications/initialized");
    ck_assert_uint_eq(f.readies, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(another_start_shows_anew_how_ids_are_written)
{
    begin(false);
    answer(fake_expect(&f, "server/discover"), UNKNOWN_METHOD);
    fake_expect(&f, "initialize");
    fake_hang_up(&f, 0, "gone");
    ck_assert_uint_eq(f.starts, 2);
    uint64_t id = fake_expect(&f, "initialize");
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu," LEGACY "}", ll(id));
    fake_expect(&f, "notifications/initialized");
    answer(call_into(&o), "\"result\":{}");
    ck_assert_uint_eq(o.times, 0);
    ck_assert_uint_eq(books().unknown, 1);
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, a_server_that_answers_with_strings_is_understood, 0, 4);
    tcase_add_test(tc, its_numbers_are_understood_too);
    tcase_add_test(tc, its_late_and_its_unknown_answers_are_told_apart);
    tcase_add_test(tc, its_progress_reaches_the_call);
    tcase_add_test(tc, its_broken_reply_fails_its_own_call);
    tcase_add_test(tc, a_string_that_is_not_the_text_of_an_id_is_unknown);
    tcase_add_test(tc, strings_of_a_server_that_has_answered_with_numbers_are_unknown);
    tcase_add_test(tc, a_first_string_on_the_stream_of_another_request_is_unknown);
    tcase_add_test(tc, another_start_shows_anew_how_ids_are_written);
}

int main(void)
{
    return run_suite("rpc_ids", add);
}
