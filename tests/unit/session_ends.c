/* Ends that meet: cancels, closes, lost links and time-outs, two in one turn. Whatever
 * comes first, everybody is told once, in order, and nobody after a close. */
#include "fake.h"

#include <errno.h>
#include <stdio.h>

static struct fake f;
static struct outcome o;
static mcplug_input *asked[16];
static size_t n_asked;
static char order[64]; /* r: ready, d: dropped, c: closed, b: done */

#define ELICIT "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\"}}"

static void note(char what)
{
    size_t n = strlen(order);
    ck_assert_uint_lt(n + 1, sizeof order);
    order[n] = what;
    order[n + 1] = '\0';
}

static void on_input(void *arg, struct mp_session *s, mcplug_input *in, const char *p,
                     size_t len)
{
    (void)arg, (void)s, (void)p, (void)len;
    asked[n_asked++] = in;
}

static void on_closed(void *arg)
{
    (void)arg;
    note('c');
}

static void close_now(void)
{
    struct mp_session *s = f.server;
    f.server = NULL;
    mp_session_close(s, NULL, on_closed, NULL);
}

static void begin(void)
{
    memset(&o, 0, sizeof o);
    n_asked = 0;
    order[0] = '\0';
    fake_init(&f);
}

static void start(struct mp_session_options *so)
{
    begin();
    fake_modern(&f, so, "{\"tools\":{},\"logging\":{}}");
}

static mcplug_call *call(const struct mcplug_call_options *co, mcplug_done_fn *done)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_call *c = fake_call(f.server, "t", NULL, co, done, &o, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    return c;
}

static void say_questions(uint64_t id, const char *questions)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
              "\"input_required\",\"inputRequests\":%s}}",
              ll(id), questions);
}

/* Was it sent, among all that nobody has looked at? */
static unsigned told(const char *method)
{
    char want[64];
    unsigned n = 0;
    snprintf(want, sizeof want, "\"method\":\"%s\"", method);
    while (!fake_idle(&f))
        n += strstr(fake_next(&f), want) != NULL;
    return n;
}

/* ---- cancelling ---- */

static mcplug_call *victim;
static void cancel_victim(void *arg, struct mp_session *s, const char *params, size_t len)
{
    (void)arg, (void)s, (void)params, (void)len;
    mcplug_cancel(victim);
}

START_TEST(a_cancel_in_a_notification_beats_the_reply_behind_it)
{
    static const char *const replies[] = {
        "\"result\":{}",
        "\"error\":{\"code\":-1,\"message\":\"no\"}",
        "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":" ELICIT
        "}}",
        "\"result\":{\"resultType\":\"task\",\"taskId\":\"T\",\"status\":\"working\"}",
        "\"result\":{\"n\":NaN}",
    };
    for (size_t i = 0; i < MP_COUNT(replies); i++) {
        struct mp_session_options so = {.elicit = on_input, .logged = cancel_victim};
        char line[512];
        start(&so);
        victim = call(NULL, on_outcome);
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%llu,%s}",
                 ll(fake_expect(&f, "tools/call")), replies[i]);
        mp_link_wire.feed(f.conn, 0,
                          mp_text("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                  "message\",\"params\":{\"data\":1}}"),
                          1);
        mp_link_wire.feed(f.conn, 0, mp_text(line), 1);
        fake_turn(&f);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
        ck_assert_uint_eq(n_asked, 0);
        ck_assert_uint_eq(told("notifications/cancelled"), 1);
        fake_clear(&f);
    }
}
END_TEST

static void done_cancels(void *arg, mcplug_call *c, mcplug_result *result,
                         const struct mcplug_error *why)
{
    on_outcome(arg, c, result, why);
    mcplug_cancel(c);
}

START_TEST(a_cancel_inside_done_comes_too_late)
{
    start(NULL);
    call(NULL, done_cancels);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
              ll(fake_expect(&f, "tools/call")));
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

/* ---- tasks ---- */

static void begin_task(uint64_t timeout_ms, const char *status, const char *more)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = timeout_ms};
    struct mp_session_options so = {.elicit = on_input};
    start(&so);
    call(&co, on_outcome);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"task\","
              "\"taskId\":\"T\",\"status\":\"%s\"%s}}",
              ll(fake_expect(&f, "tools/call")), status, more);
}

START_TEST(a_task_is_cancelled_when_its_call_times_out)
{
    static const char *const polls[] = {
        ",\"pollIntervalMs\":5000", /* nothing is under way then */
        ",\"pollIntervalMs\":100",  /* tasks/get is */
    };
    for (size_t i = 0; i < MP_COUNT(polls); i++) {
        begin_task(500, "working", polls[i]);
        fake_pass(&f, 499);
        ck_assert_uint_eq(told("tasks/cancel"), 0);
        fake_pass(&f, 1);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
        ck_assert_uint_eq(told("tasks/cancel"), 1);
        fake_pass(&f, 10000);
        ck_assert_uint_eq(told("tasks/get"), 0);
        fake_clear(&f);
    }
}
END_TEST

START_TEST(a_task_is_cancelled_when_its_question_gets_no_answer)
{
    for (int refused = 0; refused < 2; refused++) {
        begin_task(500, "input_required", ",\"inputRequests\":{\"a\":" ELICIT "}");
        ck_assert_uint_eq(n_asked, 1);
        if (refused)
            mcplug_input_refuse(asked[0], -1, "no");
        fake_turn(&f);
        fake_pass(&f, 500);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, refused ? MCPLUG_ECANCELED : MCPLUG_ETIMEDOUT);
        ck_assert_uint_eq(told("tasks/cancel"), 1);
        if (!refused)
            mcplug_input_answer(asked[0], "{}");
        fake_turn(&f);
        ck_assert(fake_idle(&f));
        fake_clear(&f);
    }
}
END_TEST

START_TEST(no_more_tasks_are_cancelled_than_a_server_answers)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 500};
    uint64_t last = 0;

    start(NULL);
    for (int i = 0; i < MP_TASK_CANCELS_MAX + 20; i++) {
        call(&co, on_outcome);
        fake_sayf(&f,
                  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"task\","
                  "\"taskId\":\"T%d\",\"status\":\"working\"}}",
                  ll(fake_expect(&f, "tools/call")), i);
    }
    fake_pass(&f, 500);
    ck_assert_uint_eq(o.times, MP_TASK_CANCELS_MAX + 20);
    for (int i = 0; i < MP_TASK_CANCELS_MAX; i++)
        last = fake_expect(&f, "tasks/cancel");
    ck_assert(fake_idle(&f));
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(last));
    for (int i = 0; i < 2; i++) {
        call(&co, on_outcome);
        fake_sayf(&f,
                  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"task\","
                  "\"taskId\":\"N%d\",\"status\":\"working\"}}",
                  ll(fake_expect(&f, "tools/call")), i);
    }
    fake_pass(&f, 500);
    ck_assert_uint_eq(told("tasks/cancel"), 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_task_is_cancelled_when_it_cannot_be_understood)
{
    begin_task(500, "strange", "");
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    ck_assert_uint_eq(told("tasks/cancel"), 1);
    fake_clear(&f);
    begin_task(500, "input_required", ",\"inputRequests\":{\"a\":{\"method\":\"x\"}}");
    ck_assert_int_eq(o.code, MCPLUG_EPROTO);
    ck_assert_uint_eq(told("tasks/cancel"), 1);
    fake_clear(&f);
}
END_TEST

START_TEST(a_task_that_has_ended_is_not_cancelled)
{
    static const char *const ends[] = {
        "completed\",\"result\":{\"content\":[]},\"x\":\"",
        "completed\",\"x\":\"", /* without a result */
        "failed\",\"error\":{\"code\":-1,\"message\":\"no\"},\"x\":\"",
        "cancelled",
    };
    for (size_t i = 0; i < MP_COUNT(ends); i++) {
        start(NULL);
        call(NULL, done_cancels);
        fake_sayf(&f,
                  "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"task\","
                  "\"taskId\":\"T\",\"status\":\"%s\"}}",
                  ll(fake_expect(&f, "tools/call")), ends[i]);
        ck_assert_uint_eq(o.times, 1);
        ck_assert(fake_idle(&f));
        fake_clear(&f);
    }
}
END_TEST

/* ---- ready and dropped ---- */

static void on_ready(void *arg, struct mp_session *s, const struct mcplug_error *why)
{
    (void)arg, (void)s;
    note('r');
    f.ready_why = why ? *why : (struct mcplug_error)MCPLUG_ERROR_INIT;
}

static void ready_closes(void *arg, struct mp_session *s, const struct mcplug_error *why)
{
    on_ready(arg, s, why);
    f.server = NULL;
    mp_session_close(s, NULL, on_closed, NULL);
}

static void on_dropped(void *arg, struct mp_session *s, const struct mcplug_error *why)
{
    (void)arg, (void)s, (void)why;
    note('d');
}

static void dropped_closes(void *arg, struct mp_session *s,
                           const struct mcplug_error *why)
{
    on_dropped(arg, s, why);
    close_now();
}

static void open_session(struct mp_session_options *so,
                         void (*ready)(void *, struct mp_session *,
                                       const struct mcplug_error *))
{
    struct mp_session_config cfg = {.loop = f.loop,
                                    .log = &f.log,
                                    .client_name = "t",
                                    .client_version = "1",
                                    .spill_dir = "/tmp"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    so->timeout_ms = 30000;
    so->tool_ms = 100000000;
    int r = mp_session_open(&cfg, &f.offer, f.settings, so, "fake", &f.id, ready, &f,
                            &f.server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    fake_turn(&f);
}

/* The answer to server/discover, which arrives with the next turn. */
static void feed_discovered(void)
{
    char line[256];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"supportedVersions\":"
             "[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}}",
             ll(fake_expect(&f, "server/discover")));
    mp_link_wire.feed(f.conn, 0, mp_text(line), 1);
}

START_TEST(dropped_never_comes_before_ready)
{
    for (int at_once = 0; at_once < 2; at_once++) {
        struct mp_session_options so = {.dropped = on_dropped};
        begin();
        open_session(&so, on_ready);
        feed_discovered();
        if (!at_once)
            fake_turn(&f);
        fake_hang_up(&f, EPIPE, "exited");
        ck_assert_str_eq(order, at_once ? "r" : "rd");
        ck_assert_int_eq(f.ready_why.code, at_once ? MCPLUG_ECLOSED : 0);
        close_now();
        fake_turn(&f);
        ck_assert_str_eq(order, at_once ? "rc" : "rdc");
        fake_clear(&f);
    }
}
END_TEST

START_TEST(ready_and_dropped_may_close)
{
    for (int lost = 0; lost < 2; lost++) {
        struct mp_session_options so = {.dropped = on_dropped};
        begin();
        open_session(&so, ready_closes);
        feed_discovered();
        if (lost)
            fake_hang_up(&f, EPIPE, "exited");
        fake_turn(&f);
        ck_assert_str_eq(order, "rc");
        ck_assert_int_eq(f.ready_why.code, lost ? MCPLUG_ECLOSED : 0);
        fake_clear(&f);
    }
    struct mp_session_options so = {.dropped = dropped_closes};
    begin();
    open_session(&so, on_ready);
    feed_discovered();
    fake_turn(&f);
    fake_hang_up(&f, EPIPE, "exited");
    ck_assert_str_eq(order, "rdc");
    fake_clear(&f);
}
END_TEST

START_TEST(ready_runs_once_also_when_closed_before)
{
    enum { OPENING, PROBING, INITIALIZING, UNTOLD, STAGES };
    for (int stage = OPENING; stage < STAGES; stage++) {
        struct mp_session_options so = {.dropped = on_dropped};
        begin();
        f.opens = stage != OPENING;
        open_session(&so, ready_closes); /* as it may when there is a reason */
        if (stage == INITIALIZING)
            fake_pass(&f, 1500);
        if (stage == UNTOLD)
            feed_discovered();
        ck_assert_str_eq(order, "");
        close_now();
        ck_assert_str_eq(order, ""); /* never inside the call */
        fake_turn(&f);
        fake_pass(&f, 60000);
        ck_assert_str_eq(order, "rc");
        ck_assert_int_eq(f.ready_why.code, MCPLUG_ECANCELED);
        fake_clear(&f);
    }
}
END_TEST

START_TEST(initialize_is_never_cancelled)
{
    struct mp_session_options so = {0};
    begin();
    open_session(&so, on_ready);
    fake_expect(&f, "server/discover");
    fake_pass(&f, 1500);
    fake_expect(&f, "initialize");
    fake_pass(&f, 30000);
    ck_assert_str_eq(order, "r");
    ck_assert_int_eq(f.ready_why.code, MCPLUG_ETIMEDOUT);
    close_now();
    fake_turn(&f);
    ck_assert_uint_eq(told("notifications/cancelled"), 0);
    fake_clear(&f);
}
END_TEST

/* ---- closing ---- */

static void done_closes(void *arg, mcplug_call *c, mcplug_result *result,
                        const struct mcplug_error *why)
{
    on_outcome(arg, c, result, why);
    note('b');
    if (f.server)
        close_now();
}

START_TEST(who_closed_when_a_call_ended_hears_of_no_drop)
{
    for (int asking = 0; asking < 2; asking++) {
        struct mp_session_options so = {
            .arg = &f, .dropped = on_dropped, .elicit = on_input};
        start(&so);
        for (int i = 0; i < 2; i++) {
            call(NULL, done_closes);
            uint64_t id = fake_expect(&f, "tools/call");
            if (asking)
                say_questions(id, "{\"a\":" ELICIT "}");
        }
        fake_hang_up(&f, EPIPE, "exited");
        ck_assert_str_eq(order, "bbc");
        ck_assert_int_eq(o.code, MCPLUG_ECANCELED); /* the other one */
        for (size_t i = 0; i < n_asked; i++)
            mcplug_input_answer(asked[i], "{}");
        fake_clear(&f);
    }
}
END_TEST

static void input_closes(void *arg, struct mp_session *s, mcplug_input *in, const char *p,
                         size_t len)
{
    on_input(arg, s, in, p, len);
    if (f.server)
        close_now();
}

START_TEST(no_question_is_asked_after_close)
{
    struct mp_session_options so = {.elicit = input_closes};
    start(&so);
    call(NULL, on_outcome);
    say_questions(fake_expect(&f, "tools/call"), "{\"a\":" ELICIT ",\"b\":" ELICIT "}");
    ck_assert_uint_eq(n_asked, 1);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    ck_assert_int_eq(mcplug_input_answer(asked[0], "{}"), MCPLUG_OK);
    ck_assert_str_eq(order, "c");
    fake_clear(&f);
}
END_TEST

static unsigned n_remarks;
static void remark_closes(void *arg, struct mp_session *s, const char *line, size_t len)
{
    (void)arg, (void)s, (void)line, (void)len;
    n_remarks++;
    if (f.server)
        close_now();
}

START_TEST(neither_remarks_nor_log_messages_come_after_close)
{
    static const char text[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
        "\"params\":{\"data\":1}}";
    for (int logged = 0; logged < 2; logged++) {
        struct mp_session_options so = {.remark = remark_closes, .logged = remark_closes};
        n_remarks = 0;
        start(&so);
        if (logged)
            mp_link_wire.feed(f.conn, 0, mp_text(text), 1);
        mp_link_wire.remark(f.conn, mp_text("a"));
        mp_link_wire.remark(f.conn, mp_text("b"));
        mp_link_wire.feed(f.conn, 0, mp_text(text), 1);
        fake_turn(&f);
        ck_assert_uint_eq(n_remarks, 1);
        ck_assert_str_eq(order, "c");
        fake_clear(&f);
    }
}
END_TEST

START_TEST(a_second_close_is_harmless)
{
    struct mp_session_options so = {.arg = &f, .dropped = on_dropped};
    start(&so);
    call(NULL, done_closes);
    struct mp_session *s = f.server;
    close_now();
    mp_session_close(s, NULL, on_closed, NULL);
    f.server = s; /* done_closes() does it once more */
    fake_turn(&f);
    ck_assert_str_eq(order, "bc");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_cancel_in_a_notification_beats_the_reply_behind_it);
    tcase_add_test(tc, a_cancel_inside_done_comes_too_late);
    tcase_add_test(tc, a_task_is_cancelled_when_its_call_times_out);
    tcase_add_test(tc, a_task_is_cancelled_when_its_question_gets_no_answer);
    tcase_add_test(tc, no_more_tasks_are_cancelled_than_a_server_answers);
    tcase_add_test(tc, a_task_is_cancelled_when_it_cannot_be_understood);
    tcase_add_test(tc, a_task_that_has_ended_is_not_cancelled);
    tcase_add_test(tc, dropped_never_comes_before_ready);
    tcase_add_test(tc, ready_and_dropped_may_close);
    tcase_add_test(tc, ready_runs_once_also_when_closed_before);
    tcase_add_test(tc, initialize_is_never_cancelled);
    tcase_add_test(tc, who_closed_when_a_call_ended_hears_of_no_drop);
    tcase_add_test(tc, no_question_is_asked_after_close);
    tcase_add_test(tc, neither_remarks_nor_log_messages_come_after_close);
    tcase_add_test(tc, a_second_close_is_harmless);
}

int main(void)
{
    return run_suite("session_ends", add);
}
