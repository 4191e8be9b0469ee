/* The keys about keeping servers: how they are checked, what becomes of them, and
 * "queues" of files. */
#include "nomem_kit.h"

#include "base/buf.h"
#include "config/supervision.h"

/* ---- kit ---- */

static struct mp_supervision supervision;

/* Loads {"mcpServers":{"s":{"command":"x",BODY}}} of the user. */
static void load_keys(const char *body)
{
    char text[4096];
    ck_assert_uint_lt(strlen(body), sizeof text - 64);
    snprintf(text, sizeof text, "{'mcpServers':{'s':{'command':'x'%s\n%s}}}",
             *body ? "," : "", body);
    give(USER, text);
    load();
}

static void keep(const char *body)
{
    load_keys(body);
    ck_assert_msg(!entry("s")->broken, "%s: %s", body, problems());
    mp_supervision_clear(&supervision);
    ck_assert_int_eq(mp_entry_supervision(entry("s"), &supervision, &err), MCPLUG_OK);
}

/* Exactly these texts. */
static void is_list(char **list, const char *const *want)
{
    size_t n = 0;
    ck_assert_ptr_nonnull(list);
    for (; want[n]; n++)
        ck_assert_str_eq(list[n], want[n]);
    ck_assert_ptr_null(list[n]);
}
#define IS_LIST(list, ...) is_list(list, (const char *const[]){__VA_ARGS__, NULL})

static void end(void)
{
    mp_supervision_clear(&supervision);
    unload();
}

/* `problem` is all there is, behind the file; NULL: none. */
static void check_keys(const char *body, const char *problem)
{
    char line[512] = "";

    load_keys(body);
    bool is_warning = problem && strncmp(problem, "(warning) ", 10) == 0;
    if (problem)
        snprintf(line, sizeof line, "%s" USER ":2:%s\n", is_warning ? "(warning) " : "",
                 problem + (is_warning ? 10 : 0));
    ck_assert_msg(strcmp(problems(), line) == 0, "%s: %s instead of %s", body, problems(),
                  line);
    ck_assert(entry("s")->broken == (problem && !is_warning));
}

#define S "mcpServers.s"

/* ---- what may stand there ---- */

START_TEST(timeouts_are_numbers_or_times)
{
    const struct mp_timeouts *t = &supervision.timeouts;

    keep("");
    ck_assert(t->connect_ms == 0 && t->request_ms == 0 && t->tool_ms == 0);
    keep("'timeouts':{'connect':250,'request':'5s','tool':'1h'}");
    ck_assert(t->connect_ms == 250 && t->request_ms == 5000 && t->tool_ms == 3600000);
    keep("'timeouts':{'connect':250,'tool':'1\\u0068'}");
    ck_assert(t->connect_ms == 250 && t->tool_ms == 3600000);
    keep("'timeouts':{'connect':31536000000,'tool':31536000000}");
    ck_assert_uint_eq(t->connect_ms, UINT32_MAX);
    ck_assert_uint_eq(t->tool_ms, 31536000000);
}
END_TEST

START_TEST(a_health_probe_is_a_name)
{
    static const char *const taken[] = {"ping", "listTools", "discover",  "telepathy",
                                        "tcp",  "mine",      "my-probe_2"};
    static const char *const malformed[] = {
        "''",   "true",      "7",      "['ping']",
        "null", "'a probe'", "'../x'", "'caf\\u00e9s-probe'"};
    static const struct {
        const char *given, *meant;
    } slips[] = {{"pong", "ping"},          {"Ping", "ping"}, {"listtools", "listTools"},
                 {"discovery", "discover"}, {"pnig", "ping"}, {"list_tools", "listTools"},
                 {"https", "http"},         {"HTTP", "http"}, {"LISTTOOLS", "listTools"},
                 {"PING", "ping"},          {"Http", "http"}, {"DISCOVER", "discover"}};
    char body[256], problem[256];

    for (size_t i = 0; i < MP_COUNT(taken); i++) {
        snprintf(body, sizeof body, "'healthProbe':'%s'", taken[i]);
        check_keys(body, NULL);
    }
    for (size_t i = 0; i < MP_COUNT(malformed); i++) {
        snprintf(body, sizeof body, "'healthProbe':%s", malformed[i]);
        check_keys(body, "15: " S ".healthProbe: expected ping, listTools, discover or "
                         "http, or a name that a module offers");
    }
    for (size_t i = 0; i < MP_COUNT(slips); i++) {
        snprintf(body, sizeof body, "'healthProbe':'%s'", slips[i].given);
        snprintf(problem, sizeof problem,
                 "15: " S ".healthProbe: expected ping, listTools, discover or http; did "
                 "you mean \"%s\"?",
                 slips[i].meant);
        check_keys(body, problem);
    }
    check_keys("'healthProbe':'ping\\u0000x'", "15: " S ".healthProbe: has a NUL "
                                               "character");
}
END_TEST

static const struct mcplug_option measured[] = {
    {"limit", "int", NULL, "what is too much"},
    {"grace", "duration", "1s", "how long"},
    {"words", "list", NULL, "some words"},
    {"marks", "map", NULL, "some pairs"},
    {NULL, NULL, NULL, NULL},
};

static void check_probe(const char *settings, const char *problem)
{
    char body[512], line[512] = "";

    snprintf(body, sizeof body, "'healthProbe':{'name':'cpu'%s}", settings);
    load_keys(body);
    ck_assert_str_eq(problems(), "");
    mp_entry_check_probe(entry("s"), "cpu", measured);
    if (problem)
        snprintf(line, sizeof line, USER ":2:%s\n", problem);
    ck_assert_msg(strcmp(problems(), line) == 0, "%s: %s instead of %s", body, problems(),
                  line);
    ck_assert(entry("s")->broken == (problem != NULL));
}

START_TEST(a_health_probe_may_have_settings)
{
    check_keys("'healthProbe':{'name':'cpu','limit':5}", NULL);
    check_keys("'healthProbe':{'limit':5}", "15: " S ".healthProbe: \"name\" is missing");
    check_keys("'healthProbe':{'name':'pong'}",
               "23: " S ".healthProbe.name: expected ping, listTools, discover or http; "
               "did you mean \"ping\"?");
    check_keys("'healthProbe':{'name':['ping']}",
               "23: " S ".healthProbe.name: expected ping, listTools, discover or http, "
               "or a name that a module offers");
    check_keys("'healthProbe':{'name':'http'}",
               "15: " S ".healthProbe: \"http\" needs \"healthUrl\", which is missing");
    check_keys("'healthProbe':{'name':'http','healthUrl':'http://h/'}", NULL);
    keep("'healthProbe':{'name':'cpu','limit':5}");
    ck_assert_str_eq(supervision.probe, "{\"name\":\"cpu\",\"limit\":5}");
}
END_TEST

START_TEST(settings_of_a_probe_are_checked_against_what_it_declares)
{
    check_probe(",'limit':5,'grace':'2s','words':['a',1],'marks':{'a':'b'}", NULL);
    check_probe("",
                "15: " S ".healthProbe: \"limit\" is missing, which the probe \"cpu\" "
                "needs");
    check_probe(",'limit':'much'",
                "37: " S ".healthProbe.limit: \"much\" is not of type int");
    check_probe(",'limit':[5]",
                "37: " S ".healthProbe.limit: expected a value of type int");
    check_probe(",'limit':5,'grace':'long'",
                "47: " S ".healthProbe.grace: \"long\" is not of type duration");
    check_probe(",'limit':5,'limti':5",
                "39: " S ".healthProbe.limti: is unknown to the probe \"cpu\"; did you "
                "mean \"limit\"?");
    check_probe(",'limit':5,'quantum':5",
                "39: " S ".healthProbe.quantum: is unknown to the probe \"cpu\"");
    check_probe(",'limit':5,'words':'a'", "47: " S ".healthProbe.words: expected a list");
    check_probe(",'limit':5,'words':[[]]",
                "48: " S ".healthProbe.words: expected a value of type string");
    check_probe(",'limit':5,'marks':['a']",
                "47: " S ".healthProbe.marks: expected an object");
    check_probe(",'limit':5,'marks':{'a':'\\u0000'}",
                "52: " S ".healthProbe.marks: has a NUL character");
}
END_TEST

START_TEST(a_name_of_64_letters_is_the_longest)
{
    char body[128], name[66];

    memset(name, 'n', sizeof name);
    name[65] = '\0';
    snprintf(body, sizeof body, "'healthProbe':'%s'", name + 1);
    check_keys(body, NULL);
    snprintf(body, sizeof body, "'healthProbe':'%s'", name);
    load_keys(body);
    ck_assert(entry("s")->broken);
}
END_TEST

START_TEST(the_probe_http_needs_a_url)
{
    check_keys("'healthProbe':'http'",
               "15: " S ".healthProbe: \"http\" needs \"healthUrl\", which is missing");
    check_keys("'healthProbe':'http','healthUrl':'http://h/up'", NULL);
    check_keys("'healthUrl':'https://h:8443/up?a=b'", NULL);
    check_keys("'healthUrl':'HTTP://[::1]/'", NULL);
    check_keys("'healthUrl':''", "13: " S ".healthUrl: is empty");
    check_keys("'healthUrl':7", "13: " S ".healthUrl: expected a string, found a number");
    check_keys("'healthUrl':'ws://h/'",
               "13: " S ".healthUrl: does not begin with http:// or https://");
    check_keys("'healthUrl':'ftp://x'",
               "13: " S ".healthUrl: does not begin with http:// or https://");
    check_keys("'healthUrl':'h/up'",
               "13: " S ".healthUrl: does not begin with http:// or https://");
    check_keys("'healthUrl':'http://h:0/'", "13: " S ".healthUrl: has a malformed port");
    check_keys("'healthUrl':'http://h/${PLACE}'",
               "(warning) 13: " S ".healthUrl: is used as it is, without variables");
    load_keys("'healthUrl':'http://${HOST}/'");
    ck_assert(entry("s")->broken);
}
END_TEST

#define IDLE ": " S ".idle: expected milliseconds, or a time such as \"10m\""

START_TEST(idle_is_a_time)
{
    static const char *const wrong[] = {"-1",   "1.5",  "1e3", "'soon'",
                                        "true", "null", "''",  "99999999999999999999"};
    static const struct {
        const char *value;
        uint64_t ms;
    } right[] = {{"0", 0},
                 {"1", 1},
                 {"'0s'", 0},
                 {"'250ms'", 250},
                 {"'0'", 0},
                 {"'10m'", 600000},
                 {"'2h'", 7200000u},
                 {"'1\\u0030m'", 600000},
                 {"31536000000", 31536000000u},
                 {"'8760h'", 31536000000u}};
    char body[64];

    for (size_t i = 0; i < MP_COUNT(wrong); i++) {
        snprintf(body, sizeof body, "'idle':%s", wrong[i]);
        check_keys(body, "8" IDLE);
    }
    for (size_t i = 0; i < MP_COUNT(right); i++) {
        snprintf(body, sizeof body, "'idle':%s", right[i].value);
        keep(body);
        ck_assert_uint_eq(supervision.idle_ms, right[i].ms);
    }
    check_keys("'idle':'10'", "8: " S ".idle: is it \"10ms\" or \"10s\"?");
    check_keys("'idle':'9999999999h'", "8: " S ".idle: is more than 365 days");
    check_keys("'idle':31536000001", "8: " S ".idle: is more than 365 days");
    check_keys("'maxSpill':0",
               "12: " S ".maxSpill: expected bytes, or a size such as \"8G\"");
    check_keys("'maxSpill':'8 GiB'",
               "12: " S ".maxSpill: expected bytes, or a size such as \"8G\"");
    check_keys("'maxSpill':'1025G'", "12: " S ".maxSpill: is more than 1024G");
}
END_TEST

#define TOKENS ": expected a number of tokens, from 1 to 100000000"
#define PERCENT ": expected a percentage, from 0 to 90"

START_TEST(limits_of_results_are_numbers)
{
    static const char *const tokens[] = {"0",    "-1",   "1.5",  "'many'", "'1000'",
                                         "true", "null", "[25]", "{}",     "100000001"};
    static const char *const percents[] = {"-1", "91", "0.5", "'25%'", "'25'", "null"};
    char body[64];

    for (size_t i = 0; i < MP_COUNT(tokens); i++) {
        snprintf(body, sizeof body, "'maxOutputTokens':%s", tokens[i]);
        check_keys(body, "19: " S ".maxOutputTokens" TOKENS);
        snprintf(body, sizeof body, "'toolMaxOutputTokens':{'t':%s}", tokens[i]);
        check_keys(body, "28: " S ".toolMaxOutputTokens.t" TOKENS);
    }
    for (size_t i = 0; i < MP_COUNT(percents); i++) {
        snprintf(body, sizeof body, "'outputTail':%s", percents[i]);
        check_keys(body, "14: " S ".outputTail" PERCENT);
    }
    check_keys("'toolMaxOutputTokens':1000",
               "23: " S ".toolMaxOutputTokens: expected an object with numbers, found a "
               "number");
    keep("'maxOutputTokens':1,'outputTail':0,'toolMaxOutputTokens':{'t':100000000}");
    ck_assert_uint_eq(supervision.max_output_tokens, 1);
    ck_assert_uint_eq(supervision.output_tail, 0);
    IS_LIST(supervision.tool_output_tokens, "t", "100000000");
    keep("'maxOutputTokens':100000000,'outputTail':90");
    ck_assert_uint_eq(supervision.max_output_tokens, 100000000);
    ck_assert_uint_eq(supervision.output_tail, 90);
}
END_TEST

START_TEST(the_keys_are_ours_whatever_the_transport)
{
    static const struct mcplug_option none[] = {{NULL, NULL, NULL, NULL}};

    give(USER, "{'mcpServers':{'s':{'type':'x','keepAlive':true,'idle':'10m',"
               "'healthProbe':'http','healthUrl':'http://h/'}}}");
    load();
    mp_entry_check(entry("s"), "x", none);
    ck_assert_str_eq(problems(), "");
    check_keys("'keepAlive':'yes'",
               "13: " S ".keepAlive: expected true or false, found a string");
    load_keys("'keepalive':true");
    mp_entry_check(entry("s"), "x", none);
    HAS(problems(), ".keepalive: is unknown; did you mean \"keepAlive\"?");
}
END_TEST

START_TEST(what_is_no_secret_is_shown_and_what_may_be_in_a_url_is_not)
{
    struct mp_str out;

    mp_str_init(&out, 4096);
    load_keys("'keepAlive':true,'idle':'10m','healthProbe':'http',"
              "'healthUrl':'https://h/up?token=abcdef0123456789'");
    ck_assert(mp_mask_entry(entry("s")->json, &out));
    HAS(out.data, "\"keepAlive\":true,\"idle\":\"10m\",\"healthProbe\":\"http\"");
    HAS(out.data, "https://h/up");
    ck_assert_ptr_null(strstr(out.data, "abcdef0123456789"));
    mp_str_clear(&out);
}
END_TEST

/* ---- what becomes of it ---- */

START_TEST(an_entry_that_says_nothing_is_shared_and_not_kept_alive)
{
    keep("");
    ck_assert(supervision.shared);
    ck_assert(!supervision.keep_alive);
    ck_assert_ptr_null(supervision.probe);
    ck_assert_ptr_null(supervision.probe_url);
    ck_assert_uint_eq(supervision.idle_ms, 0);
    ck_assert_uint_eq(supervision.max_spill, 0);
    ck_assert_ptr_null(supervision.queue);
    ck_assert_ptr_null(supervision.tool_queues);
    ck_assert_uint_eq(supervision.max_output_tokens, 0);
    ck_assert_uint_eq(supervision.output_tail, 0);
    ck_assert_ptr_null(supervision.tool_output_tokens);
    ck_assert_ptr_null(supervision.tools_allowed);
    ck_assert_ptr_null(supervision.tools_denied);
    ck_assert_ptr_null(supervision.tools_approved);
    ck_assert_ptr_null(supervision.tools_asked);
    keep("'shared':true,'keepAlive':false");
    ck_assert(supervision.shared);
    ck_assert(!supervision.keep_alive);
}
END_TEST

START_TEST(an_entry_may_say_it_all)
{
    keep("'shared':false,'keepAlive':true,'healthProbe':'mine','healthUrl':'http://h/',"
         "'idle':'1s','maxSpill':'8G','queue':'q','toolQueues':{'a':'q1','b':'2','c':''},"
         "'maxOutputTokens':5000,'toolMaxOutputTokens':{'a':900,'b c':7},'outputTail':25,"
         "'toolsAllowed':['get_*','x\\u0079'],'toolsDenied':['z','7'],"
         "'toolsApproved':['put_*','any'],'toolsAsked':['drop']");
    ck_assert(!supervision.shared);
    ck_assert(supervision.keep_alive);
    ck_assert_str_eq(supervision.probe, "mine");
    ck_assert_str_eq(supervision.probe_url, "http://h/");
    ck_assert_uint_eq(supervision.idle_ms, 1000);
    ck_assert_uint_eq(supervision.max_spill, (uint64_t)8 << 30);
    ck_assert_str_eq(supervision.queue, "q");
    IS_LIST(supervision.tool_queues, "a", "q1", "b", "2", "c", "");
    ck_assert_uint_eq(supervision.max_output_tokens, 5000);
    IS_LIST(supervision.tool_output_tokens, "a", "900", "b c", "7");
    ck_assert_uint_eq(supervision.output_tail, 25);
    IS_LIST(supervision.tools_allowed, "get_*", "xy");
    IS_LIST(supervision.tools_denied, "z", "7");
    IS_LIST(supervision.tools_approved, "put_*", "any");
    IS_LIST(supervision.tools_asked, "drop");
}
END_TEST

START_TEST(empty_lists_are_lists)
{
    keep("'toolQueues':{},'toolsAllowed':[],'toolsDenied':[]");
    ck_assert_ptr_nonnull(supervision.tool_queues);
    ck_assert_ptr_null(supervision.tool_queues[0]);
    ck_assert_ptr_nonnull(supervision.tools_allowed);
    ck_assert_ptr_null(supervision.tools_allowed[0]);
    ck_assert_ptr_nonnull(supervision.tools_denied);
    ck_assert_ptr_null(supervision.tools_denied[0]);
}
END_TEST

START_TEST(variables_are_not_put_in)
{
    setenv("UPKEEP_TEST", "value", 1);
    keep("'queue':'${UPKEEP_TEST}','toolQueues':{'t':'${UPKEEP_TEST}'},"
         "'toolsAllowed':['${UPKEEP_TEST}'],'healthUrl':'http://h/${UPKEEP_TEST}'");
    ck_assert_str_eq(supervision.queue, "${UPKEEP_TEST}");
    IS_LIST(supervision.tool_queues, "t", "${UPKEEP_TEST}");
    IS_LIST(supervision.tools_allowed, "${UPKEEP_TEST}");
    ck_assert_str_eq(supervision.probe_url, "http://h/${UPKEEP_TEST}");
    unsetenv("UPKEEP_TEST");
}
END_TEST

START_TEST(what_was_cleared_may_be_cleared_again)
{
    keep("'queue':'q','toolsAllowed':['a']");
    mp_supervision_clear(&supervision);
    mp_supervision_clear(&supervision);
    ck_assert_ptr_null(supervision.tools_allowed);
}
END_TEST

/* ---- queues ---- */

static void queue_is(const char *name, unsigned concurrent, unsigned waiting)
{
    unsigned c = 77, w = 77;
    ck_assert_msg(mp_config_queue(config, name, &c, &w), "no queue %s", name);
    ck_assert_uint_eq(c, concurrent);
    ck_assert_uint_eq(w, waiting);
}

static bool has_queue(const char *name)
{
    unsigned c, w;
    return mp_config_queue(config, name, &c, &w);
}

START_TEST(a_queue_has_a_number_or_two)
{
    give(USER, " \n{'queues':{'a':4,'b':{'concurrent':5,'waiting':100},'c':{'waiting':9},"
               "'d':{'concurrent':10000,'waiting':100000},'e':{},'f':{'waiting':0},"
               "'two w\\u006frds':1}}");
    load();
    ck_assert_str_eq(problems(), "");
    queue_is("a", 4, 0);
    queue_is("b", 5, 100);
    queue_is("c", 0, 9);
    queue_is("d", 10000, 100000);
    queue_is("e", 0, 0);
    queue_is("f", 0, 0);
    queue_is("two words", 1, 0);
    ck_assert(!has_queue("g"));
    ck_assert(!has_queue(""));
}
END_TEST

#define CONCURRENT "expected a number from 1 to 10000"
#define WAITING "expected a number from 0 to 100000"

START_TEST(what_is_wrong_with_queues_is_told_with_its_place)
{
    static const struct {
        const char *text, *problem;
    } rows[] = {
        {"[]", "1:11: queues: expected an object with one member per queue"},
        {"4", "1:11: queues: expected an object with one member per queue"},
        {"{'a':0}", "1:16: queues.a: " CONCURRENT},
        {"{'a':10001}", "1:16: queues.a: " CONCURRENT},
        {"{'a':-1}", "1:16: queues.a: " CONCURRENT},
        {"{'a':1.5}", "1:16: queues.a: " CONCURRENT},
        {"{'a':99999999999999999999}", "1:16: queues.a: " CONCURRENT},
        {"{'a':'4'}", "1:16: queues.a: " CONCURRENT},
        {"{'a':null}", "1:16: queues.a: " CONCURRENT},
        {"{'a':[4]}", "1:16: queues.a: " CONCURRENT},
        {"{\n'a':{'concurrent':0}}", "2:19: queues.a.concurrent: " CONCURRENT},
        {"{\n'a':{'waiting':-1}}", "2:16: queues.a.waiting: " WAITING},
        {"{\n'a':{'waiting':100001}}", "2:16: queues.a.waiting: " WAITING},
        {"{\n'a':{'waiting':true}}", "2:16: queues.a.waiting: " WAITING},
        {"{\n'a':{'limit':4}}", "2:6: queues.a.limit: is unknown; there are "
                                "\"concurrent\" and \"waiting\""},
        {"{'':4}", "1:12: queues.: is not a name"},
    };
    char text[256], line[256];

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        snprintf(text, sizeof text, "{'queues':%s,'mcpServers':{'s':{'command':'x'}}}",
                 rows[i].text);
        give(USER, text);
        load();
        snprintf(line, sizeof line, USER ":%s\n", rows[i].problem);
        ck_assert_msg(strcmp(problems(), line) == 0, "row %zu: %s", i, problems());
        ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
    }
}
END_TEST

START_TEST(a_number_that_is_wrong_is_as_if_not_said)
{
    give(USER, "{'queues':{'a':20000,'b':{'concurrent':7,'waiting':-1},'c':2}}");
    load();
    ck_assert_uint_eq(config->n_problems, 2);
    queue_is("a", 0, 0);
    queue_is("b", 7, 0);
    queue_is("c", 2, 0);
}
END_TEST

START_TEST(the_highest_scope_that_names_a_queue_wins)
{
    const char *more[] = {json("{'queues':{'a':2,'b':2}}"), json("{'queues':{'b':3}}"),
                          NULL};

    give("servers.d/a.json", "{'queues':{'a':1,'b':1,'c':1,'d':1}}");
    ck_assert(load_with(more, false));
    ck_assert_str_eq(problems(), "");
    queue_is("a", 2, 0);
    queue_is("b", 3, 0); /* the later one */
    queue_is("c", 1, 0);
    give(USER, "{'queues':{'c':{'waiting':5}}}");
    ck_assert(load_with(more, false));
    queue_is("c", 0, 5); /* as a whole, not number by number */
    queue_is("b", 3, 0);
    give(MANAGED, "{'queues':{'a':9}}");
    ck_assert(load_with(more, false));
    queue_is("a", 9, 0);
    ck_assert(!has_queue("b"));
}
END_TEST

START_TEST(files_that_need_approval_have_no_say_in_queues)
{
    give(USER, "{'queues':{'a':1}}");
    give(PROJECT, "{'queues':{'a':5,'p':5}}");
    give(LOCAL, "{'queues':{'a':6,'l':6}}");
    load();
    queue_is("a", 1, 0);
    ck_assert(!has_queue("p"));
    ck_assert(!has_queue("l"));
    HAS(problems(),
        "(warning) " PROJECT
        ":1:11: queues: is not allowed in files of a project, and ignored here\n");
    HAS(problems(), "(warning) " LOCAL ":1:11: queues: ");
    ck_assert_uint_eq(config->n_problems, 2);
}
END_TEST

START_TEST(a_file_that_cannot_be_used_has_no_queues)
{
    give(USER, "{'queues':{'a':1},}");
    load();
    ck_assert(mp_config_damaged(config));
    ck_assert(!has_queue("a"));
}
END_TEST

START_TEST(a_thousand_queues_are_enough)
{
    struct mp_str text;

    mp_str_init(&text, 1 << 16);
    mp_str_adds(&text, "{\"queues\":{\n");
    for (size_t i = 0; i <= MP_QUEUES_MAX; i++)
        mp_str_addf(&text, "%s\"q%zu\":2", i ? ",\n" : "", i);
    mp_str_adds(&text, "}}");
    make_dirs(USER);
    put(USER, text.data, 0600);
    mp_str_clear(&text);
    load();
    ck_assert_str_eq(problems(), USER ":1002:1: queues: more than 1000 queues; this one "
                                      "and those that follow are ignored\n");
    queue_is("q999", 2, 0);
    ck_assert(!has_queue("q1000"));
}
END_TEST

/* ---- without memory ---- */

#define DENIED                                                                           \
    "'healthProbe':'mine','healthUrl':'http://h/','idle':'10m','toolsDenied':['a','b'],"

static void get_upkeep(void)
{
    mp_supervision_clear(&supervision);
    int r = mp_entry_supervision(entry("s"), &supervision, &err);
    ck_assert_msg(r == (calls >= fail_at ? MCPLUG_ENOMEM : MCPLUG_OK), "%s: %d", when(),
                  r);
}

START_TEST(upkeep_without_memory_is_an_error)
{
    load_keys(DENIED "'queue':'q','toolQueues':{'t':'q'},'toolsAllowed':['x'],"
                     "'toolsApproved':['a'],'toolsAsked':['b']");
    torture(NULL, get_upkeep, NULL);
    IS_LIST(supervision.tools_denied, "a", "b");
}
END_TEST

/* ---- types ---- */

START_TEST(a_type_is_told_in_our_words)
{
    static const struct {
        const char *body, *type;
    } rows[] = {
        {"{'command':'x'}", "stdio"},
        {"{'url':'http://h'}", NULL},
        {"{'type':'local','command':'x'}", "stdio"},
        {"{'type':'stdio','command':'x'}", "stdio"},
        {"{'type':'http','url':'http://h'}", "http"},
        {"{'type':'streamable-http','url':'http://h'}", "http"},
        {"{'type':'streamableHttp','url':'http://h'}", "http"},
        {"{'type':'streamable_http','url':'http://h'}", "http"},
        {"{'type':'sse','url':'http://h'}", "sse"},
        {"{'type':'unix','path':'/x'}", "unix"},
        {"{'type':'odd one','command':'x'}", "odd one"},
        {"{'type':'\\u0068ttp','url':'http://h'}", "http"},
    };
    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        char *type = NULL, text[128];
        snprintf(text, sizeof text, "{'mcpServers':{'s':%s}}", rows[i].body);
        give(USER, text);
        load();
        ck_assert_int_eq(mp_entry_type(entry("s"), &type, &err), MCPLUG_OK);
        ck_assert_pstr_eq(type, rows[i].type);
        mp_free(type);
    }
}
END_TEST

/* ---- the file as a whole ---- */

START_TEST(keys_of_a_file_that_are_nearly_ours_are_warned_of)
{
    static const struct {
        const char *given, *meant; /* NULL: none of ours */
    } rows[] = {{"queue", "queues"},
                {"Queues", "queues"},
                {"QUEUE", "queues"},
                {"quues", "queues"},
                {"mcpservers", "mcpServers"},
                {"mcpServer", "mcpServers"},
                {"mcp_servers", "mcpServers"},
                {"McpServers", "mcpServers"},
                {"pluginDir", "pluginDirs"},
                {"plugindirs", "pluginDirs"},
                {"vault", "vaults"},
                {"vaults", NULL},
                {"queues", NULL},
                {"pluginDirs", NULL},
                {"projects", NULL},
                {"mcp", NULL},
                {"plugins", NULL},
                {"", NULL},
                {"q", NULL},
                {"quotes", NULL}};
    char text[256], line[256];

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        const char *value = strcmp(rows[i].given, "pluginDirs") == 0 ? "[]" : "{}";
        snprintf(text, sizeof text, "{'mcpServers':{'s':{'command':'x'}},\n'%s':%s}",
                 rows[i].given, value);
        give(USER, text);
        load();
        snprintf(line, sizeof line,
                 "(warning) " USER ":2:1: \"%s\" is unknown; did you mean \"%s\"?\n",
                 rows[i].given, rows[i].meant ? rows[i].meant : "");
        ck_assert_str_eq(problems(), rows[i].meant ? line : "");
        ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
    }
}
END_TEST

static void load_what_can_be(void)
{
    mcplug_config_free(config);
    config = mcplug_config_load(NULL, &err);
    ck_assert(config || err.code == MCPLUG_ENOMEM);
}

static void check_what_is_there(void)
{
    if (!config)
        return;
    queue_is("a", 4, 9);
    queue_is("b", 0, 0);
    ck_assert_uint_eq(config->n_problems, 1);
    HAS(problems(), "queues.b: " CONCURRENT);
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}

START_TEST(without_memory_all_is_there_or_nothing)
{
    give(USER, "{'queues':{'a':{'concurrent':4,'waiting':9},'b':'x'},'mcpServers':{'s':"
               "{'command':'x'," DENIED "'keepAlive':true}}}");
    torture(NULL, load_what_can_be, check_what_is_there);
    ck_assert_ptr_nonnull(config);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, end);
    tcase_add_test(t, timeouts_are_numbers_or_times);
    tcase_add_test(t, a_health_probe_is_a_name);
    tcase_add_test(t, a_health_probe_may_have_settings);
    tcase_add_test(t, settings_of_a_probe_are_checked_against_what_it_declares);
    tcase_add_test(t, a_name_of_64_letters_is_the_longest);
    tcase_add_test(t, the_probe_http_needs_a_url);
    tcase_add_test(t, idle_is_a_time);
    tcase_add_test(t, limits_of_results_are_numbers);
    tcase_add_test(t, the_keys_are_ours_whatever_the_transport);
    tcase_add_test(t, what_is_no_secret_is_shown_and_what_may_be_in_a_url_is_not);
    tcase_add_test(t, an_entry_that_says_nothing_is_shared_and_not_kept_alive);
    tcase_add_test(t, an_entry_may_say_it_all);
    tcase_add_test(t, empty_lists_are_lists);
    tcase_add_test(t, variables_are_not_put_in);
    tcase_add_test(t, what_was_cleared_may_be_cleared_again);
    tcase_add_test(t, a_queue_has_a_number_or_two);
    tcase_add_test(t, what_is_wrong_with_queues_is_told_with_its_place);
    tcase_add_test(t, a_number_that_is_wrong_is_as_if_not_said);
    tcase_add_test(t, the_highest_scope_that_names_a_queue_wins);
    tcase_add_test(t, files_that_need_approval_have_no_say_in_queues);
    tcase_add_test(t, a_file_that_cannot_be_used_has_no_queues);
    tcase_add_test(t, a_thousand_queues_are_enough);
    tcase_add_test(t, a_type_is_told_in_our_words);
    tcase_add_test(t, keys_of_a_file_that_are_nearly_ours_are_warned_of);
    tcase_add_test(t, upkeep_without_memory_is_an_error);
    tcase_add_test(t, without_memory_all_is_there_or_nothing);
}

int main(void)
{
    return run_suite("config_supervision", add);
}
