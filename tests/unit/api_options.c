/* What a program says of itself and of its servers: versions and options. Against the
 * example server, through the real stdio module. */
#include "api/host.h"
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

START_TEST(the_header_the_library_and_the_package_have_one_version)
{
    char text[64];

    snprintf(text, sizeof text, "%d.%d.%d", MCPLUG_VERSION_MAJOR, MCPLUG_VERSION_MINOR,
             MCPLUG_VERSION_PATCH);
    ck_assert_str_eq(text, PACKAGE_VERSION);
    ck_assert_str_eq(mcplug_version(), PACKAGE_VERSION);
    ck_assert_uint_eq(mcplug_version_number(), MCPLUG_VERSION_NUMBER);
    snprintf(text, sizeof text, "%u.%u.%u", mcplug_version_number() >> 16,
             mcplug_version_number() >> 8 & 0xff, mcplug_version_number() & 0xff);
    ck_assert_str_eq(text, PACKAGE_VERSION);
}
END_TEST

/* ---- where helpers are ---- */

static mcplug_settings *example(void)
{
    const char *build = getenv("MCPLUG_BUILD");
    char path[4096];
    mcplug_settings *s = mcplug_settings_new("stdio");
    ck_assert_ptr_nonnull(build);
    snprintf(path, sizeof path, "%s/examples/mcplug-example-server", build);
    mcplug_settings_set(s, "command", path);
    return s;
}

static int open_with(const struct mcplug_options *options, struct mcplug_error *err)
{
    mcplug *host = mcplug_new(options, err);
    mcplug_server *server = NULL;
    mcplug_settings *s = example();

    ck_assert_msg(host != NULL, "%s", err->text);
    struct mcplug_server_options once = {.struct_size = sizeof once, .once = 1};
    int r = mcplug_open_wait(host, s, &once, &server, err);
    mcplug_settings_free(s);
    mcplug_free(host);
    return r;
}

START_TEST(helpers_are_where_the_program_says)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *helpers = getenv("MCPLUG_HELPER_PATH");

    ck_assert_ptr_nonnull(helpers);
    char *right = strdup(helpers);
    struct mcplug_options o = {.struct_size = sizeof o, .helper_dir = "/nonexistent"};
    ck_assert_int_ne(open_with(&o, &err), MCPLUG_OK);
    if (!getenv("MCPLUG_TEST_VALGRIND")) /* where posix_spawn() does not see it fail */
        ck_assert_msg(strstr(err.text, "/nonexistent/mcplug-reaper") != NULL, "%s",
                      err.text);
    setenv("MCPLUG_HELPER_PATH", "/nonexistent", 1);
    o.helper_dir = right;
    ck_assert_msg(open_with(&o, &err) == MCPLUG_OK, "%s", err.text);
    free(right);
}
END_TEST

/* ---- settings as JSON ---- */

static int set_json(mcplug_settings *s, const char *json, struct mcplug_error *err)
{
    *err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    return mcplug_settings_json(s, json, err);
}

START_TEST(settings_come_as_an_object_too)
{
    struct mcplug_error err;
    mcplug_settings *s = mcplug_settings_new(NULL);

    ck_assert_msg(set_json(s,
                           " {\"command\":\"c\",\"args\":[\"a\",7,true],"
                           "\"env\":{\"A\":\"\\u20ac\",\"B\":\"${HOME}\"},\"port\":80}\n",
                           &err) == MCPLUG_OK,
                  "%s", err.text);
    ck_assert_str_eq(s->type, "stdio"); /* as in an entry */
    ck_assert_str_eq(mp_props_get(s->props, "command"), "c");
    ck_assert_str_eq(mp_props_list(s->props, "args")[1], "7");
    ck_assert_str_eq(mp_props_list(s->props, "args")[2], "true");
    ck_assert_str_eq(mp_props_map_get(s->props, "env", "A"), "\xe2\x82\xac");
    ck_assert_str_eq(mp_props_map_get(s->props, "env", "B"), "${HOME}"); /* as it is */
    ck_assert_str_eq(mp_props_get(s->props, "port"), "80");
    /* members replace, whatever they were */
    ck_assert_int_eq(set_json(s,
                              "{\"type\":\"streamable-http\",\"args\":[\"b\"],\"env\":{},"
                              "\"port\":[\"x\"]}",
                              &err),
                     MCPLUG_OK);
    ck_assert_str_eq(s->type, "http");
    ck_assert_str_eq(mp_props_list(s->props, "args")[0], "b");
    ck_assert_ptr_null(mp_props_list(s->props, "args")[1]);
    ck_assert_ptr_null(mp_props_map_get(s->props, "env", "A"));
    ck_assert_str_eq(mp_props_list(s->props, "port")[0], "x");
    ck_assert_str_eq(mp_props_get(s->props, "command"), "c");
    ck_assert_int_eq(set_json(s, "{\"command\":\"d\"}", &err), MCPLUG_OK);
    ck_assert_str_eq(s->type, "http"); /* it had one */
    mcplug_settings_free(s);
}
END_TEST

START_TEST(settings_that_are_none_change_nothing)
{
    static const char *const cases[][2] = {
        {"", "settings:1:1: "},
        {"[]", "expected an object, found a list"},
        {"{\"command\":\"d\",}", "settings:1:"},
        {"{\"command\":7,\"x\":\"y\"}", "settings.command: expected a string"},
        {"{\"command\":\"d\",\"args\":{}}", "settings.args: expected a list"},
        {"{\"command\":\"d\",\"args\":[[]]}", "settings.args[0]: "},
        {"{\"command\":\"d\",\"env\":{\"A\":\"a\\u0000\"}}",
         "env.A: has a NUL character"},
        {"{\"command\":\"d\",\"x\":null}", "x: expected a value"},
        {"{\"command\":\"d\",\"x\":{\"y\":{}}}", "x: expected a value"},
        {"{\"command\":\"d\",\"timeouts\":{}}", "settings.timeouts: is no setting"},
        {"{\"command\":\"d\",\"disabled\":true}", "settings.disabled: is no setting"},
        {"{\"command\":\"d\",\"command\":\"e\"}", "\"command\" is given twice"},
    };
    struct mcplug_error err;
    mcplug_settings *s = mcplug_settings_new("stdio");

    mcplug_settings_set(s, "command", "c");
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        ck_assert_msg(set_json(s, cases[i][0], &err) == MCPLUG_ECONFIG, "%s",
                      cases[i][0]);
        ck_assert_msg(strstr(err.text, cases[i][1]) != NULL, "%s: %s", cases[i][0],
                      err.text);
        ck_assert_str_eq(mp_props_get(s->props, "command"), "c");
        ck_assert_ptr_null(mp_props_get(s->props, "x"));
    }
    ck_assert_int_eq(mcplug_settings_json(s, NULL, NULL), MCPLUG_EINVAL);
    mcplug_settings_free(s);
}
END_TEST

START_TEST(there_are_not_more_settings_than_there_may_be)
{
    struct mcplug_error err;
    char json[8192] = "{\"p0\":1", name[16];
    mcplug_settings *s = mcplug_settings_new("stdio");

    for (int i = 0; i < MP_PROPS_MAX - 1; i++) {
        snprintf(name, sizeof name, "p%d", i);
        ck_assert_int_eq(mcplug_settings_set(s, name, "x"), MCPLUG_OK);
    }
    ck_assert_int_eq(set_json(s, "{\"p0\":[2],\"q\":1}", &err), MCPLUG_OK); /* all */
    ck_assert_int_eq(set_json(s, "{\"p0\":3,\"r\":1}", &err), MCPLUG_ETOOBIG);
    ck_assert_str_eq(mp_props_list(s->props, "p0")[0], "2");
    mcplug_settings_free(s);
    s = mcplug_settings_new("stdio");
    for (int i = 1; i <= MP_PROPS_MAX; i++)
        snprintf(json + strlen(json), 32, ",\"p%d\":1", i);
    strcat(json, "}");
    ck_assert_int_ne(set_json(s, json, &err), MCPLUG_OK);
    ck_assert_ptr_null(mp_props_get(s->props, "p0"));
    mcplug_settings_free(s);
}
END_TEST

/* ---- options as JSON ---- */

static mcplug *new_host(const struct mcplug_options *options)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = mcplug_new(options, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
    return host;
}

static mcplug_server *open_json(mcplug *host, struct mcplug_server_options *o)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_server *server = NULL;
    mcplug_settings *s = example();
    int r = mcplug_open(host, s, o, NULL, NULL, &server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(s);
    return server;
}

START_TEST(options_of_a_server_come_as_an_object_too)
{
    struct mcplug_server_options o = {
        .struct_size = sizeof o,
        .request_ms = 77000,
        .json = "{\"timeouts\":{\"connect\":\"20s\",\"request\":5,\"tool\":\"1m\"},"
                "\"queue\":\"q\",\"toolQueues\":{\"a\":\"b\"},\"toolsAllowed\":[\"e*\"],"
                "\"toolsDenied\":[\"env\"],\"toolsApproved\":[\"a\"],"
                "\"toolsAsked\":[\"b\",\"c*\"],\"idle\":\"5m\",\"maxSpill\":\"6G\","
                "\"shared\":false,"
                "\"keepAlive\":true,\"healthProbe\":\"listTools\"}"};
    mcplug *host = new_host(NULL);
    mcplug_list *tools = NULL;
    mcplug_server *server = open_json(host, &o);

    ck_assert_uint_eq(server->o.timeout_ms, 20000);
    ck_assert_uint_eq(server->o.request_ms, 77000); /* a member wins */
    ck_assert_uint_eq(server->o.tool_ms, 60000);
    ck_assert_uint_eq(server->o.idle_ms, 300000);
    ck_assert_uint_eq(server->o.max_spill, (uint64_t)6 << 30);
    ck_assert_uint_eq(server->o.dedicated, 1);
    ck_assert_uint_eq(server->o.keep_alive_ms, 50000);
    ck_assert_str_eq(server->o.queue, "q");
    ck_assert_str_eq(server->o.tools_approved[0], "a");
    ck_assert_str_eq(server->o.tools_asked[1], "c*");
    ck_assert_ptr_null(server->o.json); /* nothing that the program may have freed */
    ck_assert_int_eq(mcplug_get_list_wait(server, MCPLUG_TOOLS, NULL, &tools, NULL),
                     MCPLUG_OK);
    ck_assert_int_ge(mcplug_list_find(tools, "echo"), 0);
    ck_assert_int_lt(mcplug_list_find(tools, "env"), 0);
    ck_assert_int_lt(mcplug_list_find(tools, "add"), 0);
    mcplug_list_unref(tools);
    mcplug_free(host);
}
END_TEST

START_TEST(options_that_are_none_are_refused_with_their_name)
{
    static const char *const cases[][2] = {
        {"7", "options: expected an object, found a number"},
        {"{\"timeout\":5}", "options.timeout: is unknown; did you mean \"timeouts\"?"},
        {"{\"command\":\"x\"}", "options.command: is unknown"},
        {"{\"disabled\":true}", "options.disabled: is unknown"},
        {"{\"timeouts\":{\"tools\":5}}", "options.timeouts.tools: is unknown"},
        {"{\"toolsAllowed\":\"x\"}", "options.toolsAllowed: expected a list"},
        {"{\"healthProbe\":\"http\"}", "needs \"healthUrl\""},
        {"{'queue':1}", "options:1:2: "},
    };
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = new_host(NULL);
    mcplug_server *server = NULL;
    mcplug_settings *s = example();

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        struct mcplug_server_options o = {.struct_size = sizeof o, .json = cases[i][0]};
        ck_assert_int_eq(mcplug_open(host, s, &o, NULL, NULL, &server, &err),
                         MCPLUG_ECONFIG);
        ck_assert_msg(strstr(err.text, cases[i][1]) != NULL, "%s: %s", cases[i][0],
                      err.text);
        ck_assert_ptr_null(server);
    }
    mcplug_settings_free(s);
    mcplug_free(host);
}
END_TEST

START_TEST(the_object_comes_before_the_entry)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *const more[] = {"{\"mcpServers\":{\"s\":{\"command\":\"true\",\"shared\":"
                                "false,\"queue\":\"entry\","
                                "\"toolsDenied\":[\"x\"],\"timeouts\":{\"tool\":5}}}}",
                                NULL};
    struct mcplug_config_options co = {
        .struct_size = sizeof co, .strict = 1, .more = more};
    struct mcplug_server_options o = {
        .struct_size = sizeof o,
        .json = "{\"shared\":true,\"queue\":\"json\",\"timeouts\":{\"request\":9}}"};
    mcplug_server *server = NULL;
    mcplug *host = new_host(NULL);
    mcplug_config *config = mcplug_config_load(&co, &err);

    ck_assert_msg(config != NULL, "%s", err.text);
    int r = mcplug_open_named(host, config, "s", &o, NULL, NULL, &server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_uint_eq(server->o.dedicated, 0);
    ck_assert_str_eq(server->o.queue, "json");
    ck_assert_uint_eq(server->o.request_ms, 9);
    ck_assert_str_eq(server->o.tools_denied[0], "x"); /* which it says nothing of */
    o.json = "{\"nope\":1}";
    ck_assert_int_eq(mcplug_open_named(host, config, "s", &o, NULL, NULL, &server, &err),
                     MCPLUG_ECONFIG);
    mcplug_config_free(config);
    mcplug_free(host);
}
END_TEST

static char logged[4096];
static void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)arg, (void)source, (void)text;
    snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%d", level);
}

START_TEST(options_of_a_host_come_as_an_object_too)
{
    char *helpers = strdup(getenv("MCPLUG_HELPER_PATH")), json[8192];
    struct mcplug_options o = {
        .struct_size = sizeof o, .json = json, .client_name = "member", .log = on_log};

    snprintf(json, sizeof json,
             "{\"clientName\":\"json\",\"clientVersion\":\"7.8\",\"helperDir\":\"%s\","
             "\"pluginDirs\":[\"%s\"],\"spillDir\":\"/tmp\",\"logLevel\":\"verbose\"}",
             helpers, getenv("MCPLUG_PLUGIN_PATH"));
    setenv("MCPLUG_HELPER_PATH", "/nonexistent", 1);
    setenv("MCPLUG_PLUGIN_PATH", "/nonexistent", 1);
    mcplug *host = new_host(&o);
    memset(json, 'x', sizeof json - 1); /* the program may have freed it */
    ck_assert_str_eq(host->client_name, "member");
    ck_assert_str_eq(host->client_version, "7.8");
    ck_assert_str_eq(host->spill_dir, "/tmp");
    mcplug_result *result = NULL;
    mcplug_server *server = open_json(host, NULL);
    ck_assert_int_eq(mcplug_call_tool_wait(server, "meta", NULL, NULL, &result, NULL),
                     MCPLUG_OK);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), "7.8"));
    ck_assert_ptr_nonnull(strchr(logged, '0' + MCPLUG_LOG_VERBOSE));
    mcplug_result_unref(result);
    mcplug_free(host);
    free(helpers);
}
END_TEST

START_TEST(a_host_with_options_that_are_none_is_not_made)
{
    static const char *const cases[][2] = {
        {"[]", "options: expected an object"},
        {"{", "options:1:"},
        {"{\"client\":\"x\"}", "\"client\" is unknown; there are clientName,"},
        {"{\"clientName\":7}", "options.clientName: expected a string"},
        {"{\"clientName\":\"a\\u0000b\"}", "options.clientName: has a NUL character"},
        {"{\"pluginDirs\":\"x\"}", "options.pluginDirs: expected a list"},
        {"{\"spillDir\":\"/tmp\",\"pluginDirs\":[\"x\",7]}",
         "options.pluginDirs: expected a string"},
        {"{\"logLevel\":2}", "options.logLevel: expected error, warn, verbose or trace"},
    };
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        struct mcplug_options o = {.struct_size = sizeof o, .json = cases[i][0]};
        ck_assert_ptr_null(mcplug_new(&o, &err));
        ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
        ck_assert_msg(strstr(err.text, cases[i][1]) != NULL, "%s: %s", cases[i][0],
                      err.text);
    }
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, settings_come_as_an_object_too);
    tcase_add_test(tc, settings_that_are_none_change_nothing);
    tcase_add_test(tc, there_are_not_more_settings_than_there_may_be);
    tcase_add_test(tc, options_of_a_server_come_as_an_object_too);
    tcase_add_test(tc, options_that_are_none_are_refused_with_their_name);
    tcase_add_test(tc, the_object_comes_before_the_entry);
    tcase_add_test(tc, options_of_a_host_come_as_an_object_too);
    tcase_add_test(tc, a_host_with_options_that_are_none_is_not_made);
    tcase_add_test(tc, helpers_are_where_the_program_says);
    tcase_add_test(tc, the_header_the_library_and_the_package_have_one_version);
}

int main(void)
{
    return run_suite("api_options", add);
}
