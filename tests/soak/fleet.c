#include "soak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXAMPLE_SERVER "examples/mcplug-example-server"
#define EVIL_PEER "tests/evil/evil"

/* Two evil_http and an evil_ws, see gate.c. */
enum { WEB, WEB2, WS };

enum { RECOVER_MS = 60000 };

static const struct breed breeds[] = {
    {"modern", EXAMPLE, "stdio", EXAMPLE_SERVER, "--era modern", -1, .users = 6},
    {"legacy", EXAMPLE, "stdio", EXAMPLE_SERVER, "--era legacy", -1, .users = 4,
     .queue = "wide"},
    {"own-1", EXAMPLE, "stdio", EXAMPLE_SERVER, "", -1, .users = 1, .dedicated = true},
    {"own-2", EXAMPLE, "stdio", EXAMPLE_SERVER, "", -1, .users = 1, .dedicated = true,
     .queue = "narrow"},
    {"own-3", EXAMPLE, "stdio", EXAMPLE_SERVER, "--era legacy", -1, .users = 1,
     .dedicated = true},
    {"brief", EXAMPLE, "stdio", EXAMPLE_SERVER, "--tools 200", -1, .users = 2,
     .idle_ms = 100},
    {"plain", EVIL, "stdio", EVIL_PEER, "plain", -1, .users = 3},
    {"noisy", EVIL, "stdio", EVIL_PEER, "endless-noise 1", -1, .users = 2},
    {"loud", EVIL, "stdio", EVIL_PEER, "flood-stderr 2", -1, .users = 2},
    {"kin", EVIL, "stdio", EVIL_PEER, "kin 2", -1, .users = 2},
    {"late", EVIL, "stdio", EVIL_PEER, "--legacy late", -1, .users = 2},
#ifdef SOAK_HTTP
    {"http", EVIL, "http", NULL, "/ok", WEB, .users = 4},
    {"stream", EVIL, "http", NULL, "/slow?n=200&sse", WEB, .users = 3, .queue = "wide"},
    {"large", EVIL, "http", NULL, "/huge-answer?n=1", WEB, .users = 2},
    {"session", EVIL, "http", NULL, "/session?sse", WEB2, .users = 2},
    {"sse", EVIL, "sse", NULL, "/sse", WEB2, .users = 3},
    {"own-http", EVIL, "http", NULL, "/chunk-garbage?legacy", WEB2, .users = 1,
     .dedicated = true},
#endif
#ifdef SOAK_WEBSOCKET
    {"ws", SOCKETS, "ws", NULL, "/ok", WS, .users = 4},
    {"odd-ws", SOCKETS, "ws", NULL, "/not-json", WS, .users = 2, .queue = "narrow"},
    {"own-ws", SOCKETS, "ws", NULL, "/reset", WS, .users = 1, .dedicated = true},
#endif
    /* in toolboxes */
    {"box", EXAMPLE, "stdio", EXAMPLE_SERVER, "", -1, .users = 0},
};

static const char *build_dir(void)
{
    static char dir[4000];

    if (!dir[0]) {
        ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
        char *at = n > 0 ? strstr(dir, "/tests/soak/") : NULL;
        if (!at)
            give_up("%s is not below tests/soak of a build directory", dir);
        *at = '\0';
    }
    return dir;
}

/* ---- gates ---- */

static struct {
    pid_t pid;
    int lifeline, port;
} gates[GATES];

static const char *const gate_peers[GATES] = {"evil_http", "evil_http", "evil_ws"};

static void gate_start(int i)
{
    char gate[4200], peer[4200], line[16] = "";
    int in[2], out[2];

    snprintf(gate, sizeof gate, "%s/tests/soak/gate", build_dir());
    snprintf(peer, sizeof peer, "%s/tests/evil/%s", build_dir(), gate_peers[i]);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        (gates[i].pid = fork()) < 0)
        give_up("%s can't be started", gate);
    if (gates[i].pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        if (i == WS) /* evil_ws says that it has tools, and can't list them */
            execl(gate, gate, "--toolless", peer, (char *)NULL);
        execl(gate, gate, peer, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    gates[i].lifeline = in[1];
    for (size_t n = 0; !strchr(line, '\n'); n++)
        if (n == sizeof line - 1 || read(out[0], line + n, 1) != 1)
            give_up("%s says no port", gate);
    gates[i].port = atoi(line);
    close(out[0]);
}

void gates_start(void)
{
    for (int i = 0; i < GATES; i++)
        gate_start(i);
}

void gate_tell(int gate, char what)
{
    if (write(gates[gate].lifeline, &what, 1) != 1)
        wrong("the gate to %s is gone", gate_peers[gate]);
}

void gates_end(void)
{
    for (int i = 0; i < GATES; i++) {
        int status = 0;
        close(gates[i].lifeline);
        if (waitpid(gates[i].pid, &status, 0) != gates[i].pid || status != 0)
            wrong("the gate to %s ended with status %d", gate_peers[i], status);
    }
}

unsigned gate_processes(void)
{
    return 2 * GATES;
}

/* ---- settings ---- */

static mcplug_settings *settings_of(const struct breed *b)
{
    mcplug_settings *s = mcplug_settings_new(b->type);
    char text[4200], word[64];
    int used;

    if (!s)
        give_up("no memory");
    if (b->gate >= 0) {
        snprintf(text, sizeof text, "%s://127.0.0.1:%d%s",
                 strcmp(b->type, "ws") == 0 ? "ws" : "http", gates[b->gate].port,
                 b->args);
        mcplug_settings_set(s, "url", text);
        return s;
    }
    snprintf(text, sizeof text, "%s/%s", build_dir(), b->program);
    mcplug_settings_set(s, "command", text);
    mcplug_settings_set(s, "closeGrace", "300ms");
    mcplug_settings_set(s, "termGrace", "300ms");
    snprintf(word, sizeof word, "%d", (int)getpid());
    mcplug_settings_put(s, "env", "SOAK_RUN", word);
    mcplug_settings_put(s, "env", "EVIL_KIN", "soak-kin");
    for (const char *at = b->args; sscanf(at, "%63s%n", word, &used) == 1; at += used)
        mcplug_settings_add(s, "args", word);
    return s;
}

void fleet_new(void)
{
    mcplug_set_queue(soak.host, "wide", 8, 512);
    mcplug_set_queue(soak.host, "narrow", 2, 100);
    for (size_t i = 0; i < sizeof breeds / sizeof *breeds; i++) {
        struct server *s = &soak.servers[soak.n_servers++];
        s->breed = &breeds[i];
        s->settings = settings_of(s->breed);
    }
}

void fleet_free(void)
{
    for (unsigned i = 0; i < soak.n_servers; i++)
        mcplug_settings_free(soak.servers[i].settings);
}

/* ---- lives ---- */

static struct life *life_of(struct server *s)
{
    if (!s->life && !(s->life = calloc(1, sizeof *s->life)))
        give_up("no memory");
    s->life->users++;
    return s->life;
}

/* Its last user has gone: every call must have ended before. */
void life_settle(struct life *life)
{
    uint64_t ended = 0;

    if (--life->users)
        return;
    for (int i = 0; i < 6; i++)
        ended += life->ended[i];
    if (life->shots || life->issued != ended)
        wrong("a server is gone, and %u calls of it are not: %llu issued, %llu ended",
              life->shots, (unsigned long long)life->issued, (unsigned long long)ended);
    soak.restarts += life->restarts;
    free(life);
}

bool status_of(struct server *s, struct mcplug_status *out)
{
    struct user *u = any_user(s);
    mcplug_server *h = u ? u->hold : s->box ? mcplug_toolbox_server(s->box, "one") : NULL;

    if (!h)
        return false;
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    mcplug_server_status(h, out);
    return true;
}

static void check_ready(struct user *u);

void check_books(struct server *s)
{
    static const char *const names[6] = {"ok",        "tool_error", "peer_error",
                                         "transport", "timed_out",  "cancelled"};
    struct mcplug_status st;
    uint64_t sum = 0;

    for (unsigned i = 0; i < s->breed->users; i++)
        if (s->users[i])
            check_ready(s->users[i]);
    if (!status_of(s, &st))
        return;
    const struct mcplug_ledger *l = st.calls;
    uint64_t theirs[6] = {l->ok,        l->tool_error, l->peer_error, l->transport_error,
                          l->timed_out, l->cancelled};
    s->life->restarts = st.restarts;
    for (int i = 0; i < 6; i++)
        sum += theirs[i];
    if (l->issued != l->under_way + sum)
        wrong("%s: %llu issued, but %u under way and %llu ended", s->breed->name,
              (unsigned long long)l->issued, l->under_way, (unsigned long long)sum);
    if (s->breed->idle_ms) /* it may have outlived its last user */
        return;
    if (l->issued != s->life->issued || l->under_way != s->life->shots)
        wrong("%s: %llu issued and %u under way, we know of %llu and %u", s->breed->name,
              (unsigned long long)l->issued, l->under_way,
              (unsigned long long)s->life->issued, s->life->shots);
    for (int i = 0; i < 6; i++)
        if (theirs[i] != s->life->ended[i])
            wrong("%s: %llu calls %s, we know of %llu", s->breed->name,
                  (unsigned long long)theirs[i], names[i],
                  (unsigned long long)s->life->ended[i]);
}

uint64_t restarts_so_far(void)
{
    uint64_t n = soak.restarts;

    for (unsigned i = 0; i < soak.n_servers; i++)
        n += soak.servers[i].life ? soak.servers[i].life->restarts : 0;
    return n;
}

/* ---- users ---- */

struct user *any_user(struct server *s)
{
    unsigned n = s->breed->users, first = n ? (unsigned)chance(n) : 0;

    for (unsigned i = 0; i < n; i++)
        if (s->users[(first + i) % n])
            return s->users[(first + i) % n];
    return NULL;
}

static void on_ready(void *arg, mcplug_server *hold, const struct mcplug_error *why)
{
    struct user *u = arg;

    (void)why;
    if (!u->ready_due || hold != u->hold)
        wrong("%s: ready was told once too often", u->server->breed->name);
    u->ready_due = false;
    mischief_meddle(u, 10);
}

/* All who wait are told after a minute, one way or the other. */
static void check_ready(struct user *u)
{
    if (u->ready_due && soak.loop_ms - u->since > READY_MS + 10000) {
        wrong("%s: ready was not told within %d s", u->server->breed->name,
              READY_MS / 1000);
        u->since = soak.loop_ms;
    }
}

static void on_state(void *arg, mcplug_server *hold, enum mcplug_state state,
                     const struct mcplug_error *why)
{
    struct user *u = arg;

    if (u->released || hold != u->hold)
        wrong("%s: a state was told of a server that is closed", u->server->breed->name);
    if (state == MCPLUG_STATE_PARKED)
        wrong("%s: parked: %s", u->server->breed->name, why ? why->text : "");
    mischief_meddle(u, 10);
}

static void on_remark(void *arg, mcplug_server *hold, const char *line, size_t len)
{
    struct user *u = arg;

    (void)line, (void)len;
    if (u->released || hold != u->hold)
        wrong("%s: a remark was told to a server that is closed", u->server->breed->name);
}

void user_acquire(struct server *s, unsigned i)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .dedicated = s->breed->dedicated,
                                      .name = s->breed->name,
                                      .timeout_ms = 8000,
                                      .request_ms = 8000,
                                      .tool_ms = CALL_MS,
                                      .probe_ms = 2000,
                                      .idle_ms = s->breed->idle_ms,
                                      .queue = s->breed->queue,
                                      .state = on_state,
                                      .remark = on_remark};
    struct user *u = calloc(1, sizeof *u);

    if (!u)
        give_up("no memory");
    u->server = s;
    u->since = soak.loop_ms;
    u->ready_due = chance(4) != 0; /* else nothing starts before the first call */
    o.arg = u;
    if (mcplug_open(soak.host, s->settings, &o, u->ready_due ? on_ready : NULL, u,
                    &u->hold, &err) != 0) {
        wrong("%s: can't be opened: %s", s->breed->name, err.text);
        free(u);
        return;
    }
    u->life = life_of(s);
    s->users[i] = u;
}

static void on_released(void *arg)
{
    struct user *u = arg;

    if (u->shots)
        wrong("%s: released, with %u calls under way", u->server->breed->name, u->shots);
    if (u->ready_due)
        wrong("%s: released, and ready was never told", u->server->breed->name);
    soak.users_left--;
    life_settle(u->life);
    free(u);
}

static bool is_held(const struct server *s)
{
    for (unsigned i = 0; i < s->breed->users; i++)
        if (s->users[i])
            return true;
    return s->box != NULL;
}

void user_release(struct server *s, unsigned i)
{
    struct user *u = s->users[i];

    if (!u)
        return;
    check_books(s);
    u->released = true;
    s->users[i] = NULL;
    soak.users_left++;
    mcplug_close(u->hold, on_released, u);
    if (!is_held(s))
        s->life = NULL; /* who comes now begins anew */
}

/* ---- toolboxes ---- */

static void on_warm(void *arg, mcplug_toolbox *box, size_t ready, size_t failed)
{
    (void)arg, (void)box;
    if (ready + failed != 1)
        wrong("a toolbox of one server has %zu", ready + failed);
}

void box_new(struct server *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_server_options o = {.struct_size = sizeof o,
                                      .timeout_ms = 8000,
                                      .tool_ms = CALL_MS,
                                      .identity = "box",
                                      .probe_ms = 2000};

    s->box = mcplug_toolbox_new(soak.host, NULL, &err);
    if (!s->box || mcplug_toolbox_add(s->box, "one", s->settings, &o, &err) != 0 ||
        mcplug_toolbox_warm_up(s->box, on_warm, NULL, &err) != 0)
        give_up("a toolbox can't be had: %s", err.text);
    life_of(s);
}

static void on_box_freed(void *arg)
{
    soak.boxes_left--;
    life_settle(arg);
}

void box_free(struct server *s)
{
    if (!s->box)
        return;
    check_books(s);
    soak.boxes_left++;
    mcplug_toolbox_free(s->box, on_box_freed, s->life);
    s->box = NULL;
    s->life = NULL;
}

/* ---- all of them ---- */

void fleet_acquire(void)
{
    for (unsigned k = 0; k < soak.n_servers; k++) {
        struct server *s = &soak.servers[k];
        for (unsigned i = 0; i < s->breed->users; i++)
            user_acquire(s, i);
        if (!s->breed->users)
            box_new(s);
    }
}

/* Asks it, and starts it when it waits for its next attempt. */
static void revive(struct server *s)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mcplug_status st;
    struct user *u;

    for (unsigned i = 0; i < s->breed->users; i++)
        if (!s->users[i])
            user_acquire(s, i);
    u = any_user(s);
    if (u && status_of(s, &st) && st.state == MCPLUG_STATE_WAITING)
        mcplug_restart(u->hold, &err);
    load_proof(s);
}

void fleet_recover(void)
{
    uint64_t before[SERVERS_MAX];
    struct mcplug_status st;
    double began = now_ms(), next = began;
    unsigned left = soak.n_servers;

    load_cancel(NULL); /* nobody waits in a queue behind one that is never answered */
    for (unsigned k = 0; k < soak.n_servers; k++)
        before[k] = soak.servers[k].life ? soak.servers[k].life->ended[0] : 0;
    while (left && now_ms() - began < RECOVER_MS) {
        left = 0;
        for (unsigned k = 0; k < soak.n_servers; k++) {
            struct server *s = &soak.servers[k];
            if (s->life && s->life->ended[0] != before[k])
                continue;
            left++;
            if (now_ms() >= next && soak.verbose && status_of(s, &st))
                printf("%s: %s, %s\n", s->breed->name, mcplug_state_name(st.state),
                       st.error ? st.error->text : "");
            if (now_ms() >= next)
                revive(s);
        }
        next = now_ms() >= next ? now_ms() + 500 : next;
        turn(20);
        load_look();
    }
    for (unsigned k = 0; k < soak.n_servers; k++) {
        struct server *s = &soak.servers[k];
        if ((!s->life || s->life->ended[0] == before[k]) && status_of(s, &st))
            wrong("%s: does not answer any more, though it was left alone for %d s: %s, "
                  "%s",
                  s->breed->name, RECOVER_MS / 1000, mcplug_state_name(st.state),
                  st.error ? st.error->text : "");
    }
}

void fleet_release(void)
{
    double since = now_ms();

    for (unsigned k = 0; k < soak.n_servers; k++) {
        struct server *s = &soak.servers[k];
        for (unsigned i = 0; i < s->breed->users; i++)
            user_release(s, i);
        box_free(s);
    }
    while (soak.users_left || soak.boxes_left) {
        turn(10);
        if (now_ms() - since > 30000)
            give_up("%u users and %u toolboxes are not gone 30 s after they were "
                    "released",
                    soak.users_left, soak.boxes_left);
    }
    if (load_under_way())
        wrong("%u calls are under way, of nobody", load_under_way());
}
