#include "cli/commands/commands.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/base/content.h"
#include "cli/base/failure.h"
#include "cli/base/pictures.h"
#include "cli/base/save.h"
#include "cli/base/table.h"
#include "cli/base/tree.h"
#include "cli/base/oneshot.h"
#include "cli/base/by_name.h"
#include "base/nearest.h"
#include "cli/base/message.h"
#include "cli/base/model.h"
#include "cli/base/key_value.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
    struct cli *cli;
    const char *server; /* its name, when it has one */
    const char *tool;
    char name[256];            /* what it is called really, once that is known */
    bool normalised;           /* `tool` has _ for everything but letters and digits */
    const mcplug_entry *entry; /* NULL: given in place */
    char *arguments;           /* from --args; NULL: made from the words */
    struct cli_words words;
    struct cli_save save;
    mcplug_model *model; /* that counts; NULL: none */
    char *definition;    /* of the tool, for --for-model; NULL: not known */
    int code;            /* what the command ends with, once a rendering is there */
};

/* ---- the result ---- */

static int save(struct cli_oneshot *link, struct job *job, const struct cli_doc *doc,
                enum mcplug_answer answer, mp_view part)
{
    if (answer == MCPLUG_ANSWER_BLOCKS)
        return cli_save_blocks(&job->save, link->cli, doc, part);
    if (answer == MCPLUG_ANSWER_TEXT)
        return cli_save_text(&job->save, link->cli, doc, part);
    return cli_save_json(&job->save, link->cli, doc, part, "structured.json");
}

/* Structured content alone: for people on a terminal, elsewhere as it came. */
static void put_structured(struct cli_oneshot *link, struct job *job,
                           const struct cli_doc *doc)
{
    struct cli_out *out = &link->cli->out;
    mp_view part = mp_view_get(cli_doc_view(doc), "structuredContent");

    if (!part.len) {
        cli_error("the result of tool '%s' has no structured content", job->tool);
        cli_hint("Without --structured, its content is printed.");
        cli_save_done(link, doc, CLI_BAD_ARGUMENTS);
        return;
    }
    int code = job->save.to ? save(link, job, doc, MCPLUG_ANSWER_JSON, part) : CLI_OK;
    bool is_document = job->save.to == CLI_SAVE_DIR && link->cli->args.json;
    if (code != CLI_OK || (job->save.to && !is_document)) {
        cli_oneshot_finish(link, code);
        return;
    }
    bool laid_out = out->terminal && !doc->raw && !link->cli->args.json;
    int r = laid_out ? cli_doc_pretty(doc, part, 0, out) : cli_doc_json(doc, part, out);
    if (r == MCPLUG_OK && (!doc->raw || out->terminal))
        cli_out_fresh_line(out);
    cli_oneshot_done(link, r, CLI_OK);
}

static int put_people(const struct cli_doc *doc, enum mcplug_answer answer, mp_view part,
                      struct cli_oneshot *link)
{
    struct cli_out *out = &link->cli->out;
    struct cli_seen seen = {0};
    int r = MCPLUG_OK;

    if (answer == MCPLUG_ANSWER_BLOCKS)
        r = cli_content_blocks(doc, part, 0, out);
    else if (answer == MCPLUG_ANSWER_TEXT)
        r = cli_content_text(doc, part, out);
    else if (answer == MCPLUG_ANSWER_JSON)
        r = cli_doc_pretty(doc, part, 0, out);
    if (!doc->raw || out->terminal)
        cli_out_fresh_line(out);
    if (answer == MCPLUG_ANSWER_BLOCKS)
        cli_seen_add(&seen, part);
    cli_seen_tell(&seen, link, true);
    return r;
}

/* A program has to notice as well, and gets it whole. */
static void put_unknown(struct cli_oneshot *link, const struct cli_doc *doc,
                        const char *tool)
{
    cli_error("Unexpected response format from tool %s", tool);
    if (!link->cli->args.json)
        cli_hint("--json prints the whole result.");
    cli_failure_put(link->cli, CLI_BROKEN_PROTOCOL, NULL, doc);
    cli_oneshot_finish(link, CLI_BROKEN_PROTOCOL);
}

/* The first block is in the message already; what else the tool had to say follows. */
static int put_tool_error(const struct cli_doc *doc, const char *tool)
{
    mp_view content = mp_view_get(cli_doc_view(doc), "content"), first = {0};
    struct mp_walk w = mp_walk_into(content);
    struct mp_str line;
    const char *text = mcplug_result_error_text(doc->result);

    mp_str_init(&line, (size_t)1 << 16);
    mp_str_addf(&line, "mcplug: tool '%.128s' failed: ", tool);
    mp_str_add(&line, text, strnlen(text, 60000));
    cli_tell("", line.data, line.len);
    mp_str_clear(&line);

    struct cli_out *err = mp_alloc(sizeof *err);
    if (!err)
        return MCPLUG_OK;
    cli_out_init(err, STDERR_FILENO);
    bool told =
        mp_walk_element(&w, &first) && mp_view_is_string(mp_view_get(first, "text"));
    int r = cli_content_blocks(doc, content, told ? 1 : 0, err);
    cli_out_fresh_line(err);
    cli_out_flush(err);
    mp_free(err);
    return r;
}

/* ---- as a model gets it ---- */

static void put_part(struct cli_out *out, const struct mcplug_part *p)
{
    cli_out_fresh_line(out);
    if (p->kind == MCPLUG_PART_TEXT) {
        cli_doc_text_sink(out, p->text, p->len);
        cli_out_text_end(out);
    } else {
        cli_out_f(out, "[%s, %u x %u pixels, about %llu tokens]\n", p->mime, p->width,
                  p->height, (unsigned long long)p->tokens);
    }
}

static void on_rendered(void *arg, mcplug_call *call, const mcplug_rendering *rendering,
                        const struct mcplug_error *why)
{
    struct cli_oneshot *link = arg;
    struct mcplug_part part = {.struct_size = sizeof part};
    struct cli_out *out = &link->cli->out;
    const struct job *job = link->job;
    size_t len;
    (void)call;

    link->call = NULL;
    if (link->finished)
        return;
    if (why) {
        cli_error("%s", why->text);
        cli_oneshot_finish(link, why->code == MCPLUG_EPROTO ? CLI_BROKEN_PROTOCOL
                                                            : CLI_INTERNAL);
        return;
    }
    if (link->cli->args.json) {
        const char *json = mcplug_rendering_json(rendering, &len);
        cli_out_json(out, json ? json : "[]", json ? len : 2);
    }
    for (size_t i = 0;
         !link->cli->args.json && mcplug_rendering_part(rendering, i, &part); i++)
        put_part(out, &part);
    cli_out_fresh_line(out);
    cli_oneshot_finish(link, job->code);
}

/* What the entry says of the tool's results. */
static void read_limits(const struct job *job, struct mcplug_render_options *o)
{
    struct mcplug_entry_info e = {.struct_size = sizeof e};
    int64_t n = 0, tail = 0;

    if (!job->entry)
        return;
    mcplug_entry_info(job->entry, &e);
    mp_view entry = mp_bytes(e.json, e.json_len);
    if (!mp_view_int(mp_view_get(mp_view_get(entry, "toolMaxOutputTokens"), job->tool),
                     &n))
        mp_view_int(mp_view_get(entry, "maxOutputTokens"), &n);
    mp_view_int(mp_view_get(entry, "outputTail"), &tail);
    o->max_tokens = n > 0 && n <= UINT32_MAX ? (uint32_t)n : 0;
    o->tail = tail > 0 && tail < 100 ? (uint32_t)tail : 0;
}

static void render(struct cli_oneshot *link, struct job *job, const struct cli_doc *doc)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_render_options o = {
        .struct_size = sizeof o,
        .server = job->entry ? job->server : mcplug_server_name(link->server),
        .tool = job->tool,
        .definition = job->definition,
        .model = job->model,
    };

    read_limits(job, &o);
    if (link->cli->args.max_tokens)
        o.max_tokens = link->cli->args.max_tokens < UINT32_MAX
                           ? (uint32_t)link->cli->args.max_tokens
                           : UINT32_MAX;
    job->code = mcplug_result_is_error(doc->result) ? CLI_TOOL_ERROR : CLI_OK;
    link->call = mcplug_render(link->host, (mcplug_result *)doc->result, &o, on_rendered,
                               link, &err);
    if (!link->call)
        cli_oneshot_fail(link, &err, NULL);
}

static void put_result(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    mp_view part = {0};
    enum mcplug_answer answer = mcplug_result_answer(doc->result, &part);
    (void)arg;

    cli_oneshot_done(link, put_people(doc, answer, part, link), CLI_OK);
}

static void on_result(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct job *job = arg;
    int code = mcplug_result_is_error(doc->result) ? CLI_TOOL_ERROR : CLI_OK;
    mp_view part = {0};
    enum mcplug_answer answer = mcplug_result_answer(doc->result, &part);

    if (link->cli->args.for_model) {
        render(link, job, doc);
        return;
    }
    if (code == CLI_OK && answer == MCPLUG_ANSWER_UNKNOWN) {
        put_unknown(link, doc, job->tool);
        return;
    }
    if (code == CLI_OK && link->cli->args.table) {
        mp_view structured = mp_view_get(cli_doc_view(doc), "structuredContent");
        cli_table_result(link, &job->save, doc, structured, part);
        return;
    }
    if (code == CLI_OK && link->cli->args.structured) {
        put_structured(link, job, doc);
        return;
    }
    if (code == CLI_OK && job->save.to) {
        if (!cli_save_document(&job->save, link, doc))
            cli_save_done(link, doc, save(link, job, doc, answer, part));
        return;
    }
    if (cli_oneshot_put_json(link, doc, code))
        return;
    if (code != CLI_OK)
        cli_oneshot_done(link, put_tool_error(doc, job->tool), code);
    else if (answer != MCPLUG_ANSWER_BLOCKS ||
             !cli_pictures_draw(link, doc, part, put_result))
        put_result(link, job, doc);
}

/* ---- the call ---- */

static void usage_error(struct cli_oneshot *link, const char *tool,
                        const struct mcplug_error *err)
{
    cli_error("tool '%s': %s", tool, err->text);
    if (link->entry)
        cli_hint("`mcplug tools %s %s` shows its arguments.",
                 mcplug_entry_name(link->entry), tool);
    else
        cli_hint("`mcplug tools %s` with the same server shows its arguments.", tool);
    cli_oneshot_finish(link, CLI_BAD_ARGUMENTS);
}

static void tell_tools(const struct cli_oneshot *link, size_t n)
{
    if (!n)
        cli_hint("The server has no tools.");
    else if (link->entry)
        cli_hint("`mcplug tools %s` lists its tools.", mcplug_entry_name(link->entry));
    else
        cli_hint("`mcplug tools` with the same server lists its tools.");
}

static void unknown_tool(struct cli_oneshot *link, const struct job *job,
                         const mcplug_list *list)
{
    const char *best = NULL;
    size_t n = mcplug_list_count(list);
    if (!cli_allows_tell(job->entry, job->tool)) { /* the list is of the others */
        cli_oneshot_finish(link, CLI_TOOL_DENIED);
        return;
    }
    for (size_t i = 0; i < n; i++)
        mp_nearest(job->tool, mcplug_list_name(list, i), &best);
    cli_error("server \"%s\" has no tool \"%s\"%s%s%s", mcplug_server_name(link->server),
              job->tool, best ? "; did you mean \"" : "", best ? best : "",
              best ? "\"?" : "");
    if (!best)
        tell_tools(link, n);
    cli_oneshot_finish(link, CLI_NOT_FOUND);
}

static void on_tools(struct cli_oneshot *link, void *arg, enum mcplug_kind kind,
                     mcplug_list *list, const struct mcplug_error *why)
{
    struct job *job = arg;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t len;
    (void)kind;

    if (!list) {
        cli_oneshot_fail(link, why, NULL);
        return;
    }
    ptrdiff_t i = job->normalised
                      ? mcplug_entry_find_tool(job->entry, list, job->cli->args.server)
                      : mcplug_list_find(list, job->tool);
    if (i == MCPLUG_TOOL_SEVERAL) {
        cli_error("%s matches more than one tool of server \"%s\"", job->tool,
                  mcplug_server_name(link->server));
        cli_hint("Use `mcplug call SERVER TOOL` instead.");
        cli_oneshot_finish(link, CLI_NOT_FOUND);
        return;
    }
    if (i < 0) {
        unknown_tool(link, job, list);
        return;
    }
    if (job->normalised) {
        snprintf(job->name, sizeof job->name, "%s", mcplug_list_name(list, (size_t)i));
        job->tool = job->name;
    }
    const char *item = mcplug_list_item(list, (size_t)i, &len);
    if (job->cli->args.for_model)
        job->definition = mp_strndup(item, len);
    mp_view schema_text = mp_view_get(mp_bytes(item, len), "inputSchema");
    json_t *schema = schema_text.len ? cli_tree(schema_text, NULL, &err) : NULL;
    char *arguments = job->arguments ? mp_strdup(job->arguments)
                                     : cli_words_typed(&job->words, schema, &err);
    if (arguments)
        cli_oneshot_call_tool(link, job->tool, arguments, on_result);
    else
        usage_error(link, job->tool, &err);
    mp_free(arguments);
    json_decref(schema);
}

/* Which tools are allowed; a server is not even started for one that is not. How
 * mcp__SERVER__TOOL is called really, only the server can tell. */
static int prepare_tool(struct cli *cli, struct job *job)
{
    mcplug_entry *entry;

    int code = cli_by_name_server(cli, &entry);
    if (code != CLI_OK)
        return code;
    job->cli = cli;
    job->entry = entry;
    job->server = entry ? mcplug_entry_name(entry) : "";
    job->normalised = cli->tool != NULL;
    job->tool = job->normalised ? cli->tool : cli->args.words.items[0];
    return job->normalised || cli_allows_tell(entry, job->tool) ? CLI_OK
                                                                : CLI_TOOL_DENIED;
}

/* The list is fetched only where the schema is needed: a call without arguments, or
 * with --args, is one round trip. */
static void on_ready(struct cli_oneshot *link, void *arg)
{
    struct job *job = arg;
    const char *model = job->cli->args.model;
    int code =
        model ? cli_model_open(job->cli, link->host, model, NULL, &job->model) : CLI_OK;

    if (code != CLI_OK)
        cli_oneshot_finish(link, code);
    else if (job->words.n || job->normalised || job->cli->args.for_model)
        cli_oneshot_list(link, MCPLUG_TOOLS, on_tools);
    else
        cli_oneshot_call_tool(link, job->tool, job->arguments ? job->arguments : "{}",
                              on_result);
}

static int read_arguments(const struct cli_args *args, struct job *job,
                          struct mcplug_error *err)
{
    if (args->table && (args->json || args->structured))
        return mp_fail(err, MCPLUG_EINVAL, "use either --table or %s, not both",
                       args->json ? "--json" : "--structured");
    if (args->for_model && (args->table || args->structured || args->output))
        return mp_fail(err, MCPLUG_EINVAL, "use either --for-model or %s, not both",
                       args->table        ? "--table"
                       : args->structured ? "--structured"
                                          : "-o");
    if (args->model && !args->for_model)
        return mp_fail(err, MCPLUG_EINVAL, "--model is for --for-model alone");
    if (args->arguments && args->words.n > 1)
        return mp_fail(err, MCPLUG_EINVAL,
                       "use either --args or KEY=VALUE arguments, not both");
    if (args->arguments) {
        job->arguments = cli_read_object("--args", args->arguments, err);
        return job->arguments ? MCPLUG_OK : err->code;
    }
    return cli_words_read(args->words.items + 1, args->words.n - 1, &job->words, err);
}

static int run(struct cli *cli)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct job job = {0};
    int code = prepare_tool(cli, &job);
    if (code == CLI_OK && cli->args.model)
        code = cli_model_check(cli->args.model, "--model", NULL);
    if (code == CLI_OK && read_arguments(&cli->args, &job, &err) == MCPLUG_OK) {
        code = cli_save_begin(&job.save, &cli->args);
        if (code == CLI_OK)
            code = cli_oneshot_run(cli, on_ready, &job);
    } else if (code == CLI_OK) {
        cli_error("%s", err.text);
        code = cli_words_outcome(&err);
    }
    cli_save_end(&job.save);
    cli_words_clear(&job.words);
    mcplug_model_free(job.model);
    mp_free(job.arguments);
    mp_free(job.definition);
    return code;
}

static const struct cli_option options[] = {
    CLI_SAVE_OPTIONS,
    {"args", 0, CLI_TEXT, "JSON",
     "all arguments as one JSON object; - reads it from "
     "standard input, @FILE from a file",
     offsetof(struct cli_args, arguments), .complete.is = CLI_WORD_AT_FILE},
    {"raw", 0, CLI_FLAG, NULL,
     "add no newline to text that ends without one; a terminal gets it anyway",
     .at = offsetof(struct cli_args, raw)},
    CLI_IMAGES_OPTION,
    {"structured", 0, CLI_FLAG, NULL,
     "print the result's structured content, which is JSON, in place of its text",
     .at = offsetof(struct cli_args, structured)},
    CLI_TABLE_OPTION,
    {"for-model", 0, CLI_FLAG, NULL,
     "print what a model would get: within the limit, or with the result in a file",
     .at = offsetof(struct cli_args, for_model)},
    {"max-tokens", 0, CLI_NUMBER, "N", "the limit of --for-model; default: 25000",
     offsetof(struct cli_args, max_tokens), .complete.is = CLI_WORD_FREE},
    {"model", 'm', CLI_TEXT, "TYPE/NAME",
     "the model that counts tokens, if what it would get may be too long; "
     "such as " CLI_MODEL_EXAMPLE ", or a name of the configuration",
     offsetof(struct cli_args, model), .complete.is = CLI_WORD_FREE},
    {.name = NULL},
};

const struct cli_command cli_cmd_call = {
    .name = "call",
    .words = "TOOL [KEY=VALUE...]",
    .summary = "Call a tool and print its result.",
    .details =
        "Values are converted to the types of the tool's schema: numbers, booleans, "
        "lists (also by repeating KEY), objects as JSON or as KEY.MEMBER=VALUE. "
        "KEY=@FILE reads the value from a file, KEY=@- from standard input; write @@ for "
        "a value that begins with @. The tool may also be given as mcp__SERVER__TOOL, "
        "the name that models use.\n\n"
        "Text is printed unchanged, with a newline added if it ends without one; images "
        "and other data are replaced by a note, and saved with -o. A terminal shows "
        "images below their notes, if the modules image and chafa are there. With "
        "--json, the result is printed as the server sent it. If the tool reports an "
        "error, the exit code is 1 and its message is printed on standard error.",
    .hint = "tools",
    .options = options,
    .flags = CLI_SERVER | CLI_REQUEST | CLI_QUALIFIED,
    .min_words = 1,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_TOOL}, {.is = CLI_WORD_TOOL_ARGUMENT}},
    .run = run,
};
