/* What of one text may be shown. Rules only ever hide more, so that their order does not
 * matter; what is hidden becomes "***". References, ${NAME}, ${file:PATH}, are shown
 * everywhere, their defaults nowhere. [any] */
#ifndef MP_CONFIG_MASK_TEXT_H
#define MP_CONFIG_MASK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct mp_str;

/* ---- mask_look.c ---- */

/* Is the text one of `n`? Case does not count. */
bool mp_mask_in(const char *const *list, size_t n, const char *text, size_t len);
/* A name that is given to secrets: API_KEY, --user, X-Session. */
bool mp_mask_name_tells(const char *name, size_t len);
/* A word that means that a secret comes next, all by itself: password, Bearer. */
bool mp_mask_word_tells(const char *word, size_t len);
/* Made of words and short numbers, as names of files and packages are. */
bool mp_mask_is_wordlike(const char *piece, size_t len);
/* It begins as the tokens of well-known services do, or looks random. */
bool mp_mask_looks_secret(const char *piece, size_t len);
/* The value of this variable may be shown. */
bool mp_mask_variable_is_plain(const char *name, size_t name_len, const char *value,
                               size_t len);

/* ---- mask_text.c; false: no memory, `out` has nothing of the text ---- */

/* All is hidden but the references, and "Bearer " and its like before the rest. */
bool mp_mask_hide(struct mp_str *out, const char *text, size_t len);
/* Words, a command line, a URL, several of them: what may be a secret is hidden. */
bool mp_mask_text(struct mp_str *out, const char *text, size_t len);
/* The same for an argument of a command; `before` is the one before it, or NULL. */
bool mp_mask_arg(struct mp_str *out, const char *text, size_t len, const char *before);

#endif
