/* Converters that break one rule each when the contract kit runs them. Built once per
 * name below, as
 *   cc .. -DCONVERTS=no_type converts.c -o converts_no_type.so
 * `well` and `to_file` keep to the rules: they copy. */
#include <mcplug/plugin.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define C_well 1
#define C_to_file 2
#define C_no_type 3
#define C_type_of_input 4
#define C_odd_type 5
#define C_other_type 6
#define C_nothing 7
#define C_both 8
#define C_short_file 9
#define C_pipe 10
#define C_no_cloexec 11
#define C_input_file 12
#define C_latin 13
#define C_beyond_limit 14
#define C_limit_zero 15
#define C_no_reason 16
#define C_strange 17
#define C_fails_with_body 18
#define C_changes_body 19
#define C_changes_file 20
#define C_closes_file 21
#define C_keeps_body 22
#define C_drops_body 23
#define C_leaks_body 24
#define C_leaks_file 25
#define C_counts_calls 26
#define C_hangs 27
#define C_never_polls 28
#define C_bad_fact 29
#define C_long_fact 30
#define C_many_facts 31
#define C_fact_elsewhere 32
#define C_crashes_empty 33
#define C_no_png 34
#define C_refuses 35
#define C_likes_nothing 36
#define C_most_facts 37

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define NUMBER GLUE(C_, CONVERTS)
#define IS(name) (NUMBER == C_##name)

static const struct mcplug_host *host;

static int match(void *ctx, const char *mime, const struct mcplug_limits *limits)
{
    const char *want = IS(no_png) ? "image/png" : "text/plain";
    (void)ctx;
    if (IS(likes_nothing) || strcmp(mime, "text/plain") != 0)
        return 0;
    return limits->want_mime && strcmp(limits->want_mime, want) == 0 ? 50 : 0;
}

/* ---- facts ---- */

static void *say_fact(void *arg)
{
    const struct mcplug_task *task = arg;
    task->fact(task->job, "pages", "1");
    return NULL;
}

static void say_facts(const struct mcplug_task *task)
{
    char name[] = "fact-a", longest[257];
    pthread_t thread;

    memset(longest, 'x', sizeof longest);
    longest[IS(long_fact) ? 256 : 255] = '\0';
    if (IS(bad_fact))
        task->fact(task->job, "Pages", "1");
    if (IS(long_fact) || IS(most_facts))
        task->fact(task->job, "pages", longest);
    if (IS(fact_elsewhere) && pthread_create(&thread, NULL, say_fact, (void *)task) == 0)
        pthread_join(thread, NULL);
    for (int i = 0; i < (IS(many_facts) ? 17 : IS(most_facts) ? 15 : 0); i++, name[5]++)
        task->fact(task->job, name, "1");
    if (IS(most_facts))
        task->fact(task->job, "pages", "the last of a name counts");
}

/* ---- results ---- */

static int give_file(struct mcplug_bytes in, struct mcplug_content *out)
{
    int ends[2];

    out->fd = memfd_create("out", IS(no_cloexec) ? 0 : MFD_CLOEXEC);
    if (out->fd < 0 || write(out->fd, in.data, in.len) != (ssize_t)in.len)
        return MCPLUG_EIO;
    out->size = in.len + (IS(short_file) ? 1 : 0);
    if (IS(pipe)) {
        close(out->fd);
        if (pipe(ends) != 0)
            return MCPLUG_EIO;
        close(ends[1]);
        out->fd = ends[0];
    }
    return MCPLUG_OK;
}

static void give(const struct mcplug_task *task, struct mcplug_bytes in,
                 struct mcplug_content *out)
{
    static int calls; /* what no converter has */
    char text[] = "0";

    out->mime = IS(no_type)         ? NULL
                : IS(type_of_input) ? task->in->mime
                : IS(odd_type)      ? "text/plain; charset=utf-8"
                : IS(other_type)    ? "text/html"
                : IS(no_png)        ? "image/png"
                                    : "text/plain";
    if (IS(latin))
        out->body = host->mem->buf_new("\xfc", 1);
    else if (IS(beyond_limit))
        out->body = host->mem->buf_new(in.data, in.len);
    else if (IS(counts_calls)) {
        text[0] = (char)('0' + __sync_add_and_fetch(&calls, 1) % 10);
        out->body = host->mem->buf_new(text, 1);
    } else if (IS(to_file) || IS(short_file) || IS(pipe) || IS(no_cloexec))
        give_file(in, out);
    else if (IS(input_file))
        out->fd = task->in->fd;
    else if (!IS(nothing))
        out->body = host->mem->buf_new(in.data, in.len);
    if (IS(both))
        give_file(in, out);
    if (IS(leaks_body))
        host->mem->buf_ref(out->body);
    if (IS(leaks_file))
        (void)!memfd_create("left", MFD_CLOEXEC);
}

static void harm(const struct mcplug_task *task, struct mcplug_bytes in)
{
    const struct timespec late = {1, 300000000};

    while (IS(hangs))
        pause();
    if (IS(never_polls) && task->cancelled(task->job))
        nanosleep(&late, NULL); /* as if it had gone on */
    if (IS(crashes_empty) && in.len == 0)
        abort();
    if (IS(changes_body) && in.len)
        ((unsigned char *)in.data)[0] = '?';
    if (IS(changes_file))
        (void)!pwrite(task->in->fd, "?", 1, 0);
    if (IS(closes_file))
        close(task->in->fd);
    if (IS(keeps_body))
        host->mem->buf_ref(task->in->body);
    if (IS(drops_body))
        host->mem->buf_unref(task->in->body);
}

static int convert(void *ctx, const struct mcplug_task *task, struct mcplug_content *out,
                   struct mcplug_error *err)
{
    struct mcplug_bytes in = host->mem->buf_bytes(task->in->body);
    uint64_t most = task->limits->max_bytes;

    (void)ctx;
    harm(task, in);
    say_facts(task);
    if (IS(strange))
        return 7;
    if (IS(no_reason))
        return MCPLUG_EPROTO;
    if (IS(refuses))
        return host->diag->fail(err, MCPLUG_ENOTSUP, "it is only text");
    if ((most || IS(limit_zero)) && in.len > most && !IS(beyond_limit))
        return host->diag->fail(err, MCPLUG_ETOOBIG, "it is too long");
    give(task, in, out);
    if (IS(fails_with_body))
        return host->diag->fail(err, MCPLUG_EPROTO, "it is broken");
    return MCPLUG_OK;
}

/* ---- the descriptor ---- */

static int init(const struct mcplug_host *h, mcplug_self *self, void **ctx,
                struct mcplug_error *err)
{
    (void)self, (void)ctx, (void)err;
    host = h;
    return MCPLUG_OK;
}

static const char *const accepts[] = {"text/html", "text/plain", NULL};

static const struct mcplug_option options[] = {
    {"columns", "int", "80", "of a line"},
    {NULL, NULL, NULL, NULL},
};

static const struct mcplug_converter_ops ops = {
    .struct_size = sizeof ops, .match = match, .convert = convert};

static const struct mcplug_feature features[] = {
    {.kind = MCPLUG_CONVERTER,
     .name = "converts",
     .summary = "Converts",
     .accepts = accepts,
     .options = options,
     .ops = &ops},
};

MCPLUG_PLUGIN(converts) = {
    MCPLUG_HEAD(4),        .name = "converts",        .version = "1.0", .license = "MIT",
    .summary = "Converts", MCPLUG_FEATURES(features), .init = init,
};
