#include "json/scan.h"

#include "base/text.h"
#include "json/fault.h"
#include "json/grammar.h"
#include "json/skip.h"

#include <assert.h>

enum { DEPTH_MAX = 64 }; /* the bits of is_object */

const struct mp_scan_limits mp_scan_defaults = {.depth = DEPTH_MAX, .tokens = 1000000};

enum slot { OTHER, JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR };

static const struct {
    const char *name;
    size_t offset; /* of its span in an envelope */
} slots[] = {
    [JSONRPC] = {"jsonrpc", offsetof(struct mp_envelope, jsonrpc)},
    [ID] = {"id", offsetof(struct mp_envelope, id)},
    [METHOD] = {"method", offsetof(struct mp_envelope, method)},
    [PARAMS] = {"params", offsetof(struct mp_envelope, params)},
    [RESULT] = {"result", offsetof(struct mp_envelope, result)},
    [ERROR] = {"error", offsetof(struct mp_envelope, error)},
};

static struct mp_span *slot_span(struct mp_envelope *env, unsigned slot)
{
    return (struct mp_span *)(void *)((char *)env + slots[slot].offset);
}

/* The bytes at hand. `at` and `seen` of the scan are those of `start` meanwhile. */
struct piece {
    const unsigned char *start, *end;
};

static size_t offset(const struct mp_scan *s, const struct piece *in,
                     const unsigned char *p)
{
    return s->at + (size_t)(p - in->start);
}

static const unsigned char *fail(struct mp_scan *s, const struct piece *in,
                                 const unsigned char *p, enum fault fault)
{
    s->fault = fault;
    s->fault_byte = *p;
    s->fault_at = s->seen + (uint64_t)(p - in->start);
    return p;
}

/* ---- containers ---- */

/* `at`: behind the value's last byte. */
static void end_value(struct mp_scan *s, size_t at)
{
    if (s->depth > 2) {
        s->state = AFTER;
        return;
    }
    if (s->depth == 2 && s->inner) {
        struct mp_envelope *env = &s->env;
        if (env->n_inner < MP_INNER_MAX) {
            struct mp_member *m = &env->inner[env->n_inner++];
            m->key = s->inner_key;
            m->value.at = s->inner_value_at;
            m->value.len = at - s->inner_value_at;
        }
        env->n_inner_seen++;
    } else if (s->depth == 1 && s->slot != OTHER) {
        struct mp_span *span = slot_span(&s->env, s->slot);
        span->at = s->value_at;
        span->len = at - s->value_at;
        s->slot = OTHER;
    }
    s->state = s->depth ? AFTER : DONE;
}

/* Counts a value or key and notes where a value begins that may be asked for. */
static bool count_token(struct mp_scan *s, size_t at)
{
    if (s->tokens == s->limits.tokens)
        return false;
    s->tokens++;
    if (s->depth == 1)
        s->value_at = at;
    else if (s->depth == 2)
        s->inner_value_at = at;
    return true;
}

static const unsigned char *open_container(struct mp_scan *s, const struct piece *in,
                                           const unsigned char *p)
{
    bool object = *p == '{';

    if (s->depth == s->limits.depth)
        return fail(s, in, p, TOO_DEEP);
    s->depth++;
    s->is_object = s->is_object << 1 | object;
    if (s->depth == 2) {
        s->inner = object && s->slot >= PARAMS;
        if (!s->bare)
            s->met = 0;
    }
    s->state = object ? FIRST_KEY : FIRST_VALUE;
    return p + 1;
}

static const unsigned char *close_container(struct mp_scan *s, const struct piece *in,
                                            const unsigned char *p)
{
    s->depth--;
    s->is_object >>= 1;
    end_value(s, offset(s, in, p) + 1);
    return p + 1;
}

static void open_string(struct mp_scan *s, const struct piece *in, const unsigned char *p,
                        bool is_value)
{
    s->in_string = true;
    s->string_is_value = is_value;
    s->string_at = offset(s, in, p);
    s->key_len = 0;
    s->state = STRING;
}

/* ---- strings ---- */

/* Gathers the bytes of a key at level 1. */
static void note_key(struct mp_scan *s, const unsigned char *from, size_t len)
{
    if (len > sizeof s->key - s->key_len)
        s->key_len = sizeof s->key + 1;
    if (s->key_len > sizeof s->key)
        return;
    memcpy(s->key + s->key_len, from, len);
    s->key_len += (uint8_t)len;
}

/* An escape in a name of level 1 or 2; only those of \uXXXX can be of a known one. */
static void note_escape(struct mp_scan *s, bool hex)
{
    if (s->string_is_value)
        return;
    if (s->depth == 1 && !hex)
        s->key_len = sizeof s->key + 1;
    if (s->depth == 1 ? s->bare : s->depth == 2 && s->inner)
        s->env.names |= MP_KEYS_ESCAPED;
}

static void note_code(struct mp_scan *s)
{
    unsigned char c = (unsigned char)s->code;

    if (s->code < 0x80)
        note_key(s, &c, 1);
    else
        s->key_len = sizeof s->key + 1;
}

/* Lengths that are constants are compared without a call. */
static uint8_t find_slot(const void *key, size_t len)
{
    switch (len) {
    case 2:
        return memcmp(key, "id", 2) == 0 ? ID : OTHER;
    case 5:
        return memcmp(key, "error", 5) == 0 ? ERROR : OTHER;
    case 6:
        return memcmp(key, "result", 6) == 0   ? RESULT
               : memcmp(key, "method", 6) == 0 ? METHOD
               : memcmp(key, "params", 6) == 0 ? PARAMS
                                               : OTHER;
    case 7:
        return memcmp(key, "jsonrpc", 7) == 0 ? JSONRPC : OTHER;
    default:
        return OTHER;
    }
}

/* A name of the object that is watched, whose closing quote is at `p`. One that did not
 * come in one piece is not looked at: it may be like another. */
static void watch_name(struct mp_scan *s, const struct piece *in, const unsigned char *p)
{
    if (s->string_at < s->at) {
        s->env.names |= MP_KEYS_ALIKE;
        return;
    }
    const unsigned char *name = in->start + (s->string_at - s->at) + 1;
    size_t len = (size_t)(p - name);
    uint64_t bit = (uint64_t)1 << ((len * 11 + name[0] * 5u + p[-1]) & 63);

    if (s->met & bit)
        s->env.names |= MP_KEYS_ALIKE;
    s->met |= bit;
    if (len == 5 && memcmp(name, "_meta", 5) == 0)
        s->env.names |= MP_KEYS_META;
}

/* The quote at `p` ends a name, which began at `string_at`; `key` is the name at level 1,
 * as far as it may be a known one. */
static const unsigned char *end_name(struct mp_scan *s, const struct piece *in,
                                     const unsigned char *p, const void *key, size_t len)
{
    s->state = COLON;
    if (s->depth == 1 && !s->bare) {
        s->slot = find_slot(key, len);
        if (s->slot != OTHER && s->slots & 1u << s->slot) {
            fail(s, in, p, TWICE);
            s->fault_at -= offset(s, in, p) - s->string_at; /* where the key began */
            return p;
        }
        s->slots |= (uint8_t)(1u << s->slot);
    } else if (s->depth == 2 && s->inner) {
        s->inner_key.at = s->string_at;
        s->inner_key.len = offset(s, in, p) + 1 - s->string_at;
        watch_name(s, in, p);
    } else if (s->depth == 1) {
        watch_name(s, in, p);
    }
    return p + 1;
}

static const unsigned char *end_string(struct mp_scan *s, const struct piece *in,
                                       const unsigned char *p)
{
    s->in_string = false;
    if (!s->string_is_value)
        return end_name(s, in, p, s->key, s->key_len);
    end_value(s, offset(s, in, p) + 1);
    return p + 1;
}

/* Characters beyond ASCII, from inside or before the first of them: to the next that
 * is not, or to the end of the piece. */
static const unsigned char *characters(struct mp_scan *s, const struct piece *in,
                                       const unsigned char *p)
{
    unsigned char low = s->low, high = s->high;
    unsigned want = s->want;

    for (; p < in->end; p++) {
        unsigned char c = *p;
        if (want) {
            if (c < low || c > high)
                return fail(s, in, p, UTF8);
            low = 0x80;
            high = 0xbf;
            want--;
        } else if (c < 0x80) {
            break;
        } else {
            if (c < 0xc2 || c > 0xf4)
                return fail(s, in, p, UTF8);
            want = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
            low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
            high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
        }
    }
    s->low = low;
    s->high = high;
    s->want = (uint8_t)want;
    s->state = want ? CONTINUATION : STRING;
    return p;
}

/* The string that is open: to its end, or to that of the piece. */
static const unsigned char *string(struct mp_scan *s, const struct piece *in,
                                   const unsigned char *p)
{
    while (p < in->end && s->fault == NONE) {
        const unsigned char *from = p;
        switch (s->state) {
        case STRING:
            p = mp_skip_plain(p, in->end);
            if (s->depth == 1 && !s->string_is_value)
                note_key(s, from, (size_t)(p - from));
            if (p == in->end)
                return p;
            if (*p == '"')
                return end_string(s, in, p);
            if (*p == '\\') {
                s->state = ESCAPE;
                p++;
                break;
            }
            s->key_len = sizeof s->key + 1; /* no known name has such a byte */
            if (*p < 0x20)
                return fail(s, in, p, CONTROL);
            s->want = 0;
            /* fall through */
        case CONTINUATION:
            p = characters(s, in, p);
            break;
        case ESCAPE:
            if (!is_escape(*p))
                return fail(s, in, p, IN_ESCAPE);
            note_escape(s, *p == 'u');
            s->want = 4;
            s->code = 0;
            s->state = *p++ == 'u' ? HEX : STRING;
            break;
        default:
            if (mp_hex_value((char)*p) < 0)
                return fail(s, in, p, IN_ESCAPE);
            s->code = (uint16_t)(s->code << 4 | mp_hex_value((char)*p));
            if (--s->want == 0) {
                s->state = STRING;
                if (s->depth == 1 && !s->string_is_value)
                    note_code(s);
            }
            p++;
        }
    }
    return p;
}

/* The string that begins at `p`. Most are plain and end in the same piece: those never
 * enter the states of strings. */
static const unsigned char *begin_string(struct mp_scan *s, const struct piece *in,
                                         const unsigned char *p, bool is_value)
{
    const unsigned char *from = p + 1, *quote = mp_skip_plain(from, in->end);

    if (quote == in->end || *quote != '"') {
        open_string(s, in, p, is_value);
        if (s->depth == 1 && !is_value)
            note_key(s, from, (size_t)(quote - from));
        return string(s, in, quote);
    }
    if (!is_value) {
        s->string_at = offset(s, in, p);
        return end_name(s, in, quote, from, (size_t)(quote - from));
    }
    end_value(s, offset(s, in, quote) + 1);
    return quote + 1;
}

/* ---- numbers and literals ---- */

static const unsigned char *number(struct mp_scan *s, const struct piece *in,
                                   const unsigned char *p)
{
    enum state state = s->state;

    for (;;) {
        if (state == DIGITS || state == FRACTION || state == POWER)
            while (p < in->end && is_digit(*p))
                p++;
        if (p == in->end)
            break;
        enum state next = number_step(state, *p);
        if (next == VALUE) {
            if (!number_is_whole(state))
                return fail(s, in, p, CHARACTER);
            end_value(s, offset(s, in, p));
            return p;
        }
        state = next;
        p++;
    }
    s->state = state;
    return p;
}

static const unsigned char *literal(struct mp_scan *s, const struct piece *in,
                                    const unsigned char *p)
{
    const char *rest = s->literal;

    for (; *rest && p < in->end; p++, rest++)
        if (*p != (unsigned char)*rest)
            return fail(s, in, p, CHARACTER);
    s->literal = rest;
    if (!*rest)
        end_value(s, offset(s, in, p));
    return p;
}

/* ---- values ---- */

static const unsigned char *begin_value(struct mp_scan *s, const struct piece *in,
                                        const unsigned char *p)
{
    if (!count_token(s, offset(s, in, p)))
        return fail(s, in, p, TOO_MANY);
    switch (*p) {
    case '"':
        return begin_string(s, in, p, true);
    case '{':
    case '[':
        return open_container(s, in, p);
    case 't':
    case 'f':
    case 'n':
        s->literal = *p == 't' ? "rue" : *p == 'f' ? "alse" : "ull";
        s->state = LITERAL;
        return literal(s, in, p + 1);
    default:
        if (*p != '-' && !is_digit(*p))
            return fail(s, in, p, CHARACTER);
        s->state = *p == '-' ? MINUS : *p == '0' ? ZERO : DIGITS;
        return number(s, in, p + 1);
    }
}

/* From between the values to the end of the piece, or to a fault. */
static const unsigned char *structure(struct mp_scan *s, const struct piece *in,
                                      const unsigned char *p)
{
    while (s->fault == NONE) {
        p = mp_skip_space(p, in->end);
        if (p == in->end)
            break;
        switch (s->state) {
        case AFTER:
            if (*p == ',') {
                s->state = s->is_object & 1 ? KEY : VALUE;
                p++;
                break;
            }
            if (*p != (s->is_object & 1 ? '}' : ']'))
                return fail(s, in, p, CHARACTER);
            p = close_container(s, in, p);
            break;
        case COLON:
            if (*p != ':')
                return fail(s, in, p, CHARACTER);
            s->state = VALUE;
            p++;
            break;
        case FIRST_KEY:
            if (*p == '}') {
                p = close_container(s, in, p);
                break;
            }
            /* fall through */
        case KEY:
            if (*p != '"')
                return fail(s, in, p, CHARACTER);
            if (!count_token(s, 0))
                return fail(s, in, p, TOO_MANY);
            p = begin_string(s, in, p, false);
            if (s->state != COLON || p == in->end || *p != ':')
                break;
            s->state = VALUE; /* no space between the key and its colon */
            p++;
            break;
        case FIRST_VALUE:
            if (*p == ']') {
                p = close_container(s, in, p);
                break;
            }
            /* fall through */
        case VALUE:
            p = begin_value(s, in, p);
            break;
        default:
            return fail(s, in, p, BEHIND);
        }
    }
    return p;
}

/* ---- the scan ---- */

static int report(const struct mp_scan *s, struct mcplug_error *err)
{
    struct mp_fault fault = {.kind = s->fault, .byte = s->fault_byte, .at = s->fault_at};

    fault.limit = s->fault == TOO_DEEP ? s->limits.depth : s->limits.tokens;
    fault.name = slots[s->slot].name;
    return mp_fault_report(&fault, err);
}

void mp_scan_init(struct mp_scan *s, const struct mp_scan_limits *limits)
{
    memset(s, 0, offsetof(struct mp_scan, env) + offsetof(struct mp_envelope, inner));
    s->limits = *limits;
    if (s->limits.depth > DEPTH_MAX)
        s->limits.depth = DEPTH_MAX;
    s->state = VALUE;
}

void mp_envelope_copy(struct mp_envelope *to, const struct mp_envelope *from)
{
    memcpy(to, from,
           offsetof(struct mp_envelope, inner) + from->n_inner * sizeof from->inner[0]);
}

int mp_scan_feed(struct mp_scan *s, const char *data, size_t len, bool stop_at_string_end,
                 size_t *used, struct mcplug_error *err)
{
    const unsigned char *p = (const unsigned char *)(data ? data : "");
    struct piece in = {p, p + len};
    bool stop = stop_at_string_end && s->in_string;

    while (p < in.end && s->fault == NONE) {
        if (s->state <= DONE) {
            p = structure(s, &in, p);
        } else if (s->state <= CONTINUATION) {
            p = string(s, &in, p);
            if (stop && !s->in_string)
                break;
        } else if (s->state < LITERAL) {
            p = number(s, &in, p);
        } else {
            p = literal(s, &in, p);
        }
    }
    *used = (size_t)(p - in.start);
    s->at += *used;
    s->seen += *used;
    return s->fault == NONE ? MCPLUG_OK : report(s, err);
}

int mp_scan_end(struct mp_scan *s, struct mcplug_error *err)
{
    enum fault fault = s->state == DONE ? NONE : NO_VALUE;

    if (s->fault != NONE)
        return report(s, err);
    if (s->state >= STRING && s->state <= CONTINUATION)
        fault = ENDS_IN_STRING;
    else if (s->state >= MINUS && s->state <= POWER)
        fault = s->depth == 0 && number_is_whole(s->state) ? NONE : ENDS_IN_NUMBER;
    else if (s->state == LITERAL)
        fault = ENDS_IN_LITERAL;
    else if (s->depth)
        fault = s->is_object & 1 ? ENDS_IN_OBJECT : ENDS_IN_ARRAY;
    s->fault = (uint8_t)fault;
    s->fault_at = s->seen;
    if (fault != NONE)
        return report(s, err);
    s->state = DONE;
    return MCPLUG_OK;
}

static void shorten(struct mp_span *span, size_t end, size_t count)
{
    if (span->len && span->at + span->len == end)
        span->len -= count;
}

void mp_scan_dropped(struct mp_scan *s, size_t count)
{
    assert(count <= s->at - s->string_at);
    if (!s->in_string) { /* what ended with the quote was noted already */
        for (unsigned i = JSONRPC; i <= ERROR; i++)
            shorten(slot_span(&s->env, i), s->at, count);
        if (s->env.n_inner)
            shorten(&s->env.inner[s->env.n_inner - 1].value, s->at, count);
        shorten(&s->inner_key, s->at, count);
    }
    s->at -= count;
}

int mp_scan_text(const char *text, size_t len, const struct mp_scan_limits *limits,
                 struct mp_envelope *env, struct mcplug_error *err)
{
    struct mp_scan s;
    size_t used;

    mp_scan_init(&s, limits);
    s.bare = !env;
    int r = mp_scan_feed(&s, text, len, false, &used, err);
    if (r == MCPLUG_OK)
        r = mp_scan_end(&s, err);
    if (r == MCPLUG_OK && env)
        mp_envelope_copy(env, &s.env);
    return r;
}
