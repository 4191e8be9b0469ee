/* Settings of converters in the files of the user and the administrator. */
#include "config_kit.h"

static const char *got(void)
{
    return mcplug_config_converters(config);
}

START_TEST(the_settings_of_the_users_file_are_handed_on)
{
    give(USER, "{'converters':{'image':{'maxSide':500},'x':{'isolation':'none'}}}");
    load();
    ck_assert_str_eq(problems(), "");
    ck_assert_str_eq(got(),
                     "{\"image\":{\"maxSide\":500},\"x\":{\"isolation\":\"none\"}}");
    give(USER, "{'mcpServers':{}}");
    load();
    ck_assert_ptr_null(got());
    ck_assert_ptr_null(mcplug_config_converters(NULL));
}
END_TEST

START_TEST(the_administrators_settings_replace_the_users)
{
    give(USER, "{'converters':{'image':{'isolation':'none'},'html':{}}}");
    give(MANAGED, "{'converters':{'image':{'maxSide':100}}}");
    load();
    ck_assert_str_eq(got(), "{\"image\":{\"maxSide\":100}}");
}
END_TEST

START_TEST(no_other_file_has_a_say_in_what_runs_inside)
{
    const char *more[] = {json("{'converters':{'a':{}},'mcpServers':{}}"), NULL};

    give(PROJECT, "{'converters':{'image':{'isolation':'none'}}}");
    give(LOCAL, "{'converters':{'image':{'isolation':'none'}}}");
    ck_assert(load_with(more, false));
    ck_assert_uint_eq(config->n_problems, 3);
    HAS(problems(), PROJECT
        ":1:15: converters: is allowed only in the user's own file, and ignored here");
    ck_assert_ptr_null(got());
}
END_TEST

START_TEST(what_is_wrong_is_told_with_its_place)
{
    static const struct {
        const char *text, *problem;
    } rows[] = {
        {"{'converters':1}", ":1:15: converters: expected an object"},
        {"{'converters':{'image':1}}", ":1:24: converters.image: expected an object"},
        {"{'converters':{'image':{'isolation':'some'}}}",
         "converters.image: \"isolation\" is \"process\" or \"none\""},
        {"{'convertrs':{}}", "did you mean \"converters\"?"},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        give(USER, rows[i].text);
        load();
        HAS(problems(), rows[i].problem);
        ck_assert(!got() || strcmp(got(), "{}") == 0);
    }
}
END_TEST

START_TEST(settings_have_a_limit)
{
    static char text[8000];

    snprintf(text, sizeof text, "{'converters':{'image':{'a':'%05000d'}}}", 0);
    give(USER, text);
    load();
    HAS(problems(), "converters: these settings are too long");
    ck_assert_ptr_null(got());
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, the_settings_of_the_users_file_are_handed_on);
    tcase_add_test(t, the_administrators_settings_replace_the_users);
    tcase_add_test(t, no_other_file_has_a_say_in_what_runs_inside);
    tcase_add_test(t, what_is_wrong_is_told_with_its_place);
    tcase_add_test(t, settings_have_a_limit);
}

int main(void)
{
    return run_suite("config_converters", add);
}
