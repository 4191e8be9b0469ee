/* An agent: a model that calls the tools of an MCP server, and one of the program.
 *
 *   cc embed-run.c $(pkg-config --cflags --libs mcplug) -o embed-run
 *   ANTHROPIC_API_KEY=.. ./embed-run anthropic MODEL "Which files are here?" \
 *       npx -y @modelcontextprotocol/server-filesystem .
 */
#include <mcplug/mcplug.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

static void tell_time(void *arg, mcplug_use *use, const char *arguments, size_t len)
{
    char text[32];
    time_t now = time(NULL);

    (void)arg, (void)arguments, (void)len;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M", localtime(&now));
    mcplug_use_answer(use, text, strlen(text), 0);
}

static void on_event(void *arg, const struct mcplug_run_event *event)
{
    (void)arg;
    if (event->type == MCPLUG_RUN_TEXT)
        fwrite(event->text, 1, event->len, stdout);
    else if (event->type == MCPLUG_RUN_TOOL_BEGINS)
        fprintf(stderr, "[%s %s]\n", event->tool, event->text);
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const struct mcplug_tool clock = {.struct_size = sizeof clock,
                                      .flags = MCPLUG_TOOL_READ_ONLY,
                                      .name = "now",
                                      .description = "The local time.",
                                      .call = tell_time};
    const struct mcplug_tool *tools[] = {&clock, NULL};
    struct mcplug_run_options run = {
        .struct_size = sizeof run, .tools = tools, .max_steps = 20, .event = on_event};

    if (argc < 5) {
        fprintf(stderr, "usage: %s TYPE MODEL PROMPT COMMAND [ARG]..\n", argv[0]);
        return 2;
    }
    mcplug *host = mcplug_new(NULL, &err);
    mcplug_settings *model = mcplug_settings_new(argv[1]);
    mcplug_settings *server = mcplug_settings_new("stdio");
    mcplug_thread *thread = mcplug_thread_new();
    mcplug_settings_set(model, "model", argv[2]);
    mcplug_thread_say(thread, argv[3]);
    mcplug_settings_set(server, "command", argv[4]);
    for (int i = 5; i < argc; i++)
        mcplug_settings_add(server, "args", argv[i]);
    run.model = mcplug_model_new(host, model, &err);
    run.box = run.model ? mcplug_toolbox_new(host, NULL, &err) : NULL;
    int ok = run.box && !mcplug_toolbox_add(run.box, "server", server, NULL, &err) &&
             !mcplug_toolbox_warm_up_wait(run.box, NULL, NULL, &err) &&
             !mcplug_thread_run_wait(thread, &run, NULL, &err);
    if (ok)
        putchar('\n');
    else
        fprintf(stderr, "%s\n", err.text);
    mcplug_settings_free(model);
    mcplug_settings_free(server);
    mcplug_thread_free(thread);
    mcplug_model_free(run.model);
    mcplug_free(host);
    return !ok;
}
