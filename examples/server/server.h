/* server.h - an MCP server to try hosts against.
 *
 * It speaks the modern protocol (2026-07-28: every request tells all about
 * itself) and the legacy ones (a handshake opens a session) on one wire, one
 * JSON message per line. It has at least one of everything a host must cope
 * with: slow tools, huge results, questions back to the client, lists that
 * change.
 *
 *   main.c     options, sockets, the loop
 *   wire.c     bytes: lines in, a queue of pieces out
 *   rpc.c      messages: which era, which method, how to answer
 *   session.c  handshake, discovery, subscriptions, notifications from the client
 *   tools.c    the tools that answer at once
 *   calls.c    the tools that take time: sleep, and questions to the client
 *   content.c  resources, prompts, completion
 *
 * One thread. Memory running out ends the program: it is an example.
 */
#ifndef EXAMPLE_SERVER_H
#define EXAMPLE_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_NAME "mcplug-example-server"
#define SERVER_VERSION "1.0.0"

#define MODERN_VERSION "2026-07-28"
#define META(name) "io.modelcontextprotocol/" name

/* Limits, so that no client can make the server grow without end. */
enum {
    LINE_LIMIT = 64 << 20,     /* longest message read */
    BACKLOG_LIMIT = 1 << 20,   /* unsent bytes before input is left unread */
    CALL_LIMIT = 4096,         /* calls under way */
    SUBSCRIPTION_LIMIT = 1024, /* of each kind */
    TOOL_LIMIT = 1000000,      /* generated and grown tools, each */
};

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    INTERNAL_ERROR = -32603,
    RESOURCE_NOT_FOUND = -32002, /* legacy only */
    MISSING_CAPABILITY = -32021, /* modern only, this one and the next */
    UNSUPPORTED_VERSION = -32022,
};

enum era { ERA_BOTH, ERA_MODERN, ERA_LEGACY };

struct options {
    enum era era;
    const char *socket; /* NULL: stdin and stdout */
    size_t tools;       /* generated tools */
    size_t page;        /* items per list page, 0 for all at once */
};

/* What the server offers. It outlives connections, as MCP wants. */
struct world {
    struct options opt;
    json_t *tools; /* definitions in listing order; only ever grows */
    size_t grown;
    unsigned readme, counter; /* how often each resource was touched */
};

/* A stretch of output: bytes, or so many bytes of the endless pattern. */
struct piece {
    struct piece *next;
    char *data; /* NULL: pattern */
    size_t room;
    uint64_t len, sent;
};

/* One client. */
struct peer {
    struct world *world;
    int in, out;
    bool eof;

    char *text; /* input: lines from `start`, searched up to `seen`, ends at `have` */
    size_t start, seen, have, room;
    bool skipping; /* inside a line that is too long */

    struct piece *first, *last;
    uint64_t backlog; /* bytes in the pieces, not yet sent */

    const char *legacy; /* revision agreed in the handshake, NULL before it */
    json_t *caps;       /* capabilities told in the handshake */
    int log_level;      /* set by logging/setLevel */
    json_t *watched;    /* set of URIs, by resources/subscribe */

    struct listen *listens; /* open subscriptions/listen requests */
    size_t listen_count;
    struct call *calls; /* tool calls that wait for something */
    size_t call_count;
    json_int_t last_id; /* of requests sent to the client */
};

/* One message from the client, with what it takes to serve it. Borrows all. */
struct request {
    struct peer *peer;
    json_t *id;          /* NULL in a notification */
    json_t *params;      /* object or NULL */
    json_t *meta;        /* params._meta, object or NULL */
    json_t *caps;        /* what the client can do; object or NULL */
    const char *version; /* revision to serve it under */
    int log_level;       /* least severe level wanted */
    bool modern;
};

/* wire.c */
void *must(void *allocated);
void peer_init(struct peer *p, struct world *world, int in, int out);
void peer_clear(struct peer *p);
/* Takes what there is to read. Sets `eof` when there will be no more. */
void peer_fill(struct peer *p);
/* Gives the next whole line, without its end, or NULL. It is valid until the
 * peer_fill; `*len` is SIZE_MAX when the line was too long to keep. */
const char *peer_line(struct peer *p, size_t *len);
/* Writes what the other side will take now; -1 when it is gone. */
int peer_flush(struct peer *p);
void peer_put(struct peer *p, const char *data, size_t len);
void peer_put_pattern(struct peer *p, uint64_t text_bytes);
void peer_put_json(struct peer *p, json_t *message); /* take */

/* rpc.c */
void peer_handle(struct peer *p, const char *line, size_t len);
/* The whole message that answers with `result`. take, give */
json_t *answer_of(const struct request *rq, json_t *result);
void reply(const struct request *rq, json_t *result); /* take */
void reply_cacheable(const struct request *rq, json_t *result, int ttl_ms);
void refuse(const struct request *rq, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void refuse_with(const struct request *rq, int code, const char *message, json_t *data);
void notify(struct peer *p, const char *method, json_t *params); /* take */
bool since(const struct request *rq, const char *version);
json_t *supported_versions(void);
int level_of(json_t *name); /* -1: no such level */
const char *param_string(const struct request *rq, const char *name);
json_t *text_of(const char *text); /* a JSON string, whatever the bytes */
/* Parses JSON written with ' for ", which reads better inside C. */
json_t *literal(const char *text);
/* Answers a list request with the page of `items` it asks for, as `key`. */
void reply_page(const struct request *rq, const char *key, json_t *items);

/* session.c */
enum log_level { LEVEL_INFO = 1, LEVEL_NONE = 8 };
void on_initialize(const struct request *rq);
void on_discover(const struct request *rq);
void on_ping(const struct request *rq);
void on_set_level(const struct request *rq);
void on_subscribe(const struct request *rq);
void on_unsubscribe(const struct request *rq);
void on_listen(const struct request *rq);
void on_cancelled(const struct request *rq);
json_t *server_info(const struct request *rq);
void announce_tools(struct peer *p);
void announce_resource(struct peer *p, const char *uri);
/* Ends all subscriptions, telling the client. */
void listens_finish(struct peer *p);
void listens_clear(struct peer *p);

/* tools.c */
void world_init(struct world *w);
void world_clear(struct world *w);
void on_tools_list(const struct request *rq);
void on_tools_call(const struct request *rq);
void tool_text(const struct request *rq, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tool_fail(const struct request *rq, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tool_string(const struct request *rq, json_t *text); /* take */
json_t *args_of(const struct request *rq);
/* An argument of the right type, or NULL after the call was answered. */
json_t *arg(const struct request *rq, const char *name, json_type type);

/* calls.c */
void tool_sleep(const struct request *rq);
void tool_ask_name(const struct request *rq);
void tool_ask_model(const struct request *rq);
void tool_list_roots(const struct request *rq);
/* An answer to one of our own requests came in. */
void calls_answered(struct peer *p, json_t *message);
/* True when `id` was a call under way; it will not be answered. */
bool calls_cancel(struct peer *p, json_t *id);
/* Does what is due, returns milliseconds to the next thing, -1 for never. */
int calls_tick(struct peer *p);
void calls_clear(struct peer *p);

/* content.c */
void on_resources_list(const struct request *rq);
void on_templates_list(const struct request *rq);
void on_resources_read(const struct request *rq);
void on_prompts_list(const struct request *rq);
void on_prompts_get(const struct request *rq);
void on_complete(const struct request *rq);
/* Changes a text resource; false when `uri` is none. */
bool resource_touch(struct world *w, const char *uri, unsigned *revision);

#endif
