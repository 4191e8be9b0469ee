/* What a model gets of a result: texts and images that its API takes, within a limit.
 * Making it reads the result piece by piece, and may write files: it blocks. [any]
 *
 *   answer.c   which part of a result is the answer
 *   content.c  its blocks as parts, counted; what is too long is kept, or cut
 *   cut.c      the share of each part of a limit
 *   fit.c      images that models take, made smaller where they are too large
 *   keep.c     results and data in files, and the text that refers to them
 *   parts.c    the parts, as a program sees them
 *   render.c   all of it beside the loop
 */
#ifndef MP_CONTENT_CONTENT_H
#define MP_CONTENT_CONTENT_H

#include "base/buf.h"
#include "content/image.h"
#include "content/answer.h"
#include "content/store.h"

#include <stdatomic.h>

#define MP_OUTPUT_TOKENS 25000       /* without a limit of the program or the user */
#define MP_CHARS_PER_TOKEN 4         /* as limits count */
#define MP_TOOL_CHARS_MAX 500000     /* that a tool's definition can ask for */
#define MP_CHARS_ASKED 16            /* a token of the limit: above, no model is asked */
#define MP_QUESTION_MAX (4 << 20)    /* bytes that one is asked to count */
#define MP_CONTENT_BLOCKS 4096       /* of one result; there may be more in its file */
#define MP_CONTENT_MEMORY (16 << 20) /* of text, without a limit */
#define MP_IMAGES_MAX (32u << 20)    /* bytes of all images of a result */
#define MP_IMAGES_MS 40000           /* to convert all of them */
#define MP_DATA_MAX (50 << 20)       /* bytes of a block that are saved */
#define MP_DATA_FILES 64             /* blocks of one result of which that is done */

/* What it is to be. Strings are borrow. */
struct mp_content_rules {
    uint32_t max_tokens;
    bool whole;                             /* there is no limit */
    unsigned tail;                          /* percent */
    const char *server, *tool, *definition; /* the latter may be NULL */
    int64_t (*count)(void *arg, const char *text, size_t len); /* NULL: estimated */
    void *count_arg;
    bool asks;              /* a model can be asked to count; `count` goes before */
    struct mp_store *store; /* NULL: no files */
    bool in_toolbox;        /* which has tools that read resources and stored results */
    struct mp_converters *converters; /* for images; NULL: none */
    const atomic_bool *cancelled;     /* for conversions; NULL: cannot be */
};

/* ---- parts.c ---- */

struct mp_part {
    struct mp_str text;    /* of an image, Base64 */
    struct mp_image image; /* `mime` NULL: it is a text */
    uint64_t tokens;
};

struct mcplug_rendering {
    atomic_uint refs;
    struct mp_part *parts;
    size_t n, cap;
    struct mp_str text; /* all texts, joined; not set where a part is all there is */
    uint64_t chars;     /* that the result had */
    bool is_cut;
    char *stored;         /* NULL: none */
    char *warning;        /* for the log; NULL: none */
    _Atomic(char *) json; /* once asked for */
};

mcplug_rendering *
mp_content_new(void); /* give: mcplug_rendering_unref; NULL: no memory */
/* One more, empty, of which the caller fills the members; NULL: no memory. */
struct mp_part *mp_content_add(mcplug_rendering *c, size_t max);
/* All parts are there: counts them and joins their texts. */
int mp_content_finish(mcplug_rendering *c, struct mcplug_error *err);

/* ---- content.c ---- */

/* One block on its way. Its text is `head`, then a string or JSON of the result. */
struct mp_item {
    struct mp_str head;
    mp_view string;        /* with its quotes; len 0: none */
    mp_view json;          /* len 0: none */
    uint64_t chars;        /* of all three */
    int priority;          /* 0..1000, of its annotations */
    struct mp_image image; /* `mime` set: it is one, .. */
    struct mp_str data;    /* .. and this is its Base64 */
    /* What the cut leaves: characters from the beginning and from the end. */
    uint64_t keep, keep_tail;
    bool kept;
};

struct mp_make {
    const mcplug_result *result;
    const struct mp_content_rules *rules;
    struct mp_answer answer;
    struct mp_item *items;
    size_t n, cap;
    bool has_more; /* blocks than are looked at */
    size_t n_images, n_user, n_files;
    size_t image_bytes;     /* of all of them */
    uint64_t convert_until; /* ms; 0: nothing was converted yet */
    uint64_t chars;         /* of all texts */
    bool is_too_long;
    struct mp_str question; /* what a model is to count; empty: nothing */
    mcplug_rendering *content;
    struct mcplug_error *err;
};

/* What a count says that has no number. */
enum {
    MP_COUNT_FAILED = -1, /* nothing is cut */
    MP_COUNT_NONE = -2    /* there was none: the tokens are estimated */
};

/* In two steps, so that a model can be asked between them: m->question. `result` and
 * `rules` are borrow until mp_make_clear(). MCPLUG_EPROTO: it has no shape of a result.
 * After a failure there is no second step. */
void mp_make_init(struct mp_make *m, const mcplug_result *result,
                  const struct mp_content_rules *rules);
int mp_make_begin(struct mp_make *m, struct mcplug_error *err);
/* `tokens` is the answer to the question, if there is one. give */
int mp_make_end(struct mp_make *m, int64_t tokens, mcplug_rendering **out,
                struct mcplug_error *err);
void mp_make_clear(struct mp_make *m);
/* Both at once: what a model would be asked is estimated. give */
int mp_content_make(const mcplug_result *result, const struct mp_content_rules *rules,
                    mcplug_rendering **out, struct mcplug_error *err);

/* Writes the text of an item whole. */
int mp_item_write(const struct mp_make *m, const struct mp_item *item,
                  mcplug_write_fn *write, void *arg);

/* ---- cut.c ---- */

/* Decides what is kept of each item, `limit` characters in all. An image counts as
 * MP_IMAGE_TOKENS; one for which that is not left is given to `shrink`, and if that has
 * made it of no more than so many bytes, counts as its Base64. */
typedef bool mp_shrink_fn(void *arg, struct mp_item *item, uint64_t bytes);
void mp_cut_share(struct mp_item *items, size_t n, uint64_t limit, unsigned tail,
                  mp_shrink_fn *shrink, void *arg);
extern const char mp_cut_warning[]; /* a format, with the limit in tokens */

/* ---- fit.c ---- */

/* The image of a block: its Base64 as APIs want it, and what it really is, made smaller
 * if models do not take it as it is. If that cannot be done it is a note, and saved. */
int mp_fit_image(struct mp_make *m, struct mp_item *item,
                 const struct mcplug_block *block);
/* For mp_cut_share(); `arg` is the mp_make. */
bool mp_fit_shrink(void *arg, struct mp_item *item, uint64_t bytes);

/* ---- keep.c ---- */

/* Saves the data of a block, decoded, and adds a line on where; or why not. Nothing
 * without a store. */
void mp_keep_data(struct mp_make *m, const struct mcplug_block *block,
                  struct mp_str *out);
/* Keeps the whole result in a file, content->stored, and adds what refers to it. On
 * failure it adds what a model is told of that. MCPLUG_ENOMEM alone fails. */
int mp_keep_whole(struct mp_make *m, struct mp_str *out);

#endif
