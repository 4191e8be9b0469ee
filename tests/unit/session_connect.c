#include "fake.h"

#include <errno.h>

static struct fake f;

#define LEGACY_OK                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":\"2024-11-05\","   \
    "\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"
#define MODERN_OK                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"supportedVersions\":"                \
    "[\"2026-07-28\"],\"capabilities\":{}}}"

START_TEST(a_modern_server_is_known_by_its_discover_result)
{
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, 0);
    ck_assert_str_eq(f.id.revision, "2026-07-28");
    ck_assert_str_eq(f.id.info, "{\"name\":\"s\",\"version\":\"2\"}");
    ck_assert_str_eq(f.id.instructions, "Be nice.");
    ck_assert(mp_session_can(f.server, "tools"));
    ck_assert(!mp_session_can(f.server, "tools/listChanged"));
    fake_clear(&f);
}
END_TEST

START_TEST(discover_carries_version_client_info_and_capabilities_in_meta)
{
    fake_init(&f);
    fake_session(&f, NULL);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(
        strstr(frame, "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""));
    ck_assert_ptr_nonnull(strstr(frame,
                                 "\"io.modelcontextprotocol/clientInfo\":{\"name\":"
                                 "\"test\",\"version\":\"1\"}"));
    ck_assert_ptr_nonnull(
        strstr(frame, "\"io.modelcontextprotocol/clientCapabilities\":{"));
    fake_clear(&f);
}
END_TEST

START_TEST(any_other_error_on_discover_leads_to_initialize)
{
    static const int codes[] = {-32601, -32602, -32600, -32000, 0, 42};
    for (size_t i = 0; i < MP_COUNT(codes); i++) {
        fake_init(&f);
        fake_session(&f, NULL);
        fake_sayf(&f,
                  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":%d,"
                  "\"message\":\"x\"}}",
                  ll(fake_expect(&f, "server/discover")), codes[i]);
        fake_sayf(&f, LEGACY_OK, ll(fake_expect(&f, "initialize")));
        fake_expect(&f, "notifications/initialized");
        ck_assert_uint_eq(f.readies, 1);
        ck_assert_str_eq(f.id.revision, "2024-11-05");
        fake_clear(&f);
    }
}
END_TEST

START_TEST(an_error_without_id_on_discover_leads_to_initialize_too)
{
    static const int codes[] = {-32600, -32601, -32700, -32020, -32021, -32022, 0};
    static const char *const ids[] = {",\"id\":null", ""};

    for (size_t i = 0; i < MP_COUNT(codes) * MP_COUNT(ids); i++) {
        fake_init(&f);
        fake_session(&f, NULL);
        fake_expect(&f, "server/discover");
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":%d,\"message\":\"x\"}%s}",
                  codes[i / 2], ids[i % 2]);
        ck_assert_msg(f.readies == 0, "%d: %s", codes[i / 2], f.ready_why.text);
        fake_sayf(&f, LEGACY_OK, ll(fake_expect(&f, "initialize")));
        ck_assert_uint_eq(f.readies, 1);
        ck_assert_int_eq(f.server->era, MP_ERA_LEGACY);
        fake_clear(&f);
    }
}
END_TEST

START_TEST(an_error_without_id_is_nobodys_while_initialize_is_out_too)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};

    fake_init(&f);
    fake_session(&f, NULL);
    fake_expect(&f, "server/discover");
    fake_pass(&f, 1500);
    uint64_t id = fake_expect(&f, "initialize");
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32601,"
                 "\"message\":\"x\"}}");
    ck_assert_uint_eq(f.readies, 0);
    ck_assert(fake_idle(&f));
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.unknown, 1);
    ck_assert_uint_eq(l.under_way, 2);
    fake_sayf(&f, LEGACY_OK, ll(id));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_discover_result_without_versions_means_legacy)
{
    fake_init(&f);
    fake_session(&f, NULL);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
              ll(fake_expect(&f, "server/discover")));
    fake_sayf(&f, LEGACY_OK, ll(fake_expect(&f, "initialize")));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.server->era, MP_ERA_LEGACY);
    fake_clear(&f);
}
END_TEST

START_TEST(an_unsupported_version_error_never_leads_to_initialize_unless_it_names_one)
{
    fake_init(&f);
    fake_session(&f, NULL);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32022,\"message\":"
              "\"v\",\"data\":{\"supported\":[\"2031-01-01\"]}}}",
              ll(fake_expect(&f, "server/discover")));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_EPROTO);
    ck_assert_ptr_nonnull(strstr(f.ready_why.text, "2031-01-01"));
    ck_assert(fake_idle(&f));
    fake_clear(&f);

    fake_init(&f);
    fake_session(&f, NULL);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32022,\"message\":"
              "\"v\",\"data\":{\"supported\":[\"2025-11-25\"]}}}",
              ll(fake_expect(&f, "server/discover")));
    fake_expect(&f, "initialize");
    fake_clear(&f);
}
END_TEST

START_TEST(a_silent_server_gets_initialize_after_a_while)
{
    fake_init(&f);
    fake_session(&f, NULL);
    fake_expect(&f, "server/discover");
    fake_pass(&f, 1499);
    ck_assert(fake_idle(&f));
    fake_pass(&f, 1);
    fake_sayf(&f, LEGACY_OK, ll(fake_expect(&f, "initialize")));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_str_eq(f.id.revision, "2024-11-05");
    fake_clear(&f);
}
END_TEST

START_TEST(a_modern_server_that_is_slow_to_answer_is_started_over_as_modern)
{
    fake_init(&f);
    fake_session(&f, NULL);
    uint64_t discover = fake_expect(&f, "server/discover");
    fake_pass(&f, 2000);
    fake_expect(&f, "initialize");
    fake_sayf(&f, MODERN_OK, ll(discover));
    ck_assert_uint_eq(f.readies, 0);
    ck_assert_uint_eq(f.starts, 2);
    discover = fake_expect(&f, "server/discover");
    fake_pass(&f, 2000); /* now it has all the time */
    ck_assert(fake_idle(&f));
    fake_sayf(&f, MODERN_OK, ll(discover));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, 0);
    ck_assert_str_eq(f.id.revision, "2026-07-28");
    fake_clear(&f);
}
END_TEST

START_TEST(a_server_that_has_not_read_the_probe_is_waited_for)
{
    fake_init(&f);
    f.unread = 1;
    fake_session(&f, NULL);
    uint64_t discover = fake_expect(&f, "server/discover");
    fake_pass(&f, 29000);
    ck_assert(fake_idle(&f));
    fake_sayf(&f, MODERN_OK, ll(discover));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_uint_eq(f.starts, 1);
    ck_assert_str_eq(f.id.revision, "2026-07-28");
    fake_clear(&f);

    fake_init(&f);
    f.unread = 1;
    fake_session(&f, NULL);
    fake_expect(&f, "server/discover");
    fake_pass(&f, 30000); /* but not for ever */
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_ETIMEDOUT);
    fake_clear(&f);
}
END_TEST

START_TEST(patience_begins_when_the_probe_is_read)
{
    fake_init(&f);
    f.unread = 200;
    fake_session(&f, NULL);
    fake_expect(&f, "server/discover");
    fake_pass(&f, 4950);
    f.unread = 0;
    fake_pass(&f, 50); /* now that is seen */
    fake_pass(&f, 1499);
    ck_assert(fake_idle(&f));
    fake_pass(&f, 1);
    fake_sayf(&f, LEGACY_OK, ll(fake_expect(&f, "initialize")));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_refused_initialize_waits_for_the_late_discover)
{
    fake_init(&f);
    fake_session(&f, NULL);
    uint64_t discover = fake_expect(&f, "server/discover");
    fake_pass(&f, 2000);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32601,"
              "\"message\":\"no\"}}",
              ll(fake_expect(&f, "initialize")));
    ck_assert_uint_eq(f.readies, 0);
    fake_sayf(&f, MODERN_OK, ll(discover));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_str_eq(f.id.revision, "2026-07-28");
    fake_clear(&f);
}
END_TEST

/* Initialize is refused while discover is open; the id of that. */
static uint64_t refuse_initialize(uint32_t timeout_ms)
{
    struct mp_session_options o = {.timeout_ms = timeout_ms};

    fake_init(&f);
    fake_session(&f, &o);
    uint64_t discover = fake_expect(&f, "server/discover");
    fake_pass(&f, 1500);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32000,"
              "\"message\":\"no licence\"}}",
              ll(fake_expect(&f, "initialize")));
    ck_assert_uint_eq(f.readies, 0);
    return discover;
}

static void check_no_licence(void)
{
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_EPEER);
    ck_assert_ptr_nonnull(strstr(f.ready_why.text, "no licence"));
}

START_TEST(a_refused_initialize_is_the_reason_when_discover_is_ignored)
{
    uint64_t discover = refuse_initialize(0);
    fake_pass(&f, 1499);
    ck_assert_uint_eq(f.readies, 0);
    fake_pass(&f, 1);
    check_no_licence();
    fake_sayf(&f, MODERN_OK, ll(discover)); /* too late */
    fake_pass(&f, 30000);
    check_no_licence();
    ck_assert_uint_eq(f.starts, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_refused_initialize_is_the_reason_when_the_time_to_connect_is_over)
{
    refuse_initialize(2000);
    fake_pass(&f, 500);
    check_no_licence();
    fake_clear(&f);
}
END_TEST

START_TEST(a_discover_that_is_refused_as_well_ends_the_wait)
{
    uint64_t discover = refuse_initialize(0);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32601,"
              "\"message\":\"what?\"}}",
              ll(discover));
    check_no_licence();
    fake_clear(&f);
}
END_TEST

START_TEST(a_discover_in_that_time_settles_it_for_good)
{
    uint64_t discover = refuse_initialize(0);
    fake_pass(&f, 1499);
    fake_sayf(&f, MODERN_OK, ll(discover));
    fake_pass(&f, 60000);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, 0);
    ck_assert_str_eq(f.id.revision, "2026-07-28");
    fake_clear(&f);
}
END_TEST

START_TEST(a_server_that_exits_on_discover_is_started_once_more_with_initialize)
{
    fake_init(&f);
    fake_session(&f, NULL);
    fake_expect(&f, "server/discover");
    fake_hang_up(&f, ESRCH, "server exited with status 1");
    ck_assert_uint_eq(f.readies, 0);
    ck_assert_uint_eq(f.starts, 2);
    fake_sayf(&f, LEGACY_OK, ll(fake_expect(&f, "initialize")));
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_server_that_exits_twice_has_failed_with_its_reason)
{
    fake_init(&f);
    fake_session(&f, NULL);
    fake_hang_up(&f, ESRCH, "server exited with status 1");
    fake_hang_up(&f, ESRCH, "server exited with status 1");
    ck_assert_uint_eq(f.starts, 2);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_str_eq(f.ready_why.text,
                     "Process not found - stdio server process terminated (server exited "
                     "with status 1)");
    fake_clear(&f);
}
END_TEST

START_TEST(connecting_times_out_with_name_and_limit)
{
    struct mp_session_options o = {0};
    fake_init(&f);
    fake_session(&f, &o);
    fake_pass(&f, 29999);
    ck_assert_uint_eq(f.readies, 0);
    fake_pass(&f, 1);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(f.ready_why.text,
                     "Connection to MCP server \"fake\" timed out after 30000ms");
    fake_clear(&f);
}
END_TEST

START_TEST(why_messages_are_held_back_is_told_with_the_time_out)
{
    struct mp_session_options o = {0};
    fake_init(&f);
    fake_session(&f, &o);
    mp_link_wire.describe(f.conn, "delay", "HTTP 429: retry after 7s");
    if (_i)
        mp_link_wire.describe(f.conn, "delay", ""); /* no longer */
    fake_pass(&f, 30000);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(f.ready_why.text,
                     _i ? "Connection to MCP server \"fake\" timed out after 30000ms"
                        : "Connection to MCP server \"fake\" timed out after 30000ms; "
                          "HTTP 429: retry after 7s");
    fake_clear(&f);
}
END_TEST

START_TEST(what_a_server_said_instead_is_told_with_the_time_out)
{
    struct mp_session_options o = {0};
    fake_init(&f);
    fake_session(&f, &o);
    fake_say(&f, "one");
    if (_i)
        fake_say(&f, "Usage:\t\x1b[1mserver\x1b[0m \xff");
    fake_pass(&f, 30000);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_str_eq(
        f.ready_why.text,
        _i ? "Connection to MCP server \"fake\" timed out after 30000ms; 2 lines of its "
             "output are not JSON-RPC, the last: Usage:  [1mserver [0m ?"
           : "Connection to MCP server \"fake\" timed out after 30000ms; 1 line of its "
             "output is not JSON-RPC, the last: one");
    fake_clear(&f);
}
END_TEST

START_TEST(a_transport_that_never_opens_times_out_too)
{
    fake_init(&f);
    f.opens = false;
    fake_session(&f, NULL);
    fake_pass(&f, 30000);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_ETIMEDOUT);
    fake_clear(&f);
}
END_TEST

START_TEST(a_revision_that_was_not_offered_is_refused)
{
    fake_init(&f);
    fake_session(&f, NULL);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":1,\"message\":\"\"}}",
              ll(fake_expect(&f, "server/discover")));
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":"
              "\"1999-01-01\",\"capabilities\":{}}}",
              ll(fake_expect(&f, "initialize")));
    ck_assert_int_eq(f.ready_why.code, MCPLUG_EPROTO);
    ck_assert_ptr_nonnull(strstr(f.ready_why.text, "1999-01-01"));
    fake_clear(&f);
}
END_TEST

START_TEST(a_revision_asked_for_is_the_only_one_tried)
{
    struct mp_session_options o = {.revision = "2025-03-26"};
    fake_init(&f);
    fake_session(&f, &o);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"method\":\"initialize\""));
    ck_assert_ptr_nonnull(strstr(frame, "\"protocolVersion\":\"2025-03-26\""));
    fake_clear(&f);
}
END_TEST

START_TEST(a_server_may_ask_before_it_answers_initialize)
{
    fake_init(&f);
    fake_session(&f, NULL);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":1,\"message\":\"\"}}",
              ll(fake_expect(&f, "server/discover")));
    uint64_t id = fake_expect(&f, "initialize");
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}");
    ck_assert_str_eq(fake_next(&f), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}");
    ck_assert_str_eq(fake_next(&f),
                     "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,"
                     "\"message\":\"Method not found\"}}");
    fake_sayf(&f, LEGACY_OK, ll(id));
    ck_assert_uint_eq(f.readies, 1);
    fake_clear(&f);
}
END_TEST

static void unused_input(void *arg, struct mp_session *s, mcplug_input *in, const char *p,
                         size_t n)
{
    (void)arg, (void)s, (void)in, (void)p, (void)n;
}

START_TEST(capabilities_are_declared_for_handlers_alone)
{
    struct mp_session_options o = {.elicit = unused_input, .sample = unused_input};
    fake_init(&f);
    fake_session(&f, NULL);
    const char *frame = fake_next(&f);
    ck_assert_ptr_null(strstr(frame, "elicitation"));
    ck_assert_ptr_null(strstr(frame, "sampling"));
    ck_assert_ptr_null(strstr(frame, "roots"));
    fake_clear(&f);
    fake_init(&f);
    fake_session(&f, &o);
    frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"sampling\":{},\"elicitation\":{\"form\":{}}"));
    ck_assert_ptr_null(strstr(frame, "roots"));
    fake_clear(&f);
}
END_TEST

START_TEST(a_drop_is_reported_once_with_uptime_and_meaning)
{
    static const struct {
        int os_error;
        const char *meaning;
    } table[] = {
        {ECONNRESET, "Connection reset - server may have crashed or restarted"},
        {ETIMEDOUT, "Connection timeout - network issue or server unresponsive"},
        {ECONNREFUSED, "Connection refused - server may be down"},
        {EPIPE, "Broken pipe - server closed connection unexpectedly"},
        {EHOSTUNREACH, "Host unreachable - network connectivity issue"},
        {ESRCH, "Process not found - stdio server process terminated"},
        {EIO, "Connection error: why"},
    };
    for (size_t i = 0; i < MP_COUNT(table); i++) {
        fake_init(&f);
        fake_modern(&f, NULL, "{}");
        fake_pass(&f, 12345);
        fake_hang_up(&f, table[i].os_error, "why");
        ck_assert_uint_eq(f.drops, 1);
        ck_assert_ptr_nonnull(strstr(f.drop_why.text, table[i].meaning));
        char *first =
            strstr(f.logged, "ERR mcp:fake FAKE connection dropped after 12s uptime\n");
        ck_assert_ptr_nonnull(first);
        ck_assert_ptr_null(strstr(first + 1, "ERR mcp:fake FAKE"));
        ck_assert_ptr_nonnull(strstr(f.logged, table[i].meaning));
        fake_clear(&f);
    }
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_modern_server_is_known_by_its_discover_result);
    tcase_add_test(tc, discover_carries_version_client_info_and_capabilities_in_meta);
    tcase_add_test(tc, any_other_error_on_discover_leads_to_initialize);
    tcase_add_test(tc, an_error_without_id_on_discover_leads_to_initialize_too);
    tcase_add_test(tc, an_error_without_id_is_nobodys_while_initialize_is_out_too);
    tcase_add_test(tc, a_discover_result_without_versions_means_legacy);
    tcase_add_test(
        tc, an_unsupported_version_error_never_leads_to_initialize_unless_it_names_one);
    tcase_add_test(tc, a_silent_server_gets_initialize_after_a_while);
    tcase_add_test(tc, a_modern_server_that_is_slow_to_answer_is_started_over_as_modern);
    tcase_add_test(tc, a_server_that_has_not_read_the_probe_is_waited_for);
    tcase_add_test(tc, patience_begins_when_the_probe_is_read);
    tcase_add_test(tc, a_refused_initialize_waits_for_the_late_discover);
    tcase_add_test(tc, a_refused_initialize_is_the_reason_when_discover_is_ignored);
    tcase_add_test(tc,
                   a_refused_initialize_is_the_reason_when_the_time_to_connect_is_over);
    tcase_add_test(tc, a_discover_that_is_refused_as_well_ends_the_wait);
    tcase_add_test(tc, a_discover_in_that_time_settles_it_for_good);
    tcase_add_test(tc,
                   a_server_that_exits_on_discover_is_started_once_more_with_initialize);
    tcase_add_test(tc, a_server_that_exits_twice_has_failed_with_its_reason);
    tcase_add_test(tc, connecting_times_out_with_name_and_limit);
    tcase_add_loop_test(tc, why_messages_are_held_back_is_told_with_the_time_out, 0, 2);
    tcase_add_loop_test(tc, what_a_server_said_instead_is_told_with_the_time_out, 0, 2);
    tcase_add_test(tc, a_transport_that_never_opens_times_out_too);
    tcase_add_test(tc, a_revision_that_was_not_offered_is_refused);
    tcase_add_test(tc, a_revision_asked_for_is_the_only_one_tried);
    tcase_add_test(tc, a_server_may_ask_before_it_answers_initialize);
    tcase_add_test(tc, capabilities_are_declared_for_handlers_alone);
    tcase_add_test(tc, a_drop_is_reported_once_with_uptime_and_meaning);
}

int main(void)
{
    return run_suite("session_connect", add);
}
