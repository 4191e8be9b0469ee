/* "Servers by name" of the embedding API, with the example server behind the names. */
#include "config_kit.h"

#include <mcplug/mcplug.h>

static mcplug_config *conf;
static mcplug *host;
static char logged[8192];

static void on_log(void *arg, int level, const char *source, const char *text)
{
    size_t n = strlen(logged);
    (void)arg, (void)level;
    snprintf(logged + n, sizeof logged - n, "%s: %s\n", source, text);
}

static void start_host(void)
{
    struct mcplug_options o = {
        .struct_size = sizeof o, .log_level = MCPLUG_LOG_WARN, .log = on_log};
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

static void end_all(void)
{
    mcplug_config_free(conf);
    mcplug_free(host);
    conf = NULL;
    host = NULL;
}

static void conf_load(const struct mcplug_config_options *options)
{
    mcplug_config_free(conf);
    conf = mcplug_config_load(options, &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
}

/* `before` and `after` stand around the path of the example server. */
static void give_example(const char *file, const char *name, const char *more)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{'mcpServers':{'%s':{'command':'%s/examples/mcplug-example-server'%s}}}",
             name, getenv("MCPLUG_BUILD"), more);
    give(file, text);
}

static const char *all_names(void)
{
    static char names[1024];
    names[0] = '\0';
    for (size_t i = 0; i < mcplug_config_count(conf); i++)
        strcat(strcat(names, mcplug_config_name(conf, i)), " ");
    return names;
}

#define SERVER(name) "{'mcpServers':{'" name "':{'command':'x'}}}"

/* ---- loading ---- */

START_TEST(servers_are_counted_and_named_once_each)
{
    give(USER, "{'mcpServers':{'b':{'command':'x'},'a':{'command':'x'}}}");
    give(PROJECT, "{'mcpServers':{'b':{'command':'y'},'c':{'command':'y'}}}");
    conf_load(NULL);
    ck_assert_str_eq(all_names(), "a b c ");
    ck_assert_ptr_null(mcplug_config_name(conf, 3));
    ck_assert_ptr_null(mcplug_config_name(conf, SIZE_MAX));
    mcplug_config_free(NULL);
}
END_TEST

START_TEST(more_is_read_and_the_later_one_wins)
{
    size_t len = 0;
    give("f.json", SERVER("f"));
    const char *more[] = {json("{'mcpServers':{'a':{'command':'1'}}}"), at("f.json"),
                          json("{'mcpServers':{'a':{'command':'2'}}}"), NULL};
    struct mcplug_config_options o = {.struct_size = sizeof o, .more = more};

    give(USER, SERVER("u"));
    conf_load(&o);
    ck_assert_str_eq(all_names(), "a f u ");
    const char *text = mcplug_config_entry(conf, "a", &len);
    ck_assert(mp_bytes_eq(mp_bytes(text, len), json("{'command':'2'}")));
    o.strict = 1;
    conf_load(&o);
    ck_assert_str_eq(all_names(), "a f ");
}
END_TEST

START_TEST(a_newer_program_may_have_longer_options)
{
    const char *more[] = {json(SERVER("m")), NULL};
    struct {
        struct mcplug_config_options o;
        char later[64];
    } long_one = {.o = {.struct_size = sizeof long_one, .strict = 1, .more = more}};

    give(USER, SERVER("u"));
    conf_load(&long_one.o);
    ck_assert_str_eq(all_names(), "m ");
    long_one.later[63] = 1; /* it means something, but not here */
    ck_assert_ptr_null(mcplug_config_load(&long_one.o, &err));
    ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
}
END_TEST

/* Members that its size takes in count; those behind it are not looked at. */
START_TEST(an_older_program_may_have_shorter_options)
{
    struct mcplug_config_options o = {.struct_size =
                                          offsetof(struct mcplug_config_options, more),
                                      .strict = 1,
                                      .more = (const char *const *)(uintptr_t)8};

    give(USER, SERVER("u"));
    conf_load(&o);
    ck_assert_str_eq(all_names(), "");
}
END_TEST

START_TEST(problems_are_told_one_line_each)
{
    give(USER, "{'mcpServers':{'a':{'command':7},\n'b':{'command':'x'}}}");
    give(PROJECT, "{");
    conf_load(NULL);
    ck_assert_str_eq(all_names(), "a b ");
    HAS(mcplug_config_problem(conf, 0), "project/.mcp.json:1:");
    HAS(mcplug_config_problem(conf, 1),
        "settings.json:1:31: mcpServers.a.command: expected a string, found a number");
    ck_assert_ptr_eq(mcplug_config_problem(conf, 1), mcplug_config_problem(conf, 1));
    ck_assert_ptr_null(mcplug_config_problem(conf, 2));
    ck_assert_ptr_null(mcplug_config_problem(conf, SIZE_MAX));
}
END_TEST

START_TEST(more_files_than_there_is_room_for_are_left_out)
{
    const char *more[258];
    struct mcplug_config_options o = {.struct_size = sizeof o, .more = more};
    for (size_t i = 0; i < 257; i++)
        more[i] = "{\"mcpServers\":{\"s\":{\"command\":\"x\"}}}";
    more[0] = "{\"mcpServers\":{\"first\":{\"command\":\"x\"}}}";
    more[257] = NULL;
    conf_load(&o);
    ck_assert_str_eq(all_names(), "s ");
}
END_TEST

START_TEST(directories_of_modules_come_from_the_users_file)
{
    conf_load(NULL);
    ck_assert_ptr_null(mcplug_config_plugin_dirs(conf));
    give(USER, "{'pluginDirs':['/a','/b']}");
    conf_load(NULL);
    const char *const *dirs = mcplug_config_plugin_dirs(conf);
    ck_assert_str_eq(dirs[0], "/a");
    ck_assert_str_eq(dirs[1], "/b");
    ck_assert_ptr_null(dirs[2]);
}
END_TEST

/* ---- asking ---- */

START_TEST(a_check_tells_why_a_server_cannot_be_used)
{
    static const struct {
        const char *name, *why;
        enum mcplug_entry_state state;
    } rows[] = {
        {"broken", "mcpServers.broken.command: expected a string", MCPLUG_ENTRY_BROKEN},
        {"off", "server \"off\" is disabled in ", MCPLUG_ENTRY_DISABLED},
        {"denied", "Cannot use MCP server \"denied\": server is explicitly blocked",
         MCPLUG_ENTRY_BLOCKED},
        {"foreign", "server \"foreign\" of ", MCPLUG_ENTRY_NEEDS_APPROVAL},
        {"none", "there is no server \"none\"", MCPLUG_ENTRY_NONE},
    };
    give(USER, "{'mcpServers':{'broken':{'command':7},'off':{'command':'x','disabled':"
               "true},'denied':{'command':'x'},'good':{'command':'x'}}}");
    give(PROJECT, SERVER("foreign"));
    give(POLICY, "{'deny':[{'name':'denied'}]}");
    conf_load(NULL);
    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        ck_assert_int_eq(mcplug_config_check(conf, rows[i].name, &err), rows[i].state);
        ck_assert_int_eq(err.code, rows[i].state == MCPLUG_ENTRY_BLOCKED
                                       ? MCPLUG_EREFUSED
                                       : MCPLUG_ECONFIG);
        HAS(err.text, rows[i].why);
        ck_assert_int_eq(mcplug_config_check(conf, rows[i].name, NULL), rows[i].state);
    }
    ck_assert_int_eq(mcplug_config_check(conf, "good", &err), MCPLUG_ENTRY_READY);
    ck_assert_int_eq(mcplug_config_check(conf, "good", NULL), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(an_entry_is_shown_as_the_file_has_it)
{
    size_t len = 77;
    give(PROJECT, "{'mcpServers':{'s': {'command' :\n 'x'} }}");
    conf_load(NULL);
    const char *text = mcplug_config_entry(conf, "s", &len);
    ck_assert(mp_bytes_eq(mp_bytes(text, len), json("{'command' :\n 'x'}")));
    ck_assert_ptr_null(mcplug_config_entry(conf, "none", &len));
}
END_TEST

START_TEST(an_approval_counts_from_the_next_load_on)
{
    give(PROJECT, SERVER("s"));
    conf_load(NULL);
    ck_assert_int_eq(mcplug_config_approve(conf, "none", &err), MCPLUG_ECONFIG);
    ck_assert_int_eq(mcplug_config_approve(conf, "s", &err), MCPLUG_OK);
    conf_load(NULL);
    ck_assert_int_eq(mcplug_config_check(conf, "s", &err), MCPLUG_ENTRY_READY);
    give(PROJECT, "{'mcpServers':{'s':{'command':'y'}}}");
    conf_load(NULL);
    ck_assert_int_eq(mcplug_config_check(conf, "s", &err), MCPLUG_ENTRY_NEEDS_APPROVAL);
    HAS(err.text, "has changed since it was approved");
}
END_TEST

START_TEST(what_was_approved_can_be_used_without_loading_again)
{
    give(PROJECT, SERVER("s"));
    conf_load(NULL);
    ck_assert_int_eq(mcplug_config_check(conf, "s", &err), MCPLUG_ENTRY_NEEDS_APPROVAL);
    ck_assert_int_eq(mcplug_config_approve(conf, "s", &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_config_check(conf, "s", &err), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(approving_what_was_given_in_place_does_no_harm)
{
    const char *more[] = {json(SERVER("m")), NULL};
    struct mcplug_config_options o = {.struct_size = sizeof o, .more = more};
    conf_load(&o);
    ck_assert_int_eq(mcplug_config_approve(conf, "m", &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_config_check(conf, "m", &err), MCPLUG_ENTRY_READY);
    conf_load(&o);
    ck_assert_ptr_null(mcplug_config_problem(conf, 0));
}
END_TEST

/* ---- opening ---- */

struct readiness {
    unsigned times;
    int code;
};

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct readiness *r = arg;
    (void)server;
    r->times++;
    r->code = why ? why->code : 0;
}

static mcplug_server *open_named(const char *name,
                                 const struct mcplug_server_options *options)
{
    struct readiness r = {0};
    mcplug_server *server = NULL;

    int code = mcplug_open_named(host, conf, name, options, on_ready, &r, &server, &err);
    ck_assert_msg(code == MCPLUG_OK, "%s", err.text);
    while (!r.times)
        mcplug_turn(host, 1);
    ck_assert_int_eq(r.code, 0);
    return server;
}

static void not_opened(const char *name, int code, const char *why)
{
    mcplug_server *server = NULL;
    struct readiness r = {0};
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(
        mcplug_open_named(host, conf, name, NULL, on_ready, &r, &server, &err), code);
    HAS(err.text, why);
    ck_assert_ptr_null(server);
    ck_assert_uint_eq(r.times, 0);
    ck_assert_int_eq(
        mcplug_open_named(host, conf, name, NULL, on_ready, &r, &server, NULL), code);
}

static void calls_env(mcplug_server *server, const char *name, const char *value)
{
    mcplug_result *result = NULL;
    char args[64];
    snprintf(args, sizeof args, "{\"name\":\"%s\"}", name);
    int r = mcplug_call_tool_wait(server, "env", args, NULL, &result, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    HAS(mcplug_result_json(result, NULL), value);
    mcplug_result_unref(result);
}

START_TEST(a_server_is_opened_by_its_name)
{
    start_host();
    setenv("WORD", "from-outside", 1);
    give_example(USER, "ex", ",'env':{'WHO':'<${WORD}>','MISS':'${NOWHERE_SET}'}");
    conf_load(NULL);
    mcplug_server *server = open_named("ex", NULL);
    ck_assert_str_eq(mcplug_server_name(server), "ex");
    calls_env(server, "WHO", "<from-outside>");
    HAS(logged, "Set the following environment variables: NOWHERE_SET");
    mcplug_close_wait(server);
}
END_TEST

static void on_problem(void *arg, const char *source, const char *text)
{
    char *at = (char *)arg + strlen(arg);
    snprintf(at, 200, "%s %.150s;", source, text);
}

START_TEST(who_asks_is_told_what_is_wrong_with_an_entry)
{
    char told[1000] = "";
    start_host();
    give_example(USER, "ex", ",'env':{'MISS':'${NOWHERE_SET}'},'bogus':1");
    conf_load(NULL);
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .arg = told, .problem = on_problem};
    mcplug_server *server = open_named("ex", &o);
    HAS(told, "mcp:ex Set the following environment variables: NOWHERE_SET;");
    HAS(told, "config ");
    ck_assert_ptr_null(strstr(logged, "NOWHERE_SET"));
    ck_assert_ptr_null(strstr(logged, "bogus"));
    mcplug_close_wait(server);
}
END_TEST

START_TEST(options_of_the_caller_come_first)
{
    start_host();
    give_example(USER, "ex", ",'timeouts':{'tool':'1h'},'args':['--era','legacy']");
    conf_load(NULL);
    struct mcplug_server_options o = {.struct_size = sizeof o, .name = "mine"};
    mcplug_server *server = open_named("ex", &o);
    ck_assert_str_eq(mcplug_server_name(server), "mine");
    ck_assert_str_eq(mcplug_server_revision(server), "2025-11-25");
    mcplug_close_wait(server);
}
END_TEST

START_TEST(older_options_of_a_server_are_taken_as_far_as_they_go)
{
    start_host();
    give_example(USER, "ex", "");
    conf_load(NULL);
    struct mcplug_server_options o;
    memset(&o, 0xff, sizeof o); /* what is behind it must not be looked at */
    o.struct_size = offsetof(struct mcplug_server_options, timeout_ms);
    o.dedicated = o.once = 0;
    o.lists = MCPLUG_TOOLS;
    o.name = "old";
    mcplug_server *server = open_named("ex", &o);
    ck_assert_str_eq(mcplug_server_name(server), "old");
    mcplug_close_wait(server);
}
END_TEST

START_TEST(times_of_the_entry_are_used_when_the_caller_has_none)
{
    start_host();
    give_example(USER, "ex", ",'timeouts':{'tool':50}");
    conf_load(NULL);
    mcplug_server *server = open_named("ex", NULL);
    mcplug_result *result = NULL;
    ck_assert_int_eq(
        mcplug_call_tool_wait(server, "sleep", "{\"ms\":20000}", NULL, &result, &err),
        MCPLUG_ETIMEDOUT);
    mcplug_result_unref(result);
    mcplug_close_wait(server);
}
END_TEST

START_TEST(what_may_not_be_used_is_not_opened)
{
    start_host();
    give_example(PROJECT, "foreign", "");
    give(USER, "{'mcpServers':{'off':{'command':'x','disabled':true},'odd':{'type':"
               "'nonsense','command':'x'},'typo':{'command':'x','arg':[]},'url':{'url':"
               "'nonsense://h'},'open':{'command':'${x'},'lacks':{'type':'stdio'}}}");
    conf_load(NULL);
    not_opened("none", MCPLUG_ECONFIG, "there is no server \"none\"");
    not_opened("foreign", MCPLUG_ECONFIG, "has not been approved");
    not_opened("off", MCPLUG_ECONFIG, "is disabled in ");
    not_opened("typo", MCPLUG_ECONFIG, "did you mean \"args\"?");
    not_opened("open", MCPLUG_ECONFIG, "server \"open\": command: ");
    not_opened("lacks", MCPLUG_ECONFIG, "\"command\" is missing");
    not_opened("odd", MCPLUG_ENOTSUP, "nonsense");
    not_opened("url", MCPLUG_ENOTSUP, "nonsense");
    ck_assert_int_eq(mcplug_config_approve(conf, "foreign", &err), MCPLUG_OK);
    conf_load(NULL);
    mcplug_close_wait(open_named("foreign", NULL));
    give(POLICY, "{'allow':[]}");
    conf_load(NULL);
    not_opened("foreign", MCPLUG_EREFUSED, "not allowed by enterprise policy");
}
END_TEST

START_TEST(problems_that_the_module_knows_of_are_told_once_opened)
{
    start_host();
    give_example(USER, "ex", ",'quantum':1");
    conf_load(NULL);
    ck_assert_ptr_null(mcplug_config_problem(conf, 0));
    mcplug_close_wait(open_named("ex", NULL));
    HAS(mcplug_config_problem(conf, 0), "mcpServers.ex.quantum: is unknown to transport");
    ck_assert_ptr_null(mcplug_config_problem(conf, 1));
}
END_TEST

START_TEST(a_program_of_a_project_starts_beside_its_file)
{
    start_host();
    give_example(PROJECT, "ex", "");
    make_dirs("project/sub/");
    ck_assert_int_eq(chdir(at("project/sub")), 0);
    conf_load(NULL);
    ck_assert_int_eq(mcplug_config_approve(conf, "ex", &err), MCPLUG_OK);
    conf_load(NULL);
    mcplug_server *server = open_named("ex", NULL);
    char link[64], cwd[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%s/cwd", mcplug_server_fact(server, "pid"));
    ssize_t n = readlink(link, cwd, sizeof cwd - 1);
    ck_assert_int_gt(n, 0);
    cwd[n] = '\0';
    ck_assert_str_eq(cwd, at("project"));
    mcplug_close_wait(server);
}
END_TEST

/* ---- secrets ---- */

#define SECRET ",'env':{'TOKEN':'%s'}"

static void give_secret(const char *reference)
{
    char more[512];
    snprintf(more, sizeof more, SECRET, reference);
    give_example(USER, "ex", more);
    conf_load(NULL);
}

/* What the server has as TOKEN. */
static const char *token_of(mcplug_server *server)
{
    static char text[256];
    mcplug_result *r = NULL;
    int code =
        mcplug_call_tool_wait(server, "env", "{\"name\":\"TOKEN\"}", NULL, &r, &err);
    ck_assert_msg(code == MCPLUG_OK, "%s", err.text);
    snprintf(text, sizeof text, "%s", mcplug_result_json(r, NULL));
    mcplug_result_unref(r);
    return text;
}

static unsigned readies, closes;
static int ready_code;
static char ready_text[512];

static void note_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    (void)arg, (void)server;
    readies++;
    ready_code = why ? why->code : 0;
    snprintf(ready_text, sizeof ready_text, "%s", why ? why->text : "");
}

static void note_closed(void *arg)
{
    (void)arg;
    closes++;
}

static mcplug_server *begin_named(const struct mcplug_server_options *o)
{
    mcplug_server *server = NULL;
    readies = closes = 0;
    int r = mcplug_open_named(host, conf, "ex", o, note_ready, NULL, &server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    return server;
}

/* A secret that comes once the file "go" is there. */
static void give_slow_secret(void)
{
    char reference[400];
    snprintf(reference, sizeof reference,
             "${cmd:while [ ! -e %s ]; do sleep 0.02; done; echo hidden}", at("go"));
    give_secret(reference);
}

static void note_posted(void *arg)
{
    *(bool *)arg = true;
}

START_TEST(the_loop_runs_on_while_a_secret_is_looked_up)
{
    bool posted = false;
    start_host();
    give_slow_secret();
    mcplug_server *server = begin_named(NULL);
    mcplug_config_free(conf); /* it is not needed any more */
    conf = NULL;
    mcplug_post(host, note_posted, &posted);
    while (!posted)
        mcplug_turn(host, 1);
    ck_assert_uint_eq(readies, 0);
    give("go", "");
    while (!readies)
        mcplug_turn(host, 1);
    ck_assert_msg(ready_code == 0, "%s", ready_text);
    ck_assert_ptr_nonnull(strstr(token_of(server), "hidden"));
    mcplug_close_wait(server);
}
END_TEST

START_TEST(secrets_are_looked_up_anew_at_each_start)
{
    char reference[300];
    start_host();
    give("token", "first");
    snprintf(reference, sizeof reference, "${file:%s}", at("token"));
    give_secret(reference);
    mcplug_server *server = begin_named(NULL);
    ck_assert_ptr_nonnull(strstr(token_of(server), "first"));
    give("token", "second");
    ck_assert_int_eq(mcplug_restart(server, &err), MCPLUG_OK);
    ck_assert_ptr_nonnull(strstr(token_of(server), "second"));
    mcplug_close_wait(server);
}
END_TEST

START_TEST(a_secret_that_cannot_be_had_is_told_when_ready)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .once = _i == 0};
    start_host();
    give_secret("${file:/nonexistent/secret}");
    mcplug_server *server = begin_named(&o);
    while (!readies)
        mcplug_turn(host, 1);
    ck_assert_int_lt(ready_code, 0);
    ck_assert_msg(strstr(ready_text, "/nonexistent/secret"), "%s", ready_text);
    mcplug_close_wait(server);
}
END_TEST

START_TEST(a_server_may_be_closed_while_its_secrets_are_looked_up)
{
    start_host();
    give_slow_secret();
    mcplug_server *server = begin_named(NULL);
    mcplug_turn(host, 0);
    mcplug_close(server, note_closed, NULL);
    while (!closes) /* though the secret does not come */
        mcplug_turn(host, 1);
    give("go", "");
    ck_assert_uint_eq(readies, 1);
    ck_assert_int_eq(ready_code, MCPLUG_ECANCELED);
}
END_TEST

START_TEST(servers_with_the_same_references_share_a_connection)
{
    struct mcplug_status st = {.struct_size = sizeof st};
    start_host();
    give_secret("${cmd:echo hidden}");
    mcplug_server *a = begin_named(NULL), *b = begin_named(NULL);
    token_of(a);
    token_of(b);
    mcplug_server_status(a, &st);
    ck_assert_uint_eq(st.servers, 2);
    ck_assert_uint_eq(st.starts, 1);
    mcplug_close_wait(a);
    mcplug_close_wait(b);
}
END_TEST

/* ---- on top ---- */

START_TEST(an_overlay_goes_on_top_of_the_entry)
{
    mcplug_settings *top = mcplug_settings_new(NULL);
    struct mcplug_server_options o = {.struct_size = sizeof o, .overlay = top};
    start_host();
    give_secret("${cmd:echo hidden}");
    mcplug_settings_put(top, "env", "TOKEN", "shown");
    mcplug_server *plain = begin_named(NULL), *server = begin_named(&o);
    mcplug_settings_free(top);
    ck_assert_ptr_nonnull(strstr(token_of(server), "shown"));
    ck_assert_ptr_nonnull(strstr(token_of(plain), "hidden"));
    mcplug_close_wait(server);
    mcplug_close_wait(plain);
}
END_TEST

START_TEST(an_overlay_that_does_not_fit_is_refused)
{
    mcplug_settings *top = mcplug_settings_new(NULL);
    struct mcplug_server_options o = {.struct_size = sizeof o, .overlay = top};
    mcplug_server *server;
    start_host();
    give_secret("x");
    mcplug_settings_put(top, "command", "a", "map");
    ck_assert_int_eq(mcplug_open_named(host, conf, "ex", &o, NULL, NULL, &server, &err),
                     MCPLUG_ECONFIG);
    mcplug_settings_free(top);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, the_loop_runs_on_while_a_secret_is_looked_up);
    tcase_add_test(t, secrets_are_looked_up_anew_at_each_start);
    tcase_add_test(t, a_server_may_be_closed_while_its_secrets_are_looked_up);
    tcase_add_test(t, servers_with_the_same_references_share_a_connection);
    tcase_add_test(t, an_overlay_goes_on_top_of_the_entry);
    tcase_add_test(t, an_overlay_that_does_not_fit_is_refused);
    tcase_add_loop_test(t, a_secret_that_cannot_be_had_is_told_when_ready, 0, 2);
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_checked_fixture(t, NULL, end_all);
    tcase_add_test(t, servers_are_counted_and_named_once_each);
    tcase_add_test(t, more_is_read_and_the_later_one_wins);
    tcase_add_test(t, a_newer_program_may_have_longer_options);
    tcase_add_test(t, an_older_program_may_have_shorter_options);
    tcase_add_test(t, problems_are_told_one_line_each);
    tcase_add_test(t, more_files_than_there_is_room_for_are_left_out);
    tcase_add_test(t, directories_of_modules_come_from_the_users_file);
    tcase_add_test(t, a_check_tells_why_a_server_cannot_be_used);
    tcase_add_test(t, an_entry_is_shown_as_the_file_has_it);
    tcase_add_test(t, an_approval_counts_from_the_next_load_on);
    tcase_add_test(t, what_was_approved_can_be_used_without_loading_again);
    tcase_add_test(t, approving_what_was_given_in_place_does_no_harm);
    tcase_add_test(t, a_server_is_opened_by_its_name);
    tcase_add_test(t, who_asks_is_told_what_is_wrong_with_an_entry);
    tcase_add_test(t, options_of_the_caller_come_first);
    tcase_add_test(t, older_options_of_a_server_are_taken_as_far_as_they_go);
    tcase_add_test(t, times_of_the_entry_are_used_when_the_caller_has_none);
    tcase_add_test(t, what_may_not_be_used_is_not_opened);
    tcase_add_test(t, problems_that_the_module_knows_of_are_told_once_opened);
    tcase_add_test(t, a_program_of_a_project_starts_beside_its_file);
}

int main(void)
{
    return run_suite("api_config", add);
}
