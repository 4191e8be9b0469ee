/* Servers that stay up, and a program that does anything at any time: every callback may
 * open, release, call, cancel, restart, free a toolbox or kill a server. Whatever it
 * does, everybody is told once, and the books are right.
 * MCPLUG_TEST_SEED=n does the same once more. */
#include "box_kit.h"
#include "quick.h"

#include <signal.h>

enum { SERVERS = 12, CALLS = 64, BOXES = 3, DEPTH = 3, ROUND_MS = 1000, MOST_MS = 30000 };

static mcplug_server *servers[SERVERS];
static mcplug_toolbox *boxes[BOXES];
static struct slot {
    mcplug_call *call;
    bool used;
} slots[CALLS];

static mcplug_call *kept[16]; /* whether they have ended or not */

static struct due { /* what somebody is to be told yet */
    long calls, lists, released, freed, ready, warm;
} due;

static uint64_t seed, dice;
static unsigned depth, n_told, n_fine;
static bool over; /* callbacks do nothing any more */

/* Below n. */
static unsigned any(unsigned n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

static bool one_in(unsigned n)
{
    return any(n) == 0;
}

static void act(void);

/* Has enough happened to say anything? */
static bool is_lively(void)
{
    return n_told > 50 && n_fine > 5;
}

static void keep(mcplug_call *c)
{
    mcplug_call **at = &kept[any(MP_COUNT(kept))];
    mcplug_call_unref(*at);
    *at = mcplug_call_ref(c);
}

static void told(void)
{
    n_told++;
    if (over || depth == DEPTH)
        return;
    depth++;
    while (one_in(2))
        act();
    depth--;
}

/* ---- what is told ---- */

static void end_call(struct slot *s, const mcplug_call *c)
{
    HOLDS(s->used && s->call == c, "a call ended that was not under way");
    HOLDS(--due.calls >= 0, "more calls ended than began");
    told();
    if (one_in(4))
        mcplug_cancel(s->call); /* of no effect */
    *s = (struct slot){0};
}

static void on_done(void *arg, mcplug_call *c, mcplug_result *result,
                    const struct mcplug_error *why)
{
    (void)result;
    n_fine += !why;
    end_call(arg, c);
}

static void on_used(void *arg, mcplug_call *c, const struct mcplug_record *r)
{
    n_fine += r->ok != 0;
    if (one_in(3))
        HOLDS(mcplug_record_json(r) != NULL, "no JSON");
    end_call(arg, c);
}

static void on_progress(void *arg, mcplug_call *c, double progress, double total,
                        const char *message)
{
    (void)c, (void)progress, (void)total, (void)message;
    HOLDS(((struct slot *)arg)->used, "progress of a call that has ended");
    told();
}

static void on_one(void *arg)
{
    HOLDS(--*(long *)arg >= 0, "told twice");
    told();
}

static void on_ready(void *arg, mcplug_server *h, const struct mcplug_error *why)
{
    (void)h, (void)why;
    on_one(arg);
}

static void on_list(void *arg, mcplug_call *call, mcplug_list *list,
                    const struct mcplug_error *why)
{
    (void)call;
    HOLDS(!list == (why != NULL), "a list and a reason, or neither");
    HOLDS(!why || why->code, "no reason");
    on_one(arg);
}

static void on_boxed(void *arg, mcplug_toolbox *b, size_t ready, size_t failed)
{
    (void)b, (void)ready, (void)failed;
    on_one(arg);
}

static void on_state(void *arg, mcplug_server *h, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    (void)arg, (void)h, (void)state, (void)why;
    told();
}

static void on_changed(void *arg, mcplug_server *h, int kind, const char *uri)
{
    (void)arg, (void)h, (void)kind, (void)uri;
    told();
}

static void on_box_state(void *arg, mcplug_toolbox *b, const char *server,
                         enum mcplug_state state, const struct mcplug_error *why)
{
    (void)arg, (void)b, (void)server, (void)state, (void)why;
    told();
}

static void on_box_settled(void *arg, mcplug_toolbox *b, const char *server, uint64_t ms,
                           const struct mcplug_error *why)
{
    (void)arg, (void)b, (void)server, (void)ms, (void)why;
    told();
}

static void on_box_changed(void *arg, mcplug_toolbox *b)
{
    (void)arg, (void)b;
    told();
}

/* ---- what is done ---- */

static const char *const few[] = {"s*", "e*", "a*", NULL};

/* One that works, mostly; one that ends at once; one that is not there. */
static mcplug_settings *any_settings(void)
{
    unsigned kind = any(6);
    mcplug_settings *s = kind > 1 ? example(NULL) : mcplug_settings_new("stdio");
    char x[16];

    if (kind <= 1)
        mcplug_settings_set(s, "command", kind ? "/bin/true" : "/nonexistent");
    snprintf(x, sizeof x, "%u", any(3));
    mcplug_settings_put(s, "env", "X", x);
    return s;
}

static struct mcplug_server_options any_options(void)
{
    static const char *const queues[] = {"echo", "q1", "sleep", "", "add", "q2", NULL};
    return (struct mcplug_server_options){.struct_size =
                                              sizeof(struct mcplug_server_options),
                                          .dedicated = one_in(4),
                                          .idle_ms = one_in(3) ? any(60) : 0,
                                          .queue = one_in(2) ? "q" : NULL,
                                          .tool_queues = one_in(2) ? queues : NULL,
                                          .tools_allowed = one_in(4) ? few : NULL,
                                          .probe_ms = 1000,
                                          .identity = one_in(5) ? "me" : NULL};
}

static void open_one(mcplug_server **h)
{
    struct mcplug_server_options o = any_options();
    mcplug_settings *s = any_settings();
    bool waits = one_in(2);

    o.timeout_ms = one_in(6) ? 1 + any(300) : 0;
    o.keep_alive_ms = one_in(6) ? 10 : 0;
    o.ready_ms = one_in(4) ? 1 + any(200) : 0;
    o.once = one_in(8);
    o.lists = one_in(4) ? MCPLUG_NO_LISTS : one_in(4) ? MCPLUG_TOOLS : 0;
    o.state = one_in(2) ? on_state : NULL;
    o.changed = one_in(2) ? on_changed : NULL;
    int r = mcplug_open(host, s, &o, waits ? on_ready : NULL, &due.ready, h, &err);
    HOLDS(r == MCPLUG_OK, "open: %s", err.text);
    due.ready += waits;
    mcplug_settings_free(s);
}

static void release(mcplug_server **at)
{
    mcplug_server *h = *at;
    *at = NULL;
    due.released++;
    mcplug_close(h, on_one, &due.released);
}

static void drop_box(mcplug_toolbox **at)
{
    mcplug_toolbox *b = *at;
    *at = NULL;
    due.freed++;
    mcplug_toolbox_free(b, on_one, &due.freed);
}

static struct slot *free_slot(void)
{
    for (unsigned i = 0; i < CALLS; i++)
        if (!slots[i].used)
            return &slots[i];
    return NULL;
}

/* On a server, or of that name from a toolbox. */
static void begin_call(mcplug_server *h, mcplug_toolbox *b, const char *name)
{
    static const char *const tools[] = {"sleep", "echo", "fail", "add", "grow", "exit"};
    static const char *const args[] = {"{\"ms\":20}", "{\"text\":\"x\"}",
                                       "{}",          "{\"ms\":200}",
                                       "[",           "{\"a\":1,\"b\":2}"};
    struct slot *s = free_slot();

    if (!s)
        return;
    struct mcplug_call_options o = {.struct_size = sizeof o,
                                    .timeout_ms = one_in(4) ? 1 + any(60) : 0,
                                    .waited_ms = one_in(8) ? any(60) : 0,
                                    .progress = one_in(2) ? on_progress : NULL,
                                    .progress_arg = s};
    const char *a = args[any(MP_COUNT(args))], *tool = tools[any(MP_COUNT(tools))];
    s->used = true;
    if (b)
        s->call = mcplug_toolbox_call(b, name, a, &o, on_used, s, &err);
    else if (one_in(5))
        s->call = mcplug_request(h, "resources/list", NULL, &o, on_done, s, &err);
    else
        s->call = mcplug_call_tool(h, tool, a, &o, on_done, s, &err);
    s->used = s->call != NULL;
    due.calls += s->used;
    if (one_in(3))
        keep(s->call);
}

static void check_books(const struct mcplug_ledger *l)
{
    HOLDS(l->issued == l->under_way + l->ok + l->tool_error + l->peer_error +
                           l->transport_error + l->timed_out + l->cancelled,
          "of %llu calls %u are under way, and the others did not end as many times",
          (unsigned long long)l->issued, l->under_way);
}

static void look_at(mcplug_server *h)
{
    struct mcplug_ledger own = {.struct_size = sizeof own};
    struct mcplug_status s = {.struct_size = sizeof s};
    mcplug_server_status(h, &s);
    mcplug_server_ledger(h, &own);
    check_books(s.calls);
    check_books(s.wire);
    check_books(&own);
    HOLDS(own.issued <= s.calls->issued && own.under_way <= s.calls->under_way,
          "one has more calls than all");
    HOLDS(s.sent + s.waiting <= CALLS, "%u sent, %u wait", s.sent, s.waiting);
    HOLDS(s.servers <= SERVERS + 6 * BOXES, "%u servers", s.servers);
    mcplug_server_list(h, 1 << any(4));
    mcplug_server_info(h);
    if (s.pid && one_in(10))
        kill((pid_t)s.pid, SIGKILL);
}

static void subscribe(mcplug_server *h, const char *uri)
{
    struct mcplug_call_options o = {.struct_size = sizeof o,
                                    .timeout_ms = one_in(4) ? 1 + any(60) : 0};
    struct slot *s = free_slot();

    if (!s)
        return;
    s->used = true;
    s->call = one_in(2) ? mcplug_subscribe(h, uri, &o, on_done, s, &err)
                        : mcplug_unsubscribe(h, uri, &o, on_done, s, &err);
    s->used = s->call != NULL;
    due.calls += s->used;
}

static void ask_of(mcplug_server *h)
{
    const char *uri = one_in(2) ? "example:///counter" : "x:1";

    if (one_in(2)) {
        struct mcplug_call_options o = {.struct_size = sizeof o,
                                        .timeout_ms = one_in(4) ? 1 + any(60) : 0};
        mcplug_call *c = mcplug_get_list(h, 1 << any(4), &o, on_list, &due.lists, &err);
        due.lists += c != NULL;
        keep(c);
    } else if (one_in(4)) {
        keep(mcplug_subscribe(h, uri, NULL, NULL, NULL, &err));
    } else if (one_in(4)) {
        keep(mcplug_unsubscribe(h, uri, NULL, NULL, NULL, &err));
    } else {
        subscribe(h, uri);
    }
}

static void open_box(mcplug_toolbox **at)
{
    struct mcplug_toolbox_options o = {.struct_size = sizeof o,
                                       .batch = any(4),
                                       .plain_names = one_in(2),
                                       .settled = one_in(2) ? on_box_settled : NULL,
                                       .changed = one_in(2) ? on_box_changed : NULL,
                                       .state = one_in(2) ? on_box_state : NULL};
    *at = mcplug_toolbox_new(host, &o, &err);
    HOLDS(*at != NULL, "toolbox: %s", err.text);
}

static void add_to(mcplug_toolbox *b)
{
    struct mcplug_server_options o = any_options();
    mcplug_settings *s = any_settings();
    char name[16];

    snprintf(name, sizeof name, "s%u", any(6));
    mcplug_toolbox_add(b, name, s, &o, &err); /* or it is there already */
    mcplug_settings_free(s);
}

static void use_box(mcplug_toolbox **at)
{
    mcplug_toolbox *b = *at;
    size_t n = mcplug_toolbox_count(b), len;
    char name[256];

    if (n)
        snprintf(name, sizeof name, "%s", mcplug_toolbox_name(b, any((unsigned)n)));
    switch (any(9)) {
    case 0:
        drop_box(at);
        break;
    case 1:
    case 2:
        add_to(b);
        break;
    case 3:
        if (mcplug_toolbox_warm_up(b, on_boxed, &due.warm, &err) == MCPLUG_OK)
            due.warm++;
        break;
    case 4:
        if (n)
            mcplug_toolbox_tool(b, any((unsigned)n), &len);
        mcplug_toolbox_instructions(b);
        break;
    default:
        if (n)
            begin_call(NULL, b, name);
    }
}

static void act(void)
{
    mcplug_server **h = &servers[any(SERVERS)];
    unsigned what = any(20);

    if (what < 4 && !*h) {
        open_one(h);
    } else if (what < 4 || (what < 16 && what != 12 && what != 15 && !*h)) {
        return;
    } else if (what == 4) {
        release(h);
    } else if (what < 12) {
        begin_call(*h, NULL, NULL);
    } else if (what == 12) {
        const struct slot *s = &slots[any(CALLS)];
        if (one_in(3))
            mcplug_cancel(kept[any(MP_COUNT(kept))]);
        else if (s->used && s->call)
            mcplug_cancel(s->call);
    } else if (what == 13) {
        if (one_in(3))
            mcplug_restart(*h, &err);
    } else if (what == 14) {
        if (one_in(2))
            look_at(*h);
        else
            ask_of(*h);
    } else if (what == 15) {
        mcplug_set_queue(host, one_in(2) ? "q" : "q1", any(3), any(20));
    } else {
        mcplug_toolbox **b = &boxes[any(BOXES)];
        if (*b)
            use_box(b);
        else
            open_box(b);
    }
}

/* ---- the end ---- */

static void let_go(void)
{
    for (unsigned i = 0; i < SERVERS; i++)
        if (servers[i])
            release(&servers[i]);
    for (unsigned i = 0; i < BOXES; i++)
        if (boxes[i])
            drop_box(&boxes[i]);
}

static bool all_told(void)
{
    return !due.calls && !due.lists && !due.released && !due.freed && !due.ready &&
           !due.warm;
}

/* _i: 0 the host is freed in the midst of it, 1 right after everything was let go, 2 when
 * everybody has been told */
START_TEST(whatever_a_program_does_everybody_is_told_once)
{
    struct mcplug_options o = {.struct_size = sizeof o, .log_level = -1};

    dice = seed + (uint64_t)_i;
    for (int i = 0; i < 20; i++)
        any(2);
    host = mcplug_new(&o, &err);
    HOLDS(host != NULL, "%s", err.text);
    /* As long as it takes, on a machine that has other things to do. */
    for (double began = now_ms(), ms = 0; ms < ROUND_MS || (!is_lively() && ms < MOST_MS);
         ms = now_ms() - began) {
        for (unsigned i = any(4); i; i--)
            act();
        mcplug_turn(host, 0);
        if (one_in(4))
            usleep(any(3000));
    }
    for (unsigned i = 0; i < SERVERS; i++)
        if (servers[i])
            look_at(servers[i]);
    over = _i == 2;
    if (_i)
        let_go();
    over = true;
    if (_i == 2)
        UNTIL(all_told());
    mcplug_free(host);
    for (unsigned i = 0; i < MP_COUNT(kept); i++) {
        mcplug_cancel(kept[i]);
        mcplug_call_unref(kept[i]);
    }
    HOLDS(all_told(),
          "not told: %ld calls, %ld lists, %ld released, %ld freed, %ld ready, %ld warm",
          due.calls, due.lists, due.released, due.freed, due.ready, due.warm);
    if (!getenv("MCPLUG_TEST_VALGRIND")) /* which is slow */
        HOLDS(is_lively(), "nothing happened: %u, %u", n_told, n_fine);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, whatever_a_program_does_everybody_is_told_once, 0, 3);
}

int main(void)
{
    const char *given = getenv("MCPLUG_TEST_SEED");

    seed = given ? strtoull(given, NULL, 10) : now_ms();
    int r = run_suite("api_stress", add);
    if (r)
        fprintf(stderr, "again: MCPLUG_TEST_SEED=%llu\n", (unsigned long long)seed);
    return r;
}
