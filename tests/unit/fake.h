/* A server made of C: a transport whose other end is the test. What the core sends
 * is kept, what the test says is fed; time is fake and stands still until moved. */
#ifndef TESTS_FAKE_H
#define TESTS_FAKE_H

#include "base/mem.h"
#include "session/session_private.h"
#include "suite.h"

#include <check.h>

struct fake {
    struct mp_loop *loop;
    struct mp_events log;
    char logged[65536];
    struct mp_offer offer;
    struct mp_plugin plugin;
    struct mcplug_transport_ops ops; /* for caps; set them before the session opens */
    mcplug_props *settings;
    struct mp_session *server;
    struct mp_identity id; /* of it */

    mcplug_conn *conn; /* NULL: not open */
    bool opens;        /* open at once; else the test calls fake_open() */
    bool queues;       /* frames are kept: send() says MCPLUG_QUEUED */
    unsigned starts;   /* how often the transport was opened */
    char *sent[4096];
    char *metas[4096]; /* the pairs beside each, "name\1value\2.." */
    uint64_t serials[4096];
    size_t n_sent, n_seen;
    char meta[65536]; /* of fake_meta() */

    unsigned readies, drops, closes;
    struct mcplug_error ready_why, drop_why;

    /* of transports with exchanges */
    uint32_t kinds[4096];     /* of each frame that was sent, as its envelope has it */
    uint64_t exchanges[4096]; /* likewise */
    uint64_t cancelled[64], settled[64];
    uint64_t unread; /* what the transport says of it */
    size_t n_cancelled, n_settled;

    /* open() fails with this when it has a code */
    struct mcplug_error open_why;

    /* a second transport to fall back on, and the memory of eras */
    bool has_other;   /* set them before the session opens */
    bool lacks_other; /* its module is missing */
    bool remembers;   /* `era` is recalled and remembered */
    enum mp_era era;
    struct mp_offer other;
    struct mcplug_transport_ops other_ops;
    unsigned other_starts; /* how often that one was opened; `starts` counts both */
    bool on_other;         /* the connection is one of it */
};

void fake_init(struct fake *f);
void fake_clear(struct fake *f); /* closes what is open; checks that nothing is left */

/* Opens a session with these options (may be NULL). */
void fake_session(struct fake *f, struct mp_session_options *o);
/* Runs what is due. */
void fake_turn(struct fake *f);
void fake_pass(struct fake *f, uint64_t ms);

void fake_open(struct fake *f);
void fake_say(struct fake *f, const char *line);
void fake_sayf(struct fake *f, const char *fmt, ...) MCPLUG_PRINTF(2, 3);
void fake_hang_up(struct fake *f, int os_error, const char *text);
/* The transport closes for that reason. */
void fake_drop(struct fake *f, int code, int os_error, int peer_status, const char *text);

/* The same for one exchange. fake_feed() and fake_drop_exchange() run nothing, so that
 * more can come in the same turn. `code` 0: the end is in good order. */
void fake_feed(struct fake *f, uint64_t exchange, const char *piece, bool last);
void fake_say_on(struct fake *f, uint64_t exchange, const char *line);
void fake_drop_exchange(struct fake *f, uint64_t exchange, int code, int os_error,
                        int peer_status, const char *text);
void fake_end_exchange(struct fake *f, uint64_t exchange, int code, int os_error,
                       int peer_status, const char *text);

/* The next frame that was sent; fails the test when there is none. */
const char *fake_next(struct fake *f);
bool fake_idle(const struct fake *f); /* no frame that was not looked at */
/* The value of a pair beside the frame that was looked at last; NULL: it has none of that
 * name. Valid until the next call. */
const char *fake_meta(struct fake *f, const char *name);
/* The envelope's word on the frame that was looked at last. */
uint32_t fake_kind(const struct fake *f);
uint64_t fake_exchange(const struct fake *f);
/* How many of its pairs have a name that begins so. */
unsigned fake_metas(const struct fake *f, const char *prefix);
/* The id of a request's text. */
uint64_t fake_id(const char *frame);
/* The next frame must be that method; its id. */
uint64_t fake_expect(struct fake *f, const char *method);

/* Brings a session up: modern or legacy, with these capabilities. */
void fake_modern(struct fake *f, struct mp_session_options *o, const char *caps);
void fake_legacy(struct fake *f, struct mp_session_options *o, const char *caps);

/* For %llu. */
static inline unsigned long long ll(uint64_t n)
{
    return n;
}

/* What a call came to. */
struct outcome {
    unsigned times;
    int code;
    int peer_status;
    char text[512];
    char json[4096];
    bool is_error;
};
/* Requests of a session, as those above it make them. */
mcplug_call *fake_call(struct mp_session *s, const char *tool, const char *arguments,
                       const struct mcplug_call_options *options, mcplug_done_fn *done,
                       void *arg, struct mcplug_error *err);
mcplug_call *fake_request(struct mp_session *s, const char *method, const char *params,
                          const struct mcplug_call_options *options, mcplug_done_fn *done,
                          void *arg, struct mcplug_error *err);
mcplug_call *fake_ping(struct mp_session *s, const struct mcplug_call_options *options,
                       mcplug_done_fn *done, void *arg, struct mcplug_error *err);
void fake_ledger(const struct mp_session *s, struct mcplug_ledger *out);

void on_outcome(void *arg, mcplug_call *call, mcplug_result *result,
                const struct mcplug_error *why);

int run_suite(const char *name, void (*add)(TCase *tc));

#endif
