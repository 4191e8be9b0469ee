#include "monkey.h"
#include "../unit/now.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* END_MS: for requests whose own time is 3 s at most, on a machine that has other things
 * to do; what ends later never does. */
enum { END_MS = 90000, WAIT_MS = 400, POSTED_MAX = 16, PROOF_MS = 60000 };

/* ---- its loop ---- */

struct errand {
    struct host *host;
    void (*run)(struct host *h, void *arg);
    void *arg;
};

static void run_errand(void *arg)
{
    struct errand *e = arg;

    e->host->depth++;
    e->run(e->host, e->arg);
    e->host->depth--;
    sem_post(&e->host->lent);
}

/* On the thread of its loop, and waits until it has been done. */
static void on_loop(struct host *h, void (*run)(struct host *h, void *arg), void *arg)
{
    struct errand e = {h, run, arg};

    if (h->drive != THREAD) {
        run(h, arg);
        return;
    }
    if (mcplug_post(h->mcplug, run_errand, &e) != MCPLUG_OK)
        give_up("nothing can be posted");
    while (sem_wait(&h->lent) != 0)
        continue;
}

static void act_posted(void *arg)
{
    struct host *h = arg;

    h->posted--;
    h->depth++;
    act(h);
    h->depth--;
}

void host_act(struct host *h)
{
    if (h->drive != THREAD) {
        act(h);
        return;
    }
    if (h->posted >= POSTED_MAX)
        return;
    h->posted++;
    if (mcplug_post(h->mcplug, act_posted, h) != MCPLUG_OK)
        h->posted--;
}

static void stop(void *arg)
{
    mcplug_stop(((struct host *)arg)->mcplug);
}

void host_turn(struct host *h)
{
    const struct mcplug_event *e;

    if (h->drive == THREAD)
        return;
    if (h->drive == TURNS && one_in(h, 20)) {
        if (mcplug_post(h->mcplug, stop, h) == MCPLUG_OK)
            mcplug_run(h->mcplug);
        return;
    }
    mcplug_turn(h->mcplug, 0);
    while (h->drive == PULLS && (e = mcplug_next_event(h->mcplug, 0)))
        on_event(h, e);
}

/* ---- its beginning ---- */

static void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)arg;
    if (monkey.verbose)
        printf("  [%d] %s: %s\n", level, source, text);
}

void host_new(struct host *h, enum drive drive)
{
    static const char *const json[] = {
        NULL, "{\"clientName\":\"monkey\"}",
        "{\"logLevel\":\"trace\",\"clientVersion\":\"1\"}"};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char spill[80];
    struct mcplug_options o = {.struct_size = sizeof o, .spill_dir = spill};

    snprintf(spill, sizeof spill, "%s/spill", monkey.dir);
    o.json = json[any(h, 3)];
    o.log_level = one_in(h, 2) ? MCPLUG_LOG_TRACE : MCPLUG_LOG_WARN;
    if (drive == PULLS)
        o.events = MCPLUG_EVENT_BIT(MCPLUG_EVENT_LOG + 1) - 1;
    else
        o.log = on_log;
    h->drive = drive;
    h->is_ending = h->is_freeing = false;
    h->mcplug = mcplug_new(&o, &err);
    if (!h->mcplug)
        give_up("no host: %s", err.text);
    mcplug_set_queue(h->mcplug, "wide", 8, 200);
    mcplug_set_queue(h->mcplug, "narrow", 1, 5);
    if (drive == THREAD && mcplug_start_thread(h->mcplug, &err) != MCPLUG_OK)
        give_up("no thread: %s", err.text);
    note(h, "new host");
}

/* ---- what blocks ---- */

/* One server that another thread uses for a while, or a place for a new one. */
struct loan {
    struct hold *hold;
    struct mcplug_error err;
    int r;
};

static void lend(struct host *h, void *arg)
{
    struct loan *l = arg;

    l->hold = any_hold(h);
    if (!l->hold)
        return;
    l->hold->users++;
    l->hold->inexact = true;
    l->hold->lent = h->drive == THREAD; /* here a callback may close it meanwhile */
}

static void give_back(struct host *h, void *arg)
{
    struct loan *l = arg;

    (void)h;
    l->hold->lent = false;
    hold_unref(l->hold);
}

static void make_hold(struct host *h, void *arg)
{
    ((struct loan *)arg)->hold = hold_new(h, NULL);
    h->due.args++;
}

static void made_hold(struct host *h, void *arg)
{
    struct loan *l = arg;
    hold_made(h, l->hold, l->r, &l->err);
}

static void wait_open(struct host *h)
{
    struct loan l = {NULL, MCPLUG_ERROR_INIT, 0};
    struct mcplug_server_options o;

    on_loop(h, make_hold, &l);
    hold_options(h, l.hold, &o);
    o.ready_ms = 1 + any(h, WAIT_MS);
    note(h, "open_wait %u", l.hold->number);
    mcplug_settings *s = wire_settings(h, -1, &l.hold->is_clean);
    l.r = mcplug_open_wait(h->mcplug, s, &o, &l.hold->server, &l.err);
    mcplug_settings_free(s);
    on_loop(h, made_hold, &l);
}

static void wait_for(struct host *h, struct hold *hold)
{
    struct mcplug_call_options o = {.struct_size = sizeof o,
                                    .timeout_ms = 1 + any(h, WAIT_MS)};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_result *result = NULL;
    mcplug_list *list = NULL;
    int r;

    switch (any(h, 4)) {
    case 0:
        r = mcplug_ping_wait(hold->server, &o, &err);
        break;
    case 1:
        r = mcplug_get_list_wait(hold->server, MCPLUG_TOOLS, &o, &list, &err);
        if (!r != !!list)
            wrong(h, "a list that was waited for, and a reason, or neither");
        break;
    case 2:
        r = mcplug_request_wait(hold->server, "prompts/get", "{\"name\":\"summary\"}", &o,
                                &result, &err);
        break;
    default:
        r = mcplug_call_tool_wait(hold->server, one_in(h, 4) ? "sleep" : "echo",
                                  "{\"text\":\"x\",\"ms\":50}", &o, &result, &err);
        break;
    }
    if (r != MCPLUG_OK && (err.code != r || !err.text[0]))
        wrong(h, "what was waited for failed without a reason");
    if (r != MCPLUG_OK && r != MCPLUG_EPEER && result)
        wrong(h, "what was waited for failed, and has a result");
    mcplug_result_unref(result);
    mcplug_list_unref(list);
}

static void wait_close(struct host *h, struct hold *hold)
{
    note(h, "close_wait %u", hold->number);
    hold_check(hold);
    take_out(h, hold);
    hold->closed = true;
    mcplug_close_wait(hold->server);
}

/* Of a host whose loop is another thread's: what belongs to that is refused here. */
static void trespass(struct host *h)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_settings *s = mcplug_settings_new("stdio");
    mcplug_server *none = NULL;

    mcplug_settings_set(s, "command", "true");
    if (mcplug_open(h->mcplug, s, NULL, NULL, NULL, &none, &err) != MCPLUG_EINVAL || none)
        wrong(h, "a server was opened on a thread that is not the loop's");
    mcplug_settings_free(s);
    mcplug_turn(h->mcplug, 0);
}

void host_wait(struct host *h)
{
    struct loan l = {NULL, MCPLUG_ERROR_INIT, 0};
    struct box *b;

    if (h->drive == THREAD && one_in(h, 10)) {
        trespass(h);
        return;
    }
    if (one_in(h, 3)) {
        wait_open(h);
        return;
    }
    if (h->drive != THREAD && one_in(h, 6) && (b = any_box(h))) {
        note(h, "toolbox %d: free_wait", (int)(b - h->boxes));
        mcplug_toolbox *box = b->box;
        b->box = NULL;
        mcplug_toolbox_free_wait(box);
        return;
    }
    on_loop(h, lend, &l);
    if (!l.hold)
        return;
    note(h, "wait for %u", l.hold->number);
    if (h->drive != THREAD && one_in(h, 4))
        wait_close(h, l.hold);
    else
        wait_for(h, l.hold);
    on_loop(h, give_back, &l);
}

/* ---- its end ---- */

static void begin_end(struct host *h, void *arg)
{
    (void)arg;
    h->is_ending = true;
    mcplug_config_free(h->config);
    h->config = NULL;
}

static void answer_all(struct host *h, void *arg)
{
    (void)arg;
    for (int i = 0; i < KEPT; i++)
        if (h->inputs[i]) {
            mcplug_input *input = h->inputs[i];
            h->inputs[i] = NULL;
            input_answer(h, input);
        }
}

static void check_all(struct host *h, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < HOLDS; i++)
        if (h->holds[i])
            hold_check(h->holds[i]);
}

static void close_all(struct host *h, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < HOLDS; i++)
        if (h->holds[i])
            hold_close(h->holds[i]);
    for (unsigned i = 0; i < BOXES; i++)
        if (h->boxes[i].box) {
            h->due.freed++;
            mcplug_toolbox_free(h->boxes[i].box, on_box_freed, h);
            h->boxes[i].box = NULL;
        }
}

static void count_shots(struct host *h, void *arg)
{
    *(long *)arg = h->due.shots;
}

static void count_closed(struct host *h, void *arg)
{
    *(long *)arg = h->due.shots + h->due.closed + h->due.freed + h->due.warm +
                   h->due.posts + h->due.ready + h->due.args;
}

/* Nothing that is counted there may be left in the end. */
static void run_down(struct host *h, void (*count)(struct host *h, void *arg),
                     const char *what)
{
    double until = now_ms() + END_MS;
    long left = 1;

    for (;;) {
        on_loop(h, count, &left);
        if (left <= 0)
            return;
        if (now_ms() > until) {
            wrong(h, "%ld of %s have not ended after %d s", left, what, END_MS / 1000);
            return;
        }
        on_loop(h, answer_all, NULL);
        if (h->drive == THREAD)
            poll(NULL, 0, 1);
        else {
            struct pollfd p = {.fd = mcplug_fd(h->mcplug), .events = POLLIN};
            poll(&p, 1, 10);
            host_turn(h);
        }
    }
}

static void check_due(struct host *h)
{
    const struct due *d = &h->due;

    if (d->shots || d->ready || d->closed || d->args || d->warm || d->freed || d->posts)
        wrong(h,
              "a host is freed, and not reported: %ld requests, %ld ready, %ld closed, "
              "%ld arguments, %ld warmed up, %ld freed, %ld posts",
              d->shots, d->ready, d->closed, d->args, d->warm, d->freed, d->posts);
    h->due = (struct due){0};
}

void host_free(struct host *h)
{
    bool gently = one_in(h, 2), keeps = one_in(h, 2);

    note(h, gently ? "let go of everything" : "free the host");
    on_loop(h, answer_all, NULL);
    if (gently) {
        on_loop(h, begin_end, NULL);
        run_down(h, count_shots, "the requests");
        on_loop(h, check_all, NULL);
        on_loop(h, close_all, NULL);
        run_down(h, count_closed, "the servers");
    }
    if (!keeps && h->drive != THREAD)
        kept_clear(h);
    h->is_freeing = true;
    if (h->drive == PULLS) { /* what has ended is told when it is asked for */
        const struct mcplug_event *e;
        on_loop(h, begin_end, NULL);
        on_loop(h, close_all, NULL);
        run_down(h, count_closed, "the servers");
        while ((e = mcplug_next_event(h->mcplug, 0)))
            on_event(h, e);
    }
    mcplug_free(h->mcplug);
    h->mcplug = NULL;
    for (unsigned i = 0; i < HOLDS; i++)
        h->holds[i] = NULL;
    for (unsigned i = 0; i < BOXES; i++)
        h->boxes[i].box = NULL;
    mcplug_config_free(h->config);
    h->config = NULL;
    kept_clear(h);
    check_due(h);
    h->posted = 0;
}

/* ---- does it still work? ---- */

void hosts_proof(void)
{
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .dedicated = 1,
                                      .timeout_ms = PROOF_MS,
                                      .request_ms = PROOF_MS,
                                      .tool_ms = PROOF_MS};
    struct host *h = &monkey.hosts[0];
    mcplug_settings *s;
    const char *name = "";

    monkey.book->calm = 1;
    host_new(h, TURNS);
    for (unsigned i = 0; (s = wire_good(h, i, &name)); i++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        mcplug_server *server = NULL;
        mcplug_result *result = NULL;
        int r = mcplug_open_wait(h->mcplug, s, &o, &server, &err);
        if (r == MCPLUG_OK)
            r = mcplug_call_tool_wait(server, "echo", "{\"text\":\"still there\"}", NULL,
                                      &result, &err);
        if (r != MCPLUG_OK || !strstr(mcplug_result_json(result, NULL), "still there"))
            wrong(h, "%s does not work, though everything is left alone: %s", name,
                  err.text);
        mcplug_result_unref(result);
        if (server)
            mcplug_close_wait(server);
        mcplug_settings_free(s);
    }
    mcplug_free(h->mcplug);
    h->mcplug = NULL;
    monkey.book->calm = 0;
}
