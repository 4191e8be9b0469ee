#include "fake.h"
#include "quick.h"

#include <stdlib.h>

START_TEST(calls_are_found_by_id_whatever_came_and_went_before)
{
    static struct mp_call calls[5000];
    static bool in[5000];
    struct mp_ledger l = {0};
    size_t count = 0;
    srandom(3);
    for (size_t i = 0; i < MP_COUNT(calls); i++)
        calls[i].id = i + 1;
    for (int step = 0; step < 100000; step++) {
        size_t i = (size_t)random() % MP_COUNT(calls);
        if (in[i]) {
            mp_ledger_remove(&l, calls[i].id);
            count--;
        } else {
            HOLDS(mp_ledger_add(&l, &calls[i]), "call %zu", i);
            count++;
        }
        in[i] = !in[i];
        HOLDS(l.count == count, "%zu calls, not %zu", (size_t)l.count, (size_t)count);
        size_t k = (size_t)random() % MP_COUNT(calls);
        HOLDS(mp_ledger_find(&l, calls[k].id) == (in[k] ? &calls[k] : NULL), "call %zu",
              (size_t)k);
    }
    for (size_t i = 0; i < MP_COUNT(calls); i++)
        ck_assert_ptr_eq(mp_ledger_find(&l, calls[i].id), in[i] ? &calls[i] : NULL);
    while (l.oldest) {
        mp_ledger_remove(&l, l.oldest->id);
        count--;
    }
    ck_assert_uint_eq(count, 0);
    mp_ledger_clear(&l);
}
END_TEST

START_TEST(oldest_call_comes_first_whatever_went_before)
{
    static struct mp_call calls[1000];
    struct mp_ledger l = {0};

    for (size_t i = 0; i < MP_COUNT(calls); i++) {
        calls[i].id = i + 1;
        HOLDS(mp_ledger_add(&l, &calls[i]), "call %zu", i);
        if (i % 3 == 1) /* the newest, or one before it */
            mp_ledger_remove(&l, i % 2 ? i + 1 : i);
    }
    for (size_t i = 0; i < MP_COUNT(calls); i++) {
        if (!mp_ledger_find(&l, i + 1))
            continue;
        HOLDS(l.oldest == &calls[i], "call %zu", i);
        mp_ledger_remove(&l, i + 1);
    }
    ck_assert_ptr_null(l.oldest);
    ck_assert_ptr_null(l.newest);
    ck_assert_uint_eq(l.count, 0);
    mp_ledger_clear(&l);
}
END_TEST

START_TEST(an_empty_ledger_has_nothing)
{
    struct mp_ledger l = {0};
    ck_assert_ptr_null(mp_ledger_find(&l, 1));
    ck_assert_ptr_null(l.oldest);
    mp_ledger_remove(&l, 1);
    mp_ledger_clear(&l);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, calls_are_found_by_id_whatever_came_and_went_before);
    tcase_add_test(tc, oldest_call_comes_first_whatever_went_before);
    tcase_add_test(tc, an_empty_ledger_has_nothing);
}

int main(void)
{
    return run_suite("rpc_ledger", add);
}
