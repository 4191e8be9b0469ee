/* Asking whether a project's server may run. */
#include "base/mem.h"
#include "cli/base/by_name.h"
#include "cli/base/consent.h"
#include "plugins/common/url.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES_MAX 1000              /* of one side of a diff */
#define NAMES_MAX ((size_t)4 << 20) /* bytes of what an entry asks for */

/* ---- diff ---- */

struct lines {
    char *text; /* with NULs for newlines */
    const char *at[LINES_MAX];
    size_t n;
};

static bool lines_of(mp_view json, struct lines *out)
{
    memset(out, 0, sizeof *out);
    out->text = cli_consent_form(json);
    char *rest = out->text, *line;
    while (rest && out->n < LINES_MAX && (line = strsep(&rest, "\n")))
        out->at[out->n++] = line;
    return out->text && !rest;
}

static void put_line(struct cli_consent *c, const char *mark, const char *line)
{
    cli_consent_line(c, mark, line, strlen(line));
}

/* The longest common part, from the ends: lengths[i][j] for what is behind i and j. */
static void walk_diff(struct cli_consent *c, const struct lines *a, const struct lines *b,
                      const unsigned short *lengths)
{
    size_t i = 0, j = 0, row = b->n + 1;
    while (i < a->n || j < b->n) {
        if (i < a->n && j < b->n && strcmp(a->at[i], b->at[j]) == 0) {
            put_line(c, CLI_FILES "  ", a->at[i]);
            i++, j++;
        } else if (j == b->n ||
                   (i < a->n && lengths[(i + 1) * row + j] >= lengths[i * row + j + 1])) {
            put_line(c, CLI_FILES "- ", a->at[i++]);
        } else {
            put_line(c, CLI_FILES "+ ", b->at[j++]);
        }
    }
}

static unsigned short *common_lengths(const struct lines *a, const struct lines *b)
{
    size_t row = b->n + 1;
    unsigned short *lengths = mp_alloc((a->n + 1) * row * sizeof *lengths);
    for (size_t i = a->n; lengths && i-- > 0;) {
        for (size_t j = b->n; j-- > 0;) {
            unsigned short down = lengths[(i + 1) * row + j];
            unsigned short right = lengths[i * row + j + 1];
            if (strcmp(a->at[i], b->at[j]) == 0)
                lengths[i * row + j] =
                    (unsigned short)(lengths[(i + 1) * row + j + 1] + 1);
            else
                lengths[i * row + j] = down > right ? down : right;
        }
    }
    return lengths;
}

/* Line by line: "- " gone, "+ " new, "  " as before. false: it is too long, and nothing
 * was put. */
static bool put_diff(struct cli_consent *c, mp_view was, mp_view now)
{
    struct lines *a = mp_alloc(2 * sizeof *a);
    unsigned short *lengths = NULL;
    if (a && lines_of(was, &a[0]) && lines_of(now, &a[1]))
        lengths = common_lengths(&a[0], &a[1]);
    if (lengths)
        walk_diff(c, &a[0], &a[1], lengths);
    if (a) {
        mcplug_text_free(a[0].text);
        mcplug_text_free(a[1].text);
    }
    mp_free(a);
    bool put = lengths != NULL;
    mp_free(lengths);
    return put;
}

/* ---- what it asks for ---- */

/* What goes to an address goes to its host, which is what a person knows. Where that is
 * is not known before variables are put in, it is the address. */
static void put_receiver(struct cli_consent *c, mp_view json)
{
    char *text = mp_view_strdup(mp_view_get(json, "url"));
    struct url url;

    if (cli_consent_is_program(json)) {
        cli_out_s(&c->out, "They are given to the program.\n");
    } else if (text && !url_parse(text, &url)) {
        cli_out_s(&c->out, "They are sent to this host:\n");
        put_line(c, CLI_FILES, url.host);
    } else {
        cli_out_s(&c->out, "They are sent to the address above.\n");
    }
    mp_free(text);
}

static void put_names(struct cli_consent *c, const mcplug_entry *entry)
{
    mp_view json = cli_entry_json(entry), name;
    struct mp_str names;
    bool any = false;

    mp_str_init(&names, NAMES_MAX);
    cli_entry_names(entry, &names);
    struct mp_walk w = mp_walk_into(mp_bytes(names.data, names.len));
    while (mp_walk_element(&w, &name)) {
        char *text = mp_view_strdup(name);
        if (!any)
            cli_out_s(&c->out, "It will receive these variables and secrets, which are "
                               "read from your environment, files or keyring:\n");
        any = true;
        put_line(c, CLI_FILES, text ? text : "");
        c->is_cut = c->is_cut || !text;
        mp_free(text);
    }
    c->is_cut = c->is_cut || names.failed;
    mp_str_clear(&names);
    if (any)
        put_receiver(c, json);
}

/* The tools that a model may call without asking, which is easily overlooked. */
static void put_approved(struct cli_consent *c, mp_view json)
{
    struct mp_walk w = mp_walk_into(mp_view_get(json, "toolsApproved"));
    mp_view pattern;
    bool any = false;

    while (mp_walk_element(&w, &pattern)) {
        char *text = mp_view_strdup(pattern);
        if (!any)
            cli_out_s(&c->out,
                      "A model may call these tools of it without asking you:\n");
        any = true;
        put_line(c, CLI_FILES, text ? text : "");
        c->is_cut = c->is_cut || !text;
        mp_free(text);
    }
}

/* ---- where it stands ---- */

static bool others_write(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 &&
           (st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid != getegid()));
}

static void put_place(struct cli_consent *c, const struct mcplug_entry_info *e)
{
    const char *file = e->real ? e->real : e->file, *slash = strrchr(file, '/');
    char *dir = slash ? mp_strndup(file, (size_t)(slash - file)) : NULL;

    put_line(c, CLI_FILES, e->file);
    if (e->real && strcmp(e->real, e->file) != 0) {
        cli_out_s(&c->out, "That leads through a link to this file:\n");
        put_line(c, CLI_FILES, e->real);
    }
    if (others_write(file) || (dir && *dir && others_write(dir)))
        cli_out_s(&c->out, "Other users can change that file or its directory.\n");
    mp_free(dir);
}

/* Whose place it takes, which a person may mean by the name. */
static void put_replaced(struct cli_consent *c, const struct cli *cli,
                         const mcplug_entry *entry)
{
    const mcplug_entry *other;

    for (size_t i = 0; (other = mcplug_entry_at(cli->config, i)); i++) {
        struct mcplug_entry_info e = cli_entry_info(other);
        if (e.shadowed_by != entry)
            continue;
        cli_out_s(&c->out, "It replaces the server of the same name in this file:\n");
        put_line(c, CLI_FILES, e.file);
    }
}

/* ---- the question ---- */

bool cli_approve_ask(const struct cli *cli, const mcplug_entry *entry)
{
    struct mcplug_entry_info e = cli_entry_info(entry);
    mp_view json = mp_bytes(e.json, e.json_len);
    bool changed = e.approval == MCPLUG_APPROVAL_CHANGED, compared;
    struct cli_consent *c = cli_consent_possible() ? cli_consent_new() : NULL;

    if (!c)
        return false;
    cli_out_s(&c->out, "mcplug needs your permission to use the server \"");
    cli_out_shown(&c->out, e.name, strlen(e.name));
    cli_out_s(&c->out, "\".\nIt may have come with the project, in this file:\n");
    put_place(c, &e);
    put_replaced(c, cli, entry);
    cli_out_s(&c->out, "\n");
    compared = changed && put_diff(c, mp_bytes(e.approved, e.approved_len), json);
    if (!compared)
        cli_consent_entry(c, json);
    cli_out_s(&c->out, "\n");
    if (compared)
        cli_out_s(&c->out, "It has changed since you approved it: lines with - were "
                           "removed, lines with + were added.\n");
    else if (changed)
        cli_out_s(&c->out, "It has changed since you approved it. It is too long to "
                           "compare; this is all of it.\n");
    put_names(c, entry);
    put_approved(c, json);
    cli_consent_environment(c, json);
    bool yes = cli_consent_ask(
        c, cli_consent_is_program(json)
               ? "If you allow it, this runs the program above as you. Allow it? [y/N] "
               : "If you allow it, mcplug connects to the address above. Allow it? "
                 "[y/N] ");
    mp_free(c);
    return yes;
}
