/* listener.h - processes that listen on 127.0.0.1, for one test.
 *
 * Each is started by the test and ended by its pid, at the latest in the fixture's
 * teardown; should the test fail before that, with the test itself. What it writes is
 * read whenever the loop turns, so REAL_UNTIL can wait for it.
 */
#ifndef TESTS_REAL_LISTENER_H
#define TESTS_REAL_LISTENER_H

#include "fixture.h"

#include <poll.h>

enum { LISTENERS_MAX = 8 };

struct listener {
    pid_t pid; /* 0: ended */
    int port;  /* 0 until it has told */
    int in, out;
    char *log; /* stdout and stderr, a C string; never NULL */
    size_t len;
};

#define LISTENER_LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Starts `script`, as in real_use, with Node and waits until it listens. listen.cjs says
 * what its log has. The lists end with NULL; `env` ("NAME=value") may be NULL. */
struct listener *listener_node(const char *script, const char *const *args,
                               const char *const *env);
/* Any program; does not wait. */
struct listener *listener_start(const char *const *argv, const char *const *env);
/* A socket whose port nobody listens at, nor will until the caller closes it. */
int listener_nobody(int *port);
/* Ends it, if it has not ended, and waits for that. Its log stays until the teardown. */
void listener_end(struct listener *l);
void listener_say(struct listener *l, const char *line);

/* How often the log has `part`, from `from` on. */
int listener_count(const struct listener *l, size_t from, const char *part);
#define LISTENER_TOLD(l, part) REAL_UNTIL(strstr((l)->log, part) != NULL)

/* ---- for the fixture ---- */

size_t listeners_poll(struct pollfd *out); /* at most LISTENERS_MAX */
void listeners_read(void);
void listeners_end_all(void);
const char *listeners_said(void); /* all logs, for messages */

#endif
