#include "cli/base/listing.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/base/catalogue.h"
#include "cli/base/content.h"
#include "cli/base/oneshot.h"
#include "cli/base/by_name.h"
#include "base/nearest.h"
#include "cli/base/message.h"

#include <stdio.h>

#define PARAGRAPH_MAX ((size_t)1 << 20)

/* The items of one kind, wherever they come from. */
struct shelf {
    enum mcplug_kind kind;
    mp_view *items;
    size_t n, left_out; /* not allowed */
};

struct job {
    const struct cli_listing *listing;
    const char *server;        /* its name, once it was asked */
    const mcplug_entry *entry; /* NULL: given in place */
    mcplug_list *lists[2];     /* what `shelves` show */
    struct shelf shelves[2];
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
    struct cli_doc doc = {.json = (const char *)value.data, .len = value.len};
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

/* Adds an item, unless it is not allowed. `n` is how many there may be in all. */
static bool shelve(struct shelf *shelf, const mcplug_entry *entry, mp_view item, size_t n)
{
    if (!shelf->items && !(shelf->items = mp_alloc((n + 1) * sizeof *shelf->items)))
        return false;
    if (cli_allows_item(entry, shelf->kind, cli_item_name(item, shelf->kind)))
        shelf->items[shelf->n++] = item;
    else
        shelf->left_out++;
    return true;
}

/* What a server gave, without what is not allowed. */
static bool shelve_list(struct job *job, size_t k, mcplug_server *server,
                        const mcplug_list *list)
{
    struct mcplug_status status = {.struct_size = sizeof status};
    struct shelf *shelf = &job->shelves[k];
    size_t n = mcplug_list_count(list), len;

    shelf->kind = job->listing->kinds[k];
    for (size_t i = 0; i < n; i++) {
        const char *json = mcplug_list_item(list, i, &len);
        if (!shelve(shelf, NULL, mp_bytes(json, len), n))
            return false;
    }
    mcplug_server_status(server, &status);
    if (shelf->kind == MCPLUG_TOOLS && status.tools > n)
        shelf->left_out = status.tools - n;
    return true;
}

static bool shelve_known(struct job *job, size_t k, const mcplug_known *known)
{
    mp_view items = cli_known_items(known, job->listing->kinds[k]), item;
    struct mp_walk w = mp_walk_into(items);
    size_t n = mp_view_count(items);

    job->shelves[k].kind = job->listing->kinds[k];
    while (mp_walk_element(&w, &item))
        if (!shelve(&job->shelves[k], job->entry, item, n))
            return false;
    return true;
}

static void put_all(const struct job *job, struct cli *cli)
{
    size_t left_out = job->shelves[0].left_out + job->shelves[1].left_out;
    bool any = false, json = cli->args.json;
    struct cli_out *out = &cli->out;

    if (json)
        cli_out_s(out, "[");
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < job->shelves[k].n; i++) {
            mp_view item = job->shelves[k].items[i];
            if (json && any)
                cli_out_s(out, ",");
            if (json)
                cli_out_item(out, item);
            else
                job->listing->brief(out, item);
            any = true;
        }
    if (json)
        cli_out_s(out, "]\n");
    else if (!any && !left_out && out->terminal)
        cli_tell("", "The server has none.", 20);
    cli_tell_left_out(cli, left_out, any);
}

/* give; NULL: nothing looks like it */
static char *nearest(const struct job *job, const char *name)
{
    char *best = NULL;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < job->shelves[k].n; i++) {
            const struct shelf *shelf = &job->shelves[k];
            char *other = mp_view_strdup(cli_item_name(shelf->items[i], shelf->kind));
            const char *nearer = best;
            if (other)
                mp_nearest(name, other, &nearer);
            if (other && nearer == other) {
                mp_free(best);
                best = other;
            } else {
                mp_free(other);
            }
        }
    return best;
}

static mp_view find(const struct job *job, const char *name)
{
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < job->shelves[k].n; i++) {
            mp_view item = job->shelves[k].items[i];
            if (mp_view_equals(cli_item_name(item, job->shelves[k].kind), name))
                return item;
        }
    return mp_bytes(NULL, 0);
}

static const char *name_of(const struct job *job)
{
    return job->server ? job->server : mcplug_entry_name(job->entry);
}

static int put_one(const struct job *job, struct cli *cli, const char *name)
{
    const struct shelf *s = job->shelves;
    bool any = s[0].n + s[0].left_out + s[1].n + s[1].left_out > 0;
    const char *noun = job->listing->noun, *entry = cli->args.server;
    struct cli_out *out = &cli->out;
    mp_view item = find(job, name);

    if (item.len && job->listing->take)
        return job->listing->take(cli, job->listing->arg, name_of(job), &item, 1);
    if (item.len) {
        if (cli->args.json)
            cli_out_item(out, item);
        else
            job->listing->full(out, item);
        cli_out_fresh_line(out);
        return CLI_OK;
    }
    char *best = nearest(job, name);
    cli_error("server \"%s\" has no %s \"%s\"%s%s%s", job->server ? job->server : "",
              noun, name, best ? "; did you mean \"" : "", best ? best : "",
              best ? "\"?" : "");
    if (!best && any && entry)
        cli_hint("`mcplug %s %s` lists all of them.", cli->args.command->name, entry);
    else if (!best && any)
        cli_hint("Without \"%s\" the same command lists all of them.", name);
    else if (!best)
        cli_hint("The server has no %ss.", noun);
    mp_free(best);
    return CLI_NOT_FOUND;
}

static int put(const struct job *job, struct cli *cli)
{
    const struct cli_listing *l = job->listing;

    if (cli->args.words.n)
        return put_one(job, cli, cli->args.words.items[0]);
    if (l->take)
        return l->take(cli, l->arg, name_of(job), job->shelves[0].items,
                       job->shelves[0].n);
    put_all(job, cli);
    return CLI_OK;
}

/* ---- from the server ---- */

static void on_list(struct cli_oneshot *link, void *arg, enum mcplug_kind kind,
                    mcplug_list *list, const struct mcplug_error *why)
{
    struct job *job = arg;
    bool second = kind == job->listing->kinds[1];
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!list && !(second && why->code == MCPLUG_EPEER)) {
        cli_oneshot_fail(link, why, NULL);
        return;
    }
    job->lists[second] = list ? mcplug_list_ref(list) : NULL;
    if (list && !shelve_list(job, second, link->server, list)) {
        mp_fail_nomem(&err);
        cli_oneshot_fail(link, &err, NULL);
        return;
    }
    if (--job->waiting)
        return;
    cli_oneshot_finish(link, put(job, link->cli));
}

static void on_ready(struct cli_oneshot *link, void *arg)
{
    struct job *job = arg;
    const enum mcplug_kind *kinds = job->listing->kinds;
    job->server = mcplug_server_name(link->server);
    job->waiting = kinds[1] ? 2 : 1;
    for (size_t i = 0, n = job->waiting; i < n; i++)
        cli_oneshot_list(link, kinds[i], on_list);
}

/* ---- from the catalogue ---- */

/* Is everything there that is wanted? `at` gets the time of the oldest part. */
static bool is_known(const struct cli_listing *listing, const mcplug_known *known,
                     int64_t *at)
{
    *at = 0;
    for (size_t k = 0; k < 2 && listing->kinds[k]; k++) {
        struct mcplug_known_info info = cli_known_info(known, listing->kinds[k]);
        if (!info.whole || !info.fresh)
            return false;
        if (!*at || info.at < *at)
            *at = info.at;
    }
    return true;
}

/* The people who see a list should know that nobody was asked. */
static void tell_age(struct cli *cli, int64_t at)
{
    char age[CLI_AGE_SIZE], line[CLI_AGE_SIZE + 64];

    snprintf(line, sizeof line, "(fetched %s; --refresh asks the server)",
             cli_age(at, age));
    cli_tell_dim(cli, line);
    cli_log_line(MCPLUG_LOG_VERBOSE, "catalogue", line);
}

/* false: the server has to be asked. Else `code` is the exit code. */
static bool answer(struct cli *cli, struct job *job, int *code)
{
    mcplug_known *known = mcplug_known_new(job->entry);
    int64_t at;
    bool done = known && is_known(job->listing, known, &at) &&
                shelve_known(job, 0, known) &&
                (!job->listing->kinds[1] || shelve_known(job, 1, known));
    if (done && cli->args.words.n) /* one that is not known may be new */
        done = find(job, cli->args.words.items[0]).len;
    if (done) {
        *code = put(job, cli);
        tell_age(cli, at);
    }
    mcplug_known_free(known);
    return done;
}

static void forget(struct job *job)
{
    for (size_t k = 0; k < 2; k++) {
        mp_free(job->shelves[k].items);
        memset(&job->shelves[k], 0, sizeof job->shelves[k]);
        if (job->lists[k])
            mcplug_list_unref(job->lists[k]);
        job->lists[k] = NULL;
    }
}

/* Options that change how the server is reached want the server itself: the catalogue is
 * of its definition. */
int cli_listing_run(struct cli *cli, const struct cli_listing *listing)
{
    struct job job = {.listing = listing};
    mcplug_entry *entry;
    int code = cli_by_name_server(cli, &entry);

    if (code == CLI_OK && entry)
        code = cli_by_name_usable(cli, entry);
    if (code != CLI_OK)
        return code;
    job.entry = entry;
    if (listing->kinds[0] == MCPLUG_TOOLS && cli->args.words.n &&
        !cli_allows_tell(entry, cli->args.words.items[0])) {
        code = CLI_TOOL_DENIED;
    } else if (!entry || cli->args.refresh || cli_args_alter(&cli->args) ||
               !answer(cli, &job, &code)) {
        forget(&job);
        code = cli_oneshot_run(cli, on_ready, &job);
    }
    forget(&job);
    return code;
}

const struct cli_option cli_listing_options[] = {
    {"refresh", 0, CLI_FLAG, NULL, "ask the server even if a fresh list is stored",
     .at = offsetof(struct cli_args, refresh)},
    {.name = NULL},
};
