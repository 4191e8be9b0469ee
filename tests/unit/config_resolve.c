#include "config_kit.h"

#include "base/error.h"
#include "plugin/props.h"

/* ---- kit ---- */

static const struct mcplug_option options[] = {
    {"command", "string", "", "program"},  {"args", "list", NULL, "arguments"},
    {"env", "map", NULL, "variables"},     {"cwd", "string", "", "where"},
    {"url", "string", "", "address"},      {"headers", "map", NULL, "fields"},
    {"path", "string", "", "socket"},      {"host", "string", "", "name"},
    {"port", "int", "", "number"},         {"label", "string", "", "a word"},
    {"program", "string", "", "a client"}, {NULL, NULL, NULL, NULL},
};

static struct mp_resolved got;

static void before(void)
{
    setenv("A", "alpha", 1);
    setenv("EMPTY", "", 1);
    setenv("REF", "${A}", 1);
    unsetenv("UNSET");
    unsetenv("UNSET2");
}

static void after(void)
{
    mp_resolved_clear(&got);
}

static void give_entry(const char *file, const char *body)
{
    char text[4096];
    ck_assert_uint_lt(strlen(body), sizeof text - 64);
    snprintf(text, sizeof text, "{'mcpServers':{'s':%s}}", body);
    give(file, text);
}

static int resolve(const struct mp_vaults *vaults)
{
    mp_resolved_clear(&got);
    memset(&err, 0, sizeof err);
    int r = resolve_entry(entry("s"), options, vaults, &got, &err);
    ck_assert((r == MCPLUG_OK) == (err.text[0] == '\0'));
    return r;
}

/* The user's entry, resolved. */
static void resolves(const char *body)
{
    give_entry(USER, body);
    load();
    ck_assert_msg(resolve(NULL) == MCPLUG_OK, "%s: %s", body, err.text);
}

static void fails(const char *body, const char *why)
{
    give_entry(USER, body);
    load();
    ck_assert_msg(resolve(NULL) != MCPLUG_OK, "%s", body);
    HAS(err.text, why);
}

static void approve_all(void)
{
    for (size_t i = 0; i < config->n_entries; i++)
        if (config->entries[i].source->real)
            ck_assert_int_eq(mcplug_entry_approve(&config->entries[i], &err), MCPLUG_OK);
    load();
}

static const char *prop(const char *name)
{
    return mp_props_get(got.props, name);
}

static const char *pair(const char *map, const char *key)
{
    const char *const *list = mp_props_list(got.props, map);
    for (size_t i = 0; list && list[i]; i += 2)
        if (strcmp(list[i], key) == 0)
            return list[i + 1];
    return NULL;
}

static const char *item(const char *list, size_t i)
{
    return mp_props_list(got.props, list)[i];
}

/* ---- expansion ---- */

START_TEST(variables_are_put_in_everywhere)
{
    resolves("{'command':'${A}/bin','args':['-x','${A}','${UNSET:-d}',7,true],"
             "'env':{'K':'<${A}>','N':3},'cwd':'/${A}','label':'${EMPTY:-none}'}");
    ck_assert_str_eq(got.type, "stdio");
    ck_assert_str_eq(prop("command"), "alpha/bin");
    ck_assert_str_eq(item("args", 0), "-x");
    ck_assert_str_eq(item("args", 1), "alpha");
    ck_assert_str_eq(item("args", 2), "d");
    ck_assert_str_eq(item("args", 3), "7");
    ck_assert_str_eq(item("args", 4), "true");
    ck_assert_ptr_null(item("args", 5));
    ck_assert_str_eq(pair("env", "K"), "<alpha>");
    ck_assert_str_eq(pair("env", "N"), "3");
    ck_assert_str_eq(prop("cwd"), "/alpha");
    ck_assert_str_eq(prop("label"), "none");
    ck_assert_ptr_null(got.missing);
    resolves("{'url':'https://${A}.example/${UNSET:-p}','headers':{'X':'Bearer ${A}'}}");
    ck_assert_ptr_null(got.type);
    ck_assert_str_eq(prop("url"), "https://alpha.example/p");
    ck_assert_str_eq(pair("headers", "X"), "Bearer alpha");
}
END_TEST

START_TEST(what_was_put_in_is_not_expanded_again)
{
    resolves("{'command':'${REF}','args':['$${A}','$A','a$']}");
    ck_assert_str_eq(prop("command"), "${A}");
    ck_assert_str_eq(item("args", 0), "${A}");
    ck_assert_str_eq(item("args", 1), "$A");
    ck_assert_str_eq(item("args", 2), "a$");
}
END_TEST

START_TEST(names_of_variables_and_fields_are_taken_as_they_are)
{
    resolves("{'command':'x','env':{'${A}':'v'}}");
    ck_assert_str_eq(pair("env", "${A}"), "v");
}
END_TEST

START_TEST(missing_names_are_listed_once_and_their_text_stays)
{
    resolves("{'command':'${UNSET}','args':['${UNSET}','${UNSET2}${UNSET}'],"
             "'env':{'A':'${UNSE}','B':'${UNSET2}','C':'${UNSET:-x}'}}");
    ck_assert_str_eq(got.missing, "UNSET, UNSET2, UNSE");
    ck_assert_str_eq(prop("command"), "${UNSET}");
    ck_assert_str_eq(item("args", 1), "${UNSET2}${UNSET}");
    ck_assert_str_eq(pair("env", "C"), "x");
    resolves("{'command':'${UNSET2}','args':['${T2}','${SET}','${UNSET}','${NSET2}']}");
    ck_assert_str_eq(got.missing, "UNSET2, T2, SET, UNSET, NSET2");
}
END_TEST

START_TEST(what_cannot_be_expanded_is_told_with_server_and_key)
{
    fails("{'command':'${A'}", "server \"s\": command: ");
    fails("{'command':'x','args':['${}']}", "server \"s\": args: ");
    fails("{'command':'x','env':{'K':'${A B}'}}", "server \"s\": env: ");
    fails("{'command':'x','cwd':'${env:HOME}'}", "server \"s\": cwd: ");
    fails("{'url':'http://h','headers':{'K':'${input:x}'}}", "server \"s\": headers: ");
    fails("{'url':'http://${'}", "server \"s\": url: ");
}
END_TEST

START_TEST(keys_that_the_transport_does_not_know_are_left_out)
{
    resolves("{'command':'x','note':'${broken','toolsAllowed':['${UNSET}'],"
             "'timeouts':{'tool':5},'disabled':false,'type':'stdio'}");
    ck_assert_ptr_null(got.missing);
    ck_assert_ptr_null(prop("note"));
    ck_assert_ptr_null(prop("timeouts"));
    ck_assert_ptr_null(prop("type"));
    mp_resolved_clear(&got);
    ck_assert_int_eq(resolve_entry(entry("s"), NULL, NULL, &got, &err), MCPLUG_OK);
    ck_assert_ptr_null(prop("command"));
}
END_TEST

START_TEST(too_many_missing_names_are_an_error_and_no_more)
{
    struct mp_str text;
    mp_str_init(&text, 1 << 20);
    mp_str_adds(&text, "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"args\":[\"\"");
    for (int i = 0; i < 2000; i++)
        mp_str_addf(&text, ",\"${UNSET_VARIABLE_%d}\"", i);
    mp_str_adds(&text, "]}}}");
    make_dirs(USER);
    put(USER, text.data, 0600);
    mp_str_clear(&text);
    load();
    ck_assert_int_ne(resolve(NULL), MCPLUG_OK);
}
END_TEST

/* ---- secrets ---- */

START_TEST(secrets_stand_in_env_and_headers_alone)
{
    static const char *const kinds[] = {"file", "cmd", "vault"};
    char body[256], why[64];

    put("home/key", "hidden\n", 0600);
    for (size_t i = 0; i < MP_COUNT(kinds); i++) {
        const char *kind = kinds[i];
        snprintf(why, sizeof why, "${%s:..} is allowed only in \"env\" and \"headers\"",
                 kind);
        snprintf(body, sizeof body, "{'command':'${%s:x}'}", kind);
        fails(body, why);
        snprintf(body, sizeof body, "{'command':'x','args':['--t=${%s:x}']}", kind);
        fails(body, why);
        snprintf(body, sizeof body, "{'command':'x','cwd':'/${%s:x}'}", kind);
        fails(body, why);
        snprintf(body, sizeof body, "{'url':'http://h/?t=${%s:x}'}", kind);
        fails(body, why);
        snprintf(body, sizeof body, "{'command':'x','label':'${%s:x}'}", kind);
        fails(body, why);
        snprintf(body, sizeof body, "{'command':'x','args':['${UNSET:-${%s:x}}']}", kind);
        fails(body, why);
    }
    resolves("{'command':'x','env':{'K':'${file:~/key}'}}");
    ck_assert_str_eq(pair("env", "K"), "hidden");
    resolves("{'url':'http://h','headers':{'K':'Bearer ${UNSET:-${file:~/key}}'}}");
    ck_assert_str_eq(pair("headers", "K"), "Bearer hidden");
}
END_TEST

START_TEST(a_relative_file_is_beside_the_file_that_names_it)
{
    give("home/.config/mcplug/key", "one");
    give("elsewhere/key", "two");
    resolves("{'command':'x','env':{'K':'${file:key}'}}");
    ck_assert_str_eq(pair("env", "K"), "one");
    give_entry("elsewhere/p.json", "{'command':'x','env':{'K':'${file:key}'}}");
    ck_assert_int_eq(symlink("../elsewhere/p.json", at(PROJECT)), 0);
    load();
    approve_all();
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_str_eq(pair("env", "K"), "two");
    give("project/key", "three");
    const char *more[] = {json("{'mcpServers':{'s':{'command':'x','env':{'K':"
                               "'${file:key}'}}}}"),
                          NULL};
    ck_assert(load_with(more, true));
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_str_eq(pair("env", "K"), "three");
}
END_TEST

START_TEST(commands_run_for_the_user_and_the_administrator_alone)
{
    static const char body[] = "{'command':'x','env':{'K':'${cmd:touch ran; echo v}'}}";
    char text[256];

    resolves(body);
    ck_assert_str_eq(pair("env", "K"), "v");
    ck_assert(is_there("home/.config/mcplug/ran"));
    ck_assert_int_eq(unlink(at(USER)), 0);
    static const char *const files[] = {LOCAL, PROJECT, "servers.d/a.json"};
    for (size_t i = 0; i < MP_COUNT(files); i++) {
        give_entry(files[i], body);
        load();
        approve_all();
        ck_assert_int_eq(resolve(NULL), MCPLUG_ECONFIG);
        HAS(err.text, "${cmd:..} is allowed only in the user's own file");
        ck_assert_int_eq(unlink(at(files[i])), 0);
    }
    snprintf(text, sizeof text, "{'mcpServers':{'s':%s}}", body);
    const char *more[] = {json(text), NULL};
    ck_assert(load_with(more, false));
    ck_assert_int_eq(resolve(NULL), MCPLUG_ECONFIG);
    HAS(err.text, "not in the dynamic scope");
    ck_assert(!is_there("project/ran") && !is_there("servers.d/ran"));
    give_entry(MANAGED, body);
    load();
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_str_eq(pair("env", "K"), "v");
}
END_TEST

START_TEST(a_secret_that_fails_is_an_error_that_names_the_source)
{
    fails("{'command':'x','env':{'K':'${file:/none/at/all}'}}", "/none/at/all");
    fails("{'command':'x','env':{'K':'${cmd:exit 3}'}}", "server \"s\": env: ");
    ck_assert_int_ne(err.code, MCPLUG_OK);
}
END_TEST

static int from_vault(void *arg, const char *vault, const char *name, struct mp_str *out,
                      struct mcplug_error *e)
{
    if (strcmp(name, "none") == 0)
        return mp_fail(e, MCPLUG_EAUTH, "%s has no %s", vault, name);
    mp_str_addf(out, "%s|%s|%s", (const char *)arg, vault, name);
    return MCPLUG_OK;
}

START_TEST(other_secrets_come_from_vaults)
{
    char word[] = "arg";
    struct mp_vaults vaults = {from_vault, word};

    give_entry(USER, "{'command':'x','env':{'K':'${keyring:a b}'}}");
    load();
    ck_assert_int_eq(resolve(&vaults), MCPLUG_OK);
    ck_assert_str_eq(pair("env", "K"), "arg|keyring|a b");
    ck_assert_int_eq(resolve(NULL), MCPLUG_ENOTSUP);
    HAS(err.text, "there is no vault \"keyring\"");
    give_entry(USER, "{'command':'x','env':{'K':'${keyring:none}'}}");
    load();
    ck_assert_int_eq(resolve(&vaults), MCPLUG_EAUTH);
    HAS(err.text, "server \"s\": env: keyring has no none");
}
END_TEST

/* ---- where it runs ---- */

START_TEST(a_server_of_a_project_starts_where_its_file_is)
{
    make_dirs("project/sub/");
    ck_assert_int_eq(chdir(at("project/sub")), 0);
    give_entry(PROJECT, "{'command':'x'}");
    load();
    approve_all();
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_str_eq(prop("cwd"), at("project"));
    give_entry(PROJECT, "{'command':'x','cwd':'tools'}");
    load();
    approve_all();
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_str_eq(prop("cwd"), at("project/tools"));
    give_entry(PROJECT, "{'command':'x','cwd':'/'}");
    load();
    approve_all();
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_str_eq(prop("cwd"), "/");
}
END_TEST

START_TEST(other_servers_start_where_we_are_unless_told)
{
    resolves("{'command':'x'}");
    ck_assert_ptr_null(prop("cwd"));
    resolves("{'command':'x','cwd':'sub'}");
    ck_assert_str_eq(prop("cwd"), at("home/.config/mcplug/sub"));
    const char *more[] = {json("{'mcpServers':{'s':{'command':'x','cwd':'sub'}}}"), NULL};
    ck_assert(load_with(more, true));
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_str_eq(prop("cwd"), at("project/sub"));
}
END_TEST

/* The client of another machine is here all the same. */
START_TEST(a_program_with_a_slash_is_relative_to_its_file)
{
    resolves("{'type':'x','program':'docker'}");
    ck_assert_str_eq(prop("program"), "docker");
    resolves("{'type':'x','program':'/bin/docker'}");
    ck_assert_str_eq(prop("program"), "/bin/docker");
    resolves("{'type':'x','program':'sub/docker'}");
    ck_assert_str_eq(prop("program"), at("home/.config/mcplug/sub/docker"));
    resolves("{'type':'ssh','host':'h','program':'tools/ssh'}");
    ck_assert_str_eq(prop("program"), at("home/.config/mcplug/tools/ssh"));
}
END_TEST

START_TEST(on_another_machine_directories_are_not_ours)
{
    make_dirs("project/sub/");
    ck_assert_int_eq(chdir(at("project/sub")), 0);
    give_entry(PROJECT, "{'type':'ssh','host':'h','command':'x'}");
    load();
    approve_all();
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_ptr_null(prop("cwd"));
    give_entry(PROJECT, "{'type':'ssh','host':'h','command':'x','cwd':'tools'}");
    load();
    approve_all();
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    ck_assert_str_eq(prop("cwd"), "tools");
}
END_TEST

START_TEST(a_transport_without_a_directory_gets_none)
{
    static const struct mcplug_option bare[] = {{"url", "string", NULL, ""},
                                                {NULL, NULL, NULL, NULL}};
    give_entry(PROJECT, "{'url':'http://h'}");
    load();
    approve_all();
    ck_assert_int_eq(resolve_entry(entry("s"), bare, NULL, &got, &err), MCPLUG_OK);
    ck_assert_ptr_null(prop("cwd"));
    ck_assert_str_eq(prop("url"), "http://h");
}
END_TEST

/* ---- names that are asked for ---- */

static void note(void *arg, const char *name)
{
    strcat(strcat(arg, name), " ");
}

START_TEST(every_name_that_an_entry_asks_for_is_told)
{
    char names[512] = "";
    give_entry(USER, "{'command':'${A}','args':['${B:-${C}}',7],'env':{'K':'${file:/k}'},"
                     "'env2':{'deep':['${NO}']},'other':'${D}','cwd':'$${E}'}");
    load();
    mcplug_entry_each_name(entry("s"), note, names);
    ck_assert_str_eq(names, "A B C file:/k D ");
}
END_TEST

START_TEST(keys_into_which_nothing_is_put_ask_for_nothing)
{
    char names[512] = "";
    give_entry(USER,
               "{'command':'x','note':'${A}','description':'set ${B}','type':'${C}',"
               "'healthUrl':'http://h/${D}','queue':'${E}','toolsDenied':['${F}'],"
               "'toolQueues':{'t':'${G}'},'args':['${H}']}");
    load();
    mcplug_entry_each_name(entry("s"), note, names);
    ck_assert_str_eq(names, "H ");
}
END_TEST

/* ---- what may be used ---- */

START_TEST(what_may_not_be_used_is_not_resolved)
{
    give_entry(PROJECT, "{'command':'x'}");
    load();
    ck_assert_int_eq(resolve(NULL), MCPLUG_ECONFIG);
    HAS(err.text, "has not been approved");
    approve_all();
    ck_assert_int_eq(resolve(NULL), MCPLUG_OK);
    give_entry(PROJECT, "{'command':'y'}");
    load();
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_NEEDS_APPROVAL);
    HAS(err.text, "has changed since it was approved");
    ck_assert_int_eq(resolve(NULL), MCPLUG_ECONFIG);
    give_entry(PROJECT, "{'command':'x','disabled':true}");
    load();
    ck_assert_int_eq(resolve(NULL), MCPLUG_ECONFIG);
    HAS(err.text, "is disabled in ");
    ck_assert_int_eq(unlink(at(PROJECT)), 0);
    fails("{'command':7}", "expected a string");
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_checked_fixture(t, before, after);
    tcase_add_test(t, variables_are_put_in_everywhere);
    tcase_add_test(t, what_was_put_in_is_not_expanded_again);
    tcase_add_test(t, names_of_variables_and_fields_are_taken_as_they_are);
    tcase_add_test(t, missing_names_are_listed_once_and_their_text_stays);
    tcase_add_test(t, what_cannot_be_expanded_is_told_with_server_and_key);
    tcase_add_test(t, keys_that_the_transport_does_not_know_are_left_out);
    tcase_add_test(t, too_many_missing_names_are_an_error_and_no_more);
    tcase_add_test(t, secrets_stand_in_env_and_headers_alone);
    tcase_add_test(t, a_relative_file_is_beside_the_file_that_names_it);
    tcase_add_test(t, commands_run_for_the_user_and_the_administrator_alone);
    tcase_add_test(t, a_secret_that_fails_is_an_error_that_names_the_source);
    tcase_add_test(t, other_secrets_come_from_vaults);
    tcase_add_test(t, a_server_of_a_project_starts_where_its_file_is);
    tcase_add_test(t, other_servers_start_where_we_are_unless_told);
    tcase_add_test(t, a_program_with_a_slash_is_relative_to_its_file);
    tcase_add_test(t, on_another_machine_directories_are_not_ours);
    tcase_add_test(t, a_transport_without_a_directory_gets_none);
    tcase_add_test(t, every_name_that_an_entry_asks_for_is_told);
    tcase_add_test(t, keys_into_which_nothing_is_put_ask_for_nothing);
    tcase_add_test(t, what_may_not_be_used_is_not_resolved);
}

int main(void)
{
    return run_suite("config_resolve", add);
}
