/* mcp__SERVER__TOOL as <mcplug/admin.h> reads it. */
#include "config_kit.h"

#include "registry/names.h"
#include "session/session.h"

#include <mcplug/admin.h>

static mcplug_config *conf;
static mcplug_list *tools;
static const char *tool;
static const mcplug_entry *other;

static void end_all(void)
{
    mcplug_config_free(conf);
    if (tools)
        mcplug_list_unref(tools);
    conf = NULL;
    tools = NULL;
}

static void servers(const char *const *names)
{
    char text[4096] = "{'mcpServers':{";
    for (size_t i = 0; names[i]; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%s'%s':{'command':'x'}", i ? "," : "", names[i]);
    strcat(text, "}}");
    give(USER, text);
    mcplug_config_free(conf);
    conf = mcplug_config_load(NULL, &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
}

static void list(const char *text)
{
    if (tools)
        mcplug_list_unref(tools);
    tools = mp_list_read(MCPLUG_TOOLS, mp_text(json(text)));
    ck_assert_ptr_nonnull(tools);
}

static const char *found(const char *name)
{
    tool = "none";
    mcplug_entry *e = mcplug_entry_find_qualified(conf, name, &tool, &other);
    return e ? mcplug_entry_name(e) : "";
}

static ptrdiff_t index_of(const char *name)
{
    mcplug_entry *e = mcplug_entry_find_qualified(conf, name, &tool, &other);
    ck_assert_ptr_nonnull(e);
    return mcplug_entry_find_tool(e, tools, name);
}

START_TEST(a_prefix_has_underscores_for_what_models_do_not_take)
{
    char prefix[MCPLUG_NAME_MAX + 8];
    servers((const char *const[]){"my-server", NULL});
    const mcplug_entry *e = mcplug_entry_at(conf, 0);
    ck_assert(mcplug_entry_prefix(e, prefix, sizeof prefix));
    ck_assert_str_eq(prefix, "mcp__my_server__");
    ck_assert(mcplug_entry_prefix(e, prefix, strlen(prefix) + 1));
    ck_assert(!mcplug_entry_prefix(e, prefix, strlen(prefix)));
}
END_TEST

START_TEST(a_server_is_found_by_its_prefix)
{
    servers((const char *const[]){"git", "my-server", NULL});
    ck_assert_str_eq(found("mcp__my_server__do_it"), "my-server");
    ck_assert_str_eq(tool, "do_it");
    ck_assert_ptr_null(other);
    ck_assert_str_eq(found("mcp__git__git__log"), "git");
    ck_assert_str_eq(tool, "git__log");
}
END_TEST

START_TEST(what_is_no_such_name_is_not_found)
{
    static const char *const names[] = {"",          "git",          "git__log",
                                        "mcp__",     "mcp__git",     "mcp__git__",
                                        "mcp__gi__", "mcp__hg__log", "mcp__my-server__x"};
    servers((const char *const[]){"git", "my-server", NULL});
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        ck_assert_str_eq(found(names[i]), "");
        ck_assert_str_eq(tool, "none");
        ck_assert_ptr_null(other);
    }
}
END_TEST

START_TEST(two_servers_that_fit_are_both_told)
{
    servers((const char *const[]){"a-b", "a_b", NULL});
    ck_assert_str_ne(found("mcp__a_b__x"), "");
    ck_assert_ptr_nonnull(other);
    ck_assert_str_ne(found("mcp__a_b__x"), mcplug_entry_name(other));
}
END_TEST

START_TEST(a_server_is_found_by_the_name_that_the_toolbox_gives_it)
{
    char name[MCPLUG_NAME_MAX + 1], text[128];
    memset(name, 's', MCPLUG_NAME_MAX);
    name[MCPLUG_NAME_MAX] = '\0';
    servers((const char *const[]){name, NULL});
    struct mp_names *names = mp_names_new(false);
    ck_assert_int_eq(mp_names_server(names, name), MCPLUG_OK);
    snprintf(text, sizeof text, "mcp__%s__t", mp_names_namespace(names, name));
    mp_names_free(names);
    ck_assert_uint_lt(strlen(text), MCPLUG_NAME_MAX);
    ck_assert_str_eq(found(text), name);
    ck_assert_str_eq(tool, "t");
    list("[{'name':'u'},{'name':'t'}]");
    ck_assert_int_eq(index_of(text), 1);
}
END_TEST

START_TEST(a_tool_is_itself_or_the_only_one_that_looks_so)
{
    servers((const char *const[]){"s", NULL});
    list("[{'name':'a.b'},{'name':'a_b'},{'name':'c.d'},{'name':'e.f'},{'name':'e-f'}]");
    ck_assert_int_eq(index_of("mcp__s__a_b"), 1);
    ck_assert_int_eq(index_of("mcp__s__c_d"), 2);
    ck_assert_int_eq(index_of("mcp__s__e_f"), MCPLUG_TOOL_SEVERAL);
    ck_assert_int_eq(index_of("mcp__s__g"), MCPLUG_TOOL_NONE);
}
END_TEST

START_TEST(a_tool_is_found_by_the_name_that_the_toolbox_gives_it)
{
    char tool_name[101], text[256];
    memset(tool_name, 't', 100);
    tool_name[100] = '\0';
    servers((const char *const[]){"s", NULL});
    snprintf(text, sizeof text, "[{'name':'x'},{'name':'%s'}]", tool_name);
    list(text);
    struct mp_names *names = mp_names_new(false);
    ck_assert_int_eq(
        mp_names_tools(names, "s", (const char *const[]){"x", tool_name, NULL}),
        MCPLUG_OK);
    snprintf(text, sizeof text, "%s", mp_names_of(names, "s", tool_name));
    mp_names_free(names);
    ck_assert_uint_le(strlen(text), MP_TOOL_NAME_MAX);
    ck_assert_int_eq(index_of(text), 1);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_checked_fixture(t, NULL, end_all);
    tcase_add_test(t, a_prefix_has_underscores_for_what_models_do_not_take);
    tcase_add_test(t, a_server_is_found_by_its_prefix);
    tcase_add_test(t, what_is_no_such_name_is_not_found);
    tcase_add_test(t, two_servers_that_fit_are_both_told);
    tcase_add_test(t, a_server_is_found_by_the_name_that_the_toolbox_gives_it);
    tcase_add_test(t, a_tool_is_itself_or_the_only_one_that_looks_so);
    tcase_add_test(t, a_tool_is_found_by_the_name_that_the_toolbox_gives_it);
}

int main(void)
{
    return run_suite("api_admin_names", add);
}
