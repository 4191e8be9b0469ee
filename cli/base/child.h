/* Ourselves again, or a helper, in a process of its own: for what may not survive. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include "base/buf.h"

#include <sys/types.h>

enum cli_child_end {
    CLI_CHILD_EXITED,   /* `number`: its exit status */
    CLI_CHILD_SIGNALED, /* `number`: the signal */
    CLI_CHILD_STUCK,    /* had to be killed, its time was over */
    CLI_CHILD_LOST      /* could not be started; `number`: errno */
};

struct cli_child {
    const char *program;      /* its path; NULL: ourselves */
    const char *const *words; /* behind its name; NULL-ended, borrow */
    struct mp_str output;     /* what it reported; clear it */
    enum cli_child_end end;
    int number;

    /* private to child.c */
    pid_t pid;
    int fd;
    uint64_t deadline;
};

/* The path of a helper, which may not be there: below $MCPLUG_HELPER_PATH, or where it
 * was installed. give; NULL: no memory */
char *cli_helper_path(const char *name);
/* What that variable says, when it counts. */
const char *cli_helper_dir_given(void);

/* Runs them all, at most one per processor at a time, each for at most `ms`. Their
 * stderr is ours with `heard`, and dropped otherwise. */
void cli_children_run(struct cli_child *children, size_t n, unsigned ms, bool heard);

/* "crashed (signal 11)", "did not end within 5 s", .. */
void cli_child_describe(const struct cli_child *child, unsigned ms, char *out,
                        size_t cap);

/* ---- in the child ---- */

/* Takes stdout away from whatever code is loaded next, so that nothing it prints gets
 * between what we report. The descriptor to report on, or -1. */
int cli_child_begin(void);
void cli_child_report(int fd, const char *data, size_t len);

#endif
