/* For the suites about toolboxes and servers: a host, servers that are a few lines of
 * shell and say what the test wants, and the loop until something has happened. */
#ifndef BOX_KIT_H
#define BOX_KIT_H

#include "fake.h"
#include "now.h"

#include "base/error.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static mcplug *host;
static mcplug_toolbox *box;
static char logged[1 << 18];
#ifndef FILE_KIT_H /* which has one */
static struct mcplug_error err;
#endif
static char book[64];    /* a file in which servers note their starts */
static char results[64]; /* the directory of stored results */
static const struct mcplug_plugin *const *modules; /* of the test; NULL: none */

static inline void on_log(void *arg, int level, const char *source, const char *text)
{
    static const char *const names[] = {"ERR", "WRN", "VRB", "TRC"};
    size_t n = strlen(logged);
    (void)arg;
    snprintf(logged + n, sizeof logged - n, "%s %s %s\n", names[level], source, text);
}

static inline void begin(const struct mcplug_toolbox_options *options)
{
    struct mcplug_options o = {.struct_size = sizeof o,
                               .log_level = MCPLUG_LOG_VERBOSE,
                               .log = on_log,
                               .results_dir = results,
                               .plugins = modules};

    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    snprintf(book, sizeof book, "/tmp/box_kit.%d.book", (int)getpid());
    snprintf(results, sizeof results, "/tmp/box_kit.%d.results", (int)getpid());
    unlink(book);
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
    box = mcplug_toolbox_new(host, options, &err);
    ck_assert_msg(box != NULL, "%s", err.text);
}

static inline int remove_result(void *arg, const struct mcplug_stored *one)
{
    (void)arg;
    unlink(one->path);
    return 1;
}

static inline void end(void)
{
    mcplug_free(host); /* and the toolbox with it */
    unlink(book);
    mcplug_stored_each(results, remove_result, NULL, NULL);
    rmdir(results);
}

/* ---- waiting ---- */

static inline void turn(void)
{
    struct pollfd p = {mcplug_fd(host), POLLIN, 0};
    int ms = mcplug_timeout(host);
    poll(&p, 1, ms < 0 || ms > 20 ? 20 : ms);
    mcplug_turn(host, 0);
}

static inline void turn_for(uint64_t ms)
{
    for (uint64_t until = now_ms() + ms; now_ms() < until;)
        turn();
}

#define UNTIL(condition)                                                                 \
    do {                                                                                 \
        uint64_t limit_ = now_ms() + 50000;                                              \
        while (!(condition)) {                                                           \
            ck_assert_msg(now_ms() < limit_, "never: %s\n%.2000s", #condition, logged);  \
            turn();                                                                      \
        }                                                                                \
    } while (0)

#define LOGGED(text)                                                                     \
    ck_assert_msg(strstr(logged, text) != NULL, "no: %s\n%.2000s", text, logged)

/* ---- servers ---- */

static inline mcplug_settings *example(const char *era)
{
    char path[4096];
    mcplug_settings *s = mcplug_settings_new("stdio");
    ck_assert_ptr_nonnull(getenv("MCPLUG_BUILD"));
    snprintf(path, sizeof path, "%s/examples/mcplug-example-server",
             getenv("MCPLUG_BUILD"));
    mcplug_settings_set(s, "command", path);
    if (era) {
        mcplug_settings_add(s, "args", "--era");
        mcplug_settings_add(s, "args", era);
    }
    return s;
}

/* A server of the older era. It is in the book as + when it starts and as - when it is
 * up. The tool `hang` is never answered, `die` ends it, `bad` fails. */
static const char script[] =
    "if [ -n \"$BOOK\" ]; then echo + >> \"$BOOK\"; fi\n"
    "if [ -n \"$DELAY\" ]; then sleep \"$DELAY\"; fi\n"
    "eval \"$FIRST\"\n"
    "while IFS= read -r line; do\n"
    "  id=${line#*\\\"id\\\":}; id=${id%%[,\\}]*}\n"
    "  case $line in\n"
    "  *'\"notifications/'*) continue;;\n"
    "  *'\"initialize\"'*) reply='\"result\":{\"protocolVersion\":\"2025-06-18\",'\n"
    "    reply=$reply'\"capabilities\":{\"tools\":{\"listChanged\":true},'\n"
    "    reply=$reply'\"prompts\":{},\"resources\":{}},\"instructions\":'\n"
    "    "
    "reply=$reply\"\\\"$SAYS\\\"\"',\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}'"
    ";;\n"
    "  *'\"tools/list\"'*) reply=\"\\\"result\\\":{\\\"tools\\\":[$TOOLS]}\"\n"
    "    if [ -n \"$BOOK\" ]; then echo - >> \"$BOOK\"; fi;;\n"
    "  *'\"prompts/list\"'*) reply=\"\\\"result\\\":{\\\"prompts\\\":[$PROMPTS]}\";;\n"
    "  *'\"resources/list\"'*) "
    "reply=\"\\\"result\\\":{\\\"resources\\\":[$RESOURCES]}\";;\n"
    "  *'\"name\":\"hang\"'*) continue;;\n"
    "  *'\"name\":\"die\"'*) exit 3;;\n"
    "  *'\"name\":\"bad\"'*) reply='\"result\":{\"isError\":true,\"content\":[{'\n"
    "    reply=$reply'\"type\":\"text\",\"text\":\"no luck\"}]}';;\n"
    "  *'\"tools/call\"'*) if [ -n \"$FILE\" ]; then RESULT=$(cat \"$FILE\"); fi\n"
    "    reply=\"\\\"result\\\":{$RESULT}\"\n"
    "    if [ -n \"$ERROR\" ]; then reply=\"\\\"error\\\":$ERROR\"; fi;;\n"
    "  *'\"resources/read\"'*) reply='\"result\":{\"contents\":[{\"uri\":\"x:1\",'\n"
    "    reply=$reply'\"text\":\"one\"},{\"uri\":\"x:2\",\"text\":\"two\"}]}';;\n"
    "  *'\"ping\"'*) reply='\"result\":{}';;\n"
    "  *) reply='\"error\":{\"code\":-32601,\"message\":\"no\"}';;\n"
    "  esac\n"
    "  printf '{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\\n' \"$id\" \"$reply\"\n"
    "done\n";

/* NAME, VALUE, .. NULL: TOOLS, PROMPTS, RESOURCES as items; RESULT as members, or in a
 * FILE; ERROR; SAYS; DELAY in seconds; FIRST, commands before all else. */
static inline mcplug_settings *scripted(const char *const *vars)
{
    mcplug_settings *s = mcplug_settings_new("stdio");
    mcplug_settings_set(s, "command", "sh");
    mcplug_settings_add(s, "args", "-c");
    mcplug_settings_add(s, "args", script);
    mcplug_settings_put(s, "env", "BOOK", book);
    for (; *vars; vars += 2)
        mcplug_settings_put(s, "env", vars[0], vars[1]);
    return s;
}

#define SCRIPTED(...) scripted((const char *const[]){__VA_ARGS__, NULL})
#define TOOL(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"

/* take `settings` */
static inline void put_in(const char *name, mcplug_settings *settings,
                          const struct mcplug_server_options *o)
{
    int r = mcplug_toolbox_add(box, name, settings, o, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(settings);
}

struct warmed {
    unsigned times;
    size_t ready, failed;
};

static inline void on_warm(void *arg, mcplug_toolbox *b, size_t ready, size_t failed)
{
    struct warmed *w = arg;
    ck_assert_ptr_eq(b, box);
    w->times++;
    w->ready = ready;
    w->failed = failed;
}

static inline void warm_up(void)
{
    struct warmed w = {0};
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, on_warm, &w, &err), MCPLUG_OK);
    ck_assert_uint_eq(w.times, 0); /* never inside the call */
    UNTIL(w.times);
    ck_assert_msg(w.failed == 0, "%zu failed\n%.2000s", w.failed, logged);
}

static inline struct mcplug_status status_of(const char *server)
{
    struct mcplug_status s = {.struct_size = sizeof s};
    mcplug_server_status(mcplug_toolbox_server(box, server), &s);
    return s;
}

static inline bool lives(int64_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld", (long long)pid);
    return access(path, F_OK) == 0;
}

/* ---- calls ---- */

struct seen { /* a record, kept */
    unsigned times;
    bool ok, has_extras;
    int code;
    uint64_t latency_ms;
    size_t len;
    char result[8192], kind[32], name_space[64], server[64], tool[64], index[32];
    char json[32768];
    unsigned steps, params;
    double progress;
};

static inline void on_record(void *arg, mcplug_call *call, const struct mcplug_record *r)
{
    struct seen *s = arg;
    (void)call;
    s->times++;
    s->ok = r->ok;
    s->has_extras = r->extras != NULL;
    s->code = r->why ? r->why->code : MCPLUG_OK;
    s->latency_ms = r->latency_ms;
    s->len = r->result_len;
    snprintf(s->result, sizeof s->result, "%s", r->result);
    snprintf(s->kind, sizeof s->kind, "%s", r->kind);
    snprintf(s->name_space, sizeof s->name_space, "%s", r->name_space);
    snprintf(s->server, sizeof s->server, "%s", r->server);
    snprintf(s->tool, sizeof s->tool, "%s", r->tool);
    snprintf(s->index, sizeof s->index, "%s", r->code_index ? r->code_index : "");
    const char *json = mcplug_record_json(r);
    ck_assert_ptr_nonnull(json);
    snprintf(s->json, sizeof s->json, "%s", json);
}

static inline mcplug_call *use(struct seen *s, const char *name, const char *arguments)
{
    memset(s, 0, sizeof *s);
    mcplug_call *call =
        mcplug_toolbox_call(box, name, arguments, NULL, on_record, s, &err);
    ck_assert_msg(call != NULL, "%s", err.text);
    ck_assert_uint_eq(s->times, 0);
    return call;
}

static inline void used(struct seen *s, const char *name, const char *arguments)
{
    use(s, name, arguments);
    UNTIL(s->times);
}

#endif
