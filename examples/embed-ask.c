/* A model that asks its user: a tool that is shown, and one that takes its time.
 *
 *   cc embed-ask.c $(pkg-config --cflags --libs mcplug) -o embed-ask
 *   ./embed-ask TYPE MODEL PROMPT [SETTING=VALUE]..
 */
#include <mcplug/mcplug.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mcplug *host;

/* Counts, a number in each turn of the loop, and stops when nobody waits any more. */
struct count {
    mcplug_use *use;
    int n;
};

static void count_on(void *arg)
{
    struct count *count = arg;
    char json[32];

    if (count->n < 100 && !mcplug_use_is_cancelled(count->use)) {
        count->n++;
        if (mcplug_post(host, count_on, count) == MCPLUG_OK)
            return;
    }
    int len = snprintf(json, sizeof json, "{\"counted\":%d}", count->n);
    mcplug_use_answer_json(count->use, json, (size_t)len);
    free(count);
}

static void count_up(void *arg, mcplug_use *use, const char *arguments, size_t len)
{
    struct count *count = calloc(1, sizeof *count);

    (void)arg, (void)arguments, (void)len;
    if (!count) {
        mcplug_use_answer(use, "out of memory", 13, 1);
        return;
    }
    count->use = use;
    count_on(count);
}

/* The user answers what the last message asks. */
static void answer(mcplug_thread *thread)
{
    struct mcplug_message last = {.struct_size = sizeof last};
    size_t n = mcplug_thread_count(thread);
    char line[512];

    /* behind it are the answers of tools that were called, if there were any */
    while (n > 0 && mcplug_thread_message(thread, n - 1, &last) &&
           last.role != MCPLUG_ROLE_ASSISTANT)
        n--;
    for (size_t i = 0; i < last.n_items; i++) {
        const struct mcplug_item *use = last.items[i];
        if (use->kind != MCPLUG_ITEM_TOOL_USE || strcmp(use->name, "ask_user") != 0)
            continue;
        printf("? %s\n", (const char *)use->text.data);
        if (!fgets(line, sizeof line, stdin))
            return;
        line[strcspn(line, "\n")] = '\0';
        mcplug_thread_answer(thread, use->id, line, NULL);
    }
}

static int talk(mcplug_thread *thread, const struct mcplug_run_options *options)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_run_result *result = NULL;
    int again = 1;

    while (again) {
        if (mcplug_thread_run_wait(thread, options, &result, &err) != MCPLUG_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        again = result->end == MCPLUG_RUN_ASKED;
        if (again)
            answer(thread);
        else
            printf("%s\n%s after %u steps\n", result->text,
                   mcplug_run_end_name(result->end), (unsigned)result->steps);
        mcplug_run_result_free(result);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const struct mcplug_tool ask = {
        .struct_size = sizeof ask,
        .flags = MCPLUG_TOOL_SHOWN,
        .name = "ask_user",
        .description = "Asks the user a question.",
        .schema = "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":"
                  "\"string\"}},\"required\":[\"question\"]}"};
    const struct mcplug_tool count = {.struct_size = sizeof count,
                                      .flags = MCPLUG_TOOL_READ_ONLY,
                                      .name = "count",
                                      .description = "Counts to a hundred.",
                                      .call = count_up};
    const struct mcplug_tool *tools[] = {&ask, &count, NULL};
    struct mcplug_run_options options = {.struct_size = sizeof options, .tools = tools};

    if (argc < 4) {
        fprintf(stderr, "usage: %s TYPE MODEL PROMPT [SETTING=VALUE]..\n", argv[0]);
        return 2;
    }
    host = mcplug_new(NULL, &err);
    mcplug_settings *settings = mcplug_settings_new(argv[1]);
    mcplug_thread *thread = mcplug_thread_new();
    mcplug_settings_set(settings, "model", argv[2]);
    for (int i = 4; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value) {
            *value = '\0';
            mcplug_settings_set(settings, argv[i], value + 1);
        }
    }
    mcplug_thread_say(thread, argv[3]);
    options.model = mcplug_model_new(host, settings, &err);
    int failed = 1;
    if (options.model)
        failed = talk(thread, &options);
    else
        fprintf(stderr, "%s\n", err.text);
    mcplug_settings_free(settings);
    mcplug_thread_free(thread);
    mcplug_model_free(options.model);
    mcplug_free(host);
    return failed;
}
