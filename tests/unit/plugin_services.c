#include "fake.h"

#include "base/event.h"
#include "base/mem.h"
#include "plugin/catalogue.h"
#include "plugin/lines.h"
#include "plugin/services.h"

#include <stdlib.h>

static struct mp_loop *loop;
static mcplug_self *self;
static struct mcplug_host host;

static void setup(void)
{
    static struct mp_events log;
    const struct mp_catalogue_options options = {0};

    loop = mp_loop_new(NULL);
    self = mp_self_new("test", NULL, &log, loop);
    ck_assert_ptr_nonnull(self);
    mp_host_init(&host, &options, "/nowhere");
}

static void teardown(void)
{
    mp_self_free(self);
    mp_loop_free(loop);
}

static struct mcplug_bytes text(const char *s)
{
    return (struct mcplug_bytes){(const unsigned char *)s, strlen(s)};
}

static void is_text(struct mcplug_bytes v, const char *expected)
{
    ck_assert_uint_eq(v.len, strlen(expected));
    if (v.len)
        ck_assert_mem_eq(v.data, expected, v.len);
}

/* ---- by name ---- */

START_TEST(a_service_is_found_by_its_name_up_to_its_version)
{
    ck_assert_ptr_nonnull(host.service(self, "json", 1));
    ck_assert_ptr_nonnull(host.service(self, "json", 0));
    ck_assert_ptr_null(host.service(self, "json", 2));
    ck_assert_ptr_null(host.service(self, "JSON", 1));
    ck_assert_ptr_null(host.service(self, "", 1));
    ck_assert_ptr_null(host.service(self, NULL, 1));
    ck_assert_ptr_eq(host.service(self, "json", 1), mp_service_json());
    ck_assert_ptr_eq(host.service(self, "lines", 1), &mp_lines_table);
    ck_assert_ptr_null(host.service(self, "lines", 2));
}
END_TEST

/* ---- json ---- */

START_TEST(members_elements_strings_and_integers_are_found_in_a_document)
{
    const struct mcplug_json *json = host.service(self, "json", 1);
    struct mcplug_bytes doc =
        text(" {\"a\":[1, \"t\\u00e4\\n\" ,{\"b\":-7}],\"c\":{},\"n\":null}\n");
    int64_t n = 0;

    ck_assert(json->valid(doc));
    struct mcplug_bytes a = json->get(doc, "a");
    is_text(json->at(a, 0), "1");
    is_text(json->get(json->at(a, 2), "b"), "-7");
    is_text(json->at(a, 3), "");
    is_text(json->at(a, (size_t)-1), "");
    is_text(json->get(doc, "c"), "{}");
    is_text(json->get(doc, "x"), "");
    ck_assert(json->integer(json->get(json->at(a, 2), "b"), &n));
    ck_assert_int_eq(n, -7);
    char *s = json->string(json->at(a, 1));
    ck_assert_str_eq(s, "t\303\244\n");
    host.mem->free(s);
}
END_TEST

START_TEST(what_is_not_there_or_of_another_kind_is_empty)
{
    const struct mcplug_json *json = mp_service_json();
    int64_t n = 5;

    is_text(json->get(text("[1]"), "a"), "");
    is_text(json->get(text(""), "a"), "");
    is_text(json->at(text("{\"a\":1}"), 0), "");
    is_text(json->at(text("[]"), 0), "");
    is_text(json->at(text("7"), 0), "");
    ck_assert_ptr_null(json->string(text("7")));
    ck_assert_ptr_null(json->string(text("")));
    ck_assert(!json->integer(text("\"7\""), &n));
    ck_assert(!json->integer(text("7.5"), &n));
    ck_assert(!json->integer(text("99999999999999999999"), &n));
    ck_assert(!json->integer(text(""), &n));
    ck_assert_int_eq(n, 5);
}
END_TEST

START_TEST(a_text_that_is_no_document_or_beyond_the_limits_is_not_valid)
{
    const struct mcplug_json *json = mp_service_json();
    char deep[201];

    ck_assert(json->valid(text("7")));
    ck_assert(json->valid(text("{\"id\":1,\"id\":2}")));
    ck_assert(!json->valid(text("")));
    ck_assert(!json->valid(text("  ")));
    ck_assert(!json->valid(text("{")));
    ck_assert(!json->valid(text("{} {}")));
    ck_assert(!json->valid(text("{\"a\":\"\377\"}")));
    ck_assert(!json->valid((struct mcplug_bytes){NULL, 0}));
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = '\0';
    ck_assert(!json->valid(text(deep)));
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_service_is_found_by_its_name_up_to_its_version);
    tcase_add_test(tc, members_elements_strings_and_integers_are_found_in_a_document);
    tcase_add_test(tc, what_is_not_there_or_of_another_kind_is_empty);
    tcase_add_test(tc, a_text_that_is_no_document_or_beyond_the_limits_is_not_valid);
}

int main(void)
{
    return run_suite("plugin_services", add);
}
