#include "config_kit.h"

#define X "{'command':'x'}"
#define ONE                                                                              \
    "{\n  'mcpServers': {\n    's': {'command': 'x'}\n  },\n  'theme': 'dark'\n}\n"

static const char *path;

static int add_to_scope(enum mcplug_scope scope, const char *name, const char *body)
{
    path = NULL;
    memset(&err, 0, sizeof err);
    const char *text = json(body);
    int r = mcplug_entry_add(config, scope, name, text, strlen(text), 1, &path, &err);
    ck_assert((r == MCPLUG_OK) == (path != NULL));
    ck_assert((r == MCPLUG_OK) == (err.text[0] == '\0'));
    return r;
}

static void refused(enum mcplug_scope scope, const char *name, const char *body, int code,
                    const char *why)
{
    ck_assert_int_eq(add_to_scope(scope, name, body), code);
    HAS(err.text, why);
}

static struct mp_entry *in(const char *name, enum mcplug_scope scope)
{
    struct mp_entry *e = mcplug_entry_find_in(config, name, scope);
    ck_assert_ptr_nonnull(e);
    return e;
}

/* ---- adding ---- */

START_TEST(a_server_is_added_to_the_file_of_its_scope)
{
    static const struct {
        enum mcplug_scope scope;
        const char *file;
        mode_t mode;
    } rows[] = {{MCPLUG_SCOPE_USER, USER, 0600},
                {MCPLUG_SCOPE_LOCAL, LOCAL, 0600},
                {MCPLUG_SCOPE_PROJECT, PROJECT, 0644}};
    char name[8];

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        snprintf(name, sizeof name, "s%zu", i);
        load();
        ck_assert_msg(add_to_scope(rows[i].scope, name, X) == MCPLUG_OK, "%s", err.text);
        ck_assert_str_eq(path, at(rows[i].file));
        ck_assert_str_eq(path, mcplug_config_scope_file(config, rows[i].scope));
        ck_assert_int_eq(look(rows[i].file).st_mode & 0777, rows[i].mode);
        load();
        ck_assert_ptr_eq(in(name, rows[i].scope), entry(name));
        ck_assert_int_eq(state_of(name), MCPLUG_ENTRY_READY); /* approved by adding it */
    }
}
END_TEST

START_TEST(what_else_is_in_the_file_stays)
{
    give(USER, ONE);
    load();
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_USER, "t", "{ 'url' : 'http://h' }"),
                     MCPLUG_OK);
    struct mp_file file;
    ck_assert_int_eq(mp_file_read(at(USER), &file, &err), MCPLUG_OK);
    HAS(file.text.data, json("    's': {'command': 'x'},\n    't': {"));
    HAS(file.text.data, json("'theme': 'dark'\n}\n"));
    mp_file_clear(&file);
}
END_TEST

START_TEST(a_project_above_is_not_written_to)
{
    give(ABOVE, "{'mcpServers':{}}");
    load();
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_PROJECT, "s", X), MCPLUG_OK);
    ck_assert_str_eq(path, at(PROJECT));
    holds(ABOVE, json("{'mcpServers':{}}"));
}
END_TEST

START_TEST(a_name_that_the_file_has_is_refused)
{
    give(USER, ONE);
    load();
    refused(MCPLUG_SCOPE_USER, "s", "{'command':'y'}", MCPLUG_EINVAL,
            "MCP server s already exists in ");
    holds(USER, json(ONE));
    /* another scope may have it */
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_LOCAL, "s", X), MCPLUG_OK);
}
END_TEST

START_TEST(the_file_is_looked_at_when_it_is_written)
{
    load();
    give(USER, ONE); /* another process was quicker */
    refused(MCPLUG_SCOPE_USER, "s", X, MCPLUG_EINVAL, "already exists");
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_USER, "t", X), MCPLUG_OK);
    load();
    entry("s");
    entry("t");
}
END_TEST

START_TEST(bad_names_and_shapes_are_refused_and_nothing_is_written)
{
    load();
    refused(MCPLUG_SCOPE_USER, "a b", X, MCPLUG_ECONFIG, "Invalid name a b");
    refused(MCPLUG_SCOPE_USER, "", X, MCPLUG_ECONFIG, "Invalid name");
    refused(MCPLUG_SCOPE_USER, "s", "{}", MCPLUG_EINVAL,
            "Invalid configuration: s: \"command\" or \"url\" is missing");
    refused(MCPLUG_SCOPE_USER, "s", "[]", MCPLUG_EINVAL, "Invalid configuration: s: ");
    refused(MCPLUG_SCOPE_USER, "s", "{'command':7}", MCPLUG_EINVAL,
            "Invalid configuration: s.command: expected a string, found a number");
    refused(MCPLUG_SCOPE_USER, "s", "{'command':'x','args':[[]]}", MCPLUG_EINVAL,
            "s.args[0]: expected a string");
    refused(MCPLUG_SCOPE_USER, "mcpServers", "{'command':7}", MCPLUG_EINVAL,
            "Invalid configuration: mcpServers.command: ");
    ck_assert(!is_there("home/.config"));
}
END_TEST

START_TEST(the_policy_keeps_servers_out_of_files)
{
    give(POLICY, "{'allow':[{'command':['x']}],'deny':[{'name':'evil'}]}");
    load();
    refused(MCPLUG_SCOPE_USER, "evil", X, MCPLUG_ECONFIG,
            "Cannot add MCP server \"evil\": server is explicitly blocked by enterprise "
            "policy");
    refused(MCPLUG_SCOPE_USER, "s", "{'command':'y'}", MCPLUG_ECONFIG,
            "Cannot add MCP server \"s\": ");
    refused(MCPLUG_SCOPE_PROJECT, "s", "{'command':'y','disabled':true}", MCPLUG_ECONFIG,
            "Cannot add MCP server \"s\": ");
    ck_assert(!is_there(USER) && !is_there(PROJECT));
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_PROJECT, "s", X), MCPLUG_OK);
    give(POLICY, "{'nonsense':1}");
    load();
    refused(MCPLUG_SCOPE_USER, "s", X, MCPLUG_ECONFIG,
            "the enterprise policy cannot be used");
}
END_TEST

START_TEST(beside_a_managed_file_nothing_is_added)
{
    give(MANAGED, "{'mcpServers':{'m':" X "}}");
    load();
    for (enum mcplug_scope scope = MCPLUG_SCOPE_LOCAL; scope <= MCPLUG_SCOPE_USER;
         scope++)
        refused(scope, "s", X, MCPLUG_ECONFIG, "not allowed by enterprise policy");
    ck_assert(!is_there(USER) && !is_there(PROJECT) && !is_there(LOCAL));
}
END_TEST

START_TEST(other_scopes_have_no_file_to_add_to)
{
    static const enum mcplug_scope scopes[] = {
        MCPLUG_SCOPE_ENTERPRISE, MCPLUG_SCOPE_DYNAMIC, MCPLUG_SCOPE_PACKAGE};
    load();
    for (size_t i = 0; i < MP_COUNT(scopes); i++) {
        ck_assert_ptr_null(mcplug_config_scope_file(config, scopes[i]));
        refused(scopes[i], "s", X, MCPLUG_EINVAL, "use local, project or user");
    }
}
END_TEST

START_TEST(a_file_that_is_no_configuration_is_not_touched)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{'mcpServers':{},}", "settings.json:1:17: "},
        {"// mine\n{}", "settings.json:1:1: "},
        {"[]", "expected an object with \"mcpServers\"; nothing was changed"},
        {"{'mcpServers':[]}", "mcpServers"},
        {"{'mcpServers':{'a':{},'a':{}}}", "\"a\" is given twice; nothing was changed"},
    };
    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        give(USER, rows[i].text);
        load();
        refused(MCPLUG_SCOPE_USER, "s", X, MCPLUG_ECONFIG, rows[i].why);
        holds(USER, json(rows[i].text));
    }
}
END_TEST

START_TEST(an_empty_file_becomes_one_with_a_server)
{
    give(USER, " \n");
    load();
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_USER, "s", X), MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(what_was_added_is_approved_as_it_is_written_and_no_other_way)
{
    load();
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_PROJECT, "s",
                                  "{ 'args' : [ 'a' ],\n'command':'\\u0078' }"),
                     MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
    give(PROJECT, "{'mcpServers':{'s':{'args':['b'],'command':'x'}}}");
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
    ck_assert_int_eq(entry("s")->approval, MCPLUG_APPROVAL_CHANGED);
}
END_TEST

/* ---- an entry and its approval, or neither ---- */

#define STATE "home/.local/state/mcplug"

/* The file that is there, or that there is none. */
static void still(const char *name, const char *text)
{
    if (text)
        holds(name, json(text));
    else
        ck_assert(!is_there(name));
}

START_TEST(without_a_place_for_its_approval_nothing_is_added)
{
    const char *before = _i ? ONE : NULL;

    if (before)
        give(PROJECT, before);
    load();
    give("home/.local/state", "no directory");
    refused(MCPLUG_SCOPE_PROJECT, "new", X, MCPLUG_EIO, "approvals.json: ");
    still(PROJECT, before);
    ck_assert_uint_eq(count("project"), before ? 1 : 0); /* no temporary file */
    ck_assert_int_eq(unlink(at("home/.local/state")), 0);
    give(APPROVALS, "{'approved':{,}}");
    refused(MCPLUG_SCOPE_PROJECT, "new", X, MCPLUG_ECONFIG, "approvals.json:1:14: ");
    still(PROJECT, before);
    still(APPROVALS, "{'approved':{,}}");
    give(APPROVALS, "{'approved':[]}");
    refused(MCPLUG_SCOPE_PROJECT, "new", X, MCPLUG_ECONFIG, "approvals.json: ");
    still(PROJECT, before);
    ck_assert_uint_eq(count("project"), before ? 1 : 0);
}
END_TEST

START_TEST(what_cannot_be_added_is_not_approved)
{
    const char *before = _i ? "{'approved':{'/p':{'s':{'digest':'d'}}}}" : NULL;

    if (before)
        give(APPROVALS, before);
    give(PROJECT "/x", "in the way");
    load();
    refused(MCPLUG_SCOPE_PROJECT, "new", X, MCPLUG_ECONFIG, ".mcp.json: is a directory");
    still(APPROVALS, before);
    ck_assert_int_eq(unlink(at(PROJECT "/x")), 0);
    ck_assert_int_eq(rmdir(at(PROJECT)), 0);
    give(PROJECT, "{'mcpServers':{'new':{'command':'y'}}}");
    refused(MCPLUG_SCOPE_PROJECT, "new", X, MCPLUG_EINVAL, "already exists");
    still(APPROVALS, before);
}
END_TEST

/* One of two directories may not be written to. */
static void add_as_nobody(void)
{
    const char *text = json(X), *file = NULL;
    struct mcplug_config_options options = {.struct_size = sizeof options};

    config = mcplug_config_load(&options, &err);
    MUST(config);
    for (int i = 0; i < 2; i++) {
        const char *closed = at(i ? STATE : "project"), *why = i ? STATE : PROJECT;
        MUST(chmod(closed, 0500) == 0);
        MUST(mcplug_entry_add(config, MCPLUG_SCOPE_PROJECT, "new", text, strlen(text), 1,
                              &file, &err) == MCPLUG_EIO);
        MUST(strstr(err.text, why));
        MUST(!file && access(at(PROJECT), F_OK) != 0 && access(at(APPROVALS), F_OK) != 0);
        MUST(chmod(closed, 0700) == 0);
    }
    MUST(mcplug_entry_add(config, MCPLUG_SCOPE_PROJECT, "new", text, strlen(text), 1,
                          &file, &err) == MCPLUG_OK);
    MUST(access(at(PROJECT), F_OK) == 0 && access(at(APPROVALS), F_OK) == 0);
}

START_TEST(in_a_place_that_is_read_only_nothing_is_added)
{
    static const char *const dirs[] = {
        "project", "home", "home/.local", "home/.local/state", STATE, "etc", "servers.d"};

    make_dirs(STATE "/");
    for (size_t i = 0; getuid() == 0 && i < MP_COUNT(dirs); i++)
        ck_assert_int_eq(chown(at(dirs[i]), NOBODY, NOBODY), 0);
    as_nobody(add_as_nobody);
}
END_TEST

START_TEST(a_project_is_not_where_approvals_are)
{
    make_dirs(STATE "/");
    ck_assert_int_eq(chdir(at(STATE)), 0);
    load();
    refused(MCPLUG_SCOPE_PROJECT, "new", X, MCPLUG_EINVAL, "where approvals are stored");
    ck_assert_uint_eq(count(STATE), 0);
}
END_TEST

START_TEST(nothing_is_added_to_what_belongs_to_somebody_else)
{
    uid_t us = geteuid(), other = somebody_else();

    if (us != 0) {
        printf("skipped: only root can make somebody else's files\n");
        return;
    }
    load();
    ck_assert_int_eq(chown(at("project"), other, other), 0);
    refused(MCPLUG_SCOPE_PROJECT, "new", X, MCPLUG_EINVAL,
            ".mcp.json: its directory belongs to another user");
    ck_assert_uint_eq(count("project"), 0);
    ck_assert_int_eq(chown(at("project"), us, us), 0);
    give(PROJECT, ONE);
    ck_assert_int_eq(chown(at(PROJECT), other, other), 0);
    refused(MCPLUG_SCOPE_PROJECT, "new", X, MCPLUG_EINVAL,
            ".mcp.json: it belongs to another user");
    still(PROJECT, ONE);
    ck_assert(!is_there(APPROVALS));
}
END_TEST

START_TEST(adding_approves_nothing_else_in_the_file)
{
    give(PROJECT, "{'mcpServers':{'evil':{'command':'e'}}}");
    load();
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_PROJECT, "s", X), MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
    ck_assert_int_eq(state_of("evil"), MCPLUG_ENTRY_NEEDS_APPROVAL);
}
END_TEST

START_TEST(without_its_approval_what_is_added_waits_for_one)
{
    load();
    ck_assert_int_eq(mcplug_entry_add(config, MCPLUG_SCOPE_PROJECT, "s", json(X),
                                      strlen(X), 0, &path, &err),
                     MCPLUG_OK);
    ck_assert(!is_there(APPROVALS));
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
}
END_TEST

START_TEST(what_is_no_json_is_not_written)
{
    static const char *const bodies[] = {
        "{'command':'x','command':'y'}",
        "{'command':'x','env':{'A':'1','A':'2'}}",
        "{'command':'\xff'}",
    };
    give(USER, ONE);
    load();
    for (size_t i = 0; i < MP_COUNT(bodies); i++) {
        ck_assert_int_ne(add_to_scope(MCPLUG_SCOPE_USER, "t", bodies[i]), MCPLUG_OK);
        holds(USER, json(ONE));
    }
}
END_TEST

START_TEST(approval_is_for_where_a_link_leads)
{
    give("elsewhere/p.json", "{}");
    ck_assert_int_eq(symlink("../elsewhere/p.json", at(PROJECT)), 0);
    load();
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_PROJECT, "s", X), MCPLUG_OK);
    ck_assert(S_ISLNK(look(PROJECT).st_mode));
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
    give("other/p.json", "{'mcpServers':{'s':" X "}}");
    ck_assert_int_eq(unlink(at(PROJECT)), 0);
    ck_assert_int_eq(symlink("../other/p.json", at(PROJECT)), 0);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
}
END_TEST

/* ---- removing ---- */

START_TEST(a_server_is_removed_with_its_approval)
{
    give(USER, ONE);
    load();
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_LOCAL, "s", X), MCPLUG_OK);
    load();
    ck_assert_int_eq(mcplug_entry_remove(in("s", MCPLUG_SCOPE_LOCAL), &err), MCPLUG_OK);
    load();
    ck_assert_int_eq(entry("s")->source->scope, MCPLUG_SCOPE_USER);
    give(LOCAL, "{'mcpServers':{'s':" X "}}");
    load();
    ck_assert_int_eq(entry("s")->approval, MCPLUG_APPROVAL_NONE);
    ck_assert_int_eq(mcplug_entry_remove(in("s", MCPLUG_SCOPE_USER), &err), MCPLUG_OK);
    holds(USER, json("{\n  'mcpServers': {},\n  'theme': 'dark'\n}\n"));
}
END_TEST

START_TEST(what_is_gone_cannot_be_removed_again)
{
    give(USER, ONE);
    load();
    ck_assert_int_eq(mcplug_entry_remove(entry("s"), &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_entry_remove(entry("s"), &err), MCPLUG_EINVAL);
    HAS(err.text, "server \"s\" is no longer in ");
    ck_assert_int_eq(mcplug_entry_disable(entry("s"), &err), MCPLUG_EINVAL);
}
END_TEST

START_TEST(a_broken_entry_can_be_removed)
{
    give(USER, "{'mcpServers':{'s':7,'t':{'command':'x'}}}");
    load();
    ck_assert_int_eq(mcplug_entry_remove(entry("s"), &err), MCPLUG_OK);
    load();
    ck_assert_ptr_null(mcplug_entry_find(config, "s"));
    ck_assert_int_eq(state_of("t"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(what_comes_from_elsewhere_is_not_changed)
{
    const char *more[] = {json("{'mcpServers':{'d':" X "}}"), at("given.json"), NULL};
    give("given.json", "{'mcpServers':{'g':" X "}}");
    give("servers.d/p.json", "{'mcpServers':{'p':" X "}}");
    ck_assert(load_with(more, false));
    static const char *const names[] = {"d", "g", "p"};
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        ck_assert_int_eq(mcplug_entry_remove(entry(names[i]), &err), MCPLUG_EINVAL);
        HAS(err.text, "which mcplug does not change");
        ck_assert_int_eq(mcplug_entry_disable(entry(names[i]), &err), MCPLUG_EINVAL);
    }
    give(MANAGED, "{'mcpServers':{'m':" X "}}");
    load();
    ck_assert_int_eq(mcplug_entry_remove(entry("m"), &err), MCPLUG_EINVAL);
    HAS(err.text, "(enterprise scope)");
    holds("given.json", json("{'mcpServers':{'g':" X "}}"));
    holds("servers.d/p.json", json("{'mcpServers':{'p':" X "}}"));
    holds(MANAGED, json("{'mcpServers':{'m':" X "}}"));
}
END_TEST

/* ---- disabling ---- */

START_TEST(disabling_sets_a_flag_and_enabling_takes_it_away)
{
    give(USER, ONE);
    load();
    ck_assert_int_eq(mcplug_entry_disable(entry("s"), &err), MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_DISABLED);
    ck_assert_int_eq(mcplug_entry_disable(entry("s"), &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_entry_enable(entry("s"), &err), MCPLUG_OK);
    holds(USER, json(ONE));
    struct stat before = look(USER);
    ck_assert_int_eq(mcplug_entry_enable(entry("s"), &err), MCPLUG_OK);
    ck_assert(look(USER).st_ino == before.st_ino); /* nothing to do */
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(disabling_takes_no_approval_away_and_gives_none)
{
    load();
    ck_assert_int_eq(add_to_scope(MCPLUG_SCOPE_PROJECT, "s", X), MCPLUG_OK);
    give(LOCAL, "{'mcpServers':{'t':{'command':'x','disabled':false}}}");
    load();
    ck_assert_int_eq(mcplug_entry_disable(entry("s"), &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_entry_disable(entry("t"), &err), MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_DISABLED);
    ck_assert_int_eq(state_of("t"), MCPLUG_ENTRY_DISABLED);
    ck_assert_int_eq(mcplug_entry_enable(entry("s"), &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_entry_enable(entry("t"), &err), MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
    ck_assert_int_eq(state_of("t"), MCPLUG_ENTRY_NEEDS_APPROVAL);
}
END_TEST

START_TEST(an_entry_that_is_no_object_cannot_be_disabled)
{
    give(USER, "{'mcpServers':{'s':7}}");
    load();
    ck_assert_int_eq(mcplug_entry_disable(entry("s"), &err), MCPLUG_ECONFIG);
    holds(USER, json("{'mcpServers':{'s':7}}"));
}
END_TEST

/* ---- approving ---- */

START_TEST(an_approval_is_of_the_text_that_was_loaded)
{
    give(PROJECT, "{'mcpServers':{'s':" X ",'t':" X "}}");
    load();
    give(PROJECT, "{'mcpServers':{'s':{'command':'evil'},'t':" X "}}");
    ck_assert_int_eq(mcplug_entry_approve(entry("s"), &err), MCPLUG_OK);
    load(); /* what was shown is not what is there now */
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
    ck_assert_int_eq(entry("s")->approval, MCPLUG_APPROVAL_CHANGED);
    ck_assert_int_eq(state_of("t"), MCPLUG_ENTRY_NEEDS_APPROVAL);
    ck_assert_int_eq(mcplug_entry_approve(entry("s"), &err), MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(approving_text_that_stands_in_no_file_does_no_harm)
{
    const char *more[] = {json("{'mcpServers':{'s':" X "}}"), NULL};
    give(PROJECT, "{'mcpServers':{'t':" X "}}");
    load();
    ck_assert_int_eq(mcplug_entry_approve(entry("t"), &err), MCPLUG_OK);
    ck_assert(load_with(more, false));
    ck_assert_int_eq(mcplug_entry_approve(entry("s"), &err), MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("t"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(an_approval_does_not_outweigh_the_policy)
{
    give(PROJECT, "{'mcpServers':{'s':" X "}}");
    give(POLICY, "{'deny':[{'name':'s'}]}");
    load();
    mcplug_entry_approve(entry("s"), &err);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BLOCKED);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, a_server_is_added_to_the_file_of_its_scope);
    tcase_add_test(t, what_else_is_in_the_file_stays);
    tcase_add_test(t, a_project_above_is_not_written_to);
    tcase_add_test(t, a_name_that_the_file_has_is_refused);
    tcase_add_test(t, the_file_is_looked_at_when_it_is_written);
    tcase_add_test(t, bad_names_and_shapes_are_refused_and_nothing_is_written);
    tcase_add_test(t, the_policy_keeps_servers_out_of_files);
    tcase_add_test(t, beside_a_managed_file_nothing_is_added);
    tcase_add_test(t, other_scopes_have_no_file_to_add_to);
    tcase_add_test(t, a_file_that_is_no_configuration_is_not_touched);
    tcase_add_test(t, an_empty_file_becomes_one_with_a_server);
    tcase_add_test(t, what_was_added_is_approved_as_it_is_written_and_no_other_way);
    tcase_add_loop_test(t, without_a_place_for_its_approval_nothing_is_added, 0, 2);
    tcase_add_loop_test(t, what_cannot_be_added_is_not_approved, 0, 2);
    tcase_add_test(t, in_a_place_that_is_read_only_nothing_is_added);
    tcase_add_test(t, a_project_is_not_where_approvals_are);
    tcase_add_test(t, nothing_is_added_to_what_belongs_to_somebody_else);
    tcase_add_test(t, adding_approves_nothing_else_in_the_file);
    tcase_add_test(t, without_its_approval_what_is_added_waits_for_one);
    tcase_add_test(t, what_is_no_json_is_not_written);
    tcase_add_test(t, approval_is_for_where_a_link_leads);
    tcase_add_test(t, a_server_is_removed_with_its_approval);
    tcase_add_test(t, what_is_gone_cannot_be_removed_again);
    tcase_add_test(t, a_broken_entry_can_be_removed);
    tcase_add_test(t, what_comes_from_elsewhere_is_not_changed);
    tcase_add_test(t, disabling_sets_a_flag_and_enabling_takes_it_away);
    tcase_add_test(t, disabling_takes_no_approval_away_and_gives_none);
    tcase_add_test(t, an_entry_that_is_no_object_cannot_be_disabled);
    tcase_add_test(t, an_approval_is_of_the_text_that_was_loaded);
    tcase_add_test(t, approving_text_that_stands_in_no_file_does_no_harm);
    tcase_add_test(t, an_approval_does_not_outweigh_the_policy);
}

int main(void)
{
    return run_suite("config_change", add);
}
