/* Completion of the names of files behind an @ in a line. */
#include "base/mem.h"
#include "base/text.h"
#include "cli/run/run.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_MAX 10000 /* of a directory that are looked at */
#define LISTED_MAX 4096 /* bytes of names that are shown */

/* The word before the cursor, without its @ and backslashes; false: it names no file. */
static bool word_before(const char *line, size_t at, struct mp_str *out)
{
    size_t from = at;

    while (from > 0 &&
           (!strchr(" \t\n", line[from - 1]) || (from > 1 && line[from - 2] == '\\')))
        from--;
    const char *word = line + from;
    if (from == at || *word != '@' || (from + 1 < at && word[1] == '@'))
        return false;
    for (from++; from < at; from++) {
        from += line[from] == '\\' && from + 1 < at;
        mp_str_addc(out, line[from]);
    }
    return !out->failed;
}

static size_t common(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    while (n > 0 && ((unsigned char)a[n] & 0xc0) == 0x80)
        n--; /* whole characters */
    return n;
}

static bool is_dir(const char *dir, const char *name)
{
    struct mp_str path;
    struct stat st;

    mp_str_init(&path, 65536);
    mp_str_addf(&path, "%s%s", dir, name);
    bool is = !path.failed && stat(path.data, &st) == 0 && S_ISDIR(st.st_mode);
    mp_str_clear(&path);
    return is;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* give: the names in `dir` that begin with `begin`, in order */
static char **names_in(const char *dir, const char *begin, size_t *n)
{
    DIR *d = opendir(*dir ? dir : ".");
    struct dirent *entry;
    char **names = NULL;
    size_t cap = 0, seen = 0;

    *n = 0;
    while (d && seen++ < NAMES_MAX && (entry = readdir(d))) {
        const char *name = entry->d_name;
        bool is_hidden = *name == '.' && *begin != '.';
        if (is_hidden || strncmp(name, begin, strlen(begin)) != 0 || !mp_is_utf8(name))
            continue;
        if (!mp_grow(&names, &cap, *n + 1) || !(names[*n] = mp_strdup(name)))
            break;
        ++*n;
    }
    if (d)
        closedir(d);
    if (*n)
        qsort(names, *n, sizeof *names, compare);
    return names;
}

/* How much of the first one all of them begin with. */
static size_t common_of(char **names, size_t n)
{
    size_t len = strlen(names[0]);

    for (size_t i = 1, same; i < n; i++) {
        same = common(names[0], names[i]);
        len = same < len ? same : len;
    }
    return len;
}

static void complete(const char *dir, const char *begin, struct mp_str *more,
                     struct mp_str *all)
{
    size_t n;
    char **names = names_in(dir, begin, &n);
    size_t end = n ? common_of(names, n) : 0;

    for (size_t i = strlen(begin); i < end; i++) {
        mp_str_adds(more, strchr(" \t\n\\", names[0][i]) ? "\\" : "");
        mp_str_addc(more, names[0][i]);
    }
    if (n == 1)
        mp_str_addc(more, is_dir(dir, names[0]) ? '/' : ' ');
    for (size_t i = 0; i < n; i++) {
        if (all->len + strlen(names[i]) + 2 < LISTED_MAX)
            mp_str_addf(all, "%s%s", all->len ? "  " : "", names[i]);
        mp_free(names[i]);
    }
    mp_free(names);
}

void cli_run_complete(const char *line, size_t at, struct mp_str *more,
                      struct mp_str *all)
{
    struct mp_str word;

    mp_str_init(&word, 65536);
    if (word_before(line, at, &word) && mp_str_adds(&word, "")) {
        char *slash = strrchr(word.data, '/');
        char *dir = slash ? mp_strndup(word.data, (size_t)(slash + 1 - word.data))
                          : mp_strdup("");
        if (dir)
            complete(dir, slash ? slash + 1 : word.data, more, all);
        mp_free(dir);
    }
    mp_str_clear(&word);
}
