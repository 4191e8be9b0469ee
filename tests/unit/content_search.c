/* Looking for text in files: at every border, in lines of any length, in what is not
 * text, and in little memory. A plain search over the whole is what it is compared with.
 */
#include "content/search.h"

#include "base/mem.h"
#include "base/text.h"
#include "file_kit.h"
#include "quick.h"

#include <malloc.h>

#define PIECE ((size_t)1 << 18)

static int fd = -1;

static void open_file(void)
{
    set_up();
    fd = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
}

static void close_file(void)
{
    close(fd);
    tear_down();
}

static void hold(const char *data, size_t len)
{
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    for (size_t i = 0; i < len;) {
        ssize_t n = pwrite(fd, data + i, len - i, (off_t)i);
        ck_assert_int_gt(n, 0);
        i += (size_t)n;
    }
}

/* What was found, one line each: "offset:line:text[match]text", with .. where it is cut.
 */
static struct mp_str seen;
static uint64_t stop_after, last_next;
static size_t most_memory, memory_before;

static bool see(void *arg, const struct mp_match *m)
{
    struct mallinfo2 info = mallinfo2();
    size_t used = info.uordblks + info.hblkhd - memory_before;
    uint64_t *n = arg;

    most_memory = used > most_memory ? used : most_memory;
    ck_assert(m->at + m->match_len <= m->len && m->next > m->offset);
    mp_str_addf(&seen, "%llu:%llu:%s", (unsigned long long)m->offset,
                (unsigned long long)m->line, m->cut_before ? ".." : "");
    mp_str_add(&seen, m->text, m->at);
    mp_str_addc(&seen, '[');
    mp_str_add(&seen, m->text + m->at, m->match_len);
    mp_str_addc(&seen, ']');
    mp_str_add(&seen, m->text + m->at + m->match_len, m->len - m->at - m->match_len);
    mp_str_adds(&seen, m->cut_after ? "..\n" : "\n");
    last_next = m->next;
    return ++*n != stop_after;
}

static const char *search(const char *needle, size_t len,
                          const struct mp_search_options *o)
{
    uint64_t n = 0, total = 99;

    mp_str_clear(&seen);
    mp_str_init(&seen, (size_t)1 << 26);
    int r = mp_search(fd, needle, len, o, see, &n, &total, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_uint_eq(total, n);
    mp_str_adds(&seen, "");
    ck_assert(!seen.failed);
    return seen.data;
}

static void finds(const char *text, const char *needle, const struct mp_search_options *o,
                  const char *want)
{
    hold(text, strlen(text));
    ck_assert_str_eq(search(needle, strlen(needle), o), want);
}

START_TEST(each_line_with_the_text_is_found_once)
{
    finds("one\ntwo\nthree two two\n", "two", NULL, "4:2:[two]\n14:3:three [two] two\n");
    finds("x", "x", NULL, "0:1:[x]\n"); /* all there is */
    finds("x\n", "x", NULL, "0:1:[x]\n");
    finds("\n\nab", "ab", NULL, "2:3:[ab]\n"); /* the last line has no end */
    finds("aaaa\naaa", "aa", NULL, "0:1:[aa]aa\n5:2:[aa]a\n");
    finds("a\r\nb\r\n", "b", NULL, "3:2:[b]\n");
    finds("abc", "abcd", NULL, "");
    finds("", "a", NULL, "");
    finds("ab\ncd\nef", "b\nc", NULL, "1:1:a[b\nc]d\n");
    finds("ab\ncd\n", "\n", NULL, "2:1:ab[\n]cd\n");
}
END_TEST

START_TEST(case_is_ignored_where_it_is_asked_for)
{
    const struct mp_search_options o = {.ignore_case = true};

    finds("Error\nERROR\nterror\nerr0r\n", "eRRor", &o,
          "0:1:[Error]\n6:2:[ERROR]\n13:3:t[error]\n");
    finds("Error\nERROR\n", "ERROR", NULL, "6:2:[ERROR]\n");
    finds("@[`{", "`{", &o, "2:1:@[[`{]\n"); /* not letters */
    finds("@[`{", "@[", &o, "0:1:[@[]`{\n");
    finds("\xc3\x84\xc3\xa4", "\xc3\xa4", &o, "2:1:\xc3\x84[\xc3\xa4]\n");
    finds("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "pqrstuvwxyz", &o,
          "25:1:0123456789ABCDEFGHIJKLMNO[PQRSTUVWXYZ]\n");
}
END_TEST

START_TEST(long_lines_are_cut_around_the_match)
{
    const struct mp_search_options o = {.context = 4};

    finds("0123456789x0123456789", "x", &o, "10:1:..6789[x]0123..\n");
    finds("6789x0123", "x", &o, "4:1:6789[x]0123\n"); /* just fits */
    finds("56789x01234", "x", &o, "5:1:..6789[x]0123..\n");
    finds("6789x0123\nyy", "x", &o, "4:1:6789[x]0123\n");
    finds("6789x0123\r\nyy", "x", &o, "4:1:6789[x]0123..\n");
    /* whole characters */
    finds("ab\xe2\x82\xac\xe2\x82\xacx\xe2\x82\xac\xe2\x82\xac", "x", &o,
          "8:1:..\xe2\x82\xac[x]\xe2\x82\xac..\n");
    finds("aa\xf0\x9f\x98\x80"
          "bx\xf0\x9f\x98\x80y",
          "x", &o, "7:1:..b[x]\xf0\x9f\x98\x80..\n");
    finds("aa\xf0\x9f\x98\x80"
          "bxc\xf0\x9f\x98\x80y",
          "x", &o, "7:1:..b[x]c..\n");
}
END_TEST

START_TEST(what_is_not_utf8_is_replaced)
{
    const struct mp_search_options o = {.context = 4};

    finds("\xff\xc0x\xe2\x82\nx", "x", NULL,
          "2:1:\xef\xbf\xbd\xef\xbf\xbd[x]\xef\xbf\xbd\xef\xbf\xbd\n6:2:[x]\n");
    finds("\x80\x80\x80\x80\x80x\x80\x80\x80\x80\x80", "x", &o,
          "5:1:..\xef\xbf\xbd[x]\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd..\n");
    finds("a\xff"
          "b",
          "\xff", NULL, "1:1:a[\xef\xbf\xbd]b\n");
    finds("a\xe2\x82\xac"
          "b",
          "\x82", NULL, "2:1:a[\xe2\x82\xac]b\n"); /* half of one is all of it */
    finds("\xe2\x82", "\xe2", NULL, "0:1:[\xef\xbf\xbd]\xef\xbf\xbd\n");

    hold("a\0b\nc\0d", 7);
    const char *text = search("\0d", 2, NULL);
    ck_assert_int_eq(memcmp(text, "5:2:c[\0d]\n", 10), 0);
    ck_assert_uint_eq(seen.len, 10);
}
END_TEST

START_TEST(a_search_begins_and_ends_where_it_should)
{
    struct mp_search_options o = {.from = 5};

    finds("ab x\nab\nab\n", "ab", &o, "5:2:[ab]\n8:3:[ab]\n");
    o.from = 6;
    finds("ab x\nab\nab\n", "ab", &o, "8:3:[ab]\n");
    o.from = 1;
    finds("ab ab\n", "ab", &o, "3:1:ab [ab]\n");
    o.from = 11;
    finds("ab x\nab\nab\n", "ab", &o, "");
    o.from = UINT64_MAX;
    finds("ab x\nab\nab\n", "ab", &o, "");
    o = (struct mp_search_options){.max = 2};
    finds("a\na\na\n", "a", &o, "0:1:[a]\n2:2:[a]\n");
    stop_after = 1;
    finds("a\na\na\n", "a", NULL, "0:1:[a]\n");
    stop_after = 0;
}
END_TEST

/* ---- against a plain search ---- */

static bool same(char a, char b, bool ignore_case)
{
    return a == b || (ignore_case && mp_lower(a) == mp_lower(b));
}

/* The offset of each match and its line, as the header promises them. */
static void reference(struct mp_str *out, const char *data, size_t size,
                      const char *needle, size_t len, const struct mp_search_options *o)
{
    size_t line_start = 0, line = 1, last = SIZE_MAX;

    for (size_t i = 0; i + len <= size; i++) {
        size_t k = 0;
        bool counts = (last == SIZE_MAX || i >= last) && i >= o->from;
        while (counts && k < len && same(data[i + k], needle[k], o->ignore_case))
            k++;
        if (k == len) {
            const char *eol = memchr(data + i + len, '\n', size - i - len);
            size_t end = eol ? (size_t)(eol - data) : size;
            mp_str_addf(out, "%zu:%zu\n", i, line);
            last = end - line_start > MP_SEARCH_LINE_MAX ? i + len + o->context : end + 1;
        }
        if (data[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
}

static bool note(void *arg, const struct mp_match *m)
{
    return mp_str_addf(arg, "%llu:%llu\n", (unsigned long long)m->offset,
                       (unsigned long long)m->line);
}

static void is_as_plain(const char *data, size_t size, const char *needle, size_t len,
                        const struct mp_search_options *o)
{
    struct mp_str want, got;

    mp_str_init(&want, (size_t)1 << 26);
    mp_str_init(&got, (size_t)1 << 26);
    mp_str_adds(&want, "");
    mp_str_adds(&got, "");
    reference(&want, data, size, needle, len, o);
    ck_assert_int_eq(mp_search(fd, needle, len, o, note, &got, NULL, &err), MCPLUG_OK);
    ck_assert(!want.failed && !got.failed);
    if (strcmp(want.data, got.data) != 0) {
        size_t i = 0;
        while (want.data[i] == got.data[i])
            i++;
        ck_abort_msg("expected %.40s, got %.40s", want.data + (i < 20 ? 0 : i - 20),
                     got.data + (i < 20 ? 0 : i - 20));
    }
    mp_str_clear(&want);
    mp_str_clear(&got);
}

START_TEST(matches_at_every_border_are_found)
{
    /* Pieces end at multiples of their size, or as much later as context takes. */
    const size_t size = 4 * PIECE, shifts[] = {0, MP_SEARCH_CONTEXT_MAX + 16};
    char *data = malloc(size), want[64];

    memset(data, '.', size);
    hold(data, size);
    for (size_t i = 0; i < 3 * MP_COUNT(shifts); i++) {
        size_t border = (i / 2 + 1) * PIECE + shifts[i % 2];
        for (size_t at_byte = border - 7; at_byte <= border + 1; at_byte++) {
            struct mp_search_options o = {.context = 1, .ignore_case = at_byte & 1};
            ck_assert_int_eq(pwrite(fd, "needle", 6, (off_t)at_byte), 6);
            snprintf(want, sizeof want, "%zu:1:...[needle]...\n", at_byte);
            ck_assert_str_eq(search("needle", 6, &o), want);
            o.from = at_byte;
            ck_assert_str_eq(search("needle", 6, &o), want);
            o.from = at_byte + 1;
            ck_assert_str_eq(search("needle", 6, &o), "");
            ck_assert_int_eq(pwrite(fd, "......", 6, (off_t)at_byte), 6);
        }
    }
    ck_assert_int_eq(pwrite(fd, "needle", 6, 0), 6);
    ck_assert_int_eq(pwrite(fd, "needle", 6, (off_t)size - 6), 6);
    const struct mp_search_options o = {.context = 1};
    snprintf(want, sizeof want, "0:1:[needle]...\n%zu:1:...[needle]\n", size - 6);
    ck_assert_str_eq(search("needle", 6, &o), want);
    free(data);
}
END_TEST

START_TEST(everything_is_found_that_a_plain_search_finds)
{
    static const size_t lines[] = {3, 80, 5000, 65530, 70000, 1 << 20, 1 << 30};
    const size_t size = PIECE * 3 / 2 + 12345;
    char *data = malloc(size), needle[MP_SEARCH_NEEDLE_MAX];

    srand(11);
    for (int round = 0; round < (int)fewer(70) && round < 21; round++) {
        size_t line = lines[(size_t)round % MP_COUNT(lines)];
        int letters = round % 3 == 0 ? 2 : 24;
        for (size_t i = 0; i < size; i++)
            data[i] = (size_t)rand() % line == 0
                          ? '\n'
                          : (char)("aAbBcC..xyz0123456789-+*/="[rand() % letters]);
        if (round % 7 == 3) /* a line that just is not too long, and one that is */
            for (size_t i = 0; i + 1 < size; i++)
                data[i] = i % (MP_SEARCH_LINE_MAX + 1 + (size_t)(round & 1)) ==
                                  MP_SEARCH_LINE_MAX
                              ? '\n'
                          : data[i] == '\n' ? 'a'
                                            : data[i];
        hold(data, size);
        size_t len =
            round % 5 == 4 ? (size_t)rand() % sizeof needle + 1 : (size_t)rand() % 5 + 1;
        memcpy(needle, data + (size_t)rand() % (size - len), len);
        struct mp_search_options o = {.ignore_case = round & 1,
                                      .context = (size_t)rand() % 3000 + 1,
                                      .from =
                                          round % 4 == 1 ? (uint64_t)rand() % size : 0};
        is_as_plain(data, size, needle, len, &o);
    }
    free(data);
}
END_TEST

START_TEST(one_line_of_a_megabyte_has_all_that_are_apart)
{
    const size_t size = fewer(1 << 20);
    char *data = malloc(size);
    struct mp_search_options o = {.context = 100};

    memset(data, 'a', size);
    hold(data, size);
    is_as_plain(data, size, "aaaaa", 5, &o);
    search("aaaaa", 5, &o);
    ck_assert_int_eq(strncmp(seen.data, "0:1:[aaaaa]aaaa", 15), 0);
    ck_assert_ptr_nonnull(strstr(seen.data, "\n105:1:..aaaa"));
    free(data);
}
END_TEST

START_TEST(searches_can_be_continued)
{
    const size_t size = 2 * PIECE;
    char *data = malloc(size);
    size_t sum = 0;

    srand(3);
    for (size_t i = 0; i < size; i++)
        data[i] = "abc\n"[rand() % (i < PIECE ? 4 : 3)]; /* short lines, then one */
    hold(data, size);
    struct mp_search_options o = {.context = 1000};
    char *whole = strdup(search("abca", 4, &o));
    o.max = 1000;
    do {
        search("abca", 4, &o);
        ck_assert_int_eq(strncmp(whole + sum, seen.data, seen.len), 0);
        sum += seen.len;
        o.from = last_next;
    } while (seen.len);
    ck_assert_uint_eq(sum, strlen(whole));
    free(whole);
    free(data);
}
END_TEST

START_TEST(memory_does_not_grow_with_the_file)
{
    static const struct mp_search_options o = {.ignore_case = true,
                                               .context = (size_t)1 << 30};
    const size_t size = (size_t)16 << 20;
    char *data = malloc(size), needle[MP_SEARCH_NEEDLE_MAX];

    memset(data, '\xff', size);
    hold(data, size);
    memset(needle, '\xff', sizeof needle);
    mp_str_clear(&seen);
    mp_str_init(&seen, 0); /* nothing is kept of it */
    uint64_t n = 0, total = 0;
    struct mallinfo2 info = mallinfo2();
    memory_before = info.uordblks + info.hblkhd;
    most_memory = 0;
    ck_assert_int_eq(mp_search(fd, needle, sizeof needle, &o, see, &n, &total, &err),
                     MCPLUG_OK);
    ck_assert_uint_gt(total, 100);
    ck_assert_uint_lt(most_memory, (size_t)1 << 20);
    free(data);
}
END_TEST

START_TEST(what_cannot_be_looked_for_is_refused)
{
    static char needle[MP_SEARCH_NEEDLE_MAX + 1];
    uint64_t n = 0, total = 5;
    int pipes[2];

    hold("abc", 3);
    ck_assert_int_eq(mp_search(fd, "", 0, NULL, see, &n, &total, &err), MCPLUG_EINVAL);
    ck_assert_str_eq(err.text, "the text to look for has 0 bytes, expected 1 to 4096");
    ck_assert_int_eq(mp_search(fd, needle, sizeof needle, NULL, see, &n, &total, &err),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(
        mp_search(fd, needle, sizeof needle - 1, NULL, see, &n, &total, &err), MCPLUG_OK);
    ck_assert_uint_eq(total, 0);
    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(mp_search(pipes[0], "a", 1, NULL, see, &n, &total, &err),
                     MCPLUG_EIO);
    ck_assert_int_eq(mp_search(-1, "a", 1, NULL, see, &n, &total, &err), MCPLUG_EIO);
    ck_assert_str_eq(err.text, "cannot read what is searched: Bad file descriptor");
    close(pipes[0]);
    close(pipes[1]);
    ck_assert_uint_eq(n, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("content_search");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, open_file, close_file);
    tcase_add_test(t, each_line_with_the_text_is_found_once);
    tcase_add_test(t, case_is_ignored_where_it_is_asked_for);
    tcase_add_test(t, long_lines_are_cut_around_the_match);
    tcase_add_test(t, what_is_not_utf8_is_replaced);
    tcase_add_test(t, a_search_begins_and_ends_where_it_should);
    tcase_add_test(t, matches_at_every_border_are_found);
    tcase_add_test(t, everything_is_found_that_a_plain_search_finds);
    tcase_add_test(t, one_line_of_a_megabyte_has_all_that_are_apart);
    tcase_add_test(t, searches_can_be_continued);
    tcase_add_test(t, memory_does_not_grow_with_the_file);
    tcase_add_test(t, what_cannot_be_looked_for_is_refused);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
