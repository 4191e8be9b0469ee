#include "cli/skills/yaml.h"

#include "base/buf.h"
#include "base/error.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* `yaml` says what `json` says. */
static void is(const char *yaml, const char *json)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    json_t *tree = cli_yaml_mapping(mp_text(yaml), &err);

    ck_assert_msg(tree != NULL, "%s\n%s", yaml, err.text);
    char *text = json_dumps(tree, JSON_COMPACT);
    ck_assert_str_eq(text, json);
    free(text);
    json_decref(tree);
}

static void fails_with(struct mcplug_bytes yaml, int code, const char *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_msg(!cli_yaml_mapping(yaml, &err), "%.80s", (const char *)yaml.data);
    ck_assert_msg(err.code == code && strstr(err.text, why), "%.80s\n%s\nhas not: %s",
                  (const char *)yaml.data, err.text, why);
}

static void fails(const char *yaml, const char *why)
{
    fails_with(mp_text(yaml), MCPLUG_EPROTO, why);
}

/* ---- scalars ---- */

START_TEST(plain_scalars_have_the_types_of_the_core_schema)
{
    is("a:\nb: ~\nc: null\nd: Null\ne: NULL", "{\"a\":null,\"b\":null,\"c\":null,"
                                              "\"d\":null,\"e\":null}");
    is("a: true\nb: False\nc: TRUE\nd: yes\ne: no\nf: on",
       "{\"a\":true,\"b\":false,\"c\":true,\"d\":\"yes\",\"e\":\"no\",\"f\":\"on\"}");
    is("a: 1\nb: -17\nc: +3\nd: 010\ne: 0x1F\nf: 0o17\ng: 0b1\nh: 1_000",
       "{\"a\":1,\"b\":-17,\"c\":3,\"d\":10,\"e\":31,\"f\":15,\"g\":\"0b1\","
       "\"h\":\"1_000\"}");
    is("a: 1.5\nb: .5\nc: 2.\nd: 1e3\ne: 1.2.3\nf: 1e\ng: .\nh: 12:30",
       "{\"a\":1.5,\"b\":0.5,\"c\":2.0,\"d\":1000.0,\"e\":\"1.2.3\",\"f\":\"1e\","
       "\"g\":\".\",\"h\":\"12:30\"}");
    is("a: 2024-01-01\nb: 99999999999999999999", "{\"a\":\"2024-01-01\",\"b\":1e20}");
    is("a: http://x/y:z#w\nb: C# and more\nc: a # no\nd: -x\ne: ?x\nf: :x",
       "{\"a\":\"http://x/y:z#w\",\"b\":\"C# and more\",\"c\":\"a\",\"d\":\"-x\","
       "\"e\":\"?x\",\"f\":\":x\"}");
}
END_TEST

START_TEST(quoted_scalars_are_strings)
{
    is("a: \"1\"\nb: 'true'\nc: 'it''s'\nd: ''\ne: \"\"",
       "{\"a\":\"1\",\"b\":\"true\",\"c\":\"it's\",\"d\":\"\",\"e\":\"\"}");
    is("a: \"\\t\\n\\\\\\\"\\/\\x41\\u00e9\\U0001F600\\ud83d\\ude00\\e\\_\"",
       "{\"a\":\"\\t\\n\\\\\\\"/A\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80\\u001B\xc2\xa0"
       "\"}");
    is("a: '\\n'\nb: \"a: b # c\" # d", "{\"a\":\"\\\\n\",\"b\":\"a: b # c\"}");
    is("\"a b\": 1\n'c' : 2", "{\"a b\":1,\"c\":2}");
}
END_TEST

START_TEST(lines_are_folded)
{
    is("a: one\n  two\n\n  three\nb: 1", "{\"a\":\"one two\\nthree\",\"b\":1}");
    is("a: \"one \n  two\n\n  three\\\n   four\\ \n  five\"",
       "{\"a\":\"one two\\nthreefour  five\"}");
    is("a: 'one\n  two'", "{\"a\":\"one two\"}");
    is("a:\n  one\n  - two", "{\"a\":\"one - two\"}");
}
END_TEST

START_TEST(block_scalars_keep_or_fold_their_lines)
{
    is("a: |\n  one\n    two\n\n  # three\n\n\nb: 1",
       "{\"a\":\"one\\n  two\\n\\n# three\\n\",\"b\":1}");
    is("a: |-\n  one\n\nb: |+\n  two\n\n", "{\"a\":\"one\",\"b\":\"two\\n\\n\"}");
    is("a: >\n  one\n  two\n\n  three\n    four\n  five\n",
       "{\"a\":\"one two\\nthree\\n  four\\nfive\\n\"}");
    is("a: >-\n\n  one\n", "{\"a\":\"\\none\"}");
    is("a: |2\n    one\n", "{\"a\":\"  one\\n\"}");
    is("a: |-1 # two\n  one\n", "{\"a\":\" one\"}");
    is("a: |\nb: >\n\n", "{\"a\":\"\",\"b\":\"\"}");
    is("a:\n- |\n  b\n- c: |\n    d\n", "{\"a\":[\"b\\n\",{\"c\":\"d\\n\"}]}");
}
END_TEST

/* ---- collections ---- */

START_TEST(mappings_and_sequences_nest)
{
    is("a:\n  b:\n    c: 1\n  d: 2\ne: 3", "{\"a\":{\"b\":{\"c\":1},\"d\":2},\"e\":3}");
    is("a:\n- 1\n- 2\nb:\n  - 3\n  -\n  - - 4\n    - 5\n",
       "{\"a\":[1,2],\"b\":[3,null,[4,5]]}");
    is("a:\n  - b: 1\n    c: 2\n  - d:\n      - e\n",
       "{\"a\":[{\"b\":1,\"c\":2},{\"d\":[\"e\"]}]}");
    is("# first\na: 1\n\n  # between\nb: 2 # behind\n# last", "{\"a\":1,\"b\":2}");
    is("  a: 1\n  b: 2\n", "{\"a\":1,\"b\":2}");
    is("a: 1\r\nb:\r\n  - c\r\n", "{\"a\":1,\"b\":[\"c\"]}");
}
END_TEST

START_TEST(flow_collections_are_json_and_more)
{
    is("a: [1, two, \"three\", 'four', [], {}]",
       "{\"a\":[1,\"two\",\"three\",\"four\",[],{}]}");
    is("a: {\"b\":1,\"c\":[true],d: e f, g: , h}",
       "{\"a\":{\"b\":1,\"c\":[true],\"d\":\"e f\",\"g\":null,\"h\":null}}");
    is("a: [ # one\n  b,\n  c, # two\n]\nd: 1", "{\"a\":[\"b\",\"c\"],\"d\":1}");
    is("a: [b:c, http://x]", "{\"a\":[\"b:c\",\"http://x\"]}");
}
END_TEST

/* ---- what is refused ---- */

START_TEST(what_readers_disagree_on_is_refused)
{
    fails("a: &x 1", "line 1: anchors, aliases and tags");
    fails("a: 1\nb: *x", "line 2: anchors, aliases and tags");
    fails("a: !!str 1", "anchors, aliases and tags");
    fails("a: 1\n<<: b", "merge keys");
    fails("a: 1\nb: 2\na: 3", "line 3: the key \"a\" is given twice");
    fails("a: {b: 1, b: 2}", "given twice");
    fails("1: a", "the key \"1\" is no string");
    fails("true: a", "is no string");
    fails("a: {null: 1}", "is no string");
    fails("? a\n: b", "expected a key");
    fails("a: .inf", "not supported");
    fails("a: [b: c]", "expected a comma or ]");
    fails("a:\n\tb: 1", "line 2: a tab in the indentation");
    fails("a: 1\n---\nb: 2", "another document");
    fails("a: 1\n...", "another document");
    fails("a: 1\rb: 2", "U+000D");
    fails("a: b\xe2\x80\xa8"
          "c: d",
          "U+2028");
    fails("a: b\xc2\x85"
          "c: d",
          "U+0085");
    fails("a: \x1b[0m", "U+001B");
    fails("a: \xff", "not UTF-8");
    fails_with(mp_bytes("a: \0", 4), MCPLUG_EPROTO, "U+0000");
}
END_TEST

START_TEST(what_is_no_yaml_is_refused)
{
    fails("", "expected a key and a colon");
    fails("# nothing", "expected a key and a colon");
    fails("text", "expected a key and a colon");
    fails("- a", "expected a key and a colon");
    fails("a: b: c", "a collection begins behind a key");
    fails("a: - b", "a collection begins behind a key");
    fails("a: b\n  c: d", "a key inside a plain text");
    fails("a: 1\n  b: 2", "line 2");
    fails("a:\n    b: 1\n  c: 2", "line 3: the indentation fits nothing above");
    fails("a: 1\nb", "line 2: expected a key");
    fails("a: \"b", "a quoted text does not end");
    fails("a: \"b\nc\"", "a quoted text is not indented");
    fails("a: \"b\" c", "unexpected text behind a value");
    fails("a: \"\\q\"", "an escape that YAML does not have");
    fails("a: \"\\ud800\"", "no character");
    fails("a: \"\\x4\"", "expected 2 hexadecimal digits");
    fails("a: [1, 2", "does not end");
    fails("a: [1\nb]", "is not indented");
    fails("a: [1 2] 3", "unexpected text");
    fails("a: ]", "cannot begin with ]");
    fails("a: @b", "cannot begin with @");
    fails("a: | b\n", "unexpected text behind |");
    fails("a: |\n   \n  b\n", "indented more");
    fails("a: 1e999", "too large");
}
END_TEST

/* ---- limits ---- */

static void nested(unsigned depth, char *out)
{
    size_t n = 0;

    n += (size_t)sprintf(out, "a: ");
    for (unsigned i = 0; i < depth; i++)
        out[n++] = '[';
    for (unsigned i = 0; i < depth; i++)
        out[n++] = ']';
    out[n] = '\0';
}

START_TEST(there_are_32_levels)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char text[256];

    nested(32, text);
    json_t *tree = cli_yaml_mapping(mp_text(text), &err);
    ck_assert_msg(tree != NULL, "%s", err.text);
    json_decref(tree);
    nested(33, text);
    fails_with(mp_text(text), MCPLUG_ETOOBIG, "more than 32 levels");
}
END_TEST

START_TEST(there_are_10000_values)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str text;

    mp_str_init(&text, CLI_YAML_MAX);
    mp_str_adds(&text, "a:\n");
    for (int i = 0; i < 9998; i++)
        mp_str_adds(&text, "- b\n");
    json_t *tree = cli_yaml_mapping(mp_bytes(text.data, text.len), &err);
    ck_assert_msg(tree != NULL, "%s", err.text);
    json_decref(tree);
    mp_str_adds(&text, "- b\n");
    fails_with(mp_bytes(text.data, text.len), MCPLUG_ETOOBIG, "more than 10000 values");
    mp_str_clear(&text);
}
END_TEST

START_TEST(there_is_a_megabyte)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str text;

    mp_str_init(&text, CLI_YAML_MAX + 64);
    mp_str_adds(&text, "a: b\n");
    while (text.len < CLI_YAML_MAX)
        mp_str_adds(&text, "#");
    json_t *tree = cli_yaml_mapping(mp_bytes(text.data, text.len), &err);
    ck_assert_msg(tree != NULL, "%s", err.text);
    json_decref(tree);
    mp_str_adds(&text, "#");
    fails_with(mp_bytes(text.data, text.len), MCPLUG_ETOOBIG, "bytes");
    mp_str_clear(&text);
}
END_TEST

START_TEST(a_key_has_1024_bytes)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char text[1100];

    memset(text, 'k', sizeof text);
    strcpy(text + 1024, ": 1");
    json_t *tree = cli_yaml_mapping(mp_text(text), &err);
    ck_assert_msg(tree != NULL, "%s", err.text);
    json_decref(tree);
    text[1024] = 'k';
    strcpy(text + 1025, ": 1");
    fails_with(mp_text(text), MCPLUG_ETOOBIG, "1024 bytes");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_yaml");
    TCase *t = tcase_create("yaml");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, plain_scalars_have_the_types_of_the_core_schema);
    tcase_add_test(t, quoted_scalars_are_strings);
    tcase_add_test(t, lines_are_folded);
    tcase_add_test(t, block_scalars_keep_or_fold_their_lines);
    tcase_add_test(t, mappings_and_sequences_nest);
    tcase_add_test(t, flow_collections_are_json_and_more);
    tcase_add_test(t, what_readers_disagree_on_is_refused);
    tcase_add_test(t, what_is_no_yaml_is_refused);
    tcase_add_test(t, there_are_32_levels);
    tcase_add_test(t, there_are_10000_values);
    tcase_add_test(t, there_is_a_megabyte);
    tcase_add_test(t, a_key_has_1024_bytes);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_to_end(suite());
}
