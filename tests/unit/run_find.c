/* search_tools, among many tools. */
#include "fake.h"

#include "base/mem.h"
#include "run/run.h"

#include <stdio.h>

static struct mp_offered known_tools;
static struct mp_str found;

static void add_tool(const char *server, const char *tool, const char *description,
                     const char *schema)
{
    struct mp_known *k = mp_alloc(sizeof *k);
    char name[256];

    snprintf(name, sizeof name, "mcp__%s__%s", server, tool);
    k->block = mp_strdup(name);
    k->server = mp_strdup(server);
    k->tool = mp_strdup(tool);
    k->def = (struct mcplug_definition){.struct_size = sizeof k->def,
                                        .name = k->block,
                                        .description = description,
                                        .schema = mp_text(schema ? schema : "{}")};
    ck_assert(mp_grow(&known_tools.known, &known_tools.cap, known_tools.n + 1));
    known_tools.known[known_tools.n++] = k;
}

static const char *search_json(const char *arguments)
{
    mp_str_reset(&found);
    ck_assert_int_eq(mp_offer_search(&known_tools, mp_text(arguments), &found),
                     MCPLUG_OK);
    return found.data;
}

static const char *search(const char *query, int limit)
{
    struct mp_str json;

    mp_str_init(&json, 1 << 20);
    mp_str_adds(&json, "{\"query\":");
    mp_str_add_json(&json, query, strlen(query));
    mp_str_addf(&json, ",\"limit\":%d}", limit);
    const char *text = search_json(json.data);
    mp_str_clear(&json);
    return text;
}

static void begin(void)
{
    known_tools = (struct mp_offered){0};
    mp_str_init(&found, 64 << 10);
}

static void end(void)
{
    mp_offer_clear(&known_tools);
    mp_str_clear(&found);
}

static const struct {
    const char *server, *tool, *description;
} catalogue[] = {
    {"disk", "read_file", "Gives the text of one file."},
    {"disk", "read_many_files", "Gives the texts of a number of files, one by one."},
    {"disk", "write_file", "Puts a text into a file, over what was there."},
    {"disk", "list_directory", "Names what is in a place of the disk."},
    {"disk", "make_directory", "Adds an empty one."},
    {"disk", "remove_file", "It is gone then."},
    {"forge", "create_pull_request", "Proposes the commits of a branch for another."},
    {"forge", "merge_pull_request", "Takes the commits of a proposal."},
    {"forge", "list_issues", "What was reported, the newest first."},
    {"chat", "postMessage", "Says something in a channel."},
    {"chat", "listChannels", "Where things can be said."},
    {"wares", "s3_upload", "Copies an object to a bucket."},
    {"weather", "forecast",
     "Tomorrow's rain and temperature, by \xe5\x9f\x8e\xe5\xb8\x82"
     "\xe5\xa4\xa9\xe6\xb0\x94 and name."},
    {"tables", "querydb", "Answers a statement in SQL."},
};

/* A thousand tools that nobody looks for, and the few above. */
static void fill(void)
{
    static const char *const verbs[] = {"get",  "set",  "list", "update", "check",
                                        "copy", "scan", "sort", "count",  "start"};
    static const char *const nouns[] = {"invoice", "order",  "user",  "device", "report",
                                        "policy",  "parcel", "asset", "batch",  "route"};
    char server[32], tool[64];

    for (size_t i = 0; i < 1000; i++) {
        snprintf(server, sizeof server, "office%zu", i / 100);
        snprintf(tool, sizeof tool, "%s_%s", verbs[i % 10], nouns[i / 10 % 10]);
        add_tool(server, tool, "Does this for the one that is named, and returns a text.",
                 "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}");
        if (i % 70 == 0 && i / 70 < MP_COUNT(catalogue))
            add_tool(catalogue[i / 70].server, catalogue[i / 70].tool,
                     catalogue[i / 70].description, NULL);
    }
}

static const struct {
    const char *query, *first;
} queries[] = {
    {"read a file", "mcp__disk__read_file: "},
    {"Please read the file for me", "mcp__disk__read_file: "},
    {"reading files", "mcp__disk__read_"},
    {"read_file", "mcp__disk__read_file: "},
    {"readFile", "mcp__disk__read_file: "},
    {"mcp__disk__read_file", "mcp__disk__read_file: "},
    {"write to a file", "mcp__disk__write_file: "},
    {"delete a file", "mcp__disk__remove_file: "},
    {"list the contents of a folder", "mcp__disk__list_directory: "},
    {"directories", "mcp__disk__"},
    {"new pull request", "mcp__forge__create_pull_request: "},
    {"merging pull requests", "mcp__forge__merge_pull_request: "},
    {"bugs", "mcp__forge__list_issues: "},
    {"send a message", "mcp__chat__postMessage: "},
    {"channels", "mcp__chat__listChannels: "},
    {"s3", "mcp__wares__s3_upload: "},
    {"temperatures", "mcp__weather__forecast: "},
    {"\xe5\xa4\xa9\xe6\xb0\x94", "mcp__weather__forecast: "},
    {"WEATHER", "mcp__weather__forecast: "},
    {"sql", "mcp__tables__querydb: "},
    {"query", "mcp__tables__querydb: "},
};

START_TEST(the_tool_that_was_meant_comes_first_among_a_thousand)
{
    begin();
    fill();
    const char *text = search(queries[_i].query, 5);
    ck_assert_msg(strncmp(text, queries[_i].first, strlen(queries[_i].first)) == 0,
                  "\"%s\": %s", queries[_i].query, text);
    end();
}
END_TEST

START_TEST(words_of_parameters_count_where_there_are_no_others)
{
    begin();
    fill();
    add_tool("here", "locate", "Says where.",
             "{\"type\":\"object\",\"properties\":{\"homeAddress\":{\"type\":\"string\"},"
             "\"latitude\":{\"type\":\"number\"}}}");
    ck_assert_str_eq(search("latitude", 5), "mcp__here__locate: Says where.");
    ck_assert_str_eq(search("address", 5), "mcp__here__locate: Says where.");
    end();
}
END_TEST

START_TEST(as_many_are_found_as_were_wanted_and_twenty_at_most)
{
    static const struct {
        int limit;
        size_t lines;
    } rows[] = {{-1, 1}, {1, 1}, {3, 3}, {20, 20}, {21, 20}, {1 << 30, 20}};
    begin();
    fill();
    for (size_t i = 0; i < MP_COUNT(rows); i++) {
        size_t lines = 1;
        for (const char *at = search("invoice", rows[i].limit); (at = strchr(at, '\n'));
             at++)
            lines++;
        ck_assert_uint_eq(lines, rows[i].lines);
    }
    end();
}
END_TEST

START_TEST(where_nothing_is_found_the_servers_are_named)
{
    begin();
    ck_assert_str_eq(search("anything", 5), "No tool matches. Try other words.");
    add_tool("b", "t", "", NULL);
    add_tool("a", "t", "", NULL);
    add_tool("b", "u", "", NULL);
    add_tool("", "read_result", "", NULL); /* the toolbox's own */
    ck_assert_str_eq(
        search("zzz", 5),
        "No tool matches. Try other words. There are tools of the servers b, a.");
    ck_assert_str_eq(
        search("", 5),
        "No tool matches. Try other words. There are tools of the servers b, a.");
    end();
}
END_TEST

START_TEST(of_very_many_servers_some_are_named)
{
    char name[32];
    begin();
    for (size_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "server-%zu", i);
        add_tool(name, "t", "", NULL);
    }
    const char *text = search("zzz", 5);
    ck_assert_ptr_nonnull(strstr(text, "server-0, server-1, "));
    ck_assert_msg(strlen(text) < 1200 && strstr(text, " more."), "%s", text);
    end();
}
END_TEST

START_TEST(what_is_gone_or_bad_is_not_found)
{
    begin();
    add_tool("s", "gone", "", NULL);
    add_tool("s", "bad", "", NULL);
    add_tool("s", "search_tools", "", NULL);
    known_tools.known[0]->def.name = NULL;
    known_tools.known[1]->is_bad = true;
    known_tools.known[2]->is_search = true;
    ck_assert_str_eq(search("gone bad search tools s", 5),
                     "No tool matches. Try other words.");
    end();
}
END_TEST

START_TEST(words_that_say_little_are_looked_for_if_there_are_no_others)
{
    begin();
    add_tool("s", "how_to", "", NULL);
    add_tool("s", "other", "", NULL);
    ck_assert_str_eq(search("how", 5), "mcp__s__how_to: ");
    end();
}
END_TEST

START_TEST(a_query_of_any_length_is_answered)
{
    struct mp_str query;
    begin();
    fill();
    mp_str_init(&query, 1 << 20);
    for (size_t i = 0; i < 32; i++)
        mp_str_addf(&query, "word%zu ", i);
    mp_str_adds(&query, "read file"); /* not among the first 32 */
    ck_assert_ptr_nonnull(strstr(search(query.data, 5), "No tool matches."));
    mp_str_reset(&query);
    mp_str_adds(&query, "read ");
    for (size_t i = 0; i < 100000; i++)
        mp_str_addc(&query, "aA\xff_"[i % 4]);
    ck_assert_ptr_nonnull(strstr(search(query.data, 5), "mcp__disk__read_file: "));
    mp_str_clear(&query);
    ck_assert_ptr_nonnull(
        strstr(search_json("{\"query\":\"\\u0000read\"}"), "No tool matches."));
    end();
}
END_TEST

START_TEST(a_description_is_shown_to_the_end_of_its_line_and_cut_between_characters)
{
    char text[400] = "";
    begin();
    add_tool("s", "a", "One line.\nAnother.", NULL);
    ck_assert_str_eq(search("another", 5), "mcp__s__a: One line.");
    for (size_t i = 0; i < 120; i++)
        strcat(text, "\xe2\x82\xac");
    add_tool("s", "long", text, NULL);
    search("long", 5);
    ck_assert_uint_eq(found.len, strlen("mcp__s__long: ") + 198);
    ck_assert_str_eq(found.data + found.len - 3, "\xe2\x82\xac");
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, the_tool_that_was_meant_comes_first_among_a_thousand, 0,
                        MP_COUNT(queries));
    tcase_add_test(tc, words_of_parameters_count_where_there_are_no_others);
    tcase_add_test(tc, as_many_are_found_as_were_wanted_and_twenty_at_most);
    tcase_add_test(tc, where_nothing_is_found_the_servers_are_named);
    tcase_add_test(tc, of_very_many_servers_some_are_named);
    tcase_add_test(tc, what_is_gone_or_bad_is_not_found);
    tcase_add_test(tc, words_that_say_little_are_looked_for_if_there_are_no_others);
    tcase_add_test(tc, a_query_of_any_length_is_answered);
    tcase_add_test(
        tc, a_description_is_shown_to_the_end_of_its_line_and_cut_between_characters);
}

int main(void)
{
    return run_suite("run_find", add);
}
