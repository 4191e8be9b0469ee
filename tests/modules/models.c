/* Models that are asked by the contract kit, and break the rules in one way each. Built
 * once per name below, as
 *   cc .. -DMODELS=ends_twice models.c -o models_ends_twice.so
 * Those called `good` keep to them; those called `web` have a URL. */
#include <mcplug/plugin.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define M_good 1
#define M_good_counts 2
#define M_good_cannot_count 3
#define M_ends_twice 4
#define M_says_after_end 5
#define M_says_after_drop 6
#define M_never_ends 7
#define M_nameless_call 8
#define M_not_utf8 9
#define M_raw_not_json 10
#define M_raw_twice 11
#define M_usage_unsized 12
#define M_no_usage 13
#define M_says_nothing 14
#define M_other_thread 15
#define M_no_code 16
#define M_no_reason 17
#define M_fails 18
#define M_strange_stop 19
#define M_ask_fails 20
#define M_ends_after_failure 21
#define M_open_fails 22
#define M_no_options 23
#define M_keeps_request 24
#define M_counts_nothing 25
#define M_web_ends_well 31
#define M_web_wrong_code 32
#define M_web_elsewhere 33
#define M_web_forgets_retry 34

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define NUMBER GLUE(M_, MODELS)
#define IS(name) (NUMBER == M_##name)
#define IS_WEB (NUMBER > 30)

static const struct mcplug_host *host;
static mcplug_self *self;

struct request {
    mcplug_reply *reply;
    mcplug_timer *timer;
    int is_count;
};

static struct mcplug_bytes bytes(const char *text)
{
    return (struct mcplug_bytes){(const unsigned char *)text, strlen(text)};
}

static void end(mcplug_reply *reply, int code, const char *text, int status)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;

    why.code = code;
    why.peer_status = status;
    why.flags = IS(web_forgets_retry) ? 0 : MCPLUG_ERROR_RETRY;
    snprintf(why.text, sizeof why.text, "%s", text);
    host->reply->end(reply, MCPLUG_STOP_END, &why);
}

static void *say(void *arg)
{
    host->reply->text(arg, bytes("Hello"));
    return NULL;
}

static void on_timer(void *arg)
{
    struct request *r = arg;
    const struct mcplug_reply_ops *ops = host->reply;
    struct mcplug_usage usage = {
        .struct_size = IS(usage_unsized) ? 0 : sizeof usage, .input = 3, .output = 1};
    pthread_t thread;

    r->timer = NULL;
    if (IS(never_ends))
        return;
    if (IS(other_thread) && pthread_create(&thread, NULL, say, r->reply) == 0)
        pthread_join(thread, NULL);
    if (!r->is_count && !IS(says_nothing))
        ops->text(r->reply, bytes(IS(not_utf8) ? "Hell\xf6" : "Hell\xc3"));
    if (!r->is_count && !IS(says_nothing) && !IS(not_utf8))
        ops->text(r->reply, bytes("\xb6"));
    if (IS(nameless_call))
        ops->call(r->reply, "1", "", bytes("{}"));
    ops->call(r->reply, NULL, "no_such_tool", bytes("{\"a\":")); /* which is fine */
    if (IS(raw_twice))
        ops->raw(r->reply, bytes("[]"));
    ops->raw(r->reply, bytes(IS(raw_not_json) ? "[" : "[1]"));
    if (!IS(no_usage) && !(IS(counts_nothing) && r->is_count))
        ops->usage(r->reply, &usage);
    if (IS(no_code) || IS(no_reason) || IS(fails))
        end(r->reply, IS(no_code) ? 0 : MCPLUG_EPEER, IS(no_reason) ? "" : "go away", 0);
    else
        ops->end(r->reply, IS(strange_stop) ? 9 : MCPLUG_STOP_END, NULL);
    if (IS(ends_twice))
        ops->end(r->reply, MCPLUG_STOP_END, NULL);
    if (IS(says_after_end))
        ops->text(r->reply, bytes("!"));
}

#if IS_WEB
/* Sends something to the endpoint, and says what it likes. */
static int answer_web(const char *url, mcplug_reply *reply)
{
    static const char text[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    const char *port = strrchr(url, ':');
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(port ? port + 1 : "0")),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char got[512] = "";
    int fd = IS(web_elsewhere) ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval wait = {.tv_usec = 100000};

    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
            send(fd, text, sizeof text - 1, MSG_NOSIGNAL) > 0)
            (void)!recv(fd, got, sizeof got - 1, 0);
        close(fd);
    }
    int status = strncmp(got, "HTTP/1.1 ", 9) == 0 ? atoi(got + 9) : 0;
    if (IS(web_ends_well)) {
        host->reply->end(reply, MCPLUG_STOP_END, NULL);
        return MCPLUG_OK;
    }
    end(reply,
        status == 401 && !IS(web_wrong_code) ? MCPLUG_EAUTH
        : status == 429                      ? MCPLUG_EOVERLOADED
                                             : MCPLUG_EPEER,
        "it failed", status);
    return MCPLUG_OK;
}
#endif

static int begin(void *m, mcplug_reply *reply, int is_count, void **out,
                 struct mcplug_error *err)
{
    struct request *r = host->mem->alloc(sizeof *r);

    if (!r)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    r->reply = reply;
    r->is_count = is_count;
    *out = r;
#if IS_WEB
    return answer_web(m, reply);
#else
    (void)m;
    r->timer = host->loop->timer_start(self, 0, on_timer, r);
    return MCPLUG_OK;
#endif
}

static int models_ask(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
                      void **out, struct mcplug_error *err)
{
    (void)prompt;
    if (IS(ends_after_failure))
        host->reply->end(reply, MCPLUG_STOP_END, NULL);
    if (IS(ask_fails) || IS(ends_after_failure))
        return host->diag->fail(err, MCPLUG_EINVAL, "not today");
    return begin(m, reply, 0, out, err);
}

static int models_count(void *m, mcplug_reply *reply, const struct mcplug_prompt *prompt,
                        void **out, struct mcplug_error *err)
{
    (void)prompt;
    if (IS(good_cannot_count))
        return host->diag->fail(err, MCPLUG_ENOTSUP, "this one cannot");
    return begin(m, reply, 1, out, err);
}

static void models_drop(void *request)
{
    struct request *r = request;

    if (r->timer)
        host->loop->timer_stop(r->timer);
    r->timer = NULL;
    if (IS(says_after_drop) &&
        host->loop->post(self, (void (*)(void *))say, r->reply) != 0)
        abort();
    if (!IS(keeps_request))
        host->mem->free(r);
}

static int models_open(void *ctx, const mcplug_props *settings, void **out,
                       struct mcplug_error *err)
{
    (void)ctx;
    if (IS(open_fails))
        return host->diag->fail(err, MCPLUG_ECONFIG, "closed");
    *out = (void *)(uintptr_t)(IS_WEB ? host->diag->prop(settings, "url") : "");
    return MCPLUG_OK;
}

static void models_close(void *m)
{
    (void)m;
}

static int models_init(const struct mcplug_host *h, mcplug_self *s, void **ctx,
                       struct mcplug_error *err)
{
    (void)ctx, (void)err;
    host = h;
    self = s;
    return MCPLUG_OK;
}

static const struct mcplug_model_ops ops = {
    .struct_size = sizeof ops,
    .open = models_open,
    .close = models_close,
    .ask = models_ask,
    .drop = models_drop,
    .count = IS(good_counts) || IS(good_cannot_count) || IS(counts_nothing) ? models_count
                                                                            : NULL,
};

static const struct mcplug_option options[] = {
#if IS_WEB
    {"url", "url", "http://127.0.0.1:1", "where it is"},
#endif
#if !IS(no_options)
    MCPLUG_MODEL_OPTIONS,
#endif
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_MODEL,
     .name = "models",
     .summary = "Says hello",
     .options = options,
     .ops = &ops},
};

MCPLUG_PLUGIN(models) = {
    MCPLUG_HEAD(4),      MCPLUG_FEATURES(features),
    .name = "models",    .version = "1.0",
    .license = "MIT",    .summary = "Says hello, rightly or not",
    .init = models_init,
};
