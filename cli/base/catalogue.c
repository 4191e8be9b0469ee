#include "cli/base/catalogue.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/content.h"
#include "cli/doctor/doctor.h"
#include "cli/base/by_name.h"
#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAMES_TOLD 20 /* of servers of which nothing is known */

/* ---- telling ---- */

const char *cli_age(int64_t at, char room[CLI_AGE_SIZE])
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    int64_t age = (int64_t)time(NULL) - at;

    snprintf(room, CLI_AGE_SIZE, "just now");
    for (size_t i = 0; i < MP_COUNT(units); i++)
        if (age >= units[i].seconds) {
            int64_t n = age / units[i].seconds;
            snprintf(room, CLI_AGE_SIZE, "%lld %s%s ago", (long long)n, units[i].name,
                     n == 1 ? "" : "s");
            break;
        }
    return room;
}

void cli_tell_aside(struct cli *cli, const char *line)
{
    struct cli_out *err =
        cli->args.json || cli->args.quiet ? NULL : mp_alloc(sizeof *err);
    if (!err)
        return;
    cli_out_flush(&cli->out); /* the line comes last */
    cli_out_init(err, STDERR_FILENO);
    cli_out_style(err, CLI_DIM);
    cli_out_shown(err, line, strlen(line));
    cli_out_style(err, CLI_PLAIN);
    cli_out_s(err, "\n");
    cli_out_flush(err);
    mp_free(err);
}

void cli_tell_dim(struct cli *cli, const char *line)
{
    if (cli->out.terminal && isatty(STDERR_FILENO))
        cli_tell_aside(cli, line);
}

void cli_tell_left_out(struct cli *cli, size_t left_out, bool others)
{
    char line[128];

    if (!left_out)
        return;
    snprintf(line, sizeof line,
             "(%zu tool%s not allowed by toolsAllowed and toolsDenied)", left_out,
             left_out == 1 ? " is" : "s are");
    if (others)
        cli_tell_dim(cli, line);
    else
        cli_tell_aside(cli, line);
}

void cli_catalogue_json(struct cli_out *out, const char *server, const char *noun,
                        mp_view item, const struct mcplug_known_info *info)
{
    char text[32] = "null";
    time_t when = (time_t)info->at;
    struct tm tm;

    if (info->at > 0 && gmtime_r(&when, &tm))
        strftime(text, sizeof text, "\"%Y-%m-%dT%H:%M:%SZ\"", &tm);
    cli_out_f(out, "{\"server\":\"%s\",\"%s\":", server, noun);
    cli_out_item(out, item);
    cli_out_f(out, ",\"asOf\":%s,\"stale\":%s}", text, info->fresh ? "false" : "true");
}

/* ---- one server ---- */

mp_view cli_known_items(const mcplug_known *known, enum mcplug_kind kind)
{
    size_t len;
    const char *items = mcplug_known_items(known, kind, &len);
    return mp_bytes(items, len);
}

struct mcplug_known_info cli_known_info(const mcplug_known *known, enum mcplug_kind kind)
{
    struct mcplug_known_info info = {.struct_size = sizeof info};
    (void)mcplug_known_info(known, kind, &info); /* all 0: never fetched */
    return info;
}

mp_view cli_item_name(mp_view item, enum mcplug_kind kind)
{
    return mp_view_get(item, kind == MCPLUG_RESOURCES   ? "uri"
                             : kind == MCPLUG_TEMPLATES ? "uriTemplate"
                                                        : "name");
}

/* ---- every server ---- */

static void note_unknown(struct cli_catalogue *c, const char *name)
{
    if (c->n_unknown++ >= NAMES_TOLD)
        return;
    mp_str_adds(&c->unknown, c->n_unknown > 1 ? ", " : "");
    mp_str_adds(&c->unknown, name);
}

static void visit(struct cli_catalogue *c, const mcplug_entry *entry)
{
    mcplug_known *known = mcplug_known_new(entry);
    struct cli_known one = {entry, known};

    if (known && cli_known_items(known, MCPLUG_TOOLS).len)
        c->fn(c->arg, &one);
    else
        note_unknown(c, mcplug_entry_name(entry));
    mcplug_known_free(known);
}

int cli_catalogue_walk(struct cli_catalogue *c)
{
    mcplug_config *config = cli_config(c->cli);
    const mcplug_entry *entry;

    mp_str_init(&c->unknown, 65536);
    if (!config)
        return CLI_BAD_CONFIG;
    for (size_t i = 0; (entry = mcplug_entry_at(config, i)); i++)
        if (!cli_entry_info(entry).shadowed_by &&
            mcplug_entry_state(entry, NULL) == MCPLUG_ENTRY_READY)
            visit(c, entry);
    return CLI_OK;
}

static bool can_keep(const struct cli *cli)
{
    char *at = NULL;
    bool can = cli->paths.cache && cli_try_dir(cli->paths.cache, 64, &at) == 0;

    mp_free(at);
    return can;
}

int cli_catalogue_unknown(const struct cli_catalogue *c)
{
    const struct cli_args *args = &c->cli->args;
    struct mcplug_config_info config = cli_config_info(c->cli->config);
    char more[48] = "";
    struct mp_str line;

    if (config.entries == 0 && (config.damaged || (!args->json && !args->quiet)))
        cli_tell_no_server(c->cli);
    if (config.entries == 0)
        return config.damaged ? CLI_BAD_CONFIG : CLI_OK;
    if (!c->n_unknown || args->json || args->quiet)
        return CLI_OK;
    if (c->n_unknown > NAMES_TOLD)
        snprintf(more, sizeof more, " and %zu more", c->n_unknown - NAMES_TOLD);
    mp_str_init(&line, 65536);
    mp_str_addf(&line, "tools not known yet: %s%s (`mcplug list` asks %s)",
                c->unknown.data ? c->unknown.data : "", more,
                c->n_unknown == 1 ? "it" : "them");
    cli_out_flush(&c->cli->out);
    cli_tell("", line.data, line.len);
    mp_str_clear(&line);
    if (!can_keep(c->cli))
        cli_hint("Server lists cannot be stored here: `mcplug doctor` explains why.");
    return CLI_OK;
}

void cli_catalogue_clear(struct cli_catalogue *c)
{
    mp_str_clear(&c->unknown);
}

/* ---- listing them ---- */

struct job {
    struct cli *cli;
    const struct cli_listing *listing;
    size_t left_out; /* not allowed */
    bool any;
};

static void put_server(struct cli_out *out, const char *name,
                       const struct mcplug_known_info *info)
{
    char age[CLI_AGE_SIZE];

    cli_out_style(out, CLI_BOLD);
    cli_out_s(out, name);
    cli_out_style(out, CLI_PLAIN);
    if (!info->fresh) {
        cli_out_style(out, CLI_DIM);
        cli_out_f(out, " (stale, fetched %s)", cli_age(info->at, age));
        cli_out_style(out, CLI_PLAIN);
    }
    cli_out_s(out, "\n");
}

static void put_items(void *arg, const struct cli_known *one)
{
    struct job *job = arg;
    struct cli_out *out = &job->cli->out;
    enum mcplug_kind kind = job->listing->kinds[0];
    const char *name = mcplug_entry_name(one->entry);
    struct mcplug_known_info info = cli_known_info(one->known, kind);
    struct mp_walk w = mp_walk_into(cli_known_items(one->known, kind));
    bool headed = false;
    mp_view item;

    while (mp_walk_element(&w, &item)) {
        if (!mp_view_is_string(cli_item_name(item, kind)))
            continue;
        if (!cli_allows_item(one->entry, kind, cli_item_name(item, kind))) {
            job->left_out++;
            continue;
        }
        if (job->cli->args.json) {
            cli_out_s(out, job->any ? ",\n" : "");
            cli_catalogue_json(out, name, job->listing->noun, item, &info);
        } else {
            if (!headed)
                put_server(out, name, &info);
            cli_out_s(out, "  ");
            job->listing->brief(out, item);
        }
        headed = job->any = true;
    }
}

int cli_catalogue_run(struct cli *cli, const struct cli_listing *listing)
{
    struct job job = {.cli = cli, .listing = listing};
    struct cli_catalogue c = {.cli = cli, .fn = put_items, .arg = &job};

    if (cli->args.json)
        cli_out_s(&cli->out, "[");
    int code = cli_catalogue_walk(&c);
    if (cli->args.json && code == CLI_OK)
        cli_out_s(&cli->out, "]\n");
    else if (cli->args.json)
        cli_out_retract(&cli->out);
    if (code == CLI_OK) {
        cli_tell_left_out(cli, job.left_out, job.any);
        code = cli_catalogue_unknown(&c);
        if (cli->args.json && code != CLI_OK) /* an empty list would be no answer */
            cli_out_retract(&cli->out);
    }
    cli_catalogue_clear(&c);
    return code;
}
