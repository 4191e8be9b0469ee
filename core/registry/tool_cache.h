/* The catalogue: what each configured server offered last, kept on disk, so that a
 * hundred of them can be listed, searched, shown and completed while none runs. There is
 * one file for each definition: a server whose definition changed is another one.
 *
 * A list that its server gave for one user alone (cacheScope "private") is kept like any
 * other: the files are the user's own, 0600 in a directory of 0700, so nothing here is
 * ever shared between users. For how long it may be used is for ttlMs to say. [any] */
#ifndef MP_REGISTRY_TOOL_CACHE_H
#define MP_REGISTRY_TOOL_CACHE_H

#include "config/config.h"
#include "session/session.h"

#include <mcplug/mcplug.h>

#define MP_TOOL_CACHE_FRESH_S (24 * 3600)          /* of lists that came without ttlMs */
#define MP_TOOL_CACHE_FRESH_MAX_S (30 * 24 * 3600) /* whatever a server says */
#define MP_TOOL_CACHE_NO_TTL (-1)

/* Where what is known of a definition is kept. give; NULL: nowhere, or no memory */
char *mp_tool_cache_path(const struct mp_paths *paths, const struct mp_entry *entry);

/* ---- writing ---- */

/* All of these are for convenience alone, so most do not tell what fails; the file is the
 * old one or the new one. Nothing is written while nothing has changed, unless what is
 * there has used up half of its time. What could not be loaded, be it too long, a link,
 * or a file that others could have written, is replaced by a file of our own. Files that
 * nobody has written for long are removed. */

/* The lists that are fetched now, by kind, in place of what was kept; NULL: it stays.
 * `ttls` as the server said, or MP_TOOL_CACHE_NO_TTL. A list that is too long is kept
 * with less of each item, or with the first names alone. And who the server is, unless
 * `id` is NULL: revision, serverInfo, capabilities, instructions. */
int mp_tool_cache_save(const char *path, const struct mp_identity *id,
                       mcplug_list *const lists[MP_KINDS], const int64_t ttls[MP_KINDS],
                       struct mcplug_error *err);

void mp_tool_cache_forget(const struct mp_paths *paths, const struct mp_entry *entry);
/* Of every definition that ever had this name. */
void mp_tool_cache_forget_name(const struct mp_paths *paths, const char *name);

/* ---- reading ---- */

struct mp_tool_cache {
    struct mp_file file;
};

/* false: nothing is kept, it is damaged, a link, or others could have written it. Clear
 * in any case. */
bool mp_tool_cache_load(const struct mp_paths *paths, const struct mp_entry *entry,
                        struct mp_tool_cache *out);
bool mp_tool_cache_load_at(const char *path, struct mp_tool_cache *out);
void mp_tool_cache_clear(struct mp_tool_cache *known);

/* The array of that kind; len 0: never asked for. Views live as long as `known`. */
mp_view mp_tool_cache_items(const struct mp_tool_cache *known, enum mcplug_kind kind);
/* Is it all that the server gave, nothing left out? */
bool mp_tool_cache_whole(const struct mp_tool_cache *known, enum mcplug_kind kind);
/* When it was fetched, in seconds as time() has them; 0: never. */
int64_t mp_tool_cache_at(const struct mp_tool_cache *known, enum mcplug_kind kind);
/* May it still be used in place of asking? One that is from the future may not. */
bool mp_tool_cache_fresh(const struct mp_tool_cache *known, enum mcplug_kind kind,
                         int64_t now);

/* {"at", "revision", "serverInfo", "capabilities", "instructions", "whole"}; what was too
 * long is missing or, of instructions, cut, and "whole" is false then. len 0: not known.
 */
mp_view mp_tool_cache_server(const struct mp_tool_cache *known);

#endif
