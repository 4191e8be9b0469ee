/* Modules that load, and break their word later, in one way each. Built once per name
 * below, as
 *   cc .. -DUNRULY=opens_twice unruly.c -o unruly_opens_twice.so
 * for the contract kit to find out. `not` keeps to the rules. */
#include <mcplug/plugin.h>

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define U_not 1
#define U_opens_twice 2
#define U_never_opens 3
#define U_feeds_before_opened 4
#define U_feeds_after_closed 5
#define U_closes_twice 6
#define U_never_closes 7
#define U_keeps_frame 8
#define U_drops_frame_twice 9
#define U_written_unknown 10
#define U_written_unqueued 11
#define U_never_written 12
#define U_unknown_exchange 13
#define U_other_thread 14
#define U_calls_after_failure 15
#define U_cannot_connect 16
#define U_init_once 17
#define U_no_license 18
#define U_bad_fallback 19
#define U_list_fallback 20
#define U_upper_accepts 21
#define U_exports 22
#define U_needs_settings 23
#define U_slow 24
#define U_timer_left 25
#define U_strange_result 26
#define U_match_beyond 27
#define U_ends_without_cap 28
#define U_endless_send 29
#define U_endless_timer 30
#define U_endless_fini 31
#define U_timer_after_fini 32
#define U_leaks_memory 33
#define U_leaks_resized 34
#define U_leaks_buffer 35
#define U_leaks_in_init 36
#define U_leaks_descriptor 37
#define U_closes_stdin 38
#define U_prints 39
#define U_writes_stdout 40
#define U_signal_handler 41
#define U_blocks_signal 42
#define U_umask 43
#define U_locale 44
#define U_directory 45
#define U_sets_environment 46
#define U_unsets_environment 47
#define U_ends_by_itself 48
#define U_exchange_fails 49
#define U_logs_warning 50
#define U_remarks_and_fails 51
#define U_send_fails 52
#define U_send_fails_silently 53

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define IS(name) (GLUE(U_, UNRULY) == U_##name)

static const struct mcplug_host *host;
static mcplug_self *self;

static const struct mcplug_bytes byte = {(const unsigned char *)"x", 1};

#if IS(exports)
MCPLUG_VISIBLE int helpful_little_function(void);
int helpful_little_function(void)
{
    return 1;
}
#endif

static void on_late(void *arg)
{
    host->wire->feed(arg, 0, byte, 1);
}

static void *on_thread(void *arg)
{
    host->wire->remark(arg, byte);
    return NULL;
}

static void wait_100_ms(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&never, &lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&lock);
}

static void never_return(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
}

static void on_timer(void *arg)
{
    (void)arg;
    never_return();
}

/* Takes for its own what is the program's. */
static void meddle(void)
{
    if (IS(prints))
        printf("hello from %s\nand more\n", "unruly");
    if (IS(writes_stdout) && write(STDOUT_FILENO, "raw\n", 4) < 0)
        abort();
    if (IS(signal_handler))
        signal(SIGPIPE, SIG_IGN);
    if (IS(blocks_signal)) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    if (IS(umask))
        umask(0027);
    if (IS(locale))
        setlocale(LC_CTYPE, "C.UTF-8");
    if (IS(directory) && chdir("/") != 0)
        abort();
    if (IS(sets_environment))
        setenv("UNRULY", "1", 1);
    if (IS(unsets_environment))
        unsetenv("MCPLUG_UNRULY_TEST");
    if (IS(closes_stdin))
        close(STDIN_FILENO);
}

/* Takes what it does not give back. */
static void leak(void)
{
    static void *volatile leaked;

    if (IS(leaks_memory))
        leaked = host->mem->alloc(100);
    if (IS(leaks_resized))
        leaked = host->mem->resize(host->mem->alloc(1), 200);
    if (IS(leaks_buffer))
        leaked = host->mem->buf_ref(host->mem->buf_new("x", 1));
    if (IS(leaks_buffer))
        host->mem->buf_unref(leaked);
    if (IS(leaks_descriptor) && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
        abort();
}

static int unruly_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                       void **out, struct mcplug_error *err)
{
    const struct mcplug_error refused = {
        .struct_size = sizeof refused, .code = MCPLUG_EREFUSED, .text = "go away"};

    (void)ctx, (void)settings;
    *out = conn;
    if (IS(feeds_before_opened))
        host->wire->feed(conn, 0, byte, 1);
    if (IS(calls_after_failure)) {
        host->wire->closed(conn, NULL);
        return host->diag->fail(err, MCPLUG_EREFUSED, "not today");
    }
    if (IS(slow))
        wait_100_ms();
    if (IS(logs_warning))
        host->diag->log(self, MCPLUG_LOG_WARN, "the moon is %s", "full");
    if (IS(remarks_and_fails))
        host->wire->remark(conn, byte);
    if (IS(cannot_connect) || IS(remarks_and_fails))
        host->wire->closed(conn, &refused);
    else if (!IS(never_opens))
        host->wire->opened(conn);
    if (IS(opens_twice))
        host->wire->opened(conn);
    return MCPLUG_OK;
}

static int unruly_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                       struct mcplug_error *err)
{
    (void)err;
    meddle();
    leak();
    if (IS(ends_by_itself) || IS(exchange_fails)) {
        const struct mcplug_error lost = {
            .struct_size = sizeof lost, .code = MCPLUG_EIO, .text = "the peer left"};
        if (IS(exchange_fails))
            host->wire->exchange_end(t, env->exchange, &lost);
        else
            host->wire->closed(t, &lost);
    }
    if (IS(endless_send))
        never_return();
    if (IS(endless_timer))
        host->loop->timer_start(self, 0, on_timer, NULL);
    if (IS(unknown_exchange))
        host->wire->feed(t, env->exchange + 1000, byte, 1);
    if (IS(ends_without_cap))
        host->wire->exchange_end(t, env->exchange, NULL);
    if (IS(written_unknown))
        host->wire->written(t, env->serial + 1000);
    if (IS(written_unqueued))
        host->wire->written(t, env->serial);
    if (IS(other_thread)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, on_thread, t) == 0)
            pthread_join(thread, NULL);
    }
    if (!IS(keeps_frame))
        host->mem->buf_unref(frame);
    if (IS(drops_frame_twice))
        host->mem->buf_unref(frame);
    if (IS(send_fails))
        return host->diag->fail(err, MCPLUG_EOVERLOADED, "one at a time");
    if (IS(send_fails_silently))
        return MCPLUG_EIO;
    return IS(never_written) ? MCPLUG_QUEUED : IS(strange_result) ? 7 : MCPLUG_OK;
}

static void unruly_close(void *t)
{
    if (IS(never_closes))
        return;
    host->wire->closed(t, NULL);
    if (IS(closes_twice))
        host->wire->closed(t, NULL);
}

static void unruly_destroy(void *t)
{
    if (IS(feeds_after_closed))
        host->loop->timer_start(self, 5, on_late, t);
    if (IS(timer_left))
        host->loop->timer_start(self, 3600000, on_late, t);
}

static int match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    (void)ctx, (void)mime, (void)limits;
    return 101;
}

static int convert(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err)
{
    (void)ctx, (void)task, (void)out;
    return host->diag->fail(err, MCPLUG_ENOTSUP, "cannot");
}

static int unruly_init(const struct mcplug_host *h, mcplug_self *me, void **ctx,
                       struct mcplug_error *err)
{
    (void)ctx;
    if (IS(init_once) && host)
        return h->diag->fail(err, MCPLUG_EINVAL, "once is enough");
    host = h;
    self = me;
    if (IS(leaks_in_init))
        *ctx = h->mem->alloc(10);
    return MCPLUG_OK;
}

static void unruly_fini(void *ctx)
{
    (void)ctx;
    if (IS(endless_fini))
        never_return();
    if (IS(timer_after_fini))
        host->loop->timer_start(self, 3600000, on_timer, NULL);
}

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .caps = IS(exchange_fails) ? MCPLUG_CAN_EXCHANGE : 0,
    .open = unruly_open,
    .send = unruly_send,
    .close = unruly_close,
    .destroy = unruly_destroy,
};

static const struct mcplug_converter_ops converter = {
    .struct_size = sizeof converter,
    .match = match,
    .convert = convert,
};

static const struct mcplug_option options[] = {
    {"wait", "duration", IS(bad_fallback) ? "soon" : "1s", "How long"},
    {"tags", "list", IS(list_fallback) ? "a,b" : NULL, "Words"},
    {"url", "string", IS(needs_settings) ? NULL : "", "Where to"},
    {"token", "secret", IS(needs_settings) ? NULL : "", "Who"},
    {NULL, NULL, NULL, NULL},
};

static const char *const schemes[] = {IS(upper_accepts) ? "Unruly" : "unruly", NULL};
static const char *const types[] = {"text/x-unruly", NULL};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_TRANSPORT,
     .name = "unruly",
     .summary = "Breaks its word",
     .accepts = schemes,
     .options = options,
     .ops = &ops},
    {.kind = IS(match_beyond) ? MCPLUG_CONVERTER : 99,
     .name = "unruly",
     .summary = "Believes in itself",
     .accepts = types,
     .ops = &converter},
};

MCPLUG_PLUGIN(unruly) = {
    MCPLUG_HEAD(0),
    MCPLUG_FEATURES(features),
    .name = "unruly",
    .version = "1.0",
    .license = IS(no_license) ? NULL : "MIT",
    .summary = "Breaks its word",
    .init = unruly_init,
    .fini = unruly_fini,
};
