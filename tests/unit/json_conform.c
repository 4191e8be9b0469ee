/* Values against what a schema says of them. */
#include "suite.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/conform.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *schema, *value;
    const char *why; /* NULL: it conforms */
} cases[] = {
    {"{\"type\":\"object\"}", "{}", NULL},
    {"{\"type\":\"object\"}", "[]", "the value: expected \"object\", found array"},
    {"{\"type\":\"integer\"}", "1.0", NULL},
    {"{\"type\":\"integer\"}", "1e3", NULL},
    {"{\"type\":\"integer\"}", "1.5", "the value: expected \"integer\", found number"},
    {"{\"type\":\"integer\"}", "12345678901234567890", NULL},
    {"{\"type\":[\"string\",\"null\"]}", "null", NULL},
    {"{\"type\":[\"string\",\"null\"]}", "true",
     "the value: is a boolean, which the schema does not allow"},
    {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"\\u0061\":1}",
     ".a: expected \"string\", found number"},
    {"{\"required\":[\"a\"]}", "{\"b\":1}", "the value: \"a\" is missing"},
    {"{\"required\":[\"a\"]}", "7", NULL},
    {"{\"properties\":{\"a\":{}},\"additionalProperties\":false}", "{\"a\":1,\"b\":1}",
     ".b: is not in the schema"},
    {"{\"additionalProperties\":{\"type\":\"string\"}}", "{\"b\":1}",
     ".b: expected \"string\", found number"},
    {"{\"items\":{\"type\":\"number\"}}", "[1,2,\"x\"]",
     "[2]: expected \"number\", found string"},
    {"{\"properties\":{\"a\":{\"items\":{\"required\":[\"i\"]}}}}",
     "{\"a\":[{\"i\":1},{}]}", ".a[1]: \"i\" is missing"},
    {"{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\"]", NULL},
    {"{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\",1]",
     "[1]: is excluded by the schema"},
    {"{\"enum\":[1,\"a\",{\"x\":[1,2]}]}", "{\"x\":[1.0,2]}", NULL},
    {"{\"enum\":[1,\"a\"]}", "2",
     "the value: is none of the values that the schema lists"},
    {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", NULL},
    {"{\"const\":\"x\"}", "\"y\"", "the value: is not the value that the schema has"},
    {"{\"minimum\":0,\"maximum\":10}", "10", NULL},
    {"{\"minimum\":0,\"maximum\":10}", "-1", "the value: the value is below 0"},
    {"{\"maxLength\":2}", "\"\\u00e9\xc3\xa9\"", NULL},
    {"{\"maxLength\":1}", "\"\\u00e9\xc3\xa9\"", "the value: the length is above 1"},
    {"{\"minItems\":1}", "[]", "the value: the number of items is below 1"},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1",
     "the value: conforms to none of anyOf"},
    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "3",
     "the value: conforms to 2 of oneOf"},
    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":5}]}", "3", NULL},
    {"{\"allOf\":[{\"minimum\":1},{\"minimum\":5}]}", "3",
     "the value: the value is below 5"},
    {"{\"not\":{\"type\":\"string\"}}", "\"x\"",
     "the value: is what the schema excludes"},
    {"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"null\"}}}", "1",
     "the value: expected \"null\", found number"},
    {"{\"$ref\":\"http://x/y\"}", "1", NULL},
    {"{\"$ref\":\"#\"}", "1", NULL}, /* which never ends */
    {"true", "1", NULL},
    {"false", "1", "the value: is excluded by the schema"},
    {"{\"x-unknown\":1,\"format\":\"date\"}", "\"no date\"", NULL},
};

START_TEST(a_value_conforms_or_the_place_is_named)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int r = mp_conform(mp_text(cases[_i].schema), mp_text(cases[_i].value), &err);

    ck_assert_msg((r == MCPLUG_OK) == (cases[_i].why == NULL), "%s %s: %s",
                  cases[_i].schema, cases[_i].value, err.text);
    ck_assert_str_eq(err.text, cases[_i].why ? cases[_i].why : "");
}
END_TEST

static void conform_many(size_t n)
{
    struct mp_str schema, value;

    mp_str_init(&schema, 1 << 24);
    mp_str_init(&value, 1 << 24);
    mp_str_adds(&schema, "{\"properties\":{\"\":1");
    mp_str_adds(&value, "{\"\":1");
    for (size_t i = 0; i < n; i++) {
        mp_str_addf(&schema, ",\"k%zu\":{\"type\":\"number\"}", i);
        mp_str_addf(&value, ",\"k%zu\":1", i);
    }
    mp_str_adds(&schema, "}}");
    mp_str_adds(&value, "}");
    ck_assert_int_eq(mp_conform(mp_bytes(schema.data, schema.len),
                                mp_bytes(value.data, value.len), NULL),
                     MCPLUG_OK);
    mp_str_clear(&schema);
    mp_str_clear(&value);
}

START_TEST(the_work_is_bounded)
{
    ck_assert_double_lt(grows_by(conform_many, 4000), 30); /* 64, were it quadratic */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json_conform");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_value_conforms_or_the_place_is_named, 0, MP_COUNT(cases));
    tcase_add_test(t, the_work_is_bounded);
    suite_add_tcase(s, t);
    return run_to_end(s);
}
