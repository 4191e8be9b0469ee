/* plugins/stdio/server.h - one server, its streams and the way of its life. [loop]
 *
 * stdio.c starts it and is what the core sees, server.c takes it through its
 * phases, streams.c moves its bytes.
 */
#ifndef MCPLUG_STDIO_SERVER_H
#define MCPLUG_STDIO_SERVER_H

#include "process.h"
#include "remarks.h"
#include "sweep.h"

#include <stdbool.h>

#define STDIO_CHUNK 262144 /* read at once: more of it, fewer wake-ups of the server */
#define STDIO_NARROW 65536 /* what a pipe holds */
#define STDIO_PIPE 1048576 /* what it is to hold once it was full */

enum stdio_phase {
    STDIO_STARTING,    /* the reaper has been started; the server is to follow */
    STDIO_RUNNING,     /* opened() was told */
    STDIO_MUTE,        /* its stdout ended; it should end as well */
    STDIO_LEAVING,     /* we closed its stdin; it should end by itself */
    STDIO_TERMINATING, /* the tree got SIGTERM */
    STDIO_KILLING,     /* the tree got SIGKILL */
    STDIO_ENDED,       /* the server ended; the reaper still clears up */
    STDIO_SWEEPING,    /* the reaper did not; we look for what is left */
    STDIO_REAPING,     /* nothing left but to wait for the reaper */
    STDIO_OVER         /* closed() was told */
};

struct stdio_server {
    const struct mcplug_host *host;
    mcplug_self *self;
    mcplug_conn *conn;
    const struct mcplug_lines *lines;     /* how its stdin and stdout are framed, by .. */
    mcplug_framer *framer;                /* .. this; NULL: not had yet */
    const char *command, *cwd, *clean_up; /* programs and directory; NULL: none */
    uint64_t close_grace, term_grace;     /* ms */
    char instance[STDIO_INSTANCE_MAX];    /* the name of this start; empty: none */
    char mark[MARK_LEN + 1];              /* in the environment of its processes */

    enum stdio_phase phase;
    bool opened;
    bool is_wide;            /* its stdout has room for STDIO_PIPE, or can't have */
    bool asked;              /* to close, before anything went wrong */
    bool is_gone;            /* the reaper says that nothing is left */
    bool gave_up;            /* the reaper did not end in time */
    bool *warned_of_proc;    /* all servers share it */
    struct mcplug_error why; /* code 0 while nothing did */
    pid_t pid;               /* of the server; 0 before it started */
    pid_t reaper;
    int reaper_fd; /* its exit, once that is due; else -1 */

    struct stdio_ends ends;
    mcplug_watch *in_watch, *out_watch, *err_watch, *control_watch, *reaper_watch;
    struct stdio_sweep *sweep; /* while it runs */
    mcplug_timer *timer;       /* when the patience of this phase ends */
    struct stdio_remarks remarks;
    char control[64]; /* a line from the reaper that is not complete yet */
    size_t control_len;
    unsigned char *chunk; /* STDIO_CHUNK bytes, for one read; all servers share it */
};

/* The only way to another phase. */
void stdio_server_enter(struct stdio_server *s, enum stdio_phase next);

/* Its stdin cannot be written to any more, so it has to go. */
void stdio_server_fail(struct stdio_server *s, int os_error);

/* After this nothing of it calls back any more, and the lifeline is cut. */
void stdio_server_release(struct stdio_server *s);

/* For the watch of the control socket. */
void stdio_server_on_control(void *arg, unsigned events);

/* For the watches of the other streams. */
void stdio_streams_on_stdin(void *arg, unsigned events);
void stdio_streams_on_stdout(void *arg, unsigned events);
void stdio_streams_on_stderr(void *arg, unsigned events);

/* Closes stdin, and drops what waits to be written. */
void stdio_streams_close_stdin(struct stdio_server *s);

/* Takes what an ended server has left behind, and closes stdout and stderr. */
void stdio_streams_finish(struct stdio_server *s);

/* Stops what *watch watches, if anything. */
void stdio_streams_unwatch(struct stdio_server *s, mcplug_watch **watch);

#endif /* MCPLUG_STDIO_SERVER_H */
