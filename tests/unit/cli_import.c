#include "cli/import/import.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/import/parts.h"
#include "config/file.h"
#include "config/jsontext.h"
#include "suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- fixtures: tests/config/import/NN-PROGRAM-what ---- */

#define FIXTURES_MAX 200

struct fixtures {
    char dir[4096];
    char *names[FIXTURES_MAX];
    size_t n;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_fixtures(struct fixtures *f)
{
    const char *src = getenv("MCPLUG_SRC");
    snprintf(f->dir, sizeof f->dir, "%s/tests/config/import", src ? src : ".");
    DIR *dir = opendir(f->dir);
    f->n = 0;
    for (struct dirent *e; dir && (e = readdir(dir)) && f->n < FIXTURES_MAX;)
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
            f->names[f->n++] = strdup(e->d_name);
    if (dir)
        closedir(dir);
    qsort(f->names, f->n, sizeof f->names[0], compare_names);
}

static const struct cli_importer *program_of(const char *fixture)
{
    for (const struct cli_importer *i = cli_importers; i->name; i++) {
        size_t n = strlen(i->name);
        if (strncmp(fixture + 3, i->name, n) == 0 && fixture[3 + n] == '-')
            return i;
    }
    ck_abort_msg("%s is of no program", fixture);
    return NULL;
}

static void add_member(struct mp_str *s, const char *key, const char *json, bool text)
{
    if (s->data[s->len - 1] != '{')
        mp_str_addc(s, ',');
    mp_str_add_json(s, key, strlen(key));
    mp_str_addc(s, ':');
    if (text)
        mp_str_add_json(s, json, strlen(json));
    else
        mp_str_adds(s, json);
}

/* A member of all imported ones that have such a text. */
static void add_texts(struct mp_str *s, const char *key, const struct cli_import *import,
                      size_t offset, bool always)
{
    size_t before = s->len;
    bool any = always;

    mp_str_addf(s, ",\"%s\":{", key);
    for (size_t i = 0; i < import->n; i++) {
        char *const *text =
            (char *const *)(const void *)((const char *)&import->list[i] + offset);
        if (*text)
            add_member(s, import->list[i].name, *text, true);
        any = any || *text;
    }
    mp_str_addc(s, '}');
    if (!any)
        s->len = before;
}

/* What came of it, as expected.json has it. */
static void describe(const struct cli_import *import, struct mp_str *s)
{
    mp_str_adds(s, "{\"servers\":{");
    for (size_t i = 0; i < import->n; i++)
        add_member(s, import->list[i].name, import->list[i].entry, false);
    mp_str_adds(s, "}");
    add_texts(s, "notes", import, offsetof(struct cli_imported, note), true);
    mp_str_adds(s, ",\"skipped\":[");
    for (size_t i = 0; i < import->n_skipped; i++) {
        if (i > 0)
            mp_str_addc(s, ',');
        mp_str_add_json(s, import->skipped[i], strlen(import->skipped[i]));
    }
    mp_str_adds(s, "]");
    add_texts(s, "as", import, offsetof(struct cli_imported, as), false);
    add_texts(s, "projects", import, offsetof(struct cli_imported, project), false);
    mp_str_adds(s, "}");
}

/* Adds `text` with the directory `dir` called `name`. */
static void replace(struct mp_str *out, const char *text, const char *dir,
                    const char *name)
{
    for (const char *p; (p = strstr(text, dir)); text = p + strlen(dir)) {
        mp_str_add(out, text, (size_t)(p - text));
        mp_str_adds(out, name);
    }
    mp_str_adds(out, text);
}

static void canonical(const char *what, const char *json, size_t len, struct mp_str *out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_place at;
    int e = mp_json_check(mp_bytes(json, len), &at, &err);
    ck_assert_msg(e == MCPLUG_OK, "%s:%zu:%zu: %s\n%s", what, at.line, at.column,
                  err.text, json);
    ck_assert(mp_json_canonical(mp_bytes(json, len), out));
}

/* Runs the import that a fixture is of. */
static void run(const char *dir, const char *fixture, struct mp_str *out)
{
    char home[4400], project[4400];
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_import_places paths = {home, NULL, project, false};
    struct cli_import import;
    struct mp_str raw, half;

    snprintf(home, sizeof home, "%s/%s/home", dir, fixture);
    snprintf(project, sizeof project, "%s/%s/project", dir, fixture);
    mp_str_init(&raw, 1 << 20);
    mp_str_init(&half, 1 << 20);
    if (cli_import_read(program_of(fixture), &paths, NULL, &import, &err)) {
        const char *place = strstr(err.text, ": "); /* the words are others' matter */
        mp_str_adds(&raw, "{\"error\":");
        mp_str_add_json(&raw, err.text, place ? (size_t)(place - err.text) : 0);
        mp_str_adds(&raw, "}");
    } else {
        describe(&import, &raw);
    }
    cli_import_clear(&import);
    replace(&half, raw.data, home, "HOME");
    mp_str_reset(&raw);
    replace(&raw, half.data, project, "PROJECT");
    canonical(fixture, raw.data, raw.len, out);
    mp_str_clear(&raw);
    mp_str_clear(&half);
}

START_TEST(every_fixture_comes_out_as_expected)
{
    struct fixtures f;
    find_fixtures(&f);
    ck_assert_uint_ge(f.n, 32);
    for (size_t i = 0; i < f.n; i++) {
        struct mp_str is, wanted;
        struct mp_file file;
        char path[4600];

        mp_str_init(&is, 1 << 20);
        mp_str_init(&wanted, 1 << 20);
        run(f.dir, f.names[i], &is);
        snprintf(path, sizeof path, "%s/%s/expected.json", f.dir, f.names[i]);
        ck_assert_int_eq(mp_file_read(path, &file, NULL), MCPLUG_OK);
        ck_assert_msg(file.exists, "%s is missing", path);
        canonical(path, file.text.data, file.text.len, &wanted);
        ck_assert_msg(strcmp(is.data, wanted.data) == 0, "%s\nis     %s\nwanted %s",
                      f.names[i], is.data, wanted.data);
        mp_file_clear(&file);
        mp_str_clear(&is);
        mp_str_clear(&wanted);
        free(f.names[i]);
    }
}
END_TEST

START_TEST(every_program_has_fixtures)
{
    struct fixtures f;
    size_t counts[8] = {0};
    find_fixtures(&f);
    for (size_t i = 0; i < f.n; i++) {
        counts[program_of(f.names[i]) - cli_importers]++;
        free(f.names[i]);
    }
    for (size_t i = 0; i < 8; i++)
        ck_assert_msg(counts[i] >= 3, "%s has %zu", cli_importers[i].name, counts[i]);
}
END_TEST

/* ---- programs ---- */

START_TEST(programs_are_found_by_name)
{
    static const char *const names[] = {"claude-desktop", "claude-code", "cursor",
                                        "vscode",         "codex",       "gemini",
                                        "windsurf",       "zed"};
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        ck_assert_ptr_eq(cli_importer_find(names[i]), &cli_importers[i]);
        ck_assert_str_eq(cli_importers[i].name, names[i]);
        ck_assert(cli_importers[i].title[0]);
    }
    ck_assert_ptr_null(cli_importers[MP_COUNT(names)].name);
    ck_assert_ptr_null(cli_importer_find("emacs"));
    ck_assert_ptr_null(cli_importer_find(""));
}
END_TEST

/* ---- files ---- */

struct tree {
    char top[64];
    char home[100], cwd[100];
    struct cli_import_places paths;
};

static void tree_init(struct tree *t)
{
    memset(t, 0, sizeof *t);
    strcpy(t->top, "/tmp/mcplug-import-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(t->top));
    snprintf(t->home, sizeof t->home, "%s/home", t->top);
    snprintf(t->cwd, sizeof t->cwd, "%s/cwd", t->top);
    ck_assert_int_eq(mkdir(t->home, 0700), 0);
    ck_assert_int_eq(mkdir(t->cwd, 0700), 0);
    t->paths = (struct cli_import_places){t->home, NULL, t->cwd, false};
}

static void tree_clear(struct tree *t)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", t->top);
    ck_assert_int_eq(system(command), 0);
}

/* Writes a file with one server of that name below `t->top`. */
static void put(const struct tree *t, const char *path, const char *text)
{
    char whole[400];
    snprintf(whole, sizeof whole, "%s/%s", t->top, path);
    for (char *p = whole + strlen(t->top) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(whole, 0700);
        *p = '/';
    }
    FILE *f = fopen(whole, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

#define ONE(name) "{\"mcpServers\":{\"" name "\":{\"command\":\"a\"}}}"

static int read_all(const struct tree *t, const char *program, const char *file,
                    struct cli_import *import, struct mcplug_error *err)
{
    return cli_import_read(cli_importer_find(program), &t->paths, file, import, err);
}

START_TEST(without_files_the_places_are_named)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_import import;
    struct tree t;
    char wanted[400];

    tree_init(&t);
    ck_assert_int_eq(read_all(&t, "cursor", NULL, &import, &err), MCPLUG_ENOTSUP);
    snprintf(wanted, sizeof wanted,
             "no configuration of Cursor was found; looked at %s/.cursor/mcp.json, "
             "%s/.cursor/mcp.json",
             t.home, t.cwd);
    ck_assert_str_eq(err.text, wanted);
    cli_import_clear(&import);
    ck_assert_int_eq(read_all(&t, "cursor", "/nowhere/mcp.json", &import, &err),
                     MCPLUG_ENOTSUP);
    ck_assert_str_eq(err.text, "/nowhere/mcp.json: no such file");
    cli_import_clear(&import);

    t.paths = (struct cli_import_places){NULL, NULL, NULL, false};
    ck_assert_int_eq(read_all(&t, "cursor", NULL, &import, &err), MCPLUG_ENOTSUP);
    cli_import_clear(&import);
    tree_clear(&t);
}
END_TEST

START_TEST(xdg_config_home_is_looked_at_instead)
{
    struct cli_import import;
    char xdg[100];
    struct tree t;

    tree_init(&t);
    snprintf(xdg, sizeof xdg, "%s/xdg", t.top);
    put(&t, "xdg/Claude/claude_desktop_config.json", ONE("there"));
    put(&t, "home/.config/Claude/claude_desktop_config.json", ONE("here"));
    ck_assert_int_eq(read_all(&t, "claude-desktop", NULL, &import, NULL), MCPLUG_OK);
    ck_assert_str_eq(import.list[0].name, "here");
    cli_import_clear(&import);
    t.paths.xdg = xdg;
    ck_assert_int_eq(read_all(&t, "claude-desktop", NULL, &import, NULL), MCPLUG_OK);
    ck_assert_uint_eq(import.n, 1);
    ck_assert_str_eq(import.list[0].name, "there");
    cli_import_clear(&import);
    tree_clear(&t);
}
END_TEST

START_TEST(one_file_in_two_places_is_read_once)
{
    struct cli_import import;
    struct tree t;

    tree_init(&t);
    put(&t, "home/.gemini/settings.json", ONE("a"));
    t.paths.cwd = t.home;
    ck_assert_int_eq(read_all(&t, "gemini", NULL, &import, NULL), MCPLUG_OK);
    ck_assert_uint_eq(import.n, 1);
    ck_assert_uint_eq(import.n_files, 1);
    ck_assert_ptr_null(import.list[0].project);
    cli_import_clear(&import);
    tree_clear(&t);
}
END_TEST

START_TEST(a_file_that_is_named_is_read_alone)
{
    struct cli_import import;
    char file[400], other[100];
    struct tree t;

    tree_init(&t);
    put(&t, "home/.cursor/mcp.json", ONE("home"));
    put(&t, "cwd/.cursor/mcp.json", ONE("cwd"));
    put(&t, "other/.cursor/mcp.json", ONE("other"));
    put(&t, "other/some.json", ONE("some"));

    snprintf(other, sizeof other, "%s/other", t.top);
    snprintf(file, sizeof file, "%s/.cursor/mcp.json", other);
    ck_assert_int_eq(read_all(&t, "cursor", file, &import, NULL), MCPLUG_OK);
    ck_assert_uint_eq(import.n, 1);
    ck_assert_str_eq(import.list[0].name, "other");
    ck_assert_str_eq(import.list[0].project, other);
    ck_assert_str_eq(import.list[0].file, file);
    ck_assert_str_eq(import.files[0], file);
    cli_import_clear(&import);

    snprintf(file, sizeof file, "%s/some.json", other);
    ck_assert_int_eq(read_all(&t, "cursor", file, &import, NULL), MCPLUG_OK);
    ck_assert_str_eq(import.list[0].name, "some");
    ck_assert_ptr_null(import.list[0].project);
    cli_import_clear(&import);

    snprintf(file, sizeof file, "%s/.cursor/mcp.json", t.home);
    ck_assert_int_eq(read_all(&t, "cursor", file, &import, NULL), MCPLUG_OK);
    ck_assert_str_eq(import.list[0].name, "home");
    ck_assert_ptr_null(import.list[0].project);
    cli_import_clear(&import);
    tree_clear(&t);
}
END_TEST

static const struct cli_import_places here = {"/home/u", NULL, "/work/app", false};

START_TEST(the_project_of_a_file_is_seen_from_its_path)
{
    static const char *const cases[][2] = {{".cursor/mcp.json", "/work/app"},
                                           {"./.cursor/mcp.json", "/work/app"},
                                           {"sub/.cursor/mcp.json", "/work/app/sub"},
                                           {"/a/b/.cursor/mcp.json", "/a/b"},
                                           {"/a//.cursor/mcp.json", "/a"},
                                           {"/.cursor/mcp.json", "/"},
                                           {"/home/u/.cursor/mcp.json", NULL},
                                           {"/home/u//.cursor/mcp.json", NULL},
                                           {"/a/x.cursor/mcp.json", NULL},
                                           {"/a/mcp.json", NULL},
                                           {"", NULL}};
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        char *dir;
        ck_assert_int_eq(cli_import_project_of(CLI_CURSOR, &here, cases[i][0], &dir),
                         MCPLUG_OK);
        if (cases[i][1]) {
            ck_assert_ptr_nonnull(dir);
            ck_assert_str_eq(dir, cases[i][1]);
        } else {
            ck_assert_ptr_null(dir);
        }
        mp_free(dir);
    }
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_an_error_with_its_place)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_import import;
    char wanted[400];
    struct tree t;

    tree_init(&t);
    put(&t, "home/.codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\ncommand = 1");
    ck_assert_int_eq(read_all(&t, "codex", NULL, &import, &err), MCPLUG_ECONFIG);
    snprintf(wanted, sizeof wanted,
             "%s/.codex/config.toml:3:1: \"command\" is given twice", t.home);
    ck_assert_str_eq(err.text, wanted);
    cli_import_clear(&import);

    put(&t, "home/.cursor/mcp.json/x", "");
    ck_assert_int_ne(read_all(&t, "cursor", NULL, &import, &err), MCPLUG_OK);
    snprintf(wanted, sizeof wanted, "%s/.cursor/mcp.json", t.home);
    ck_assert_msg(strncmp(err.text, wanted, strlen(wanted)) == 0, "%s", err.text);
    cli_import_clear(&import);
    tree_clear(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_import");
    TCase *t = NULL;

    t = tcase_create("fixtures");
    tcase_add_test(t, every_fixture_comes_out_as_expected);
    tcase_add_test(t, every_program_has_fixtures);
    tcase_add_test(t, programs_are_found_by_name);
    suite_add_tcase(suite, t);
    t = tcase_create("files");
    tcase_add_test(t, without_files_the_places_are_named);
    tcase_add_test(t, xdg_config_home_is_looked_at_instead);
    tcase_add_test(t, one_file_in_two_places_is_read_once);
    tcase_add_test(t, a_file_that_is_named_is_read_alone);
    tcase_add_test(t, the_project_of_a_file_is_seen_from_its_path);
    tcase_add_test(t, a_file_that_cannot_be_read_is_an_error_with_its_place);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
