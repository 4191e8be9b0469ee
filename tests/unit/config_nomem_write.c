/* Changing and showing the configuration while memory fails: every file is the old one
 * or the new one, what is refused with memory is refused without it, and no secret is
 * shown. */
#include "nomem_kit.h"

#define LOCAL_TEXT                                                                       \
    "{'mcpServers':{'local-off':{'command':'x','disabled':true},"                        \
    "'local':{'command':'x'}}}\n"

/* ---- changing ---- */

#define NEW "{'command':'n','args':['1','2']}"

static const char *body;
static int result;

static void give_files(void)
{
    give(LOCAL, LOCAL_TEXT);
    give(USER, "{'mcpServers':{'s':{'command':'x'},'t':{'command':'y'}}}");
    unlink(at(APPROVALS));
    load();
}

static char *text_of(const char *name)
{
    struct mp_file file;
    ck_assert_int_eq(mp_file_read(at(name), &file, &err), MCPLUG_OK);
    char *text = file.exists ? strdup(file.text.data) : NULL;
    mp_file_clear(&file);
    return text;
}

static void add_short(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char *path = NULL;
    result = mcplug_entry_add(config, MCPLUG_SCOPE_LOCAL, "new", body, strlen(body), 1,
                              &path, &why);
    ck_assert(result == MCPLUG_OK || why.text[0]);
    ck_assert((result == MCPLUG_OK) == (path != NULL));
}

/* The old files or the new ones: an entry and its approval come together. */
static void after_adding(void)
{
    char *text = text_of(LOCAL);
    load();
    ck_assert_str_eq(problems(), "");
    entry("local");
    ck_assert_int_eq(state_of("local-off"), MCPLUG_ENTRY_DISABLED);
    if (result == MCPLUG_OK) {
        ck_assert_int_eq(state_of("new"), MCPLUG_ENTRY_READY);
    } else {
        ck_assert_str_eq(text, json(LOCAL_TEXT));
        ck_assert(!is_there(APPROVALS));
    }
    ck_assert_uint_eq(count("project"), 1); /* no temporary file */
    free(text);
}

START_TEST(what_is_added_is_added_whole_or_not_at_all)
{
    char *copy = strdup(json(NEW)); /* json() writes over it */
    body = copy;
    torture(give_files, add_short, after_adding);
    ck_assert_int_eq(result, MCPLUG_OK); /* in the end there was memory enough */
    free(copy);
}
END_TEST

static void after_refusing(void)
{
    char *text = text_of(LOCAL);
    ck_assert_int_ne(result, MCPLUG_OK);
    ck_assert_str_eq(text, json(LOCAL_TEXT));
    ck_assert(!is_there(APPROVALS));
    free(text);
}

START_TEST(what_the_policy_denies_is_never_added)
{
    static const char *const bodies[] = {
        "{'command':'evil'}",
        "{'command':'x','args':['1','2','evil']}",
        "{'url':'https://evil.net/'}",
        "{'type':'unix','path':'/evil'}",
    };
    give(POLICY, "{'deny':[{'command':['evil']},{'command':['x','1','2','evil']},"
                 "{'url':'https://evil.net'},{'url':'unix:/evil'}]}");
    for (size_t i = 0; i < MP_COUNT(bodies); i++) {
        char *copy = strdup(json(bodies[i]));
        body = copy;
        torture(give_files, add_short, after_refusing);
        free(copy);
    }
}
END_TEST

START_TEST(what_is_no_server_is_never_added)
{
    static const char *const bodies[] = {
        "{'command':7}",
        "[]",
        "{}",
        "{'command':'x','args':['a\\u0000b']}",
        "{'command':'x','env':{'A=B':'c'}}",
    };
    for (size_t i = 0; i < MP_COUNT(bodies); i++) {
        char *copy = strdup(json(bodies[i]));
        body = copy;
        torture(give_files, add_short, after_refusing);
        free(copy);
    }
}
END_TEST

static void remove_short(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    result = mcplug_entry_remove(mcplug_entry_find(config, "s"), &why);
}

static void after_removing(void)
{
    load();
    ck_assert_str_eq(problems(), "");
    entry("t");
    ck_assert((result == MCPLUG_OK) == (mcplug_entry_find(config, "s") == NULL));
}

START_TEST(what_is_removed_takes_nothing_with_it)
{
    torture(give_files, remove_short, after_removing);
}
END_TEST

static void disable_short(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    result = mcplug_entry_disable(mcplug_entry_find(config, "s"), &why);
}

static void after_disabling(void)
{
    load();
    ck_assert_str_eq(problems(), "");
    ck_assert_int_eq(state_of("t"), MCPLUG_ENTRY_READY);
    ck_assert_int_eq(state_of("s"),
                     result == MCPLUG_OK ? MCPLUG_ENTRY_DISABLED : MCPLUG_ENTRY_READY);
}

START_TEST(what_is_disabled_is_disabled_or_as_before)
{
    torture(give_files, disable_short, after_disabling);
}
END_TEST

static void approve_short(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    result = mcplug_entry_approve(mcplug_entry_find(config, "local"), &why);
}

static void after_approving(void)
{
    load();
    ck_assert_str_eq(problems(), "");
    ck_assert_int_eq(state_of("local"), result == MCPLUG_OK
                                            ? MCPLUG_ENTRY_READY
                                            : MCPLUG_ENTRY_NEEDS_APPROVAL);
}

START_TEST(what_is_approved_is_approved_or_as_before)
{
    torture(give_files, approve_short, after_approving);
}
END_TEST

/* ---- showing ---- */

static const char secrets[] =
    "{'command':'x','args':['--token','SECRET','--n','a'],'env':{'NAME':'n','API_KEY':"
    "'SECRET'},'url':'https://u:SECRET@h/?token=SECRET','headers':{'X':'SECRET'}}";

static void mask_short(void)
{
    struct mp_str out;
    mp_str_init(&out, 1 << 16);
    bool ok = mp_mask_entry(mp_text(body), &out);
    if (out.data)
        ck_assert_msg(!strstr(out.data, "SECRET"), "%s: %s", when(), out.data);
    if (ok)
        ck_assert(out.data && out.data[out.len - 1] == '}');
    mp_str_clear(&out);
}

START_TEST(what_is_a_secret_is_not_shown_for_want_of_memory)
{
    body = json(secrets);
    torture(NULL, mask_short, NULL);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, what_is_added_is_added_whole_or_not_at_all);
    tcase_add_test(t, what_the_policy_denies_is_never_added);
    tcase_add_test(t, what_is_no_server_is_never_added);
    tcase_add_test(t, what_is_removed_takes_nothing_with_it);
    tcase_add_test(t, what_is_disabled_is_disabled_or_as_before);
    tcase_add_test(t, what_is_approved_is_approved_or_as_before);
    tcase_add_test(t, what_is_a_secret_is_not_shown_for_want_of_memory);
}

int main(void)
{
    return run_suite("config_nomem_write", add);
}
