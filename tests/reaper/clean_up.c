/* The clean-up command of mcplug-reaper runs once, after the whole tree, however the
 * server ends.
 *
 *   clean_up PATH_OF_MCPLUG_REAPER
 *
 * The server and the clean-up command are this same program. The server, `--server HOW`,
 * has a child in a session of its own that is deaf to SIGTERM; each writes its pid to
 * stdout. The clean-up command, `--clean WHAT`, appends a line to the file "record" of
 * the directory that it is started in: "clean", or what is not as promised.
 */
#include "../unit/now.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 10000    /* for whatever has to happen soon */
#define PROMPT_MS 3000    /* what a host may wait for the reaper of a slow clean-up */
#define CLEAN_UP_MS 10000 /* what a clean-up has */
#define KIN "kin"         /* the file with the pids of the server's tree */
#define RECORD "record"

/* ---- the server ----------------------------------------------------------- */

static void note_pid(void)
{
    char line[16];
    int len = snprintf(line, sizeof line, "%d\n", (int)getpid());
    int fd = open(getenv("TEST_KIN"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)len) != len ||
        write(STDOUT_FILENO, ".", 1) != 1)
        _exit(99);
    close(fd);
}

static int be_server(const char *how)
{
    if (fork() == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        note_pid();
        for (;;)
            pause();
    }
    note_pid();
    if (strcmp(how, "exits") == 0) {
        char go;
        return read(STDIN_FILENO, &go, 1) == 1 ? 7 : 98;
    }
    for (;;)
        pause();
}

/* ---- the clean-up command ------------------------------------------------- */

static void record(const char *text)
{
    int fd = open(RECORD, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || dprintf(fd, "%s\n", text) < 0)
        _exit(1);
    close(fd);
}

static bool is_null_device(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* What exec leaves of another process's signals is what it blocked and ignored. */
static bool has_default_signals(void)
{
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int sig = 1; sig < 32; sig++) {
        struct sigaction action;
        if (sigismember(&mask, sig) || sigaction(sig, NULL, &action) != 0 ||
            action.sa_handler == SIG_IGN)
            return false;
    }
    return true;
}

/* A server that did not start has left no file. */
static bool tree_is_gone(void)
{
    FILE *f = fopen(KIN, "re");
    bool gone = true;
    for (int pid; f != NULL && fscanf(f, "%d", &pid) == 1;)
        gone = gone && kill(pid, 0) != 0 && errno == ESRCH;
    if (f != NULL)
        fclose(f);
    return gone;
}

static int be_clean_up(const char *what)
{
    const char *variable = getenv("TEST_VARIABLE");
    const char *wrong = NULL;
    for (int fd = 0; fd <= 2; fd++)
        if (!is_null_device(fd))
            wrong = "a standard stream is not /dev/null";
    for (int fd = 3; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            wrong = "a descriptor is open";
    if (!has_default_signals())
        wrong = "signals are not as they are by default";
    if (variable == NULL || strcmp(variable, "of the server") != 0)
        wrong = "the environment is not the server's";
    if (!tree_is_gone())
        wrong = "the server's tree is still there";
    if (strcmp(what, "two words") != 0 && strcmp(what, "hang") != 0)
        wrong = "its argument is wrong";
    if (wrong == NULL && strcmp(what, "hang") == 0) {
        unlink(KIN);
        setenv("TEST_KIN", KIN, 1);
        signal(SIGTERM, SIG_IGN);
        if (fork() == 0)
            setsid();
        note_pid();
        for (;;)
            pause();
    }
    record(wrong != NULL ? wrong : "clean");
    return 5; /* which concerns nobody */
}

/* ---- a run of the reaper -------------------------------------------------- */

static char dir[] = "/tmp/mcplug-clean-up-XXXXXX", self[4096];
static const char *reaper;
static unsigned failures;

struct run {
    pid_t pid;        /* of the reaper */
    int lifeline;     /* our end; -1: another process has it */
    int in, out, err; /* of the server */
    char told[256];   /* by the reaper, all of it */
};

static void fail(const char *test, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%s: ", test);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    failures++;
}

static void clear_files(void)
{
    unlink(RECORD);
    unlink(KIN);
}

static void become_reaper(const char *const *words, const int fds[4])
{
    const char *argv[24] = {reaper};
    int high[4], n = 1;
    for (; *words != NULL; words++)
        argv[n++] = strcmp(*words, "SELF") == 0 ? self : *words;
    for (int i = 0; i < 4; i++)
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 4; i++)
        if (dup2(high[i], i) < 0)
            _exit(1);
    signal(SIGUSR1, SIG_IGN); /* the clean-up command must not inherit that */
    execv(reaper, (char **)argv);
    _exit(1);
}

/* With `host`, a process between us and the reaper holds the lifeline. */
static struct run start(const char *const *words, pid_t *host)
{
    struct run run = {.lifeline = -1};
    int in[2], out[2], err[2], lifeline[2], pid[2];
    clear_files();
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        pipe2(err, O_CLOEXEC) != 0 || pipe2(pid, O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline) != 0)
        exit(1);
    const int fds[] = {in[0], out[1], err[1], lifeline[1]};
    pid_t between = host != NULL ? fork() : 0;
    if (between == 0) {
        run.pid = fork();
        if (run.pid == 0)
            become_reaper(words, fds);
        if (host != NULL) {
            close(lifeline[1]);
            if (write(pid[1], &run.pid, sizeof run.pid) != (ssize_t)sizeof run.pid)
                _exit(1);
            for (;;)
                pause();
        }
    } else {
        *host = between;
        if (read(pid[0], &run.pid, sizeof run.pid) != (ssize_t)sizeof run.pid)
            exit(1);
    }
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    close(pid[0]);
    close(pid[1]);
    if (host == NULL)
        run.lifeline = lifeline[0];
    else
        close(lifeline[0]);
    run.in = in[1];
    run.out = out[0];
    run.err = err[0];
    return run;
}

/* Until `fd` can be read, or has ended. */
static bool await(int fd, double since, int limit_ms)
{
    struct pollfd on = {.fd = fd, .events = POLLIN};
    double left = since + limit_ms - now_ms();
    return poll(&on, 1, left > 0 ? (int)left + 1 : 0) == 1;
}

/* Both processes of the server are in place. */
static bool await_server(const struct run *run)
{
    double since = now_ms();
    char dot;
    return await(run->out, since, LIMIT_MS) && read(run->out, &dot, 1) == 1 &&
           await(run->out, since, LIMIT_MS) && read(run->out, &dot, 1) == 1;
}

/* Takes what the reaper tells, until it closes the lifeline. */
static bool await_told(struct run *run, int limit_ms)
{
    double since = now_ms();
    size_t len = 0;
    while (await(run->lifeline, since, limit_ms)) {
        ssize_t n = read(run->lifeline, run->told + len, sizeof run->told - 1 - len);
        if (n <= 0)
            return true;
        len += (size_t)n;
    }
    return false;
}

static bool await_exit(pid_t pid, int *status, int limit_ms)
{
    for (double since = now_ms(); now_ms() - since < limit_ms; usleep(1000)) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid)
            return true;
    }
    return false;
}

/* We are a subreaper as well: copies of the reaper come here when it exits, and when
 * we have no child any more, nothing is left of the run. */
static bool await_nothing(int limit_ms)
{
    for (double since = now_ms(); now_ms() - since < limit_ms; usleep(1000)) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
            return true;
    }
    return false;
}

static void check_record(const char *test, const char *expected)
{
    char text[256] = "";
    FILE *f = fopen(RECORD, "re");
    size_t len = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
    text[len] = '\0';
    if (f != NULL)
        fclose(f);
    if (strcmp(text, expected) != 0)
        fail(test, "the clean-up recorded \"%s\" instead of \"%s\"", text, expected);
}

static void finish(const char *test, struct run *run)
{
    if (!await_nothing(LIMIT_MS + CLEAN_UP_MS))
        fail(test, "processes are left");
    if (run->lifeline >= 0)
        close(run->lifeline);
    close(run->in);
    close(run->out);
    close(run->err);
}

/* ---- the endings ---------------------------------------------------------- */

#define CLEAN "-A", "3", "SELF", "--clean", "two words"

static void let_exit(struct run *run)
{
    if (write(run->in, "x", 1) != 1)
        failures++;
}

static void kill_server(struct run *run)
{
    int pid = 0;
    char text[64];
    ssize_t len = recv(run->lifeline, text, sizeof text - 1, MSG_PEEK);
    text[len > 0 ? len : 0] = '\0';
    if (sscanf(text, "S %d", &pid) == 1)
        kill(pid, SIGUSR2);
}

static void order_term(struct run *run)
{
    send(run->lifeline, "T", 1, MSG_NOSIGNAL);
}

static void order_kill(struct run *run)
{
    send(run->lifeline, "K", 1, MSG_NOSIGNAL);
}

static void hang_up(struct run *run)
{
    shutdown(run->lifeline, SHUT_WR);
}

static void end_reaper(struct run *run)
{
    kill(run->pid, SIGTERM);
}

static const struct ending {
    const char *name;
    const char *words[12];
    void (*end)(struct run *run); /* NULL: the server does not start */
    const char *told;             /* after "S <pid>\n", if it starts */
    const char *recorded;
    int status;
} endings[] = {
    {"the server exits",
     {CLEAN, "--", "SELF", "--server", "exits"},
     let_exit,
     "X 7\nG\n",
     "clean\n",
     0},
    {"the server is killed",
     {CLEAN, "--", "SELF", "--server", "stays"},
     kill_server,
     "X -12\nG\n",
     "clean\n",
     0},
    {"the server cannot be run",
     {CLEAN, "--", "/no/such/server"},
     NULL,
     "E 2 exec\nG\n",
     "clean\n",
     1},
    {"its directory is missing",
     {"-C", "/no/such/dir", CLEAN, "--", "/bin/true"},
     NULL,
     "E 2 chdir\nG\n",
     "clean\n",
     1},
    {"the host sends SIGTERM",
     {CLEAN, "--", "SELF", "--server", "stays"},
     order_term,
     "X -15\nG\n",
     "clean\n",
     0},
    {"the host sends SIGKILL",
     {CLEAN, "--", "SELF", "--server", "stays"},
     order_kill,
     "X -9\nG\n",
     "clean\n",
     0},
    {"the host closes the lifeline",
     {CLEAN, "--", "SELF", "--server", "stays"},
     hang_up,
     "X -15\nG\n",
     "clean\n",
     0},
    {"the reaper gets SIGTERM",
     {CLEAN, "--", "SELF", "--server", "stays"},
     end_reaper,
     "X -15\nG\n",
     "clean\n",
     0},
    {"the server starts elsewhere",
     {CLEAN, "-C", "/", "--", "SELF", "--server", "exits"},
     let_exit,
     "X 7\nG\n",
     "clean\n",
     0},
    {"there is no clean-up",
     {"--", "SELF", "--server", "exits"},
     let_exit,
     "X 7\nG\n",
     "",
     0},
    {"the clean-up cannot be run",
     {"-A", "2", "/no/such/clean-up", "x", "--", "SELF", "--server", "exits"},
     let_exit,
     "X 7\nG\nA 2 exec\n",
     "",
     0},
    {"neither can be run",
     {"-A", "1", "/no/such/clean-up", "--", "/no/such/server"},
     NULL,
     "E 2 exec\nG\nA 2 exec\n",
     "",
     1},
};

static void check_ending(const struct ending *e)
{
    struct run run = start(e->words, NULL);
    const char *told = run.told;
    int status = -1;
    if (e->end != NULL && !await_server(&run))
        fail(e->name, "the server did not start");
    else if (e->end != NULL)
        e->end(&run);
    if (!await_told(&run, LIMIT_MS))
        fail(e->name, "the lifeline does not end");
    if (e->end != NULL)
        told = strchr(told, '\n') != NULL ? strchr(told, '\n') + 1 : "";
    if ((e->end != NULL && run.told[0] != 'S') || strcmp(told, e->told) != 0)
        fail(e->name, "the reaper told \"%s\"", run.told);
    if (!await_exit(run.pid, &status, LIMIT_MS) || !WIFEXITED(status) ||
        WEXITSTATUS(status) != e->status)
        fail(e->name, "the reaper's status is %#x", (unsigned)status);
    finish(e->name, &run);
    check_record(e->name, e->recorded);
}

static void check_killed_host(void)
{
    static const char *const words[] = {CLEAN, "--", "SELF", "--server", "stays", NULL};
    const char *test = "the host is killed";
    pid_t host;
    struct run run = start(words, &host);
    if (!await_server(&run))
        fail(test, "the server did not start");
    kill(host, SIGKILL);
    finish(test, &run);
    check_record(test, "clean\n");
}

/* A directory that was removed meanwhile is still the one to run in. */
static void check_removed_directory(void)
{
    const char *test = "the directory is removed";
    char path[64];
    snprintf(path, sizeof path, "%s/" RECORD, dir);
    const char *const words[] = {"-A",   "2",        "/bin/touch", path, "--",
                                 "SELF", "--server", "exits",      NULL};
    clear_files();
    if (mkdir("gone", 0700) != 0 || chdir("gone") != 0)
        exit(1);
    struct run run = start(words, NULL);
    bool ready = await_server(&run);
    if (chdir(dir) != 0 || rmdir("gone") != 0 || !ready)
        fail(test, "the server did not start");
    let_exit(&run);
    finish(test, &run);
    if (access(RECORD, F_OK) != 0)
        fail(test, "the clean-up did not run");
}

/* The host has its end at once; the clean-up, deaf to SIGTERM as is its child in another
 * session, is gone after 10 s. */
static void check_hanging(void)
{
    static const char *const words[] = {"-A", "3",    "SELF",     "--clean", "hang",
                                        "--", "SELF", "--server", "exits",   NULL};
    const char *test = "the clean-up hangs";
    struct run run = start(words, NULL);
    int status = -1;
    if (!await_server(&run))
        fail(test, "the server did not start");
    double since = now_ms();
    let_exit(&run);
    if (!await_told(&run, PROMPT_MS) || strstr(run.told, "\nX 7\n") == NULL ||
        !await_exit(run.pid, &status, PROMPT_MS))
        fail(test, "the host waits for it");
    if (!await_nothing(CLEAN_UP_MS + LIMIT_MS))
        fail(test, "it is never ended");
    double spent = now_ms() - since;
    if (spent < CLEAN_UP_MS || spent > CLEAN_UP_MS + PROMPT_MS)
        fail(test, "it was ended after %.0f ms", spent);
    finish(test, &run);
    check_record(test, "");
}

/* ---- the command line ----------------------------------------------------- */

static void check_usage(void)
{
    static const char *const wrong[][10] = {
        {"-A", "--", "/bin/true"},
        {"-A", "0", "--", "/bin/true"},
        {"-A", "-1", "x", "--", "/bin/true"},
        {"-A", "one", "x", "--", "/bin/true"},
        {"-A", "1x", "x", "--", "/bin/true"},
        {"-A", "", "x", "--", "/bin/true"},
        {"-A", "1", "", "--", "/bin/true"},
        {"-A", "9", "x", "--", "/bin/true"},
        {"-A", "99999999999999999999", "x", "--", "/bin/true"},
        {"-A", "1", "x", "-A", "1", "y", "--", "/bin/true"},
        {"-A"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct run run = start(wrong[i], NULL);
        char text[512] = "", test[32];
        int status = -1;
        snprintf(test, sizeof test, "usage %zu", i);
        if (!await_exit(run.pid, &status, LIMIT_MS) || !WIFEXITED(status) ||
            WEXITSTATUS(status) != 2)
            fail(test, "the reaper's status is %#x", (unsigned)status);
        ssize_t len = read(run.err, text, sizeof text - 1);
        if (len <= 0 || strstr(text, "usage: mcplug-reaper [-C DIR] [-A N") == NULL ||
            strstr(text, "-A needs a number of words") == NULL)
            fail(test, "the reaper said \"%s\"", text);
        finish(test, &run);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--server") == 0)
        return be_server(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--clean") == 0)
        return be_clean_up(argv[2]);
    if (argc != 2 || readlink("/proc/self/exe", self, sizeof self - 1) < 0 ||
        (reaper = realpath(argv[1], NULL)) == NULL || mkdtemp(dir) == NULL ||
        chdir(dir) != 0) {
        fputs("usage: clean_up PATH_OF_MCPLUG_REAPER\n", stderr);
        return 2;
    }
    char kin[64];
    snprintf(kin, sizeof kin, "%s/" KIN, dir);
    setenv("TEST_KIN", kin, 1);
    setenv("TEST_VARIABLE", "of the server", 1);
    setvbuf(stdout, NULL, _IONBF, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        check_ending(&endings[i]);
    check_killed_host();
    check_removed_directory();
    check_usage();
    check_hanging();
    clear_files();
    rmdir(dir);
    printf("%u failures\n", failures);
    return failures == 0 ? 0 : 1;
}
