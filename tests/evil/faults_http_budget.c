/* What a peer makes us send: it opens a bounded number of connections, whatever the peer
 * does with them, and the calls to other servers notice nothing. */
#include "faults_http.h"

#include <sys/resource.h>

enum { SOME = 48 }; /* descriptors: those of a host, 16 for answers, a few requests */

/* A server of the same host as the peer's, and a call to it. */
struct beside {
    mcplug_settings *settings;
    mcplug_server *server;
    mcplug_call *call;
    double since, ms;
    unsigned ended;
    int code;
};

static void open_beside(struct peer *p, struct beside *b, const char *where)
{
    char url[256];
    struct mcplug_server_options once = {.struct_size = sizeof once, .once = 1};

    *b = (struct beside){.settings = mcplug_settings_new(NULL)};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", web_start()->port, where);
    mcplug_settings_set(b->settings, "url", url);
    ck_assert_msg(mcplug_open_wait(p->host, b->settings, &once, &b->server, &p->err) == 0,
                  "%s", p->err.text);
}

static void close_beside(struct beside *b)
{
    mcplug_close_wait(b->server);
    mcplug_settings_free(b->settings);
}

static void on_beside(void *arg, mcplug_call *call, mcplug_result *result,
                      const struct mcplug_error *why)
{
    struct beside *b = arg;

    (void)call, (void)result;
    b->ended++;
    b->ms = now_ms() - b->since;
    b->code = why ? why->code : 0;
}

static void call_beside(struct peer *p, struct beside *b, const char *tool, unsigned ms)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = ms};

    b->ended = 0;
    b->since = now_ms();
    b->call = mcplug_call_tool(b->server, tool, NULL, &o, on_beside, b, &p->err);
    ck_assert_msg(b->call, "%s", p->err.text);
}

/* Runs until it has ended; the most descriptors that were open meanwhile. */
static unsigned run_beside(struct peer *p, const struct beside *b, unsigned ms)
{
    unsigned most = 0;

    for (double since = now_ms(); !b->ended;) {
        ck_assert_msg(now_ms() - since < ms, "not within %u ms", ms);
        peer_run(p, 1);
        most = open_fds() > most ? open_fds() : most;
    }
    return most;
}

/* ---- answers ---- */

static const char *const floods[][2] = {
    {NULL, "ping-flood?legacy"},      /* takes the answers */
    {NULL, "ping-flood?legacy&deaf"}, /* takes them, and says nothing */
    {"sse", "sse-ping-flood"},        /* likewise */
};

START_TEST(answers_to_a_flood_of_pings_have_a_few_connections)
{
    struct peer *p = web_new(floods[_i][0], floods[_i][1]);
    struct beside b;

    ck_assert_msg(peer_open(p) == 0, "%s", p->why.text);
    open_beside(p, &b, "silence?legacy");
    long kb = peak_kb();
    fire(p, "bad", 1, 1500);
    call_beside(p, &b, "bad", 1000);
    unsigned most = run_beside(p, &b, 1000 + bound_ms());
    ck_assert_uint_le(most, p->n_fds + SOME);
    ck_assert_int_eq(b.code, MCPLUG_ETIMEDOUT);
    ck_assert_double_ge(b.ms, 999);
    ck_assert_double_lt(b.ms, 1000 + bound_ms());
    peer_until(p, all_ended, 1500 + bound_ms());
    check_growth(kb, 16);
    ck_assert_uint_le(p->n_bad, 16);
    if (_i > 0) {
        ck_assert_uint_ge(logged(p, MCPLUG_LOG_WARN, "dropped "), 1);
        ck_assert_uint_le(logged(p, MCPLUG_LOG_WARN, "dropped "), 2);
    }
    call_beside(p, &b, "good", 0);
    run_beside(p, &b, bound_ms());
    ck_assert_int_eq(b.code, 0);
    close_beside(&b);
    web_end(p);
}
END_TEST

/* ---- cancellations ---- */

static const char *const hung[][2] = {
    {NULL, "silence?legacy&deaf"},
    {"sse", "sse-post-deaf"},
};

START_TEST(time_outs_of_a_hung_server_leave_few_connections)
{
    struct peer *p = web_new(hung[_i][0], hung[_i][1]);

    ck_assert_msg(peer_open(p) == 0, "%s", p->why.text);
    long kb = peak_kb();
    for (unsigned round = 0; round < 4; round++) {
        struct shot *s = fire(p, "bad", 120, 200);
        peer_until(p, all_ended, 200 + bound_ms());
        for (unsigned i = 0; i < 120; i++)
            check_call(hung[_i][1], &s[i], MCPLUG_ETIMEDOUT, 0, "timed out after 200ms");
        ck_assert_uint_le(open_fds(), p->n_fds + SOME);
    }
    ck_assert_uint_ge(web_stat("cancels"), 16);
    check_growth(kb, 24);
    check_good(p);
    web_end(p);
}
END_TEST

/* ---- all servers of a host ---- */

START_TEST(hung_servers_leave_connections_to_the_others)
{
    enum { HUNG = 4, CALLS = 100, SHARE = 64, RESERVED = 8 };
    struct rlimit files;
    struct beside b[HUNG], good;
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 1000};
    static struct beside calls[HUNG][CALLS];

    web_start();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = 4 * SHARE;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    struct peer *p = web_up("ok");
    open_beside(p, &good, "ok?n=1");
    for (unsigned i = 0; i < HUNG; i++) {
        char where[32];
        snprintf(where, sizeof where, "silence?n=%u", i); /* not one server four times */
        open_beside(p, &b[i], where);
    }
    for (unsigned i = 0; i < HUNG; i++)
        for (unsigned k = 0; k < CALLS; k++) {
            calls[i][k].since = now_ms();
            ck_assert_ptr_nonnull(mcplug_call_tool(b[i].server, "bad", NULL, &o,
                                                   on_beside, &calls[i][k], &p->err));
        }
    peer_run(p, 50);
    call_beside(p, &good, "good", 0);
    unsigned most = run_beside(p, &good, bound_ms());
    ck_assert_int_eq(good.code, 0);
    peer_run(p, 50);
    most = open_fds() > most ? open_fds() : most;
    ck_assert_uint_le(most, p->n_fds + SHARE + (HUNG + 2) * RESERVED + 24);
    for (unsigned i = 0; i < HUNG; i++)
        for (unsigned k = 0; k < CALLS; k++) {
            run_beside(p, &calls[i][k], 1000 + bound_ms());
            ck_assert_int_eq(calls[i][k].code, MCPLUG_ETIMEDOUT);
            ck_assert_uint_eq(calls[i][k].ended, 1);
        }
    for (unsigned i = 0; i < HUNG; i++) /* whose calls can be made again */
        call_beside(p, &b[i], "good", 0);
    for (unsigned i = 0; i < HUNG; i++) {
        run_beside(p, &b[i], bound_ms());
        ck_assert_int_eq(b[i].code, 0);
        close_beside(&b[i]);
    }
    close_beside(&good);
    web_end(p);
}
END_TEST

START_TEST(calls_beyond_the_share_of_a_host_are_all_made)
{
    enum { SERVERS = 4, CALLS = 100 };
    struct rlimit files;
    struct beside b[SERVERS];
    static struct beside calls[SERVERS][CALLS];

    web_start();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = 256;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    struct peer *p = web_up("ok");
    for (unsigned i = 0; i < SERVERS; i++) {
        char where[32];
        snprintf(where, sizeof where, "slow?n=20&s=%u", i); /* slow enough to meet */
        open_beside(p, &b[i], where);
    }
    for (unsigned i = 0; i < SERVERS; i++)
        for (unsigned k = 0; k < CALLS; k++)
            ck_assert_ptr_nonnull(mcplug_call_tool(b[i].server, "bad", NULL, NULL,
                                                   on_beside, &calls[i][k], &p->err));
    unsigned most = 0;
    for (unsigned i = 0; i < SERVERS; i++)
        for (unsigned k = 0; k < CALLS; k++) {
            unsigned n = run_beside(p, &calls[i][k], 10 * bound_ms());
            most = n > most ? n : most;
            ck_assert_int_eq(calls[i][k].code, 0);
        }
    ck_assert_uint_le(most, p->n_fds + 2 * 64 + (SERVERS + 1) * 8 + 24);
    for (unsigned i = 0; i < SERVERS; i++)
        close_beside(&b[i]);
    web_end(p);
}
END_TEST

void add_http_budget_tests(Suite *suite)
{
    TCase *t = tcase_create("http budget");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, answers_to_a_flood_of_pings_have_a_few_connections, 0,
                        sizeof floods / sizeof *floods);
    tcase_add_loop_test(t, time_outs_of_a_hung_server_leave_few_connections, 0,
                        sizeof hung / sizeof *hung);
    tcase_add_test(t, hung_servers_leave_connections_to_the_others);
    tcase_add_test(t, calls_beyond_the_share_of_a_host_are_all_made);
    suite_add_tcase(suite, t);
}
