#include "cli/base/typed_args.h"

#include "base/buf.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *schema_of(const char *text)
{
    if (!text)
        return NULL;
    json_error_t why;
    json_t *schema = json_loads(text, JSON_DECODE_ANY, &why);
    ck_assert_msg(schema != NULL, "%s: %s", text, why.text);
    return schema;
}

static struct cli_numbers none; /* for words whose numbers are all plain */

/* Sets `words`, "key=value" divided by '|', from left to right. */
static int set_all(json_t *args, const char *schema_text, const char *words,
                   struct cli_numbers *numbers, struct mcplug_error *err)
{
    json_t *schema = schema_of(schema_text);
    char *copy = strdup(words), *rest = copy, *word;
    int r = MCPLUG_OK;

    while (r == MCPLUG_OK && (word = strsep(&rest, "|"))) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        r = cli_typed_args_set(args, schema, word, value, numbers, err);
    }
    free(copy);
    json_decref(schema);
    return r;
}

static void gives(const char *schema, const char *words, const char *expected)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_numbers numbers = {0};
    json_t *args = json_object();
    int r = set_all(args, schema, words, &numbers, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s: %s", words, err.text);
    char *got = cli_tree_text(args, &numbers);
    ck_assert_str_eq(got, expected);
    mp_free(got);
    json_decref(args);
    cli_numbers_clear(&numbers);
}

/* Nothing is set then. */
static void refused(const char *schema, const char *word, const char *expected)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_numbers numbers = {0};
    json_t *args = json_object();
    ck_assert_int_eq(set_all(args, schema, word, &numbers, &err), MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, expected);
    ck_assert_uint_eq(json_object_size(args), 0);
    json_decref(args);
    cli_numbers_clear(&numbers);
}

/* A schema whose only property is `x`. */
#define X(schema) "{\"type\":\"object\",\"properties\":{\"x\":" schema "}}"

/* ---- without a type ---- */

START_TEST(without_a_schema_json_is_json_and_a_word_is_a_string)
{
    static const char *const schemas[] = {NULL,
                                          "{}",
                                          "true",
                                          X("{}"),
                                          X("true"),
                                          X("{\"title\":\"X\"}"),
                                          X("{\"$ref\":\"#/no\"}")};
    for (size_t i = 0; i < MP_COUNT(schemas); i++) {
        gives(schemas[i], "x=hello", "{\"x\":\"hello\"}");
        gives(schemas[i], "x=", "{\"x\":\"\"}");
        gives(schemas[i], "x=5", "{\"x\":5}");
        gives(schemas[i], "x=-0.5", "{\"x\":-0.5}");
        gives(schemas[i], "x=[1,\"a\"]", "{\"x\":[1,\"a\"]}");
        gives(schemas[i], "x={\"a\":null}", "{\"x\":{\"a\":null}}");
        gives(schemas[i], "x=\"5\"", "{\"x\":\"5\"}");
        gives(schemas[i], "x=true", "{\"x\":\"true\"}");
        gives(schemas[i], "x=null", "{\"x\":\"null\"}");
        gives(schemas[i], "x=[1,", "{\"x\":\"[1,\"}");
        gives(schemas[i], "x=1.2.3", "{\"x\":\"1.2.3\"}");
        gives(schemas[i], "x=1e999", "{\"x\":1e999}");
        gives(schemas[i], "x=1|x=2", "{\"x\":2}");
    }
}
END_TEST

/* ---- types ---- */

START_TEST(a_string_is_taken_as_it_is)
{
    gives(X("{\"type\":\"string\"}"), "x=5", "{\"x\":\"5\"}");
    gives(X("{\"type\":\"string\"}"), "x=true", "{\"x\":\"true\"}");
    gives(X("{\"type\":\"string\"}"), "x=\"q\"", "{\"x\":\"\\\"q\\\"\"}");
    gives(X("{\"type\":\"string\"}"), "x=[1]", "{\"x\":\"[1]\"}");
    gives(X("{\"type\":\"string\"}"), "x= a=b ", "{\"x\":\" a=b \"}");
    gives(X("{\"type\":\"string\"}"), "x=", "{\"x\":\"\"}");
    gives(X("{\"type\":\"string\"}"), "x=a|x=b", "{\"x\":\"b\"}");
}
END_TEST

START_TEST(an_integer_is_parsed)
{
    gives(X("{\"type\":\"integer\"}"), "x=42", "{\"x\":42}");
    gives(X("{\"type\":\"integer\"}"), "x=-9223372036854775808",
          "{\"x\":-9223372036854775808}");
    gives(X("{\"type\":\"integer\"}"), "x= 7 ", "{\"x\":7}");
    refused(X("{\"type\":\"integer\"}"), "x=abc", "x: expected an integer, got \"abc\"");
    refused(X("{\"type\":\"integer\"}"), "x=1.5", "x: expected an integer, got \"1.5\"");
    refused(X("{\"type\":\"integer\"}"), "x=", "x: expected an integer, got \"\"");
    refused(X("{\"type\":\"integer\"}"), "x=null",
            "x: expected an integer, got \"null\"");
}
END_TEST

START_TEST(a_number_is_parsed)
{
    gives(X("{\"type\":\"number\"}"), "x=42", "{\"x\":42}");
    gives(X("{\"type\":\"number\"}"), "x=-1.5e3", "{\"x\":-1.5e3}");
    gives(X("{\"type\":\"number\"}"), "x=18446744073709551616",
          "{\"x\":18446744073709551616}");
    refused(X("{\"type\":\"number\"}"), "x=1,5", "x: expected a number, got \"1,5\"");
    refused(X("{\"type\":\"number\"}"), "x=.5",
            "x: expected a number, got \".5\" (a number has a digit before its point)");
    refused(X("{\"type\":\"number\"}"), "x=-.5",
            "x: expected a number, got \"-.5\" (a number has a digit before its point)");
    refused(X("{\"type\":\"number\"}"), "x=NaN", "x: expected a number, got \"NaN\"");
}
END_TEST

START_TEST(a_number_goes_out_as_it_was_typed)
{
    static const char *const whole[] = {
        "0",
        "-0",
        "1.0",
        "1e3",
        "10E-1",
        "9223372036854775808",
        "1e400",
        "12345678901234567890",
        "-123456789012345678901234567890",
    };
    static const char *const others[] = {
        "1.10",
        "0.30000000000000000001",
        "1e-400",
        "3.14159265358979323846264338327950288",
    };
    static const char *const numbers[] = {
        NULL,
        X("{\"type\":\"number\"}"),
        X("{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"number\"}]}"),
        X("{\"type\":[\"string\",\"number\"]}"),
    };
    char word[200], expected[200];

    for (size_t i = 0; i < MP_COUNT(whole) + MP_COUNT(others); i++) {
        bool is_whole = i < MP_COUNT(whole);
        const char *n = is_whole ? whole[i] : others[i - MP_COUNT(whole)];
        snprintf(word, sizeof word, "x=%s", n);
        snprintf(expected, sizeof expected, "{\"x\":%s}", n);
        for (size_t k = 0; k < MP_COUNT(numbers); k++)
            gives(numbers[k], word, expected);
        if (is_whole)
            gives(X("{\"type\":\"integer\"}"), word, expected);
        snprintf(word, sizeof word, "x=[%s,{\"a\":[%s]}]", n, n);
        snprintf(expected, sizeof expected, "{\"x\":[%s,{\"a\":[%s]}]}", n, n);
        gives(NULL, word, expected);
        gives(X("{\"type\":\"array\"}"), word, expected);
        snprintf(word, sizeof word, "x=%s|x=%s|x=[%s]", n, n, n);
        snprintf(expected, sizeof expected, "{\"x\":[%s,%s,%s]}", n, n, n);
        gives(X("{\"type\":\"array\",\"items\":{\"type\":\"number\"}}"), word, expected);
        snprintf(word, sizeof word, "x.a=%s|x.b=1", n);
        snprintf(expected, sizeof expected, "{\"x\":{\"a\":%s,\"b\":1}}", n);
        gives(X("{\"type\":\"object\"}"), word, expected);
    }
}
END_TEST

/* By value, as the peer does; but none is turned into a string of its digits. */
START_TEST(a_long_number_may_be_one_of_the_choices)
{
    gives(X("{\"enum\":[1,12345678901234567890.0]}"), "x=12345678901234567890",
          "{\"x\":12345678901234567890}");
    gives(X("{\"enum\":[1000]}"), "x=1e3", "{\"x\":1e3}");
    refused(X("{\"enum\":[1]}"), "x=1.5", "x: expected 1, got \"1.5\"");
}
END_TEST

START_TEST(booleans_and_null_are_parsed)
{
    gives(X("{\"type\":\"boolean\"}"), "x=true", "{\"x\":true}");
    gives(X("{\"type\":\"boolean\"}"), "x=false", "{\"x\":false}");
    gives(X("{\"type\":\"null\"}"), "x=null", "{\"x\":null}");
    refused(X("{\"type\":\"boolean\"}"), "x=yes",
            "x: expected true or false, got \"yes\"");
    refused(X("{\"type\":\"boolean\"}"), "x=1", "x: expected true or false, got \"1\"");
    refused(X("{\"type\":\"null\"}"), "x=nil", "x: expected null, got \"nil\"");
}
END_TEST

START_TEST(an_object_is_json_text)
{
    gives(X("{\"type\":\"object\"}"), "x={\"a\":[1]}", "{\"x\":{\"a\":[1]}}");
    refused(X("{\"type\":\"object\"}"), "x=a", "x: expected an object, got \"a\"");
    refused(X("{\"type\":\"object\"}"), "x=[]", "x: expected an object, got \"[]\"");
    refused(X("{\"type\":\"object\"}"), "x={a:1}",
            "x: expected an object, got \"{a:1}\" (as JSON: unexpected character 'a' at "
            "byte 1)");
}
END_TEST

/* ---- arrays ---- */

#define LIST(items) X("{\"type\":\"array\",\"items\":" items "}")

START_TEST(an_array_is_json_text_or_repeated_keys)
{
    gives(LIST("{\"type\":\"integer\"}"), "x=[1,2]", "{\"x\":[1,2]}");
    gives(LIST("{\"type\":\"integer\"}"), "x=[]", "{\"x\":[]}");
    gives(LIST("{\"type\":\"integer\"}"), "x=1", "{\"x\":[1]}");
    gives(LIST("{\"type\":\"integer\"}"), "x=1|x=2|x=3", "{\"x\":[1,2,3]}");
    gives(LIST("{\"type\":\"integer\"}"), "x=[1,2]|x=3|x=[4,5]", "{\"x\":[1,2,3,4,5]}");
    gives(LIST("{\"type\":\"string\"}"), "x=a|x=5|x=true",
          "{\"x\":[\"a\",\"5\",\"true\"]}");
    gives(LIST("{}"), "x=a|x=5|x={}", "{\"x\":[\"a\",5,{}]}");
    gives(X("{\"type\":\"array\"}"), "x=a|x=5", "{\"x\":[\"a\",5]}");
    gives(X("{\"items\":{\"type\":\"integer\"}}"), "x=[1]", "{\"x\":[1]}");
    refused(LIST("{\"type\":\"integer\"}"), "x=a",
            "x: each element: expected an integer, got \"a\"");
}
END_TEST

START_TEST(what_begins_like_an_array_is_the_whole_array)
{
    refused(LIST("{\"type\":\"string\"}"), "x=[a,b]",
            "x: expected an array, got \"[a,b]\" (as JSON: unexpected character 'a' at "
            "byte 1)");
    refused(LIST("{\"type\":\"string\"}"), "x=[1,2]",
            "x: expected an array, got \"[1,2]\"");
    refused(LIST("{\"type\":\"integer\"}"), "x=[1,\"a\"]",
            "x: each element: expected an integer, got \"[1,\"a\"]\"");
    gives(LIST("{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"), "x=[1,2]|x=[3]",
          "{\"x\":[[1,2],[3]]}");
    gives(LIST("{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"), "x=[[1],[2]]",
          "{\"x\":[[1],[2]]}");
}
END_TEST

START_TEST(elements_are_typed_by_their_place)
{
    static const char *const schemas[] = {
        X("{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"},{\"type\":"
          "\"string\"}],\"items\":{\"type\":\"boolean\"}}"),
        X("{\"type\":\"array\",\"items\":[{\"type\":\"integer\"},{\"type\":\"string\"}]"
          "}"),
    };
    gives(schemas[0], "x=1|x=2|x=true|x=false", "{\"x\":[1,\"2\",true,false]}");
    gives(schemas[1], "x=1|x=2|x=3", "{\"x\":[1,\"2\",3]}");
    gives(schemas[0], "x=[1,\"2\",true]", "{\"x\":[1,\"2\",true]}");
    refused(schemas[0], "x=a", "x: each element: expected an integer, got \"a\"");
}
END_TEST

/* ---- choices ---- */

START_TEST(of_several_types_the_narrowest_is_taken)
{
    static const char *const schemas[] = {
        X("{\"type\":[\"string\",\"integer\",\"null\"]}"),
        X("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"},{\"type\":\"null\"}]"
          "}"),
        X("{\"oneOf\":[{\"type\":\"null\"},{\"type\":[\"integer\",\"string\"]}]}"),
    };
    for (size_t i = 0; i < MP_COUNT(schemas); i++) {
        gives(schemas[i], "x=5", "{\"x\":5}");
        gives(schemas[i], "x=null", "{\"x\":null}");
        gives(schemas[i], "x=5.5", "{\"x\":\"5.5\"}");
        gives(schemas[i], "x=true", "{\"x\":\"true\"}");
    }
    refused(X("{\"type\":[\"integer\",\"null\"]}"), "x=a",
            "x: expected an integer or null, got \"a\"");
    refused(X("{\"anyOf\":[{\"type\":\"number\"},{\"type\":\"boolean\"}]}"), "x=a",
            "x: expected a number or true or false, got \"a\"");
}
END_TEST

START_TEST(an_array_may_be_one_of_several)
{
    const char *list_or_null = X("{\"anyOf\":[{\"type\":\"array\",\"items\":{\"type\":"
                                 "\"string\"}},{\"type\":\"null\"}]}");
    gives(list_or_null, "x=null", "{\"x\":null}");
    gives(list_or_null, "x=a|x=b", "{\"x\":[\"a\",\"b\"]}");
    gives(list_or_null, "x=[\"a\"]", "{\"x\":[\"a\"]}");
    gives(X("{\"type\":[\"string\",\"array\"]}"), "x=a", "{\"x\":\"a\"}");
    gives(X("{\"type\":[\"string\",\"array\"]}"), "x=[1]", "{\"x\":[1]}");
}
END_TEST

START_TEST(all_of_several_must_accept)
{
    gives(X("{\"allOf\":[{\"type\":[\"integer\",\"string\"]},{\"type\":[\"string\"]}]}"),
          "x=5", "{\"x\":\"5\"}");
    gives(X("{\"allOf\":[{\"type\":\"integer\"},{\"minimum\":0}]}"), "x=5", "{\"x\":5}");
    refused(X("{\"allOf\":[{\"type\":\"integer\"},{\"minimum\":0}]}"), "x=a",
            "x: expected an integer, got \"a\"");
}
END_TEST

START_TEST(of_an_enum_one_must_be_given)
{
    gives(X("{\"enum\":[\"fast\",\"slow\"]}"), "x=slow", "{\"x\":\"slow\"}");
    gives(X("{\"enum\":[\"1\",2,null,true,1.0]}"), "x=1", "{\"x\":1}");
    gives(X("{\"enum\":[\"1\",2]}"), "x=1", "{\"x\":\"1\"}");
    gives(X("{\"enum\":[\"1\",2,null]}"), "x=2", "{\"x\":2}");
    gives(X("{\"enum\":[\"1\",2,null]}"), "x=null", "{\"x\":null}");
    gives(X("{\"enum\":[[1,2]]}"), "x=[1,2]", "{\"x\":[1,2]}");
    gives(X("{\"const\":\"only\"}"), "x=only", "{\"x\":\"only\"}");
    gives(LIST("{\"enum\":[\"a\",\"b\"]}"), "x=a|x=b", "{\"x\":[\"a\",\"b\"]}");
    refused(X("{\"type\":\"string\",\"enum\":[\"fast\",\"slow\"]}"), "x=quick",
            "x: expected \"fast\" or \"slow\", got \"quick\"");
    refused(X("{\"const\":3}"), "x=4", "x: expected 3, got \"4\"");
    refused(X("{\"anyOf\":[{\"enum\":[\"a\"]},{\"type\":\"null\"}]}"), "x=b",
            "x: expected \"a\" or null, got \"b\"");
    refused(LIST("{\"enum\":[\"a\",\"b\"]}"), "x=c",
            "x: each element: expected \"a\" or \"b\", got \"c\"");
}
END_TEST

START_TEST(a_long_enum_is_cut_in_the_error)
{
    char schema[4000] = "{\"properties\":{\"x\":{\"enum\":[\"first\"";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *args = json_object();

    for (int i = 0; i < 100; i++)
        sprintf(schema + strlen(schema), ",\"choice number %d\"", i);
    strcat(schema, "]}}}");
    ck_assert_int_eq(set_all(args, schema, "x=last", &none, &err), MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(
        strstr(err.text, "expected \"first\" or \"choice number 0\" or "));
    ck_assert_ptr_nonnull(strstr(err.text, " or .., got \"last\""));
    json_decref(args);
}
END_TEST

START_TEST(a_type_nobody_heard_of_is_left_to_the_server)
{
    gives(X("{\"type\":\"date\"}"), "x=today", "{\"x\":\"today\"}");
    gives(X("{\"type\":7}"), "x=today", "{\"x\":\"today\"}");
    refused(X("false"), "x=1", "x: expected another value, got \"1\"");
}
END_TEST

/* ---- references ---- */

#define DEFS(schema, defs) "{\"properties\":{\"x\":" schema "},\"$defs\":{" defs "}}"

START_TEST(local_references_are_followed)
{
    gives(DEFS("{\"$ref\":\"#/$defs/Count\"}", "\"Count\":{\"type\":\"integer\"}"), "x=5",
          "{\"x\":5}");
    gives(DEFS("{\"$ref\":\"#/$defs/a~1b~0c%25%20d\"}",
               "\"a/b~c% d\":{\"type\":\"integer\"}"),
          "x=5", "{\"x\":5}");
    gives(DEFS("{\"$ref\":\"#/$defs/~01\"}", "\"~1\":{\"type\":\"string\"}"), "x=5",
          "{\"x\":\"5\"}");
    gives(DEFS("{\"allOf\":[{\"$ref\":\"#/$defs/list/1\"}]}",
               "\"list\":[0,{\"type\":\"string\"}]"),
          "x=5", "{\"x\":\"5\"}");
    gives("{\"$ref\":\"#/$defs/all\",\"$defs\":{\"all\":" X("{\"type\":\"string\"}") "}}",
          "x=5", "{\"x\":\"5\"}");
    refused(DEFS("{\"$ref\":\"#/$defs/A\"}",
                 "\"A\":{\"$ref\":\"#/$defs/B\"},\"B\":{\"type\":\"null\"}"),
            "x=5", "x: expected null, got \"5\"");
}
END_TEST

START_TEST(no_other_reference_is_followed)
{
    static const char *const refs[] = {"http://example.org/a",
                                       "other.json#/a",
                                       "#anchor",
                                       "#/$defs/missing",
                                       "#/$defs/A/type/further",
                                       "#/$defs/%zz",
                                       "#/$defs/%00",
                                       "",
                                       "#/$defs/%4",
                                       "#/properties/list/x",
                                       "/etc/passwd"};
    for (size_t i = 0; i < MP_COUNT(refs); i++) {
        char schema[200];
        snprintf(schema, sizeof schema, DEFS("{\"$ref\":\"%s\"}", "\"A\":{\"type\":[]}"),
                 refs[i]);
        gives(schema, "x=5", "{\"x\":5}");
    }
}
END_TEST

START_TEST(circles_end)
{
    gives(DEFS("{\"$ref\":\"#/$defs/A\"}",
               "\"A\":{\"$ref\":\"#/$defs/B\"},\"B\":{\"$ref\":\"#/$defs/A\"}"),
          "x=5", "{\"x\":5}");
    gives("{\"properties\":{\"x\":{\"$ref\":\"#\"}}}", "x.x.x=5",
          "{\"x\":{\"x\":{\"x\":5}}}");
    gives(DEFS("{\"$ref\":\"#/$defs/A\"}",
               "\"A\":{\"anyOf\":[{\"$ref\":\"#/$defs/A\"},{\"type\":\"string\"}]}"),
          "x=5", "{\"x\":\"5\"}");
    /* two ways at each of many levels */
    gives(DEFS("{\"$ref\":\"#/$defs/A\"}",
               "\"A\":{\"anyOf\":[{\"$ref\":\"#/$defs/A\"},{\"$ref\":\"#/$defs/A\"},"
               "{\"allOf\":[{\"$ref\":\"#/$defs/A\"},{\"$ref\":\"#/$defs/A\"}]},"
               "{\"type\":\"integer\"}]}"),
          "x=5", "{\"x\":5}");
}
END_TEST

/* ---- names ---- */

START_TEST(a_dot_leads_into_an_object)
{
    const char *schema = "{\"properties\":{\"a\":{\"type\":\"object\",\"properties\":"
                         "{\"b\":{\"type\":\"string\"},\"c.d\":{\"type\":\"string\"},"
                         "\"e\":{\"type\":\"object\"}}},"
                         "\"a.f\":{\"type\":\"string\"},\"s\":{\"type\":\"string\"}}}";
    gives(schema, "a.b=5", "{\"a\":{\"b\":\"5\"}}");
    gives(schema, "a.b=5|a.x=5", "{\"a\":{\"b\":\"5\",\"x\":5}}");
    gives(schema, "a.c.d=5", "{\"a\":{\"c.d\":\"5\"}}");
    gives(schema, "a.e.g.h=5", "{\"a\":{\"e\":{\"g\":{\"h\":5}}}}");
    gives(schema, "a.f=5", "{\"a.f\":\"5\"}");
    refused(schema, "a.f.g=5", "a.f.g: \"a.f\" is not an object, so it has no members");
    gives(schema, "a={\"b\":\"x\"}|a.b=y", "{\"a\":{\"b\":\"y\"}}");
    gives(NULL, "p.q=1|p.r=2|p.s.t=3", "{\"p\":{\"q\":1,\"r\":2,\"s\":{\"t\":3}}}");
    gives(NULL, ".a=1|b.=2|.=3", "{\".a\":1,\"b.\":2,\".\":3}");
    refused(schema, "s.b=5", "s.b: \"s\" is not an object, so it has no members");
}
END_TEST

START_TEST(what_is_no_object_has_no_members)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *args = json_pack("{s:i}", "a", 1);
    ck_assert_int_eq(cli_typed_args_set(args, NULL, "a.b", "2", &none, &err),
                     MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "a.b: \"a\" was given before, and not as an object");
    ck_assert_int_eq(json_integer_value(json_object_get(args, "a")), 1);
    json_decref(args);
}
END_TEST

START_TEST(dots_lead_no_deeper_than_32_levels)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *args = json_object();
    char key[100] = "k";

    for (int i = 0; i < 32; i++)
        strcat(key, ".k");
    ck_assert_int_eq(cli_typed_args_set(args, NULL, key, "1", &none, &err), MCPLUG_OK);
    json_object_clear(args);
    strcat(key, ".k");
    ck_assert_int_eq(cli_typed_args_set(args, NULL, key, "1", &none, &err),
                     MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "more than 32 levels"));
    ck_assert_uint_eq(json_object_size(args), 0);
    json_decref(args);
}
END_TEST

START_TEST(an_unknown_name_is_refused_where_the_schema_says_so)
{
    const char *closed =
        "{\"properties\":{\"color\":{},\"width\":{},\"o\":{\"type\":"
        "\"object\",\"properties\":{\"inner\":{}},"
        "\"additionalProperties\":false}},\"additionalProperties\":false}";
    refused(closed, "colour=red",
            "colour: there is no property \"colour\"; did you mean \"color\"?");
    refused(closed, "widht=1",
            "widht: there is no property \"widht\"; did you mean \"width\"?");
    refused(closed, "colour.x=1",
            "colour.x: there is no property \"colour\"; did you mean \"color\"?");
    refused(closed, "o.iner=1",
            "o.iner: there is no property \"iner\"; did you mean \"inner\"?");
    refused("{\"additionalProperties\":false}", "a=1", "a: there is no property \"a\"");
    gives(closed, "o.inner=1", "{\"o\":{\"inner\":1}}");
    gives(X("{}"), "y=1", "{\"y\":1}");
    gives("{\"additionalProperties\":false,\"patternProperties\":{\"^a\":{}}}", "a=1",
          "{\"a\":1}");
    gives("{\"additionalProperties\":{\"type\":\"string\"}}", "a=1", "{\"a\":\"1\"}");
}
END_TEST

START_TEST(properties_of_every_branch_are_known)
{
    const char *schema =
        "{\"properties\":{\"kind\":{\"type\":\"string\"}},\"allOf\":[{\"properties\":"
        "{\"a\":{\"type\":\"string\"}}}],\"oneOf\":[{\"properties\":{\"b\":{\"type\":"
        "\"integer\"}}},{\"properties\":{\"b\":{\"type\":\"boolean\"}}}]}";
    gives(schema, "kind=1|a=2|b=3", "{\"kind\":\"1\",\"a\":\"2\",\"b\":3}");
    gives(schema, "b=true", "{\"b\":true}");
    refused(schema, "b=x", "b: expected an integer or true or false, got \"x\"");
}
END_TEST

START_TEST(a_key_or_value_that_is_no_text_is_refused)
{
    refused(NULL, "=5", "a key is missing before \"=5\"");
    refused(NULL, "a=\xff", "a: the value is not UTF-8");
    refused(NULL, "\xc3=1", "\xc3: the key is not UTF-8");
}
END_TEST

START_TEST(long_values_are_shortened_in_errors)
{
    char word[300] = "x=";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *args = json_object();
    for (int i = 0; i < 59; i++)
        strcat(word, "a");
    strcat(word, "\xc3\xa9 and so on");
    ck_assert_int_eq(set_all(args, X("{\"type\":\"null\"}"), word, &none, &err),
                     MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "aaaa..\""));
    json_decref(args);
}
END_TEST

/* ---- required ---- */

static const char *missing(const char *schema_text, const char *args_text)
{
    static struct mcplug_error err;
    json_t *schema = schema_of(schema_text), *args = schema_of(args_text);
    int r = cli_typed_args_check_required(args, schema, &err);
    ck_assert_int_eq(r, r == MCPLUG_OK ? MCPLUG_OK : MCPLUG_EINVAL);
    json_decref(schema);
    json_decref(args);
    return r == MCPLUG_OK ? "" : err.text;
}

START_TEST(missing_arguments_are_named)
{
    const char *schema =
        "{\"required\":[\"a\",\"b\"],\"allOf\":[{\"$ref\":\"#/$defs/D\"}],"
        "\"$defs\":{\"D\":{\"required\":[\"c\",\"a\",7]}},"
        "\"anyOf\":[{\"required\":[\"d\"]}]}";
    ck_assert_str_eq(missing(schema, "{}"), "missing arguments: \"a\", \"b\", \"c\"");
    ck_assert_str_eq(missing(schema, "{\"a\":null,\"c\":1}"), "missing argument: \"b\"");
    ck_assert_str_eq(missing(schema, "{\"a\":1,\"b\":2,\"c\":3}"), "");
    ck_assert_str_eq(missing("{}", "{}"), "");
    ck_assert_str_eq(missing("true", "{}"), "");
    ck_assert_str_eq(missing("{\"required\":true}", "{}"), "");
    ck_assert_str_eq(missing(NULL, "{}"), "");
}
END_TEST

/* ---- what a peer may give ---- */

static void repeat(struct mp_str *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mp_str_addf(s, "%s%s", i ? "," : "", text);
}

/* One argument against a schema of about `n` parts: `before` PART,PART.. `behind` */
static void type_one(const char *before, const char *part, const char *behind,
                     const char *value, size_t n)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_numbers numbers = {0};
    struct mp_str s;
    json_t *args = json_object();

    mp_str_init(&s, 1 << 24);
    mp_str_adds(&s, before);
    repeat(&s, part, n);
    mp_str_adds(&s, behind);
    json_t *schema = schema_of(s.data);
    cli_typed_args_set(args, schema, "x", value, &numbers, &err);
    cli_typed_args_check_required(args, schema, &err);
    json_decref(schema);
    json_decref(args);
    cli_numbers_clear(&numbers);
    mp_str_clear(&s);
}

static const struct {
    const char *before, *part, *behind;
    bool list; /* the value is a list of as many elements */
} larger[] = {
    {"{\"properties\":{\"x\":{\"type\":[", "1", ",\"null\"]}}}", false},
    {"{\"properties\":{\"x\":{\"items\":{\"type\":[", "\"null\"", ",\"string\"]}}}}",
     true},
    {"{\"properties\":{\"x\":{\"items\":{\"type\":[", "1", ",\"string\"]}}}}", true},
    {"{\"properties\":{\"x\":{\"enum\":[", "\"v\"", "]}}}", false},
    {"{\"properties\":{\"x\":{\"items\":{\"enum\":[", "\"v\"", ",\"a\"]}}}}", true},
    {"{\"properties\":{\"x\":{\"anyOf\":[", "{\"type\":\"null\"}", "]}}}", false},
    {"{\"properties\":{\"x\":{\"items\":{\"anyOf\":[", "{\"type\":\"null\"}",
     ",{\"type\":\"string\"}]}}}}", true},
    {"{\"properties\":{\"x\":{\"oneOf\":[", "{\"$ref\":\"#/properties/x\"}", "]}}}",
     false},
    {"{\"allOf\":[", "true", "]}", false},
    {"{\"required\":[", "\"r\"", "]}", false},
};
static int nth_larger;

static void type_larger(size_t n)
{
    struct mp_str list;

    mp_str_init(&list, 1 << 24);
    mp_str_addc(&list, '[');
    repeat(&list, "\"a\"", n);
    mp_str_addc(&list, ']');
    type_one(larger[nth_larger].before, larger[nth_larger].part,
             larger[nth_larger].behind, larger[nth_larger].list ? list.data : "a", n);
    mp_str_clear(&list);
}

START_TEST(a_large_schema_takes_little_longer_than_a_small_one)
{
    nth_larger = _i;
    ck_assert_double_lt(grows_by(type_larger, 1500), 24);
}
END_TEST

/* ---- without memory ---- */

static unsigned count, failing, live;

static void *scarce_alloc(size_t size)
{
    if (++count == failing)
        return NULL;
    live++;
    return malloc(size);
}

static void scarce_free(void *p)
{
    live -= p != NULL;
    free(p);
}

START_TEST(without_memory_there_is_an_error_and_nothing_is_lost)
{
    static const char *const words[][2] = {{"n", "5"},
                                           {"list", "a"},
                                           {"o.p.q", "1.5"},
                                           {"o", "{\"p\":[1,{}]}"},
                                           {"list", "[\"b\"]"}};
    json_set_alloc_funcs(scarce_alloc, scarce_free);
    failing = 0;
    json_t *schema = schema_of("{\"properties\":{\"n\":{\"type\":\"integer\"},\"list\":"
                               "{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
                               "\"o\":{\"type\":\"object\"}}}");
    for (size_t i = 0; i < MP_COUNT(words); i++) {
        unsigned before = live, n = 0;
        do {
            struct mcplug_error err = MCPLUG_ERROR_INIT;
            struct cli_numbers numbers = {0};
            failing = 0;
            json_t *args = json_pack("{s:[s],s:{s:i}}", "list", "first", "other", "a", 1);
            json_t *old = json_deep_copy(args);
            failing = ++n;
            count = 0;
            int r = cli_typed_args_set(args, schema, words[i][0], words[i][1], &numbers,
                                       &err);
            failing = 0;
            if (r != MCPLUG_OK) {
                ck_assert_int_eq(r, MCPLUG_ENOMEM);
                ck_assert(json_equal(args, old));
            }
            json_decref(args);
            json_decref(old);
            cli_numbers_clear(&numbers);
            ck_assert_uint_eq(live, before);
        } while (n <= 100);
    }
    json_decref(schema);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_typed_args");
    TCase *t = tcase_create("all");

    tcase_add_test(t, without_a_schema_json_is_json_and_a_word_is_a_string);
    tcase_add_test(t, a_string_is_taken_as_it_is);
    tcase_add_test(t, an_integer_is_parsed);
    tcase_add_test(t, a_number_is_parsed);
    tcase_add_test(t, a_number_goes_out_as_it_was_typed);
    tcase_add_test(t, a_long_number_may_be_one_of_the_choices);
    tcase_add_test(t, booleans_and_null_are_parsed);
    tcase_add_test(t, an_object_is_json_text);
    tcase_add_test(t, an_array_is_json_text_or_repeated_keys);
    tcase_add_test(t, what_begins_like_an_array_is_the_whole_array);
    tcase_add_test(t, elements_are_typed_by_their_place);
    tcase_add_test(t, of_several_types_the_narrowest_is_taken);
    tcase_add_test(t, an_array_may_be_one_of_several);
    tcase_add_test(t, all_of_several_must_accept);
    tcase_add_test(t, of_an_enum_one_must_be_given);
    tcase_add_test(t, a_long_enum_is_cut_in_the_error);
    tcase_add_test(t, a_type_nobody_heard_of_is_left_to_the_server);
    tcase_add_test(t, local_references_are_followed);
    tcase_add_test(t, no_other_reference_is_followed);
    tcase_add_test(t, circles_end);
    tcase_add_test(t, a_dot_leads_into_an_object);
    tcase_add_test(t, what_is_no_object_has_no_members);
    tcase_add_test(t, dots_lead_no_deeper_than_32_levels);
    tcase_add_test(t, an_unknown_name_is_refused_where_the_schema_says_so);
    tcase_add_test(t, properties_of_every_branch_are_known);
    tcase_add_test(t, a_key_or_value_that_is_no_text_is_refused);
    tcase_add_test(t, long_values_are_shortened_in_errors);
    tcase_add_test(t, missing_arguments_are_named);
    tcase_add_loop_test(t, a_large_schema_takes_little_longer_than_a_small_one, 0,
                        MP_COUNT(larger));
    tcase_add_test(t, without_memory_there_is_an_error_and_nothing_is_lost);
    tcase_set_timeout(t, 60); /* some are large, and valgrind is slow */
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
