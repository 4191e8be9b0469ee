#include "journal_kit.h"

#include "base/error.h"
#include "base/event.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

/* ---- lines ---- */

START_TEST(a_line_has_its_time_level_and_kind_and_is_there_at_once)
{
    journal = cli_journal_open(&paths, "s");
    ck_assert(!is_there("state"));
    tell("hello");
    reads(LOG, "VRB stderr hello\n");
    cli_journal_event(journal, MCPLUG_LOG_ERROR, "gone");
    cli_journal_event(journal, MCPLUG_LOG_WARN, "");
    cli_journal_event(journal, 99, "odd");
    reads(LOG, "VRB stderr hello\nERR event gone\nWRN event \nTRC event odd\n");
    ck_assert_int_eq(look(LOG).st_mode & 07777, 0600);
    ck_assert_int_eq(look("state/mcplug/logs").st_mode & 07777, 0700);
    ck_assert_int_eq(look("state").st_mode & 07777, 0700);
}
END_TEST

START_TEST(a_line_outlives_the_death_of_its_writer)
{
    pid_t pid = fork();
    if (pid == 0) {
        journal = cli_journal_open(&paths, "s");
        tell("last words");
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    reads(LOG, "VRB stderr last words\n");
}
END_TEST

START_TEST(what_could_deceive_is_escaped)
{
    use(generous);
    tell("a\033[2J\nERR event forged\r\xff\xe2\x80\xae");
    reads(LOG, "VRB stderr a\\x1b[2J\\x0aERR event forged\\x0d\\xff\\u{202e}\n");
}
END_TEST

START_TEST(a_long_line_is_cut_to_its_limit)
{
    static char text[3 * CLI_JOURNAL_LINE + 1];
    static const size_t room = CLI_JOURNAL_LINE - HEAD_LEN - 4;

    use(generous);
    memset(text, 'x', sizeof text - 1);
    tell(text);
    ck_assert_int_eq(look(LOG).st_size, CLI_JOURNAL_LINE);
    text[room] = '\0'; /* as much as fits, and one more */
    tell(text);
    ck_assert_int_eq(look(LOG).st_size, CLI_JOURNAL_LINE * 2 - 3);
    text[room] = 'x';
    text[room + 1] = '\0';
    tell(text);
    ck_assert_int_eq(look(LOG).st_size, CLI_JOURNAL_LINE * 3 - 3);
    memset(text, '\033', sizeof text - 1); /* four bytes each */
    tell(text);
    ck_assert_int_le(look(LOG).st_size, CLI_JOURNAL_LINE * 4 - 3);
    ck_assert_uint_eq(lines_of(LOG), 4);
}
END_TEST

static void take(enum mp_event_kind kind, int level, const char *text)
{
    struct mp_event inner = {.kind = kind, .level = level, .source = "mcp:s"};
    struct mcplug_activity event = {.struct_size = sizeof event,
                                    .kind = MP_EVENT_BIT(kind),
                                    .level = level,
                                    .text = text,
                                    .len = strlen(text),
                                    .inner = &inner};

    if (kind == MP_EVENT_FRAME) {
        inner.frame.text = text;
        inner.frame.len = strlen(text);
    } else if (kind == MP_EVENT_DROPPED) {
        static struct mcplug_error why = MCPLUG_ERROR_INIT;
        mp_fail(&why, MCPLUG_ECLOSED, "%s", text);
        inner.dropped.why = &why;
        inner.dropped.transport = "stdio";
    } else {
        inner.text.data = text;
        inner.text.len = strlen(text);
    }
    cli_journal_take(journal, &event);
}

START_TEST(events_are_kept_with_their_lines_and_remarks_as_stderr)
{
    use(generous);
    take(MP_EVENT_LINE, MCPLUG_LOG_ERROR, "connection failed: x");
    take(MP_EVENT_LINE, MCPLUG_LOG_VERBOSE, "stderr: no remark");
    take(MP_EVENT_REMARK, MCPLUG_LOG_VERBOSE, "bye");
    take(MP_EVENT_FRAME, MCPLUG_LOG_TRACE, "{}");
    take(MP_EVENT_LOGGED, MCPLUG_LOG_VERBOSE, "{}"); /* it has no line */
    take(MP_EVENT_DROPPED, MCPLUG_LOG_ERROR, "gone");
    reads(LOG, "ERR event connection failed: x\nVRB event stderr: no remark\n"
               "VRB stderr bye\nERR event STDIO connection dropped after 0s uptime\n"
               "ERR event gone\n");
}
END_TEST

START_TEST(an_unfinished_line_does_not_swallow_the_next_one)
{
    make_dir();
    put(LOG, "2026-11-16T15:04:05.123Z VRB stderr torn", 0600);
    use(generous);
    tell("whole");
    reads(LOG, "VRB stderr torn\nVRB stderr whole\n");
}
END_TEST

START_TEST(nothing_is_kept_where_nobody_wants_it_or_there_is_no_place)
{
    static const char *const names[] = {"", "..", "a/b", "a.b", "a b", "../s"};

    for (size_t i = 0; i < MP_COUNT(names); i++)
        ck_assert_ptr_null(cli_journal_open(&paths, names[i]));
    setenv(CLI_JOURNAL_OFF, "0", 1);
    ck_assert_ptr_null(cli_journal_open(&paths, "s"));
    setenv(CLI_JOURNAL_OFF, "1", 1);
    use(generous);
    paths.state = NULL;
    ck_assert_ptr_null(cli_journal_open(&paths, "s"));
    cli_journal_event(NULL, MCPLUG_LOG_ERROR, "x");
    cli_journal_take(NULL, &(struct mcplug_activity){.struct_size = 0});
    cli_journal_remove(&paths, "s");
    cli_journal_close(NULL);
    ck_assert(!is_there("state"));
}
END_TEST

/* ---- how much ---- */

START_TEST(a_file_that_is_full_becomes_the_older_one)
{
    struct cli_journal_limits limits = generous;
    char text[101];

    limits.file = CLI_JOURNAL_LINE;
    use(limits);
    memset(text, 'x', 100);
    text[100] = '\0';
    size_t fit = CLI_JOURNAL_LINE / (HEAD_LEN + 101);
    for (size_t i = 0; i < fit; i++)
        tell(text);
    ck_assert(!is_there(OLDER));
    tell(text);
    ck_assert_uint_eq(lines_of(OLDER), fit);
    ck_assert_uint_eq(lines_of(LOG), 1);
    for (size_t i = 0; i < fit * 10; i++) {
        tell(text);
        HOLDS(look(LOG).st_size <= CLI_JOURNAL_LINE, "the file is too long");
        HOLDS(look(OLDER).st_size <= CLI_JOURNAL_LINE, "the older one is too long");
    }
    tell("the very last");
    char *newest = text_of(LOG);
    ck_assert_ptr_nonnull(strstr(newest, "VRB stderr the very last\n"));
    mp_free(newest);
    ck_assert_uint_eq(count("state/mcplug/logs"), 2);
}
END_TEST

/* The lines that are read, without their times and kinds, and a | behind each. */
static const char *tail(size_t max)
{
    static char got[CLI_JOURNAL_LINE * 2];
    struct mp_str text;

    got[0] = '\0';
    mp_str_init(&text, max + 1);
    cli_journal_tail(&paths, "s", max, &text);
    ck_assert(!text.failed && text.len <= max);
    for (const char *line = text.data; line && *line; line = strchr(line, '\n') + 1) {
        size_t len = strcspn(line, "\n");
        ck_assert_msg(len > HEAD_LEN && line[len], "%s", line);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s|",
                 (int)(len - HEAD_LEN), line + HEAD_LEN);
    }
    mp_str_clear(&text);
    return got;
}

START_TEST(the_last_lines_are_read_whole_also_of_the_older_file)
{
    ck_assert_str_eq(tail(1000), "");
    use(generous);
    tell("one");
    tell("two");
    ck_assert_str_eq(tail(1000), "one|two|");
    ck_assert_str_eq(tail(HEAD_LEN * 2 + 8), "one|two|");
    ck_assert_str_eq(tail(HEAD_LEN * 2 + 7), "two|");
    ck_assert_str_eq(tail(HEAD_LEN), "");
    ck_assert_int_eq(rename(at(LOG), at(OLDER)), 0);
    ck_assert_str_eq(tail(1000), "one|two|"); /* another is in the middle of it */
    tell("three");
    ck_assert_str_eq(tail(1000), "one|two|three|");
    ck_assert_str_eq(tail(HEAD_LEN * 2 + 12), "two|three|");
    ck_assert_str_eq(tail(HEAD_LEN + 6), "three|");
    ck_assert_int_eq(chmod(at(LOG), 0666), 0); /* others could have written it */
    ck_assert_str_eq(tail(1000), "");
}
END_TEST

START_TEST(a_flood_is_cut_off_and_counted)
{
    struct cli_journal_limits limits = generous;

    limits.lines = 3;
    use(limits);
    for (int i = 0; i < 10; i++)
        tell("x");
    cli_journal_event(journal, MCPLUG_LOG_ERROR, "died of it"); /* is not left out */
    reads(LOG, "VRB stderr x\nVRB stderr x\nVRB stderr x\nERR event died of it\n");
    end();
    reads(LOG, "VRB stderr x\nVRB stderr x\nVRB stderr x\nERR event died of it\n"
               "WRN stderr 7 lines omitted\n");
}
END_TEST

START_TEST(bytes_count_as_well_as_lines)
{
    static char text[1001];
    struct cli_journal_limits limits = generous;

    memset(text, 'x', 1000);
    limits.bytes = 2500;
    use(limits);
    for (int i = 0; i < 3; i++)
        tell(text);
    tell("short, but behind one that was left out");
    end();
    char *kept = text_of(LOG);
    ck_assert_uint_eq(lines_of(LOG), 3);
    ck_assert_ptr_nonnull(strstr(kept, " WRN stderr 2 lines omitted\n"));
    ck_assert_ptr_null(strstr(kept, "short"));
    mp_free(kept);
}
END_TEST

static uint64_t clock_ms;

static uint64_t read_clock(void)
{
    return clock_ms;
}

START_TEST(after_a_while_lines_are_kept_again)
{
    struct cli_journal_limits limits = generous;

    limits.lines = 1;
    limits.window_ms = 10000;
    limits.now = read_clock;
    clock_ms = 5;
    use(limits);
    tell("a");
    clock_ms += 9999;
    tell("b");
    clock_ms += 1;
    tell("c");
    reads(LOG, "VRB stderr a\nWRN stderr 1 line omitted\nVRB stderr c\n");
    tell("d");
    clock_ms += 1000000;
    tell("e");
    end();
    reads(LOG, "VRB stderr a\nWRN stderr 1 line omitted\nVRB stderr c\n"
               "WRN stderr 1 line omitted\nVRB stderr e\n");
}
END_TEST

START_TEST(a_limit_of_the_user_for_files_does_not_end_the_program)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 65536;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    use(generous);
    for (int i = 0; i < 5000; i++)
        tell("a line of some length, written again and again");
    ck_assert_int_le(look(LOG).st_size, 65536 / 4);
    end();
    limit.rlim_cur = 8192; /* no use */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_ptr_null(cli_journal_open(&paths, "s"));
}
END_TEST

/* ---- several writers ---- */

static void write_as(int writer, int lines, uint64_t file_max)
{
    struct cli_journal_limits limits = generous;
    char text[64];

    limits.file = file_max;
    journal = cli_journal_open_with(&paths, "s", &limits);
    for (int i = 0; i < lines; i++) {
        snprintf(text, sizeof text, "writer %d line %d of a common file", writer, i);
        tell(text);
    }
    cli_journal_close(journal);
    _exit(0);
}

static void write_together(int writers, int lines, uint64_t file_max)
{
    int status;
    for (int i = 0; i < writers; i++)
        if (fork() == 0)
            write_as(i, lines, file_max);
    for (int i = 0; i < writers; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
}

/* Counts the lines of each writer; all are whole, and each writer's in their order. */
static void count_lines(const char *name, int *next, int *n)
{
    char *text = text_of(name);
    for (char *p = text, *newline; *p; p = newline + 1) {
        int writer, line, end = 0;
        newline = strchr(p, '\n');
        HOLDS(newline != NULL, "a line without an end");
        *newline = '\0';
        HOLDS(sscanf(p + HEAD_LEN, "writer %d line %d of a common file%n", &writer, &line,
                     &end) == 2 &&
                  end > 0 && !p[HEAD_LEN + (size_t)end],
              "%s", p);
        HOLDS(line >= next[writer], "%s", p);
        next[writer] = line + 1;
        ++*n;
    }
    mp_free(text);
}

START_TEST(two_processes_lose_nothing_across_a_rotation)
{
    int next[2] = {0}, n = 0;

    write_together(2, 1000, 100000); /* 2000 lines of about 70 bytes */
    ck_assert(is_there(OLDER));
    count_lines(OLDER, next, &n);
    count_lines(LOG, next, &n);
    ck_assert_int_eq(n, 2000);
    ck_assert_uint_eq(count("state/mcplug/logs"), 2);
}
END_TEST

START_TEST(many_processes_and_rotations_keep_two_files_of_whole_lines)
{
    int next[4] = {0}, n = 0;

    write_together(4, 2000, CLI_JOURNAL_LINE * 2);
    count_lines(OLDER, next, &n);
    memset(next, 0, sizeof next);
    count_lines(LOG, next, &n);
    ck_assert_uint_eq(count("state/mcplug/logs"), 2);
    ck_assert_int_le(look(OLDER).st_size, CLI_JOURNAL_LINE * 3);
    ck_assert_int_le(look(LOG).st_size, CLI_JOURNAL_LINE * 3);
    ck_assert_int_gt(n, 50);
}
END_TEST

START_TEST(a_lock_that_is_never_given_back_stops_the_growth_but_not_us)
{
    struct cli_journal_limits limits = generous;

    limits.file = CLI_JOURNAL_LINE;
    use(limits);
    tell("x");
    int fd = open(at(LOG), O_RDONLY);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    for (int i = 0; i < 1000; i++)
        tell("a line of some length, written again and again");
    ck_assert(!is_there(OLDER));
    ck_assert_int_le(look(LOG).st_size, CLI_JOURNAL_LINE * 2);
    ck_assert_int_gt(look(LOG).st_size, CLI_JOURNAL_LINE);
    close(fd);
    tell("free again");
    ck_assert(is_there(OLDER));
    reads(LOG, "VRB stderr free again\n");
}
END_TEST

START_TEST(after_a_removal_there_is_a_new_file)
{
    use(generous);
    tell("old");
    put(OLDER, "x\n", 0600);
    cli_journal_remove(&paths, "s");
    ck_assert_uint_eq(count("state/mcplug/logs"), 0);
    tell("new");
    reads(LOG, "VRB stderr new\n");
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, a_line_has_its_time_level_and_kind_and_is_there_at_once);
    tcase_add_test(t, a_line_outlives_the_death_of_its_writer);
    tcase_add_test(t, what_could_deceive_is_escaped);
    tcase_add_test(t, a_long_line_is_cut_to_its_limit);
    tcase_add_test(t, events_are_kept_with_their_lines_and_remarks_as_stderr);
    tcase_add_test(t, an_unfinished_line_does_not_swallow_the_next_one);
    tcase_add_test(t, nothing_is_kept_where_nobody_wants_it_or_there_is_no_place);
    tcase_add_test(t, a_file_that_is_full_becomes_the_older_one);
    tcase_add_test(t, the_last_lines_are_read_whole_also_of_the_older_file);
    tcase_add_test(t, a_flood_is_cut_off_and_counted);
    tcase_add_test(t, bytes_count_as_well_as_lines);
    tcase_add_test(t, after_a_while_lines_are_kept_again);
    tcase_add_test(t, a_limit_of_the_user_for_files_does_not_end_the_program);
    tcase_add_test(t, two_processes_lose_nothing_across_a_rotation);
    tcase_add_test(t, many_processes_and_rotations_keep_two_files_of_whole_lines);
    tcase_add_test(t, a_lock_that_is_never_given_back_stops_the_growth_but_not_us);
    tcase_add_test(t, after_a_removal_there_is_a_new_file);
}

int main(void)
{
    return run_suite("cli_journal", add);
}
