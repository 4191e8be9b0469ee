/* A scripted hostile peer over stdio, for faults.c: evil [--legacy] MODE [ARG].
 *
 * It comes up as a proper server of 2026-07-28, or with --legacy of 2025-11-25, and
 * then misbehaves as MODE says: at every tools/call, from the start, or in lists. The
 * tool "good" always works while there is anybody to answer. Modes are in two tables,
 * `scripts` (an answer that is one fixed text) and `acts` (the rest). It uses no
 * library and no JSON parser: whoever tests a parser should not need one. */
#include "evil.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- saying ---- */

void say(const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(STDOUT_FILENO, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(0); /* nobody listens */
        data += n;
        len -= (size_t)n;
    }
}

void sayf(const char *format, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    say(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void say_many(char c, uint64_t count)
{
    static char block[65536];

    memset(block, c, sizeof block);
    for (; count > sizeof block; count -= sizeof block)
        say(block, sizeof block);
    say(block, (size_t)count);
}

void say_ok(const struct evil *e, uint64_t id, const char *text)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{%s\"content\":[{\"type\":\"text\","
         "\"text\":\"%s\"}]}}\n",
         (unsigned long long)id, e->legacy ? "" : "\"resultType\":\"complete\",", text);
}

/* ---- answers that are one text; @ stands for the id of the call ---- */

#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":@,"
#define OK_WITH(more)                                                                    \
    HEAD "\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\","      \
         "\"text\":\"fine\"}]" more "}}"
#define OK OK_WITH("")
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard_of\"}"

static const struct script {
    const char *mode, *text;
    size_t len;
} scripts[] = {
#define S(mode, text)                                                                    \
    {                                                                                    \
        mode, text, sizeof text - 1                                                      \
    }
    S("noise", "Server starting\n[info] ready\n\033[31mred\033[0m\n42\n\"text\"\ntrue\n"
               "null\n-\n\n   \n[1,2\n" OK "\nbye\n"),
    S("bom-later", "\357\273\277" OK "\n"),
    S("crlf", "\r\n" OK "\r\n\r\n"),
    S("nul-line", "\0\0\0\n" OK "\n"),
    S("nul-in-string", HEAD "\"result\":{\"text\":\"a\0b\"}}\n"),
    S("nul-between", HEAD "\0\"result\":{}}\n"),
    S("nul-behind", OK "\0\n"),
    S("utf8", HEAD "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\377\"}]}}\n"),
    S("utf8-overlong", HEAD "\"result\":{\"text\":\"\300\200\"}}\n"),
    S("utf8-surrogate", HEAD "\"result\":{\"text\":\"\355\240\200\"}}\n"),
    S("lone-surrogate",
      OK_WITH(",\"x\":\"\\ud800\",\"\\udfff\":\"\\ud800\\ud800\"") "\n"),
    S("1e400", OK_WITH(",\"n\":[1e400,-1e400,1e-400]") "\n"),
    S("1e400-id", "{\"jsonrpc\":\"2.0\",\"id\":1e400,\"result\":{}}\n" OK "\n"),
    S("nan", HEAD "\"result\":{\"n\":NaN}}\n"),
    S("infinity", HEAD "\"result\":{\"n\":-Infinity}}\n"),
    S("twice", OK "\n" OK "\n"),
    S("unknown-id",
      "{\"jsonrpc\":\"2.0\",\"id\":999999999,\"result\":{}}\n"
      "{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{}}\n"
      "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}\n"
      "{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}\n"
      "{\"jsonrpc\":\"2.0\",\"id\":18446744073709551617,\"result\":{}}\n" OK "\n"),
    S("id-string", "{\"jsonrpc\":\"2.0\",\"id\":\"@\",\"result\":{}}\n"),
    S("id-null", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
                 "\"message\":\"Parse error\"}}\n"),
    S("both", HEAD "\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}\n"),
    S("neither", HEAD "\"more\":{}}\n"),
    S("result-array", HEAD "\"result\":[]}\n"),
    S("result-string", HEAD "\"result\":\"fine\"}\n"),
    S("result-null", HEAD "\"result\":null}\n"),
    S("error-bare", HEAD "\"error\":{\"message\":\"no code\"}}\n"),
    S("error-empty", HEAD "\"error\":{}}\n"),
    S("error-string", HEAD "\"error\":\"broken\"}\n"),
    S("error-null", HEAD "\"error\":null}\n"),
    S("error-huge-code", HEAD "\"error\":{\"code\":99999999999,\"message\":\"big\"}}\n"),
    S("error",
      HEAD "\"error\":{\"code\":-32050,\"message\":\"on \\u001b[31mpurpose\"}}\n"),
    S("method-too", HEAD "\"method\":\"x/y\",\"result\":{}}\n"),
    S("method-number", "{\"jsonrpc\":\"2.0\",\"method\":42}\n" OK "\n"),
    S("batch", "[" NOTE "," OK "," NOTE "]\n"),
    S("batch-empty", "[]\n" OK "\n"),
    S("batch-junk", "[1,\"x\",null,[],[" OK "],{},{\"id\":0}," OK "]\n"),
    S("batch-broken", "[" OK ",\n" OK "\n"),
    S("duplicate-id", HEAD "\"id\":@,\"result\":{}}\n"),
    S("duplicate-result", HEAD "\"result\":{},\"result\":{\"x\":1}}\n"),
    S("duplicate-inside", OK_WITH(",\"x\":1,\"x\":2") "\n"),
    S("duplicate-deep", OK_WITH(",\"y\":{\"x\":1,\"x\":2}") "\n"),
    S("result-type", HEAD "\"result\":{\"resultType\":\"surprise\"}}\n"),
    S("result-type-number", HEAD "\"result\":{\"resultType\":7}}\n"),
    S("two-in-a-line", OK " " OK "\n"),
    S("cut-short", HEAD "\"result\":{\"content\":[\n"),
    S("no-comma", HEAD "\"result\":{} \"x\":1}\n"),
    S("state-forever", HEAD "\"result\":{\"resultType\":\"input_required\","
                            "\"requestState\":\"again\"}}\n"),
    S("input-forever",
      HEAD "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"again\","
           "\"inputRequests\":{\"q\":{\"method\":\"elicitation/create\",\"params\":{"
           "\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\"}}}}}}\n"),
    S("input-not-offered",
      HEAD "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{"
           "\"method\":\"sampling/createMessage\",\"params\":{}}}}}\n"),
    S("input-empty", HEAD "\"result\":{\"resultType\":\"input_required\"}}\n"),
    S("input-array", HEAD "\"result\":{\"resultType\":\"input_required\","
                          "\"inputRequests\":[1,{}],\"requestState\":5}}\n"),
    S("task-forever", HEAD "\"result\":{\"resultType\":\"task\",\"taskId\":\"t\","
                           "\"status\":\"working\",\"pollIntervalMs\":0}}\n"),
    S("task-nameless", HEAD "\"result\":{\"resultType\":\"task\",\"status\":\"x\"}}\n"),
    S("task-odd", HEAD "\"result\":{\"resultType\":\"task\",\"taskId\":\"t\","
                       "\"status\":\"dancing\"}}\n"),
#undef S
};

static const struct script *script_of(const char *mode)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (strcmp(scripts[i].mode, mode) == 0)
            return &scripts[i];
    return NULL;
}

static void play(const struct script *s, uint64_t id)
{
    static char text[16384];
    char number[24];
    size_t n = 0, digits;

    digits = (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)id);
    for (size_t i = 0; i < s->len; i++) {
        const char *piece = s->text[i] == '@' ? number : s->text + i;
        size_t len = s->text[i] == '@' ? digits : 1;
        if (n + len > sizeof text)
            abort();
        memcpy(text + n, piece, len);
        n += len;
    }
    say(text, n);
}

/* ---- hearing ---- */

/* The number behind `key`, or 0. Our hosts write their frames without spaces. */
static uint64_t number_behind(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void come_up(const struct evil *e, uint64_t id, int modern)
{
    static const char caps[] = "{\"tools\":{},\"resources\":{},\"logging\":{}}";

    if (modern)
        sayf(
            "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
            "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":%s,\"_meta\":{"
            "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"evil\",\"version\":\"1\"}"
            "}}}\n",
            (unsigned long long)id, caps);
    else
        sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":"
             "\"2025-11-25\",\"capabilities\":%s,\"serverInfo\":{\"name\":\"evil\","
             "\"version\":\"1\"}}}\n",
             (unsigned long long)id, caps);
    (void)e;
}

static void refuse(uint64_t id)
{
    sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32601,\"message\":"
         "\"Method not found\"}}\n",
         (unsigned long long)id);
}

static void on_call(struct evil *e, uint64_t id, const char *line)
{
    if (strstr(line, "\"name\":\"good\"")) {
        say_ok(e, id, "good");
    } else if (e->script) {
        play(e->script, id);
    } else if (e->act->call) {
        e->calls++;
        e->act->call(e, id);
    } else {
        say_ok(e, id, "fine");
    }
}

static void on_list(struct evil *e, uint64_t id, const char *line)
{
    if (e->act && e->act->list)
        e->act->list(e, id, line);
    else
        sayf("{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
             "\"tools\":[{\"name\":\"good\",\"inputSchema\":{\"type\":\"object\"}}]}}\n",
             (unsigned long long)id);
}

static void on_request(struct evil *e, uint64_t id, const char *line)
{
    int discover = strstr(line, "\"method\":\"server/discover\"") != NULL;

    if (discover && e->act && e->act->discover)
        e->act->discover(e, id);
    else if (discover && e->legacy)
        refuse(id);
    else if (discover || strstr(line, "\"method\":\"initialize\""))
        come_up(e, id, discover);
    else if (strstr(line, "\"method\":\"tools/call\""))
        on_call(e, id, line);
    else if (strstr(line, "\"method\":\"tools/list\""))
        on_list(e, id, line);
    else if (strstr(line, "\"method\":\"tasks/get\"") && e->script)
        play(e->script, id);
    else if (!strstr(line, "\"method\":\"subscriptions/listen\""))
        refuse(id);
}

static void on_line(struct evil *e, const char *line)
{
    uint64_t id = number_behind(line, "\"id\":");

    if (strstr(line, "\"method\":\"notifications/cancelled\"")) {
        if (e->act && e->act->cancelled)
            e->act->cancelled(e, number_behind(line, "\"requestId\":"));
    } else if (!strstr(line, "\"method\":")) {
        if (e->act && e->act->answer)
            e->act->answer(e, line);
    } else if (id) {
        on_request(e, id, line);
    }
}

/* ---- life ---- */

static void usage(void)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        fprintf(stderr, "%s\n", scripts[i].mode);
    for (const struct act *act = acts; act->mode; act++)
        fprintf(stderr, "%s\n", act->mode);
    exit(2);
}

int main(int argc, char **argv)
{
    static const struct act plain = {0};
    struct evil e = {.act = &plain};
    char *line = NULL;
    size_t room = 0;

    if (argc > 1 && strcmp(argv[1], "--legacy") == 0) {
        e.legacy = 1;
        argv++, argc--;
    }
    if (argc < 2)
        usage();
    e.script = script_of(argv[1]);
    for (const struct act *act = acts; act->mode; act++)
        if (strcmp(act->mode, argv[1]) == 0)
            e.act = act;
    if (!e.script && e.act == &plain && strcmp(argv[1], "plain") != 0)
        usage();
    e.arg = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (e.act->start)
        e.act->start(&e);
    for (;;) {
        ssize_t n = getline(&line, &room, stdin);
        if (n >= 0)
            on_line(&e, line);
        else if (e.act->listen_lost)
            pause();
        else
            break;
    }
    free(line);
    return 0;
}
