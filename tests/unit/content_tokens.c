/* Tokens of a text, estimated: near what tokenizers say, the same however it is cut. */
#include "content/tokens.h"

#include "fake.h"

/* The same source without the instructions of one kind of processor. */
static void portable_feed(struct mp_tokens *t, const char *text, size_t len);
static uint64_t portable_count(const struct mp_tokens *t);
static uint64_t portable_of(const char *text, size_t len);
#undef __SSE2__
#define mp_tokens_feed portable_feed
#define mp_tokens_count portable_count
#define mp_tokens_of portable_of
#include "content/tokens.c"
#undef mp_tokens_feed
#undef mp_tokens_count
#undef mp_tokens_of

/* Texts, and what o200k and Llama 3 say. */
static const struct {
    const char *text;
    unsigned o200k, llama3;
} texts[] = {
    {"The server returned three files; the second one is newer than the backup that was "
     "made last Tuesday, so nothing was copied.",
     25, 25},
    {"static int add(struct list *l, const char *name)\n{\n    if (l->n_items == "
     "l->max)\n"
     "        return -1;\n    l->items[l->n_items++] = name;\n    return 0;\n}\n",
     49, 49},
    {"{\n  \"name\": \"report\",\n  \"size\": 20480,\n  \"tags\": [\n    \"draft\",\n"
     "    \"2024\"\n  ],\n  \"owner\": null\n}\n",
     39, 39},
    {"{\"id\":1729,\"path\":\"/srv/www/index.html\",\"size\":20480,\"mode\":\"0644\","
     "\"links\":[1,2,3],\"ok\":true}",
     36, 35},
    {"date,city,high,low,rain\n2023-05-01,Bergen,12.4,6.1,8.2\n"
     "2023-05-02,Bergen,10.9,5.0,14.7\n2023-05-03,Bergen,13.3,4.8,0.0\n",
     73, 76},
    {"iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHeAAAC7klEQVR42u2bS0hUURjHf1qGj8wSXRQU"
     "VrQrW0T",
     54, 57},
    {"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  report.txt\n", 47,
     47},
    {"日志共有三百二十行，其中警告十二条。磁盘剩余空间不足百分之五，建议清理旧的备份，"
     "并重新启动同步任务。",
     36, 37},
    {"サーバーは起動しましたが、設定ファイルに二つの誤りがあります。ポート番号を直してか"
     "ら、もう一度お試しください。",
     37, 34},
    {"بدأ الخادم بالعمل، لكن ملف الإعدادات يحتوي على خطأين. يرجى تصحيح رقم المنفذ ثم "
     "المحاولة مرة أخرى.",
     31, 35},
    {"Deploy is green ✅🎉 thanks everyone 🙏 – two tests are flaky 🐛, I will look at "
     "them on Monday 😅☕",
     30, 34},
};

START_TEST(an_estimate_is_near_what_tokenizers_say)
{
    double mean = (texts[_i].o200k + texts[_i].llama3) / 2.0;
    double estimate = (double)mp_tokens_of(texts[_i].text, strlen(texts[_i].text));
    /* these are short: tests/real/tokens.sh has the long ones */
    ck_assert_double_ge(estimate, mean * 0.75);
    ck_assert_double_le(estimate, mean * 1.25);
}
END_TEST

/* Any text: words, numbers, every script, and bytes that are none. */
static size_t any_text(char *out, size_t room, unsigned seed)
{
    static const char *const words[] = {
        "word",   " another", "camelCase", "HTTP",     "x1y2Z3",   "1234567", " 42",
        "\": \"", "  ",       "\t\t",      "\r\n",     ",",        "-----",   "é",
        "ł",      "Ω",        "ж",         "ש",        "ح",        "ह",       "ไ",
        "ợ",      "—",        "───",       "漢字",     "かな",     "。",      "한",
        "，",     "🎉",        "\xff",      "\xe4\xb8", "\xf0\x9f", "\xc3",    "\0"};
    size_t n = 0;
    while (n + 16 < room) {
        seed = seed * 1664525 + 1013904223;
        const char *word = words[(seed >> 16) % MP_COUNT(words)];
        size_t len = *word ? strlen(word) : 1;
        memcpy(out + n, word, len);
        n += len;
    }
    return n;
}

START_TEST(two_pieces_are_the_whole_wherever_it_is_cut)
{
    char text[600];
    size_t len = any_text(text, sizeof text, (unsigned)_i);
    uint64_t whole = mp_tokens_of(text, len);

    for (size_t cut = 0; cut <= len; cut++) {
        struct mp_tokens t = {0};
        mp_tokens_feed(&t, text, cut);
        ck_assert_uint_eq(mp_tokens_count(&t), mp_tokens_of(text, cut));
        mp_tokens_feed(&t, text + cut, len - cut);
        ck_assert_uint_eq(mp_tokens_count(&t), whole);
    }
}
END_TEST

START_TEST(pieces_of_any_size_are_the_whole)
{
    static char text[1 << 16];
    size_t len = any_text(text, sizeof text, 7);
    uint64_t whole = mp_tokens_of(text, len);

    for (size_t size = 1; size < 300; size++) {
        struct mp_tokens t = {0};
        for (size_t at = 0; at < len; at += size)
            mp_tokens_feed(&t, text + at, len - at < size ? len - at : size);
        ck_assert_uint_eq(mp_tokens_count(&t), whole);
    }
}
END_TEST

/* Control characters are one token each and join nothing. */
START_TEST(the_same_text_costs_the_same_at_any_place)
{
    static char text[4096];
    for (size_t before = 0; before < 256; before++) {
        memset(text, 1, before);
        size_t len = any_text(text + before, sizeof text - 256, (unsigned)_i);
        ck_assert_uint_eq(mp_tokens_of(text, before + len),
                          before + mp_tokens_of(text + before, len));
    }
}
END_TEST

START_TEST(processors_agree)
{
    static char text[4096];
    for (unsigned seed = 0; seed < 200; seed++) {
        size_t len = any_text(text, sizeof text - seed, seed);
        ck_assert_uint_eq(mp_tokens_of(text, len), portable_of(text, len));
    }
    for (int c = 0; c < 256; c++) /* and every byte behind every other */
        for (int d = 0; d < 256; d++) {
            text[2 * d] = (char)c;
            text[2 * d + 1] = (char)d;
            ck_assert_uint_eq(mp_tokens_of(text, 512), portable_of(text, 512));
        }
}
END_TEST

START_TEST(nothing_is_no_token_and_anything_is_one)
{
    struct mp_tokens t = {0};
    mp_tokens_feed(&t, NULL, 0);
    ck_assert_uint_eq(mp_tokens_count(&t), 0);
    mp_tokens_feed(&t, " ", 1);
    ck_assert_uint_eq(mp_tokens_count(&t), 1);
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        ck_assert_uint_eq(mp_tokens_of(&byte, 1), 1);
    }
}
END_TEST

/* Repeated a hundred times, with as many tokens as bytes. */
static const char *const invalid[] = {
    "\x80",             /* a continuation of nothing */
    "\xff",             /* in no UTF-8 */
    "\xc0\x80",         /* one byte is enough */
    "\xe0\x9f\xbf",     /* two are */
    "\xed\xa0\x80",     /* a surrogate */
    "\xf0\x8f\xbf\xbf", /* three are */
    "\xf4\x90\x80\x80", /* beyond the last */
    "\xf5\x80\x80\x80",
    "\xe4\xb8",     /* one byte is missing */
    "\xf0\x9f\x8e", /* likewise */
};

START_TEST(bytes_that_are_not_utf8_count_each)
{
    char text[400];
    size_t len = strlen(invalid[_i]);
    for (size_t i = 0; i < 100; i++)
        memcpy(text + i * len, invalid[_i], len);
    ck_assert_uint_eq(mp_tokens_of(text, 100 * len), 100 * len);
}
END_TEST

START_TEST(characters_next_to_invalid_ones_are_whole)
{
    /* the first and last of each length that are allowed */
    ck_assert_uint_lt(mp_tokens_of("\xc2\x80\xdf\xbf", 4), 4);
    ck_assert_uint_lt(
        mp_tokens_of("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", 12), 12);
    ck_assert_uint_lt(mp_tokens_of("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8), 8);
}
END_TEST

START_TEST(no_text_has_more_tokens_than_bytes)
{
    static char text[65536];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "a1"[i % 2];
    ck_assert_uint_eq(mp_tokens_of(text, sizeof text), sizeof text);
}
END_TEST

START_TEST(what_repeats_costs_little)
{
    static char text[65536];
    static const char bytes[] = "-=*# \n\t.";
    for (size_t i = 0; i < sizeof bytes - 1; i++) {
        memset(text, bytes[i], sizeof text);
        ck_assert_uint_lt(mp_tokens_of(text, sizeof text), sizeof text / 32);
        ck_assert_uint_gt(mp_tokens_of(text, sizeof text), sizeof text / 256);
    }
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, an_estimate_is_near_what_tokenizers_say, 0, MP_COUNT(texts));
    tcase_add_loop_test(tc, two_pieces_are_the_whole_wherever_it_is_cut, 0, 20);
    tcase_add_test(tc, pieces_of_any_size_are_the_whole);
    tcase_add_loop_test(tc, the_same_text_costs_the_same_at_any_place, 0, 20);
    tcase_add_test(tc, processors_agree);
    tcase_add_test(tc, nothing_is_no_token_and_anything_is_one);
    tcase_add_loop_test(tc, bytes_that_are_not_utf8_count_each, 0, MP_COUNT(invalid));
    tcase_add_test(tc, characters_next_to_invalid_ones_are_whole);
    tcase_add_test(tc, no_text_has_more_tokens_than_bytes);
    tcase_add_test(tc, what_repeats_costs_little);
}

int main(void)
{
    return run_suite("content_tokens", add);
}
