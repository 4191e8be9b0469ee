/* plugins/common/plain.h - the plain text that a converter makes: it grows up to a limit,
 * and is cut there in a way that its reader notices. */
#ifndef MCPLUG_COMMON_PLAIN_H
#define MCPLUG_COMMON_PLAIN_H

#include <mcplug/plugin.h>
#include <stdbool.h>

#define PLAIN_TEXT_MAX ((uint64_t)64 << 20) /* bytes, where the caller has no limit */

/* Once something did not fit or memory ran out, nothing is added any more. */
struct plain_text {
    const struct mcplug_mem *mem;
    char *data;
    size_t len, size;
    size_t max;
    bool full, nomem;
};

/* What `limits` allow, which may be NULL. */
size_t plain_text_max(const struct mcplug_limits *limits);
/* Adds all of it, or the characters of UTF-8 that fit. */
void plain_text_add(struct plain_text *t, const char *data, size_t len);
/* For a text that is full: ends it at a line, and says so in a line of its own, if there
 * is room for that. */
void plain_text_cut(struct plain_text *t);
void plain_text_clear(struct plain_text *t); /* frees; may be used again */

#endif
