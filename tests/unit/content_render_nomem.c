/* Results for a model, without memory: they are right, or there is an error that says so;
 * nothing is left behind. */
#include "nomem_kit.h"

#include "box_kit.h"
#include "content/content.h"
#include "rpc/message.h"
#include "toolbox/toolbox.h"

#include <dirent.h>

#define PNG                                                                              \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"                      \
    "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" PNG "\"}"
#define CONTENT(blocks) "{\"content\":[" blocks "]}"
#define WORDS "word word word word word word word word word word word word word word "

/* Files that were given a name, and none that were not. */
static size_t files_left(const char *dir, bool removes)
{
    DIR *d = opendir(dir);
    char path[1024];
    struct dirent *e;
    size_t n = 0;

    while (d && (e = readdir(d))) {
        if (e->d_name[0] == '.' && (!e->d_name[1] || e->d_name[1] == '.'))
            continue;
        ck_assert_msg(strncmp(e->d_name, "mcp-", 4) == 0, "%s", e->d_name);
        snprintf(path, sizeof path, "%s/%.300s", dir, e->d_name);
        if (removes)
            unlink(path);
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

/* ---- mp_content_make ---- */

static const struct {
    const char *result;
    uint32_t max_tokens;
    unsigned tail;
    bool has_store;
} cases[] = {
    {"{\"toolResult\":\"old\"}", 1000, 0, false},
    {"{\"structuredContent\":{\"a\":[1,2]}}", 1000, 0, false},
    {CONTENT(TEXT("one") "," IMAGE "," TEXT("two") ",{\"type\":\"new\"}"), 9999, 0,
     false},
    {CONTENT("{\"type\":\"resource_link\",\"uri\":\"u:1\",\"title\":\"T\",\"size\":12},"
             "{\"type\":\"image\",\"mimeType\":\"image/svg+xml\",\"data\":\"AAAA\"},"
             "{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"text\":\"in\"}}"),
     1000, 0, false},
    {"{\"content\":[" IMAGE "],\"structuredContent\":{\"image\":\"" PNG
     "\",\"note\":\"a chart\"}}",
     9999, 0, false},
    {"{\"content\":[" TEXT("a 12") "],\"structuredContent\":{\"a\":12,\"b\":\"a\"}}",
     1000, 0, false},
    {CONTENT(TEXT(WORDS WORDS WORDS WORDS WORDS WORDS)), 80, 25, false}, /* cut */
    {CONTENT("{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"AAEC\"},"
             "{\"type\":\"resource\",\"resource\":{\"uri\":\"x:/a.zip\",\"blob\":"
             "\"AAEC\"}}"),
     1000, 0, true},
    {CONTENT(TEXT(WORDS)), 2, 0, true},
    {"{\"structuredContent\":{\"items\":[{\"id\":1},{\"id\":2}]}}", 1, 0, true},
    {CONTENT(IMAGE "," TEXT(WORDS)), 2, 0, true},
    {"{\"content\":[" TEXT("done") "],\"structuredContent\":{\"id\":\"" WORDS "\"}}", 2,
     0, true},
};

static mp_message *result;
static struct mp_content_rules rules;
static struct mp_store *store;
static char *wanted, *wanted_json; /* with memory */

static mp_message *result_of(const char *text)
{
    size_t len = strlen(text);
    mp_message *m = mp_message_new(text, len, NULL);

    ck_assert_int_eq(mp_scan_text(text, len, &mp_scan_defaults, NULL, &err), MCPLUG_OK);
    mp_message_expose(m, (struct mp_span){0, len});
    return m;
}

/* A file that could not be written is said so, in place of the words on where it is. */
static bool has_failed_to_save(const char *text)
{
    return strstr(text, "\nNot saved: out of memory") ||
           strstr(text, "Failed to save output to file: out of memory");
}

static void make(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_rendering *got = NULL;

    int r = mp_content_make(result, &rules, &got, &why);
    if (r != MCPLUG_OK) {
        ck_assert_msg(r == MCPLUG_ENOMEM && why.code == r, "%s: %s", when(), why.text);
        ck_assert(why.text[0] && !got);
        return;
    }
    const char *text = mcplug_rendering_text(got, NULL);
    const char *blocks = mcplug_rendering_json(got, NULL);
    if (!rules.store) {
        ck_assert_msg(strcmp(text, wanted) == 0, "%s: %s", when(), text);
        ck_assert_msg(!blocks || strcmp(blocks, wanted_json) == 0, "%s: %s", when(),
                      blocks);
    } else if (!has_failed_to_save(text)) {
        ck_assert_msg(strlen(text) == strlen(wanted), "%s: %s", when(), text);
    }
    ck_assert(!got->stored || access(got->stored, R_OK) == 0);
    mcplug_rendering_unref(got);
}

static void remove_files(void)
{
    if (rules.store)
        files_left(at("results"), true);
}

START_TEST(a_result_is_right_or_memory_is_missing)
{
    mcplug_rendering *got = NULL;

    store = mp_store_new(at("results"), 0, 0);
    result = result_of(cases[_i].result);
    rules = (struct mp_content_rules){.max_tokens = cases[_i].max_tokens,
                                      .tail = cases[_i].tail,
                                      .server = "s",
                                      .tool = "t",
                                      .in_toolbox = true,
                                      .store = cases[_i].has_store ? store : NULL};
    ck_assert_int_eq(mp_content_make(result, &rules, &got, &err), MCPLUG_OK);
    wanted = strdup(mcplug_rendering_text(got, NULL));
    wanted_json = strdup(mcplug_rendering_json(got, NULL));
    mcplug_rendering_unref(got);
    remove_files();
    torture(NULL, make, remove_files);
    free(wanted);
    free(wanted_json);
    mp_message_unref(result);
    mp_store_free(store);
}
END_TEST

static int64_t count_words(void *arg, const char *text, size_t len)
{
    (void)arg;
    ck_assert_uint_eq(strlen(text), len);
    return 1000000;
}

static void make_counted(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_rendering *got = NULL;
    int r = mp_content_make(result, &rules, &got, &why);

    ck_assert_msg(r == MCPLUG_OK ? got->is_cut : r == MCPLUG_ENOMEM && !got, "%s: %s",
                  when(), why.text);
    mcplug_rendering_unref(got);
}

START_TEST(without_memory_to_count_nothing_passes_as_short)
{
    result = result_of(CONTENT(TEXT(WORDS WORDS)));
    rules = (struct mp_content_rules){
        .max_tokens = 20, .server = "s", .tool = "t", .count = count_words};
    torture(NULL, make_counted, NULL);
    mp_message_unref(result);
}
END_TEST

/* ---- read_result and search_result ---- */

static const struct {
    const char *arguments, *want;
    bool searches;
} questions[] = {
    {"{\"result\":\"mcp-s-t-1.txt\",\"path\":\".a[1:]\"}", "2\\n3\\n", false},
    {"{\"result\":\"mcp-s\",\"offset\":1,\"length\":4}",
     "Bytes 1 to 4 of 13:\\n\\\"a\\\":", false},
    {"{\"result\":\"mcp-s-t-1.txt\",\"text\":\"A\",\"ignore_case\":true}",
     "line 1, offset 2: {\\\"a\\\":[1,2,3]}\\n", true},
};
static size_t question;

static void ask(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_str out;
    char want[256];

    snprintf(want, sizeof want, CONTENT(TEXT("%s")), questions[question].want);
    mp_str_init(&out, 1 << 20);
    int r = mp_results_answer(at("results"), questions[question].searches,
                              questions[question].arguments, 50000, &out, &why);
    if (r == MCPLUG_OK)
        ck_assert_msg(strcmp(out.data, want) == 0, "%s: %s", when(), out.data);
    else
        ck_assert_msg(r == MCPLUG_ENOMEM && why.text[0], "%s: %s", when(), why.text);
    mp_str_clear(&out);
}

static void put_file(void)
{
    ck_assert(mkdir(at("results"), 0700) == 0 || errno == EEXIST);
    put("results/mcp-s-t-1.txt", "{\"a\":[1,2,3]}", 0600);
}

START_TEST(a_file_is_read_or_memory_is_missing)
{
    question = (size_t)_i;
    put_file();
    ask();
    torture(NULL, ask, NULL);
    files_left(at("results"), true);
}
END_TEST

/* ---- beside a loop ---- */

static struct mcplug_render_options options = {
    .struct_size = sizeof options,
    .server = "s",
    .tool = "t",
    .max_tokens = 10,
    .definition = "{\"_meta\":{\"anthropic/maxResultSizeChars\":5}}"};

static void render(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const mcplug_rendering *got = NULL;

    int r = mcplug_render_wait(host, result, &options, &got, &why);
    ck_assert_msg(r == MCPLUG_OK || (r == MCPLUG_ENOMEM && why.text[0] && !got), "%s: %s",
                  when(), why.text);
    if (r == MCPLUG_OK) {
        const char *text = mcplug_rendering_text(got, NULL);
        ck_assert_msg(strstr(text, "\nPath: ") || has_failed_to_save(text), "%s: %s",
                      when(), text);
    }
    mcplug_rendering_unref(got);
}

static void remove_results(void)
{
    ck_assert_uint_le(files_left(results, true), 1);
}

START_TEST(a_host_renders_or_says_why_not)
{
    static char text[100000] = "{\"toolResult\":\"";
    size_t len = strlen(text), size = _i ? 90000 : 200; /* with a thread, without */

    memset(text + len, 'x', size);
    strcpy(text + len + size, "\"}");
    begin(NULL);
    result = result_of(text);
    torture(NULL, render, remove_results);
    mp_message_unref(result);
    end();
}
END_TEST

static const char *tool, *arguments;
static unsigned under_way;
static struct seen seen;

static void on_answer(void *arg, mcplug_call *call, const struct mcplug_record *r)
{
    (void)arg, (void)call;
    under_way--;
    seen.ok = r->ok;
    seen.code = r->why ? r->why->code : MCPLUG_OK;
    snprintf(seen.result, sizeof seen.result, "%.8000s", r->result);
    mcplug_record_json(r); /* or NULL */
}

static void call_own(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    memset(&seen, 0, sizeof seen);
    if (!mcplug_toolbox_call(box, tool, arguments, NULL, on_answer, NULL, &why)) {
        ck_assert_msg(why.code == MCPLUG_ENOMEM || why.code == MCPLUG_ENOTSUP ||
                          strcmp(why.text, "no thread can be started") == 0,
                      "%s: %s", when(), why.text);
        return;
    }
    under_way++;
    UNTIL(!under_way);
    ck_assert_msg(seen.ok || seen.code == MCPLUG_ENOMEM, "%s: %s", when(), seen.result);
    ck_assert_msg(seen.result[0], "%s", when());
}

START_TEST(a_toolbox_stores_and_reads_results_or_says_why_not)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o, .max_tokens = 4};
    char read_it[512];

    begin(&o);
    put_in("e", example(NULL), NULL);
    warm_up();
    tool = "list-resources";
    arguments = "{\"server\":\"e\"}";
    torture(NULL, call_own, remove_results);
    call_own();
    ck_assert_ptr_nonnull(strstr(seen.result, "\nPath: "));
    snprintf(read_it, sizeof read_it, "{\"result\":\"mcp-\",\"text\":\"example\"}");
    arguments = read_it;
    tool = "read_result";
    torture(NULL, call_own, NULL);
    tool = "search_result";
    torture(NULL, call_own, NULL);
    end();
}
END_TEST

static void add(TCase *tc)
{
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_checked_fixture(tc, world, unload);
    tcase_add_loop_test(tc, a_result_is_right_or_memory_is_missing, 0,
                        (int)MP_COUNT(cases));
    tcase_add_test(tc, without_memory_to_count_nothing_passes_as_short);
    tcase_add_loop_test(tc, a_file_is_read_or_memory_is_missing, 0,
                        (int)MP_COUNT(questions));
    tcase_add_loop_test(tc, a_host_renders_or_says_why_not, 0, 2);
    tcase_add_test(tc, a_toolbox_stores_and_reads_results_or_says_why_not);
}

int main(void)
{
    return run_suite("content_render_nomem", add);
}
