#include "soak.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static unsigned long meddled;

enum { BURST = 500, PATIENCE_MS = 3000 };

/* ---- one server ---- */

static void kill_server(struct server *s)
{
    struct mcplug_status st;

    if (s->breed->gate >= 0)
        gate_tell(s->breed->gate, 'k');
    else if (status_of(s, &st) && st.pid)
        kill((pid_t)st.pid, SIGKILL);
}

static void stop_server(struct server *s)
{
    struct mcplug_status st;

    if (s->wake_at || !status_of(s, &st) || (s->breed->gate < 0 && !st.pid))
        return;
    s->stopped = s->breed->gate < 0 ? st.pid : 0;
    if (s->stopped)
        kill((pid_t)s->stopped, SIGSTOP);
    else
        gate_tell(s->breed->gate, 's');
    s->wake_at = now_ms() + 1000 + (double)chance(4000);
}

/* It may be gone meanwhile, and its number somebody else's: this does no harm then. */
static void wake_server(struct server *s)
{
    if (s->stopped)
        kill((pid_t)s->stopped, SIGCONT);
    else
        gate_tell(s->breed->gate, 'c');
    s->wake_at = 0;
}

static void reset_server(struct server *s)
{
    if (s->breed->gate >= 0)
        gate_tell(s->breed->gate, 'r');
    else
        kill_server(s);
}

static void restart_server(struct server *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct user *u = any_user(s);
    int r = u ? mcplug_restart(u->hold, &err) : 0;

    if (r != 0 && r != MCPLUG_ERESTARTING)
        wrong("%s: can't be restarted: %s", s->breed->name, err.text);
}

/* Some of its users, or all; some come back at once, the others a little later. */
static void renew_users(struct server *s)
{
    unsigned n = s->breed->users, how_many = 1 + (unsigned)chance(n ? n : 1);

    if (s->box) {
        box_free(s);
        box_new(s);
    }
    for (unsigned i = 0; i < how_many && i < n; i++) {
        user_release(s, i);
        if (chance(2))
            user_acquire(s, i);
    }
}

static void burst(struct server *s)
{
    load_burst(s, BURST);
}

static void crash_loop(struct server *s)
{
    s->crash_until = now_ms() + 3000;
}

static void cancel_all(struct server *s)
{
    struct user *u = any_user(s);

    load_burst(s, 20);
    if (u)
        load_cancel(u);
}

/* What its kind does wrong at a call of "bad". */
static void misbehave(struct server *s)
{
    load_bad(s, 4);
}

/* ---- which ---- */

static struct fault {
    const char *name;
    void (*run)(struct server *s);
    const char *only; /* that server; NULL: any */
    unsigned long times;
} faults[] = {
    {"SIGKILL", kill_server, NULL, 0},
    {"SIGSTOP", stop_server, NULL, 0},
    {"reset of connections", reset_server, NULL, 0},
    {"restart by hand", restart_server, NULL, 0},
    {"release and acquire", renew_users, NULL, 0},
    {"burst of calls", burst, NULL, 0},
    {"crash loop", crash_loop, NULL, 0},
    {"garbage on stdout", misbehave, "noisy", 0},
    {"flood of stderr", misbehave, "loud", 0},
    {"misbehaviour", misbehave, NULL, 0},
    {"cancel of everything", cancel_all, NULL, 0},
};
enum { FAULTS = sizeof faults / sizeof *faults };

void mischief_one(void)
{
    struct fault *f = &faults[fate(FAULTS)];
    struct server *s = &soak.servers[fate(soak.n_servers)];

    for (unsigned i = 0; f->only && i < soak.n_servers; i++)
        if (strcmp(soak.servers[i].breed->name, f->only) == 0)
            s = &soak.servers[i];
    if (soak.verbose)
        printf("%s: %s\n", s->breed->name, f->name);
    f->run(s);
    f->times++;
    soak.faults++;
}

/* Delays grow with every crash up to a minute, and a fleet that waits is no load: whoever
 * would wait for long is started by hand, as an operator does. */
static void attend(struct server *s)
{
    struct mcplug_status st;

    if (!status_of(s, &st) || st.state != MCPLUG_STATE_WAITING ||
        st.next_ms < PATIENCE_MS)
        return;
    restart_server(s);
    soak.kicks++;
}

void mischief_meddle(struct user *u, unsigned one_in)
{
    struct server *s = u->server;

    if (soak.at_rest || u->released || chance(one_in))
        return;
    meddled++;
    switch (chance(4)) {
    case 0:
        load_cancel(u);
        break;
    case 1:
        for (unsigned i = 0; i < s->breed->users; i++)
            if (s->users[i] == u) {
                user_release(s, i);
                user_acquire(s, i);
                break;
            }
        break;
    default:
        load_burst(s, 3);
        break;
    }
}

void mischief_tick(void)
{
    static unsigned long ticks;
    double now = now_ms();

    ticks++;
    for (unsigned k = 0; k < soak.n_servers; k++) {
        struct server *s = &soak.servers[k];
        if (s->wake_at && s->wake_at <= now)
            wake_server(s);
        if (s->crash_until > now && ticks % 5 == 0)
            kill_server(s);
        else if (ticks % 50 == k)
            attend(s);
        for (unsigned i = 0; ticks % 50 == 0 && i < s->breed->users; i++)
            if (!s->users[i] && chance(2))
                user_acquire(s, i);
    }
}

void mischief_stop(void)
{
    for (unsigned k = 0; k < soak.n_servers; k++) {
        soak.servers[k].crash_until = 0;
        if (soak.servers[k].wake_at)
            wake_server(&soak.servers[k]);
    }
}

void mischief_tell(void)
{
    for (unsigned i = 0; i < FAULTS; i++)
        printf("%s%s %lu", i ? ", " : "faults: ", faults[i].name, faults[i].times);
    printf("; %lu restarts after long waits, %lu deeds inside of callbacks\n", soak.kicks,
           meddled);
}
