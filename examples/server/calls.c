/* calls.c - tool calls that wait: for time to pass, or for the client.
 *
 * A legacy client is asked with a request of our own, and the call stays open.
 * A modern client gets its call back as "input required" and calls again with
 * the answer; nothing is remembered here in between, the state travels.
 */
#include "server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROGRESS_MS = 100, SLEEP_LIMIT_MS = 3600000 };

/* Something to ask a client. */
struct question {
    const char *key; /* names the question among the input requests */
    const char *method;
    const char *capability;
    json_t *(*ask)(const struct request *rq); /* give: params, or NULL for none */
    void (*done)(const struct request *rq, json_t *answer);
};

struct call {
    struct call *next;
    struct request rq; /* keeps its id, params */
    const struct question *question;
    json_int_t asked_as; /* id of our request to the client */
    int64_t began, ends, reports;
};

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- the list of waiting calls ---- */

static struct call *call_add(const struct request *rq)
{
    struct peer *p = rq->peer;

    if (p->call_count >= CALL_LIMIT) {
        refuse(rq, INTERNAL_ERROR, "Too many calls under way");
        return NULL;
    }
    struct call *c = must(calloc(1, sizeof *c));
    c->rq = *rq;
    c->rq.caps = NULL; /* of no use later, and maybe not ours */
    json_incref(rq->id);
    json_incref(rq->params);
    c->ends = c->reports = INT64_MAX;
    c->next = p->calls;
    p->calls = c;
    p->call_count++;
    return c;
}

/* Takes the call out of the list and frees it. */
static void call_remove(struct call *c)
{
    struct call **at = &c->rq.peer->calls;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->rq.peer->call_count--;
    json_decref(c->rq.id);
    json_decref(c->rq.params);
    free(c);
}

void calls_clear(struct peer *p)
{
    while (p->calls)
        call_remove(p->calls);
}

bool calls_cancel(struct peer *p, json_t *id)
{
    struct call *c = p->calls;

    while (c && !json_equal(c->rq.id, id))
        c = c->next;
    if (!c)
        return false;
    if (c->question) {
        notify(p, "notifications/cancelled",
               must(json_pack("{sIss}", "requestId", c->asked_as, "reason",
                              "The call that needs it was cancelled")));
    }
    call_remove(c);
    return true;
}

/* ---- sleep ---- */

void tool_sleep(const struct request *rq)
{
    json_t *ms = arg(rq, "ms", JSON_INTEGER);
    struct call *c;

    if (!ms)
        return;
    if (json_integer_value(ms) < 0 || json_integer_value(ms) > SLEEP_LIMIT_MS) {
        tool_fail(rq, "Argument ms must be from 0 to %d.", SLEEP_LIMIT_MS);
        return;
    }
    c = call_add(rq);
    if (!c)
        return;
    c->began = now_ms();
    c->ends = c->began + json_integer_value(ms);
    if (json_object_get(rq->meta, "progressToken"))
        c->reports = c->began + PROGRESS_MS;
}

static void report(struct call *c)
{
    json_t *params = must(json_pack("{sOsIsI}", "progressToken",
                                    json_object_get(c->rq.meta, "progressToken"),
                                    "progress", (json_int_t)(c->reports - c->began),
                                    "total", (json_int_t)(c->ends - c->began)));
    if (since(&c->rq, "2025-03-26"))
        json_object_set_new(params, "message", json_string("sleeping"));
    notify(c->rq.peer, "notifications/progress", params);
    c->reports += PROGRESS_MS;
}

int calls_tick(struct peer *p)
{
    int64_t now = now_ms(), next = INT64_MAX;

    for (struct call *c = p->calls, *after; c; c = after) {
        after = c->next;
        while (c->reports <= now && c->reports < c->ends)
            report(c);
        if (c->ends <= now) {
            tool_text(&c->rq, "slept %" PRId64 " ms", c->ends - c->began);
            call_remove(c);
            continue;
        }
        if (c->ends < next)
            next = c->ends;
        if (c->reports < next)
            next = c->reports;
    }
    return next == INT64_MAX ? -1 : (int)(next - now);
}

/* ---- questions ---- */

static json_t *name_ask(const struct request *rq)
{
    json_t *params =
        literal("{'message':'What is your name?','requestedSchema':{'type':'object',"
                "'properties':{'name':{'type':'string','title':'Name','description':"
                "'How to address you','minLength':1,'maxLength':100}},"
                "'required':['name']}}");
    if (since(rq, "2025-11-25"))
        json_object_set_new(params, "mode", json_string("form"));
    return params;
}

static void name_done(const struct request *rq, json_t *answer)
{
    const char *action = json_string_value(json_object_get(answer, "action"));
    json_t *name = json_object_get(json_object_get(answer, "content"), "name");

    if (!action)
        tool_fail(rq, "The client's answer has no action.");
    else if (strcmp(action, "accept") != 0)
        tool_text(rq, "declined");
    else if (!json_is_string(name))
        tool_fail(rq, "The client's answer has no name.");
    else
        tool_text(rq, "Hello, %s", json_string_value(name));
}

static json_t *model_ask(const struct request *rq)
{
    json_t *prompt = json_object_get(args_of(rq), "prompt");
    return must(json_pack("{s[{sss{sssO}}]sssi}", "messages", "role", "user", "content",
                          "type", "text", "text", prompt, "systemPrompt",
                          "Answer in one sentence.", "maxTokens", 256));
}

static void model_done(const struct request *rq, json_t *answer)
{
    json_t *content = json_object_get(answer, "content");
    json_t *first = json_is_array(content) ? json_array_get(content, 0) : content;
    json_t *text = json_object_get(first, "text");
    const char *model = json_string_value(json_object_get(answer, "model"));

    if (!json_is_string(text))
        tool_fail(rq, "The client's answer has no text.");
    else
        tool_text(rq, "%s: %s", model ? model : "unknown model", json_string_value(text));
}

static json_t *roots_ask(const struct request *rq)
{
    (void)rq;
    return NULL;
}

static void roots_done(const struct request *rq, json_t *answer)
{
    json_t *roots = json_object_get(answer, "roots"), *root;
    char *text = NULL;
    size_t len = 0, i;
    FILE *out = must(open_memstream(&text, &len));

    json_array_foreach(roots, i, root)
    {
        const char *uri = json_string_value(json_object_get(root, "uri"));
        const char *name = json_string_value(json_object_get(root, "name"));
        fprintf(out, "%s%s%s%s", i ? "\n" : "", uri ? uri : "?", name ? " " : "",
                name ? name : "");
    }
    fclose(out);
    if (json_is_array(roots))
        tool_text(rq, "%s", len ? text : "no roots");
    else
        tool_fail(rq, "The client's answer has no roots.");
    free(text);
}

static const struct question name_question = {
    "name", "elicitation/create", "elicitation", name_ask, name_done,
};
static const struct question model_question = {
    "completion", "sampling/createMessage", "sampling", model_ask, model_done,
};
static const struct question roots_question = {
    "roots", "roots/list", "roots", roots_ask, roots_done,
};

/* Elicitation is not in the oldest revisions, and a client may take it by URL
 * only; an empty object means forms. */
static bool can_answer(const struct request *rq, const struct question *q)
{
    json_t *cap = json_object_get(rq->caps, q->capability);

    if (q == &name_question)
        return cap && since(rq, "2025-06-18") &&
               (json_object_size(cap) == 0 || json_object_get(cap, "form"));
    return cap != NULL;
}

/* What the client has to hand back: which question about which arguments. It
 * guards against mix-ups only; a forged one gains nothing. */
static char *state_of(const struct request *rq, const struct question *q)
{
    json_t *args = args_of(rq);
    char *dump = args ? json_dumps(args, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    uint64_t hash = UINT64_C(14695981039346656037);
    char *state = NULL;

    for (const char *c = dump; c && *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    if (asprintf(&state, "%s.%016" PRIx64, q->key, hash) < 0)
        state = NULL;
    free(dump);
    return must(state);
}

static void ask_modern(const struct request *rq, const struct question *q)
{
    json_t *answers = json_object_get(rq->params, "inputResponses");
    json_t *answer = json_object_get(answers, q->key);
    json_t *returned = json_object_get(rq->params, "requestState");
    char *state = state_of(rq, q);

    bool same = json_is_string(returned) && !strcmp(json_string_value(returned), state);

    if ((returned || answers) && !same) {
        refuse(rq, INVALID_PARAMS, "requestState does not belong to this request");
    } else if (json_is_object(answer)) {
        q->done(rq, answer);
    } else {
        json_t *question = must(json_pack("{ss}", "method", q->method));
        json_t *params = q->ask(rq);
        if (params)
            json_object_set_new(question, "params", params);
        reply(rq,
              must(json_pack("{sss{so}ss}", "resultType", "input_required",
                             "inputRequests", q->key, question, "requestState", state)));
    }
    free(state);
}

static void ask_legacy(const struct request *rq, const struct question *q)
{
    struct call *c = call_add(rq);

    if (!c)
        return;
    c->question = q;
    c->asked_as = ++rq->peer->last_id;
    json_t *message = must(
        json_pack("{sssIss}", "jsonrpc", "2.0", "id", c->asked_as, "method", q->method));
    json_t *params = q->ask(rq);
    if (params)
        json_object_set_new(message, "params", params);
    peer_put_json(rq->peer, message);
}

static void ask(const struct request *rq, const struct question *q)
{
    if (can_answer(rq, q) && rq->modern)
        ask_modern(rq, q);
    else if (can_answer(rq, q))
        ask_legacy(rq, q);
    else if (rq->modern)
        refuse_with(rq, MISSING_CAPABILITY, "The client lacks a capability",
                    must(json_pack("{s{s{}}}", "requiredCapabilities", q->capability)));
    else
        tool_fail(rq, "The client has no %s capability.", q->capability);
}

void calls_answered(struct peer *p, json_t *message)
{
    json_t *id = json_object_get(message, "id");
    json_t *error = json_object_get(message, "error");
    struct call *c = p->calls;

    while (c &&
           !(c->question && json_is_integer(id) && json_integer_value(id) == c->asked_as))
        c = c->next;
    if (!c)
        return;
    if (error) {
        const char *text = json_string_value(json_object_get(error, "message"));
        tool_fail(&c->rq, "The client refused: %s", text ? text : "no reason given");
    } else {
        c->question->done(&c->rq, json_object_get(message, "result"));
    }
    call_remove(c);
}

void tool_ask_name(const struct request *rq)
{
    ask(rq, &name_question);
}

void tool_ask_model(const struct request *rq)
{
    if (arg(rq, "prompt", JSON_STRING))
        ask(rq, &model_question);
}

void tool_list_roots(const struct request *rq)
{
    ask(rq, &roots_question);
}
