/* What the parts of `mcplug doctor` share. Each looks at one side of the installation and
 * notes what it finds. Nothing is connected to, no server is started, and what may be a
 * secret is named, never shown. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/base/by_name.h"

#include <jansson.h>

enum cli_health {
    CLI_HEALTHY,
    CLI_DOUBTFUL, /* a warning: works, but perhaps not as it was meant */
    CLI_WRONG     /* does not work */
};

struct cli_check {
    enum cli_health health;
    char *about; /* "server git" */
    char *text;
    char *todo; /* NULL: nothing */
};

#define CLI_VERSIONS 16

struct cli_doctor {
    struct cli *cli;
    mcplug_config *config;
    json_t *modules;  /* as cli_modules_find() has them; NULL: it could not */
    json_t *packages; /* as cli_packages() has them */
    bool loadable;    /* no module takes the process with it that loads it */
    struct cli_version {
        char name[24], value[128];
    } versions[CLI_VERSIONS];
    size_t n_versions;
    struct cli_check *checks;
    size_t n;
    size_t counts[3]; /* by health */
    bool failed;      /* no memory for a check */
};

void cli_doctor_note(struct cli_doctor *d, enum cli_health health, const char *about,
                     const char *fmt, ...) MCPLUG_PRINTF(4, 5);
/* What to do about the check that was noted last. */
void cli_doctor_todo(struct cli_doctor *d, const char *fmt, ...) MCPLUG_PRINTF(2, 3);
/* Checks so far that are not healthy: a part that adds none may sum up. */
size_t cli_doctor_troubles(const struct cli_doctor *d);
/* Is this server to be looked at? The names on the command line, or all. */
bool cli_doctor_wants(const struct cli_doctor *d, const char *server);

/* ---- parts.c: what is installed ---- */

/* Before all others, notes nothing: they ask which modules there are. */
void cli_doctor_gather(struct cli_doctor *d);
void cli_doctor_versions(struct cli_doctor *d);
void cli_doctor_modules(struct cli_doctor *d);
void cli_doctor_helper(struct cli_doctor *d);
/* What a module that works offers: by its name, or by a URL scheme that it accepts.
 * borrow; NULL: nobody does. */
const json_t *cli_doctor_feature(const struct cli_doctor *d, const char *kind,
                                 const char *name, const char *scheme);

/* ---- places.c: directories, variables ---- */

void cli_doctor_places(struct cli_doctor *d);
void cli_doctor_environment(struct cli_doctor *d);

/* ---- config.c: files and entries ---- */

void cli_doctor_config(struct cli_doctor *d);
void cli_doctor_servers(struct cli_doctor *d);

/* ---- entry.c: one entry that is not broken ---- */

void cli_doctor_entry(struct cli_doctor *d, const mcplug_entry *entry);

/* ---- secrets.c: what it asks for, and what it should have asked for ---- */

/* Notes variables that are not set, files that can't be read, .. `dir` is what its
 * relative paths are relative to. */
void cli_doctor_references(struct cli_doctor *d, const struct mcplug_entry_info *entry,
                           const char *dir);
/* Notes secrets that stand in a file which others can read. */
void cli_doctor_literals(struct cli_doctor *d, const struct mcplug_entry_info *entry);
/* give: mcplug_text_free. The text with its variables put in; NULL: it is no string, one
 * is not set, or there are secrets in it. Never for showing. */
char *cli_doctor_expand(mp_view text);

/* ---- command.c: programs ---- */

/* Notes what would keep `command` from running: `path` as PATH is for it (NULL: not set),
 * `dir` where it runs. `shown` and `file` name the command and its file for people. */
struct cli_program {
    const char *about, *shown, *file;
    const char *command, *path, *dir;
};
void cli_doctor_program(struct cli_doctor *d, const struct cli_program *p);

/* Could we write into `dir`, made with at most `levels` directories above it that are
 * missing? 0, or an errno; `at` gets the nearest one that is there, or where it failed.
 * give `at`; NULL: no memory. */
int cli_try_dir(const char *dir, unsigned levels, char **at);

#endif
