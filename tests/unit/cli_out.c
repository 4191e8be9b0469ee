#include "cli/base/content.h"
#include "cli/base/out.h"
#include "cli/base/progress.h"

#include "base/buf.h"
#include "base/mem.h"
#include "rpc/message.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cli_out out;
static int reader;

static void setup(void)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    reader = fds[0];
    cli_out_init(&out, fds[1]);
}

static void teardown(void)
{
    close(reader);
    if (!out.closed)
        close(out.fd);
}

static const char *written(void)
{
    static char text[8192];
    bool terminal = out.terminal;
    out.terminal = false; /* so that it is really closed */
    cli_out_close(&out);
    out.terminal = terminal;
    ssize_t n = read(reader, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

START_TEST(text_goes_through_a_pipe_byte_for_byte)
{
    cli_out_text(&out, "a\033[2J\xff\n", 7);
    cli_out_text_end(&out);
    ck_assert_str_eq(written(), "a\033[2J\xff\n");
}
END_TEST

/* Nobody reads yet: without more room this would wait for ever. */
START_TEST(a_long_text_gets_a_wider_pipe)
{
    static char text[4 * CLI_OUT_BUFFER];
    int before = fcntl(reader, F_GETPIPE_SZ);

    ck_assert_int_lt(before, (int)sizeof text);
    memset(text, 'x', sizeof text);
    cli_out_text(&out, text, 10);
    cli_out_flush(&out);
    ck_assert_int_eq(fcntl(reader, F_GETPIPE_SZ), before);
    cli_out_text(&out, text, sizeof text);
    cli_out_flush(&out);
    ck_assert_int_gt(fcntl(reader, F_GETPIPE_SZ), (int)sizeof text);
    ck_assert_int_eq(out.failed, 0);
}
END_TEST

START_TEST(text_on_a_terminal_is_escaped_but_for_line_ends)
{
    out.terminal = true;
    cli_out_text(&out, "a\033[2J\tb\n\xff", 9);
    cli_out_text_end(&out);
    ck_assert_str_eq(written(), "a\\x1b[2J\tb\n\\xff");
}
END_TEST

START_TEST(a_character_may_lie_across_pieces)
{
    const char *word = "\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x80\xae";
    out.terminal = true;
    for (size_t i = 0; word[i]; i++)
        cli_out_text(&out, word + i, 1);
    cli_out_text(&out, "\xe2\x82", 2); /* and this one never ends */
    cli_out_text_end(&out);
    ck_assert_str_eq(written(), "\xe2\x82\xac\xf0\x9f\x98\x80\\u{202e}\\xe2\\x82");
}
END_TEST

START_TEST(words_of_others_are_always_escaped_on_lines_for_people)
{
    cli_out_shown(&out, "a\nb\033", 4);
    ck_assert_str_eq(written(), "a\\x0ab\\x1b");
}
END_TEST

START_TEST(paragraphs_are_broken_at_spaces_to_fit)
{
    static const char text[] = "one two three four five six seven eight\n\nnine";
    out.width = 24;
    cli_out_wrapped(&out, text, sizeof text - 1, 4, 0);
    ck_assert_str_eq(written(), "    one two three four\n    five six seven eight\n\n"
                                "    nine\n");
}
END_TEST

START_TEST(a_long_word_is_not_torn)
{
    static const char text[] = "a https://example.org/a/very/long/address b";
    out.width = 30;
    cli_out_wrapped(&out, text, sizeof text - 1, 2, 0);
    ck_assert_str_eq(written(), "  a\n  https://example.org/a/very/long/address\n  b\n");
}
END_TEST

START_TEST(without_a_terminal_lines_are_not_broken)
{
    static const char text[] = "one two three four five six seven eight nine ten eleven";
    cli_out_wrapped(&out, text, sizeof text - 1, 2, 0);
    ck_assert_str_eq(written() + 2,
                     "one two three four five six seven eight nine ten eleven\n");
}
END_TEST

START_TEST(columns_are_counted_as_a_terminal_does)
{
    ck_assert_uint_eq(cli_columns("abc", 3), 3);
    ck_assert_uint_eq(cli_columns("\xe2\x82\xac", 3), 1);
    ck_assert_uint_eq(cli_columns("\xe4\xb8\xad\xe6\x96\x87", 6), 4);
    ck_assert_uint_eq(cli_columns("e\xcc\x81", 3), 1);
    ck_assert_uint_eq(cli_columns_fit("\xe4\xb8\xad\xe6\x96\x87", 6, 3), 3);
}
END_TEST

START_TEST(a_write_that_fails_is_remembered)
{
    close(reader);
    reader = dup(STDIN_FILENO);
    signal(SIGPIPE, SIG_IGN);
    cli_out_s(&out, "x");
    cli_out_flush(&out);
    ck_assert_int_eq(out.failed, EPIPE);
    cli_out_s(&out, "y");
    cli_out_flush(&out);
}
END_TEST

START_TEST(each_block_begins_on_a_line_of_its_own)
{
    static const char json[] =
        "[{\"type\":\"text\",\"text\":\"skipped\"},"
        "{\"type\":\"text\",\"text\":\"a\\n\"},{\"type\":\"text\",\"text\":\"b\"},"
        "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAEC\"},"
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"text\":\"t\"}},"
        "{\"type\":\"new\",\"n\":1}]";
    mp_message *result = mp_message_new(json, sizeof json - 1, NULL);
    struct cli_doc doc;

    mp_message_expose(result, (struct mp_span){0, sizeof json - 1});
    cli_doc_init(&doc, result);
    ck_assert_int_eq(cli_content_blocks(&doc, cli_doc_view(&doc), 1, &out), MCPLUG_OK);
    ck_assert_str_eq(written(), "a\nb\n[image/png, 3 bytes]\nResource: u\nt\n"
                                "{\"type\":\"new\",\"n\":1}");
    mp_message_unref(result);
}
END_TEST

/* ---- long strings, from the file they were spilled into ---- */

enum { LONG = 3000000, SHORT = 7 }; /* more than a pipe holds, at most */

/* Two blocks of text that were spilled, behind something of another message. */
static mp_message *spilled(void)
{
    static const char json[] = "[{\"type\":\"text\",\"text\":\"ab\"},"
                               "{\"type\":\"text\",\"text\":\"ab\"}]";
    const char *first = strstr(json, "\"ab\""), *second = strstr(first + 4, "\"ab\"");
    mp_message *m = mp_message_new(json, sizeof json - 1, NULL);
    char name[] = "/tmp/mcplug-out-XXXXXX";

    mp_message_expose(m, (struct mp_span){0, sizeof json - 1});
    m->spill_fd = mkstemp(name);
    unlink(name);
    m->spills = mp_alloc(2 * sizeof *m->spills);
    m->spills[0] = (struct mp_spilled){(size_t)(first - json), 4, 100, LONG};
    m->spills[1] = (struct mp_spilled){(size_t)(second - json), 4, 100 + LONG, SHORT};
    m->n_spills = 2;

    char *all = malloc(100 + LONG + SHORT);
    for (int i = 0; i < 100 + LONG + SHORT; i++)
        all[i] = (char)('a' + (i - 100) % 23);
    ck_assert_int_eq(write(m->spill_fd, all, 100 + LONG + SHORT), 100 + LONG + SHORT);
    free(all);
    return m;
}

/* Is that the text of both blocks, each on a line of its own? */
static bool is_spilled(int fd)
{
    static char got[LONG + SHORT + 100];
    size_t n = 0;
    ssize_t more = 1;

    while (more > 0) {
        more = read(fd, got + n, sizeof got - n);
        n += more > 0 ? (size_t)more : 0;
    }
    for (size_t i = 0; i < LONG; i++)
        if (got[i] != (char)('a' + i % 23))
            return false;
    for (size_t i = 0; i < SHORT; i++)
        if (got[LONG + 1 + i] != (char)('a' + (LONG + i) % 23))
            return false;
    return n == LONG + 1 + SHORT && got[LONG] == '\n';
}

static int put_spilled(void)
{
    mp_message *result = spilled();
    struct cli_doc doc;

    cli_doc_init(&doc, result);
    int r = cli_content_blocks(&doc, cli_doc_view(&doc), 0, &out);
    mp_message_unref(result);
    cli_out_close(&out);
    return r;
}

START_TEST(spilled_strings_pass_a_pipe_that_is_read_slowly)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        close(out.fd);
        _exit(is_spilled(reader) ? 0 : 1);
    }
    if (_i) /* as a terminal's program may leave it */
        fcntl(out.fd, F_SETFL, O_NONBLOCK);
    ck_assert_int_eq(put_spilled(), MCPLUG_OK);
    ck_assert_int_eq(out.failed, 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* The kernel moves nothing to the end of a file: then it is copied. */
START_TEST(spilled_strings_go_to_files)
{
    char name[] = "/tmp/mcplug-out-XXXXXX";
    int fd = mkstemp(name);

    if (_i)
        fcntl(fd, F_SETFL, O_APPEND);
    dup2(fd, out.fd);
    ck_assert_int_eq(put_spilled(), MCPLUG_OK);
    ck_assert_int_eq(out.failed, 0);
    lseek(fd, 0, SEEK_SET);
    ck_assert(is_spilled(fd));
    close(fd);
    unlink(name);
}
END_TEST

START_TEST(a_spilled_string_that_nobody_takes_is_a_failed_write)
{
    if (_i) {
        int full = open("/dev/full", O_WRONLY);
        dup2(full, out.fd);
        close(full);
    } else {
        signal(SIGPIPE, SIG_IGN);
        close(reader);
        reader = dup(STDIN_FILENO);
    }
    put_spilled();
    ck_assert_int_eq(out.failed, _i ? ENOSPC : EPIPE);
}
END_TEST

START_TEST(a_spilled_string_that_cannot_be_read_is_an_error)
{
    mp_message *result = spilled();
    struct cli_doc doc;

    ck_assert_int_eq(ftruncate(result->spill_fd, 100000), 0);
    cli_doc_init(&doc, result);
    ck_assert_int_eq(cli_content_blocks(&doc, cli_doc_view(&doc), 0, &out), MCPLUG_EIO);
    ck_assert_int_eq(out.failed, 0);
    mp_message_unref(result);
}
END_TEST

static void leave(int number)
{
    _exit(number);
}

/* The signal is blocked, as it is while a command runs. */
START_TEST(a_signal_gets_through_while_a_spilled_string_waits_for_its_reader)
{
    struct pollfd room = {.fd = out.fd, .events = POLLOUT};
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigprocmask(SIG_BLOCK, &set, NULL);
        signal(SIGINT, leave);
        put_spilled();
        _exit(99);
    }
    while (poll(&room, 1, 0) != 0) /* until the pipe is full */
        sched_yield();
    kill(pid, SIGINT);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), SIGINT);
}
END_TEST

START_TEST(json_is_laid_out_for_people)
{
    static const char json[] =
        "{\"a\":[1,\"x\",null],\"b\":{},\"c\":[],\"d\":[{\"e\":\"\\n\"}]}";
    struct cli_doc doc = {.json = json, .len = sizeof json - 1};
    ck_assert_int_eq(cli_doc_pretty(&doc, mp_text(json), 0, &out), MCPLUG_OK);
    ck_assert_str_eq(written(), "{\n  \"a\": [1, \"x\", null],\n  \"b\": {},\n"
                                "  \"c\": [],\n  \"d\": [\n    {\n      \"e\": \"\\n\"\n"
                                "    }\n  ]\n}");
}
END_TEST

START_TEST(json_hides_no_character_that_deceives)
{
    static const char json[] =
        "{\n\"a\": \"\xd8\x9c\xef\xbf\xb9\xc2\x85\xf3\xa0\x80\xa1\"}";
    cli_out_json(&out, json, sizeof json - 1);
    ck_assert_str_eq(written(), "{\n\"a\": \"\\u061c\\ufff9\\u0085\\udb40\\udc21\"}");
}
END_TEST

START_TEST(progress_reads_well)
{
    char text[128];
    struct cli_progress p = {.mode = CLI_PROGRESS_OFF};
    cli_progress_begin(&p, "Tool 'T'");
    cli_progress_text(&p, 30000, text, sizeof text);
    ck_assert_str_eq(text, "Tool 'T' still running (30s elapsed)");
    cli_progress_news(&p, 1, 4, "half a quarter");
    cli_progress_text(&p, 125000, text, sizeof text);
    ck_assert_str_eq(text, "half a quarter 25%, 2m 5s");
    cli_progress_news(&p, 17, -1, NULL);
    cli_progress_text(&p, 999, text, sizeof text);
    ck_assert_str_eq(text, "Tool 'T' 17, 0s");
    cli_progress_end(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_out");
    TCase *tc = tcase_create("out");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, text_goes_through_a_pipe_byte_for_byte);
    tcase_add_test(tc, a_long_text_gets_a_wider_pipe);
    tcase_add_test(tc, text_on_a_terminal_is_escaped_but_for_line_ends);
    tcase_add_test(tc, a_character_may_lie_across_pieces);
    tcase_add_test(tc, words_of_others_are_always_escaped_on_lines_for_people);
    tcase_add_test(tc, paragraphs_are_broken_at_spaces_to_fit);
    tcase_add_test(tc, a_long_word_is_not_torn);
    tcase_add_test(tc, without_a_terminal_lines_are_not_broken);
    tcase_add_test(tc, columns_are_counted_as_a_terminal_does);
    tcase_add_test(tc, a_write_that_fails_is_remembered);
    tcase_add_test(tc, each_block_begins_on_a_line_of_its_own);
    tcase_add_loop_test(tc, spilled_strings_pass_a_pipe_that_is_read_slowly, 0, 2);
    tcase_add_loop_test(tc, spilled_strings_go_to_files, 0, 2);
    tcase_add_loop_test(tc, a_spilled_string_that_nobody_takes_is_a_failed_write, 0, 2);
    tcase_add_test(tc, a_spilled_string_that_cannot_be_read_is_an_error);
    tcase_add_test(tc, a_signal_gets_through_while_a_spilled_string_waits_for_its_reader);
    tcase_add_test(tc, json_is_laid_out_for_people);
    tcase_add_test(tc, json_hides_no_character_that_deceives);
    tcase_add_test(tc, progress_reads_well);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
