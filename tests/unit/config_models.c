/* Models in the files of the user and the administrator. */
#include "config_kit.h"

#include "base/error.h"

static struct mp_entry *find(const char *name)
{
    struct mp_entry *entry = NULL;

    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    return mp_config_model(config, name, &entry, &err) == MCPLUG_OK ? entry : NULL;
}

static int check(const char *name)
{
    static const struct mcplug_option options[] = {
        MCPLUG_MODEL_OPTIONS, {"apiKey", "secret", "", ""}, {NULL, NULL, NULL, NULL}};
    return mp_config_check_model(find(name), options, &err);
}

START_TEST(a_model_of_the_users_file_is_found_by_its_name)
{
    give(USER, "{'models':{'a':{'type':'t','model':'m'},'b':{'type':'u'}}}");
    load();
    ck_assert_str_eq(problems(), "");
    struct mp_entry *a = find("a");
    ck_assert_ptr_nonnull(a);
    ck_assert_str_eq(a->name, "a");
    ck_assert(mp_view_equals(mp_view_get(a->json, "type"), "t"));
    ck_assert_ptr_eq(find("a"), a);
    ck_assert_ptr_null(find("c"));
    ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
    ck_assert_str_eq(err.text, "no model \"c\" is configured; there are a, b");
}
END_TEST

START_TEST(the_administrators_model_replaces_the_users)
{
    give(USER, "{'models':{'a':{'type':'t'}}}");
    give(MANAGED, "{'models':{'a':{'type':'theirs'}}}");
    load();
    ck_assert(mp_view_equals(mp_view_get(find("a")->json, "type"), "theirs"));
}
END_TEST

START_TEST(no_other_file_says_where_conversations_go)
{
    const char *more[] = {json("{'models':{'a':{}},'mcpServers':{}}"), NULL};

    give(PROJECT, "{'models':{'a':{'type':'t'}}}");
    give(LOCAL, "{'models':{'a':{'type':'t'}}}");
    ck_assert(load_with(more, false));
    ck_assert_uint_eq(config->n_problems, 3);
    HAS(problems(), PROJECT
        ":1:11: models: is allowed only in the user's own file, and ignored here");
    ck_assert_ptr_null(find("a"));
    ck_assert_str_eq(err.text, "no model \"a\" is configured");
}
END_TEST

START_TEST(what_is_wrong_is_told_with_its_place)
{
    give(USER, "{'models':[]}");
    load();
    HAS(problems(), ":1:11: models: expected an object with one member per model");
    give(USER, "{'model':{}}");
    load();
    HAS(problems(), "did you mean \"models\"?");
    give(USER, "{'models':{'a':1,'b':{'model':'m'}}}");
    load();
    ck_assert_ptr_null(find("a"));
    HAS(err.text, "models.a: expected an object with a \"type\"");
    ck_assert_ptr_null(find("b"));
    ck_assert_int_eq(err.code, MCPLUG_ECONFIG);
}
END_TEST

START_TEST(settings_are_checked_after_what_the_module_declares)
{
    give(USER, "{'models':{'a':{'type':'t','model':'m','apiKey':'${keyring:k}'},"
               "'b':{'type':'t','modle':'m'},'c':{'type':'t','model':'m',"
               "'contextTokens':'many'}}}");
    load();
    ck_assert_int_eq(check("a"), MCPLUG_OK);
    ck_assert_int_eq(check("b"), MCPLUG_ECONFIG);
    HAS(err.text, "models.b.modle: ");
    HAS(err.text, "did you mean \"model\"?");
    ck_assert_int_eq(check("b"), MCPLUG_ECONFIG);
    ck_assert_int_eq(check("c"), MCPLUG_ECONFIG);
    HAS(err.text, "models.c.contextTokens: ");
    size_t n = config->n_problems; /* each is noted once */
    check("b");
    ck_assert_uint_eq(config->n_problems, n);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, a_model_of_the_users_file_is_found_by_its_name);
    tcase_add_test(t, the_administrators_model_replaces_the_users);
    tcase_add_test(t, no_other_file_says_where_conversations_go);
    tcase_add_test(t, what_is_wrong_is_told_with_its_place);
    tcase_add_test(t, settings_are_checked_after_what_the_module_declares);
}

int main(void)
{
    return run_suite("config_models", add);
}
