/* Filters of tools. */
#include "quick.h"
#include "registry/filter.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIST(...)                                                                        \
    (const char *const[])                                                                \
    {                                                                                    \
        __VA_ARGS__, NULL                                                                \
    }

static const char *const empty[] = {NULL};

START_TEST(without_lists_every_tool_is_there)
{
    ck_assert(mp_filter_allows(NULL, NULL, "echo"));
    ck_assert(mp_filter_allows(empty, NULL, "echo"));
    ck_assert(mp_filter_allows(NULL, empty, "echo"));
    ck_assert(mp_filter_allows(empty, empty, ""));
}
END_TEST

START_TEST(only_allowed_tools_are_seen_and_callable)
{
    const char *const *allowed = LIST("echo", "Get_Sum");
    ck_assert(mp_filter_allows(allowed, NULL, "echo"));
    ck_assert(mp_filter_allows(allowed, NULL, "get_sum"));
    ck_assert(!mp_filter_allows(allowed, NULL, "echo2"));
    ck_assert(!mp_filter_allows(allowed, NULL, "ech"));
    ck_assert(!mp_filter_allows(allowed, NULL, ""));
    ck_assert(!mp_filter_allows(LIST(""), NULL, "echo"));
    ck_assert(mp_filter_allows(LIST(""), NULL, ""));
}
END_TEST

START_TEST(denied_tools_are_neither_seen_nor_callable)
{
    const char *const *denied = LIST("rm", "drop_*");
    ck_assert(!mp_filter_allows(NULL, denied, "rm"));
    ck_assert(!mp_filter_allows(NULL, denied, "RM"));
    ck_assert(!mp_filter_allows(NULL, denied, "Drop_Table"));
    ck_assert(mp_filter_allows(NULL, denied, "rmdir"));
    /* who is in both lists is denied, whatever the words are */
    ck_assert(!mp_filter_allows(LIST("rm"), denied, "rm"));
    ck_assert(!mp_filter_allows(LIST("*"), LIST("any"), "echo"));
    ck_assert(!mp_filter_allows(LIST("echo"), LIST("*"), "echo"));
    ck_assert(!mp_filter_allows(empty, LIST("echo"), "echo"));
    /* and who is in none, when there are some allowed, is not allowed */
    ck_assert(!mp_filter_allows(LIST("echo"), denied, "list"));
}
END_TEST

START_TEST(a_star_and_any_stand_for_every_tool_in_any_case)
{
    static const char *const words[] = {"*", "any", "ANY", "Any", "aNy", "**"};
    static const char *const tools[] = {"echo", "", "any", "*", "caf\xc3\xa9", "a b"};
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 6; k++) {
            ck_assert(mp_filter_allows(LIST("no", words[i]), NULL, tools[k]));
            ck_assert(!mp_filter_allows(NULL, LIST("no", words[i]), tools[k]));
        }
    ck_assert(!mp_filter_allows(LIST("anything"), NULL, "echo"));
    ck_assert(!mp_filter_allows(LIST("any "), NULL, "echo"));
    ck_assert(!mp_filter_allows(LIST("all"), NULL, "echo"));
}
END_TEST

START_TEST(a_star_inside_stands_for_any_text)
{
    static const struct {
        const char *pattern, *tool;
        bool fits;
    } table[] = {
        {"get_*", "get_weather", true},
        {"get_*", "get_", true},
        {"get_*", "GET_X", true},
        {"get_*", "get", false},
        {"get_*", "forget_x", false},
        {"*_get", "can_get", true},
        {"*_get", "can_get_", false},
        {"*_get", "_get_get", true},
        {"a*b*c", "abc", true},
        {"a*b*c", "aXbXbXc", true},
        {"a*b*c", "acb", false},
        {"*a*", "banana", true},
        {"*x*", "banana", false},
        {"a*", "", false},
        {"a**b", "ab", true},
        {"a?c", "abc", false}, /* nothing else has a meaning */
        {"a?c", "a?c", true},
        {"[ab]", "a", false},
        {"a.c", "abc", false},
        {"a\\*", "a*", false},
        {"caf\xc3\xa9_*", "caf\xc3\xa9_au_lait", true},
        {"", "a", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        ck_assert_msg(mp_filter_allows(LIST(table[i].pattern), NULL, table[i].tool) ==
                          table[i].fits,
                      "\"%s\" and \"%s\"", table[i].pattern, table[i].tool);
}
END_TEST

/* The same, as plainly as it can be said. */
static bool simply(const char *pattern, const char *tool)
{
    if (*pattern == '*')
        return simply(pattern + 1, tool) || (*tool && simply(pattern, tool + 1));
    if (!*pattern || !*tool)
        return *pattern == *tool;
    return strncasecmp(pattern, tool, 1) == 0 && simply(pattern + 1, tool + 1);
}

START_TEST(patterns_fit_what_they_should)
{
    unsigned seed = 1;
    for (int i = 0; i < 200000; i++) {
        char pattern[8], tool[10];
        size_t n = (size_t)rand_r(&seed) % sizeof pattern;
        for (size_t k = 0; k < n; k++)
            pattern[k] = "aAb**"[rand_r(&seed) % 5];
        pattern[n] = '\0';
        n = (size_t)rand_r(&seed) % sizeof tool;
        for (size_t k = 0; k < n; k++)
            tool[k] = "aBb*"[rand_r(&seed) % 4];
        tool[n] = '\0';
        HOLDS(mp_filter_allows(LIST(pattern), NULL, tool) == simply(pattern, tool),
              "\"%s\" and \"%s\"", pattern, tool);
    }
}
END_TEST

START_TEST(a_pattern_full_of_stars_ends_in_time)
{
    static char pattern[2001], tool[20001];
    for (size_t i = 0; i + 1 < sizeof pattern; i++)
        pattern[i] = i % 2 ? 'a' : '*';
    pattern[sizeof pattern - 2] = 'b';
    memset(tool, 'a', sizeof tool - 1);
    ck_assert(!mp_filter_allows(LIST(pattern), NULL, tool));
    tool[sizeof tool - 2] = 'b';
    ck_assert(mp_filter_allows(LIST(pattern), NULL, tool));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry_filter");
    TCase *tc = tcase_create("filter");
    tcase_add_test(tc, without_lists_every_tool_is_there);
    tcase_add_test(tc, only_allowed_tools_are_seen_and_callable);
    tcase_add_test(tc, denied_tools_are_neither_seen_nor_callable);
    tcase_add_test(tc, a_star_and_any_stand_for_every_tool_in_any_case);
    tcase_add_test(tc, a_star_inside_stands_for_any_text);
    tcase_add_test(tc, patterns_fit_what_they_should);
    tcase_add_test(tc, a_pattern_full_of_stars_ends_in_time);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
