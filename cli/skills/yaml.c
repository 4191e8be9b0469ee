#include "cli/skills/yaml.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/skills/yaml_scalar.h"

#define DEPTH_MAX 32
#define VALUES_MAX 10000
#define KEY_MAX 1024

static int read_node(struct cli_yaml_reader *r, long parent, unsigned depth,
                     json_t **out);
static int read_flow(struct cli_yaml_reader *r, unsigned depth, json_t **out);

static bool is_end(const struct cli_yaml_reader *r)
{
    return r->at >= r->len;
}

/* One more value, at that depth? */
static int count(struct cli_yaml_reader *r, unsigned depth)
{
    if (depth > DEPTH_MAX)
        return mp_fail(r->err, MCPLUG_ETOOBIG, "line %zu: more than %d levels", r->line,
                       DEPTH_MAX);
    if (++r->n_values > VALUES_MAX)
        return mp_fail(r->err, MCPLUG_ETOOBIG, "line %zu: more than %d values", r->line,
                       VALUES_MAX);
    return MCPLUG_OK;
}

/* give `out` */
static int to_string(struct cli_yaml_reader *r, const struct mp_str *text, json_t **out)
{
    *out = text->failed ? NULL : json_stringn(text->data ? text->data : "", text->len);
    return *out ? MCPLUG_OK : mp_fail_nomem(r->err);
}

/* May the mapping have that key? */
static int check_name(struct cli_yaml_reader *r, const json_t *object,
                      const struct mp_str *key)
{
    const char *name = key->data ? key->data : "";

    if (key->failed)
        return mp_fail_nomem(r->err);
    if (strcmp(name, "<<") == 0)
        return cli_yaml_fail(r, "merge keys are not supported");
    if (json_object_get(object, name))
        return cli_yaml_fail(r, "the key \"%.60s\" is given twice", name);
    return MCPLUG_OK;
}

/* take `value` */
static int set_member(struct cli_yaml_reader *r, json_t *object, const struct mp_str *key,
                      json_t *value)
{
    return json_object_set_new(object, key->data ? key->data : "", value) == 0
               ? MCPLUG_OK
               : mp_fail_nomem(r->err);
}

/* A plain key must be a string: what others become as a name depends on the reader. */
static int check_key(struct cli_yaml_reader *r, const struct mp_str *key)
{
    json_t *value = NULL;
    int e = key->failed ? mp_fail_nomem(r->err) : cli_yaml_resolve(r, key, &value);

    if (e == MCPLUG_OK && !json_is_string(value))
        e = cli_yaml_fail(r, "the key \"%.60s\" is no string; quote it",
                          key->data ? key->data : "");
    json_decref(value);
    return e;
}

/* ---- flow collections ---- */

/* The end of the outermost flow collection may be below its key, at the top. */
static bool is_last_bracket(const struct cli_yaml_reader *r)
{
    return r->n_open == 1 && r->right_of == 0 && strchr("]}", cli_yaml_peek(r, 0));
}

/* White space, comments and line ends. */
static int skip_flow(struct cli_yaml_reader *r)
{
    for (;;) {
        cli_yaml_skip_blanks(r);
        if (cli_yaml_is_comment(r))
            r->at += strcspn(r->text + r->at, "\n");
        if (is_end(r))
            return cli_yaml_fail(r, "a collection in brackets does not end");
        if (r->text[r->at] != '\n')
            return MCPLUG_OK;
        cli_yaml_newline(r);
        while (cli_yaml_peek(r, 0) == ' ')
            r->at++;
        long column = cli_yaml_column(r);
        cli_yaml_skip_blanks(r);
        if (column <= r->right_of && cli_yaml_peek(r, 0) != '\n' &&
            !cli_yaml_is_comment(r) && !is_last_bracket(r))
            return cli_yaml_fail(r, "a collection in brackets is not indented");
    }
}

static int read_flow_scalar(struct cli_yaml_reader *r, json_t **out)
{
    char c = cli_yaml_peek(r, 0);
    struct mp_str text;

    mp_str_init(&text, CLI_YAML_MAX);
    int e = c == '"' || c == '\'' ? cli_yaml_quoted(r, r->right_of, &text)
                                  : cli_yaml_plain_in_flow(r, &text);
    if (e == MCPLUG_OK)
        e = c == '"' || c == '\'' ? to_string(r, &text, out)
                                  : cli_yaml_resolve(r, &text, out);
    mp_str_clear(&text);
    return e;
}

static int read_flow_value(struct cli_yaml_reader *r, unsigned depth, json_t **out)
{
    char c = cli_yaml_peek(r, 0);
    int e = count(r, depth);

    if (e != MCPLUG_OK)
        return e;
    return c == '[' || c == '{' ? read_flow(r, depth, out) : read_flow_scalar(r, out);
}

static int read_flow_element(struct cli_yaml_reader *r, unsigned depth, json_t *array)
{
    json_t *value = NULL;
    int e = read_flow_value(r, depth + 1, &value);

    if (e == MCPLUG_OK && json_array_append_new(array, value) != 0)
        e = mp_fail_nomem(r->err);
    return e;
}

/* `key: value`, `key:` or `key`. */
static int read_flow_member(struct cli_yaml_reader *r, unsigned depth, json_t *object)
{
    char c = cli_yaml_peek(r, 0);
    json_t *value = NULL;
    struct mp_str key;

    mp_str_init(&key, CLI_YAML_MAX);
    bool is_plain = c != '"' && c != '\'';
    int e = is_plain ? cli_yaml_plain_in_flow(r, &key)
                     : cli_yaml_quoted(r, r->right_of, &key);
    if (e == MCPLUG_OK && is_plain)
        e = check_key(r, &key);
    if (e == MCPLUG_OK)
        e = check_name(r, object, &key);
    if (e == MCPLUG_OK)
        e = skip_flow(r);
    if (e == MCPLUG_OK && r->text[r->at] == ':') {
        r->at++;
        e = skip_flow(r);
        if (e == MCPLUG_OK && !strchr(",}", r->text[r->at]))
            e = read_flow_value(r, depth + 1, &value);
    }
    if (e == MCPLUG_OK)
        e = set_member(r, object, &key, value ? value : json_null());
    mp_str_clear(&key);
    return e;
}

static int read_flow(struct cli_yaml_reader *r, unsigned depth, json_t **out)
{
    bool is_map = r->text[r->at++] == '{';
    json_t *whole = is_map ? json_object() : json_array();

    r->n_open++;
    int e = whole ? skip_flow(r) : mp_fail_nomem(r->err);

    while (e == MCPLUG_OK && r->text[r->at] != (is_map ? '}' : ']')) {
        e = is_map ? read_flow_member(r, depth, whole)
                   : read_flow_element(r, depth, whole);
        if (e == MCPLUG_OK)
            e = skip_flow(r);
        if (e != MCPLUG_OK || r->text[r->at] == (is_map ? '}' : ']'))
            break;
        if (r->text[r->at] != ',') {
            e = cli_yaml_fail(r, "expected a comma or %c", is_map ? '}' : ']');
            break;
        }
        r->at++;
        e = skip_flow(r);
    }
    r->n_open--;
    if (e == MCPLUG_OK) {
        r->at++;
        *out = whole;
    } else {
        json_decref(whole);
    }
    return e;
}

/* ---- block collections ---- */

static bool is_dash(const struct cli_yaml_reader *r)
{
    return cli_yaml_peek(r, 0) == '-' && cli_yaml_is_gap(cli_yaml_peek(r, 1));
}

/* How long the quoted text is that begins at `p` and ends before `end`; 0: it does not.
 */
static size_t quoted_len(const char *p, const char *end)
{
    const char quote = *p;

    for (const char *q = p + 1; q < end; q++) {
        if (*q == '\\' && quote == '"')
            q++;
        else if (*q == quote && quote == '\'' && q + 1 < end && q[1] == quote)
            q++;
        else if (*q == quote)
            return (size_t)(q + 1 - p);
    }
    return 0;
}

/* How long the text is before the colon of a key that begins here; 0: there is none. */
static size_t key_len(const struct cli_yaml_reader *r)
{
    const char *p = r->text + r->at, *end = p + strcspn(p, "\n");
    size_t n = 0;

    if (*p == '"' || *p == '\'') {
        n = quoted_len(p, end);
        size_t gap = n;
        while (gap && cli_yaml_is_blank(p[gap]))
            gap++;
        return gap && p[gap] == ':' && cli_yaml_is_gap(p[gap + 1]) ? gap : 0;
    }
    if (strchr("[{|>&*!%@`#,]}", *p))
        return 0;
    for (; p + n < end; n++) {
        if (p[n] == ':' && cli_yaml_is_gap(p[n + 1]))
            return n;
        if (p[n] == '#' && n && cli_yaml_is_blank(p[n - 1]))
            return 0;
    }
    return 0;
}

/* The key that is here, and its colon. */
static int read_key(struct cli_yaml_reader *r, struct mp_str *key)
{
    size_t n = is_dash(r) ? 0 : key_len(r);
    const char *p = r->text + r->at;
    int e = MCPLUG_OK;

    if (!n)
        return cli_yaml_fail(r, "expected a key and a colon");
    if (n > KEY_MAX)
        return mp_fail(r->err, MCPLUG_ETOOBIG, "line %zu: a key of more than %d bytes",
                       r->line, KEY_MAX);
    if (*p == '?' && cli_yaml_is_gap(p[1]))
        return cli_yaml_fail(r, "explicit keys are not supported");
    if (*p == '"' || *p == '\'') {
        e = cli_yaml_quoted(r, -1, key);
        cli_yaml_skip_blanks(r);
    } else {
        r->at += n;
        while (cli_yaml_is_blank(p[n - 1]))
            n--;
        mp_str_add(key, p, n);
        e = check_key(r, key);
    }
    r->at++;
    return e;
}

/* What is behind the colon of a key of that column. */
static int read_value(struct cli_yaml_reader *r, long column, unsigned depth,
                      json_t **out)
{
    cli_yaml_skip_blanks(r);
    if (cli_yaml_peek(r, 0) != '\n' && !cli_yaml_is_comment(r)) {
        if (is_dash(r) ||
            (cli_yaml_peek(r, 0) != '[' && cli_yaml_peek(r, 0) != '{' && key_len(r)))
            return cli_yaml_fail(r, "a collection begins behind a key; quote the text");
        return read_node(r, column, depth + 1, out);
    }
    int e = cli_yaml_next(r);
    if (e != MCPLUG_OK)
        return e;
    if (!is_end(r) &&
        (cli_yaml_column(r) > column || (cli_yaml_column(r) == column && is_dash(r))))
        return read_node(r, cli_yaml_column(r) > column ? column : column - 1, depth + 1,
                         out);
    *out = json_null();
    return count(r, depth + 1);
}

static int read_member(struct cli_yaml_reader *r, long column, unsigned depth,
                       json_t *object)
{
    json_t *value = NULL;
    struct mp_str key;

    mp_str_init(&key, CLI_YAML_MAX);
    int e = read_key(r, &key);
    if (e == MCPLUG_OK)
        e = check_name(r, object, &key);
    if (e == MCPLUG_OK)
        e = read_value(r, column, depth, &value);
    if (e == MCPLUG_OK)
        e = set_member(r, object, &key, value);
    mp_str_clear(&key);
    return e;
}

static int read_element(struct cli_yaml_reader *r, long column, unsigned depth,
                        json_t *array)
{
    json_t *value = NULL;
    int e = MCPLUG_OK;

    r->at++;
    while (cli_yaml_peek(r, 0) == ' ')
        r->at++;
    if (cli_yaml_peek(r, 0) == '\t')
        return cli_yaml_fail(r, "a tab behind a dash");
    if (cli_yaml_peek(r, 0) == '\n' || cli_yaml_is_comment(r))
        e = cli_yaml_next(r);
    if (e == MCPLUG_OK && (is_end(r) || cli_yaml_column(r) <= column))
        value = json_null();
    else if (e == MCPLUG_OK)
        e = read_node(r, column, depth + 1, &value);
    if (e == MCPLUG_OK && json_array_append_new(array, value) != 0)
        e = mp_fail_nomem(r->err);
    return e;
}

/* The members or elements that begin in the column where this one does. */
static int read_block(struct cli_yaml_reader *r, unsigned depth, bool is_map,
                      json_t **out)
{
    long column = cli_yaml_column(r);
    json_t *whole = is_map ? json_object() : json_array();
    int e = whole ? MCPLUG_OK : mp_fail_nomem(r->err);

    while (e == MCPLUG_OK) {
        e = is_map ? read_member(r, column, depth, whole)
                   : read_element(r, column, depth, whole);
        if (e != MCPLUG_OK || is_end(r) || cli_yaml_column(r) < column)
            break;
        if (cli_yaml_column(r) > column)
            e = cli_yaml_fail(r, "the indentation fits nothing above");
        else if (!is_map && !is_dash(r))
            break;
    }
    if (e == MCPLUG_OK)
        *out = whole;
    else
        json_decref(whole);
    return e;
}

static int read_scalar(struct cli_yaml_reader *r, long parent, json_t **out)
{
    char c = cli_yaml_peek(r, 0);
    bool is_plain = !strchr("|>\"'", c);
    struct mp_str text;

    mp_str_init(&text, CLI_YAML_MAX);
    int e = c == '|' || c == '>'    ? cli_yaml_block(r, parent, &text)
            : c == '"' || c == '\'' ? cli_yaml_quoted(r, parent, &text)
                                    : cli_yaml_plain(r, parent, &text);
    if (e == MCPLUG_OK && (c == '"' || c == '\''))
        e = cli_yaml_next(r);
    if (e == MCPLUG_OK)
        e = is_plain && !text.failed ? cli_yaml_resolve(r, &text, out)
                                     : to_string(r, &text, out);
    mp_str_clear(&text);
    return e;
}

/* The value that begins here, right of the column of its parent. */
static int read_node(struct cli_yaml_reader *r, long parent, unsigned depth, json_t **out)
{
    char c = cli_yaml_peek(r, 0);
    int e = count(r, depth);

    if (e != MCPLUG_OK)
        return e;
    if (is_dash(r))
        return read_block(r, depth, false, out);
    if (c == '[' || c == '{') {
        r->right_of = parent;
        e = read_flow(r, depth, out);
        if (e == MCPLUG_OK && (e = cli_yaml_next(r)) != MCPLUG_OK) {
            json_decref(*out);
            *out = NULL;
        }
        return e;
    }
    return key_len(r) ? read_block(r, depth, true, out) : read_scalar(r, parent, out);
}

/* ---- the text ---- */

/* Line ends of Windows become newlines; what YAML does not have, or has as a line end in
 * its version 1.1 alone, is refused. */
static int clean(struct mcplug_bytes text, struct mp_str *out, struct mcplug_error *err)
{
    size_t line = 1;

    for (size_t i = 0, n; i < text.len; i += n) {
        n = mp_utf8_len(text.data + i, text.len - i);
        if (!n)
            return mp_fail(err, MCPLUG_EPROTO, "line %zu: not UTF-8", line);
        uint32_t c = mp_utf8_get(text.data + i, n);
        if (c == '\r' && i + 1 < text.len && text.data[i + 1] == '\n')
            continue;
        if ((c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c <= 0x9f) ||
            c == 0x2028 || c == 0x2029 || c == 0xfeff || (c & 0xfffe) == 0xfffe)
            return mp_fail(err, MCPLUG_EPROTO, "line %zu: the character U+%04X", line,
                           (unsigned)c);
        line += c == '\n';
        mp_str_add(out, text.data + i, n);
    }
    if (out->len && out->data[out->len - 1] != '\n')
        mp_str_addc(out, '\n');
    return out->failed ? mp_fail_nomem(err) : MCPLUG_OK;
}

json_t *cli_yaml_mapping(struct mcplug_bytes text, struct mcplug_error *err)
{
    struct cli_yaml_reader r = {.line = 1, .err = err};
    json_t *tree = NULL;
    struct mp_str lines;
    int e;

    mp_str_init(&lines, CLI_YAML_MAX + 2);
    if (text.len > CLI_YAML_MAX)
        e = mp_fail(err, MCPLUG_ETOOBIG, "more than %zu bytes", CLI_YAML_MAX);
    else
        e = clean(text, &lines, err);
    r.text = lines.data ? lines.data : "";
    r.len = lines.len;
    if (e == MCPLUG_OK)
        e = cli_yaml_next(&r);
    if (e == MCPLUG_OK && (is_end(&r) || is_dash(&r) || !key_len(&r)))
        e = cli_yaml_fail(&r, "expected a key and a colon");
    if (e == MCPLUG_OK)
        e = read_node(&r, -1, 0, &tree);
    if (e == MCPLUG_OK && !is_end(&r)) {
        cli_yaml_fail(&r, "the indentation fits nothing above");
        json_decref(tree);
        tree = NULL;
    }
    mp_str_clear(&lines);
    return tree;
}
