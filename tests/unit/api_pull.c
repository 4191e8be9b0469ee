/* The queue of events: what is in it, in which order, and what is lost when it is full.
 */
#include "fake.h"

#include "api/pull.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the queue alone ---- */

static struct mp_pull pull;

static void begin_queue(void)
{
    memset(&pull, 0, sizeof pull);
    ck_assert_int_eq(mp_pull_init(&pull, ~0u >> 25, NULL), MCPLUG_OK);
}

static void put(enum mcplug_event_type type, const char *text)
{
    struct mcplug_event e = {
        .type = type, .server = "s", .text = text, .len = strlen(text)};
    mp_pull_add(&pull, &e);
}

static void put_numbered(enum mcplug_event_type type, int first, int n)
{
    char text[16];
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%d", first + i);
        put(type, text);
    }
}

/* The next one, which has to be that. */
static void take(enum mcplug_event_type type, int number, uint64_t dropped)
{
    char text[16];
    const struct mcplug_event *e = mp_pull_next(&pull);
    snprintf(text, sizeof text, "%d", number);
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(e->type, type);
    ck_assert_uint_eq(e->struct_size, sizeof *e);
    ck_assert_uint_eq(e->dropped, dropped);
    ck_assert_str_eq(e->server, "s");
    if (type != MCPLUG_EVENT_DONE)
        ck_assert_str_eq(e->text, text);
    else
        ck_assert_uint_eq((uintptr_t)e->arg, (unsigned)number);
}

START_TEST(events_come_in_the_order_in_which_they_happened)
{
    begin_queue();
    ck_assert_ptr_null(mp_pull_next(&pull));
    struct mp_pulled *place = mp_pull_reserve(&pull, "s", (void *)7, NULL);
    put_numbered(MCPLUG_EVENT_REMARK, 1, 2);
    put_numbered(MCPLUG_EVENT_STATE, 3, 1);
    mp_pull_done(place, NULL, NULL, NULL);
    put_numbered(MCPLUG_EVENT_CHANGED, 4, 1);
    put_numbered(MCPLUG_EVENT_STATE, 5, 1);
    take(MCPLUG_EVENT_REMARK, 1, 0);
    take(MCPLUG_EVENT_REMARK, 2, 0);
    take(MCPLUG_EVENT_STATE, 3, 0);
    take(MCPLUG_EVENT_DONE, 7, 0);
    put_numbered(MCPLUG_EVENT_LOG, 6, 1);
    take(MCPLUG_EVENT_CHANGED, 4, 0);
    take(MCPLUG_EVENT_STATE, 5, 0);
    take(MCPLUG_EVENT_LOG, 6, 0);
    ck_assert_ptr_null(mp_pull_next(&pull));
    ck_assert_ptr_null(mp_pull_next(&pull));
    mp_pull_clear(&pull);
}
END_TEST

START_TEST(of_more_than_4096_the_oldest_are_dropped_and_counted)
{
    begin_queue();
    put_numbered(MCPLUG_EVENT_REMARK, 0, 4096);
    take(MCPLUG_EVENT_REMARK, 0, 0);
    put_numbered(MCPLUG_EVENT_REMARK, 4096, 1); /* just fits */
    take(MCPLUG_EVENT_REMARK, 1, 0);
    put_numbered(MCPLUG_EVENT_LOGGED, 5000, 4); /* three too many */
    take(MCPLUG_EVENT_REMARK, 5, 3);
    take(MCPLUG_EVENT_REMARK, 6, 0);
    mp_pull_clear(&pull);
}
END_TEST

START_TEST(states_are_dropped_after_all_else)
{
    begin_queue();
    put_numbered(MCPLUG_EVENT_STATE, 0, 2);
    put_numbered(MCPLUG_EVENT_REMARK, 2, 2);
    put_numbered(MCPLUG_EVENT_STATE, 4, 4092);
    put_numbered(MCPLUG_EVENT_STATE, 9000, 2);  /* in place of the remarks */
    put_numbered(MCPLUG_EVENT_REMARK, 9100, 1); /* is worth less than any of these */
    put_numbered(MCPLUG_EVENT_STATE, 9002, 1);  /* the oldest state goes */
    take(MCPLUG_EVENT_STATE, 1, 1);
    take(MCPLUG_EVENT_STATE, 4, 2);
    for (int i = 5; i < 4096; i++)
        take(MCPLUG_EVENT_STATE, i, 0);
    take(MCPLUG_EVENT_STATE, 9000, 0);
    take(MCPLUG_EVENT_STATE, 9001, 0);
    take(MCPLUG_EVENT_STATE, 9002, 1);
    ck_assert_ptr_null(mp_pull_next(&pull));
    mp_pull_clear(&pull);
}
END_TEST

START_TEST(the_end_of_a_call_has_its_place_whatever_else_comes)
{
    static struct mp_pulled *places[4096];
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    begin_queue();
    put_numbered(MCPLUG_EVENT_STATE, 0, 4096);
    for (size_t i = 0; i < 4096; i++) {
        places[i] = mp_pull_reserve(&pull, "s", (void *)i, &why);
        ck_assert_ptr_nonnull(places[i]);
    }
    ck_assert_ptr_null(mp_pull_next(&pull)); /* all had to go */
    ck_assert_ptr_null(mp_pull_reserve(&pull, "s", NULL, &why));
    ck_assert_int_eq(why.code, MCPLUG_EOVERLOADED);
    ck_assert_ptr_nonnull(strstr(why.text, "4096"));
    put_numbered(MCPLUG_EVENT_STATE, 1, 1);
    for (size_t i = 0; i < 4095; i++)
        mp_pull_done(places[i], NULL, NULL, NULL);
    put_numbered(MCPLUG_EVENT_STATE, 2, 1);
    ck_assert_ptr_null(mp_pull_reserve(&pull, "s", NULL, &why)); /* not pulled yet */
    mp_pull_cancel(places[4095]);
    put_numbered(MCPLUG_EVENT_REMARK, 3, 1);
    take(MCPLUG_EVENT_DONE, 0, 4097);
    for (int i = 1; i < 4095; i++)
        take(MCPLUG_EVENT_DONE, i, 0);
    take(MCPLUG_EVENT_REMARK, 3, 1);
    ck_assert_ptr_null(mp_pull_next(&pull));
    mp_pull_clear(&pull);
}
END_TEST

START_TEST(texts_are_bounded_in_bytes_as_well)
{
    size_t len = MP_PULL_BYTES / 4;
    char *text = malloc(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    begin_queue();
    for (int i = 0; i < 5; i++)
        put(MCPLUG_EVENT_LOGGED, text);
    ck_assert_uint_le(pull.bytes, MP_PULL_BYTES);
    const struct mcplug_event *e = mp_pull_next(&pull);
    ck_assert_uint_eq(e->dropped, 2); /* each has a few bytes more than a quarter */
    ck_assert_uint_eq(e->len, len);
    mp_pull_clear(&pull);
    free(text);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, events_come_in_the_order_in_which_they_happened);
    tcase_add_test(tc, of_more_than_4096_the_oldest_are_dropped_and_counted);
    tcase_add_test(tc, states_are_dropped_after_all_else);
    tcase_add_test(tc, the_end_of_a_call_has_its_place_whatever_else_comes);
    tcase_add_test(tc, texts_are_bounded_in_bytes_as_well);
}

int main(void)
{
    return run_suite("api_pull", add);
}
