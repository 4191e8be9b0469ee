#include "cli/skills/skills.h"

#include "base/buf.h"
#include "base/error.h"
#include "cli/skills/yaml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_SHOWN 80 /* bytes of a value, in a message */
#define DEPTH_MAX 64   /* of frontmatter; what YAML may have is less */

/* ---- size and digest ---- */

struct measure {
    struct mp_sha256 sha;
    uint64_t size, expected;
    struct mp_str *begin; /* gets the first bytes, as many as fit; NULL: nothing does */
};

/* What is more than expected is counted, for the message, but not without end. */
static int measure(void *arg, const char *data, size_t len)
{
    struct measure *m = arg;

    m->size += len;
    if (m->size > m->expected)
        return m->size <= CLI_SKILL_BYTES_MAX;
    mp_sha256_add(&m->sha, data, len);
    if (m->begin) {
        size_t room = m->begin->max - m->begin->len;
        mp_str_add(m->begin, data, len < room ? len : room);
    }
    return 1;
}

int cli_skill_write(const struct cli_doc *doc, const struct mcplug_block *part,
                    mcplug_write_fn *write, void *arg)
{
    if (part->data.len)
        return mcplug_block_write_data(doc->result, part, write, arg, NULL);
    return mcplug_result_write_string(doc->result,
                                      (size_t)((const char *)part->text.data - doc->json),
                                      write, arg, NULL);
}

/* The part with the URI that was asked for; several would leave open which one is meant.
 */
static int find_part(const struct cli_doc *doc, const struct cli_skill_file *file,
                     struct mcplug_block *out, struct mcplug_error *err)
{
    mp_view parts = mp_view_get(cli_doc_view(doc), "contents");
    struct mcplug_block part = {.struct_size = sizeof part};
    size_t n = 0;

    while (mcplug_block_next(&parts, &part))
        if (mp_view_equals(part.uri, file->uri)) {
            *out = part;
            n++;
        }
    if (n != 1)
        return mp_fail(err, MCPLUG_EPROTO, "%s: expected one content of its URI, got %zu",
                       file->path, n);
    if (!out->text.len == !out->data.len)
        return mp_fail(err, MCPLUG_EPROTO, "%s: expected either text or a blob",
                       file->path);
    return MCPLUG_OK;
}

static int verify(const struct cli_doc *doc, const struct cli_skill_file *file,
                  struct mp_str *begin, struct mcplug_block *out,
                  struct mcplug_error *err)
{
    struct measure m = {.expected = file->size, .begin = begin};
    unsigned char digest[MP_SHA256_BYTES];
    char hex[MP_SHA256_HEX + 1];

    int r = find_part(doc, file, out, err);
    if (r != MCPLUG_OK)
        return r;
    mp_sha256_init(&m.sha);
    r = cli_skill_write(doc, out, measure, &m);
    if (r == MCPLUG_EPROTO)
        return mp_fail(err, r, "%s: its blob is not Base64", file->path);
    if (m.size > CLI_SKILL_BYTES_MAX)
        return mp_fail(err, MCPLUG_EPROTO,
                       "%s: expected %" PRIu64 " bytes, got more than 64 MiB", file->path,
                       file->size);
    if (r != MCPLUG_OK)
        return mp_fail(err, r, "%s: it cannot be read back from its temporary file",
                       file->path);
    if (m.size != file->size)
        return mp_fail(err, MCPLUG_EPROTO, "%s: expected %" PRIu64 " bytes, got %" PRIu64,
                       file->path, file->size, m.size);
    mp_sha256_end(&m.sha, digest);
    mp_sha256_hex(digest, hex);
    if (strcmp(hex, file->digest) != 0)
        return mp_fail(err, MCPLUG_EPROTO, "%s: expected sha256:%s, got sha256:%s",
                       file->path, file->digest, hex);
    return MCPLUG_OK;
}

int cli_skill_verify(const struct cli_doc *doc, const struct cli_skill_file *file,
                     struct mcplug_block *out, struct mcplug_error *err)
{
    return verify(doc, file, NULL, out, err);
}

int cli_skill_verify_main(const struct cli_doc *doc, const struct cli_skill *s,
                          struct mcplug_block *out, struct mcplug_error *err)
{
    struct mp_str begin;

    mp_str_init(&begin, CLI_YAML_MAX + 64);
    int r = verify(doc, &s->files[0], &begin, out, err);
    if (r == MCPLUG_OK && begin.failed)
        r = mp_fail_nomem(err);
    if (r == MCPLUG_OK)
        r = cli_skill_compare(mp_bytes(begin.data, begin.len), s->frontmatter, err);
    mp_str_clear(&begin);
    return r;
}

/* ---- frontmatter ---- */

/* The line from `p` on, without its end, is `---`, perhaps with blanks behind it. */
static bool is_fence(const char *p, const char *end)
{
    if (end - p < 3 || memcmp(p, "---", 3) != 0)
        return false;
    for (p += 3; p < end; p++)
        if (*p != ' ' && *p != '\t' && *p != '\r')
            return false;
    return true;
}

/* What is between the first line and the next one like it. false: there is none. */
static bool find_frontmatter(mp_view text, mp_view *out)
{
    const char *p = (const char *)text.data, *end = p + text.len, *first = NULL;

    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        bool fence = is_fence(p, stop);
        if (first && fence) {
            *out = mp_bytes(first, (size_t)(p - first));
            return true;
        }
        if (!first && (!fence || !newline))
            return false;
        if (!newline)
            return false;
        p = newline + 1;
        first = first ? first : p;
    }
    return false;
}

static int differ(const char *path, const json_t *listed, const json_t *has,
                  struct mcplug_error *err)
{
    static const char none[] = "nothing";
    char *a = listed ? json_dumps(listed, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    char *b = has ? json_dumps(has, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    int r =
        mp_fail(err, MCPLUG_EPROTO,
                CLI_SKILL_MAIN ": \"%.80s\" of its frontmatter: expected %.*s, got %.*s",
                path, VALUE_SHOWN, a ? a : none, VALUE_SHOWN, b ? b : none);
    free(a);
    free(b);
    return r;
}

static int compare(struct mp_str *path, const json_t *listed, const json_t *has,
                   unsigned depth, struct mcplug_error *err);

static int compare_member(struct mp_str *path, const char *key, const json_t *listed,
                          const json_t *has, unsigned depth, struct mcplug_error *err)
{
    size_t len = path->len;

    mp_str_addf(path, "%s%.40s", len ? "." : "", key);
    int r = compare(path, listed, has, depth + 1, err);
    path->len = len;
    if (path->data)
        path->data[len] = '\0';
    return r;
}

static int compare_objects(struct mp_str *path, const json_t *listed, const json_t *has,
                           unsigned depth, struct mcplug_error *err)
{
    json_t *value;
    const char *key;

    json_object_foreach((json_t *)listed, key, value)
    {
        int r = compare_member(path, key, value, json_object_get(has, key), depth, err);
        if (r != MCPLUG_OK)
            return r;
    }
    json_object_foreach((json_t *)has, key, value)
    {
        if (!json_object_get(listed, key))
            return compare_member(path, key, NULL, value, depth, err);
    }
    return MCPLUG_OK;
}

static int compare_arrays(struct mp_str *path, const json_t *listed, const json_t *has,
                          unsigned depth, struct mcplug_error *err)
{
    size_t a = json_array_size(listed), b = json_array_size(has);
    char index[32];
    int r = MCPLUG_OK;

    for (size_t i = 0; r == MCPLUG_OK && i < (a > b ? a : b); i++) {
        snprintf(index, sizeof index, "%zu", i);
        r = compare_member(path, index, json_array_get(listed, i), json_array_get(has, i),
                           depth, err);
    }
    return r;
}

/* 1 and 1.0 are one number: what writes JSON need not know how it was written. */
static int compare(struct mp_str *path, const json_t *listed, const json_t *has,
                   unsigned depth, struct mcplug_error *err)
{
    if (depth < DEPTH_MAX && json_is_object(listed) && json_is_object(has))
        return compare_objects(path, listed, has, depth, err);
    if (depth < DEPTH_MAX && json_is_array(listed) && json_is_array(has))
        return compare_arrays(path, listed, has, depth, err);
    bool same = listed && has && json_equal((json_t *)listed, (json_t *)has);
    if (json_is_number(listed) && json_is_number(has) &&
        json_typeof(listed) != json_typeof(has))
        same = json_number_value(listed) >= json_number_value(has) &&
               json_number_value(listed) <= json_number_value(has);
    return same ? MCPLUG_OK : differ(path->data ? path->data : "", listed, has, err);
}

int cli_skill_compare(mp_view text, const json_t *frontmatter, struct mcplug_error *err)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_str path;
    mp_view yaml;

    if (!find_frontmatter(text, &yaml))
        return mp_fail(err, MCPLUG_EPROTO,
                       CLI_SKILL_MAIN
                       ": expected frontmatter between two lines ---, got none");
    json_t *tree = cli_yaml_mapping(yaml, &why);
    if (!tree)
        return mp_fail(err, why.code, CLI_SKILL_MAIN ": its frontmatter, %.300s",
                       why.text);
    mp_str_init(&path, (size_t)1 << 16);
    int r = compare(&path, frontmatter, tree, 0, err);
    mp_str_clear(&path);
    json_decref(tree);
    return r;
}
