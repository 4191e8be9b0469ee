/* A server with skills, right in all but what its one argument names. What it is asked
 * for is in the file $SKILLS_LOG, a line each: the method, and the URI if there is one.
 */
#include "base/sha256.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRONTMATTER                                                                      \
    "---\nname: pdf-processing\ndescription: >-\n  Extract, fill and\n  assemble: PDF\n" \
    "license: 'Apache-2.0'\nmetadata:\n  version: 1.0\n  tags: [pdf, \"forms\"]\n---\n"

static const char *mode;

static bool is(const char *name)
{
    return strcmp(mode, name) == 0;
}

/* ---- what there is ---- */

struct file {
    const char *uri, *text;
    size_t len;
    bool binary;
};

#define TEXT(uri, text)                                                                  \
    {                                                                                    \
        uri, text, sizeof(text) - 1, false                                               \
    }

static const struct file pdf[] = {
    TEXT("skill://pdf-processing/references/FORMS.md", "Forms \xc3\xa9\r\n"),
    TEXT("skill://pdf-processing/SKILL.md", FRONTMATTER "\n# PDF\n"),
    {"skill://pdf-processing/assets/a%20b.bin", "\0\1\xff\n", 4, true},
    TEXT("skill://pdf-processing/empty", ""),
};
static const struct file billing[] = {
    TEXT("skill://acme/billing/refunds/SKILL.md",
         "---\nname: refunds\ndescription: Billing\n---\n"),
};
static const struct file support[] = {
    TEXT("skill://acme/support/refunds/SKILL.md",
         "---\r\nname: refunds\r\ndescription: Support\r\n---\r\n"),
};
static const struct file repo[] = {
    TEXT("github://owner/repo/tidy/SKILL.md", "---\nname: tidy\ndescription: T\n---\n"),
};
static const struct skill {
    const char *uri, *frontmatter; /* NULL: generated */
    const struct file *files;
    size_t n;
} skills[] = {
    {"skill://pdf-processing/SKILL.md",
     "{\"name\":\"pdf-processing\",\"description\":\"Extract, fill and assemble: PDF\","
     "\"license\":\"Apache-2.0\",\"metadata\":{\"version\":1,\"tags\":[\"pdf\","
     "\"forms\"]}}",
     pdf, 4},
    {"skill://acme/billing/refunds/SKILL.md",
     "{\"name\":\"refunds\",\"description\":\"Billing\"}", billing, 1},
    {"skill://acme/support/refunds/SKILL.md",
     "{\"name\":\"refunds\",\"description\":\"Support\"}", support, 1},
    {"github://owner/repo/tidy/SKILL.md", "{\"name\":\"tidy\",\"description\":\"T\"}",
     repo, 1},
    {"skill://daily/SKILL.md", "{\"name\":\"daily\",\"description\":\"Today\"}", NULL, 0},
};
#define N_SKILLS (sizeof skills / sizeof *skills)
#define LISTED 4 /* one of the files is known by its URI alone */

/* ---- entries ---- */

static json_t *resource_of(const char *uri, const char *text, size_t len)
{
    unsigned char digest[MP_SHA256_BYTES];
    char hex[MP_SHA256_HEX + 1];
    struct mp_sha256 sha;

    mp_sha256_init(&sha);
    mp_sha256_add(&sha, text, len);
    mp_sha256_end(&sha, digest);
    mp_sha256_hex(digest, hex);
    return json_pack("{s:s, s:o, s:I}", "uri", uri, "digest",
                     json_sprintf("sha256:%s", hex), "size", (json_int_t)len);
}

/* What is wrong with the entry of the first skill. */
static void spoil(json_t *entry)
{
    static const struct {
        const char *mode, *uri;
    } odd[] = {
        {"parent", "skill://pdf-processing/../evil"},
        {"encoded-parent", "skill://pdf-processing/%2e%2E/evil"},
        {"encoded-slash", "skill://pdf-processing/a%2fb"},
        {"absolute", "skill://pdf-processing//etc/passwd"},
        {"outside", "skill://other/evil"},
        {"nul", "skill://pdf-processing/a%00b"},
        {"control", "skill://pdf-processing/a%1bb"},
        {"bidi", "skill://pdf-processing/a\xe2\x80\xae"},
        {"backslash", "skill://pdf-processing/..\\evil"},
        {"query", "skill://pdf-processing/a?b"},
        {"bad-escape", "skill://pdf-processing/a%4"},
        {"same", "skill://pdf-processing/references/FORMS.m%64"},
        {"below-a-file", "skill://pdf-processing/references/FORMS.md/x"},
    };
    json_t *resources = json_object_get(entry, "resources");
    json_t *frontmatter = json_object_get(entry, "frontmatter");
    json_t *first = json_array_get(resources, 0), *main = json_array_get(resources, 1);

    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (is(odd[i].mode))
            json_array_append_new(resources, resource_of(odd[i].uri, "x", 1));
    if (is("no-main"))
        json_array_remove(resources, 1);
    if (is("no-resources"))
        json_object_del(entry, "resources");
    if (is("no-description"))
        json_object_del(frontmatter, "description");
    if (is("other-name"))
        json_object_set_new(frontmatter, "name", json_string("pdf"));
    if (is("no-digest"))
        json_object_set_new(first, "digest", json_string("md5:00"));
    if (is("digest-of-main") || is("digest-of-file"))
        json_object_set_new(is("digest-of-main") ? main : first, "digest",
                            json_sprintf("sha256:%064d", 0));
    if (is("size-of-main") || is("size-of-file"))
        json_object_set_new(is("size-of-main") ? main : first, "size",
                            json_integer(is("size-of-main") ? 5 : 1000));
    if (is("frontmatter"))
        json_object_set_new(frontmatter, "description", json_string("Harmless"));
    if (is("frontmatter-more"))
        json_object_set_new(frontmatter, "allowed-tools", json_string("Bash"));
    if (is("frontmatter-less"))
        json_object_del(frontmatter, "metadata");
    if (is("frontmatter-deep"))
        json_array_append_new(
            json_object_get(json_object_get(frontmatter, "metadata"), "tags"),
            json_string("x"));
    if (is("bytes"))
        json_object_set_new(first, "size", json_integer(64 << 20));
    for (int i = 0; is("files") && i < 997; i++) {
        char uri[64];
        snprintf(uri, sizeof uri, "skill://pdf-processing/%d", i);
        json_array_append_new(resources, resource_of(uri, "x", 1));
    }
}

static json_t *entry_of(size_t i)
{
    const struct skill *s = &skills[i];
    json_t *resources = s->files ? json_array() : json_string("dynamic");

    for (size_t k = 0; k < s->n; k++)
        json_array_append_new(
            resources, resource_of(s->files[k].uri, s->files[k].text, s->files[k].len));
    json_t *entry =
        json_pack("{s:s, s:o, s:o}", "uri", s->uri, "frontmatter",
                  json_loads(s->frontmatter, 0, NULL), "resources", resources);
    if (i == 0)
        spoil(entry);
    return entry;
}

/* ---- answers ---- */

static json_t *result_of(const char *name, json_t *value)
{
    return json_pack("{s:s, s:i, s:s, s:o}", "resultType", "complete", "ttlMs", 0,
                     "cacheScope", "private", name, value);
}

/* Pages of one, of two hundred, or the one there is. */
static json_t *list(const char *cursor)
{
    size_t from = cursor ? strtoull(cursor, NULL, 10) : 0;
    bool paged = is("pages") || is("repeats") || is("endless") || is("many");
    size_t n = is("many") ? 200 : paged ? 1 : LISTED;
    json_t *items = json_array();

    for (size_t i = from; i < from + n && (i < LISTED || is("endless") || is("many"));
         i++)
        json_array_append_new(items, entry_of(i % LISTED));
    json_t *result = result_of("skills", items);
    if (is("no-skills"))
        json_object_del(result, "skills");
    if (is("repeats"))
        json_object_set_new(result, "nextCursor", json_string("1"));
    else if (paged && (!is("pages") || from + n < LISTED))
        json_object_set_new(result, "nextCursor", json_sprintf("%zu", from + n));
    return result;
}

static json_t *get(const char *uri)
{
    for (size_t i = 0; uri && i < N_SKILLS; i++)
        if (strcmp(skills[i].uri, uri) == 0)
            return result_of("skill", entry_of(is("other-skill") ? 1 : i));
    return NULL;
}

static json_t *content_of(const struct file *f)
{
    if (f->binary)
        return json_pack("{s:s, s:s}", "uri", f->uri, "blob",
                         is("no-base64") ? "!!!!" : "AAH/Cg==");
    return json_pack("{s:s, s:s%}", "uri", f->uri, "text", f->text, f->len);
}

static json_t *read_uri(const char *uri)
{
    for (size_t i = 0; uri && i < N_SKILLS; i++)
        for (size_t k = 0; k < skills[i].n; k++) {
            const struct file *f = &skills[i].files[k];
            if (strcmp(f->uri, uri) != 0)
                continue;
            if (is("dies") && f->binary)
                exit(3);
            if (is("hangs") && f->binary)
                pause();
            json_t *contents = json_pack("[o]", content_of(f));
            if (is("two-contents"))
                json_array_append_new(contents, content_of(f));
            if (is("other-content"))
                json_object_set_new(json_array_get(contents, 0), "uri",
                                    json_string("skill://x"));
            return result_of("contents", contents);
        }
    return NULL;
}

static json_t *discover(void)
{
    json_t *can = is("none") ? json_pack("{s:{}}", "resources")
                             : json_pack("{s:{}, s:{s:{}}}", "resources", "extensions",
                                         "io.modelcontextprotocol/skills");
    json_t *result = result_of("capabilities", can);

    json_object_set_new(result, "supportedVersions", json_pack("[s]", "2026-07-28"));
    json_object_set_new(result, "serverInfo",
                        json_pack("{s:s, s:s}", "name", "s", "version", "1"));
    return result;
}

static json_t *answer(const char *method, const json_t *params)
{
    const char *uri = json_string_value(json_object_get(params, "uri"));

    if (strcmp(method, "server/discover") == 0)
        return discover();
    if (strcmp(method, "skills/list") == 0)
        return list(json_string_value(json_object_get(params, "cursor")));
    if (strcmp(method, "skills/get") == 0)
        return get(uri);
    return strcmp(method, "resources/read") == 0 ? read_uri(uri) : NULL;
}

static void note(const char *method, const json_t *params)
{
    const char *uri = json_string_value(json_object_get(params, "uri"));
    const char *path = getenv("SKILLS_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (!f)
        return;
    fprintf(f, "%s%s%s\n", method, uri ? " " : "", uri ? uri : "");
    fclose(f);
}

int main(int argc, char **argv)
{
    static char line[1 << 20];

    mode = argc > 1 ? argv[1] : "good";
    while (fgets(line, sizeof line, stdin)) {
        json_t *request = json_loads(line, 0, NULL);
        json_t *id = json_object_get(request, "id");
        const char *method = json_string_value(json_object_get(request, "method"));
        if (id && method) {
            const json_t *params = json_object_get(request, "params");
            note(method, params);
            json_t *result = answer(method, params);
            json_t *whole =
                result ? json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id,
                                   "result", result)
                       : json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id,
                                   "error", "code", -32602, "message", "no such thing");
            json_dumpf(whole, stdout, JSON_COMPACT);
            puts("");
            fflush(stdout);
            json_decref(whole);
        }
        json_decref(request);
    }
    return 0;
}
