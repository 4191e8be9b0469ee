/* Connecting where requests have exchanges: what an answer, a status or a failure says
 * of the server's age, and the transport that servers of the oldest age have. */
#include "fake.h"

#include <errno.h>
#include <stdio.h>

static struct fake f;

#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{%s}}"
#define ERROR                                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":%d,\"message\":\"x\"%s}}"
#define OLD                                                                              \
    "\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}},"                \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}"
#define NEW "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}"

static void begin(void)
{
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
}

static void start(void)
{
    begin();
    fake_session(&f, NULL);
}

/* The same fake, for another session with what it remembers. */
static void start_again(void)
{
    enum mp_era era = f.era;
    fake_clear(&f);
    begin();
    f.has_other = f.remembers = true;
    f.era = era;
}

static void say_result(uint64_t id, const char *members)
{
    char line[1024];
    snprintf(line, sizeof line, RESULT, ll(id), members);
    fake_say_on(&f, f.on_other ? 0 : id, line);
}

static void say_error(uint64_t id, int code, const char *data)
{
    char line[1024];
    snprintf(line, sizeof line, ERROR, ll(id), code, data);
    fake_say_on(&f, f.on_other ? 0 : id, line);
}

/* HTTP says so, as an answer to the frame that comes next. */
static void refuse(const char *method, int status)
{
    char text[64];
    snprintf(text, sizeof text, "HTTP %d", status);
    fake_end_exchange(&f, fake_expect(&f, method), MCPLUG_EREFUSED, 0, status, text);
}

static void check_ready(const char *revision)
{
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_msg(f.ready_why.code == 0, "%s", f.ready_why.text);
    ck_assert_str_eq(f.id.revision, revision);
    ck_assert(fake_idle(&f));
}

static void check_failed(int code, int status, const char *text)
{
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, code);
    ck_assert_int_eq(f.ready_why.peer_status, status);
    ck_assert_msg(strstr(f.ready_why.text, text) != NULL, "%s", f.ready_why.text);
    fake_pass(&f, 100000);
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_uint_eq(f.drops, 0);
}

static void initialize_well(void)
{
    say_result(fake_expect(&f, "initialize"), OLD);
    fake_expect(&f, "notifications/initialized");
    check_ready("2024-11-05");
}

/* ---- asked again ---- */

#define BOTH ",\"data\":{\"supported\":[\"2026-07-28\",\"2025-06-18\"]}"
#define MODERN_ONLY ",\"data\":{\"supported\":[\"2026-07-28\"]}"

START_TEST(a_server_that_names_our_revision_is_asked_once_more)
{
    start();
    say_error(fake_expect(&f, "server/discover"), -32022, BOTH);
    ck_assert_uint_eq(f.readies, 0);
    say_result(fake_expect(&f, "server/discover"), NEW);
    check_ready("2026-07-28");
    fake_clear(&f);
}
END_TEST

START_TEST(it_is_not_asked_a_third_time)
{
    start();
    say_error(fake_expect(&f, "server/discover"), -32022, BOTH);
    say_error(fake_expect(&f, "server/discover"), -32022, BOTH);
    initialize_well();
    fake_clear(&f);

    start();
    say_error(fake_expect(&f, "server/discover"), -32022, MODERN_ONLY);
    say_error(fake_expect(&f, "server/discover"), -32022, MODERN_ONLY);
    check_failed(MCPLUG_EPROTO, 0, "no protocol revision in common");
    fake_clear(&f);
}
END_TEST

START_TEST(a_revision_of_the_old_era_is_not_asked_for_again)
{
    start();
    say_error(fake_expect(&f, "server/discover"), -32022,
              ",\"data\":{\"supported\":[\"2025-11-25\"]}");
    initialize_well();
    fake_clear(&f);
}
END_TEST

/* Its answer comes so late that initialize is out already. */
START_TEST(a_slow_server_that_names_our_revision_starts_over)
{
    begin();
    f.ops.caps = _i % 2 ? MCPLUG_CAN_EXCHANGE : 0;
    fake_session(&f, NULL);
    uint64_t id = fake_expect(&f, "server/discover");
    fake_pass(&f, 10000);
    fake_expect(&f, "initialize");
    say_error(id, -32022, BOTH);
    ck_assert_uint_eq(f.readies, 0);
    id = fake_expect(&f, "server/discover");
    ck_assert_uint_eq(f.starts, 2);
    struct mcplug_ledger ledger;
    fake_ledger(f.server, &ledger);
    ck_assert_uint_eq(ledger.under_way, 1);
    if (_i < 2) {
        say_result(id, NEW);
        check_ready("2026-07-28");
    } else if (_i < 4) {
        say_error(id, -32601, "");
        initialize_well();
    } else { /* silent to the end */
        fake_pass(&f, 15000);
        fake_expect(&f, "initialize");
        fake_pass(&f, 5000);
        check_failed(MCPLUG_ETIMEDOUT, 0, "timed out after 30000ms");
    }
    fake_clear(&f);
}
END_TEST

/* ---- refusals of server/discover ---- */

START_TEST(a_status_on_discover_leads_to_initialize)
{
    static const int statuses[] = {400, 404, 405, 406, 415, 500, 501, 503};
    start();
    refuse("server/discover", statuses[_i]);
    ck_assert_uint_eq(f.readies, 0);
    initialize_well();
    ck_assert_uint_eq(f.starts, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_stream_without_a_reply_leads_to_initialize)
{
    start();
    fake_end_exchange(&f, fake_expect(&f, "server/discover"), 0, 0, 0, NULL);
    initialize_well();
    fake_clear(&f);
}
END_TEST

START_TEST(an_error_without_id_leads_to_initialize)
{
    start();
    uint64_t id = fake_expect(&f, "server/discover");
    fake_feed(&f, id,
              "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":"
              "\"Bad Request\"}}",
              true);
    fake_drop_exchange(&f, id, MCPLUG_EREFUSED, 0, 400, "HTTP 400");
    fake_turn(&f);
    initialize_well();
    fake_clear(&f);
}
END_TEST

START_TEST(what_says_nothing_of_its_age_fails_at_once)
{
    static const struct {
        int code, os_error, status;
        const char *text, *told;
    } ends[] = {
        {MCPLUG_EAUTH, 0, 401, "HTTP 401: credentials are wanted", "HTTP 401: cred"},
        {MCPLUG_EAUTH, 0, 403, "HTTP 403", "HTTP 403"},
        {MCPLUG_EREFUSED, ECONNREFUSED, 0, "cannot connect",
         "Connection refused - server may be down (cannot connect)"},
        {MCPLUG_EREFUSED, EHOSTUNREACH, 0, "cannot connect",
         "Host unreachable - network connectivity issue (cannot connect)"},
        {MCPLUG_EREFUSED, 0, 0, "TLS with example.org failed", "TLS with example.org"},
        {MCPLUG_ECLOSED, ECONNRESET, 0, "broke off",
         "Connection reset - server may have crashed or restarted (broke off)"},
        {MCPLUG_ETIMEDOUT, 0, 0, "no answer", "no answer"},
        {MCPLUG_ETOOBIG, 0, 0, "too big", "too big"},
    };
    begin();
    f.has_other = f.remembers = true;
    fake_session(&f, NULL);
    fake_end_exchange(&f, fake_expect(&f, "server/discover"), ends[_i].code,
                      ends[_i].os_error, ends[_i].status, ends[_i].text);
    check_failed(ends[_i].code, ends[_i].status, ends[_i].told);
    ck_assert_uint_eq(f.starts, 1);
    ck_assert_int_eq(f.era, MP_ERA_UNKNOWN);
    fake_clear(&f);
}
END_TEST

START_TEST(a_transport_that_speaks_for_the_peer_breaks_nothing)
{
    start();
    fake_end_exchange(&f, fake_expect(&f, "server/discover"), MCPLUG_EPEER, 0, -32022,
                      "odd");
    fake_pass(&f, 60000);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_lt(f.ready_why.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(silence_is_borne_longer_where_each_request_has_its_answer)
{
    start();
    uint64_t id = fake_expect(&f, "server/discover");
    fake_pass(&f, 9999);
    ck_assert(fake_idle(&f));
    fake_pass(&f, 1);
    fake_expect(&f, "initialize");
    fake_pass(&f, 20000);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(f.ready_why.text, "timed out after 30000ms"));
    say_result(id, NEW); /* too late */
    ck_assert_uint_eq(f.readies, 1);
    fake_clear(&f);
}
END_TEST

/* ---- the other transport ---- */

static void start_with_other(void)
{
    begin();
    f.has_other = f.remembers = true;
    fake_session(&f, NULL);
}

START_TEST(what_refuses_initialize_too_may_have_the_oldest_transport_alone)
{
    static const int statuses[] = {400, 404, 405};
    start_with_other();
    refuse("server/discover", statuses[_i]);
    ck_assert_uint_eq(f.other_starts, 0);
    refuse("initialize", statuses[_i]);
    ck_assert_uint_eq(f.starts, 2);
    ck_assert_uint_eq(f.other_starts, 1);
    ck_assert(f.on_other);
    ck_assert_uint_eq(f.readies, 0);
    initialize_well();
    ck_assert_int_eq(f.era, MP_ERA_OLDEST);
    ck_assert_uint_eq(f.drops, 0);
    ck_assert_ptr_nonnull(strstr(f.logged, "continuing with transport older"));
    fake_clear(&f);
}
END_TEST

START_TEST(a_drop_of_the_other_transport_is_reported_as_its_own)
{
    start_with_other();
    refuse("server/discover", 405);
    refuse("initialize", 405);
    initialize_well();
    fake_pass(&f, 12345);
    fake_drop(&f, MCPLUG_ECLOSED, 0, 0, "the server ended the stream");
    ck_assert_uint_eq(f.drops, 1);
    ck_assert_ptr_nonnull(
        strstr(f.logged, "ERR mcp:fake OLDER connection dropped after 12s uptime\n"));
    ck_assert_ptr_null(strstr(f.logged, "FAKE connection dropped"));
    fake_clear(&f);
}
END_TEST

START_TEST(other_refusals_of_initialize_are_final)
{
    static const int statuses[] = {401, 403, 406, 415, 500, 502, 503};
    start_with_other();
    refuse("server/discover", 404);
    fake_end_exchange(&f, fake_expect(&f, "initialize"),
                      statuses[_i] < 404 ? MCPLUG_EAUTH : MCPLUG_EREFUSED, 0,
                      statuses[_i], "HTTP says no");
    check_failed(statuses[_i] < 404 ? MCPLUG_EAUTH : MCPLUG_EREFUSED, statuses[_i],
                 "HTTP says no");
    ck_assert_uint_eq(f.starts, 1);
    ck_assert_int_eq(f.era, MP_ERA_UNKNOWN);
    fake_clear(&f);
}
END_TEST

START_TEST(an_error_answer_to_initialize_is_no_sign_of_age)
{
    start_with_other();
    refuse("server/discover", 404);
    say_error(fake_expect(&f, "initialize"), -32603, "");
    check_failed(MCPLUG_EPEER, -32603, "x");
    ck_assert_uint_eq(f.starts, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(without_another_transport_the_refusal_is_final)
{
    start();
    refuse("server/discover", 404);
    refuse("initialize", 404);
    check_failed(MCPLUG_EREFUSED, 404, "HTTP 404");
    ck_assert_uint_eq(f.starts, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_missing_module_is_named)
{
    begin();
    f.has_other = f.lacks_other = true;
    fake_session(&f, NULL);
    refuse("server/discover", 404);
    refuse("initialize", 404);
    check_failed(MCPLUG_ENOTSUP, 0, "no module has transport \"older\"");
    ck_assert_uint_eq(f.starts, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(the_other_transport_has_one_chance)
{
    start_with_other();
    refuse("server/discover", 405);
    refuse("initialize", 405);
    ck_assert(f.on_other);
    fake_expect(&f, "initialize");
    if (_i == 0) {
        fake_drop(&f, MCPLUG_EREFUSED, 0, 404, "HTTP 404 on the stream");
        check_failed(MCPLUG_EREFUSED, 405, "HTTP 405"); /* as it was at first */
    } else if (_i == 1) {
        fake_drop(&f, MCPLUG_EREFUSED, ECONNREFUSED, 0, "x");
        check_failed(MCPLUG_EREFUSED, 0, "Connection refused");
    } else {
        say_error(f.serials[f.n_sent - 1], -1, "");
        check_failed(MCPLUG_EPEER, -1, "x");
    }
    ck_assert_uint_eq(f.other_starts, 1);
    ck_assert_uint_eq(f.starts, 2);
    ck_assert_int_eq(f.era, MP_ERA_UNKNOWN);
    fake_clear(&f);
}
END_TEST

START_TEST(a_close_while_it_changes_transports_is_heeded)
{
    start_with_other();
    f.opens = false;
    refuse("server/discover", 404);
    refuse("initialize", 404);
    ck_assert_uint_eq(f.other_starts, 1);
    fake_clear(&f); /* checks that it closes */
    ck_assert_int_eq(f.ready_why.code, MCPLUG_ECANCELED);
}
END_TEST

/* ---- what is remembered ---- */

START_TEST(what_was_that_old_is_reached_by_the_other_transport_at_once)
{
    start_with_other();
    refuse("server/discover", 404);
    refuse("initialize", 404);
    initialize_well();
    start_again();
    fake_session(&f, NULL);
    ck_assert_uint_eq(f.other_starts, 1);
    initialize_well();
    ck_assert_uint_eq(f.starts, 1);
    ck_assert_int_eq(f.era, MP_ERA_OLDEST);
    fake_clear(&f);
}
END_TEST

static void start_oldest(void)
{
    begin();
    f.has_other = f.remembers = true;
    f.era = MP_ERA_OLDEST;
    fake_session(&f, NULL);
    ck_assert(f.on_other);
}

START_TEST(when_it_is_not_that_old_any_more_all_begins_anew)
{
    start_oldest();
    uint64_t id = fake_expect(&f, "initialize");
    if (_i == 0)
        fake_drop(&f, MCPLUG_EREFUSED, 0, 404, "HTTP 404");
    else if (_i == 1)
        fake_drop(&f, MCPLUG_ECLOSED, 0, 0, "the server ended the stream");
    else if (_i == 2)
        say_error(id, -32601, "");
    else
        fake_end_exchange(&f, id, MCPLUG_EREFUSED, 0, 404, "HTTP 404");
    ck_assert_uint_eq(f.readies, 0);
    ck_assert(!f.on_other);
    ck_assert_uint_eq(f.starts, 2);
    say_result(fake_expect(&f, "server/discover"), NEW);
    check_ready("2026-07-28");
    ck_assert_int_eq(f.era, MP_ERA_MODERN);
    ck_assert_uint_eq(f.drops, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_hiccup_of_the_other_transport_leads_back_to_it)
{
    start_oldest();
    fake_expect(&f, "initialize");
    fake_drop(&f, MCPLUG_EREFUSED, 0, 503, "HTTP 503");
    refuse("server/discover", 405);
    refuse("initialize", 405);
    ck_assert(f.on_other);
    ck_assert_uint_eq(f.other_starts, 2);
    initialize_well();
    ck_assert_int_eq(f.era, MP_ERA_OLDEST);
    fake_clear(&f);
}
END_TEST

START_TEST(when_both_transports_fail_the_session_does)
{
    start_oldest();
    fake_expect(&f, "initialize");
    fake_drop(&f, MCPLUG_EREFUSED, 0, 503, "HTTP 503");
    refuse("server/discover", 404);
    refuse("initialize", 404);
    fake_expect(&f, "initialize");
    ck_assert(f.on_other);
    fake_drop(&f, MCPLUG_ECLOSED, ECONNRESET, 0, "x");
    check_failed(MCPLUG_ECLOSED, 0, "Connection reset");
    ck_assert_uint_eq(f.starts, 3);
    fake_clear(&f);
}
END_TEST

START_TEST(what_was_of_the_old_era_and_is_no_longer_is_asked)
{
    begin();
    f.has_other = f.remembers = true;
    f.era = MP_ERA_LEGACY;
    fake_session(&f, NULL);
    refuse("initialize", 400);
    say_result(fake_expect(&f, "server/discover"), NEW);
    check_ready("2026-07-28");
    ck_assert_int_eq(f.era, MP_ERA_MODERN);
    ck_assert_uint_eq(f.starts, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(an_oldest_memory_is_of_use_where_there_is_no_other_transport_too)
{
    begin();
    f.remembers = true;
    f.era = MP_ERA_OLDEST;
    fake_session(&f, NULL);
    initialize_well();
    ck_assert_uint_eq(f.other_starts, 0);
    ck_assert_int_eq(f.era, MP_ERA_LEGACY);
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_server_that_names_our_revision_is_asked_once_more);
    tcase_add_test(tc, it_is_not_asked_a_third_time);
    tcase_add_test(tc, a_revision_of_the_old_era_is_not_asked_for_again);
    tcase_add_loop_test(tc, a_slow_server_that_names_our_revision_starts_over, 0, 6);
    tcase_add_loop_test(tc, a_status_on_discover_leads_to_initialize, 0, 8);
    tcase_add_test(tc, a_stream_without_a_reply_leads_to_initialize);
    tcase_add_test(tc, an_error_without_id_leads_to_initialize);
    tcase_add_loop_test(tc, what_says_nothing_of_its_age_fails_at_once, 0, 8);
    tcase_add_test(tc, a_transport_that_speaks_for_the_peer_breaks_nothing);
    tcase_add_test(tc, silence_is_borne_longer_where_each_request_has_its_answer);
    tcase_add_loop_test(
        tc, what_refuses_initialize_too_may_have_the_oldest_transport_alone, 0, 3);
    tcase_add_test(tc, a_drop_of_the_other_transport_is_reported_as_its_own);
    tcase_add_loop_test(tc, other_refusals_of_initialize_are_final, 0, 7);
    tcase_add_test(tc, an_error_answer_to_initialize_is_no_sign_of_age);
    tcase_add_test(tc, without_another_transport_the_refusal_is_final);
    tcase_add_test(tc, a_missing_module_is_named);
    tcase_add_loop_test(tc, the_other_transport_has_one_chance, 0, 3);
    tcase_add_test(tc, a_close_while_it_changes_transports_is_heeded);
    tcase_add_test(tc, what_was_that_old_is_reached_by_the_other_transport_at_once);
    tcase_add_loop_test(tc, when_it_is_not_that_old_any_more_all_begins_anew, 0, 4);
    tcase_add_test(tc, a_hiccup_of_the_other_transport_leads_back_to_it);
    tcase_add_test(tc, when_both_transports_fail_the_session_does);
    tcase_add_test(tc, what_was_of_the_old_era_and_is_no_longer_is_asked);
    tcase_add_test(tc, an_oldest_memory_is_of_use_where_there_is_no_other_transport_too);
}

int main(void)
{
    return run_suite("session_exchange", add);
}
