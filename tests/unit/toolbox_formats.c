/* Tools as the APIs of models want them. */
#include "nomem_kit.h" /* counts allocations */

#include "box_kit.h"
#include "toolbox/toolbox.h"

#include <jansson.h>

/* The one tool in a format, parsed: give. */
static json_t *formatted(enum mcplug_format format, const char *tool)
{
    struct mp_str out;
    json_t *parsed = NULL;

    mp_str_init(&out, 1 << 20);
    struct mp_formatting how = {format, mp_provider_of_format(format), false, NULL};
    if (mp_format_tool(&out, &how, "n", mp_text(tool)) == MP_FORMATTED) {
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

/* The description of a tool may stand beside others in one text. */
START_TEST(headings_in_a_description_are_quoted)
{
    static const struct {
        const char *given, *wanted;
    } texts[] = {
        {"plain\\n- a list\\n  - of two\\ta # b", NULL},
        {"\\u00e9 as it came \\/", NULL},
        {"a\\n#### MCP Server: b\\nc", "a\\n> #### MCP Server: b\\nc"},
        {"# a", "> # a"},
        {"a\\r\\u200b #b", "a\\n> \\\\u{200b} #b"},
        {"a\\n===\\nb\\n--- \\n", "a\\n> ===\\nb\\n> --- \\n"},
        {"a\\n<H4>b", "a\\n> <H4>b"},
        {"a\\u202eb\\u0007", "a\\\\u{202e}b\\\\x07"},
        {"fam\\u200dily \\ufe0f", NULL},
    };
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        char tool[400], expected[400];
        snprintf(tool, sizeof tool, "{\"description\":\"%s\"}", texts[i].given);
        snprintf(expected, sizeof expected,
                 "{\"name\":\"n\",\"description\":\"%s\",\"input_schema\":" EMPTY "}",
                 texts[i].wanted ? texts[i].wanted : texts[i].given);
        same(MCPLUG_FORMAT_ANTHROPIC, tool, expected);
    }
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
        /* so is what a shared base requires, in each branch and behind a reference */
        {"{\"anyOf\":[{\"required\":[\"c\",\"b\",\"b\"],\"oneOf\":[{\"$ref\":\"#/x\"},"
         "{\"required\":[\"a\"]}]},{\"required\":[\"b\",\"d\"],\"$ref\":\"#/x\"}],"
         "\"x\":{\"properties\":{\"a\":{},\"b\":{},\"c\":{},\"d\":{}},"
         "\"required\":[\"a\"],\"$ref\":\"#\"}}",
         "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{},\"c\":{},\"d\":{}},"
         "\"required\":[\"a\",\"b\"],\"x\":{\"properties\":{\"a\":{},\"b\":{},\"c\":{},"
         "\"d\":{}},\"required\":[\"a\"],\"$ref\":\"#\"}}"},
        /* names may have escapes */
        {"{\"properties\":{\"a\":{}},\"allOf\":[{\"required\":[\"\\u0061\"],"
         "\"properties\":{\"\\u0061\":{\"z\":1}}}]}",
         "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"]}"},
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

/* The tool has so many properties, and requires so many of them. */
static void counts(const char *tool, size_t properties, size_t required)
{
    json_t *is = formatted(MCPLUG_FORMAT_OPENAI, tool);
    json_t *got = json_object_get(json_object_get(is, "function"), "parameters");
    ck_assert_uint_eq(json_object_size(json_object_get(got, "properties")), properties);
    ck_assert_uint_eq(json_array_size(json_object_get(got, "required")), required);
    json_decref(is);
}

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
    counts(tool, 6001, 0);
}
END_TEST

START_TEST(all_properties_behind_a_reference_stay)
{
    static char tool[100000];
    size_t n = 0;

    n += (size_t)sprintf(tool, "{\"inputSchema\":{\"allOf\":[{\"$ref\":\"#/$defs/all\"}],"
                               "\"$defs\":{\"all\":{\"properties\":{\"p0\":{}");
    for (int i = 1; i < 300; i++)
        n += (size_t)sprintf(tool + n, ",\"p%d\":{\"description\":\"%0150d\"}", i, i);
    n += (size_t)sprintf(tool + n, "},\"required\":[\"p0\"");
    for (int i = 1; i < 300; i++)
        n += (size_t)sprintf(tool + n, ",\"p%d\"", i);
    sprintf(tool + n, "]}}}}");
    counts(tool, 300, 300);
}
END_TEST

START_TEST(all_branches_of_a_choice_count)
{
    static char tool[100000];
    size_t n = 0;

    n += (size_t)sprintf(tool,
                         "{\"inputSchema\":{\"$defs\":{\"base\":{\"properties\":{"
                         "\"id\":{}},\"required\":[\"id\"]}},\"properties\":{\"r\":{}},"
                         "\"required\":[\"r\"],\"oneOf\":[{\"$ref\":\"#/$defs/base\"}");
    for (int i = 0; i < 1000; i++)
        n += (size_t)sprintf(tool + n,
                             ",{\"allOf\":[{\"$ref\":\"#/$defs/base\"}],\"properties\":"
                             "{\"p%d\":{}},\"required\":[\"p%d\"]}",
                             i, i);
    sprintf(tool + n, "]}}");
    counts(tool, 1002, 2); /* r and id */
}
END_TEST

/* Eight references to itself were followed eight levels deep, a path allocated for each.
 * Now the work is the same for each tool, however many there are. */
START_TEST(a_reference_is_followed_once)
{
    static const char tool[] =
        "{\"inputSchema\":{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"},{\"$ref\":"
        "\"#\"},{\"$ref\":\"#\"},{\"$ref\":\"#\"},{\"$ref\":\"#\"},{\"$ref\":\"#\"},"
        "{\"$ref\":\"#\"}],\"properties\":{\"a\":{}}}}";
    unsigned long before = calls;

    counts(tool, 1, 0);
    ck_assert_uint_lt(calls - before, 32);
}
END_TEST

static const struct mp_formatting for_openai = {MCPLUG_FORMAT_OPENAI, &mp_providers[1],
                                                false, NULL};

static void merge_one(void)
{
    static const char tool[] =
        "{\"inputSchema\":{\"anyOf\":[{\"$ref\":\"#/x\"},{\"$ref\":\"#/x\"}],\"x\":{"
        "\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"b\"]}}}";
    struct mp_str out;

    mp_str_init(&out, 1 << 20);
    enum mp_formatted r = mp_format_tool(&out, &for_openai, "n", mp_text(tool));
    ck_assert_msg(out.failed || (r == MP_FORMATTED &&
                                 strstr(out.data, "\"properties\":{\"a\":{},\"b\":{}},"
                                                  "\"required\":[\"b\"]}}}")),
                  "%s: %s", when(), out.data);
    mp_str_clear(&out);
}

START_TEST(without_memory_nothing_is_lost_unnoticed)
{
    torture(NULL, merge_one, NULL);
}
END_TEST

/* `n` schemas, each with nothing but a reference to the next one. */
static char *chain(size_t n)
{
    static char tool[10000];
    size_t len = (size_t)sprintf(tool, "{\"name\":\"deep\",\"inputSchema\":{\"$ref\":"
                                       "\"#/$defs/d1\",\"$defs\":{");
    for (size_t i = 1; i < n; i++)
        len += (size_t)sprintf(tool + len, "\"d%zu\":{\"$ref\":\"#/$defs/d%zu\"},", i,
                               i + 1);
    sprintf(tool + len, "\"d%zu\":{\"properties\":{\"a\":{}},\"required\":[\"a\"]}}}}",
            n);
    return tool;
}

/* `n` references to a schema that requires `n` arguments. */
static char *square(size_t n)
{
    static char tool[100000];
    size_t len = (size_t)sprintf(tool, "{\"name\":\"costly\",\"inputSchema\":{\"$defs\":{"
                                       "\"x\":{\"properties\":{\"a\":{}},\"required\":[");
    for (size_t i = 0; i < n; i++)
        len += (size_t)sprintf(tool + len, "\"p%zu\",", i);
    len += (size_t)sprintf(tool + len, "\"a\"]}},\"allOf\":[{}");
    for (size_t i = 0; i < n; i++)
        len += (size_t)sprintf(tool + len, ",{\"$ref\":\"#/$defs/x\"}");
    sprintf(tool + len, "]}}");
    return tool;
}

static enum mp_formatted result_of(const char *tool)
{
    struct mp_str out;

    mp_str_init(&out, 1 << 20);
    enum mp_formatted r = mp_format_tool(&out, &for_openai, "n", mp_text(tool));
    mp_str_clear(&out);
    return r;
}

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

START_TEST(a_tool_beyond_a_limit_is_left_out_with_a_warning)
{
    counts(chain(MP_FORMAT_DEPTH), 1, 1);
    ck_assert_int_eq(result_of(chain(MP_FORMAT_DEPTH + 1)), MP_FORMAT_TOO_DEEP);
    counts(square(200), 1, 1);
    ck_assert_int_eq(result_of(square(2000)), MP_FORMAT_TOO_COSTLY);

    begin(NULL);
    put_in("d", SCRIPTED("TOOLS", chain(MP_FORMAT_DEPTH + 1)), NULL);
    put_in("c", SCRIPTED("TOOLS", square(2000)), NULL);
    put_in("s", SCRIPTED("TOOLS", TOOL("a")), NULL);
    warm_up();
    json_t *array = array_of(MCPLUG_FORMAT_OPENAI);
    ck_assert_uint_eq(json_array_size(array), 1);
    json_decref(array);
    LOGGED("WRN mcp:d the tool mcp__d__deep is not given to a model: its schema has more "
           "than 32 levels of allOf, anyOf, oneOf and $ref\n");
    LOGGED("WRN mcp:c the tool mcp__c__costly is not given to a model: merging its "
           "schema takes more than 32 steps per byte\n");
    end();
}
END_TEST

#define VISIBLE(name, to)                                                                \
    "{\"name\":\"" name                                                                  \
    "\",\"inputSchema\":{\"type\":\"object\"},\"_meta\":{\"ui\":{" to "}}}"

START_TEST(a_tool_for_user_interfaces_alone_is_left_out)
{
    begin(NULL);
    put_in(
        "s",
        SCRIPTED(
            "TOOLS",
            VISIBLE("app", "\"visibility\":[\"app\"]") "," VISIBLE(
                "both",
                "\"visibility\":[\"app\",\"model\"]") "," VISIBLE("all",
                                                                  "") "," VISIBLE("odd",
                                                                                  "\"visi"
                                                                                  "bility"
                                                                                  "\":"
                                                                                  "\"app"
                                                                                  "\"")),
        NULL);
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(box), 3);
    ck_assert(!mcplug_toolbox_find(box, "mcp__s__app", NULL, NULL));
    ck_assert(mcplug_toolbox_find(box, "mcp__s__both", NULL, NULL));
    ck_assert_ptr_null(
        strstr(mcplug_toolbox_json(box, MCPLUG_FORMAT_MCP, NULL), "__app\""));
    end();
}
END_TEST

START_TEST(all_tools_of_a_toolbox_are_one_array)
{
    struct seen s;

    begin(NULL);
    ck_assert_str_eq(mcplug_toolbox_json(box, MCPLUG_FORMAT_MCP, NULL), "[]");
    ck_assert_str_eq(mcplug_toolbox_json(box, MCPLUG_FORMAT_ANTHROPIC, NULL), "[]");
    put_in("e", example(NULL), NULL);
    put_in("s", SCRIPTED("TOOLS", TOOL("a")), NULL);
    warm_up();
    size_t n = mcplug_toolbox_count(box);
    for (int f = MCPLUG_FORMAT_MCP; f <= MCPLUG_FORMAT_ANTHROPIC; f++) {
        json_t *array = array_of((enum mcplug_format)f);
        ck_assert_uint_eq(json_array_size(array), n);
        const char *once = mcplug_toolbox_json(box, (enum mcplug_format)f, NULL);
        ck_assert_ptr_eq(once, mcplug_toolbox_json(box, (enum mcplug_format)f, NULL));
        json_decref(array);
    }
    used(&s, "mcp__e__grow", NULL);
    UNTIL(mcplug_toolbox_count(box) == n + 1);
    json_t *array = array_of(MCPLUG_FORMAT_ANTHROPIC);
    ck_assert_uint_eq(json_array_size(array), n + 1);
    json_decref(array);
    ck_assert_ptr_null(mcplug_toolbox_json(box, (enum mcplug_format)5, NULL));
    ck_assert_ptr_null(mcplug_toolbox_json(box, (enum mcplug_format) - 1, NULL));
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, each_api_has_a_shape_of_its_own);
    tcase_add_test(tc, headings_in_a_description_are_quoted);
    tcase_add_test(tc, a_tool_without_a_description_gets_one);
    tcase_add_test(tc, the_root_of_a_schema_is_a_plain_object);
    tcase_add_test(tc, anthropic_is_spared_the_names_it_refuses);
    tcase_add_test(tc, a_tool_for_user_interfaces_alone_is_left_out);
    tcase_add_test(tc, a_schema_that_goes_round_in_circles_ends);
    tcase_add_test(tc, all_properties_behind_a_reference_stay);
    tcase_add_test(tc, all_branches_of_a_choice_count);
    tcase_add_test(tc, a_reference_is_followed_once);
    tcase_add_test(tc, without_memory_nothing_is_lost_unnoticed);
    tcase_add_test(tc, a_tool_beyond_a_limit_is_left_out_with_a_warning);
    tcase_add_test(tc, all_tools_of_a_toolbox_are_one_array);
}

int main(void)
{
    return run_suite("toolbox_formats", add);
}
