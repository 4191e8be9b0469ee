/* Results in files: their names, how they get there, and how one is found. */
#include "store_kit.h"

#include "rpc/spill.h"

/* ---- files ---- */

START_TEST(a_result_is_a_private_file_with_a_name)
{
    int64_t before = now();
    mp_store_free(s);
    s = mp_store_new(at("a/b/results/"), 0, 0);
    ck_assert_str_eq(mp_store_dir(s), at("a/b/results"));
    ck_assert(!is_there("a")); /* nothing is created yet */
    ck_assert_uint_eq(stored(), 0);
    ck_assert(!is_there("a"));

    char *path = store("some text", NULL, ".txt");
    const char *dir = at("a/b/results/");
    ck_assert_int_eq(strncmp(path, dir, strlen(dir)), 0);
    ck_assert(looks_like(path + strlen(dir), "mcp-my_server-read_file-", ".txt"));
    ck_assert_int_eq(mode_of(path), 0600);
    ck_assert_int_eq(mode_of(at("a")), 0700);
    ck_assert_int_eq(mode_of(at("a/b")), 0700);
    ck_assert_int_eq(mode_of(at("a/b/results")), 0700);
    ck_assert_uint_eq(count("a/b/results"), 1);
    char name[300];
    snprintf(name, sizeof name, "a/b/results/%s", path + strlen(dir));
    holds(name, "some text");

    ck_assert_uint_eq(stored(), 1);
    ck_assert_uint_eq(seen_size, 9);
    ck_assert_int_ge(last_time, before);
    ck_assert_int_le(last_time, now() + 1);
    ck_assert_ptr_nonnull(strstr(seen, "|my_server|read_file|.txt\n"));
    mp_free(path);
}
END_TEST

static void store_as_nobody(void)
{
    mp_store_free(s);
    for (int i = 0; i < 2; i++) {
        umask(i ? 0777 : 0);
        MUST((s = mp_store_new(at(i ? "x/y/z" : "u/v"), 0, 0)));
        for (int way = 0; way < 3; way++) {
            struct mp_store_file *f = NULL;
            struct stat st;
            char *path = NULL;
            no_tmpfile = way == 1;
            no_proc = way == 2;
            MUST(mp_store_begin(s, &f, &err) == MCPLUG_OK);
            MUST(mp_store_write(f, "abc", 3, &err) == MCPLUG_OK);
            MUST(mp_store_commit(f, "s", "t", NULL, NULL, &path, &err) == MCPLUG_OK);
            MUST(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
            MUST(st.st_size == 3);
            mp_free(path);
        }
        struct stat st;
        MUST(stat(mp_store_dir(s), &st) == 0 && (st.st_mode & 07777) == 0700);
        MUST(stat(at(i ? "x" : "u"), &st) == 0 && (st.st_mode & 07777) == 0700);

        int fd = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        char *path = NULL;
        MUST(fd >= 0 && write(fd, "abcd", 4) == 4);
        MUST(mp_store_adopt(s, fd, 4, "s", "t", NULL, &path, &err) == MCPLUG_OK);
        MUST(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
        mp_free(path);
        close(fd);
        mp_store_free(s);
    }
    s = NULL;
}

START_TEST(modes_do_not_depend_on_the_umask)
{
    as_nobody(store_as_nobody);
}
END_TEST

START_TEST(hostile_names_are_made_harmless)
{
    char long_word[301], *path = NULL;
    struct mp_store_file *f = NULL;
    static const struct {
        const char *server, *tool, *head;
    } names[] = {
        {"../../x", "a/b", "mcp-______x-a_b-"},
        {"", NULL, "mcp-_-_-"},
        {"a\nb",
         "\xe2\x80\xae"
         "c",
         "mcp-a_b-___c-"},
        {"$(id)", "-rf", "mcp-__id_-_rf-"},
    };

    for (size_t i = 0; i < MP_COUNT(names); i++) {
        ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
        ck_assert_int_eq(mp_store_commit(f, names[i].server, names[i].tool, "../..//",
                                         "/../x", &path, &err),
                         MCPLUG_OK);
        has_name(path, names[i].head, ".x");
    }
    memset(long_word, 'w', 300);
    long_word[300] = '\0';
    ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
    ck_assert_int_eq(
        mp_store_commit(f, long_word, long_word, long_word, ".html", &path, &err),
        MCPLUG_OK);
    ck_assert_uint_le(strlen(shown(path)), NAME_MAX);
    ck_assert_int_eq(strncmp(shown(path) + 4 + 80, "-www", 4), 0);
    ck_assert_int_eq(strncmp(shown(path) + 4 + 80 + 1 + 80, "-1", 2), 0);
    ck_assert_str_eq(path + strlen(path) - 6, "w.html");
    mp_free(path);
    ck_assert_uint_eq(stored(), 5);
}
END_TEST

START_TEST(a_name_of_the_servers_is_part_of_it_with_one_extension)
{
    has_name(store("", "https://h/d/plan.pdf", ".pdf"), "mcp-my_server-read_file-",
             "-plan.pdf");
    has_name(store("", "PLAN.PDF", ".pdf"), "mcp-my_server-read_file-", "-PLAN.PDF");
    has_name(store("", "plan", ".pdf"), "mcp-my_server-read_file-", "-plan.pdf");
    has_name(store("", "plan.pdf", NULL), "mcp-my_server-read_file-", "-plan.pdf");
    has_name(store("", "plan", NULL), "mcp-my_server-read_file-", "-plan");
    has_name(store("", "../", ".png"), "mcp-my_server-read_file-", ".png");
    has_name(store("", NULL, ""), "mcp-my_server-read_file-", "");
    ck_assert_uint_eq(stored(), 7);
    ck_assert_ptr_nonnull(strstr(seen, "-plan|my_server|read_file|\n"));
    ck_assert_ptr_nonnull(strstr(seen, "-PLAN.PDF|my_server|read_file|.PDF\n"));
}
END_TEST

START_TEST(a_result_that_is_dropped_leaves_nothing)
{
    for (int way = 0; way < 2; way++) {
        struct mp_store_file *f = NULL;
        no_tmpfile = way;
        ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
        ck_assert_int_eq(mp_store_write(f, "x", 1, &err), MCPLUG_OK);
        ck_assert_uint_eq(count("results"), (unsigned)way);
        mp_store_drop(f);
        ck_assert_uint_eq(count("results"), 0);
    }
    mp_store_drop(NULL);
}
END_TEST

START_TEST(file_systems_that_lack_something_do_as_well)
{
    for (int i = 0; i < 8; i++) {
        no_tmpfile = i & 1;
        no_noreplace = i & 2;
        no_proc = i & 4;
        char *path = store("all of it", NULL, NULL);
        char name[300];
        snprintf(name, sizeof name, "results/%s", shown(path));
        holds(name, "all of it");
        ck_assert_int_eq(mode_of(path), 0600);
        mp_free(path);
        ck_assert_uint_eq(count("results"), (unsigned)i + 1);
        ck_assert_uint_eq(stored(), (unsigned)i + 1);
    }
}
END_TEST

START_TEST(a_directory_that_is_removed_meanwhile_is_made_again)
{
    for (int way = 0; way < 2; way++) {
        struct mp_store_file *f = NULL;
        char *path = NULL;
        char name[300];
        no_tmpfile = way;
        ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
        ck_assert_int_eq(mp_store_write(f, "kept", 4, &err), MCPLUG_OK);
        ck_assert_int_eq(nftw(at("results"), remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
        int r = mp_store_commit(f, "s", "t", NULL, NULL, &path, &err);
        ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
        snprintf(name, sizeof name, "results/%s", shown(path));
        holds(name, "kept");
        mp_free(path);
        ck_assert_uint_eq(count("results"), 1);
    }
}
END_TEST

START_TEST(a_name_that_exists_is_not_used)
{
    struct mp_store_file *f = NULL;
    char *path = NULL, link[300];

    put("victim", "untouched", 0600);
    for (int way = 0; way < 3; way++) {
        no_tmpfile = way > 0;
        no_noreplace = way > 1;
        ck_assert_int_eq(mp_store_begin(s, &f, &err), MCPLUG_OK);
        ck_assert_int_eq(mp_store_write(f, "x", 1, &err), MCPLUG_OK);
        int64_t from = now();
        for (int i = 0; i < 500; i++) { /* half a second of names that are taken */
            snprintf(link, sizeof link, "results/mcp-s-t-%lld.txt",
                     (long long)(from + i));
            ck_assert(symlink(at("victim"), at(link)) == 0 || errno == EEXIST);
        }
        ck_assert_int_eq(mp_store_commit(f, "s", "t", NULL, "txt", &path, &err),
                         MCPLUG_OK);
        ck_assert_int_ge(atoll(shown(path) + strlen("mcp-s-t-")), from + 500);
        mp_free(path);
    }
    holds("victim", "untouched");
    ck_assert_uint_eq(stored(), 3);
}
END_TEST

START_TEST(no_two_results_have_the_same_time)
{
    int64_t times[100];

    for (int i = 0; i < 100; i++) {
        char *path = store("", i % 2 ? "a" : NULL, i % 3 ? ".txt" : ".md");
        times[i] = atoll(shown(path) + strlen("mcp-my_server-read_file-"));
        for (int k = 0; k < i; k++)
            ck_assert_int_ne(times[i], times[k]);
        mp_free(path);
    }
}
END_TEST

/* ---- adopting ---- */

static int64_t inode_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(lstat(path, &st), 0);
    return (int64_t)st.st_ino;
}

START_TEST(a_spilled_string_is_not_copied)
{
    struct mp_spill spill;
    struct stat st;
    char *path = NULL, text[8] = "";

    mp_spill_init(&spill);
    ck_assert_int_eq(mp_spill_begin(&spill, top, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_spill_add(&spill, "a\\nb", 4, 100, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_spill_end(&spill, 100, &err), MCPLUG_OK);
    ck_assert_int_eq(
        mp_store_adopt(s, spill.fd, spill.size, "s", "t", ".txt", &path, &err),
        MCPLUG_OK);
    ck_assert_int_eq(fstat(spill.fd, &st), 0);
    ck_assert_int_eq(inode_of(path), (int64_t)st.st_ino);
    ck_assert_uint_eq(st.st_nlink, 1);
    ck_assert_int_eq(mode_of(path), 0600);
    ck_assert_int_eq(pread(spill.fd, text, sizeof text, 0), 3); /* still open */
    ck_assert_str_eq(text, "a\nb");
    char *again = NULL; /* it has a name now */
    ck_assert_int_eq(
        mp_store_adopt(s, spill.fd, spill.size, "s", "t", ".txt", &again, &err),
        MCPLUG_OK);
    ck_assert_int_ne(inode_of(again), (int64_t)st.st_ino);
    mp_free(again);
    mp_free(path);
    mp_spill_clear(&spill);
    ck_assert_uint_eq(stored(), 2);
    ck_assert_uint_eq(seen_size, 6);
}
END_TEST

/* Bytes that can be told from their neighbours. */
static void pattern(char piece[4096], size_t at_byte)
{
    for (size_t k = 0; k < 4096; k++)
        piece[k] = (char)((at_byte + k) * 2654435761u >> 13);
}

static void fill(int fd, size_t size)
{
    char piece[4096];

    for (size_t i = 0; i < size; i += sizeof piece) {
        size_t n = size - i < sizeof piece ? size - i : sizeof piece;
        pattern(piece, i);
        ck_assert_int_eq(write(fd, piece, n), (ssize_t)n);
    }
}

static void is_filled(const char *path, size_t size)
{
    char piece[4096], want[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(st.st_size, (off_t)size);
    for (size_t i = 0; i < size; i += sizeof piece) {
        ssize_t n = pread(fd, piece, sizeof piece, (off_t)i);
        pattern(want, i);
        ck_assert(n > 0 && memcmp(piece, want, (size_t)n) == 0);
    }
    close(fd);
}

START_TEST(what_is_elsewhere_or_has_a_name_is_copied)
{
    static const char *const places[] = {"/dev/shm", NULL};
    const size_t size = 300000;

    for (size_t i = 0; i < MP_COUNT(places); i++) {
        for (int way = 0; way < 3; way++) {
            char *path = NULL;
            struct stat st;
            no_range = way > 0;
            no_sendfile = way > 1;
            int fd = places[i] ? open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                               : open(at("named"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
            if (fd < 0 && places[i]) /* this system has no such place */
                continue;
            fill(fd, size);
            ck_assert_int_eq(lseek(fd, 5, SEEK_SET), 5);
            int r = mp_store_adopt(s, fd, size, "s", "t", NULL, &path, &err);
            ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
            ck_assert_int_eq(fstat(fd, &st), 0);
            ck_assert_int_ne(inode_of(path), (int64_t)st.st_ino);
            ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 5);
            ck_assert_int_eq(mode_of(path), 0600);
            is_filled(path, size);
            mp_free(path);
            ck_assert_int_eq(mp_store_adopt(s, fd, 777, "s", "t", NULL, &path, &err),
                             MCPLUG_OK);
            is_filled(path, 777);
            mp_free(path);
            close(fd);
            unlink(at("named"));
        }
    }
    ck_assert_uint_eq(count("results"), (unsigned)stored());
}
END_TEST

START_TEST(a_copy_that_fails_removes_nothing)
{
    char *path = NULL;
    int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0) /* this system has no such place */
        return;
    fill(fd, 1000);
    make_store(1000);
    plant(now() - 10000, 1000);
    disk_size = 1000000;
    ck_assert_int_eq(mp_store_adopt(s, fd, 1000, "s", "t", NULL, &path, &err),
                     MCPLUG_EIO);
    ck_assert_int_eq(err.os_error, ENOSPC);
    ck_assert_uint_eq(stored(), 1);
    close(fd);
}
END_TEST

START_TEST(what_is_no_file_or_shorter_is_not_adopted)
{
    char *path = NULL;
    int pipes[2], fd = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    ck_assert_int_eq(write(fd, "abc", 3), 3);
    ck_assert_int_eq(mp_store_adopt(s, fd, 4, "s", "t", NULL, &path, &err),
                     MCPLUG_EINVAL);
    close(fd);
    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(mp_store_adopt(s, pipes[0], 0, "s", "t", NULL, &path, &err),
                     MCPLUG_EINVAL);
    close(pipes[0]);
    close(pipes[1]);
    ck_assert_int_eq(mp_store_adopt(s, -1, 0, "s", "t", NULL, &path, &err),
                     MCPLUG_EINVAL);
    ck_assert_ptr_null(path);
    ck_assert(!is_there("results"));
}
END_TEST

/* ---- several processes ---- */

static void in_four(void (*what)(int who))
{
    pid_t pids[4];
    int status;

    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            what(i);
            _exit(0);
        }
        ck_assert_int_gt(pids[i], 0);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
}

static void store_fifty(int who)
{
    no_tmpfile = who % 2;
    for (int i = 0; i < 50; i++) {
        struct mp_store_file *f = NULL;
        char *path = NULL, text[16];
        struct stat st;
        snprintf(text, sizeof text, "%d %08d", who, i);
        MUST(mp_store_begin(s, &f, &err) == MCPLUG_OK);
        MUST(mp_store_write(f, text, 10, &err) == MCPLUG_OK);
        MUST(mp_store_commit(f, "s", "t", NULL, ".txt", &path, &err) == MCPLUG_OK);
        MUST(stat(path, &st) == 0 && st.st_size == 10);
        mp_free(path);
    }
}

START_TEST(four_processes_lose_no_result)
{
    in_four(store_fifty);
    ck_assert_uint_eq(stored(), 200);
    ck_assert_uint_eq(count("results"), 200);
    ck_assert_uint_eq(seen_size, 2000);
}
END_TEST

static void store_in_little(int who)
{
    for (int i = 0; i < 50; i++) {
        struct mp_store_file *f = NULL;
        char *path = NULL;
        MUST(mp_store_begin(s, &f, &err) == MCPLUG_OK);
        MUST(mp_store_write(f, "0123456789", (size_t)who + 7, &err) == MCPLUG_OK);
        MUST(mp_store_commit(f, "s", "t", NULL, ".txt", &path, &err) == MCPLUG_OK);
        mp_free(path);
        n_seen = seen_size = 0;
        size_t max = SIZE_MAX;
        MUST(mp_store_each(s, see, &max, &err) == MCPLUG_OK);
        /* the listing is not one moment's: another may have been removed and added */
        MUST(seen_size <= 45 + 4 * 10);
    }
}

START_TEST(four_processes_keep_to_the_quota)
{
    make_store(45);
    in_four(store_in_little);
    stored();
    ck_assert_uint_le(seen_size, 45);
    ck_assert_uint_ge(n_seen, 4);
}
END_TEST

/* ---- finding one ---- */

static void opens(const char *which, const char *want)
{
    char *name = NULL, text[64] = "";
    int fd = -1;
    struct stat st;

    int r = mp_store_open(s, which, &fd, &name, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_str_eq(name, want);
    ck_assert_int_gt(fd, 2);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(read(fd, text, sizeof text), st.st_size);
    close(fd);
    mp_free(name);
}

static void does_not_open(const char *which)
{
    char *name = NULL;
    int fd = -1;

    ck_assert_int_eq(mp_store_open(s, which, &fd, &name, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(fd, -1);
    ck_assert_ptr_null(name);
    ck_assert(err.text[0]);
}

START_TEST(a_result_is_found_in_four_ways)
{
    does_not_open("mcp-"); /* there is no directory */
    ck_assert(!is_there("results"));
    plant(1700000000001, 1);
    put("results/mcp-other-tool-1700000000002.json", "two", 0600);
    const char *one = "mcp-s-t-1700000000001.txt";
    const char *two = "mcp-other-tool-1700000000002.json";
    char path[300];

    opens(one, one);
    opens(two, two);
    opens("mcp-s-t-17", one);
    opens("mcp-o", two);
    opens("1700000000001", one);
    opens("1700000000002", two);
    snprintf(path, sizeof path, "%s/%s", at("results"), two);
    opens(path, two);
    ck_assert_int_eq(symlink("results", at("way")), 0);
    snprintf(path, sizeof path, "%s/%s", at("way"), two);
    opens(path, two);
    snprintf(path, sizeof path, "%s/../results//./%s", at("results"), two);
    opens(path, two);

    does_not_open("");
    does_not_open("1700000000003");
    does_not_open("170000000000");
    does_not_open("mcp-x");
    does_not_open("../results/mcp-s-t-1700000000001.txt");
    does_not_open("/etc/passwd");
    does_not_open("/");
    does_not_open("999999999999999999999999999999999999");
    snprintf(path, sizeof path, "%s/mcp-s", at("results"));
    does_not_open(path); /* a path is whole */
    snprintf(path, sizeof path, "there is no result %s/mcp-s in %s", at("results"),
             at("results"));
    ck_assert_str_eq(err.text, path);
}
END_TEST

START_TEST(several_that_could_be_meant_are_named)
{
    plant(1700000000001, 1);
    plant(1700000000002, 1);
    put("results/mcp-a-b-1700000000001.json", "x", 0600);
    does_not_open("mcp-s-t-");
    ck_assert_str_eq(err.text, "2 results are mcp-s-t-: mcp-s-t-1700000000002.txt, "
                               "mcp-s-t-1700000000001.txt");
    does_not_open("1700000000001");
    ck_assert_str_eq(err.text, "2 results are 1700000000001: mcp-s-t-1700000000001.txt, "
                               "mcp-a-b-1700000000001.json");
    for (int i = 10; i < 60; i++)
        plant(1700000000000 + i, 1);
    does_not_open("mcp-s");
    ck_assert_int_eq(strncmp(err.text, "52 results are mcp-s: mcp-s-t-1700000000059", 43),
                     0);
    ck_assert_ptr_nonnull(strstr(err.text, ", .."));
}
END_TEST

START_TEST(the_listing_is_newest_first_and_can_be_stopped)
{
    plant(5, 1);
    plant(1700000000001, 1);
    plant(90, 1);
    ck_assert_uint_eq(stored(), 3);
    ck_assert_str_eq(seen, "mcp-s-t-1700000000001.txt|s|t|.txt\n"
                           "mcp-s-t-90.txt|s|t|.txt\nmcp-s-t-5.txt|s|t|.txt\n");
    ck_assert_uint_eq(look_up_to(2), 2);
}
END_TEST

START_TEST(a_result_is_removed_by_its_name_alone)
{
    const char *name = plant(1700000000001, 1);

    put("victim", "x", 0600);
    ck_assert_int_eq(mp_store_remove(s, "../victim", &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_store_remove(s, "mcp-s-t", &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_store_remove(s, "mcp-s-t-1/../../victim", &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_store_remove(s, "", &err), MCPLUG_EINVAL);
    ck_assert_uint_eq(stored(), 1);
    ck_assert_int_eq(mp_store_remove(s, name, &err), MCPLUG_OK);
    ck_assert_uint_eq(stored(), 0);
    ck_assert_int_eq(mp_store_remove(s, name, &err), MCPLUG_EINVAL);
    ck_assert(is_there("victim"));
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, a_result_is_a_private_file_with_a_name);
    tcase_add_test(t, modes_do_not_depend_on_the_umask);
    tcase_add_test(t, hostile_names_are_made_harmless);
    tcase_add_test(t, a_name_of_the_servers_is_part_of_it_with_one_extension);
    tcase_add_test(t, a_result_that_is_dropped_leaves_nothing);
    tcase_add_test(t, file_systems_that_lack_something_do_as_well);
    tcase_add_test(t, a_directory_that_is_removed_meanwhile_is_made_again);
    tcase_add_test(t, a_name_that_exists_is_not_used);
    tcase_add_test(t, no_two_results_have_the_same_time);
    tcase_add_test(t, a_spilled_string_is_not_copied);
    tcase_add_test(t, what_is_elsewhere_or_has_a_name_is_copied);
    tcase_add_test(t, a_copy_that_fails_removes_nothing);
    tcase_add_test(t, what_is_no_file_or_shorter_is_not_adopted);
    tcase_add_test(t, four_processes_lose_no_result);
    tcase_add_test(t, four_processes_keep_to_the_quota);
    tcase_add_test(t, a_result_is_found_in_four_ways);
    tcase_add_test(t, several_that_could_be_meant_are_named);
    tcase_add_test(t, the_listing_is_newest_first_and_can_be_stopped);
    tcase_add_test(t, a_result_is_removed_by_its_name_alone);
}

int main(void)
{
    return run_store_suite("content_store", add);
}
