/* What the suites of the keeper share: a server that does as it is told, and somebody who
 * waits for it. */
#ifndef TEST_KEEPER_KIT_H
#define TEST_KEEPER_KIT_H

#include "quick.h"
#include "registry/keeper.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum doing { NOTHING, STARTS, STOPS };

struct server {
    struct mp_keeper k; /* first */
    enum doing doing;
    unsigned changes, starts;
};

struct person {
    struct mp_waiter w; /* first */
    int answers;
    int code;
    uint64_t at; /* the last answer */
    char text[512];
};

static inline void on_start(struct mp_keeper *k)
{
    struct server *server = (struct server *)k;
    HOLDS(server->doing == NOTHING, "started twice"); /* one loop per server */
    server->doing = STARTS;
    server->starts++;
}

static inline void on_stop(struct mp_keeper *k)
{
    struct server *server = (struct server *)k;
    HOLDS(server->doing != STOPS, "stopped twice");
    server->doing = STOPS;
}

static inline void on_done(struct mp_waiter *w, const struct mcplug_error *why)
{
    struct person *p = (struct person *)w;
    p->answers++;
    p->at = mp_loop_now(w->keeper->loop);
    p->code = why ? why->code : MCPLUG_OK;
    snprintf(p->text, sizeof p->text, "%s", why ? why->text : "");
}

static inline struct mcplug_error because(int code, const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mp_fail(&err, code, "%s", text);
    return err;
}

#endif
