/* Text from outside: UTF-8, and the one escaper for terminals and logs. */
#ifndef MP_BASE_TEXT_H
#define MP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/shared.h"

/* Equal, or both NULL. */
bool mp_text_same(const char *a, const char *b);

/* Length 1..4 of the well-formed UTF-8 sequence at `p`, or 0. */
MP_SHARED size_t mp_utf8_len(const unsigned char *p, size_t avail);
MP_SHARED bool mp_is_utf8(const char *text);

/* What a hex digit counts; -1: it is none. */
static inline int mp_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character of the `n` bytes there, which mp_utf8_len() told. */
MP_SHARED uint32_t mp_utf8_get(const unsigned char *p, size_t n);
/* Can it lie about what stands on the screen? Control characters can, and so can what
 * shows nothing or turns text round. */
MP_SHARED bool mp_utf8_deceives(uint32_t code);
/* Writes `code` as UTF-8 (surrogates and what is above U+10FFFF as U+FFFD);
 * returns its length. */
MP_SHARED size_t mp_utf8_put(uint32_t code, char out[4]);

/* Of ASCII letters, whatever the locale of the program is. */
static inline char mp_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Does `text` look like `pattern`, where * stands for any characters, none too? In time
 * of both lengths multiplied at most. `any_case`: ASCII letters are alike. */
bool mp_glob(const char *pattern, const char *text, bool any_case);

/* Makes bytes fit for a terminal: control characters (but newline and tab when
 * `multiline`), escape sequences, bidi overrides, characters that show nothing and bytes
 * that are not UTF-8 become visible \x.. or \u{....}. Reads at most
 * `*len` bytes and writes at most `cap`; `*len` becomes what was read. With `more`,
 * an incomplete sequence at the end is left unread. Returns what was written. */
MP_SHARED size_t mp_escape(const char *text, size_t *len, bool multiline, bool more,
                           char *out, size_t cap);

struct mp_str;
MP_SHARED bool mp_str_add_escaped(struct mp_str *s, const char *text, size_t len,
                                  bool multiline);

/* Foreign text, fit to stand in a line of ours: whole characters, blanks in place of
 * controls and none around it, ? for what is no UTF-8. Cut to `size`, NUL included;
 * returns the length. */
size_t mp_text_line(char *out, size_t size, const char *text, size_t len);

/* A duration for people, rounded down: 340ms, 12s, 2m 5s. With `exact`, which is for
 * limits that were set, as it is: 250ms, 1500ms, 300s. 32 bytes are enough. */
MP_SHARED void mp_text_duration(char *out, size_t size, uint64_t ms, bool exact);

#endif
