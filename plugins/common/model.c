#include "model.h"

#include "header.h"
#include "url.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const wanted[] = {"retry-after-ms", "x-should-retry", NULL};

/* ---- open and close ---- */

static char *copy(const struct mcplug_host *host, const char *before, const char *text)
{
    char *all = host->mem->alloc(strlen(before) + strlen(text) + 1);
    if (all != NULL)
        stpcpy(stpcpy(all, before), text);
    return all;
}

/* The key of the environment is for the API itself: settings that name another address
 * cannot send it there. */
static int is_own_address(const struct model *m)
{
    struct url here, own;
    return url_parse(m->url, &here) == NULL && url_parse(m->api->url, &own) == NULL &&
           url_same_origin(&here, &own);
}

static int has_login(const struct model *m)
{
    static const char *const names[] = {"authorization", "x-api-key", "x-goog-api-key",
                                        "api-key"};
    const char *const *h = m->host->diag->prop_list(m->settings, "headers");
    for (; *h != NULL; h += 2)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strcasecmp(*h, names[i]) == 0)
                return 1;
    return 0;
}

static int take_key(struct model *m, struct mcplug_error *err)
{
    const struct mcplug_host *host = m->host;
    const char *variable = m->api->key_variable;
    const char *key = host->diag->prop(m->settings, "apiKey");
    struct url url;
    int is_own = is_own_address(m);
    int is_here = url_parse(m->url, &url) == NULL && url_is_loopback(&url);
    if ((key == NULL || key[0] == '\0') && variable != NULL && (is_own || is_here) &&
        !has_login(m))
        key = secure_getenv(variable);
    if (key == NULL || key[0] == '\0') {
        if (variable == NULL || !is_own || has_login(m))
            return MCPLUG_OK;
        return host->diag->fail(err, MCPLUG_EAUTH,
                                "there is no API key: set apiKey, or the environment "
                                "variable %s",
                                variable);
    }
    if (!header_is_value(key))
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "the API key has control characters");
    m->key = copy(host, "", key);
    m->bearer = copy(host, "Bearer ", key);
    if (m->key == NULL || m->bearer == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    return MCPLUG_OK;
}

static int take_url(struct model *m, struct mcplug_error *err)
{
    const struct mcplug_host *host = m->host;
    const char *url = host->diag->prop(m->settings, "url");
    struct url parts;
    if (url == NULL || url[0] == '\0')
        url = m->api->url;
    const char *wrong = url_parse(url, &parts);
    if (wrong == NULL && strpbrk(url, "?#") != NULL)
        wrong = "has a query or a fragment; the API's base is expected";
    if (wrong != NULL)
        return host->diag->fail(err, MCPLUG_ECONFIG, "url: %s", wrong);
    m->url = copy(host, "", url);
    if (m->url == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    size_t n = strlen(m->url);
    while (n > 0 && m->url[n - 1] == '/')
        m->url[--n] = '\0';
    return MCPLUG_OK;
}

static void wipe(const struct mcplug_host *host, char *secret)
{
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
    host->mem->free(secret);
}

int model_open(void *ctx, const struct model_api *api, const mcplug_props *settings,
               void **out, struct mcplug_error *err)
{
    struct web_module *module = ctx;
    const struct mcplug_host *host = module->host;
    int r = web_use(module, err);
    if (r != MCPLUG_OK)
        return r;
    if (!MCPLUG_HAS(host, struct mcplug_host, reply))
        return host->diag->fail(err, MCPLUG_ENOTSUP, "this host asks no models");
    struct model *m = host->mem->alloc(sizeof *m);
    if (m == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    m->host = host;
    m->self = module->self;
    m->json = host->service(module->self, "json", 1);
    m->fetch = module->fetch;
    m->api = api;
    m->settings = settings;
    int64_t idle = host->diag->prop_int(settings, "idleTimeout", MODEL_IDLE_MS);
    m->idle_ms = idle > 0 ? (uint64_t)idle : MODEL_IDLE_MS;
    r = take_url(m, err);
    if (r == MCPLUG_OK)
        r = take_key(m, err);
    if (r == MCPLUG_OK)
        r = m->fetch->client_new(module->fetch_ctx, settings, m->url, &m->client, err);
    if (r == MCPLUG_OK)
        *out = m;
    else
        model_close(m);
    return r;
}

void model_close(void *arg)
{
    struct model *m = arg;
    m->fetch->client_free(m->client);
    wipe(m->host, m->key);
    wipe(m->host, m->bearer);
    m->host->mem->free(m->url);
    m->host->mem->free(m);
}

/* ---- how it ends ---- */

static void stop_timer(struct model_request *rq)
{
    if (rq->timer != NULL)
        rq->model->host->loop->timer_stop(rq->timer);
    rq->timer = NULL;
}

static void stop_request(struct model_request *rq)
{
    if (rq->request != NULL)
        rq->model->fetch->stop(rq->request);
    rq->request = NULL;
    stop_timer(rq);
}

static void tell_end(struct model_request *rq, const struct mcplug_error *why)
{
    if (rq->is_over)
        return;
    rq->is_over = 1;
    stop_request(rq);
    rq->model->host->reply->end(rq->reply, rq->stop, why);
}

/* What fetch said, or what was noticed here. Connections that were lost can be made
 * again; those that the peer's certificate or a policy forbids cannot. */
static void fail_with(struct model_request *rq, struct mcplug_error *why)
{
    int is_lost = why->code == MCPLUG_ECLOSED || why->code == MCPLUG_ETIMEDOUT ||
                  (why->code == MCPLUG_EREFUSED && why->os_error != 0);
    if (is_lost)
        why->flags |= MCPLUG_ERROR_RETRY;
    tell_end(rq, why);
}

void model_fail(struct model_request *rq, int code, const char *fmt, ...)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char text[sizeof why.text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    rq->model->host->diag->fail(&why, code, "%s", text);
    fail_with(rq, &why);
}

static void fail_text(struct model_request *rq, int code)
{
    if (code == MCPLUG_ENOMEM)
        model_fail(rq, code, "out of memory");
    else
        model_fail(rq, code, "the answer is longer than %zu MiB", MODEL_TURN_MAX >> 20);
}

/* ---- errors of the API ---- */

/* What APIs write when a conversation is too long for the model. */
static int says_too_long(struct mcplug_bytes text)
{
    static const char *const words[] = {
        "prompt is too long",
        "exceed context limit",
        "context_length_exceeded",
        "maximum context length",
        "exceed_context_size",
        "available context size",
        "exceeds the maximum number of tokens",
        "exceeds the context window",
    };
    struct web_answer all = {.text = (char *)(uintptr_t)text.data, .len = text.len};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (web_answer_has(&all, words[i]))
            return 1;
    return 0;
}

static int code_of(const struct model_problem *p)
{
    if (p->status == 401 || p->status == 403 || p->is_key)
        return MCPLUG_EAUTH;
    if (p->status == 429 || p->status == 503 || p->status == 529)
        return MCPLUG_EOVERLOADED;
    return p->status == 413 || p->is_too_long ? MCPLUG_ETOOBIG : MCPLUG_EPEER;
}

static int is_worth_a_retry(const struct model_request *rq, int status)
{
    if (rq->should_retry >= 0)
        return rq->should_retry;
    return status == 408 || status == 409 || status == 429 || status >= 500;
}

/* Servers quote keys that they do not accept. */
static void hide_key(const struct model *m, struct text *words)
{
    size_t n = m->key != NULL ? strlen(m->key) : 0, from = 0;
    char *at;
    while (n >= 4 && words->len > from &&
           (at = memmem(words->data + from, words->len - from, m->key, n)) != NULL) {
        size_t rest = words->len - (size_t)(at - words->data) - n;
        memcpy(at, "***", 3);
        memmove(at + 3, at + n, rest);
        from = (size_t)(at - words->data) + 3;
        text_cut(words, from + rest);
    }
}

static void fail_problem(struct model_request *rq, struct model_problem *p)
{
    const struct model *m = rq->model;
    const struct mcplug_host *host = m->host;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char said[MODEL_WORDS_MAX + 1];
    hide_key(m, &p->words);
    web_quote(p->words.data, p->words.len, said, sizeof said);
    const char *name = web_status_name(p->status);
    int code = code_of(p);
    if (said[0] != '\0')
        host->diag->fail(&why, code, "%s: %s", m->api->name, said);
    else
        host->diag->fail(&why, code, "%s: HTTP %d %s", m->api->name, p->status, name);
    why.peer_status = p->status;
    if (code != MCPLUG_ETOOBIG && is_worth_a_retry(rq, p->status))
        why.flags |= MCPLUG_ERROR_RETRY;
    int64_t ms = rq->retry_after_ms >= 0          ? rq->retry_after_ms
                 : rq->answer.retry_after_ms >= 0 ? rq->answer.retry_after_ms
                                                  : p->retry_after_ms;
    if (ms >= 0 && !rq->is_over)
        host->reply->retry_after(rq->reply, (uint64_t)ms);
    tell_end(rq, &why);
}

void model_fail_api(struct model_request *rq, int status, struct mcplug_bytes json)
{
    struct model_problem p = {.status = status, .retry_after_ms = -1};
    text_init(&p.words, rq->model->host->mem, WEB_PROBLEM_MAX);
    p.is_too_long = says_too_long(json);
    rq->model->api->error(rq, json, &p);
    if (p.words.len == 0 && json_inside(json).len > 0)
        text_add_bytes(&p.words, json); /* of another API, or none */
    fail_problem(rq, &p);
    text_clear(&p.words);
}

/* The answer to the request is an error, of whatever form. */
static void fail_answer(struct model_request *rq)
{
    const struct web_answer *a = &rq->answer;
    struct mcplug_bytes text = {(const unsigned char *)a->text, a->len};
    if (rq->model->json->valid(text)) {
        model_fail_api(rq, a->status, text);
        return;
    }
    struct model_problem p = {
        .status = a->status, .is_too_long = says_too_long(text), .retry_after_ms = -1};
    text_init(&p.words, rq->model->host->mem, WEB_PROBLEM_MAX);
    if (strcmp(a->type, "text/html") != 0)
        text_add_bytes(&p.words, text);
    fail_problem(rq, &p);
    text_clear(&p.words);
}

/* ---- what the answer says ---- */

static int is_mute(const struct model_request *rq)
{
    return rq->is_over || rq->is_ending;
}

int model_item(struct model_request *rq)
{
    if (!is_mute(rq) && ++rq->n_items > MODEL_ITEMS_MAX)
        model_fail(rq, MCPLUG_ETOOBIG, "the answer has more than %d parts",
                   MODEL_ITEMS_MAX);
    return !is_mute(rq);
}

static void tell_said(struct model_request *rq, int is_thought)
{
    const struct mcplug_reply_ops *reply = rq->model->host->reply;
    struct mcplug_bytes piece = text_bytes(&rq->said);
    rq->n_told += piece.len;
    if (rq->said.failed != 0 || rq->n_told > MODEL_TURN_MAX)
        fail_text(rq, rq->said.failed != 0 ? rq->said.failed : MCPLUG_ETOOBIG);
    else if (piece.len > 0 && is_thought)
        reply->thought(rq->reply, piece);
    else if (piece.len > 0)
        reply->text(rq->reply, piece);
    text_cut(&rq->said, 0);
}

static void flush_half(struct model_request *rq)
{
    if (rq->half == 0)
        return;
    text_add_half(&rq->said, &rq->half);
    tell_said(rq, rq->half_is_thought);
}

static void tell_piece(struct model_request *rq, struct mcplug_bytes string,
                       int is_thought)
{
    if (is_mute(rq) || !json_is_string(string))
        return;
    if (rq->half_is_thought != is_thought)
        flush_half(rq);
    rq->half_is_thought = is_thought;
    text_add_unescaped(&rq->said, string, &rq->half);
    tell_said(rq, is_thought);
}

void model_tell_text(struct model_request *rq, struct mcplug_bytes string)
{
    tell_piece(rq, string, 0);
}

void model_tell_thought(struct model_request *rq, struct mcplug_bytes string)
{
    tell_piece(rq, string, 1);
}

void model_tell_call(struct model_request *rq, const char *id, const char *name,
                     struct mcplug_bytes arguments)
{
    if (is_mute(rq))
        return;
    flush_half(rq);
    rq->n_told += arguments.len;
    if (rq->n_told > MODEL_TURN_MAX)
        fail_text(rq, MCPLUG_ETOOBIG);
    else if (!is_mute(rq))
        rq->model->host->reply->call(rq->reply, id, name, arguments);
}

void model_tell_call_json(struct model_request *rq, struct mcplug_bytes id,
                          struct mcplug_bytes name, struct mcplug_bytes arguments)
{
    const struct model *m = rq->model;
    char *id_text = m->json->string(id), *name_text = m->json->string(name);
    if (name_text != NULL && (id_text != NULL || !json_is_string(id)))
        model_tell_call(rq, id_text, name_text, arguments);
    else if (json_is_string(name))
        fail_text(rq, MCPLUG_ENOMEM);
    else
        model_fail(rq, MCPLUG_EPROTO, "a call without the name of a tool");
    m->host->mem->free(id_text);
    m->host->mem->free(name_text);
}

void model_tell_usage(struct model_request *rq, const struct mcplug_usage *usage)
{
    if (!is_mute(rq))
        rq->model->host->reply->usage(rq->reply, usage);
}

uint64_t model_number(const struct model_request *rq, struct mcplug_bytes object,
                      const char *key, uint64_t fallback)
{
    const struct mcplug_json *json = rq->model->json;
    int64_t n;
    return json->integer(json->get(object, key), &n) && n >= 0 ? (uint64_t)n : fallback;
}

static void on_grace_over(void *arg)
{
    struct model_request *rq = arg;
    rq->timer = NULL;
    tell_end(rq, NULL);
}

/* The connection can be used again only if the stream is read to its end, which should
 * come at once. */
void model_end(struct model_request *rq, enum mcplug_stop stop)
{
    const struct mcplug_host *host = rq->model->host;
    if (is_mute(rq))
        return;
    flush_half(rq);
    if (rq->raw.failed != 0)
        fail_text(rq, rq->raw.failed);
    if (is_mute(rq))
        return;
    if (rq->raw.len > 0)
        host->reply->raw(rq->reply, text_bytes(&rq->raw));
    rq->stop = stop;
    rq->is_ending = 1;
    stop_timer(rq);
    if (rq->request != NULL)
        rq->timer =
            host->loop->timer_start(rq->model->self, MODEL_GRACE_MS, on_grace_over, rq);
    if (rq->timer == NULL)
        tell_end(rq, NULL);
}

void model_counted(struct model_request *rq, uint64_t tokens)
{
    struct mcplug_usage usage = {.struct_size = sizeof usage, .input = tokens};
    model_tell_usage(rq, &usage);
    model_end(rq, MCPLUG_STOP_END);
}

/* ---- the stream ---- */

static void on_data(void *arg, const char *type, struct mcplug_bytes piece)
{
    struct model_request *rq = arg;
    (void)type;
    if (is_mute(rq))
        return;
    text_add_bytes(&rq->event, piece);
    if (rq->event.failed == MCPLUG_ETOOBIG)
        model_fail(rq, MCPLUG_ETOOBIG, "an event of the answer is longer than %zu MiB",
                   MODEL_EVENT_MAX >> 20);
    else if (rq->event.failed != 0)
        fail_text(rq, rq->event.failed);
}

static void on_event(void *arg, const char *type, int has_data)
{
    struct model_request *rq = arg;
    struct mcplug_bytes json = text_bytes(&rq->event);
    if (has_data && !is_mute(rq)) {
        const struct model_api *api = rq->model->api;
        rq->is_done = strcmp(rq->event.data, "[DONE]") == 0;
        if (rq->is_done && api->over != NULL)
            api->over(rq);
        else if (!rq->is_done && rq->model->json->valid(json))
            api->event(rq, type, json);
        else if (!rq->is_done)
            model_fail(rq, MCPLUG_EPROTO, "an event of the answer is not JSON");
    }
    if (!is_mute(rq) && rq->raw.failed != 0)
        fail_text(rq, rq->raw.failed);
    text_cut(&rq->event, 0);
}

static int is_json(const char *type)
{
    return strcmp(type, "application/json") == 0;
}

static int64_t milliseconds(const char *value)
{
    size_t n = value != NULL ? strspn(value, "0123456789") : 0;
    if (n == 0 || n > 8 || (value[n] != '\0' && value[n] != '.'))
        return -1;
    return atol(value); /* some write 12.5 */
}

static void on_head(void *arg, const struct mcplug_fetch_head *head)
{
    struct model_request *rq = arg;
    const char *retry = head->values[1];
    rq->heard = rq->model->host->loop->now(rq->model->self);
    web_answer_head(&rq->answer, head, NULL);
    rq->retry_after_ms = milliseconds(head->values[0]);
    if (retry != NULL)
        rq->should_retry = strcmp(retry, "true") == 0    ? 1
                           : strcmp(retry, "false") == 0 ? 0
                                                         : -1;
    rq->is_error = head->status < 200 || head->status >= 300;
    rq->is_whole = !rq->is_error && (rq->is_count || is_json(head->type));
    if (!rq->is_error && strcmp(head->type, "text/html") == 0)
        model_fail(rq, MCPLUG_EPROTO,
                   "%s: a web page came, and no answer; is the url "
                   "that of the API?",
                   rq->model->api->name);
}

static void on_body(void *arg, struct mcplug_bytes piece)
{
    struct model_request *rq = arg;
    rq->heard = rq->model->host->loop->now(rq->model->self);
    if (is_mute(rq))
        return;
    if (rq->is_error) {
        if (web_answer_keep(rq->model->host, &rq->answer, piece))
            fail_answer(rq);
    } else if (rq->is_whole) {
        text_add_bytes(&rq->raw, piece);
        if (rq->raw.failed != 0)
            fail_text(rq, rq->raw.failed);
    } else {
        sse_in_feed(&rq->events, piece.data, piece.len);
    }
}

/* The document moves to where events are, for the API to have `raw` for itself. */
static void take_whole(struct model_request *rq)
{
    struct text document = rq->raw;
    text_init(&rq->raw, document.mem, MODEL_TURN_MAX);
    text_clear(&rq->event);
    rq->event = document;
    struct mcplug_bytes json = text_bytes(&rq->event);
    if (rq->model->json->valid(json))
        rq->model->api->whole(rq, json);
    else
        model_fail(rq, MCPLUG_EPROTO, "the answer is not JSON");
}

static void on_done(void *arg, const struct mcplug_error *why)
{
    struct model_request *rq = arg;
    const struct model_api *api = rq->model->api;
    rq->request = NULL;
    if (rq->is_ending) {
        tell_end(rq, NULL);
    } else if (rq->is_error) { /* even if it broke off: it says more */
        fail_answer(rq);
    } else if (why != NULL) {
        struct mcplug_error told = *why;
        fail_with(rq, &told);
    } else if (rq->is_whole) {
        take_whole(rq);
    } else if (api->over != NULL) {
        api->over(rq);
    }
    if (!rq->is_over && !rq->is_ending)
        model_fail(rq, MCPLUG_ECLOSED, "the answer broke off");
    else if (rq->is_ending)
        tell_end(rq, NULL);
}

/* One timer for many pieces: it looks when the last one came. */
static void on_idle(void *arg)
{
    struct model_request *rq = arg;
    const struct model *m = rq->model;
    uint64_t silent = m->host->loop->now(m->self) - rq->heard;
    rq->timer = NULL;
    if (silent < m->idle_ms)
        rq->timer = m->host->loop->timer_start(m->self, m->idle_ms - silent, on_idle, rq);
    else
        model_fail(rq, MCPLUG_ETIMEDOUT, "%s: no answer for %llu s", m->api->name,
                   (unsigned long long)(m->idle_ms / 1000));
    if (rq->timer == NULL)
        fail_text(rq, MCPLUG_ENOMEM);
}

/* ---- the request ---- */

void model_header(struct model_request *rq, const char *name, const char *value)
{
    if (rq->n_headers < MODEL_HEADERS_MAX)
        rq->headers[rq->n_headers++] = (struct mcplug_pair){name, value};
}

void model_add_tools(struct model_request *rq, const struct model_tools *words)
{
    const struct mcplug_prompt *prompt = rq->prompt;
    struct text *t = &rq->body;
    for (size_t i = 0; i < prompt->n_tools; i++) {
        const struct mcplug_definition *tool = prompt->tools[i];
        text_adds(t, i > 0 ? words->between : words->head);
        text_adds(t, words->name);
        text_add_strings(t, tool->name);
        text_adds(t, ",\"description\":");
        text_add_strings(t, tool->description);
        text_adds(t, words->schema);
        text_add_bytes(t, tool->schema);
    }
    if (prompt->n_tools > 0)
        text_adds(t, words->tail);
}

/* A base that ends with the folder that the path begins with is meant to have it once:
 * http://HOST/v1 and /v1/messages. */
static void join_url(struct model_request *rq)
{
    const char *base = rq->model->url, *path = rq->path.data;
    const char *last = strrchr(base, '/');
    size_t n = strcspn(path + 1, "/?:") + 1;
    if (last != NULL && last > base && last[-1] == '/')
        last = NULL; /* it has no path */
    text_adds(&rq->url, base);
    if (last != NULL && strlen(last) == n && strncmp(last, path, n) == 0)
        path += n;
    text_adds(&rq->url, path);
}

static int write_request(struct model_request *rq, struct mcplug_error *err)
{
    const struct model *m = rq->model;
    int r = m->api->write(rq, err);
    if (r == MCPLUG_OK && rq->path.failed == 0)
        join_url(rq);
    if (r == MCPLUG_OK &&
        (rq->path.failed == MCPLUG_ETOOBIG || rq->url.failed == MCPLUG_ETOOBIG))
        return m->host->diag->fail(err, MCPLUG_ETOOBIG, "the URL is longer than %d bytes",
                                   URL_MAX);
    if (r == MCPLUG_OK && rq->body.failed == MCPLUG_ETOOBIG)
        return m->host->diag->fail(err, MCPLUG_ETOOBIG,
                                   "the conversation is longer than %zu MiB",
                                   MODEL_REQUEST_MAX >> 20);
    if (r == MCPLUG_OK && rq->body.failed == 0 && rq->url.failed == 0 && rq->url.len > 0)
        rq->sent = m->host->mem->buf_new(rq->body.data, rq->body.len);
    if (r == MCPLUG_OK && rq->sent == NULL)
        return m->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    text_clear(&rq->body);
    return r;
}

static int start(struct model_request *rq, struct mcplug_error *err)
{
    static const struct mcplug_fetch_events events = {
        .struct_size = sizeof events,
        .head = on_head,
        .body = on_body,
        .done = on_done,
    };
    const struct model *m = rq->model;
    struct mcplug_fetch_ask ask = {
        .struct_size = sizeof ask,
        .method = "POST",
        .url = rq->url.data,
        .headers = rq->headers,
        .n_headers = rq->n_headers,
        .wants = wanted,
        .body = rq->sent,
    };
    rq->heard = m->host->loop->now(m->self);
    rq->timer = m->host->loop->timer_start(m->self, m->idle_ms, on_idle, rq);
    if (rq->timer == NULL)
        return m->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    return m->fetch->start(m->client, &ask, &events, rq, &rq->request, err);
}

static struct model_request *request_new(struct model *m, mcplug_reply *reply,
                                         const struct mcplug_prompt *prompt, int is_count)
{
    const struct mcplug_mem *mem = m->host->mem;
    size_t room = (sizeof(struct model_request) + 15) / 16 * 16;
    struct model_request *rq = mem->alloc(room + m->api->state_size);
    if (rq == NULL)
        return NULL;
    int64_t most = m->host->diag->prop_int(m->settings, "maxTokens", 0);
    rq->model = m;
    rq->reply = reply;
    rq->prompt = prompt;
    rq->is_count = is_count;
    rq->state = (char *)rq + room;
    rq->max_tokens = prompt->max_tokens > 0           ? prompt->max_tokens
                     : most > 0 && most <= UINT32_MAX ? (uint32_t)most
                                                      : m->api->max_tokens;
    rq->stop = MCPLUG_STOP_END;
    rq->should_retry = -1;
    rq->retry_after_ms = rq->answer.retry_after_ms = -1;
    text_init(&rq->path, mem, URL_MAX);
    text_init(&rq->url, mem, URL_MAX);
    text_init(&rq->body, mem, MODEL_REQUEST_MAX);
    text_init(&rq->raw, mem, MODEL_TURN_MAX);
    text_init(&rq->event, mem, MODEL_EVENT_MAX);
    text_init(&rq->said, mem, MODEL_EVENT_MAX);
    sse_in_init(&rq->events, on_data, on_event, rq);
    model_header(rq, "Content-Type", "application/json");
    model_header(rq, "Accept", is_count ? "application/json" : "text/event-stream");
    return rq;
}

static int begin(struct model *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
                 int is_count, void **out, struct mcplug_error *err)
{
    struct model_request *rq = request_new(m, reply, prompt, is_count);
    if (rq == NULL)
        return m->host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    int r = write_request(rq, err);
    if (r == MCPLUG_OK)
        r = start(rq, err);
    if (r == MCPLUG_OK)
        *out = rq;
    else
        model_drop(rq);
    return r;
}

int model_ask(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
              void **out, struct mcplug_error *err)
{
    return begin(m, reply, prompt, 0, out, err);
}

int model_count(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
                void **out, struct mcplug_error *err)
{
    return begin(m, reply, prompt, 1, out, err);
}

void model_drop(void *request)
{
    struct model_request *rq = request;
    const struct mcplug_host *host = rq->model->host;
    rq->is_over = 1;
    stop_request(rq);
    if (rq->model->api->clear != NULL)
        rq->model->api->clear(rq);
    web_answer_clear(host, &rq->answer);
    text_clear(&rq->path);
    text_clear(&rq->url);
    text_clear(&rq->body);
    text_clear(&rq->raw);
    text_clear(&rq->event);
    text_clear(&rq->said);
    host->mem->buf_unref(rq->sent);
    host->mem->free(rq);
}
