#include "soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOTS = 16384, KIB = 1024, TEXT_MAX = 100 * KIB, LATE_MS = 5000 };

/* One call. Its callback gets the number of it, not its place: that is used again, and
 * who is told of a call twice has to be found. */
static struct shot {
    uint64_t number; /* 0: nobody's */
    struct life *life;
    struct user *user; /* NULL: a toolbox's */
    mcplug_call *call;
    double cancel_at; /* 0: it is not */
    double late_at;   /* of soak.loop_ms: its time is over, and the last excuse too */
    size_t size;      /* of the text that must come back; 0: any */
    bool echo;        /* and with its number in it */
} shots[SHOTS];

static uint64_t last_number;
static unsigned under_way;
static char filler[TEXT_MAX + 1];

/* ---- the end of a call ---- */

static struct shot *shot_end(void *arg, mcplug_call *call, enum outcome outcome)
{
    uint64_t number = (uint64_t)(uintptr_t)arg;
    struct shot *s = &shots[number % SHOTS];

    if (s->number != number || s->call != call) {
        wrong("call %llu has ended twice", (unsigned long long)number);
        return NULL;
    }
    s->number = 0;
    s->life->shots--;
    s->life->ended[outcome]++;
    soak.ended[outcome]++;
    under_way--;
    if (s->user)
        s->user->shots--;
    return s;
}

/* Is it the answer to this call, and all of it? */
static void check_answer(const struct shot *s, uint64_t number, mcplug_result *result)
{
    char mark[32];
    size_t len = 0;
    const char *json = mcplug_result_json(result, &len);

    snprintf(mark, sizeof mark, "\"#%llu ", (unsigned long long)number);
    if (len < s->size || (s->echo && !strstr(json, mark)))
        wrong("call %llu got the answer to another one, %zu bytes: %.80s",
              (unsigned long long)number, len, json);
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    bool is_error = !why && mcplug_result_is_error(result);
    enum outcome outcome = outcome_of(is_error, why);
    struct shot *s = shot_end(arg, call, outcome);

    if (!result && !why)
        wrong("a call ended with nothing at all");
    if (why && !why->text[0])
        wrong("a call failed without a word, code %d", why->code);
    if (s && outcome == OK)
        check_answer(s, (uint64_t)(uintptr_t)arg, result);
    if (s && s->user)
        mischief_meddle(s->user, 100);
}

static void on_record(void *arg, mcplug_call *call, const struct mcplug_record *record)
{
    shot_end(arg, call, outcome_of(!record->ok, record->why));
}

/* ---- what is asked for ---- */

struct ask {
    const char *tool;
    char arguments[TEXT_MAX + 128];
    uint64_t timeout_ms; /* 0: the server's */
    int cancel_ms;       /* -1: it is not */
    size_t size;
    bool echo;
};

static void ask_echo(struct ask *a, uint64_t number, size_t size)
{
    if (!filler[0])
        memset(filler, 'x', TEXT_MAX);
    a->tool = "echo";
    a->size = size;
    a->echo = true;
    snprintf(a->arguments, sizeof a->arguments, "{\"text\":\"#%llu %.*s\"}",
             (unsigned long long)number, (int)size, filler);
}

static void ask_big(struct ask *a, size_t size)
{
    a->tool = "big";
    a->size = size;
    snprintf(a->arguments, sizeof a->arguments, "{\"bytes\":%zu}", size);
}

static void ask_sleep(struct ask *a, unsigned ms)
{
    a->tool = "sleep";
    snprintf(a->arguments, sizeof a->arguments, "{\"ms\":%u}", ms);
}

static void ask_example(struct ask *a, uint64_t number)
{
    unsigned n = (unsigned)chance(100);

    if (n < 60)
        ask_echo(a, number, KIB);
    else if (n < 70)
        ask_big(a, 100 * KIB);
    else if (n < 74)
        ask_echo(a, number, 100 * KIB);
    else if (n < 90)
        ask_sleep(a, (unsigned)chance(800));
    else if (n < 94)
        a->tool = "fail";
    else if (n < 98)
        a->tool = "no_such_tool";
    else
        ask_sleep(a, 3600000); /* until the call's own time is over */
}

static void ask_ws(struct ask *a, uint64_t number)
{
    unsigned n = (unsigned)chance(100);

    if (n < 60)
        ask_echo(a, number, KIB);
    else if (n < 70)
        ask_echo(a, number, 100 * KIB);
    else if (n < 95)
        a->tool = "good";
    else
        a->tool = n < 98 ? "quiet" : "bad"; /* it does not answer the one */
}

static void ask_for(struct ask *a, enum kin kin, uint64_t number)
{
    unsigned n = (unsigned)chance(100);

    strcpy(a->arguments, "{}");
    a->timeout_ms = 0;
    a->cancel_ms = -1;
    a->size = 0;
    a->echo = false;
    if (kin == EXAMPLE)
        ask_example(a, number);
    else if (kin == SOCKETS)
        ask_ws(a, number);
    else
        a->tool = chance(100) < 96 ? "good" : "bad";
    if (n < 5)
        a->timeout_ms = 1 + chance(200);
    else if (n < 10)
        a->cancel_ms = (int)chance(200);
}

/* ---- its beginning ---- */

/* NULL: too many are under way. */
static struct shot *shot_new(void)
{
    for (unsigned i = 0; i < SHOTS; i++) {
        struct shot *s = &shots[++last_number % SHOTS];
        if (!s->number && last_number) {
            s->number = last_number;
            return s;
        }
    }
    return NULL;
}

/* With `tool` that one, else any. */
static void shoot(struct server *server, struct user *u, const char *tool,
                  const char *arguments)
{
    static struct ask a;
    struct shot *s = shot_new();
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!s)
        return;
    void *arg = (void *)(uintptr_t)s->number;
    ask_for(&a, server->breed->kin, s->number);
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = a.timeout_ms};
    if (u)
        s->call =
            mcplug_call_tool(u->hold, tool ? tool : a.tool,
                             tool ? arguments : a.arguments, &o, on_done, arg, &err);
    else
        s->call =
            mcplug_toolbox_call(server->box, a.echo ? "mcp__one__echo" : "mcp__one__fail",
                                a.echo ? a.arguments : "{}", &o, on_record, arg, &err);
    if (!s->call) {
        if (err.code != MCPLUG_EOVERLOADED && (u || err.code != MCPLUG_ENOTSUP))
            wrong("%s: a call is refused: %s", server->breed->name, err.text);
        s->number = 0;
        soak.refused++;
        return;
    }
    s->life = server->life;
    s->user = u;
    s->cancel_at = a.cancel_ms >= 0 ? now_ms() + a.cancel_ms : 0;
    s->late_at = soak.loop_ms + LATE_MS + (double)(a.timeout_ms ? a.timeout_ms : CALL_MS);
    s->size = tool ? 0 : a.size;
    s->echo = !tool && a.echo;
    s->life->issued++;
    s->life->shots++;
    soak.issued++;
    under_way++;
    if (u)
        u->shots++;
}

void load_tick(unsigned calls)
{
    while (calls--) {
        struct server *s = &soak.servers[chance(soak.n_servers)];
        struct user *u = any_user(s);
        if (u || s->box)
            shoot(s, u, NULL, NULL);
    }
}

void load_burst(struct server *s, unsigned n)
{
    for (struct user *u; n && (u = any_user(s)); n--)
        shoot(s, u, NULL, NULL);
}

void load_bad(struct server *s, unsigned n)
{
    for (struct user *u; n && (u = any_user(s)); n--)
        shoot(s, u, "bad", "{}");
}

void load_proof(struct server *s)
{
    struct user *u = any_user(s);

    if (s->breed->kin == EXAMPLE && u)
        shoot(s, u, "echo", "{\"text\":\"still there\"}");
    else if (u || s->box)
        shoot(s, u, "good", "{}");
}

void load_cancel(const struct user *u)
{
    for (unsigned i = 0; i < SHOTS; i++)
        if (shots[i].number && (!u || shots[i].user == u))
            mcplug_cancel(shots[i].call);
}

void load_look(void)
{
    double now = now_ms();

    for (unsigned i = 0; i < SHOTS; i++) {
        struct shot *s = &shots[i];
        if (!s->number)
            continue;
        if (s->cancel_at && s->cancel_at <= now) {
            s->cancel_at = 0;
            mcplug_cancel(s->call);
        }
        if (s->late_at < soak.loop_ms) {
            wrong("call %llu has not ended %d s after its time",
                  (unsigned long long)s->number, LATE_MS / 1000);
            s->late_at = 1e18; /* once is enough */
        }
    }
}

unsigned load_under_way(void)
{
    return under_way;
}
