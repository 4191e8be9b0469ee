/* Events as programs hear them, against real servers. */
#include "server_kit.h"

#include <mcplug/admin.h>

enum { KEPT = 4096 };

struct heard {
    uint32_t kind, outcome, state, refused;
    uint64_t call, queued_ms, latency_ms, result_size, tools, starts;
    double progress, total;
    int code;
    char server[32], method[32], tool[32], text[128];
};

static struct heard heard[KEPT];
static size_t n_heard;

static void copy(char *out, size_t size, const char *text, size_t len)
{
    snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), text ? text : "");
}

static void on_event(void *arg, const struct mcplug_activity *e)
{
    (void)arg;
    ck_assert_uint_lt(n_heard, KEPT);
    ck_assert_uint_eq(e->struct_size, sizeof *e);
    ck_assert_uint_gt(e->time_ms, 1700000000000);
    struct heard *h = &heard[n_heard++];
    *h = (struct heard){.kind = e->kind,
                        .outcome = e->outcome,
                        .state = e->state,
                        .refused = e->refused,
                        .call = e->call,
                        .queued_ms = e->queued_ms,
                        .latency_ms = e->latency_ms,
                        .result_size = e->result_size,
                        .tools = e->tools,
                        .starts = e->starts,
                        .progress = e->progress,
                        .total = e->total,
                        .code = e->why ? e->why->code : MCPLUG_OK};
    copy(h->server, sizeof h->server, e->server, e->server ? strlen(e->server) : 0);
    copy(h->method, sizeof h->method, e->method, e->method ? strlen(e->method) : 0);
    copy(h->tool, sizeof h->tool, e->tool, e->tool ? strlen(e->tool) : 0);
    copy(h->text, sizeof h->text, e->text, e->len);
}

static mcplug_listener *listen_to(uint32_t kinds)
{
    n_heard = 0;
    mcplug_listener *l = mcplug_listen(host, kinds, MCPLUG_LOG_TRACE, on_event, NULL);
    ck_assert_ptr_nonnull(l);
    return l;
}

/* The n-th of that kind; NULL: there is none. */
static const struct heard *nth(uint32_t kind, unsigned n)
{
    for (size_t i = 0; i < n_heard; i++)
        if (heard[i].kind == kind && n-- == 0)
            return &heard[i];
    return NULL;
}

static unsigned count(uint32_t outcome)
{
    unsigned n = 0;
    for (size_t i = 0; i < n_heard; i++)
        n += heard[i].kind == MCPLUG_ACTIVITY_ENDED && !heard[i].refused &&
             heard[i].outcome == outcome;
    return n;
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    unsigned *times = arg;
    (void)call, (void)result, (void)why;
    ++*times;
}

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    (void)arg, (void)call, (void)progress, (void)total, (void)message;
}

static void run(mcplug_server *h, const char *tool, const char *arguments,
                const struct mcplug_call_options *o)
{
    unsigned times = 0;
    ck_assert_ptr_nonnull(mcplug_call_tool(h, tool, arguments, o, on_done, &times, &err));
    UNTIL(times);
}

static struct mcplug_server_options named(const char *name)
{
    return (struct mcplug_server_options){
        .struct_size = sizeof(struct mcplug_server_options), .name = name};
}

/* ---- calls ---- */

START_TEST(a_call_is_told_from_its_making_to_its_end)
{
    static const uint32_t kinds[] = {MCPLUG_ACTIVITY_CALL, MCPLUG_ACTIVITY_SENT,
                                     MCPLUG_ACTIVITY_RETURNED, MCPLUG_ACTIVITY_ENDED};
    struct mcplug_server_options o = named("ex");
    begin_bare();
    mcplug_server *h = hold(example("modern"), &o);
    listen_to(MCPLUG_ACTIVITY_ALL & ~MCPLUG_ACTIVITY_FRAME);
    run(h, "echo", "{\"text\":\"x\"}", NULL);
    ck_assert_uint_eq(n_heard, MP_COUNT(kinds));
    for (size_t i = 0; i < MP_COUNT(kinds); i++) {
        ck_assert_uint_eq(heard[i].kind, kinds[i]);
        ck_assert_uint_eq(heard[i].call, heard[0].call);
        ck_assert_str_eq(heard[i].server, "ex");
        ck_assert_str_eq(heard[i].tool, "echo");
        ck_assert_str_eq(heard[i].method, "tools/call");
    }
    ck_assert_uint_ne(heard[0].call, 0);
    ck_assert_uint_gt(heard[3].result_size, 10);
    ck_assert_uint_eq(heard[3].outcome, MCPLUG_OUTCOME_OK);
    run(h, "echo", "{\"text\":\"x\"}", NULL);
    ck_assert_uint_ne(heard[4].call, heard[0].call);
    end();
}
END_TEST

START_TEST(calls_end_as_the_ledger_has_it)
{
    struct mcplug_call_options brief = {.struct_size = sizeof brief, .timeout_ms = 100};
    struct mcplug_ledger l = {.struct_size = sizeof l};
    unsigned times = 0;
    begin_bare();
    mcplug_server *h = hold(example("modern"), NULL);
    listen_to(MCPLUG_ACTIVITY_CALL | MCPLUG_ACTIVITY_ENDED);
    run(h, "echo", "{\"text\":\"x\"}", NULL);
    run(h, "echo", "{\"text\":\"x\"}", NULL);
    run(h, "fail", "{\"message\":\"no luck\"}", NULL);
    ck_assert_str_eq(nth(MCPLUG_ACTIVITY_ENDED, 2)->text, "no luck");
    run(h, "nothing", "{}", NULL);
    ck_assert_int_eq(nth(MCPLUG_ACTIVITY_ENDED, 3)->code, MCPLUG_EPEER);
    run(h, "sleep", "{\"ms\":30000}", &brief);
    ck_assert_uint_ge(nth(MCPLUG_ACTIVITY_ENDED, 4)->latency_ms, 100);
    mcplug_call *c =
        mcplug_call_tool(h, "sleep", "{\"ms\":30000}", NULL, on_done, &times, &err);
    turn_for(20);
    mcplug_cancel(c);
    UNTIL(times);
    run(h, "exit", "{\"code\":1}", NULL);
    mcplug_server_ledger(h, &l);
    ck_assert_uint_eq(l.issued, 7);
    ck_assert_uint_eq(count(MCPLUG_OUTCOME_OK), l.ok);
    ck_assert_uint_eq(l.ok, 2);
    ck_assert_uint_eq(count(MCPLUG_OUTCOME_TOOL_ERROR), l.tool_error);
    ck_assert_uint_eq(l.tool_error, 1);
    ck_assert_uint_eq(count(MCPLUG_OUTCOME_PEER_ERROR), l.peer_error);
    ck_assert_uint_eq(l.peer_error, 1);
    ck_assert_uint_eq(count(MCPLUG_OUTCOME_TIMED_OUT), l.timed_out);
    ck_assert_uint_eq(l.timed_out, 1);
    ck_assert_uint_eq(count(MCPLUG_OUTCOME_CANCELLED), l.cancelled);
    ck_assert_uint_eq(l.cancelled, 1);
    ck_assert_uint_eq(count(MCPLUG_OUTCOME_TRANSPORT_ERROR), l.transport_error);
    ck_assert_uint_eq(l.transport_error, 1);
    end();
}
END_TEST

START_TEST(a_call_that_is_refused_at_once_has_ended_and_is_in_no_ledger)
{
    struct mcplug_server_options o = named("ex");
    struct mcplug_ledger l = {.struct_size = sizeof l};
    unsigned times = 0;
    begin_bare();
    o.queue = "q";
    mcplug_set_queue(host, "q", 1, 1);
    mcplug_server *h = hold(example("modern"), &o);
    listen_to(MCPLUG_ACTIVITY_CALL | MCPLUG_ACTIVITY_SENT | MCPLUG_ACTIVITY_ENDED);
    for (int i = 0; i < 2; i++)
        ck_assert_ptr_nonnull(
            mcplug_call_tool(h, "sleep", "{\"ms\":200}", NULL, on_done, &times, &err));
    ck_assert_ptr_null(
        mcplug_call_tool(h, "sleep", "{\"ms\":200}", NULL, on_done, &times, NULL));
    ck_assert_uint_eq(n_heard, 5); /* made and sent; made; made and refused */
    ck_assert_uint_eq(heard[4].kind, MCPLUG_ACTIVITY_ENDED);
    ck_assert_uint_eq(heard[4].refused, 1);
    ck_assert_uint_eq(heard[4].call, heard[3].call);
    ck_assert_int_eq(heard[4].code, MCPLUG_EOVERLOADED);
    UNTIL(times == 2);
    ck_assert_uint_ge(nth(MCPLUG_ACTIVITY_SENT, 1)->queued_ms, 150);
    ck_assert_uint_ge(nth(MCPLUG_ACTIVITY_ENDED, 2)->queued_ms, 150);
    mcplug_server_ledger(h, &l);
    ck_assert_uint_eq(l.issued, 2);
    end();
}
END_TEST

START_TEST(progress_is_told_of_calls_that_asked_for_it)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .progress = on_progress};
    begin_bare();
    mcplug_server *h = hold(example("modern"), NULL);
    listen_to(MCPLUG_ACTIVITY_PROGRESS | MCPLUG_ACTIVITY_CALL);
    run(h, "sleep", "{\"ms\":300}", &o);
    const struct heard *p = nth(MCPLUG_ACTIVITY_PROGRESS, 0);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(p->call, heard[0].call);
    ck_assert_str_eq(p->tool, "sleep");
    end();
}
END_TEST

/* ---- servers ---- */

START_TEST(starts_states_and_losses_are_told)
{
    struct mcplug_server_options o = named("sh");
    begin_bare();
    listen_to(MCPLUG_ACTIVITY_STATE | MCPLUG_ACTIVITY_STARTED | MCPLUG_ACTIVITY_DROPPED |
              MCPLUG_ACTIVITY_REMARK);
    mcplug_server *h = hold(SCRIPTED("TOOLS", TOOL("die"), "FIRST", "echo hi >&2"), &o);
    UNTIL(nth(MCPLUG_ACTIVITY_REMARK, 0));
    ck_assert_str_eq(nth(MCPLUG_ACTIVITY_REMARK, 0)->text, "hi");
    ck_assert_uint_eq(nth(MCPLUG_ACTIVITY_STARTED, 0)->tools, 1);
    ck_assert_int_eq(nth(MCPLUG_ACTIVITY_STARTED, 0)->code, MCPLUG_OK);
    unsigned n = 0;
    while (nth(MCPLUG_ACTIVITY_STATE, n)->state != MCPLUG_STATE_READY)
        n++;
    ck_assert_uint_eq(nth(MCPLUG_ACTIVITY_STATE, n)->starts, 1);
    run(h, "die", "{}", NULL);
    UNTIL(nth(MCPLUG_ACTIVITY_STARTED, 1)); /* it was started anew */
    ck_assert_ptr_nonnull(nth(MCPLUG_ACTIVITY_DROPPED, 0));
    ck_assert_int_ne(nth(MCPLUG_ACTIVITY_DROPPED, 0)->code, MCPLUG_OK);
    ck_assert_str_eq(nth(MCPLUG_ACTIVITY_DROPPED, 0)->server, "sh");
    LOGGED("ERR mcp:sh STDIO connection dropped after 0s uptime");
    LOGGED("VRB mcp:sh stderr: hi");
    LOGGED("VRB mcp:sh ready after ");
    end();
}
END_TEST

START_TEST(what_a_server_logs_is_told)
{
    struct mcplug_server_options o = named("ex");
    begin_bare();
    o.log_level = "debug";
    mcplug_server *h = hold(example("legacy"), &o);
    listen_to(MCPLUG_ACTIVITY_LOGGED);
    run(h, "log", "{\"level\":\"warning\",\"text\":\"hot\"}", NULL);
    UNTIL(nth(MCPLUG_ACTIVITY_LOGGED, 0));
    ck_assert_ptr_nonnull(strstr(nth(MCPLUG_ACTIVITY_LOGGED, 0)->text, "hot"));
    end();
}
END_TEST

/* ---- frames ---- */

#define MEGABYTE 1048576

static size_t whole[2]; /* the longest frame that came, that was sent */
static char lines[2][MCPLUG_ACTIVITY_LINE_MAX];

static void on_frame(void *arg, const struct mcplug_activity *e)
{
    (void)arg;
    ck_assert_uint_eq(e->kind, MCPLUG_ACTIVITY_FRAME);
    if (e->len <= whole[e->is_sent])
        return;
    whole[e->is_sent] = e->len;
    ck_assert_int_eq(e->text[0], '{');
    ck_assert_int_eq(e->text[e->len - 1], '}');
    ck_assert_uint_eq(e->is_cut, 0);
    ck_assert_int_eq(mcplug_activity_text(e, 0, lines[e->is_sent]), 1);
    ck_assert_int_eq(mcplug_activity_text(e, 1, (char[MCPLUG_ACTIVITY_LINE_MAX]){0}), 0);
}

START_TEST(a_frame_of_a_megabyte_is_whole_and_its_line_says_that_it_is_cut)
{
    static char arguments[MEGABYTE + 64];
    char end_of_line[64];
    begin_bare();
    mcplug_server *h = hold(example("modern"), NULL);
    memset(whole, 0, sizeof whole);
    ck_assert_ptr_nonnull(
        mcplug_listen(host, MCPLUG_ACTIVITY_FRAME, MCPLUG_LOG_TRACE, on_frame, NULL));
    strcpy(arguments, "{\"text\":\"");
    memset(arguments + 9, 'x', MEGABYTE);
    strcpy(arguments + 9 + MEGABYTE, "\"}");
    run(h, "echo", arguments, NULL);
    for (int sent = 0; sent < 2; sent++) {
        ck_assert_uint_gt(whole[sent], MEGABYTE);
        ck_assert_int_eq(strncmp(lines[sent], sent ? "-> {" : "<- {", 4), 0);
        snprintf(end_of_line, sizeof end_of_line, "x… (%zu bytes more)",
                 whole[sent] - 3000);
        size_t len = strlen(lines[sent]), tail = strlen(end_of_line);
        ck_assert_uint_lt(len, 3100);
        ck_assert_str_eq(lines[sent] + len - tail, end_of_line);
    }
    end();
}
END_TEST

/* ---- listeners ---- */

static mcplug_listener *leaver;

static void on_leave(void *arg, const struct mcplug_activity *e)
{
    (void)e;
    ++*(unsigned *)arg;
    mcplug_unlisten(leaver);
}

START_TEST(a_listener_may_leave_when_it_is_told_or_stay_until_the_host_ends)
{
    unsigned times = 0;
    begin_bare();
    mcplug_server *h = hold(example("modern"), NULL);
    leaver = mcplug_listen(host, MCPLUG_ACTIVITY_ALL, MCPLUG_LOG_TRACE, on_leave, &times);
    listen_to(MCPLUG_ACTIVITY_ENDED);
    run(h, "echo", "{\"text\":\"x\"}", NULL);
    ck_assert_uint_eq(times, 1);
    ck_assert_uint_eq(n_heard, 1);
    mcplug_unlisten(NULL);
    end();
}
END_TEST

struct whose {
    mcplug_server *a, *b;
    unsigned of_a, of_b;
};

static void on_whose(void *arg, const struct mcplug_activity *e)
{
    struct whose *w = arg;
    w->of_a += mcplug_activity_concerns(e, w->a) != 0;
    w->of_b += mcplug_activity_concerns(e, w->b) != 0;
}

START_TEST(events_concern_those_who_share_the_connection)
{
    struct mcplug_server_options o = named("one"), p = named("two"), q = named("three");
    struct whose w = {0};
    begin_bare();
    q.dedicated = 1;
    mcplug_server *one = hold(example("modern"), &o);
    w.a = hold(example("modern"), &p); /* which shares it */
    w.b = hold(example("modern"), &q);
    mcplug_listen(host, MCPLUG_ACTIVITY_ENDED, MCPLUG_LOG_VERBOSE, on_whose, &w);
    run(one, "echo", "{\"text\":\"x\"}", NULL);
    ck_assert_uint_eq(w.of_a, 1);
    ck_assert_uint_eq(w.of_b, 0);
    run(w.b, "echo", "{\"text\":\"x\"}", NULL);
    ck_assert_uint_eq(w.of_b, 1);
    ck_assert_str_eq(mcplug_outcome_name(MCPLUG_OUTCOME_TIMED_OUT), "timed_out");
    ck_assert_str_eq(mcplug_outcome_name((enum mcplug_outcome)99), "");
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_call_is_told_from_its_making_to_its_end);
    tcase_add_test(tc, calls_end_as_the_ledger_has_it);
    tcase_add_test(tc, a_call_that_is_refused_at_once_has_ended_and_is_in_no_ledger);
    tcase_add_test(tc, progress_is_told_of_calls_that_asked_for_it);
    tcase_add_test(tc, starts_states_and_losses_are_told);
    tcase_add_test(tc, what_a_server_logs_is_told);
    tcase_add_test(tc, a_frame_of_a_megabyte_is_whole_and_its_line_says_that_it_is_cut);
    tcase_add_test(tc, a_listener_may_leave_when_it_is_told_or_stay_until_the_host_ends);
    tcase_add_test(tc, events_concern_those_who_share_the_connection);
}

int main(void)
{
    return run_suite("api_events", add);
}
