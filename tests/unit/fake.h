/* A server made of C: a transport whose other end is the test. What the core sends
 * is kept, what the test says is fed; time is fake and stands still until moved. */
#ifndef TESTS_FAKE_H
#define TESTS_FAKE_H

#include "base/mem.h"
#include "session/session.h"

#include <check.h>

struct fake {
    struct mp_loop *loop;
    struct mp_log log;
    char logged[65536];
    struct mp_offer offer;
    struct mp_plugin plugin;
    mcplug_props *settings;
    mcplug_server *server;

    mcplug_conn *conn; /* NULL: not open */
    bool opens;        /* open at once; else the test calls fake_open() */
    bool queues;       /* frames are kept: send() says MCPLUG_QUEUED */
    unsigned starts;   /* how often the transport was opened */
    char *sent[4096];
    uint64_t serials[4096];
    size_t n_sent, n_seen;

    unsigned readies, drops, closes;
    struct mcplug_error ready_why, drop_why;
};

void fake_init(struct fake *f);
void fake_clear(struct fake *f); /* closes what is open; checks that nothing is left */

/* Opens a session with these options (may be NULL). */
void fake_session(struct fake *f, struct mcplug_server_options *o);
/* Runs what is due. */
void fake_turn(struct fake *f);
void fake_pass(struct fake *f, uint64_t ms);

void fake_open(struct fake *f);
void fake_say(struct fake *f, const char *line);
void fake_sayf(struct fake *f, const char *fmt, ...) MCPLUG_PRINTF(2, 3);
void fake_hang_up(struct fake *f, int os_error, const char *text);

/* The next frame that was sent; fails the test when there is none. */
const char *fake_next(struct fake *f);
bool fake_idle(const struct fake *f); /* no frame that was not looked at */
/* The id of a request's text. */
uint64_t fake_id(const char *frame);
/* The next frame must be that method; its id. */
uint64_t fake_expect(struct fake *f, const char *method);

/* Brings a session up: modern or legacy, with these capabilities. */
void fake_modern(struct fake *f, struct mcplug_server_options *o, const char *caps);
void fake_legacy(struct fake *f, struct mcplug_server_options *o, const char *caps);

/* What a call came to. */
struct outcome {
    unsigned times;
    int code;
    int peer_status;
    char text[512];
    char json[4096];
    bool is_error;
};
void on_outcome(void *arg, mcplug_call *call, mcplug_result *result,
                const struct mcplug_error *why);

int run_suite(const char *name, void (*add)(TCase *tc));

#endif
