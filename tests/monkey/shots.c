#include "monkey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a callback gets ---- */

static struct host *host_of(const void *arg)
{
    return &monkey.hosts[(uintptr_t)arg % HOSTS];
}

static uint64_t number_of(const void *arg)
{
    return (uintptr_t)arg / HOSTS;
}

void *shot_arg(struct host *h, const struct shot *s)
{
    return (void *)(uintptr_t)(s->number * HOSTS + h->index);
}

/* ---- the beginning of a request ---- */

struct shot *shot_new(struct host *h, struct hold *hold)
{
    for (unsigned i = 0; i < SHOTS; i++) {
        struct shot *s = &h->shots[++h->last_number % SHOTS];
        if (!s->number) {
            *s = (struct shot){.number = h->last_number, .hold = hold};
            return s;
        }
    }
    return NULL;
}

void shot_made(struct host *h, struct shot *s, mcplug_call *call,
               const struct mcplug_error *err)
{
    if (!call) {
        if (err->code >= 0 || !err->text[0])
            wrong(h, "a request is refused without a reason, code %d", err->code);
        s->number = 0;
        h->refused++;
        return;
    }
    s->call = call;
    h->due.shots++;
    if (s->hold) {
        s->hold->users++;
        s->hold->issued++;
        s->hold->under_way++;
        h->issued++;
    } else {
        h->lists_asked++;
    }
    if (one_in(h, 8)) {
        mcplug_call **at = &h->calls[any(h, KEPT)];
        mcplug_call_unref(*at);
        *at = mcplug_call_ref(call);
    }
}

/* ---- its end ---- */

static struct shot *shot_of(const void *arg, const mcplug_call *call)
{
    struct host *h = host_of(arg);
    struct shot *s = &h->shots[number_of(arg) % SHOTS];

    return s->number == number_of(arg) && s->call == call ? s : NULL;
}

/* False: it had ended before. */
static bool shot_end(const void *arg, mcplug_call *call, enum outcome outcome,
                     const struct mcplug_error *why, struct shot *out)
{
    struct host *h = host_of(arg);
    struct shot *s = shot_of(arg, call);

    if (!s) {
        wrong(h, "request %llu has ended twice", (unsigned long long)number_of(arg));
        return false;
    }
    if (why && (why->code >= 0 || !why->text[0]))
        wrong(h, "request %llu failed without a reason, code %d",
              (unsigned long long)s->number, why->code);
    *out = *s;
    s->number = 0;
    h->due.shots--;
    if (out->hold) {
        out->hold->under_way--;
        out->hold->ended[outcome]++;
        h->ended[outcome]++;
    }
    return true;
}

static bool has_number(const struct shot *s, mcplug_result *result)
{
    char mark[32];
    size_t len = 0;
    const char *json = mcplug_result_json(result, &len);

    snprintf(mark, sizeof mark, "\"#%llu ", (unsigned long long)s->number);
    return strlen(json) == len && strstr(json, mark);
}

static void end_call(void *arg, mcplug_call *call, mcplug_result *result,
                     const struct mcplug_error *why)
{
    struct host *h = host_of(arg);
    bool is_error = !why && result && mcplug_result_is_error(result);
    enum outcome outcome = outcome_of(is_error, why);
    struct shot s;

    if (!result && !why)
        wrong(h, "a call ended with neither a result nor a reason");
    if (!shot_end(arg, call, outcome, why, &s))
        return;
    if (outcome == OK && s.echo && s.hold->is_clean && !has_number(&s, result))
        wrong(h, "call %llu got the answer to another one", (unsigned long long)s.number);
    if (is_error && !mcplug_result_error_text(result))
        wrong(h, "a tool failed without a text");
    if (result && one_in(h, 4))
        result_keep(h, result);
    meddle(h);
    if (s.hold)
        hold_unref(s.hold);
}

void on_done(void *arg, mcplug_call *call, mcplug_result *result,
             const struct mcplug_error *why)
{
    end_call(arg, call, result, why);
}

static void list_keep(struct host *h, mcplug_list *list)
{
    mcplug_list **at = &h->lists[any(h, KEPT)];

    mcplug_list_unref(*at);
    *at = mcplug_list_ref(list);
}

void on_list(void *arg, mcplug_call *call, mcplug_list *list,
             const struct mcplug_error *why)
{
    struct host *h = host_of(arg);
    struct shot s;

    if (!list == !why)
        wrong(h, "a list and a reason, or neither");
    if (!shot_end(arg, call, OK, why, &s))
        return;
    if (list && one_in(h, 3))
        list_keep(h, list);
    meddle(h);
}

void on_record(void *arg, mcplug_call *call, const struct mcplug_record *record)
{
    struct host *h = host_of(arg);
    struct shot s;

    if (!record->result || strlen(record->result) < record->result_len)
        wrong(h, "a record without a text");
    if (!shot_end(arg, call, OK, record->why, &s))
        return;
    if (one_in(h, 3)) {
        const struct mcplug_record **at = &h->records[any(h, KEPT)];
        mcplug_record_unref(*at);
        *at = mcplug_record_ref(record);
    }
    meddle(h);
}

static void end_progress(void *arg, mcplug_call *call)
{
    struct host *h = host_of(arg);

    if (!shot_of(arg, call))
        wrong(h, "progress of request %llu, which has ended",
              (unsigned long long)number_of(arg));
    meddle(h);
}

void on_progress(void *arg, mcplug_call *call, double progress, double total,
                 const char *message)
{
    (void)progress, (void)total, (void)message;
    end_progress(arg, call);
}

void on_progress_json(void *arg, mcplug_call *call, const char *params, size_t len)
{
    if (strlen(params) != len)
        wrong(host_of(arg), "progress with a length that it does not have");
    end_progress(arg, call);
}

void on_arg_freed(void *arg)
{
    struct host *h = host_of(arg);

    /* Who asks for events is told of the end later. */
    if (h->drive != PULLS && h->shots[number_of(arg) % SHOTS].number == number_of(arg))
        wrong(h, "the argument of request %llu is freed, and it has not ended",
              (unsigned long long)number_of(arg));
    h->due.args--;
}

/* ---- events ---- */

void on_event(struct host *h, const struct mcplug_event *e)
{
    if (e->type > MCPLUG_EVENT_LOG || (e->text && strlen(e->text) != e->len))
        wrong(h, "an event of type %u has a wrong text", e->type);
    if (e->type != MCPLUG_EVENT_DONE)
        return;
    if (e->list) {
        struct shot s;
        if (shot_end(e->arg, e->call, OK, e->why, &s) && one_in(h, 3))
            list_keep(h, e->list);
        return;
    }
    struct shot *s = shot_of(e->arg, e->call);
    if (s && !s->hold && e->why) { /* a list that failed */
        struct shot over;
        shot_end(e->arg, e->call, OK, e->why, &over);
        return;
    }
    end_call(e->arg, e->call, e->result, e->why);
}

/* ---- servers ---- */

struct hold *hold_new(struct host *h, mcplug_server *server)
{
    struct hold *hold = calloc(1, sizeof *hold);

    if (!hold)
        give_up("no memory");
    hold->host = h;
    hold->server = server;
    hold->number = ++h->n_holds;
    hold->users = 1;
    return hold;
}

void hold_unref(struct hold *hold)
{
    if (--hold->users == 0)
        free(hold);
}

void hold_check(struct hold *hold)
{
    static const char *const names[OUTCOMES] = {"ok",        "tool_error", "peer_error",
                                                "transport", "timed_out",  "cancelled"};
    struct host *h = hold->host;
    struct mcplug_ledger l = {.struct_size = sizeof l};
    uint64_t sum = 0;

    mcplug_server_ledger(hold->server, &l);
    uint64_t theirs[OUTCOMES] = {
        l.ok, l.tool_error, l.peer_error, l.transport_error, l.timed_out, l.cancelled};
    for (int i = 0; i < OUTCOMES; i++)
        sum += theirs[i];
    if (l.issued != l.under_way + sum)
        wrong(h, "server %u: %llu issued, but %u under way and %llu ended", hold->number,
              (unsigned long long)l.issued, l.under_way, (unsigned long long)sum);
    /* What has ended is told later to who asks for events. */
    if (hold->inexact || (h->drive == PULLS && hold->under_way))
        return;
    if (l.issued != hold->issued || l.under_way != hold->under_way)
        wrong(h, "server %u: %llu issued and %u under way, we know of %llu and %u",
              hold->number, (unsigned long long)l.issued, l.under_way,
              (unsigned long long)hold->issued, hold->under_way);
    for (int i = 0; i < OUTCOMES; i++)
        if (theirs[i] != hold->ended[i])
            wrong(h, "server %u: %llu calls %s, we know of %llu", hold->number,
                  (unsigned long long)theirs[i], names[i],
                  (unsigned long long)hold->ended[i]);
}

/* ---- what is kept ---- */

/* FNV-1a over the whole, read in pieces of any size. */
static uint64_t sum_of(struct host *h, mcplug_result *r)
{
    struct mcplug_cursor at = {.struct_size = sizeof at};
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    size_t piece = MCPLUG_READ_MIN + any(h, 4000);
    unsigned char buf[MCPLUG_READ_MIN + 4000];
    int64_t n;

    while ((n = mcplug_result_read(r, &at, buf, piece)) > 0)
        for (int64_t i = 0; i < n; i++)
            sum = (sum ^ buf[i]) * UINT64_C(0x100000001b3);
    if (n < 0)
        wrong(h, "a result cannot be read: %s", mcplug_error_name((int)n));
    return sum;
}

void kept_check(struct host *h, struct kept *k)
{
    if (k->result && sum_of(h, k->result) != k->sum)
        wrong(h, "a result that is kept has changed");
}

void result_keep(struct host *h, mcplug_result *result)
{
    struct kept *k = &h->results[any(h, KEPT)];

    kept_check(h, k);
    mcplug_result_unref(k->result);
    k->result = mcplug_result_ref(result);
    k->sum = sum_of(h, result);
}

void kept_clear(struct host *h)
{
    for (int i = 0; i < KEPT; i++) {
        kept_check(h, &h->results[i]);
        mcplug_result_unref(h->results[i].result);
        mcplug_call_unref(h->calls[i]);
        for (size_t k = 0; k < mcplug_list_count(h->lists[i]); k++)
            if (!mcplug_list_item(h->lists[i], k, NULL) ||
                mcplug_list_find(h->lists[i], mcplug_list_name(h->lists[i], k)) < 0)
                wrong(h, "an item of a list that is kept is gone");
        mcplug_list_unref(h->lists[i]);
        if (h->records[i] && !mcplug_record_json(h->records[i]))
            wrong(h, "a record has no JSON");
        mcplug_record_unref(h->records[i]);
        h->results[i] = (struct kept){0};
        h->calls[i] = NULL;
        h->lists[i] = NULL;
        h->records[i] = NULL;
    }
}
