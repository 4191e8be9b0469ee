#include "cli/import/relax.h"

#include "base/buf.h"
#include "base/mem.h"

#include <check.h>
#include <stdio.h>
#include <time.h>

START_TEST(comments_trailing_commas_and_the_mark_are_blanked_in_place)
{
    static const char *const cases[][2] = {
        {"{} // x\n", "{}     \n"},
        {"{\"a\":1,/* \n\xc3\xa9 */}", "{\"a\":1    \n     }"},
        {"[1,2 , ]", "[1,2   ]"},
        {"[[1,],{\"a\":2,},]", "[[1 ],{\"a\":2 } ]"},
        {"\xef\xbb\xbf{}", "   {}"},
        {"{ // \"x\r\n}", "{      \r\n}"},
        {"{\"a\": \"// /* , } \\\" // \" , // }\n}",
         "{\"a\": \"// /* , } \\\" // \"       \n}"},
        {"[1 /*,*/ ,/**/]", "[1            ]"},
        {"// only", "       "},
        /* not these */
        {"[,]", "[,]"},
        {"[1,,]", "[1,,]"},
        {"{,}", "{,}"},
        {"{\"a\":,}", "{\"a\":,}"},
        {"[1, /* x ]", "[1, /* x ]"},
        {"[1 / 2]/", "[1 / 2]/"},
        {"[\"a, ]", "[\"a, ]"},
        {"{},", "{},"},
        {"# x", "# x"},
        {"", ""},
    };
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        char text[100];
        snprintf(text, sizeof text, "%s", cases[i][0]);
        cli_import_relax(text, strlen(text));
        ck_assert_str_eq(text, cases[i][1]);
    }
}
END_TEST

START_TEST(json_is_not_changed_by_relaxing)
{
    static const char json[] = "{\t\"a\" : [1 ,\r\n2],\"//\":\"/* */\", \"b\":\",}\"}\n";
    char text[sizeof json];

    memcpy(text, json, sizeof json);
    cli_import_relax(text, sizeof json - 1);
    ck_assert_str_eq(text, json);
}
END_TEST

/* Processor time in seconds. */
static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

START_TEST(hostile_texts_of_a_megabyte_are_relaxed_quickly)
{
    static const char *const parts[] = {"\"%d\":1,", "\\\\\\\"%d", "/*%d", "//%d", "%d,"};
    struct mp_str s;

    mp_str_init(&s, 1 << 21);
    for (size_t i = 0; i < MP_COUNT(parts); i++) {
        mp_str_reset(&s);
        for (int k = 0; s.len < 1000000; k++)
            mp_str_addf(&s, parts[i], k); /* one of the table above */
        double start = now();
        cli_import_relax(s.data, s.len);
        ck_assert_msg(now() - start < 5, "%zu took %g s", i, now() - start);
    }
    mp_str_clear(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_import_relax");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 30);
    tcase_add_test(t, comments_trailing_commas_and_the_mark_are_blanked_in_place);
    tcase_add_test(t, json_is_not_changed_by_relaxing);
    tcase_add_test(t, hostile_texts_of_a_megabyte_are_relaxed_quickly);
    suite_add_tcase(suite, t);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
