/* A converter that does what its content says, most of which no good one would do. */
#include <mcplug/plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct module {
    const struct mcplug_host *host;
};

static int trial_match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    (void)ctx;
    if (strcmp(mime, "x-test/trial") != 0)
        return 0;
    return !limits->want_mime || strcmp(limits->want_mime, "text/plain") == 0 ? 70 : 0;
}

/* ---- what is not allowed: 0, or the errno ---- */

static int try_open(void)
{
    return open("/etc/passwd", O_RDONLY) < 0 ? errno : 0;
}

static int try_create(void)
{
    return open("/tmp", O_TMPFILE | O_RDWR, 0600) < 0 ? errno : 0;
}

static int try_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int try_unix(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int try_exec(void)
{
    char *argv[] = {"/bin/true", NULL};
    execv(argv[0], argv);
    return errno;
}

static int try_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : 0;
}

static int try_vfork(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : 0;
}

static int try_kill(void)
{
    return kill(1, 0) < 0 ? errno : 0;
}

static int try_ptrace(void)
{
    return syscall(SYS_ptrace, 16 /* attach */, 1, NULL, NULL) < 0 ? errno : 0;
}

static int try_link(void)
{
    return syscall(SYS_unlink, "/tmp/mcplug-trial") < 0 ? errno : 0;
}

static int try_memory(void)
{
    return syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0) < 0 ? errno : 0;
}

static int try_stat(void)
{
    struct stat st;
    return fstatat(AT_FDCWD, "/etc/passwd", &st, AT_EMPTY_PATH) < 0 ? errno : 0;
}

static int try_stop(void)
{
    return raise(SIGSTOP) != 0 ? errno : 0;
}

static int try_queue(void)
{
    return syscall(SYS_io_uring_setup, 1, NULL) < 0 ? errno : 0;
}

static int try_owner(void)
{
    return fcntl(3, F_SETOWN, 1) < 0 ? errno : 0;
}

static const struct {
    const char *name;
    int (*fn)(void);
} attempts[] = {
    {"open", try_open},   {"create", try_create}, {"socket", try_socket},
    {"unix", try_unix},   {"exec", try_exec},     {"fork", try_fork},
    {"vfork", try_vfork}, {"kill", try_kill},     {"ptrace", try_ptrace},
    {"unlink", try_link}, {"memory", try_memory}, {"stat", try_stat},
    {"stop", try_stop},   {"queue", try_queue},   {"owner", try_owner},
};

/* ---- what goes wrong ---- */

static void *on_thread(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static void overflow(volatile char *p)
{
    volatile char more[65536];
    more[0] = *p;
    overflow(more);
}

static void fall(const char *what)
{
    if (strcmp(what, "crash") == 0)
        __builtin_trap();
    else if (strcmp(what, "abort") == 0)
        abort();
    else if (strcmp(what, "exit") == 0)
        _exit(7);
    else if (strcmp(what, "stack") == 0)
        overflow(what ? (volatile char *)"" : NULL);
    else if (strcmp(what, "hang") == 0)
        for (;;)
            pause();
    else if (strcmp(what, "spin") == 0)
        for (volatile unsigned i = 0;; i++)
            ;
    else if (strcmp(what, "nomem") == 0)
        for (;;) {
            char *p = malloc(1 << 20);
            if (!p)
                abort(); /* as glib does */
            *(volatile char *)p = 1;
        }
}

/* ---- what comes out ---- */

static int give(const struct mcplug_host *host, const char *text, size_t len,
                struct mcplug_content *out)
{
    out->mime = "text/plain";
    out->body = host->mem->buf_new(text, len);
    return out->body ? MCPLUG_OK : MCPLUG_ENOMEM;
}

static int give_upper(const struct mcplug_host *host, const char *text, size_t len,
                      struct mcplug_content *out)
{
    char *copy = host->mem->alloc(len + 1);

    if (!copy)
        return MCPLUG_ENOMEM;
    for (size_t i = 0; i < len; i++)
        copy[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i]);
    int r = give(host, copy, len, out);
    host->mem->free(copy);
    return r;
}

static int give_number(const struct mcplug_host *host, long n, struct mcplug_content *out)
{
    char text[32];
    return give(host, text, (size_t)snprintf(text, sizeof text, "%ld", n), out);
}

static int give_file(struct mcplug_content *out)
{
    out->mime = "text/plain";
    out->fd = memfd_create("trial", 0);
    out->size = 6;
    return out->fd >= 0 && write(out->fd, "a file", 6) == 6 ? MCPLUG_OK : MCPLUG_EIO;
}

static int give_zeros(const struct mcplug_host *host, size_t len,
                      struct mcplug_content *out)
{
    char *p = host->mem->alloc(len);
    int r = p ? give(host, p, len, out) : MCPLUG_ENOMEM;
    host->mem->free(p);
    return r;
}

/* Something that is no answer, which the host sees first. */
static int tell_lies(const struct mcplug_host *host, const char *what,
                     struct mcplug_content *out)
{
    const int fds[] = {0, 1, 2};
    union {
        char room[CMSG_SPACE(sizeof fds)];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {(char *)what, strcmp(what, "lie-empty") == 0 ? 0 : strlen(what)};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

    if (strcmp(what, "lie") != 0) { /* with descriptors that nobody asked for */
        msg.msg_control = control.room;
        msg.msg_controllen = sizeof control.room;
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fds);
        memcpy(CMSG_DATA(c), fds, sizeof fds);
    }
    return sendmsg(3, &msg, 0) < 0 ? MCPLUG_EIO : give(host, "lie", 3, out);
}

extern char **environ;

/* What the process has of its host. */
static int give_inheritance(const struct mcplug_host *host, struct mcplug_content *out)
{
    char text[4096];
    size_t n = 0;

    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "%d ", fd);
    for (char **e = environ; *e && n < sizeof text - 256; e++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%.200s ", *e);
    return give(host, text, n, out);
}

static int facts(const struct mcplug_task *task, struct mcplug_content *out,
                 const struct mcplug_host *host)
{
    char name[32], long_value[300];
    int wrong = 0;

    memset(long_value, 'x', sizeof long_value);
    long_value[299] = '\0';
    wrong += task->fact(task->job, "pages", "1") != MCPLUG_OK;
    wrong += task->fact(task->job, "pages", "12") != MCPLUG_OK;
    wrong += task->fact(task->job, "title", "two\nlines") != MCPLUG_OK;
    wrong += task->fact(task->job, "Bad Name", "1") != MCPLUG_EINVAL;
    wrong += task->fact(task->job, "", "1") != MCPLUG_EINVAL;
    wrong += task->fact(task->job, "long", long_value) != MCPLUG_EINVAL;
    wrong += task->fact(task->job, "latin", "\xfc") != MCPLUG_EINVAL;
    wrong += task->fact(task->job, NULL, "1") != MCPLUG_EINVAL;
    wrong += task->fact(task->job, "null", NULL) != MCPLUG_EINVAL;
    for (int i = 2; i < 16; i++) {
        snprintf(name, sizeof name, "fact-%d", i);
        wrong += task->fact(task->job, name, "x") != MCPLUG_OK;
    }
    wrong += task->fact(task->job, "one-more", "x") != MCPLUG_EINVAL;
    return give_number(host, wrong, out);
}

static int trial_convert(void *ctx, const struct mcplug_task *task,
                         struct mcplug_content *out, struct mcplug_error *err)
{
    const struct mcplug_host *host = ((const struct module *)ctx)->host;
    struct mcplug_bytes in = host->mem->buf_bytes(task->in->body);
    char what[64];

    snprintf(what, sizeof what, "%.*s", (int)(in.len < 63 ? in.len : 63),
             (const char *)in.data);
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++)
        if (strcmp(what, attempts[i].name) == 0)
            return give_number(host, attempts[i].fn(), out);
    fall(what);
    if (strncmp(what, "lie", 3) == 0)
        return tell_lies(host, what, out);
    if (strcmp(what, "facts") == 0)
        return facts(task, out, host);
    if (strcmp(what, "inheritance") == 0)
        return give_inheritance(host, out);
    if (strcmp(what, "nomemory") == 0)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    if (strcmp(what, "grow") == 0) /* what it keeps of the last one */
        return give_number(host, ftruncate(5, 100) < 0 ? errno : 0, out);
    if (strcmp(what, "pid") == 0)
        return give_number(host, getpid(), out);
    if (strcmp(what, "file") == 0)
        return give_file(out);
    if (strcmp(what, "thread") == 0) {
        pthread_t thread;
        int ran = 0;
        if (pthread_create(&thread, NULL, on_thread, &ran) == 0)
            pthread_join(thread, NULL);
        return give_number(host, ran, out);
    }
    if (strcmp(what, "setting") == 0)
        return give(host, host->diag->prop(task->settings, "word"),
                    strlen(host->diag->prop(task->settings, "word")), out);
    if (strcmp(what, "slow") == 0) {
        struct timespec step = {0, 5000000};
        for (int i = 0; i < 60 && !task->cancelled(task->job); i++)
            nanosleep(&step, NULL);
        return give(host, "slow", 4, out);
    }
    if (strcmp(what, "refuse") == 0)
        return host->diag->fail(err, MCPLUG_EPROTO, "it says %s", what);
    if (strcmp(what, "silent") == 0)
        return MCPLUG_EPROTO;
    if (strcmp(what, "positive") == 0)
        return 5;
    if (strcmp(what, "nothing") == 0)
        return MCPLUG_OK;
    if (strcmp(what, "untyped") == 0) {
        give(host, "x", 1, out);
        out->mime = "no type";
        return MCPLUG_OK;
    }
    if (strcmp(what, "large") == 0)
        return give_zeros(host, 1 << 20, out);
    if (strcmp(what, "short-file") == 0) {
        int r = give_file(out);
        out->size = 100;
        return r;
    }
    return give_upper(host, (const char *)in.data, in.len, out);
}

static int init(const struct mcplug_host *host, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    static struct module module; /* of one host alone: tests have no more */
    (void)self, (void)err;
    module.host = host;
    *ctx = &module;
    return MCPLUG_OK;
}

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = trial_match, .convert = trial_convert};

static const char *const accepts[] = {"x-test/trial", NULL};

static const struct mcplug_option options[] = {
    {"word", "string", "none", "what comes out of \"setting\""},
    {NULL, NULL, NULL, NULL}};

static const struct mcplug_feature features[] = {{.kind = MCPLUG_CONVERTER,
                                                  .name = "trial",
                                                  .summary = "Does what it is told",
                                                  .accepts = accepts,
                                                  .options = options,
                                                  .ops = &ops}};

MCPLUG_PLUGIN(trial) = {MCPLUG_HEAD(4),
                        .name = "trial",
                        .version = "1",
                        .license = "MIT",
                        .summary = "A converter for tests",
                        .origin = "mcplug",
                        MCPLUG_FEATURES(features),
                        .init = init};
