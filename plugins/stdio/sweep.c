/* plugins/stdio/sweep.c - see sweep.h */
#include "sweep.h"

#include "../common/cgroup.h"
#include "../common/fds.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 20 /* one that forks and exits all the time is seen in most of them */

struct stdio_sweep {
    const struct mcplug_host *host;
    stdio_swept_fn *fn;
    void *arg;
    int answer; /* our end of the socket */
    mcplug_watch *watch;
};

/* What the thread has, and frees. It may outlive the host and its memory functions. */
struct search {
    char mark[MARK_LEN + 1];
    int answer;
};

/* The cgroup comes first: from there nothing runs away. */
static struct mark_sweep end_all(const char *mark)
{
    bool has_proc;
    int own = cgroup_open_own(&has_proc);
    if (own >= 0) {
        cgroup_end(own, mark);
        close(own);
    }
    return mark_sweep(mark, ROUNDS);
}

static void *search(void *arg)
{
    struct search *search = arg;
    struct mark_sweep found = end_all(search->mark), told;
    memset(&told, 0, sizeof told); /* what is between its members is sent, too */
    told.has_proc = found.has_proc;
    told.killed = found.killed;
    told.left = found.left;
    ssize_t sent = send(search->answer, &told, sizeof told, MSG_NOSIGNAL);
    (void)sent; /* or the sweep was abandoned */
    close(search->answer);
    free(search);
    return NULL;
}

/* Signals are for the program's own threads. */
static bool start_thread(struct search *arg)
{
    pthread_attr_t attr;
    pthread_t id;
    sigset_t all;
    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0)
        return false;
    bool is_set = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0 &&
                  pthread_attr_setsigmask_np(&attr, &all) == 0;
    bool is_started = is_set && pthread_create(&id, &attr, search, arg) == 0;
    pthread_attr_destroy(&attr);
    return is_started;
}

static void on_answer(void *arg, unsigned events)
{
    struct stdio_sweep *sweep = arg;
    struct mark_sweep found = {true, 0, 0};
    stdio_swept_fn *fn = sweep->fn;
    void *fn_arg = sweep->arg;
    (void)events;
    ssize_t len = recv(sweep->answer, &found, sizeof found, MSG_DONTWAIT);
    (void)len; /* it came whole: it is smaller than any socket's buffer */
    stdio_sweep_abandon(sweep);
    fn(fn_arg, found);
}

static bool open_high(int pair[2])
{
    struct fds_plugs plugs;
    fds_plug(&plugs);
    int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
    fds_unplug(&plugs);
    return r == 0;
}

static bool start(struct stdio_sweep *sweep, mcplug_self *self, const char *mark)
{
    int pair[2] = {-1, -1};
    bool is_started = false;
    struct search *theirs = calloc(1, sizeof *theirs);
    if (theirs != NULL && open_high(pair)) {
        memcpy(theirs->mark, mark, sizeof theirs->mark);
        theirs->answer = pair[1];
        sweep->answer = pair[0];
        sweep->watch = sweep->host->loop->watch_start(self, pair[0], MCPLUG_READABLE,
                                                      on_answer, sweep);
        is_started = sweep->watch != NULL && start_thread(theirs);
        if (!is_started)
            close(pair[1]);
    }
    if (!is_started)
        free(theirs);
    return is_started;
}

struct stdio_sweep *stdio_sweep_start(const struct mcplug_host *host, mcplug_self *self,
                                      const char *mark, stdio_swept_fn *fn, void *arg)
{
    struct stdio_sweep *sweep = host->mem->alloc(sizeof *sweep);
    if (sweep != NULL)
        *sweep = (struct stdio_sweep){host, fn, arg, -1, NULL};
    if (sweep != NULL && start(sweep, self, mark))
        return sweep;
    stdio_sweep_abandon(sweep);
    fn(arg, end_all(mark));
    return NULL;
}

void stdio_sweep_abandon(struct stdio_sweep *sweep)
{
    if (sweep == NULL)
        return;
    if (sweep->watch != NULL)
        sweep->host->loop->watch_stop(sweep->watch);
    if (sweep->answer >= 0)
        close(sweep->answer);
    sweep->host->mem->free(sweep);
}
