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
    while (mp_ledger_any(&l)) {
        mp_ledger_remove(&l, mp_ledger_any(&l)->id);
        count--;
    }
    ck_assert_uint_eq(count, 0);
    mp_ledger_clear(&l);
}
END_TEST

START_TEST(an_empty_ledger_has_nothing)
{
    struct mp_ledger l = {0};
    ck_assert_ptr_null(mp_ledger_find(&l, 1));
    ck_assert_ptr_null(mp_ledger_any(&l));
    mp_ledger_remove(&l, 1);
    mp_ledger_clear(&l);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, calls_are_found_by_id_whatever_came_and_went_before);
    tcase_add_test(tc, an_empty_ledger_has_nothing);
}

int main(void)
{
    return run_suite("rpc_ledger", add);
}
