/* Images that are too large for models, and the converter that makes them smaller: I1, I2
 * and O5 as the core sees them. The module shrink.c does what the image says. */
#include "suite.h"

#include "../../plugins/common/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "content/content.h"
#include "convert/convert.h"
#include "plugin_modules.h"
#include "quick.h"
#include "rpc/message.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static struct mp_loop *loop;
static struct mp_catalogue *catalogue;
static struct mp_converters *converters;
static struct mp_store *store;
static struct mp_content_rules rules;
static mcplug_rendering *got;
static struct mcplug_error err;

static void use(const char *modules, const char *settings)
{
    const char *dirs[] = {modules, NULL};
    struct mp_catalogue_options o = {.loop = loop, .dirs = dirs};

    mp_converters_free(converters);
    mp_catalogue_free(catalogue);
    unsetenv("MCPLUG_PLUGIN_PATH"); /* which has the real ones */
    catalogue = mp_catalogue_new(&o, &err);
    ck_assert_msg(catalogue != NULL, "%s", err.text);
    converters = mp_converters_new(catalogue, loop, settings, &err);
    ck_assert_msg(converters != NULL, "%s", err.text);
    mp_converters_ready(converters);
    rules.converters = converters;
}

static void setup(void)
{
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    snprintf(dir, sizeof dir, "/tmp/content_fit.%d", (int)getpid());
    store = mp_store_new(dir, 0, 0);
    rules = (struct mp_content_rules){
        .max_tokens = 25000, .server = "srv", .tool = "t", .store = store};
    loop = mp_loop_new(&err);
    catalogue = NULL;
    converters = NULL;
    got = NULL;
    own_dir_make();
    place("shrink.so", "shrink.so");
    use(own_dir, NULL);
}

static int remove_stored(void *arg, const struct mcplug_stored *one)
{
    (void)arg;
    return unlink(one->path) == 0;
}

static void teardown(void)
{
    mcplug_rendering_unref(got);
    mcplug_stored_each(dir, remove_stored, NULL, NULL);
    rmdir(dir);
    mp_store_free(store);
    mp_converters_free(converters);
    mp_catalogue_free(catalogue);
    mp_loop_free(loop);
    own_dir_remove();
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- images ---- */

static void add_image(struct mp_str *out, const char *mime, uint32_t width,
                      uint32_t height, const char *what, size_t size)
{
    unsigned char *p = mp_alloc(size < 64 ? 64 : size);
    char *base64 = mp_alloc(2 * (size < 64 ? 64 : size));
    size_t len = 24 + strlen(what);

    memcpy(p, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    for (int i = 0; i < 4; i++) {
        p[16 + i] = (unsigned char)(width >> (24 - 8 * i));
        p[20 + i] = (unsigned char)(height >> (24 - 8 * i));
    }
    memcpy(p + 24, what, strlen(what));
    if (strcmp(mime, "image/png") != 0)
        p[0] = 'x';
    len = size > len ? size : len;
    mp_str_addf(out, "{\"type\":\"image\",\"mimeType\":\"%s\",\"data\":\"", mime);
    mp_str_add(out, base64, base64_encode(p, len, base64));
    mp_str_adds(out, "\"}");
    mp_free(base64);
    mp_free(p);
}

static int make(struct mp_str *content)
{
    struct mp_str json;

    mp_str_init(&json, (size_t)128 << 20);
    mp_str_addf(&json, "{\"content\":[%s]}", content->data);
    ck_assert(!json.failed);
    mp_message *m = mp_message_new(json.data, json.len, NULL);
    mp_message_expose(m, (struct mp_span){0, json.len});
    mcplug_rendering_unref(got);
    got = NULL;
    int r = mp_content_make(m, &rules, &got, &err);
    mp_message_unref(m);
    mp_str_clear(&json);
    mp_str_clear(content);
    return r;
}

static struct mcplug_part part(size_t i)
{
    struct mcplug_part p = {.struct_size = sizeof p};
    ck_assert_msg(mcplug_rendering_part(got, i, &p), "no part %zu", i);
    return p;
}

static struct mcplug_part part_of(const char *mime, uint32_t width, uint32_t height,
                                  const char *what, size_t size)
{
    struct mp_str content;

    mp_str_init(&content, (size_t)128 << 20);
    add_image(&content, mime, width, height, what, size);
    ck_assert_msg(make(&content) == MCPLUG_OK, "%s", err.text);
    return part(0);
}

static void assert_image(struct mcplug_part p, uint32_t width)
{
    ck_assert_msg(p.kind == MCPLUG_PART_IMAGE, "%s", p.text);
    ck_assert_str_eq(p.mime, "image/png");
    ck_assert_uint_eq(p.width, width);
}

static void assert_note(struct mcplug_part p, const char *words)
{
    ck_assert_int_eq(p.kind, MCPLUG_PART_TEXT);
    ck_assert_msg(strstr(p.text, words), "%s", p.text);
}

/* ---- what becomes of them ---- */

START_TEST(an_image_within_the_limits_stays_as_it_is)
{
    assert_image(part_of("image/png", 2000, 2000, "crash", 0), 2000);
    assert_image(part_of("image/png", 20, 20, "crash", 3932160), 20);
    ck_assert_uint_eq(mp_converters_workers(converters), 0);
}
END_TEST

START_TEST(an_image_of_too_many_pixels_or_bytes_is_made_smaller)
{
    assert_image(part_of("image/png", 2001, 10, "", 0), 2000);
    assert_image(part_of("image/png", 10, 2001, "", 0), 2000);
    assert_image(part_of("image/png", 20, 20, "", 3932161), 2000);
    assert_image(part_of("image/png", 20, 20, "fill", (is_slow() ? 5 : 20) << 20), 2000);
    ck_assert_uint_eq(part(0).len, 3932160 / 3 * 4);
    ck_assert_uint_eq(mp_converters_workers(converters), 1);
}
END_TEST

START_TEST(the_side_is_a_setting)
{
    use(own_dir, "{\"image\": {\"maxSide\": 4000}}");
    assert_image(part_of("image/png", 4000, 10, "crash", 0), 4000);
    use(own_dir, "{\"image\": {\"maxSide\": 0}}");
    assert_image(part_of("image/png", 60000, 10, "crash", 0), 60000);
    use(own_dir, "{\"image\": {\"maxSide\": 500}}");
    assert_image(part_of("image/png", 600, 10, "", 0), 500);
}
END_TEST

static const struct {
    const char *what, *words;
} failures[] = {
    {"refuse", "models take 2000 a side, and the PNG is broken"},
    {"crash", "and the converter was ended by signal 4"},
    {"nomem", "and out of memory"},
    {"wide", "and the converter made no such image"},
    {"garbage", "and the converter made no such image"},
};

START_TEST(what_cannot_be_made_smaller_is_named_and_saved)
{
    struct mcplug_part p = part_of("image/png", 3000, 20, failures[_i].what, 0);

    assert_note(p, "Not shown: it is 3000 x 20 pixels");
    assert_note(p, failures[_i].words);
    assert_note(p, "\nSaved to ");
    assert_image(part_of("image/png", 3000, 20, "", 0), 2000);
}
END_TEST

START_TEST(without_a_converter_the_reason_is_given)
{
    use("/nowhere", NULL);
    assert_note(part_of("image/png", 3000, 20, "", 0), "no module offers a converter");
    assert_image(part_of("image/png", 300, 20, "", 0), 300);
    rules.converters = NULL;
    assert_note(part_of("image/png", 3000, 20, "", 0), "models take 2000 a side.");
}
END_TEST

START_TEST(an_image_of_another_type_may_have_a_converter)
{
    assert_image(part_of("image/x-test", 10, 10, "", 0), 2000);
    assert_note(part_of("image/x-other", 10, 10, "", 0),
                "[Unsupported image type: image/x-other]");
    assert_note(part_of("image/x-test", 10, 10, "refuse", 0),
                "[Unsupported image type: image/x-test]");
}
END_TEST

START_TEST(a_conversion_ends_when_it_is_cancelled)
{
    atomic_bool cancelled = true;

    rules.cancelled = &cancelled;
    assert_note(part_of("image/png", 3000, 20, "hang", 0), "cancelled");
}
END_TEST

/* ---- a limit, and no files ---- */

static void add_text(struct mp_str *out, size_t chars)
{
    mp_str_adds(out, "{\"type\":\"text\",\"text\":\"");
    for (size_t i = 0; i < chars / 4; i++)
        mp_str_adds(out, "a 1 ");
    mp_str_adds(out, "\"},");
}

START_TEST(an_image_for_which_little_is_left_is_shrunk_to_that)
{
    struct mp_str content;

    rules.store = NULL;
    rules.max_tokens = 4000; /* 16000 characters */
    mp_str_init(&content, (size_t)16 << 20);
    add_text(&content, 12000);
    add_image(&content, "image/png", 100, 100, "fill", 30000);
    ck_assert_int_eq(make(&content), MCPLUG_OK);
    assert_image(part(1), 2000);
    ck_assert_uint_eq(part(1).len, 4000); /* 3000 bytes */
    assert_note(part(2), "[OUTPUT TRUNCATED - exceeded 4000 token limit]");
}
END_TEST

START_TEST(an_image_that_cannot_be_shrunk_is_left_out_and_others_come)
{
    struct mp_str content;

    rules.store = NULL;
    rules.max_tokens = 4000;
    mp_str_init(&content, (size_t)16 << 20);
    add_text(&content, 12000);
    add_image(&content, "image/png", 100, 100, "refuse", 30000);
    mp_str_addc(&content, ',');
    add_image(&content, "image/png", 100, 100, "fill", 30000);
    ck_assert_int_eq(make(&content), MCPLUG_OK);
    assert_image(part(1), 2000);
    assert_note(part(2), "[OUTPUT TRUNCATED");
}
END_TEST

START_TEST(an_image_that_has_its_tokens_left_stays_as_it_is)
{
    struct mp_str content;

    rules.store = NULL;
    rules.max_tokens = 4000;
    mp_str_init(&content, (size_t)16 << 20);
    add_text(&content, 9600);
    add_image(&content, "image/png", 100, 100, "crash", 30000);
    mp_str_addc(&content, ',');
    add_text(&content, 9600);
    content.data[--content.len] = '\0';
    ck_assert_int_eq(make(&content), MCPLUG_OK);
    assert_image(part(1), 100);
    ck_assert_uint_eq(part(1).len, 40000);
    ck_assert_uint_eq(mp_converters_workers(converters), 0);
}
END_TEST

int main(int argc, char **argv)
{
    if (!modules_find(argc, argv))
        return TEST_SKIP;

    Suite *s = suite_create("content_fit");
    TCase *t = tcase_create("fit");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, an_image_within_the_limits_stays_as_it_is);
    tcase_add_test(t, an_image_of_too_many_pixels_or_bytes_is_made_smaller);
    tcase_add_test(t, the_side_is_a_setting);
    tcase_add_loop_test(t, what_cannot_be_made_smaller_is_named_and_saved, 0,
                        MP_COUNT(failures));
    tcase_add_test(t, without_a_converter_the_reason_is_given);
    tcase_add_test(t, an_image_of_another_type_may_have_a_converter);
    tcase_add_test(t, a_conversion_ends_when_it_is_cancelled);
    tcase_add_test(t, an_image_for_which_little_is_left_is_shrunk_to_that);
    tcase_add_test(t, an_image_that_cannot_be_shrunk_is_left_out_and_others_come);
    tcase_add_test(t, an_image_that_has_its_tokens_left_stays_as_it_is);
    suite_add_tcase(s, t);
    return run_to_end(s);
}
