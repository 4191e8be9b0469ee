#include "matrix_kit.h"

#include "api/host.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const wire_names[WIRES] = {"stdio", "http", "sse", "websocket"};

/* ---- what the library tells ---- */

static void on_log(void *arg, int level, const char *source, const char *text)
{
    struct rig *r = arg;
    (void)level;
    if (r->n_lines < LOGGED)
        snprintf(r->lines[r->n_lines++], sizeof r->lines[0], "%s: %s", source, text);
}

void rig_show(struct rig *r)
{
    for (unsigned i = 0; i < r->n_lines; i++)
        printf("    %s\n", r->lines[i]);
    for (unsigned i = 0; i < r->n_users; i++)
        for (unsigned k = 0; k < r->users[i].n_states; k++)
            printf("    user %u: %s\n", i, mcplug_state_name(r->users[i].states[k]));
    fflush(stdout);
}

unsigned rig_logged(const struct rig *r, const char *part)
{
    unsigned n = 0;
    for (unsigned i = 0; i < r->n_lines; i++)
        n += strstr(r->lines[i], part) != NULL;
    return n;
}

static void count_down(struct rig *r)
{
    if (r->countdown && --r->countdown == 0)
        r->hook(r);
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct user *u = arg;

    HOLDS(!u->server || server == u->server, "told of another server");
    HOLDS(u->ready++ == 0, "ready twice");
    u->ready_at = now_ms();
    if (why) {
        HOLDS(why->code && why->text[0], "no reason");
        u->why = *why;
    }
    count_down(u->rig);
}

static void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct rig *r = arg;

    HOLDS(!why || (why->code && why->text[0]), "%s without a reason",
          mcplug_state_name(state));
    for (unsigned i = 0; i < r->n_users; i++) {
        struct user *u = &r->users[i];
        if (u->server == server && u->n_states < sizeof u->states / sizeof *u->states)
            u->states[u->n_states++] = state;
    }
    count_down(r);
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct shot *s = arg;

    HOLDS(s->ended++ == 0, "a call ended twice: %s", why ? why->text : "ok");
    HOLDS(call == s->call, "the end of another call");
    HOLDS(result || why, "neither a result nor a reason");
    s->call = NULL;
    s->at = now_ms();
    s->order = ++s->rig->n_ended;
    s->is_error = result && !why && mcplug_result_is_error(result);
    if (why) {
        HOLDS(why->text[0], "code %d without a text", why->code);
        s->code = why->code;
        s->peer_status = why->peer_status;
        snprintf(s->text, sizeof s->text, "%s", why->text);
    }
    count_down(s->rig);
}

/* ---- life ---- */

static void set_stdio(struct rig *r, const char *args)
{
    char path[4096], word[256];
    int used;

    peer_path(path, sizeof path);
    mcplug_settings_set(r->settings, "command", path);
    mcplug_settings_set(r->settings, "closeGrace", "200ms");
    mcplug_settings_set(r->settings, "termGrace", "200ms");
    mcplug_settings_put(r->settings, "env", "PEER_KIN", r->kin);
    mcplug_settings_add(r->settings, "args", r->notes);
    for (; sscanf(args, "%255s%n", word, &used) == 1; args += used)
        mcplug_settings_add(r->settings, "args", word);
}

static void set_net(struct rig *r)
{
    static const char *const paths[WIRES] = {
        "", "http://127.0.0.1:%d/mcp", "http://127.0.0.1:%d/sse", "ws://127.0.0.1:%d/ws"};
    char url[64];

    peer_start(r);
    snprintf(url, sizeof url, paths[r->wire], r->port);
    mcplug_settings_set(r->settings, "url", url);
}

struct rig *rig_new(enum wire wire, const char *args)
{
    struct rig *r = calloc(1, sizeof *r);
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_ptr_nonnull(r);
    mcplug_free(mcplug_new(NULL, NULL)); /* libuv keeps a pipe from its first loop on */
    r->n_fds = open_fds();
    r->wire = wire;
    strcpy(r->dir, "/tmp/mcplug-matrix-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(r->dir));
    snprintf(r->notes, sizeof r->notes, "%s/notes", r->dir);
    snprintf(r->spill, sizeof r->spill, "%s/spill", r->dir);
    ck_assert_int_eq(mkdir(r->spill, 0700), 0);
    snprintf(r->kin, sizeof r->kin, "kin%d", (int)getpid());
    struct mcplug_options o = {.struct_size = sizeof o,
                               .log_level = MCPLUG_LOG_VERBOSE,
                               .log = on_log,
                               .log_arg = r,
                               .spill_dir = r->spill};
    r->host = mcplug_new(&o, &err);
    ck_assert_msg(r->host, "%s", err.text);
    r->settings = mcplug_settings_new(wire_names[wire]);
    if (wire == STDIO)
        set_stdio(r, args);
    else
        set_net(r);
    r->ao = (struct mcplug_server_options){
        .struct_size = sizeof r->ao, .name = "peer", .arg = r, .state = on_state};
    return r;
}

static struct rig *with_fake_clock(struct rig *r)
{
    mp_loop_fake_clock(r->host->loop);
    r->fake = true;
    return r;
}

struct rig *rig_new_fake(const char *args)
{
    return with_fake_clock(rig_new(STDIO, args));
}

struct rig *rig_new_fake_over(enum wire wire)
{
    return with_fake_clock(rig_new(wire, ""));
}

static struct user *add(struct rig *r, bool lazy)
{
    struct user *u = &r->users[r->n_users++];
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_uint_le(r->n_users, USERS);
    u->rig = r;
    u->lazy = lazy;
    int result = mcplug_open(r->host, r->settings, &r->ao, lazy ? NULL : on_ready, u,
                             &u->server, &err);
    ck_assert_msg(result == 0, "%s", err.text);
    ck_assert_uint_eq(u->ready, 0); /* never inside */
    return u;
}

struct user *rig_add(struct rig *r)
{
    return add(r, false);
}

struct user *rig_add_lazy(struct rig *r)
{
    return add(r, true);
}

struct rig *rig_up(enum wire wire, bool shared, const char *args)
{
    struct rig *r = rig_new(wire, args);

    r->ao.dedicated = !shared;
    rig_add(r);
    if (shared)
        rig_add(r);
    for (unsigned i = 0; i < r->n_users; i++) {
        UNTIL(r, 20000, r->users[i].ready);
        ck_assert_msg(r->users[i].why.code == 0, "%s: %s", wire_names[wire],
                      r->users[i].why.text);
    }
    ck_assert_uint_eq(rig_status(r).starts, 1);
    return r;
}

static void on_released(void *arg)
{
    struct user *u = arg;
    HOLDS(u->released++ == 0, "released twice");
}

void rig_release(struct rig *r, struct user *u)
{
    (void)r;
    mcplug_close(u->server, on_released, u);
    ck_assert_uint_eq(u->released, 0); /* never inside */
    u->server = NULL;
}

static bool all_released(const struct rig *r)
{
    for (unsigned i = 0; i < r->n_users; i++)
        if (!r->users[i].released)
            return false;
    return true;
}

/* Every server that ever was started is gone, at once and not by and by. */
static void check_servers_gone(const struct rig *r)
{
    char line[256];
    int pid;
    FILE *f = fopen(r->notes, "r");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "start %d", &pid) == 1 && pid != r->peer)
            wait_gone(pid);
    if (f)
        fclose(f);
    ck_assert_uint_eq(kin_alive(r), 0);
}

void rig_end(struct rig *r)
{
    for (unsigned i = 0; i < r->n_users; i++)
        if (r->users[i].server) {
            struct mcplug_status s = rig_status(r);
            ck_assert_uint_eq(s.calls->under_way, s.sent + s.waiting);
            break;
        }
    for (unsigned i = 0; i < r->n_users; i++)
        if (r->users[i].server)
            rig_release(r, &r->users[i]);
    if (r->fake)
        ck_assert(r->n_users == 0 || rig_pass(r, 10000, 50, NULL) || all_released(r));
    UNTIL(r, 10000, all_released(r));
    check_no_children(); /* nothing is left when that is told */
    rig_free(r);
}

void rig_free(struct rig *r)
{
    mcplug_free(r->host);
    check_no_children();
    for (unsigned i = 0; i < r->n_shots; i++)
        HOLDS(r->shots[i].ended == 1, "call %u ended %u times", i, r->shots[i].ended);
    for (unsigned i = 0; i < r->n_users; i++)
        ck_assert_uint_eq(r->users[i].ready, !r->users[i].lazy);
    mcplug_settings_free(r->settings);
    check_servers_gone(r);
    if (r->peer)
        peer_stop(r);
    /* A search for processes that outlive their reaper is left behind with its socket. */
    for (double limit = now_ms() + 20000; open_fds() != r->n_fds && now_ms() < limit;)
        sched_yield();
    ck_assert_uint_eq(open_fds(), r->n_fds);
    unlink(r->notes);
    ck_assert_msg(rmdir(r->spill) == 0, "something is left in %s", r->spill);
    ck_assert_msg(rmdir(r->dir) == 0, "something is left in %s", r->dir);
    free(r);
}

/* ---- calls ---- */

struct shot *rig_fire(struct rig *r, unsigned user, const char *tool, unsigned times,
                      uint64_t timeout_ms)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = timeout_ms};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct shot *first = &r->shots[r->n_shots];

    for (unsigned i = 0; i < times; i++)
        HOLDS(rig_try(r, user, tool, "{}", &o, &err), "%s", err.text);
    return first;
}

struct shot *rig_try(struct rig *r, unsigned user, const char *tool, const char *args,
                     const struct mcplug_call_options *o, struct mcplug_error *err)
{
    struct shot *s = &r->shots[r->n_shots];

    HOLDS(r->n_shots < SHOTS, "too many calls");
    *s = (struct shot){.rig = r, .user = (int)user, .began = now_ms()};
    s->call = mcplug_call_tool(r->users[user].server, tool, args, o, on_done, s, err);
    HOLDS(s->ended == 0, "ended inside the call");
    r->n_shots += s->call != NULL;
    return s->call ? s : NULL;
}

bool rig_done(struct rig *r)
{
    for (unsigned i = 0; i < r->n_shots; i++)
        if (!r->shots[i].ended)
            return false;
    return true;
}

void rig_good(struct rig *r)
{
    for (unsigned i = 0; i < r->n_users; i++) {
        if (!r->users[i].server)
            continue;
        struct shot *s = rig_fire(r, i, "good", 1, r->fake ? 0 : 20000);
        UNTIL(r, 20000, s->ended);
        if (s->code)
            rig_show(r);
        ck_assert_msg(s->code == 0, "\"good\" failed: %s", s->text);
    }
}

/* Calls of this rig by how they ended, as their callbacks saw it. */
static void count_ends(const struct rig *r, struct mcplug_ledger *seen)
{
    *seen = (struct mcplug_ledger){0};
    for (unsigned i = 0; i < r->n_shots; i++) {
        const struct shot *s = &r->shots[i];
        seen->issued++;
        if (!s->ended)
            seen->under_way++;
        else if (s->code == 0)
            s->is_error ? seen->tool_error++ : seen->ok++;
        else if (s->code == MCPLUG_EPEER)
            seen->peer_error++;
        else if (s->code == MCPLUG_ETIMEDOUT || s->code == MCPLUG_ERESTARTING)
            seen->timed_out++;
        else if (s->code == MCPLUG_ECANCELED)
            seen->cancelled++;
        else
            seen->transport_error++;
    }
}

static mcplug_server *any_server(const struct rig *r)
{
    for (unsigned i = 0; i < r->n_users; i++)
        if (r->users[i].server)
            return r->users[i].server;
    return NULL;
}

static bool one_service(const struct rig *r)
{
    return !r->ao.dedicated && !r->ao.identity;
}

struct mcplug_status rig_status(struct rig *r)
{
    struct mcplug_status s = {.struct_size = sizeof s};
    struct mcplug_ledger seen;
    mcplug_server *server = any_server(r);

    ck_assert_ptr_nonnull(server);
    mcplug_server_status(server, &s);
    const struct mcplug_ledger *l = s.calls;
    HOLDS(l->issued == l->under_way + l->ok + l->tool_error + l->peer_error +
                           l->transport_error + l->timed_out + l->cancelled,
          "the books do not add up");
    HOLDS(l->under_way == s.sent + s.waiting, "under way: %u, %u and %u", l->under_way,
          s.sent, s.waiting);
    if (!one_service(r) && r->n_users > 1)
        return s;
    count_ends(r, &seen);
    HOLDS(l->issued == seen.issued && l->under_way == seen.under_way &&
              l->ok == seen.ok && l->tool_error == seen.tool_error &&
              l->peer_error == seen.peer_error &&
              l->transport_error == seen.transport_error &&
              l->timed_out == seen.timed_out && l->cancelled == seen.cancelled,
          "books differ from what was told");
    return s;
}

/* ---- the loop ---- */

/* True if there was something to do. */
static bool turn(struct rig *r, int wait_ms)
{
    struct pollfd p = {mcplug_fd(r->host), POLLIN, 0};
    bool due = mcplug_timeout(r->host) == 0;

    due = poll(&p, 1, due ? 0 : wait_ms) > 0 || due;
    if (r->fake) /* what is due at once takes no time */
        mp_loop_advance(r->host->loop, 0);
    mcplug_turn(r->host, 0);
    return due;
}

void rig_turn(struct rig *r)
{
    int ms = mcplug_timeout(r->host);
    turn(r, r->fake ? 2 : ms < 0 || ms > 20 ? 20 : ms);
}

void rig_settle(struct rig *r)
{
    double since = now_ms();
    int wait_ms = r->wire == STDIO ? 0 : 2; /* libraries for networks have a real clock */

    for (int calm = 0; calm < 3;) {
        bool still = asleep(getpid()) && (!r->peer || asleep(r->peer));
        calm = !turn(r, still ? wait_ms : 2) && still ? calm + 1 : 0;
        HOLDS(now_ms() - since < 30000, "the server's processes do not come to rest");
    }
}

void rig_run(struct rig *r, unsigned ms)
{
    for (double since = now_ms(); now_ms() - since < ms;)
        rig_turn(r);
}

bool rig_is(struct rig *r, enum mcplug_state state)
{
    return rig_status(r).state == state;
}

/* Somebody waits for that, or nobody: one that lingers has no users. */
static bool is_stopping(const struct rig *r)
{
    for (const struct mp_service *s = r->host->registry.services; s; s = s->next)
        if (s->keeper.state == MP_KEEPER_STOPPING)
            return true;
    return !any_server(r) && !all_released(r);
}

/* Whoever ends processes has a real clock. Where that is waited for, the other one is no
 * faster. */
static uint64_t wait_for_processes(struct rig *r, uint64_t ms)
{
    if (!is_stopping(r))
        return ms;
    uint64_t at_most = ms < 100 ? ms : 100;
    for (double since = now_ms(); is_stopping(r) && now_ms() - since < (double)at_most;)
        rig_turn(r);
    return is_stopping(r) ? at_most : ms;
}

bool rig_pass(struct rig *r, uint64_t ms, uint64_t step, bool (*until)(struct rig *r))
{
    rig_settle(r);
    while (ms) {
        if (until ? until(r) : r->n_users && all_released(r))
            return true;
        uint64_t now = wait_for_processes(r, step < ms ? step : ms);
        ms -= now;
        mp_loop_advance(r->host->loop, now);
        rig_settle(r);
    }
    return until ? until(r) : false;
}

uint64_t rig_clock(struct rig *r)
{
    return mp_loop_now(r->host->loop);
}
