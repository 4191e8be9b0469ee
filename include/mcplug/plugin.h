/* mcplug/plugin.h - the whole contract between the core and a module.
 *
 * A module includes this file and nothing else of ours, and links nothing of
 * ours: every service comes in through `struct mcplug_host`.
 *
 * Words used for ownership:
 *   borrow  valid until the call returns, copy or ref it to keep it
 *   take    the callee owns one reference from now on, even when it fails
 *   give    the caller owns one reference and must drop it
 *
 * Threads: [loop] may be called on the loop thread only, [any] on any thread.
 * Everything the core calls in a module is [loop], except converter_ops.convert,
 * vault_ops.get and locator_ops.locate. The loop is that of one host; calls for two may
 * overlap.
 *
 * No re-entry: what `wire` and `health` calls lead to happens after the
 * module's own callback has returned to the core, in the same turn of the
 * loop, so a module is never entered from a call it is making.
 *
 * Growth: members are only ever appended. Readers test with MCPLUG_HAS().
 */
#ifndef MCPLUG_PLUGIN_H
#define MCPLUG_PLUGIN_H

#include <mcplug/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MCPLUG_MAGIC 0x4d43504cu /* "MCPL" */
#define MCPLUG_ABI_MAJOR 1       /* also in the symbol name below */
#define MCPLUG_ABI_MINOR 4       /* +1 for every release with appended members */

/* True when `p` was compiled with member `m`, and, for pointers, set it. */
#define MCPLUG_KNOWS(p, type, m)                                                         \
    ((p)->struct_size >= offsetof(type, m) + sizeof(((type *)0)->m))
#define MCPLUG_HAS(p, type, m) (MCPLUG_KNOWS(p, type, m) && (p)->m != NULL)

typedef struct mcplug_self mcplug_self;     /* the core's record of one module */
typedef struct mcplug_props mcplug_props;   /* read-only settings, checked already */
typedef struct mcplug_buf mcplug_buf;       /* counted, immutable bytes */
typedef struct mcplug_conn mcplug_conn;     /* the core's side of a connection */
typedef struct mcplug_check mcplug_check;   /* the core's side of a health check */
typedef struct mcplug_job mcplug_job;       /* the core's side of a conversion */
typedef struct mcplug_place mcplug_place;   /* the core's side of a search */
typedef struct mcplug_framer mcplug_framer; /* the core's side of a stream of lines */
typedef struct mcplug_reply mcplug_reply;   /* the core's side of a request to a model */
typedef struct mcplug_timer mcplug_timer;
typedef struct mcplug_watch mcplug_watch;

/* ---- what the core offers ---------------------------------------------- */

struct mcplug_mem { /* [any] */
    uint32_t struct_size;
    void *(*alloc)(size_t size); /* zeroed; NULL when out of memory */
    void *(*resize)(void *p, size_t size);
    void (*free)(void *p);                                /* NULL is fine */
    mcplug_buf *(*buf_new)(const void *data, size_t len); /* give; copies */
    mcplug_buf *(*buf_ref)(mcplug_buf *buf);              /* give */
    void (*buf_unref)(mcplug_buf *buf);                   /* NULL is fine */
    struct mcplug_bytes (*buf_bytes)(const mcplug_buf *buf);
};

struct mcplug_diag { /* [any] */
    uint32_t struct_size;
    void (*log)(mcplug_self *self, int level, const char *fmt, ...) MCPLUG_PRINTF(3, 4);
    /* Fills `err` when it is not NULL and returns `code`. */
    int (*fail)(struct mcplug_error *err, int code, const char *fmt, ...)
        MCPLUG_PRINTF(3, 4);
    /* A setting, or its declared fallback; NULL when it has neither. Strings
     * live as long as `props`. */
    const char *(*prop)(const mcplug_props *props, const char *name);
    /* A setting of type "int", "bool", "duration" (ms) or "bytes" as a number;
     * `otherwise` when unset. */
    int64_t (*prop_int)(const mcplug_props *props, const char *name, int64_t fallback);
    /* A "list" (values) or "map" (name, value, name, value ..), NULL-ended; never
     * NULL itself. */
    const char *const *(*prop_list)(const mcplug_props *props, const char *name);
    /* The same as fail(), with an errno: it is kept, and its text follows after a colon.
     * Since minor 4. */
    int (*fail_os)(struct mcplug_error *err, int code, int os_error, const char *fmt, ...)
        MCPLUG_PRINTF(4, 5);
};

#define MCPLUG_READABLE 1u
#define MCPLUG_WRITABLE 2u

struct mcplug_loop { /* [loop] except post */
    uint32_t struct_size;
    /* [any] Runs fn(arg) on the loop thread, never inside this call. */
    int (*post)(mcplug_self *self, void (*fn)(void *arg), void *arg);
    /* One shot. The timer is gone once fn runs or it is stopped. NULL: no memory */
    mcplug_timer *(*timer_start)(mcplug_self *self, uint64_t ms, void (*fn)(void *arg),
                                 void *arg);
    void (*timer_stop)(mcplug_timer *timer); /* once stopped, fn never runs */
    /* fn also gets READABLE when the fd fails or hangs up, and when it fails whatever
     * else it was watched for. NULL: errno tells */
    mcplug_watch *(*watch_start)(mcplug_self *self, int fd, unsigned events,
                                 void (*fn)(void *arg, unsigned events), void *arg);
    int (*watch_update)(mcplug_watch *watch, unsigned events);
    void (*watch_stop)(mcplug_watch *watch); /* before closing the fd */
    /* run() on a pool thread, then done() on the loop thread. */
    int (*work)(mcplug_self *self, void (*run)(void *arg),
                void (*done)(void *arg, int status), void *arg);
    uint64_t (*now)(mcplug_self *self); /* ms, monotonic */
};

/* What a transport tells the core. [loop] */
struct mcplug_wire {
    uint32_t struct_size;
    void (*opened)(mcplug_conn *conn);
    /* Some bytes of a message, in order; `last` ends it, and -1 says that the
     * stream did, perhaps before the message. A transport keeps no message-sized
     * buffer: the core assembles, bounds and spills. `exchange` 0: not tied to a
     * request. Pieces of different exchanges may interleave. borrow */
    void (*feed)(mcplug_conn *conn, uint64_t exchange, struct mcplug_bytes piece,
                 int last);
    /* The stream of that request is over; why == NULL means in good order. With
     * MCPLUG_ECLOSED and the status 404 the request was not carried out, because the
     * peer had ended the session: closed() must follow with the same code and status,
     * and in a new session the request is sent once more. */
    void (*exchange_end)(mcplug_conn *conn, uint64_t exchange,
                         const struct mcplug_error *why);
    /* The frame of that serial, for which send() said MCPLUG_QUEUED, has left. */
    void (*written)(mcplug_conn *conn, uint64_t serial);
    /* A line the peer wrote beside the protocol (stderr). borrow */
    void (*remark)(mcplug_conn *conn, struct mcplug_bytes line);
    /* A fact for people and probes: "pid", "peer", .. borrow. "delay": why messages are
     * held back right now, which errors of time-outs say as well; "": they are not. */
    void (*describe)(mcplug_conn *conn, const char *name, const char *value);
    /* Last call for this conn; the core then calls destroy(). why == NULL: as
     * asked for. */
    void (*closed)(mcplug_conn *conn, const struct mcplug_error *why);
    /* Forgets the pieces of a message that will not be ended: its stream broke off and
     * is taken up again. Since minor 1. */
    void (*discard)(mcplug_conn *conn, uint64_t exchange);
};

/* What a probe may know and do. [loop] */
struct mcplug_target {
    uint32_t struct_size;
    int32_t pid;           /* of a local server, else 0 */
    const char *server;    /* its name */
    const char *transport; /* "stdio", "http", .. */
    const char *url;       /* NULL for local servers */
    const char *revision;  /* protocol revision in use, "2025-11-25" */
    uint64_t silent_ms;    /* since the last byte came in */
};

struct mcplug_health {
    uint32_t struct_size;
    const struct mcplug_target *(*target)(const mcplug_check *check); /* borrow */
    /* Sends one request; `params` is JSON text or empty. `fn` runs once: `why`
     * NULL means the peer answered, with `reply` its result or error. */
    int (*request)(mcplug_check *check, const char *method, struct mcplug_bytes params,
                   void (*fn)(void *arg, struct mcplug_bytes reply,
                              const struct mcplug_error *why),
                   void *arg);
    /* Ends the check, once. why == NULL: alive. The core keeps the deadline. */
    void (*verdict)(mcplug_check *check, const struct mcplug_error *why);
};

/* What a locator says of the server it has found. Everything is copied. Each returns
 * MCPLUG_OK, MCPLUG_ENOMEM, MCPLUG_ETOOBIG for more than 256 settings or 4096 items of
 * one, or MCPLUG_EINVAL: a NULL where a text is expected, a text of 64 KiB or more, an
 * empty type, method or name of a setting, one that had another shape before, more than
 * 32 facts, a command without words or of more than 64. One that fails fails the search.
 * On the thread of locate(), while that runs. Since minor 4. */
struct mcplug_place_ops {
    uint32_t struct_size;
    int (*transport)(mcplug_place *place, const char *type); /* must be called */
    /* Its settings: a value, one more of a list, one more pair of a map. */
    int (*set)(mcplug_place *place, const char *name, const char *value);
    int (*add)(mcplug_place *place, const char *name, const char *value);
    int (*put)(mcplug_place *place, const char *name, const char *key, const char *value);
    /* A fact for people and probes, as wire->describe() tells. */
    int (*fact)(mcplug_place *place, const char *name, const char *value);
    /* A notification that the server gets once the session is up; `params` is the text
     * of a JSON object, or NULL. One at most: the last counts. */
    int (*greet)(mcplug_place *place, const char *method, const char *params);
    /* A program and its arguments, NULL-ended, for a transport that starts programs: it
     * runs when the server and its tree are gone, even if the host was killed, for ten
     * seconds at most. One at most: the last counts. */
    int (*clean_up)(mcplug_place *place, const char *const *command);
};

/* What a model tells the core of one request. What it leads to happens after the module's
 * callback has returned. Everything is copied. [loop] Since minor 4. */
struct mcplug_reply_ops {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    /* Some more of the answer, UTF-8, which may be cut anywhere; of what the model thinks
     * aloud. */
    void (*text)(mcplug_reply *reply, struct mcplug_bytes piece);
    void (*thought)(mcplug_reply *reply, struct mcplug_bytes piece);
    /* A tool is to be called, and its arguments are complete, as the model wrote them:
     * what is wrong with them is the core's business. Empty: {}. `id` may be NULL or "",
     * and `name` need not be that of a tool. In the order of the answer. */
    void (*call)(mcplug_reply *reply, const char *id, const char *name,
                 struct mcplug_bytes arguments);
    /* What is known of it so far; the last counts. */
    void (*usage)(mcplug_reply *reply, const struct mcplug_usage *usage);
    /* The whole turn as the API wants to get it back: a JSON value. Before end(), once at
     * most; see mcplug_message.raw. */
    void (*raw)(mcplug_reply *reply, struct mcplug_bytes json);
    /* Before end(): when the API wants to be asked again. Of the core, which asks again
     * when `why` has MCPLUG_ERROR_RETRY and nothing was told before. */
    void (*retry_after)(mcplug_reply *reply, uint64_t ms);
    /* The last one, once. `why` NULL: `stop` says how the answer ended. MCPLUG_EAUTH: the
     * key; MCPLUG_ETOOBIG: the conversation is too long for the model;
     * MCPLUG_EOVERLOADED: too many requests; MCPLUG_EPEER: another error of the API, with
     * its words and peer_status; MCPLUG_ECLOSED, MCPLUG_ETIMEDOUT: the answer broke off.
     */
    void (*end)(mcplug_reply *reply, enum mcplug_stop stop,
                const struct mcplug_error *why);
};

struct mcplug_host {
    uint32_t struct_size;
    uint16_t abi_major, abi_minor;
    const char *version;    /* of the core, for logs */
    const char *helper_dir; /* where the core's helper programs are */
    const struct mcplug_mem *mem;
    const struct mcplug_diag *diag;
    const struct mcplug_loop *loop;
    const struct mcplug_wire *wire;
    const struct mcplug_health *health; /* NULL where no server is asked: --check */
    /* [any] Rarely wanted tables by name. NULL when absent or older than
     * `version`. */
    const void *(*service)(mcplug_self *self, const char *name, uint32_t version);
    /* [loop] The table of a service that another module offers, of that version or a
     * newer one, and the ctx that its functions take. The module is loaded if it is not,
     * and its fini() runs after that of its users. NULL: `err` says why. Since minor 4.
     */
    const void *(*use)(mcplug_self *self, const char *name, uint32_t version, void **ctx,
                       struct mcplug_error *err);
    const struct mcplug_place_ops *place; /* for locators; since minor 4 */
    const struct mcplug_reply_ops *reply; /* for models; since minor 4 */
};

/* ---- services: host->service(self, NAME, VERSION) --------------------------- */

/* "json" 1, [any]: reading small JSON documents. Views point into the text. */
struct mcplug_json {
    uint32_t struct_size;
    /* Is it one JSON document within the core's limits? Look at no other. */
    int (*valid)(struct mcplug_bytes text);
    /* A member of an object; empty when there is none. */
    struct mcplug_bytes (*get)(struct mcplug_bytes object, const char *key);
    /* The n-th element of an array; empty at its end. */
    struct mcplug_bytes (*at)(struct mcplug_bytes array, size_t n);
    /* give (mem->free); NULL when it is no string, or out of memory. */
    char *(*string)(struct mcplug_bytes value);
    /* True when it is an integer that fits. */
    int (*integer)(struct mcplug_bytes value, int64_t *out);
};

/* "lines" 1, [loop]: newline framing, for transports over a stream. One message is one
 * line. No message is kept: what comes in goes to wire->feed() piece by piece, what goes
 * out is kept by reference, and only when the peer does not take it at once. Since
 * minor 4. */
enum {
    MCPLUG_LINES_PIPE = 1,  /* the caller sees to it that it has a reader: no SIGPIPE */
    MCPLUG_LINES_SOCKET = 2 /* sent with MSG_NOSIGNAL */
};

struct mcplug_envelope; /* see below */

struct mcplug_lines {
    uint32_t struct_size;
    /* For one connection; `host` is what init() got. `limit` bounds the bytes that wait
     * to be sent, but for a single frame, which always may. give (free); NULL: out of
     * memory. */
    mcplug_framer *(*create)(const struct mcplug_host *host, mcplug_conn *conn,
                             size_t limit);
    /* From now on writes to `fd`, which must not block, and asks `watch` for
     * MCPLUG_WRITABLE in addition to `idle_events` while something waits. Both stay the
     * caller's. `kind`: MCPLUG_LINES_PIPE or MCPLUG_LINES_SOCKET. */
    void (*attach)(mcplug_framer *f, int kind, int fd, mcplug_watch *watch,
                   unsigned idle_events);
    /* What was just read, between opened() and closed(). Line ends are LF or CR LF; empty
     * lines and a byte order mark at the very beginning are left out. borrow */
    void (*feed)(mcplug_framer *f, struct mcplug_bytes read);
    /* The stream is over: a line without its end is ended, by a `last` of -1. */
    void (*end)(mcplug_framer *f);
    /* As transport_ops.send(). take `frame` */
    int (*send)(mcplug_framer *f, mcplug_buf *frame, const struct mcplug_envelope *env,
                struct mcplug_error *err);
    /* To be called when `fd` is writable, and from transport_ops.flush(); calls
     * wire->written(). After a failure the caller has to end the connection. */
    int (*flush)(mcplug_framer *f, struct mcplug_error *err);
    /* After send() or flush() failed: an errno when the stream cannot be used any more
     * and the caller has to end the connection, else 0. */
    int (*broken)(const mcplug_framer *f);
    /* Drops what waits and forgets `fd` and `watch`; sending fails from now on. NULL is
     * fine, for free() too. */
    void (*detach)(mcplug_framer *f);
    void (*free)(mcplug_framer *f);
};

/* ---- what a module offers ----------------------------------------------- */

enum {
    MCPLUG_TRANSPORT = 1,
    MCPLUG_PROBE = 2,
    MCPLUG_CONVERTER = 3,
    MCPLUG_VAULT = 4,   /* since minor 2 */
    MCPLUG_SERVICE = 5, /* since minor 4 */
    MCPLUG_LOCATOR = 6, /* since minor 4 */
    MCPLUG_MODEL = 7,   /* since minor 4 */
};

enum { MCPLUG_REQUEST = 1, MCPLUG_NOTIFICATION = 2, MCPLUG_RESPONSE = 3 };

/* Beside the bytes: all a binding may need, so that it never parses them. */
struct mcplug_envelope {
    uint32_t struct_size;
    uint32_t kind;
    uint64_t serial;                /* of this frame; counts up from 1 */
    uint64_t exchange;              /* nonzero for requests; names the reply stream */
    const struct mcplug_pair *meta; /* "method", "name", "protocol-version", .. */
    size_t n_meta;
    uint64_t flags; /* MCPLUG_MORE or 0; since minor 4 */
};

/* flags: others are likely to follow in this turn of the loop, so a transport may keep
 * the frame, say MCPLUG_QUEUED, and write several at once: flush() follows. Only for a
 * transport that has flush(). */
#define MCPLUG_MORE 1u

/* caps */
#define MCPLUG_CAN_EXCHANGE 1u   /* replies come per request, cancel() ends one */
#define MCPLUG_MIRRORS_PARAMS 2u /* sends "param:NAME" pairs along; since minor 1 */

#define MCPLUG_QUEUED 1 /* what send() says of a frame it keeps; written() follows */

struct mcplug_transport_ops {
    uint32_t struct_size;
    uint32_t caps;
    /* Starts connecting; opened() or closed() follows. On failure neither does,
     * and there is nothing to destroy. `settings` stay valid until destroy(). */
    int (*open)(void *ctx, mcplug_conn *conn, const mcplug_props *settings, void **out,
                struct mcplug_error *err);
    /* take `frame`; it has no line end. Comes only between opened() and closed().
     * MCPLUG_OK, MCPLUG_QUEUED, or an error, which ends nothing: the connection
     * goes on. */
    int (*send)(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                struct mcplug_error *err);
    void (*close)(void *t);   /* asks; closed() follows, once */
    void (*destroy)(void *t); /* only after closed() */
    /* The request was given up: what has not left is dropped, and with
     * MCPLUG_CAN_EXCHANGE its stream ended. Optional. */
    void (*cancel)(void *t, uint64_t exchange);
    /* The call is over: the rest of its stream is ignored. exchange_end()
     * follows, as always. Optional, for MCPLUG_CAN_EXCHANGE; not after exchange_end().
     * Since minor 1. */
    void (*settled)(void *t, uint64_t exchange);
    /* Bytes that have left and that the peer has not taken yet: it may still be
     * starting. 0 also where that is unknown. Optional. Since minor 3. */
    uint64_t (*unread)(void *t);
    /* No more frames come in this turn: those that were kept because of MCPLUG_MORE are
     * to be written. Also before close(). Optional. Since minor 4. */
    void (*flush)(void *t);
};

struct mcplug_probe_ops {
    uint32_t struct_size;
    uint32_t caps;
    /* Begins one health check; verdict() follows, once. On failure it does not,
     * and there is nothing to destroy. */
    int (*start)(void *ctx, mcplug_check *check, const mcplug_props *settings, void **out,
                 struct mcplug_error *err);
    void (*stop)(void *p); /* too late: verdict() no longer counts */
    void (*destroy)(void *p);
};

struct mcplug_content {
    uint32_t struct_size;
    const char *mime; /* of what goes in with parameters, if it has some; of what comes
                         out without, and text is UTF-8 */
    mcplug_buf *body;
    /* The same as a file: its bytes 0 .. `size`, whatever its position is. What goes in
     * has both, and may be mapped. What comes out has one of them: with `body` NULL the
     * file counts, which a module that is told so by MCPLUG_KNOWS() may give. Since
     * minor 4. */
    int32_t fd;        /* -1: none */
    uint32_t reserved; /* 0 */
    uint64_t size;
};

struct mcplug_limits { /* of what comes out; 0: none */
    uint32_t struct_size;
    uint32_t max_width, max_height;
    uint64_t max_bytes, max_pixels;
    const char *want_mime; /* NULL: same as the input */
};

struct mcplug_task { /* one conversion; borrow, all of it */
    uint32_t struct_size;
    const struct mcplug_content *in;
    const struct mcplug_limits *limits;
    const mcplug_job *job;
    int (*cancelled)(const mcplug_job *job); /* [any] poll it now and then */
    /* What the user's file and the caller say, checked against the feature's options.
     * Since minor 4. */
    const mcplug_props *settings;
    /* A fact about the result, such as "pages" or "width". Copied; the last of a name
     * counts. MCPLUG_EINVAL: a name that is not 1 to 32 of a-z, 0-9 and -, a value that
     * is not UTF-8 or has 256 bytes or more, or more than 16 of them. On the thread of
     * convert(), while that runs. Since minor 4. */
    int (*fact)(const mcplug_job *job, const char *name, const char *value);
};

/* Converters run in a process of their own, mcplug-worker, which has loaded that one
 * module and after init() can open no file, reach no network and start nothing: what is
 * needed from files is read in init(). Only if the user's file says so for this converter
 * are they called in the program itself. host->loop, host->wire and host->health are of
 * no use to them. */
struct mcplug_converter_ops {
    uint32_t struct_size;
    uint32_t caps;
    /* 0 = no, 1..100 = how well. Pure and quick. Of several the best counts. */
    int (*match)(void *ctx, const char *mime, const struct mcplug_limits *limits);
    /* Any thread, several at once: no statics, no host->loop, no host->wire.
     * give out->body; out->mime must be static text. MCPLUG_ETOOBIG: nothing fits the
     * limits; MCPLUG_EPROTO: the content is not what `mime` says, or broken;
     * MCPLUG_ENOTSUP: it is, but of a form that is not known. */
    int (*convert)(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err);
};

/* Keeps secrets: ${NAME:..} in a configuration asks the vault NAME. Since minor 2. */
struct mcplug_vault_ops {
    uint32_t struct_size;
    uint32_t caps;
    /* Looks up one secret; `name` is UTF-8 and not empty. Any thread but the loop's
     * while that runs, several at once: no statics, no host->loop, no host->wire. May
     * block, for a person may have to unlock something, but not for ever.
     * give `out`, made with buf_new() for this call: the caller overwrites its bytes.
     * MCPLUG_EREFUSED: there is no such secret, it was not unlocked, or no user
     * can be asked; the text says which, and never has a secret in it. */
    int (*get)(void *ctx, const char *name, mcplug_buf **out, struct mcplug_error *err);
    /* The same, with the settings that the user's or the administrator's file has for
     * this vault, checked against the feature's options. Called instead of get() if
     * there is one. Since minor 4. */
    int (*get_with)(void *ctx, const char *name, const mcplug_props *settings,
                    mcplug_buf **out, struct mcplug_error *err);
};

/* Finds a server: settings in, another transport with its settings out. Its name is the
 * "type" of an entry, and no transport has the same. What it answers is checked as if it
 * stood in the configuration: the transport's options, the policy. Since minor 4. */
struct mcplug_locator_ops {
    uint32_t struct_size;
    uint32_t caps;
    /* On a thread of its own, several at once: no statics, no host->loop, no host->wire,
     * no host->use(). May block, but the time to connect goes by; an answer that comes
     * later is dropped. Fills `place` by the functions of host->place. */
    int (*locate)(void *ctx, const mcplug_props *settings, mcplug_place *place,
                  struct mcplug_error *err);
};

/* A tool that a model may use. The core has repaired what APIs are known to refuse: the
 * name has 1 to 64 letters, digits, _ and -, the schema's root is a plain object. */
struct mcplug_definition {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    const char *name;
    const char *description;    /* UTF-8, never empty */
    struct mcplug_bytes schema; /* of the arguments: JSON */
};

struct mcplug_prompt { /* what a model is asked */
    uint32_t struct_size;
    uint32_t max_tokens;        /* of the answer; 0: as the settings say */
    const char *model;          /* its name, of those that the API has */
    struct mcplug_bytes system; /* instructions, UTF-8; may be empty */
    /* The first is the user's, and so is the last, but after MCPLUG_STOP_PAUSED; a tool's
     * use is followed by a message that has the result of each, in their order, before
     * all else. */
    const struct mcplug_message *const *messages;
    size_t n_messages;
    /* In an order that stays: what is added later comes last. */
    const struct mcplug_definition *const *tools;
    size_t n_tools;
};

/* What the core reads of a model's settings: every feature of this kind declares them
 * among its options. */
#define MCPLUG_MODEL_OPTIONS                                                             \
    {"model", "string", NULL, "the name that the API has for it"},                       \
        {"contextTokens", "int", "200000", "how long a conversation may be"},            \
        {"priceInput", "string", "", "of a million tokens that are sent"},               \
        {"priceOutput", "string", "", "of a million tokens that are answered"},          \
        {"priceCached", "string", "", "of a million that are read from a cache"},        \
    {                                                                                    \
        "priceToCache", "string", "", "of a million that are written to one"             \
    }

/* Speaks with a model. Its name is the "type" of a model in the configuration. Since
 * minor 4. */
struct mcplug_model_ops {
    uint32_t struct_size;
    uint32_t caps; /* 0 */
    /* For one model of the configuration, or several of one API: keeps connections.
     * `settings` stay valid until close(). */
    int (*open)(void *ctx, const mcplug_props *settings, void **out,
                struct mcplug_error *err);
    void (*close)(void *m); /* all requests are dropped by then */
    /* Begins one request; end() follows, and then drop(). On failure neither does.
     * `prompt` is valid until drop(). */
    int (*ask)(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
               void **out, struct mcplug_error *err);
    /* Frees the request, and ends it if it is under way: nothing is told of it after
     * this. */
    void (*drop)(void *request);
    /* The same as ask(), but no answer is wanted: usage() tells how many tokens of input
     * it would be. Optional. */
    int (*count)(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
                 void **out, struct mcplug_error *err);
};

/* The head of the table that a service is. What follows is between the two modules; a
 * newer version has appended members and does all that the older ones did. Every function
 * takes the provider's ctx first, or something that it gave. Since minor 4. */
struct mcplug_service_ops {
    uint32_t struct_size;
    uint32_t caps;
};

struct mcplug_option {
    const char *name;     /* NULL ends the list */
    const char *type;     /* "string" "int" "bool" "duration" "bytes" "secret"
                             "list" "map"; since minor 4 "url": a string that says where
                             to connect to, which the administrator's policy judges,
                             "addresses": a list that the core sets and people cannot,
                             of what must not be connected to */
    const char *fallback; /* NULL: required, but for lists and maps; "": none */
    const char *help;
};

struct mcplug_feature {
    uint32_t kind;
    uint32_t flags; /* 0 */
    const char *name;
    const char *summary;
    const char *const *accepts; /* URL schemes or mime types, NULL-ended */
    const struct mcplug_option *options;
    const void *ops; /* one of the *_ops above, after `kind` */
    /* Of a transport: the type to try with the same settings when the server of a URL is
     * too old for this one; NULL: none. Since minor 4. */
    const char *next;
    uint32_t version;  /* of a service: what its table has grown to, from 1 */
    uint32_t reserved; /* 0 */
};

struct mcplug_plugin {
    uint32_t magic;
    uint32_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;    /* compiled with */
    uint16_t abi_needs;    /* oldest minor it can live with */
    uint16_t feature_size; /* stride of `features` */
    const char *name, *version, *license, *summary, *origin;
    const struct mcplug_feature *features;
    size_t n_features;
    /* Once per host: a process may have several, each with its loop and thread.
     * So `host` and `self`, valid until fini(), go into *ctx, and not into a static. */
    int (*init)(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err);
    void (*fini)(void *ctx); /* all of its instances are gone by then */
};

/* A descriptor is written in the order of its members, which C++ demands: MCPLUG_HEAD,
 * .name to .origin, MCPLUG_FEATURES, .init, .fini. */
#define MCPLUG_HEAD(needs)                                                               \
    .magic = MCPLUG_MAGIC, .struct_size = sizeof(struct mcplug_plugin),                  \
    .abi_major = MCPLUG_ABI_MAJOR, .abi_minor = MCPLUG_ABI_MINOR, .abi_needs = (needs),  \
    .feature_size = sizeof(struct mcplug_feature)

#define MCPLUG_FEATURES(array)                                                           \
    .features = (array), .n_features = sizeof(array) / sizeof((array)[0])

#if defined(_WIN32)
#define MCPLUG_VISIBLE __declspec(dllexport)
#else
#define MCPLUG_VISIBLE __attribute__((visibility("default")))
#endif

/* One source, two shapes: a module, or compiled into the core. */
#ifdef MCPLUG_BUILTIN
#define MCPLUG_PLUGIN(ident)                                                             \
    extern const struct mcplug_plugin mcplug_builtin_##ident;                            \
    const struct mcplug_plugin mcplug_builtin_##ident
#elif defined(__cplusplus) /* the symbol has its name in any namespace */
#define MCPLUG_PLUGIN(ident)                                                             \
    extern "C" MCPLUG_VISIBLE const struct mcplug_plugin mcplug_plugin_1;                \
    const struct mcplug_plugin mcplug_plugin_1
#else
#define MCPLUG_PLUGIN(ident)                                                             \
    extern MCPLUG_VISIBLE const struct mcplug_plugin mcplug_plugin_1;                    \
    const struct mcplug_plugin mcplug_plugin_1
#endif
#define MCPLUG_SYMBOL "mcplug_plugin_1"

#ifdef __cplusplus
}
#endif
#endif /* MCPLUG_PLUGIN_H */
