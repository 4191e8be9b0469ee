/* Errors that are kept, with and without memory, and what an assembler keeps of a message
 * that it cannot read. */
#include "nomem_kit.h"

#include "base/error.h"
#include "rpc/assembler.h"

static struct mcplug_error because(int code, const char *text)
{
    struct mcplug_error e;

    mp_error_init(&e);
    mp_fail(&e, code, "%s", text);
    return e;
}

START_TEST(an_error_that_is_kept_stays_where_it_is_until_it_is_dropped)
{
    struct mcplug_error first = because(MCPLUG_EIO, "first"),
                        second = because(MCPLUG_ECLOSED, "second");
    const struct mcplug_error *kept = &mp_no_error, *block;

    ck_assert_int_eq(kept->code, MCPLUG_OK);
    ck_assert_str_eq(kept->text, "");
    mp_error_keep(&kept, &first);
    block = kept;
    ck_assert_ptr_ne(block, &first);
    ck_assert_int_eq(kept->code, MCPLUG_EIO);
    ck_assert_str_eq(kept->text, "first");
    mp_error_keep(&kept, &second);
    ck_assert_ptr_eq(kept, block);
    ck_assert_int_eq(kept->code, MCPLUG_ECLOSED);
    ck_assert_str_eq(kept->text, "second");
    mp_error_keep(&kept, kept);
    ck_assert_str_eq(kept->text, "second");
    mp_error_drop(&kept);
    ck_assert_ptr_eq(kept, &mp_no_error);
    mp_error_drop(&kept);
}
END_TEST

START_TEST(without_memory_the_error_that_is_kept_says_so)
{
    struct mcplug_error first = because(MCPLUG_EIO, "first");
    const struct mcplug_error *kept = &mp_no_error;

    calls = 0;
    fail_at = 1;
    mp_error_keep(&kept, &first);
    ck_assert_int_eq(kept->code, MCPLUG_ENOMEM);
    ck_assert_str_eq(kept->text, "out of memory");
    mp_error_keep(&kept, &first); /* there is some again */
    ck_assert_int_eq(kept->code, MCPLUG_EIO);
    mp_error_drop(&kept);
}
END_TEST

static int feed(struct mp_assembler *a, const char *text, enum mp_piece kind,
                mp_message **out)
{
    return mp_assembler_feed(a, mp_bytes(text, strlen(text)), kind, out);
}

START_TEST(an_unreadable_message_without_memory_fails_at_its_end)
{
    struct mp_assembler_limits limits = {
        .scan = {.depth = 64, .tokens = 100}, .memory = 4096, .dir = "/tmp"};
    struct mp_assembler a;
    mp_message *m;

    mp_assembler_init(&a, &limits);
    ck_assert_int_eq(feed(&a, "{\"id\":1,", MP_PIECE_MORE, &m), MCPLUG_OK);
    calls = 0;
    fail_at = 1;
    ck_assert_int_eq(feed(&a, "}}", MP_PIECE_MORE, &m), MCPLUG_OK);
    ck_assert_ptr_null(mp_assembler_overrun(&a));
    fail_at = 0;
    ck_assert_int_eq(feed(&a, "}}", MP_PIECE_LAST, &m), MCPLUG_ENOMEM);
    ck_assert_ptr_null(m);
    ck_assert_int_eq(feed(&a, "{\"id\":1}", MP_PIECE_LAST, &m), MCPLUG_OK);
    ck_assert_int_eq(m->state, MP_MESSAGE_READ);
    mp_message_unref(m);
    mp_assembler_clear(&a);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, an_error_that_is_kept_stays_where_it_is_until_it_is_dropped);
    tcase_add_test(tc, without_memory_the_error_that_is_kept_says_so);
    tcase_add_test(tc, an_unreadable_message_without_memory_fails_at_its_end);
}

int main(void)
{
    return run_suite("base_error", add);
}
