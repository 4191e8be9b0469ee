/* A summary of data in one line, computed while the data streams by: for a model that
 * gets a reference to a large file, and must know what is in it before it asks for parts.
 * Of JSON it is the schema, merged over all elements of each array:
 *
 *     {items: [1200 × {id: integer 1..1200, name: string ≤ 40 ("alpha", "beta", …),
 *      tags: [0..3 × string ≤ 9 (…)], url?: string}], total: integer 1200}
 *
 * `?` marks keys that not every object has. Values of several types are `string | null`.
 * An object with many keys of one type is a map: `{"alice", …: {age: integer} × 5000}`.
 * Of lines of JSON it is how many there are and the schema of all, of CSV its columns,
 * and of other text the lines and how it begins. Memory does not grow with the data. */
#ifndef MP_CONTENT_SUMMARY_H
#define MP_CONTENT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_SUMMARY_MAX 2000 /* bytes of its text */

struct mp_str;
struct mp_summary;

struct mp_summary *mp_summary_new(void); /* give; NULL: no memory */
void mp_summary_free(struct mp_summary *s);

/* More of the data. Any bytes: what turns out not to be JSON is summarised as text. */
void mp_summary_feed(struct mp_summary *s, const char *data, size_t len);
/* All has come, or (`cut`) as much as was looked at. Nothing may be fed behind it. */
void mp_summary_end(struct mp_summary *s, bool cut);

/* One object or array, whole and well-formed; or so far, if it was cut. */
bool mp_summary_is_json(const struct mp_summary *s);
/* Unicode characters; of bytes that are not UTF-8, those that do not continue one. */
uint64_t mp_summary_chars(const struct mp_summary *s);
/* Adds the text: one line, UTF-8, without control characters. false: no memory. */
bool mp_summary_add(const struct mp_summary *s, struct mp_str *out);

#endif
