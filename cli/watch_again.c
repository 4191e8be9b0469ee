/* A server that could not be used, with the configuration as it is now. */
#include "watch.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

/* ---- the configuration ---- */

void cli_reading_drop(struct cli_reading *reading)
{
    if (!reading || --reading->users)
        return;
    mp_config_free(reading->config);
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
static int fail_absent(const struct mcplug_config *config, struct mcplug_error *err)
{
    for (size_t i = 0; mp_config_damaged(config) && i < config->n_problems; i++)
        if (!config->problems[i].server && !config->problems[i].is_warning)
            return mp_fail(err, MCPLUG_ECONFIG, "%.500s",
                           mp_problem_text(&config->problems[i]));
    return mp_fail(err, MCPLUG_ECONFIG, "it is not in the configuration any more");
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
static void take_place(struct cli_watched *s, struct cli_roster *fresh,
                       struct cli_reading *reading)
{
    struct cli_member was = *s->member;

    *s->member = fresh->members[0];
    s->member->roster = &s->watch->roster;
    fresh->members[0] = was;
    cli_roster_clear(fresh);
    cli_reading_drop(s->reading);
    s->reading = reading;
    reading->users++;
    s->usable = s->member->stage == CLI_STAGE_WAITS;
}

/* Judged, and its settings looked up. */
static int look_up(struct cli_watched *s, struct cli_reading *reading,
                   struct mcplug_error *err)
{
    struct mcplug_config *config = reading->config;
    const char *items[] = {s->member->entry->name, NULL};
    struct cli_list words = {items, 1};
    struct cli *cli = s->watch->cli;
    struct cli_roster fresh;

    if (!mp_config_find(config, items[0]))
        return fail_absent(config, err);
    swap_config(cli, &config, &words);
    int code = cli_roster_init(&fresh, cli);
    if (code == CLI_OK && fresh.n == 1) {
        take_place(s, &fresh, reading);
        if (s->usable)
            cli_watched_resolve(s);
    } else {
        cli_roster_clear(&fresh);
    }
    swap_config(cli, &config, &words);
    return code == CLI_OK ? MCPLUG_OK : mp_fail_nomem(err);
}

static int fail_unusable(const struct cli_watched *s, struct mcplug_error *err)
{
    const char *why = s->member->reason;
    return mp_fail(err, MCPLUG_ECONFIG, "it is not started: %.480s",
                   why ? why : cli_member_state(s->member));
}

static int start_again(struct cli_watched *s, struct cli_reading **reading,
                       struct mcplug_error *err)
{
    static const char note[] = "the configuration is read anew";
    struct cli_watch *w = s->watch;
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    int r = read_config(w->cli, reading, err);
    if (r != MCPLUG_OK)
        return r;
    cli_kept_add(&s->kept, false, note, sizeof note - 1);
    cli_watched_let_go(s);
    if (look_up(s, *reading, &why) != MCPLUG_OK)
        cli_watched_give_up(s, why.text);
    cli_watched_look(s);
    if (!s->usable) {
        w->news(w, s, true);
        return fail_unusable(s, err);
    }
    s->begun = s->settled = true; /* it waits for nobody's turn */
    if (!cli_watched_start(s))
        return fail_unusable(s, err);
    cli_watched_look(s);
    if (s->status.state == MCPLUG_STATE_PARKED || s->status.state == MCPLUG_STATE_WAITING)
        return mcplug_restart(s->handle, err); /* others still have it so */
    return MCPLUG_OK;
}

int cli_watched_restart(struct cli_watched *s, struct cli_reading **reading,
                        struct mcplug_error *err)
{
    if (s->watch->leaving)
        return mp_fail(err, MCPLUG_ECLOSED, "all are being closed");
    if (s->usable && !s->handle)
        return mp_fail(err, MCPLUG_ERESTARTING, "its turn has not come yet");
    cli_watched_look(s);
    if (!s->usable || s->status.state == MCPLUG_STATE_PARKED)
        return start_again(s, reading, err);
    return mcplug_restart(s->handle, err);
}
