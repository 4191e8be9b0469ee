#include "convert/pool.h"

#include "../../plugins/common/fds.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 50 /* in which a cancellation is noticed */
#define WORKERS_MAX 16

struct worker {
    struct worker *next, **prev;
    char *file;
    pid_t pid;
    int pidfd; /* -1: the kernel has none */
    int fd;
    bool busy;
    uint64_t idle_since;
};

struct mp_pool {
    struct mp_loop *loop;
    char *program;
    size_t max;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    struct worker *workers;
    size_t n;
    struct mp_timer sweep; /* [loop] */
};

/* ---- one process ---- */

/* The number of a process may be given to another once it has been waited for, and a host
 * may wait for every child. */
static void send_kill(const struct worker *w)
{
#ifdef SYS_pidfd_send_signal
    if (w->pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, w->pidfd, SIGKILL, NULL, 0);
        return;
    }
#endif
    kill(w->pid, SIGKILL);
}

static int open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
    return fds_high((int)syscall(SYS_pidfd_open, pid, 0));
#else
    (void)pid;
    return -1;
#endif
}

/* How to name it to waitid(): its number may be another child's by now. */
static idtype_t name_of(const struct worker *w, id_t *id)
{
#ifdef P_PIDFD
    if (w->pidfd >= 0) {
        *id = (id_t)w->pidfd;
        return P_PIDFD;
    }
#endif
    *id = (id_t)w->pid;
    return P_PID;
}

/* As waitpid() has it; -1: it is no child any more. */
static int wait_for(const struct worker *w)
{
    siginfo_t info = {.si_pid = 0};
    id_t id;
    idtype_t type = name_of(w, &id);

    while (waitid(type, id, &info, WEXITED) != 0)
        if (errno != EINTR)
            return -1;
    return info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status & 0x7f;
}

/* Ends it; its status, or -1: somebody else has waited for it. */
static int worker_end(struct worker *w)
{
    int status = -1;

    close(w->fd);
    if (w->pid > 0) {
        send_kill(w);
        status = wait_for(w);
    }
    if (w->pidfd >= 0)
        close(w->pidfd);
    mp_free(w->file);
    mp_free(w);
    return status;
}

/* Nothing of the host's: neither its descriptors nor its environment, which could change
 * what libraries do. A group of its own, so that Ctrl+C is the host's alone; and if the
 * host goes while this is stopped, the system ends it. */
static int spawn(const char *program, const char *file, int fd, pid_t *pid)
{
    char *argv[] = {(char *)program, (char *)file, NULL};
    char locale[] = "LC_ALL=C.UTF-8", arenas[] = "MALLOC_ARENA_MAX=2";
    char *env[] = {locale, arenas, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, every;
    int r = 0;

    sigemptyset(&none);
    sigfillset(&every);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    r |= posix_spawn_file_actions_adddup2(&files, fd, MP_WORKER_FD);
    for (int i = 0; i < 3; i++)
        r |= posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
    r |= posix_spawn_file_actions_addclosefrom_np(&files, MP_WORKER_FD + 1);
    r |= posix_spawn_file_actions_addchdir_np(&files, "/");
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigdefault(&attr, &every);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETSIGMASK);
    r = r ? ENOMEM : posix_spawn(pid, program, &files, &attr, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return r;
}

/* Above MP_WORKER_FD, so that the far end can be put there. */
static int open_sockets(int ends[2])
{
    int low[2];

    ends[0] = ends[1] = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, low) != 0)
        return errno;
    for (int i = 0; i < 2; i++)
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, MP_WORKER_FD + 1);
    int os_error = errno;
    close(low[0]);
    close(low[1]);
    return ends[0] >= 0 && ends[1] >= 0 ? 0 : os_error;
}

static struct worker *worker_start(struct mp_pool *pool, const char *file,
                                   struct mcplug_error *err)
{
    struct worker *w = mp_alloc(sizeof *w);
    int ends[2];

    if (w)
        w->file = mp_strdup(file);
    if (!w || !w->file) {
        mp_free(w);
        mp_fail_nomem(err);
        return NULL;
    }
    int os_error = open_sockets(ends);
    if (!os_error)
        os_error = spawn(pool->program, file, ends[1], &w->pid);
    if (ends[1] >= 0)
        close(ends[1]);
    if (os_error) {
        mp_fail_os(err, MCPLUG_EIO, os_error, "%.300s cannot be started", pool->program);
        if (ends[0] >= 0)
            close(ends[0]);
        mp_free(w->file);
        mp_free(w);
        return NULL;
    }
    w->fd = ends[0];
    w->pidfd = open_pidfd(w->pid);
    w->busy = true;
    return w;
}

/* ---- life ---- */

struct mp_pool *mp_pool_new(struct mp_loop *loop, const char *program,
                            struct mcplug_error *err)
{
    struct mp_pool *pool = mp_alloc(sizeof *pool);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_condattr_t monotonic;

    if (pool)
        pool->program = mp_strdup(program);
    if (!pool || !pool->program) {
        mp_free(pool);
        mp_fail_nomem(err);
        return NULL;
    }
    pool->loop = loop;
    pool->max = cores < 1 ? 1 : cores > WORKERS_MAX ? WORKERS_MAX : (size_t)cores;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->freed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return pool;
}

static void drop(struct mp_pool *pool, struct worker *w)
{
    mp_links_drop(w, next, prev);
    pool->n--;
}

void mp_pool_free(struct mp_pool *pool)
{
    if (!pool)
        return;
    mp_timer_stop(pool->loop, &pool->sweep);
    while (pool->workers) {
        struct worker *w = pool->workers;
        drop(pool, w);
        worker_end(w);
    }
    pthread_cond_destroy(&pool->freed);
    pthread_mutex_destroy(&pool->lock);
    mp_free(pool->program);
    mp_free(pool);
}

size_t mp_pool_count(struct mp_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t n = pool->n;
    pthread_mutex_unlock(&pool->lock);
    return n;
}

/* ---- those that are idle ---- */

/* Takes out one that has been idle for `ms`; NULL: there is none. */
static struct worker *take_idle(struct mp_pool *pool, uint64_t ms)
{
    uint64_t now = mp_clock_ms();
    struct worker *found = NULL;

    for (struct worker *w = pool->workers; w && !found; w = w->next)
        if (!w->busy && now - w->idle_since >= ms)
            found = w;
    if (found)
        drop(pool, found);
    return found;
}

static void on_sweep(struct mp_timer *timer)
{
    struct mp_pool *pool = MP_OF(timer, struct mp_pool, sweep);
    struct worker *w;

    do {
        pthread_mutex_lock(&pool->lock);
        w = take_idle(pool, MP_WORKER_KEPT_MS);
        pthread_mutex_unlock(&pool->lock);
        if (w)
            worker_end(w);
    } while (w);
    mp_pool_watch(pool);
}

void mp_pool_watch(struct mp_pool *pool)
{
    if (!pool->sweep.slot && mp_pool_count(pool))
        mp_timer_start(pool->loop, &pool->sweep, MP_WORKER_KEPT_MS / 4, on_sweep);
}

/* ---- one request ---- */

struct ask {
    struct mp_pool *pool;
    const struct mp_worker_request *request;
    uint64_t deadline;
    struct mcplug_error *err;
};

static int fail_unsound(const struct ask *a)
{
    return mp_fail(a->err, MCPLUG_EIO, "the converter's process said nonsense");
}

/* Is there a reason to wait no longer? */
static int is_over(const struct ask *a)
{
    if (a->request->cancelled && atomic_load(a->request->cancelled))
        return mp_fail(a->err, MCPLUG_ECANCELED, "cancelled");
    if (mp_clock_ms() >= a->deadline)
        return mp_fail(a->err, MCPLUG_ETIMEDOUT, "the converter took too long");
    return MCPLUG_OK;
}

static void wait_for_freed(struct mp_pool *pool)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += SLICE_MS * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&pool->freed, &pool->lock, &t);
}

static struct worker *find_idle(const struct mp_pool *pool, const char *file)
{
    for (struct worker *w = pool->workers; w; w = w->next)
        if (!w->busy && strcmp(w->file, file) == 0)
            return w;
    return NULL;
}

/* One that is ours until it is given back. `*is_new`: it has said nothing yet. */
static struct worker *take_worker(const struct ask *a, bool *is_new)
{
    struct mp_pool *pool = a->pool;
    struct worker *w = NULL, *other = NULL;
    int r = MCPLUG_OK;

    *is_new = false;
    r = is_over(a);
    pthread_mutex_lock(&pool->lock);
    while (r == MCPLUG_OK && !(w = find_idle(pool, a->request->file)) &&
           pool->n >= pool->max && !(other = take_idle(pool, 0))) {
        wait_for_freed(pool);
        r = is_over(a);
    }
    if (w && r == MCPLUG_OK) {
        w->busy = true;
    } else if (r == MCPLUG_OK && (w = worker_start(pool, a->request->file, a->err))) {
        mp_links_push(pool->workers, w, next, prev);
        pool->n++;
        *is_new = true;
    }
    pthread_mutex_unlock(&pool->lock);
    if (other)
        worker_end(other);
    return w;
}

/* `keep`: it can be used again. Its status otherwise. */
static int give_back(struct mp_pool *pool, struct worker *w, bool keep)
{
    pthread_mutex_lock(&pool->lock);
    w->busy = false;
    w->idle_since = mp_clock_ms();
    if (!keep)
        drop(pool, w);
    pthread_cond_signal(&pool->freed);
    pthread_mutex_unlock(&pool->lock);
    return keep ? 0 : worker_end(w);
}

/* Waits for a message. MCPLUG_EIO without a text: it has ended. */
static int receive(const struct ask *a, const struct worker *w,
                   struct mp_worker_message *m)
{
    struct pollfd fd = {w->fd, POLLIN, 0};
    int r;

    while (poll(&fd, 1, SLICE_MS) <= 0)
        if ((r = is_over(a)) != MCPLUG_OK)
            return r;
    int os_error = mp_worker_receive(w->fd, m);
    if (!os_error && m->fds[0] >= 0) /* none is ever asked for */
        os_error = EPROTO;
    mp_worker_close_fds(m);
    if (os_error == EPROTO)
        return fail_unsound(a);
    return os_error ? MCPLUG_EIO : MCPLUG_OK;
}

/* What the system says of its end. `was_killed` may be NULL. */
static int fail_ended(struct mcplug_error *err, int status, bool *was_killed)
{
    if (was_killed && status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        *was_killed = true;
    if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return mp_fail(err, MCPLUG_EIO, "the converter took too much processor time");
    if (status != -1 && WIFSIGNALED(status))
        return mp_fail(err, MCPLUG_EIO, "the converter was ended by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (status != -1 && WIFEXITED(status))
        return mp_fail(err, MCPLUG_EIO, "the converter ended with status %d",
                       WEXITSTATUS(status));
    return mp_fail(err, MCPLUG_EIO, "the converter ended");
}

/* Its status once it has ended by itself; -1: it had to be made to. */
static int status_of_end(struct mp_pool *pool, struct worker *w)
{
    siginfo_t info = {.si_pid = 0};
    id_t id;
    idtype_t type = name_of(w, &id);

    /* It has closed its end, so it is about to go; why, it shows then. */
    for (int i = 0; i < 100 && !info.si_pid; i++) {
        if (waitid(type, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            break;
        if (!info.si_pid)
            poll(NULL, 0, 5);
    }
    int status = give_back(pool, w, false);
    return info.si_pid ? status : -1;
}

int mp_pool_fail(struct mcplug_error *err, const struct mp_worker_message *m)
{
    const char *text = m->texts[MP_TEXT_ERROR];
    char line[sizeof err->text];

    int code = m->head.code;

    /* Memory that it lacks is not ours, and how long it may take is ours to say. */
    if (code >= 0 || code < MCPLUG_ERESTARTING || code == MCPLUG_ENOMEM ||
        code == MCPLUG_ECANCELED || code == MCPLUG_ETIMEDOUT)
        code = MCPLUG_EIO;
    mp_text_line(line, sizeof line, text, strlen(text));
    return mp_fail(err, code, "%s", *line ? line : "the converter gave no reason");
}

/* It says that it is ready, or why it is not. */
static int greet(const struct ask *a, struct worker *w, struct mp_worker_message *m)
{
    int r = receive(a, w, m);

    if (r != MCPLUG_OK)
        return r;
    if (m->head.kind != MP_WORKER_HELLO)
        return fail_unsound(a);
    return m->head.code == MCPLUG_OK ? MCPLUG_OK : mp_pool_fail(a->err, m);
}

static bool says_something(const struct worker *w)
{
    struct pollfd fd = {w->fd, POLLIN, 0};
    return poll(&fd, 1, 0) != 0;
}

/* With one worker. `*again`: an idle one turned out to be gone, or to be about to: it did
 * not end itself. */
static int ask_once(const struct ask *a, struct mp_worker_message *m,
                    struct mp_worker_message *answer, bool *again)
{
    bool is_new;
    struct worker *w = take_worker(a, &is_new);
    int r = w ? MCPLUG_OK : a->err->code, os_error = 0;

    *again = false;
    if (!w)
        return r;
    if (is_new)
        r = greet(a, w, answer);
    else if (says_something(w)) /* unasked, or it has ended */
        r = MCPLUG_EIO;
    *again = r == MCPLUG_EIO && !is_new;
    if (r == MCPLUG_OK &&
        (os_error = mp_worker_send(w->fd, m, a->request->n_fds, false))) {
        *again = !is_new && os_error != EMSGSIZE;
        r = os_error == EMSGSIZE
                ? mp_fail(a->err, MCPLUG_ETOOBIG, "settings of converters are too long")
                : MCPLUG_EIO;
    }
    if (r == MCPLUG_OK)
        r = receive(a, w, answer);
    if (r == MCPLUG_OK &&
        (answer->head.kind != MP_WORKER_DONE || answer->head.serial != m->head.serial ||
         !a->request->is_sound(a->request->arg, answer)))
        r = fail_unsound(a);
    if (r == MCPLUG_OK)
        give_back(a->pool, w, !answer->head.leave);
    else if (r == MCPLUG_EIO && !a->err->text[0])
        r = fail_ended(a->err, status_of_end(a->pool, w), is_new ? NULL : again);
    else
        give_back(a->pool, w, os_error == EMSGSIZE);
    return r;
}

int mp_pool_ask(struct mp_pool *pool, const struct mp_worker_request *request,
                struct mp_worker_message *m, struct mcplug_error *err)
{
    struct mcplug_error why;
    struct ask a = {pool, request, mp_clock_ms() + request->timeout_ms, &why};
    struct mp_worker_message *answer = mp_alloc(sizeof *answer);
    bool again = true;
    int r = MCPLUG_OK;

    if (!answer)
        return mp_fail_nomem(err);
    /* One that cannot be known before it is sent. */
    if (getrandom(&m->head.serial, sizeof m->head.serial, 0) !=
        (ssize_t)sizeof m->head.serial)
        m->head.serial = mp_clock_ms();
    for (size_t i = 0; again && i <= pool->max; i++) {
        mp_error_init(&why);
        if (i && request->n_fds == 2 &&
            ftruncate(m->fds[1], 0) == 0) /* what the first has written */
            lseek(m->fds[1], 0, SEEK_SET);
        r = ask_once(&a, m, answer, &again);
    }
    if (r == MCPLUG_OK) {
        memcpy(m, answer, sizeof *m);
        for (size_t i = 0; i < MP_TEXTS; i++)
            m->texts[i] = m->room + (answer->texts[i] - answer->room);
    } else {
        mp_error_copy(err, &why);
    }
    mp_free(answer);
    return r;
}
