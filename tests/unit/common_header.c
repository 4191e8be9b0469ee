/* What may be put into a header field, and how the rest gets there. */
#include "../../plugins/common/header.h"
#include "suite.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(a_name_is_a_token)
{
    for (int c = 0; c < 256; c++) {
        char name[3] = {'a', (char)c, 'b'};
        int want = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                   (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
        ck_assert_msg(header_is_name(name, 3) == want, "byte %d", c);
    }
    ck_assert(header_is_name("X-Api-Key", 9));
    ck_assert(!header_is_name("", 0));
    ck_assert(!header_is_name("X: a", 4));
    ck_assert(!header_is_name("X\r\nY", 4));
    ck_assert(header_is_name("X\r\nY", 1)); /* only what the length says */
}
END_TEST

START_TEST(a_value_has_no_control_characters)
{
    for (int c = 1; c < 256; c++) {
        char value[4] = {'a', (char)c, 'b', '\0'};
        int want = c == '\t' || (c >= ' ' && c != 0x7F);
        ck_assert_msg(header_is_value(value) == want, "byte %d", c);
    }
    ck_assert(header_is_value(""));
    ck_assert(header_is_value("Bearer abc"));
    ck_assert(!header_is_value("a\r\nX: b"));
}
END_TEST

START_TEST(what_belongs_to_the_protocol_cannot_be_set)
{
    static const char *const reserved[] = {
        "Accept",
        "accept",
        "ACCEPT",
        "Content-Type",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Host",
        "hOST",
        "Upgrade",
        "TE",
        "te",
        "Trailer",
        "Expect",
        "Last-Event-ID",
        "last-event-id",
        "Mcp-Method",
        "MCP-Protocol-Version",
        "Mcp-Name",
        "Mcp-Session-Id",
        "MCP-SESSION-ID",
        "Mcp-Param-Region",
        "mcp-param-x",
        "MCP-PARAM-",
        "Mcp-Param-*",
        "Mcp-Param-*x",
        "Sec-WebSocket-Key",
        "sec-websocket-protocol",
        "Sec-WebSocket-*a",
    };
    static const char *const allowed[] = {
        "",
        "Authorization",
        "Accept-Language",
        "Accept-",
        "Acc",
        "X-Host",
        "Hosts",
        "T",
        "TEE",
        "Mcp",
        "Mcp-",
        "Mcp-Param",
        "Mcp-Names",
        "Mcp-Nam",
        "Cookie",
        "Sec-Fetch",
        "User-Agent",
        "Sec-WebSocket",
        "Mcp-Methods",
        "Content-Encoding",
    };
    for (size_t i = 0; i < COUNT(reserved); i++)
        ck_assert_msg(header_is_reserved(reserved[i]), "%s", reserved[i]);
    for (size_t i = 0; i < COUNT(allowed); i++)
        ck_assert_msg(!header_is_reserved(allowed[i]), "%s", allowed[i]);
}
END_TEST

/* Into memory of just the size promised, so that one byte more is noticed. Asserts only
 * what went wrong, since asserting is slow and there are many values. */
static char *encode(const char *value, size_t len, size_t *out_len)
{
    char *out = malloc(header_encoded_size(len));
    if (!out)
        abort();
    *out_len = header_encode(value, len, out);
    if (*out_len >= header_encoded_size(len) || strlen(out) != *out_len)
        ck_abort_msg("%zu bytes gave %zu", len, *out_len);
    return out;
}

START_TEST(values_are_written_as_the_protocol_wants_them)
{
    static const struct {
        const char *value;
        size_t len;
        const char *want;
    } table[] = {
#define ROW(value, want) {value, sizeof value - 1, want}
        ROW("", ""),
        ROW("us-west1", "us-west1"),
        ROW("a", "a"),
        ROW("us west 1", "us west 1"),
        ROW("a\tb", "=?base64?YQli?="),
        ROW("~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}", "~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}"),
        ROW("file:///path/to/file%20name.txt", "file:///path/to/file%20name.txt"),
        ROW("Hello, \xe4\xb8\x96\xe7\x95\x8c", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        ROW("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "=?base64?5pel5pys6Kqe?="),
        ROW(" padded ", "=?base64?IHBhZGRlZCA=?="),
        ROW(" us-west1", "=?base64?IHVzLXdlc3Qx?="),
        ROW("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
        ROW("\tindented", "=?base64?CWluZGVudGVk?="),
        ROW(" ", "=?base64?IA==?="),
        ROW("\t", "=?base64?CQ==?="),
        ROW("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ROW("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
        ROW("\0", "=?base64?AA==?="),
        ROW("a\0b", "=?base64?YQBi?="),
        ROW("\x7f", "=?base64?fw==?="),
        ROW("\xff\xff\xff", "=?base64?////?="),
        ROW("\xfb\xef\xbe", "=?base64?++++?="),
        ROW("\xff\xfe", "=?base64?//4=?="),
        /* what looks encoded, and what nearly does */
        ROW("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ROW("=?base64?"
            "?=",
            "=?base64?PT9iYXNlNjQ/Pz0=?="),
        ROW("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ROW("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ROW("=?BASE64?literal?=", "=?BASE64?literal?="),
        ROW("SGVsbG8=?=", "SGVsbG8=?="),
        ROW("=?base64?", "=?base64?"),
        ROW("=", "="),
#undef ROW
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        size_t len;
        char *out = encode(table[i].value, table[i].len, &len);
        ck_assert_str_eq(out, table[i].want);
        free(out);
    }
}
END_TEST

/* Whether the encoded `text` stands for `value`. */
static int stands_for(const char *text, size_t n, const char *value, size_t len)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, have = 0;
    size_t n_back = 0;

    if (n % 4 != 11 % 4 || strncmp(text, "=?base64?", 9) || strcmp(text + n - 2, "?="))
        return 0;
    for (size_t i = 9; i < n - 2 && text[i] != '='; i++) {
        const char *digit = strchr(digits, text[i]);
        if (!digit)
            return 0;
        bits = bits << 6 | (unsigned)(digit - digits);
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (n_back == len || (char)(bits >> have) != value[n_back++])
            return 0;
    }
    return n_back == len;
}

START_TEST(every_byte_comes_back_from_every_place)
{
    for (int c = 0; c < 256; c++)
        for (size_t len = 2; len <= 7; len++)
            for (size_t at = 0; at < len; at++) {
                char value[7];
                size_t n;
                memset(value, '\n', sizeof value); /* so that it is not plain */
                value[at] = (char)c;
                char *out = encode(value, len, &n);
                if (!stands_for(out, n, value, len))
                    ck_abort_msg("byte %d at %zu of %zu: %s", c, at, len, out);
                free(out);
            }
}
END_TEST

START_TEST(the_size_is_enough_and_never_wraps_around)
{
    ck_assert_uint_ge(header_encoded_size(0), 1);
    for (size_t len = 0; len < 1000; len++)
        ck_assert_uint_ge(header_encoded_size(len), len + 1);
    ck_assert_uint_gt(header_encoded_size(SIZE_MAX / 2), SIZE_MAX / 2);
    ck_assert_uint_eq(header_encoded_size(SIZE_MAX / 2 + 1), SIZE_MAX);
    ck_assert_uint_eq(header_encoded_size(SIZE_MAX), SIZE_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_header");
    TCase *t = tcase_create("all");

    tcase_add_test(t, a_name_is_a_token);
    tcase_add_test(t, a_value_has_no_control_characters);
    tcase_add_test(t, what_belongs_to_the_protocol_cannot_be_set);
    tcase_add_test(t, values_are_written_as_the_protocol_wants_them);
    tcase_add_test(t, every_byte_comes_back_from_every_place);
    tcase_add_test(t, the_size_is_enough_and_never_wraps_around);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
