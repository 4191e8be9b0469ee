/* The line of a server's stderr that says why it failed. */
#include "fake.h"
#include "base/stderr_hint.h"

#include <string.h>

/* Lines as programs write them, and the one that is kept. */
static const struct {
    const char *lines, *kept;
} cases[] = {
    {"", ""},
    {"one\ntwo\n", "two"},
    {"why\n\n   \n---\n", "why"},
    {"  indented, and nothing else\n", "indented, and nothing else"},
    {"node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\n"
     "Error: Cannot find module '/x.js'\n    at Module._load (node:internal:1)\n"
     "    at node:internal/main {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n"
     "\nNode.js v20.20.2\n",
     "Error: Cannot find module '/x.js'"},
    {"Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n"
     "ModuleNotFoundError: No module named 'x'\n",
     "ModuleNotFoundError: No module named 'x'"},
    {"npm error code E404\nnpm error 404 Not Found - GET there\nnpm error 404\n"
     "npm error 404  'x@*' is not in this registry.\nnpm error 404\n"
     "npm error 404 tarball, folder, http url, or git folder.\nnpm notice\n"
     "npm error A complete log of this run can be found in: /x.log\n",
     "npm error 404 Not Found - GET there"},
    {"npm ERR! code ENOENT\nnpm ERR! syscall open\nnpm ERR! path /x\n",
     "npm ERR! syscall open"},
    {"npm error code E404\n", "npm error code E404"},
    {"old\nnpm error code E1\nnpm error really\nnew\n", "new"},
    {"tab\tand \x1b[31mred\x1b[0m \xff\n", "tab and  [31mred [0m ?"},
};

static void feed(char *said, const char *lines)
{
    for (size_t n; *lines; lines += n + 1) {
        n = strcspn(lines, "\n");
        mp_stderr_hint_keep(said, lines, n);
    }
}

START_TEST(line_that_says_why_is_kept)
{
    char said[MP_STDERR_HINT_MAX + 1] = "";
    feed(said, cases[_i].lines);
    ck_assert_str_eq(said, cases[_i].kept);
    feed(said, cases[_i].lines); /* a server that is started twice says it twice */
    ck_assert_str_eq(said, cases[_i].kept);
}
END_TEST

START_TEST(long_line_is_cut_between_characters)
{
    char said[MP_STDERR_HINT_MAX + 1] = "", line[400];
    memset(line, 'x', sizeof line);
    for (size_t i = 1; i + 1 < sizeof line; i += 2)
        memcpy(line + i, "\xc3\xa4", 2);
    mp_stderr_hint_keep(said, line, sizeof line);
    ck_assert_uint_eq(strlen(said), MP_STDERR_HINT_MAX - 1);
    ck_assert_int_eq((unsigned char)said[strlen(said) - 1], 0xa4);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, line_that_says_why_is_kept, 0, MP_COUNT(cases));
    tcase_add_test(tc, long_line_is_cut_between_characters);
}

int main(void)
{
    return run_suite("base_stderr_hint", add);
}
