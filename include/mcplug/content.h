/* mcplug/content.h - what a result is to a model, and results that are kept in files.
 * Part of <mcplug/mcplug.h>.
 *
 * A tool may answer with forty megabytes of JSON, twenty blocks, or the same data twice.
 * What reaches a model has to fit into its conversation, say what was left out, and keep
 * the whole at hand. mcplug_render() turns a result into parts that a model's API takes,
 * texts and images. What is longer than the limit is kept whole in a file, and the model
 * gets a text that names the file and what is in it; or it is cut short, where files are
 * not wanted. The records of a toolbox are made the same way.
 */
#ifndef MCPLUG_CONTENT_H
#define MCPLUG_CONTENT_H

#include <mcplug/mcplug.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a result for a model ------------------------------------------------- */

struct mcplug_render_options {
    uint32_t struct_size;
    uint32_t max_tokens; /* 0: $MAX_MCP_OUTPUT_TOKENS, else 25000 */
    uint32_t whole;      /* not 0: without a limit, but for 16 MiB of text */
    uint32_t no_files;   /* not 0: what is too long is cut; nothing is written. Also if
                            $ENABLE_MCP_LARGE_OUTPUT_FILES is 0, false, no or off */
    uint32_t tail;       /* percent of a text that is cut that its end gets; 0: none */
    uint32_t reserved;   /* 0 */
    /* Whose result it is, in messages and names of files. A server named "ide" is never
     * cut. NULL: "". */
    const char *server, *tool;
    /* The tool as tools/list has it, which may say how long its results can be and what
     * they look like: a JSON object, else MCPLUG_EINVAL. NULL: not known. */
    const char *definition;
    /* The tokens of a text, counted as the model does; < 0: that failed, and nothing is
     * cut. It may run on any thread. NULL: `model` says them. */
    int64_t (*count)(void *arg, const char *text, size_t len);
    void *count_arg;
    /* Who is asked for the tokens of a result that may be too long: once, for 10 seconds
     * at most; if that fails nothing is cut. NULL, or one whose module cannot count: they
     * are estimated. */
    mcplug_model *model;
};

typedef void mcplug_render_fn(void *arg, mcplug_call *call,
                              const mcplug_rendering *content /* borrow */,
                              const struct mcplug_error *why);
/* What a model gets of a result. `content` is NULL with `why`: MCPLUG_EPROTO: it has none
 * of the shapes that the result of a tool may have; MCPLUG_ECANCELED. Long results are
 * worked on by another thread. mcplug_cancel() ends it. */
MCPLUG_API mcplug_call *mcplug_render(mcplug *host, mcplug_result *result,
                                      const struct mcplug_render_options *options,
                                      mcplug_render_fn *done, void *arg,
                                      struct mcplug_error *err);
/* The same, waiting. give: mcplug_rendering_unref */
MCPLUG_API int mcplug_render_wait(mcplug *host, mcplug_result *result,
                                  const struct mcplug_render_options *options,
                                  const mcplug_rendering **out, struct mcplug_error *err);

/* All of the following is [any]. */
MCPLUG_API const mcplug_rendering *mcplug_rendering_ref(const mcplug_rendering *content);
MCPLUG_API void mcplug_rendering_unref(const mcplug_rendering *content);

enum mcplug_part_kind { MCPLUG_PART_TEXT = 1, MCPLUG_PART_IMAGE = 2 };
struct mcplug_part { /* borrow, as long as the content */
    uint32_t struct_size;
    uint32_t kind;    /* enum mcplug_part_kind */
    const char *text; /* UTF-8; of an image Base64. With a NUL behind it */
    size_t len;
    const char *mime; /* of an image: image/png, image/jpeg, image/gif, image/webp, as its
                         bytes say; of a text NULL */
    uint64_t tokens;  /* of a text estimated; of an image by its size */
    uint32_t width, height; /* of an image; 0: not known */
};
/* 0: there are no more. */
MCPLUG_API int mcplug_rendering_part(const mcplug_rendering *content, size_t i,
                                     struct mcplug_part *out);
/* All texts, joined by newlines. `len` may be NULL. */
MCPLUG_API const char *mcplug_rendering_text(const mcplug_rendering *content,
                                             size_t *len);
/* The parts as blocks of MCP, a JSON array with a NUL behind it. NULL: no memory. */
MCPLUG_API const char *mcplug_rendering_json(const mcplug_rendering *content,
                                             size_t *len);

struct mcplug_rendering_info {
    uint32_t struct_size;
    uint32_t is_cut;     /* not 0: something is missing, which the text says */
    uint64_t tokens;     /* of all parts */
    uint64_t characters; /* that the result had, as text */
    const char *stored;  /* the file that has the result whole; NULL: none */
};
MCPLUG_API void mcplug_rendering_info(const mcplug_rendering *content,
                                      struct mcplug_rendering_info *out);

/* About how many tokens a text is to a model, without asking one: within 10 % on average,
 * and 25 % for a single kind of text. */
MCPLUG_API uint64_t mcplug_estimate_tokens(const char *text, size_t len);

/* ---- conversions ----------------------------------------------------------- */

/* What mcplug_render() does to images, for any content that a module can convert: HTML
 * and PDF to text, an image to one that is smaller or fits a terminal. */
struct mcplug_convert_options {
    uint32_t struct_size;
    uint32_t timeout_ms; /* 0: 20 seconds, the start of a process included */
    const char *mime;    /* what it is; NULL: an image or a PDF, as its bytes say */
    const char *want;    /* what is wanted; NULL: the same type */
    uint64_t max_bytes;  /* of what comes out; 0: 64 MiB, which is also the most */
    uint32_t max_width;  /* of an image; 0: as the converter likes */
    uint32_t max_height;
    /* For the converter, on top of the user's settings: a JSON object. NULL: none. */
    const char *settings;
    uint64_t reserved; /* 0 */
};

typedef void mcplug_convert_fn(void *arg, mcplug_call *call,
                               const mcplug_converted *converted /* borrow */,
                               const struct mcplug_error *why);
/* Converts `len` bytes, 64 MiB at most, which are copied. `converted` is NULL with `why`:
 * MCPLUG_ENOTSUP: no module does that, and the text says which package has one;
 * MCPLUG_EPROTO: the content is broken; MCPLUG_ETOOBIG: it cannot be made as small;
 * MCPLUG_EIO: the converter's process ended; MCPLUG_ETIMEDOUT; MCPLUG_ECANCELED.
 * mcplug_cancel() ends it. */
MCPLUG_API mcplug_call *mcplug_convert(mcplug *host, const void *data, size_t len,
                                       const struct mcplug_convert_options *options,
                                       mcplug_convert_fn *done, void *arg,
                                       struct mcplug_error *err);
/* The same, waiting. give: mcplug_converted_unref */
MCPLUG_API int mcplug_convert_wait(mcplug *host, const void *data, size_t len,
                                   const struct mcplug_convert_options *options,
                                   const mcplug_converted **out,
                                   struct mcplug_error *err);

/* All of the following is [any]. */
MCPLUG_API const mcplug_converted *
mcplug_converted_ref(const mcplug_converted *converted);
MCPLUG_API void mcplug_converted_unref(const mcplug_converted *converted);
MCPLUG_API const char *mcplug_converted_mime(const mcplug_converted *converted);
/* Its bytes, with a NUL behind them. */
MCPLUG_API const char *mcplug_converted_data(const mcplug_converted *converted,
                                             size_t *len);
/* What the converter says of it: "width", "pages", .. NULL: nothing of that name. */
MCPLUG_API const char *mcplug_converted_fact(const mcplug_converted *converted,
                                             const char *name);

/* ---- results that are kept [any] ------------------------------------------ */

/* All of them block, and none needs a host. They are private files in one directory,
 * "results" of $XDG_CACHE_HOME/mcplug or ~/.cache/mcplug, and called
 * mcp-SERVER-TOOL-TIME.EXT. They are kept for 7 days, and 4 GiB of them: the oldest go
 * first. `dir` NULL: that directory. A result is named by its file's name, an unambiguous
 * beginning of it, or its path. */

struct mcplug_stored { /* borrow, in the callback */
    uint32_t struct_size;
    uint32_t reserved;
    const char *name, *path;
    const char *server, *tool; /* with _ for all but letters and digits */
    const char *format;        /* "json", "txt", "png", ..: what it ends with */
    uint64_t size;
    int64_t time_ms; /* since the epoch */
};
/* The newest first; `fn` returns 0 to stop. */
MCPLUG_API int mcplug_stored_each(const char *dir,
                                  int (*fn)(void *arg, const struct mcplug_stored *one),
                                  void *arg, struct mcplug_error *err);
/* Reads up to `len` bytes at `offset`. Returns how many, 0 at the end, or an error. With
 * `size`, which may be NULL, how long it is. */
MCPLUG_API int64_t mcplug_stored_read(const char *dir, const char *name, uint64_t offset,
                                      void *buf, size_t len, uint64_t *size,
                                      struct mcplug_error *err);
/* Writes the values that a path leads to, as JSON, each with a newline behind it:
 * .items[3].name, .items[2:5], .items[].id, .["a key"]. In the memory of a page, however
 * long the result is. `fn` takes a piece, and returns 0 to stop, which is no failure.
 * MCPLUG_EINVAL: it is no path; MCPLUG_EPROTO: the result is not JSON. */
MCPLUG_API int mcplug_stored_select(const char *dir, const char *name, const char *path,
                                    int (*fn)(void *arg, const char *data, size_t len),
                                    void *arg, uint64_t *count, struct mcplug_error *err);

struct mcplug_match { /* borrow, in the callback */
    uint32_t struct_size;
    uint32_t is_cut;  /* not 0: `text` is a part of a long line */
    uint64_t offset;  /* of what was found, in bytes from the beginning of the file */
    uint64_t line;    /* from 1 */
    const char *text; /* around it, UTF-8; not NUL-ended */
    size_t len;
    size_t at, match_len; /* where it is in `text` */
};
/* Finds `text`, which is no pattern, from `offset` on; `ignore_case`: letters of ASCII.
 * `fn` returns 0 to stop. */
MCPLUG_API int mcplug_stored_search(const char *dir, const char *name, const char *text,
                                    int ignore_case, uint64_t offset,
                                    int (*fn)(void *arg, const struct mcplug_match *one),
                                    void *arg, struct mcplug_error *err);
MCPLUG_API int mcplug_stored_remove(const char *dir, const char *name,
                                    struct mcplug_error *err);

#ifdef __cplusplus
}
#endif
#endif /* MCPLUG_CONTENT_H */
