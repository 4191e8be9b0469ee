/* Cookies of the service fetch. */
#include "fetch_kit.h"

static char answer[65536];

/* Gets `path` from a server whose answer sets these cookies. */
static void get_setting(struct server *s, const char *path, const char *const *cookies)
{
    char url[128];
    size_t n = (size_t)snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\n");
    for (; *cookies; cookies++)
        n += (size_t)snprintf(answer + n, sizeof answer - n, "Set-Cookie: %s\r\n",
                              *cookies);
    snprintf(answer + n, sizeof answer - n, "Content-Length: 2\r\n\r\nok");
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", s->port, path);
    s->answer = answer;
    GET(.url = url);
    s->answer = OK_2;
}
#define SET(...) get_setting(&one, "/a/b", (const char *const[]){__VA_ARGS__, NULL})

/* What is sent to that path. */
static const char *sent_to(struct server *s, const char *path)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", s->port, path);
    GET(.url = url);
    return sent_header(s, "cookie");
}

START_TEST(cookies_are_kept_and_sent_back)
{
    SET("a=1", "b=\"2 3\"; HttpOnly; SameSite=Strict", "c=4=5", "d");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "a=1; b=\"2 3\"; c=4=5; d=");
    SET("a=new");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "b=\"2 3\"; c=4=5; d=; a=new");
}
END_TEST

START_TEST(cookies_stay_at_their_origin)
{
    SET("a=1");
    ck_assert_ptr_null(sent_to(&two, "/a/b"));
    get_setting(&two, "/a/b", (const char *const[]){"b=2", NULL});
    ck_assert_ptr_null(sent_to(&two, "/a/b"));
    ck_assert_str_eq(sent_to(&one, "/a/b"), "a=1");
}
END_TEST

START_TEST(cookies_belong_to_one_client)
{
    SET("a=1");
    open_client(&one, NULL);
    ck_assert_ptr_null(sent_to(&one, "/a/b"));
}
END_TEST

START_TEST(cookies_for_other_domains_are_not_taken)
{
    SET("a=1; Domain=example.org", "b=2; Domain=0.0.1", "c=3; Domain=127.0.0.1",
        "d=4; domain=", "e=5; Domain=.1");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "c=3; d=4");
}
END_TEST

START_TEST(cookies_for_secure_origins_are_not_taken_from_others)
{
    SET("a=1; Secure", "b=2");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "b=2");
}
END_TEST

START_TEST(cookies_go_to_their_paths)
{
    SET("here=1", "top=2; Path=/", "deep=3; Path=/a/b/c", "odd=4; path=a",
        "q=5; Path=/q");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "here=1; odd=4; top=2");
    ck_assert_str_eq(sent_to(&one, "/a/b/c/d?e"), "deep=3; here=1; odd=4; top=2");
    ck_assert_str_eq(sent_to(&one, "/ab"), "top=2");
    ck_assert_str_eq(sent_to(&one, "/q?/a/b"), "q=5; top=2");
    ck_assert_str_eq(sent_to(&one, ""), "top=2");
}
END_TEST

START_TEST(cookies_can_be_taken_back)
{
    SET("a=1", "b=2", "c=3", "d=4; Max-Age=1000");
    SET("a=; Max-Age=0", "b=; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "c=5; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", "e=6; Max-Age=-5",
        "f=7; Max-Age=soon");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "d=4; c=5; f=7");
}
END_TEST

START_TEST(cookies_that_could_not_be_sent_are_not_taken)
{
    char long_one[4200] = "b=";
    memset(long_one + 2, 'x', 4095);
    SET("a\tb=1", "=2", "", ";", "x y=3", "c=4\x01", long_one, "good=5");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "good=5");
    long_one[4096] = '\0';
    SET(long_one);
    ck_assert_uint_eq(strlen(sent_to(&one, "/a/b")), strlen("good=5; ") + 4096);
}
END_TEST

START_TEST(new_names_for_ever_do_not_make_it_grow)
{
    const char *list[51] = {0};
    char names[50][64];
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned i = 0; i < 50; i++) {
            snprintf(names[i], sizeof names[i], "n%u=%u", round * 50 + i, i);
            list[i] = names[i];
        }
        get_setting(&one, "/a/b", list);
    }
    const char *sent = sent_to(&one, "/a/b");
    size_t n = 1;
    for (const char *at = sent; (at = strchr(at, ';')) != NULL; at++)
        n++;
    ck_assert_uint_eq(n, 64);
    ck_assert_int_eq(strncmp(sent, "n4936=36; ", 10), 0); /* the oldest made room */
    ck_assert_ptr_nonnull(strstr(sent, "; n4999=49"));
}
END_TEST

START_TEST(long_ones_for_ever_do_not_make_it_grow)
{
    char text[4096];
    for (unsigned i = 0; i < 100; i++) {
        int n = snprintf(text, sizeof text, "n%u=", i);
        memset(text + n, 'x', 4000);
        text[n + 4000] = '\0';
        SET(text);
    }
    const char *sent = sent_to(&one, "/a/b");
    ck_assert_uint_le(strlen(sent), 16384);
    ck_assert_int_eq(strncmp(sent, "n96=", 4), 0);
}
END_TEST

START_TEST(a_cookie_of_the_settings_is_sent_instead)
{
    OPEN("Cookie", "mine=1");
    SET("a=1");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "mine=1");
    OPEN("Cookie", "");
    SET("a=1");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "");
    OPEN("Cookies", "mine=1"); /* which is another header */
    SET("a=1");
    ck_assert_str_eq(sent_to(&one, "/a/b"), "a=1");
}
END_TEST

START_TEST(a_request_can_do_without_cookies)
{
    const struct mcplug_pair none = {"cookie", NULL}, own = {"Cookie", "own=1"};
    SET("a=1");
    GET(.headers = &none, .n_headers = 1);
    ck_assert_ptr_null(sent_header(&one, "cookie"));
    GET(.headers = &own, .n_headers = 1);
    ck_assert_str_eq(sent_header(&one, "cookie"), "own=1");
}
END_TEST

START_TEST(cookies_of_a_redirect_go_along_with_what_follows)
{
    one.answer = "HTTP/1.1 307 Moved\r\nLocation: /a/c\r\nSet-Cookie: a=1\r\n"
                 "Content-Length: 0\r\n\r\n";
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){0}, &plain_events), MCPLUG_OK);
    until_done(); /* in a circle, which ends */
    ck_assert_int_eq(came.code, MCPLUG_EREFUSED);
    ck_assert_uint_ge(one.n, 2);
    ck_assert_str_eq(sent_header(&one, "cookie"), "a=1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fetch_cookies");
    TCase *tc = tcase_create("cookies");

    if (!has_fetch())
        return TEST_SKIP;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, cookies_are_kept_and_sent_back);
    tcase_add_test(tc, cookies_stay_at_their_origin);
    tcase_add_test(tc, cookies_belong_to_one_client);
    tcase_add_test(tc, cookies_for_other_domains_are_not_taken);
    tcase_add_test(tc, cookies_for_secure_origins_are_not_taken_from_others);
    tcase_add_test(tc, cookies_go_to_their_paths);
    tcase_add_test(tc, cookies_can_be_taken_back);
    tcase_add_test(tc, cookies_that_could_not_be_sent_are_not_taken);
    tcase_add_test(tc, new_names_for_ever_do_not_make_it_grow);
    tcase_add_test(tc, long_ones_for_ever_do_not_make_it_grow);
    tcase_add_test(tc, a_cookie_of_the_settings_is_sent_instead);
    tcase_add_test(tc, a_request_can_do_without_cookies);
    tcase_add_test(tc, cookies_of_a_redirect_go_along_with_what_follows);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
