/* Entries before the policy: mcplug_entry_state() and mp_config_judge() of resolve.c. */
#include "config_kit.h"

#include "plugin/props.h"

static void give_entry(const char *file, const char *body)
{
    char text[4096];
    snprintf(text, sizeof text, "{'mcpServers':{'s':%s}}", body);
    give(file, text);
}

static void approve(const char *name)
{
    ck_assert_int_eq(mcplug_entry_approve(entry(name), &err), MCPLUG_OK);
    load();
}

struct row {
    const char *policy, *body;
    enum mcplug_entry_state state;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        give(POLICY, rows[i].policy);
        give_entry(USER, rows[i].body);
        load();
        enum mcplug_entry_state state = state_of("s");
        ck_assert_msg(state == rows[i].state, "row %zu: %s: %s: %d: %s", i,
                      rows[i].policy, rows[i].body, state, err.text);
    }
}

#define READY MCPLUG_ENTRY_READY
#define BLOCKED MCPLUG_ENTRY_BLOCKED
#define ALLOW(rule) "{'allow':[{" rule "}]}"
#define DENY(rule) "{'deny':[{" rule "}]}"

START_TEST(names_commands_and_urls_are_judged)
{
    static const struct row rows[] = {
        {"{}", "{'command':'x'}", READY},
        {"{'allow':[]}", "{'command':'x'}", BLOCKED},
        {DENY("'name':'s'"), "{'command':'x'}", BLOCKED},
        {DENY("'name':'t'"), "{'command':'x'}", READY},
        {ALLOW("'command':['x','a b','7']"), "{'command':'x','args':['a b',7]}", READY},
        {ALLOW("'command':['x','a b','7']"), "{'command':'x','args':['a','b',7]}",
         BLOCKED},
        {ALLOW("'command':['x']"), "{'command':'x','args':[]}", READY},
        {ALLOW("'command':['x']"), "{'command':'x','env':{'K':'v'}}", READY},
        {ALLOW("'command':['x']"), "{'command':'x','env':{'PATH':'/evil'}}", BLOCKED},
        {ALLOW("'command':['x']"), "{'command':'x','env':{'\\u0050ATH':'/evil'}}",
         BLOCKED},
        {ALLOW("'url':'https://*.corp/mcp'"), "{'url':'https://a.corp/mcp'}", READY},
        {ALLOW("'url':'https://*.corp/mcp'"), "{'url':'https://a.evil/mcp'}", BLOCKED},
        {ALLOW("'url':'https://*.corp/mcp'"), "{'command':'x'}", BLOCKED},
        {DENY("'url':'http://h'"), "{'type':'sse','url':'http://h/x'}", BLOCKED},
        {DENY("'url':'http://h'"), "{'url':'http:\\/\\/H:80/x'}", BLOCKED},
    };
    check_rows(rows, MP_COUNT(rows));
    HAS(err.text, "Cannot use MCP server \"s\": ");
}
END_TEST

START_TEST(a_clean_up_command_is_judged_too)
{
    static const char both[] = "{'allow':[{'command':['x']},{'command':['rm','a']}]}";
    static const struct row rows[] = {
        {DENY("'command':['rm','a']"), "{'command':'x','cleanUp':['rm','a']}", BLOCKED},
        {DENY("'command':['rm','a']"), "{'command':'x','cleanUp':['rm','${V}']}",
         BLOCKED},
        {DENY("'command':['rm','a']"), "{'command':'x','cleanUp':['rm','b']}", READY},
        {DENY("'command':['rm','a']"), "{'type':'made','cleanUp':['rm','a']}", BLOCKED},
        {ALLOW("'command':['x']"), "{'command':'x','cleanUp':['rm','a']}", BLOCKED},
        {ALLOW("'command':['x']"), "{'command':'x','cleanUp':[]}", READY},
        {ALLOW("'name':'s'"), "{'command':'x','cleanUp':['rm','a']}", READY},
        {both, "{'command':'x','cleanUp':['rm','a']}", READY},
        {both, "{'command':'x','cleanUp':['rm','b']}", BLOCKED},
        {both, "{'command':'x','cleanUp':['rm','a'],'env':{'PATH':'/evil'}}", BLOCKED},
        {"{'allow':[{'command':['x']},{'command':['./rm']}]}",
         "{'command':'x','cleanUp':['./rm']}", BLOCKED},
    };
    setenv("V", "a", 1);
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(sockets_in_parts_are_judged_as_urls)
{
    static const struct row rows[] = {
        {DENY("'url':'unix:/run/evil'"), "{'type':'unix','path':'/run/evil'}", BLOCKED},
        {DENY("'url':'unix:/run/evil'"), "{'type':'unix','path':'/run/good'}", READY},
        {DENY("'url':'unix:/run/evil'"), "{'url':'unix:/run/evil'}", BLOCKED},
        {ALLOW("'url':'unix:/run/*'"), "{'type':'unix','path':'/run/x'}", READY},
        {ALLOW("'url':'unix:/run/*'"), "{'type':'unix','path':'/tmp/x'}", BLOCKED},
        {DENY("'url':'tcp:evil:7'"), "{'type':'tcp','host':'evil','port':7}", BLOCKED},
        {DENY("'url':'tcp:evil:7'"), "{'type':'tcp','host':'evil','port':'7'}", BLOCKED},
        {DENY("'url':'tcp:evil:7'"), "{'type':'tcp','host':'evil','port':8}", READY},
        {DENY("'url':'tcp:evil:*'"), "{'type':'tcp','host':'evil','port':8}", BLOCKED},
        {ALLOW("'url':'tcp:good:7'"), "{'type':'tcp','host':'good','port':7}", READY},
        {ALLOW("'url':'tcp:good:7'"), "{'type':'tcp','host':'evil','port':7}", BLOCKED},
        {ALLOW("'url':'tcp:good:7'"), "{'type':'tcp','port':7}", BLOCKED},
        {"{'allow':[]}", "{'type':'ws-ide'}", BLOCKED},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

/* The modules take host and path before url. */
START_TEST(a_url_beside_the_parts_of_a_socket_hides_none_of_them)
{
    static const struct row rows[] = {
        {DENY("'url':'tcp:evil:7'"),
         "{'type':'tcp','url':'tcp:good:7','host':'evil','port':7}", MCPLUG_ENTRY_BROKEN},
        {ALLOW("'url':'tcp:good:7'"),
         "{'type':'tcp','url':'tcp:good:7','host':'evil','port':7}", MCPLUG_ENTRY_BROKEN},
        {DENY("'url':'unix:/run/evil'"),
         "{'type':'unix','url':'unix:/run/good','path':'/run/evil'}",
         MCPLUG_ENTRY_BROKEN},
        {ALLOW("'url':'unix:/run/good'"),
         "{'type':'unix','url':'unix:/run/good','path':'/run/evil'}",
         MCPLUG_ENTRY_BROKEN},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(a_path_beside_a_host_hides_neither)
{
    static const struct row rows[] = {
        {DENY("'url':'tcp:evil:7'"),
         "{'type':'tcp','path':'/run/good','host':'evil','port':7}", BLOCKED},
        {ALLOW("'url':'unix:/run/good'"),
         "{'type':'tcp','path':'/run/good','host':'evil','port':7}", BLOCKED},
        {DENY("'url':'tcp:evil:7'"), "{'type':'tcp','path':null,'host':'evil','port':7}",
         BLOCKED},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(another_spelling_of_a_socket_is_blocked_too)
{
    static const struct row rows[] = {
        {DENY("'url':'tcp:evil:7'"), "{'type':'tcp','host':'EVIL','port':7}", BLOCKED},
        {DENY("'url':'tcp:evil:7'"), "{'type':'tcp','host':'evil.','port':7}", BLOCKED},
        {DENY("'url':'tcp:evil:7'"), "{'url':'TCP://Evil:7'}", BLOCKED},
        {DENY("'url':'unix:/evil'"), "{'url':'unix://evil'}", BLOCKED},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

/* Who reads the setting as a number has it as 7. */
START_TEST(zeros_before_a_port_do_not_hide_it)
{
    static const struct row rows[] = {
        {DENY("'url':'tcp:evil:7'"), "{'type':'tcp','host':'evil','port':'007'}",
         BLOCKED},
        {DENY("'url':'tcp:evil:7'"), "{'url':'tcp:evil:007'}", BLOCKED},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(an_ipv6_address_is_judged_as_in_a_url)
{
    static const struct row rows[] = {
        {DENY("'url':'tcp:[::1]:7'"), "{'url':'tcp:[::1]:7'}", BLOCKED},
        {DENY("'url':'tcp:[::1]:7'"), "{'type':'tcp','host':'::1','port':7}", BLOCKED},
        {ALLOW("'url':'tcp:[::1]:7'"), "{'type':'tcp','host':'::1','port':7}", READY},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

#define PROBED(settings) "{'url':'https://h/','healthProbe':{'name':'x'," settings "}}"

START_TEST(what_changes_the_program_or_the_way_undoes_an_allowed_one)
{
    static const struct row rows[] = {
        {ALLOW("'command':['x']"), "{'command':'x','cwd':'/tmp'}", BLOCKED},
        {ALLOW("'command':['./x']"), "{'command':'./x'}", BLOCKED},
        {ALLOW("'command':['/bin/x']"), "{'command':'/bin/x'}", READY},
        {DENY("'command':['x']"), "{'command':'x','cwd':'/tmp'}", BLOCKED},
        {ALLOW("'name':'s'"), "{'command':'x','cwd':'/tmp'}", READY},
        {ALLOW("'url':'https://h'"), "{'url':'https://h/','proxy':'http://p'}", BLOCKED},
        {ALLOW("'url':'https://h'"), "{'url':'https://h/','insecure':true}", BLOCKED},
        {ALLOW("'url':'https://h'"), "{'url':'https://h/','insecure':'yes'}", BLOCKED},
        {ALLOW("'url':'https://h'"), "{'url':'https://h/','insecure':false}", READY},
        {ALLOW("'url':'https://h'"), "{'url':'https://h/','caFile':'/c'}", BLOCKED},
        {DENY("'url':'https://h'"), "{'url':'https://h/','caFile':'/c'}", BLOCKED},
        {ALLOW("'url':'https://h'"), PROBED("'proxy':'http://p'"), BLOCKED},
        {ALLOW("'url':'https://h'"), PROBED("'insecure':true"), BLOCKED},
        {ALLOW("'url':'https://h'"), PROBED("'insecure':false"), READY},
        {ALLOW("'url':'https://h'"), PROBED("'caFile':'/c'"), BLOCKED},
        {ALLOW("'url':'https://h'"), PROBED("'limit':5"), READY},
        {ALLOW("'name':'s'"), PROBED("'proxy':'http://p'"), READY},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

/* Every setting that says where something connects to, not only the one called "url". */
START_TEST(every_url_of_an_entry_is_judged)
{
#define EVIL DENY("'url':'http://evil:*'")
#define BOTH "{'allow':[{'command':['x']},{'url':'http://h/*'}]}"
    static const struct row rows[] = {
        {EVIL, "{'command':'x','healthUrl':'http://evil/up'}", BLOCKED},
        {EVIL, "{'command':'x','healthUrl':'http://EVIL.:81/up'}", BLOCKED},
        {EVIL, "{'command':'x','healthUrl':'http://good/up'}", READY},
        {EVIL, "{'url':'https://h/','healthUrl':'http://evil/'}", BLOCKED},
        {DENY("'url':'http://localhost:*'"),
         "{'command':'x','healthUrl':'http://0.0.0.0:9/'}", BLOCKED},
        {EVIL, "{'command':'x','healthProbe':{'name':'http','healthUrl':'http://evil/'}}",
         BLOCKED},
        {EVIL, PROBED("'url':'http://evil/'"), BLOCKED},
        {EVIL, PROBED("'reportUrl':'http://evil/'"), BLOCKED},
        {EVIL, PROBED("'reportUrl':'http://good/'"), READY},
        {EVIL, "{'type':'made','feedUrl':'http://evil/'}", BLOCKED},
        {EVIL, "{'type':'made','feedURL':'http://${V}/'}", BLOCKED},
        {EVIL, "{'type':'made','feedUrl':'http://good/'}", READY},
        {EVIL, "{'url':'http://h/','proxy':'http://evil:3128'}", BLOCKED},
        {EVIL, "{'url':'http://h/','proxy':'evil:3128'}", BLOCKED},
        {EVIL, "{'url':'http://h/','proxy':'http://me:secret@evil:3128/'}", BLOCKED},
        {EVIL, "{'url':'http://h/','proxy':'http://me:secret@good:3128/'}", READY},
        {EVIL, "{'url':'http://h/','proxy':'http://good:3128'}", READY},
        {EVIL, "{'url':'http://h/','proxy':'none'}", READY},
        {EVIL, PROBED("'proxy':'http://evil:3128'"), BLOCKED},
        /* as a clean-up command: a rule for the server and one for the URL */
        {ALLOW("'command':['x']"), "{'command':'x','healthUrl':'http://h/'}", BLOCKED},
        {BOTH, "{'command':'x','healthUrl':'http://h/'}", READY},
        {BOTH, "{'command':'x','healthUrl':'http://evil/'}", BLOCKED},
        {BOTH, "{'url':'http://h/mcp','healthUrl':'http://h/up'}", READY},
        {BOTH, "{'url':'http://h/mcp','healthUrl':'http://evil/up'}", BLOCKED},
        {BOTH, "{'url':'http://evil/mcp','healthUrl':'http://h/up'}", BLOCKED},
        {ALLOW("'name':'s'"), "{'command':'x','healthUrl':'http://evil/'}", READY},
        {ALLOW("'command':['x'],'url':'http://h'"),
         "{'command':'x','healthUrl':'http://h/'}", BLOCKED},
        {"{'allow':[{'command':['x']},{'command':['x'],'url':'http://h'}]}",
         "{'command':'x','healthUrl':'http://h/'}", READY},
        {DENY("'command':['x'],'url':'http://h'"),
         "{'command':'x','healthUrl':'http://h/'}", BLOCKED},
        {DENY("'command':['x'],'url':'http://h'"),
         "{'command':'y','healthUrl':'http://h/'}", READY},
    };
    setenv("V", "evil", 1);
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(a_path_is_judged_wherever_it_leads)
{
    char policy[512], body[512];

    make_dirs("run/");
    give("run/evil", "");
    ck_assert_int_eq(symlink("evil", at("run/good")), 0);
    snprintf(policy, sizeof policy, DENY("'url':'unix:%s'"), at("run/evil"));
    static const char *const names[] = {"run/evil", "run/good", "run/./evil",
                                        "project/../run/evil"};
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        snprintf(body, sizeof body, "{'type':'unix','path':'%s'}", at(names[i]));
        struct row row = {policy, body, BLOCKED};
        check_rows(&row, 1);
        snprintf(body, sizeof body, "{'url':'unix:%s'}", at(names[i]));
        check_rows(&row, 1);
    }
    struct row row = {policy, "{'type':'unix','path':'../run/good'}", BLOCKED};
    check_rows(&row, 1);
}
END_TEST

START_TEST(variables_are_put_in_before_the_policy_looks)
{
    static const struct row rows[] = {
        {DENY("'command':['evil']"), "{'command':'${C}'}", BLOCKED},
        {DENY("'command':['x','evil']"), "{'command':'x','args':['${C}']}", BLOCKED},
        {DENY("'url':'https://evil.net'"), "{'url':'https://${C}.net/'}", BLOCKED},
        {ALLOW("'url':'https://*.corp/'"), "{'url':'${U}'}", BLOCKED},
        {DENY("'url':'unix:/evil'"), "{'type':'unix','path':'/${C}'}", BLOCKED},
        {DENY("'url':'tcp:evil:7'"), "{'type':'tcp','host':'${C}','port':'${P}'}",
         BLOCKED},
        {ALLOW("'command':['evil']"), "{'command':'${C}'}", READY},
        {ALLOW("'command':['${C}']"), "{'command':'${C}'}", BLOCKED},
        /* one that cannot be read is not let through */
        {DENY("'name':'other'"), "{'command':'${C'}", BLOCKED},
        {DENY("'name':'other'"), "{'command':'${file:/etc/hostname}'}", BLOCKED},
    };
    setenv("C", "evil", 1);
    setenv("U", "https://evil.net/", 1);
    setenv("P", "7", 1);
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(before_its_approval_an_entry_sees_no_variable)
{
    setenv("C", "evil", 1);
    give_entry(PROJECT, "{'command':'${C}'}");
    give(POLICY, DENY("'command':['evil']"));
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
    approve("s");
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BLOCKED);
    give(POLICY, DENY("'command':['${C}']"));
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(what_is_blocked_is_told_before_approval_is_asked_for)
{
    give_entry(PROJECT, "{'command':'evil','disabled':true}");
    give(POLICY, DENY("'command':['evil']"));
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BLOCKED);
    give_entry(PROJECT, "{'command':7,'disabled':true}");
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BROKEN);
    give_entry(PROJECT, "{'command':'x','disabled':true}");
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_DISABLED);
}
END_TEST

START_TEST(the_policy_holds_in_every_scope)
{
    static const char *const files[] = {LOCAL, PROJECT, USER, "servers.d/a.json",
                                        MANAGED};
    const char *more[] = {json("{'mcpServers':{'s':{'command':'x'}}}"), NULL};

    give(POLICY, DENY("'name':'s'"));
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        give_entry(files[i], "{'command':'x'}");
        load();
        ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BLOCKED);
        HAS(err.text, "explicitly blocked by enterprise policy");
        ck_assert_int_eq(unlink(at(files[i])), 0);
    }
    ck_assert(load_with(more, true));
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BLOCKED);
}
END_TEST

START_TEST(a_shadowed_entry_is_judged_by_itself)
{
    give_entry(LOCAL, "{'command':'x'}");
    give_entry(USER, "{'command':'evil'}");
    give(POLICY, DENY("'command':['evil']"));
    load();
    struct mp_entry *e = mcplug_entry_find_in(config, "s", MCPLUG_SCOPE_USER);
    ck_assert_int_eq(mcplug_entry_state(e, &err), MCPLUG_ENTRY_BLOCKED);
    ck_assert_int_eq(err.code, MCPLUG_EREFUSED);
}
END_TEST

START_TEST(a_server_that_stands_in_no_file_is_judged_too)
{
    mcplug_props *by_command = mp_props_new(), *by_url = mp_props_new();

    mp_props_set(by_command, "command", "x");
    mp_props_add(by_command, "args", "y");
    mp_props_set(by_url, "url", "https://evil.net/");
    load();
    ck_assert_int_eq(mp_config_judge(config, NULL, by_command, NULL, false, &err),
                     MCPLUG_OK);
    give(POLICY, ALLOW("'command':['x','y']"));
    load();
    ck_assert_int_eq(mp_config_judge(config, NULL, by_command, NULL, false, &err),
                     MCPLUG_OK);
    ck_assert_int_eq(mp_config_judge(config, NULL, by_url, NULL, false, &err),
                     MCPLUG_EREFUSED);
    mp_props_put(by_command, "env", "LD_PRELOAD", "/x.so");
    ck_assert_int_eq(mp_config_judge(config, NULL, by_command, NULL, false, &err),
                     MCPLUG_EREFUSED);
    give(POLICY, "nonsense");
    load();
    ck_assert_int_eq(mp_config_judge(config, NULL, by_command, NULL, false, &err),
                     MCPLUG_EREFUSED);
    HAS(err.text, "the enterprise policy cannot be used");
    mp_props_free(by_command);
    mp_props_free(by_url);
}
END_TEST

START_TEST(images_are_judged_as_urls)
{
#define IMAGE(more) "{'type':'docker','image':'good/x:1'" more "}"
    static const struct row rows[] = {
        {ALLOW("'url':'docker:good/*'"), IMAGE(), READY},
        {ALLOW("'url':'docker:good/x:1'"), IMAGE(",'env':{'TOKEN':'t'}"), READY},
        {ALLOW("'url':'docker:good/x:2'"), IMAGE(), BLOCKED},
        {ALLOW("'url':'docker:good/*'"), "{'type':'docker','image':'evil/x'}", BLOCKED},
        {DENY("'url':'docker:good/*'"), IMAGE(), BLOCKED},
        {DENY("'url':'docker:evil/*'"), IMAGE(), READY},
        {DENY("'url':'docker:evil/*'"), "{'type':'docker','image':'${V}/x'}", BLOCKED},
        {ALLOW("'name':'s'"), IMAGE(",'mounts':['/:/host']"), READY},
        /* with arguments it is a command as well */
        {ALLOW("'url':'docker:good/*'"), IMAGE(",'args':['a']"), BLOCKED},
        {ALLOW("'command':['good/x:1','a']"), IMAGE(",'args':['a']"), BLOCKED},
        {ALLOW("'command':['good/x:1','a'],'url':'docker:good/*'"),
         IMAGE(",'args':['a']"), READY},
        {ALLOW("'command':['good/x:1','a'],'url':'docker:good/*'"),
         IMAGE(",'args':['b']"), BLOCKED},
        {DENY("'command':['good/x:1','a']"), IMAGE(",'args':['a']"), BLOCKED},
        /* what opens the container, or runs another one */
        {ALLOW("'url':'docker:good/*'"), IMAGE(",'mounts':['/:/host']"), BLOCKED},
        {ALLOW("'url':'docker:good/*'"), IMAGE(",'runArgs':['--privileged']"), BLOCKED},
        {ALLOW("'url':'docker:good/*'"), IMAGE(",'network':'host'"), BLOCKED},
        {ALLOW("'url':'docker:good/*'"), IMAGE(",'program':'/evil'"), BLOCKED},
        {ALLOW("'url':'docker:good/*'"), IMAGE(",'env':{'NODE_OPTIONS':'evil'}"),
         BLOCKED},
        {DENY("'url':'docker:good/*'"), IMAGE(",'runArgs':['--privileged']"), BLOCKED},
    };
    setenv("V", "evil", 1);
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

/* A command on another machine is both, and one half of a rule does not let it in. */
START_TEST(commands_behind_ssh_are_judged_with_their_host)
{
#define SSH(more) "{'type':'ssh','host':'me@Box','command':'x','args':['a']" more "}"
    static const struct row rows[] = {
        {ALLOW("'command':['x','a'],'url':'tcp:box'"), SSH(), READY},
        {ALLOW("'command':['x','a'],'url':'tcp:box:22'"), SSH(",'port':22"), READY},
        {ALLOW("'command':['x','a'],'url':'tcp:box:22'"), SSH(",'port':23"), BLOCKED},
        {ALLOW("'command':['x','a']"), SSH(), BLOCKED},
        {ALLOW("'url':'tcp:box'"), SSH(), BLOCKED},
        {"{'allow':[{'command':['x','a']},{'url':'tcp:box'}]}", SSH(), BLOCKED},
        {ALLOW("'command':['x','b'],'url':'tcp:box'"), SSH(), BLOCKED},
        {ALLOW("'command':['x','a'],'url':'tcp:other'"), SSH(), BLOCKED},
        {ALLOW("'name':'s'"), SSH(), READY},
        {DENY("'command':['x','a']"), SSH(), BLOCKED},
        {DENY("'url':'tcp:box'"), SSH(), BLOCKED},
        {DENY("'url':'tcp:box:*'"), SSH(",'port':22"), BLOCKED},
        {DENY("'url':'tcp:me'"), SSH(), READY},
        /* what leads elsewhere, and what runs something else */
        {ALLOW("'command':['x','a'],'url':'tcp:box'"),
         SSH(",'sshOptions':['HostName=evil']"), BLOCKED},
        {ALLOW("'command':['x','a'],'url':'tcp:box'"), SSH(",'program':'/evil'"),
         BLOCKED},
        {ALLOW("'command':['x','a'],'url':'tcp:box'"), SSH(",'env':{'PATH':'/evil'}"),
         BLOCKED},
        {ALLOW("'command':['x','a'],'url':'tcp:box'"), SSH(",'cwd':'/evil'"), BLOCKED},
        {ALLOW("'command':['x','a'],'url':'tcp:box'"), SSH(",'cwd':'evil'"), BLOCKED},
        {ALLOW("'name':'s'"), SSH(",'sshOptions':['HostName=evil']"), READY},
    };
    check_rows(rows, MP_COUNT(rows));
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, names_commands_and_urls_are_judged);
    tcase_add_test(t, a_clean_up_command_is_judged_too);
    tcase_add_test(t, sockets_in_parts_are_judged_as_urls);
    tcase_add_test(t, images_are_judged_as_urls);
    tcase_add_test(t, commands_behind_ssh_are_judged_with_their_host);
    tcase_add_test(t, a_url_beside_the_parts_of_a_socket_hides_none_of_them);
    tcase_add_test(t, a_path_beside_a_host_hides_neither);
    tcase_add_test(t, another_spelling_of_a_socket_is_blocked_too);
    tcase_add_test(t, zeros_before_a_port_do_not_hide_it);
    tcase_add_test(t, an_ipv6_address_is_judged_as_in_a_url);
    tcase_add_test(t, what_changes_the_program_or_the_way_undoes_an_allowed_one);
    tcase_add_test(t, every_url_of_an_entry_is_judged);
    tcase_add_test(t, a_path_is_judged_wherever_it_leads);
    tcase_add_test(t, variables_are_put_in_before_the_policy_looks);
    tcase_add_test(t, before_its_approval_an_entry_sees_no_variable);
    tcase_add_test(t, what_is_blocked_is_told_before_approval_is_asked_for);
    tcase_add_test(t, the_policy_holds_in_every_scope);
    tcase_add_test(t, a_shadowed_entry_is_judged_by_itself);
    tcase_add_test(t, a_server_that_stands_in_no_file_is_judged_too);
}

int main(void)
{
    return run_suite("config_judge", add);
}
