/* How a command waits: the library's loop is turned from one poll() of our own, beside
 * signals and one more descriptor, as any program that has a loop already would do it.
 *
 * The first signal that ends us lets the command end in good order, within a limit once
 * only servers are waited for; a second one, or one that comes when nothing is left to
 * save, ends the process at once. */
#ifndef CLI_LOOP_H
#define CLI_LOOP_H

#include <mcplug/mcplug.h>

#include <stdbool.h>

struct cli_loop {
    mcplug *host;      /* borrow */
    int signal_fd;     /* -1: none */
    uint64_t leave_ms; /* that servers get to go in good order after a signal */

    void *arg; /* of what follows; only `stop` must not be NULL */
    /* The first signal that ends us, which `signal` has already. */
    void (*stop)(void *arg, int number);
    /* true: this signal does not end us, and is dealt with. */
    bool (*other)(void *arg, int number);
    /* After each poll and before the library has its turn; `revents` of the descriptor
     * that cli_loop_turn() was given. */
    void (*woken)(void *arg, short revents);
    /* The process is about to end at once. */
    void (*restore)(void *arg);

    bool ending; /* cli_loop_end() was called */
    int exit_code;
    int signal;        /* the first one that ends us; 0: none */
    uint64_t leave_at; /* when to stop waiting, if `ending`; 0: never */
};

/* Opens the signals of signals.h. */
void cli_loop_open(struct cli_loop *l, mcplug *host);
/* Closes their descriptor, if there is one. */
void cli_loop_close(struct cli_loop *l);

/* Waits, and deals with what came. `fd`: one more descriptor, polled for `events`; -1:
 * none. `due`: when the caller has something to do, by cli_now(); 0: never. Does not
 * return if the process is to end at once. */
void cli_loop_turn(struct cli_loop *l, int fd, short events, uint64_t due);
/* Only servers are waited for from now on; the first exit code counts. */
void cli_loop_end(struct cli_loop *l, int exit_code);
/* As if this signal had come, and were the first one. */
void cli_loop_stop(struct cli_loop *l, int number);
/* Ends the process at once. */
_Noreturn void cli_loop_leave(struct cli_loop *l, int exit_code);

#endif
