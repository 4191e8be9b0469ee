/* Images on a terminal: what the command asks of the terminal, what it draws, and that
 * the terminal is afterwards as it was. The command runs behind a terminal of ours; its
 * server is this program itself, see serve(), and the module painter.so says in place of
 * a drawing how it was wanted. Each step waits for what the one before it shows. */
#include "terminal.h"

#include "plugins/common/base64.h"

#define QUERY "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c"
#define KITTY "\033_Gi=31;OK\033\\"
#define PNG "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\2\10\2\0\0\0\0\0\0\0"

static char modules[600];

/* ---- a server ---- */

/* The answer to a call, and to a read, is what the file "result" has. */
static int serve(void)
{
    static char line[1 << 20], result[1 << 20];

    while (fgets(line, sizeof line, stdin)) {
        const char *at = strstr(line, "\"id\":");
        int id = at ? atoi(at + 5) : 0;
        if (!at)
            continue;
        if (strstr(line, "\"initialize\"")) {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"protocolVersion\":"
                   "\"2025-11-25\",\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"},"
                   "\"capabilities\":{\"tools\":{},\"resources\":{}}}}\n",
                   id);
        } else if (strstr(line, "\"tools/call\"") || strstr(line, "\"resources/read\"")) {
            FILE *f = fopen("result", "r");
            if (!f || !fgets(result, sizeof result, f))
                return 9;
            fclose(f);
            printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n", id, result);
        } else {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-32601,"
                   "\"message\":\"unknown\"}}\n",
                   id);
        }
        fflush(stdout);
        if (getenv("PICTURES_LEAVES") && !strstr(line, "\"initialize\"") &&
            !strstr(line, "\"server/discover\""))
            return 3;
    }
    return 0;
}

/* A PNG as far as its first bytes say, with a word behind it, as Base64. */
static const char *image(const char *word)
{
    static char text[256];
    unsigned char data[128];

    memcpy(data, PNG, sizeof PNG - 1);
    memcpy(data + sizeof PNG - 1, word, strlen(word));
    text[base64_encode(data, sizeof PNG - 1 + strlen(word), text)] = '\0';
    return text;
}

/* A result with an image for each word. */
static void results_in(const char *const *words)
{
    static char text[65536];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"content\":[");

    for (size_t i = 0; words[i]; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "%s{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"%s\"}",
            i ? "," : "", image(words[i]));
    snprintf(text + n, sizeof text - n, "]}");
    write_file("result", text);
}

/* ---- the terminal ---- */

/* Runs `mcplug VERB WORD --plugin-dir .. demo WHAT`. */
static void run(const char *verb, const char *option, const char *what)
{
    const char *const words[] = {program, verb,   option, "--plugin-dir",
                                 modules, "demo", what,   NULL};
    start(words);
}

static const char *const one[] = {"", NULL};

static void call(const char *option, const char *word)
{
    const char *const words[] = {word, NULL};

    results_in(words);
    run("call", option, "draw");
}

/* The terminal is as it was. */
static int ended(void)
{
    int code = finish();
    is_as_before();
    return code;
}

/* Two thirds of 30 rows, and cells of 600 / 60 x 540 / 30 pixels. */
#define SIZE "60x20 cells of 10x18, 600x360 pixels>"

/* ---- what is asked and drawn ---- */

#define TRIES 30

/* Runs the command until its terminal, which is us, has answered in time: on a machine
 * that is busy, 200 ms may pass. It ends with `code`, and `drawn` is there. */
static void answer_in_time(const char *verb, const char *what, const char *answer,
                           int code, const char *drawn)
{
    for (int i = 0; i < TRIES; i++) {
        len = seen = 0;
        shown[0] = '\0';
        ck_assert_int_eq(tcflush(slave, TCIFLUSH), 0);
        run(verb, "--no-progress", what);
        expect(QUERY);
        type(answer);
        if (ended() == code && strstr(shown, drawn))
            return;
    }
    ck_abort_msg("no \"%s\": %s", drawn, shown);
}

static const struct {
    const char *answer, *drawn;
} answers[] = {
    {KITTY "\033[?62;4c", "<kitty 256 " SIZE},
    {KITTY "\033[?62c", "<kitty 256 " SIZE},
    {"\033[?62;4;22c", "<sixel 256 " SIZE},
    {"\033[?62;22c", "<symbols 256 " SIZE},
    {"", "<symbols 256 " SIZE},
};

START_TEST(an_image_is_drawn_as_the_terminal_answers)
{
    results_in(one);
    answer_in_time("call", "draw", answers[_i].answer, 0, answers[_i].drawn);
    expect("[image/png, 33 bytes]\n\033[7m");
    ck_assert_uint_eq(count("Gi=31;OK"), 0); /* no echo */
    ck_assert_uint_eq(count(";22c"), 0);
}
END_TEST

START_TEST(a_terminal_that_answers_too_late_gets_symbols)
{
    call("--no-progress", "");
    expect("<symbols 256 " SIZE);
    type(KITTY "\033[?62;4c");
    ck_assert_int_eq(ended(), 0);
}
END_TEST

static const struct {
    const char *name, *value, *drawn;
} environments[] = {
    {"TERM", "dumb", "<symbols none " SIZE},
    {"TERM", "linux", "<symbols 256 " SIZE},
    {"TERM_PROGRAM", "iTerm.app", "<iterm2 256 " SIZE},
    {"LC_TERMINAL", "iTerm2", "<iterm2 256 " SIZE},
};

START_TEST(nothing_is_asked_where_the_environment_says_it)
{
    setenv(environments[_i].name, environments[_i].value, 1);
    call("--no-progress", "");
    expect(environments[_i].drawn);
    ck_assert_int_eq(ended(), 0);
    ck_assert_uint_eq(count("\033[c"), 0);
}
END_TEST

START_TEST(images_of_a_resource_are_drawn_too)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{\"contents\":[{\"uri\":\"u:x\",\"mimeType\":\"image/png\",\"blob\":\"%s\"}"
             "]}",
             image(""));
    write_file("result", text);
    answer_in_time("read", "u:x", "\033[?62;4c", 0, "<sixel 256 " SIZE);
}
END_TEST

START_TEST(eight_images_are_drawn_and_the_terminal_is_asked_once)
{
    static const char *const words[] = {"", "", "", "refuse", "", "", "", "", "", NULL};

    results_in(words);
    answer_in_time("call", "draw", "\033[?62;4c", 0, "<sixel 256 " SIZE);
    ck_assert_uint_eq(count("[image/png, "), 9);
    ck_assert_uint_eq(count("<sixel"), 7); /* one of the eight is broken */
    ck_assert_uint_eq(count("\033[c"), 1);
}
END_TEST

/* ---- what is not drawn ---- */

static const char *const options[] = {"--no-images", "--json", "--raw"};

START_TEST(nothing_is_drawn_with_some_options)
{
    call(options[_i], "");
    ck_assert_int_eq(ended(), 0);
    ck_assert_uint_eq(count("<symbols") + count("\033[c"), 0);
    ck_assert_uint_eq(count("image/png"), 1);
}
END_TEST

START_TEST(a_broken_image_is_a_note)
{
    call("--no-progress", "refuse");
    expect("[image/png, 39 bytes]");
    ck_assert_int_eq(ended(), 0);
    ck_assert_uint_eq(count("\033[c") + count("refuse"), 0);
}
END_TEST

START_TEST(a_drawing_that_controls_the_terminal_is_not_printed)
{
    setenv("TERM", "dumb", 1);
    call("--no-progress", "title");
    expect("[image/png, 38 bytes]");
    ck_assert_int_eq(ended(), 0);
    ck_assert_uint_eq(count("title"), 0);
}
END_TEST

START_TEST(a_drawing_that_leaves_a_colour_on_is_ended)
{
    setenv("TERM", "dumb", 1);
    call("--no-progress", "stain");
    expect("[image/png, 38 bytes]\n\033[0m\033[48;5;0m stain\n\033[0mmcplug: Use -o ");
    ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(without_a_module_an_image_is_a_note)
{
    ck_assert_int_eq(unlink("modules/painter.so"), 0);
    call("--no-progress", "");
    expect("[image/png, 33 bytes]");
    ck_assert_int_eq(ended(), 0);
    ck_assert_uint_eq(count("<symbols"), 0);
}
END_TEST

START_TEST(a_server_that_leaves_after_its_answer_does_not_matter)
{
    setenv("PICTURES_LEAVES", "1", 1);
    results_in(one);
    answer_in_time("call", "draw", "\033[?62;4c", 0, "<sixel 256 " SIZE);
}
END_TEST

/* ---- what is typed ---- */

START_TEST(what_was_typed_before_stays_and_nothing_is_asked)
{
    char left[16] = "";
    int n = 0;

    type("ls -"); /* no line yet */
    call("--no-progress", "");
    expect("<symbols 256 " SIZE);
    ck_assert_int_eq(ended(), 0);
    ck_assert_uint_eq(count("\033[c"), 0);
    type("l\n");
    while (n < 6)
        ck_assert_int_eq(ioctl(slave, FIONREAD, &n), 0);
    ck_assert_int_eq(read(slave, left, sizeof left - 1), 4); /* as it was given back */
    ck_assert_int_eq(read(slave, left + 4, sizeof left - 5), 2);
    ck_assert_str_eq(left, "ls -l\n");
}
END_TEST

START_TEST(ctrl_c_while_the_terminal_is_asked_ends_the_command)
{
    results_in(one);
    answer_in_time("call", "draw", "\003\033[?62;4c", 130, "");
}
END_TEST

/* Is there a process that converts, among all that the command has started? */
static bool has_worker(void)
{
    char line[128];
    snprintf(line, sizeof line,
             "for p in $(cat /proc/%d/task/*/children); do "
             "grep -qx mcplug-worker /proc/$p/comm && exit 3; done",
             (int)pid);
    int status = system(line);
    return WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

START_TEST(ctrl_c_while_an_image_is_converted_ends_the_command)
{
    call("--no-progress", "hang");
    while (!has_worker())
        sched_yield();
    type("\003");
    ck_assert_int_eq(ended(), 130);
    ck_assert_uint_eq(count("[image/png"), 0);
}
END_TEST

/* ---- the whole ---- */

static void begin(void)
{
    static const char *const unset[] = {"NO_COLOR", "COLORTERM", "TERM_PROGRAM",
                                        "LC_TERMINAL", "PICTURES_LEAVES"};
    struct winsize size = {
        .ws_row = 30, .ws_col = 60, .ws_xpixel = 600, .ws_ypixel = 540};
    char text[1024];

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        unsetenv(unset[i]);
    setenv("TERM", "xterm", 1);
    begin_places("pictures");
    ck_assert_int_eq(mkdir("modules", 0755), 0);
    snprintf(text, sizeof text, "%s/painter.so", getenv("MCPLUG_TEST_MODULES"));
    ck_assert_int_eq(symlink(text, "modules/painter.so"), 0);
    snprintf(modules, sizeof modules, "%s/modules", dir);
    serve_demo();
    open_terminal(&size, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "serve") == 0)
        return serve();
    if (!find_program() || !getenv("MCPLUG_TEST_MODULES") || !offered("stdio"))
        return 77;

    Suite *suite = suite_create("pictures");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, begin, end_places);
    tcase_add_loop_test(t, an_image_is_drawn_as_the_terminal_answers, 0,
                        sizeof answers / sizeof *answers);
    tcase_add_test(t, a_terminal_that_answers_too_late_gets_symbols);
    tcase_add_loop_test(t, nothing_is_asked_where_the_environment_says_it, 0,
                        sizeof environments / sizeof *environments);
    tcase_add_test(t, images_of_a_resource_are_drawn_too);
    tcase_add_test(t, eight_images_are_drawn_and_the_terminal_is_asked_once);
    tcase_add_loop_test(t, nothing_is_drawn_with_some_options, 0,
                        sizeof options / sizeof *options);
    tcase_add_test(t, a_broken_image_is_a_note);
    tcase_add_test(t, a_drawing_that_controls_the_terminal_is_not_printed);
    tcase_add_test(t, a_drawing_that_leaves_a_colour_on_is_ended);
    tcase_add_test(t, without_a_module_an_image_is_a_note);
    tcase_add_test(t, a_server_that_leaves_after_its_answer_does_not_matter);
    tcase_add_test(t, what_was_typed_before_stays_and_nothing_is_asked);
    tcase_add_test(t, ctrl_c_while_the_terminal_is_asked_ends_the_command);
    tcase_add_test(t, ctrl_c_while_an_image_is_converted_ends_the_command);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
