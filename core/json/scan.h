/* The scan: looks at every byte of an inbound message once, piece by piece, checks
 * that it is JSON (RFC 8259, UTF-8) within limits, and notes where the parts of a
 * JSON-RPC envelope lie. It allocates nothing and never looks back, so a piece
 * may be thrown away as soon as it was fed. */
#ifndef MP_JSON_SCAN_H
#define MP_JSON_SCAN_H

#include <mcplug/types.h>

#include "base/shared.h"

#include <stdbool.h>

/* A part of a text. `len` 0: not there (no JSON value is empty). */
struct mp_span {
    size_t at, len;
};

struct mp_member {
    struct mp_span key;   /* with its quotes */
    struct mp_span value; /* from its first byte to its last */
};

struct mp_scan_limits {
    uint32_t depth;  /* how deep arrays and objects may nest; 64 at most */
    uint32_t tokens; /* values and keys in all */
};

enum { MP_INNER_MAX = 12 };

/* What is to be known of the names in one object. */
enum mp_key_facts {
    MP_KEYS_ALIKE = 1,   /* two of them may be the same: mp_view_unique() tells */
    MP_KEYS_ESCAPED = 2, /* one has an escape */
    MP_KEYS_META = 4     /* one is "_meta" */
};

/* For whatever comes from outside: 64 levels, a million values. */
extern const struct mp_scan_limits mp_scan_defaults;

/* What a message is made of, as offsets into the text that was kept of it. */
struct mp_envelope {
    struct mp_span jsonrpc, id, method, params, result, error;
    /* The members of `params`, `result` or `error` where that is an object: the
     * first MP_INNER_MAX of them, which is all of them in nearly every MCP message. Of a
     * message with two of the three they stand here one after the other. */
    uint32_t n_inner;
    uint32_t n_inner_seen; /* may be more than were noted */
    uint8_t names;         /* of them all: enum mp_key_facts */
    struct mp_member inner[MP_INNER_MAX];
};

struct mp_scan {
    struct mp_scan_limits limits;
    size_t at;     /* offset of the next byte in the kept text */
    uint64_t seen; /* bytes looked at so far, kept or not */

    /* While `in_string`, the open string's first byte (its quote) is at
     * `string_at`; `string_is_value` tells it from a key. */
    bool in_string, string_is_value;
    size_t string_at;

    /* private to scan.c from here on */
    uint8_t state;
    uint8_t want;      /* continuation bytes or hex digits still to come */
    uint8_t low, high; /* what the next continuation byte may be */
    uint8_t slot;      /* which envelope member the value at level 1 is; 0: another */
    uint8_t slots;     /* one bit per envelope member met so far */
    bool bare;         /* not an envelope: nothing to note but `env.names` */
    bool inner;        /* level 2 is an object whose members are noted */
    uint8_t key_len;   /* of `key`; more than it holds: cannot be a known name */
    char key[7];       /* the open or last key at level 1, unescaped */
    uint16_t code;     /* of an escape, as far as its digits have come */
    uint8_t fault, fault_byte;
    uint64_t fault_at;
    uint32_t depth, tokens;
    uint64_t met;        /* one bit per hash of a name, of the object that is watched */
    uint64_t is_object;  /* one bit per level, the deepest lowest: object, not array */
    const char *literal; /* the rest of true, false or null */
    size_t value_at, inner_value_at;
    struct mp_span inner_key;

    struct mp_envelope env; /* what was found; public again */
};

void mp_scan_init(struct mp_scan *s, const struct mp_scan_limits *limits);
void mp_envelope_copy(struct mp_envelope *to, const struct mp_envelope *from);

/* Looks at up to `len` bytes. With `stop_at_string_end` it returns right behind the
 * quote that closes the string which is open now; when none is, this changes nothing.
 * `*used` tells how many bytes were taken: on failure, those before the bad one.
 * MCPLUG_OK; or MCPLUG_EPROTO (not JSON, a duplicate member of the envelope) or
 * MCPLUG_ETOOBIG (a limit), with `err` naming what was wrong and at which byte; a scan
 * that failed stays failed. Bytes behind a complete value that are not white space are an
 * error. */
int mp_scan_feed(struct mp_scan *s, const char *data, size_t len, bool stop_at_string_end,
                 size_t *used, struct mcplug_error *err);

/* The message is over: was it one complete value? */
int mp_scan_end(struct mp_scan *s, struct mcplug_error *err);

/* The keeper of the text dropped `count` bytes of a string just before the next one:
 * what comes now is that much nearer to the beginning. While in_string, or right
 * behind the closing quote where `stop_at_string_end` stopped, for bytes before that
 * quote. */
void mp_scan_dropped(struct mp_scan *s, size_t count);

/* Scans a whole text at once: is it one JSON value? `env` may be NULL: then the value
 * is no envelope, and members with the names of one may come twice. With a scan of one's
 * own that is `bare`, env.names is of the names of that value, if it is an object. */
MP_SHARED int mp_scan_text(const char *text, size_t len,
                           const struct mp_scan_limits *limits, struct mp_envelope *env,
                           struct mcplug_error *err);

/* For a message that could not be read: finds the value of its "id" member near the
 * end of `tail`, the message's last bytes, or at the beginning of `head`, its first
 * (`tail_len` 0: all of it). Returns true and its number when it is an integer, or if
 * `quoted`, a string that is the text of one. An "id" which braces show to be a deeper
 * object's own is not taken: another call than the broken one would be failed. */
bool mp_scan_salvage_id(const char *head, size_t head_len, const char *tail,
                        size_t tail_len, bool quoted, uint64_t *id);

#endif
