/* The calls of one turn: their order, what is refused, and who is asked first. */
#include "run_kit.h"

#define READS(name) OWN(name, keep, .flags = MCPLUG_TOOL_READ_ONLY)
#define CALL10(name)                                                                     \
    {                                                                                    \
        {name, "{\"i\":0}", "u0"}, {name, "{\"i\":1}", "u1"}, {name, "{\"i\":2}", "u2"}, \
            {name, "{\"i\":3}", "u3"}, {name, "{\"i\":4}", "u4"},                        \
            {name, "{\"i\":5}", "u5"}, {name, "{\"i\":6}", "u6"},                        \
            {name, "{\"i\":7}", "u7"}, {name, "{\"i\":8}", "u8"},                        \
        {                                                                                \
            name, "{\"i\":9}", "u9"                                                      \
        }                                                                                \
    }

static const char answers[] = "U ok(u0,t '0') ok(u1,t '1') ok(u2,t '2') ok(u3,t '3') "
                              "ok(u4,t '4') ok(u5,t '5') ok(u6,t '6') ok(u7,t '7') "
                              "ok(u8,t '8') ok(u9,t '9')\n";

static void begin_with_example(void)
{
    begin_run();
    n_kept = 0;
    put_in("ex", example(NULL), NULL);
    warm_up();
}

static void begin_alone(void)
{
    begin_run();
    n_kept = 0;
}

/* ---- order ---- */

START_TEST(ten_reads_of_one_turn_run_beside_each_other_and_stand_in_order)
{
    char text[2] = "";
    begin_alone();
    o.tools = TOOLS(READS("t"));
    SCRIPT({.calls = CALL10("t")}, {.text = "Done."});
    start_run();
    UNTIL(n_kept == 10); /* and none has answered */
    for (size_t i = 10; i-- > 0;) {
        text[0] = (char)('0' + i);
        answer_kept(i, text);
    }
    await_run();
    RAN("done", "Done.");
    PROMPTED(1, answers);
    ck_assert_uint_eq(ran.result.calls, 10);
    end_run();
}
END_TEST

START_TEST(ten_effects_of_one_turn_come_one_after_another_in_order)
{
    char text[2] = "", want[16];
    begin_alone();
    o.tools = TOOLS(OWN("t", keep));
    SCRIPT({.calls = CALL10("t")}, {.text = "Done."});
    start_run();
    for (size_t i = 0; i < 10; i++) {
        UNTIL(n_kept > i);
        turn();
        turn();
        ck_assert_uint_eq(n_kept, i + 1); /* the next one waits */
        snprintf(want, sizeof want, "{\"i\":%zu}", i);
        ck_assert_str_eq(kept[i].arguments, want);
        text[0] = (char)('0' + i);
        answer_kept(i, text);
    }
    await_run();
    PROMPTED(1, answers);
    end_run();
}
END_TEST

START_TEST(an_effect_waits_for_the_reads_before_it_and_those_behind_it_wait)
{
    begin_alone();
    o.tools = TOOLS(READS("r"), OWN("w", keep));
    SCRIPT({.calls = {{"r", "{\"i\":0}", NULL},
                      {"r", "{\"i\":1}", NULL},
                      {"w", "{\"i\":2}", NULL},
                      {"r", "{\"i\":3}", NULL},
                      {"r", "{\"i\":4}", NULL}}},
           {.text = "Done."});
    start_run();
    UNTIL(n_kept == 2);
    answer_kept(1, "x");
    turn();
    turn();
    ck_assert_uint_eq(n_kept, 2);
    answer_kept(0, "x");
    UNTIL(n_kept == 3);
    turn();
    turn();
    ck_assert_uint_eq(n_kept, 3);
    ck_assert_str_eq(kept[2].arguments, "{\"i\":2}");
    answer_kept(2, "x");
    UNTIL(n_kept == 5);
    answer_kept(4, "x");
    answer_kept(3, "x");
    await_run();
    RAN("done", "Done.");
    end_run();
}
END_TEST

/* The first is never answered, and the second is: they were under way together. */
START_TEST(reads_of_one_server_overlap)
{
    begin_with_example();
    SCRIPT({.calls = {{"mcp__ex__sleep", "{\"ms\":3600000}", "u1"},
                      {"mcp__ex__echo", "{\"text\":\"x\"}", "u2"}}});
    start_run();
    UNTIL(strstr(told, "ends u2"));
    TOLD("begins u1");
    NOT_TOLD("ends u1");
    UNTIL(strstr(told, "reports u1 mcp__ex__sleep@ex ")); /* progress */
    mcplug_cancel(run_call);
    await_run();
    end_run();
}
END_TEST

START_TEST(effects_of_one_server_wait_and_those_of_another_do_not)
{
    begin_with_example();
    put_in("s", SCRIPTED("TOOLS", TOOL("hang") "," TOOL("t")), NULL);
    warm_up();
    o.tools = TOOLS(OWN("w", reply_now));
    SCRIPT({.calls = {{"mcp__s__hang", "{}", "u1"},
                      {"mcp__s__t", "{}", "u2"},
                      {"mcp__ex__grow", "{}", "u3"},
                      {"w", "{}", "u4"}}});
    start_run();
    UNTIL(strstr(told, "ends u3") && strstr(told, "ends u4"));
    TOLD("begins u1");
    NOT_TOLD("begins u2");
    mcplug_cancel(run_call);
    await_run();
    NOT_TOLD("begins u2");
    end_run();
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *name, *arguments, *words; /* as a result */
} wrong[] = {
    {"nix", "{}",
     "A tool with the name nix was not found. Only use tools that are available in your "
     "given list of tools."},
    {"", "{}",
     "A tool with the name  was not found. Only use tools that are available in your "
     "given list of tools."},
    {"nix", "{",
     "A tool with the name nix was not found. Only use tools that are "
     "available in your given list of tools."},
    {"t", "{\"a\":", "The arguments of this call are not a JSON object: call it again."},
    {"t", "[]", "The arguments of this call are not a JSON object: call it again."},
    {"t", "{\"a\":1,\"a\":2}",
     "The arguments of this call are not a JSON object: call it again."},
    {"t", "{}", "The arguments do not fit the tool: "},
    {"t", "{\"a\":\"one\"}", "The arguments do not fit the tool: "},
    {"t", "", "The arguments do not fit the tool: "}, /* which is {} */
    {"shown", "{\"a\":\"one\"}", "The arguments do not fit the tool: "},
    {"shown", "[", "The arguments of this call are not a JSON object: call it again."},
    {"mcp__ex__add", "{\"a\":\"one\",\"b\":2}", "The arguments do not fit the tool: "},
};

START_TEST(a2_what_cannot_be_called_is_answered_and_nothing_runs)
{
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},"
        "\"required\":[\"a\"]}";
    char want[512];
    begin_with_example();
    o.tools = TOOLS(OWN("t", keep, .schema = schema),
                    OWN("shown", NULL, .flags = MCPLUG_TOOL_SHOWN, .schema = schema));
    SCRIPT({.calls = {{wrong[_i].name, wrong[_i].arguments, "u"}}}, {.text = "I see."});
    run_it();
    RAN("done", "I see.");
    snprintf(want, sizeof want, "U failed(u,%s '%s", wrong[_i].name, wrong[_i].words);
    PROMPTED(1, want);
    ck_assert_uint_eq(n_kept, 0);
    ck_assert_uint_eq(ran.result.calls, 0);
    end_run();
}
END_TEST

START_TEST(a_long_name_is_cut_between_characters)
{
    char name[1000];
    begin_alone();
    for (size_t i = 0; i + 2 < sizeof name; i += 2)
        memcpy(name + i, "\xc3\xa9", 3);
    memmove(name + 1, name, sizeof name - 1);
    name[0] = 'x';
    name[sizeof name - 1] = '\0';
    SCRIPT({.calls = {{name, "{}", "u"}}}, {.text = "I see."});
    run_it();
    PROMPTED(1, "\xc3\xa9 was not found. Only");
    end_run();
}
END_TEST

START_TEST(arguments_that_nest_too_deep_are_refused)
{
    char deep[200] = "{\"x\":";
    begin_alone();
    o.tools = TOOLS(OWN("t", reply_now));
    memset(deep + 5, '[', MP_THREAD_DEPTH);
    memset(deep + 5 + MP_THREAD_DEPTH, ']', MP_THREAD_DEPTH);
    strcpy(deep + 5 + 2 * MP_THREAD_DEPTH, "}");
    SCRIPT({.calls = {{"t", deep, "u"}}}, {.text = "I see."});
    run_it();
    PROMPTED(1, "failed(u,t 'The arguments of this call are not a JSON object: ");
    deep[5] = ' '; /* one level less */
    deep[4 + 2 * MP_THREAD_DEPTH] = ' ';
    SCRIPT({.calls = {{"t", deep, "u"}}}, {.text = "I see."});
    mcplug_thread_say(thread, "again");
    run_it();
    PROMPTED(1, "ok(u,t '");
    end_run();
}
END_TEST

START_TEST(a_turn_has_so_many_calls_and_not_one_more)
{
    static struct script_call many[MP_ANSWER_CALLS + 1];
    begin_alone();
    for (size_t i = 0; i < MP_COUNT(many); i++)
        many[i] = (struct script_call){"t", "{}", NULL};
    o.tools = TOOLS(OWN("t", reply_now));
    o.max_repeats = 100000;
    SCRIPT({.more = many, .n_more = MP_ANSWER_CALLS}, {.text = "Done."},
           {.more = many, .n_more = MP_ANSWER_CALLS + 1});
    run_it();
    RAN("done", "Done.");
    ck_assert_uint_eq(ran.result.calls, MP_ANSWER_CALLS);
    mcplug_thread_say(thread, "more");
    run_it();
    FAILED(MCPLUG_ETOOBIG, "the answer of the model has more than 64 MiB or 1024 calls");
    end_run();
}
END_TEST

START_TEST(ids_are_made_up_where_there_are_none_or_two_alike)
{
    begin_alone();
    o.tools = TOOLS(OWN("t", reply_now));
    SCRIPT({.calls = {{"t", "{\"i\":1}", NULL},
                      {"t", "{\"i\":2}", "a"},
                      {"t", "{\"i\":3}", "a"},
                      {"t", "{\"i\":4}", ""},
                      {"t", "{\"i\":5}", "call_2_5"}}},
           {.text = "Done."}, {.calls = {{"t", "{\"i\":6}", NULL}}}, {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "A use(call_1_1,t,{\"i\":1}) use(a,t,{\"i\":2}) use(call_2_3,t,{\"i\":3})"
                " use(call_2_4,t,{\"i\":4}) use(call_2_5,t,{\"i\":5})\n");
    mcplug_thread_say(thread, "more"); /* and are unique in the thread */
    run_it();
    PROMPTED(3, "A use(call_5_1,t,{\"i\":6})\n");
    end_run();
}
END_TEST

/* ---- what becomes of servers and tools ---- */

START_TEST(a_server_that_dies_in_a_turn_is_an_error_for_the_model_and_comes_back)
{
    begin_run();
    put_in("s",
           SCRIPTED("TOOLS", TOOL("die") "," TOOL("t"), "RESULT",
                    "\"content\":[{\"type\":\"text\",\"text\":\"alive\"}]"),
           NULL);
    warm_up();
    SCRIPT({.calls = {{"mcp__s__t", "{}", "u1"}, {"mcp__s__die", "{}", "u2"}}},
           {.calls = {{"mcp__s__t", "{}", "u3"}}}, {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "U ok(u1,mcp__s__t 'alive') failed(u2,mcp__s__die 'MCP tool execution "
                "failed: ");
    PROMPTED(1, "status 3");
    PROMPTED(2, "U ok(u3,mcp__s__t 'alive')\n");
    end_run();
}
END_TEST

static void remove_server(void *arg, mcplug_use *u, const char *arguments, size_t len)
{
    (void)arg, (void)arguments, (void)len;
    ck_assert_int_eq(mcplug_toolbox_remove(box, "ex", NULL, NULL, &err), MCPLUG_OK);
    mcplug_use_answer(u, "removed", 7, 0);
}

/* One call of it is under way, one has yet to begin. */
START_TEST(a_server_that_is_removed_in_a_turn_ends_no_run)
{
    begin_with_example();
    o.tools = TOOLS(OWN("remove", remove_server),
                    OWN("echo", NULL, .flags = MCPLUG_TOOL_MCP, .integration = "ex"));
    SCRIPT({.calls = {{"mcp__ex__sleep", "{\"ms\":3600000}", "u1"},
                      {"remove", "{}", "u2"},
                      {"mcp__ex__grow", "{}", "u3"},
                      {"echo", "{\"text\":\"x\"}", "u4"}}},
           {.calls = {{"mcp__ex__echo", "{\"text\":\"x\"}", "u5"}}}, {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "U failed(u1,mcp__ex__sleep 'MCP tool execution failed: ");
    PROMPTED(1,
             "failed(u3,mcp__ex__grow 'A tool with the name mcp__ex__grow was not "
             "found. Only use tools that are available in your given list of tools.')");
    PROMPTED(1, "failed(u4,echo 'MCP tool execution failed unexpectedly: the server ex "
                "has no tool echo now')\n");
    PROMPTED(1, "|remove echo|\n");
    PROMPTED(2, "failed(u5,mcp__ex__echo 'A tool with the name mcp__ex__echo was not ");
    end_run();
}
END_TEST

START_TEST(tools_of_our_own_say_what_is_wrong)
{
    begin_with_example();
    SCRIPT({.calls = {{"list-resources", "{\"server\":\"nix\"}", "u1"}}},
           {.text = "Done."});
    run_it();
    PROMPTED(1, "failed(u1,list-resources 'MCP tool execution failed: there is no server "
                "\"nix\"')");
    TOLD("begins u1 list-resources@ {");
    end_run();
}
END_TEST

START_TEST(images_stand_among_texts)
{
    static const char image[] = "{\"type\":\"image\",\"mimeType\":\"image/"
                                "gif\",\"data\":\"R0lGODlhAQABAIAAAAAAAP/"
                                "/"
                                "/yH5BAEAAAAALAAAAAABAAEAAAIBRAA7\"}";
    char result[1024];
    begin_run();
    snprintf(result, sizeof result,
             "\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","
             "\"text\":\"b\"},%s,{\"type\":\"text\",\"text\":\"c\"}]",
             image);
    put_in("s", SCRIPTED("TOOLS", TOOL("t"), "RESULT", result), NULL);
    warm_up();
    SCRIPT({.calls = {{"mcp__s__t", "{}", "u"}}}, {.text = "Done."});
    run_it();
    PROMPTED(1, "U ok(u,mcp__s__t 'a\nb' image/gif[56] 'c')\n");
    TOLD("ends u mcp__s__t@s ok: a\nb\n");
    end_run();
}
END_TEST

START_TEST(a4_a_tool_of_the_program_fails_in_its_own_words)
{
    begin_alone();
    o.tools = TOOLS(OWN("t", fail_now, .arg = (void *)(uintptr_t) "disk full"));
    SCRIPT({.calls = {{"t", "{}", "u"}}}, {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "U failed(u,t 'disk full')\n");
    TOLD("ends u t@ failed: disk full\n");
    LOGGED("WRN core tool 't': failed after ");
    end_run();
}
END_TEST

/* ---- asking first ---- */

static void ask_user(void *arg, mcplug_use *u, const char *server, const char *tool,
                     const char *arguments, size_t len)
{
    char line[256];
    snprintf(line, sizeof line, "%s@%s %s", tool, server, arguments);
    ck_assert_uint_eq(strlen(arguments), len);
    ck_assert_ptr_eq(arg, &ran);
    keep(arg, u, line, strlen(line));
}

START_TEST(what_may_have_effects_is_asked_about_one_at_a_time)
{
    begin_with_example();
    put_in("s", SCRIPTED("TOOLS", TOOL("t")), NULL);
    warm_up();
    o.approve = ask_user;
    o.tools =
        TOOLS(OWN("w", reply_now), OWN("r", reply_now, .flags = MCPLUG_TOOL_READ_ONLY));
    SCRIPT({.calls = {{"mcp__ex__grow", "{}", "u1"},
                      {"mcp__s__t", "{\"a\":1}", "u2"},
                      {"w", "{}", "u3"},
                      {"nix", "{}", "u4"}}},
           {.calls = {{"r", "{}", "u5"}, {"mcp__ex__echo", "{\"text\":\"x\"}", "u6"}}},
           {.text = "Done."});
    start_run();
    UNTIL(strstr(told, "ends u4")); /* which nobody is asked about */
    ck_assert_uint_eq(n_kept, 1);
    ck_assert_str_eq(kept[0].arguments, "mcp__ex__grow@ex {}");
    NOT_TOLD("begins");
    mcplug_use_allow(kept[0].use);
    UNTIL(n_kept == 2);
    ck_assert_str_eq(kept[1].arguments, "mcp__s__t@s {\"a\":1}");
    answer_kept(1, "The user says no.");
    UNTIL(n_kept == 3);
    ck_assert_str_eq(kept[2].arguments, "w@ {}");
    mcplug_use_answer(kept[2].use, "Not that.", 9, 1);
    await_run();
    RAN("done", "Done.");
    ck_assert_uint_eq(n_kept, 3); /* reading needs no word */
    PROMPTED(1, "U ok(u1,mcp__ex__grow ");
    PROMPTED(1, " ok(u2,mcp__s__t 'The user says no.') failed(u3,w 'Not that.') ");
    NOT_TOLD("begins u2");
    NOT_TOLD("begins u3");
    TOLD("ends u2 mcp__s__t@s ok: The user says no.\n");
    ck_assert_uint_eq(ran.result.calls, 3);
    end_run();
}
END_TEST

static void allow_now(void *arg, mcplug_use *u, const char *server, const char *tool,
                      const char *arguments, size_t len)
{
    (void)arg, (void)server, (void)tool, (void)arguments, (void)len;
    mcplug_use_allow(u);
}

START_TEST(what_is_allowed_at_once_runs_at_once_and_in_order)
{
    begin_alone();
    o.approve = allow_now;
    o.tools = TOOLS(OWN("t", reply_now));
    SCRIPT({.calls = {{"t", "{\"i\":1}", "a"}, {"t", "{\"i\":2}", "b"}}},
           {.text = "Done."});
    run_it();
    PROMPTED(1, "U ok(a,t '{\"i\":1}') ok(b,t '{\"i\":2}')\n");
    end_run();
}
END_TEST

static void allow_itself(void *arg, mcplug_use *u, const char *arguments, size_t len)
{
    mcplug_use_allow(u); /* nothing was asked */
    keep(arg, u, arguments, len);
}

START_TEST(what_runs_already_cannot_be_allowed)
{
    begin_alone();
    o.tools = TOOLS(OWN("t", allow_itself));
    SCRIPT({.calls = {{"t", "{}", "a"}}}, {.text = "Done."});
    start_run();
    UNTIL(n_kept);
    turn();
    turn();
    ck_assert_uint_eq(n_kept, 1);
    answer_kept(0, "x");
    await_run();
    RAN("done", "Done.");
    mcplug_use_answer(NULL, "x", 1, 0);
    mcplug_use_allow(NULL);
    ck_assert(!mcplug_use_is_cancelled(NULL));
    end_run();
}
END_TEST

/* ---- rules of the configuration ---- */

static const char *const any[] = {"any", NULL};

static void begin_with_rules(const char *const *approved, const char *const *asked)
{
    static const char *const denied[] = {"exit", NULL};
    struct mcplug_server_options so = {.struct_size = sizeof so,
                                       .tools_denied = denied,
                                       .tools_approved = approved,
                                       .tools_asked = asked};
    begin_run();
    n_kept = 0;
    put_in("ex", example(NULL), &so);
    warm_up();
}

START_TEST(what_is_approved_is_not_asked_about)
{
    begin_with_rules((const char *const[]){"GR*", NULL}, NULL);
    o.approve = ask_user;
    o.tools = TOOLS(OWN("grow", NULL, .flags = MCPLUG_TOOL_MCP, .integration = "ex"));
    SCRIPT({.calls = {{"mcp__ex__grow", "{}", "u1"},
                      {"grow", "{}", "u2"},
                      {"mcp__ex__touch", "{\"uri\":\"example:///readme\"}", "u3"}}},
           {.text = "Done."});
    start_run();
    UNTIL(n_kept); /* of the one that no rule names */
    TOLD("ends u1 mcp__ex__grow@ex ok");
    TOLD("ends u2 grow@ex ok");
    ck_assert(!mcplug_use_must_ask(kept[0].use));
    mcplug_use_allow(kept[0].use);
    await_run();
    ck_assert_uint_eq(n_kept, 1);
    PROMPTED(1, " ok(u3,mcp__ex__touch ");
    end_run();
}
END_TEST

/* Also where the tool only reads, and where it is approved as well. */
START_TEST(what_must_be_asked_about_always_is)
{
    begin_with_rules(any, (const char *const[]){"e?ho", "ECHO", NULL});
    o.approve = ask_user;
    SCRIPT({.calls = {{"mcp__ex__echo", "{\"text\":\"x\"}", "u1"},
                      {"mcp__ex__grow", "{}", "u2"},
                      {"mcp__ex__add", "{\"a\":1,\"b\":2}", "u3"}}},
           {.calls = {{"mcp__ex__echo", "{\"text\":\"x\"}", "u4"}}}, {.text = "Done."});
    start_run();
    UNTIL(n_kept == 1);
    ck_assert(mcplug_use_must_ask(kept[0].use));
    ck_assert_str_eq(kept[0].arguments, "mcp__ex__echo@ex {\"text\":\"x\"}");
    mcplug_use_allow(kept[0].use);
    UNTIL(n_kept == 2); /* in the next step again */
    answer_kept(1, "No.");
    await_run();
    PROMPTED(1, "U ok(u1,mcp__ex__echo 'x') ok(u2,mcp__ex__grow ");
    PROMPTED(2, "U ok(u4,mcp__ex__echo 'No.')\n");
    ck_assert(!mcplug_use_must_ask(NULL));
    end_run();
}
END_TEST

START_TEST(what_must_be_asked_about_is_refused_where_nobody_can_be_asked)
{
    begin_with_rules(NULL, (const char *const[]){"echo", NULL});
    SCRIPT({.calls = {{"mcp__ex__echo", "{\"text\":\"x\"}", "u1"},
                      {"mcp__ex__grow", "{}", "u2"}}},
           {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "U failed(u1,mcp__ex__echo 'This call was not allowed: the user must "
                "confirm each call of this tool, and cannot be asked here. Do not call "
                "it again.') ok(u2,mcp__ex__grow ");
    NOT_TOLD("begins u1");
    end_run();
}
END_TEST

START_TEST(what_is_denied_cannot_be_approved)
{
    begin_with_rules(any, NULL);
    o.approve = ask_user;
    o.tools = TOOLS(OWN("exit", NULL, .flags = MCPLUG_TOOL_MCP, .integration = "ex"));
    SCRIPT({.calls = {{"mcp__ex__exit", "{\"code\":3}", "u1"},
                      {"exit", "{\"code\":3}", "u2"}}},
           {.text = "Done."});
    run_it();
    RAN("done", "Done.");
    PROMPTED(1, "U failed(u1,mcp__ex__exit 'A tool with the name mcp__ex__exit was not ");
    PROMPTED(1, "failed(u2,exit 'MCP tool execution failed unexpectedly: the server ex "
                "has no tool exit now')\n");
    end_run();
}
END_TEST

/* ---- tools that are shown ---- */

START_TEST(a4_a_tool_that_is_shown_waits_for_the_user_and_feeds_the_next_run)
{
    begin_with_example();
    o.tools = TOOLS(OWN("form", NULL, .flags = MCPLUG_TOOL_SHOWN));
    o.approve = ask_user; /* showing has no effects */
    SCRIPT({.text = "Please fill in. ",
            .calls = {{"form", "{\"q\":1}", "u1"},
                      {"mcp__ex__echo", "{\"text\":\"x\"}", "u2"},
                      {"form", "{\"q\":2}", "u3"}}},
           {.text = "Thanks."});
    run_it();
    RAN("asked", "Please fill in. ");
    ASKED_FOR(1);
    TOLD("begins u1 form@ {\"q\":1}\n");
    ck_assert_ptr_null(strstr(strstr(told, "begins u1") + 1, "begins u1")); /* once */
    TOLD("begins u3 form@ {\"q\":2}\n");
    NOT_TOLD("ends u1");
    ck_assert_uint_eq(ran.result.calls, 1);
    ck_assert_uint_eq(n_kept, 0);
    ck_assert_uint_eq(mcplug_thread_count(thread), 3);
    /* A program that reads it from a file goes on as well. */
    char *json = strdup(mcplug_thread_json(thread, NULL));
    mcplug_thread_free(thread);
    thread = mcplug_thread_parse(json, strlen(json), &err);
    free(json);
    ck_assert_int_eq(mcplug_thread_answer(thread, "u3", "two", &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_answer(thread, "u1", "one", &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_thread_say(thread, "there"), MCPLUG_OK);
    run_it();
    RAN("done", "Thanks.");
    PROMPTED(1, "U ok(u1,form 'one') ok(u2,mcp__ex__echo 'x') ok(u3,form 'two') "
                "'there'\n");
    end_run();
}
END_TEST

START_TEST(a4_what_the_user_has_not_answered_is_told_to_the_model)
{
    begin_alone();
    o.tools = TOOLS(OWN("form", NULL, .flags = MCPLUG_TOOL_SHOWN));
    SCRIPT({.calls = {{"form", "{}", "u1"}, {"form", "{}", "u2"}}}, {.text = "Well."});
    run_it();
    RAN("asked", "");
    mcplug_thread_answer(thread, "u2", "yes", &err);
    run_it();
    RAN("done", "Well.");
    PROMPTED(1, "U failed(u1,form 'The user has not answered.') ok(u2,form 'yes')\n");
    end_run();
}
END_TEST

/* ---- what tools answer ---- */

static void answer_nothing(void *arg, mcplug_use *u, const char *arguments, size_t len)
{
    (void)arg, (void)arguments, (void)len;
    mcplug_use_answer(u, NULL, 5, 0);
}

START_TEST(an_empty_answer_is_said_to_be_one)
{
    begin_alone();
    o.tools = TOOLS(OWN("t", answer_nothing));
    SCRIPT({.calls = {{"t", "{}", "u"}}}, {.text = "Done."});
    run_it();
    PROMPTED(1, "U ok(u,t '(no output)')\n");
    end_run();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, ten_reads_of_one_turn_run_beside_each_other_and_stand_in_order);
    tcase_add_test(tc, ten_effects_of_one_turn_come_one_after_another_in_order);
    tcase_add_test(tc, an_effect_waits_for_the_reads_before_it_and_those_behind_it_wait);
    tcase_add_test(tc, reads_of_one_server_overlap);
    tcase_add_test(tc, effects_of_one_server_wait_and_those_of_another_do_not);
    tcase_add_loop_test(tc, a2_what_cannot_be_called_is_answered_and_nothing_runs, 0,
                        MP_COUNT(wrong));
    tcase_add_test(tc, a_long_name_is_cut_between_characters);
    tcase_add_test(tc, arguments_that_nest_too_deep_are_refused);
    tcase_add_test(tc, a_turn_has_so_many_calls_and_not_one_more);
    tcase_add_test(tc, ids_are_made_up_where_there_are_none_or_two_alike);
    tcase_add_test(tc,
                   a_server_that_dies_in_a_turn_is_an_error_for_the_model_and_comes_back);
    tcase_add_test(tc, a_server_that_is_removed_in_a_turn_ends_no_run);
    tcase_add_test(tc, tools_of_our_own_say_what_is_wrong);
    tcase_add_test(tc, images_stand_among_texts);
    tcase_add_test(tc, a4_a_tool_of_the_program_fails_in_its_own_words);
    tcase_add_test(tc, what_may_have_effects_is_asked_about_one_at_a_time);
    tcase_add_test(tc, what_is_allowed_at_once_runs_at_once_and_in_order);
    tcase_add_test(tc, what_runs_already_cannot_be_allowed);
    tcase_add_test(tc, what_is_approved_is_not_asked_about);
    tcase_add_test(tc, what_must_be_asked_about_always_is);
    tcase_add_test(tc, what_must_be_asked_about_is_refused_where_nobody_can_be_asked);
    tcase_add_test(tc, what_is_denied_cannot_be_approved);
    tcase_add_test(tc, a4_a_tool_that_is_shown_waits_for_the_user_and_feeds_the_next_run);
    tcase_add_test(tc, a4_what_the_user_has_not_answered_is_told_to_the_model);
    tcase_add_test(tc, an_empty_answer_is_said_to_be_one);
}

int main(void)
{
    return run_suite("run_use", add);
}
