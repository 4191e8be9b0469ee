/* Blocks of content, told apart, and each as text: <mcplug/admin.h>. */
#include <mcplug/admin.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "content/base64.h"
#include "content/block.h"
#include "json/walk.h"

#define WORD_MAX ((size_t)1 << 16) /* bytes of a URI or type in a note; else none */

/* ---- telling apart ---- */

static enum mcplug_block_kind kind_of(mp_view type)
{
    static const struct {
        const char *type;
        enum mcplug_block_kind kind;
    } kinds[] = {
        {"text", MCPLUG_BLOCK_TEXT},         {"image", MCPLUG_BLOCK_IMAGE},
        {"audio", MCPLUG_BLOCK_AUDIO},       {"resource_link", MCPLUG_BLOCK_LINK},
        {"resource", MCPLUG_BLOCK_RESOURCE},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (type.len && mp_view_equals(type, kinds[i].type))
            return kinds[i].kind;
    return MCPLUG_BLOCK_OTHER;
}

/* In one pass: what is long is skipped once. */
static void read_members(mp_view object, struct mcplug_block *b, mp_view *type,
                         mp_view *resource)
{
    const struct {
        const char *name;
        mp_view *into;
    } members[] = {
        {"type", type},     {"text", &b->text},     {"data", &b->data},
        {"blob", &b->data}, {"mimeType", &b->mime}, {"uri", &b->uri},
    };
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value)) {
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            if (mp_view_is_string(value) && !members[i].into->len &&
                mp_view_equals(key, members[i].name))
                *members[i].into = value;
        if (mp_view_is_object(value) && mp_view_equals(key, "resource"))
            *resource = value;
    }
}

static struct mcplug_block read_block(mp_view json)
{
    struct mcplug_block b = {.json = json};
    mp_view type = {0}, resource = {0}, none = {0};

    read_members(json, &b, &type, &resource);
    b.kind = kind_of(type);
    if (b.kind == MCPLUG_BLOCK_RESOURCE) {
        b = (struct mcplug_block){.kind = b.kind, .json = json};
        read_members(resource, &b, &type, &none);
    } else if (!type.len && (b.text.len || b.data.len)) {
        b.kind = MCPLUG_BLOCK_CONTENTS;
    }
    return b;
}

/* Between two elements `rest` begins with a comma, which no value does. */
int mcplug_block_next(struct mcplug_bytes *rest, struct mcplug_block *out)
{
    if (!rest || !out)
        return 0;
    struct mp_walk w = {rest->data, rest->data + rest->len};
    mp_view json;

    if (mp_view_is_array(*rest))
        w = mp_walk_into(*rest);
    if (rest->len == 0 || !mp_walk_element(&w, &json))
        return 0;
    *rest = mp_bytes(w.p, (size_t)(w.end - w.p));
    struct mcplug_block block = read_block(json);
    mp_give_struct(out, block);
    return 1;
}

/* ---- data ---- */

struct decoder {
    struct mp_base64 state;
    mcplug_write_fn *write; /* NULL: only count */
    void *arg;
};

static int decode(void *arg, const char *data, size_t len)
{
    struct decoder *d = arg;
    char bytes[4096];
    int more = 1;

    while (len && more && !d->state.malformed) {
        size_t n = len < sizeof bytes ? len : sizeof bytes;
        size_t put = mp_base64_feed(&d->state, data, n, bytes);
        if (d->write && put)
            more = d->write(d->arg, bytes, put);
        data += n;
        len -= n;
    }
    return more && !d->state.malformed;
}

static int write_string(const mcplug_result *result, mp_view string,
                        mcplug_write_fn *write, void *arg, struct mcplug_error *err)
{
    if (!string.len)
        return MCPLUG_OK;
    size_t at = (size_t)((const char *)string.data - mcplug_result_json(result, NULL));
    return mcplug_result_write_string(result, at, write, arg, err);
}

int mcplug_block_write_data(const mcplug_result *result, const struct mcplug_block *block,
                            mcplug_write_fn *write, void *arg, struct mcplug_error *err)
{
    struct decoder d = {.write = write, .arg = arg};

    if (!result || !block || !write)
        return mp_fail_null(err, "`result`, `block` and `write`");
    int r = write_string(result, block->data, decode, &d, err);

    if (r == MCPLUG_OK && d.state.malformed)
        r = mp_fail(err, MCPLUG_EPROTO, "the data is not Base64");
    return r;
}

/* ---- as text ---- */

void mp_block_word(struct mp_str *note, mp_view string, const char *otherwise)
{
    struct mp_str word;

    mp_str_init(&word, WORD_MAX);
    if (string.len <= WORD_MAX)
        mp_str_add_view(&word, string);
    if (string.len)
        mp_str_add_escaped(note, word.data ? word.data : "", word.len, false);
    else
        mp_str_adds(note, otherwise);
    note->failed = note->failed || word.failed; /* it was not too long */
    mp_str_clear(&word);
}

/* `[image/png, 1234 bytes]` */
static int add_size(struct mp_str *note, const mcplug_result *result,
                    const struct mcplug_block *block, struct mcplug_error *err)
{
    struct decoder d = {.write = NULL};
    int r = write_string(result, block->data, decode, &d, err);

    mp_str_addc(note, '[');
    mp_block_word(note, block->mime, "application/octet-stream");
    if (d.state.malformed)
        mp_str_adds(note, ", not Base64]");
    else
        mp_str_addf(note, ", %llu bytes]", (unsigned long long)d.state.size);
    return r;
}

int mp_block_note(struct mp_str *note, const mcplug_result *result,
                  const struct mcplug_block *block, struct mcplug_error *err)
{
    bool embeds = block->kind == MCPLUG_BLOCK_RESOURCE;
    bool links = block->kind == MCPLUG_BLOCK_LINK;

    if (links || (embeds && block->text.len)) {
        mp_str_adds(note, links ? "Resource link: " : "Resource: ");
        mp_block_word(note, block->uri, "");
        mp_str_adds(note, links ? "" : "\n");
    } else if (embeds) {
        mp_str_adds(note, "[Binary resource: ");
        mp_block_word(note, block->uri, "");
        mp_str_adds(note, " (");
        mp_block_word(note, block->mime, "application/octet-stream");
        mp_str_adds(note, ")]");
    } else if (block->kind == MCPLUG_BLOCK_IMAGE || block->kind == MCPLUG_BLOCK_AUDIO ||
               (block->kind == MCPLUG_BLOCK_CONTENTS && !block->text.len)) {
        return add_size(note, result, block, err);
    }
    return MCPLUG_OK;
}

int mcplug_block_write(const mcplug_result *result, const struct mcplug_block *block,
                       mcplug_write_fn *write, void *arg, struct mcplug_error *err)
{
    struct mp_str note;
    int more = 1;

    if (!result || !block || !write)
        return mp_fail_null(err, "`result`, `block` and `write`");
    if (block->kind == MCPLUG_BLOCK_OTHER) {
        const char *json = mcplug_result_json(result, NULL);
        return mcplug_result_write(result,
                                   (size_t)((const char *)block->json.data - json),
                                   block->json.len, write, arg, err);
    }
    mp_str_init(&note, 16 * WORD_MAX); /* every byte of two words may be escaped */
    int r = mp_block_note(&note, result, block, err);
    bool has_text = block->kind == MCPLUG_BLOCK_TEXT ||
                    block->kind == MCPLUG_BLOCK_RESOURCE ||
                    block->kind == MCPLUG_BLOCK_CONTENTS;
    if (r == MCPLUG_OK && note.failed)
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK && note.len)
        more = write(arg, note.data, note.len);
    if (r == MCPLUG_OK && more && has_text)
        r = write_string(result, block->text, write, arg, err);
    mp_str_clear(&note);
    return r;
}
