#include "cli/commands/commands.h"

#include "plugins/common/ide.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "plugin/services.h"
#include "cli/base/doc.h"
#include "cli/base/message.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define IDES_MAX 64

/* ---- for programs ---- */

/* The name of a file need not be UTF-8. */
static json_t *text(const char *s)
{
    json_t *value = *s ? json_string(s) : NULL;
    return value ? value : json_null();
}

/* No token: what is printed ends up in places where others read. */
static json_t *ide_json(const struct ide *ide)
{
    char url[64];
    ide_url(ide, url, sizeof url);
    json_t *pid = ide->pid ? json_integer(ide->pid) : json_null();
    return json_pack("{s:o,s:o,s:i,s:s,s:s,s:o,s:b,s:b,s:b,s:o}", "name", text(ide->name),
                     "pid", pid, "port", ide->port, "transport", ide->transport, "url",
                     url, "workspace", text(ide->workspace), "here", ide->holds_cwd > 0,
                     "preferred", ide->preferred, "windows", ide->windows, "file",
                     text(ide->file));
}

static int put_json(struct cli *cli, const struct ide *ides, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, ide_json(&ides[i]));
    int code = cli_put_tree(cli, list, CLI_OK);
    json_decref(list);
    return code;
}

/* ---- for people ---- */

enum { NAME, TRANSPORT, PORT, PID, COLUMNS };

struct row {
    char cells[COLUMNS][IDE_NAME_MAX];
};

static struct row make_row(const struct ide *ide)
{
    struct row row;
    snprintf(row.cells[NAME], IDE_NAME_MAX, "%s", ide->name);
    snprintf(row.cells[TRANSPORT], IDE_NAME_MAX, "%s", ide->transport);
    snprintf(row.cells[PORT], IDE_NAME_MAX, "port %d", ide->port);
    snprintf(row.cells[PID], IDE_NAME_MAX, ide->pid ? "pid %d" : "no pid", (int)ide->pid);
    return row;
}

static size_t columns(const char *cell)
{
    return cli_columns(cell, strlen(cell));
}

static void put_row(struct cli_out *out, const struct ide *ide, const size_t *widths)
{
    struct row row = make_row(ide);
    cli_out_s(out, ide->holds_cwd ? "* " : "  ");
    for (size_t i = 0; i < COLUMNS; i++) {
        const char *cell = row.cells[i];
        cli_out_style(out, i == NAME ? CLI_BOLD : CLI_PLAIN);
        cli_out_shown(out, cell, strlen(cell));
        cli_out_style(out, CLI_PLAIN);
        if (i + 1 < COLUMNS || ide->workspace[0])
            cli_out_spaces(out, widths[i] - columns(cell) + 2);
    }
    cli_out_shown(out, ide->workspace, strlen(ide->workspace));
    cli_out_s(out, "\n");
}

static void put_table(struct cli_out *out, const struct ide *ides, int n)
{
    size_t widths[COLUMNS] = {0};
    for (int i = 0; i < n; i++) {
        struct row row = make_row(&ides[i]);
        for (size_t k = 0; k < COLUMNS; k++) {
            size_t wide = columns(row.cells[k]);
            widths[k] = wide > widths[k] ? wide : widths[k];
        }
    }
    for (int i = 0; i < n; i++)
        put_row(out, &ides[i], widths);
}

static void tell_none(const struct ide_search *where)
{
    char lines[8192];
    static const char head[] = "No running editor with a server was found. Searched:\n"
                               "  ";
    memcpy(lines, head, sizeof head);
    ide_places(where, "\n  ", lines + sizeof head - 1, sizeof lines - (sizeof head - 1));
    cli_tell("", lines, strlen(lines));
}

/* ---- the command ---- */

static void on_skipped(void *arg, const char *file, const char *why)
{
    struct mp_str line;
    (void)arg;
    mp_str_init(&line, 65536);
    mp_str_adds(&line, "ignored ");
    mp_str_add_escaped(&line, file, strlen(file), false);
    mp_str_addf(&line, ": %s", why);
    cli_log_line(MCPLUG_LOG_VERBOSE, "ide", line.data ? line.data : why);
    mp_str_clear(&line);
}

static int run(struct cli *cli)
{
    const struct cli_args *args = &cli->args;
    struct ide *ides = mp_alloc(IDES_MAX * sizeof *ides);
    struct ide_search where;
    int n = MCPLUG_ENOMEM, code = CLI_OK;

    ide_search_from_environment(&where, mp_alloc, mp_free);
    if (args->verbose && !args->quiet)
        where.skipped = on_skipped;
    if (ides)
        n = ide_find(mp_service_json(), &where, ides, IDES_MAX);
    if (n < 0)
        cli_error("out of memory");
    else if (args->json)
        code = put_json(cli, ides, n);
    else if (n == 0)
        tell_none(&where);
    else
        put_table(&cli->out, ides, n);
    mp_free(ides);
    return n < 0 ? CLI_INTERNAL : code;
}

const struct cli_command cli_cmd_ide = {
    .name = "ide",
    .words = "",
    .summary = "List the editors on this machine that run a server.",
    .details =
        "Editors announce their servers in lock files below the user's home and the "
        "directory for temporary files. Running editors are listed with name, transport, "
        "port, process and workspace, the best match first: the editor around this "
        "terminal, then those whose workspace contains the current directory, which are "
        "marked with *, then the one that was started last. The types ws-ide, sse-ide "
        "and http-ide use the first of their kind.\n\n"
        "With --verbose, files that are ignored are listed with the reason.",
    .run = run,
};
