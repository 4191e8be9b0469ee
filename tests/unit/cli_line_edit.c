/* The line editor: keys become a line, a place in it, and a screen. */
#include "suite.h"

#include "base/mem.h"
#include "cli/base/line_edit.h"
#include "small_screen.h"

#define UP "\033[A"
#define DOWN "\033[B"
#define RIGHT "\033[C"
#define LEFT "\033[D"
#define PASTE(text) "\033[200~" text "\033[201~"

static struct cli_line_edit e;
static struct small_screen screen;

static void begin(void)
{
    cli_line_edit_init(&e, "> ");
    memset(&screen, 0, sizeof screen);
    screen.height = 6;
    screen.width = 20;
    cli_line_edit_resize(&e, screen.width, screen.height);
    cli_line_edit_remember(&e, "first line");
    cli_line_edit_remember(&e, "second\nof two");
    cli_line_edit_remember(&e, "third line");
}

static void end(void)
{
    cli_line_edit_clear(&e);
}

static enum cli_line_event type(const char *keys)
{
    enum cli_line_event event = CLI_LINE_NONE;

    for (; *keys && event == CLI_LINE_NONE; keys++)
        event = cli_line_edit_feed(&e, (unsigned char)*keys);
    return event;
}

static void send(void (*make)(struct cli_line_edit *, struct mp_str *))
{
    struct mp_str out;

    mp_str_init(&out, (size_t)1 << 20);
    make(&e, &out);
    ck_assert(!out.failed);
    screen_feed(&screen, out.data, out.len);
    ck_assert_msg(!screen.wrong, "%s", screen.wrong);
    mp_str_clear(&out);
}

/* The line with a | for the cursor. */
static const char *line(void)
{
    static char text[65536];

    send(cli_line_edit_draw); /* which puts what was typed into the line */
    snprintf(text, sizeof text, "%.*s|%s", (int)e.at, e.line.len ? e.line.data : "",
             e.line.len ? e.line.data + e.at : "");
    return text;
}

/* ---- keys ---- */

static const struct {
    const char *keys, *line;
} cases[] = {
    {"", "|"},
    {"abc", "abc|"},
    {"abc" LEFT LEFT "x", "ax|bc"},
    {"abc\002\002\006x", "abx|c"},      /* Ctrl+B, Ctrl+F */
    {"abc\001x\005y", "xabcy|"},        /* Ctrl+A, Ctrl+E */
    {"abc\033[Hx\033[Fy", "xabcy|"},    /* Home, End, in three ways */
    {"abc\033OHx\033OFy", "xabcy|"},    /**/
    {"abc\033[1~x\033[4~y", "xabcy|"},  /**/
    {"abc" LEFT "\177", "a|c"},         /* Backspace */
    {"abc" LEFT "\010", "a|c"},         /**/
    {"\177" LEFT RIGHT "\033[3~", "|"}, /* nothing is there */
    {"abc\001\033[3~", "|bc"},          /* Delete */
    {"abc\001\004", "|bc"},             /* Ctrl+D in a line */
    {"one two-three\033b", "one two-|three"},
    {"one two-three\033b\033b", "one |two-three"},
    {"one two\001\033f", "one| two"},
    {"one two\001\033f\033f", "one two|"},
    {"one two\033[1;5D", "one |two"},
    {"one two\001\033[1;5C", "one| two"},
    {"one two\033[1;3D\033[1;2D", "one| two"}, /* Shift is no word */
    {"one two\001\033d", "| two"},
    {"one two\033\177", "one |"},
    {"one two-three\027", "one |"},              /* Ctrl+W */
    {"one two\002\013", "one tw|"},              /* Ctrl+K */
    {"one two\002\025", "|o"},                   /* Ctrl+U */
    {"one two\025x\031", "xone two|"},           /* Ctrl+Y */
    {"one two\027\027-\031", "-one two|"},       /* kills in a row are one */
    {"one two\001\033d\033d-\031", "-one two|"}, /**/
    {"one two\027" LEFT "\027-\031", "-one| "},  /* these are two */
    {"\031", "|"},                               /* nothing was killed */
    {"a\002\013b\031", "ba|"},                   /* at the beginning: Ctrl+K of `a` */
    {"a\\\rb", "a\nb|"},                         /* a backslash at the end goes on */
    {"a\\\\\\\rb", "a\\\\\nb|"},                 /* so do three */
    {"a\033\rb", "a\nb|"},                       /* Alt+Enter */
    {"a\033\rbc\033\rd\001\013\002\001x", "a\nx|bc\n"},
    {"one\033\rtwo\001\177", "one|two"},
    {"one\033\rtwo\001" LEFT "\013", "one|two"}, /* Ctrl+K joins lines */
    {"one\033\rtwo\025", "one\n|"},
    {"one\033\rtwo" UP, "one|\ntwo"},
    {"one\033\rt" UP, "o|ne\nt"},
    {"one\033\rt" UP DOWN "x", "one\ntx|"},
    {"on\033\rtwo" LEFT UP "\005" DOWN, "on\ntw|o"},
    /* UTF-8, wide characters, marks that combine */
    {"\xc3\xa4\xc3\xb6" LEFT "x", "\xc3\xa4x|\xc3\xb6"},
    {"\xe6\x97\xa5\xe6\x9c\xac\177", "\xe6\x97\xa5|"},
    {"ae\xcc\x81z" LEFT LEFT, "a|e\xcc\x81z"},
    {"ae\xcc\x81" LEFT RIGHT, "ae\xcc\x81|"},
    {"ae\xcc\x81\177", "a|"},
    {"\xf0\x9f\x98\x80" LEFT "x", "x|\xf0\x9f\x98\x80"},
    /* bytes that are no UTF-8, and keys that nobody knows */
    {"a\xff\xc3z\x80\xe6\x97"
     "b\xed\xa0\x80"
     "c",
     "azbc|"},
    {"a\033[99;99zb\033OZc\033xd", "abcd|"},
    {"a\033[1;2;3;4;5;6;7;8;9;10;11;12Ab", "third lineb|"},
    {"a\016\017\007b", "ab|"},
    /* history */
    {UP, "third line|"},
    {UP UP, "second\nof two|"},
    {UP UP UP UP, "first line|"},
    {"mine" UP DOWN, "mine|"},
    {"mine" UP UP UP UP UP DOWN DOWN DOWN, "mine|"},
    {"\020\020\020\020\016", "second\nof two|"}, /* Ctrl+P, Ctrl+N */
    {DOWN DOWN, "|"},
    {UP "x" DOWN UP, "third line|"},
    /* searching */
    {"\022lin", "third |line"},
    {"\022lin\022", "first |line"},
    {"\022lin\022\022\022", "first |line"},
    {"\022two\033[C", "second\nof t|wo"},
    {"\022lix", "third |line"}, /* what was found last stays */
    {"\022lix\177n\005!", "third line!|"},
    {"mine\022lin\003", "mine|"}, /* Ctrl+C, Ctrl+G: as it was */
    {"mine" LEFT "\022lin\007x", "minx|e"},
    {"mine\022zzz\005", "mine|"},
    {UP "x\022fir\007y", "third linexy|"}, /* also of one that was changed */
    {"mine\022fir\005" DOWN DOWN DOWN, "mine|"},
    {"\022first\001" UP, "|first line"},
    {"\022second\005" DOWN DOWN, "third line|"},
    {"\022\177\022", "|"},
    /* pasting */
    {PASTE("a\rb\nc\r\nd\te"), "a\nb\nc\nd\te|"},
    {"x" PASTE("\003\004\025\177"
               "ab\033[Ac\033"),
     "xabc|"},
    {"xy" LEFT PASTE("\xc3\xa4") "z", "x\xc3\xa4z|y"},
    {"\022f" PASTE("!"), "second\no!|f two"},
    /* Ctrl+C clears */
    {"abc\003", "|"},
    {"abc\003d", "d|"},
};

START_TEST(keys_edit_the_line)
{
    ck_assert_int_eq(type(cases[_i].keys), CLI_LINE_NONE);
    ck_assert_str_eq(line(), cases[_i].line);
}
END_TEST

static const struct {
    const char *keys;
    enum cli_line_event event;
} events[] = {
    {"abc\r", CLI_LINE_ENTERED},
    {"abc\n", CLI_LINE_ENTERED},
    {"\r", CLI_LINE_ENTERED},
    {"a\\\\\r", CLI_LINE_ENTERED}, /* two backslashes */
    {"\022abc\r", CLI_LINE_ENTERED},
    {"\004", CLI_LINE_ENDED},
    {"a\177\004", CLI_LINE_ENDED},
    {"\003", CLI_LINE_INTERRUPTED},
    {"a\003\003", CLI_LINE_INTERRUPTED},
    {"a\032", CLI_LINE_SUSPENDED},
    {"a\t", CLI_LINE_COMPLETES},
};

START_TEST(some_keys_are_for_the_caller)
{
    ck_assert_int_eq(type(events[_i].keys), events[_i].event);
}
END_TEST

START_TEST(ctrl_c_is_counted_while_nothing_else_is_typed)
{
    type("a\003");
    ck_assert_uint_eq(e.interrupts, 0);
    type("\003");
    type("\003");
    ck_assert_uint_eq(e.interrupts, 2);
    type("a\177");
    type("\003");
    ck_assert_uint_eq(e.interrupts, 1);
    type(UP "\025");
    type("\003");
    ck_assert_uint_eq(e.interrupts, 1);
}
END_TEST

/* ---- the screen ---- */

static const struct {
    const char *keys, *shown;
    size_t row, column;
} screens[] = {
    {"", ">/", 0, 2},
    {"abc", "> abc/", 0, 5},
    {"abc" LEFT, "> abc/", 0, 4},
    /* the last column stays empty, but for the cursor */
    {"12345678901234567", "> 12345678901234567/", 0, 19},
    {"123456789012345678", "> 12345678901234567/  8/", 1, 3},
    {"123456789012345678" LEFT, "> 12345678901234567/  8/", 1, 2},
    {"123456789012345678" LEFT LEFT, "> 12345678901234567/  8/", 0, 18},
    {"123456789012345678\177", "> 12345678901234567/", 0, 19},
    {"a\033\rb\033\r\033\rc", "> a/  b//  c/", 3, 3},
    {"a\033\rb\033\r\033\rc\001" LEFT, "> a/  b//  c/", 2, 2},
    /* a wide character does not fit into the last one */
    {"1234567890123456\xe6\x97\xa5", "> 1234567890123456/  \xe6\x97\xa5/", 1, 4},
    {"\xe6\x97\xa5\xe6\x9c\xac" LEFT, "> \xe6\x97\xa5\xe6\x9c\xac/", 0, 4},
    {"e\xcc\x81x" LEFT, "> e\xcc\x81x/", 0, 3},
    {"12345678901234567\xcc\x81"
     "8",
     "> 12345678901234567\xcc\x81/  8/", 1, 3},
    /* what would turn text round, or is a control character */
    {"a\xe2\x80\xae"
     "b",
     "> a\\u{202e}b/", 0, 12},
    {PASTE("a\tb"), "> a    b/", 0, 8},
    {"a\033\rb" UP UP, "> third line/", 0, 12},
    {"\022", "search:  >/", 0, 11},
    {"\022thi", "search: thi > third/   line/", 0, 14},
    {"\022zz", "not found: zz >/", 0, 16},
    {"\022thi\001", "> third line/", 0, 2},
    /* more rows than there are */
    {"1\033\r2\033\r3\033\r4\033\r5\033\r6\033\r7", "  2/  3/  4/  5/  6/  7/", 5, 3},
    {"1\033\r2\033\r3\033\r4\033\r5\033\r6\033\r7" UP UP UP UP UP UP,
     "> 1/  2/  3/  4/  5/  6/", 0, 3},
    {"1\033\r2\033\r3\033\r4\033\r5\033\r6\033\r7\003", ">/", 0, 2},
};

/* Once at the end, and after each byte. */
START_TEST(the_screen_shows_the_line_and_the_cursor)
{
    const char *keys = screens[_i / 2].keys;

    for (; *keys; keys++) {
        ck_assert_int_eq(cli_line_edit_feed(&e, (unsigned char)*keys), CLI_LINE_NONE);
        if (_i % 2)
            send(cli_line_edit_draw);
    }
    send(cli_line_edit_draw);
    ck_assert_str_eq(screen_text(&screen), screens[_i / 2].shown);
    ck_assert_uint_eq(screen.row, screens[_i / 2].row);
    ck_assert_uint_eq(screen.column, screens[_i / 2].column);
    ck_assert_uint_eq(screen.scrolled, 0);
}
END_TEST

START_TEST(what_is_above_the_line_stays)
{
    screen_feed(&screen, "above\r\n", 7);
    for (int i = 0; i < 3; i++) {
        type("123456789012345678901234567890" UP "x" DOWN "\001");
        ck_assert(strlen(line()) > 30);
        ck_assert_uint_eq(screen.row, 1);
        ck_assert_msg(strncmp(screen_text(&screen), "above/> 12345", 13) == 0, "%s",
                      screen_text(&screen));
        type("\013");
        send(cli_line_edit_draw);
        ck_assert_str_eq(screen_text(&screen), "above/>/");
    }
    type("abc" LEFT);
    send(cli_line_edit_leave);
    ck_assert_str_eq(screen_text(&screen), "above/> abc/");
    ck_assert_uint_eq(screen.row, 2);
    cli_line_edit_set(&e, "next", 4);
    send(cli_line_edit_draw);
    ck_assert_str_eq(screen_text(&screen), "above/> abc/> next/");
    send(cli_line_edit_erase);
    ck_assert_str_eq(screen_text(&screen), "above/> abc/");
    type("\014"); /* Ctrl+L */
    send(cli_line_edit_draw);
    ck_assert_str_eq(screen_text(&screen), "> next/");
    ck_assert_uint_eq(screen.column, 6);
}
END_TEST

START_TEST(a_terminal_of_another_size_is_drawn_anew)
{
    type("12345678901234567890");
    send(cli_line_edit_draw);
    ck_assert_str_eq(screen_text(&screen), "> 12345678901234567/  890/");
    screen.width = 30;
    cli_line_edit_resize(&e, screen.width, screen.height);
    send(cli_line_edit_draw);
    ck_assert_str_eq(screen_text(&screen), "> 12345678901234567890/");
    cli_line_edit_resize(&e, 0, 0); /* no such terminal */
    screen.height = 1;
    screen.row = 0;
    send(cli_line_edit_draw);
}
END_TEST

/* ---- bounds ---- */

START_TEST(a_line_has_so_many_bytes_and_not_one_more)
{
    for (size_t i = 0; i < CLI_LINE_MAX - 1; i++)
        cli_line_edit_feed(&e, 'a');
    type("\xc3\xa4"); /* two do not fit */
    send(cli_line_edit_draw);
    ck_assert_uint_eq(e.line.len, CLI_LINE_MAX - 1);
    ck_assert_uint_eq(screen.bells, 1);
    type("bc");
    send(cli_line_edit_draw);
    ck_assert_uint_eq(e.line.len, CLI_LINE_MAX);
    ck_assert_uint_eq(screen.bells, 2);
    type("\001\033\r" PASTE("xyz") "\\\r");
    send(cli_line_edit_draw);
    ck_assert_uint_eq(e.line.len, CLI_LINE_MAX);
    type("\025\013\031\031\003"); /* killed, and yanked */
    type("again");
    ck_assert_str_eq(line(), "again|");
}
END_TEST

START_TEST(a_long_paste_is_put_into_the_middle)
{
    for (size_t i = 0; i < CLI_LINE_MAX / 2; i++)
        cli_line_edit_feed(&e, 'a');
    type("\001\033[200~");
    for (size_t i = 0; i < CLI_LINE_MAX / 2; i++) {
        cli_line_edit_feed(&e, i % 50 ? 'b' : '\r');
        if (i % 4096 == 4095) /* as the terminal is read */
            send(cli_line_edit_draw);
    }
    type("\033[201~");
    send(cli_line_edit_draw);
    ck_assert_uint_eq(e.line.len, CLI_LINE_MAX);
    ck_assert_uint_eq(e.at, CLI_LINE_MAX / 2);
}
END_TEST

START_TEST(the_history_has_so_many_lines_and_not_one_more)
{
    char text[32];

    for (int i = 0; i <= CLI_LINE_HISTORY; i++) {
        snprintf(text, sizeof text, "line %d", i);
        ck_assert(cli_line_edit_remember(&e, text));
    }
    ck_assert_uint_eq(e.n_history, CLI_LINE_HISTORY);
    ck_assert_str_eq(e.history[0], "line 1");
    ck_assert(!cli_line_edit_remember(&e, text)); /* the same again */
    ck_assert(!cli_line_edit_remember(&e, ""));
    ck_assert(!cli_line_edit_remember(&e, " secret"));
    type(UP);
    ck_assert_str_eq(line(), "line 1000|");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli_line_edit");
    TCase *tc = tcase_create("cli_line_edit");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, keys_edit_the_line, 0, MP_COUNT(cases));
    tcase_add_loop_test(tc, some_keys_are_for_the_caller, 0, MP_COUNT(events));
    tcase_add_test(tc, ctrl_c_is_counted_while_nothing_else_is_typed);
    tcase_add_loop_test(tc, the_screen_shows_the_line_and_the_cursor, 0,
                        2 * MP_COUNT(screens));
    tcase_add_test(tc, what_is_above_the_line_stays);
    tcase_add_test(tc, a_terminal_of_another_size_is_drawn_anew);
    tcase_add_test(tc, a_line_has_so_many_bytes_and_not_one_more);
    tcase_add_test(tc, a_long_paste_is_put_into_the_middle);
    tcase_add_test(tc, the_history_has_so_many_lines_and_not_one_more);
    suite_add_tcase(s, tc);
    return run_to_end(s);
}
