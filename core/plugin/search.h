/* The search path for modules, and the files there are on it. Nothing is loaded. */
#ifndef MP_PLUGIN_SEARCH_H
#define MP_PLUGIN_SEARCH_H

#include "base/event.h"
#include "base/shared.h"

#include <sys/types.h>

#define MP_SEARCH_DIRS 64
#define MP_SEARCH_FILES 4096 /* over the whole path */

struct mp_search {
    char *dirs[MP_SEARCH_DIRS]; /* absolute */
    size_t n;
};

/* `dirs`, $MCPLUG_PLUGIN_PATH, `more`, the installed directory; lists are NULL-ended, or
 * NULL. MCPLUG_OK or _ENOMEM, which leaves something to clear too. */
int mp_search_init(struct mp_search *search, const char *const *dirs,
                   const char *const *more, struct mp_events *log);
void mp_search_clear(struct mp_search *search);

struct mp_found {
    char *path; /* as found, maybe a link */
    char *name; /* without .so */
    dev_t dev;
    ino_t ino;
    bool again; /* another link to a file that was found before */
};

struct mp_files {
    struct mp_found *list; /* in the order of the path, by name in each directory */
    size_t n, cap;
};

/* Regular files named *.so; links that lead nowhere and directories that cannot be
 * read are passed over. MCPLUG_OK or _ENOMEM, with nothing to clear. */
int mp_search_files(const struct mp_search *search, struct mp_files *out);
void mp_files_clear(struct mp_files *files);

/* dir/name.so; give; NULL: no memory */
char *mp_search_file(const char *dir, const char *name);

#endif
