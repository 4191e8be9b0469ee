/* The kit behind `mcplug plugins --check`: it plays the core for one module. The way
 * in is the catalogue's own; behind `wire` and the counted buffers stand records of
 * what the module does with them. */
#ifndef CHECK_KIT_H
#define CHECK_KIT_H

#include "plugin/catalogue.h"

#include <pthread.h>
#include <sys/types.h>

struct mp_kit_report {
    /* One finding. */
    void (*finding)(void *arg, bool passed, const char *line);
    /* What of the module is called next: should it not come back, that is to blame. May
     * be NULL. */
    void (*calls)(void *arg, const char *what);
    void *arg;
};

/* Tries a module against its contract: descriptor, options, init and fini twice, and
 * for transports one life (open, a ping-like frame, close) with `settings` on a loop
 * and a thread of its own, with everything it tells the core checked for order and count.
 * A model is asked: with a URL in `settings`, what is there; one that has an option for a
 * URL, and was not given it, an endpoint of the kit that fails.
 * `report` gets one line per finding; advice has passed and begins with "warning: ".
 * Returns the number of failed checks, not loading being one, or a negative error when
 * the kit itself cannot work. `words`, NULL-ended, is what vaults, probes, locators and
 * converters are tried with: the name of a secret; a server, by its command or its name
 * in the configuration; a file. NULL: vaults, probes and converters are not. `settings`
 * may be NULL; a transport that needs some is not brought to life, and a line tells
 * which. The module must not be loaded by anybody else in this process; a broken one may
 * take the process with it, and one that does not return from a call leaves the thread
 * behind. */
int mp_plugin_contract(const char *file, const mcplug_props *settings,
                       const char *const *words, const struct mp_kit_report *report,
                       struct mcplug_error *err);

struct mp_kit {
    struct mp_kit_report report;
    struct mp_events log;
    struct mp_loop *loop;
    struct mp_catalogue *cat;
    const char *const *words; /* see mp_plugin_contract(); borrow */
    struct mp_kit_peer *peer; /* for probes; NULL: none */
    struct mp_kit_endpoint
        *endpoint; /* for a model; NULL: it has its own, or needs none */
    bool has_probe;
    bool stuck;       /* an instance could not be ended: nothing may be freed */
    bool timers_left; /* by a fini(), which was reported */
    struct mp_kit_process *process; /* as it was before the call under way */
    int stdout_was, stdout_now;     /* -1: none */
    off_t stdout_seen;              /* bytes of it that were told of */

    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t over_changed;
    int failed;
    char calls[160]; /* what of the module was called last, .. */
    bool inside;     /* .. and has not returned, .. */
    uint64_t since;  /* .. in ms */
    bool over;       /* the kit's thread has ended */
    bool left;       /* it is not waited for any more, and says nothing */
};

/* One finding. [any] */
void mp_kit_say(struct mp_kit *kit, bool passed, const char *fmt, ...)
    MCPLUG_PRINTF(3, 4);

/* One in lower case, without parameters. */
bool mp_kit_is_mime(const char *text);

/* ---- call.c ---- */

/* Around everything of the module that is called: it must come back in time, and leave
 * alone what is the program's. "transport \"x\": send()" */
void mp_kit_enter(struct mp_kit *kit, const char *fmt, ...) MCPLUG_PRINTF(2, 3);
uint64_t mp_kit_leave(struct mp_kit *kit); /* how long it took, in ms */

/* Runs kit->loop until so(arg), or the time is over, and returns so(arg). What the module
 * has on the loop may be called, of which each takes no longer than others. `who`:
 * "transport \"x\"" */
bool mp_kit_await(struct mp_kit *kit, const char *who, bool (*so)(const void *arg),
                  const void *arg, uint64_t ms);

/* Runs fn(arg) on a thread and waits for its end. False: a call did not return, which was
 * reported; the thread is left behind with `kit` and `arg`. */
bool mp_kit_run(struct mp_kit *kit, void (*fn)(void *arg), void *arg);

/* ---- process.c: what belongs to the program and not to the module ---- */

struct mp_kit_process *mp_kit_process_new(void); /* give; as it is now. NULL: no memory */
void mp_kit_process_free(struct mp_kit_process *p);
/* Reports what `who` has changed since kit->process. */
void mp_kit_process_compare(struct mp_kit *kit, const char *who);

/* What is written to stdout is kept from others, and reported. */
void mp_kit_stdout_take(struct mp_kit *kit);
void mp_kit_stdout_check(struct mp_kit *kit, const char *who);
void mp_kit_stdout_give_back(struct mp_kit *kit);

#define MP_KIT_DESCRIPTORS 1024 /* higher ones are not looked at */
struct mp_kit_descriptors {
    bool open[MP_KIT_DESCRIPTORS];
};
void mp_kit_descriptors_look(struct mp_kit_descriptors *out);
void mp_kit_descriptors_compare(struct mp_kit *kit, const struct mp_kit_descriptors *was);

/* ---- memory.c: host->mem ---- */

void *mp_kit_memory_alloc(size_t size);
void *mp_kit_memory_resize(void *p, size_t size);
void mp_kit_memory_free(void *p);
bool mp_kit_memory_note(const void *p, size_t size); /* false: no memory */
void mp_kit_memory_forget(const void *p);            /* it was not noted: fine */
size_t mp_kit_memory_left(size_t *bytes);            /* blocks that were not freed */

/* ---- transport.c ---- */

extern const struct mcplug_mem mp_kit_mem;
extern const struct mcplug_wire mp_kit_wire;

/* A buffer that a module borrows. take_back() frees it, unless the module has references
 * of its own, and returns how many there were: 1 is in order. */
mcplug_buf *mp_kit_buf_lend(const void *data, size_t len); /* NULL: no memory */
int mp_kit_buf_take_back(mcplug_buf *buf);

/* One life of a transport, from open() to destroy(), with `settings` that are checked
 * already. */
void mp_kit_live(struct mp_kit *kit, const struct mp_offer *offer,
                 const mcplug_props *settings);

/* ---- probe.c ---- */

extern const struct mcplug_health mp_kit_health;

/* The server that probes are tried with; give. NULL: it cannot be reached. */
struct mp_kit_peer *mp_kit_peer_open(const char *const *words, struct mcplug_error *err);
void mp_kit_peer_close(struct mp_kit_peer *peer);

/* One check of kit->peer. */
void mp_kit_probe(struct mp_kit *kit, const struct mp_offer *offer,
                  const mcplug_props *settings);

/* ---- ask.c ---- */

/* A vault is asked for the secret kit->words[0]. */
void mp_kit_vault(struct mp_kit *kit, const struct mp_offer *offer,
                  const mcplug_props *settings);
void mp_kit_locate(struct mp_kit *kit, const struct mp_offer *offer,
                   const mcplug_props *settings);

/* ---- endpoint.c: a server that models are led to ---- */

enum mp_kit_answer {
    MP_KIT_UNAUTHORIZED, /* 401 */
    MP_KIT_TOO_MANY,     /* 429, with Retry-After */
    MP_KIT_BROKEN,       /* 500 */
    MP_KIT_GARBAGE,      /* 200, and no JSON */
    MP_KIT_CUT,          /* 200, and the connection is closed in the body */
    MP_KIT_SILENT        /* none */
};

struct mp_kit_endpoint *mp_kit_endpoint_open(void); /* give; NULL: it cannot be */
const char *mp_kit_endpoint_url(const struct mp_kit_endpoint *e);
/* From the next request on. */
void mp_kit_endpoint_set(struct mp_kit_endpoint *e, enum mp_kit_answer answer);
unsigned mp_kit_endpoint_requests(const struct mp_kit_endpoint *e); /* so far */
void mp_kit_endpoint_stop(struct mp_kit_endpoint *e); /* nothing listens any more */
void mp_kit_endpoint_free(struct mp_kit_endpoint *e);

/* ---- model.c ---- */

extern const struct mcplug_reply_ops mp_kit_reply;

/* Does it declare what the core reads of a model? */
void mp_kit_model_options(struct mp_kit *kit, const struct mcplug_feature *f);
/* Asks it. One that was led to kit->endpoint sees that fail in all the ways that
 * endpoints do; any other may answer. */
void mp_kit_model(struct mp_kit *kit, const struct mp_offer *offer,
                  const mcplug_props *settings);

/* ---- converter.c ---- */

/* Asks match() for the types that are accepted, and for one that nobody knows. */
void mp_kit_match(struct mp_kit *kit, const struct mp_offer *offer);
/* Converts the file kit->words[0], of 50 MiB at most. */
void mp_kit_converter(struct mp_kit *kit, const struct mp_offer *offer,
                      const mcplug_props *settings);

#endif
