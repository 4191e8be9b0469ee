/* The layout of everything that modules and the core share. A row that has to be
 * changed is a broken module somewhere; rows are only ever added, when a member is
 * appended, and SIZE then grows. The head of plugin.h says what else goes with that. */
#include "suite.h"

#include <mcplug/plugin.h>

#include <check.h>
#include <stdlib.h>

/* clang-format off */
#define SIZE(type, n) {"sizeof(struct " #type ")", sizeof(struct type), n}
#define AT(type, m, n) {#type "." #m, offsetof(struct type, m), n}
/* clang-format on */

static const struct {
    const char *what;
    size_t is, was;
} layout[] = {
    /* clang-format off */
    SIZE(mcplug_bytes, 16),
    AT(mcplug_bytes, data, 0),
    AT(mcplug_bytes, len, 8),

    SIZE(mcplug_pair, 16),
    AT(mcplug_pair, name, 0),
    AT(mcplug_pair, value, 8),

    SIZE(mcplug_error, 520),
    AT(mcplug_error, struct_size, 0),
    AT(mcplug_error, code, 4),
    AT(mcplug_error, os_error, 8),
    AT(mcplug_error, peer_status, 12),
    AT(mcplug_error, text, 16),
    AT(mcplug_error, flags, 512),
    AT(mcplug_error, reserved, 516),

    SIZE(mcplug_mem, 64),
    AT(mcplug_mem, struct_size, 0),
    AT(mcplug_mem, alloc, 8),
    AT(mcplug_mem, resize, 16),
    AT(mcplug_mem, free, 24),
    AT(mcplug_mem, buf_new, 32),
    AT(mcplug_mem, buf_ref, 40),
    AT(mcplug_mem, buf_unref, 48),
    AT(mcplug_mem, buf_bytes, 56),

    SIZE(mcplug_diag, 56),
    AT(mcplug_diag, struct_size, 0),
    AT(mcplug_diag, log, 8),
    AT(mcplug_diag, fail, 16),
    AT(mcplug_diag, prop, 24),
    AT(mcplug_diag, prop_int, 32),
    AT(mcplug_diag, prop_list, 40),
    AT(mcplug_diag, fail_os, 48),

    SIZE(mcplug_loop, 72),
    AT(mcplug_loop, struct_size, 0),
    AT(mcplug_loop, post, 8),
    AT(mcplug_loop, timer_start, 16),
    AT(mcplug_loop, timer_stop, 24),
    AT(mcplug_loop, watch_start, 32),
    AT(mcplug_loop, watch_update, 40),
    AT(mcplug_loop, watch_stop, 48),
    AT(mcplug_loop, work, 56),
    AT(mcplug_loop, now, 64),

    SIZE(mcplug_wire, 72),
    AT(mcplug_wire, struct_size, 0),
    AT(mcplug_wire, opened, 8),
    AT(mcplug_wire, feed, 16),
    AT(mcplug_wire, exchange_end, 24),
    AT(mcplug_wire, written, 32),
    AT(mcplug_wire, remark, 40),
    AT(mcplug_wire, describe, 48),
    AT(mcplug_wire, closed, 56),
    AT(mcplug_wire, discard, 64),

    SIZE(mcplug_json, 48),
    AT(mcplug_json, struct_size, 0),
    AT(mcplug_json, valid, 8),
    AT(mcplug_json, get, 16),
    AT(mcplug_json, at, 24),
    AT(mcplug_json, string, 32),
    AT(mcplug_json, integer, 40),

    SIZE(mcplug_lines, 80),
    AT(mcplug_lines, struct_size, 0),
    AT(mcplug_lines, create, 8),
    AT(mcplug_lines, attach, 16),
    AT(mcplug_lines, feed, 24),
    AT(mcplug_lines, end, 32),
    AT(mcplug_lines, send, 40),
    AT(mcplug_lines, flush, 48),
    AT(mcplug_lines, broken, 56),
    AT(mcplug_lines, detach, 64),
    AT(mcplug_lines, free, 72),

    SIZE(mcplug_target, 48),
    AT(mcplug_target, struct_size, 0),
    AT(mcplug_target, pid, 4),
    AT(mcplug_target, server, 8),
    AT(mcplug_target, transport, 16),
    AT(mcplug_target, url, 24),
    AT(mcplug_target, revision, 32),
    AT(mcplug_target, silent_ms, 40),

    SIZE(mcplug_health, 32),
    AT(mcplug_health, struct_size, 0),
    AT(mcplug_health, target, 8),
    AT(mcplug_health, request, 16),
    AT(mcplug_health, verdict, 24),

    SIZE(mcplug_host, 96),
    AT(mcplug_host, struct_size, 0),
    AT(mcplug_host, abi_major, 4),
    AT(mcplug_host, abi_minor, 6),
    AT(mcplug_host, version, 8),
    AT(mcplug_host, helper_dir, 16),
    AT(mcplug_host, mem, 24),
    AT(mcplug_host, diag, 32),
    AT(mcplug_host, loop, 40),
    AT(mcplug_host, wire, 48),
    AT(mcplug_host, health, 56),
    AT(mcplug_host, service, 64),
    AT(mcplug_host, use, 72),
    AT(mcplug_host, place, 80),
    AT(mcplug_host, reply, 88),
    SIZE(mcplug_reply_ops, 64),
    AT(mcplug_reply_ops, struct_size, 0),
    AT(mcplug_reply_ops, reserved, 4),
    AT(mcplug_reply_ops, text, 8),
    AT(mcplug_reply_ops, thought, 16),
    AT(mcplug_reply_ops, call, 24),
    AT(mcplug_reply_ops, usage, 32),
    AT(mcplug_reply_ops, raw, 40),
    AT(mcplug_reply_ops, retry_after, 48),
    AT(mcplug_reply_ops, end, 56),
    SIZE(mcplug_place_ops, 64),
    AT(mcplug_place_ops, struct_size, 0),
    AT(mcplug_place_ops, transport, 8),
    AT(mcplug_place_ops, set, 16),
    AT(mcplug_place_ops, add, 24),
    AT(mcplug_place_ops, put, 32),
    AT(mcplug_place_ops, fact, 40),
    AT(mcplug_place_ops, greet, 48),
    AT(mcplug_place_ops, clean_up, 56),

    SIZE(mcplug_envelope, 48),
    AT(mcplug_envelope, struct_size, 0),
    AT(mcplug_envelope, kind, 4),
    AT(mcplug_envelope, serial, 8),
    AT(mcplug_envelope, exchange, 16),
    AT(mcplug_envelope, meta, 24),
    AT(mcplug_envelope, n_meta, 32),
    AT(mcplug_envelope, flags, 40),

    SIZE(mcplug_transport_ops, 72),
    AT(mcplug_transport_ops, struct_size, 0),
    AT(mcplug_transport_ops, caps, 4),
    AT(mcplug_transport_ops, open, 8),
    AT(mcplug_transport_ops, send, 16),
    AT(mcplug_transport_ops, close, 24),
    AT(mcplug_transport_ops, destroy, 32),
    AT(mcplug_transport_ops, cancel, 40),
    AT(mcplug_transport_ops, settled, 48),
    AT(mcplug_transport_ops, unread, 56),
    AT(mcplug_transport_ops, flush, 64),

    SIZE(mcplug_probe_ops, 32),
    AT(mcplug_probe_ops, struct_size, 0),
    AT(mcplug_probe_ops, caps, 4),
    AT(mcplug_probe_ops, start, 8),
    AT(mcplug_probe_ops, stop, 16),
    AT(mcplug_probe_ops, destroy, 24),

    SIZE(mcplug_content, 40),
    AT(mcplug_content, struct_size, 0),
    AT(mcplug_content, mime, 8),
    AT(mcplug_content, body, 16),
    AT(mcplug_content, fd, 24),
    AT(mcplug_content, reserved, 28),
    AT(mcplug_content, size, 32),

    SIZE(mcplug_limits, 40),
    AT(mcplug_limits, struct_size, 0),
    AT(mcplug_limits, max_width, 4),
    AT(mcplug_limits, max_height, 8),
    AT(mcplug_limits, max_bytes, 16),
    AT(mcplug_limits, max_pixels, 24),
    AT(mcplug_limits, want_mime, 32),

    SIZE(mcplug_task, 56),
    AT(mcplug_task, struct_size, 0),
    AT(mcplug_task, in, 8),
    AT(mcplug_task, limits, 16),
    AT(mcplug_task, job, 24),
    AT(mcplug_task, cancelled, 32),
    AT(mcplug_task, settings, 40),
    AT(mcplug_task, fact, 48),

    SIZE(mcplug_converter_ops, 24),
    AT(mcplug_converter_ops, struct_size, 0),
    AT(mcplug_converter_ops, caps, 4),
    AT(mcplug_converter_ops, match, 8),
    AT(mcplug_converter_ops, convert, 16),

    SIZE(mcplug_vault_ops, 24),
    AT(mcplug_vault_ops, struct_size, 0),
    AT(mcplug_vault_ops, caps, 4),
    AT(mcplug_vault_ops, get, 8),
    AT(mcplug_vault_ops, get_with, 16),
    SIZE(mcplug_locator_ops, 16),
    AT(mcplug_locator_ops, struct_size, 0),
    AT(mcplug_locator_ops, caps, 4),
    AT(mcplug_locator_ops, locate, 8),
    SIZE(mcplug_definition, 40),
    AT(mcplug_definition, struct_size, 0),
    AT(mcplug_definition, reserved, 4),
    AT(mcplug_definition, name, 8),
    AT(mcplug_definition, description, 16),
    AT(mcplug_definition, schema, 24),
    SIZE(mcplug_prompt, 64),
    AT(mcplug_prompt, struct_size, 0),
    AT(mcplug_prompt, max_tokens, 4),
    AT(mcplug_prompt, model, 8),
    AT(mcplug_prompt, system, 16),
    AT(mcplug_prompt, messages, 32),
    AT(mcplug_prompt, n_messages, 40),
    AT(mcplug_prompt, tools, 48),
    AT(mcplug_prompt, n_tools, 56),
    SIZE(mcplug_model_ops, 48),
    AT(mcplug_model_ops, struct_size, 0),
    AT(mcplug_model_ops, caps, 4),
    AT(mcplug_model_ops, open, 8),
    AT(mcplug_model_ops, close, 16),
    AT(mcplug_model_ops, ask, 24),
    AT(mcplug_model_ops, drop, 32),
    AT(mcplug_model_ops, count, 40),
    SIZE(mcplug_item, 64),
    AT(mcplug_item, struct_size, 0),
    AT(mcplug_item, kind, 4),
    AT(mcplug_item, text, 8),
    AT(mcplug_item, mime, 24),
    AT(mcplug_item, name, 32),
    AT(mcplug_item, id, 40),
    AT(mcplug_item, is_error, 48),
    AT(mcplug_item, n_items, 52),
    AT(mcplug_item, items, 56),
    SIZE(mcplug_message, 40),
    AT(mcplug_message, struct_size, 0),
    AT(mcplug_message, role, 4),
    AT(mcplug_message, items, 8),
    AT(mcplug_message, n_items, 16),
    AT(mcplug_message, raw, 24),
    SIZE(mcplug_usage, 40),
    AT(mcplug_usage, struct_size, 0),
    AT(mcplug_usage, reserved, 4),
    AT(mcplug_usage, input, 8),
    AT(mcplug_usage, input_cached, 16),
    AT(mcplug_usage, input_to_cache, 24),
    AT(mcplug_usage, output, 32),
    SIZE(mcplug_service_ops, 8),
    AT(mcplug_service_ops, struct_size, 0),
    AT(mcplug_service_ops, caps, 4),

    SIZE(mcplug_option, 32),
    AT(mcplug_option, name, 0),
    AT(mcplug_option, type, 8),
    AT(mcplug_option, fallback, 16),
    AT(mcplug_option, help, 24),

    SIZE(mcplug_feature, 64),
    AT(mcplug_feature, kind, 0),
    AT(mcplug_feature, flags, 4),
    AT(mcplug_feature, name, 8),
    AT(mcplug_feature, summary, 16),
    AT(mcplug_feature, accepts, 24),
    AT(mcplug_feature, options, 32),
    AT(mcplug_feature, ops, 40),
    AT(mcplug_feature, next, 48),
    AT(mcplug_feature, version, 56),
    AT(mcplug_feature, reserved, 60),

    SIZE(mcplug_plugin, 88),
    AT(mcplug_plugin, magic, 0),
    AT(mcplug_plugin, struct_size, 4),
    AT(mcplug_plugin, abi_major, 8),
    AT(mcplug_plugin, abi_minor, 10),
    AT(mcplug_plugin, abi_needs, 12),
    AT(mcplug_plugin, feature_size, 14),
    AT(mcplug_plugin, name, 16),
    AT(mcplug_plugin, version, 24),
    AT(mcplug_plugin, license, 32),
    AT(mcplug_plugin, summary, 40),
    AT(mcplug_plugin, origin, 48),
    AT(mcplug_plugin, features, 56),
    AT(mcplug_plugin, n_features, 64),
    AT(mcplug_plugin, init, 72),
    AT(mcplug_plugin, fini, 80),
    /* clang-format on */
};

static const struct {
    const char *what;
    long is, was;
} numbers[] = {
    {"MCPLUG_MAGIC", MCPLUG_MAGIC, 0x4d43504c},
    {"MCPLUG_ABI_MAJOR", MCPLUG_ABI_MAJOR, 1},
    {"MCPLUG_TRANSPORT", MCPLUG_TRANSPORT, 1},
    {"MCPLUG_PROBE", MCPLUG_PROBE, 2},
    {"MCPLUG_CONVERTER", MCPLUG_CONVERTER, 3},
    {"MCPLUG_VAULT", MCPLUG_VAULT, 4},
    {"MCPLUG_SERVICE", MCPLUG_SERVICE, 5},
    {"MCPLUG_LOCATOR", MCPLUG_LOCATOR, 6},
    {"MCPLUG_REQUEST", MCPLUG_REQUEST, 1},
    {"MCPLUG_NOTIFICATION", MCPLUG_NOTIFICATION, 2},
    {"MCPLUG_RESPONSE", MCPLUG_RESPONSE, 3},
    {"MCPLUG_READABLE", MCPLUG_READABLE, 1},
    {"MCPLUG_WRITABLE", MCPLUG_WRITABLE, 2},
    {"MCPLUG_CAN_EXCHANGE", MCPLUG_CAN_EXCHANGE, 1},
    {"MCPLUG_MIRRORS_PARAMS", MCPLUG_MIRRORS_PARAMS, 2},
    {"MCPLUG_QUEUED", MCPLUG_QUEUED, 1},
    {"MCPLUG_LINES_PIPE", MCPLUG_LINES_PIPE, 1},
    {"MCPLUG_LINES_SOCKET", MCPLUG_LINES_SOCKET, 2},
    {"MCPLUG_OK", MCPLUG_OK, 0},
    {"MCPLUG_EINVAL", MCPLUG_EINVAL, -1},
    {"MCPLUG_ENOMEM", MCPLUG_ENOMEM, -2},
    {"MCPLUG_ENOTSUP", MCPLUG_ENOTSUP, -3},
    {"MCPLUG_ECONFIG", MCPLUG_ECONFIG, -4},
    {"MCPLUG_EREFUSED", MCPLUG_EREFUSED, -5},
    {"MCPLUG_EAUTH", MCPLUG_EAUTH, -6},
    {"MCPLUG_EPROTO", MCPLUG_EPROTO, -7},
    {"MCPLUG_ETOOBIG", MCPLUG_ETOOBIG, -8},
    {"MCPLUG_ETIMEDOUT", MCPLUG_ETIMEDOUT, -9},
    {"MCPLUG_ECANCELED", MCPLUG_ECANCELED, -10},
    {"MCPLUG_ECLOSED", MCPLUG_ECLOSED, -11},
    {"MCPLUG_EIO", MCPLUG_EIO, -12},
    {"MCPLUG_EOVERLOADED", MCPLUG_EOVERLOADED, -13},
    {"MCPLUG_EPEER", MCPLUG_EPEER, -14},
    {"MCPLUG_LOG_ERROR", MCPLUG_LOG_ERROR, 0},
    {"MCPLUG_LOG_WARN", MCPLUG_LOG_WARN, 1},
    {"MCPLUG_LOG_VERBOSE", MCPLUG_LOG_VERBOSE, 2},
    {"MCPLUG_LOG_TRACE", MCPLUG_LOG_TRACE, 3},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

START_TEST(every_struct_and_member_is_where_it_was)
{
    for (size_t i = 0; i < COUNT(layout); i++)
        ck_assert_msg(layout[i].is == layout[i].was, "%s is %zu and was %zu",
                      layout[i].what, layout[i].is, layout[i].was);
}
END_TEST

START_TEST(every_number_means_what_it_meant)
{
    for (size_t i = 0; i < COUNT(numbers); i++)
        ck_assert_msg(numbers[i].is == numbers[i].was, "%s is %ld and was %ld",
                      numbers[i].what, numbers[i].is, numbers[i].was);
    ck_assert_str_eq(MCPLUG_SYMBOL, "mcplug_plugin_1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin_abi");
    TCase *tc = tcase_create("abi");
#if defined(__x86_64__) && defined(__LP64__)
    tcase_add_test(tc, every_struct_and_member_is_where_it_was);
#else /* the table is of one architecture; what changes there changes everywhere */
    (void)every_struct_and_member_is_where_it_was;
    (void)layout;
#endif
    tcase_add_test(tc, every_number_means_what_it_meant);
    suite_add_tcase(suite, tc);

    return run_to_end(suite);
}
