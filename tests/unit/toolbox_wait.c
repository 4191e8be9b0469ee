/* The blocking forms of a toolbox, and records that outlive it. */
#include "api/host.h"
#include "box_kit.h"

#include <pthread.h>

#define RESULT_OK "RESULT", "\"content\":[{\"type\":\"text\",\"text\":\"done\"}]"

static const struct mcplug_record *call_wait(const char *name, const char *arguments)
{
    const struct mcplug_record *record = NULL;
    int r = mcplug_toolbox_call_wait(box, name, arguments, NULL, &record, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_ptr_nonnull(record);
    return record;
}

/* _i: 1 with the loop on a thread of the library */
START_TEST(a_toolbox_is_used_without_a_callback)
{
    size_t ready = 7, failed = 7;

    begin(NULL);
    put_in("good", SCRIPTED("TOOLS", TOOL("a"), RESULT_OK), NULL);
    put_in("lame", SCRIPTED("FIRST", "exit 1"), NULL);
    if (_i)
        ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_toolbox_warm_up_wait(box, &ready, &failed, &err), MCPLUG_OK);
    ck_assert_uint_eq(ready, 1);
    ck_assert_uint_eq(failed, 1);
    ck_assert_int_eq(mcplug_toolbox_warm_up_wait(box, NULL, NULL, NULL), MCPLUG_OK);
    const struct mcplug_record *record = call_wait("mcp__good__a", "{}");
    ck_assert(record->ok);
    ck_assert_str_eq(record->result, "done");
    mcplug_record_unref(record);
    ck_assert_int_eq(
        mcplug_toolbox_call_wait(box, "mcp__good__a", "{}", NULL, NULL, NULL), MCPLUG_OK);
    mcplug_toolbox_free_wait(box);
    ck_assert_ptr_null(host->boxes);
    end();
}
END_TEST

START_TEST(a_tool_that_fails_has_a_record_and_a_call_that_is_refused_has_none)
{
    const struct mcplug_record *record = NULL;

    begin(NULL);
    put_in("s", SCRIPTED("TOOLS", TOOL("bad") "," TOOL("die")), NULL);
    ck_assert_int_eq(mcplug_toolbox_warm_up_wait(box, NULL, NULL, &err), MCPLUG_OK);
    record = call_wait("mcp__s__bad", NULL);
    ck_assert(!record->ok);
    ck_assert_ptr_null(record->why);
    ck_assert_str_eq(record->result, "no luck");
    mcplug_record_unref(record);
    record = call_wait("mcp__s__die", NULL);
    ck_assert(!record->ok);
    ck_assert_ptr_nonnull(record->why);
    ck_assert_ptr_eq(record->result, record->why->text);
    mcplug_record_unref(record);
    record = NULL;
    ck_assert_int_eq(mcplug_toolbox_call_wait(box, "nope", NULL, NULL, &record, &err),
                     MCPLUG_ENOTSUP);
    ck_assert_ptr_null(record);
    ck_assert_ptr_nonnull(strstr(err.text, "nope"));
    end();
}
END_TEST

static const struct mcplug_record *kept[3];
static unsigned n_kept;

static void keep(void *arg, mcplug_call *call, const struct mcplug_record *record)
{
    (void)arg, (void)call;
    ck_assert_ptr_eq(mcplug_record_ref(record), record);
    kept[n_kept++] = record;
}

static void *drop(void *arg)
{
    mcplug_record_unref(arg);
    return NULL;
}

START_TEST(a_record_outlives_its_toolbox_and_its_host)
{
    pthread_t thread;

    begin(NULL);
    put_in("serena",
           SCRIPTED("TOOLS", TOOL("a") "," TOOL("bad") "," TOOL("hang"), RESULT_OK),
           NULL);
    ck_assert_int_eq(mcplug_toolbox_warm_up_wait(box, NULL, NULL, &err), MCPLUG_OK);
    n_kept = 0;
    ck_assert_ptr_nonnull(
        mcplug_toolbox_call(box, "mcp__serena__a", NULL, NULL, keep, NULL, &err));
    UNTIL(n_kept == 1);
    ck_assert_ptr_nonnull(
        mcplug_toolbox_call(box, "mcp__serena__bad", NULL, NULL, keep, NULL, &err));
    UNTIL(n_kept == 2);
    ck_assert_ptr_nonnull(
        mcplug_toolbox_call(box, "mcp__serena__hang", NULL, NULL, keep, NULL, &err));
    mcplug_toolbox_free_wait(box);
    ck_assert_uint_eq(n_kept, 3);
    end();
    ck_assert(kept[0]->ok);
    ck_assert_str_eq(kept[0]->result, "done");
    ck_assert_str_eq(kept[0]->name_space, "serena");
    ck_assert_str_eq(kept[0]->server, "serena");
    ck_assert_str_eq(kept[0]->tool, "a");
    ck_assert_str_eq(kept[0]->code_index, "serena");
    ck_assert_ptr_nonnull(strstr(mcplug_record_json(kept[0]), "\"result\":\"done\""));
    ck_assert_str_eq(kept[1]->result, "no luck");
    ck_assert_int_eq(kept[2]->why->code, MCPLUG_ECANCELED);
    pthread_create(&thread, NULL, drop, (void *)kept[0]);
    pthread_join(thread, NULL);
    mcplug_record_unref(kept[1]);
    mcplug_record_unref(kept[2]);
    mcplug_record_unref(NULL);
    ck_assert_ptr_null(mcplug_record_ref(NULL));
}
END_TEST

static void try_to_wait(void *arg)
{
    bool *done = arg;
    const struct mcplug_record *record = NULL;

    ck_assert_int_eq(mcplug_toolbox_warm_up_wait(box, NULL, NULL, &err), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_toolbox_call_wait(box, "x", NULL, NULL, &record, &err),
                     MCPLUG_EINVAL);
    ck_assert_ptr_null(record);
    mcplug_toolbox_free_wait(box); /* only begins */
    *done = true;
}

START_TEST(inside_a_callback_nothing_waits)
{
    bool done = false;

    begin(NULL);
    put_in("s", SCRIPTED("TOOLS", TOOL("a")), NULL);
    mcplug_post(host, try_to_wait, &done);
    UNTIL(done);
    UNTIL(!host->boxes);
    mcplug_toolbox_free_wait(NULL);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, a_toolbox_is_used_without_a_callback, 0, 2);
    tcase_add_test(tc,
                   a_tool_that_fails_has_a_record_and_a_call_that_is_refused_has_none);
    tcase_add_test(tc, a_record_outlives_its_toolbox_and_its_host);
    tcase_add_test(tc, inside_a_callback_nothing_waits);
}

int main(void)
{
    return run_suite("toolbox_wait", add);
}
