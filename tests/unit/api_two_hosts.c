/* Two hosts in one process. A module is mapped once and serves both, each with its own
 * loop: nothing that it keeps may be that of the other. */
#include "fake.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- servers ---- */

enum { STDIO, UNIX, TRANSPORTS }; /* the rows of a loop test */
enum { PLACES = 4, ROUNDS = 5, CALLS = 50 };

/* Where a server is; of a socket's only one connection is served at a time. */
static struct place {
    char url[64];
    pid_t pid;
} paths[PLACES];
static char own_dir[] = "/tmp/mcplug-XXXXXX";
static char program[PATH_MAX];

static void be_the_server(const char *url, int err)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(err, STDERR_FILENO);
    execl(program, program, "--socket", url, (char *)NULL);
    _exit(127);
}

static void listen_at(struct place *p, size_t i)
{
    char line[128] = "";
    int err[2];
    ck_assert_int_eq(pipe(err), 0);
    snprintf(p->url, sizeof p->url, "unix:%s/%zu", own_dir, i);
    p->pid = fork();
    if (p->pid == 0)
        be_the_server(p->url, err[1]);
    close(err[1]);
    ck_assert_int_gt(p->pid, 0);
    ck_assert_int_gt(read(err[0], line, sizeof line - 1), 0);
    ck_assert_msg(strstr(line, "listening"), "%s: %s", program, line);
    close(err[0]);
}

static void begin(int transport)
{
    const char *build = getenv("MCPLUG_BUILD");
    ck_assert_ptr_nonnull(build);
    snprintf(program, sizeof program, "%s/examples/mcplug-example-server", build);
    if (transport == STDIO)
        return;
    ck_assert_ptr_nonnull(mkdtemp(own_dir));
    for (size_t i = 0; i < PLACES; i++)
        listen_at(&paths[i], i);
}

static void end(int transport)
{
    if (transport == STDIO)
        return;
    for (size_t i = 0; i < PLACES; i++) {
        kill(paths[i].pid, SIGTERM);
        waitpid(paths[i].pid, NULL, 0);
    }
    ck_assert_int_eq(rmdir(own_dir), 0); /* the servers took their sockets along */
}

/* ---- hosts ---- */

static mcplug *new_host(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = mcplug_new(NULL, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
    return host;
}

static mcplug *new_threaded(void)
{
    mcplug *host = new_host();
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    return host;
}

static mcplug_server *open_at(mcplug *host, int transport, size_t place)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server = NULL;
    mcplug_settings *s = mcplug_settings_new(transport == STDIO ? "stdio" : "unix");
    mcplug_settings_set(s, transport == STDIO ? "command" : "url",
                        transport == STDIO ? program : paths[place].url);
    int r = mcplug_open_wait(host, s, NULL, &server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(s);
    return server;
}

static void echo(mcplug_server *server, const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    char args[64];
    snprintf(args, sizeof args, "{\"text\":\"%s\"}", text);
    int r = mcplug_call_tool_wait(server, "echo", args, NULL, &result, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), text));
    mcplug_result_unref(result);
}

/* ---- on one thread ---- */

START_TEST(hosts_open_call_and_close_in_turns)
{
    begin(_i);
    mcplug *a = new_host(), *b = new_host();
    for (int round = 0; round < ROUNDS; round++) {
        mcplug_server *a1 = open_at(a, _i, 0), *b1 = open_at(b, _i, 1);
        mcplug_server *a2 = open_at(a, _i, 2), *b2 = open_at(b, _i, 3);
        for (int i = 0; i < ROUNDS; i++) {
            echo(a1, "a1");
            echo(b1, "b1");
            echo(a2, "a2");
            echo(b2, "b2");
        }
        mcplug_close_wait(b1);
        mcplug_close_wait(a1);
        echo(a2, "a2");
        echo(b2, "b2");
        mcplug_close_wait(a2);
        mcplug_close_wait(b2);
    }
    mcplug_free(a);
    mcplug_free(b);
    end(_i);
}
END_TEST

/* Whichever of them called init() last. */
START_TEST(a_host_goes_on_when_another_is_freed)
{
    begin(_i);
    mcplug *a = new_host();
    mcplug_server *a1 = open_at(a, _i, 0);
    mcplug *b = new_host();
    mcplug_server *b1 = open_at(b, _i, 1);
    mcplug_free(b); /* closes b1 */
    (void)b1;
    echo(a1, "after the younger one");
    mcplug_server *a2 = open_at(a, _i, 1);
    echo(a2, "opened after it");

    mcplug *c = new_host();
    mcplug_server *c1 = open_at(c, _i, 2);
    mcplug_free(a);
    echo(c1, "after the older one");
    mcplug_server *c2 = open_at(c, _i, 0);
    echo(c2, "opened after it");
    mcplug_close_wait(c1);
    mcplug_free(c);
    end(_i);
}
END_TEST

/* It is no server, so that opening fails, but with an answer. */
static void ask_the_echo(mcplug *host)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_server_options once = {.struct_size = sizeof once, .once = 1};
    mcplug_server *server;
    mcplug_settings *s = mcplug_settings_new("echo");
    ck_assert_int_eq(mcplug_open_wait(host, s, &once, &server, &err), MCPLUG_EPEER);
    ck_assert_int_eq(err.peer_status, -32601);
    mcplug_settings_free(s);
}

START_TEST(the_module_of_the_tutorial_serves_two_hosts)
{
    mcplug *a = new_host(), *b = new_host();
    ask_the_echo(a);
    ask_the_echo(b);
    ask_the_echo(a);
    mcplug_free(b);
    ask_the_echo(a);
    b = new_host();
    ask_the_echo(b);
    mcplug_free(a);
    ask_the_echo(b);
    mcplug_free(b);
}
END_TEST

/* ---- on two ---- */

struct hammer {
    pthread_t thread;
    mcplug *host;
    int transport;
    size_t place;
    const char *word;
};

static void *hammer(void *arg)
{
    struct hammer *h = arg;
    for (int round = 0; round < ROUNDS; round++) {
        mcplug_server *server = open_at(h->host, h->transport, h->place);
        for (int i = 0; i < CALLS; i++)
            echo(server, h->word);
        mcplug_close_wait(server);
    }
    return NULL;
}

static void hammer_start(struct hammer *h)
{
    ck_assert_int_eq(pthread_create(&h->thread, NULL, hammer, h), 0);
}

START_TEST(hosts_on_threads_of_their_own_do_not_meet)
{
    begin(_i);
    mcplug *a = new_threaded(), *b = new_threaded();
    struct hammer hammers[PLACES] = {
        {.host = a, .transport = _i, .place = 0, .word = "a0"},
        {.host = b, .transport = _i, .place = 1, .word = "b1"},
        {.host = a, .transport = _i, .place = 2, .word = "a2"},
        {.host = b, .transport = _i, .place = 3, .word = "b3"},
    };
    for (size_t i = 0; i < PLACES; i++)
        hammer_start(&hammers[i]);
    for (size_t i = 0; i < PLACES; i++)
        pthread_join(hammers[i].thread, NULL);
    mcplug_free(a);
    mcplug_free(b);
    end(_i);
}
END_TEST

START_TEST(a_threaded_host_goes_on_while_others_come_and_go)
{
    begin(_i);
    mcplug *stays = new_threaded();
    struct hammer h = {.host = stays, .transport = _i, .place = 0, .word = "stays"};
    hammer_start(&h);
    for (int i = 0; i < ROUNDS; i++) {
        mcplug *passing = i % 2 ? new_host() : new_threaded();
        echo(open_at(passing, _i, 1), "passing");
        mcplug_free(passing); /* closes it */
    }
    pthread_join(h.thread, NULL);
    mcplug_free(stays);
    end(_i);
}
END_TEST

static void add(TCase *tc)
{
    int transports = offered("unix") ? TRANSPORTS : UNIX;

    tcase_add_loop_test(tc, hosts_open_call_and_close_in_turns, 0, transports);
    tcase_add_loop_test(tc, a_host_goes_on_when_another_is_freed, 0, transports);
    if (offered("echo"))
        tcase_add_test(tc, the_module_of_the_tutorial_serves_two_hosts);
    tcase_add_loop_test(tc, hosts_on_threads_of_their_own_do_not_meet, 0, transports);
    tcase_add_loop_test(tc, a_threaded_host_goes_on_while_others_come_and_go, 0,
                        transports);
}

int main(void)
{
    return run_suite("api_two_hosts", add);
}
