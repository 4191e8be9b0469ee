#include "cli/import/parts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "config/expand.h"
#include "suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- one text at a time ---- */

static const struct cli_import_places here = {"/home/u", NULL, "/work/app", false};

static struct cli_import read_text(const char *program, const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_import import = {NULL, 0, NULL, 0, NULL, 0};
    int e = cli_import_text(cli_importer_find(program), &here, "f", NULL, mp_text(text),
                            &import, &err);
    ck_assert_msg(e == MCPLUG_OK, "%.200s\n%s", text, err.text);
    return import;
}

/* The server `x` of `program` becomes `entry`. */
static void becomes(const char *program, const char *from, const char *entry)
{
    char *text = NULL;
    ck_assert_int_gt(asprintf(&text, "{\"mcpServers\":{\"x\":%s}}", from), 0);
    struct cli_import import = read_text(program, text);
    ck_assert_msg(import.n == 1, "%s", import.n_skipped ? import.skipped[0] : "");
    ck_assert_str_eq(import.list[0].entry, entry);
    cli_import_clear(&import);
    free(text);
}

static void is_skipped(const char *program, const char *from, const char *line)
{
    char *text = NULL;
    ck_assert_int_gt(asprintf(&text, "{\"mcpServers\":{\"x\":%s}}", from), 0);
    struct cli_import import = read_text(program, text);
    ck_assert_uint_eq(import.n, 0);
    ck_assert_uint_eq(import.n_skipped, 1);
    ck_assert_str_eq(import.skipped[0], line);
    cli_import_clear(&import);
    free(text);
}

START_TEST(what_has_no_form_is_skipped_with_the_reason)
{
    is_skipped("cursor", "{}", "f: x: has neither command nor url");
    is_skipped("cursor", "{\"command\":\"\"}", "f: x: has neither command nor url");
    is_skipped("cursor", "{\"command\":7}", "f: x: has neither command nor url");
    is_skipped("cursor", "{\"url\":[]}", "f: x: has neither command nor url");
    is_skipped("cursor", "[1]", "f: x: is not an object");
    is_skipped("cursor", "null", "f: x: is not an object");
    is_skipped("cursor", "{\"command\":\"a\",\"args\":\"b\"}",
               "f: x: has arguments that are not a list");
    is_skipped("cursor", "{\"command\":\"a\",\"args\":[\"b\",{}]}",
               "f: x: has arguments that are not strings");
    is_skipped("cursor", "{\"command\":\"a\\u0000b\"}", "f: x: has a NUL character");
    is_skipped("cursor", "{\"command\":\"a\",\"disabledTools\":7}",
               "f: x: has a list of tools that can't be read");
    is_skipped("gemini", "{\"tcp\":\"localhost:80\"}", "f: x: tcp is not supported here");
}
END_TEST

START_TEST(types_have_many_names)
{
    static const char *const names[][2] = {{"http", ",\"type\":\"http\""},
                                           {"streamable-http", ",\"type\":\"http\""},
                                           {"streamableHttp", ",\"type\":\"http\""},
                                           {"streamable_http", ",\"type\":\"http\""},
                                           {"sse", ",\"type\":\"sse\""},
                                           {"SSE", ",\"type\":\"sse\""},
                                           {"ws", ",\"type\":\"websocket\""},
                                           {"websocket", ",\"type\":\"websocket\""},
                                           {"remote", ""},
                                           {"carrier-pigeon", ""}};
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        char from[200], entry[200];
        const char *type = names[i][1];
        snprintf(from, sizeof from, "{\"url\":\"https://h/mcp\",\"type\":\"%s\"}",
                 names[i][0]);
        snprintf(entry, sizeof entry, "{%s%s\"url\":\"https://h/mcp\"}",
                 *type ? type + 1 : "", *type ? "," : "");
        becomes("cursor", from, entry);
    }
    becomes("cursor", "{\"type\":\"stdio\",\"command\":\"a\"}", "{\"command\":\"a\"}");
    becomes("cursor", "{\"type\":\"local\",\"command\":\"a\"}", "{\"command\":\"a\"}");
    becomes("cursor", "{\"command\":[\"a\",\"b\"],\"args\":[\"c\"]}",
            "{\"command\":\"a\",\"args\":[\"b\",\"c\"]}");
    becomes("cursor", "{\"type\":\"sse\",\"command\":\"a\",\"url\":\"http://h/\"}",
            "{\"type\":\"sse\",\"url\":\"http://h/\"}");
    becomes("cursor", "{\"command\":\"a\",\"url\":\"http://h/\"}", "{\"command\":\"a\"}");
}
END_TEST

START_TEST(values_of_variables_become_strings)
{
    becomes("cursor",
            "{\"command\":\"a\",\"env\":{\"A\":1,\"B\":true,\"C\":1.50,\"D\":null,"
            "\"E\":{},\"\":\"x\",\"F=G\":\"x\",\"H\":\"\"}}",
            "{\"command\":\"a\",\"env\":{\"A\":\"1\",\"B\":\"true\",\"C\":\"1.50\","
            "\"H\":\"\"}}");
    becomes("cursor", "{\"command\":\"a\",\"args\":[1,\"b\",false]}",
            "{\"command\":\"a\",\"args\":[\"1\",\"b\",\"false\"]}");
}
END_TEST

START_TEST(times_become_milliseconds)
{
    becomes("gemini", "{\"command\":\"a\",\"timeout\":30000}",
            "{\"command\":\"a\",\"timeouts\":{\"request\":30000,\"tool\":30000}}");
    becomes("gemini", "{\"command\":\"a\",\"timeout\":0.25}",
            "{\"command\":\"a\",\"timeouts\":{\"request\":1,\"tool\":1}}");
    becomes("gemini", "{\"command\":\"a\",\"timeout\":-1}", "{\"command\":\"a\"}");
    becomes("gemini", "{\"command\":\"a\",\"timeout\":1e300}", "{\"command\":\"a\"}");
    becomes("gemini", "{\"command\":\"a\",\"timeout\":\"5s\"}", "{\"command\":\"a\"}");
    becomes("claude-code", "{\"command\":\"a\",\"timeout\":600000}",
            "{\"command\":\"a\",\"timeouts\":{\"tool\":600000}}");
    becomes("cursor", "{\"command\":\"a\",\"timeout\":60}", "{\"command\":\"a\"}");
}
END_TEST

/* ---- variables ---- */

static void translates(const char *program, const char *text, const char *ours)
{
    struct cli_import_source source = {
        .program = (enum cli_import_program)(cli_importer_find(program) - cli_importers),
        .paths = &here,
        .file = "f",
        .project = "/work/app"};
    struct cli_import_notes notes;
    struct mp_str out;

    mp_str_init(&out, 1 << 20);
    cli_import_notes_init(&notes);
    cli_import_translate(&source, text, false, &notes, &out);
    ck_assert_str_eq(out.data ? out.data : "", ours);
    cli_import_notes_clear(&notes);
    mp_str_clear(&out);
}

START_TEST(variables_of_editors_become_ours)
{
    translates("cursor", "${env:A}-${env:B_2}", "${A}-${B_2}");
    translates("vscode", "${workspaceFolder}/x", "/work/app/x");
    translates("vscode", "${workspaceFolder:app}/x", "/work/app/x");
    translates("cursor", "${workspaceFolderBasename}", "app");
    translates("cursor", "${userHome}${/}x${pathSeparator}y", "${HOME}/x/y");
    translates("vscode", "${input:api-key}", "${API_KEY}");
    translates("vscode", "${input:path} ${input:9}", "${INPUT_PATH} ${INPUT_9}");
    translates("vscode", "${config:my.token}", "${CONFIG_MY_TOKEN}");
    translates("vscode", "${command:ext.pick}", "${COMMAND_EXT_PICK}");
    translates("windsurf", "${file:/run/t}${env:A}", "${file:/run/t}${A}");
    translates("claude-code", "${A} ${B:-c} ${C:-${env:D}}", "${A} ${B:-c} ${C:-${D}}");
    translates("zed", "${userHome} ${workspaceFolder}", "${userHome} ${workspaceFolder}");
}
END_TEST

START_TEST(variables_of_gemini_become_ours)
{
    translates("gemini", "$A ${B} %TOKEN% $_c$D", "${A} ${B} ${TOKEN} ${_c}${D}");
    translates("gemini", "$5 100% a%20b%20c 5%OFF $ %% $$A",
               "$5 100% a%20b%20c 5%OFF $ %% "
               "$${A}");
    translates("cursor", "$A %TOKEN%", "$A %TOKEN%");
}
END_TEST

/* What a text of theirs comes to here when nothing is set: `secrets` counts what would
 * have been run or read. */
static const char *not_set(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return NULL;
}

static int count_secret(void *arg, const char *kind, const char *name, struct mp_str *out,
                        struct mcplug_error *err)
{
    (void)kind;
    (void)name;
    (void)out;
    (void)err;
    ++*(int *)arg;
    return MCPLUG_OK;
}

static void ignore(void *arg, const char *name)
{
    (void)arg;
    (void)name;
}

START_TEST(what_is_text_there_stays_text_here)
{
    static const char *const texts[] = {
        "${cmd:touch /tmp/x}",
        "a ${file:/etc/passwd} b",
        "${keyring:x}",
        "${A%.txt} ${#A} ${A/b/c}",
        "${",
        "${}",
        "${A",
        "${A:-${B:-${cmd:x}}}",
        "${A:-${b.c}}",
        "$${cmd:x}",
        "${a.b:${cmd:x}}",
        "${A:-${B:-${C:-${D:-${E:-${F:-${G:-${H:-i}}}}}}}}"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int secrets = 0;
    struct mp_expansion expansion = {not_set, count_secret, ignore, &secrets};

    for (size_t i = 0; i < MP_COUNT(texts); i++) {
        struct cli_import_source source = {.program = CLI_CURSOR, .paths = &here};
        struct cli_import_notes notes;
        struct mp_str ours, out;

        mp_str_init(&ours, 1 << 20);
        mp_str_init(&out, 1 << 20);
        cli_import_notes_init(&notes);
        cli_import_translate(&source, texts[i], false, &notes, &ours);
        int e = mp_expand(&expansion, ours.data, &out, &err);
        ck_assert_msg(e == MCPLUG_OK, "%s: %s: %s", texts[i], ours.data, err.text);
        ck_assert_int_eq(secrets, 0);
        char *note = cli_import_notes_take(&notes);
        ck_assert_msg(note && strstr(note, "is kept as text"), "%s", texts[i]);
        if (i < 7 || i == 9)
            ck_assert_str_eq(out.data, texts[i]);
        mp_free(note);
        cli_import_notes_clear(&notes);
        mp_str_clear(&ours);
        mp_str_clear(&out);
    }
}
END_TEST

START_TEST(a_directory_with_braces_makes_no_reference)
{
    struct cli_import_places paths = {NULL, NULL, "/x/{cmd:evil", false};
    struct cli_import_source source = {.program = CLI_CURSOR, .paths = &paths};
    struct cli_import_notes notes;
    struct mp_str out;

    mp_str_init(&out, 1 << 20);
    cli_import_notes_init(&notes);
    cli_import_translate(&source, "$${workspaceFolderBasename}}", false, &notes, &out);
    ck_assert_str_eq(out.data, "$${workspaceFolderBasename}}");
    cli_import_notes_clear(&notes);
    mp_str_clear(&out);
}
END_TEST

/* ---- limits ---- */

START_TEST(names_of_many_stay_unique_and_short)
{
    struct mp_str s;
    char first[70];

    mp_str_init(&s, 1 << 20);
    mp_str_adds(&s, "{\"mcpServers\":{");
    for (unsigned i = 0; i < CLI_IMPORT_ENTRIES; i++) { /* one name once it fits */
        mp_str_addf(
            &s, "%s\"%.70s", i ? "," : "",
            "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg");
        for (unsigned k = 0; k < 10; k++)
            mp_str_addc(&s, i >> k & 1 ? '!' : '?');
        mp_str_adds(&s, "\":{\"command\":\"a\"}");
    }
    mp_str_adds(&s, "}}");
    struct cli_import import = read_text("cursor", s.data);
    ck_assert_uint_eq(import.n, CLI_IMPORT_ENTRIES);
    snprintf(first, sizeof first, "%s", import.list[0].name);
    ck_assert_uint_eq(strlen(first), CLI_IMPORT_NAME);
    for (size_t i = 1; i < import.n; i++) {
        char wanted[100];
        snprintf(wanted, sizeof wanted, "%.59s-%zu", first, i + 1);
        ck_assert_str_eq(import.list[i].name, wanted);
    }
    cli_import_clear(&import);
    mp_str_clear(&s);
}
END_TEST

START_TEST(servers_have_a_limit)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct cli_import import = {NULL, 0, NULL, 0, NULL, 0};
    struct mp_str s;

    mp_str_init(&s, 1 << 20);
    mp_str_adds(&s, "{\"mcpServers\":{");
    for (unsigned i = 0; i < CLI_IMPORT_ENTRIES + 1; i++)
        mp_str_addf(&s, "%s\"s%u\":{\"command\":\"a\"}", i ? "," : "", i);
    mp_str_adds(&s, "}}");
    ck_assert_int_eq(cli_import_text(cli_importer_find("cursor"), &here, "f", NULL,
                                     mp_bytes(s.data, s.len), &import, &err),
                     MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "f: more than 1000 servers");
    cli_import_clear(&import);
    mp_str_clear(&s);
}
END_TEST

START_TEST(parts_of_an_entry_have_a_limit)
{
    static const char *const parts[][3] = {{"\"args\":[", "\"a\"", "]"},
                                           {"\"disabledTools\":[", "\"a\"", "]"}};
    for (size_t p = 0; p < MP_COUNT(parts); p++)
        for (size_t n = CLI_IMPORT_MEMBERS; n <= CLI_IMPORT_MEMBERS + 1; n++) {
            struct mp_str s;
            mp_str_init(&s, 1 << 20);
            mp_str_addf(&s, "{\"mcpServers\":{\"x\":{\"command\":\"a\",%s", parts[p][0]);
            for (size_t i = 0; i < n; i++)
                mp_str_addf(&s, "%s%s", i ? "," : "", parts[p][1]);
            mp_str_addf(&s, "%s}}}", parts[p][2]);
            struct cli_import import = read_text("cursor", s.data);
            ck_assert_uint_eq(import.n, n == CLI_IMPORT_MEMBERS);
            ck_assert_uint_eq(import.n_skipped, n > CLI_IMPORT_MEMBERS);
            cli_import_clear(&import);
            mp_str_clear(&s);
        }
    for (unsigned n = CLI_IMPORT_MEMBERS; n <= CLI_IMPORT_MEMBERS + 1; n++) {
        struct mp_str s;
        mp_str_init(&s, 1 << 20);
        mp_str_adds(&s, "{\"mcpServers\":{\"x\":{\"command\":\"a\",\"env\":{");
        for (unsigned i = 0; i < n; i++)
            mp_str_addf(&s, "%s\"V%u\":\"\"", i ? "," : "", i);
        mp_str_adds(&s, "}}}}");
        struct cli_import import = read_text("cursor", s.data);
        ck_assert_uint_eq(import.n, n == CLI_IMPORT_MEMBERS);
        cli_import_clear(&import);
        mp_str_clear(&s);
    }
}
END_TEST

START_TEST(a_text_has_a_limit)
{
    for (size_t n = CLI_IMPORT_TEXT - 2; n <= CLI_IMPORT_TEXT - 1; n++) {
        struct mp_str s;
        mp_str_init(&s, 1 << 20);
        mp_str_adds(&s, "{\"mcpServers\":{\"x\":{\"command\":\"");
        for (size_t i = 0; i < n; i++)
            mp_str_addc(&s, 'x');
        mp_str_adds(&s, "\"}}}");
        struct cli_import import = read_text("cursor", s.data);
        ck_assert_uint_eq(import.n, n == CLI_IMPORT_TEXT - 2);
        if (import.n == 0)
            ck_assert_str_eq(import.skipped[0], "f: x: has a string that is too long");
        cli_import_clear(&import);
        mp_str_clear(&s);
    }
}
END_TEST

START_TEST(hostile_texts_take_no_time)
{
    static const char *const pieces[] = {
        "${A:-", "${", "${a.b}", "${input:x}", "$A%B%C", "${A:-${A:-${A:-${b.c}}}}"};
    struct mp_str s;

    mp_str_init(&s, 1 << 21);
    for (size_t p = 0; p < MP_COUNT(pieces); p++) {
        mp_str_reset(&s);
        mp_str_adds(&s, "{\"inputs\":[{\"id\":\"y\"}],\"mcpServers\":"
                        "{\"x\":{\"command\":\"a\",\"args\":[\"");
        for (size_t i = 1; i <= 2; i++) {
            while (s.len < i * 60000)
                mp_str_adds(&s, pieces[p]);
            mp_str_adds(&s, i < 2 ? "\",\"" : "\"]}}}");
        }
        struct cli_import import = read_text(p == 4 ? "gemini" : "vscode", s.data);
        ck_assert_uint_eq(import.n, 1);
        cli_import_clear(&import);
    }
    mp_str_clear(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_import_entry");
    TCase *t = NULL;

    t = tcase_create("entries");
    tcase_add_test(t, what_has_no_form_is_skipped_with_the_reason);
    tcase_add_test(t, types_have_many_names);
    tcase_add_test(t, values_of_variables_become_strings);
    tcase_add_test(t, times_become_milliseconds);
    suite_add_tcase(suite, t);
    t = tcase_create("variables");
    tcase_add_test(t, variables_of_editors_become_ours);
    tcase_add_test(t, variables_of_gemini_become_ours);
    tcase_add_test(t, what_is_text_there_stays_text_here);
    tcase_add_test(t, a_directory_with_braces_makes_no_reference);
    suite_add_tcase(suite, t);
    t = tcase_create("limits");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, names_of_many_stay_unique_and_short);
    tcase_add_test(t, servers_have_a_limit);
    tcase_add_test(t, parts_of_an_entry_have_a_limit);
    tcase_add_test(t, a_text_has_a_limit);
    tcase_add_test(t, hostile_texts_take_no_time);
    suite_add_tcase(suite, t);

    return run_to_end(suite);
}
