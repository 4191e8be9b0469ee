/* Which tools were called most, by the journals of their servers: these are offered first
 * where there are too many for a model. */
#include "cli/run/run.h"

#include "base/mem.h"
#include "base/tally.h"

#include <string.h>

#define TAIL ((size_t)16 << 10) /* bytes of a journal that are looked at */
#define NAMES_MAX 128           /* of tools in one, */
#define FIRST_MAX 64            /* and of all that are offered first */

static const char mark[] = " event Calling MCP tool: "; /* of core/base/event_text.c */

/* Counts the calls in a journal, whose lines end with NULs then. */
static void count_calls(char *text, struct mp_tally *calls)
{
    for (char *next; text; text = next) {
        char *end = strchr(text, '\n'), *at = strchr(text, ' ');
        next = end ? end + 1 : NULL;
        if (!end)
            return;
        *end = '\0';
        at = at ? strchr(at + 1, ' ') : NULL; /* behind the time and the level */
        if (at && strncmp(at, mark, sizeof mark - 1) == 0 && calls->n < NAMES_MAX)
            mp_tally_add(calls, at + sizeof mark - 1, 1);
    }
}

static size_t count_of(const struct mp_tally *calls, const char *tool)
{
    for (size_t i = 0; i < calls->n; i++)
        if (strcmp(calls->rows[i].name, tool) == 0)
            return calls->rows[i].count;
    return 0;
}

struct journal { /* of one server */
    struct mp_str text;
    struct mp_tally calls; /* names in it */
};

static void read_journals(const struct cli_run *run, struct journal *journals)
{
    for (size_t i = 0; i < run->n_servers; i++) {
        struct journal *j = &journals[i];
        mp_str_init(&j->text, TAIL + 1);
        if (run->servers[i].entry)
            cli_journal_tail(&run->cli->paths, run->servers[i].name, TAIL, &j->text);
        if (j->text.len)
            count_calls(j->text.data, &j->calls);
    }
}

static const struct mp_tally *calls_of(const struct cli_run *run,
                                       const struct journal *journals, const char *server)
{
    for (size_t i = 0; i < run->n_servers; i++)
        if (strcmp(run->servers[i].name, server) == 0)
            return &journals[i].calls;
    return NULL;
}

/* Adds what the toolbox calls those that were called. */
static void count_tools(struct cli_run *run, const struct journal *journals,
                        struct mp_tally *all)
{
    size_t n = mcplug_toolbox_count(run->box);

    for (size_t i = 0; i < n; i++) {
        const char *name = mcplug_toolbox_name(run->box, i), *server, *tool;
        if (!name || !mcplug_toolbox_find(run->box, name, &server, &tool))
            continue;
        const struct mp_tally *calls = calls_of(run, journals, server);
        size_t count = calls ? count_of(calls, tool) : 0;
        if (count)
            mp_tally_add(all, name, count);
    }
}

const char *const *cli_run_most_used(struct cli_run *run)
{
    struct mp_tally all = {.rows = NULL};
    struct journal *journals = NULL;
    size_t n = 0;

    if (run->most_used || !run->box)
        return (const char *const *)run->most_used;
    journals = mp_alloc(run->n_servers * sizeof *journals);
    if (journals) {
        read_journals(run, journals);
        count_tools(run, journals, &all);
    }
    mp_tally_sort(&all);
    run->most_used = mp_alloc((FIRST_MAX + 1) * sizeof *run->most_used);
    for (size_t i = 0; run->most_used && i < all.n && n < FIRST_MAX; i++)
        if ((run->most_used[n] = mp_strdup(all.rows[i].name)))
            n++;
    mp_tally_clear(&all);
    for (size_t i = 0; journals && i < run->n_servers; i++) {
        mp_tally_clear(&journals[i].calls);
        mp_str_clear(&journals[i].text);
    }
    mp_free(journals);
    return (const char *const *)run->most_used;
}

void cli_run_clear_most_used(struct cli_run *run)
{
    for (size_t i = 0; run->most_used && run->most_used[i]; i++)
        mp_free(run->most_used[i]);
    mp_free(run->most_used);
    run->most_used = NULL;
}
