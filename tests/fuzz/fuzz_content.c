/* What a model gets of any result, under any rules: texts are UTF-8, images are images,
 * what is cut is within the limit, and what is not cut is whole. */
#include "base/mem.h"
#include "base/text.h"
#include "content/base64.h"
#include "content/content.h"
#include "must.h"
#include "rpc/assembler.h"

#include <stdio.h>
#include <unistd.h>

/* The first byte of the input. */
enum {
    FILES = 0x81, /* both bits: they cost time */
    WHOLE = 0x02,
    IN_TOOLBOX = 0x04,
    ALLOWED = 0x08, /* a definition with a limit of its own */
    BLOCKS = 0x10,  /* what follows are blocks .. */
    BESIDE = 0x20,  /* .. up to a byte SPLIT, then structured content */
    SPILLED = 0x40, /* long strings are in a file */
};
#define SPLIT 0x1e

static char dir[64];
static struct mp_store *store;

/* ---- the result ---- */

static void add_result(struct mp_str *out, const uint8_t *data, size_t size, int flags)
{
    const uint8_t *split = size && flags & BESIDE ? memchr(data, SPLIT, size) : NULL;
    size_t len = split ? (size_t)(split - data) : size;

    mp_str_adds(out, flags & BLOCKS ? "{\"content\":[" : "");
    mp_str_add(out, data, len);
    mp_str_adds(out, flags & BLOCKS ? "]" : "");
    if (split && flags & BLOCKS) {
        mp_str_adds(out, ",\"structuredContent\":");
        mp_str_add(out, split + 1, size - len - 1);
    }
    mp_str_adds(out, flags & BLOCKS ? "}" : "");
}

/* give; NULL: it could not come from a server. */
static mp_message *plain(const struct mp_str *json)
{
    mp_message *m = NULL;

    if (mp_scan_text(json->data, json->len, &mp_scan_defaults, NULL, NULL) == MCPLUG_OK &&
        (m = mp_message_new(json->data, json->len, NULL)))
        mp_message_expose(m, (struct mp_span){0, json->len});
    return m;
}

static mp_message *spilled(const struct mp_str *json)
{
    static const struct mp_assembler_limits limits = {
        .scan = {.depth = 64, .tokens = 1000},
        .memory = 512,
        .spill = 1 << 16,
        .dir = "/dev/shm",
    };
    struct mp_assembler a;
    struct mp_str text;
    mp_message *m = NULL;

    mp_str_init(&text, 1 << 20);
    mp_str_addf(&text, "{\"padding\":\"%0200d\",\"result\":", 0);
    mp_str_add(&text, json->data, json->len);
    mp_str_addc(&text, '}');
    mp_assembler_init(&a, &limits);
    mp_assembler_feed(&a, mp_bytes(text.data, text.len), MP_PIECE_LAST, &m);
    mp_assembler_clear(&a);
    mp_str_clear(&text);
    if (m && (m->state != MP_MESSAGE_READ || !m->env.result.len)) {
        mp_message_unref(m);
        m = NULL;
    }
    if (m)
        mp_message_expose(m, m->env.result);
    return m;
}

/* ---- what must be true of it ---- */

static uint64_t chars_of(const char *text, size_t len)
{
    uint64_t n = 0;

    for (size_t i = 0, k; i < len; i += k, n++)
        MUST((k = mp_utf8_len((const unsigned char *)text + i, len - i)));
    return n;
}

static void check_image(const struct mcplug_part *p)
{
    struct mp_base64 b = {0};
    char *bytes = malloc(p->len + 1);

    MUST(bytes && p->mime);
    size_t n = mp_base64_feed(&b, p->text, p->len, bytes);
    struct mp_image image = mp_image_look(bytes, n);
    MUST(!b.malformed && p->len % 4 == 0);
    MUST(image.mime && strcmp(image.mime, p->mime) == 0);
    MUST(image.width == p->width && image.height == p->height);
    free(bytes);
}

struct sums {
    uint64_t chars, images, tokens;
};

static struct sums check_parts(const mcplug_rendering *c)
{
    struct mcplug_part p = {.struct_size = sizeof p};
    struct mp_str joined;
    struct sums sums = {0};
    size_t len, texts = 0;

    mp_str_init(&joined, SIZE_MAX / 2);
    mp_str_adds(&joined, "");
    for (size_t i = 0; mcplug_rendering_part(c, i, &p); i++) {
        MUST(p.text[p.len] == '\0');
        sums.tokens += p.tokens;
        if (p.kind == MCPLUG_PART_IMAGE) {
            check_image(&p);
            sums.images++;
            continue;
        }
        MUST(p.kind == MCPLUG_PART_TEXT && !p.mime);
        sums.chars += chars_of(p.text, p.len);
        mp_str_adds(&joined, texts++ ? "\n" : "");
        mp_str_add(&joined, p.text, p.len);
    }
    const char *text = mcplug_rendering_text(c, &len);
    MUST(len == joined.len && memcmp(text, joined.data, len) == 0 && !text[len]);
    mp_str_clear(&joined);
    const char *json = mcplug_rendering_json(c, &len);
    MUST(json && mp_scan_text(json, len, &mp_scan_defaults, NULL, NULL) == MCPLUG_OK);
    MUST(mcplug_rendering_json(c, NULL) == json);
    return sums;
}

static void check_cut(const struct sums *sums, const struct mp_content_rules *rules)
{
    uint64_t limit = (uint64_t)rules->max_tokens * MP_CHARS_PER_TOKEN;
    char warning[1024];
    int len = snprintf(warning, sizeof warning, mp_cut_warning, rules->max_tokens);

    MUST(sums->chars >= (uint64_t)len);
    MUST(sums->chars - (uint64_t)len +
             sums->images * MP_IMAGE_TOKENS * MP_CHARS_PER_TOKEN <=
         limit);
}

static int add_piece(void *arg, const char *data, size_t len)
{
    return mp_str_add(arg, data, len);
}

/* Every block of text that is for anybody is there, in its order. */
static void check_whole(const mcplug_result *result, const mcplug_rendering *c)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    struct mcplug_part p = {.struct_size = sizeof p};
    struct mcplug_bytes rest;
    struct mp_str text;
    size_t at = 0;

    mp_str_init(&text, SIZE_MAX / 2);
    if (mcplug_result_answer(result, &rest) == MCPLUG_ANSWER_BLOCKS)
        while (mcplug_block_next(&rest, &block)) {
            if ((block.kind != MCPLUG_BLOCK_TEXT && block.kind != MCPLUG_BLOCK_OTHER) ||
                mp_view_get(block.json, "annotations").len || block.data.len)
                continue;
            mp_str_reset(&text);
            mp_str_adds(&text, "");
            MUST(mcplug_block_write(result, &block, add_piece, &text, NULL) == MCPLUG_OK);
            do
                MUST(mcplug_rendering_part(c, at++, &p));
            while (p.mime || p.len != text.len || memcmp(p.text, text.data, p.len) != 0);
        }
    mp_str_clear(&text);
}

static int remove_one(void *arg, const struct mcplug_stored *one)
{
    ++*(size_t *)arg;
    return unlink(one->path) == 0;
}

static void check(const mcplug_result *result, const mcplug_rendering *c,
                  const struct mp_content_rules *rules)
{
    struct mcplug_rendering_info info = {.struct_size = sizeof info};
    struct sums sums = check_parts(c);

    mcplug_rendering_info(c, &info);
    MUST(info.tokens == sums.tokens);
    MUST(!info.stored || (info.is_cut && access(info.stored, R_OK) == 0));
    if (!info.is_cut)
        MUST(info.characters == sums.chars);
    if (!info.is_cut)
        check_whole(result, c);
    else if (!rules->store && !rules->whole)
        check_cut(&sums, rules);
}

/* ---- one input ---- */

static int64_t count(void *arg, const char *text, size_t len)
{
    (void)text;
    return (int64_t)len / *(int *)arg - 1;
}

static void forget(void)
{
    rmdir(dir);
    mp_store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char definition[96];
    struct mp_str json;
    mcplug_rendering *c = NULL;
    mp_message *m;

    if (!store) {
        snprintf(dir, sizeof dir, "/dev/shm/fuzz_content.%d", (int)getpid());
        store = mp_store_new(dir, 0, 0);
        atexit(forget);
    }
    if (size < 3)
        return 0;
    int flags = data[0], divisor = data[2] % 5;
    struct mp_content_rules rules = {
        .max_tokens = data[1] < 128 ? data[1] + 1u : (data[1] - 127u) * 100,
        .tail = data[2] % 100,
        .server = "srv",
        .tool = "tool",
        .whole = flags & WHOLE,
        .in_toolbox = flags & IN_TOOLBOX,
        .definition = flags & ALLOWED ? definition : NULL,
        .count = divisor ? count : NULL,
        .count_arg = &divisor,
        .store = (flags & FILES) == FILES ? store : NULL,
    };
    snprintf(definition, sizeof definition,
             "{\"_meta\":{\"anthropic/maxResultSizeChars\":%d}}", data[2] * 8);
    mp_str_init(&json, 1 << 20);
    add_result(&json, data + 3, size - 3, flags);
    m = flags & SPILLED ? spilled(&json) : plain(&json);
    mp_str_clear(&json);
    if (m) {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        size_t n = 0;
        int r = mp_content_make(m, &rules, &c, &why);
        MUST(r == MCPLUG_OK ? c != NULL : !c && r == MCPLUG_EPROTO && why.text[0]);
        if (c)
            check(m, c, &rules);
        if (rules.store)
            mcplug_stored_each(dir, remove_one, &n, NULL);
        MUST(n <= MP_DATA_FILES + 1);
    }
    mcplug_rendering_unref(c);
    mp_message_unref(m);
    return 0;
}
