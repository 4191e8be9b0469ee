/* libuv ends the process when something goes wrong that it does not expect, and a library
 * must not. These are the functions of libuv 1.44 that are called here and can, and what
 * keeps them from it; tests/unit/loop_guard.c tries each.
 *
 * uv_loop_init   The first one of a process gets no pipe, or its table cannot grow: the
 *                same descriptors are opened before it, and as much memory is asked for.
 * uv_loop_close  A descriptor of it is 0, 1 or 2: these are plugged while it is made.
 * in fork()      The child's pipe is 0, 1 or 2, and it forks again: likewise, by handlers
 *                of ours.
 * uv_poll_start  Its table cannot grow: as much memory is asked for. Events are set that
 *                it does not know: they are masked.
 * uv_run         A descriptor cannot be added to epoll, without memory or with too many:
 *                it is added before, where that can be told, by admit(). It runs already:
 *                mcplug_turn() and mcplug_run() are refused.
 * uv_run, uv_async_send
 *                epoll or the eventfd were closed by others: mp_loop_intact(), where a
 *                program enters.
 * all of them    In a child of fork() they would act on what is the parent's:
 *                mp_loop_here(), mp_loop_forked().
 * uv_queue_work  No thread can be started: not used, see work_through().
 * uv_close       Twice for one handle: a watch is taken by its end.
 *
 * There is no guard against another thread that takes the last descriptor or the last
 * memory between a guard and what it is for, nor against one that closes what is watched.
 */
#include "loop/loop.h"

#include "../../plugins/common/fds.h"
#include "base/error.h"
#include "base/event.h"
#include "base/mem.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#define WORKERS_MAX 4 /* threads of one loop */

/* A heap of timers, by due time. They live inside their owners, so starting one costs no
 * allocation but the heap's own growth. */
struct timers {
    struct mp_timer **heap; /* 1-based */
    size_t count, cap;
    uint64_t seq; /* counts what was started */
};

struct mp_loop {
    struct mp_loop_head head;
    struct mp_events *log; /* NULL: none */
    uv_loop_t uv;
    uv_timer_t alarm;  /* armed for the earliest timer */
    uv_idle_t again;   /* runs while timers are due that were started by timers */
    uv_async_t wake;   /* other threads, and jobs deferred outside of a turn */
    uint64_t alarm_at; /* 0: not armed */
    bool ringing;
    struct mp_watch *tick; /* for a foreign loop, see mp_loop_fd(); NULL: there is none */
    int tick_fd;
    uint64_t tick_at; /* 0: not armed */
    struct timers timers;
    struct mp_job *first, **last; /* deferred */
    unsigned in_turn;
    uint64_t turns;   /* counts them */
    unsigned working; /* work of threads that is not done */
    unsigned threads; /* that were not joined yet */
    bool fake;
    uint64_t fake_now;
    atomic_bool stopping;
    atomic_bool broken; /* mp_loop_intact() has failed */

    pthread_mutex_t lock;
    struct mp_post *posts, **posts_end; /* under lock */
    struct work *queue, **queue_end;    /* likewise; that no thread has begun */
    unsigned workers;                   /* likewise: threads that look there for more */
};

/* To look at what was left for it. [any] */
static void wake(struct mp_loop *loop)
{
    if (!atomic_load_explicit(&loop->broken, memory_order_relaxed))
        uv_async_send(&loop->wake);
}

/* ---- turns ---- */

/* So many, then descriptors and timers have their turn: a job may lead to the next one
 * for ever. */
#define JOBS_MAX 1000

static void drain(struct mp_loop *loop)
{
    for (unsigned n = 0; loop->first; n++) {
        if (n == JOBS_MAX) {
            wake(loop);
            return;
        }
        struct mp_job *job = loop->first;
        loop->first = job->next;
        if (!loop->first)
            loop->last = &loop->first;
        job->queued = false;
        job->next = NULL;
        job->fn(job);
    }
}

static void turn_begin(struct mp_loop *loop)
{
    if (loop->in_turn++ == 0)
        loop->turns++;
}

static void turn_end(struct mp_loop *loop)
{
    if (loop->in_turn == 1)
        drain(loop);
    loop->in_turn--;
}

static void foresee(struct mp_loop *loop);

void mp_loop_call(struct mp_loop *loop, void (*fn)(void *arg), void *arg)
{
    if (loop->in_turn == 0) /* nobody may have turned it for long */
        uv_update_time(&loop->uv);
    turn_begin(loop);
    fn(arg);
    turn_end(loop);
    foresee(loop);
}

void mp_job_defer(struct mp_loop *loop, struct mp_job *job, void (*fn)(struct mp_job *))
{
    if (job->queued)
        return;
    job->fn = fn;
    job->queued = true;
    job->next = NULL;
    *loop->last = job;
    loop->last = &job->next;
    if (loop->in_turn == 0)
        wake(loop);
}

void mp_job_drop(struct mp_loop *loop, struct mp_job *job)
{
    if (!job->queued)
        return;
    struct mp_job **at = &loop->first;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (loop->last == &job->next)
        loop->last = at;
    job->queued = false;
}

/* ---- the heap of timers ---- */

static void place(struct timers *t, size_t slot, struct mp_timer *timer)
{
    t->heap[slot] = timer;
    timer->slot = slot;
}

/* Of two that are due at once, the one started first goes first. */
static bool before(const struct mp_timer *a, const struct mp_timer *b)
{
    return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

static void sift_up(struct timers *t, size_t slot)
{
    struct mp_timer *timer = t->heap[slot];
    while (slot > 1 && before(timer, t->heap[slot / 2])) {
        place(t, slot, t->heap[slot / 2]);
        slot /= 2;
    }
    place(t, slot, timer);
}

static void sift_down(struct timers *t, size_t slot)
{
    struct mp_timer *timer = t->heap[slot];
    for (;;) {
        size_t child = slot * 2;
        if (child > t->count)
            break;
        if (child < t->count && before(t->heap[child + 1], t->heap[child]))
            child++;
        if (!before(t->heap[child], timer))
            break;
        place(t, slot, t->heap[child]);
        slot = child;
    }
    place(t, slot, timer);
}

static bool heap_add(struct timers *t, struct mp_timer *timer)
{
    if (!mp_grow(&t->heap, &t->cap, t->count + 2))
        return false;
    timer->seq = ++t->seq;
    t->heap[++t->count] = timer;
    sift_up(t, t->count);
    return true;
}

static void heap_remove(struct timers *t, struct mp_timer *timer)
{
    size_t slot = timer->slot;
    if (slot == 0)
        return;
    timer->slot = 0;
    struct mp_timer *moved = t->heap[t->count--];
    if (moved == timer)
        return;
    place(t, slot, moved);
    sift_up(t, slot);
    sift_down(t, moved->slot);
}

/* When the first is due; 0: there is none. */
static uint64_t heap_due(const struct timers *t)
{
    return t->count ? t->heap[1]->due : 0;
}

/* ---- time ---- */

uint64_t mp_loop_now(struct mp_loop *loop)
{
    if (loop->fake)
        return loop->fake_now;
    if (loop->in_turn == 0) /* who knows how long the program was elsewhere */
        uv_update_time(&loop->uv);
    return uv_now(&loop->uv);
}

static void on_alarm(uv_timer_t *alarm);

/* Arms for the earliest timer, but leaves an alarm that rings sooner alone: it
 * costs one empty turn and saves touching libuv for every call's deadline. */
static void arm(struct mp_loop *loop, uint64_t least)
{
    uint64_t due = heap_due(&loop->timers);
    if (due == 0 || loop->fake || loop->ringing ||
        (loop->alarm_at && loop->alarm_at <= due))
        return;
    uint64_t now = mp_loop_now(loop);
    loop->alarm_at = due;
    uv_timer_start(&loop->alarm, on_alarm, due > now ? due - now : least, 0);
}

static void run_due(struct mp_loop *loop)
{
    struct timers *t = &loop->timers;
    uint64_t now = mp_loop_now(loop), started = t->seq;

    /* One that starts itself again waits for the next time, or nothing else would run. */
    while (t->count && t->heap[1]->due <= now && t->heap[1]->seq <= started) {
        struct mp_timer *timer = t->heap[1];
        heap_remove(t, timer);
        turn_begin(loop);
        timer->fn(timer);
        turn_end(loop);
    }
}

static void on_again(uv_idle_t *again);

/* What is due once more waits until descriptors were looked at, not for a millisecond:
 * a timer of libuv would ring again at once, and look at nothing else. */
static void ring(struct mp_loop *loop)
{
    loop->ringing = true;
    run_due(loop);
    loop->ringing = false;
    uint64_t due = heap_due(&loop->timers);
    if (due != 0 && due <= mp_loop_now(loop)) {
        uv_idle_start(&loop->again, on_again);
    } else {
        uv_idle_stop(&loop->again);
        arm(loop, 1);
    }
    uv_stop(&loop->uv); /* or it would wait for more before it returns from one turn */
}

static void on_again(uv_idle_t *again)
{
    ring(again->data);
}

static void on_alarm(uv_timer_t *alarm)
{
    struct mp_loop *loop = alarm->data;
    loop->alarm_at = 0;
    ring(loop);
}

int mp_timer_start(struct mp_loop *loop, struct mp_timer *timer, uint64_t ms,
                   void (*fn)(struct mp_timer *timer))
{
    uint64_t now = mp_loop_now(loop);

    heap_remove(&loop->timers, timer);
    timer->fn = fn;
    timer->due = ms > UINT64_MAX - now - 1 ? UINT64_MAX : now + ms;
    if (timer->due == 0)
        timer->due = 1;
    if (!heap_add(&loop->timers, timer))
        return MCPLUG_ENOMEM;
    arm(loop, 0);
    foresee(loop);
    return MCPLUG_OK;
}

void mp_timer_stop(struct mp_loop *loop, struct mp_timer *timer)
{
    heap_remove(&loop->timers, timer);
}

void mp_loop_fake_clock(struct mp_loop *loop)
{
    loop->fake_now = uv_now(&loop->uv);
    loop->fake = true;
    uv_timer_stop(&loop->alarm);
}

void mp_loop_advance(struct mp_loop *loop, uint64_t ms)
{
    uint64_t until = loop->fake_now + ms, due;

    turn_begin(loop);
    turn_end(loop); /* what was deferred before */
    bool again = false;
    while ((due = heap_due(&loop->timers)) && due <= until) {
        if (due > loop->fake_now)
            loop->fake_now = due;
        else if (again && loop->fake_now++ == until) /* time goes on, as it would */
            break;
        run_due(loop);
        again = true;
    }
    loop->fake_now = until;
}

/* ---- posts ---- */

static void on_wake(uv_async_t *wake)
{
    struct mp_loop *loop = wake->data;

    pthread_mutex_lock(&loop->lock);
    struct mp_post *post = loop->posts;
    loop->posts = NULL;
    loop->posts_end = &loop->posts;
    pthread_mutex_unlock(&loop->lock);

    while (post) {
        struct mp_post *next = post->next;
        struct mp_post *ours = post->is_allocated ? post : NULL;
        turn_begin(loop);
        post->fn(post->arg); /* another's may be gone with it */
        turn_end(loop);
        mp_free(ours);
        post = next;
    }
    turn_begin(loop);
    turn_end(loop);
    if (atomic_load(&loop->stopping))
        uv_stop(&loop->uv);
}

void mp_loop_post_own(struct mp_loop *loop, struct mp_post *post, void (*fn)(void *arg),
                      void *arg)
{
    post->next = NULL;
    post->fn = fn;
    post->arg = arg;
    pthread_mutex_lock(&loop->lock);
    *loop->posts_end = post;
    loop->posts_end = &post->next;
    pthread_mutex_unlock(&loop->lock);
    wake(loop);
}

int mp_loop_post(struct mp_loop *loop, void (*fn)(void *arg), void *arg)
{
    struct mp_post *post = mp_alloc(sizeof *post);
    if (!post)
        return MCPLUG_ENOMEM;
    post->is_allocated = true;
    mp_loop_post_own(loop, post, fn, arg);
    return MCPLUG_OK;
}

void mp_loop_wake(struct mp_loop *loop)
{
    wake(loop);
}

/* ---- after fork() ---- */

/* In the child libuv opens a pipe anew; see the table above. Our handlers run before and
 * after its own. */
static struct fds_plugs child_plugs;

static void plug_in_child(void)
{
    fds_plug(&child_plugs);
}

static void unplug_in_child(void)
{
    fds_unplug(&child_plugs);
}

static void plug_forks(void)
{
    pthread_atfork(NULL, NULL, plug_in_child);
}

static void unplug_forks(void)
{
    pthread_atfork(NULL, NULL, unplug_in_child);
}

/* Where fork() cannot clear it (Linux before 4.14), a child is not told apart. */
static struct mp_loop_owner *owner_new(void)
{
    struct mp_loop_owner *owner = mmap(NULL, sizeof *owner, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (owner == MAP_FAILED)
        return NULL;
    madvise(owner, sizeof *owner, MADV_WIPEONFORK);
    atomic_init(&owner->thread, MP_LOOP_RESTS);
    return owner;
}

static void owner_free(struct mp_loop_owner *owner)
{
    if (owner)
        munmap(owner, sizeof *owner);
}

/* ---- life ---- */

/* Can the table of libuv, which has a power of two of places, grow up to that one? */
static bool has_room(const uv_loop_t *uv, int fd)
{
    size_t places = 2;

    if ((unsigned)fd < uv->nwatchers)
        return true;
    while (places < (size_t)fd + 3)
        places *= 2;
    void *block = mp_alloc_raw(places * sizeof(void *));
    mp_free(block);
    return block != NULL;
}

/* Opens what uv_loop_init() will. 0 or an errno. */
static int try_descriptors(void)
{
    static const uv_loop_t empty;
    int fds[] = {-1, -1, -1, -1, -1, -1}, os_error = 0;

    if ((fds[0] = epoll_create1(EPOLL_CLOEXEC)) < 0 || pipe2(&fds[1], O_CLOEXEC) != 0 ||
        pipe2(&fds[3], O_CLOEXEC) != 0 || (fds[5] = eventfd(0, EFD_CLOEXEC)) < 0)
        os_error = errno;
    for (size_t i = 0; i < MP_COUNT(fds); i++) {
        if (os_error == 0 && !has_room(&empty, fds[i]))
            os_error = ENOMEM;
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return os_error;
}

/* 0 or an errno. */
static int init(struct mp_loop *loop)
{
    static pthread_once_t before = PTHREAD_ONCE_INIT, after = PTHREAD_ONCE_INIT;
    struct fds_plugs plugs;

    fds_plug(&plugs);
    int os_error = try_descriptors();
    if (os_error == 0) {
        pthread_once(&before, plug_forks);
        os_error = -uv_loop_init(&loop->uv);
        pthread_once(&after, unplug_forks);
    }
    if (os_error == 0 && (os_error = -uv_async_init(&loop->uv, &loop->wake, on_wake)))
        uv_loop_close(&loop->uv);
    fds_unplug(&plugs);
    return os_error;
}

struct mp_loop *mp_loop_new(struct mcplug_error *err)
{
    struct mp_loop *loop = mp_alloc(sizeof *loop);
    if (!loop || !(loop->head.owner = owner_new())) {
        mp_free(loop);
        mp_fail_nomem(err);
        return NULL;
    }
    int os_error = init(loop);
    if (os_error != 0) {
        mp_fail_os(err, MCPLUG_EIO, os_error, "cannot create an event loop");
        owner_free(loop->head.owner);
        mp_free(loop);
        return NULL;
    }
    uv_timer_init(&loop->uv, &loop->alarm);
    uv_idle_init(&loop->uv, &loop->again);
    loop->wake.data = loop->alarm.data = loop->again.data = loop;
    pthread_mutex_init(&loop->lock, NULL);
    loop->posts_end = &loop->posts;
    loop->queue_end = &loop->queue;
    loop->last = &loop->first;
    /* registers the descriptor of `wake`, so that it can wake a foreign loop from now on
     */
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    return loop;
}

/* The eventfd is in there already, as long as both are what they were. */
int mp_loop_intact(struct mp_loop *loop, struct mcplug_error *err)
{
    int fd = loop->uv.async_io_watcher.fd, epoll_fd = uv_backend_fd(&loop->uv);
    struct epoll_event none = {.events = 0};
    int r = epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &none);

    if (r != 0 && errno == EEXIST)
        return MCPLUG_OK;
    if (r == 0)
        epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, &none);
    atomic_store(&loop->broken, true);
    return mp_fail(err, MCPLUG_EIO,
                   "descriptors of the event loop (%d, %d) were closed, but not by us; "
                   "the host cannot be used any more",
                   epoll_fd, fd);
}

void mp_loop_free(struct mp_loop *loop)
{
    if (!loop)
        return;
    mp_loop_settle(loop);
    if (loop->tick) {
        mp_watch_stop(loop->tick);
        close(loop->tick_fd);
    }
    uv_close((uv_handle_t *)&loop->alarm, NULL);
    uv_close((uv_handle_t *)&loop->again, NULL);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
    while (loop->posts) {
        struct mp_post *post = loop->posts;
        loop->posts = post->next;
        if (post->is_allocated)
            mp_free(post);
    }
    pthread_mutex_destroy(&loop->lock);
    owner_free(loop->head.owner);
    mp_free(loop->timers.heap);
    mp_free(loop);
}

/* ---- whose it is ---- */

int mp_loop_refuse(const struct mp_loop *loop, const char *function,
                   struct mcplug_error *err)
{
    struct mcplug_error own = MCPLUG_ERROR_INIT;

    if (mp_loop_forked(loop))
        return mp_fail(err, MCPLUG_EINVAL,
                       "%s: the host was made before fork(), and is the parent's; make "
                       "another one",
                       function);
    mp_fail(err ? err : &own, MCPLUG_EINVAL,
            "%s: called on another thread than the loop's; use mcplug_post()", function);
    if (!err && loop->log)
        mp_log_any(loop->log, MCPLUG_LOG_ERROR, "core", "%s", own.text);
    return MCPLUG_EINVAL;
}

void mp_loop_set_log(struct mp_loop *loop, struct mp_events *log)
{
    loop->log = log;
}

bool mp_loop_is_running(const struct mp_loop *loop)
{
    return atomic_load(&loop->head.owner->thread) != MP_LOOP_RESTS;
}

void mp_loop_set_thread(struct mp_loop *loop, pthread_t thread)
{
    atomic_store(&loop->head.owner->thread, (uintptr_t)thread);
}

void mp_loop_disown(struct mp_loop *loop)
{
    atomic_store(&loop->head.owner->thread, MP_LOOP_RESTS);
}

/* ---- running ---- */

void mp_loop_run(struct mp_loop *loop)
{
    atomic_uintptr_t *thread = &loop->head.owner->thread;
    uintptr_t before = atomic_exchange(thread, (uintptr_t)pthread_self());

    while (!atomic_load(&loop->stopping))
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    atomic_store(&loop->stopping, false);
    foresee(loop);
    atomic_store(thread, before);
}

void mp_loop_turn(struct mp_loop *loop, bool wait)
{
    if (loop->first && loop->in_turn == 0) { /* deferred from outside: no need to poll */
        uv_update_time(&loop->uv);
        turn_begin(loop);
        turn_end(loop);
        wait = false;
    }
    uv_run(&loop->uv, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    foresee(loop);
}

void mp_loop_unstop(struct mp_loop *loop)
{
    atomic_store(&loop->stopping, false);
}

void mp_loop_tick(struct mp_loop *loop)
{
    uv_update_time(&loop->uv);
}

bool mp_loop_in_turn(const struct mp_loop *loop)
{
    return loop->in_turn > 0;
}

uint64_t mp_loop_turn_id(const struct mp_loop *loop)
{
    return loop->in_turn > 0 ? loop->turns : 0;
}

void mp_loop_settle(struct mp_loop *loop)
{
    bool posts;

    do {
        mp_loop_turn(loop, loop->threads > 0);
        pthread_mutex_lock(&loop->lock);
        posts = loop->posts != NULL;
        pthread_mutex_unlock(&loop->lock);
    } while (loop->working || loop->threads || posts);
}

void mp_loop_stop(struct mp_loop *loop)
{
    atomic_store(&loop->stopping, true);
    wake(loop);
}

int mp_loop_timeout(struct mp_loop *loop)
{
    if (loop->first)
        return 0;
    uv_update_time(&loop->uv);
    return uv_backend_timeout(&loop->uv);
}

/* ---- for a foreign loop ---- */

/* What is due runs with the alarm; the end of the turn arms this again. */
static void on_tick(void *arg, unsigned events)
{
    struct mp_loop *loop = arg;
    uint64_t times;
    (void)events;

    if (read(loop->tick_fd, &times, sizeof times) == sizeof times)
        loop->tick_at = 0;
}

/* Outside of turns, whenever something may have become due earlier: a tick that comes
 * sooner is left alone, as an alarm is. libuv registers descriptors when it is run, which
 * is why there may be something to do at once. */
static void foresee(struct mp_loop *loop)
{
    if (!loop->tick || loop->in_turn > 0)
        return;
    int ms = mp_loop_timeout(loop);
    uint64_t at = uv_now(&loop->uv) + (unsigned)ms;
    struct itimerspec in = {
        .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}};
    if (ms == 0)
        wake(loop);
    else if (ms > 0 && (!loop->tick_at || at < loop->tick_at) &&
             timerfd_settime(loop->tick_fd, 0, &in, NULL) == 0)
        loop->tick_at = at;
}

int mp_loop_fd(struct mp_loop *loop)
{
    if (!loop->tick) {
        loop->tick_fd =
            fds_high(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
        if (loop->tick_fd < 0)
            return -1;
        loop->tick = mp_watch_start(loop, loop->tick_fd, MP_READABLE, on_tick, loop);
        if (!loop->tick) {
            close(loop->tick_fd);
            return -1;
        }
        foresee(loop);
    }
    return uv_backend_fd(&loop->uv);
}

/* ---- descriptors ---- */

struct mp_watch {
    uv_poll_t uv;
    struct mp_loop *loop;
    void (*fn)(void *arg, unsigned events);
    void *arg;
    unsigned events;
};

_Static_assert(MP_READABLE == UV_READABLE && MP_WRITABLE == UV_WRITABLE,
               "events pass as they are");

/* libuv stops watching a descriptor that has failed, after telling so once; but there
 * may be more to read from it than one turn takes, so it is watched again. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct mp_watch *watch = (struct mp_watch *)poll;
    struct mp_loop *loop = watch->loop;
    unsigned got = (unsigned)events & (MP_READABLE | MP_WRITABLE);

    if (status < 0 || events & UV_DISCONNECT)
        got |= MP_READABLE;
    if (status < 0) /* who waits to write learns it by trying */
        got |= watch->events;
    turn_begin(loop);
    watch->fn(watch->arg, got);
    if (status < 0 && !uv_is_closing((uv_handle_t *)poll))
        mp_watch_update(watch, watch->events);
    turn_end(loop);
}

static void on_watch_closed(uv_handle_t *handle)
{
    mp_free(handle);
}

struct mp_watch *mp_watch_start(struct mp_loop *loop, int fd, unsigned events,
                                void (*fn)(void *arg, unsigned events), void *arg)
{
    struct mp_watch *watch = mp_alloc(sizeof *watch);
    if (!watch) {
        errno = ENOMEM;
        return NULL;
    }
    watch->loop = loop;
    watch->fn = fn;
    watch->arg = arg;
    int r = has_room(&loop->uv, fd) ? uv_poll_init(&loop->uv, &watch->uv, fd) : UV_ENOMEM;
    if (r != 0)
        mp_free(watch);
    else if ((r = mp_watch_update(watch, events)) != 0)
        mp_watch_stop(watch);
    if (r == 0)
        return watch;
    errno = -r;
    return NULL;
}

/* Adds the descriptor to epoll, as libuv will when it is run: it finds it there then. 0
 * or a negative errno. */
static int admit(const struct mp_watch *watch, unsigned events)
{
    uv_os_fd_t fd;
    int r = uv_fileno((const uv_handle_t *)&watch->uv, &fd);
    struct epoll_event e = {.events = (events & MP_READABLE ? EPOLLIN : 0) |
                                      (events & MP_WRITABLE ? EPOLLOUT : 0)};

    if (r != 0)
        return r;
    e.data.fd = fd; /* as libuv has it */
    r = epoll_ctl(uv_backend_fd(&watch->loop->uv), EPOLL_CTL_ADD, fd, &e);
    return r == 0 || errno == EEXIST ? 0 : -errno;
}

int mp_watch_update(struct mp_watch *watch, unsigned events)
{
    /* libuv asserts that there are no others, which a module might have set */
    unsigned known = events & (MP_READABLE | MP_WRITABLE);

    watch->events = events;
    int r = events ? uv_poll_start(&watch->uv, (int)known, on_poll)
                   : uv_poll_stop(&watch->uv);
    if (r == 0 && known && (r = admit(watch, known)) != 0)
        uv_poll_stop(&watch->uv);
    foresee(watch->loop);
    return r;
}

void mp_watch_stop(struct mp_watch *watch)
{
    if (watch)
        uv_close((uv_handle_t *)&watch->uv, on_watch_closed);
}

/* ---- work of threads ---- */

struct work {
    struct mp_post post; /* when it is done */
    struct mp_loop *loop;
    struct work *next;
    void (*run)(void *arg);
    void (*done)(void *arg, int status);
    void *arg;
};

/* A thread, until there is no more work. */
struct worker {
    struct mp_post post; /* when it ends */
    struct mp_loop *loop;
    pthread_t thread;
};

static void on_work_done(void *arg)
{
    struct work *work = arg;

    work->loop->working--;
    work->done(work->arg, MCPLUG_OK);
    mp_free(work);
}

static void on_worker_ended(void *arg)
{
    struct worker *worker = arg;

    pthread_join(worker->thread, NULL);
    worker->loop->threads--;
    mp_free(worker);
}

/* The next in the queue; NULL: none, and this thread does not ask again. */
static struct work *take_work(struct mp_loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct work *work = loop->queue;
    if (work) {
        loop->queue = work->next;
        if (!loop->queue)
            loop->queue_end = &loop->queue;
    } else {
        loop->workers--;
    }
    pthread_mutex_unlock(&loop->lock);
    return work;
}

static void *work_through(void *arg)
{
    struct worker *worker = arg;
    struct mp_loop *loop = worker->loop;
    struct work *work;

    while ((work = take_work(loop))) {
        work->run(work->arg);
        mp_loop_post_own(loop, &work->post, on_work_done, work);
    }
    mp_loop_post_own(loop, &worker->post, on_worker_ended, worker);
    return NULL;
}

static bool start_worker(struct mp_loop *loop)
{
    struct worker *worker = mp_alloc(sizeof *worker);

    if (!worker)
        return false;
    worker->loop = loop;
    if (pthread_create(&worker->thread, NULL, work_through, worker) != 0) {
        mp_free(worker);
        return false;
    }
    loop->threads++;
    return true;
}

/* No thread could be started for it. false: there is none that will do it, and it is out
 * of the queue again. */
static bool left_to_others(struct mp_loop *loop, const struct work *work)
{
    pthread_mutex_lock(&loop->lock);
    bool others = --loop->workers > 0;
    struct work **at = &loop->queue;
    while (*at && *at != work)
        at = &(*at)->next;
    others = others || !*at;
    if (!others) { /* it was the last to come */
        *at = NULL;
        loop->queue_end = at;
    }
    pthread_mutex_unlock(&loop->lock);
    return others;
}

int mp_loop_work(struct mp_loop *loop, void (*run)(void *arg),
                 void (*done)(void *arg, int status), void *arg)
{
    struct work *work = mp_alloc(sizeof *work);
    if (!work)
        return MCPLUG_ENOMEM;
    work->loop = loop;
    work->run = run;
    work->done = done;
    work->arg = arg;
    loop->working++;
    pthread_mutex_lock(&loop->lock);
    *loop->queue_end = work;
    loop->queue_end = &work->next;
    bool more = loop->workers < WORKERS_MAX;
    loop->workers += more;
    pthread_mutex_unlock(&loop->lock);
    if (!more || start_worker(loop) || left_to_others(loop, work))
        return MCPLUG_OK;
    loop->working--;
    mp_free(work);
    return MCPLUG_EIO;
}
