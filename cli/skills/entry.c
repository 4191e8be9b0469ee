#include "cli/skills/skills.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "plugins/common/url.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT_MAX 255 /* bytes of a name in a directory */
#define DEPTH_MAX 32
#define SHOWN 160 /* of a URI, in a message */
#define URI_SHOWN(uri) SHOWN, uri

static const char own_scheme[] = "skill://";

/* ---- names ---- */

/* Can it be the name of a file? It goes no way but down, and looks like what it is. */
static bool is_safe(const char *name, size_t len)
{
    if (!len || len > SEGMENT_MAX || (len == 1 && name[0] == '.') ||
        (len == 2 && name[0] == '.' && name[1] == '.'))
        return false;
    for (size_t i = 0, n; i < len; i += n) {
        n = mp_utf8_len((const unsigned char *)name + i, len - i);
        if (!n || mp_utf8_deceives(mp_utf8_get((const unsigned char *)name + i, n)) ||
            name[i] == '/' || name[i] == '\\')
            return false;
    }
    return true;
}

/* Adds a part of a URI with its %XX resolved. false: those are wrong, or the result is no
 * name. */
static bool add_segment(struct mp_str *out, const char *text, size_t len)
{
    size_t from = out->len;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '?' || text[i] == '#')
            return false;
        if (text[i] != '%') {
            mp_str_addc(out, text[i]);
            continue;
        }
        int high = i + 2 < len ? mp_hex_value(text[i + 1]) : -1;
        int low = i + 2 < len ? mp_hex_value(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            return false;
        mp_str_addc(out, (char)(high << 4 | low));
        i += 2;
    }
    return !out->failed && is_safe(out->data + from, out->len - from);
}

/* Adds a path of a URI, from `text` up to `end`. */
static bool add_path(struct mp_str *out, const char *text, const char *end)
{
    for (size_t depth = 1; depth <= DEPTH_MAX; depth++) {
        const char *slash = memchr(text, '/', (size_t)(end - text));
        const char *stop = slash ? slash : end;
        if (!add_segment(out, text, (size_t)(stop - text)))
            return false;
        if (!slash)
            return out->len <= CLI_SKILL_PATH_MAX;
        mp_str_addc(out, '/');
        text = slash + 1;
    }
    return false;
}

void cli_skill_add_encoded(struct mp_str *out, const char *text)
{
    bool is_first = true;

    for (; *text; text++, is_first = false) {
        unsigned char c = (unsigned char)*text;
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            c == '-' || c == '_' || (c == '.' && !is_first))
            mp_str_addc(out, *text);
        else
            mp_str_addf(out, "%%%02X", c);
    }
}

/* ---- where a skill belongs ---- */

/* A directory for each URI: its path where the scheme is ours, else all that is before
 * the name as one part. Parts of a path have no %, which those of the second kind do. */
static bool add_place(struct mp_str *out, const char *uri, const char *name_at,
                      const char *end)
{
    char *prefix = NULL;
    bool ok;

    if (strncmp(uri, own_scheme, sizeof own_scheme - 1) == 0) {
        ok = add_path(out, uri + sizeof own_scheme - 1, end) && !strchr(out->data, '%');
    } else {
        prefix = mp_strndup(uri, (size_t)(name_at - 1 - uri));
        if (prefix)
            cli_skill_add_encoded(out, prefix);
        ok = prefix && out->len <= SEGMENT_MAX && mp_str_addc(out, '/') &&
             add_segment(out, name_at, (size_t)(end - name_at));
    }
    mp_free(prefix);
    return ok && !out->failed;
}

/* SCHEME://PATH/NAME/SKILL.md, with nothing odd in it. */
static int read_place(struct cli_skill *s, struct mcplug_error *err)
{
    static const char tail[] = "/" CLI_SKILL_MAIN;
    size_t len = strlen(s->uri), tail_len = sizeof tail - 1;
    size_t scheme = url_scheme(s->uri);
    const char *end = s->uri + (len > tail_len ? len - tail_len : 0);
    struct mp_str place;
    int r = MCPLUG_OK;

    mp_str_init(&place, 3 * SEGMENT_MAX + CLI_SKILL_PATH_MAX);
    const char *name = end;
    while (name > s->uri && name[-1] != '/')
        name--;
    if (!scheme || end < s->uri + scheme + 3 || strcmp(end, tail) != 0)
        r = mp_fail(err, MCPLUG_EPROTO,
                    "its URI is not that of a " CLI_SKILL_MAIN ": %.*s",
                    URI_SHOWN(s->uri));
    else if (!add_place(&place, s->uri, name, end))
        r = mp_fail(err, MCPLUG_EPROTO, "its URI cannot be a path: %.*s",
                    URI_SHOWN(s->uri));
    else if (strcmp(strrchr(place.data, '/') ? strrchr(place.data, '/') + 1 : place.data,
                    s->name) != 0)
        r = mp_fail(err, MCPLUG_EPROTO,
                    "its name is \"%.80s\", and its directory another: %.*s", s->name,
                    URI_SHOWN(s->uri));
    else if (!(s->place = mp_str_take(&place)))
        r = mp_fail_nomem(err);
    mp_str_clear(&place);
    return r;
}

/* ---- files ---- */

static int read_digest(const char *text, char out[MP_SHA256_HEX + 1])
{
    static const char head[] = "sha256:";

    if (!text || strncmp(text, head, sizeof head - 1) != 0)
        return -1;
    text += sizeof head - 1;
    if (strlen(text) != MP_SHA256_HEX ||
        strspn(text, "0123456789abcdef") != MP_SHA256_HEX)
        return -1;
    memcpy(out, text, MP_SHA256_HEX + 1);
    return 0;
}

/* The file's URI is that of the directory and a path. */
static int read_path(const struct cli_skill *s, struct cli_skill_file *f,
                     struct mcplug_error *err)
{
    size_t root = strlen(s->uri) - strlen(CLI_SKILL_MAIN); /* with its slash */
    struct mp_str path;
    int r = MCPLUG_OK;

    mp_str_init(&path, 2 * CLI_SKILL_PATH_MAX);
    if (strncmp(f->uri, s->uri, root) != 0)
        r = mp_fail(err, MCPLUG_EPROTO, "a file is outside the skill: %.*s",
                    URI_SHOWN(f->uri));
    else if (!add_path(&path, f->uri + root, f->uri + strlen(f->uri)))
        r = mp_fail(err, MCPLUG_EPROTO, "a file has no safe name: %.*s",
                    URI_SHOWN(f->uri));
    else if (!(f->path = mp_str_take(&path)))
        r = mp_fail_nomem(err);
    mp_str_clear(&path);
    return r;
}

static int read_file(struct cli_skill *s, const json_t *resource,
                     struct mcplug_error *err)
{
    const json_t *size = json_object_get(resource, "size");
    struct cli_skill_file *f = &s->files[s->n_files];

    f->uri = json_string_value(json_object_get(resource, "uri"));
    if (!f->uri)
        return mp_fail(err, MCPLUG_EPROTO, "a file has no URI");
    if (!json_is_integer(size) || json_integer_value(size) < 0)
        return mp_fail(err, MCPLUG_EPROTO, "a file has no size: %.*s", URI_SHOWN(f->uri));
    if (read_digest(json_string_value(json_object_get(resource, "digest")), f->digest))
        return mp_fail(err, MCPLUG_EPROTO, "a file has no digest sha256:HEX: %.*s",
                       URI_SHOWN(f->uri));
    f->size = (uint64_t)json_integer_value(size);
    if (f->size > CLI_SKILL_BYTES_MAX - s->bytes)
        return mp_fail(err, MCPLUG_ETOOBIG, "its files have more than 64 MiB");
    s->bytes += f->size;
    s->n_files++;
    return read_path(s, f, err);
}

/* What is below a directory comes right behind it: `/` is before all that names have. */
static int by_path(const void *a, const void *b)
{
    const char *x = (*(const struct cli_skill_file *const *)a)->path;
    const char *y = (*(const struct cli_skill_file *const *)b)->path;

    while (*x && *x == *y)
        x++, y++;
    int cx = *x == '/' ? 1 : (unsigned char)*x, cy = *y == '/' ? 1 : (unsigned char)*y;
    return cx - cy;
}

/* No file is there twice, or is the directory of another. */
static int check_unique(const struct cli_skill *s, struct mcplug_error *err)
{
    const struct cli_skill_file **sorted = mp_alloc((s->n_files + 1) * sizeof(*sorted));
    int r = sorted ? MCPLUG_OK : mp_fail_nomem(err);

    for (size_t i = 0; sorted && i < s->n_files; i++)
        sorted[i] = &s->files[i];
    if (sorted)
        qsort(sorted, s->n_files, sizeof(*sorted), by_path);
    for (size_t i = 1; r == MCPLUG_OK && i < s->n_files; i++) {
        size_t len = strlen(sorted[i - 1]->path);
        const char *path = sorted[i]->path;
        if (strncmp(path, sorted[i - 1]->path, len) == 0 && strchr("/", path[len]))
            r = mp_fail(err, MCPLUG_EPROTO, "a file is %s: %.*s",
                        path[len] ? "below another one" : "listed twice",
                        URI_SHOWN(sorted[i]->uri));
    }
    mp_free(sorted);
    return r;
}

/* Moves SKILL.md to the front. */
static int put_main_first(struct cli_skill *s, struct mcplug_error *err)
{
    for (size_t i = 0; i < s->n_files; i++)
        if (strcmp(s->files[i].uri, s->uri) == 0) {
            struct cli_skill_file main = s->files[i];
            memmove(&s->files[1], &s->files[0], i * sizeof s->files[0]);
            s->files[0] = main;
            return MCPLUG_OK;
        }
    return mp_fail(err, MCPLUG_EPROTO, CLI_SKILL_MAIN " is not among its files");
}

static int read_files(struct cli_skill *s, const json_t *resources,
                      struct mcplug_error *err)
{
    size_t n = json_array_size(resources);
    int r = MCPLUG_OK;

    if (n > CLI_SKILL_FILES_MAX)
        return mp_fail(err, MCPLUG_ETOOBIG, "it has more than %d files",
                       CLI_SKILL_FILES_MAX);
    s->files = mp_alloc((n + 1) * sizeof *s->files);
    if (!s->files)
        return mp_fail_nomem(err);
    for (size_t i = 0; r == MCPLUG_OK && i < n; i++)
        r = read_file(s, json_array_get(resources, i), err);
    if (r == MCPLUG_OK)
        r = put_main_first(s, err);
    return r == MCPLUG_OK ? check_unique(s, err) : r;
}

/* ---- the whole ---- */

static int read_tree(mp_view json, struct cli_skill *s, struct mcplug_error *err)
{
    json_error_t why;

    /* Of two members of one name, readers take the first or the last. */
    s->entry =
        json_loadb((const char *)json.data, json.len, JSON_REJECT_DUPLICATES, &why);
    if (!s->entry && json_error_code(&why) == json_error_out_of_memory)
        return mp_fail_nomem(err);
    if (!s->entry)
        return mp_fail(err, MCPLUG_EPROTO, "its entry cannot be read: %.120s", why.text);
    s->uri = json_string_value(json_object_get(s->entry, "uri"));
    s->frontmatter = json_object_get(s->entry, "frontmatter");
    s->name = json_string_value(json_object_get(s->frontmatter, "name"));
    s->description = json_string_value(json_object_get(s->frontmatter, "description"));
    if (!s->uri)
        return mp_fail(err, MCPLUG_EPROTO, "its entry has no URI");
    if (!json_is_object(s->frontmatter) || !s->name || !s->description)
        return mp_fail(err, MCPLUG_EPROTO,
                       "its entry has no frontmatter with name and description");
    return MCPLUG_OK;
}

int cli_skill_read(mp_view json, struct cli_skill *out, struct mcplug_error *err)
{
    memset(out, 0, sizeof *out);
    int r = read_tree(json, out, err);
    if (r == MCPLUG_OK)
        r = read_place(out, err);
    if (r != MCPLUG_OK)
        return r;
    const json_t *resources = json_object_get(out->entry, "resources");
    const char *word = json_string_value(resources);
    out->dynamic = word && strcmp(word, "dynamic") == 0;
    if (out->dynamic)
        return MCPLUG_OK;
    if (!json_is_array(resources))
        return mp_fail(err, MCPLUG_EPROTO,
                       "its \"resources\" are neither a list nor \"dynamic\"");
    return read_files(out, resources, err);
}

void cli_skill_clear(struct cli_skill *s)
{
    for (size_t i = 0; i < s->n_files; i++)
        mp_free(s->files[i].path);
    mp_free(s->files);
    mp_free(s->place);
    json_decref(s->entry);
    memset(s, 0, sizeof *s);
}

const struct cli_skill_file *cli_skill_find(const struct cli_skill *s, const char *path)
{
    for (size_t i = 0; i < s->n_files; i++)
        if (strcmp(s->files[i].path, path) == 0)
            return &s->files[i];
    return NULL;
}
