#include "cli/commands/commands.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/base/consent.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"
#include "cli/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files of the working directory may have come with a repository. They are for the
 * project's own scopes alone, where what they bring wants approval. */
static struct cli_import_places places_of(const struct cli *cli, enum mcplug_scope scope)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    return (struct cli_import_places){.home = cli->paths.home,
                                      .xdg = xdg && xdg[0] == '/' ? xdg : NULL,
                                      .cwd = cli->paths.cwd,
                                      .user_only = scope == MCPLUG_SCOPE_USER};
}

/* ---- which of them ---- */

static bool wanted(const struct cli_args *args, size_t first, const char *name)
{
    if (args->words.n <= first)
        return true;
    for (size_t i = first; i < args->words.n; i++)
        if (strcmp(args->words.items[i], name) == 0)
            return true;
    return false;
}

static bool all_found(const struct cli_args *args, size_t first,
                      const struct cli_import *import)
{
    for (size_t i = first; i < args->words.n; i++) {
        bool found = false;
        for (size_t k = 0; k < import->n; k++)
            found = found || strcmp(import->list[k].name, args->words.items[i]) == 0;
        if (!found) {
            cli_error("there is no server \"%.64s\" to import", args->words.items[i]);
            return false;
        }
    }
    return true;
}

/* ---- what there is ---- */

/* Lines of the other program's file. take `text` */
static void put_lines(struct cli_out *out, char *text)
{
    char *rest = text, *line;

    if (!out->terminal)
        cli_out_wrapped(out, text ? text : "", text ? strlen(text) : 0, 2, 0);
    while (out->terminal && rest && (line = strsep(&rest, "\n")))
        cli_out_quoted(out, CLI_FILES, line, strlen(line));
    mcplug_text_free(text);
}

/* Nothing is asked about it now, and the output may be kept: secrets are masked. */
static void put_one(struct cli_out *out, const struct cli_imported *one, bool exists)
{
    char *masked = mcplug_json_masked(one->entry, strlen(one->entry));

    cli_out_style(out, CLI_BOLD);
    cli_out_shown(out, one->name, strlen(one->name));
    cli_out_style(out, CLI_PLAIN);
    if (one->as) {
        cli_out_s(out, " (there: ");
        cli_out_shown(out, one->as, strlen(one->as));
        cli_out_s(out, ")");
    }
    cli_out_s(out, exists ? " - already exists, skipped\n" : "\n");
    put_lines(out, masked ? mcplug_json_layout(masked, strlen(masked)) : NULL);
    if (one->project) {
        cli_out_s(out, "  for the project ");
        cli_out_shown(out, one->project, strlen(one->project));
        cli_out_s(out, "\n");
    }
    if (one->note)
        cli_out_wrapped(out, one->note, strlen(one->note), 2, 0);
    mcplug_text_free(masked);
}

static void put_skipped(struct cli_out *out, const struct cli_import *import)
{
    for (size_t i = 0; i < import->n_skipped; i++) {
        cli_out_s(out, "skipped: ");
        cli_out_shown(out, import->skipped[i], strlen(import->skipped[i]));
        cli_out_s(out, "\n");
    }
}

static void add_json(struct mp_str *out, const struct cli_imported *one,
                     const char *state)
{
    mp_str_adds(out, out->data[out->len - 1] == '[' ? "{" : ",{");
    cli_json_member(out, "name", one->name);
    if (one->as)
        cli_json_member(out, "as", one->as);
    cli_json_member(out, "file", one->file);
    if (one->project)
        cli_json_member(out, "project", one->project);
    if (one->note)
        cli_json_member(out, "note", one->note);
    cli_json_member(out, "state", state);
    mp_str_adds(out, ",\"entry\":");
    cli_json_masked(out, mp_text(one->entry));
    mp_str_addc(out, '}');
}

/* ---- the question, and the deed ---- */

struct job {
    struct cli_import import;
    enum mcplug_scope scope;
    size_t first; /* word that may be a server's name */
    int code;     /* CLI_OK, or why nothing could be asked */
};

static bool exists(const struct cli *cli, const struct job *job, const char *name)
{
    return mcplug_entry_find_in(cli->config, name, job->scope) != NULL;
}

/* What is to be added now, unless it turns out that it can't be. */
static bool is_fresh(const struct cli *cli, const struct job *job,
                     const struct cli_imported *one)
{
    return wanted(&cli->args, job->first, one->name) && one->fault == CLI_OK &&
           !exists(cli, job, one->name);
}

/* What would be agreed to, as it is: a mask could hide what it does. */
static void put_asked(struct cli_consent *c, const struct cli_imported *one, bool fresh)
{
    mp_view json = mp_text(one->entry);

    cli_out_s(&c->out, "\n");
    cli_out_style(&c->out, CLI_BOLD);
    cli_out_shown(&c->out, one->name, strlen(one->name));
    cli_out_style(&c->out, CLI_PLAIN);
    cli_out_s(&c->out, fresh                  ? ":\n"
                       : one->fault == CLI_OK ? " - already exists, skipped\n"
                                              : " - cannot be used, skipped\n");
    if (one->as)
        cli_consent_line(c, CLI_FILES "there: ", one->as, strlen(one->as));
    if (fresh)
        cli_consent_entry(c, json);
    if (one->project)
        cli_consent_line(c, CLI_FILES "for the project ", one->project,
                         strlen(one->project));
    if (one->note) /* it names keys of that file */
        cli_consent_lines(c, CLI_FILES, one->note);
    if (fresh)
        cli_consent_environment(c, json);
}

static bool ask(struct cli *cli, struct job *job, size_t n, const char *file)
{
    const struct cli_import *import = &job->import;
    struct cli_consent *c = cli_consent_new();
    struct mp_str question;
    bool yes = false;

    job->code = CLI_INTERNAL;
    if (!c)
        return false;
    mp_str_init(&question, 8192);
    mp_str_addf(&question, "Add %zu server%s to ", n, n == 1 ? "" : "s");
    mp_str_add_escaped(&question, file, strlen(file), false);
    mp_str_adds(&question, "? [y/N] ");
    cli_out_s(&c->out, "mcplug needs your permission to add these servers, as they are, "
                       "secrets included. They come from:\n");
    for (size_t i = 0; i < import->n_files; i++)
        cli_consent_line(c, CLI_FILES, import->files[i], strlen(import->files[i]));
    for (size_t i = 0; i < import->n; i++)
        if (wanted(&cli->args, job->first, import->list[i].name))
            put_asked(c, &import->list[i], is_fresh(cli, job, &import->list[i]));
    for (size_t i = 0; i < import->n_skipped; i++)
        cli_consent_line(c, CLI_FILES "skipped: ", import->skipped[i],
                         strlen(import->skipped[i]));
    cli_out_s(&c->out, "\n");
    c->is_cut = c->is_cut || question.failed;
    if (question.data)
        yes = cli_consent_ask(c, question.data);
    job->code = c->is_cut || c->out.failed ? CLI_BAD_CONFIG : CLI_OK;
    mp_str_clear(&question);
    mp_free(c);
    return yes;
}

/* Shows what there is, and finds out if `n` servers are to be added. */
static bool agreed(struct cli *cli, struct job *job, bool asks, size_t n,
                   const char *file)
{
    const struct cli_import *import = &job->import;

    if (asks && n)
        return ask(cli, job, n, file);
    for (size_t i = 0; !cli->args.json && i < import->n; i++)
        if (wanted(&cli->args, job->first, import->list[i].name))
            put_one(&cli->out, &import->list[i], exists(cli, job, import->list[i].name));
    if (!cli->args.json)
        put_skipped(&cli->out, import);
    if (!n || cli->args.yes)
        return n > 0;
    cli_out_flush(&cli->out);
    if (!cli->args.json)
        cli_hint("Nothing was changed. --yes adds what is shown to %s.", file);
    return false;
}

static int import_all(struct cli *cli, struct job *job, struct mp_str *json)
{
    const struct cli_args *args = &cli->args;
    const char *file = mcplug_config_scope_file(cli->config, job->scope), *written;
    bool asks = !args->yes && !args->json && cli_consent_possible();
    size_t fresh = 0, done = 0;
    int worst = CLI_OK;

    for (size_t i = 0; i < job->import.n; i++) {
        struct cli_imported *one = &job->import.list[i];
        if (!is_fresh(cli, job, one))
            continue;
        if (asks || args->yes) /* nobody is asked about what can't be added */
            one->fault =
                cli_entry_check_new(cli, job->scope, one->name, mp_text(one->entry));
        worst = cli_worse(worst, one->fault);
        fresh += one->fault == CLI_OK;
    }
    bool go = agreed(cli, job, asks, fresh, file ? file : "");
    for (size_t i = 0; i < job->import.n; i++) {
        const struct cli_imported *one = &job->import.list[i];
        const char *state = exists(cli, job, one->name) ? "exists" : "new";
        if (!wanted(args, job->first, one->name))
            continue;
        if (one->fault != CLI_OK) {
            state = "failed";
        } else if (go && strcmp(state, "new") == 0) {
            int code = cli_entry_write(cli, job->scope, one->name, mp_text(one->entry),
                                       false, &written);
            state = code == CLI_OK ? "added" : "failed";
            worst = cli_worse(worst, code);
            done += code == CLI_OK;
        }
        add_json(json, one, state);
    }
    if (!args->json && fresh && !go && isatty(STDIN_FILENO))
        cli_out_s(&cli->out, "Nothing was changed.\n");
    if (!args->json && go)
        cli_out_f(&cli->out, "Added %zu server%s to the %s scope.\n", done,
                  done == 1 ? "" : "s", cli_scope_name(job->scope));
    else if (!args->json && !fresh)
        cli_out_s(&cli->out, "There is nothing new to import.\n");
    return cli_worse(worst, job->code);
}

static int import_from(struct cli *cli, const struct cli_importer *from, size_t first)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct job job = {.first = first};
    struct mp_str json;
    int code = CLI_BAD_CONFIG;
    bool found = false;

    if (!cli_scope(cli, MCPLUG_SCOPE_USER, &job.scope))
        return CLI_USAGE;
    struct cli_import_places paths = places_of(cli, job.scope);
    mp_str_init(&json, (size_t)64 << 20);
    mp_str_adds(&json, "{\"servers\":[");
    int r = cli_import_read(from, &paths, cli->args.file, &job.import, &err);
    if (r != MCPLUG_OK)
        cli_error("%s", err.text);
    else if (!(found = all_found(&cli->args, first, &job.import)))
        code = CLI_NOT_FOUND;
    else
        code = import_all(cli, &job, &json);
    if (found && cli->args.json) {
        mp_str_adds(&json, "],\"skipped\":[");
        for (size_t i = 0; i < job.import.n_skipped; i++) {
            mp_str_adds(&json, i ? "," : "");
            mp_str_add_json(&json, job.import.skipped[i], strlen(job.import.skipped[i]));
        }
        mp_str_adds(&json, "]}\n");
        code = cli_put_document(cli, &json, code);
    }
    mp_str_clear(&json);
    cli_import_clear(&job.import);
    return code;
}

/* Without a program: what there is to import. */
static int survey(struct cli *cli)
{
    struct cli_import_places paths = places_of(cli, MCPLUG_SCOPE_USER);
    struct cli_out *out = &cli->out;
    size_t found = 0;

    if (cli->args.json)
        cli_out_s(out, "[");
    for (const struct cli_importer *from = cli_importers; from->name; from++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        struct cli_import import;
        int r = cli_import_read(from, &paths, NULL, &import, &err);
        if (r == MCPLUG_OK && cli->args.json)
            cli_out_f(out, "%s{\"program\":\"%s\",\"servers\":%zu}", found ? "," : "",
                      from->name, import.n);
        else if (r == MCPLUG_OK)
            cli_out_f(out, "%-15s %zu server%s\n", from->name, import.n,
                      import.n == 1 ? "" : "s");
        else if (r != MCPLUG_ENOTSUP)
            cli_note("%s", err.text);
        found += r == MCPLUG_OK;
        cli_import_clear(&import);
    }
    cli_out_flush(out);
    if (cli->args.json)
        cli_out_s(out, "]\n");
    else if (found)
        cli_hint("`mcplug import PROGRAM` shows them and asks before it adds them.");
    else
        cli_out_s(out, "No configuration of another program was found.\n");
    return CLI_OK;
}

static int run(struct cli *cli)
{
    const struct cli_list *words = &cli->args.words;
    if (!cli_config(cli))
        return CLI_BAD_CONFIG;
    if (words->n == 0 && cli->args.file) {
        cli_error("--file needs the program that the file belongs to: mcplug import "
                  "PROGRAM --file %s",
                  cli->args.file);
        return CLI_USAGE;
    }
    if (words->n == 0)
        return survey(cli);
    const struct cli_importer *from = cli_importer_find(words->items[0]);
    if (from)
        return import_from(cli, from, 1);
    cli_error("unknown program \"%.64s\"", words->items[0]);
    cli_hint("Choose one of:");
    for (from = cli_importers; from->name; from++)
        cli_hint("%s: %s", from->name, from->title);
    return CLI_NOT_FOUND;
}

static int run_desktop(struct cli *cli)
{
    if (!cli_config(cli))
        return CLI_BAD_CONFIG;
    return import_from(cli, cli_importer_find("claude-desktop"), 0);
}

static const struct cli_option options[] = {
    {"scope", 's', CLI_TEXT, "SCOPE",
     "which file to write: user (the default), project or local",
     offsetof(struct cli_args, scope), .complete.is = CLI_WORD_SCOPE},
    {"file", 'f', CLI_TEXT, "FILE", "read FILE instead of the program's own files",
     offsetof(struct cli_args, file), .complete.is = CLI_WORD_FILE},
    {"yes", 'y', CLI_FLAG, NULL, "add the servers without asking",
     .at = offsetof(struct cli_args, yes)},
    {.name = NULL},
};

const struct cli_command cli_cmd_import = {
    .name = "import",
    .words = "[PROGRAM [NAME...]]",
    .summary = "Import servers from another program's configuration.",
    .details =
        "PROGRAM is claude-desktop, claude-code, cursor, vscode, codex, gemini, "
        "windsurf or zed; without it, the programs that have servers are listed. "
        "At a terminal, the servers to add are shown whole, and then you are asked; "
        "otherwise secrets are shown as ***. Names that already exist are skipped. "
        "Files of the working "
        "directory, such as .vscode/mcp.json, are read only with --scope project "
        "or local; their servers need approval.",
    .options = options,
    .flags = CLI_CONFIG,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_IMPORTER}, {.is = CLI_WORD_FREE}},
    .run = run,
};

const struct cli_command cli_cmd_add_from_claude_desktop = {
    .name = "add-from-claude-desktop",
    .words = "[NAME...]",
    .summary = "Same as import claude-desktop.",
    .options = options,
    .flags = CLI_CONFIG,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_FREE}},
    .run = run_desktop,
};
