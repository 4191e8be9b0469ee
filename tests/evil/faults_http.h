/* The kit of faults_http.c: the hostile HTTP peer as a process, and a session with it. */
#ifndef FAULTS_HTTP_H
#define FAULTS_HTTP_H

#include "faults.h"

struct web {
    int port, port2;
    int lifeline; /* its stdin; -1: not started */
    bool gone;    /* web_stop() */
    char text[256 * 1024];
};

/* Starts the peer of this test, which has one at most. */
struct web *web_start(void);
void web_stop(void); /* it is gone, and what it had open with it */

/* A session with "MODE?QUERY" of it; starts it if need be. `type` may be NULL. */
struct peer *web_new(const char *type, const char *where);
struct peer *web_up(const char *where); /* and waits until it is ready */
/* peer_end(), and: nothing is connected to the peer any more. */
void web_end(struct peer *p);

const char *web_ask(int port, const char *path);     /* GET; the body */
unsigned long web_stat(const char *name);            /* one of /stats */
void web_wait_open(struct peer *p, unsigned long n); /* so many connections at most */

/* Codes as they read in tables. */
const char *code_name(int code);
void check_call(const char *where, const struct shot *s, int code, int status,
                const char *text);

void add_http_reply_tests(Suite *suite);
void add_http_connect_tests(Suite *suite);
void add_http_flood_tests(Suite *suite);
void add_http_budget_tests(Suite *suite);
void add_http_stream_tests(Suite *suite);
void add_http_load_tests(Suite *suite);
void add_sse_tests(Suite *suite);

#endif
