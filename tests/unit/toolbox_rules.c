/* What the APIs of models refuse: what is found, and what becomes of it. */
#include "nomem_kit.h" /* fails allocations */

#include "box_kit.h"
#include "toolbox/toolbox.h"

#include <mcplug/admin.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static mcplug_lint *lint_of(const char *provider, const char *tool)
{
    char *array = malloc(strlen(tool) + 3);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_lint *lint = NULL;

    sprintf(array, "[%s]", tool);
    int r = mcplug_lint_new(provider, "s", array, strlen(array), &lint, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s: %s", tool, err.text);
    free(array);
    return lint;
}

/* "refused root-choice /inputSchema/anyOf\n" .. */
static const char *findings_of(const mcplug_lint *lint)
{
    static const char *const severities[] = {"", "advice", "repaired", "refused"};
    static char text[100000];
    struct mcplug_finding f = {.struct_size = sizeof f};
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; mcplug_lint_finding(lint, 0, i, &f); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s %s%s\n",
                              severities[f.severity], f.rule, f.path,
                              f.is_left_out ? " left out" : "");
    return text;
}

static void same_json(const char *is, const char *wanted, const char *of)
{
    json_t *a = json_loads(is, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    json_t *b = json_loads(wanted, JSON_DECODE_ANY, NULL);
    ck_assert_msg(b != NULL, "%s", wanted);
    ck_assert_msg(a != NULL && json_equal(a, b), "%s\nbecame %s\nnot    %s", of, is,
                  wanted);
    json_decref(a);
    json_decref(b);
}

#define A "anthropic"
#define O "openai"
#define G "gemini"
#define OBJECT(members) "{\"type\":\"object\",\"properties\":{" members "}}"

/* A schema, what is found in it, and what is sent; NULL: the same, or for `sent` "" that
 * the tool is left out. */
static const struct {
    const char *provider, *schema, *found, *sent;
} schemas[] = {
    {A, OBJECT("\"a\":{\"type\":\"string\"}"), "", NULL},
    {O, OBJECT("\"a\":{\"type\":\"string\"}"), "", NULL},
    {G, OBJECT("\"a\":{\"type\":\"string\"}"), "", NULL},
    /* the root */
    {A, "{\"properties\":{}}", "refused root-type /inputSchema\n", OBJECT("")},
    {A, "{\"type\":\"object\"}", "repaired root-properties /inputSchema\n", OBJECT("")},
    {O, "{\"type\":\"object\"}", "refused root-properties /inputSchema\n", OBJECT("")},
    {A,
     "{\"type\":\"object\",\"properties\":{\"a\":{}},\"anyOf\":[{\"required\":[\"a\"]},{"
     "\"required\":[\"b\"],\"properties\":{\"b\":{}}}]}",
     "refused root-choice /inputSchema/anyOf\n", OBJECT("\"a\":{},\"b\":{}")},
    {G,
     "{\"type\":\"object\",\"properties\":{\"a\":{}},\"allOf\":[{\"required\":[\"z\"]}]}",
     "repaired root-choice /inputSchema/allOf\n"
     "refused required-unknown /inputSchema/required\n",
     OBJECT("\"a\":{}")},
    {O,
     "{\"type\":\"object\",\"$ref\":\"#/$defs/x\",\"$defs\":{\"x\":" OBJECT(
         "\"a\":{}") "}}",
     "refused root-ref /inputSchema/$ref\n",
     "{\"type\":\"object\",\"properties\":{\"a\":{}},\"$defs\":{\"x\":" OBJECT(
         "\"a\":{}") "}}"},
    {O, "{\"type\":\"object\",\"properties\":{},\"not\":{},\"if\":{}}",
     "refused root-keyword /inputSchema/not\nrefused root-keyword /inputSchema/if\n",
     OBJECT("")},
    /* names of properties */
    {A, OBJECT("\"a b\":{},\"c\":{}"),
     "refused property-name /inputSchema/properties/a b\n", OBJECT("\"c\":{}")},
    {O, OBJECT("\"a b\":{},\"c\":{}"), "", NULL},
    {G, "{\"type\":\"object\",\"properties\":{\"$x\":{}},\"required\":[\"$x\"]}",
     "refused required-property-name /inputSchema/properties/$x left out\n", ""},
    /* what is of no use to a model */
    {A,
     "{\"$schema\":\"x\",\"type\":\"object\",\"properties\":{\"a\":{\"x-y\":1,\"$"
     "schema\":"
     "\"x\"}}}",
     "repaired dialect /inputSchema/$schema\n"
     "repaired dialect /inputSchema/properties/a/$schema\n",
     OBJECT("\"a\":{\"x-y\":1}")},
    {G, OBJECT("\"a\":{\"x-y\":1},\"x-z\":{}"),
     "repaired extension /inputSchema/properties/a/x-y\n", OBJECT("\"a\":{},\"x-z\":{}")},
    /* what is no JSON Schema */
    {A, OBJECT("\"a\":null,\"b~/c\":\"string\",\"d\":true"),
     "refused no-schema /inputSchema/properties/a\n"
     "refused no-schema /inputSchema/properties/b~0~1c\n"
     "refused property-name /inputSchema/properties/b~0~1c\n",
     OBJECT("\"a\":{},\"d\":true")},
    {A,
     OBJECT("\"a\":{\"type\":\"any\",\"required\":true,\"enum\":1,\"minLength\":-1,"
            "\"maxLength\":2.0,\"description\":null,\"multipleOf\":0,\"anyOf\":[],"
            "\"uniqueItems\":1,\"pattern\":[],\"const\":null}"),
     "refused keyword /inputSchema/properties/a/type\n"
     "refused keyword /inputSchema/properties/a/required\n"
     "refused keyword /inputSchema/properties/a/enum\n"
     "refused keyword /inputSchema/properties/a/minLength\n"
     "refused keyword /inputSchema/properties/a/description\n"
     "refused keyword /inputSchema/properties/a/multipleOf\n"
     "refused keyword /inputSchema/properties/a/anyOf\n"
     "refused keyword /inputSchema/properties/a/uniqueItems\n"
     "refused keyword /inputSchema/properties/a/pattern\n",
     OBJECT("\"a\":{\"maxLength\":2.0,\"const\":null}")},
    {O,
     OBJECT("\"a\":{\"type\":[\"string\",\"null\"]},\"b\":{\"type\":[]},\"c\":{\"type\":["
            "\"null\",\"null\"]}"),
     "refused keyword /inputSchema/properties/b/type\n"
     "refused keyword /inputSchema/properties/c/type\n",
     OBJECT("\"a\":{\"type\":[\"string\",\"null\"]},\"b\":{},\"c\":{}")},
    {A,
     "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\",1,\"\\u0061\"]}",
     "refused keyword /inputSchema/required/1\nrefused twice /inputSchema/required/2\n",
     "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"]}"},
    /* older drafts */
    {A,
     OBJECT("\"a\":{\"type\":\"array\",\"items\":[{\"type\":\"int\"}],"
            "\"additionalItems\":false}"),
     "refused tuple /inputSchema/properties/a/items\n"
     "refused keyword /inputSchema/properties/a/items/0/type\n",
     OBJECT("\"a\":{\"type\":\"array\",\"prefixItems\":[{}],\"items\":false}")},
    {G,
     OBJECT("\"a\":{\"minimum\":1,\"exclusiveMinimum\":true,\"maximum\":3,"
            "\"exclusiveMaximum\":false},\"b\":{\"exclusiveMaximum\":4}"),
     "refused exclusive /inputSchema/properties/a/exclusiveMinimum\n"
     "refused exclusive /inputSchema/properties/a/exclusiveMaximum\n",
     OBJECT("\"a\":{\"exclusiveMinimum\":1,\"maximum\":3},\"b\":{\"exclusiveMaximum\":"
            "4}")},
    /* arrays */
    {O, OBJECT("\"a\":{\"type\":\"array\"},\"b\":{\"type\":\"array\",\"items\":{}}"),
     "refused no-items /inputSchema/properties/a\n",
     OBJECT("\"a\":{\"type\":\"array\",\"items\":{}},\"b\":{\"type\":\"array\","
            "\"items\":{}}")},
    {A, OBJECT("\"a\":{\"type\":\"array\"}"), "", NULL},
    /* formats */
    {G, OBJECT("\"a\":{\"format\":\"uri\"},\"b\":{\"format\":\"date-time\"}"),
     "refused format /inputSchema/properties/a/format\n",
     OBJECT("\"a\":{},\"b\":{\"format\":\"date-time\"}")},
    {O, OBJECT("\"a\":{\"format\":\"uri\"}"), "", NULL},
    /* references */
    {A,
     OBJECT("\"a\":{\"$ref\":\"#/$defs/x\"},\"b\":{\"$ref\":\"http://e/x\"},\"c\":{"
            "\"$ref\":\"#/properties/b\"},\"d\":{\"$ref\":\"#\"},\"e\":{\"$ref\":7}"),
     "refused ref /inputSchema/properties/a/$ref\n"
     "refused ref /inputSchema/properties/b/$ref\n"
     "refused keyword /inputSchema/properties/e/$ref\n",
     OBJECT(
         "\"a\":{},\"b\":{},\"c\":{\"$ref\":\"#/properties/b\"},\"d\":{\"$ref\":\"#\"},"
         "\"e\":{}")},
    {A,
     OBJECT("\"a\":{\"$ref\":\"#/properties/b/anyOf/0\"},\"b\":{\"anyOf\":[{}]},\"c\":{"
            "\"$ref\":\"#/properties/a%62\"},\"ab\":{}"),
     "", NULL},
    {A,
     OBJECT("\"a\":{\"$ref\":\"#x\"},\"b\":{\"$anchor\":\"x\"},\"c\":{\"$ref\":\"u:y\"}"),
     "", NULL}, /* with bases of their own: not judged */
    {A,         /* into what is merged, and what is left out */
     "{\"type\":\"object\",\"anyOf\":[{\"properties\":{\"a\":{}}}],\"properties\":{\"b\":"
     "{"
     "\"$ref\":\"#/anyOf/0\"},\"c\":{\"$ref\":\"#/properties/d e\"},\"d e\":{}}}",
     "refused root-choice /inputSchema/anyOf\n"
     "refused property-name /inputSchema/properties/d e\n"
     "refused ref /inputSchema/properties/b/$ref\n"
     "refused ref /inputSchema/properties/c/$ref\n",
     OBJECT("\"b\":{},\"c\":{},\"a\":{}")},
    {G, /* into what is left out by another rule */
     OBJECT("\"a\":{\"$ref\":\"#/properties/b/x-c\"},\"b\":{\"x-c\":{}}"),
     "repaired extension /inputSchema/properties/b/x-c\n"
     "refused ref /inputSchema/properties/a/$ref\n",
     OBJECT("\"a\":{},\"b\":{}")},
    {G,
     OBJECT("\"a\":{\"$ref\":\"#/properties/b\",\"description\":\"d\"},\"b\":{},\"c\":{"
            "\"$ref\":\"#/properties/b\"}"),
     "refused ref-beside /inputSchema/properties/a/$ref\n",
     OBJECT("\"a\":{\"anyOf\":[{\"$ref\":\"#/properties/b\"}],\"description\":\"d\"},"
            "\"b\":{},\"c\":{\"$ref\":\"#/properties/b\"}")},
    {G,
     OBJECT("\"a\":{\"type\":\"object\",\"properties\":{\"b\":{}},\"required\":[\"b\","
            "\"c\"]}"),
     "refused required-unknown /inputSchema/properties/a/required/1\n",
     OBJECT(
         "\"a\":{\"type\":\"object\",\"properties\":{\"b\":{}},\"required\":[\"b\"]}")},
    {G, "{\"type\":\"object\",\"required\":[\"a\"]}",
     "refused required-unknown /inputSchema/required/0\n"
     "repaired root-properties /inputSchema\n",
     "{\"type\":\"object\",\"properties\":{},\"required\":[]}"},
    {G, /* one part describes what another requires */
     "{\"type\":\"object\",\"required\":[\"b\"],\"allOf\":[{\"$ref\":\"#/$defs/"
     "x\"},{\"properties\":{\"b\":{}}}],\"$defs\":{\"x\":{\"properties\":{\"a\":{}},"
     "\"required\":[\"a\",\"b\"]}}}",
     "repaired root-choice /inputSchema/allOf\n"
     "refused required-unknown /inputSchema/$defs/x/required/1\n",
     "{\"type\":\"object\",\"$defs\":{\"x\":{\"properties\":{\"a\":{}},\"required\":["
     "\"a\"]}},\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\",\"b\"]}"},
    /* twice */
    {A, OBJECT("\"a\":{\"type\":\"string\",\"type\":\"null\"},\"\\u0061\":{}"),
     "refused twice /inputSchema/properties/a/type\n"
     "refused twice /inputSchema/properties/a\n",
     OBJECT("\"a\":{\"type\":\"string\"}")},
    /* schemas inside of schemas; what is none is left alone */
    {A,
     OBJECT(
         "\"a\":{\"oneOf\":[{\"items\":{\"not\":{\"$defs\":{\"b\":{\"type\":0}}}}}],"
         "\"default\":{\"type\":0},\"examples\":[{\"type\":0}],\"const\":{\"type\":0}}"),
     "refused keyword /inputSchema/properties/a/oneOf/0/items/not/$defs/b/type\n",
     OBJECT("\"a\":{\"oneOf\":[{\"items\":{\"not\":{\"$defs\":{\"b\":{}}}}}],"
            "\"default\":{\"type\":0},\"examples\":[{\"type\":0}],\"const\":{\"type\":0}"
            "}")},
};

START_TEST(schemas_are_judged_and_repaired_for_each_provider)
{
    for (size_t i = 0; i < MP_COUNT(schemas); i++) {
        char tool[4096], wanted[4096];
        snprintf(tool, sizeof tool,
                 "{\"name\":\"n\",\"description\":\"d\",\"inputSchema\":%s}",
                 schemas[i].schema);
        mcplug_lint *lint = lint_of(schemas[i].provider, tool);
        ck_assert_msg(strcmp(findings_of(lint), schemas[i].found) == 0,
                      "%s %s\nhas %s\nnot %s", schemas[i].provider, schemas[i].schema,
                      findings_of(lint), schemas[i].found);
        const char *sent = schemas[i].sent ? schemas[i].sent : schemas[i].schema;
        const char *is = mcplug_lint_tool(lint, 0, NULL);
        snprintf(wanted, sizeof wanted,
                 "{\"name\":\"mcp__s__n\",\"description\":\"d\",\"inputSchema\":%s}",
                 sent);
        if (*sent && is)
            same_json(is, wanted, schemas[i].schema);
        else
            ck_assert_msg(!*sent && !is, "%s: %s", schemas[i].schema, is ? is : "none");
        mcplug_lint_free(lint);
    }
}
END_TEST

/* What was repaired is not repaired again. */
START_TEST(what_was_repaired_is_fine)
{
    for (size_t i = 0; i < MP_COUNT(schemas); i++) {
        char tool[4096];
        snprintf(tool, sizeof tool,
                 "{\"name\":\"n\",\"description\":\"d\",\"inputSchema\":%s}",
                 schemas[i].schema);
        mcplug_lint *first = lint_of(schemas[i].provider, tool);
        const char *sent = mcplug_lint_tool(first, 0, NULL);
        mcplug_lint *second = sent ? lint_of(schemas[i].provider, sent) : NULL;
        ck_assert_msg(!second || !*findings_of(second), "%s\nis still %s", sent,
                      findings_of(second));
        mcplug_lint_free(first);
        mcplug_lint_free(second);
    }
}
END_TEST

#define PLAIN ",\"inputSchema\":" OBJECT("")

START_TEST(names_and_descriptions_are_judged)
{
    static char tool[8192];
    static const struct {
        const char *provider, *tool, *found;
    } cases[] = {
        {A, "{\"name\":\"a.b\",\"description\":\"d\"" PLAIN "}", "refused name /name\n"},
        {O, "{\"name\":\"a b\",\"description\":\"d\"" PLAIN "}", "refused name /name\n"},
        {G, "{\"name\":\"a.b\",\"description\":\"d\"" PLAIN "}", ""},
        {G, "{\"name\":\"1a\",\"description\":\"d\"" PLAIN "}", "refused name /name\n"},
        {A, "{\"name\":\"a\"" PLAIN "}", "repaired no-description /description\n"},
        {A, "{\"name\":\"a\",\"description\":\"# h\"" PLAIN "}",
         "repaired quoted-description /description\n"},
        {A,
         "{\"name\":\"a\",\"description\":\"d\"" PLAIN ",\"_meta\":{\"ui\":{"
         "\"visibility\":[\"app\"]}}}",
         "advice app-only /_meta/ui/visibility left out\n"},
    };

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        mcplug_lint *lint = lint_of(cases[i].provider, cases[i].tool);
        ck_assert_str_eq(findings_of(lint), cases[i].found);
        mcplug_lint_free(lint);
    }
    for (int n = 64; n <= 65; n++) {
        snprintf(tool, sizeof tool, "{\"name\":\"%0*d\",\"description\":\"d\"" PLAIN "}",
                 n, 0);
        mcplug_lint *lint = lint_of(O, tool);
        ck_assert_str_eq(findings_of(lint), n == 64 ? "" : "refused name /name\n");
        mcplug_lint_free(lint);
        lint = lint_of(A, tool);
        ck_assert_str_eq(findings_of(lint), "");
        mcplug_lint_free(lint);
    }
    for (int n = 1024; n <= 2049; n++) {
        const char *wanted = n > 2048   ? "repaired long-description /description\n"
                             : n > 1024 ? "advice openai-description /description\n"
                                        : "";
        snprintf(tool, sizeof tool, "{\"name\":\"a\",\"description\":\"%0*d\"" PLAIN "}",
                 n, 0);
        mcplug_lint *lint = lint_of(O, tool);
        ck_assert_msg(strcmp(findings_of(lint), wanted) == 0, "%d", n);
        json_t *sent = json_loads(mcplug_lint_tool(lint, 0, NULL), 0, NULL);
        size_t len = strlen(json_string_value(json_object_get(sent, "description")));
        ck_assert_uint_eq(len, n > 2048 ? 2048 : n);
        json_decref(sent);
        mcplug_lint_free(lint);
    }
}
END_TEST

START_TEST(a_request_has_so_many_tools)
{
    static char array[100000];
    struct mcplug_finding f = {.struct_size = sizeof f};

    for (int n = 128; n <= 129; n++) {
        size_t len = (size_t)sprintf(array, "[");
        for (int i = 0; i < n; i++)
            len += (size_t)sprintf(array + len, "%s{\"name\":\"t%d\"}", i ? "," : "", i);
        len += (size_t)sprintf(array + len, "]");
        for (size_t p = 0; mcplug_lint_provider(p); p++) {
            mcplug_lint *lint = NULL;
            ck_assert_int_eq(
                mcplug_lint_new(mcplug_lint_provider(p), "s", array, len, &lint, NULL),
                MCPLUG_OK);
            int found = mcplug_lint_finding(lint, MCPLUG_NO_TOOL, 0, &f);
            ck_assert_int_eq(found, n == 129 && strcmp(mcplug_lint_provider(p), O) == 0);
            if (found)
                ck_assert_str_eq(f.rule, "too-many-tools");
            mcplug_lint_free(lint);
        }
    }
}
END_TEST

START_TEST(what_is_no_list_of_tools_is_an_error)
{
    static const struct {
        const char *provider, *tools, *why;
    } cases[] = {
        {"nobody", "[]", "there is no provider \"nobody\""},
        {A, "{}", "expected an array of tools"},
        {A, "[{}]", "the tool at index 0 has no name"},
        {A, "[{\"name\":\"a\"},7]", "the tool at index 1 has no name"},
        {A, "[{\"name\":\"\"}]", "the tool at index 0 has no name"},
        {A, "[{\"name\":\"\xff\"}]", NULL},
        {A, "[", NULL},
        {A, "", NULL},
    };

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        mcplug_lint *lint = NULL;
        ck_assert_int_ne(mcplug_lint_new(cases[i].provider, "s", cases[i].tools,
                                         strlen(cases[i].tools), &lint, &err),
                         MCPLUG_OK);
        ck_assert_ptr_null(lint);
        if (cases[i].why)
            ck_assert_str_eq(err.text, cases[i].why);
        ck_assert_str_ne(err.text, "");
    }
    ck_assert(!mcplug_lint_finding(NULL, 0, 0, NULL));
    ck_assert_ptr_null(mcplug_lint_tool(NULL, 0, NULL));
}
END_TEST

/* ---- hostile ones ---- */

static char big[3 << 20];

/* `n` times `one` between the two others. */
static char *filled(const char *head, const char *one, size_t n, const char *tail)
{
    size_t len = (size_t)sprintf(big,
                                 "{\"name\":\"n\",\"description\":\"d\","
                                 "\"inputSchema\":%s",
                                 head);
    for (size_t i = 0; i < n; i++) {
        len += (size_t)sprintf(big + len, "%s", i ? "," : "");
        len += (size_t)sprintf(big + len, one, i);
    }
    sprintf(big + len, "%s}", tail);
    return big;
}

static void left_out_by(const char *tool, const char *rule)
{
    for (size_t p = 0; mcplug_lint_provider(p); p++) {
        mcplug_lint *lint = lint_of(mcplug_lint_provider(p), tool);
        ck_assert_msg(strstr(findings_of(lint), rule), "%s", findings_of(lint));
        ck_assert_ptr_null(mcplug_lint_tool(lint, 0, NULL));
        mcplug_lint_free(lint);
    }
}

START_TEST(definitions_that_are_too_long_are_left_out)
{
    left_out_by(
        filled("{\"type\":\"object\",\"properties\":{", "\"p%zu\":{}", 150000, "}}"),
        "refused too-big  left out\n");
}
END_TEST

/* Each would be quadratic if names were compared with each other. */
START_TEST(large_schemas_are_repaired_whole)
{
    static const struct {
        const char *head, *one, *tail;
        bool has_findings;
    } cases[] = {
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[", "\"a%zu\"",
         "]}", false},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[", "\"a\"", "]}",
         true},
        {"{\"type\":\"object\",\"properties\":{", "\"p%zu\":{\"$ref\":\"#/nowhere\"}",
         "}}", true},
        {"{\"type\":\"object\",\"$defs\":{\"d\":{}},\"properties\":{",
         "\"p%zu\":{\"$ref\":\"#/$defs/d\"}", "}}", false},
        {"{\"type\":\"object\",\"properties\":{", "\"same\":{}", "}}", true},
        {"{\"type\":\"object\",\"properties\":{\"a\":{", "\"type\":7", "}}}", true},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"items\":[",
         "{\"$ref\":\"#/"
         "properties/a/items/%zu\"}",
         "]}}}", true},
    };

    for (size_t i = 0; i < MP_COUNT(cases); i++)
        for (size_t p = 0; mcplug_lint_provider(p); p++) {
            const char *tool = filled(cases[i].head, cases[i].one, 20000, cases[i].tail);
            mcplug_lint *lint = lint_of(mcplug_lint_provider(p), tool);
            struct mcplug_finding f = {.struct_size = sizeof f};
            ck_assert(mcplug_lint_tool(lint, 0, NULL) != NULL);
            if (cases[i].has_findings && i != 6) { /* and no more than so many */
                ck_assert(mcplug_lint_finding(lint, 0, MP_FINDINGS - 1, &f));
                ck_assert_str_eq(f.rule, "more");
                ck_assert_int_eq(f.severity, MCPLUG_REFUSED);
            }
            ck_assert(!mcplug_lint_finding(lint, 0, MP_FINDINGS, &f));
            mcplug_lint_free(lint);
        }
}
END_TEST

START_TEST(deep_schemas_are_judged_to_the_bottom)
{
    char tool[4096];
    size_t n =
        (size_t)sprintf(tool, "{\"name\":\"n\",\"description\":\"d\","
                              "\"inputSchema\":{\"type\":\"object\",\"properties\":"
                              "{\"a\":");
    const int depth = 58; /* with the rest, all that is read */
    for (int i = 0; i < depth; i++)
        n += (size_t)sprintf(tool + n, "{\"not\":");
    n += (size_t)sprintf(tool + n, "{\"type\":7}");
    for (int i = 0; i < depth; i++)
        n += (size_t)sprintf(tool + n, "}");
    sprintf(tool + n, "}}}");
    mcplug_lint *lint = lint_of(A, tool);
    ck_assert_str_eq(strrchr(findings_of(lint), '/'), "/type\n");
    mcplug_lint_free(lint);
}
END_TEST

START_TEST(long_names_are_cut_in_paths)
{
    size_t n =
        (size_t)sprintf(big, "{\"name\":\"n\",\"description\":\"d\",\"inputSchema\""
                             ":{\"type\":\"object\",\"properties\":{\"");
    for (int i = 0; i < 1000; i++)
        n += (size_t)sprintf(big + n, "\xc3\xa9");
    sprintf(big + n, "\":{\"type\":7}}}}");
    mcplug_lint *lint = lint_of(O, big);
    const char *found = findings_of(lint);
    ck_assert_uint_lt(strlen(found), MP_FINDING_PATH + 40);
    ck_assert_ptr_nonnull(strstr(found, "\xc3\xa9..\n"));
    mcplug_lint_free(lint);
}
END_TEST

/* ---- without memory ---- */

static void lint_one(void)
{
    static const char tools[] =
        "[{\"name\":\"a.b\",\"inputSchema\":{\"anyOf\":[{\"$ref\":\"#/$defs/x\"}],"
        "\"required\":[\"a\",\"a\"],\"$defs\":{\"x\":{\"properties\":{\"a\":{\"type\":7,"
        "\"type\":8},\"b c\":{}},\"required\":[\"a\"]}}}}]";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_lint *lint = NULL;

    for (size_t p = 0; mcplug_lint_provider(p); p++) {
        int r = mcplug_lint_new(mcplug_lint_provider(p), "s", tools, sizeof tools - 1,
                                &lint, &err);
        if (r != MCPLUG_OK) {
            ck_assert_msg(r == MCPLUG_ENOMEM, "%s: %s", when(), err.text);
            return;
        }
        ck_assert_msg(strstr(mcplug_lint_tool(lint, 0, NULL), "\"required\":[\"a\"]"),
                      "%s: %s", when(), mcplug_lint_tool(lint, 0, NULL));
        mcplug_lint_free(lint);
    }
}

START_TEST(without_memory_there_is_no_half_of_it)
{
    torture(NULL, lint_one, NULL);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, schemas_are_judged_and_repaired_for_each_provider);
    tcase_add_test(tc, what_was_repaired_is_fine);
    tcase_add_test(tc, names_and_descriptions_are_judged);
    tcase_add_test(tc, a_request_has_so_many_tools);
    tcase_add_test(tc, what_is_no_list_of_tools_is_an_error);
    tcase_add_test(tc, definitions_that_are_too_long_are_left_out);
    tcase_add_test(tc, large_schemas_are_repaired_whole);
    tcase_add_test(tc, deep_schemas_are_judged_to_the_bottom);
    tcase_add_test(tc, long_names_are_cut_in_paths);
    tcase_add_test(tc, without_memory_there_is_no_half_of_it);
}

int main(void)
{
    return run_suite("toolbox_rules", add);
}
