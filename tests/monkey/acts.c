#include "monkey.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOOL_MS = 1500, READY_MS = 2500, BURST = 40, CONFIG_SIZE = 32768 };

struct hold *any_hold(struct host *h)
{
    unsigned first = any(h, HOLDS);

    for (unsigned i = 0; i < HOLDS; i++)
        if (h->holds[(first + i) % HOLDS])
            return h->holds[(first + i) % HOLDS];
    return NULL;
}

struct box *any_box(struct host *h)
{
    struct box *b = &h->boxes[any(h, BOXES)];
    return b->box ? b : NULL;
}

void meddle(struct host *h)
{
    if (h->is_ending || h->depth == DEPTH)
        return;
    h->depth++;
    while (one_in(h, 4))
        act(h);
    h->depth--;
}

/* ---- callbacks of servers ---- */

static bool is_told(struct hold *hold, mcplug_server *server)
{
    if (!hold->closed && (!hold->server || hold->server == server))
        return true;
    wrong(hold->host, "something was reported of server %u, which is closed",
          hold->number);
    return false;
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct hold *hold = arg;

    if (!hold->ready_due || (hold->server && hold->server != server))
        wrong(hold->host, "ready of server %u ran twice", hold->number);
    if (why && !why->text[0])
        wrong(hold->host, "server %u is not ready, without a reason", hold->number);
    hold->ready_due = false;
    hold->host->due.ready--;
    meddle(hold->host);
}

static void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct hold *hold = arg;

    (void)why;
    if (!strcmp(mcplug_state_name(state), ""))
        wrong(hold->host, "a state without a name: %d", (int)state);
    if (is_told(hold, server))
        meddle(hold->host);
}

static void on_changed(void *arg, mcplug_server *server, int kind, const char *uri)
{
    struct hold *hold = arg;

    (void)kind, (void)uri;
    if (is_told(hold, server))
        meddle(hold->host);
}

static void on_text(void *arg, mcplug_server *server, const char *text, size_t len)
{
    struct hold *hold = arg;

    (void)text, (void)len;
    if (is_told(hold, server))
        meddle(hold->host);
}

void input_answer(struct host *h, mcplug_input *input)
{
    static const char *const answers[] = {
        "{\"action\":\"accept\",\"content\":{\"name\":\"monkey\"}}",
        "{\"action\":\"decline\"}",
        "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\","
        "\"text\":\"oook\"}}",
        "{\"roots\":[{\"uri\":\"file:///tmp\"}]}", "{}"};

    mcplug_input_call(input);
    mcplug_input_server(input);
    if (one_in(h, 8) && mcplug_input_answer(input, "[1]") != MCPLUG_EINVAL)
        wrong(h, "an answer that is no object was taken");
    if (one_in(h, 4))
        mcplug_input_refuse(input, -1, "no");
    else if (mcplug_input_answer(input, answers[any(h, 5)]) == MCPLUG_EINVAL)
        wrong(h, "an answer was refused");
}

static void on_input(void *arg, mcplug_server *server, mcplug_input *input,
                     const char *params, size_t len)
{
    struct hold *hold = arg;
    struct host *h = hold->host;
    mcplug_input **at = &h->inputs[any(h, KEPT)];

    (void)server, (void)params, (void)len;
    if (h->is_ending || h->is_freeing || *at || one_in(h, 2))
        input_answer(h, input);
    else
        *at = input;
    meddle(h);
}

static void on_hold_freed(void *arg)
{
    struct hold *hold = arg;

    if (hold->ready_due)
        wrong(hold->host, "server %u is freed, and ready has not run", hold->number);
    if (!hold->closed && !hold->host->is_freeing)
        wrong(hold->host, "server %u is freed, and was not closed", hold->number);
    hold->host->due.args--;
    take_out(hold->host, hold); /* mcplug_free() has ended it, and runs what was posted */
    hold_unref(hold);
}

static void on_closed(void *arg)
{
    struct host *h = arg;

    if (--h->due.closed < 0)
        wrong(h, "closed ran twice");
    meddle(h);
}

/* ---- servers ---- */

static const char *const json_options[] = {
    "{\"timeouts\":{\"tool\":\"1s\"},\"idle\":\"200ms\"}",
    "{\"toolsDenied\":[\"e*\"]}",
    "{\"toolsApproved\":[\"e*\"],\"toolsAsked\":[\"any\"]}",
    "{\"toolsAllowed\":[\"*\"],\"queue\":\"narrow\"}",
    "{}",
    "{\"nonsense\":1}",
    "[",
    "{\"queue\":\"wide\",\"timeouts\":{\"connect\":\"300ms\"}}"};

void hold_options(struct host *h, struct hold *hold, struct mcplug_server_options *o)
{
    static const char *const queues[] = {NULL, NULL, "wide", "narrow", "none"};
    static const char *const revisions[] = {"2026-07-28", "2025-11-25", "1999-01-01"};
    static const char *const probes[] = {"ping", "listTools", "discover", "nothing"};
    static const char *const denied[] = {"big", "gen_*", NULL};

    *o = (struct mcplug_server_options){.struct_size = sizeof *o,
                                        .dedicated = one_in(h, 3),
                                        .once = one_in(h, 8),
                                        .timeout_ms = 200 + any(h, 1500),
                                        .request_ms = 200 + any(h, 1000),
                                        .tool_ms = 1 + any(h, TOOL_MS),
                                        .ready_ms = 1 + any(h, READY_MS),
                                        .probe_ms = 50 + any(h, 1000),
                                        .arg = hold,
                                        .free_arg = on_hold_freed};
    o->lists = one_in(h, 3) ? MCPLUG_NO_LISTS : one_in(h, 3) ? MCPLUG_TOOLS : 0;
    o->max_memory = one_in(h, 3) ? 64 * 1024 : 512 * 1024;
    o->max_spill = one_in(h, 3) ? 0 : 1024 * 1024;
    o->idle_ms = one_in(h, 4) ? 1 + any(h, 400) : 0;
    o->keep_alive_ms = one_in(h, 5) ? 20 + any(h, 200) : 0;
    o->queue = queues[any(h, 5)];
    o->revision = one_in(h, 8) ? revisions[any(h, 3)] : NULL;
    o->probe = one_in(h, 8) ? probes[any(h, 4)] : NULL;
    o->log_level = one_in(h, 3) ? "debug" : NULL;
    o->identity = one_in(h, 5) ? "another" : NULL;
    o->tools_denied = one_in(h, 5) ? denied : NULL;
    o->json = one_in(h, 5) ? json_options[any(h, 7)] : NULL;
    if (one_in(h, 3)) {
        o->elicit = o->elicit_url = o->sample = on_input;
        o->roots = one_in(h, 2) ? on_input : NULL;
    }
    if (h->drive != PULLS || one_in(h, 4)) {
        o->state = on_state;
        o->changed = on_changed;
        o->logged = o->remark = on_text;
    }
}

/* NULL: every place is taken. */
static struct hold **free_place(struct host *h)
{
    for (unsigned i = 0; i < HOLDS; i++)
        if (!h->holds[i])
            return &h->holds[i];
    return NULL;
}

void hold_made(struct host *h, struct hold *hold, int r, const struct mcplug_error *err)
{
    struct hold **place = free_place(h);

    if (r != MCPLUG_OK) {
        if (!err->text[0] || err->code != r)
            wrong(h, "a server was not opened without a reason, %d and %d", r, err->code);
        if (hold->ready_due)
            h->due.ready--;
        h->due.args--;
        h->refused++;
        hold_unref(hold);
        return;
    }
    if (place)
        *place = hold;
    else
        hold_close(hold);
}

static void act_open(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_server_options o;
    struct hold *hold;
    int r;

    if (!free_place(h))
        return;
    hold = hold_new(h, NULL);
    hold_options(h, hold, &o);
    hold->ready_due = !one_in(h, 4);
    h->due.ready += hold->ready_due;
    h->due.args++;
    if (h->config && one_in(h, 4)) {
        const char *name = wire_name(h);
        note(h, "open_named %u %s", hold->number, name);
        r = mcplug_open_named(h->mcplug, h->config, name, &o,
                              hold->ready_due ? on_ready : NULL, hold, &hold->server,
                              &err);
    } else {
        mcplug_settings *s = wire_settings(h, -1, &hold->is_clean);
        note(h, "open %u", hold->number);
        r = mcplug_open(h->mcplug, s, &o, hold->ready_due ? on_ready : NULL, hold,
                        &hold->server, &err);
        mcplug_settings_free(s);
    }
    hold_made(h, hold, r, &err);
}

void take_out(struct host *h, struct hold *hold)
{
    for (unsigned i = 0; i < HOLDS; i++)
        if (h->holds[i] == hold)
            h->holds[i] = NULL;
}

void hold_close(struct hold *hold)
{
    struct host *h = hold->host;

    note(h, "close %u", hold->number);
    hold_check(hold);
    take_out(h, hold);
    hold->closed = true;
    bool tells = !one_in(h, 4);
    h->due.closed += tells;
    mcplug_close(hold->server, tells ? on_closed : NULL, h);
}

static void act_close(struct host *h)
{
    struct hold *hold = any_hold(h);

    if (hold && !hold->lent)
        hold_close(hold);
}

static void act_restart(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct hold *hold = any_hold(h);

    if (!hold)
        return;
    note(h, "restart %u", hold->number);
    if (mcplug_restart(hold->server, &err) != MCPLUG_OK && !err.text[0])
        wrong(h, "server %u is not restarted, without a reason", hold->number);
}

static void act_kill(struct host *h)
{
    struct hold *hold = any_hold(h);
    struct mcplug_status st = {.struct_size = sizeof st};

    if (!hold)
        return;
    mcplug_server_status(hold->server, &st);
    if (st.pid <= 0)
        return;
    note(h, "kill %u", hold->number);
    kill((pid_t)st.pid, one_in(h, 4) ? SIGSTOP : SIGKILL);
}

static void act_known(struct host *h)
{
    struct hold *hold = any_hold(h);
    struct mcplug_status st = {.struct_size = sizeof st};

    if (!hold)
        return;
    hold_check(hold);
    mcplug_server_status(hold->server, &st);
    if (!st.name || !st.calls || !st.wire || !mcplug_server_name(hold->server) ||
        !mcplug_server_revision(hold->server) || !mcplug_server_info(hold->server) ||
        !mcplug_server_capabilities(hold->server) ||
        !mcplug_server_instructions(hold->server))
        wrong(h, "nothing is known of server %u", hold->number);
    mcplug_server_fact(hold->server, one_in(h, 2) ? "pid" : "peer");
    for (int kind = MCPLUG_TOOLS; kind <= MCPLUG_TEMPLATES; kind *= 2)
        mcplug_list_count(mcplug_server_list(hold->server, (enum mcplug_kind)kind));
}

/* ---- requests ---- */

static void fill_call(struct host *h, const struct shot *s, struct mcplug_call_options *o)
{
    *o = (struct mcplug_call_options){.struct_size = sizeof *o};
    o->timeout_ms = one_in(h, 3) ? 1 + any(h, TOOL_MS) : 0;
    o->meta = one_in(h, 6) ? "{\"traceparent\":\"00-0\"}" : NULL;
    if (h->drive == PULLS && !one_in(h, 4))
        return;
    o->progress = one_in(h, 2) ? on_progress : NULL;
    o->progress_json = one_in(h, 3) ? on_progress_json : NULL;
    o->progress_arg = shot_arg(h, s);
    if (o->progress || o->progress_json)
        o->free_arg = on_arg_freed;
}

static mcplug_done_fn *done_of(const struct host *h)
{
    return h->drive == PULLS ? NULL : on_done;
}

static void fill_arguments(struct host *h, struct shot *s, const char **tool, char *out,
                           size_t size)
{
    static const char *const tools[] = {
        "echo",  "echo",  "echo",     "good",      "bad",        "big",
        "sleep", "fail",  "ask_name", "ask_model", "list_roots", "log",
        "grow",  "touch", "exit",     "nothing",   "quiet",      "mute"};

    *tool = tools[any(h, sizeof tools / sizeof *tools)];
    if (!strcmp(*tool, "echo")) {
        s->echo = true;
        snprintf(out, size, "{\"text\":\"#%llu %*s\"}", (unsigned long long)s->number,
                 (int)any(h, one_in(h, 10) ? (unsigned)size - 64 : 100), "");
    } else if (!strcmp(*tool, "big")) {
        snprintf(out, size, "{\"bytes\":%u}", any(h, one_in(h, 4) ? 2000000 : 5000));
    } else if (!strcmp(*tool, "sleep")) {
        snprintf(out, size, "{\"ms\":%u}", any(h, 600));
    } else if (!strcmp(*tool, "exit")) {
        snprintf(out, size, "{\"code\":%u}", any(h, 3));
    } else {
        snprintf(out, size,
                 "{\"prompt\":\"?\",\"level\":\"error\",\"text\":\"t\",\"uri\":"
                 "\"file:///notes.md\"}");
    }
}

static void call_of(struct hold *hold)
{
    static _Thread_local char arguments[20000];
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct host *h = hold->host;
    struct shot *s = shot_new(h, hold);
    struct mcplug_call_options o;
    const char *tool;

    if (!s)
        return;
    fill_arguments(h, s, &tool, arguments, sizeof arguments);
    fill_call(h, s, &o);
    note(h, "call %u %s, request %llu", hold->number, tool,
         (unsigned long long)s->number);
    mcplug_call *c = mcplug_call_tool(hold->server, tool, arguments,
                                      one_in(h, 5) && !o.free_arg ? NULL : &o, done_of(h),
                                      shot_arg(h, s), &err);
    h->due.args += c && o.free_arg;
    shot_made(h, s, c, &err);
}

static void act_call(struct host *h)
{
    struct hold *hold = any_hold(h);

    if (hold)
        call_of(hold);
}

static void act_burst(struct host *h)
{
    struct hold *hold = any_hold(h);

    for (unsigned n = any(h, BURST); hold && n > 0; n--)
        call_of(hold);
}

static void act_request(struct host *h)
{
    static const struct {
        const char *method, *params;
    } asked[] = {
        {"resources/read", "{\"uri\":\"file:///notes.md\"}"},
        {"resources/read", "{\"uri\":\"nowhere:\"}"},
        {"prompts/get", "{\"name\":\"greet\",\"arguments\":{\"name\":\"monkey\"}}"},
        {"prompts/get", "{\"name\":\"summary\"}"},
        {"completion/complete",
         "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},\"argument\":{\"name\":"
         "\"style\",\"value\":\"\"}}"},
        {"logging/setLevel", "{\"level\":\"debug\"}"},
        {"no/such/method", NULL},
    };
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct hold *hold = any_hold(h);
    struct shot *s = hold ? shot_new(h, hold) : NULL;
    struct mcplug_call_options o;
    size_t i = any(h, sizeof asked / sizeof *asked + 1);
    mcplug_call *c;

    if (!s)
        return;
    fill_call(h, s, &o);
    note(h, "request of %u, request %llu", hold->number, (unsigned long long)s->number);
    if (i == sizeof asked / sizeof *asked)
        c = mcplug_ping(hold->server, &o, done_of(h), shot_arg(h, s), &err);
    else
        c = mcplug_request(hold->server, asked[i].method, asked[i].params, &o, done_of(h),
                           shot_arg(h, s), &err);
    h->due.args += c && o.free_arg;
    shot_made(h, s, c, &err);
}

static void act_subscribe(struct host *h)
{
    static const char *const uris[] = {"file:///notes.md", "file:///a", "nowhere:"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct hold *hold = any_hold(h);
    struct shot *s = hold ? shot_new(h, hold) : NULL;
    const char *uri = uris[any(h, 3)];
    bool on = !one_in(h, 3);

    if (!s)
        return;
    note(h, "%ssubscribe %u, request %llu", on ? "" : "un", hold->number,
         (unsigned long long)s->number);
    mcplug_call *c =
        on ? mcplug_subscribe(hold->server, uri, NULL, on_done, shot_arg(h, s), &err)
           : mcplug_unsubscribe(hold->server, uri, NULL, on_done, shot_arg(h, s), &err);
    shot_made(h, s, c, &err);
}

static void act_list(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct hold *hold = any_hold(h);
    struct shot *s = hold ? shot_new(h, NULL) : NULL;
    struct mcplug_call_options o = {.struct_size = sizeof o};

    if (!s)
        return;
    o.timeout_ms = one_in(h, 2) ? 1 + any(h, TOOL_MS) : 0;
    note(h, "list of %u, request %llu", hold->number, (unsigned long long)s->number);
    mcplug_call *c =
        mcplug_get_list(hold->server, (enum mcplug_kind)(1 << any(h, 4)), &o,
                        h->drive == PULLS ? NULL : on_list, shot_arg(h, s), &err);
    shot_made(h, s, c, &err);
}

static void act_cancel(struct host *h)
{
    unsigned n = one_in(h, 20) ? SHOTS : 1 + any(h, 4), first = any(h, SHOTS);

    note(h, "cancel %u", n);
    for (unsigned i = 0; i < SHOTS && n > 0; i++) {
        struct shot *s = &h->shots[(first + i) % SHOTS];
        if (!s->number)
            continue;
        mcplug_cancel(s->call);
        if (one_in(h, 4))
            mcplug_cancel(s->call);
        n--;
    }
    mcplug_cancel(h->calls[any(h, KEPT)]); /* whether it has ended or not */
}

static void act_kept(struct host *h)
{
    unsigned i = any(h, KEPT);

    kept_check(h, &h->results[i]);
    if (one_in(h, 2)) {
        mcplug_result_unref(h->results[i].result);
        h->results[i] = (struct kept){0};
    }
    if (h->inputs[i]) {
        mcplug_input *input = h->inputs[i];
        h->inputs[i] = NULL;
        note(h, "answer");
        input_answer(h, input);
    }
}

/* ---- toolboxes ---- */

static void on_box_changed(void *arg, mcplug_toolbox *box)
{
    (void)box;
    meddle(((struct box *)arg)->host);
}

static void on_box_state(void *arg, mcplug_toolbox *box, const char *server,
                         enum mcplug_state state, const struct mcplug_error *why)
{
    (void)box, (void)server, (void)state, (void)why;
    meddle(((struct box *)arg)->host);
}

static void on_box_settled(void *arg, mcplug_toolbox *box, const char *server,
                           uint64_t ms, const struct mcplug_error *why)
{
    (void)box, (void)server, (void)ms, (void)why;
    meddle(((struct box *)arg)->host);
}

void on_box_freed(void *arg)
{
    struct host *h = arg;

    if (--h->due.freed < 0)
        wrong(h, "freed ran twice");
    meddle(h);
}

static void on_warm(void *arg, mcplug_toolbox *box, size_t ready, size_t failed)
{
    struct host *h = arg;

    (void)box, (void)ready, (void)failed;
    if (--h->due.warm < 0)
        wrong(h, "the end of warming up was reported twice");
    meddle(h);
}

static void act_box_new(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct box *b = &h->boxes[any(h, BOXES)];
    struct mcplug_toolbox_options o = {.struct_size = sizeof o,
                                       .batch = 1 + any(h, 3),
                                       .plain_names = one_in(h, 3),
                                       .arg = b,
                                       .settled = on_box_settled,
                                       .changed = on_box_changed,
                                       .state = on_box_state};

    if (b->box) {
        if (!one_in(h, 4))
            return;
        note(h, "free toolbox %d", (int)(b - h->boxes));
        h->due.freed++;
        mcplug_toolbox_free(b->box, on_box_freed, h);
        b->box = NULL;
        return;
    }
    note(h, "new toolbox %d", (int)(b - h->boxes));
    b->host = h;
    b->box = mcplug_toolbox_new(h->mcplug, &o, &err);
    if (!b->box && !err.text[0])
        wrong(h, "a toolbox is refused without a reason");
}

static void act_box_add(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct box *b = any_box(h);
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .timeout_ms = 200 + any(h, 1500),
                                      .request_ms = 1000,
                                      .tool_ms = TOOL_MS,
                                      .ready_ms = READY_MS,
                                      .probe_ms = 1000,
                                      .max_memory = 256 * 1024,
                                      .max_spill = 1024 * 1024};
    char name[16];
    bool clean;
    int r;

    if (!b)
        return;
    if (h->config && one_in(h, 2)) {
        const char *of = wire_name(h);
        note(h, "toolbox %d: add %s", (int)(b - h->boxes), of);
        r = mcplug_toolbox_add_named(b->box, h->config, of, &o, &err);
    } else {
        mcplug_settings *s = wire_settings(h, -1, &clean);
        snprintf(name, sizeof name, "s%u", any(h, 4));
        note(h, "toolbox %d: add %s", (int)(b - h->boxes), name);
        r = mcplug_toolbox_add(b->box, name, s, &o, &err);
        mcplug_settings_free(s);
    }
    if (r != MCPLUG_OK && (err.code != r || !err.text[0]))
        wrong(h, "a server was not added without a reason");
}

static void act_box_remove(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct box *b = any_box(h);
    char name[16];

    if (!b)
        return;
    snprintf(name, sizeof name, "s%u", any(h, 4));
    note(h, "toolbox %d: remove %s", (int)(b - h->boxes), name);
    const char *of = one_in(h, 2) ? name : wire_name(h);
    if (mcplug_toolbox_remove(b->box, of, on_closed, h, &err) == MCPLUG_OK)
        h->due.closed++;
}

static void act_box_warm(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct box *b = any_box(h);

    if (!b)
        return;
    note(h, "toolbox %d: warm up", (int)(b - h->boxes));
    if (mcplug_toolbox_warm_up(b->box, on_warm, h, &err) == MCPLUG_OK)
        h->due.warm++;
}

static void act_box_call(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct box *b = any_box(h);
    struct shot *s = b ? shot_new(h, NULL) : NULL;
    struct mcplug_call_options o = {.struct_size = sizeof o};

    if (!s)
        return;
    size_t n = mcplug_toolbox_count(b->box);
    const char *name = n ? mcplug_toolbox_name(b->box, any(h, (unsigned)n)) : NULL;
    o.timeout_ms = 1 + any(h, TOOL_MS);
    note(h, "toolbox %d: call, request %llu", (int)(b - h->boxes),
         (unsigned long long)s->number);
    mcplug_call *c =
        mcplug_toolbox_call(b->box, name && !one_in(h, 8) ? name : "mcp__s0__echo",
                            "{\"text\":\"x\"}", &o, on_record, shot_arg(h, s), &err);
    shot_made(h, s, c, &err);
}

static void act_box_read(struct host *h)
{
    struct box *b = any_box(h);
    const char *server, *tool;
    size_t len;

    if (!b)
        return;
    size_t n = mcplug_toolbox_count(b->box), i = n ? any(h, (unsigned)n) : 0;
    const char *name = mcplug_toolbox_name(b->box, i);
    if (n && (!name || !mcplug_toolbox_tool(b->box, i, &len) ||
              !mcplug_toolbox_find(b->box, name, &server, &tool)))
        wrong(h, "a tool of a toolbox is not found");
    if (!mcplug_toolbox_json(b->box, (enum mcplug_format)any(h, 4), &len) ||
        !mcplug_toolbox_instructions(b->box))
        wrong(h, "a toolbox has no texts");
    mcplug_toolbox_server(b->box, "s0");
}

/* ---- the host ---- */

static void act_config(struct host *h)
{
    static _Thread_local char text[CONFIG_SIZE];
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    const char *more[] = {text, NULL};
    struct mcplug_config_options o = {.struct_size = sizeof o, .strict = 1, .more = more};

    note(h, "load the configuration");
    wires_config(h, text, sizeof text);
    if (one_in(h, 6))
        text[any(h, (unsigned)strlen(text))] = '\0';
    mcplug_config *config = mcplug_config_load(&o, &err);
    if (!config && !err.text[0])
        wrong(h, "the configuration is not loaded, without a reason");
    mcplug_config_free(h->config); /* servers of it go on */
    h->config = config;
}

static void on_post(void *arg)
{
    struct host *h = arg;

    if (--h->due.posts < 0)
        wrong(h, "what was posted ran twice");
    meddle(h);
}

static void act_post(struct host *h)
{
    h->due.posts++;
    if (mcplug_post(h->mcplug, on_post, h) != MCPLUG_OK)
        h->due.posts--;
}

static void act_queue(struct host *h)
{
    mcplug_set_queue(h->mcplug, one_in(h, 2) ? "wide" : "narrow", any(h, 5), any(h, 60));
}

static void act_wires(struct host *h)
{
    char what = one_in(h, 4) ? 'k' : 'x';

    note(h, "proxies: %c", what);
    wires_tell(what);
}

/* What the header forbids is refused, and does no harm. */
static void act_misuse(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_server_options bad = {.struct_size = 5};
    struct hold *hold = any_hold(h);
    mcplug_server *none = NULL;
    mcplug_result *result = NULL;
    mcplug_settings *s = mcplug_settings_new(NULL);

    if (!s)
        give_up("no memory");
    note(h, "misuse");
    if (mcplug_open(h->mcplug, s, &bad, NULL, NULL, &none, &err) == MCPLUG_OK || none)
        wrong(h, "options of 5 bytes were taken");
    if (mcplug_settings_json(s, "{\"type\":", &err) != MCPLUG_ECONFIG)
        wrong(h, "half an object was taken for settings");
    mcplug_settings_free(s);
    if (hold && mcplug_call_tool(hold->server, "echo", "[1", NULL, on_done, NULL, &err))
        wrong(h, "arguments that are no object were taken");
    if (hold &&
        mcplug_request(hold->server, "tools/call", "{}", NULL, on_done, NULL, &err))
        wrong(h, "tools/call was taken for a request");
    if (!h->depth || h->drive == PULLS)
        return;
    /* What a callback may not do is done by none of these. */
    mcplug_turn(h->mcplug, 0);
    mcplug_run(h->mcplug);
    mcplug_free(h->mcplug);
    if (hold && mcplug_call_tool_wait(hold->server, "echo", "{}", NULL, &result, &err) !=
                    MCPLUG_EINVAL)
        wrong(h, "a callback could wait");
}

static const struct {
    void (*run)(struct host *h);
    unsigned weight;
} acts[] = {{act_open, 7},      {act_close, 3},    {act_restart, 2},    {act_kill, 1},
            {act_known, 4},     {act_call, 34},    {act_burst, 1},      {act_request, 8},
            {act_subscribe, 4}, {act_list, 5},     {act_cancel, 3},     {act_kept, 5},
            {act_box_new, 1},   {act_box_add, 2},  {act_box_remove, 1}, {act_box_warm, 1},
            {act_box_call, 5},  {act_box_read, 2}, {act_config, 1},     {act_post, 2},
            {act_queue, 1},     {act_misuse, 1}};

void act(struct host *h)
{
    unsigned sum = 0;

    if (one_in(h, 2000)) {
        act_wires(h);
        return;
    }
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        sum += acts[i].weight;
    unsigned n = any(h, sum);
    size_t i = 0;
    while (n >= acts[i].weight)
        n -= acts[i++].weight;
    h->acts++;
    acts[i].run(h);
}
