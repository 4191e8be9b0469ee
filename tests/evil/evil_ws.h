/* The parts of evil_ws.c: a connection, and what acts need to answer. */
#ifndef EVIL_WS_H
#define EVIL_WS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUEST_IN = 256 << 10, GUEST_OUT = 256 << 10, MESSAGE_MAX = 80 << 20 };

/* One connection and the thread that serves it. */
struct guest {
    int fd;
    char mode[64];
    uint64_t arg; /* what stands behind the ? of the path; 0: nothing */
    char accept[32];
    bool offers_mcp; /* the subprotocol */
    char *head;      /* of the request */
    unsigned pings, pongs, binaries, fragments;
    unsigned char in[GUEST_IN];
    size_t have, used;
    unsigned char out[GUEST_OUT];
    size_t waiting;
    char *message;
    size_t message_len, message_room;
};

enum { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10, FIN = 0x80, MASKED = 0x100 };

/* ---- saying; when nobody listens the thread ends ---- */

void put(struct guest *g, const void *data, size_t len);
void flush(struct guest *g);
void many(struct guest *g, char byte, uint64_t count);
/* A frame's head; `kind` is its first byte, with MASKED the mask is all zero. */
void head(struct guest *g, int kind, uint64_t len);
void frame(struct guest *g, int kind, const void *data, size_t len);
void say(struct guest *g, const char *text); /* a message */
void sayf(struct guest *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ok(struct guest *g, uint64_t id, const char *text); /* a tool's result */
/* Ends the thread: in good order, or with a reset. */
_Noreturn void leave(struct guest *g);
_Noreturn void leave_reset(struct guest *g);
/* Reads and forgets until the other side closes. */
_Noreturn void leave_deaf(struct guest *g);

/* ---- evil_ws_acts.c: the tables end with mode NULL ---- */

struct act {
    const char *mode;
    void (*run)(struct guest *g, uint64_t id); /* id 0: in place of an upgrade */
};
extern const struct act upgrade_acts[]; /* what is answered to the upgrade */
extern const struct act call_acts[];    /* what is answered to a call of "bad" */

void upgrade(struct guest *g, const char *accept, const char *more); /* the proper one */

#endif
