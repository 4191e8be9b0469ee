/* JSON as people write it into files: where a byte is, what is wrong in their words, and
 * how a value is laid out. Texts need no scan before. */
#ifndef MP_CONFIG_JSONTEXT_H
#define MP_CONFIG_JSONTEXT_H

#include "json/walk.h"

struct mp_place {
    size_t line, column; /* from 1; columns count characters, not bytes */
};

MP_SHARED struct mp_place mp_place_of(mp_view text, size_t offset);
/* The place of `to`, when that of `from`, before it, is known. */
struct mp_place mp_place_after(struct mp_place at, const unsigned char *from,
                               const unsigned char *to);

/* Is it one JSON value? When not, `err` says it for people: comments, trailing commas,
 * single quotes, a byte order mark, bytes that are not UTF-8, an unclosed bracket (and
 * where it was opened), a key given twice in one object (`"env" is given twice`). `at`
 * gets the place, which the text does not repeat. MCPLUG_ECONFIG, or MCPLUG_ETOOBIG for
 * a limit. */
MP_SHARED int mp_json_check(mp_view text, struct mp_place *at, struct mcplug_error *err);

/* The same of a file: the message begins with "PATH:LINE:COLUMN: ". MCPLUG_ECONFIG. */
int mp_json_check_file(const char *path, mp_view text, struct mcplug_error *err);

/* Adds `value` without white space, strings in one spelling (what needs no escape has
 * none), members in their order, numbers as written: equal texts for equal entries,
 * however they are laid out. `value` has passed mp_json_check(). */
bool mp_json_canonical(mp_view value, struct mp_str *out);

/* How much of a name fits into a message: whole characters, for "%.*s". */
enum { MP_JSON_SHOWN = 60 };
int mp_json_shown(const char *s, size_t len);

/* Adds `value` laid out in lines, two blanks per level. Arrays that hold no arrays or
 * objects stay on one line. */
bool mp_json_layout(mp_view value, struct mp_str *out);

/* The same in all detail, for text that goes among other text. */
struct mp_json_style {
    mp_view newline;           /* empty: all on one line */
    mp_view indent, unit;      /* lines after the first: `indent`, and units per level */
    const char *comma, *colon; /* between what stands on one line: ", " and ": " */
    const char *pad;           /* inside the braces of an object on one line */
};
bool mp_json_write(mp_view value, const struct mp_json_style *style, struct mp_str *out);

#endif
