/* A session that the server has forgotten, and that cannot be begun anew: everybody is
 * told once. */
#include "renewal_kit.h"

#include <errno.h>
#include <stdio.h>

static void start_with(struct mp_session_options *so)
{
    memset(&o, 0, sizeof o);
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    fake_legacy(&f, so, "{\"tools\":{}}");
    ck_assert_uint_eq(f.readies, 1);
}

static void start(void)
{
    start_with(NULL);
    ck_assert(fake_idle(&f));
}

static void start_retrying(void)
{
    start();
    retries = 0;
    memset(&second, 0, sizeof second);
    call_to("t", NULL, done_calls_again, &o);
}

START_TEST(only_a_session_of_the_old_era_that_was_forgotten_is_renewed)
{
    static const struct {
        bool modern;
        int code, status;
    } ends[] = {
        {true, MCPLUG_ECLOSED, 404},   {false, MCPLUG_ECLOSED, 0},
        {false, MCPLUG_ECLOSED, 400},  {false, MCPLUG_EIO, 404},
        {false, MCPLUG_EREFUSED, 404},
    };
    memset(&o, 0, sizeof o);
    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    if (ends[_i].modern)
        fake_modern(&f, NULL, "{}");
    else
        fake_legacy(&f, NULL, "{}");
    call(&o);
    fake_expect(&f, "tools/call");
    fake_drop(&f, ends[_i].code, 0, ends[_i].status, "gone");
    ck_assert_uint_eq(f.starts, 1);
    ck_assert_uint_eq(f.drops, 1);
    ck_assert_int_eq(f.drop_why.code, ends[_i].code);
    ck_assert_uint_eq(o.times, 1);
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(a_call_made_when_another_failed_fails_with_a_link_that_is_not_renewed)
{
    start_retrying();
    fake_expect(&f, "tools/call");
    fake_drop(&f, MCPLUG_ECLOSED, ECONNRESET, 0, "gone");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_uint_eq(second.times, 1);
    ck_assert_int_eq(second.code, MCPLUG_ECLOSED);
    ck_assert_uint_eq(retries, 2);
    ck_assert_uint_eq(f.drops, 1);
    check_books();
    fake_clear(&f);
}
END_TEST

/* ---- when there is no new one ---- */

enum { LOST, REFUSED, ANSWERED, SILENT, NOT_OPENED, ODD, WAYS };

static void fail_to_renew(int way)
{
    uint64_t id = way == NOT_OPENED ? 0 : fake_expect(&f, "initialize");
    char line[256];

    switch (way) {
    case LOST:
        fake_drop(&f, MCPLUG_EREFUSED, ECONNREFUSED, 0, "cannot connect");
        break;
    case REFUSED:
        fake_end_exchange(&f, id, MCPLUG_EREFUSED, 0, 500, "HTTP 500");
        break;
    case ANSWERED:
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-5,\"message\":"
                 "\"no more\"}}",
                 ll(id));
        fake_say_on(&f, id, line);
        break;
    case SILENT:
        fake_pass(&f, 30000);
        break;
    case ODD:
        say_done(id);
        break;
    }
}

static const struct {
    int code;
    const char *text;
} failures[WAYS] = {
    {MCPLUG_EREFUSED, "Connection refused - server may be down (cannot connect)"},
    {MCPLUG_EREFUSED, "HTTP 500"},
    {MCPLUG_EPEER, "no more"},
    {MCPLUG_ETIMEDOUT, "Connection to MCP server \"fake\" timed out after 30000ms"},
    {MCPLUG_EIO, "no socket left"},
    {MCPLUG_EPROTO, "the server chose protocol revision \"\", which was not offered"},
};

static void check_dropped(int way)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct outcome none = {0};

    ck_assert_uint_eq(f.drops, 1);
    ck_assert_int_eq(f.drop_why.code, failures[way].code);
    ck_assert_msg(strstr(f.drop_why.text, failures[way].text) != NULL, "%s",
                  f.drop_why.text);
    ck_assert_ptr_null(fake_call(f.server, "t", NULL, NULL, on_outcome, &none, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECLOSED);
    ck_assert_msg(strstr(err.text, failures[way].text) != NULL, "%s", err.text);
    if (f.conn)
        fake_hang_up(&f, ECONNRESET, "later");
    fake_pass(&f, 1000000);
    ck_assert_uint_eq(f.drops, 1);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_uint_eq(none.times, 0);
    check_books();
}

static void set_up(int way)
{
    if (way == NOT_OPENED)
        f.open_why = (struct mcplug_error){.struct_size = sizeof f.open_why,
                                           .code = MCPLUG_EIO,
                                           .text = "no socket left"};
}

START_TEST(when_the_renewal_fails_it_is_dropped_and_what_waits_fails_once)
{
    struct outcome all[3] = {{0}};

    start();
    set_up(_i);
    if (_i == NOT_OPENED) { /* there is no time to make calls in */
        forget();
    } else {
        forget();
        for (int i = 0; i < 3; i++)
            call(&all[i]);
    }
    fail_to_renew(_i);
    for (int i = 0; i < 3 && _i != NOT_OPENED; i++) {
        ck_assert_uint_eq(all[i].times, 1);
        ck_assert_int_eq(all[i].code, failures[_i].code);
        ck_assert_msg(strstr(all[i].text, failures[_i].text) != NULL, "%s", all[i].text);
    }
    check_dropped(_i);
    for (int i = 0; i < 3 && _i != NOT_OPENED; i++)
        ck_assert_uint_eq(all[i].times, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(the_call_that_found_out_fails_with_the_renewal)
{
    start();
    call(&o);
    set_up(_i);
    forget_with(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(o.times, _i == NOT_OPENED);
    fail_to_renew(_i);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, failures[_i].code);
    ck_assert_msg(strstr(o.text, failures[_i].text) != NULL, "%s", o.text);
    ck_assert_ptr_null(strstr(o.text, "written"));
    check_dropped(_i);
    ck_assert_uint_eq(o.times, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(whoever_calls_again_when_the_renewal_fails_is_told_no_at_once)
{
    start_retrying();
    uint64_t id = fake_expect(&f, "tools/call");
    set_up(_i);
    fake_drop_exchange(&f, id, MCPLUG_EREFUSED, 0, 500, "HTTP 500");
    forget();
    ck_assert_uint_eq(o.times, 1);
    fail_to_renew(_i);
    ck_assert_uint_eq(second.times, 1);
    ck_assert_uint_eq(retries,
                      2); /* the first made the second, which failed to make one */
    check_dropped(_i);
    fake_clear(&f);
}
END_TEST

START_TEST(a_renewal_that_is_forgotten_too_is_tried_no_more)
{
    start();
    forget();
    call(&o);
    fake_expect(&f, "initialize");
    forget();
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECLOSED);
    ck_assert_uint_eq(f.drops, 1);
    ck_assert_int_eq(f.drop_why.peer_status, 404);
    ck_assert_uint_eq(f.starts, 2);
    check_books();
    fake_clear(&f);
}
END_TEST

/* A session that is forgotten as soon as it stands. */
static void renew(void)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":"
              "\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{}}}",
              ll(fake_expect(&f, "initialize")));
    fake_expect(&f, "notifications/initialized");
}

START_TEST(a_server_that_forgets_every_session_at_once_is_given_up)
{
    start();
    for (unsigned i = 1; i <= 5; i++) {
        forget();
        ck_assert_uint_eq(f.starts, i + 1);
        ck_assert_uint_eq(f.drops, 0);
        renew();
        fake_pass(&f, 10000); /* no pause to speak of */
    }
    call(&o);
    forget_with(fake_expect(&f, "tools/call"));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECLOSED);
    ck_assert_uint_eq(f.drops, 1);
    ck_assert_int_eq(f.drop_why.code, MCPLUG_ECLOSED);
    ck_assert_int_eq(f.drop_why.peer_status, 404);
    fake_pass(&f, 1000000);
    ck_assert_uint_eq(f.drops, 1);
    ck_assert_uint_eq(f.starts, 6);
    ck_assert(fake_idle(&f));
    check_books();
    fake_clear(&f);
}
END_TEST

START_TEST(a_server_that_forgets_a_session_now_and_then_is_never_given_up)
{
    start();
    for (unsigned i = 1; i <= 50; i++) {
        fake_pass(&f, i % 5 ? 1 : 10001);
        forget();
        renew();
    }
    ck_assert_uint_eq(f.starts, 51);
    ck_assert_uint_eq(f.drops, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(what_nobody_knows_to_be_ready_is_not_dropped)
{
    struct mcplug_error why = {.struct_size = sizeof why,
                               .code = MCPLUG_ECLOSED,
                               .peer_status = 404,
                               .text = FORGOTTEN};
    char line[256];

    fake_init(&f);
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    fake_session(&f, NULL);
    fake_end_exchange(&f, fake_expect(&f, "server/discover"), MCPLUG_EREFUSED, 0, 404,
                      "HTTP 404");
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":"
             "\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{}}}",
             ll(fake_expect(&f, "initialize")));
    fake_feed(&f, 0, line, true);
    set_up(NOT_OPENED);
    mcplug_conn *conn = f.conn;
    f.conn = NULL;
    mp_link_wire.closed(conn, &why); /* in the same turn */
    fake_turn(&f);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_int_lt(f.ready_why.code, 0);
    ck_assert_uint_eq(f.drops, 0);
    fake_pass(&f, 1000000);
    ck_assert_uint_eq(f.readies, 1);
    ck_assert_uint_eq(f.drops, 0);
    fake_clear(&f);
}
END_TEST

static void dropped_closes(void *arg, struct mp_session *s,
                           const struct mcplug_error *why)
{
    (void)arg, (void)why;
    f.drops++;
    mp_session_close(s, NULL, NULL, NULL);
    f.server = NULL;
}

START_TEST(whoever_hears_of_the_drop_may_close)
{
    struct mp_session_options so = {.arg = &f, .dropped = dropped_closes};

    start_with(&so);
    forget();
    call(&o);
    fail_to_renew(_i);
    ck_assert_uint_eq(f.drops, 1);
    ck_assert_uint_eq(o.times, 1);
    fake_clear(&f);
}
END_TEST

static void done_closes(void *arg, mcplug_call *c, mcplug_result *result,
                        const struct mcplug_error *why)
{
    on_outcome(arg, c, result, why);
    if (f.server) {
        mp_session_close(f.server, NULL, NULL, NULL);
        f.server = NULL;
    }
}

START_TEST(whoever_hears_of_a_failed_call_may_close)
{
    struct outcome other = {0};

    start();
    forget();
    call_to("t", NULL, done_closes, &o);
    call_to("t", NULL, done_closes, &other);
    fail_to_renew(_i);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_uint_eq(other.times, 1);
    ck_assert_uint_eq(f.drops, 0);
    fake_clear(&f);
}
END_TEST

static bool renew_with(const char *caps)
{
    fake_pass(&f, 20000);
    forget();
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":"
              "\"2025-06-18\",\"capabilities\":%s,\"serverInfo\":{}}}",
              ll(fake_expect(&f, "initialize")), caps);
    if (!f.drops)
        fake_expect(&f, "notifications/initialized");
    return !f.drops;
}

/* However often it says something else. */
START_TEST(what_a_server_says_of_itself_is_what_it_said_last)
{
    char caps[64];
    start();
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(caps, sizeof caps, "{\"x%u\":{}}", i);
        ck_assert(renew_with(caps));
        ck_assert_str_eq(f.id.capabilities, caps);
    }
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, what_a_server_says_of_itself_is_what_it_said_last);
    tcase_add_loop_test(tc, only_a_session_of_the_old_era_that_was_forgotten_is_renewed,
                        0, 5);
    tcase_add_test(tc,
                   a_call_made_when_another_failed_fails_with_a_link_that_is_not_renewed);
    tcase_add_loop_test(
        tc, when_the_renewal_fails_it_is_dropped_and_what_waits_fails_once, 0, WAYS);
    tcase_add_loop_test(tc, the_call_that_found_out_fails_with_the_renewal, 0, WAYS);
    tcase_add_loop_test(tc, whoever_calls_again_when_the_renewal_fails_is_told_no_at_once,
                        0, WAYS);
    tcase_add_test(tc, a_renewal_that_is_forgotten_too_is_tried_no_more);
    tcase_add_test(tc, a_server_that_forgets_every_session_at_once_is_given_up);
    tcase_add_test(tc, a_server_that_forgets_a_session_now_and_then_is_never_given_up);
    tcase_add_test(tc, what_nobody_knows_to_be_ready_is_not_dropped);
    tcase_add_loop_test(tc, whoever_hears_of_the_drop_may_close, 0, NOT_OPENED);
    tcase_add_loop_test(tc, whoever_hears_of_a_failed_call_may_close, 0, NOT_OPENED);
}

int main(void)
{
    return run_suite("session_renewal_fails", add);
}
