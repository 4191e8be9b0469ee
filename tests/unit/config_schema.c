#include "config_kit.h"

#include "base/buf.h"

/* ---- kit ---- */

static const struct mcplug_option program[] = {
    {"command", "string", NULL, "program to run"},
    {"args", "list", NULL, "its arguments"},
    {"env", "map", NULL, "its variables"},
    {"cwd", "string", "", "where"},
    {"grace", "duration", "2s", "time to end"},
    {"buffer", "bytes", "64k", "how much is kept"},
    {"retries", "int", "3", "how often"},
    {"loud", "bool", "false", "says more"},
    {"label", "string", "", "a word"},
    {"secretWord", "secret", "", "said to no one"},
    {"extra", "list", NULL, "more words"},
    {"labels", "map", NULL, "more words by name"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_option network[] = {
    {"url", "string", NULL, "where it is"},
    {"headers", "map", NULL, "fields to send"},
    {"token", "string", NULL, "needed, too"},
    {NULL, NULL, NULL, NULL},
};

/* Loads {"mcpServers":{"s":BODY}} of the user. */
static void load_entry(const char *body)
{
    char text[4096];
    ck_assert_uint_lt(strlen(body), sizeof text - 64);
    snprintf(text, sizeof text, "{'mcpServers':{'s':\n%s}}", body);
    give(USER, text);
    load();
}

struct row {
    const char *body;
    const char *problem; /* behind "FILE:"; NULL: there is none */
};

/* Exactly this problem, or none at all; `column` says where it begins. */
static void check_row(const struct row *row, size_t i)
{
    const char *got = problems();
    if (!row->problem) {
        ck_assert_msg(!got[0], "row %zu: %s: %s", i, row->body, got);
        ck_assert_msg(!entry("s")->broken, "row %zu: %s", i, row->body);
        return;
    }
    const char *want = row->problem;
    bool is_warning = strncmp(want, "(warning) ", 10) == 0;
    char line[1024];
    snprintf(line, sizeof line, "%s" USER ":%s\n", is_warning ? "(warning) " : "",
             want + (is_warning ? 10 : 0));
    ck_assert_msg(strcmp(got, line) == 0, "row %zu: %s: %s instead of %s", i, row->body,
                  got, line);
    ck_assert_msg(entry("s")->broken == !is_warning, "row %zu: %s", i, row->body);
}

static void check_shapes(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        load_entry(rows[i].body);
        check_row(&rows[i], i);
    }
}

static void check_options(const struct row *rows, size_t n,
                          const struct mcplug_option *options)
{
    for (size_t i = 0; i < n; i++) {
        load_entry(rows[i].body);
        mp_entry_check(entry("s"), "x", options);
        check_row(&rows[i], i);
    }
}

#define S "mcpServers.s"

/* ---- shapes that every server has ---- */

START_TEST(an_entry_is_an_object_with_a_command_or_a_url)
{
    static const struct row rows[] = {
        {"{'command':'x'}", NULL},
        {"{'url':'http://h/'}", NULL},
        {"{'type':'unix','path':'/x'}", NULL},
        {"[]", "2:1: " S ": expected an object that describes a server, found a list"},
        {"'npx'",
         "2:1: " S ": expected an object that describes a server, found a string"},
        {"7", "2:1: " S ": expected an object that describes a server, found a number"},
        {"-1", "2:1: " S ": expected an object that describes a server, found a number"},
        {"null", "2:1: " S ": expected an object that describes a server, found null"},
        {"true",
         "2:1: " S ": expected an object that describes a server, found a boolean"},
        {"{}", "2:1: " S ": \"command\" or \"url\" is missing"},
        {"{'args':[]}", "2:1: " S ": \"command\" or \"url\" is missing"},
        {"{'Command':'x'}", "2:2: " S ".Command: is unknown; did you mean \"command\"?"},
        {"{'comand':'x','args':[]}",
         "2:2: " S ".comand: is unknown; did you mean \"command\"?"},
        {"{'timeout':1,'ulr':'http://x'}",
         "2:14: " S ".ulr: is unknown; did you mean \"url\"?"},
        {"{'serverUrl':'http://h'}", "2:1: " S ": \"url\" is missing; `mcplug import` "
                                     "reads the form of other programs"},
        {"{'httpUrl':'http://h'}",
         "2:1: " S ": \"url\" is missing; `mcplug import` reads "
         "the form of other programs"},
        {"{'type':'tcp','url':'tcp:h:1','host':'i','port':1}",
         "2:21: " S ": has both \"url\" and \"path\" or \"host\"; remove one"},
        {"{'type':'unix','url':'unix:/h','path':'/i'}",
         "2:22: " S ": has both \"url\" and \"path\" or \"host\"; remove one"},
        {"{'command':'x','url':'http://h'}",
         "2:22: " S ": has both \"command\" and \"url\"; remove one"},
    };
    check_shapes(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(texts_are_strings_that_say_something)
{
    static const char *const keys[] = {"command", "url", "cwd", "type", "queue"};
    static const struct {
        const char *value, *why;
    } rows[] = {
        {"''", "is empty"},
        {"7", "expected a string, found a number"},
        {"true", "expected a string, found a boolean"},
        {"null", "expected a string, found null"},
        {"['x']", "expected a string, found a list"},
        {"{'x':1}", "expected a string, found an object"},
        {"'a\\u0000b'", "has a NUL character"},
    };
    char body[256], problem[256];

    for (size_t k = 0; k < MP_COUNT(keys); k++)
        for (size_t i = 0; i < MP_COUNT(rows); i++) {
            const char *other = k < 2 ? "" : ",\n'command':'x'";
            snprintf(body, sizeof body, "{\n  '%s': %s%s}", keys[k], rows[i].value,
                     other);
            snprintf(problem, sizeof problem, "3:%zu: " S ".%s: %s", 7 + strlen(keys[k]),
                     keys[k], rows[i].why);
            struct row row = {body, problem};
            check_shapes(&row, 1);
        }
}
END_TEST

START_TEST(lists_hold_what_can_be_one_text)
{
    static const char *const keys[] = {"args", "cleanUp", "toolsAllowed", "toolsDenied"};
    static const struct {
        const char *value, *where, *why;
    } rows[] = {
        {"[]", NULL, NULL},
        {"['a','']", NULL, NULL},
        {"'a b'", "", "expected a list of strings, found a string"},
        {"{}", "", "expected a list of strings, found an object"},
        {"null", "", "expected a list of strings, found null"},
        {"[null]", "[0]", "expected a string, found null"},
        {"['a',['b']]", "[1]", "expected a string, found a list"},
        {"['a','b',{}]", "[2]", "expected a string, found an object"},
        {"['a','\\u0000']", "[1]", "has a NUL character"},
    };
    char body[256], problem[256];

    for (size_t k = 0; k < MP_COUNT(keys); k++)
        for (size_t i = 0; i < MP_COUNT(rows); i++) {
            snprintf(body, sizeof body, "{'command':'x','%s':%s}", keys[k],
                     rows[i].value);
            load_entry(body);
            snprintf(problem, sizeof problem, S ".%s%s: %s\n", keys[k],
                     rows[i].where ? rows[i].where : "", rows[i].why ? rows[i].why : "");
            ck_assert_uint_eq(config->n_problems, rows[i].why != NULL);
            HAS(problems(), rows[i].why ? problem : "");
        }
    static const struct row rest[] = {
        {"{'command':'x','args':['a',7,-1.5,true,false]}", NULL},
        {"{'command':'x','toolsAllowed':['echo',5]}",
         "2:39: " S ".toolsAllowed[1]: expected a string, found a number"},
        {"{'command':'x','toolsDenied':[true]}",
         "2:31: " S ".toolsDenied[0]: expected a string, found a boolean"},
        {"{'command':'x','toolsApproved':true}",
         "2:32: " S ".toolsApproved: expected a list of strings, found a boolean"},
        {"{'command':'x','toolsAsked':[7]}",
         "2:30: " S ".toolsAsked[0]: expected a string, found a number"},
    };
    check_shapes(rest, MP_COUNT(rest));
}
END_TEST

/* Others may have written those. */
START_TEST(a_clean_up_command_is_no_key_of_a_project)
{
    static const struct {
        const char *file, *scope;
    } rows[] = {{LOCAL, "local"}, {PROJECT, "project"}, {ABOVE, "project"}};
    static const char *const own[] = {USER, "servers.d/a.json", MANAGED};
    static const char body[] = "{'mcpServers':{'s':{'command':'x',\n 'cleanUp':%s}}}";
    char text[128], want[256];

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        snprintf(text, sizeof text, body, i ? "['rm','x']" : "[]");
        give(rows[i].file, text);
        load();
        snprintf(want, sizeof want,
                 "%s:2:2: " S ".cleanUp: cannot be set in the %s scope; move the server "
                 "to the user scope\n",
                 rows[i].file, rows[i].scope);
        ck_assert_str_eq(problems(), want);
        ck_assert(entry("s")->broken);
        ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BROKEN);
        ck_assert_int_eq(unlink(at(rows[i].file)), 0);
    }
    snprintf(text, sizeof text, body, "['rm','x']");
    for (size_t i = 0; i < MP_COUNT(own); i++) {
        give(own[i], text);
        load();
        ck_assert_str_eq(problems(), "");
        ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
        ck_assert_int_eq(unlink(at(own[i])), 0);
    }
    const char *more[] = {json(text), NULL};
    ck_assert(load_with(more, true));
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(maps_hold_texts_by_names)
{
    static const struct row rows[] = {
        {"{'command':'x','env':{}}", NULL},
        {"{'command':'x','env':{'A':'','B':7,'C':true}}", NULL},
        {"{'url':'http://h','headers':{'X-A':'b','X=B':'c'}}", NULL},
        {"{'command':'x','toolQueues':{'t':'q'}}", NULL},
        {"{'command':'x','toolQueues':{'t':4}}",
         "2:34: " S ".toolQueues.t: expected a string, found a number"},
        {"{'command':'x','env':['A=b']}",
         "2:22: " S ".env: expected an object with strings, found a list"},
        {"{'command':'x','env':'A=b'}",
         "2:22: " S ".env: expected an object with strings, found a string"},
        {"{'command':'x','env':{'A':null}}",
         "2:27: " S ".env.A: expected a string, found null"},
        {"{'command':'x','env':{'A':{}}}",
         "2:27: " S ".env.A: expected a string, found an object"},
        {"{'command':'x','env':{'A=B':'c'}}", "2:23: " S ".env.A=B: is not a name"},
        {"{'command':'x','env':{'':'c'}}", "2:23: " S ".env.: is not a name"},
        {"{'command':'x','env':{'A':'\\u0000'}}",
         "2:27: " S ".env.A: has a NUL character"},
        {"{'url':'http://h','headers':{'':'c'}}", "2:30: " S ".headers.: is not a name"},
        {"{'url':'http://h','headers':{'A':['b']}}",
         "2:34: " S ".headers.A: expected a string, found a list"},
        {"{'command':'x','toolQueues':7}",
         "2:29: " S ".toolQueues: expected an object with strings, found a number"},
    };
    check_shapes(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(a_key_with_a_nul_breaks_the_file)
{
    static const char *const bodies[] = {
        "{'command':'x','env':{'A\\u0000B':'c'}}",
        "{'url':'http://h','headers':{'A\\u0000B':'c'}}",
        "{'command':'x','disabled\\u0000':true}",
    };
    for (size_t i = 0; i < MP_COUNT(bodies); i++) {
        load_entry(bodies[i]);
        ck_assert_uint_eq(config->n_entries, 0);
        ck_assert(mp_config_damaged(config));
        HAS(problems(), "a key has a NUL character");
    }
}
END_TEST

START_TEST(flags_are_true_or_false)
{
    static const struct row rows[] = {
        {"{'command':'x','shared':true,'disabled':false}", NULL},
        {"{'command':'x','shared':'true'}",
         "2:25: " S ".shared: expected true or false, found a string"},
        {"{'command':'x','disabled':1}",
         "2:27: " S ".disabled: expected true or false, found a number"},
        {"{'command':'x','disabled':null}",
         "2:27: " S ".disabled: expected true or false, found null"},
    };
    check_shapes(rows, MP_COUNT(rows));
    load_entry("{'command':'x','disabled':true}");
    ck_assert(entry("s")->disabled);
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_DISABLED);
    HAS(err.text, "server \"s\" is disabled in ");
    load_entry("{'command':'x','disabled':false}");
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}
END_TEST

#define TIMES "expected milliseconds, or a time such as \"30s\""

START_TEST(timeouts_are_times_for_what_there_is)
{
    static const struct row rows[] = {
        {"{'command':'x','timeouts':{}}", NULL},
        {"{'command':'x','timeouts':{'connect':1,'request':'5m','tool':'1h'}}", NULL},
        {"{'command':'x','timeouts':{'connect':31536000000,'tool':'8760h'}}", NULL},
        {"{'command':'x','timeouts':{'tool':'250'}}",
         "2:35: " S ".timeouts.tool: is it \"250ms\" or \"250s\"?"},
        {"{'command':'x','timeouts':{'tool':'8761h'}}",
         "2:35: " S ".timeouts.tool: is more than 365 days"},
        {"{'command':'x','timeouts':7}",
         "2:27: " S ".timeouts: expected an object with \"connect\", \"request\", "
         "\"tool\", found a number"},
        {"{'command':'x','timeouts':{'tool':0}}", "2:35: " S ".timeouts.tool: " TIMES},
        {"{'command':'x','timeouts':{'tool':-1}}", "2:35: " S ".timeouts.tool: " TIMES},
        {"{'command':'x','timeouts':{'tool':1.5}}", "2:35: " S ".timeouts.tool: " TIMES},
        {"{'command':'x','timeouts':{'tool':1e3}}", "2:35: " S ".timeouts.tool: " TIMES},
        {"{'command':'x','timeouts':{'tool':'soon'}}",
         "2:35: " S ".timeouts.tool: " TIMES},
        {"{'command':'x','timeouts':{'tool':''}}", "2:35: " S ".timeouts.tool: " TIMES},
        {"{'command':'x','timeouts':{'tool':true}}", "2:35: " S ".timeouts.tool: " TIMES},
        {"{'command':'x','timeouts':{'tool':99999999999999999999}}",
         "2:35: " S ".timeouts.tool: " TIMES},
        {"{'command':'x','timeouts':{'conect':5}}",
         "2:28: " S
         ".timeouts.conect: is unknown; there are \"connect\", \"request\" and "
         "\"tool\""},
    };
    check_shapes(rows, MP_COUNT(rows));
}
END_TEST

#define PROBES                                                                           \
    "expected ping, listTools, discover or http, or a name that a module offers"

START_TEST(a_health_probe_is_one_of_four_or_another_name)
{
    static const struct row rows[] = {
        {"{'command':'x','healthProbe':'ping'}", NULL},
        {"{'command':'x','healthProbe':'listTools'}", NULL},
        {"{'command':'x','healthProbe':'discover'}", NULL},
        {"{'command':'x','healthProbe':'http','healthUrl':'http://h/'}", NULL},
        {"{'command':'x','healthProbe':'telepathy'}", NULL},
        {"{'command':'x','healthProbe':'http'}",
         "2:30: " S ".healthProbe: \"http\" needs \"healthUrl\", which is missing"},
        {"{'command':'x','healthProbe':'pong'}",
         "2:30: " S ".healthProbe: expected ping, listTools, discover or http; did you "
         "mean \"ping\"?"},
        {"{'command':'x','healthProbe':''}", "2:30: " S ".healthProbe: " PROBES},
        {"{'command':'x','healthProbe':'tele pathy'}",
         "2:30: " S ".healthProbe: " PROBES},
        {"{'command':'x','healthProbe':true}", "2:30: " S ".healthProbe: " PROBES},
    };
    check_shapes(rows, MP_COUNT(rows));
}
END_TEST

START_TEST(several_problems_of_one_entry_are_all_told)
{
    load_entry("{'command':7,\n'args':'x',\n'env':{'A':[]},\n'queue':''}");
    ck_assert_uint_eq(config->n_problems, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(config->problems[i].at.line, 2 + i);
    ck_assert_ptr_eq(mp_config_problem_of(config, entry("s")), &config->problems[0]);
}
END_TEST

START_TEST(keys_may_be_spelt_with_escapes)
{
    static const struct row rows[] = {
        {"{'comm\\u0061nd':'x'}", NULL},
        {"{'comm\\u0061nd':7}", "2:17: " S ".command: expected a string, found a number"},
    };
    check_shapes(rows, MP_COUNT(rows));
    load_entry("{'command':'x','dis\\u0061bled':true}");
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_DISABLED);
}
END_TEST

/* ---- with the options of a transport ---- */

START_TEST(options_of_each_type_are_checked)
{
    static const struct row rows[] = {
        {"{'command':'x','grace':'250ms','buffer':'16M','retries':'7','loud':'yes'}",
         NULL},
        {"{'command':'x','grace':5,'buffer':5,'retries':5,'loud':true,'secretWord':'x'}",
         NULL},
        {"{'command':'x','extra':['a',1],'labels':{'a':'b'}}", NULL},
        {"{'command':'x','grace':'${GRACE}','retries':'${N:-7}'}", NULL},
        {"{'command':'x','grace':'soon'}",
         "2:24: " S ".grace: \"soon\" is not of type duration"},
        {"{'command':'x','buffer':'big'}",
         "2:25: " S ".buffer: \"big\" is not of type bytes"},
        {"{'command':'x','retries':'x'}",
         "2:26: " S ".retries: \"x\" is not of type int"},
        {"{'command':'x','loud':'maybe'}",
         "2:23: " S ".loud: \"maybe\" is not of type bool"},
        {"{'command':'x','label':['x']}",
         "2:24: " S ".label: expected a value of type string, found a list"},
        {"{'command':'x','label':null}",
         "2:24: " S ".label: expected a value of type string, found null"},
        {"{'command':'x','retries':{}}",
         "2:26: " S ".retries: expected a value of type int, found an object"},
        {"{'command':'x','extra':'x'}",
         "2:24: " S ".extra: expected a list of strings, found a string"},
        {"{'command':'x','extra':[[]]}",
         "2:25: " S ".extra[0]: expected a string, found a list"},
        {"{'command':'x','labels':[]}",
         "2:25: " S ".labels: expected an object with strings, found a list"},
        {"{'command':'x','labels':{'a':null}}",
         "2:30: " S ".labels.a: expected a string, found null"},
    };
    check_options(rows, MP_COUNT(rows), program);
}
END_TEST

START_TEST(numbers_and_flags_that_are_of_another_type_are_told)
{
    static const char *const bodies[] = {
        "{'command':'x','retries':1.5}",
        "{'command':'x','retries':true}",
        "{'command':'x','loud':7}",
        "{'command':'x','grace':-1}",
    };
    for (size_t i = 0; i < MP_COUNT(bodies); i++) {
        load_entry(bodies[i]);
        mp_entry_check(entry("s"), "x", program);
        ck_assert_msg(entry("s")->broken, "%s", bodies[i]);
    }
}
END_TEST

START_TEST(an_option_with_a_nul_is_told)
{
    load_entry("{'command':'x','label':'a\\u0000b'}");
    mp_entry_check(entry("s"), "x", program);
    ck_assert(entry("s")->broken);
}
END_TEST

START_TEST(unknown_keys_are_errors_when_they_look_like_a_known_one)
{
    static const struct row rows[] = {
        {"{'command':'x','arg':['a']}", "2:16: " S ".arg: is unknown; did you mean "
                                        "\"args\"?"},
        {"{'command':'x','Env':{}}", "2:16: " S ".Env: is unknown; did you mean "
                                     "\"env\"?"},
        {"{'command':'x','toolAllowed':[]}",
         "2:16: " S ".toolAllowed: is unknown; did you mean \"toolsAllowed\"?"},
        {"{'command':'x','disable':true}",
         "2:16: " S ".disable: is unknown; did you mean \"disabled\"?"},
        {"{'command':'x','retrys':1}",
         "2:16: " S ".retrys: is unknown; did you mean \"retries\"?"},
        {"{'command':'x','quantum':1}",
         "(warning) 2:16: " S ".quantum: is unknown to transport \"x\", and ignored"},
    };
    check_options(rows, MP_COUNT(rows), program);
}
END_TEST

START_TEST(keys_of_another_transport_mean_nothing)
{
    static const struct row rows[] = {
        {"{'command':'x','headers':{}}",
         "(warning) 2:16: " S ".headers: is not used by transport \"x\""},
    };
    static const struct row others[] = {
        {"{'url':'http://h','token':'t','cwd':'/'}",
         "(warning) 2:31: " S ".cwd: is not used by transport \"x\""},
        {"{'url':'http://h','token':'t','args':[]}",
         "(warning) 2:31: " S ".args: is not used by transport \"x\""},
    };
    check_options(rows, MP_COUNT(rows), program);
    check_options(others, MP_COUNT(others), network);
}
END_TEST

START_TEST(what_other_programs_keep_in_an_entry_is_passed_over)
{
    static const char *const keys[] = {
        "_comment",  "alwaysAllow",   "autoApprove",  "autoStart", "description",
        "dev",       "disabledTools", "enabled",      "envFile",   "excludeTools",
        "gallery",   "icon",          "includeTools", "inputs",    "isActive",
        "metadata",  "name",          "note",         "oauth",     "provider",
        "source",    "tags",          "timeout",      "title",     "tools",
        "transport", "transportType", "trust",        "version",   "$schema",
        "id",        "scope",         "notes",
    };
    char body[256];
    for (size_t i = 0; i < MP_COUNT(keys); i++) {
        snprintf(body, sizeof body, "{'command':'x','%s':[{'any':null}]}", keys[i]);
        struct row row = {body, NULL};
        check_options(&row, 1, program);
    }
}
END_TEST

START_TEST(our_own_keys_are_known_to_every_transport)
{
    static const struct row rows[] = {
        {"{'type':'x','url':'http://h','token':'t','shared':true,'healthProbe':'ping',"
         "'queue':'q','toolQueues':{'t':'q'},'timeouts':{'tool':1},'disabled':false,"
         "'toolsAllowed':['a'],'toolsDenied':['b'],'toolsApproved':['a'],"
         "'toolsAsked':['b'],'keepAlive':true,'idle':'10m',"
         "'healthUrl':'http://h/up'}",
         NULL},
    };
    check_options(rows, MP_COUNT(rows), network);
}
END_TEST

START_TEST(what_a_transport_needs_and_is_not_there_is_told)
{
    static const struct row rows[] = {
        {"{'url':'http://h','token':''}", NULL},
        {"{'url':'http://h'}",
         "2:1: " S ": \"token\" is missing, which transport \"x\" needs"},
        {"{'type':'x','token':'t'}",
         "2:1: " S ": \"url\" is missing, which transport \"x\" needs"},
    };
    check_options(rows, MP_COUNT(rows), network);
    load_entry("{'command':'x'}");
    mp_entry_check(entry("s"), "none", NULL);
    HAS(problems(), "command: is not used by transport \"none\"");
}
END_TEST

START_TEST(an_entry_is_checked_once)
{
    load_entry("{'command':'x','arg':1}");
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
    mp_entry_check(entry("s"), "x", program);
    mp_entry_check(entry("s"), "x", program);
    ck_assert_uint_eq(config->n_problems, 1);
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BROKEN);
    load_entry("[]");
    mp_entry_check(entry("s"), "x", program);
    ck_assert_uint_eq(config->n_problems, 1);
}
END_TEST

START_TEST(long_names_are_cut_in_messages_and_do_no_harm)
{
    char body[3000];
    memset(body, 'k', sizeof body);
    memcpy(body, "{'command':'x','", 16);
    memcpy(body + 2000, "':{}}", 6);
    load_entry(body);
    mp_entry_check(entry("s"), "x", program);
    ck_assert_uint_eq(config->n_problems, 1);
    ck_assert_uint_lt(strlen(config->problems[0].path), 200);
    memcpy(body, "{'command':'x','env':{'", 23);
    memcpy(body + 2000, "':[]}}", 7);
    load_entry(body);
    ck_assert_uint_eq(config->n_problems, 1);
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_BROKEN);
}
END_TEST

/* ---- URLs ---- */

START_TEST(a_url_has_to_be_one_that_the_transport_takes)
{
    static const char *const schemes[] = {"http", "https", NULL};
    static const struct row rows[] = {
        {"{'url':'http://h/'}", NULL},
        {"{'url':'HTTPS://h:8443/x'}", NULL},
        {"{'url':'${BASE}/mcp'}", NULL},
        {"{'url':'http://${HOST}/mcp'}", NULL},
        {"{'command':'x'}", NULL},
        {"{'url':'ws://h/'}",
         "2:8: " S ".url: transport \"x\" does not support URLs that begin with \"ws\""},
        {"{'url':'h/mcp'}",
         "2:8: " S
         ".url: transport \"x\" does not support URLs that begin with \"h/mcp\""},
    };
    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        load_entry(rows[i].body);
        mp_entry_check_url(entry("s"), "x", schemes);
        check_row(&rows[i], i);
    }
    static const char *const wrong[] = {
        "http://",           "http://h:0/",     "https://a b/", "ws://[::1/",
        "https:x/?://good/", "https:///good/",  "https:h",      "HTTPS:/h",
        "https://e@good/",   "https://e%5c@h/", "wss:h"};
    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        char body[64];
        snprintf(body, sizeof body, "{'url':'%s'}", wrong[i]);
        load_entry(body);
        ck_assert_msg(entry("s")->broken, "%s", wrong[i]);
        mp_entry_check_url(entry("s"), "x", NULL);
        ck_assert_uint_eq(config->n_problems, 1);
    }
    load_entry("{'url':'odd:thing'}");
    mp_entry_check_url(entry("s"), "x", NULL);
    ck_assert_str_eq(problems(), "");
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, an_entry_is_an_object_with_a_command_or_a_url);
    tcase_add_test(t, texts_are_strings_that_say_something);
    tcase_add_test(t, lists_hold_what_can_be_one_text);
    tcase_add_test(t, a_clean_up_command_is_no_key_of_a_project);
    tcase_add_test(t, maps_hold_texts_by_names);
    tcase_add_test(t, a_key_with_a_nul_breaks_the_file);
    tcase_add_test(t, flags_are_true_or_false);
    tcase_add_test(t, timeouts_are_times_for_what_there_is);
    tcase_add_test(t, a_health_probe_is_one_of_four_or_another_name);
    tcase_add_test(t, several_problems_of_one_entry_are_all_told);
    tcase_add_test(t, keys_may_be_spelt_with_escapes);
    tcase_add_test(t, options_of_each_type_are_checked);
    tcase_add_test(t, numbers_and_flags_that_are_of_another_type_are_told);
    tcase_add_test(t, an_option_with_a_nul_is_told);
    tcase_add_test(t, unknown_keys_are_errors_when_they_look_like_a_known_one);
    tcase_add_test(t, keys_of_another_transport_mean_nothing);
    tcase_add_test(t, what_other_programs_keep_in_an_entry_is_passed_over);
    tcase_add_test(t, our_own_keys_are_known_to_every_transport);
    tcase_add_test(t, what_a_transport_needs_and_is_not_there_is_told);
    tcase_add_test(t, an_entry_is_checked_once);
    tcase_add_test(t, long_names_are_cut_in_messages_and_do_no_harm);
    tcase_add_test(t, a_url_has_to_be_one_that_the_transport_takes);
}

int main(void)
{
    return run_suite("config_schema", add);
}
