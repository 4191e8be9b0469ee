#include "fake.h"

#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *hex_of(const void *data, size_t len, size_t step)
{
    static char hex[MP_SHA256_HEX + 1];
    unsigned char digest[MP_SHA256_BYTES];
    struct mp_sha256 sha;

    mp_sha256_init(&sha);
    for (size_t at = 0; at < len; at += step)
        mp_sha256_add(&sha, (const char *)data + at, len - at < step ? len - at : step);
    mp_sha256_end(&sha, digest);
    mp_sha256_hex(digest, hex);
    return hex;
}

/* FIPS 180-2, appendix B, and the NIST examples of one and two blocks. */
START_TEST(the_examples_of_the_standard_come_out)
{
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char four[] = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                               "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    char *million = malloc(1000000);

    ck_assert_str_eq(hex_of("", 0, 1),
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    ck_assert_str_eq(hex_of("abc", 3, 3),
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    ck_assert_str_eq(hex_of(two, sizeof two - 1, 64),
                     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    ck_assert_str_eq(hex_of(four, sizeof four - 1, 64),
                     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    memset(million, 'a', 1000000);
    ck_assert_str_eq(hex_of(million, 1000000, 4093),
                     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}
END_TEST

/* Lengths around the one where the padding needs a block of its own. These and the next
 * were made with sha256sum. */
START_TEST(every_way_to_pad_is_right)
{
    static const struct {
        size_t len;
        const char *hex;
    } cases[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
    };
    char text[128];

    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < MP_COUNT(cases); i++)
        ck_assert_str_eq(hex_of(text, cases[i].len, 64), cases[i].hex);
}
END_TEST

START_TEST(pieces_of_any_size_come_to_the_same)
{
    unsigned char data[300];
    char whole[MP_SHA256_HEX + 1];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)i;
    strcpy(whole, hex_of(data, sizeof data, sizeof data));
    for (size_t step = 1; step < sizeof data; step++)
        ck_assert_str_eq(hex_of(data, sizeof data, step), whole);
}
END_TEST

START_TEST(a_file_is_hashed_and_what_is_none_gives_an_errno)
{
    unsigned char digest[MP_SHA256_BYTES] = {7};
    char hex[MP_SHA256_HEX + 1], path[] = "/tmp/sha256-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "abc", 3), 3);
    close(fd);
    ck_assert_int_eq(mp_sha256_file("/nonexistent", digest), ENOENT);
    ck_assert_int_eq(mp_sha256_file("/tmp", digest), EINVAL);
    ck_assert_uint_eq(digest[0], 7);
    ck_assert_int_eq(mp_sha256_file(path, digest), 0);
    mp_sha256_hex(digest, hex);
    ck_assert_str_eq(hex,
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    unlink(path);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_test(tc, the_examples_of_the_standard_come_out);
    tcase_add_test(tc, every_way_to_pad_is_right);
    tcase_add_test(tc, pieces_of_any_size_come_to_the_same);
    tcase_add_test(tc, a_file_is_hashed_and_what_is_none_gives_an_errno);
}

int main(void)
{
    return run_suite("base_sha256", add);
}
