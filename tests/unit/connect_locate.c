/* Servers that a locator finds. */
#include "server_kit.h"

#include "connect/locate.h"

#include <pthread.h>

static void begin_located(void)
{
    const char *dirs[] = {getenv("MCPLUG_TEST_MODULES"), NULL};
    struct mcplug_options o = {.struct_size = sizeof o,
                               .log_level = MCPLUG_LOG_VERBOSE,
                               .log = on_log,
                               .plugin_dirs = dirs};

    ck_assert_ptr_nonnull(dirs[0]);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    logged[0] = '\0';
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

/* The example server, found by the locator "found". */
static mcplug_settings *located(void)
{
    char path[4096];
    mcplug_settings *s = mcplug_settings_new("found");

    snprintf(path, sizeof path, "%s/examples/mcplug-example-server",
             getenv("MCPLUG_BUILD"));
    mcplug_settings_set(s, "program", path);
    return s;
}

static int try(mcplug_settings *s, uint32_t timeout_ms)
{
    struct mcplug_server_options o = {
        .struct_size = sizeof o, .once = 1, .timeout_ms = timeout_ms};
    mcplug_server *h = NULL;

    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int r = mcplug_open_wait(host, s, &o, &h, &err);
    mcplug_settings_free(s);
    return r;
}

#define SAYS(what)                                                                       \
    ck_assert_msg(strstr(err.text, what) != NULL, "not %s: %s", what, err.text)

START_TEST(a_server_is_found_and_reached)
{
    begin_located();
    mcplug_server *h = hold(located(), NULL);
    ck_assert_str_eq(status(h).transport, "stdio");
    ck_assert_str_eq(mcplug_server_fact(h, "found"), "by the locator");
    mcplug_free(host);
}
END_TEST

START_TEST(it_is_looked_for_again_at_each_start)
{
    begin_located();
    mcplug_server *h = hold(located(), NULL);
    int64_t pid = status(h).pid;
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
    UNTIL(status(h).state == MCPLUG_STATE_READY && status(h).pid != pid);
    mcplug_free(host);
}
END_TEST

START_TEST(facts_of_the_place_before_are_forgotten)
{
    begin_located();
    mcplug_server *h = hold(located(), NULL);
    int64_t pid = status(h).pid;
    ck_assert_str_eq(mcplug_server_fact(h, "first"), "of all");
    ck_assert_int_eq(mcplug_restart(h, &err), MCPLUG_OK);
    UNTIL(status(h).state == MCPLUG_STATE_READY && status(h).pid != pid);
    ck_assert_str_eq(mcplug_server_fact(h, "found"), "by the locator");
    ck_assert_ptr_null(mcplug_server_fact(h, "first"));
    mcplug_free(host);
}
END_TEST

/* Each of them alone is in time; together they are not, however slow this machine is. */
START_TEST(a_search_and_the_connection_share_one_time)
{
    char line[4400];

    begin_located();
    snprintf(line, sizeof line, "sleep 0.6; exec %s/examples/mcplug-example-server",
             getenv("MCPLUG_BUILD"));
    mcplug_settings *s = mcplug_settings_new("found");
    mcplug_settings_set(s, "program", "sh");
    mcplug_settings_add(s, "args", "-c");
    mcplug_settings_add(s, "args", line);
    mcplug_settings_set(s, "takes", "500ms");
    ck_assert_int_eq(try(s, 1000), MCPLUG_ETIMEDOUT);
    mcplug_free(host);
}
END_TEST

START_TEST(the_last_clean_up_command_counts)
{
    const char *const first[] = {"a", "b", NULL}, *const last[] = {"c", NULL};
    const char *words[MP_PLACE_WORDS + 2] = {NULL};
    struct mcplug_place place = {.settings = mcplug_settings_new(NULL)};
    const mcplug_props *props = place.settings->props;

    ck_assert_int_eq(mp_place_ops.clean_up(&place, first), MCPLUG_OK);
    ck_assert_int_eq(mp_place_ops.clean_up(&place, last), MCPLUG_OK);
    ck_assert_str_eq(mp_props_list(props, "cleanUp")[0], "c");
    ck_assert_ptr_null(mp_props_list(props, "cleanUp")[1]);
    for (size_t i = 0; i < MP_PLACE_WORDS; i++)
        words[i] = "w";
    ck_assert_int_eq(mp_place_ops.clean_up(&place, words), MCPLUG_OK);
    ck_assert_int_eq(place.failed, MCPLUG_OK);
    words[MP_PLACE_WORDS] = "w";
    ck_assert_int_eq(mp_place_ops.clean_up(&place, words), MCPLUG_EINVAL);
    ck_assert_int_eq(mp_place_ops.clean_up(&place, words + MP_PLACE_WORDS + 1),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(place.failed, MCPLUG_EINVAL);
    mcplug_settings_free(place.settings);
}
END_TEST

/* What the server has read so far. */
static const char *heard(const char *file)
{
    static char text[65536];
    FILE *f = fopen(file, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    text[n] = '\0';
    if (f)
        fclose(f);
    return text;
}

/* _i: 1 the older era */
START_TEST(its_greeting_is_said_once_the_session_is_up)
{
    char file[64], line[4400];
    begin_located();
    snprintf(file, sizeof file, "/tmp/connect_locate.%d", (int)getpid());
    snprintf(line, sizeof line, "tee %s | %s/examples/mcplug-example-server --era %s",
             file, getenv("MCPLUG_BUILD"), _i ? "legacy" : "modern");
    mcplug_settings *s = mcplug_settings_new("found");
    mcplug_settings_set(s, "program", "sh");
    mcplug_settings_add(s, "args", "-c");
    mcplug_settings_add(s, "args", line);
    mcplug_settings_set(s, "greeting", "x_hello");
    mcplug_settings_set(s, "params", " {\"pid\":\n 7} ");
    hold(s, NULL);
    UNTIL(strstr(heard(file), "x_hello"));
    const char *greeting = strstr(heard(file), "x_hello");
    ck_assert_ptr_nonnull(strstr(greeting, "\"params\":{\"pid\":  7}"));
    const char *before =
        strstr(heard(file), _i ? "notifications/initialized" : "discover");
    ck_assert(before && before < greeting);
    ck_assert_ptr_null(strstr(greeting + 1, "x_hello"));
    mcplug_free(host);
    unlink(file);
}
END_TEST

/* _i: what is wrong */
START_TEST(what_a_locator_does_wrong_is_told_in_one_line)
{
    static const struct {
        const char *type, *key, *value, *text;
        int code;
    } wrong[] = {
        {"found", "fails", "nobody is there", "found: nobody is there", MCPLUG_EREFUSED},
        {"found", "to", "found", "found: it names another locator, \"found\"",
         MCPLUG_ECONFIG},
        {"found", "to", "nowhere", "found: no module offers the transport \"nowhere\"",
         MCPLUG_ENOTSUP},
        {"found", "to", "", "the locator \"found\" returned an invalid answer",
         MCPLUG_EINVAL},
        {"found", "to", "http", "transport \"http\": unknown setting \"command\"",
         MCPLUG_ECONFIG},
        {"says-nothing", NULL, NULL, "the locator \"says-nothing\" named no transport",
         MCPLUG_EINVAL},
        {"says-nonsense", NULL, NULL,
         "the locator \"says-nonsense\" returned an invalid answer", MCPLUG_EINVAL},
        {"found", "colour", "red", "locator \"found\": unknown setting \"colour\"",
         MCPLUG_ECONFIG},
    };
    begin_located();
    mcplug_settings *s =
        strcmp(wrong[_i].type, "found") ? mcplug_settings_new(wrong[_i].type) : located();
    if (wrong[_i].key)
        mcplug_settings_set(s, wrong[_i].key, wrong[_i].value);
    ck_assert_int_eq(try(s, 0), wrong[_i].code);
    SAYS(wrong[_i].text);
    ck_assert_int_eq(try(located(), 0), MCPLUG_OK); /* and the rest goes on */
    mcplug_free(host);
}
END_TEST

START_TEST(one_that_hangs_is_left_behind)
{
    begin_located();
    uint64_t since = now_ms();
    ck_assert_int_eq(try(mcplug_settings_new("hangs"), 200), MCPLUG_ETIMEDOUT);
    SAYS("the locator \"hangs\" did not answer within 200ms");
    ck_assert_uint_lt(now_ms() - since, 5000);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(try(mcplug_settings_new("hangs"), 100), MCPLUG_ETIMEDOUT);
    ck_assert_int_eq(try(located(), 100), MCPLUG_EOVERLOADED);
    SAYS("the locator \"found\" was not called: 4 earlier searches are still running "
         "after 100ms");
    ck_assert_int_eq(try(example(NULL), 0),
                     MCPLUG_OK); /* who needs none has no trouble */
    since = now_ms();
    mcplug_free(host);
    ck_assert_uint_lt(now_ms() - since, 5000);
}
END_TEST

static void on_ready(void *arg, mcplug_server *h, const struct mcplug_error *why)
{
    unsigned *n = arg;
    (void)h;
    ck_assert_msg(!why, "%s", why ? why->text : "");
    ++*n;
}

START_TEST(more_than_four_searches_wait_for_each_other)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .dedicated = 1};
    mcplug_server *h;
    unsigned ready = 0;

    begin_located();
    for (int i = 0; i < 10; i++) {
        mcplug_settings *s = located();
        mcplug_settings_set(s, "takes", "50ms");
        ck_assert_int_eq(mcplug_open(host, s, &o, on_ready, &ready, &h, &err), MCPLUG_OK);
        mcplug_settings_free(s);
    }
    UNTIL(ready == 10);
    mcplug_free(host);
}
END_TEST

static void on_freed(void *arg, mcplug_server *h, const struct mcplug_error *why)
{
    (void)arg, (void)h, (void)why;
}

START_TEST(a_host_can_be_freed_while_a_search_is_under_way)
{
    begin_located();
    mcplug_server *h = NULL;
    mcplug_settings *s = located();
    mcplug_settings_set(s, "takes", _i ? "100ms" : "0");
    ck_assert_int_eq(mcplug_open(host, s, NULL, on_freed, NULL, &h, &err), MCPLUG_OK);
    mcplug_settings_free(s);
    mcplug_turn(host, 0);
    mcplug_free(host);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, a_server_is_found_and_reached);
    tcase_add_test(tc, it_is_looked_for_again_at_each_start);
    tcase_add_test(tc, facts_of_the_place_before_are_forgotten);
    tcase_add_test(tc, a_search_and_the_connection_share_one_time);
    tcase_add_test(tc, the_last_clean_up_command_counts);
    tcase_add_loop_test(tc, its_greeting_is_said_once_the_session_is_up, 0, 2);
    tcase_add_loop_test(tc, what_a_locator_does_wrong_is_told_in_one_line, 0, 8);
    tcase_add_test(tc, one_that_hangs_is_left_behind);
    tcase_add_test(tc, more_than_four_searches_wait_for_each_other);
    tcase_add_loop_test(tc, a_host_can_be_freed_while_a_search_is_under_way, 0, 2);
}

int main(void)
{
    return run_suite("connect_locate", add);
}
