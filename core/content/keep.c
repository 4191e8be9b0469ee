/* Results and data of blocks in files, and what a model is told of them. */
#include "content/content.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "content/summary.h"

#include <stdio.h>
#include <string.h>

/* Of a file without a name, what a summary looks at. */
#define SUMMARY_BYTES ((uint64_t)1 << 28)

/* 1,234,567 */
static void add_grouped(struct mp_str *out, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            mp_str_addc(out, ',');
        mp_str_addc(out, digits[i]);
    }
}

/* ---- data of one block ---- */

struct data_sink {
    struct mp_store_file *file;
    struct mcplug_error err;
    uint64_t size;
    int r;
};

static int write_data(void *arg, const char *data, size_t len)
{
    struct data_sink *s = arg;

    s->size += len;
    if (s->size > MP_DATA_MAX)
        s->r = mp_fail(&s->err, MCPLUG_ETOOBIG, "it has more than %d MiB",
                       MP_DATA_MAX >> 20);
    else
        s->r = mp_store_write(s->file, data, len, &s->err);
    return s->r == MCPLUG_OK;
}

/* give; "" for what is missing or too long; NULL: no memory */
static char *text_of(mp_view string)
{
    return string.len && string.len <= 4096 ? mp_view_strdup(string) : mp_strdup("");
}

/* A name from the last part of its URI, and what its type is called. */
static int commit_data(struct mp_make *m, const struct mcplug_block *block,
                       struct data_sink *s, char **path)
{
    char *uri = text_of(block->uri), *mime = text_of(block->mime);
    struct mp_str name;

    mp_str_init(&name, 4096);
    mp_str_adds(&name, "");
    int r = uri && mime && !name.failed ? MCPLUG_OK : mp_fail_nomem(&s->err);
    if (r == MCPLUG_OK) {
        mp_safe_name(uri, strlen(uri), &name);
        r = name.failed ? mp_fail_nomem(&s->err) : MCPLUG_OK;
    }
    if (r == MCPLUG_OK) {
        const char *ext = mp_mime_extension(mime, strlen(mime));
        /* what the name ends with says more than a type that is not known */
        const char *dot = strrchr(name.data, '.');
        bool has_ext = dot && dot != name.data && strcmp(ext, ".bin") == 0;
        r = mp_store_commit(mp_move(&s->file), m->rules->server, m->rules->tool,
                            name.len ? name.data : NULL, has_ext ? "" : ext, path,
                            &s->err);
    }
    mp_str_clear(&name);
    mp_free(mime);
    mp_free(uri);
    return r;
}

void mp_keep_data(struct mp_make *m, const struct mcplug_block *block, struct mp_str *out)
{
    struct data_sink s = {.file = NULL};
    char *path = NULL;

    if (!m->rules->store || block->data.len <= 2)
        return;
    mp_error_init(&s.err);
    int r = MCPLUG_OK;
    if (m->n_files == MP_DATA_FILES) /* one result is not to replace all others */
        r = mp_fail(&s.err, MCPLUG_ETOOBIG, "it is more than %d files of one result",
                    MP_DATA_FILES);
    else if (block->data.len / 4 * 3 > MP_DATA_MAX + 4) /* before anything is decoded */
        r = mp_fail(&s.err, MCPLUG_ETOOBIG, "it has more than %d MiB", MP_DATA_MAX >> 20);
    if (r == MCPLUG_OK)
        r = mp_store_begin(m->rules->store, &s.file, &s.err);
    if (r == MCPLUG_OK)
        r = mcplug_block_write_data(m->result, block, write_data, &s, &s.err);
    r = r == MCPLUG_OK ? s.r : r;
    if (r == MCPLUG_OK)
        r = commit_data(m, block, &s, &path);
    if (r == MCPLUG_OK) {
        m->n_files++;
        mp_str_adds(out, "\nSaved to ");
        mp_str_add_escaped(out, path, strlen(path), false);
        mp_str_addf(out, " (%llu bytes).", (unsigned long long)s.size);
    } else {
        mp_str_addf(out, "\nNot saved: %s.", s.err.text);
    }
    mp_store_drop(s.file);
    mp_free(path);
}

/* ---- a whole result ---- */

struct whole {
    struct mp_make *m;
    struct mp_store_file *file; /* NULL: it is only looked at */
    struct mp_summary *summary;
    struct mcplug_error err; /* of the file; a model is told of it */
    uint64_t size, chars;
    int r;
};

static int take_piece(void *arg, const char *data, size_t len)
{
    struct whole *w = arg;

    if (w->file && w->r == MCPLUG_OK)
        w->r = mp_store_write(w->file, data, len, &w->err);
    mp_summary_feed(w->summary, data, len);
    w->size += len;
    if (!w->file && w->size >= SUMMARY_BYTES) /* enough to say what it is */
        return 0;
    return w->r == MCPLUG_OK;
}

/* The one text that the result is; NULL: it is more than that. */
static const struct mp_item *only_text(const struct mp_make *m)
{
    const struct mp_item *item = m->n == 1 ? m->items : NULL;
    bool is_one =
        item && item->string.len && !item->head.len && !m->has_more &&
        (m->answer.kind == MCPLUG_ANSWER_TEXT || mp_view_count(m->answer.part) == 1);
    return is_one ? item : NULL;
}

static int write_whole(struct whole *w)
{
    const struct mp_make *m = w->m;
    const struct mp_item *text = only_text(m);

    if (text)
        return mp_item_write(m, text, take_piece, w);
    if (m->answer.beside.len) /* then neither is the whole */
        return mcplug_result_write(m->result, 0, SIZE_MAX, take_piece, w, m->err);
    size_t at =
        (size_t)((const char *)m->answer.part.data - mcplug_result_json(m->result, NULL));
    return mcplug_result_write(m->result, at, m->answer.part.len, take_piece, w, m->err);
}

/* Did its text go to a file of its own while it came? Then that file can stay. */
static int spill_of(const struct mp_make *m, uint64_t *size)
{
    const struct mp_item *text = only_text(m);
    struct mcplug_spill spill = {.struct_size = sizeof spill};
    uint64_t offset = 1;

    if (!text || mcplug_result_spills(m->result) != 1 ||
        mcplug_result_spill(m->result, 0, &spill) != MCPLUG_OK)
        return -1;
    int fd = mcplug_result_spill_fd(m->result, 0, &offset);
    *size = spill.size;
    return offset == 0 ? fd : -1;
}

static int store_whole(struct whole *w, char **path)
{
    const struct mp_content_rules *rules = w->m->rules;
    uint64_t size = 0;
    int fd = spill_of(w->m, &size);
    int r = MCPLUG_OK;

    w->summary = mp_summary_new();
    if (!w->summary)
        return mp_fail_nomem(&w->err);
    if (fd < 0)
        r = mp_store_begin(rules->store, &w->file, &w->err);
    if (r == MCPLUG_OK)
        r = write_whole(w);
    r = r == MCPLUG_OK ? w->r : r;
    mp_summary_end(w->summary, fd >= 0 && w->size < size);
    const char *ext = mp_summary_is_json(w->summary) ? ".json" : ".txt";
    if (r == MCPLUG_OK && fd >= 0)
        r = mp_store_adopt(rules->store, fd, size, rules->server, rules->tool, ext, path,
                           &w->err);
    else if (r == MCPLUG_OK)
        r = mp_store_commit(mp_move(&w->file), rules->server, rules->tool, NULL, ext,
                            path, &w->err);
    w->size = fd >= 0 ? size : w->size;
    mp_store_drop(w->file);
    w->file = NULL;
    return r;
}

static void add_reference(const struct whole *w, const char *path, struct mp_str *out)
{
    const struct mp_content_rules *rules = w->m->rules;
    const char *name = strrchr(path, '/') + 1;
    bool is_json = mp_summary_is_json(w->summary);

    mp_str_adds(out, "The result has ");
    add_grouped(out, w->m->chars);
    mp_str_addf(out,
                " characters, which exceeds the limit of %u tokens. It was saved whole.\n"
                "Path: ",
                rules->max_tokens);
    mp_str_add_escaped(out, path, strlen(path), false);
    mp_str_addf(out,
                "\nSize: %llu bytes\nFormat: %s\nSummary: ", (unsigned long long)w->size,
                is_json ? "JSON" : "text");
    mp_summary_add(w->summary, out);
    mp_str_adds(out, "\n");
    if (rules->in_toolbox)
        mp_str_addf(out,
                    "The tool read_result reads parts of it (\"result\": \"%s\", with "
                    "\"offset\" and \"length\"%s), and search_result finds text in it.",
                    name, is_json ? ", or \"path\" such as \".items[0:10]\"" : "");
    else
        mp_str_addf(out,
                    "`mcplug results show %s` prints parts of it (--offset and "
                    "--length%s), and `mcplug results grep TEXT %s` finds text in it.",
                    name, is_json ? ", or --path such as '.items[0:10]'" : "", name);
}

static void add_failure(const struct whole *w, struct mp_str *out)
{
    mp_str_adds(out, "Error: result (");
    add_grouped(out, w->m->chars);
    mp_str_addf(
        out,
        " characters) exceeds maximum allowed tokens. Failed to save output to "
        "file: %s. If this MCP server provides pagination or filtering tools, use "
        "them to retrieve specific portions of the data.",
        w->err.text);
}

int mp_keep_whole(struct mp_make *m, struct mp_str *out)
{
    struct whole w = {.m = m};
    char *path = NULL;

    mp_error_init(&w.err);
    int r = store_whole(&w, &path);
    if (r != MCPLUG_OK && !w.err.text[0]) /* it could not be read */
        w.err = *m->err;
    if (r == MCPLUG_OK)
        add_reference(&w, path, out);
    else
        add_failure(&w, out);
    if (r != MCPLUG_OK) {
        m->content->warning = mp_strdup(w.err.text);
        r = MCPLUG_OK;
    }
    m->content->stored = path;
    mp_summary_free(w.summary);
    return out->failed ? mp_fail_nomem(m->err) : r;
}
