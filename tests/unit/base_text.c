#include "fake.h"

#include "base/error.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static void check_escaped(const char *in, size_t len, bool multiline, const char *want)
{
    struct mp_str s;
    mp_str_init(&s, 10000);
    ck_assert(mp_str_add_escaped(&s, in, len, multiline));
    mp_str_addc(&s, '\0');
    ck_assert_str_eq(s.data, want);
    mp_str_clear(&s);
}
#define ESCAPED(in, want) check_escaped(in, sizeof in - 1, true, want)

START_TEST(what_could_deceive_a_terminal_becomes_visible)
{
    ESCAPED("plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
            "plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    ESCAPED("a\x1b[31mred", "a\\x1b[31mred");
    ESCAPED("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07");
    ESCAPED("bell\x07 del\x7f nul\0.", "bell\\x07 del\\x7f nul\\x00.");
    ESCAPED("c1\xc2\x9b", "c1\\u{9b}");
    ESCAPED("bidi\xe2\x80\xae", "bidi\\u{202e}");
    ESCAPED("zero\xe2\x80\x8bwidth", "zero\\u{200b}width");
    ESCAPED("tag\xf3\xa0\x81\x81", "tag\\u{e0041}");
    ESCAPED("bad\xff\xc3", "bad\\xff\\xc3");
    ESCAPED("lines\n\tstay\r", "lines\n\tstay\\x0d");
    check_escaped("one\nline", 8, false, "one\\x0aline");
}
END_TEST

START_TEST(what_shows_nothing_or_turns_text_round_becomes_visible)
{
    /* first and last of each range, and the neighbours that people do write */
    static const uint32_t hidden[] = {
        0x0,     0x1f,    0x7f,    0x80,    0x9f,    0xad,    0x34f,   0x61c,   0x70f,
        0x115f,  0x1160,  0x17b4,  0x17b5,  0x180b,  0x180c,  0x180d,  0x180e,  0x180f,
        0x200b,  0x200c,  0x200d,  0x200e,  0x200f,  0x2028,  0x2029,  0x202a,  0x202e,
        0x2060,  0x2061,  0x2066,  0x2069,  0x206f,  0x2800,  0x3164,  0xfe00,  0xfe0f,
        0xfeff,  0xffa0,  0xfff0,  0xfff9,  0xfffb,  0xfffc,  0x13430, 0x1343f, 0x16fe4,
        0x1bca0, 0x1bca3, 0x1d159, 0x1d173, 0x1d17a, 0xe0000, 0xe0001, 0xe0020, 0xe007f,
        0xe0100, 0xe01ef, 0xe0fff,
    };
    static const uint32_t shown[] = {
        ' ',     '~',     0xa0,    0xac,    0xae,    0xe9,    0x34e,    0x350,
        0x61b,   0x61d,   0x115e,  0x1161,  0x17b3,  0x17b6,  0x180a,   0x1810,
        0x200a,  0x2010,  0x2027,  0x202f,  0x205f,  0x2070,  0x27ff,   0x2801,
        0x3000,  0x3163,  0x3165,  0xfdff,  0xfe10,  0xff9f,  0xffa1,   0xfffd,
        0x1f600, 0x1d158, 0x1d172, 0x1d17b, 0xdffff, 0xe1000, 0x10ffff,
    };
    char in[4], want[16];

    for (size_t i = 0; i < MP_COUNT(hidden); i++) {
        size_t n = mp_utf8_put(hidden[i], in);
        snprintf(want, sizeof want, hidden[i] < 0x80 ? "\\x%02x" : "\\u{%x}",
                 (unsigned)hidden[i]);
        check_escaped(in, n, false, want);
    }
    for (size_t i = 0; i < MP_COUNT(shown); i++) {
        size_t n = mp_utf8_put(shown[i], in);
        snprintf(want, sizeof want, "%.*s", (int)n, in);
        check_escaped(in, n, false, want);
    }
}
END_TEST

START_TEST(utf8_is_judged_strictly)
{
    static const struct {
        const char *bytes;
        size_t len, want;
    } table[] = {
        {"a", 1, 1},
        {"\xc3\xa9", 2, 2},
        {"\xe2\x82\xac", 3, 3},
        {"\xf0\x9f\x98\x80", 4, 4},
        {"\xc0\x80", 2, 0},
        {"\xe0\x80\x80", 3, 0},
        {"\xed\xa0\x80", 3, 0},
        {"\xf4\x90\x80\x80", 4, 0},
        {"\x80", 1, 0},
        {"\xc3", 1, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < MP_COUNT(table); i++)
        ck_assert_uint_eq(
            mp_utf8_len((const unsigned char *)table[i].bytes, table[i].len),
            table[i].want);
}
END_TEST

START_TEST(strings_written_as_json_are_valid_whatever_they_hold)
{
    static const struct mp_scan_limits limits = {.depth = 4, .tokens = 4};
    char bytes[256];
    struct mp_str s;
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    mp_str_init(&s, 10000);
    ck_assert(mp_str_add_json(&s, bytes, sizeof bytes));
    ck_assert_int_eq(mp_scan_text(s.data, s.len, &limits, NULL, NULL), MCPLUG_OK);
    mp_str_clear(&s);
}
END_TEST

START_TEST(a_string_never_grows_beyond_its_maximum)
{
    struct mp_str s;
    mp_str_init(&s, 10);
    ck_assert(mp_str_adds(&s, "0123456789"));
    ck_assert(!mp_str_addc(&s, 'x'));
    ck_assert(s.failed);
    ck_assert_uint_eq(s.len, 10);
    ck_assert(!mp_str_adds(&s, "")); /* and stays failed */
    ck_assert_ptr_null(mp_str_take(&s));
    ck_assert(mp_str_adds(&s, "again"));
    mp_str_clear(&s);
}
END_TEST

START_TEST(an_error_is_one_line_and_keeps_its_errno)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    ck_assert_int_eq(mp_fail_os(&err, MCPLUG_EIO, 2, "open\n%s", "x"), MCPLUG_EIO);
    ck_assert_str_eq(err.text, "open x: No such file or directory");
    ck_assert_int_eq(err.os_error, 2);
    ck_assert_int_eq(mp_fail(NULL, MCPLUG_EINVAL, "x"), MCPLUG_EINVAL);
    ck_assert_str_eq(mp_error_name(MCPLUG_EPEER), "EPEER");
    ck_assert_str_eq(mp_error_name(-99), "EUNKNOWN");
    ck_assert_str_eq(mp_error_name(1), "EUNKNOWN");
    ck_assert_str_eq(mp_error_name(INT_MAX), "EUNKNOWN");
    ck_assert_str_eq(mp_error_name(INT_MIN), "EUNKNOWN");
}
END_TEST

static void check_duration(uint64_t ms, bool exact, const char *want)
{
    char text[32];
    mp_text_duration(text, sizeof text, ms, exact);
    ck_assert_str_eq(text, want);
}

START_TEST(durations_are_rounded_but_limits_are_not)
{
    check_duration(0, false, "0ms");
    check_duration(340, false, "340ms");
    check_duration(1999, false, "1s");
    check_duration(59999, false, "59s");
    check_duration(125000, false, "2m 5s");
    check_duration(UINT64_MAX, false, "307445734561825m 51s");
    check_duration(0, true, "0ms");
    check_duration(250, true, "250ms");
    check_duration(1500, true, "1500ms");
    check_duration(300000, true, "300s");
    check_duration(UINT64_MAX, true, "18446744073709551615ms");
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, what_could_deceive_a_terminal_becomes_visible);
    tcase_add_test(tc, what_shows_nothing_or_turns_text_round_becomes_visible);
    tcase_add_test(tc, utf8_is_judged_strictly);
    tcase_add_test(tc, strings_written_as_json_are_valid_whatever_they_hold);
    tcase_add_test(tc, a_string_never_grows_beyond_its_maximum);
    tcase_add_test(tc, an_error_is_one_line_and_keeps_its_errno);
    tcase_add_test(tc, durations_are_rounded_but_limits_are_not);
}

int main(void)
{
    return run_suite("base_text", add);
}
