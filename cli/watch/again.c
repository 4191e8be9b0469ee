/* A server is started anew, with the configuration as it is now. */
#include "cli/watch/watch.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

/* ---- the configuration ---- */

void cli_reading_drop(struct cli_reading *reading)
{
    if (!reading || --reading->users)
        return;
    mcplug_config_free(reading->config);
    mp_free(reading);
}

static int read_config(struct cli *cli, struct cli_reading **reading,
                       struct mcplug_error *err)
{
    struct mcplug_config *was = cli->config;
    struct cli_reading *r = *reading ? *reading : mp_alloc(sizeof *r);

    if (!r)
        return mp_fail_nomem(err);
    if (!r->config) {
        cli->config = NULL; /* it is read once otherwise */
        r->config = cli_config_silent(cli, err);
        cli->config = was;
        r->users = 1;
    }
    *reading = r->config ? r : NULL;
    if (r->config)
        return MCPLUG_OK;
    mp_free(r);
    return err->code;
}

/* ---- one entry of it ---- */

/* It may only be that its file can't be read. */
static int fail_absent(mcplug_config *config, struct mcplug_error *err)
{
    struct mcplug_problem p = {.struct_size = sizeof p};
    bool damaged = cli_config_info(config).damaged;

    for (size_t i = 0; damaged && mcplug_config_problem_info(config, i, &p); i++)
        if (!p.server && !p.is_warning)
            return mp_fail(err, MCPLUG_ECONFIG, "%.500s",
                           mcplug_config_problem(config, i));
    return mp_fail(err, MCPLUG_ECONFIG, "it is no longer in the configuration");
}

/* In the file where it was? If that can't be read, another one may have the name. */
static bool is_there(const mcplug_entry *now, const struct cli_member *m)
{
    return strcmp(cli_entry_info(now).file, cli_entry_info(m->entry).file) == 0;
}

/* The command sees this configuration, and these words, until it is called again. */
static void swap_config(struct cli *cli, struct mcplug_config **config,
                        struct cli_list *words)
{
    struct mcplug_config *was = cli->config;
    struct cli_list had = cli->args.words;

    cli->config = *config;
    cli->args.words = *words;
    *config = was;
    *words = had;
}

/* The new member takes the place of the old one, which goes with the roster. */
static void take_place(struct cli_watched *s, struct cli_connect_all *fresh)
{
    struct cli_member was = *s->member;

    *s->member = fresh->members[0];
    s->member->roster = &s->watch->roster;
    s->member->journal = mp_move(&was.journal);
    fresh->members[0] = was;
    s->usable = s->member->stage == CLI_STAGE_WAITS;
}

/* Would the same server be reached? Variables are as they were, and secrets are looked up
 * at each start anyway. */
static bool is_same(const struct cli_member *a, const struct cli_member *b)
{
    const mp_view x = cli_entry_json(a->entry), y = cli_entry_json(b->entry);

    return x.len == y.len && memcmp(x.data, y.data, x.len) == 0 &&
           strcmp(cli_entry_info(a->entry).file, cli_entry_info(b->entry).file) == 0;
}

/* Judged. */
static int look_up(struct cli_watched *s, struct cli_reading *reading, bool *same,
                   struct mcplug_error *err)
{
    struct mcplug_config *config = reading->config;
    const char *items[] = {mcplug_entry_name(s->member->entry), NULL};
    struct cli_list words = {items, 1};
    struct cli *cli = s->watch->cli;
    struct cli_connect_all fresh;

    *same = false;
    const mcplug_entry *now = mcplug_entry_find(config, items[0]);
    if (!now ||
        (s->handle && cli_config_info(config).damaged && !is_there(now, s->member)))
        return fail_absent(config, err);
    swap_config(cli, &config, &words);
    int code = cli_connect_all_init(&fresh, cli);
    bool found = code == CLI_OK && fresh.n == 1;
    if (found) {
        take_place(s, &fresh);
        if (s->usable)
            cli_watched_prepare(s);
        *same = s->handle && is_same(s->member, &fresh.members[0]);
    }
    cli_connect_all_clear(&fresh);
    swap_config(cli, &config, &words);
    if (found) { /* the old one is not needed any more */
        cli_reading_drop(s->reading);
        s->reading = reading;
        reading->users++;
    }
    return code == CLI_OK ? MCPLUG_OK : mp_fail_nomem(err);
}

static int fail_unusable(const struct cli_watched *s, struct mcplug_error *err)
{
    const char *why = s->member->reason;
    return mp_fail(err, MCPLUG_ECONFIG, "not started: %.480s",
                   why ? why : cli_member_state(s->member));
}

static int start_now(struct cli_watched *s, struct mcplug_error *err)
{
    if (!cli_watched_start(s))
        return fail_unusable(s, err);
    cli_watched_look(s);
    if (s->status.state == MCPLUG_STATE_QUEUED ||
        s->status.state == MCPLUG_STATE_STARTING)
        return MCPLUG_OK;
    return mcplug_restart(s->handle, err); /* others have it already */
}

/* What it was is gone, with all that it held. */
static void on_gone(struct cli_watched *s)
{
    struct mcplug_error ignored = MCPLUG_ERROR_INIT;
    if (!s->watch->loop.ending && s->usable && !s->handle)
        start_now(s, &ignored); /* it is shown */
}

/* Lets go of what it was, and starts what it is now. */
static int start_other(struct cli_watched *s, const struct mcplug_error *why,
                       struct mcplug_error *err)
{
    static const char note[] = "reading the configuration again";
    struct cli_watch *w = s->watch;
    bool alone = s->handle && cli_watched_others(s) == 0;

    cli_kept_add(&s->kept, false, note, sizeof note - 1);
    cli_watched_let_go(s, alone ? on_gone : NULL);
    if (why->code != MCPLUG_OK)
        cli_watched_give_up(s, why->text);
    cli_watched_look(s);
    if (!s->usable) {
        w->news(w, s, true);
        return fail_unusable(s, err);
    }
    s->begun = true; /* it waits for nobody's turn */
    if (!alone)
        return start_now(s, err);
    w->news(w, s, true);
    return MCPLUG_OK;
}

int cli_watched_restart(struct cli_watched *s, struct cli_reading **reading,
                        bool *is_other, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    bool same;

    *is_other = false;
    if (s->watch->loop.ending)
        return mp_fail(err, MCPLUG_ECLOSED, "all servers are being closed");
    if (s->usable && !s->handle)
        return mp_fail(err, MCPLUG_ERESTARTING, "waiting for its turn");
    cli_watched_look(s);
    int r = read_config(s->watch->cli, reading, err);
    if (r != MCPLUG_OK)
        return r;
    r = look_up(s, *reading, &same, &why);
    if (r != MCPLUG_OK && s->handle && cli_config_info((*reading)->config).damaged) {
        mp_error_copy(err, &why); /* half a file says nothing of one that runs */
        return r;
    }
    if (same)
        return mcplug_restart(s->handle, err);
    *is_other = true;
    return start_other(s, &why, err);
}
