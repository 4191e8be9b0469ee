/* The table of keys, and the manual that has to name them. */
#include "config/keys.h"

#include "base/mem.h"
#include "config/supervision.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* give: free */
static char *manual(void)
{
    const char *src = getenv("MCPLUG_SRC");
    char path[4096], *text = calloc(1, 1 << 20);

    snprintf(path, sizeof path, "%s/doc/mcplug.json.5", src ? src : ".");
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    ck_assert_uint_lt(fread(text, 1, (1 << 20) - 1, f), (1 << 20) - 1);
    fclose(f);
    return text;
}

/* Has an item of a list ".It Cm a , b" that name? */
static bool has_item(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = text; (p = strstr(p, "\n.It Cm ")); p++) {
        const char *end = strchr(p + 1, '\n'), *at = p;
        while ((at = strstr(at + 1, name)) && at < end)
            if (at[-1] == ' ' && (at[len] == ' ' || at[len] == '\n'))
                return true;
    }
    return false;
}

START_TEST(the_manual_names_every_key)
{
    char *text = manual();
    for (const struct mp_key *key = mp_keys; key->name; key++)
        if (key->help)
            ck_assert_msg(has_item(text, key->name), "doc/mcplug.json.5: no item \"%s\"",
                          key->name);
    ck_assert(!has_item(text, "nosuch"));
    free(text);
}
END_TEST

START_TEST(every_key_is_there_once_and_whole)
{
    for (const struct mp_key *key = mp_keys; key->name; key++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\"", key->name);
        ck_assert_ptr_eq(mp_key_find(mp_text(quoted)), key);
        ck_assert_msg(!key->check == !key->help, "%s", key->name);
        ck_assert_msg(!key->check == !key->type, "%s", key->name);
        ck_assert_msg(!key->into || key->ours, "%s", key->name);
        ck_assert_msg(!key->into || key->into->read, "%s", key->name);
        ck_assert_msg(!key->ours || key->check, "%s", key->name);
        ck_assert_msg(!key->help || (strlen(key->help) <= 60 && !isspace(key->help[0])),
                      "%s", key->name);
    }
    ck_assert_ptr_null(mp_key_find(mp_text("\"nosuch\"")));
    ck_assert_ptr_null(mp_key_find(mp_text("7")));
}
END_TEST

/* No two keys may be read into one member. */
START_TEST(every_key_has_a_member_of_its_own)
{
    for (const struct mp_key *a = mp_keys; a->name; a++)
        for (const struct mp_key *b = a + 1; a->into && b->name; b++)
            ck_assert_msg(!b->into || a->at != b->at, "%s, %s", a->name, b->name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_keys");
    TCase *t = tcase_create("all");
    tcase_add_test(t, the_manual_names_every_key);
    tcase_add_test(t, every_key_is_there_once_and_whole);
    tcase_add_test(t, every_key_has_a_member_of_its_own);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
