/* Servers that leave a toolbox. */
#include "box_kit.h"

#include "toolbox/toolbox.h"

static unsigned n_changed, n_closed, n_settled;
static const char *removed_by; /* a callback removes that one, once */

static void on_closed(void *arg)
{
    (void)arg;
    n_closed++;
}

static void take_out(const char *name)
{
    int r = mcplug_toolbox_remove(box, name, on_closed, NULL, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
}

static void on_changed(void *arg, mcplug_toolbox *b)
{
    (void)arg, (void)b;
    n_changed++;
}

static void maybe_remove(void)
{
    if (removed_by)
        take_out(mp_move(&removed_by));
}

static void on_settled(void *arg, mcplug_toolbox *b, const char *server, uint64_t ms,
                       const struct mcplug_error *why)
{
    (void)arg, (void)b, (void)server, (void)ms, (void)why;
    n_settled++;
    maybe_remove();
}

static const struct mcplug_toolbox_options options = {.struct_size = sizeof options,
                                                      .batch = 1,
                                                      .changed = on_changed,
                                                      .settled = on_settled};

static void begin_with(const char *first, const char *second, const char *third)
{
    const char *const names[] = {first, second, third};

    n_changed = n_closed = n_settled = 0;
    removed_by = NULL;
    begin(&options);
    for (size_t i = 0; i < MP_COUNT(names) && names[i]; i++)
        put_in(names[i],
               SCRIPTED("TOOLS", TOOL("a") "," TOOL("hang"), "SAYS", names[i], "RESULT",
                        "\"content\":[{\"type\":\"text\",\"text\":\"x\"}]"),
               NULL);
}

START_TEST(the_tools_of_a_server_that_was_removed_are_gone)
{
    struct seen s;

    begin_with("one", "two", "three");
    warm_up();
    UNTIL(n_changed);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 6);
    ck_assert_ptr_nonnull(mcplug_toolbox_tool(box, 2, NULL));
    int64_t pid = status_of("two").pid;
    n_changed = 0;
    take_out("two");
    ck_assert_uint_eq(n_closed, 0); /* never inside the call */
    ck_assert_uint_eq(n_changed, 0);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 4);
    ck_assert_str_eq(mcplug_toolbox_name(box, 2), "mcp__three__a");
    ck_assert(!mcplug_toolbox_find(box, "mcp__two__a", NULL, NULL));
    ck_assert_ptr_null(mcplug_toolbox_server(box, "two"));
    ck_assert_ptr_null(
        mcplug_toolbox_call(box, "mcp__two__a", NULL, NULL, on_record, &s, &err));
    ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
    ck_assert_ptr_null(strstr(mcplug_toolbox_instructions(box), "two"));
    UNTIL(n_closed);
    ck_assert_uint_eq(n_changed, 1);
    ck_assert(!lives(pid));
    used(&s, "mcp__three__a", NULL);
    ck_assert(s.ok);
    ck_assert_int_eq(mcplug_toolbox_remove(box, "two", NULL, NULL, &err), MCPLUG_ENOTSUP);
    ck_assert_str_eq(err.text, "the toolbox has no server \"two\"");
    ck_assert_int_eq(mcplug_toolbox_remove(box, NULL, NULL, NULL, NULL), MCPLUG_EINVAL);
    end();
    ck_assert_uint_eq(n_closed, 1);
}
END_TEST

START_TEST(its_calls_end_as_cancelled_and_have_their_names)
{
    struct seen s;

    begin_with("one", NULL, NULL);
    warm_up();
    use(&s, "mcp__one__hang", NULL);
    ck_assert_int_eq(mcplug_toolbox_remove(box, "one", NULL, NULL, &err), MCPLUG_OK);
    UNTIL(s.times);
    ck_assert_int_eq(s.code, MCPLUG_ECANCELED);
    ck_assert_str_eq(s.server, "one");
    ck_assert_str_eq(s.tool, "hang");
    ck_assert_str_eq(s.name_space, "one");
    end();
    ck_assert_uint_eq(s.times, 1);
}
END_TEST

START_TEST(one_that_comes_back_has_the_names_it_had)
{
    begin_with("a-b", "a_b", NULL);
    warm_up();
    char *name = strdup(mcplug_toolbox_name(box, 0));
    take_out("a-b");
    ck_assert_int_eq(mcplug_toolbox_find(box, name, NULL, NULL), 0);
    put_in("a-b", SCRIPTED("TOOLS", TOOL("a")), NULL); /* while the other one leaves */
    warm_up();
    UNTIL(n_closed);
    ck_assert_int_eq(mcplug_toolbox_find(box, name, NULL, NULL), 1);
    free(name);
    end();
}
END_TEST

START_TEST(a_server_that_had_nothing_goes_without_a_word)
{
    n_changed = n_closed = 0;
    begin(&options);
    put_in("mute", SCRIPTED("TOOLS", ""), NULL);
    put_in("one", SCRIPTED("TOOLS", TOOL("a")), NULL);
    warm_up();
    UNTIL(n_changed);
    n_changed = 0;
    take_out("mute");
    UNTIL(n_closed);
    ck_assert_uint_eq(n_changed, 0);
    end();
}
END_TEST

/* _i: 0 the one that is being started, 1 one whose turn has not come, 2 one that is up */
START_TEST(who_warms_up_does_not_wait_for_one_that_was_removed)
{
    static const char *const names[] = {"two", "three", "one"};
    struct warmed w = {0};

    n_changed = n_closed = n_settled = 0;
    removed_by = NULL;
    begin(&options);
    put_in("one", SCRIPTED("TOOLS", TOOL("a")), NULL);
    put_in("two", SCRIPTED("TOOLS", TOOL("a"), "DELAY", _i == 0 ? "100" : "0"), NULL);
    put_in("three", SCRIPTED("TOOLS", TOOL("a")), NULL);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, on_warm, &w, &err), MCPLUG_OK);
    UNTIL(n_settled == 1);
    if (_i == 0)
        UNTIL(mp_toolbox_member(box, "two")->warmth == MP_WARMING);
    take_out(names[_i]);
    UNTIL(w.times);
    ck_assert_uint_eq(w.ready, 2);
    ck_assert_uint_eq(w.failed, 0);
    ck_assert_uint_eq(n_settled, _i == 2 ? 3 : 2);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 2);
    end();
}
END_TEST

/* _i: which of the three, in the callback of the first */
START_TEST(a_callback_may_remove_any_server)
{
    static const char *const names[] = {"one", "two", "three"};
    struct warmed w = {0};

    begin_with("one", "two", "three");
    removed_by = names[_i];
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, on_warm, &w, &err), MCPLUG_OK);
    UNTIL(w.times && n_closed);
    ck_assert_uint_eq(w.ready, 2);
    ck_assert_uint_eq(w.failed, 0);
    ck_assert_uint_eq(mcplug_toolbox_count(box), 4);
    end();
}
END_TEST

static void on_freed(void *arg)
{
    unsigned *seen = arg;
    *seen = n_closed;
}

START_TEST(a_toolbox_is_freed_when_those_that_leave_have_left)
{
    unsigned seen = 0;

    begin_with("one", "two", NULL);
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(box), 4);
    take_out("one");
    mcplug_toolbox_free(box, on_freed, &seen);
    ck_assert_int_eq(mcplug_toolbox_remove(box, "two", NULL, NULL, &err), MCPLUG_ENOTSUP);
    UNTIL(seen);
    ck_assert_uint_eq(seen, 1);
    end();
}
END_TEST

static mcplug_toolbox *other;
static mcplug_server *others;
static unsigned n_tried, n_freed;

static void count_freed(void *arg)
{
    (void)arg;
    n_freed++;
}

/* Nothing begins any more, but all handles are valid. */
static void try_other(void)
{
    struct mcplug_status s = {.struct_size = sizeof s};
    mcplug_settings *settings = example(NULL);

    n_tried++;
    ck_assert_int_eq(mcplug_toolbox_add(other, "new", settings, NULL, &err),
                     MCPLUG_ECLOSED);
    mcplug_settings_free(settings);
    ck_assert_int_eq(mcplug_toolbox_warm_up(other, NULL, NULL, &err), MCPLUG_ECLOSED);
    ck_assert_ptr_null(
        mcplug_toolbox_call(other, "mcp__two__a", NULL, NULL, on_record, NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECLOSED);
    ck_assert_uint_eq(mcplug_toolbox_count(other), 1);
    ck_assert_str_eq(mcplug_toolbox_name(other, 0), "mcp__two__a");
    mcplug_server_status(others, &s);
    ck_assert_int_eq(mcplug_restart(others, &err), MCPLUG_ECLOSED);
    /* It is being freed anyway; who asks to be told is told. */
    mcplug_toolbox_free(other, n_tried == 1 ? count_freed : NULL, NULL);
}

static void last_record(void *arg, mcplug_call *c, const struct mcplug_record *r)
{
    (void)arg, (void)c;
    ck_assert_int_eq(r->why->code, MCPLUG_ECANCELED);
    try_other();
}

static void last_state(void *arg, mcplug_toolbox *b, const char *server,
                       enum mcplug_state state, const struct mcplug_error *why)
{
    (void)arg, (void)b, (void)server, (void)why;
    if (state == MCPLUG_STATE_ENDED || state == MCPLUG_STATE_STOPPING)
        try_other();
}

static void last_warm(void *arg, mcplug_toolbox *b, size_t ready, size_t failed)
{
    (void)arg, (void)b, (void)ready, (void)failed;
    try_other();
}

/* The other one has a server that is gone at once, and is done first. */
START_TEST(all_toolboxes_are_there_for_what_is_told_while_the_host_is_freed)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .state = last_state};

    begin(&o);
    put_in("one", SCRIPTED("TOOLS", TOOL("hang"), "FIRST", "trap 'sleep 0.2; exit' EXIT"),
           NULL);
    warm_up();
    mcplug_toolbox *first = box;
    box = other = mcplug_toolbox_new(host, NULL, &err);
    put_in("two", SCRIPTED("TOOLS", TOOL("a")), NULL);
    warm_up();
    ck_assert_uint_eq(mcplug_toolbox_count(other), 1);
    others = mcplug_toolbox_server(other, "two");
    box = first;
    put_in("slow", SCRIPTED("TOOLS", TOOL("a"), "DELAY", "100"), NULL);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, last_warm, NULL, &err), MCPLUG_OK);
    ck_assert_ptr_nonnull(
        mcplug_toolbox_call(box, "mcp__one__hang", NULL, NULL, last_record, NULL, &err));
    n_tried = n_freed = 0;
    end();
    ck_assert_uint_ge(n_tried, 3);
    ck_assert_uint_eq(n_freed, 1);
}
END_TEST

START_TEST(the_names_that_a_toolbox_has_had_are_limited)
{
    mcplug_settings *s = example(NULL);

    begin_with("one", NULL, NULL);
    take_out("one");
    ck_assert_uint_eq(box->n_named, 1);
    box->n_named = MP_BOX_NAMES; /* as if there had been so many */
    ck_assert_int_eq(mcplug_toolbox_add(box, "two", s, NULL, &err), MCPLUG_ETOOBIG);
    ck_assert_int_eq(mcplug_toolbox_add(box, "one", s, NULL, &err), MCPLUG_OK);
    mcplug_settings_free(s);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, the_tools_of_a_server_that_was_removed_are_gone);
    tcase_add_test(tc, its_calls_end_as_cancelled_and_have_their_names);
    tcase_add_test(tc, one_that_comes_back_has_the_names_it_had);
    tcase_add_test(tc, a_server_that_had_nothing_goes_without_a_word);
    tcase_add_loop_test(tc, who_warms_up_does_not_wait_for_one_that_was_removed, 0, 3);
    tcase_add_loop_test(tc, a_callback_may_remove_any_server, 0, 3);
    tcase_add_test(tc, a_toolbox_is_freed_when_those_that_leave_have_left);
    tcase_add_test(tc, all_toolboxes_are_there_for_what_is_told_while_the_host_is_freed);
    tcase_add_test(tc, the_names_that_a_toolbox_has_had_are_limited);
}

int main(void)
{
    return run_suite("toolbox_remove", add);
}
