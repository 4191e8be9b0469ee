/* What servers offered last, as <mcplug/admin.h> shows it. */
#include "config_kit.h"

#include "session/session.h"

#include <mcplug/admin.h>

#include "registry/tool_cache.h"

#include <time.h>

#define TWO "[{\"name\":\"a\"},{\"name\":\"b\"}]"

static mcplug_config *conf;
static mcplug_known *known;

static void start(void)
{
    world();
    give(USER, "{'mcpServers':{'s':{'command':'x'},'t':{'command':'y'}}}");
    conf = mcplug_config_load(NULL, &err);
    ck_assert_msg(conf != NULL, "%s", err.text);
}

static void end(void)
{
    mcplug_known_free(known);
    mcplug_config_free(conf);
}

static void keep(const char *name, const char *items)
{
    mcplug_list *list = mp_list_read(MCPLUG_TOOLS, mp_text(items ? items : "[]"));
    mcplug_list *lists[MP_KINDS] = {list};
    const int64_t ttls[MP_KINDS] = {MP_TOOL_CACHE_NO_TTL};
    const mcplug_entry *e = mcplug_entry_find(conf, name);
    char *path = mp_tool_cache_path(&e->config->paths, e);
    int r = mp_tool_cache_save(path, NULL, lists, ttls, &err);

    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_list_unref(list);
    mp_free(path);
}

static bool is_known(const char *name)
{
    mcplug_known_free(known);
    known = mcplug_known_new(mcplug_entry_find(conf, name));
    return known;
}

START_TEST(what_was_kept_is_there_with_its_age)
{
    struct mcplug_known_info info = {.struct_size = sizeof info};
    size_t len;

    ck_assert(!is_known("s"));
    keep("s", TWO);
    ck_assert(is_known("s"));
    const char *items = mcplug_known_items(known, MCPLUG_TOOLS, &len);
    ck_assert_uint_eq(len, strlen(TWO));
    ck_assert(memcmp(items, TWO, len) == 0);
    ck_assert_int_eq(mcplug_known_info(known, MCPLUG_TOOLS, &info), 1);
    ck_assert_uint_eq(info.whole, 1);
    ck_assert_uint_eq(info.fresh, 1);
    ck_assert_int_le(info.at, (int64_t)time(NULL));
    ck_assert_int_gt(info.at, (int64_t)time(NULL) - 60);
    ck_assert_int_eq(mcplug_known_info(known, MCPLUG_PROMPTS, &info), 0);
    ck_assert_ptr_null(mcplug_known_items(known, MCPLUG_PROMPTS, &len));
    ck_assert_uint_eq(len, 0);
    ck_assert(!is_known("t"));
}
END_TEST

START_TEST(a_server_without_such_a_list_is_known_to_have_none)
{
    size_t len;

    keep("s", NULL);
    ck_assert(is_known("s"));
    const char *items = mcplug_known_items(known, MCPLUG_TOOLS, &len);
    ck_assert_uint_eq(len, 2);
    ck_assert(memcmp(items, "[]", 2) == 0);
}
END_TEST

START_TEST(a_definition_is_forgotten_alone_or_with_all_of_its_name)
{
    keep("s", TWO);
    keep("t", TWO);
    mcplug_known_forget(mcplug_entry_find(conf, "s"), 0);
    ck_assert(!is_known("s"));
    ck_assert(is_known("t"));

    keep("s", TWO);
    give(USER, "{'mcpServers':{'s':{'command':'z'},'t':{'command':'y'}}}");
    mcplug_config_free(conf);
    conf = mcplug_config_load(NULL, &err);
    ck_assert(!is_known("s")); /* of another definition */
    mcplug_known_forget(mcplug_entry_find(conf, "s"), 1);
    give(USER, "{'mcpServers':{'s':{'command':'x'},'t':{'command':'y'}}}");
    mcplug_config_free(conf);
    conf = mcplug_config_load(NULL, &err);
    ck_assert(!is_known("s"));
    ck_assert(is_known("t"));
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, start, end);
    tcase_add_test(tc, what_was_kept_is_there_with_its_age);
    tcase_add_test(tc, a_server_without_such_a_list_is_known_to_have_none);
    tcase_add_test(tc, a_definition_is_forgotten_alone_or_with_all_of_its_name);
}

int main(void)
{
    return run_suite("api_admin_known", add);
}
