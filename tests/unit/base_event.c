#include "fake.h"

#include "base/error.h"
#include "base/event.h"

#include <stdio.h>
#include <stdlib.h>

static struct mp_events events;
static char heard[16384]; /* "a:line:text b:line:text " */

struct ear {
    struct mp_event_listener base;
    const char *name;
    void (*then)(struct ear *ear, const struct mp_event *event);
    struct ear *other;
};

static void note(const char *who, const char *what, const char *text, size_t len)
{
    size_t n = strlen(heard);
    snprintf(heard + n, sizeof heard - n, "%s:%s:%.*s ", who, what, (int)len, text);
}

static void on_event(void *arg, const struct mp_event *event)
{
    static const char *const names[MP_EVENT_KINDS] = {
        "call",    "sent",    "running", "progress", "returned", "ended", "state",
        "started", "dropped", "frame",   "remark",   "logged",   "line"};
    struct ear *ear = arg;
    bool has_text = event->kind == MP_EVENT_LINE || event->kind == MP_EVENT_REMARK;

    ck_assert_uint_gt(event->time_ms, 1700000000000);
    note(ear->name, names[event->kind], has_text ? event->text.data : "",
         has_text ? event->text.len : 0);
    if (ear->then)
        ear->then(ear, event);
}

static struct ear *ear_new(const char *name, unsigned kinds, int level)
{
    struct ear *ear = calloc(1, sizeof *ear);

    ck_assert_ptr_nonnull(ear);
    ear->name = name;
    ear->base = (struct mp_event_listener){
        .kinds = kinds, .level = level, .fn = on_event, .arg = ear};
    mp_events_add(&events, &ear->base);
    return ear;
}

static void ear_free(struct ear *ear)
{
    mp_events_remove(&events, &ear->base);
    free(ear);
}

static void on_log(void *arg, int level, const char *source, const char *text)
{
    char who[32];
    (void)arg;
    snprintf(who, sizeof who, "log%d", level);
    note(who, source, text, strlen(text));
}

static void setup(void)
{
    heard[0] = '\0';
    mp_events_init(&events, NULL, NULL, MCPLUG_LOG_TRACE);
}

static void remark(const char *text)
{
    struct mp_event event = {.kind = MP_EVENT_REMARK,
                             .level = MCPLUG_LOG_VERBOSE,
                             .source = "mcp:s",
                             .text = {.data = text, .len = strlen(text)}};
    mp_events_tell(&events, &event);
}

/* ---- who is told ---- */

START_TEST(nothing_is_wanted_while_nobody_listens)
{
    struct mp_events zeroed = {0};

    for (int level = 0; level <= MCPLUG_LOG_TRACE; level++)
        for (int kind = 0; kind < MP_EVENT_KINDS; kind++) {
            ck_assert(!mp_events_want(&events, (enum mp_event_kind)kind, level));
            ck_assert(!mp_events_want(&zeroed, (enum mp_event_kind)kind, level));
        }
    mp_log(&events, MCPLUG_LOG_ERROR, "core", "%s", "unheard");
    mp_log(&zeroed, MCPLUG_LOG_ERROR, "core", "%s", "unheard");
}
END_TEST

START_TEST(kinds_and_levels_decide_what_is_wanted)
{
    struct ear *a = ear_new(
        "a", MP_EVENT_BIT(MP_EVENT_LINE) | MP_EVENT_BIT(MP_EVENT_CALL), MCPLUG_LOG_WARN);
    struct ear *b = ear_new("b", MP_EVENT_BIT(MP_EVENT_FRAME), MCPLUG_LOG_TRACE);

    ck_assert(mp_events_want(&events, MP_EVENT_LINE, MCPLUG_LOG_ERROR));
    ck_assert(mp_events_want(&events, MP_EVENT_LINE, MCPLUG_LOG_WARN));
    ck_assert(!mp_events_want(&events, MP_EVENT_LINE, MCPLUG_LOG_VERBOSE));
    ck_assert(mp_events_want(&events, MP_EVENT_CALL, MCPLUG_LOG_WARN));
    ck_assert(mp_events_want(&events, MP_EVENT_FRAME, MCPLUG_LOG_TRACE));
    ck_assert(!mp_events_want(&events, MP_EVENT_REMARK, MCPLUG_LOG_ERROR));
    mp_log(&events, MCPLUG_LOG_WARN, "core", "one");
    mp_log(&events, MCPLUG_LOG_VERBOSE, "core", "two");
    remark("three");
    ck_assert_str_eq(heard, "a:line:one ");
    ear_free(a);
    ck_assert(!mp_events_want(&events, MP_EVENT_LINE, MCPLUG_LOG_ERROR));
    ck_assert(mp_events_want(&events, MP_EVENT_FRAME, MCPLUG_LOG_TRACE));
    ear_free(b);
    ck_assert(!mp_events_want(&events, MP_EVENT_FRAME, MCPLUG_LOG_TRACE));
}
END_TEST

START_TEST(the_log_wants_what_has_a_text_up_to_its_level)
{
    mp_events_init(&events, on_log, NULL, MCPLUG_LOG_VERBOSE);
    ck_assert(mp_events_want(&events, MP_EVENT_SENT, MCPLUG_LOG_VERBOSE));
    ck_assert(!mp_events_want(&events, MP_EVENT_FRAME, MCPLUG_LOG_TRACE));
    ck_assert(!mp_events_want(&events, MP_EVENT_CALL, MCPLUG_LOG_ERROR));
    ck_assert(!mp_events_want(&events, MP_EVENT_ENDED, MCPLUG_LOG_ERROR));
    ck_assert(!mp_events_want(&events, MP_EVENT_PROGRESS, MCPLUG_LOG_ERROR));
    ck_assert(!mp_events_want(&events, MP_EVENT_LOGGED, MCPLUG_LOG_ERROR));
    remark("three");
    ck_assert_str_eq(heard, "log2:mcp:s:stderr: three ");
}
END_TEST

START_TEST(listeners_are_told_in_their_order_and_the_log_first)
{
    mp_events_init(&events, on_log, NULL, MCPLUG_LOG_VERBOSE);
    struct ear *a = ear_new("a", MP_EVENT_ALL, MCPLUG_LOG_TRACE);
    struct ear *b = ear_new("b", MP_EVENT_ALL, MCPLUG_LOG_TRACE);

    mp_log(&events, MCPLUG_LOG_WARN, "core", "x");
    mp_log(&events, MCPLUG_LOG_TRACE, "core", "y");
    ck_assert_str_eq(heard, "log1:core:x a:line:x b:line:x a:line:y b:line:y ");
    ear_free(a);
    ear_free(b);
}
END_TEST

/* ---- who comes and goes meanwhile ---- */

static void leave(struct ear *ear, const struct mp_event *event)
{
    (void)event;
    ear_free(ear);
}

static void send_off(struct ear *ear, const struct mp_event *event)
{
    (void)event;
    ear_free(ear->other);
    ear->then = NULL;
}

static void bring(struct ear *ear, const struct mp_event *event)
{
    (void)event;
    ear->other = ear_new("new", MP_EVENT_ALL, MCPLUG_LOG_TRACE);
    ear->then = NULL;
}

static void echo(struct ear *ear, const struct mp_event *event)
{
    (void)ear;
    if (event->kind == MP_EVENT_REMARK)
        mp_log(&events, MCPLUG_LOG_WARN, "core", "echo");
}

START_TEST(a_listener_may_leave_and_be_freed_while_it_is_told)
{
    ear_new("a", MP_EVENT_ALL, MCPLUG_LOG_TRACE)->then = leave;
    struct ear *b = ear_new("b", MP_EVENT_ALL, MCPLUG_LOG_TRACE);

    remark("1");
    remark("2");
    ck_assert_str_eq(heard, "a:remark:1 b:remark:1 b:remark:2 ");
    ear_free(b);
}
END_TEST

START_TEST(a_listener_may_remove_the_next_one)
{
    struct ear *a = ear_new("a", MP_EVENT_ALL, MCPLUG_LOG_TRACE);
    struct ear *b = ear_new("b", MP_EVENT_ALL, MCPLUG_LOG_TRACE);
    struct ear *c = ear_new("c", MP_EVENT_ALL, MCPLUG_LOG_TRACE);

    a->then = send_off;
    a->other = b;
    remark("1");
    ck_assert_str_eq(heard, "a:remark:1 c:remark:1 ");
    ear_free(a);
    ear_free(c);
}
END_TEST

START_TEST(who_comes_while_an_event_is_told_hears_the_next_one)
{
    struct ear *a = ear_new("a", MP_EVENT_ALL, MCPLUG_LOG_TRACE);

    a->then = bring;
    remark("1");
    remark("2");
    ck_assert_str_eq(heard, "a:remark:1 a:remark:2 new:remark:2 ");
    ear_free(a->other);
    ear_free(a);
}
END_TEST

START_TEST(a_listener_is_not_told_of_what_it_causes_itself)
{
    struct ear *a = ear_new("a", MP_EVENT_ALL, MCPLUG_LOG_TRACE);
    struct ear *b = ear_new("b", MP_EVENT_ALL, MCPLUG_LOG_TRACE);

    a->then = echo;
    remark("1");
    ck_assert_str_eq(heard, "a:remark:1 b:line:echo b:remark:1 ");
    mp_log(&events, MCPLUG_LOG_WARN, "core", "after");
    ck_assert_ptr_nonnull(strstr(heard, "a:line:after b:line:after "));
    ear_free(a);
    ear_free(b);
}
END_TEST

/* ---- texts ---- */

static const char *text_of(const struct mp_event *event, unsigned n)
{
    static char line[MP_LINE_ROOM];
    return mp_event_text(event, n, line) ? line : "(none)";
}

START_TEST(a_call_has_the_lines_that_people_know)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_event e = {.kind = MP_EVENT_SENT, .source = "mcp:s"};

    e.call.method = "tools/call";
    e.call.tool = "T";
    ck_assert_str_eq(text_of(&e, 0), "Calling MCP tool: T");
    ck_assert_str_eq(text_of(&e, 1), "(none)");
    e.call.queued_ms = 1500;
    ck_assert_str_eq(text_of(&e, 1), "T waited 1500ms before it was sent");
    ck_assert_str_eq(text_of(&e, 2), "(none)");
    e.kind = MP_EVENT_RUNNING;
    e.call.latency_ms = 30000;
    ck_assert_str_eq(text_of(&e, 0), "Tool 'T' still running (30s elapsed)");
    e.kind = MP_EVENT_RETURNED;
    ck_assert_str_eq(text_of(&e, 0), "Tool 'T' completed successfully in 30s");
    e.call.outcome = MP_TOOL_ERROR;
    e.call.failure = "no\n such file";
    ck_assert_str_eq(text_of(&e, 0), "Tool 'T' failed after 30s: no\\x0a such file");
    mp_fail(&why, MCPLUG_EPEER, "boom");
    e.call.outcome = MP_PEER_ERROR;
    e.call.why = &why;
    ck_assert_str_eq(text_of(&e, 0), "Tool 'T' failed after 30s: boom");
    e.call.outcome = MP_CANCELLED;
    ck_assert_str_eq(text_of(&e, 0), "(none)");
    e.call.outcome = MP_OK;
    e.call.tool = NULL;
    ck_assert_str_eq(text_of(&e, 0), "(none)");
    e.kind = MP_EVENT_SENT;
    ck_assert_str_eq(text_of(&e, 0), "tools/call waited 1500ms before it was sent");
    ck_assert_str_eq(text_of(&e, 1), "(none)");
}
END_TEST

START_TEST(a_dropped_connection_has_two_lines)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_event e = {.kind = MP_EVENT_DROPPED, .source = "mcp:s"};

    mp_fail(&why, MCPLUG_ECLOSED, "gone");
    e.dropped.why = &why;
    e.dropped.transport = "stdio";
    e.dropped.up_ms = 5999;
    ck_assert_str_eq(text_of(&e, 0), "STDIO connection dropped after 5s uptime");
    ck_assert_str_eq(text_of(&e, 1), "gone");
    ck_assert_str_eq(text_of(&e, 2), "(none)");
}
END_TEST

START_TEST(a_line_that_is_cut_says_so)
{
    static char text[20000];
    struct mp_event e = {.kind = MP_EVENT_FRAME, .source = "mcp:s"};

    memset(text, 'x', sizeof text);
    e.frame.text = text;
    e.frame.len = 3000;
    ck_assert_uint_eq(strlen(text_of(&e, 0)), 3003);
    e.frame.len = 3001;
    ck_assert_str_eq(text_of(&e, 0) + 3003, "… (1 byte more)");
    e.frame.len = sizeof text;
    e.frame.sent = true;
    ck_assert_str_eq(text_of(&e, 0) + 3003, "… (17000 bytes more)");
    memset(text, 1, sizeof text); /* four bytes each when escaped */
    ck_assert_str_eq(text_of(&e, 0) + 3 + 4 * 1023, "… (18977 bytes more)");
    memcpy(text + 2999, "\xc3\xa9", 2); /* not in its middle */
    memset(text, 'x', 2999);
    ck_assert_str_eq(text_of(&e, 0) + 3 + 2999, "… (17001 bytes more)");
}
END_TEST

START_TEST(a_long_log_line_is_cut_and_says_so)
{
    static char text[MP_LINE_MAX + 100];

    mp_events_init(&events, on_log, NULL, MCPLUG_LOG_VERBOSE);
    memset(text, 'x', sizeof text - 1);
    mp_log(&events, MCPLUG_LOG_WARN, "core", "%s", text);
    ck_assert_ptr_nonnull(strstr(heard, "x… (100 bytes more) "));
    ck_assert_uint_eq(strspn(strchr(heard, 'x'), "x"), MP_LINE_MAX - 1);
}
END_TEST

/* ---- floods ---- */

static void count_event(void *arg, const struct mp_event *event)
{
    (void)event;
    ++*(unsigned *)arg;
}

static uint64_t clock_ms;
static unsigned n_lines;
static char last_line[MP_LINE_ROOM];

static uint64_t stopped_clock(void)
{
    return clock_ms;
}

static void on_line(void *arg, int level, const char *source, const char *text)
{
    (void)arg, (void)level;
    n_lines++;
    snprintf(last_line, sizeof last_line, "%s %s", source, text);
}

static void start_log(int level)
{
    clock_ms = 1000000;
    n_lines = 0;
    mp_events_init(&events, on_line, NULL, level);
    events.rate.clock = stopped_clock;
}

static void flood(int level, const char *source, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        mp_log(&events, level, source, "wrong again: %u", i);
}

START_TEST(a_flood_of_lines_is_counted_instead)
{
    start_log(MCPLUG_LOG_WARN);
    flood(MCPLUG_LOG_WARN, "mcp:a", 5000);
    ck_assert_uint_eq(n_lines, MP_LOG_RATE_WARN + 1);
    ck_assert_str_eq(last_line,
                     "mcp:a more lines like this are counted, not logged, for 10 s");
    clock_ms += MP_LOG_RATE_MS - 1;
    flood(MCPLUG_LOG_WARN, "mcp:a", 1);
    ck_assert_uint_eq(n_lines, MP_LOG_RATE_WARN + 1);

    /* another line, of whatever, tells how many there were */
    clock_ms += 1;
    mp_log(&events, MCPLUG_LOG_WARN, "core", "something else");
    ck_assert_uint_eq(n_lines, MP_LOG_RATE_WARN + 3);
    ck_assert_str_eq(last_line, "core something else");
    n_lines = 0;
    flood(MCPLUG_LOG_WARN, "mcp:a", 5000); /* it begins anew */
    ck_assert_uint_eq(n_lines, MP_LOG_RATE_WARN + 1);
    clock_ms += MP_LOG_RATE_MS;
    n_lines = 0;
    flood(MCPLUG_LOG_WARN, "mcp:a", 1);
    ck_assert_uint_eq(n_lines, 2);
    ck_assert_str_eq(last_line, "mcp:a wrong again: 0");
}
END_TEST

static char first_line[MP_LINE_ROOM];

static void on_first_line(void *arg, int level, const char *source, const char *text)
{
    (void)arg, (void)level;
    if (!n_lines++)
        snprintf(first_line, sizeof first_line, "%s %s", source, text);
}

START_TEST(the_number_of_dropped_lines_is_told)
{
    start_log(MCPLUG_LOG_WARN);
    flood(MCPLUG_LOG_WARN, "mcp:a", 350);
    clock_ms += MP_LOG_RATE_MS;
    events.log = on_first_line;
    n_lines = 0;
    mp_log(&events, MCPLUG_LOG_WARN, "mcp:a", "another");
    ck_assert_uint_eq(n_lines, 2);
    ck_assert_str_eq(first_line, "mcp:a 250 more in 10 s: wrong again: 100");
}
END_TEST

START_TEST(a_flood_hides_nothing_of_others)
{
    start_log(MCPLUG_LOG_VERBOSE);
    flood(MCPLUG_LOG_WARN, "mcp:a", 5000);
    n_lines = 0;
    flood(MCPLUG_LOG_WARN, "mcp:b", 1);
    ck_assert_uint_eq(n_lines, 1);
    mp_log(&events, MCPLUG_LOG_WARN, "mcp:a", "another kind");
    ck_assert_uint_eq(n_lines, 2);
    flood(MCPLUG_LOG_ERROR, "mcp:a", 1);
    ck_assert_uint_eq(n_lines, 3);
    n_lines = 0;
    flood(MCPLUG_LOG_VERBOSE, "mcp:a", 5000);
    ck_assert_uint_eq(n_lines, MP_LOG_RATE_MORE + 1);

    struct mp_event remark = {.kind = MP_EVENT_REMARK,
                              .level = MCPLUG_LOG_VERBOSE,
                              .source = "mcp:a",
                              .text = {.data = "x", .len = 1}};
    n_lines = 0;
    for (int i = 0; i < 5000; i++)
        mp_events_tell(&events, &remark);
    ck_assert_uint_eq(n_lines, MP_LOG_RATE_MORE + 1);
}
END_TEST

/* More kinds than there are places for: still no more lines than all of them may have. */
START_TEST(many_sources_do_no_harm)
{
    char name[32];

    start_log(MCPLUG_LOG_WARN);
    for (int i = 0; i < 3 * MP_LOG_RATE_KINDS; i++) {
        snprintf(name, sizeof name, "mcp:%d", i);
        flood(MCPLUG_LOG_WARN, name, 3);
    }
    ck_assert_uint_eq(n_lines, 9 * MP_LOG_RATE_KINDS);
    ck_assert_uint_eq(events.rate.n, MP_LOG_RATE_KINDS);
}
END_TEST

/* Listeners decide for themselves. */
START_TEST(listeners_hear_all_of_a_flood)
{
    static unsigned heard_all;
    start_log(MCPLUG_LOG_WARN);
    struct mp_event_listener all = {.kinds = MP_EVENT_BIT(MP_EVENT_LINE),
                                    .level = MCPLUG_LOG_WARN,
                                    .fn = count_event,
                                    .arg = &heard_all};
    mp_events_add(&events, &all);
    flood(MCPLUG_LOG_WARN, "mcp:a", 5000);
    ck_assert_uint_eq(heard_all, 5000);
    mp_events_remove(&events, &all);
}
END_TEST

START_TEST(names_are_those_of_the_ledger_and_of_the_server)
{
    struct mp_event e = {.source = "mcp:git"};

    ck_assert_str_eq(mp_outcome_name(MP_OK), "ok");
    ck_assert_str_eq(mp_outcome_name(MP_CANCELLED), "cancelled");
    ck_assert_str_eq(mp_event_server(&e), "git");
    e.source = "plugin:stdio";
    ck_assert_ptr_null(mp_event_server(&e));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_event");
    TCase *tc = tcase_create("base_event");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, nothing_is_wanted_while_nobody_listens);
    tcase_add_test(tc, kinds_and_levels_decide_what_is_wanted);
    tcase_add_test(tc, the_log_wants_what_has_a_text_up_to_its_level);
    tcase_add_test(tc, listeners_are_told_in_their_order_and_the_log_first);
    tcase_add_test(tc, a_listener_may_leave_and_be_freed_while_it_is_told);
    tcase_add_test(tc, a_listener_may_remove_the_next_one);
    tcase_add_test(tc, who_comes_while_an_event_is_told_hears_the_next_one);
    tcase_add_test(tc, a_listener_is_not_told_of_what_it_causes_itself);
    tcase_add_test(tc, a_call_has_the_lines_that_people_know);
    tcase_add_test(tc, a_dropped_connection_has_two_lines);
    tcase_add_test(tc, a_line_that_is_cut_says_so);
    tcase_add_test(tc, a_long_log_line_is_cut_and_says_so);
    tcase_add_test(tc, a_flood_of_lines_is_counted_instead);
    tcase_add_test(tc, the_number_of_dropped_lines_is_told);
    tcase_add_test(tc, a_flood_hides_nothing_of_others);
    tcase_add_test(tc, many_sources_do_no_harm);
    tcase_add_test(tc, listeners_hear_all_of_a_flood);
    tcase_add_test(tc, names_are_those_of_the_ledger_and_of_the_server);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
