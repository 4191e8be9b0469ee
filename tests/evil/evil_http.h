/* The parts of evil_http.c: connections, requests, and what acts need to answer. */
#ifndef EVIL_HTTP_H
#define EVIL_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One connection and the thread that serves it. */
struct conn {
    int fd;
    bool other; /* came in at the second port */
    bool over;  /* to be closed after this request */
    char *in;   /* what was read and not used yet */
    size_t have;
};

enum { HEAD_MAX = 256 * 1024, BODY_MAX = 64 * 1024 * 1024 };

struct request {
    char method[16];
    char mode[64];   /* the first part of the path */
    char rest[64];   /* what follows it, without the slash */
    char query[256]; /* without the question mark; "" */
    char *head;      /* the whole of it, NUL-ended */
    char *body;      /* NUL-ended */
    uint64_t id;     /* of the JSON-RPC request; 0: none */
    bool legacy, sse, at_connect, deaf;
};

/* What /stats tells. */
struct counters {
    atomic_ulong connections, open, posts, gets, deletes, cancels;
    atomic_ulong discovers, initializes, listens, good, bad;
};
extern struct counters counters;

struct act {
    const char *mode;
    void (*call)(struct conn *c, const struct request *r);
};
extern const struct act acts[], more_acts[]; /* end with mode NULL */

/* ---- saying; after a failure the connection is over ---- */

void say(struct conn *c, const char *data, size_t len);
void sayf(struct conn *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say_many(struct conn *c, char byte, uint64_t count);
/* A whole answer. `status` is "404 Not Found", `type` may be NULL, `more` are header
 * lines or "". */
void say_answer(struct conn *c, const char *status, const char *type, const char *more,
                const char *body);
/* The head of an event stream in chunks, some of it, its proper end. */
void say_stream(struct conn *c);
void say_piece(struct conn *c, const char *data, size_t len);
void say_event(struct conn *c, const char *fields, const char *json);
void say_pings(struct conn *c); /* a hundred requests, as events */
void say_end(struct conn *c);
/* A JSON-RPC message as the request wants it: as JSON, or as a stream. */
void say_message(struct conn *c, const struct request *r, const char *json);

void reset(struct conn *c);     /* the next thing the peer sees is a RST */
void wait_left(struct conn *c); /* until the peer has closed it */
bool has_left(const struct conn *c);
void nap(unsigned ms);

/* ---- reading requests ---- */

/* Waits for one, and reads all of it. False: the connection is of no more use. */
bool read_request(struct conn *c, struct request *r);

/* The value of `name` in the query; NULL: not there. `buf` of `size` holds it. */
const char *query_value(const struct request *r, const char *name, char *buf,
                        size_t size);
uint64_t query_number(const struct request *r, const char *name, uint64_t fallback);
/* The value of a header, cut to `size`; NULL: not there. */
const char *header_value(const struct request *r, const char *name, char *buf,
                         size_t size);
bool asks(const struct request *r, const char *method); /* for that JSON-RPC method */
bool is_request(const struct request *r);               /* else a notification or reply */

/* ---- answering ---- */

/* The JSON of a proper answer. `buf` of 1024 holds it. */
char *json_ok(char *buf, const struct request *r, uint64_t id, const char *text);
char *json_error(char *buf, uint64_t id, int code, const char *message);
/* The JSON that a proper server says to `r`, by its method; tools/call as "good". */
char *json_proper(char *buf, const struct request *r, const char *revision);
void answer_post(struct conn *c, const struct request *r); /* by method and mode */

extern int port, port2;

/* True: one of those modes, and dealt with. */
bool session_request(struct conn *c, const struct request *r);
bool resume_request(struct conn *c, const struct request *r);
bool sse_request(struct conn *c, const struct request *r);

#endif
