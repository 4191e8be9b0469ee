/* Calls as programs hold them: references, lists, pings and subscriptions. */
#include "api/host.h"
#include "talker_kit.h"

#include <pthread.h>
#include <signal.h>

/* ---- references ---- */

static void *drop_call(void *arg)
{
    mcplug_call_unref(arg);
    return NULL;
}

/* _i: 0 it is answered, 1 cancelled, 2 cancelled before it was sent, 3 ended with its
 * server */
START_TEST(call_that_has_ended_can_be_cancelled_by_who_has_a_reference)
{
    struct outcome out = {0};
    struct mcplug_ledger l = {.struct_size = sizeof l};
    pthread_t thread;
    begin_bare();
    mcplug_server *h = _i == 2 ? NULL : hold(talks("SLOW", "60"), NULL);
    if (_i == 2) {
        mcplug_settings *s = talks(NULL, NULL);
        ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &h, &err), MCPLUG_OK);
        mcplug_settings_free(s);
    }
    mcplug_call *c = mcplug_call_tool(h, _i % 3 ? "slow" : "quick", NULL, NULL,
                                      on_outcome, &out, &err);
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_eq(mcplug_call_ref(c), c);
    if (_i == 1)
        turn_for(20);
    if (_i == 1 || _i == 2)
        mcplug_cancel(c);
    if (_i == 3)
        mcplug_close(h, NULL, NULL);
    UNTIL(out.times);
    ck_assert_int_eq(out.code, _i ? MCPLUG_ECANCELED : MCPLUG_OK);
    for (int i = 0; i < 2; i++) {
        mcplug_cancel(c);
        turn_for(20);
    }
    ck_assert_uint_eq(out.times, 1);
    if (_i != 3) {
        mcplug_server_ledger(h, &l);
        ck_assert_uint_eq(l.issued, 1);
        ck_assert_uint_eq(l.cancelled, _i != 0);
    }
    end(); /* it outlives the host, too */
    mcplug_cancel(c);
    ck_assert_int_eq(pthread_create(&thread, NULL, drop_call, c), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    mcplug_call_unref(NULL);
    ck_assert_ptr_null(mcplug_call_ref(NULL));
    mcplug_cancel(NULL);
}
END_TEST

static void on_use(void *arg, mcplug_call *call, const struct mcplug_record *record)
{
    (void)record;
    mcplug_cancel(call); /* of no effect */
    ++*(unsigned *)arg;
}

/* _i: 1 one that the toolbox answers itself */
START_TEST(call_of_a_toolbox_that_has_ended_can_be_cancelled)
{
    unsigned n = 0;
    begin(NULL);
    put_in("a", example("modern"), NULL);
    warm_up();
    mcplug_call *c = mcplug_toolbox_call(box, _i ? "list-resources" : "mcp__a__echo",
                                         "{\"text\":\"x\"}", NULL, on_use, &n, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    mcplug_call_ref(c);
    UNTIL(n);
    mcplug_cancel(c);
    turn_for(20);
    ck_assert_uint_eq(n, 1);
    end();
    mcplug_cancel(c);
    mcplug_call_unref(c);
}
END_TEST

/* ---- lists ---- */

struct listed {
    unsigned times;
    int code;
    size_t count;
    char text[512];
    mcplug_call *call;
};

static void on_list(void *arg, mcplug_call *call, mcplug_list *list,
                    const struct mcplug_error *why)
{
    struct listed *l = arg;
    ck_assert_ptr_eq(call, l->call);
    ck_assert((list == NULL) == (why != NULL));
    mcplug_cancel(call); /* of no effect */
    l->times++;
    l->code = why ? why->code : MCPLUG_OK;
    l->count = mcplug_list_count(list);
    snprintf(l->text, sizeof l->text, "%s", why ? why->text : "");
}

static void ask_list(mcplug_server *h, const struct mcplug_call_options *o,
                     struct listed *l)
{
    *l = (struct listed){0};
    l->call = mcplug_get_list(h, MCPLUG_TOOLS, o, on_list, l, &err);
    ck_assert_msg(l->call != NULL, "%s", err.text);
    mcplug_call_ref(l->call);
}

/* A list is given once $BOOK.go is there. */
static mcplug_server *holds_lists_back(void)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .lists = MCPLUG_NO_LISTS};
    let_go(false);
    return hold(talks("BEFORE", "while [ ! -e \"$BOOK.go\" ]; do sleep 0.01; done"), &o);
}

/* _i: 0 it is on the wire, 1 its server is not up */
START_TEST(list_can_be_cancelled)
{
    struct listed l;
    begin_bare();
    mcplug_server *h;
    if (_i == 0) {
        h = holds_lists_back();
    } else {
        mcplug_settings *s = SCRIPTED("FIRST", "exec cat > /dev/null");
        ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &h, &err), MCPLUG_OK);
        mcplug_settings_free(s);
    }
    ask_list(h, NULL, &l);
    UNTIL(_i || booked('*') == 1);
    mcplug_cancel(l.call);
    mcplug_cancel(l.call);
    ck_assert_uint_eq(l.times, 0); /* never inside */
    UNTIL(l.times);
    ck_assert_int_eq(l.code, MCPLUG_ECANCELED);
    ck_assert_str_eq(l.text, "cancelled");
    if (_i == 0) { /* the next one is asked for anew, and the late answer is dropped */
        let_go(true);
        struct listed again;
        ask_list(h, NULL, &again);
        UNTIL(again.times);
        ck_assert_int_eq(again.code, MCPLUG_OK);
        ck_assert_uint_eq(again.count, 2);
        ck_assert_uint_eq(booked('*'), 2);
        ck_assert_uint_eq(status(h).wire->late, 1);
        ck_assert_uint_eq(status(h).calls->issued, 0);
        mcplug_call_unref(again.call);
    }
    turn_for(20);
    ck_assert_uint_eq(l.times, 1);
    mcplug_cancel(l.call);
    end();
    mcplug_call_unref(l.call);
}
END_TEST

START_TEST(list_that_others_wait_for_goes_on_without_who_cancels)
{
    struct listed l[3];
    begin_bare();
    mcplug_server *h = holds_lists_back();
    for (int i = 0; i < 3; i++)
        ask_list(h, NULL, &l[i]);
    UNTIL(booked('*') == 1);
    mcplug_cancel(l[1].call);
    UNTIL(l[1].times);
    ck_assert_int_eq(l[1].code, MCPLUG_ECANCELED);
    let_go(true);
    UNTIL(l[0].times && l[2].times);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(l[i].times, 1);
        ck_assert_int_eq(l[i].code, i == 1 ? MCPLUG_ECANCELED : MCPLUG_OK);
        mcplug_call_unref(l[i].call);
    }
    ck_assert_uint_eq(booked('*'), 1);
    ck_assert_uint_eq(status(h).wire->late, 0);
    end();
}
END_TEST

static void on_list_cancels(void *arg, mcplug_call *call, mcplug_list *list,
                            const struct mcplug_error *why)
{
    struct listed *both = arg;
    (void)call, (void)list, (void)why;
    both[0].times++;
    mcplug_cancel(both[1].call);
}

START_TEST(list_can_be_cancelled_by_who_hears_the_same_list_first)
{
    struct listed l[2] = {0};
    begin_bare();
    mcplug_server *h = holds_lists_back();
    ck_assert_ptr_nonnull(
        mcplug_get_list(h, MCPLUG_TOOLS, NULL, on_list_cancels, l, &err));
    ask_list(h, NULL, &l[1]);
    let_go(true);
    UNTIL(l[1].times);
    ck_assert_uint_eq(l[0].times, 1);
    ck_assert_int_eq(l[1].code, MCPLUG_ECANCELED);
    end();
    mcplug_call_unref(l[1].call);
}
END_TEST

/* _i: 0 it is on the wire, 1 its server is not up, 2 the time was over before */
START_TEST(list_has_a_time_of_its_own)
{
    struct mcplug_call_options o = {
        .struct_size = sizeof o, .timeout_ms = 3000, .waited_ms = _i == 2 ? 3000 : 0};
    struct listed l;
    begin_bare();
    mcplug_server *h;
    if (_i != 1) {
        h = holds_lists_back();
    } else {
        mcplug_settings *s = SCRIPTED("FIRST", "exec cat > /dev/null");
        ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &h, &err), MCPLUG_OK);
        mcplug_settings_free(s);
    }
    mp_loop_fake_clock(host->loop);
    ask_list(h, &o, &l);
    if (_i != 2) {
        pass(2999);
        ck_assert_uint_eq(l.times, 0);
        pass(1);
    }
    SOON(l.times);
    ck_assert_msg(l.code == MCPLUG_ETIMEDOUT, "%s", l.text);
    if (_i != 1)
        ck_assert_str_eq(l.text, "tools/list timed out after 3s");
    let_go(true);
    pass(100);
    ck_assert_uint_eq(l.times, 1);
    end();
    mcplug_call_unref(l.call);
}
END_TEST

START_TEST(blocking_list_has_a_time_of_its_own)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 20};
    mcplug_list *list = NULL;
    begin_bare();
    mcplug_server *h = holds_lists_back();
    ck_assert_int_eq(mcplug_get_list_wait(h, MCPLUG_TOOLS, &o, &list, &err),
                     MCPLUG_ETIMEDOUT);
    ck_assert_ptr_null(list);
    let_go(true);
    ck_assert_int_eq(mcplug_get_list_wait(h, MCPLUG_TOOLS, NULL, &list, &err), MCPLUG_OK);
    ck_assert_uint_eq(mcplug_list_count(list), 2);
    mcplug_list_unref(list);
    end();
}
END_TEST

/* ---- pings ---- */

/* _i: 1 the server is busy */
START_TEST(blocking_ping_tells_whether_it_is_alive)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = _i ? 20 : 0};
    struct outcome out = {0};
    begin_bare();
    mcplug_server *h = hold(talks("SLOW", "60"), NULL);
    mcplug_call *c = NULL;
    if (_i)
        c = mcplug_call_tool(h, "slow", NULL, NULL, on_outcome, &out, &err);
    ck_assert_int_eq(mcplug_ping_wait(h, &o, &err), _i ? MCPLUG_ETIMEDOUT : MCPLUG_OK);
    mcplug_cancel(c);
    end();
}
END_TEST

/* ---- subscriptions ---- */

static void on_changed(void *arg, mcplug_server *h, int kind, const char *uri)
{
    (void)h, (void)kind;
    *(unsigned *)arg += uri != NULL;
}

static mcplug_call *subscribe(mcplug_server *h, const char *uri,
                              const struct mcplug_call_options *o, struct outcome *out)
{
    memset(out, 0, sizeof *out);
    mcplug_call *c = mcplug_subscribe(h, uri, o, on_outcome, out, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    ck_assert_uint_eq(out->times, 0);
    return c;
}

static mcplug_call *unsubscribe(mcplug_server *h, const char *uri, struct outcome *out)
{
    memset(out, 0, sizeof *out);
    mcplug_call *c = mcplug_unsubscribe(h, uri, NULL, on_outcome, out, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    ck_assert_uint_eq(out->times, 0);
    return c;
}

static void ends(struct outcome *out, int code)
{
    UNTIL(out->times);
    ck_assert_msg(out->code == code, "%d: %s", out->code, out->text);
    ck_assert_uint_eq(out->times, 1);
}

static void start_again(mcplug_server *h)
{
    uint64_t starts = status(h).starts;
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
    UNTIL(status(h).starts > starts && status(h).state == MCPLUG_STATE_READY);
    quick(h);
}

#define COUNTER "example:///counter"

/* _i & 1: of the older era, & 2: before it is up */
START_TEST(subscription_ends_with_the_answer_of_the_server)
{
    unsigned n = 0;
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .changed = on_changed, .arg = &n};
    struct mcplug_ledger l = {.struct_size = sizeof l};
    struct outcome out, more;
    begin_bare();
    mcplug_settings *s = example(_i & 1 ? "legacy" : "modern");
    mcplug_server *h = NULL;
    if (_i & 2) {
        ck_assert_int_eq(mcplug_open(host, s, &o, NULL, NULL, &h, &err), MCPLUG_OK);
        mcplug_settings_free(s);
    } else {
        h = hold(s, &o);
    }
    subscribe(h, COUNTER, NULL, &out);
    subscribe(h, COUNTER, NULL, &more); /* under way already */
    ends(&out, MCPLUG_OK);
    ends(&more, MCPLUG_OK);
    ck_assert_str_eq(out.json, "{}");
    subscribe(h, COUNTER, NULL, &out); /* and done already */
    ends(&out, MCPLUG_OK);
    ck_assert_str_eq(out.json, "{}");
    ck_assert_int_eq(
        mcplug_call_tool_wait(h, "touch", "{\"uri\":\"" COUNTER "\"}", NULL, NULL, &err),
        MCPLUG_OK);
    UNTIL(n == 1);
    unsubscribe(h, COUNTER, &out);
    ends(&out, MCPLUG_OK);
    unsubscribe(h, COUNTER, &out);
    ends(&out, MCPLUG_OK);
    ck_assert_str_eq(out.json, "{}");
    ck_assert_int_eq(
        mcplug_call_tool_wait(h, "touch", "{\"uri\":\"" COUNTER "\"}", NULL, NULL, &err),
        MCPLUG_OK);
    turn_for(20);
    ck_assert_uint_eq(n, 1);
    mcplug_server_ledger(h, &l);
    ck_assert_uint_eq(l.issued, 7);
    ck_assert_uint_eq(l.ok, 7);
    end();
}
END_TEST

#define CAN_SUBSCRIBE "\"tools\":{},\"resources\":{\"subscribe\":true}"

/* _i: 0 it can't, 1 it says no, 2 it was cancelled */
START_TEST(subscription_that_is_refused_or_cancelled_is_over)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    struct outcome out = {0}, busy;
    begin_bare();
    mcplug_settings *s = talks("CAPS", _i ? CAN_SUBSCRIBE : "\"resources\":{}");
    mcplug_settings_put(s, "env", "SLOW", _i == 2 ? "2" : "0.1"); /* cancelled before */
    if (_i == 1)
        mcplug_settings_put(s, "env", "SUBSCRIBED",
                            "is='\"error\":{\"code\":-32002,\"message\":\"none\"}'");
    mcplug_server *h = hold(s, NULL);
    if (_i == 2)
        call(h, "slow", NULL, &busy);
    mcplug_call *c = mcplug_subscribe(h, "x:1", NULL, on_outcome, &out, &err);
    ck_assert_int_eq(c == NULL, _i == 0);
    ck_assert_int_eq(err.code, _i ? MCPLUG_OK : MCPLUG_ENOTSUP);
    if (_i == 2) {
        turn_for(20);
        mcplug_cancel(c);
    }
    if (_i)
        ends(&out, _i == 1 ? MCPLUG_EPEER : MCPLUG_ECANCELED);
    if (_i == 2) { /* it may have it by then */
        UNTIL(booked('u') == 1);
        UNTIL(busy.times); /* or its end would be that of the server */
    }
    unsigned n = booked('s');
    ck_assert_uint_eq(n, _i != 0);
    start_again(h);
    ck_assert_uint_eq(booked('s'), n);
    mcplug_server_ledger(h, &l);
    ck_assert_uint_eq(l.issued, l.ok + (_i != 0));
    ck_assert_uint_eq(l.cancelled, _i == 2);
    ck_assert_uint_eq(l.peer_error, _i == 1);
    end();
}
END_TEST

/* _i: 0 its answer takes too long, 1 its server does, 2 nobody wants to hear of it */
START_TEST(subscription_stays_wanted_when_its_answer_does_not_come)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 20};
    struct outcome out = {0}, busy;
    begin_bare();
    let_go(false);
    mcplug_settings *s = talks("CAPS", CAN_SUBSCRIBE);
    mcplug_settings_put(s, "env", "SLOW", "0.1");
    if (_i == 1)
        mcplug_settings_put(s, "env", "BEFORE",
                            "while [ ! -e \"$BOOK.go\" ]; do sleep 0.01; done");
    mcplug_server *h = NULL;
    if (_i == 1) {
        ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &h, &err), MCPLUG_OK);
        mcplug_settings_free(s);
    } else {
        h = hold(s, NULL);
    }
    if (_i == 0)
        call(h, "slow", NULL, &busy);
    if (_i == 2) {
        ck_assert_ptr_nonnull(mcplug_subscribe(h, "x:1", NULL, NULL, NULL, &err));
    } else {
        subscribe(h, "x:1", &o, &out);
        ends(&out, MCPLUG_ETIMEDOUT);
        ck_assert_msg(strstr(out.text, "timed out after 20ms") || _i == 1, "%s",
                      out.text);
    }
    let_go(true);
    UNTIL(booked('s') == 1);
    UNTIL(status(h).state == MCPLUG_STATE_READY);
    start_again(h);
    ck_assert_uint_eq(booked('s'), 2);
    let_go(false);
    end();
}
END_TEST

/* _i: 1 before it is up */
START_TEST(subscription_under_way_ends_when_it_is_not_wanted_any_more)
{
    struct outcome out[3], busy;
    begin_bare();
    mcplug_settings *s = talks("CAPS", CAN_SUBSCRIBE);
    mcplug_settings_put(s, "env", "SLOW", "0.1");
    mcplug_server *h = NULL;
    if (_i) {
        ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &h, &err), MCPLUG_OK);
        mcplug_settings_free(s);
    } else {
        h = hold(s, NULL);
        call(h, "slow", NULL, &busy);
    }
    subscribe(h, "x:1", NULL, &out[0]);
    unsubscribe(h, "x:1", &out[1]);
    subscribe(h, "x:1", NULL, &out[2]); /* and again, which is the last word */
    ends(&out[0], MCPLUG_ECANCELED);
    ends(&out[1], MCPLUG_OK);
    ends(&out[2], MCPLUG_OK);
    unsigned n = booked('s');
    ck_assert_uint_eq(n, _i ? 1 : 2);
    ck_assert_uint_eq(booked('u'), !_i);
    start_again(h);
    ck_assert_uint_eq(booked('s'), n + 1);
    mcplug_close_wait(h);
    end();
}
END_TEST

START_TEST(subscription_without_a_resource_is_refused)
{
    begin_bare();
    mcplug_server *h = hold(talks("CAPS", CAN_SUBSCRIBE), NULL);
    ck_assert_ptr_null(mcplug_subscribe(h, NULL, NULL, NULL, NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_ptr_null(mcplug_unsubscribe(h, NULL, NULL, NULL, NULL, NULL));
    end();
}
END_TEST

/* ---- may it be repeated? ---- */

struct failed {
    unsigned times;
    int code;
    uint32_t flags;
};

static void on_failed(void *arg, mcplug_call *c, mcplug_result *result,
                      const struct mcplug_error *why)
{
    struct failed *f = arg;
    (void)c, (void)result;
    ck_assert_ptr_nonnull(why);
    ck_assert_uint_eq(why->struct_size, sizeof *why);
    f->times++;
    f->code = why->code;
    f->flags = why->flags;
}

START_TEST(failure_tells_whether_its_request_had_left_and_may_be_repeated)
{
    enum { SENT = MCPLUG_ERROR_SENT, RETRY = MCPLUG_ERROR_RETRY };
    static const struct {
        const char *method, *tool;
        bool is_down, cancel;
        int code;
        uint32_t flags;
    } rows[] = {
        {NULL, "die", false, false, MCPLUG_EIO, SENT},
        {NULL, "hang", false, false, MCPLUG_ETIMEDOUT, SENT},
        {NULL, "hang", false, true, MCPLUG_ECANCELED, SENT},
        {NULL, "hang", true, false, MCPLUG_ETIMEDOUT, RETRY},
        {NULL, "hang", true, true, MCPLUG_ECANCELED, RETRY},
        {NULL, "x", false, false, MCPLUG_EPEER, SENT},
        {"x/y", NULL, false, false, MCPLUG_EPEER, SENT},
        {"resources/read", NULL, false, false, MCPLUG_EPEER, SENT}, /* it lasts */
        {"resources/read", NULL, true, false, MCPLUG_ETIMEDOUT, RETRY},
    };
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 50};
    struct failed f = {0};
    begin_bare();
    mcplug_settings *s = SCRIPTED("ERROR", "{\"code\":-1,\"message\":\"no\"}", "FIRST",
                                  rows[_i].is_down ? "exec cat > /dev/null" : "");
    mcplug_server *h = NULL;
    if (rows[_i].is_down) {
        ck_assert_int_eq(mcplug_open(host, s, NULL, NULL, NULL, &h, &err), MCPLUG_OK);
        mcplug_settings_free(s);
    } else {
        h = hold(s, NULL);
    }
    const struct mcplug_call_options *given =
        rows[_i].code == MCPLUG_ETIMEDOUT ? &o : NULL;
    const char *method = rows[_i].method;
    if (method && !strcmp(method, "resources/read") && !rows[_i].is_down)
        method =
            "completion/complete"; /* which has no effects either, and is not known */
    mcplug_call *c =
        rows[_i].tool
            ? mcplug_call_tool(h, rows[_i].tool, NULL, given, on_failed, &f, &err)
            : mcplug_request(h, method, NULL, given, on_failed, &f, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    if (rows[_i].cancel) {
        turn_for(20);
        mcplug_cancel(c);
    }
    UNTIL(f.times);
    ck_assert_msg(f.code == rows[_i].code ||
                      (rows[_i].code == MCPLUG_EIO && f.code == MCPLUG_ECLOSED),
                  "%s", mcplug_error_name(f.code));
    ck_assert_uint_eq(f.flags, rows[_i].flags);
    end();
}
END_TEST

START_TEST(request_without_effects_may_be_repeated_after_its_server_has_gone)
{
    struct failed f[2] = {{0}};
    struct outcome out;
    begin_bare();
    mcplug_server *h = hold(talks("SLOW", "60"), NULL);
    call(h, "slow", NULL, &out); /* so that it answers nothing else */
    ck_assert_ptr_nonnull(mcplug_ping(h, NULL, on_failed, &f[0], &err));
    ck_assert_ptr_nonnull(
        mcplug_request(h, "resources/list", NULL, NULL, on_failed, &f[1], &err));
    turn_for(20);
    kill((pid_t)status(h).pid, SIGKILL);
    UNTIL(f[0].times && f[1].times);
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(f[i].flags, MCPLUG_ERROR_SENT | MCPLUG_ERROR_RETRY);
    end();
}
END_TEST

/* A program of an older release has a shorter struct. */
START_TEST(error_is_written_as_far_as_it_goes)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 20};
    begin_bare();
    mcplug_server *h = hold(talks("SLOW", "60"), NULL);
    for (int i = 0; i < 2; i++) {
        struct mcplug_error e = MCPLUG_ERROR_INIT;
        if (i == 0)
            e.struct_size = offsetof(struct mcplug_error, flags);
        e.flags = 77;
        ck_assert_int_eq(mcplug_call_tool_wait(h, "slow", NULL, &o, NULL, &e),
                         MCPLUG_ETIMEDOUT);
        ck_assert_str_eq(e.text, "MCP tool call 'slow' timed out after 20ms");
        ck_assert_uint_eq(e.flags, i ? MCPLUG_ERROR_SENT : 77);
        e.flags = 77;
        ck_assert_int_eq(mcplug_call_tool_wait(h, NULL, NULL, &o, NULL, &e),
                         MCPLUG_EINVAL);
        ck_assert_uint_eq(e.flags, i ? 0 : 77);
    }
    end();
}
END_TEST

/* ---- options ---- */

START_TEST(options_that_nobody_knows_are_refused)
{
    struct {
        struct mcplug_call_options o;
        uint64_t more[2];
    } newer = {.o.struct_size = sizeof newer};
    struct mcplug_call_options o = {.struct_size = sizeof o, .reserved = 7};
    struct mcplug_server_options s = {.struct_size = sizeof s, .reserved = 7};
    struct mcplug_toolbox_options t = {.struct_size = sizeof t, .reserved = 7};
    struct {
        struct mcplug_options o;
        uint64_t more;
    } host_options = {.o.struct_size = sizeof host_options, .more = 1};
    begin_bare();
    mcplug_settings *settings = talks(NULL, NULL);
    mcplug_server *h = NULL;
    ck_assert_int_eq(mcplug_open(host, settings, &s, NULL, NULL, &h, &err),
                     MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "`reserved` must be 0");
    ck_assert_ptr_null(mcplug_toolbox_new(host, &t, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_ptr_null(mcplug_new(&host_options.o, &err));
    ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
    h = hold(settings, NULL);
    for (int i = 0; i < 2; i++) {
        newer.more[i] = 1; /* the last byte of what is not known counts, too */
        ck_assert_int_eq(mcplug_ping_wait(h, &newer.o, &err), MCPLUG_ENOTSUP);
        ck_assert_ptr_nonnull(strstr(err.text, "a newer release"));
        newer.more[i] = 0;
    }
    ck_assert_int_eq(mcplug_ping_wait(h, &newer.o, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_ping_wait(h, &o, &err), MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "`reserved` must be 0");
    ck_assert_ptr_null(mcplug_get_list(h, MCPLUG_TOOLS, &o, on_list, NULL, &err));
    ck_assert_ptr_null(mcplug_subscribe(h, "x:1", &o, NULL, NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    o.struct_size = offsetof(struct mcplug_call_options, reserved); /* an older one */
    ck_assert_int_eq(mcplug_ping_wait(h, &o, &err), MCPLUG_OK);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, call_that_has_ended_can_be_cancelled_by_who_has_a_reference,
                        0, 4);
    tcase_add_loop_test(tc, call_of_a_toolbox_that_has_ended_can_be_cancelled, 0, 2);
    tcase_add_loop_test(tc, list_can_be_cancelled, 0, 2);
    tcase_add_test(tc, list_that_others_wait_for_goes_on_without_who_cancels);
    tcase_add_test(tc, list_can_be_cancelled_by_who_hears_the_same_list_first);
    tcase_add_loop_test(tc, list_has_a_time_of_its_own, 0, 3);
    tcase_add_test(tc, blocking_list_has_a_time_of_its_own);
    tcase_add_loop_test(tc, blocking_ping_tells_whether_it_is_alive, 0, 2);
    tcase_add_loop_test(tc, subscription_ends_with_the_answer_of_the_server, 0, 4);
    tcase_add_loop_test(tc, subscription_that_is_refused_or_cancelled_is_over, 0, 3);
    tcase_add_loop_test(tc, subscription_stays_wanted_when_its_answer_does_not_come, 0,
                        3);
    tcase_add_loop_test(tc, subscription_under_way_ends_when_it_is_not_wanted_any_more, 0,
                        2);
    tcase_add_test(tc, subscription_without_a_resource_is_refused);
    tcase_add_loop_test(
        tc, failure_tells_whether_its_request_had_left_and_may_be_repeated, 0, 9);
    tcase_add_test(tc, request_without_effects_may_be_repeated_after_its_server_has_gone);
    tcase_add_test(tc, error_is_written_as_far_as_it_goes);
    tcase_add_test(tc, options_that_nobody_knows_are_refused);
}

int main(void)
{
    return run_suite("api_calls", add);
}
