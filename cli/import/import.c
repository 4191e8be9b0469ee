#include "cli/import/import.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/import/parts.h"
#include "cli/import/relax.h"
#include "cli/import/toml.h"
#include "config/file.h"
#include "config/jsontext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 32 /* files of one program */

const struct cli_importer cli_importers[] = {
    [CLI_CLAUDE_DESKTOP] = {"claude-desktop", "Claude Desktop"},
    [CLI_CLAUDE_CODE] = {"claude-code", "Claude Code"},
    [CLI_CURSOR] = {"cursor", "Cursor"},
    [CLI_VSCODE] = {"vscode", "VS Code"},
    [CLI_CODEX] = {"codex", "Codex"},
    [CLI_GEMINI] = {"gemini", "Gemini CLI"},
    [CLI_WINDSURF] = {"windsurf", "Windsurf"},
    [CLI_ZED] = {"zed", "Zed"},
    {NULL, NULL},
};

const struct cli_importer *cli_importer_find(const char *name)
{
    for (const struct cli_importer *i = cli_importers; i->name; i++)
        if (strcmp(i->name, name) == 0)
            return i;
    return NULL;
}

static void clear_imported(struct cli_imported *i)
{
    mp_free(i->name);
    mp_free(i->as);
    mp_free(i->entry);
    mp_free(i->note);
    mp_free(i->file);
    mp_free(i->project);
}

static void free_list(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mp_free(list[i]);
    mp_free(list);
}

void cli_import_clear(struct cli_import *import)
{
    for (size_t i = 0; i < import->n; i++)
        clear_imported(&import->list[i]);
    mp_free(import->list);
    free_list(import->skipped, import->n_skipped);
    free_list(import->files, import->n_files);
    memset(import, 0, sizeof *import);
}

/* take `text`; NULL stands for a failure before */
static int add_line(char ***list, size_t *n, char *text)
{
    char **more = text ? mp_resize(*list, (*n + 1) * sizeof *more) : NULL;
    if (!more) {
        mp_free(text);
        return MCPLUG_ENOMEM;
    }
    *list = more;
    more[(*n)++] = text;
    return MCPLUG_OK;
}

/* ---- names ---- */

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_';
}

/* What fits the rules stays, but for a dash at the beginning, which would look like an
 * option. All else becomes one dash. */
static void fit_name(const char *from, char out[CLI_IMPORT_NAME + 1])
{
    size_t n = 0;
    bool gap = false;

    for (; *from && n < CLI_IMPORT_NAME; from++) {
        if (!in_name(*from) || (*from == '-' && n == 0)) {
            gap = n > 0;
            continue;
        }
        if (gap && n + 1 < CLI_IMPORT_NAME && out[n - 1] != '-' && *from != '-')
            out[n++] = '-';
        gap = false;
        out[n++] = *from;
    }
    out[n] = '\0';
    if (n == 0)
        strcpy(out, "server");
}

/* Makes `name` one that is not there yet: NAME-2, NAME-3, .. */
static void make_unique(const struct cli_import *import, char name[CLI_IMPORT_NAME + 1])
{
    bool used[CLI_IMPORT_ENTRIES + 3] = {false};
    size_t len = strlen(name), number = 1;

    if (len > CLI_IMPORT_NAME - 5)
        len = CLI_IMPORT_NAME - 5; /* room for -1001 */
    for (size_t i = 0; i < import->n; i++) {
        const char *other = import->list[i].name;
        if (strcmp(other, name) == 0)
            used[1] = true;
        if (strncmp(other, name, len) != 0 || other[len] != '-')
            continue;
        char *end;
        unsigned long k = strtoul(other + len + 1, &end, 10);
        if (*end == '\0' && other[len + 1] != '0' && k < MP_COUNT(used) && k > 1)
            used[k] = true;
    }
    while (used[number])
        number++;
    if (number > 1)
        snprintf(name + len, CLI_IMPORT_NAME + 1 - len, "-%zu", number);
}

/* ---- entries ---- */

struct job {
    struct cli_import *out;
    struct mcplug_error *err;
};

static int add_skipped(struct job *job, const struct cli_import_source *source,
                       const char *name, const char *why)
{
    struct mp_str s;
    mp_str_init(&s, 1 << 16);
    mp_str_adds(&s, source->file);
    mp_str_adds(&s, ": ");
    mp_str_add_escaped(&s, name, strnlen(name, 200), false);
    mp_str_addf(&s, ": %s", why);
    if (add_line(&job->out->skipped, &job->out->n_skipped, mp_str_take(&s)))
        return mp_fail_nomem(job->err);
    return MCPLUG_OK;
}

/* take `entry` and `note` */
static int add_imported(struct job *job, const struct cli_import_source *source,
                        const char *as, char *entry, char *note)
{
    struct cli_import *out = job->out;
    char name[CLI_IMPORT_NAME + 1];
    struct cli_imported *list = mp_resize(out->list, (out->n + 1) * sizeof *list);

    if (!list) {
        mp_free(entry);
        mp_free(note);
        return mp_fail_nomem(job->err);
    }
    out->list = list;
    fit_name(as, name);
    make_unique(out, name);
    bool differs = strcmp(name, as) != 0;
    struct cli_imported i = {
        .name = mp_strdup(name),
        .as = differs ? mp_strdup(as) : NULL,
        .entry = entry,
        .note = note,
        .file = mp_strdup(source->file),
        .project = source->project ? mp_strdup(source->project) : NULL,
    };
    if (!i.name || (differs && !i.as) || !i.entry || !i.file ||
        (source->project && !i.project)) {
        clear_imported(&i);
        return mp_fail_nomem(job->err);
    }
    list[out->n++] = i;
    return MCPLUG_OK;
}

static int take_server(struct job *job, const struct cli_import_source *source,
                       const char *name, mp_view from)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct cli_import_notes notes;
    struct mp_str entry;

    cli_import_notes_init(&notes);
    mp_str_init(&entry, CLI_IMPORT_ENTRY);
    int r = cli_import_entry(source, name, from, &entry, &notes, &why);
    if (r == MCPLUG_OK)
        r = add_imported(job, source, name, mp_str_take(&entry),
                         cli_import_notes_take(&notes));
    else if (r == MCPLUG_ENOTSUP)
        r = add_skipped(job, source, name, why.text);
    else
        mp_error_copy(job->err, &why);
    cli_import_notes_clear(&notes);
    mp_str_clear(&entry);
    return r;
}

static int take_servers(void *arg, const struct cli_import_source *source,
                        const char *key, mp_view servers)
{
    struct job *job = arg;
    struct mp_walk w = mp_walk_into(servers);
    mp_view name, value;
    int r = MCPLUG_OK;

    if (!mp_view_is_object(servers))
        return add_skipped(job, source, key, "is not an object");
    while (!r && mp_walk_member(&w, &name, &value)) {
        if (job->out->n + job->out->n_skipped >= CLI_IMPORT_ENTRIES)
            return mp_fail(job->err, MCPLUG_ETOOBIG, "%.240s: more than %d servers",
                           source->file, CLI_IMPORT_ENTRIES);
        char *text = mp_view_strdup(name);
        r = text ? take_server(job, source, text, value) : mp_fail_nomem(job->err);
        mp_free(text);
    }
    return r;
}

/* ---- files ---- */

static bool is_blank(mp_view text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.data[i]) || !text.data[i])
            return false;
    return true;
}

/* Puts the text as JSON into `out`. */
static int to_json(enum cli_import_program program, mp_view text, struct mp_str *out,
                   struct mp_place *at, struct mcplug_error *err)
{
    if (program == CLI_CODEX)
        return cli_toml_to_json(text, out, at, err);
    if (is_blank(text)) /* as it is made before the first server is added */
        mp_str_adds(out, "{}");
    else
        mp_str_add(out, text.data, text.len);
    if (out->failed)
        return mp_fail_nomem(err);
    cli_import_relax(out->data, out->len);
    return mp_json_check(mp_bytes(out->data, out->len), at, err);
}

int cli_import_text(const struct cli_importer *from,
                    const struct cli_import_places *paths, const char *file,
                    const char *project, mp_view text, struct cli_import *out,
                    struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct cli_import_source source = {
        .program = (enum cli_import_program)(from - cli_importers),
        .paths = paths,
        .file = file,
        .project = project};
    struct job job = {.out = out, .err = err};
    struct mp_place at = {1, 1};
    struct mp_str json;

    mp_str_init(&json, 2 * CLI_IMPORT_MAX);
    int r = to_json(source.program, text, &json, &at, &why);
    if (r == MCPLUG_ENOMEM) {
        r = mp_fail_nomem(err);
    } else if (r) {
        r = mp_fail(err, r, "%.240s:%zu:%zu: %.200s", file, at.line, at.column, why.text);
    } else {
        size_t blank = strspn(json.data, " \t\r\n");
        source.root = mp_bytes(json.data + blank, json.len - blank);
        cli_import_open(&source);
        r = cli_import_each(&source, take_servers, &job);
        if (r == MCPLUG_ENOMEM)
            mp_fail_nomem(err);
    }
    if (json.data)
        explicit_bzero(json.data, json.len);
    mp_str_clear(&json);
    return r;
}

struct seen {
    dev_t dev;
    ino_t ino;
};

/* Reads one file; `seen` are those before, `*found` counts them. */
static int read_file(const struct cli_importer *from,
                     const struct cli_import_places *paths, const char *path,
                     const char *project, struct seen *seen, size_t *found,
                     struct cli_import *out, struct mcplug_error *err)
{
    struct mp_file file;
    bool again = false;

    int r = mp_file_read_up_to(path, CLI_IMPORT_MAX, &file, err);
    if (!r && file.exists) {
        for (size_t i = 0; i < *found; i++)
            again =
                again || (seen[i].dev == file.st.st_dev && seen[i].ino == file.st.st_ino);
        seen[*found] = (struct seen){file.st.st_dev, file.st.st_ino};
        ++*found;
    }
    if (!r && file.exists && !again) {
        r = add_line(&out->files, &out->n_files, mp_strdup(path));
        r = r ? mp_fail_nomem(err)
              : cli_import_text(from, paths, path, project,
                                mp_bytes(file.text.data, file.text.len), out, err);
    }
    mp_file_clear(&file);
    return r;
}

static int read_places(const struct cli_importer *from,
                       const struct cli_import_places *paths, struct cli_import *out,
                       struct mcplug_error *err)
{
    struct seen seen[PLACES_MAX];
    size_t found = 0;
    struct mp_str looked;
    int r = MCPLUG_OK;

    mp_str_init(&looked, 1 << 16);
    for (size_t i = 0; !r && i < PLACES_MAX; i++) {
        bool project = false;
        char *path = NULL;
        if (!cli_import_place((enum cli_import_program)(from - cli_importers), paths, i,
                              &path, &project))
            break;
        if (!path) {
            r = mp_fail_nomem(err);
        } else if (*path) {
            mp_str_addf(&looked, "%s%s", looked.len ? ", " : "", path);
            r = read_file(from, paths, path, project ? paths->cwd : NULL, seen, &found,
                          out, err);
        }
        mp_free(path);
    }
    if (!r && found == 0)
        r = mp_fail(err, MCPLUG_ENOTSUP, "no configuration of %s was found; looked at %s",
                    from->title, looked.data ? looked.data : "none");
    mp_str_clear(&looked);
    return r;
}

int cli_import_read(const struct cli_importer *from,
                    const struct cli_import_places *paths, const char *file,
                    struct cli_import *out, struct mcplug_error *err)
{
    struct seen seen[1];
    size_t found = 0;

    memset(out, 0, sizeof *out);
    if (!file)
        return read_places(from, paths, out, err);
    char *project = NULL;
    if (cli_import_project_of((enum cli_import_program)(from - cli_importers), paths,
                              file, &project))
        return mp_fail_nomem(err);
    int r = read_file(from, paths, file, project, seen, &found, out, err);
    if (!r && found == 0)
        r = mp_fail(err, MCPLUG_ENOTSUP, "%.400s: no such file", file);
    mp_free(project);
    return r;
}
