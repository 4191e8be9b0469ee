/* subscriptions/listen where its stream can be lost alone: it is taken up again. */
#include "fake.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>

static struct fake f;
static unsigned changes, kinds; /* told so far */
static bool closes;             /* who is told */

static void on_changed(void *arg, struct mp_session *s, int what, const char *uri)
{
    (void)arg, (void)uri;
    changes++;
    kinds |= (unsigned)what;
    if (closes) {
        f.server = NULL;
        mp_session_close(s, NULL, NULL, NULL);
    }
}

/* A ready session that listens; the exchange of it. */
static uint64_t start_with(uint32_t caps, const char *capabilities)
{
    struct mp_session_options so = {.changed = on_changed};

    changes = kinds = 0;
    closes = false;
    fake_init(&f);
    f.ops.caps = caps;
    fake_modern(&f, &so, capabilities);
    ck_assert_uint_eq(f.readies, 1);
    return fake_expect(&f, "subscriptions/listen");
}

static uint64_t start(uint32_t caps)
{
    return start_with(
        caps, "{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true}}");
}

static void acknowledge(uint64_t id)
{
    char line[256];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
             "acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
             "subscriptionId\":%llu}}}",
             ll(id));
    fake_say_on(&f, id, line);
}

static void say_changed(uint64_t id)
{
    char line[256];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\","
             "\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%llu}}}",
             ll(id));
    fake_say_on(&f, id, line);
}

static void lose(uint64_t id)
{
    fake_end_exchange(&f, id, MCPLUG_ECLOSED, ECONNRESET, 0, "the answer broke off");
    ck_assert_uint_eq(f.drops, 0);
}

/* It is taken up again after that time and not before. */
static uint64_t again_after(uint64_t ms)
{
    ck_assert(fake_idle(&f));
    fake_pass(&f, ms - 1);
    ck_assert_msg(fake_idle(&f), "before %llu ms", ll(ms));
    fake_pass(&f, 1);
    uint64_t id = fake_expect(&f, "subscriptions/listen");
    ck_assert_ptr_nonnull(strstr(f.sent[f.n_seen - 1], "\"toolsListChanged\":true"));
    ck_assert_str_eq(fake_meta(&f, "protocol-version"), "2026-07-28");
    ck_assert(fake_idle(&f));
    return id;
}

static void check_never_again(void)
{
    fake_pass(&f, 1000);
    fake_pass(&f, 60000);
    fake_pass(&f, 600000);
    ck_assert(fake_idle(&f));
}

START_TEST(a_lost_stream_is_taken_up_again_ever_more_seldom)
{
    static const unsigned pauses[] = {1000,  2000,  5000,  10000,
                                      30000, 60000, 60000, 60000};
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    for (size_t i = 0; i < MP_COUNT(pauses); i++) {
        lose(id);
        id = again_after(pauses[i]);
    }
    acknowledge(id);
    say_changed(id);
    ck_assert_uint_eq(changes, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(one_that_stood_begins_with_the_shortest_pause)
{
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    for (int i = 0; i < 3; i++) {
        lose(id);
        id = again_after(1000);
        lose(id);
        id = again_after(2000);
        lose(id);
        id = again_after(5000);
        acknowledge(id);
        fake_pass(&f, 10000);
    }
    fake_clear(&f);
}
END_TEST

START_TEST(every_loss_but_the_servers_word_is_one)
{
    static const struct {
        int code, os_error, status;
    } ends[] = {
        {0, 0, 0}, /* in good order, as when a proxy finds it idle */
        {MCPLUG_ECLOSED, EPIPE, 0},
        {MCPLUG_ETIMEDOUT, 0, 0},
        {MCPLUG_EREFUSED, 0, 502},
        {MCPLUG_EREFUSED, 0, 404},
        {MCPLUG_EAUTH, 0, 401},
    };
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    acknowledge(id);
    fake_end_exchange(&f, id, ends[_i].code, ends[_i].os_error, ends[_i].status, "x");
    id = again_after(1000);
    fake_end_exchange(&f, id, ends[_i].code, ends[_i].os_error, ends[_i].status, "x");
    again_after(2000);
    fake_clear(&f);
}
END_TEST

START_TEST(what_the_server_ended_is_not_taken_up_again)
{
    static const char *const words[] = {
        "\"id\":%llu,\"error\":{\"code\":-32601,\"message\":\"no\"}}",
        "\"id\":%llu,\"result\":{}}",
        "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%llu}}",
        "\"error\":{\"code\":-32601,\"message\":\"no\"},\"ignored\":%llu}",
    };
    char line[256];

    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    int n = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",");
    snprintf(line + n, sizeof line - (size_t)n, words[_i], ll(id));
    if (_i == 2)
        acknowledge(id);
    fake_feed(&f, id, line, true);
    fake_drop_exchange(&f, id, 0, 0, 0, NULL);
    fake_turn(&f);
    ck_assert_ptr_null(f.server->listening.newest);
    check_never_again();
    fake_clear(&f);
}
END_TEST

START_TEST(nothing_is_taken_up_after_close)
{
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    if (_i) /* lost before, and it waits; else in the same turn */
        lose(id);
    else
        fake_drop_exchange(&f, id, MCPLUG_ECLOSED, ECONNRESET, 0, "x");
    struct mp_session *s = f.server;
    f.server = NULL;
    mp_session_close(s, NULL, NULL, NULL);
    check_never_again();
    fake_clear(&f);
}
END_TEST

START_TEST(nothing_is_taken_up_after_the_connection_went)
{
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    if (_i)
        lose(id);
    fake_hang_up(&f, ECONNRESET, "gone");
    ck_assert_uint_eq(f.drops, 1);
    check_never_again();
    ck_assert_uint_eq(f.starts, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(without_exchanges_a_stream_cannot_be_lost_alone)
{
    uint64_t id = start(0);
    fake_end_exchange(&f, id, MCPLUG_ECLOSED, ECONNRESET, 0, "odd");
    ck_assert_ptr_null(f.server->listening.newest);
    check_never_again();
    fake_clear(&f);
}
END_TEST

START_TEST(a_wish_in_the_pause_is_told_at_once_and_ends_the_pause)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    lose(start(MCPLUG_CAN_EXCHANGE));
    ck_assert_int_eq(mp_notify_subscribe(f.server, "file:///a", true, &err), MCPLUG_OK);
    uint64_t id = fake_expect(&f, "subscriptions/listen");
    ck_assert_ptr_nonnull(strstr(f.sent[f.n_seen - 1], "[\"file:///a\"]"));
    check_never_again();
    acknowledge(id);
    fake_pass(&f, 10000);
    lose(id);
    again_after(1000);
    ck_assert_ptr_nonnull(strstr(f.sent[f.n_seen - 1], "[\"file:///a\"]"));
    fake_clear(&f);
}
END_TEST

START_TEST(a_wish_that_was_lost_alone_is_told_again)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    uint64_t first = start(MCPLUG_CAN_EXCHANGE);
    acknowledge(first);
    ck_assert_int_eq(mp_notify_subscribe(f.server, "file:///a", true, &err), MCPLUG_OK);
    lose(fake_expect(&f, "subscriptions/listen"));
    uint64_t id = again_after(1000); /* though the first one stands */
    ck_assert_ptr_nonnull(strstr(f.sent[f.n_seen - 1], "[\"file:///a\"]"));
    ck_assert_uint_eq(f.n_cancelled, 0);
    acknowledge(id);
    ck_assert_uint_eq(f.n_cancelled, 1);
    ck_assert_uint_eq(f.cancelled[0], first);
    check_never_again();
    fake_clear(&f);
}
END_TEST

START_TEST(the_loss_of_one_that_is_replaced_is_none)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    uint64_t first = start(MCPLUG_CAN_EXCHANGE);
    ck_assert_int_eq(mp_notify_subscribe(f.server, "file:///a", true, &err), MCPLUG_OK);
    uint64_t id = fake_expect(&f, "subscriptions/listen");
    lose(first);
    check_never_again();
    acknowledge(id);
    say_changed(id);
    ck_assert_uint_eq(changes, 1);
    fake_clear(&f);
}
END_TEST

/* _i: the first of them was acknowledged */
START_TEST(of_those_that_are_replaced_few_stay_open)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_ledger l = {.struct_size = sizeof l};
    uint64_t first = start(MCPLUG_CAN_EXCHANGE), last = 0;

    if (_i)
        acknowledge(first);
    for (int i = 0; i < 50; i++) {
        char uri[32];
        snprintf(uri, sizeof uri, "file:///%d", i);
        ck_assert_int_eq(mp_notify_subscribe(f.server, uri, true, &err), MCPLUG_OK);
        last = fake_expect(&f, "subscriptions/listen");
        fake_turn(&f);
    }
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.under_way, MP_LISTENERS_MAX + (_i ? 1 : 0));
    ck_assert_uint_eq(f.n_cancelled, 51 - l.under_way);
    if (_i)
        say_changed(first);
    ck_assert_uint_eq(changes, _i ? 1 : 0);
    acknowledge(last);
    fake_turn(&f);
    l = (struct mcplug_ledger){.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.under_way, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(nothing_wanted_is_nothing_to_take_up)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    fake_modern(&f, NULL, "{\"resources\":{\"subscribe\":true}}");
    ck_assert(fake_idle(&f));
    ck_assert_int_eq(mp_notify_subscribe(f.server, "file:///a", true, &err), MCPLUG_OK);
    lose(fake_expect(&f, "subscriptions/listen"));
    ck_assert_int_eq(mp_notify_subscribe(f.server, "file:///a", false, &err), MCPLUG_OK);
    check_never_again();
    fake_clear(&f);
}
END_TEST

START_TEST(what_cannot_be_asked_for_now_is_asked_for_later)
{
    static char arguments[MP_QUEUE_MAX];
    static const char head[] = "{\"a\":\"", tail[] = "\"}";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct outcome o = {0};

    lose(start(MCPLUG_CAN_EXCHANGE));
    memset(arguments, 'x', sizeof arguments);
    memcpy(arguments, head, sizeof head - 1);
    memcpy(arguments + sizeof arguments - sizeof tail, tail, sizeof tail);
    f.queues = true; /* and it is full with this one */
    ck_assert_ptr_nonnull(
        fake_call(f.server, "t", arguments, NULL, on_outcome, &o, &err));
    uint64_t id = fake_expect(&f, "tools/call");
    fake_pass(&f, 1000);
    ck_assert(fake_idle(&f));
    ck_assert_ptr_nonnull(strstr(f.logged, "subscriptions/listen: overloaded"));
    mp_link_wire.written(f.conn, id);
    again_after(2000);
    fake_clear(&f);
}
END_TEST

static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    (void)why;
    *(unsigned *)arg += list != NULL;
}

static unsigned get_tools(unsigned *lists)
{
    ck_assert_int_eq(mp_lists_get(f.server, MCPLUG_TOOLS, on_list, lists, NULL), 0);
    fake_turn(&f);
    if (fake_idle(&f))
        return 0;
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":[]}}",
              ll(fake_expect(&f, "tools/list")));
    return 1;
}

START_TEST(what_may_have_changed_unheard_is_asked_anew)
{
    unsigned lists = 0;
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    acknowledge(id);
    ck_assert_uint_eq(get_tools(&lists), 1);
    ck_assert_uint_eq(get_tools(&lists), 0); /* kept until it changes */
    lose(id);
    ck_assert_uint_eq(get_tools(&lists), 1);
    ck_assert_uint_eq(get_tools(&lists), 1); /* nobody listens */
    acknowledge(again_after(1000));
    ck_assert_uint_eq(get_tools(&lists), 1);
    ck_assert_uint_eq(get_tools(&lists), 0);
    ck_assert_uint_eq(lists, 6);
    fake_clear(&f);
}
END_TEST

START_TEST(one_that_stood_for_a_moment_is_taken_up_ever_more_seldom)
{
    static const unsigned pauses[] = {1000, 2000, 5000, 10000, 30000, 60000, 60000};
    unsigned lists = 0;
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    for (size_t i = 0; i < MP_COUNT(pauses); i++) {
        acknowledge(id);
        get_tools(&lists);
        fake_pass(&f, 9000);
        acknowledge(id); /* says nothing new */
        fake_pass(&f, 999);
        lose(id);
        id = again_after(pauses[i]);
    }
    ck_assert_uint_eq(changes, MP_COUNT(pauses) - 1);
    fake_clear(&f);
}
END_TEST

/* ---- the gap between two of them ---- */

/* Fetches one list, which must be asked for. */
static void fetch(enum mcplug_kind kind, const char *method, const char *result)
{
    unsigned lists = 0;
    ck_assert_int_eq(mp_lists_get(f.server, kind, on_list, &lists, NULL), 0);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{%s}}",
              ll(fake_expect(&f, method)), result);
    ck_assert_uint_eq(lists, 1);
}

START_TEST(changes_that_nobody_heard_are_told_when_it_listens_again)
{
    unsigned lists = 0;
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    acknowledge(id);
    for (unsigned i = 1; i <= 2; i++) {
        get_tools(&lists);
        fake_pass(&f, 10000);
        lose(id);
        lose(again_after(1000)); /* a gap that lasts */
        id = again_after(2000);
        ck_assert_uint_eq(changes, i - 1); /* it does not stand yet */
        acknowledge(id);
        ck_assert_uint_eq(changes, i);
        acknowledge(id); /* once more, for nothing */
        ck_assert_uint_eq(changes, i);
    }
    ck_assert_uint_eq(kinds, MCPLUG_TOOLS);
    ck_assert_uint_eq(get_tools(&lists), 1);
    fake_clear(&f);
}
END_TEST

START_TEST(every_kind_of_list_that_anybody_may_have_is_told_of)
{
    uint64_t id = start_with(MCPLUG_CAN_EXCHANGE,
                             "{\"tools\":{\"listChanged\":true},\"prompts\":{"
                             "\"listChanged\":true},\"resources\":{\"listChanged\":"
                             "true}}");
    fetch(MCPLUG_TOOLS, "tools/list", "\"ttlMs\":600000,\"tools\":[]");
    fetch(MCPLUG_TEMPLATES, "resources/templates/list", "\"resourceTemplates\":[]");
    acknowledge(id);
    lose(id);
    fetch(MCPLUG_PROMPTS, "prompts/list", "\"prompts\":[]"); /* in the gap */
    ck_assert_uint_eq(changes, 0);
    acknowledge(again_after(1000));
    ck_assert_uint_eq(changes, 3);
    ck_assert_uint_eq(kinds, MCPLUG_TOOLS | MCPLUG_PROMPTS | MCPLUG_RESOURCES);
    fetch(MCPLUG_TOOLS, "tools/list", "\"tools\":[]"); /* whatever was said before */
    fake_clear(&f);
}
END_TEST

/* Wants one thing more; the exchange of the second subscription. */
static uint64_t wish(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    ck_assert_int_eq(mp_notify_subscribe(f.server, "file:///a", true, &err), MCPLUG_OK);
    return fake_expect(&f, "subscriptions/listen");
}

START_TEST(where_nothing_lapsed_no_change_is_told)
{
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    acknowledge(id);
    fetch(MCPLUG_RESOURCES, "resources/list", "\"resources\":[]"); /* never told of */
    lose(id);
    id = again_after(1000);
    acknowledge(id);
    fetch(MCPLUG_TOOLS, "tools/list", "\"tools\":[]");
    acknowledge(wish()); /* which ends the first one */
    ck_assert_uint_eq(changes, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_subscription_that_does_not_stand_yet_hears_nothing)
{
    unsigned lists = 0;
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    acknowledge(id);
    get_tools(&lists);
    uint64_t second = wish();
    lose(id);
    ck_assert_uint_eq(changes, 0);
    acknowledge(second);
    ck_assert_uint_eq(changes, 1);
    ck_assert_uint_eq(get_tools(&lists), 1); /* it is asked */
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_that_is_under_way_when_it_listens_again_is_not_kept)
{
    unsigned lists = 0;
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    acknowledge(id);
    lose(id);
    id = again_after(1000);
    ck_assert_int_eq(mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &lists, NULL), 0);
    uint64_t asked = fake_expect(&f, "tools/list");
    acknowledge(id);
    ck_assert_uint_eq(changes, 1);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":[]}}",
              ll(asked));
    ck_assert_uint_eq(lists, 1);
    ck_assert_uint_eq(get_tools(&lists), 1); /* the answer may be from before */
    fake_clear(&f);
}
END_TEST

START_TEST(who_hears_of_the_gap_may_close_the_session)
{
    uint64_t id = start_with(MCPLUG_CAN_EXCHANGE, "{\"tools\":{\"listChanged\":true},"
                                                  "\"prompts\":{\"listChanged\":true}}");
    acknowledge(id);
    fetch(MCPLUG_TOOLS, "tools/list", "\"tools\":[]");
    fetch(MCPLUG_PROMPTS, "prompts/list", "\"prompts\":[]");
    lose(id);
    id = again_after(1000);
    closes = true;
    acknowledge(id);
    ck_assert_uint_eq(changes, 1);
    fake_clear(&f);
}
END_TEST

/* ---- calls that wait for the acknowledgement ---- */

/* A request of its own block, whose URI lives as long as the test. */
static struct mp_request *subscribe(bool on, struct outcome *out)
{
    static const char params[] = "{\"uri\":\"x:1\"}";
    struct mp_ask ask = {.method = on ? "resources/subscribe" : "resources/unsubscribe",
                         .params = mp_text(params),
                         .timeout_ms = 5000,
                         .now = mp_loop_now(f.loop),
                         .done = on_outcome,
                         .arg = out};
    struct mp_request *r = mp_alloc(sizeof *r + mp_request_room(&ask));

    memset(out, 0, sizeof *out);
    ck_assert_ptr_nonnull(r);
    ck_assert_int_eq(mp_request_init(r, (char *)(r + 1), &ask, NULL), MCPLUG_OK);
    r->uri = "x:1";
    r->subscribes = on;
    ck_assert_int_eq(mp_request_begin(r, f.server, NULL), MCPLUG_OK);
    return r;
}

static void acknowledge_with(uint64_t id, const char *subset)
{
    char line[512];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
             "acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
             "subscriptionId\":%llu},\"notifications\":%s}}",
             ll(id), subset);
    fake_say_on(&f, id, line);
}

START_TEST(subscription_ends_with_what_is_acknowledged)
{
    static const struct {
        const char *subset;
        int code;
    } rows[] = {
        {"{\"resourceSubscriptions\":[\"x:0\",\"x:1\"]}", MCPLUG_OK},
        {"{\"toolsListChanged\":true}", MCPLUG_ENOTSUP},
        {"{\"resourceSubscriptions\":[\"x:0\"]}", MCPLUG_ENOTSUP},
        {"1", MCPLUG_OK}, /* it does not say */
    };
    struct outcome out;
    uint64_t id = start(0);
    acknowledge(id);
    struct mp_request *r = subscribe(true, &out);
    id = fake_expect(&f, "subscriptions/listen");
    ck_assert_ptr_nonnull(
        strstr(f.sent[f.n_seen - 1], "\"resourceSubscriptions\":[\"x:1\"]"));
    fake_pass(&f, 4999);
    ck_assert_uint_eq(out.times, 0);
    acknowledge_with(id, rows[_i].subset);
    ck_assert_uint_eq(out.times, 1);
    ck_assert_int_eq(out.code, rows[_i].code);
    if (out.code)
        ck_assert_str_eq(out.text, "server \"fake\" does not report changes of x:1");
    mp_request_clear(r);
    mp_free(r);
    fake_clear(&f);
}
END_TEST

/* _i: 0 the server refuses to listen, 1 it ends it, 2 it is silent */
START_TEST(subscription_fails_with_what_carries_it)
{
    static const int codes[] = {MCPLUG_EPEER, MCPLUG_EPROTO, MCPLUG_ETIMEDOUT};
    struct outcome out;
    uint64_t id = start(0);
    acknowledge(id);
    struct mp_request *r = subscribe(true, &out);
    id = fake_expect(&f, "subscriptions/listen");
    if (_i == 0)
        fake_sayf(&f,
                  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32603,"
                  "\"message\":\"no\"}}",
                  ll(id));
    else if (_i == 1)
        fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(id));
    else
        fake_pass(&f, 5000);
    ck_assert_uint_eq(out.times, 1);
    ck_assert_int_eq(out.code, codes[_i]);
    mp_request_clear(r);
    mp_free(r);
    fake_clear(&f);
}
END_TEST

START_TEST(subscription_goes_on_when_its_stream_is_lost_alone)
{
    struct outcome out;
    uint64_t id = start(MCPLUG_CAN_EXCHANGE);
    struct mp_request *r = subscribe(true, &out);
    id = fake_expect(&f, "subscriptions/listen");
    lose(id);
    ck_assert_uint_eq(out.times, 0);
    id = again_after(1000);
    acknowledge_with(id, "{\"resourceSubscriptions\":[\"x:1\"]}");
    ck_assert_uint_eq(out.times, 1);
    ck_assert_int_eq(out.code, MCPLUG_OK);
    mp_request_clear(r);
    mp_free(r);
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, subscription_ends_with_what_is_acknowledged, 0, 4);
    tcase_add_loop_test(tc, subscription_fails_with_what_carries_it, 0, 3);
    tcase_add_test(tc, subscription_goes_on_when_its_stream_is_lost_alone);
    tcase_add_test(tc, a_lost_stream_is_taken_up_again_ever_more_seldom);
    tcase_add_test(tc, one_that_stood_begins_with_the_shortest_pause);
    tcase_add_test(tc, one_that_stood_for_a_moment_is_taken_up_ever_more_seldom);
    tcase_add_loop_test(tc, every_loss_but_the_servers_word_is_one, 0, 6);
    tcase_add_loop_test(tc, what_the_server_ended_is_not_taken_up_again, 0, 4);
    tcase_add_loop_test(tc, nothing_is_taken_up_after_close, 0, 2);
    tcase_add_loop_test(tc, nothing_is_taken_up_after_the_connection_went, 0, 2);
    tcase_add_test(tc, without_exchanges_a_stream_cannot_be_lost_alone);
    tcase_add_test(tc, a_wish_in_the_pause_is_told_at_once_and_ends_the_pause);
    tcase_add_test(tc, a_wish_that_was_lost_alone_is_told_again);
    tcase_add_test(tc, the_loss_of_one_that_is_replaced_is_none);
    tcase_add_loop_test(tc, of_those_that_are_replaced_few_stay_open, 0, 2);
    tcase_add_test(tc, nothing_wanted_is_nothing_to_take_up);
    tcase_add_test(tc, what_cannot_be_asked_for_now_is_asked_for_later);
    tcase_add_test(tc, what_may_have_changed_unheard_is_asked_anew);
    tcase_add_test(tc, changes_that_nobody_heard_are_told_when_it_listens_again);
    tcase_add_test(tc, every_kind_of_list_that_anybody_may_have_is_told_of);
    tcase_add_test(tc, where_nothing_lapsed_no_change_is_told);
    tcase_add_test(tc, a_subscription_that_does_not_stand_yet_hears_nothing);
    tcase_add_test(tc, a_list_that_is_under_way_when_it_listens_again_is_not_kept);
    tcase_add_test(tc, who_hears_of_the_gap_may_close_the_session);
}

int main(void)
{
    return run_suite("session_listen", add);
}
