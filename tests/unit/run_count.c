/* Tokens of results, counted by the model that gets them. */
#include "run_kit.h"

#include "api/host.h"

#define LIMIT 1000 /* tokens; characters: 2000 are not counted, 16000 are too many */
#define EXACT 3000 /* characters, of which an estimate says that they fit */

static char words[20000];

static void use_type(const char *type)
{
    mcplug_model_free(model);
    model = MODEL(type, "model", "m1");
    ck_assert_msg(model != NULL, "%s", err.text);
    o.model = model;
}

/* A server whose tool `t` answers with so many characters, on a line each. */
static void begin_with(size_t chars)
{
    static char result[sizeof words + 100];
    struct mcplug_server_options so = {.struct_size = sizeof so,
                                       .max_output_tokens = LIMIT};
    size_t n = 0;

    for (; n < chars; n++)
        words[n] = "some words "[n % 11];
    words[n] = '\0';
    snprintf(result, sizeof result, "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]",
             words);
    begin_run();
    use_type("counts");
    put_in("s", SCRIPTED("TOOLS", TOOL("t"), "RESULT", result), &so);
    warm_up();
    SCRIPT({.calls = {{"mcp__s__t", "{}", "u1"}}}, {.text = "Done."});
}

static int on_stored(void *arg, const struct mcplug_stored *one)
{
    (void)one;
    ++*(size_t *)arg;
    return 1;
}

static size_t stored(void) /* files */
{
    size_t n = 0;
    mcplug_stored_each(results, on_stored, &n, NULL);
    return n;
}

static void run_through(void)
{
    run_it();
    RAN("done", "Done.");
}

static void was_whole(void)
{
    PROMPTED(1, words);
    ck_assert_uint_eq(stored(), 0);
}

static void was_stored(void)
{
    PROMPTED(1, "exceeds the limit of 1000 tokens. It was saved whole.");
    ck_assert_uint_eq(stored(), 1);
}

/* ---- what the count decides ---- */

START_TEST(o3_a_run_asks_its_model_once_how_many_tokens_a_long_result_has)
{
    begin_with(EXACT);
    player.count.input = LIMIT + 1;
    run_through();
    was_stored();
    ck_assert_uint_eq(player.counted, 1);
    ck_assert_uint_eq(player.counted_bytes, EXACT + 1);
    ck_assert_uint_eq(player.asked, 2);
    ck_assert_uint_eq(player.dropped, 3);
    ck_assert_uint_eq(ran.usage.input, 0); /* a count is not paid */
    end_run();
}
END_TEST

START_TEST(o3_what_the_model_counts_as_the_limit_is_not_cut)
{
    begin_with(15999); /* more than it by any estimate */
    player.count.input = LIMIT;
    run_through();
    was_whole();
    ck_assert_uint_eq(player.counted, 1);
    end_run();
}
END_TEST

START_TEST(o3_what_is_far_from_the_limit_is_not_counted)
{
    static const struct {
        size_t chars;
        bool is_stored;
        size_t counts;
    } cases[] = {{1999, false, 0}, {2001, true, 1}, {16000, true, 1}, {16001, true, 0}};

    begin_with(cases[_i].chars);
    player.count.input = LIMIT + 1;
    run_through();
    ck_assert_uint_eq(player.counted, cases[_i].counts);
    if (cases[_i].is_stored)
        was_stored();
    else
        was_whole();
    end_run();
}
END_TEST

/* ---- counts that fail ---- */

START_TEST(o3_when_the_count_fails_nothing_is_cut)
{
    static const struct {
        struct script_turn count;
        const char *why;
    } cases[] = {
        {{.code = MCPLUG_EPEER, .status = 500, .why = "HTTP 500"}, "HTTP 500"},
        {{.code = MCPLUG_EOVERLOADED, .flags = MCPLUG_ERROR_RETRY, .why = "too many"},
         "too many"},
        {{.code = MCPLUG_EINVAL, .refuses = true, .why = "not like that"},
         "not like that"},
        {{.text = "Hello", .at_once = true}, "its module told no number"},
    };

    begin_with(15999);
    player.count = cases[_i].count;
    run_through();
    was_whole();
    ck_assert_uint_eq(player.counted, 1); /* and not again */
    LOGGED("WRN core the model \"m1\" did not count the tokens of a result, which is not "
           "cut: ");
    LOGGED(cases[_i].why);
    NOT_TOLD("Hello");
    end_run();
}
END_TEST

START_TEST(o3_a_model_that_cannot_count_is_not_asked_again_and_the_tokens_are_estimated)
{
    begin_with(15999);
    player.count = (struct script_turn){.code = MCPLUG_ENOTSUP, .why = "no such thing"};
    run_through();
    was_stored();
    ck_assert_uint_eq(player.counted, 1);
    player.asked = 0;
    mcplug_thread_say(thread, "again");
    run_through();
    ck_assert_uint_eq(stored(), 2);
    ck_assert_uint_eq(player.counted, 1);
    end_run();
}
END_TEST

START_TEST(o3_without_a_count_in_the_module_the_tokens_are_estimated)
{
    begin_with(_i ? 15999 : EXACT);
    use_type("script");
    run_through();
    ck_assert_uint_eq(player.counted, 0);
    if (_i)
        was_stored();
    else
        was_whole();
    end_run();
}
END_TEST

/* A millisecond a turn, for what has a timer of none. */
#define PASS_UNTIL(condition)                                                            \
    UNTIL((condition) || (mp_loop_advance(host->loop, 1), false))

START_TEST(o3_a_count_has_ten_seconds)
{
    begin_with(15999);
    player.count.hangs = true;
    mp_loop_fake_clock(host->loop);
    start_run();
    PASS_UNTIL(player.counted);
    mp_loop_advance(host->loop, MP_COUNT_MS - 1);
    turn();
    ck_assert_uint_eq(player.dropped, 1);
    mp_loop_advance(host->loop, 1);
    UNTIL(player.dropped > 1); /* the count, too */
    PASS_UNTIL(ran.times);
    await_run();
    RAN("done", "Done.");
    was_whole();
    LOGGED("no answer within 10 s");
    end_run();
}
END_TEST

/* ---- the end of it ---- */

START_TEST(cancelling_a_run_drops_the_count)
{
    begin_with(EXACT);
    player.count.hangs = true;
    start_run();
    UNTIL(player.counted);
    mcplug_cancel(run_call);
    await_run();
    FAILED(MCPLUG_ECANCELED, "cancelled");
    ck_assert_uint_eq(player.dropped, 2);
    ck_assert_uint_eq(stored(), 0);
    end_run();
}
END_TEST

START_TEST(a_host_can_be_freed_while_a_result_is_counted)
{
    begin_with(EXACT);
    player.count.hangs = true;
    start_run();
    UNTIL(player.counted);
    mcplug_free(mp_move(&host));
    ck_assert_uint_eq(ran.times, 1);
    ck_assert_int_eq(ran.code, MCPLUG_ECANCELED);
    mcplug_model_free(model);
    mcplug_thread_free(thread);
    ck_assert_uint_eq(player.opened, player.closed);
    script_clear();
}
END_TEST

/* ---- mcplug_render() ---- */

static struct {
    unsigned times;
    int code;
    struct mcplug_rendering_info info;
} rendered;

static void on_rendering(void *arg, mcplug_call *call, const mcplug_rendering *content,
                         const struct mcplug_error *why)
{
    (void)arg, (void)call;
    rendered.times++;
    rendered.code = why ? why->code : MCPLUG_OK;
    rendered.info.struct_size = sizeof rendered.info;
    mcplug_rendering_info(content, &rendered.info);
}

static mcplug_result *got;
static void on_result(void *arg, mcplug_call *call, mcplug_result *result,
                      const struct mcplug_error *why)
{
    (void)arg, (void)call;
    ck_assert_msg(!why, "%s", why ? why->text : "");
    got = mcplug_result_ref(result);
}

static struct mcplug_render_options ro;

static void begin_render(void)
{
    begin_with(EXACT);
    got = NULL;
    rendered.times = 0;
    ro = (struct mcplug_render_options){
        .struct_size = sizeof ro, .max_tokens = LIMIT, .no_files = 1, .model = model};
    mcplug_call_tool(mcplug_toolbox_server(box, "s"), "t", NULL, NULL, on_result, NULL,
                     &err);
    UNTIL(got);
}

static mcplug_call *start_render(void)
{
    mcplug_call *call = mcplug_render(host, got, &ro, on_rendering, NULL, &err);
    ck_assert_msg(call != NULL, "%s", err.text);
    return call;
}

static void end_render(void)
{
    mcplug_result_unref(got);
    end_run();
}

START_TEST(a_program_can_give_a_model_that_counts)
{
    begin_render();
    player.count.input = _i ? LIMIT : LIMIT + 1;
    start_render();
    UNTIL(rendered.times);
    ck_assert_int_eq(rendered.code, MCPLUG_OK);
    ck_assert_uint_eq(rendered.info.is_cut, !_i);
    ck_assert_uint_eq(player.counted, 1);
    end_render();
}
END_TEST

START_TEST(the_model_may_be_freed_while_it_counts)
{
    begin_render();
    player.count.input = LIMIT + 1;
    start_render();
    mcplug_model_free(model);
    model = NULL;
    UNTIL(rendered.times);
    ck_assert_uint_eq(rendered.info.is_cut, 1);
    end_render();
}
END_TEST

START_TEST(cancelling_a_rendering_drops_the_count)
{
    begin_render();
    player.count.hangs = true;
    mcplug_call *call = start_render();
    UNTIL(player.counted);
    mcplug_cancel(call);
    ck_assert_uint_eq(rendered.times, 0);
    UNTIL(rendered.times);
    ck_assert_int_eq(rendered.code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(player.dropped, 1);
    end_render();
}
END_TEST

static int64_t count_one(void *arg, const char *text, size_t len)
{
    (void)arg, (void)text, (void)len;
    return 1;
}

START_TEST(what_the_program_counts_itself_goes_before)
{
    begin_render();
    player.count.input = LIMIT + 1;
    ro.count = count_one;
    start_render();
    UNTIL(rendered.times);
    ck_assert_uint_eq(rendered.info.is_cut, 0);
    ck_assert_uint_eq(player.counted, 0);
    end_render();
}
END_TEST

START_TEST(a_model_of_another_host_is_refused)
{
    struct mcplug_options other = {.struct_size = sizeof other, .plugins = modules};

    begin_render();
    mcplug *two = mcplug_new(&other, &err);
    ck_assert_ptr_nonnull(two);
    ck_assert_ptr_null(mcplug_render(two, got, &ro, on_rendering, NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "`model` is of another host");
    mcplug_free(two);
    end_render();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, o3_a_run_asks_its_model_once_how_many_tokens_a_long_result_has);
    tcase_add_test(tc, o3_what_the_model_counts_as_the_limit_is_not_cut);
    tcase_add_loop_test(tc, o3_what_is_far_from_the_limit_is_not_counted, 0, 4);
    tcase_add_loop_test(tc, o3_when_the_count_fails_nothing_is_cut, 0, 4);
    tcase_add_test(
        tc, o3_a_model_that_cannot_count_is_not_asked_again_and_the_tokens_are_estimated);
    tcase_add_loop_test(tc, o3_without_a_count_in_the_module_the_tokens_are_estimated, 0,
                        2);
    tcase_add_test(tc, o3_a_count_has_ten_seconds);
    tcase_add_test(tc, cancelling_a_run_drops_the_count);
    tcase_add_test(tc, a_host_can_be_freed_while_a_result_is_counted);
    tcase_add_loop_test(tc, a_program_can_give_a_model_that_counts, 0, 2);
    tcase_add_test(tc, the_model_may_be_freed_while_it_counts);
    tcase_add_test(tc, cancelling_a_rendering_drops_the_count);
    tcase_add_test(tc, what_the_program_counts_itself_goes_before);
    tcase_add_test(tc, a_model_of_another_host_is_refused);
}

int main(void)
{
    return run_suite("run_count", add);
}
