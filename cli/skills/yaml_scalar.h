/* Scalars of a YAML text. Private to cli/skills/yaml*.c. */
#ifndef CLI_SKILLS_YAML_SCALAR_H
#define CLI_SKILLS_YAML_SCALAR_H

#include "base/buf.h"
#include "cli/skills/yaml.h"

struct cli_yaml_reader {
    const char *text; /* UTF-8; lines end with \n, the last one too */
    size_t len, at;
    size_t line, line_at; /* of `at`: its number, from 1, and where it begins */
    long right_of;        /* the column that lines of a flow collection begin behind, */
    unsigned n_open;      /* and how many of those are open */
    size_t n_values;
    struct mcplug_error *err;
};

/* The byte at `offset` from here; a newline behind the end. */
static inline char cli_yaml_peek(const struct cli_yaml_reader *r, size_t offset)
{
    return offset < r->len - r->at ? r->text[r->at + offset] : '\n';
}

static inline bool cli_yaml_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A blank, or the end of the line. */
static inline bool cli_yaml_is_gap(char c)
{
    return cli_yaml_is_blank(c) || c == '\n';
}

static inline long cli_yaml_column(const struct cli_yaml_reader *r)
{
    return (long)(r->at - r->line_at);
}

static inline void cli_yaml_skip_blanks(struct cli_yaml_reader *r)
{
    while (r->at < r->len && cli_yaml_is_blank(r->text[r->at]))
        r->at++;
}

/* Passes the newline that is here. */
static inline void cli_yaml_newline(struct cli_yaml_reader *r)
{
    r->at++;
    r->line++;
    r->line_at = r->at;
}

/* Does a comment begin here? */
bool cli_yaml_is_comment(const struct cli_yaml_reader *r);
/* At the beginning of a line: `---` or `...`, which end a document? */
bool cli_yaml_is_marker(const struct cli_yaml_reader *r);

/* Fills the error, with the line; returns MCPLUG_EPROTO. */
int cli_yaml_fail(struct cli_yaml_reader *r, const char *fmt, ...) MCPLUG_PRINTF(2, 3);

/* Passes what may be left of a line, and empty lines and comments behind it, up to the
 * next value or the end. MCPLUG_EPROTO: there is something else. */
int cli_yaml_next(struct cli_yaml_reader *r);

/* Each reads the scalar that is here and adds what it says. `parent` is the column of the
 * collection that it belongs to, which its further lines must be right of. The reader is
 * left behind a quoted one or one in a flow collection, and else at the next value. */
int cli_yaml_quoted(struct cli_yaml_reader *r, long parent, struct mp_str *out);
int cli_yaml_plain(struct cli_yaml_reader *r, long parent, struct mp_str *out);
int cli_yaml_plain_in_flow(struct cli_yaml_reader *r, struct mp_str *out);
int cli_yaml_block(struct cli_yaml_reader *r, long parent, struct mp_str *out);

/* give `out`: what a plain scalar means in the core schema. */
int cli_yaml_resolve(struct cli_yaml_reader *r, const struct mp_str *text, json_t **out);

#endif
