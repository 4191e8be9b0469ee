#include "cli/base/form_field.h"
#include "cli/base/oneshot.h"
#include "cli/base/key_value.h"

#include "base/buf.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct mcplug_error err;

/* ---- key=value ---- */

static char path[64];

static void make_file(const char *data, size_t len)
{
    snprintf(path, sizeof path, "/tmp/cli_words.XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
    close(fd);
}

static char *typed(const char *schema_text, const char *word)
{
    static char text[1024];
    struct cli_words words;
    json_t *schema = schema_text ? json_loads(schema_text, 0, NULL) : NULL;
    char *args = NULL;
    memset(&err, 0, sizeof err);
    if (cli_words_read(&word, 1, &words, &err) == MCPLUG_OK)
        args = cli_words_typed(&words, schema, &err);
    snprintf(text, sizeof text, "%s", args ? args : err.text);
    mp_free(args);
    json_decref(schema);
    cli_words_clear(&words);
    return text;
}

START_TEST(values_are_typed_by_the_schema)
{
    static const char schema[] = "{\"properties\":{\"n\":{\"type\":\"integer\"},\"s\":"
                                 "{\"type\":\"string\"}},\"required\":[]}";
    ck_assert_str_eq(typed(schema, "n=5"), "{\"n\":5}");
    ck_assert_str_eq(typed(schema, "s=5"), "{\"s\":\"5\"}");
    ck_assert_str_eq(typed(schema, "s=a=b"), "{\"s\":\"a=b\"}");
    ck_assert_str_eq(typed(schema, "s=@@x"), "{\"s\":\"@x\"}");
    ck_assert_str_eq(typed(schema, "s="), "{\"s\":\"\"}");
    ck_assert_ptr_nonnull(strstr(typed(schema, "n=x"), "n"));
    ck_assert_str_eq(typed(schema, "nothing"), "expected KEY=VALUE, got \"nothing\"");
    ck_assert_str_eq(typed(schema, "=x"), "expected KEY=VALUE, got \"=x\"");
}
END_TEST

START_TEST(a_file_is_text_unless_the_schema_wants_something_else)
{
    static const char schema[] = "{\"properties\":{\"o\":{\"type\":\"object\"},\"s\":"
                                 "{\"type\":\"string\"}}}";
    char word[128];
    make_file("{\"a\":1}", 7);
    snprintf(word, sizeof word, "o=@%s", path);
    ck_assert_str_eq(typed(schema, word), "{\"o\":{\"a\":1}}");
    word[0] = 's';
    ck_assert_str_eq(typed(schema, word), "{\"s\":\"{\\\"a\\\":1}\"}");
    word[0] = 'x';
    ck_assert_str_eq(typed(NULL, word), "{\"x\":\"{\\\"a\\\":1}\"}");
    unlink(path);
    ck_assert_ptr_nonnull(strstr(typed(schema, word), "cannot open"));
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    char word[128];
    make_file("a\0b", 3);
    snprintf(word, sizeof word, "s=@%s", path);
    ck_assert_ptr_nonnull(strstr(typed(NULL, word), "(byte 1)"));
    unlink(path);
    make_file("ab\xff", 3);
    snprintf(word, sizeof word, "s=@%s", path);
    ck_assert_ptr_nonnull(strstr(typed(NULL, word), "(byte 2)"));
    unlink(path);
}
END_TEST

START_TEST(a_file_one_byte_over_the_limit_is_refused)
{
    char word[128];
    make_file("", 0);
    ck_assert_int_eq(truncate(path, (off_t)CLI_FILE_MAX + 1), 0);
    snprintf(word, sizeof word, "s=@%s", path);
    ck_assert_ptr_nonnull(strstr(typed(NULL, word), "longer than 16 MiB"));
    unlink(path);
}
END_TEST

START_TEST(whole_arguments_are_an_object)
{
    char *text = cli_read_object("--args", " {\"a\":1}", &err);
    ck_assert_str_eq(text, " {\"a\":1}");
    mp_free(text);
    ck_assert_ptr_null(cli_read_object("--args", "[1]", &err));
    ck_assert_str_eq(err.text, "--args: expected a JSON object");
    ck_assert_ptr_null(cli_read_object("--args", "{", &err));
    ck_assert_ptr_nonnull(strstr(err.text, "--args is not JSON: "));
}
END_TEST

/* ---- settings ---- */

START_TEST(settings_are_values_lists_and_maps)
{
    struct cli_setting s;
    ck_assert_int_eq(cli_setting_parse("a=b=c", &s, &err), 0);
    ck_assert_str_eq(s.name, "a");
    ck_assert_str_eq(s.value, "b=c");
    ck_assert(!s.list && !s.key);
    cli_setting_clear(&s);
    ck_assert_int_eq(cli_setting_parse("args[]=x", &s, &err), 0);
    ck_assert_str_eq(s.name, "args");
    ck_assert(s.list);
    cli_setting_clear(&s);
    ck_assert_int_eq(cli_setting_parse("headers.X-Y.Z=v", &s, &err), 0);
    ck_assert_str_eq(s.name, "headers");
    ck_assert_str_eq(s.key, "X-Y.Z");
    cli_setting_clear(&s);
    ck_assert_int_eq(cli_setting_parse("=x", &s, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(cli_setting_parse("x", &s, &err), MCPLUG_EINVAL);
}
END_TEST

START_TEST(roots_become_file_addresses)
{
    const char *dirs[] = {"/", "/tmp", NULL};
    struct cli_args args = {.roots = {dirs, 2}};
    char *text = cli_roots(&args, &err);
    ck_assert_str_eq(text, "{\"roots\":[{\"uri\":\"file:///\",\"name\":\"/\"},"
                           "{\"uri\":\"file:///tmp\",\"name\":\"tmp\"}]}");
    mp_free(text);
    dirs[0] = "/dev/null";
    ck_assert_ptr_null(cli_roots(&args, &err));
    ck_assert_str_eq(err.text, "--root /dev/null is not a directory");
}
END_TEST

/* ---- fields of a form ---- */

static const struct {
    const char *schema, *typed, *expected; /* NULL: refused */
} fields[] = {
    {"{\"type\":\"string\"}", "x", "\"x\""},
    {"{\"type\":\"string\",\"maxLength\":2}", "\xc3\xa9\xc3\xa9", "\"\xc3\xa9\xc3\xa9\""},
    {"{\"type\":\"string\",\"maxLength\":2}", "abc", NULL},
    {"{\"type\":\"string\",\"minLength\":2}", "a", NULL},
    {"{\"type\":\"string\",\"format\":\"email\"}", "a@b", "\"a@b\""},
    {"{\"type\":\"string\",\"format\":\"email\"}", "ab", NULL},
    {"{\"type\":\"string\",\"format\":\"uri\"}", "x:y", "\"x:y\""},
    {"{\"type\":\"string\",\"format\":\"uri\"}", "xy", NULL},
    {"{\"type\":\"string\",\"format\":\"date\"}", "2026-01-31", "\"2026-01-31\""},
    {"{\"type\":\"string\",\"format\":\"date\"}", "2026-13-01", NULL},
    {"{\"type\":\"integer\",\"minimum\":1}", "5", "5"},
    {"{\"type\":\"integer\",\"minimum\":1}", "0", NULL},
    {"{\"type\":\"integer\"}", "1.5", NULL},
    {"{\"type\":\"integer\"}", "99999999999999999999", "99999999999999999999"},
    {"{\"type\":\"integer\"}", "1.0", "1.0"},
    {"{\"type\":\"integer\"}", "+5", "5"},
    {"{\"type\":\"integer\"}", "true", NULL},
    {"{\"type\":\"number\"}", "1.10", "1.10"},
    {"{\"type\":\"number\"}", "1e400", "1e400"},
    {"{\"type\":\"number\"}", ".5", "0.5"},
    {"{\"type\":\"number\"}", "[1]", NULL},
    {"{\"type\":\"number\",\"maximum\":2}", "1.5", "1.5"},
    {"{\"type\":\"number\",\"maximum\":2}", "2.5", NULL},
    {"{\"type\":\"number\"}", "nan", NULL},
    {"{\"type\":\"number\"}", "x", NULL},
    {"{\"type\":\"boolean\"}", "Y", "true"},
    {"{\"type\":\"boolean\"}", "off", "false"},
    {"{\"type\":\"boolean\"}", "perhaps", NULL},
    {"{\"enum\":[\"a\",\"b\"]}", "b", "\"b\""},
    {"{\"enum\":[\"a\",\"b\"]}", "2", "\"b\""},
    {"{\"enum\":[\"2\",\"b\"]}", "2", NULL}, /* the first, or the second? */
    {"{\"enum\":[\"2\",\"b\"]}", "1)", "\"2\""},
    {"{\"enum\":[\"2\",\"b\"]}", "2)", "\"b\""},
    {"{\"enum\":[\"a\",\"b\"]}", "3", NULL},
    {"{\"enum\":[\"a\"],\"enumNames\":[\"Alpha\"]}", "alpha", "\"a\""},
    {"{\"oneOf\":[{\"const\":\"a\",\"title\":\"Alpha\"}]}", "Alpha", "\"a\""},
    {"{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"]}}", "a, 2", "[\"a\",\"b\"]"},
    {"{\"type\":\"array\",\"maxItems\":1,\"items\":{\"enum\":[\"a\",\"b\"]}}", "a,b",
     NULL},
    {"{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\"}]}}", "c", NULL},
};

START_TEST(fields_are_read_after_their_schema)
{
    json_t *schema = json_loads(fields[_i].schema, 0, NULL), *value = NULL;
    struct cli_numbers numbers = {0};
    int r = cli_field_parse(schema, fields[_i].typed, &numbers, &value, &err);
    char *text = value ? cli_tree_text(value, &numbers) : NULL;
    ck_assert_msg((r == MCPLUG_OK) == (fields[_i].expected != NULL), "%s with %s",
                  fields[_i].schema, fields[_i].typed);
    if (fields[_i].expected)
        ck_assert_str_eq(text, fields[_i].expected);
    else
        ck_assert_uint_gt(strlen(err.text), 0);
    mp_free(text);
    json_decref(value);
    json_decref(schema);
    cli_numbers_clear(&numbers);
}
END_TEST

START_TEST(a_field_is_described_with_its_choices)
{
    json_t *schema =
        json_loads("{\"title\":\"Size\",\"enum\":[\"s\",\"m\"],\"enumNames\":"
                   "[\"Small\",\"m\"],\"default\":\"m\"}",
                   0, NULL);
    struct cli_numbers numbers = {0};
    struct mp_str out;
    mp_str_init(&out, 4096);
    cli_field_describe("size", schema, false, &out);
    ck_assert_str_eq(out.data, "size - Size (one of these, optional)\n"
                               "  1) s - Small\n  2) m\n");
    mp_str_clear(&out);
    char *fallback = cli_field_default(schema, &numbers);
    ck_assert_str_eq(fallback, "m");
    mp_free(fallback);
    json_decref(schema);
}
END_TEST

START_TEST(the_default_of_a_number_is_shown_as_it_is_written)
{
    struct cli_numbers numbers = {0};
    json_t *schema =
        cli_tree(mp_text("{\"type\":\"number\",\"default\":12345678901234567890}"),
                 &numbers, &err);
    char *fallback = cli_field_default(schema, &numbers);
    ck_assert_str_eq(fallback, "12345678901234567890");
    mp_free(fallback);
    json_decref(schema);
    cli_numbers_clear(&numbers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_key_value");
    TCase *tc = tcase_create("words");
    tcase_add_test(tc, values_are_typed_by_the_schema);
    tcase_add_test(tc, a_file_is_text_unless_the_schema_wants_something_else);
    tcase_add_test(tc, bytes_that_are_no_text_are_refused);
    tcase_add_test(tc, a_file_one_byte_over_the_limit_is_refused);
    tcase_add_test(tc, whole_arguments_are_an_object);
    tcase_add_test(tc, settings_are_values_lists_and_maps);
    tcase_add_test(tc, roots_become_file_addresses);
    tcase_add_loop_test(tc, fields_are_read_after_their_schema, 0, MP_COUNT(fields));
    tcase_add_test(tc, a_field_is_described_with_its_choices);
    tcase_add_test(tc, the_default_of_a_number_is_shown_as_it_is_written);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
