#include "listing.h"

#include "base/buf.h"
#include "base/mem.h"
#include "content.h"
#include "link.h"
#include "plugin/props.h"
#include "tell.h"

#define PARAGRAPH_MAX ((size_t)1 << 20)

struct job {
    const struct cli_listing *listing;
    mcplug_list *lists[2];
    size_t waiting;
};

/* ---- layout ---- */

void cli_put_brief(struct cli_out *out, mp_view description)
{
    struct mp_str text;
    mp_str_init(&text, PARAGRAPH_MAX);
    mp_str_add_view(&text, description);
    size_t at = 0, len = text.len;
    while (at < len && strchr(" \t\r\n", text.data[at]))
        at++;
    const char *newline = at < len ? memchr(text.data + at, '\n', len - at) : NULL;
    if (newline)
        len = (size_t)(newline - text.data);
    if (at < len) {
        cli_out_style(out, CLI_DIM);
        cli_out_wrapped(out, text.data + at, len - at, 4, 0);
        cli_out_style(out, CLI_PLAIN);
    }
    mp_str_clear(&text);
}

void cli_put_head(struct cli_out *out, mp_view name, mp_view item)
{
    mp_view title = mp_view_get(item, "title");
    mp_view description = mp_view_get(item, "description");

    cli_out_style(out, CLI_BOLD);
    cli_out_view(out, name);
    cli_out_style(out, CLI_PLAIN);
    if (mp_view_is_string(title)) {
        cli_out_s(out, " - ");
        cli_out_view(out, title);
    }
    cli_out_s(out, "\n");
    if (mp_view_is_string(description)) {
        struct mp_str text;
        mp_str_init(&text, PARAGRAPH_MAX);
        mp_str_add_view(&text, description);
        cli_out_s(out, "\n");
        cli_out_wrapped(out, text.data ? text.data : "", text.len, 2, 0);
        mp_str_clear(&text);
    }
}

void cli_put_value(struct cli_out *out, const char *caption, mp_view value)
{
    struct cli_doc doc = {NULL, (const char *)value.data, value.len};
    if (value.len == 0)
        return;
    cli_out_f(out, "\n%s:\n  ", caption);
    cli_doc_pretty(&doc, value, 2, out);
    cli_out_s(out, "\n");
}

void cli_put_line(struct cli_out *out, const char *caption, mp_view value)
{
    if (value.len == 0)
        return;
    cli_out_f(out, "%s: ", caption);
    if (mp_view_is_string(value))
        cli_out_view(out, value);
    else
        cli_out_shown(out, (const char *)value.data, value.len);
    cli_out_s(out, "\n");
}

/* ---- lists ---- */

static mp_view item_at(const mcplug_list *list, size_t i)
{
    size_t len;
    const char *json = mcplug_list_item(list, i, &len);
    return mp_bytes(json, len);
}

static void put_all(const struct job *job, struct cli_out *out, bool json)
{
    bool any = false;
    if (json)
        cli_out_s(out, "[");
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; job->lists[k] && i < mcplug_list_count(job->lists[k]); i++) {
            mp_view item = item_at(job->lists[k], i);
            if (json && any)
                cli_out_s(out, ",");
            if (json)
                cli_out_text(out, (const char *)item.data, item.len);
            else
                job->listing->brief(out, item);
            any = true;
        }
    if (json)
        cli_out_s(out, "]\n");
    else if (!any && out->terminal)
        cli_tell("", "The server has none.", 20);
}

static int put_one(const struct job *job, struct cli_out *out, bool json,
                   const char *name)
{
    const char *best = NULL;
    for (size_t k = 0; k < 2; k++) {
        const mcplug_list *list = job->lists[k];
        ptrdiff_t i = list ? mcplug_list_find(list, name) : -1;
        if (i >= 0) {
            mp_view item = item_at(list, (size_t)i);
            if (json)
                cli_out_text(out, (const char *)item.data, item.len);
            else
                job->listing->full(out, item);
            cli_out_fresh_line(out);
            return CLI_OK;
        }
        for (size_t n = 0; list && n < mcplug_list_count(list); n++)
            mp_nearest(name, mcplug_list_name(list, n), &best);
    }
    cli_error("the server has no %s \"%s\"%s%s%s", job->listing->noun, name,
              best ? "; did you mean \"" : "", best ? best : "", best ? "\"?" : "");
    return CLI_USAGE;
}

static void on_list(struct cli_link *link, void *arg, enum mcplug_kind kind,
                    mcplug_list *list, const struct mcplug_error *why)
{
    struct job *job = arg;
    struct cli *cli = link->cli;
    bool second = kind == job->listing->kinds[1];

    if (!list && !(second && why->code == MCPLUG_EPEER)) {
        cli_link_fail(link, why, NULL);
        return;
    }
    job->lists[second] = list ? mcplug_list_ref(list) : NULL;
    if (--job->waiting)
        return;
    int code = CLI_OK;
    if (cli->args.words.n)
        code = put_one(job, &cli->out, cli->args.json, cli->args.words.items[0]);
    else
        put_all(job, &cli->out, cli->args.json);
    cli_link_finish(link, code);
}

static void on_ready(struct cli_link *link, void *arg)
{
    struct job *job = arg;
    const enum mcplug_kind *kinds = job->listing->kinds;
    job->waiting = kinds[1] ? 2 : 1;
    for (size_t i = 0, n = job->waiting; i < n; i++)
        cli_link_list(link, kinds[i], on_list);
}

int cli_listing_run(struct cli *cli, const struct cli_listing *listing)
{
    struct job job = {.listing = listing};
    int code = cli_link_run(cli, on_ready, &job);
    for (size_t k = 0; k < 2; k++)
        if (job.lists[k])
            mcplug_list_unref(job.lists[k]);
    return code;
}
