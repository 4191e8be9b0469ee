/* Requests of the service fetch: headers both ways, bodies in pieces. */
#include "fetch_kit.h"

#include <sys/mman.h>

/* ---- headers of a request ---- */

START_TEST(headers_of_a_request_replace_those_of_the_settings)
{
    const struct mcplug_pair headers[] = {{"x-two", "new"}, {"X-Three", NULL}, {"Y", ""}};
    OPEN("X-One", "1", "X-Two", "old", "X-Three", "3", "User-Agent", "me/1");
    GET(.headers = headers, .n_headers = 3);
    ck_assert_str_eq(sent_header(&one, "x-one"), "1");
    ck_assert_str_eq(sent_header(&one, "x-two"), "new");
    ck_assert_ptr_null(strstr(one.request, "old"));
    ck_assert_ptr_null(sent_header(&one, "x-three"));
    ck_assert_str_eq(sent_header(&one, "y"), "");
    ck_assert_str_eq(sent_header(&one, "user-agent"), "me/1");
    GET(.url = one.url);
    ck_assert_str_eq(sent_header(&one, "x-two"), "old");
    ck_assert_str_eq(sent_header(&one, "x-three"), "3");
}
END_TEST

START_TEST(headers_of_the_settings_stay_at_their_origin)
{
    const struct mcplug_pair own = {"X-Own", "yes"};
    OPEN("Authorization", "Bearer secret", "User-Agent", "me/1");
    GET(.url = two.url, .headers = &own, .n_headers = 1);
    ck_assert_uint_eq(two.n, 1);
    ck_assert_str_eq(sent_header(&two, "x-own"), "yes");
    ck_assert_ptr_null(sent_header(&two, "authorization"));
    ck_assert_int_eq(strncmp(sent_header(&two, "user-agent"), "mcplug/", 7), 0);
    GET(.url = one.url);
    ck_assert_str_eq(sent_header(&one, "authorization"), "Bearer secret");
    ck_assert_str_eq(sent_header(&one, "user-agent"), "me/1");
}
END_TEST

START_TEST(headers_that_cannot_be_sent_are_refused)
{
    static const struct mcplug_pair bad[] = {
        {"X", "a\r\nY: b"}, {"X\r\nY", "b"},          {"", "b"},
        {"X Y", "b"},       {"Content-Length", "9"},  {"transfer-encoding", "chunked"},
        {"Host", "other"},  {"connection", "upgrade"}};
    for (size_t i = 0; i < MP_COUNT(bad); i++)
        ck_assert_int_eq(
            begin((struct mcplug_fetch_ask){.headers = &bad[i], .n_headers = 1},
                  &plain_events),
            MCPLUG_EINVAL);
    struct mcplug_pair many[129];
    for (size_t i = 0; i < MP_COUNT(many); i++)
        many[i] = (struct mcplug_pair){"X", "y"};
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){.headers = many, .n_headers = 129},
                           &plain_events),
                     MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "more than 128 headers");
    GET(.headers = many, .n_headers = 128);
}
END_TEST

START_TEST(an_address_that_is_none_is_refused)
{
    static const char *const bad[] = {"ftp://127.0.0.1/", "http://u:p@127.0.0.1/", "x"};
    for (size_t i = 0; i < MP_COUNT(bad); i++)
        ck_assert_int_eq(begin((struct mcplug_fetch_ask){.url = bad[i]}, &plain_events),
                         MCPLUG_EINVAL);
}
END_TEST

START_TEST(a_request_that_does_not_say_its_size_is_refused)
{
    struct mcplug_fetch_ask ask = {.method = "GET", .url = one.url};
    struct mcplug_fetch_events events = plain_events;
    mcplug_fetch_request *request;
    ck_assert_int_eq(fetch->start(client, &ask, &events, &came, &request, &err),
                     MCPLUG_EINVAL);
    ask.struct_size = sizeof ask;
    events.struct_size = 8;
    ck_assert_int_eq(fetch->start(client, &ask, &events, &came, &request, &err),
                     MCPLUG_EINVAL);
}
END_TEST

START_TEST(nothing_is_read_of_a_request_that_does_not_say_its_size)
{
    /* What follows its two first members cannot be read. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
    struct mcplug_fetch_ask *ask = (void *)(pages + page - 2 * sizeof(uint32_t));
    mcplug_fetch_request *request;
    memcpy(ask, &(uint32_t){2 * sizeof(uint32_t)}, sizeof(uint32_t));
    ck_assert_int_eq(fetch->start(client, ask, &plain_events, &came, &request, &err),
                     MCPLUG_EINVAL);
    munmap(pages, 2 * page);
}
END_TEST

START_TEST(what_it_does_not_know_is_refused)
{
    struct mcplug_fetch_events events = plain_events;
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){.flags = 4}, &events),
                     MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "unknown flags: 0x4");
    events.reserved = 1;
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){0}, &events), MCPLUG_EINVAL);
}
END_TEST

START_TEST(an_error_names_the_origin_that_the_request_went_to)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    char url[64], wanted[64];
    int deaf = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* nobody listens */
    ck_assert_int_eq(bind(deaf, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(getsockname(deaf, (struct sockaddr *)&a, &len), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(a.sin_port));
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){.url = url}, &plain_events),
                     MCPLUG_OK);
    until_done();
    snprintf(wanted, sizeof wanted,
             "cannot connect to 127.0.0.1 port %d: ", ntohs(a.sin_port));
    ck_assert_msg(strncmp(came.text, wanted, strlen(wanted)) == 0, "%s", came.text);
    close(deaf);

    two.when = NEVER;
    snprintf(url, sizeof url, "http://localhost:%d/", two.port);
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){.url = url}, &plain_events),
                     MCPLUG_OK);
    until_done();
    ck_assert_msg(strncmp(came.text, "localhost: no answer (", 22) == 0, "%s", came.text);
}
END_TEST

/* ---- headers of the answer ---- */

START_TEST(headers_that_are_wanted_come_with_the_head)
{
    static const char *const wants[] = {"WWW-Authenticate", "X-None", "mcp-session-id",
                                        NULL};
    one.answer =
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nMcp-Session-Id: 7\r\n"
        "Content-Type: Text/HTML; charset=x\r\nWWW-Authenticate:  Bearer a=b \r\n"
        "Content-Length: 2\r\n\r\nno";
    GET(.wants = wants);
    ck_assert_int_eq(came.status, 401);
    ck_assert_str_eq(came.values[0], "Basic, Bearer a=b");
    ck_assert(!came.has_value[1]);
    ck_assert_str_eq(came.values[2], "7");
    ck_assert_str_eq(came.type, "text/html");
    ck_assert_int_eq(came.length, 2);
    ck_assert_str_eq(came.body, "no");
}
END_TEST

START_TEST(a_header_that_is_wanted_is_bounded)
{
    static const char *const wants[] = {"X", "Y", NULL};
    static char answer[20000], value[9000];
    memset(value, 'v', 8191);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 200 OK\r\nX: %s\r\nY: %s\r\nContent-Length: 0\r\nY: w\r\n\r\n",
             value, value);
    one.answer = answer;
    GET(.wants = wants);
    ck_assert(came.has_value[0]);
    ck_assert_uint_eq(strlen(came.values[0]), 8191);
    ck_assert(!came.has_value[1]);
}
END_TEST

START_TEST(a_header_that_is_too_long_does_not_come_in_part)
{
    static const char *const wants[] = {"X", "Y", NULL};
    static char answer[20000], value[9000];
    memset(value, 'v', 8192);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 200 OK\r\nX: %s\r\nX: a\r\nY: b\r\nX: c\r\n"
             "Content-Length: 0\r\n\r\n",
             value);
    one.answer = answer;
    GET(.wants = wants);
    ck_assert(!came.has_value[0]);
    ck_assert_str_eq(came.values[1], "b");
    one.answer = "HTTP/1.1 200 OK\r\nX: a\r\nX: c\r\nContent-Length: 0\r\n\r\n";
    GET(.wants = wants); /* of the next one it is there again */
    ck_assert_str_eq(came.values[0], "a, c");
}
END_TEST

START_TEST(a_redirect_that_is_too_long_is_not_replaced_by_another)
{
    static char answer[20000], value[9000];
    memset(value, 'v', 8192);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 307 Moved\r\nLocation: /%s\r\nLocation: /c\r\n"
             "Content-Length: 0\r\n\r\n",
             value);
    one.answer = answer;
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){0}, &plain_events), MCPLUG_OK);
    until_done();
    ck_assert_int_eq(came.code, MCPLUG_EREFUSED);
    ck_assert_uint_eq(one.n, 1);
}
END_TEST

START_TEST(more_headers_than_that_cannot_be_wanted)
{
    const char *wants[MCPLUG_FETCH_WANTS_MAX + 2] = {0};
    for (size_t i = 0; i <= MCPLUG_FETCH_WANTS_MAX; i++)
        wants[i] = "X";
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){.wants = wants}, &plain_events),
                     MCPLUG_EINVAL);
    wants[MCPLUG_FETCH_WANTS_MAX] = NULL;
    GET(.wants = wants);
}
END_TEST

/* ---- methods ---- */

START_TEST(a_body_has_the_type_that_the_request_says_or_none)
{
    mcplug_buf *body = mp_buf_new("{}", 2);
    GET(.method = "PUT", .body = body);
    ck_assert_int_eq(strncmp(one.request, "PUT /a/b ", 9), 0);
    ck_assert_ptr_null(sent_header(&one, "content-type"));
    ck_assert_str_eq(sent_header(&one, "content-length"), "2");
    mp_buf_unref(body);
    GET(.method = "DELETE");
    ck_assert_int_eq(strncmp(one.request, "DELETE ", 7), 0);
    one.answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n";
    GET(.method = "HEAD");
    ck_assert_int_eq(came.length, 7);
    ck_assert_uint_eq(came.len, 0);
    one.answer = OK_2;
    GET(.method = "POST");
    ck_assert_str_eq(sent_header(&one, "content-length"), "0");
}
END_TEST

/* ---- bodies in pieces ---- */

static struct {
    const char *left; /* "|" between pieces, for each of which one has to wait */
    int64_t instead;  /* of the end */
    bool stops;
    unsigned pulls, laters;
} given;

static int64_t on_pull(void *arg, unsigned char *buf, size_t size)
{
    struct outcome *o = arg;
    ck_assert(!o->is_inside);
    given.pulls++;
    if (given.stops) {
        fetch->stop(o->request);
        return MCPLUG_FETCH_LATER;
    }
    if (*given.left == '|') {
        given.left++;
        given.laters++;
        return MCPLUG_FETCH_LATER;
    }
    size_t n = strcspn(given.left, "|");
    if (n == 0)
        return given.instead;
    n = n < size ? n : size;
    n = n < 3 ? n : 3;
    memcpy(buf, given.left, n);
    given.left += n;
    return (int64_t)n;
}

static const struct mcplug_fetch_events pull_events = {
    .struct_size = sizeof pull_events,
    .head = on_head,
    .body = on_body,
    .sent = on_sent,
    .done = on_done,
    .pull = on_pull,
};

static void give(const char *text, uint64_t size)
{
    memset(&given, 0, sizeof given);
    given.left = text;
    ck_assert_msg(begin((struct mcplug_fetch_ask){.method = "POST", .pulled = size},
                        &pull_events) == MCPLUG_OK,
                  "%s", err.text);
    ck_assert_uint_eq(given.pulls, 0); /* not from inside of start() */
    ck_assert(!fetch->is_written(came.request));
}

START_TEST(a_body_of_known_size_is_pulled)
{
    give("0123456789", 10);
    until_done();
    ck_assert_msg(came.code == MCPLUG_OK, "%s", came.text);
    ck_assert_str_eq(sent_header(&one, "content-length"), "10");
    ck_assert_str_eq(strstr(one.request, "\r\n\r\n") + 4, "0123456789");
    ck_assert_str_eq(came.body, "ok");
}
END_TEST

START_TEST(a_body_of_unknown_size_is_sent_in_chunks)
{
    give("0123456", MCPLUG_FETCH_STREAM);
    until_done();
    ck_assert_msg(came.code == MCPLUG_OK, "%s", came.text);
    ck_assert_ptr_null(sent_header(&one, "content-length"));
    ck_assert_str_eq(sent_header(&one, "transfer-encoding"), "chunked");
    ck_assert_str_eq(strstr(one.request, "\r\n\r\n") + 4,
                     "3\r\n012\r\n3\r\n345\r\n1\r\n6\r\n0\r\n\r\n");
}
END_TEST

START_TEST(a_body_that_comes_later_is_waited_for)
{
    give("012|345|", MCPLUG_FETCH_STREAM);
    for (unsigned i = 1; i <= 2; i++) {
        while (given.laters < i)
            mp_loop_turn(loop, true);
        unsigned before = given.pulls;
        for (int j = 0; j < 20; j++)
            mp_loop_turn(loop, false);
        ck_assert_uint_eq(given.pulls, before); /* and nobody asks for it */
        ck_assert_uint_eq(came.dones, 0);
        fetch->resume(came.request);
        fetch->resume(came.request);
        ck_assert_uint_eq(given.pulls, before); /* not from inside of resume() */
    }
    until_done();
    ck_assert_msg(came.code == MCPLUG_OK, "%s", came.text);
    ck_assert_uint_eq(came.sents, 1);
    ck_assert_str_eq(strstr(one.request, "\r\n\r\n") + 4,
                     "3\r\n012\r\n3\r\n345\r\n0\r\n\r\n");
}
END_TEST

START_TEST(a_body_that_is_too_short_ends_the_request)
{
    give("0123", 10);
    until_done();
    ck_assert_int_eq(came.code, MCPLUG_EINVAL);
    ck_assert_str_eq(came.text, "the body of the request is too short");
}
END_TEST

START_TEST(a_body_that_cannot_be_made_ends_the_request)
{
    give("0123", MCPLUG_FETCH_STREAM);
    given.instead = MCPLUG_ECANCELED;
    until_done();
    ck_assert_int_eq(came.code, MCPLUG_ECANCELED);
    give("", MCPLUG_FETCH_STREAM);
    given.instead = INT64_MAX - 1;
    until_done();
    ck_assert_int_eq(came.code, MCPLUG_EINVAL);
}
END_TEST

START_TEST(a_request_can_be_stopped_while_its_body_is_pulled)
{
    give("0123", MCPLUG_FETCH_STREAM);
    given.stops = true;
    while (!given.pulls)
        mp_loop_turn(loop, true);
    for (int j = 0; j < 20; j++)
        mp_loop_turn(loop, false);
    ck_assert_uint_eq(came.dones, 0);
    ck_assert_uint_eq(given.pulls, 1);
    GET(.url = one.url);
}
END_TEST

START_TEST(a_body_that_is_refused_early_is_not_waited_for)
{
    one.when = EARLY;
    one.answer = "HTTP/1.1 401 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
    pthread_mutex_lock(&one.lock); /* it answers when the rest is waited for */
    give("012|345", MCPLUG_FETCH_STREAM);
    while (!given.laters)
        mp_loop_turn(loop, true);
    pthread_mutex_unlock(&one.lock);
    until_done(); /* without resume() */
    ck_assert_msg(came.code == MCPLUG_OK, "%s", came.text);
    ck_assert_int_eq(came.status, 401);
    ck_assert_str_eq(came.body, "no");
    ck_assert_uint_eq(given.laters, 1);
    one.when = WHOLE;
    one.answer = OK_2;
    GET(.url = one.url);
}
END_TEST

/* More than may come in one turn. */
static char long_answer[1 << 20];
static size_t swallowed, swallowed_max;

static void swallow(void *arg, struct mcplug_bytes piece)
{
    struct outcome *o = arg;
    swallowed += piece.len;
    if (swallowed > swallowed_max)
        fetch->stop(o->request);
    else
        fetch->resume(o->request);
}

/* Up to so many bytes of the answer. */
static void give_and_swallow(size_t max)
{
    struct mcplug_fetch_events events = pull_events;
    unsigned laters = 0;
    events.body = swallow;
    swallowed = 0;
    swallowed_max = max;
    memset(&given, 0, sizeof given);
    given.left = "012|345|678|9";
    pthread_mutex_lock(&one.lock);
    ck_assert_int_eq(
        begin((struct mcplug_fetch_ask){.method = "POST", .pulled = MCPLUG_FETCH_STREAM},
              &events),
        MCPLUG_OK);
    while (!given.laters)
        mp_loop_turn(loop, true);
    pthread_mutex_unlock(&one.lock);
    while (!came.dones && swallowed <= max) {
        if (swallowed > 0 && laters < given.laters) {
            laters = given.laters;
            fetch->resume(came.request);
        }
        mp_loop_turn(loop, true);
    }
    for (int j = 0; j < 20; j++)
        mp_loop_turn(loop, false);
}

START_TEST(a_body_is_waited_for_while_the_answer_waits_for_its_turn)
{
    int n = snprintf(long_answer, sizeof long_answer,
                     "HTTP/1.1 200 OK\r\nConnection: close\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     sizeof long_answer / 2);
    memset(long_answer + n, 'x', sizeof long_answer / 2);
    one.when = EARLY;
    one.answer = long_answer;
    give_and_swallow(SIZE_MAX);
    ck_assert_msg(came.code == MCPLUG_OK, "%s", came.text);
    ck_assert_uint_eq(came.dones, 1);
    ck_assert_uint_eq(swallowed, sizeof long_answer / 2);
    for (size_t max = 0; max < sizeof long_answer / 2; max += 40000) {
        give_and_swallow(max); /* and ends when it does not go on */
        ck_assert_uint_eq(came.dones, 0);
    }
    one.when = WHOLE;
    one.answer = OK_2;
    GET(.url = one.url);
}
END_TEST

START_TEST(a_client_can_go_while_a_body_is_waited_for)
{
    give("012|", MCPLUG_FETCH_STREAM);
    while (!given.laters)
        mp_loop_turn(loop, true);
    fetch->resume(came.request);
    fetch->client_free(client);
    client = NULL;
    for (int j = 0; j < 20; j++)
        mp_loop_turn(loop, false);
    ck_assert_uint_eq(came.dones, 0);
}
END_TEST

START_TEST(a_pulled_body_is_not_sent_twice)
{
    one.answer = "HTTP/1.1 307 Moved\r\nLocation: /c\r\nContent-Length: 0\r\n\r\n";
    give("0123", 4);
    until_done();
    ck_assert_int_eq(came.code, MCPLUG_EREFUSED);
    ck_assert_ptr_nonnull(strstr(came.text, "its body cannot be sent again"));
    ck_assert_uint_eq(one.n, 1);
}
END_TEST

START_TEST(a_body_is_given_or_pulled_but_not_both)
{
    mcplug_buf *body = mp_buf_new("{}", 2);
    struct mcplug_fetch_ask both = {.method = "POST", .body = body, .pulled = 2};
    struct mcplug_fetch_ask nobody = {.method = "POST", .pulled = 2};
    ck_assert_int_eq(begin(both, &pull_events), MCPLUG_EINVAL);
    ck_assert_int_eq(begin(nobody, &plain_events), MCPLUG_EINVAL);
    mp_buf_unref(body);
}
END_TEST

/* ---- when events come ---- */

START_TEST(no_event_comes_from_inside_of_start)
{
    for (int i = 0; i < 500; i++) { /* on_head() and the others look */
        GET(.url = one.url);
        ck_assert_str_eq(came.body, "ok");
    }
}
END_TEST

START_TEST(eager_requests_end_as_others_do)
{
    mcplug_buf *body = mp_buf_new("{}", 2);
    for (int i = 0; i < 500; i++) {
        GET(.method = "POST", .body = body, .flags = MCPLUG_FETCH_EAGER);
        ck_assert_str_eq(came.body, "ok");
        ck_assert_uint_le(came.sents, 1);
    }
    mp_buf_unref(body);
}
END_TEST

/* A body that no socket takes whole. */
static mcplug_buf *long_body(void)
{
    static char text[16 << 20];
    return mp_buf_new(text, sizeof text);
}

START_TEST(that_all_has_left_is_said_once)
{
    mcplug_buf *body = mp_buf_new("{}", 2), *all = long_body();
    for (int i = 0; i < 20; i++) {
        one.when = WHOLE;
        GET(.url = one.url); /* its connection is used again: it leaves at once */
        one.when = NEVER;
        ck_assert_int_eq(begin((struct mcplug_fetch_ask){.method = "POST",
                                                         .body = body,
                                                         .flags = MCPLUG_FETCH_ONCE},
                               &plain_events),
                         MCPLUG_OK);
        bool was_written = fetch->is_written(came.request);
        until_done();
        ck_assert_int_ne(came.code, MCPLUG_OK);
        ck_assert_uint_eq(came.sents, was_written ? 0 : 1);
    }
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){.method = "POST",
                                                     .body = all,
                                                     .flags = MCPLUG_FETCH_ONCE},
                           &plain_events),
                     MCPLUG_OK);
    ck_assert(!fetch->is_written(came.request));
    until_done();
    ck_assert_int_ne(came.code, MCPLUG_OK);
    ck_assert_uint_eq(came.sents, 1); /* some of it has left */
    mp_buf_unref(body);
    mp_buf_unref(all);
}
END_TEST

static void stop_at_sent(void *arg)
{
    struct outcome *o = arg;
    o->sents++;
    fetch->stop(o->request);
}

START_TEST(a_request_that_failed_can_be_stopped_when_it_has_left)
{
    struct mcplug_fetch_events events = plain_events;
    mcplug_buf *body = long_body();
    events.sent = stop_at_sent;
    one.when = NEVER;
    ck_assert_int_eq(
        begin((struct mcplug_fetch_ask){.method = "POST", .body = body}, &events),
        MCPLUG_OK);
    while (!came.sents)
        mp_loop_turn(loop, true);
    for (int j = 0; j < 20; j++)
        mp_loop_turn(loop, false);
    ck_assert_uint_eq(came.sents, 1);
    ck_assert_uint_eq(came.dones, 0);
    mp_buf_unref(body);
    one.when = WHOLE;
    GET(.url = one.url);
}
END_TEST

static struct {
    int head, body, pull, done; /* what start() returned in there */
    char text[512];
    mcplug_fetch_request *request;
    struct outcome came;
} nested;

static int start_nested(void)
{
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask, .method = "GET", .url = one.url};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int r =
        fetch->start(client, &ask, &plain_events, &nested.came, &nested.request, &why);
    snprintf(nested.text, sizeof nested.text, "%s", r == MCPLUG_OK ? "" : why.text);
    return r;
}

static void nest_head(void *arg, const struct mcplug_fetch_head *head)
{
    on_head(arg, head);
    nested.head = start_nested();
}

static void nest_body(void *arg, struct mcplug_bytes piece)
{
    on_body(arg, piece);
    nested.body = start_nested();
}

static int64_t nest_pull(void *arg, unsigned char *buf, size_t size)
{
    nested.pull = start_nested();
    return on_pull(arg, buf, size);
}

static void nest_done(void *arg, const struct mcplug_error *why)
{
    on_done(arg, why);
    nested.done = start_nested();
}

START_TEST(a_request_begins_outside_of_the_events_of_others_or_when_one_is_done)
{
    static const struct mcplug_fetch_events events = {
        .struct_size = sizeof events,
        .head = nest_head,
        .body = nest_body,
        .done = nest_done,
        .pull = nest_pull,
    };
    for (int i = 0; i < 100; i++) { /* the head may come inside of curl, or late */
        memset(&nested, 0, sizeof nested);
        memset(&given, 0, sizeof given);
        given.left = "0123";
        ck_assert_int_eq(
            begin((struct mcplug_fetch_ask){.method = "POST",
                                            .pulled = 4,
                                            .flags = i & 1 ? MCPLUG_FETCH_EAGER : 0},
                  &events),
            MCPLUG_OK);
        until_done();
        ck_assert_msg(came.code == MCPLUG_OK, "%s", came.text);
        ck_assert_int_eq(nested.head, MCPLUG_EINVAL);
        ck_assert_int_eq(nested.body, MCPLUG_EINVAL);
        ck_assert_int_eq(nested.pull, MCPLUG_EINVAL);
        ck_assert_msg(nested.done == MCPLUG_OK, "%s", nested.text);
        while (!nested.came.dones)
            mp_loop_turn(loop, true);
        ck_assert_int_eq(nested.came.code, MCPLUG_OK);
        GET(.url = one.url);
    }
}
END_TEST

START_TEST(a_request_inside_of_an_event_is_refused_with_a_text)
{
    struct mcplug_fetch_events events = plain_events;
    events.head = nest_head;
    memset(&nested, 0, sizeof nested);
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){0}, &events), MCPLUG_OK);
    until_done();
    ck_assert_int_eq(nested.head, MCPLUG_EINVAL);
    ck_assert_str_eq(nested.text, "start() inside of head(), body() or pull()");
}
END_TEST

static unsigned stopped_heads;

static void stop_at_head(void *arg, const struct mcplug_fetch_head *head)
{
    struct outcome *o = arg;
    (void)head;
    stopped_heads++;
    fetch->stop(o->request);
}

START_TEST(a_request_can_be_stopped_at_its_head)
{
    struct mcplug_fetch_events events = plain_events;
    events.head = stop_at_head;
    ck_assert_int_eq(begin((struct mcplug_fetch_ask){0}, &events), MCPLUG_OK);
    while (!stopped_heads)
        mp_loop_turn(loop, true);
    for (int j = 0; j < 20; j++)
        mp_loop_turn(loop, false);
    ck_assert_uint_eq(came.dones, 0);
    ck_assert_uint_eq(came.len, 0);
    fetch->stop(NULL);
    GET(.url = one.url);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fetch_request");
    TCase *tc = tcase_create("requests");

    if (!has_fetch())
        return TEST_SKIP;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, headers_of_a_request_replace_those_of_the_settings);
    tcase_add_test(tc, headers_of_the_settings_stay_at_their_origin);
    tcase_add_test(tc, headers_that_cannot_be_sent_are_refused);
    tcase_add_test(tc, an_address_that_is_none_is_refused);
    tcase_add_test(tc, a_request_that_does_not_say_its_size_is_refused);
    tcase_add_test(tc, nothing_is_read_of_a_request_that_does_not_say_its_size);
    tcase_add_test(tc, what_it_does_not_know_is_refused);
    tcase_add_test(tc, an_error_names_the_origin_that_the_request_went_to);
    tcase_add_test(tc, headers_that_are_wanted_come_with_the_head);
    tcase_add_test(tc, a_header_that_is_wanted_is_bounded);
    tcase_add_test(tc, a_header_that_is_too_long_does_not_come_in_part);
    tcase_add_test(tc, a_redirect_that_is_too_long_is_not_replaced_by_another);
    tcase_add_test(tc, more_headers_than_that_cannot_be_wanted);
    tcase_add_test(tc, a_body_has_the_type_that_the_request_says_or_none);
    tcase_add_test(tc, a_body_of_known_size_is_pulled);
    tcase_add_test(tc, a_body_of_unknown_size_is_sent_in_chunks);
    tcase_add_test(tc, a_body_that_comes_later_is_waited_for);
    tcase_add_test(tc, a_body_that_is_too_short_ends_the_request);
    tcase_add_test(tc, a_body_that_cannot_be_made_ends_the_request);
    tcase_add_test(tc, a_request_can_be_stopped_while_its_body_is_pulled);
    tcase_add_test(tc, a_body_that_is_refused_early_is_not_waited_for);
    tcase_add_test(tc, a_body_is_waited_for_while_the_answer_waits_for_its_turn);
    tcase_add_test(tc, a_client_can_go_while_a_body_is_waited_for);
    tcase_add_test(tc, a_pulled_body_is_not_sent_twice);
    tcase_add_test(tc, a_body_is_given_or_pulled_but_not_both);
    tcase_add_test(tc, no_event_comes_from_inside_of_start);
    tcase_add_test(tc, eager_requests_end_as_others_do);
    tcase_add_test(tc, that_all_has_left_is_said_once);
    tcase_add_test(tc, a_request_that_failed_can_be_stopped_when_it_has_left);
    tcase_add_test(tc,
                   a_request_begins_outside_of_the_events_of_others_or_when_one_is_done);
    tcase_add_test(tc, a_request_inside_of_an_event_is_refused_with_a_text);
    tcase_add_test(tc, a_request_can_be_stopped_at_its_head);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
