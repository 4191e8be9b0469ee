/* Settings of vaults in the files of the user and the administrator. */
#include "config_kit.h"

#include "plugin/props.h"

static const struct mcplug_option options[] = {
    {"drawer", "string", "top", "where they are"},
    {"turns", "int", "1", "of the key"},
    {NULL, NULL, NULL, NULL},
};
static const struct mcplug_option strict[] = {
    {"drawer", "string", NULL, "where they are"},
    {NULL, NULL, NULL, NULL},
};

static mcplug_props *got;
static struct mcplug_error why;

static int ask(bool takes, const struct mcplug_option *declared)
{
    mp_props_free(got);
    got = NULL;
    why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    return mp_config_vault(config, "desk", takes, takes ? declared : NULL, &got, &why);
}

static void clear(void)
{
    mp_props_free(got);
    got = NULL;
}

START_TEST(a_vault_gets_the_settings_of_the_users_file)
{
    give(USER, "{'vaults':{'desk':{'drawer':'left','turns':3},'other':{}}}");
    load();
    ck_assert_str_eq(problems(), "");
    ck_assert_msg(ask(true, options) == MCPLUG_OK, "%s", why.text);
    ck_assert_str_eq(mp_props_get(got, "drawer"), "left");
    ck_assert_int_eq(mp_props_int(got, "turns", 0), 3);
    clear();
}
END_TEST

START_TEST(without_settings_a_vault_has_its_own_fallbacks)
{
    give(USER, "{'mcpServers':{}}");
    load();
    ck_assert_int_eq(ask(true, options), MCPLUG_OK);
    ck_assert_str_eq(mp_props_get(got, "drawer"), "top");
    ck_assert_int_eq(ask(false, NULL), MCPLUG_OK);
    ck_assert_int_eq(ask(true, strict), MCPLUG_ECONFIG);
    HAS(why.text, "vault \"desk\"");
    HAS(why.text, "drawer");
    clear();
}
END_TEST

START_TEST(the_administrators_settings_replace_the_users)
{
    give(USER, "{'vaults':{'desk':{'drawer':'left','turns':3}}}");
    give(MANAGED, "{'vaults':{'desk':{'drawer':'right'}}}");
    load();
    ck_assert_int_eq(ask(true, options), MCPLUG_OK);
    ck_assert_str_eq(mp_props_get(got, "drawer"), "right");
    ck_assert_int_eq(mp_props_int(got, "turns", 0), 1);
    clear();
}
END_TEST

START_TEST(no_other_file_has_a_say_in_where_secrets_are)
{
    const char *more[] = {json("{'vaults':{'desk':{'drawer':'d'}},'mcpServers':{}}"),
                          NULL};
    give(PROJECT, "{'vaults':{'desk':{'drawer':'p'}}}");
    give(LOCAL, "{'vaults':{'desk':{'drawer':'l'}}}");
    give("servers.d/a.json", "{'vaults':{'desk':{'drawer':'a'}}}");
    ck_assert(load_with(more, false));
    ck_assert_uint_eq(config->n_problems, 4);
    HAS(problems(), PROJECT
        ":1:11: vaults: is allowed only in the user's own file, and ignored here");
    ck_assert_int_eq(ask(true, options), MCPLUG_OK);
    ck_assert_str_eq(mp_props_get(got, "drawer"), "top");
    clear();
}
END_TEST

START_TEST(what_is_wrong_is_told_with_its_place_and_once)
{
    static const struct {
        const char *settings, *problem;
    } rows[] = {
        {"{'drawer':['a']}",
         ":2:19: vaults.desk.drawer: expected a value of type string"},
        {"{'turns':'many'}", ":2:18: vaults.desk.turns: \"many\" is not of type int"},
        {"{'turn':1}", ":2:10: vaults.desk.turn: is unknown to the vault \"desk\"; did "
                       "you mean \"turns\"?"},
        {"{'quantum':1}", ":2:10: vaults.desk.quantum: is unknown to the vault \"desk\""},
    };
    char text[256], line[256];

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        snprintf(text, sizeof text, "{'vaults':{\n'desk': %s}}", rows[i].settings);
        give(USER, text);
        load();
        snprintf(line, sizeof line, USER "%s", rows[i].problem);
        ck_assert_str_eq(problems(), "");
        ck_assert_int_eq(ask(true, options), MCPLUG_ECONFIG);
        ck_assert_msg(strstr(why.text, line) != NULL, "%s", why.text);
        ck_assert_int_eq(ask(true, options), MCPLUG_ECONFIG);
        ck_assert_msg(strstr(why.text, line) != NULL, "%s", why.text);
        ck_assert_uint_eq(config->n_problems, 1);
        HAS(problems(), line);
    }
    clear();
}
END_TEST

START_TEST(a_vault_that_takes_no_settings_is_given_none)
{
    give(USER, "{'vaults':{\n'desk':{}}}");
    load();
    ck_assert_int_eq(ask(false, NULL), MCPLUG_ECONFIG);
    HAS(why.text, USER ":2:8: vaults.desk: this vault takes no settings");
    clear();
}
END_TEST

START_TEST(vaults_have_a_shape)
{
    give(USER, "{'vaults':['desk']}");
    load();
    HAS(problems(), USER ":1:11: vaults: expected an object with one member per vault");
    give(USER, "{'vaults':{'desk':7,'file':{},'cmd':{}}}");
    load();
    HAS(problems(), "vaults.desk: expected an object with settings");
    HAS(problems(), "vaults.file: has no settings: it does not come from a module");
    HAS(problems(), "vaults.cmd: has no settings: it does not come from a module");
    ck_assert_int_eq(ask(true, options), MCPLUG_OK);
    ck_assert_str_eq(mp_props_get(got, "drawer"), "top");
    clear();
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, a_vault_gets_the_settings_of_the_users_file);
    tcase_add_test(t, without_settings_a_vault_has_its_own_fallbacks);
    tcase_add_test(t, the_administrators_settings_replace_the_users);
    tcase_add_test(t, no_other_file_has_a_say_in_where_secrets_are);
    tcase_add_test(t, what_is_wrong_is_told_with_its_place_and_once);
    tcase_add_test(t, a_vault_that_takes_no_settings_is_given_none);
    tcase_add_test(t, vaults_have_a_shape);
}

int main(void)
{
    return run_suite("config_vaults", add);
}
