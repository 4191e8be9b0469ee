/* Parts of a JSON document of any size, by a path as jq spells it: the values that it
 * leads to are written while the document streams by, in memory that does not grow with
 * it.
 *
 *     .                    the document
 *     .items[3].name       a member, an element (from 0 on)
 *     .["odd key"]         a member of any name, with the escapes of JSON
 *     .items[].id          of every element, or of every member of an object
 *     .items[2:5], [2:]    of elements 2, 3 and 4; from 2 on
 *
 * A slice selects its elements, not an array of them, so `.items[2:5].id` and
 * `.items[2:5][].id` are the same. A `?` behind a step changes nothing: what is not
 * there, or is of another type, is no error. A key that comes twice matches twice. What
 * counts from the end of an array ([-1]) would need all of it in memory, and is refused.
 */
#ifndef MP_CONTENT_PATH_H
#define MP_CONTENT_PATH_H

#include <mcplug/admin.h>

#include <stdbool.h>

enum {
    MP_PATH_MAX = 4096,   /* bytes of an expression */
    MP_PATH_STEPS = 64,   /* names and brackets in it */
    MP_PATH_KEY_MAX = 512 /* bytes of a name, escapes resolved */
};

struct mp_path;

/* give; MCPLUG_EINVAL names the column and what was expected there. */
int mp_path_parse(const char *text, struct mp_path **out, struct mcplug_error *err);
void mp_path_free(struct mp_path *path);

/* One run of a path over one document. */
struct mp_select;

/* give; NULL: no memory. `write` gets the values as they are in the document, each
 * followed by a newline, in pieces that may end inside a character; it returns 0 to end
 * the run. Strings are not checked for UTF-8. */
struct mp_select *mp_select_new(const struct mp_path *path /* borrow */,
                                mcplug_write_fn *write, void *arg);
void mp_select_free(struct mp_select *s);

/* The next piece. MCPLUG_OK; MCPLUG_EPROTO: not JSON, at which byte; MCPLUG_ETOOBIG:
 * nested too deep. What came before that was written, and the run stays failed. `*done`,
 * which may be NULL: nothing more can match, or `write` wants no more; the rest need not
 * be read, and is ignored. Of values that do not match, only quotes and brackets are
 * checked. */
int mp_select_feed(struct mp_select *s, const char *data, size_t len, bool *done,
                   struct mcplug_error *err);
/* The document is over: was it complete? Of one that was done before, this is not
 * known, and no error. */
int mp_select_end(struct mp_select *s, struct mcplug_error *err);

uint64_t mp_select_count(const struct mp_select *s); /* values written whole */

#endif
