/* The parts of the monkey: a program that does anything at any time, with servers that
 * misbehave over wires that fail.
 *
 *   wires.c   the servers, and the ways to them through chaos.c
 *   shots.c   calls, lists and what else ends once
 *   acts.c    what can be done with a host, any of it at any time
 *   hosts.c   hosts: who runs them, what blocks, and their end
 *   look.c    memory, descriptors, processes, files
 *   monkey.c  hosts, rounds and the run
 *
 * It sees of the library what a program sees. */
#ifndef MONKEY_H
#define MONKEY_H

#include <mcplug/mcplug.h>

#include "../soak/own.h"
#include "book.h"

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HOSTS = 3,
    HOLDS = 10,
    BOXES = 2,
    SHOTS = 512,
    KEPT = 12,
    NOTES = 48,
    NOTE_SIZE = 96,
    DEPTH = 3
};

/* Who runs the loop of a host: we, also with mcplug_run(); a thread of the library; we,
 * asking for events. */
enum drive { TURNS, THREAD, PULLS, DRIVES };

struct host;

/* One server that was opened, until its free_arg has run. */
struct hold {
    struct host *host;
    mcplug_server *server;
    unsigned number;
    bool is_clean; /* nothing on its wire changes what is said */
    bool ready_due, closed;
    bool lent; /* another thread waits for an answer of it */
    /* Calls as we count them; not exact when some were made with mcplug_*_wait(). */
    bool inexact;
    uint64_t issued, ended[OUTCOMES];
    unsigned under_way;
    unsigned users; /* who must not lose it: the slot, the library, a wait */
};

/* One request. Its callback gets its number, which is not used again, so that who is told
 * twice is found. */
struct shot {
    uint64_t number; /* 0: none */
    mcplug_call *call;
    struct hold *hold; /* NULL: not counted by a server of ours */
    bool echo;         /* its answer has its number */
};

struct box {
    struct host *host;
    mcplug_toolbox *box; /* NULL: none */
    unsigned n_added;
};

/* A result that is kept, and what it was when it came. */
struct kept {
    mcplug_result *result;
    uint64_t sum;
};

struct host {
    unsigned index;
    mcplug *mcplug; /* NULL: none */
    enum drive drive;
    uint64_t luck;
    struct hold *holds[HOLDS];
    struct box boxes[BOXES];
    struct shot shots[SHOTS];
    uint64_t last_number;
    unsigned n_holds; /* made */
    struct kept results[KEPT];
    mcplug_call *calls[KEPT];
    mcplug_list *lists[KEPT];
    const struct mcplug_record *records[KEPT];
    mcplug_input *inputs[KEPT];
    mcplug_config *config;
    /* What somebody is to be told yet. */
    struct due {
        long shots, ready, closed, args, warm, freed, posts;
    } due;
    atomic_int posted; /* acts that wait for their turn on its thread */
    unsigned depth;    /* of callbacks */
    bool is_ending;    /* callbacks do nothing any more */
    bool is_freeing;   /* inside mcplug_free() */
    char notes[NOTES][NOTE_SIZE];
    unsigned n_notes;
    uint64_t acts, issued, refused, lists_asked, ended[OUTCOMES];
    sem_t lent;
};

extern struct monkey {
    uint64_t seed, luck;
    double seconds;
    bool verbose;
    atomic_uint failures;
    struct book *book;
    char dir[64];  /* of everything that is written */
    char mark[32]; /* in the environment of all servers that the library starts */
    struct host hosts[HOSTS];
    uint64_t acts, issued, refused, lists_asked, ended[OUTCOMES];
} monkey;

/* ---- monkey.c ---- */

/* Below `below`, of the numbers of that host. */
unsigned any(struct host *h, unsigned below);
bool one_in(struct host *h, unsigned n);
/* What is done, for the report of a failure. */
void note(struct host *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something is not as it should be; the run goes on, and fails. */
void wrong(struct host *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- wires.c ---- */

void wires_start(void);
void wires_end(void);
void wires_tell(char what); /* to all proxies */
bool wires_are(int pid);    /* is it one of the proxies? */
unsigned wires_count(void);
/* A server over wire `i`, or any. `clean` is set if nothing changes what it says. */
mcplug_settings *wire_settings(struct host *h, int i, bool *clean);
/* A server that answers `echo`, when everything is left alone; NULL: there are no more.
 */
mcplug_settings *wire_good(struct host *h, unsigned i, const char **name);
/* {"mcpServers": ..} with names that wire_name() has. */
void wires_config(struct host *h, char *out, size_t size);
const char *wire_name(struct host *h);

/* ---- shots.c ---- */

struct shot *shot_new(struct host *h, struct hold *hold); /* NULL: too many */
void *shot_arg(struct host *h, const struct shot *s);
/* After the call was made, or refused (NULL). */
void shot_made(struct host *h, struct shot *s, mcplug_call *call,
               const struct mcplug_error *err);
mcplug_done_fn on_done;
mcplug_list_fn on_list;
mcplug_record_fn on_record;
void on_progress(void *arg, mcplug_call *call, double progress, double total,
                 const char *message);
void on_progress_json(void *arg, mcplug_call *call, const char *params, size_t len);
void on_arg_freed(void *arg);
void on_event(struct host *h, const struct mcplug_event *e);
struct hold *hold_new(struct host *h, mcplug_server *server);
void hold_unref(struct hold *hold);
void hold_check(struct hold *hold); /* what the library counts, and we do */
void result_keep(struct host *h, mcplug_result *result);
void kept_check(struct host *h, struct kept *k);
void kept_clear(struct host *h); /* everything that is kept */

/* ---- acts.c ---- */

void act(struct host *h);              /* anything */
void meddle(struct host *h);           /* in a callback: anything, now and then */
struct hold *any_hold(struct host *h); /* NULL: there is none */
struct box *any_box(struct host *h);
void hold_options(struct host *h, struct hold *hold, struct mcplug_server_options *o);
/* After it was opened, or not. */
void hold_made(struct host *h, struct hold *hold, int r, const struct mcplug_error *err);
void hold_close(struct hold *hold);
void take_out(struct host *h, struct hold *hold); /* it is about to be closed */
void input_answer(struct host *h, mcplug_input *input);
void on_box_freed(void *arg);

/* ---- hosts.c ---- */

void host_new(struct host *h, enum drive drive);
void host_turn(struct host *h); /* what is due, in the way of that host */
void host_act(struct host *h);  /* one act, on the thread of its loop */
void host_wait(struct host *h); /* something that blocks, on this thread */
/* Ends everything that was begun, or leaves it to mcplug_free(); nothing may be left. */
void host_free(struct host *h);
/* Every wire carries a call, once it is left alone. */
void hosts_proof(void);

/* ---- look.c ---- */

void look_start(void);
/* Nobody holds anything: is everything as it was? */
void look_at_rest(double at_s);
void look_judge(void);

#endif
