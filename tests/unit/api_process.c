/* What a program does with its process, and to the host in it: descriptors that are
 * closed or missing, fork(), mcplug_free() at the wrong time. Against the example server,
 * through the real stdio module. */
#include "api/host.h"
#include "fake.h"

#include <mcplug/admin.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- kit ---- */

static mcplug *host;
static mcplug_server *server;
static char logged[4096]; /* errors */
static bool free_in_log;

static void on_log(void *arg, int level, const char *source, const char *text)
{
    size_t n = strlen(logged);
    (void)arg, (void)source;
    if (level == MCPLUG_LOG_ERROR)
        snprintf(logged + n, sizeof logged - n, "%s\n", text);
    if (free_in_log)
        mcplug_free(host);
}

static void begin(uint32_t events)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_options o = {.struct_size = sizeof o,
                               .log_level = MCPLUG_LOG_TRACE,
                               .log = on_log,
                               .events = events};
    logged[0] = '\0';
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

static mcplug_settings *example(void)
{
    char path[4096];
    mcplug_settings *s = mcplug_settings_new("stdio");

    snprintf(path, sizeof path, "%s/examples/mcplug-example-server",
             getenv("MCPLUG_BUILD"));
    mcplug_settings_set(s, "command", path);
    return s;
}

static void open_example(const struct mcplug_server_options *options)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_settings *s = example();

    int r = mcplug_open_wait(host, s, options, &server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(s);
}

static bool echoes(void)
{
    mcplug_result *result = NULL;
    int r =
        mcplug_call_tool_wait(server, "echo", "{\"text\":\"here\"}", NULL, &result, NULL);
    bool good = r == MCPLUG_OK && strstr(mcplug_result_json(result, NULL), "here");

    mcplug_result_unref(result);
    return good;
}

static bool ends_well(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- descriptors ---- */

static void check_standard_closed(void)
{
    for (int fd = 0; fd < 3; fd++)
        ck_assert_msg(fcntl(fd, F_GETFD) < 0, "descriptor %d is in use", fd);
}

START_TEST(a_daemon_without_0_1_and_2_has_servers_as_any_other)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .max_memory = 1 << 16};
    mcplug_result *result = NULL;

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    begin(0);
    check_standard_closed();
    ck_assert_int_gt(mcplug_fd(host), 2);
    open_example(&o);
    check_standard_closed();
    ck_assert(echoes());
    ck_assert_int_eq(
        mcplug_call_tool_wait(server, "big", "{\"bytes\":500000}", NULL, &result, NULL),
        MCPLUG_OK);
    ck_assert_uint_eq(mcplug_result_spills(result), 1);
    check_standard_closed(); /* by the spill file either */
    mcplug_result_unref(result);
    mcplug_free(host);
    check_standard_closed();
}
END_TEST

START_TEST(a_host_without_descriptors_fails_with_an_error)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    for (rlim_t most = 0; most < 16; most++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        limit.rlim_cur = most;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        host = mcplug_new(NULL, &err);
        limit.rlim_cur = before;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        ck_assert(host || err.code == MCPLUG_EIO);
        mcplug_free(host);
    }
    begin(0);
    mcplug_free(host);
}
END_TEST

static void check_lost(void)
{
    ck_assert_int_eq(mcplug_turn(host, 0), MCPLUG_EIO);
    ck_assert_ptr_nonnull(strstr(logged, "were closed"));
    mcplug_run(host); /* returns */
    logged[0] = '\0';
    mcplug_free(host);
    ck_assert_ptr_nonnull(strstr(logged, "were closed"));
    mcplug_stop(host);
}

START_TEST(a_host_whose_descriptor_was_closed_reports_that)
{
    begin(0);
    ck_assert_int_eq(mcplug_turn(host, 0), MCPLUG_OK);
    close(mcplug_fd(host));
    check_lost();
}
END_TEST

START_TEST(a_host_of_which_every_descriptor_was_closed_reports_that)
{
    begin(MCPLUG_EVENT_BIT(MCPLUG_EVENT_STATE));
    open_example(NULL);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    check_lost();
}
END_TEST

/* Its lines are pulled, which would wake the loop. */
START_TEST(a_host_that_queues_its_log_survives_that)
{
    struct mcplug_options o = {.struct_size = sizeof o,
                               .events = MCPLUG_EVENT_BIT(MCPLUG_EVENT_LOG)};
    host = mcplug_new(&o, NULL);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    ck_assert_int_eq(mcplug_turn(host, 0), MCPLUG_EIO);
    ck_assert_int_eq(mcplug_post(host, free, NULL), MCPLUG_OK);
    mcplug_free(host);
    const struct mcplug_event *event = mp_pull_next(&host->pull);
    ck_assert_ptr_nonnull(event);
    ck_assert_ptr_nonnull(strstr(event->text, "were closed"));
}
END_TEST

/* ---- fork ---- */

static void ignore_done(void *arg, mcplug_call *call, mcplug_result *result,
                        const struct mcplug_error *why)
{
    (void)arg, (void)call, (void)result, (void)why;
}

static void ignore(void *arg)
{
    (void)arg;
}

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                      \
            _exit(1);                                                                    \
        }                                                                                \
    } while (0)

/* In the child: all is refused, nothing blocks. */
static void check_refused(mcplug_toolbox *box)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_settings *s = example();
    mcplug_server *other = NULL;
    mcplug_list *list = NULL;

    CHECK(mcplug_turn(host, 1) == MCPLUG_EINVAL);
    mcplug_run(host);
    mcplug_stop(host);
    CHECK(mcplug_fd(host) == -1);
    CHECK(mcplug_timeout(host) == -1);
    CHECK(mcplug_post(host, ignore, NULL) == MCPLUG_EINVAL);
    CHECK(!mcplug_next_event(host, -1));
    CHECK(mcplug_start_thread(host, &err) == MCPLUG_EINVAL);
    CHECK(mcplug_open(host, s, NULL, NULL, NULL, &other, &err) == MCPLUG_EINVAL);
    CHECK(strstr(err.text, "fork()"));
    CHECK(mcplug_open_wait(host, s, NULL, &other, &err) == MCPLUG_EINVAL);
    CHECK(!mcplug_call_tool(server, "echo", "{}", NULL, ignore_done, NULL, &err));
    CHECK(mcplug_call_tool_wait(server, "echo", "{}", NULL, NULL, &err) == MCPLUG_EINVAL);
    CHECK(strstr(err.text, "fork()"));
    CHECK(mcplug_ping_wait(server, NULL, &err) == MCPLUG_EINVAL);
    CHECK(mcplug_get_list_wait(server, MCPLUG_TOOLS, NULL, &list, &err) == MCPLUG_EINVAL);
    CHECK(mcplug_restart(server, &err) == MCPLUG_EINVAL);
    CHECK(!mcplug_server_revision(server));
    CHECK(mcplug_toolbox_count(box) == 0);
    CHECK(mcplug_toolbox_warm_up_wait(box, NULL, NULL, &err) == MCPLUG_EINVAL);
    CHECK(!mcplug_toolbox_new(host, NULL, &err));
    CHECK(!mcplug_module_describe(host, "stdio", &err));
    mcplug_close(server, NULL, NULL);
    mcplug_close_wait(server);
    mcplug_toolbox_free(box, NULL, NULL);
    mcplug_toolbox_free_wait(box);
    mcplug_settings_free(s);
}

/* A host of the child's own works, while the other one is there and after it. */
static void check_own(void)
{
    mcplug *parents = host;

    for (int i = 0; i < 2; i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        mcplug_server *before = server;
        mcplug_settings *s = example();
        host = mcplug_new(NULL, &err);
        CHECK(host);
        CHECK(mcplug_open_wait(host, s, NULL, &server, &err) == MCPLUG_OK);
        CHECK(echoes());
        mcplug_settings_free(s);
        mcplug_free(host);
        host = parents;
        server = before;
        mcplug_free(i == 0 ? host : NULL);
    }
}

static void fork_beside(bool thread)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *kept = NULL;

    begin(MCPLUG_EVENT_BIT(MCPLUG_EVENT_DONE) | MCPLUG_EVENT_BIT(MCPLUG_EVENT_STATE));
    open_example(NULL);
    mcplug_toolbox *box = mcplug_toolbox_new(host, NULL, NULL);
    mcplug_settings *s = example();
    ck_assert_int_eq(mcplug_toolbox_add(box, "one", s, NULL, NULL), MCPLUG_OK);
    mcplug_settings_free(s);
    ck_assert_int_eq(
        mcplug_call_tool_wait(server, "echo", "{\"text\":\"kept\"}", NULL, &kept, NULL),
        MCPLUG_OK);
    if (thread)
        ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            check_refused(box);
            CHECK(strstr(mcplug_result_json(kept, NULL), "kept"));
            check_own();
            mcplug_result_unref(kept);
            CHECK(!*logged); /* a lock might be held that the log wants */
            execl("/bin/true", "true", (char *)NULL); /* valgrind sees no leaks of it */
            _exit(1);
        }
        ck_assert(echoes());
        ck_assert(ends_well(child));
        ck_assert(echoes());
    }
    mcplug_result_unref(kept);
    mcplug_free(host);
    ck_assert_str_eq(logged, "");
}

START_TEST(a_child_of_fork_is_refused_and_its_parent_goes_on)
{
    fork_beside(false);
}
END_TEST

START_TEST(a_child_of_fork_is_refused_while_our_thread_runs_in_its_parent)
{
    fork_beside(true);
}
END_TEST

/* ---- mcplug_free() inside a callback ---- */

static unsigned n_freed;

static void free_inside(void)
{
    n_freed++;
    mcplug_free(host);
}

static void free_in_done(void *arg, mcplug_call *call, mcplug_result *result,
                         const struct mcplug_error *why)
{
    (void)arg, (void)call, (void)result, (void)why;
    free_inside();
}

static void free_in_state(void *arg, mcplug_server *h, enum mcplug_state state,
                          const struct mcplug_error *why)
{
    (void)arg, (void)h, (void)state, (void)why;
    free_inside();
}

static void free_in_event(void *arg, const struct mcplug_activity *event)
{
    (void)arg, (void)event;
    free_inside();
}

static void free_posted(void *arg)
{
    (void)arg;
    free_inside();
}

static void check_freed_later(void)
{
    ck_assert_uint_gt(n_freed, 0);
    ck_assert_ptr_nonnull(strstr(logged, "mcplug_free: called inside a callback"));
    ck_assert(echoes());
    n_freed = 0;
    mcplug_free(host);
}

START_TEST(a_host_is_not_freed_inside_the_callbacks_of_a_server)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .state = free_in_state};

    begin(0);
    open_example(&o);
    ck_assert_ptr_nonnull(mcplug_call_tool(server, "echo", "{\"text\":\"\"}", NULL,
                                           free_in_done, NULL, NULL));
    ck_assert_int_eq(mcplug_post(host, free_posted, NULL), MCPLUG_OK);
    ck_assert(echoes());
    check_freed_later();
    ck_assert_uint_gt(n_freed, 0); /* also by mcplug_free() itself */
}
END_TEST

START_TEST(a_host_is_not_freed_on_its_own_thread)
{
    begin(0);
    open_example(NULL);
    ck_assert_int_eq(mcplug_start_thread(host, NULL), MCPLUG_OK);
    ck_assert_int_eq(mcplug_post(host, free_posted, NULL), MCPLUG_OK);
    ck_assert(echoes());
    check_freed_later();
}
END_TEST

START_TEST(a_host_is_not_freed_by_its_log_or_a_listener)
{
    begin(0);
    open_example(NULL);
    mcplug_listener *l =
        mcplug_listen(host, MCPLUG_ACTIVITY_ALL, MCPLUG_LOG_TRACE, free_in_event, NULL);
    free_in_log = true;
    ck_assert_ptr_nonnull(mcplug_call_tool(server, "echo", "{\"text\":\"\"}", NULL,
                                           ignore_done, NULL, NULL));
    ck_assert(echoes());
    ck_assert_int_eq(mcplug_turn(host, 0), MCPLUG_OK);
    free_in_log = false;
    mcplug_unlisten(l);
    check_freed_later();
}
END_TEST

static void free_in_problem(void *arg, const char *source, const char *text)
{
    (void)arg, (void)source, (void)text;
    free_inside();
}

START_TEST(a_host_is_not_freed_while_it_reports_what_is_wrong_with_an_entry)
{
    char text[4096];
    const char *more[] = {text, NULL};
    struct mcplug_config_options c = {.struct_size = sizeof c, .strict = 1, .more = more};
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .problem = free_in_problem};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    snprintf(text, sizeof text,
             "{\"mcpServers\":{\"x\":{\"command\":\"%s/examples/mcplug-example-server\","
             "\"env\":{\"A\":\"${MCPLUG_IS_NOT_SET}\"}}}}",
             getenv("MCPLUG_BUILD"));
    begin(0);
    mcplug_config *config = mcplug_config_load(&c, &err);
    ck_assert_msg(config != NULL, "%s", err.text);
    int r = mcplug_open_named_wait(host, config, "x", &o, &server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_config_free(config);
    check_freed_later();
}
END_TEST

static int turned;

static void turn_inside(void *arg)
{
    (void)arg;
    turned = mcplug_turn(host, 1);
    mcplug_run(host);
}

START_TEST(the_loop_is_not_run_inside_of_itself)
{
    begin(0);
    ck_assert_int_eq(mcplug_post(host, turn_inside, NULL), MCPLUG_OK);
    ck_assert_int_eq(mcplug_turn(host, 1), MCPLUG_OK);
    ck_assert_int_eq(turned, MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(strstr(logged, "mcplug_turn: called inside a callback"));
    ck_assert_ptr_nonnull(strstr(logged, "mcplug_run: called inside a callback"));
    mcplug_free(host);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api_process");
    TCase *t = tcase_create("process");
    tcase_add_test(t, a_daemon_without_0_1_and_2_has_servers_as_any_other);
    tcase_add_test(t, a_host_without_descriptors_fails_with_an_error);
    tcase_add_test(t, a_host_whose_descriptor_was_closed_reports_that);
    tcase_add_test(t, a_host_of_which_every_descriptor_was_closed_reports_that);
    tcase_add_test(t, a_host_that_queues_its_log_survives_that);
    tcase_add_test(t, a_child_of_fork_is_refused_and_its_parent_goes_on);
    tcase_add_test(t, a_child_of_fork_is_refused_while_our_thread_runs_in_its_parent);
    tcase_add_test(t, a_host_is_not_freed_inside_the_callbacks_of_a_server);
    tcase_add_test(t, a_host_is_not_freed_on_its_own_thread);
    tcase_add_test(t, a_host_is_not_freed_by_its_log_or_a_listener);
    tcase_add_test(t, a_host_is_not_freed_while_it_reports_what_is_wrong_with_an_entry);
    tcase_add_test(t, the_loop_is_not_run_inside_of_itself);
    tcase_set_timeout(t, 120);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
