/* The kinds of failures: the table, and the manual that has to have the same one. */
#include "cli/base/failure.h"
#include "cli/base/message.h"

#include "suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* give: free */
static char *manual(void)
{
    const char *src = getenv("MCPLUG_SRC");
    char path[4096], *text = calloc(1, 1 << 20);

    snprintf(path, sizeof path, "%s/doc/mcplug.1", src ? src : ".");
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    ck_assert_uint_lt(fread(text, 1, (1 << 20) - 1, f), (1 << 20) - 1);
    fclose(f);
    return text;
}

START_TEST(the_manual_has_every_kind_with_its_exit_code_and_no_other)
{
    char *text = manual(), item[64];
    size_t rows = 0;

    for (int k = CLI_KIND_NONE + 1; k < CLI_KINDS; k++) {
        const struct cli_kind_info *kind = cli_kind_info((enum cli_kind)k);
        if (kind->exit_code == CLI_SIGNAL)
            snprintf(item, sizeof item, "\n.It Li %s Pq 130, 143\n", kind->name);
        else
            snprintf(item, sizeof item, "\n.It Li %s Pq %d\n", kind->name,
                     kind->exit_code);
        ck_assert_msg(strstr(text, item) != NULL, "doc/mcplug.1 lacks%s", item);
    }
    for (const char *p = text; (p = strstr(p, "\n.It Li ")); p++) {
        const char *end = strchr(p + 1, '\n'), *code = strstr(p, " Pq ");
        rows += code && code < end;
    }
    ck_assert_uint_eq(rows, CLI_KINDS - 1);
    free(text);
}
END_TEST

START_TEST(an_outcome_has_a_kind_and_an_exit_code)
{
    ck_assert_ptr_null(cli_kind_info(CLI_KIND_NONE));
    ck_assert_ptr_null(cli_kind_info(CLI_KINDS));
#define TRY(id, word, exit, text)                                                        \
    ck_assert_int_eq(cli_kind_of(CLI_##id), CLI_KIND_##id);                              \
    ck_assert_int_eq(cli_exit_code(CLI_##id), exit);                                     \
    ck_assert_str_eq(cli_kind_info(CLI_KIND_##id)->name, word);
    CLI_FAILURES(TRY)
#undef TRY
    ck_assert_int_eq(cli_kind_of(CLI_SIGNAL + 2), CLI_KIND_CANCELLED);
    ck_assert_int_eq(cli_exit_code(CLI_SIGNAL + 2), 130);
    ck_assert_int_eq(cli_kind_of(CLI_NOTHING), CLI_KIND_INTERNAL);
    ck_assert_int_eq(cli_worse(CLI_TIMED_OUT, CLI_USAGE), CLI_TIMED_OUT);
    ck_assert_int_eq(cli_worse(CLI_TIMED_OUT, CLI_INTERNAL), CLI_TIMED_OUT);
    ck_assert_int_eq(cli_worse(CLI_OK, CLI_USAGE), CLI_USAGE);
}
END_TEST

/* Of a failure, what is printed into a file of its own; there is one try in a process. */
static struct cli cli;
static int outcome;

static char *printed(void)
{
    static char text[65536];
    char path[] = "/tmp/mcplug-failure-XXXXXX";
    int fd = mkstemp(path), saved = dup(STDOUT_FILENO);

    unlink(path);
    dup2(fd, STDOUT_FILENO);
    cli_failure_put(&cli, outcome, NULL, NULL);
    cli_out_flush(&cli.out);
    dup2(saved, STDOUT_FILENO);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(saved);
    close(fd);
    return text;
}

static void begin(int code, bool lines)
{
    static const struct cli_command printing = {.name = "x", .flags = CLI_LINES};
    static const struct cli_command other = {.name = "y"};

    memset(&cli, 0, sizeof cli);
    cli.args.json = true;
    cli.args.command = lines ? &printing : &other;
    cli_out_init(&cli.out, STDOUT_FILENO);
    outcome = code;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
}

START_TEST(errors_are_joined_and_hints_belong_to_them)
{
    begin(CLI_NOT_FOUND, false);
    cli_note("a note");
    cli_hint("of the note");
    cli_error("one \"%s\"", "\x1b\xff");
    cli_detail("a detail");
    cli_hint("do this");
    cli_error_shown("two", "for people");
    ck_assert_str_eq(
        printed(),
        "{\"error\":{\"kind\":\"not-found\",\"message\":\"one "
        "\\\"\\u001b\xef\xbf\xbd\\\"\\ntwo\",\"hint\":\"do this\",\"exit\":2}}\n");
}
END_TEST

START_TEST(without_an_error_the_kind_speaks)
{
    begin(CLI_SIGNAL + 15, false);
    ck_assert_str_eq(printed(),
                     "{\"error\":{\"kind\":\"cancelled\",\"message\":\"Interrupted by a "
                     "signal\",\"hint\":null,\"exit\":143}}\n");
}
END_TEST

START_TEST(there_is_never_a_second_document)
{
    begin(CLI_LOST, false);
    cli_error("lost");
    cli_out_s(&cli.out, "[]\n");
    ck_assert_str_eq(printed(), "[]\n");
}
END_TEST

START_TEST(what_was_begun_gives_way_to_a_failure)
{
    begin(CLI_LOST, false);
    cli_error("lost");
    cli_out_s(&cli.out, "[1,");
    ck_assert(cli_out_retract(&cli.out));
    ck_assert_str_eq(printed(), "{\"error\":{\"kind\":\"lost\",\"message\":\"lost\","
                                "\"hint\":null,\"exit\":4}}\n");
}
END_TEST

START_TEST(among_lines_a_failure_is_the_last_one)
{
    begin(CLI_TIMED_OUT, true);
    cli_out_s(&cli.out, "{}\n");
    cli_error("late");
    ck_assert_str_eq(printed(),
                     "{}\n{\"error\":{\"kind\":\"timeout\",\"message\":\"late\","
                     "\"hint\":null,\"exit\":5}}\n");
}
END_TEST

START_TEST(lines_that_tell_it_themselves_are_enough)
{
    begin(CLI_NO_SERVER, true);
    cli_out_s(&cli.out, "{}\n");
    ck_assert_str_eq(printed(), "{}\n");
}
END_TEST

START_TEST(success_and_text_have_no_document)
{
    begin(CLI_OK, false);
    ck_assert_str_eq(printed(), "");
    begin(CLI_USAGE, false);
    cli.args.json = false;
    ck_assert_str_eq(printed(), "");
}
END_TEST

START_TEST(a_message_of_any_length_is_cut_off)
{
    char *text = malloc(2 * CLI_REPORT_MAX);

    memset(text, 'x', 2 * CLI_REPORT_MAX - 1);
    text[2 * CLI_REPORT_MAX - 1] = '\0';
    begin(CLI_USAGE, false);
    for (int i = 0; i < 9; i++)
        cli_error("%s", text);
    const char *document = printed();
    ck_assert_uint_lt(strlen(document), CLI_REPORT_MAX + 256);
    ck_assert_ptr_nonnull(strstr(document, "x\",\"hint\":null,\"exit\":2}}\n"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli_failure");
    TCase *t = tcase_create("cli_failure");
    tcase_add_test(t, the_manual_has_every_kind_with_its_exit_code_and_no_other);
    tcase_add_test(t, an_outcome_has_a_kind_and_an_exit_code);
    tcase_add_test(t, errors_are_joined_and_hints_belong_to_them);
    tcase_add_test(t, without_an_error_the_kind_speaks);
    tcase_add_test(t, there_is_never_a_second_document);
    tcase_add_test(t, what_was_begun_gives_way_to_a_failure);
    tcase_add_test(t, among_lines_a_failure_is_the_last_one);
    tcase_add_test(t, lines_that_tell_it_themselves_are_enough);
    tcase_add_test(t, success_and_text_have_no_document);
    tcase_add_test(t, a_message_of_any_length_is_cut_off);
    suite_add_tcase(s, t);
    return run_to_end(s);
}
