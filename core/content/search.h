/* Looking for a text in a file of any size: in less than a megabyte of memory, and about
 * as fast as it can be read. Plain text, not a pattern. The file may be anything, be it
 * binary or one line of gigabytes. Blocks. [any] */
#ifndef MP_CONTENT_SEARCH_H
#define MP_CONTENT_SEARCH_H

#include <mcplug/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_SEARCH_NEEDLE_MAX ((size_t)4096)
#define MP_SEARCH_CONTEXT ((size_t)200) /* bytes on either side, if none are set */
#define MP_SEARCH_CONTEXT_MAX ((size_t)16384)
#define MP_SEARCH_LINE_MAX ((size_t)65536) /* a longer line has more than one match */

struct mp_search_options {
    bool ignore_case; /* of ASCII letters */
    size_t context;   /* 0: MP_SEARCH_CONTEXT; more than the maximum is the maximum */
    uint64_t from;    /* byte offset to begin at; lines are counted from the start */
    uint64_t max;     /* matches that are reported, 0: all */
};

/* Borrowed until `fn` returns. */
struct mp_match {
    uint64_t offset; /* of the match, in bytes */
    uint64_t line;   /* where it begins, from 1 */
    uint64_t next;   /* `from` of a search that goes on behind it */
    /* The line without its end, or as much of it as is at most `context` bytes away from
     * the match; whole characters, with U+FFFD for each byte that is not UTF-8. There is
     * no NUL behind it. */
    const char *text;
    size_t len;
    bool cut_before, cut_after; /* the line is longer */
    size_t at, match_len;       /* of the match in `text` */
};

/* Reports one match of a line, its first, as grep does; of a line that is longer than
 * MP_SEARCH_LINE_MAX every match that is at least `context` bytes behind the last one.
 * `fn` returns false to stop. `options` NULL: all are 0. `*total` gets how many were
 * reported. The position of `fd` is neither used nor changed. MCPLUG_EINVAL: the text is
 * empty or too long. MCPLUG_EIO: the file cannot be read. */
int mp_search(int fd, const char *needle, size_t len,
              const struct mp_search_options *options,
              bool (*fn)(void *arg, const struct mp_match *match), void *arg,
              uint64_t *total, struct mcplug_error *err);

#endif
