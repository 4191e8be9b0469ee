/* Rows of a result as a table: an array of objects, each a row, with a column for every
 * name in them. Aligned and cut to its width on a terminal; elsewhere values with tabs
 * between, in which \t, \n, \r and \\ stand for what they do in C. The rows are read
 * twice, and never kept. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/base/doc.h"
#include "cli/base/save.h"

#define CLI_TABLE_COLUMNS 256 /* at most */

struct cli_table {
    struct cli_doc doc;
    mp_view rows;       /* in `doc` */
    struct mp_str text; /* what `doc` is of when it was the text of a block */
};

/* The rows in `structured`, which may be missing: it is such an array, or an object with
 * exactly one; else in the first text of `blocks` that has them, which may also be a
 * string. MCPLUG_EINVAL: there are none, and what there is. Clear `t` in either case. */
int cli_table_find(struct cli_table *t, const struct cli_doc *doc, mp_view structured,
                   mp_view blocks, struct mcplug_error *err);
void cli_table_clear(struct cli_table *t);

/* `*n_hidden` are columns that a terminal has no room for. MCPLUG_OK; MCPLUG_EIO; or
 * MCPLUG_ETOOBIG, there are too many columns, and MCPLUG_ENOMEM, and nothing was written.
 */
int cli_table_put(const struct cli_table *t, struct cli_out *out, size_t *n_hidden);

/* --table: prints or saves the table of a result, or reports that there is none; and
 * finishes. */
void cli_table_result(struct cli_oneshot *link, struct cli_save *save,
                      const struct cli_doc *doc, mp_view structured, mp_view blocks);

#define CLI_TABLE_OPTION                                                                 \
    {                                                                                    \
        "table", 0, CLI_FLAG, NULL,                                                      \
            "print an array of objects as a table; with tabs between values if it is "   \
            "not for a terminal",                                                        \
            .at = offsetof(struct cli_args, table)                                       \
    }

#endif
