#include "cli/base/args.h"
#include "cli/base/help.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cli_args args;
static struct mcplug_error err;
static char *words[64];

/* `line` is divided at spaces. */
static int parse(const char *line)
{
    static char copy[1024];
    int n = 0;
    char *rest = NULL;
    cli_args_clear(&args);
    memset(&err, 0, sizeof err);
    snprintf(copy, sizeof copy, "mcplug %s", line);
    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    words[n] = NULL;
    return cli_args_parse(&args, n, words, &err);
}

static void refused(const char *line, const char *why)
{
    ck_assert_msg(parse(line) == MCPLUG_EINVAL, "%s was taken", line);
    ck_assert_msg(strstr(err.text, why), "%s: \"%s\" has no \"%s\"", line, err.text, why);
}

START_TEST(words_options_and_the_server_are_told_apart)
{
    ck_assert_int_eq(parse("call echo a=1 --json b=-2 -- server --json -v x"), 0);
    ck_assert_str_eq(args.command->name, "call");
    ck_assert_uint_eq(args.words.n, 3);
    ck_assert_str_eq(args.words.items[2], "b=-2");
    ck_assert_ptr_null(args.words.items[3]);
    ck_assert(args.json);
    ck_assert_int_eq(args.verbose, 0);
    ck_assert_str_eq(args.server_command[0], "server");
    ck_assert_str_eq(args.server_command[3], "x");
    ck_assert_ptr_null(args.server_command[4]);
}
END_TEST

START_TEST(options_of_every_command_may_come_before_it)
{
    ck_assert_int_eq(parse("-vv --plugin-dir a --plugin-dir=b tools -v -- s"), 0);
    ck_assert_int_eq(args.verbose, 3);
    ck_assert_uint_eq(args.plugin_dirs.n, 2);
    ck_assert_str_eq(args.plugin_dirs.items[1], "b");
    refused("--url x tools", "must come after the command");
}
END_TEST

START_TEST(values_may_stand_behind_or_within)
{
    ck_assert_int_eq(parse("ping -c5 -- s"), 0);
    ck_assert_uint_eq(args.count, 5);
    ck_assert_int_eq(parse("ping -c 6 -- s"), 0);
    ck_assert_uint_eq(args.count, 6);
    ck_assert_int_eq(parse("ping --count=7 --url tcp:h:1"), 0);
    ck_assert_uint_eq(args.count, 7);
    ck_assert_int_eq(parse("call t --args - -- s"), 0);
    ck_assert_str_eq(args.arguments, "-");
}
END_TEST

START_TEST(times_have_a_unit)
{
    ck_assert_int_eq(parse("ping --timeout 250ms --connect-timeout 2m -- s"), 0);
    ck_assert_uint_eq(args.timeout, 250);
    ck_assert_uint_eq(args.connect_timeout, 120000);
    refused("ping --timeout 5 -- s", "with its unit");
    refused("ping --timeout 0s -- s", "with its unit");
    refused("ping --timeout -5s -- s", "with its unit");
    refused("ping --timeout= -- s", "with its unit");
    refused("ping -c 0 -- s", "of at least 1");
    refused("ping -c x -- s", "of at least 1");
}
END_TEST

START_TEST(nothing_is_a_number_of_lines_and_an_age)
{
    ck_assert_int_eq(parse("logs s"), 0);
    ck_assert_uint_eq(args.lines, 0);
    ck_assert_uint_eq(args.since, 0);
    ck_assert_int_eq(parse("logs s -n 0 --since 0s"), 0);
    ck_assert_uint_eq(args.lines, 1);
    ck_assert_uint_eq(args.since, 1);
    ck_assert_int_eq(parse("logs s -n 7 --since 2s -n 9223372036854775807"), 0);
    ck_assert_uint_eq(args.lines, (uint64_t)1 << 63);
    ck_assert_uint_eq(args.since, 2001);
    refused("logs s -n -1", "of at least 0");
    refused("logs s -n x", "of at least 0");
    refused("logs s --since 0", "with its unit");
    refused("logs s --since -1s", "with its unit");
}
END_TEST

START_TEST(behind_two_dashes_come_words_of_a_search)
{
    ck_assert_int_eq(parse("search a --json -- --quiet -- -x"), 0);
    ck_assert(args.json && !args.quiet && !args.server_command);
    ck_assert_uint_eq(args.words.n, 4);
    ck_assert_str_eq(args.words.items[1], "--quiet");
    ck_assert_str_eq(args.words.items[2], "--");
    ck_assert_str_eq(args.words.items[3], "-x");
    ck_assert_int_eq(parse("search -- echo"), 0);
    refused("search --", "missing argument. Usage: ");
}
END_TEST

START_TEST(what_is_unknown_is_refused_with_what_is_near)
{
    refused("tols", "did you mean \"tools\"?");
    refused("frobnicate", "no command \"frobnicate\"");
    refused("call t --jsno -- s", "did you mean --json?");
    refused("ping --output=x -- s", "unknown option --output of \"ping\"");
    refused("ping -x -- s", "unknown option -x");
    ck_assert_ptr_null(strstr((parse("frobnicate"), err.text), "mean"));
}
END_TEST

START_TEST(what_is_missing_is_named)
{
    refused("", "no command given");
    refused("call -- s", "mcplug call TOOL");
    refused("ping", "no server given");
    refused("ping --", "missing server command");
    refused("ping --url", "missing value of --url. Usage: --url URL");
    refused("ping --url -- s", "missing value of --url");
}
END_TEST

START_TEST(without_a_server_tools_are_those_of_all)
{
    ck_assert_int_eq(parse("tools"), 0);
    ck_assert_ptr_null(args.server);
    ck_assert(!cli_args_alter(&args));
    ck_assert_int_eq(parse("tools --json --mcp-config x"), 0);
    ck_assert_int_eq(parse("tools s --refresh"), 0);
    ck_assert(args.refresh && !cli_args_alter(&args));
    refused("tools --refresh", "needs the name of a server");
    refused("tools --env A=1", "no server given");
    refused("prompts", "no server given");
    refused("resources", "no server given");
}
END_TEST

START_TEST(options_that_make_another_server_of_it_are_known)
{
    static const char *const options[] = {
        "--env A=1", "--set a=1",    "--cwd /",       "--revision 2025-11-25",
        "--root /",  "--insecure",   "--log-level x", "--header a:b",
        "--url u",   "--type stdio", "-- s"};
    char line[64];

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(line, sizeof line, "tools %s%s", i < 8 ? "s " : "", options[i]);
        ck_assert_int_eq(parse(line), 0);
        ck_assert_msg(cli_args_alter(&args), "%s", line);
    }
    ck_assert_int_eq(parse("tools s --timeout 5s --json -v --no-input"), 0);
    ck_assert(!cli_args_alter(&args));
}
END_TEST

START_TEST(what_is_too_much_is_named)
{
    refused("ping x -- s", "\"x\"");
    refused("tools node server.js x", "is a -- missing");
    refused("ping --url u -- s", "not both");
    refused("ping --json=1 -- s", "takes no value");
    refused("plugins -- s", "uses no server");
    refused("config -- s", "uses no server");
    refused("add-json x {} -- s", "uses no server");
    refused("add-from-claude-desktop x -- s", "uses no server");
    static const char *const named[] = {"watch", "list", "get", "logs x", "doctor"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        char line[64];
        snprintf(line, sizeof line, "%s -- s", named[i]);
        refused(line,
                "needs the name of a server; add the server with `mcplug add` first");
    }
    refused("call t --progress --no-progress -- s", "exclude each other");
}
END_TEST

START_TEST(the_first_word_names_a_server_unless_it_is_given_in_place)
{
    ck_assert_int_eq(parse("call github search q=1"), 0);
    ck_assert_str_eq(args.server, "github");
    ck_assert_uint_eq(args.words.n, 2);
    ck_assert_str_eq(args.words.items[0], "search");
    ck_assert_ptr_null(args.words.items[2]);
    ck_assert_int_eq(parse("call mcp__github__search q=1"), 0);
    ck_assert_str_eq(args.server, "mcp__github__search");
    ck_assert_uint_eq(args.words.n, 2);
    ck_assert_int_eq(parse("tools mcp__x"), 0);
    ck_assert_uint_eq(args.words.n, 0);
    ck_assert_int_eq(parse("call search q=1 -- s"), 0);
    ck_assert_ptr_null(args.server);
    ck_assert_int_eq(parse("call search q=1 --url u"), 0);
    ck_assert_ptr_null(args.server);
    ck_assert_int_eq(parse("tools --type echo"), 0);
    ck_assert_ptr_null(args.server);
    refused("call github", "mcplug call SERVER TOOL");
    ck_assert_int_eq(parse("add x --env A=b -- cmd --json"), 0);
    ck_assert_ptr_null(args.server);
    ck_assert_str_eq(args.server_command[1], "--json");
    refused("add x npx -y", "is ambiguous: put -- before the server's command");
    refused("add x npx --yes", "is ambiguous: put -- before the server's command");
    refused("add x docker run -e K=1 img", "-e is ambiguous");
    refused("add x docker run --env K=1 img", "--env is ambiguous");
    ck_assert_int_eq(parse("add x node server.js --scope project"), 0);
    ck_assert_int_eq(parse("add x http://h/ -H a:b --env A=b"), 0);
}
END_TEST

START_TEST(help_and_version_need_nothing_else)
{
    ck_assert_int_eq(parse("call --help"), 0);
    ck_assert(args.help);
    ck_assert_int_eq(parse("--version"), 0);
    ck_assert(args.version);
    ck_assert_int_eq(parse("-h"), 0);
}
END_TEST

/* The tables say the offset and the type of each member twice over; a slip there would
 * write where it should not. */
START_TEST(every_option_of_every_command_is_taken)
{
    char line[256];
    for (size_t i = 0; cli_commands[i]; i++) {
        struct cli_group groups[CLI_GROUPS];
        size_t n = cli_command_groups(cli_commands[i], groups);
        for (size_t g = 0; g < n; g++)
            for (const struct cli_option *o = groups[g].options; o->name; o++) {
                bool time = o->type == CLI_DURATION || o->type == CLI_AGE;
                const char *value = time ? " 5s" : " 7";
                snprintf(line, sizeof line, "%s --help --%s%s", cli_commands[i]->name,
                         o->name, o->value ? value : "");
                ck_assert_msg(parse(line) == 0, "%s: %s", line, err.text);
                ck_assert_uint_eq(o->value != NULL,
                                  o->type != CLI_FLAG && o->type != CLI_COUNT);
                ck_assert_uint_lt(o->at, sizeof args);
            }
    }
}
END_TEST

/* Rules come first, without a gap. Returns how many are set. */
static size_t count_rules(const struct cli_command *command)
{
    size_t n = 0;
    while (n < CLI_RULES && cli_rule_is_set(&command->complete[n]))
        n++;
    for (size_t i = n; i < CLI_RULES; i++)
        ck_assert_msg(!cli_rule_is_set(&command->complete[i]),
                      "%s: rule %zu behind a gap", command->name, i);
    return n;
}

START_TEST(every_command_says_how_its_words_are_completed)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        const struct cli_command *c = cli_commands[i];
        size_t n = count_rules(c);
        ck_assert_msg(c->hidden || (n > 0) == (c->max_words > 0), "%s: %zu rules, \"%s\"",
                      c->name, n, c->words);
        ck_assert_msg(n <= c->max_words, "%s: %zu rules for %zu words", c->name, n,
                      c->max_words);
        for (size_t k = 0; k < n; k++) {
            const struct cli_rule *r = &c->complete[k];
            ck_assert_msg(r->is < CLI_WORD_TOOL || c->flags & CLI_SERVER,
                          "%s: no server to look at", c->name);
            ck_assert_msg((r->is != CLI_WORD_UNSET) + (r->choices != NULL) +
                                  (r->offer != NULL) ==
                              1,
                          "%s: rule %zu says two things", c->name, k);
        }
    }
}
END_TEST

START_TEST(every_option_with_a_value_says_how_that_is_completed)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        struct cli_group groups[CLI_GROUPS];
        size_t n = cli_command_groups(cli_commands[i], groups);
        for (size_t g = 0; g < n; g++)
            for (const struct cli_option *o = groups[g].options; o->name; o++)
                ck_assert_msg(cli_rule_is_set(&o->complete) == (o->value != NULL),
                              "%s --%s", cli_commands[i]->name, o->name);
    }
}
END_TEST

/* Collects what help prints by way of a pipe. */
static char *help_text(const struct cli_command *command)
{
    static char text[32768];
    static struct cli_out out;
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    cli_out_init(&out, fds[1]);
    cli_help(&out, command);
    cli_out_close(&out);
    ssize_t n = read(fds[0], text, sizeof text - 1);
    close(fds[0]);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

START_TEST(help_names_every_option_and_hides_what_is_not_for_people)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        const char *text = help_text(cli_commands[i]);
        struct cli_group groups[CLI_GROUPS];
        size_t n = cli_command_groups(cli_commands[i], groups);
        for (size_t g = 0; g < n; g++)
            for (const struct cli_option *o = groups[g].options; o->name; o++) {
                char name[64];
                snprintf(name, sizeof name, "--%s", o->name);
                ck_assert_msg((strstr(text, name) != NULL) == (o->help != NULL), "%s %s",
                              cli_commands[i]->name, name);
            }
        for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
            ck_assert_msg(strcspn(p, "\n") <= 80, "%.90s", p);
        bool listed = strstr(help_text(NULL), cli_commands[i]->name) != NULL;
        ck_assert_msg(listed != cli_commands[i]->hidden, "%s", cli_commands[i]->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_args");
    TCase *tc = tcase_create("args");
    tcase_add_test(tc, words_options_and_the_server_are_told_apart);
    tcase_add_test(tc, options_of_every_command_may_come_before_it);
    tcase_add_test(tc, values_may_stand_behind_or_within);
    tcase_add_test(tc, times_have_a_unit);
    tcase_add_test(tc, nothing_is_a_number_of_lines_and_an_age);
    tcase_add_test(tc, behind_two_dashes_come_words_of_a_search);
    tcase_add_test(tc, what_is_unknown_is_refused_with_what_is_near);
    tcase_add_test(tc, what_is_missing_is_named);
    tcase_add_test(tc, without_a_server_tools_are_those_of_all);
    tcase_add_test(tc, options_that_make_another_server_of_it_are_known);
    tcase_add_test(tc, what_is_too_much_is_named);
    tcase_add_test(tc, the_first_word_names_a_server_unless_it_is_given_in_place);
    tcase_add_test(tc, help_and_version_need_nothing_else);
    tcase_add_test(tc, every_option_of_every_command_is_taken);
    tcase_add_test(tc, every_command_says_how_its_words_are_completed);
    tcase_add_test(tc, every_option_with_a_value_says_how_that_is_completed);
    tcase_add_test(tc, help_names_every_option_and_hides_what_is_not_for_people);
    suite_add_tcase(suite, tc);

    int failed = run_to_end(suite);
    cli_args_clear(&args);
    return failed;
}
