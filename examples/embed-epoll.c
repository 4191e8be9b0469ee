/* Inside a loop that exists already, here epoll, and without callbacks: one descriptor
 * tells that there is something to do, time-outs included, and events are pulled.
 *
 *   cc embed-epoll.c $(pkg-config --cflags --libs mcplug) -o embed-epoll
 *   ./embed-epoll COMMAND [ARGS..]
 *
 * The server needs the tools `echo` and `sleep` of the example server.
 */
#include <mcplug/mcplug.h>

#include <stdio.h>
#include <sys/epoll.h>

enum job { ECHO = 1, SLEEP }; /* what the calls are for */

static mcplug_call *call(mcplug_server *server, const char *tool, const char *arguments,
                         uint64_t timeout_ms, enum job job)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = timeout_ms};
    /* without a callback: its end is an event */
    mcplug_call *made =
        mcplug_call_tool(server, tool, arguments, &o, NULL, (void *)(intptr_t)job, &err);
    if (!made)
        fprintf(stderr, "%s: %s\n", tool, err.text);
    return made;
}

/* Returns how many calls have ended. */
static int handle(const struct mcplug_event *e)
{
    if (e->dropped)
        printf("%llu events were dropped\n", (unsigned long long)e->dropped);
    switch (e->type) {
    case MCPLUG_EVENT_STATE:
        printf("%s is %s%s%s\n", e->server,
               mcplug_state_name((enum mcplug_state)e->state), e->why ? ": " : "",
               e->why ? e->why->text : "");
        return 0;
    case MCPLUG_EVENT_DONE:
        printf("%s: %s\n", (intptr_t)e->arg == ECHO ? "echo" : "sleep",
               e->why ? mcplug_error_name(e->why->code)
                      : mcplug_result_json(e->result, NULL));
        return 1;
    default:
        return 0;
    }
}

/* Everything that is due, and what came of it. */
static int turn(mcplug *host)
{
    const struct mcplug_event *e;
    int ended = 0;

    while ((e = mcplug_next_event(host, 0)))
        ended += handle(e);
    return ended;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_options o = {.struct_size = sizeof o,
                               .events = MCPLUG_EVENT_BIT(MCPLUG_EVENT_STATE) |
                                         MCPLUG_EVENT_BIT(MCPLUG_EVENT_DONE)};
    mcplug_server *server = NULL;
    int running = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: %s COMMAND [ARGS..]\n", argv[0]);
        return 2;
    }
    mcplug *host = mcplug_new(&o, &err);
    mcplug_settings *settings = mcplug_settings_new("stdio");
    if (!host || !settings)
        return 1;
    mcplug_settings_set(settings, "command", argv[1]);
    for (int i = 2; i < argc; i++)
        mcplug_settings_add(settings, "args", argv[i]);

    /* any descriptors of the program are in there too */
    struct epoll_event event = {.events = EPOLLIN};
    int loop = epoll_create1(EPOLL_CLOEXEC);
    if (loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, mcplug_fd(host), &event) != 0) {
        perror("epoll");
        return 1;
    }
    if (mcplug_open(host, settings, NULL, NULL, NULL, &server, &err) == MCPLUG_OK) {
        /* the calls wait until it is up; the second one is not answered in time */
        running += call(server, "echo", "{\"text\":\"hello\"}", 0, ECHO) != NULL;
        running += call(server, "sleep", "{\"ms\":60000}", 1000, SLEEP) != NULL;
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
    int failed = running != 2;
    while (running > 0 && epoll_wait(loop, &event, 1, -1) > 0)
        running -= turn(host);

    mcplug_settings_free(settings);
    mcplug_free(host);
    return failed;
}
