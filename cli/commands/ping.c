#include "cli/commands/commands.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/content.h"
#include "cli/base/oneshot.h"

#include <time.h>

#define COUNT_MAX 1000000u

struct job {
    uint64_t wanted, n;
    double began; /* ms */
    double *took; /* ms, `wanted` of them */
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void put_ms(struct cli_out *out, double ms)
{
    cli_out_f(out, ms < 0.1 ? "%.3f ms" : "%.1f ms", ms);
}

static void put_who(struct cli_oneshot *link, struct cli_out *out)
{
    mp_view info = mp_text(mcplug_server_info(link->server));
    mp_view name = mp_view_get(info, "name"), version = mp_view_get(info, "version");
    const char *revision = mcplug_server_revision(link->server);

    cli_out_s(out, " (");
    cli_out_shown(out, revision, strlen(revision));
    if (mp_view_is_string(name)) {
        cli_out_s(out, ", ");
        cli_out_view(out, name);
        cli_out_s(out, " ");
        cli_out_view(out, version);
    }
    cli_out_s(out, ")\n");
}

static void put_sum(const struct job *job, struct cli_out *out)
{
    double least = job->took[0], most = job->took[0], sum = 0;
    for (uint64_t i = 0; i < job->n; i++) {
        least = job->took[i] < least ? job->took[i] : least;
        most = job->took[i] > most ? job->took[i] : most;
        sum += job->took[i];
    }
    cli_out_f(out, "%llu answers: ", (unsigned long long)job->n);
    put_ms(out, least);
    cli_out_s(out, " min, ");
    put_ms(out, sum / (double)job->n);
    cli_out_s(out, " avg, ");
    put_ms(out, most);
    cli_out_s(out, " max\n");
}

static void put_json(struct cli_oneshot *link, const struct job *job, struct cli_out *out)
{
    const char *revision = mcplug_server_revision(link->server);
    struct mp_str text;
    mp_str_init(&text, 4096);
    mp_str_add_json(&text, revision, strlen(revision));
    cli_out_f(out, "{\"revision\":%s,\"server\":", text.data ? text.data : "null");
    mp_str_clear(&text);
    const char *info = mcplug_server_info(link->server);
    cli_out_json(out, info, strlen(info));
    cli_out_s(out, ",\"ms\":[");
    for (uint64_t i = 0; i < job->n; i++)
        cli_out_f(out, "%s%.3f", i ? "," : "", job->took[i]);
    cli_out_s(out, "]}\n");
}

static void on_answer(struct cli_oneshot *link, void *arg, const struct cli_doc *doc)
{
    struct job *job = arg;
    struct cli_out *out = &link->cli->out;
    (void)doc;

    job->took[job->n++] = now_ms() - job->began;
    if (!link->cli->args.json) {
        cli_out_s(out, "answered in ");
        put_ms(out, job->took[job->n - 1]);
        put_who(link, out);
        cli_out_flush(out);
    }
    if (job->n < job->wanted && !out->failed) {
        job->began = now_ms();
        cli_oneshot_ping(link, on_answer);
        return;
    }
    if (link->cli->args.json)
        put_json(link, job, out);
    else if (job->wanted > 1)
        put_sum(job, out);
    cli_oneshot_finish(link, CLI_OK);
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    struct job *job = arg;
    job->began = now_ms();
    cli_oneshot_ping(link, on_answer);
}

static int run(struct cli *cli)
{
    struct job job = {.wanted = cli->args.count ? cli->args.count : 1};
    if (job.wanted > COUNT_MAX)
        job.wanted = COUNT_MAX;
    job.took = mp_alloc(job.wanted * sizeof *job.took);
    int code = job.took ? cli_oneshot_run(cli, on_ready, &job) : CLI_INTERNAL;
    mp_free(job.took);
    return code;
}

static const struct cli_option options[] = {
    {"count", 'c', CLI_NUMBER, "N", "send N pings, one after the other",
     offsetof(struct cli_args, count), .complete.is = CLI_WORD_FREE},
    {.name = NULL},
};

const struct cli_command cli_cmd_ping = {
    .name = "ping",
    .words = "",
    .summary = "Check that the server answers, and how fast.",
    .options = options,
    .flags = CLI_SERVER,
    .run = run,
};
