/* Runs a command under ptrace and interferes once with what it does to a directory. */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>

#define TRACE_SECONDS 60 /* for one run */

struct trace {
    /* Paths from the root. A call touches the file when it names, or has a descriptor
     * of, one of these or what is below. */
    const char *watch[2];

    unsigned long kill_at; /* at this stop, entries and exits of calls; 0 is never */
    unsigned long fail_at; /* this call that touches the file fails; 0 is never */
    int os_error;          /* with this */
    bool forever;          /* and so does every later call of its kind */

    /* What came of it. */
    unsigned long stops; /* from the first call on that touches the file */
    unsigned long calls; /* that touch the file */
    bool wrote, renamed; /* and nothing was written out since */
    bool hasty;          /* renamed what was not written out */
    bool acted;
    long number; /* of the call that failed */
    int status;  /* as waitpid() gives it */
    bool late;   /* took too long, and was killed */
};

/* `out` gets what the command prints. False when processes cannot be traced here. */
bool trace_run(struct trace *t, char **argv, int out);

/* The same without tracing; fills `status` and `late`. */
void trace_none(struct trace *t, char **argv, int out);

bool trace_can_fail(void); /* on this machine */
bool trace_is_unlink(long number);
bool trace_must_matter(long number); /* it writes; nobody may pass over its failure */
const char *trace_name(long number);

#endif
