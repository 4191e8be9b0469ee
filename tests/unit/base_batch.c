#include "base/batch.h"

#include "base/mem.h"
#include "suite.h"

#include <check.h>

#define ALL (MCPLUG_BATCH_MAX + 1)

static struct mp_batch b;
static bool had[ALL], refuses[ALL];
static size_t begun;

static bool waits(void *arg, size_t i)
{
    ck_assert_ptr_eq(arg, had);
    return !had[i];
}

static bool begin(void *arg, size_t i)
{
    ck_assert_ptr_eq(arg, had);
    ck_assert_uint_le(b.n_running, b.size);
    had[i] = true;
    begun++;
    return !refuses[i];
}

static void setup(void)
{
    b = (struct mp_batch){
        .n = ALL, .size = 2, .arg = had, .waits = waits, .begin = begin};
    memset(had, 0, sizeof had);
    memset(refuses, 0, sizeof refuses);
    begun = 0;
}

START_TEST(the_next_one_begins_when_one_is_done)
{
    ck_assert(mp_batch_begin(&b));
    ck_assert(!mp_batch_begin(&b));
    ck_assert(!mp_batch_begin(&b));
    ck_assert_uint_eq(begun, 2);
    mp_batch_done(&b, 0);
    ck_assert(mp_batch_may_begin(&b));
    ck_assert(!mp_batch_begin(&b));
    ck_assert(had[2]);
    ck_assert_uint_eq(b.n_running, 2);
    ck_assert_uint_eq(b.running[0], 1);
    ck_assert_uint_eq(b.running[1], 2);
}
END_TEST

START_TEST(those_behind_one_that_is_removed_move_up)
{
    b.size = 3;
    while (mp_batch_begin(&b))
        ;
    ck_assert_uint_eq(b.next, 3); /* 0, 1 and 2 run */
    mp_batch_remove(&b, 1);
    ck_assert_uint_eq(b.n_running, 2);
    ck_assert_uint_eq(b.running[0], 0);
    ck_assert_uint_eq(b.running[1], 1);
    ck_assert_uint_eq(b.next, 2);
    ck_assert_uint_eq(b.n, ALL - 1);
    mp_batch_remove(&b, 5); /* its turn has not come */
    ck_assert_uint_eq(b.n_running, 2);
    ck_assert_uint_eq(b.next, 2);
    ck_assert_uint_eq(b.n, ALL - 2);
    had[2] = false; /* the one that was the fourth */
    ck_assert(mp_batch_may_begin(&b));
    mp_batch_begin(&b);
    ck_assert(had[2]);
    mp_batch_remove(&b, ALL); /* there is none */
    ck_assert_uint_eq(b.n, ALL - 2);
}
END_TEST

START_TEST(one_that_is_done_twice_counts_once)
{
    mp_batch_begin(&b);
    mp_batch_begin(&b);
    mp_batch_done(&b, 1);
    mp_batch_done(&b, 1);
    mp_batch_done(&b, 7); /* was never begun */
    ck_assert_uint_eq(b.n_running, 1);
    ck_assert_uint_eq(b.running[0], 0);
}
END_TEST

START_TEST(one_that_cannot_be_begun_takes_no_place)
{
    refuses[0] = refuses[1] = true;
    ck_assert(mp_batch_begin(&b));
    ck_assert(mp_batch_begin(&b));
    ck_assert_uint_eq(b.n_running, 0);
    ck_assert(mp_batch_begin(&b));
    ck_assert_uint_eq(b.running[0], 2);
}
END_TEST

START_TEST(those_that_do_not_wait_are_passed_over)
{
    had[0] = had[2] = true;
    mp_batch_begin(&b);
    mp_batch_begin(&b);
    ck_assert_uint_eq(b.running[0], 1);
    ck_assert_uint_eq(b.running[1], 3);
}
END_TEST

START_TEST(none_begins_after_a_stop)
{
    mp_batch_begin(&b);
    b.stopped = true;
    ck_assert(!mp_batch_may_begin(&b));
    ck_assert(!mp_batch_begin(&b));
    ck_assert_uint_eq(begun, 1);
    ck_assert_uint_eq(b.n_running, 1);
}
END_TEST

START_TEST(the_largest_batch_holds_no_more_than_its_size)
{
    b.size = MCPLUG_BATCH_MAX;
    for (size_t i = 0; i < ALL; i++)
        mp_batch_begin(&b);
    ck_assert_uint_eq(b.n_running, MCPLUG_BATCH_MAX);
    ck_assert(!had[MCPLUG_BATCH_MAX]);
    for (size_t i = 0; i < ALL; i++)
        mp_batch_done(&b, i);
    ck_assert_uint_eq(b.n_running, 0);
    ck_assert(!mp_batch_begin(&b)); /* it was the last one */
    ck_assert(had[MCPLUG_BATCH_MAX]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_batch");
    TCase *tc = tcase_create("batch");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, those_behind_one_that_is_removed_move_up);
    tcase_add_test(tc, the_next_one_begins_when_one_is_done);
    tcase_add_test(tc, one_that_is_done_twice_counts_once);
    tcase_add_test(tc, one_that_cannot_be_begun_takes_no_place);
    tcase_add_test(tc, those_that_do_not_wait_are_passed_over);
    tcase_add_test(tc, none_begins_after_a_stop);
    tcase_add_test(tc, the_largest_batch_holds_no_more_than_its_size);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
