/* Runs: the loop of a model and its tools, how it ends, and its limits. */
#include "run_kit.h"

static void begin_with_example(void)
{
    begin_run();
    put_in("ex", example(NULL), NULL);
    warm_up();
}

/* ---- the eight behaviours of a tool of MCP in a run ---- */

START_TEST(a1_successfully_executes_mcp_tool_and_returns_result)
{
    begin_with_example();
    o.system = "Be brief.";
    SCRIPT({.text = "Let me see. ",
            .calls = {{"mcp__ex__echo", "{\"text\":\"hello\"}", "u1"}}},
           {.text = "It says hello."});
    run_it();
    RAN("done", "It says hello.");
    ASKED_FOR(2);
    ck_assert_uint_eq(player.dropped, 2);
    ck_assert_uint_eq(ran.result.steps, 2);
    ck_assert_uint_eq(ran.result.calls, 1);
    ck_assert_msg(strstr(script_prompt(0), "Be brief.") == script_prompt(0), "%s",
                  script_prompt(0));
    PROMPTED(0, "|mcp__ex__echo mcp__ex__add ");
    PROMPTED(0, "|\nU 'hi'\n");
    PROMPTED(1, "|\nU 'hi'\nA 'Let me see. ' use(u1,mcp__ex__echo,{\"text\":\"hello\"})\n"
                "U ok(u1,mcp__ex__echo 'hello')\n");
    ck_assert_uint_eq(mcplug_thread_count(thread), 4);
    end_run();
}
END_TEST

START_TEST(a3_returns_error_to_llm_when_mcp_tool_execution_fails)
{
    begin_with_example();
    put_in("s",
           SCRIPTED("TOOLS", TOOL("t"), "ERROR",
                    "{\"code\":-32001,\"message\":\"not today\"}"),
           NULL);
    warm_up();
    SCRIPT({.calls = {{"mcp__ex__fail", "{\"message\":\"out of paper\"}", "u1"},
                      {"mcp__s__t", "{}", "u2"}}},
           {.text = "Sorry."});
    run_it();
    RAN("done", "Sorry.");
    PROMPTED(1, "failed(u1,mcp__ex__fail 'MCP tool execution failed: out of paper')");
    PROMPTED(1, "failed(u2,mcp__s__t 'MCP tool execution failed: ");
    PROMPTED(1, "not today");
    end_run();
}
END_TEST

START_TEST(a3_returns_error_to_llm_when_mcp_tool_times_out)
{
    setenv("MCP_TOOL_TIMEOUT", "100", 1);
    begin_with_example();
    SCRIPT({.calls = {{"mcp__ex__sleep", "{\"ms\":3600000}", "u1"}}}, {.text = "Slow."});
    run_it();
    RAN("done", "Slow.");
    PROMPTED(1, "U failed(u1,mcp__ex__sleep 'MCP tool call 'sleep' timed out after "
                "100ms')\n");
    unsetenv("MCP_TOOL_TIMEOUT");
    end_run();
}
END_TEST

START_TEST(a7_handles_mcp_tool_alongside_native_tools_in_same_iteration)
{
    begin_with_example();
    o.tools = TOOLS(OWN("native", reply_now, .arg = (void *)(uintptr_t) "here"));
    SCRIPT({.calls = {{"native", "{}", "u1"},
                      {"mcp__ex__echo", "{\"text\":\"there\"}", "u2"},
                      {"native", "{}", "u3"}}},
           {.text = "Both."});
    run_it();
    RAN("done", "Both.");
    PROMPTED(0, "|native mcp__ex__echo ");
    PROMPTED(1, "U ok(u1,native 'here') ok(u2,mcp__ex__echo 'there') "
                "ok(u3,native 'here')\n");
    ck_assert_uint_eq(ran.result.calls, 3);
    end_run();
}
END_TEST

START_TEST(a7_continues_loop_after_mcp_tool_execution)
{
    begin_with_example();
    SCRIPT({.calls = {{"mcp__ex__echo", "{\"text\":\"1\"}", NULL}}},
           {.calls = {{"mcp__ex__fail", "{\"message\":\"2\"}", NULL}}},
           {.calls = {{"mcp__ex__nothing", "{}", NULL}}},
           {.calls = {{"mcp__ex__add", "{\"a\":1,\"b\":2}", NULL}}}, {.text = "End."});
    run_it();
    RAN("done", "End.");
    ASKED_FOR(5);
    ck_assert_uint_eq(ran.result.steps, 5);
    ck_assert_uint_eq(ran.result.calls, 3);
    ck_assert_uint_eq(mcplug_thread_count(thread), 10);
    end_run();
}
END_TEST

START_TEST(a6_logs_mcp_tool_executions_with_correct_metadata)
{
    begin_with_example();
    SCRIPT({.calls = {{"mcp__ex__echo", "{\"text\":\"hello\"}", "u1"},
                      {"mcp__ex__fail", "{\"message\":\"no ink\"}", "u2"},
                      {"none", "{}", "u3"}}},
           {.text = "Done."});
    run_it();
    LOGGED("VRB core MCP tool 'echo' of integration 'ex' is called\n");
    LOGGED("VRB core MCP tool 'echo' of integration 'ex': ok after ");
    LOGGED("WRN core MCP tool 'fail' of integration 'ex': failed after ");
    LOGGED(" ms: MCP tool execution failed: no ink\n");
    LOGGED("WRN core tool 'none': failed after 0 ms: A tool with the name none was not");
    TOLD("begins u1 mcp__ex__echo@ex {\"text\":\"hello\"}\n");
    TOLD("ends u1 mcp__ex__echo@ex ok: hello\n");
    TOLD("begins u2 mcp__ex__fail@ex {\"message\":\"no ink\"}\n");
    TOLD("ends u2 mcp__ex__fail@ex failed: MCP tool execution failed: no ink\n");
    TOLD("ends u3 none@ failed: A tool with the name none was not found.");
    NOT_TOLD("begins u3");
    TOLD("step 1 0/0\n");
    TOLD("text Done.\nstep 2 0/0\n");
    end_run();
}
END_TEST

/* Two servers have a tool of that name. */
START_TEST(a1_extracts_integration_id_from_tool_metadata_correctly)
{
    begin_run();
    put_in("one",
           SCRIPTED("TOOLS", TOOL("t"), "RESULT",
                    "\"content\":[{\"type\":\"text\",\"text\":\"of one\"}]"),
           NULL);
    put_in("two",
           SCRIPTED("TOOLS", TOOL("t"), "RESULT",
                    "\"content\":[{\"type\":\"text\",\"text\":\"of two\"}]"),
           NULL);
    warm_up();
    o.tools = TOOLS(OWN("t", NULL, .flags = MCPLUG_TOOL_MCP, .integration = "two"),
                    OWN("lost", NULL, .flags = MCPLUG_TOOL_MCP),
                    OWN("empty", NULL, .flags = MCPLUG_TOOL_MCP, .integration = ""),
                    OWN("gone", NULL, .flags = MCPLUG_TOOL_MCP, .integration = "two"),
                    OWN("far", NULL, .flags = MCPLUG_TOOL_MCP, .integration = "three"));
    SCRIPT({.calls = {{"t", "{}", "u1"},
                      {"mcp__one__t", "{}", "u2"},
                      {"mcp__two__t", "{}", "u3"},
                      {"lost", "{}", "u4"},
                      {"empty", "{}", "u5"},
                      {"gone", "{}", "u6"},
                      {"far", "{}", "u7"}}},
           {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    static const char missing[] = "MCP tool configuration error: missing integration ID";
    char want[512];
    snprintf(want, sizeof want,
             "U ok(u1,t 'of two') ok(u2,mcp__one__t 'of one') ok(u3,mcp__two__t 'of two')"
             " failed(u4,lost '%s') failed(u5,empty '%s') ",
             missing, missing);
    PROMPTED(1, want);
    PROMPTED(1, "failed(u6,gone 'MCP tool execution failed unexpectedly: the server two "
                "has no tool gone now')");
    PROMPTED(1, "failed(u7,far 'MCP tool execution failed unexpectedly: the server three "
                "has no tool far now')");
    TOLD("begins u1 t@two {}\n");
    LOGGED("MCP tool 't' of integration 'two': ok");
    end_run();
}
END_TEST

static const struct {
    const char *json, *text;
} values[] = {
    {"\"a string\\nof \\u00e9\"", "a string\nof \xc3\xa9"},
    {" {\"a\":[1,{\"b\":null}],\"c\":{},\"d\":[]} ",
     "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": {},\n"
     "  \"d\": []\n}"},
    {"[1,2]", "[\n  1,\n  2\n]"},
    {"17", "17"},
    {"1.50", "1.50"},
    {"true", "true"},
    {"null", "null"},
    {"not json", "not json"},
    {"{\"half\":", "{\"half\":"},
    {"\"\"", "(no output)"},
    {"", "(no output)"},
};

START_TEST(a5_converts_tool_execution_result_to_string_for_message_content)
{
    char want[512];
    begin_run();
    o.tools = TOOLS(OWN("t", json_now, .arg = (void *)(uintptr_t)values[_i].json));
    SCRIPT({.calls = {{"t", "{}", "u"}}}, {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    snprintf(want, sizeof want, "U ok(u,t '%s')\n", values[_i].text);
    PROMPTED(1, want);
    end_run();
}
END_TEST

static const struct {
    const char *result, *text;
} shapes[] = {
    {"\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}"
     "]",
     "a\nb"},
    {"\"content\":[]", "(no output)"},
    {"\"toolResult\":\"old\"", "old"},
};

START_TEST(a5_the_result_of_an_mcp_tool_is_its_text)
{
    char want[512];
    begin_run();
    put_in("s", SCRIPTED("TOOLS", TOOL("t"), "RESULT", shapes[_i].result), NULL);
    warm_up();
    SCRIPT({.calls = {{"mcp__s__t", "{}", "u"}}}, {.text = "Done."});
    run_it();
    snprintf(want, sizeof want, "U ok(u,mcp__s__t '%s')\n", shapes[_i].text);
    PROMPTED(1, want);
    end_run();
}
END_TEST

/* ---- how a run ends ---- */

static const struct {
    enum mcplug_stop stop;
    const char *text, *end;
    size_t messages;
} stops[] = {
    {MCPLUG_STOP_END, "All.", "done", 2},    {MCPLUG_STOP_TOOLS, "All.", "done", 2},
    {MCPLUG_STOP_LENGTH, "Al", "length", 2}, {MCPLUG_STOP_REFUSED, "No.", "refused", 2},
    {MCPLUG_STOP_REFUSED, "", "refused", 1}, {MCPLUG_STOP_FULL, "", "full", 1},
    {MCPLUG_STOP_END, "", "done", 1},
};

START_TEST(a_run_ends_as_the_model_stops)
{
    begin_run();
    SCRIPT({.text = stops[_i].text, .stop = stops[_i].stop});
    run_it();
    RAN(stops[_i].end, stops[_i].text);
    ASKED_FOR(1);
    ck_assert_uint_eq(mcplug_thread_count(thread), stops[_i].messages);
    mcplug_thread_say(thread, "and now?"); /* it can be run again */
    run_it();
    RAN(stops[_i].end, stops[_i].text);
    end_run();
}
END_TEST

START_TEST(a_refusal_calls_no_tool)
{
    begin_run();
    o.tools = TOOLS(OWN("t", keep));
    n_kept = 0;
    SCRIPT({.text = "No.", .calls = {{"t", "{}", "u"}}, .stop = MCPLUG_STOP_REFUSED});
    run_it();
    RAN("refused", "No.");
    ck_assert_uint_eq(n_kept, 0);
    end_run();
}
END_TEST

START_TEST(a_conversation_that_is_too_long_ends_the_run_as_full)
{
    begin_run();
    SCRIPT({.code = MCPLUG_ETOOBIG, .why = "prompt is too long: 200001 tokens"});
    run_it();
    RAN("full", "");
    TOLD("warns prompt is too long: 200001 tokens\n");
    ck_assert_uint_eq(mcplug_thread_count(thread), 1);
    end_run();
}
END_TEST

START_TEST(a_model_that_cannot_be_asked_ends_the_run_with_its_words)
{
    begin_run();
    SCRIPT({.calls = {{"x", "{}", NULL}}},
           {.code = MCPLUG_EAUTH, .status = 401, .why = "invalid x-api-key"},
           {.refuses = true, .code = MCPLUG_ECONFIG, .why = "no key"}, {.text = "Now."});
    run_it();
    FAILED(MCPLUG_EAUTH, "invalid x-api-key");
    ck_assert_uint_eq(mcplug_thread_count(thread), 3); /* all that came before */
    run_it();
    FAILED(MCPLUG_ECONFIG, "no key");
    run_it();
    RAN("done", "Now.");
    ck_assert_uint_eq(mcplug_thread_count(thread), 4);
    end_run();
}
END_TEST

START_TEST(an_answer_may_come_inside_of_the_request)
{
    begin_run();
    SCRIPT({.at_once = true, .calls = {{"x", "{}", NULL}}},
           {.at_once = true, .text = "Hi."});
    run_it();
    RAN("done", "Hi.");
    end_run();
}
END_TEST

START_TEST(a_thread_with_nothing_new_is_not_run)
{
    begin_run();
    SCRIPT({.text = "Hello."});
    run_it();
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "the user has said nothing new in this thread");
    mcplug_thread *empty = mcplug_thread_new();
    ck_assert_ptr_null(mcplug_thread_run(empty, &o, on_done, &ran, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    mcplug_thread_free(empty);
    end_run();
}
END_TEST

START_TEST(a_run_that_cannot_begin_says_why)
{
    const struct mcplug_tool *const wrong[][3] = {
        {OWN("a b", reply_now)},
        {OWN("", reply_now)},
        {OWN(NULL, reply_now)},
        {OWN("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
             reply_now)},
        {OWN("t", reply_now), OWN("t", reply_now)},
        {OWN("t", NULL)},
        {OWN("t", reply_now, .schema = "[]")},
        {OWN("t", reply_now, .schema = "{")},
    };
    begin_run();
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        o.tools = wrong[i];
        ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
        ck_assert_msg(err.code == MCPLUG_EINVAL && *err.text, "%zu: %s", i, err.text);
    }
    o.tools = NULL;
    ck_assert_ptr_null(mcplug_thread_run(NULL, &o, on_done, &ran, &err));
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, NULL, &ran, &err));
    ck_assert_ptr_null(mcplug_thread_run(thread, NULL, on_done, &ran, &err));
    o.model = NULL;
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    o.model = model;
    SCRIPT({.text = "Fine."}); /* nothing of it is left */
    run_it();
    RAN("done", "Fine.");
    end_run();
}
END_TEST

START_TEST(a_thread_is_not_changed_while_a_run_works_on_it)
{
    struct mcplug_item item = {
        .struct_size = sizeof item, .kind = MCPLUG_ITEM_TEXT, .text = mp_text("x")};
    begin_run();
    SCRIPT({.text = "Hello."});
    start_run();
    ck_assert_int_eq(mcplug_thread_say(thread, "no"), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_thread_add(thread, &item, &err), MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "a run is working on the thread");
    ck_assert_int_eq(mcplug_thread_answer(thread, "a", "x", &err), MCPLUG_EINVAL);
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
    ck_assert_uint_eq(mcplug_thread_count(thread), 1); /* it can be read */
    ck_assert_ptr_nonnull(mcplug_thread_json(thread, NULL));
    await_run();
    RAN("done", "Hello.");
    end_run();
}
END_TEST

static void on_done_alone(void *arg, mcplug_call *call, const struct mcplug_run_result *r,
                          const struct mcplug_error *why)
{
    (void)call, (void)why;
    ++*(unsigned *)arg;
    ck_assert_str_eq(r->text, "Hello.");
}

START_TEST(what_is_freed_while_a_run_works_is_there_until_it_ends)
{
    unsigned times = 0;
    begin_run();
    SCRIPT({.calls = {{"x", "{}", NULL}}}, {.text = "Hello."});
    ck_assert_ptr_nonnull(mcplug_thread_run(thread, &o, on_done_alone, &times, &err));
    mcplug_thread_free(mp_move(&thread));
    mcplug_model_free(mp_move(&model));
    UNTIL(times);
    ck_assert_uint_eq(player.closed, 1);
    end_run();
}
END_TEST

START_TEST(a_host_that_is_freed_cancels_its_runs)
{
    begin_run();
    SCRIPT({.hangs = true, .text = "Well"});
    start_run();
    UNTIL(strstr(told, "Well"));
    mcplug_free(mp_move(&host));
    FAILED(MCPLUG_ECANCELED, "cancelled");
    ck_assert_uint_eq(ran.times, 1);
    ck_assert_uint_eq(player.closed, 1);
    o.model = model; /* whose host is gone */
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    mcplug_thread_free(thread);
    mcplug_model_free(model);
    script_clear();
}
END_TEST

START_TEST(a_run_can_be_waited_for)
{
    struct mcplug_run_result *r = NULL;
    begin_with_example();
    SCRIPT(
        {.calls = {{"mcp__ex__echo", "{\"text\":\"x\"}", NULL}}, .input = 5, .output = 3},
        {.text = "Hello.", .input = 10, .output = 2},
        {.code = MCPLUG_EPEER, .status = 500, .why = "boom"});
    ck_assert_int_eq(mcplug_thread_run_wait(thread, &o, &r, &err), MCPLUG_OK);
    ck_assert_str_eq(r->text, "Hello.");
    ck_assert_uint_eq(r->usage->input, 15);
    ck_assert_uint_eq(r->usage->output, 5);
    ck_assert(r->cost < 0);
    mcplug_run_result_free(r);
    mcplug_thread_say(thread, "more");
    r = NULL;
    ck_assert_int_eq(mcplug_thread_run_wait(thread, &o, &r, &err), MCPLUG_EPEER);
    ck_assert_str_eq(err.text, "boom");
    ck_assert_int_eq(err.peer_status, 500);
    ck_assert_ptr_null(r);
    end_run();
}
END_TEST

/* ---- limits ---- */

START_TEST(steps_are_limited)
{
    begin_run();
    o.max_steps = 3;
    o.max_repeats = 1000;
    SCRIPT({.text = "On.", .calls = {{"x", "{}", NULL}}});
    run_it();
    RAN("steps", "On.");
    ASKED_FOR(3);
    ck_assert_uint_eq(ran.result.steps, 3);
    ck_assert_uint_eq(mcplug_thread_count(thread), 7); /* can be run again at once */
    o.max_steps = 0;
    player.asked = 0;
    run_it();
    RAN("steps", "On.");
    ASKED_FOR(MP_RUN_STEPS);
    end_run();
}
END_TEST

START_TEST(tokens_are_limited)
{
    begin_run();
    o.max_tokens = 100;
    o.max_repeats = 1000;
    SCRIPT({.calls = {{"x", "{}", NULL}}, .input = 30, .output = 3});
    run_it();
    RAN("tokens", "");
    ASKED_FOR(4); /* 33 66 99 132 */
    TOLD("step 4 30/3\n");
    end_run();
}
END_TEST

START_TEST(cost_is_limited_where_it_is_known)
{
    begin_run();
    o.max_cost = 0.01;
    o.max_repeats = 1000;
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
    ck_assert_str_eq(err.text, "a limit of cost needs the settings priceInput and "
                               "priceOutput of the model");
    mcplug_model_free(model);
    o.model = model =
        MODEL("script", "model", "m1", "priceInput", "3", "priceOutput", "15.5");
    ck_assert_msg(model != NULL, "%s", err.text);
    SCRIPT({.calls = {{"x", "{}", NULL}}, .input = 1000, .output = 100}); /* 0.00455 */
    run_it();
    RAN("cost", "");
    ASKED_FOR(3);
    ck_assert_double_eq(mcplug_model_cost(o.model, &ran.usage), ran.result.cost);
    ck_assert(mcplug_model_cost(o.model, NULL) < 0 &&
              mcplug_model_cost(NULL, &ran.usage) < 0);
    ck_assert_msg(ran.result.cost > 0.013649 && ran.result.cost < 0.013651, "%f",
                  ran.result.cost);
    end_run();
}
END_TEST

START_TEST(settings_of_a_model_are_checked)
{
    begin_run();
    SCRIPT({.text = "x"});
    ck_assert_ptr_null(MODEL("script", "priceInput", "1"));
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
    ck_assert_str_eq(err.text, "model \"script\": missing setting: model");
    static const char *const wrong[] = {"x",   "-1",  "1x",  "nan",  "0x10",
                                        "inf", "1,5", " 1 ", "1e999"};
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        ck_assert_msg(!MODEL("script", "model", "m", "priceInput", wrong[i]), "%s",
                      wrong[i]);
        ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
    }
    ck_assert_ptr_null(MODEL("script", "model", "m", "contextTokens", "999"));
    ck_assert_ptr_null(MODEL("script", "model", "m", "colour", "red"));
    ck_assert_ptr_null(MODEL("nosuch", "model", "m"));
    end_run();
}
END_TEST

START_TEST(time_is_limited_whatever_the_run_waits_for)
{
    begin_with_example();
    n_kept = 0;
    o.max_ms = 60;
    o.tools = TOOLS(OWN("t", keep));
    if (_i == 0)
        SCRIPT({.hangs = true, .text = "We"});
    else if (_i == 1)
        SCRIPT({.calls = {{"mcp__ex__sleep", "{\"ms\":3600000}", "u"}}});
    else if (_i == 2)
        SCRIPT({.calls = {{"t", "{}", "u"}}});
    else
        SCRIPT({.code = MCPLUG_EOVERLOADED,
                .flags = MCPLUG_ERROR_RETRY,
                .retry_after = 100000});
    run_it();
    RAN("time", _i == 0 ? "We" : "");
    ck_assert_uint_ge(ran.result.ms, 50);
    ck_assert_uint_eq(mcplug_thread_count(thread), _i == 0 ? 2 : _i == 3 ? 1 : 3);
    if (_i == 2)
        answer_kept(0, "too late");
    end_run();
}
END_TEST

START_TEST(the_same_call_again_and_again_is_limited)
{
    begin_run();
    o.tools = TOOLS(OWN("t", reply_now));
    SCRIPT({.calls = {{"t", "{\"a\":1}", NULL}, {"t", "{\"a\":2}", NULL}}});
    run_it();
    RAN("repeated", "");
    ASKED_FOR(MP_RUN_REPEATS + 1);
    ck_assert_uint_eq(ran.result.calls, 2 * MP_RUN_REPEATS);
    o.max_repeats = 1;
    player.asked = 0;
    run_it(); /* counted anew */
    RAN("repeated", "");
    ASKED_FOR(2);
    const char *json = mcplug_thread_json(thread, NULL);
    ck_assert_ptr_nonnull(strstr(json, "The run was stopped before this tool answered."));
    end_run();
}
END_TEST

/* Ten dice are thrown at once, and once more. */
START_TEST(the_same_calls_of_one_turn_count_once)
{
    static struct script_call dice[10];
    begin_run();
    for (size_t i = 0; i < MP_COUNT(dice); i++)
        dice[i] = (struct script_call){"roll", "{}", NULL};
    o.tools = TOOLS(OWN("roll", reply_now));
    o.max_repeats = 2;
    SCRIPT({.more = dice, .n_more = 10}, {.more = dice, .n_more = 10}, {.text = "Six."},
           {.more = dice, .n_more = 10});
    run_it();
    RAN("done", "Six.");
    ck_assert_uint_eq(ran.result.calls, 20);
    mcplug_thread_say(thread, "more");
    run_it(); /* the last answer, again and again */
    RAN("repeated", "");
    ck_assert_uint_eq(ran.result.calls, 20);
    end_run();
}
END_TEST

/* ---- what is left of an answer that was cut ---- */

static const char *last_text(void)
{
    struct mcplug_message m = {.struct_size = sizeof m};

    ck_assert(mcplug_thread_message(thread, mcplug_thread_count(thread) - 1, &m));
    ck_assert_uint_eq(m.role, MCPLUG_ROLE_ASSISTANT);
    return (const char *)m.items[m.n_items - 1]->text.data;
}

START_TEST(text_of_a_stream_that_broke_is_kept_without_its_calls)
{
    begin_run();
    SCRIPT({.text = "We have ",
            .calls = {{"x", "{}", "u"}},
            .raw = "[1]",
            .code = MCPLUG_ECLOSED,
            .why = "the connection was lost"},
           {.text = "More."});
    run_it();
    FAILED(MCPLUG_ECLOSED, "the connection was lost");
    ck_assert_uint_eq(mcplug_thread_count(thread), 2);
    ck_assert_str_eq(last_text(), "We have ");
    ck_assert_ptr_null(strstr(mcplug_thread_json(thread, NULL), "raw"));
    ck_assert_ptr_null(strstr(mcplug_thread_json(thread, NULL), "tool_use"));
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
    ck_assert_str_eq(err.text, "the user has said nothing new in this thread");
    mcplug_thread_say(thread, "go on");
    run_it();
    RAN("done", "More.");
    PROMPTED(1, "U 'hi'\nA 'We have '\nU 'go on'\n");
    end_run();
}
END_TEST

/* Blanks, which some APIs refuse, and half a character are nothing. */
static const struct {
    const char *text, *kept;
} cuts[] = {{"", NULL},
            {NULL, NULL},
            {" \n\t", NULL},
            {"\xc3", NULL},
            {"na\xc3\xaf", "na\xc3\xaf"},
            {"na\xc3", "na"},
            {"\n so", "\n so"}};

START_TEST(an_answer_of_which_nothing_came_leaves_no_message)
{
    begin_run();
    SCRIPT({.text = cuts[_i].text, .code = MCPLUG_ECLOSED, .why = "lost"},
           {.text = "Now."});
    run_it();
    FAILED(MCPLUG_ECLOSED, "lost");
    ck_assert_uint_eq(mcplug_thread_count(thread), cuts[_i].kept ? 2 : 1);
    if (cuts[_i].kept)
        ck_assert_str_eq(last_text(), cuts[_i].kept);
    mcplug_thread_say(thread, "and?");
    run_it();
    RAN("done", "Now.");
    if (!cuts[_i].kept)
        PROMPTED(1, "U 'hi' 'and?'\n"); /* one message */
    end_run();
}
END_TEST

START_TEST(what_was_cut_after_a_tool_comes_behind_its_result)
{
    begin_run();
    o.tools = TOOLS(OWN("t", reply_now, .arg = (void *)(uintptr_t) "42"));
    SCRIPT({.text = "Let me see. ", .calls = {{"t", "{}", "u"}}},
           {.text = "It is", .hangs = true}, {.text = "42."});
    start_run();
    UNTIL(strstr(told, "It is"));
    mcplug_cancel(run_call);
    await_run();
    FAILED(MCPLUG_ECANCELED, "cancelled");
    ck_assert_str_eq(last_text(), "It is");
    mcplug_thread_say(thread, "what?");
    run_it();
    RAN("done", "42.");
    PROMPTED(2, "U 'hi'\nA 'Let me see. ' use(u,t,{})\nU ok(u,t '42')\nA 'It is'\n"
                "U 'what?'\n");
    end_run();
}
END_TEST

/* The raw turn has not all of it any more. */
START_TEST(what_was_cut_after_a_pause_is_part_of_that_turn)
{
    begin_run();
    SCRIPT({.text = "One, ", .raw = "[1]", .stop = MCPLUG_STOP_PAUSED},
           {.text = "two", .hangs = true}, {.text = "Three."});
    start_run();
    UNTIL(strstr(told, "two"));
    mcplug_cancel(run_call);
    await_run();
    ck_assert_uint_eq(mcplug_thread_count(thread), 2);
    ck_assert_ptr_null(strstr(mcplug_thread_json(thread, NULL), "\"turn\""));
    mcplug_thread_say(thread, "go on");
    run_it();
    PROMPTED(2, "U 'hi'\nA 'One, ' 'two'\nU 'go on'\n");
    end_run();
}
END_TEST

/* ---- cancelling ---- */

static void approve_later(void *arg, mcplug_use *u, const char *server, const char *tool,
                          const char *arguments, size_t len)
{
    (void)server, (void)tool;
    keep(arg, u, arguments, len);
}

/* When it is cancelled, and how many messages are left. */
static const struct {
    const char *at; /* an event; NULL: at the beginning */
    bool inside;    /* of the event */
    size_t messages;
} cancels[] = {
    {NULL, false, 1},        {"text We", false, 2},   {"text We", true, 2},
    {"thought Hm", true, 1}, {"retry", false, 1},     {"retry", true, 1},
    {"step 1", true, 3},     {"begins u1", true, 3},  {"begins u1", false, 3},
    {"begins u3", true, 3},  {"reports u1", true, 3}, {"ends u2", true, 3},
    {"ends u2", false, 3},   {"warns", true, 1},
};

START_TEST(a_run_can_be_cancelled_at_any_time)
{
    const char *at = cancels[_i].at;
    begin_with_example();
    n_kept = 0;
    o.tools = TOOLS(OWN("t", keep), OWN("now", reply_now));
    if (at && strstr(at, "text"))
        SCRIPT({.hangs = true, .text = "We"});
    else if (at && strstr(at, "thought"))
        SCRIPT({.hangs = true, .thought = "Hm", .text = "We"});
    else if (at && strstr(at, "retry"))
        SCRIPT({.code = MCPLUG_EOVERLOADED,
                .flags = MCPLUG_ERROR_RETRY,
                .retry_after = 3600000 / 60});
    else if (at && strstr(at, "warns"))
        SCRIPT({.code = MCPLUG_EPEER, .status = 400, .why = "tools.1: no"});
    else
        SCRIPT({.calls = {{"mcp__ex__sleep", "{\"ms\":3600000}", "u1"},
                          {"mcp__ex__echo", "{\"text\":\"x\"}", "u2"},
                          {"t", "{}", "u3"},
                          {"now", "{}", "u4"}}});
    start_run();
    cancel_at = cancels[_i].inside ? at : NULL;
    if (at && !cancels[_i].inside)
        UNTIL(strstr(told, at));
    if (!cancels[_i].inside)
        mcplug_cancel(run_call);
    await_run();
    FAILED(MCPLUG_ECANCELED, "cancelled");
    ASKED_FOR(at ? 1 : 0);
    ck_assert_uint_eq(player.dropped, player.asked);
    ck_assert_uint_eq(mcplug_thread_count(thread), cancels[_i].messages);
    NOT_TOLD("text W\n");
    if (n_kept) {
        ck_assert(mcplug_use_is_cancelled(kept[0].use));
        answer_kept(0, "too late");
    }
    turn();
    cancel_at = NULL;
    SCRIPT({.text = "Again."}); /* the thread is in order */
    mcplug_thread_say(thread, "more");
    run_it();
    RAN("done", "Again.");
    end_run();
}
END_TEST

START_TEST(a_run_can_be_cancelled_while_somebody_is_asked)
{
    begin_with_example();
    n_kept = 0;
    o.approve = approve_later;
    SCRIPT({.calls = {{"mcp__ex__echo", "{\"text\":\"x\"}", "u1"},
                      {"mcp__ex__grow", "{}", "u2"}}},
           {.text = "Again."});
    start_run();
    UNTIL(n_kept && strstr(told, "ends u1"));
    ck_assert(!mcplug_use_is_cancelled(kept[0].use));
    mcplug_cancel(run_call);
    await_run();
    FAILED(MCPLUG_ECANCELED, "cancelled");
    ck_assert(mcplug_use_is_cancelled(kept[0].use));
    mcplug_use_allow(kept[0].use); /* too late: nothing is called */
    turn();
    NOT_TOLD("begins u2");
    run_it();
    RAN("done", "Again.");
    PROMPTED(1, "U ok(u1,mcp__ex__echo 'x') failed(u2,mcp__ex__grow 'The run was stopped "
                "before this tool answered.')\n");
    end_run();
}
END_TEST

/* What the program has when a run ends it may answer much later. */
START_TEST(an_answer_after_the_end_is_dropped)
{
    begin_run();
    n_kept = 0;
    o.tools = TOOLS(OWN("t", keep));
    SCRIPT({.calls = {{"t", "{}", "u1"}}});
    start_run();
    UNTIL(n_kept);
    mcplug_cancel(run_call);
    mcplug_cancel(run_call);
    await_run();
    mcplug_thread_free(mp_move(&thread));
    answer_kept(0, "too late");
    end_run();
}
END_TEST

START_TEST(what_is_never_answered_is_freed_with_the_host)
{
    begin_run();
    n_kept = 0;
    o.tools = TOOLS(OWN("t", keep, .flags = MCPLUG_TOOL_READ_ONLY));
    SCRIPT({.calls = {{"t", "{\"i\":1}", "u1"},
                      {"t", "{\"i\":2}", "u2"},
                      {"t", "{\"i\":3}", "u3"}}});
    start_run();
    UNTIL(n_kept == 3);
    mcplug_cancel(run_call);
    await_run();
    answer_kept(1, "too late");
    mcplug_thread_say(thread, "more");
    start_run(); /* which the host ends */
    UNTIL(n_kept == 6);
    memset(kept, 0, sizeof kept); /* or a leak would be reachable */
    end_run();
    ck_assert_uint_eq(ran.times, 1);
}
END_TEST

static void on_done_again(void *arg, mcplug_call *call, const struct mcplug_run_result *r,
                          const struct mcplug_error *why)
{
    on_done(arg, call, r, why);
    ran.times = 0;
    mcplug_thread_say(thread, "again");
    run_call = mcplug_thread_run(thread, &o, on_done, &ran, &err);
    ck_assert_msg(run_call != NULL, "%s", err.text);
}

START_TEST(a_run_can_begin_where_another_ends)
{
    begin_run();
    o.free_arg = NULL;
    SCRIPT({.text = "One."}, {.text = "Two."});
    run_call = mcplug_thread_run(thread, &o, on_done_again, &ran, &err);
    await_run();
    RAN("done", "Two.");
    PROMPTED(1, "U 'hi'\nA 'One.'\nU 'again'\n");
    end_run();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a1_successfully_executes_mcp_tool_and_returns_result);
    tcase_add_test(tc, a3_returns_error_to_llm_when_mcp_tool_execution_fails);
    tcase_add_test(tc, a3_returns_error_to_llm_when_mcp_tool_times_out);
    tcase_add_test(tc, a7_handles_mcp_tool_alongside_native_tools_in_same_iteration);
    tcase_add_test(tc, a7_continues_loop_after_mcp_tool_execution);
    tcase_add_test(tc, a6_logs_mcp_tool_executions_with_correct_metadata);
    tcase_add_test(tc, a1_extracts_integration_id_from_tool_metadata_correctly);
    tcase_add_loop_test(tc,
                        a5_converts_tool_execution_result_to_string_for_message_content,
                        0, MP_COUNT(values));
    tcase_add_loop_test(tc, a5_the_result_of_an_mcp_tool_is_its_text, 0,
                        MP_COUNT(shapes));
    tcase_add_loop_test(tc, a_run_ends_as_the_model_stops, 0, MP_COUNT(stops));
    tcase_add_test(tc, a_refusal_calls_no_tool);
    tcase_add_test(tc, a_conversation_that_is_too_long_ends_the_run_as_full);
    tcase_add_test(tc, a_model_that_cannot_be_asked_ends_the_run_with_its_words);
    tcase_add_test(tc, an_answer_may_come_inside_of_the_request);
    tcase_add_test(tc, a_thread_with_nothing_new_is_not_run);
    tcase_add_test(tc, a_run_that_cannot_begin_says_why);
    tcase_add_test(tc, a_thread_is_not_changed_while_a_run_works_on_it);
    tcase_add_test(tc, what_is_freed_while_a_run_works_is_there_until_it_ends);
    tcase_add_test(tc, a_host_that_is_freed_cancels_its_runs);
    tcase_add_test(tc, a_run_can_be_waited_for);
    tcase_add_test(tc, steps_are_limited);
    tcase_add_test(tc, tokens_are_limited);
    tcase_add_test(tc, cost_is_limited_where_it_is_known);
    tcase_add_test(tc, settings_of_a_model_are_checked);
    tcase_add_loop_test(tc, time_is_limited_whatever_the_run_waits_for, 0, 4);
    tcase_add_test(tc, the_same_call_again_and_again_is_limited);
    tcase_add_test(tc, the_same_calls_of_one_turn_count_once);
    tcase_add_test(tc, text_of_a_stream_that_broke_is_kept_without_its_calls);
    tcase_add_loop_test(tc, an_answer_of_which_nothing_came_leaves_no_message, 0,
                        MP_COUNT(cuts));
    tcase_add_test(tc, what_was_cut_after_a_tool_comes_behind_its_result);
    tcase_add_test(tc, what_was_cut_after_a_pause_is_part_of_that_turn);
    tcase_add_loop_test(tc, a_run_can_be_cancelled_at_any_time, 0, MP_COUNT(cancels));
    tcase_add_test(tc, a_run_can_be_cancelled_while_somebody_is_asked);
    tcase_add_test(tc, an_answer_after_the_end_is_dropped);
    tcase_add_test(tc, what_is_never_answered_is_freed_with_the_host);
    tcase_add_test(tc, a_run_can_begin_where_another_ends);
}

int main(void)
{
    return run_suite("run_run", add);
}
