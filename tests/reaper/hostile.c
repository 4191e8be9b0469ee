/* No process of a server that works against mcplug-reaper outlives its host.
 *
 *   hostile MCPLUG SELF WAY [ATTACK]
 *
 * MCPLUG is the command, which is the host here; SELF is the path of this program, which
 * is the server too, as `SELF --server ATTACK`. WAY says how processes can be found:
 * "tree" by /proc and by their marks, "cgroup" in a cgroup of their own as well, which is
 * to be below that of this program, the directory TEST_CGROUP, "blind" by neither. Each
 * attack of the table below that is meant for that way is tried, or the one that is
 * named.
 *
 * The server starts its processes and does its harm before it reads a message. Each
 * process writes its pid to the file "kin". A server that answers is pinged and closed;
 * one that is silent has its host killed. 250 ms later (tick.h) none of them may exist. A
 * reaper whose host was killed may take longer, for it searches.
 * Whatever happens, they end by themselves after LIFE_S.
 */
#include "tick.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 200     /* as ticks count, see tick.h: 250 where nothing else runs */
#define START_MS 30000 /* until the processes of a server are in place */
#define HOST_MS 30000  /* until a host that was not killed has ended */
#define RUN_S 10       /* of one that is always another process */
#define LIFE_S 120     /* of processes that nobody ends */
#define KIN "kin"
#define ERRORS "errors"
#define WARNING "/proc is not mounted"
#define KIN_MAX 512

static unsigned failures;

static void fail(const char *attack, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%s: ", attack);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    failures++;
}

/* ---- the server ----------------------------------------------------------- */

static pid_t reaper; /* of the server, its parent */

static void note_pid(void)
{
    char line[16];
    int len = snprintf(line, sizeof line, "%d\n", (int)getpid());
    int fd = open(getenv("TEST_KIN"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)len) != len)
        _exit(99);
    close(fd);
}

static _Noreturn void stay(void)
{
    alarm(LIFE_S);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    note_pid();
    for (;;)
        pause();
}

/* The process that is left has neither a parent nor a session in common with us. */
static void fork_away(void (*become)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        if (fork() == 0) {
            setsid();
            if (fork() == 0)
                become();
        }
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void stay_away(void)
{
    stay();
}

static unsigned kin_lines(void);

/* Before harm is done, what is to survive it must be in place. */
static void await_kin(unsigned n)
{
    while (kin_lines() < n)
        usleep(1000);
}

static void stop_reaper(void)
{
    fork_away(stay_away);
    await_kin(1);
    kill(reaper, SIGSTOP);
}

static void stop_for_ever(void)
{
    alarm(LIFE_S);
    signal(SIGTERM, SIG_IGN);
    note_pid();
    for (;;)
        kill(reaper, SIGSTOP);
}

static void keep_stopped(void)
{
    fork_away(stay_away);
    fork_away(stop_for_ever);
    await_kin(2);
}

static void kill_reaper(void)
{
    fork_away(stay_away);
    await_kin(1);
    kill(reaper, SIGKILL);
}

static void kill_reaper_with_many(void)
{
    for (int i = 0; i < 50; i++)
        fork_away(stay_away);
    await_kin(50);
    kill(reaper, SIGKILL);
}

/* A process that is always another one, in a group of its own. */
static void run_away(void)
{
    time_t end = time(NULL) + RUN_S;
    note_pid();
    while (time(NULL) < end) {
        setsid();
        if (fork() != 0)
            _exit(0);
    }
    _exit(0);
}

/* Nothing in the environment says any more whose it is. */
static void stay_unmarked(void)
{
    char kin[128];
    snprintf(kin, sizeof kin, "TEST_KIN=%s", getenv("TEST_KIN"));
    char *const envp[] = {kin, NULL};
    char *const argv[] = {(char *)"hostile", (char *)"--stay", NULL};
    execve("/proc/self/exe", argv, envp);
    _exit(99);
}

static void drop_mark(void)
{
    fork_away(stay_unmarked);
    await_kin(1);
    kill(reaper, SIGKILL);
}

/* The directory of our own cgroup, which is in TEST_CGROUP. */
static void own_cgroup(char *out, size_t size)
{
    char line[4096] = "";
    FILE *f = fopen("/proc/self/cgroup", "re");
    const char *name = NULL;
    while (f != NULL && name == NULL && fgets(line, sizeof line, f) != NULL)
        name = strncmp(line, "0::", 3) == 0 ? strrchr(line, '/') : NULL;
    if (f != NULL)
        fclose(f);
    snprintf(out, size, "%s%.*s", getenv("TEST_CGROUP"),
             name != NULL ? (int)strcspn(name, "\n") : 0, name != NULL ? name : "");
}

static void stay_inside(void)
{
    char dir[8192], procs[8300];
    own_cgroup(dir, sizeof dir);
    for (int i = 0; i < 3; i++) {
        strcat(dir, "/inner");
        mkdir(dir, 0755);
    }
    snprintf(procs, sizeof procs, "%s/cgroup.procs", dir);
    int fd = open(procs, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        _exit(99);
    close(fd);
    stay_unmarked();
}

static void make_cgroups(void)
{
    fork_away(stay_inside);
    await_kin(1);
    kill(reaper, SIGKILL);
}

static void do_no_harm(void)
{
}

/* Of both who could end it nobody is left. */
static void kill_host_too(void)
{
    char line[4096] = "";
    int host = 0;
    snprintf(line, sizeof line, "/proc/%d/stat", (int)reaper);
    FILE *f = fopen(line, "re");
    const char *end =
        f != NULL && fgets(line, sizeof line, f) != NULL ? strrchr(line, ')') : NULL;
    if (end == NULL || sscanf(end, ") %*c %d", &host) != 1)
        _exit(99);
    fclose(f);
    fork_away(stay_unmarked);
    await_kin(1);
    kill(reaper, SIGSTOP); /* or it would end us when the host is gone */
    kill(host, SIGKILL);
    kill(reaper, SIGKILL);
}

static void kill_reaper_and_run(void)
{
    fork_away(run_away);
    await_kin(1);
    kill(reaper, SIGKILL);
}

static void daemonise(void)
{
    fork_away(stay_away);
    await_kin(1);
}

static void adopt(void)
{
    if (fork() == 0) {
        setsid();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        fork_away(stay_away);
        fork_away(stay_away);
        stay();
    }
    await_kin(3);
}

static void have_many(void)
{
    for (int i = 0; i < 50; i++)
        if (fork() == 0) {
            if (fork() == 0)
                stay();
            alarm(LIFE_S);
            pause();
        }
    await_kin(50);
}

/* ---- the table ------------------------------------------------------------ */

enum { TREE = 1, CGROUP = 2, BLIND = 4 };

static const struct attack {
    const char *name;
    void (*act)(void);
    bool is_silent; /* the host is killed */
    unsigned kin; /* processes that have to be ended, or more: a server that ended at once
                   * is started again */
    unsigned ways;
} attacks[] = {
    {"daemonises", daemonise, false, 1, TREE | CGROUP | BLIND},
    {"daemonises-host-killed", daemonise, true, 1, TREE | CGROUP | BLIND},
    {"has-own-subreaper", adopt, false, 3, TREE | CGROUP | BLIND},
    {"has-own-subreaper-host-killed", adopt, true, 3, TREE | CGROUP | BLIND},
    {"has-50-grandchildren", have_many, false, 50, TREE | CGROUP | BLIND},
    {"has-50-grandchildren-host-killed", have_many, true, 50, TREE | CGROUP | BLIND},
    {"stops-reaper", stop_reaper, false, 1, TREE | CGROUP | BLIND},
    {"stops-reaper-host-killed", stop_reaper, true, 1, TREE | CGROUP | BLIND},
    {"keeps-reaper-stopped", keep_stopped, false, 2, TREE | CGROUP},
    {"kills-reaper", kill_reaper, false, 1, TREE | CGROUP},
    {"kills-reaper-with-50", kill_reaper_with_many, false, 50, TREE | CGROUP},
    {"kills-reaper-and-runs", kill_reaper_and_run, false, 1, TREE | CGROUP},
    {"kills-reaper-without-mark", drop_mark, false, 1, CGROUP},
    {"kills-reaper-from-inner-cgroup", make_cgroups, false, 1, CGROUP},
    {"kills-host-too", kill_host_too, false, 1, 0},
    {"does-no-harm", do_no_harm, false, 0, TREE | CGROUP | BLIND},
};

static const struct attack *find_attack(const char *name)
{
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        if (strcmp(attacks[i].name, name) == 0)
            return &attacks[i];
    return NULL;
}

/* Answers whatever is asked as if it were `initialize` of an older revision. */
static void answer(void)
{
    char line[65536];
    while (fgets(line, sizeof line, stdin) != NULL) {
        const char *id = strstr(line, "\"id\":");
        if (id == NULL)
            continue;
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"protocolVersion\":"
               "\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"hostile\","
               "\"version\":\"1\"}}}\n",
               strtol(id + 5, NULL, 10));
        fflush(stdout);
    }
}

static int be_server(const char *name)
{
    const struct attack *a = find_attack(name);
    if (a == NULL)
        return 2;
    reaper = getppid();
    if (getenv("TEST_CGROUP") != NULL) {
        char dir[8192];
        own_cgroup(dir, sizeof dir);
        if (strstr(dir, "/mcplug-") == NULL)
            return 3;
    }
    signal(SIGCHLD, SIG_IGN);
    a->act();
    if (a->is_silent)
        stay();
    alarm(LIFE_S);
    answer();
    return 0;
}

/* ---- the experiment ------------------------------------------------------- */

static const char *mcplug, *self;

static unsigned read_kin(pid_t pids[KIN_MAX])
{
    unsigned n = 0;
    FILE *f = fopen(getenv("TEST_KIN"), "re");
    for (int pid; f != NULL && n < KIN_MAX && fscanf(f, "%d", &pid) == 1;)
        pids[n++] = pid;
    if (f != NULL)
        fclose(f);
    return n;
}

static unsigned kin_lines(void)
{
    pid_t pids[KIN_MAX];
    return read_kin(pids);
}

static pid_t start_host(const struct attack *a)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int err = open(ERRORS, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execl(mcplug, mcplug, "ping", "--set", "closeGrace=100ms", "--set", "termGrace=100ms",
          "--", self, "--server", a->name, (char *)NULL);
    _exit(127);
}

static bool await_start(const struct attack *a)
{
    for (double spent = 0; spent < START_MS; spent += tick())
        if (kin_lines() >= a->kin + a->is_silent)
            return true;
    return false;
}

static bool await_host(pid_t host)
{
    for (double spent = 0; spent < HOST_MS; spent += tick())
        if (waitpid(host, NULL, WNOHANG) == host)
            return true;
    return false;
}

/* We are a subreaper: what outlives its reaper comes here, and while we have a child
 * something is left. */
static bool await_nothing(int ms)
{
    for (double spent = 0; spent <= ms; spent += tick()) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return true;
    }
    return false;
}

static bool await_kin_gone(int ms)
{
    pid_t pids[KIN_MAX];
    unsigned n = read_kin(pids), alive = n;
    for (double spent = 0; spent <= ms && alive > 0; spent += tick()) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        alive = 0;
        for (unsigned i = 0; i < n; i++)
            alive += kill(pids[i], 0) == 0;
    }
    return alive == 0;
}

static bool has_warned(void)
{
    char text[65536];
    FILE *f = fopen(ERRORS, "re");
    size_t len = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
    text[len] = '\0';
    if (f != NULL)
        fclose(f);
    return strstr(text, WARNING) != NULL;
}

static void show_errors(void)
{
    char line[512];
    FILE *f = fopen(ERRORS, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        printf("    %s", line);
    if (f != NULL)
        fclose(f);
}

/* Those that wrote their pid, and, where the kernel lists them, all that came here, a
 * stopped reaper for one. */
static void end_survivors(void)
{
    pid_t pids[KIN_MAX];
    char path[64];
    unsigned n = read_kin(pids), alive = 0;
    for (unsigned i = 0; i < n; i++)
        alive += kill(pids[i], SIGKILL) == 0;
    printf("    %u of %u were alive\n", alive, n);
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int i = 0; i < 1000 && !await_nothing(0); i++) {
        FILE *f = fopen(path, "re");
        for (int pid; f != NULL && fscanf(f, "%d", &pid) == 1;)
            kill(pid, SIGKILL);
        if (f != NULL)
            fclose(f);
    }
}

static void try_attack(const struct attack *a, unsigned way)
{
    unsigned before = failures;
    unlink(KIN);
    pid_t host = start_host(a);
    if (a->is_silent && !await_start(a))
        fail(a->name, "the server did not start");
    if (a->is_silent)
        kill(host, SIGKILL);
    if (!await_host(host)) {
        fail(a->name, "the host does not end");
        kill(host, SIGKILL);
    }
    bool is_over = !a->is_silent || await_kin_gone(END_MS);
    is_over = is_over && await_nothing(a->is_silent ? HOST_MS : END_MS);
    unsigned kin = kin_lines();
    if (kin < a->kin + a->is_silent)
        fail(a->name, "%u processes were started instead of %u", kin,
             a->kin + a->is_silent);
    if (!is_over)
        fail(a->name, "processes are left");
    if (!a->is_silent && has_warned() != (way == BLIND))
        fail(a->name, way == BLIND ? "there is no warning" : "there is a warning");
    if (failures == before) {
        printf("%s: ok\n", a->name);
        return;
    }
    show_errors();
    end_survivors();
    await_nothing(END_MS);
}

/* What outlives both its reaper and its host is ended by the next start. */
static void check_stale(void)
{
    const struct attack *a = find_attack("kills-host-too");
    unlink(KIN);
    await_host(start_host(a));
    if (kin_lines() != 1 || await_nothing(0))
        fail(a->name, "nothing is left to be ended by the next start");
    pid_t next = start_host(find_attack("does-no-harm"));
    if (!await_host(next) || !await_nothing(END_MS)) {
        fail(a->name, "processes are left");
        show_errors();
        end_survivors();
    } else {
        printf("%s: ok\n", a->name);
    }
}

/* All cgroups that were made are removed, those of the server too; by the next start, if
 * what was killed had not gone yet. */
static void check_cgroup(void)
{
    struct stat st = {0};
    for (int i = 0; i < 50; i++) {
        if (stat(getenv("TEST_CGROUP"), &st) == 0 && st.st_nlink == 2)
            return;
        await_host(start_host(find_attack("does-no-harm")));
    }
    fail(getenv("TEST_CGROUP"), "%d cgroups are left", (int)st.st_nlink - 2);
}

int main(int argc, char **argv)
{
    static char dir[] = "/tmp/mcplug-hostile-XXXXXX", kin[64];
    if (argc == 3 && strcmp(argv[1], "--server") == 0)
        return be_server(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--stay") == 0)
        stay();
    unsigned way = argc < 4                         ? 0
                   : strcmp(argv[3], "tree") == 0   ? TREE
                   : strcmp(argv[3], "cgroup") == 0 ? CGROUP
                   : strcmp(argv[3], "blind") == 0  ? BLIND
                                                    : 0;
    if (way == 0 || mkdtemp(dir) == NULL || chdir(dir) != 0) {
        fputs("usage: hostile MCPLUG SELF tree|cgroup|blind [ATTACK]\n", stderr);
        return 2;
    }
    mcplug = argv[1];
    self = argv[2];
    snprintf(kin, sizeof kin, "%s/" KIN, dir);
    setenv("TEST_KIN", kin, 1);
    setenv("HOME", dir, 1);
    setvbuf(stdout, NULL, _IONBF, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    tick_prepare();
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        if ((attacks[i].ways & way) != 0 &&
            (argc < 5 || strcmp(argv[4], attacks[i].name) == 0))
            try_attack(&attacks[i], way);
    if (way == CGROUP) {
        check_stale();
        check_cgroup();
    }
    unlink(KIN);
    unlink(ERRORS);
    if (chdir("/") != 0 || rmdir(dir) != 0)
        printf("%s is left\n", dir);
    printf("%u failures\n", failures);
    return failures == 0 ? 0 : 1;
}
