/* The stream: reads JSON of any size as it comes, piece by piece, and reports what it is
 * made of to a callback. It checks RFC 8259 within a limit of depth, but not UTF-8, which
 * is left to those who want text. It allocates nothing, keeps at most the part of a key
 * or number that a piece ended in, and reports the same however the text is cut into
 * pieces, but for where strings and raw values are cut. */
#ifndef MP_JSON_STREAM_H
#define MP_JSON_STREAM_H

#include <mcplug/types.h>

#include <stdbool.h>

enum {
    MP_STREAM_DEPTH = 512, /* how deep arrays and objects may nest */
    MP_STREAM_HELD = 4096, /* the most that is reported of a key or number */
};

enum mp_stream_kind {
    MP_STREAM_OBJECT, /* begins */
    MP_STREAM_ARRAY,  /* begins */
    MP_STREAM_SCALAR, /* another value begins; only with MP_STREAM_ASK */
    MP_STREAM_END,    /* of the object or array */
    MP_STREAM_KEY,    /* raw, without quotes; the value follows */
    MP_STREAM_STRING, /* a piece of one, raw, without quotes */
    MP_STREAM_NUMBER, /* as it is written */
    MP_STREAM_TRUE,
    MP_STREAM_FALSE,
    MP_STREAM_NULL,
    MP_STREAM_RAW, /* a piece of a value for which MP_STREAM_AS_RAW was returned */
};

enum mp_stream_flags {
    MP_STREAM_FIRST = 1,   /* STRING and RAW: the first piece .. */
    MP_STREAM_LAST = 2,    /* .. the last, which may be empty */
    MP_STREAM_ESCAPED = 4, /* KEY, STRING: a backslash was in it, up to here */
    MP_STREAM_CUT = 8, /* KEY, NUMBER: the first MP_STREAM_HELD bytes of a longer one */
    MP_STREAM_INTEGER = 16 /* NUMBER: without fraction and exponent */
};

struct mp_stream_event {
    enum mp_stream_kind kind;
    uint32_t depth;   /* of the value, or of the value of the key: 0 is the document */
    const char *data; /* borrow, for the time of the call */
    size_t len;
    unsigned flags;
};

/* How to go on. All but GO and STOP are answers to OBJECT, ARRAY and SCALAR, about the
 * value that begins; to other events they are the same as GO. */
enum mp_stream_answer {
    MP_STREAM_GO,
    /* Reports the value as RAW instead. It is checked all the same. */
    MP_STREAM_AS_RAW,
    /* Reports nothing of the value, not even its END, and checks only that quotes and
     * brackets match: the fast way. */
    MP_STREAM_SKIP,
    /* The same for all that is left of the array or object which the value is in, whose
     * END is reported. */
    MP_STREAM_SKIP_REST,
    MP_STREAM_STOP, /* no more events: what is fed from now on is ignored */
};

typedef enum mp_stream_answer mp_stream_fn(void *arg,
                                           const struct mp_stream_event *event);

enum mp_stream_options {
    MP_STREAM_ASK = 1,  /* SCALAR is reported before STRING, NUMBER, TRUE, FALSE, NULL */
    MP_STREAM_LINES = 2 /* not one value but any number, each on lines of its own */
};

struct mp_stream {
    uint64_t seen; /* bytes before the piece at hand */
    bool stopped;  /* the callback returned MP_STREAM_STOP */

    /* private to stream.c from here on */
    mp_stream_fn *report;
    void *arg;
    unsigned options;
    uint8_t state;
    uint8_t quiet;    /* how the value at `base` is crossed */
    uint8_t want;     /* hex digits still to come */
    bool is_value;    /* the string that is open, not a key */
    bool first;       /* .. of which nothing was reported or held */
    bool escaped;     /* .. in which a backslash was */
    bool raw_first;   /* no piece of the raw value was reported */
    bool newline;     /* one came behind the last value */
    bool in_object;   /* what is open at `depth` is one, no array */
    bool skip_string; /* inside a string that is skipped .. */
    bool skip_escape; /* .. behind a backslash */
    bool skip_rest;   /* the end of what is skipped is reported */
    bool held_cut;    /* there was more than is held */
    uint32_t depth;
    uint32_t base; /* depth of the value that is quiet or skipped */
    uint32_t held_len;
    const char *literal; /* the rest of true, false or null */
    uint8_t fault, fault_byte;
    uint64_t fault_at;
    uint64_t is_object[MP_STREAM_DEPTH / 64]; /* one bit per level */
    char held[MP_STREAM_HELD];
};

void mp_stream_init(struct mp_stream *s, unsigned options, mp_stream_fn *report,
                    void *arg);

/* The next piece. MCPLUG_OK; MCPLUG_EPROTO (not JSON) or MCPLUG_ETOOBIG (too deep), with
 * `err` naming what was wrong and at which byte. A stream that failed stays failed. What
 * came before the bad byte was reported. */
int mp_stream_feed(struct mp_stream *s, const char *data, size_t len,
                   struct mcplug_error *err);

/* The text is over: was it complete? A number at the very end is reported now. */
int mp_stream_end(struct mp_stream *s, struct mcplug_error *err);

#endif
