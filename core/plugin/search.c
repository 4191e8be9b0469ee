#include "plugin/search.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MCPLUG_PLUGIN_DIR
#error "define MCPLUG_PLUGIN_DIR as a string: where modules are installed"
#endif

/* ---- directories ---- */

static char *join(const char *dir, const char *name, const char *suffix)
{
    struct mp_str s;
    mp_str_init(&s, SIZE_MAX / 2);
    mp_str_addf(&s, "%s/%s%s", strcmp(dir, "/") == 0 ? "" : dir, name, suffix);
    return mp_str_take(&s);
}

char *mp_search_file(const char *dir, const char *name)
{
    return join(dir, name, ".so");
}

static int add_dir(struct mp_search *search, const char *path)
{
    char *dir = mp_path_absolute(path);
    if (!dir)
        return MCPLUG_ENOMEM;
    bool skip = search->n == MP_SEARCH_DIRS;
    for (size_t i = 0; !skip && i < search->n; i++)
        skip = strcmp(search->dirs[i], dir) == 0;
    if (skip)
        mp_free(dir);
    else
        search->dirs[search->n++] = dir;
    return MCPLUG_OK;
}

/* Relative ones are passed over: they would make what is loaded depend on the
 * directory one happens to be in, that of somebody else's project for one. */
static int add_dirs_from_env(struct mp_search *search, struct mp_events *log)
{
    const char *at = secure_getenv("MCPLUG_PLUGIN_PATH");
    int r = MCPLUG_OK;

    while (at && *at && r == MCPLUG_OK) {
        size_t len = strcspn(at, ":");
        char *dir = mp_strndup(at, len);
        if (!dir)
            r = MCPLUG_ENOMEM;
        else if (*dir == '/')
            r = add_dir(search, dir);
        else if (*dir)
            mp_log(log, MCPLUG_LOG_WARN, "core",
                   "MCPLUG_PLUGIN_PATH: \"%s\" is not absolute and not searched", dir);
        mp_free(dir);
        at += len + (at[len] == ':');
    }
    return r;
}

int mp_search_init(struct mp_search *search, const char *const *dirs,
                   const char *const *more, struct mp_events *log)
{
    int r = MCPLUG_OK;

    memset(search, 0, sizeof *search);
    for (size_t i = 0; r == MCPLUG_OK && dirs && dirs[i]; i++)
        r = add_dir(search, dirs[i]);
    if (r == MCPLUG_OK)
        r = add_dirs_from_env(search, log);
    for (size_t i = 0; r == MCPLUG_OK && more && more[i]; i++)
        r = add_dir(search, more[i]);
    return r == MCPLUG_OK ? add_dir(search, MCPLUG_PLUGIN_DIR) : r;
}

void mp_search_clear(struct mp_search *search)
{
    while (search->n)
        mp_free(search->dirs[--search->n]);
}

/* ---- files ---- */

void mp_files_clear(struct mp_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        mp_free(files->list[i].path);
        mp_free(files->list[i].name);
    }
    mp_free(files->list);
    memset(files, 0, sizeof *files);
}

static bool reserve(struct mp_files *files)
{
    if (files->n < files->cap)
        return true;
    size_t cap = files->cap ? files->cap * 2 : 16;
    struct mp_found *list = mp_resize(files->list, cap * sizeof *list);
    if (!list)
        return false;
    files->list = list;
    files->cap = cap;
    return true;
}

static bool seen(const struct mp_files *files, const struct stat *st)
{
    for (size_t i = 0; i < files->n; i++)
        if (files->list[i].dev == st->st_dev && files->list[i].ino == st->st_ino)
            return true;
    return false;
}

static int add_file(struct mp_files *files, const char *dir, const char *entry)
{
    char *path = join(dir, entry, ""), *name = NULL;
    struct stat st;

    if (!path)
        return MCPLUG_ENOMEM;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        mp_free(path);
        return MCPLUG_OK;
    }
    name = mp_strndup(entry, strlen(entry) - 3);
    if (!name || !reserve(files)) {
        mp_free(name);
        mp_free(path);
        return MCPLUG_ENOMEM;
    }
    struct mp_found found = {path, name, st.st_dev, st.st_ino, seen(files, &st)};
    files->list[files->n++] = found;
    return MCPLUG_OK;
}

static int is_module(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 3 &&
           strcmp(entry->d_name + len - 3, ".so") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* alphasort() minds the locale */
}

static int add_files(struct mp_files *files, const char *dir)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, is_module, by_name);
    int r = n < 0 && errno == ENOMEM ? MCPLUG_ENOMEM : MCPLUG_OK;

    for (int i = 0; i < n; i++) {
        if (r == MCPLUG_OK && files->n < MP_SEARCH_FILES)
            r = add_file(files, dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return r;
}

int mp_search_files(const struct mp_search *search, struct mp_files *out)
{
    int r = MCPLUG_OK;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; r == MCPLUG_OK && i < search->n; i++)
        r = add_files(out, search->dirs[i]);
    if (r != MCPLUG_OK)
        mp_files_clear(out);
    return r;
}
