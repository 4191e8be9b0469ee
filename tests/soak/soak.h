/* The parts of the soak: servers that stay up, for a long time and against all odds.
 *
 *   fleet.c     the servers and who uses them: users, toolboxes, gates
 *   load.c      calls, and that each of them ends once
 *   mischief.c  what goes wrong, once a second
 *   sample.c    memory, descriptors, processes, and whether they stay what they were
 *   soak.c      the run
 *
 * It sees of the library what a program sees. */
#ifndef SOAK_H
#define SOAK_H

#include <mcplug/mcplug.h>

#include "own.h"

#include "../unit/now.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SERVERS_MAX = 24, USERS_MAX = 8, GATES = 3, CALL_MS = 10000, READY_MS = 60000 };

/* What a server can be asked for. */
enum kin { EXAMPLE, EVIL, SOCKETS };

/* One service, from the first user of it to the last. */
struct life {
    uint64_t issued, ended[OUTCOMES]; /* as counted by ourselves, by outcome */
    unsigned users;                   /* that are not gone */
    unsigned shots;                   /* under way */
    uint64_t restarts;                /* as told last */
};

struct server;

struct user { /* of one server */
    struct server *server;
    struct life *life;
    mcplug_server *hold;
    unsigned shots; /* under way */
    double since;
    bool ready_due, released;
};

struct breed {
    const char *name;
    enum kin kin;
    const char *type;    /* of the settings */
    const char *program; /* stdio: below the build directory */
    const char *args;    /* stdio: words; else what follows the port in the URL */
    int gate;            /* -1: none */
    unsigned users;
    bool dedicated;
    const char *queue;
    uint64_t idle_ms;
};

struct server {
    const struct breed *breed;
    mcplug_settings *settings;
    struct life *life;
    struct user *users[USERS_MAX];
    double crash_until;  /* a loop of crashes */
    double wake_at;      /* stopped until then; 0: it is not */
    int64_t stopped;     /* the process that is; 0: the gate's */
    mcplug_toolbox *box; /* its server is held there, and no user */
};

extern struct soak {
    mcplug *host;
    struct server servers[SERVERS_MAX];
    unsigned n_servers;
    unsigned users_left; /* not told yet that they are gone */
    unsigned boxes_left;
    double seconds;
    uint64_t seed, luck, fate; /* of the load, of what goes wrong */
    bool verbose;
    double
        loop_ms; /* how long the loop has been turned; not what we, or all, stood still */
    bool at_rest; /* or on the way there: nothing goes wrong */
    unsigned failures;
    unsigned long faults, kicks;
    uint64_t restarts; /* of services that are gone */
    uint64_t issued, refused, ended[OUTCOMES];
} soak;

/* ---- soak.c ---- */

uint64_t chance(uint64_t below); /* 0 .. below - 1 */
/* The same for what goes wrong: with the same seed the same things, in the same seconds,
 * however many calls there were between them. */
uint64_t fate(uint64_t below);
/* Something is not as it should be; the run goes on, and fails. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
void turn(unsigned ms); /* of the loop, that long at most */

/* ---- fleet.c ---- */

void gates_start(void);
void gates_end(void);
unsigned gate_processes(void); /* how many of them there are, peers included */
void gate_tell(int gate, char what);
void fleet_new(void);
void fleet_free(void);
void fleet_acquire(void);
/* Every server works again, once it is left alone. */
void fleet_recover(void);
/* Lets go of everything, and waits until nothing of it is left. */
void fleet_release(void);
void user_acquire(struct server *s, unsigned i);
void user_release(struct server *s, unsigned i);
void box_new(struct server *s);
void box_free(struct server *s);
struct user *any_user(struct server *s); /* NULL: none, just now */
/* False: nobody holds it just now. */
bool status_of(struct server *s, struct mcplug_status *out);
/* Compares what the library counts with what we do. */
void check_books(struct server *s);
uint64_t restarts_so_far(void);
void life_settle(struct life *life);

/* ---- load.c ---- */

void load_tick(unsigned calls); /* so many more, of all kinds */
void load_burst(struct server *s, unsigned n);
void load_bad(struct server *s, unsigned n); /* what its kind does wrong */
void load_cancel(const struct user *u);      /* everything of it; NULL: of all */
void load_look(void);                        /* whose time has come, or is over */
void load_proof(struct server *s);           /* a call that any good server answers */
unsigned load_under_way(void);

/* ---- mischief.c ---- */

void mischief_one(void);  /* something, anywhere */
void mischief_tick(void); /* what lasts for a while */
/* From a callback of that user, now and then: it calls, cancels, or leaves. */
void mischief_meddle(struct user *u, unsigned one_in);
void mischief_stop(void);
void mischief_tell(void);

/* ---- sample.c ---- */

void sample_take(double at_s, bool calm);
void sample_last(char *out, size_t size); /* in a few words */
void sample_judge(double seconds);
bool sample_any_left(void); /* processes of this run, wherever they are */

#endif
