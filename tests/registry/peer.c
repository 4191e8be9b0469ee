/* A server that keeps to the rules and dies on request, for the tests of the registry:
 *
 *   peer NOTES [--fail HOW N] [--legacy] [--kin N] [--port N] [--flaky FILE]
 *
 * It speaks over stdin and stdout, or with --port over HTTP at /mcp, HTTP+SSE at /sse
 * and WebSocket at /ws. The tool "good" answers, "mute" never does, "fails" and
 * "refuses" do what they say, "deaf" stops reading for good, "exit" ends the process,
 * and "big" says two million characters, over stdio.
 *
 * What it sees goes to the file NOTES, a line each: "start PID", "call NAME",
 * "cancelled ID", "left NAME" (a stream that the host has closed). --fail makes the
 * first N starts, as counted there, go wrong: "exit" at once, "mute" from the beginning,
 * "stubborn" muteness that no SIGTERM ends. With --kin it has children in sessions of
 * their own that ignore SIGTERM and are named $PEER_KIN. With --flaky it is mute for as
 * long as FILE is there. No library and no JSON parser. */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int notes = -1;
static const char *flaky;

void peer_note(const char *format, ...)
{
    char line[256];
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(line, sizeof line - 1, format, ap);
    va_end(ap);
    line[n++] = '\n';
    if (write(notes, line, (size_t)n) != n) /* one write, so lines stay whole */
        _exit(9);
}

uint64_t peer_number(const char *message, const char *key)
{
    const char *at = strstr(message, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* ---- answers ---- */

#define RPC "{\"jsonrpc\":\"2.0\",\"id\":%llu,"
#define DONE "\"resultType\":\"complete\","
#define SCHEMA "\"inputSchema\":{\"type\":\"object\"}"

static void come_up(char *buf, unsigned long long id, bool legacy)
{
    if (legacy)
        snprintf(buf, REPLY_MAX,
                 RPC "\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{"
                     "\"tools\":{}},\"serverInfo\":{\"name\":\"peer\",\"version\":\"1\"}"
                     "}}",
                 id);
    else
        snprintf(buf, REPLY_MAX,
                 RPC "\"result\":{" DONE "\"supportedVersions\":[\"2026-07-28\"],"
                     "\"capabilities\":{\"tools\":{}},\"_meta\":{\"io."
                     "modelcontextprotocol/serverInfo\":{\"name\":\"peer\",\"version\":"
                     "\"1\"}}}}",
                 id);
}

static void list_tools(char *buf, unsigned long long id)
{
    static const char *const names[] = {"good", "mute",  "fails", "refuses",
                                        "deaf", "get_a", "get_b", "exit"};
    int n = snprintf(buf, REPLY_MAX, RPC "\"result\":{" DONE "\"tools\":[", id);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        n += snprintf(buf + n, REPLY_MAX - (size_t)n, "%s{\"name\":\"%s\"," SCHEMA "}",
                      i ? "," : "", names[i]);
    snprintf(buf + n, REPLY_MAX - (size_t)n, "]}}");
}

/* Over stdio only: an answer of two million characters. */
static void say_big(unsigned long long id)
{
    printf(RPC "\"result\":{" DONE "\"content\":[{\"type\":\"text\",\"text\":\"", id);
    for (int i = 0; i < 2000000; i++)
        putchar('b');
    printf("\"}]}}\n");
    fflush(stdout);
}

static char *call(char *buf, unsigned long long id, const char *message)
{
    char name[32] = "";
    const char *at = strstr(message, "\"name\":\"");

    sscanf(at ? at : "", "\"name\":\"%31[^\"]", name);
    peer_note("call %s", name);
    if (strcmp(name, "exit") == 0)
        _exit(3);
    if (strcmp(name, "deaf") == 0)
        for (;;)
            pause();
    if (strcmp(name, "big") == 0)
        say_big(id);
    if (strcmp(name, "mute") == 0 || strcmp(name, "big") == 0)
        return NULL;
    if (strcmp(name, "refuses") == 0)
        snprintf(buf, REPLY_MAX, RPC "\"error\":{\"code\":-32050,\"message\":\"no\"}}",
                 id);
    else
        snprintf(buf, REPLY_MAX,
                 RPC "\"result\":{" DONE "\"isError\":%s,\"content\":[{\"type\":"
                     "\"text\",\"text\":\"%s\"}]}}",
                 id, strcmp(name, "fails") == 0 ? "true" : "false", name);
    return buf;
}

char *peer_reply(char *buf, const char *message, bool legacy)
{
    unsigned long long id = peer_number(message, "\"id\":");
    const char *method = strstr(message, "\"method\":\"");

    method = method ? method + 10 : "";
    if (strncmp(method, "notifications/cancelled\"", 24) == 0)
        peer_note("cancelled %llu",
                  (unsigned long long)peer_number(message, "\"requestId\":"));
    if (!id || !*method || (flaky && access(flaky, F_OK) == 0))
        return NULL;
    if (strncmp(method, "tools/call\"", 11) != 0)
        peer_note("asked %.*s", (int)strcspn(method, "\""), method);
    if (strncmp(method, "initialize\"", 11) == 0 ||
        (!legacy && strncmp(method, "server/discover\"", 16) == 0))
        come_up(buf, id, method[0] == 'i');
    else if (strncmp(method, "tools/list\"", 11) == 0)
        list_tools(buf, id);
    else if (strncmp(method, "tools/call\"", 11) == 0)
        return call(buf, id, message);
    else if (legacy && strncmp(method, "ping\"", 5) == 0)
        snprintf(buf, REPLY_MAX, RPC "\"result\":{}}", id);
    else
        snprintf(buf, REPLY_MAX,
                 RPC "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}", id);
    return buf;
}

/* ---- life ---- */

static unsigned starts_noted(const char *path)
{
    char line[256];
    unsigned n = 0;
    FILE *f = fopen(path, "r");

    while (f && fgets(line, sizeof line, f))
        n += strncmp(line, "start ", 6) == 0;
    if (f)
        fclose(f);
    return n;
}

static void ignore_all(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

static void fail(const char *how)
{
    if (strcmp(how, "exit") == 0)
        _exit(1);
    if (strcmp(how, "stubborn") == 0)
        ignore_all();
    else
        while (getchar() != EOF)
            continue;
    while (strcmp(how, "stubborn") == 0)
        pause();
    _exit(0);
}

/* Forked twice and in a session of its own: no group of ours has them. */
static void have_kin(unsigned n)
{
    const char *name = getenv("PEER_KIN");

    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid > 0) {
            waitpid(pid, NULL, 0);
            continue;
        }
        setsid();
        if (pid < 0 || fork() != 0)
            _exit(0);
        prctl(PR_SET_NAME, name ? name : "kin");
        ignore_all();
        for (;;)
            pause();
    }
}

static void talk(bool legacy)
{
    char *line = NULL, buf[REPLY_MAX];
    size_t room = 0;

    while (getline(&line, &room, stdin) >= 0) {
        const char *reply = peer_reply(buf, line, legacy);
        if (reply && (printf("%s\n", reply) < 0 || fflush(stdout) != 0))
            break;
    }
    free(line);
}

int main(int argc, char **argv)
{
    const char *how = NULL;
    unsigned bad = 0, kin = 0;
    int port = -1;
    bool legacy = false;

    if (argc < 2 ||
        (notes = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        return 2;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--legacy") == 0) {
            legacy = true;
        } else if (strcmp(argv[i], "--fail") == 0 && i + 2 < argc) {
            how = argv[i + 1];
            bad = (unsigned)atoi(argv[i += 2]);
        } else if (strcmp(argv[i], "--kin") == 0 && i + 1 < argc) {
            kin = (unsigned)atoi(argv[++i]);
        } else if (strcmp(argv[i], "--port") == 0 && i + 1 < argc) {
            port = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--flaky") == 0 && i + 1 < argc) {
            flaky = argv[++i];
        } else {
            return 2;
        }
    }
    bool good = starts_noted(argv[1]) >= bad;
    if (port < 0)
        peer_note("start %d", (int)getpid());
    if (!good)
        fail(how);
    have_kin(kin);
    if (kin)
        ignore_all();
    if (port >= 0)
        peer_serve(port);
    talk(legacy);
    while (kin) /* nor does the end of stdin end it */
        pause();
    return 0;
}
