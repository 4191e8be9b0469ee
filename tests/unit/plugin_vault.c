/* Secrets that modules keep. */
#include "helpers/check/kit.h"
#include "base/buf.h"
#include "plugin/props.h"

#include "plugin_modules.h"

static struct mp_str secret;

static void vault_setup(void)
{
    catalogue_setup();
    place("vault.so", "table.so");
    mp_str_init(&secret, 1 << 20);
    mp_str_adds(&secret, "Bearer ");
}

static void vault_teardown(void)
{
    mp_str_clear(&secret);
    catalogue_teardown();
}

static int get_from(const char *vault, const char *name, struct mp_str *out)
{
    const struct mp_offer *offer = NULL;
    err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    int r = mp_catalogue_find(cat, MCPLUG_VAULT, vault, &offer, &err);
    return r == MCPLUG_OK ? mp_vault_ask(offer, NULL, name, out, &err) : r;
}

static int get(const char *name)
{
    return get_from("table", name, &secret);
}

static const struct {
    const char *name, *text;
} good[] = {
    {"token", "s3cret"},     {"umlaut", "\xc3\xbc"}, {"with newline", "line"},
    {"with return", "line"}, {"empty", ""},
};

START_TEST(a_secret_is_added_to_what_is_there_without_its_newline)
{
    ck_assert_msg(get(good[_i].name) == MCPLUG_OK, "%s", err.text);
    ck_assert_int_eq(strncmp(secret.data, "Bearer ", 7), 0);
    ck_assert_str_eq(secret.data + 7, good[_i].text);
}
END_TEST

START_TEST(a_vault_that_takes_settings_gets_them)
{
    const struct mp_offer *offer = NULL;
    mcplug_props *settings = mp_props_new();
    ck_assert_int_eq(mp_catalogue_find(cat, MCPLUG_VAULT, "table", &offer, &err), 0);
    ck_assert(!mp_vault_takes_settings(offer));
    ck_assert_int_eq(mp_catalogue_find(cat, MCPLUG_VAULT, "desk", &offer, &err), 0);
    ck_assert(mp_vault_takes_settings(offer));
    mp_props_set(settings, "drawer", "left");
    ck_assert_int_eq(mp_props_check(settings, offer->feature.options, "v", &err), 0);
    ck_assert_int_eq(mp_vault_ask(offer, settings, "key", &secret, &err), MCPLUG_OK);
    ck_assert_str_eq(secret.data, "Bearer left-1-key");
    mp_props_set(settings, "drawer", "locked");
    ck_assert_int_eq(mp_vault_ask(offer, settings, "key", &secret, &err),
                     MCPLUG_EREFUSED);
    ck_assert_str_eq(err.text, "drawer: it is locked");
    mp_props_free(settings);
}
END_TEST

static const struct {
    const char *name;
    int code;
    const char *message;
} bad[] = {
    {"absent", MCPLUG_EREFUSED, "table: there is no \"absent\""},
    {"silent", MCPLUG_EREFUSED, "table: no secret \"silent\": EREFUSED"},
    {"strange", MCPLUG_EINVAL, "the vault \"table\" returned the unknown code 7"},
    {"nothing", MCPLUG_EINVAL, "the vault \"table\" returned no secret"},
    {"two lines", MCPLUG_ECONFIG,
     "table: the secret \"two lines\" is not one line of UTF-8 text"},
    {"two newlines", MCPLUG_ECONFIG,
     "table: the secret \"two newlines\" is not one line of UTF-8 text"},
    {"nul", MCPLUG_ECONFIG, "table: the secret \"nul\" is not one line of UTF-8 text"},
    {"latin", MCPLUG_ECONFIG,
     "table: the secret \"latin\" is not one line of UTF-8 text"},
    {"longer", MCPLUG_ETOOBIG, "table: the secret \"longer\" has more than 65536 bytes"},
    {"", MCPLUG_ECONFIG,
     "table: the name of a secret is one line of UTF-8 with 1 to 256 bytes"},
    {"a\nb", MCPLUG_ECONFIG,
     "table: the name of a secret is one line of UTF-8 with 1 to 256 bytes"},
    {"\xfc", MCPLUG_ECONFIG,
     "table: the name of a secret is one line of UTF-8 with 1 to 256 bytes"},
};

START_TEST(what_is_no_secret_is_refused_in_one_line_and_adds_nothing)
{
    ck_assert_int_eq(get(bad[_i].name), bad[_i].code);
    ck_assert_int_eq(err.code, bad[_i].code);
    ck_assert_str_eq(err.text, bad[_i].message);
    ck_assert_str_eq(secret.data, "Bearer ");
}
END_TEST

START_TEST(a_secret_may_be_as_long_as_the_limit)
{
    ck_assert_msg(get("as long as may be") == MCPLUG_OK, "%s", err.text);
    ck_assert_uint_eq(secret.len, 7 + MP_VAULT_MAX);
}
END_TEST

START_TEST(a_name_may_be_as_long_as_the_limit_and_no_longer)
{
    char name[MP_VAULT_NAME_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(get(name), MCPLUG_ECONFIG);
    name[MP_VAULT_NAME_MAX] = '\0';
    ck_assert_int_eq(get(name), MCPLUG_EREFUSED);
}
END_TEST

START_TEST(a_secret_without_room_is_too_big)
{
    struct mp_str small;
    mp_str_init(&small, 5);
    ck_assert_int_eq(get_from("table", "token", &small), MCPLUG_ETOOBIG);
    ck_assert_str_eq(err.text, "table: out of memory for the secret \"token\"");
    mp_str_clear(&small);
}
END_TEST

/* What the module gave, held so that it can be looked at afterwards. */
static mcplug_buf *given;

static mcplug_buf *watched_new(const void *data, size_t len)
{
    mp_buf_unref(given);
    given = mp_buf_new(data, len);
    return mp_buf_ref(given);
}

START_TEST(the_buffer_is_overwritten_after_use)
{
    static struct mcplug_mem mem = {.struct_size = sizeof mem};
    struct mp_catalogue_options options = {
        .loop = loop,
        .dirs = (const char *const[]){own_dir, NULL},
        .wire = &wire,
        .mem = &mem,
    };
    mem.alloc = mp_alloc;
    mem.resize = mp_resize;
    mem.free = mp_free;
    mem.buf_new = watched_new;
    mem.buf_ref = mp_buf_ref;
    mem.buf_unref = mp_buf_unref;
    mem.buf_bytes = mp_buf_bytes;
    mp_catalogue_free(cat);
    cat = mp_catalogue_new(&options, &err);
    ck_assert_int_eq(get("token"), MCPLUG_OK);
    ck_assert_str_eq(secret.data, "Bearer s3cret");
    ck_assert_int_eq(memcmp(mp_buf_bytes(given).data, "\0\0\0\0\0\0", 6), 0);
    ck_assert_int_eq(get("latin"), MCPLUG_ECONFIG);
    ck_assert_uint_eq(mp_buf_bytes(given).data[0], 0);
    mp_buf_unref(given);
    given = NULL;
}
END_TEST

START_TEST(the_vault_of_ours_that_is_missing_is_named_with_its_package)
{
    const struct mp_offer *offer = NULL;
    if (mp_catalogue_find(cat, MCPLUG_VAULT, "keyring", &offer, &err) != MCPLUG_OK) {
        ck_assert_int_eq(get_from("keyring", "x", &secret), MCPLUG_ENOTSUP);
        ck_assert_ptr_nonnull(strstr(err.text,
                                     "no module offers the vault \"keyring\": it comes "
                                     "with the package mcplug-keyring"));
    } /* else it is installed, or compiled in */
    ck_assert_int_eq(get_from("tabel", "x", &secret), MCPLUG_ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, "did you mean \"table\"?"));
    ck_assert_ptr_null(find("table"));
}
END_TEST

static char findings[16][512];
static size_t n_findings;

static void on_finding(void *arg, bool passed, const char *line)
{
    (void)arg;
    ck_assert_uint_lt(n_findings, MP_COUNT(findings));
    snprintf(findings[n_findings++], sizeof findings[0], "%s %.480s",
             passed ? "ok" : "FAILED", line);
}

START_TEST(the_kit_asks_no_vault_and_warns_of_what_nobody_reads)
{
    const struct mp_kit_report report = {.finding = on_finding};
    const char *file = place("vault.so", "x.so");
    n_findings = 0;
    ck_assert_int_eq(mp_plugin_contract(file, NULL, NULL, &report, &err), 0);
    static const char *const expected[] = {
        "ok loads as \"vault\" 1.0",
        "ok warning: vault \"choosy\": `accepts` of a vault is ignored",
        "ok warning: vault \"deaf\": its options are ignored, because it has no "
        "get_with()",
        "ok descriptor: complete",
        "ok exports nothing but mcplug_plugin_1",
        "ok init() works again after fini()",
        "ok vault \"table\": not called, because it may prompt the user; pass -- SECRET",
        "ok vault \"choosy\": not called, because it may prompt the user; pass -- SECRET",
        "ok vault \"desk\": not called, because it may prompt the user; pass -- SECRET",
        "ok vault \"deaf\": not called, because it may prompt the user; pass -- SECRET",
    };
    ck_assert_uint_eq(n_findings, MP_COUNT(expected));
    for (size_t i = 0; i < n_findings; i++)
        ck_assert_str_eq(findings[i], expected[i]);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("plugin_vault");
    TCase *tc = tcase_create("vault");
    tcase_add_checked_fixture(tc, vault_setup, vault_teardown);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_vault_that_takes_settings_gets_them);
    tcase_add_loop_test(tc, a_secret_is_added_to_what_is_there_without_its_newline, 0,
                        MP_COUNT(good));
    tcase_add_loop_test(tc, what_is_no_secret_is_refused_in_one_line_and_adds_nothing, 0,
                        MP_COUNT(bad));
    tcase_add_test(tc, a_secret_may_be_as_long_as_the_limit);
    tcase_add_test(tc, a_name_may_be_as_long_as_the_limit_and_no_longer);
    tcase_add_test(tc, a_secret_without_room_is_too_big);
    tcase_add_test(tc, the_buffer_is_overwritten_after_use);
    tcase_add_test(tc, the_vault_of_ours_that_is_missing_is_named_with_its_package);
    tcase_add_test(tc, the_kit_asks_no_vault_and_warns_of_what_nobody_reads);
    return suite;
}

int main(int argc, char **argv)
{
    return modules_find(argc, argv) ? run_to_end(make_suite()) : TEST_SKIP;
}
