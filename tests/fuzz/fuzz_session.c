/* A whole session against a server that says anything: every call ends exactly once,
 * and the books balance. The input is a script: lines that the server says, with \1 for
 * the id of the newest request, and commands of the program for some first bytes. */
#include "../unit/own_request.h"
#include "base/mem.h"
#include "session/session.h"

#include <stdlib.h>

static struct {
    struct mp_loop *loop;
    mcplug_conn *conn;
    uint64_t newest;
    struct mp_session *server;
    unsigned started, ended, readies, closes;
    struct mp_request *last;
    mcplug_input *input;
} f;

static int t_open(void *ctx, mcplug_conn *conn, const mcplug_props *settings, void **out,
                  struct mcplug_error *err)
{
    (void)settings, (void)err;
    f.conn = conn;
    *out = ctx;
    mp_link_wire.opened(conn);
    return MCPLUG_OK;
}

static int t_send(void *t, mcplug_buf *frame, const struct mcplug_envelope *env,
                  struct mcplug_error *err)
{
    (void)t, (void)err;
    if (env->kind == MCPLUG_REQUEST)
        f.newest = env->serial;
    struct mcplug_bytes b = mp_buf_bytes(frame);
    static const struct mp_scan_limits limits = {.depth = 64, .tokens = 100000};
    if (mp_scan_text((const char *)b.data, b.len, &limits, NULL, NULL) != MCPLUG_OK)
        abort(); /* what we send is always JSON */
    mp_buf_unref(frame);
    return MCPLUG_OK;
}

static void t_close(void *t)
{
    mcplug_conn *conn = f.conn;
    (void)t;
    f.conn = NULL;
    if (conn)
        mp_link_wire.closed(conn, NULL);
}

static void t_destroy(void *t)
{
    (void)t;
}

static const struct mcplug_transport_ops ops = {.struct_size = sizeof ops,
                                                .open = t_open,
                                                .send = t_send,
                                                .close = t_close,
                                                .destroy = t_destroy};

static void on_done(void *arg, mcplug_call *call, mcplug_result *r,
                    const struct mcplug_error *why)
{
    (void)arg, (void)why;
    f.ended++;
    if (f.last && &f.last->base == call)
        f.last = NULL;
    if (r)
        (void)(mcplug_result_is_error(r) + strlen(mcplug_result_error_text(r)));
}

static void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    (void)arg, (void)why, (void)list;
    f.ended++;
}

static void on_input(void *arg, struct mp_session *s, mcplug_input *in, const char *p,
                     size_t n)
{
    (void)arg, (void)s, (void)p, (void)n;
    if (f.input)
        mcplug_input_answer(f.input, "{\"action\":\"decline\"}");
    f.input = in;
}

static void on_ready(void *arg, struct mp_session *s, const struct mcplug_error *why)
{
    (void)arg, (void)s, (void)why;
    f.readies++;
}

static void on_closed(void *arg)
{
    (void)arg;
    f.closes++;
}

static void turn(void)
{
    mp_loop_advance(f.loop, 0);
    mp_loop_advance(f.loop, 0);
}

static void command(uint8_t c)
{
    switch (c % 8) {
    case 0:
        f.last = own_request(f.server, "tools/call", mp_text("{}"), "t", NULL, on_done,
                             NULL, NULL);
        f.started += f.last != NULL;
        break;
    case 1:
        f.started +=
            mp_lists_get(f.server, MCPLUG_TOOLS, on_list, NULL, NULL) == MCPLUG_OK;
        break;
    case 2:
        if (f.last)
            mp_request_cancel(f.last);
        break;
    case 3:
        mp_loop_advance(f.loop, 700);
        break;
    case 4:
        if (f.input)
            mcplug_input_answer(f.input, "{\"action\":\"accept\"}");
        f.input = NULL;
        break;
    case 5:
        mp_notify_subscribe(f.server, "u:1", true, NULL);
        break;
    case 6:
        f.started +=
            mp_lists_get(f.server, MCPLUG_RESOURCES, on_list, NULL, NULL) == MCPLUG_OK;
        break;
    case 7:
        if (f.conn) {
            struct mcplug_error why = {.struct_size = sizeof why,
                                       .code = MCPLUG_ECLOSED,
                                       .os_error = 32,
                                       .text = "gone"};
            mcplug_conn *conn = f.conn;
            f.conn = NULL;
            mp_link_wire.closed(conn, &why);
        }
        break;
    }
}

static void say(const uint8_t *line, size_t len)
{
    struct mp_str s;
    mp_str_init(&s, 1 << 20);
    for (size_t i = 0; i < len; i++) {
        if (line[i] == 1)
            mp_str_addu(&s, f.newest);
        else
            mp_str_addc(&s, (char)line[i]);
    }
    if (f.conn && !s.failed)
        mp_link_wire.feed(f.conn, 0, mp_bytes(s.data, s.len), 1);
    mp_str_clear(&s);
}

static void play(const uint8_t *data, size_t size)
{
    while (size) {
        const uint8_t *nl = memchr(data, '\n', size);
        size_t len = nl ? (size_t)(nl - data) : size;
        if (len && data[0] >= 0xf0)
            command(data[0]);
        else
            say(data, len);
        turn();
        size_t used = nl ? len + 1 : len;
        data += used;
        size -= used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_events log = {0};
    struct mp_plugin plugin = {0};
    struct mp_offer offer = {.feature = {.name = "fuzz", .ops = &ops}, .plugin = &plugin};
    struct mp_session_config cfg = {
        .log = &log, .client_name = "f", .client_version = "1", .spill_dir = "/dev/shm"};
    struct mp_session_options o = {
        .timeout_ms = 30000, .tool_ms = 5000, .elicit = on_input, .roots = on_input};
    static struct mp_loop *loop; /* one for all runs: making it is most of the work */
    if (!loop) {
        loop = mp_loop_new(NULL);
        mp_loop_fake_clock(loop);
    }
    memset(&f, 0, sizeof f);
    cfg.loop = f.loop = loop;
    mcplug_props *props = mp_props_new();
    struct mp_identity id = {0};
    if (mp_session_open(&cfg, &offer, props, &o, "fuzz", &id, on_ready, NULL, &f.server,
                        NULL))
        abort();
    turn();
    play(data, size);

    struct mcplug_ledger l = {.struct_size = sizeof l};
    mp_session_count(f.server, &l);
    if (l.issued != l.under_way + l.ok + l.tool_error + l.peer_error + l.transport_error +
                        l.timed_out + l.cancelled)
        abort();
    mp_session_close(f.server, NULL, on_closed, NULL);
    turn();
    if (f.input)
        mcplug_input_refuse(f.input, 0, "late");
    if (f.ended != f.started || f.readies > 1 || f.closes != 1)
        abort();
    mp_identity_clear(&id);
    mp_props_free(props);
    return 0;
}
