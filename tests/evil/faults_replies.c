/* Answers that are wrong in one way each: the call fails with a text that says in
 * which, or the answer is as good as it can be, and the session goes on. */
#include "faults.h"

/* ---- one fixed answer each, see evil.c ---- */

static const struct {
    const char *mode;
    int code; /* 0: a result */
    int peer_status;
    const char *text;              /* in the error, or of the result */
    unsigned noise, unknown, late; /* per call */
} replies[] = {
    {"noise", 0, 0, "fine", 10, 0, 0},
    {"crlf", 0, 0, "fine", 0, 0, 0},
    {"nul-line", 0, 0, "fine", 1, 0, 0},
    {"nul-in-string", MCPLUG_EPROTO, 0, "control character 0x00 in a string at byte ", 0,
     0, 0},
    {"nul-between", MCPLUG_EPROTO, 0, "unexpected character 0x00 at byte ", 0, 0, 0},
    {"nul-behind", MCPLUG_EPROTO, 0, "unexpected text after the value at byte ", 0, 0, 0},
    {"utf8", MCPLUG_EPROTO, 0, "invalid UTF-8 at byte ", 0, 0, 0},
    {"utf8-overlong", MCPLUG_EPROTO, 0, "invalid UTF-8 at byte ", 0, 0, 0},
    {"utf8-surrogate", MCPLUG_EPROTO, 0, "invalid UTF-8 at byte ", 0, 0, 0},
    {"lone-surrogate", 0, 0, "fine", 0, 0, 0},
    {"1e400", 0, 0, "fine", 0, 0, 0},
    {"1e400-id", 0, 0, "fine", 0, 1, 0},
    {"nan", MCPLUG_EPROTO, 0, "unexpected character 'N' at byte ", 0, 0, 0},
    {"infinity", MCPLUG_EPROTO, 0, "unexpected character 'I' at byte ", 0, 0, 0},
    {"twice", 0, 0, "fine", 0, 0, 1},
    {"unknown-id", 0, 0, "fine", 0, 5, 0},
    {"both", MCPLUG_EPROTO, 0, "both a result and an error", 0, 0, 0},
    {"neither", MCPLUG_EPROTO, 0, "neither a result nor an error", 0, 0, 0},
    {"result-array", MCPLUG_EPROTO, 0, "result is not an object", 0, 0, 0},
    {"result-string", MCPLUG_EPROTO, 0, "result is not an object", 0, 0, 0},
    {"result-null", MCPLUG_EPROTO, 0, "result is not an object", 0, 0, 0},
    {"error-bare", MCPLUG_EPEER, 0, "no code (error without a code)", 0, 0, 0},
    {"error-empty", MCPLUG_EPEER, 0, "error without a message", 0, 0, 0},
    {"error-string", MCPLUG_EPROTO, 0, "neither a result nor an error object", 0, 0, 0},
    {"error-null", MCPLUG_EPROTO, 0, "neither a result nor an error object", 0, 0, 0},
    {"error-huge-code", MCPLUG_EPEER, 0, "big", 0, 0, 0},
    {"error", MCPLUG_EPEER, -32050, "purpose", 0, 0, 0},
    {"method-too", 0, 0, "", 0, 0, 0},
    {"method-number", 0, 0, "fine", 0, 0, 0},
    {"batch", 0, 0, "fine", 0, 0, 0},
    {"batch-empty", 0, 0, "fine", 1, 0, 0},
    {"batch-junk", 0, 0, "fine", 0, 2, 0},
    {"batch-broken", 0, 0, "fine", 1, 0, 0},
    {"duplicate-id", MCPLUG_EPROTO, 0, "duplicate member \"id\" at byte ", 0, 0, 0},
    {"duplicate-result", MCPLUG_EPROTO, 0, "duplicate member \"result\" at byte ", 0, 0,
     0},
    {"duplicate-inside", MCPLUG_EPROTO, 0, "the reply has a duplicate member \"x\"", 0, 0,
     0},
    {"duplicate-deep", 0, 0, "fine", 0, 0, 0}, /* nothing of ours reads it */
    {"result-type", MCPLUG_EPROTO, 0, "type \"surprise\" is unknown", 0, 0, 0},
    {"result-type-number", MCPLUG_EPROTO, 0, "type 7 is unknown", 0, 0, 0},
    {"two-in-a-line", MCPLUG_EPROTO, 0, "unexpected text after the value", 0, 0, 0},
    {"cut-short", MCPLUG_EPROTO, 0, "text ends inside an array at byte ", 0, 0, 0},
    {"no-comma", MCPLUG_EPROTO, 0, "unexpected character '\"' at byte ", 0, 0, 0},
    {"input-not-offered", MCPLUG_EPROTO, 0,
     "asks for sampling/createMessage, which the client did not declare", 0, 0, 0},
    {"input-empty", MCPLUG_EPROTO, 0, "neither inputRequests nor requestState", 0, 0, 0},
    {"input-array", MCPLUG_EPROTO, 0, "", 0, 0, 0},
    {"task-nameless", MCPLUG_EPROTO, 0, "the task has no taskId", 0, 0, 0},
    {"task-odd", MCPLUG_EPROTO, 0, "the task has an unknown status", 0, 0, 0},
    {"state-forever", MCPLUG_EPROTO, 0, "asks for input for the 33th time", 0, 0, 0},
    {"input-forever", MCPLUG_EPROTO, 0, "asks for input for the 33th time", 0, 0, 0},
};
enum { REPLIES = sizeof replies / sizeof *replies };

static void check_shot(int i, const struct shot *s)
{
    ck_assert_msg(s->code == replies[i].code, "%s: code %d, \"%s\"", replies[i].mode,
                  s->code, s->text);
    ck_assert_int_eq(s->peer_status, replies[i].peer_status);
    ck_assert_msg(strstr(s->code ? s->text : text_of(s), replies[i].text), "%s: \"%s\"",
                  replies[i].mode, s->code ? s->text : text_of(s));
    ck_assert_ptr_null(strchr(s->text, '\033'));
}

static void check_replies(int i, unsigned times)
{
    struct peer *p = peer_up(replies[i].mode);
    struct shot *first = shoot(p, "bad", times, bound_ms());

    for (unsigned k = 0; k < times; k++)
        check_shot(i, &first[k]);
    check_good(p);
    ck_assert_uint_eq(books(p).noise, replies[i].noise * times);
    ck_assert_uint_eq(books(p).unknown, replies[i].unknown * times);
    ck_assert_uint_eq(books(p).late, replies[i].late * times);
    ck_assert_uint_le(p->n_bad, 20 + times); /* noise is logged, but not for ever */
    check_memory(p, 16);
    peer_end(p);
}

START_TEST(a_wrong_answer_ends_its_own_call_and_nothing_else)
{
    check_replies(_i, 1);
}
END_TEST

START_TEST(a_hundred_wrong_answers_end_a_hundred_calls)
{
    check_replies(_i, 100);
}
END_TEST

/* ---- answers that leave open whom they are for ---- */

START_TEST(an_error_without_an_id_is_for_the_only_call_under_way)
{
    struct peer *p = peer_new("id-null");
    p->o.changed = NULL; /* no subscription beside it */
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = shoot(p, "bad", 1, bound_ms());
    ck_assert_int_eq(s->code, MCPLUG_EPEER);
    ck_assert_int_eq(s->peer_status, -32700);
    ck_assert_str_eq(s->text, "Parse error");
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(an_error_without_an_id_ends_none_of_several_calls)
{
    struct peer *p = peer_up("id-null");
    struct shot *s = fire(p, "bad", 100, 300);
    peer_until(p, all_ended, 300 + bound_ms());
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_ETIMEDOUT);
    ck_assert_uint_eq(books(p).unknown, 100);
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(an_answer_whose_id_is_a_string_is_none_of_ours)
{
    struct peer *p = peer_up("id-string");
    struct shot *s = fire(p, "bad", 100, 300);
    peer_until(p, all_ended, 300 + bound_ms());
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(s[i].code, MCPLUG_ETIMEDOUT);
    ck_assert_uint_eq(books(p).unknown, 100);
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(a_byte_order_mark_before_everything_does_no_harm)
{
    struct peer *p = peer_up("bom");
    ck_assert_int_eq(shoot(p, "bad", 1, bound_ms())->code, 0);
    ck_assert_uint_eq(books(p).noise, 0);
    peer_end(p);
}
END_TEST

START_TEST(a_byte_order_mark_before_a_later_line_does_not_leave_the_call_hanging)
{
    struct peer *p = peer_up("bom-later");
    struct shot *s = shoot(p, "bad", 1, bound_ms());
    ck_assert_msg(s->code == 0 || s->code == MCPLUG_EPROTO, "%s", s->text);
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(talk_before_the_first_answer_is_skipped)
{
    struct peer *p = peer_up("talks-first");
    ck_assert_uint_ge(books(p).noise, 2);
    check_good(p);
    peer_end(p);
}
END_TEST

/* ---- large answers ---- */

static void check_big(const char *mode, uint64_t max_memory, uint64_t max_spill, int code,
                      const char *text, long mb)
{
    struct peer *p = peer_new(mode);
    p->o.max_memory = max_memory;
    p->o.max_spill = max_spill;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = shoot(p, "bad", 1, 60000);
    ck_assert_msg(s->code == code, "%s: code %d, \"%s\"", mode, s->code, s->text);
    ck_assert_msg(strstr(s->code ? s->text : text_of(s), text), "%s: \"%s\"", mode,
                  s->text);
    check_good(p);
    check_memory(p, mb);
    peer_end(p);
}

#define MB (1024ull * 1024)

START_TEST(a_long_string_is_refused_at_the_limit_for_spilling)
{
    check_big(long_run() ? "huge-string 1024" : "huge-string 200", 0, 16 * MB,
              MCPLUG_ETOOBIG, "exceed 16777216 bytes, the limit for spilling", 32);
    check_big("huge-string-id-last 64", 0, 16 * MB, MCPLUG_ETOOBIG,
              "exceed 16777216 bytes, the limit for spilling", 32);
}
END_TEST

START_TEST(a_long_string_below_the_limit_goes_to_a_file)
{
    struct peer *p = peer_new(long_run() ? "huge-string 1024" : "huge-string 200");
    struct mcplug_spill spill = {.struct_size = sizeof spill};
    char end[2] = "";

    p->o.max_memory = 1 * MB;
    ck_assert_int_eq(peer_open(p), 0);
    struct shot *s = shoot(p, "bad", 1, 60000);
    ck_assert_int_eq(s->code, 0);
    ck_assert_uint_eq(mcplug_result_spills(s->result), 1);
    ck_assert_int_eq(mcplug_result_spill(s->result, 0, &spill), 0);
    ck_assert_uint_eq(spill.size, (long_run() ? 1024 : 200) * MB);
    ck_assert_int_eq(mcplug_result_spill_read(s->result, 0, spill.size - 1, end, 2), 1);
    ck_assert_str_eq(end, "y");
    check_good(p);
    check_memory(p, 8);
    peer_end(p);
}
END_TEST

START_TEST(what_cannot_spill_is_refused_at_the_limit_for_memory)
{
    check_big("huge-key 64", 1 * MB, 0, MCPLUG_ETOOBIG, "exceeds 1048576 bytes", 8);
    check_big("huge-number 33554432", 1 * MB, 0, MCPLUG_ETOOBIG, "exceeds 1048576", 8);
    check_big("huge-space 64", 1 * MB, 0, MCPLUG_ETOOBIG, "exceeds 1048576 bytes", 8);
}
END_TEST

START_TEST(a_number_of_a_thousand_digits_is_handed_on_as_it_is)
{
    struct peer *p = peer_up("huge-number 1001");
    struct shot *s = shoot(p, "bad", 1, bound_ms());
    ck_assert_int_eq(s->code, 0);
    ck_assert_uint_eq(strlen(mcplug_result_json(s->result, NULL)),
                      1001 + strlen("{\"n\":}"));
    check_good(p);
    peer_end(p);
}
END_TEST

START_TEST(nesting_is_refused_beyond_its_limit)
{
    check_big("deep 64", 0, 0, 0, "", 8);
    check_big("deep 65", 0, 0, MCPLUG_ETOOBIG, "nesting deeper than 64 at byte ", 8);
    check_big("deep 100000", 0, 0, MCPLUG_ETOOBIG, "nesting deeper than 64 at byte ", 8);
}
END_TEST

START_TEST(a_bomb_of_empty_objects_is_refused_by_the_number_of_its_values)
{
    check_big("bomb 10", 0, 0, MCPLUG_ETOOBIG, "more than 1000000 values at byte ", 24);
    check_big("bare-bomb 10", 0, 0, 0, "fine", 24);
    check_big("bare-bomb 2", 0, 0, 0, "fine", 24); /* 700,000 messages in a batch */
}
END_TEST

START_TEST(an_answer_in_single_bytes_is_an_answer)
{
    struct peer *p = peer_up("one-by-one");
    struct shot *s = shoot(p, "bad", 1, bound_ms());
    ck_assert_int_eq(s->code, 0);
    ck_assert_str_eq(text_of(s), "fi\\u006ee \\ud83d\\ude00 \303\251");
    s = shoot(p, "bad", 20, 10000);
    for (unsigned i = 0; i < 20; i++)
        ck_assert_int_eq(s[i].code, 0);
    check_good(p);
    peer_end(p);
}
END_TEST

void add_reply_tests(Suite *suite)
{
    TCase *t = tcase_create("replies");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_wrong_answer_ends_its_own_call_and_nothing_else, 0, REPLIES);
    tcase_add_loop_test(t, a_hundred_wrong_answers_end_a_hundred_calls, 0, REPLIES);
    tcase_add_test(t, an_error_without_an_id_is_for_the_only_call_under_way);
    tcase_add_test(t, an_error_without_an_id_ends_none_of_several_calls);
    tcase_add_test(t, an_answer_whose_id_is_a_string_is_none_of_ours);
    tcase_add_test(t, a_byte_order_mark_before_everything_does_no_harm);
    tcase_add_test(t,
                   a_byte_order_mark_before_a_later_line_does_not_leave_the_call_hanging);
    tcase_add_test(t, talk_before_the_first_answer_is_skipped);
    tcase_add_test(t, a_long_string_is_refused_at_the_limit_for_spilling);
    tcase_add_test(t, a_long_string_below_the_limit_goes_to_a_file);
    tcase_add_test(t, what_cannot_spill_is_refused_at_the_limit_for_memory);
    tcase_add_test(t, a_number_of_a_thousand_digits_is_handed_on_as_it_is);
    tcase_add_test(t, nesting_is_refused_beyond_its_limit);
    tcase_add_test(t, a_bomb_of_empty_objects_is_refused_by_the_number_of_its_values);
    tcase_add_test(t, an_answer_in_single_bytes_is_an_answer);
    suite_add_tcase(suite, t);
}
