#include "faults.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* How much longer than its work takes a piece of it needs just now: 1 on a machine that
 * has nothing else to do. The highest of the last seconds, for what is awaited began
 * before this. */
static double slowness(void)
{
    enum { WORK_MS = 8, EVERY_MS = 1000, KEPT = 8 };
    static double kept[KEPT], measured_at;
    static unsigned n;
    double most = 1, since = now_ms(), work = work_ms();

    if (!n || since - measured_at > EVERY_MS) {
        while (work_ms() - work < WORK_MS)
            continue;
        measured_at = now_ms();
        kept[n++ % KEPT] = (measured_at - since) / (work_ms() - work);
    }
    for (unsigned i = 0; i < KEPT; i++)
        most = kept[i] > most ? kept[i] : most;
    return most;
}

unsigned work_bound_ms(void)
{
    return SANITIZED ? 10000 : 2000;
}

unsigned bound_ms(void)
{
    if (getenv("MCPLUG_TEST_STRICT"))
        return 50;
    return (unsigned)(work_bound_ms() * slowness());
}

bool long_run(void)
{
    return getenv("MCPLUG_TEST_LONG") != NULL;
}

/* ---- what the system says ---- */

long peak_kb(void)
{
    char line[128];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %ld", &kb);
    fclose(f);
    return kb;
}

void check_growth(long since_kb, long mb)
{
    long grown = peak_kb() - since_kb;

    if (!SANITIZED && !getenv("MCPLUG_TEST_VALGRIND"))
        ck_assert_msg(grown <= mb * 1024, "peak memory grew by %ld KB, %ld MB allowed",
                      grown, mb);
}

void check_memory(const struct peer *p, long mb)
{
    check_growth(p->hwm_kb, mb);
}

/* ---- what the library tells ---- */

static void on_log(void *arg, int level, const char *source, const char *text)
{
    struct peer *p = arg;

    ck_assert_ptr_null(strchr(text, '\n'));
    ck_assert_ptr_null(strchr(text, '\033'));
    p->n_bad += level <= MCPLUG_LOG_WARN;
    if (p->n_lines == LINES)
        return;
    p->lines[p->n_lines].level = level;
    snprintf(p->lines[p->n_lines++].text, sizeof p->lines[0].text, "%s: %s", source,
             text);
}

unsigned logged(const struct peer *p, int level, const char *part)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_lines; i++)
        n += p->lines[i].level <= level && strstr(p->lines[i].text, part);
    return n;
}

static void on_ready(void *arg, mcplug_server *server, const struct mcplug_error *why)
{
    struct peer *p = arg;

    ck_assert_ptr_eq(server, p->server);
    p->ready++;
    if (why)
        p->why = *why;
}

/* A server that was ready and has gone says so with its first state after that. */
void on_state(void *arg, mcplug_server *server, enum mcplug_state state,
              const struct mcplug_error *why)
{
    struct peer *p = arg;

    ck_assert(!p->server || server == p->server); /* else mcplug_open_wait() has it */
    if (state == MCPLUG_STATE_STARTING || state == MCPLUG_STATE_READY)
        p->was_ready = state == MCPLUG_STATE_READY;
    if (!p->was_ready || !why || state == MCPLUG_STATE_ENDED)
        return;                     /* not ready yet, closed by us, or told already */
    ck_assert_uint_eq(p->ready, 1); /* never before */
    ck_assert(all_ended(p));        /* "after every call that this concerns has ended" */
    p->dropped++;
    p->why = *why;
}

static void on_remark(void *arg, mcplug_server *server, const char *text, size_t len)
{
    struct peer *p = arg;
    (void)server, (void)text;
    p->remarks++;
    p->remark_bytes += len;
}

static void on_changed(void *arg, mcplug_server *server, int kind, const char *uri)
{
    struct peer *p = arg;
    (void)server, (void)kind, (void)uri;
    p->changes++;
}

static void on_question(void *arg, mcplug_server *server, mcplug_input *input,
                        const char *params, size_t len)
{
    struct peer *p = arg;
    (void)server;

    ck_assert_uint_eq(strlen(params), len);
    if (p->keep_questions) {
        ck_assert_uint_lt(p->questions, sizeof p->kept / sizeof *p->kept);
        p->kept[p->questions] = input;
    } else {
        ck_assert_int_eq(mcplug_input_answer(input, "{\"action\":\"accept\"}"), 0);
    }
    p->questions++;
}

static void on_done(void *arg, mcplug_call *call, mcplug_result *result,
                    const struct mcplug_error *why)
{
    struct shot *s = arg;

    ck_assert_ptr_eq(call, s->call);
    ck_assert(result || why);
    s->ended++;
    s->call = NULL;
    s->ms = now_ms() - s->ms;
    if (why) {
        ck_assert_str_ne(why->text, "");
        s->code = why->code;
        s->peer_status = why->peer_status;
        snprintf(s->text, sizeof s->text, "%s", why->text);
    }
    s->result = mcplug_result_ref(result);
}

/* ---- life of a peer ---- */

static mcplug_settings *settings_for(const char *mode)
{
    char path[4096], word[64];
    mcplug_settings *s = mcplug_settings_new("stdio");
    int used;

    program_beside("evil", path, sizeof path);
    ck_assert_ptr_nonnull(s);
    mcplug_settings_set(s, "command", path);
    mcplug_settings_set(s, "closeGrace", "200ms");
    mcplug_settings_set(s, "termGrace", "200ms");
    snprintf(word, sizeof word, "kin%d", (int)getpid());
    mcplug_settings_put(s, "env", "EVIL_KIN", word);
    for (; sscanf(mode, "%63s%n", word, &used) == 1; mode += used)
        mcplug_settings_add(s, "args", word);
    return s;
}

static struct peer *peer_with(mcplug_settings *settings)
{
    struct peer *p = calloc(1, sizeof *p);

    ck_assert_ptr_nonnull(p);
    memset(p, 0, sizeof *p);             /* touched now, not counted later */
    mcplug_free(mcplug_new(NULL, NULL)); /* libuv keeps a pipe from its first loop on */
    p->hwm_kb = peak_kb();
    p->n_fds = open_fds();
    strcpy(p->spill_dir, "/tmp/mcplug-evil-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(p->spill_dir));
    struct mcplug_options o = {.struct_size = sizeof o,
                               .log_level = MCPLUG_LOG_VERBOSE,
                               .log = on_log,
                               .log_arg = p,
                               .spill_dir = p->spill_dir};
    p->err = (struct mcplug_error)MCPLUG_ERROR_INIT;
    p->host = mcplug_new(&o, &p->err);
    ck_assert_msg(p->host, "%s", p->err.text);
    p->settings = settings;
    p->o = (struct mcplug_server_options){.struct_size = sizeof p->o,
                                          .once = 1,
                                          .name = "peer",
                                          .timeout_ms = 10000,
                                          .request_ms = 10000,
                                          .tool_ms = 60000,
                                          .arg = p,
                                          .elicit = on_question,
                                          .changed = on_changed,
                                          .remark = on_remark,
                                          .state = on_state};
    p->began = now_ms();
    return p;
}

struct peer *peer_new(const char *mode)
{
    struct peer *p = peer_with(settings_for(mode));

    if (strncmp(mode, "--legacy", 8) == 0)
        p->o.sample = on_question;
    return p;
}

struct peer *peer_new_url(const char *type, const char *url)
{
    mcplug_settings *s = mcplug_settings_new(type);

    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(mcplug_settings_set(s, "url", url), 0);
    return peer_with(s);
}

int peer_open(struct peer *p)
{
    int r = mcplug_open(p->host, p->settings, &p->o, on_ready, p, &p->server, &p->err);
    ck_assert_msg(r == 0, "%s", p->err.text);
    peer_until(p, is_ready, 30000);
    return p->why.code;
}

struct peer *peer_up(const char *mode)
{
    struct peer *p = peer_new(mode);

    ck_assert_msg(peer_open(p) == 0, "%s: %s", mode, p->why.text);
    return p;
}

static void check_gone(int pid)
{
    double since = now_ms();

    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    while (pid && kill(pid, 0) == 0) { /* the reaper collects it */
        ck_assert_msg(now_ms() - since < 1000, "the server's process is still there");
        usleep(1000);
    }
}

void peer_end(struct peer *p)
{
    const char *pid = p->server ? mcplug_server_fact(p->server, "pid") : NULL;
    int server_pid = pid ? atoi(pid) : 0;

    if (p->server) {
        books(p);
        mcplug_close_wait(p->server);
    }
    mcplug_free(p->host);
    mcplug_settings_free(p->settings);
    for (unsigned i = 0; i < p->n_shots; i++) {
        ck_assert_uint_eq(p->shots[i].ended, 1);
        mcplug_result_unref(p->shots[i].result);
    }
    ck_assert_uint_le(p->dropped, 1);
    ck_assert_uint_eq(p->ready, p->server ? 1 : 0);
    check_gone(server_pid);
    ck_assert_uint_eq(open_fds(), p->n_fds);
    ck_assert_msg(rmdir(p->spill_dir) == 0, "something is left in %s", p->spill_dir);
    free(p);
}

/* ---- running ---- */

static void check_sum(const struct mcplug_ledger *l)
{
    ck_assert_uint_eq(l->issued, l->under_way + l->ok + l->tool_error + l->peer_error +
                                     l->transport_error + l->timed_out + l->cancelled);
}

struct mcplug_ledger books(struct peer *p)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    struct mcplug_status st = {.struct_size = sizeof st};

    mcplug_server_ledger(p->server, &l);
    check_sum(&l);
    ck_assert_uint_ge(l.issued, p->n_shots);
    mcplug_server_status(p->server, &st);
    check_sum(st.calls);
    check_sum(st.wire);
    return *st.wire;
}

/* Waits at most 20 ms at a time, on what the library says it waits for. */
static void turn(struct peer *p)
{
    fd_set set;
    int fd = mcplug_fd(p->host), ms = mcplug_timeout(p->host);
    struct timeval t = {0, (ms < 0 || ms > 20 ? 20 : ms) * 1000};

    FD_ZERO(&set);
    FD_SET(fd, &set);
    select(fd + 1, &set, NULL, NULL, &t);
    mcplug_turn(p->host, 0);
}

void peer_until(struct peer *p, bool (*fn)(struct peer *p), unsigned ms)
{
    double since = now_ms();

    while (!fn(p)) {
        turn(p);
        if (now_ms() - since > ms && !fn(p)) {
            for (unsigned i = 0; i < p->n_lines; i++)
                printf("%s\n", p->lines[i].text);
            ck_abort_msg("not within %u ms; last error: %s", ms, p->why.text);
        }
    }
}

void peer_run(struct peer *p, unsigned ms)
{
    for (double since = now_ms(); now_ms() - since < ms;)
        turn(p);
}

bool all_ended(struct peer *p)
{
    for (unsigned i = 0; i < p->n_shots; i++)
        if (!p->shots[i].ended)
            return false;
    return true;
}

bool last_ended(struct peer *p)
{
    return p->shots[p->n_shots - 1].ended > 0;
}

bool was_dropped(struct peer *p)
{
    return p->dropped > 0;
}

bool is_ready(struct peer *p)
{
    return p->ready > 0;
}

struct shot *fire(struct peer *p, const char *tool, unsigned times, uint64_t timeout_ms)
{
    struct mcplug_call_options o = {.struct_size = sizeof o, .timeout_ms = timeout_ms};
    struct shot *first = &p->shots[p->n_shots];

    ck_assert_uint_le(p->n_shots + times, SHOTS);
    for (unsigned i = 0; i < times; i++) {
        struct shot *s = &p->shots[p->n_shots];
        s->ms = now_ms();
        s->call = mcplug_call_tool(p->server, tool, NULL, &o, on_done, s, &p->err);
        ck_assert_msg(s->call, "%s", p->err.text);
        ck_assert_uint_eq(s->ended, 0); /* never inside the call that asked */
        p->n_shots++;
    }
    return first;
}

struct shot *shoot(struct peer *p, const char *tool, unsigned times, unsigned within_ms)
{
    struct shot *first = fire(p, tool, times, 0);
    peer_until(p, all_ended, within_ms);
    return first;
}

const char *text_of(const struct shot *s)
{
    static char text[256];
    const char *at =
        s->result ? strstr(mcplug_result_json(s->result, NULL), "\"text\":\"") : NULL;

    snprintf(text, sizeof text, "%s", at ? at + 8 : "");
    text[strcspn(text, "\"")] = '\0';
    return text;
}

void check_good(struct peer *p)
{
    struct shot *s = shoot(p, "good", 1, bound_ms());
    ck_assert_msg(s->code == 0, "\"good\" failed: %s", s->text);
    ck_assert_str_eq(text_of(s), "good");
    ck_assert_uint_eq(p->dropped, 0);
}

void check_dropped(struct peer *p, const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct shot s = {0};

    peer_until(p, was_dropped, bound_ms() + 1500);
    ck_assert_uint_eq(p->dropped, 1);
    ck_assert_msg(strstr(p->why.text, text), "dropped with \"%s\"", p->why.text);
    ck_assert_uint_eq(
        logged(p, MCPLUG_LOG_ERROR, "mcp:peer: STDIO connection dropped after "), 1);
    ck_assert_uint_eq(logged(p, MCPLUG_LOG_ERROR, text), 1);
    ck_assert_uint_eq(books(p).under_way, 0);
    ck_assert_ptr_null(
        mcplug_call_tool(p->server, "good", NULL, NULL, on_done, &s, &err));
    ck_assert_int_eq(err.code, MCPLUG_ECLOSED);
    ck_assert_msg(strstr(err.text, "\"peer\""), "%s", err.text);
}
