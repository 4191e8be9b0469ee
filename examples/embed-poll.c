/* Inside a loop that exists already, here poll(): every line of standard input is
 * the "text" argument of a call, and its answer is printed when it comes.
 *
 *   cc embed-poll.c $(pkg-config --cflags --libs mcplug) -o embed-poll
 *   printf 'one\ntwo\n' | ./embed-poll TOOL COMMAND [ARGS..]
 */
#include <mcplug/mcplug.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    mcplug_server *server;
    const char *tool;
    int ready, open, input_ended, done, failed;
} app;

static void on_closed(void *arg)
{
    (void)arg;
    app.done = 1;
}

static void close_when_idle(void)
{
    if (app.input_ended && app.open == 0 && app.server) {
        mcplug_close(app.server, on_closed, NULL);
        app.server = NULL;
    }
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    (void)arg, (void)call;
    printf("%s\n", why ? why->text : mcplug_result_json(result, NULL));
    app.failed += why != NULL;
    app.open--;
    close_when_idle();
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    (void)arg, (void)server;
    app.ready = 1;
    if (why) {
        fprintf(stderr, "%s\n", why->text);
        app.failed = app.input_ended = 1;
        close_when_idle();
    }
}

/* Plain words only: a real program would have a JSON library at hand. */
static void call_with(const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char arguments[512];

    snprintf(arguments, sizeof arguments, "{\"text\":\"%s\"}", text);
    if (mcplug_call_tool(app.server, app.tool, arguments, NULL, on_done, NULL, &err))
        app.open++;
    else
        fprintf(stderr, "%s\n", err.text);
}

static void read_line(void)
{
    char line[256];

    if (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        call_with(line);
    } else {
        app.input_ended = 1;
        close_when_idle();
    }
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (argc < 3) {
        fprintf(stderr, "usage: %s TOOL COMMAND [ARGS..]\n", argv[0]);
        return 2;
    }
    app.tool = argv[1];
    setvbuf(stdin, NULL, _IONBF, 0); /* what stdio holds back, poll() cannot see */
    mcplug *host = mcplug_new(NULL, &err);
    mcplug_settings *settings = mcplug_settings_new("stdio");
    if (!host || !settings)
        return 1;
    mcplug_settings_set(settings, "command", argv[2]);
    for (int i = 3; i < argc; i++)
        mcplug_settings_add(settings, "args", argv[i]);
    if (mcplug_open(host, settings, NULL, on_ready, NULL, &app.server, &err) !=
        MCPLUG_OK) {
        fprintf(stderr, "%s\n", err.text);
        app.failed = app.done = 1;
    }
    while (!app.done) {
        struct pollfd fds[2] = {{mcplug_fd(host), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        int listen = app.ready && !app.input_ended;
        if (poll(fds, listen ? 2 : 1, mcplug_timeout(host)) < 0)
            break;
        if (listen && fds[1].revents)
            read_line();
        mcplug_turn(host, 0);
    }
    mcplug_settings_free(settings);
    mcplug_free(host);
    return app.failed != 0;
}
