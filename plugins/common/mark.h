/* plugins/common/mark.h - the mark of one start of a server, by which processes of it are
 * found that left its tree.
 *
 * It is random, and one of the marks in the environment of the server, in the variable
 * MARK_VARIABLE: a server that is a host itself passes the marks that it got on to its
 * own servers, so that they are found with it. A process keeps its mark until it executes
 * a program with another environment or overwrites the memory of its own.
 */
#ifndef MCPLUG_MARK_H
#define MCPLUG_MARK_H

#include <stdbool.h>
#include <stddef.h>

#define MARK_VARIABLE "MCPLUG_RUN"
#define MARK_LEN 32 /* hex digits, of 128 random bits */
#define MARK_NEST 8 /* marks in one environment, with commas between them */
#define MARKS_ROOM (sizeof MARK_VARIABLE + MARK_NEST * (MARK_LEN + 1)) /* NAME=M,M,M */
#define MARK_SWEEP_MS 2000 /* that a sweep takes at most */

/* False: there are no random bytes, errno says why. */
bool mark_make(char out[MARK_LEN + 1]);

/* True when `text` begins with a mark. */
bool mark_is(const char *text);

/* NAME=VALUE with the marks of `inherited`, the value that this process has, as far as
 * they are marks, and `mark` as the last. Of too many the oldest are dropped. */
void mark_variable(const char *inherited, const char *mark, char out[MARKS_ROOM]);

/* The last mark of the value of the variable, or NULL. borrow */
const char *mark_last(const char *value);

struct mark_sweep {
    bool has_proc;   /* false: without /proc no process can be found */
    unsigned killed; /* signals that were sent */
    unsigned left;   /* processes that were still there in the last round */
};

/* Sends SIGKILL to every process of our user that has the mark, but for this one, and to
 * its group, and looks again until none is found. A process may be gone when it is looked
 * at, and have a child that was not listed yet: if any was, `rounds` in a row have to
 * find none. Blocks, for MARK_SWEEP_MS at most. [any] */
struct mark_sweep mark_sweep(const char *mark, unsigned rounds);

#endif /* MCPLUG_MARK_H */
