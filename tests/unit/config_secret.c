#include "config/secret.h"
#include "now.h"

#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct mcplug_error err;
static struct mp_str out;
static char dir[PATH_MAX];

static void begin(void)
{
    mp_str_init(&out, 1 << 20);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    snprintf(dir, sizeof dir, "/tmp/mcplug-secret-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void finish(void)
{
    char command[PATH_MAX + 20];

    mp_str_clear(&out);
    signal(SIGCHLD, SIG_DFL); /* for system() */
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static const char *in_dir(const char *name)
{
    static char path[2][PATH_MAX + 100];
    static unsigned turn;
    char *p = path[turn++ % 2];

    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static void write_file(const char *name, const void *data, size_t len)
{
    FILE *f = fopen(in_dir(name), "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, len, f), len);
    fclose(f);
}

static int file(const char *path)
{
    mp_str_reset(&out);
    mp_str_adds(&out, "=");
    return mp_secret_file(path, dir, dir, &out, &err);
}

static int command(const char *text)
{
    mp_str_reset(&out);
    mp_str_adds(&out, "=");
    return mp_secret_command(text, dir, MP_SECRET_MS, &out, &err);
}

static void expect(int r, const char *value)
{
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_str_eq(out.data + 1, value);
}

static void expect_error(int r, int code, const char *why)
{
    ck_assert_int_eq(r, code);
    ck_assert_int_eq(err.code, code);
    ck_assert_msg(strstr(err.text, why), "%s", err.text);
    ck_assert_str_eq(out.data, "=");
}

static int open_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* ---- values ---- */

static const struct {
    const char *content;
    size_t len;
    const char *value; /* NULL: refused */
    const char *why;
} contents[] = {
    {"token", 5, "token", NULL},
    {"token\n", 6, "token", NULL},
    {"token\r\n", 7, "token", NULL},
    {"  a b\t ", 7, "  a b\t ", NULL},
    {"", 0, "", NULL},
    {"\n", 1, "", NULL},
    {"\xc3\xa4\xe2\x82\xac\n", 6, "\xc3\xa4\xe2\x82\xac", NULL},
    {"${A}", 4, "${A}", NULL},
    {"a\nb", 3, NULL, "more than one line"},
    {"token\n\n", 7, NULL, "more than one line"},
    {"a\r\nb\r\n", 6, NULL, "more than one line"},
    {"a\rb", 3, NULL, "not text"},
    {"token\r", 6, NULL, "not text"},
    {"a\0b", 3, NULL, "not text"},
    {"a\0", 2, NULL, "not text"},
    {"a\033[1m", 5, NULL, "not text"},
    {"a\x7f", 2, NULL, "not text"},
    {"\xff", 1, NULL, "not text"},
    {"\xc3", 1, NULL, "not text"},
    {"\xed\xa0\x80", 3, NULL, "not text"},
};

START_TEST(a_file_and_a_command_have_the_same_values)
{
    for (size_t i = 0; i < MP_COUNT(contents); i++) {
        write_file("value", contents[i].content, contents[i].len);
        for (int from_command = 0; from_command < 2; from_command++) {
            int r = from_command ? command("cat value") : file("value");
            if (contents[i].value)
                expect(r, contents[i].value);
            else
                expect_error(r, MCPLUG_ECONFIG, contents[i].why);
        }
    }
}
END_TEST

START_TEST(messages_name_the_source_and_no_value)
{
    char text[PATH_MAX + 100];

    write_file("value", "hunter2\nx", 9);
    snprintf(text, sizeof text, "file:%s/value: has more than one line", dir);
    expect_error(file("value"), MCPLUG_ECONFIG, text);
    expect_error(command("cat value"), MCPLUG_ECONFIG, "cmd:cat value: has more");
    ck_assert_ptr_null(strstr(err.text, "hunter2"));
}
END_TEST

START_TEST(sixty_four_kilobytes_fit_and_no_byte_more)
{
    char *big = malloc(MP_SECRET_MAX + 2);

    ck_assert_ptr_nonnull(big);
    memset(big, 'x', MP_SECRET_MAX + 2);
    for (int newline = 0; newline < 2; newline++) {
        big[MP_SECRET_MAX] = newline ? '\n' : 'x';
        write_file("big", big, MP_SECRET_MAX + (size_t)newline);
        ck_assert_int_eq(file("big"), MCPLUG_OK);
        ck_assert_uint_eq(out.len, 1 + MP_SECRET_MAX);
        ck_assert_int_eq(command("cat big"), MCPLUG_OK);
        ck_assert_uint_eq(out.len, 1 + MP_SECRET_MAX);
        big[MP_SECRET_MAX] = 'x';
        big[MP_SECRET_MAX + 1] = newline ? '\n' : 'x';
        write_file("big", big, MP_SECRET_MAX + 1 + (size_t)newline);
        expect_error(file("big"), MCPLUG_ETOOBIG, "longer than 65536 bytes");
        expect_error(command("cat big"), MCPLUG_ETOOBIG, "65536 bytes");
    }
    free(big);
    expect_error(file("/proc/self/status"), MCPLUG_ECONFIG, "more than one line");
}
END_TEST

START_TEST(an_output_without_room_is_an_error)
{
    struct mp_str small;

    mp_str_init(&small, 3);
    write_file("value", "token", 5);
    ck_assert_int_eq(mp_secret_file("value", NULL, dir, &small, &err), MCPLUG_ENOMEM);
    mp_str_clear(&small);
}
END_TEST

/* ---- files ---- */

START_TEST(a_path_is_absolute_or_below_home_or_the_directory)
{
    ck_assert_int_eq(mkdir(in_dir("home"), 0700), 0);
    ck_assert_int_eq(mkdir(in_dir("other"), 0700), 0);
    write_file("home/k", "at home", 7);
    write_file("other/k", "in other", 8);
    write_file("~", "tilde", 5);
    expect(file(in_dir("other/k")), "in other");

    const char *home = in_dir("home"), *other = in_dir("other");
    mp_str_reset(&out);
    mp_str_adds(&out, "=");
    expect(mp_secret_file("~/k", home, other, &out, &err), "at home");
    mp_str_reset(&out);
    mp_str_adds(&out, "=");
    expect(mp_secret_file("k", home, other, &out, &err), "in other");
    mp_str_reset(&out);
    mp_str_adds(&out, "=");
    expect(mp_secret_file("../home/k", home, other, &out, &err), "at home");
    mp_str_reset(&out);
    mp_str_adds(&out, "=");
    expect_error(mp_secret_file("~/k", NULL, other, &out, &err), MCPLUG_ECONFIG,
                 "file:~/k: there is no home directory");
    expect_error(mp_secret_file("~/k", "", other, &out, &err), MCPLUG_ECONFIG, "no home");
    expect(file("~"), "tilde");
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused_at_once)
{
    char deep[PATH_MAX + 10];

    expect_error(file("nothing"), MCPLUG_EIO, "No such file or directory");
    ck_assert_int_eq(err.os_error, ENOENT);
    expect_error(file("."), MCPLUG_ECONFIG, "is not a regular file");
    expect_error(file("/dev/zero"), MCPLUG_ECONFIG, "is not a regular file");
    ck_assert_int_eq(mkfifo(in_dir("fifo"), 0600), 0);
    expect_error(file("fifo"), MCPLUG_ECONFIG, "is not a regular file");
    ck_assert_int_eq(symlink("loop", in_dir("loop")), 0);
    expect_error(file("loop"), MCPLUG_EIO, "symbolic links");
    memset(deep, 'x', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    expect_error(file(deep), MCPLUG_ETOOBIG, "the path is too long");
    deep[PATH_MAX - strlen(dir) - 10] = '\0';
    expect_error(file(deep), MCPLUG_EIO, "File name too long");
}
END_TEST

START_TEST(links_and_files_that_all_can_read_are_fine)
{
    write_file("value", "token\n", 6);
    ck_assert_int_eq(chmod(in_dir("value"), 0644), 0);
    ck_assert_int_eq(symlink("value", in_dir("link")), 0);
    expect(file("link"), "token");
}
END_TEST

/* ---- commands ---- */

START_TEST(a_command_is_run_by_a_shell_in_the_directory)
{
    char real[PATH_MAX];

    ck_assert_ptr_nonnull(realpath(dir, real));
    expect(command("pwd -P"), real);
    expect(command("echo a | tr a b"), "b");
    expect(command("printf %s \"$((1 + 2))\""), "3");
    expect(command("echo 'a  b' >x; cat x"), "a  b");
    expect(command("-x 2>/dev/null; echo dash"), "dash");
    expect(command("true"), "");
    mp_str_reset(&out);
    ck_assert_int_eq(mp_secret_command("echo here", NULL, MP_SECRET_MS, &out, &err),
                     MCPLUG_OK);
    ck_assert_str_eq(out.data, "here");
}
END_TEST

START_TEST(its_environment_is_ours_and_its_stdin_is_empty)
{
    setenv("MCPLUG_TEST_WORD", "word", 1);
    expect(command("echo $MCPLUG_TEST_WORD"), "word");
    expect(command("cat; echo end"), "end");
    unsetenv("MCPLUG_TEST_WORD");
}
END_TEST

START_TEST(an_exit_status_is_an_error_with_the_first_line_of_stderr)
{
    expect_error(command("exit 3"), MCPLUG_EIO, "cmd:exit 3: exit status 3");
    ck_assert_int_eq(err.peer_status, 3);
    expect_error(command("echo value; echo 'not logged in' >&2; echo more >&2; exit 1"),
                 MCPLUG_EIO, ": exit status 1: not logged in");
    ck_assert_ptr_null(strstr(err.text, "status 1: not logged in more"));
    expect_error(command("/no/such/program"), MCPLUG_EIO, "exit status 127: ");
    expect_error(command("kill -9 $$"), MCPLUG_EIO, "was killed by signal 9");
    expect_error(command("printf '\\n\\r\\033[31mred\\n' >&2; false"), MCPLUG_EIO,
                 "exit status 1:  [31mred");
    expect_error(command("if"), MCPLUG_EIO, "exit status 2: ");
    expect(command("echo warning >&2; echo value"), "value");
}
END_TEST

START_TEST(the_last_bytes_of_a_long_stderr_are_kept)
{
    expect_error(
        command("head -c 300000 /dev/zero | tr '\\0' x >&2; echo end >&2; false"),
        MCPLUG_EIO, "xxxxend");
    ck_assert_uint_lt(strlen(err.text), 400);
    expect_error(command("i=0; while [ $i -lt 99 ]; do echo \"line $i\" >&2; i=$((i+1)); "
                         "done; exit 9"),
                 MCPLUG_EIO, ": exit status 9: ");
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_named)
{
    mp_str_adds(&out, "=");
    int r = mp_secret_command("echo x", "/no/such/dir", MP_SECRET_MS, &out, &err);
    expect_error(r, MCPLUG_EIO, "cmd:echo x: ");
    /* Under valgrind a child cannot tell why it did not start. */
    if (!strstr(err.text, "exit status 127"))
        expect_error(r, MCPLUG_EIO, "cannot be run in /no/such/dir: No such file");
}
END_TEST

START_TEST(endless_output_is_cut_and_ended)
{
    int64_t start = now_ms();

    expect_error(command("yes"), MCPLUG_ETOOBIG, "cmd:yes: prints more than 65536 bytes");
    expect_error(command("while :; do echo x; done & wait"), MCPLUG_ETOOBIG, "more than");
    ck_assert_int_lt(now_ms() - start, MP_SECRET_MS);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

static int within(const char *text, int ms)
{
    mp_str_reset(&out);
    mp_str_adds(&out, "=");
    return mp_secret_command(text, dir, ms, &out, &err);
}

/* Is anybody left in that group? Zombies are init's to reap. */
static bool group_lives(int group)
{
    struct dirent *e;
    bool found = false;
    DIR *d = opendir("/proc");

    ck_assert_ptr_nonnull(d);
    while (!found && (e = readdir(d))) {
        char path[300], line[512] = "", state = 'Z';
        int of = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (!f)
            continue;
        char *behind = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        fclose(f);
        found = behind && sscanf(behind, ") %c %*d %d", &state, &of) == 2 &&
                of == group && state != 'Z' && state != 'X';
    }
    closedir(d);
    return found;
}

START_TEST(a_command_that_does_not_end_is_killed_with_its_children)
{
    static const char *const texts[] = {
        "echo $$ >pid; sleep 1000",
        "echo $$ >pid; trap '' TERM INT HUP; sleep 1000 & wait; sleep 1000",
        "echo $$ >pid; exec >&- 2>&-; sleep 1000; sleep 1000",
        "echo $$ >pid; while :; do echo noise >&2; done",
        "echo $$ >pid; sleep 1000 | cat",
    };
    int fds = open_fds();

    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        int64_t start = now_ms();
        expect_error(within(texts[i], 300), MCPLUG_ETIMEDOUT, "timed out");
        ck_assert_int_ge(now_ms() - start, 300);
        ck_assert_int_lt(now_ms() - start, 3000);
        ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
        ck_assert_int_eq(errno, ECHILD);
        ck_assert_int_eq(file("pid"), MCPLUG_OK);
        int tries = 0;
        while (group_lives(atoi(out.data + 1)) && tries++ < 200)
            usleep(10000); /* the signal is sent, and they are about to end */
        ck_assert_int_lt(tries, 200);
    }
    ck_assert_int_eq(open_fds(), fds);
}
END_TEST

START_TEST(what_stays_in_the_background_is_not_waited_for)
{
    int64_t start = now_ms();

    expect(command("sleep 1000 & echo value"), "value");
    expect(command("sleep 1000 2>/dev/null & echo value"), "value");
    expect(command("sleep 1000 >/dev/null & echo value"), "value");
    ck_assert_int_lt(now_ms() - start, 5000);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(descriptors_of_the_host_are_not_inherited)
{
    int fd = open("/dev/null", O_RDONLY), high = dup2(fd, 200); /* without O_CLOEXEC */

    ck_assert_int_eq(high, 200);
    expect(command("cd /proc/self/fd && for f in *; do [ $f -gt 2 ] && [ $f -lt 100 ] && "
                   "[ -e $f ] && [ $f != 3 ] && printf '%s ' $f; done; "
                   "[ -e 200 ] && printf 200; true"),
           "");
    close(fd);
    close(high);
}
END_TEST

static volatile sig_atomic_t children;

static void on_child(int sig)
{
    (void)sig;
    children++;
}

START_TEST(signals_of_the_host_stay_as_they_are_and_the_child_has_its_own)
{
    struct sigaction mine = {.sa_handler = on_child}, now;
    sigset_t blocked, before, after;

    sigemptyset(&before);
    sigemptyset(&after);
    sigaction(SIGCHLD, &mine, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigfillset(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    sigprocmask(SIG_BLOCK, NULL, &before);
    ck_assert_int_eq(command("grep -E 'SigBlk|SigIgn' /proc/self/status | tr -d '\\n'"),
                     MCPLUG_OK);
    unsigned long long blocks = 1, ignores = 1,
                       internal = 3ULL << 31; /* of the C library */
    ck_assert_int_eq(sscanf(out.data, "=SigBlk: %llxSigIgn: %llx", &blocks, &ignores), 2);
    ck_assert_uint_eq(blocks, 0);
    ck_assert_uint_eq(ignores & ~internal, 0);
    sigprocmask(SIG_BLOCK, NULL, &after);
    ck_assert_mem_eq(&before, &after, 8); /* as much as the kernel has */
    sigaction(SIGCHLD, NULL, &now);
    ck_assert(now.sa_handler == on_child);
    sigaction(SIGPIPE, NULL, &now);
    ck_assert(now.sa_handler == SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    expect(command("sleep 0.05; echo x"), "x"); /* poll() is interrupted by SIGCHLD */
    ck_assert_int_ge(children, 1);
}
END_TEST

START_TEST(a_host_that_ignores_its_children_is_told_so)
{
    signal(SIGCHLD, SIG_IGN);
    expect_error(command("echo x"), MCPLUG_EIO, "does the program ignore SIGCHLD?");
    expect_error(within("sleep 1000", 100), MCPLUG_ETIMEDOUT, "timed out");
}
END_TEST

START_TEST(a_host_without_its_first_descriptors_gets_the_same)
{
    int saved[3];

    for (int i = 0; i < 3; i++)
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
    for (int i = 0; i < 3; i++)
        close(i);
    int good = command("echo value; echo words >&2");
    int bad = mp_secret_command("echo words >&2; false", dir, MP_SECRET_MS, &out, &err);
    bool closed = fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1;
    for (int i = 0; i < 3; i++)
        dup2(saved[i], i);
    expect(good, "value");
    ck_assert_int_eq(bad, MCPLUG_EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "exit status 1: words"));
    ck_assert(closed);
}
END_TEST

START_TEST(without_descriptors_it_fails_and_leaves_none)
{
    struct rlimit old, tight;
    int fds = open_fds();

    getrlimit(RLIMIT_NOFILE, &old);
    for (int more = 0; more < 6; more++) {
        tight = old;
        tight.rlim_cur = (rlim_t)(fds - 3 + more); /* . and .. and the directory's own */
        setrlimit(RLIMIT_NOFILE, &tight);
        int r = command("echo x");
        setrlimit(RLIMIT_NOFILE, &old);
        if (r != MCPLUG_OK)
            expect_error(r, MCPLUG_EIO, "cmd:echo x: ");
        ck_assert_int_eq(open_fds(), fds);
    }
}
END_TEST

static void *run_many(void *arg)
{
    char text[80], value[64];

    for (int i = 0; i < 20; i++) {
        struct mp_str s;
        struct mcplug_error e = MCPLUG_ERROR_INIT;
        mp_str_init(&s, 1000);
        snprintf(value, sizeof value, "%d-%d", (int)(intptr_t)arg, i);
        snprintf(text, sizeof text, "echo %s", value);
        int r = mp_secret_command(text, NULL, MP_SECRET_MS, &s, &e);
        bool same = r == MCPLUG_OK && strcmp(s.data, value) == 0;
        mp_str_clear(&s);
        if (!same)
            return (void *)"wrong";
    }
    return NULL;
}

START_TEST(threads_do_not_get_in_each_others_way)
{
    pthread_t threads[4];
    void *result;

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, (void *)(intptr_t)i),
                         0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        ck_assert_ptr_null(result);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_secret");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, begin, finish);
    tcase_add_test(t, a_file_and_a_command_have_the_same_values);
    tcase_add_test(t, messages_name_the_source_and_no_value);
    tcase_add_test(t, sixty_four_kilobytes_fit_and_no_byte_more);
    tcase_add_test(t, an_output_without_room_is_an_error);
    tcase_add_test(t, a_path_is_absolute_or_below_home_or_the_directory);
    tcase_add_test(t, what_is_no_regular_file_is_refused_at_once);
    tcase_add_test(t, links_and_files_that_all_can_read_are_fine);
    tcase_add_test(t, a_command_is_run_by_a_shell_in_the_directory);
    tcase_add_test(t, its_environment_is_ours_and_its_stdin_is_empty);
    tcase_add_test(t, an_exit_status_is_an_error_with_the_first_line_of_stderr);
    tcase_add_test(t, the_last_bytes_of_a_long_stderr_are_kept);
    tcase_add_test(t, a_directory_that_is_not_there_is_named);
    tcase_add_test(t, endless_output_is_cut_and_ended);
    tcase_add_test(t, a_command_that_does_not_end_is_killed_with_its_children);
    tcase_add_test(t, what_stays_in_the_background_is_not_waited_for);
    tcase_add_test(t, descriptors_of_the_host_are_not_inherited);
    tcase_add_test(t, signals_of_the_host_stay_as_they_are_and_the_child_has_its_own);
    tcase_add_test(t, a_host_that_ignores_its_children_is_told_so);
    tcase_add_test(t, a_host_without_its_first_descriptors_gets_the_same);
    tcase_add_test(t, without_descriptors_it_fails_and_leaves_none);
    tcase_add_test(t, threads_do_not_get_in_each_others_way);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
