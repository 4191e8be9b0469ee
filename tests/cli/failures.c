/* Every command in every way to fail, with --json: standard output is one document, or
 * one a line where a command prints what happens; a failure has the documented shape, its
 * kind is of the table, and its exit code is that of the kind and of the process.
 *
 * Commands come from the program's own table: one without a row of `recipes` below fails
 * the test. The servers are this program itself, see serve(). */
#include "cli/base/cli.h"

#include "../unit/suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64
#define OUTPUT_MAX ((size_t)1 << 20)
#define SCRIPT "-m script/x --set script=answers --plugin-dir models"
#define SHORT "150ms" /* a time limit that is to pass */

extern char **environ;

static char dir[64], self[512], program[512], config[256];

/* ---- a server ---- */

static const char initialized[] =
    "\"result\":{\"protocolVersion\":\"2025-06-18\",\"serverInfo\":{\"name\":\"s\","
    "\"version\":\"1\"},\"capabilities\":{\"tools\":{},\"prompts\":{},\"resources\":{},"
    "\"completions\":{},\"extensions\":{\"io.modelcontextprotocol/skills\":{}}}}}";
static const struct {
    const char *method, *answer;
} answers[] = {
    {"ping", "\"result\":{}}"},
    {"tools/list",
     "\"result\":{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\","
     "\"properties\":{\"text\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}},"
     "\"required\":[\"text\"]}}]}}"},
    {"prompts/list", "\"result\":{\"prompts\":[{\"name\":\"p\"}]}}"},
    {"resources/list", "\"result\":{\"resources\":[{\"uri\":\"u:x\",\"name\":\"x\"}]}}"},
    {"resources/templates/list", "\"result\":{\"resourceTemplates\":[]}}"},
    {"prompts/get", "\"result\":{\"messages\":[]}}"},
    {"resources/read",
     "\"result\":{\"contents\":[{\"uri\":\"u:x\",\"text\":\"t\"},{\"uri\":"
     "\"u://s/SKILL.md\",\"text\":\"---\\nname: s\\ndescription: d\\n---\\n\"}]}}"},
    {"skills/list",
     "\"result\":{\"skills\":[{\"uri\":\"u://s/SKILL.md\",\"frontmatter\":{\"name\":"
     "\"s\",\"description\":\"d\"},\"resources\":[{\"uri\":\"u://s/SKILL.md\",\"size\":"
     "31,\"digest\":\"sha256:33e7351c4e4043aa92d8a9ba0f4277db83481b1fbaa696a324521d2d01e8"
     "6d82\"}]}]}}"},
    {"completion/complete", "\"result\":{\"completion\":{\"values\":[]}}}"},
};

/* Tells whoever waits at the other end of the FIFO that this is where we are, once. */
static void tell(void)
{
    static bool told;
    if (told)
        return;
    told = true;
    int fd = open("fifo", O_WRONLY);
    if (fd < 0 || write(fd, "x", 1) != 1)
        _exit(9);
    close(fd);
}

static bool is_for(const char *line, const char *method)
{
    char text[64];
    snprintf(text, sizeof text, "\"method\":\"%s\"", method);
    return strstr(line, text) != NULL;
}

/* A request after the handshake, in the way that `mode` is bad at it. */
static void answer(const char *mode, const char *line)
{
    if (strcmp(mode, "dies") == 0)
        _exit(0);
    if (strcmp(mode, "stops-in-request") == 0)
        tell();
    if (strcmp(mode, "hangs") == 0 || strcmp(mode, "stops-in-request") == 0)
        return;
    if (strcmp(mode, "objects") == 0) {
        puts("\"error\":{\"code\":-32000,\"message\":\"no\",\"data\":{\"why\":[1]}}}");
        return;
    }
    if (strcmp(mode, "garbles") == 0) {
        puts("\"result\":{]}");
        return;
    }
    if (is_for(line, "tools/call") && strcmp(mode, "tool-babbles") == 0) {
        puts("\"result\":{\"content\":\"nope\"}}");
        return;
    }
    if (is_for(line, "tools/call")) {
        printf("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"said\"}]%s}}\n",
               strcmp(mode, "tool-fails") == 0 ? ",\"isError\":true" : "");
        return;
    }
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (is_for(line, answers[i].method)) {
            puts(answers[i].answer);
            return;
        }
    puts("\"error\":{\"code\":-32601,\"message\":\"unknown\"}}");
}

/* Lines come one by one, and go out at once; the end of the input ends the server. */
static int serve(const char *mode)
{
    static char line[65536];

    if (strcmp(mode, "ends-at-once") == 0) {
        fprintf(stderr, "error: no such thing\n");
        return 1;
    }
    if (strcmp(mode, "stops-connecting") == 0)
        tell();
    setvbuf(stdout, NULL, _IOFBF, 65536);
    while (fgets(line, sizeof line, stdin)) {
        const char *id = strstr(line, "\"id\":");
        if (!id || strcmp(mode, "silent") == 0 || strcmp(mode, "stops-connecting") == 0)
            continue;
        bool quiet = strcmp(mode, "hangs") == 0 || strcmp(mode, "stops-in-request") == 0;
        bool greets = is_for(line, "initialize") || is_for(line, "server/discover");
        if (greets || !quiet)
            printf("{\"jsonrpc\":\"2.0\",\"id\":%d,", atoi(id + 5));
        if (is_for(line, "initialize"))
            puts(initialized);
        else if (is_for(line, "server/discover"))
            puts("\"error\":{\"code\":-32601,\"message\":\"unknown\"}}");
        else
            answer(mode, line);
        fflush(stdout);
    }
    return 0;
}

/* ---- running the command ---- */

enum where { TO_US, TO_FULL, TO_NOBODY, TO_NOTHING };

struct run {
    const struct cli_command *command; /* NULL: none */
    char line[1024];                   /* for messages */
    char *words[WORDS_MAX];
    size_t n;
    const char *input; /* NULL: none */
    enum where where;
    int signal;      /* sent when the server tells that it is there; 0: none */
    bool has_output; /* sent when there is output, and not for the server's word */

    int exit_code;
    char *out;
    size_t len;
};

static void add_words(struct run *r, const char *text)
{
    char *words = strdup(text), *rest = words, *word;
    while ((word = strsep(&rest, " ")))
        if (*word) {
            ck_assert_uint_lt(r->n + 1, WORDS_MAX);
            r->words[r->n++] = strdup(word);
        }
    free(words);
}

static struct run run_of(const struct cli_command *command, const char *words)
{
    struct run r = {.command = command};
    add_words(&r, "mcplug");
    if (command)
        add_words(&r, command->name);
    add_words(&r, words);
    return r;
}

static void finish(struct run *r)
{
    while (r->n)
        free(r->words[--r->n]);
    free(r->out);
    memset(r, 0, sizeof *r);
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    ck_assert_msg(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s: %s", name,
                  strerror(errno));
}

/* Commands change it, so each finds it as it was. */
static void write_config(void)
{
    char text[8192];

    snprintf(text, sizeof text,
             "{\"mcpServers\":{"
             "\"good\":{\"command\":\"%s\",\"args\":[\"serve\",\"well\"]},"
             "\"gone\":{\"command\":\"/nonexistent/server\"},"
             "\"off\":{\"command\":\"%s\",\"disabled\":true},"
             "\"banned\":{\"command\":\"%s\"},"
             "\"strict\":{\"command\":\"%s\",\"args\":[\"serve\",\"well\"],"
             "\"toolsDenied\":[\"echo\"]},"
             "\"broken\":{\"command\":17}}}",
             self, self, self, self);
    write_file(config, text);
    snprintf(text, sizeof text, "{\"mcpServers\":{\"theirs\":{\"command\":\"%s\"}}}",
             self);
    write_file(".mcp.json", text);
}

static int output_of(struct run *r, int fds[2])
{
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    if (r->where == TO_NOBODY)
        close(fds[0]);
    return r->where == TO_FULL ? open("/dev/full", O_WRONLY | O_CLOEXEC) : fds[1];
}

static pid_t start(struct run *r, int in, int out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t set;
    pid_t pid;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (r->where == TO_NOTHING)
        posix_spawn_file_actions_addclose(&files, STDOUT_FILENO);
    else
        posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!getenv("FAILURES_STDERR"))
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "err",
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_init(&attr);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attr, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attr, &set);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int e = posix_spawn(&pid, program, &files, &attr, r->words, environ);
    ck_assert_msg(e == 0, "%s: %s", program, strerror(e));
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

static void read_all(struct run *r, int fd)
{
    r->out = realloc(r->out, OUTPUT_MAX);
    ck_assert_ptr_nonnull(r->out);
    for (ssize_t n = 1; n > 0 && r->len<OUTPUT_MAX; r->len += n> 0 ? (size_t)n : 0)
        n = read(fd, r->out + r->len, OUTPUT_MAX - r->len);
    ck_assert_uint_lt(r->len, OUTPUT_MAX);
    r->out[r->len] = '\0';
}

static void run(struct run *r)
{
    int fds[2], in = open("/dev/null", O_RDONLY | O_CLOEXEC), status = 0;
    char byte;

    write_config();
    if (r->input) {
        close(in);
        write_file("input", r->input);
        in = open("input", O_RDONLY | O_CLOEXEC);
    }
    for (size_t i = 0, at = 0; i < r->n && at < sizeof r->line; i++)
        at += (size_t)snprintf(r->line + at, sizeof r->line - at, "%s ", r->words[i]);
    int out = output_of(r, fds);
    pid_t pid = start(r, in, out);
    close(in);
    close(fds[1]);
    if (out != fds[1])
        close(out);
    if (r->signal && r->has_output) {
        r->out = malloc(OUTPUT_MAX);
        ck_assert_ptr_nonnull(r->out);
        ck_assert_int_eq(read(fds[0], r->out, 1), 1);
        r->len = 1;
        kill(pid, r->signal);
    } else if (r->signal) {
        int fifo = open("fifo", O_RDONLY | O_CLOEXEC);
        ck_assert_int_eq(read(fifo, &byte, 1), 1);
        close(fifo);
        kill(pid, r->signal);
    }
    if (r->where == TO_NOBODY)
        r->out = calloc(1, 1);
    else
        read_all(r, fds[0]);
    if (r->where != TO_NOBODY)
        close(fds[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "%s: status %x", r->line, (unsigned)status);
    r->exit_code = WEXITSTATUS(status);
}

/* ---- judging what it printed ---- */

/* What ends with a code that is no success, and has a document of its own. */
static const struct {
    const char *command;
    int codes[4];
} partial[] = {
    {"list", {2, 3, 130}}, {"config", {2}},  {"doctor", {1}},  {"search", {1}},
    {"call", {1}},         {"plugins", {1}}, {"approve", {3}},
};

static bool may_be_partial(const struct run *r)
{
    if (r->command && r->command->flags & CLI_LINES)
        return true;
    for (size_t i = 0; r->command && i < sizeof partial / sizeof *partial; i++)
        for (size_t k = 0; k < 4; k++)
            if (strcmp(partial[i].command, r->command->name) == 0 &&
                partial[i].codes[k] == r->exit_code && r->exit_code)
                return true;
    return false;
}

static enum cli_kind kind_named(const char *name)
{
    for (int k = CLI_KIND_NONE + 1; k < CLI_KINDS; k++)
        if (strcmp(cli_kind_info((enum cli_kind)k)->name, name) == 0)
            return (enum cli_kind)k;
    return CLI_KIND_NONE;
}

/* The members of a failure are there, and agree with the process. */
static enum cli_kind judge_error(const struct run *r, const json_t *error)
{
    const char *name = json_string_value(json_object_get(error, "kind"));
    const char *message = json_string_value(json_object_get(error, "message"));
    const json_t *hint = json_object_get(error, "hint");
    const json_t *code = json_object_get(error, "exit");
    enum cli_kind kind = name ? kind_named(name) : CLI_KIND_NONE;

    ck_assert_msg(kind, "%s: no kind of the table: %s", r->line, r->out);
    ck_assert_msg(message && *message, "%s: no message: %s", r->line, r->out);
    ck_assert_msg(json_is_string(hint) || json_is_null(hint), "%s: hint: %s", r->line,
                  r->out);
    ck_assert_msg(json_is_integer(code) && json_integer_value(code) == r->exit_code,
                  "%s: exit code %d, and %s", r->line, r->exit_code, r->out);
    int wanted = cli_kind_info(kind)->exit_code;
    ck_assert_msg(wanted == CLI_SIGNAL ? r->exit_code > wanted : r->exit_code == wanted,
                  "%s: %s with exit code %d", r->line, name, r->exit_code);
    return kind;
}

/* One document. Returns the kind of a failure, or none. */
static enum cli_kind judge_document(const struct run *r, const char *text, size_t len)
{
    json_error_t why;
    json_t *tree = json_loadb(text, len, 0, &why);
    ck_assert_msg(tree != NULL, "%s: %s: %.*s", r->line, why.text, (int)len, text);

    json_t *error = json_object_get(tree, "error");
    enum cli_kind kind = CLI_KIND_NONE;
    if (json_is_object(error)) {
        /* the last line of a run is its result, and has the failure beside it */
        const char *type = json_string_value(json_object_get(tree, "type"));
        ck_assert(json_object_size(tree) == 1 || (type && strcmp(type, "result") == 0));
        kind = judge_error(r, error);
    }
    json_decref(tree);
    return kind;
}

static enum cli_kind judge_lines(const struct run *r)
{
    enum cli_kind kind = CLI_KIND_NONE;
    for (const char *p = r->out, *end = p + r->len; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        ck_assert_msg(newline != NULL, "%s: no newline at the end: %s", r->line, r->out);
        ck_assert_msg(!kind, "%s: more behind the failure: %s", r->line, r->out);
        kind = judge_document(r, p, (size_t)(newline - p));
        p = newline + 1;
    }
    return kind;
}

static enum cli_kind judge(const struct run *r)
{
    bool lines = r->command && r->command->flags & CLI_LINES;
    bool about = false; /* --help and --version are documents everywhere */
    for (size_t i = 0; i < r->n; i++)
        about = about || strcmp(r->words[i], "--help") == 0 ||
                strcmp(r->words[i], "--version") == 0;

    if (!lines || about) {
        ck_assert_msg(r->len, "%s: exit code %d, and no document", r->line, r->exit_code);
        ck_assert_msg(r->out[r->len - 1] == '\n', "%s: no newline at the end", r->line);
    }
    enum cli_kind kind =
        lines && !about ? judge_lines(r) : judge_document(r, r->out, r->len);
    if (r->exit_code == 0)
        ck_assert_msg(!kind, "%s: success, and %s", r->line, r->out);
    else
        ck_assert_msg(kind || may_be_partial(r), "%s: exit code %d, and %s", r->line,
                      r->exit_code, r->out);
    return kind;
}

/* Runs it; `kind` is that of the failure that is to come of it, CLI_KIND_NONE: none. */
static void expect(struct run r, enum cli_kind kind)
{
    const struct cli_kind_info *wanted = cli_kind_info(kind);

    run(&r);
    enum cli_kind got = judge(&r);
    ck_assert_msg(got == kind, "%s: not %s, exit code %d, and %s", r.line,
                  wanted ? wanted->name : "without a failure", r.exit_code, r.out);
    finish(&r);
}

/* ---- the commands ---- */

/* Words with which a command does something, and with a server those behind its name. */
static const struct recipe {
    const char *command, *words;
    bool named; /* the first word is the name of a server that must be there */
} recipes[] = {
    {"add", "fresh ./program", false},
    {"add-json", "fresh {\"command\":\"x\"}", false},
    {"import", "claude-desktop --file desktop.json", false},
    {"add-from-claude-desktop", "--file desktop.json", false},
    {"list", "good", true},
    {"watch", "good --until-ready", true},
    {"get", "good", true},
    {"remove", "good", true},
    {"enable", "good", true},
    {"disable", "good", true},
    {"approve", "good", true},
    {"reset-approvals", "good", false},
    {"config", "", false},
    {"logs", "good", true},
    {"doctor", "good", true},
    {"tools", "", false},
    {"search", "echo", false},
    {"call", "echo text=hi", false},
    {"run", "-m script/x --set script=answers --plugin-dir models hi", false},
    {"results", "", false},
    {"cost", "", false},
    {"convert", "trial --type x-test/trial --plugin-dir converters", false},
    {"resources", "", false},
    {"read", "u:x", false},
    {"prompts", "", false},
    {"prompt", "p", false},
    {"skills", "", false},
    {"skill", "s", false},
    {"complete", "prompt p a", false},
    {"ping", "", false},
    {"info", "", false},
    {"plugins", "", false},
    {"ide", "", false},
    {"completion", "bash", false},
    {"__complete", "1", false},
    {"help", "call", false},
};

static const struct recipe *recipe_of(const struct cli_command *c)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (strcmp(recipes[i].command, c->name) == 0)
            return &recipes[i];
    ck_abort_msg("there is no row of `recipes` for the command \"%s\"", c->name);
    return NULL;
}

/* The command as it succeeds, with `options` before its words and `more` behind them. */
static struct run well_with(const struct cli_command *c, const char *options,
                            const char *more)
{
    struct run r = run_of(c, "--json");
    add_words(&r, options);
    if (c->flags & CLI_SERVER)
        add_words(&r, "good");
    add_words(&r, recipe_of(c)->words);
    add_words(&r, more);
    return r;
}

static struct run well(const struct cli_command *c, const char *more)
{
    return well_with(c, "", more);
}

/* The same with a server that is given in place. */
static struct run with_server(const struct cli_command *c, const char *more,
                              const char *mode)
{
    struct run r = run_of(c, "--json");
    add_words(&r, recipe_of(c)->words);
    add_words(&r, more);
    add_words(&r, "--");
    add_words(&r, self);
    add_words(&r, "serve");
    add_words(&r, mode);
    return r;
}

#define EACH(c)                                                                          \
    const struct cli_command *c, *const *at = cli_commands;                              \
    (c = *at) != NULL;                                                                   \
    at++

/* ---- ways to fail: the command line ---- */

START_TEST(without_a_command)
{
    static const char *const lines[] = {
        "--json",          "--json nosuch",     "nosuch --json",    "--json --nosuch",
        "--nosuch --json", "--json=1",          "--json -z",        "-z --json",
        "--json --",       "--json --log-file", "--timeout --json", "--json call= x",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect(run_of(NULL, lines[i]), CLI_KIND_USAGE);
    expect(run_of(NULL, "--json --help"), CLI_KIND_NONE);
    expect(run_of(NULL, "--version --json"), CLI_KIND_NONE);
    expect(run_of(NULL, "help --json"), CLI_KIND_NONE);
    expect(run_of(NULL, "help nosuch --json"), CLI_KIND_NOT_FOUND);
}
END_TEST

START_TEST(every_command_line_that_is_wrong)
{
    for (EACH(c)) {
        expect(run_of(c, "--json --no-such-option"), CLI_KIND_USAGE);
        expect(run_of(c, "--no-such-option --json"), CLI_KIND_USAGE);
        expect(run_of(c, "--json -Z"), CLI_KIND_USAGE);
        expect(run_of(c, "--json --log-file"), CLI_KIND_USAGE);
        expect(run_of(c, "--json=1"), CLI_KIND_USAGE);
        expect(run_of(c, "--json --help"), CLI_KIND_NONE);
        expect(run_of(c, "--json --version"), CLI_KIND_NONE);
        if (c->min_words || (c->flags & CLI_SERVER && !(c->flags & CLI_ALL_SERVERS)))
            expect(run_of(c, "--json"), CLI_KIND_USAGE);
        if (c->max_words != CLI_MANY)
            expect(well(c, "a b c d e"), CLI_KIND_USAGE);
        expect(well_with(c, "--log-file /nonexistent/log", ""),
               c->hidden ? CLI_KIND_USAGE : CLI_KIND_IO_ERROR);
        if (!(c->flags & (CLI_SERVER | CLI_COMMAND | CLI_TEXTS | CLI_IN_PLACE)) &&
            strcmp(c->name, "plugins") != 0)
            expect(well(c, "-- more"), CLI_KIND_USAGE);
    }
}
END_TEST

START_TEST(every_command_that_succeeds)
{
    for (EACH(c)) {
        struct run r = well(c, "");
        run(&r);
        enum cli_kind kind = judge(&r);
        bool hidden = c->hidden; /* a command for scripts has no --json */
        ck_assert_msg(kind == (hidden ? CLI_KIND_USAGE : CLI_KIND_NONE), "%s: %s", r.line,
                      r.out);
        finish(&r);
    }
}
END_TEST

/* ---- ways to fail: the configuration ---- */

START_TEST(every_configuration_that_is_wrong)
{
    for (EACH(c)) {
        if (!(c->flags & (CLI_SERVER | CLI_CONFIG)))
            continue;
        bool looks = strcmp(c->name, "config") == 0 || strcmp(c->name, "doctor") == 0;
        expect(well_with(c, "--mcp-config {bad", ""),
               looks ? CLI_KIND_NONE : CLI_KIND_BAD_CONFIG);
        expect(well_with(c, "--mcp-config /nonexistent", ""),
               looks ? CLI_KIND_NONE : CLI_KIND_BAD_CONFIG);
        if (c->flags & CLI_SERVER || recipe_of(c)->named)
            /* no file of the user's own: whoever is named is not there */
            expect(well_with(c, "--strict-mcp-config", ""), CLI_KIND_NOT_FOUND);
    }
}
END_TEST

START_TEST(every_server_that_may_not_be_used)
{
    static const struct {
        const char *name;
        enum cli_kind kind;
    } states[] = {
        {"nosuch", CLI_KIND_NOT_FOUND},      {"off", CLI_KIND_DISABLED},
        {"theirs", CLI_KIND_NEEDS_APPROVAL}, {"banned", CLI_KIND_BLOCKED},
        {"broken", CLI_KIND_BAD_CONFIG},     {"gone", CLI_KIND_NO_SERVER},
    };
    for (EACH(c))
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            struct run r = run_of(c, "--json");
            if (c->flags & CLI_SERVER || recipe_of(c)->named)
                add_words(&r, states[i].name);
            if (c->flags & CLI_SERVER) {
                add_words(&r, recipe_of(c)->words);
                expect(r, states[i].kind);
            } else if (recipe_of(c)->named && i == 0) {
                expect(r, states[i].kind);
            } else if (recipe_of(c)->named && strcmp(c->name, "watch") != 0) {
                run(&r); /* some are about just such entries */
                judge(&r);
                finish(&r);
            } else {
                finish(&r);
            }
        }
}
END_TEST

/* ---- ways to fail: the server ---- */

START_TEST(every_server_that_fails)
{
    static const struct {
        const char *mode, *options;
        enum cli_kind kind;
    } modes[] = {
        {"ends-at-once", "", CLI_KIND_NO_SERVER},
        {"silent", "--connect-timeout " SHORT, CLI_KIND_TIMED_OUT},
        {"dies", "", CLI_KIND_LOST},
        {"hangs", "--timeout " SHORT, CLI_KIND_TIMED_OUT},
        {"objects", "", CLI_KIND_PEER_ERROR},
        {"garbles", "", CLI_KIND_BROKEN_PROTOCOL},
    };
    for (EACH(c)) {
        if (!(c->flags & CLI_SERVER))
            continue;
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            /* to one of them an error is an answer, to the other a list that is not there
             */
            bool content = strcmp(c->name, "ping") == 0 || strcmp(c->name, "info") == 0;
            bool peer = modes[i].kind == CLI_KIND_PEER_ERROR;
            expect(with_server(c, modes[i].options, modes[i].mode),
                   content && peer ? CLI_KIND_NONE : modes[i].kind);
        }
        struct run r = run_of(c, "--json --type nosuch");
        add_words(&r, recipe_of(c)->words);
        expect(r, CLI_KIND_UNSUPPORTED);
        r = run_of(c, "--json --url unix:/nonexistent/socket");
        add_words(&r, recipe_of(c)->words);
        if (offered("unix"))
            expect(r, CLI_KIND_NO_SERVER);
        else
            finish(&r);
        expect(with_server(c, "--set nosuch=1", "well"), CLI_KIND_BAD_CONFIG);
        expect(with_server(c, "--log-level nosuch", "well"), CLI_KIND_USAGE);
        expect(with_server(c, "--timeout 5", "well"), CLI_KIND_USAGE);
    }
}
END_TEST

/* Answers every request with 401, until it is killed. */
static pid_t guard_door(unsigned *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    static const char answer[] = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
                                 "Connection: close\r\n\r\n";
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof at;
    char request[65536];

    ck_assert_int_eq(bind(door, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(door, 16), 0);
    ck_assert_int_eq(getsockname(door, (struct sockaddr *)&at, &len), 0);
    *port = ntohs(at.sin_port);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    for (int guest; pid == 0 && (guest = accept(door, NULL, NULL)) >= 0; close(guest))
        if (recv(guest, request, sizeof request, 0) > 0)
            send(guest, answer, sizeof answer - 1, MSG_NOSIGNAL);
    if (pid == 0)
        _exit(0);
    close(door);
    return pid;
}

START_TEST(every_server_that_wants_credentials)
{
    unsigned port;
    char options[64];

    if (!offered("http"))
        return;
    pid_t door = guard_door(&port);
    snprintf(options, sizeof options, "--json --url http://127.0.0.1:%u/", port);
    for (EACH(c)) {
        if (!(c->flags & CLI_SERVER))
            continue;
        struct run r = run_of(c, options);
        add_words(&r, recipe_of(c)->words);
        expect(r, CLI_KIND_NEEDS_AUTH);
    }
    kill(door, SIGKILL);
    waitpid(door, NULL, 0);
}
END_TEST

START_TEST(every_call_that_fails)
{
    static const struct {
        const char *words, *input;
        enum cli_kind kind;
    } calls[] = {
        {"call good nosuch a=1", NULL, CLI_KIND_NOT_FOUND},
        {"call good echo", NULL, CLI_KIND_NONE},
        {"call good echo n=1", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"call good echo text=a n=x", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"call good echo text=@/nonexistent", NULL, CLI_KIND_IO_ERROR},
        {"call good echo --args @/nonexistent", NULL, CLI_KIND_IO_ERROR},
        {"call good echo -H @/nonexistent", NULL, CLI_KIND_IO_ERROR},
        {"prompt good p a=@/nonexistent", NULL, CLI_KIND_IO_ERROR},
        {"call good echo --args -", "[", CLI_KIND_BAD_ARGUMENTS},
        {"call good echo --args []", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"call good echo --args {} text=a", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"call strict echo", NULL, CLI_KIND_TOOL_DENIED},
        {"tools strict echo", NULL, CLI_KIND_TOOL_DENIED},
        {"tools good nosuch", NULL, CLI_KIND_NOT_FOUND},
        {"prompts good nosuch", NULL, CLI_KIND_NOT_FOUND},
        {"resources good nosuch", NULL, CLI_KIND_NOT_FOUND},
        {"skills good nosuch", NULL, CLI_KIND_NOT_FOUND},
        {"skill good nosuch", NULL, CLI_KIND_NOT_FOUND},
        {"skill good s nosuch", NULL, CLI_KIND_NOT_FOUND},
        {"skill good s SKILL.md -o skills", NULL, CLI_KIND_USAGE},
        {"skill good s -o /nonexistent/skills", NULL, CLI_KIND_IO_ERROR},
        {"call mcp__nosuch__echo", NULL, CLI_KIND_NOT_FOUND},
        {"call mcp__good__nosuch", NULL, CLI_KIND_NOT_FOUND},
        {"call good echo --meta []", NULL, CLI_KIND_USAGE},
        {"complete good tool p a", NULL, CLI_KIND_USAGE},
        {"read good u:x --output /nonexistent/file", NULL, CLI_KIND_IO_ERROR},
        {"read good u:x --output /dev/full", NULL, CLI_KIND_IO_ERROR},
        {"call good echo text=a -o /nonexistent/file", NULL, CLI_KIND_IO_ERROR},
        {"call good echo text=a -o /dev/full", NULL, CLI_KIND_IO_ERROR},
        {"call good echo text=a -o /nonexistent/dir/", NULL, CLI_KIND_IO_ERROR},
        {"call good echo text=a -o desktop.json", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"read good u:x -o desktop.json", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"call good echo text=a --force", NULL, CLI_KIND_USAGE},
        {"call good echo text=a --structured", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"call good echo text=a --table", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"read good u:x --table", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"tools --refresh", NULL, CLI_KIND_USAGE},
        {"run " SCRIPT " hi", NULL, CLI_KIND_NONE},
        {"run " SCRIPT " --server good hi", NULL, CLI_KIND_NONE},
        {"run " SCRIPT, NULL, CLI_KIND_USAGE},
        {"run " SCRIPT, "context", CLI_KIND_NONE},
        {"run " SCRIPT " @/nonexistent", NULL, CLI_KIND_IO_ERROR},
        {"run " SCRIPT " --resume /nonexistent hi", NULL, CLI_KIND_IO_ERROR},
        {"run " SCRIPT " --resume answers hi", NULL, CLI_KIND_BAD_ARGUMENTS},
        {"run " SCRIPT " --save /nonexistent/thread hi", NULL, CLI_KIND_IO_ERROR},
        {"run " SCRIPT " --max-cost 1 hi", NULL, CLI_KIND_BAD_CONFIG},
        {"run -m nosuch/x hi", NULL, CLI_KIND_UNSUPPORTED},
        {"run -m nosuch hi", NULL, CLI_KIND_NOT_FOUND},
        {"run hi", NULL, CLI_KIND_USAGE},
        {"run " SCRIPT " --server nosuch hi", NULL, CLI_KIND_NOT_FOUND},
        {"run " SCRIPT " --server off hi", NULL, CLI_KIND_DISABLED},
        {"run " SCRIPT " --server theirs hi", NULL, CLI_KIND_NEEDS_APPROVAL},
        {"run " SCRIPT " --server banned hi", NULL, CLI_KIND_BLOCKED},
        {"run " SCRIPT " --server broken hi", NULL, CLI_KIND_BAD_CONFIG},
        {"run " SCRIPT " --server gone hi", NULL, CLI_KIND_NO_SERVER},
        {"run -m script/x --set script=fails --plugin-dir models hi", NULL,
         CLI_KIND_MODEL_FAILED},
        {"run -m script/x --set script=cut --plugin-dir models hi", NULL,
         CLI_KIND_UNFINISHED},
        {"run -m script/x --set script=calls --plugin-dir models --server good "
         "--max-steps 1 hi",
         NULL, CLI_KIND_RUN_LIMIT},
        {"run --tools-only", NULL, CLI_KIND_USAGE},
        {"run --tools-only --server good", "{", CLI_KIND_BAD_ARGUMENTS},
        {"run --tools-only --server good", "{\"name\":\"x\"}", CLI_KIND_NONE},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *name = calls[i].words;
        struct run r =
            run_of(cli_command_find(name, strcspn(name, " ")), strchr(name, ' ') + 1);
        add_words(&r, "--json");
        r.input = calls[i].input;
        expect(r, calls[i].kind);
    }
    /* the tool's own word on it is its result */
    struct run r = with_server(cli_command_find("call", 4), "", "tool-fails");
    run(&r);
    ck_assert_int_eq(judge(&r), CLI_KIND_NONE);
    ck_assert_int_eq(r.exit_code, CLI_TOOL_ERROR);
    finish(&r);
    /* what is no result of a tool is a failure, and is there to be looked at */
    r = with_server(cli_command_find("call", 4), "", "tool-babbles");
    run(&r);
    ck_assert_int_eq(judge(&r), CLI_KIND_BROKEN_PROTOCOL);
    ck_assert_msg(strstr(r.out, "\"hint\":null") &&
                      strstr(r.out, "\"peer\":{\"content\":\"nope\"}"),
                  "%s", r.out);
    finish(&r);
}
END_TEST

START_TEST(what_other_commands_refuse)
{
    static const struct {
        const char *words;
        enum cli_kind kind;
    } lines[] = {
        {"add ../x ./program", CLI_KIND_USAGE},
        {"add x", CLI_KIND_USAGE},
        {"add x --scope nosuch ./program", CLI_KIND_USAGE},
        {"add x --set timeouts=3 ./program", CLI_KIND_BAD_CONFIG},
        {"add good ./program", CLI_KIND_BAD_CONFIG},
        {"add banned --scope local ./program", CLI_KIND_BAD_CONFIG},
        {"add-json x {", CLI_KIND_USAGE},
        {"add-json x @/nonexistent", CLI_KIND_IO_ERROR},
        {"add-json x {\"command\":1}", CLI_KIND_BAD_CONFIG},
        {"import nosuch", CLI_KIND_NOT_FOUND},
        {"import --file x", CLI_KIND_USAGE},
        {"import claude-desktop --file /nonexistent", CLI_KIND_BAD_CONFIG},
        {"import claude-desktop nosuch --file desktop.json", CLI_KIND_NOT_FOUND},
        {"get good --scope local", CLI_KIND_NOT_FOUND},
        {"remove good --scope x", CLI_KIND_USAGE},
        {"approve theirs", CLI_KIND_NONE},
        {"approve nosuch", CLI_KIND_NOT_FOUND},
        {"reset-approvals x --all", CLI_KIND_USAGE},
        {"plugins nosuch", CLI_KIND_NOT_FOUND},
        {"plugins a b", CLI_KIND_USAGE},
        {"plugins nothing --plugin-dir modules", CLI_KIND_BAD_MODULE},
        {"plugins --check /nonexistent", CLI_KIND_NONE},
        {"completion", CLI_KIND_USAGE},
        {"completion csh", CLI_KIND_USAGE},
        {"watch --timeout 1s", CLI_KIND_USAGE},
        {"watch nosuch", CLI_KIND_NOT_FOUND},
        {"watch gone --until-ready", CLI_KIND_NONE},
        {"watch off", CLI_KIND_NONE},
        {"watch --strict-mcp-config", CLI_KIND_NO_SERVER},
        {"list gone off theirs banned broken", CLI_KIND_NONE},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *name = lines[i].words, *space = strchr(name, ' ');
        struct run r =
            run_of(cli_command_find(name, strcspn(name, " ")), space ? space + 1 : "");
        add_words(&r, "--json");
        expect(r, lines[i].kind);
    }
    /* the last line of a command that prints lines tells what went wrong */
    struct run r = run_of(cli_command_find("watch", 5),
                          "silent --until-ready --timeout " SHORT " --json --mcp-config");
    char more[1024];
    snprintf(more, sizeof more,
             "{\"mcpServers\":{\"silent\":{\"command\":\"%s\",\"args\":[\"serve\","
             "\"silent\"]}}}",
             self);
    add_words(&r, more);
    expect(r, CLI_KIND_TIMED_OUT);
}
END_TEST

/* ---- ways to fail: the output, and signals ---- */

/* What can't be written is not there, and the exit code says so. */
START_TEST(every_output_that_cannot_be_written)
{
    static const struct {
        enum where where;
        int exit_code;
    } places[] = {{TO_FULL, 4}, {TO_NOTHING, 4}, {TO_NOBODY, CLI_BROKEN_PIPE}};

    for (EACH(c))
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            for (int fails = 0; fails < 2; fails++) {
                struct run r = fails ? run_of(c, "--json --no-such-option") : well(c, "");
                bool silent = strcmp(c->name, "logs") == 0 && !fails;
                r.where = places[i].where;
                run(&r);
                ck_assert_uint_eq(r.len, 0);
                ck_assert_msg(
                    r.exit_code == places[i].exit_code || (silent && r.exit_code == 0),
                    "%s: exit code %d, not %d", r.line, r.exit_code, places[i].exit_code);
                finish(&r);
            }
}
END_TEST

START_TEST(every_request_that_is_interrupted)
{
    static const char *const modes[] = {"stops-connecting", "stops-in-request"};
    static const int signals[] = {SIGINT, SIGTERM};

    for (EACH(c)) {
        if (!(c->flags & CLI_SERVER))
            continue;
        for (size_t i = 0; i < 4; i++) {
            struct run r = with_server(c, "", modes[i / 2]);
            r.signal = signals[i % 2];
            expect(r, CLI_KIND_CANCELLED);
        }
    }
}
END_TEST

/* What is known by then is a document of its own, and lines are whole. */
START_TEST(every_list_that_is_interrupted)
{
    static const char *const names[] = {"list", "watch", "watch", "watch"};
    static const char *const options[] = {"", "", "--until-ready", "--plain"};
    char more[1024];

    snprintf(more, sizeof more,
             "{\"mcpServers\":{\"slow\":{\"command\":\"%s\",\"args\":[\"serve\","
             "\"stops-connecting\"]}}}",
             self);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct run r =
            run_of(cli_command_find(names[i], strlen(names[i])), "slow --json");
        add_words(&r, options[i]);
        add_words(&r, "--mcp-config");
        add_words(&r, more);
        r.signal = SIGINT;
        run(&r);
        enum cli_kind kind = judge(&r);
        ck_assert_int_eq(r.exit_code, CLI_SIGNAL + SIGINT);
        ck_assert_msg(
            kind == (r.len && strstr(r.out, "slow") ? CLI_KIND_NONE : CLI_KIND_CANCELLED),
            "%s: %s", r.line, r.out);
        finish(&r);
    }
    /* something is to be kept first */
    expect(run_of(cli_command_find("ping", 4), "gone --json"), CLI_KIND_NO_SERVER);
    struct run r = run_of(cli_command_find("logs", 4), "gone --follow --json");
    r.signal = SIGTERM;
    r.has_output = true;
    run(&r);
    ck_assert_int_eq(judge(&r), CLI_KIND_NONE);
    ck_assert_int_eq(r.exit_code, CLI_SIGNAL + SIGTERM);
    finish(&r);
}
END_TEST

/* Where no command has taken the signal: it waits for arguments. */
START_TEST(a_signal_before_anything_has_begun)
{
    struct run r = run_of(cli_command_find("call", 4), "good echo text=@fifo --json");
    int status;
    int fds[2];

    write_config();
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC), out = output_of(&r, fds);
    pid_t pid = start(&r, in, out);
    close(in);
    close(out);
    int fifo = open("fifo", O_WRONLY | O_CLOEXEC); /* it has opened the other end */
    kill(pid, SIGINT);
    read_all(&r, fds[0]);
    close(fds[0]);
    close(fifo);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "status %x", (unsigned)status);
    r.exit_code = WEXITSTATUS(status);
    ck_assert_int_eq(r.exit_code, CLI_SIGNAL + SIGINT);
    ck_assert_int_eq(judge(&r), CLI_KIND_CANCELLED);
    finish(&r);
}
END_TEST

/* ---- the whole ---- */

static void set_up(void)
{
    char path[128], home[80], module[1024];

    snprintf(dir, sizeof dir, "/tmp/mcplug-failures-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chdir(dir), 0);
    snprintf(home, sizeof home, "%s/home", dir);
    ck_assert_int_eq(mkdir(home, 0700), 0);
    static const char *const places[][2] = {{"HOME", ""},
                                            {"XDG_CONFIG_HOME", "/config"},
                                            {"XDG_STATE_HOME", "/state"},
                                            {"XDG_CACHE_HOME", "/cache"}};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", home, places[i][1]);
        setenv(places[i][0], path, 1);
    }
    snprintf(path, sizeof path, "%s/home/config", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/home/config/mcplug", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(config, sizeof config, "%s/settings.json", path);
    setenv("MCPLUG_TEST_SYSTEM", dir, 1);
    write_file("policy.json", "{\"deny\":[{\"name\":\"banned\"}]}");
    write_file("desktop.json", "{\"mcpServers\":{\"one\":{\"command\":\"x\"}}}");
    ck_assert_int_eq(mkdir("modules", 0755), 0);
    write_file("modules/nothing.so", "not a library");
    snprintf(module, sizeof module, "%s/trial.so", getenv("MCPLUG_TEST_MODULES"));
    ck_assert_int_eq(mkdir("converters", 0755), 0);
    ck_assert_int_eq(symlink(module, "converters/trial.so"), 0);
    write_file("trial", "words");
    snprintf(module, sizeof module, "%s/script.so", getenv("MCPLUG_TEST_MODULES"));
    ck_assert_int_eq(mkdir("models", 0755), 0);
    ck_assert_int_eq(symlink(module, "models/script.so"), 0);
    write_file("answers", "text Hello\n");
    write_file("fails", "fail -14 500 no\n");
    write_file("cut", "text Hel\nstop length\n");
    write_file("calls", "call 1 mcp__good__echo {\"text\":\"a\"}\n");
    ck_assert_int_eq(mkfifo("fifo", 0600), 0);
}

static void tear_down(void)
{
    pid_t pid;
    const char *const argv[] = {"rm", "-rf", dir, NULL};
    ck_assert_int_eq(chdir("/"), 0);
    if (posix_spawnp(&pid, "rm", NULL, NULL, (char *const *)argv, environ) == 0)
        waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *build = getenv("MCPLUG_BUILD");

    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2]);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0 || !build)
        return 99;
    snprintf(program, sizeof program, "%s/tests/config/mcplug", build);

    Suite *s = suite_create("failures");
    TCase *t = tcase_create("failures");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, without_a_command);
    tcase_add_test(t, every_command_line_that_is_wrong);
    tcase_add_test(t, every_command_that_succeeds);
    tcase_add_test(t, every_configuration_that_is_wrong);
    tcase_add_test(t, every_server_that_may_not_be_used);
    tcase_add_test(t, every_server_that_fails);
    tcase_add_test(t, every_server_that_wants_credentials);
    tcase_add_test(t, every_call_that_fails);
    tcase_add_test(t, what_other_commands_refuse);
    tcase_add_test(t, every_output_that_cannot_be_written);
    tcase_add_test(t, every_request_that_is_interrupted);
    tcase_add_test(t, every_list_that_is_interrupted);
    tcase_add_test(t, a_signal_before_anything_has_begun);
    suite_add_tcase(s, t);
    return run_to_end(s);
}
