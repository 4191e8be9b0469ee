#include "cli/base/file_name.h"

#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>

static char name[CLI_SAFE_NAME_MAX + 1];

static const char *name_of(const char *uri, size_t len)
{
    struct mp_str out;

    mp_str_init(&out, CLI_SAFE_NAME_MAX); /* more would fail */
    mp_safe_name(uri, len, &out);
    ck_assert(!out.failed);
    memcpy(name, out.data ? out.data : "", out.len + (out.data != NULL));
    if (!out.data)
        name[0] = '\0';
    mp_str_clear(&out);
    return name;
}

static const struct {
    const char *uri, *name;
} uris[] = {
    {"file:///home/me/report.pdf", "report.pdf"},
    {"https://example.org/a/b.tar.gz?x=/c#/d", "b.tar.gz"},
    {"https://example.org/a/", "a"},
    {"https://example.org", "example.org"},
    {"note:today", "today"},
    {"plain.txt", "plain.txt"},
    {"a%2fb", "a_2fb"}, /* no URI: nothing is decoded */
    {"C:\\x\\y.doc", "y.doc"},
    {"file:///My%20Notes.txt", "My_Notes.txt"},
    {"file:///%C3%A4%E6%97%A5.txt", "ä日.txt"},
    {"file:///..%2f..%2fetc%2fpasswd", "etc_passwd"},
    {"file:///a%5cb", "a_b"},
    {"file:///.bashrc", "bashrc"},
    {"file:///-rf", "rf"},
    {"file:///...", ""},
    {"file:///..", ""},
    {"file:///%00%01", ""},
    {"file:///a%00b", "a_b"},
    {"file:///a%1b[31mb", "a_31mb"},
    {"file:///gnp.%E2%80%AEexe", "gnp._exe"},
    {"file:///a%ff%feb", "a_b"},
    {"file:///a%2", "a_2"},
    {"file:///$(reboot);`x`'\"|&<>*?", "reboot_x"},
    {"data:text/plain;base64,aGk=", ""},
    {"file:", ""},
    {"/", ""},
    {"", ""},
};

START_TEST(a_name_is_the_last_segment_without_what_could_harm)
{
    const char *uri = uris[_i].uri;
    ck_assert_str_eq(name_of(uri, strlen(uri)), uris[_i].name);
    /* the name of a name is the same */
    char *again = strdup(name);
    ck_assert_str_eq(name_of(again, strlen(again)), again);
    free(again);
}
END_TEST

START_TEST(a_name_is_cut_between_characters_and_keeps_its_extension)
{
    char uri[2000] = "file:///";

    for (size_t i = 8; i < 1998; i += 2)
        memcpy(uri + i, "ä", 2);
    ck_assert_uint_eq(strlen(name_of(uri, 8 + 150)), 150);
    ck_assert_uint_eq(strlen(name_of(uri, 8 + 152)), 150);
    memcpy(uri + 8 + 150, ".png", 4);
    ck_assert_uint_eq(strlen(name_of(uri, 8 + 154)), 150);
    ck_assert_str_eq(name + 146, ".png");
    memcpy(uri + 8 + 150, ".jpeg", 5);
    ck_assert_uint_eq(strlen(name_of(uri, 8 + 155)), 149);
    ck_assert_uint_le(strlen(name_of(uri, 1998)), 150);
}
END_TEST

START_TEST(a_media_type_has_an_extension)
{
    static const struct {
        const char *mime, *extension;
    } types[] = {
        {"image/png", ".png"},
        {"IMAGE/JPEG", ".jpg"},
        {"text/html;profile=mcp-app", ".html"},
        {"text/html ; charset=utf-8", ".html"},
        {"audio/mpeg", ".mp3"},
        {"text/unheard-of", ".txt"},
        {"application/unheard-of", ".bin"},
        {"image/png/../x", ".bin"},
        {"", ".bin"},
        {";", ".bin"},
    };
    for (size_t i = 0; i < MP_COUNT(types); i++)
        ck_assert_str_eq(mp_mime_extension(types[i].mime, strlen(types[i].mime)),
                         types[i].extension);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_file_name");
    TCase *tc = tcase_create("names");
    tcase_add_loop_test(tc, a_name_is_the_last_segment_without_what_could_harm, 0,
                        MP_COUNT(uris));
    tcase_add_test(tc, a_name_is_cut_between_characters_and_keeps_its_extension);
    tcase_add_test(tc, a_media_type_has_an_extension);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
