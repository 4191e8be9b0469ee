/* The directory of results: which of them stay, and whether it is used at all. */
#include "store_kit.h"

/* ---- which stay ---- */

START_TEST(the_oldest_go_when_the_quota_is_reached)
{
    int64_t t = now() - 10000;

    make_store(100);
    plant(t, 40);
    plant(t + 1, 30);
    plant(t + 2, 20);
    stores("0123456789"); /* 100 in all */
    ck_assert_uint_eq(stored(), 4);
    ck_assert_uint_eq(seen_size, 100);
    stores("x"); /* one over */
    ck_assert_uint_eq(stored(), 4);
    ck_assert_uint_eq(seen_size, 61);
    ck_assert_int_eq(last_time, t + 1);
}
END_TEST

START_TEST(a_result_larger_than_the_quota_removes_nothing)
{
    struct mp_store_file *f = NULL;
    char *path = NULL, want[300];

    make_store(100);
    plant(now() - 10000, 100);
    ck_assert_int_eq(mp_store_sweep(s, 101, &err), MCPLUG_ETOOBIG);
    ck_assert_uint_eq(stored(), 1);

    /* begin() makes room for a name, not for bytes */
    ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
    char bytes[101] = {0};
    ck_assert_int_eq(mp_store_write(f, bytes, 60, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_store_write(f, bytes, 41, &err), MCPLUG_ETOOBIG);
    snprintf(want, sizeof want,
             "%s: the result has 101 bytes or more, the quota of the directory is 100 "
             "bytes",
             at("results"));
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(mp_store_write(f, bytes, 1, &err), MCPLUG_EIO);
    ck_assert_int_eq(mp_store_commit(f, "s", "t", NULL, NULL, &path, &err), MCPLUG_EIO);
    ck_assert_ptr_null(path);

    int fd = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, bytes, 101), 101);
    ck_assert_int_eq(mp_store_adopt(s, fd, 101, "s", "t", NULL, &path, &err),
                     MCPLUG_ETOOBIG);
    ck_assert_uint_eq(stored(), 1);
    ck_assert_uint_eq(seen_size, 100);

    ck_assert_int_eq(ftruncate(fd, 100), 0); /* what just fits does */
    ck_assert_int_eq(mp_store_adopt(s, fd, 100, "s", "t", NULL, &path, &err), MCPLUG_OK);
    close(fd);
    mp_free(path);
    ck_assert_uint_eq(stored(), 1);
}
END_TEST

START_TEST(old_results_go_and_those_from_a_wrong_clock)
{
    mp_store_free(s);
    s = mp_store_new(at("results"), 0, 3600);
    plant(now() - 3600 * 1000 - 1, 1);
    plant(now() - 3600 * 1000 + 60000, 2);
    plant(now() + 3600 * 1000 - 60000, 4);
    plant(now() + 3600 * 1000 + 60000, 8);
    plant(INT64_MAX, 16);
    plant(0, 32);
    ck_assert_uint_eq(stored(), 6);
    ck_assert_int_eq(mp_store_sweep(s, 0, &err), MCPLUG_OK);
    ck_assert_uint_eq(stored(), 2);
    ck_assert_uint_eq(seen_size, 6);

    mp_store_free(s);
    s = mp_store_new(at("results"), 0, 0);
    plant(now() - (int64_t)MP_STORE_AGE * 1000 - 1, 1);
    stores("x"); /* a new one sweeps by itself */
    ck_assert_uint_eq(stored(), 3);
    ck_assert_uint_eq(seen_size, 7);
}
END_TEST

START_TEST(what_killed_writers_left_goes_after_a_day)
{
    struct timespec old[2] = {{time(NULL) - 25 * 3600, 0}, {time(NULL) - 25 * 3600, 0}};
    struct timespec young[2] = {{time(NULL) - 23 * 3600, 0}, {time(NULL) - 23 * 3600, 0}};

    plant(now(), 1);
    put("results/.tmp-0123456789abcdef", "x", 0600);
    put("results/.tmp-fedcba9876543210", "x", 0600);
    ck_assert_int_eq(utimensat(AT_FDCWD, at("results/.tmp-0123456789abcdef"), old, 0), 0);
    ck_assert_int_eq(utimensat(AT_FDCWD, at("results/.tmp-fedcba9876543210"), young, 0),
                     0);
    put("results/.other", "x", 0600);
    ck_assert_int_eq(utimensat(AT_FDCWD, at("results/.other"), old, 0), 0);
    ck_assert_int_eq(mp_store_sweep(s, 0, &err), MCPLUG_OK);
    ck_assert(!is_there("results/.tmp-0123456789abcdef"));
    ck_assert(is_there("results/.tmp-fedcba9876543210"));
    ck_assert(is_there("results/.other"));
}
END_TEST

START_TEST(there_are_never_more_than_the_maximum)
{
    int64_t from = now() - 100000;
    char one[300], other[300];
    bool made = true;

    plant(from, 0);
    snprintf(one, sizeof one, "%s/mcp-s-t-%lld.txt", at("results"), (long long)from);
    for (int i = 1; i < 2 * MP_STORE_FILES + 5 && made; i++) { /* links are quicker */
        snprintf(other, sizeof other, "%s/mcp-s-t-%lld.txt", mp_store_dir(s),
                 (long long)from + i);
        made = link(one, other) == 0;
    }
    ck_assert(made);
    ck_assert_uint_le(stored(), 2 * MP_STORE_FILES); /* in bounded memory */
    ck_assert_uint_ge(stored(), MP_STORE_FILES);
    stores("x");
    ck_assert_uint_eq(stored(), MP_STORE_FILES);
    ck_assert_uint_eq(seen_size, 1);
    ck_assert_int_eq(last_time, from + MP_STORE_FILES + 6);
    stores("x");
    ck_assert_uint_eq(stored(), MP_STORE_FILES);
}
END_TEST

#define TEN "0123456789"
#define LONG_WORD TEN TEN TEN TEN TEN TEN TEN TEN "x" /* one over */

START_TEST(only_what_is_ours_counts_and_goes)
{
    int64_t t = now() - (int64_t)30 * 24 * 3600 * 1000; /* all too old */
    char name[128];
    static const char *const others[] = {
        "results/notes.txt",
        "results/mcp-a-b-",
        "results/mcp-a-b-12x.txt",
        "results/mcp-a-1",
        "results/mcp--b-1",
        "results/mcp-a.b-c-1",
        "results/mcp-a-b-99999999999999999999",
        "results/mcp-a-b-9223372036854775808",
        "results/mcp_a-b-1",
        "results/MCP-a-b-1",
        "results/mcp-" LONG_WORD "-b-1",
    };

    plant(t, 1);
    put("victim", "untouched", 0600);
    for (size_t i = 0; i < MP_COUNT(others); i++)
        put(others[i], "x", 0600);
    snprintf(name, sizeof name, "results/mcp-link-t-%lld", (long long)t);
    ck_assert_int_eq(symlink(at("victim"), at(name)), 0);
    snprintf(name, sizeof name, "results/mcp-dir-t-%lld", (long long)t);
    ck_assert_int_eq(mkdir(at(name), 0700), 0);
    snprintf(name, sizeof name, "results/mcp-pipe-t-%lld", (long long)t);
    ck_assert_int_eq(mkfifo(at(name), 0600), 0);
    unsigned n = MP_COUNT(others) + 4;
    if (geteuid() == 0) {
        snprintf(name, sizeof name, "results/mcp-other-t-%lld", (long long)t);
        put(name, "x", 0600);
        ck_assert_int_eq(chown(at(name), somebody_else(), (gid_t)-1), 0);
        n++;
    }
    ck_assert_uint_eq(count("results"), n);
    ck_assert_uint_eq(stored(), 1);
    ck_assert_int_eq(mp_store_sweep(s, 0, &err), MCPLUG_OK);
    ck_assert_uint_eq(stored(), 0);
    ck_assert_uint_eq(count("results"), n - 1);
    holds("victim", "untouched");

    /* nor can they be opened or removed by name */
    DIR *dir = opendir(at("results"));
    for (struct dirent *e; (e = readdir(dir));) {
        int fd = -1;
        if (e->d_name[0] == '.')
            continue;
        ck_assert_int_eq(mp_store_open(s, e->d_name, &fd, NULL, &err), MCPLUG_EINVAL);
        ck_assert_int_eq(mp_store_remove(s, e->d_name, &err), MCPLUG_EINVAL);
        ck_assert_int_eq(fd, -1);
    }
    closedir(dir);
    ck_assert_uint_eq(count("results"), n - 1);
}
END_TEST

START_TEST(who_reads_a_result_keeps_it_when_it_goes)
{
    char text[16] = "";
    int fd = -1;

    make_store(10);
    stores("0123456789");
    ck_assert_int_eq(mp_store_open(s, "mcp-", &fd, NULL, &err), MCPLUG_OK);
    stores("x");
    ck_assert_uint_eq(stored(), 1);
    ck_assert_int_eq(pread(fd, text, sizeof text, 0), 10);
    ck_assert_str_eq(text, "0123456789");
    close(fd);
}
END_TEST

START_TEST(a_part_of_the_disk_stays_free)
{
    struct mp_store_file *f = NULL;
    char *path = NULL, want[400];
    static char bytes[200];

    disk_size = 1000;
    disk_free = 150; /* 50 of which are the reserve */
    ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_store_write(f, bytes, 101, &err), MCPLUG_EIO);
    snprintf(want, sizeof want,
             "%s: cannot write the result: No space left on device (5 %% of the disk or "
             "1 GiB stay free)",
             at("results"));
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(err.os_error, ENOSPC);
    mp_store_drop(f);
    ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_store_write(f, bytes, 100, &err), MCPLUG_OK);
    mp_store_drop(f);

    /* of a copy; a link takes no room */
    int named = open(at("named"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(named, bytes, 101), 101);
    ck_assert_int_eq(mp_store_adopt(s, named, 101, "s", "t", NULL, &path, &err),
                     MCPLUG_EIO);
    ck_assert_str_eq(err.text, want);
    ck_assert_uint_eq(count("results"), 0);
    unlink(at("named"));
    int nameless = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(nameless, bytes, 101), 101);
    ck_assert_int_eq(mp_store_adopt(s, nameless, 101, "s", "t", NULL, &path, &err),
                     MCPLUG_OK);
    mp_free(path);
    close(nameless);
    close(named);
}
END_TEST

START_TEST(a_result_ends_at_the_limit_of_the_process)
{
    const size_t most = (size_t)1 << 20;
    struct rlimit limit = {most, RLIM_INFINITY};
    struct mp_store_file *f = NULL;
    char *path = NULL, want[400];
    static char bytes[(1 << 20) + 1];

    int from = open(at("named"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(from, bytes, most + 1), (ssize_t)most + 1);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_store_write(f, bytes, most, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_store_write(f, bytes, 1, &err), MCPLUG_EIO);
    snprintf(want, sizeof want,
             "%s: cannot write the result: File too large (because of RLIMIT_FSIZE)",
             at("results"));
    ck_assert_str_eq(err.text, want);
    mp_store_drop(f);

    for (int way = 0; way < 3; way++) {
        no_range = way > 0;
        no_sendfile = way > 1;
        ck_assert_int_eq(mp_store_adopt(s, from, most + 1, "s", "t", NULL, &path, &err),
                         MCPLUG_EIO);
        ck_assert_str_eq(err.text, want);
        ck_assert_int_eq(mp_store_adopt(s, from, most, "s", "t", NULL, &path, &err),
                         MCPLUG_OK);
        mp_free(path);
    }
    close(from);
    ck_assert_uint_eq(stored(), 3);
}
END_TEST

/* ---- the directory ---- */

static void is_refused(const char *dir, const char *why)
{
    struct mp_store *store = mp_store_new(dir, 0, 0);
    struct mp_store_file *f = NULL;
    char *path = NULL;
    size_t max = SIZE_MAX;
    int fd = -1, tmp = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    ck_assert_int_eq(mp_store_begin(store, &f, &err), MCPLUG_EIO);
    says(dir, why);
    ck_assert_int_eq(mp_store_adopt(store, tmp, 0, "s", "t", NULL, &path, &err),
                     MCPLUG_EIO);
    says(dir, why);
    ck_assert_int_eq(mp_store_open(store, "mcp-s-t-1", &fd, NULL, &err), MCPLUG_EIO);
    ck_assert_int_eq(mp_store_remove(store, "mcp-s-t-1", &err), MCPLUG_EIO);
    ck_assert_int_eq(mp_store_sweep(store, 0, &err), MCPLUG_EIO);
    ck_assert_int_eq(mp_store_each(store, see, &max, &err), MCPLUG_EIO);
    says(dir, why);
    close(tmp);
    mp_store_free(store);
}

START_TEST(a_directory_that_others_could_change_is_refused)
{
    ck_assert_int_eq(mkdir(at("open"), 0700), 0);
    ck_assert_int_eq(chmod(at("open"), 0702), 0);
    is_refused(at("open"), ": others can write to the directory; chmod 700 it");
    ck_assert_int_eq(chmod(at("open"), 0720), 0);
    is_refused(at("open"), ": others can write to the directory; chmod 700 it");

    ck_assert_int_eq(chmod(at("open"), 0777), 0);
    ck_assert_int_eq(mkdir(at("open/results"), 0700), 0);
    is_refused(at("open/results"), ": others can write to the directory above it");
    ck_assert_int_eq(chmod(at("open"), 01777), 0); /* as /tmp */
    mp_store_free(s);
    s = mp_store_new(at("open/results"), 0, 0);
    stores("x");

    put("file", "x", 0600);
    is_refused(at("file"), ": cannot open the directory for results: Not a directory");
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(mkdir(at("foreign"), 0700), 0);
    ck_assert_int_eq(mkdir(at("foreign/results"), 0700), 0);
    ck_assert_int_eq(chown(at("foreign"), somebody_else(), (gid_t)-1), 0);
    is_refused(at("foreign"), ": the directory belongs to another user");
    is_refused(at("foreign/results"), ": the directory above it belongs to another user");
}
END_TEST

START_TEST(a_link_is_followed_if_it_is_ours)
{
    ck_assert_int_eq(mkdir(at("real"), 0700), 0);
    ck_assert_int_eq(symlink("real", at("link")), 0);
    mp_store_free(s);
    s = mp_store_new(at("link"), 0, 0);
    stores("x");
    ck_assert_uint_eq(count("real"), 1);
    mp_store_free(s);
    s = mp_store_new(at("link/below"), 0, 0);
    stores("x");
    ck_assert_uint_eq(count("real/below"), 1);

    ck_assert_int_eq(symlink("nowhere", at("broken")), 0);
    mp_store_free(s);
    s = mp_store_new(at("broken/results"), 0, 0);
    ck_assert_uint_eq(stored(), 0);
    struct mp_store_file *f = NULL;
    ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_EIO);
    says(at("broken/results"),
         ": cannot open the directory for results: No such file or directory");
    ck_assert(!is_there("nowhere"));
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(lchown(at("link"), somebody_else(), (gid_t)-1), 0);
    is_refused(at("link"), ": the path has a link that belongs to another user");
    is_refused(at("link/below"), ": the path has a link that belongs to another user");
}
END_TEST

START_TEST(results_are_kept_beside_what_is_spilled)
{
    char want[300];

    setenv("XDG_CACHE_HOME", at("cache"), 1);
    mp_store_free(s);
    s = mp_store_new(NULL, 0, 0);
    ck_assert_str_eq(mp_store_dir(s), at("cache/mcplug/results"));
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    setenv("HOME", at("home"), 1);
    mp_store_free(s);
    s = mp_store_new("", 0, 0);
    ck_assert_str_eq(mp_store_dir(s), at("home/.cache/mcplug/results"));
    unsetenv("HOME");
    mp_store_free(s);
    s = mp_store_new(NULL, 0, 0);
    snprintf(want, sizeof want, "/var/tmp/mcplug-%u/results", (unsigned)geteuid());
    ck_assert_str_eq(mp_store_dir(s), want);

    ck_assert_int_eq(chdir(top), 0);
    mp_store_free(s);
    s = mp_store_new("some/where", 0, 0);
    ck_assert_int_eq(chdir("/"), 0);
    stores("x");
    ck_assert_uint_eq(count("some/where"), 1);
    mp_store_free(NULL);
}
END_TEST

static void store_without_standard_files(void)
{
    struct mp_store_file *f = NULL;
    char *path = NULL;
    int fd = -1;

    close(0);
    close(1);
    MUST(mp_store_begin(s, &f, &err) == MCPLUG_OK);
    MUST(mp_store_write(f, "abc", 3, &err) == MCPLUG_OK);
    MUST(mp_store_commit(f, "s", "t", NULL, NULL, &path, &err) == MCPLUG_OK);
    MUST(mp_store_open(s, path, &fd, NULL, &err) == MCPLUG_OK && fd > 2);
    MUST(fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0);
    close(fd);
    mp_free(path);
}

START_TEST(standard_descriptors_are_left_alone)
{
    as_nobody(store_without_standard_files);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, the_oldest_go_when_the_quota_is_reached);
    tcase_add_test(t, a_result_larger_than_the_quota_removes_nothing);
    tcase_add_test(t, old_results_go_and_those_from_a_wrong_clock);
    tcase_add_test(t, what_killed_writers_left_goes_after_a_day);
    tcase_add_test(t, there_are_never_more_than_the_maximum);
    tcase_add_test(t, only_what_is_ours_counts_and_goes);
    tcase_add_test(t, who_reads_a_result_keeps_it_when_it_goes);
    tcase_add_test(t, a_part_of_the_disk_stays_free);
    tcase_add_test(t, a_result_ends_at_the_limit_of_the_process);
    tcase_add_test(t, a_directory_that_others_could_change_is_refused);
    tcase_add_test(t, a_link_is_followed_if_it_is_ours);
    tcase_add_test(t, results_are_kept_beside_what_is_spilled);
    tcase_add_test(t, standard_descriptors_are_left_alone);
}

int main(void)
{
    return run_store_suite("content_results", add);
}
