/* What a terminal answers, and what was typed in between. */
#include "suite.h"

#include "cli/base/screen.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define KITTY "\033_Gi=31;OK\033\\"

static struct cli_answers a;

static void feed(const char *text)
{
    memset(&a, 0, sizeof a);
    cli_answers_feed(&a, text, strlen(text));
}

static const struct {
    const char *text;
    bool kitty, sixel, done;
    const char *rest;
} cases[] = {
    {"", false, false, false, ""},
    {"\033[?62;22c", false, false, true, ""},
    {"\033[?6c", false, false, true, ""},
    {"\033[?62;4;22c", false, true, true, ""},
    {"\033[?62;22;4c", false, true, true, ""},
    {"\033[?4;22c", false, false, true, ""}, /* the class of the terminal */
    {"\033[?62;14;41;44c", false, false, true, ""},
    {KITTY "\033[?62c", true, false, true, ""},
    {KITTY "\033[?62;4c", true, true, true, ""},
    {"\033_Gi=31;EINVAL:no\033\\\033[?62c", true, false, true, ""},
    {"\033_Gi=7;OK\033\\\033[?62c", false, false, true, ""},
    {KITTY, true, false, false, ""},
    /* what is typed */
    {"ls\n", false, false, false, "ls\n"},
    {"a" KITTY "b\033[?62cc", true, false, true, "abc"},
    {"\033[A\033[?62;4c", false, true, true, "\033[A"},
    {"\033\033[?62;4c", false, true, true, "\033"},
    {"\033[?6x\033[?62;4c", false, true, true, "\033[?6x"},
    {"\033[200~x", false, false, false, "\033[200~x"},
    {"\033OP\003", false, false, false, "\033OP\003"},
};

START_TEST(answers_are_told_from_what_is_typed)
{
    feed(cases[_i].text);
    ck_assert_int_eq(a.kitty, cases[_i].kitty);
    ck_assert_int_eq(a.sixel, cases[_i].sixel);
    ck_assert_int_eq(a.done, cases[_i].done);
    ck_assert_uint_eq(a.n_rest, strlen(cases[_i].rest));
    ck_assert_mem_eq(a.rest, cases[_i].rest, a.n_rest);
}
END_TEST

START_TEST(answers_may_come_byte_by_byte)
{
    memset(&a, 0, sizeof a);
    for (const char *p = "x" KITTY "\033[?62;4cy"; *p; p++)
        cli_answers_feed(&a, p, 1);
    ck_assert(a.kitty && a.sixel && a.done);
    ck_assert_uint_eq(a.n_rest, 2);
    ck_assert_mem_eq(a.rest, "xy", 2);
}
END_TEST

START_TEST(answers_and_what_is_typed_are_bounded)
{
    char long_one[5000];

    memset(long_one, 'x', sizeof long_one);
    memcpy(long_one, "\033_G", 3);
    memset(&a, 0, sizeof a);
    cli_answers_feed(&a, long_one, sizeof a.sequence);
    ck_assert_uint_eq(a.len, sizeof a.sequence);
    cli_answers_feed(&a, "x", 1);
    ck_assert_uint_eq(a.len, 0);
    ck_assert_uint_eq(a.n_rest, sizeof a.sequence + 1);
    cli_answers_feed(&a, long_one + 3, sizeof long_one - 3);
    ck_assert_uint_eq(a.n_rest, sizeof a.rest);
    cli_answers_feed(&a, "\033[?1;4c", 7);
    ck_assert(a.done && a.sixel);
}
END_TEST

static void setup(void)
{
    static const char *const names[] = {"NO_COLOR", "COLORTERM", "TERM_PROGRAM",
                                        "LC_TERMINAL"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("TERM", "xterm", 1);
}

static struct cli_screen look(const char *name, const char *value)
{
    struct cli_screen s;

    setup();
    setenv(name, value, 1);
    cli_screen_look(&s, -1);
    return s;
}

START_TEST(the_environment_says_what_a_terminal_shows)
{
    struct cli_screen s = look("TERM", "xterm");

    ck_assert_str_eq(s.format, "symbols");
    ck_assert_str_eq(s.colors, "256");
    ck_assert(s.columns == 80 && s.rows == 23 && s.cell_width == 8 &&
              s.cell_height == 16);
    ck_assert_str_eq(look("TERM", "dumb").colors, "none");
    ck_assert_str_eq(look("NO_COLOR", "1").colors, "none");
    ck_assert_str_eq(look("NO_COLOR", "").colors, "256");
    ck_assert_str_eq(look("COLORTERM", "truecolor").colors, "true");
    ck_assert_str_eq(look("COLORTERM", "24bit").colors, "true");
    ck_assert_str_eq(look("TERM_PROGRAM", "iTerm.app").format, "iterm2");
    ck_assert_str_eq(look("TERM_PROGRAM", "WezTerm").format, "iterm2");
    ck_assert_str_eq(look("LC_TERMINAL", "iTerm2").format, "iterm2");
    ck_assert_str_eq(look("LC_TERMINAL", "other").format, "symbols");
}
END_TEST

START_TEST(settings_are_taken_if_they_are_ours_and_right)
{
    struct cli_screen s = look("TERM", "xterm");
    struct mp_str out;

    ck_assert(cli_screen_set(&s, "format", "sixel"));
    ck_assert(!cli_screen_set(&s, "format", "ascii"));
    ck_assert(cli_screen_set(&s, "colors", "16"));
    ck_assert(cli_screen_set(&s, "columns", "7"));
    ck_assert(cli_screen_set(&s, "rows", "65535"));
    ck_assert(!cli_screen_set(&s, "rows", "65536"));
    ck_assert(!cli_screen_set(&s, "rows", "0"));
    ck_assert(!cli_screen_set(&s, "rows", "-1"));
    ck_assert(!cli_screen_set(&s, "rows", "1x"));
    ck_assert(cli_screen_set(&s, "cellWidth", "10"));
    ck_assert(!cli_screen_set(&s, "other", "1"));
    mp_str_init(&out, 1000);
    mp_str_addc(&out, '{');
    cli_screen_settings(&s, &out);
    ck_assert_str_eq(out.data,
                     "{\"format\":\"sixel\",\"colors\":\"16\",\"columns\":\"7\","
                     "\"rows\":\"65535\",\"cellWidth\":\"10\",\"cellHeight\":"
                     "\"16\"");
    mp_str_clear(&out);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli_screen");
    TCase *tc = tcase_create("cli_screen");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_loop_test(tc, answers_are_told_from_what_is_typed, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(tc, answers_may_come_byte_by_byte);
    tcase_add_test(tc, answers_and_what_is_typed_are_bounded);
    tcase_add_test(tc, the_environment_says_what_a_terminal_shows);
    tcase_add_test(tc, settings_are_taken_if_they_are_ours_and_right);
    suite_add_tcase(s, tc);
    return run_to_end(s);
}
