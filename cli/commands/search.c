/* search TEXT...: what there is for a purpose, among the tools and prompts of all servers
 * as they were last seen. */
#include "cli/commands/commands.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/base/by_name.h"
#include "cli/base/catalogue.h"
#include "cli/base/content.h"
#include "cli/base/message.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 50
#define SHOWN_JSON 10000
#define WORDS_MAX 32
#define TEXT_MAX ((size_t)1 << 20)

/* What a word that is found there counts; the best place counts. */
enum { IN_DESCRIPTION = 1, IN_TITLE = 4, IN_NAME = 16, IS_NAME = 64 };

struct hit {
    unsigned score;
    const char *server, *noun; /* borrow */
    char *item;                /* JSON */
    struct mcplug_known_info info;
};

struct job {
    struct cli *cli;
    char *words[WORDS_MAX]; /* in lower case */
    size_t n_words;
    struct hit *hits; /* the best ones, in order */
    size_t n, max, found;
    bool failed; /* no memory */
};

/* ---- matching ---- */

/* ASCII alone: what else is written in two cases has to be typed as it is. */
static void lower(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] = (char)(text[i] - 'A' + 'a');
}

/* A string of the item, in lower case, is in `room` until the next one. */
static const char *text_of(mp_view string, struct mp_str *room)
{
    mp_str_reset(room);
    if (!mp_view_is_string(string) || !mp_str_add_view(room, string) || !room->data)
        return "";
    lower(room->data, room->len);
    return room->data;
}

static void rate(const struct job *job, const char *text, unsigned value,
                 unsigned scores[WORDS_MAX])
{
    for (size_t i = 0; i < job->n_words; i++) {
        unsigned here = value;
        if (!strstr(text, job->words[i]))
            continue;
        if (value == IN_NAME && strcmp(text, job->words[i]) == 0)
            here = IS_NAME;
        if (here > scores[i])
            scores[i] = here;
    }
}

/* 0: a word is missing */
static unsigned score_of(struct job *job, mp_view item)
{
    unsigned scores[WORDS_MAX] = {0}, sum = 0;
    struct mp_str room;

    mp_str_init(&room, TEXT_MAX);
    rate(job, text_of(mp_view_get(item, "name"), &room), IN_NAME, scores);
    rate(job, text_of(mp_view_get(item, "title"), &room), IN_TITLE, scores);
    rate(job, text_of(mp_view_get(item, "description"), &room), IN_DESCRIPTION, scores);
    mp_str_clear(&room);
    for (size_t i = 0; i < job->n_words; i++) {
        if (!scores[i])
            return 0;
        sum += scores[i];
    }
    return sum;
}

/* ---- keeping the best ---- */

/* Behind those that are as good: servers come by name, items as the server has them. */
static void keep(struct job *job, const struct hit *hit, mp_view item)
{
    size_t at = job->n;

    job->found++;
    while (at > 0 && job->hits[at - 1].score < hit->score)
        at--;
    if (at == job->max)
        return;
    char *copy = mp_strndup((const char *)item.data, item.len);
    if (!copy) {
        job->failed = true;
        return;
    }
    if (job->n == job->max)
        mp_free(job->hits[--job->n].item);
    memmove(&job->hits[at + 1], &job->hits[at], (job->n - at) * sizeof *hit);
    job->hits[at] = *hit;
    job->hits[at].item = copy;
    job->n++;
}

static void on_server(void *arg, const struct cli_known *one)
{
    static const struct {
        enum mcplug_kind kind;
        const char *noun;
    } kinds[] = {{MCPLUG_TOOLS, "tool"}, {MCPLUG_PROMPTS, "prompt"}};
    struct job *job = arg;

    for (size_t k = 0; k < MP_COUNT(kinds); k++) {
        enum mcplug_kind kind = kinds[k].kind;
        struct mp_walk w = mp_walk_into(cli_known_items(one->known, kind));
        struct hit hit = {.server = mcplug_entry_name(one->entry),
                          .noun = kinds[k].noun,
                          .info = cli_known_info(one->known, kind)};
        mp_view item;
        while (mp_walk_element(&w, &item))
            if ((hit.score = score_of(job, item)) > 0 &&
                cli_allows_item(one->entry, kind, cli_item_name(item, kind)))
                keep(job, &hit, item);
    }
}

/* ---- the command ---- */

static void put_hit(struct cli_out *out, const struct hit *hit)
{
    mp_view item = mp_text(hit->item);

    cli_out_s(out, hit->server);
    cli_out_s(out, " ");
    cli_out_style(out, CLI_BOLD);
    cli_out_view(out, mp_view_get(item, "name"));
    cli_out_style(out, CLI_PLAIN);
    if (strcmp(hit->noun, "tool") != 0)
        cli_out_f(out, " (%s)", hit->noun);
    cli_out_s(out, hit->info.fresh ? "\n" : " (stale)\n");
    cli_put_brief(out, mp_view_get(item, "description"));
}

static void put_hits(const struct job *job)
{
    struct cli_out *out = &job->cli->out;
    bool json = job->cli->args.json;
    char line[64];

    cli_out_s(out, json ? "[" : "");
    for (size_t i = 0; i < job->n; i++) {
        const struct hit *hit = &job->hits[i];
        if (!json) {
            put_hit(out, hit);
            continue;
        }
        cli_out_s(out, i ? ",\n" : "");
        cli_catalogue_json(out, hit->server, hit->noun, mp_text(hit->item), &hit->info);
    }
    cli_out_s(out, json ? "]\n" : "");
    if (job->found > job->n && !json) {
        int n = snprintf(line, sizeof line, "and %zu more; --json prints all",
                         job->found - job->n);
        cli_out_flush(out);
        if (!job->cli->args.quiet)
            cli_tell("", line, (size_t)n);
    }
}

/* Each word of the line, also where one has several in quotes. */
static bool take_words(struct job *job)
{
    const struct cli_list *words = &job->cli->args.words;

    for (size_t i = 0; i < words->n; i++) {
        const char *p = words->items[i];
        for (size_t len; *(p += strspn(p, " \t\r\n")); p += len) {
            len = strcspn(p, " \t\r\n");
            if (job->n_words == WORDS_MAX) {
                cli_error("more than %d words", WORDS_MAX);
                return false;
            }
            char *word = mp_strndup(p, len);
            if (!word) {
                job->failed = true;
                return false;
            }
            lower(word, len);
            job->words[job->n_words++] = word;
        }
    }
    if (!job->n_words)
        cli_error("no search text given");
    return job->n_words > 0;
}

static int search(struct job *job)
{
    struct cli_catalogue c = {.cli = job->cli, .fn = on_server, .arg = job};

    int code = take_words(job) ? CLI_OK : CLI_USAGE;
    if (code == CLI_OK)
        code = cli_catalogue_walk(&c);
    if (code == CLI_OK && !job->failed) {
        put_hits(job);
        if (!job->found && cli_config_info(job->cli->config).entries)
            cli_tell_aside(job->cli, "no matches");
        code = cli_catalogue_unknown(&c);
        if (code != CLI_OK && job->cli->args.json) /* an empty list would be no answer */
            cli_out_retract(&job->cli->out);
        if (code == CLI_OK && !job->found)
            code = CLI_NOTHING;
    }
    cli_catalogue_clear(&c);
    return code;
}

static int run(struct cli *cli)
{
    struct job job = {.cli = cli, .max = cli->args.json ? SHOWN_JSON : SHOWN};

    job.hits = mp_alloc((job.max + 1) * sizeof *job.hits);
    job.failed = !job.hits;
    int code = job.hits ? search(&job) : CLI_INTERNAL;
    if (job.failed) {
        cli_error("out of memory");
        code = CLI_INTERNAL;
    }
    for (size_t i = 0; i < job.n; i++)
        mp_free(job.hits[i].item);
    for (size_t i = 0; i < job.n_words; i++)
        mp_free(job.words[i]);
    mp_free(job.hits);
    return code;
}

const struct cli_command cli_cmd_search = {
    .name = "search",
    .words = "TEXT...",
    .summary = "Search tools and prompts by name and description.",
    .details =
        "Searches the tools and prompts that all servers listed last for those whose "
        "name, title or description contains every word; no server is started. Matches "
        "in names come first, and at most 50 are shown unless --json is given. Put words "
        "that begin with - after --. The exit code is 1 if nothing matches.",
    .flags = CLI_CONFIG | CLI_TEXTS,
    .min_words = 1,
    .max_words = CLI_MANY,
    .complete = {{.is = CLI_WORD_FREE}},
    .run = run,
};
