/* The files of the configuration, and its servers as a whole. */
#include "cli/doctor/doctor.h"

#include "base/mem.h"
#include "cli/base/entries.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_SHOWN 12 /* of servers, in one line */

/* ---- problems ---- */

static void advise(struct cli_doctor *d, const struct mcplug_problem *p)
{
    char line[32] = "";

    if (p->line)
        snprintf(line, sizeof line, ", line %zu", p->line);
    if (strstr(p->text, "it comes with the package"))
        cli_doctor_todo(d, "Install that package.");
    else if (strstr(p->text, "chmod o-w"))
        cli_doctor_todo(d, "chmod o-w %s", p->file);
    else if (strstr(p->text, "so its approvals are not used"))
        cli_doctor_todo(d, "If you trust its content, take ownership and run chmod 600; "
                           "otherwise remove it.");
    else if (strstr(p->text, "belongs to another user"))
        cli_doctor_todo(d, "If you trust its content, take ownership with chown, or "
                           "name the file with --mcp-config.");
    else if (p->is_warning)
        cli_doctor_todo(d, "Correct %s%s.", p->file, line);
    else if (p->server)
        cli_doctor_todo(d, "Correct %s%s; until then that server is not used.", p->file,
                        line);
    else if (p->file_is_broken) /* of one that can be read, the rest is used */
        cli_doctor_todo(d, "Correct %s%s; until then the whole file is ignored.", p->file,
                        line);
    else if (strstr(p->text, "are ignored")) /* which says it all */
        cli_doctor_todo(d, "Correct %s%s.", p->file, line);
    else
        cli_doctor_todo(d,
                        "Correct %s%s; until then that is ignored, and the rest of "
                        "the file is used.",
                        p->file, line);
}

/* `text` is the problem as a line. */
static void note_problem(struct cli_doctor *d, const struct mcplug_problem *p,
                         const char *text)
{
    char about[MCPLUG_NAME_MAX + 16] = "configuration";

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
static void note_writable(struct cli_doctor *d, const struct mcplug_config_file *f)
{
    bool own = f->scope == MCPLUG_SCOPE_USER || f->scope == MCPLUG_SCOPE_LOCAL;

    if (f->broken || f->in_place)
        return;
    bool all = f->mode & S_IWOTH;
    bool group = own && f->mode & S_IWGRP && f->group != getegid();
    if (!all && !group)
        return;
    cli_doctor_note(d, CLI_DOUBTFUL, "configuration", "%s can change %s",
                    all ? "everyone" : "a group", f->path);
    cli_doctor_todo(d, "chmod %s %s", all ? "o-w" : "g-w", f->path);
}

static void note_files(struct cli_doctor *d)
{
    struct mcplug_config_info config = cli_config_info(d->config);
    struct mcplug_config_file f = {.struct_size = sizeof f};
    size_t files = 0, servers = mcplug_config_count(d->config);

    for (size_t i = 0; mcplug_config_file(d->config, i, &f); i++)
        files += !f.broken;
    bool policy = config.policy && !config.policy_error;
    cli_doctor_note(d, CLI_HEALTHY, "configuration", "%zu server%s in %zu file%s%s%s%s%s",
                    servers, servers == 1 ? "" : "s", files, files == 1 ? "" : "s",
                    policy ? "; the policy is " : "", policy ? config.policy : "",
                    config.exclusive ? "; only the servers of this file are used: " : "",
                    config.exclusive ? d->cli->paths.managed : "");
    if (servers == 0 && !config.exclusive)
        cli_doctor_todo(d, "`mcplug add` adds a server, `mcplug import` imports those of "
                           "other programs.");
}

void cli_doctor_config(struct cli_doctor *d)
{
    struct mcplug_problem p = {.struct_size = sizeof p};
    struct mcplug_config_file f = {.struct_size = sizeof f};
    const char *policy_error = cli_config_info(d->config).policy_error;
    size_t first = d->n;

    if (d->loadable) {
        cli_entries_check(d->cli, NULL);
    } else if (mcplug_config_count(d->config)) {
        cli_doctor_note(d, CLI_DOUBTFUL, "configuration",
                        "the settings of servers were not checked: that loads the "
                        "modules, and one of them crashes");
        cli_doctor_todo(d, "Fix the modules first, as shown above.");
    }
    if (policy_error) {
        cli_doctor_note(d, CLI_WRONG, "configuration",
                        "the policy cannot be used, so no server is allowed: %s",
                        policy_error);
        cli_doctor_todo(d, "Ask the administrator to correct %s.", d->cli->paths.policy);
    }
    for (size_t i = 0; mcplug_config_problem_info(d->config, i, &p); i++)
        note_problem(d, &p, mcplug_config_problem(d->config, i));
    for (size_t i = 0; mcplug_config_file(d->config, i, &f); i++)
        note_writable(d, &f);
    for (size_t i = first; i < d->n; i++)
        if (strcmp(d->checks[i].about, "configuration") == 0)
            return; /* which is no longer in order as a whole */
    note_files(d);
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
static enum mcplug_entry_state note_state(struct cli_doctor *d, const mcplug_entry *entry,
                                          const char *about)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    enum mcplug_entry_state state = mcplug_entry_state(entry, &why);

    if (state == MCPLUG_ENTRY_NEEDS_APPROVAL) {
        cli_doctor_note(d, CLI_DOUBTFUL, about, "needs approval: %s", why.text);
        cli_doctor_todo(d, "Review and approve it with `mcplug approve %s`.",
                        mcplug_entry_name(entry));
    } else if (state == MCPLUG_ENTRY_BLOCKED &&
               !cli_config_info(d->config).policy_error) {
        cli_doctor_note(d, CLI_DOUBTFUL, about, "blocked: %s", why.text);
        cli_doctor_todo(d, "The administrator sets this in %s.", d->cli->paths.policy);
    }
    return state;
}

static void check_server(struct cli_doctor *d, const mcplug_entry *entry,
                         struct names *ready, struct names *disabled)
{
    struct mcplug_entry_info e = cli_entry_info(entry);
    bool named = d->cli->args.words.n > 0;
    size_t before = cli_doctor_troubles(d);
    char about[MCPLUG_NAME_MAX + 16];

    if (e.broken) /* which was told as a problem */
        return;
    snprintf(about, sizeof about, "server %.64s", e.name);
    enum mcplug_entry_state state = note_state(d, entry, about);
    bool off = state == MCPLUG_ENTRY_DISABLED;
    if (off && !named) {
        names_add(disabled, e.name);
        return; /* what nobody uses may be incomplete */
    }
    cli_doctor_entry(d, entry);
    if (cli_doctor_troubles(d) != before || state == MCPLUG_ENTRY_BLOCKED)
        return; /* told, for each or, when the policy is broken, for all */
    if (!named) {
        names_add(ready, e.name);
    } else {
        cli_doctor_note(d, CLI_HEALTHY, about, "%s%s%s, from %s:%zu",
                        off ? "disabled" : "usable", *e.type ? ", " : "", e.type, e.file,
                        e.line);
        if (off)
            cli_doctor_todo(d, "`mcplug enable %s` enables it.", e.name);
    }
}

/* ---- the same server twice ---- */

struct digest {
    const mcplug_entry *entry; /* NULL: not to be compared */
    char hex[65];
};

static void note_same(struct cli_doctor *d, const struct digest *list, size_t at)
{
    const char *name = list[at].entry ? mcplug_entry_name(list[at].entry) : NULL;
    char about[MCPLUG_NAME_MAX + 16];

    for (size_t i = 0; name && i < at; i++) {
        const mcplug_entry *other = list[i].entry;
        if (!other || strcmp(list[i].hex, list[at].hex) != 0 ||
            (!cli_doctor_wants(d, name) &&
             !cli_doctor_wants(d, mcplug_entry_name(other))))
            continue;
        snprintf(about, sizeof about, "server %.64s", name);
        cli_doctor_note(d, CLI_DOUBTFUL, about, "is identical to \"%s\" of %s",
                        mcplug_entry_name(other), cli_entry_info(other).file);
        cli_doctor_todo(d, "`mcplug remove %s` removes this one.", name);
        return; /* of many, each is told of once */
    }
}

static void check_doubles(struct cli_doctor *d)
{
    struct digest *list =
        mp_alloc((cli_config_info(d->config).entries + 1) * sizeof *list);
    const mcplug_entry *entry;

    for (size_t i = 0; list && (entry = mcplug_entry_at(d->config, i)); i++) {
        struct mcplug_entry_info e = cli_entry_info(entry);
        if (e.shadowed_by || mcplug_entry_state(entry, NULL) != MCPLUG_ENTRY_READY)
            continue;
        if (mcplug_entry_digest(entry, list[i].hex) == MCPLUG_OK)
            list[i].entry = entry;
        note_same(d, list, i);
    }
    if (!list)
        d->failed = true;
    mp_free(list);
}

void cli_doctor_servers(struct cli_doctor *d)
{
    struct names ready = {.n = 0}, disabled = {.n = 0};
    const mcplug_entry *entry;

    mp_str_init(&ready.text, 2048);
    mp_str_init(&disabled.text, 2048);
    for (size_t i = 0; (entry = mcplug_entry_at(d->config, i)); i++)
        if (!cli_entry_info(entry).shadowed_by &&
            cli_doctor_wants(d, mcplug_entry_name(entry)))
            check_server(d, entry, &ready, &disabled);
    check_doubles(d);
    names_note(d, &ready, "usable");
    names_note(d, &disabled, "disabled");
}
