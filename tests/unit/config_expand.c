#include "config/expand.h"

#include "base/error.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a world of our own ---- */

static struct mcplug_error err;
static struct mp_str out;
static char asked[2000];  /* names of variables and secrets, a blank behind each */
static char missed[1000]; /* likewise */
static size_t long_value; /* what ${LONG} has */

static void note(char *list, size_t size, const char *kind, const char *name)
{
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s%s%s ", kind, kind[0] ? ":" : "", name);
}

static const char *variable(void *arg, const char *name)
{
    static const char *const values[][2] = {
        {"A", "alpha"}, {"B", "beta"},     {"EMPTY", ""},
        {"_x9", "odd"}, {"REF", "${A}${"}, {"9", "nine"},
        {"file", "F"},  {"BRACE", "}"},    {"CMD", "${cmd:false}"}};
    static char text[MP_EXPAND_MAX + 2];

    ck_assert_ptr_eq(arg, &out);
    note(asked, sizeof asked, "", name);
    if (strcmp(name, "LONG") == 0) {
        memset(text, 'x', long_value);
        text[long_value] = '\0';
        return text;
    }
    for (size_t i = 0; i < MP_COUNT(values); i++)
        if (strcmp(values[i][0], name) == 0)
            return values[i][1];
    return NULL;
}

static int secret(void *arg, const char *kind, const char *name, struct mp_str *to,
                  struct mcplug_error *e)
{
    ck_assert_ptr_eq(arg, &out);
    note(asked, sizeof asked, kind, name);
    if (strcmp(name, "part") == 0)
        mp_str_adds(to, "half a value");
    if (strcmp(name, "bad") == 0 || strcmp(name, "part") == 0)
        return mp_fail(e, MCPLUG_EAUTH, "the vault is closed");
    if (strcmp(name, "nul") == 0)
        return mp_str_add(to, "a\0b", 3) ? MCPLUG_OK : mp_fail_nomem(e);
    if (strcmp(name, "long") == 0) {
        variable(arg, "LONG");
        return mp_str_adds(to, variable(arg, "LONG")) ? MCPLUG_OK : mp_fail_nomem(e);
    }
    return mp_str_addf(to, "<%s|%s>", kind, name) ? MCPLUG_OK : mp_fail_nomem(e);
}

static void missing(void *arg, const char *name)
{
    ck_assert_ptr_eq(arg, &out);
    note(missed, sizeof missed, "", name);
}

static const struct mp_expansion world = {variable, secret, missing, &out};

static void begin(void)
{
    mp_str_init(&out, MP_EXPAND_MAX + 100);
    asked[0] = missed[0] = '\0';
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
}

static void finish(void)
{
    mp_str_clear(&out);
}

static int expand(const char *text)
{
    mp_str_reset(&out);
    asked[0] = missed[0] = '\0';
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    mp_str_adds(&out, "before:");
    return mp_expand(&world, text, &out, &err);
}

static void becomes(const char *text, const char *expected)
{
    int r = expand(text);
    ck_assert_msg(r == MCPLUG_OK, "%s: %s", text, err.text);
    ck_assert_msg(strcmp(out.data + 7, expected) == 0, "%s: %s instead of %s", text,
                  out.data + 7, expected);
    ck_assert(strncmp(out.data, "before:", 7) == 0);
}

/* Nothing is added, and nobody was asked for anything. */
static void fails(const char *text, const char *why)
{
    ck_assert_msg(expand(text) == MCPLUG_ECONFIG, "%s", text);
    ck_assert_msg(strstr(err.text, why), "%s: %s", text, err.text);
    ck_assert_str_eq(out.data, "before:");
    ck_assert_str_eq(asked, "");
}

/* ---- what is put in ---- */

START_TEST(text_without_references_stays_as_it_is)
{
    static const char *const texts[] = {"",       "plain",  "$",       "$$",      "$A",
                                        "a $ b",  "{A}",    "}",       "{}",      "$ {A}",
                                        "%{A}",   "a}b{c$", "\\n\t\n", "$()",     "`x`",
                                        "$(cmd)", "~/x",    "ä€𝄞",     "\xff\x80"};

    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        becomes(texts[i], texts[i]);
        ck_assert_str_eq(asked, "");
    }
}
END_TEST

START_TEST(variables_are_put_in)
{
    static const char *const rows[][2] = {
        {"${A}", "alpha"},
        {"x${A}y", "xalphay"},
        {"${A}${B}", "alphabeta"},
        {"$${A}", "${A}"},
        {"$$${A}${A}", "$${A}alpha"},
        {"${A}}", "alpha}"},
        {"${_x9} ${9}", "odd nine"},
        {"${EMPTY}", ""},
        {"${A} $ {B} $B", "alpha $ {B} $B"},
        {"${file}", "F"},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        becomes(rows[i][0], rows[i][1]);
        ck_assert_str_eq(missed, "");
    }
}
END_TEST

START_TEST(what_is_not_set_stays_and_is_told)
{
    becomes("a ${NOPE} ${A} ${NOPE2}", "a ${NOPE} alpha ${NOPE2}");
    ck_assert_str_eq(missed, "NOPE NOPE2 ");
    becomes("${NOPE:-${NOPE2}}", "${NOPE2}");
    ck_assert_str_eq(missed, "NOPE2 ");
}
END_TEST

START_TEST(a_default_is_for_what_is_not_set_or_empty)
{
    static const char *const rows[][2] = {
        {"${A:-d}", "alpha"},
        {"${NOPE:-d}", "d"},
        {"${EMPTY:-d}", "d"},
        {"${NOPE:-}", ""},
        {"<${EMPTY:-}>", "<>"},
        {"${NOPE:--}", "-"},
        {"${NOPE:-a:-b}", "a:-b"},
        {"${NOPE:-a b\"'\\}", "a b\"'\\"},
        {"${NOPE:-{}}", "{}"},
        {"${NOPE:-$}", "$"},
        {"${NOPE:-a}b}", "ab}"},
        {"${file:-x}", "F"},
        {"${cmd:-x}", "x"},
        {"https://${NOPE:-h.example:80}/x", "https://h.example:80/x"},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        becomes(rows[i][0], rows[i][1]);
        ck_assert_str_eq(missed, "");
    }
}
END_TEST

START_TEST(defaults_may_have_references_inside)
{
    static const char *const rows[][3] = {
        {"${NOPE:-${A}}", "alpha", "NOPE A "},
        {"${NOPE:-<${A}-${B}>}.", "<alpha-beta>.", "NOPE A B "},
        {"${A:-${B}}", "alpha", "A "},
        {"${N:-${M:-${L:-deep}}}", "deep", "N M L "},
        {"${N:-${M:-${L:-deep}}", NULL, NULL},
        {"${N:-${file:/x y}}", "<file|/x y>", "N file:/x y "},
        {"${A:-${cmd:touch x}}", "alpha", "A "},
        {"${N:-a${M:-b}c${A}d}e", "abcalphade", "N M A "},
        {"${N:-${cmd:x ${y}}}", "<cmd|x ${y>}", "N cmd:x ${y "},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        if (!rows[i][1]) {
            fails(rows[i][0], "has no closing \"}\"");
            continue;
        }
        becomes(rows[i][0], rows[i][1]);
        ck_assert_str_eq(asked, rows[i][2]);
    }
}
END_TEST

START_TEST(secrets_come_from_where_the_word_before_the_colon_says)
{
    static const char *const rows[][2] = {
        {"${file:/run/token}", "<file|/run/token>"},
        {"${file:~/a b/c:d}", "<file|~/a b/c:d>"},
        {"Bearer ${cmd:pass show \"x\" | head -1}!",
         "Bearer <cmd|pass show \"x\" | head -1>!"},
        {"${keyring:github}", "<keyring|github>"},
        {"${my-vault2:a/b-c}", "<my-vault2|a/b-c>"},
        {"${cmd:echo $A}", "<cmd|echo $A>"},
        {"${cmd:echo ${A}}", "<cmd|echo ${A>}"},
        {"${file: }", "<file| >"},
        {"${2:x}", "<2|x>"},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++)
        becomes(rows[i][0], rows[i][1]);
}
END_TEST

START_TEST(what_was_put_in_is_never_expanded_again)
{
    becomes("${REF}A}", "${A}${A}");
    ck_assert_str_eq(asked, "REF ");
    becomes("${CMD}", "${cmd:false}");
    ck_assert_str_eq(asked, "CMD ");
    becomes("${NOPE:-${REF}}", "${A}${");
    becomes("${NOPE:-${BRACE}x}", "}x");
    becomes("${file:${A}", "<file|${A>");
    ck_assert_str_eq(asked, "file:${A ");
}
END_TEST

START_TEST(without_a_function_nothing_is_told_and_no_secret_is_had)
{
    const struct mp_expansion bare = {variable, NULL, NULL, &out};

    ck_assert_int_eq(mp_expand(&bare, "${NOPE}", &out, &err), MCPLUG_OK);
    ck_assert_str_eq(out.data, "${NOPE}");
    ck_assert_int_eq(mp_expand(&bare, "x${file:/etc/passwd}", &out, &err),
                     MCPLUG_ECONFIG);
    ck_assert_str_eq(err.text, "${file:..} cannot be used here");
    ck_assert_str_eq(out.data, "${NOPE}");
}
END_TEST

/* ---- what cannot be read ---- */

START_TEST(what_cannot_be_read_is_refused_before_anything_is_asked_for)
{
    static const char *const rows[][2] = {
        {"${", "has no closing \"}\""},
        {"${A", "has no closing \"}\""},
        {"a ${A} ${B", "has no closing \"}\""},
        {"${cmd:rm -r x} ${", "has no closing \"}\""},
        {"${A:-x", "has no closing \"}\""},
        {"${A:-${B}", "has no closing \"}\""},
        {"${file:/x", "has no closing \"}\""},
        {"${}", "is not followed by a name"},
        {"${:-x}", "is not followed by a name"},
        {"${:x}", "is not followed by a name"},
        {"${file:}", "\"${file:}\" has no name after the colon"},
        {"${keyring:}", "\"${keyring:}\" has no name after the colon"},
        {"${A B}", "letters, digits and _"},
        {"${ A}", "letters, digits and _"},
        {"${A-b}", "letters, digits and _"},
        {"${A?x}", "letters, digits and _"},
        {"${#A}", "letters, digits and _"},
        {"${A[0]}", "letters, digits and _"},
        {"${A.b}", "letters, digits and _"},
        {"${Ä}", "letters, digits and _"},
        {"${${A}}", "letters, digits and _"},
        {"${a-b:-c}", "letters, digits and _"},
        {"${A:?x}", "a default begins with \":-\""},
        {"${A:=x}", "a default begins with \":-\""},
        {"${File:x}", "lower-case letters, digits and -"},
        {"${my_vault:x}", "lower-case letters, digits and -"},
        {"${A:-${}}", "is not followed by a name"},
        {"${A:-${B C}}", "letters, digits and _"},
        {"${env:HOME}", "\"${env:HOME}\": write \"${HOME}\" for a variable"},
        {"${input:token}", "write \"${token}\" for a variable or \"${keyring:token}\""},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++)
        fails(rows[i][0], rows[i][1]);
}
END_TEST

START_TEST(messages_do_not_repeat_what_may_be_a_value)
{
    static const char *const texts[] = {
        "${KEY-hunter2}", "${KEY:-hunter2", "${KEY=hunter2}",  "${KEY hunter2}",
        "${KEY?hunter2}", "hunter2${KEY",   "${A:-hunter2${}}"};

    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        ck_assert_int_eq(expand(texts[i]), MCPLUG_ECONFIG);
        ck_assert_msg(!strstr(err.text, "hunter2"), "%s", err.text);
    }
}
END_TEST

START_TEST(the_error_of_a_secret_ends_the_expansion_and_leaves_nothing)
{
    ck_assert_int_eq(expand("a${A}${keyring:bad}${B}"), MCPLUG_EAUTH);
    ck_assert_str_eq(err.text, "the vault is closed");
    ck_assert_str_eq(asked, "A keyring:bad ");
    ck_assert_str_eq(out.data, "before:");
    ck_assert_int_eq(expand("${keyring:part}"), MCPLUG_EAUTH);
    ck_assert_str_eq(out.data, "before:");
    ck_assert_uint_eq(out.len, 7);
    ck_assert_int_eq(expand("${keyring:nul}"), MCPLUG_ECONFIG);
    ck_assert_str_eq(err.text, "keyring:nul: has a NUL byte");
    ck_assert_uint_eq(out.len, 7);
}
END_TEST

/* ---- limits ---- */

static char *nested(int depth)
{
    struct mp_str s;

    mp_str_init(&s, 10000);
    for (int i = 1; i < depth; i++)
        mp_str_adds(&s, "${N:-");
    mp_str_adds(&s, "${A}");
    for (int i = 1; i < depth; i++)
        mp_str_adds(&s, "}");
    return mp_str_take(&s);
}

START_TEST(eight_levels_are_enough_and_nine_too_deep)
{
    char *text = nested(MP_EXPAND_DEPTH);
    becomes(text, "alpha");
    mp_free(text);
    text = nested(MP_EXPAND_DEPTH + 1);
    fails(text, "nested more than 8 levels deep");
    mp_free(text);
    text = nested(1000);
    fails(text, "nested more than 8 levels deep");
    mp_free(text);
}
END_TEST

START_TEST(a_text_may_become_a_megabyte_and_no_more)
{
    long_value = MP_EXPAND_MAX;
    ck_assert_int_eq(expand("${LONG}"), MCPLUG_OK);
    ck_assert_uint_eq(out.len, 7 + MP_EXPAND_MAX);
    ck_assert_int_eq(expand("${LONG}x"), MCPLUG_ETOOBIG);
    ck_assert_str_eq(out.data, "before:");
    ck_assert_int_eq(expand("x${LONG}"), MCPLUG_ETOOBIG);
    ck_assert_int_eq(expand("${keyring:long}"), MCPLUG_OK);
    long_value++;
    ck_assert_int_eq(expand("${LONG}"), MCPLUG_ETOOBIG);
    ck_assert_int_eq(expand("${keyring:long}"), MCPLUG_ETOOBIG);
    ck_assert_str_eq(out.data, "before:");
    ck_assert_ptr_nonnull(strstr(err.text, "1048576"));
}
END_TEST

START_TEST(an_output_with_less_room_is_too_small_and_not_out_of_memory)
{
    struct mp_str small;

    mp_str_init(&small, 8);
    ck_assert_int_eq(mp_expand(&world, "${A}", &small, &err), MCPLUG_OK);
    ck_assert_int_eq(mp_expand(&world, "${B}", &small, &err), MCPLUG_ETOOBIG);
    ck_assert_str_eq(small.data, "alpha");
    mp_str_clear(&small);
}
END_TEST

START_TEST(what_is_asked_for_has_a_longest_name)
{
    char *text = malloc(MP_EXPAND_NAME + 10);

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', MP_EXPAND_NAME + 10);
    memcpy(text, "${cmd:", 6);
    strcpy(text + 2 + MP_EXPAND_NAME - 1, "}");
    ck_assert_int_eq(expand(text), MCPLUG_OK);
    ck_assert_uint_eq(out.len, 7 + 3 + MP_EXPAND_NAME - 2);
    strcpy(text + 2 + MP_EXPAND_NAME - 1, "x}");
    ck_assert_int_eq(expand(text), MCPLUG_ETOOBIG);
    ck_assert_str_eq(asked, "");
    free(text);
}
END_TEST

START_TEST(a_million_open_references_take_no_time)
{
    struct mp_str s;

    mp_str_init(&s, 10000000);
    for (int i = 0; i < 1000000; i++)
        mp_str_add_lit(&s, "${A:-");
    fails(s.data, "has no closing \"}\"");
    mp_str_clear(&s);
}
END_TEST

/* ---- names only ---- */

static void on_name(void *arg, const char *name)
{
    ck_assert_ptr_eq(arg, &err);
    note(asked, sizeof asked, "", name);
}

START_TEST(each_names_what_a_text_may_ask_for_in_order)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"plain $A", ""},
        {"${A} ${NOPE} ${A}", "A NOPE A "},
        {"${A:-${B:-${file:/x}}} ${cmd:ls -l}", "A B file:/x cmd:ls -l "},
        {"${keyring:k}${Z:-z}", "keyring:k Z "},
        {"${cmd:echo ${A}}", "cmd:echo ${A "},
        {"${A} ${B", "A "},
        {"${A} ${B C} ${D}", "A "},
        {"${A:-${B}${}${C}} ${D}", "A B "},
        {"${env:A} ${B}", ""},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        asked[0] = '\0';
        mp_expand_each(rows[i][0], on_name, &err);
        ck_assert_str_eq(asked, rows[i][1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_expand");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, begin, finish);
    tcase_add_test(t, text_without_references_stays_as_it_is);
    tcase_add_test(t, variables_are_put_in);
    tcase_add_test(t, what_is_not_set_stays_and_is_told);
    tcase_add_test(t, a_default_is_for_what_is_not_set_or_empty);
    tcase_add_test(t, defaults_may_have_references_inside);
    tcase_add_test(t, secrets_come_from_where_the_word_before_the_colon_says);
    tcase_add_test(t, what_was_put_in_is_never_expanded_again);
    tcase_add_test(t, without_a_function_nothing_is_told_and_no_secret_is_had);
    tcase_add_test(t, what_cannot_be_read_is_refused_before_anything_is_asked_for);
    tcase_add_test(t, messages_do_not_repeat_what_may_be_a_value);
    tcase_add_test(t, the_error_of_a_secret_ends_the_expansion_and_leaves_nothing);
    tcase_add_test(t, eight_levels_are_enough_and_nine_too_deep);
    tcase_add_test(t, a_text_may_become_a_megabyte_and_no_more);
    tcase_add_test(t, an_output_with_less_room_is_too_small_and_not_out_of_memory);
    tcase_add_test(t, what_is_asked_for_has_a_longest_name);
    tcase_add_test(t, a_million_open_references_take_no_time);
    tcase_add_test(t, each_names_what_a_text_may_ask_for_in_order);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
