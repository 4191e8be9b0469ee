#include "file_kit.h"
#include "now.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define HOLD_MS 200

static void rest(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* Another process holds the lock of `name`, and does `meanwhile` after some time. */
static pid_t hold(const char *name, int ms, void (*meanwhile)(void))
{
    int ready[2];
    char c;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(at(name), O_RDONLY);
        if (flock(fd, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        rest(ms);
        if (meanwhile)
            meanwhile();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void released(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

/* ---- links ---- */

START_TEST(a_link_stays_and_what_it_leads_to_is_replaced)
{
    ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
    ck_assert_int_eq(mkdir(at("other"), 0700), 0);
    put("other/real", "x", 0640);
    ck_assert_int_eq(symlink("../other/real", at("dir/link")), 0);
    ck_assert_int_eq(symlink(at("dir/link"), at("again")), 0);
    ck_assert_int_eq(symlink("dir", at("way")), 0);
    adds("dir/link", "1");
    adds("again", "2");
    adds("way/link", "3");
    holds("other/real", "x123");
    ck_assert(S_ISLNK(look("dir/link").st_mode));
    ck_assert(S_ISLNK(look("again").st_mode));
    ck_assert_uint_eq(look("other/real").st_mode & 07777, 0640);
    ck_assert_uint_eq(count("dir"), 1);
    ck_assert_uint_eq(count("other"), 1);
}
END_TEST

START_TEST(a_link_to_nothing_gets_its_file)
{
    ck_assert_int_eq(symlink("deep/down/real", at("link")), 0);
    adds("link", "x");
    ck_assert(S_ISLNK(look("link").st_mode));
    ck_assert(S_ISREG(look("deep/down/real").st_mode));
    holds("link", "x");
    ck_assert_uint_eq(look("deep").st_mode & 07777, 0700);
}
END_TEST

START_TEST(links_in_a_circle_and_too_many_are_errors)
{
    char from[16], to[16];
    ck_assert_int_eq(symlink("b", at("a")), 0);
    ck_assert_int_eq(symlink("a", at("b")), 0);
    ck_assert_int_eq(add_to("a", "x"), MCPLUG_EIO);
    ck_assert_int_eq(err.os_error, ELOOP);
    for (int i = 0; i <= MP_FILE_LINKS; i++) {
        snprintf(from, sizeof from, "l%d", i);
        snprintf(to, sizeof to, "l%d", i + 1);
        ck_assert_int_eq(symlink(to, at(from)), 0);
    }
    ck_assert_int_eq(add_to("l0", "x"), MCPLUG_EIO);
    ck_assert_int_eq(err.os_error, ELOOP);
    adds("l1", "x");
    snprintf(to, sizeof to, "l%d", MP_FILE_LINKS + 1);
    holds(to, "x");
    ck_assert_int_eq(symlink("/", at("root")), 0);
    ck_assert_int_eq(add_to("root", "x"), MCPLUG_ECONFIG);
}
END_TEST

/* ---- the lock ---- */

static void replace_a(void)
{
    put("b", "replaced ", 0600);
    if (rename(at("b"), at("a")) != 0)
        _exit(1);
}

START_TEST(a_writer_waits_and_sees_what_was_written_before_it)
{
    put("a", "x", 0600);
    int64_t start = now_ms();
    pid_t pid = hold(".", HOLD_MS, replace_a);
    adds("a", "y");
    ck_assert_int_ge(now_ms() - start, HOLD_MS);
    released(pid);
    holds("a", "replaced y");
}
END_TEST

static void turn_into_link(void)
{
    if (unlink(at("one/a")) != 0 || symlink("../two/a", at("one/a")) != 0)
        _exit(1);
}

START_TEST(a_file_that_becomes_a_link_while_a_writer_waits_is_followed)
{
    ck_assert_int_eq(mkdir(at("one"), 0700), 0);
    ck_assert_int_eq(mkdir(at("two"), 0700), 0);
    put("one/a", "1", 0600);
    put("two/a", "2", 0600);
    pid_t pid = hold("one", HOLD_MS, turn_into_link);
    adds("one/a", "y");
    released(pid);
    holds("two/a", "2y");
    ck_assert(S_ISLNK(look("one/a").st_mode));
}
END_TEST

static void move_dir(void)
{
    if (rename(at("one"), at("gone")) != 0 || mkdir(at("one"), 0700) != 0)
        _exit(1);
}

START_TEST(a_directory_that_is_moved_while_a_writer_waits_is_found_again)
{
    ck_assert_int_eq(mkdir(at("one"), 0700), 0);
    put("one/a", "1", 0600);
    pid_t pid = hold("one", HOLD_MS, move_dir);
    adds("one/a", "new");
    released(pid);
    holds("gone/a", "1");
    holds("one/a", "new");
}
END_TEST

START_TEST(a_lock_that_is_never_released_is_an_error)
{
    char words[512];
    put("a", "x", 0600);
    int fd = open(top, O_RDONLY);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    int64_t start = now_ms();
    ck_assert_int_eq(mp_file_update_cache(at("a"), 0600, 50, append, "y", &err),
                     MCPLUG_EIO);
    ck_assert_int_ge(now_ms() - start, 50);
    ck_assert_int_eq(err.os_error, ETIMEDOUT);
    snprintf(words, sizeof words,
             ": cannot lock: another program is changing files in %s", top);
    says(at("a"), words);
    close(fd);
    holds("a", "x");
    ck_assert_int_eq(mp_file_update_cache(at("a"), 0600, 0, append, "y", &err),
                     MCPLUG_OK);
}
END_TEST

START_TEST(no_change_of_several_writers_is_lost)
{
    enum { WRITERS = 4, TIMES = 10 };
    pid_t pids[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        pids[w] = fork();
        if (pids[w] == 0) {
            char line[2] = {(char)('a' + w), '\0'};
            for (int i = 0; i < TIMES; i++)
                MUST(add_to("new/a", line) == MCPLUG_OK);
            _exit(0);
        }
    }
    for (int w = 0; w < WRITERS; w++)
        released(pids[w]);
    struct mp_file file;
    unsigned seen[WRITERS] = {0};
    ck_assert_int_eq(mp_file_read(at("new/a"), &file, &err), MCPLUG_OK);
    ck_assert_uint_eq(file.text.len, WRITERS * TIMES);
    for (size_t i = 0; i < file.text.len; i++)
        seen[file.text.data[i] - 'a']++;
    for (int w = 0; w < WRITERS; w++)
        ck_assert_uint_eq(seen[w], TIMES);
    mp_file_clear(&file);
    ck_assert_uint_eq(count("new"), 1);
}
END_TEST

/* From now on flock() of this descriptor fails as on a network file system. */
static bool spoil_flock(int fd, int os_error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)fd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)os_error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog prog = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

static void add_without_directory_locks(void)
{
    int fd = open("/", O_RDONLY); /* the first that is free is the directory's */
    close(fd);
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || getenv("MCPLUG_TEST_VALGRIND") ||
        !spoil_flock(fd, EBADF))
        _exit(0);
    MUST(add_to("a", "y") == MCPLUG_OK);
    MUST(is_there(".a.lock"));
    MUST(look(".a.lock").st_size == 0 && (look(".a.lock").st_mode & 0777) == 0600);
    MUST(add_to("a", "z") == MCPLUG_OK);
    pid_t pid = hold(".a.lock", HOLD_MS, NULL);
    MUST(mp_file_update_cache(at("a"), 0600, 10, append, "-", &err) == MCPLUG_EIO);
    MUST(err.os_error == ETIMEDOUT);
    MUST(add_to("a", "!") == MCPLUG_OK);
    MUST(waitpid(pid, NULL, 0) == pid);
    holds("a", "xyz!");
    unlink(at(".a.lock"));
    MUST(symlink("b", at(".a.lock")) == 0);
    MUST(add_to("a", "-") == MCPLUG_EIO);
    MUST(err.os_error == ELOOP && !is_there("b"));
    unlink(at(".a.lock"));
    MUST(mkfifo(at(".a.lock"), 0600) == 0);
    MUST(add_to("a", "-") == MCPLUG_EIO);
    holds("a", "xyz!");
}

START_TEST(where_directories_cannot_be_locked_a_file_is)
{
    int status;
    put("a", "x", 0600);
    pid_t pid = fork();
    if (pid == 0) {
        add_without_directory_locks();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, a_link_stays_and_what_it_leads_to_is_replaced);
    tcase_add_test(t, a_link_to_nothing_gets_its_file);
    tcase_add_test(t, links_in_a_circle_and_too_many_are_errors);
    tcase_add_test(t, a_writer_waits_and_sees_what_was_written_before_it);
    tcase_add_test(t, a_file_that_becomes_a_link_while_a_writer_waits_is_followed);
    tcase_add_test(t, a_directory_that_is_moved_while_a_writer_waits_is_found_again);
    tcase_add_test(t, a_lock_that_is_never_released_is_an_error);
    tcase_add_test(t, no_change_of_several_writers_is_lost);
    tcase_add_test(t, where_directories_cannot_be_locked_a_file_is);
}

int main(void)
{
    return run_suite("config_file_lock", add);
}
