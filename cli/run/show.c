#include "cli/run/run.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/base/catalogue.h"
#include "cli/base/doc.h"
#include "cli/base/failure.h"
#include "cli/base/message.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (CLI_RUN_TEXT_MAX * 6 + ((size_t)1 << 20))
#define ARGUMENTS_SHOWN 60 /* columns of a call's arguments */
#define REASON_SHOWN 200   /* bytes of why it failed */
#define LINE_SHOWN 240     /* columns, where there is no terminal */

/* ---- JSON ---- */

void cli_run_add_json(struct mp_str *out, mp_view json)
{
    size_t from = out->len;

    mp_str_add_bytes(out, json);
    for (size_t i = from; !out->failed && i < out->len; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r') /* a string has none */
            out->data[i] = ' ';
}

void cli_run_put_line(struct cli_run *run, struct mp_str *line)
{
    mp_str_addc(line, '\n');
    if (!line->failed) {
        cli_out_json(&run->cli->out, line->data, line->len);
        cli_out_flush(&run->cli->out);
    }
    mp_str_clear(line);
}

static void add_text(struct mp_str *out, const char *name, const char *text, size_t len)
{
    mp_str_addf(out, ",\"%s\":", name);
    if (text)
        mp_str_add_json(out, text, len);
    else
        mp_str_adds(out, "null");
}

static void add_string(struct mp_str *out, const char *name, const char *text)
{
    add_text(out, name, text, text ? strlen(text) : 0);
}

/* NAN: not known; JSON has no word for it, nor for what a server may count to. */
static void add_number(struct mp_str *out, const char *name, double value)
{
    if (isfinite(value))
        mp_str_addf(out, ",\"%s\":%.17g", name, value);
    else
        mp_str_addf(out, ",\"%s\":null", name);
}

static void add_usage(struct mp_str *out, const struct mcplug_usage *u)
{
    mp_str_addf(out,
                ",\"usage\":{\"input\":%llu,\"cached\":%llu,\"toCache\":%llu,"
                "\"output\":%llu}",
                (unsigned long long)u->input, (unsigned long long)u->input_cached,
                (unsigned long long)u->input_to_cache, (unsigned long long)u->output);
}

static void add_tool(struct mp_str *out, const struct mcplug_run_event *e)
{
    add_string(out, "id", e->id);
    add_string(out, "tool", e->tool);
    add_string(out, "server", e->server && *e->server ? e->server : NULL);
}

static void add_members(struct mp_str *out, const struct mcplug_run_event *e)
{
    switch (e->type) {
    case MCPLUG_RUN_RETRY:
        mp_str_addf(out, ",\"ms\":%llu", (unsigned long long)e->ms);
        add_string(out, "error", e->why ? e->why->text : NULL);
        break;
    case MCPLUG_RUN_TOOL_BEGINS:
        add_tool(out, e);
        mp_str_adds(out, ",\"arguments\":");
        cli_run_add_json(out, mp_bytes(e->text, e->len));
        break;
    case MCPLUG_RUN_TOOL_REPORTS:
        add_tool(out, e);
        add_number(out, "progress", e->progress);
        add_number(out, "total", e->total >= 0 ? e->total : NAN);
        add_text(out, "message", e->text, e->len);
        break;
    case MCPLUG_RUN_TOOL_ENDS:
        add_tool(out, e);
        mp_str_addf(out, ",\"failed\":%s,\"ms\":%llu", e->failed ? "true" : "false",
                    (unsigned long long)e->ms);
        add_text(out, "text", e->text, e->len);
        break;
    case MCPLUG_RUN_STEP_ENDS:
        add_usage(out, e->usage);
        break;
    default:
        add_text(out, "text", e->text, e->len);
        break;
    }
}

static void put_json(struct cli_run *run, const struct mcplug_run_event *e)
{
    static const char *const types[] = {
        [MCPLUG_RUN_TEXT] = "text",
        [MCPLUG_RUN_THOUGHT] = "thought",
        [MCPLUG_RUN_RETRY] = "retry",
        [MCPLUG_RUN_TOOL_BEGINS] = "call",
        [MCPLUG_RUN_TOOL_REPORTS] = "progress",
        [MCPLUG_RUN_TOOL_ENDS] = "answer",
        [MCPLUG_RUN_STEP_ENDS] = "step",
        [MCPLUG_RUN_WARNS] = "warning",
    };
    struct mp_str line;

    if (!e->type || e->type >= MP_COUNT(types))
        return;
    mp_str_init(&line, LINE_MAX_BYTES);
    mp_str_addf(&line, "{\"type\":\"%s\",\"step\":%u", types[e->type], e->step);
    add_members(&line, e);
    mp_str_addc(&line, '}');
    cli_run_put_line(run, &line);
}

/* ---- for people ---- */

void cli_run_end_line(struct cli_run *run)
{
    struct cli_out *out = &run->cli->out;

    if (run->cli->args.json)
        return;
    cli_out_text_end(out);
    cli_out_fresh_line(out);
    cli_out_flush(out);
}

static void put_text(struct cli_run *run, const char *text, size_t len)
{
    struct cli_out *out = &run->cli->out;

    cli_progress_end(&run->progress);
    if (run->text.len == len) { /* the first of this step */
        cli_out_text_end(out);
        cli_out_fresh_line(out);
    }
    cli_doc_text_sink(out, text, len);
    cli_out_flush(out);
}

/* In one line, and no more of it than `columns`. */
static void add_short(struct mp_str *out, const char *text, size_t len, size_t columns)
{
    struct mp_str plain, shown;

    mp_str_init(&plain, ((size_t)1 << 12) + 1);
    mp_str_init(&shown, (size_t)1 << 16);
    mp_str_add(&plain, text, len < 1 << 12 ? len : 1 << 12);
    for (size_t i = 0; i < plain.len; i++)
        if (strchr("\n\r\t", plain.data[i]) && plain.data[i])
            plain.data[i] = ' ';
    mp_str_add_escaped(&shown, plain.data ? plain.data : "", plain.len, false);
    size_t fits = cli_columns_fit(shown.data ? shown.data : "", shown.len, columns);
    bool is_cut = fits < shown.len || len > 1 << 12;
    if (is_cut)
        fits = cli_columns_fit(shown.data, shown.len, columns > 2 ? columns - 2 : 0);
    mp_str_add(out, shown.data, fits);
    mp_str_adds(out, is_cut ? ".." : "");
    mp_str_clear(&plain);
    mp_str_clear(&shown);
}

/* `mcp__s__echo {"text":"hi"} (12ms)`. No word of a server begins a line of the screen:
 * what a terminal would break is cut. */
static void put_call(struct cli_run *run, const struct cli_run_call *c,
                     const struct mcplug_run_event *e)
{
    size_t width = isatty(STDERR_FILENO) ? cli_width(STDERR_FILENO) - 1 : LINE_SHOWN;
    char time[32];
    struct mp_str line, whole;

    if (run->cli->args.quiet)
        return;
    mp_text_duration(time, sizeof time, e->ms, false);
    mp_str_init(&line, (size_t)1 << 17);
    mp_str_init(&whole, (size_t)1 << 17);
    add_short(&line, e->tool, strlen(e->tool), 64);
    if (c) {
        mp_str_addc(&line, ' ');
        add_short(&line, c->arguments, strlen(c->arguments), ARGUMENTS_SHOWN);
    }
    if (!e->failed) {
        mp_str_addf(&line, " (%s)", time);
    } else {
        if (c)
            mp_str_addf(&line, " failed (%s): ", time);
        else
            mp_str_adds(&line, " not called: ");
        add_short(&line, e->text ? e->text : "", e->text ? e->len : 0, REASON_SHOWN);
    }
    if (!line.failed)
        mp_str_add(&whole, line.data, cli_columns_fit(line.data, line.len, width));
    cli_run_end_line(run);
    cli_tell("", whole.data, whole.len);
    mp_str_clear(&line);
    mp_str_clear(&whole);
}

/* ---- what happens ---- */

static void note_text(struct cli_run *run, const struct mcplug_run_event *e)
{
    if (run->text_step != e->step)
        mp_str_reset(&run->text);
    run->text_step = e->step;
    mp_str_add(&run->text, e->text, e->len);
}

static struct cli_run_call *find_call(struct cli_run *run, const char *id)
{
    for (size_t i = 0; i < run->n_running; i++)
        if (strcmp(run->running[i].id, id) == 0)
            return &run->running[i];
    return NULL;
}

static void begin_call(struct cli_run *run, const struct mcplug_run_event *e)
{
    struct cli_run_call *c = NULL;
    char what[128];

    run->n_calls++;
    if (mp_grow(&run->running, &run->running_cap, run->n_running + 1)) {
        c = &run->running[run->n_running];
        *c = (struct cli_run_call){
            .id = mp_strdup(e->id),
            .arguments = mp_strndup(e->text, e->len < 1024 ? e->len : 1024)};
    }
    if (c && c->id && c->arguments) {
        run->n_running++;
    } else if (c) {
        mp_free(c->id);
        mp_free(c->arguments);
    }
    snprintf(what, sizeof what, "Tool '%.100s'", e->tool);
    cli_progress_begin(&run->progress, what);
}

static void end_call(struct cli_run *run, const struct mcplug_run_event *e)
{
    struct cli_run_call *c = find_call(run, e->id);

    if (!c || run->n_running == 1)
        cli_progress_end(&run->progress);
    if (!run->cli->args.json && !run->calls && !run->ask.is_refusing)
        put_call(run, c, e);
    if (!c)
        return;
    mp_free(c->id);
    mp_free(c->arguments);
    *c = run->running[--run->n_running];
    if (!run->n_running)
        cli_progress_begin(&run->progress, "The model is");
}

void cli_run_count(struct mcplug_usage *sum, const struct mcplug_usage *u)
{
    sum->input += u->input;
    sum->input_cached += u->input_cached;
    sum->input_to_cache += u->input_to_cache;
    sum->output += u->output;
}

void cli_run_event(void *arg, const struct mcplug_run_event *e)
{
    struct cli_run *run = arg;
    bool json = run->cli->args.json && !run->calls;

    if (run->calls && e->type != MCPLUG_RUN_TOOL_BEGINS &&
        e->type != MCPLUG_RUN_TOOL_ENDS && e->type != MCPLUG_RUN_TOOL_REPORTS)
        return;
    run->steps = e->step;
    if (json)
        put_json(run, e);
    switch (e->type) {
    case MCPLUG_RUN_TEXT:
        note_text(run, e);
        if (!json)
            put_text(run, e->text, e->len);
        break;
    case MCPLUG_RUN_TOOL_BEGINS:
        begin_call(run, e);
        break;
    case MCPLUG_RUN_TOOL_REPORTS:
        cli_progress_news(&run->progress, e->progress, e->total, e->text);
        break;
    case MCPLUG_RUN_TOOL_ENDS:
        end_call(run, e);
        break;
    case MCPLUG_RUN_STEP_ENDS:
        cli_run_count(&run->usage, e->usage);
        break;
    default: /* warnings and retries are in the log */
        break;
    }
}

/* ---- the end ---- */

static void add_count(struct mp_str *out, uint32_t n, const char *noun)
{
    mp_str_addf(out, "%u %s%s", n, noun, n == 1 ? "" : "s");
}

/* ", 1200 tokens in (800 cached), 90 out, cost 0.0123" */
static void add_used(struct mp_str *out, const struct cli_run *run,
                     const struct mcplug_usage *u)
{
    double cost = mcplug_model_cost(run->model, u);

    if (u->input || u->output)
        mp_str_addf(out, ", %llu tokens in", (unsigned long long)u->input);
    if (u->input_cached)
        mp_str_addf(out, " (%llu cached)", (unsigned long long)u->input_cached);
    if (u->input || u->output)
        mp_str_addf(out, ", %llu out", (unsigned long long)u->output);
    if (cost >= 0)
        mp_str_addf(out, cost < 1000 ? ", cost %.4g" : ", cost %.2f", cost);
}

/* "3 steps, 2 calls, 1200 tokens in (800 cached), 90 out, cost 0.0123, 4s" */
static void put_summary(struct cli_run *run, uint64_t ms)
{
    struct mp_str line;
    char time[32];

    mp_text_duration(time, sizeof time, ms, false);
    mp_str_init(&line, 1024);
    add_count(&line, run->steps, "step");
    mp_str_adds(&line, ", ");
    add_count(&line, run->n_calls, "call");
    add_used(&line, run, &run->usage);
    mp_str_addf(&line, ", %s", time);
    if (!line.failed)
        cli_tell_aside(run->cli, line.data);
    mp_str_clear(&line);
}

void cli_run_put_total(struct cli_run *run)
{
    struct mcplug_usage sum = run->spent;
    struct mp_str line;

    cli_run_count(&sum, &run->usage);
    if (!sum.input && !sum.output)
        return;
    mp_str_init(&line, 1024);
    mp_str_adds(&line, "in all");
    add_used(&line, run, &sum);
    if (!line.failed)
        cli_tell_aside(run->cli, line.data);
    mp_str_clear(&line);
}

static void put_json_result(struct cli_run *run, const char *end, uint64_t ms, int code)
{
    double cost = mcplug_model_cost(run->model, &run->usage);
    struct mp_str line;

    mp_str_init(&line, LINE_MAX_BYTES);
    mp_str_addf(&line, "{\"type\":\"result\",\"end\":\"%s\"", end);
    add_text(&line, "text", run->text.data ? run->text.data : "", run->text.len);
    mp_str_addf(&line, ",\"steps\":%u,\"calls\":%u", run->steps, run->n_calls);
    add_usage(&line, &run->usage);
    add_number(&line, "cost", cost >= 0 ? cost : NAN);
    mp_str_addf(&line, ",\"ms\":%llu", (unsigned long long)ms);
    mp_str_adds(&line, code == CLI_OK ? "" : ",");
    cli_failure_add(run->cli, &line, code);
    mp_str_addc(&line, '}');
    cli_run_put_line(run, &line);
}

void cli_run_put_result(struct cli_run *run, const struct mcplug_run_result *result,
                        int code)
{
    bool is_cancelled = cli_kind_of(code) == CLI_KIND_CANCELLED;
    uint64_t ms = result ? result->ms : cli_now() - run->began;

    if (result && result->end && run->text_step != result->steps)
        mp_str_reset(&run->text); /* the last answer had none */
    if (run->cli->args.json)
        put_json_result(run,
                        result         ? mcplug_run_end_name(result->end)
                        : is_cancelled ? "cancelled"
                                       : "failed",
                        ms, code);
    else
        put_summary(run, ms);
}
