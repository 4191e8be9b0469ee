/* Transports whose replies come per request: what they are told of calls that have ended,
 * what goes along with each frame, and what waits to be written. */
#include "fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct fake f;
static struct outcome o;

static void begin(void)
{
    memset(&o, 0, sizeof o);
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
}

static void go(bool modern, struct mp_session_options *so)
{
    if (modern)
        fake_modern(&f, so, "{\"tools\":{},\"logging\":{}}");
    else
        fake_legacy(&f, so, "{\"tools\":{},\"logging\":{}}");
    ck_assert_uint_eq(f.readies, 1);
    f.n_cancelled = f.n_settled = 0;
}

static void start(bool modern)
{
    begin();
    go(modern, NULL);
}

static uint64_t call_with(const char *arguments, const struct mcplug_call_options *co,
                          mcplug_call **made)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    memset(&o, 0, sizeof o);
    mcplug_call *c = fake_call(f.server, "t", arguments, co, on_outcome, &o, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    if (made)
        *made = c;
    return fake_expect(&f, "tools/call");
}

static uint64_t call(void)
{
    return call_with(NULL, NULL, NULL);
}

/* Valid until the next call. */
static const char *reply(uint64_t id, const char *rest)
{
    static char line[512];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%llu,%s}", ll(id), rest);
    return line;
}

/* ---- settled ---- */

START_TEST(a_reply_whose_exchange_is_open_settles_it_once)
{
    static const char *const replies[] = {
        "\"result\":{}",
        "\"result\":{\"isError\":true,\"content\":[]}",
        "\"error\":{\"code\":-1,\"message\":\"no\"}",
    };
    start(_i);
    for (size_t i = 0; i < MP_COUNT(replies); i++) {
        uint64_t id = call();
        fake_say_on(&f, id, reply(id, replies[i]));
        ck_assert_uint_eq(o.times, 1);
        ck_assert_uint_eq(f.n_settled, i + 1);
        ck_assert_uint_eq(f.settled[i], id);
        fake_say_on(&f, id, reply(id, replies[i])); /* late */
        fake_end_exchange(&f, id, 0, 0, 0, NULL);
        ck_assert_uint_eq(f.n_settled, i + 1);
    }
    ck_assert_uint_eq(f.n_cancelled, 0);
    fake_clear(&f);
}
END_TEST

/* Nobody waits for the rest of it, so the transport need not either. */
START_TEST(a_reply_that_is_none_settles_its_exchange_too)
{
    static const char *const replies[] = {
        "\"result\":7",
        "\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}",
        "\"error\":7",
        "\"result\":{\"n\":NaN}",
    };
    start(_i);
    for (size_t i = 0; i < MP_COUNT(replies); i++) {
        uint64_t id = call();
        fake_say_on(&f, id, reply(id, replies[i]));
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_EPROTO);
        ck_assert_msg(f.n_settled == i + 1, "%s", replies[i]);
        ck_assert_uint_eq(f.settled[i], id);
    }
    fake_clear(&f);
}
END_TEST

START_TEST(an_exchange_that_is_over_is_not_settled)
{
    start(_i);
    for (int why = 0; why < 2; why++) {
        uint64_t id = call();
        fake_feed(&f, id, reply(id, "\"result\":{}"), true);
        fake_drop_exchange(&f, id, why ? MCPLUG_EIO : 0, 0, 0, "x");
        fake_turn(&f);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, 0);
    }
    uint64_t other = call(), id = call(); /* the end of another one is not its end */
    fake_feed(&f, id, reply(id, "\"result\":{}"), true);
    fake_drop_exchange(&f, other, 0, 0, 0, NULL);
    fake_turn(&f);
    ck_assert_uint_eq(f.n_settled, 1);
    ck_assert_uint_eq(f.settled[0], id);
    fake_clear(&f);
}
END_TEST

START_TEST(an_exchange_that_ends_is_not_settled)
{
    start(_i);
    fake_end_exchange(&f, call(), 0, 0, 0, NULL);
    fake_end_exchange(&f, call(), MCPLUG_EREFUSED, 0, 500, "HTTP 500");
    call();
    fake_hang_up(&f, ECONNRESET, "gone");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_uint_eq(f.n_settled, 0);
    ck_assert_uint_eq(f.n_cancelled, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_call_that_is_given_up_settles_its_exchange_once)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 100};
    mcplug_call *c;

    start(_i);
    uint64_t id = call_with(NULL, &co, NULL);
    fake_pass(&f, 100);
    ck_assert_uint_eq(f.n_settled, 1);
    ck_assert_uint_eq(f.settled[0], id);
    while (!fake_idle(&f)) /* notifications/cancelled */
        fake_next(&f);
    id = call_with(NULL, NULL, &c);
    mcplug_cancel(c);
    fake_turn(&f);
    ck_assert_uint_eq(f.n_settled, 2);
    ck_assert_uint_eq(f.settled[1], id);
    fake_end_exchange(&f, id, 0, 0, 0, NULL);
    ck_assert_uint_eq(f.n_settled, 2);
    fake_clear(&f);
}
END_TEST

START_TEST(a_link_that_is_closed_is_told_nothing_more)
{
    start(_i);
    uint64_t id = call();
    mcplug_conn *conn = f.conn;
    fake_feed(&f, id, reply(id, "\"result\":{}"), true);
    f.conn = NULL;
    mp_link_wire.closed(conn, NULL);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert_uint_eq(f.n_settled, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(without_exchanges_only_what_has_not_left_is_the_transports_to_cancel)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 100};
    mcplug_call *c;

    begin();
    f.ops.caps = MCPLUG_MIRRORS_PARAMS;
    go(true, NULL);
    uint64_t id = call();
    fake_say(&f, reply(id, "\"result\":{}"));
    ck_assert_uint_eq(o.times, 1);
    id = call_with(NULL, NULL, &c);
    mcplug_cancel(c);
    fake_turn(&f);
    fake_expect(&f, "notifications/cancelled");
    id = call_with(NULL, &co, NULL);
    fake_pass(&f, 100);
    fake_expect(&f, "notifications/cancelled");
    ck_assert_uint_eq(f.n_cancelled, 2); /* it may have kept something of them */
    f.queues = true;
    id = call_with(NULL, NULL, &c);
    mcplug_cancel(c);
    fake_turn(&f);
    ck_assert(fake_idle(&f)); /* the server never heard of it */
    ck_assert_uint_eq(f.n_cancelled, 3);
    ck_assert_uint_eq(f.cancelled[2], id);
    ck_assert_uint_eq(f.n_settled, 0);
    fake_clear(&f);
}
END_TEST

/* As a module of the first minor has it; and one that has no cancel either. */
START_TEST(a_transport_need_not_know_settled_nor_cancel)
{
    static const size_t sizes[] = {
        offsetof(struct mcplug_transport_ops, settled),
        offsetof(struct mcplug_transport_ops, cancel),
        sizeof(struct mcplug_transport_ops),
    };
    mcplug_call *c;

    begin();
    f.ops.struct_size = (uint32_t)sizes[_i];
    if (f.ops.struct_size == sizeof f.ops) {
        f.ops.cancel = NULL;
        f.ops.settled = NULL;
    }
    go(true, NULL);
    for (int i = 0; i < 3; i++) {
        uint64_t id = call();
        fake_say_on(&f, id, reply(id, "\"result\":{}"));
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, 0);
    }
    call_with(NULL, NULL, &c);
    mcplug_cancel(c);
    fake_turn(&f);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(f.n_settled, 0);
    ck_assert_uint_eq(f.n_cancelled, _i == 0);
    fake_clear(&f);
}
END_TEST

/* ---- cancelling ---- */

static void check_cancelled(bool modern, uint64_t id, const char *reason)
{
    char want[128];

    ck_assert_uint_eq(f.n_cancelled, 1);
    ck_assert_uint_eq(f.cancelled[0], id);
    if (modern) {
        ck_assert(fake_idle(&f));
        return;
    }
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"method\":\"notifications/cancelled\""));
    snprintf(want, sizeof want, "\"params\":{\"requestId\":%llu,\"reason\":\"%s\"}",
             ll(id), reason);
    ck_assert_msg(strstr(frame, want) != NULL, "%s", frame);
    ck_assert_uint_eq(fake_kind(&f), MCPLUG_NOTIFICATION);
    ck_assert_uint_eq(fake_exchange(&f), 0);
    ck_assert(fake_idle(&f));
}

START_TEST(a_cancelled_call_ends_its_exchange_and_in_the_old_era_is_told_too)
{
    mcplug_call *c;

    start(_i);
    uint64_t id = call_with(NULL, NULL, &c);
    mcplug_cancel(c);
    mcplug_cancel(c);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    check_cancelled(_i, id, "cancelled");
    fake_say_on(&f, id, reply(id, "\"result\":{}")); /* too late */
    fake_end_exchange(&f, id, MCPLUG_ECLOSED, ECONNRESET, 0, "x");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_uint_eq(f.n_cancelled, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_time_out_ends_the_exchange_and_in_the_old_era_is_told_too)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 2000};

    start(_i);
    uint64_t id = call_with(NULL, &co, NULL);
    fake_pass(&f, 1999);
    ck_assert_uint_eq(f.n_cancelled, 0);
    fake_pass(&f, 1);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(o.text, "MCP tool call 't' timed out after 2s");
    check_cancelled(_i, id, "timed out");
    fake_clear(&f);
}
END_TEST

/* Nobody needs to hear of a call that never left. */
START_TEST(a_call_that_was_not_written_is_cancelled_without_a_word)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 2000};
    mcplug_call *c;

    start(false);
    f.queues = true;
    uint64_t id = call_with(NULL, _i & 1 ? &co : NULL, &c);
    if (_i & 2)
        mp_link_wire.written(f.conn, f.serials[f.n_sent - 1]);
    if (!(_i & 1))
        mcplug_cancel(c);
    fake_pass(&f, 2000);
    ck_assert_uint_eq(o.times, 1);
    check_cancelled(!(_i & 2), id, _i & 1 ? "timed out" : "cancelled");
    fake_clear(&f);
}
END_TEST

START_TEST(a_cancel_before_the_end_of_the_exchange_is_what_counts)
{
    mcplug_call *c;

    start(_i);
    uint64_t id = call_with(NULL, NULL, &c);
    mcplug_cancel(c);
    fake_drop_exchange(&f, id, MCPLUG_ECLOSED, ECONNRESET, 0, "x");
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(f.n_settled, 0);
    fake_clear(&f);
}
END_TEST

static unsigned logged;
static void on_logged(void *arg, struct mp_session *s, const char *params, size_t len)
{
    (void)arg, (void)s, (void)params, (void)len;
    logged++;
}

/* The transport says no end of what it was told to end. */
START_TEST(what_had_come_of_a_cancelled_reply_is_forgotten)
{
    struct mp_session_options so = {.logged = on_logged};
    mcplug_call *c;

    begin();
    logged = 0;
    go(_i, &so);
    uint64_t id = call_with(NULL, NULL, &c);
    fake_feed(&f, id, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"", false);
    mcplug_cancel(c);
    fake_turn(&f);
    fake_say_on(&f, id,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                "\"params\":{\"data\":1}}");
    ck_assert_uint_eq(logged, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(what_a_server_of_the_old_era_never_answers_is_not_waited_for)
{
    begin();
    fake_session(&f, NULL);
    uint64_t id = fake_expect(&f, "server/discover");
    fake_pass(&f, 10000);
    uint64_t second = fake_expect(&f, "initialize");
    fake_say_on(&f, second,
                reply(second, "\"result\":{\"protocolVersion\":\"2025-06-18\","
                              "\"capabilities\":{},\"serverInfo\":{}}"));
    fake_expect(&f, "notifications/initialized");
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, 0);
    ck_assert(fake_idle(&f)); /* it never knew the question */
    ck_assert_uint_eq(f.n_settled, 2);
    ck_assert_uint_eq(f.settled[0], second);
    ck_assert_uint_eq(f.settled[1], id);
    fake_clear(&f);
}
END_TEST

/* ---- what waits to be written ---- */

static char *big(size_t n)
{
    char *text = malloc(n + 16);
    ck_assert_ptr_nonnull(text);
    strcpy(text, "{\"a\":\"");
    memset(text + 6, 'x', n);
    strcpy(text + 6 + n, "\"}");
    return text;
}

static void end_somehow(int how, uint64_t id)
{
    if (how == 0)
        fake_drop_exchange(&f, id, MCPLUG_ECLOSED, ECONNREFUSED, 0, "x");
    else if (how == 1)
        fake_drop_exchange(&f, id, 0, 0, 0, NULL);
    else
        fake_feed(&f, id, reply(id, "\"result\":{}"), true);
    fake_turn(&f);
}

START_TEST(frames_that_wait_are_forgotten_with_their_exchange)
{
    char *arguments = big(100 * 1000);

    start(true);
    f.queues = true;
    for (int i = 0; i < 250; i++) { /* 25 MB; 16 may wait */
        end_somehow(_i < 3 ? _i : i % 3, call_with(arguments, NULL, NULL));
        ck_assert_uint_eq(o.times, 1);
    }
    free(arguments);
    fake_clear(&f);
}
END_TEST

START_TEST(frames_of_cancelled_calls_do_not_wait_any_more)
{
    char *arguments = big(500 * 1000);
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 10};
    mcplug_call *c;

    start(true);
    f.queues = true;
    for (int i = 0; i < 60; i++) {
        call_with(arguments, i % 2 ? &co : NULL, &c);
        if (i % 2) {
            fake_pass(&f, 10);
        } else {
            mcplug_cancel(c);
            fake_turn(&f);
        }
        ck_assert_uint_eq(o.times, 1);
        f.n_cancelled = 0;
    }
    free(arguments);
    fake_clear(&f);
}
END_TEST

START_TEST(frames_that_do_wait_are_counted_in_whatever_order_they_go)
{
    enum { N = 16 };
    char *arguments = big(1000 * 1000);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct outcome all[N + 1];
    uint64_t ids[N];

    start(true);
    memset(all, 0, sizeof all);
    f.queues = true;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++) {
            ck_assert_ptr_nonnull(
                fake_call(f.server, "t", arguments, NULL, on_outcome, &all[i], &err));
            ids[i] = fake_expect(&f, "tools/call");
        }
        ck_assert_ptr_null(
            fake_call(f.server, "t", arguments, NULL, on_outcome, &all[N], &err));
        ck_assert_int_eq(err.code, MCPLUG_EOVERLOADED);
        for (int i = 0; i < N; i++) { /* from the middle outwards */
            int at = (N / 2 + (i % 2 ? -(i + 1) / 2 : i / 2) + N) % N;
            mp_link_wire.written(f.conn, ids[at]);
            if (i % 3 == 0)
                mp_link_wire.written(f.conn, ids[at]); /* one too many */
            fake_end_exchange(&f, ids[at], 0, 0, 0, NULL);
        }
    }
    for (int i = 0; i < N; i++)
        ck_assert_uint_eq(all[i].times, 5);
    ck_assert_uint_eq(all[N].times, 0);
    free(arguments);
    fake_clear(&f);
}
END_TEST

/* ---- answers and cancellations that are not taken ---- */

/* A request of the server's that is answered with a long frame. */
static void ping(void)
{
    char id[1001];

    memset(id, 'p', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}", id);
}

/* Answers are queued until so many bytes of them wait. Returns how many are. */
static size_t queue_answers(size_t bytes)
{
    size_t n = 0, have = 0;

    f.queues = true;
    while (have < bytes) {
        ping();
        have += strlen(fake_next(&f));
        ck_assert_uint_eq(fake_kind(&f), MCPLUG_RESPONSE);
        n++;
    }
    return n;
}

static unsigned times_logged(const char *text)
{
    unsigned n = 0;

    for (const char *at = f.logged; (at = strstr(at, text)); at++)
        n++;
    return n;
}

START_TEST(answers_beyond_the_limit_are_dropped_and_calls_go_on)
{
    start(false);
    size_t n = queue_answers(MP_ASIDE_MAX);
    uint64_t first = f.serials[f.n_sent - n];

    for (int i = 0; i < 100; i++)
        ping();
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(times_logged("dropped"), 1);
    ck_assert_uint_eq(times_logged("dropped 1 answer to requests of the server: "), 1);
    call();
    fake_pass(&f, MP_DROPPED_MS);
    ping();
    ck_assert_uint_eq(times_logged("dropped"), 2);
    ck_assert_uint_eq(times_logged("dropped 100 answers to"), 1);
    mp_link_wire.written(f.conn, first);
    ping();
    ck_assert_uint_eq(fake_kind(&f), MCPLUG_REQUEST);
    fake_next(&f);
    ck_assert_uint_eq(fake_kind(&f), MCPLUG_RESPONSE);
    fake_clear(&f);
}
END_TEST

/* _i: before the limit, and at it */
START_TEST(cancellations_are_dropped_before_answers)
{
    mcplug_call *c;

    start(false);
    f.queues = false; /* the server has it */
    call_with(NULL, NULL, &c);
    queue_answers(_i ? MP_CANCELS_MAX : MP_CANCELS_MAX - 2000);
    mcplug_cancel(c);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    if (!_i)
        ck_assert_ptr_nonnull(strstr(fake_next(&f), "notifications/cancelled"));
    ck_assert(fake_idle(&f));
    ping();
    fake_next(&f);
    ck_assert_uint_eq(fake_kind(&f), MCPLUG_RESPONSE);
    fake_clear(&f);
}
END_TEST

/* ---- what goes along ---- */

static void on_elicit(void *arg, struct mp_session *s, mcplug_input *in, const char *p,
                      size_t len)
{
    (void)arg, (void)s, (void)p, (void)len;
    mcplug_input_answer(in, "{\"action\":\"decline\"}");
}

START_TEST(the_revision_goes_along_once_it_is_settled)
{
    static const char *const names[] = {"2025-06-18", "2026-07-28"};
    struct mp_session_options so = {.elicit = on_elicit};
    mcplug_call *c;

    begin();
    go(_i, &so);
    for (f.n_seen = 0; !fake_idle(&f);) {
        const char *frame = fake_next(&f);
        if (strstr(frame, "\"initialize\""))
            ck_assert_ptr_null(fake_meta(&f, "protocol-version"));
        else if (strstr(frame, "\"server/discover\""))
            ck_assert_str_eq(fake_meta(&f, "protocol-version"), "2026-07-28");
        else
            ck_assert_str_eq(fake_meta(&f, "protocol-version"), names[_i]);
        ck_assert_uint_eq(fake_exchange(&f), fake_id(frame));
    }
    uint64_t id = call_with(NULL, NULL, &c);
    ck_assert_str_eq(fake_meta(&f, "protocol-version"), names[_i]);
    ck_assert_str_eq(fake_meta(&f, "method"), "tools/call");
    ck_assert_str_eq(fake_meta(&f, "name"), "t");
    ck_assert_uint_eq(fake_kind(&f), MCPLUG_REQUEST);
    ck_assert_uint_eq(fake_exchange(&f), id);
    fake_say_on(&f, id,
                "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}"); /* theirs */
    fake_next(&f);
    ck_assert_uint_eq(fake_kind(&f), MCPLUG_RESPONSE);
    ck_assert_uint_eq(fake_exchange(&f), id);
    ck_assert_str_eq(fake_meta(&f, "protocol-version"), names[_i]);
    ck_assert_uint_eq(fake_metas(&f, ""), 1);
    if (_i == 0) {
        fake_say_on(&f, id,
                    "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"method\":\"elicitation/create\","
                    "\"params\":{\"message\":\"?\",\"requestedSchema\":{}}}");
        fake_next(&f);
        ck_assert_uint_eq(fake_kind(&f), MCPLUG_RESPONSE);
        ck_assert_str_eq(fake_meta(&f, "protocol-version"), names[_i]);
        mcplug_cancel(c);
        fake_turn(&f);
        fake_expect(&f, "notifications/cancelled");
        ck_assert_str_eq(fake_meta(&f, "protocol-version"), names[_i]);
    }
    fake_clear(&f);
}
END_TEST

START_TEST(an_answer_before_the_revision_is_settled_carries_none)
{
    begin();
    fake_session(&f, NULL);
    uint64_t id = fake_expect(&f, "server/discover");
    fake_end_exchange(&f, id, MCPLUG_EREFUSED, 0, 404, "HTTP 404");
    id = fake_expect(&f, "initialize");
    ck_assert_uint_eq(fake_metas(&f, ""), 1);
    ck_assert_str_eq(fake_meta(&f, "method"), "initialize");
    fake_say_on(&f, id, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}");
    fake_next(&f);
    ck_assert_uint_eq(fake_kind(&f), MCPLUG_RESPONSE);
    ck_assert_uint_eq(fake_exchange(&f), id);
    ck_assert_uint_eq(fake_metas(&f, ""), 0);
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, a_reply_whose_exchange_is_open_settles_it_once, 0, 2);
    tcase_add_loop_test(tc, a_reply_that_is_none_settles_its_exchange_too, 0, 2);
    tcase_add_loop_test(tc, an_exchange_that_is_over_is_not_settled, 0, 2);
    tcase_add_loop_test(tc, an_exchange_that_ends_is_not_settled, 0, 2);
    tcase_add_loop_test(tc, a_call_that_is_given_up_settles_its_exchange_once, 0, 2);
    tcase_add_loop_test(tc, a_link_that_is_closed_is_told_nothing_more, 0, 2);
    tcase_add_test(tc,
                   without_exchanges_only_what_has_not_left_is_the_transports_to_cancel);
    tcase_add_loop_test(tc, a_transport_need_not_know_settled_nor_cancel, 0, 3);
    tcase_add_loop_test(
        tc, a_cancelled_call_ends_its_exchange_and_in_the_old_era_is_told_too, 0, 2);
    tcase_add_loop_test(tc, a_time_out_ends_the_exchange_and_in_the_old_era_is_told_too,
                        0, 2);
    tcase_add_loop_test(tc, a_call_that_was_not_written_is_cancelled_without_a_word, 0,
                        4);
    tcase_add_loop_test(tc, a_cancel_before_the_end_of_the_exchange_is_what_counts, 0, 2);
    tcase_add_loop_test(tc, what_had_come_of_a_cancelled_reply_is_forgotten, 0, 2);
    tcase_add_test(tc, what_a_server_of_the_old_era_never_answers_is_not_waited_for);
    tcase_add_loop_test(tc, frames_that_wait_are_forgotten_with_their_exchange, 0, 4);
    tcase_add_test(tc, frames_of_cancelled_calls_do_not_wait_any_more);
    tcase_add_test(tc, frames_that_do_wait_are_counted_in_whatever_order_they_go);
    tcase_add_test(tc, answers_beyond_the_limit_are_dropped_and_calls_go_on);
    tcase_add_loop_test(tc, cancellations_are_dropped_before_answers, 0, 2);
    tcase_add_loop_test(tc, the_revision_goes_along_once_it_is_settled, 0, 2);
    tcase_add_test(tc, an_answer_before_the_revision_is_settled_carries_none);
}

int main(void)
{
    return run_suite("rpc_settled", add);
}
