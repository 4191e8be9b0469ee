#include "cli/base/lint.h"

#include "base/error.h"
#include "base/mem.h"
#include "cli/base/catalogue.h"
#include "cli/base/content.h"
#include "cli/base/entries.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>

#define PROVIDERS 8
#define DOCUMENT_MAX ((size_t)256 << 20)

static const char *const severities[] = {
    [MCPLUG_ADVICE] = "advice",
    [MCPLUG_REPAIRED] = "repaired",
    [MCPLUG_REFUSED] = "refused",
};

struct job {
    struct cli *cli;
    const char *providers[PROVIDERS];
    size_t n_providers;
    struct mp_str json; /* the document */
    size_t n_put;       /* findings or tools in it */
    size_t n_tools;
    size_t n_hit[MCPLUG_REFUSED + 1]; /* tools, by their worst finding */
    bool is_all;                      /* of several servers */
    int code;
};

/* ---- one finding ---- */

static bool is_same(const struct mcplug_finding *a, const struct mcplug_finding *b)
{
    return a->severity == b->severity && strcmp(a->rule, b->rule) == 0 &&
           strcmp(a->path, b->path) == 0;
}

static bool get(const mcplug_lint *lint, size_t tool, size_t i,
                struct mcplug_finding *out)
{
    *out = (struct mcplug_finding){.struct_size = sizeof *out};
    return mcplug_lint_finding(lint, tool, i, out);
}

static bool has(const mcplug_lint *lint, size_t tool, const struct mcplug_finding *one)
{
    struct mcplug_finding other;

    for (size_t i = 0; get(lint, tool, i, &other); i++)
        if (is_same(&other, one))
            return true;
    return false;
}

static void put_finding(struct job *job, const struct mcplug_finding *f,
                        const char *providers)
{
    static const enum cli_style styles[] = {[MCPLUG_ADVICE] = CLI_DIM,
                                            [MCPLUG_REPAIRED] = CLI_YELLOW,
                                            [MCPLUG_REFUSED] = CLI_RED};
    struct cli_out *out = &job->cli->out;

    cli_out_s(out, "  ");
    cli_out_style(out, styles[f->severity]);
    cli_out_s(out, severities[f->severity]);
    cli_out_style(out, CLI_PLAIN);
    cli_out_f(out, " (%s)", providers);
    if (*f->path) {
        cli_out_s(out, " ");
        cli_out_shown(out, f->path, strlen(f->path));
    }
    cli_out_f(out, "\n    %s\n    mcplug %s\n    to do: %s\n", f->wrong, f->cure,
              f->advice);
}

static void add_finding(struct job *job, const char *server, mp_view name,
                        const struct mcplug_finding *f, const char *provider)
{
    struct mp_str *json = &job->json;

    mp_str_adds(json, job->n_put++ ? ",\n{" : "{");
    cli_json_member(json, "server", server);
    mp_str_adds(json, ",\"tool\":");
    if (name.len)
        mp_str_add_bytes(json, name);
    else
        mp_str_adds(json, "null");
    cli_json_member(json, "provider", provider);
    cli_json_member(json, "severity", severities[f->severity]);
    cli_json_member(json, "rule", f->rule);
    cli_json_member(json, "path", f->path);
    cli_json_member(json, "problem", f->wrong);
    cli_json_member(json, "action",
                    f->is_left_out                 ? "left-out"
                    : f->severity == MCPLUG_ADVICE ? "none"
                                                   : "repaired");
    cli_json_member(json, "cure", f->cure);
    cli_json_member(json, "advice", f->advice);
    mp_str_addc(json, '}');
}

/* ---- one tool ---- */

/* The same finding for several providers is one. */
static void put_tool(struct job *job, mcplug_lint *const *lints, size_t tool,
                     const char *server, mp_view name)
{
    uint32_t worst = 0;
    bool is_headed = false;

    for (size_t p = 0; p < job->n_providers; p++) {
        struct mcplug_finding f;
        for (size_t i = 0; get(lints[p], tool, i, &f); i++) {
            char providers[128] = "";
            bool is_known = false;
            worst = f.severity > worst ? f.severity : worst;
            if (job->cli->args.json) {
                add_finding(job, server, name, &f, job->providers[p]);
                continue;
            }
            for (size_t k = 0; k < job->n_providers; k++) {
                size_t len = strlen(providers);
                if (!has(lints[k], tool, &f))
                    continue;
                is_known |= k < p;
                snprintf(providers + len, sizeof providers - len, "%s%s", len ? ", " : "",
                         job->providers[k]);
            }
            if (is_known)
                continue;
            if (!is_headed) {
                cli_out_style(&job->cli->out, CLI_BOLD);
                if (job->is_all) {
                    cli_out_shown(&job->cli->out, server, strlen(server));
                    cli_out_s(&job->cli->out, name.len ? " " : "");
                }
                cli_out_view(&job->cli->out, name);
                cli_out_style(&job->cli->out, CLI_PLAIN);
                cli_out_s(&job->cli->out, "\n");
            }
            is_headed = true;
            put_finding(job, &f, providers);
        }
    }
    if (tool != MCPLUG_NO_TOOL)
        job->n_hit[worst]++;
    else if (worst == MCPLUG_REFUSED)
        job->n_hit[MCPLUG_REFUSED] += !job->n_hit[MCPLUG_REFUSED];
}

static void add_repaired(struct job *job, const mcplug_lint *lint, size_t tool)
{
    size_t len = 0;
    const char *json = mcplug_lint_tool(lint, tool, &len);

    if (!json)
        return;
    mp_str_adds(&job->json, job->n_put++ ? ",\n" : "");
    mp_str_add(&job->json, json, len);
}

/* ---- the tools of one server ---- */

static int take(struct job *job, const char *server, const mp_view *items, size_t n)
{
    mcplug_lint *lints[PROVIDERS] = {NULL};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str array;
    int r = MCPLUG_OK;

    mp_str_init(&array, DOCUMENT_MAX);
    mp_str_addc(&array, '[');
    for (size_t i = 0; i < n; i++) {
        mp_str_adds(&array, i ? "," : "");
        mp_str_add_bytes(&array, items[i]);
    }
    mp_str_addc(&array, ']');
    if (array.failed)
        r = mp_fail_nomem(&err);
    for (size_t p = 0; r == MCPLUG_OK && p < job->n_providers; p++)
        r = mcplug_lint_new(job->providers[p], server, array.data, array.len, &lints[p],
                            &err);
    for (size_t i = 0; r == MCPLUG_OK && i < n; i++) {
        if (job->cli->args.repair)
            add_repaired(job, lints[0], i);
        else
            put_tool(job, lints, i, server, mp_view_get(items[i], "name"));
        job->n_tools++;
    }
    if (r == MCPLUG_OK && !job->cli->args.repair)
        put_tool(job, lints, MCPLUG_NO_TOOL, server, mp_bytes(NULL, 0));
    if (r != MCPLUG_OK) {
        cli_error("%s: %s", server, err.text);
        job->code = r == MCPLUG_ENOMEM ? CLI_INTERNAL : CLI_TOO_BIG;
    }
    for (size_t p = 0; p < PROVIDERS; p++)
        mcplug_lint_free(lints[p]);
    mp_str_clear(&array);
    return job->code;
}

static void take_known(void *arg, const struct cli_known *one)
{
    struct job *job = arg;
    mp_view list = cli_known_items(one->known, MCPLUG_TOOLS), item;
    struct mp_walk w = mp_walk_into(list);
    mp_view *items = mp_alloc((mp_view_count(list) + 1) * sizeof *items);
    size_t n = 0;

    if (!items) {
        cli_error("out of memory");
        job->code = CLI_INTERNAL;
    }
    while (items && job->code == CLI_OK && mp_walk_element(&w, &item))
        if (mp_view_is_string(mp_view_get(item, "name")) &&
            cli_allows_item(one->entry, MCPLUG_TOOLS, mp_view_get(item, "name")))
            items[n++] = item;
    if (items && job->code == CLI_OK)
        take(job, mcplug_entry_name(one->entry), items, n);
    mp_free(items);
}

/* ---- the command ---- */

static bool add_provider(struct job *job, const char *name, size_t len)
{
    const char *known;

    for (size_t i = 0; (known = mcplug_lint_provider(i)); i++) {
        if (strlen(known) != len || strncmp(known, name, len) != 0)
            continue;
        for (size_t k = 0; k < job->n_providers; k++)
            if (job->providers[k] == known)
                return true;
        job->providers[job->n_providers++] = known;
        return true;
    }
    cli_error("--for: there is no provider \"%.*s\"", (int)(len > 40 ? 40 : len), name);
    cli_hint("Use anthropic, openai or gemini, or several with commas.");
    return false;
}

/* All of them, but one for --repair. */
static bool read_providers(struct job *job)
{
    const char *list = job->cli->args.providers, *name;

    if (!list)
        for (size_t i = 0; (name = mcplug_lint_provider(i)) && i < PROVIDERS; i++)
            if (i == 0 || !job->cli->args.repair)
                job->providers[job->n_providers++] = name;
    while (list) {
        size_t len = strcspn(list, ",");
        if (!add_provider(job, list, len))
            return false;
        list = list[len] ? list + len + 1 : NULL;
    }
    if (job->cli->args.repair && job->n_providers > 1) {
        cli_error("--repair is for one provider: %s, or another", job->providers[0]);
        return false;
    }
    return true;
}

/* What a person reads last. */
static void put_summary(struct job *job)
{
    struct cli_out *out = &job->cli->out;
    size_t refused = job->n_hit[MCPLUG_REFUSED];

    cli_out_f(out, "%zu tool%s for ", job->n_tools, job->n_tools == 1 ? "" : "s");
    for (size_t p = 0; p < job->n_providers; p++)
        cli_out_f(out, "%s%s", p ? ", " : "", job->providers[p]);
    cli_out_f(out, ": %zu refused, %zu repaired, %zu with advice, %zu fine\n", refused,
              job->n_hit[MCPLUG_REPAIRED], job->n_hit[MCPLUG_ADVICE], job->n_hit[0]);
}

/* Prints what there is to print at the end, and returns the exit code. */
static int finish(struct job *job)
{
    const struct cli_args *args = &job->cli->args;
    struct mp_str *json = &job->json;
    int code = job->n_hit[MCPLUG_REFUSED] ? CLI_FINDINGS : CLI_OK;

    if (!args->repair && !args->json) {
        if (!args->quiet && (job->n_tools || !job->is_all))
            put_summary(job);
        return code;
    }
    if (args->repair)
        mp_str_adds(json, "]}\n");
    else
        mp_str_addf(json,
                    "],\"tools\":%zu,\"refused\":%zu,\"repaired\":%zu,\"advice\":%zu}\n",
                    job->n_tools, job->n_hit[MCPLUG_REFUSED], job->n_hit[MCPLUG_REPAIRED],
                    job->n_hit[MCPLUG_ADVICE]);
    return cli_put_document(job->cli, json, code);
}

/* Of the server that was given. */
static int take_only(struct cli *cli, void *arg, const char *server, const mp_view *items,
                     size_t n)
{
    (void)cli;
    int code = take(arg, server, items, n);
    return code == CLI_OK ? finish(arg) : code;
}

static int take_all(struct job *job)
{
    struct cli_catalogue c = {.cli = job->cli, .fn = take_known, .arg = job};
    int code = cli_catalogue_walk(&c);

    if (code == CLI_OK)
        code = job->code;
    if (code == CLI_OK)
        code = cli_catalogue_unknown(&c);
    cli_catalogue_clear(&c);
    return code == CLI_OK ? finish(job) : code;
}

int cli_lint_run(struct cli *cli, const struct cli_listing *tools)
{
    struct cli_listing listing = *tools;
    struct job job = {.cli = cli};
    int code;

    if (cli->args.lint && cli->args.repair) {
        cli_error("--lint and --repair cannot be used together");
        return CLI_USAGE;
    }
    if (!read_providers(&job))
        return CLI_USAGE;
    mp_str_init(&job.json, DOCUMENT_MAX);
    mp_str_adds(&job.json, cli->args.repair ? "{\"tools\":[" : "{\"findings\":[");
    listing.take = take_only;
    listing.arg = &job;
    job.is_all = !cli->args.server && !cli_args_alter(&cli->args);
    code = job.is_all ? take_all(&job) : cli_listing_run(cli, &listing);
    mp_str_clear(&job.json);
    return code;
}

static const struct cli_choice providers[] = {
    {"anthropic", "Messages"},
    {"openai", "Responses and Chat Completions"},
    {"gemini", "generateContent"},
    {.name = NULL},
};

const struct cli_option cli_lint_options[] = {
    {"refresh", 0, CLI_FLAG, NULL, "ask the server even if a fresh list is stored",
     .at = offsetof(struct cli_args, refresh)},
    {"lint", 0, CLI_FLAG, NULL, "report what the APIs of models refuse",
     .at = offsetof(struct cli_args, lint)},
    {"repair", 0, CLI_FLAG, NULL, "print the tools as they are sent to a model",
     .at = offsetof(struct cli_args, repair)},
    {"for", 0, CLI_TEXT, "LIST",
     "providers to lint or repair for: anthropic, openai, gemini (default: all, or to "
     "repair, the first)",
     .at = offsetof(struct cli_args, providers), .complete.choices = providers},
    {.name = NULL},
};
