/* Results in files, and the tools that read them. */
#include "box_kit.h"

#include "toolbox/toolbox.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define ITEMS 20000

/* A server with a tool of a long answer: JSON, of which each item has a name. */
static char *items(void)
{
    char *text = malloc((size_t)ITEMS * 48), *p = text;

    p += sprintf(p, "\"structuredContent\":{\"items\":[");
    for (int i = 0; i < ITEMS; i++)
        p += sprintf(p, "%s{\"id\":%d,\"name\":\"n%05d\"}", i ? "," : "", i, i);
    sprintf(p, "]}");
    return text;
}

static unsigned changes;
static void on_change(void *arg, mcplug_toolbox *b)
{
    (void)arg;
    (void)b;
    changes++;
}

static char path[64];

static void forget(void)
{
    unlink(path);
}

/* The environment of a process takes no more than 128 KiB of a variable: from a file. */
static void put_long(const char *name, const struct mcplug_server_options *o)
{
    char *text = items();
    FILE *f;

    snprintf(path, sizeof path, "/tmp/toolbox_results.%d", (int)getpid());
    f = fopen(path, "w");
    ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
    free(text);
    put_in(name, SCRIPTED("TOOLS", TOOL("t"), "FILE", path), o);
}

static void name_in(const struct seen *s, char *out, size_t size)
{
    const char *at = strstr(s->result, "\nPath: ");
    ck_assert_msg(at != NULL, "%s", s->result);
    at += 7;
    while (memchr(at, '/', strcspn(at, "\n")))
        at = strchr(at, '/') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static void ask(struct seen *s, const char *tool, const char *format, const char *name)
{
    char arguments[512];
    snprintf(arguments, sizeof arguments, format, name);
    used(s, tool, arguments);
}

START_TEST(a_stored_result_is_read_by_tools_of_our_own)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .changed = on_change};
    struct seen s;
    char name[256];

    begin(&o);
    put_long("s", NULL);
    warm_up();
    UNTIL(changes);
    ck_assert(!mcplug_toolbox_find(box, "read_result", NULL, NULL));
    unsigned before = changes;
    used(&s, "mcp__s__t", NULL);
    ck_assert_msg(s.ok, "%s", s.result);
    name_in(&s, name, sizeof name);
    ck_assert_ptr_nonnull(strstr(s.result, "The tool read_result reads parts of it"));
    ck_assert(strstr(s.json, "\"extras\":{\"stored\":\"") && s.has_extras);
    UNTIL(changes > before);
    ck_assert(mcplug_toolbox_find(box, "read_result", NULL, NULL));
    ck_assert(mcplug_toolbox_find(box, "search_result", NULL, NULL));

    ask(&s, "read_result", "{\"result\":\"%s\",\"path\":\".items[19998:].name\"}", name);
    ck_assert_msg(s.ok, "%s", s.result);
    ck_assert_str_eq(s.result, "\"n19998\"\n\"n19999\"\n");
    ck_assert_str_eq(s.kind, "mcp_result");
    ask(&s, "read_result", "{\"result\":\"%s\",\"path\":\".items[].id\",\"length\":20}",
        name);
    ck_assert_str_eq(s.result, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n\n[There is more. Go on at "
                               "\"offset\": 20.]");
    ask(&s, "read_result",
        "{\"result\":\"%s\",\"path\":\".items[].id\",\"offset\":20,\"length\":5}", name);
    ck_assert_int_eq(strncmp(s.result, "10\n11", 5), 0);
    ask(&s, "read_result", "{\"result\":\"%s\",\"path\":\".none\"}", name);
    ck_assert_str_eq(s.result, "The path leads to no value.");
    ask(&s, "read_result", "{\"result\":\"%s\",\"offset\":1,\"length\":8}", name);
    ck_assert_msg(strncmp(s.result, "Bytes 1 to 8 of ", 16) == 0 &&
                      strstr(s.result, ":\n\"items\":"),
                  "%s", s.result);
    ask(&s, "read_result", "{\"result\":\"%s\",\"offset\":99999999}", name);
    ck_assert_ptr_nonnull(strstr(s.result, "there are none at offset 99999999"));
    ask(&s, "search_result",
        "{\"result\":\"%s\",\"text\":\"N12345\",\"ignore_case\":true}", name);
    ck_assert_msg(strncmp(s.result, "line 1, offset ", 15) == 0 &&
                      strstr(s.result, "\"n12345\""),
                  "%s", s.result);
    ask(&s, "search_result", "{\"result\":\"%s\",\"text\":\"nowhere\"}", name);
    ck_assert_str_eq(s.result, "No match.");
    end();
}
END_TEST

START_TEST(what_cannot_be_read_is_said)
{
    static const struct {
        const char *tool, *arguments, *why;
    } cases[] = {
        {"read_result", "{}", "\"result\" is missing"},
        {"read_result", "{\"result\":\"../../etc/passwd\"}", ""},
        {"read_result", "{\"result\":\"/etc/passwd\"}", ""},
        {"read_result", "{\"result\":\"%s\",\"offset\":-1}", "\"offset\" must be"},
        {"read_result", "{\"result\":\"%s\",\"path\":\".a[\"}", ""},
        {"search_result", "{\"result\":\"%s\"}", "needs \"text\""},
    };
    struct seen s;
    char name[256];

    begin(NULL);
    put_long("s", NULL);
    warm_up();
    used(&s, "mcp__s__t", NULL);
    name_in(&s, name, sizeof name);
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        ask(&s, cases[i].tool, cases[i].arguments, name);
        ck_assert_msg(!s.ok && s.code != MCPLUG_OK, "%s", cases[i].arguments);
        ck_assert_msg(s.len && strstr(s.result, cases[i].why), "%s", s.result);
    }
    end();
}
END_TEST

/* Asks without a toolbox for a file that has this text. give */
static char *answer(const char *text, bool searches, const char *arguments)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_str out;
    struct mp_store_file *f = NULL;
    char *file = NULL;

    snprintf(results, sizeof results, "/tmp/box_kit.%d.results", (int)getpid());
    struct mp_store *store = mp_store_new(results, 0, 0);
    ck_assert_msg(mp_store_begin(store, &f, &why) == MCPLUG_OK, "%s", why.text);
    ck_assert_int_eq(mp_store_write(f, text, strlen(text), &why), MCPLUG_OK);
    ck_assert_int_eq(mp_store_commit(f, "s", "t", NULL, ".txt", &file, &why), MCPLUG_OK);
    mp_str_init(&out, 1 << 20);
    ck_assert_msg(mp_results_answer(results, searches, arguments, 50000, &out, &why) ==
                      MCPLUG_OK,
                  "%s", why.text);
    char *got = mp_view_strdup(
        mp_view_get(mp_bytes(out.data + 12, out.len - 14), "text")); /* {"content":[ */
    ck_assert_msg(got != NULL, "%s", out.data);
    unlink(file);
    rmdir(results);
    mp_free(file);
    mp_str_clear(&out);
    mp_store_free(store);
    return got;
}

START_TEST(whoever_reads_on_gets_everything_and_gets_ahead)
{
    static const struct {
        bool searches;
        const char *text, *arguments, *want;
    } cases[] = {
        /* a character at the border is in the next answer */
        {false, "ab\xe2\x82\xac\xe2\x82\xac", "{\"result\":\"mcp-\",\"length\":4}",
         "Bytes 0 to 1 of 8:\nab"},
        {false, "ab\xe2\x82\xac\xe2\x82\xac",
         "{\"result\":\"mcp-\",\"offset\":2,\"length\":1}",
         "Bytes 2 to 4 of 8:\n\xe2\x82\xac"},
        {false, "\"ab\xe2\x82\xac\"", "{\"result\":\"mcp-\",\"path\":\".\",\"length\":4}",
         "\"ab\n[There is more. Go on at \"offset\": 3.]"},
        {false, "\"ab\"", "{\"result\":\"mcp-\",\"path\":\".\",\"offset\":9}",
         "The values have 5 bytes; there are none at offset 9."},
        /* bytes that are no text are shown as such, all of them */
        {false, "\xff\x80\x80\x80\x80\x80z", "{\"result\":\"mcp-\",\"offset\":1}",
         "Bytes 1 to 6 of 7:\n\xef\xbf\xbd\xef\xbf\xbdz"},
        /* one match in any case */
        {true, "an x\nan x\n", "{\"result\":\"mcp-\",\"text\":\"x\",\"length\":1}",
         "line 1, offset 3: an x\n[There are more. Go on at \"offset\": 8.]"},
        {true, "an x\nan x\n",
         "{\"result\":\"mcp-\",\"text\":\"x\",\"length\":1,\"offset\":8}",
         "line 2, offset 8: an x\n"},
    };

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        char *got = answer(cases[i].text, cases[i].searches, cases[i].arguments);
        ck_assert_str_eq(got, cases[i].want);
        mp_free(got);
    }
}
END_TEST

START_TEST(limits_are_of_the_tool_the_server_and_the_toolbox_in_this_order)
{
    static const char *const of_tool[] = {"other", "1", "t", "1000000", NULL};
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .max_tokens = 10};
    struct mcplug_server_options many = {.struct_size = sizeof many,
                                         .max_output_tokens = 1000000};
    struct mcplug_server_options by_tool = {.struct_size = sizeof by_tool,
                                            .max_output_tokens = 10,
                                            .tool_output_tokens = of_tool};
    struct seen s;

    begin(&o);
    put_long("box", NULL);
    put_long("server", &many);
    put_long("tool", &by_tool);
    warm_up();
    used(&s, "mcp__box__t", NULL);
    ck_assert_ptr_nonnull(strstr(s.result, "exceeds the limit of 10 tokens"));
    used(&s, "mcp__server__t", NULL);
    ck_assert_uint_gt(s.len, 500000);
    used(&s, "mcp__tool__t", NULL);
    ck_assert_uint_gt(s.len, 500000);
    end();
}
END_TEST

START_TEST(without_files_it_is_cut)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .no_files = 1};
    struct seen s;

    begin(&o);
    put_long("s", NULL);
    warm_up();
    used(&s, "mcp__s__t", NULL);
    ck_assert_uint_gt(s.len, 100000);
    ck_assert_uint_lt(s.len, 101000);
    ck_assert(access(results, F_OK) != 0);
    ck_assert(!mcplug_toolbox_find(box, "read_result", NULL, NULL));
    end();
}
END_TEST

START_TEST(a_definition_is_a_json_object)
{
    static const char *const wrong[] = {"{\"_meta\":{\"a", "[]", "", "{} {}"};
    struct mcplug_render_options o = {.struct_size = sizeof o};
    const mcplug_rendering *got = NULL;
    static const char text[] = "{\"toolResult\":\"x\"}";
    mp_message *m = mp_message_new(text, strlen(text), NULL);

    mp_message_expose(m, (struct mp_span){0, strlen(text)});
    begin(NULL);
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        o.definition = wrong[i];
        ck_assert_int_eq(mcplug_render_wait(host, m, &o, &got, &err), MCPLUG_EINVAL);
        ck_assert_msg(strncmp(err.text, "definition: ", 12) == 0, "%s", err.text);
    }
    o.definition = " {\"name\":\"t\"} ";
    ck_assert_int_eq(mcplug_render_wait(host, m, &o, &got, &err), MCPLUG_OK);
    mcplug_rendering_unref(got);
    mp_message_unref(m);
    end();
}
END_TEST

static void on_rendering(void *arg, mcplug_call *call, const mcplug_rendering *content,
                         const struct mcplug_error *why)
{
    (void)call;
    ck_assert_msg(!why && strstr(mcplug_rendering_text(content, NULL), "/mcp-"), "%s",
                  why ? why->text : mcplug_rendering_text(content, NULL));
    ++*(unsigned *)arg;
}

/* Somebody else has the directory, so that whoever writes there waits. */
START_TEST(files_are_written_beside_the_loop)
{
    static const struct {
        const char *result;
        uint32_t max_tokens;
    } cases[] = {
        {"{\"content\":[{\"type\":\"audio\",\"data\":\"AAAA\"}]}", 1000},
        {"{\"content\":[{\"type\":\"audio\",\"dat\\u0061\":\"AAAA\"}]}", 1000},
        {"{\"toolResult\":\"one two three four\"}", 2},
    };
    struct mcplug_render_options o = {.struct_size = sizeof o,
                                      .max_tokens = cases[_i].max_tokens};
    size_t len = strlen(cases[_i].result);
    mp_message *m = mp_message_new(cases[_i].result, len, NULL);
    unsigned done = 0;

    mp_message_expose(m, (struct mp_span){0, len});
    begin(NULL);
    ck_assert_int_eq(mkdir(results, 0700), 0);
    int dir = open(results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(flock(dir, LOCK_EX), 0);
    ck_assert_ptr_nonnull(mcplug_render(host, m, &o, on_rendering, &done, &err));
    mcplug_turn(host, 0);
    ck_assert_uint_eq(done, 0);
    close(dir);
    UNTIL(done);
    mp_message_unref(m);
    end();
}
END_TEST

START_TEST(a_failure_keeps_its_first_text_and_all_blocks)
{
    const struct mcplug_record *r = NULL;
    struct mcplug_part p = {.struct_size = sizeof p};

    begin(NULL);
    put_in(
        "s",
        SCRIPTED("TOOLS", TOOL("t"), "RESULT",
                 "\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"first\"},"
                 "{\"type\":\"text\",\"text\":\"second\"}]"),
        NULL);
    ck_assert_int_eq(mcplug_toolbox_warm_up_wait(box, NULL, NULL, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_toolbox_call_wait(box, "mcp__s__t", NULL, NULL, &r, &err),
                     MCPLUG_OK);
    ck_assert(!r->ok);
    ck_assert_str_eq(r->result, "first");
    ck_assert(mcplug_rendering_part(r->content, 1, &p));
    ck_assert_str_eq(p.text, "second");
    mcplug_record_unref(r);
    end();
}
END_TEST

static int find_result(void *arg, const struct mcplug_stored *one)
{
    (void)arg;
    ck_abort_msg("%s is left", one->path);
    return 0;
}

/* The renderer works while its toolbox is cancelled, and goes. */
START_TEST(a_toolbox_can_go_while_a_result_is_worked_on)
{
    struct seen s;

    begin(NULL);
    put_long("s", NULL);
    warm_up();
    mcplug_call *call = use(&s, "mcp__s__t", NULL);
    UNTIL(box->renderer->under_way || s.times);
    if (!s.times && _i == 0)
        mcplug_cancel(call);
    if (!s.times && _i == 1)
        mcplug_toolbox_remove(box, "s", NULL, NULL, &err);
    UNTIL(s.times);
    if (!s.ok) /* what no text refers to is not kept */
        ck_assert_int_eq(mcplug_stored_each(results, find_result, NULL, &err), MCPLUG_OK);
    end();
    ck_assert_uint_eq(s.times, 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("toolbox_results");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, NULL, forget);
    tcase_add_test(t, a_stored_result_is_read_by_tools_of_our_own);
    tcase_add_test(t, what_cannot_be_read_is_said);
    tcase_add_test(t, whoever_reads_on_gets_everything_and_gets_ahead);
    tcase_add_test(t, limits_are_of_the_tool_the_server_and_the_toolbox_in_this_order);
    tcase_add_test(t, without_files_it_is_cut);
    tcase_add_test(t, a_definition_is_a_json_object);
    tcase_add_loop_test(t, files_are_written_beside_the_loop, 0, 3);
    tcase_add_test(t, a_failure_keeps_its_first_text_and_all_blocks);
    tcase_add_loop_test(t, a_toolbox_can_go_while_a_result_is_worked_on, 0, 3);
    suite_add_tcase(s, t);
    return run_to_end(s);
}
