#include "json/stream.h"

#include "base/text.h"
#include "json/fault.h"
#include "json/grammar.h"
#include "json/skip.h"

/* How a value is crossed. */
enum quiet {
    LOUD,  /* with an event for everything */
    QUIET, /* with none */
    AS_RAW /* with its bytes */
};

/* The bytes at hand. `seen` of the stream is that of `start` meanwhile. */
struct piece {
    const unsigned char *start, *end;
    const unsigned char *raw; /* what was not reported of the raw value begins here */
};

static bool over(const struct mp_stream *s)
{
    return s->fault != NONE || s->stopped;
}

static const unsigned char *fail(struct mp_stream *s, const struct piece *in,
                                 const unsigned char *p, enum fault fault)
{
    s->fault = fault;
    s->fault_byte = *p;
    s->fault_at = s->seen + (uint64_t)(p - in->start);
    return p;
}

/* ---- events ---- */

static inline enum mp_stream_answer emit(struct mp_stream *s, enum mp_stream_kind kind,
                                         const void *data, size_t len, unsigned flags)
{
    struct mp_stream_event event = {kind, s->depth, data, len, flags};
    enum mp_stream_answer answer = s->report(s->arg, &event);

    if (answer == MP_STREAM_STOP)
        s->stopped = true;
    return answer;
}

static void emit_raw(struct mp_stream *s, const struct piece *in, const unsigned char *p,
                     unsigned flags)
{
    if (p == in->raw && !(flags & MP_STREAM_LAST))
        return;
    if (s->raw_first)
        flags |= MP_STREAM_FIRST;
    s->raw_first = false;

    uint32_t depth = s->depth;
    s->depth = s->base;
    emit(s, MP_STREAM_RAW, in->raw, (size_t)(p - in->raw), flags);
    s->depth = depth;
}

/* Keeps what a piece has of a key or number for the next one. */
static void hold(struct mp_stream *s, const unsigned char *from, const unsigned char *to)
{
    size_t len = (size_t)(to - from), left = sizeof s->held - s->held_len;

    if (s->quiet != LOUD)
        return;
    if (len > left) {
        s->held_cut = true;
        len = left;
    }
    memcpy(s->held + s->held_len, from, len);
    s->held_len += (uint32_t)len;
}

/* A key or number of which [from, to) is in this piece. */
static void emit_whole(struct mp_stream *s, enum mp_stream_kind kind,
                       const unsigned char *from, const unsigned char *to, unsigned flags)
{
    const void *data = from;
    size_t len = (size_t)(to - from);

    if (s->quiet != LOUD)
        return;
    if (s->held_len) {
        hold(s, from, to);
        data = s->held;
        len = s->held_len;
        flags |= s->held_cut ? MP_STREAM_CUT : 0;
        s->held_len = 0;
        s->held_cut = false;
    } else if (len > MP_STREAM_HELD) {
        len = MP_STREAM_HELD;
        flags |= MP_STREAM_CUT;
    }
    emit(s, kind, data, len, flags);
}

/* ---- containers ---- */

static void push(struct mp_stream *s, bool object)
{
    uint64_t *word = &s->is_object[s->depth / 64];
    uint64_t bit = (uint64_t)1 << s->depth % 64;

    *word = object ? *word | bit : *word & ~bit;
    s->in_object = object;
    s->depth++;
}

static void pop(struct mp_stream *s)
{
    s->depth--;
    if (s->depth)
        s->in_object = s->is_object[(s->depth - 1) / 64] >> (s->depth - 1) % 64 & 1;
}

/* A value ended before `p`. */
static void end_value(struct mp_stream *s, const struct piece *in, const unsigned char *p)
{
    s->state = s->depth ? AFTER : DONE;
    s->newline = false;
    if (s->quiet != LOUD && s->depth == s->base) {
        if (s->quiet == AS_RAW)
            emit_raw(s, in, p, MP_STREAM_LAST);
        s->quiet = LOUD;
    }
}

/* Skips from here to the end of what is open at `depth`. */
static void begin_skip(struct mp_stream *s, uint32_t depth, bool rest)
{
    s->state = SKIPPED;
    s->base = depth;
    s->skip_rest = rest;
    s->skip_string = s->skip_escape = false;
}

/* A value begins at `p`: how to cross it? false: what is to be skipped begins there. */
static bool announce(struct mp_stream *s, struct piece *in, const unsigned char *p,
                     enum mp_stream_kind kind)
{
    enum mp_stream_answer answer = emit(s, kind, NULL, 0, 0);

    if (answer == MP_STREAM_AS_RAW) {
        s->quiet = AS_RAW;
        s->base = s->depth;
        s->raw_first = true;
        in->raw = p;
    } else if (answer == MP_STREAM_SKIP_REST && s->depth) {
        begin_skip(s, s->depth - 1, true);
    } else if (answer == MP_STREAM_SKIP || answer == MP_STREAM_SKIP_REST) {
        if (kind != MP_STREAM_SCALAR) {
            begin_skip(s, s->depth, false);
        } else {
            s->quiet = QUIET;
            s->base = s->depth;
        }
    }
    return s->state != SKIPPED;
}

static const unsigned char *open_container(struct mp_stream *s, struct piece *in,
                                           const unsigned char *p)
{
    bool object = *p == '{';

    if (s->depth == MP_STREAM_DEPTH)
        return fail(s, in, p, TOO_DEEP);
    if (s->quiet == LOUD &&
        !announce(s, in, p, object ? MP_STREAM_OBJECT : MP_STREAM_ARRAY))
        return p;
    push(s, object);
    s->state = object ? FIRST_KEY : FIRST_VALUE;
    return p + 1;
}

static const unsigned char *close_container(struct mp_stream *s, const struct piece *in,
                                            const unsigned char *p)
{
    pop(s);
    if (s->quiet == LOUD)
        emit(s, MP_STREAM_END, NULL, 0, 0);
    end_value(s, in, p + 1);
    return p + 1;
}

/* ---- skipping ---- */

/* A bracket, or a backslash, outside of strings. */
static const unsigned char *skip_mark(struct mp_stream *s, const struct piece *in,
                                      const unsigned char *p)
{
    switch (*p) {
    case '{':
    case '[':
        if (s->depth == MP_STREAM_DEPTH)
            return fail(s, in, p, TOO_DEEP);
        push(s, *p == '{');
        return p + 1;
    case '}':
    case ']':
        if (*p != (s->in_object ? '}' : ']'))
            return fail(s, in, p, CHARACTER);
        pop(s);
        if (s->depth == s->base) {
            if (s->skip_rest)
                emit(s, MP_STREAM_END, NULL, 0, 0);
            end_value(s, in, p + 1);
        }
        return p + 1;
    default:
        return fail(s, in, p, CHARACTER);
    }
}

static const unsigned char *skip_byte(struct mp_stream *s, const struct piece *in,
                                      const unsigned char *p)
{
    if (!s->skip_string) {
        if ((*p | 0x20) == '{' || (*p | 0x20) == '}' || *p == '\\')
            return skip_mark(s, in, p);
        s->skip_string = *p == '"';
    } else if (s->skip_escape) {
        s->skip_escape = false;
    } else if (*p == '\\') {
        s->skip_escape = true;
    } else if (*p == '"') {
        s->skip_string = false;
    }
    return p + 1;
}

#ifdef __SSE2__
enum { BLOCK = 64 };

/* Where in a block they are, one bit per byte. */
struct marks {
    uint64_t quotes, backslashes, brackets;
};

static inline struct marks find_marks(const unsigned char *p)
{
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
    const __m128i opening = _mm_set1_epi8('{'), closing = _mm_set1_epi8('}');
    const __m128i fold = _mm_set1_epi8(0x20);
    struct marks m = {0, 0, 0};

    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i folded = _mm_or_si128(v, fold); /* '[' and ']' become '{' and '}' */
        __m128i bracket = _mm_or_si128(_mm_cmpeq_epi8(folded, opening),
                                       _mm_cmpeq_epi8(folded, closing));
        m.quotes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, quote)) << i;
        m.backslashes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, escape)) << i;
        m.brackets |= (uint64_t)_mm_movemask_epi8(bracket) << i;
    }
    return m;
}

/* The bytes that a backslash stands before. `*carry`: the first is one, then: the first
 * of the next block. */
static uint64_t find_escaped(uint64_t backslashes, bool *carry)
{
    uint64_t escaped = *carry;

    backslashes &= ~escaped;
    *carry = backslashes >> 63 & 1;
    while (backslashes) {
        uint64_t lowest = backslashes & -backslashes;
        escaped |= lowest << 1;
        if (lowest >> 62 == 1) /* the last byte is escaped, so it escapes nothing */
            *carry = false;
        backslashes &= ~(lowest | lowest << 1);
    }
    return escaped;
}

/* From each quote to the byte before the next one. */
static uint64_t find_strings(uint64_t quotes)
{
    for (unsigned i = 1; i < BLOCK; i *= 2)
        quotes ^= quotes << i;
    return quotes;
}

/* BLOCK bytes at once. Only brackets cost time of their own. */
static const unsigned char *skip_block(struct mp_stream *s, const struct piece *in,
                                       const unsigned char *p)
{
    struct marks m = find_marks(p);

    if (m.backslashes | s->skip_escape)
        m.quotes &= ~find_escaped(m.backslashes, &s->skip_escape);
    uint64_t strings = find_strings(m.quotes) ^ -(uint64_t)s->skip_string;
    uint64_t marks = (m.brackets | m.backslashes) & ~strings;
    s->skip_string = strings >> 63;
    while (marks) {
        const unsigned char *mark = p + __builtin_ctzll(marks);
        const unsigned char *behind = skip_mark(s, in, mark);
        if (s->state != SKIPPED || over(s))
            return behind;
        marks &= marks - 1;
    }
    return p + BLOCK;
}
#endif

static const unsigned char *skip(struct mp_stream *s, const struct piece *in,
                                 const unsigned char *p)
{
    while (p < in->end && s->state == SKIPPED && !over(s)) {
#ifdef __SSE2__
        if (in->end - p >= BLOCK) {
            p = skip_block(s, in, p);
            continue;
        }
#endif
        p = skip_byte(s, in, p);
    }
    return p;
}

/* ---- strings ---- */

/* [from, to) is what this piece has of the string that is open. */
static void string_piece(struct mp_stream *s, const unsigned char *from,
                         const unsigned char *to, bool last)
{
    unsigned flags = s->escaped ? MP_STREAM_ESCAPED : 0;

    if (!s->is_value) {
        if (last)
            emit_whole(s, MP_STREAM_KEY, from, to, flags);
        else
            hold(s, from, to);
    } else if (s->quiet == LOUD && (last || to > from)) {
        flags |= (s->first ? MP_STREAM_FIRST : 0) | (last ? MP_STREAM_LAST : 0);
        emit(s, MP_STREAM_STRING, from, (size_t)(to - from), flags);
        s->first = false;
    }
}

static const unsigned char *end_string(struct mp_stream *s, const struct piece *in,
                                       const unsigned char *from, const unsigned char *p)
{
    string_piece(s, from, p, true);
    if (s->is_value)
        end_value(s, in, p + 1);
    else
        s->state = COLON;
    return p + 1;
}

static const unsigned char *fail_string(struct mp_stream *s, const struct piece *in,
                                        const unsigned char *from, const unsigned char *p,
                                        enum fault fault)
{
    string_piece(s, from, p, false);
    return fail(s, in, p, fault);
}

/* The string that is open, from `p` on: to its end, or to that of the piece. `from`:
 * where this piece has its first byte. */
static const unsigned char *string(struct mp_stream *s, const struct piece *in,
                                   const unsigned char *from, const unsigned char *p)
{
    while (p < in->end) {
        switch (s->state) {
        case STRING:
            p = mp_skip_text(p, in->end);
            if (p == in->end)
                break;
            if (*p == '"')
                return end_string(s, in, from, p);
            if (*p != '\\')
                return fail_string(s, in, from, p, CONTROL);
            s->escaped = true;
            s->state = ESCAPE;
            p++;
            break;
        case ESCAPE:
            if (!is_escape(*p))
                return fail_string(s, in, from, p, IN_ESCAPE);
            s->want = 4;
            s->state = *p++ == 'u' ? HEX : STRING;
            break;
        default:
            if (mp_hex_value((char)*p) < 0)
                return fail_string(s, in, from, p, IN_ESCAPE);
            if (--s->want == 0)
                s->state = STRING;
            p++;
        }
    }
    string_piece(s, from, p, false);
    return p;
}

static const unsigned char *begin_string(struct mp_stream *s, const struct piece *in,
                                         const unsigned char *p, bool is_value)
{
    s->is_value = is_value;
    s->first = true;
    s->escaped = false;
    const unsigned char *stop = mp_skip_text(p + 1, in->end);
    if (stop < in->end && *stop == '"')
        return end_string(s, in, p + 1, stop);
    s->state = STRING;
    return string(s, in, p + 1, stop);
}

/* ---- numbers and literals ---- */

static void emit_number(struct mp_stream *s, const unsigned char *from,
                        const unsigned char *to, enum state state)
{
    emit_whole(s, MP_STREAM_NUMBER, from, to,
               state == DIGITS || state == ZERO ? MP_STREAM_INTEGER : 0);
}

/* The number that is open, from `p` on; `from`: where this piece has its first byte. */
static const unsigned char *number(struct mp_stream *s, const struct piece *in,
                                   const unsigned char *from, const unsigned char *p)
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
            emit_number(s, from, p, state);
            end_value(s, in, p);
            return p;
        }
        state = next;
        p++;
    }
    s->state = state;
    hold(s, from, p);
    return p;
}

static const unsigned char *literal(struct mp_stream *s, const struct piece *in,
                                    const unsigned char *p)
{
    const char *rest = s->literal;

    for (; *rest && p < in->end; p++, rest++)
        if (*p != (unsigned char)*rest)
            return fail(s, in, p, CHARACTER);
    s->literal = rest;
    if (*rest)
        return p;
    if (s->quiet == LOUD) /* by its last letters: true, false, null */
        emit(s,
             rest[-1] == 'l'   ? MP_STREAM_NULL
             : rest[-2] == 's' ? MP_STREAM_FALSE
                               : MP_STREAM_TRUE,
             NULL, 0, 0);
    end_value(s, in, p);
    return p;
}

/* ---- values ---- */

static bool begins_scalar(unsigned char c)
{
    return c == '"' || c == '-' || is_digit(c) || c == 't' || c == 'f' || c == 'n';
}

static const unsigned char *begin_value(struct mp_stream *s, struct piece *in,
                                        const unsigned char *p)
{
    if (*p == '{' || *p == '[')
        return open_container(s, in, p);
    if (!begins_scalar(*p))
        return fail(s, in, p, CHARACTER);
    if (s->options & MP_STREAM_ASK && s->quiet == LOUD &&
        (!announce(s, in, p, MP_STREAM_SCALAR) || s->stopped))
        return p;
    switch (*p) {
    case '"':
        return begin_string(s, in, p, true);
    case 't':
    case 'f':
    case 'n':
        s->literal = *p == 't' ? "rue" : *p == 'f' ? "alse" : "ull";
        s->state = LITERAL;
        return literal(s, in, p + 1);
    default:
        s->state = *p == '-' ? MINUS : *p == '0' ? ZERO : DIGITS;
        return number(s, in, p, p + 1);
    }
}

/* Behind a complete value. */
static const unsigned char *behind(struct mp_stream *s, const struct piece *in,
                                   const unsigned char *p)
{
    const unsigned char *next = mp_skip_space(p, in->end);

    if (memchr(p, '\n', (size_t)(next - p)))
        s->newline = true;
    if (next == in->end)
        return next;
    if (!(s->options & MP_STREAM_LINES) || !s->newline)
        return fail(s, in, next, BEHIND);
    s->state = VALUE;
    return next;
}

/* From between the values to the end of the piece, or to where another function goes
 * on. */
static const unsigned char *structure(struct mp_stream *s, struct piece *in,
                                      const unsigned char *p)
{
    while (!over(s) && s->state < DONE) {
        p = mp_skip_space(p, in->end);
        if (p == in->end)
            break;
        switch (s->state) {
        case AFTER:
            if (*p == ',') {
                s->state = s->in_object ? KEY : VALUE;
                p++;
                break;
            }
            if (*p != (s->in_object ? '}' : ']'))
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
        default:
            p = begin_value(s, in, p);
        }
    }
    return p;
}

/* ---- the stream ---- */

static int report(const struct mp_stream *s, struct mcplug_error *err)
{
    struct mp_fault fault = {.kind = s->fault,
                             .byte = s->fault_byte,
                             .limit = MP_STREAM_DEPTH,
                             .at = s->fault_at};

    return mp_fault_report(&fault, err);
}

void mp_stream_init(struct mp_stream *s, unsigned options, mp_stream_fn *report,
                    void *arg)
{
    memset(s, 0, offsetof(struct mp_stream, held));
    s->options = options;
    s->report = report;
    s->arg = arg;
    s->state = VALUE;
}

int mp_stream_feed(struct mp_stream *s, const char *data, size_t len,
                   struct mcplug_error *err)
{
    const unsigned char *p = (const unsigned char *)(data ? data : "");
    struct piece in = {p, p + len, p};

    while (p < in.end && !over(s)) {
        if (s->state < DONE)
            p = structure(s, &in, p);
        else if (s->state == DONE)
            p = behind(s, &in, p);
        else if (s->state <= HEX)
            p = string(s, &in, p, p);
        else if (s->state < LITERAL)
            p = number(s, &in, p, p);
        else if (s->state == LITERAL)
            p = literal(s, &in, p);
        else
            p = skip(s, &in, p);
    }
    if (s->quiet == AS_RAW && !s->stopped)
        emit_raw(s, &in, p, 0);
    s->seen += len;
    return s->fault == NONE ? MCPLUG_OK : report(s, err);
}

int mp_stream_end(struct mp_stream *s, struct mcplug_error *err)
{
    static const unsigned char nothing[1];
    struct piece in = {nothing, nothing, nothing};
    enum state state = s->state;
    enum fault fault = state == DONE ? NONE : NO_VALUE;

    if (s->fault != NONE)
        return report(s, err);
    if (s->stopped)
        return MCPLUG_OK;
    if (s->depth == 0 && number_is_whole(state)) {
        emit_number(s, nothing, nothing, state);
        end_value(s, &in, nothing);
        fault = NONE;
    } else if (state == STRING || state == ESCAPE || state == HEX ||
               (state == SKIPPED && s->skip_string)) {
        fault = ENDS_IN_STRING;
    } else if (state >= MINUS && state <= POWER) {
        fault = ENDS_IN_NUMBER;
    } else if (state == LITERAL) {
        fault = ENDS_IN_LITERAL;
    } else if (s->depth) {
        fault = s->in_object ? ENDS_IN_OBJECT : ENDS_IN_ARRAY;
    }
    s->fault = (uint8_t)fault;
    s->fault_at = s->seen;
    return fault == NONE ? MCPLUG_OK : report(s, err);
}
