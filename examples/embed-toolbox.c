/* All configured servers as one box of tools, as an agent has them: prints what tools
 * there are, or calls one of them by its name and prints the record of the call. Servers
 * that the catalogue knows are not started before they are called.
 *
 *   cc embed-toolbox.c $(pkg-config --cflags --libs mcplug) -o embed-toolbox
 *   ./embed-toolbox [NAME [ARGUMENTS]]
 *   ./embed-toolbox mcp__demo__add '{"a":2,"b":40}'
 */
#include <mcplug/mcplug.h>

#include <stdio.h>

static struct {
    mcplug *host;
    const char *name, *arguments;
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
    mcplug_toolbox_free(arg, on_freed, NULL);
}

static void on_settled(void *arg, mcplug_toolbox *box, const char *server, uint64_t ms,
                       const struct mcplug_error *why)
{
    (void)arg, (void)box;
    fprintf(stderr, "%s: %s after %llu ms\n", server, why ? why->text : "ready",
            (unsigned long long)ms);
}

static void use(mcplug_toolbox *box)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!app.name) {
        for (size_t i = 0; i < mcplug_toolbox_count(box); i++)
            puts(mcplug_toolbox_name(box, i));
    } else if (mcplug_toolbox_call(box, app.name, app.arguments, NULL, on_record, box,
                                   &err)) {
        return;
    } else {
        fprintf(stderr, "%s\n", err.text);
        app.failed = 1;
    }
    mcplug_toolbox_free(box, on_freed, NULL);
}

static void on_warm(void *arg, mcplug_toolbox *box, size_t ready, size_t failed)
{
    (void)arg, (void)ready, (void)failed;
    use(box);
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
    app.name = argc > 1 ? argv[1] : NULL;
    app.arguments = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; i < mcplug_config_count(config); i++)
        if (mcplug_toolbox_add_named(box, config, mcplug_config_name(config, i), NULL,
                                     &err) != MCPLUG_OK)
            fprintf(stderr, "%s\n", err.text); /* disabled, not approved, .. */
    mcplug_config_free(config);
    if (app.name && mcplug_toolbox_find(box, app.name, &server, &tool))
        use(box); /* known, so nobody else is needed */
    else if (mcplug_toolbox_warm_up(box, on_warm, NULL, &err) != MCPLUG_OK)
        return 1;
    mcplug_run(app.host);
    mcplug_free(app.host);
    return app.failed;
}
