/* A whole session in which any allocation may fail: torture SERVER [ARGS..], SERVER being
 * the example server, or the hostile one in any of its modes, failalloc.so preloaded; or
 * torture URL [TYPE] for a server that is there already. With $TORTURE_THREAD the loop
 * has a thread. Every error is fine. What is not: a callback twice or never, an error
 * that says nothing, books that do not add up, and anything that is left: memory,
 * descriptors, processes. Exit codes: 0 fine, 2 a broken promise, 3 memory left, 4 a
 * descriptor left, 5 a process left; SIGALRM: hung. */
#include <mcplug/mcplug.h>

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void failalloc_start(void) __attribute__((weak));
unsigned failalloc_stop(void) __attribute__((weak));

enum { WATCHDOG_S = 10 };

static unsigned changes, questions, lines, drops;
static int example;     /* the server is the example, whose tools are known */
static mcplug *turning; /* the host, when its loop is ours to turn */

static void broken(const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(text, sizeof text - 1, format, ap);
    va_end(ap);
    text[n++] = '\n';
    if (write(STDERR_FILENO, text, (size_t)n) < 0)
        _exit(2);
    _exit(2);
}

/* 1: went well. An error has to say what it is. */
static int fine(const char *step, int r, const struct mcplug_error *err)
{
    if (r == 0)
        return 1;
    if (strcmp(step, "open") == 0 && !getenv("FAILALLOC_AT"))
        broken("open: %s, though nothing was made to fail", err->text);
    if (err->code != r || err->text[0] == '\0')
        broken("%s: returned %d, but the error is %d \"%s\"", step, r, err->code,
               err->text);
    return 0;
}

/* ---- what the library calls ---- */

static void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)arg, (void)level, (void)source, (void)text;
    lines++;
}

static void on_question(void *arg, mcplug_server *server, mcplug_input *input,
                        const char *params, size_t len)
{
    (void)arg, (void)server, (void)params, (void)len;
    questions++;
    if (mcplug_input_answer(
            input, "{\"action\":\"accept\",\"content\":{\"name\":\"torture\"}}") != 0)
        broken("a good answer was not taken");
}

static void on_changed(void *arg, mcplug_server *server, int kind, const char *uri)
{
    (void)arg, (void)server, (void)kind, (void)uri;
    changes++;
}

static void on_text(void *arg, mcplug_server *server, const char *text, size_t len)
{
    (void)arg, (void)server, (void)text, (void)len;
    lines++;
}

static void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    (void)arg, (void)server;
    if (!why || state != MCPLUG_STATE_ENDED)
        return;
    if (++drops > 1)
        broken("dropped twice");
    fine("dropped", why->code, why);
}

struct call {
    unsigned done, progress;
    int code;
};

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct call *c = arg;
    (void)call;
    if (++c->done > 1)
        broken("a call ended twice");
    if (!result && !why)
        broken("a call ended with neither result nor error");
    c->code = why ? why->code : 0;
    if (why)
        fine("done", why->code, why);
}

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    (void)call, (void)progress, (void)total, (void)message;
    ((struct call *)arg)->progress++;
}

/* ---- steps ---- */

static void check_books(mcplug_server *server)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};

    mcplug_server_ledger(server, &l);
    if (l.issued != l.under_way + l.ok + l.tool_error + l.peer_error + l.transport_error +
                        l.timed_out + l.cancelled)
        broken("the books do not add up");
}

static void call_and_wait(mcplug_server *server, const char *tool, const char *args)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;

    int r = mcplug_call_tool_wait(server, tool, args, NULL, &result, &err);
    if (fine(tool, r, &err) && !result)
        broken("%s: no result", tool);
    if (result && r == 0) {
        mcplug_result_is_error(result);
        mcplug_result_error_text(result);
    }
    mcplug_result_unref(result);
}

/* A tool that the peer for WebSocket never answers; others know no such tool. */
static void call_in_vain(mcplug_server *server)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 20};
    mcplug_result *result = NULL;

    fine("quiet", mcplug_call_tool_wait(server, "quiet", NULL, &o, &result, &err), &err);
    mcplug_result_unref(result);
}

static void list_all(mcplug_server *server)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    for (int kind = MCPLUG_TOOLS; kind <= MCPLUG_TEMPLATES; kind <<= 1) {
        mcplug_list *list = NULL;
        if (fine("list", mcplug_get_list_wait(server, kind, NULL, &list, &err), &err) &&
            (!list ||
             (example && kind == MCPLUG_TOOLS && mcplug_list_find(list, "echo") < 0)))
            broken("a list without what is in it");
        mcplug_list_unref(list);
    }
}

/* With progress to its end; or cancelled when `ms` is long. */
static void sleep_call(mcplug_server *server, const char *args, int cancel)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct call c = {0};
    struct mcplug_call_options o = {.struct_size = sizeof o,
                                    .timeout_ms = 1000,
                                    .meta = "{\"x\":1}",
                                    .log_level = "debug",
                                    .progress = on_progress,
                                    .progress_arg = &c};

    mcplug_call *call = mcplug_call_tool(server, "sleep", args, &o, on_done, &c, &err);
    if (!call) {
        fine("sleep", err.code ? err.code : MCPLUG_EINVAL, &err);
        return;
    }
    if (cancel)
        mcplug_cancel(call);
    if (c.done)
        broken("a call ended inside of what started or cancelled it");
    while (!c.done)
        mcplug_turn(turning, 1);
}

/* Several at once, a few of which are cancelled, of any of the server's tools. */
static void herd(mcplug_server *server, int cancel)
{
    enum { CALLS = 20 };
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 300};
    struct call c[CALLS] = {{0}};
    mcplug_call *calls[CALLS];

    for (int i = 0; i < CALLS; i++) {
        calls[i] = mcplug_call_tool(server, i % 3 ? "bad" : "ask_name", NULL, &o, on_done,
                                    &c[i], &err);
        if (!calls[i])
            fine("call", err.code ? err.code : MCPLUG_EINVAL, &err);
        c[i].done += !calls[i];
    }
    for (int i = 0; cancel && i < CALLS; i += 2)
        if (calls[i])
            mcplug_cancel(calls[i]);
    for (;;) {
        unsigned done = 0;
        for (int i = 0; i < CALLS; i++)
            done += c[i].done;
        if (done == CALLS)
            break;
        mcplug_turn(turning, 1);
    }
}

static void spill(mcplug_server *server)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_spill info = {.struct_size = sizeof info};
    mcplug_result *result = NULL;
    char byte;

    int r =
        mcplug_call_tool_wait(server, "big", "{\"bytes\":204800}", NULL, &result, &err);
    if (fine("big", r, &err) && example &&
        (mcplug_result_spills(result) != 1 ||
         mcplug_result_spill(result, 0, &info) != 0 || info.size != 204800 ||
         mcplug_result_spill_read(result, 0, 204799, &byte, 1) != 1))
        broken("the long string is not whole");
    mcplug_result_unref(result);
}

typedef mcplug_call *subscribe_fn(mcplug_server *server, const char *uri,
                                  const struct mcplug_call_options *options,
                                  mcplug_done_fn *done, void *arg,
                                  struct mcplug_error *err);

static void subscribe_call(mcplug_server *server, const char *uri, subscribe_fn *fn)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 1000};
    struct call c = {0};

    mcplug_call *call = fn(server, uri, &o, on_done, &c, &err);
    if (!call)
        fine("subscribe", err.code ? err.code : MCPLUG_EINVAL, &err);
    while (call && !c.done)
        mcplug_turn(turning, 1);
}

static void subscribe(mcplug_server *server)
{
    static const char uri[] = "example:///counter";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;

    subscribe_call(server, uri, mcplug_subscribe);
    call_and_wait(server, "touch", "{\"uri\":\"example:///counter\"}");
    fine("read",
         mcplug_request_wait(server, "resources/read", "{\"uri\":\"example:///counter\"}",
                             NULL, &result, &err),
         &err);
    mcplug_result_unref(result);
    subscribe_call(server, uri, mcplug_unsubscribe);
}

static void ping(mcplug_server *server)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct call c = {0};

    if (!mcplug_ping(server, NULL, on_done, &c, &err)) {
        fine("ping", err.code ? err.code : MCPLUG_EINVAL, &err);
        return;
    }
    while (!c.done)
        mcplug_turn(turning, 1);
}

static void own_turns(mcplug_server *server)
{
    sleep_call(server, "{\"ms\":102}", 0);
    sleep_call(server, "{\"ms\":60000}", 1);
    herd(server, 0);
    herd(server, 1);
    ping(server);
}

static void all_steps(mcplug_server *server)
{
    list_all(server);
    call_and_wait(server, "echo", "{\"text\":\"hello\"}");
    call_and_wait(server, "fail", NULL);
    call_and_wait(server, "no_such_tool", NULL);
    call_in_vain(server);
    if (turning)
        own_turns(server);
    call_and_wait(server, "ask_name", NULL);
    call_and_wait(server, "log", "{\"level\":\"error\",\"text\":\"ouch\"}");
    spill(server);
    subscribe(server);
    call_and_wait(server, "grow", NULL);
    list_all(server);
    call_and_wait(server, "exit", "{\"code\":3}");
    check_books(server);
}

/* ---- the session ---- */

static int is_url(const char *server)
{
    return strstr(server, "://") != NULL;
}

static int fill(mcplug_settings *s, char **argv)
{
    if (is_url(argv[0]))
        return mcplug_settings_set(s, "url", argv[0]);
    int r = mcplug_settings_set(s, "command", argv[0]);
    for (argv++; r == 0 && *argv; argv++)
        r = mcplug_settings_add(s, "args", *argv);
    return r == 0 ? mcplug_settings_put(s, "env", "TORTURE", "1") : r;
}

static void session(mcplug *host, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .once = 1,
                                      .lists = MCPLUG_TOOLS | MCPLUG_RESOURCES,
                                      .name = "tortured",
                                      .timeout_ms = 5000,
                                      .request_ms = 500,
                                      .tool_ms = 500,
                                      .max_memory = 256 * 1024,
                                      .log_level = "debug",
                                      .elicit = on_question,
                                      .sample = on_question,
                                      .changed = on_changed,
                                      .logged = on_text,
                                      .remark = on_text,
                                      .state = on_state};
    mcplug_settings *settings = mcplug_settings_new(is_url(argv[0]) ? argv[1] : "stdio");
    mcplug_server *server = NULL;

    if (settings && fill(settings, argv) == 0 &&
        fine("open", mcplug_open_wait(host, settings, &o, &server, &err), &err)) {
        example = strstr(mcplug_server_info(server), "evil") == NULL;
        all_steps(server);
        mcplug_close_wait(server);
    }
    mcplug_settings_free(settings);
}

static unsigned open_fds(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_options o = {.struct_size = sizeof o,
                               .log_level = MCPLUG_LOG_TRACE,
                               .spill_dir = "/tmp",
                               .log = on_log};

    if (argc < 2)
        return 64;
    mcplug_free(mcplug_new(NULL, NULL)); /* libuv keeps a pipe from its first loop on */
    unsigned fds = open_fds();
    alarm(WATCHDOG_S);
    if (failalloc_start)
        failalloc_start();
    mcplug *host = mcplug_new(&o, &err);
    turning = getenv("TORTURE_THREAD") ? NULL : host;
    if (host && !turning && !fine("thread", mcplug_start_thread(host, &err), &err))
        turning = host;
    if (host)
        session(host, argv + 1);
    else
        fine("new", err.code ? err.code : MCPLUG_EINVAL, &err);
    mcplug_free(host);
    unsigned left = failalloc_stop ? failalloc_stop() : 0;
    if (getenv("TORTURE_VERBOSE"))
        printf("%u changes, %u questions, %u lines, %u drops; %u blocks left\n", changes,
               questions, lines, drops, left);
    if (left)
        return 3;
    if (open_fds() != fds)
        return 4;
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 5;
}
