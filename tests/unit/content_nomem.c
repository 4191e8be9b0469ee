/* Paths and summaries, without memory. */
#include "nomem_kit.h"

#include "content/path.h"
#include "content/summary.h"

static int count_bytes(void *arg, const char *data, size_t len)
{
    (void)data;
    *(size_t *)arg += len;
    return 1;
}

static void select_part(void)
{
    static const char json[] = "{\"items\":[{\"a\\u0062\":1},{\"ab\":[2]}]}";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_path *path = NULL;
    struct mp_select *s = NULL;
    size_t bytes = 0;

    int r = mp_path_parse(".items[1:][\"a\\u0062\"]", &path, &err);
    if (r == MCPLUG_OK)
        s = mp_select_new(path, count_bytes, &bytes);
    if (s) {
        ck_assert_int_eq(mp_select_feed(s, json, strlen(json), NULL, &err), MCPLUG_OK);
        ck_assert_int_eq(mp_select_end(s, &err), MCPLUG_OK);
        ck_assert_uint_eq(bytes, 4);
    } else if (r != MCPLUG_OK) {
        ck_assert_int_eq(r, MCPLUG_ENOMEM);
        ck_assert_int_eq(err.code, MCPLUG_ENOMEM);
        ck_assert_ptr_null(path);
    }
    ck_assert_msg(s || calls >= fail_at, "%s", when());
    mp_select_free(s);
    mp_path_free(path);
}

START_TEST(a_path_without_memory_is_an_error)
{
    torture(NULL, select_part, NULL);
}
END_TEST

static void summarise(void)
{
    struct mp_summary *s = mp_summary_new();
    struct mp_str out;

    mp_str_init(&out, 10000);
    if (s) {
        for (int i = 0; i < 100; i++)
            mp_summary_feed(s, i ? ",{\"a\":\"\\n\"}" : "[[1]", i ? 11 : 4);
        mp_summary_feed(s, "]", 1);
        mp_summary_end(s, false);
        ck_assert(mp_summary_is_json(s));
        if (mp_summary_add(s, &out))
            ck_assert_str_eq(out.data, "[100 × {a: string (\"\\n\")} | [1 × integer 1]]");
        else
            ck_assert_uint_eq(out.len, 0);
    }
    mp_summary_free(s);
    mp_str_clear(&out);
}

START_TEST(a_summary_without_memory_is_none)
{
    torture(NULL, summarise, NULL);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_path_without_memory_is_an_error);
    tcase_add_test(tc, a_summary_without_memory_is_none);
}

int main(void)
{
    return run_suite("content_nomem", add);
}
