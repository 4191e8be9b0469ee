/* The history of lines, in a file that several programs add to. */
#include "cli/base/history.h"

#include "base/mem.h"
#include "file_kit.h"
#include "quick.h"

#define FILE_NAME "state/mcplug/run/history"

static struct mcplug_paths paths;
static struct cli_line_edit e;
static char state[300];

static void begin(void)
{
    set_up();
    snprintf(state, sizeof state, "%s/state/mcplug", top);
    paths.state = state;
    cli_line_edit_init(&e, "> ");
}

static void end(void)
{
    cli_line_edit_clear(&e);
    tear_down();
}

/* All of them, with a | behind each. */
static const char *read_back(void)
{
    static char text[4096];
    size_t n = 0;

    cli_line_edit_clear(&e);
    cli_history_read(&paths, &e);
    text[0] = '\0';
    for (size_t i = 0; i < e.n_history && n < sizeof text - 1; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s|", e.history[i]);
    return text;
}

static void make_dir(void)
{
    ck_assert_int_eq(mkdir(at("state"), 0700), 0);
    ck_assert_int_eq(mkdir(at("state/mcplug"), 0700), 0);
    ck_assert_int_eq(mkdir(at("state/mcplug/run"), 0700), 0);
}

START_TEST(lines_are_read_back_as_they_were_typed)
{
    struct stat st;

    ck_assert_str_eq(read_back(), "");
    ck_assert_int_ne(stat(at("state"), &st), 0); /* reading makes nothing */
    cli_history_add(&paths, "one");
    cli_history_add(&paths, "two\nlines \"\\\t\xc3\xa4");
    ck_assert_str_eq(read_back(), "one|two\nlines \"\\\t\xc3\xa4|");
    ck_assert_int_eq(stat(at(FILE_NAME), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    ck_assert_int_eq(stat(at("state/mcplug/run"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0700);
}
END_TEST

START_TEST(what_is_no_line_is_passed_over)
{
    make_dir();
    put(FILE_NAME, "\"a\"\n\nnonsense\n{\"a\":1}\n[\"x\"]\n\"b\"\n\"torn", 0600);
    ck_assert_str_eq(read_back(), "a|b|");
    cli_history_add(&paths, "c");
    ck_assert_str_eq(read_back(), "a|b|c|");
}
END_TEST

START_TEST(files_of_others_are_not_used)
{
    make_dir();
    put(FILE_NAME, "\"a\"\n", 0622);
    ck_assert_int_eq(chmod(at(FILE_NAME), 0622), 0);
    ck_assert_str_eq(read_back(), "");
    cli_history_add(&paths, "b");
    ck_assert_int_eq(unlink(at(FILE_NAME)), 0);
    ck_assert_int_eq(symlink("elsewhere", at(FILE_NAME)), 0);
    cli_history_add(&paths, "b");
    ck_assert_str_eq(read_back(), "");
    ck_assert_int_ne(access(at("state/mcplug/run/elsewhere"), F_OK), 0);
    paths.state = NULL; /* no place is known */
    cli_history_add(&paths, "b");
    ck_assert_str_eq(read_back(), "");
}
END_TEST

START_TEST(the_file_is_bounded_and_keeps_what_is_new)
{
    static char text[CLI_HISTORY_LINE + 2];
    struct stat st;

    for (int i = 0; i < 40; i++) {
        memset(text, 'a' + i % 26, CLI_HISTORY_LINE);
        snprintf(text, 8, "%06d", i);
        text[6] = '.';
        cli_history_add(&paths, text);
        ck_assert_int_eq(stat(at(FILE_NAME), &st), 0);
        ck_assert_int_le(st.st_size, CLI_HISTORY_FILE + CLI_HISTORY_LINE + 3);
    }
    memset(text, 'x', CLI_HISTORY_LINE + 1); /* one more than is kept */
    cli_history_add(&paths, text);
    read_back();
    ck_assert_uint_gt(e.n_history, 4);
    for (size_t i = 0; i < e.n_history; i++)
        ck_assert_int_eq(atoi(e.history[i]), (int)(40 - e.n_history + i));
    ck_assert_int_ne(access(at(FILE_NAME ".new"), F_OK), 0);
}
END_TEST

/* Lines are whole and in the order of each, though the file is replaced meanwhile. */
START_TEST(two_programs_add_to_it)
{
    enum { WRITERS = 4, LINES = 60 };
    static char text[2 * CLI_HISTORY_FILE / WRITERS / LINES];
    int next[WRITERS] = {0}, n = 0;

    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            for (int i = 0; i < LINES; i++) {
                memset(text, '.', sizeof text - 1);
                n = snprintf(text, sizeof text, "%d %d ", w, i);
                text[n] = '.';
                cli_history_add(&paths, text);
            }
            _exit(0);
        }
    for (int status; wait(&status) > 0;)
        ck_assert_int_eq(status, 0);
    read_back();
    ck_assert_uint_gt(e.n_history, 20);
    for (size_t i = 0; i < e.n_history; i++) {
        int w, k;
        ck_assert_int_eq(sscanf(e.history[i], "%d %d", &w, &k), 2);
        ck_assert_int_ge(k, next[w]);
        next[w] = k + 1;
        ck_assert_uint_eq(strlen(e.history[i]), sizeof text - 1);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli_history");
    TCase *tc = tcase_create("cli_history");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, lines_are_read_back_as_they_were_typed);
    tcase_add_test(tc, what_is_no_line_is_passed_over);
    tcase_add_test(tc, files_of_others_are_not_used);
    tcase_add_test(tc, the_file_is_bounded_and_keeps_what_is_new);
    tcase_add_test(tc, two_programs_add_to_it);
    suite_add_tcase(s, tc);
    return run_to_end(s);
}
