/* plugins/html/html.h - HTML as text, by gumbo.
 *
 *   html.c     what the core sees: the converter
 *   charset.c  the input as UTF-8
 *   parse.c    its tree, within bounds that gumbo does not have
 *   walk.c     what each element becomes
 *   table.c    tables as rows of cells
 *   flow.c     words, lines and their prefixes
 *
 * Nothing here recurses, so nesting costs memory alone, and that is bounded.
 */
#ifndef MCPLUG_HTML_HTML_H
#define MCPLUG_HTML_HTML_H

#include "../common/plain.h"

#include <gumbo.h>
#include <mcplug/plugin.h>
#include <stdbool.h>

#define HTML_INPUT_MAX "16M"              /* the fallback of the setting maxInput */
#define HTML_INPUT_BYTES (16 << 20)       /* the same */
#define HTML_TREE_MAX ((size_t)512 << 20) /* bytes that gumbo may use at a time */
#define HTML_WORK_MAX 1000000000u         /* see html_parse() */
enum {
    HTML_LEVELS_MAX = 12,      /* prefixes of a line; deeper lists and quotes have none */
    HTML_MARKS_MAX = 16,       /* elements begun, of which nothing is written yet */
    HTML_CELLS_MAX = 64 << 20, /* bytes that are kept about cells of a table */
    HTML_COLUMNS_MAX = 64,     /* of a table that is shown as one */
    HTML_ALIGNED_MAX = 100,    /* width of a table whose columns are aligned */
    HTML_URL_MAX = 2048,       /* bytes; of longer links only the text is shown */
    HTML_SNIFF_MAX = 4096,     /* bytes in which the charset is looked for */
    HTML_CHOICES_MAX = 20      /* options of a form field that are listed */
};

/* ---- charset.c ---- */

/* Descriptors of iconv() that keep its modules loaded, for after init() no file can be
 * opened. */
struct html_charsets;

struct html_charsets *html_charsets_new(const struct mcplug_mem *mem);
void html_charsets_free(const struct mcplug_mem *mem, struct html_charsets *c);
/* Appends `in` as valid UTF-8 to `out`; what is invalid becomes U+FFFD. The charset is
 * that of a byte order mark, of `mime`, or of what the document declares; else it is
 * UTF-8 if that is valid, and windows-1252, as in browsers. */
void html_decode(const char *mime, struct mcplug_bytes in, struct plain_text *out);

/* ---- parse.c ---- */

struct html_tree {
    const struct html_host *host;
    struct html_block *blocks; /* what gumbo has allocated, */
    size_t used;               /* .. and its bytes */
    const GumboNode *root;     /* the element html */
};

struct html_host {
    const struct mcplug_host *host;
    const struct mcplug_task *task;
};

/* Parses UTF-8, which is changed where needed and must outlive the tree. `tree` must be
 * cleared whatever is returned. MCPLUG_ETOOBIG: it needs more than HTML_TREE_MAX, or its
 * elements are so deep, or their attributes so many, that gumbo would take more than
 * HTML_WORK_MAX steps: at each tag its time grows with the depth; MCPLUG_ENOMEM,
 * MCPLUG_ECANCELED. */
int html_parse(struct html_tree *tree, const struct html_host *host,
               struct plain_text *input, struct mcplug_error *err);
void html_tree_clear(struct html_tree *tree);

/* ---- flow.c ---- */

/* Writes words as lines. Spaces and line ends are written only when a word follows, so
 * that none is left over. */
struct html_flow {
    struct plain_text out;
    bool inline_only; /* a cell of a table: line ends become spaces */
    bool line_open;   /* the current line has words */
    unsigned breaks;  /* line ends before the next word; 2: an empty line too */
    unsigned spaces;  /* before the next word, if the line is open */
    unsigned n_levels;
    struct html_level {
        char first[16]; /* begins the first line, such as `- ` .. */
        char rest[16];  /* .. and the others */
        bool used;
    } levels[HTML_LEVELS_MAX];
    unsigned n_marks;
    uint64_t marks_made, marks_written;
    const char *marks[HTML_MARKS_MAX]; /* to be written before the next word */
    size_t last_mark;                  /* where in `out` the last one ends */
};

void html_flow_text(struct html_flow *f, const char *text, bool preformatted);
void html_flow_word(struct html_flow *f, const char *text, size_t len); /* as it is */
void html_flow_break(struct html_flow *f, unsigned lines);
void html_flow_space(struct html_flow *f);
bool html_flow_push(struct html_flow *f, const char *first, const char *rest);
void html_flow_pop(struct html_flow *f);
/* Writes `mark`, which must be static, once there is a word to follow. Returns what to
 * pass to html_flow_close(), which is true if it was written. */
uint64_t html_flow_open(struct html_flow *f, const char *mark);
bool html_flow_close(struct html_flow *f, uint64_t mark);
/* Directly behind the last word. */
void html_flow_append(struct html_flow *f, const char *text, size_t len);

/* ---- table.c ---- */

struct html_table {
    struct plain_text text;  /* of all cells */
    struct plain_text cells; /* of struct cell */
    size_t n_rows;
    bool headed;                      /* the first row has only headings */
    unsigned column;                  /* of the next cell */
    unsigned below[HTML_COLUMNS_MAX]; /* rows that cells from above still reach */
    unsigned widths[HTML_COLUMNS_MAX];
    unsigned n_columns;
};

/* The tables of a document in its order, and which are there for data and not for the
 * layout: these have two rows and columns at least, and nothing in a cell that takes
 * lines of its own, such as a table. */
struct html_tables {
    struct plain_text found; /* of struct html_found */
    size_t next;
};
struct html_found {
    const GumboNode *node;
    size_t rows, columns, last; /* last: cells of the last row */
    bool layout;
};

void html_tables_find(struct html_tables *t, const GumboNode *root);
/* Is this one for data? Tables must be asked for in the order of the document. */
bool html_tables_is_data(struct html_tables *t, const GumboNode *table);

void html_table_row(struct html_table *t);
void html_table_cell(struct html_table *t, const GumboNode *node, const char *text,
                     size_t len);
void html_table_write(struct html_table *t, struct html_flow *to); /* and clears */
void html_table_clear(struct html_table *t);

/* ---- walk.c ---- */

const GumboVector *html_children(const GumboNode *node);             /* never NULL */
const char *html_attribute(const GumboNode *node, const char *name); /* NULL: none */
long html_number(const GumboNode *node, const char *name, long otherwise, long least,
                 long most);
/* Appends the text of the document to `out`; `title` gets the words of its title, as far
 * as they fit. MCPLUG_ECANCELED, MCPLUG_ENOMEM. */
int html_walk(const struct html_tree *tree, struct plain_text *out, char *title,
              size_t title_size, struct mcplug_error *err);

#endif
