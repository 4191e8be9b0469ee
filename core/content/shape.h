/* The shape of a JSON document: which types, keys, lengths and ranges its values have,
 * gathered from the events of a stream. All elements of an array are merged into one, and
 * so are the members of an object that is used as a map. What is kept does not grow with
 * the document. Private to core/content. */
#ifndef MP_CONTENT_SHAPE_H
#define MP_CONTENT_SHAPE_H

#include "content/summary.h"
#include "json/stream.h"
#include "json/walk.h"

enum {
    MP_SHAPE_NODES = 96,  /* places in a document that are told apart */
    MP_SHAPE_DEPTH = 6,   /* levels of arrays and objects */
    MP_SHAPE_KEYS = 24,   /* keys of one object */
    MP_SHAPE_KEY = 48,    /* bytes of a key */
    MP_SHAPE_SAMPLE = 24, /* characters of a string */
    MP_SHAPE_NUMBER = 24, /* bytes of a number that is no 64-bit integer, NUL included */
};

struct mp_shape_sample {
    uint8_t len;
    bool cut;
    char text[4 * MP_SHAPE_SAMPLE];
};

/* What is known of the values at one place. Others of them are named by their index. */
struct mp_shape_node {
    uint8_t next;        /* the same object's next key, or the next that is free */
    uint8_t first, last; /* its keys, if it is an object */
    uint8_t elements;    /* if it is an array */
    uint8_t n_keys;
    bool map;     /* the keys are merged into `first` */
    bool starved; /* members were not looked at for want of nodes */
    bool open;    /* the last value was not complete */

    uint8_t key_kept;
    size_t key_len;
    uint64_t key_hash; /* of one that is longer than what is kept */
    char key[MP_SHAPE_KEY];

    uint64_t present;  /* objects that have this key */
    uint64_t instance; /* the last of them, as `objects` of the one that it is a key of */

    uint64_t objects, arrays, strings, integers, reals, trues, falses, nulls;
    uint64_t others;                /* members whose keys are not kept */
    uint64_t least_keys, most_keys; /* of one object */
    uint64_t least, most;           /* elements of one array */
    int64_t least_integer, most_integer;
    double least_real, most_real;
    char least_text[MP_SHAPE_NUMBER], most_text[MP_SHAPE_NUMBER]; /* of these */
    uint64_t longest; /* characters of a string */
    uint8_t n_samples;
    bool more_samples; /* there are other strings */
    struct mp_shape_sample samples[2];
};

struct mp_shape {
    uint64_t values; /* at the top */

    /* private to shape.c from here on */
    uint8_t free, used; /* nodes */
    uint8_t current;    /* the node of the value that follows a key */
    uint8_t string;     /* of the string that is open */
    uint32_t depth;     /* frames in use */
    struct {
        uint8_t node;
        uint8_t expected; /* the next key, if it is as it was last time */
        bool object;
        uint64_t n; /* members or elements up to here */
    } frames[MP_SHAPE_DEPTH];

    bool in_string, escapes;
    uint64_t chars; /* of the string that is open */
    struct mp_unescape unescape;
    uint8_t begun_len; /* its beginning, unescaped */
    bool begun_cut;
    char begun[4 * MP_SHAPE_SAMPLE + 4];

    struct mp_shape_node nodes[MP_SHAPE_NODES];
};

void mp_shape_init(struct mp_shape *s);

/* An mp_stream_fn, for a stream without MP_STREAM_ASK; `arg` is the shape. */
enum mp_stream_answer mp_shape_event(void *arg, const struct mp_stream_event *event);

/* No more events come: what is open has as much as was reported. */
void mp_shape_end(struct mp_shape *s);

/* One line for a model, never longer than a summary may be. */
struct mp_brief {
    size_t len;
    bool full; /* something did not fit, and nothing was added since */
    char text[MP_SUMMARY_MAX];
};

void mp_brief_add(struct mp_brief *b, const char *text);
void mp_brief_addu(struct mp_brief *b, uint64_t number);
/* In quotes, with what is no printable character escaped. At most `chars` characters;
 * `cut`: there were more. */
void mp_brief_quote(struct mp_brief *b, const char *text, size_t len, size_t chars,
                    bool cut);
/* As it is if it looks like a name, or else in quotes. */
void mp_brief_name(struct mp_brief *b, const char *text, size_t len, bool cut);

/* Adds what it looks like, behind what `b` has, with as much detail as fits. */
void mp_shape_print(const struct mp_shape *s, struct mp_brief *b);

/* Characters of UTF-8 there; of other bytes, those that do not continue one. */
size_t mp_shape_chars(const char *text, size_t len);

#endif
