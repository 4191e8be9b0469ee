/* The modes of the hostile peer that are more than one fixed answer. */
#include "evil.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MB (1024 * 1024)

/* ---- much of something; ARG is how much ---- */

static void endless_noise(struct evil *e, uint64_t id)
{
    say_many('x', e->arg * MB);
    say("\n", 1);
    say_ok(e, id, "fine");
}

static void huge_string(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"content\":[{\"type\":\"text\","
         "\"text\":\"",
         (unsigned long long)id);
    say_many('y', e->arg * MB);
    sayf("\"}]}}\n");
}

/* The id comes last, so that it has to be found behind what was thrown away. */
static void huge_string_id_last(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"result\":{\"text\":\"");
    say_many('y', e->arg * MB);
    sayf("\"},\"id\":%llu}\n", (unsigned long long)id);
}

static void huge_key(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"", (unsigned long long)id);
    say_many('k', e->arg * MB);
    sayf("\":1}}\n");
}

static void huge_number(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"n\":", (unsigned long long)id);
    say_many('7', e->arg);
    sayf("}}\n");
}

static void huge_space(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":", (unsigned long long)id);
    say_many(' ', e->arg * MB);
    sayf("{}}\n");
}

static void deep(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"x\":", (unsigned long long)id);
    say_many('[', e->arg - 2);
    say_many(']', e->arg - 2);
    sayf("}}\n");
}

static void say_braces(uint64_t bytes)
{
    static char block[3 * 20000];

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = "{},"[i % 3];
    for (; bytes > sizeof block; bytes -= sizeof block)
        say(block, sizeof block);
}

static void bomb(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"x\":[", (unsigned long long)id);
    say_braces(e->arg * MB);
    sayf("{}]}}\n");
}

static void bare_bomb(struct evil *e, uint64_t id)
{
    say("[", 1);
    say_braces(e->arg * MB);
    sayf("{}]\n");
    say_ok(e, id, "fine");
}

static void one_by_one(struct evil *e, uint64_t id)
{
    char text[256];
    int n = snprintf(text, sizeof text,
                     "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
                     "\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"fi\\u006ee "
                     "\\ud83d\\ude00 \303\251\"}]}}\r\n",
                     (unsigned long long)id);
    (void)e;
    for (int i = 0; i < n; i++) {
        say(text + i, 1);
        usleep(20);
    }
}

static void notifications(struct evil *e, uint64_t id)
{
    for (uint64_t i = 0; i < e->arg; i++)
        sayf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s\",\"params\":{}}\n",
             i % 2 ? "unheard_of" : "resources/list_changed");
    say_ok(e, id, "fine");
}

static void unknown_progress(struct evil *e, uint64_t id)
{
    static const char *const tokens[] = {"999999", "0",    "-1",   "\"x\"", "null",
                                         "[]",     "1e99", "true", "{}"};

    for (uint64_t i = 0; i < e->arg; i++)
        sayf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
             "\"progressToken\":%s,\"progress\":%llu}}\n",
             tokens[i % (sizeof tokens / sizeof *tokens)], (unsigned long long)i);
    sayf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n"
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":[]}\n"
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n"
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}\n");
    say_ok(e, id, "fine");
}

static void flood_stderr(struct evil *e, uint64_t id)
{
    static char block[65536];

    memset(block, 'e', sizeof block);
    for (size_t i = 99; i < sizeof block; i += 100 + i % 7)
        block[i] = '\n';
    for (uint64_t n = 0; n < e->arg * MB; n += sizeof block)
        if (write(STDERR_FILENO, block, sizeof block) <= 0)
            break;
    say_ok(e, id, "fine");
}

/* ---- requests of our own; the call is answered with how they were ---- */

static void ask(struct evil *e, uint64_t id, const char *method, unsigned times)
{
    e->held = id;
    for (unsigned i = 0; i < times; i++)
        sayf("{\"jsonrpc\":\"2.0\",\"id\":\"ours %u\",\"method\":\"%s\",\"params\":{"
             "\"messages\":[],\"maxTokens\":1}}\n",
             i, method);
    e->asked += times;
}

static void ask_unknown(struct evil *e, uint64_t id)
{
    ask(e, id, "no/such/method", (unsigned)e->arg);
}

static void ask_sampling(struct evil *e, uint64_t id)
{
    ask(e, id, "sampling/createMessage", (unsigned)e->arg);
}

static void ask_ping(struct evil *e, uint64_t id)
{
    ask(e, id, "ping", (unsigned)e->arg);
}

/* Without an end, and without reading what is answered. */
static void ping_forever(struct evil *e, uint64_t id)
{
    (void)e, (void)id;
    for (unsigned long i = 0;; i++)
        sayf("{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"ping\"}\n", i);
}

static void count_answer(struct evil *e, const char *line)
{
    char text[128];

    e->answers++;
    if (strstr(line, "\"code\":-32601"))
        e->unknown++;
    else if (strstr(line, "\"error\":"))
        e->refused++;
    else
        e->results++;
    if (e->answers == e->asked && e->held) {
        snprintf(text, sizeof text, "unknown %u refused %u results %u", e->unknown,
                 e->refused, e->results);
        say_ok(e, e->held, text);
        e->held = 0;
    }
}

/* ---- lists ---- */

static void say_page(uint64_t id, uint64_t n, const char *cursor)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
         "\"tools\":[{\"name\":\"tool_%llu\",\"inputSchema\":{\"type\":\"object\"}}],"
         "\"nextCursor\":\"%s\"}}\n",
         (unsigned long long)id, (unsigned long long)n, cursor);
}

static void endless_pages(struct evil *e, uint64_t id, const char *line)
{
    char cursor[32];
    (void)line;
    snprintf(cursor, sizeof cursor, "page %llu", (unsigned long long)++e->held);
    say_page(id, e->held, cursor);
}

static void same_cursor(struct evil *e, uint64_t id, const char *line)
{
    (void)line;
    say_page(id, ++e->held, "again");
}

static void empty_cursor(struct evil *e, uint64_t id, const char *line)
{
    (void)line;
    say_page(id, ++e->held, "");
}

static void wrong_list(struct evil *e, uint64_t id, const char *line)
{
    (void)e, (void)line;
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
         "\"tools\":{\"name\":\"good\"}}}\n",
         (unsigned long long)id);
}

static void nameless_tools(struct evil *e, uint64_t id, const char *line)
{
    (void)e, (void)line;
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
         "\"tools\":[{},7,null,[],{\"name\":8},{\"name\":\"only\"}]}}\n",
         (unsigned long long)id);
}

static void mute_list(struct evil *e, uint64_t id, const char *line)
{
    (void)e, (void)id, (void)line;
}

static void exit_on_list(struct evil *e, uint64_t id, const char *line)
{
    (void)e, (void)id, (void)line;
    _exit(4);
}

/* ---- life and death ---- */

static void exit_at_once(struct evil *e)
{
    _exit((int)e->arg);
}

static void die_at_once(struct evil *e)
{
    raise((int)e->arg);
}

static void exit_on_discover(struct evil *e, uint64_t id)
{
    (void)id;
    _exit((int)e->arg);
}

static void be_silent(struct evil *e, uint64_t id)
{
    (void)e, (void)id;
}

static void sleep_for_ever(struct evil *e)
{
    (void)e;
    for (;;)
        pause();
}

static void exit_on_call(struct evil *e, uint64_t id)
{
    (void)id;
    _exit((int)e->arg);
}

static void die_on_call(struct evil *e, uint64_t id)
{
    (void)id;
    raise((int)e->arg);
}

static void half_a_message(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"conte", (unsigned long long)id);
    _exit((int)e->arg);
}

/* A whole answer that only lacks its line end. */
static void last_line_open(struct evil *e, uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\"}}",
         (unsigned long long)id);
    _exit((int)e->arg);
}

static void close_stdout(struct evil *e, uint64_t id)
{
    (void)e, (void)id;
    close(STDOUT_FILENO);
    for (;;)
        pause();
}

static void close_stdin(struct evil *e, uint64_t id)
{
    close(STDIN_FILENO);
    say_ok(e, id, "fine");
    for (;;)
        pause();
}

static void ignore_sigterm(struct evil *e)
{
    (void)e;
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

static void go_on(int sig)
{
    (void)sig;
}

/* Until SIGUSR1 comes nothing is read any more. */
static void stop_reading(struct evil *e, uint64_t id)
{
    sigset_t none, usr1;

    if (e->calls == 1) {
        signal(SIGUSR1, go_on);
        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        sigprocmask(SIG_BLOCK, &usr1, &none);
        sayf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
             "list_changed\"}\n");
        sigsuspend(&none);
    }
    say_ok(e, id, "fine");
}

static void say_late(struct evil *e, uint64_t id)
{
    if (id)
        say_ok(e, id, "too late");
}

/* Kin named after $EVIL_KIN holds every pipe and will not go by itself. */
static void have_kin(struct evil *e)
{
    const char *name = getenv("EVIL_KIN");

    for (uint64_t i = 0; i < e->arg; i++) {
        if (fork() != 0)
            continue;
        if (i % 2)
            setsid();
        prctl(PR_SET_NAME, name ? name : "kin");
        ignore_sigterm(e);
        for (;;)
            pause();
    }
}

static void have_kin_and_exit(struct evil *e, uint64_t id)
{
    (void)id;
    have_kin(e);
    _exit(0);
}

static void say_mark(struct evil *e)
{
    (void)e;
    say("\357", 1);
    usleep(2000);
    say("\273\277\r\n", 4);
}

static void talk_first(struct evil *e)
{
    (void)e;
    sayf("Welcome to evil!\n[info] "
         "{\"id\":1}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}\n"
         "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n");
}

const struct act acts[] = {
    {"bom", .start = say_mark},
    {"talks-first", .start = talk_first},
    {"endless-noise", .call = endless_noise},
    {"huge-string", .call = huge_string},
    {"huge-string-id-last", .call = huge_string_id_last},
    {"huge-key", .call = huge_key},
    {"huge-number", .call = huge_number},
    {"huge-space", .call = huge_space},
    {"deep", .call = deep},
    {"bomb", .call = bomb},
    {"bare-bomb", .call = bare_bomb},
    {"one-by-one", .call = one_by_one},
    {"notifications", .call = notifications},
    {"unknown-progress", .call = unknown_progress},
    {"flood-stderr", .call = flood_stderr},
    {"ask-unknown", .call = ask_unknown, .answer = count_answer},
    {"ask-sampling", .call = ask_sampling, .answer = count_answer},
    {"ask-ping", .call = ask_ping, .answer = count_answer},
    {"ping-forever", .call = ping_forever},
    {"endless-pages", .list = endless_pages},
    {"same-cursor", .list = same_cursor},
    {"empty-cursor", .list = empty_cursor},
    {"wrong-list", .list = wrong_list},
    {"nameless-tools", .list = nameless_tools},
    {"exit-on-list", .list = exit_on_list},
    {"mute-list", .list = mute_list},
    {"exit-at-once", .start = exit_at_once},
    {"die-at-once", .start = die_at_once},
    {"mute-from-start", .start = sleep_for_ever},
    {"exit-on-discover", .discover = exit_on_discover},
    {"silent-on-discover", .discover = be_silent},
    {"mute", .call = be_silent},
    {"late", .call = be_silent, .cancelled = say_late},
    {"exit-on-call", .call = exit_on_call},
    {"die-on-call", .call = die_on_call},
    {"half-a-message", .call = half_a_message},
    {"last-line-open", .call = last_line_open},
    {"close-stdout", .call = close_stdout},
    {"close-stdin", .call = close_stdin},
    {"stubborn", .start = ignore_sigterm, .call = be_silent, .listen_lost = 1},
    {"stop-reading", .call = stop_reading},
    {"kin", .start = have_kin},
    {"kin-on-call", .call = have_kin_and_exit},
    {0},
};
