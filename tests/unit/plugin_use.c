/* Modules that use each other's services. */
#include "plugin_modules.h"

struct chain_ops {
    struct mcplug_service_ops head;
    int (*depth)(void *ctx, struct mcplug_error *err);
};

static void place_all(const char *const *names)
{
    char file[64];

    for (; *names; names++) {
        snprintf(file, sizeof file, "%s.so", *names);
        place(file, file);
    }
}

#define PLACE(...) place_all((const char *const[]){__VA_ARGS__, NULL})

static int depth(const char *name)
{
    const struct mp_offer *offer;

    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    if (mp_catalogue_find(cat, MCPLUG_SERVICE, name, &offer, &err) != MCPLUG_OK)
        return -1;
    const struct chain_ops *ops = offer->feature.ops;
    return ops->depth(offer->plugin->ctx, &err);
}

START_TEST(a_provider_is_loaded_when_it_is_used_and_not_before)
{
    PLACE("chain", "chain-two");
    const struct mp_offer *offer;
    ck_assert_int_eq(mp_catalogue_find(cat, MCPLUG_SERVICE, "chain-two", &offer, &err),
                     MCPLUG_OK);
    ck_assert_int_eq(unlink(own("chain.so")), 0);
    ck_assert_int_eq(depth("chain-two"), 0); /* so it was not */
    ck_assert_msg(strstr(err.text, "no module offers the service \"chain\"") != NULL,
                  "%s", err.text);
    PLACE("chain");
    ck_assert_int_eq(depth("chain-two"), 2);
    ck_assert_int_eq(depth("chain-two"), 2);
}
END_TEST

START_TEST(users_are_finished_before_their_providers)
{
    PLACE("chain", "chain-two", "chain-three");
    ck_assert_int_eq(depth("chain"), 1); /* the order of loading is not that of use */
    ck_assert_int_eq(depth("chain-three"), 3);
    mp_catalogue_free(cat);
    cat = NULL;
    ck_assert_uint_eq(n_lines, 3);
    ck_assert_str_eq(lines[0], "1 plugin:chain-three: fini");
    ck_assert_str_eq(lines[1], "1 plugin:chain-two: fini");
    ck_assert_str_eq(lines[2], "1 plugin:chain: fini");
}
END_TEST

START_TEST(modules_that_use_each_other_are_refused_in_one_line)
{
    PLACE("chain-ping", "chain-pong");
    ck_assert_int_eq(depth("chain-ping"), 0);
    ck_assert_str_eq(err.text,
                     "the modules \"chain-pong\" and \"chain-ping\" use each other");
}
END_TEST

START_TEST(modules_that_wait_for_each_other_are_refused)
{
    PLACE("chain-egg", "chain-hen");
    ck_assert_int_eq(depth("chain-egg"), -1);
    ck_assert_msg(
        strstr(err.text,
               "is already being loaded: it and \"chain-hen\" use each other") != NULL,
        "%s", err.text);
    ck_assert_int_eq(depth("chain-hen"), -1); /* nothing is left of it */
}
END_TEST

START_TEST(a_module_cannot_use_itself)
{
    PLACE("chain-self");
    ck_assert_int_eq(depth("chain-self"), 0);
    ck_assert_str_eq(err.text,
                     "the modules \"chain-self\" and \"chain-self\" use each other");
}
END_TEST

START_TEST(a_service_that_is_too_old_is_refused)
{
    PLACE("chain", "chain-newer");
    ck_assert_int_eq(depth("chain-newer"), 0);
    ck_assert_str_eq(err.text,
                     "\"chain-newer\" needs version 2 of the service \"chain\", "
                     "module \"chain\" has 1");
}
END_TEST

START_TEST(a_provider_that_is_not_there_does_no_harm_to_its_user)
{
    PLACE("chain-lost", "chain");
    ck_assert_int_eq(depth("chain-lost"), 0);
    ck_assert_int_eq(err.code, MCPLUG_ENOTSUP);
    ck_assert_int_eq(depth("chain"), 1);
}
END_TEST

START_TEST(nobody_can_use_services_in_the_name_of_nobody)
{
    void *ctx;
    ck_assert_ptr_null(mp_catalogue_use(cat, NULL, "chain", 1, &ctx, &err));
    ck_assert_int_eq(err.code, MCPLUG_EINVAL);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("plugin_use");
    TCase *tc = tcase_create("use");

    if (!modules_find(argc, argv))
        return TEST_SKIP;
    tcase_add_checked_fixture(tc, catalogue_setup, catalogue_teardown);
    tcase_add_test(tc, a_provider_is_loaded_when_it_is_used_and_not_before);
    tcase_add_test(tc, users_are_finished_before_their_providers);
    tcase_add_test(tc, modules_that_use_each_other_are_refused_in_one_line);
    tcase_add_test(tc, modules_that_wait_for_each_other_are_refused);
    tcase_add_test(tc, a_module_cannot_use_itself);
    tcase_add_test(tc, a_service_that_is_too_old_is_refused);
    tcase_add_test(tc, a_provider_that_is_not_there_does_no_harm_to_its_user);
    tcase_add_test(tc, nobody_can_use_services_in_the_name_of_nobody);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
