/* The simplest use: connect, call one tool, print its result as a model gets it: one that
 * is too long for a conversation is stored in a file, and the text says how to read it.
 *
 *   cc embed-blocking.c $(pkg-config --cflags --libs mcplug) -o embed-blocking
 *   ./embed-blocking TOOL ARGUMENTS COMMAND [ARGS..]
 *   ./embed-blocking echo '{"text":"hello"}' mcplug-example-server
 */
#include <mcplug/mcplug.h>

#include <stdio.h>

static int print(mcplug *host, mcplug_result *result, const char *tool)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_render_options options = {
        .struct_size = sizeof options, .server = "example", .tool = tool};
    struct mcplug_rendering_info info = {.struct_size = sizeof info};
    const mcplug_rendering *content = NULL;

    if (mcplug_render_wait(host, result, &options, &content, &err) != MCPLUG_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    puts(mcplug_rendering_text(content, NULL));
    mcplug_rendering_info(content, &info);
    fprintf(stderr, "%llu tokens%s%s\n", (unsigned long long)info.tokens,
            info.stored ? "; the whole is in " : "", info.stored ? info.stored : "");
    mcplug_rendering_unref(content);
    return 0;
}

static int call(mcplug *host, mcplug_server *server, const char *tool,
                const char *arguments)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_call_options options = {.struct_size = sizeof options,
                                          .timeout_ms = 5000};
    mcplug_result *result = NULL;

    if (mcplug_call_tool_wait(server, tool, arguments, NULL, &result, &err) !=
        MCPLUG_OK) {
        fprintf(stderr, "%s: %s\n", tool, err.text);
        if (err.code == MCPLUG_ETIMEDOUT) /* is it the tool, or the server? */
            fprintf(stderr, "the server %s\n",
                    mcplug_ping_wait(server, &options, NULL) == MCPLUG_OK
                        ? "is alive"
                        : "does not answer");
        mcplug_result_unref(result);
        return 1;
    }
    int failed = mcplug_result_is_error(result);
    if (failed)
        fprintf(stderr, "%s: %s\n", tool, mcplug_result_error_text(result));
    else
        failed = print(host, result, tool);
    mcplug_result_unref(result);
    return failed;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server;
    int status = 1;

    if (argc < 4) {
        fprintf(stderr, "usage: %s TOOL ARGUMENTS COMMAND [ARGS..]\n", argv[0]);
        return 2;
    }
    mcplug *host = mcplug_new(NULL, &err);
    mcplug_settings *settings = mcplug_settings_new("stdio");
    if (host && settings) {
        mcplug_settings_set(settings, "command", argv[3]);
        for (int i = 4; i < argc; i++)
            mcplug_settings_add(settings, "args", argv[i]);
        if (mcplug_open_wait(host, settings, NULL, &server, &err) == MCPLUG_OK) {
            status = call(host, server, argv[1], argv[2]);
            mcplug_close_wait(server);
        } else {
            fprintf(stderr, "%s\n", err.text);
        }
    }
    mcplug_settings_free(settings);
    mcplug_free(host);
    return status;
}
