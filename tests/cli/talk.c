/* Conversations: `mcplug run` without a prompt at a terminal, with a model whose answers
 * are in a file (tests/modules/script.c) and the example server. */
#include "terminal.h"

#define PROMPT "> \r\033[2C" /* an empty line, and the cursor in it */
#define UP "\033[A"

static const char *const none[] = {NULL};

/* Runs it with `more` words and that script; the first prompt may come. */
static void talk(const char *script, const char *const *more)
{
    struct winsize size = {.ws_row = 24, .ws_col = 100};
    const char *words[24] = {program, "run", "-m", "script/robot", "-s", "demo"};
    size_t n = 6;

    while (*more)
        words[n++] = *more++;
    write_file("answers", script);
    len = seen = 0;
    shown[0] = '\0';
    if (slave >= 0) { /* of the one before */
        close(slave);
        close(terminal);
    }
    open_terminal(&size, 0);
    start(words);
}
#define TALK(script, ...) talk(script, (const char *const[]){__VA_ARGS__, NULL})

/* A line is typed when there is a prompt. */
static void say(const char *line)
{
    expect(PROMPT);
    type(line);
    type("\r");
}

static void leave(int code)
{
    expect(PROMPT);
    type("\004");
    ck_assert_int_eq(finish(), code);
    is_as_before();
}

static const char *text_of(const char *name)
{
    static char text[1 << 16];
    FILE *f = fopen(name, "r");

    ck_assert_msg(f != NULL, "%s: %s", name, strerror(errno));
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

static void holds(const char *name, const char *part, size_t times)
{
    const char *text = text_of(name);
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    ck_assert_msg(n == times, "\"%s\" is there %zu times: %s", part, n, text);
}

/* ---- turns ---- */

START_TEST(lines_and_answers_are_one_thread)
{
    TALK("text Hello.\nusage 10 5\nturn\n"
         "text Let me see.\ncall 1 mcp__demo__touch "
         "{\"uri\":\"example:///counter\"}\nturn\n"
         "text Done.\nturn\ndump asked\ntext Bye.\n",
         "--save", "thread");
    expect("Ctrl+D ends the conversation, /help shows more.");
    say("good m\xc3\xb6rning");
    expect("Hello.\n");
    expect("1 step, 0 calls, 10 tokens in, 5 out, ");
    say("touch it");
    expect("Let me see.\n");
    expect("[y/N/a] ");
    type("y\n");
    expect("mcp__demo__touch {\"uri\":\"example:///counter\"} (");
    expect("Done.\n");
    expect("2 steps, 1 call, ");
    expect(PROMPT);
    holds("thread", "Done.", 1); /* after each turn */
    type("bye\r");
    expect("Bye.\n");
    leave(0);
    expect("in all, 10 tokens in, 5 out");
    holds(
        "asked",
        "USER:\ntext id= name= mime=: good m\xc3\xb6rning\nMODEL:\ntext id= name= mime=: "
        "Hello.\nUSER:\ntext id= name= mime=: touch it\nMODEL:\ntext id= name= mime=: "
        "Let "
        "me see.\nuse id=1 ",
        1);
    holds("asked",
          "MODEL:\ntext id= name= mime=: Done.\nUSER:\ntext id= name= mime=: bye\n", 1);
    holds("thread", "Bye.", 1);
}
END_TEST

START_TEST(ctrl_c_stops_the_answer_alone_and_what_came_is_kept)
{
    TALK("text We were\nhang\nturn\nhang\nturn\n"
         "call 2 mcp__demo__touch {\"uri\":\"example:///counter\"}\nturn\ndump asked\n"
         "text Now.\n",
         "--save", "thread");
    say("first");
    expect("We were");
    type("\003");
    expect("mcplug: stopped\n");
    expect(PROMPT);
    holds("thread", "We were", 1);
    type("second\r"); /* of which nothing comes */
    expect("\033[?2004l");
    type("\003");
    expect("mcplug: stopped\n");
    expect("> second\r");
    holds("thread", "second", 0);
    type(" one\r");
    expect("[y/N/a] ");
    type("\003");
    expect("mcplug: stopped\n");
    say("third");
    expect("Now.\n");
    leave(0);
    holds("asked", "first", 1);
    holds("asked", "We were", 1);
    holds("asked", "second one", 1);
    holds("asked", "The run was stopped before this tool answered.", 1);
    holds("asked", "third", 1);
}
END_TEST

START_TEST(what_was_typed_can_be_sent_again_after_a_failure)
{
    TALK("fail -14 500 It is broken\nturn\nfail -8 400 too long\nturn\nstop "
         "refused\nturn\n"
         "text Half\nfail -9 0 cut off\nturn\ndump asked\ntext Now.\n",
         "--save", "thread");
    say("again");
    expect("answered with error 500: It is broken");
    expect("> again\r");
    type("\r");
    expect("the conversation is too long for the model");
    expect("> again\r");
    type("\r");
    expect("the model refused to answer");
    expect("> again\r");
    holds("thread", "again", 0);
    type("\r");
    expect("Half\n");
    expect("cut off");
    say("go on"); /* what came is there */
    expect("Now.\n");
    leave(0);
    holds("asked", "mime=: again\n", 1);
    holds("asked",
          "MODEL:\ntext id= name= mime=: Half\nUSER:\ntext id= name= mime=: go on", 1);
}
END_TEST

START_TEST(steps_count_for_a_turn_and_tokens_for_all_of_them)
{
    TALK("call 1 mcp__demo__echo {\"text\":\"x\"}\nusage 10 1\nturn\ndump asked\ntext "
         "One.\n"
         "usage 10 1\nturn\ntext Two.\nusage 10 1\nturn\ntext Three.\n",
         "--max-steps", "1", "--max-tokens", "30");
    say("go");
    expect("stopped after 1 step, which is the limit");
    expect("an empty line lets the model go on");
    say("");
    expect("One.\n");
    holds("asked", "result id=1 name=mcp__demo__echo", 1);
    holds("asked", "go\n", 1);
    say(""); /* nothing is there to be answered */
    say("two");
    expect("Two.\n");
    say("three");
    expect("stopped after 33 tokens: the limit is reached");
    expect("> three\r");
    type("\025");
    leave(0);
}
END_TEST

START_TEST(a_limit_of_cost_is_for_all_turns)
{
    TALK("text One.\nusage 1000 0\nturn\ntext Two.\nusage 1000 0\nturn\ntext Three.\n",
         "--set", "priceInput=1", "--set", "priceOutput=1", "--max-cost", "0.0015");
    say("one");
    expect("cost 0.001, ");
    say("two");
    expect("Two.\n");
    say("three");
    expect("stopped at a cost of 0.002: the limit is reached");
    type("\003");
    leave(0);
    TALK("text One.\n", "--max-cost", "1");
    ck_assert_int_eq(finish(), 2);
    expect("--max-cost: the model needs the settings");
}
END_TEST

/* ---- lines ---- */

START_TEST(files_are_attached_and_a_line_that_fails_comes_back)
{
    write_file("note", "of a file\n");
    write_file("two words", "of another\n");
    TALK("dump asked\ntext Read.\n", "--save", "thread");
    say("compare @note and @nothing");
    expect("cannot open nothing");
    expect("> compare @note and @nothing\r");
    holds("home/mcplug/run/history", "compare", 1);
    type("\027@two\\ words to @@me, a@note\r");
    expect("Read.\n");
    leave(0);
    holds("asked", "mime=: compare\n", 1);
    holds("asked", "File note:\nof a file\nEnd of note.\n", 1);
    holds("asked", "mime=: and\n", 1);
    holds("asked", "File two words:\nof another\nEnd of two words.\n", 1);
    holds("asked", "mime=: to @me, a@note\n", 1);
}
END_TEST

START_TEST(a_file_that_never_ends_is_refused)
{
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    TALK("text x\n", "-q");
    say("read @pipe");
    expect("pipe is not a regular file");
    type("\003");
    leave(0);
}
END_TEST

START_TEST(names_of_files_are_completed)
{
    write_file("my long name.txt", "of a file\n");
    ck_assert_int_eq(mkdir("sub", 0700), 0);
    write_file("sub/one.c", "first\n");
    write_file("sub/one.h", "second\n");
    TALK("dump asked\ntext Read.\n", "-q");
    expect(PROMPT);
    type("see @my\t");
    expect("> see @my\\ long\\ name.txt ");
    type("@su\t");
    expect("@sub/");
    type("o\t");
    expect("@sub/one.");
    type("\t"); /* which ones there are */
    expect("one.c");
    expect("one.h");
    type("h\r");
    expect("Read.\n");
    leave(0);
    holds("asked", "of a file", 1);
    holds("asked", "second", 1);
}
END_TEST

START_TEST(lines_of_a_paste_are_one_message)
{
    TALK("dump asked\ntext Well.\n", "-q");
    say("\033[200~one\rtwo\r\nthree\033[201~\\\rfour");
    expect("Well.\n");
    leave(0);
    holds("asked", "mime=: one\ntwo\nthree\nfour\n", 1);
}
END_TEST

START_TEST(commands_begin_with_a_slash)
{
    TALK("text Yes.\nturn\ndump asked\ntext So be it.\n", "-q");
    say("/help");
    expect("/save FILE");
    say("hello");
    expect("Yes.\n");
    say("/save here");
    expect("saved in here");
    holds("here", "Yes.", 1);
    say("/save nowhere/here");
    expect("cannot save the thread in nowhere/here");
    say("/save");
    expect("expected the name of a file");
    say("/nonsense");
    expect("there is no command /nonsense");
    say("/etc/hosts is a file");
    expect("So be it.\n");
    expect(PROMPT);
    holds("here", "So be it.", 1); /* also of later turns */
    type("/quit\r");
    ck_assert_int_eq(finish(), 0);
    is_as_before();
    holds("asked", "mime=: /etc/hosts is a file\n", 1);
}
END_TEST

START_TEST(lines_are_remembered_but_for_those_with_a_space_before_them)
{
    TALK("text One.\nturn\ntext Two.\n", "-q");
    say("what I said");
    expect("One.\n");
    say(" secret");
    expect("Two.\n");
    leave(0);
    holds("home/mcplug/run/history", "what I said", 1);
    holds("home/mcplug/run/history", "secret", 0);
    TALK("dump asked\ntext One.\n", "-q");
    expect(PROMPT);
    type(UP);
    expect("> what I said\r");
    type(" before\r");
    expect("One.\n");
    leave(0);
    holds("asked", "mime=: what I said before\n", 1);
}
END_TEST

/* ---- how it begins and ends ---- */

START_TEST(a_thread_that_was_saved_goes_on)
{
    TALK("text One.\nturn\nfail -14 500 broken\n", "--save", "thread");
    say("first");
    expect("One.\n");
    leave(0);
    TALK("dump asked\ntext Two.\n", "--resume", "thread");
    say("second");
    expect("Two.\n");
    leave(0);
    holds("asked", "first\nMODEL:\ntext id= name= mime=: One.\nUSER:\n", 1);
    write_file("open",
               "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
               "\"text\":\"well?\"}]}]}");
    TALK("dump asked\ntext Three.\n", "--resume", "open");
    expect("an empty line lets the model go on");
    say("");
    expect("Three.\n");
    leave(0);
    holds("asked", "well?", 1);
}
END_TEST

START_TEST(ctrl_c_twice_ends_it)
{
    TALK("text x\n", "-q");
    expect(PROMPT);
    type("abc\003");
    expect(PROMPT);
    type("\003");
    expect("Ctrl+C once more");
    type("x\177\003");
    expect("Ctrl+C once more");
    expect(PROMPT);
    type("\003");
    ck_assert_int_eq(finish(), 0);
    is_as_before();
}
END_TEST

static const struct {
    int number, code;
} signals[] = {{SIGTERM, 143}, {SIGHUP, 129}, {SIGQUIT, 131}};

START_TEST(signals_leave_the_terminal_as_it_was)
{
    TALK("text Half\nhang\n", "-q", "--save", "thread");
    expect(PROMPT);
    if (_i % 2) {
        type("question\r");
        expect("Half");
    } else {
        type("ques");
        expect("> ques\r");
    }
    ck_assert_int_eq(kill(pid, signals[_i / 2].number), 0);
    ck_assert_int_eq(finish(), signals[_i / 2].code);
    is_as_before();
    ck_assert_uint_eq(count("\033[?2004h"), count("\033[?2004l"));
    if (_i % 2)
        holds("thread", "Half", 1);
}
END_TEST

START_TEST(a_terminal_that_goes_ends_it)
{
    int status;

    TALK("text x\n", "-q");
    expect(PROMPT);
    leave_to_command();
    close(terminal);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    pid = 0;
    ck_assert(WIFEXITED(status));
    terminal = -1;
}
END_TEST

START_TEST(a_terminal_of_another_size_is_drawn_anew)
{
    struct winsize size = {.ws_row = 24, .ws_col = 30};

    TALK("text x\n", "-q");
    expect(PROMPT);
    type("1234567890123456789012345678901234567890");
    expect("67890\r");
    ck_assert_int_eq(ioctl(terminal, TIOCSWINSZ, &size), 0);
    expect("> 123456789012345678901234567\r\n  8901234567890\r");
    type("\003");
    leave(0);
}
END_TEST

START_TEST(a_terminal_that_can_do_little_makes_the_lines_itself)
{
    setenv("TERM", "dumb", 1);
    TALK("text One.\nturn\ndump asked\ntext Two\nhang\n", "-q");
    expect("> ");
    type("first\n");
    expect("One.\n");
    expect("> ");
    type("second\\\nline\n");
    expect("Two");
    type("\003");
    expect("stopped");
    expect("> ");
    type("\003");
    expect("Ctrl+C once more");
    expect("> ");
    type("\004");
    ck_assert_int_eq(finish(), 0);
    is_as_before();
    ck_assert_uint_eq(count("\033"), 0);
    holds("asked", "mime=: second\nline\n", 1);
}
END_TEST

START_TEST(words_of_a_model_cannot_control_the_terminal)
{
    TALK("text A\033]0;x\007B\\n\n", "-q");
    say("hi\xe2\x80\xae");
    expect("> hi\\u{202e}\r");
    expect("A\\x1b]0;x\\x07B\n");
    leave(0);
}
END_TEST

START_TEST(answers_may_go_to_a_file)
{
    write_file("out", "");
    stdout_to = "out";
    TALK("text One.\\n\nturn\ntext Two.\\n\n", "-q");
    say("a");
    say("b");
    leave(0);
    stdout_to = NULL;
    ck_assert_str_eq(text_of("out"), "One.\nTwo.\n");
}
END_TEST

START_TEST(there_is_no_conversation_in_json)
{
    TALK("text x\n", "--json");
    ck_assert_int_eq(finish(), 2);
    expect("no prompt given");
    expect("with --json there is no conversation");
    talk("text x\n", none);
    leave(0);
}
END_TEST

/* ---- the whole ---- */

static void begin(void)
{
    char text[4096];

    begin_places("talk");
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    unsetenv("MCPLUG_MODEL");
    use_script_model();
    snprintf(
        text, sizeof text,
        "{\"mcpServers\":{\"demo\":{\"command\":\"%s/examples/mcplug-example-server\"}}}",
        getenv("MCPLUG_BUILD"));
    write_file("home/mcplug/settings.json", text);
}

int main(void)
{
    if (!find_program() || !getenv("MCPLUG_TEST_MODULES") || !offered("stdio"))
        return 77;

    Suite *suite = suite_create("talk");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, begin, end_places);
    tcase_add_test(t, lines_and_answers_are_one_thread);
    tcase_add_test(t, ctrl_c_stops_the_answer_alone_and_what_came_is_kept);
    tcase_add_test(t, what_was_typed_can_be_sent_again_after_a_failure);
    tcase_add_test(t, steps_count_for_a_turn_and_tokens_for_all_of_them);
    tcase_add_test(t, a_limit_of_cost_is_for_all_turns);
    tcase_add_test(t, files_are_attached_and_a_line_that_fails_comes_back);
    tcase_add_test(t, a_file_that_never_ends_is_refused);
    tcase_add_test(t, names_of_files_are_completed);
    tcase_add_test(t, lines_of_a_paste_are_one_message);
    tcase_add_test(t, commands_begin_with_a_slash);
    tcase_add_test(t, lines_are_remembered_but_for_those_with_a_space_before_them);
    tcase_add_test(t, a_thread_that_was_saved_goes_on);
    tcase_add_test(t, ctrl_c_twice_ends_it);
    tcase_add_loop_test(t, signals_leave_the_terminal_as_it_was, 0,
                        2 * sizeof signals / sizeof *signals);
    tcase_add_test(t, a_terminal_that_goes_ends_it);
    tcase_add_test(t, a_terminal_of_another_size_is_drawn_anew);
    tcase_add_test(t, a_terminal_that_can_do_little_makes_the_lines_itself);
    tcase_add_test(t, words_of_a_model_cannot_control_the_terminal);
    tcase_add_test(t, answers_may_go_to_a_file);
    tcase_add_test(t, there_is_no_conversation_in_json);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
