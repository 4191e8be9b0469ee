/* One health check: what modules are kept to, and what the answers come to. */
#include "fake.h"
#include "registry/probe.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

#define TEST_SKIP 77 /* as automake has it */

static const char *modules_dir;

static struct fake f;
static struct mp_catalogue *cat;
static mcplug_check *probe;
static struct {
    unsigned times;
    int code;
    char text[512];
} end;

static void on_end(void *arg, const struct mcplug_error *why)
{
    ck_assert_ptr_eq(arg, &end);
    end.times++;
    end.code = why ? why->code : MCPLUG_OK;
    snprintf(end.text, sizeof end.text, "%s", why ? why->text : "");
    probe = NULL;
}

static void setup(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    fake_init(&f);
    struct mp_catalogue_options options = {
        .log = &f.log,
        .loop = f.loop,
        .dirs = (const char *const[]){modules_dir, NULL},
        .wire = &mp_link_wire,
        .health = &mp_probe_health,
    };
    cat = mp_catalogue_new(&options, &err);
    ck_assert_ptr_nonnull(cat);
    memset(&end, 0, sizeof end);
    probe = NULL;
}

static void teardown(void)
{
    mp_probe_cancel(probe);
    if (f.server) {
        mp_session_close(f.server, NULL, NULL, NULL);
        f.server = NULL;
        mp_loop_advance(f.loop, 0);
    }
    mp_catalogue_free(cat);
    fake_clear(&f);
}

static int start_at(const char *name, const char *url)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_probe_options options = {.loop = f.loop,
                                       .log = &f.log,
                                       .catalogue = cat,
                                       .session = f.server,
                                       .name = name,
                                       .url = url,
                                       .timeout_ms = 3000};
    int r = mp_probe_start(&options, on_end, &end, &probe, &err);
    ck_assert_int_eq(r, err.code);
    ck_assert_uint_eq(end.times, 0); /* never from inside */
    if (r != MCPLUG_OK)
        snprintf(end.text, sizeof end.text, "%s", err.text);
    return r;
}

static void start(const char *name)
{
    int r = start_at(name, NULL);
    ck_assert_msg(r == MCPLUG_OK, "%s: %s", name, end.text);
}

static bool logged(const char *text)
{
    return strstr(f.logged, text) != NULL;
}

static void ends(int code, const char *text)
{
    fake_turn(&f);
    ck_assert_uint_eq(end.times, 1);
    ck_assert_int_eq(end.code, code);
    ck_assert_str_eq(end.text, text);
}

/* ---- what counts as life ---- */

static const struct {
    const char *name, *method;
    bool modern;
} ways[] = {
    {NULL, "ping", false},
    {NULL, "server/discover", true},
    {"ping", "ping", false},
    {"ping", "ping", true},
    {"listTools", "tools/list", false},
    {"list-tools", "tools/list", true},
    {"discover", "server/discover", true},
    {"discover", "server/discover", false},
};

static uint64_t asked(int i)
{
    if (ways[i].modern)
        fake_modern(&f, NULL, "{\"tools\":{}}");
    else
        fake_legacy(&f, NULL, "{\"tools\":{}}");
    start(ways[i].name);
    uint64_t id = fake_expect(&f, ways[i].method);
    fake_turn(&f);
    ck_assert_uint_eq(end.times, 0);
    return id;
}

START_TEST(a_result_is_life)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
              "\"tools\":[]}}",
              (unsigned long long)asked(_i));
    ends(MCPLUG_OK, "");
}
END_TEST

static unsigned questions;

static void on_question(void *arg, struct mp_session *s, mcplug_input *in,
                        const char *params, size_t len)
{
    (void)arg, (void)s, (void)params, (void)len;
    questions++;
    ck_assert_ptr_null(mp_input_request(in)); /* none that has a server */
    mcplug_input_refuse(in, -1, "no");
}

START_TEST(a_question_on_the_answer_to_a_probe_belongs_to_no_call)
{
    struct mp_session_options so = {.roots = on_question};

    questions = 0;
    f.ops.caps = MCPLUG_CAN_EXCHANGE;
    fake_legacy(&f, &so, "{\"tools\":{}}");
    start("ping");
    fake_say_on(&f, fake_expect(&f, "ping"),
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    ck_assert_uint_eq(questions, 1);
}
END_TEST

START_TEST(an_error_is_life)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32601,"
              "\"message\":\"Method not found\"}}",
              (unsigned long long)asked(_i));
    ends(MCPLUG_OK, "");
}
END_TEST

START_TEST(silence_is_none)
{
    uint64_t id = asked(_i);
    fake_pass(&f, 2999);
    ck_assert_uint_eq(end.times, 0);
    fake_pass(&f, 1);
    ends(MCPLUG_ETIMEDOUT, "no answer within 3000ms");
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
              (unsigned long long)id); /* nobody wants it any more */
    fake_pass(&f, 100000);
    ck_assert_uint_eq(end.times, 1);
}
END_TEST

START_TEST(a_connection_that_is_lost_is_none)
{
    asked(_i);
    fake_hang_up(&f, 0, "gone");
    fake_turn(&f);
    ck_assert_uint_eq(end.times, 1);
    ck_assert_int_eq(end.code, MCPLUG_ECLOSED);
    ck_assert_ptr_nonnull(strstr(end.text, "gone"));
}
END_TEST

START_TEST(a_probe_can_be_cancelled_while_it_is_under_way)
{
    uint64_t id = asked(_i);
    mp_probe_cancel(probe);
    probe = NULL;
    if (_i % 2) /* the answer comes in the same turn, or later */
        fake_turn(&f);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
              (unsigned long long)id);
    fake_pass(&f, 100000);
    ck_assert_uint_eq(end.times, 0);
}
END_TEST

START_TEST(the_session_may_close_right_after_the_probe_was_cancelled)
{
    asked(_i);
    mp_probe_cancel(probe);
    probe = NULL;
    mp_session_close(f.server, NULL, NULL, NULL);
    f.server = NULL;
    fake_turn(&f);
    ck_assert_uint_eq(end.times, 0);
}
END_TEST

START_TEST(a_session_that_closes_ends_the_probe)
{
    asked(_i);
    mp_session_close(f.server, NULL, NULL, NULL);
    f.server = NULL;
    fake_turn(&f);
    ck_assert_uint_eq(end.times, 1);
    ck_assert_int_ne(end.code, MCPLUG_OK);
}
END_TEST

/* ---- the contract ---- */

START_TEST(a_verdict_inside_start_is_told_afterwards)
{
    fake_legacy(&f, NULL, "{}");
    start("odd-inside");
    ends(MCPLUG_OK, "");
    ck_assert(logged("destroyed"));
    ck_assert(!logged("stopped"));
    fake_pass(&f, 100000);
    ck_assert_uint_eq(end.times, 1);
}
END_TEST

START_TEST(the_first_of_two_verdicts_counts)
{
    fake_legacy(&f, NULL, "{}");
    start("odd-twice");
    ends(MCPLUG_OK, "");
    ck_assert(logged("WRN mcp:"));
    const char *once =
        strstr(f.logged, "probe odd-twice breaks its contract: two verdicts");
    ck_assert_ptr_nonnull(once);
    ck_assert_ptr_null(strstr(strchr(once, '\n'), "breaks"));
}
END_TEST

START_TEST(a_no_without_a_reason_gets_one)
{
    fake_legacy(&f, NULL, "{}");
    start("odd-mute");
    ends(MCPLUG_EIO, "probe odd-mute reports a failure without a reason");
}
END_TEST

START_TEST(a_module_that_never_says_is_stopped_at_the_deadline)
{
    fake_legacy(&f, NULL, "{}");
    start(_i ? "odd-late" : "odd-never");
    fake_pass(&f, 2999);
    ck_assert(!logged("stopped"));
    fake_pass(&f, 1);
    ends(MCPLUG_ETIMEDOUT,
         "no answer within 3000ms"); /* a late verdict changes nothing */
    ck_assert(logged("stopped"));
    ck_assert_ptr_nonnull(strstr(strstr(f.logged, "stopped"), "destroyed"));
    ck_assert(!logged("breaks"));
}
END_TEST

START_TEST(what_cannot_start_says_why)
{
    fake_legacy(&f, NULL, "{}");
    ck_assert_int_eq(start_at("odd-refuses", NULL), MCPLUG_EREFUSED);
    ck_assert_str_eq(end.text, "not today");
    ck_assert_int_eq(start_at("odd-both", NULL), MCPLUG_EIO);
    ck_assert_str_eq(end.text, "probe odd-both failed without a reason (7)");
    ck_assert(logged("a verdict, and start() failed"));
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
              (unsigned long long)fake_expect(&f, "ping"));
    fake_pass(&f, 100000);
    ck_assert_uint_eq(end.times, 0);
    ck_assert(!logged("destroyed"));
}
END_TEST

START_TEST(a_module_gets_the_answer_as_it_is)
{
    fake_legacy(&f, NULL, "{\"tools\":{}}");
    start("odd-asks");
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"params\":{\"cursor\":\"x\"}"));
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-1,"
              "\"message\":\"no such cursor\"}}",
              (unsigned long long)fake_id(frame));
    ends(MCPLUG_OK, "");
    ck_assert(logged("answer 1: {\"code\":-1,\"message\":\"no such cursor\"}"));
}
END_TEST

START_TEST(a_module_may_ask_16_times_and_not_after_its_verdict)
{
    fake_legacy(&f, NULL, "{}");
    start("odd-greedy");
    ck_assert(logged("16 requests, then -13"));
    ck_assert(logged("and then -11"));
    ck_assert(logged("breaks its contract: a request after the verdict"));
    for (int i = 0; i < 16; i++)
        fake_expect(&f, "ping");
    ends(MCPLUG_OK, "");
}
END_TEST

START_TEST(a_probe_that_has_spoken_can_still_be_cancelled)
{
    fake_legacy(&f, NULL, "{}");
    start("odd-inside");
    mp_probe_cancel(probe);
    probe = NULL;
    fake_pass(&f, 100000);
    ck_assert_uint_eq(end.times, 0);
    ck_assert(logged("destroyed"));
    ck_assert(!logged("stopped"));
}
END_TEST

/* ---- what a probe knows ---- */

START_TEST(a_probe_learns_about_its_target)
{
    mp_props_set(f.settings, "url", "https://example.org/mcp");
    mp_props_put(f.settings, "headers", "Authorization", "Bearer s3cret");
    fake_legacy(&f, NULL, "{}");
    mp_link_wire.describe(f.conn, "pid", "4711");
    fake_pass(&f, 1234);
    ck_assert_int_eq(start_at("odd-looks", "https://example.org/health"), MCPLUG_OK);
    ck_assert(logged(" fake https://example.org/mcp 2025-06-18 4711 1234"));
    ck_assert(logged("https://example.org/health Authorization=Bearer s3cret"));
    ends(MCPLUG_OK, "");
}
END_TEST

START_TEST(the_servers_headers_go_to_its_own_origin_alone)
{
    static const char *const others[] = {"https://example.com/health",
                                         "https://example.org:8443/health",
                                         "https://example.org.evil.test/"};
    mp_props_set(f.settings, "url", "https://example.org/mcp");
    mp_props_put(f.settings, "headers", "Authorization", "Bearer s3cret");
    fake_legacy(&f, NULL, "{}");
    ck_assert_int_eq(start_at("odd-looks", others[_i]), MCPLUG_OK);
    ends(MCPLUG_OK, "");
    ck_assert(logged("no header="));
    ck_assert(!logged("s3cret"));
}
END_TEST

START_TEST(a_probe_gets_the_settings_beside_its_name)
{
    fake_legacy(&f, NULL, "{}");
    ck_assert_int_eq(start_at("{\"limit\":5,\"name\":\"oddMeasures\","
                              "\"words\":[\"a\",\"b\"],\"marks\":{\"k\":\"v\"}}",
                              NULL),
                     MCPLUG_OK);
    ck_assert(logged("limit 5, unit percent, words a b, marks k=v"));
    ends(MCPLUG_OK, "");
}
END_TEST

START_TEST(a_url_among_the_settings_counts_like_the_one_beside_them)
{
    mp_props_set(f.settings, "url", "https://example.org/mcp");
    mp_props_put(f.settings, "headers", "Authorization", "Bearer s3cret");
    fake_legacy(&f, NULL, "{}");
    ck_assert_int_eq(start_at("{\"name\":\"odd-looks\","
                              "\"healthUrl\":\"https://example.com/health\"}",
                              "https://example.org/health"),
                     MCPLUG_OK);
    ends(MCPLUG_OK, "");
    ck_assert(logged("https://example.com/health no header="));
    ck_assert(!logged("s3cret"));
}
END_TEST

START_TEST(headers_stay_here_when_one_of_two_urls_is_elsewhere)
{
    mp_props_set(f.settings, "url", "https://example.org/mcp");
    mp_props_put(f.settings, "headers", "Authorization", "Bearer s3cret");
    fake_legacy(&f, NULL, "{}");
    ck_assert_int_eq(start_at("{\"name\":\"odd-looks\","
                              "\"url\":\"https://example.com/mcp\"}",
                              "https://example.org/health"),
                     MCPLUG_OK);
    ends(MCPLUG_OK, "");
    ck_assert(logged("https://example.org/health no header="));
    ck_assert(!logged("s3cret"));
}
END_TEST

static const struct {
    const char *name, *url;
    int code;
    const char *text;
} needs[] = {
    {NULL, NULL, MCPLUG_OK, ""},
    {"ping", NULL, MCPLUG_OK, ""},
    {"listTools", "https://x.test/", MCPLUG_OK, ""},
    {"odd-looks", "https://x.test/", MCPLUG_OK, ""},
    {"odd-looks", NULL, MCPLUG_ECONFIG, "healthUrl"},
    {"odd-looks", "http://x.test/", MCPLUG_ECONFIG,
     "healthUrl: the probe \"odd-looks\" takes no http"},
    {"odd-looks", "https://me:s3cret@x.test/", MCPLUG_ECONFIG, "healthUrl: it "},
    {"odd-looks", "nonsense", MCPLUG_ECONFIG, "healthUrl: it "},
    {"{\"name\":\"ping\"}", NULL, MCPLUG_OK, ""},
    {"{\"name\":\"odd-looks\",\"healthUrl\":\"https://x.test/\"}", NULL, MCPLUG_OK, ""},
    {"{\"name\":\"odd-looks\",\"healthUrl\":\"http://x.test/\"}", NULL, MCPLUG_ECONFIG,
     "healthUrl: the probe \"odd-looks\" takes no http"},
    {"{\"name\":\"odd-measures\",\"limit\":\"5\"}", NULL, MCPLUG_OK, ""},
    {"{\"name\":\"odd-measures\"}", NULL, MCPLUG_ECONFIG, "limit"},
    {"{\"name\":\"odd-measures\",\"limit\":\"much\"}", NULL, MCPLUG_ECONFIG, "limit"},
    {"{\"name\":\"odd-measures\",\"limit\":5,\"limti\":5}", NULL, MCPLUG_ECONFIG,
     "limti"},
    {"{\"name\":\"odd-measures\",\"limit\":null}", NULL, MCPLUG_ECONFIG,
     "limit: expected a value, a list or an object of values"},
    {"{\"name\":\"odd-measures\",\"limit\":5,\"words\":[[]]}", NULL, MCPLUG_ECONFIG,
     "words: expected"},
    {"{\"limit\":5}", NULL, MCPLUG_ECONFIG, "the probe has no \"name\""},
    {"{\"name\":7}", NULL, MCPLUG_ECONFIG, "the probe has no \"name\""},
    {"{\"name\":\"nobodys\"}", NULL, MCPLUG_ENOTSUP, "no module offers the probe"},
    {"{\"name\":\"ping\"", NULL, MCPLUG_ECONFIG, "\"healthProbe\" is not JSON"},
    {"{\"name\":\"ping\",\"a\":[{\"b\":[]}]}", NULL, MCPLUG_ECONFIG,
     "\"healthProbe\" is not JSON"},
    {"no-such-probe", NULL, MCPLUG_ENOTSUP, "no module offers the probe"},
    {"aVeryLongNameThatNobodyWouldEverGiveToOneOfHisProbesOrSoItSeems", NULL,
     MCPLUG_ENOTSUP, "no module offers the probe"},
};

START_TEST(what_a_probe_needs_is_known_before_a_server_starts)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int r = mp_probe_check(cat, NULL, needs[_i].name, needs[_i].url, &err);
    ck_assert_msg(r == needs[_i].code, "%d %s", r, err.text);
    ck_assert_ptr_nonnull(strstr(err.text, needs[_i].text));
    ck_assert_ptr_null(strstr(err.text, "s3cret"));
    fake_legacy(&f, NULL, "{}");
    ck_assert_int_eq(start_at(needs[_i].name, needs[_i].url), r);
}
END_TEST

static void add(TCase *tc)
{
    int n = MP_COUNT(ways);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_result_is_life, 0, n);
    tcase_add_test(tc, a_question_on_the_answer_to_a_probe_belongs_to_no_call);
    tcase_add_loop_test(tc, an_error_is_life, 0, n);
    tcase_add_loop_test(tc, silence_is_none, 0, n);
    tcase_add_loop_test(tc, a_connection_that_is_lost_is_none, 0, n);
    tcase_add_loop_test(tc, a_probe_can_be_cancelled_while_it_is_under_way, 0, n);
    tcase_add_loop_test(tc, the_session_may_close_right_after_the_probe_was_cancelled, 0,
                        n);
    tcase_add_loop_test(tc, a_session_that_closes_ends_the_probe, 0, n);
    tcase_add_test(tc, a_verdict_inside_start_is_told_afterwards);
    tcase_add_test(tc, the_first_of_two_verdicts_counts);
    tcase_add_test(tc, a_no_without_a_reason_gets_one);
    tcase_add_loop_test(tc, a_module_that_never_says_is_stopped_at_the_deadline, 0, 2);
    tcase_add_test(tc, what_cannot_start_says_why);
    tcase_add_test(tc, a_module_gets_the_answer_as_it_is);
    tcase_add_test(tc, a_module_may_ask_16_times_and_not_after_its_verdict);
    tcase_add_test(tc, a_probe_that_has_spoken_can_still_be_cancelled);
    tcase_add_test(tc, a_probe_learns_about_its_target);
    tcase_add_test(tc, a_probe_gets_the_settings_beside_its_name);
    tcase_add_test(tc, a_url_among_the_settings_counts_like_the_one_beside_them);
    tcase_add_test(tc, headers_stay_here_when_one_of_two_urls_is_elsewhere);
    tcase_add_loop_test(tc, the_servers_headers_go_to_its_own_origin_alone, 0, 3);
    tcase_add_loop_test(tc, what_a_probe_needs_is_known_before_a_server_starts, 0,
                        MP_COUNT(needs));
}

int main(int argc, char **argv)
{
    modules_dir = argc > 1 ? argv[1] : getenv("MCPLUG_TEST_MODULES");
    return modules_dir && offered("ping") ? run_suite("registry_probe", add) : TEST_SKIP;
}
