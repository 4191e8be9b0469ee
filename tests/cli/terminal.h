/* terminal.h - for tests of what the command does at a terminal: it runs behind one of
 * ours, in a directory of its own. Nothing waits for a time: each step waits for what the
 * one before it shows. */
#ifndef TESTS_CLI_TERMINAL_H
#define TESTS_CLI_TERMINAL_H

#include "../unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define OUTPUT_MAX ((size_t)1 << 20)
#define PATIENCE_MS 60000

static char dir[64], self[512], program[512];
static int terminal = -1, slave = -1; /* our end, and that of the command */
static struct termios before;         /* how it was when it was opened */
static pid_t pid;
static char *shown;
static size_t len, seen;      /* `seen`: up to here the steps have looked */
static const char *stdout_to; /* a file; NULL: the terminal */

static inline void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    ck_assert_msg(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s: %s", name,
                  strerror(errno));
}

/* ---- places ---- */

/* false: the command cannot be tried here. */
static inline bool find_program(void)
{
    const char *build = getenv("MCPLUG_BUILD");
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n < 0 || !build)
        return false;
    snprintf(program, sizeof program, "%s/mcplug", build);
    return true;
}

/* An empty directory, in which we are, with a home in it. */
static inline void begin_places(const char *name)
{
    static const char *const homes[] = {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
                                        "XDG_CACHE_HOME"};
    char text[128];

    snprintf(dir, sizeof dir, "/tmp/%s.XXXXXX", name);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert(mkdir("home", 0700) == 0 && mkdir("home/mcplug", 0700) == 0);
    snprintf(text, sizeof text, "%s/home", dir);
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
        setenv(homes[i], text, 1);
    shown = calloc(1, OUTPUT_MAX);
    ck_assert_ptr_nonnull(shown);
    len = seen = 0;
}

static inline void end_places(void)
{
    char text[128];

    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    pid = 0;
    close(slave);
    close(terminal);
    free(shown);
    snprintf(text, sizeof text, "rm -rf %s", dir);
    ck_assert(chdir("/") == 0 && system(text) == 0);
}

/* Settings with the server "demo", which is this program with the word "serve". */
static inline void serve_demo(void)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{\"mcpServers\":{\"demo\":{\"command\":\"%s\",\"args\":[\"serve\"]}}}",
             self);
    write_file("home/mcplug/settings.json", text);
}

/* The module of tests/modules/script.c is found. */
static inline void use_script_model(void)
{
    const char *path = getenv("MCPLUG_PLUGIN_PATH");
    char text[4096];

    snprintf(text, sizeof text, "mkdir -m 755 modules && cp '%s/script.so' modules/",
             getenv("MCPLUG_TEST_MODULES"));
    ck_assert_int_eq(system(text), 0);
    snprintf(text, sizeof text, "%s/modules%s%s", dir, path ? ":" : "", path ? path : "");
    setenv("MCPLUG_PLUGIN_PATH", text, 1);
}

/* ---- the terminal ---- */

static inline void type(const char *text)
{
    ck_assert_int_eq(write(terminal, text, strlen(text)), (ssize_t)strlen(text));
}

/* Without those of its local modes. */
static inline void open_terminal(const struct winsize *size, tcflag_t without)
{
    terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    ck_assert_int_eq(ioctl(terminal, TIOCSWINSZ, size), 0);
    slave = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_int_ge(slave, 0);
    ck_assert_int_eq(tcgetattr(slave, &before), 0);
    before.c_oflag &= ~(tcflag_t)OPOST;
    before.c_lflag &= ~without;
    ck_assert_int_eq(tcsetattr(slave, TCSANOW, &before), 0);
}

/* What runs in the background of a script, or under nohup, ignores signals that a shell
 * at a terminal would leave to the command. */
static inline void heed_signals(void)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
}

/* Runs the command with `words`, which end with NULL. */
static inline void start(const char *const *words)
{
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid)
        return;
    heed_signals();
    setsid();
    if (ioctl(slave, TIOCSCTTY, 0) != 0 || dup2(slave, 0) < 0 || dup2(slave, 1) < 0 ||
        dup2(slave, 2) < 0)
        _exit(9);
    int fd = stdout_to ? open(stdout_to, O_WRONLY | O_CLOEXEC) : 1;
    if (fd < 0 || dup2(fd, 1) < 0)
        _exit(9);
    execv(program, (char *const *)words);
    _exit(9);
}

/* Its end alone closes the terminal. */
static inline void leave_to_command(void)
{
    close(slave);
    slave = -1;
}

/* The end of what was shown, which is all that a message has room for. */
static inline const char *shown_last(void)
{
    return len > 2000 ? shown + len - 2000 : shown;
}

/* Reads what there is, waiting for something. false: that was all. */
static inline bool read_more(void)
{
    struct pollfd p = {.fd = terminal, .events = POLLIN};
    ck_assert_msg(poll(&p, 1, PATIENCE_MS) == 1, "it waits; shown: %s", shown_last());
    ssize_t n = read(terminal, shown + len, OUTPUT_MAX - len - 1);
    if (n <= 0)
        return false;
    len += (size_t)n;
    shown[len] = '\0';
    return true;
}

/* Waits until `text` is shown, behind what earlier steps waited for. */
static inline void expect(const char *text)
{
    const char *at;
    while (!(at = strstr(shown + seen, text)))
        ck_assert_msg(read_more(), "it ended without \"%s\": %s", text, shown_last());
    seen = (size_t)(at - shown) + strlen(text);
}

static inline size_t count(const char *text)
{
    size_t n = 0;
    for (const char *at = shown; (at = strstr(at, text)); at += strlen(text))
        n++;
    return n;
}

/* To the end; returns the exit code. */
static inline int finish(void)
{
    struct pollfd p = {.fd = terminal, .events = POLLIN};
    int status = 0;

    while (slave < 0 && read_more())
        ;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    pid = 0;
    while (slave >= 0 && poll(&p, 1, 0) == 1)
        read_more();
    ck_assert_msg(WIFEXITED(status), "status %x", (unsigned)status);
    return WEXITSTATUS(status);
}

static inline void is_as_before(void)
{
    struct termios after;

    ck_assert_int_eq(tcgetattr(terminal, &after), 0);
    ck_assert_uint_eq(after.c_lflag, before.c_lflag);
    ck_assert_uint_eq(after.c_iflag, before.c_iflag);
    ck_assert_mem_eq(after.c_cc, before.c_cc, sizeof after.c_cc);
}

#endif
