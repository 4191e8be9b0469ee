#include "config_kit.h"

#include <pwd.h>

static struct mp_paths paths;

static void init(void)
{
    memset(&err, 0, sizeof err);
    int r = mp_paths_init(&paths, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
}

static void clear(void)
{
    mp_paths_clear(&paths);
}

START_TEST(without_variables_all_is_below_the_home)
{
    init();
    ck_assert(paths.has_cwd);
    ck_assert_str_eq(paths.cwd, at("project"));
    ck_assert_str_eq(paths.home, at("home"));
    ck_assert_str_eq(paths.settings, at("home/.config/mcplug/settings.json"));
    ck_assert_str_eq(paths.approvals, at("home/.local/state/mcplug/approvals.json"));
    ck_assert_str_eq(paths.state, at("home/.local/state/mcplug"));
    ck_assert_str_eq(paths.cache, at("home/.cache/mcplug"));
}
END_TEST

START_TEST(the_variables_of_xdg_move_one_place_each)
{
    setenv("XDG_CONFIG_HOME", "/c", 1);
    setenv("XDG_STATE_HOME", "/s/", 1);
    setenv("XDG_CACHE_HOME", "/", 1);
    init();
    ck_assert_str_eq(paths.home, at("home"));
    ck_assert_str_eq(paths.settings, "/c/mcplug/settings.json");
    ck_assert_str_eq(paths.approvals, "/s/mcplug/approvals.json");
    ck_assert_str_eq(paths.state, "/s/mcplug");
    ck_assert_str_eq(paths.cache, "/mcplug");
}
END_TEST

START_TEST(relative_and_empty_variables_do_not_count)
{
    static const char *const values[] = {"", "c", "./c", "~/c", "../c"};

    for (size_t i = 0; i < MP_COUNT(values); i++) {
        setenv("XDG_CONFIG_HOME", values[i], 1);
        setenv("XDG_STATE_HOME", values[i], 1);
        setenv("XDG_CACHE_HOME", values[i], 1);
        init();
        ck_assert_str_eq(paths.settings, at("home/.config/mcplug/settings.json"));
        ck_assert_str_eq(paths.approvals, at("home/.local/state/mcplug/approvals.json"));
        ck_assert_str_eq(paths.state, at("home/.local/state/mcplug"));
        ck_assert_str_eq(paths.cache, at("home/.cache/mcplug"));
        clear();
    }
    init();
}
END_TEST

START_TEST(a_home_that_is_no_path_is_looked_up_instead)
{
    static const char *const values[] = {NULL, "", "home", "~"};
    struct passwd *user = getpwuid(getuid());

    for (size_t i = 0; i < MP_COUNT(values); i++) {
        if (values[i])
            setenv("HOME", values[i], 1);
        else
            unsetenv("HOME");
        init();
        if (user && user->pw_dir[0] == '/')
            ck_assert_str_eq(paths.home, user->pw_dir);
        else
            ck_assert_ptr_null(paths.home);
        clear();
    }
    init();
}
END_TEST

/* A user whom no table knows. */
static void look_without_home(void)
{
    unsetenv("HOME");
    MUST(mp_paths_init(&paths, &err) == MCPLUG_OK);
    MUST(!paths.home && !paths.settings && !paths.approvals && !paths.cache);
    MUST(!paths.state);
    MUST(paths.cwd && paths.managed && paths.policy && paths.packages);
    mp_paths_clear(&paths);
    setenv("XDG_CONFIG_HOME", "/c", 1);
    setenv("XDG_STATE_HOME", "/s", 1);
    MUST(mp_paths_init(&paths, &err) == MCPLUG_OK);
    MUST(!paths.home && !paths.cache);
    MUST(strcmp(paths.settings, "/c/mcplug/settings.json") == 0);
    MUST(strcmp(paths.approvals, "/s/mcplug/approvals.json") == 0);
    MUST(strcmp(paths.state, "/s/mcplug") == 0);
    mp_paths_clear(&paths);
}

START_TEST(without_a_home_there_are_no_files_of_the_user)
{
    int status;

    if (getuid() != 0)
        return; /* only root becomes nobody in particular */
    ck_assert_int_eq(chmod(top, 0755), 0);
    ck_assert_int_eq(chmod(at("project"), 0755), 0);
    pid_t pid = fork();
    if (pid == 0) {
        MUST(setgid(4000123) == 0 && setuid(4000123) == 0);
        look_without_home();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(the_administrators_places_are_not_moved_by_the_environment)
{
    static const char *const names[] = {"HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS",
                                        "XDG_DATA_DIRS", "SYSCONFDIR"};

    for (size_t i = 0; i < MP_COUNT(names); i++)
        setenv(names[i], "/elsewhere", 1);
    init();
    ck_assert_str_eq(paths.managed, at("etc/managed.json"));
    ck_assert_str_eq(paths.policy, at("etc/policy.json"));
    ck_assert_str_eq(paths.packages, at("servers.d"));
    ck_assert_int_eq(paths.owner, installed_owner);
}
END_TEST

START_TEST(a_working_directory_that_is_gone_has_no_files)
{
    give(USER, "{'mcpServers':{'s':{'command':'x'}}}");
    make_dirs("gone/");
    ck_assert_int_eq(chdir(at("gone")), 0);
    ck_assert_int_eq(rmdir(at("gone")), 0);
    init();
    ck_assert(!paths.has_cwd);
    ck_assert_str_eq(paths.cwd, "/");
    load();
    ck_assert_uint_eq(config->n_sources, 1);
    ck_assert_int_eq(state_of("s"), MCPLUG_ENTRY_READY);
}
END_TEST

START_TEST(paths_are_joined_with_one_slash)
{
    static const char *const rows[][3] = {
        {"/a", "b", "/a/b"}, {"/a/", "b", "/a/b"},  {"/", "b", "/b"},
        {"", "b", "/b"},     {"a", "b/c", "a/b/c"}, {"/a", "", "/a/"},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        char *path = mp_path_join(rows[i][0], rows[i][1]);
        ck_assert_str_eq(path, rows[i][2]);
        mp_free(path);
    }
}
END_TEST

START_TEST(a_directory_is_what_is_before_the_last_slash)
{
    static const char *const rows[][2] = {
        {"/a/b", "/a"}, {"/a", "/"}, {"/", "/"},
        {"a/b", "a"},   {"a", "."},  {"/a/b/", "/a/b"},
    };

    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        char *path = mp_path_dir(rows[i][0]);
        ck_assert_str_eq(path, rows[i][1]);
        mp_free(path);
    }
}
END_TEST

START_TEST(clearing_twice_does_no_harm)
{
    init();
    clear();
    ck_assert_ptr_null(paths.cwd);
    clear();
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_checked_fixture(t, NULL, clear);
    tcase_add_test(t, without_variables_all_is_below_the_home);
    tcase_add_test(t, the_variables_of_xdg_move_one_place_each);
    tcase_add_test(t, relative_and_empty_variables_do_not_count);
    tcase_add_test(t, a_home_that_is_no_path_is_looked_up_instead);
    tcase_add_test(t, without_a_home_there_are_no_files_of_the_user);
    tcase_add_test(t, the_administrators_places_are_not_moved_by_the_environment);
    tcase_add_test(t, a_working_directory_that_is_gone_has_no_files);
    tcase_add_test(t, paths_are_joined_with_one_slash);
    tcase_add_test(t, a_directory_is_what_is_before_the_last_slash);
    tcase_add_test(t, clearing_twice_does_no_harm);
}

int main(void)
{
    return run_suite("config_paths", add);
}
