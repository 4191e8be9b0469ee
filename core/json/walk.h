/* Walking over JSON text that a scan has passed: no tree, no allocation. A view is
 * the text of one value, from its first byte to its last. */
#ifndef MP_JSON_WALK_H
#define MP_JSON_WALK_H

#include "json/scan.h"

struct mp_str;

typedef struct mcplug_bytes mp_view; /* len 0: no such value */

/* The value in a document, which may have white space around it. */
MP_SHARED mp_view mp_view_trim(mp_view text);

struct mp_walk {
    const unsigned char *p, *end;
};

/* Iterates the members of an object or the elements of an array; any other value
 * has none. */
MP_SHARED struct mp_walk mp_walk_into(mp_view container);
MP_SHARED bool mp_walk_member(struct mp_walk *w, mp_view *key, mp_view *value);
MP_SHARED bool mp_walk_element(struct mp_walk *w, mp_view *value);

/* The value of the first member of that (unescaped) name; len 0 when there is none
 * or `object` is not an object. */
MP_SHARED mp_view mp_view_get(mp_view object, const char *name);
/* The same through several levels: "capabilities/tools/listChanged". Names may not
 * contain '/'. */
MP_SHARED mp_view mp_view_path(mp_view object, const char *path);

MP_SHARED bool mp_view_is_object(mp_view v);
MP_SHARED bool mp_view_is_array(mp_view v);
MP_SHARED bool mp_view_is_string(mp_view v);
MP_SHARED bool mp_view_is_null(mp_view v);
MP_SHARED bool mp_view_true(mp_view v); /* is it the literal true? */
MP_SHARED size_t mp_view_count(mp_view container);

/* Every member of the object has a name of its own, escapes resolved: "a" and "\u0061"
 * are one. Of two, some parsers take the first and some the last, so what is judged by
 * its members must have each once. MCPLUG_OK, also for what is no object; MCPLUG_EPROTO
 * and which; MCPLUG_ENOMEM. n log n, whatever the names. */
int mp_view_unique(mp_view object, struct mcplug_error *err);

/* The key or string, unescaped, equals `text`? */
MP_SHARED bool mp_view_equals(mp_view string, const char *text);
/* The same of two keys or strings. */
MP_SHARED bool mp_view_same(mp_view a, mp_view b);
/* The inside of a key or string (no quotes), unescaped, is the `text_len` bytes there? */
bool mp_raw_equals(const char *raw, size_t len, const char *text, size_t text_len);
/* Integers only, as written without fraction or exponent; false when it does not fit. */
MP_SHARED bool mp_view_int(mp_view v, int64_t *out);
MP_SHARED bool mp_view_double(mp_view v, double *out);

/* Adds the string unescaped, as UTF-8: lone surrogates become U+FFFD, \u0000 a NUL
 * byte. Nothing is added for a view that is not a string. */
MP_SHARED bool mp_str_add_view(struct mp_str *s, mp_view string);
/* give; the same as a C string, cut at a NUL; NULL: no string, or no memory. */
MP_SHARED char *mp_view_strdup(mp_view string);

/* Unescapes piece by piece, for strings too long to keep. Feed the inside of a
 * string (no quotes); `out` needs room for 4 + 3 × `len` bytes. Returns what was put. */
struct mp_unescape {
    uint16_t high; /* surrogate waiting for its other half */
    uint8_t n;     /* bytes of an escape held back */
    char held[6];
};
size_t mp_unescape_feed(struct mp_unescape *u, const char *in, size_t len, char *out);
size_t mp_unescape_end(struct mp_unescape *u, char *out); /* a surrogate left over */

#endif
