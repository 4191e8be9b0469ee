/* A session that the server has forgotten is begun anew, and nobody outside needs to
 * know: what was made meanwhile waits for it. */
#include "renewal_kit.h"

#include <errno.h>
#include <stdio.h>

#define CAPS                                                                             \
    "{\"tools\":{\"listChanged\":true},\"logging\":{},\"resources\":{\"subscribe\":"     \
    "true}}"

static void start_with(struct mp_session_options *so)
{
    memset(&o, 0, sizeof o);
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    fake_legacy(&f, so, CAPS);
    ck_assert_uint_eq(f.readies, 1);
}

static void start(void)
{
    start_with(NULL);
    ck_assert(fake_idle(&f));
}

/* The exchange fails for another reason before. */
static void forget_after(uint64_t exchange)
{
    fake_drop_exchange(&f, exchange, MCPLUG_EREFUSED, 0, 500, "HTTP 500");
    forget();
}

static void initialized_as(const char *revision, const char *caps)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":\"%s\","
              "\"capabilities\":%s,\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}",
              ll(fake_expect(&f, "initialize")), revision, caps);
    fake_expect(&f, "notifications/initialized");
    ck_assert_str_eq(fake_meta(&f, "protocol-version"), revision);
}

static void renew(void)
{
    initialized_as("2025-06-18", CAPS);
}

static void still_works(void)
{
    struct outcome own = {0};
    call(&own);
    say_done(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(own.times, 1);
    ck_assert_int_eq(own.code, 0);
    check_books();
}

/* ---- begun anew ---- */

START_TEST(a_forgotten_session_is_begun_anew_without_a_word)
{
    start();
    for (unsigned i = 1; i <= 3; i++) {
        forget();
        ck_assert_uint_eq(f.starts, i + 1);
        fake_expect(&f, "initialize"); /* and neither server/discover before */
        ck_assert_ptr_null(fake_meta(&f, "protocol-version"));
        f.n_seen--;
        renew();
        ck_assert_uint_eq(f.drops, 0);
        ck_assert_uint_eq(f.readies, 1);
        ck_assert(fake_idle(&f));
        still_works();
    }
    ck_assert_ptr_nonnull(
        strstr(f.logged, "WRN mcp:fake " FORGOTTEN "; starting a new one"));
    ck_assert_ptr_null(strstr(f.logged, "ERR "));
    fake_pass(&f, 100000); /* the time for connecting is not kept any more */
    still_works();
    fake_clear(&f);
}
END_TEST

START_TEST(calls_under_way_fail_once_with_the_reason)
{
    struct outcome others[3] = {{0}};

    start();
    for (int i = 0; i < 3; i++)
        call(&others[i]);
    call(&o);
    while (!fake_idle(&f))
        fake_next(&f);
    forget_with(f.serials[f.n_sent - 1]);
    ck_assert_uint_eq(o.times, 0);
    renew();
    say_done(fake_expect(&f, "tools/call")); /* the one that found out */
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(others[i].times, 1);
        ck_assert_int_eq(others[i].code, MCPLUG_ECLOSED);
        ck_assert_int_eq(others[i].peer_status, 404);
        ck_assert_str_eq(others[i].text,
                         FORGOTTEN " (the request had already been sent)");
    }
    ck_assert(fake_idle(&f)); /* they are not sent again */
    still_works();
    fake_clear(&f);
}
END_TEST

/* ---- the call that found out ---- */

static struct mcplug_ledger books(void)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    return l;
}

START_TEST(the_call_that_found_out_is_sent_again_before_those_made_meanwhile)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct outcome meanwhile = {0};

    start();
    struct mcplug_ledger before = books();
    ck_assert_ptr_nonnull(
        fake_call(f.server, "first", "{\"a\":[1, 2]}", NULL, on_outcome, &o, &err));
    forget_with(fake_expect(&f, "tools/call"));
    call_to("second", NULL, on_outcome, &meanwhile);
    ck_assert_uint_eq(books().issued, before.issued + 2); /* and initialize */
    renew();
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(
        strstr(frame, "\"name\":\"first\",\"arguments\":{\"a\":[1, 2]}"));
    ck_assert_str_eq(fake_meta(&f, "name"), "first");
    say_done(fake_id(frame));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"name\":\"second\""));
    say_done(fake_id(frame));
    ck_assert_uint_eq(meanwhile.times, 1);
    struct mcplug_ledger after = books();
    ck_assert_uint_eq(after.issued, before.issued + 4);
    ck_assert_uint_eq(after.ok, before.ok + 3);
    ck_assert_uint_eq(after.transport_error, before.transport_error + 1);
    ck_assert_uint_eq(after.under_way, 0);
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(f.drops, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(it_is_sent_again_once)
{
    start();
    call(&o);
    forget_with(fake_expect(&f, "tools/call"));
    renew();
    forget_with(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECLOSED);
    ck_assert_int_eq(o.peer_status, 404);
    ck_assert_str_eq(o.text, "HTTP 404: the request was not carried out");
    renew();
    ck_assert(fake_idle(&f));
    still_works();
    ck_assert_uint_eq(o.times, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(lost_with_the_new_session_it_is_not_sent_a_third_time)
{
    start();
    call(&o);
    forget_with(fake_expect(&f, "tools/call"));
    renew();
    fake_expect(&f, "tools/call");
    forget();
    ck_assert_uint_eq(o.times, 1);
    ck_assert_str_eq(o.text, FORGOTTEN " (the request had already been sent)");
    renew();
    ck_assert(fake_idle(&f));
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(calls_that_never_left_are_sent_in_the_new_session)
{
    struct outcome unsent[2] = {{0}};

    start();
    call(&o);
    f.queues = true;
    call(&unsent[0]);
    call(&unsent[1]);
    f.queues = false;
    for (int i = 0; i < 3; i++)
        fake_expect(&f, "tools/call");
    forget();
    ck_assert_uint_eq(o.times, 1);
    ck_assert_str_eq(o.text, FORGOTTEN " (the request had already been sent)");
    renew();
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(unsent[i].times, 0);
        say_done(fake_expect(&f, "tools/call"));
        ck_assert_uint_eq(unsent[i].times, 1);
        ck_assert_int_eq(unsent[i].code, 0);
    }
    ck_assert(fake_idle(&f));
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(its_time_goes_on_while_it_waits_to_be_sent_again)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 2000};

    start();
    call_to("t", &co, on_outcome, &o);
    uint64_t id = fake_expect(&f, "tools/call");
    fake_pass(&f, 1500);
    forget_with(id);
    fake_pass(&f, 499);
    ck_assert_uint_eq(o.times, 0);
    fake_pass(&f, 1);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(o.text, "MCP tool call 't' timed out after 2s");
    renew();
    ck_assert(fake_idle(&f));
    still_works();
    fake_clear(&f);
}
END_TEST

START_TEST(its_time_goes_on_after_it_was_sent_again)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 2000};

    start();
    call_to("t", &co, on_outcome, &o);
    uint64_t id = fake_expect(&f, "tools/call");
    fake_pass(&f, 1500);
    forget_with(id);
    renew();
    fake_expect(&f, "tools/call");
    fake_pass(&f, 499);
    ck_assert_uint_eq(o.times, 0);
    fake_pass(&f, 1);
    ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(it_can_be_cancelled_while_it_waits)
{
    start();
    mcplug_call *c = call(&o);
    forget_with(fake_expect(&f, "tools/call"));
    mcplug_cancel(c);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    renew();
    ck_assert(fake_idle(&f));
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(one_that_failed_for_any_other_reason_is_not_sent_again)
{
    static const struct {
        int code, os_error, status;
    } ends[] = {
        {MCPLUG_ECLOSED, 0, 0},
        {MCPLUG_ECLOSED, ECONNRESET, 0},
        {MCPLUG_ECLOSED, 0, 400},
        {MCPLUG_EREFUSED, 0, 404},
        {MCPLUG_ETOOBIG, 0, 404},
        {MCPLUG_EPROTO, 0, 404},
        {0, 0, 0},
    };
    for (size_t i = 0; i < MP_COUNT(ends); i++) {
        start();
        call(&o);
        fake_drop_exchange(&f, fake_expect(&f, "tools/call"), ends[i].code,
                           ends[i].os_error, ends[i].status, "other");
        forget();
        ck_assert_msg(o.times == 1 && o.code != 0, "%zu", i);
        renew();
        ck_assert_msg(fake_idle(&f), "%zu", i);
        fake_clear(&f);
    }
}
END_TEST

/* ---- what becomes of the rest ---- */

START_TEST(what_the_new_session_says_counts)
{
    start();
    forget();
    initialized_as("2025-03-26", "{\"prompts\":{}}");
    ck_assert_str_eq((f.server)->id->revision, "2025-03-26");
    ck_assert_str_eq((f.server)->id->capabilities, "{\"prompts\":{}}");
    call(&o);
    fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "protocol-version"), "2025-03-26");
    fake_clear(&f);
}
END_TEST

START_TEST(one_by_the_other_transport_is_renewed_by_it)
{
    memset(&o, 0, sizeof o);
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    f.has_other = true;
    fake_session(&f, NULL);
    fake_end_exchange(&f, fake_expect(&f, "server/discover"), MCPLUG_EREFUSED, 0, 405,
                      "HTTP 405");
    fake_end_exchange(&f, fake_expect(&f, "initialize"), MCPLUG_EREFUSED, 0, 405,
                      "HTTP 405");
    renew();
    ck_assert_uint_eq(f.readies, 1);
    forget();
    ck_assert(f.on_other);
    ck_assert_uint_eq(f.other_starts, 2);
    call(&o);
    renew();
    say_done(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert_uint_eq(f.drops, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(one_that_was_never_ready_is_not_renewed)
{
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    fake_session(&f, NULL);
    fake_end_exchange(&f, fake_expect(&f, "server/discover"), MCPLUG_EREFUSED, 0, 404,
                      "HTTP 404");
    fake_expect(&f, "initialize");
    forget();
    for (int i = 0; i < 3 && f.conn; i++) { /* it gets one more start as it is */
        ck_assert_uint_eq(f.readies, 0);
        forget();
    }
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_eq(f.ready_why.code, MCPLUG_ECLOSED);
    ck_assert_int_eq(f.ready_why.peer_status, 404);
    ck_assert_uint_eq(f.drops, 0);
    fake_clear(&f);
}
END_TEST

/* ---- calls made meanwhile ---- */

START_TEST(calls_made_meanwhile_wait_and_are_sent_in_their_order)
{
    static const char *const tools[] = {"a", "b", "c"};
    struct outcome all[3] = {{0}};

    start();
    f.opens = _i;
    forget();
    for (int i = 0; i < 3; i++) {
        call_to(tools[i], NULL, on_outcome, &all[i]);
        fake_pass(&f, 1000);
    }
    if (!_i) {
        ck_assert(fake_idle(&f));
        fake_open(&f);
    }
    f.n_seen = f.n_sent - 1;
    renew();
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(all[i].times, 0);
        uint64_t id = fake_expect(&f, "tools/call");
        ck_assert_str_eq(fake_meta(&f, "name"), tools[i]);
        ck_assert_str_eq(fake_meta(&f, "protocol-version"), "2025-06-18");
        say_done(id);
        ck_assert_uint_eq(all[i].times, 1);
        ck_assert_int_eq(all[i].code, 0);
    }
    ck_assert(fake_idle(&f));
    check_books();
    fake_clear(&f);
}
END_TEST

static void start_retrying(void)
{
    start();
    retries = 0;
    memset(&second, 0, sizeof second);
    call_to("t", NULL, done_calls_again, &o);
}

START_TEST(a_call_made_when_another_failed_waits_too)
{
    start_retrying();
    uint64_t id = fake_expect(&f, "tools/call");
    if (_i)
        forget_after(id);
    else
        forget();
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, _i ? MCPLUG_EREFUSED : MCPLUG_ECLOSED);
    ck_assert_uint_eq(retries, 1);
    ck_assert_uint_eq(second.times, 0);
    renew();
    say_done(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(second.times, 1);
    ck_assert_int_eq(second.code, 0);
    ck_assert(fake_idle(&f));
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(a_call_made_before_the_loss_is_known_waits_too)
{
    struct mcplug_error why = {.struct_size = sizeof why,
                               .code = MCPLUG_ECLOSED,
                               .peer_status = 404,
                               .text = FORGOTTEN};
    mcplug_conn *conn;

    start();
    conn = f.conn;
    f.conn = NULL;
    mp_link_wire.closed(conn, &why);
    call(&o);
    fake_turn(&f);
    renew();
    say_done(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_call_that_waits_has_its_time_out)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 5000};
    struct outcome other = {0};

    start();
    forget();
    call_to("t", &co, on_outcome, &o);
    call(&other);
    fake_pass(&f, 4999);
    ck_assert_uint_eq(o.times, 0);
    fake_pass(&f, 1);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(o.text, "MCP tool call 't' timed out after 5s");
    renew();
    say_done(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(other.times, 1);
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(f.n_cancelled, 0); /* nobody knew of it */
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(the_time_that_it_waited_counts)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 5000};

    start();
    forget();
    call_to("t", &co, on_outcome, &o);
    fake_pass(&f, 4000);
    renew();
    fake_expect(&f, "tools/call");
    fake_pass(&f, 999);
    ck_assert_uint_eq(o.times, 0);
    fake_pass(&f, 1);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(a_call_that_waits_can_be_cancelled)
{
    struct outcome other = {0};

    start();
    forget();
    mcplug_call *c = call(&o);
    call(&other);
    mcplug_cancel(c);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    renew();
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    say_done(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(other.times, 1);
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(f.n_cancelled, 0);
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(a_cancel_counts_in_the_turn_that_would_send_the_call)
{
    char line[256];

    start();
    forget();
    mcplug_call *c = call(&o);
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":"
             "\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{}}}",
             ll(fake_expect(&f, "initialize")));
    if (_i)
        mcplug_cancel(c);
    fake_feed(&f, 0, line, true);
    if (!_i)
        mcplug_cancel(c);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    fake_expect(&f, "notifications/initialized");
    ck_assert(fake_idle(&f));
    still_works();
    fake_clear(&f);
}
END_TEST

START_TEST(a_close_meanwhile_ends_the_calls_that_wait)
{
    struct outcome all[3] = {{0}};

    start();
    f.opens = _i;
    forget();
    for (int i = 0; i < 3; i++)
        call(&all[i]);
    mp_session_close(f.server, NULL, NULL, NULL);
    f.server = NULL;
    fake_turn(&f);
    fake_pass(&f, 100000);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(all[i].times, 1);
        ck_assert_int_eq(all[i].code, MCPLUG_ECANCELED);
    }
    ck_assert_uint_eq(f.drops, 0);
    fake_clear(&f);
}
END_TEST

/* ---- what the new session must know ---- */

START_TEST(subscriptions_and_the_log_level_are_set_again)
{
    struct mp_session_options so = {.log_level = "warning"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    start_with(&so);
    say_done(fake_expect(&f, "logging/setLevel"));
    for (int i = 0; i < 3; i++) {
        static const char *const uris[] = {"file:///a", "file:///b", "file:///c"};
        ck_assert_int_eq(mp_notify_subscribe(f.server, uris[i], true, &err), MCPLUG_OK);
        say_done(fake_expect(&f, "resources/subscribe"));
    }
    ck_assert_int_eq(mp_notify_subscribe(f.server, "file:///b", false, &err), MCPLUG_OK);
    say_done(fake_expect(&f, "resources/unsubscribe"));
    forget();
    call(&o);
    renew();
    fake_expect(&f, "logging/setLevel");
    ck_assert_ptr_nonnull(strstr(f.sent[f.n_seen - 1], "\"level\":\"warning\""));
    ck_assert_str_eq(fake_meta(&f, "protocol-version"), "2025-06-18");
    fake_expect(&f, "resources/subscribe");
    ck_assert_ptr_nonnull(strstr(f.sent[f.n_seen - 1], "\"file:///a\""));
    fake_expect(&f, "resources/subscribe");
    ck_assert_ptr_nonnull(strstr(f.sent[f.n_seen - 1], "\"file:///c\""));
    fake_expect(&f, "tools/call");
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

struct got {
    unsigned times;
    int code;
};

static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    struct got *g = arg;
    (void)list;
    g->times++;
    g->code = why ? why->code : 0;
}

static void get_tools(struct got *g)
{
    memset(g, 0, sizeof *g);
    ck_assert_int_eq(mp_lists_get(f.server, MCPLUG_TOOLS, on_list, g, NULL), 0);
    fake_turn(&f);
}

static void say_tools(void)
{
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":[]}}",
              ll(fake_expect(&f, "tools/list")));
}

START_TEST(lists_are_asked_for_anew)
{
    struct got g;

    memset(&o, 0, sizeof o);
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    fake_legacy(&f, NULL, CAPS);
    get_tools(&g);
    say_tools();
    get_tools(&g); /* kept */
    ck_assert_uint_eq(g.times, 1);
    ck_assert(fake_idle(&f));
    forget();
    renew();
    ck_assert(fake_idle(&f));
    get_tools(&g);
    ck_assert_uint_eq(g.times, 0);
    say_tools();
    ck_assert_uint_eq(g.times, 1);
    get_tools(&g); /* kept again */
    ck_assert_uint_eq(g.times, 1);
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_under_way_fails_once)
{
    struct got g, next;

    start();
    get_tools(&g);
    fake_expect(&f, "tools/list");
    forget();
    ck_assert_uint_eq(g.times, 1);
    ck_assert_int_eq(g.code, MCPLUG_ECLOSED);
    renew();
    get_tools(&next);
    say_tools();
    ck_assert_uint_eq(next.times, 1);
    ck_assert_int_eq(next.code, 0);
    ck_assert_uint_eq(g.times, 1);
    check_books();
    fake_clear(&f);
}
END_TEST

static mcplug_input *asked;
static void on_elicit(void *arg, struct mp_session *s, mcplug_input *in, const char *p,
                      size_t len)
{
    (void)arg, (void)s, (void)p, (void)len;
    asked = in;
}

START_TEST(answers_to_the_old_session_do_not_reach_the_new_one)
{
    struct mp_session_options so = {.elicit = on_elicit};

    start_with(&so);
    asked = NULL;
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"method\":\"elicitation/create\","
                 "\"params\":{\"message\":\"?\",\"requestedSchema\":{}}}");
    ck_assert_ptr_nonnull(asked);
    forget();
    renew();
    mcplug_input_answer(asked, "{\"action\":\"decline\"}");
    fake_turn(&f);
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_forgotten_session_is_begun_anew_without_a_word);
    tcase_add_test(tc, calls_under_way_fail_once_with_the_reason);
    tcase_add_test(tc, the_call_that_found_out_is_sent_again_before_those_made_meanwhile);
    tcase_add_test(tc, it_is_sent_again_once);
    tcase_add_test(tc, lost_with_the_new_session_it_is_not_sent_a_third_time);
    tcase_add_test(tc, calls_that_never_left_are_sent_in_the_new_session);
    tcase_add_test(tc, its_time_goes_on_while_it_waits_to_be_sent_again);
    tcase_add_test(tc, its_time_goes_on_after_it_was_sent_again);
    tcase_add_test(tc, it_can_be_cancelled_while_it_waits);
    tcase_add_test(tc, one_that_failed_for_any_other_reason_is_not_sent_again);
    tcase_add_test(tc, what_the_new_session_says_counts);
    tcase_add_test(tc, one_by_the_other_transport_is_renewed_by_it);
    tcase_add_test(tc, one_that_was_never_ready_is_not_renewed);
    tcase_add_loop_test(tc, calls_made_meanwhile_wait_and_are_sent_in_their_order, 0, 2);
    tcase_add_loop_test(tc, a_call_made_when_another_failed_waits_too, 0, 2);
    tcase_add_test(tc, a_call_made_before_the_loss_is_known_waits_too);
    tcase_add_test(tc, a_call_that_waits_has_its_time_out);
    tcase_add_test(tc, the_time_that_it_waited_counts);
    tcase_add_test(tc, a_call_that_waits_can_be_cancelled);
    tcase_add_loop_test(tc, a_cancel_counts_in_the_turn_that_would_send_the_call, 0, 2);
    tcase_add_loop_test(tc, a_close_meanwhile_ends_the_calls_that_wait, 0, 2);
    tcase_add_test(tc, subscriptions_and_the_log_level_are_set_again);
    tcase_add_test(tc, lists_are_asked_for_anew);
    tcase_add_test(tc, a_list_under_way_fails_once);
    tcase_add_test(tc, answers_to_the_old_session_do_not_reach_the_new_one);
}

int main(void)
{
    return run_suite("session_renewal", add);
}
