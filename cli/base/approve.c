/* Asking whether a project's server may run. */
#include "cli/base/by_name.h"
#include "cli/base/packages.h"

#include "base/mem.h"
#include "cli/base/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define LINES_MAX 1000              /* of one side of a diff */
#define NAMES_MAX ((size_t)4 << 20) /* bytes of what an entry asks for */

/* ---- diff ---- */

struct lines {
    char *text; /* with NULs for newlines */
    const char *at[LINES_MAX];
    size_t n;
};

/* give: laid out, with strings as they read and not as they are spelled; NULL: no
 * memory */
static char *shown_form(mp_view json)
{
    char *plain = mcplug_json_canonical((const char *)json.data, json.len);
    char *text = plain ? mcplug_json_layout(plain, strlen(plain)) : NULL;
    mcplug_text_free(plain);
    return text;
}

static bool lines_of(mp_view json, struct lines *out)
{
    memset(out, 0, sizeof *out);
    out->text = shown_form(json);
    char *rest = out->text, *line;
    while (rest && out->n < LINES_MAX && (line = strsep(&rest, "\n")))
        out->at[out->n++] = line;
    return out->text && !rest;
}

static void put_line(struct cli_out *out, const char *mark, const char *line,
                     size_t indent)
{
    cli_out_spaces(out, indent);
    cli_out_s(out, mark);
    cli_out_shown(out, line, strlen(line));
    cli_out_s(out, "\n");
}

/* The longest common part, from the ends: lengths[i][j] for what is behind i and j. */
static void walk_diff(struct cli_out *out, const struct lines *a, const struct lines *b,
                      const unsigned short *lengths, size_t indent)
{
    size_t i = 0, j = 0, row = b->n + 1;
    while (i < a->n || j < b->n) {
        if (i < a->n && j < b->n && strcmp(a->at[i], b->at[j]) == 0) {
            put_line(out, "  ", a->at[i], indent);
            i++, j++;
        } else if (j == b->n ||
                   (i < a->n && lengths[(i + 1) * row + j] >= lengths[i * row + j + 1])) {
            put_line(out, "- ", a->at[i++], indent);
        } else {
            put_line(out, "+ ", b->at[j++], indent);
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
static bool put_diff(struct cli_out *out, mp_view was, mp_view now, size_t indent)
{
    struct lines *a = mp_alloc(2 * sizeof *a);
    unsigned short *lengths = NULL;
    if (a && lines_of(was, &a[0]) && lines_of(now, &a[1]))
        lengths = common_lengths(&a[0], &a[1]);
    if (lengths)
        walk_diff(out, &a[0], &a[1], lengths, indent);
    if (a) {
        mcplug_text_free(a[0].text);
        mcplug_text_free(a[1].text);
    }
    mp_free(a);
    bool put = lengths != NULL;
    mp_free(lengths);
    return put;
}

/* ---- the question ---- */

static bool put_names(struct cli_out *out, const mcplug_entry *entry)
{
    mp_view json = cli_entry_json(entry), name;
    mp_view inherits = mp_view_get(json, "inheritEnv");
    struct mp_str names;
    bool any = false;

    mp_str_init(&names, NAMES_MAX);
    cli_entry_names(entry, &names);
    struct mp_walk w = mp_walk_into(mp_bytes(names.data, names.len));
    while (mp_walk_element(&w, &name)) {
        char *text = mp_view_strdup(name);
        if (!any)
            cli_out_s(out, "It will receive these variables and secrets:\n");
        any = true;
        put_line(out, "  ", text ? text : "", 2);
        mp_free(text);
    }
    bool whole = !names.failed;
    mp_str_clear(&names);
    if (cli_is_program_type(cli_entry_info(entry).type) &&
        !mp_view_get(json, "url").len && !inherits.len)
        cli_out_s(
            out,
            "Like any program that you start, it also sees your whole environment.\n");
    return whole;
}

/* Whole, or not at all: nobody agrees to what they did not see. */
static bool put_entry(struct cli_out *out, mp_view json)
{
    char *whole = shown_form(json), *rest = whole, *line;
    while (rest && (line = strsep(&rest, "\n")))
        put_line(out, "", line, 4);
    bool put = whole != NULL;
    mcplug_text_free(whole);
    return put;
}

bool cli_said_yes(void)
{
    char line[64];
    size_t n = 0;
    tcflush(STDIN_FILENO, TCIFLUSH); /* what was typed before is no answer */
    for (;;) { /* byte by byte: what comes behind the line is not for us */
        ssize_t got = read(STDIN_FILENO, line + n, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        if (line[n] == '\n')
            break;
        if (n + 1 < sizeof line)
            n++;
    }
    line[n] = '\0';
    return strcmp(line, "y") == 0 || strcmp(line, "Y") == 0 || strcmp(line, "yes") == 0;
}

bool cli_approve_ask(const mcplug_entry *entry)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return false;
    struct mcplug_entry_info e = cli_entry_info(entry);
    mp_view json = mp_bytes(e.json, e.json_len);
    struct cli_out *out = mp_alloc(sizeof *out);
    if (!out)
        return false;
    cli_out_init(out, STDERR_FILENO);
    cli_out_s(out, "The file ");
    cli_out_shown(out, e.file, strlen(e.file));
    cli_out_s(out, " defines the server \"");
    cli_out_shown(out, e.name, strlen(e.name));
    cli_out_s(out, "\":\n\n");
    bool changed = e.approval == MCPLUG_APPROVAL_CHANGED;
    bool shown = changed && put_diff(out, mp_bytes(e.approved, e.approved_len), json, 4);
    shown = shown || put_entry(out, json);
    cli_out_s(out, changed ? "\n"
                             "It has changed since you approved it: lines with - were "
                             "removed, lines with + were added.\n"
                           : "\n");
    shown = put_names(out, entry) && shown;
    cli_out_s(out, "Anyone who can edit that file controls this. Allow it? [y/N] ");
    cli_out_flush(out);
    shown = shown && !out->failed;
    mp_free(out);
    return shown && cli_said_yes();
}
