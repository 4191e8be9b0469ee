/* The tools of many servers under one set of names, with real servers behind them. */
#include "box_kit.h"

#include "quick.h"
#include "toolbox/toolbox.h"

#include <time.h>

static const char *found_server, *found_tool;

static bool find(const char *name)
{
    return mcplug_toolbox_find(box, name, &found_server, &found_tool);
}

static bool is_listed(const char *name)
{
    for (size_t i = 0; i < mcplug_toolbox_count(box); i++)
        if (strcmp(mcplug_toolbox_name(box, i), name) == 0)
            return true;
    return false;
}

static unsigned count_named(const char *name)
{
    unsigned n = 0;
    for (size_t i = 0; i < mcplug_toolbox_count(box); i++)
        n += strcmp(mcplug_toolbox_name(box, i), name) == 0;
    return n;
}

/* ---- names ---- */

/* Each leads back to where it came from, and no two are the same. */
static void check_names(const char *prefix)
{
    for (size_t i = 0; i < mcplug_toolbox_count(box); i++) {
        const char *name = mcplug_toolbox_name(box, i);
        size_t len = 0;
        mp_view tool = mp_bytes(mcplug_toolbox_tool(box, i, &len), 0);
        tool.len = len;
        HOLDS(mp_frame_object(&tool, "tool", &err) == MCPLUG_OK, "%s", err.text);
        HOLDS(mp_view_equals(mp_view_get(tool, "name"), name), "%s", name);
        HOLDS(find(name), "%s", name);
        if (!*found_server)
            continue;
        HOLDS(strncmp(name, prefix, strlen(prefix)) == 0, "%s", name);
        HOLDS(strlen(name) <= 64, "%s", name);
        HOLDS(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789_") == strlen(name),
              "%s", name);
        mcplug_server *h = mcplug_toolbox_server(box, found_server);
        HOLDS(mcplug_list_find(mcplug_server_list(h, MCPLUG_TOOLS), found_tool) >= 0,
              "%s", found_tool);
    }
}

START_TEST(x7_names_lead_back_to_server_and_tool)
{
    begin(NULL);
    put_in("example", example(NULL), NULL);
    put_in("my server", SCRIPTED("TOOLS", TOOL("a.b") "," TOOL("a_b") "," TOOL("x")),
           NULL);
    put_in("my_server", SCRIPTED("TOOLS", TOOL("x")), NULL);
    warm_up();
    check_names("mcp__");
    ck_assert_uint_eq(mcplug_toolbox_count(box), 14 + 3 + 1 + 2);
    ck_assert(find("mcp__example__echo"));
    ck_assert_str_eq(found_server, "example");
    ck_assert_str_eq(found_tool, "echo");
    ck_assert(find("mcp__my_server__x")); /* who needs no other name has it */
    ck_assert_str_eq(found_server, "my_server");
    for (size_t i = 0; i < mcplug_toolbox_count(box); i++)
        ck_assert_uint_eq(count_named(mcplug_toolbox_name(box, i)), 1);
    ck_assert(!find("mcp__example__nothing") && !find("echo") && !find(""));
    ck_assert_ptr_null(mcplug_toolbox_name(box, 20));
    ck_assert_ptr_null(mcplug_toolbox_name(box, SIZE_MAX));
    size_t len;
    ck_assert_ptr_null(mcplug_toolbox_tool(box, 20, &len));
    ck_assert_ptr_null(mcplug_toolbox_server(box, "nobody"));
    end();
}
END_TEST

START_TEST(x7_plain_names_have_no_mcp_before_them)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .plain_names = 1};
    struct seen s;
    begin(&o);
    put_in("example", example(NULL), NULL);
    warm_up();
    check_names("example__");
    used(&s, "example__echo", "{\"text\":\"hi\"}");
    ck_assert_str_eq(s.result, "hi");
    ck_assert(!find("mcp__example__echo"));
    end();
}
END_TEST

START_TEST(x7_a_tool_is_as_its_server_has_it_but_for_the_name)
{
    size_t len = 0;
    begin(NULL);
    put_in("s",
           SCRIPTED("TOOLS",
                    "{\"title\":\"T\",\"name\":\"t\",\"inputSchema\":{\"name\":1},"
                    "\"_meta\":{\"name\":\"t\"}}"),
           NULL);
    warm_up();
    const char *json = mcplug_toolbox_tool(box, 0, &len);
    ck_assert(mp_bytes_eq(mp_bytes(json, len),
                          "{\"name\":\"mcp__s__t\",\"title\":\"T\",\"inputSchema\":{"
                          "\"name\":1},\"_meta\":{\"name\":\"t\"}}"));
    ck_assert_ptr_eq(mcplug_toolbox_tool(box, 0, &len), json);
    end();
}
END_TEST

START_TEST(x7_a_list_that_names_a_tool_twice_has_it_once)
{
    size_t len;
    begin(NULL);
    put_in("s",
           SCRIPTED("TOOLS", TOOL("b") ",{\"name\":\"a\",\"description\":\"one\"}," TOOL(
                                 "a") "," TOOL("c") ",{\"name\":\"a\"}"),
           NULL);
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(box), 3);
    ck_assert_str_eq(mcplug_toolbox_name(box, 0), "mcp__s__b");
    ck_assert_str_eq(mcplug_toolbox_name(box, 1), "mcp__s__a");
    ck_assert_str_eq(mcplug_toolbox_name(box, 2), "mcp__s__c");
    const char *json = mcplug_toolbox_tool(box, 1, &len);
    ck_assert_ptr_nonnull(memmem(json, len, "one", 3)); /* the first one counts */
    check_names("mcp__");
    end();
}
END_TEST

START_TEST(ten_thousand_tools_are_found_at_once)
{
    begin(NULL);
    mcplug_settings *s = example(NULL);
    mcplug_settings_add(s, "args", "--tools");
    mcplug_settings_add(s, "args", "9986"); /* and its own */
    put_in("many", s, NULL);
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(box), 10000 + 2);
    clock_t before = clock(); /* work, and not how long it waited for a processor */
    check_names("mcp__many__");
    ck_assert_int_lt((clock() - before) / CLOCKS_PER_SEC, 20);
    end();
}
END_TEST

/* One that changes its tools again and again uses names up, which are never given to
 * others. */
START_TEST(a_server_that_has_had_too_many_tools_keeps_those_it_has)
{
    static char texts[MP_NAMES_TOOLS][16];
    static const char *names[MP_NAMES_TOOLS + 1];
    begin(NULL);
    put_in("s", SCRIPTED("TOOLS", TOOL("a") "," TOOL("b")), NULL);
    put_in("t", SCRIPTED("TOOLS", TOOL("c")), NULL);
    for (int i = 0; i < MP_NAMES_TOOLS; i++) {
        snprintf(texts[i], sizeof texts[i], "old%d", i);
        names[i] = texts[i];
    }
    names[0] = "a";
    ck_assert_int_eq(mp_names_tools(box->names, "s", names), MCPLUG_OK);
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(box), 2);
    check_names("mcp__");
    ck_assert(find("mcp__s__a") && find("mcp__t__c") && !find("mcp__s__b"));
    LOGGED("WRN mcp:s its new tools get no names: it has had more than 65536");
    ck_assert(!box->is_old); /* it is not tried over and over */
    end();
}
END_TEST

/* ---- filters ---- */

START_TEST(r9_a_filtered_tool_is_not_listed_and_can_not_be_called)
{
    static const char *const allowed[] = {"echo", "ADD", "slee*", NULL};
    static const char *const denied[] = {"add", "E*T", NULL};
    static const char *const any[] = {"Any", NULL};
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .tools_allowed = allowed, .tools_denied = denied};
    struct mcplug_server_options none = {.struct_size = sizeof none, .tools_denied = any};
    struct seen s = {0};
    begin(NULL);
    put_in("e", example(NULL), &o);
    put_in("silent", example(NULL), &none); /* shares the process, not the filter */
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(box), 2 + 2);
    ck_assert(is_listed("mcp__e__echo") && is_listed("mcp__e__sleep"));
    ck_assert(!find("mcp__e__add") && !find("mcp__e__exit") && !find("mcp__e__env"));
    ck_assert_int_eq((int)status_of("e").pid, (int)status_of("silent").pid);
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__e__add", NULL, NULL, on_record, &s, &err));
    ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
    ck_assert_ptr_null(mcplug_call_tool(mcplug_toolbox_server(box, "e"), "add", NULL,
                                        NULL, on_outcome, &s, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
    ck_assert_uint_eq(s.times, 0);
    LOGGED("VRB mcp:e 2 of 14 tools are allowed by toolsAllowed and toolsDenied");
    used(&s, "mcp__e__echo", "{\"text\":\"allowed\"}");
    ck_assert_str_eq(s.result, "allowed");
    end();
}
END_TEST

/* ---- S3 ---- */

#define RESOURCE(uri) "{\"uri\":\"" uri "\",\"name\":\"r\"}"

START_TEST(s3_resources_bring_two_tools_once_for_all_servers)
{
    begin(NULL);
    put_in("bare", SCRIPTED("TOOLS", TOOL("t")), NULL);
    warm_up();
    ck_assert(!find("list-resources") && !find("read-resource"));
    put_in("a", SCRIPTED("RESOURCES", RESOURCE("x:1")), NULL);
    put_in("b", example(NULL), NULL);
    warm_up();
    ck_assert_uint_eq(count_named("list-resources"), 1);
    ck_assert_uint_eq(count_named("read-resource"), 1);
    ck_assert(find("list-resources"));
    ck_assert_str_eq(found_server, "");
    ck_assert_str_eq(found_tool, "list-resources");
    check_names("mcp__");
    end();
}
END_TEST

START_TEST(s3_but_not_where_a_tool_of_that_name_exists)
{
    struct seen s;
    begin(NULL);
    put_in("a",
           SCRIPTED("TOOLS", TOOL("list-resources"), "RESOURCES", RESOURCE("x:1"),
                    "RESULT", "\"content\":[{\"type\":\"text\",\"text\":\"its own\"}]"),
           NULL);
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(box), 2);
    ck_assert(!is_listed("list-resources") && is_listed("read-resource"));
    used(&s, "mcp__a__list_resources", NULL);
    ck_assert_str_eq(s.result, "its own");
    ck_assert_str_eq(s.tool, "list-resources");
    end();
}
END_TEST

/* ---- changes ---- */

static unsigned n_changed, n_states;

static void on_changed(void *arg, mcplug_toolbox *b)
{
    ck_assert_ptr_eq(b, box);
    ck_assert_ptr_eq(arg, &n_changed);
    n_changed++;
}

static void on_state(void *arg, mcplug_toolbox *b, const char *server,
                     enum mcplug_state state, const struct mcplug_error *why)
{
    (void)arg, (void)b, (void)why;
    n_states += state == MCPLUG_STATE_READY && strcmp(server, "e") == 0;
}

/* _i: 0 legacy, 1 modern */
START_TEST(a_list_that_changes_is_told_and_its_new_tools_can_be_called)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o,
                                       .arg = &n_changed,
                                       .changed = on_changed,
                                       .state = on_state};
    struct seen s, slow;
    n_changed = n_states = 0;
    begin(&o);
    put_in("e", example(_i ? "modern" : "legacy"), NULL);
    warm_up();
    turn_for(50);
    ck_assert_uint_ge(n_changed, 1);
    ck_assert_uint_eq(n_states, 1);
    n_changed = 0;
    size_t before = mcplug_toolbox_count(box);
    if (_i)
        turn_for(300);                           /* it has to be subscribed to */
    use(&slow, "mcp__e__sleep", "{\"ms\":300}"); /* while its list changes */
    used(&s, "mcp__e__grow", NULL);
    ck_assert_str_eq(s.result, "grown_1");
    UNTIL(n_changed);
    UNTIL(mcplug_toolbox_count(box) == before + 1);
    ck_assert_str_eq(mcplug_toolbox_name(box, 0), "mcp__e__echo");
    used(&s, "mcp__e__grown_1", NULL);
    ck_assert_str_eq(s.result, "This is grown_1.");
    UNTIL(slow.times);
    ck_assert_str_eq(slow.tool, "sleep");
    ck_assert(slow.ok);
    end();
}
END_TEST

/* ---- servers ---- */

START_TEST(a_server_has_a_name_that_no_other_has)
{
    mcplug_settings *s = example(NULL);
    begin(NULL);
    ck_assert_int_eq(mcplug_toolbox_add(box, "a", s, NULL, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_toolbox_add(box, "a", s, NULL, &err), MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "the toolbox has a server \"a\"");
    ck_assert_int_eq(mcplug_toolbox_add(box, "", s, NULL, NULL), MCPLUG_EINVAL);
    box->n_members += MP_BOX_SERVERS - 1; /* as if there were so many */
    box->members = mp_resize(box->members, box->n_members * sizeof *box->members);
    for (size_t i = 1; i < box->n_members; i++)
        box->members[i] = box->members[0];
    ck_assert_int_eq(mcplug_toolbox_add(box, "b", s, NULL, NULL), MCPLUG_ETOOBIG);
    box->n_members = 1;
    mcplug_settings_free(s);
    end();
}
END_TEST

START_TEST(nothing_is_started_before_it_is_wanted)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .idle_ms = 100};
    struct outcome out = {0};
    struct seen s;
    begin(NULL);
    put_in("e", example(NULL), &o);
    turn_for(150);
    ck_assert_uint_eq(status_of("e").starts, 0);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 0);
    ck_assert_ptr_nonnull(mcplug_call_tool(mcplug_toolbox_server(box, "e"), "echo",
                                           "{\"text\":\"first\"}", NULL, on_outcome, &out,
                                           &err));
    UNTIL(out.times);
    ck_assert_int_eq(out.code, MCPLUG_OK);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 16); /* and they are all known now */
    UNTIL(status_of("e").state == MCPLUG_STATE_RESTING);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 16); /* also while it rests */
    used(&s, "mcp__e__echo", "{\"text\":\"again\"}");
    ck_assert_str_eq(s.result, "again");
    ck_assert_uint_eq(status_of("e").starts, 2);
    end();
}
END_TEST

/* ---- the end ---- */

static unsigned n_freed;

static void on_freed(void *arg)
{
    (void)arg;
    n_freed++;
}

START_TEST(freeing_ends_calls_and_servers_and_tells)
{
    struct warmed w = {0};
    struct seen s, own;
    n_freed = 0;
    begin(NULL);
    put_in("e", example(NULL), NULL);
    warm_up();
    int64_t pid = status_of("e").pid;
    put_in("slow", SCRIPTED("DELAY", "30"), NULL);
    mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    turn_for(50);
    ck_assert(lives(pid));
    use(&s, "mcp__e__sleep", "{\"ms\":60000}");
    use(&own, "list-resources", NULL);
    mcplug_toolbox_free(box, on_freed, NULL);
    mcplug_toolbox_free(box, on_freed, NULL); /* once is enough */
    ck_assert_uint_eq(n_freed + s.times + own.times + w.times, 0);
    ck_assert_int_eq(mcplug_toolbox_add(box, "x", NULL, NULL, &err), MCPLUG_ECLOSED);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, on_warm, &w, &err), MCPLUG_ECLOSED);
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__e__echo", NULL, NULL, on_record, &s, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECLOSED);
    UNTIL(n_freed);
    ck_assert_uint_eq(s.times, 1);
    ck_assert_int_eq(s.code, MCPLUG_ECANCELED);
    ck_assert_int_eq(own.code, MCPLUG_ECANCELED);
    ck_assert_uint_eq(w.times, 1);
    ck_assert_uint_eq(w.ready, 1);
    ck_assert(!lives(pid));
    end();
    ck_assert_uint_eq(n_freed, 1);
}
END_TEST

static unsigned n_inside;

/* What a program does not expect to have to avoid. */
static void free_inside(void)
{
    struct warmed w = {0};
    struct seen s = {0};
    size_t len;
    if (n_inside++)
        return;
    mcplug_toolbox_free(box, on_freed, NULL);
    mcplug_toolbox_count(box);
    mcplug_toolbox_tool(box, 0, &len);
    find("mcp__e__echo");
    ck_assert_ptr_nonnull(mcplug_toolbox_instructions(box));
    ck_assert_ptr_null(mcplug_toolbox_server(box, "e"));
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, on_warm, &w, NULL), MCPLUG_ECLOSED);
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__e__echo", NULL, NULL, on_record, &s, NULL));
}

static void free_in_changed(void *arg, mcplug_toolbox *b)
{
    (void)arg, (void)b;
    free_inside();
}

static void free_in_settled(void *arg, mcplug_toolbox *b, const char *server, uint64_t ms,
                            const struct mcplug_error *why)
{
    (void)arg, (void)b, (void)server, (void)ms, (void)why;
    free_inside();
}

static void free_in_state(void *arg, mcplug_toolbox *b, const char *server,
                          enum mcplug_state state, const struct mcplug_error *why)
{
    (void)arg, (void)b, (void)server, (void)why;
    if (state == (enum mcplug_state) * (int *)arg)
        free_inside();
}

static void free_in_done(void *arg, mcplug_toolbox *b, size_t ready, size_t failed)
{
    (void)arg, (void)b, (void)ready, (void)failed;
    free_inside();
}

static void free_in_record(void *arg, mcplug_call *call, const struct mcplug_record *r)
{
    (void)arg;
    free_inside();
    mcplug_cancel(call);
    ck_assert_ptr_nonnull(mcplug_record_json(r));
}

static void go_on(void *arg, mcplug_toolbox *b, size_t ready, size_t failed)
{
    static int unused;
    (void)ready, (void)failed;
    for (int i = 0; arg && i < 3; i++)
        ck_assert_ptr_nonnull(mcplug_toolbox_call(b, "mcp__e__echo", "{\"text\":\"x\"}",
                                                  NULL, free_in_record, &unused, NULL));
}

/* _i: in which callback */
START_TEST(any_callback_may_free_the_toolbox)
{
    int state = _i == 1 ? MCPLUG_STATE_STARTING : MCPLUG_STATE_READY;
    struct mcplug_toolbox_options o = {
        .struct_size = sizeof o,
        .arg = &state,
        .changed = _i == 0 ? free_in_changed : NULL,
        .state = _i == 1 || _i == 2 ? free_in_state : NULL,
        .settled = _i == 3 ? free_in_settled : NULL,
    };
    n_freed = n_inside = 0;
    begin(&o);
    put_in("e", example(NULL), NULL);
    put_in("f", example(NULL), NULL); /* the same process */
    put_in("g", SCRIPTED("TOOLS", TOOL("t")), NULL);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(mcplug_toolbox_warm_up(box, _i == 4 ? free_in_done : go_on,
                                                _i == 5 && i == 0 ? box : NULL, NULL),
                         MCPLUG_OK);
    UNTIL(n_freed);
    ck_assert_uint_ge(n_inside, 1);
    end();
}
END_TEST

/* _i: how far it has come. A toolbox that nobody freed goes with its host. */
START_TEST(the_host_may_be_freed_first)
{
    struct warmed w = {0};
    struct seen s = {0}, t = {0};
    n_freed = 0;
    begin(NULL);
    mcplug_toolbox *other = mcplug_toolbox_new(host, NULL, NULL);
    if (_i >= 1)
        put_in("e", example(NULL), NULL);
    if (_i == 3)
        warm_up();
    int64_t pid = _i == 3 ? status_of("e").pid : 0;
    if (_i == 3) {
        use(&s, "mcp__e__sleep", "{\"ms\":60000}");
        use(&t, "list-resources", NULL);
    }
    if (_i >= 2)
        mcplug_toolbox_warm_up(box, on_warm, &w, NULL);
    if (_i == 2)
        turn_for(1);
    mcplug_toolbox_free(other, on_freed, NULL);
    if (_i == 4)
        mcplug_toolbox_free(box, on_freed, NULL);
    end();
    ck_assert_uint_eq(n_freed, _i == 4 ? 2 : 1);
    ck_assert_uint_eq(w.times, _i >= 2);
    ck_assert_uint_eq(s.times + t.times, _i == 3 ? 2 : 0);
    ck_assert_int_eq(s.code, _i == 3 ? MCPLUG_ECANCELED : MCPLUG_OK);
    ck_assert(!pid || !lives(pid));
}
END_TEST

static size_t counted_in_post;

static void count_tools(void *arg)
{
    counted_in_post = mcplug_toolbox_count(arg) + 1;
}

START_TEST(what_was_posted_finds_the_toolbox_while_the_host_is_freed)
{
    counted_in_post = 0;
    begin(NULL);
    ck_assert_int_eq(mcplug_post(host, count_tools, box), MCPLUG_OK);
    end();
    ck_assert_uint_eq(counted_in_post, 1);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, what_was_posted_finds_the_toolbox_while_the_host_is_freed);
    tcase_add_test(tc, x7_names_lead_back_to_server_and_tool);
    tcase_add_test(tc, x7_plain_names_have_no_mcp_before_them);
    tcase_add_test(tc, x7_a_tool_is_as_its_server_has_it_but_for_the_name);
    tcase_add_test(tc, x7_a_list_that_names_a_tool_twice_has_it_once);
    tcase_add_test(tc, ten_thousand_tools_are_found_at_once);
    tcase_add_test(tc, a_server_that_has_had_too_many_tools_keeps_those_it_has);
    tcase_add_test(tc, r9_a_filtered_tool_is_not_listed_and_can_not_be_called);
    tcase_add_test(tc, s3_resources_bring_two_tools_once_for_all_servers);
    tcase_add_test(tc, s3_but_not_where_a_tool_of_that_name_exists);
    tcase_add_loop_test(tc, a_list_that_changes_is_told_and_its_new_tools_can_be_called,
                        0, 2);
    tcase_add_test(tc, a_server_has_a_name_that_no_other_has);
    tcase_add_test(tc, nothing_is_started_before_it_is_wanted);
    tcase_add_test(tc, freeing_ends_calls_and_servers_and_tells);
    tcase_add_loop_test(tc, any_callback_may_free_the_toolbox, 0, 6);
    tcase_add_loop_test(tc, the_host_may_be_freed_first, 0, 5);
}

int main(void)
{
    return run_suite("toolbox_toolbox", add);
}
