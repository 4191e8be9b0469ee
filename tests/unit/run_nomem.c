/* Runs without memory: each goes on, or ends and says why; and its thread is one that can
 * be run once there is memory again. */
#include "nomem_kit.h"

#include "run_kit.h"

#include "json/walk.h"

static const struct script_turn turns[] = {
    {.thought = "Hm. ",
     .text = "Let me see. ",
     .calls = {{"now", "{\"a\":1}", "u1"},
               {"json", "{}", NULL},
               {"nix", "{}", "u3"},
               {"now", "{\"a\":", "u4"},
               {"search_tools", "{\"query\":\"echo add\"}", "u5"}},
     .raw = "[{\"type\":\"text\"}]",
     .input = 10,
     .output = 5},
    {.text = "And then ", .raw = "[1]", .stop = MCPLUG_STOP_PAUSED},
    {.text = "on. ", .calls = {{"now", "{\"b\":2}", NULL}}, .raw = "[2]"},
    {.text = "Done.", .raw = "[3]"},
};

static void begin_small(const char *type)
{
    begin_run();
    mcplug_model_free(model);
    model = MODEL(type, "model", "m1", "contextTokens", "1000");
    ck_assert_msg(model != NULL, "%s", err.text);
    o.model = model;
    o.system = "Be brief.";
    o.max_ms = 3600000;
}

/* ---- whole runs ---- */

static void new_thread(void)
{
    mcplug_thread_free(thread);
    thread = mcplug_thread_new();
    mcplug_thread_say(thread, "hi");
    player.asked = 0;
    told[0] = '\0';
}

static void try_run(void)
{
    memset(&ran, 0, sizeof ran);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    run_call = mcplug_thread_run(thread, &o, on_done, &ran, &err);
    if (run_call)
        UNTIL(ran.times);
    else
        ck_assert_msg(err.code == MCPLUG_ENOMEM && *err.text, "%s: %d %s", when(),
                      err.code, err.text);
    if (run_call && !ran.ok)
        ck_assert_msg(ran.code == MCPLUG_ENOMEM, "%s: %d %s", when(), ran.code, ran.why);
    ck_assert_uint_eq(ran.freed, run_call != NULL);
}

static unsigned n_done;

/* Whatever came of it, the thread can be run again. */
static void run_again(void)
{
    bool was_ok = run_call && ran.ok;

    if (was_ok) {
        n_done++;
        RAN("done", "Done.");
        check_order(false);
    }
    SCRIPT({.text = "Well."});
    mcplug_thread_say(thread, "again");
    run_it();
    RAN("done", "Well.");
    script_begin(turns, MP_COUNT(turns));
}

START_TEST(a_run_without_memory_ends_and_leaves_its_thread_in_order)
{
    begin_small("script");
    put_in("ex", example(NULL), NULL);
    warm_up();
    o.tools = TOOLS(OWN("now", reply_now, .description = "Answers"),
                    OWN("json", json_now, .arg = (void *)(uintptr_t) "{\"a\":[1,{}]}"));
    script_begin(turns, MP_COUNT(turns));
    n_done = 0;
    torture(new_thread, try_run, run_again);
    ck_assert_uint_ge(n_done, 2); /* the last of each */
    end_run();
}
END_TEST

static const struct script_turn with_server[] = {
    {.calls = {{"mcp__ex__echo", "{\"text\":\"long enough to be counted\"}", "u1"},
               {"mcp__ex__fail", "{\"message\":\"y\"}", "u2"}}},
    {.text = "Done."},
};

/* Once: a server without any memory would not answer for a long time. */
START_TEST(so_does_one_with_a_server_whose_result_is_counted)
{
    const struct mcplug_server_options so = {.struct_size = sizeof so,
                                             .max_output_tokens = 10};
    unsigned long needed;
    size_t n_counted = 0;

    begin_small("counts");
    put_in("ex", example(NULL), &so);
    warm_up();
    unsigned long n = 0;
    do {
        script_begin(with_server, MP_COUNT(with_server));
        player.count.input = 10;
        new_thread();
        forever = false;
        calls = 0;
        fail_at = ++n;
        try_run();
        needed = calls;
        fail_at = 0;
        n_counted += player.counted;
        SCRIPT({.text = "Well."});
        mcplug_thread_say(thread, "again");
        run_it();
        RAN("done", "Well.");
        ck_assert_uint_lt(n, 100000);
    } while (needed >= n);
    ck_assert_uint_gt(n, 100);
    ck_assert_uint_gt(n_counted, 10);
    end_run();
}
END_TEST

/* ---- threads ---- */

static char *text;

static void try_parse(void)
{
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    mcplug_thread *t = mcplug_thread_parse(text, strlen(text), &err);
    if (!t) {
        ck_assert_msg(err.code == MCPLUG_ENOMEM, "%s: %s", when(), err.text);
        return;
    }
    const char *again = mcplug_thread_json(t, NULL);
    ck_assert_msg(!again || strcmp(again, text) == 0, "%s: %s", when(), again);
    struct mcplug_item item = {
        .struct_size = sizeof item, .kind = MCPLUG_ITEM_TEXT, .text = mp_text("more")};
    size_t n = mcplug_thread_count(t);
    int r = mcplug_thread_add(t, &item, &err);
    ck_assert(r == MCPLUG_OK || r == MCPLUG_ENOMEM);
    ck_assert_uint_eq(mcplug_thread_count(t), n + (r == MCPLUG_OK));
    r = mcplug_thread_answer(t, "u9", "yes", &err);
    ck_assert(r == MCPLUG_OK || r == MCPLUG_ENOMEM);
    mcplug_thread_free(t);
}

START_TEST(a_thread_is_read_or_is_not)
{
    text = strdup(json(
        "{'messages':[\n{'role':'user','content':[{'type':'text','text':'Go'},"
        "{'type':'document','data':'AAAA','mimeType':'application/pdf','name':'n'}]},\n"
        "{'role':'assistant','content':[{'type':'tool_use','id':'a','name':'x','input':{}"
        "}],'raw':{'type':'t','model':'m','turn':[1]}},\n"
        "{'role':'user','content':[{'type':'tool_result','toolUseId':'a','name':'x',"
        "'isError':true,'content':[{'type':'text','text':'1'},{'type':'image',"
        "'data':'AAAA','mimeType':'image/png'}]}]},\n"
        "{'role':'assistant','content':[{'type':'tool_use','id':'u9','name':'y',"
        "'input':{}}]}\n]}\n"));
    torture(NULL, try_parse, NULL);
    free(text);
}
END_TEST

/* ---- models ---- */

static mcplug_settings *settings;

static void try_model(void)
{
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    mcplug_model *m = mcplug_model_new(host, settings, &err);
    if (!m)
        ck_assert_msg(err.code == MCPLUG_ENOMEM, "%s: %s", when(), err.text);
    mcplug_model_free(m);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    m = mcplug_model_new_named(host, NULL, "script/m1", settings, &err);
    if (!m)
        ck_assert_msg(err.code == MCPLUG_ENOMEM, "%s: %s", when(), err.text);
    mcplug_model_free(m);
}

START_TEST(a_model_is_made_or_is_not)
{
    begin_run();
    settings = mcplug_settings_new("script");
    mcplug_settings_set(settings, "model", "m1");
    mcplug_settings_set(settings, "priceInput", "1.5");
    torture(NULL, try_model, NULL);
    mcplug_settings_free(settings);
    end_run();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_test(tc, a_run_without_memory_ends_and_leaves_its_thread_in_order);
    tcase_add_test(tc, so_does_one_with_a_server_whose_result_is_counted);
    tcase_add_test(tc, a_thread_is_read_or_is_not);
    tcase_add_test(tc, a_model_is_made_or_is_not);
}

int main(void)
{
    return run_suite("run_nomem", add);
}
