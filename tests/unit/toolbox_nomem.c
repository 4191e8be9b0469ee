/* A toolbox without memory: what it gives is right, or nothing; and all is well once
 * there is some again. */
#include "nomem_kit.h"

#include "box_kit.h"
#include "toolbox/toolbox.h"

enum { TOOLS = 14 + 2 + 2 }; /* of the example, of the other one, and our own */

static struct seen echoed, listed, read_one;
static unsigned n_under_way, n_added;

static void on_use(void *arg, mcplug_call *call, const struct mcplug_record *r)
{
    struct seen *s = arg;
    (void)call;
    n_under_way--;
    s->times++;
    s->ok = r->ok;
    snprintf(s->result, sizeof s->result, "%.8000s", r->result);
    mcplug_record_json(r); /* or NULL */
}

/* As if nobody had looked yet. */
static void forget(void)
{
    for (size_t i = 0; i < box->n_members; i++)
        for (int k = 0; k < MP_FETCHED; k++) {
            mcplug_list_unref(box->members[i]->lists[k]);
            box->members[i]->lists[k] = NULL;
        }
    box->is_old = true;
}

static void try_use(struct seen *s, const char *name, const char *arguments)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    memset(s, 0, sizeof *s);
    if (mcplug_toolbox_call(box, name, arguments, NULL, on_use, s, &why))
        n_under_way++;
    else
        ck_assert_msg(why.code == MCPLUG_ENOMEM || why.code == MCPLUG_ENOTSUP ||
                          why.code == MCPLUG_EINVAL,
                      "%s: %s", when(), why.text);
}

static void look_at_all(void)
{
    const char *server, *tool, *names[TOOLS + 1] = {0};

    for (int f = MCPLUG_FORMAT_MCP; f <= MCPLUG_FORMAT_ANTHROPIC; f++) {
        size_t len = 0;
        const char *array = mcplug_toolbox_json(box, (enum mcplug_format)f, &len);
        ck_assert(!array || (array[0] == '[' && array[len - 1] == ']'));
    }
    size_t n = mcplug_toolbox_count(box);
    ck_assert_uint_le(n, TOOLS);
    for (size_t i = 0; i < n; i++) {
        size_t len = 0;
        names[i] = mcplug_toolbox_name(box, i);
        ck_assert_ptr_nonnull(names[i]);
        const char *json = mcplug_toolbox_tool(box, i, &len);
        ck_assert(!json || (len > 2 && json[0] == '{' && json[len - 1] == '}'));
    }
    const char *text = mcplug_toolbox_instructions(box);
    ck_assert(!text || n < TOOLS || strstr(text, "##### Tool: s__x\n> X!\n"));
    for (size_t i = 0; i < n; i++) /* none has moved meanwhile */
        ck_assert_str_eq(mcplug_toolbox_name(box, i), names[i]);
    for (size_t i = 0; i < n; i++)
        ck_assert(mcplug_toolbox_find(box, names[i], &server, &tool));
}

static void use_all(void)
{
    try_use(&echoed, "mcp__e__echo", "{\"text\":\"hi\"}");
    try_use(&listed, "list-resources", "{\"server\":\"e\"}");
    try_use(&read_one, "read-resource",
            "{\"server\":\"e\",\"uri\":\"example:///readme\"}");
}

static void check_all(void)
{
    UNTIL(!n_under_way);
    ck_assert(!echoed.times || (echoed.ok && strcmp(echoed.result, "hi") == 0));
    ck_assert_uint_eq(mcplug_toolbox_count(box), TOOLS);
    look_at_all();
    ck_assert_ptr_nonnull(mcplug_toolbox_instructions(box));
}

static void begin_two(void)
{
    begin(NULL);
    put_in("e", example(NULL), NULL);
    put_in("s",
           SCRIPTED("SAYS", "Hello.", "PROMPTS", "{\"name\":\"p\",\"description\":\"d\"}",
                    "TOOLS", TOOL("y") ",{\"name\":\"x\",\"instructions\":\"X!\"}"),
           NULL);
    warm_up();
}

START_TEST(what_tools_there_are_is_found_out_again)
{
    begin_two();
    torture(forget, look_at_all, check_all);
    end();
}
END_TEST

START_TEST(a_call_begins_or_says_why_not)
{
    begin_two();
    torture(forget, use_all, check_all);
    end();
}
END_TEST

static mcplug_settings *settings;

static void add_one(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char name[32];
    snprintf(name, sizeof name, "more%u", n_added++);
    int r = mcplug_toolbox_add(box, name, settings, NULL, &why);
    ck_assert_msg(r == MCPLUG_OK || r == MCPLUG_ENOMEM, "%s: %s", when(), why.text);
    ck_assert_int_eq(r == MCPLUG_OK, mcplug_toolbox_server(box, name) != NULL);
}

START_TEST(a_server_is_added_or_is_not)
{
    n_added = 0;
    begin(NULL);
    settings = example(NULL);
    torture(NULL, add_one, turn);
    mcplug_settings_free(settings);
    end();
}
END_TEST

static mcplug_toolbox *another;

static void on_nobody(void *arg, mcplug_toolbox *b, size_t ready, size_t failed)
{
    (void)arg, (void)b;
    ck_assert_uint_eq(ready + failed, 0);
}

static void make_one(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    another = mcplug_toolbox_new(host, NULL, &why);
    ck_assert(another || why.code == MCPLUG_ENOMEM);
    if (another && mcplug_toolbox_warm_up(another, on_nobody, NULL, &why) != MCPLUG_OK)
        ck_assert_int_eq(why.code, MCPLUG_ENOMEM);
}

static void free_one(void)
{
    if (another)
        mcplug_toolbox_free(another, NULL, NULL);
    turn();
}

START_TEST(a_toolbox_is_made_or_is_not)
{
    begin(NULL);
    torture(NULL, make_one, free_one);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_test(tc, what_tools_there_are_is_found_out_again);
    tcase_add_test(tc, a_call_begins_or_says_why_not);
    tcase_add_test(tc, a_server_is_added_or_is_not);
    tcase_add_test(tc, a_toolbox_is_made_or_is_not);
}

int main(void)
{
    return run_suite("toolbox_nomem", add);
}
