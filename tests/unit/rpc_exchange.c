/* Transports whose replies come per request: how an exchange ends, and what is told of
 * it to the caller, to the transport and to the server. */
#include "fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct fake f;
static struct outcome o;

#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":%s}"
#define WRITTEN "(the request had already been sent)"

static void begin(void)
{
    memset(&o, 0, sizeof o);
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
}

static void forget_calls(void)
{
    f.n_cancelled = f.n_settled = 0;
}

static void start_with(bool modern, struct mp_session_options *so)
{
    if (modern)
        fake_modern(&f, so, "{\"tools\":{}}");
    else
        fake_legacy(&f, so, "{\"tools\":{}}");
    ck_assert_uint_eq(f.readies, 1);
    forget_calls();
}

static void start(bool modern)
{
    begin();
    start_with(modern, NULL);
}

/* A call of a tool; its id. */
static uint64_t call_into(struct outcome *out, const struct mcplug_call_options *co,
                          mcplug_call **made)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    memset(out, 0, sizeof *out);
    mcplug_call *c = fake_call(f.server, "t", NULL, co, on_outcome, out, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    if (made)
        *made = c;
    return fake_expect(&f, "tools/call");
}

static uint64_t call(void)
{
    return call_into(&o, NULL, NULL);
}

/* Valid until the next call. */
static const char *reply(uint64_t id, const char *text)
{
    static char line[512];
    snprintf(
        line, sizeof line,
        "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"content\":[],\"is\":\"%s\"}}",
        ll(id), text);
    return line;
}

static void still_works(void)
{
    uint64_t id = call();
    fake_say_on(&f, id, reply(id, "well"));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert_ptr_nonnull(strstr(o.json, "\"well\""));
}

static void check_books(void)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.issued, l.ok + l.tool_error + l.peer_error + l.transport_error +
                                    l.timed_out + l.cancelled + l.under_way);
}

/* ---- ends ---- */

START_TEST(an_exchange_that_ends_without_a_reply_fails_its_call)
{
    start(_i);
    uint64_t id = call();
    fake_end_exchange(&f, id, 0, 0, 0, NULL);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    ck_assert_str_eq(o.text, "the reply stream ended without a reply");
    still_works();
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(the_reason_of_the_end_and_the_status_reach_the_caller)
{
    static const struct {
        int code, status;
        const char *text;
    } ends[] = {
        {MCPLUG_EREFUSED, 503, "HTTP 503 Service Unavailable"},
        {MCPLUG_EAUTH, 401, "HTTP 401: log in first"},
        {MCPLUG_ETOOBIG, 413, "HTTP 413"},
        {MCPLUG_EPROTO, 0, "neither JSON nor events"},
    };
    start(true);
    for (size_t i = 0; i < MP_COUNT(ends); i++) {
        uint64_t id = call();
        fake_end_exchange(&f, id, ends[i].code, 0, ends[i].status, ends[i].text);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, ends[i].code);
        ck_assert_int_eq(o.peer_status, ends[i].status);
        ck_assert_str_eq(o.text, ends[i].text);
    }
    still_works();
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(a_reason_that_is_no_error_is_made_one)
{
    start(true);
    for (int code = 1; code < 3; code++) {
        fake_end_exchange(&f, call(), code, 0, 0, "odd");
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_EIO);
    }
    fake_clear(&f);
}
END_TEST

/* Only the peer's own word is an error of the peer. */
START_TEST(a_transport_cannot_speak_for_the_peer)
{
    start(true);
    fake_end_exchange(&f, call(), MCPLUG_EPEER, 0, 7, "odd");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_lt(o.code, 0);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    memset(&o, 0, sizeof o);
    ck_assert_ptr_nonnull(fake_ping(f.server, NULL, on_outcome, &o, &err));
    fake_end_exchange(&f, fake_expect(&f, "server/discover"), MCPLUG_EPEER, 0, 7, "odd");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_lt(o.code, 0); /* no answer came */
    fake_clear(&f);
}
END_TEST

static const struct {
    int os_error;
    const char *words;
} meanings[] = {
    {ECONNRESET, "Connection reset - server may have crashed or restarted"},
    {ETIMEDOUT, "Connection timeout - network issue or server unresponsive"},
    {ECONNREFUSED, "Connection refused - server may be down"},
    {EPIPE, "Broken pipe - server closed connection unexpectedly"},
    {EHOSTUNREACH, "Host unreachable - network connectivity issue"},
};

START_TEST(what_the_network_did_is_put_in_words)
{
    char want[512];

    start(_i % 2);
    f.queues = true;
    for (size_t i = 0; i < MP_COUNT(meanings); i++) {
        for (int written = 0; written < 2; written++) {
            uint64_t id = call();
            if (written)
                mp_link_wire.written(f.conn, id);
            fake_end_exchange(&f, id, MCPLUG_ECLOSED, meanings[i].os_error, 0, "net");
            snprintf(want, sizeof want, "%s (net)%s", meanings[i].words,
                     written ? " " WRITTEN : "");
            ck_assert_uint_eq(o.times, 1);
            ck_assert_int_eq(o.code, MCPLUG_ECLOSED);
            ck_assert_str_eq(o.text, want);
        }
    }
    f.queues = false; /* what leaves at once is written */
    fake_end_exchange(&f, call(), MCPLUG_ECLOSED, ECONNRESET, 0, "net");
    ck_assert_ptr_nonnull(strstr(o.text, WRITTEN));
    fake_clear(&f);
}
END_TEST

START_TEST(the_others_go_on_when_one_exchange_ends)
{
    struct outcome others[8];
    uint64_t ids[8];

    start(_i);
    for (int i = 0; i < 8; i++)
        ids[i] = call_into(&others[i], NULL, NULL);
    for (int i = 0; i < 8; i += 2)
        fake_end_exchange(&f, ids[i], i % 4 ? MCPLUG_ECLOSED : 0, i % 4 ? ECONNRESET : 0,
                          0, "net");
    for (int i = 0; i < 8; i++)
        ck_assert_uint_eq(others[i].times, i % 2 == 0);
    for (int i = 7; i > 0; i -= 2) {
        fake_say_on(&f, ids[i], reply(ids[i], "mine"));
        ck_assert_uint_eq(others[i].times, 1);
        ck_assert_int_eq(others[i].code, 0);
    }
    for (int i = 0; i < 8; i++)
        ck_assert_uint_eq(others[i].times, 1);
    ck_assert_uint_eq(f.drops, 0);
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(ends_of_exchanges_that_nobody_waits_for_are_passed_over)
{
    start(true);
    uint64_t id = call();
    fake_say_on(&f, id, reply(id, "well"));
    fake_end_exchange(&f, id, MCPLUG_ECLOSED, ECONNRESET, 0, "net");
    fake_end_exchange(&f, id, 0, 0, 0, NULL);
    fake_end_exchange(&f, id + 1000, 0, 0, 0, NULL);
    fake_end_exchange(&f, 0, MCPLUG_EIO, 0, 0, "odd");
    fake_end_exchange(&f, UINT64_MAX, 0, 0, 0, NULL);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    still_works();
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(a_reply_counts_though_its_exchange_fails_behind_it)
{
    start(_i);
    uint64_t id = call();
    fake_feed(&f, id, reply(id, "well"), true);
    fake_drop_exchange(&f, id, MCPLUG_ECLOSED, ECONNRESET, 0, "net");
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    check_books();
    fake_clear(&f);
}
END_TEST

/* ---- whose reply ---- */

#define NO_ID_ERROR                                                                      \
    "{\"jsonrpc\":\"2.0\",%s\"error\":{\"code\":-32600,\"message\":\"cannot read it\"}}"

START_TEST(an_error_without_an_id_ends_the_call_of_its_exchange)
{
    static const char *const ids[] = {"", "\"id\":null,"};
    char line[256];

    start(true);
    for (size_t i = 0; i < MP_COUNT(ids); i++) {
        struct outcome other;
        uint64_t beside = call_into(&other, NULL, NULL), id = call();
        snprintf(line, sizeof line, NO_ID_ERROR, ids[i]);
        fake_say_on(&f, id, line);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_EPEER);
        ck_assert_int_eq(o.peer_status, -32600);
        ck_assert_str_eq(o.text, "cannot read it");
        ck_assert_uint_eq(other.times, 0);
        fake_say_on(&f, id, line); /* once more */
        ck_assert_uint_eq(o.times, 1);
        ck_assert_uint_eq(other.times, 0);
        fake_say_on(&f, beside, reply(beside, "well"));
        ck_assert_uint_eq(other.times, 1);
    }
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(a_reply_with_a_wrong_id_is_not_the_reply_of_its_exchange)
{
    static const char *const wrong[] = {
        "\"id\":999999,\"result\":{}",
        "\"id\":\"1\",\"result\":{}",
        "\"id\":-1,\"result\":{}",
        "\"result\":{}",
        "\"id\":null,\"result\":{}",
        "\"id\":999999,\"error\":{\"code\":1,\"message\":\"x\"}",
        "\"id\":\"abc\",\"error\":{\"code\":1,\"message\":\"x\"}",
    };
    char line[256];

    start(_i);
    uint64_t id = call();
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",%s}", wrong[i]);
        fake_say_on(&f, id, line);
        ck_assert_msg(o.times == 0, "%s", wrong[i]);
    }
    fake_end_exchange(&f, id, 0, 0, 0, NULL);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.unknown, MP_COUNT(wrong));
    check_books();
    fake_clear(&f);
}
END_TEST

/* ---- pieces ---- */

START_TEST(pieces_of_several_exchanges_may_interleave)
{
    enum { N = 12 };
    struct outcome all[N];
    uint64_t ids[N];
    char lines[N + 1][512], name[16], piece[2] = "";
    bool more = true;

    start(_i);
    for (int i = 0; i < N; i++) {
        ids[i] = call_into(&all[i], NULL, NULL);
        snprintf(name, sizeof name, "of %d", i);
        strcpy(lines[i], reply(ids[i], name));
    }
    snprintf(lines[N], sizeof lines[N], NOTE, "{\"data\":1}"); /* on exchange 0 */
    for (size_t at = 0; more; at++) {
        more = false;
        for (int i = N; i >= 0; i--) {
            size_t n = strlen(lines[i]);
            if (at >= n)
                continue;
            piece[0] = lines[i][at];
            fake_feed(&f, i < N ? ids[i] : 0, piece, at + 1 == n);
            more = true;
        }
        if (at % 7 == 0)
            fake_turn(&f);
    }
    fake_turn(&f);
    for (int i = 0; i < N; i++) {
        ck_assert_uint_eq(all[i].times, 1);
        snprintf(name, sizeof name, "\"of %d\"", i);
        ck_assert_ptr_nonnull(strstr(all[i].json, name));
    }
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.noise + l.unknown + l.late, 0);
    fake_clear(&f);
}
END_TEST

static unsigned logged;
static void on_logged(void *arg, struct mp_session *s, const char *params, size_t len)
{
    (void)arg, (void)s;
    ck_assert_uint_eq(len, strlen("{\"data\":1}"));
    ck_assert_str_eq(params, "{\"data\":1}");
    logged++;
}

static void check_quiet(void)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.noise, 0);
}

START_TEST(discard_forgets_the_beginning_of_a_message)
{
    static const char *const beginnings[] = {
        "",         "{",       "{\"jsonrpc\":\"2.0\",\"id\":", "{\"a\":\"b\\", "[[[",
        "nonsense", "\xef\xbb"};
    struct mp_session_options so = {.logged = on_logged};
    char line[256];

    begin();
    logged = 0;
    start_with(true, &so);
    snprintf(line, sizeof line, NOTE, "{\"data\":1}");
    for (size_t i = 0; i < MP_COUNT(beginnings); i++) {
        uint64_t id = call(), on = _i ? id : 0;
        fake_feed(&f, on, beginnings[i], false);
        fake_turn(&f);
        mp_link_wire.discard(f.conn, on);
        fake_say_on(&f, on, line);
        ck_assert_uint_eq(logged, 2 * i + 1);
        fake_feed(&f, on, beginnings[i], false); /* and in the same turn */
        mp_link_wire.discard(f.conn, on);
        mp_link_wire.discard(f.conn, on);
        fake_feed(&f, on, line, true);
        fake_say_on(&f, id, reply(id, "well"));
        ck_assert_uint_eq(logged, 2 * i + 2);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, 0);
        fake_end_exchange(&f, id, 0, 0, 0, NULL);
    }
    check_quiet();
    fake_clear(&f);
}
END_TEST

START_TEST(discard_forgets_one_exchange_alone)
{
    start(true);
    struct outcome other;
    uint64_t beside = call_into(&other, NULL, NULL), id = call();
    char half[512];
    snprintf(half, sizeof half, "%s", reply(beside, "whole"));
    fake_feed(&f, id, "{\"jsonrpc\":", false);
    fake_feed(&f, 0, "{\"jsonrpc\":\"2.0\",", false);
    mp_link_wire.feed(f.conn, beside, mp_bytes(half, 20), 0);
    mp_link_wire.discard(f.conn, id);
    mp_link_wire.discard(f.conn, 12345678); /* nothing came of it */
    fake_say_on(&f, beside, half + 20);
    fake_say_on(&f, id, reply(id, "well"));
    fake_say_on(&f, 0, "\"method\":\"notifications/none\"}");
    ck_assert_uint_eq(other.times, 1);
    ck_assert_ptr_nonnull(strstr(other.json, "\"whole\""));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_ptr_nonnull(strstr(o.json, "\"well\""));
    check_quiet();
    fake_clear(&f);
}
END_TEST

START_TEST(the_end_of_an_exchange_forgets_what_had_come_of_a_message)
{
    start(true);
    uint64_t id = call();
    fake_feed(&f, id, "{\"jsonrpc\":\"2.0\",", false);
    fake_end_exchange(&f, id, 0, 0, 0, NULL);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    check_quiet();
    still_works(); /* by an assembler that is used again */
    fake_clear(&f);
}
END_TEST

START_TEST(where_there_are_no_exchanges_all_pieces_are_of_one_stream)
{
    begin();
    f.ops.caps = 0;
    start_with(true, NULL);
    uint64_t id = call();
    char line[512];
    snprintf(line, sizeof line, "%s", reply(id, "well"));
    mp_link_wire.feed(f.conn, 7, mp_text("{\"x"), 0);
    mp_link_wire.discard(f.conn, 7);
    mp_link_wire.feed(f.conn, 3, mp_bytes(line, 20), 0);
    mp_link_wire.feed(f.conn, 4, mp_text(line + 20), 1);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_discard_after_the_end_is_a_broken_contract_and_no_more)
{
    start(true);
    mcplug_conn *conn = f.conn;
    f.conn = NULL;
    mp_link_wire.closed(conn, NULL);
    mp_link_wire.discard(conn, 0);
    mp_link_wire.discard(conn, 1);
    mp_link_wire.exchange_end(conn, 1, NULL);
    fake_turn(&f);
    ck_assert_uint_eq(f.drops, 1);
    ck_assert_ptr_nonnull(strstr(f.logged, "discard after closed"));
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, an_exchange_that_ends_without_a_reply_fails_its_call, 0, 2);
    tcase_add_test(tc, the_reason_of_the_end_and_the_status_reach_the_caller);
    tcase_add_test(tc, a_reason_that_is_no_error_is_made_one);
    tcase_add_test(tc, a_transport_cannot_speak_for_the_peer);
    tcase_add_loop_test(tc, what_the_network_did_is_put_in_words, 0, 2);
    tcase_add_loop_test(tc, the_others_go_on_when_one_exchange_ends, 0, 2);
    tcase_add_test(tc, ends_of_exchanges_that_nobody_waits_for_are_passed_over);
    tcase_add_loop_test(tc, a_reply_counts_though_its_exchange_fails_behind_it, 0, 2);
    tcase_add_test(tc, an_error_without_an_id_ends_the_call_of_its_exchange);
    tcase_add_loop_test(tc, a_reply_with_a_wrong_id_is_not_the_reply_of_its_exchange, 0,
                        2);
    tcase_add_loop_test(tc, pieces_of_several_exchanges_may_interleave, 0, 2);
    tcase_add_loop_test(tc, discard_forgets_the_beginning_of_a_message, 0, 2);
    tcase_add_test(tc, discard_forgets_one_exchange_alone);
    tcase_add_test(tc, the_end_of_an_exchange_forgets_what_had_come_of_a_message);
    tcase_add_test(tc, where_there_are_no_exchanges_all_pieces_are_of_one_stream);
    tcase_add_test(tc, a_discard_after_the_end_is_a_broken_contract_and_no_more);
}

int main(void)
{
    return run_suite("rpc_exchange", add);
}
