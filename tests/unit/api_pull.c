/* The queue of events: what is in it, in which order, and what is lost when it is full.
 */
#include "server_kit.h"

#include "api/host.h"

#include <pthread.h>

/* ---- the queue alone ---- */

static struct mp_pull pull;

static void begin_queue(void)
{
    memset(&pull, 0, sizeof pull);
    ck_assert_int_eq(mp_pull_init(&pull, ~0u >> 25, NULL), MCPLUG_OK);
}

static void put(enum mcplug_event_type type, const char *text)
{
    struct mcplug_event e = {
        .type = type, .server = "s", .text = text, .len = strlen(text)};
    mp_pull_add(&pull, &e);
}

static void put_numbered(enum mcplug_event_type type, int first, int n)
{
    char text[16];
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%d", first + i);
        put(type, text);
    }
}

/* The next one, which has to be that. */
static void take(enum mcplug_event_type type, int number, uint64_t dropped)
{
    char text[16];
    const struct mcplug_event *e = mp_pull_next(&pull);
    snprintf(text, sizeof text, "%d", number);
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(e->type, type);
    ck_assert_uint_eq(e->struct_size, sizeof *e);
    ck_assert_uint_eq(e->dropped, dropped);
    ck_assert_str_eq(e->server, "s");
    if (type != MCPLUG_EVENT_DONE)
        ck_assert_str_eq(e->text, text);
    else
        ck_assert_uint_eq((uintptr_t)e->arg, (unsigned)number);
}

START_TEST(events_come_in_the_order_in_which_they_happened)
{
    begin_queue();
    ck_assert_ptr_null(mp_pull_next(&pull));
    struct mp_pulled *place = mp_pull_reserve(&pull, "s", (void *)7, NULL);
    put_numbered(MCPLUG_EVENT_REMARK, 1, 2);
    put_numbered(MCPLUG_EVENT_STATE, 3, 1);
    mp_pull_done(place, NULL, NULL, NULL);
    put_numbered(MCPLUG_EVENT_CHANGED, 4, 1);
    put_numbered(MCPLUG_EVENT_STATE, 5, 1);
    take(MCPLUG_EVENT_REMARK, 1, 0);
    take(MCPLUG_EVENT_REMARK, 2, 0);
    take(MCPLUG_EVENT_STATE, 3, 0);
    take(MCPLUG_EVENT_DONE, 7, 0);
    put_numbered(MCPLUG_EVENT_LOG, 6, 1);
    take(MCPLUG_EVENT_CHANGED, 4, 0);
    take(MCPLUG_EVENT_STATE, 5, 0);
    take(MCPLUG_EVENT_LOG, 6, 0);
    ck_assert_ptr_null(mp_pull_next(&pull));
    ck_assert_ptr_null(mp_pull_next(&pull));
    mp_pull_clear(&pull);
}
END_TEST

START_TEST(of_more_than_4096_the_oldest_are_dropped_and_counted)
{
    begin_queue();
    put_numbered(MCPLUG_EVENT_REMARK, 0, 4096);
    take(MCPLUG_EVENT_REMARK, 0, 0);
    put_numbered(MCPLUG_EVENT_REMARK, 4096, 1); /* just fits */
    take(MCPLUG_EVENT_REMARK, 1, 0);
    put_numbered(MCPLUG_EVENT_LOGGED, 5000, 4); /* three too many */
    take(MCPLUG_EVENT_REMARK, 5, 3);
    take(MCPLUG_EVENT_REMARK, 6, 0);
    mp_pull_clear(&pull);
}
END_TEST

START_TEST(states_are_dropped_after_all_else)
{
    begin_queue();
    put_numbered(MCPLUG_EVENT_STATE, 0, 2);
    put_numbered(MCPLUG_EVENT_REMARK, 2, 2);
    put_numbered(MCPLUG_EVENT_STATE, 4, 4092);
    put_numbered(MCPLUG_EVENT_STATE, 9000, 2);  /* in place of the remarks */
    put_numbered(MCPLUG_EVENT_REMARK, 9100, 1); /* is worth less than any of these */
    put_numbered(MCPLUG_EVENT_STATE, 9002, 1);  /* the oldest state goes */
    take(MCPLUG_EVENT_STATE, 1, 1);
    take(MCPLUG_EVENT_STATE, 4, 2);
    for (int i = 5; i < 4096; i++)
        take(MCPLUG_EVENT_STATE, i, 0);
    take(MCPLUG_EVENT_STATE, 9000, 0);
    take(MCPLUG_EVENT_STATE, 9001, 0);
    take(MCPLUG_EVENT_STATE, 9002, 1);
    ck_assert_ptr_null(mp_pull_next(&pull));
    mp_pull_clear(&pull);
}
END_TEST

START_TEST(the_end_of_a_call_has_its_place_whatever_else_comes)
{
    static struct mp_pulled *places[4096];
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    begin_queue();
    put_numbered(MCPLUG_EVENT_STATE, 0, 4096);
    for (size_t i = 0; i < 4096; i++) {
        places[i] = mp_pull_reserve(&pull, "s", (void *)i, &why);
        ck_assert_ptr_nonnull(places[i]);
    }
    ck_assert_ptr_null(mp_pull_next(&pull)); /* all had to go */
    ck_assert_ptr_null(mp_pull_reserve(&pull, "s", NULL, &why));
    ck_assert_int_eq(why.code, MCPLUG_EOVERLOADED);
    ck_assert_ptr_nonnull(strstr(why.text, "4096"));
    put_numbered(MCPLUG_EVENT_STATE, 1, 1);
    for (size_t i = 0; i < 4095; i++)
        mp_pull_done(places[i], NULL, NULL, NULL);
    put_numbered(MCPLUG_EVENT_STATE, 2, 1);
    ck_assert_ptr_null(mp_pull_reserve(&pull, "s", NULL, &why)); /* not pulled yet */
    mp_pull_cancel(places[4095]);
    put_numbered(MCPLUG_EVENT_REMARK, 3, 1);
    take(MCPLUG_EVENT_DONE, 0, 4097);
    for (int i = 1; i < 4095; i++)
        take(MCPLUG_EVENT_DONE, i, 0);
    take(MCPLUG_EVENT_REMARK, 3, 1);
    ck_assert_ptr_null(mp_pull_next(&pull));
    mp_pull_clear(&pull);
}
END_TEST

START_TEST(texts_are_bounded_in_bytes_as_well)
{
    size_t len = MP_PULL_BYTES / 4;
    char *text = malloc(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    begin_queue();
    for (int i = 0; i < 5; i++)
        put(MCPLUG_EVENT_LOGGED, text);
    ck_assert_uint_le(pull.bytes, MP_PULL_BYTES);
    const struct mcplug_event *e = mp_pull_next(&pull);
    ck_assert_uint_eq(e->dropped, 2); /* each has a few bytes more than a quarter */
    ck_assert_uint_eq(e->len, len);
    mp_pull_clear(&pull);
    free(text);
}
END_TEST

/* ---- a host ---- */

static void begin_pull(uint32_t events)
{
    struct mcplug_options o = {
        .struct_size = sizeof o, .log_level = MCPLUG_LOG_VERBOSE, .events = events};
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

#define BIT(type) MCPLUG_EVENT_BIT(MCPLUG_EVENT_##type)

static mcplug_server *open_it(mcplug_settings *settings, void *arg)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .name = "it", .arg = arg};
    mcplug_server *h = NULL;
    int r = mcplug_open_wait(host, settings, &o, &h, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(settings);
    return h;
}

static const struct mcplug_event *next(enum mcplug_event_type type)
{
    const struct mcplug_event *e = mcplug_next_event(host, -1);
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(e->type, type);
    return e;
}

START_TEST(a_call_without_done_ends_in_the_queue)
{
    begin_pull(BIT(DONE));
    mcplug_server *h = open_it(example(NULL), NULL);
    mcplug_call *call =
        mcplug_call_tool(h, "echo", "{\"text\":\"hello\"}", NULL, NULL, &host, &err);
    ck_assert_msg(call != NULL, "%s", err.text);
    const struct mcplug_event *e = next(MCPLUG_EVENT_DONE);
    ck_assert_ptr_eq(e->call, call);
    ck_assert_ptr_eq(e->arg, &host);
    ck_assert_str_eq(e->server, "it");
    ck_assert_ptr_null(e->why);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(e->result, NULL), "hello"));
    mcplug_cancel(e->call); /* is still there, and has ended */
    ck_assert_ptr_nonnull(mcplug_get_list(h, MCPLUG_TOOLS, NULL, NULL, NULL, &err));
    e = next(MCPLUG_EVENT_DONE);
    ck_assert_int_ge(mcplug_list_find(e->list, "echo"), 0);
    ck_assert_ptr_nonnull(mcplug_ping(h, NULL, NULL, NULL, &err));
    ck_assert_ptr_null(next(MCPLUG_EVENT_DONE)->why);
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = 20};
    ck_assert_ptr_nonnull(
        mcplug_call_tool(h, "sleep", "{\"ms\":60000}", &o, NULL, NULL, &err));
    e = next(MCPLUG_EVENT_DONE);
    ck_assert_int_eq(e->why->code, MCPLUG_ETIMEDOUT);
    ck_assert_ptr_null(mcplug_call_tool(h, NULL, NULL, NULL, NULL, NULL, &err));
    ck_assert_ptr_null(mcplug_request(h, "tools/list", NULL, NULL, NULL, NULL, &err));
    ck_assert_uint_eq(host->pull.reserved, 0);
    ck_assert_ptr_null(mcplug_next_event(host, 0));
    mcplug_free(host);
}
END_TEST

START_TEST(a_call_without_done_is_refused_where_its_end_is_not_wanted)
{
    begin_pull(BIT(STATE));
    mcplug_server *h = open_it(example(NULL), NULL);
    ck_assert_ptr_null(mcplug_call_tool(h, "echo", "{}", NULL, NULL, NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_ptr_null(mcplug_get_list(h, MCPLUG_TOOLS, NULL, NULL, NULL, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    mcplug_free(host);
}
END_TEST

START_TEST(progress_comes_before_the_end_of_its_call)
{
    struct mcplug_call_options o = {.struct_size = sizeof o};
    unsigned n = 0;
    begin_pull(BIT(DONE) | BIT(PROGRESS));
    mcplug_server *h = open_it(example(NULL), NULL);
    mcplug_call *call = mcplug_call_tool(h, "sleep", "{\"ms\":250}", &o, NULL, &n, &err);
    const struct mcplug_event *e;
    while ((e = mcplug_next_event(host, -1))->type == MCPLUG_EVENT_PROGRESS) {
        ck_assert_ptr_eq(e->call, call);
        ck_assert_ptr_eq(e->arg, &n);
        n++;
    }
    ck_assert_uint_eq(e->type, MCPLUG_EVENT_DONE);
    ck_assert_uint_ge(n, 1);
    mcplug_free(host);
}
END_TEST

static unsigned n_told;

static void on_progress_json(void *arg, mcplug_call *call, const char *params, size_t len)
{
    (void)call, (void)params, (void)len;
    ck_assert_ptr_null(arg);
    n_told++;
}

START_TEST(progress_goes_to_a_callback_for_its_json_if_there_is_one)
{
    struct mcplug_call_options o = {.struct_size = sizeof o,
                                    .progress_json = on_progress_json};
    begin_pull(BIT(DONE) | BIT(PROGRESS));
    mcplug_server *h = open_it(example(NULL), NULL);
    ck_assert_ptr_nonnull(
        mcplug_call_tool(h, "sleep", "{\"ms\":250}", &o, NULL, NULL, &err));
    next(MCPLUG_EVENT_DONE);
    ck_assert_uint_ge(n_told, 1);
    mcplug_free(host);
}
END_TEST

static void on_state(void *arg, mcplug_server *h, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    (void)arg, (void)h, (void)state, (void)why;
    n_told++;
}

START_TEST(states_and_remarks_are_queued_for_those_without_a_callback)
{
    struct mcplug_server_options o = {.struct_size = sizeof o, .state = on_state};
    const struct mcplug_event *e;
    bool remarked = false, ready = false;
    int arg;
    begin_pull(BIT(STATE) | BIT(REMARK));
    open_it(scripted((const char *const[]){"FIRST", "echo it speaks >&2", NULL}), &arg);
    while (!remarked || !ready) {
        e = mcplug_next_event(host, -1);
        ck_assert_ptr_eq(e->arg, &arg);
        ck_assert_str_eq(e->server, "it");
        if (e->type == MCPLUG_EVENT_REMARK)
            remarked = strcmp(e->text, "it speaks") == 0 && e->len == 9;
        else
            ready = e->state == MCPLUG_STATE_READY;
    }
    while (mcplug_next_event(host, 0))
        ;
    mcplug_server *other = NULL;
    mcplug_settings *s = example(NULL);
    ck_assert_int_eq(mcplug_open_wait(host, s, &o, &other, &err), MCPLUG_OK);
    mcplug_settings_free(s);
    ck_assert_uint_gt(n_told, 0);
    while ((e = mcplug_next_event(host, 0)))
        ck_assert_uint_ne(e->type, MCPLUG_EVENT_STATE);
    mcplug_free(host);
}
END_TEST

START_TEST(a_toolbox_without_callbacks_has_its_states_in_the_queue)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .arg = &pull};
    begin_pull(BIT(STATE) | BIT(CHANGED));
    box = mcplug_toolbox_new(host, &o, &err);
    mcplug_settings *s = example(NULL);
    ck_assert_int_eq(mcplug_toolbox_add(box, "mine", s, NULL, &err), MCPLUG_OK);
    mcplug_settings_free(s);
    ck_assert_int_eq(mcplug_toolbox_warm_up(box, NULL, NULL, &err), MCPLUG_OK);
    bool ready = false, changed = false;
    while (!ready || !changed) {
        const struct mcplug_event *e = mcplug_next_event(host, -1);
        ck_assert_ptr_eq(e->arg, &pull);
        if (e->type == MCPLUG_EVENT_STATE) {
            ck_assert_str_eq(e->server, "mine");
            ready = ready || e->state == MCPLUG_STATE_READY;
        } else {
            changed = true;
        }
    }
    mcplug_free(host);
}
END_TEST

START_TEST(log_lines_are_queued_with_their_level)
{
    begin_pull(BIT(LOG));
    open_it(example(NULL), NULL);
    const struct mcplug_event *e = next(MCPLUG_EVENT_LOG);
    while (!e->server) /* of modules, and of the core */
        e = next(MCPLUG_EVENT_LOG);
    ck_assert_str_eq(e->server, "it");
    ck_assert_uint_le(e->kind, MCPLUG_LOG_VERBOSE);
    ck_assert_uint_eq(e->len, strlen(e->text));
    mcplug_free(host);
}
END_TEST

START_TEST(a_wait_without_events_ends_in_its_time)
{
    begin_pull(BIT(DONE));
    uint64_t before = now_ms();
    ck_assert_ptr_null(mcplug_next_event(host, 0));
    ck_assert_ptr_null(mcplug_next_event(host, 30));
    ck_assert_uint_ge(now_ms() - before, 25); /* clocks differ a little */
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    before = now_ms();
    ck_assert_ptr_null(mcplug_next_event(host, 0));
    ck_assert_ptr_null(mcplug_next_event(host, 30));
    ck_assert_uint_ge(now_ms() - before, 25);
    mcplug_free(host);
    begin_pull(0);
    ck_assert_ptr_null(mcplug_next_event(host, -1)); /* there never will be one */
    mcplug_free(host);
}
END_TEST

struct many {
    mcplug_server *server;
    int n;
};

static void make_calls(void *arg)
{
    const struct many *m = arg;
    for (int i = 0; i < m->n; i++)
        ck_assert_ptr_nonnull(mcplug_call_tool(m->server, "echo", "{\"text\":\"x\"}",
                                               NULL, NULL, (void *)(intptr_t)i, NULL));
}

START_TEST(with_a_thread_of_ours_another_one_pulls)
{
    begin_pull(BIT(DONE));
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    struct many m = {.server = open_it(example(NULL), NULL), .n = 500};
    bool seen[500] = {false};
    ck_assert_int_eq(mcplug_post(host, make_calls, &m), MCPLUG_OK);
    for (int i = 0; i < m.n; i++) {
        const struct mcplug_event *e = next(MCPLUG_EVENT_DONE);
        ck_assert_ptr_null(e->why);
        ck_assert(!seen[(intptr_t)e->arg]);
        seen[(intptr_t)e->arg] = true;
        ck_assert_ptr_nonnull(mcplug_result_json(e->result, NULL));
    }
    ck_assert_ptr_null(mcplug_next_event(host, 0));
    mcplug_free(host);
}
END_TEST

START_TEST(what_was_not_pulled_is_freed_with_the_host)
{
    begin_pull(BIT(DONE) | BIT(STATE) | BIT(LOG));
    mcplug_server *h = open_it(example(NULL), NULL);
    for (int i = 0; i < 10; i++)
        ck_assert_ptr_nonnull(
            mcplug_call_tool(h, "echo", "{\"text\":\"x\"}", NULL, NULL, NULL, &err));
    ck_assert_ptr_nonnull(mcplug_next_event(host, -1));
    mcplug_free(host); /* calls under way end in it */
}
END_TEST

struct puller {
    pthread_t thread;
    const struct mcplug_event *got;
};

static void *pull_without_limit(void *arg)
{
    struct puller *p = arg;
    p->got = mcplug_next_event(host, -1);
    return NULL;
}

static void begin_puller(struct puller *p)
{
    bool waits = false;
    p->got = &(struct mcplug_event){0};
    ck_assert_int_eq(pthread_create(&p->thread, NULL, pull_without_limit, p), 0);
    while (!waits) {
        pthread_mutex_lock(&host->pull.lock);
        waits = host->pull.waiting > 0;
        pthread_mutex_unlock(&host->pull.lock);
    }
}

static void puller_got_nothing(struct puller *p)
{
    pthread_join(p->thread, NULL);
    ck_assert_ptr_null(p->got);
}

START_TEST(a_thread_that_waits_for_an_event_returns_when_the_host_is_freed)
{
    struct puller p;
    begin_pull(BIT(DONE));
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    begin_puller(&p);
    mcplug_free(host);
    puller_got_nothing(&p);
}
END_TEST

START_TEST(a_stop_ends_a_wait_for_an_event_on_another_thread)
{
    struct puller p;
    begin_pull(BIT(DONE));
    mcplug_stop(host); /* before our thread: finds nobody */
    ck_assert_int_eq(mcplug_start_thread(host, &err), MCPLUG_OK);
    begin_puller(&p);
    mcplug_stop(host);
    puller_got_nothing(&p);
    mcplug_stop(host); /* nobody waits now: the next who would does not */
    ck_assert_ptr_null(mcplug_next_event(host, 0));
    ck_assert_ptr_null(mcplug_next_event(host, -1));
    struct many m = {.server = open_it(example(NULL), NULL), .n = 1};
    ck_assert_int_eq(mcplug_post(host, make_calls, &m), MCPLUG_OK);
    next(MCPLUG_EVENT_DONE); /* our thread goes on */
    mcplug_free(host);
}
END_TEST

static void stop_it(void *arg)
{
    mcplug_stop(arg);
}

START_TEST(a_stop_ends_a_wait_for_an_event_on_the_loop_thread)
{
    begin_pull(BIT(DONE));
    ck_assert_int_eq(mcplug_post(host, stop_it, host), MCPLUG_OK);
    ck_assert_ptr_null(mcplug_next_event(host, -1));
    mcplug_stop(host);
    ck_assert_ptr_null(mcplug_next_event(host, 0));
    ck_assert_ptr_null(mcplug_next_event(host, 600000));
    struct many m = {.server = open_it(example(NULL), NULL), .n = 1};
    make_calls(&m);
    next(MCPLUG_EVENT_DONE);
    mcplug_free(host);
}
END_TEST

START_TEST(bits_of_no_event_are_refused)
{
    struct mcplug_options o = {.struct_size = sizeof o, .events = 1u << 7};
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    ck_assert_ptr_null(mcplug_new(&o, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "events"));
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, events_come_in_the_order_in_which_they_happened);
    tcase_add_test(tc, of_more_than_4096_the_oldest_are_dropped_and_counted);
    tcase_add_test(tc, states_are_dropped_after_all_else);
    tcase_add_test(tc, the_end_of_a_call_has_its_place_whatever_else_comes);
    tcase_add_test(tc, texts_are_bounded_in_bytes_as_well);
    tcase_add_test(tc, a_call_without_done_ends_in_the_queue);
    tcase_add_test(tc, a_call_without_done_is_refused_where_its_end_is_not_wanted);
    tcase_add_test(tc, progress_comes_before_the_end_of_its_call);
    tcase_add_test(tc, progress_goes_to_a_callback_for_its_json_if_there_is_one);
    tcase_add_test(tc, states_and_remarks_are_queued_for_those_without_a_callback);
    tcase_add_test(tc, a_toolbox_without_callbacks_has_its_states_in_the_queue);
    tcase_add_test(tc, log_lines_are_queued_with_their_level);
    tcase_add_test(tc, a_wait_without_events_ends_in_its_time);
    tcase_add_test(tc, with_a_thread_of_ours_another_one_pulls);
    tcase_add_test(tc, what_was_not_pulled_is_freed_with_the_host);
    tcase_add_test(tc, a_thread_that_waits_for_an_event_returns_when_the_host_is_freed);
    tcase_add_test(tc, a_stop_ends_a_wait_for_an_event_on_another_thread);
    tcase_add_test(tc, a_stop_ends_a_wait_for_an_event_on_the_loop_thread);
    tcase_add_test(tc, bits_of_no_event_are_refused);
}

int main(void)
{
    return run_suite("api_pull", add);
}
