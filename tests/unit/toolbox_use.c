/* Calling a tool by its name in the box, and the record of it. */
#include "box_kit.h"

#include "toolbox/toolbox.h"

/* A member of the record's JSON, which has to be one object. */
static mp_view member(const struct seen *s, const char *path)
{
    mp_view json = mp_text(s->json);
    ck_assert_msg(mp_frame_object(&json, "record", &err) == MCPLUG_OK, "%s", err.text);
    return mp_view_path(json, path);
}

static void begin_with_example(const char *era)
{
    begin(NULL);
    put_in("ex-ample", example(era), NULL);
    warm_up();
}

/* ---- L3 ---- */

START_TEST(l3_a_record_has_what_became_of_a_call)
{
    struct seen s;
    int64_t ms = -1;
    begin_with_example(NULL);
    used(&s, "mcp__ex_ample__echo", "{\"text\":\"two\\nlines \\\"and\\\" \\u0001\"}");
    ck_assert(s.ok && s.has_extras);
    ck_assert_int_eq(s.code, MCPLUG_OK);
    ck_assert_str_eq(s.result, "two\nlines \"and\" \001");
    ck_assert_uint_eq(s.len, strlen(s.result));
    ck_assert_str_eq(s.kind, "mcp");
    ck_assert_str_eq(s.name_space, "ex_ample");
    ck_assert_str_eq(s.server, "ex-ample");
    ck_assert_str_eq(s.tool, "echo");
    ck_assert_str_eq(s.index, "");
    ck_assert(mp_view_true(member(&s, "ok")));
    ck_assert(mp_view_equals(member(&s, "result"), s.result));
    ck_assert(mp_view_int(member(&s, "latencyMs"), &ms));
    ck_assert_uint_eq((uint64_t)ms, s.latency_ms);
    ck_assert(mp_view_equals(member(&s, "kind"), "mcp"));
    ck_assert(mp_view_equals(member(&s, "namespace"), "ex_ample"));
    ck_assert(mp_view_is_array(member(&s, "extras/content")));
    used(&s, "mcp__ex_ample__sleep", "{\"ms\":150}");
    ck_assert_uint_ge(s.latency_ms, 140);
    ck_assert_uint_lt(s.latency_ms, 30000);
    end();
}
END_TEST

static void on_record_json(void *arg, mcplug_call *call, const struct mcplug_record *r)
{
    (void)call;
    *(const struct mcplug_record **)arg = mcplug_record_ref(r);
}

START_TEST(the_json_of_a_record_is_written_once)
{
    const struct mcplug_record *r = NULL;
    begin_with_example(NULL);
    ck_assert_ptr_nonnull(mcplug_toolbox_call(
        box, "mcp__ex_ample__echo", "{\"text\":\"x\"}", NULL, on_record_json, &r, &err));
    UNTIL(r);
    char *json = (char *)(uintptr_t)mcplug_record_json(r);
    json[0] = '!'; /* would be gone if it were written again */
    ck_assert_ptr_eq(mcplug_record_json(r), json);
    ck_assert_int_eq(json[0], '!');
    mcplug_record_unref(r);
    end();
}
END_TEST

/* The server's part of the answer, and the text for a model. */
static const struct {
    const char *result, *text;
} shapes[] = {
    {"\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"data\":\"\"},"
     "{\"type\":\"text\",\"text\":\"b\"}]",
     "a\n[Unsupported image type: application/octet-stream]\nb"},
    {"\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"text\":\"in "
     "it\"}}]",
     "Resource: u\nin it"},
    {"\"structuredContent\":{\"n\":[1,2]}", "{\"n\":[1,2]}"},
    {"\"content\":[{\"type\":\"text\",\"text\":\"short\"}],\"structuredContent\":{\"n\":"
     "1}",
     "short\n{\"n\":1}"},
    {"\"content\":[{\"type\":\"image\",\"data\":\"\"}],\"structuredContent\":{\"n\":"
     "1}",
     "[Unsupported image type: application/octet-stream]\n{\"n\":1}"},
    {"\"toolResult\":\"old\"", "old"},
    {"\"toolResult\":{\"n\":1}", "{\"n\":1}"},
    {"\"content\":[]", ""},
    {"\"content\":[7,null,\"x\",{\"text\":5},[]]", "7\nnull\n\"x\"\n{\"text\":5}\n[]"},
    {"\"content\":[{\"type\":\"text\",\"text\":\"a\\u0000b\"}]", "a"},
};

START_TEST(l3_the_result_is_the_text_there_is)
{
    struct seen s;
    begin(NULL);
    put_in("s", SCRIPTED("TOOLS", TOOL("t"), "RESULT", shapes[_i].result), NULL);
    warm_up();
    used(&s, "mcp__s__t", NULL);
    ck_assert(s.ok);
    ck_assert_str_eq(s.result, shapes[_i].text);
    bool has_nul = strstr(shapes[_i].result, "u0000") != NULL;
    ck_assert_uint_eq(s.len, has_nul ? 3 : strlen(s.result));
    member(&s, "ok");
    end();
}
END_TEST

START_TEST(l3_a_tools_own_failure_is_not_ok_and_has_its_words)
{
    struct seen s;
    begin_with_example(NULL);
    used(&s, "mcp__ex_ample__fail", "{\"message\":\"out of paper\"}");
    ck_assert(!s.ok && s.has_extras);
    ck_assert_int_eq(s.code, MCPLUG_OK); /* it did answer */
    ck_assert_str_eq(s.result, "out of paper");
    ck_assert_uint_eq(s.len, strlen(s.result));
    ck_assert(!mp_view_true(member(&s, "ok")));
    ck_assert(mp_view_true(member(&s, "extras/isError")));
    LOGGED("VRB mcp:ex-ample Tool 'fail' failed after ");
    LOGGED("ms: out of paper");
    end();
}
END_TEST

START_TEST(l3_an_error_of_the_protocol_is_not_ok_and_says_why)
{
    struct seen s;
    begin(NULL);
    put_in("s",
           SCRIPTED("TOOLS", TOOL("t"), "ERROR",
                    "{\"code\":-32001,\"message\":\"not today\"}"),
           NULL);
    put_in("gone", SCRIPTED("TOOLS", TOOL("die")), NULL);
    warm_up();
    used(&s, "mcp__s__t", NULL);
    ck_assert(!s.ok && s.has_extras);
    ck_assert_int_eq(s.code, MCPLUG_EPEER);
    ck_assert_ptr_nonnull(strstr(s.result, "not today"));
    ck_assert(mp_view_equals(member(&s, "extras/message"), "not today"));
    used(&s, "mcp__gone__die", NULL);
    ck_assert(!s.ok && !s.has_extras);
    ck_assert_int_eq(s.code, MCPLUG_ECLOSED);
    ck_assert_msg(strstr(s.result, "status 3") != NULL, "%s", s.result);
    ck_assert(mp_bytes_eq(member(&s, "extras"), "{}"));
    ck_assert(mp_view_equals(member(&s, "result"), s.result));
    end();
}
END_TEST

/* A modern one, whose calls become tasks that it cancels itself. */
static const char gives_up[] =
    "while IFS= read -r line; do\n"
    "  id=${line#*\\\"id\\\":}; id=${id%%[,\\}]*}\n"
    "  case $line in\n"
    "  *server/discover*) is='\"resultType\":\"complete\",\"supportedVersions\":'\n"
    "    is=$is'[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}';;\n"
    "  *tools/list*) is='\"resultType\":\"complete\",\"tools\":[{\"name\":\"t\"}]';;\n"
    "  *) is='\"resultType\":\"task\",\"taskId\":\"T\",\"status\":\"cancelled\"';;\n"
    "  esac\n"
    "  printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{%s}}\\n' \"$id\" \"$is\"\n"
    "done; exit";

START_TEST(l3_a_call_that_the_server_cancels_says_so)
{
    struct seen s;
    begin(NULL);
    put_in("m", SCRIPTED("FIRST", gives_up), NULL);
    warm_up();
    used(&s, "mcp__m__t", NULL);
    ck_assert(!s.ok);
    ck_assert_str_eq(s.result, "the server cancelled the task");
    end();
}
END_TEST

START_TEST(l3_a_tool_that_is_known_to_index_code_is_marked)
{
    struct seen s;
    begin(NULL);
    put_in("Code_Index", example(NULL), NULL);
    warm_up();
    used(&s, "mcp__Code_Index__echo", "{\"text\":\"x\"}");
    ck_assert_str_eq(s.index, "code-index");
    LOGGED("VRB core code index code-index used by tool 'echo': ok");
    ck_assert_ptr_null(mp_code_index("serenade"));
    ck_assert_ptr_null(mp_code_index("seren"));
    ck_assert_ptr_null(mp_code_index(""));
    ck_assert_str_eq(mp_code_index("SERENA"), "serena");
    end();
}
END_TEST

/* ---- what is refused ---- */

START_TEST(a_tool_that_is_none_is_refused_in_words_for_a_model)
{
    struct seen s = {0};
    begin_with_example(NULL);
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__ex_ample__rm", NULL, NULL, on_record, &s, &err));
    ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
    ck_assert_str_eq(err.text,
                     "A tool with the name mcp__ex_ample__rm was not found. Only use "
                     "tools that are available in your given list of tools.");
    ck_assert_ptr_null(mcplug_toolbox_call(box, "", NULL, NULL, on_record, &s, NULL));
    turn_for(20);
    ck_assert_uint_eq(s.times, 0);
    end();
}
END_TEST

START_TEST(arguments_are_one_object_or_nothing)
{
    static const char *const wrong[] = {"[]", "7", "{", "{}{}", "nothing", "{\"a\":}"};
    static const char *const names[] = {"mcp__ex_ample__echo", "list-resources",
                                        "read-resource"};
    struct seen s = {0};
    begin_with_example(NULL);
    for (size_t i = 0; i < MP_COUNT(wrong); i++)
        for (size_t k = 0; k < MP_COUNT(names); k++) {
            ck_assert_ptr_null(
                mcplug_toolbox_call(box, names[k], wrong[i], NULL, on_record, &s, &err));
            ck_assert_int_eq(err.code, MCPLUG_EINVAL);
        }
    turn_for(20);
    ck_assert_uint_eq(s.times, 0);
    ck_assert_uint_eq(status_of("ex-ample").calls->issued, 0);
    end();
}
END_TEST

/* ---- S3 ---- */

static mp_view item(mp_view list, size_t i)
{
    struct mp_walk w = mp_walk_into(list);
    mp_view found;
    do
        ck_assert(mp_walk_element(&w, &found));
    while (i--);
    return found;
}

START_TEST(s3_list_resources_has_those_of_all_servers_or_of_one)
{
    struct seen s;
    begin_with_example(NULL);
    put_in("b",
           SCRIPTED("RESOURCES", "{\"uri\":\"x:1\",\"name\":\"r\",\"server\":\"a lie\"}"),
           NULL);
    warm_up();
    used(&s, "list-resources", NULL);
    ck_assert(s.ok && s.has_extras);
    ck_assert_str_eq(s.kind, "mcp_resource");
    ck_assert_str_eq(s.tool, "list-resources");
    ck_assert_str_eq(s.server, "");
    mp_view list = mp_text(s.result);
    ck_assert_uint_eq(mp_view_count(list), 4);
    ck_assert(mp_view_equals(mp_view_get(item(list, 0), "server"), "ex-ample"));
    ck_assert(mp_view_equals(mp_view_get(item(list, 0), "uri"), "example:///readme"));
    ck_assert(mp_view_equals(mp_view_get(item(list, 3), "server"), "b"));
    ck_assert_ptr_null(strstr(s.result, "a lie"));
    member(&s, "extras");
    used(&s, "list-resources", "{\"server\":\"b\"}");
    ck_assert_str_eq(s.result, "[{\"server\":\"b\",\"uri\":\"x:1\",\"name\":\"r\"}]");
    ck_assert_ptr_null(mcplug_toolbox_call(box, "list-resources", "{\"server\":\"c\"}",
                                           NULL, on_record, &s, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "there is no server \"c\"");
    end();
}
END_TEST

START_TEST(s3_read_resource_reads_one)
{
    static const char *const wrong[] = {NULL, "{}", "{\"server\":\"b\"}",
                                        "{\"server\":\"c\",\"uri\":\"x:1\"}",
                                        "{\"server\":7,\"uri\":\"x:1\"}"};
    struct seen s;
    begin_with_example(NULL);
    put_in("b", SCRIPTED("RESOURCES", "{\"uri\":\"x:1\",\"name\":\"r\"}"), NULL);
    warm_up();
    used(&s, "read-resource", "{\"server\":\"b\",\"uri\":\"x:\\\"1\"}");
    ck_assert(s.ok && s.has_extras);
    ck_assert_str_eq(s.result, "Resource: x:1\none\nResource: x:2\ntwo");
    ck_assert_str_eq(s.kind, "mcp_resource");
    ck_assert_str_eq(s.name_space, "b");
    ck_assert_str_eq(s.server, "b");
    used(&s, "read-resource", "{\"server\":\"ex-ample\",\"uri\":\"example:///nothing\"}");
    ck_assert(!s.ok);
    ck_assert_int_eq(s.code, MCPLUG_EPEER);
    memset(&s, 0, sizeof s);
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        ck_assert_ptr_null(mcplug_toolbox_call(box, "read-resource", wrong[i], NULL,
                                               on_record, &s, &err));
        ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    }
    ck_assert_uint_eq(s.times, 0);
    end();
}
END_TEST

/* ---- X2, X5, X6 ---- */

START_TEST(x2_the_time_for_a_tool_can_be_set_for_all)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 60};
    struct seen s;
    setenv("MCP_TOOL_TIMEOUT", "150", 1);
    begin_with_example(NULL);
    used(&s, "mcp__ex_ample__sleep", "{\"ms\":60000}");
    ck_assert(!s.ok);
    ck_assert_int_eq(s.code, MCPLUG_ETIMEDOUT);
    ck_assert_str_eq(s.result, "MCP tool call 'sleep' timed out after 150ms");
    memset(&s, 0, sizeof s);
    mcplug_toolbox_call(box, "mcp__ex_ample__sleep", "{\"ms\":60000}", &o, on_record, &s,
                        NULL);
    UNTIL(s.times);
    ck_assert_str_eq(s.result, "MCP tool call 'sleep' timed out after 60ms");
    unsetenv("MCP_TOOL_TIMEOUT");
    end();
}
END_TEST

START_TEST(x5_a_cancelled_call_has_no_words_and_nothing_failed)
{
    struct seen s, own, read;
    begin(NULL);
    put_in("s", SCRIPTED("TOOLS", TOOL("hang"), "RESOURCES", "{\"uri\":\"x:1\"}"), NULL);
    put_in("e", example(NULL), NULL);
    warm_up();
    mcplug_call *call = use(&s, "mcp__e__sleep", "{\"ms\":60000}");
    turn_for(50);
    mcplug_cancel(call);
    mcplug_cancel(use(&own, "list-resources", NULL));
    mcplug_cancel(use(&read, "read-resource", "{\"server\":\"s\",\"uri\":\"x:1\"}"));
    ck_assert_uint_eq(s.times + own.times + read.times, 0); /* never inside */
    UNTIL(s.times && own.times && read.times);
    turn_for(50);
    ck_assert_uint_eq(s.times + own.times + read.times, 3);
    const struct seen *all[] = {&s, &own, &read};
    for (size_t i = 0; i < 3; i++) {
        ck_assert(!all[i]->ok && !all[i]->has_extras);
        ck_assert_int_eq(all[i]->code, MCPLUG_ECANCELED);
        ck_assert_str_eq(all[i]->result, "");
        ck_assert_uint_eq(all[i]->len, 0);
        ck_assert(mp_bytes_eq(member(all[i], "result"), "\"\""));
    }
    ck_assert_ptr_null(strstr(logged, "failed"));
    ck_assert_ptr_null(strstr(logged, "WRN"));
    end();
}
END_TEST

START_TEST(x5_a_call_that_waits_for_its_server_can_be_cancelled)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 1};
    struct seen s;
    begin(NULL);
    put_in("s", SCRIPTED("TOOLS", TOOL("t"), "DELAY", "0.2"), &o);
    warm_up();
    UNTIL(status_of("s").state == MCPLUG_STATE_RESTING);
    mcplug_call *call = use(&s, "mcp__s__t", NULL);
    turn();
    mcplug_cancel(call);
    UNTIL(s.times);
    ck_assert_int_eq(s.code, MCPLUG_ECANCELED);
    ck_assert_str_eq(s.result, "");
    ck_assert_ptr_null(strstr(logged, "failed"));
    end();
}
END_TEST

static void on_step(void *arg, mcplug_call *call, double progress, double total,
                    const char *message)
{
    struct seen *s = arg;
    (void)total, (void)message;
    ck_assert_ptr_nonnull(call);
    s->steps++;
    s->progress = progress;
}

static void on_step_json(void *arg, mcplug_call *call, const char *params, size_t len)
{
    struct seen *s = arg;
    ck_assert_ptr_nonnull(call);
    ck_assert_uint_eq(len, strlen(params));
    s->params += strstr(params, "\"progressToken\"") != NULL;
}

static mcplug_call *asked_by;

static void on_elicit(void *arg, mcplug_server *server, mcplug_input *input,
                      const char *params, size_t len)
{
    (void)arg, (void)server, (void)params, (void)len;
    asked_by = mcplug_input_call(input);
    mcplug_input_answer(input, "{\"action\":\"decline\"}");
}

START_TEST(a_question_belongs_to_the_call_that_the_program_has)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .elicit = on_elicit};
    struct seen s;

    begin(NULL);
    put_in("e", example("modern"), &o);
    warm_up();
    mcplug_call *call = use(&s, "mcp__e__ask_name", NULL);
    UNTIL(asked_by);
    ck_assert_ptr_eq(asked_by, call);
    UNTIL(s.times);
    end();
}
END_TEST

/* _i: 0 legacy, 1 modern */
START_TEST(x6_meta_arrives_and_progress_comes_back)
{
    static const char trace[] =
        "\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"";
    char meta[256];
    struct seen s = {0};

    snprintf(meta, sizeof meta, "{%s,\"tracestate\":\"a=b\"}", trace);
    struct mcplug_call_options o = {.struct_size = sizeof o,
                                    .meta = meta,
                                    .progress = on_step,
                                    .progress_json = on_step_json,
                                    .progress_arg = &s};
    begin_with_example(_i ? "modern" : "legacy");
    ck_assert_ptr_nonnull(
        mcplug_toolbox_call(box, "mcp__ex_ample__meta", NULL, &o, on_record, &s, &err));
    UNTIL(s.times);
    ck_assert_msg(strstr(s.result, trace) != NULL, "%s", s.result);
    ck_assert_ptr_nonnull(strstr(s.result, "\"tracestate\":\"a=b\""));
    memset(&s, 0, sizeof s);
    mcplug_toolbox_call(box, "mcp__ex_ample__sleep", "{\"ms\":350}", &o, on_record, &s,
                        NULL);
    UNTIL(s.times);
    ck_assert_uint_ge(s.steps, 2);
    ck_assert(s.progress >= 200);
    ck_assert_uint_eq(s.params, s.steps);
    ck_assert_ptr_null(mcplug_toolbox_call(
        box, "mcp__ex_ample__meta", NULL,
        &(struct mcplug_call_options){.struct_size = sizeof o, .meta = "7"}, on_record,
        &s, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    end();
}
END_TEST

START_TEST(many_calls_run_at_once_and_each_has_its_answer)
{
    enum { CALLS = 300 };
    static struct seen all[CALLS];
    begin_with_example(NULL);
    put_in("b", example("modern"), NULL);
    warm_up();
    for (int i = 0; i < CALLS; i++) {
        char args[64];
        snprintf(args, sizeof args, "{\"text\":\"%d\"}", i);
        mcplug_call *call =
            use(&all[i], i % 2 ? "mcp__b__echo" : "mcp__ex_ample__echo", args);
        if (i % 10 == 9)
            mcplug_cancel(call);
    }
    for (int i = 0; i < CALLS; i++) {
        char want[16] = "";
        UNTIL(all[i].times);
        if (i % 10 != 9)
            snprintf(want, sizeof want, "%d", i);
        ck_assert_str_eq(all[i].result, want);
        ck_assert_str_eq(all[i].server, i % 2 ? "b" : "ex-ample");
    }
    turn_for(50);
    for (int i = 0; i < CALLS; i++)
        ck_assert_uint_eq(all[i].times, 1);
    ck_assert_uint_eq(box->under_way, 0);
    end();
}
END_TEST

START_TEST(a_result_that_is_too_long_says_so)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .max_memory = 100000};
    struct seen s;
    begin(NULL);
    put_in("e", example(NULL), &o);
    warm_up();
    used(&s, "mcp__e__big", "{\"bytes\":3000000}");
    ck_assert(s.ok);
    ck_assert_msg(strstr(s.result, "The result has 3,000,000 characters") == s.result,
                  "%s", s.result);
    ck_assert_uint_lt(s.len, 3000);
    used(&s, "mcp__e__big", "{\"bytes\":3000}");
    ck_assert_uint_eq(s.len, 3000);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, l3_a_record_has_what_became_of_a_call);
    tcase_add_test(tc, the_json_of_a_record_is_written_once);
    tcase_add_loop_test(tc, l3_the_result_is_the_text_there_is, 0, MP_COUNT(shapes));
    tcase_add_test(tc, l3_a_tools_own_failure_is_not_ok_and_has_its_words);
    tcase_add_test(tc, l3_an_error_of_the_protocol_is_not_ok_and_says_why);
    tcase_add_test(tc, l3_a_call_that_the_server_cancels_says_so);
    tcase_add_test(tc, l3_a_tool_that_is_known_to_index_code_is_marked);
    tcase_add_test(tc, a_tool_that_is_none_is_refused_in_words_for_a_model);
    tcase_add_test(tc, arguments_are_one_object_or_nothing);
    tcase_add_test(tc, s3_list_resources_has_those_of_all_servers_or_of_one);
    tcase_add_test(tc, s3_read_resource_reads_one);
    tcase_add_test(tc, x2_the_time_for_a_tool_can_be_set_for_all);
    tcase_add_test(tc, x5_a_cancelled_call_has_no_words_and_nothing_failed);
    tcase_add_test(tc, x5_a_call_that_waits_for_its_server_can_be_cancelled);
    tcase_add_test(tc, a_question_belongs_to_the_call_that_the_program_has);
    tcase_add_loop_test(tc, x6_meta_arrives_and_progress_comes_back, 0, 2);
    tcase_add_test(tc, many_calls_run_at_once_and_each_has_its_answer);
    tcase_add_test(tc, a_result_that_is_too_long_says_so);
}

int main(void)
{
    return run_suite("toolbox_use", add);
}
