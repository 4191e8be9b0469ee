/* What a model gets of a result: O1 to O5. */
#include "suite.h"
#include "quick.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "content/content.h"
#include "rpc/message.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static struct mp_store *store;
static struct mp_content_rules rules;
static mcplug_rendering *got;
static struct mcplug_error err;

static void setup(void)
{
    snprintf(dir, sizeof dir, "/tmp/content_render.%d", (int)getpid());
    store = mp_store_new(dir, 0, 0);
    rules = (struct mp_content_rules){
        .max_tokens = 25000, .server = "srv", .tool = "t", .store = store};
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    got = NULL;
}

static int remove_one(void *arg, const struct mcplug_stored *one)
{
    (void)arg;
    return unlink(one->path) == 0;
}

static void teardown(void)
{
    mcplug_rendering_unref(got);
    mcplug_stored_each(dir, remove_one, NULL, NULL);
    rmdir(dir);
    mp_store_free(store);
}

/* give */
static mp_message *result_of(const char *json)
{
    size_t len = strlen(json);
    mp_message *m = mp_message_new(json, len, NULL);
    ck_assert_msg(mp_scan_text(json, len, &mp_scan_defaults, NULL, &err) == MCPLUG_OK,
                  "%s: %.200s", err.text, json);
    mp_message_expose(m, (struct mp_span){0, len});
    return m;
}

static int make(const char *json)
{
    mp_message *m = result_of(json);
    mcplug_rendering_unref(got);
    got = NULL;
    int r = mp_content_make(m, &rules, &got, &err);
    mp_message_unref(m);
    return r;
}

static const char *text_of(const char *json)
{
    ck_assert_msg(make(json) == MCPLUG_OK, "%s", err.text);
    return mcplug_rendering_text(got, NULL);
}

static struct mcplug_part part(size_t i)
{
    struct mcplug_part p = {.struct_size = sizeof p};
    ck_assert_msg(mcplug_rendering_part(got, i, &p), "no part %zu", i);
    return p;
}

static size_t parts(void)
{
    struct mcplug_part p = {.struct_size = sizeof p};
    size_t n = 0;
    while (mcplug_rendering_part(got, n, &p))
        n++;
    return n;
}

/* A picture of one pixel. */
#define PNG                                                                              \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"                      \
    "M9QDwADhgGAWjR9awAAAABJ"                                                            \
    "RU5ErkJggg=="
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE(mime, data)                                                                \
    "{\"type\":\"image\",\"mimeType\":\"" mime "\",\"data\":\"" data "\"}"
#define CONTENT(blocks) "{\"content\":[" blocks "]}"

static unsigned counted;
static int64_t count_as(void *arg, const char *text, size_t len)
{
    (void)text;
    (void)len;
    counted++;
    return *(int64_t *)arg;
}

/* Whatever it is, it has too many tokens once it is counted. */
static void count_too_many(void)
{
    static int64_t many = INT32_MAX;

    rules.count = count_as;
    rules.count_arg = &many;
}

/* ---- O1, O2 ---- */

static const struct {
    const char *result, *text;
} shapes[] = {
    {"{\"toolResult\":\"old\"}", "old"},
    {"{\"toolResult\":{\"a\":1}}", "{\"a\":1}"},
    {"{\"structuredContent\":{\"a\":[1,2]}}", "{\"a\":[1,2]}"},
    {"{\"structuredContent\":0}", "0"},
    {"{\"structuredContent\":null}", "null"},
    {CONTENT(TEXT("a") "," TEXT("b\\n")), "a\nb\n"},
    {CONTENT(""), ""},
    {CONTENT(
         "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\",\"text\":\"in\"}}"),
     "Resource: file:///a\nin"},
    {CONTENT("{\"type\":\"resource_link\",\"uri\":\"file:///a\"}"),
     "Resource link: file:///a"},
    {CONTENT("{\"type\":\"resource_link\",\"uri\":\"u:1\",\"name\":\"n\",\"title\":\"T\","
             "\"mimeType\":\"text/plain\",\"size\":12}"),
     "Resource link: u:1 (T, text/plain, 12 bytes)"},
    {CONTENT("{\"type\":\"strange\",\"x\":1}"), "{\"type\":\"strange\",\"x\":1}"},
};

START_TEST(o1_o2_shapes_and_blocks_have_their_texts)
{
    ck_assert_str_eq(text_of(shapes[_i].result), shapes[_i].text);
    ck_assert(!got->is_cut && !got->stored);
}
END_TEST

START_TEST(o1_anything_else_is_an_error)
{
    ck_assert_int_eq(make("{\"a\":1}"), MCPLUG_EPROTO);
    ck_assert_str_eq(err.text, "Unexpected response format from tool t");
    ck_assert_int_eq(make("{\"content\":{\"text\":\"x\"}}"), MCPLUG_EPROTO);
}
END_TEST

START_TEST(o2_an_image_is_a_part_of_its_own)
{
    make(CONTENT(TEXT("before") "," IMAGE("image/png", PNG) "," TEXT("behind")));
    ck_assert_uint_eq(parts(), 3);
    struct mcplug_part p = part(1);
    ck_assert_uint_eq(p.kind, MCPLUG_PART_IMAGE);
    ck_assert_str_eq(p.mime, "image/png");
    ck_assert_str_eq(p.text, PNG);
    ck_assert_uint_eq(p.width, 1);
    ck_assert_uint_eq(p.tokens, 1);
    ck_assert_str_eq(mcplug_rendering_text(got, NULL), "before\nbehind");
    ck_assert_str_eq(
        mcplug_rendering_json(got, NULL),
        "[" TEXT("before") ",{\"type\":\"image\",\"data\":\"" PNG
                           "\",\"mimeType\":\"image/png\"}," TEXT("behind") "]");
}
END_TEST

START_TEST(i2_the_bytes_say_what_an_image_is)
{
    make(CONTENT(IMAGE("image/jpg", PNG)));
    ck_assert_str_eq(part(0).mime, "image/png");
    make(CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"mimeType\":"
                 "\"image/gif\",\"blob\":\"" PNG "\"}}"));
    ck_assert_str_eq(part(0).mime, "image/png");
}
END_TEST

START_TEST(o2_what_no_model_takes_is_named)
{
    rules.store = NULL;
    ck_assert_str_eq(text_of(CONTENT(IMAGE("image/svg+xml", "PHN2Zz4="))),
                     "[Unsupported image type: image/svg+xml]");
    ck_assert_str_eq(text_of(CONTENT(IMAGE("image/png", "AAAA"))),
                     "[image/png, 3 bytes]\nNot shown: the data is not an image of that "
                     "type.");
    ck_assert_str_eq(text_of(CONTENT(IMAGE("image/png", "!"))),
                     "[image/png, not Base64]\nNot shown: the data is not Base64.");
    ck_assert_str_eq(
        text_of(CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"a/b.zip\","
                        "\"mimeType\":\"application/zip\",\"blob\":\"AAAA\"}}")),
        "[Binary resource: a/b.zip (application/zip)]");
    ck_assert_str_eq(text_of(CONTENT("{\"type\":\"audio\",\"mimeType\":\"audio/wav\","
                                     "\"data\":\"AAAA\"}")),
                     "[audio/wav, 3 bytes]");
    ck_assert(access(dir, F_OK) != 0);
}
END_TEST

static void file_is(const char *path, const char *want, size_t len)
{
    struct stat st;
    char *text = malloc(len + 1);
    int fd = open(path, O_RDONLY);

    ck_assert_msg(fd >= 0, "%s", path);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(st.st_size, (off_t)len);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
    ck_assert_int_eq(read(fd, text, len + 1), (ssize_t)len);
    ck_assert(memcmp(text, want, len) == 0);
    close(fd);
    free(text);
}

/* The path behind "Saved to " or "Path: ". give */
static char *path_in(const char *text, const char *word)
{
    const char *at = strstr(text, word), *end;
    ck_assert_msg(at != NULL, "%s", text);
    at += strlen(word);
    end = at + strcspn(at, " \n");
    return strndup(at, (size_t)(end - at));
}

START_TEST(sound_and_other_data_is_saved_under_a_safe_name)
{
    const char *text = text_of(
        CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"x:/../../a b.zip\","
                "\"mimeType\":\"application/zip\",\"blob\":\"AAEC\"}}"));
    char *path = path_in(text, "Saved to ");
    ck_assert(strncmp(path, dir, strlen(dir)) == 0);
    ck_assert_ptr_null(strstr(path, ".."));
    ck_assert_msg(strstr(text, ".zip (3 bytes).") != NULL, "%s", text);
    file_is(path, "\0\1\2", 3);
    free(path);
    path = path_in(text_of(CONTENT("{\"type\":\"audio\",\"mimeType\":\"audio/wav\","
                                   "\"data\":\"AAEC\"}")),
                   "Saved to ");
    ck_assert_str_eq(strrchr(path, '.'), ".wav");
    free(path);
}
END_TEST

/* ---- said twice ---- */

START_TEST(the_same_data_is_not_given_twice)
{
    static const struct {
        const char *content, *structured, *text;
    } cases[] = {
        /* the serialised form */
        {TEXT("{\\\"a\\\": 1, \\\"b\\\": \\\"x\\\"}"), "{\"a\":1,\"b\":\"x\"}",
         "{\"a\": 1, \"b\": \"x\"}"},
        /* another layout of it */
        {TEXT("| a | 12 |\\n| b | xy |"), "{\"a\":12,\"b\":\"xy\"}",
         "| a | 12 |\n| b | xy |"},
        /* something else */
        {TEXT("done"), "{\"id\":\"r-17\"}", "done\n{\"id\":\"r-17\"}"},
        {TEXT("it has 112"), "{\"n\":12}", "it has 112\n{\"n\":12}"},
    };
    char json[1024];

    for (size_t i = 0; i < MP_COUNT(cases); i++) {
        snprintf(json, sizeof json, "{\"content\":[%s],\"structuredContent\":%s}",
                 cases[i].content, cases[i].structured);
        ck_assert_str_eq(text_of(json), cases[i].text);
    }
}
END_TEST

START_TEST(an_image_is_not_lost_to_structured_content_nor_its_data_given_as_text)
{
    make("{\"content\":[" IMAGE("image/png",
                                PNG) "],\"structuredContent\":{\"image\":\"" PNG
                                     "\",\"note\":\"a chart\"}}");
    ck_assert_uint_eq(parts(), 2);
    ck_assert_str_eq(part(0).mime, "image/png");
    ck_assert_str_eq(part(1).text, "{\"image\":\"[Base64, the data of a block, 96 "
                                   "characters]\",\"note\":\"a chart\"}");
    /* nothing but the data: nothing to add */
    make("{\"content\":[" IMAGE("image/png",
                                PNG) "],\"structuredContent\":{\"data\":\"" PNG "\"}}");
    ck_assert_uint_eq(parts(), 1);
}
END_TEST

START_TEST(beside_blocks_only_data_is_left_out)
{
    char blob[1201], json[8192];

    /* words on lines are no Base64, \\/ is; a key and a short string stay */
    memset(blob, 'A', sizeof blob - 1);
    blob[sizeof blob - 1] = '\0';
    for (size_t i = 10; i + 2 < sizeof blob; i += 10)
        memcpy(blob + i, _i ? "\\n" : "\\/", 2);
    snprintf(json, sizeof json,
             "{\"content\":[" IMAGE("image/png",
                                    "QUJD") "],\"structuredContent\":{"
                                            "\"QUJD\":[\"QUJD\",\"%s\"],\"" PNG "\":1}}",
             blob);
    make(json);
    char *want;
    ck_assert_int_gt(asprintf(&want, "{\"QUJD\":[\"QUJD\",\"%s\"],\"" PNG "\":1}",
                              _i ? blob : "[Base64, 1200 characters]"),
                     0);
    ck_assert_str_eq(part(1).text, want);
    free(want);
}
END_TEST

/* Work that grows with the product of two lengths would take minutes here. */
START_TEST(any_number_of_blocks_and_values_is_compared_in_one_pass)
{
    struct mp_str json;

    rules.store = NULL;
    mp_str_init(&json, 1 << 24);
    mp_str_adds(&json, "{\"content\":[" TEXT("0"));
    for (int i = 0; i < MP_CONTENT_BLOCKS - 2; i++)
        mp_str_addf(&json, ",{\"type\":\"audio\",\"data\":\"%0100d\"}", i);
    mp_str_adds(&json, "],\"structuredContent\":[7");
    for (int i = 0; i < 100000; i++)
        mp_str_addf(&json, ",\"%0100d\"", i + 5000);
    mp_str_adds(&json, "]}");
    make(json.data);
    ck_assert(got->is_cut);
    mp_str_clear(&json);
}
END_TEST

START_TEST(a_number_is_looked_for_in_few_places)
{
    struct mp_str json;

    mp_str_init(&json, 1 << 22);
    mp_str_adds(&json, "{\"content\":[{\"type\":\"text\",\"text\":\".");
    for (int i = 0; i < 60000; i++)
        mp_str_adds(&json, "1.1.");
    mp_str_adds(&json, "\"}],\"structuredContent\":[1.1");
    for (int i = 0; i < 255; i++)
        mp_str_adds(&json, ",1.1");
    mp_str_adds(&json, "]}");
    make(json.data);
    ck_assert_ptr_null(strstr(mcplug_rendering_text(got, NULL), "[1.1"));
    mp_str_clear(&json);
}
END_TEST

/* As the assembler leaves it: the string at `word` is in a file, but for its beginning.
 */
static void spill(mp_message *m, const char *word, const char *text)
{
    struct mp_spilled *list = mp_resize(m->spills, (m->n_spills + 1) * sizeof *list);
    const char *at = strstr(m->text, word);

    ck_assert(list && at);
    m->spills = list;
    if (m->spill_fd < 0)
        m->spill_fd = memfd_create("spill", MFD_CLOEXEC);
    off_t end = lseek(m->spill_fd, 0, SEEK_END);
    list[m->n_spills++] = (struct mp_spilled){.at = (size_t)(at - m->text),
                                              .len = strlen(word),
                                              .offset = (uint64_t)end,
                                              .size = strlen(text)};
    ck_assert_int_eq(write(m->spill_fd, text, strlen(text)), (ssize_t)strlen(text));
}

START_TEST(what_was_spilled_of_structured_content_is_not_lost)
{
    static const char *const words[] = {"\"a log\"", "\"QUJD\""};
    char json[256];

    snprintf(json, sizeof json,
             "{\"content\":[" TEXT("done") "],\"structuredContent\":{\"log\":%s}}",
             words[_i]);
    mp_message *m = result_of(json);
    spill(m, words[_i], _i ? "QUJDQUJD" : "a log of \"two\"\nlines");
    ck_assert_int_eq(mp_content_make(m, &rules, &got, &err), MCPLUG_OK);
    ck_assert_str_eq(mcplug_rendering_text(got, NULL),
                     _i ? "done\n{\"log\":\"[Base64, 8 characters]\"}"
                        : "done\n{\"log\":\"a log of \\\"two\\\"\\nlines\"}");
    mp_message_unref(m);
}
END_TEST

START_TEST(text_that_was_spilled_is_not_given_twice)
{
    mp_message *m = result_of(
        "{\"content\":[" TEXT("be") "],\"structuredContent\":{\"end\":\"behind\"}}");

    spill(m, "\"be\"", "begins, and ends behind");
    ck_assert_int_eq(mp_content_make(m, &rules, &got, &err), MCPLUG_OK);
    ck_assert_str_eq(mcplug_rendering_text(got, NULL), "begins, and ends behind");
    mp_message_unref(m);
}
END_TEST

START_TEST(blocks_within_structured_content_are_not_given_twice)
{
    static const char *const twice[] = {
        "{\"content\":[" IMAGE("image/png", PNG) "]}",
        "{\"result\":[{\"mimeType\":\"image/png\",\"data\":\"" PNG
        "\",\"type\":\"image\",\"annotations\":null}]}",
        IMAGE("image/png", PNG),
    };
    char json[2048];

    for (size_t i = 0; i < MP_COUNT(twice); i++) {
        snprintf(json, sizeof json,
                 "{\"content\":[" IMAGE("image/png", PNG) "],\"structuredContent\":%s}",
                 twice[i]);
        make(json);
        ck_assert_uint_eq(parts(), 1);
    }
    /* another one is something else */
    make("{\"content\":[" IMAGE("image/png", PNG) "],\"structuredContent\":{\"content\":"
                                                  "[" IMAGE("image/gif", PNG) "]}}");
    ck_assert_uint_eq(parts(), 2);
}
END_TEST

START_TEST(audience_and_priority_are_honoured)
{
    char json[65536], x[20001];

    ck_assert_str_eq(
        text_of(CONTENT("{\"type\":\"text\",\"text\":\"u\",\"annotations\":{\"audience\":"
                        "[\"user\"]}}," TEXT("m"))),
        "m");
    ck_assert_str_eq(text_of(CONTENT("{\"type\":\"text\",\"text\":\"u\",\"annotations\":{"
                                     "\"audience\":[\"user\"]}}")),
                     "[The result is meant for the user alone.]");
    ck_assert_str_eq(text_of(CONTENT("{\"type\":\"text\",\"text\":\"b\",\"annotations\":{"
                                     "\"audience\":[\"user\",\"assistant\"]}}")),
                     "b");
    count_too_many();
    rules.store = NULL;
    rules.max_tokens = 5000;
    memset(x, 'x', sizeof x - 1);
    x[sizeof x - 1] = '\0';
    snprintf(json, sizeof json,
             "{\"content\":[{\"type\":\"text\",\"text\":\"%s\",\"annotations\":{"
             "\"priority\":0.1}}," TEXT("important") "]}",
             x);
    make(json);
    ck_assert_uint_eq(parts(), 3);
    ck_assert_uint_eq(part(0).len, 20000 - 9);
    ck_assert_str_eq(part(1).text, "important");
}
END_TEST

/* ---- O3 ---- */

static char *long_text(const char *unit, size_t chars)
{
    size_t n = strlen(unit);
    char *json = malloc(64 + chars * n), *p = json;

    p += sprintf(p, "{\"content\":[{\"type\":\"text\",\"text\":\"");
    for (size_t i = 0; i < chars; i++)
        p = mempcpy(p, unit, n);
    sprintf(p, "\"}]}");
    return json;
}

START_TEST(o3_up_to_half_the_limit_nothing_is_counted_and_above_it_a_count_decides)
{
    int64_t tokens = 25001;
    char *half = long_text("x", 50000), *more = long_text("x", 50004);

    rules.count = count_as;
    rules.count_arg = &tokens;
    counted = 0;
    make(half);
    ck_assert_uint_eq(counted, 0);
    ck_assert(!got->is_cut);
    make(more);
    ck_assert_uint_eq(counted, 1);
    ck_assert(got->is_cut);
    tokens = 25000;
    make(more);
    ck_assert(!got->is_cut);
    tokens = -1; /* counting failed */
    free(more);
    more = long_text("x", 1000000);
    make(more);
    ck_assert(!got->is_cut);
    free(half);
    free(more);
}
END_TEST

START_TEST(o3_images_are_counted_by_their_size)
{
    char json[60000], *p = json;

    rules.store = NULL;
    rules.max_tokens = 20000;
    p += sprintf(p, "{\"content\":[");
    for (int i = 0; i < 20; i++) /* 32000 tokens, if each were the usual 1600 */
        p += sprintf(p, "%s%s", i ? "," : "", IMAGE("image/png", PNG));
    sprintf(p, "]}");
    make(json);
    ck_assert_uint_eq(parts(), 20);
    ck_assert(!got->is_cut);
}
END_TEST

START_TEST(a_tool_may_have_longer_results)
{
    char *json = long_text("word ", 60000); /* 300,000 characters */

    rules.definition = "{\"_meta\":{\"anthropic/maxResultSizeChars\":300000}}";
    make(json);
    ck_assert(!got->is_cut);
    rules.definition = "{\"_meta\":{\"anthropic/maxResultSizeChars\":299999}}";
    make(json);
    ck_assert(got->is_cut);
    free(json);
    json = long_text("word ", 100001);
    rules.definition = "{\"_meta\":{\"anthropic/maxResultSizeChars\":9000000}}";
    make(json);
    ck_assert(got->is_cut); /* 500,000 is the most */
    free(json);
}
END_TEST

START_TEST(t5_the_server_ide_is_never_cut)
{
    char *json = long_text("word ", 60000);

    rules.whole = true;
    make(json);
    ck_assert(!got->is_cut);
    ck_assert_uint_eq(part(0).len, 300000);
    free(json);
}
END_TEST

/* ---- O4 ---- */

static int no_value(void *arg, const char *data, size_t len)
{
    (void)arg;
    (void)data;
    (void)len;
    ck_abort_msg("a value of no JSON");
    return 0;
}

START_TEST(o4_what_is_too_long_is_kept_and_referred_to)
{
    char *json = long_text("\xc3\xa9 ", 200000);
    const char *text = text_of(json);
    char *path = path_in(text, "Path: "), *name = strrchr(path, '/') + 1;

    ck_assert_msg(strncmp(text,
                          "The result has 400,000 characters, which exceeds the "
                          "limit of 25000 tokens. It was saved whole.\n",
                          95) == 0,
                  "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\nSize: 600000 bytes\nFormat: text\nSummary: "));
    ck_assert_int_eq(strncmp(name, "mcp-srv-t-", 10), 0);
    ck_assert_str_eq(strrchr(name, '.'), ".txt");
    ck_assert_str_eq(got->stored, path);
    ck_assert_uint_lt(strlen(text), 3000);
    char *want = malloc(600000);
    for (size_t i = 0; i < 200000; i++)
        memcpy(want + 3 * i, "\xc3\xa9 ", 3);
    file_is(path, want, 600000);
    free(want);
    ck_assert_int_eq(mcplug_stored_select(dir, name, ".a", no_value, NULL, NULL, &err),
                     MCPLUG_EPROTO);
    ck_assert_int_eq(strncmp(err.text, "the result is not JSON: ", 24), 0);
    free(path);
    free(json);
}
END_TEST

START_TEST(what_was_kept_is_removed_by_any_name_it_has)
{
    static const char *const ways[] = {"name", "path", "mcp-srv-t"};
    char *json = long_text("word ", 60000);

    make(json);
    const char *which = _i == 0   ? strrchr(got->stored, '/') + 1
                        : _i == 1 ? got->stored
                                  : ways[_i];
    ck_assert_int_eq(mcplug_stored_remove(dir, "mcp-srv-u", &err), MCPLUG_EINVAL);
    ck_assert_msg(mcplug_stored_remove(dir, which, &err) == MCPLUG_OK, "%s: %s", ways[_i],
                  err.text);
    ck_assert(access(got->stored, F_OK) != 0);
    free(json);
}
END_TEST

START_TEST(o4_blocks_and_data_are_kept_as_json)
{
    struct mp_str json;

    mp_str_init(&json, 1 << 22);
    mp_str_adds(&json, "{\"structuredContent\":{\"items\":[");
    for (int i = 0; i < 30000; i++)
        mp_str_addf(&json, "%s{\"id\":%d,\"name\":\"item number %d\"}", i ? "," : "", i,
                    i);
    mp_str_adds(&json, "]}}");
    const char *text = text_of(json.data);
    char *path = path_in(text, "Path: ");
    ck_assert_msg(strstr(text, "\nFormat: JSON\n") && strstr(text, "items"), "%s", text);
    ck_assert_str_eq(strrchr(path, '.'), ".json");
    file_is(path, json.data + 21, json.len - 22);
    free(path);
    mp_str_clear(&json);
}
END_TEST

START_TEST(o4_structured_content_beside_blocks_is_in_the_file)
{
    struct mp_str json;

    mp_str_init(&json, 1 << 22);
    mp_str_adds(&json, "{\"content\":[" TEXT("done") "],\"structuredContent\":[0");
    for (int i = 1; i < 60000; i++)
        mp_str_addf(&json, ",%d", i);
    mp_str_adds(&json, "]}");
    char *path = path_in(text_of(json.data), "Path: ");
    file_is(path, json.data, json.len);
    free(path);
    mp_str_clear(&json);
}
END_TEST

START_TEST(o4_with_images_what_fits_comes_beside_the_file)
{
    char *json = long_text("word ", 60000), *all;
    ck_assert_int_gt(asprintf(&all, "{\"content\":[" IMAGE("image/png", PNG) ",%s",
                              json + strlen("{\"content\":[")),
                     0);
    make(all);
    ck_assert_uint_eq(parts(), 4);
    ck_assert_str_eq(part(0).mime, "image/png");
    ck_assert_uint_eq(part(1).len, 100000 - 6400);
    ck_assert_ptr_nonnull(
        strstr(part(2).text, "[OUTPUT TRUNCATED - exceeded 25000 token"));
    ck_assert_ptr_nonnull(strstr(part(3).text, "Path: "));
    free(all);
    free(json);
}
END_TEST

START_TEST(o4_if_it_cannot_be_saved_the_model_is_told)
{
    char *json = long_text("word ", 60000);
    char want[512];

    mp_store_free(store);
    rules.store = store = mp_store_new("/proc/nowhere", 0, 0);
    const char *text = text_of(json);
    ck_assert_ptr_nonnull(got->warning);
    snprintf(
        want, sizeof want,
        "Error: result (300,000 characters) exceeds maximum allowed tokens. Failed to "
        "save output to file: %s. If this MCP server provides pagination or filtering "
        "tools, use them to retrieve specific portions of the data.",
        got->warning);
    ck_assert_str_eq(text, want);
    free(json);
}
END_TEST

/* ---- O5 ---- */

#define WARNING                                                                          \
    "\n\n[OUTPUT TRUNCATED - exceeded 1000 token limit]\n\nThe tool output was "         \
    "truncated. If this MCP server provides pagination or filtering tools, use them to " \
    "retrieve specific portions of the data. If pagination is not available, inform "    \
    "the "                                                                               \
    "user that you are working with truncated output and results may be incomplete."

START_TEST(o5_a_text_is_cut_and_warned_of)
{
    char *json = long_text("\xe2\x82\xac", 10000);

    rules.store = NULL;
    rules.max_tokens = 1000;
    make(json);
    ck_assert_uint_eq(parts(), 2);
    ck_assert_uint_eq(part(0).len, 4000 * 3);
    ck_assert(mp_is_utf8(part(0).text));
    ck_assert_str_eq(part(1).text, WARNING);
    free(json);
    /* of a text that is no block it is the end */
    json = malloc(60000);
    char *p = json + sprintf(json, "{\"toolResult\":\"");
    memset(p, 'y', 50000);
    strcpy(p + 50000, "\"}");
    make(json);
    ck_assert_uint_eq(parts(), 1);
    ck_assert_uint_eq(part(0).len, 4000 + strlen(WARNING));
    ck_assert_str_eq(part(0).text + 4000, WARNING);
    free(json);
}
END_TEST

START_TEST(o5_items_get_their_share_in_turn)
{
    static char big[20001];
    char json[60000];

    memset(big, 'z', 20000);
    count_too_many();
    rules.store = NULL;
    rules.max_tokens = 4000; /* 16,000 characters */
    snprintf(json, sizeof json,
             CONTENT(TEXT("abc") "," IMAGE(
                 "image/png", PNG) ",{\"type\":\"text\",\"text\":"
                                   "\"%s\"}," TEXT("never") "," IMAGE("image/png", PNG)),
             big);
    make(json);
    ck_assert_uint_eq(parts(), 4); /* then the loop stops */
    ck_assert_str_eq(part(0).text, "abc");
    ck_assert_uint_eq(part(1).kind, MCPLUG_PART_IMAGE);
    ck_assert_uint_eq(part(2).len, 16000 - 3 - 6400);
}
END_TEST

START_TEST(o5_an_image_that_does_not_fit_is_dropped)
{
    static char big[12001];
    char json[60000];

    memset(big, 'z', 12000);
    count_too_many();
    rules.store = NULL;
    rules.max_tokens = 4000;
    snprintf(json, sizeof json,
             CONTENT("{\"type\":\"text\",\"text\":\"%s\"}," IMAGE(
                 "image/png", PNG) ",{"
                                   "\"type\":\"text\",\"text\":\"%s\"}"),
             big, big);
    make(json);
    ck_assert_uint_eq(parts(), 3);
    ck_assert_uint_eq(part(0).len, 12000);
    ck_assert_uint_eq(part(1).len, 4000);
}
END_TEST

START_TEST(a_tail_can_be_kept)
{
    struct mp_str json;

    rules.store = NULL;
    rules.max_tokens = 1000;
    rules.tail = 25;
    mp_str_init(&json, 1 << 20);
    mp_str_adds(&json, "{\"toolResult\":\"begin ");
    for (int i = 0; i < 20000; i++)
        mp_str_adds(&json, "\xc3\xa9");
    mp_str_adds(&json, " end\"}");
    const char *text = text_of(json.data);
    ck_assert_int_eq(strncmp(text, "begin \xc3\xa9", 8), 0);
    const char *left_out = strstr(text, "\n[.. 16074 characters left out ..]\n");
    ck_assert_msg(left_out != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(left_out, "\xc3\xa9 end\n\n[OUTPUT TRUNCATED"));
    ck_assert(mp_is_utf8(text));
    mp_str_clear(&json);
}
END_TEST

START_TEST(what_does_not_conform_to_the_outputschema_is_warned_of_and_not_lost)
{
    static const char wrong[] =
        "{\"content\":[" TEXT("a") "],\"structuredContent\":{\"n\":"
                                   "\"x\"}%s}";
    char json[256];

    rules.definition = "{\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{"
                       "\"type\":\"number\"}}}}";
    snprintf(json, sizeof json, wrong, "");
    ck_assert_str_eq(text_of(json), "a\n{\"n\":\"x\"}");
    ck_assert_str_eq(got->warning,
                     "structured content does not conform to its outputSchema: "
                     ".n: expected \"number\", found string");
    ck_assert_str_eq(text_of("{\"structuredContent\":{\"n\":1}}"), "{\"n\":1}");
    ck_assert_ptr_null(got->warning);
    text_of(CONTENT(TEXT("a")));
    ck_assert_ptr_nonnull(got->warning);
}
END_TEST

START_TEST(blocks_beyond_a_limit_are_in_the_file)
{
    struct mp_str json;

    mp_str_init(&json, 1 << 20);
    mp_str_adds(&json, "{\"content\":[" TEXT("0"));
    for (int i = 0; i < MP_CONTENT_BLOCKS; i++)
        mp_str_adds(&json, "," TEXT("x"));
    mp_str_adds(&json, "]}");
    make(json.data);
    ck_assert(got->is_cut && got->stored);
    mp_str_clear(&json);
}
END_TEST

START_TEST(no_limit_is_above_that_of_memory)
{
    const size_t half = MP_CONTENT_MEMORY / 2; /* characters */
    struct mp_str json;

    rules.store = NULL;
    rules.max_tokens = _i == 0 ? 25000 : UINT32_MAX;
    rules.whole = _i == 0;
    mp_str_init(&json, 1 << 27);
    for (int i = 0; i < 2; i++) {
        mp_str_adds(&json, i ? "\"},{\"type\":\"text\",\"text\":\""
                             : "{\"content\":[{\"type\":\"text\",\"text\":\"");
        for (size_t k = 0; k < half; k++)
            mp_str_adds(&json, "\xf0\x9f\x98\x80");
    }
    mp_str_adds(&json, _i == 2 ? "x\"}]}" : "\"}]}");
    ck_assert_int_eq(make(json.data), MCPLUG_OK);
    ck_assert_int_eq(got->is_cut, _i == 2);
    ck_assert_uint_eq(part(0).len, 4 * half);
    ck_assert_uint_eq(part(1).len, 4 * half);
    mp_str_clear(&json);
}
END_TEST

START_TEST(a_uri_may_be_all_that_has_to_be_escaped)
{
    struct mp_str json;

    mp_str_init(&json, 1 << 20);
    mp_str_adds(&json, "{\"content\":[{\"type\":\"resource\",\"resource\":{\"blob\":"
                       "\"AAAA\"");
    for (int i = 0; i < 2; i++) {
        mp_str_adds(&json, i ? ",\"mimeType\":\"" : ",\"uri\":\"");
        for (int k = 0; k < 65000; k++)
            mp_str_addc(&json, 0x7f);
        mp_str_addc(&json, '"');
    }
    mp_str_adds(&json, "}}]}");
    rules.whole = true;
    ck_assert_msg(make(json.data) == MCPLUG_OK, "%s", err.text);
    ck_assert_uint_gt(part(0).len, 2 * 4 * 65000);
    mp_str_clear(&json);
}
END_TEST

START_TEST(images_have_a_limit_together)
{
    struct mp_str json;
    size_t n = 9;

    rules.store = NULL;
    rules.whole = true;
    mp_str_init(&json, 1 << 26);
    mp_str_adds(&json, "{\"content\":[");
    for (size_t i = 0; i < n; i++) { /* 3,932,160 bytes each */
        mp_str_adds(&json, i ? ",{\"type\":\"image\",\"data\":\"iVBORw0KGgoA"
                             : "{\"type\":\"image\",\"data\":\"iVBORw0KGgoA");
        size_t more = (size_t)MP_IMAGE_BYTES / 3 * 4 - 12;
        ck_assert(mp_str_reserve(&json, more));
        memset(json.data + json.len, 'A', more);
        json.len += more;
        mp_str_adds(&json, "\"}");
    }
    mp_str_adds(&json, "]}");
    ck_assert_int_eq(make(json.data), MCPLUG_OK);
    ck_assert_uint_eq(part(7).kind, MCPLUG_PART_IMAGE);
    ck_assert_ptr_nonnull(
        strstr(part(8).text, "\nNot shown: the images of a result have 32 MiB at most."));
    mp_str_clear(&json);
}
END_TEST

START_TEST(one_result_makes_few_files)
{
    struct mp_str json;
    size_t i;

    mp_str_init(&json, 1 << 20);
    mp_str_adds(&json, "{\"content\":[{\"type\":\"audio\",\"data\":\"AAAA\"}");
    for (i = 0; i < MP_DATA_FILES; i++)
        mp_str_adds(&json, ",{\"type\":\"audio\",\"data\":\"AAAA\"}");
    mp_str_adds(&json, "]}");
    ck_assert_int_eq(make(json.data), MCPLUG_OK);
    ck_assert_ptr_nonnull(strstr(part(i - 1).text, "\nSaved to "));
    ck_assert_ptr_nonnull(
        strstr(part(i).text, "\nNot saved: it is more than 64 files of one result."));
    mp_str_clear(&json);
}
END_TEST

START_TEST(characters_are_those_of_the_texts_and_texts_are_joined_as_they_are)
{
    struct mcplug_rendering_info info = {.struct_size = sizeof info};

    ck_assert_str_eq(text_of(CONTENT(TEXT("") "," TEXT("\\u20ac\\n") "," TEXT(""))),
                     "\n\xe2\x82\xac\n\n");
    mcplug_rendering_info(got, &info);
    ck_assert_uint_eq(info.characters, 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("content_render");
    TCase *t = tcase_create("all");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, o1_o2_shapes_and_blocks_have_their_texts, 0, MP_COUNT(shapes));
    tcase_add_test(t, o1_anything_else_is_an_error);
    tcase_add_test(t, o2_an_image_is_a_part_of_its_own);
    tcase_add_test(t, i2_the_bytes_say_what_an_image_is);
    tcase_add_test(t, o2_what_no_model_takes_is_named);
    tcase_add_test(t, sound_and_other_data_is_saved_under_a_safe_name);
    tcase_add_test(t, the_same_data_is_not_given_twice);
    tcase_add_test(t,
                   an_image_is_not_lost_to_structured_content_nor_its_data_given_as_text);
    tcase_add_loop_test(t, beside_blocks_only_data_is_left_out, 0, 2);
    tcase_add_loop_test(t, what_was_spilled_of_structured_content_is_not_lost, 0, 2);
    tcase_add_test(t, text_that_was_spilled_is_not_given_twice);
    tcase_add_test(t, blocks_within_structured_content_are_not_given_twice);
    tcase_add_test(t, audience_and_priority_are_honoured);
    tcase_add_test(
        t, o3_up_to_half_the_limit_nothing_is_counted_and_above_it_a_count_decides);
    tcase_add_test(t, o3_images_are_counted_by_their_size);
    tcase_add_test(t, a_tool_may_have_longer_results);
    tcase_add_test(t, t5_the_server_ide_is_never_cut);
    tcase_add_test(t, o4_what_is_too_long_is_kept_and_referred_to);
    tcase_add_loop_test(t, what_was_kept_is_removed_by_any_name_it_has, 0, 3);
    tcase_add_test(t, o4_blocks_and_data_are_kept_as_json);
    tcase_add_test(t, o4_structured_content_beside_blocks_is_in_the_file);
    tcase_add_test(t, o4_with_images_what_fits_comes_beside_the_file);
    tcase_add_test(t, o4_if_it_cannot_be_saved_the_model_is_told);
    tcase_add_test(t, o5_a_text_is_cut_and_warned_of);
    tcase_add_test(t, o5_items_get_their_share_in_turn);
    tcase_add_test(t, o5_an_image_that_does_not_fit_is_dropped);
    tcase_add_test(t, a_tail_can_be_kept);
    tcase_add_test(t,
                   what_does_not_conform_to_the_outputschema_is_warned_of_and_not_lost);
    tcase_add_test(t, blocks_beyond_a_limit_are_in_the_file);
    tcase_add_test(t, a_uri_may_be_all_that_has_to_be_escaped);
    tcase_add_test(t, one_result_makes_few_files);
    tcase_add_test(t, characters_are_those_of_the_texts_and_texts_are_joined_as_they_are);
    if (!is_slow()) {
        tcase_add_loop_test(t, no_limit_is_above_that_of_memory, 0, 3);
        tcase_add_test(t, images_have_a_limit_together);
        tcase_add_test(t, any_number_of_blocks_and_values_is_compared_in_one_pass);
        tcase_add_test(t, a_number_is_looked_for_in_few_places);
    }
    suite_add_tcase(s, t);
    return run_to_end(s);
}
