/* For the suites of modules that speak with models, and their fuzz targets: a host of
 * which time and memory obey the test, a service `fetch` whose answers the test writes,
 * and a record of what the module told. */
#ifndef MODEL_KIT_H
#define MODEL_KIT_H

#include "base/buf.h"
#include "plugin/catalogue.h"
#include "plugin/props.h"

#include <mcplug/fetch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIT_MUST(condition)                                                              \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);              \
            abort();                                                                     \
        }                                                                                \
    } while (0)

/* ---- prompts ---- */

#define BYTES(s)                                                                         \
    {                                                                                    \
        (const unsigned char *)(s), strlen(s)                                            \
    }
#define ITEM(...)                                                                        \
    (&(const struct mcplug_item){.struct_size = sizeof(struct mcplug_item), __VA_ARGS__})
#define TEXT_ITEM(s) ITEM(.kind = MCPLUG_ITEM_TEXT, .text = BYTES(s))
#define IMAGE_ITEM(s)                                                                    \
    ITEM(.kind = MCPLUG_ITEM_IMAGE, .text = BYTES(s), .mime = "image/png")
#define PDF_ITEM(s, title)                                                               \
    ITEM(.kind = MCPLUG_ITEM_DOCUMENT, .text = BYTES(s), .mime = "application/pdf",      \
         .name = title)
#define USE_ITEM(i, n, args)                                                             \
    ITEM(.kind = MCPLUG_ITEM_TOOL_USE, .id = i, .name = n, .text = BYTES(args))
#define ITEM_LIST(...)                                                                   \
    .items = (const struct mcplug_item *const[]){__VA_ARGS__},                           \
    .n_items = sizeof((const struct mcplug_item *const[]){__VA_ARGS__}) / sizeof(void *)
#define RESULT_ITEM(i, n, ...)                                                           \
    ITEM(.kind = MCPLUG_ITEM_TOOL_RESULT, .id = i, .name = n, ITEM_LIST(__VA_ARGS__))
#define MESSAGE(...)                                                                     \
    (&(const struct mcplug_message){.struct_size = sizeof(struct mcplug_message),        \
                                    __VA_ARGS__})
#define USER(...) MESSAGE(.role = MCPLUG_ROLE_USER, ITEM_LIST(__VA_ARGS__))
#define ASSISTANT(...) MESSAGE(.role = MCPLUG_ROLE_ASSISTANT, ITEM_LIST(__VA_ARGS__))
#define RAW_ASSISTANT(json, ...)                                                         \
    MESSAGE(.role = MCPLUG_ROLE_ASSISTANT, .raw = BYTES(json), ITEM_LIST(__VA_ARGS__))
#define TOOL(n, d, s)                                                                    \
    (&(const struct mcplug_definition){.struct_size = sizeof(struct mcplug_definition),  \
                                       .name = n,                                        \
                                       .description = d,                                 \
                                       .schema = BYTES(s)})
#define MESSAGES(...)                                                                    \
    .messages = (const struct mcplug_message *const[]){__VA_ARGS__},                     \
    .n_messages =                                                                        \
        sizeof((const struct mcplug_message *const[]){__VA_ARGS__}) / sizeof(void *)
#define TOOLS(...)                                                                       \
    .tools = (const struct mcplug_definition *const[]){__VA_ARGS__},                     \
    .n_tools =                                                                           \
        sizeof((const struct mcplug_definition *const[]){__VA_ARGS__}) / sizeof(void *)
#define PROMPT_FOR(name, ...)                                                            \
    (&(const struct mcplug_prompt){                                                      \
        .struct_size = sizeof(struct mcplug_prompt), .model = name, __VA_ARGS__})
#define PROMPT(...) PROMPT_FOR("m-1", __VA_ARGS__)

/* A question that lives as long as any request. */
static const struct mcplug_item kit_item = {
    .struct_size = sizeof kit_item,
    .kind = MCPLUG_ITEM_TEXT,
    .text = {(const unsigned char *)"hello", 5},
};
static const struct mcplug_item *const kit_items[] = {&kit_item};
static const struct mcplug_message kit_message = {
    .struct_size = sizeof kit_message,
    .role = MCPLUG_ROLE_USER,
    .items = kit_items,
    .n_items = 1,
};
static const struct mcplug_message *const kit_messages[] = {&kit_message};
static const struct mcplug_prompt kit_hello = {
    .struct_size = sizeof kit_hello,
    .model = "m-1",
    .messages = kit_messages,
    .n_messages = 1,
};
#define HELLO (&kit_hello)

/* ---- memory ---- */

static unsigned long kit_allocs, kit_fail_at;
static bool kit_forever;

static inline bool kit_fails(void)
{
    kit_allocs++;
    return kit_fail_at != 0 &&
           (kit_forever ? kit_allocs >= kit_fail_at : kit_allocs == kit_fail_at);
}

static inline void *kit_alloc(size_t size)
{
    return kit_fails() ? NULL : calloc(1, size != 0 ? size : 1);
}

static inline void *kit_resize(void *p, size_t size)
{
    return kit_fails() ? NULL : realloc(p, size != 0 ? size : 1);
}

static inline mcplug_buf *kit_buf_new(const void *data, size_t len)
{
    return kit_fails() ? NULL : mp_buf_new(data, len);
}

/* ---- what the module told ---- */

struct kit_text {
    char *data;
    size_t len;
};

static struct {
    struct kit_text text, thought, raw, order;
    struct kit_text calls; /* ID NAME ARGUMENTS, a line each */
    struct mcplug_usage usage;
    uint64_t retry_after;
    bool has_retry_after;
    int n_ends, n_raws, n_pieces;
    enum mcplug_stop stop;
    struct mcplug_error why; /* code 0: none */
} told;

static inline void kit_add(struct kit_text *t, const void *data, size_t len)
{
    t->data = realloc(t->data, t->len + len + 1);
    KIT_MUST(t->data != NULL);
    if (len > 0)
        memcpy(t->data + t->len, data, len);
    t->len += len;
    t->data[t->len] = '\0';
}

static inline void kit_order(char what)
{
    KIT_MUST(told.n_ends == 0);
    if (told.order.len == 0 || told.order.data[told.order.len - 1] != what)
        kit_add(&told.order, &what, 1);
}

static inline void kit_forget(void)
{
    struct kit_text *all[] = {&told.text, &told.thought, &told.raw, &told.order,
                              &told.calls};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->data);
    memset(&told, 0, sizeof told);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        kit_add(all[i], "", 0);
}

static inline void kit_on_text(mcplug_reply *reply, struct mcplug_bytes piece)
{
    (void)reply;
    kit_order('t');
    told.n_pieces++;
    kit_add(&told.text, piece.data, piece.len);
}

static inline void kit_on_thought(mcplug_reply *reply, struct mcplug_bytes piece)
{
    (void)reply;
    kit_order('h');
    kit_add(&told.thought, piece.data, piece.len);
}

static inline void kit_on_call(mcplug_reply *reply, const char *id, const char *name,
                               struct mcplug_bytes arguments)
{
    (void)reply;
    kit_order('c');
    KIT_MUST(name != NULL);
    kit_add(&told.calls, id != NULL ? id : "-", strlen(id != NULL ? id : "-"));
    kit_add(&told.calls, " ", 1);
    kit_add(&told.calls, name, strlen(name));
    kit_add(&told.calls, " ", 1);
    kit_add(&told.calls, arguments.data, arguments.len);
    kit_add(&told.calls, "\n", 1);
}

static inline void kit_on_usage(mcplug_reply *reply, const struct mcplug_usage *usage)
{
    (void)reply;
    KIT_MUST(told.n_ends == 0);
    KIT_MUST(usage->struct_size >= sizeof *usage);
    told.usage = *usage;
}

static inline void kit_on_raw(mcplug_reply *reply, struct mcplug_bytes json)
{
    (void)reply;
    kit_order('r');
    KIT_MUST(++told.n_raws == 1);
    kit_add(&told.raw, json.data, json.len);
}

static inline void kit_on_retry_after(mcplug_reply *reply, uint64_t ms)
{
    (void)reply;
    KIT_MUST(told.n_ends == 0);
    told.has_retry_after = true;
    told.retry_after = ms;
}

static inline void kit_on_end(mcplug_reply *reply, enum mcplug_stop stop,
                              const struct mcplug_error *why)
{
    (void)reply;
    KIT_MUST(++told.n_ends == 1);
    told.stop = stop;
    if (why != NULL) {
        KIT_MUST(why->code != 0 && why->text[0] != '\0');
        told.why = *why;
    }
}

/* ---- time ---- */

struct mcplug_timer {
    uint64_t at;
    void (*fn)(void *arg);
    void *arg;
    struct mcplug_timer *next;
};
static uint64_t kit_clock;
static struct mcplug_timer *kit_timers;

static inline mcplug_timer *kit_timer_start(mcplug_self *self, uint64_t ms,
                                            void (*fn)(void *arg), void *arg)
{
    (void)self;
    mcplug_timer *t = kit_alloc(sizeof *t);
    if (t == NULL)
        return NULL;
    *t = (mcplug_timer){kit_clock + ms, fn, arg, kit_timers};
    kit_timers = t;
    return t;
}

static inline void kit_timer_stop(mcplug_timer *timer)
{
    mcplug_timer **at = &kit_timers;
    while (*at != NULL && *at != timer)
        at = &(*at)->next;
    KIT_MUST(*at != NULL);
    *at = timer->next;
    free(timer);
}

static inline uint64_t kit_now(mcplug_self *self)
{
    (void)self;
    return kit_clock;
}

/* Lets time pass, and what is due happen. */
static inline void kit_pass(uint64_t ms)
{
    uint64_t until = kit_clock + ms;
    for (;;) {
        mcplug_timer *due = NULL;
        for (mcplug_timer *t = kit_timers; t != NULL; t = t->next)
            if (t->at <= until && (due == NULL || t->at < due->at))
                due = t;
        if (due == NULL)
            break;
        kit_clock = due->at > kit_clock ? due->at : kit_clock;
        void (*fn)(void *) = due->fn;
        void *arg = due->arg;
        kit_timer_stop(due);
        fn(arg);
    }
    kit_clock = until;
}

/* ---- fetch ---- */

static struct {
    bool is_running, is_client; /* there is a request, a client */
    const struct mcplug_fetch_events *events;
    void *arg;
    const char *const *wants;
    struct kit_text url, body;
    struct kit_text headers; /* NAME: VALUE, a line each */
    int fails;               /* start() does, with this */
    int n_starts;
} net;

static inline int kit_client_new(void *ctx, const mcplug_props *settings, const char *url,
                                 mcplug_fetch_client **out, struct mcplug_error *err)
{
    (void)ctx, (void)settings, (void)url, (void)err;
    KIT_MUST(!net.is_client);
    net.is_client = true;
    *out = (mcplug_fetch_client *)&net;
    return MCPLUG_OK;
}

static inline void kit_client_free(mcplug_fetch_client *client)
{
    KIT_MUST(client == NULL || net.is_client);
    net.is_client = net.is_client && client == NULL;
}

static inline void kit_set(struct kit_text *t, const void *data, size_t len)
{
    t->len = 0;
    kit_add(t, data, len);
}

static inline int kit_start(mcplug_fetch_client *client,
                            const struct mcplug_fetch_ask *ask,
                            const struct mcplug_fetch_events *events, void *arg,
                            mcplug_fetch_request **out, struct mcplug_error *err)
{
    KIT_MUST((void *)client == &net && !net.is_running);
    KIT_MUST(strcmp(ask->method, "POST") == 0 && ask->body != NULL);
    net.n_starts++;
    if (net.fails != 0) {
        snprintf(err->text, sizeof err->text, "no request");
        return err->code = net.fails;
    }
    struct mcplug_bytes body = mp_buf_bytes(ask->body);
    kit_set(&net.url, ask->url, strlen(ask->url));
    kit_set(&net.body, body.data, body.len);
    kit_set(&net.headers, "", 0);
    for (size_t i = 0; i < ask->n_headers; i++) {
        const struct mcplug_pair *h = &ask->headers[i];
        kit_add(&net.headers, h->name, strlen(h->name));
        kit_add(&net.headers, ": ", 2);
        kit_add(&net.headers, h->value, strlen(h->value));
        kit_add(&net.headers, "\n", 1);
    }
    net.events = events;
    net.arg = arg;
    net.wants = ask->wants;
    net.is_running = true;
    *out = (mcplug_fetch_request *)&net.is_running;
    return MCPLUG_OK;
}

static inline void kit_stop(mcplug_fetch_request *request)
{
    KIT_MUST(request == NULL || net.is_running);
    net.is_running = net.is_running && request == NULL;
}

static inline int kit_is_written(const mcplug_fetch_request *request)
{
    (void)request;
    return 1;
}

static const struct mcplug_fetch kit_fetch = {
    .struct_size = sizeof kit_fetch,
    .client_new = kit_client_new,
    .client_free = kit_client_free,
    .start = kit_start,
    .stop = kit_stop,
    .is_written = kit_is_written,
};

static inline const void *kit_use(mcplug_self *self, const char *name, uint32_t version,
                                  void **ctx, struct mcplug_error *err)
{
    (void)self, (void)err;
    KIT_MUST(strcmp(name, MCPLUG_FETCH) == 0 && version == MCPLUG_FETCH_VERSION);
    *ctx = NULL;
    return &kit_fetch;
}

/* Headers of an answer: those that the module asked for, by name. */
static inline void feed_head_with(int status, const char *type, int64_t retry_after_ms,
                                  const char *name, const char *value)
{
    const char *values[MCPLUG_FETCH_WANTS_MAX] = {NULL};
    for (size_t i = 0; net.wants[i] != NULL; i++)
        if (name != NULL && strcmp(net.wants[i], name) == 0)
            values[i] = value;
    struct mcplug_fetch_head head = {sizeof head, status,         type,
                                     -1,          retry_after_ms, values};
    if (net.is_running)
        net.events->head(net.arg, &head);
}

static inline void feed_head(int status, const char *type)
{
    feed_head_with(status, type, -1, NULL, NULL);
}

/* In memory of its own, so that who reads behind it is caught. */
static inline void feed_bytes(const void *data, size_t len)
{
    if (!net.is_running)
        return;
    unsigned char *copy = malloc(len != 0 ? len : 1);
    KIT_MUST(copy != NULL);
    memcpy(copy, data, len);
    net.events->body(net.arg, (struct mcplug_bytes){copy, len});
    free(copy);
}

static inline void feed(const char *text)
{
    feed_bytes(text, strlen(text));
}

static inline void feed_done(int code, int os_error)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    if (!net.is_running)
        return;
    net.is_running = false;
    why.code = code;
    why.os_error = os_error;
    snprintf(why.text, sizeof why.text, "the connection ended");
    net.events->done(net.arg, code != 0 ? &why : NULL);
}

/* ---- the module ---- */

static struct mcplug_host kit_host;
static struct {
    const struct mcplug_plugin *plugin;
    const struct mcplug_feature *feature;
    const struct mcplug_model_ops *ops;
    void *ctx, *model, *request;
    mcplug_props *settings;
    struct mcplug_error err;
} kit;

static inline void kit_init(const struct mcplug_plugin *plugin, const char *feature)
{
    static struct mcplug_mem mem;
    static struct mcplug_loop loop;
    static struct mcplug_reply_ops reply = {
        .struct_size = sizeof reply,
        .text = kit_on_text,
        .thought = kit_on_thought,
        .call = kit_on_call,
        .usage = kit_on_usage,
        .raw = kit_on_raw,
        .retry_after = kit_on_retry_after,
        .end = kit_on_end,
    };
    struct mp_catalogue_options options = {.helper_dir = "", .reply = &reply};
    mp_host_init(&kit_host, &options, NULL);
    mem = *kit_host.mem;
    mem.alloc = kit_alloc;
    mem.resize = kit_resize;
    mem.free = free;
    mem.buf_new = kit_buf_new;
    loop = (struct mcplug_loop){.struct_size = sizeof loop,
                                .timer_start = kit_timer_start,
                                .timer_stop = kit_timer_stop,
                                .now = kit_now};
    kit_host.mem = &mem;
    kit_host.loop = &loop;
    kit_host.use = kit_use;
    kit.plugin = plugin;
    for (size_t i = 0; i < plugin->n_features; i++)
        if (strcmp(plugin->features[i].name, feature) == 0)
            kit.feature = &plugin->features[i];
    KIT_MUST(kit.feature != NULL && kit.feature->kind == MCPLUG_MODEL);
    kit.ops = kit.feature->ops;
    KIT_MUST(plugin->init(&kit_host, NULL, &kit.ctx, &kit.err) == MCPLUG_OK);
    kit_forget();
}

/* Settings for the next kit_open(). */
static inline void kit_setting(const char *name, const char *value)
{
    if (kit.settings == NULL)
        kit.settings = mp_props_new();
    KIT_MUST(mp_props_set(kit.settings, name, value) == MCPLUG_OK);
}

static inline int kit_open(void)
{
    kit.err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    if (kit.settings == NULL)
        kit.settings = mp_props_new();
    if (!mp_props_is_set(kit.settings, "model"))
        KIT_MUST(mp_props_set(kit.settings, "model", "m") == MCPLUG_OK);
    KIT_MUST(mp_props_check(kit.settings, kit.feature->options, "model", &kit.err) ==
             MCPLUG_OK);
    kit.err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    return kit.ops->open(kit.ctx, kit.settings, &kit.model, &kit.err);
}

static inline void kit_drop(void)
{
    if (kit.request != NULL)
        kit.ops->drop(kit.request);
    kit.request = NULL;
    KIT_MUST(kit_timers == NULL && !net.is_running);
}

static inline void kit_close(void)
{
    kit_drop();
    if (kit.model != NULL)
        kit.ops->close(kit.model);
    kit.model = NULL;
    KIT_MUST(!net.is_client);
    mp_props_free(kit.settings);
    kit.settings = NULL;
}

static inline void kit_fini(void)
{
    kit_close();
    kit.plugin->fini(kit.ctx);
    struct kit_text *all[] = {&told.text,  &told.thought, &told.raw, &told.order,
                              &told.calls, &net.url,      &net.body, &net.headers};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->data);
    memset(&told, 0, sizeof told);
    memset(&net, 0, sizeof net);
}

static inline int kit_ask(const struct mcplug_prompt *prompt)
{
    kit_drop();
    kit_forget();
    kit.err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    return kit.ops->ask(kit.model, (mcplug_reply *)&told, prompt, &kit.request, &kit.err);
}

static inline int kit_count(const struct mcplug_prompt *prompt)
{
    kit_drop();
    kit_forget();
    kit.err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    return kit.ops->count(kit.model, (mcplug_reply *)&told, prompt, &kit.request,
                          &kit.err);
}

/* Asks, and gets this answer, in two pieces that are cut at `cut`. */
static inline void kit_answer(const char *type, const char *body, size_t cut)
{
    KIT_MUST(kit_ask(HELLO) == MCPLUG_OK);
    feed_head(200, type);
    feed_bytes(body, cut);
    feed_bytes(body + cut, strlen(body) - cut);
    feed_done(0, 0);
}

static inline void kit_stream(const char *body)
{
    kit_answer("text/event-stream", body, strlen(body));
}

/* The same is told of the stream wherever it is cut; what it is, the caller has seen in
 * one piece. */
static inline void kit_every_cut(const char *body)
{
    kit_stream(body);
    KIT_MUST(told.n_ends == 1);
    char *text = strdup(told.text.data), *thought = strdup(told.thought.data);
    char *calls = strdup(told.calls.data), *raw = strdup(told.raw.data);
    enum mcplug_stop stop = told.stop;
    int code = told.why.code;
    for (size_t cut = 0; cut <= strlen(body); cut++) {
        kit_answer("text/event-stream", body, cut);
        KIT_MUST(told.n_ends == 1 && told.stop == stop && told.why.code == code);
        KIT_MUST(strcmp(told.text.data, text) == 0);
        KIT_MUST(strcmp(told.thought.data, thought) == 0);
        KIT_MUST(strcmp(told.calls.data, calls) == 0);
        KIT_MUST(strcmp(told.raw.data, raw) == 0);
    }
    free(text);
    free(thought);
    free(calls);
    free(raw);
}

/* Every allocation fails, once and from then on, while `act` opens, asks and answers:
 * each request that began ends once, and nothing is left. */
static inline void kit_torture(void (*act)(void))
{
    for (int mode = 0; mode < 2; mode++) {
        unsigned long n = 0, needed;
        do {
            kit_forever = mode;
            kit_allocs = 0;
            kit_fail_at = ++n;
            act();
            needed = kit_allocs;
            kit_fail_at = 0;
            KIT_MUST(kit.request == NULL || told.n_ends == 1);
            kit_close();
            KIT_MUST(n < 100000);
        } while (needed >= n);
        KIT_MUST(n > 1);
    }
}

#endif
