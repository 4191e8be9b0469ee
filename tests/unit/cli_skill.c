#include "cli/skills/skills.h"

#include "base/buf.h"
#include "base/error.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- entries ---- */

static json_t *file_of(const char *uri, json_int_t size)
{
    return json_pack("{s:s, s:s, s:I}", "uri", uri, "digest", "sha256:" DIGEST, "size",
                     size);
}

/* An entry of that URI and name with its SKILL.md. give */
static json_t *entry_of(const char *uri, const char *name)
{
    return json_pack("{s:s, s:{s:s, s:s}, s:[o]}", "uri", uri, "frontmatter", "name",
                     name, "description", "d", "resources", file_of(uri, 10));
}

/* take `entry` */
static int read_entry(json_t *entry, struct cli_skill *out, struct mcplug_error *err)
{
    char *text = json_dumps(entry, JSON_COMPACT);
    ck_assert_ptr_nonnull(text);
    int r = cli_skill_read(mp_text(text), out, err);

    free(text);
    json_decref(entry);
    return r;
}

static void has_place(const char *uri, const char *name, const char *place)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill s;

    int r = read_entry(entry_of(uri, name), &s, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s: %s", uri, err.text);
    ck_assert_str_eq(s.place, place);
    cli_skill_clear(&s);
}

static void refuses(json_t *entry, int code, const char *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill s;

    int r = read_entry(entry, &s, &err);
    ck_assert_msg(r == code && strstr(err.text, why), "%d %s\nhas not: %s", r, err.text,
                  why);
    cli_skill_clear(&s);
}

static void refuses_uri(const char *uri, const char *why)
{
    refuses(entry_of(uri, "x"), MCPLUG_EPROTO, why);
}

/* With one more file in the skill x. */
static json_t *entry_with(const char *uri, json_int_t size)
{
    json_t *entry = entry_of("skill://x/SKILL.md", "x");

    json_array_append_new(json_object_get(entry, "resources"), file_of(uri, size));
    return entry;
}

START_TEST(every_uri_has_a_directory_of_its_own)
{
    has_place("skill://x/SKILL.md", "x", "x");
    has_place("skill://a/b/x/SKILL.md", "x", "a/b/x");
    has_place("skill://a%20b/x/SKILL.md", "x", "a b/x");
    has_place("github://a/b/x/SKILL.md", "x", "github%3A%2F%2Fa%2Fb/x");
    has_place("file:///a/x/SKILL.md", "x", "file%3A%2F%2F%2Fa/x");
    /* this would be the directory of github://a/x/SKILL.md */
    refuses_uri("skill://github%253A%252F%252Fa/x/SKILL.md", "cannot be a path");
}
END_TEST

START_TEST(a_uri_is_that_of_a_skill_and_has_its_name)
{
    refuses_uri("", "not that of a SKILL.md");
    refuses_uri("SKILL.md", "not that of a SKILL.md");
    refuses_uri("x/SKILL.md", "not that of a SKILL.md");
    refuses_uri("skill:x/SKILL.md", "not that of a SKILL.md");
    refuses_uri("://x/SKILL.md", "not that of a SKILL.md");
    refuses_uri("skill://SKILL.md", "not that of a SKILL.md");
    refuses_uri("skill://x/skill.md", "not that of a SKILL.md");
    refuses_uri("skill://x/SKILL.md/", "not that of a SKILL.md");
    refuses_uri("skill:///SKILL.md", "cannot be a path");
    refuses_uri("skill:///x/SKILL.md", "cannot be a path");
    refuses_uri("skill://../x/SKILL.md", "cannot be a path");
    refuses_uri("skill://a/%2e%2e/x/SKILL.md", "cannot be a path");
    refuses_uri("skill://a//x/SKILL.md", "cannot be a path");
    refuses_uri("skill://a%2fb/x/SKILL.md", "cannot be a path");
    refuses_uri("github://a/../SKILL.md", "cannot be a path");
    refuses_uri("skill://y/SKILL.md", "its name is \"x\"");
    refuses_uri("skill://x/y/SKILL.md", "its name is \"x\"");
}
END_TEST

START_TEST(skill_md_comes_first_and_paths_are_unescaped)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *entry = entry_of("skill://x/SKILL.md", "x");
    json_t *files = json_object_get(entry, "resources");
    struct cli_skill s;

    json_array_insert_new(files, 0, file_of("skill://x/a/%C3%A9.md", 3));
    json_array_insert_new(files, 1, file_of("skill://x/.hidden", 4));
    ck_assert_int_eq(read_entry(entry, &s, &err), MCPLUG_OK);
    ck_assert_uint_eq(s.n_files, 3);
    ck_assert_str_eq(s.files[0].path, "SKILL.md");
    ck_assert_str_eq(s.files[1].path, "a/\xc3\xa9.md");
    ck_assert_str_eq(s.files[2].path, ".hidden");
    ck_assert_str_eq(s.files[2].digest, DIGEST);
    ck_assert_uint_eq(s.bytes, 17);
    ck_assert_ptr_eq(cli_skill_find(&s, ".hidden"), &s.files[2]);
    ck_assert_ptr_null(cli_skill_find(&s, "hidden"));
    cli_skill_clear(&s);
}
END_TEST

START_TEST(generated_skills_have_no_files)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *entry = entry_of("skill://x/SKILL.md", "x");
    struct cli_skill s;

    json_object_set_new(entry, "resources", json_string("dynamic"));
    ck_assert_int_eq(read_entry(entry, &s, &err), MCPLUG_OK);
    ck_assert(s.dynamic && s.n_files == 0);
    cli_skill_clear(&s);
    entry = entry_of("skill://x/SKILL.md", "x");
    json_object_set_new(entry, "resources", json_string("other"));
    refuses(entry, MCPLUG_EPROTO, "neither a list nor");
}
END_TEST

START_TEST(a_member_given_twice_is_refused)
{
    static const char twice[] =
        "{\"uri\":\"skill://x/SKILL.md\",\"frontmatter\":{\"name\":\"x\","
        "\"description\":\"good\",\"description\":\"bad\"},\"resources\":\"dynamic\"}";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill s;

    ck_assert_int_eq(cli_skill_read(mp_text(twice), &s, &err), MCPLUG_EPROTO);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be read"));
    cli_skill_clear(&s);
}
END_TEST

START_TEST(a_file_needs_a_size_and_a_digest)
{
    json_t *entry = entry_with("skill://x/a", -1);
    refuses(entry, MCPLUG_EPROTO, "has no size");
    static const char *const digests[] = {
        "",
        DIGEST,
        "sha256:",
        ("sha256:" DIGEST "0"),
        ("sha512:" DIGEST),
        "sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"};
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        entry = entry_with("skill://x/a", 1);
        json_object_set_new(json_array_get(json_object_get(entry, "resources"), 1),
                            "digest", json_string(digests[i]));
        refuses(entry, MCPLUG_EPROTO, "has no digest");
    }
}
END_TEST

START_TEST(a_skill_has_1000_files)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill s;
    char uri[64];

    for (int n = 1000; n <= 1001; n++) {
        json_t *entry = entry_of("skill://x/SKILL.md", "x");
        for (int i = 1; i < n; i++) {
            snprintf(uri, sizeof uri, "skill://x/%d", i);
            json_array_append_new(json_object_get(entry, "resources"), file_of(uri, 1));
        }
        if (n == 1001) {
            refuses(entry, MCPLUG_ETOOBIG, "more than 1000 files");
        } else {
            ck_assert_int_eq(read_entry(entry, &s, &err), MCPLUG_OK);
            cli_skill_clear(&s);
        }
    }
}
END_TEST

START_TEST(a_skill_has_64_mib)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill s;

    ck_assert_int_eq(read_entry(entry_with("skill://x/a", (64 << 20) - 10), &s, &err),
                     MCPLUG_OK);
    ck_assert_uint_eq(s.bytes, CLI_SKILL_BYTES_MAX);
    cli_skill_clear(&s);
    refuses(entry_with("skill://x/a", (64 << 20) - 9), MCPLUG_ETOOBIG, "64 MiB");
    refuses(entry_with("skill://x/a", INT64_MAX), MCPLUG_ETOOBIG, "64 MiB");
}
END_TEST

/* skill://x/ and `n` parts of `len` letters. */
static void is_path(size_t n, size_t len, bool ok)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_skill s;
    struct mp_str uri;

    mp_str_init(&uri, 1 << 16);
    mp_str_adds(&uri, "skill://x");
    for (size_t i = 0; i < n; i++) {
        mp_str_addc(&uri, '/');
        for (size_t k = 0; k < len; k++)
            mp_str_addc(&uri, 'a');
    }
    int r = read_entry(entry_with(uri.data, 1), &s, &err);
    ck_assert_msg((r == MCPLUG_OK) == ok, "%zu of %zu: %d", n, len, r);
    cli_skill_clear(&s);
    mp_str_clear(&uri);
}

START_TEST(names_depth_and_paths_have_limits)
{
    is_path(1, 255, true);
    is_path(1, 256, false);
    is_path(32, 1, true);
    is_path(33, 1, false);
    is_path(5, 204, true); /* 1024 with its slashes */
    is_path(5, 205, false);
}
END_TEST

/* ---- frontmatter ---- */

static int compare(const char *text, const char *json, struct mcplug_error *err)
{
    json_t *frontmatter = json_loads(json, 0, NULL);
    ck_assert_ptr_nonnull(frontmatter);
    int r = cli_skill_compare(mp_text(text), frontmatter, err);

    json_decref(frontmatter);
    return r;
}

static void agree(const char *text, const char *json)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_msg(compare(text, json, &err) == MCPLUG_OK, "%s: %s", text, err.text);
}

static void differ(const char *text, const char *json, const char *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_msg(compare(text, json, &err) == MCPLUG_EPROTO && strstr(err.text, why),
                  "%s: %s\nhas not: %s", text, err.text, why);
}

START_TEST(frontmatter_is_between_two_lines)
{
    agree("---\na: 1\n---\nb: 2", "{\"a\":1}");
    agree("---\na: 1\n---", "{\"a\":1}");
    agree("--- \r\na: 1\r\n---\t\r\n", "{\"a\":1}");
    agree("---\na: |\n  ---\n---\n", "{\"a\":\"---\\n\"}");
    differ("a: 1\n---\n", "{\"a\":1}", "expected frontmatter");
    differ("\n---\na: 1\n---\n", "{\"a\":1}", "expected frontmatter");
    differ("---\na: 1\n", "{\"a\":1}", "expected frontmatter");
    differ("---\na: 1\n----\n", "{\"a\":1}", "expected frontmatter");
    differ("---", "{}", "expected frontmatter");
    differ("", "{}", "expected frontmatter");
    differ("---\n---\n", "{}", "its frontmatter, line 1");
    differ("---\na: *b\n---\n", "{}", "not supported");
}
END_TEST

START_TEST(every_member_is_compared)
{
    agree("---\na: {b: [1, x]}\nc: true\n---\n", "{\"c\":true,\"a\":{\"b\":[1,\"x\"]}}");
    agree("---\na: 1.0\nb: 2\n---\n", "{\"a\":1,\"b\":2.0}");
    differ("---\na: 1\n---\n", "{\"a\":2}",
           "\"a\" of its frontmatter: expected 2, got 1");
    differ("---\na: 1\n---\n", "{\"a\":\"1\"}", "expected \"1\", got 1");
    differ("---\na: 1\n---\n", "{\"a\":1,\"b\":null}",
           "\"b\" of its frontmatter: expected "
           "null, got nothing");
    differ("---\na: 1\nb:\n---\n", "{\"a\":1}", "expected nothing, got null");
    differ("---\na: {b: [1, 2]}\n---\n", "{\"a\":{\"b\":[1]}}", "\"a.b.1\"");
    differ("---\na: {b: [1]}\n---\n", "{\"a\":{\"b\":[1,2]}}", "\"a.b.1\"");
    differ("---\na: []\n---\n", "{\"a\":{}}", "expected {}, got []");
    differ("---\na: 9007199254740993\n---\n", "{\"a\":9007199254740992}", "expected");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_skill");
    TCase *t = tcase_create("skill");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_uri_has_a_directory_of_its_own);
    tcase_add_test(t, a_uri_is_that_of_a_skill_and_has_its_name);
    tcase_add_test(t, skill_md_comes_first_and_paths_are_unescaped);
    tcase_add_test(t, generated_skills_have_no_files);
    tcase_add_test(t, a_member_given_twice_is_refused);
    tcase_add_test(t, a_file_needs_a_size_and_a_digest);
    tcase_add_test(t, a_skill_has_1000_files);
    tcase_add_test(t, a_skill_has_64_mib);
    tcase_add_test(t, names_depth_and_paths_have_limits);
    tcase_add_test(t, frontmatter_is_between_two_lines);
    tcase_add_test(t, every_member_is_compared);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_to_end(suite());
}
