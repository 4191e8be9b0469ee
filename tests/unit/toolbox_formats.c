/* Tools as the APIs of models want them. */
#include "box_kit.h"

#include "toolbox/toolbox.h"

#include <jansson.h>

/* The one tool in a format, parsed: give. */
static json_t *formatted(enum mcplug_format format, const char *tool)
{
    struct mp_str out;
    json_t *parsed = NULL;

    mp_str_init(&out, 1 << 20);
    if (mp_format_tool(&out, format, "n", mp_text(tool))) {
        ck_assert(!out.failed);
        parsed = json_loads(out.data, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_msg(parsed != NULL, "%s", out.data);
    }
    mp_str_clear(&out);
    return parsed;
}

static void same(enum mcplug_format format, const char *tool, const char *wanted)
{
    json_t *is = formatted(format, tool), *want = json_loads(wanted, 0, NULL);
    ck_assert_msg(want != NULL, "%s", wanted);
    char *text = json_dumps(is, 0);
    ck_assert_msg(json_equal(is, want), "%s\nnot %s", text, wanted);
    free(text);
    json_decref(is);
    json_decref(want);
}

#define SIMPLE                                                                           \
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":["   \
    "\"a\"]}"
#define EMPTY "{\"type\":\"object\",\"properties\":{}}"

START_TEST(each_api_has_a_shape_of_its_own)
{
    static const char tool[] = "{\"name\":\"x\",\"title\":\"T\",\"description\":\"d\\n\","
                               "\"inputSchema\":" SIMPLE ",\"annotations\":{}}";

    same(MCPLUG_FORMAT_OPENAI, tool,
         "{\"type\":\"function\",\"function\":{\"name\":\"n\",\"description\":\"d\\n\","
         "\"parameters\":" SIMPLE "}}");
    same(MCPLUG_FORMAT_OPENAI_RESPONSES, tool,
         "{\"type\":\"function\",\"name\":\"n\",\"description\":\"d\\n\","
         "\"parameters\":" SIMPLE ",\"strict\":false}");
    same(MCPLUG_FORMAT_ANTHROPIC, tool,
         "{\"name\":\"n\",\"description\":\"d\\n\",\"input_schema\":" SIMPLE "}");
}
END_TEST

START_TEST(a_tool_without_a_description_gets_one)
{
    static const char *const cases[][2] = {
        {"{\"title\":\"T\"}", "T"},
        {"{\"description\":\"\",\"title\":\"T\"}", "T"},
        {"{\"description\":null,\"annotations\":{\"title\":\"A\"}}", "A"},
        {"{\"description\":7}", "n"},
        {"{}", "n"},
    };

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        char wanted[256];
        snprintf(wanted, sizeof wanted,
                 "{\"name\":\"n\",\"description\":\"%s\",\"input_schema\":" EMPTY "}",
                 cases[i][1]);
        same(MCPLUG_FORMAT_ANTHROPIC, cases[i][0], wanted);
    }
}
END_TEST

/* The schema that comes out of one that goes in. */
static void schema(enum mcplug_format format, const char *in, const char *wanted)
{
    char tool[4096];
    snprintf(tool, sizeof tool, "{\"description\":\"d\",\"inputSchema\":%s}", in);
    json_t *is = formatted(format, tool), *want = json_loads(wanted, 0, NULL);
    ck_assert_msg(want != NULL, "%s", wanted);
    ck_assert_msg(is != NULL, "left out: %s", in);
    json_t *got = format == MCPLUG_FORMAT_ANTHROPIC
                      ? json_object_get(is, "input_schema")
                      : json_object_get(json_object_get(is, "function"), "parameters");
    char *text = json_dumps(got, 0);
    ck_assert_msg(json_equal(got, want), "%s\nbecame %s\nnot    %s", in, text, wanted);
    free(text);
    json_decref(is);
    json_decref(want);
}

START_TEST(the_root_of_a_schema_is_a_plain_object)
{
    static const char *const cases[][2] = {
        {"null", EMPTY},
        {"true", EMPTY},
        {"[]", EMPTY},
        {"{}", EMPTY},
        {"{\"type\":\"object\"}", EMPTY},
        {"{\"type\":[\"object\",\"null\"],\"properties\":null}", EMPTY},
        {"{\"type\":\"string\",\"enum\":[\"x\"]}", EMPTY},
        {"{\"$schema\":\"http://json-schema.org/draft-07/"
         "schema#\",\"properties\":{\"a\":{}}"
         ",\"required\":[\"a\"],\"additionalProperties\":false,\"$defs\":{\"x\":{}}}",
         "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"],"
         "\"additionalProperties\":false,\"$defs\":{\"x\":{}}}"},
        /* what all branches require is required */
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"anyOf\":["
         "{\"required\":[\"a\",\"b\"],\"properties\":{\"b\":{},\"c\":{}}},"
         "{\"required\":[\"b\"],\"properties\":{\"a\":{\"type\":\"null\"},\"b\":{\"x\":1}"
         "}}]}",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{},"
         "\"c\":{}},"
         "\"required\":[\"b\"]}"},
        {"{\"allOf\":[{\"properties\":{\"a\":{}},\"required\":[\"a\"]},"
         "{\"properties\":{\"b\":{}}}],\"oneOf\":[{\"required\":[\"b\"]},{}]}",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\"]}"},
        {"{\"$ref\":\"#/$defs/a~1b\",\"$defs\":{\"a/b\":{\"properties\":{\"q\":{}},"
         "\"required\":[\"q\"]}}}",
         "{\"type\":\"object\",\"properties\":{\"q\":{}},\"required\":[\"q\"],\"$defs\":{"
         "\"a/b\":{\"properties\":{\"q\":{}},\"required\":[\"q\"]}}}"},
        {"{\"anyOf\":[{\"$ref\":\"#/nowhere\"},{\"$ref\":\"http://x/"
         "y\"},{\"$ref\":\"#x\"},"
         "{\"$ref\":7},7]}",
         EMPTY},
    };

    for (size_t i = 0; i < MP_COUNT(cases); i++)
        schema(MCPLUG_FORMAT_OPENAI, cases[i][0], cases[i][1]);
}
END_TEST

START_TEST(anthropic_is_spared_the_names_it_refuses)
{
    static const char in[] =
        "{\"type\":\"object\",\"properties\":{\"$top\":{},\"a b\":{},"
        "\"a.b-c_1\":{},\"\":{}},\"required\":[\"a.b-c_1\"]}";
    char tool[512], key[66];

    schema(MCPLUG_FORMAT_OPENAI, in, in);
    schema(MCPLUG_FORMAT_ANTHROPIC, in,
           "{\"type\":\"object\",\"properties\":{\"a.b-c_1\":{}},"
           "\"required\":[\"a.b-c_1\"]}");
    for (int n = 64; n <= 65; n++) {
        memset(key, 'k', sizeof key);
        key[n] = '\0';
        snprintf(tool, sizeof tool,
                 "{\"inputSchema\":{\"properties\":{\"%s\":{}},\"required\":[\"%s\"]}}",
                 key, key);
        json_t *is = formatted(MCPLUG_FORMAT_ANTHROPIC, tool);
        ck_assert_msg((is != NULL) == (n == 64), "%d", n);
        json_decref(is);
    }
}
END_TEST

START_TEST(a_tool_for_user_interfaces_alone_is_left_out)
{
    static const struct {
        const char *tool;
        bool given;
    } cases[] = {
        {"{\"_meta\":{\"ui\":{\"visibility\":[\"app\"]}}}", false},
        {"{\"_meta\":{\"ui\":{\"visibility\":[\"app\",\"model\"]}}}", true},
        {"{\"_meta\":{\"ui\":{}}}", true},
        {"{\"_meta\":{\"ui\":{\"visibility\":\"app\"}}}", true},
    };

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        json_t *is = formatted(MCPLUG_FORMAT_OPENAI, cases[i].tool);
        ck_assert_msg((is != NULL) == cases[i].given, "%s", cases[i].tool);
        json_decref(is);
    }
}
END_TEST

/* Without limits this would take for ever, or all memory. */
START_TEST(a_schema_that_goes_round_in_circles_ends)
{
    static char tool[400000];
    size_t n = 0;

    n += (size_t)sprintf(tool, "{\"inputSchema\":{\"properties\":{\"a\":{}");
    for (int i = 0; i < 5000; i++)
        n += (size_t)sprintf(tool + n, ",\"p%d\":{}", i);
    n += (size_t)sprintf(tool + n, "},\"anyOf\":[{}");
    for (int i = 0; i < 1000; i++)
        n += (size_t)sprintf(tool + n, ",{\"$ref\":\"#\"}");
    n += (size_t)sprintf(tool + n, "],\"allOf\":[{}");
    for (int i = 0; i < 1000; i++)
        n +=
            (size_t)sprintf(tool + n, ",{\"$ref\":\"#\",\"properties\":{\"q%d\":{}}}", i);
    sprintf(tool + n, "]}}");
    json_t *is = formatted(MCPLUG_FORMAT_OPENAI, tool);
    json_t *properties = json_object_get(
        json_object_get(json_object_get(is, "function"), "parameters"), "properties");
    ck_assert_uint_ge(json_object_size(properties), 5001);
    json_decref(is);
}
END_TEST

static json_t *array_of(enum mcplug_format format)
{
    size_t len = 0;
    const char *text = mcplug_toolbox_json(box, format, &len);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(strlen(text), len);
    json_t *array = json_loads(text, 0, NULL);
    ck_assert_msg(json_is_array(array), "%s", text);
    return array;
}

START_TEST(all_tools_of_a_toolbox_are_one_array)
{
    struct seen s;

    begin(NULL);
    ck_assert_str_eq(mcplug_toolbox_json(box, MCPLUG_FORMAT_MCP, NULL), "[]");
    ck_assert_str_eq(mcplug_toolbox_json(box, MCPLUG_FORMAT_ANTHROPIC, NULL), "[]");
    put_in("e", example(NULL), NULL);
    put_in("s",
           SCRIPTED("TOOLS", "{\"name\":\"hidden\",\"inputSchema\":{\"type\":\"object\"},"
                             "\"_meta\":{\"ui\":{\"visibility\":[\"app\"]}}}," TOOL("a")),
           NULL);
    warm_up();
    size_t n = mcplug_toolbox_count(box);
    for (int f = MCPLUG_FORMAT_MCP; f <= MCPLUG_FORMAT_ANTHROPIC; f++) {
        json_t *array = array_of((enum mcplug_format)f);
        ck_assert_uint_eq(json_array_size(array), f == MCPLUG_FORMAT_MCP ? n : n - 1);
        const char *once = mcplug_toolbox_json(box, (enum mcplug_format)f, NULL);
        ck_assert_ptr_eq(once, mcplug_toolbox_json(box, (enum mcplug_format)f, NULL));
        json_decref(array);
    }
    LOGGED("VRB mcp:s the tool mcp__s__hidden is not given to a model");
    used(&s, "mcp__e__grow", NULL);
    UNTIL(mcplug_toolbox_count(box) == n + 1);
    json_t *array = array_of(MCPLUG_FORMAT_ANTHROPIC);
    ck_assert_uint_eq(json_array_size(array), n);
    json_decref(array);
    ck_assert_ptr_null(mcplug_toolbox_json(box, (enum mcplug_format)4, NULL));
    ck_assert_ptr_null(mcplug_toolbox_json(box, (enum mcplug_format) - 1, NULL));
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, each_api_has_a_shape_of_its_own);
    tcase_add_test(tc, a_tool_without_a_description_gets_one);
    tcase_add_test(tc, the_root_of_a_schema_is_a_plain_object);
    tcase_add_test(tc, anthropic_is_spared_the_names_it_refuses);
    tcase_add_test(tc, a_tool_for_user_interfaces_alone_is_left_out);
    tcase_add_test(tc, a_schema_that_goes_round_in_circles_ends);
    tcase_add_test(tc, all_tools_of_a_toolbox_are_one_array);
}

int main(void)
{
    return run_suite("toolbox_formats", add);
}
