/* Hosts as the network takes them. */
#include "../../plugins/common/ip.h"
#include "suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(one_address_is_the_same_in_all_its_spellings)
{
    static const char *const same[] = {
        "127.0.0.1",        "127.1",         "0x7f.1",         "2130706433",
        "::ffff:127.0.0.1", "::FFFF:7f00:1", "017700000001",   "0x7f000001",
        "127.0.1",          "0177.0.0.01",   "::127.0.0.1",    "64:ff9b::127.0.0.1",
        "0x7f.0x0.0x0.0x1", "::ffff:7f00:1", "64:ff9b::7f00:1"};
    static const char *const names[] = {
        "",  "localhost",   "dead.beef", "[::1]",  "1.2.3.4.5",  "::1%lo",
        "*", "127.0.0.1 x", "256.0.0.1", "1.2.3.", "4294967296", "127.0.0.0x"};
    unsigned char first[IP_BYTES], other[IP_BYTES];
    char text[IP_TEXT];

    ck_assert(ip_read(same[0], first));
    for (size_t i = 0; i < COUNT(same); i++) {
        ck_assert_msg(ip_read(same[i], other), "%s", same[i]);
        ck_assert_mem_eq(first, other, sizeof first);
        ip_text(other, text);
        ck_assert_str_eq(text, "127.0.0.1");
    }
    ck_assert(ip_read("::1", other));
    ck_assert_mem_ne(first, other, sizeof first);
    ip_text(other, text);
    ck_assert_str_eq(text, "::1");
    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_msg(!ip_read(names[i], other), "%s", names[i]);
}
END_TEST

START_TEST(a_host_is_plain_without_what_changes_nothing)
{
    static const char *const table[][2] = {
        {"LocalHost", "localhost"},
        {"localhost.", "localhost"},
        {"localhost..", "localhost"},
        {"[::1]", "::1"},
        {"::1%lo", "::1"},
        {"[FE80::1%25eth0]", "fe80::1"},
        {"%6cocalhost", "localhost"},
        {"%4C%4f%63alhost", "localhost"},
        {"127%2e0.0.1", "127.0.0.1"},
        {"a%", "a%"},
        {"a%4", "a%4"},
        {"%zz", "%zz"},
        {"", ""},
        {".", "."},
        {"%256cocal", "%6cocal"},
        {"[::1", "[::1"},
    };
    char out[IP_HOST_MAX], small[4];

    for (size_t i = 0; i < COUNT(table); i++) {
        ck_assert_msg(ip_plain_host(table[i][0], out, sizeof out), "%s", table[i][0]);
        ck_assert_str_eq(out, table[i][1]);
    }
    ck_assert(!ip_plain_host("a%00b", out, sizeof out));
    ck_assert(ip_plain_host("abc", small, sizeof small));
    ck_assert(!ip_plain_host("abcd", small, sizeof small));
}
END_TEST

START_TEST(what_connects_to_this_machine_is_loopback)
{
    static const char *const local[] = {"localhost",
                                        "a.localhost",
                                        "a.b.localhost",
                                        "*.localhost",
                                        "127.0.0.1",
                                        "127.1",
                                        "127.255.255.254",
                                        "0.0.0.0",
                                        "0",
                                        "::",
                                        "::1",
                                        "::ffff:127.0.0.1",
                                        "::ffff:127.9.9.9",
                                        "::127.0.0.1",
                                        "0x7f.1",
                                        "017700000001",
                                        "::ffff:0.0.0.0"};
    static const char *const others[] = {
        "",          "localhost.evil", "notlocalhost", "127.evil",         "128.0.0.1",
        "126.9.9.9", "0.0.0.1",        "::2",          "::ffff:128.0.0.1", "fe80::1",
        "*",         "localdomain"};

    for (size_t i = 0; i < COUNT(local); i++)
        ck_assert_msg(ip_host_is_loopback(local[i]), "%s", local[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        ck_assert_msg(!ip_host_is_loopback(others[i]), "%s", others[i]);
}
END_TEST

START_TEST(a_pattern_of_digits_is_about_addresses)
{
    static const char *const yes[] = {"10.*", "192.168.1.*", "127.0.0.1", "*.1", "10*"};
    static const char *const no[] = {"*", "*.*", "", "10.*.example", "a1", "::1", "0x*"};

    for (size_t i = 0; i < COUNT(yes); i++)
        ck_assert_msg(ip_is_pattern(yes[i]), "%s", yes[i]);
    for (size_t i = 0; i < COUNT(no); i++)
        ck_assert_msg(!ip_is_pattern(no[i]), "%s", no[i]);
}
END_TEST

START_TEST(a_socket_is_judged_by_its_address_and_port)
{
    static const struct {
        const char *rule, *host;
        unsigned port;
        int denied;
    } table[] = {
        {"127.*:*", "127.0.0.1", 80, 1},
        {"127.*:80", "127.9.9.9", 80, 1},
        {"127.*:80", "127.0.0.1", 81, 0},
        {"127.*:8*", "127.0.0.1", 81, 1},
        {"127.0.0.1:80", "127.0.0.1", 80, 1},
        {"127.0.0.1:80", "127.0.0.1", 8080, 0},
        {"127.*:*", "::ffff:127.0.0.1", 1, 1},
        {"127.*:*", "64:ff9b::7f00:1", 1, 1},
        {"[::1]:*", "::1", 80, 1},
        {"[::1]:80", "0:0::1", 80, 1},
        {"[::1]:*", "::2", 80, 0},
        {"[::]:*", "::", 80, 1},
        {"0.0.0.0:*", "0.0.0.0", 80, 1},
        {"10.*:*", "110.0.0.1", 80, 0},
        {"10.*:*", "10.0.0.1", 65535, 1},
        {"*:*", "192.168.0.1", 1, 1},
        {"169.254.169.254:80", "169.254.169.254", 80, 1},
    };

    for (size_t i = 0; i < COUNT(table); i++) {
        const char *rules[] = {"192.0.2.1:*", table[i].rule, NULL};
        struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                                   .sin6_port = htons((uint16_t)table[i].port)};
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = six.sin6_port};
        int is_six = inet_pton(AF_INET6, table[i].host, &six.sin6_addr) == 1;
        char out[IP_TEXT] = "";
        ck_assert(is_six || inet_pton(AF_INET, table[i].host, &four.sin_addr) == 1);
        const struct sockaddr *to = is_six ? (void *)&six : (void *)&four;
        ck_assert_msg(ip_is_denied_socket(rules, to, out) == table[i].denied, "%s: %s %u",
                      table[i].rule, table[i].host, table[i].port);
        ck_assert_int_eq(out[0] != '\0', table[i].denied);
    }
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    char out[IP_TEXT];
    ck_assert(
        !ip_is_denied_socket((const char *const[]){"*:*", NULL}, (void *)&local, out));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_ip");
    TCase *t = tcase_create("ip");
    tcase_add_test(t, one_address_is_the_same_in_all_its_spellings);
    tcase_add_test(t, a_host_is_plain_without_what_changes_nothing);
    tcase_add_test(t, what_connects_to_this_machine_is_loopback);
    tcase_add_test(t, a_pattern_of_digits_is_about_addresses);
    tcase_add_test(t, a_socket_is_judged_by_its_address_and_port);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
