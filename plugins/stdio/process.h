/* plugins/stdio/process.h - starting a server behind mcplug-reaper. */
#ifndef MCPLUG_STDIO_PROCESS_H
#define MCPLUG_STDIO_PROCESS_H

#include "../common/mark.h"

#include <mcplug/plugin.h>

#include <sys/types.h>

#define STDIO_SPAWN_FAILED "Failed to spawn process - check command and permissions: "

#define STDIO_INSTANCE_MAX 128 /* bytes of a name */
#define STDIO_INSTANCE_X 8     /* of them random, at least */

/* Our ends of what joins us to a server and its reaper; -1 when closed. None that
 * we use blocks, and no other process inherits one. */
struct stdio_ends {
    int to_stdin;
    /* The server's own end of its stdin, kept open here as well. A pipe without
     * a reader would raise SIGPIPE in a write, and a library may not touch its
     * host's signals; blocking it around every write would cost more than the
     * write. So the pipe always has a reader. That the server is gone is learnt
     * from the reaper and from stdout instead; until then the pipe just fills. */
    int stdin_reader;
    int from_stdout;
    int from_stderr;
    int control; /* lifeline and orders, see helpers/mcplug-reaper.c */
};

/* The other ends, for the new process only. */
struct stdio_far_ends {
    int to_stdout, to_stderr, control;
};

/* Sets both, even when it fails; whatever is open then is the caller's to close. */
int stdio_ends_open(const struct mcplug_host *host, struct stdio_ends *ours,
                    struct stdio_far_ends *theirs, struct mcplug_error *err);
void stdio_ends_close(struct stdio_ends *ours);
void stdio_far_ends_close(struct stdio_far_ends *theirs);

/* Closes *fd, if open, and forgets it. */
void stdio_fd_close(int *fd);

/* The name of this start after the setting `instance`, whose X at the end make way for
 * random digits; empty when it is not set. */
int stdio_instance(const struct mcplug_host *host, const mcplug_props *settings,
                   char out[STDIO_INSTANCE_MAX], struct mcplug_error *err);

/* Starts the reaper, which starts the command of `settings`. In arguments and clean-up,
 * `instance` takes the place of the words that are its setting; `mark` is in the
 * environment. */
int stdio_spawn(const struct mcplug_host *host, const mcplug_props *settings,
                const char *instance, const char *mark, const struct stdio_ends *ours,
                const struct stdio_far_ends *theirs, pid_t *out,
                struct mcplug_error *err);

/* The environment of the server: `mark`, the host's, as far as `inheritEnv` lets it
 * through, with `env` over it. One block, for host->mem->free. give `out`. */
int stdio_environment(const struct mcplug_host *host, const mcplug_props *settings,
                      const char *mark, char ***out, struct mcplug_error *err);

#endif /* MCPLUG_STDIO_PROCESS_H */
