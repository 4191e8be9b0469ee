/* The kit of faults.c: one session with the hostile peer, and what must hold at its
 * end whatever the peer did. */
#ifndef FAULTS_H
#define FAULTS_H

#include <mcplug/mcplug.h>

#include "../process.h"
#include "../unit/now.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What the peer makes obvious is told within this: 50 ms by the plan, more where other
 * processes run beside the tests. $MCPLUG_TEST_STRICT asks for the plan. */
unsigned bound_ms(void);
unsigned work_bound_ms(void); /* of work_ms() */
bool long_run(void);          /* $MCPLUG_TEST_LONG: full sizes */

enum { SHOTS = 512, LINES = 512 };

/* One call and how often it ended. */
struct shot {
    unsigned ended;
    mcplug_call *call; /* NULL once it has ended */
    int code, peer_status;
    char text[496];
    mcplug_result *result; /* ours */
    double ms;             /* from its start to its end */
};

struct line {
    int level;
    char text[512];
};

struct peer {
    mcplug *host;
    mcplug_server *server;
    struct mcplug_server_options o; /* to be changed before peer_open */
    mcplug_settings *settings;
    struct mcplug_error err;
    char spill_dir[64];

    unsigned ready, dropped; /* how often */
    bool was_ready;          /* it said so */
    struct mcplug_error why; /* of the last of either */
    struct line lines[LINES];
    unsigned n_lines, n_bad; /* n_bad: warnings and errors, kept or not */
    uint64_t remarks, remark_bytes, changes;
    unsigned questions;
    mcplug_input *kept[256]; /* with keep_questions */
    bool keep_questions;

    struct shot shots[SHOTS];
    unsigned n_shots;
    double began;
    long hwm_kb; /* at the beginning */
    unsigned n_fds;
};

/* `mode` is the peer's command line: "--legacy exit-on-call 3". */
struct peer *peer_new(const char *mode);
/* One that is there already; `type` may be NULL. */
struct peer *peer_new_url(const char *type, const char *url);
int peer_open(struct peer *p); /* waits for ready; its code */
struct peer *peer_up(const char *mode);
/* Closes, frees, and checks: every call ended once, the books add up, no process and
 * no descriptor is left. */
void peer_end(struct peer *p);

/* Runs the loop until `fn` says so; fails the test after `ms`. */
void peer_until(struct peer *p, bool (*fn)(struct peer *p), unsigned ms);
void peer_run(struct peer *p, unsigned ms);
bool all_ended(struct peer *p);
bool last_ended(struct peer *p); /* the last that was fired */
bool was_dropped(struct peer *p);
void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
              const struct mcplug_error *why);
bool is_ready(struct peer *p);

struct shot *fire(struct peer *p, const char *tool, unsigned times, uint64_t timeout_ms);
/* Fires and waits for the end of all. The first of them. */
struct shot *shoot(struct peer *p, const char *tool, unsigned times, unsigned within_ms);
void check_good(struct peer *p); /* the tool "good" works */
struct mcplug_ledger books(struct peer *p);

unsigned logged(const struct peer *p, int level, const char *part);
void check_memory(const struct peer *p, long mb); /* grown by no more than that */
void check_growth(long since_kb, long mb);        /* the same, since peak_kb() was that */
const char *text_of(const struct shot *s);        /* content[0].text */
long peak_kb(void);                               /* of our memory, so far */

/* "dropped" came once, with that text, and the two lines of it were logged. */
void check_dropped(struct peer *p, const char *text);

void add_reply_tests(Suite *suite);
void add_flood_tests(Suite *suite);
void add_life_tests(Suite *suite);
void add_closing_tests(Suite *suite);
void add_connect_tests(Suite *suite);

#endif
