/* A server that the user has configured: asks for approval where a project's entry needs
 * it, then lists the tools of the server, or calls one and prints its result whole,
 * however long it is.
 *
 *   cc embed-named.c $(pkg-config --cflags --libs mcplug) -o embed-named
 *   ./embed-named SERVER [TOOL [ARGUMENTS]]
 *   ./embed-named demo add '{"a":2,"b":40}'
 */
#include <mcplug/mcplug.h>

#include <stdio.h>

/* Whoever writes a project's file decides which command is run here, so its user sees the
 * entry first. The approval is kept, and is of exactly this entry: when the file changes,
 * the question comes again. */
static int may_use(mcplug_config *config, const char *name, struct mcplug_error *err)
{
    size_t len;

    enum mcplug_entry_state state = mcplug_config_check(config, name, err);
    if (state != MCPLUG_ENTRY_NEEDS_APPROVAL)
        return state == MCPLUG_ENTRY_READY;
    const char *entry = mcplug_config_entry(config, name, &len);
    fprintf(stderr, "%s\n%.*s\nApprove it? [y/N] ", err->text, (int)len, entry);
    int answer = getchar();
    if (answer != 'y' && answer != 'Y')
        return 0;
    /* With variables put in, a policy may still say no. */
    return mcplug_config_approve(config, name, err) == MCPLUG_OK &&
           mcplug_config_check(config, name, err) == MCPLUG_ENTRY_READY;
}

static void put_escaped(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20)
            printf("\\u%04x", c);
        else if (c == '"' || c == '\\')
            printf("\\%c", c);
        else
            putchar(c);
    }
}

/* One long string, from the file that it went to while it arrived. */
static int print_spill(const mcplug_result *result, size_t i)
{
    char piece[65536];
    uint64_t at = 0;
    int64_t n;

    putchar('"');
    while ((n = mcplug_result_spill_read(result, i, at, piece, sizeof piece)) > 0) {
        put_escaped(piece, (size_t)n);
        at += (uint64_t)n;
    }
    putchar('"');
    return n == 0;
}

/* The JSON of the result has long strings in a cut form; each is replaced by its whole.
 */
static int print_whole(const mcplug_result *result)
{
    size_t len, at = 0;
    const char *json = mcplug_result_json(result, &len);

    for (size_t i = 0; i < mcplug_result_spills(result); i++) {
        struct mcplug_spill spill = {.struct_size = sizeof spill};
        if (mcplug_result_spill(result, i, &spill) != MCPLUG_OK)
            return 0;
        fprintf(stderr, "a string of %llu bytes was kept in a file\n",
                (unsigned long long)spill.size);
        fwrite(json + at, 1, spill.json_offset - at, stdout);
        if (!print_spill(result, i))
            return 0;
        at = spill.json_offset + spill.json_len;
    }
    fwrite(json + at, 1, len - at, stdout);
    putchar('\n');
    return 1;
}

static int call(mcplug_server *server, const char *tool, const char *arguments,
                struct mcplug_error *err)
{
    mcplug_result *result = NULL;
    int ok = 0;

    if (mcplug_call_tool_wait(server, tool, arguments, NULL, &result, err) != MCPLUG_OK)
        fprintf(stderr, "%s: %s\n", tool, err->text);
    else if (!print_whole(result))
        fprintf(stderr, "%s: the result cannot be read\n", tool);
    else
        ok = !mcplug_result_is_error(result);
    mcplug_result_unref(result);
    return ok;
}

static int list_tools(mcplug_server *server, struct mcplug_error *err)
{
    mcplug_list *list = NULL;

    if (mcplug_get_list_wait(server, MCPLUG_TOOLS, NULL, &list, err) != MCPLUG_OK) {
        fprintf(stderr, "%s\n", err->text);
        return 0;
    }
    for (size_t i = 0; i < mcplug_list_count(list); i++)
        puts(mcplug_list_name(list, i));
    mcplug_list_unref(list);
    return 1;
}

int main(int argc, char **argv)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    /* A program that ends after one call needs no supervision of its server, and no
     * more memory for a message than this: longer strings go to a file. */
    struct mcplug_server_options options = {
        .struct_size = sizeof options, .once = 1, .max_memory = 1 << 20};
    struct mcplug_options host_options = {.struct_size = sizeof host_options};
    mcplug_server *server;
    mcplug *host = NULL;
    int ok = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: %s SERVER [TOOL [ARGUMENTS]]\n", argv[0]);
        return 2;
    }
    mcplug_config *config = mcplug_config_load(NULL, &err);
    if (config && may_use(config, argv[1], &err)) {
        host_options.user_plugin_dirs = mcplug_config_plugin_dirs(config);
        host = mcplug_new(&host_options, &err);
    }
    if (host && mcplug_open_named_wait(host, config, argv[1], &options, &server, &err) ==
                    MCPLUG_OK) {
        ok = argc > 2 ? call(server, argv[2], argc > 3 ? argv[3] : NULL, &err)
                      : list_tools(server, &err);
        mcplug_close_wait(server);
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
    mcplug_free(host);
    mcplug_config_free(config);
    return !ok;
}
