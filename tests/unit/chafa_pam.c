/* The reader of PAM in the module chafa. */
#include "../../plugins/chafa/pam.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>

static const struct mcplug_diag diag = {.struct_size = sizeof diag, .fail = mp_fail};
static struct mcplug_error err;
static struct pam pam;

static int read_bytes(const void *bytes, size_t len)
{
    /* exactly as long, so that a sanitizer sees a read beyond it */
    unsigned char *copy = malloc(len ? len : 1);
    struct mcplug_bytes in = {copy, len};

    if (len)
        memcpy(copy, bytes, len);
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    pam = (struct pam){0};
    int r = pam_read(&diag, in, &pam, &err);
    if (r == MCPLUG_OK) {
        ck_assert(pam.pixels >= copy && pam.pixels <= copy + len);
        ck_assert_uint_le((size_t)pam.width * pam.height * pam.depth,
                          (size_t)(copy + len - pam.pixels));
    } else {
        ck_assert(err.text[0]);
    }
    free(copy);
    return r;
}

#define READ(literal) read_bytes(literal, sizeof(literal) - 1)
#define HEAD "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\n"

START_TEST(a_header_may_have_comments_blanks_and_any_order)
{
    ck_assert_int_eq(READ(HEAD "ENDHDR\nabcdef"), MCPLUG_OK);
    ck_assert_uint_eq(pam.width, 2);
    ck_assert_uint_eq(pam.height, 1);
    ck_assert_uint_eq(pam.depth, 3);
    ck_assert_int_eq(
        READ("P7\n# of me\n\nMAXVAL 255\r\n  DEPTH\t4 \nTUPLTYPE  RGB_ALPHA\n"
             "HEIGHT 1\nWIDTH 0000001\nENDHDR\nabcdand more"),
        MCPLUG_OK);
    ck_assert_uint_eq(pam.depth, 4);
}
END_TEST

static const struct {
    const char *text;
    int code;
    const char *why;
} wrong[] = {
    {"", MCPLUG_EPROTO, "it is not a PAM"},
    {"P7", MCPLUG_EPROTO, "it is not a PAM"},
    {"P6\n2 1\n255\nabcdef", MCPLUG_EPROTO, "it is not a PAM"},
    {"P7\n", MCPLUG_EPROTO, "the PAM is truncated"},
    {HEAD "ENDHDR", MCPLUG_EPROTO, "the PAM is truncated"},
    {HEAD "ENDHDR\nabcde", MCPLUG_EPROTO, "the PAM is truncated"},
    {"P7\nWIDTH 2\nENDHDR\n", MCPLUG_EPROTO, "the PAM has no HEIGHT"},
    {HEAD "WIDTH 2\nENDHDR\nabcdef", MCPLUG_EPROTO, "the PAM has two WIDTH"},
    {HEAD "TUPLTYPE RGB\nTUPLTYPE RGB\nENDHDR\nabcdef", MCPLUG_EPROTO,
     "the PAM has two TUPLTYPE"},
    {HEAD "COLOUR 2\nENDHDR\nabcdef", MCPLUG_EPROTO,
     "the PAM has an unknown line in its header"},
    {"P7\nWIDTH 0\n", MCPLUG_EPROTO, "the WIDTH of the PAM is not a number from 1"},
    {"P7\nWIDTH -2\n", MCPLUG_EPROTO, "the WIDTH of the PAM is not a number from 1"},
    {"P7\nWIDTH\n", MCPLUG_EPROTO, "the WIDTH of the PAM is not a number from 1"},
    {"P7\nWIDTH 2 2\n", MCPLUG_EPROTO, "the WIDTH of the PAM is not a number from 1"},
    {"P7\nHEIGHT 4294967297\n", MCPLUG_EPROTO,
     "the HEIGHT of the PAM is not a number from 1"},
    {"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\nab", MCPLUG_ENOTSUP,
     "its depth is 1; 3 and 4 are known"},
    {"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 65535\nENDHDR\n", MCPLUG_ENOTSUP,
     "its samples go up to 65535; 255 is what is known"},
    {HEAD "TUPLTYPE RGB_ALPHA\nENDHDR\nabcdef", MCPLUG_ENOTSUP,
     "its TUPLTYPE is not RGB"},
    {"P7\nWIDTH 4097\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nENDHDR\n", MCPLUG_ETOOBIG,
     "it is 4097 x 1 pixels; 4096 a side are allowed"},
    {"P7\nWIDTH 999999999\nHEIGHT 999999999\nDEPTH 4\nMAXVAL 255\nENDHDR\n",
     MCPLUG_ETOOBIG, "it is 999999999 x 999999999 pixels; 4096 a side are allowed"},
};

START_TEST(what_is_wrong_with_a_header_is_named)
{
    ck_assert_int_eq(read_bytes(wrong[_i].text, strlen(wrong[_i].text)), wrong[_i].code);
    ck_assert_str_eq(err.text, wrong[_i].why);
}
END_TEST

START_TEST(every_shorter_part_of_a_pam_is_an_error)
{
    static const char whole[] = HEAD "TUPLTYPE RGB\nENDHDR\nabcdef";
    for (size_t len = 0; len < sizeof whole - 1; len++)
        ck_assert_int_eq(read_bytes(whole, len), MCPLUG_EPROTO);
    ck_assert_int_eq(read_bytes(whole, sizeof whole - 1), MCPLUG_OK);
}
END_TEST

/* With a comment that makes the header `len` bytes long. */
static int read_long(size_t len)
{
    static const char tail[] = "\n"
                               "WIDTH 1\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nENDHDR\n";
    struct mp_str text;

    mp_str_init(&text, 65536);
    mp_str_adds(&text, "P7\n#");
    while (text.len + sizeof tail - 1 < len)
        mp_str_addc(&text, 'x');
    mp_str_adds(&text, tail);
    ck_assert_uint_eq(text.len, len);
    mp_str_adds(&text, "abc");
    int r = read_bytes(text.data, text.len);
    mp_str_clear(&text);
    return r;
}

START_TEST(a_header_is_bounded)
{
    ck_assert_int_eq(read_long(PAM_HEADER), MCPLUG_OK);
    ck_assert_int_eq(read_long(PAM_HEADER + 1), MCPLUG_EPROTO);
    ck_assert_str_eq(err.text, "the header of the PAM has more than 4096 bytes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chafa_pam");
    TCase *tc = tcase_create("pam");
    tcase_add_test(tc, a_header_may_have_comments_blanks_and_any_order);
    tcase_add_loop_test(tc, what_is_wrong_with_a_header_is_named, 0, MP_COUNT(wrong));
    tcase_add_test(tc, every_shorter_part_of_a_pam_is_an_error);
    tcase_add_test(tc, a_header_is_bounded);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}
