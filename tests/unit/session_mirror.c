#include "mirror_kit.h"

#include <stdio.h>
#include <stdlib.h>

/* Arguments that go beside a call as headers: x-mcp-header. */

/* ---- what is valid ---- */

#define REACH "is not reached by \"properties\" alone"
#define OF_TYPE "is on a property whose type is not string, integer or boolean"

static const struct {
    const char *schema, *reason;
} invalid[] = {
    {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":7}}}",
     "x-mcp-header at \"a\" is not a string"},
    {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":null}}}",
     "x-mcp-header at \"a\" is not a string"},
    {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":{\"b\":\"c\"}}}}",
     "x-mcp-header at \"a\" is not a string"},
    {"{\"properties\":{" PROPERTY("a", "string", "") "}}",
     "x-mcp-header at \"a\" is empty"},
    {"{\"properties\":{" PROPERTY("a", "string", "My Region") "}}",
     "x-mcp-header at \"a\" is not a valid header name"},
    {"{\"properties\":{" PROPERTY("a", "string", "Region:Primary") "}}",
     "is not a valid header name"},
    {"{\"properties\":{" PROPERTY("a", "string", "R\xc3\xa9gion") "}}",
     "is not a valid header name"},
    {"{\"properties\":{" PROPERTY("a", "string", "A\\r\\nB") "}}",
     "is not a valid header name"},
    {"{\"properties\":{" PROPERTY("a", "string", "A\\u0000") "}}",
     "is not a valid header name"},
    {"{\"properties\":{" PROPERTY("a", "string", "A\\u007f") "}}",
     "is not a valid header name"},
    {"{\"properties\":{" PROPERTY("a", "string", "A@") "}}",
     "is not a valid header name"},
    {"{\"properties\":{" PROPERTY("a", "string", "[A]") "}}",
     "is not a valid header name"},
    {"{\"properties\":{" PROPERTY("a", "string", "Same") "," PROPERTY("b", "string",
                                                                      "Same") "}}",
     "x-mcp-header at \"b\" is a name that another property has"},
    {"{\"properties\":{" PROPERTY(
         "a", "string", "MyField") ",\"o\":{\"properties\":{" PROPERTY("b", "integer",
                                                                       "myfield") "}}}}",
     "x-mcp-header at \"o\",\"b\" is a name that another property has"},
    {"{\"properties\":{" PROPERTY("a", "number", "A") "}}",
     "x-mcp-header at \"a\" " OF_TYPE},
    {"{\"properties\":{" PROPERTY("a", "object", "A") "}}", OF_TYPE},
    {"{\"properties\":{" PROPERTY("a", "array", "A") "}}", OF_TYPE},
    {"{\"properties\":{" PROPERTY("a", "null", "A") "}}", OF_TYPE},
    {"{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"A\"}}}",
     OF_TYPE},
    {"{\"properties\":{\"a\":{\"type\":[\"string\"],\"x-mcp-header\":\"A\"}}}", OF_TYPE},
    {"{\"properties\":{\"a\":{\"x-mcp-header\":\"A\"}}}", OF_TYPE},
    {"{\"properties\":{\"a\":{\"$ref\":\"#/$defs/r\",\"x-mcp-header\":\"A\"}}}", OF_TYPE},
    {"{\"type\":\"string\",\"x-mcp-header\":\"A\"}", "x-mcp-header " REACH},
    {"{\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
     "\"x-mcp-header\":\"A\"}}}}",
     "x-mcp-header at \"a\",\"items\" " REACH},
    {"{\"properties\":{\"a\":{\"prefixItems\":[{\"type\":\"string\",\"x-mcp-header\":"
     "\"A\"}]}}}",
     "x-mcp-header at \"a\",\"prefixItems\" " REACH},
    {"{\"oneOf\":[{\"properties\":{" PROPERTY("a", "string", "A") "}}]}",
     "x-mcp-header at \"oneOf\",\"properties\",\"a\" " REACH},
    {"{\"anyOf\":[{\"properties\":{" PROPERTY("a", "string", "A") "}}]}", REACH},
    {"{\"allOf\":[{},{\"properties\":{" PROPERTY("a", "string", "A") "}}]}", REACH},
    {"{\"not\":{\"properties\":{" PROPERTY("a", "string", "A") "}}}", REACH},
    {"{\"if\":{\"properties\":{" PROPERTY("a", "string", "A") "}}}", REACH},
    {"{\"then\":{\"properties\":{" PROPERTY("a", "string", "A") "}}}", REACH},
    {"{\"else\":{\"properties\":{" PROPERTY("a", "string", "A") "}}}", REACH},
    {"{\"$defs\":{" PROPERTY("r", "string", "A") "}}",
     "x-mcp-header at \"$defs\",\"r\" " REACH},
    {"{\"definitions\":{" PROPERTY("r", "string", "A") "}}", REACH},
    {"{\"patternProperties\":{" PROPERTY("^a", "string", "A") "}}", REACH},
    {"{\"dependentSchemas\":{" PROPERTY("a", "string", "A") "}}", REACH},
    {"{\"additionalProperties\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}", REACH},
    {"{\"additionalProperties\":{\"properties\":{" PROPERTY("a", "string", "A") "}}}",
     REACH},
    {"{\"properties\":[{\"type\":\"string\",\"x-mcp-header\":\"A\"}]}", REACH},
    {"{\"properties\":{\"a\":[{\"type\":\"string\",\"x-mcp-header\":\"A\"}]}}", REACH},
    {"{\"x-other\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}", REACH},
    {"{\"items\":{\"x-mcp-\\u0068eader\":\"A\"}}", REACH},
};

START_TEST(an_invalid_header_takes_its_tool_out_of_the_list_and_the_log_says_why)
{
    char tools[2048], line[512];

    start(true, MCPLUG_MIRRORS_PARAMS);
    snprintf(tools, sizeof tools, "%s,{\"name\":\"bad\",\"inputSchema\":%s},%s", REGION,
             invalid[_i].schema, GOOD);
    struct got g = list(tools);
    ck_assert_str_eq(g.names, "t good");
    snprintf(line, sizeof line, "WRN mcp:fake tool \"bad\" ignored: x-mcp-header");
    const char *at = strstr(f.logged, line);
    ck_assert_msg(at != NULL, "%s", f.logged);
    ck_assert_msg(strstr(at, invalid[_i].reason) != NULL, "%s", f.logged);
    ck_assert_ptr_null(strstr(at + strlen(line), " ignored"));
    /* the others are as good as ever */
    call("t", "{\"region\":\"eu\"}");
    fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "param:Region"), "eu");
    fake_clear(&f);
}
END_TEST

static const char *const valid[] = {
    "{}",
    "true",
    "{\"properties\":{}}",
    "{\"properties\":{\"x-mcp-header\":{\"type\":\"number\"}}}",
    "{\"items\":{\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}}",
    "{\"$defs\":{\"x-mcp-header\":{\"type\":\"string\"}}}",
    "{\"properties\":{\"a\":{\"const\":{\"x-mcp-header\":\"A\"}}}}",
    "{\"properties\":{\"a\":{\"enum\":[{\"x-mcp-header\":1},[{\"x-mcp-header\":1}]]}}}",
    "{\"default\":{\"b\":{\"x-mcp-header\":1}},\"examples\":[{\"x-mcp-header\":\"A\"}]}",
    "{\"description\":\"\\\"x-mcp-header\\\":\\\"\\\"\",\"required\":[\"x-mcp-header\"]}",
    "{\"properties\":{" PROPERTY("a", "string", "!#$%&'*+-.^_`|~09azAZ") "}}",
    "{\"properties\" : {\"a\" : {\"x-mcp-header\" : \"A\" , \"type\":\"boolean\" }}}",
};

START_TEST(what_only_looks_like_a_header_does_no_harm)
{
    char tools[2048];

    start(true, MCPLUG_MIRRORS_PARAMS);
    snprintf(tools, sizeof tools, "{\"name\":\"x\",\"inputSchema\":%s},{\"name\":\"y\"}",
             valid[_i]);
    struct got g = list(tools);
    ck_assert_msg(strcmp(g.names, "x y") == 0, "%s", f.logged);
    ck_assert_ptr_null(strstr(f.logged, " ignored"));
    fake_clear(&f);
}
END_TEST

/* A tool with that many headers, or with one header of that length below a name of that
 * length. give */
static char *big_tool(unsigned headers, unsigned name, unsigned key)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    fprintf(out, "{\"name\":\"big\",\"inputSchema\":{\"properties\":{\"z\":{}");
    for (unsigned i = 0; i < headers; i++)
        fprintf(out, ",\"p%0*u\":{\"type\":\"string\",\"x-mcp-header\":\"H%0*u\"}",
                (int)key, i, (int)name, i);
    fprintf(out, "}}}");
    fclose(out);
    return text;
}

START_TEST(headers_are_bounded)
{
    static const struct {
        unsigned headers, name, key;
        const char *why; /* NULL: it is in the list */
    } cases[] = {
        {64, 2, 2, NULL},   {65, 2, 2, "is one of more than 64"},
        {1, 255, 2, NULL},  {1, 256, 2, "is longer than 256 bytes"},
        {1, 2, 4089, NULL}, {1, 2, 4090, "is below names longer than 4096 bytes"},
    };
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        char *tool = big_tool(cases[i].headers, cases[i].name, cases[i].key);
        start(true, MCPLUG_MIRRORS_PARAMS);
        struct got g = list(tool);
        ck_assert_msg(g.count == (cases[i].why ? 0 : 1), "%zu: %s", i, f.logged);
        if (cases[i].why)
            ck_assert_ptr_nonnull(strstr(f.logged, cases[i].why));
        fake_clear(&f);
        free(tool);
    }
}
END_TEST

START_TEST(all_headers_of_a_tool_go_along)
{
    char *tool = big_tool(64, 2, 2);
    struct mp_str args;

    mp_str_init(&args, 4096);
    for (unsigned i = 0; i < 64; i++)
        mp_str_addf(&args, "%c\"p%02u\":%u", i ? ',' : '{', i, i);
    mp_str_addc(&args, '}');
    start(true, MCPLUG_MIRRORS_PARAMS);
    list(tool);
    call("big", args.data);
    fake_expect(&f, "tools/call");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 64);
    ck_assert_str_eq(fake_meta(&f, "param:H00"), "0");
    ck_assert_str_eq(fake_meta(&f, "param:H63"), "63");
    ck_assert_str_eq(fake_meta(&f, "name"), "big");
    ck_assert_str_eq(fake_meta(&f, "method"), "tools/call");
    mp_str_clear(&args);
    fake_clear(&f);
    free(tool);
}
END_TEST

START_TEST(all_tools_together_are_bounded)
{
    char *tool = big_tool(64, 200, 4000), *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    struct got g = {0};

    start(true, MCPLUG_MIRRORS_PARAMS); /* 270 KB each, 4 MiB are 15 of them */
    mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &g, NULL);
    fake_turn(&f);
    fprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":[",
            ll(fake_expect(&f, "tools/list")));
    for (unsigned i = 0; i < 16; i++)
        fprintf(out, "%s,", tool);
    fprintf(out, "%s]}}", GOOD);
    fclose(out);
    fake_say(&f, text);
    ck_assert_uint_eq(g.count, 16);
    ck_assert_ptr_nonnull(strstr(f.logged, "tool \"big\" ignored: x-mcp-header in all "
                                           "tools takes more than 4 MiB"));
    free(text);
    free(tool);
    fake_clear(&f);
}
END_TEST

START_TEST(a_hundred_bad_tools_are_named_and_the_rest_is_counted)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    unsigned lines = 0;

    for (unsigned i = 0; i < 103; i++)
        fprintf(out, "{\"name\":\"bad%u\",\"inputSchema\":{\"x-mcp-header\":\"A\"}},", i);
    fprintf(out, "%s", GOOD);
    fclose(out);
    start(true, MCPLUG_MIRRORS_PARAMS);
    struct got g = list(text);
    ck_assert_str_eq(g.names, "good");
    for (const char *p = f.logged; (p = strstr(p, " ignored: ")); p++)
        lines++;
    ck_assert_uint_eq(lines, 100);
    ck_assert_ptr_nonnull(strstr(
        f.logged, "WRN mcp:fake ignored 3 more tools because of their x-mcp-header"));
    free(text);
    fake_clear(&f);
}
END_TEST

START_TEST(a_schema_as_deep_as_json_may_be_is_looked_through)
{
    struct mp_str tool;

    for (int good = 0; good < 2; good++) {
        mp_str_init(&tool, 65536);
        mp_str_adds(&tool, "{\"name\":\"deep\",\"inputSchema\":");
        for (int i = 0; i < 29; i++) /* 4 levels are around it, each is 2 */
            mp_str_adds(&tool, good ? "{\"properties\":{\"o\":" : "{\"items\":{\"o\":");
        mp_str_adds(&tool, "{\"type\":\"string\",\"x-mcp-header\":\"Deep\"}");
        for (int i = 0; i < 29; i++)
            mp_str_adds(&tool, "}}");
        mp_str_addc(&tool, '}');
        start(true, MCPLUG_MIRRORS_PARAMS);
        struct got g = list(tool.data);
        ck_assert_uint_eq(g.count, (unsigned)good);
        fake_clear(&f);
        mp_str_clear(&tool);
    }
}
END_TEST

START_TEST(nothing_is_left_out_where_headers_are_not_sent)
{
    static const struct {
        bool modern;
        uint32_t caps;
    } cases[] = {{true, 0}, {false, MCPLUG_MIRRORS_PARAMS}, {false, 0}};

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        start(cases[i].modern, cases[i].caps);
        struct got g = list(REGION "," TOOL("bad", PROPERTY("a", "number", "A")));
        ck_assert_str_eq(g.names, "t bad");
        ck_assert_ptr_null(strstr(f.logged, " ignored"));
        call("t", "{\"region\":\"eu\"}");
        uint64_t id = fake_expect(&f, "tools/call");
        ck_assert_uint_eq(fake_metas(&f, "param:"), 0);
        ck_assert_str_eq(fake_meta(&f, "name"), "t");
        say_mismatch(id, "headers");
        ck_assert_int_eq(o.code, MCPLUG_EPEER); /* and nothing is fetched */
        ck_assert(fake_idle(&f));
        fake_clear(&f);
    }
}
END_TEST

START_TEST(lists_of_prompts_are_not_looked_at)
{
    struct got g = {0};

    fake_init(&f);
    f.ops.caps = MCPLUG_MIRRORS_PARAMS;
    fake_modern(&f, NULL, "{\"prompts\":{}}");
    mp_lists_get(f.server, MCPLUG_PROMPTS, on_list, &g, NULL);
    fake_turn(&f);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"prompts\":[{\"name\":\"p\","
              "\"inputSchema\":{\"x-mcp-header\":1}}]}}",
              ll(fake_expect(&f, "prompts/list")));
    ck_assert_str_eq(g.names, "p");
    fake_clear(&f);
}
END_TEST

START_TEST(a_new_list_replaces_what_was_known)
{
    start(true, MCPLUG_MIRRORS_PARAMS);
    list(REGION);
    list(TOOL("t", PROPERTY("zone", "string", "Zone")));
    call("t", "{\"region\":\"eu\",\"zone\":\"a\"}");
    fake_expect(&f, "tools/call");
    ck_assert_ptr_null(fake_meta(&f, "param:Region"));
    ck_assert_str_eq(fake_meta(&f, "param:Zone"), "a");
    list("");
    call("t", "{\"region\":\"eu\",\"zone\":\"a\"}");
    fake_expect(&f, "tools/call");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 0);
    fake_clear(&f);
}
END_TEST

START_TEST(every_page_is_looked_at)
{
    struct got g = {0};

    start(true, MCPLUG_MIRRORS_PARAMS);
    mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &g, NULL);
    fake_turn(&f);
    say_tools(fake_expect(&f, "tools/list"),
              REGION "," TOOL("bad", PROPERTY("a", "number", "A")),
              ",\"nextCursor\":\"2\"");
    say_tools(fake_expect(&f, "tools/list"),
              TOOL("bad2", PROPERTY("a", "null", "A")) "," TOOL(
                  "u", PROPERTY("zone", "string", "Zone")),
              "");
    ck_assert_str_eq(g.names, "t u");
    call("t", "{\"region\":\"eu\"}");
    fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "param:Region"), "eu");
    call("u", "{\"zone\":\"b\"}");
    fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "param:Zone"), "b");
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(
        tc, an_invalid_header_takes_its_tool_out_of_the_list_and_the_log_says_why, 0,
        MP_COUNT(invalid));
    tcase_add_loop_test(tc, what_only_looks_like_a_header_does_no_harm, 0,
                        MP_COUNT(valid));
    tcase_add_test(tc, headers_are_bounded);
    tcase_add_test(tc, all_headers_of_a_tool_go_along);
    tcase_add_test(tc, all_tools_together_are_bounded);
    tcase_add_test(tc, a_hundred_bad_tools_are_named_and_the_rest_is_counted);
    tcase_add_test(tc, a_schema_as_deep_as_json_may_be_is_looked_through);
    tcase_add_test(tc, nothing_is_left_out_where_headers_are_not_sent);
    tcase_add_test(tc, lists_of_prompts_are_not_looked_at);
    tcase_add_test(tc, a_new_list_replaces_what_was_known);
    tcase_add_test(tc, every_page_is_looked_at);
}

int main(void)
{
    return run_suite("session_mirror", add);
}
