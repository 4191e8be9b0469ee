/* Warming up: all servers of a toolbox, some at a time. */
#include "box_kit.h"
#include "toolbox/toolbox.h"

#include <signal.h>
#include <sys/wait.h>

static struct {
    char server[32];
    uint64_t ms;
    bool failed;
    char text[512];
} settled[64];
static size_t n_settled;

static void on_settled(void *arg, mcplug_toolbox *b, const char *server, uint64_t ms,
                       const struct mcplug_error *why)
{
    ck_assert_ptr_eq(b, box);
    ck_assert_ptr_eq(arg, settled);
    ck_assert_uint_lt(n_settled, MP_COUNT(settled));
    snprintf(settled[n_settled].server, sizeof settled[0].server, "%s", server);
    snprintf(settled[n_settled].text, sizeof settled[0].text, "%s", why ? why->text : "");
    settled[n_settled].failed = why != NULL;
    settled[n_settled++].ms = ms;
}

static void begin_watched(unsigned batch)
{
    struct mcplug_toolbox_options o = {
        .struct_size = sizeof o, .batch = batch, .arg = settled, .settled = on_settled};
    n_settled = 0;
    begin(&o);
}

/* A server of its own, which needs a while. */
static void put_slow(int i, const char *delay)
{
    char name[16];
    snprintf(name, sizeof name, "s%d", i);
    put_in(name, SCRIPTED("TOOLS", TOOL("t"), "DELAY", delay, "WHO", name), NULL);
}

/* What the book says: how many were on their way at once at most, and how many in all. */
static unsigned most_at_once(unsigned *starts)
{
    int now = 0, most = 0, c;
    FILE *in = fopen(book, "r");

    *starts = 0;
    while (in && (c = getc(in)) != EOF) {
        now += c == '+' ? 1 : c == '-' ? -1 : 0;
        most = now > most ? now : most;
        *starts += c == '+';
    }
    if (in)
        fclose(in);
    return (unsigned)most;
}

/* ---- R8, S8 ---- */

/* _i: the limit; 0: that of the environment, 7: the default */
START_TEST(s8_servers_start_a_batch_at_a_time)
{
    unsigned starts, want = _i == 0 ? 2 : _i == 7 ? 3 : (unsigned)_i;
    if (_i == 0)
        setenv("MCP_SERVER_CONNECTION_BATCH_SIZE", "2", 1);
    begin_watched(_i == 7 ? 0 : (unsigned)_i);
    unsetenv("MCP_SERVER_CONNECTION_BATCH_SIZE");
    for (int i = 0; i < 6; i++)
        put_slow(i, "0.3");
    warm_up();
    ck_assert_uint_eq(most_at_once(&starts), want);
    ck_assert_uint_eq(starts, 6);
    ck_assert_uint_eq(n_settled, 6);
    for (size_t i = 0; i < n_settled; i++) {
        ck_assert(!settled[i].failed);
        ck_assert_uint_ge(settled[i].ms, 280); /* its own time, not that of the others */
        ck_assert_uint_lt(settled[i].ms, 20000);
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(settled[i].server, settled[k].server);
    }
    LOGGED("VRB core 6 of 6 servers are ready (stdio 6)");
    end();
}
END_TEST

START_TEST(a_batch_has_64_servers_at_most)
{
    begin_watched(MCPLUG_BATCH_MAX + 1);
    ck_assert_uint_eq(box->o.batch, MCPLUG_BATCH_MAX);
    end();
}
END_TEST

START_TEST(s8_each_server_is_told_as_soon_as_it_is_ready)
{
    begin_watched(3);
    put_slow(0, "3");
    put_slow(1, "0");
    put_in("e", example(NULL), NULL);
    struct warmed w = {0};
    mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    UNTIL(n_settled == 2);
    ck_assert_uint_eq(w.times, 0);
    ck_assert_uint_ge(mcplug_toolbox_count(box), 15); /* and can be used */
    struct seen s;
    used(&s, "mcp__e__echo", "{\"text\":\"early\"}");
    ck_assert_str_eq(s.result, "early");
    ck_assert_uint_eq(w.times, 0);
    UNTIL(w.times);
    ck_assert_str_eq(settled[2].server, "s0");
    end();
}
END_TEST

/* The second of them is up before its turn comes. */
START_TEST(s8_two_servers_with_the_same_settings_are_both_told)
{
    struct warmed w = {0};
    unsigned starts;
    begin_watched(1);
    put_in("a", SCRIPTED("TOOLS", TOOL("t")), NULL);
    put_in("b", SCRIPTED("TOOLS", TOOL("t")), NULL);
    mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    UNTIL(w.times);
    most_at_once(&starts);
    ck_assert_uint_eq(starts, 1);
    ck_assert_uint_eq(w.ready, 2);
    ck_assert_uint_eq(n_settled, 2);
    ck_assert_str_eq(settled[1].server, "b");
    ck_assert(!settled[1].failed);
    warm_up(); /* and once only */
    ck_assert_uint_eq(n_settled, 2);
    end();
}
END_TEST

START_TEST(s8_a_server_that_fails_stops_nobody)
{
    struct warmed w = {0};
    begin_watched(1);
    put_in("gone", SCRIPTED("FIRST", "echo broken >&2; exit 7"), NULL);
    mcplug_settings *s = mcplug_settings_new("stdio");
    mcplug_settings_set(s, "command", "/nonexistent/server");
    put_in("missing", s, NULL);
    put_in("wrong", mcplug_settings_new("carrier-pigeon"), NULL);
    put_in("e", example(NULL), NULL);
    put_in("f", SCRIPTED("TOOLS", TOOL("t")), NULL);
    mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    UNTIL(w.times);
    ck_assert_uint_eq(w.ready, 2);
    ck_assert_uint_eq(w.failed, 3);
    ck_assert_uint_eq(n_settled, 5);
    ck_assert(settled[0].failed && settled[1].failed && settled[2].failed);
    ck_assert_ptr_nonnull(strstr(settled[0].text, "7"));
    ck_assert_ptr_nonnull(strstr(settled[2].text, "carrier-pigeon"));
    ck_assert(!settled[3].failed && !settled[4].failed);
    LOGGED("WRN mcp:gone not ready after ");
    LOGGED("WRN mcp:missing not ready after ");
    LOGGED("WRN mcp:wrong not ready after ");
    LOGGED("VRB core 2 of 5 servers are ready (stdio 2)");
    end();
}
END_TEST

START_TEST(s8_ready_servers_are_counted_by_transport)
{
    char path[80], where[96];
    begin_watched(0);
    snprintf(path, sizeof path, "%s.socket", book);
    snprintf(where, sizeof where, "unix:%s", path);
    pid_t pid = fork();
    if (pid == 0) {
        char program[4096];
        snprintf(program, sizeof program, "%s/examples/mcplug-example-server",
                 getenv("MCPLUG_BUILD"));
        if (!freopen("/dev/null", "w", stderr))
            _exit(126);
        execl(program, program, "--socket", where, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 500 && access(path, F_OK) != 0; i++)
        usleep(10000);
    mcplug_settings *s = mcplug_settings_new("unix");
    mcplug_settings_set(s, "url", where);
    put_in("u", s, NULL);
    put_in("e", example("modern"), NULL);
    put_in("l", example("legacy"), NULL);
    warm_up();
    LOGGED("VRB core 3 of 3 servers are ready (unix 1, stdio 2)");
    end();
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    unlink(path);
}
END_TEST

START_TEST(r8_warming_up_again_starts_nothing_again)
{
    unsigned starts;
    begin_watched(0);
    for (int i = 0; i < 4; i++)
        put_slow(i, "0");
    warm_up();
    int64_t pid = status_of("s2").pid;
    ck_assert_int_gt(pid, 0);
    for (int i = 0; i < 3; i++)
        warm_up();
    ck_assert_int_eq(status_of("s2").pid, pid);
    most_at_once(&starts);
    ck_assert_uint_eq(starts, 4);
    ck_assert_uint_eq(n_settled, 4);
    put_slow(4, "0"); /* what has come meanwhile is started */
    warm_up();
    most_at_once(&starts);
    ck_assert_uint_eq(starts, 5);
    end();
}
END_TEST

START_TEST(r8_who_asks_meanwhile_waits_for_the_same)
{
    struct warmed all[5] = {{0}};
    unsigned starts;
    begin_watched(2);
    for (int i = 0; i < 4; i++)
        put_slow(i, "0.1");
    for (int i = 0; i < 4; i++)
        mcplug_toolbox_warm_up(box, on_warm, &all[i], NULL);
    UNTIL(n_settled == 2);
    mcplug_toolbox_warm_up(box, on_warm, &all[4], NULL);
    UNTIL(all[0].times);
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(all[i].times, 1);
        ck_assert_uint_eq(all[i].ready, 4);
    }
    ck_assert_uint_eq(most_at_once(&starts), 2);
    ck_assert_uint_eq(starts, 4);
    end();
}
END_TEST

START_TEST(r8_a_failed_server_is_remembered_and_comes_back_by_itself)
{
    struct warmed w = {0};
    char marker[80], first[256];
    begin_watched(0);
    snprintf(marker, sizeof marker, "%s.marker", book);
    snprintf(first, sizeof first, "[ -e %s ] || exit 5", marker);
    put_in("late", SCRIPTED("TOOLS", TOOL("t"), "FIRST", first), NULL);
    mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    UNTIL(w.times);
    ck_assert_uint_eq(w.failed, 1);
    UNTIL(status_of("late").state == MCPLUG_STATE_WAITING);
    w.times = 0; /* at once, while the next attempt is waited for */
    uint64_t before = now_ms();
    mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    UNTIL(w.times);
    ck_assert_uint_lt(now_ms() - before, 900);
    ck_assert_uint_eq(w.failed, 1);
    fclose(fopen(marker, "w"));
    UNTIL(status_of("late").state == MCPLUG_STATE_READY);
    size_t told = n_settled;
    warm_up();
    ck_assert_uint_eq(n_settled, told);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 1);
    unlink(marker);
    end();
}
END_TEST

START_TEST(r8_a_server_that_went_meanwhile_is_started_again)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 50};
    begin_watched(0);
    put_in("s", SCRIPTED("TOOLS", TOOL("t")), &o);
    warm_up();
    UNTIL(status_of("s").state == MCPLUG_STATE_RESTING);
    warm_up();
    ck_assert_uint_eq(status_of("s").starts, 2);
    ck_assert_uint_eq(n_settled, 2);
    end();
}
END_TEST

static unsigned n_stops, n_blamed;

static void on_state(void *arg, mcplug_toolbox *b, const char *server,
                     enum mcplug_state state, const struct mcplug_error *why)
{
    (void)arg, (void)b, (void)server;
    n_stops += state == MCPLUG_STATE_STOPPING;
    n_blamed += state == MCPLUG_STATE_STOPPING && why;
}

/* What went wrong before is no reason of what is done later in good order. */
START_TEST(r8_a_server_that_is_stopped_for_want_of_use_did_not_fail)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .state = on_state};
    struct mcplug_server_options idle = {.struct_size = sizeof idle, .idle_ms = 50};
    struct warmed w = {0};
    char first[256];
    n_stops = n_blamed = 0;
    begin(&o);
    /* a start is tried once more in the other era by itself */
    snprintf(first, sizeof first, "[ $(grep -c + %s) -gt 2 ] || exit 5", book);
    put_in("s", SCRIPTED("TOOLS", TOOL("t"), "FIRST", first), &idle);
    mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    UNTIL(w.times);
    ck_assert_uint_eq(w.failed, 1);
    UNTIL(n_blamed == 1 && status_of("s").state == MCPLUG_STATE_READY);
    UNTIL(status_of("s").state == MCPLUG_STATE_RESTING);
    ck_assert_uint_eq(n_stops, 2);
    ck_assert_uint_eq(n_blamed, 1);
    end();
}
END_TEST

START_TEST(r8_nobody_is_warm_at_once)
{
    struct warmed w = {.ready = 7, .failed = 7};
    begin_watched(0);
    mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    UNTIL(w.times);
    ck_assert_uint_eq(w.ready + w.failed, 0);
    LOGGED("VRB core 0 of 0 servers are ready\n");
    end();
}
END_TEST

/* ---- callbacks that go on ---- */

static unsigned rounds;

static void warm_again(void *arg, mcplug_toolbox *b, size_t ready, size_t failed)
{
    ck_assert_uint_eq(failed, 0);
    ck_assert_uint_ge(ready, 1);
    if (++rounds < 5)
        ck_assert_int_eq(mcplug_toolbox_warm_up(b, warm_again, arg, NULL), MCPLUG_OK);
}

static void add_another(void *arg, mcplug_toolbox *b, const char *server, uint64_t ms,
                        const struct mcplug_error *why)
{
    char name[16];
    (void)arg, (void)b, (void)server, (void)ms;
    ck_assert_ptr_null(why);
    if (n_settled++ < 3) {
        snprintf(name, sizeof name, "more%zu", n_settled);
        put_in(name, SCRIPTED("TOOLS", TOOL("t"), "WHO", name), NULL);
    }
}

START_TEST(callbacks_may_add_servers_and_warm_up_again)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .settled = add_another};
    n_settled = 0;
    rounds = 0;
    begin(&o);
    put_slow(0, "0");
    mcplug_toolbox_warm_up(box, warm_again, NULL, NULL);
    UNTIL(rounds == 5);
    ck_assert_uint_eq(n_settled, 4); /* those that came meanwhile, too */
    ck_assert_uint_eq(mcplug_toolbox_count(box), 4);
    end();
}
END_TEST

/* ---- what a program hears ---- */

static unsigned n_changed, n_remarks, n_logged;
static char remarks[256];

static void on_changed(void *arg, mcplug_toolbox *b)
{
    (void)arg, (void)b;
    n_changed++;
}

static void on_remark(void *arg, mcplug_toolbox *b, const char *server, const char *line,
                      size_t len)
{
    (void)arg, (void)b;
    n_remarks++;
    snprintf(remarks, sizeof remarks, "%s: %.*s", server, (int)len, line);
}

static void on_message(void *arg, mcplug_toolbox *b, const char *server,
                       const char *params, size_t len)
{
    (void)arg, (void)b;
    n_logged += strcmp(server, "e") == 0 && len > 2 && params[0] == '{';
}

START_TEST(a_server_that_comes_back_as_it_was_is_no_change)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .changed = on_changed};
    begin(&o);
    n_changed = 0;
    put_in("s", SCRIPTED("TOOLS", TOOL("t"), "SAYS", "Be kind."), NULL);
    turn_for(50);
    ck_assert_uint_eq(n_changed, 0); /* it has no tools yet */
    warm_up();
    turn_for(50);
    ck_assert_uint_eq(n_changed, 1);
    kill((pid_t)status_of("s").pid, SIGKILL);
    UNTIL(status_of("s").starts == 2 && status_of("s").state == MCPLUG_STATE_READY);
    turn_for(50);
    ck_assert_uint_eq(n_changed, 1);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 1);
    put_in("other", SCRIPTED("TOOLS", TOOL("t")), NULL);
    warm_up();
    turn_for(50);
    ck_assert_uint_eq(n_changed, 2);
    end();
}
END_TEST

START_TEST(what_servers_say_beside_their_answers_is_told)
{
    struct mcplug_toolbox_options o = {
        .struct_size = sizeof o, .remark = on_remark, .logged = on_message};
    struct seen s;
    begin(&o);
    n_remarks = n_logged = 0;
    put_in("s", SCRIPTED("TOOLS", TOOL("t"), "FIRST", "echo 'no API_KEY' >&2"), NULL);
    put_in("e", example("legacy"), NULL);
    warm_up();
    UNTIL(n_remarks);
    ck_assert_str_eq(remarks, "s: no API_KEY");
    used(&s, "mcp__e__log", "{\"level\":\"error\",\"text\":\"hi\"}");
    UNTIL(n_logged);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, s8_servers_start_a_batch_at_a_time, 0, 2);
    tcase_add_loop_test(tc, s8_servers_start_a_batch_at_a_time, 4, 5);
    tcase_add_loop_test(tc, s8_servers_start_a_batch_at_a_time, 7, 8);
    tcase_add_test(tc, a_batch_has_64_servers_at_most);
    tcase_add_test(tc, s8_each_server_is_told_as_soon_as_it_is_ready);
    tcase_add_test(tc, s8_two_servers_with_the_same_settings_are_both_told);
    tcase_add_test(tc, s8_a_server_that_fails_stops_nobody);
    if (offered("unix"))
        tcase_add_test(tc, s8_ready_servers_are_counted_by_transport);
    tcase_add_test(tc, r8_warming_up_again_starts_nothing_again);
    tcase_add_test(tc, r8_who_asks_meanwhile_waits_for_the_same);
    tcase_add_test(tc, r8_a_failed_server_is_remembered_and_comes_back_by_itself);
    tcase_add_test(tc, r8_a_server_that_went_meanwhile_is_started_again);
    tcase_add_test(tc, r8_a_server_that_is_stopped_for_want_of_use_did_not_fail);
    tcase_add_test(tc, r8_nobody_is_warm_at_once);
    tcase_add_test(tc, callbacks_may_add_servers_and_warm_up_again);
    tcase_add_test(tc, a_server_that_comes_back_as_it_was_is_no_change);
    tcase_add_test(tc, what_servers_say_beside_their_answers_is_told);
}

int main(void)
{
    return run_suite("toolbox_warm", add);
}
