/* The files of the configuration, and its servers as a whole. */
#include "cli/doctor/doctor.h"

#include "base/mem.h"
#include "cli/base/entries.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAMES_SHOWN 12 /* of servers, in one line */

/* ---- problems ---- */

/* Of a file that can be read, only what is wrong is left out. */
static bool file_is_broken(const struct cli_doctor *d, const struct mp_problem *p)
{
    const struct mcplug_config *config = d->config;

    for (size_t i = 0; i < config->n_sources; i++)
        if (config->sources[i].broken && config->sources[i].path == p->file)
            return true;
    return false;
}

static void advise(struct cli_doctor *d, const struct mp_problem *p)
{
    char line[32] = "";

    if (p->at.line)
        snprintf(line, sizeof line, ", line %zu", p->at.line);
    if (strstr(p->text, "it comes with the package"))
        cli_doctor_todo(d, "Install that package.");
    else if (strstr(p->text, "chmod o-w"))
        cli_doctor_todo(d, "chmod o-w %s", p->file);
    else if (strstr(p->text, "no approval in it counts"))
        cli_doctor_todo(d, "Make it yours, with chmod 600, if you trust what is in it; "
                           "else remove it.");
    else if (strstr(p->text, "belongs to another user"))
        cli_doctor_todo(d, "Make it yours with chown, if you trust what is in it.");
    else if (p->is_warning)
        cli_doctor_todo(d, "Correct %s%s.", p->file, line);
    else if (p->server)
        cli_doctor_todo(d, "Correct %s%s; until then that server is left out.", p->file,
                        line);
    else if (file_is_broken(d, p))
        cli_doctor_todo(d, "Correct %s%s; until then nothing in it is used.", p->file,
                        line);
    else if (strstr(p->text, "are ignored")) /* which says it all */
        cli_doctor_todo(d, "Correct %s%s.", p->file, line);
    else
        cli_doctor_todo(d,
                        "Correct %s%s; until then that is ignored, and the rest of "
                        "the file is used.",
                        p->file, line);
}

static void note_problem(struct cli_doctor *d, struct mp_problem *p)
{
    char about[MP_NAME_MAX + 16] = "configuration";
    const char *text = mp_problem_text(p);

    if (p->server && !cli_doctor_wants(d, p->server))
        return;
    if (p->server)
        snprintf(about, sizeof about, "server %.64s", p->server);
    if (strncmp(p->text, p->file, strlen(p->file)) == 0)
        text = p->text; /* it names the file itself */
    cli_doctor_note(d, p->is_warning ? CLI_DOUBTFUL : CLI_WRONG, about, "%s", text);
    advise(d, p);
}

/* ---- files ---- */

/* Files that are not used for that reason are problems already. */
static void note_writable(struct cli_doctor *d, const struct mp_source *source)
{
    const struct stat *st = &source->file.st;
    bool own = source->scope == MP_SCOPE_USER || source->scope == MP_SCOPE_LOCAL;

    if (source->broken || !source->real)
        return;
    bool all = st->st_mode & S_IWOTH;
    bool group = own && st->st_mode & S_IWGRP && st->st_gid != getegid();
    if (!all && !group)
        return;
    cli_doctor_note(d, CLI_DOUBTFUL, "configuration", "%s can change %s",
                    all ? "everybody" : "a group", source->path);
    cli_doctor_todo(d, "chmod %s %s", all ? "o-w" : "g-w", source->path);
}

static void note_files(struct cli_doctor *d)
{
    const struct mcplug_config *config = d->config;
    size_t files = 0, servers = 0;

    for (size_t i = 0; i < config->n_sources; i++)
        files += !config->sources[i].broken;
    for (size_t i = 0; i < config->n_entries; i++)
        servers += !config->entries[i].by;
    bool policy = config->policy && !config->policy_error;
    cli_doctor_note(d, CLI_HEALTHY, "configuration", "%zu server%s in %zu file%s%s%s%s%s",
                    servers, servers == 1 ? "" : "s", files, files == 1 ? "" : "s",
                    policy ? "; the policy is " : "", policy ? config->paths.policy : "",
                    config->exclusive ? "; no servers exist but those of " : "",
                    config->exclusive ? config->paths.managed : "");
    if (servers == 0 && !config->exclusive)
        cli_doctor_todo(d, "`mcplug add` adds a server, `mcplug import` finds those of "
                           "other programs.");
}

void cli_doctor_config(struct cli_doctor *d)
{
    struct mcplug_config *config = d->config;

    if (d->loadable) {
        cli_entries_check(d->cli, config->entries, config->n_entries);
    } else if (config->n_entries) {
        cli_doctor_note(d, CLI_DOUBTFUL, "configuration",
                        "settings of servers were not checked: that takes loading "
                        "modules, and one of them is deadly");
        cli_doctor_todo(d, "First do what is said above about modules.");
    }
    note_files(d);
    if (config->policy_error) {
        cli_doctor_note(d, CLI_WRONG, "configuration",
                        "the policy can't be used, so no server may be: %s",
                        config->policy_error);
        cli_doctor_todo(d, "The administrator has to mend %s.", config->paths.policy);
    }
    for (size_t i = 0; i < config->n_problems; i++)
        note_problem(d, &config->problems[i]);
    for (size_t i = 0; i < config->n_sources; i++)
        note_writable(d, &config->sources[i]);
}

/* ---- servers ---- */

struct names {
    struct mp_str text;
    size_t n;
};

static void names_add(struct names *names, const char *name)
{
    if (names->n++ < NAMES_SHOWN)
        mp_str_addf(&names->text, "%s%s", names->n > 1 ? ", " : "", name);
}

static void names_note(struct cli_doctor *d, struct names *names, const char *what)
{
    size_t more = names->n > NAMES_SHOWN ? names->n - NAMES_SHOWN : 0;
    char rest[40] = "";

    if (more)
        snprintf(rest, sizeof rest, " and %zu more", more);
    if (names->n)
        cli_doctor_note(d, CLI_HEALTHY, "servers", "%s: %s%s", what,
                        names->text.data ? names->text.data : "", rest);
    mp_str_clear(&names->text);
}

/* Is there a reason not to use it? Disabled ones are not told here. */
static enum mp_state note_state(struct cli_doctor *d, const struct mp_entry *entry,
                                const char *about)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    enum mp_state state;

    mp_entry_usable(d->config, entry, &state, &why);
    if (state == MP_STATE_UNAPPROVED) {
        cli_doctor_note(d, CLI_DOUBTFUL, about, "needs approval: %s", why.text);
        cli_doctor_todo(d, "`mcplug approve %s` shows it and asks.", entry->name);
    } else if (state == MP_STATE_BLOCKED && !d->config->policy_error) {
        cli_doctor_note(d, CLI_DOUBTFUL, about, "blocked: %s", why.text);
        cli_doctor_todo(d, "The administrator decides that, in %s.",
                        d->config->paths.policy);
    }
    return state;
}

static void check_server(struct cli_doctor *d, const struct mp_entry *entry,
                         struct names *ready, struct names *disabled)
{
    bool named = d->cli->args.words.n > 0;
    size_t before = cli_doctor_troubles(d);
    char about[MP_NAME_MAX + 16], type[64];

    if (entry->broken) /* which was told as a problem */
        return;
    snprintf(about, sizeof about, "server %.64s", entry->name);
    enum mp_state state = note_state(d, entry, about);
    if (state == MP_STATE_DISABLED && !named) {
        names_add(disabled, entry->name);
        return; /* what nobody uses may be incomplete */
    }
    cli_doctor_entry(d, entry);
    if (cli_doctor_troubles(d) != before || state == MP_STATE_BLOCKED)
        return; /* told, for each or, when the policy is broken, for all */
    cli_entry_transport(entry, type, sizeof type);
    if (!named) {
        names_add(ready, entry->name);
    } else {
        cli_doctor_note(d, CLI_HEALTHY, about, "%s%s%s, from %s:%zu",
                        state == MP_STATE_DISABLED ? "disabled" : "usable",
                        *type ? ", " : "", type, entry->source->path, entry->at.line);
        if (state == MP_STATE_DISABLED)
            cli_doctor_todo(d, "`mcplug enable %s` changes that.", entry->name);
    }
}

/* ---- the same server twice ---- */

struct digest {
    const struct mp_entry *entry; /* NULL: not to be compared */
    char hex[MP_SHA256_HEX + 1];
};

static void note_same(struct cli_doctor *d, const struct digest *list, size_t at)
{
    const struct mp_entry *entry = list[at].entry;
    char about[MP_NAME_MAX + 16];

    for (size_t i = 0; entry && i < at; i++) {
        const struct mp_entry *other = list[i].entry;
        if (!other || strcmp(list[i].hex, list[at].hex) != 0 ||
            (!cli_doctor_wants(d, entry->name) && !cli_doctor_wants(d, other->name)))
            continue;
        snprintf(about, sizeof about, "server %.64s", entry->name);
        cli_doctor_note(d, CLI_DOUBTFUL, about, "is the same as \"%s\" of %s",
                        other->name, other->source->path);
        cli_doctor_todo(d, "`mcplug remove %s` leaves one of them.", entry->name);
        return; /* of many, each is told of once */
    }
}

static void check_doubles(struct cli_doctor *d)
{
    const struct mcplug_config *config = d->config;
    struct digest *list = mp_alloc((config->n_entries + 1) * sizeof *list);

    for (size_t i = 0; list && i < config->n_entries; i++) {
        const struct mp_entry *entry = &config->entries[i];
        if (entry->by || entry->broken || entry->disabled)
            continue;
        if (mp_approval_digest("", "", entry->json, list[i].hex))
            list[i].entry = entry;
        note_same(d, list, i);
    }
    if (!list)
        d->failed = true;
    mp_free(list);
}

void cli_doctor_servers(struct cli_doctor *d)
{
    struct mcplug_config *config = d->config;
    struct names ready = {.n = 0}, disabled = {.n = 0};

    mp_str_init(&ready.text, 2048);
    mp_str_init(&disabled.text, 2048);
    for (size_t i = 0; i < config->n_entries; i++)
        if (!config->entries[i].by && cli_doctor_wants(d, config->entries[i].name))
            check_server(d, &config->entries[i], &ready, &disabled);
    check_doubles(d);
    names_note(d, &ready, "usable");
    names_note(d, &disabled, "disabled");
}
