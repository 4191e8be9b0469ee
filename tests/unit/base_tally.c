/* How many there are of each name. */
#include "base/mem.h"
#include "base/tally.h"

#include "suite.h"

#include <check.h>

static void expect_row(const struct mp_tally *t, size_t i, const char *name, size_t count)
{
    ck_assert_uint_lt(i, t->n);
    ck_assert_str_eq(t->rows[i].name, name);
    ck_assert_uint_eq(t->rows[i].count, count);
}

START_TEST(names_are_counted_in_the_order_in_which_they_came)
{
    static const char *const names[] = {"unix", "stdio", "http", "stdio", "stdio"};
    struct mp_tally t = {.rows = NULL};
    char same[] = "unix"; /* it is the text that counts */

    for (size_t i = 0; i < MP_COUNT(names); i++)
        mp_tally_add(&t, names[i], 1);
    mp_tally_add(&t, same, 1);
    mp_tally_add(&t, "sse", 0);
    ck_assert_uint_eq(t.n, 4);
    expect_row(&t, 0, "unix", 2);
    expect_row(&t, 1, "stdio", 3);
    expect_row(&t, 2, "http", 1);
    expect_row(&t, 3, "sse", 0);
    mp_tally_clear(&t);
}
END_TEST

START_TEST(sorted_the_most_frequent_come_first_and_then_the_alphabet)
{
    struct mp_tally t = {.rows = NULL};

    mp_tally_add(&t, "tcp", 1);
    mp_tally_add(&t, "http", 1);
    mp_tally_add(&t, "stdio", 18);
    mp_tally_sort(&t);
    expect_row(&t, 0, "stdio", 18);
    expect_row(&t, 1, "http", 1);
    expect_row(&t, 2, "tcp", 1);
    mp_tally_clear(&t);
}
END_TEST

START_TEST(nothing_is_sorted_and_cleared_as_well)
{
    struct mp_tally t = {.rows = NULL};
    mp_tally_sort(&t);
    mp_tally_clear(&t);
    mp_tally_clear(&t);
    ck_assert_uint_eq(t.n, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_tally");
    TCase *tc = tcase_create("tally");
    tcase_add_test(tc, names_are_counted_in_the_order_in_which_they_came);
    tcase_add_test(tc, sorted_the_most_frequent_come_first_and_then_the_alphabet);
    tcase_add_test(tc, nothing_is_sorted_and_cleared_as_well);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
