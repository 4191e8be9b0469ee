/* Blocks of content: which is which, and how each reads as text. */
#include <mcplug/admin.h>

#include "content/base64.h"
#include "rpc/message.h"

#include "fake.h"

static mp_message *result;
static struct mp_str got;

static void setup(void)
{
    result = NULL;
    mp_str_init(&got, 1 << 26);
}

static void teardown(void)
{
    mp_message_unref(result);
    mp_str_clear(&got);
}

static int keep(void *arg, const char *data, size_t len)
{
    (void)arg;
    return mp_str_add(&got, data, len);
}

static void have(const char *json)
{
    size_t len = strlen(json);
    mp_message_unref(result);
    result = mp_message_new(json, len, NULL);
    mp_message_expose(result, (struct mp_span){0, len});
}

static mp_view all(void)
{
    size_t len;
    const char *json = mcplug_result_json(result, &len);
    return mp_bytes(json, len);
}

/* One block, its kind, and it as text. */
static const struct {
    const char *json;
    enum mcplug_block_kind kind;
    const char *text;
} blocks[] = {
    {"{\"type\":\"text\",\"text\":\"a\\u00e9\\n\"}", MCPLUG_BLOCK_TEXT, "a\xc3\xa9\n"},
    {"{\"text\":\"behind\",\"type\":\"text\"}", MCPLUG_BLOCK_TEXT, "behind"},
    {"{\"type\":\"text\",\"text\":5}", MCPLUG_BLOCK_TEXT, ""},
    {"{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAEC\"}",
     MCPLUG_BLOCK_IMAGE, "[image/png, 3 bytes]"},
    {"{\"type\":\"image\",\"mimeType\":\"a\\nb\\u202e\",\"data\":\"\"}",
     MCPLUG_BLOCK_IMAGE, "[a\\x0ab\\u{202e}, 0 bytes]"},
    {"{\"type\":\"audio\",\"data\":\"?\"}", MCPLUG_BLOCK_AUDIO,
     "[application/octet-stream, not Base64]"},
    {"{\"type\":\"resource_link\",\"uri\":\"x:y\",\"text\":\"no\"}", MCPLUG_BLOCK_LINK,
     "Resource link: x:y"},
    {"{\"type\":\"resource\",\"text\":\"no\",\"resource\":{\"uri\":\"u\\n\",\"text\":"
     "\"t\"}}",
     MCPLUG_BLOCK_RESOURCE, "Resource: u\\x0a\nt"},
    {"{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"blob\":\"AA==\","
     "\"mimeType\":\"a/b\"}}",
     MCPLUG_BLOCK_RESOURCE, "[Binary resource: u (a/b)]"},
    {"{\"type\":\"resource\"}", MCPLUG_BLOCK_RESOURCE,
     "[Binary resource:  (application/octet-stream)]"},
    {"{\"uri\":\"u\",\"text\":\"t\"}", MCPLUG_BLOCK_CONTENTS, "t"},
    {"{\"uri\":\"u\",\"mimeType\":\"a/b\",\"blob\":\"AAEC\"}", MCPLUG_BLOCK_CONTENTS,
     "[a/b, 3 bytes]"},
    {"{\"type\":\"new\",\"n\":1,\"text\":\"t\"}", MCPLUG_BLOCK_OTHER,
     "{\"type\":\"new\",\"n\":1,\"text\":\"t\"}"},
    {"{}", MCPLUG_BLOCK_OTHER, "{}"},
    {"7", MCPLUG_BLOCK_OTHER, "7"},
    {"[[]]", MCPLUG_BLOCK_OTHER, "[]"},
};

START_TEST(a_block_is_what_its_type_says)
{
    struct mcplug_block block = {.struct_size = sizeof block};

    have(blocks[_i].json);
    mp_view rest = all();
    ck_assert(mcplug_block_next(&rest, &block));
    ck_assert_uint_eq(block.kind, blocks[_i].kind);
    ck_assert_int_eq(mcplug_block_write(result, &block, keep, NULL, NULL), MCPLUG_OK);
    ck_assert_str_eq(got.data ? got.data : "", blocks[_i].text);
    ck_assert(!mcplug_block_next(&rest, &block));
    ck_assert(!mcplug_block_next(&rest, &block));
}
END_TEST

START_TEST(blocks_come_one_after_the_other)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    char kinds[8] = "";
    size_t n = 0;

    have(" [ 7 , [{\"type\":\"text\"}] ,{\"type\":\"image\"}, \"x\",null ] " + 1);
    for (mp_view rest = all(); mcplug_block_next(&rest, &block);)
        kinds[n++] = (char)('0' + block.kind);
    ck_assert_str_eq(kinds, "00200");
    have("[]");
    mp_view rest = all();
    ck_assert(!mcplug_block_next(&rest, &block));
}
END_TEST

/* A result, what of it is the answer, and which part that is. */
static const struct {
    const char *json;
    enum mcplug_answer answer;
    const char *part;
} answers[] = {
    {"{\"content\":[1],\"structuredContent\":{}}", MCPLUG_ANSWER_BLOCKS, "[1]"},
    {"{\"content\":[]}", MCPLUG_ANSWER_BLOCKS, "[]"},
    {"{\"content\":[],\"structuredContent\":{\"a\":1}}", MCPLUG_ANSWER_JSON, "{\"a\":1}"},
    {"{\"contents\":[2]}", MCPLUG_ANSWER_BLOCKS, "[2]"},
    {"{\"toolResult\":\"t\"}", MCPLUG_ANSWER_TEXT, "\"t\""},
    {"{\"toolResult\":[3]}", MCPLUG_ANSWER_JSON, "[3]"},
    {"{\"toolResult\":\"t\",\"structuredContent\":4}", MCPLUG_ANSWER_JSON, "4"},
    {"{\"content\":{\"text\":\"x\"}}", MCPLUG_ANSWER_UNKNOWN, ""},
    {"{}", MCPLUG_ANSWER_UNKNOWN, ""},
};

START_TEST(one_part_of_a_result_is_its_answer)
{
    mp_view part;

    have(answers[_i].json);
    ck_assert_int_eq(mcplug_result_answer(result, &part), answers[_i].answer);
    ck_assert_uint_eq(part.len, strlen(answers[_i].part));
    ck_assert(!part.len || mp_bytes_eq(part, answers[_i].part));
}
END_TEST

START_TEST(data_is_decoded_as_far_as_it_is_base64)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_block block = {.struct_size = sizeof block};

    have("[{\"blob\":\"aGVsbG8=\"},{\"data\":\"aGVs?bG8=\",\"type\":\"audio\"},{}]");
    mp_view rest = all();
    ck_assert(mcplug_block_next(&rest, &block));
    ck_assert_int_eq(mcplug_block_write_data(result, &block, keep, NULL, &err), 0);
    ck_assert_str_eq(got.data, "hello");
    ck_assert(mcplug_block_next(&rest, &block));
    ck_assert_int_eq(mcplug_block_write_data(result, &block, keep, NULL, &err),
                     MCPLUG_EPROTO);
    ck_assert_str_eq(got.data, "hellohel");
    ck_assert(mcplug_block_next(&rest, &block)); /* has none */
    ck_assert_int_eq(mcplug_block_write_data(result, &block, keep, NULL, &err), 0);
    ck_assert_uint_eq(got.len, 8);
}
END_TEST

static int refuse(void *arg, const char *data, size_t len)
{
    (void)data, (void)len;
    ++*(int *)arg;
    return 0;
}

START_TEST(who_wants_no_more_of_a_block_gets_no_more)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    int pieces = 0;

    have("{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"text\":\"t\"}}");
    mp_view rest = all();
    ck_assert(mcplug_block_next(&rest, &block));
    ck_assert_int_eq(mcplug_block_write(result, &block, refuse, &pieces, NULL), 0);
    ck_assert_int_eq(pieces, 1);
}
END_TEST

START_TEST(a_word_that_is_too_long_for_a_line_is_left_out)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    struct mp_str json;

    mp_str_init(&json, 1 << 20);
    mp_str_adds(&json, "{\"type\":\"resource_link\",\"uri\":\"");
    for (int i = 0; i < 65535; i++)
        mp_str_addc(&json, 'x');
    mp_str_adds(&json, "\"}");
    have(json.data);
    mp_view rest = all();
    ck_assert(mcplug_block_next(&rest, &block));
    ck_assert_uint_eq(block.uri.len, 65537);
    ck_assert_int_eq(mcplug_block_write(result, &block, keep, NULL, NULL), 0);
    ck_assert_str_eq(got.data, "Resource link: ");
    mp_str_clear(&json);
}
END_TEST

START_TEST(base64_comes_in_any_pieces_and_dialects)
{
    char bytes[16];
    struct mp_base64 b = {0};
    size_t n = mp_base64_feed(&b, "aG", 2, bytes);
    n += mp_base64_feed(&b, "Vs\r\nbG8", 7, bytes + n);
    n += mp_base64_feed(&b, "=", 1, bytes + n);
    ck_assert_mem_eq(bytes, "hello", 5);
    ck_assert_uint_eq(n, 5);
    ck_assert_uint_eq(b.size, 5);
    ck_assert(!b.malformed);
    mp_base64_feed(&b, "A", 1, bytes);
    ck_assert(b.malformed);

    struct mp_base64 url = {0};
    ck_assert_uint_eq(mp_base64_feed(&url, "-_8", 3, bytes), 2);
    ck_assert_mem_eq(bytes, "\xfb\xff", 2);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_block_is_what_its_type_says, 0, MP_COUNT(blocks));
    tcase_add_test(tc, blocks_come_one_after_the_other);
    tcase_add_loop_test(tc, one_part_of_a_result_is_its_answer, 0, MP_COUNT(answers));
    tcase_add_test(tc, data_is_decoded_as_far_as_it_is_base64);
    tcase_add_test(tc, who_wants_no_more_of_a_block_gets_no_more);
    tcase_add_test(tc, a_word_that_is_too_long_for_a_line_is_left_out);
    tcase_add_test(tc, base64_comes_in_any_pieces_and_dialects);
}

int main(void)
{
    return run_suite("content_block", add);
}
