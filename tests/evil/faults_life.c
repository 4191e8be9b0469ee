/* Servers that go, will not go, or never answer. */
#include "faults.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define GONE "Process not found - stdio server process terminated"
#define PIPE "Broken pipe - server closed connection unexpectedly"

/* ---- gone with calls under way ---- */

static const struct {
    const char *mode, *text, *detail;
    int status;
} deaths[] = {
    {"exit-on-call 0", GONE, "server exited with status 0", 0},
    {"exit-on-call 3", GONE, "server exited with status 3", 3},
    {"die-on-call 9", GONE, "server was killed by signal 9 (Killed)", 137},
    {"half-a-message 1", GONE, "server exited with status 1", 1},
    {"kin-on-call 4", GONE, "server exited with status 0", 0},
    {"close-stdout", PIPE, "server closed its stdout but is still running", 0},
};
enum { DEATHS = sizeof deaths / sizeof *deaths };

static void check_death(int i, unsigned times)
{
    struct peer *p = peer_up(deaths[i].mode);
    struct shot *s = shoot(p, "bad", times, bound_ms() + 1500);
    char kin[32];

    for (unsigned k = 0; k < times; k++) {
        ck_assert_msg(s[k].code == MCPLUG_ECLOSED, "%s: %d, \"%s\"", deaths[i].mode,
                      s[k].code, s[k].text);
        ck_assert_msg(strstr(s[k].text, deaths[i].text), "%s", s[k].text);
        ck_assert_msg(strstr(s[k].text, deaths[i].detail), "%s", s[k].text);
        ck_assert_msg(strstr(s[k].text, "(the request had already been sent)"), "%s",
                      s[k].text);
    }
    check_dropped(p, deaths[i].text);
    ck_assert_msg(strstr(p->why.text, deaths[i].detail), "%s", p->why.text);
    if (strcmp(deaths[i].mode, "close-stdout") != 0)
        ck_assert_int_eq(p->why.peer_status, deaths[i].status);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_ERROR, "dropped after 0s uptime") +
                          logged(p, MCPLUG_LOG_ERROR, "dropped after 1s uptime"),
                      1);
    ck_assert_uint_ge(books(p).transport_error, times);
    peer_run(p, 100);
    ck_assert_uint_eq(p->dropped, 1);
    snprintf(kin, sizeof kin, "kin%d", (int)getpid());
    ck_assert_uint_eq(alive(kin), 0);
    peer_end(p);
}

START_TEST(a_server_that_goes_takes_its_call_with_it)
{
    check_death(_i, 1);
}
END_TEST

START_TEST(a_server_that_goes_takes_a_hundred_calls_with_it)
{
    check_death(_i, 100);
}
END_TEST

START_TEST(a_server_killed_from_outside_is_reported_at_once)
{
    struct peer *p = peer_up("mute");
    struct shot *s = fire(p, "bad", 100, 0);
    peer_run(p, 20);
    double since = now_ms();
    kill(atoi(mcplug_server_fact(p->server, "pid")), SIGKILL);
    peer_until(p, all_ended, bound_ms());
    ck_assert(now_ms() - since < bound_ms());
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_ECLOSED);
    check_dropped(p, GONE);
    peer_end(p);
}
END_TEST

START_TEST(an_idle_server_that_goes_is_dropped_too)
{
    struct peer *p = peer_up("plain");
    kill(atoi(mcplug_server_fact(p->server, "pid")), SIGSEGV);
    check_dropped(p, GONE);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_ERROR, "STDIO connection dropped after 0s"),
                      1);
    peer_end(p);
}
END_TEST

START_TEST(the_last_answer_counts_even_without_a_line_end)
{
    struct peer *p = peer_up("last-line-open 0");
    ck_assert_int_eq(shoot(p, "bad", 1, bound_ms())->code, 0);
    check_dropped(p, GONE);
    peer_end(p);
}
END_TEST

/* The pipe has a reader of ours (no SIGPIPE), so this shows as a peer that is slow. */
START_TEST(a_server_that_closes_its_stdin_lets_calls_run_out_of_time)
{
    struct peer *p = peer_up("close-stdin");
    ck_assert_int_eq(shoot(p, "bad", 1, bound_ms())->code, 0);
    struct shot *s = fire(p, "good", 100, 200);
    peer_until(p, all_ended, 200 + bound_ms());
    for (unsigned i = 0; i < 100; i++)
        ck_assert(s[i].code == MCPLUG_ETIMEDOUT || s[i].code == MCPLUG_ECLOSED);
    peer_end(p);
}
END_TEST

/* ---- servers that stay ---- */

START_TEST(a_server_that_ignores_everything_is_killed)
{
    struct peer *p = peer_up("stubborn");
    fire(p, "bad", 100, 0);
    peer_run(p, 20);
    double since = now_ms();
    mcplug_close_wait(p->server);
    p->server = NULL;
    p->ready = 0;
    ck_assert(now_ms() - since >= 390); /* it had its chance, twice 200 ms */
    ck_assert(now_ms() - since < 400 + bound_ms());
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(p->shots[i].code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(p->dropped, 0);
    ck_assert_uint_eq(p->n_bad, 0);
    peer_end(p);
}
END_TEST

START_TEST(fifty_grandchildren_with_the_pipes_in_hand_go_with_their_server)
{
    struct peer *p = peer_up("kin 50");
    char kin[32];

    snprintf(kin, sizeof kin, "kin%d", (int)getpid());
    check_good(p);
    double since = now_ms();
    while (alive(kin) < 50)
        ck_assert(now_ms() - since < bound_ms());
    since = now_ms();
    mcplug_close_wait(p->server);
    p->server = NULL;
    p->ready = 0;
    ck_assert(now_ms() - since < 400 + bound_ms());
    ck_assert_uint_eq(alive(kin), 0);
    peer_end(p);
}
END_TEST

/* ---- no answer ---- */

START_TEST(a_call_without_an_answer_runs_out_of_time)
{
    struct peer *p = peer_up("mute");
    struct shot *s = fire(p, "bad", 100, 200);
    peer_until(p, all_ended, 200 + bound_ms());
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(s[i].code, MCPLUG_ETIMEDOUT);
        ck_assert_str_eq(s[i].text, "MCP tool call 'bad' timed out after 200ms");
        ck_assert(s[i].ms > 195);
    }
    ck_assert_uint_eq(books(p).timed_out, 100);
    check_good(p);
    s = fire(p, "bad", 1, 1000);
    peer_until(p, all_ended, 1000 + bound_ms());
    ck_assert_str_eq(s->text, "MCP tool call 'bad' timed out after 1s");
    peer_end(p);
}
END_TEST

START_TEST(an_answer_after_the_time_is_dropped_and_counted)
{
    struct peer *p = peer_up("late");
    struct shot *s = fire(p, "bad", 100, 100);
    peer_until(p, all_ended, 100 + bound_ms());
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_ETIMEDOUT);
    check_good(p);
    ck_assert_uint_eq(books(p).late, 100);
    peer_end(p);
}
END_TEST

START_TEST(a_cancelled_call_is_no_failure_to_anybody)
{
    struct peer *p = peer_up("late");
    struct shot *s = fire(p, "bad", 100, 0);
    peer_run(p, 10);
    double since = now_ms();
    for (unsigned i = 0; i < 100; i++) {
        mcplug_cancel(s[i].call);
        mcplug_cancel(s[i].call); /* twice is once */
        ck_assert_uint_eq(s[i].ended, 0);
    }
    peer_until(p, all_ended, bound_ms());
    ck_assert(now_ms() - since < bound_ms());
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_ECANCELED);
    check_good(p);
    ck_assert_uint_eq(books(p).cancelled, 100);
    ck_assert_uint_eq(books(p).late, 100);
    ck_assert_uint_eq(p->n_bad, 0); /* not a line of ERR or WRN */
    peer_end(p);
}
END_TEST

START_TEST(calls_under_way_are_cancelled_with_their_server_without_a_word)
{
    struct peer *p = peer_up("mute");
    fire(p, "bad", 100, 0);
    mcplug_close_wait(p->server);
    p->server = NULL;
    p->ready = 0;
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(p->shots[i].code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(p->n_bad, 0);
    ck_assert_uint_eq(p->dropped, 0);
    peer_end(p);
}
END_TEST

START_TEST(the_host_may_be_freed_with_everything_under_way)
{
    struct peer *p = peer_up("mute");
    fire(p, "bad", 100, 0);
    p->server = NULL; /* peer_end frees the host alone */
    p->ready = 0;
    peer_end(p);
}
END_TEST

/* ---- lists ---- */

static mcplug_list *list_of(struct peer *p, int code, const char *text)
{
    mcplug_list *list = NULL;
    int r = mcplug_get_list_wait(p->server, MCPLUG_TOOLS, NULL, &list, &p->err);

    ck_assert_msg(r == code, "%d: %s", r, p->err.text);
    if (code)
        ck_assert_msg(strstr(p->err.text, text), "%s", p->err.text);
    else if (text[0])
        ck_assert_uint_eq(logged(p, MCPLUG_LOG_WARN, text), 1);
    return list;
}

static void check_list(const char *mode, size_t count, const char *text)
{
    struct peer *p = peer_up(mode);
    mcplug_list *list = list_of(p, 0, text);

    ck_assert_uint_eq(mcplug_list_count(list), count);
    mcplug_list_unref(list);
    check_good(p);
    check_memory(p, 8);
    peer_end(p);
}

START_TEST(a_list_without_end_ends_early)
{
    check_list("endless-pages", 64, "tools/list ended early: more than 64 pages");
    check_list("same-cursor", 2, "tools/list ended early: the server repeats a cursor");
    check_list("empty-cursor", 2, "tools/list ended early: the server repeats a cursor");
    check_list("nameless-tools", 1, "tools/list: 5 items without a name left out");
}
END_TEST

START_TEST(a_list_that_is_none_is_an_error_with_the_name_of_the_list)
{
    struct peer *p = peer_up("wrong-list");
    list_of(p, MCPLUG_EPROTO, "tools/list: the result has no array \"tools\"");
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(a_server_that_goes_in_a_list_ends_the_list)
{
    struct peer *p = peer_up("exit-on-list");
    list_of(p, MCPLUG_ECLOSED, GONE);
    check_dropped(p, GONE);
    peer_end(p);
}
END_TEST

/* ---- again and again ---- */

START_TEST(a_hundred_starts_leave_nothing_behind)
{
    struct peer *p = peer_new("plain");
    long before = 0;

    for (unsigned i = 0; i < 100; i++) {
        p->ready = 0;
        ck_assert_int_eq(peer_open(p), 0);
        check_good(p);
        mcplug_result_unref(p->shots[--p->n_shots].result);
        p->shots[p->n_shots] = (struct shot){0};
        mcplug_close_wait(p->server);
        p->server = NULL;
        if (i == 10)
            before = (long)sbrk(0);
    }
    ck_assert_int_le((long)sbrk(0) - before, 256 * 1024);
    ck_assert_uint_eq(p->n_bad, 0);
    p->ready = 0;
    peer_end(p);
}
END_TEST

/* ---- what runs when they have gone ---- */

static void add_clean_up(struct peer *p, const char *program, const char *script,
                         const char *path)
{
    mcplug_settings_add(p->settings, "cleanUp", program);
    if (script) {
        mcplug_settings_add(p->settings, "cleanUp", "-c");
        mcplug_settings_add(p->settings, "cleanUp", script);
        mcplug_settings_add(p->settings, "cleanUp", path);
    }
}

static void kill_it(struct peer *p)
{
    kill(atoi(mcplug_server_fact(p->server, "pid")), SIGKILL);
    peer_until(p, was_dropped, bound_ms());
}

static const struct {
    const char *mode;
    void (*end)(struct peer *p); /* NULL: it is closed */
} ends[] = {{"plain", NULL}, {"stubborn", NULL}, {"plain", kill_it}};
enum { ENDS = sizeof ends / sizeof *ends };

/* One line for each run, with a variable of the server's. */
START_TEST(a_clean_up_runs_once_when_its_server_has_gone)
{
    char path[] = "/tmp/mcplug-evil-clean-XXXXXX", want[32], got[64] = "";

    close(mkstemp(path));
    struct peer *p = peer_new(ends[_i].mode);
    snprintf(want, sizeof want, "kin%d\n", (int)getpid());
    add_clean_up(p, "/bin/sh", "echo \"$EVIL_KIN\" >>\"$0\"", path);
    ck_assert_int_eq(peer_open(p), 0);
    check_good(p);
    if (ends[_i].end)
        ends[_i].end(p);
    peer_end(p);
    for (double since = now_ms(); !got[0] && now_ms() - since < 10000; usleep(1000)) {
        FILE *f = fopen(path, "r");
        got[fread(got, 1, sizeof got - 1, f)] = '\0';
        fclose(f);
    }
    ck_assert_str_eq(got, want);
    unlink(path);
}
END_TEST

/* Its time is not that of who closes the server, frees the host or starts it again. */
START_TEST(nobody_waits_for_a_clean_up)
{
    struct peer *p = peer_new("plain");
    double since = now_ms();

    add_clean_up(p, "/bin/sh", "exec sleep 9", "");
    for (int i = 0; i < 3; i++) {
        p->ready = 0;
        ck_assert_int_eq(peer_open(p), 0);
        check_good(p);
        mcplug_close_wait(p->server);
        p->server = NULL;
    }
    p->ready = 0;
    peer_end(p);
    ck_assert(now_ms() - since < 3 * bound_ms());
}
END_TEST

static char last_words[512];

static void on_last_words(void *arg, mcplug_server *server, const char *line, size_t len)
{
    (void)arg, (void)server;
    snprintf(last_words, sizeof last_words, "%.*s", (int)len, line);
}

START_TEST(a_clean_up_that_cannot_be_run_is_a_remark)
{
    struct peer *p = peer_new("plain");

    add_clean_up(p, "/no/such/clean-up", NULL, NULL);
    p->o.remark = on_last_words;
    ck_assert_int_eq(peer_open(p), 0);
    check_good(p);
    kill_it(p);
    check_dropped(p, GONE);
    ck_assert_str_eq(last_words, "cannot run the clean-up command "
                                 "\"/no/such/clean-up\": No such file or directory");
    peer_end(p);
}
END_TEST

START_TEST(a_clean_up_without_a_program_is_refused)
{
    struct peer *p = peer_new("plain");

    add_clean_up(p, "", NULL, NULL);
    ck_assert_int_eq(peer_open(p), MCPLUG_ECONFIG);
    ck_assert_msg(strstr(p->why.text, "cleanUp begins with an empty word"), "%s",
                  p->why.text);
    peer_end(p);
}
END_TEST

/* ---- lines of stderr without an end ---- */

static char said[16384]; /* "<line>", while the connecting went on */

static void on_words(void *arg, mcplug_server *server, const char *line, size_t len)
{
    const struct peer *p = arg;
    size_t n = strlen(said);

    (void)server;
    if (p->ready == 0)
        snprintf(said + n, sizeof said - n, "<%.*s>", (int)len, line);
}

/* What a server says on stderr before the time to connect is over: this script. */
static void hear(const char *script)
{
    struct peer *p = peer_new("");

    said[0] = '\0';
    mcplug_settings_set(p->settings, "command", "/bin/sh");
    mcplug_settings_add(p->settings, "args", "-c");
    mcplug_settings_add(p->settings, "args", script);
    p->o.remark = on_words;
    p->o.timeout_ms = 3000;
    ck_assert_int_eq(peer_open(p), MCPLUG_ETIMEDOUT);
    peer_end(p);
}

START_TEST(a_prompt_without_a_line_end_is_heard_before_the_time_is_over)
{
    hear("printf 'hello\\nPassword: ' >&2; exec sleep 20");
    ck_assert_str_eq(said, "<hello><Password: >");
    hear("printf 'Name: ' >&2; sleep 1.3; printf 'none\\nend\\n' >&2; exec sleep 20");
    ck_assert_str_eq(said, "<Name: ><none><end>");
    hear("printf one >&2; sleep 0.1; printf ' line\\n' >&2; exec sleep 20");
    ck_assert_str_eq(said, "<one line>");
}
END_TEST

START_TEST(of_a_line_without_an_end_four_kilobytes_are_heard_once)
{
    hear("head -c 300000 /dev/zero | tr '\\0' x >&2; sleep 1.3; "
         "printf 'x\\nend\\n' >&2; exec sleep 20");
    ck_assert_uint_eq(strlen(said), 2 + 4096 + 5);
    ck_assert_uint_eq(strspn(said + 1, "x"), 4096);
    ck_assert_str_eq(said + 1 + 4096, "><end>");
}
END_TEST

void add_life_tests(Suite *suite)
{
    TCase *t = tcase_create("life");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_server_that_goes_takes_its_call_with_it, 0, DEATHS);
    tcase_add_loop_test(t, a_server_that_goes_takes_a_hundred_calls_with_it, 0, DEATHS);
    tcase_add_test(t, a_server_killed_from_outside_is_reported_at_once);
    tcase_add_test(t, an_idle_server_that_goes_is_dropped_too);
    tcase_add_test(t, the_last_answer_counts_even_without_a_line_end);
    tcase_add_test(t, a_server_that_closes_its_stdin_lets_calls_run_out_of_time);
    tcase_add_test(t, a_server_that_ignores_everything_is_killed);
    tcase_add_test(t, fifty_grandchildren_with_the_pipes_in_hand_go_with_their_server);
    tcase_add_test(t, a_call_without_an_answer_runs_out_of_time);
    tcase_add_test(t, an_answer_after_the_time_is_dropped_and_counted);
    tcase_add_test(t, a_cancelled_call_is_no_failure_to_anybody);
    tcase_add_test(t, calls_under_way_are_cancelled_with_their_server_without_a_word);
    tcase_add_test(t, the_host_may_be_freed_with_everything_under_way);
    tcase_add_test(t, a_list_without_end_ends_early);
    tcase_add_test(t, a_list_that_is_none_is_an_error_with_the_name_of_the_list);
    tcase_add_test(t, a_server_that_goes_in_a_list_ends_the_list);
    tcase_add_test(t, a_hundred_starts_leave_nothing_behind);
    tcase_add_loop_test(t, a_clean_up_runs_once_when_its_server_has_gone, 0, ENDS);
    tcase_add_test(t, nobody_waits_for_a_clean_up);
    tcase_add_test(t, a_clean_up_that_cannot_be_run_is_a_remark);
    tcase_add_test(t, a_clean_up_without_a_program_is_refused);
    tcase_add_test(t, a_prompt_without_a_line_end_is_heard_before_the_time_is_over);
    tcase_add_test(t, of_a_line_without_an_end_four_kilobytes_are_heard_once);
    suite_add_tcase(suite, t);
}
