/* fixture.h - one test, one host, one real server, on the public API alone.
 *
 * real_setup and real_teardown are check's fixtures. In between a test says which
 * server with real_use or real_use_url, opens it, and talks. Everything that waits gives
 * up after REAL_PATIENCE. The teardown closes what was opened and asserts what must hold
 * for every session: the ledger adds up, the process is gone, no descriptor is left.
 * No other file of this directory opens, calls or closes a server. Processes that listen
 * are in listener.h, one behaviour over several wires in wire.h.
 *
 * Environment: MCPLUG_TEST_NPM, what run.sh installed; MCPLUG_SRC; MCPLUG_TEST_LACKS,
 * transports that no module offers; with MCPLUG_TEST_TRACE the wire is shown on stderr.
 */
#ifndef TESTS_REAL_FIXTURE_H
#define TESTS_REAL_FIXTURE_H

#include <mcplug/mcplug.h>

#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { REAL_PATIENCE = 30 /* seconds */ };

/* A kind of question that servers may have. Without `answer` it is refused; roots are
 * not even offered then. */
struct question {
    const char *answer;
    int asked;
    json_t *params; /* of the last one */
};

/* How one call went. */
struct reply {
    mcplug_call *call;
    bool done;
    int code;   /* MCPLUG_E* */
    int status; /* with MCPLUG_EPEER */
    char why[500];
    bool is_error;
    json_t *json;
    int progress; /* how many, and the last one */
    double at, total;
    char step[100];
};

extern struct real {
    mcplug *host;
    mcplug_settings *settings;
    struct mcplug_server_options options; /* handlers are set already */
    mcplug_server *server;
    bool is_remote; /* behind a URL, so no process of ours: pid is 0 */
    pid_t pid;
    unsigned descriptors;
    char dir[32]; /* empty, for the server, removed afterwards */

    struct question elicit, elicit_url, sample, roots;
    int changed[MCPLUG_TEMPLATES + 1]; /* how often, by kind */
    int updated;
    char uri[100]; /* of the last update */
    int logged;
    json_t *log; /* array of params */
    int dropped;
    unsigned timed_out, breaches; /* calls that the test means to end so */
    char remarks[65536];          /* its stderr, from the beginning */
} real;

void real_setup(void);
void real_teardown(void);

const char *real_need(const char *variable); /* of the environment */
const char *real_node(void);
/* `script` as a path: it is relative to node_modules, or to tests/real with a leading
 * "./", or absolute. */
const char *real_script(const char *script, char *out, size_t size);

/* The server is that script. */
void real_use(const char *script);
void real_arg(const char *arg);
void real_env(const char *name, const char *value);
/* The server is behind this URL; `type` may be NULL, and the URL empty. `format` is as
 * for printf. */
void real_use_url(const char *type, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void real_set(const char *name, const char *value);
/* "DIR/name" in the server's directory; valid until the next call. */
const char *real_path(const char *name);

void real_open(void);
/* Opens what has to fail, and gives the reason; borrow, until the next call. */
const struct mcplug_error *real_refused(void);
/* Adds up the ledger, ends the session and makes sure that nothing is left of it. */
void real_close(void);

/* What it is, as soon as it is open; borrow. */
const char *real_revision(void);
const char *real_info(void);
const char *real_capabilities(void);
const char *real_instructions(void);
const char *real_fact(const char *name); /* NULL: there is none */
struct mcplug_ledger real_ledger(void);  /* requests on the wire so far */

/* Lets the loop do one thing. Fails the test at `deadline`. */
double real_deadline(void);
void real_turn(double deadline, const char *what);
static inline bool real_is(bool condition) /* which a callback makes true */
{
    return condition;
}
#define REAL_UNTIL(condition)                                                            \
    for (double until_ = real_deadline(); !real_is(condition);)                          \
    real_turn(until_, #condition)
/* Waits until its stderr says `part`: nothing orders that pipe and the answers. */
#define REAL_REMARKED(part) REAL_UNTIL(strstr(real.remarks, part) != NULL)
/* Begins a call; `reply` must live until it is done. give: reply_clear */
void real_begin(const char *method, const char *params, struct reply *reply);
void real_begin_tool(const char *tool, const char *args, struct reply *reply);
void real_begin_within(unsigned ms, const char *tool, const char *args,
                       struct reply *reply);
void real_cancel(struct reply *reply); /* which is not done */
void reply_clear(struct reply *reply);

/* Ask and wait. The results are borrowed: valid until the next of these calls. */
const struct reply *real_try(const char *method, const char *params);
const struct reply *real_try_tool(const char *tool, const char *args);
json_t *real_ask(const char *method, const char *params);  /* must succeed */
json_t *real_tool(const char *tool, const char *args);     /* the same, and no isError */
const char *real_text(const char *tool, const char *args); /* its text, joined by \n */
size_t real_count(enum mcplug_kind kind);                  /* how long that list is */
bool real_lists(enum mcplug_kind kind, const char *name);  /* or URI */
/* Waits until there is this tool: some appear when the server has heard what we can. */
void real_await_tool(const char *tool);

void real_ping(void);
void real_subscribe(const char *uri);
void real_unsubscribe(const char *uri);

/* `count` calls at once of a tool that adds a and b, each of which must get its own
 * answer: the text that `says` makes of them, or the bare sum where it is NULL. */
void real_add_many(const char *tool, int count, const char *(*says)(int a, int b));

/* content[..].text of a tool's result; borrow, until the next call. */
const char *text_of(const json_t *result);
/* A string by path, "a/0/b"; "" when there is none. */
const char *at(const json_t *json, const char *path);
json_t *get(const json_t *json, const char *path);

#define ck_contains(text, part)                                                          \
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text)

/* One suite per server, each test between `setup` and real_teardown; then what main
 * returns. */
void real_suite(const char *name, void (*setup)(void), const TTest *const *tests,
                size_t count);
int real_run(void);
#define REAL_SUITE(name, ...)                                                            \
    real_suite(name, real_setup, (const TTest *[]){__VA_ARGS__},                         \
               sizeof((const TTest *[]){__VA_ARGS__}) / sizeof(const TTest *))
/* Is there a module for this transport? If not, says that the suite is skipped. */
bool real_built(const char *type, const char *suite);

#endif
