/* Servers that people use, of the revisions before 2026-07-28. */
#include "wire.h"

#include <stdio.h>
#include <unistd.h>

/* ---- server-filesystem ---- */

static void open_filesystem(void)
{
    real_use("@modelcontextprotocol/server-filesystem/dist/index.js");
    real_arg(real.dir);
    real_open();
}

/* Calls `tool` with the path of `name` and perhaps more members; must succeed. */
static const char *with_path(const char *tool, const char *name, const char *more)
{
    char args[500];
    snprintf(args, sizeof args, "{\"path\":\"%s\"%s}", real_path(name), more);
    return real_text(tool, args);
}

START_TEST(a_file_is_written_listed_and_read)
{
    open_filesystem();
    ck_assert_str_eq(real_revision(), "2025-11-25");
    ck_assert_uint_eq(real_count(MCPLUG_TOOLS), 14);
    with_path("write_file", "a.txt", ",\"content\":\"one\\ntwo\\n\\u00fc\"");
    ck_assert_str_eq(with_path("read_text_file", "a.txt", ""), "one\ntwo\n\xc3\xbc");
    ck_assert_str_eq(with_path("read_text_file", "a.txt", ",\"head\":1"), "one");
    ck_contains(with_path("list_directory", "", ""), "[FILE] a.txt");
    ck_assert_int_eq(access(real_path("a.txt"), R_OK), 0);
}
END_TEST

START_TEST(outside_of_its_directory_is_the_tools_failure)
{
    open_filesystem();
    const struct reply *reply =
        real_try_tool("read_text_file", "{\"path\":\"/etc/passwd\"}");
    ck_assert_int_eq(reply->code, MCPLUG_OK);
    ck_assert(reply->is_error);
    ck_contains(text_of(reply->json), "outside allowed directories");
}
END_TEST

START_TEST(our_roots_replace_its_directories)
{
    char roots[200];
    double deadline = real_deadline();

    snprintf(roots, sizeof roots, "{\"roots\":[{\"uri\":\"file://%s\"}]}", real.dir);
    real.roots.answer = roots;
    real_use("@modelcontextprotocol/server-filesystem/dist/index.js");
    real_arg("/usr");
    real_open();
    while (!strstr(real_text("list_allowed_directories", "{}"), real.dir))
        real_turn(deadline, "our roots");
    with_path("create_directory", "sub", "");
    ck_assert_int_eq(access(real_path("sub"), X_OK), 0);
}
END_TEST

START_TEST(a_megabyte_goes_there_and_back)
{
    enum { SIZE = 1 << 20 };
    char *args = malloc(SIZE + 500), *end;

    open_filesystem();
    end = args + sprintf(args, "{\"path\":\"%s\",\"content\":\"", real_path("big"));
    memset(end, 'x', SIZE);
    strcpy(end + SIZE, "\"}");
    real_tool("write_file", args);
    snprintf(args, 500, "{\"path\":\"%s\"}", real_path("big"));
    json_t *result = real_tool("read_text_file", args);
    ck_assert_uint_eq(strlen(at(result, "content/0/text")), SIZE);
    free(args);
}
END_TEST

/* ---- server-memory ---- */

START_TEST(a_graph_is_remembered_over_a_restart)
{
    real_use("@modelcontextprotocol/server-memory/dist/index.js");
    real_env("MEMORY_FILE_PATH", real_path("memory.jsonl"));
    real_open();
    ck_assert_uint_eq(real_count(MCPLUG_TOOLS), 9);
    json_t *made = real_tool("create_entities",
                             "{\"entities\":[{\"name\":\"Ada\",\"entityType\":\"person\","
                             "\"observations\":[\"wrote programs\"]}]}");
    ck_assert_str_eq(at(made, "structuredContent/entities/0/name"), "Ada");
    real_close();

    real_open();
    json_t *graph = real_tool("read_graph", "{}");
    ck_assert_str_eq(at(graph, "structuredContent/entities/0/name"), "Ada");
    ck_contains(text_of(graph), "wrote programs");
    ck_assert_int_eq(access(real_path("memory.jsonl"), R_OK), 0);
}
END_TEST

/* ---- server-sequential-thinking ---- */

START_TEST(a_thought_is_counted)
{
    real_use("@modelcontextprotocol/server-sequential-thinking/dist/index.js");
    real_open();
    ck_assert_uint_eq(real_count(MCPLUG_TOOLS), 1);
    ck_assert_uint_eq(real_count(MCPLUG_PROMPTS), 0);
    json_t *result =
        real_tool("sequentialthinking",
                  "{\"thought\":\"first\",\"thoughtNumber\":1,\"totalThoughts\":2,"
                  "\"nextThoughtNeeded\":true}");
    ck_assert_int_eq(
        json_integer_value(get(result, "structuredContent/thoughtHistoryLength")), 1);
    ck_contains(text_of(result), "\"thoughtNumber\": 1");
    REAL_REMARKED("first"); /* it draws them on stderr */
}
END_TEST

/* ---- server-github ---- */

static const struct peer github = {
    .script = "@modelcontextprotocol/server-github/dist/index.js"};

START_TEST(it_speaks_2024_11_05_whatever_is_offered)
{
    wire_open(&github);
    ck_assert_str_eq(real_revision(), "2024-11-05");
    ck_contains(real_info(), "github-mcp-server");
    ck_assert_uint_eq(real_count(MCPLUG_TOOLS), 26);
    ck_assert_uint_eq(real_count(MCPLUG_RESOURCES), 0);
}
END_TEST

START_TEST(what_it_refuses_is_the_peers_error)
{
    wire_open(&github);
    const struct reply *reply = real_try_tool("get_issue", "{\"owner\":\"x\"}");
    ck_assert_int_eq(reply->code, MCPLUG_EPEER);
    ck_assert_int_eq(reply->status, -32603);
    ck_contains(reply->why, "Invalid input");
}
END_TEST

/* ---- mcp-shrimp-task-manager ---- */

static void open_shrimp(void)
{
    real_use("mcp-shrimp-task-manager/dist/index.js");
    real_env("DATA_DIR", real.dir);
    real_open();
}

/* Before it lists its tools, that is: what it says of them depends on its directory. */
START_TEST(it_gets_our_roots_before_it_answers)
{
    real.roots.answer = "{\"roots\":[{\"uri\":\"file:///home/me/my-project\"}]}";
    real.options.lists = MCPLUG_TOOLS;
    open_shrimp();
    ck_assert_int_ge(real.roots.asked, 1);
    ck_assert_uint_eq(real_count(MCPLUG_TOOLS), 15);
    real_tool("list_tasks", "{\"status\":\"all\"}");
    ck_assert_int_eq(access(real_path("my-project"), X_OK), 0);
}
END_TEST

START_TEST(it_is_told_when_we_have_no_roots)
{
    open_shrimp();
    ck_assert_uint_eq(real_count(MCPLUG_TOOLS), 15);
    REAL_REMARKED("Method not found");
}
END_TEST

/* It knows stdio alone; these are what the gateway can put before it. */
enum { ON_GATEWAY = ON_STDIO | ON_SSE | ON_WEBSOCKET };

int main(void)
{
    REAL_SUITE("server-filesystem", a_file_is_written_listed_and_read,
               outside_of_its_directory_is_the_tools_failure,
               our_roots_replace_its_directories, a_megabyte_goes_there_and_back);
    REAL_SUITE("server-memory", a_graph_is_remembered_over_a_restart);
    REAL_SUITE("server-sequential-thinking", a_thought_is_counted);
    WIRE_SUITES("server-github", {ON_GATEWAY, it_speaks_2024_11_05_whatever_is_offered},
                {ON_GATEWAY, what_it_refuses_is_the_peers_error});
    REAL_SUITE("mcp-shrimp-task-manager", it_gets_our_roots_before_it_answers,
               it_is_told_when_we_have_no_roots);
    return real_run();
}
