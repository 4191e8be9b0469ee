/* The configuration as <mcplug/admin.h> shows it to commands and panels. */
#include "config_kit.h"

#include <mcplug/admin.h>

static mcplug_config *conf;
static mcplug *host;

static void end_all(void)
{
    mcplug_config_free(conf);
    mcplug_free(host);
    conf = NULL;
    host = NULL;
}

static void conf_load_with(const char *const *more)
{
    struct mcplug_config_options o = {.struct_size = sizeof o, .more = more};
    mcplug_config_free(conf);
    memset(&err, 0, sizeof err);
    conf = mcplug_config_load(&o, &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
}

static void conf_load(void)
{
    conf_load_with(NULL);
}

static mcplug_entry *find(const char *name)
{
    mcplug_entry *entry = mcplug_entry_find(conf, name);
    ck_assert_msg(entry != NULL, "no server %s", name);
    return entry;
}

static struct mcplug_entry_info info_of(const mcplug_entry *entry)
{
    struct mcplug_entry_info info = {.struct_size = sizeof info};
    mcplug_entry_info(entry, &info);
    ck_assert_uint_eq(info.struct_size, sizeof info);
    return info;
}

static struct mcplug_problem problem(size_t i)
{
    struct mcplug_problem p = {.struct_size = sizeof p};
    ck_assert_msg(mcplug_config_problem_info(conf, i, &p), "no problem %zu", i);
    return p;
}

static size_t count_problems(void)
{
    struct mcplug_config_info info = {.struct_size = sizeof info};
    mcplug_config_info(conf, &info);
    return info.problems;
}

static void is_state(const char *name, enum mcplug_entry_state state, const char *why)
{
    struct mcplug_error reason = MCPLUG_ERROR_INIT;
    ck_assert_int_eq(mcplug_entry_state(find(name), &reason), state);
    if (state == MCPLUG_ENTRY_READY)
        ck_assert_str_eq(reason.text, "");
    else
        HAS(reason.text, why);
}

static void start_host(void)
{
    struct mcplug_options o = {.struct_size = sizeof o};
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

/* Frees `text`. */
static void is_text(char *text, const char *expected)
{
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
    mcplug_text_free(text);
}

/* ---- scopes ---- */

START_TEST(scopes_have_one_table)
{
    static const char *const names[] = {"enterprise", "local",   "project",
                                        "user",       "dynamic", "package"};
    size_t n = 0;
    for (const struct mcplug_scope_info *s; (s = mcplug_scope_info(n)); n++) {
        enum mcplug_scope scope = MCPLUG_SCOPE_PACKAGE;
        bool project = n == MCPLUG_SCOPE_LOCAL || n == MCPLUG_SCOPE_PROJECT;
        ck_assert_str_eq(s->name, names[n]);
        ck_assert_uint_gt(strlen(s->about), 0);
        ck_assert_int_eq(s->needs_approval, project);
        ck_assert_int_eq(s->is_writable, project || n == MCPLUG_SCOPE_USER);
        ck_assert(mcplug_scope_find(s->name, &scope) && scope == (enum mcplug_scope)n);
    }
    ck_assert_uint_eq(n, 6);
    ck_assert_ptr_null(mcplug_scope_info((enum mcplug_scope) - 1));
}
END_TEST

START_TEST(a_scope_that_is_not_there_is_not_found)
{
    enum mcplug_scope scope = MCPLUG_SCOPE_USER;
    ck_assert(!mcplug_scope_find("planet", &scope));
    ck_assert(!mcplug_scope_find("", &scope));
    ck_assert_int_eq(scope, MCPLUG_SCOPE_USER);
}
END_TEST

START_TEST(only_scopes_of_the_users_have_a_file_to_write)
{
    conf_load();
    ck_assert_str_eq(mcplug_config_scope_file(conf, MCPLUG_SCOPE_USER), at(USER));
    ck_assert_str_eq(mcplug_config_scope_file(conf, MCPLUG_SCOPE_LOCAL), at(LOCAL));
    ck_assert_str_eq(mcplug_config_scope_file(conf, MCPLUG_SCOPE_PROJECT), at(PROJECT));
    ck_assert_ptr_null(mcplug_config_scope_file(conf, MCPLUG_SCOPE_ENTERPRISE));
    ck_assert_ptr_null(mcplug_config_scope_file(conf, MCPLUG_SCOPE_DYNAMIC));
    ck_assert_ptr_null(mcplug_config_scope_file(conf, MCPLUG_SCOPE_PACKAGE));
    ck_assert_ptr_null(mcplug_config_scope_file(conf, (enum mcplug_scope)99));
}
END_TEST

START_TEST(names_are_letters_digits_dashes_and_underscores)
{
    char longest[MCPLUG_NAME_MAX + 2];
    memset(longest, 'a', sizeof longest - 1);
    longest[MCPLUG_NAME_MAX + 1] = '\0';
    ck_assert_int_eq(mcplug_name_check(longest, &err), MCPLUG_ECONFIG);
    longest[MCPLUG_NAME_MAX] = '\0';
    ck_assert_int_eq(mcplug_name_check(longest, &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_name_check("a-B_9", NULL), MCPLUG_OK);
    ck_assert_int_ne(mcplug_name_check("", NULL), MCPLUG_OK);
    ck_assert_int_ne(mcplug_name_check("a.b", NULL), MCPLUG_OK);
}
END_TEST

/* ---- the whole ---- */

START_TEST(paths_are_those_of_the_user_and_the_administrator)
{
    struct mcplug_paths paths = {.struct_size = sizeof paths};
    conf_load();
    mcplug_config_paths(conf, &paths);
    ck_assert_str_eq(paths.cwd, at("project"));
    ck_assert_str_eq(paths.home, at("home"));
    ck_assert_str_eq(paths.settings, at(USER));
    ck_assert_str_eq(paths.approvals, at(APPROVALS));
    ck_assert_str_eq(paths.state, at("home/.local/state/mcplug"));
    ck_assert_str_eq(paths.cache, at("home/.cache/mcplug"));
    ck_assert_str_eq(paths.managed, at(MANAGED));
    ck_assert_str_eq(paths.policy, at(POLICY));
}
END_TEST

/* It knows no more than the first members. */
START_TEST(an_older_program_gets_as_much_as_it_knows)
{
    struct mcplug_paths paths = {.struct_size = offsetof(struct mcplug_paths, home)};
    conf_load();
    mcplug_config_paths(conf, &paths);
    ck_assert_str_eq(paths.cwd, at("project"));
    ck_assert_ptr_null(paths.home);
    ck_assert_ptr_null(paths.policy);
}
END_TEST

START_TEST(files_come_the_highest_scope_first)
{
    const char *more[] = {json("{'mcpServers':{'d':{'command':'x'}}}"), NULL};
    struct mcplug_config_file f = {.struct_size = sizeof f};

    give(LOCAL, "{'mcpServers':{'a':{'command':'x'},'b':{'command':'x'}}}");
    give(USER, "{oops");
    ck_assert_int_eq(chmod(at(LOCAL), 0640), 0);
    conf_load_with(more);
    ck_assert(mcplug_config_file(conf, 0, &f));
    ck_assert_int_eq(f.scope, MCPLUG_SCOPE_LOCAL);
    ck_assert_str_eq(f.path, at(LOCAL));
    ck_assert_uint_eq(f.entries, 2);
    ck_assert_uint_eq(f.mode & 0777, 0640);
    ck_assert(!f.broken && !f.in_place);
    ck_assert(mcplug_config_file(conf, 1, &f));
    ck_assert_int_eq(f.scope, MCPLUG_SCOPE_USER);
    ck_assert(f.broken && !f.in_place && f.entries == 0);
    ck_assert(mcplug_config_file(conf, 2, &f));
    ck_assert_int_eq(f.scope, MCPLUG_SCOPE_DYNAMIC);
    ck_assert(!f.broken && f.in_place && f.entries == 1);
    ck_assert(!mcplug_config_file(conf, 3, &f));
}
END_TEST

/* Opened without `ready`, nothing is started. */
static int open_in_place(const mcplug_settings *s)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .policy = conf};
    mcplug_server *server = NULL;

    if (!host)
        start_host();
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int r = mcplug_open(host, s, &o, NULL, NULL, &server, &err);
    if (server)
        mcplug_close(server, NULL, NULL);
    return r;
}

START_TEST(an_administrators_file_stands_alone)
{
    struct mcplug_config_info info = {.struct_size = sizeof info};
    mcplug_settings *s = mcplug_settings_new("stdio");

    give(MANAGED, "{'mcpServers':{'m':{'command':'x'}}}");
    give(USER, "{'mcpServers':{'u':{'command':'x'}}}");
    conf_load();
    mcplug_config_info(conf, &info);
    ck_assert(info.exclusive && !info.damaged);
    ck_assert_uint_eq(info.entries, 1);
    ck_assert_uint_eq(info.files, 1);
    ck_assert_ptr_null(info.policy);
    ck_assert_ptr_null(mcplug_entry_find(conf, "u"));
    ck_assert_int_eq(mcplug_entry_state(find("m"), &err), MCPLUG_ENTRY_READY);
    ck_assert_int_eq(open_in_place(s), MCPLUG_EREFUSED);
    HAS(err.text, at(MANAGED));
    mcplug_settings_free(s);
}
END_TEST

START_TEST(a_policy_that_cannot_be_read_is_told)
{
    struct mcplug_config_info info = {.struct_size = sizeof info};
    give(POLICY, "{'allow':[],'deny':[{'name':'bad'}]}");
    conf_load();
    mcplug_config_info(conf, &info);
    ck_assert_str_eq(info.policy, at(POLICY));
    ck_assert_ptr_null(info.policy_error);
    give(POLICY, "{'alow':[]}");
    conf_load();
    mcplug_config_info(conf, &info);
    ck_assert_str_eq(info.policy, at(POLICY));
    HAS(info.policy_error, "alow");
}
END_TEST

START_TEST(places_for_long_answers_come_one_by_one)
{
    int own = -1;
    size_t n = 0;
    char *place = mcplug_spill_place(0, &own);
    ck_assert_str_eq(place, at("home/.cache/mcplug"));
    ck_assert_int_eq(own, 1);
    for (; place; place = mcplug_spill_place(++n, &own))
        mcplug_text_free(place);
    ck_assert_uint_ge(n, 3);
}
END_TEST

/* ---- problems ---- */

START_TEST(a_problem_has_its_place)
{
    give(USER, "{'mcpServers':{\n 'ok':{'command':'x'},\n 'bad':{'command':7}}}");
    conf_load();
    ck_assert_uint_eq(count_problems(), 1);
    struct mcplug_problem p = problem(0);
    ck_assert(!p.is_warning && !p.file_is_broken);
    ck_assert_str_eq(p.server, "bad");
    ck_assert_str_eq(p.path, "mcpServers.bad.command");
    ck_assert_uint_eq(p.line, 3);
    ck_assert_uint_gt(p.column, 1);
    ck_assert_int_eq(p.scope, MCPLUG_SCOPE_USER);
    ck_assert_ptr_eq(p.file, info_of(find("bad")).file);
    HAS(mcplug_config_problem(conf, 0), p.text);
    ck_assert(!mcplug_config_problem_info(conf, 1, &p));
}
END_TEST

START_TEST(a_broken_file_is_a_problem_of_no_server)
{
    struct mcplug_config_info info = {.struct_size = sizeof info};
    give(PROJECT, "{'mcpServers':");
    conf_load();
    mcplug_config_info(conf, &info);
    ck_assert(info.damaged);
    struct mcplug_problem p = problem(0);
    ck_assert(p.file_is_broken && !p.is_warning);
    ck_assert_ptr_null(p.server);
    ck_assert_int_eq(p.scope, MCPLUG_SCOPE_PROJECT);
    ck_assert_str_eq(p.file, at(PROJECT));
}
END_TEST

/* ---- entries ---- */

START_TEST(all_entries_are_there_and_winners_come_first)
{
    give(USER, "{'mcpServers':{'b':{'command':'u'},'a':{'url':'https://u'}}}");
    give(PROJECT, "{'mcpServers':{'b':{'command':'p'}}}");
    conf_load();
    ck_assert_str_eq(mcplug_entry_name(mcplug_entry_at(conf, 0)), "a");
    mcplug_entry *winner = mcplug_entry_at(conf, 1), *other = mcplug_entry_at(conf, 2);
    ck_assert_ptr_null(mcplug_entry_at(conf, 3));
    ck_assert_ptr_null(info_of(winner).shadowed_by);
    ck_assert_ptr_eq(info_of(other).shadowed_by, winner);
    ck_assert_int_eq(info_of(winner).scope, MCPLUG_SCOPE_PROJECT);
    ck_assert_ptr_eq(find("b"), winner);
    ck_assert_ptr_eq(mcplug_entry_find_in(conf, "b", MCPLUG_SCOPE_USER), other);
    ck_assert_ptr_null(mcplug_entry_find_in(conf, "b", MCPLUG_SCOPE_LOCAL));
    ck_assert_ptr_null(mcplug_entry_find(conf, "c"));
}
END_TEST

START_TEST(an_entry_tells_where_it_stands_and_what_it_says)
{
    give(PROJECT, "{'mcpServers':{\n  'p': {'command':'x','disabled':true}}}");
    conf_load();
    struct mcplug_entry_info e = info_of(find("p"));
    ck_assert_str_eq(e.name, "p");
    ck_assert_str_eq(e.file, at(PROJECT));
    ck_assert_str_eq(e.real, at(PROJECT));
    ck_assert_uint_eq(e.line, 2);
    ck_assert_uint_eq(e.column, 3);
    ck_assert_uint_eq(e.mode & 0777, 0600);
    ck_assert_str_eq(e.type, "stdio");
    ck_assert(e.disabled && !e.broken);
    ck_assert_int_eq(e.approval, MCPLUG_APPROVAL_NONE);
    ck_assert_ptr_null(e.approved);
    ck_assert_int_eq(strncmp(e.json, "{\"command\"", 10), 0);
    ck_assert_int_eq(e.json[e.json_len - 1], '}');
}
END_TEST

START_TEST(the_type_follows_from_the_url_where_none_is_given)
{
    static const char *const rows[][2] = {
        {"'type':'streamable-http','url':'https://a'", "http"},
        {"'url':'HTTPS://a'", "http"},
        {"'url':'ws://a'", "websocket"},
        {"'url':'wss://a'", "websocket"},
        {"'url':'unix:/a'", "unix"},
        {"'url':'other:a'", "other"},
        {"'url':'${URL}'", ""},
        {"'command':'a'", "stdio"},
        {"'type':'mine','x':'y'", "mine"},
    };
    char text[256];
    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        snprintf(text, sizeof text, "{'mcpServers':{'s':{%s}}}", rows[i][0]);
        give(USER, text);
        conf_load();
        ck_assert_str_eq(info_of(find("s")).type, rows[i][1]);
    }
}
END_TEST

START_TEST(each_state_has_its_reason)
{
    give(USER, "{'mcpServers':{'ok':{'command':'x'},'broken':{'command':7},"
               "'off':{'command':'x','disabled':true},'bad':{'command':'x'}}}");
    give(PROJECT, "{'mcpServers':{'new':{'command':'x'}}}");
    give(POLICY, "{'deny':[{'name':'bad'}]}");
    conf_load();
    is_state("ok", MCPLUG_ENTRY_READY, "");
    is_state("broken", MCPLUG_ENTRY_BROKEN, "mcpServers.broken.command");
    is_state("bad", MCPLUG_ENTRY_BLOCKED, "explicitly blocked by enterprise policy");
    is_state("off", MCPLUG_ENTRY_DISABLED, "is disabled in");
    is_state("new", MCPLUG_ENTRY_NEEDS_APPROVAL, "has not been approved");
    ck_assert_int_eq(mcplug_entry_state(find("off"), NULL), MCPLUG_ENTRY_DISABLED);
}
END_TEST

START_TEST(an_entry_that_changed_shows_what_was_approved)
{
    give(PROJECT, "{'mcpServers':{'p':{'command':'old'}}}");
    conf_load();
    ck_assert_int_eq(mcplug_entry_approve(find("p"), &err), MCPLUG_OK);
    is_state("p", MCPLUG_ENTRY_READY, "");
    ck_assert_int_eq(info_of(find("p")).approval, MCPLUG_APPROVAL_GIVEN);
    give(PROJECT, "{'mcpServers':{'p':{'command':'new'}}}");
    conf_load();
    struct mcplug_entry_info e = info_of(find("p"));
    ck_assert_int_eq(e.approval, MCPLUG_APPROVAL_CHANGED);
    ck_assert_ptr_nonnull(memmem(e.approved, e.approved_len, "old", 3));
    is_state("p", MCPLUG_ENTRY_NEEDS_APPROVAL, "has changed since it was approved");
}
END_TEST

START_TEST(scopes_without_approval_have_it)
{
    give(USER, "{'mcpServers':{'u':{'command':'x'}}}");
    conf_load();
    ck_assert_int_eq(info_of(find("u")).approval, MCPLUG_APPROVAL_GIVEN);
}
END_TEST

static void collect(void *arg, const char *name)
{
    strcat(strcat(arg, name), " ");
}

START_TEST(what_an_entry_may_ask_for_is_named)
{
    char names[256] = "";
    give(USER, "{'mcpServers':{'s':{'command':'${BIN:-${ALT}}','args':['${A}','${A}'],"
               "'env':{'T':'${file:~/t}'}}}}");
    conf_load();
    mcplug_entry_each_name(find("s"), collect, names);
    ck_assert_str_eq(names, "BIN ALT A A file:~/t ");
}
END_TEST

START_TEST(the_probe_is_named_as_modules_have_it)
{
    char probe[MCPLUG_TYPE_MAX];
    give(USER, "{'mcpServers':{'l':{'command':'x','healthProbe':'listTools'},"
               "'o':{'command':'x','healthProbe':{'name':'myOwn','limit':5}},"
               "'n':{'command':'x'}}}");
    conf_load();
    mcplug_entry_probe(find("o"), probe);
    ck_assert_str_eq(probe, "my-own");
    mcplug_entry_probe(find("l"), probe);
    ck_assert_str_eq(probe, "list-tools");
    mcplug_entry_probe(find("n"), probe);
    ck_assert_str_eq(probe, "");
}
END_TEST

START_TEST(entries_that_say_the_same_have_one_digest)
{
    char a[65], b[65], c[65];
    give(USER, "{'mcpServers':{'a':{'command':'x','args':[]},"
               "'b':{ 'command' : '\\u0078', 'args' : [ ] },'c':{'command':'y'}}}");
    conf_load();
    ck_assert_int_eq(mcplug_entry_digest(find("a"), a), MCPLUG_OK);
    ck_assert_int_eq(mcplug_entry_digest(find("b"), b), MCPLUG_OK);
    ck_assert_int_eq(mcplug_entry_digest(find("c"), c), MCPLUG_OK);
    ck_assert_str_eq(a, b);
    ck_assert_str_ne(a, c);
    ck_assert_uint_eq(strlen(a), 64);
}
END_TEST

/* ---- tools ---- */

START_TEST(denied_tools_are_refused_with_the_list_that_says_so)
{
    give(USER, "{'mcpServers':{'s':{'command':'x','toolsAllowed':['get_*','drop'],"
               "'toolsDenied':['DROP']},'all':{'command':'x'},"
               "'none':{'command':'x','toolsDenied':['any']}}}");
    conf_load();
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    ck_assert(mcplug_entry_allows(find("s"), "get_it", &why));
    ck_assert(mcplug_entry_allows(find("all"), "whatever", &why));
    ck_assert_str_eq(why.text, "");
    ck_assert(!mcplug_entry_allows(find("s"), "put_it", &why));
    ck_assert_int_eq(why.code, MCPLUG_EREFUSED);
    HAS(why.text, "tool 'put_it' of server \"s\" is not allowed: it is not in "
                  "toolsAllowed of ");
    ck_assert(!mcplug_entry_allows(find("s"), "drop", &why));
    HAS(why.text, "toolsDenied of ");
    HAS(why.text, " has \"DROP\"");
    ck_assert(!mcplug_entry_allows(find("none"), "x", NULL));
}
END_TEST

START_TEST(a_broken_entry_denies_nothing_for_it_is_not_used)
{
    give(USER, "{'mcpServers':{'s':{'command':'x','toolsDenied':7}}}");
    conf_load();
    is_state("s", MCPLUG_ENTRY_BROKEN, "toolsDenied");
    ck_assert(mcplug_entry_allows(find("s"), "x", NULL));
}
END_TEST

START_TEST(patterns_stand_for_tools)
{
    ck_assert(mcplug_tool_matches("get_*", "GET_it"));
    ck_assert(mcplug_tool_matches("*", "x"));
    ck_assert(mcplug_tool_matches("any", "x"));
    ck_assert(!mcplug_tool_matches("get", "get_it"));
}
END_TEST

/* ---- checking ---- */

START_TEST(settings_are_checked_against_the_module)
{
    give(USER, "{'mcpServers':{'s':{'command':'x','comand':'y'},"
               "'t':{'type':'no-such','x':'y'}}}");
    conf_load();
    start_host();
    ck_assert_uint_eq(count_problems(), 0);
    for (size_t i = 0; mcplug_entry_at(conf, i); i++)
        mcplug_entry_check(mcplug_entry_at(conf, i), host);
    ck_assert_uint_eq(count_problems(), 2);
    ck_assert_str_eq(problem(0).path, "mcpServers.s.comand");
    ck_assert(info_of(find("s")).broken);
    ck_assert_str_eq(problem(1).path, "mcpServers.t.type");
    ck_assert(info_of(find("t")).broken);
    is_state("t", MCPLUG_ENTRY_BROKEN, "no-such");
}
END_TEST

START_TEST(an_entry_can_be_checked_before_it_is_in_a_file)
{
    const char *good = json("{'command':'x'}"), *bad = json("{\n'command':7}");
    conf_load();
    start_host();
    ck_assert_int_eq(mcplug_entry_check_new(conf, MCPLUG_SCOPE_USER, "n", good,
                                            strlen(good), host, &err),
                     MCPLUG_OK);
    ck_assert_uint_eq(count_problems(), 0);
    ck_assert_int_eq(mcplug_entry_check_new(conf, MCPLUG_SCOPE_USER, "n", bad,
                                            strlen(bad), host, &err),
                     MCPLUG_ECONFIG);
    HAS(err.text, "Invalid configuration: n.command: ");
    ck_assert_str_eq(problem(0).file, "the entry");
    ck_assert_uint_eq(problem(0).line, 2);
    ck_assert_int_eq(problem(0).scope, MCPLUG_SCOPE_DYNAMIC);
}
END_TEST

START_TEST(a_server_given_in_place_is_judged_by_the_policy)
{
    mcplug_settings *s = mcplug_settings_new("http");
    struct mcplug_server_options o = {.struct_size = sizeof o, .overlay = s};
    mcplug_server *server = NULL;
    give(POLICY, "{'deny':[{'url':'https://evil.example'}]}");
    give(USER, "{'mcpServers':{'s':{'url':'https://good.example'}}}");
    conf_load();
    mcplug_settings_set(s, "url", "https://good.example/mcp");
    ck_assert_int_eq(open_in_place(s), MCPLUG_OK);
    mcplug_settings_set(s, "url", "https://evil.example/mcp");
    ck_assert_int_eq(open_in_place(s), MCPLUG_EREFUSED);
    HAS(err.text, "Cannot use this MCP server: ");
    ck_assert_int_eq(mcplug_entry_open(host, find("s"), &o, NULL, NULL, &server, &err),
                     MCPLUG_EREFUSED);
    HAS(err.text, "Cannot use MCP server \"s\": ");
    mcplug_settings_free(s);
}
END_TEST

/* ---- changing ---- */

static int add_entry(enum mcplug_scope scope, const char *name, const char *text,
                     const char **file)
{
    text = json(text);
    return mcplug_entry_add(conf, scope, name, text, strlen(text), 1, file, &err);
}

START_TEST(an_entry_is_added_changed_and_removed)
{
    const char *file = NULL;
    conf_load();
    ck_assert_int_eq(add_entry(MCPLUG_SCOPE_LOCAL, "n", "{'command':'x'}", &file),
                     MCPLUG_OK);
    ck_assert_str_eq(file, at(LOCAL));
    conf_load();
    is_state("n", MCPLUG_ENTRY_READY, ""); /* the user wrote it */
    ck_assert_int_eq(mcplug_entry_disable(find("n"), &err), MCPLUG_OK);
    conf_load();
    is_state("n", MCPLUG_ENTRY_DISABLED, "disabled");
    ck_assert_int_eq(mcplug_entry_enable(find("n"), &err), MCPLUG_OK);
    conf_load();
    is_state("n", MCPLUG_ENTRY_READY, "");
    ck_assert_int_eq(mcplug_entry_remove(find("n"), &err), MCPLUG_OK);
    ck_assert_int_ne(mcplug_entry_remove(find("n"), &err), MCPLUG_OK);
    conf_load();
    ck_assert_ptr_null(mcplug_entry_find(conf, "n"));
}
END_TEST

START_TEST(what_cannot_be_added_is_refused)
{
    const char *file = "unchanged";
    give(USER, "{'mcpServers':{'n':{'command':'x'}}}");
    conf_load();
    ck_assert_int_eq(add_entry(MCPLUG_SCOPE_USER, "n", "{'command':'x'}", &file),
                     MCPLUG_EINVAL);
    HAS(err.text, "already exists");
    ck_assert_int_eq(add_entry(MCPLUG_SCOPE_USER, "a b", "{'command':'x'}", &file),
                     MCPLUG_ECONFIG);
    ck_assert_int_eq(add_entry(MCPLUG_SCOPE_PACKAGE, "p", "{'command':'x'}", &file),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(add_entry((enum mcplug_scope)42, "p", "{'command':'x'}", &file),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(add_entry(MCPLUG_SCOPE_USER, "p", "{'command':7}", NULL),
                     MCPLUG_EINVAL);
    ck_assert_str_eq(file, "unchanged");
}
END_TEST

START_TEST(approvals_are_forgotten_by_name_and_all_together)
{
    size_t n = 99;
    give(PROJECT, "{'mcpServers':{'a':{'command':'x'},'b':{'command':'x'}}}");
    give(LOCAL, "{'mcpServers':{'a':{'command':'y'}}}");
    conf_load();
    for (size_t i = 0; mcplug_entry_at(conf, i); i++)
        ck_assert_int_eq(mcplug_entry_approve(mcplug_entry_at(conf, i), &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_approvals_reset(conf, "a", &n, &err), MCPLUG_OK);
    ck_assert_uint_eq(n, 2); /* of both files */
    conf_load();
    is_state("a", MCPLUG_ENTRY_NEEDS_APPROVAL, "");
    is_state("b", MCPLUG_ENTRY_READY, "");
    ck_assert_int_eq(mcplug_approvals_reset(conf, NULL, &n, &err), MCPLUG_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(mcplug_entry_approve(find("b"), &err), MCPLUG_OK);
    ck_assert_int_eq(chdir(at("home")), 0);
    conf_load();
    ck_assert_int_eq(mcplug_approvals_reset(conf, NULL, &n, &err), MCPLUG_OK);
    ck_assert_uint_eq(n, 0); /* none of this directory */
    ck_assert_int_eq(mcplug_approvals_reset_all(conf, &n, &err), MCPLUG_OK);
    ck_assert_uint_eq(n, 1);
}
END_TEST

/* ---- keys ---- */

START_TEST(keys_have_a_type_and_help_unless_their_module_says_it)
{
    struct mcplug_key key = {.struct_size = sizeof key};
    bool shared = false, url = false;
    size_t n = 0;

    for (; mcplug_config_key(n, &key); n++) {
        ck_assert(key.is_setting || (key.type && key.help));
        shared = shared || (strcmp(key.name, "shared") == 0 && !key.is_setting &&
                            strcmp(key.type, "bool") == 0);
        url = url || (strcmp(key.name, "url") == 0 && key.is_setting);
    }
    ck_assert(shared && url);
    ck_assert(!mcplug_config_key(n + 1, &key) && !mcplug_config_key(SIZE_MAX, &key));
}
END_TEST

START_TEST(names_that_are_given_to_secrets_tell)
{
    ck_assert(mcplug_name_is_telling("API_KEY"));
    ck_assert(mcplug_name_is_telling("X-Session"));
    ck_assert(!mcplug_name_is_telling("LANG"));
    ck_assert(!mcplug_name_is_telling(""));
}
END_TEST

/* ---- text ---- */

START_TEST(json_is_checked_with_the_place_of_the_fault)
{
    size_t line = 0, column = 0;
    ck_assert_int_eq(mcplug_json_check("{}", 2, &line, &column, &err), MCPLUG_OK);
    const char *text = "{\n  'a': 1 }";
    ck_assert_int_eq(mcplug_json_check(text, strlen(text), &line, &column, &err),
                     MCPLUG_ECONFIG);
    ck_assert_uint_eq(line, 2);
    ck_assert_uint_eq(column, 3);
    ck_assert_str_ne(err.text, "");
}
END_TEST

START_TEST(entries_are_shown_without_their_secrets)
{
    const char *text = json("{'command':'x','env':{'TOKEN':'hush','B':'${B}'}}");
    char *masked = mcplug_json_masked(text, strlen(text));
    HAS(masked, "***");
    HAS(masked, "${B}");
    ck_assert_ptr_null(strstr(masked, "hush"));
    mcplug_text_free(masked);
    mcplug_text_free(NULL);
}
END_TEST

START_TEST(text_is_made_equal_and_laid_out)
{
    const char *text = json("{ 'a' : '\\u0041' }");
    is_text(mcplug_json_canonical(text, strlen(text)), json("{'a':'A'}"));
    text = json("{'a':{'b':1}}");
    is_text(mcplug_json_layout(text, strlen(text)),
            json("{\n  'a': {\n    'b': 1\n  }\n}"));
}
END_TEST

static void note_missing(void *arg, const char *name)
{
    strcat(strcat(arg, "missing "), name);
}

static void note_secret(void *arg, const char *kind, const char *name)
{
    strcat(strcat(strcat(strcat(arg, " secret "), kind), "="), name);
}

START_TEST(variables_are_put_in_and_secrets_are_named_only)
{
    char told[256] = "";
    struct mcplug_expansion e = {.struct_size = sizeof e,
                                 .arg = told,
                                 .missing = note_missing,
                                 .secret = note_secret};

    setenv("ADMIN_SET", "yes", 1);
    unsetenv("ADMIN_NOT");
    is_text(mcplug_expand("<${ADMIN_SET}${ADMIN_NOT:-no}>", &e, &err), "<yesno>");
    ck_assert_str_eq(told, "");
    is_text(mcplug_expand("${ADMIN_NOT}${file:/x}", &e, &err), "${ADMIN_NOT}");
    ck_assert_str_eq(told, "missing ADMIN_NOT secret file=/x");
    is_text(mcplug_expand("", NULL, &err), "");
    ck_assert_ptr_null(mcplug_expand("${", NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_checked_fixture(t, NULL, end_all);
    tcase_add_test(t, scopes_have_one_table);
    tcase_add_test(t, a_scope_that_is_not_there_is_not_found);
    tcase_add_test(t, only_scopes_of_the_users_have_a_file_to_write);
    tcase_add_test(t, names_are_letters_digits_dashes_and_underscores);
    tcase_add_test(t, paths_are_those_of_the_user_and_the_administrator);
    tcase_add_test(t, an_older_program_gets_as_much_as_it_knows);
    tcase_add_test(t, files_come_the_highest_scope_first);
    tcase_add_test(t, an_administrators_file_stands_alone);
    tcase_add_test(t, a_policy_that_cannot_be_read_is_told);
    tcase_add_test(t, places_for_long_answers_come_one_by_one);
    tcase_add_test(t, a_problem_has_its_place);
    tcase_add_test(t, a_broken_file_is_a_problem_of_no_server);
    tcase_add_test(t, all_entries_are_there_and_winners_come_first);
    tcase_add_test(t, an_entry_tells_where_it_stands_and_what_it_says);
    tcase_add_test(t, the_type_follows_from_the_url_where_none_is_given);
    tcase_add_test(t, each_state_has_its_reason);
    tcase_add_test(t, an_entry_that_changed_shows_what_was_approved);
    tcase_add_test(t, scopes_without_approval_have_it);
    tcase_add_test(t, what_an_entry_may_ask_for_is_named);
    tcase_add_test(t, the_probe_is_named_as_modules_have_it);
    tcase_add_test(t, entries_that_say_the_same_have_one_digest);
    tcase_add_test(t, denied_tools_are_refused_with_the_list_that_says_so);
    tcase_add_test(t, a_broken_entry_denies_nothing_for_it_is_not_used);
    tcase_add_test(t, patterns_stand_for_tools);
    tcase_add_test(t, settings_are_checked_against_the_module);
    tcase_add_test(t, an_entry_can_be_checked_before_it_is_in_a_file);
    tcase_add_test(t, a_server_given_in_place_is_judged_by_the_policy);
    tcase_add_test(t, an_entry_is_added_changed_and_removed);
    tcase_add_test(t, what_cannot_be_added_is_refused);
    tcase_add_test(t, approvals_are_forgotten_by_name_and_all_together);
    tcase_add_test(t, keys_have_a_type_and_help_unless_their_module_says_it);
    tcase_add_test(t, names_that_are_given_to_secrets_tell);
    tcase_add_test(t, json_is_checked_with_the_place_of_the_fault);
    tcase_add_test(t, entries_are_shown_without_their_secrets);
    tcase_add_test(t, text_is_made_equal_and_laid_out);
    tcase_add_test(t, variables_are_put_in_and_secrets_are_named_only);
}

int main(void)
{
    return run_suite("api_admin", add);
}
