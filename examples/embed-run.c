/* An agent: a model that calls the tools of an MCP server, and one of the program.
 *
 *   cc embed-run.c $(pkg-config --cflags --libs mcplug) -o embed-run
 *   mcplug add files -- npx -y @modelcontextprotocol/server-filesystem .
 *   ANTHROPIC_API_KEY=.. ./embed-run anthropic/MODEL files "Which files are here?"
 */
#include <mcplug/mcplug.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

static void tell_time(void *arg, mcplug_use *use, const char *arguments, size_t len)
{
    (void)arg, (void)arguments, (void)len;
    time_t now = time(NULL);
    const char *text = ctime(&now);
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
                                      .name = "now",
                                      .description = "The local time.",
                                      .call = tell_time};
    const struct mcplug_tool *tools[] = {&clock, NULL};
    struct mcplug_run_options run = {
        .struct_size = sizeof run, .tools = tools, .max_steps = 20, .event = on_event};

    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL SERVER PROMPT\n", argv[0]);
        return 2;
    }
    mcplug *host = mcplug_new(NULL, &err);
    mcplug_config *config = mcplug_config_load(NULL, &err);
    mcplug_thread *thread = mcplug_thread_new();
    run.model = mcplug_model_new_named(host, config, argv[1], NULL, &err);
    run.box = run.model ? mcplug_toolbox_new(host, NULL, &err) : NULL;
    int ok = run.box && !mcplug_toolbox_add_named(run.box, config, argv[2], NULL, &err) &&
             !mcplug_toolbox_warm_up_wait(run.box, NULL, NULL, &err) &&
             !mcplug_thread_say(thread, argv[3]) &&
             !mcplug_thread_run_wait(thread, &run, NULL, &err);
    fprintf(ok ? stdout : stderr, "%s\n", ok ? "" : err.text);
    mcplug_thread_free(thread);
    mcplug_model_free(run.model);
    mcplug_config_free(config);
    mcplug_free(host);
    return !ok;
}
