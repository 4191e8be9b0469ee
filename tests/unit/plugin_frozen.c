/* Modules of every minor of the ABI that was ever frozen, tests/modules/abi-1.N, load and
 * work. What a struct had then is where it was, which the compiler checks: what is new
 * comes behind what was there, also behind its padding, or struct_size would lie. */
#include "base/buf.h"
#include "plugin_modules.h"

#include <mcplug/mcplug.h>

/* ---- what each minor has ---- */

/* clang-format off */
#define STRUCTS_0(S) \
    S(mcplug_bytes) S(mcplug_pair) S(mcplug_error) S(mcplug_mem) S(mcplug_diag) \
    S(mcplug_loop) S(mcplug_wire) S(mcplug_target) S(mcplug_health) S(mcplug_host) \
    S(mcplug_envelope) S(mcplug_transport_ops) S(mcplug_probe_ops) S(mcplug_content) \
    S(mcplug_limits) S(mcplug_task) S(mcplug_converter_ops) S(mcplug_option) \
    S(mcplug_feature) S(mcplug_plugin)
#define MEMBERS_0(M) \
    M(mcplug_bytes, data) M(mcplug_bytes, len) \
    M(mcplug_pair, name) M(mcplug_pair, value) \
    M(mcplug_error, struct_size) M(mcplug_error, code) M(mcplug_error, os_error) \
    M(mcplug_error, peer_status) M(mcplug_error, text) \
    M(mcplug_mem, struct_size) M(mcplug_mem, alloc) M(mcplug_mem, resize) \
    M(mcplug_mem, free) M(mcplug_mem, buf_new) M(mcplug_mem, buf_ref) \
    M(mcplug_mem, buf_unref) M(mcplug_mem, buf_bytes) \
    M(mcplug_diag, struct_size) M(mcplug_diag, log) M(mcplug_diag, fail) \
    M(mcplug_diag, prop) M(mcplug_diag, prop_int) M(mcplug_diag, prop_list) \
    M(mcplug_loop, struct_size) M(mcplug_loop, post) M(mcplug_loop, timer_start) \
    M(mcplug_loop, timer_stop) M(mcplug_loop, watch_start) M(mcplug_loop, watch_update) \
    M(mcplug_loop, watch_stop) M(mcplug_loop, work) M(mcplug_loop, now) \
    M(mcplug_wire, struct_size) M(mcplug_wire, opened) M(mcplug_wire, feed) \
    M(mcplug_wire, exchange_end) M(mcplug_wire, written) M(mcplug_wire, remark) \
    M(mcplug_wire, describe) M(mcplug_wire, closed) \
    M(mcplug_target, struct_size) M(mcplug_target, pid) M(mcplug_target, server) \
    M(mcplug_target, transport) M(mcplug_target, url) M(mcplug_target, revision) \
    M(mcplug_target, silent_ms) \
    M(mcplug_health, struct_size) M(mcplug_health, target) M(mcplug_health, request) \
    M(mcplug_health, verdict) \
    M(mcplug_host, struct_size) M(mcplug_host, abi_major) M(mcplug_host, abi_minor) \
    M(mcplug_host, version) M(mcplug_host, helper_dir) M(mcplug_host, mem) \
    M(mcplug_host, diag) M(mcplug_host, loop) M(mcplug_host, wire) \
    M(mcplug_host, health) M(mcplug_host, service) \
    M(mcplug_envelope, struct_size) M(mcplug_envelope, kind) M(mcplug_envelope, serial) \
    M(mcplug_envelope, exchange) M(mcplug_envelope, meta) M(mcplug_envelope, n_meta) \
    M(mcplug_transport_ops, struct_size) M(mcplug_transport_ops, caps) \
    M(mcplug_transport_ops, open) M(mcplug_transport_ops, send) \
    M(mcplug_transport_ops, close) M(mcplug_transport_ops, destroy) \
    M(mcplug_transport_ops, cancel) \
    M(mcplug_probe_ops, struct_size) M(mcplug_probe_ops, caps) \
    M(mcplug_probe_ops, start) M(mcplug_probe_ops, stop) M(mcplug_probe_ops, destroy) \
    M(mcplug_content, struct_size) M(mcplug_content, mime) M(mcplug_content, body) \
    M(mcplug_limits, struct_size) M(mcplug_limits, max_width) \
    M(mcplug_limits, max_height) M(mcplug_limits, max_bytes) \
    M(mcplug_limits, max_pixels) M(mcplug_limits, want_mime) \
    M(mcplug_task, struct_size) M(mcplug_task, in) M(mcplug_task, limits) \
    M(mcplug_task, job) M(mcplug_task, cancelled) \
    M(mcplug_converter_ops, struct_size) M(mcplug_converter_ops, caps) \
    M(mcplug_converter_ops, match) M(mcplug_converter_ops, convert) \
    M(mcplug_option, name) M(mcplug_option, type) M(mcplug_option, fallback) \
    M(mcplug_option, help) \
    M(mcplug_feature, kind) M(mcplug_feature, flags) M(mcplug_feature, name) \
    M(mcplug_feature, summary) M(mcplug_feature, accepts) M(mcplug_feature, options) \
    M(mcplug_feature, ops) \
    M(mcplug_plugin, magic) M(mcplug_plugin, struct_size) M(mcplug_plugin, abi_major) \
    M(mcplug_plugin, abi_minor) M(mcplug_plugin, abi_needs) \
    M(mcplug_plugin, feature_size) M(mcplug_plugin, name) M(mcplug_plugin, version) \
    M(mcplug_plugin, license) M(mcplug_plugin, summary) M(mcplug_plugin, origin) \
    M(mcplug_plugin, features) M(mcplug_plugin, n_features) M(mcplug_plugin, init) \
    M(mcplug_plugin, fini)
#define NUMBERS_0(N) \
    N(MCPLUG_TRANSPORT) N(MCPLUG_PROBE) N(MCPLUG_CONVERTER) \
    N(MCPLUG_REQUEST) N(MCPLUG_NOTIFICATION) N(MCPLUG_RESPONSE) \
    N(MCPLUG_OK) N(MCPLUG_EINVAL) N(MCPLUG_ENOMEM) N(MCPLUG_ENOTSUP) N(MCPLUG_ECONFIG) \
    N(MCPLUG_EREFUSED) N(MCPLUG_EAUTH) N(MCPLUG_EPROTO) N(MCPLUG_ETOOBIG) \
    N(MCPLUG_ETIMEDOUT) N(MCPLUG_ECANCELED) N(MCPLUG_ECLOSED) N(MCPLUG_EIO) \
    N(MCPLUG_EOVERLOADED) N(MCPLUG_EPEER) \
    N(MCPLUG_LOG_ERROR) N(MCPLUG_LOG_WARN) N(MCPLUG_LOG_VERBOSE) N(MCPLUG_LOG_TRACE)

/* ADDED_N: behind what older structs have. NEW_N: of structs that are new. */
#define ADDED_1(M) M(mcplug_wire, discard) M(mcplug_transport_ops, settled)
#define NEW_1(M) \
    M(mcplug_json, struct_size) M(mcplug_json, valid) M(mcplug_json, get) \
    M(mcplug_json, at) M(mcplug_json, string) M(mcplug_json, integer)
#define STRUCTS_1(S) STRUCTS_0(S) S(mcplug_json)
#define MEMBERS_1(M) MEMBERS_0(M) ADDED_1(M) NEW_1(M)
#define NUMBERS_1(N) NUMBERS_0(N)

#define ADDED_2(M)
#define NEW_2(M) \
    M(mcplug_vault_ops, struct_size) M(mcplug_vault_ops, caps) M(mcplug_vault_ops, get)
#define STRUCTS_2(S) STRUCTS_1(S) S(mcplug_vault_ops)
#define MEMBERS_2(M) MEMBERS_1(M) ADDED_2(M) NEW_2(M)
#define NUMBERS_2(N) \
    NUMBERS_1(N) N(MCPLUG_VAULT) N(MCPLUG_ERESTART) N(MCPLUG_ERESTARTING)

#define ADDED_3(M) M(mcplug_transport_ops, unread)
#define NEW_3(M)
#define STRUCTS_3(S) STRUCTS_2(S)
#define MEMBERS_3(M) MEMBERS_2(M) ADDED_3(M) NEW_3(M)
#define NUMBERS_3(N) NUMBERS_2(N)
/* clang-format on */

/* ---- how it is now ---- */

#define NOW_SIZE(type) now_##type = sizeof(struct type),
#define NOW_AT(type, m)                                                                  \
    at_##type##_##m = offsetof(struct type, m),                                          \
    size_##type##_##m = sizeof(((struct type *)0)->m),
#define NOW_IS(name) now_##name = name,

enum { STRUCTS_3(NOW_SIZE) MEMBERS_3(NOW_AT) };
enum { NUMBERS_3(NOW_IS) };

/* ---- and was: each frozen header once more, inside of a function ---- */

#define GROWS(type)                                                                      \
    _Static_assert(sizeof(struct type) <= now_##type, #type " was larger");
#define STAYS(type, m)                                                                   \
    _Static_assert(offsetof(struct type, m) == at_##type##_##m &&                        \
                       sizeof(((struct type *)0)->m) == size_##type##_##m,               \
                   #type "." #m " was elsewhere, or of another size");
#define BEHIND(type, m)                                                                  \
    _Static_assert(at_##type##_##m >= sizeof(struct type),                               \
                   #type "." #m " is within what " #type " had");
#define MEANS(name)                                                                      \
    _Static_assert((int)name == (int)now_##name, #name " meant something else");
/* Those have no struct_size. */
#define FIXED                                                                            \
    _Static_assert(sizeof(struct mcplug_bytes) == now_mcplug_bytes &&                    \
                       sizeof(struct mcplug_pair) == now_mcplug_pair &&                  \
                       sizeof(struct mcplug_option) == now_mcplug_option,                \
                   "a struct without a size of its own has grown");

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-local-typedefs"
/* clang-format off */

static void was_0(void)
{
#undef MCPLUG_TYPES_H
#undef MCPLUG_ERROR_INIT
#undef MCPLUG_PLUGIN_H
#undef MCPLUG_ABI_MINOR
#include "../modules/abi-1.0/mcplug/types.h"
#include "../modules/abi-1.0/mcplug/plugin.h"
    _Static_assert(MCPLUG_ABI_MINOR == 0, "another header");
    STRUCTS_0(GROWS) FIXED MEMBERS_0(STAYS) NUMBERS_0(MEANS)
    ADDED_1(BEHIND) ADDED_2(BEHIND) ADDED_3(BEHIND)
}

static void was_1(void)
{
#undef MCPLUG_TYPES_H
#undef MCPLUG_ERROR_INIT
#undef MCPLUG_PLUGIN_H
#undef MCPLUG_ABI_MINOR
#include "../modules/abi-1.1/mcplug/types.h"
#include "../modules/abi-1.1/mcplug/plugin.h"
    _Static_assert(MCPLUG_ABI_MINOR == 1, "another header");
    STRUCTS_1(GROWS) FIXED MEMBERS_1(STAYS) NUMBERS_1(MEANS)
    ADDED_2(BEHIND) ADDED_3(BEHIND)
}

static void was_2(void)
{
#undef MCPLUG_TYPES_H
#undef MCPLUG_ERROR_INIT
#undef MCPLUG_PLUGIN_H
#undef MCPLUG_ABI_MINOR
#include "../modules/abi-1.2/mcplug/types.h"
#include "../modules/abi-1.2/mcplug/plugin.h"
    _Static_assert(MCPLUG_ABI_MINOR == 2, "another header");
    STRUCTS_2(GROWS) FIXED MEMBERS_2(STAYS) NUMBERS_2(MEANS)
    ADDED_3(BEHIND)
}

static void was_3(void)
{
#undef MCPLUG_TYPES_H
#undef MCPLUG_ERROR_INIT
#undef MCPLUG_PLUGIN_H
#undef MCPLUG_ABI_MINOR
#include "../modules/abi-1.3/mcplug/types.h"
#include "../modules/abi-1.3/mcplug/plugin.h"
    _Static_assert(MCPLUG_ABI_MINOR == 3, "another header");
    STRUCTS_3(GROWS) FIXED MEMBERS_3(STAYS) NUMBERS_3(MEANS)
}

/* clang-format on */
#pragma GCC diagnostic pop

/* ---- its modules ---- */

static mcplug *host;

static void host_setup(void)
{
    own_dir_make();
    struct mcplug_options o = {.struct_size = sizeof o,
                               .plugin_dirs = (const char *const[]){own_dir, NULL}};
    host = mcplug_new(&o, &err);
    ck_assert_msg(host != NULL, "%s", err.text);
}

static void host_teardown(void)
{
    mcplug_free(host);
    own_dir_remove();
}

static mcplug_server *connect(const char *transport)
{
    const struct mcplug_server_options o = {.struct_size = sizeof o, .once = 1};
    mcplug_settings *settings = mcplug_settings_new(transport);
    mcplug_server *server = NULL;

    int r = mcplug_open_wait(host, settings, &o, &server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(settings);
    return server;
}

START_TEST(a_module_of_every_minor_loads)
{
    static const char *const modules[] = {"old.so", "old_1.so", "old_2.so", "old_3.so"};
    for (size_t i = 0; i < MP_COUNT(modules); i++)
        ck_assert_msg(load(place(modules[i], modules[i])) == MCPLUG_OK, "%s", err.text);
    was_0(), was_1(), was_2(), was_3(); /* they are checked already */
}
END_TEST

/* Its structs are on its stack, and shorter than ours. */
START_TEST(a_module_of_minor_0_hangs_up_with_a_reason_of_its_own_length)
{
    const struct mcplug_server_options o = {.struct_size = sizeof o, .once = 1};
    mcplug_settings *settings = mcplug_settings_new("old-cut");
    mcplug_server *server = NULL;

    place("old.so", "old-cut.so");
    err.struct_size = sizeof err;
    err.flags = ~0u;
    int r = mcplug_open_wait(host, settings, &o, &server, &err);
    ck_assert_int_eq(r, MCPLUG_EIO);
    ck_assert_msg(strstr(err.text, "the old wire was cut") != NULL, "%s", err.text);
    ck_assert_uint_eq(err.flags, 0);
    mcplug_settings_free(settings);
}
END_TEST

START_TEST(a_server_of_minor_1_gets_arguments_beside_a_call_and_is_told_its_end)
{
    mcplug_result *result = NULL;
    mcplug_list *tools = NULL;

    place("old_1.so", "old-1.so");
    mcplug_server *server = connect("old-1");
    ck_assert_str_eq(mcplug_server_revision(server), "2026-07-28");
    ck_assert_int_eq(mcplug_get_list_wait(server, MCPLUG_TOOLS, NULL, &tools, &err),
                     MCPLUG_OK);
    ck_assert_uint_eq(mcplug_list_count(tools), 1);
    mcplug_list_unref(tools);
    int r = mcplug_call_tool_wait(server, "where", "{\"region\":\"eu\"}", NULL, &result,
                                  &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(mcplug_result_json(result, NULL), "\"in eu\""));
    mcplug_result_unref(result);
    ck_assert_ptr_nonnull(mcplug_server_fact(server, "settled"));
    ck_assert_int_ge(atoi(mcplug_server_fact(server, "settled")), 3);
    mcplug_close_wait(server);
}
END_TEST

START_TEST(a_vault_of_minor_2_gives_its_secret)
{
    const struct mp_offer *offer = NULL;
    struct mp_str secret;

    mp_str_init(&secret, 1024);
    place("old_2.so", "old-2.so");
    int r = mp_catalogue_find(cat, MCPLUG_VAULT, "old-2", &offer, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    r = mp_vault_ask(offer, NULL, "token", &secret, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    ck_assert_str_eq(secret.data, "kept since minor 2");
    ck_assert_int_eq(mp_vault_ask(offer, NULL, "nothing", &secret, &err),
                     MCPLUG_EREFUSED);
    ck_assert_str_eq(err.text, "old-2: there is no \"nothing\"");
    mp_str_clear(&secret);
}
END_TEST

START_TEST(a_server_of_minor_3_is_waited_for_while_it_starts_and_may_be_cut_short)
{
    mcplug_result *result = NULL;

    place("old_3.so", "old-3.so");
    mcplug_server *server = connect("old-3");
    ck_assert_str_eq(mcplug_server_revision(server), "2025-06-18");
    ck_assert_str_eq(mcplug_server_fact(server, "looks"), "3");
    int r = mcplug_call_tool_wait(server, "any", NULL, NULL, &result, &err);
    ck_assert_int_eq(r, MCPLUG_EIO); /* not MCPLUG_EPROTO */
    ck_assert_msg(strstr(err.text, "the wire was cut") != NULL, "%s", err.text);
    mcplug_close_wait(server);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("plugin_frozen");
    TCase *tc = tcase(suite, "catalogue");
    tcase_add_test(tc, a_module_of_every_minor_loads);
    tcase_add_test(tc, a_vault_of_minor_2_gives_its_secret);

    tc = tcase_create("host");
    tcase_add_checked_fixture(tc, host_setup, host_teardown);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc,
                   a_server_of_minor_1_gets_arguments_beside_a_call_and_is_told_its_end);
    tcase_add_test(tc, a_module_of_minor_0_hangs_up_with_a_reason_of_its_own_length);
    tcase_add_test(
        tc, a_server_of_minor_3_is_waited_for_while_it_starts_and_may_be_cut_short);
    return suite;
}

int main(int argc, char **argv)
{
    return modules_find(argc, argv) ? run_to_end(make_suite()) : TEST_SKIP;
}
