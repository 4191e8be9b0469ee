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
#include <string.h>

/* A text that somebody else wrote can move the cursor, hide or turn round what is shown:
 * on a terminal, all but plain characters are shown as numbers. */
static void print_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        fprintf(stderr, text[i] >= ' ' && text[i] <= '~' ? "%c" : "\\x%02x",
                (unsigned char)text[i]);
}

/* Whoever writes a project's file decides which command is run here, so its user sees the
 * entry first. The approval is kept, and is of exactly this entry: when the file changes,
 * the question comes again. */
static int may_use(mcplug_config *config, const char *name, struct mcplug_error *err)
{
    char answer[8];
    size_t len;

    enum mcplug_entry_state state = mcplug_config_check(config, name, err);
    if (state != MCPLUG_ENTRY_NEEDS_APPROVAL)
        return state == MCPLUG_ENTRY_READY;
    const char *entry = mcplug_config_entry(config, name, &len);
    fprintf(stderr, "%s\n", err->text);
    print_plain(entry, len);
    fprintf(stderr, "\nApprove it? [y/N] ");
    if (!fgets(answer, sizeof answer, stdin) || strcmp(answer, "y\n") != 0)
        return 0;
    /* With variables put in, a policy may still say no. */
    return mcplug_config_approve(config, name, err) == MCPLUG_OK &&
           mcplug_config_check(config, name, err) == MCPLUG_ENTRY_READY;
}

/* Long strings were kept in a file while they came: each can be read alone, as text. */
static void print_starts(const mcplug_result *result)
{
    for (size_t i = 0; i < mcplug_result_spills(result); i++) {
        struct mcplug_spill spill = {.struct_size = sizeof spill};
        char start[20];
        int64_t n = mcplug_result_spill_read(result, i, 0, start, sizeof start);
        if (n > 0 && mcplug_result_spill(result, i, &spill) == MCPLUG_OK)
            fprintf(stderr, "a string of %llu bytes was kept in a file: %.*s..\n",
                    (unsigned long long)spill.size, (int)n, start);
    }
}

/* The JSON of the result, whole: mcplug_result_json() has long strings in a cut form. */
static int print_whole(const mcplug_result *result)
{
    struct mcplug_cursor at = {.struct_size = sizeof at};
    char piece[65536];
    int64_t n;

    print_starts(result);
    while ((n = mcplug_result_read(result, &at, piece, sizeof piece)) > 0)
        fwrite(piece, 1, (size_t)n, stdout);
    putchar('\n');
    return n == 0;
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
