#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

static struct fake f;

struct got {
    unsigned times;
    int code;
    size_t count;
    char first[64], last[64];
};

static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    struct got *g = arg;
    g->times++;
    g->code = why ? why->code : 0;
    g->count = list ? mcplug_list_count(list) : 0;
    if (g->count) {
        snprintf(g->first, sizeof g->first, "%s", mcplug_list_name(list, 0));
        snprintf(g->last, sizeof g->last, "%s", mcplug_list_name(list, g->count - 1));
        ck_assert_int_eq(mcplug_list_find(list, g->last), (ptrdiff_t)g->count - 1);
        ck_assert_int_eq(mcplug_list_find(list, "no such name"), -1);
    }
}

static void get(enum mcplug_kind kind, struct got *g)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int r = mp_lists_get(f.server, kind, on_list, g, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_uint_eq(g->times, 0); /* never inside the call */
    fake_turn(&f);
}

static void say_tools(uint64_t id, const char *names, const char *more)
{
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":[%s]%s}}",
              ll(id), names, more);
}

#define A "{\"name\":\"a\"}"
#define B "{\"name\":\"b\",\"description\":\"bb\"}"

START_TEST(every_page_is_followed)
{
    struct got g = {0};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    const char *frame = fake_next(&f);
    ck_assert_ptr_null(strstr(frame, "cursor"));
    say_tools(fake_id(frame), A, ",\"nextCursor\":\"p\\n2\"");
    frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"cursor\":\"p\\n2\""));
    say_tools(fake_id(frame), B, ",\"nextCursor\":\"\"");
    frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"cursor\":\"\""));
    say_tools(fake_id(frame), "{\"name\":\"c\"}", "");
    ck_assert_uint_eq(g.times, 1);
    ck_assert_uint_eq(g.count, 3);
    ck_assert_str_eq(g.first, "a");
    ck_assert_str_eq(g.last, "c");
    fake_clear(&f);
}
END_TEST

START_TEST(a_repeated_cursor_ends_the_list_with_a_warning)
{
    struct got g = {0};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    say_tools(fake_expect(&f, "tools/list"), A, ",\"nextCursor\":\"x\"");
    say_tools(fake_expect(&f, "tools/list"), B, ",\"nextCursor\":\"x\"");
    ck_assert_uint_eq(g.times, 1);
    ck_assert_uint_eq(g.count, 2);
    ck_assert_ptr_nonnull(strstr(f.logged,
                                 "WRN mcp:fake tools/list ended early: the server "
                                 "repeats a cursor"));
    fake_clear(&f);
}
END_TEST

START_TEST(endless_pages_end_after_64)
{
    struct got g = {0};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    for (int i = 0; i < 64; i++) {
        char name[64], more[64];
        snprintf(name, sizeof name, "{\"name\":\"t%d\"}", i);
        snprintf(more, sizeof more, ",\"nextCursor\":\"%d\"", i);
        say_tools(fake_expect(&f, "tools/list"), name, more);
    }
    ck_assert(fake_idle(&f));
    ck_assert_uint_eq(g.times, 1);
    ck_assert_uint_eq(g.count, 64);
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_ends_at_ten_thousand_items_with_a_warning)
{
    struct got g = {0};
    struct mp_str names;
    mp_str_init(&names, 1 << 20);
    for (int i = 0; i < 10001; i++)
        mp_str_addf(&names, "%s{\"name\":\"t%d\"}", i ? "," : "", i);
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    say_tools(fake_expect(&f, "tools/list"), names.data, "");
    ck_assert_uint_eq(g.count, 10000);
    ck_assert_str_eq(g.last, "t9999");
    ck_assert_ptr_nonnull(
        strstr(f.logged, "tools/list ended early: more than 10000 items"));
    mp_str_clear(&names);
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_ends_at_32_mib_with_a_warning)
{
    struct got g = {0};
    struct mp_str item;
    unsigned pages = 0;

    mp_str_init(&item, 8 << 20);
    mp_str_adds(&item, "{\"name\":\"long0\",\"list\":[0");
    while (item.len < 7 << 20) /* many values: one long one would not stay in memory */
        mp_str_adds(&item, ",1111111111,1111111111,1111111111,1111111111,1111111111");
    mp_str_adds(&item, "]}");
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    for (; pages < 64 && !g.times; pages++) {
        char more[64];
        item.data[13] = (char)('0' + pages); /* another name */
        snprintf(more, sizeof more, ",\"nextCursor\":\"%u\"", pages);
        say_tools(fake_expect(&f, "tools/list"), item.data, more);
    }
    ck_assert_uint_eq(pages, 5);
    ck_assert_uint_eq(g.count, 5);
    ck_assert_ptr_nonnull(strstr(f.logged, "tools/list ended early: more than 32 MiB"));
    mp_str_clear(&item);
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_ends_when_its_pages_take_too_long)
{
    struct got g = {0};
    unsigned pages = 0;

    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    for (; pages < 64 && !g.times; pages++) {
        char name[64], more[64];
        snprintf(name, sizeof name, "{\"name\":\"t%u\"}", pages);
        snprintf(more, sizeof more, ",\"nextCursor\":\"%u\"", pages);
        uint64_t id = fake_expect(&f, "tools/list");
        fake_pass(&f, 10000);
        say_tools(id, name, more);
    }
    ck_assert_uint_eq(pages, 6); /* 60 s */
    ck_assert_uint_eq(g.count, 6);
    ck_assert_ptr_nonnull(
        strstr(f.logged, "tools/list ended early: its pages take too long"));
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_ends_at_a_cursor_of_64_kib_with_a_warning)
{
    struct got g = {0};
    char *more = malloc(80000);

    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    snprintf(more, 80000, ",\"nextCursor\":\"%070000d\"", 0);
    say_tools(fake_expect(&f, "tools/list"), A, more);
    free(more);
    ck_assert_uint_eq(g.times, 1);
    ck_assert_uint_eq(g.count, 1);
    ck_assert_ptr_nonnull(strstr(f.logged, "ended early: a cursor of more than 64 KiB"));
    fake_clear(&f);
}
END_TEST

START_TEST(a_server_without_the_capability_has_an_empty_list_and_is_not_asked)
{
    struct got g = {0};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_PROMPTS, &g);
    ck_assert_uint_eq(g.times, 1);
    ck_assert_int_eq(g.code, 0);
    ck_assert_uint_eq(g.count, 0);
    ck_assert(fake_idle(&f));
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_is_kept_for_its_ttl_and_no_longer)
{
    struct got g[4] = {{0}};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g[0]);
    say_tools(fake_expect(&f, "tools/list"), A, ",\"ttlMs\":1000");
    fake_pass(&f, 999);
    get(MCPLUG_TOOLS, &g[1]);
    ck_assert_uint_eq(g[1].times, 1);
    ck_assert(fake_idle(&f));
    fake_pass(&f, 1);
    get(MCPLUG_TOOLS, &g[2]);
    ck_assert_uint_eq(g[2].times, 0);
    say_tools(fake_expect(&f, "tools/list"), A "," B, ",\"ttlMs\":0");
    ck_assert_uint_eq(g[2].count, 2);
    get(MCPLUG_TOOLS, &g[3]);
    fake_expect(&f, "tools/list"); /* ttl 0: stale at once */
    fake_clear(&f);
    ck_assert_int_eq(g[3].code, MCPLUG_ECANCELED);
}
END_TEST

START_TEST(what_is_left_of_a_ttl_is_told)
{
    struct got g = {0}, again = {0}, more = {0};
    uint64_t ms = 7;
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{\"listChanged\":true},\"prompts\":{}}");
    ck_assert(!mp_lists_ttl(f.server, MCPLUG_TOOLS, &ms));
    ck_assert(!mp_lists_ttl(f.server, (enum mcplug_kind)3, &ms));
    get(MCPLUG_TOOLS, &g);
    say_tools(fake_expect(&f, "tools/list"), A, ",\"ttlMs\":1000");
    ck_assert(mp_lists_ttl(f.server, MCPLUG_TOOLS, &ms) && ms == 1000);
    fake_pass(&f, 400);
    ck_assert(mp_lists_ttl(f.server, MCPLUG_TOOLS, &ms) && ms == 600);
    fake_pass(&f, 900);
    ck_assert(mp_lists_ttl(f.server, MCPLUG_TOOLS, &ms) && ms == 0);
    get(MCPLUG_TOOLS, &again); /* without a word about it */
    say_tools(fake_expect(&f, "tools/list"), A, "");
    ck_assert_uint_eq(again.count, 1);
    ck_assert(!mp_lists_ttl(f.server, MCPLUG_TOOLS, &ms));
    get(MCPLUG_TOOLS, &more); /* and one that changes on its way is old when it comes */
    mp_lists_changed(f.server, MCPLUG_TOOLS);
    say_tools(fake_expect(&f, "tools/list"), A, ",\"ttlMs\":1000");
    ck_assert_uint_eq(more.count, 1);
    ck_assert(mp_lists_ttl(f.server, MCPLUG_TOOLS, &ms) && ms == 0);
    fake_clear(&f);

    fake_init(&f); /* legacy servers know nothing of it */
    fake_legacy(&f, NULL, "{\"tools\":{}}");
    memset(&g, 0, sizeof g);
    get(MCPLUG_TOOLS, &g);
    say_tools(fake_expect(&f, "tools/list"), A, ",\"ttlMs\":1000");
    ck_assert_uint_eq(g.count, 1);
    ck_assert(!mp_lists_ttl(f.server, MCPLUG_TOOLS, &ms));
    fake_clear(&f);
}
END_TEST

START_TEST(the_shortest_ttl_of_the_pages_counts)
{
    struct got g[2] = {{0}};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g[0]);
    say_tools(fake_expect(&f, "tools/list"), A, ",\"ttlMs\":500,\"nextCursor\":\"n\"");
    say_tools(fake_expect(&f, "tools/list"), B, ",\"ttlMs\":5000");
    fake_pass(&f, 500);
    get(MCPLUG_TOOLS, &g[1]);
    fake_expect(&f, "tools/list");
    fake_clear(&f);
}
END_TEST

START_TEST(a_legacy_list_is_kept_until_it_changes)
{
    struct got g[3] = {{0}};
    fake_init(&f);
    fake_legacy(&f, NULL, "{\"tools\":{\"listChanged\":true}}");
    get(MCPLUG_TOOLS, &g[0]);
    say_tools(fake_expect(&f, "tools/list"), A, "");
    fake_pass(&f, 3600000);
    get(MCPLUG_TOOLS, &g[1]);
    ck_assert_uint_eq(g[1].count, 1);
    ck_assert(fake_idle(&f));
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    get(MCPLUG_TOOLS, &g[2]);
    say_tools(fake_expect(&f, "tools/list"), A "," B, "");
    ck_assert_uint_eq(g[2].count, 2);
    fake_clear(&f);
}
END_TEST

START_TEST(a_change_during_a_fetch_is_not_lost)
{
    struct got g[2] = {{0}};
    fake_init(&f);
    fake_legacy(&f, NULL, "{\"tools\":{\"listChanged\":true}}");
    get(MCPLUG_TOOLS, &g[0]);
    uint64_t id = fake_expect(&f, "tools/list");
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    say_tools(id, A, "");
    get(MCPLUG_TOOLS, &g[1]);
    fake_expect(&f, "tools/list");
    fake_clear(&f);
}
END_TEST

START_TEST(callers_share_one_fetch)
{
    struct got g[3] = {{0}};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    for (int i = 0; i < 3; i++)
        get(MCPLUG_TOOLS, &g[i]);
    say_tools(fake_expect(&f, "tools/list"), A, "");
    ck_assert(fake_idle(&f));
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(g[i].times, 1);
    fake_clear(&f);
}
END_TEST

START_TEST(items_without_a_name_are_left_out_with_a_warning)
{
    struct got g = {0};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    say_tools(fake_expect(&f, "tools/list"), "7,{}," A ",{\"name\":1}", "");
    ck_assert_uint_eq(g.count, 1);
    ck_assert_ptr_nonnull(strstr(f.logged, "3 items without a name left out"));
    fake_clear(&f);
}
END_TEST

/* A filter reads one name, and a model may be given the other. */
START_TEST(items_with_duplicate_members_are_left_out_with_a_warning)
{
    struct got g = {0};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    say_tools(fake_expect(&f, "tools/list"),
              "{\"name\":\"good\",\"name\":\"evil\"}," A
              ",{\"name\":\"good\",\"n\\u0061me\":\"evil\"}",
              "");
    ck_assert_uint_eq(g.count, 1);
    ck_assert_ptr_nonnull(strstr(f.logged, "2 items with duplicate members left out"));
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_of_the_wrong_shape_is_an_error)
{
    struct got g = {0};
    fake_init(&f);
    fake_modern(&f, NULL, "{\"tools\":{}}");
    get(MCPLUG_TOOLS, &g);
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":{}}}",
              ll(fake_expect(&f, "tools/list")));
    ck_assert_int_eq(g.code, MCPLUG_EPROTO);
    fake_clear(&f);
}
END_TEST

/* ---- changes ---- */

static struct {
    unsigned times;
    int kind;
    char uri[64];
} change;

static void on_changed(void *arg, struct mp_session *s, int kind, const char *uri)
{
    (void)arg, (void)s;
    change.times++;
    change.kind = kind;
    snprintf(change.uri, sizeof change.uri, "%s", uri ? uri : "");
}

START_TEST(a_modern_server_is_listened_to_for_what_it_offers)
{
    struct mp_session_options so = {.changed = on_changed};
    fake_init(&f);
    fake_modern(&f, &so, "{\"tools\":{\"listChanged\":true},\"prompts\":{}}");
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"method\":\"subscriptions/listen\""));
    ck_assert_ptr_nonnull(strstr(frame, "\"notifications\":{\"toolsListChanged\":true}"));
    change.times = 0;
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
              "acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
              "subscriptionId\":%llu},\"notifications\":{\"toolsListChanged\":true}}}",
              ll(fake_id(frame)));
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\","
              "\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%llu}}}",
              ll(fake_id(frame)));
    ck_assert_uint_eq(change.times, 1);
    ck_assert_int_eq(change.kind, MCPLUG_TOOLS);
    fake_clear(&f);
}
END_TEST

START_TEST(a_list_fetched_when_nobody_listens_any_more_is_not_kept)
{
    struct mp_session_options so = {.changed = on_changed};
    struct got g[4] = {{0}};
    fake_init(&f);
    fake_modern(&f, &so, "{\"tools\":{\"listChanged\":true}}");
    uint64_t listen = fake_expect(&f, "subscriptions/listen");
    get(MCPLUG_TOOLS, &g[0]);
    say_tools(fake_expect(&f, "tools/list"), A, "");
    get(MCPLUG_TOOLS, &g[1]); /* kept, for a change would be told */
    ck_assert(fake_idle(&f));
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}", ll(listen));
    get(MCPLUG_TOOLS, &g[2]);
    say_tools(fake_expect(&f, "tools/list"), A, "");
    get(MCPLUG_TOOLS, &g[3]);
    fake_expect(&f, "tools/list");
    fake_clear(&f);
}
END_TEST

static void acknowledge(uint64_t subscription)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/"
              "acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
              "subscriptionId\":%llu}}}",
              ll(subscription));
}

START_TEST(resource_subscriptions_replace_the_listener)
{
    struct mp_session_options so = {.changed = on_changed};
    fake_init(&f);
    fake_modern(&f, &so, "{\"resources\":{\"subscribe\":true}}");
    ck_assert(fake_idle(&f));
    ck_assert_int_eq(mp_notify_subscribe(f.server, "x:1", true, NULL), MCPLUG_OK);
    const char *frame = fake_next(&f);
    ck_assert_ptr_nonnull(strstr(frame, "\"resourceSubscriptions\":[\"x:1\"]"));
    acknowledge(fake_id(frame));
    ck_assert_int_eq(mp_notify_subscribe(f.server, "x:2", true, NULL), MCPLUG_OK);
    frame = fake_next(&f); /* at once, and before the old one goes */
    ck_assert_ptr_nonnull(strstr(frame, "\"resourceSubscriptions\":[\"x:1\",\"x:2\"]"));
    fake_turn(&f);
    ck_assert(fake_idle(&f));
    acknowledge(fake_id(frame));
    fake_expect(&f, "notifications/cancelled");
    change.times = 0;
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                 "\"params\":{\"uri\":\"x:2\"}}");
    ck_assert_uint_eq(change.times, 1);
    ck_assert_str_eq(change.uri, "x:2");
    fake_clear(&f);
}
END_TEST

static void say_updated(uint64_t subscription)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
              "\"params\":{\"uri\":\"x:1\",\"_meta\":{\"io.modelcontextprotocol/"
              "subscriptionId\":%llu}}}",
              ll(subscription));
}

START_TEST(a_change_is_told_once_while_one_subscription_replaces_another)
{
    struct mp_session_options so = {.changed = on_changed};
    fake_init(&f);
    fake_modern(&f, &so, "{\"resources\":{\"subscribe\":true}}");
    mp_notify_subscribe(f.server, "x:1", true, NULL);
    uint64_t old = fake_expect(&f, "subscriptions/listen");
    acknowledge(old);
    mp_notify_subscribe(f.server, "x:2", true, NULL);
    uint64_t young = fake_expect(&f, "subscriptions/listen");
    change.times = 0;
    say_updated(old); /* the new one does not stand yet */
    ck_assert_uint_eq(change.times, 1);
    acknowledge(young);
    say_updated(old);
    say_updated(young);
    ck_assert_uint_eq(change.times, 2);
    fake_clear(&f);
}
END_TEST

START_TEST(a_legacy_server_is_subscribed_to_by_request)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    fake_init(&f);
    fake_legacy(&f, NULL, "{\"resources\":{\"subscribe\":true}}");
    ck_assert_int_eq(mp_notify_subscribe(f.server, "x:1", true, &err), MCPLUG_OK);
    ck_assert_ptr_nonnull(strstr(fake_next(&f),
                                 "\"method\":\"resources/subscribe\",\"params\":"
                                 "{\"uri\":\"x:1\"}"));
    ck_assert_int_eq(mp_notify_subscribe(f.server, "x:1", false, &err), MCPLUG_OK);
    fake_expect(&f, "resources/unsubscribe");
    fake_clear(&f);
}
END_TEST

static char logged[256];
static void on_logged(void *arg, struct mp_session *s, const char *params, size_t len)
{
    (void)arg, (void)s;
    snprintf(logged, sizeof logged, "%.*s", (int)len, params);
}

START_TEST(log_messages_arrive_in_both_eras)
{
    struct mp_session_options so = {.log_level = "warning", .logged = on_logged};
    struct outcome o = {0};
    fake_init(&f);
    fake_legacy(&f, &so, "{\"logging\":{}}");
    ck_assert_ptr_nonnull(strstr(fake_next(&f),
                                 "\"method\":\"logging/setLevel\",\"params\":{"
                                 "\"level\":\"warning\"}"));
    fake_say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
                 "\"level\":\"error\",\"data\":1}}");
    ck_assert_str_eq(logged, "{\"level\":\"error\",\"data\":1}");
    fake_clear(&f);

    so.arg = NULL;
    fake_init(&f);
    fake_modern(&f, &so, "{\"logging\":{}}");
    ck_assert(fake_idle(&f));
    fake_call(f.server, "t", NULL, NULL, on_outcome, &o, NULL);
    ck_assert_ptr_nonnull(
        strstr(fake_next(&f), "\"io.modelcontextprotocol/logLevel\":\"warning\""));
    fake_clear(&f);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, every_page_is_followed);
    tcase_add_test(tc, a_repeated_cursor_ends_the_list_with_a_warning);
    tcase_add_test(tc, endless_pages_end_after_64);
    tcase_add_test(tc, a_list_ends_at_ten_thousand_items_with_a_warning);
    tcase_add_test(tc, a_list_ends_at_32_mib_with_a_warning);
    tcase_add_test(tc, a_list_ends_when_its_pages_take_too_long);
    tcase_add_test(tc, a_list_ends_at_a_cursor_of_64_kib_with_a_warning);
    tcase_add_test(tc,
                   a_server_without_the_capability_has_an_empty_list_and_is_not_asked);
    tcase_add_test(tc, a_list_is_kept_for_its_ttl_and_no_longer);
    tcase_add_test(tc, what_is_left_of_a_ttl_is_told);
    tcase_add_test(tc, the_shortest_ttl_of_the_pages_counts);
    tcase_add_test(tc, a_legacy_list_is_kept_until_it_changes);
    tcase_add_test(tc, a_change_during_a_fetch_is_not_lost);
    tcase_add_test(tc, callers_share_one_fetch);
    tcase_add_test(tc, items_without_a_name_are_left_out_with_a_warning);
    tcase_add_test(tc, items_with_duplicate_members_are_left_out_with_a_warning);
    tcase_add_test(tc, a_list_of_the_wrong_shape_is_an_error);
    tcase_add_test(tc, a_modern_server_is_listened_to_for_what_it_offers);
    tcase_add_test(tc, a_list_fetched_when_nobody_listens_any_more_is_not_kept);
    tcase_add_test(tc, resource_subscriptions_replace_the_listener);
    tcase_add_test(tc, a_change_is_told_once_while_one_subscription_replaces_another);
    tcase_add_test(tc, a_legacy_server_is_subscribed_to_by_request);
    tcase_add_test(tc, log_messages_arrive_in_both_eras);
}

int main(void)
{
    return run_suite("session_lists", add);
}
