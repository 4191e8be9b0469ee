#include "monkey.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXAMPLE "examples/mcplug-example-server"
#define ECHO "bench/echo-server"
#define ECHO_NET "bench/echo-net"
#define EVIL "tests/evil/evil"
#define CHAOS "tests/monkey/chaos"

/* ---- what peers do ---- */

static const char *const eras[] = {"--era both", "--era modern", "--era legacy",
                                   "--tools 40 --page 7", "--era legacy --page 3"};

/* Of tests/evil/evil.c and evil_acts.c; the amounts are small ones. */
static const char *const evil_modes[] = {"noise",
                                         "bom-later",
                                         "crlf",
                                         "nul-line",
                                         "nul-in-string",
                                         "nul-between",
                                         "nul-behind",
                                         "utf8",
                                         "utf8-overlong",
                                         "lone-surrogate",
                                         "1e400",
                                         "1e400-id",
                                         "nan",
                                         "twice",
                                         "unknown-id",
                                         "id-string",
                                         "id-null",
                                         "both",
                                         "neither",
                                         "result-array",
                                         "result-null",
                                         "error-bare",
                                         "error-string",
                                         "error-null",
                                         "error-huge-code",
                                         "error",
                                         "method-too",
                                         "method-number",
                                         "batch",
                                         "batch-junk",
                                         "batch-broken",
                                         "duplicate-id",
                                         "duplicate-result",
                                         "result-type",
                                         "two-in-a-line",
                                         "cut-short",
                                         "no-comma",
                                         "state-forever",
                                         "input-forever",
                                         "input-not-offered",
                                         "input-empty",
                                         "input-array",
                                         "task-forever",
                                         "task-nameless",
                                         "task-odd",
                                         "bom",
                                         "talks-first",
                                         "endless-noise 1",
                                         "huge-string 2",
                                         "huge-string-id-last 2",
                                         "huge-key 1",
                                         "huge-number 100000",
                                         "huge-space 1",
                                         "deep 2000",
                                         "bomb 1",
                                         "bare-bomb 1",
                                         "one-by-one",
                                         "notifications 500",
                                         "unknown-progress 500",
                                         "flood-stderr 1",
                                         "ask-unknown 50",
                                         "ask-sampling 50",
                                         "ask-ping 50",
                                         "endless-pages",
                                         "same-cursor",
                                         "empty-cursor",
                                         "wrong-list",
                                         "nameless-tools",
                                         "exit-on-list",
                                         "mute-list",
                                         "exit-at-once",
                                         "die-at-once",
                                         "mute-from-start",
                                         "exit-on-discover",
                                         "silent-on-discover",
                                         "mute",
                                         "late",
                                         "exit-on-call",
                                         "die-on-call",
                                         "half-a-message",
                                         "last-line-open",
                                         "close-stdout",
                                         "close-stdin",
                                         "stubborn",
                                         "stop-reading",
                                         "kin 2",
                                         "kin-on-call 2",
                                         "--legacy late",
                                         "--legacy mute",
                                         "--legacy notifications 500",
                                         "--legacy ask-sampling 20"};

/* Of tests/evil/evil_http_acts.c and its like. */
static const char *const http_modes[] = {"/ok",
                                         "/ok?sse",
                                         "/ok?legacy",
                                         "/session",
                                         "/session?sse",
                                         "/session?get=busy",
                                         "/session?get=hasty",
                                         "/session?initialized=mute",
                                         "/session?over=null",
                                         "/session?over=text",
                                         "/reset-before-status",
                                         "/fin-before-status",
                                         "/reset-in-headers",
                                         "/fin-in-headers",
                                         "/reset-in-body",
                                         "/fin-in-body",
                                         "/stall-in-body",
                                         "/reset-in-event?sse",
                                         "/fin-in-event?sse",
                                         "/half-event?sse",
                                         "/no-reply",
                                         "/silence",
                                         "/headers-only",
                                         "/drip",
                                         "/slow?n=100",
                                         "/slow?n=100&sse",
                                         "/slow-reader",
                                         "/never-closes",
                                         "/202",
                                         "/204",
                                         "/400-text",
                                         "/400-json",
                                         "/401",
                                         "/401-json",
                                         "/403",
                                         "/404",
                                         "/404-json",
                                         "/405",
                                         "/418",
                                         "/429",
                                         "/429-junk",
                                         "/500",
                                         "/502",
                                         "/503",
                                         "/999",
                                         "/html",
                                         "/wrong-type",
                                         "/no-type",
                                         "/empty-body",
                                         "/null-body",
                                         "/text-body",
                                         "/empty-stream",
                                         "/endless-error",
                                         "/1xx-flood",
                                         "/huge-headers",
                                         "/many-headers",
                                         "/endless-headers",
                                         "/long-length",
                                         "/short-length",
                                         "/odd-length",
                                         "/chunk-garbage",
                                         "/chunk-huge",
                                         "/bad-status-line",
                                         "/http09",
                                         "/not-http",
                                         "/redirect-307-same",
                                         "/redirect-301",
                                         "/redirect-loop",
                                         "/redirect-file",
                                         "/redirect-junk",
                                         "/redirect-other",
                                         "/redirect-user",
                                         "/endless-comments",
                                         "/endless-notes",
                                         "/endless-id",
                                         "/endless-event",
                                         "/endless-body",
                                         "/long-line?n=2",
                                         "/huge-answer?n=2",
                                         "/gzip-bomb?n=4",
                                         "/two-replies",
                                         "/reply-wrong-id",
                                         "/reply-no-id",
                                         "/json-then-garbage",
                                         "/json-lines",
                                         "/odd-events",
                                         "/data-first",
                                         "/ok?at=connect",
                                         "/503?at=connect",
                                         "/silence?at=connect",
                                         "/404?at=connect"};

static const char *const sse_modes[] = {"/sse", "/sse", "/sse?legacy", "/ok", "/silence"};

/* Of tests/evil/evil_ws_acts.c. */
static const char *const ws_modes[] = {"/ok",
                                       "/401",
                                       "/404",
                                       "/302",
                                       "/no-answer",
                                       "/drip",
                                       "/many-heads",
                                       "/not-http",
                                       "/reset-upgrade",
                                       "/fin-upgrade",
                                       "/wrong-accept",
                                       "/unasked-extension",
                                       "/unasked-protocol",
                                       "/no-protocol",
                                       "/early",
                                       "/picky",
                                       "/reset",
                                       "/reset-inside",
                                       "/fin",
                                       "/fin-inside",
                                       "/fin-between-fragments",
                                       "/close",
                                       "/close?1012",
                                       "/close-bare",
                                       "/close-one",
                                       "/big-control",
                                       "/cut-control",
                                       "/reserved-bits",
                                       "/odd-opcode",
                                       "/stray-continuation",
                                       "/text-in-text",
                                       "/negative-length",
                                       "/huge-length",
                                       "/bad-utf8",
                                       "/not-json",
                                       "/masked",
                                       "/big",
                                       "/ping-flood",
                                       "/empty-flood",
                                       "/sleepy",
                                       "/silent",
                                       "/no-pong"};

static const char *const nothing[] = {""};

#define MODES(of) of, sizeof(of) / sizeof *(of)

/* ---- the ways to them ---- */

enum way { STRAIGHT, FILTERED, BY_PORT, BY_PATH };

/* Proxies: what chaos.c is told. */
enum { P_HTTP, P_ECHO, P_WS, P_TCP, P_UNIX, PROXIES };

static struct proxy {
    const char *how, *peer, *arg;
    pid_t pid;
    int lifeline, port;
    bool needed;
} proxies[PROXIES] = {
    [P_HTTP] = {"port", "tests/evil/evil_http", NULL, 0, -1, 0, false},
    [P_ECHO] = {"port", ECHO_NET, "0", 0, -1, 0, false},
    [P_WS] = {"port", "tests/evil/evil_ws", NULL, 0, -1, 0, false},
    [P_TCP] = {"each", EXAMPLE, NULL, 0, -1, 0, true},
    [P_UNIX] = {"unix", ECHO, NULL, 0, -1, 0, true},
};

static const struct wire {
    const char *name, *type;
    enum way way;
    int proxy; /* BY_PORT, BY_PATH */
    const char *peer;
    const char *const *modes;
    size_t n_modes;
    bool good; /* answers "echo", with the first of the modes */
} wires[] = {
    {"example", "stdio", STRAIGHT, 0, EXAMPLE, MODES(eras), true},
    {"example-filtered", "stdio", FILTERED, 0, EXAMPLE, MODES(eras), true},
    {"echo-filtered", "stdio", FILTERED, 0, ECHO, MODES(nothing), true},
    {"evil", "stdio", STRAIGHT, 0, EVIL, MODES(evil_modes), false},
    {"evil-filtered", "stdio", FILTERED, 0, EVIL, MODES(evil_modes), false},
    {"tcp", "tcp", BY_PORT, P_TCP, NULL, MODES(nothing), true},
    {"unix", "unix", BY_PATH, P_UNIX, NULL, MODES(nothing), true},
#ifdef MONKEY_HTTP
    {"http", "http", BY_PORT, P_HTTP, NULL, MODES(http_modes), false},
    {"http-again", "http", BY_PORT, P_HTTP, NULL, MODES(http_modes), false},
    {"http-echo", "http", BY_PORT, P_ECHO, NULL, MODES(nothing), true},
    {"sse", "sse", BY_PORT, P_HTTP, NULL, MODES(sse_modes), false},
#endif
#ifdef MONKEY_WEBSOCKET
    {"ws", "ws", BY_PORT, P_WS, NULL, MODES(ws_modes), false},
    {"ws-echo", "ws", BY_PORT, P_ECHO, NULL, MODES(nothing), true},
#endif
};
enum { WIRES = sizeof wires / sizeof *wires };

unsigned wires_count(void)
{
    return WIRES;
}

static const char *below_build(const char *path, char *out, size_t size)
{
    char dir[3000];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);

    dir[n > 0 ? n : 0] = '\0';
    char *at = strstr(dir, "/tests/monkey/");
    if (!at)
        give_up("%s is not below tests/monkey of a build directory", dir);
    *at = '\0';
    snprintf(out, size, "%s/%s", dir, path);
    return out;
}

static const char *book_path(char *out, size_t size)
{
    snprintf(out, size, "%s/book", monkey.dir);
    return out;
}

/* ---- proxies ---- */

static void proxy_start(struct proxy *p)
{
    char chaos[4000], peer[4000], book[128], how[128], seed[32], line[16] = "";
    int in[2], out[2];

    below_build(CHAOS, chaos, sizeof chaos);
    below_build(p->peer, peer, sizeof peer);
    book_path(book, sizeof book);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)monkey.seed);
    snprintf(how, sizeof how, strcmp(p->how, "unix") ? "%s" : "%s:%s/socket", p->how,
             monkey.dir);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || (p->pid = fork()) < 0)
        give_up("%s can't be started", chaos);
    if (p->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(chaos, chaos, seed, book, how, peer, p->arg, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    p->lifeline = in[1];
    for (size_t n = 0; !strchr(line, '\n'); n++)
        if (n == sizeof line - 1 || read(out[0], line + n, 1) != 1)
            give_up("%s %s says no port", chaos, p->peer);
    p->port = atoi(line);
    close(out[0]);
}

void wires_start(void)
{
    char path[128];
    int fd = open(book_path(path, sizeof path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || ftruncate(fd, sizeof *monkey.book) != 0)
        give_up("%s can't be written", path);
    monkey.book =
        mmap(NULL, sizeof *monkey.book, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (monkey.book == MAP_FAILED)
        give_up("%s can't be mapped", path);
    close(fd);
    for (size_t i = 0; i < WIRES; i++)
        if (wires[i].way == BY_PORT || wires[i].way == BY_PATH)
            proxies[wires[i].proxy].needed = true;
    for (int i = 0; i < PROXIES; i++)
        if (proxies[i].needed)
            proxy_start(&proxies[i]);
}

void wires_tell(char what)
{
    for (int i = 0; i < PROXIES; i++)
        if (proxies[i].needed && write(proxies[i].lifeline, &what, 1) != 1)
            wrong(NULL, "the proxy of %s is gone", proxies[i].peer);
}

bool wires_are(int pid)
{
    for (int i = 0; i < PROXIES; i++)
        if (proxies[i].pid == pid)
            return true;
    return false;
}

void wires_end(void)
{
    for (int i = 0; i < PROXIES; i++) {
        int status = 0;
        if (!proxies[i].needed)
            continue;
        close(proxies[i].lifeline);
        if (waitpid(proxies[i].pid, &status, 0) != proxies[i].pid || status != 0)
            wrong(NULL, "the proxy of %s ended with status %d", proxies[i].peer, status);
    }
}

/* ---- settings ---- */

static void add_words(mcplug_settings *s, const char *words)
{
    char word[64];
    int used;

    for (; sscanf(words, "%63s%n", word, &used) == 1; words += used)
        mcplug_settings_add(s, "args", word);
}

static void set_command(struct host *h, mcplug_settings *s, const struct wire *w,
                        const char *mode)
{
    char text[4000], number[32];

    below_build(w->way == FILTERED ? CHAOS : w->peer, text, sizeof text);
    mcplug_settings_set(s, "command", text);
    mcplug_settings_set(s, "closeGrace", "100ms");
    mcplug_settings_set(s, "termGrace", "100ms");
    mcplug_settings_put(s, "env", "MONKEY_RUN", monkey.mark);
    mcplug_settings_put(s, "env", "EVIL_KIN", "monkey-kin");
    if (w->way == FILTERED) {
        snprintf(number, sizeof number, "%u", any(h, 3)); /* others share it */
        mcplug_settings_add(s, "args", number);
        mcplug_settings_add(s, "args", book_path(text, sizeof text));
        mcplug_settings_add(s, "args", "pipe");
        mcplug_settings_add(s, "args", below_build(w->peer, text, sizeof text));
    }
    add_words(s, mode);
}

static void address(const struct wire *w, const char *mode, char *out, size_t size)
{
    int port = proxies[w->proxy].port;

    if (w->way == BY_PATH)
        snprintf(out, size, "unix:%s/socket", monkey.dir);
    else if (strcmp(w->type, "tcp") == 0)
        snprintf(out, size, "tcp:127.0.0.1:%d", port);
    else
        snprintf(out, size, "%s://127.0.0.1:%d%s",
                 strcmp(w->type, "ws") == 0 ? "ws" : "http", port, *mode ? mode : "/");
}

static mcplug_settings *settings_of(struct host *h, const struct wire *w,
                                    const char *mode)
{
    mcplug_settings *s = mcplug_settings_new(w->type);
    char text[200];

    if (!s)
        give_up("no memory");
    if (w->way == BY_PORT || w->way == BY_PATH) {
        address(w, mode, text, sizeof text);
        mcplug_settings_set(s, "url", text);
    } else {
        set_command(h, s, w, mode);
    }
    return s;
}

mcplug_settings *wire_settings(struct host *h, int i, bool *clean)
{
    const struct wire *w = &wires[i < 0 ? (int)any(h, WIRES) : i];
    /* Half of them the first one, so that there is something to share. */
    const char *mode = w->modes[one_in(h, 2) ? 0 : any(h, (unsigned)w->n_modes)];

    *clean = w->way == STRAIGHT && w->good;
    note(h, "settings %s %s", w->name, mode);
    return settings_of(h, w, mode);
}

mcplug_settings *wire_good(struct host *h, unsigned i, const char **name)
{
    for (unsigned k = 0; k < WIRES; k++)
        if (wires[k].good && i-- == 0) {
            *name = wires[k].name;
            return settings_of(h, &wires[k], wires[k].modes[0]);
        }
    return NULL;
}

/* ---- configuration ---- */

const char *wire_name(struct host *h)
{
    unsigned i = any(h, WIRES + 1);
    return i < WIRES ? wires[i].name : "nobody";
}

void wires_config(struct host *h, char *out, size_t size)
{
    char text[4000], peer[4000], book[128];
    size_t n = (size_t)snprintf(out, size, "{\"mcpServers\":{");

    for (unsigned i = 0; i < WIRES; i++) {
        const struct wire *w = &wires[i];
        const char *mode = w->modes[any(h, (unsigned)w->n_modes)];
        n += (size_t)snprintf(out + n, size - n, "%s\"%s\":{\"type\":\"%s\",",
                              i ? "," : "", w->name, w->type);
        if (w->way == BY_PORT || w->way == BY_PATH) {
            address(w, mode, text, sizeof text);
            n += (size_t)snprintf(out + n, size - n, "\"url\":\"%s\"}", text);
            continue;
        }
        below_build(w->way == FILTERED ? CHAOS : w->peer, text, sizeof text);
        n += (size_t)snprintf(out + n, size - n,
                              "\"command\":\"%s\",\"env\":{\"MONKEY_RUN\":\"%s\","
                              "\"EVIL_KIN\":\"monkey-kin\"},\"closeGrace\":\"100ms\","
                              "\"termGrace\":\"100ms\",\"args\":[",
                              text, monkey.mark);
        if (w->way == FILTERED)
            n += (size_t)snprintf(out + n, size - n, "\"%u\",\"%s\",\"pipe\",\"%s\"",
                                  any(h, 3), book_path(book, sizeof book),
                                  below_build(w->peer, peer, sizeof peer));
        char word[64];
        bool first = w->way != FILTERED;
        int used;
        for (; sscanf(mode, "%63s%n", word, &used) == 1; mode += used, first = false)
            n += (size_t)snprintf(out + n, size - n, "%s\"%s\"", first ? "" : ",", word);
        n += (size_t)snprintf(out + n, size - n, "]}");
    }
    if (n + 3 > size)
        give_up("the configuration is too long");
    strcpy(out + n, "}}");
}
