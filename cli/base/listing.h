/* What the commands that list things have in common. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "cli/base/cli.h"
#include "cli/base/doc.h"

#include <mcplug/mcplug.h>

struct cli_listing {
    enum mcplug_kind kinds[2]; /* the second may be 0, and may be unknown to a server */
    const char *noun;          /* "tool" */
    void (*brief)(struct cli_out *out, mp_view item); /* a few lines */
    void (*full)(struct cli_out *out, mp_view item);  /* all there is */
    /* Instead of both: what there is, or what the first word names. Returns the exit
     * code. NULL: they are shown. */
    int (*take)(struct cli *cli, void *arg, const char *server, const mp_view *items,
                size_t n);
    void *arg;
};

/* Lists everything, or shows in full what the first word names: from the catalogue while
 * that is fresh, else from the server. */
int cli_listing_run(struct cli *cli, const struct cli_listing *listing);
/* --refresh */
extern const struct cli_option cli_listing_options[];

/* ---- parts of the layout ---- */

/* "text:string [style:string]", after a tool's inputSchema. */
void cli_schema_summary(mp_view schema, struct mp_str *out);
/* The first line of a description, dim and indented; nothing when there is none. */
void cli_put_brief(struct cli_out *out, mp_view description);
/* Name in bold, title, description. */
void cli_put_head(struct cli_out *out, mp_view name, mp_view item);
/* A caption and the value laid out below; nothing when there is none. */
void cli_put_value(struct cli_out *out, const char *caption, mp_view value);
/* The same on one line, a string as it is. */
void cli_put_line(struct cli_out *out, const char *caption, mp_view value);

#endif
