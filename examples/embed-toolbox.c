/* All configured servers as one box of tools, as an agent has them: prints what a model
 * is given, instructions and tools, or calls one of the tools by its name and prints the
 * record of the call, and the parts that a request to the model would have. Servers that
 * the catalogue knows are not started before they are called. A COMMAND is one server
 * more, "extra".
 *
 *   cc embed-toolbox.c $(pkg-config --cflags --libs mcplug) -o embed-toolbox
 *   ./embed-toolbox [NAME [ARGUMENTS]] [-- COMMAND [ARGS..]]
 *   ./embed-toolbox mcp__demo__add '{"a":2,"b":40}'
 *   ./embed-toolbox -- mcplug-example-server
 */
#include <mcplug/mcplug.h>

#include <stdio.h>
#include <string.h>

static struct {
    mcplug *host;
    const char *name, *arguments;
    const mcplug_rendering *content; /* of the record; NULL: none */
    int failed;
} app;

static void on_freed(void *arg)
{
    (void)arg;
    mcplug_stop(app.host);
}

static void on_record(void *arg, mcplug_call *call, const struct mcplug_record *record)
{
    (void)call;
    puts(mcplug_record_json(record));
    app.failed = !record->ok;
    app.content = mcplug_rendering_ref(record->content); /* the record goes */
    mcplug_toolbox_free(arg, on_freed, NULL);
}

/* Most APIs of models take a list of texts and images, the latter as Base64. */
static void print_parts(const mcplug_rendering *content)
{
    struct mcplug_part part = {.struct_size = sizeof part};

    for (size_t i = 0; content && mcplug_rendering_part(content, i, &part); i++)
        if (part.kind == MCPLUG_PART_IMAGE)
            printf("%s, %u x %u pixels, %llu tokens, %zu characters of Base64\n",
                   part.mime, part.width, part.height, (unsigned long long)part.tokens,
                   part.len);
        else
            printf("text, %llu tokens: %.*s\n", (unsigned long long)part.tokens,
                   (int)(part.len < 10000 ? part.len : 10000), part.text);
}

static void on_settled(void *arg, mcplug_toolbox *box, const char *server, uint64_t ms,
                       const struct mcplug_error *why)
{
    (void)arg;
    fprintf(stderr, "%s: %s after %llu ms\n", server, why ? why->text : "ready",
            (unsigned long long)ms);
    if (!why)
        fprintf(stderr, "%s: speaks %s\n", server,
                mcplug_server_revision(mcplug_toolbox_server(box, server)));
}

/* What goes before a conversation, and the tools, a line of JSON for each. */
static void print_for_model(mcplug_toolbox *box)
{
    const char *instructions = mcplug_toolbox_instructions(box);
    size_t len;

    if (instructions && *instructions)
        puts(instructions);
    for (size_t i = 0; i < mcplug_toolbox_count(box); i++) {
        const char *tool = mcplug_toolbox_tool(box, i, &len);
        if (tool)
            printf("%.*s\n", (int)len, tool);
    }
}

static void print_names(mcplug_toolbox *box)
{
    fprintf(stderr, "There are:\n");
    for (size_t i = 0; i < mcplug_toolbox_count(box); i++)
        fprintf(stderr, "  %s\n", mcplug_toolbox_name(box, i));
}

static void use(mcplug_toolbox *box)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!app.name) {
        print_for_model(box);
    } else if (mcplug_toolbox_call(box, app.name, app.arguments, NULL, on_record, box,
                                   &err)) {
        return;
    } else {
        fprintf(stderr, "%s\n", err.text);
        if (err.code == MCPLUG_ENOTSUP) /* no such tool */
            print_names(box);
        app.failed = 1;
    }
    mcplug_toolbox_free(box, on_freed, NULL);
}

static void on_warm(void *arg, mcplug_toolbox *box, size_t ready, size_t failed)
{
    (void)arg, (void)ready, (void)failed;
    use(box);
}

/* A server of no configuration: argv[0] is its command. */
static void add_command(mcplug_toolbox *box, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_settings *settings = mcplug_settings_new("stdio");

    if (!settings)
        return;
    mcplug_settings_set(settings, "command", argv[0]);
    for (char **arg = argv + 1; *arg; arg++)
        mcplug_settings_add(settings, "args", *arg);
    if (mcplug_toolbox_add(box, "extra", settings, NULL, &err) != MCPLUG_OK)
        fprintf(stderr, "%s\n", err.text);
    mcplug_settings_free(settings); /* the toolbox has its own copy */
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_toolbox_options options = {.struct_size = sizeof options,
                                             .settled = on_settled};
    mcplug_config *config = mcplug_config_load(NULL, &err);
    app.host = mcplug_new(NULL, &err);
    mcplug_toolbox *box = app.host ? mcplug_toolbox_new(app.host, &options, &err) : NULL;
    const char *server, *tool;

    if (!config || !box) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int words = 1; /* before "--" */
    while (words < argc && strcmp(argv[words], "--") != 0)
        words++;
    app.name = words > 1 ? argv[1] : NULL;
    app.arguments = words > 2 ? argv[2] : NULL;
    for (size_t i = 0; i < mcplug_config_count(config); i++)
        if (mcplug_toolbox_add_named(box, config, mcplug_config_name(config, i), NULL,
                                     &err) != MCPLUG_OK)
            fprintf(stderr, "%s\n", err.text); /* disabled, not approved, .. */
    mcplug_config_free(config);
    if (words + 1 < argc)
        add_command(box, argv + words + 1);
    if (app.name && mcplug_toolbox_find(box, app.name, &server, &tool))
        use(box); /* known, so nobody else is needed */
    else if (mcplug_toolbox_warm_up(box, on_warm, NULL, &err) != MCPLUG_OK)
        return 1;
    mcplug_run(app.host);
    mcplug_free(app.host);
    print_parts(app.content);
    mcplug_rendering_unref(app.content);
    return app.failed;
}
