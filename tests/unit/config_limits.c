/* The limits of a configuration, and one over each. */
#include "config_kit.h"

#include "base/buf.h"

static struct mp_str text;

static void start(void)
{
    mp_str_init(&text, 8 << 20);
}

static void end(void)
{
    mp_str_clear(&text);
}

/* {"mcpServers":{"s0":BODY,..}} */
static const char *servers(size_t n, const char *body)
{
    mp_str_reset(&text);
    mp_str_adds(&text, "{\"mcpServers\":{");
    for (size_t i = 0; i < n; i++)
        mp_str_addf(&text, "%s\"s%zu\":%s", i ? "," : "", i, body);
    ck_assert(mp_str_adds(&text, "}}"));
    return text.data;
}

static void give_packages(size_t from, size_t to)
{
    char name[64], body[64];
    for (size_t i = from; i < to; i++) {
        snprintf(name, sizeof name, "servers.d/%04zu.json", i);
        snprintf(body, sizeof body, "{'mcpServers':{'s%zu':{'command':'x'}}}", i);
        give(name, body);
    }
}

START_TEST(as_many_files_as_the_limit_are_read_and_not_one_more)
{
    give_packages(0, MP_CONFIG_FILES);
    load();
    ck_assert_uint_eq(config->n_sources, MP_CONFIG_FILES);
    ck_assert_uint_eq(config->n_entries, MP_CONFIG_FILES);
    give_packages(MP_CONFIG_FILES, MP_CONFIG_FILES + 1);
    load();
    ck_assert_uint_eq(config->n_sources, MP_CONFIG_FILES);
    ck_assert_ptr_null(mcplug_entry_find(config, "s256"));
    give(USER, "{'mcpServers':{'user':{'command':'x'}}}");
    load(); /* the higher scope has its place */
    ck_assert_uint_eq(config->n_sources, MP_CONFIG_FILES);
    ck_assert_int_eq(state_of("user"), MCPLUG_ENTRY_READY);
    ck_assert_ptr_null(mcplug_entry_find(config, "s255"));
}
END_TEST

START_TEST(files_beyond_the_limit_are_a_problem)
{
    give_packages(0, MP_CONFIG_FILES + 1);
    load();
    ck_assert_uint_ge(config->n_problems, 1);
}
END_TEST

START_TEST(of_more_given_files_than_the_limit_the_first_are_left_out)
{
    const char *more[MP_CONFIG_FILES + 2] = {0};
    for (size_t i = 0; i <= MP_CONFIG_FILES; i++)
        more[i] = "{\"mcpServers\":{\"s\":{\"command\":\"x\"}}}";
    more[0] = "{\"mcpServers\":{\"first\":{\"command\":\"x\"}}}";
    ck_assert(load_with(more, true));
    ck_assert_uint_eq(config->n_entries, MP_CONFIG_FILES);
    ck_assert_ptr_null(mcplug_entry_find(config, "first"));
    ck_assert(load_with(more + 1, true));
    ck_assert_uint_eq(config->n_entries, MP_CONFIG_FILES);
}
END_TEST

START_TEST(a_working_directory_of_any_depth_is_no_failure)
{
    char name[32];
    for (size_t i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "%zu", i);
        ck_assert_int_eq(mkdir(name, 0700), 0);
        ck_assert_int_eq(chdir(name), 0);
    }
    int fd = open(MP_PROJECT_FILE, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(write(fd, "{\"mcpServers\":{\"deep\":{}}}", 26), 26);
    close(fd);
    give(ABOVE, "{'mcpServers':{'too-far':{}}}");
    load();
    ck_assert_ptr_nonnull(mcplug_entry_find(config, "deep"));
}
END_TEST

/* A tree of directories with large files must not make every command slow. */
START_TEST(of_project_files_those_above_the_limit_are_not_read)
{
    const char *large = servers(4000, "{\"command\":\"a command of two hundred letters .."
                                      "................................................"
                                      "................................................"
                                      "................................................"
                                      "...\"}");
    size_t fit = MP_PROJECT_MAX / text.len + 1;
    size_t len = text.len;
    char name[32];

    give(ABOVE, "{'mcpServers':{'too-far':{}}}");
    for (size_t i = 0; i < 2 * fit; i++) {
        int fd = open(MP_PROJECT_FILE, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ck_assert_int_eq(write(fd, large, len), (ssize_t)len);
        close(fd);
        snprintf(name, sizeof name, "%zu", i);
        ck_assert_int_eq(mkdir(name, 0700), 0);
        ck_assert_int_eq(chdir(name), 0);
    }
    load();
    ck_assert_uint_eq(config->n_sources, fit);
    ck_assert_uint_eq(config->n_entries, fit * 4000);
    ck_assert_uint_eq(mcplug_config_count(config), 4000);
    ck_assert_ptr_null(mcplug_entry_find(config, "too-far"));
    ck_assert_ptr_nonnull(mcplug_entry_find(config, "s0"));
    ck_assert_ptr_nonnull(mcplug_entry_find(config, "s3999"));
    ck_assert_ptr_null(mcplug_entry_find(config, "s4000"));
    ck_assert_uint_eq(config->n_problems, 1);
    ck_assert_ptr_nonnull(strstr(mcplug_config_problem(config, 0),
                                 "those in the directories above are ignored"));
}
END_TEST

START_TEST(as_many_servers_as_the_limit_are_read_and_not_one_more)
{
    make_dirs(USER);
    put(USER, servers(MP_CONFIG_SERVERS, "{\"command\":\"x\"}"), 0600);
    load();
    ck_assert_uint_eq(config->n_entries, MP_CONFIG_SERVERS);
    ck_assert_int_eq(state_of("s4095"), MCPLUG_ENTRY_READY);
    ck_assert_str_eq(problems(), "");
    put(USER, servers(MP_CONFIG_SERVERS + 1, "{\"command\":\"x\"}"), 0600);
    load();
    ck_assert_uint_eq(config->n_entries, MP_CONFIG_SERVERS);
    ck_assert_ptr_null(mcplug_entry_find(config, "s4096"));
    HAS(problems(), "mcpServers: more than 4096 servers");
    give(PROJECT, "{'mcpServers':{'one':{'command':'x'}}}");
    load(); /* the higher scope has its place */
    ck_assert_int_eq(state_of("one"), MCPLUG_ENTRY_NEEDS_APPROVAL);
    ck_assert_ptr_nonnull(
        mcplug_entry_find(config, "s4095")); /* the limit is of one file */
}
END_TEST

START_TEST(an_entry_of_the_limit_is_read_and_one_byte_more_breaks_it)
{
    for (size_t more = 0; more < 2; more++) {
        size_t begin = strlen("{\"mcpServers\":{\"s\":");
        mp_str_reset(&text);
        mp_str_adds(&text, "{\"mcpServers\":{\"s\":{\"command\":\"");
        while (text.len < begin + MP_ENTRY_MAX + more - 2)
            mp_str_addc(&text, 'x');
        mp_str_adds(&text, "\"},\"t\":{\"command\":\"x\"}}}");
        make_dirs(USER);
        put(USER, text.data, 0600);
        load();
        ck_assert_uint_eq(entry("s")->json.len, MP_ENTRY_MAX + more);
        ck_assert_int_eq(state_of("s"), more ? MCPLUG_ENTRY_BROKEN : MCPLUG_ENTRY_READY);
        ck_assert_int_eq(state_of("t"), MCPLUG_ENTRY_READY);
    }
    HAS(problems(), "is too long");
}
END_TEST

START_TEST(an_entry_as_deep_as_the_limit_is_read_and_one_deeper_is_broken)
{
    for (size_t more = 0; more < 2; more++) {
        mp_str_reset(&text);
        mp_str_adds(&text, "{\"mcpServers\":{\"s\":{\"command\":\"{[\",\"note\":");
        for (size_t i = 1; i < MP_ENTRY_DEPTH + more; i++)
            mp_str_addc(&text, '[');
        for (size_t i = 1; i < MP_ENTRY_DEPTH + more; i++)
            mp_str_addc(&text, ']');
        mp_str_adds(&text, "}}}");
        make_dirs(USER);
        put(USER, text.data, 0600);
        load();
        ck_assert_int_eq(state_of("s"), more ? MCPLUG_ENTRY_BROKEN : MCPLUG_ENTRY_READY);
    }
    HAS(problems(), "nested too deeply");
}
END_TEST

START_TEST(problems_end_at_their_limit_and_entries_stay_broken)
{
    make_dirs(USER);
    put(USER, servers(MP_PROBLEMS_MAX + 1, "{\"command\":7}"), 0600);
    load();
    ck_assert_uint_eq(config->n_problems, MP_PROBLEMS_MAX);
    ck_assert_uint_eq(config->n_entries, MP_PROBLEMS_MAX + 1);
    for (size_t i = 0; i < config->n_entries; i++)
        ck_assert_int_eq(state_of(config->entries[i].name), MCPLUG_ENTRY_BROKEN);
}
END_TEST

START_TEST(a_full_list_of_problems_does_no_harm_to_what_is_added)
{
    const char *path;
    make_dirs(USER);
    put(USER, servers(MP_PROBLEMS_MAX, "{\"command\":7}"), 0600);
    load();
    ck_assert_uint_eq(config->n_problems, MP_PROBLEMS_MAX);
    ck_assert_int_eq(mcplug_entry_add(config, MCPLUG_SCOPE_LOCAL, "new",
                                      "{\"command\":7}", 13, 1, &path, &err),
                     MCPLUG_EINVAL);
    HAS(err.text, "Invalid configuration: new");
    ck_assert_int_eq(mcplug_entry_add(config, MCPLUG_SCOPE_LOCAL, "new",
                                      "{\"command\":\"x\"}", 15, 1, &path, &err),
                     MCPLUG_OK);
}
END_TEST

START_TEST(names_are_letters_digits_hyphens_and_underscores)
{
    static const char *const good[] = {
        "a",
        "A-9_z",
        "-",
        "_",
        "0",
        ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
         "0123456789-_")};
    static const char *const bad[] = {"",     "a b",      "a.b",     "a/b",
                                      "a:b",  "\xc3\xa4", "a\n",     "a\\",
                                      "a\"b", "${HOME}",  "a\x1b[2J"};

    ck_assert_uint_eq(strlen(good[5]), MCPLUG_NAME_MAX);
    for (size_t i = 0; i < MP_COUNT(good); i++)
        ck_assert_int_eq(mcplug_name_check(good[i], &err), MCPLUG_OK);
    for (size_t i = 0; i < MP_COUNT(bad); i++) {
        ck_assert_int_eq(mcplug_name_check(bad[i], &err), MCPLUG_ECONFIG);
        HAS(err.text,
            "Names can only contain letters, numbers, hyphens, and underscores");
    }
    ck_assert_int_eq(mcplug_name_check("a b", NULL), MCPLUG_ECONFIG);
}
END_TEST

START_TEST(a_name_of_one_character_too_many_breaks_the_entry)
{
    char name[MCPLUG_NAME_MAX + 2], body[256];

    memset(name, 'n', sizeof name);
    name[MCPLUG_NAME_MAX] = '\0';
    ck_assert_int_eq(mcplug_name_check(name, &err), MCPLUG_OK);
    name[MCPLUG_NAME_MAX] = 'n';
    name[MCPLUG_NAME_MAX + 1] = '\0';
    ck_assert_int_eq(mcplug_name_check(name, &err), MCPLUG_ECONFIG);
    HAS(err.text, "at most 64 characters");
    snprintf(body, sizeof body, "{'mcpServers':{\n'%s':{'command':'x'}}}", name);
    give(USER, body);
    load();
    ck_assert_int_eq(state_of(name), MCPLUG_ENTRY_BROKEN);
    HAS(err.text, "settings.json:2:1: mcpServers: Invalid name");
}
END_TEST

START_TEST(odd_names_break_their_entry_alone)
{
    give(USER, "{'mcpServers':{'':{'command':'x'},'a b':{'command':'x'},"
               "'b':{'command':'x'}}}");
    load();
    ck_assert_int_eq(state_of(""), MCPLUG_ENTRY_BROKEN);
    ck_assert_int_eq(state_of("a b"), MCPLUG_ENTRY_BROKEN);
    ck_assert_int_eq(state_of("b"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(a_name_with_a_nul_is_not_the_name_before_it)
{
    give(PROJECT, "{'mcpServers':{'s\\u0000x':{'command':'evil'}}}");
    load();
    ck_assert_ptr_null(mcplug_entry_find(config, "s"));
    ck_assert_uint_eq(config->n_problems, 1);
}
END_TEST

START_TEST(text_in_place_of_more_than_a_file_may_have_does_not_fit)
{
    mp_str_reset(&text);
    mp_str_adds(&text, "{");
    while (text.len < MP_FILE_MAX - 1)
        mp_str_addc(&text, ' ');
    mp_str_adds(&text, "}");
    ck_assert_uint_eq(text.len, MP_FILE_MAX);
    const char *more[] = {text.data, NULL};
    ck_assert(load_with(more, true));
    mp_str_addc(&text, ' ');
    more[0] = text.data;
    ck_assert(!load_with(more, true));
}
END_TEST

START_TEST(a_file_that_is_too_long_is_a_problem_of_its_own)
{
    mp_str_reset(&text);
    while (text.len < MP_FILE_MAX + 1)
        mp_str_addc(&text, ' ');
    make_dirs(USER);
    put(USER, text.data, 0600);
    give(PROJECT, "{'mcpServers':{'s':{'command':'x'}}}");
    load();
    ck_assert_uint_eq(config->n_entries, 1);
    HAS(problems(), USER ": is longer than 1048576 bytes");
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_checked_fixture(t, start, end);
    tcase_add_test(t, as_many_files_as_the_limit_are_read_and_not_one_more);
    tcase_add_test(t, files_beyond_the_limit_are_a_problem);
    tcase_add_test(t, of_more_given_files_than_the_limit_the_first_are_left_out);
    tcase_add_test(t, a_working_directory_of_any_depth_is_no_failure);
    tcase_add_test(t, of_project_files_those_above_the_limit_are_not_read);
    tcase_add_test(t, as_many_servers_as_the_limit_are_read_and_not_one_more);
    tcase_add_test(t, an_entry_of_the_limit_is_read_and_one_byte_more_breaks_it);
    tcase_add_test(t, an_entry_as_deep_as_the_limit_is_read_and_one_deeper_is_broken);
    tcase_add_test(t, problems_end_at_their_limit_and_entries_stay_broken);
    tcase_add_test(t, a_full_list_of_problems_does_no_harm_to_what_is_added);
    tcase_add_test(t, names_are_letters_digits_hyphens_and_underscores);
    tcase_add_test(t, a_name_of_one_character_too_many_breaks_the_entry);
    tcase_add_test(t, odd_names_break_their_entry_alone);
    tcase_add_test(t, a_name_with_a_nul_is_not_the_name_before_it);
    tcase_add_test(t, text_in_place_of_more_than_a_file_may_have_does_not_fit);
    tcase_add_test(t, a_file_that_is_too_long_is_a_problem_of_its_own);
}

int main(void)
{
    return run_suite("config_limits", add);
}
