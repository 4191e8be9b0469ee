/* The converter html: what elements become, charsets, and bounds. */
#include "document_kit.h"
#include "quick.h"
#include "suite.h"

#include <check.h>
#include <pthread.h>

static void setup(void)
{
    ck_assert_msg(document_open("html"), "%s", doc.err.text);
}

static const char *text_of_bytes(const char *mime, const char *data, size_t len)
{
    int r = document_convert(mime, data, len, 0, NULL, NULL);
    ck_assert_msg(r == MCPLUG_OK, "%s", doc.err.text);
    ck_assert_uint_eq(strlen(doc.text), doc.len);
    return doc.text;
}

static const char *text_of(const char *html)
{
    return text_of_bytes("text/html", html, strlen(html));
}

#define BAD "\xef\xbf\xbd" /* U+FFFD */
#define IS(html, text) ck_assert_str_eq(text_of(html), text)

/* `n` times that text. give (free) */
static char *times(const char *text, size_t n)
{
    size_t len = strlen(text);
    char *all = malloc(n * len + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(all + i * len, text, len);
    all[n * len] = '\0';
    return all;
}

/* ---- the contract ---- */

START_TEST(only_html_that_is_wanted_as_text_matches)
{
    struct mcplug_limits limits = {.struct_size = sizeof limits};
    ck_assert_int_eq(doc.ops->match(NULL, "text/html", &limits), 0);
    limits.want_mime = "image/png";
    ck_assert_int_eq(doc.ops->match(NULL, "text/html", &limits), 0);
    limits.want_mime = "text/plain";
    ck_assert_int_eq(doc.ops->match(NULL, "text/html", &limits), 90);
    ck_assert_int_eq(doc.ops->match(NULL, "TEXT/HTML; charset=x", &limits), 90);
    ck_assert_int_eq(doc.ops->match(NULL, "application/xhtml+xml", &limits), 90);
    ck_assert_int_eq(doc.ops->match(NULL, "text/htmlx", &limits), 0);
}
END_TEST

START_TEST(the_title_comes_first_and_is_a_fact)
{
    IS("<title> A \n b&amp;</title><p>text", "Title: A b&\n\ntext\n");
    ck_assert_str_eq(doc.mime, "text/plain");
    ck_assert_str_eq(fact_of("title"), "A b&");
    ck_assert_str_eq(fact_of("cut"), "");
}
END_TEST

START_TEST(a_document_without_text_is_empty)
{
    IS("", "");
    IS("<p> <br> </p><table></table><a href=x></a>", "");
    ck_assert_uint_eq(doc.n_facts, 0);
}
END_TEST

/* ---- elements ---- */

START_TEST(white_space_collapses_and_paragraphs_are_apart)
{
    IS(" a\n\t b <b> c </b>d<p>e</p>f<div>g</div>h", "a b c d\n\ne\n\nf\ng\nh\n");
    IS("a<br>b<br><br><br>c&nbsp;d", "a\nb\n\nc d\n");
}
END_TEST

START_TEST(headings_rules_and_quotes)
{
    IS("<h1>A</h1><h3>B</h3>x<hr><blockquote><p>q<p>r</blockquote>y",
       "# A\n\n### B\n\nx\n\n---\n\n> q\n>\n> r\n\ny\n");
}
END_TEST

START_TEST(lists_nest_and_have_their_numbers)
{
    IS("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c\n");
    IS("<ol start=9><li>a<li>b<p>c<li value=20>d</ol>",
       "9. a\n10. b\n\n    c\n\n20. d\n");
    IS("<dl><dt>T<dd>d<dd>e</dl>", "T\n    d\n    e\n");
}
END_TEST

START_TEST(lists_deeper_than_the_limit_are_only_not_indented)
{
    char *html = times("<ul><li>x", 14);
    text_of(html);
    const char *last = strrchr(doc.text, 'x');
    ck_assert_int_eq(strncmp(last - 25, "\n                        x", 26), 0);
    ck_assert_ptr_nonnull(strstr(doc.text, "\n                      - x"));
    free(html);
}
END_TEST

START_TEST(links_have_their_address_unless_that_is_of_no_use)
{
    IS("<a href='/a b(c)'>x</a>", "[x](/a%20b%28c%29)\n");
    IS("<a href=http://h/>http://h/</a> <a href=mailto:a@b>a@b</a>", "http://h/ a@b\n");
    IS("<a href=' JavaScript:x()'>a</a> <a href=data:,x>b</a> <a href=#c>c</a>",
       "a b c\n");
    IS("a<a href=x></a> b <a href=y> c </a>d", "a b [c](y) d\n");
    IS("<a href=z><div>one</div></a>two", "[one](z)\ntwo\n");
}
END_TEST

START_TEST(an_address_of_more_than_2048_bytes_is_left_out)
{
    char *url = times("u", 2049), html[4096];
    snprintf(html, sizeof html, "<a href='%s'>x</a>", url);
    IS(html, "x\n");
    url[2048] = '\0';
    snprintf(html, sizeof html, "<a href='%s'>x</a>", url);
    ck_assert_uint_eq(strlen(text_of(html)), 2048 + 6);
    free(url);
}
END_TEST

START_TEST(images_are_their_description)
{
    IS("<img alt='a  cat'> <img src=x> <img alt=''><img width=1 alt=t>.",
       "[image: a cat] [image] .\n");
    IS("<a href=u><img alt=logo></a>", "[[image: logo]](u)\n");
}
END_TEST

START_TEST(preformatted_text_keeps_its_lines)
{
    IS("<pre>\n a\n\n\tb  c\n</pre>d", "     a\n\n    \tb  c\n\nd\n");
    IS("x <code>a b</code> <pre><code>c</code></pre>", "x `a b`\n\n    c\n");
}
END_TEST

START_TEST(tables_of_data_are_rows_and_columns)
{
    IS("<table><tr><th>K<th>Long<tr><td>a|b<td>c<br>d</table>",
       "| K    | Long |\n|------|------|\n| a\\|b | c d  |\n");
    IS("<table><tr><td rowspan=2>a<td>b<tr><td>c<tr><td colspan=2>d</table>",
       "| a | b |\n|   | c |\n| d |   |\n");
    IS("<ul><li><table><caption>C</caption><tr><td>a<td>b<tr><td>c<td>d</table></ul>",
       "- C\n\n  | a | b |\n  | c | d |\n");
}
END_TEST

START_TEST(wide_tables_are_not_aligned)
{
    char *word = times("w", 93), html[512], text[512];
    snprintf(html, sizeof html, "<table><tr><th>a<th>b<tr><td>c<td>%s</table>", word);
    snprintf(text, sizeof text, "| a | b |\n|---|---|\n| c | %s |\n", word);
    IS(html, text);
    word[92] = '\0';
    snprintf(html, sizeof html, "<table><tr><td>a<td>b<tr><td>c<td>%s</table>", word);
    ck_assert_int_eq(strncmp(text_of(html), "| a | b     ", 12), 0);
    free(word);
}
END_TEST

START_TEST(a_table_of_more_than_64_columns_is_shown_as_text)
{
    char *cells = times("<td>x", 65), html[1024];
    snprintf(html, sizeof html, "<table><tr>%s<tr><td>y</table>", cells);
    ck_assert_int_eq(strncmp(text_of(html), "x\nx\n", 4), 0);
    cells[5 * 64] = '\0';
    snprintf(html, sizeof html, "<table><tr>%s<tr><td>y</table>", cells);
    ck_assert_int_eq(strncmp(text_of(html), "| x | x ", 8), 0);
    free(cells);
}
END_TEST

START_TEST(tables_for_the_layout_are_text)
{
    IS("<table><tr><td>a<table><tr><td>b<td>c<tr><td>d<td>e</table><td>f</table>",
       "a\n\n| b | c |\n| d | e |\n\nf\n");
    IS("<table><tr><td>a<td>b</table>", "a\nb\n");
}
END_TEST

START_TEST(fields_of_forms_are_named_briefly)
{
    IS("<input value=v><input type=hidden value=h><input type=checkbox checked>on "
       "<input type=radio>off<input type=password value=s><button>Go</button>",
       "[field: v] [x] on ( ) off [field] [button: Go]\n");
    IS("<select><option>a<option selected>b</select>", "[choice: a, b (selected)]\n");
}
END_TEST

START_TEST(what_is_not_shown_is_left_out)
{
    IS("a<script>b</script><style>c</style><template>d</template><noscript>e</noscript>"
       "<p hidden>f</p><p style='color:red; DISPLAY : none'>g</p><dialog>h</dialog>i"
       "<svg><style>j</style><text>k</text></svg><!-- l -->",
       "ai k\n");
}
END_TEST

/* ---- bytes ---- */

/* Those of the input are replaced by gumbo, those of character references are dropped. */
START_TEST(control_characters_do_not_come_through)
{
    IS("a\x01\x1b[31m\x7f&shy;b<a href='x\x1b\xc2\x9b'>c</a>\xc2\x9b",
       "a" BAD BAD "[31m" BAD "b[c](x" BAD BAD ")" BAD "\n");
    IS("a&#x1b;&#x1;&#x7f;&#x81;&#x8d;&#0;b<img alt='&#x1b;c'><a href='&#x1b;d'>e</a>",
       "a" BAD "b[image: c][e](d)\n");
}
END_TEST

START_TEST(charsets_are_honoured)
{
    static const char utf16[] = "\xff\xfe"
                                "a\0\xe4\0\x3d\xd8\0\xde\0\xd8";
    static const char utf16be[] = "\xfe\xff\0a\0\xe4";
    ck_assert_str_eq(text_of_bytes("text/html", utf16, 12),
                     "a\xc3\xa4\xf0\x9f\x98\x80\xef\xbf\xbd\n");
    ck_assert_str_eq(text_of_bytes("text/html", utf16be, 6), "a\xc3\xa4\n");
    IS("\xef\xbb\xbf<meta charset=latin1>\xc3\xa4", "\xc3\xa4\n");
    IS("<meta charset='ISO-8859-1'>\xe4\x80", "\xc3\xa4\xe2\x82\xac\n");
    IS("<meta http-equiv=content-type content='text/html; charset=koi8-r'>\xd4",
       "\xd1\x82\n");
    IS("<?xml version='1.0' encoding='Shift_JIS'?><p>\x93\xfa", "\xe6\x97\xa5\n");
    ck_assert_str_eq(text_of_bytes("text/html; charset=\"utf-8\"", "\xe4\xc3\xa4", 3),
                     "\xef\xbf\xbd\xc3\xa4\n");
    ck_assert_str_eq(text_of_bytes("text/html;charset=windows-1252", "\xc3\xa4", 2),
                     "\xc3\x83\xc2\xa4\n");
    IS("\xc3\xa4", "\xc3\xa4\n");
    IS("\xe4 \x93x\x94", "\xc3\xa4 \xe2\x80\x9cx\xe2\x80\x9d\n");
}
END_TEST

START_TEST(invalid_bytes_become_the_replacement_character)
{
    const char *mime = "text/html;charset=utf-8";
    ck_assert_str_eq(
        text_of_bytes(mime, "a\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80z", 12),
        "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\n");
    ck_assert_str_eq(text_of_bytes("text/html;charset=euc-jp", "\xff\xc6\xfc", 3),
                     "\xef\xbf\xbd\xe6\x97\xa5\n");
}
END_TEST

/* ---- bounds ---- */

START_TEST(a_document_above_the_limit_is_refused)
{
    ck_assert_int_eq(document_convert("text/html", "12345", 5, 0, "maxInput", "4"),
                     MCPLUG_ETOOBIG);
    ck_assert_str_eq(doc.err.text, "the HTML has 5 bytes; maxInput allows 4");
    ck_assert_int_eq(document_convert("text/html", "1234", 4, 0, "maxInput", "4"), 0);
}
END_TEST

START_TEST(the_fallback_of_the_limit_is_16_mib)
{
    char *html = times("x", (16u << 20) + 1);
    ck_assert_int_eq(document_convert("text/html", html, (16u << 20) + 1, 0, NULL, NULL),
                     MCPLUG_ETOOBIG);
    ck_assert_int_eq(document_convert("text/html", html, 16u << 20, 0, NULL, NULL), 0);
    ck_assert_uint_eq(doc.len, (16u << 20) + 1);
    free(html);
}
END_TEST

START_TEST(text_above_the_limit_is_cut_at_a_line)
{
    char *html = times("<p>0123456789", 100);
    for (uint64_t max = is_slow() ? 290 : 1; max < 300; max++) {
        ck_assert_int_eq(
            document_convert("text/html", html, strlen(html), max, NULL, NULL), 0);
        ck_assert_uint_le(doc.len, max);
        ck_assert_str_eq(fact_of("cut"), "true");
    }
    ck_assert_str_eq(strstr(doc.text, "89\n["),
                     "89\n[The rest is left out: 299 bytes are allowed.]\n");
    ck_assert_int_eq(document_convert("text/html", "<p>ab", 5, 3, NULL, NULL), 0);
    ck_assert_str_eq(doc.text, "ab\n");
    ck_assert_str_eq(fact_of("cut"), "");
    free(html);
}
END_TEST

START_TEST(text_is_never_cut_inside_a_character)
{
    char *html = times("\xe2\x82\xac", 200);
    for (uint64_t max = 1; max < 300; max++) {
        ck_assert_int_eq(
            document_convert("text/html", html, strlen(html), max, NULL, NULL), 0);
        const char *end = strchr(doc.text, '\n');
        size_t len = end ? (size_t)(end - doc.text) : doc.len;
        ck_assert_uint_eq(len % 3, 0);
        ck_assert_uint_le(doc.len, max);
    }
    free(html);
}
END_TEST

static void *convert_deep(void *arg)
{
    char *html = times("<div>", 10000);
    bool *done = arg;
    text_of(html);
    free(html);
    /* A frameset would replace the body, and free all of its elements at once. */
    html = times("<g>", 20000);
    memcpy(html, "<b a='><!--'><svg>", 18); /* nor is it hidden by this */
    memcpy(html + 60000 - 40, "</svg><frameset><frame></frameset>      ", 40);
    text_of_bytes("text/html", html, 60000);
    free(html);
    *done = true;
    return NULL;
}

START_TEST(deep_elements_do_not_need_a_deep_stack)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool done = false;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    ck_assert_int_eq(pthread_create(&thread, &attributes, convert_deep, &done), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    ck_assert(done);
}
END_TEST

START_TEST(elements_with_too_many_attributes_are_refused)
{
    char *html = times("<a <!- ", 640000);
    ck_assert_int_eq(document_convert("text/html", html, strlen(html), 0, NULL, NULL),
                     MCPLUG_ETOOBIG);
    html[7 * 2000] = '\0';
    text_of(html);
    free(html);
    /* Values may be long. */
    html = times("M 1 2 >", 200000);
    memcpy(html, "<b d='", 6);
    memcpy(html + 1400000 - 4, "'>x", 3);
    ck_assert_str_eq(text_of_bytes("text/html", html, 1400000 - 1), "x\n");
    free(html);
}
END_TEST

static const char *repeated;

static void convert_repeated(size_t n)
{
    char *html = times(repeated, n / strlen(repeated));
    document_convert("text/html", html, strlen(html), 0, NULL, NULL);
    free(html);
}

START_TEST(markup_that_goes_nowhere_takes_linear_time)
{
    static const char *const texts[] = {"<",     "</",     "<a",      "<!--",    "<a b='",
                                        "&",     "<svg/",  "<script", "<title>", "<?",
                                        "<p x=", "<table", "]]>",     "<br>",    "<td>"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        repeated = texts[i];
        double factor = grows_by(convert_repeated, 50000);
        ck_assert_msg(factor < 24, "%s: 8 times the input takes %.1f times as long",
                      repeated, factor);
    }
}
END_TEST

START_TEST(elements_so_deep_that_they_take_too_long_are_refused)
{
    char *html = times("<div>", 100000);
    ck_assert_int_eq(document_convert("text/html", html, strlen(html), 0, NULL, NULL),
                     MCPLUG_ETOOBIG);
    ck_assert_str_eq(doc.err.text,
                     "the elements of the HTML are nested too deeply, or have too many "
                     "attributes");
    free(html);
    html = times("<div><p>x<br><img></div><!-- <div> --><script>'<div>'</script>", 30000);
    ck_assert_int_eq(document_convert("text/html", html, strlen(html), 0, NULL, NULL), 0);
    free(html);
}
END_TEST

START_TEST(a_tree_above_the_limit_is_refused)
{
    char *html = times("<br>", 4000000);
    ck_assert_int_eq(document_convert("text/html", html, strlen(html), 0, NULL, NULL),
                     MCPLUG_ETOOBIG);
    ck_assert_str_eq(doc.err.text, "the elements of the HTML need more than 512 MiB");
    free(html);
}
END_TEST

START_TEST(a_table_has_no_more_cells_than_fit)
{
    char *cells = times("<td rowspan=65534>", 64), *rows = times("<tr>", 60000);
    char *html = malloc(300000);
    int n =
        snprintf(html, 300000, "<table><tr>%s<tr><td>b%s<tr><td>c</table>", cells, rows);
    ck_assert_int_eq(document_convert("text/html", html, (size_t)n, 0, NULL, NULL), 0);
    ck_assert_str_eq(fact_of("cut"), "true");
    free(html);
    free(rows);
    free(cells);
}
END_TEST

START_TEST(a_conversion_can_be_cancelled_at_any_time)
{
    char *html = times("<p>x<b>y</b>", 4000);
    unsigned n;
    text_of(html);
    n = doc.polls;
    ck_assert_uint_gt(n, 4);
    for (doc.cancel_at = 1; doc.cancel_at <= n; doc.cancel_at++)
        ck_assert_int_eq(document_convert("text/html", html, strlen(html), 0, NULL, NULL),
                         MCPLUG_ECANCELED);
    doc.cancel_at = 0;
    text_of(html);
    free(html);
}
END_TEST

START_TEST(memory_may_run_out_at_any_time)
{
    const char *html = "<title>t</title><ul><li>a<li><a href=u>b</a></ul><table><tr><td>c"
                       "<td><i>d</i><tr><td>e<td>f</table><svg><g>";
    text_of(html);
    unsigned n = doc.allocations;
    ck_assert_uint_gt(n, 50);
    for (doc.fail_at = 1; doc.fail_at <= n; doc.fail_at++)
        ck_assert_int_eq(document_convert("text/html", html, strlen(html), 0, NULL, NULL),
                         MCPLUG_ENOMEM);
    text_of(html);
}
END_TEST

static TCase *large_documents(void)
{
    TCase *large = tcase_create("large");

    tcase_add_checked_fixture(large, setup, document_close);
    tcase_set_timeout(large, 120);
    tcase_add_test(large, the_fallback_of_the_limit_is_16_mib);
    tcase_add_test(large, deep_elements_do_not_need_a_deep_stack);
    tcase_add_test(large, elements_with_too_many_attributes_are_refused);
    tcase_add_test(large, elements_so_deep_that_they_take_too_long_are_refused);
    tcase_add_test(large, a_table_has_no_more_cells_than_fit);
    tcase_add_test(large, a_conversion_can_be_cancelled_at_any_time);
    if (!is_quick()) {
        tcase_add_test(large, markup_that_goes_nowhere_takes_linear_time);
        tcase_add_test(large, a_tree_above_the_limit_is_refused);
    }
    return large;
}

int main(void)
{
    Suite *suite = suite_create("html_html");
    TCase *tc = tcase_create("html");
    tcase_add_checked_fixture(tc, setup, document_close);
    tcase_add_test(tc, only_html_that_is_wanted_as_text_matches);
    tcase_add_test(tc, the_title_comes_first_and_is_a_fact);
    tcase_add_test(tc, a_document_without_text_is_empty);
    tcase_add_test(tc, white_space_collapses_and_paragraphs_are_apart);
    tcase_add_test(tc, headings_rules_and_quotes);
    tcase_add_test(tc, lists_nest_and_have_their_numbers);
    tcase_add_test(tc, lists_deeper_than_the_limit_are_only_not_indented);
    tcase_add_test(tc, links_have_their_address_unless_that_is_of_no_use);
    tcase_add_test(tc, an_address_of_more_than_2048_bytes_is_left_out);
    tcase_add_test(tc, images_are_their_description);
    tcase_add_test(tc, preformatted_text_keeps_its_lines);
    tcase_add_test(tc, tables_of_data_are_rows_and_columns);
    tcase_add_test(tc, wide_tables_are_not_aligned);
    tcase_add_test(tc, a_table_of_more_than_64_columns_is_shown_as_text);
    tcase_add_test(tc, tables_for_the_layout_are_text);
    tcase_add_test(tc, fields_of_forms_are_named_briefly);
    tcase_add_test(tc, what_is_not_shown_is_left_out);
    tcase_add_test(tc, control_characters_do_not_come_through);
    tcase_add_test(tc, charsets_are_honoured);
    tcase_add_test(tc, invalid_bytes_become_the_replacement_character);
    tcase_add_test(tc, a_document_above_the_limit_is_refused);
    tcase_add_test(tc, text_above_the_limit_is_cut_at_a_line);
    tcase_add_test(tc, text_is_never_cut_inside_a_character);
    tcase_add_test(tc, memory_may_run_out_at_any_time);
    suite_add_tcase(suite, tc);
    if (!is_slow())
        suite_add_tcase(suite, large_documents());
    return run_to_end(suite);
}
