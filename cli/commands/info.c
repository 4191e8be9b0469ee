#include "cli/commands/commands.h"

#include "base/buf.h"
#include "base/text.h"
#include "cli/base/by_name.h"
#include "cli/base/content.h"
#include "cli/base/oneshot.h"
#include "cli/base/listing.h"

#include <stdlib.h>

static const struct {
    enum mcplug_kind kind;
    const char *name;
    const char *capability;
} kinds[] = {
    {MCPLUG_TOOLS, "tools", "tools"},
    {MCPLUG_PROMPTS, "prompts", "prompts"},
    {MCPLUG_RESOURCES, "resources", "resources"},
    {MCPLUG_TEMPLATES, "templates", "resources"},
};
#define N_KINDS (sizeof kinds / sizeof kinds[0])

struct job {
    size_t waiting;
    long counts[N_KINDS]; /* -1: not known */
};

/* The era that began with 2026-07-28 has no sessions; dates compare as text. */
const char *cli_era_of(const char *revision)
{
    return strcmp(revision, "2026-07-28") >= 0 ? "modern" : "legacy";
}

static void put_names(struct cli_out *out, mp_view capabilities)
{
    struct mp_walk w = mp_walk_into(capabilities);
    mp_view key, value;
    bool any = false;
    cli_out_s(out, "Capabilities: ");
    while (mp_walk_member(&w, &key, &value)) {
        cli_out_s(out, any ? ", " : "");
        cli_out_view(out, key);
        any = true;
    }
    cli_out_s(out, any ? "\n" : "none\n");
}

static void put_people(struct cli_oneshot *link, const struct job *job,
                       struct cli_out *out)
{
    mcplug_server *server = link->server;
    mp_view info = mp_text(mcplug_server_info(server));
    const char *revision = mcplug_server_revision(server);
    const char *text = mcplug_server_instructions(server);
    const char *pid = mcplug_server_fact(server, "pid");
    const char *peer = mcplug_server_fact(server, "peer");

    cli_put_line(out, "Name", mp_view_get(info, "name"));
    cli_put_line(out, "Title", mp_view_get(info, "title"));
    cli_put_line(out, "Version", mp_view_get(info, "version"));
    cli_put_line(out, "Description", mp_view_get(info, "description"));
    cli_put_line(out, "Website", mp_view_get(info, "websiteUrl"));
    cli_out_f(out, "Revision: %s (%s era)\n", revision, cli_era_of(revision));
    if (pid)
        cli_out_f(out, "Process: %s\n", pid);
    if (peer) {
        cli_out_s(out, "Peer: ");
        cli_out_shown(out, peer, strlen(peer));
        cli_out_s(out, "\n");
    }
    put_names(out, mp_text(mcplug_server_capabilities(server)));
    for (size_t i = 0; i < N_KINDS; i++)
        if (job->counts[i] >= 0)
            cli_out_f(out, "%c%s: %ld\n", kinds[i].name[0] - 'a' + 'A', kinds[i].name + 1,
                      job->counts[i]);
    if (text && *text) {
        cli_out_s(out, "Instructions:\n");
        cli_out_wrapped(out, text, strlen(text), 2, 0);
    }
}

static void add_text(struct mp_str *out, const char *name, const char *text)
{
    mp_str_addf(out, ",\"%s\":", name);
    if (text)
        mp_str_add_json(out, text, strlen(text));
    else
        mp_str_adds(out, "null");
}

/* A member of serverInfo as it is, or null. */
static void add_view(struct mp_str *out, const char *name, mp_view value)
{
    mp_str_addf(out, ",\"%s\":", name);
    if (value.len)
        mp_str_add(out, value.data, value.len);
    else
        mp_str_adds(out, "null");
}

static int put_json(struct cli_oneshot *link, const struct job *job)
{
    mcplug_server *server = link->server;
    mp_view info = mp_text(mcplug_server_info(server));
    const char *revision = mcplug_server_revision(server);
    struct mp_str s;

    mp_str_init(&s, (size_t)64 << 20);
    mp_str_adds(&s, "{\"revision\":");
    mp_str_add_json(&s, revision, strlen(revision));
    add_text(&s, "era", cli_era_of(revision));
    add_view(&s, "name", mp_view_get(info, "name"));
    add_view(&s, "title", mp_view_get(info, "title"));
    add_view(&s, "version", mp_view_get(info, "version"));
    add_view(&s, "serverInfo", info);
    add_view(&s, "capabilities", mp_text(mcplug_server_capabilities(server)));
    add_text(&s, "instructions", mcplug_server_instructions(server));
    add_text(&s, "pid", NULL);
    const char *pid = mcplug_server_fact(server, "pid");
    if (pid) { /* a number in place of the null */
        s.len -= 4;
        mp_str_addu(&s, strtoull(pid, NULL, 10));
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        if (job->counts[i] >= 0)
            mp_str_addf(&s, ",\"%s\":%ld", kinds[i].name, job->counts[i]);
        else
            mp_str_addf(&s, ",\"%s\":null", kinds[i].name);
    }
    mp_str_adds(&s, "}\n");
    return cli_put_document(link->cli, &s, CLI_OK);
}

static void show(struct cli_oneshot *link, const struct job *job)
{
    int code = CLI_OK;

    if (link->cli->args.json)
        code = put_json(link, job);
    else
        put_people(link, job, &link->cli->out);
    cli_oneshot_finish(link, code);
}

/* A list that cannot be had does not hide the rest; its count stays out. */
static void on_list(struct cli_oneshot *link, void *arg, enum mcplug_kind kind,
                    mcplug_list *list, const struct mcplug_error *why)
{
    struct job *job = arg;
    if (!list && why->code != MCPLUG_EPEER) {
        cli_oneshot_fail(link, why, NULL);
        return;
    }
    for (size_t i = 0; i < N_KINDS; i++)
        if (list && kinds[i].kind == kind)
            job->counts[i] = (long)mcplug_list_count(list);
    if (--job->waiting == 0)
        show(link, job);
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    struct job *job = arg;
    mp_view can = mp_text(mcplug_server_capabilities(link->server));
    job->waiting = 1; /* ours, so that an early failure does not end it */
    for (size_t i = 0; i < N_KINDS; i++) {
        job->counts[i] = -1;
        if (mp_view_get(can, kinds[i].capability).len) {
            job->waiting++;
            cli_oneshot_list(link, kinds[i].kind, on_list);
        }
    }
    if (--job->waiting == 0)
        show(link, job);
}

static int run(struct cli *cli)
{
    struct job job = {0};
    return cli_oneshot_run(cli, on_ready, &job);
}

const struct cli_command cli_cmd_info = {
    .name = "info",
    .words = "",
    .summary = "Show the server's name, version and capabilities.",
    .flags = CLI_SERVER,
    .run = run,
};
