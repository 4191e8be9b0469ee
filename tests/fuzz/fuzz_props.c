/* Settings against option tables: both come from the input, as lines.
 *   o NAME TYPE FALLBACK   declares an option; FALLBACK - is NULL, + is ""
 *   s NAME VALUE   l NAME VALUE   m NAME KEY VALUE   sets, adds, puts
 * What must hold whatever they are: a check that passes leaves numbers that can be
 * read, copies and other orders have the same hash, and errors are one line. */
#include "base/buf.h"
#include "base/mem.h"
#include "plugin/props.h"
#include "must.h"

#include <stdio.h>
#include <stdlib.h>

#define OPTIONS 70 /* more than are allowed */
#define LINES 512

/* The next word; spaces end it. The last one goes on to the end of the line. */
static char *word(char **at, int last)
{
    char *begin = *at;
    size_t n = last ? strlen(begin) : strcspn(begin, " ");
    *at = begin + n + (begin[n] == ' ');
    begin[n] = '\0';
    return begin;
}

static void declare(struct mcplug_option *o, char *line)
{
    o->name = word(&line, 0);
    o->type = word(&line, 0);
    o->fallback = word(&line, 1);
    o->help = "-";
    if (strcmp(o->fallback, "-") == 0)
        o->fallback = NULL;
    else if (strcmp(o->fallback, "+") == 0)
        o->fallback = "";
}

/* Does one line; `line` is left as it was, for the next time. */
static void apply(mcplug_props *props, const char *line)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", line + 2);
    char *at = copy, *name = word(&at, 0);
    if (line[0] == 's')
        mp_props_set(props, name, at);
    else if (line[0] == 'l')
        mp_props_add(props, name, at);
    else if (line[0] == 'm') {
        char *key = word(&at, 0);
        mp_props_put(props, name, key, at);
    }
}

static bool is_first(const struct mcplug_option *options, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(options[j].name, options[i].name) == 0)
            return false;
    return true;
}

static void check_numbers(const mcplug_props *props, const struct mcplug_option *options)
{
    for (size_t i = 0; i < MP_OPTIONS_MAX && options[i].name; i++) {
        const char *name = options[i].name, *type = options[i].type;
        const char *text = mp_props_get(props, name);
        int64_t a = mp_props_int(props, name, -1), b = mp_props_int(props, name, -2);
        int64_t n = 0;

        MUST(mp_props_list(props, name) != NULL);
        if (!text || !is_first(options, i) || !mp_option_parse(type, text, &n))
            continue;
        if (strcmp(type, "bool") == 0)
            MUST(a == b && (a == 0 || a == 1));
        else if (strcmp(type, "duration") == 0 || strcmp(type, "bytes") == 0)
            MUST(a == b && a >= 0);
        else if (strcmp(type, "int") == 0)
            MUST(a == b && a == n);
    }
}

static void check_copy(const mcplug_props *props)
{
    mcplug_props *copy = mp_props_copy(props);
    MUST(copy && mp_props_hash(copy) == mp_props_hash(props));
    mp_props_free(copy);
}

/* Single values do not mind the order; what is set twice would. */
static void check_order(char *const *lines, size_t n)
{
    mcplug_props *there = mp_props_new(), *back = mp_props_new();
    for (size_t i = 0; i < n; i++)
        if (lines[i][0] == 's' && mp_props_get(there, lines[i] + 2) == NULL)
            mp_props_set(there, lines[i] + 2, lines[i]);
    for (size_t i = n; i-- > 0;)
        if (lines[i][0] == 's')
            mp_props_set(back, lines[i] + 2,
                         mp_props_get(there, lines[i] + 2)
                             ? mp_props_get(there, lines[i] + 2)
                             : lines[i]);
    if (n < MP_PROPS_MAX)
        MUST(mp_props_hash(there) == mp_props_hash(back));
    mp_props_free(there);
    mp_props_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcplug_option options[OPTIONS + 1] = {{NULL, NULL, NULL, NULL}};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char *lines[LINES], *text = mp_strndup((const char *)data, size), *save = NULL;
    size_t n_lines = 0, n_options = 0;
    mcplug_props *props = mp_props_new();

    MUST(text && props);
    for (char *line = strtok_r(text, "\n", &save); line && n_lines < LINES;
         line = strtok_r(NULL, "\n", &save)) {
        if (strlen(line) < 3 || line[1] != ' ')
            continue;
        if (line[0] == 'o' && n_options < OPTIONS)
            declare(&options[n_options++], line + 2);
        else if (line[0] != 'o')
            lines[n_lines++] = line;
    }
    for (size_t i = 0; i < n_lines; i++)
        apply(props, lines[i]);
    check_copy(props);
    check_order(lines, n_lines);
    if (mp_props_check(props, options, "fuzz", &err) == MCPLUG_OK)
        check_numbers(props, options);
    else
        MUST(err.code == MCPLUG_ECONFIG && err.text[0] && !strchr(err.text, '\n'));
    mp_props_free(props);
    mp_free(text);
    return 0;
}
