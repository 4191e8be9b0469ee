/* What the link tells a transport of the frames that follow in the same turn. */
#include "fake.h"

#include <stdio.h>

static struct mp_loop *loop;
static struct mp_events events;
static struct mp_plugin plugin;
static struct mcplug_transport_ops ops;
static struct mp_offer offer;
static mcplug_conn *conn, *link_of_test;
static char seen[256]; /* what the transport was told, in order */
static bool closes_in_flush;
static unsigned ended;

static void note(const char *what)
{
    size_t n = strlen(seen);
    snprintf(seen + n, sizeof seen - n, "%s ", what);
}

static int t_open(void *ctx, mcplug_conn *c, const mcplug_props *settings, void **out,
                  struct mcplug_error *err)
{
    (void)ctx, (void)settings, (void)err;
    conn = c;
    *out = &ops;
    mp_link_wire.opened(c);
    return MCPLUG_OK;
}

static int t_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                  struct mcplug_error *err)
{
    (void)t, (void)err;
    mp_buf_unref(frame);
    note(env->flags & MCPLUG_MORE ? "more" : "send");
    return env->flags & MCPLUG_MORE ? MCPLUG_QUEUED : MCPLUG_OK;
}

static void t_flush(void *t)
{
    (void)t;
    note("flush");
    if (closes_in_flush)
        mp_link_wire.closed(conn, NULL);
}

static void t_close(void *t)
{
    (void)t;
    note("close");
    mp_link_wire.closed(conn, NULL);
}

static void t_destroy(void *t)
{
    (void)t;
    note("destroy");
}

static void on_opened(void *arg)
{
    (void)arg;
}

static void on_closed(void *arg, const struct mcplug_error *why)
{
    (void)arg, (void)why;
    ended++;
    link_of_test = NULL;
}

static const struct mp_link_events link_events = {.opened = on_opened,
                                                  .closed = on_closed};

static void setup(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_props *settings = mp_props_new();

    loop = mp_loop_new(NULL);
    mp_events_init(&events, NULL, NULL, MCPLUG_LOG_ERROR);
    ops = (struct mcplug_transport_ops){.struct_size = sizeof ops,
                                        .open = t_open,
                                        .send = t_send,
                                        .close = t_close,
                                        .destroy = t_destroy,
                                        .flush = t_flush};
    offer.plugin = &plugin;
    offer.feature.kind = MCPLUG_TRANSPORT;
    offer.feature.name = "test";
    offer.feature.ops = &ops;
    struct mp_link_options o = {.loop = loop,
                                .log = &events,
                                .source = "test",
                                .transport = &offer,
                                .settings = settings,
                                .events = &link_events};
    link_of_test = mp_link_open(&o, &err);
    ck_assert_msg(link_of_test != NULL, "%s", err.text);
    mp_props_free(settings);
    mp_loop_turn(loop, false);
    seen[0] = '\0';
    closes_in_flush = false;
    ended = 0;
}

static void teardown(void)
{
    if (link_of_test)
        mp_link_close(link_of_test);
    mp_loop_turn(loop, false);
    ck_assert_uint_eq(ended, 1);
    mp_loop_free(loop);
}

static void send_one(void)
{
    struct mcplug_envelope env = {.kind = MCPLUG_NOTIFICATION, .serial = 1};
    ck_assert_int_ge(mp_link_send(link_of_test, mp_buf_new("{}", 2), &env, NULL),
                     MCPLUG_OK);
}

static void send_three(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        send_one();
    note("end");
}

START_TEST(the_first_frame_of_a_turn_leaves_at_once_and_others_at_its_end)
{
    mp_loop_call(loop, send_three, NULL);
    ck_assert_str_eq(seen, "send more more end flush ");
    mp_loop_call(loop, send_three, NULL);
    ck_assert_str_eq(seen, "send more more end flush send more more end flush ");
}
END_TEST

/* Nobody knows when the program turns the loop again. */
START_TEST(outside_of_a_turn_every_frame_leaves_at_once)
{
    send_three(NULL);
    mp_loop_turn(loop, false);
    ck_assert_str_eq(seen, "send send send end ");
}
END_TEST

/* A job of the same turn, as those of queues are. */
static void on_job(struct mp_job *job)
{
    (void)job;
    send_one();
    send_one();
}

static void send_and_defer(void *job)
{
    send_one();
    mp_job_defer(loop, job, on_job);
    send_one();
}

START_TEST(frames_of_jobs_are_of_the_same_turn)
{
    struct mp_job job = {0};
    mp_loop_call(loop, send_and_defer, &job);
    ck_assert_str_eq(seen, "send more more more flush ");
}
END_TEST

START_TEST(a_transport_that_cannot_flush_is_not_told_to_wait)
{
    ops.flush = NULL;
    mp_loop_call(loop, send_three, NULL);
    ck_assert_str_eq(seen, "send send send end ");
    ops.flush = t_flush;
    ops.struct_size = offsetof(struct mcplug_transport_ops, flush); /* of minor 3 */
    mp_loop_call(loop, send_three, NULL);
    ck_assert_str_eq(seen, "send send send end send send send end ");
}
END_TEST

static void send_and_close(void *arg)
{
    send_three(arg);
    mp_link_close(link_of_test);
}

START_TEST(what_was_sent_before_the_end_is_written_before_it)
{
    mp_loop_call(loop, send_and_close, NULL);
    ck_assert_str_eq(seen, "send more more end flush close destroy ");
}
END_TEST

START_TEST(a_connection_that_ends_in_flush_is_not_closed_once_more)
{
    closes_in_flush = true;
    mp_loop_call(loop, send_and_close, NULL);
    ck_assert_str_eq(seen, "send more more end flush destroy ");
}
END_TEST

static void send_and_lose(void *arg)
{
    send_three(arg);
    mp_link_wire.closed(conn, NULL);
}

START_TEST(a_connection_that_is_lost_is_not_flushed)
{
    mp_loop_call(loop, send_and_lose, NULL);
    ck_assert_str_eq(seen, "send more more end destroy ");
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_first_frame_of_a_turn_leaves_at_once_and_others_at_its_end);
    tcase_add_test(tc, outside_of_a_turn_every_frame_leaves_at_once);
    tcase_add_test(tc, frames_of_jobs_are_of_the_same_turn);
    tcase_add_test(tc, a_transport_that_cannot_flush_is_not_told_to_wait);
    tcase_add_test(tc, what_was_sent_before_the_end_is_written_before_it);
    tcase_add_test(tc, a_connection_that_ends_in_flush_is_not_closed_once_more);
    tcase_add_test(tc, a_connection_that_is_lost_is_not_flushed);
}

int main(void)
{
    return run_suite("rpc_link", add);
}
