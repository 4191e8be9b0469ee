#include "fake.h"
#include "own_request.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the transport ---- */

static int t_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings, void **out,
                  struct mcplug_error *err)
{
    struct fake *f = ctx;
    (void)settings;
    if (f->open_why.code) {
        *err = f->open_why;
        return err->code;
    }
    f->conn = conn;
    f->on_other = false;
    f->starts++;
    *out = f;
    if (f->opens)
        mp_link_wire.opened(conn);
    return MCPLUG_OK;
}

static int t_open_other(void *ctx, mcplug_conn *conn, const mcplug_props *settings,
                        void **out, struct mcplug_error *err)
{
    struct fake *f = ctx;
    int r = t_open(ctx, conn, settings, out, err);
    f->on_other = r == MCPLUG_OK;
    f->other_starts += f->on_other;
    return r;
}

static char *keep_meta(const struct mcplug_envelope *env)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < env->n_meta; i++)
        fprintf(out, "%s\1%s\2", env->meta[i].name, env->meta[i].value);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

static int t_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                  struct mcplug_error *err)
{
    struct fake *f = t;
    struct mcplug_bytes b = mp_buf_bytes(frame);
    (void)err;

    ck_assert_uint_lt(f->n_sent, MP_COUNT(f->sent));
    f->serials[f->n_sent] = env->serial;
    f->kinds[f->n_sent] = env->kind;
    f->exchanges[f->n_sent] = env->exchange;
    f->metas[f->n_sent] = keep_meta(env);
    f->sent[f->n_sent++] = strndup((const char *)b.data, b.len);
    mp_buf_unref(frame);
    return f->queues ? MCPLUG_QUEUED : MCPLUG_OK;
}

static void t_close(void *t)
{
    struct fake *f = t;
    mcplug_conn *conn = f->conn;
    f->conn = NULL;
    if (conn)
        mp_link_wire.closed(conn, NULL);
}

static void t_destroy(void *t)
{
    (void)t;
}

static void t_cancel(void *t, uint64_t exchange)
{
    struct fake *f = t;
    ck_assert_uint_lt(f->n_cancelled, MP_COUNT(f->cancelled));
    f->cancelled[f->n_cancelled++] = exchange;
}

/* Only the last ones are kept: most tests have no use for them. */
static void t_settled(void *t, uint64_t exchange)
{
    struct fake *f = t;
    f->settled[f->n_settled++ % MP_COUNT(f->settled)] = exchange;
}

static uint64_t t_unread(void *t)
{
    struct fake *f = t;
    return f->unread;
}

static const struct mcplug_transport_ops ops = {
    .struct_size = sizeof ops,
    .open = t_open,
    .send = t_send,
    .close = t_close,
    .destroy = t_destroy,
    .cancel = t_cancel,
    .settled = t_settled,
    .unread = t_unread,
};

/* ---- the session ---- */

static void on_log(void *arg, int level, const char *source, const char *text)
{
    static const char *const names[] = {"ERR", "WRN", "VRB", "TRC"};
    struct fake *f = arg;
    size_t n = strlen(f->logged);
    if (level < MCPLUG_LOG_TRACE)
        snprintf(f->logged + n, sizeof f->logged - n, "%s %s %s\n", names[level], source,
                 text);
}

void fake_init(struct fake *f)
{
    memset(f, 0, sizeof *f);
    f->loop = mp_loop_new(NULL);
    ck_assert_ptr_nonnull(f->loop);
    mp_loop_fake_clock(f->loop);
    mp_events_init(&f->log, on_log, f, MCPLUG_LOG_VERBOSE);
    f->plugin.ctx = f;
    f->offer.plugin = &f->plugin;
    f->offer.feature.kind = MCPLUG_TRANSPORT;
    f->offer.feature.name = "fake";
    f->ops = ops;
    f->offer.feature.ops = &f->ops;
    f->other = f->offer;
    f->other.feature.name = "older";
    f->other_ops = ops;
    f->other_ops.open = t_open_other;
    f->other.feature.ops = &f->other_ops;
    f->settings = mp_props_new();
    f->opens = true;
}

static void on_session_closed(void *arg)
{
    struct fake *f = arg;
    f->closes++;
    f->server = NULL;
}

void fake_clear(struct fake *f)
{
    if (f->server) {
        mp_session_close(f->server, NULL, on_session_closed, f);
        fake_turn(f);
        ck_assert_uint_eq(f->closes, 1);
    }
    for (size_t i = 0; i < f->n_sent; i++) {
        free(f->sent[i]);
        free(f->metas[i]);
    }
    mp_props_free(f->settings);
    mp_identity_clear(&f->id);
    mp_loop_free(f->loop);
}

static void on_ready(void *arg, struct mp_session *server, const struct mcplug_error *why)
{
    struct fake *f = arg;
    (void)server;
    f->readies++;
    if (why)
        f->ready_why = *why;
}

static void on_dropped(void *arg, struct mp_session *server,
                       const struct mcplug_error *why)
{
    struct fake *f = arg;
    (void)server;
    f->drops++;
    f->drop_why = *why;
}

static enum mp_era recall(void *arg, uint64_t settings_hash)
{
    struct fake *f = arg;
    (void)settings_hash;
    return f->era;
}

static void remember(void *arg, uint64_t settings_hash, enum mp_era era)
{
    struct fake *f = arg;
    (void)settings_hash;
    f->era = era;
}

static int fallback(void *arg, const char *next, const mcplug_props *settings,
                    const struct mp_offer **out, mcplug_props **checked,
                    struct mcplug_error *err)
{
    struct fake *f = arg;
    (void)next;
    if (f->lacks_other)
        return mp_fail(err, MCPLUG_ENOTSUP, "no module has transport \"older\"");
    *out = &f->other;
    *checked = mp_props_copy(settings);
    return *checked ? MCPLUG_OK : mp_fail_nomem(err);
}

void fake_session(struct fake *f, struct mp_session_options *o)
{
    struct mp_session_options own = {0};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_session_config cfg = {.loop = f->loop,
                                    .log = &f->log,
                                    .client_name = "test",
                                    .client_version = "1",
                                    .spill_dir = "/tmp",
                                    .recall = f->remembers ? recall : NULL,
                                    .remember = f->remembers ? remember : NULL,
                                    .fallback = f->has_other ? fallback : NULL,
                                    .arg = f};
    if (!o)
        o = &own;
    if (!o->timeout_ms)
        o->timeout_ms = 30000;
    if (!o->tool_ms)
        o->tool_ms = 100000000;
    if (!o->arg) {
        o->arg = f;
        o->dropped = on_dropped;
    }
    int r = mp_session_open(&cfg, &f->offer, f->settings, o, "fake", &f->id, on_ready, f,
                            &f->server, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    fake_turn(f);
}

void fake_turn(struct fake *f)
{
    for (int i = 0; i < 5; i++)
        mp_loop_turn(f->loop, false);
}

void fake_pass(struct fake *f, uint64_t ms)
{
    mp_loop_advance(f->loop, ms);
    fake_turn(f);
}

void fake_open(struct fake *f)
{
    mp_link_wire.opened(f->conn);
    fake_turn(f);
}

void fake_say(struct fake *f, const char *line)
{
    ck_assert_ptr_nonnull(f->conn);
    mp_link_wire.feed(f->conn, 0, mp_text(line), 1);
    fake_turn(f);
}

void fake_sayf(struct fake *f, const char *fmt, ...)
{
    char *line = NULL;
    va_list ap;
    va_start(ap, fmt);
    ck_assert_int_ge(vasprintf(&line, fmt, ap), 0);
    va_end(ap);
    fake_say(f, line);
    free(line);
}

void fake_hang_up(struct fake *f, int os_error, const char *text)
{
    fake_drop(f, MCPLUG_ECLOSED, os_error, 0, text);
}

static struct mcplug_error reason(int code, int os_error, int peer_status,
                                  const char *text)
{
    struct mcplug_error why = {.struct_size = sizeof why,
                               .code = code,
                               .os_error = os_error,
                               .peer_status = peer_status};
    snprintf(why.text, sizeof why.text, "%s", text ? text : "");
    return why;
}

void fake_drop(struct fake *f, int code, int os_error, int peer_status, const char *text)
{
    struct mcplug_error why = reason(code, os_error, peer_status, text);
    mcplug_conn *conn = f->conn;
    f->conn = NULL;
    mp_link_wire.closed(conn, &why);
    fake_turn(f);
}

/* ---- exchanges ---- */

void fake_feed(struct fake *f, uint64_t exchange, const char *piece, bool last)
{
    ck_assert_ptr_nonnull(f->conn);
    mp_link_wire.feed(f->conn, exchange, mp_text(piece), last);
}

void fake_say_on(struct fake *f, uint64_t exchange, const char *line)
{
    fake_feed(f, exchange, line, true);
    fake_turn(f);
}

void fake_drop_exchange(struct fake *f, uint64_t exchange, int code, int os_error,
                        int peer_status, const char *text)
{
    struct mcplug_error why = reason(code, os_error, peer_status, text);
    ck_assert_ptr_nonnull(f->conn);
    mp_link_wire.exchange_end(f->conn, exchange, code ? &why : NULL);
}

void fake_end_exchange(struct fake *f, uint64_t exchange, int code, int os_error,
                       int peer_status, const char *text)
{
    fake_drop_exchange(f, exchange, code, os_error, peer_status, text);
    fake_turn(f);
}

/* ---- looking at what was sent ---- */

const char *fake_next(struct fake *f)
{
    ck_assert_msg(f->n_seen < f->n_sent, "nothing more was sent");
    return f->sent[f->n_seen++];
}

bool fake_idle(const struct fake *f)
{
    return f->n_seen == f->n_sent;
}

/* The next pair whose name begins so, from `at` on. */
static const char *find_meta(const char *at, const char *prefix)
{
    while (*at && strncmp(at, prefix, strlen(prefix)) != 0)
        at = strchr(at, '\2') + 1;
    return *at ? at : NULL;
}

const char *fake_meta(struct fake *f, const char *name)
{
    char prefix[300];

    ck_assert_uint_gt(f->n_seen, 0);
    snprintf(prefix, sizeof prefix, "%s\1", name);
    const char *at = find_meta(f->metas[f->n_seen - 1], prefix);
    if (!at)
        return NULL;
    at += strlen(prefix);
    snprintf(f->meta, sizeof f->meta, "%.*s", (int)(strchr(at, '\2') - at), at);
    return f->meta;
}

uint32_t fake_kind(const struct fake *f)
{
    ck_assert_uint_gt(f->n_seen, 0);
    return f->kinds[f->n_seen - 1];
}

uint64_t fake_exchange(const struct fake *f)
{
    ck_assert_uint_gt(f->n_seen, 0);
    return f->exchanges[f->n_seen - 1];
}

unsigned fake_metas(const struct fake *f, const char *prefix)
{
    unsigned n = 0;

    ck_assert_uint_gt(f->n_seen, 0);
    for (const char *at = f->metas[f->n_seen - 1]; (at = find_meta(at, prefix)); n++)
        at = strchr(at, '\2') + 1;
    return n;
}

uint64_t fake_id(const char *frame)
{
    const char *at = strstr(frame, "\"id\":");
    return at ? strtoull(at + 5, NULL, 10) : 0;
}

uint64_t fake_expect(struct fake *f, const char *method)
{
    const char *frame = fake_next(f);
    char want[128];
    snprintf(want, sizeof want, "\"method\":\"%s\"", method);
    ck_assert_msg(strstr(frame, want) != NULL, "%s, not %s", frame, method);
    return fake_id(frame);
}

void fake_modern(struct fake *f, struct mp_session_options *o, const char *caps)
{
    fake_session(f, o);
    fake_sayf(f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"complete\","
              "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":%s,"
              "\"instructions\":\"Be nice.\",\"_meta\":{\"io.modelcontextprotocol/"
              "serverInfo\":{\"name\":\"s\",\"version\":\"2\"}}}}",
              (unsigned long long)fake_expect(f, "server/discover"), caps);
}

void fake_legacy(struct fake *f, struct mp_session_options *o, const char *caps)
{
    fake_session(f, o);
    fake_sayf(f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32601,"
              "\"message\":\"no\"}}",
              (unsigned long long)fake_expect(f, "server/discover"));
    fake_sayf(f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"protocolVersion\":"
              "\"2025-06-18\",\"capabilities\":%s,\"serverInfo\":{\"name\":\"s\","
              "\"version\":\"1\"}}}",
              (unsigned long long)fake_expect(f, "initialize"), caps);
    fake_expect(f, "notifications/initialized");
}

void on_outcome(void *arg, mcplug_call *call, mcplug_result *result,
                const struct mcplug_error *why)
{
    struct outcome *o = arg;
    (void)call;

    o->times++;
    if (why) {
        o->code = why->code;
        o->peer_status = why->peer_status;
        snprintf(o->text, sizeof o->text, "%s", why->text);
    }
    if (result) {
        snprintf(o->json, sizeof o->json, "%s", mcplug_result_json(result, NULL));
        o->is_error = mcplug_result_is_error(result);
    }
}

int run_suite(const char *name, void (*add)(TCase *tc))
{
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    add(tc);
    suite_add_tcase(suite, tc);
    return run_to_end(suite);
}

/* ---- requests ---- */

static mcplug_call *base_of(struct mp_request *call)
{
    return call ? &call->base : NULL;
}

mcplug_call *fake_call(struct mp_session *s, const char *tool, const char *arguments,
                       const struct mcplug_call_options *options, mcplug_done_fn *done,
                       void *arg, struct mcplug_error *err)
{
    return base_of(
        own_request(s, "tools/call", mp_text(arguments), tool, options, done, arg, err));
}

mcplug_call *fake_request(struct mp_session *s, const char *method, const char *params,
                          const struct mcplug_call_options *options, mcplug_done_fn *done,
                          void *arg, struct mcplug_error *err)
{
    return base_of(
        own_request(s, method, mp_text(params), NULL, options, done, arg, err));
}

mcplug_call *fake_ping(struct mp_session *s, const struct mcplug_call_options *options,
                       mcplug_done_fn *done, void *arg, struct mcplug_error *err)
{
    const char *method = mp_session_is_modern(s) ? "server/discover" : "ping";
    struct mp_request *call =
        own_request(s, method, mp_bytes(NULL, 0), NULL, options, done, arg, err);
    if (call)
        call->pings = true;
    return base_of(call);
}

void fake_ledger(const struct mp_session *s, struct mcplug_ledger *out)
{
    *out = (struct mcplug_ledger){.struct_size = sizeof *out};
    mp_session_count(s, out);
}
