/* A rig: a host, a server that is kept up, its users and their calls, and what must hold
 * at the end whatever happened to the server: every call ended once, the books add up,
 * and no process, zombie or descriptor is left. */
#ifndef MATRIX_KIT_H
#define MATRIX_KIT_H

#include <mcplug/mcplug.h>

#include "../process.h"
#include "../unit/now.h"
#include "../unit/quick.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

enum wire { STDIO, HTTP, SSE, WEBSOCKET, WIRES };
extern const char *const wire_names[WIRES];

enum { SHOTS = 1200, USERS = 8, LOGGED = 400 };

struct rig;

struct shot { /* one call */
    struct rig *rig;
    unsigned ended; /* how often */
    mcplug_call *call;
    int user;
    int code, peer_status;
    bool is_error;
    double began, at; /* real ms */
    unsigned order;   /* among those that have ended; from 1 */
    char text[496];
};

struct user { /* of one server */
    struct rig *rig;
    mcplug_server *server; /* NULL: none, or released */
    bool lazy;             /* has no `ready` */
    unsigned ready, released;
    struct mcplug_error why; /* of `ready` */
    double ready_at;
    enum mcplug_state states[256]; /* as told */
    unsigned n_states;
};

struct rig {
    mcplug *host;
    mcplug_settings *settings;
    struct mcplug_server_options ao; /* to be changed before rig_add() */
    enum wire wire;
    bool fake; /* time stands still */
    struct user users[USERS];
    unsigned n_users;
    struct shot shots[SHOTS];
    unsigned n_shots, n_ended;
    char dir[64], notes[128], spill[128], kin[16];
    char lines[LOGGED][256];
    unsigned n_lines;
    unsigned n_fds;
    int port;           /* of a peer on the network */
    unsigned countdown; /* after so many callbacks .. */
    void (*hook)(struct rig *r);
    pid_t peer; /* that peer */
};

/* ---- times ---- */

/* What is promised to be told within 50 ms is given this much where others use the
 * machine too: $MCPLUG_TEST_STRICT asks for 50. Sanitizers and valgrind
 * ($MCPLUG_TEST_VALGRIND) get more. */
unsigned bound_ms(void);
/* The clock of everybody but now_ms() goes forward, at once. */
void clock_jump(unsigned seconds);

/* ---- life ---- */

/* `args` for the peer: "--fail exit 3". One on the network runs when this returns. */
struct rig *rig_new(enum wire wire, const char *args);
struct rig *rig_new_fake(const char *args);    /* over stdio, with a clock of its own */
struct rig *rig_new_fake_over(enum wire wire); /* the same over another wire */
struct user *rig_add(struct rig *r);           /* one more server, as r->ao says */
struct user *rig_add_lazy(struct rig *r);      /* one that starts nothing */
/* rig_new(), two servers that share or one that does not, and waits until ready. */
struct rig *rig_up(enum wire wire, bool shared, const char *args);
void rig_release(struct rig *r, struct user *u);
void rig_end(struct rig *r);
void rig_free(struct rig *r); /* the same, without releasing anything */

/* ---- calls ---- */

struct shot *rig_fire(struct rig *r, unsigned user, const char *tool, unsigned times,
                      uint64_t timeout_ms);
/* One, that may be refused: NULL. */
struct shot *rig_try(struct rig *r, unsigned user, const char *tool, const char *args,
                     const struct mcplug_call_options *o, struct mcplug_error *err);
/* The tool "good" works, for every user. */
void rig_good(struct rig *r);
struct mcplug_status rig_status(struct rig *r); /* checks the books */

/* ---- the loop ---- */

void rig_turn(struct rig *r);
void rig_run(struct rig *r, unsigned ms); /* real ones */
bool rig_done(struct rig *r);             /* all calls have ended */
bool rig_is(struct rig *r, enum mcplug_state state);
/* Until nothing is under way: the server's processes wait for something, and so do we. */
void rig_settle(struct rig *r);
/* Moves the clock by `ms`, at most `step` at once, and settles in between, so that it
 * does not matter how busy the machine is. Stops early when `until` (may be NULL) says
 * so: true. */
bool rig_pass(struct rig *r, uint64_t ms, uint64_t step, bool (*until)(struct rig *r));
uint64_t rig_clock(struct rig *r);
void rig_show(struct rig *r); /* what was logged, for a test that fails */

#define UNTIL(rig, ms, condition)                                                        \
    do {                                                                                 \
        double since_ = now_ms();                                                        \
        while (!(condition)) {                                                           \
            rig_turn(rig);                                                               \
            if (now_ms() - since_ > (ms) && !(condition)) {                              \
                rig_show(rig);                                                           \
                ck_abort_msg("not within %u ms: %s", (unsigned)(ms), #condition);        \
            }                                                                            \
        }                                                                                \
    } while (0)

/* ---- the peer ---- */

void peer_path(char *out, size_t size);
void wait_gone(pid_t pid);      /* fails the test if it does not go */
void rig_kill(struct rig *r);   /* SIGKILL; one on the network starts again */
void peer_stop(struct rig *r);  /* the one on the network, for now */
void peer_start(struct rig *r); /* on the same port */
unsigned rig_noted(const struct rig *r, const char *start); /* lines of the notes */
unsigned rig_logged(const struct rig *r, const char *part);
unsigned kin_alive(const struct rig *r);
bool asleep(pid_t pid);       /* all its threads but this one, its children and theirs */
bool stopped(pid_t pid);      /* all its threads, by a signal */
void check_no_children(void); /* nor dead ones that nobody has waited for */

#endif
