/* Inside a GLib main loop: a source on the descriptor is all it takes, for time-outs are
 * inside of it.
 *
 *   cc embed-glib.c $(pkg-config --cflags --libs mcplug glib-2.0) -o embed-glib
 *   ./embed-glib COMMAND [ARGS..]
 *
 * The server needs the tools `echo` and `sleep` of the example server.
 */
#include <mcplug/mcplug.h>

#include <glib-unix.h>

struct app {
    GMainLoop *loop;
    int running;
    gboolean failed;
};

/* ---- the source: also what a program of your own needs ---- */

struct mcplug_source {
    GSource base;
    mcplug *host;
    gpointer tag;
};

static gboolean source_check(GSource *base)
{
    struct mcplug_source *source = (struct mcplug_source *)base;
    return g_source_query_unix_fd(base, source->tag) != 0;
}

static gboolean source_dispatch(GSource *base, GSourceFunc fn, gpointer arg)
{
    (void)fn, (void)arg;
    mcplug_turn(((struct mcplug_source *)base)->host, 0);
    return G_SOURCE_CONTINUE;
}

/* Destroy it before the host is freed. */
static GSource *mcplug_source_new(mcplug *host)
{
    static GSourceFuncs functions = {.check = source_check, .dispatch = source_dispatch};
    GSource *base = g_source_new(&functions, sizeof(struct mcplug_source));
    struct mcplug_source *source = (struct mcplug_source *)base;

    source->host = host;
    source->tag = g_source_add_unix_fd(base, mcplug_fd(host), G_IO_IN);
    return base;
}

/* ---- the program ---- */

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct app *app = arg;
    (void)call;

    g_print("%s\n",
            why ? mcplug_error_name(why->code) : mcplug_result_json(result, NULL));
    if (--app->running == 0)
        g_main_loop_quit(app->loop);
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct app *app = arg;
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 200};

    if (why)
        g_printerr("%s\n", why->text);
    else if (mcplug_call_tool(server, "echo", "{\"text\":\"hello\"}", NULL, on_done, app,
                              NULL) &&
             mcplug_call_tool(server, "sleep", "{\"ms\":60000}", &o, on_done, app, NULL))
        app->running = 2; /* the second one is not answered in time */
    if (!app->running) {
        app->failed = TRUE;
        g_main_loop_quit(app->loop);
    }
}

static gboolean on_tick(gpointer arg)
{
    (void)arg;
    g_print("the program's own timer\n");
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct app app = {.loop = g_main_loop_new(NULL, FALSE)};
    mcplug_server *server = NULL;

    if (argc < 2) {
        g_printerr("usage: %s COMMAND [ARGS..]\n", argv[0]);
        return 2;
    }
    mcplug *host = mcplug_new(NULL, &err);
    mcplug_settings *settings = mcplug_settings_new("stdio");
    if (!host || !settings)
        return 1;
    mcplug_settings_set(settings, "command", argv[1]);
    for (int i = 2; i < argc; i++)
        mcplug_settings_add(settings, "args", argv[i]);

    GSource *source = mcplug_source_new(host);
    g_source_attach(source, NULL);
    g_timeout_add(1, on_tick, NULL);
    if (mcplug_open(host, settings, NULL, on_ready, &app, &server, &err) == MCPLUG_OK) {
        g_main_loop_run(app.loop);
    } else {
        g_printerr("%s\n", err.text);
        app.failed = TRUE;
    }

    g_source_destroy(source);
    g_source_unref(source);
    mcplug_settings_free(settings);
    mcplug_free(host);
    g_main_loop_unref(app.loop);
    return app.failed;
}
