#include "file_kit.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>

/* ---- reading ---- */

static int read_code(const char *name)
{
    struct mp_file file;
    int r = mp_file_read(at(name), &file, &err);
    mp_file_clear(&file);
    return r;
}

START_TEST(a_file_that_is_not_there_is_no_failure)
{
    struct mp_file file;
    ck_assert_int_eq(mp_file_read(at("none"), &file, &err), MCPLUG_OK);
    ck_assert(!file.exists);
    ck_assert_uint_eq(file.text.len, 0);
    mp_file_clear(&file);
    mp_file_clear(&file);
    ck_assert_int_eq(symlink("nowhere", at("link")), 0);
    ck_assert_int_eq(mp_file_read(at("link"), &file, &err), MCPLUG_OK);
    ck_assert(!file.exists);
}
END_TEST

START_TEST(a_file_is_read_whole_with_its_mode_and_through_links)
{
    struct mp_file file;
    put("a", "text\n", 0640);
    ck_assert_int_eq(symlink("a", at("link")), 0);
    ck_assert_int_eq(mp_file_read(at("link"), &file, &err), MCPLUG_OK);
    ck_assert(file.exists);
    ck_assert_str_eq(file.text.data, "text\n");
    ck_assert_uint_eq(file.st.st_mode, S_IFREG | 0640);
    mp_file_clear(&file);
    put("empty", "", 0600);
    holds("empty", "");
    ck_assert_int_eq(mp_file_read("/proc/self/stat", &file, &err), MCPLUG_OK);
    ck_assert_uint_gt(file.text.len, 10); /* although its size is said to be 0 */
    mp_file_clear(&file);
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused_without_waiting)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
    ck_assert_int_eq(read_code("dir"), MCPLUG_ECONFIG);
    says(at("dir"), ": is a directory");
    ck_assert_int_eq(mkfifo(at("fifo"), 0600), 0);
    ck_assert_int_eq(read_code("fifo"), MCPLUG_ECONFIG);
    says(at("fifo"), ": is not a regular file");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(name.sun_path, sizeof name.sun_path, "%s", at("socket"));
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    ck_assert_int_eq(read_code("socket"), MCPLUG_ECONFIG);
    close(fd);

    ck_assert_int_eq(add_to("dir", "x"), MCPLUG_ECONFIG);
    ck_assert_int_eq(add_to("fifo", "x"), MCPLUG_ECONFIG);
    ck_assert_int_eq(add_to("dir/", "x"), MCPLUG_ECONFIG);
    ck_assert_int_eq(add_to("dir/..", "x"), MCPLUG_ECONFIG);
    ck_assert_int_eq(mp_file_update("", 0600, append, "x", &err), MCPLUG_ECONFIG);
    ck_assert_uint_eq(count("."), 3);
}
END_TEST

START_TEST(a_file_of_the_limit_is_read_and_one_byte_more_is_not)
{
    struct mp_file file;
    put("a", "", 0600);
    ck_assert_int_eq(truncate(at("a"), (off_t)MP_FILE_MAX), 0);
    ck_assert_int_eq(mp_file_read(at("a"), &file, &err), MCPLUG_OK);
    ck_assert_uint_eq(file.text.len, MP_FILE_MAX);
    mp_file_clear(&file);
    ck_assert_int_eq(truncate(at("a"), (off_t)MP_FILE_MAX + 1), 0);
    ck_assert_int_eq(read_code("a"), MCPLUG_ETOOBIG);
    says(at("a"), ": is longer than 1048576 bytes");
    ck_assert_int_eq(truncate(at("a"), (off_t)1 << 40), 0);
    ck_assert_int_eq(read_code("a"), MCPLUG_ETOOBIG);
}
END_TEST

static void read_closed(void)
{
    struct mp_file file;
    MUST(mp_file_read(at("a"), &file, &err) == MCPLUG_EIO);
    MUST(!file.exists && err.os_error == EACCES);
    MUST(strstr(err.text, "/a: cannot open: Permission denied") != NULL);
    mp_file_clear(&file);
}

START_TEST(a_file_that_may_not_be_read_is_said_so)
{
    put("a", "x", 0000);
    as_nobody(read_closed);
}
END_TEST

START_TEST(a_long_path_does_not_hide_what_is_wrong)
{
    char path[3000];
    memset(path, 'a', sizeof path);
    for (size_t i = 0; i < sizeof path; i += 100)
        path[i] = '/';
    memcpy(path, top, strlen(top));
    memcpy(path + sizeof path - 5, "/end", 5);
    struct mp_file file;
    ck_assert_int_eq(mp_file_read(path, &file, &err), MCPLUG_OK);
    ck_assert(!file.exists);
    mp_file_clear(&file);
    put("a", "", 0600);
    path[strlen(top)] = '/';
    path[strlen(top) + 1] = 'a';
    path[strlen(top) + 2] = '/';
    ck_assert_int_eq(mp_file_read(path, &file, &err), MCPLUG_EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "/end: cannot open: Not a directory"));
    mp_file_clear(&file);
}
END_TEST

/* ---- writing ---- */

START_TEST(a_new_file_gets_its_mode_and_its_directories)
{
    mode_t before = umask(0027);
    ck_assert_int_eq(mp_file_update(at("x//y/z/new"), 0664, append, "one\n", &err),
                     MCPLUG_OK);
    ck_assert_uint_eq(umask(before), 0027);
    holds("x/y/z/new", "one\n");
    ck_assert_uint_eq(look("x").st_mode & 07777, 0700);
    ck_assert_uint_eq(look("x/y/z").st_mode & 07777, 0700);
    ck_assert_uint_eq(look("x/y/z/new").st_mode & 07777, 0664);
    ck_assert_uint_eq(count("x/y/z"), 1);
    adds("x/y/z/new", "two\n");
    holds("x/y/z/new", "one\ntwo\n");
}
END_TEST

START_TEST(a_path_without_a_directory_is_below_the_working_directory)
{
    int here = open(".", O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(chdir(top), 0);
    ck_assert_int_eq(mp_file_update("new", 0600, append, "x", &err), MCPLUG_OK);
    ck_assert_int_eq(mp_file_update("sub/new", 0600, append, "y", &err), MCPLUG_OK);
    ck_assert_int_eq(fchdir(here), 0);
    close(here);
    holds("new", "x");
    holds("sub/new", "y");
}
END_TEST

START_TEST(a_directory_that_is_a_file_is_an_error)
{
    put("a", "x", 0600);
    ck_assert_int_eq(add_to("a/b/c", "y"), MCPLUG_EIO);
    ck_assert_int_eq(err.os_error, ENOTDIR);
    holds("a", "x");
}
END_TEST

START_TEST(the_mode_is_kept)
{
    static const mode_t modes[] = {0600, 0640, 0644, 0660, 0666, 0755};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        put("a", "x", modes[i]);
        ino_t before = look("a").st_ino;
        adds("a", "y");
        holds("a", "xy");
        ck_assert_uint_eq(look("a").st_mode & 07777, modes[i]);
        ck_assert_uint_ne(look("a").st_ino, before);
        unlink(at("a"));
    }
    put("a", "x", 06755); /* but no rights of another user are passed on */
    adds("a", "y");
    ck_assert_uint_eq(look("a").st_mode & 07777, 0755);
}
END_TEST

START_TEST(root_keeps_the_owner)
{
    if (getuid() != 0)
        return;
    put("a", "x", 0640);
    ck_assert_int_eq(chown(at("a"), NOBODY, 12345), 0);
    adds("a", "y");
    ck_assert_uint_eq(look("a").st_uid, NOBODY);
    ck_assert_uint_eq(look("a").st_gid, 12345);
    ck_assert_uint_eq(look("a").st_mode & 07777, 0640);
}
END_TEST

static void add_y(void)
{
    MUST(add_to("a", "y") == MCPLUG_OK);
}

START_TEST(a_group_that_cannot_be_kept_does_not_hand_its_rights_to_another)
{
    if (getuid() != 0)
        return;
    put("a", "x", 0666);
    as_nobody(add_y);
    holds("a", "xy");
    ck_assert_uint_eq(look("a").st_gid, NOBODY);
    ck_assert_uint_eq(look("a").st_mode & 07777, 0606);
}
END_TEST

START_TEST(the_rights_of_an_access_list_do_not_become_those_of_the_group)
{
    /* user::rw- user:12345:r-- group::--- mask::r-- other::--- */
    static const unsigned char list[] = "\2\0\0\0"
                                        "\1\0\6\0\377\377\377\377"
                                        "\2\0\4\0\71\60\0\0"
                                        "\4\0\0\0\377\377\377\377"
                                        "\20\0\4\0\377\377\377\377"
                                        "\40\0\0\0\377\377\377\377";
    put("a", "x", 0600);
    if (setxattr(at("a"), "system.posix_acl_access", list, sizeof list - 1, 0) != 0)
        return; /* no such lists here */
    ck_assert_uint_eq(look("a").st_mode & 07777, 0640);
    adds("a", "y");
    holds("a", "xy");
    ck_assert_uint_eq(look("a").st_mode & 07777, 0600);
}
END_TEST

START_TEST(unchanged_text_touches_nothing)
{
    put("a", "x", 0600);
    struct stat before = look("a"), dir = look(".");
    adds("a", "");
    struct stat after = look("a"), dir_after = look(".");
    ck_assert_uint_eq(after.st_ino, before.st_ino);
    ck_assert_mem_eq(&after.st_mtim, &before.st_mtim, sizeof after.st_mtim);
    ck_assert_mem_eq(&after.st_ctim, &before.st_ctim, sizeof after.st_ctim);
    ck_assert_mem_eq(&dir_after.st_mtim, &dir.st_mtim, sizeof dir.st_mtim);
    adds("none", "");
    ck_assert(!is_there("none"));
}
END_TEST

static int refuse(void *arg, const struct mp_file *old, struct mp_str *out,
                  struct mcplug_error *why)
{
    (void)old;
    mp_str_adds(out, "half of it");
    *(unsigned *)arg += 1;
    return mp_fail(why, MCPLUG_EREFUSED, "no");
}

START_TEST(a_change_that_fails_leaves_the_file)
{
    unsigned times = 0;
    put("a", "x", 0600);
    ck_assert_int_eq(mp_file_update(at("a"), 0600, refuse, &times, &err),
                     MCPLUG_EREFUSED);
    ck_assert_str_eq(err.text, "no");
    ck_assert_uint_eq(times, 1);
    holds("a", "x");
    ck_assert_uint_eq(count("."), 1);
}
END_TEST

static int fill(void *arg, const struct mp_file *old, struct mp_str *out,
                struct mcplug_error *why)
{
    (void)old, (void)why;
    for (size_t n = *(size_t *)arg; n; n--)
        mp_str_addc(out, 'x');
    return MCPLUG_OK;
}

START_TEST(text_of_the_limit_is_written_and_one_byte_more_is_not)
{
    size_t n = MP_FILE_MAX;
    put("a", "", 0600);
    ck_assert_int_eq(mp_file_update(at("a"), 0600, fill, &n, &err), MCPLUG_OK);
    ck_assert_int_eq(look("a").st_size, (off_t)MP_FILE_MAX);
    n++;
    ck_assert_int_eq(mp_file_update(at("a"), 0600, fill, &n, &err), MCPLUG_ETOOBIG);
    ck_assert_int_eq(look("a").st_size, (off_t)MP_FILE_MAX);
}
END_TEST

/* The system would end the process for it. */
START_TEST(a_text_that_is_longer_than_the_process_may_write_leaves_the_file)
{
    const struct rlimit limit = {100000, RLIM_INFINITY};
    size_t n = 100001;
    put("a", "x", 0600);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(mp_file_update(at("a"), 0600, fill, &n, &err), MCPLUG_EIO);
    ck_assert_int_eq(err.os_error, EFBIG);
    holds("a", "x");
    ck_assert_uint_eq(count("."), 1);
    n--;
    ck_assert_int_eq(mp_file_update(at("a"), 0600, fill, &n, &err), MCPLUG_OK);
    ck_assert_int_eq(look("a").st_size, 100000);
}
END_TEST

static void cannot_add(void)
{
    MUST(add_to("a", "y") == MCPLUG_EIO);
    MUST(err.os_error == EACCES);
    MUST(strstr(err.text, "/a: is read-only: Permission denied (the file is unchanged)"));
}

START_TEST(a_file_that_may_not_be_written_is_not_replaced)
{
    put("a", "x", 0444);
    as_nobody(cannot_add);
    holds("a", "x");
    ck_assert_uint_eq(count("."), 1);
}
END_TEST

static void cannot_add_beside(void)
{
    MUST(add_to("dir/a", "y") == MCPLUG_EIO);
    MUST(strstr(err.text, "/a: cannot create a new file beside it: Permission denied"));
    MUST(add_to("dir/b/c", "y") == MCPLUG_EIO);
    MUST(strstr(err.text, "/c: cannot create its directory: Permission denied"));
}

START_TEST(a_directory_that_may_not_be_written_is_an_error)
{
    ck_assert_int_eq(mkdir(at("dir"), 0700), 0);
    put("dir/a", "x", 0666);
    ck_assert_int_eq(chmod(at("dir"), 0555), 0);
    as_nobody(cannot_add_beside);
    holds("dir/a", "x");
    ck_assert_uint_eq(count("dir"), 1);
    ck_assert_int_eq(chmod(at("dir"), 0700), 0);
}
END_TEST

static int edit_meanwhile(void *arg, const struct mp_file *old, struct mp_str *out,
                          struct mcplug_error *why)
{
    put("a", arg, 0600);
    return append("y", old, out, why);
}

START_TEST(what_an_editor_wrote_meanwhile_is_not_lost)
{
    put("a", "x", 0600);
    ck_assert_int_eq(mp_file_update(at("a"), 0600, edit_meanwhile, "edited", &err),
                     MCPLUG_EIO);
    says(at("a"), ": another program has changed it meanwhile");
    holds("a", "edited");
    unlink(at("a"));
    ck_assert_int_eq(mp_file_update(at("a"), 0600, edit_meanwhile, "made", &err),
                     MCPLUG_EIO);
    holds("a", "made");
    ck_assert_uint_eq(count("."), 1);
}
END_TEST

/* ---- what killed writers left ---- */

START_TEST(left_temporary_files_are_removed_and_others_are_not)
{
    static const char *const kept[] = {".a.mcplug-",
                                       ".a.mcplug-0123456789abcde",
                                       ".a.mcplug-0123456789abcdefg",
                                       ".a.mcplug-notes.md",
                                       ".a.mcplug-0123456789ABCDEF",
                                       ".b.mcplug-0123456789abcdef",
                                       "a.mcplug-0123",
                                       ".aa.mcplug-0123456789abcdef",
                                       "b"};
    size_t n = sizeof kept / sizeof kept[0];

    put("a", "x", 0600);
    for (size_t i = 0; i < n; i++)
        put(kept[i], "mine", 0600);
    put(".a.mcplug-0123456789abcdef", "left", 0000);
    put(".a.mcplug-0000000000000000", "left", 0600);
    ck_assert_int_eq(symlink("b", at(".a.mcplug-1111111111111111")), 0);
    ck_assert_int_eq(mkdir(at(".a.mcplug-2222222222222222"), 0700), 0);
    adds("a", "");
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(is_there(kept[i]), "%s", kept[i]);
    ck_assert(!is_there(".a.mcplug-0123456789abcdef"));
    ck_assert(!is_there(".a.mcplug-0000000000000000"));
    ck_assert(is_there(".a.mcplug-1111111111111111"));
    ck_assert(is_there(".a.mcplug-2222222222222222"));
    ck_assert_uint_eq(count("."), n + 3);
}
END_TEST

START_TEST(a_name_of_any_length_has_room_for_a_temporary_one)
{
    char name[256], left[256];
    memset(name, 'n', sizeof name);
    name[255] = '\0';
    adds(name, "x");
    holds(name, "x");
    snprintf(left, sizeof left, ".%.*s.mcplug-0123456789abcdef", MP_FILE_NAME_KEPT, name);
    put(left, "left", 0600);
    adds(name, "y");
    holds(name, "xy");
    ck_assert_uint_eq(count("."), 1);
}
END_TEST

/* ---- descriptors ---- */

static int count_fds(void *arg, const struct mp_file *old, struct mp_str *out,
                     struct mcplug_error *why)
{
    (void)old, (void)out, (void)why;
    for (int fd = 3; fd < 64; fd++) {
        int flags = fcntl(fd, F_GETFD);
        *(int *)arg += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    return MCPLUG_OK;
}

START_TEST(no_descriptor_is_left_open_or_passed_on)
{
    int before = 0, within = 0;
    count_fds(&before, NULL, NULL, NULL);
    int first = open("/", O_RDONLY);
    close(first);
    ck_assert_int_eq(symlink("real", at("link")), 0);
    adds("link", "x");
    ck_assert_int_eq(mp_file_update(at("link"), 0600, count_fds, &within, &err),
                     MCPLUG_OK);
    ck_assert_int_eq(add_to("none/../link/x", "x"), MCPLUG_EIO);
    int again = open("/", O_RDONLY);
    close(again);
    ck_assert_int_eq(again, first);
    ck_assert_int_eq(within, before);
}
END_TEST

/* ---- whose it is ---- */

START_TEST(a_file_that_is_exchanged_while_it_is_read_is_never_a_strangers)
{
    uid_t other = somebody_else();
    struct mp_file file;
    int seen[3] = {0};

    if (geteuid() != 0) {
        printf("skipped: only root can make somebody else's files\n");
        return;
    }
    put("mine", "mine", 0644);
    put("theirs", "theirs", 0644);
    ck_assert_int_eq(chown(at("theirs"), other, other), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    for (unsigned i = 0; pid == 0; i++) {
        unlink(at("next"));
        if (i % 3 == 2 ? symlink(at("theirs"), at("next")) != 0
                       : link(at(i % 3 ? "mine" : "theirs"), at("next")) != 0)
            _exit(1);
        if (rename(at("next"), at("file")) != 0)
            _exit(1);
    }
    for (int i = 0; i < 30000; i++) {
        memset(&err, 0, sizeof err);
        int r = mp_file_read_placed(at("file"), &file, &err);
        if (r == MCPLUG_OK && file.exists && !file.stranger) {
            ck_assert_str_eq(file.text.data, "mine");
            ck_assert_uint_eq(file.owners.file, 0);
        }
        seen[r != MCPLUG_OK || !file.exists ? 0 : file.stranger ? 1 : 2]++;
        ck_assert(!file.stranger || file.text.len == 0);
        mp_file_clear(&file);
    }
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    printf("%d failed, %d of a stranger, %d ours\n", seen[0], seen[1], seen[2]);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, a_file_that_is_exchanged_while_it_is_read_is_never_a_strangers);
    tcase_add_test(t, a_file_that_is_not_there_is_no_failure);
    tcase_add_test(t, a_file_is_read_whole_with_its_mode_and_through_links);
    tcase_add_test(t, what_is_no_regular_file_is_refused_without_waiting);
    tcase_add_test(t, a_file_of_the_limit_is_read_and_one_byte_more_is_not);
    tcase_add_test(t, a_file_that_may_not_be_read_is_said_so);
    tcase_add_test(t, a_long_path_does_not_hide_what_is_wrong);
    tcase_add_test(t, a_new_file_gets_its_mode_and_its_directories);
    tcase_add_test(t, a_path_without_a_directory_is_below_the_working_directory);
    tcase_add_test(t, a_directory_that_is_a_file_is_an_error);
    tcase_add_test(t, the_mode_is_kept);
    tcase_add_test(t, root_keeps_the_owner);
    tcase_add_test(t, a_group_that_cannot_be_kept_does_not_hand_its_rights_to_another);
    tcase_add_test(t, the_rights_of_an_access_list_do_not_become_those_of_the_group);
    tcase_add_test(t, unchanged_text_touches_nothing);
    tcase_add_test(t, a_change_that_fails_leaves_the_file);
    tcase_add_test(t, text_of_the_limit_is_written_and_one_byte_more_is_not);
    tcase_add_test(t, a_text_that_is_longer_than_the_process_may_write_leaves_the_file);
    tcase_add_test(t, a_file_that_may_not_be_written_is_not_replaced);
    tcase_add_test(t, a_directory_that_may_not_be_written_is_an_error);
    tcase_add_test(t, what_an_editor_wrote_meanwhile_is_not_lost);
    tcase_add_test(t, left_temporary_files_are_removed_and_others_are_not);
    tcase_add_test(t, a_name_of_any_length_has_room_for_a_temporary_one);
    tcase_add_test(t, no_descriptor_is_left_open_or_passed_on);
}

int main(void)
{
    return run_suite("config_file", add);
}
