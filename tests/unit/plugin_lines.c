#include "fake.h"

#include "base/buf.h"
#include "plugin/catalogue.h"
#include "plugin/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct mcplug_lines *const lines = &mp_lines_table;
static struct mp_loop *loop;
static mcplug_self *self;
static struct mcplug_host host;
static mcplug_framer *framer;
static mcplug_watch *watch;
static int ends[2]; /* ours, theirs */
static char heard[256], written[64];

static void on_feed(mcplug_conn *conn, uint64_t exchange, struct mcplug_bytes piece,
                    int last)
{
    size_t n = strlen(heard);
    ck_assert_ptr_null(conn);
    ck_assert_uint_eq(exchange, 0);
    snprintf(heard + n, sizeof heard - n, "%.*s%s", (int)piece.len,
             piece.len ? (const char *)piece.data : "",
             last == 0  ? "+"
             : last > 0 ? "|"
                        : "!");
}

static void on_written(mcplug_conn *conn, uint64_t serial)
{
    size_t n = strlen(written);
    ck_assert_ptr_null(conn);
    snprintf(written + n, sizeof written - n, "%d ", (int)serial);
}

static void on_event(void *arg, unsigned events)
{
    (void)arg, (void)events;
}

/* May wait in all; a frame has 1000 bytes and its line end. */
#define FRAME 1000
#define LIMIT ((size_t)3 * (FRAME + 1))

static void setup(void)
{
    static struct mp_events log;
    static const struct mcplug_wire wire = {
        .struct_size = sizeof wire, .feed = on_feed, .written = on_written};
    const struct mp_catalogue_options options = {.wire = &wire};
    int small = 1;

    heard[0] = written[0] = '\0';
    loop = mp_loop_new(NULL);
    self = mp_self_new("test", NULL, &log, loop);
    ck_assert_ptr_nonnull(self);
    mp_host_init(&host, &options, "/nowhere");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    watch = host.loop->watch_start(self, ends[0], 0, on_event, NULL);
    ck_assert_ptr_nonnull(watch);
    framer = lines->create(&host, NULL, LIMIT);
    ck_assert_ptr_nonnull(framer);
    lines->attach(framer, MCPLUG_LINES_SOCKET, ends[0], watch, 0);
}

static void teardown(void)
{
    lines->free(framer);
    host.loop->watch_stop(watch);
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    mp_self_free(self);
    mp_loop_free(loop);
}

static void feed(const char *s)
{
    lines->feed(framer, (struct mcplug_bytes){(const unsigned char *)s, strlen(s)});
}

/* ---- in ---- */

START_TEST(lines_end_with_lf_or_cr_lf_wherever_the_pieces_are_cut)
{
    feed("one\ntw");
    feed("o\r");
    feed("\n\n\r\nthr\ree\r");
    feed("x\n");
    ck_assert_str_eq(heard, "one|tw+o+|thr\ree+\r+x|");
}
END_TEST

START_TEST(a_byte_order_mark_at_the_beginning_is_left_out_and_nowhere_else)
{
    feed("\xef\xbb");
    feed("\xbfone\n\xef\xbb\xbftwo\n");
    ck_assert_str_eq(heard, "one|\xef\xbb\xbftwo|");
}
END_TEST

START_TEST(the_end_of_the_stream_ends_a_line_that_has_no_end)
{
    feed("one\n");
    lines->end(framer);
    ck_assert_str_eq(heard, "one|");
    feed("half");
    lines->end(framer);
    ck_assert_str_eq(heard, "one|half+!");
}
END_TEST

/* ---- out ---- */

static int send_text(const char *text, size_t len, uint64_t serial, uint64_t flags,
                     struct mcplug_error *err)
{
    const struct mcplug_envelope env = {
        .struct_size = sizeof env, .serial = serial, .flags = flags};
    return lines->send(framer, mp_buf_new(text, len), &env, err);
}

static int send_one(uint64_t serial, struct mcplug_error *err)
{
    char text[FRAME];
    memset(text, 'a' + (int)(serial % 26), sizeof text);
    return send_text(text, sizeof text, serial, 0, err);
}

/* Until the peer takes no more; returns the serial of the first that waits. */
static uint64_t fill(void)
{
    for (uint64_t serial = 1;; serial++) {
        int r = send_one(serial, NULL);
        if (r == MCPLUG_QUEUED)
            return serial;
        ck_assert_int_eq(r, MCPLUG_OK);
    }
}

/* Reads everything and lets the rest follow; returns the bytes. */
static size_t drain(void)
{
    char text[4096];
    size_t all = 0;
    for (;;) {
        ssize_t n = read(ends[1], text, sizeof text);
        if (n > 0) {
            all += (size_t)n;
            ck_assert_int_eq(lines->flush(framer, NULL), MCPLUG_OK);
        } else {
            return all;
        }
    }
}

START_TEST(what_the_peer_does_not_take_waits_and_is_told_of_when_it_has_left)
{
    char expected[64];
    uint64_t first = fill();

    ck_assert_int_eq(send_one(first + 1, NULL), MCPLUG_QUEUED);
    ck_assert_str_eq(written, "");
    ck_assert_uint_eq(drain(), (first + 1) * (FRAME + 1));
    snprintf(expected, sizeof expected, "%d %d ", (int)first, (int)first + 1);
    ck_assert_str_eq(written, expected);
    ck_assert_int_eq(send_one(first + 2, NULL), MCPLUG_OK);
}
END_TEST

START_TEST(what_waits_is_bounded_and_one_more_is_refused_but_breaks_nothing)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    uint64_t first = fill();

    ck_assert_int_eq(send_one(first + 1, &err), MCPLUG_QUEUED);
    ck_assert_int_eq(send_one(first + 2, &err), MCPLUG_QUEUED);
    ck_assert_int_eq(send_one(first + 3, &err), MCPLUG_EOVERLOADED);
    ck_assert_str_eq(err.text,
                     "the peer does not read: 3003 bytes are waiting to be sent");
    ck_assert_int_eq(lines->broken(framer), 0);
    ck_assert_uint_eq(drain(), (first + 2) * (FRAME + 1));
}
END_TEST

START_TEST(a_peer_that_is_gone_breaks_the_stream_without_a_signal)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    close(ends[1]);
    ends[1] = -1;
    ck_assert_int_eq(send_one(1, &err), MCPLUG_ECLOSED);
    ck_assert_int_eq(err.os_error, EPIPE);
    ck_assert_int_eq(lines->broken(framer), EPIPE);
    ck_assert_int_eq(send_one(2, &err), MCPLUG_ECLOSED);
    ck_assert_str_eq(err.text, "the connection is closed");
}
END_TEST

START_TEST(after_detach_nothing_is_sent_and_what_waited_is_dropped)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    fill();
    lines->detach(framer);
    ck_assert_int_eq(send_one(99, &err), MCPLUG_ECLOSED);
    ck_assert_str_eq(err.text, "the connection is closed");
    ck_assert_str_eq(written, "");
    lines->detach(NULL);
    lines->free(NULL);
}
END_TEST

/* ---- joined ---- */

static int send_more(uint64_t serial)
{
    char text[8];
    return send_text(text, (size_t)snprintf(text, sizeof text, "%d", (int)serial), serial,
                     MCPLUG_MORE, NULL);
}

/* What one read brings now; valid until the next. */
static const char *arrived(void)
{
    static char text[256];
    ssize_t n = read(ends[1], text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

START_TEST(frames_that_others_follow_wait_for_the_end_of_the_turn)
{
    for (uint64_t serial = 1; serial <= 3; serial++)
        ck_assert_int_eq(send_more(serial), MCPLUG_QUEUED);
    ck_assert_str_eq(arrived(), "");
    ck_assert_str_eq(written, "");
    ck_assert_int_eq(lines->flush(framer, NULL), MCPLUG_OK);
    ck_assert_str_eq(arrived(), "1\n2\n3\n");
    ck_assert_str_eq(written, "1 2 3 ");
    ck_assert_int_eq(lines->flush(framer, NULL), MCPLUG_OK);
    ck_assert_str_eq(arrived(), "");
}
END_TEST

START_TEST(a_frame_that_nothing_follows_takes_those_that_wait_along)
{
    ck_assert_int_eq(send_more(1), MCPLUG_QUEUED);
    ck_assert_int_eq(send_more(2), MCPLUG_QUEUED);
    ck_assert_int_eq(send_text("3", 1, 3, 0, NULL), MCPLUG_OK);
    ck_assert_str_eq(arrived(), "1\n2\n3\n");
    ck_assert_str_eq(written, "1 2 "); /* of the last one send() itself has said so */
}
END_TEST

START_TEST(the_sixteenth_frame_does_not_wait)
{
    for (uint64_t serial = 1; serial < 16; serial++)
        ck_assert_int_eq(send_more(serial), MCPLUG_QUEUED);
    ck_assert_str_eq(arrived(), "");
    ck_assert_int_eq(send_more(16), MCPLUG_OK);
    ck_assert_str_eq(arrived(),
                     "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n");
    ck_assert_str_eq(written, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ");
}
END_TEST

START_TEST(a_long_frame_does_not_wait_and_keeps_its_place)
{
    static char text[65536];

    memset(text, 'x', sizeof text);
    ck_assert_int_eq(send_more(1), MCPLUG_QUEUED);
    /* more than the peer takes at once */
    ck_assert_int_eq(send_text(text, sizeof text, 2, MCPLUG_MORE, NULL), MCPLUG_QUEUED);
    ck_assert_str_eq(written, "1 ");
    ck_assert_uint_eq(drain(), 2 + sizeof text + 1);
    ck_assert_str_eq(written, "1 2 ");
}
END_TEST

START_TEST(frames_that_follow_one_the_peer_did_not_take_wait_for_it)
{
    char expected[64];
    uint64_t first = fill();

    written[0] = '\0';
    ck_assert_int_eq(send_more(first + 1), MCPLUG_QUEUED);
    ck_assert_int_eq(send_more(first + 2), MCPLUG_QUEUED);
    ck_assert_int_eq(lines->flush(framer, NULL), MCPLUG_OK);
    ck_assert_str_eq(written, "");
    drain();
    snprintf(expected, sizeof expected, "%d %d %d ", (int)first, (int)first + 1,
             (int)first + 2);
    ck_assert_str_eq(written, expected);
    ck_assert_int_eq(send_one(first + 3, NULL), MCPLUG_OK);
}
END_TEST

START_TEST(of_frames_that_wait_for_a_peer_that_is_gone_none_was_written)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_int_eq(send_more(1), MCPLUG_QUEUED);
    ck_assert_int_eq(send_more(2), MCPLUG_QUEUED);
    close(ends[1]);
    ends[1] = -1;
    ck_assert_int_eq(lines->flush(framer, &err), MCPLUG_ECLOSED);
    ck_assert_int_eq(lines->broken(framer), EPIPE);
    ck_assert_str_eq(written, "");
}
END_TEST

/* The envelope of an older core ends before `flags`. */
START_TEST(without_a_word_of_others_a_frame_does_not_wait)
{
    const struct mcplug_envelope env = {.struct_size =
                                            offsetof(struct mcplug_envelope, flags),
                                        .serial = 1,
                                        .flags = MCPLUG_MORE};
    ck_assert_int_eq(lines->send(framer, mp_buf_new("1", 1), &env, NULL), MCPLUG_OK);
    ck_assert_str_eq(arrived(), "1\n");
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, lines_end_with_lf_or_cr_lf_wherever_the_pieces_are_cut);
    tcase_add_test(tc, a_byte_order_mark_at_the_beginning_is_left_out_and_nowhere_else);
    tcase_add_test(tc, the_end_of_the_stream_ends_a_line_that_has_no_end);
    tcase_add_test(tc, what_the_peer_does_not_take_waits_and_is_told_of_when_it_has_left);
    tcase_add_test(tc, what_waits_is_bounded_and_one_more_is_refused_but_breaks_nothing);
    tcase_add_test(tc, a_peer_that_is_gone_breaks_the_stream_without_a_signal);
    tcase_add_test(tc, after_detach_nothing_is_sent_and_what_waited_is_dropped);
    tcase_add_test(tc, frames_that_others_follow_wait_for_the_end_of_the_turn);
    tcase_add_test(tc, a_frame_that_nothing_follows_takes_those_that_wait_along);
    tcase_add_test(tc, the_sixteenth_frame_does_not_wait);
    tcase_add_test(tc, a_long_frame_does_not_wait_and_keeps_its_place);
    tcase_add_test(tc, frames_that_follow_one_the_peer_did_not_take_wait_for_it);
    tcase_add_test(tc, of_frames_that_wait_for_a_peer_that_is_gone_none_was_written);
    tcase_add_test(tc, without_a_word_of_others_a_frame_does_not_wait);
}

int main(void)
{
    return run_suite("plugin_lines", add);
}
