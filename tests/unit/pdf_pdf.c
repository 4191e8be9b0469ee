/* The converter pdf: pages, what is wrong with documents, and bounds. */
#include "document_kit.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

static char pdf[1 << 20];

/* Puts a document into `pdf`, each page with one text; its cross-reference table is left
 * to the reader to make. `more` goes into the trailer, `font` is a font's dictionary. */
static size_t make(const char *const *texts, const char *more, const char *font)
{
    size_t n = 0, len = sizeof pdf, pages = 0;
#define ADD(...) n += (size_t)snprintf(pdf + n, len - n, __VA_ARGS__)
    while (texts[pages])
        pages++;
    ADD("%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        "2 0 obj<</Type/Pages/Count %zu/Kids[",
        pages);
    for (size_t i = 0; i < pages; i++)
        ADD("%zu 0 R ", 10 + i * 2);
    ADD("]>>endobj\n3 0 obj%sendobj\n"
        "4 0 obj<</Title(A \\(small\\)\\ntitle)>>endobj\n",
        font ? font : "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>");
    for (size_t i = 0; i < pages; i++) {
        ADD("%zu 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 600]/Contents %zu 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>endobj\n",
            10 + i * 2, 11 + i * 2);
        ADD("%zu 0 obj<</Length %zu>>stream\nBT /F 9 Tf 20 500 Td 12 TL %s ET\n"
            "endstream endobj\n",
            11 + i * 2, strlen(texts[i]) + 33, texts[i]);
    }
    ADD("trailer<</Size %zu/Root 1 0 R/Info 4 0 R%s>>\n%%%%EOF\n", 10 + pages * 2, more);
#undef ADD
    ck_assert_uint_lt(n, len);
    return n;
}
#define MAKE(...) make((const char *const[]){__VA_ARGS__, NULL}, "", NULL)

static int convert(size_t len, uint64_t max_bytes, const char *pages)
{
    return document_convert("application/pdf", pdf, len, max_bytes,
                            pages ? "pages" : NULL, pages);
}

static const char *text_of(size_t len, const char *pages)
{
    int r = convert(len, 0, pages);
    ck_assert_msg(r == MCPLUG_OK, "%s", doc.err.text);
    ck_assert_uint_eq(strlen(doc.text), doc.len);
    return doc.text;
}

static void setup(void)
{
    ck_assert_msg(document_open("pdf"), "%s", doc.err.text);
}

START_TEST(only_pdf_that_is_wanted_as_text_matches)
{
    struct mcplug_limits limits = {.struct_size = sizeof limits};
    ck_assert_int_eq(doc.ops->match(NULL, "application/pdf", &limits), 0);
    limits.want_mime = "text/plain";
    ck_assert_int_eq(doc.ops->match(NULL, "application/pdf", &limits), 90);
    ck_assert_int_eq(doc.ops->match(NULL, "text/html", &limits), 0);
}
END_TEST

START_TEST(each_page_has_its_number_and_its_text)
{
    size_t n = MAKE("(One line) Tj T* (and two) Tj", "", "(Last) Tj");
    ck_assert_str_eq(text_of(n, NULL), "--- page 1 of 3 ---\nOne line\nand two\n\n"
                                       "--- page 2 of 3 ---\n[This page has no text.]\n\n"
                                       "--- page 3 of 3 ---\nLast\n");
    ck_assert_str_eq(doc.mime, "text/plain");
    ck_assert_str_eq(fact_of("pages"), "3");
    ck_assert_str_eq(fact_of("title"), "A (small) title");
    ck_assert_str_eq(fact_of("cut"), "");
}
END_TEST

START_TEST(characters_are_utf8_without_control_characters)
{
    size_t n = make((const char *const[]){"(\\344\\200 a\\033\\010b) Tj", NULL}, "",
                    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica"
                    "/Encoding/WinAnsiEncoding>>");
    ck_assert_str_eq(text_of(n, NULL), "--- page 1 of 1 ---\n\xc3\xa4\xe2\x82\xac ab\n");
}
END_TEST

/* ---- which pages ---- */

static void check_pages(const char *pages, const char *expected)
{
    char got[64] = "";
    size_t n = MAKE("(a) Tj", "(b) Tj", "(c) Tj", "(d) Tj", "(e) Tj");
    text_of(n, pages);
    for (const char *s = doc.text; (s = strstr(s, "---\n")); s += 4)
        strncat(got, s + 4, 1);
    ck_assert_str_eq(got, expected);
    ck_assert_str_eq(fact_of("pages"), "5");
}

START_TEST(pages_can_be_chosen)
{
    check_pages("", "abcde");
    check_pages("2", "b");
    check_pages("1-3,5", "abce");
    check_pages(" 4 - , 1 ", "ade");
    check_pages("5-99999999999999999999,2-2", "be");
    check_pages("3,3,3", "c");
}
END_TEST

START_TEST(a_wrong_choice_of_pages_is_named)
{
    static const char *const wrong[] = {"x", "0",   "-3",    "3-1", "1,,2", "1,",
                                        ",", "1 2", "1-2-3", "-",   "1.5"};
    size_t n = MAKE("(a) Tj");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(convert(n, 0, wrong[i]), MCPLUG_ECONFIG);
        ck_assert_ptr_nonnull(strstr(doc.err.text, "the setting pages is \""));
    }
    ck_assert_int_eq(convert(n, 0, "2-"), MCPLUG_ECONFIG);
    ck_assert_str_eq(doc.err.text,
                     "the PDF has 1 pages, and none of those in the setting pages");
}
END_TEST

START_TEST(more_than_64_ranges_are_refused)
{
    char pages[256] = "1";
    size_t n = MAKE("(a) Tj");
    for (int i = 1; i < 64; i++)
        strcat(pages, ",1");
    text_of(n, pages);
    strcat(pages, ",1");
    ck_assert_int_eq(convert(n, 0, pages), MCPLUG_ECONFIG);
}
END_TEST

/* ---- what is wrong with documents ---- */

START_TEST(what_is_no_pdf_is_refused)
{
    static const char *const wrong[] = {"", "x", "%PDF-1.4\n", "%PDF-1.4\ntrailer<<>>",
                                        "<html>"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(document_convert("application/pdf", wrong[i], strlen(wrong[i]),
                                          0, NULL, NULL),
                         MCPLUG_EPROTO);
        ck_assert_str_ne(doc.err.text, "");
    }
}
END_TEST

START_TEST(a_document_with_a_password_is_refused)
{
    size_t n = make((const char *const[]){"(a) Tj", NULL},
                    "/ID[(0123456789abcdef)(0123456789abcdef)]/Encrypt<</Filter/Standard"
                    "/V 1/R 2/P -4/O(0123456789abcdef0123456789abcdef)"
                    "/U(0123456789abcdef0123456789abcdef)>>",
                    NULL);
    ck_assert_int_eq(convert(n, 0, NULL), MCPLUG_ENOTSUP);
    ck_assert_str_eq(doc.err.text, "the PDF needs a password");
}
END_TEST

START_TEST(a_document_cut_short_anywhere_does_no_harm)
{
    size_t n = MAKE("(One) Tj", "(Two) Tj");
    for (size_t i = 0; i < n; i += 3) {
        int r = convert(i, 0, NULL);
        ck_assert(r == MCPLUG_OK || r == MCPLUG_EPROTO);
    }
}
END_TEST

/* As in a worker, where no file can be opened any more. */
START_TEST(fonts_that_need_files_do_no_harm_without_them)
{
    static const char *const fonts[][2] = {{"GBK-EUC-H", "GB1"},
                                           {"UniGB-UCS2-H", "GB1"},
                                           {"90ms-RKSJ-H", "Japan1"},
                                           {"Identity-H", "Korea1"},
                                           {"nothing", "nothing"}};
    struct rlimit before, none;

    if (getenv("MCPLUG_TEST_VALGRIND")) /* which needs some for itself */
        return;
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){0, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(dup(0), -1);
    for (size_t i = 0; i < sizeof fonts / sizeof *fonts; i++) {
        char font[512];
        snprintf(font, sizeof font,
                 "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/%s/DescendantFonts[<<"
                 "/Type/Font/Subtype/CIDFontType0/BaseFont/A/CIDSystemInfo<<"
                 "/Registry(Adobe)/Ordering(%s)/Supplement 0>>/FontDescriptor<<"
                 "/Type/FontDescriptor/FontName/A/Flags 4>>>>]>>",
                 fonts[i][0], fonts[i][1]);
        size_t n = make((const char *const[]){"<b0a1b0a2> Tj", "(x) Tj", NULL}, "", font);
        ck_assert_ptr_nonnull(strstr(text_of(n, NULL), "--- page 2 of 2 ---\n"));
    }
    setrlimit(RLIMIT_NOFILE, &before);
}
END_TEST

START_TEST(nothing_is_printed_about_broken_documents)
{
    int ends[2], saved = dup(2);
    char byte;
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], 2);
    setenv("G_MESSAGES_DEBUG", "all", 1);
    size_t n = MAKE("(a) Tj nonsense 1 2 /G 9 Tf (b) Tj");
    convert(n, 0, NULL);
    convert(n / 2, 0, NULL);
    dup2(saved, 2);
    close(saved);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}
END_TEST

/* ---- bounds ---- */

START_TEST(text_above_the_limit_is_cut_at_a_line)
{
    size_t n = MAKE("(0123456789) Tj T* (0123456789) Tj T* (0123456789) Tj",
                    "(0123456789) Tj T* (0123456789) Tj T* (0123456789) Tj",
                    "(0123456789) Tj T* (0123456789) Tj T* (0123456789) Tj");
    text_of(n, NULL);
    size_t whole = doc.len;
    for (uint64_t max = 1; max < whole; max++) {
        ck_assert_int_eq(convert(n, max, NULL), 0);
        ck_assert_uint_le(doc.len, max);
        ck_assert_str_eq(fact_of("cut"), "true");
    }
    ck_assert_ptr_nonnull(strstr(doc.text, "\n[The rest is left out: "));
    ck_assert_int_eq(convert(n, whole, NULL), 0);
    ck_assert_uint_eq(doc.len, whole);
    ck_assert_str_eq(fact_of("cut"), "");
}
END_TEST

START_TEST(a_conversion_can_be_cancelled_between_pages)
{
    size_t n = MAKE("(a) Tj", "(b) Tj", "(c) Tj");
    doc.cancel_at = 2;
    ck_assert_int_eq(convert(n, 0, NULL), MCPLUG_ECANCELED);
    ck_assert_uint_eq(doc.polls, 2);
}
END_TEST

START_TEST(memory_of_ours_may_run_out)
{
    size_t n = MAKE("(a) Tj");
    text_of(n, NULL);
    unsigned all = doc.allocations;
    for (doc.fail_at = 1; doc.fail_at < all; doc.fail_at++)
        ck_assert_int_eq(convert(n, 0, NULL), MCPLUG_ENOMEM);
}
END_TEST

struct parallel {
    const struct mcplug_task *task;
    unsigned right;
};

static int never(const mcplug_job *job)
{
    (void)job;
    return 0;
}

static void *convert_often(void *arg)
{
    struct parallel *p = arg;
    for (int i = 0; i < 50; i++) {
        struct mcplug_content out = {.struct_size = sizeof out, .fd = -1};
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        if (doc.ops->convert(doc.offer->plugin->ctx, p->task, &out, &err) == 0)
            p->right += mp_buf_bytes(out.body).len == 24;
        mp_buf_unref(out.body);
    }
    return NULL;
}

START_TEST(several_are_converted_at_once)
{
    size_t n = MAKE("(abc) Tj");
    struct mcplug_content in = {.struct_size = sizeof in,
                                .mime = "application/pdf",
                                .body = mp_buf_new(pdf, n),
                                .fd = -1,
                                .size = n};
    struct mcplug_task task = {.struct_size = offsetof(struct mcplug_task, settings),
                               .in = &in,
                               .cancelled = never};
    pthread_t threads[4];
    struct parallel each[4] = {{&task, 0}, {&task, 0}, {&task, 0}, {&task, 0}};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, convert_often, &each[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(each[i].right, 50);
    mp_buf_unref(in.body);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pdf_pdf");
    TCase *tc = tcase_create("pdf");
    tcase_add_checked_fixture(tc, setup, document_close);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, only_pdf_that_is_wanted_as_text_matches);
    tcase_add_test(tc, each_page_has_its_number_and_its_text);
    tcase_add_test(tc, characters_are_utf8_without_control_characters);
    tcase_add_test(tc, pages_can_be_chosen);
    tcase_add_test(tc, a_wrong_choice_of_pages_is_named);
    tcase_add_test(tc, more_than_64_ranges_are_refused);
    tcase_add_test(tc, what_is_no_pdf_is_refused);
    tcase_add_test(tc, a_document_with_a_password_is_refused);
    tcase_add_test(tc, a_document_cut_short_anywhere_does_no_harm);
    tcase_add_test(tc, fonts_that_need_files_do_no_harm_without_them);
    tcase_add_test(tc, nothing_is_printed_about_broken_documents);
    tcase_add_test(tc, text_above_the_limit_is_cut_at_a_line);
    tcase_add_test(tc, a_conversion_can_be_cancelled_between_pages);
    tcase_add_test(tc, memory_of_ours_may_run_out);
    tcase_add_test(tc, several_are_converted_at_once);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
