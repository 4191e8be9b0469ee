/* Addresses of servers: what they are made of, what is refused, where a request goes. */
#include "../../plugins/common/url.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define LABEL_63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"
#define NAME_253                                                                         \
    LABEL_63 "." LABEL_63 "." LABEL_63 ".bbbbbbbbbbccccccccccddddddddddeeeeeeeeee"       \
             "ffffffffff12345678901"

START_TEST(a_url_is_taken_apart)
{
    static const struct {
        const char *text, *scheme, *host;
        int port, secure, is_ipv6;
        const char *target;
    } table[] = {
        {"http://h", "http", "h", 80, 0, 0, ""},
        {"https://h", "https", "h", 443, 1, 0, ""},
        {"ws://h/", "ws", "h", 80, 0, 0, "/"},
        {"wss://h/x", "wss", "h", 443, 1, 0, "/x"},
        {"HTTPS://Example.COM/MCP", "https", "example.com", 443, 1, 0, "/MCP"},
        {"http://h:1", "http", "h", 1, 0, 0, ""},
        {"http://h:65535/", "http", "h", 65535, 0, 0, "/"},
        {"http://h:443/", "http", "h", 443, 0, 0, "/"},
        {"http://h/a/b?c=d&e#f", "http", "h", 80, 0, 0, "/a/b?c=d&e"},
        {"http://h?q", "http", "h", 80, 0, 0, "?q"},
        {"http://h#f", "http", "h", 80, 0, 0, ""},
        {"http://h/#f#g?h", "http", "h", 80, 0, 0, "/"},
        {"http://h/?a?b/c:d@e", "http", "h", 80, 0, 0, "/?a?b/c:d@e"},
        {"http://h/a@b:c//d", "http", "h", 80, 0, 0, "/a@b:c//d"},
        {"http://h/%00%zz\"<>^`{|}", "http", "h", 80, 0, 0, "/%00%zz\"<>^`{|}"},
        {"http://a-b.c_d.e1/", "http", "a-b.c_d.e1", 80, 0, 0, "/"},
        {"http://h./", "http", "h.", 80, 0, 0, "/"},
        {"http://127.0.0.1:8080/mcp", "http", "127.0.0.1", 8080, 0, 0, "/mcp"},
        {"http://1.2.3.4.example/", "http", "1.2.3.4.example", 80, 0, 0, "/"},
        {"http://0x7g/", "http", "0x7g", 80, 0, 0, "/"},
        {"http://[::1]/", "http", "::1", 80, 0, 1, "/"},
        {"http://[::1]:81/", "http", "::1", 81, 0, 1, "/"},
        {"https://[2001:DB8::A]:8443/x", "https", "2001:db8::a", 8443, 1, 1, "/x"},
        {"http://[0:0:0:0:0:0:0:1]", "http", "::1", 80, 0, 1, ""},
        {"http://[::ffff:1.2.3.4]/", "http", "::ffff:1.2.3.4", 80, 0, 1, "/"},
        {"http://" LABEL_63 ".x/", "http", LABEL_63 ".x", 80, 0, 0, "/"},
        {"http://" NAME_253 "/", "http", NAME_253, 80, 0, 0, "/"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        struct url u;
        const char *why = url_parse(table[i].text, &u);
        ck_assert_msg(!why, "%s: %s", table[i].text, why);
        ck_assert_str_eq(u.scheme, table[i].scheme);
        ck_assert_str_eq(u.host, table[i].host);
        ck_assert_int_eq(u.port, table[i].port);
        ck_assert_int_eq(u.secure, table[i].secure);
        ck_assert_int_eq(u.is_ipv6, table[i].is_ipv6);
        ck_assert_uint_eq(u.target_len, strlen(table[i].target));
        ck_assert(!strncmp(table[i].text + u.target, table[i].target, u.target_len));
    }
}
END_TEST

START_TEST(what_others_might_read_differently_is_refused)
{
    static const struct {
        const char *text, *part; /* of the reason */
    } table[] = {
        {"", "empty"},
        {"h", "begin with"},
        {"//h/", "begin with"},
        {"/x", "begin with"},
        {"http", "begin with"},
        {"http:", "begin with"},
        {"http:/h", "begin with"},
        {"http:h", "begin with"},
        {"httpx://h", "begin with"},
        {"htt://h", "begin with"},
        {"ftp://h/", "begin with"},
        {"file:///etc/passwd", "begin with"},
        {"javascript://h/", "begin with"},
        {"unix:///x", "begin with"},
        {"wsss://h", "begin with"},
        {"w://h", "begin with"},
        {"http://", "no host"},
        {"http:///x", "no host"},
        {"http://?q", "no host"},
        {"http://#f", "no host"},
        {"http://:80/", "no host"},
        {"http://user@h/", "user name; use a header"},
        {"http://user:pw@h/", "user name"},
        {"http://@h/", "user name"},
        {"http://h@evil/", "user name"},
        {"http://h:80@evil/", "user name"},
        {"http://[::1]@evil/", "user name"},
        {"http://h:/", "port"},
        {"http://h:0/", "port"},
        {"http://h:00/", "port"},
        {"http://h:080/", "port"},
        {"http://h:65536/", "port"},
        {"http://h:99999/", "port"},
        {"http://h:4294967376/", "port"},
        {"http://h:-1/", "port"},
        {"http://h:+1/", "port"},
        {"http://h:8a/", "port"},
        {"http://h:80:80/", "port"},
        {"http://[::1]:/", "port"},
        {"http://[::1]80/", "host"},
        {"http://[::1]x:80/", "host"},
        {"http://[::1/", "IPv6"},
        {"http://[]/", "IPv6"},
        {"http://[h]/", "IPv6"},
        {"http://[127.0.0.1]/", "IPv6"},
        {"http://[::1%25lo]/", "IPv6"},
        {"http://[fe80::1%eth0]/", "IPv6"},
        {"http://[1:2:3:4:5:6:7:8:9]/", "IPv6"},
        {"http://[::1::]/", "IPv6"},
        {"http://[[::1]]/", "IPv6"},
        {"http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]/", "IPv6"},
        {"http://::1/", "no host"},
        {"http://a]/", "host"},
        {"http://h%2eevil/", "escape"},
        {"http://%68/", "escape"},
        {"http://h\\/", "backslash"},
        {"http://h\\@evil/", "backslash"},
        {"http:\\\\h/", "backslash"},
        {"http://h/a\\b", "backslash"},
        {"http://h/?\\", "backslash"},
        {"http://h/#\\", "backslash"},
        {" http://h/", "blank"},
        {"http://h/ ", "blank"},
        {"http://h /", "blank"},
        {"http://h/a b", "blank"},
        {"http://h/a\tb", "control"},
        {"http://h/a\nb", "control"},
        {"http://h/\r\nX: y", "control"},
        {"ht\ntp://h/", "control"},
        {"http://h/\x01", "control"},
        {"http://h/#\x7f", "control"},
        {"http://h/\x80", "ASCII"},
        {"http://h/\xc3\xa9", "ASCII"},
        {"http://h/\xd0\xb0", "needs an escape"},
        {"http://b\xc3\xbc"
         "cher.example/",
         "xn--"},
        {"http://\xd0\xb0pple.example/x", "xn--"},
        {"http://\xef\xbd\x88/", "xn--"},
        {"http://\xef\xbd\x88", "xn--"},
        {"http://h\xef\xbc\x8f@evil/", "xn--"},
        {"http://evil.example\\@\xd0\xb0/", "backslash"},
        {"\xd0\xb0://h/", "ASCII"},
        {"https:x/?://good/", "begin with"},
        {"https:///good/", "no host"},
        {"https:////good/", "no host"},
        {"http://h\t/", "control"},
        {"http://127.1/", "IPv4"},
        {"http://2130706433/", "IPv4"},
        {"http://0/", "IPv4"},
        {"http://0x7f000001/", "IPv4"},
        {"http://0x/", "IPv4"},
        {"http://0X7F.1/", "IPv4"},
        {"http://0177.0.0.1/", "IPv4"},
        {"http://127.0.0.01/", "IPv4"},
        {"http://127.0.0.1./", "IPv4"},
        {"http://127.0.0.256/", "IPv4"},
        {"http://1.2.3.4.5/", "IPv4"},
        {"http://h.0x7f/", "IPv4"},
        {"http://h.1/", "IPv4"},
        {"http://h.1./", "IPv4"},
        {"http://./", "host"},
        {"http://.h/", "host"},
        {"http://h../", "host"},
        {"http://a..b/", "host"},
        {"http://a,b/", "host"},
        {"http://a*b/", "host"},
        {"http://a!b/", "host"},
        {"http://a;b/", "host"},
        {"http://a&b/", "host"},
        {"http://a|b/", "host"},
        {"http://" LABEL_63 "a/", "host"},
        {"http://" NAME_253 "a/", "too long"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        struct url u, before;
        memset(&u, 'x', sizeof u);
        before = u;
        const char *why = url_parse(table[i].text, &u);
        ck_assert_msg(why, "%s was taken", table[i].text);
        ck_assert_msg(strstr(why, table[i].part), "%s: %s", table[i].text, why);
        ck_assert_int_eq(memcmp(&u, &before, sizeof u), 0);
    }
    struct url u;
    ck_assert_str_eq(url_parse(NULL, &u), "is empty");
}
END_TEST

static char *long_url(size_t len)
{
    char *text = malloc(len + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, 'a', len);
    memcpy(text, "http://h/", 9);
    text[len] = '\0';
    return text;
}

START_TEST(lengths_have_a_limit)
{
    static const size_t lengths[] = {URL_MAX - 1, URL_MAX, URL_MAX + 1, 100000};
    struct url u;
    char out[URL_MAX];
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char *text = long_url(lengths[i]);
        int fits = lengths[i] < URL_MAX;
        const char *why = url_parse(text, &u);
        ck_assert(fits ? !why : why && !strcmp(why, "is too long"));
        ck_assert_int_eq(!url_resolve("http://h", text, out, sizeof out), fits);
        ck_assert_int_eq(!url_resolve(text, "", out, sizeof out), fits);
        ck_assert(!fits || !strcmp(out, text));
        ck_assert_int_eq(!url_resolve("http://h", text + 8, out, sizeof out), fits);
        free(text);
    }
    char *text = long_url(URL_MAX - 2);
    ck_assert_str_eq(url_resolve(text, "?q", out, sizeof out), "is too long");
    ck_assert_ptr_null(url_resolve(text, "?", out, sizeof out));
    ck_assert_ptr_null(url_resolve(text, "b", out, sizeof out));
    ck_assert_str_eq(out, "http://h/b");
    free(text);

    memset(out, 'x', sizeof out);
    ck_assert_str_eq(url_resolve("http://h/", "b", out, 10), "is too long");
    ck_assert_str_eq(url_resolve("http://h/", "b", out, 0), "is too long");
    ck_assert_int_eq(out[0], 'x');
    ck_assert_ptr_null(url_resolve("http://h/", "b", out, 11));
    ck_assert_ptr_nonnull(url_redirect("http://h/", "/b", 307, 0, 0, out, 10));
    ck_assert_ptr_null(url_redirect("http://h/", "/b", 307, 0, 0, out, 11));
}
END_TEST

START_TEST(origins_are_compared_by_scheme_host_and_port)
{
    static const struct {
        const char *a, *b;
        int want;
    } table[] = {
        {"http://h/a", "http://h/b?c", 1},
        {"http://h", "HTTP://H:80/", 1},
        {"https://h", "https://h:443", 1},
        {"http://h", "ws://h", 1},
        {"https://h", "wss://h", 1},
        {"http://[::1]", "http://[0:0::0:1]:80", 1},
        {"http://h", "https://h", 0},
        {"http://h:443", "https://h", 0},
        {"http://h", "wss://h", 0},
        {"http://h", "http://h:81", 0},
        {"http://h", "http://g", 0},
        {"http://h", "http://h.", 0},
        {"http://h", "http://h.h", 0},
        {"http://127.0.0.1", "http://localhost", 0},
        {"http://127.0.0.1", "http://[::ffff:127.0.0.1]", 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        struct url a, b;
        ck_assert_ptr_null(url_parse(table[i].a, &a));
        ck_assert_ptr_null(url_parse(table[i].b, &b));
        ck_assert_msg(url_same_origin(&a, &b) == table[i].want, "%s %s", table[i].a,
                      table[i].b);
        ck_assert_int_eq(url_same_origin(&b, &a), table[i].want);
    }
}
END_TEST

START_TEST(this_machine_is_known_by_its_names)
{
    static const struct {
        const char *text;
        int want;
    } table[] = {
        {"http://localhost", 1},       {"http://LOCALHOST:1/", 1},
        {"http://a.localhost/", 1},    {"http://a.b.localhost/", 1},
        {"http://127.0.0.1/", 1},      {"http://127.255.255.254/", 1},
        {"http://[::1]/", 1},          {"http://[0:0:0:0:0:0:0:1]/", 1},
        {"http://localhost.evil/", 0}, {"http://notlocalhost/", 0},
        {"http://127.0.0.1.evil/", 0}, {"http://127.evil/", 0},
        {"http://128.0.0.1/", 0},      {"http://12.7.0.1/", 0},
        {"http://[::2]/", 0},          {"http://[::]/", 1},
        {"http://0.0.0.0/", 1},        {"http://example.com/localhost", 0},
        {"http://h?localhost", 0},     {"http://localhost./", 1},
        {"http://a.localhost./", 1},   {"http://[::ffff:127.0.0.1]/", 1},
        {"http://0.0.0.1/", 0},        {"http://[::ffff:128.0.0.1]/", 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        struct url u;
        ck_assert_ptr_null(url_parse(table[i].text, &u));
        ck_assert_msg(url_is_loopback(&u) == table[i].want, "%s", table[i].text);
    }
}
END_TEST

START_TEST(an_origin_is_written_without_the_default_port)
{
    static const char *const table[][2] = {
        {"HTTP://H/x?y#z", "http://h"},
        {"http://h:80", "http://h"},
        {"http://h:443", "http://h:443"},
        {"https://h:443/", "https://h"},
        {"wss://h:80", "wss://h:80"},
        {"ws://h", "ws://h"},
        {"http://[::1]:65535/", "http://[::1]:65535"},
        {"https://[0::1]/", "https://[::1]"},
    };
    struct url u;
    char out[URL_HOST_MAX + 32];
    for (size_t i = 0; i < COUNT(table); i++) {
        ck_assert_ptr_null(url_parse(table[i][0], &u));
        url_origin(&u, out, sizeof out);
        ck_assert_str_eq(out, table[i][1]);
    }
    url_origin(&u, out, 8);
    ck_assert_str_eq(out, "https:/");
}
END_TEST

START_TEST(a_scheme_is_what_stands_before_two_slashes)
{
    static const struct {
        const char *text;
        size_t want;
    } table[] = {
        {"http://h", 4}, {"HTTPS://", 5},  {"git+ssh://h", 7},      {"a://", 1},
        {"1a://h", 0},   {"http:/h", 0},   {"https:x/?://good", 0}, {"./x://h", 0},
        {"://h", 0},     {" http://h", 0}, {"ht\ttp://h", 0},       {"", 0},
        {"x", 0},        {"a b://h", 0},   {"\xd0\xb0://h", 0},     {"-://h", 0},
    };
    for (size_t i = 0; i < COUNT(table); i++)
        ck_assert_msg(url_scheme(table[i].text) == table[i].want, "%s", table[i].text);
}
END_TEST

START_TEST(a_place_has_no_query_and_no_user_name)
{
    static const char *const table[][2] = {
        {"HTTP://H:80/x?y#z", "http://h/x"},
        {"https://h", "https://h"},
        {"ws://[0::1]:9/a/b", "ws://[::1]:9/a/b"},
        {"unix:/run/x.sock", "unix:/run/x.sock"},
        {"tcp:h:80?x", "tcp:h:80"},
        {"https://me:secret@h/x?y", "https://h/x"},
        {"https://me:sec/ret@h/x", "https"},
        {"https://me:secret@sec/ret@h/x", "https"},
        {"https://h/x?y=a@b", "https://h/x"},
        {"https://h h/x?y=a@b", "https"},
        {"other://h/x#y", "other://h/x"},
        {"other:me@h", "other"},
        {"ssh://me@h/x?y", "ssh://h/x"},
        {"https://evil.example\\@good.example/", "https"},
        {"https://evil.example/@good.example/", "https://evil.example/@good.example/"},
        {"https://evil.example\t@good.example/", "https"},
        {"https://evil.example%5c@good.example\\x/", "https"},
        {"https://a@b\xd0\xb0.example/", "https"},
        {"https:x/?://me@good.example/", "https"},
        {"https://me@[::1]:8/x", "https://[::1]:8/x"},
        {"://me@h", ""},
        {"", ""},
    };
    char out[URL_HOST_MAX + 32];
    for (size_t i = 0; i < COUNT(table); i++) {
        url_place(table[i][0], out, sizeof out);
        ck_assert_str_eq(out, table[i][1]);
    }
    url_place("https://h/abc", out, 12);
    ck_assert_str_eq(out, "https://h/a");
    url_place("https://h/abc", out, 6);
    ck_assert_str_eq(out, "https");
}
END_TEST

START_TEST(a_pattern_may_have_stars_in_host_and_port)
{
    static const struct {
        const char *text, *host;
        unsigned port;
    } right[] = {
        {"https://*.Example.com/*", "*.example.com", 443},
        {"http://*:*", "*", 0},
        {"http://10.*.0.1:8080/x", "10.*.0.1", 8080},
        {"http://0x7f.1/", "0x7f.1", 80},
        {"ws://[0::1]:*/", "::1", 0},
    };
    static const char *const wrong[] = {
        "https://h:8*/", "https://[*]/", "https://a..*/",   "https://u@*/",
        "https://h:0/",  "*://h/",       "https://h:65536/"};
    struct url u;
    for (size_t i = 0; i < COUNT(right); i++) {
        ck_assert_ptr_null(url_parse_pattern(right[i].text, &u));
        ck_assert_str_eq(u.host, right[i].host);
        ck_assert_uint_eq(u.port, right[i].port);
    }
    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_ptr_nonnull(url_parse_pattern(wrong[i], &u));
    ck_assert_ptr_nonnull(url_parse("https://*.example.com/", &u));
    ck_assert_ptr_nonnull(url_parse("https://h:*/", &u));
    ck_assert_ptr_nonnull(url_parse("https://0x7f.1/", &u));
}
END_TEST

START_TEST(references_are_resolved_as_rfc_3986_says)
{
    static const char *const table[][2] = {
        /* its examples, but for foreign schemes; fragments are dropped */
        {"http://x/y", "http://x/y"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g#s", "http://a/b/c/g"},
        {"g?y#s", "http://a/b/c/g?y"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"g;x?y#s", "http://a/b/c/g;x?y"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/../x", "http://a/b/c/g"},
        /* and more */
        {"HTTPS://X:1/a/../b?c#d", "HTTPS://X:1/b?c"},
        {"//g/..", "http://g/"},
        {"//g:81?x", "http://g:81?x"},
        {"/", "http://a/"},
        {"/.//evil", "http://a//evil"},
        {"/..//evil/x", "http://a//evil/x"},
        {"/a//../b", "http://a/a/b"},
        {"/a/b/../../..", "http://a/"},
        {"?", "http://a/b/c/d;p?"},
        {"g?x:y", "http://a/b/c/g?x:y"},
        {"./g:h", "http://a/b/c/g:h"},
        {"#a:b", "http://a/b/c/d;p?q"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char out[URL_MAX];
        struct url u;
        const char *why =
            url_resolve("http://a/b/c/d;p?q#base", table[i][0], out, sizeof out);
        ck_assert_msg(!why, "%s: %s", table[i][0], why);
        ck_assert_str_eq(out, table[i][1]);
        ck_assert_ptr_null(url_parse(out, &u));
    }
}
END_TEST

START_TEST(bases_without_a_path_or_with_a_query_serve_too)
{
    static const char *const table[][3] = {
        {"http://a", "g", "http://a/g"},
        {"http://a", "", "http://a"},
        {"http://a", "..", "http://a/"},
        {"http://a", "?q", "http://a?q"},
        {"http://a", "/g", "http://a/g"},
        {"http://a?q/r", "g", "http://a/g"},
        {"http://a?q/r", "?s", "http://a?s"},
        {"http://a#f/g", "h", "http://a/h"},
        {"http://a/b?c/d", "e", "http://a/e"},
        {"http://a/b#c/d?e", "?f", "http://a/b?f"},
        {"http://a/x/../b", "", "http://a/b"},
        {"https://A:8443/sse", "/messages?id=1", "https://A:8443/messages?id=1"},
        {"https://[::1]:1/sse", "m", "https://[::1]:1/m"},
        {"wss://h/x", "//g/y", "wss://g/y"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char out[URL_MAX];
        const char *why = url_resolve(table[i][0], table[i][1], out, sizeof out);
        ck_assert_msg(!why, "%s %s: %s", table[i][0], table[i][1], why);
        ck_assert_str_eq(out, table[i][2]);
    }
}
END_TEST

START_TEST(references_that_lead_nowhere_are_refused)
{
    static const char *const table[] = {
        "g:h",        "http:g",        "http:",     "javascript:x",
        "mailto:a@b", "1:2",           ":",         ":80",
        "//",         "///x",          "//u@h/",    "//h:0/",
        "//h:x",      "\\\\evil/",     "/\\evil",   "a b",
        "\t/x",       "/x\r\nHost: y", "/\xc3\xa9", "http://",
        "http:///x",  "http://u@h",    "file:///x", "//h%41/",
        "//127.1/",   "data:,x",       "http:/x",   "https:evil.com",
        "//[::1",     "//.",
    };
    char out[URL_MAX] = "untouched";
    for (size_t i = 0; i < COUNT(table); i++)
        ck_assert_msg(url_resolve("http://a/b", table[i], out, sizeof out), "%s",
                      table[i]);
    ck_assert_ptr_nonnull(url_resolve("http://a/b", NULL, out, sizeof out));
    ck_assert_ptr_nonnull(url_resolve("a/b", "http://h", out, sizeof out));
    ck_assert_ptr_nonnull(url_resolve(NULL, "http://h", out, sizeof out));
    ck_assert_str_eq(out, "untouched");
}
END_TEST

START_TEST(the_result_may_be_written_over_the_base)
{
    char text[URL_MAX] = "http://a/b/c";
    ck_assert_ptr_null(url_resolve(text, "../d", text, sizeof text));
    ck_assert_str_eq(text, "http://a/d");
    ck_assert_ptr_null(url_redirect(text, "e", 308, 0, 0, text, sizeof text));
    ck_assert_str_eq(text, "http://a/e");
}
END_TEST

START_TEST(redirects_are_followed_within_one_origin_only)
{
    enum { GET = 1, POST = 0 };
    static const struct {
        const char *from, *location;
        int status, is_get, hops;
        const char *to, *why; /* one of them */
    } table[] = {
        {"http://h/a", "/b", 307, POST, 0, "http://h/b", NULL},
        {"http://h/a", "/b", 308, POST, 2, "http://h/b", NULL},
        {"http://h/a", "/b", 307, GET, 0, "http://h/b", NULL},
        {"http://h/a", "/b", 301, GET, 0, "http://h/b", NULL},
        {"http://h/a", "/b", 302, GET, 0, "http://h/b", NULL},
        {"http://h/a/", "b?c#d", 307, POST, 0, "http://h/a/b?c", NULL},
        {"http://h/a", "http://h/b", 307, POST, 0, "http://h/b", NULL},
        {"http://h/a", "http://H:80/b", 307, POST, 0, "http://H:80/b", NULL},
        {"https://h/a", "//h:443/b", 307, POST, 0, "https://h:443/b", NULL},
        {"https://h/mcp", "/mcp/", 308, POST, 0, "https://h/mcp/", NULL},
        {"http://h/a", "/.//evil/", 307, POST, 0, "http://h//evil/", NULL},

        {"http://h/a", "/b", 301, POST, 0, NULL, "change the request's method"},
        {"http://h/a", "/b", 302, POST, 0, NULL, "change the request's method"},
        {"http://h/a", "/b", 303, POST, 0, NULL, "not of a kind that is followed"},
        {"http://h/a", "/b", 303, GET, 0, NULL, "not of a kind that is followed"},
        {"http://h/a", "/b", 300, GET, 0, NULL, "not of a kind that is followed"},
        {"http://h/a", "/b", 304, GET, 0, NULL, "not of a kind that is followed"},
        {"http://h/a", "/b", 305, GET, 0, NULL, "not of a kind that is followed"},
        {"http://h/a", "/b", 200, GET, 0, NULL, "not of a kind that is followed"},
        {"http://h/a", "/b", 0, GET, 0, NULL, "not of a kind that is followed"},
        {"http://h/a", "/b", 307, POST, 3, NULL, "fourth in a row"},
        {"http://h/a", "/b", 307, POST, 1000, NULL, "in a row"},
        {"http://h/a", NULL, 307, POST, 0, NULL, "has no location"},
        {"http://h/a", "", 307, POST, 0, NULL, "has no location"},
        {"http://h/a", "https://h/a", 307, POST, 0, NULL, "another origin"},
        {"http://h/a", "https://h:80/a", 307, POST, 0, NULL, "another origin"},
        {"http://h/a", "http://h:81/a", 307, POST, 0, NULL, "another origin"},
        {"http://h/a", "http://g/a", 307, POST, 0, NULL, "another origin"},
        {"http://h/a", "//g/a", 307, POST, 0, NULL, "another origin"},
        {"http://h/a", "//h./a", 307, POST, 0, NULL, "another origin"},
        {"http://h/a", "http://h.evil/a", 307, POST, 0, NULL, "another origin"},
        {"http://h/a", "ws://h/a", 307, POST, 0, NULL, "another origin"},
        {"https://h/a", "http://h/a", 307, POST, 0, NULL, "https to http"},
        {"https://h/a", "http://h:443/a", 307, POST, 0, NULL, "https to http"},
        {"https://h/a", "http://g/a", 307, POST, 0, NULL, "https to http"},
        {"http://h/a", "http://h@evil/", 307, POST, 0, NULL, "not a valid URL"},
        {"http://h/a", "http://evil\\@h/", 307, POST, 0, NULL, "not a valid URL"},
        {"http://h/a", "/\\evil", 307, POST, 0, NULL, "not a valid URL"},
        {"http://h/a", "/b c", 307, POST, 0, NULL, "not a valid URL"},
        {"http://h/a", "/b\r\nX: y", 307, POST, 0, NULL, "not a valid URL"},
        {"http://h/a", "javascript:x", 307, POST, 0, NULL, "not a valid URL"},
        {"http://h/a", "file:///etc/passwd", 307, POST, 0, NULL, "not a valid URL"},
        {"nonsense", "http://h/a", 307, POST, 0, NULL, "not a valid URL"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char out[URL_MAX] = "untouched";
        const char *why = url_redirect(table[i].from, table[i].location, table[i].status,
                                       table[i].is_get, table[i].hops, out, sizeof out);
        ck_assert_msg(!why == !table[i].why, "row %zu: %s", i, why ? why : "followed");
        ck_assert_msg(!why || strstr(why, table[i].why), "row %zu: %s", i, why);
        ck_assert_str_eq(out, why ? "untouched" : table[i].to);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_url");
    TCase *t = tcase_create("all");

    tcase_add_test(t, a_url_is_taken_apart);
    tcase_add_test(t, what_others_might_read_differently_is_refused);
    tcase_add_test(t, lengths_have_a_limit);
    tcase_add_test(t, origins_are_compared_by_scheme_host_and_port);
    tcase_add_test(t, this_machine_is_known_by_its_names);
    tcase_add_test(t, an_origin_is_written_without_the_default_port);
    tcase_add_test(t, a_scheme_is_what_stands_before_two_slashes);
    tcase_add_test(t, a_place_has_no_query_and_no_user_name);
    tcase_add_test(t, a_pattern_may_have_stars_in_host_and_port);
    tcase_add_test(t, references_are_resolved_as_rfc_3986_says);
    tcase_add_test(t, bases_without_a_path_or_with_a_query_serve_too);
    tcase_add_test(t, references_that_lead_nowhere_are_refused);
    tcase_add_test(t, the_result_may_be_written_over_the_base);
    tcase_add_test(t, redirects_are_followed_within_one_origin_only);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
