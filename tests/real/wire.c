#include "wire.h"

#include <stdio.h>

static const struct wire wires[WIRES] = {
    {STDIO, "stdio", "stdio", NULL, NULL, NULL},
    {HTTP, "HTTP", "http", "http://127.0.0.1", "/mcp", "test: heard "},
    {SSE, "SSE", "sse", "http://127.0.0.1", "/sse", "test: heard "},
    {WEBSOCKET, "WebSocket", "ws", "ws://127.0.0.1", "/message", "\"method\":\""}};

const struct peer everything = {
    .script = "@modelcontextprotocol/server-everything/dist/index.js",
    .args = {[STDIO] = {"stdio"}, [HTTP] = {"streamableHttp"}, [SSE] = {"sse"}},
    .env = {"PORT=0"}};
const struct peer modern = {.script = "./modern-server.mjs",
                            .args = {[HTTP] = {"--http=0"}}};

const struct wire *wire;
struct listener *server;

/* ---- the server of a test ---- */

struct listener *wire_gateway(const char *output, const char *script, const char *arg)
{
    char path[4096], command[8300];

    snprintf(command, sizeof command, "exec '%s' '%s' %s", real_node(),
             real_script(script, path, sizeof path), arg ? arg : "");
    return listener_node(
        "supergateway/dist/index.js",
        LISTENER_LIST("--stdio", command, "--outputTransport", output, "--port", "0"),
        NULL);
}

static void use_stdio(const struct peer *peer, const char *flag)
{
    char name[100];

    real_use(peer->script);
    for (const char *const *arg = peer->args[STDIO]; *arg; arg++)
        real_arg(*arg);
    if (flag)
        real_arg(flag);
    for (const char *const *env = peer->env; *env; env++) {
        size_t len = strcspn(*env, "=");
        snprintf(name, sizeof name, "%.*s", (int)len, *env);
        real_env(name, *env + len + 1);
    }
}

static struct listener *start(const struct peer *peer, const char *flag)
{
    const char *args[7] = {NULL};
    size_t n = 0;

    while (peer->args[wire->kind][n]) {
        args[n] = peer->args[wire->kind][n];
        n++;
    }
    args[n] = flag;
    return listener_node(peer->script, args, peer->env);
}

void wire_use(const struct peer *peer, const char *flag)
{
    if (wire->kind == STDIO) {
        use_stdio(peer, flag);
        return;
    }
    if (peer->args[wire->kind][0])
        server = start(peer, flag);
    else
        server = wire_gateway(wire->type, peer->script, peer->args[STDIO][0]);
    wire_use_as(wire->type, wire->path);
}

void wire_open(const struct peer *peer)
{
    wire_use(peer, NULL);
    real_open();
}

void wire_use_as(const char *type, const char *path)
{
    real_use_url(type, "%s:%d%s", wire->begin, server->port, path);
}

int wire_count(const char *part)
{
    const struct listener remarks = {.log = real.remarks};
    return listener_count(server ? server : &remarks, 0, part);
}

int wire_heard(const char *method)
{
    char part[200];

    ck_assert_ptr_nonnull(wire->heard);
    snprintf(part, sizeof part, "%s%s", wire->heard, method);
    return wire_count(part);
}

static const char *sum(int a, int b)
{
    static char text[100];

    snprintf(text, sizeof text, "The sum of %d and %d is %d.", a, b, a + b);
    return text;
}

void everything_adds(int count)
{
    real_add_many("get-sum", count, sum);
}

/* ---- suites ---- */

static void set_up(enum wire_kind kind)
{
    real_setup();
    wire = &wires[kind];
    server = NULL;
}

static void set_up_stdio(void)
{
    set_up(STDIO);
}

static void set_up_http(void)
{
    set_up(HTTP);
}

static void set_up_sse(void)
{
    set_up(SSE);
}

static void set_up_websocket(void)
{
    set_up(WEBSOCKET);
}

/* check's fixtures have no argument. */
static void (*const set_ups[WIRES])(void) = {set_up_stdio, set_up_http, set_up_sse,
                                             set_up_websocket};

void wire_suite(enum wire_kind kind, const char *peer, const TTest *const *tests,
                size_t count)
{
    size_t size = strlen(peer) + strlen(" over ") + strlen(wires[kind].name) + 1;
    char *name = malloc(size); /* which check keeps */

    snprintf(name, size, "%s over %s", peer, wires[kind].name);
    if (real_built(wires[kind].type, name))
        real_suite(name, set_ups[kind], tests, count);
}

void wire_suites(const char *peer, const struct behaviour *table, size_t count)
{
    const TTest **tests = calloc(count, sizeof *tests);

    for (enum wire_kind kind = STDIO; kind < WIRES; kind++) {
        size_t n = 0;
        for (size_t i = 0; i < count; i++)
            if (table[i].wires & 1U << kind)
                tests[n++] = table[i].test;
        if (n)
            wire_suite(kind, peer, tests, n);
    }
    free(tests);
}
