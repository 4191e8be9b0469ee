/* What a terminal gets of a converter is an image, and nothing that controls it. */
#include "suite.h"

#include "cli/base/drawing.h"

#include <check.h>
#include <string.h>

#define ST "\033\\"

static const char *const images[] = {
    "",
    "plain\n",
    "\033[0m\033[38;2;20;95;128;48;5;7m\xe2\x96\x84\033[m\n",
    "\033_Ga=T,f=32,s=48,v=32,c=6,r=2,m=1" ST "\033_Gm=1;AAAA" ST "\033_Gm=0" ST "\n",
    "\033_Ga=T,t=d,q=2;AA==" ST,
    "\033]1337;File=inline=1;width=6;height=2;preserveAspectRatio=0:AAAA==\a\n",
    "\033]1337;File=inline=1;width=6:AAAA" ST,
    "\033P0;1;0q\"1;1;48;30#0;2;5;2;50!130?~$\n-" ST "\n",
};

static const char *const others[] = {
    "\033",
    "\033[",
    "\033[2J",
    "\033[?25l",
    "\033[6n",
    "\033[c",
    "\033[1A",
    "\033]0;title\a",
    "\033]52;c;AAAA\a",
    "\033]1337;File=inline=1;inline=0;name=QQ==:AAAA\a",
    "\033]1337;File=inline=1;width=6;name=QQ==:AAAA\a",
    "\033_Ga=d,d=A" ST,
    "\033_Ga=p;AAAA" ST,
    "\033]1337;File=name=QQ==;inline=0:AAAA\a",
    "\033]1337;File=inline=1;width=6:AAAA",
    "\033]1337;File=inline=1;x\033[c" ST,
    "\033c",
    "\033(0",
    "\033P+q544e" ST,
    "\033P0;1;0q\a" ST,
    "\033P0;1;0q",
    "\033Ptmux;x" ST,
    "\033_Ga=q,s=1;AAAA" ST,
    "\033_Gi=1,a=T;AAAA" ST,
    "\033_Ga=T,I=3;AAAA" ST,
    "\033_Ga=T,t=f;AAAA" ST,
    "\033_Ga=T,t=t;AAAA" ST,
    "\033_Ga=T,t=s;AAAA" ST,
    "\033_Ga=T t=f;AAAA" ST,
    "\033_Ga;AAAA" ST,
    "\033_Ga=;AAAA" ST,
    "\033_Ga=T;AAAA\a",
    "\033_Ga=T;AA\nAA" ST,
    "\033_Xa=T;AAAA" ST,
    "\033^x" ST,
    "\r",
    "\t",
    "\a",
    "\b",
    "\x7f",
    "\x9b"
    "2J",
    "\xc2\x9b"
    "2J",
    "\xff",
    "\xe2\x96",
};

START_TEST(images_are_images)
{
    const char *text = images[_i];
    ck_assert_msg(cli_drawing_is_one(text, strlen(text)), "%s", text + 1);
}
END_TEST

START_TEST(what_else_a_terminal_does_is_no_image)
{
    const char *text = others[_i];
    ck_assert_msg(!cli_drawing_is_one(text, strlen(text)), "%d: %s", _i, text + 1);
}
END_TEST

static const struct {
    const char *text;
    bool leaves;
} ends[] = {
    {"", false},
    {"plain\n", false},
    {"\033[31mx", true},
    {"\033[31mx\033[0m", false},
    {"\033[31mx\033[m\n", false},
    {"\033[0mx\033[7m", true},
    {"\033[0m\033[48;5;0m \n", true},
    {"\033[0;31mx", true},
    {"\033[0m\033P0;1;0q#0;2;5;2;50~" ST, false},
    {"\033[1m\033_Ga=T,m=0;AAAA" ST "\n", true},
};

START_TEST(colours_that_are_left_on_are_seen)
{
    const char *text = ends[_i].text;
    ck_assert(cli_drawing_is_one(text, strlen(text)));
    ck_assert(cli_drawing_leaves_colours(text, strlen(text)) == ends[_i].leaves);
}
END_TEST

START_TEST(an_image_that_is_cut_is_none)
{
    for (size_t i = 3; i < sizeof images / sizeof *images; i++) {
        const char *end = strrchr(images[i], '\033');
        size_t most = end[1] == '\\' ? (size_t)(end - images[i]) + 2 : strlen(images[i]);
        for (size_t n = 1; n + 1 < most; n++)
            if (images[i][n - 1] != '\\' && images[i][n - 1] != '\n' &&
                images[i][n - 1] != '\a')
                ck_assert_msg(!cli_drawing_is_one(images[i], n), "%zu, %zu", i, n);
    }
    ck_assert(!cli_drawing_is_one("a\0b", 3));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli_drawing");
    TCase *tc = tcase_create("cli_drawing");

    tcase_add_loop_test(tc, images_are_images, 0, sizeof images / sizeof *images);
    tcase_add_loop_test(tc, what_else_a_terminal_does_is_no_image, 0,
                        sizeof others / sizeof *others);
    tcase_add_loop_test(tc, colours_that_are_left_on_are_seen, 0,
                        sizeof ends / sizeof *ends);
    tcase_add_test(tc, an_image_that_is_cut_is_none);
    suite_add_tcase(s, tc);
    return run_to_end(s);
}
