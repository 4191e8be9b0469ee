/* wire.h - behaviours that hold whatever carries the messages.
 *
 * A row of a table is a test and the wires over which it must hold; there is a suite for
 * each wire. A test opens its server with wire_open and does not care which wire it has,
 * but where only one of them can show something: `wire` and `server` tell.
 */
#ifndef TESTS_REAL_WIRE_H
#define TESTS_REAL_WIRE_H

#include "listener.h"

enum wire_kind { STDIO, HTTP, SSE, WEBSOCKET, WIRES };

/* Sets of them. */
enum {
    ON_STDIO = 1 << STDIO,
    ON_HTTP = 1 << HTTP,
    ON_SSE = 1 << SSE,
    ON_WEBSOCKET = 1 << WEBSOCKET,
    ON_NETS = ON_HTTP | ON_SSE | ON_WEBSOCKET,
    ON_ALL = ON_STDIO | ON_NETS
};

struct wire {
    enum wire_kind kind;
    const char *name;  /* for people */
    const char *type;  /* of the transport */
    const char *begin; /* of a URL */
    const char *path;
    const char *heard; /* in the log, before the method of a message it was sent */
};
extern const struct wire *wire; /* of this test */
extern struct listener *server; /* of this test; NULL with stdio */

/* A server, and the arguments that make it speak each wire. Where it has none for one, a
 * gateway puts its stdio behind that wire. The lists end with NULL. */
struct peer {
    const char *script; /* as for real_use */
    const char *args[WIRES][5];
    const char *env[4]; /* "NAME=value" */
};

extern const struct peer everything; /* the reference server, up to 2025-11-25 */
extern const struct peer modern;     /* modern-server.mjs: 2026-07-28 */

/* Starts it, if it is one that listens, and says where it is; `flag`, one more argument,
 * may be NULL. */
void wire_use(const struct peer *peer, const char *flag);
void wire_open(const struct peer *peer);
/* The same server at another path, or as another type, which may be NULL. */
void wire_use_as(const char *type, const char *path);

/* A gateway in front of the stdio of `script`, which speaks "sse" or "ws". */
struct listener *wire_gateway(const char *output, const char *script, const char *arg);

/* What it wrote: how often it has `part`, and until it has. */
int wire_count(const char *part);
#define WIRE_TOLD(part) REAL_UNTIL(wire_count(part) > 0)
/* How many messages with this method it was sent; not over stdio, where nothing tells. */
int wire_heard(const char *method);

/* real_add_many of that server. */
void everything_adds(int count);

struct behaviour {
    unsigned wires;
    const TTest *test;
};
/* A suite for each wire of the table, and one for what a single wire has. */
void wire_suites(const char *peer, const struct behaviour *table, size_t count);
void wire_suite(enum wire_kind kind, const char *peer, const TTest *const *tests,
                size_t count);
#define WIRE_SUITES(peer, ...)                                                           \
    wire_suites(peer, (const struct behaviour[]){__VA_ARGS__},                           \
                sizeof((const struct behaviour[]){__VA_ARGS__}) /                        \
                    sizeof(struct behaviour))
#define WIRE_SUITE(kind, peer, ...)                                                      \
    wire_suite(kind, peer, (const TTest *[]){__VA_ARGS__},                               \
               sizeof((const TTest *[]){__VA_ARGS__}) / sizeof(const TTest *))

#endif
