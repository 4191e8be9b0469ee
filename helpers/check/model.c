/* A model that is asked: by a module of any API, of which nothing is known but where it
 * is. So what an endpoint can do wrong is tried, and what the module says of it. */
#include "helpers/check/kit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "plugin/props.h"
#include "plugin/services.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define FAULT_MS 5000   /* for the end, after an endpoint of ours has failed */
#define ANSWER_MS 10000 /* for that of a real answer */
#define SILENT_MS 200   /* under way, before it is dropped */
#define LATE_MS 50      /* for calls after the last one */
#define TEXT_MAX ((size_t)1 << 20)

/* ---- its options ---- */

void mp_kit_model_options(struct mp_kit *kit, const struct mcplug_feature *f)
{
    static const struct mcplug_option own[] = {MCPLUG_MODEL_OPTIONS};

    for (size_t i = 0; i < MP_COUNT(own); i++) {
        const struct mcplug_option *o = f->options;
        while (o && o->name && strcmp(o->name, own[i].name) != 0)
            o++;
        if (!o || !o->name || strcmp(o->type, own[i].type) != 0)
            mp_kit_say(kit, false,
                       "model \"%s\": the option \"%s\", a%s %s, is missing; declare "
                       "MCPLUG_MODEL_OPTIONS",
                       f->name, own[i].name, own[i].type[0] == 'i' ? "n" : "",
                       own[i].type);
    }
}

/* ---- the record of one request ---- */

struct mcplug_reply {
    struct mp_kit *kit;
    const char *name; /* of the model */
    const char *op;   /* "ask" or "count" */
    pthread_t thread;
    _Atomic(const char *) foreign; /* what was called on another thread */
    unsigned ends, raws, usages, pieces, calls;
    bool is_dropped;
    bool may_retry_after; /* retry_after() came */
    uint64_t input;       /* tokens */
    struct mp_str text;
    struct mcplug_error why; /* end() said; 0: nothing */
    const char *wrong[8];    /* static texts, each once */
    size_t n_wrong;
};

static void wrong(mcplug_reply *r, const char *what)
{
    for (size_t i = 0; i < r->n_wrong; i++)
        if (r->wrong[i] == what)
            return;
    if (r->n_wrong < MP_COUNT(r->wrong))
        r->wrong[r->n_wrong++] = what;
}

/* False: the record must not be touched, or what is told does not count. */
#define HERE(r, call)                                                                    \
    (is_here(r, call) && is_open(r, call " after drop()", call " after end()"))

static bool is_here(mcplug_reply *r, const char *call)
{
    if (pthread_equal(r->thread, pthread_self()))
        return true;
    atomic_store(&r->foreign, call);
    return false;
}

static bool is_open(mcplug_reply *r, const char *dropped, const char *ended)
{
    if (r->is_dropped)
        wrong(r, dropped);
    else if (r->ends)
        wrong(r, ended);
    return !r->is_dropped && !r->ends;
}

static void kit_text(mcplug_reply *r, struct mcplug_bytes piece)
{
    if (!HERE(r, "text()"))
        return;
    r->pieces++;
    if (piece.len && !piece.data)
        wrong(r, "text() of bytes at NULL");
    else if (piece.len < TEXT_MAX - r->text.len)
        mp_str_add_bytes(&r->text, piece);
}

static void kit_thought(mcplug_reply *r, struct mcplug_bytes piece)
{
    if (HERE(r, "thought()") && piece.len && !piece.data)
        wrong(r, "thought() of bytes at NULL");
}

static void kit_call(mcplug_reply *r, const char *id, const char *name,
                     struct mcplug_bytes arguments)
{
    (void)id;
    if (!HERE(r, "call()"))
        return;
    r->calls++;
    if (!name || !*name)
        wrong(r, "call() without the name of a tool");
    if (arguments.len && !arguments.data)
        wrong(r, "call() with arguments at NULL");
}

static void kit_usage(mcplug_reply *r, const struct mcplug_usage *usage)
{
    if (!HERE(r, "usage()"))
        return;
    r->usages++;
    if (!usage || !MCPLUG_KNOWS(usage, struct mcplug_usage, output))
        wrong(r, "usage() without its struct, or a struct_size of it");
    else
        r->input = usage->input;
}

static void kit_raw(mcplug_reply *r, struct mcplug_bytes json)
{
    if (!HERE(r, "raw()"))
        return;
    if (r->raws++)
        wrong(r, "raw() more than once");
    if (!json.data || !mp_service_json()->valid(json))
        wrong(r, "raw() of what is not JSON");
}

static void kit_retry_after(mcplug_reply *r, uint64_t ms)
{
    (void)ms;
    if (HERE(r, "retry_after()"))
        r->may_retry_after = true;
}

static void kit_end(mcplug_reply *r, enum mcplug_stop stop,
                    const struct mcplug_error *why)
{
    if (!is_here(r, "end()") || !is_open(r, "end() after drop()", "end() more than once"))
        return;
    r->ends++;
    if (why)
        mp_error_copy(&r->why, why);
    if (why && why->code >= 0) {
        wrong(r, "end() for a reason without an error code");
        r->why.code = MCPLUG_EIO;
    } else if (why && !why->text[0]) {
        wrong(r, "end() for a reason without a text");
    }
    if (!why && (stop < MCPLUG_STOP_END || stop > MCPLUG_STOP_PAUSED))
        wrong(r, "end() with an unknown mcplug_stop");
}

const struct mcplug_reply_ops mp_kit_reply = {
    .struct_size = sizeof mp_kit_reply,
    .text = kit_text,
    .thought = kit_thought,
    .call = kit_call,
    .usage = kit_usage,
    .raw = kit_raw,
    .retry_after = kit_retry_after,
    .end = kit_end,
};

/* ---- one request ---- */

struct model {
    struct mp_kit *kit;
    const struct mcplug_model_ops *ops;
    const char *name;
    char who[64];
    void *m;
};

static bool has_ended(const void *arg)
{
    const mcplug_reply *r = arg;
    return r->ends;
}

static bool never(const void *arg)
{
    (void)arg;
    return false;
}

static bool is_utf8(const struct mp_str *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->len; i += n) {
        n = mp_utf8_len((const unsigned char *)text->data + i, text->len - i);
        if (!n)
            return false;
    }
    return true;
}

static const struct mcplug_prompt *question(void)
{
    static const struct mcplug_item hello = {
        .struct_size = sizeof hello,
        .kind = MCPLUG_ITEM_TEXT,
        .text = {(const unsigned char *)"Say hello.", 10}};
    static const struct mcplug_item *const items[] = {&hello};
    static const struct mcplug_message message = {.struct_size = sizeof message,
                                                  .role = MCPLUG_ROLE_USER,
                                                  .items = items,
                                                  .n_items = 1};
    static const struct mcplug_message *const messages[] = {&message};
    static const struct mcplug_definition tool = {
        .struct_size = sizeof tool,
        .name = "add",
        .description = "Adds two numbers",
        .schema = {(const unsigned char *)"{\"type\":\"object\",\"properties\":{}}", 33}};
    static const struct mcplug_definition *const tools[] = {&tool};
    static const struct mcplug_prompt prompt = {
        .struct_size = sizeof prompt,
        .max_tokens = 64,
        .model = "check",
        .system = {(const unsigned char *)"Be brief.", 9},
        .messages = messages,
        .n_messages = 1,
        .tools = tools,
        .n_tools = 1};
    return &prompt;
}

/* give: request_end; NULL: it could not be begun, which was reported. */
static mcplug_reply *request_begin(struct model *m, const char *op, void **request)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    mcplug_reply *r = mp_alloc(sizeof *r);

    if (!r) {
        mp_kit_say(m->kit, false, "%s: out of memory", m->who);
        return NULL;
    }
    r->kit = m->kit;
    r->name = m->name;
    r->op = op;
    r->thread = pthread_self();
    r->why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    mp_str_init(&r->text, TEXT_MAX);
    mp_kit_enter(m->kit, "%s: %s()", m->who, op);
    int result =
        (op[0] == 'c' ? m->ops->count : m->ops->ask)(m->m, r, question(), request, &why);
    mp_kit_leave(m->kit);
    if (result == MCPLUG_OK)
        return r;
    bool may_fail = op[0] == 'c' && result == MCPLUG_ENOTSUP;
    mp_kit_say(m->kit, may_fail, "%s: %s() failed: %s", m->who, op,
               why.text[0] ? why.text : "no reason given");
    mp_kit_await(m->kit, m->who, never, r, LATE_MS);
    if (r->ends)
        mp_kit_say(m->kit, false, "%s: end() followed %s(), which failed", m->who, op);
    mp_str_clear(&r->text);
    mp_free(r);
    return NULL;
}

/* Drops it, and reports what was wrong with it. */
static void request_end(struct model *m, mcplug_reply *r, void *request)
{
    if (r->ends && r->why.code == MCPLUG_OK && !is_utf8(&r->text))
        wrong(r, "text() that is not UTF-8");
    mp_kit_enter(m->kit, "%s: drop()", m->who);
    m->ops->drop(request);
    mp_kit_leave(m->kit);
    r->is_dropped = true;
    mp_kit_await(m->kit, m->who, never, r, LATE_MS);
    for (size_t i = 0; i < r->n_wrong; i++)
        mp_kit_say(m->kit, false, "%s: %s", m->who, r->wrong[i]);
    const char *foreign = atomic_load(&r->foreign);
    if (foreign)
        mp_kit_say(m->kit, false, "%s: called %s on another thread", m->who, foreign);
    mp_str_clear(&r->text);
    mp_free(r);
}

/* ---- an endpoint that fails ---- */

static const struct fault {
    enum mp_kit_answer answer;
    const char *what;
    int code;   /* 0: any */
    int status; /* 0: none */
} faults[] = {
    {MP_KIT_UNAUTHORIZED, "HTTP 401", MCPLUG_EAUTH, 401},
    {MP_KIT_TOO_MANY, "HTTP 429", MCPLUG_EOVERLOADED, 429},
    {MP_KIT_BROKEN, "HTTP 500", 0, 500},
    {MP_KIT_GARBAGE, "an answer that makes no sense", 0, 0},
    {MP_KIT_CUT, "an answer that breaks off", 0, 0},
};
static const struct fault refused = {MP_KIT_SILENT, "an endpoint that is gone", 0, 0};

static void judge(struct model *m, const mcplug_reply *r, const struct fault *fault)
{
    struct mp_kit *kit = m->kit;

    if (!r->ends)
        mp_kit_say(kit, false, "%s: %s: no end() within %d s", m->who, fault->what,
                   FAULT_MS / 1000);
    else if (r->why.code == MCPLUG_OK)
        mp_kit_say(kit, false, "%s: %s: end() says that all went well", m->who,
                   fault->what);
    else if (fault->code && r->why.code != fault->code)
        mp_kit_say(kit, false, "%s: %s: end() has the error \"%s\", not \"%s\"", m->who,
                   fault->what, mp_error_name(r->why.code), mp_error_name(fault->code));
    else if (fault->status && r->why.peer_status != fault->status)
        mp_kit_say(kit, true, "warning: %s: %s: end() has the peer_status %d", m->who,
                   fault->what, r->why.peer_status);
    if (r->ends && fault->answer == MP_KIT_TOO_MANY &&
        (!(r->why.flags & MCPLUG_ERROR_RETRY) || !r->may_retry_after))
        mp_kit_say(kit, true,
                   "warning: %s: %s: the core is not told that it may ask again, or "
                   "when: MCPLUG_ERROR_RETRY, retry_after()",
                   m->who, fault->what);
}

static void try_fault(struct model *m, const struct fault *fault, const char *op)
{
    void *request = NULL;

    mp_kit_endpoint_set(m->kit->endpoint, fault->answer);
    mcplug_reply *r = request_begin(m, op, &request);
    if (!r)
        return;
    mp_kit_await(m->kit, m->who, has_ended, r, FAULT_MS);
    if (mp_kit_endpoint_requests(m->kit->endpoint)) /* else it knows nothing of it */
        judge(m, r, fault);
    request_end(m, r, request);
}

/* It is dropped while it is under way. */
static void try_drop(struct model *m)
{
    void *request = NULL;
    mcplug_reply *r = request_begin(m, "ask", &request);

    if (!r)
        return;
    if (m->kit->endpoint)
        mp_kit_await(m->kit, m->who, has_ended, r, SILENT_MS);
    request_end(m, r, request);
}

static void try_endpoint(struct model *m)
{
    struct mp_kit_endpoint *e = m->kit->endpoint;
    bool counts = MCPLUG_HAS(m->ops, struct mcplug_model_ops, count);

    for (size_t i = 0; i < MP_COUNT(faults); i++) {
        try_fault(m, &faults[i], "ask");
        if (!mp_kit_endpoint_requests(e)) {
            mp_kit_say(m->kit, true,
                       "warning: %s: nothing arrived at the URL that it was given",
                       m->who);
            return;
        }
        if (counts)
            try_fault(m, &faults[i], "count");
    }
    mp_kit_endpoint_set(e, MP_KIT_SILENT);
    try_drop(m);
    mp_kit_endpoint_stop(e);
    try_fault(m, &refused, "ask");
}

/* ---- one that answers ---- */

/* True: there was an answer. */
static bool try_answer(struct model *m, const char *op)
{
    void *request = NULL;
    mcplug_reply *r = request_begin(m, op, &request);

    if (!r)
        return false;
    mp_kit_await(m->kit, m->who, has_ended, r, ANSWER_MS);
    bool ok = r->ends && r->why.code == MCPLUG_OK, is_count = op[0] == 'c';
    if (!r->ends)
        mp_kit_say(m->kit, false, "%s: no end() within %d s of %s()", m->who,
                   ANSWER_MS / 1000, op);
    else if (!ok && !(is_count && r->why.code == MCPLUG_ENOTSUP))
        mp_kit_say(m->kit, true, "warning: %s: %s() ended with an error: %s", m->who, op,
                   r->why.text);
    else if (ok && is_count && !r->input)
        mp_kit_say(m->kit, false, "%s: count() ended without usage()", m->who);
    else if (ok && !r->usages)
        mp_kit_say(m->kit, true, "warning: %s: usage() was not called", m->who);
    if (ok && !is_count && !r->pieces && !r->calls)
        mp_kit_say(m->kit, true, "warning: %s: an answer without text or calls", m->who);
    request_end(m, r, request);
    return ok;
}

/* ---- the whole ---- */

void mp_kit_model(struct mp_kit *kit, const struct mp_offer *offer,
                  const mcplug_props *settings)
{
    struct model m = {.kit = kit, .ops = offer->feature.ops, .name = offer->feature.name};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    int before = kit->failed;
    bool answered = false;

    snprintf(m.who, sizeof m.who, "model \"%.48s\"", m.name);
    mp_kit_enter(kit, "%s: open()", m.who);
    int r = m.ops->open(offer->plugin->ctx, settings, &m.m, &why);
    mp_kit_leave(kit);
    if (r != MCPLUG_OK) {
        mp_kit_say(kit, false, "%s: open() failed: %s", m.who,
                   why.text[0] ? why.text : "no reason given");
        return;
    }
    if (kit->endpoint) {
        try_endpoint(&m);
    } else {
        answered = try_answer(&m, "ask");
        try_drop(&m);
        if (MCPLUG_HAS(m.ops, struct mcplug_model_ops, count))
            try_answer(&m, "count");
    }
    mp_kit_enter(kit, "%s: close()", m.who);
    m.ops->close(m.m);
    mp_kit_leave(kit);
    mp_kit_await(kit, m.who, never, NULL, LATE_MS);
    if (kit->failed == before)
        mp_kit_say(kit, true, "%s: everything in order and counted%s", m.who,
                   answered ? ", and an answer came" : "");
}
