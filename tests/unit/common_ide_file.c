#include "ide_kit.h"
#include "suite.h"

#include <sys/wait.h>

static void is_skipped(const char *why)
{
    ck_assert_int_eq(find(), 0);
    ck_assert_int_eq(n_skipped, 1);
    ck_assert_msg(strstr(why_skipped, why) != NULL, "%s", why_skipped);
    n_skipped = 0;
}

static int dead_pid(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return (int)pid;
}

/* ---- what a file says ---- */

START_TEST(a_lock_file_tells_all_about_its_editor)
{
    const char *before;
    char url[64], expected[256];
    put("home/.claude/ide/4321.lock", 0,
        " {\"pid\":%d,\"workspaceFolders\":[\"%s/code/a\",\"%s/code\"],"
        "\"ideName\":\"N\\u00e9o\\u001bvim\",\"transport\":\"ws\",\"authToken\":\"" TOKEN
        "\",\"runningInWindows\":false}\n",
        (int)getpid(), top, top);
    ck_assert_int_eq(find(), 1);
    ck_assert_str_eq(found[0].name, "Néo?vim");
    ck_assert_str_eq(found[0].transport, "ws");
    ck_assert_str_eq(found[0].token, TOKEN);
    ck_assert_int_eq(found[0].port, 4321);
    ck_assert_int_eq(found[0].pid, getpid());
    ck_assert_int_eq(found[0].family, IDE_LOCK);
    ck_assert_int_eq(found[0].windows, 0);
    snprintf(expected, sizeof expected, "%s/code/a", top);
    ck_assert_str_eq(found[0].workspace, expected);
    ck_assert_int_eq(found[0].holds_cwd, (int)strlen(expected));
    snprintf(expected, sizeof expected, "%s/home/.claude/ide/4321.lock", top);
    ck_assert_str_eq(found[0].file, expected);
    ide_url(&found[0], url, sizeof url);
    ck_assert_str_eq(url, "ws://127.0.0.1:4321/mcp");
    ck_assert_str_eq(ide_token_header(found[0].family, &before),
                     "X-Claude-Code-Ide-Authorization");
    ck_assert_str_eq(before, "");
    ck_assert_int_eq(n_skipped, 0);
}
END_TEST

START_TEST(a_companion_file_tells_the_pid_by_its_name)
{
    const char *before;
    char name[128], url[64], expected[128];
    snprintf(name, sizeof name, "tmp/gemini/ide/gemini-ide-server-%d-4322.json",
             (int)getpid());
    put(name, 0,
        "{\"port\":4322,\"workspacePath\":\"%s/code/ab:%s/code/a/b:relative::\","
        "\"authToken\":\"a-very-secret-token\",\"ideInfo\":{\"name\":\"vscode\","
        "\"displayName\":\"VS Code\"}}",
        top, top);
    ck_assert_int_eq(find(), 1);
    ck_assert_str_eq(found[0].name, "VS Code");
    ck_assert_str_eq(found[0].transport, "http");
    ck_assert_str_eq(found[0].token, "a-very-secret-token");
    ck_assert_int_eq(found[0].pid, getpid());
    snprintf(expected, sizeof expected, "%s/code/a/b", top);
    ck_assert_str_eq(found[0].workspace, expected);
    ck_assert_int_gt(found[0].holds_cwd, 0);
    ide_url(&found[0], url, sizeof url);
    ck_assert_str_eq(url, "http://127.0.0.1:4322/mcp");
    ck_assert_str_eq(ide_token_header(found[0].family, &before), "Authorization");
    ck_assert_str_eq(before, "Bearer ");
}
END_TEST

START_TEST(what_is_left_out_has_a_meaning)
{
    char url[64];
    put("home/.claude/ide/1.lock", 0,
        "{\"workspaceFolders\":[],\"authToken\":null,\"pid\":null}");
    ck_assert_int_eq(find(), 1);
    ck_assert_str_eq(found[0].name, "unnamed");
    ck_assert_str_eq(found[0].transport, "sse");
    ck_assert_str_eq(found[0].token, "");
    ck_assert_str_eq(found[0].workspace, "");
    ck_assert_int_eq(found[0].pid, 0);
    ck_assert_int_eq(found[0].holds_cwd, 0);
    ide_url(&found[0], url, sizeof url);
    ck_assert_str_eq(url, "http://127.0.0.1:1/sse");
}
END_TEST

START_TEST(a_long_name_is_cut_between_characters)
{
    char name[256] = "x";
    for (int i = 0; i < 50; i++)
        strcat(name, "é");
    put("home/.claude/ide/1.lock", 0, "{\"workspaceFolders\":[],\"ideName\":\"%s\"}",
        name);
    ck_assert_int_eq(find(), 1);
    ck_assert_uint_eq(strlen(found[0].name), 63);
    ck_assert_int_eq(strncmp(found[0].name, name, 63), 0);
    put("home/.claude/ide/1.lock", 0, "{\"workspaceFolders\":[],\"ideName\":\"x%s\"}",
        name);
    ck_assert_int_eq(find(), 1);
    ck_assert_uint_eq(strlen(found[0].name), 62);
}
END_TEST

/* ---- what is left out ---- */

START_TEST(what_is_no_object_of_the_kind_is_left_out)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "not a JSON object"},
        {"4321", "not a JSON object"},
        {"[]", "not a JSON object"},
        {"\"workspaceFolders\"", "not a JSON object"},
        {"{\"workspaceFolders\":[]", "not a JSON object"},
        {"{\"workspaceFolders\":[]}}", "not a JSON object"},
        {"{\"workspaceFolders\":[\"\xff\"]}", "not a JSON object"},
        {"{}", "no workspace"},
        {"{\"workspaceFolders\":\"/\"}", "no workspace"},
        {"{\"workspaceFolders\":[],\"pid\":\"12\"}", "pid is malformed"},
        {"{\"workspaceFolders\":[],\"pid\":0}", "pid is malformed"},
        {"{\"workspaceFolders\":[],\"pid\":-1}", "pid is malformed"},
        {"{\"workspaceFolders\":[],\"pid\":4294967297}", "pid is malformed"},
        {"{\"workspaceFolders\":[],\"port\":4320}", "port does not match its name"},
        {"{\"workspaceFolders\":[],\"port\":\"4321\"}", "port does not match its name"},
        {"{\"workspaceFolders\":[],\"transport\":\"gopher\"}", "transport is unknown"},
        {"{\"workspaceFolders\":[],\"transport\":7}", "transport is unknown"},
    };
    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        put("home/.claude/ide/4321.lock", 0, "%s", cases[i].text);
        is_skipped(cases[i].why);
    }
}
END_TEST

START_TEST(a_token_has_10_to_500_visible_characters)
{
    char token[502];
    static const char *const bad[] = {"short",
                                      "with a blank",
                                      "line\\r\\nbreak",
                                      "n\\u00f6t-ascii-at-all",
                                      "del\\u007f1234567",
                                      ""};
    memset(token, 'x', sizeof token);
    token[501] = '\0';
    put("home/.claude/ide/1.lock", 0, "{\"workspaceFolders\":[],\"authToken\":\"%s\"}",
        token);
    is_skipped("token is malformed");
    for (size_t i = 0; i < MP_COUNT(bad); i++) {
        put("home/.claude/ide/1.lock", 0,
            "{\"workspaceFolders\":[],\"authToken\":\"%s\"}", bad[i]);
        is_skipped("token is malformed");
    }
    put("home/.claude/ide/1.lock", 0,
        "{\"workspaceFolders\":[],\"authToken\":12345678901}");
    is_skipped("token is malformed");
    token[500] = '\0';
    put("home/.claude/ide/1.lock", 0, "{\"workspaceFolders\":[],\"authToken\":\"%s\"}",
        token);
    ck_assert_int_eq(find(), 1);
    ck_assert_str_eq(found[0].token, token);
    ck_assert_int_eq(ide_token_valid("123456789"), 0);
    ck_assert_int_eq(ide_token_valid("1234567890"), 1);
}
END_TEST

START_TEST(files_that_others_could_have_written_are_left_out)
{
    char path[256], dir[256];
    put_lock(4321, 0, "code");
    snprintf(dir, sizeof dir, "%s/home/.claude/ide", top);
    snprintf(path, sizeof path, "%s/home/.claude/ide/4321.lock", top);
    chmod(path, 0602);
    is_skipped("other users can write");
    chmod(path, 0600);
    chmod(dir, 0777);
    is_skipped("other users can write");
    chmod(dir, 0700);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, 0, 4711), 0);
        chmod(path, 0660);
        is_skipped("other users can write");
        ck_assert_int_eq(chown(path, 4711, 4711), 0);
        is_skipped("belongs to another user");
        ck_assert_int_eq(chown(path, 0, 0), 0);
        ck_assert_int_eq(chown(dir, 4711, 0), 0);
        is_skipped("belongs to another user");
        ck_assert_int_eq(chown(dir, 0, 0), 0);
    }
    chmod(path, 0644);
    ck_assert_int_eq(find(), 1);
}
END_TEST

START_TEST(only_regular_files_are_opened)
{
    char path[256], target[256];
    snprintf(path, sizeof path, "%s/home/.claude/ide/4321.lock", top);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    is_skipped("not a regular file");
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    is_skipped("not a regular file");
    rmdir(path);
    put("code/4321.lock", 0, "{\"workspaceFolders\":[]}");
    snprintf(target, sizeof target, "%s/code/4321.lock", top);
    ck_assert_int_eq(symlink(target, path), 0);
    is_skipped("symbolic link");
    unlink(path);
    ck_assert_int_eq(rename(target, path), 0);
    ck_assert_int_eq(find(), 1);
}
END_TEST

START_TEST(a_file_has_64_kib_at_most)
{
    char *blanks = malloc(IDE_FILE_MAX);
    static const char text[] = "{\"workspaceFolders\":[]}";
    size_t rest = IDE_FILE_MAX - (sizeof text - 1);
    memset(blanks, ' ', rest);
    blanks[rest] = '\0';
    put("home/.claude/ide/4321.lock", 0, "%s%s", text, blanks);
    ck_assert_int_eq(find(), 1);
    put("home/.claude/ide/4321.lock", 0, "%s%s ", text, blanks);
    is_skipped("more than 64 KiB");
    put("home/.claude/ide/4321.lock", 0, "%s%s%s%s", blanks, blanks, blanks, text);
    is_skipped("more than 64 KiB");
    free(blanks);
}
END_TEST

START_TEST(an_editor_whose_process_is_gone_is_left_out)
{
    char name[128];
    int pid = dead_pid();
    put("home/.claude/ide/4321.lock", 0, "{\"workspaceFolders\":[],\"pid\":%d}", pid);
    is_skipped("process has ended");
    put("home/.claude/ide/4321.lock", 0,
        "{\"workspaceFolders\":[],\"pid\":%d,\"runningInWindows\":true}", pid);
    ck_assert_int_eq(find(), 1); /* its pid is one of another system */
    ck_assert_int_eq(found[0].windows, 1);
    put("home/.claude/ide/4321.lock", 0, "{\"workspaceFolders\":[],\"pid\":1}");
    ck_assert_int_eq(find(), 1); /* alive, may it be ours or not */
    unlink(below("home/.claude/ide/4321.lock"));
    snprintf(name, sizeof name, "tmp/gemini/ide/gemini-ide-server-%d-4321.json", pid);
    put(name, 0, "{\"workspacePath\":\"/\"}");
    is_skipped("process has ended");
}
END_TEST

START_TEST(only_some_folders_of_an_editor_are_looked_at)
{
    char text[8192] = "";
    for (int i = 0; i < IDE_FOLDERS_MAX; i++)
        strcat(text, "\"/nowhere\",");
    put("home/.claude/ide/1.lock", 0, "{\"workspaceFolders\":[%s\"/\"]}", text);
    ck_assert_int_eq(find(), 1);
    ck_assert_int_eq(found[0].holds_cwd, 0);
    put("home/.claude/ide/1.lock", 0, "{\"workspaceFolders\":[%s\"/\"]}", text + 11);
    ck_assert_int_eq(find(), 1);
    ck_assert_int_eq(found[0].holds_cwd, 1);
    ck_assert_str_eq(found[0].workspace, "/");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_ide_file");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 20);
    tcase_add_test(t, a_lock_file_tells_all_about_its_editor);
    tcase_add_test(t, a_companion_file_tells_the_pid_by_its_name);
    tcase_add_test(t, what_is_left_out_has_a_meaning);
    tcase_add_test(t, a_long_name_is_cut_between_characters);
    tcase_add_test(t, what_is_no_object_of_the_kind_is_left_out);
    tcase_add_test(t, a_token_has_10_to_500_visible_characters);
    tcase_add_test(t, files_that_others_could_have_written_are_left_out);
    tcase_add_test(t, only_regular_files_are_opened);
    tcase_add_test(t, a_file_has_64_kib_at_most);
    tcase_add_test(t, an_editor_whose_process_is_gone_is_left_out);
    tcase_add_test(t, only_some_folders_of_an_editor_are_looked_at);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
