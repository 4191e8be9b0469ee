/* Many calls at once, and many one after the other. */
#include "faults_http.h"

#include <stdlib.h>
#include <sys/resource.h>

struct tally {
    struct peer *p;
    unsigned begun, ended, ok, wanted, width;
    char text[496]; /* of the first failure */
};

static void tally_done(void *arg, mcplug_call *call, mcplug_result *result,
                       const struct mcplug_error *why)
{
    struct tally *t = arg;

    (void)call;
    t->ended++;
    t->ok += result && !why;
    if (why && !t->text[0])
        snprintf(t->text, sizeof t->text, "%s", why->text);
}

static void begin(struct tally *t, const char *tool)
{
    mcplug_call *call =
        mcplug_call_tool(t->p->server, tool, NULL, NULL, tally_done, t, &t->p->err);

    ck_assert_msg(call != NULL, "call %u: %s", t->begun, t->p->err.text);
    t->begun++;
}

START_TEST(a_thousand_calls_are_under_way_at_once)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    struct peer *p = web_up(_i == 0   ? "slow?n=300"
                            : _i == 1 ? "slow?n=300&sse"
                                      : "slow?n=300&legacy");
    struct tally t = {.p = p};
    double since = now_ms();

    while (t.begun < 1000)
        begin(&t, "bad");
    ck_assert_uint_ge(books(p).under_way, 1000);
    while (t.ended < 1000 && now_ms() - since < 30000)
        peer_run(p, 5);
    ck_assert_msg(t.ok == 1000, "%u of 1000 ended well; %s", t.ok, t.text);
    check_good(p);
    ck_assert_uint_eq(web_stat("bad"), 1000);
    check_memory(p, 120);
    web_end(p);
}
END_TEST

START_TEST(a_thousand_calls_end_when_the_peer_goes)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    struct peer *p = web_up("silence");
    struct tally t = {.p = p};

    while (t.begun < 1000)
        begin(&t, "bad");
    peer_run(p, 300);
    double since = now_ms();
    web_stop();
    while (t.ended < 1000 && now_ms() - since < 30000)
        peer_run(p, 5);
    ck_assert_uint_eq(t.ended, 1000);
    ck_assert_uint_eq(t.ok, 0);
    ck_assert(now_ms() - since < 2 * bound_ms());
    web_end(p);
}
END_TEST

static void run_to(struct tally *t, unsigned n)
{
    double since = now_ms();

    while (t->ended < n) {
        while (t->begun < n && t->begun - t->ended < t->width)
            begin(t, "good");
        mcplug_turn(t->p->host, 1);
        ck_assert_msg(now_ms() - since < 100000, "%u of %u calls", t->ended, n);
    }
}

START_TEST(many_calls_leave_neither_memory_nor_descriptors_behind)
{
    unsigned total = long_run() ? 100000 : 20000;
    struct peer *p = web_up(_i == 0 ? "ok" : _i == 1 ? "ok?sse" : "ok?legacy");
    struct tally t = {.p = p, .width = 16};

    run_to(&t, total / 10);
    long kb = peak_kb();
    unsigned fds = open_fds();
    run_to(&t, total);
    ck_assert_msg(t.ok == total, "%u of %u ended well; %s", t.ok, total, t.text);
    ck_assert_uint_le(open_fds(), fds + 20); /* streams end a little later than calls */
    check_growth(kb, 4);
    ck_assert_uint_le(web_stat("connections"), 64); /* they are used again */
    ck_assert_uint_eq(web_stat("good"), total);
    web_end(p);
}
END_TEST

START_TEST(many_failures_leave_neither_memory_nor_descriptors_behind)
{
    static const char *const modes[] = {"reset-in-body", "500", "huge-headers",
                                        "fin-before-status"};
    unsigned total = long_run() ? 20000 : 2000;
    struct peer *p = web_up(modes[_i]);
    struct tally t = {.p = p};
    long kb = 0;
    unsigned fds = 0;

    for (unsigned round = 0; t.ended < total; round++) {
        for (unsigned i = 0; i < 20; i++)
            begin(&t, "bad");
        for (double since = now_ms(); t.ended < t.begun;) {
            mcplug_turn(p->host, 1);
            ck_assert(now_ms() - since < bound_ms());
        }
        if (round == total / 200) {
            kb = peak_kb();
            fds = open_fds();
        }
    }
    ck_assert_uint_eq(t.ok, 0);
    ck_assert_uint_le(open_fds(), fds + 4);
    check_growth(kb, 4);
    check_good(p);
    web_end(p);
}
END_TEST

/* ---- few at a time ---- */

static struct peer *web_narrow(const char *where, const char *connections)
{
    struct peer *p = web_new(NULL, where);

    mcplug_settings_set(p->settings, "connections", connections);
    ck_assert_msg(peer_open(p) == 0, "%s: %s", where, p->why.text);
    return p;
}

/* A connection that is kept has been waited for in one way, and now is in another. */
START_TEST(long_requests_reach_a_server_that_reads_slowly)
{
    enum { LONG = 8 * 1024 * 1024 };
    struct peer *p = web_narrow(_i ? "slow-reader?legacy" : "slow-reader", "1");
    struct tally t = {.p = p};
    char *arguments = malloc(LONG + 16);

    ck_assert_ptr_nonnull(arguments);
    memset(arguments, 'a', LONG);
    memcpy(arguments, "{\"a\":\"", 6);
    strcpy(arguments + LONG - 2, "\"}");
    while (t.begun < 3) {
        double since = now_ms();
        ck_assert_ptr_nonnull(
            mcplug_call_tool(p->server, "bad", arguments, NULL, tally_done, &t, &p->err));
        t.begun++;
        while (t.ended < t.begun) {
            peer_run(p, 5);
            ck_assert_msg(now_ms() - since < 3000 + bound_ms(), "call %u", t.begun);
        }
        ck_assert_msg(t.ok == t.begun, "call %u: %s", t.begun, t.text);
    }
    free(arguments);
    check_good(p);
    web_end(p);
}
END_TEST

START_TEST(a_stream_for_what_changes_takes_no_place_of_calls)
{
    struct peer *p = web_narrow("ok", "1");

    for (double since = now_ms(); web_stat("listens") == 0; peer_run(p, 5))
        ck_assert(now_ms() - since < bound_ms());
    check_good(p);
    struct shot *s = shoot(p, "bad", 10, bound_ms());
    for (unsigned i = 0; i < 10; i++)
        check_call("ok", &s[i], 0, 0, "fine");
    ck_assert_uint_eq(web_stat("listens"), 1);
    web_end(p);
}
END_TEST

START_TEST(streams_that_stay_open_take_no_place_of_calls)
{
    struct peer *p = web_narrow(_i ? "never-closes?legacy" : "never-closes", "8");
    struct shot *s = shoot(p, "bad", 64, 1000 + bound_ms());

    for (unsigned i = 0; i < 64; i++)
        check_call("never-closes", &s[i], 0, 0, "fine");
    web_end(p);
}
END_TEST

/* ---- many that wait ---- */

enum { QUEUED = 20000 };

struct waiting {
    mcplug_call *call;
    unsigned ended;
};
static unsigned n_ended;

static void count_end(void *arg, mcplug_call *call, mcplug_result *result,
                      const struct mcplug_error *why)
{
    struct waiting *w = arg;

    (void)call;
    ck_assert(!result && why && why->code == MCPLUG_ECANCELED);
    w->ended++;
    n_ended++;
}

static struct waiting *let_wait(struct peer *p)
{
    struct waiting *all = calloc(QUEUED, sizeof *all);

    ck_assert_ptr_nonnull(all);
    for (unsigned i = 0; i < QUEUED; i++) {
        all[i].call =
            mcplug_call_tool(p->server, "bad", NULL, NULL, count_end, &all[i], &p->err);
        ck_assert_msg(all[i].call != NULL, "call %u: %s", i, p->err.text);
    }
    while (web_stat("bad") < 4)
        peer_run(p, 5);
    return all;
}

/* A small part of what it would take to look for each among the others. */
static void check_waiting(struct waiting *all, double before)
{
    double ms = work_ms() - before;

    ck_assert_msg(ms < work_bound_ms() / 4, "%.0f ms of work", ms);
    for (unsigned i = 0; i < QUEUED; i++)
        ck_assert_msg(all[i].ended == 1, "call %u ended %u times", i, all[i].ended);
    free(all);
}

START_TEST(a_server_is_closed_with_many_calls_that_wait)
{
    struct peer *p = web_narrow(_i ? "silence?legacy" : "silence", "4");
    struct waiting *all = let_wait(p);
    double before = work_ms();

    mcplug_close_wait(p->server);
    p->server = NULL;
    p->ready = 0;
    check_waiting(all, before);
    ck_assert_uint_eq(web_stat("bad"), 4);
    web_end(p);
}
END_TEST

START_TEST(many_calls_that_wait_are_cancelled)
{
    struct peer *p = web_narrow(_i ? "silence?legacy" : "silence", "4");
    struct waiting *all = let_wait(p);
    double since = now_ms(), before = work_ms();

    for (unsigned i = QUEUED; i-- > 0;) /* those under way come last */
        mcplug_cancel(all[i].call);
    while (n_ended < QUEUED && now_ms() - since < 30000)
        peer_run(p, 1);
    check_waiting(all, before);
    check_good(p);
    ck_assert_uint_eq(web_stat("bad"), 4);
    while (_i && web_stat("cancels") < 4 && now_ms() - since < 10000)
        peer_run(p, 5);
    ck_assert_uint_eq(web_stat("cancels"), _i ? 4 : 0); /* of what had left */
    web_end(p);
}
END_TEST

void add_http_load_tests(Suite *suite)
{
    TCase *t = tcase_create("http load");

    tcase_set_timeout(t, 200);
    tcase_add_loop_test(t, a_thousand_calls_are_under_way_at_once, 0, 3);
    tcase_add_test(t, a_thousand_calls_end_when_the_peer_goes);
    tcase_add_loop_test(t, many_calls_leave_neither_memory_nor_descriptors_behind, 0, 3);
    tcase_add_loop_test(t, many_failures_leave_neither_memory_nor_descriptors_behind, 0,
                        4);
    tcase_add_loop_test(t, long_requests_reach_a_server_that_reads_slowly, 0, 2);
    tcase_add_test(t, a_stream_for_what_changes_takes_no_place_of_calls);
    tcase_add_loop_test(t, streams_that_stay_open_take_no_place_of_calls, 0, 2);
    tcase_add_loop_test(t, a_server_is_closed_with_many_calls_that_wait, 0, 2);
    tcase_add_loop_test(t, many_calls_that_wait_are_cancelled, 0, 2);
    suite_add_tcase(suite, t);
}
