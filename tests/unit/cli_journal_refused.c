/* What cannot be written, and what others may have a hand in. */
#include "journal_kit.h"

#include <signal.h>
#include <sys/resource.h>

START_TEST(what_goes_wrong_is_warned_of_once_for_all)
{
    struct rlimit limit;

    listen_to_warnings();
    use(generous);
    tell("fits");
    struct cli_journal *other = cli_journal_open(&paths, "other");
    cli_journal_event(other, MCPLUG_LOG_ERROR, "fits");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = (rlim_t)look("told").st_size + 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 200; i++) { /* as on a disk that is full */
        tell("a line of some length, written again and again");
        cli_journal_event(other, MCPLUG_LOG_ERROR, "and another one, written as often");
    }
    warned("s.log: cannot be written: ", 1);
    ck_assert_int_eq(look(LOG).st_size, 4096);
    cli_journal_close(other);
}
END_TEST

START_TEST(links_are_not_followed)
{
    listen_to_warnings();
    make_dir();
    put("victim", "mine\n", 0600);
    ck_assert_int_eq(symlink(at("victim"), at(LOG)), 0);
    use(generous);
    tell("x");
    holds("victim", "mine\n");
    warned("s.log: is a link; nothing more is stored there", 1);

    int fd;
    ck_assert_int_eq(cli_journal_look(&paths, "s", false, &fd, &err), MCPLUG_EREFUSED);
    ck_assert_int_eq(fd, -1);
    ck_assert_ptr_nonnull(strstr(err.text, "s.log: is a link"));
}
END_TEST

START_TEST(a_link_as_the_older_file_is_replaced_and_what_it_names_is_not)
{
    struct cli_journal_limits limits = generous;

    make_dir();
    put("victim", "mine\n", 0600);
    ck_assert_int_eq(symlink(at("victim"), at(OLDER)), 0);
    limits.file = CLI_JOURNAL_LINE;
    use(limits);
    for (int i = 0; i < 100; i++)
        tell("a line of some length, written again and again");
    holds("victim", "mine\n");
    ck_assert(S_ISREG(look(OLDER).st_mode));
}
END_TEST

START_TEST(a_directory_that_is_a_link_is_not_used)
{
    listen_to_warnings();
    ck_assert_int_eq(mkdir(at("state"), 0700), 0);
    ck_assert_int_eq(mkdir(at("state/mcplug"), 0700), 0);
    ck_assert_int_eq(mkdir(at("elsewhere"), 0700), 0);
    ck_assert_int_eq(symlink(at("elsewhere"), at("state/mcplug/logs")), 0);
    use(generous);
    tell("x");
    ck_assert_uint_eq(count("elsewhere"), 0);
    warned("logs: is a symbolic link or not a directory", 1);
    put("elsewhere/s.log", "x\n", 0600);
    cli_journal_remove(&paths, "s");
    ck_assert(is_there("elsewhere/s.log"));
}
END_TEST

START_TEST(what_others_can_write_is_not_used)
{
    int fd;

    listen_to_warnings();
    make_dir();
    put(LOG, "", 0622);
    use(generous);
    tell("x");
    ck_assert_int_eq(look(LOG).st_size, 0);
    warned("s.log: is writable by other users", 1);
    ck_assert_int_eq(chmod(at(LOG), 0644), 0); /* reading is what we can end */
    use(generous);
    tell("x");
    ck_assert_int_eq(look(LOG).st_mode & 07777, 0600);
    ck_assert_int_eq(chmod(at("state/mcplug/logs"), 0777), 0);
    use(generous);
    tell("x");
    ck_assert_uint_eq(lines_of(LOG), 1);
    ck_assert_int_eq(cli_journal_look(&paths, "s", false, &fd, &err), MCPLUG_EREFUSED);
}
END_TEST

START_TEST(what_belongs_to_others_is_not_used)
{
    int fd;

    if (getuid() != 0)
        return; /* nobody else gives files away */
    listen_to_warnings();
    make_dir();
    put(LOG, "", 0600);
    ck_assert_int_eq(chown(at(LOG), NOBODY, NOBODY), 0);
    use(generous);
    tell("x");
    ck_assert_int_eq(look(LOG).st_size, 0);
    warned("s.log: belongs to another user", 1);
    ck_assert_int_eq(cli_journal_look(&paths, "s", false, &fd, &err), MCPLUG_EREFUSED);
    ck_assert_int_eq(unlink(at(LOG)), 0);
    ck_assert_int_eq(chown(at("state/mcplug/logs"), NOBODY, NOBODY), 0);
    use(generous);
    tell("x");
    ck_assert(!is_there(LOG));
}
END_TEST

START_TEST(pipes_and_directories_are_no_files)
{
    int fd;

    listen_to_warnings();
    make_dir();
    ck_assert_int_eq(mkfifo(at(LOG), 0600), 0);
    use(generous);
    tell("x");
    warned("s.log: is not a regular file", 1);
    ck_assert_int_eq(cli_journal_look(&paths, "s", false, &fd, &err), MCPLUG_EREFUSED);
    ck_assert_int_eq(unlink(at(LOG)), 0);
    ck_assert_int_eq(mkdir(at(LOG), 0700), 0);
    use(generous);
    tell("x");
    ck_assert_uint_eq(count(LOG), 0);
}
END_TEST

START_TEST(a_file_that_cannot_be_rotated_does_not_grow)
{
    struct cli_journal_limits limits = generous;

    listen_to_warnings();
    make_dir();
    ck_assert_int_eq(mkdir(at(OLDER), 0700), 0);
    limits.file = CLI_JOURNAL_LINE;
    use(limits);
    for (int i = 0; i < 1000; i++)
        tell("a line of some length, written again and again");
    ck_assert_int_le(look(LOG).st_size, CLI_JOURNAL_LINE);
    warned("s.log.1: cannot be replaced: ", 1);
}
END_TEST

static void write_where_nobody_may(void)
{
    use(generous);
    tell("x");
    MUST(!is_there(LOG));
    cli_journal_close(journal);
    journal = NULL;
}

START_TEST(a_place_that_is_closed_to_us_is_no_news)
{
    listen_to_warnings();
    ck_assert_int_eq(mkdir(at("state"), 0555), 0);
    ck_assert_int_eq(chmod(at("told"), 0666), 0);
    as_nobody(write_where_nobody_may);
    ck_assert_int_eq(rmdir(at("state")), 0);
    put("state", "", 0600); /* a file where a directory should be */
    use(generous);
    tell("x");
    warned(NULL, 0);
}
END_TEST

/* ---- reading ---- */

START_TEST(what_is_not_there_is_no_failure)
{
    int fd = 7;
    ck_assert_int_eq(cli_journal_look(&paths, "s", false, &fd, &err), MCPLUG_OK);
    ck_assert_int_eq(fd, -1);
    make_dir();
    ck_assert_int_eq(cli_journal_look(&paths, "s", true, &fd, &err), MCPLUG_OK);
    ck_assert_int_eq(fd, -1);
    put("state/mcplug/secret.log", "x", 0600);
    ck_assert_int_eq(cli_journal_look(&paths, "../secret", true, &fd, &err), MCPLUG_OK);
    ck_assert_int_eq(fd, -1);
    use(generous);
    tell("x");
    ck_assert_int_eq(cli_journal_look(&paths, "s", false, &fd, &err), MCPLUG_OK);
    ck_assert_int_ge(fd, 0);
    close(fd);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, what_goes_wrong_is_warned_of_once_for_all);
    tcase_add_test(t, links_are_not_followed);
    tcase_add_test(t, a_link_as_the_older_file_is_replaced_and_what_it_names_is_not);
    tcase_add_test(t, a_directory_that_is_a_link_is_not_used);
    tcase_add_test(t, what_others_can_write_is_not_used);
    tcase_add_test(t, what_belongs_to_others_is_not_used);
    tcase_add_test(t, pipes_and_directories_are_no_files);
    tcase_add_test(t, a_file_that_cannot_be_rotated_does_not_grow);
    tcase_add_test(t, a_place_that_is_closed_to_us_is_no_news);
    tcase_add_test(t, what_is_not_there_is_no_failure);
}

int main(void)
{
    return run_suite("cli_journal_refused", add);
}
