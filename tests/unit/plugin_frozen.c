/* Modules of every minor of the ABI that was ever frozen, tests/modules/abi-1.N, load and
 * work. */
#include "base/buf.h"
#include "plugin_modules.h"

#include <mcplug/mcplug.h>

static mcplug *host;

static void host_setup(void)
{
    own_dir_make();
    struct mcplug_options o = {.struct_size = sizeof o,
                               .plugin_dirs = (const char *const[]){own_dir, NULL}};
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

static void host_teardown(void)
{
    mcplug_free(host);
    own_dir_remove();
}

static mcplug_server *connect(const char *transport)
{
    const struct mcplug_server_options o = {.struct_size = sizeof o, .once = 1};
    mcplug_settings *settings = mcplug_settings_new(transport);
    mcplug_server *server = NULL;

    int r = mcplug_open_wait(host, settings, &o, &server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(settings);
    return server;
}

START_TEST(a_module_of_every_minor_loads)
{
    static const char *const modules[] = {"old.so", "old_1.so", "old_2.so", "old_3.so"};
    for (size_t i = 0; i < MP_COUNT(modules); i++)
        ck_assert_msg(load(place(modules[i], modules[i])) == MCPLUG_OK, "%s", err.text);
}
END_TEST

START_TEST(a_server_of_minor_1_gets_arguments_beside_a_call_and_is_told_its_end)
{
    mcplug_result *result = NULL;
    mcplug_list *tools = NULL;

    place("old_1.so", "old-1.so");
    mcplug_server *server = connect("old-1");
    ck_assert_str_eq(mcplug_server_revision(server), "2026-07-28");
    ck_assert_int_eq(mcplug_get_list_wait(server, MCPLUG_TOOLS, &tools, &err), MCPLUG_OK);
    ck_assert_uint_eq(mcplug_list_count(tools), 1);
    mcplug_list_unref(tools);
    int r = mcplug_call_tool_wait(server, "where", "{\"region\":\"eu\"}", NULL, &result,
                                  &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), "\"in eu\""));
    mcplug_result_unref(result);
    ck_assert_ptr_nonnull(mcplug_server_fact(server, "settled"));
    ck_assert_int_ge(atoi(mcplug_server_fact(server, "settled")), 3);
    mcplug_close_wait(server);
}
END_TEST

START_TEST(a_vault_of_minor_2_gives_its_secret)
{
    struct mp_str secret;

    mp_str_init(&secret, 1024);
    place("old_2.so", "old-2.so");
    int r = mp_vault_get(cat, "old-2", "token", &secret, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_str_eq(secret.data, "kept since minor 2");
    ck_assert_int_eq(mp_vault_get(cat, "old-2", "nothing", &secret, &err),
                     MCPLUG_EREFUSED);
    ck_assert_str_eq(err.text, "old-2: there is no \"nothing\"");
    mp_str_clear(&secret);
}
END_TEST

START_TEST(a_server_of_minor_3_is_waited_for_while_it_starts_and_may_be_cut_short)
{
    mcplug_result *result = NULL;

    place("old_3.so", "old-3.so");
    mcplug_server *server = connect("old-3");
    ck_assert_str_eq(mcplug_server_revision(server), "2025-06-18");
    ck_assert_str_eq(mcplug_server_fact(server, "looks"), "3");
    int r = mcplug_call_tool_wait(server, "any", NULL, NULL, &result, &err);
    ck_assert_int_eq(r, MCPLUG_EIO); /* not MCPLUG_EPROTO */
    ck_assert_msg(strstr(err.text, "the wire was cut") != NULL, "%s", err.text);
    mcplug_close_wait(server);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("plugin_frozen");
    TCase *tc = tcase(suite, "catalogue");
    tcase_add_test(tc, a_module_of_every_minor_loads);
    tcase_add_test(tc, a_vault_of_minor_2_gives_its_secret);

    tc = tcase_create("host");
    tcase_add_checked_fixture(tc, host_setup, host_teardown);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc,
                   a_server_of_minor_1_gets_arguments_beside_a_call_and_is_told_its_end);
    tcase_add_test(
        tc, a_server_of_minor_3_is_waited_for_while_it_starts_and_may_be_cut_short);
    return suite;
}

int main(int argc, char **argv)
{
    return modules_find(argc, argv) ? run_to_end(make_suite()) : TEST_SKIP;
}
