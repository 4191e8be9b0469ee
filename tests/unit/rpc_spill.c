/* Where the file of long strings is made, and what happens when that place is full. */
#include "fake.h"

#include "rpc/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)

static char root[64];
static struct mp_spill s;
static struct mcplug_error err;

static const char *below(const char *name)
{
    static char path[4][128];
    static unsigned turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", root, name);
    return p;
}

static void setup(void)
{
    strcpy(root, "/tmp/mcplug-spill-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("TMPDIR");
    setenv("HOME", below("home"), 1);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    mp_spill_init(&s);
}

static void teardown(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
}

/* ---- the list ---- */

static void check_place(const char *dirs, size_t i, const char *want, bool want_own)
{
    bool own = !want_own;
    char *place = mp_spill_place(dirs, i, &own);
    ck_assert_pstr_eq(place, want);
    if (want)
        ck_assert_int_eq(own, want_own);
    mp_free(place);
}

START_TEST(disks_come_first_and_memory_last)
{
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    setenv("TMPDIR", "/scratch", 1);
    char *dirs = mp_spill_dir(NULL);
    check_place(dirs, 0, below("home/.cache/mcplug"), true);
    check_place(dirs, 1, "/scratch", false);
    check_place(dirs, 2, "/var/tmp", false);
    check_place(dirs, 3, "/tmp", false);
    check_place(dirs, 4, "/run/user/7/mcplug", true);
    check_place(dirs, 5, NULL, false);
    check_place(dirs, 6, NULL, false);
    mp_free(dirs);

    setenv("XDG_CACHE_HOME", "/cache", 1);
    dirs = mp_spill_dir(NULL);
    check_place(dirs, 0, "/cache/mcplug", true);
    check_place(dirs, 1, "/scratch", false);
    mp_free(dirs);
}
END_TEST

START_TEST(a_place_that_cannot_be_meant_is_left_out)
{
    char *huge = malloc(100001);
    memset(huge, 'h', 100000);
    huge[0] = '/';
    huge[100000] = '\0';
    setenv("HOME", "home", 1);
    setenv("TMPDIR", huge, 1);
    setenv("XDG_RUNTIME_DIR", "/run\n/etc", 1);
    char *dirs = mp_spill_dir(NULL);
    check_place(dirs, 0, "/var/tmp", false);
    check_place(dirs, 1, "/tmp", false);
    check_place(dirs, 2, NULL, false);
    mp_free(dirs);
    free(huge);
}
END_TEST

START_TEST(a_given_directory_is_the_only_place)
{
    char *dirs = mp_spill_dir("/given");
    check_place(dirs, 0, "/given", true);
    check_place(dirs, 1, NULL, false);
    mp_free(dirs);
    dirs = mp_spill_dir("\n/tmp\n/odd");
    check_place(dirs, 0, "./\n/tmp\n/odd", true);
    check_place(dirs, 1, NULL, false);
    mp_free(dirs);
}
END_TEST

/* ---- making the file ---- */

/* Without a name, for us alone, below `dir`. */
static void check_file(const char *dir)
{
    char link[64], target[256];
    struct stat st;
    ck_assert_int_eq(fstat(s.fd, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    ck_assert_uint_eq(st.st_nlink, 0);
    ck_assert_int_eq(fcntl(s.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    snprintf(link, sizeof link, "/proc/self/fd/%d", s.fd);
    ssize_t n = readlink(link, target, sizeof target - 1);
    ck_assert_int_gt(n, 0);
    target[n] = '\0';
    ck_assert_msg(strncmp(target, dir, strlen(dir)) == 0, "%s is not in %s", target, dir);
    ck_assert_int_eq(target[strlen(dir)], '/');
}

START_TEST(the_directory_of_our_own_is_made_private)
{
    struct stat st;
    ck_assert_int_eq(mkdir(below("home"), 0755), 0);
    char *dirs = mp_spill_dir(NULL);
    ck_assert_int_eq(mp_spill_begin(&s, dirs, &err), MCPLUG_OK);
    check_file(below("home/.cache/mcplug"));
    ck_assert_int_eq(stat(below("home/.cache/mcplug"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0700);
    mp_spill_clear(&s);
    mp_free(dirs);
}
END_TEST

START_TEST(where_no_file_can_be_made_the_next_place_takes_it)
{
    int fd = open(below("home"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    setenv("TMPDIR", below("tmp"), 1); /* not there, and not ours to make */
    char *dirs = mp_spill_dir(NULL);
    ck_assert_int_eq(mp_spill_begin(&s, dirs, &err), MCPLUG_OK);
    check_file("/var/tmp");
    ck_assert_int_eq(access(below("tmp"), F_OK), -1);
    ck_assert_int_eq(mp_spill_add(&s, "abc", 3, 10, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_spill_end(&s, 10, &err), MCPLUG_OK);
    ck_assert_uint_eq(s.size, 3);
    mp_spill_clear(&s);

    ck_assert_int_eq(mkdir(below("tmp"), 0777), 0);
    ck_assert_int_eq(mp_spill_begin(&s, dirs, &err), MCPLUG_OK);
    check_file(below("tmp"));
    mp_spill_clear(&s);
    mp_free(dirs);
}
END_TEST

START_TEST(without_any_place_the_first_is_named_and_the_others_counted)
{
    ck_assert_int_eq(mp_spill_begin(&s, "\n/proc/a/mcplug\n/proc/b\n/proc/c", &err),
                     MCPLUG_EIO);
    ck_assert_str_eq(err.text, "cannot create a spill file in /proc/a/mcplug, nor in 2 "
                               "other directories: No such file or directory");
    ck_assert_int_eq(mp_spill_begin(&s, "/proc/a", &err), MCPLUG_EIO);
    ck_assert_str_eq(err.text,
                     "cannot create a spill file in /proc/a: No such file or directory");
    ck_assert_int_eq(s.fd, -1);
    mp_spill_clear(&s);
}
END_TEST

/* ---- full places ---- */

static bool write_proc(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* We are root there, and our mounts are seen by nobody else. */
static bool enter_own_space(void)
{
    char users[32], groups[32];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           write_proc("/proc/self/setgroups", "deny") &&
           write_proc("/proc/self/uid_map", users) &&
           write_proc("/proc/self/gid_map", groups);
}

/* With tmpfs on top of "a" and "b", if this system lets us; in a process of its own. */
static bool mount_small(const char *a_size, const char *b_size)
{
    char a[32], b[32];
    snprintf(a, sizeof a, "size=%s", a_size);
    snprintf(b, sizeof b, "size=%s", b_size);
    return enter_own_space() && mount("none", below("a"), "tmpfs", 0, a) == 0 &&
           mount("none", below("b"), "tmpfs", 0, b) == 0;
}

static int write_megabytes(size_t count)
{
    static char block[MB];
    int r = MCPLUG_OK;
    for (size_t i = 0; i < count && r == MCPLUG_OK; i++) {
        memset(block, (char)('a' + i % 26), MB);
        r = mp_spill_add(&s, block, MB, 1000 * MB, &err);
    }
    return r;
}

static bool holds_megabytes(size_t count)
{
    for (size_t at = 0; at < count * MB; at += 4093) {
        char c = 0;
        if (pread(s.fd, &c, 1, (off_t)at) != 1 || c != (char)('a' + at / MB))
            return false;
    }
    return s.size == count * MB && lseek(s.fd, 0, SEEK_END) == (off_t)(count * MB);
}

/* 0: as it should be; else the number of what was not. */
static int fill_first(const char *dirs)
{
    if (mp_spill_begin(&s, dirs, &err) != MCPLUG_OK || s.place != 0)
        return 1;
    if (write_megabytes(6) != MCPLUG_OK)
        return 2;
    if (s.place != 1 || !holds_megabytes(6))
        return 3;
    mp_spill_clear(&s);
    return 0;
}

static int fill_all(const char *dirs)
{
    char want[256];
    snprintf(
        want, sizeof want,
        "cannot write the spill file in %s (5 %% of it or 1 GiB stay free): No space "
        "left on device",
        below("b"));
    if (mp_spill_begin(&s, dirs, &err) != MCPLUG_OK)
        return 1;
    if (write_megabytes(6) != MCPLUG_EIO || err.os_error != ENOSPC)
        return 2;
    if (strcmp(err.text, want) != 0)
        return 3;
    mp_spill_clear(&s);
    return 0;
}

/* The first place takes 300, which is too much to be moved. */
static int fill_too_much(const char *dirs)
{
    if (mp_spill_begin(&s, dirs, &err) != MCPLUG_OK)
        return 1;
    if (write_megabytes(400) != MCPLUG_EIO || err.os_error != ENOSPC)
        return 2;
    if (!strstr(err.text, below("a")) || s.place != 0)
        return 3;
    mp_spill_clear(&s);
    return 0;
}

/* A given directory is the only one, however full it is. */
static int fill_given(const char *dirs)
{
    (void)dirs;
    if (mp_spill_begin(&s, below("a"), &err) != MCPLUG_OK)
        return 1;
    if (write_megabytes(6) != MCPLUG_EIO || err.os_error != ENOSPC)
        return 2;
    if (!strstr(err.text, below("a")) || s.place != 0)
        return 3;
    mp_spill_clear(&s);
    return 0;
}

/* The system would end the process for it. */
START_TEST(what_is_longer_than_the_process_may_write_is_an_error)
{
    const struct rlimit limit = {MB + 10, RLIM_INFINITY};
    char want[256];

    snprintf(want, sizeof want,
             "cannot write the spill file in %s, because of RLIMIT_FSIZE: File too large",
             root);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(mp_spill_begin(&s, root, &err), MCPLUG_OK);
    ck_assert_int_eq(write_megabytes(1), MCPLUG_OK);
    ck_assert_int_eq(mp_spill_add(&s, "0123456789", 10, 2 * MB, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_spill_add(&s, "x", 1, 2 * MB, &err), MCPLUG_EIO);
    ck_assert_int_eq(err.os_error, EFBIG);
    ck_assert_str_eq(err.text, want);
    mp_spill_clear(&s);
}
END_TEST

/* It is never filled to the brim. */
static int fill_to_reserve(const char *dirs)
{
    static char block[4096];
    struct statvfs fs;
    (void)dirs;

    if (mp_spill_begin(&s, below("a"), &err) != MCPLUG_OK)
        return 1;
    while (mp_spill_add(&s, block, sizeof block, 1000 * MB, &err) == MCPLUG_OK)
        ;
    if (err.os_error != ENOSPC || !strstr(err.text, "(5 % of it or 1 GiB stay free)"))
        return 2;
    if (s.size < 36 * MB || s.size > 38 * MB || statvfs(below("a"), &fs) != 0)
        return 3;
    if ((uint64_t)fs.f_bavail * fs.f_frsize < 2 * MB)
        return 4;
    mp_spill_clear(&s);

    /* and when others have filled it so far, the next place is used, if there is one */
    int other = open(below("a/other"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (other < 0 || posix_fallocate(other, 0, (off_t)(39 * MB)) != 0)
        return 5;
    close(other);
    if (mp_spill_begin(&s, below("a"), &err) != MCPLUG_EIO || err.os_error != ENOSPC)
        return 6;
    mp_spill_clear(&s);
    if (mp_spill_begin(&s, dirs, &err) != MCPLUG_OK || s.place != 1)
        return 7;
    mp_spill_clear(&s);
    return 0;
}

enum { NOT_ALLOWED = 99 };

static void check_full(const char *a_size, const char *b_size,
                       int (*run)(const char *dirs))
{
    char dirs[256];
    int status;
    snprintf(dirs, sizeof dirs, "\n%s\n%s", below("a"), below("b"));
    ck_assert_int_eq(mkdir(below("a"), 0700), 0);
    ck_assert_int_eq(mkdir(below("b"), 0700), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(mount_small(a_size, b_size) ? run(dirs) : NOT_ALLOWED);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) != NOT_ALLOWED)
        ck_assert_int_eq(WEXITSTATUS(status), 0);
}

START_TEST(what_a_full_place_holds_moves_to_the_next)
{
    check_full("2m", "20m", fill_first);
}
END_TEST

START_TEST(a_part_of_every_disk_stays_free)
{
    check_full("40m", "20m", fill_to_reserve);
}
END_TEST

START_TEST(the_reserve_is_five_percent_or_a_gibibyte)
{
    ck_assert_uint_eq(mp_spill_reserve(0), 0);
    ck_assert_uint_eq(mp_spill_reserve(1000), 50);
    ck_assert_uint_eq(mp_spill_reserve((uint64_t)20 << 30), (uint64_t)1 << 30);
    ck_assert_uint_eq(mp_spill_reserve((uint64_t)900 << 30), (uint64_t)1 << 30);
}
END_TEST

START_TEST(when_all_are_full_the_last_is_named)
{
    check_full("2m", "4m", fill_all);
}
END_TEST

START_TEST(a_given_directory_that_is_full_is_named)
{
    check_full("2m", "20m", fill_given);
}
END_TEST

START_TEST(what_is_too_long_to_be_moved_stays_where_it_is)
{
    check_full("300m", "900m", fill_too_much);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, disks_come_first_and_memory_last);
    tcase_add_test(tc, a_place_that_cannot_be_meant_is_left_out);
    tcase_add_test(tc, a_given_directory_is_the_only_place);
    tcase_add_test(tc, the_directory_of_our_own_is_made_private);
    tcase_add_test(tc, where_no_file_can_be_made_the_next_place_takes_it);
    tcase_add_test(tc, without_any_place_the_first_is_named_and_the_others_counted);
    tcase_add_test(tc, what_a_full_place_holds_moves_to_the_next);
    tcase_add_test(tc, a_part_of_every_disk_stays_free);
    tcase_add_test(tc, the_reserve_is_five_percent_or_a_gibibyte);
    tcase_add_test(tc, when_all_are_full_the_last_is_named);
    tcase_add_test(tc, a_given_directory_that_is_full_is_named);
    tcase_add_test(tc, what_is_longer_than_the_process_may_write_is_an_error);
    tcase_add_test(tc, what_is_too_long_to_be_moved_stays_where_it_is);
}

int main(void)
{
    return run_suite("rpc_spill", add);
}
