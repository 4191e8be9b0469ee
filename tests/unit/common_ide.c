#include "ide_kit.h"
#include "suite.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* ---- where they are ---- */

START_TEST(the_other_places_of_companions_are_looked_at)
{
    char name[128];
    snprintf(name, sizeof name, "tmp/qwen/ide/qwen-code-ide-server-%d-4323.json",
             (int)getpid());
    put(name, 5,
        "{\"port\":4323,\"workspacePath\":\"/\",\"ideInfo\":{\"name\":\"zed\"}}");
    put("home/.qwen/ide/4324.lock", 9,
        "{\"port\":4324,\"workspacePath\":\"/\",\"ppid\":%d,\"ideName\":\"Code\"}",
        (int)getpid());
    ck_assert_int_eq(find(), 2);
    ck_assert_str_eq(found[0].name, "zed");
    ck_assert_str_eq(found[0].token, "");
    ck_assert_str_eq(found[1].name, "Code");
    ck_assert_str_eq(found[1].transport, "http");
    ck_assert_int_eq(found[1].pid, getpid());
    ck_assert_int_eq(found[1].holds_cwd, 1);
}
END_TEST

START_TEST(names_that_are_no_ports_are_not_looked_at)
{
    static const char *const names[] = {
        "0.lock", "65536.lock", "01.lock",     "-1.lock", "1.lock.tmp",
        "1.json", "99999.lock", "123456.lock", "1a.lock", ".lock",
        "1.LOCK", " 1.lock",    "+1.lock",     "lock",    "4321.lock~"};
    char name[128];
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        snprintf(name, sizeof name, "home/.claude/ide/%s", names[i]);
        put(name, 0, "{\"workspaceFolders\":[]}");
    }
    put("tmp/gemini/ide/gemini-ide-server-0-1.json", 0, "{\"workspacePath\":\"/\"}");
    put("tmp/gemini/ide/gemini-ide-server-1.json", 0, "{\"workspacePath\":\"/\"}");
    put("tmp/gemini/ide/gemini-ide-server-2147483648-1.json", 0,
        "{\"workspacePath\":\"/\"}");
    put("tmp/gemini/ide/qwen-code-ide-server-1-1.json", 0, "{\"workspacePath\":\"/\"}");
    ck_assert_int_eq(find(), 0);
    ck_assert_int_eq(n_skipped, 0);
    put("home/.claude/ide/65535.lock", 0, "{\"workspaceFolders\":[]}");
    ck_assert_int_eq(find(), 1);
}
END_TEST

START_TEST(more_than_256_files_are_not_looked_at)
{
    for (int i = 0; i < 300; i++)
        put_lock(20000 + i, i, "code");
    ck_assert_int_eq(find(), IDE_FILES_MAX);
    for (int i = 0; i < 300; i += 13) { /* but the preferred one always is */
        where.preferred_ports[1] = 20000 + i;
        ck_assert_int_eq(ide_find(&json, &where, found, 1), 1);
        ck_assert_int_eq(found[0].port, 20000 + i);
    }
}
END_TEST

/* A socket that listens on a port of its own. */
static int listening(int *port)
{
    struct sockaddr_in own = {.sin_family = AF_INET};
    socklen_t len = sizeof own;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&own, &len), 0);
    *port = ntohs(own.sin_port);
    return fd;
}

START_TEST(an_editor_on_whose_port_nobody_listens_is_left_out)
{
    int port, fd = listening(&port);
    put_lock(port, 0, "code");
    where.check_ports = 1;
    ck_assert_int_eq(find(), 1);
    close(fd);
    ck_assert_int_eq(find(), 0);
    ck_assert_ptr_nonnull(strstr(why_skipped, "no process listens on its port"));
    where.check_ports = 0;
    ck_assert_int_eq(find(), 1);
}
END_TEST

START_TEST(a_config_directory_replaces_the_others)
{
    put_lock(1, 0, "code");
    put("home/.config/claude/ide/2.lock", 0, "{\"workspaceFolders\":[]}");
    put("home/c/ide/3.lock", 0, "{\"workspaceFolders\":[]}");
    ck_assert_int_eq(find(), 2);
    snprintf(where.xdg_config_home, sizeof where.xdg_config_home, "%s/nowhere", top);
    ck_assert_int_eq(find(), 1);
    ck_assert_int_eq(found[0].port, 1);
    snprintf(where.config_dir, sizeof where.config_dir, "%s/home/c", top);
    ck_assert_int_eq(find(), 1);
    ck_assert_int_eq(found[0].port, 3);
}
END_TEST

START_TEST(the_environment_says_where_to_look)
{
    struct ide_search s;
    char paths[1024], cwd[4096];
    setenv("CLAUDE_CONFIG_DIR", "/c//", 1);
    setenv("HOME", "/h", 1);
    setenv("XDG_CONFIG_HOME", "/x", 1);
    setenv("TMPDIR", "/t/", 1);
    setenv("CLAUDE_CODE_SSE_PORT", "4321", 1);
    setenv("GEMINI_CLI_IDE_SERVER_PORT", "65536", 1);
    setenv("QWEN_CODE_IDE_SERVER_PORT", "12 ", 1);
    ide_search_from_environment(&s, mp_alloc, mp_free);
    ck_assert_int_eq(s.preferred_ports[0], 4321);
    ck_assert_int_eq(s.preferred_ports[1], 0);
    ck_assert_int_eq(s.preferred_ports[2], 0);
    ck_assert_str_eq(s.cwd, getcwd(cwd, sizeof cwd));
    ck_assert_int_eq(s.check_ports, 1);
    ide_places(&s, " ", paths, sizeof paths);
    ck_assert_str_eq(paths, "/c/ide /t/gemini/ide /t/qwen/ide /h/.qwen/ide");
    unsetenv("CLAUDE_CONFIG_DIR");
    ide_search_from_environment(&s, mp_alloc, mp_free);
    ide_places(&s, " ", paths, sizeof paths);
    ck_assert_str_eq(paths, "/h/.claude/ide /x/claude/ide /t/gemini/ide /t/qwen/ide "
                            "/h/.qwen/ide");
    unsetenv("HOME");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("TMPDIR");
    ide_search_from_environment(&s, mp_alloc, mp_free);
    ide_places(&s, " ", paths, sizeof paths);
    ck_assert_str_eq(paths, "/tmp/gemini/ide /tmp/qwen/ide");
    ide_places(&s, " ", paths, 10);
    ck_assert_str_eq(paths, "/tmp/gemi");
    ck_assert_int_ge(ide_find(&json, &s, found, MP_COUNT(found)), 0);
}
END_TEST

/* ---- the order ---- */

START_TEST(the_newest_file_comes_first)
{
    put_lock(3, 30, "elsewhere");
    put_lock(1, 10, "elsewhere");
    put_lock(2, 20, "elsewhere");
    ck_assert_int_eq(find(), 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(found[i].port, i + 1);
        ck_assert_int_eq(found[i].holds_cwd, 0);
    }
    ck_assert_int_eq(ide_find(&json, &where, found, 2), 2);
    ck_assert_int_eq(found[1].port, 2);
    ck_assert_int_eq(ide_find(&json, &where, found, 0), 0);
}
END_TEST

START_TEST(the_innermost_workspace_around_the_directory_wins)
{
    char link[256], target[256];
    put_lock(1, 0, "code/ab"); /* its name begins alike, and that is all */
    put_lock(2, 1, "code");
    put_lock(3, 9, "code/a/");
    put_lock(4, 2, "code/a/b/c");
    ck_assert_int_eq(find(), 4);
    ck_assert_int_eq(found[0].port, 3);
    ck_assert_int_eq(found[1].port, 2);
    ck_assert_int_eq(found[2].port, 1);
    ck_assert_int_eq(found[2].holds_cwd, 0);
    ck_assert_int_eq(found[3].port, 4);

    snprintf(link, sizeof link, "%s/link", top);
    snprintf(target, sizeof target, "%s/code/a/b", top);
    ck_assert_int_eq(symlink(target, link), 0);
    put_lock(5, 99, "link");
    ck_assert_int_eq(find(), 5);
    ck_assert_int_eq(found[0].port, 5);
    ck_assert_str_eq(found[0].workspace, link);
    strcpy(where.cwd, link); /* and from the other side */
    ck_assert_int_eq(find(), 5);
    ck_assert_int_eq(found[1].port, 3);
    where.cwd[0] = '\0';
    ck_assert_int_eq(find(), 5);
    ck_assert_int_eq(found[0].port, 1);
}
END_TEST

START_TEST(the_preferred_port_comes_before_all)
{
    put_lock(1, 0, "code/a/b");
    put_lock(2, 50, "elsewhere");
    put_lock(3, 60, "code");
    where.preferred_ports[0] = 2;
    ck_assert_int_eq(find(), 3);
    ck_assert_int_eq(found[0].port, 2);
    ck_assert_int_eq(found[0].preferred, 1);
    ck_assert_int_eq(found[1].port, 1);
    where.preferred_ports[2] = 3;
    ck_assert_int_eq(find(), 3);
    ck_assert_int_eq(found[0].port, 3);
}
END_TEST

START_TEST(of_two_files_about_one_port_the_newer_one_counts)
{
    put_lock(4321, 10, "code");
    put("home/.config/claude/ide/4321.lock", 5,
        "{\"workspaceFolders\":[],\"ideName\":\"newer\"}");
    put("home/.qwen/ide/4321.lock", 20, "{\"workspacePath\":\"/\"}");
    ck_assert_int_eq(find(), 1);
    ck_assert_str_eq(found[0].name, "newer");
    ck_assert_int_eq(n_skipped, 2);
}
END_TEST

/* ---- choosing ---- */

START_TEST(an_editor_is_chosen_by_transport_and_name)
{
    char why[496];
    struct ide ide;
    put_lock(1, 0, "code");
    put_lock(2, 0, "code/a");
    put("home/.claude/ide/3.lock", 0,
        "{\"workspaceFolders\":[\"%s/code/a/b\"],\"ideName\":\"Old\"}", top);
    ck_assert_int_eq(ide_choose(&json, &where, NULL, NULL, &ide, why, sizeof why), 0);
    ck_assert_int_eq(ide.port, 3);
    ck_assert_int_eq(ide_choose(&json, &where, "ws", "", &ide, why, sizeof why), 0);
    ck_assert_int_eq(ide.port, 2);
    ck_assert_int_eq(ide_choose(&json, &where, "ws", "eD 1", &ide, why, sizeof why), 0);
    ck_assert_int_eq(ide.port, 1);
    ck_assert_int_eq(ide_choose(&json, &where, "sse", NULL, &ide, why, sizeof why), 0);
    ck_assert_int_eq(ide.port, 3);
    ck_assert_int_eq(ide_choose(&json, &where, "ws", "Old", &ide, why, sizeof why),
                     MCPLUG_EREFUSED);
    ck_assert_ptr_nonnull(strstr(
        why,
        "no editor \"Old\" with ws is running, but \"Old\" with sse is; looked in "));
    ck_assert_ptr_nonnull(strstr(why, "/home/.claude/ide, "));
    ck_assert_ptr_nonnull(strstr(why, "/tmp/gemini/ide"));
    ck_assert_int_eq(ide_choose(&json, &where, "http", NULL, &ide, why, 8),
                     MCPLUG_EREFUSED);
    ck_assert_str_eq(why, "no edit");
}
END_TEST

START_TEST(nobody_to_choose_is_told_with_the_places)
{
    char why[496];
    struct ide ide;
    ck_assert_int_eq(ide_choose(&json, &where, "ws", NULL, &ide, why, sizeof why),
                     MCPLUG_EREFUSED);
    ck_assert_int_eq(strncmp(why, "no editor with ws is running; looked in /", 41), 0);
}
END_TEST

static void *no_memory(size_t size)
{
    (void)size;
    return NULL;
}

START_TEST(without_memory_nothing_is_found)
{
    char why[496];
    where.alloc = no_memory;
    put_lock(1, 0, "code");
    ck_assert_int_eq(find(), MCPLUG_ENOMEM);
    ck_assert_int_eq(ide_choose(&json, &where, "ws", NULL, found, why, sizeof why),
                     MCPLUG_ENOMEM);
    ck_assert_str_eq(why, "out of memory");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_ide");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 20);
    tcase_add_test(t, the_other_places_of_companions_are_looked_at);
    tcase_add_test(t, names_that_are_no_ports_are_not_looked_at);
    tcase_add_test(t, more_than_256_files_are_not_looked_at);
    tcase_add_test(t, an_editor_on_whose_port_nobody_listens_is_left_out);
    tcase_add_test(t, a_config_directory_replaces_the_others);
    tcase_add_test(t, the_environment_says_where_to_look);
    tcase_add_test(t, the_newest_file_comes_first);
    tcase_add_test(t, the_innermost_workspace_around_the_directory_wins);
    tcase_add_test(t, the_preferred_port_comes_before_all);
    tcase_add_test(t, of_two_files_about_one_port_the_newer_one_counts);
    tcase_add_test(t, an_editor_is_chosen_by_transport_and_name);
    tcase_add_test(t, nobody_to_choose_is_told_with_the_places);
    tcase_add_test(t, without_memory_nothing_is_found);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
