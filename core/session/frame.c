#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/skip.h"

#define SCRATCH_KEPT ((size_t)64 * 1024) /* a longer frame's memory is not kept */

/* ---- what callers give ---- */

int mp_frame_object(mp_view *text, const char *what, struct mcplug_error *err)
{
    struct mcplug_error why;
    struct mp_scan scan;
    size_t used;
    const unsigned char *end = text->data + text->len;

    mp_error_init(&why);
    text->data = mp_skip_space(text->data, end);
    while (end > text->data && mp_is_space(end[-1]))
        end--;
    text->len = (size_t)(end - text->data);
    mp_scan_init(&scan, &mp_scan_defaults);
    scan.bare = true;
    int r = mp_scan_feed(&scan, (const char *)text->data, text->len, false, &used, &why);
    if (r == MCPLUG_OK)
        r = mp_scan_end(&scan, &why);
    if (r != MCPLUG_OK)
        return mp_fail(err, MCPLUG_EINVAL, "%s: %s", what, why.text);
    if (!mp_view_is_object(*text))
        return mp_fail(err, MCPLUG_EINVAL, "%s: not a JSON object", what);
    if (scan.env.names & (MP_KEYS_ALIKE | MP_KEYS_ESCAPED))
        r = mp_view_unique(*text, &why);
    return r == MCPLUG_EPROTO ? mp_fail(err, MCPLUG_EINVAL, "%s: %s", what, why.text)
           : r == MCPLUG_OK   ? r
                              : mp_fail_nomem(err);
}

void mp_frame_flatten(char *text, size_t len)
{
    static const char ends[] = "\n\r";

    for (const char *c = ends; *c; c++)
        for (char *p = text; (p = memchr(p, *c, len - (size_t)(p - text)));)
            *p = ' ';
}

static void add_separator(struct mp_str *f)
{
    if (f->len && f->data[f->len - 1] != '{')
        mp_str_addc(f, ',');
}

/* ---- once per session ---- */

#define TASKS "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

void mp_frame_add_client(const struct mp_session *s, struct mp_str *out)
{
    mp_str_adds(out, "{\"name\":");
    mp_str_add_json(out, s->cfg.client_name, strlen(s->cfg.client_name));
    mp_str_adds(out, ",\"version\":");
    mp_str_add_json(out, s->cfg.client_version, strlen(s->cfg.client_version));
    mp_str_addc(out, '}');
}

int mp_frame_client(struct mp_session *s, struct mcplug_error *err)
{
    struct mp_str c, m;

    mp_str_init(&c, 1024);
    mp_str_addc(&c, '{');
    if (s->o.roots)
        mp_str_adds(&c, "\"roots\":{}");
    if (s->o.sample) {
        add_separator(&c);
        mp_str_adds(&c, "\"sampling\":{}");
    }
    if (s->o.elicit || s->o.elicit_url) {
        add_separator(&c);
        mp_str_addf(&c, "\"elicitation\":{%s%s%s}", s->o.elicit ? "\"form\":{}" : "",
                    s->o.elicit && s->o.elicit_url ? "," : "",
                    s->o.elicit_url ? "\"url\":{}" : "");
    }
    mp_str_addc(&c, '}');
    if (!(s->client.caps = mp_str_take(&c)))
        return mp_fail_nomem(err);

    mp_str_init(&m, 64 * 1024);
    mp_str_adds(&m, "\"io.modelcontextprotocol/protocolVersion\":\"" MP_MODERN "\","
                    "\"io.modelcontextprotocol/clientInfo\":");
    mp_frame_add_client(s, &m);
    mp_str_adds(&m, ",\"io.modelcontextprotocol/clientCapabilities\":{" TASKS);
    if (s->client.caps[1] != '}')
        mp_str_addc(&m, ',');
    mp_str_adds(&m, s->client.caps + 1); /* behind the brace */
    s->client.meta_len = m.len;
    s->client.meta = mp_str_take(&m);
    return s->client.meta ? MCPLUG_OK : mp_fail_nomem(err);
}

/* ---- beside the text ---- */

enum { PAIRS_MAX = 3 };

/* The envelope's pairs, so that a transport need not read the frame. NULL is left out, as
 * is a revision of "". Returns how many there are. */
static size_t add_pairs(struct mcplug_pair pairs[PAIRS_MAX], const char *method,
                        const char *revision, const char *name)
{
    size_t n = 0;

    if (method)
        pairs[n++] = (struct mcplug_pair){"method", method};
    if (*revision)
        pairs[n++] = (struct mcplug_pair){"protocol-version", revision};
    if (name)
        pairs[n++] = (struct mcplug_pair){"name", name};
    return n;
}

/* ---- requests ---- */

/* Keys of `_meta` that we write ourselves. */
static bool is_ours(const struct mp_frame_parts *p, bool modern, mp_view key)
{
    if (p->progress && mp_view_equals(key, "progressToken"))
        return true;
    return modern &&
           (mp_view_equals(key, "io.modelcontextprotocol/protocolVersion") ||
            mp_view_equals(key, "io.modelcontextprotocol/clientInfo") ||
            mp_view_equals(key, "io.modelcontextprotocol/clientCapabilities") ||
            (p->log_level && mp_view_equals(key, "io.modelcontextprotocol/logLevel")));
}

static void add_member(struct mp_str *f, mp_view key, mp_view value)
{
    add_separator(f);
    mp_str_add(f, key.data, key.len);
    mp_str_addc(f, ':');
    mp_str_add(f, value.data, value.len);
}

static bool has_key(mp_view object, mp_view wanted)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value))
        if (mp_view_same(key, wanted))
            return true;
    return false;
}

/* All of `object` but what we write ourselves, and what `but` has too. */
static void add_members(struct mp_str *f, const struct mp_frame_parts *p, bool modern,
                        mp_view object, mp_view but)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view key, value;

    while (mp_walk_member(&w, &key, &value))
        if (!is_ours(p, modern, key) && !(but.len && has_key(but, key)))
            add_member(f, key, value);
}

static void add_meta(const struct mp_session *s, struct mp_str *f, uint64_t id,
                     const struct mp_frame_parts *p, bool modern)
{
    if (!modern && !p->progress && !p->meta.len && !p->own_meta.len)
        return;
    add_separator(f);
    mp_str_add_lit(f, "\"_meta\":{");
    if (modern) {
        mp_str_add(f, s->client.meta, s->client.meta_len);
        if (p->log_level) {
            mp_str_adds(f, ",\"io.modelcontextprotocol/logLevel\":");
            mp_str_add_json(f, p->log_level, strlen(p->log_level));
        }
    }
    if (p->progress) {
        add_separator(f);
        mp_str_adds(f, "\"progressToken\":");
        mp_str_addu(f, id);
    }
    if (p->own_meta.len)
        add_members(f, p, modern, p->own_meta, p->meta);
    if (p->meta.len)
        add_members(f, p, modern, p->meta, mp_bytes(NULL, 0));
    mp_str_addc(f, '}');
}

/* give; NULL: no memory. A modern one gets what every request has in `_meta`. */
static mcplug_buf *request(struct mp_session *s, uint64_t id,
                           const struct mp_frame_parts *p, bool modern)
{
    struct mp_str *f = &s->client.scratch;

    mp_str_reset(f);
    mp_str_add_lit(f, "{\"jsonrpc\":\"2.0\",\"id\":");
    mp_str_addu(f, id);
    mp_str_add_lit(f, ",\"method\":\"");
    mp_str_adds(f, p->method);
    mp_str_add_lit(f, "\",\"params\":{");
    mp_str_add(f, p->members.data, p->members.len);
    if (p->answers.len) {
        add_separator(f);
        mp_str_add_lit(f, "\"inputResponses\":");
        mp_str_add(f, p->answers.data, p->answers.len);
    }
    if (p->state.len) {
        add_separator(f);
        mp_str_add_lit(f, "\"requestState\":");
        mp_str_add(f, p->state.data, p->state.len);
    }
    add_meta(s, f, id, p, modern);
    mp_str_add_lit(f, "}}");
    mcplug_buf *frame = f->failed ? NULL : mp_buf_new(f->data, f->len);
    if (f->cap > SCRATCH_KEPT)
        mp_str_clear(f);
    return frame;
}

int mp_frame_send(struct mp_session *s, struct mp_call *call,
                  const struct mp_frame_parts *p, uint64_t timeout_ms,
                  struct mcplug_error *err)
{
    bool modern = (p->era ? p->era : s->era) == MP_ERA_MODERN;
    struct mcplug_pair pairs[PAIRS_MAX + MP_HEADERS_MAX];
    size_t n = add_pairs(pairs, p->method, modern ? MP_MODERN : s->id->revision, p->name);
    mcplug_buf *frame = request(s, mp_rpc_next_id(s->rpc), p, modern);

    if (!frame)
        return mp_fail_nomem(err);
    if (p->n_headers)
        memcpy(pairs + n, p->headers, p->n_headers * sizeof *pairs);
    return mp_rpc_call(s->rpc, call, frame, pairs, n + p->n_headers, timeout_ms, err);
}

bool mp_frame_members(mp_view params, struct mp_str *members, mp_view *meta)
{
    struct mp_walk w = mp_walk_into(params);
    mp_view key, value;

    *meta = mp_bytes(NULL, 0);
    while (mp_walk_member(&w, &key, &value)) {
        if (mp_view_equals(key, "_meta"))
            *meta = value;
        else
            add_member(members, key, value);
    }
    return !members->failed;
}

/* ---- the rest ---- */

int mp_frame_notify(struct mp_session *s, const char *method, mp_view params,
                    struct mcplug_error *err)
{
    struct mcplug_pair pairs[PAIRS_MAX];
    size_t n = add_pairs(pairs, method, s->id->revision, NULL);
    struct mp_str f;

    mp_str_init(&f, MP_FRAME_MAX);
    mp_str_addf(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
    if (params.len) {
        mp_str_adds(&f, ",\"params\":");
        mp_str_add(&f, params.data, params.len);
    }
    mp_str_addc(&f, '}');
    mcplug_buf *frame = mp_str_to_buf(&f);
    return frame ? mp_rpc_send(s->rpc, MCPLUG_NOTIFICATION, 0, frame, pairs, n, err)
                 : mp_fail_nomem(err);
}

void mp_frame_answer(struct mp_session *s, mp_view id, uint64_t exchange, mp_view result,
                     int code, const char *message)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_pair pairs[PAIRS_MAX];
    size_t n = add_pairs(pairs, NULL, s->id->revision, NULL);
    struct mp_str f;

    mp_str_init(&f, MP_FRAME_MAX);
    mp_str_adds(&f, "{\"jsonrpc\":\"2.0\",\"id\":");
    mp_str_add(&f, id.data, id.len);
    if (result.len) {
        mp_str_adds(&f, ",\"result\":");
        mp_str_add(&f, result.data, result.len);
    } else {
        mp_str_addf(&f, ",\"error\":{\"code\":%d,\"message\":", code);
        mp_str_add_json(&f, message ? message : "", message ? strlen(message) : 0);
        mp_str_addc(&f, '}');
    }
    mp_str_addc(&f, '}');
    mcplug_buf *frame = mp_str_to_buf(&f);
    if (!frame)
        mp_fail_nomem(&err);
    else
        mp_rpc_send(s->rpc, MCPLUG_RESPONSE, exchange, frame, pairs, n, &err);
    if (err.code && err.code != MCPLUG_EOVERLOADED) /* those are counted below us */
        mp_log(s->cfg.log, MCPLUG_LOG_WARN, s->source, "an answer could not be sent: %s",
               err.text);
}
