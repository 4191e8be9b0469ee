#include "mirror_kit.h"

#include <stdio.h>
#include <stdlib.h>

/* What goes beside a call, and what happens when the server minds: x-mcp-header. */

static struct got ask(void)
{
    struct got g = {0};
    ck_assert_int_eq(mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &g, NULL), 0);
    fake_turn(&f);
    return g;
}

static void say_done(uint64_t id)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
              "\"content\":[]}}",
              ll(id));
}

/* ---- values ---- */

static const struct {
    const char *arguments, *value; /* NULL: no pair */
} values[] = {
    {"{\"v\":\"us-west1\"}", "us-west1"},
    {"{\"v\":\"\"}", ""},
    {"{\"v\":\" a\\tb\\n\\u00e9\\\"\\ud83d\\ude00 \"}",
     " a\tb\n\xc3\xa9\"\xf0\x9f\x98\x80 "},
    {"{\"v\":42}", "42"},
    {"{\"v\":-7}", "-7"},
    {"{\"v\":0}", "0"},
    {"{\"v\":9007199254740993}", "9007199254740993"},
    {"{\"v\":1.50}", "1.50"},
    {"{\"v\":1e3}", "1e3"},
    {"{\"v\":true}", "true"},
    {"{\"v\":false}", "false"},
    {"{\"v\":null}", NULL},
    {"{\"v\":{}}", NULL},
    {"{\"v\":[1]}", NULL},
    {"{\"w\":\"x\"}", NULL},
    {"{\"o\":{\"v\":\"deeper\"}}", NULL},
    {"{}", NULL},
    {NULL, NULL},
    {"{\"v\":\"a\\u0000b\"}", NULL},
    {"{\"\\u0076\":\"escaped name\"}", "escaped name"},
    {"{\n \"w\" : [1,\n {\"v\":3}] ,\n \"v\" :\n \"spaced\" }", "spaced"},
};

START_TEST(a_value_goes_along_as_it_is_in_the_arguments)
{
    start(true, MCPLUG_MIRRORS_PARAMS);
    list(TOOL("t", PROPERTY("v", "string", "V") "," PROPERTY("always", "integer", "Al")));
    call("t", values[_i].arguments);
    fake_expect(&f, "tools/call");
    const char *value = fake_meta(&f, "param:V");
    if (values[_i].value) {
        ck_assert_ptr_nonnull(value);
        ck_assert_str_eq(value, values[_i].value);
    } else {
        ck_assert_ptr_null(value);
    }
    ck_assert_uint_eq(fake_metas(&f, "param:"), value ? 1 : 0);
    fake_clear(&f);
}
END_TEST

START_TEST(duplicate_members_on_the_way_to_a_value_fail_the_call)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    start(true, MCPLUG_MIRRORS_PARAMS);
    list("{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"o\":{"
         "\"type\":\"object\",\"properties\":{" PROPERTY("v", "string", "V") "}}}}}");
    ck_assert_ptr_null(fake_call(f.server, "t",
                                 "{\"o\":{\"v\":\"first\",\"v\":\"last\"}}", NULL,
                                 on_outcome, &o, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "arguments: duplicate member \"v\"");
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

START_TEST(a_nested_argument_is_found_by_its_exact_path)
{
    start(true, MCPLUG_MIRRORS_PARAMS);
    list(TOOL(
        "t",
        "\"a/b\":{\"type\":\"object\",\"properties\":{\"\\u0063\":{\"type\":"
        "\"object\",\"properties\":{" PROPERTY("d", "integer", "Deep") "}}," PROPERTY(
            "d", "boolean", "Mid") "}}," PROPERTY("d", "string", "Top")));
    call("t", "{\"d\":\"top\",\"a/b\":{\"d\":false,\"c\":{\"e\":1,\"d\":3}}}");
    fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "param:Top"), "top");
    ck_assert_str_eq(fake_meta(&f, "param:Mid"), "false");
    ck_assert_str_eq(fake_meta(&f, "param:Deep"), "3");
    call("t", "{\"a/b\":{\"c\":\"d\"},\"a\":{\"b\":{\"d\":true}}}");
    fake_expect(&f, "tools/call");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 0);
    fake_clear(&f);
}
END_TEST

START_TEST(names_with_a_nul_in_them_are_told_apart)
{
    start(true, MCPLUG_MIRRORS_PARAMS);
    list(TOOL("t", PROPERTY("a\\u0000b", "string", "A")));
    call("t", "{\"a\":\"wrong\",\"a\\u0000c\":\"wrong\"}");
    fake_expect(&f, "tools/call");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 0);
    call("t", "{\"a\\u0000b\":\"right\"}");
    fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "param:A"), "right");
    fake_clear(&f);
}
END_TEST

START_TEST(a_tool_without_headers_has_no_pairs)
{
    start(true, MCPLUG_MIRRORS_PARAMS);
    list(REGION "," GOOD);
    call("good", "{\"region\":\"eu\"}");
    fake_expect(&f, "tools/call");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 0);
    ck_assert_uint_eq(fake_metas(&f, ""), 3);
    call("unheard", "{\"region\":\"eu\"}");
    fake_expect(&f, "tools/call");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 0);
    fake_clear(&f);
}
END_TEST

START_TEST(values_beyond_a_mebibyte_fail_the_call)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t limit = 1024 * 1024;
    char *args = malloc(limit + 64);

    start(true, MCPLUG_MIRRORS_PARAMS);
    list(REGION);
    for (size_t over = 0; over < 2; over++) {
        char *p = args + sprintf(args, "{\"region\":\"");
        memset(p, 'x', limit - 2 + over); /* its quotes count */
        strcpy(p + limit - 2 + over, "\"}");
        mcplug_call *c = fake_call(f.server, "t", args, NULL, on_outcome, &o, &err);
        ck_assert((c == NULL) == (over == 1));
    }
    ck_assert_int_eq(err.code, MCPLUG_ETOOBIG);
    ck_assert_ptr_nonnull(strstr(err.text, "longer than 1 MiB"));
    fake_expect(&f, "tools/call");
    ck_assert_uint_eq(fake_metas(&f, "param:Region"), 1);
    free(args);
    fake_clear(&f);
}
END_TEST

START_TEST(a_kept_list_and_a_failed_one_leave_what_is_known)
{
    struct got g = {0};

    start(true, MCPLUG_MIRRORS_PARAMS);
    mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &g, NULL);
    fake_turn(&f);
    say_tools(fake_expect(&f, "tools/list"), REGION, ",\"ttlMs\":1000");
    g = ask();
    ck_assert(fake_idle(&f));
    fake_pass(&f, 1000);
    mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &g, NULL);
    fake_turn(&f);
    say_tools(fake_expect(&f, "tools/list"), GOOD, ",\"nextCursor\":\"2\"");
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
              ll(fake_expect(&f, "tools/list")));
    ck_assert_int_eq(g.code, MCPLUG_EPROTO);
    call("t", "{\"region\":\"eu\"}");
    fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "param:Region"), "eu");
    fake_clear(&f);
}
END_TEST

/* ---- a refusal ---- */

#define ZONE TOOL("t", PROPERTY("zone", "string", "Zone"))
#define BOTH "{\"region\":\"eu\",\"zone\":\"a\"}"

/* A call for which no list was ever fetched is refused: the tools are on their way. */
static uint64_t refused(void)
{
    start(true, MCPLUG_MIRRORS_PARAMS);
    call("t", BOTH);
    uint64_t id = fake_expect(&f, "tools/call");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 0);
    ck_assert(fake_idle(&f)); /* nothing is fetched before the server minds */
    say_mismatch(id, "header missing");
    ck_assert_uint_eq(o.times, 0);
    return fake_expect(&f, "tools/list");
}

START_TEST(a_call_refused_for_its_headers_goes_out_again_with_those_of_the_new_list)
{
    say_tools(refused(), REGION, "");
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"method\":\"tools/call\""));
    ck_assert_ptr_nonnull(strstr(frame, "\"arguments\":" BOTH));
    ck_assert_str_eq(fake_meta(&f, "param:Region"), "eu");
    ck_assert_str_eq(fake_meta(&f, "name"), "t");
    say_done(fake_id(frame));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

START_TEST(a_second_refusal_is_the_end)
{
    say_tools(refused(), REGION, "");
    say_mismatch(fake_expect(&f, "tools/call"), "still wrong");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_EPEER);
    ck_assert_int_eq(o.peer_status, -32020);
    ck_assert_str_eq(o.text, "still wrong");
    ck_assert(fake_idle(&f));
    /* the next call may be refused, and helped, again */
    call("t", BOTH);
    say_mismatch(fake_expect(&f, "tools/call"), "changed");
    say_tools(fake_expect(&f, "tools/list"), ZONE, "");
    uint64_t id = fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "param:Zone"), "a");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 1);
    say_done(id);
    ck_assert_int_eq(o.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(a_kept_list_does_not_count_after_a_refusal)
{
    struct got g = {0};
    char refusal[128];

    start(true, MCPLUG_MIRRORS_PARAMS);
    mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &g, NULL);
    fake_turn(&f);
    say_tools(fake_expect(&f, "tools/list"), REGION, ",\"ttlMs\":100000");
    call("t", BOTH);
    snprintf(refusal, sizeof refusal,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32020,"
             "\"message\":\"changed\"}}",
             ll(fake_expect(&f, "tools/call")));
    /* somebody is about to get the kept list when the refusal comes */
    memset(&g, 0, sizeof g);
    mp_link_wire.feed(f.conn, 0, mp_text(refusal), 1);
    mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &g, NULL);
    fake_turn(&f);
    ck_assert_uint_eq(g.times, 0);
    say_tools(fake_expect(&f, "tools/list"), ZONE "," GOOD, ",\"ttlMs\":100000");
    fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "param:Zone"), "a");
    ck_assert_str_eq(g.names, "t good");
    g = ask(); /* what is kept now is the new one */
    ck_assert_str_eq(g.names, "t good");
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

START_TEST(calls_refused_together_share_one_fetch)
{
    struct outcome other = {0};

    start(true, MCPLUG_MIRRORS_PARAMS);
    call("t", BOTH);
    fake_request(f.server, "tools/call", "{\"arguments\":" BOTH ",\"name\":\"t\"}", NULL,
                 on_outcome, &other, NULL);
    uint64_t one = fake_expect(&f, "tools/call"), two = fake_expect(&f, "tools/call");
    ck_assert_str_eq(fake_meta(&f, "name"), "t");
    say_mismatch(one, "no");
    say_mismatch(two, "no");
    uint64_t id = fake_expect(&f, "tools/list");
    ck_assert(fake_idle(&f));
    say_tools(id, ZONE, "");
    for (int i = 0; i < 2; i++) {
        id = fake_expect(&f, "tools/call");
        ck_assert_str_eq(fake_meta(&f, "param:Zone"), "a");
        say_done(id);
    }
    ck_assert_uint_eq(o.times, 1);
    ck_assert_uint_eq(other.times, 1);
    ck_assert_int_eq(o.code, 0);
    ck_assert_int_eq(other.code, 0);
    fake_clear(&f);
}
END_TEST

START_TEST(when_the_new_list_fails_the_refusal_is_the_end)
{
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(refused()));
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.peer_status, -32020);
    ck_assert_str_eq(o.text, "header missing");
    ck_assert(fake_idle(&f));
    fake_clear(&f);

    refused();
    fake_hang_up(&f, 0, "gone");
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.peer_status, -32020);
    fake_clear(&f);

    fake_init(&f); /* a server that says it has no tools */
    f.ops.caps = MCPLUG_MIRRORS_PARAMS;
    fake_modern(&f, NULL, "{}");
    call("t", BOTH);
    say_mismatch(fake_expect(&f, "tools/call"), "odd");
    ck_assert_str_eq(o.text, "odd");
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

START_TEST(the_deadline_of_a_refused_call_stays)
{
    struct mcplug_call_options co = {.struct_size = sizeof co, .timeout_ms = 1000};

    for (int late = 0; late < 2; late++) {
        start(true, MCPLUG_MIRRORS_PARAMS);
        fake_call(f.server, "t", BOTH, &co, on_outcome, &o, NULL);
        uint64_t id = fake_expect(&f, "tools/call");
        fake_pass(&f, 600);
        say_mismatch(id, "no");
        id = fake_expect(&f, "tools/list");
        fake_pass(&f, 399);
        if (late)
            say_tools(id, REGION, "");
        ck_assert_uint_eq(o.times, 0);
        fake_pass(&f, 1);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_ETIMEDOUT);
        ck_assert_str_eq(o.text, "MCP tool call 't' timed out after 1s");
        if (!late) { /* its list comes to nobody */
            say_tools(id, REGION, "");
            ck_assert(fake_idle(&f));
        }
        fake_clear(&f);
    }
}
END_TEST

START_TEST(a_call_that_waits_for_the_tools_can_be_cancelled_and_closed)
{
    for (int closing = 0; closing < 2; closing++) {
        start(true, MCPLUG_MIRRORS_PARAMS);
        mcplug_call *c = call("t", BOTH);
        say_mismatch(fake_expect(&f, "tools/call"), "no");
        uint64_t id = fake_expect(&f, "tools/list");
        if (!closing) {
            mcplug_cancel(c);
            say_tools(id, REGION, ""); /* in the same turn, and too late */
            ck_assert_uint_eq(o.times, 1);
            ck_assert(fake_idle(&f));
        }
        fake_clear(&f);
        ck_assert_uint_eq(o.times, 1);
        ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    }
}
END_TEST

static mcplug_call *to_cancel;

static void cancel_other(void *arg, mcplug_call *c, mcplug_result *result,
                         const struct mcplug_error *why)
{
    (void)arg, (void)c, (void)result, (void)why;
    mcplug_cancel(to_cancel);
}

START_TEST(a_cancel_just_before_the_list_comes_counts)
{
    char reply[512];

    start(true, MCPLUG_MIRRORS_PARAMS);
    to_cancel = call("t", BOTH);
    fake_call(f.server, "u", NULL, NULL, cancel_other, NULL, NULL);
    say_mismatch(fake_expect(&f, "tools/call"), "no");
    uint64_t other = fake_expect(&f, "tools/call");
    snprintf(reply, sizeof reply,
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":[" REGION "]}}",
             ll(fake_expect(&f, "tools/list")));
    char done[128];
    snprintf(done, sizeof done, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
             ll(other));
    mp_link_wire.feed(f.conn, 0, mp_text(done), 1); /* both are delivered in one turn */
    mp_link_wire.feed(f.conn, 0, mp_text(reply), 1);
    fake_turn(&f);
    ck_assert_uint_eq(o.times, 1);
    ck_assert_int_eq(o.code, MCPLUG_ECANCELED);
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

START_TEST(other_errors_and_other_methods_are_not_tried_again)
{
    start(true, MCPLUG_MIRRORS_PARAMS);
    call("t", BOTH);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32602,\"message\":"
              "\"x\"}}",
              ll(fake_expect(&f, "tools/call")));
    ck_assert_int_eq(o.peer_status, -32602);
    fake_request(f.server, "prompts/get", "{\"name\":\"p\"}", NULL, on_outcome, &o, NULL);
    say_mismatch(fake_expect(&f, "prompts/get"), "x");
    ck_assert_int_eq(o.peer_status, -32020);
    ck_assert_uint_eq(o.times, 2);
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

START_TEST(each_round_has_the_headers)
{
    start(true, MCPLUG_MIRRORS_PARAMS);
    list(REGION);
    call("t", BOTH);
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":"
              "\"input_required\",\"requestState\":\"s\"}}",
              ll(fake_expect(&f, "tools/call")));
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"requestState\":\"s\""));
    ck_assert_str_eq(fake_meta(&f, "param:Region"), "eu");
    /* one that is refused is tried again with its state */
    say_mismatch(fake_id(frame), "changed");
    say_tools(fake_expect(&f, "tools/list"), ZONE, "");
    frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"requestState\":\"s\""));
    ck_assert_str_eq(fake_meta(&f, "param:Zone"), "a");
    /* and a task that comes of it has its own name, and none of them */
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"task\","
              "\"taskId\":\"k\",\"status\":\"working\"}}",
              ll(fake_id(frame)));
    fake_pass(&f, 1000);
    fake_expect(&f, "tasks/get");
    ck_assert_str_eq(fake_meta(&f, "name"), "k");
    ck_assert_uint_eq(fake_metas(&f, "param:"), 0);
    fake_clear(&f);
}
END_TEST

/* ---- names ---- */

static const struct {
    const char *method, *params, *name;
} names[] = {
    {"prompts/get", "{\"name\":\"p \\u00e9\",\"arguments\":{}}", "p \xc3\xa9"},
    {"resources/read", "{\"_meta\":{},\"uri\":\"file:///a%20b\"}", "file:///a%20b"},
    {"resources/read", "{\"\\u0075ri\":\"escaped\"}", "escaped"},
    {"tools/call", "{\"arguments\":{\"name\":\"inner\"},\"name\":\"t\"}", "t"},
    {"tasks/get", "{\"taskId\":\"k\"}", "k"},
    {"prompts/get", "{\"name\":\"\"}", ""},
    {"prompts/get", "{\"name\":7}", NULL},
    {"prompts/get", "{\"name\":\"a\\u0000b\"}", NULL},
    {"prompts/get", "{\"uri\":\"x\"}", NULL},
    {"prompts/get", NULL, NULL},
    {"resources/read", "{\"name\":\"x\"}", NULL},
    {"completion/complete", "{\"name\":\"x\",\"uri\":\"y\"}", NULL},
};

START_TEST(a_request_says_beside_it_what_it_is_about)
{
    for (int modern = 0; modern < 2; modern++) {
        start(modern, 0);
        fake_request(f.server, names[_i].method, names[_i].params, NULL, on_outcome, &o,
                     NULL);
        fake_expect(&f, names[_i].method);
        const char *name = fake_meta(&f, "name");
        ck_assert_msg(!name == !names[_i].name, "%s", names[_i].params);
        if (name)
            ck_assert_str_eq(name, names[_i].name);
        ck_assert_uint_eq(fake_metas(&f, ""), name ? 3 : 2);
        ck_assert_str_eq(fake_meta(&f, "method"), names[_i].method);
        fake_clear(&f);
    }
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, a_value_goes_along_as_it_is_in_the_arguments, 0,
                        MP_COUNT(values));
    tcase_add_test(tc, duplicate_members_on_the_way_to_a_value_fail_the_call);
    tcase_add_test(tc, a_nested_argument_is_found_by_its_exact_path);
    tcase_add_test(tc, names_with_a_nul_in_them_are_told_apart);
    tcase_add_test(tc, a_tool_without_headers_has_no_pairs);
    tcase_add_test(tc, values_beyond_a_mebibyte_fail_the_call);
    tcase_add_test(tc, a_kept_list_and_a_failed_one_leave_what_is_known);
    tcase_add_test(
        tc, a_call_refused_for_its_headers_goes_out_again_with_those_of_the_new_list);
    tcase_add_test(tc, a_second_refusal_is_the_end);
    tcase_add_test(tc, a_kept_list_does_not_count_after_a_refusal);
    tcase_add_test(tc, calls_refused_together_share_one_fetch);
    tcase_add_test(tc, when_the_new_list_fails_the_refusal_is_the_end);
    tcase_add_test(tc, the_deadline_of_a_refused_call_stays);
    tcase_add_test(tc, a_call_that_waits_for_the_tools_can_be_cancelled_and_closed);
    tcase_add_test(tc, a_cancel_just_before_the_list_comes_counts);
    tcase_add_test(tc, other_errors_and_other_methods_are_not_tried_again);
    tcase_add_test(tc, each_round_has_the_headers);
    tcase_add_loop_test(tc, a_request_says_beside_it_what_it_is_about, 0,
                        MP_COUNT(names));
}

int main(void)
{
    return run_suite("session_mirror_calls", add);
}
