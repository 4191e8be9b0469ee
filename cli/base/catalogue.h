/* The catalogue for commands: what servers offered when they were asked last. Nothing
 * here starts one. */
#ifndef CLI_CATALOGUE_H
#define CLI_CATALOGUE_H

#include "base/buf.h"
#include "cli/base/listing.h"

#include <mcplug/admin.h>

/* What is known of one server. */
struct cli_known {
    const mcplug_entry *entry;
    const mcplug_known *known;
};

/* Its items; len 0: never asked for. Views live as long as `known`. */
mp_view cli_known_items(const mcplug_known *known, enum mcplug_kind kind);
struct mcplug_known_info cli_known_info(const mcplug_known *known, enum mcplug_kind kind);
/* An item's name, or its URI, after the kind. */
mp_view cli_item_name(mp_view item, enum mcplug_kind kind);

/* Calls `fn` for every server of the configuration that may be used and whose tools are
 * known, by name. The others that may be used are told of by cli_catalogue_unknown(). */
struct cli_catalogue {
    struct cli *cli;
    void (*fn)(void *arg, const struct cli_known *known);
    void *arg;
    size_t n_unknown;
    struct mp_str unknown; /* their names */
};
int cli_catalogue_walk(struct cli_catalogue *c); /* CLI_OK or the exit code */
/* Names them on stderr, or tells that there is no server at all, unless --json or --quiet
 * is given. CLI_OK, or CLI_BAD_CONFIG when no file with servers can be used. */
int cli_catalogue_unknown(const struct cli_catalogue *c);
void cli_catalogue_clear(struct cli_catalogue *c);

/* Every item of the listing's first kind, of every server. */
int cli_catalogue_run(struct cli *cli, const struct cli_listing *listing);

/* `{"server":..,"tool":{..},"asOf":..,"stale":..}`, `noun` being "tool". */
void cli_catalogue_json(struct cli_out *out, const char *server, const char *noun,
                        mp_view item, const struct mcplug_known_info *info);

#define CLI_AGE_SIZE 48
/* "5 minutes ago"; returns `room`. */
const char *cli_age(int64_t at, char room[CLI_AGE_SIZE]);
/* A dim line on stderr below what was printed: not with --json or --quiet. */
void cli_tell_aside(struct cli *cli, const char *line);
/* The same, only where people look at both. */
void cli_tell_dim(struct cli *cli, const char *line);
/* The same: so many tools are not allowed. As an aside when there are no others. */
void cli_tell_left_out(struct cli *cli, size_t left_out, bool others);

#endif
