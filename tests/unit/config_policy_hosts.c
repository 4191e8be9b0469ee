/* Hosts before the policy: one machine in all its spellings. */
#include "base/buf.h"
#include "base/mem.h"
#include "config/policy.h"
#include "config/policy_url.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *url;
    enum mp_verdict verdict;
};

#define OK MP_ALLOWED
#define NO MP_NOT_ALLOWED
#define BLOCKED MP_BLOCKED

/* A policy with one rule for each scheme; HOST has no port, `port` may be a star. */
static struct mp_policy *policy_for(const char *list, const char *host, const char *port)
{
    static const char *const starts[] = {"http://", "https://", "ws://", "wss://",
                                         "tcp:"};
    char text[2048] = "";
    struct mp_policy *policy = NULL;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    size_t n = (size_t)snprintf(text, sizeof text, "{\"%s\":[", list);

    for (size_t i = 0; i < MP_COUNT(starts); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s{\"url\":\"%s%s:%s\"}",
                              i ? "," : "", starts[i], host, port);
    snprintf(text + n, sizeof text - n, "]}");
    int r = mp_policy_parse(mp_text(text), &policy, NULL, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s: %s", text, err.text);
    return policy;
}

static void check_rows(const char *list, const char *host, const struct row *rows,
                       size_t n)
{
    struct mp_policy *policy = policy_for(list, host, "*");

    for (size_t i = 0; i < n; i++) {
        struct mp_subject subject = {.name = "srv", .url = rows[i].url};
        enum mp_verdict verdict = mp_policy_judge(policy, &subject);
        ck_assert_msg(verdict == rows[i].verdict, "%s %s: %s: %d instead of %d", list,
                      host, rows[i].url, verdict, rows[i].verdict);
    }
    mp_policy_free(policy);
}

START_TEST(every_spelling_of_this_machine_is_this_machine)
{
    static const struct row rows[] = {
        /* names */
        {"http://localhost/", BLOCKED},
        {"http://localhost", BLOCKED},
        {"http://localhost:80/", BLOCKED},
        {"http://localhost:8080/mcp", BLOCKED},
        {"https://localhost/", BLOCKED},
        {"https://localhost:443/", BLOCKED},
        {"ws://localhost/", BLOCKED},
        {"ws://localhost:4999", BLOCKED},
        {"wss://localhost/", BLOCKED},
        {"http://LOCALHOST/", BLOCKED},
        {"HTTP://LocalHost/", BLOCKED},
        {"http://localhost./", BLOCKED},
        {"http://LOCALHOST.:80/", BLOCKED},
        {"http://x.localhost/", BLOCKED},
        {"http://x.y.localhost/", BLOCKED},
        {"http://x.localhost.:81/", BLOCKED},
        {"http://X.LocalHost/", BLOCKED},
        {"http://127.0.0.1.localhost/", BLOCKED},
        {"ws://x.localhost:1/", BLOCKED},
        {"tcp:localhost:80", BLOCKED},
        {"tcp://localhost:80", BLOCKED},
        {"TCP:LOCALHOST:80", BLOCKED},
        {"tcp:localhost.:80", BLOCKED},
        {"tcp:x.localhost:80", BLOCKED},
        {"tcp:x.localhost.:080", BLOCKED},
        {"tcp:%6cocalhost:80", BLOCKED},
        {"tcp:%4c%4F%43alhost:80", BLOCKED},
        /* IPv4 */
        {"http://127.0.0.1/", BLOCKED},
        {"http://127.0.0.1:65535/", BLOCKED},
        {"https://127.0.0.1/", BLOCKED},
        {"ws://127.0.0.1:4999/", BLOCKED},
        {"http://127.0.0.2/", BLOCKED},
        {"http://127.1.2.3/", BLOCKED},
        {"http://127.255.255.255/", BLOCKED},
        {"http://127.0.0.0/", BLOCKED},
        {"http://0.0.0.0/", BLOCKED},
        {"http://0.0.0.0:8080/", BLOCKED},
        {"ws://0.0.0.0/", BLOCKED},
        {"http://127.1/", BLOCKED},
        {"http://127.0.1/", BLOCKED},
        {"http://2130706433/", BLOCKED},
        {"http://017700000001/", BLOCKED},
        {"http://0x7f000001/", BLOCKED},
        {"http://0x7F.1/", BLOCKED},
        {"http://0177.1/", BLOCKED},
        {"http://0177.0.0.1/", BLOCKED},
        {"http://0177.0.0.01/", BLOCKED},
        {"http://0x7f.0x0.0x0.0x1/", BLOCKED},
        {"http://0/", BLOCKED},
        {"http://0x0/", BLOCKED},
        {"http://127.0.0.1./", BLOCKED},
        {"http://127.000.000.001/", BLOCKED},
        {"tcp:127.0.0.1:80", BLOCKED},
        {"tcp:127.0.0.1:1", BLOCKED},
        {"tcp:127.9.9.9:80", BLOCKED},
        {"tcp:127.1:80", BLOCKED},
        {"tcp:127.0.1:80", BLOCKED},
        {"tcp:2130706433:80", BLOCKED},
        {"tcp:017700000001:80", BLOCKED},
        {"tcp:0x7f000001:80", BLOCKED},
        {"tcp:0x7F.1:80", BLOCKED},
        {"tcp:0177.1:80", BLOCKED},
        {"tcp:0177.0x0.0.1:80", BLOCKED},
        {"tcp:0:80", BLOCKED},
        {"tcp:00:80", BLOCKED},
        {"tcp:0x0:80", BLOCKED},
        {"tcp:0.0:80", BLOCKED},
        {"tcp:0.0.0.0:80", BLOCKED},
        {"tcp:127.0.0.1.:80", BLOCKED},
        {"tcp:127%2e0%2E0.1:80", BLOCKED},
        /* IPv6 */
        {"http://[::1]/", BLOCKED},
        {"http://[::1]:80/", BLOCKED},
        {"ws://[::1]:4999/", BLOCKED},
        {"http://[0:0:0:0:0:0:0:1]/", BLOCKED},
        {"http://[0000:0000:0000:0000:0000:0000:0000:0001]/", BLOCKED},
        {"http://[::0001]/", BLOCKED},
        {"http://[::0.0.0.1]/", BLOCKED},
        {"http://[::]/", BLOCKED},
        {"http://[0::0]/", BLOCKED},
        {"http://[0:0:0:0:0:0:0:0]:8080/", BLOCKED},
        {"http://[::ffff:127.0.0.1]/", BLOCKED},
        {"http://[::FFFF:127.0.0.1]/", BLOCKED},
        {"http://[::ffff:7f00:1]/", BLOCKED},
        {"http://[::ffff:127.8.8.8]/", BLOCKED},
        {"http://[0:0:0:0:0:ffff:127.0.0.1]/", BLOCKED},
        {"http://[::ffff:0.0.0.0]/", BLOCKED},
        {"http://[::127.0.0.1]/", BLOCKED},
        {"http://[64:ff9b::127.0.0.1]/", BLOCKED},
        {"http://[64:ff9b::7f00:1]/", BLOCKED},
        {"http://[::1%25lo]/", BLOCKED},
        {"tcp:[::1]:80", BLOCKED},
        {"tcp:[0:0::1]:80", BLOCKED},
        {"tcp:[::]:80", BLOCKED},
        {"tcp:[::ffff:127.0.0.1]:80", BLOCKED},
        {"tcp:[::FFFF:7F00:0001]:80", BLOCKED},
        {"tcp:[::1%lo]:80", BLOCKED},
        {"tcp:[::1%251]:80", BLOCKED},
        {"tcp:[::127.0.0.1]:80", BLOCKED},
        /* what cannot be read, and so may be anything */
        {"http://%6cocalhost/", BLOCKED},
        {"http://127%2e0.0.1/", BLOCKED},
        {"http://user@localhost/", BLOCKED},
        {"http://localhost\\@evil.example/", BLOCKED},
        {"http://local\thost/", BLOCKED},
        {"http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", BLOCKED},
        {"http://\xe2\x93\x9bocalhost/", BLOCKED},
        {"http:localhost/", BLOCKED},
        {"http:///localhost/", BLOCKED},
        {"tcp:local host:80", BLOCKED},
        {"tcp:local%00host:80", BLOCKED},
        {"tcp:\xe2\x93\x9bocalhost:80", BLOCKED},
        {"tcp:localhost\\:80", BLOCKED},
        /* other machines, and other schemes */
        {"http://localhost.example/", OK},
        {"http://notlocalhost/", OK},
        {"http://local.host/", OK},
        {"http://127.0.0.1.example/", OK},
        {"http://128.0.0.1/", OK},
        {"http://126.255.255.255/", OK},
        {"http://0.0.0.1/", OK},
        {"http://10.0.0.1/", OK},
        {"http://169.254.169.254/", OK},
        {"http://[::2]/", OK},
        {"http://[fe80::1]/", OK},
        {"http://[::ffff:128.0.0.1]/", OK},
        {"http://example.com/localhost", OK},
        {"http://example.com/?127.0.0.1", OK},
        {"tcp:128.0.0.1:80", OK},
        {"tcp:2147483649:80", OK},
        {"tcp:[::2]:80", OK},
        {"tcp:localhost.example:80", OK},
        {"unix:/run/localhost", OK},
    };
    /* whichever of them stands in the rule */
    static const char *const hosts[] = {"localhost",   "LOCALHOST.",        "x.localhost",
                                        "*.localhost", "127.0.0.1",         "127.1",
                                        "2130706433",  "0177.0.0.1",        "0x7f.1",
                                        "127.9.9.9",   "0.0.0.0",           "[::1]",
                                        "[::]",        "[::ffff:127.0.0.1]"};

    ck_assert_uint_ge(MP_COUNT(rows), 100);
    for (size_t i = 0; i < MP_COUNT(hosts); i++)
        check_rows("deny", hosts[i], rows, MP_COUNT(rows));
}
END_TEST

START_TEST(any_address_is_denied_in_all_its_spellings)
{
    static const struct row rows[] = {
        {"http://10.1.2.3/", BLOCKED},
        {"http://10.1.2.3:8080/", BLOCKED},
        {"http://[::ffff:10.1.2.3]/", BLOCKED},
        {"http://[::ffff:a01:203]/", BLOCKED},
        {"http://[64:ff9b::10.1.2.3]/", BLOCKED},
        {"http://167838211/", BLOCKED},
        {"http://012.1.2.3/", BLOCKED},
        {"tcp:10.1.2.3:80", BLOCKED},
        {"tcp:167838211:80", BLOCKED},
        {"tcp:012.1.515:80", BLOCKED},
        {"tcp:0xa.0x1.0x2.0x3:80", BLOCKED},
        {"tcp:10.66051:80", BLOCKED},
        {"tcp:[::ffff:10.1.2.3]:80", BLOCKED},
        {"http://11.1.2.3/", OK},
        {"http://localhost/", OK},
        {"http://example.com/", OK},
        {"tcp:11.1.2.3:80", OK},
    };
    static const char *const hosts[] = {"10.1.2.3", "10.*", "10.1.*", "167838211",
                                        "[::ffff:10.1.2.3]"};

    for (size_t i = 0; i < MP_COUNT(hosts); i++)
        check_rows("deny", hosts[i], rows, MP_COUNT(rows));
}
END_TEST

/* A star stands for letters as well, and for "deny" it may mean more. */
START_TEST(a_pattern_that_fits_one_spelling_fits_all)
{
    static const struct row rows[] = {
        {"http://localhost/", BLOCKED},
        {"http://x.localhost/", BLOCKED},
        {"http://[::1]/", BLOCKED},
        {"http://0.0.0.0/", BLOCKED},
        {"http://127.1.2.3/", BLOCKED},
        {"http://[::ffff:127.0.0.1]/", BLOCKED},
        {"http://127.0.0.1.example/", BLOCKED},
        {"tcp:localhost:80", BLOCKED},
        {"tcp:127.1:80", BLOCKED},
        {"tcp:[::1]:80", BLOCKED},
        {"tcp:[::]:1", BLOCKED},
        {"tcp:0:1", BLOCKED},
        {"http://10.0.0.1/", OK},
        {"tcp:10.0.0.1:80", OK},
        {"http://[::2]/", OK},
        {"http://local.example/", OK},
    };

    check_rows("deny", "127.*", rows, MP_COUNT(rows));
    struct mp_policy *policy = NULL;
    ck_assert_int_eq(mp_policy_parse(mp_text("{\"deny\":[{\"url\":\"tcp:127.*\"}]}"),
                                     &policy, NULL, NULL),
                     MCPLUG_OK);
    struct mp_subject subject = {.name = "srv", .url = "tcp:[::1]:80"};
    ck_assert_int_eq(mp_policy_judge(policy, &subject), MP_BLOCKED);
    mp_policy_free(policy);
}
END_TEST

START_TEST(an_allowed_host_is_that_spelling_alone)
{
    static const struct row local[] = {
        {"http://127.0.0.1/", OK},   {"http://127.0.0.1:8080/", OK},
        {"tcp:127.0.0.1:80", OK},    {"ws://127.0.0.1:1/", OK},
        {"http://localhost/", NO},   {"http://[::1]/", NO},
        {"http://0.0.0.0/", NO},     {"http://127.0.0.2/", NO},
        {"http://127.1/", NO},       {"tcp:127.1:80", NO},
        {"tcp:localhost:80", NO},    {"http://[::ffff:127.0.0.1]/", NO},
        {"http://x.localhost/", NO}, {"http://127.0.0.1.example/", NO},
    };
    /* nor is a name an address because it begins like one */
    static const struct row block[] = {
        {"http://10.1.2.3/", OK},        {"tcp:10.1.2.3:80", OK},
        {"http://10.evil.example/", NO}, {"tcp:10.evil.example:80", NO},
        {"ws://10.0.0.1.evil/", NO},     {"tcp:10.1:80", NO},
        {"http://[::ffff:a00:1]/", NO},  {"http://110.1.2.3/", NO},
    };

    check_rows("allow", "127.0.0.1", local, MP_COUNT(local));
    check_rows("allow", "10.*", block, MP_COUNT(block));
}
END_TEST

START_TEST(a_port_that_is_not_written_is_the_schemes_own)
{
    static const struct {
        const char *port, *url;
        enum mp_verdict verdict;
    } rows[] = {
        {"80", "http://localhost/", BLOCKED},
        {"80", "http://127.0.0.1:80/", BLOCKED},
        {"80", "ws://[::1]/", BLOCKED},
        {"443", "https://localhost/", BLOCKED},
        {"443", "wss://0.0.0.0:443/", BLOCKED},
        {"80", "http://localhost:81/", OK},
        {"443", "http://localhost/", OK},
        {"80", "https://localhost/", OK},
        {"80", "tcp:127.1:80", BLOCKED},
        {"80", "tcp:127.1:0080", BLOCKED},
        {"80", "tcp:127.1:81", OK},
        {"80", "tcp:localhost", OK},
        {"*", "http://x.localhost:1/", BLOCKED},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        struct mp_policy *policy = policy_for("deny", "127.0.0.1", rows[i].port);
        struct mp_subject subject = {.name = "srv", .url = rows[i].url};
        ck_assert_msg(mp_policy_judge(policy, &subject) == rows[i].verdict, "%s: %s",
                      rows[i].port, rows[i].url);
        mp_policy_free(policy);
    }
}
END_TEST

static bool note(void *arg, const char *address)
{
    strcat(strcat(arg, address), " ");
    return true;
}

#define LOCAL(port) "127.*:" port " 0.0.0.0:" port " [::1]:" port " [::]:" port " "

START_TEST(rules_about_addresses_reach_the_modules)
{
    static const struct {
        const char *rule, *url, *addresses;
    } rows[] = {
        {"http://10.1.2.3", "http://h/", "10.1.2.3:80 "},
        {"http://10.1.2.3:*", "http://h:81/", "10.1.2.3:* "},
        {"http://10.*:8080", "http://h:8080/", "10.*:8080 "},
        {"http://167838211", "http://h/", "10.1.2.3:80 "},
        {"http://[2001:DB8::0:1]", "http://h/", "[2001:db8::1]:80 "},
        {"http://[::ffff:10.1.2.3]", "http://h/", "10.1.2.3:80 "},
        {"http://localhost", "http://h/", LOCAL("80")},
        {"http://*.localhost:*", "http://h/", LOCAL("*")},
        {"ws://[::1]:9", "ws://h:9/", LOCAL("9") "[::1]:9 "},
        {"http://127.*:*", "http://h/", LOCAL("*") "127.*:* "},
        {"tcp:10.1.2.3:*", "tcp:h:80", "10.1.2.3:* "},
        {"tcp:127.0.0.1:80", "tcp:h:80", LOCAL("80") "127.0.0.1:80 "},
        {"tcp:10.*", "tcp:h:80", "10.*:* "},
        {"http://10.1.2.3/admin/*", "http://h/admin/x", "10.1.2.3:80 "},
        /* another port, path, scheme, or nothing about addresses */
        {"http://10.1.2.3", "http://h:81/", ""},
        {"http://10.1.2.3/admin/*", "http://h/x", ""},
        {"http://10.1.2.3", "ws://h/", ""},
        {"tcp:10.1.2.3:80", "tcp:h:81", ""},
        {"tcp:10.1.2.3", "tcp:h:80", ""},
        {"http://evil.example", "http://h/", ""},
        {"http://a1.example", "http://h/", ""},
        {"unix:/run/x", "unix:/run/y", ""},
    };
    char text[512], got[512];

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        const char *others[] = {rows[i].url, NULL};
        struct mp_subject subject = {.name = "srv", .url = rows[i].url};
        struct mp_subject beside = {.name = "srv", .urls = others};
        struct mp_policy *policy = NULL;
        snprintf(text, sizeof text, "{\"deny\":[{\"url\":\"%s\"}]}", rows[i].rule);
        ck_assert_int_eq(mp_policy_parse(mp_text(text), &policy, NULL, NULL), MCPLUG_OK);
        got[0] = '\0';
        ck_assert(mp_policy_addresses(policy, &subject, note, got));
        ck_assert_msg(strcmp(got, rows[i].addresses) == 0, "%s %s: %s", rows[i].rule,
                      rows[i].url, got);
        got[0] = '\0';
        ck_assert(mp_policy_addresses(policy, &beside, note, got));
        ck_assert_str_eq(got, rows[i].addresses);
        mp_policy_free(policy);
    }
}
END_TEST

START_TEST(rules_about_other_servers_are_kept_from_the_modules)
{
    static const char text[] = "{\"allow\":[{\"url\":\"http://10.9.9.9\"}],\"deny\":["
                               "{\"name\":\"other\",\"url\":\"http://10.1.1.1\"},"
                               "{\"name\":\"s*\",\"url\":\"http://10.2.2.2\"},"
                               "{\"command\":[\"x\"],\"url\":\"http://10.3.3.3\"}]}";
    const char *x[] = {"x", NULL}, *y[] = {"y", NULL};
    struct mp_subject subject = {.name = "srv", .url = "http://h/", .command = x};
    struct mp_policy *policy = NULL;
    char got[512] = "";

    ck_assert_int_eq(mp_policy_parse(mp_text(text), &policy, NULL, NULL), MCPLUG_OK);
    ck_assert(mp_policy_addresses(policy, &subject, note, got));
    ck_assert_str_eq(got, "10.2.2.2:80 10.3.3.3:80 ");
    subject.command = y;
    got[0] = '\0';
    ck_assert(mp_policy_addresses(policy, &subject, note, got));
    ck_assert_str_eq(got, "10.2.2.2:80 ");
    mp_policy_free(policy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_policy_hosts");
    TCase *t = tcase_create("all");

    tcase_add_test(t, every_spelling_of_this_machine_is_this_machine);
    tcase_add_test(t, any_address_is_denied_in_all_its_spellings);
    tcase_add_test(t, a_pattern_that_fits_one_spelling_fits_all);
    tcase_add_test(t, an_allowed_host_is_that_spelling_alone);
    tcase_add_test(t, a_port_that_is_not_written_is_the_schemes_own);
    tcase_add_test(t, rules_about_addresses_reach_the_modules);
    tcase_add_test(t, rules_about_other_servers_are_kept_from_the_modules);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
