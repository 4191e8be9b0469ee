#include "api/host.h"

#include "base/error.h"
#include "base/mem.h"
#include "toolbox/toolbox.h"

#include <errno.h>
#include <semaphore.h>

/* The blocking forms. With a loop thread of ours, the work is posted there and
 * waited for; else the loop is run here until the answer has come. */

struct wait {
    mcplug *host;
    void (*start)(struct wait *w);
    struct mp_post post; /* to another thread's loop; needs no memory of its own */
    bool done;           /* where the loop is run here */
    sem_t *ended;        /* else; a lock and a condition would wake the waiter twice */
    int result;
    struct mcplug_error *why; /* on the stack of who waits */

    mcplug_server *server;
    const mcplug_settings *settings;
    mcplug_config *config; /* NULL: `settings` */
    const char *name;      /* in that */
    const struct mcplug_server_options *server_options;
    const char *method, *params, *tool;
    const struct mcplug_call_options *call_options;
    struct mcplug_call_options own_options; /* these without `free_arg` */
    enum mcplug_kind kind;
    mcplug_result *reply;
    mcplug_list *list;
    mcplug_toolbox *box;
    size_t ready, failed;
    const struct mcplug_record *record;
    mcplug_result *rendered;
    const struct mcplug_render_options *render_options;
    const mcplug_rendering *content;
    const void *data;
    size_t len;
    const struct mcplug_convert_options *convert_options;
    const mcplug_converted *converted;
    mcplug_thread *thread;
    const struct mcplug_run_options *run_options;
    struct mcplug_run_result *run_result;
};

static void wake(struct wait *w)
{
    w->done = true;
    if (w->ended)
        sem_post(w->ended); /* the waiter, and `w` with it, may be gone now */
}

static void finished(struct wait *w, const struct mcplug_error *why)
{
    w->result = why ? why->code : MCPLUG_OK;
    if (why)
        mp_error_copy(w->why, why);
    wake(w);
}

/* After a start that failed, which told why in w->why. */
static void not_started(struct wait *w)
{
    w->result = w->why->code;
    wake(w);
}

static void start_posted(void *arg)
{
    struct wait *w = arg;
    w->start(w);
}

/* On another thread than the loop's. */
static void wait_posted(struct wait *w)
{
    sem_t ended;

    sem_init(&ended, 0, 0);
    w->ended = &ended;
    mp_loop_post_own(w->host->loop, &w->post, start_posted, w);
    while (sem_wait(&ended) != 0 && errno == EINTR) {
    }
    sem_destroy(&ended);
}

static bool in_callback(mcplug *host)
{
    return mp_loop_here(host->loop) && mp_loop_in_turn(host->loop);
}

/* NULL: there is no server. */
static mcplug *host_of(const mcplug_server *server)
{
    return server ? mp_host_of(server->service->registry) : NULL;
}

static mcplug *host_of_box(const mcplug_toolbox *box)
{
    return box ? mp_host_of(box->registry) : NULL;
}

static mcplug *host_of_models(const struct mp_models *models)
{
    return MP_OF(models, mcplug, runs.models);
}

static int wait_for(struct wait *w, struct mcplug_error *err)
{
    struct mcplug_error why;

    mp_error_init(&why);
    w->why = &why;
    if (!w->host)
        return mp_fail_null(err, "the host, server or toolbox");
    if (mp_loop_forked(w->host->loop))
        return mp_loop_refuse(w->host->loop, "mcplug", err);
    if (in_callback(w->host))
        return mp_fail(err, MCPLUG_EINVAL, "blocking call inside a callback");
    if (w->call_options) {
        int r = mp_take_options(&w->own_options, w->call_options, err);
        if (r != MCPLUG_OK)
            return r;
        w->own_options.struct_size = sizeof w->own_options;
        w->own_options.free_arg = NULL;
        w->call_options = &w->own_options;
    }
    if (mp_loop_here(w->host->loop)) {
        w->start(w);
        while (!w->done)
            mp_loop_turn(w->host->loop, true);
    } else {
        wait_posted(w);
    }
    if (w->result != MCPLUG_OK)
        mp_error_give(err, &why);
    return w->result;
}

/* ---- open and close ---- */

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct wait *w = arg;
    w->server = server->closed ? NULL : server; /* by a callback */
    if (why)
        server->free_arg = NULL; /* the function fails, and `arg` stays its caller's */
    finished(w, why);
}

static void start_open(struct wait *w)
{
    int r = w->config ? mcplug_open_named(w->host, w->config, w->name, w->server_options,
                                          on_ready, w, &w->server, w->why)
                      : mcplug_open(w->host, w->settings, w->server_options, on_ready, w,
                                    &w->server, w->why);
    if (r != MCPLUG_OK) {
        w->server = NULL;
        not_started(w);
    }
}

static int open_wait(struct wait *w, mcplug_server **out, struct mcplug_error *err)
{
    if (!out)
        return mp_fail_null(err, "`out`");
    w->start = start_open;
    int r = wait_for(w, err);
    if (r == MCPLUG_OK)
        *out = w->server;
    else if (w->server)
        mcplug_close_wait(w->server);
    return r;
}

int mcplug_open_wait(mcplug *host, const mcplug_settings *settings,
                     const struct mcplug_server_options *options, mcplug_server **out,
                     struct mcplug_error *err)
{
    struct wait w = {.host = host, .settings = settings, .server_options = options};
    return open_wait(&w, out, err);
}

int mcplug_open_named_wait(mcplug *host, mcplug_config *config, const char *name,
                           const struct mcplug_server_options *options,
                           mcplug_server **out, struct mcplug_error *err)
{
    struct wait w = {
        .host = host, .config = config, .name = name, .server_options = options};

    if (!config)
        return mp_fail_null(err, "`config`");
    return open_wait(&w, out, err);
}

static void on_closed(void *arg)
{
    finished(arg, NULL);
}

static void start_close(struct wait *w)
{
    mcplug_close(w->server, on_closed, w);
}

void mcplug_close_wait(mcplug_server *server)
{
    if (!server)
        return;
    struct wait w = {.host = host_of(server), .start = start_close, .server = server};
    if (in_callback(w.host))
        mcplug_close(server, NULL, NULL);
    else
        wait_for(&w, NULL);
}

/* ---- requests ---- */

static void on_reply(void *arg, mcplug_call *call, mcplug_result *result,
                     const struct mcplug_error *why)
{
    struct wait *w = arg;
    (void)call;
    w->reply = mcplug_result_ref(result);
    finished(w, why);
}

static void start_request(struct wait *w)
{
    if (!mcplug_request(w->server, w->method, w->params, w->call_options, on_reply, w,
                        w->why))
        not_started(w);
}

static void start_tool(struct wait *w)
{
    if (!mcplug_call_tool(w->server, w->tool, w->params, w->call_options, on_reply, w,
                          w->why))
        not_started(w);
}

static void start_ping(struct wait *w)
{
    if (!mcplug_ping(w->server, w->call_options, on_reply, w, w->why))
        not_started(w);
}

static int wait_for_reply(struct wait *w, mcplug_result **out, struct mcplug_error *err)
{
    w->host = host_of(w->server);
    int r = wait_for(w, err);
    if (out && w->reply && (r == MCPLUG_OK || r == MCPLUG_EPEER))
        *out = w->reply;
    else
        mcplug_result_unref(w->reply);
    return r;
}

int mcplug_request_wait(mcplug_server *server, const char *method, const char *params,
                        const struct mcplug_call_options *options, mcplug_result **out,
                        struct mcplug_error *err)
{
    struct wait w = {.start = start_request,
                     .server = server,
                     .method = method,
                     .params = params,
                     .call_options = options};
    return wait_for_reply(&w, out, err);
}

int mcplug_call_tool_wait(mcplug_server *server, const char *tool, const char *arguments,
                          const struct mcplug_call_options *options, mcplug_result **out,
                          struct mcplug_error *err)
{
    struct wait w = {.start = start_tool,
                     .server = server,
                     .tool = tool,
                     .params = arguments,
                     .call_options = options};
    return wait_for_reply(&w, out, err);
}

int mcplug_ping_wait(mcplug_server *server, const struct mcplug_call_options *options,
                     struct mcplug_error *err)
{
    struct wait w = {.start = start_ping, .server = server, .call_options = options};
    return wait_for_reply(&w, NULL, err);
}

/* ---- lists ---- */

static void on_list(void *arg, mcplug_call *call, mcplug_list *list,
                    const struct mcplug_error *why)
{
    struct wait *w = arg;
    (void)call;
    w->list = mcplug_list_ref(list);
    finished(w, why);
}

static void start_list(struct wait *w)
{
    if (!mcplug_get_list(w->server, w->kind, w->call_options, on_list, w, w->why))
        not_started(w);
}

int mcplug_get_list_wait(mcplug_server *server, enum mcplug_kind kind,
                         const struct mcplug_call_options *options, mcplug_list **out,
                         struct mcplug_error *err)
{
    struct wait w = {.host = host_of(server),
                     .start = start_list,
                     .server = server,
                     .kind = kind,
                     .call_options = options};

    if (!out)
        return mp_fail_null(err, "`out`");
    int r = wait_for(&w, err);
    if (r == MCPLUG_OK)
        *out = w.list;
    return r;
}

/* ---- toolboxes ---- */

static void on_warm(void *arg, mcplug_toolbox *box, size_t ready, size_t failed)
{
    struct wait *w = arg;
    (void)box;
    w->ready = ready;
    w->failed = failed;
    finished(w, NULL);
}

static void start_warm_up(struct wait *w)
{
    if (mcplug_toolbox_warm_up(w->box, on_warm, w, w->why) != MCPLUG_OK)
        not_started(w);
}

int mcplug_toolbox_warm_up_wait(mcplug_toolbox *box, size_t *ready, size_t *failed,
                                struct mcplug_error *err)
{
    struct wait w = {.host = host_of_box(box), .start = start_warm_up, .box = box};

    int r = wait_for(&w, err);
    if (r == MCPLUG_OK && ready)
        *ready = w.ready;
    if (r == MCPLUG_OK && failed)
        *failed = w.failed;
    return r;
}

static void on_record(void *arg, mcplug_call *call, const struct mcplug_record *record)
{
    struct wait *w = arg;
    (void)call;
    w->record = mcplug_record_ref(record);
    finished(w, NULL); /* the record says how */
}

static void start_use(struct wait *w)
{
    if (!mcplug_toolbox_call(w->box, w->tool, w->params, w->call_options, on_record, w,
                             w->why))
        not_started(w);
}

int mcplug_toolbox_call_wait(mcplug_toolbox *box, const char *name, const char *arguments,
                             const struct mcplug_call_options *options,
                             const struct mcplug_record **out, struct mcplug_error *err)
{
    struct wait w = {.host = host_of_box(box),
                     .start = start_use,
                     .box = box,
                     .tool = name,
                     .params = arguments,
                     .call_options = options};

    int r = wait_for(&w, err);
    if (r == MCPLUG_OK && out)
        *out = w.record;
    else
        mcplug_record_unref(w.record);
    return r;
}

static void on_content(void *arg, mcplug_call *call, const mcplug_rendering *content,
                       const struct mcplug_error *why)
{
    struct wait *w = arg;
    (void)call;
    w->content = mcplug_rendering_ref(content);
    finished(w, why);
}

static void start_render(struct wait *w)
{
    if (!mcplug_render(w->host, w->rendered, w->render_options, on_content, w, w->why))
        not_started(w);
}

int mcplug_render_wait(mcplug *host, mcplug_result *result,
                       const struct mcplug_render_options *options,
                       const mcplug_rendering **out, struct mcplug_error *err)
{
    struct wait w = {.host = host,
                     .start = start_render,
                     .rendered = result,
                     .render_options = options};

    if (!out)
        return mp_fail_null(err, "`out`");
    int r = wait_for(&w, err);
    if (r == MCPLUG_OK)
        *out = w.content;
    return r;
}

static void on_converted(void *arg, mcplug_call *call, const mcplug_converted *converted,
                         const struct mcplug_error *why)
{
    struct wait *w = arg;
    (void)call;
    w->converted = mcplug_converted_ref(converted);
    finished(w, why);
}

static void start_convert(struct wait *w)
{
    if (!mcplug_convert(w->host, w->data, w->len, w->convert_options, on_converted, w,
                        w->why))
        not_started(w);
}

int mcplug_convert_wait(mcplug *host, const void *data, size_t len,
                        const struct mcplug_convert_options *options,
                        const mcplug_converted **out, struct mcplug_error *err)
{
    struct wait w = {.host = host,
                     .start = start_convert,
                     .data = data,
                     .len = len,
                     .convert_options = options};

    if (!out)
        return mp_fail_null(err, "`out`");
    int r = wait_for(&w, err);
    if (r == MCPLUG_OK)
        *out = w.converted;
    return r;
}

static void start_toolbox_free(struct wait *w)
{
    mcplug_toolbox_free(w->box, on_closed, w);
}

void mcplug_toolbox_free_wait(mcplug_toolbox *box)
{
    if (!box)
        return;
    struct wait w = {.host = host_of_box(box), .start = start_toolbox_free, .box = box};
    if (in_callback(w.host))
        mcplug_toolbox_free(box, NULL, NULL);
    else
        wait_for(&w, NULL);
}

/* ---- runs ---- */

static void on_run(void *arg, mcplug_call *call, const struct mcplug_run_result *result,
                   const struct mcplug_error *why)
{
    struct wait *w = arg;
    (void)call;
    w->run_result = result ? mp_run_result_copy(result) : NULL;
    finished(w, why);
}

static void start_run(struct wait *w)
{
    if (!mcplug_thread_run(w->thread, w->run_options, on_run, w, w->why))
        not_started(w);
}

int mcplug_thread_run_wait(mcplug_thread *thread,
                           const struct mcplug_run_options *options,
                           struct mcplug_run_result **out, struct mcplug_error *err)
{
    const mcplug_model *model =
        options && MCPLUG_KNOWS(options, struct mcplug_run_options, model)
            ? options->model
            : NULL;
    struct wait w = {.start = start_run, .thread = thread, .run_options = options};

    if (!model || !model->models)
        return mp_fail_null(err, "the model, or its host,");
    w.host = host_of_models(model->models);
    int r = wait_for(&w, err);
    if (r == MCPLUG_OK && !w.run_result)
        r = mp_fail_nomem(err);
    if (out && r == MCPLUG_OK)
        *out = w.run_result;
    else
        mcplug_run_result_free(w.run_result);
    return r;
}
