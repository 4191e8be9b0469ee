/* Which tools a model is offered, and how it finds others. */
#include "run_kit.h"

static void begin_with_example(void)
{
    begin_run();
    n_kept = 0;
    put_in("ex", example(NULL), NULL);
    warm_up();
}

/* A model that has room for few definitions. */
static void make_small(void)
{
    mcplug_model_free(model);
    o.model = model = MODEL("script", "model", "m1", "contextTokens", "1000");
    ck_assert_msg(model != NULL, "%s", err.text);
}

/* The tools of that request. */
static const char *tools_of(size_t i)
{
    static char text[8192];
    const char *from = strchr(script_prompt(i), '|');

    ck_assert_ptr_nonnull(from);
    snprintf(text, sizeof text, "%.*s", (int)strcspn(from + 1, "|"), from + 1);
    return text;
}

static unsigned count(const char *text, const char *of)
{
    unsigned n = 0;
    while ((text = strstr(text, of))) {
        n++;
        text++;
    }
    return n;
}

/* ---- what is offered ---- */

START_TEST(tools_of_the_program_come_first_and_those_of_the_servers_follow)
{
    begin_with_example();
    put_in("s", SCRIPTED("SAYS", "Use me.", "TOOLS", TOOL("t")), NULL);
    warm_up();
    o.system = "Be brief.";
    o.tools = TOOLS(OWN("b", reply_now), OWN("a", reply_now));
    SCRIPT({.text = "Done."});
    run_it();
    const char *tools = tools_of(0);
    ck_assert_msg(strstr(tools, "b a mcp__ex__echo ") == tools, "%s", tools);
    ck_assert_ptr_nonnull(strstr(tools, " mcp__s__t "));
    ck_assert_ptr_null(strstr(tools, MP_SEARCH_TOOLS));
    ck_assert_msg(strstr(script_prompt(0), "Be brief.\n\n") == script_prompt(0) &&
                      strstr(script_prompt(0), "#### MCP Server: s\n> Use me."),
                  "%s", script_prompt(0));
    end_run();
}
END_TEST

START_TEST(a_run_needs_no_toolbox)
{
    begin_run();
    o.box = NULL;
    o.tools = TOOLS(OWN("t", reply_now));
    make_small();
    SCRIPT({.calls = {{"t", "{}", NULL}}}, {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    ck_assert_str_eq(tools_of(0), "t");
    o.tools = NULL;
    mcplug_thread_say(thread, "more");
    run_it();
    ck_assert_str_eq(tools_of(2), "");
    end_run();
}
END_TEST

START_TEST(a_tool_of_the_program_hides_that_of_a_server_and_it_is_said_once)
{
    begin_with_example();
    put_in("s", SCRIPTED("TOOLS", TOOL("t")), NULL);
    warm_up();
    o.tools = TOOLS(OWN("mcp__ex__echo", reply_now), OWN("wait", keep));
    SCRIPT({.calls = {{"mcp__ex__echo", "{}", "u1"}, {"wait", "{}", "u2"}}},
           {.text = "Done."});
    start_run();
    UNTIL(n_kept);
    mcplug_toolbox_remove(box, "s", NULL, NULL, &err); /* other tools than before */
    answer_kept(0, "x");
    await_run();
    RAN("done", "Done.");
    PROMPTED(1, "U ok(u1,mcp__ex__echo '{}') ");
    ck_assert_uint_eq(count(tools_of(0), "mcp__ex__echo"), 1);
    ck_assert_uint_eq(count(tools_of(1), "mcp__ex__echo"), 1);
    ck_assert_ptr_null(strstr(tools_of(1), "mcp__s__t"));
    ck_assert_uint_eq(count(told, "warns "), 1);
    TOLD("warns the tool mcp__ex__echo is left out: the program has one of that name\n");
    end_run();
}
END_TEST

/* It requires a name that models do not take. */
#define UNFIT "{\"type\":\"object\",\"properties\":{\"a b\":{}},\"required\":[\"a b\"]}"

START_TEST(a_tool_that_models_refuse_is_left_out_and_it_is_said_once)
{
    begin_run();
    n_kept = 0;
    put_in("s",
           SCRIPTED("TOOLS", "{\"name\":\"odd\",\"inputSchema\":" UNFIT "}," TOOL("t")),
           NULL);
    put_in("other", SCRIPTED("TOOLS", TOOL("t")), NULL);
    warm_up();
    o.tools = TOOLS(OWN("wait", keep));
    SCRIPT({.calls = {{"wait", "{}", "u1"}, {"mcp__s__odd", "{}", "u2"}}},
           {.text = "Done."});
    start_run();
    UNTIL(n_kept);
    mcplug_toolbox_remove(box, "other", NULL, NULL, &err);
    answer_kept(0, "x");
    await_run();
    ck_assert_str_eq(tools_of(0), "wait mcp__s__t mcp__other__t");
    ck_assert_str_eq(tools_of(1), "wait mcp__s__t");
    PROMPTED(1, "failed(u2,mcp__s__odd 'A tool with the name mcp__s__odd was not found.");
    ck_assert_uint_eq(count(told, "warns "), 1);
    TOLD("warns the tool mcp__s__odd is left out: its schema is one that models "
         "refuse\n");
    end_run();
}
END_TEST

static void begin_openai(void)
{
    begin_run();
    mcplug_model_free(model);
    o.model = model = MODEL("openai", "model", "m1");
    ck_assert_msg(model != NULL, "%s", err.text);
}

START_TEST(tools_are_repaired_for_the_api_of_the_model_and_it_is_logged_once)
{
    begin_openai();
    put_in("s",
           SCRIPTED("TOOLS", "{\"name\":\"odd\",\"description\":\"d\","
                             "\"inputSchema\":" UNFIT "},{\"name\":\"list\","
                             "\"description\":\"d\",\"inputSchema\":{\"type\":\"object\""
                             ",\"properties\":{\"a\":{\"type\":\"array\"}}}}"),
           NULL);
    warm_up();
    SCRIPT({.calls = {{"mcp__s__nothing", "{}", "u1"}}}, {.text = "Done."});
    start_run();
    await_run();
    ck_assert_str_eq(tools_of(0), "mcp__s__odd mcp__s__list");
    ck_assert_str_eq(tools_of(1), "mcp__s__odd mcp__s__list");
    ck_assert_uint_eq(count(told, "warns "), 0);
    ck_assert_uint_eq(count(logged, "is repaired for"), 1);
    LOGGED("VRB core the tool mcp__s__list is repaired for openai: "
           "/inputSchema/properties/a: an array without items, and 0 more\n");
    end_run();
}
END_TEST

START_TEST(beyond_what_a_request_may_have_tools_are_searched_for)
{
    static char tools[20000];

    for (int n = 128; n <= 129; n++) {
        size_t len = 0;
        for (int i = 0; i < n; i++)
            len += (size_t)sprintf(tools + len,
                                   "%s{\"name\":\"t%d\",\"description\":"
                                   "\"d\",\"inputSchema\":{}}",
                                   i ? "," : "", i);
        begin_openai();
        put_in("s", SCRIPTED("TOOLS", tools), NULL);
        warm_up();
        SCRIPT({.text = "Done."});
        start_run();
        await_run();
        if (n == 129)
            ck_assert_str_eq(tools_of(0), "search_tools");
        else
            ck_assert_uint_eq(count(tools_of(0), "mcp__s__t"), 128);
        end_run();
    }
}
END_TEST

START_TEST(a_tool_of_the_program_that_models_refuse_fails_the_run)
{
    begin_run();
    o.tools = TOOLS(OWN("t", reply_now, .schema = UNFIT));
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "the tool t: its schema is one that models refuse");
    end_run();
}
END_TEST

START_TEST(a_program_has_so_many_tools_and_not_one_more)
{
    static struct mcplug_tool tools[MP_RUN_TOOLS + 1];
    static const struct mcplug_tool *list[MP_RUN_TOOLS + 2];
    static char names[MP_RUN_TOOLS + 1][16];
    begin_run();
    for (size_t i = 0; i <= MP_RUN_TOOLS; i++) {
        snprintf(names[i], sizeof names[i], "tool%zu", i);
        tools[i] = (struct mcplug_tool){
            .struct_size = sizeof tools[i], .name = names[i], .call = reply_now};
        list[i] = &tools[i];
    }
    o.tools = list;
    ck_assert_ptr_null(mcplug_thread_run(thread, &o, on_done, &ran, &err));
    ck_assert_int_eq(err.code, MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "a run has at most 4096 tools of the program");
    list[MP_RUN_TOOLS] = NULL;
    SCRIPT({.calls = {{"tool4095", "{}", "u"}}}, {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "U ok(u,tool4095 '{}')");
    end_run();
}
END_TEST

/* ---- other tools than before ---- */

START_TEST(tools_that_come_between_steps_come_last_and_those_that_go_are_gone)
{
    begin_with_example();
    o.tools = TOOLS(OWN("wait", keep));
    SCRIPT({.calls = {{"wait", "{\"i\":1}", NULL}, {"mcp__ex__grow", "{}", NULL}}},
           {.calls = {{"wait", "{\"i\":2}", NULL}}}, {.text = "Done."});
    start_run();
    size_t before = mcplug_toolbox_count(box);
    UNTIL(mcplug_toolbox_count(box) == before + 1);
    answer_kept(0, "x");
    UNTIL(n_kept == 2);
    char first[8192];
    snprintf(first, sizeof first, "%s ", tools_of(0));
    const char *second = tools_of(1);
    ck_assert_msg(strstr(second, first) == second, "%s\n%s", first, second);
    ck_assert_uint_eq(count(second + strlen(first), "mcp__ex__"), 1); /* one more */
    mcplug_toolbox_remove(box, "ex", NULL, NULL, &err);
    put_in("new", SCRIPTED("TOOLS", TOOL("t")), NULL);
    warm_up();
    answer_kept(1, "x");
    await_run();
    ck_assert_str_eq(tools_of(2), "wait mcp__new__t");
    end_run();
}
END_TEST

/* ---- search ---- */

START_TEST(where_there_are_too_many_tools_the_model_searches)
{
    char now[8192];
    begin_with_example();
    make_small();
    o.tools = TOOLS(OWN("mine", reply_now));
    SCRIPT(
        {.calls = {{"search_tools", "{\"query\":\"Returns the text, please\"}", "u1"}}},
        {.calls = {{"mcp__ex__echo", "{\"text\":\"x\"}", "u2"},
                   {"search_tools", "{\"query\":\"add\",\"limit\":1}", "u3"},
                   {"search_tools", "{\"query\":\"zzzz\"}", "u4"}}},
        {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    ck_assert_str_eq(tools_of(0), "search_tools mine");
    PROMPTED(1, "ok(u1,search_tools '");
    PROMPTED(1, "mcp__ex__echo: Returns the text it was given.");
    snprintf(now, sizeof now, "%s", tools_of(1));
    ck_assert_msg(strstr(now, "search_tools mine ") == now, "%s", now);
    ck_assert_ptr_nonnull(strstr(now, " mcp__ex__echo"));
    ck_assert_ptr_null(strstr(now, "mcp__ex__add"));
    PROMPTED(2, "ok(u2,mcp__ex__echo 'x') ok(u3,search_tools 'mcp__ex__add: Adds two "
                "numbers.') ok(u4,search_tools 'No tool matches. Try other words. "
                "There are tools of the servers ex.')");
    strcat(now, " mcp__ex__add"); /* last, and the others where they were */
    ck_assert_str_eq(tools_of(2), now);
    TOLD("begins u1 search_tools@ {");
    end_run();
}
END_TEST

START_TEST(tools_that_a_thread_has_used_are_offered_at_once)
{
    begin_with_example();
    make_small();
    SCRIPT({.calls = {{"mcp__ex__add", "{\"a\":1,\"b\":2}", "u"}}}, {.text = "Three."});
    run_it(); /* one that is not offered can be called, too */
    RAN("done", "Three.");
    PROMPTED(1, "U ok(u,mcp__ex__add '");
    ck_assert_str_eq(tools_of(0), "search_tools");
    mcplug_thread_say(thread, "more");
    run_it();
    ck_assert_str_eq(tools_of(2), "search_tools mcp__ex__add");
    end_run();
}
END_TEST

START_TEST(tools_that_read_stored_results_are_offered_with_the_first_one)
{
    begin_with_example();
    make_small();
    SCRIPT({.calls = {{"mcp__ex__big", "{\"bytes\":400000}", "u"}}}, {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "read_result");
    ck_assert_str_eq(tools_of(0), "search_tools");
    ck_assert_str_eq(tools_of(1), "search_tools read_result search_result mcp__ex__big");
    end_run();
}
END_TEST

#define FIRST(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(how_much_definitions_may_take_is_up_to_the_program)
{
    begin_with_example();
    SCRIPT({.text = "Done."});
    o.tool_budget = 1;
    run_it();
    ck_assert_str_eq(tools_of(0), "search_tools");
    make_small();
    o.tool_budget = 100000;
    mcplug_thread_say(thread, "more");
    run_it();
    ck_assert_ptr_nonnull(strstr(tools_of(1), "mcp__ex__echo mcp__ex__add "));
    ck_assert_ptr_null(strstr(tools_of(1), "search_tools"));
    end_run();
}
END_TEST

/* Each of them takes between 30 and 60 tokens. */
static const struct {
    uint64_t budget;
    const char *first[4], *offered;
} wishes[] = {
    {300, {"mcp__ex__add", "echo"}, "search_tools mine mcp__ex__echo mcp__ex__add"},
    {300, {"ech*", "add"}, "search_tools mine mcp__ex__echo mcp__ex__add"},
    {120, {"add", "echo"}, "search_tools mine mcp__ex__add"},
    {120, {"echo", "add"}, "search_tools mine mcp__ex__echo"},
    {10, {"echo"}, "search_tools mine"},
    {300, {"mine", "nope", "search_tools"}, "search_tools mine"},
};

START_TEST(tools_that_are_wanted_first_have_half_of_the_budget)
{
    begin_with_example();
    o.tools = TOOLS(OWN("mine", reply_now));
    o.tools_first = wishes[_i].first;
    o.tool_budget = wishes[_i].budget;
    SCRIPT({.text = "Done."});
    run_it();
    ck_assert_str_eq(tools_of(0), wishes[_i].offered);
    end_run();
}
END_TEST

START_TEST(a_tool_that_is_wanted_first_and_comes_later_comes_last)
{
    begin_with_example();
    o.tools = TOOLS(OWN("wait", keep));
    o.tools_first = FIRST("brandnew", "echo");
    o.tool_budget = 300;
    SCRIPT({.calls = {{"wait", "{}", NULL}}}, {.text = "Done."});
    start_run();
    UNTIL(n_kept);
    put_in("late", SCRIPTED("TOOLS", TOOL("brandnew")), NULL);
    warm_up();
    answer_kept(0, "x");
    await_run();
    ck_assert_str_eq(tools_of(0), "search_tools wait mcp__ex__echo");
    ck_assert_str_eq(tools_of(1), "search_tools wait mcp__ex__echo mcp__late__brandnew");
    end_run();
}
END_TEST

static void check_grows(size_t from, size_t to)
{
    const char *before = player.tools[from], *after = player.tools[to];

    ck_assert_msg(strncmp(before, after, strlen(before)) == 0, "%s\n---\n%s", before,
                  after);
}

START_TEST(definitions_stay_byte_for_byte_and_what_is_found_follows_also_in_later_runs)
{
    begin_with_example();
    o.tools = TOOLS(OWN("mine", reply_now));
    o.tools_first = FIRST("grow");
    o.tool_budget = 600;
    SCRIPT({.calls = {{"search_tools", "{\"query\":\"echo\",\"limit\":1}", NULL}}},
           {.calls = {{"mcp__ex__sleep", "{\"ms\":1}", NULL}}},
           {.calls = {{"search_tools", "{\"query\":\"add\",\"limit\":1}", NULL},
                      {"mine", "{}", NULL}}},
           {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    ck_assert_str_eq(tools_of(0), "search_tools mine mcp__ex__grow");
    ck_assert_str_eq(tools_of(1), "search_tools mine mcp__ex__grow mcp__ex__echo");
    ck_assert_str_eq(
        tools_of(3),
        "search_tools mine mcp__ex__grow mcp__ex__echo mcp__ex__sleep mcp__ex__add");
    check_grows(0, 1);
    check_grows(1, 2);
    check_grows(2, 3);
    char before[8192];
    snprintf(before, sizeof before, "%s", player.tools[3]);
    SCRIPT({.text = "Again."});
    mcplug_thread_say(thread, "more");
    run_it();
    ck_assert_str_eq(player.tools[0], before);
    /* what was found and not used gives way when there is less room */
    o.tool_budget = 150;
    SCRIPT({.text = "Again."});
    mcplug_thread_say(thread, "more");
    run_it();
    ck_assert_msg(strstr(tools_of(0), " mcp__ex__sleep"), "%s", tools_of(0));
    ck_assert_msg(!strstr(tools_of(0), "mcp__ex__add"), "%s", tools_of(0));
    end_run();
}
END_TEST

START_TEST(a_search_has_words_and_a_limit)
{
    begin_with_example();
    make_small();
    SCRIPT({.calls = {{"search_tools", "{}", "u1"},
                      {"search_tools", "{\"query\":7}", "u2"},
                      {"search_tools", "{\"query\":\"\"}", "u3"},
                      {"search_tools", "{\"query\":\"ex\",\"limit\":-5}", "u4"},
                      {"search_tools", "{\"query\":\"ex\",\"limit\":1000}", "u5"}}},
           {.text = "Done."});
    run_it();
    PROMPTED(1, "failed(u1,search_tools 'The arguments do not fit the tool: ");
    PROMPTED(1, "failed(u2,search_tools 'The arguments do not fit the tool: ");
    PROMPTED(1, "ok(u3,search_tools 'No tool matches. Try other words. There are tools "
                "of the servers ex.')");
    PROMPTED(1, "ok(u4,search_tools 'mcp__ex__");
    ck_assert_uint_eq(count(tools_of(1), "mcp__ex__"), 14);
    end_run();
}
END_TEST

START_TEST(the_search_finds_servers_that_come_later)
{
    begin_with_example();
    make_small();
    o.tools = TOOLS(OWN("wait", keep));
    SCRIPT({.calls = {{"wait", "{}", NULL}}},
           {.calls = {{"search_tools", "{\"query\":\"brandnew\"}", "u"}}},
           {.text = "Done."});
    start_run();
    UNTIL(n_kept);
    put_in("late", SCRIPTED("TOOLS", TOOL("brandnew")), NULL);
    warm_up();
    answer_kept(0, "x");
    await_run();
    ck_assert_str_eq(tools_of(1), "search_tools wait");
    ck_assert_str_eq(tools_of(2), "search_tools wait mcp__late__brandnew");
    end_run();
}
END_TEST

/* ---- quarantine ---- */

#define REFUSED(words)                                                                   \
    {                                                                                    \
        .code = MCPLUG_EPEER, .status = 400, .why = words                                \
    }

static const struct {
    const char *words, *gone; /* NULL: none */
} refusals[] = {
    {"tools.1.custom.input_schema: JSON schema is invalid", "mcp__ex__add"},
    {"Invalid 'tools[1].function.name': string does not match", "mcp__ex__add"},
    {"Invalid schema for function 'mcp__ex__fail': not of type object", "mcp__ex__fail"},
    {"messages.3: all messages must have content", NULL},
    {"tools.99.name: too long", NULL},
    {"tools: too many", NULL},
    {"Unknown function mcp__ex__failing", NULL}, /* no whole word */
};

START_TEST(a_tool_that_the_api_refuses_is_left_out_and_it_is_asked_once_more)
{
    const char *gone = refusals[_i].gone;
    char want[128];
    begin_with_example();
    SCRIPT(REFUSED(refusals[_i].words),
           {.calls = {{"mcp__ex__echo", "{\"text\":\"x\"}", NULL}}}, {.text = "Done."});
    run_it();
    if (!gone) {
        FAILED(MCPLUG_EPEER, refusals[_i].words);
        ASKED_FOR(1);
    } else {
        RAN("done", "Done.");
        ck_assert_uint_eq(ran.result.steps, 2);
        ck_assert_ptr_nonnull(strstr(tools_of(0), gone));
        ck_assert_ptr_null(strstr(tools_of(1), gone));
        ck_assert_ptr_null(strstr(tools_of(2), gone));
        snprintf(want, sizeof want,
                 "warns the tool %s is left out, for the model's API "
                 "refuses it: ",
                 gone);
        TOLD(want);
        ck_assert_uint_eq(count(told, "warns "), 1);
    }
    end_run();
}
END_TEST

START_TEST(another_status_blames_no_tool)
{
    begin_with_example();
    SCRIPT({.code = MCPLUG_EPEER, .status = 500, .why = "tools.1: boom"});
    run_it();
    FAILED(MCPLUG_EPEER, "tools.1: boom");
    ASKED_FOR(1);
    end_run();
}
END_TEST

START_TEST(some_tools_are_left_out_and_not_all)
{
    begin_with_example();
    SCRIPT(REFUSED("tools.0: no"));
    run_it();
    FAILED(MCPLUG_EPEER, "tools.0: no");
    ASKED_FOR(9);
    end_run();
}
END_TEST

/* It is another tool when its server has changed it. */
START_TEST(a_tool_that_was_left_out_stays_out_while_it_is_the_same)
{
    begin_with_example();
    put_in("s", SCRIPTED("TOOLS", TOOL("bad")), NULL);
    warm_up();
    o.tools = TOOLS(OWN("wait", keep));
    SCRIPT(REFUSED("'mcp__s__bad' is bad"), {.calls = {{"wait", "{\"i\":1}", NULL}}},
           {.calls = {{"wait", "{\"i\":2}", NULL}}}, {.text = "Done."});
    start_run();
    UNTIL(n_kept == 1);
    ck_assert_ptr_null(strstr(tools_of(1), "mcp__s__bad"));
    mcplug_toolbox_remove(box, "ex", NULL, NULL, &err);
    answer_kept(0, "x");
    UNTIL(n_kept == 2);
    ck_assert_str_eq(tools_of(2), "wait");
    mcplug_toolbox_remove(box, "s", NULL, NULL, &err);
    put_in("s",
           SCRIPTED("TOOLS", "{\"name\":\"bad\",\"description\":\"Good now.\","
                             "\"inputSchema\":{\"type\":\"object\"}}"),
           NULL);
    warm_up();
    answer_kept(1, "x");
    await_run();
    RAN("done", "Done.");
    ck_assert_str_eq(tools_of(3), "wait mcp__s__bad");
    end_run();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, tools_of_the_program_come_first_and_those_of_the_servers_follow);
    tcase_add_test(tc, a_run_needs_no_toolbox);
    tcase_add_test(tc, a_tool_of_the_program_hides_that_of_a_server_and_it_is_said_once);
    tcase_add_test(tc, a_tool_that_models_refuse_is_left_out_and_it_is_said_once);
    tcase_add_test(tc, tools_are_repaired_for_the_api_of_the_model_and_it_is_logged_once);
    tcase_add_test(tc, beyond_what_a_request_may_have_tools_are_searched_for);
    tcase_add_test(tc, a_tool_of_the_program_that_models_refuse_fails_the_run);
    tcase_add_test(tc, a_program_has_so_many_tools_and_not_one_more);
    tcase_add_test(tc,
                   tools_that_come_between_steps_come_last_and_those_that_go_are_gone);
    tcase_add_test(tc, where_there_are_too_many_tools_the_model_searches);
    tcase_add_test(tc, tools_that_a_thread_has_used_are_offered_at_once);
    tcase_add_test(tc, tools_that_read_stored_results_are_offered_with_the_first_one);
    tcase_add_test(tc, how_much_definitions_may_take_is_up_to_the_program);
    tcase_add_loop_test(tc, tools_that_are_wanted_first_have_half_of_the_budget, 0,
                        MP_COUNT(wishes));
    tcase_add_test(tc, a_tool_that_is_wanted_first_and_comes_later_comes_last);
    tcase_add_test(
        tc, definitions_stay_byte_for_byte_and_what_is_found_follows_also_in_later_runs);
    tcase_add_test(tc, a_search_has_words_and_a_limit);
    tcase_add_test(tc, the_search_finds_servers_that_come_later);
    tcase_add_loop_test(tc,
                        a_tool_that_the_api_refuses_is_left_out_and_it_is_asked_once_more,
                        0, MP_COUNT(refusals));
    tcase_add_test(tc, another_status_blames_no_tool);
    tcase_add_test(tc, some_tools_are_left_out_and_not_all);
    tcase_add_test(tc, a_tool_that_was_left_out_stays_out_while_it_is_the_same);
}

int main(void)
{
    return run_suite("run_offer", add);
}
