#include "config/edit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "config/jsontext.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <time.h>

#define ENTRY "{\"command\":\"y\",\"args\":[\"-a\",\"b\"]}"

struct edit {
    const char *text, *key, *under; /* the path: `under` may be NULL */
    const char *value;              /* NULL: remove */
    const char *expected;
};

static int apply(mp_view text, const char *const *path, const char *value,
                 struct mp_str *out, struct mcplug_error *err)
{
    mp_str_init(out, 1 << 20);
    return value ? mp_edit_set(text, path, mp_text(value), out, err)
                 : mp_edit_remove(text, path, out, err);
}

static void is_edit(const struct edit *e)
{
    const char *path[] = {e->key, e->under, NULL};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str out;

    int r = apply(mp_text(e->text), path, e->value, &out, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s: %s", e->text, err.text);
    ck_assert_msg(strcmp(out.data, e->expected) == 0, "of\n%s\nbecame\n%s\nnot\n%s",
                  e->text, out.data, e->expected);
    r = mp_json_check(mp_bytes(out.data, out.len), NULL, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s: %s", out.data, err.text);
    if (e->value) {
        struct mp_str again;
        ck_assert_int_eq(apply(mp_bytes(out.data, out.len), path, e->value, &again, &err),
                         MCPLUG_OK);
        ck_assert_str_eq(again.data, out.data);
        mp_str_clear(&again);
    }
    mp_str_clear(&out);
}

static void are_edits(const struct edit *edits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        is_edit(&edits[i]);
}

/* ---- set ---- */

START_TEST(an_empty_file_becomes_an_object)
{
    static const struct edit edits[] = {
        {"", "a", NULL, "1", "{\n  \"a\": 1\n}\n"},
        {" \n\n", "a", NULL, "{}", "{\n  \"a\": {}\n}\n"},
        {"\r\n", "a", NULL, "1", "{\r\n  \"a\": 1\r\n}\r\n"},
        {"", "m", "x", ENTRY,
         "{\n  \"m\": {\n    \"x\": {\n      \"command\": \"y\",\n"
         "      \"args\": [\"-a\", \"b\"]\n    }\n  }\n}\n"},
    };
    are_edits(edits, MP_COUNT(edits));
}
END_TEST

START_TEST(an_empty_object_is_filled)
{
    static const struct edit edits[] = {
        {"{}", "a", NULL, "1", "{\n  \"a\": 1\n}"},
        {"{ }\n", "a", NULL, "1", "{\n  \"a\": 1\n}\n"},
        {"{\n}\n", "a", NULL, "1", "{\n  \"a\": 1\n}\n"},
        {"{\r\n\r\n}", "a", NULL, "1", "{\r\n  \"a\": 1\r\n}"},
        {"\n{}\n\n", "a", NULL, "1", "\n{\n  \"a\": 1\n}\n\n"},
        {"{\"m\":{}}", "m", "x", "{\"b\":[1,2]}", "{\"m\":{\"x\":{\"b\":[1,2]}}}"},
        {"{\"m\": {}}\n", "m", "x", "{\"b\":[1,2]}",
         "{\"m\": {\"x\": {\"b\": [1, 2]}}}\n"},
        {"{ \"m\": {} }", "m", "x", "{\"b\":1}", "{ \"m\": { \"x\": { \"b\": 1 } } }"},
        {"{\"m\": { }}", "m", "x", "{\"b\":{}}", "{\"m\": { \"x\": { \"b\": {} } }}"},
        {"{\n  \"m\": {}\n}\n", "m", "x", "{\"b\":1}",
         "{\n  \"m\": {\n    \"x\": {\n      \"b\": 1\n    }\n  }\n}\n"},
        {"{\n\t\"m\": {\n\t},\n\t\"z\": 1\n}", "m", "x", "{\"b\":1}",
         "{\n\t\"m\": {\n\t\t\"x\": {\n\t\t\t\"b\": 1\n\t\t}\n\t},\n\t\"z\": 1\n}"},
        {"{\"m\": {\n}}", "m", "x", "1", "{\"m\": {\n  \"x\": 1\n}}"},
    };
    are_edits(edits, MP_COUNT(edits));
}
END_TEST

START_TEST(a_new_member_stands_behind_the_last_and_looks_like_it)
{
    static const struct edit edits[] = {
        {"{\n  \"a\": 1\n}\n", "b", NULL, "{\"c\":2}",
         "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}\n"},
        {"{\n    \"a\": 1\n}", "b", NULL, "{\"c\":2}",
         "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2\n    }\n}"},
        {"{\n\t\"a\": 1\n}\n", "b", NULL, "{\"c\":[]}",
         "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": []\n\t}\n}\n"},
        {"{\r\n  \"a\": 1\r\n}\r\n", "b", NULL, "{\"c\":2}",
         "{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 2\r\n  }\r\n}\r\n"},
        {"{\"a\":1}", "b", NULL, "{\"c\":[1,2]}", "{\"a\":1,\"b\":{\"c\":[1,2]}}"},
        {"{\"a\": 1}", "b", NULL, "{\"c\":[1,2]}", "{\"a\": 1, \"b\": {\"c\": [1, 2]}}"},
        {"{ \"a\" : 1 }", "b", NULL, "{\"c\":2,\"d\":3}",
         "{ \"a\" : 1, \"b\" : { \"c\" : 2, \"d\" : 3 } }"},
        {"{\"a\":1 , \"b\":2}", "c", NULL, "3", "{\"a\":1 , \"b\":2 , \"c\":3}"},
        {"{\"a\": 1,\"b\": 2}", "c", NULL, "[3,4]", "{\"a\": 1,\"b\": 2,\"c\": [3,4]}"},
        {"{\n\"a\":1\n}\n", "b", NULL, "{\"c\":2}",
         "{\n\"a\":1,\n\"b\":{\n\"c\":2\n}\n}\n"},
        {"{\n  \"a\": 1\n\n\n}", "b", NULL, "2", "{\n  \"a\": 1,\n  \"b\": 2\n\n\n}"},
        {"{\n\n  \"a\": 1,\n\n  \"b\": 2 }", "c", NULL, "3",
         "{\n\n  \"a\": 1,\n\n  \"b\": 2,\n  \"c\": 3 }"},
        {"{\n    \"a\": 1\n  , \"b\": 2\n}", "c", NULL, "3",
         "{\n    \"a\": 1\n  , \"b\": 2\n  , \"c\": 3\n}"},
        {"{\"a\": 1,\n \"b\": 2}", "c", NULL, "3", "{\"a\": 1,\n \"b\": 2,\n \"c\": 3}"},
        {"{\"a\": {\n    \"b\": 1\n}}", "c", NULL, "{\"d\":2}",
         "{\"a\": {\n    \"b\": 1\n}, \"c\": {\n    \"d\": 2\n}}"},
        {"{\n  \"m\": {\n    \"a\": {\"c\": 1}\n  }\n}", "m", "b", "{\"c\":2}",
         "{\n  \"m\": {\n    \"a\": {\"c\": 1},\n    \"b\": {\n      \"c\": 2\n    }\n  "
         "}\n}"},
        {"{\n  \"m\": {\"a\": 1}\n}", "m", "b", "{\"c\":2}",
         "{\n  \"m\": {\"a\": 1, \"b\": {\"c\": 2}}\n}"},
        {"{\r\t\"a\":\t1}", "b", NULL, "2", "{\r\t\"a\":\t1, \"b\":\t2}"},
    };
    are_edits(edits, MP_COUNT(edits));
}
END_TEST

START_TEST(objects_on_the_way_are_made)
{
    static const struct edit edits[] = {
        {"{\n  \"a\": 1\n}\n", "m", "x", "{\"c\":2}",
         "{\n  \"a\": 1,\n  \"m\": {\n    \"x\": {\n      \"c\": 2\n    }\n  }\n}\n"},
        {"{\"a\":1}", "m", "x", "{\"c\":2}", "{\"a\":1,\"m\":{\"x\":{\"c\":2}}}"},
        {"{\n  \"a\": 1\n}\n", "m\"\n", "\xc3\xa9", "2",
         "{\n  \"a\": 1,\n  \"m\\\"\\n\": {\n    \"\xc3\xa9\": 2\n  }\n}\n"},
    };
    are_edits(edits, MP_COUNT(edits));
}
END_TEST

START_TEST(of_a_member_that_is_there_only_the_value_changes)
{
    static const struct edit edits[] = {
        {"{\n  \"a\" :  1 ,\n  \"b\": 2\n}", "a", NULL, "[3]",
         "{\n  \"a\" :  [3] ,\n  \"b\": 2\n}"},
        {"{\"a\":1,\"b\":2}", "a", NULL, "{\"c\": [ 3 , 4 ]}",
         "{\"a\":{\"c\":[3,4]},\"b\":2}"},
        {"{\n\t\"m\": {\n\t\t\"x\": {\n\t\t\t\"old\": true\n\t\t},\n\t\t\"z\": 1\n\t}\n}",
         "m", "x", "{\"c\":2}",
         "{\n\t\"m\": {\n\t\t\"x\": {\n\t\t\t\"c\": 2\n\t\t},\n\t\t\"z\": 1\n\t}\n}"},
        {"{\"m\\u0063p\\u0053ervers\": {\"x\": 1}}", "mcpServers", "x", "2",
         "{\"m\\u0063p\\u0053ervers\": {\"x\": 2}}"},
        {"{\n  \"a\":\n    1\n}", "a", NULL, "{\"b\":2}",
         "{\n  \"a\":\n    {\n      \"b\": 2\n    }\n}"},
        {"{\"x\": {\n   \"a\": 1\n}}", "x", NULL, "[[1],[2]]",
         "{\"x\": [\n   [1],\n   [2]\n]}"},
        {"{\"a\": \"\\\"}\", \"b\": \"{\"}", "b", NULL, "\"\\/\"",
         "{\"a\": \"\\\"}\", \"b\": \"\\/\"}"},
    };
    are_edits(edits, MP_COUNT(edits));
}
END_TEST

START_TEST(what_is_unknown_keeps_every_byte)
{
    char text[512], expected[512];
    const char *odd = "\"n\":[ 1.0e+2,-0, 1E5 ,0.10 ],\n"
                      " \"s\" :\"a\\/b\\u00e9\\ud83d\\ude00\xc3\xa9 \",\n"
                      "   \"o\":{ \"p\" :{\"q\":[{}, [ ] ,{ }]} }";
    struct edit e = {text, "m", "x", "1", expected};

    snprintf(text, sizeof text, "{\n  %s,\n\n  \"v\": null}\n \n", odd);
    snprintf(expected, sizeof expected,
             "{\n  %s,\n\n  \"v\": null,\n  \"m\": {\n    \"x\": 1\n  }}\n \n", odd);
    is_edit(&e);
    snprintf(text, sizeof text, "{\n  %s,\n\n  \"m\" : {\"x\":0},\"v\": null}", odd);
    snprintf(expected, sizeof expected, "{\n  %s,\n\n  \"m\" : {\"x\":1},\"v\": null}",
             odd);
    is_edit(&e);
    snprintf(text, sizeof text, "{\n  %s,\n\n  \"m\" : {\"x\":0, \"k\":1.50},\"v\": 2}",
             odd);
    snprintf(expected, sizeof expected, "{\n  %s,\n\n  \"m\" : {\"k\":1.50},\"v\": 2}",
             odd);
    e.value = NULL;
    is_edit(&e);
}
END_TEST

/* ---- remove ---- */

START_TEST(a_member_goes_with_its_comma_and_its_line)
{
    static const struct edit edits[] = {
        {"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", "a", NULL, NULL,
         "{\n  \"b\": 2,\n  \"c\": 3\n}\n"},
        {"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", "b", NULL, NULL,
         "{\n  \"a\": 1,\n  \"c\": 3\n}\n"},
        {"{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", "c", NULL, NULL,
         "{\n  \"a\": 1,\n  \"b\": 2\n}"},
        {"{\r\n\t\"a\": 1,\r\n\t\"b\": 2\r\n}", "b", NULL, NULL, "{\r\n\t\"a\": 1\r\n}"},
        {"{\"a\": 1, \"b\": 2, \"c\": 3}", "a", NULL, NULL, "{\"b\": 2, \"c\": 3}"},
        {"{\"a\": 1, \"b\": 2, \"c\": 3}", "b", NULL, NULL, "{\"a\": 1, \"c\": 3}"},
        {"{ \"a\": 1, \"b\": 2, \"c\": 3 }", "c", NULL, NULL, "{ \"a\": 1, \"b\": 2 }"},
        {"{\"a\":1,\"b\":2}", "a", NULL, NULL, "{\"b\":2}"},
        {"{\n  \"a\": 1\n}\n", "a", NULL, NULL, "{}\n"},
        {"{\"a\":1}", "a", NULL, NULL, "{}"},
        {"{ \"m\": { \"x\": 1 } }", "m", "x", NULL, "{ \"m\": {} }"},
        {"{\n  \"m\": {\n    \"x\": {\n      \"c\": 1\n    }\n  }\n}", "m", "x", NULL,
         "{\n  \"m\": {}\n}"},
        {"{\n  \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}", "b", NULL, NULL,
         "{\n  \"a\": 1\n, \"c\": 3\n}"},
        {"{\"\\u0061\":1,\"b\":2}", "a", NULL, NULL, "{\"b\":2}"},
    };
    are_edits(edits, MP_COUNT(edits));
}
END_TEST

/* ---- refused ---- */

START_TEST(what_cannot_be_done_is_said)
{
    static const struct {
        const char *text, *key, *under, *value;
        int code;
        const char *said;
    } cases[] = {
        {"[]", "a", NULL, "1", MCPLUG_ECONFIG, "the document is not an object"},
        {"1", "a", NULL, NULL, MCPLUG_ECONFIG, "the document is not an object"},
        {"{\"m\":[]}", "m", "x", "1", MCPLUG_ECONFIG, "\"m\" is not an object"},
        {"{\"m\":null}", "m", "x", NULL, MCPLUG_ECONFIG, "\"m\" is not an object"},
        {"{\"m\":\"{}\"}", "m", "x", "1", MCPLUG_ECONFIG, "\"m\" is not an object"},
        {"{\"m\":{}}", "m", "x", NULL, MCPLUG_EINVAL, "\"x\" is not there"},
        {"{}", "m", "x", NULL, MCPLUG_EINVAL, "\"m\" is not there"},
        {"  ", "m", NULL, NULL, MCPLUG_EINVAL, "\"m\" is not there"},
        {"{}", NULL, NULL, NULL, MCPLUG_EINVAL, "no key to remove"},
        {"{}", NULL, NULL, "1", MCPLUG_EINVAL, "no key or no value to set"},
        {"{}", "m", "a\xff", "1", MCPLUG_EINVAL, "a key is not UTF-8"},
        {"{}", "a", NULL, " ", MCPLUG_EINVAL, "no key or no value to set"},
    };

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        const char *path[] = {cases[i].key, cases[i].under, NULL};
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        struct mp_str out;
        int r = apply(mp_text(cases[i].text), path, cases[i].value, &out, &err);
        ck_assert_int_eq(r, cases[i].code);
        ck_assert_str_eq(err.text, cases[i].said);
        ck_assert_uint_eq(out.len, 0);
        mp_str_clear(&out);
    }
}
END_TEST

START_TEST(a_text_that_would_be_too_long_is_refused)
{
    const char *path[] = {"b", NULL}, *text = "{\"a\": 1}", *new = "{\"a\": 1, \"b\": 2}";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str out;

    mp_str_init(&out, strlen(new));
    ck_assert_int_eq(mp_edit_set(mp_text(text), path, mp_text("2"), &out, &err),
                     MCPLUG_OK);
    ck_assert_str_eq(out.data, new);
    mp_str_clear(&out);
    mp_str_init(&out, strlen(new) - 1);
    ck_assert_int_eq(mp_edit_set(mp_text(text), path, mp_text("2"), &out, &err),
                     MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "the new text does not fit into 15 bytes");
    mp_str_clear(&out);
    mp_str_init(&out, 2);
    ck_assert_int_eq(mp_edit_remove(mp_text(new), path, &out, &err), MCPLUG_ETOOBIG);
    mp_str_clear(&out);
}
END_TEST

START_TEST(an_error_names_a_long_key_only_in_part)
{
    char key[2001];
    const char *path[] = {key, NULL};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str out;

    for (size_t i = 0; i < 2000; i += 2)
        memcpy(key + i, "\xc3\xa9", 2);
    key[2000] = '\0';
    mp_str_init(&out, 100);
    ck_assert_int_eq(mp_edit_remove(mp_text("{}"), path, &out, &err), MCPLUG_EINVAL);
    ck_assert_uint_lt(strlen(err.text), 100);
    ck_assert_ptr_nonnull(strstr(err.text, "\xc3\xa9\" is not there"));
}
END_TEST

START_TEST(hostile_texts_of_a_megabyte_are_edited_quickly)
{
    static const char *const parts[][3] = {
        {"{\"m\":{\"a\":[", "{\n\"a\":[]},", "1]}}"},
        {"{\"m\":{", "               ", "\"a\":1}}"},
        {"{\n\"m\":{\"a\":[", "[[[\n]]],", "1]}}"},
        {"{\"m\":{\"a\":\"", "\\\\\\\"", "\"}}"},
    };
    const char *path[] = {"m", "x", NULL};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    for (size_t i = 0; i < MP_COUNT(parts); i++) {
        struct mp_str s, set, back;
        mp_str_init(&s, 1 << 20);
        mp_str_adds(&s, parts[i][0]);
        for (int k = 0; k < 24000; k++)
            mp_str_adds(&s, parts[i][1]);
        mp_str_adds(&s, parts[i][2]);
        clock_t start = clock();
        mp_view text = mp_bytes(s.data, s.len);
        ck_assert_int_eq(mp_json_check(text, NULL, &err), MCPLUG_OK);
        ck_assert_int_eq(apply(text, path, ENTRY, &set, &err), MCPLUG_OK);
        ck_assert_int_eq(apply(mp_bytes(set.data, set.len), path, NULL, &back, &err),
                         MCPLUG_OK);
        ck_assert_str_eq(back.data, s.data);
        ck_assert_msg((clock() - start) / CLOCKS_PER_SEC < 5, "%zu is slow", i);
        mp_str_clear(&s);
        mp_str_clear(&set);
        mp_str_clear(&back);
    }
}
END_TEST

/* ---- whatever the text ---- */

struct random {
    uint64_t state;
    char newline[3], unit[9], colon[5];
    struct mp_str text;
};

static unsigned pick(struct random *g, unsigned n)
{
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(g->state >> 33) % n;
}

static void put_break(struct random *g, bool lines, int depth)
{
    if (!lines)
        return;
    mp_str_adds(&g->text, g->newline);
    if (pick(g, 16) == 0)
        mp_str_adds(&g->text, g->newline);
    for (int i = 0; i < depth; i++)
        mp_str_adds(&g->text, g->unit);
    if (pick(g, 16) == 0)
        mp_str_addc(&g->text, ' ');
}

static void put_value(struct random *g, int depth, bool lines)
{
    static const char *const scalars[] = {"1.0e+2",       "\"\\/\"",  "null",
                                          "\"\xc3\xa9\"", "-0",       "\"\\u0041}\"",
                                          "true",         "\"{\\\"\""};
    unsigned kind = depth == 0 ? 0 : pick(g, depth > 4 ? 1 : 4);
    unsigned n = depth == 0 ? 1 + pick(g, 4) : pick(g, 4);

    if (depth && kind < 2) {
        mp_str_adds(&g->text, scalars[pick(g, MP_COUNT(scalars))]);
        return;
    }
    bool object = depth == 0 || kind == 2;
    lines = lines && pick(g, 5) != 0;
    mp_str_addc(&g->text, object ? '{' : '[');
    for (unsigned i = 0; i < n; i++) {
        if (i)
            mp_str_adds(&g->text, lines || pick(g, 2) ? "," : ", ");
        put_break(g, lines, depth + 1);
        if (object)
            mp_str_addf(&g->text, pick(g, 8) ? "\"k%u\"" : "\"\\u006b%u\"", i);
        if (object)
            mp_str_adds(&g->text, g->colon);
        put_value(g, depth + 1, lines);
    }
    put_break(g, lines && n, depth);
    mp_str_addc(&g->text, object ? '}' : ']');
}

static void generate(struct random *g, uint64_t seed)
{
    static const char *const newlines[] = {"\n", "\r\n"},
                             *const units[] = {"  ", "\t", "    ", ""},
                             *const colons[] = {": ", ":", " : "};
    memset(g, 0, sizeof *g);
    g->state = seed * 7919;
    pick(g, 2);
    strcpy(g->newline, newlines[pick(g, 2)]);
    strcpy(g->unit, units[pick(g, 4)]);
    strcpy(g->colon, colons[pick(g, 3)]);
    mp_str_init(&g->text, 1 << 20);
    put_value(g, 0, pick(g, 4) != 0);
    if (pick(g, 2))
        mp_str_adds(&g->text, g->newline);
}

/* Down to a random object that holds something: the path to it, and a new key. */
static void choose(struct random *g, const char *path[10])
{
    static const char *const keys[] = {"k0", "k1", "k2", "k3"};
    mp_view v = mp_bytes(g->text.data, g->text.len);
    size_t n = 0;

    v = mp_bytes(v.data, v.len - (v.data[v.len - 1] == '\n') * strlen(g->newline));
    for (int tries = 0; tries < 8 && n < 8; tries++) {
        const char *key = keys[pick(g, 4)];
        mp_view inner = mp_view_get(v, key);
        if (mp_view_is_object(inner) && mp_view_count(inner)) {
            path[n++] = key;
            v = inner;
        }
    }
    path[n] = "new";
    path[n + 1] = NULL;
}

START_TEST(a_new_member_that_is_removed_again_leaves_no_trace)
{
    static const char *const values[] = {"1", ENTRY, "{}", "[[1,2],{\"a\":{\"b\":[]}}]"};

    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random g;
        struct mp_str set, again, back;
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        const char *path[10], *value = values[seed % MP_COUNT(values)];
        generate(&g, seed);
        mp_view text = mp_bytes(g.text.data, g.text.len);
        ck_assert_msg(mp_json_check(text, NULL, &err) == MCPLUG_OK, "%s: %s", err.text,
                      g.text.data);
        choose(&g, path);
        ck_assert_int_eq(apply(text, path, value, &set, &err), MCPLUG_OK);
        mp_view new = mp_bytes(set.data, set.len);
        ck_assert_msg(mp_json_check(new, NULL, &err) == MCPLUG_OK, "%s: %s", err.text,
                      set.data);
        ck_assert_int_eq(apply(new, path, value, &again, &err), MCPLUG_OK);
        ck_assert_msg(strcmp(again.data, set.data) == 0, "twice:\n%s\n%s", set.data,
                      again.data);
        ck_assert_int_eq(apply(new, path, NULL, &back, &err), MCPLUG_OK);
        ck_assert_msg(strcmp(back.data, g.text.data) == 0, "seed %d: %s became %s",
                      (int)seed, g.text.data, back.data);
        mp_str_clear(&g.text);
        mp_str_clear(&set);
        mp_str_clear(&again);
        mp_str_clear(&back);
    }
}
END_TEST

START_TEST(setting_what_is_there_is_the_same_the_second_time)
{
    static const char *const keys[] = {"k0", "k1", "k2", "k3"};
    static const char *const values[] = {"1", ENTRY, "[[1],[2,{}]]",
                                         "{\"a\":{\"b\":[{}]}}"};

    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random g;
        struct mp_str set, again;
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        generate(&g, seed + 100000);
        const char *path[] = {keys[seed % 4], keys[seed / 4 % 4], NULL};
        const char *value = values[seed / 16 % 4];
        if (apply(mp_bytes(g.text.data, g.text.len), path, value, &set, &err) ==
            MCPLUG_OK) {
            ck_assert_int_eq(
                apply(mp_bytes(set.data, set.len), path, value, &again, &err), MCPLUG_OK);
            ck_assert_msg(strcmp(again.data, set.data) == 0, "of %s\n%s\n%s", g.text.data,
                          set.data, again.data);
            mp_str_clear(&again);
        }
        mp_str_clear(&g.text);
        mp_str_clear(&set);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_edit");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, an_empty_file_becomes_an_object);
    tcase_add_test(t, an_empty_object_is_filled);
    tcase_add_test(t, a_new_member_stands_behind_the_last_and_looks_like_it);
    tcase_add_test(t, objects_on_the_way_are_made);
    tcase_add_test(t, of_a_member_that_is_there_only_the_value_changes);
    tcase_add_test(t, what_is_unknown_keeps_every_byte);
    tcase_add_test(t, a_member_goes_with_its_comma_and_its_line);
    tcase_add_test(t, what_cannot_be_done_is_said);
    tcase_add_test(t, a_text_that_would_be_too_long_is_refused);
    tcase_add_test(t, an_error_names_a_long_key_only_in_part);
    tcase_add_test(t, hostile_texts_of_a_megabyte_are_edited_quickly);
    tcase_add_test(t, a_new_member_that_is_removed_again_leaves_no_trace);
    tcase_add_test(t, setting_what_is_there_is_the_same_the_second_time);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
