/* Texts of an entry: variables into our form, and what is said about it. */
#include "cli/import/parts.h"

#include "base/mem.h"
#include "base/text.h"
#include "config/expand.h"

#include <stdarg.h>
#include <stdio.h>

#define NOTES_MAX 4096 /* no line begins behind that */
#define SHOWN 80       /* of a text that a note repeats */
#define DEFAULT_MAX 1024

/* Before a brace: the text "${". */
#define DOLLAR "$$"

/* ---- notes ---- */

void cli_import_notes_init(struct cli_import_notes *notes)
{
    mp_str_init(&notes->lines, 8 * NOTES_MAX);
    mp_str_init(&notes->left_out, 8 * NOTES_MAX);
}

void cli_import_notes_clear(struct cli_import_notes *notes)
{
    mp_str_clear(&notes->lines);
    mp_str_clear(&notes->left_out);
}

static bool has_line(const struct mp_str *lines, const char *line, size_t len)
{
    const char *p = lines->data;
    while (p && *p) {
        size_t n = strcspn(p, "\n");
        if (n == len && memcmp(p, line, n) == 0)
            return true;
        p += n + (p[n] == '\n');
    }
    return false;
}

void cli_import_note(struct cli_import_notes *notes, const char *fmt, ...)
{
    char text[1024];
    struct mp_str line;
    va_list ap;

    if (notes->lines.len >= NOTES_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mp_str_init(&line, 8 * sizeof text);
    mp_str_add_escaped(&line, text, strlen(text), false);
    if (line.data && !has_line(&notes->lines, line.data, line.len)) {
        if (notes->lines.len)
            mp_str_addc(&notes->lines, '\n');
        mp_str_add(&notes->lines, line.data, line.len);
    }
    mp_str_clear(&line);
}

void cli_import_left_out(struct cli_import_notes *notes, const char *of, const char *key)
{
    struct mp_str *s = &notes->left_out;
    if (s->len >= NOTES_MAX)
        return;
    if (s->len)
        mp_str_adds(s, ", ");
    if (of)
        mp_str_addf(s, "%s.", of);
    mp_str_add_escaped(s, key, strnlen(key, SHOWN), false);
}

char *cli_import_notes_take(struct cli_import_notes *notes)
{
    if (notes->left_out.len) {
        if (notes->lines.len)
            mp_str_addc(&notes->lines, '\n');
        mp_str_addf(&notes->lines, "skipped: %s", notes->left_out.data);
    }
    return notes->lines.len ? mp_str_take(&notes->lines) : NULL;
}

/* ---- variables ---- */

struct translation {
    const struct cli_import_source *source;
    struct cli_import_notes *notes;
    bool in_url;
    bool broken; /* a reference inside a default has no form here */
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

static size_t name_len(const char *p, size_t len)
{
    size_t n = 0;
    while (n < len && in_name(p[n]))
        n++;
    return n;
}

static bool is(const char *p, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(p, word, len) == 0;
}

/* An editor, with the variables that editors know. */
static bool is_editor(const struct translation *t)
{
    enum cli_import_program program = t->source->program;
    return program == CLI_VSCODE || program == CLI_CURSOR || program == CLI_WINDSURF;
}

static void add_variable(struct mp_str *out, const char *name, size_t len)
{
    mp_str_addf(out, "${%.*s}", (int)len, name);
}

/* A variable that stands for what only that program can ask for: "github-token" is
 * GITHUB_TOKEN. One that every process has would be found set, so it gets a prefix. */
static void make_variable(char out[SHOWN], const char *prefix, const char *id, size_t len)
{
    static const char *const taken[] = {"PATH",  "HOME",   "USER",   "LOGNAME",
                                        "SHELL", "PWD",    "OLDPWD", "TERM",
                                        "LANG",  "TMPDIR", "HOST",   "HOSTNAME"};
    int n = snprintf(out, SHOWN, "%s%.*s", prefix, (int)(len < 60 ? len : 60), id);

    for (int i = 0; i < n; i++) {
        if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
        else if (!in_name(out[i]))
            out[i] = '_';
    }
    bool clash = !is_letter(out[0]);
    for (size_t i = 0; i < MP_COUNT(taken); i++)
        clash = clash || strcmp(out, taken[i]) == 0;
    if (clash && !*prefix)
        make_variable(out, "INPUT_", id, len);
}

static void add_input(struct translation *t, const char *id, size_t len,
                      struct mp_str *out)
{
    char name[SHOWN], *key = mp_strndup(id, len);
    char *description = key ? cli_import_input(t->source, key) : NULL;

    make_variable(name, "", id, len);
    add_variable(out, name, strlen(name));
    if (description && *description)
        cli_import_note(t->notes, "set %s: %.400s", name, description);
    else
        cli_import_note(t->notes, "set %s: what was asked for as %.*s", name,
                        (int)(len < SHOWN ? len : SHOWN), id);
    mp_free(description);
    mp_free(key);
}

/* ${config:..} and ${command:..}, whose values only the editor knows. */
static void add_asked(struct translation *t, const char *kind, const char *id, size_t len,
                      struct mp_str *out)
{
    char name[SHOWN];
    make_variable(name, strcmp(kind, "config") == 0 ? "CONFIG_" : "COMMAND_", id, len);
    add_variable(out, name, strlen(name));
    cli_import_note(t->notes, "set %s: what ${%s:%.*s} stands for there", name, kind,
                    (int)(len < SHOWN ? len : SHOWN), id);
}

/* The directory of the project, or its last part. */
static void add_folder(struct translation *t, bool base, struct mp_str *out)
{
    const char *dir = t->source->project ? t->source->project : t->source->paths->cwd;
    const char *part = dir;

    if (!dir || strpbrk(dir, "{}")) { /* would not be text in every place */
        mp_str_adds(out, base ? "${workspaceFolderBasename}" : "${workspaceFolder}");
        cli_import_note(t->notes, "set %s: the %s of the project",
                        base ? "workspaceFolderBasename" : "workspaceFolder",
                        base ? "name" : "directory");
        return;
    }
    if (base && strrchr(dir, '/'))
        part = strrchr(dir, '/') + 1;
    mp_str_adds(out, part);
    if (!t->source->project)
        cli_import_note(t->notes, "the directory of the project became %.400s", part);
}

/* ${NAME} of an editor; false: it is an ordinary variable. */
static bool add_editor_variable(struct translation *t, const char *name, size_t len,
                                struct mp_str *out)
{
    if (!is_editor(t))
        return false;
    if (is(name, len, "workspaceFolder") || is(name, len, "workspaceRoot") ||
        is(name, len, "cwd"))
        add_folder(t, false, out);
    else if (is(name, len, "workspaceFolderBasename") ||
             is(name, len, "workspaceRootFolderName"))
        add_folder(t, true, out);
    else if (is(name, len, "userHome"))
        mp_str_adds(out, "${HOME}");
    else if (is(name, len, "pathSeparator") || is(name, len, "/"))
        mp_str_addc(out, '/');
    else
        return false;
    return true;
}

/* ${KIND:NAME}; false: it has no meaning there. */
static bool add_kind(struct translation *t, const char *kind, size_t kind_len,
                     const char *name, size_t len, struct mp_str *out)
{
    if (is(kind, kind_len, "env") && len > 0 && name_len(name, len) == len)
        add_variable(out, name, len);
    else if (is(kind, kind_len, "input") && len > 0)
        add_input(t, name, len, out);
    else if (is(kind, kind_len, "file") && t->source->program == CLI_WINDSURF && len > 0)
        mp_str_addf(out, "${file:%.*s}", (int)len, name);
    else if (is(kind, kind_len, "config") && is_editor(t))
        add_asked(t, "config", name, len, out);
    else if (is(kind, kind_len, "command") && is_editor(t))
        add_asked(t, "command", name, len, out);
    else if (is(kind, kind_len, "workspaceFolder") && is_editor(t))
        add_folder(t, false, out);
    else
        return false;
    return true;
}

/* A variable that the server gets from the entry itself: a program that leaves ${..}
 * alone leaves it to the server to put it in. */
static bool is_servers_own(const struct translation *t, const char *name, size_t len)
{
    enum cli_import_program program = t->source->program;
    char text[SHOWN];

    if (program == CLI_CLAUDE_CODE || program == CLI_GEMINI || len >= sizeof text)
        return false;
    memcpy(text, name, len);
    text[len] = '\0';
    return mp_view_get(t->source->env, text).len > 0;
}

/* The length up to the brace that closes a default, which may have others inside. */
static size_t default_len(const char *p, size_t len)
{
    unsigned open = 1;
    for (size_t i = 0; i < len && i < DEFAULT_MAX; i++) {
        if (p[i] == '$' && i + 1 < len && p[i + 1] == '{')
            open++;
        else if (p[i] == '}' && --open == 0)
            return i;
    }
    return len;
}

static void translate(struct translation *t, const char *p, size_t len, unsigned depth,
                      struct mp_str *out);

/* The reference whose "${" is at `p`; returns its length, 0: it is none. */
static size_t translate_reference(struct translation *t, const char *p, size_t len,
                                  unsigned depth, struct mp_str *out)
{
    const char *name = p + 2;
    const char *close = memchr(p, '}', len < MP_EXPAND_NAME ? len : MP_EXPAND_NAME);
    if (!close)
        return 0;
    size_t n = name_len(name, (size_t)(close - name)), all = (size_t)(close - p) + 1;

    if (name + n == close && n > 0) {
        if (is_servers_own(t, name, n))
            return 0;
        if (!add_editor_variable(t, name, n, out))
            add_variable(out, name, n);
        return all;
    }
    if (is(name, (size_t)(close - name), "/"))
        return add_editor_variable(t, name, 1, out) ? all : 0;
    if (n > 0 && name[n] == ':' && name[n + 1] != '-')
        return add_kind(t, name, n, name + n + 1, (size_t)(close - name) - n - 1, out)
                   ? all
                   : 0;
    if (n == 0 || name[n] != ':' || depth + 1 >= MP_EXPAND_DEPTH)
        return 0;
    const char *text = name + n + 2;
    size_t text_len = default_len(text, len - (size_t)(text - p)), before = out->len;
    if (text_len == len - (size_t)(text - p))
        return 0;
    mp_str_addf(out, "${%.*s:-", (int)n, name);
    translate(t, text, text_len, depth + 1, out);
    mp_str_addc(out, '}');
    if (t->broken && !out->failed) {
        out->len = before;
        return 0;
    }
    return (size_t)(text - p) + text_len + 1;
}

/* $NAME and %NAME%, as Gemini has them; returns the length, 0: it is none. Bytes that a
 * URL has escaped look like the latter. */
static size_t translate_bare(struct translation *t, const char *p, size_t len,
                             struct mp_str *out)
{
    size_t n = name_len(p + 1, len - 1);
    bool percent = *p == '%';

    if (t->source->program != CLI_GEMINI || n == 0 || n >= MP_EXPAND_NAME ||
        !is_letter(p[1]))
        return 0;
    if (percent && (t->in_url || n < 3 || n + 1 == len || p[n + 1] != '%'))
        return 0;
    add_variable(out, p + 1, n);
    return 1 + n + percent;
}

static void keep_as_text(struct translation *t, const char *p, size_t len, unsigned depth,
                         struct mp_str *out)
{
    const char *close = memchr(p, '}', len < SHOWN ? len : SHOWN);
    size_t n = close ? (size_t)(close - p) + 1 : len;

    if (depth > 0) {
        t->broken = true;
        return;
    }
    t->broken = false;
    mp_str_adds(out, DOLLAR);
    cli_import_note(t->notes, "%.*s%s is kept as text", (int)(n < SHOWN ? n : SHOWN), p,
                    n <= SHOWN ? "" : "..");
}

static void translate(struct translation *t, const char *p, size_t len, unsigned depth,
                      struct mp_str *out)
{
    while (len > 0 && !t->broken) {
        size_t n = 0;
        if (*p == '$' && len > 1 && p[1] == '{') {
            n = translate_reference(t, p, len, depth, out);
            if (n == 0) {
                keep_as_text(t, p, len, depth, out);
                n = 1;
            }
        } else if (*p == '$' || *p == '%') {
            n = translate_bare(t, p, len, out);
        }
        if (n == 0) {
            mp_str_addc(out, *p);
            n = 1;
        }
        p += n;
        len -= n;
    }
}

void cli_import_translate(const struct cli_import_source *source, const char *text,
                          bool in_url, struct cli_import_notes *notes, struct mp_str *out)
{
    struct translation t = {.source = source, .notes = notes, .in_url = in_url};
    translate(&t, text, strlen(text), 0, out);
}
