#include "config_kit.h"

#define SERVER(name) "{'mcpServers':{'" name "':{'command':'x'}}}"

static const char *where(const char *name)
{
    return mp_scope_name(entry(name)->source->scope);
}

static void everywhere(const char *name)
{
    char text[256];
    snprintf(text, sizeof text, "{'mcpServers':{'%s':{'command':'x'}}}", name);
    give(LOCAL, text);
    give(PROJECT, text);
    give(ABOVE, text);
    give(USER, text);
    give("servers.d/a.json", text);
    give("servers.d/b.json", text);
}

/* ---- scopes ---- */

START_TEST(without_files_there_is_nothing_and_nothing_is_wrong)
{
    load();
    ck_assert_uint_eq(config->n_entries, 0);
    ck_assert_uint_eq(config->n_sources, 0);
    ck_assert_uint_eq(config->n_problems, 0);
    ck_assert(!config->exclusive && !config->policy && !config->policy_error);
    ck_assert_ptr_null(config->plugin_dirs);
    ck_assert_ptr_null(mcplug_entry_find(config, "x"));
    mcplug_config_free(NULL);
}
END_TEST

START_TEST(scopes_have_names_and_two_of_them_want_approval)
{
    static const char *const names[] = {"enterprise", "local",   "project",
                                        "user",       "dynamic", "package"};
    enum mcplug_scope scope = MCPLUG_SCOPE_USER;

    for (size_t i = 0; i < MP_COUNT(names); i++) {
        ck_assert_str_eq(mp_scope_name((enum mcplug_scope)i), names[i]);
        ck_assert(mcplug_scope_find(names[i], &scope) && scope == (enum mcplug_scope)i);
        bool asks = i == MCPLUG_SCOPE_LOCAL || i == MCPLUG_SCOPE_PROJECT;
        ck_assert(mp_scope_needs_approval((enum mcplug_scope)i) == asks);
    }
    ck_assert(!mcplug_scope_find("User", &scope) && !mcplug_scope_find("", &scope));
}
END_TEST

START_TEST(the_highest_scope_wins_and_the_others_are_still_known)
{
    static const char *const files[] = {LOCAL, PROJECT, ABOVE, USER};
    static const char *const scopes[] = {"local", "project", "project", "user"};
    const char *more[] = {json(SERVER("s")), NULL};

    everywhere("s");
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        ck_assert(load_with(more, false));
        ck_assert_str_eq(where("s"), scopes[i]);
        ck_assert_str_eq(entry("s")->source->path, at(files[i]));
        ck_assert_uint_eq(config->n_entries, 7 - i);
        for (size_t k = 1; k < config->n_entries; k++)
            ck_assert_ptr_eq(config->entries[k].by, entry("s"));
        ck_assert_int_eq(unlink(at(files[i])), 0);
    }
    ck_assert(load_with(more, false));
    ck_assert_str_eq(where("s"), "dynamic");
    load();
    ck_assert_str_eq(entry("s")->source->path, at("servers.d/a.json"));
}
END_TEST

START_TEST(an_entry_can_be_found_by_its_scope)
{
    everywhere("s");
    load();
    ck_assert_ptr_eq(mcplug_entry_find_in(config, "s", MCPLUG_SCOPE_LOCAL), entry("s"));
    struct mp_entry *e = mcplug_entry_find_in(config, "s", MCPLUG_SCOPE_PROJECT);
    ck_assert_str_eq(e->source->path, at(PROJECT)); /* the nearest */
    e = mcplug_entry_find_in(config, "s", MCPLUG_SCOPE_USER);
    ck_assert_str_eq(e->source->path, at(USER));
    ck_assert_ptr_null(mcplug_entry_find_in(config, "s", MCPLUG_SCOPE_DYNAMIC));
    ck_assert_ptr_null(mcplug_entry_find_in(config, "t", MCPLUG_SCOPE_USER));
}
END_TEST

START_TEST(entries_are_sorted_and_know_their_place)
{
    give(USER, "{\n  'mcpServers': {\n    'b': {'command':'x'},\n"
               "    '\xc3\xa4': {},\t'a': {'url':'http://h'}\n  }\n}\n");
    load();
    ck_assert_uint_eq(config->n_entries, 3);
    ck_assert_str_eq(config->entries[0].name, "a");
    ck_assert_str_eq(config->entries[1].name, "b");
    ck_assert_uint_eq(entry("b")->at.line, 3);
    ck_assert_uint_eq(entry("b")->at.column, 5);
    ck_assert_uint_eq(entry("a")->at.line, 4);
    ck_assert_uint_eq(entry("a")->at.column, 14); /* characters, not bytes */
    ck_assert(mp_bytes_eq(entry("a")->json, json("{'url':'http://h'}")));
}
END_TEST

START_TEST(project_files_are_looked_for_up_to_the_root)
{
    give(ABOVE, SERVER("above"));
    give(PROJECT, SERVER("here"));
    give("project/.mcp.json.bak", SERVER("bak"));
    make_dirs("project/a/b/c/");
    give("project/a/b/.mcp.json", SERVER("between"));
    give("project/a/.mcplug.local.json", SERVER("notlocal"));
    ck_assert_int_eq(chdir(at("project/a/b/c")), 0);
    load();
    ck_assert_uint_eq(config->n_entries, 3);
    ck_assert_str_eq(entry("above")->source->path, at(ABOVE));
    ck_assert_str_eq(entry("here")->source->path, at(PROJECT));
    ck_assert_str_eq(where("between"), "project");
}
END_TEST

START_TEST(of_what_is_given_the_last_wins_and_files_may_be_given_too)
{
    give("one.json", SERVER("a"));
    const char *more[] = {
        json("{'mcpServers':{'a':{'command':'1'},'b':{'command':'1'}}}"), at("one.json"),
        json(" \n{'mcpServers':{'b':{'command':'3'}}}"), NULL};

    ck_assert(load_with(more, false));
    ck_assert_uint_eq(config->n_entries, 4);
    ck_assert_str_eq(entry("a")->source->path, at("one.json"));
    ck_assert_str_eq(entry("b")->source->path, "--mcp-config");
    ck_assert_ptr_null(entry("b")->source->real);
    ck_assert(mp_bytes_eq(entry("b")->json, json("{'command':'3'}")));
    ck_assert_str_eq(problems(), "");
}
END_TEST

START_TEST(what_is_given_and_is_not_there_is_a_problem)
{
    const char *more[] = {"none.json", "", json("{'mcpServers':"), json("{}"), NULL};
    ck_assert(load_with(more, false));
    ck_assert_str_eq(problems(),
                     "--mcp-config:1:15: ends before the '{' of line 1, column 1 is "
                     "closed\n"
                     ": there is no such file\n"
                     "none.json: there is no such file\n"
                     "(warning) --mcp-config:1:1: it has no \"mcpServers\", so it adds "
                     "nothing\n");
}
END_TEST

START_TEST(strict_leaves_what_is_given_and_what_the_administrator_says)
{
    const char *more[] = {json(SERVER("given")), NULL};
    everywhere("s");
    give(POLICY, "{'deny':[{'name':'given'}]}");
    ck_assert(load_with(more, true));
    ck_assert_uint_eq(config->n_entries, 1);
    ck_assert_uint_eq(config->n_sources, 1);
    ck_assert_int_eq(state_of("given"), MCPLUG_ENTRY_BLOCKED);
    ck_assert(load_with(NULL, true));
    ck_assert_uint_eq(config->n_entries, 0);
    give(MANAGED, SERVER("m"));
    ck_assert(load_with(more, true));
    ck_assert_uint_eq(config->n_entries, 1);
    ck_assert_str_eq(where("m"), "enterprise");
}
END_TEST

START_TEST(packages_bring_files_that_end_in_json_by_name)
{
    give("servers.d/b.json", SERVER("s"));
    give("servers.d/a.json", "{'mcpServers':{'s':{'command':'a'},'t':{'command':'a'}}}");
    give("servers.d/.hidden.json", SERVER("h"));
    give("servers.d/c.json~", SERVER("c"));
    give("servers.d/.json", SERVER("c"));
    give("servers.d/readme", "no JSON");
    make_dirs("servers.d/dir.json/");
    load();
    ck_assert_uint_eq(config->n_entries, 3);
    ck_assert_str_eq(entry("s")->source->path, at("servers.d/a.json"));
    ck_assert_str_eq(where("t"), "package");
    ck_assert_int_eq(state_of("t"), MCPLUG_ENTRY_READY);
    ck_assert_str_eq(problems(), "servers.d/dir.json: is a directory\n");
}
END_TEST

START_TEST(a_link_keeps_its_path_and_tells_the_real_one)
{
    give("elsewhere/p.json", SERVER("s"));
    ck_assert_int_eq(symlink("../elsewhere/p.json", at(PROJECT)), 0);
    load();
    ck_assert_str_eq(entry("s")->source->path, at(PROJECT));
    ck_assert_str_eq(entry("s")->source->real, at("elsewhere/p.json"));
}
END_TEST

/* ---- the administrator's ---- */

START_TEST(a_managed_file_is_all_there_is)
{
    const char *more[] = {json(SERVER("given")), NULL};
    everywhere("s");
    give(MANAGED, SERVER("m"));
    ck_assert(load_with(more, false));
    ck_assert(config->exclusive);
    ck_assert_uint_eq(config->n_entries, 1);
    ck_assert_int_eq(state_of("m"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(a_managed_file_that_cannot_be_used_still_keeps_all_others_out)
{
    static const char *const texts[] = {"",  "{}", "{'mcpServers':{}}",
                                        "{", "[]", "{'mcpServers':7}"};

    everywhere("s");
    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        give(MANAGED, texts[i]);
        load();
        ck_assert(config->exclusive);
        ck_assert_uint_eq(config->n_entries, 0);
    }
    give(MANAGED, SERVER("m"));
    ck_assert_int_eq(chmod(at(MANAGED), 0622), 0);
    load();
    ck_assert(config->exclusive);
    ck_assert_uint_eq(config->n_entries, 0);
    HAS(problems(), "etc/managed.json: is writable by users other than root");
    ck_assert_int_eq(unlink(at(MANAGED)), 0);
    ck_assert_int_eq(symlink("nowhere", at(MANAGED)), 0);
    load();
    ck_assert(config->exclusive);
    ck_assert_int_eq(unlink(at(MANAGED)), 0);
    make_dirs(MANAGED "/");
    load();
    ck_assert(config->exclusive);
    ck_assert_uint_eq(config->n_entries, 0);
}
END_TEST

START_TEST(what_does_not_belong_to_the_administrator_is_not_used)
{
    if (geteuid() == 0) {
        give(MANAGED, SERVER("m"));
        ck_assert_int_eq(chown(at(MANAGED), NOBODY, NOBODY), 0);
    } else {
        give(MANAGED, SERVER("m"));
        installed_owner = 0;
    }
    load();
    ck_assert(config->exclusive);
    ck_assert_uint_eq(config->n_entries, 0);
    HAS(problems(), "etc/managed.json: does not belong to root");
    ck_assert_int_eq(unlink(at(MANAGED)), 0);
    give("servers.d/a.json", SERVER("a"));
    give("servers.d/b.json", SERVER("b"));
    ck_assert_int_eq(chmod(at("servers.d/b.json"), 0664), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(chown(at("servers.d/a.json"), NOBODY, NOBODY), 0);
    load();
    ck_assert_ptr_null(mcplug_entry_find(config, "a"));
    ck_assert_ptr_null(mcplug_entry_find(config, "b"));
}
END_TEST

START_TEST(a_policy_that_cannot_be_read_allows_nothing)
{
    give(USER, SERVER("s"));
    give(POLICY, "{'deny':[{'nmae':'x'}]}");
    load();
    ck_assert_ptr_nonnull(config->policy_error);
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BLOCKED);
    HAS(err.text, "the enterprise policy cannot be used, so no server is allowed: ");
    give(POLICY, "{}");
    ck_assert_int_eq(chmod(at(POLICY), 0666), 0);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BLOCKED);
    ck_assert_int_eq(chmod(at(POLICY), 0644), 0);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}
END_TEST

/* ---- whose files ---- */

START_TEST(files_that_everybody_can_change_are_not_used)
{
    static const char *const files[] = {LOCAL, USER};
    everywhere("s");
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        ck_assert_int_eq(chmod(at(files[i]), 0602), 0);
        load();
        ck_assert_str_ne(where("s"), i ? "user" : "local");
        HAS(problems(),
            "is writable by everyone, so it is not used; fix that with chmod o-w");
        ck_assert_int_eq(chmod(at(files[i]), 0600), 0);
        if (getuid() == 0) {
            ck_assert_int_eq(chown(at(files[i]), NOBODY, NOBODY), 0);
            load();
            ck_assert_str_ne(where("s"), i ? "user" : "local");
            HAS(problems(), "belongs to another user, so it is not used");
        }
        ck_assert_int_eq(unlink(at(files[i])), 0);
    }
}
END_TEST

START_TEST(a_project_may_be_writable_for_it_wants_approval)
{
    give(PROJECT, SERVER("s"));
    ck_assert_int_eq(chmod(at(PROJECT), 0666), 0);
    load();
    ck_assert_str_eq(problems(), "");
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
}
END_TEST

static void is_ignored(const char *file, const char *why)
{
    char line[256];

    load();
    ck_assert_ptr_null(mcplug_entry_find(config, "s"));
    snprintf(line, sizeof line, "(warning) %s: %s, so it is not used\n", file, why);
    ck_assert_str_eq(problems(), line);
    ck_assert(!mp_config_damaged(config));
}

START_TEST(a_project_of_somebody_else_is_ignored)
{
    static const char *const files[] = {PROJECT, LOCAL, ABOVE};
    uid_t other = somebody_else(), us = geteuid();

    if (us != 0) {
        printf("skipped: only root can make somebody else's files\n");
        return;
    }
    const char *file = files[_i], *dir = _i == 2 ? "" : "project";
    give(file, SERVER("s"));
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);

    ck_assert_int_eq(chown(at(file), other, other), 0);
    is_ignored(file, "it belongs to another user");
    ck_assert_int_eq(chmod(at(file), 0600), 0);
    is_ignored(file, "it belongs to another user");
    ck_assert_int_eq(chown(at(file), us, us), 0);

    ck_assert_int_eq(chown(at(dir), other, other), 0);
    is_ignored(file, "its directory belongs to another user");
    give(file, "{"); /* what is in it does not matter */
    is_ignored(file, "its directory belongs to another user");
    ck_assert_int_eq(unlink(at(file)), 0);
    ck_assert_int_eq(mkfifo(at(file), 0600), 0);
    is_ignored(file, "its directory belongs to another user");
    ck_assert_int_eq(unlink(at(file)), 0);
    ck_assert_int_eq(chown(at(dir), us, us), 0);

    give("other/real.json", SERVER("s")); /* by a link */
    ck_assert_int_eq(symlink(at("other/real.json"), at(file)), 0);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
    ck_assert_int_eq(lchown(at(file), other, other), 0);
    is_ignored(file, "it is a link that belongs to another user");
    ck_assert_int_eq(lchown(at(file), us, us), 0);
    ck_assert_int_eq(chown(at("other"), other, other), 0);
    is_ignored(file, "it leads to a directory that belongs to another user");
    ck_assert_int_eq(chown(at("other"), us, us), 0);
    ck_assert_int_eq(chown(at("other/real.json"), other, other), 0);
    is_ignored(file, "it belongs to another user");
}
END_TEST

/* As a user, what root has is as good as one's own. */
static void load_as_nobody(void)
{
    struct mcplug_config_options options = {.struct_size = sizeof options};

    config = mcplug_config_load(&options, &err);
    MUST(config);
    MUST(mcplug_entry_find(config, "s"));
    MUST(strcmp(problems(), "") == 0);
}

START_TEST(a_project_of_root_is_used_by_others)
{
    if (geteuid() != 0) {
        printf("skipped: only root can make root's files\n");
        return;
    }
    give(PROJECT, SERVER("s"));
    ck_assert_int_eq(chmod(at(PROJECT), 0644), 0);
    static const char *const dirs[] = {"project", "home", "etc", "servers.d"};
    for (size_t i = 0; i < MP_COUNT(dirs); i++)
        ck_assert_int_eq(chmod(at(dirs[i]), 0755), 0);
    as_nobody(load_as_nobody);
}
END_TEST

/* ---- problems ---- */

START_TEST(a_broken_file_hides_itself_alone)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{'mcpServers':{'t':{'command':'x',}}}", ":1:34: "},
        {"{\n 'mcpServers' {}}", ":2:15: "},
        {"{'mcpServers':{'t':{},'t':{}}}", "\"t\" is given twice"},
        {"// comment\n{}", ":1:1: "},
        {"[1]", ":1:1: expected an object with \"mcpServers\""},
        {"\n  7", "expected an object with \"mcpServers\""},
        {"{'mcpServers':[]}", ":1:15: mcpServers: expected an object with one member"},
        {"\xff", "UTF-8"},
    };

    give(USER, SERVER("s"));
    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        give(PROJECT, rows[i].text);
        load();
        ck_assert_uint_eq(config->n_entries, 1);
        ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
        ck_assert_uint_eq(config->n_problems, 1);
        ck_assert(!config->problems[0].is_warning && !config->problems[0].server);
        HAS(problems(), rows[i].why);
        ck_assert(strncmp(problems(), PROJECT, strlen(PROJECT)) == 0);
    }
}
END_TEST

START_TEST(a_broken_entry_hides_itself_alone)
{
    give(USER, "{'mcpServers':{'bad':{'command':7},'good':{'command':'x'},'worse':[]}}");
    load();
    ck_assert_int_eq(state_of("bad"), MCPLUG_ENTRY_BROKEN);
    HAS(err.text, "settings.json:1:33: mcpServers.bad.command: expected a string");
    ck_assert_int_eq(state_of("worse"), MCPLUG_ENTRY_BROKEN);
    ck_assert_int_eq(state_of("good"), MCPLUG_ENTRY_READY);
    const struct mp_problem *p = mp_config_problem_of(config, entry("bad"));
    ck_assert_str_eq(p->server, "bad");
    ck_assert_str_eq(p->path, "mcpServers.bad.command");
    ck_assert_uint_eq(p->at.column, 33);
    ck_assert_ptr_null(mp_config_problem_of(config, entry("good")));
}
END_TEST

START_TEST(a_broken_entry_still_hides_the_one_below_it)
{
    give(LOCAL, "{'mcpServers':{'s':{'command':7}}}");
    give(USER, SERVER("s"));
    load();
    ck_assert_str_eq(where("s"), "local");
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BROKEN);
}
END_TEST

START_TEST(empty_files_and_those_of_other_programs_are_no_problem)
{
    give(USER, "");
    give(PROJECT, " \n\t\r\n");
    give(LOCAL, "{}");
    give(ABOVE, "{'theme':'dark','mcpServers':{}}");
    load();
    ck_assert_uint_eq(config->n_entries, 0);
    ck_assert_str_eq(problems(), "");
}
END_TEST

START_TEST(servers_of_the_other_form_are_pointed_out)
{
    give(PROJECT, "{'servers':{'s':{'command':'x'}}}");
    load();
    ck_assert_uint_eq(config->n_entries, 0);
    HAS(problems(), "(warning) ");
    HAS(problems(), ":1:12: servers: servers are expected in \"mcpServers\"");
}
END_TEST

START_TEST(an_unreadable_file_is_a_problem_with_its_path_once)
{
    make_dirs(USER "/");
    load();
    ck_assert_str_eq(problems(), USER ": is a directory\n");
}
END_TEST

START_TEST(approvals_that_cannot_be_used_are_a_problem)
{
    give(PROJECT, SERVER("s"));
    load();
    ck_assert_int_eq(mcplug_entry_approve(entry("s"), &err), MCPLUG_OK);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
    ck_assert_int_eq(chmod(at(APPROVALS), 0606), 0);
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
    HAS(problems(), APPROVALS ": other users can change it");
    ck_assert_uint_eq(config->n_entries, 1);
}
END_TEST

/* ---- directories of modules ---- */

START_TEST(only_the_user_and_the_administrator_name_directories_of_modules)
{
    const char *more[] = {json("{'pluginDirs':['/d'],'mcpServers':{}}"), NULL};
    give(PROJECT, "{'pluginDirs':['/p']}");
    give(LOCAL, "{'pluginDirs':['/l']}");
    give("servers.d/a.json", "{'pluginDirs':['/a']}");
    ck_assert(load_with(more, false));
    ck_assert_ptr_null(config->plugin_dirs);
    ck_assert_uint_eq(config->n_problems, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert(config->problems[i].is_warning);
    HAS(problems(), "pluginDirs: is allowed only in the user's own file");
    give(USER, "{'pluginDirs':['/one','/two']}");
    load();
    ck_assert_str_eq(config->plugin_dirs[0], "/one");
    ck_assert_str_eq(config->plugin_dirs[1], "/two");
    ck_assert_ptr_null(config->plugin_dirs[2]);
    give(MANAGED, "{'pluginDirs':['/m']}");
    load();
    ck_assert_str_eq(config->plugin_dirs[0], "/m");
    ck_assert_ptr_null(config->plugin_dirs[1]);
}
END_TEST

START_TEST(directories_of_modules_are_absolute)
{
    give(USER, "{'pluginDirs':['/one','two','~/x','',7,'/three']}");
    load();
    ck_assert_str_eq(config->plugin_dirs[0], "/one");
    ck_assert_str_eq(config->plugin_dirs[1], "/three");
    ck_assert_ptr_null(config->plugin_dirs[2]);
    ck_assert_uint_eq(config->n_problems, 4);
    HAS(problems(), ":1:23: pluginDirs: expected an absolute path");
    give(USER, "{'pluginDirs':'/one'}");
    load();
    ck_assert_ptr_null(config->plugin_dirs);
    HAS(problems(), "pluginDirs: expected a list of directories");
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, without_files_there_is_nothing_and_nothing_is_wrong);
    tcase_add_test(t, scopes_have_names_and_two_of_them_want_approval);
    tcase_add_test(t, the_highest_scope_wins_and_the_others_are_still_known);
    tcase_add_test(t, an_entry_can_be_found_by_its_scope);
    tcase_add_test(t, entries_are_sorted_and_know_their_place);
    tcase_add_test(t, project_files_are_looked_for_up_to_the_root);
    tcase_add_test(t, of_what_is_given_the_last_wins_and_files_may_be_given_too);
    tcase_add_test(t, what_is_given_and_is_not_there_is_a_problem);
    tcase_add_test(t, strict_leaves_what_is_given_and_what_the_administrator_says);
    tcase_add_test(t, packages_bring_files_that_end_in_json_by_name);
    tcase_add_test(t, a_link_keeps_its_path_and_tells_the_real_one);
    tcase_add_test(t, a_managed_file_is_all_there_is);
    tcase_add_test(t, a_managed_file_that_cannot_be_used_still_keeps_all_others_out);
    tcase_add_test(t, what_does_not_belong_to_the_administrator_is_not_used);
    tcase_add_test(t, a_policy_that_cannot_be_read_allows_nothing);
    tcase_add_test(t, files_that_everybody_can_change_are_not_used);
    tcase_add_test(t, a_project_may_be_writable_for_it_wants_approval);
    tcase_add_loop_test(t, a_project_of_somebody_else_is_ignored, 0, 3);
    tcase_add_test(t, a_project_of_root_is_used_by_others);
    tcase_add_test(t, a_broken_file_hides_itself_alone);
    tcase_add_test(t, a_broken_entry_hides_itself_alone);
    tcase_add_test(t, a_broken_entry_still_hides_the_one_below_it);
    tcase_add_test(t, empty_files_and_those_of_other_programs_are_no_problem);
    tcase_add_test(t, servers_of_the_other_form_are_pointed_out);
    tcase_add_test(t, an_unreadable_file_is_a_problem_with_its_path_once);
    tcase_add_test(t, approvals_that_cannot_be_used_are_a_problem);
    tcase_add_test(t, only_the_user_and_the_administrator_name_directories_of_modules);
    tcase_add_test(t, directories_of_modules_are_absolute);
}

int main(void)
{
    return run_suite("config_config", add);
}
