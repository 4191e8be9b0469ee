/* Threads: every line of standard input, TOOL ARGUMENTS, is a call of a configured
 * server, and each resource named on the command line is printed again when it changes.
 * At the end it tells how the calls ended.
 *
 *   cc embed-threads.c $(pkg-config --cflags --libs mcplug) -o embed-threads
 *   ./embed-threads SERVER [URI..]
 *   echo 'touch {"uri":"example:///counter"}' | ./embed-threads demo example:///counter
 *
 * Three threads: main() reads the lines. The loop runs on a thread of the library;
 * callbacks come there, and must not block. The worker prints, and may wait.
 */
#include <mcplug/mcplug.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job { /* for the worker */
    struct job *next;
    mcplug_result *result; /* to print; else NULL */
    const char *uri;       /* to read */
};

static struct {
    mcplug *host;
    mcplug_server *server; /* for the loop thread, but for the *_wait functions */
    char **uris;           /* NULL-ended */

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    struct job *jobs, **last_job;
    int open; /* calls and jobs that have not ended */
    int ready, ended, failed;
} app = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .last_job = &app.jobs,
};

/* Adds to a number that other threads wait for. */
static void add(int *number, int n)
{
    pthread_mutex_lock(&app.lock);
    *number += n;
    pthread_cond_broadcast(&app.changed);
    pthread_mutex_unlock(&app.lock);
}

static void wait_until(const int *number, int value)
{
    pthread_mutex_lock(&app.lock);
    while (*number != value)
        pthread_cond_wait(&app.changed, &app.lock);
    pthread_mutex_unlock(&app.lock);
}

/* ---- the worker ---- */

static void give_job(mcplug_result *result, const char *uri)
{
    struct job *job = calloc(1, sizeof *job);

    if (!job)
        abort();
    /* The callback has only borrowed the result; the worker needs it for longer. */
    job->result = result ? mcplug_result_ref(result) : NULL;
    job->uri = uri;
    pthread_mutex_lock(&app.lock);
    *app.last_job = job;
    app.last_job = &job->next;
    app.open++;
    pthread_cond_broadcast(&app.changed);
    pthread_mutex_unlock(&app.lock);
}

/* The next job, or NULL at the end. */
static struct job *take_job(void)
{
    pthread_mutex_lock(&app.lock);
    while (!app.jobs && !app.ended)
        pthread_cond_wait(&app.changed, &app.lock);
    struct job *job = app.jobs;
    if (job)
        app.jobs = job->next;
    if (!app.jobs)
        app.last_job = &app.jobs;
    pthread_mutex_unlock(&app.lock);
    return job;
}

/* Blocks until the answer is there, which is fine on any thread but the loop's. */
static void read_resource(const char *uri)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    char params[512];

    /* Plain URIs only: a real program would have a JSON library at hand. */
    snprintf(params, sizeof params, "{\"uri\":\"%s\"}", uri);
    if (mcplug_request_wait(app.server, "resources/read", params, NULL, &result, &err) ==
        MCPLUG_OK) {
        printf("%s is now %s\n", uri, mcplug_result_json(result, NULL));
    } else {
        fprintf(stderr, "%s: %s\n", uri, err.text);
        add(&app.failed, 1);
    }
    mcplug_result_unref(result);
}

static void *work(void *arg)
{
    struct job *job;

    while ((job = take_job())) {
        if (job->result)
            puts(mcplug_result_json(job->result, NULL));
        else
            read_resource(job->uri);
        mcplug_result_unref(job->result);
        free(job);
        add(&app.open, -1);
    }
    return arg;
}

/* ---- on the loop thread ---- */

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    (void)arg, (void)call;
    if (why)
        fprintf(stderr, "%s: %s\n", mcplug_error_name(why->code), why->text);
    else
        give_job(result, NULL);
    if (why || mcplug_result_is_error(result))
        add(&app.failed, 1);
    add(&app.open, -1);
}

static void start_call(void *arg)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *tool = arg;
    char *arguments = strchr(tool, ' ');

    if (arguments)
        *arguments++ = '\0';
    if (!mcplug_call_tool(app.server, tool, arguments, NULL, on_done, NULL, &err)) {
        fprintf(stderr, "%s: %s\n", tool, err.text);
        add(&app.failed, 1);
        add(&app.open, -1);
    }
    free(tool);
}

static void on_changed(void *arg, mcplug_server *server, int kind, const char *uri)
{
    (void)arg, (void)server, (void)kind;
    for (char **one = app.uris; uri && *one; one++)
        if (!strcmp(*one, uri))
            give_job(NULL, *one); /* to read it means to wait */
}

static void on_subscribed(void *arg, mcplug_call *call, mcplug_result *result,
                          const struct mcplug_error *why)
{
    (void)call, (void)result;
    if (why && why->code != MCPLUG_ECANCELED)
        fprintf(stderr, "%s: %s\n", (const char *)arg, why->text);
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    (void)arg;
    if (why) {
        fprintf(stderr, "%s\n", why->text);
        add(&app.failed, 1);
    }
    for (char **uri = app.uris; !why && *uri; uri++)
        if (!mcplug_subscribe(server, *uri, NULL, on_subscribed, *uri, &err))
            fprintf(stderr, "%s: %s\n", *uri, err.text);
    add(&app.ready, 1);
}

static void on_closed(void *arg)
{
    (void)arg;
    add(&app.ended, 1);
}

static void finish(void *arg)
{
    struct mcplug_ledger ledger = {.struct_size = sizeof ledger};

    (void)arg;
    mcplug_server_ledger(app.server, &ledger);
    fprintf(stderr, "%llu requests: %llu ok, %llu failed, %llu timed out\n",
            (unsigned long long)ledger.issued, (unsigned long long)ledger.ok,
            (unsigned long long)(ledger.tool_error + ledger.peer_error +
                                 ledger.transport_error),
            (unsigned long long)ledger.timed_out);
    for (char **uri = app.uris; *uri; uri++)
        mcplug_unsubscribe(app.server, *uri, NULL, NULL, NULL, NULL);
    mcplug_close(app.server, on_closed, NULL);
}

/* ---- main ---- */

static void post(void (*fn)(void *arg), void *arg)
{
    if (mcplug_post(app.host, fn, arg) != MCPLUG_OK)
        abort(); /* no memory */
}

static void read_lines(void)
{
    char line[4096];

    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        char *own = strdup(line); /* start_call() frees it */
        if (!own)
            abort();
        add(&app.open, 1);
        post(start_call, own);
    }
    wait_until(&app.open, 0);
}

/* No loop runs yet, so the host may be used on this thread. */
static int open_server(const char *name, struct mcplug_error *err)
{
    struct mcplug_options host_options = {.struct_size = sizeof host_options};
    struct mcplug_server_options options = {
        .struct_size = sizeof options, .queue = "lines", .changed = on_changed};
    int r = MCPLUG_ECONFIG;

    mcplug_config *config = mcplug_config_load(NULL, err);
    if (config) {
        host_options.user_plugin_dirs = mcplug_config_plugin_dirs(config);
        app.host = mcplug_new(&host_options, err);
    }
    if (app.host) {
        /* However many lines there are, the server has two calls at a time. */
        mcplug_set_queue(app.host, "lines", 2, 10000);
        r = mcplug_open_named(app.host, config, name, &options, on_ready, NULL,
                              &app.server, err);
    }
    mcplug_config_free(config);
    return r;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    pthread_t worker;

    if (argc < 2) {
        fprintf(stderr, "usage: %s SERVER [URI..]\n", argv[0]);
        return 2;
    }
    app.uris = argv + 2;
    if (open_server(argv[1], &err) != MCPLUG_OK ||
        mcplug_start_thread(app.host, &err) != MCPLUG_OK) {
        fprintf(stderr, "%s\n", err.text);
        mcplug_free(app.host);
        return 1;
    }
    wait_until(&app.ready, 1);
    if (app.failed == 0 && pthread_create(&worker, NULL, work, NULL) != 0) {
        fprintf(stderr, "no thread for the worker\n");
        app.failed = 1;
    }
    if (app.failed == 0) {
        read_lines();
        post(finish, NULL);
        pthread_join(worker, NULL); /* it ends when the server is closed */
    }
    mcplug_free(app.host);
    return app.failed != 0;
}
