/* client_kit.h - what the conformance scenarios share: one connection to the server of
 * the suite, requests that wait, and answers to a server's questions. libmcplug's public
 * API and jansson, nothing else, but for what the command alone can do.
 *
 * Functions that return int give 0, or -1 after a line on stderr that says why.
 */
#ifndef CONFORMANCE_CLIENT_KIT_H
#define CONFORMANCE_CLIENT_KIT_H

#include <mcplug/mcplug.h>

#include <jansson.h>

enum { /* what a scenario wants the server to be told */
       ASKS_ELICIT = 1,
       ASKS_SAMPLE = 2,
       ASKS_ROOTS = 4,
       RUNS_COMMAND = 8 /* nothing: the command does it all, and there is no connection */
};

struct client {
    const char *url;
    mcplug *host;
    mcplug_server *server;
    json_t *context;         /* MCP_CONFORMANCE_CONTEXT, or NULL */
    mcplug_input_fn *elicit; /* instead of the answer with defaults, for now */
    unsigned questions;      /* that were answered */
    mcplug_input *held;      /* a scenario's own: a question that has to wait, */
    const char *while_held;  /* the tool that is called meanwhile, */
    int while_held_ended;    /* and whether it answered */
};

/* Connects to `url`; `asks` is ASKS_*. client_close() either way. */
int client_open(struct client *c, const char *url, unsigned asks);
void client_close(struct client *c);

/* Says on stderr what went wrong; returns -1. */
int client_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Any request; `params` is borrowed and may be NULL. give `out`, which may be NULL. */
int client_request(struct client *c, const char *method, const json_t *params,
                   json_t **out);
/* Is there somebody? Any answer will do. */
int client_ping(struct client *c);
/* All pages of a list, as an array. give `out` */
int client_list(struct client *c, enum mcplug_kind kind, json_t **out);
/* Calls a tool; `arguments` is borrowed and may be NULL. With `want`, its result must
 * begin with a text that has this in it. */
int client_call(struct client *c, const char *tool, const json_t *arguments,
                const char *want);

/* Runs $MCPLUG_COMMAND with `words`, NULL-ended, --url and that of the server. `out` gets
 * its exit status. */
int client_command(struct client *c, const char *const words[], int *out);

/* The element of an array of objects whose `name` is this. borrow, or NULL */
json_t *client_find(const json_t *items, const char *name);
/* A value for every property of an object's schema: the default, else the simplest of its
 * type. give */
json_t *client_fill(const json_t *schema);

#endif /* CONFORMANCE_CLIENT_KIT_H */
