/* plugins/common/text.h - text that grows up to a limit, JSON that is written with it,
 * and JSON that is read: values are views of a document that the service "json" has found
 * valid. All memory is that of the table given. Pure functions, [any].
 */
#ifndef MCPLUG_COMMON_TEXT_H
#define MCPLUG_COMMON_TEXT_H

#include <mcplug/plugin.h>
#include <stddef.h>
#include <stdint.h>

/* ---- text that grows ---- */

/* Once something did not fit or memory ran out, `failed` is MCPLUG_ETOOBIG or
 * MCPLUG_ENOMEM and nothing is added any more. `data` has a NUL behind it, or is NULL. */
struct text {
    const struct mcplug_mem *mem;
    char *data;
    size_t len, size, max;
    int failed;
};

/* A surrogate whose other half has not come so far: pieces of a string may be cut there.
 * 0: none. */
typedef uint16_t text_half;

void text_init(struct text *t, const struct mcplug_mem *mem, size_t max);
void text_clear(struct text *t);           /* frees; can be used again */
void text_cut(struct text *t, size_t len); /* forgets what is behind */
struct mcplug_bytes text_bytes(const struct text *t);
void text_add(struct text *t, const void *data, size_t len);
void text_adds(struct text *t, const char *s);
void text_addu(struct text *t, uint64_t n);
void text_add_bytes(struct text *t, struct mcplug_bytes b);
/* A JSON string with its quotes, of bytes that should be UTF-8: what is not becomes
 * U+FFFD. The second is for a C string; NULL: "". */
void text_add_string(struct text *t, struct mcplug_bytes utf8);
void text_add_strings(struct text *t, const char *utf8);
/* What is between the quotes of a JSON string, as it is: pieces of a string become one.
 * Nothing if it is no string. */
void text_add_inside(struct text *t, struct mcplug_bytes string);
/* What a JSON string says, as UTF-8. A half at its end is kept in `half`, with which the
 * next piece begins. text_add_half() writes one that stays alone, as U+FFFD. */
void text_add_unescaped(struct text *t, struct mcplug_bytes string, text_half *half);
void text_add_half(struct text *t, text_half *half);
/* For the path of a URL: all but letters, digits and - . _ ~ / as %XX. */
void text_add_path(struct text *t, const char *s);

/* ---- JSON that is known to be valid ---- */

/* Without blanks around it. */
struct mcplug_bytes json_trim(struct mcplug_bytes value);
/* What is inside of an array or object, of which the next element or member is taken off,
 * in linear time; empty when it is neither. 0: there is no other. A key has its quotes.
 */
struct mcplug_bytes json_inside(struct mcplug_bytes value);
int json_next(struct mcplug_bytes *rest, struct mcplug_bytes *value);
int json_next_member(struct mcplug_bytes *rest, struct mcplug_bytes *key,
                     struct mcplug_bytes *value);
/* Is it this string, written without escapes? */
int json_is(struct mcplug_bytes value, const char *text);
int json_is_string(struct mcplug_bytes value);
int json_is_object(struct mcplug_bytes value);
int json_is_array(struct mcplug_bytes value);

#endif /* MCPLUG_COMMON_TEXT_H */
