#include "cli/commands/commands.h"

#include "base/error.h"
#include "cli/base/content.h"
#include "cli/base/listing.h"
#include "cli/base/message.h"
#include "cli/skills/skills.h"

#include <inttypes.h>

static void put_name(struct cli_out *out, mp_view item)
{
    cli_out_style(out, CLI_BOLD);
    cli_out_view(out, mp_view_get(mp_view_get(item, "frontmatter"), "name"));
    cli_out_style(out, CLI_PLAIN);
}

/* Why an entry cannot be used is part of what is shown: `mcplug skill` would say so. */
static void put_brief(struct cli_out *out, mp_view item)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill skill;

    int r = cli_skill_read(item, &skill, &err);
    put_name(out, item);
    cli_out_s(out, "  ");
    cli_out_view(out, mp_view_get(item, "uri"));
    if (r != MCPLUG_OK)
        cli_out_s(out, "  (unusable)\n");
    else if (skill.dynamic)
        cli_out_s(out, "  generated\n");
    else
        cli_out_f(out, "  %zu file%s, %" PRIu64 " byte%s\n", skill.n_files,
                  skill.n_files == 1 ? "" : "s", skill.bytes,
                  skill.bytes == 1 ? "" : "s");
    cli_put_brief(out, mp_view_get(mp_view_get(item, "frontmatter"), "description"));
    if (r != MCPLUG_OK) {
        cli_out_s(out, "    Unusable: ");
        cli_out_shown(out, err.text, strlen(err.text));
        cli_out_s(out, "\n");
    }
    cli_skill_clear(&skill);
}

static void put_full(struct cli_out *out, mp_view item)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill skill;
    mp_view frontmatter = mp_view_get(item, "frontmatter");

    int r = cli_skill_read(item, &skill, &err);
    cli_put_head(out, mp_view_get(frontmatter, "name"), frontmatter);
    cli_out_s(out, "\n");
    cli_put_line(out, "URI", mp_view_get(item, "uri"));
    if (r != MCPLUG_OK) {
        cli_out_s(out, "Unusable: ");
        cli_out_shown(out, err.text, strlen(err.text));
        cli_out_s(out, "\n");
    }
    cli_put_value(out, "Frontmatter", frontmatter);
    if (r == MCPLUG_OK)
        cli_out_s(out,
                  skill.dynamic ? "\nFiles: generated, without digests\n" : "\nFiles:\n");
    for (size_t i = 0; r == MCPLUG_OK && i < skill.n_files; i++) {
        const struct cli_skill_file *f = &skill.files[i];
        cli_out_s(out, "  ");
        cli_out_shown(out, f->path, strlen(f->path));
        cli_out_f(out, "  %" PRIu64 " byte%s  sha256:%s\n", f->size,
                  f->size == 1 ? "" : "s", f->digest);
    }
    cli_skill_clear(&skill);
}

static void put_all(struct cli *cli, const struct cli_skill_list *list)
{
    struct cli_out *out = &cli->out;

    if (cli->args.json)
        cli_out_s(out, "[");
    for (size_t i = 0; i < list->n; i++) {
        if (cli->args.json && i)
            cli_out_s(out, ",");
        if (cli->args.json)
            cli_out_item(out, list->items[i]);
        else
            put_brief(out, list->items[i]);
    }
    if (cli->args.json)
        cli_out_s(out, "]\n");
    else if (!list->n && out->terminal)
        cli_tell("", "The server lists none.", 22);
}

static void on_list(struct cli_oneshot *link, void *arg)
{
    const struct cli_skill_list *list = arg;
    struct cli *cli = link->cli;

    if (!cli->args.words.n) {
        put_all(cli, list);
        cli_oneshot_finish(link, CLI_OK);
        return;
    }
    mp_view item = cli_skill_list_find(link, list, cli->args.words.items[0]);
    if (!item.len)
        return;
    if (cli->args.json)
        cli_out_item(&cli->out, item);
    else
        put_full(&cli->out, item);
    cli_out_fresh_line(&cli->out);
    cli_oneshot_finish(link, CLI_OK);
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    if (cli_skills_offered(link))
        cli_skill_list_get(link, arg, on_list);
}

static int run(struct cli *cli)
{
    struct cli_skill_list list = {.n = 0};
    int code = cli_oneshot_run(cli, on_ready, &list);

    cli_skill_list_clear(&list);
    return code;
}

const struct cli_command cli_cmd_skills = {
    .name = "skills",
    .words = "[NAME|URI]",
    .summary = "List the server's skills, or show one in full.",
    .details = "Each skill is shown with its URI, its files and its description. Nothing "
               "of it is fetched; `mcplug skill` does that. A server need not list all "
               "skills that it has.",
    .flags = CLI_SERVER,
    .max_words = 1,
    .complete = {{.is = CLI_WORD_FREE}},
    .run = run,
};
