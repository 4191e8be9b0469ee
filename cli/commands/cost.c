/* What servers cost a model in tokens: the definitions of their tools, and the results of
 * these that were too long and are kept. Nothing is started. */
#include "cli/commands/commands.h"

#include "base/mem.h"
#include "cli/base/by_name.h"
#include "base/text.h"
#include "cli/base/catalogue.h"
#include "cli/base/content.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <stdlib.h>
#include <string.h>

#define DOCUMENT_MAX ((size_t)64 << 20)
#define SAMPLE ((size_t)1 << 20) /* bytes of a result that are looked at */
#define KINDS_MAX 10000          /* of results: server and tool */

struct row { /* of one kind of result */
    char *server, *tool;
    uint64_t count, bytes, tokens;
};

struct job {
    struct cli *cli;
    const char *only; /* a server; NULL: all */
    struct mp_str json;
    size_t servers;
    uint64_t tools, tokens; /* of all */
    struct row *rows;
    size_t n, cap;
    char *sample;
    bool failed; /* no memory */
};

/* ---- definitions ---- */

/* As the API of a model gets it: without what only hosts read. */
static uint64_t tokens_of(mp_view tool)
{
    static const char *const parts[] = {"name", "description", "inputSchema"};
    uint64_t n = 8; /* names of members, braces */

    for (size_t i = 0; i < MP_COUNT(parts); i++) {
        mp_view part = mp_view_get(tool, parts[i]);
        n += mcplug_estimate_tokens((const char *)part.data, part.len);
    }
    return n;
}

static void put_tool(struct job *job, mp_view tool, bool first)
{
    mp_view name = mp_view_get(tool, "name");
    uint64_t tokens = tokens_of(tool);

    if (job->cli->args.json) {
        mp_str_adds(&job->json, first ? "{\"tool\":" : ",{\"tool\":");
        mp_str_add(&job->json, name.data, name.len);
        mp_str_addf(&job->json, ",\"tokens\":%llu}", (unsigned long long)tokens);
    } else if (job->only) {
        cli_out_f(&job->cli->out, "%9llu  ", (unsigned long long)tokens);
        cli_out_view(&job->cli->out, name);
        cli_out_s(&job->cli->out, "\n");
    }
}

static void take_server(void *arg, const struct cli_known *known)
{
    struct job *job = arg;
    const char *name = mcplug_entry_name(known->entry);
    mp_view tools = cli_known_items(known->known, MCPLUG_TOOLS), tool;
    struct mp_walk w = mp_walk_into(tools);
    uint64_t tokens = 0;
    size_t n = 0;

    if (job->only && strcmp(job->only, name) != 0)
        return;
    if (job->cli->args.json) {
        mp_str_adds(&job->json, job->servers ? ",{" : "{");
        cli_json_member(&job->json, "server", name);
        mp_str_adds(&job->json, ",\"tools\":[");
    }
    while (mp_walk_element(&w, &tool)) {
        put_tool(job, tool, n++ == 0);
        tokens += tokens_of(tool);
    }
    if (job->cli->args.json)
        mp_str_addf(&job->json, "],\"tokens\":%llu}", (unsigned long long)tokens);
    else if (!job->only)
        cli_out_f(&job->cli->out, "%9llu  %s (%zu tool%s)\n", (unsigned long long)tokens,
                  name, n, n == 1 ? "" : "s");
    job->servers++;
    job->tools += n;
    job->tokens += tokens;
}

/* ---- results ---- */

static struct row *row_of(struct job *job, const struct mcplug_stored *one)
{
    for (size_t i = 0; i < job->n; i++)
        if (strcmp(job->rows[i].server, one->server) == 0 &&
            strcmp(job->rows[i].tool, one->tool) == 0)
            return &job->rows[i];
    if (job->n == KINDS_MAX || !mp_grow(&job->rows, &job->cap, job->n + 1))
        return NULL;
    struct row *row = &job->rows[job->n++];
    *row = (struct row){.server = mp_strdup(one->server), .tool = mp_strdup(one->tool)};
    return row->server && row->tool ? row : NULL;
}

/* Of the beginning, and of the rest as if it were like that. */
static uint64_t tokens_of_file(struct job *job, const struct mcplug_stored *one)
{
    int64_t n = mcplug_stored_read(NULL, one->name, 0, job->sample, SAMPLE, NULL, NULL);

    if (n <= 0)
        return 0;
    double tokens = (double)mcplug_estimate_tokens(job->sample, (size_t)n);
    return (uint64_t)(tokens * ((double)one->size / (double)n));
}

/* Servers are normalised in names of files, as they are for models. */
static bool is_of(const char *server, const char *normalised)
{
    for (; *server && *normalised; server++, normalised++) {
        bool plain = (*server >= '0' && *server <= '9') ||
                     (mp_lower(*server) >= 'a' && mp_lower(*server) <= 'z');
        if ((plain ? *server : '_') != *normalised)
            return false;
    }
    return !*server && !*normalised;
}

static int take_result(void *arg, const struct mcplug_stored *one)
{
    struct job *job = arg;

    if (job->only && !is_of(job->only, one->server))
        return 1;
    struct row *row = row_of(job, one);
    if (!row) {
        job->failed = true;
        return 0;
    }
    row->count++;
    row->bytes += one->size;
    row->tokens += tokens_of_file(job, one);
    return 1;
}

static void put_results(struct job *job)
{
    struct cli_out *out = &job->cli->out;

    for (size_t i = 0; i < job->n; i++) {
        const struct row *row = &job->rows[i];
        if (job->cli->args.json) {
            mp_str_adds(&job->json, i ? ",{" : "{");
            cli_json_member(&job->json, "server", row->server);
            cli_json_member(&job->json, "tool", row->tool);
            mp_str_addf(&job->json, ",\"results\":%llu,\"bytes\":%llu,\"tokens\":%llu}",
                        (unsigned long long)row->count, (unsigned long long)row->bytes,
                        (unsigned long long)row->tokens);
            continue;
        }
        cli_out_s(out, i ? "" : "\nResults that were too long, and are kept:\n");
        cli_out_f(out, "%9llu  %s %s (%llu)\n", (unsigned long long)row->tokens,
                  row->server, row->tool, (unsigned long long)row->count);
    }
}

/* ---- the command ---- */

static int look(struct job *job)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_catalogue c = {.cli = job->cli, .fn = take_server, .arg = job};
    int code = cli_catalogue_walk(&c);

    mp_str_adds(&job->json, "],\"results\":[");
    if (code == CLI_OK && !job->cli->args.json && job->servers)
        cli_out_f(&job->cli->out, "%9llu  in all, of %llu tool%s\n",
                  (unsigned long long)job->tokens, (unsigned long long)job->tools,
                  job->tools == 1 ? "" : "s");
    if (code == CLI_OK && mcplug_stored_each(NULL, take_result, job, &err) != MCPLUG_OK) {
        cli_error("%s", err.text);
        code = CLI_IO_ERROR;
    }
    if (code == CLI_OK && job->failed) {
        cli_error("out of memory");
        code = CLI_INTERNAL;
    }
    if (code == CLI_OK)
        put_results(job);
    if (code == CLI_OK && !job->only)
        code = cli_catalogue_unknown(&c);
    cli_catalogue_clear(&c);
    return code;
}

static int run(struct cli *cli)
{
    struct job job = {.cli = cli};
    int code = CLI_OK;

    job.only = cli->args.words.n ? cli->args.words.items[0] : NULL;
    if (job.only && cli_config(cli) && !mcplug_entry_find(cli_config(cli), job.only)) {
        cli_error("there is no server \"%s\"", job.only);
        return CLI_NOT_FOUND;
    }
    job.sample = mp_alloc(SAMPLE);
    mp_str_init(&job.json, DOCUMENT_MAX);
    mp_str_adds(&job.json, "{\"definitions\":[");
    if (job.sample) {
        code = look(&job);
    } else {
        cli_error("out of memory");
        code = CLI_INTERNAL;
    }
    mp_str_adds(&job.json, "]}\n");
    if (cli->args.json && code == CLI_OK)
        code = cli_put_document(cli, &job.json, code);
    else if (code == CLI_OK && job.only && !job.servers)
        cli_hint("The tools of \"%s\" are not known. `mcplug tools %s` asks it.",
                 job.only, job.only);
    mp_str_clear(&job.json);
    for (size_t i = 0; i < job.n; i++) {
        mp_free(job.rows[i].server);
        mp_free(job.rows[i].tool);
    }
    mp_free(job.rows);
    mp_free(job.sample);
    return code;
}

const struct cli_command cli_cmd_cost = {
    .name = "cost",
    .words = "[SERVER]",
    .summary = "Count the tokens that servers cost a model.",
    .details =
        "For every server, or for every tool of one, the tokens that its definitions "
        "take in each request to a model, estimated; and the tokens of results that were "
        "too long and are kept in files. What servers offered last is used: none is "
        "started.",
    .flags = CLI_CONFIG,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_SERVER}},
    .run = run,
};
