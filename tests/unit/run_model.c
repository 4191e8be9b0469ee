/* What a model says, and asking it again. */
#include "quick.h"
#include "run_kit.h"

/* ---- pieces ---- */

START_TEST(characters_that_come_in_pieces_are_told_whole)
{
    static const char *const pieces[] = {"a\xc3", "\xa9",     "\xe2\x82", "\xac",
                                         "\xf0",  "\x9f\x98", "\x80z",    NULL};
    begin_run();
    SCRIPT({.pieces = pieces});
    run_it();
    RAN("done", "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
    ck_assert_str_eq(told, "text a\ntext \xc3\xa9\ntext \xe2\x82\xac\n"
                           "text \xf0\x9f\x98\x80z\nstep 1 0/0\n");
    end_run();
}
END_TEST

START_TEST(so_are_those_of_thoughts)
{
    static const char *const pieces[] = {"\1h\xc3",    "\1\xa9 ", "\1\xe2",
                                         "\1\x82\xac", "So.",     NULL};
    begin_run();
    SCRIPT({.pieces = pieces}, {.text = "x"});
    run_it();
    RAN("done", "So."); /* thoughts are no part of it */
    ck_assert_str_eq(told, "thought h\nthought \xc3\xa9 \nthought \xe2\x82\xac\n"
                           "text So.\nstep 1 0/0\n");
    ck_assert_ptr_null(strstr(mcplug_thread_json(thread, NULL), "\xe2\x82\xac"));
    end_run();
}
END_TEST

/* ---- asking again ---- */

#define OVERLOADED                                                                       \
    .code = MCPLUG_EOVERLOADED, .status = 529, .flags = MCPLUG_ERROR_RETRY,              \
    .why = "overloaded"

START_TEST(the_model_is_asked_again_by_the_apis_word)
{
    begin_run();
    SCRIPT({OVERLOADED, .retry_after = 1}, {OVERLOADED, .retry_after = 6},
           {.text = "Hello."});
    run_it();
    RAN("done", "Hello.");
    ASKED_FOR(3);
    ck_assert_uint_eq(ran.result.steps, 1);
    ck_assert_uint_eq(retry_ms, 5);
    ck_assert_str_eq(told,
                     "retry overloaded\nretry overloaded\ntext Hello.\nstep 1 0/0\n");
    LOGGED("WRN core the model is asked again in 5 ms: overloaded\n");
    end_run();
}
END_TEST

START_TEST(the_model_is_asked_twice_again_and_no_more)
{
    begin_run();
    SCRIPT({OVERLOADED, .retry_after = 1});
    run_it();
    FAILED(MCPLUG_EOVERLOADED, "overloaded");
    ASKED_FOR(1 + MP_MODEL_RETRIES);
    run_it(); /* and the thread can be run again */
    FAILED(MCPLUG_EOVERLOADED, "overloaded");
    end_run();
}
END_TEST

START_TEST(without_a_word_of_the_api_the_wait_is_half_a_second_or_less)
{
    begin_run();
    SCRIPT({OVERLOADED});
    start_run();
    cancel_at = "retry";
    await_run();
    ck_assert_uint_ge(retry_ms, 375);
    ck_assert_uint_le(retry_ms, 500);
    end_run();
}
END_TEST

static const struct script_turn never[] = {
    {OVERLOADED, .retry_after = 1, .text = "Well"},
    {OVERLOADED, .retry_after = 1, .thought = "Hm"},
    {OVERLOADED, .retry_after = 1, .calls = {{"x", "{}", NULL}}},
    {OVERLOADED, .retry_after = 120002}, /* longer than anybody waits */
    {.code = MCPLUG_EOVERLOADED, .why = "overloaded", .retry_after = 1},
};

START_TEST(the_model_is_not_asked_again_after_it_said_something_or_for_other_reasons)
{
    begin_run();
    script_begin(&never[_i], 1);
    run_it();
    FAILED(MCPLUG_EOVERLOADED, "overloaded");
    ASKED_FOR(1);
    NOT_TOLD("retry");
    ck_assert_uint_eq(mcplug_thread_count(thread), _i == 0 ? 2 : 1); /* text alone */
    end_run();
}
END_TEST

START_TEST(a_request_that_cannot_be_made_again_says_why)
{
    begin_run();
    SCRIPT({OVERLOADED, .retry_after = 1},
           {.refuses = true, .code = MCPLUG_EIO, .why = "no network"});
    run_it();
    FAILED(MCPLUG_EIO, "no network");
    ASKED_FOR(2);
    ck_assert_uint_eq(player.dropped, 1);
    end_run();
}
END_TEST

START_TEST(what_a_request_told_before_it_failed_is_forgotten)
{
    begin_run();
    SCRIPT({OVERLOADED, .retry_after = 1, .raw = "[1]", .input = 100, .output = 100},
           {.text = "Hello."}, {.text = "Again."});
    run_it();
    RAN("done", "Hello.");
    ck_assert_uint_eq(ran.usage.input + ran.usage.output, 0);
    mcplug_thread_say(thread, "more");
    run_it();
    PROMPTED(2, "U 'hi'\nA 'Hello.'\nU 'more'\n");
    end_run();
}
END_TEST

/* ---- turns as the API wrote them ---- */

static void say_and_run_with(const char *type, const char *name)
{
    mcplug_model *m = MODEL(type, "model", name);
    ck_assert_ptr_nonnull(m);
    o.model = m;
    mcplug_thread_say(thread, "more");
    run_it();
    o.model = model;
    mcplug_model_free(m);
}

START_TEST(raw_turns_go_back_to_the_same_type_and_model_alone)
{
    begin_run();
    SCRIPT({.text = "One.", .raw = "[ {\"n\" : 1.0} ]"}, {.text = "x"});
    run_it();
    char *json = strdup(mcplug_thread_json(thread, NULL));
    static const struct {
        const char *type, *model;
        bool raw;
    } asked[] = {{"script", "m1", true},
                 {"script", "m2", false},
                 {"other", "m1", false},
                 {"script", "m1", true}};
    for (size_t i = 0; i < MP_COUNT(asked); i++) {
        mcplug_thread_free(thread);
        thread = mcplug_thread_parse(json, strlen(json), &err);
        say_and_run_with(asked[i].type, asked[i].model);
        PROMPTED(1 + i, asked[i].raw ? "A 'One.' raw([ {\"n\" : 1.0} ])\nU 'more'\n"
                                     : "A 'One.'\nU 'more'\n");
    }
    free(json);
    end_run();
}
END_TEST

START_TEST(raw_turns_go_back_within_a_run)
{
    begin_run();
    SCRIPT({.calls = {{"x", "{}", "u"}}, .raw = "{\"a\":1}"}, {.text = "Done."});
    run_it();
    PROMPTED(1, "A use(u,x,{}) raw({\"a\":1})\nU failed(u,x ");
    end_run();
}
END_TEST

START_TEST(a_raw_turn_that_is_no_json_is_not_kept)
{
    char deep[2 * MP_THREAD_DEPTH + 3] = "";
    memset(deep, '[', MP_THREAD_DEPTH + 1);
    memset(deep + MP_THREAD_DEPTH + 1, ']', MP_THREAD_DEPTH + 1);
    const char *const wrong[] = {"{", "nothing", "[] []", deep};
    begin_run();
    SCRIPT({.text = "One.", .raw = wrong[_i]}, {.text = "Two."});
    run_it();
    RAN("done", "One.");
    LOGGED("WRN core the raw turn of the model \"m1\" is no JSON, and is not kept\n");
    mcplug_thread_say(thread, "more");
    run_it();
    PROMPTED(1, "A 'One.'\nU 'more'\n");
    end_run();
}
END_TEST

/* ---- pauses ---- */

static const struct {
    const char *first, *second, *joined;
} raws[] = {
    {"[{\"a\":1}]", "[{\"b\":2},3]", " raw([{\"a\":1},{\"b\":2},3])"},
    {"[]", " [1] ", " raw([1])"},
    {"[1]", "[]", " raw([1])"},
    {"{\"a\":1}", "[1]", ""}, /* cannot be joined */
    {"[1]", NULL, ""},
    {NULL, "[1]", ""},
};

START_TEST(a_model_that_pauses_gets_its_turn_back_and_goes_on)
{
    char want[256];
    begin_run();
    o.tools = TOOLS(OWN("t", reply_now));
    SCRIPT({.text = "One, ", .raw = raws[_i].first, .stop = MCPLUG_STOP_PAUSED},
           {.text = "two.", .calls = {{"t", "{}", "u"}}, .raw = raws[_i].second},
           {.text = "A, ", .stop = MCPLUG_STOP_PAUSED}, {.text = "B."});
    run_it();
    RAN("done", "A, B."); /* of the last turn */
    snprintf(want, sizeof want, "U 'hi'\nA 'One, '%s%s%s\n",
             raws[_i].first ? " raw(" : "", raws[_i].first ? raws[_i].first : "",
             raws[_i].first ? ")" : "");
    PROMPTED(1, want);
    snprintf(want, sizeof want, "U 'hi'\nA 'One, ' 'two.' use(u,t,{})%s\nU ok(u,t '{}')",
             raws[_i].joined);
    PROMPTED(2, want);
    ck_assert_uint_eq(mcplug_thread_count(thread), 4);
    end_run();
}
END_TEST

START_TEST(an_answer_without_text_has_none_of_the_one_before)
{
    begin_run();
    SCRIPT({.text = "Let me see.", .calls = {{"x", "{}", NULL}}}, {.text = NULL});
    run_it();
    RAN("done", "");
    end_run();
}
END_TEST

START_TEST(a_model_that_says_nothing_after_a_pause_has_said_all)
{
    begin_run();
    SCRIPT({.text = "One.", .raw = "[1]", .stop = MCPLUG_STOP_PAUSED}, {.text = NULL},
           {.text = "More."});
    run_it();
    RAN("done", "One.");
    mcplug_thread_say(thread, "more");
    run_it();
    PROMPTED(2, "U 'hi'\nA 'One.' raw([1])\nU 'more'\n");
    end_run();
}
END_TEST

START_TEST(pauses_are_steps)
{
    begin_run();
    o.max_steps = 5;
    SCRIPT({.stop = MCPLUG_STOP_PAUSED});
    run_it();
    RAN("steps", "");
    ASKED_FOR(5);
    end_run();
}
END_TEST

START_TEST(an_answer_that_was_cut_off_in_a_call_goes_on)
{
    begin_run();
    o.tools = TOOLS(OWN("t", reply_now));
    SCRIPT({.calls = {{"t", "{\"a\":", "u"}}, .stop = MCPLUG_STOP_LENGTH},
           {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "failed(u,t 'The arguments of this call are not a JSON object: ");
    end_run();
}
END_TEST

/* ---- bounds ---- */

static char *long_text(char c, size_t len)
{
    char *text = malloc(len + 1);
    memset(text, c, len);
    text[len] = '\0';
    return text;
}

static void on_long_done(void *arg, mcplug_call *call, const struct mcplug_run_result *r,
                         const struct mcplug_error *why)
{
    (void)arg, (void)call;
    ran.times++;
    ran.ok = r != NULL;
    ran.result.len = r ? r->len : 0;
    if (why)
        on_done(&ran, run_call, NULL, why);
}

static void run_long(void)
{
    memset(&ran, 0, sizeof ran);
    o.event = NULL;
    mcplug_thread_free(thread);
    thread = mcplug_thread_new();
    mcplug_thread_say(thread, "hi");
    run_call = mcplug_thread_run(thread, &o, on_long_done, &ran, &err);
    UNTIL(ran.times);
}

/* _i: the text; arguments of two calls */
START_TEST(an_answer_has_so_many_bytes_and_not_one_more)
{
    static const char words[] = "the answer of the model has more than 64 MiB or 1024 "
                                "calls";
    char *one = long_text(' ', MP_ANSWER_BYTES), *more = long_text(' ', 1);
    const char *const fits[] = {one, NULL}, *const does_not[] = {one, more, NULL};
    if (!is_slow()) {
        begin_run();
        player.forgets = true;
        char *half = strdup(one + MP_ANSWER_BYTES / 2 + 1);
        if (_i == 0)
            SCRIPT({.pieces = fits}, {.pieces = does_not});
        else
            SCRIPT({.calls = {{"x", half, NULL}, {"x", half, NULL}},
                    .stop = MCPLUG_STOP_REFUSED},
                   {.calls = {{"x", one, NULL}, {"x", half, NULL}}});
        run_long();
        ck_assert_msg(ran.ok, "%s", ran.why);
        ck_assert_uint_eq(ran.result.len, _i == 0 ? MP_ANSWER_BYTES : 0);
        run_long();
        FAILED(MCPLUG_ETOOBIG, words);
        ck_assert_uint_eq(mcplug_thread_count(thread), 1);
        free(half);
        end_run();
    }
    free(one);
    free(more);
}
END_TEST

/* ---- by name ---- */

START_TEST(a_type_and_a_name_are_a_model_without_a_configuration)
{
    static const struct {
        const char *name;
        int code;
        const char *why;
    } wrong[] = {
        {"/m1", MCPLUG_EINVAL, "expected TYPE/NAME, got \"/m1\""},
        {"script/", MCPLUG_EINVAL, "expected TYPE/NAME, got \"script/\""},
        {"script", MCPLUG_EINVAL, NULL}, /* a name, and no configuration */
        {"nix/m1", MCPLUG_ENOTSUP, NULL},
    };
    mcplug_settings *price = mcplug_settings_new(NULL);

    begin_run();
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        ck_assert_ptr_null(mcplug_model_new_named(host, NULL, wrong[i].name, NULL, &err));
        ck_assert_int_eq(err.code, wrong[i].code);
        if (wrong[i].why)
            ck_assert_str_eq(err.text, wrong[i].why);
    }
    mcplug_settings_set(price, "priceInput", "3");
    mcplug_settings_set(price, "priceOutput", "15");
    mcplug_model_free(model);
    o.model = model = mcplug_model_new_named(host, NULL, "script/org/m2", price, &err);
    mcplug_settings_free(price);
    ck_assert_msg(model != NULL, "%s", err.text);
    ck_assert_str_eq(model->name, "org/m2");
    SCRIPT({.text = "Hello", .input = 1000000, .output = 1000000});
    run_it();
    ck_assert(ran.result.cost > 17.9 && ran.result.cost < 18.1);
    end_run();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_type_and_a_name_are_a_model_without_a_configuration);
    tcase_add_test(tc, characters_that_come_in_pieces_are_told_whole);
    tcase_add_test(tc, so_are_those_of_thoughts);
    tcase_add_test(tc, the_model_is_asked_again_by_the_apis_word);
    tcase_add_test(tc, the_model_is_asked_twice_again_and_no_more);
    tcase_add_test(tc, without_a_word_of_the_api_the_wait_is_half_a_second_or_less);
    tcase_add_loop_test(
        tc, the_model_is_not_asked_again_after_it_said_something_or_for_other_reasons, 0,
        MP_COUNT(never));
    tcase_add_test(tc, a_request_that_cannot_be_made_again_says_why);
    tcase_add_test(tc, what_a_request_told_before_it_failed_is_forgotten);
    tcase_add_test(tc, raw_turns_go_back_to_the_same_type_and_model_alone);
    tcase_add_test(tc, raw_turns_go_back_within_a_run);
    tcase_add_loop_test(tc, a_raw_turn_that_is_no_json_is_not_kept, 0, 4);
    tcase_add_loop_test(tc, a_model_that_pauses_gets_its_turn_back_and_goes_on, 0,
                        MP_COUNT(raws));
    tcase_add_test(tc, an_answer_without_text_has_none_of_the_one_before);
    tcase_add_test(tc, a_model_that_says_nothing_after_a_pause_has_said_all);
    tcase_add_test(tc, pauses_are_steps);
    tcase_add_test(tc, an_answer_that_was_cut_off_in_a_call_goes_on);
    tcase_add_loop_test(tc, an_answer_has_so_many_bytes_and_not_one_more, 0, 2);
}

int main(void)
{
    return run_suite("run_model", add);
}
