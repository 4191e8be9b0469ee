/* Many calls at once, on a loop of our own making: starts COUNT calls of a tool and
 * prints each result as it comes; what takes longer than a second times out. When one
 * fails, the others are cancelled.
 *
 *   cc embed-async.c $(pkg-config --cflags --libs mcplug) -o embed-async
 *   ./embed-async COUNT TOOL ARGUMENTS COMMAND [ARGS..]
 *   ./embed-async 5 sleep '{"ms":100}' mcplug-example-server
 */
#include <mcplug/mcplug.h>

#include <stdio.h>
#include <stdlib.h>

static struct {
    mcplug *host;
    const char *tool, *arguments;
    int wanted, open, failed;
    mcplug_call **calls; /* references: some of them may have ended */
} app;

static void on_closed(void *arg)
{
    (void)arg;
    mcplug_stop(app.host);
}

static void on_progress(void *arg, mcplug_call *call, double progress, double total,
                        const char *message)
{
    (void)arg, (void)call;
    printf("  %g of %g%s%s\n", progress, total, message ? ": " : "",
           message ? message : "");
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    mcplug_server *server = arg;
    (void)call;

    if (why)
        printf("%s: %s\n", mcplug_error_name(why->code), why->text);
    else
        printf("%s\n", mcplug_result_json(result, NULL));
    if (why || mcplug_result_is_error(result))
        app.failed++;
    for (int i = 0; why && i < app.wanted; i++)
        mcplug_cancel(app.calls[i]);
    if (--app.open == 0)
        mcplug_close(server, on_closed, NULL);
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options options = {
        .struct_size = sizeof options, .timeout_ms = 1000, .progress = on_progress};
    (void)arg;

    if (why) {
        fprintf(stderr, "%s\n", why->text);
        app.failed = 1;
        mcplug_close(server, on_closed, NULL);
        return;
    }
    for (int i = 0; i < app.wanted; i++) {
        mcplug_call *call = mcplug_call_tool(server, app.tool, app.arguments, &options,
                                             on_done, server, &err);
        app.calls[i] = mcplug_call_ref(call);
        if (call)
            app.open++;
        else
            fprintf(stderr, "%s\n", err.text);
    }
    if (app.open == 0) {
        app.failed = 1;
        mcplug_close(server, on_closed, NULL);
    }
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server;

    if (argc < 5) {
        fprintf(stderr, "usage: %s COUNT TOOL ARGUMENTS COMMAND [ARGS..]\n", argv[0]);
        return 2;
    }
    app.wanted = atoi(argv[1]) > 0 ? atoi(argv[1]) : 0;
    app.calls = calloc((size_t)app.wanted + 1, sizeof *app.calls);
    app.tool = argv[2];
    app.arguments = argv[3];
    app.host = mcplug_new(NULL, &err);
    mcplug_settings *settings = mcplug_settings_new("stdio");
    if (!app.host || !settings || !app.calls)
        return 1;
    mcplug_settings_set(settings, "command", argv[4]);
    for (int i = 5; i < argc; i++)
        mcplug_settings_add(settings, "args", argv[i]);
    if (mcplug_open(app.host, settings, NULL, on_ready, NULL, &server, &err) ==
        MCPLUG_OK) {
        mcplug_run(app.host);
    } else {
        fprintf(stderr, "%s\n", err.text);
        app.failed = 1;
    }
    mcplug_settings_free(settings);
    for (int i = 0; i < app.wanted; i++)
        mcplug_call_unref(app.calls[i]);
    free(app.calls);
    mcplug_free(app.host);
    return app.failed != 0;
}
