/* Results, with what was spilled in its place. */
#include <mcplug/admin.h>

#include "base/text.h"
#include "rpc/assembler.h"

#include "fake.h"

#include <stdlib.h>

static struct mp_assembler a;
static mp_message *result;
static struct mp_str text, got;

/* The result is `text`; what is long in it is spilled. */
static void read_result(void)
{
    struct mp_assembler_limits limits = {.scan = {.depth = 64, .tokens = 100000},
                                         .memory = 256 * 1024,
                                         .spill = 1 << 30,
                                         .dir = "/tmp"};
    struct mp_str whole;

    mp_str_init(&whole, 1 << 26);
    mp_str_addf(&whole, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":%s}", text.data);
    mp_assembler_init(&a, &limits);
    size_t at = 0;
    while (at < whole.len) { /* one piece would be kept as it is */
        size_t n = whole.len - at < 4096 ? whole.len - at : 4096;
        ck_assert_int_eq(
            mp_assembler_feed(&a, mp_bytes(whole.data + at, n),
                              at + n == whole.len ? MP_PIECE_LAST : MP_PIECE_MORE,
                              &result),
            MCPLUG_OK);
        at += n;
    }
    ck_assert_ptr_nonnull(result);
    mp_message_expose(result, result->env.result);
    mp_str_clear(&whole);
}

static void setup(void)
{
    result = NULL;
    mp_str_init(&text, 1 << 26);
    mp_str_init(&got, 1 << 26);
}

static void teardown(void)
{
    mp_message_unref(result);
    mp_assembler_clear(&a);
    mp_str_clear(&text);
    mp_str_clear(&got);
}

static int keep(void *arg, const char *data, size_t len)
{
    (void)arg;
    return mp_str_add(&got, data, len);
}

static void add_long(const char *unit, size_t n)
{
    mp_str_addc(&text, '"');
    for (size_t i = 0; i < n; i++)
        mp_str_adds(&text, unit);
    mp_str_addc(&text, '"');
}

static void has(const struct mp_str *expected)
{
    ck_assert_uint_eq(got.len, expected->len);
    ck_assert(memcmp(got.data, expected->data, got.len) == 0);
}

START_TEST(a_result_is_written_whole_as_it_came)
{
    mp_str_adds(&text, "{\"a\":");
    add_long("x\\ny\\\"\\\\\\u0001\xe2\x82\xac", 40000);
    mp_str_adds(&text, ",\"b\":[1,2],\"c\":");
    add_long("plain", 60000);
    mp_str_adds(&text, ",\"d\":\"short\\n\"}");
    read_result();
    ck_assert_uint_eq(mcplug_result_spills(result), 2);
    ck_assert_int_eq(mcplug_result_write(result, 0, SIZE_MAX, keep, NULL, NULL), 0);
    has(&text);
}
END_TEST

/* What all pieces of `size` bytes come to is in `got`. */
static void read_all(size_t size)
{
    struct mcplug_cursor at = {.struct_size = sizeof at};
    char *piece = malloc(size);
    int64_t n;

    mp_str_reset(&got);
    while ((n = mcplug_result_read(result, &at, piece, size)) > 0) {
        ck_assert_uint_le((size_t)n, size);
        ck_assert_uint_ne((unsigned char)piece[0] & 0xc0, 0x80); /* a whole character */
        mp_str_add(&got, piece, (size_t)n);
    }
    ck_assert_int_eq(n, 0);
    ck_assert_int_eq(mcplug_result_read(result, &at, piece, size), 0); /* still */
    free(piece);
}

START_TEST(a_result_is_read_whole_in_pieces_of_any_size)
{
    static const size_t sizes[] = {MCPLUG_READ_MIN, 17,    18,     19, 23, 100, 4096,
                                   32768,           40000, 1 << 22};

    mp_str_adds(&text, "{\"\xe2\x82\xac\xf0\x9f\x98\x80\":");
    add_long("x\\ny\\\"\\\\\\u0001\xe2\x82\xac\xf0\x9f\x98\x80", 30000);
    mp_str_adds(&text, ",\"b\":[1,2],\"c\":");
    add_long("plain", 60000);
    mp_str_adds(&text, ",\"e\":");
    add_long("\\u0001\\u0002", 60000);
    mp_str_adds(&text, ",\"d\":\"short\\n\"}");
    read_result();
    ck_assert_uint_eq(mcplug_result_spills(result), 3);
    for (size_t i = 0; i < MP_COUNT(sizes); i++) {
        read_all(sizes[i]);
        has(&text);
    }
}
END_TEST

START_TEST(a_result_without_spills_is_read_like_any_other)
{
    mp_str_adds(&text, "{\"a\":\"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4\xc3\xb6\"}");
    read_result();
    for (size_t size = MCPLUG_READ_MIN; size < 40; size++) {
        read_all(size);
        has(&text);
    }
}
END_TEST

START_TEST(a_cursor_that_is_nowhere_is_refused)
{
    struct mcplug_cursor at = {.struct_size = sizeof at};
    char buf[64];

    mp_str_adds(&text, "{\"a\":");
    add_long("first", 60000);
    mp_str_adds(&text, "}");
    read_result();
    ck_assert_int_eq(mcplug_result_read(result, &at, buf, MCPLUG_READ_MIN - 1),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_result_read(result, &at, NULL, 64), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_result_read(result, NULL, buf, 64), MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_result_read(NULL, &at, buf, 64), MCPLUG_EINVAL);
    at.struct_size = 0;
    ck_assert_int_eq(mcplug_result_read(result, &at, buf, 64), MCPLUG_EINVAL);
    at = (struct mcplug_cursor){.struct_size = sizeof at, .offset = UINT64_MAX};
    ck_assert_int_eq(mcplug_result_read(result, &at, buf, 64), MCPLUG_EINVAL);
    at = (struct mcplug_cursor){.struct_size = sizeof at, .inside = 1, .part = 1};
    ck_assert_int_eq(mcplug_result_read(result, &at, buf, 64), MCPLUG_EINVAL);
    at = (struct mcplug_cursor){
        .struct_size = sizeof at, .inside = 1, .offset = 5 * 60000 + 1};
    ck_assert_int_eq(mcplug_result_read(result, &at, buf, 64), MCPLUG_EINVAL);
    at = (struct mcplug_cursor){.struct_size = sizeof at, .part = UINT64_MAX};
    ck_assert_int_gt(mcplug_result_read(result, &at, buf, 64),
                     0); /* cut, as it is kept */
}
END_TEST

/* As long as they were in the first release, whatever members they get later. */
START_TEST(a_spill_and_a_cursor_of_the_first_release_are_taken)
{
    struct mcplug_cursor at = {.struct_size = 24};
    struct mcplug_spill spill = {.struct_size = 16 + 2 * sizeof(size_t)};
    char buf[64];

    mp_str_adds(&text, "{\"a\":");
    add_long("first", 60000);
    mp_str_adds(&text, "}");
    read_result();
    ck_assert_int_eq(mcplug_result_read(result, &at, buf, 64), 64);
    ck_assert_int_eq(mcplug_result_spill(result, 0, &spill), MCPLUG_OK);
    ck_assert_uint_eq(spill.struct_size, 16 + 2 * sizeof(size_t));
    ck_assert_uint_eq(spill.size, 5 * 60000);
    ck_assert_uint_eq(spill.json_offset, 5);
    spill.struct_size--;
    ck_assert_int_eq(mcplug_result_spill(result, 0, &spill), MCPLUG_EINVAL);
    at.struct_size--;
    ck_assert_int_eq(mcplug_result_read(result, &at, buf, 64), MCPLUG_EINVAL);
}
END_TEST

START_TEST(a_part_is_written_without_its_neighbours)
{
    mp_str_adds(&text, "{\"a\":");
    add_long("first", 60000);
    mp_str_adds(&text, ",\"b\":{\"c\":");
    add_long("second", 60000);
    mp_str_adds(&text, "}}");
    read_result();
    size_t len;
    const char *json = mcplug_result_json(result, &len);
    mp_view part = mp_view_get(mp_bytes(json, len), "b");
    ck_assert_int_eq(mcplug_result_write(result, (size_t)((const char *)part.data - json),
                                         part.len, keep, NULL, NULL),
                     0);
    ck_assert_uint_eq(got.len, strlen("{\"c\":\"\"}") + 6 * 60000);
    ck_assert(memcmp(got.data, "{\"c\":\"secondsecond", 18) == 0);
    ck_assert_str_eq(got.data + got.len - 8, "second\"}");
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    ck_assert_int_eq(mcplug_result_write(result, len + 1, 1, keep, NULL, &err),
                     MCPLUG_EINVAL);
}
END_TEST

START_TEST(a_string_is_unescaped_wherever_it_is_kept)
{
    struct mp_str expected;
    mp_str_init(&expected, 1 << 26);
    mp_str_adds(&text, "[\"a\\\"b\\\\\\u20ac\",");
    add_long("\\n\\ud83d\\ude00", 40000);
    mp_str_adds(&text, ",\"\"]");
    read_result();
    size_t len, at[3], i = 0;
    const char *json = mcplug_result_json(result, &len);
    struct mp_walk w = mp_walk_into(mp_bytes(json, len));
    mp_view item;
    while (mp_walk_element(&w, &item))
        at[i++] = (size_t)((const char *)item.data - json);
    ck_assert_uint_eq(i, 3);
    ck_assert_int_eq(mcplug_result_write_string(result, at[0], keep, NULL, NULL), 0);
    ck_assert_str_eq(got.data, "a\"b\\\xe2\x82\xac");
    mp_str_reset(&got);
    ck_assert_int_eq(mcplug_result_write_string(result, at[1], keep, NULL, NULL), 0);
    for (i = 0; i < 40000; i++)
        mp_str_adds(&expected, "\n\xf0\x9f\x98\x80");
    has(&expected);
    mp_str_reset(&got);
    ck_assert_int_eq(mcplug_result_write_string(result, at[2], keep, NULL, NULL), 0);
    ck_assert_uint_eq(got.len, 0);
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    ck_assert_int_eq(mcplug_result_write_string(result, 0, keep, NULL, &err),
                     MCPLUG_EINVAL);
    ck_assert_int_eq(mcplug_result_write_string(result, len, keep, NULL, &err),
                     MCPLUG_EINVAL);
    mp_str_clear(&expected);
}
END_TEST

static int refuse(void *arg, const char *data, size_t len)
{
    (void)data, (void)len;
    ++*(int *)arg;
    return 0;
}

START_TEST(who_wants_no_more_gets_no_more)
{
    int pieces = 0;
    mp_str_adds(&text, "{\"a\":");
    add_long("\\n", 200000);
    mp_str_adds(&text, "}");
    read_result();
    ck_assert_uint_eq(mcplug_result_spills(result), 1);
    ck_assert_int_eq(mcplug_result_write(result, 0, SIZE_MAX, refuse, &pieces, NULL), 0);
    ck_assert_int_eq(pieces, 1);
    ck_assert_int_eq(mcplug_result_write_string(result, 5, refuse, &pieces, NULL), 0);
    ck_assert_int_eq(pieces, 2);
}
END_TEST

static int keep_whole(void *arg, const char *data, size_t len)
{
    bool ok = keep(arg, data, len);
    char *piece = strndup(data, len);
    ck_assert_msg(mp_is_utf8(piece), "a piece of %zu bytes ends inside a character", len);
    free(piece);
    return ok;
}

START_TEST(no_character_is_torn)
{
    for (size_t lead = 0; lead < 4; lead++) {
        teardown();
        setup();
        mp_str_adds(&text, "{\"a\":\"");
        for (size_t i = 0; i < lead; i++)
            mp_str_addc(&text, 'x');
        for (size_t i = 0; i < 40000; i++)
            mp_str_adds(&text, "\xe2\x82\xac\xf0\x9f\x98\x80");
        mp_str_adds(&text, "\"}");
        read_result();
        ck_assert_uint_eq(mcplug_result_spills(result), 1);
        ck_assert_int_eq(mcplug_result_write(result, 0, SIZE_MAX, keep_whole, NULL, NULL),
                         0);
        has(&text);
    }
}
END_TEST

START_TEST(blocks_are_written_whole_wherever_they_are_kept)
{
    struct mcplug_block block = {.struct_size = sizeof block};
    mp_view part;

    mp_str_adds(&text, "{\"content\":[{\"type\":\"text\",\"text\":");
    add_long("a\\n\xe2\x82\xac", 50000);
    mp_str_adds(&text, "},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":");
    add_long("AAEC", 50000);
    mp_str_adds(&text, "},{\"type\":\"new\",\"is\":");
    add_long("\\u0001", 50000);
    mp_str_adds(&text, "}]}");
    read_result();
    ck_assert_uint_eq(mcplug_result_spills(result), 3);
    ck_assert_int_eq(mcplug_result_answer(result, &part), MCPLUG_ANSWER_BLOCKS);

    ck_assert(mcplug_block_next(&part, &block));
    ck_assert_int_eq(mcplug_block_write(result, &block, keep, NULL, NULL), 0);
    ck_assert_uint_eq(got.len, 5 * 50000);
    ck_assert_str_eq(got.data + got.len - 5, "a\n\xe2\x82\xac");

    mp_str_reset(&got);
    ck_assert(mcplug_block_next(&part, &block));
    ck_assert_int_eq(mcplug_block_write(result, &block, keep, NULL, NULL), 0);
    ck_assert_str_eq(got.data, "[image/png, 150000 bytes]");
    mp_str_reset(&got);
    ck_assert_int_eq(mcplug_block_write_data(result, &block, keep, NULL, NULL), 0);
    ck_assert_uint_eq(got.len, 150000);
    ck_assert_mem_eq(got.data + got.len - 3, "\0\1\2", 3);

    mp_str_reset(&got);
    ck_assert(mcplug_block_next(&part, &block));
    ck_assert_int_eq(mcplug_block_write(result, &block, keep, NULL, NULL), 0);
    ck_assert_uint_eq(got.len, strlen("{\"type\":\"new\",\"is\":\"\"}") + 6 * 50000);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_result_is_written_whole_as_it_came);
    tcase_add_test(tc, a_result_is_read_whole_in_pieces_of_any_size);
    tcase_add_test(tc, a_result_without_spills_is_read_like_any_other);
    tcase_add_test(tc, a_cursor_that_is_nowhere_is_refused);
    tcase_add_test(tc, a_spill_and_a_cursor_of_the_first_release_are_taken);
    tcase_add_test(tc, a_part_is_written_without_its_neighbours);
    tcase_add_test(tc, a_string_is_unescaped_wherever_it_is_kept);
    tcase_add_test(tc, who_wants_no_more_gets_no_more);
    tcase_add_test(tc, no_character_is_torn);
    tcase_add_test(tc, blocks_are_written_whole_wherever_they_are_kept);
}

int main(void)
{
    return run_suite("content_write", add);
}
