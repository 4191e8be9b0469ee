/* Names of files from what servers say. */
#include "content/filename.h"

#include "base/mem.h"
#include "base/text.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

static const char *name_of(const char *uri, size_t len)
{
    static char text[MP_SAFE_NAME_MAX + 1];
    struct mp_str out;

    mp_str_init(&out, 1000);
    mp_safe_name(uri, len, &out);
    ck_assert(!out.failed);
    ck_assert_uint_le(out.len, MP_SAFE_NAME_MAX);
    snprintf(text, sizeof text, "%s", out.data);
    mp_str_clear(&out);
    return text;
}

static void gives(const char *uri, const char *name)
{
    ck_assert_str_eq(name_of(uri, strlen(uri)), name);
}

START_TEST(a_name_is_the_last_segment)
{
    gives("report.pdf", "report.pdf");
    gives("/home/me/report.pdf", "report.pdf");
    gives("file:///home/me/report.pdf", "report.pdf");
    gives("https://example.com/a/b.tar.gz?x=/y/z.png#/w", "b.tar.gz");
    gives("https://example.com/a/b/", "b");
    gives("memo://insights", "insights");
    gives("urn:isbn:0451450523", "isbn_0451450523");
    gives("C:/notes.txt", "notes.txt");
    gives("C:\\Users\\me\\notes.txt", "notes.txt");
    gives("file:///a/My%20Report%20(1).pdf", "My_Report_1_.pdf");
    gives("a/%41.txt", "41.txt"); /* not a URI, so nothing is encoded */
    gives("x://h/%e6%97%a5%e6%9c%ac.txt", "日本.txt");
    gives("x://h/größe.csv", "größe.csv");
}
END_TEST

START_TEST(nothing_hostile_gets_into_a_name)
{
    gives("", "");
    gives("/", "");
    gives("..", "");
    gives("../../x", "x");
    gives("../..", "");
    gives("x://h/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "etc_passwd");
    gives("x://h/..%5c..%5cboot.ini", "boot.ini");
    gives(".bashrc", "bashrc");
    gives("-rf", "rf");
    gives("a\nb\r\tc.txt", "a_b_c.txt");
    gives("x://h/a%00b%0ac.txt", "a_b_c.txt");
    gives("$(reboot);`id`&'\"|<>*.txt", "reboot_id_.txt");
    gives("a b  c.txt", "a_b_c.txt");
    gives("\xe2\x80\xaegnp.exe", "gnp.exe"); /* override of direction */
    gives("a\xe2\x80\x8b\xef\xbb\xbf"
          "b",
          "a_b"); /* of no width */
    gives("a\xc2\xa0\xe3\x80\x80"
          "b",
          "a_b"); /* blanks */
    gives("a\xe2\x80\x9c"
          "b\xe2\x80\x99"
          "c",
          "a_b_c"); /* quotes */
    gives("a\xff\xfe\xc0\xaf"
          "b",
          "a_b"); /* not UTF-8 */
    gives("a\xe2\x88\x95"
          "b",
          "a_b"); /* a slash */
    gives("data:image/png;base64,iVBOR/w0K/Ggo", "");
    ck_assert_str_eq(name_of("a\0b/c\0d.txt", 11), "c_d.txt");
}
END_TEST

START_TEST(a_long_name_is_cut_between_characters_and_keeps_its_extension)
{
    static char uri[100000];
    const char *name;

    memset(uri, 'a', 300);
    strcpy(uri + 300, ".json");
    name = name_of(uri, strlen(uri));
    ck_assert_uint_eq(strlen(name), MP_SAFE_NAME_MAX);
    ck_assert_str_eq(name + MP_SAFE_NAME_MAX - 6, "a.json");

    for (size_t i = 0; i < 600; i += 3)
        memcpy(uri + i, "日", 3);
    strcpy(uri + 600, ".md");
    name = name_of(uri, strlen(uri));
    ck_assert_uint_eq(strlen(name), MP_SAFE_NAME_MAX - 3 + 3);
    ck_assert_str_eq(name + 147, ".md");
    ck_assert(mp_is_utf8(name));

    memset(uri, 'b', sizeof uri);
    memcpy(uri + sizeof uri - 4, ".txt", 4);
    name = name_of(uri, sizeof uri);
    ck_assert_uint_eq(strlen(name), MP_SAFE_NAME_MAX);
    ck_assert_str_eq(name + MP_SAFE_NAME_MAX - 5, "b.txt");

    memset(uri, 'c', 150); /* one that just fits, and one more */
    ck_assert_uint_eq(strlen(name_of(uri, 150)), 150);
    uri[150] = 'c';
    ck_assert_uint_eq(strlen(name_of(uri, 151)), 150);
}
END_TEST

START_TEST(the_name_of_a_name_is_the_same)
{
    static const char *const pieces[] = {
        "a",      ".", "_",  "-",    "/",
        "%2e",    "%", "日", "\xff", "..",
        "x.json", " ", "\\", ":",    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "é",      "#", "?",  "ab:",  "\xe2",
    };
    char uri[4096], once[MP_SAFE_NAME_MAX + 1];

    srand(7);
    for (int i = 0; i < 20000; i++) {
        size_t len = 0;
        for (int n = rand() % 16; n; n--)
            len += (size_t)sprintf(uri + len, "%s",
                                   pieces[(size_t)rand() % MP_COUNT(pieces)]);
        strcpy(once, name_of(uri, len));
        ck_assert(mp_is_utf8(once) && once[0] != '.' && !strpbrk(once, "/\\ %:?#"));
        ck_assert_str_eq(name_of(once, strlen(once)), once);
        size_t max = (size_t)rand() % MP_SAFE_NAME_MAX;
        ck_assert_uint_le(mp_safe_name_put(uri, len, max, once), max);
        ck_assert(mp_is_utf8(once));
    }
}
END_TEST

static void extension(const char *mime, const char *want)
{
    ck_assert_str_eq(mp_mime_extension(mime, strlen(mime)), want);
}

START_TEST(an_extension_follows_from_a_media_type)
{
    extension("image/png", ".png");
    extension("IMAGE/PNG", ".png");
    extension(" text/html ; charset=utf-8", ".html");
    extension("text/html;profile=mcp-app", ".html");
    extension("audio/mpeg", ".mp3");
    extension("audio/x-wav", ".wav");
    extension("audio/ogg", ".ogg");
    extension("application/pdf", ".pdf");
    extension("application/json", ".json");
    extension("application/problem+json", ".json");
    extension("application/rss+xml", ".xml");
    extension("application/zip", ".zip");
    extension("text/csv", ".csv");
    extension("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
              ".xlsx");
    extension("application/vnd.oasis.opendocument.text", ".odt");
    extension("text/x-unheard-of", ".txt");
    extension("image/png2", ".bin");
    extension("image/pn", ".bin");
    extension("application/octet-stream", ".bin");
    extension("+json", ".bin");
    extension("text/", ".bin");
    extension(";", ".bin");
    extension("", ".bin");
    ck_assert_str_eq(mp_extension_mime(".PNG"), "image/png");
    ck_assert_str_eq(mp_extension_mime(".jpg"), "image/jpeg");
    ck_assert_str_eq(mp_extension_mime(".xhtml"), "application/xhtml+xml");
    ck_assert_ptr_null(mp_extension_mime(".unheard-of"));
    ck_assert_ptr_null(mp_extension_mime(""));
    ck_assert_str_eq(mp_mime_extension(NULL, 0), ".bin");
    ck_assert_str_eq(mp_mime_extension("image/png\0", 10), ".bin");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("content_filename");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_name_is_the_last_segment);
    tcase_add_test(t, nothing_hostile_gets_into_a_name);
    tcase_add_test(t, a_long_name_is_cut_between_characters_and_keeps_its_extension);
    tcase_add_test(t, the_name_of_a_name_is_the_same);
    tcase_add_test(t, an_extension_follows_from_a_media_type);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
