/* Converters: a file is converted as the core would have it done, to each type that
 * match() likes; then on two threads at once, cancelled, within narrow limits, within
 * none, and cut short. What is wrong is reported once, whichever conversion showed it. */
#include "helpers/check/kit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "content/filename.h"
#include "content/image.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((size_t)50 << 20)
#define CANCELLED_MS 1000 /* in which a conversion that was cancelled has to end */
#define FACTS_MAX 16
#define FACT_NAME 32
#define FACT_VALUE 256

static const char *const wants[] = {NULL, "text/plain", "image/png",
                                    "image/x-portable-arbitrarymap", "text/x-terminal"};

static const struct mcplug_limits usual = {.struct_size = sizeof usual,
                                           .max_width = MP_IMAGE_SIDE,
                                           .max_height = MP_IMAGE_SIDE,
                                           .max_bytes = MP_IMAGE_BYTES,
                                           .max_pixels = MP_IMAGE_SIDE * MP_IMAGE_SIDE};

struct subject { /* one converter and one file */
    struct mp_kit *kit;
    const struct mp_offer *offer;
    const mcplug_props *settings;
    char *mime; /* on the heap, as is want_mime: a module must not give them back */
    const char *data;
    size_t len;
    pthread_mutex_t lock; /* for what follows */
    char wrong[16][256];  /* what was reported */
    size_t n_wrong;
};

static const char *name_of(const struct subject *s)
{
    return s->offer->feature.name;
}

/* Reports it, but no line twice. [any] */
static MCPLUG_PRINTF(2, 3) void wrong(struct subject *s, const char *fmt, ...)
{
    char line[sizeof s->wrong[0]];
    bool known = false;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_wrong; i++)
        known = known || strcmp(s->wrong[i], line) == 0;
    if (s->n_wrong == MP_COUNT(s->wrong))
        known = true;
    else if (!known)
        memcpy(s->wrong[s->n_wrong++], line, sizeof line);
    pthread_mutex_unlock(&s->lock);
    if (!known)
        mp_kit_say(s->kit, false, "converter \"%s\": %s", name_of(s), line);
}

/* ---- what goes in ---- */

struct input {
    mcplug_buf *body;
    int fd;
    size_t len;
};

static bool fill(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return true;
}

/* The first `len` bytes of the file. The position of `fd` is its end, for it is not to be
 * relied upon. */
static bool input_open(const struct subject *s, size_t len, struct input *in)
{
    *in = (struct input){mp_kit_buf_lend(s->data, len), -1, len};
    if (in->body)
        in->fd = memfd_create("content", MFD_CLOEXEC);
    if (in->fd < 0 || !fill(in->fd, s->data, len)) {
        if (in->fd >= 0)
            close(in->fd);
        if (in->body)
            mp_kit_buf_take_back(in->body);
        mp_kit_say(s->kit, false, "converter \"%s\": no memory for the file", name_of(s));
        return false;
    }
    return true;
}

static bool file_is(int fd, const char *data, size_t len)
{
    char piece[16384];
    size_t at = 0;
    ssize_t n;

    while ((n = pread(fd, piece, sizeof piece, (off_t)at)) > 0) {
        if ((size_t)n > len - at || memcmp(piece, data + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return n == 0 && at == len;
}

static void input_close(struct subject *s, struct input *in)
{
    struct mcplug_bytes is = mp_kit_mem.buf_bytes(in->body);

    if (is.len != in->len || (in->len && memcmp(is.data, s->data, in->len) != 0))
        wrong(s, "convert() changed the body that it was given");
    if (fcntl(in->fd, F_GETFD) < 0) {
        wrong(s, "convert() closed the file that it was given");
    } else {
        if (!file_is(in->fd, s->data, in->len))
            wrong(s, "convert() changed the file that it was given");
        close(in->fd);
    }
    int refs = mp_kit_buf_take_back(in->body);
    if (refs > 1)
        wrong(s, "convert() kept a reference to the body that it was given");
    else if (refs < 1)
        wrong(s, "convert() dropped the body that it was given");
}

/* ---- what a conversion may ask and say ---- */

struct mcplug_job {
    struct subject *subject;
    pthread_t thread;
    bool cancelled;
    char names[FACTS_MAX][FACT_NAME + 1];
    size_t n_facts;
    char facts[128]; /* for people: "pages 3, width 80" */
};

static int job_cancelled(const mcplug_job *job)
{
    return job->cancelled;
}

static bool is_fact_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && n <= FACT_NAME && name[n] == '\0';
}

static int job_fact(const mcplug_job *given, const char *name, const char *value)
{
    mcplug_job *job = (mcplug_job *)given;
    struct subject *s = job->subject;
    size_t at = 0, used;

    if (!pthread_equal(job->thread, pthread_self())) {
        wrong(s, "fact() was called on another thread than convert()");
        return MCPLUG_EINVAL;
    }
    if (!name || !is_fact_name(name)) {
        wrong(s, "the name \"%.64s\" of a fact is not 1 to %d of a-z, 0-9 and -",
              name ? name : "(NULL)", FACT_NAME);
        return MCPLUG_EINVAL;
    }
    if (!value || strlen(value) >= FACT_VALUE || !mp_is_utf8(value)) {
        wrong(s, "the value of the fact \"%s\" is not UTF-8 of less than %d bytes", name,
              FACT_VALUE);
        return MCPLUG_EINVAL;
    }
    while (at < job->n_facts && strcmp(job->names[at], name) != 0)
        at++;
    if (at == FACTS_MAX) {
        wrong(s, "convert() said more than %d facts", FACTS_MAX);
        return MCPLUG_EINVAL;
    }
    if (at < job->n_facts)
        return MCPLUG_OK;
    strcpy(job->names[job->n_facts++], name);
    used = strlen(job->facts);
    snprintf(job->facts + used, sizeof job->facts - used, "%s%s %s", used ? ", " : "",
             name, value);
    return MCPLUG_OK;
}

/* ---- what comes out ---- */

struct outcome {
    int r;
    char why[256], mime[64], facts[128];
    size_t len;
    unsigned char digest[MP_SHA256_BYTES];
};

static bool same_outcome(const struct outcome *a, const struct outcome *b)
{
    return a->r == b->r && strcmp(a->mime, b->mime) == 0 && a->len == b->len &&
           memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

static bool is_utf8(struct mcplug_bytes b)
{
    for (size_t i = 0, n; i < b.len; i += n) {
        n = b.data[i] < 0x80 ? 1 : mp_utf8_len(b.data + i, b.len - i);
        if (n == 0)
            return false;
    }
    return true;
}

static void judge_bytes(struct subject *s, struct mcplug_bytes b,
                        const struct mcplug_limits *limits, const char *mime)
{
    struct mp_image image = mp_image_look(b.data, b.len);

    if (limits->max_bytes && b.len > limits->max_bytes)
        wrong(s, "gave more bytes than max_bytes allows");
    if (strncmp(mime, "text/", 5) == 0 && !is_utf8(b))
        wrong(s, "gave %s that is not UTF-8", mime);
    if (strcmp(mime, "image/png") == 0 && (!image.mime || strcmp(image.mime, mime) != 0))
        wrong(s, "gave %s that is none", mime);
    if (strncmp(mime, "image/", 6) != 0 || !image.mime)
        return;
    if ((limits->max_width && image.width > limits->max_width) ||
        (limits->max_height && image.height > limits->max_height))
        wrong(s, "gave an image that is larger than max_width and max_height allow");
    if (limits->max_pixels && (uint64_t)image.width * image.height > limits->max_pixels)
        wrong(s, "gave an image of more pixels than max_pixels allows");
}

/* In lower case, without parameters, and in a file that is loaded: text that is freed
 * or reused would be read later. */
static void judge_mime(struct subject *s, const char *mime, const char *want,
                       struct outcome *to)
{
    Dl_info info;

    if (!mime)
        wrong(s, "gave no mime type");
    else if (!dladdr(mime, &info))
        wrong(s, "out->mime is not static text");
    else if (!mp_kit_is_mime(mime))
        wrong(s, "gave \"%.64s\", which is not a mime type in lower case", mime);
    else if (want && strcmp(mime, want) != 0)
        wrong(s, "was asked for %s and gave %.64s", want, mime);
    snprintf(to->mime, sizeof to->mime, "%s", mime ? mime : "");
}

static void judge_file(struct subject *s, const struct mcplug_content *out,
                       const struct mcplug_limits *limits, struct outcome *to)
{
    struct stat st;
    void *at = NULL;

    if (fstat(out->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        wrong(s, "gave a descriptor that is not a file");
        return;
    }
    if ((uint64_t)st.st_size < out->size) {
        wrong(s, "gave a file that is shorter than out->size");
        return;
    }
    if (!(fcntl(out->fd, F_GETFD) & FD_CLOEXEC))
        wrong(s, "gave a file that is not close-on-exec");
    if (out->size)
        at = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, out->fd, 0);
    if (at == MAP_FAILED) {
        wrong(s, "gave a file that cannot be mapped");
        return;
    }
    struct mp_sha256 sha;
    struct mcplug_bytes b = {at, out->size};
    judge_bytes(s, b, limits, to->mime);
    mp_sha256_init(&sha);
    mp_sha256_add(&sha, b.data, b.len);
    mp_sha256_end(&sha, to->digest);
    to->len = b.len;
    if (at)
        munmap(at, out->size);
}

static void judge_result(struct subject *s, const struct mcplug_content *out,
                         const struct mcplug_limits *limits, struct outcome *to)
{
    judge_mime(s, out->mime, limits->want_mime, to);
    if (out->body && out->fd >= 0)
        wrong(s, "gave both a body and a file");
    if (out->body) {
        struct mp_sha256 sha;
        struct mcplug_bytes b = mp_kit_mem.buf_bytes(out->body);
        judge_bytes(s, b, limits, to->mime);
        mp_sha256_init(&sha);
        mp_sha256_add(&sha, b.data, b.len);
        mp_sha256_end(&sha, to->digest);
        to->len = b.len;
    } else if (out->fd >= 0) {
        judge_file(s, out, limits, to);
    } else {
        wrong(s, "convert() returned neither a body nor a file");
    }
}

static void judge_failure(struct subject *s, const struct mcplug_content *out,
                          const struct outcome *o)
{
    if (o->r > 0 || o->r < MCPLUG_ERESTARTING)
        wrong(s, "convert() returned the unknown code %d", o->r);
    else if (!o->why[0])
        wrong(s, "convert() failed without a reason");
    if (out->body || out->fd >= 0)
        wrong(s, "convert() failed, but gave a result");
}

/* ---- one conversion ---- */

struct run {
    struct subject *subject;
    const struct input *in;
    const struct mcplug_limits *limits;
    bool cancelled;
    struct outcome outcome;
};

/* On any thread; what is the module's is called between mp_kit_enter() and _leave(). */
static void *convert(void *arg)
{
    struct run *run = arg;
    struct subject *s = run->subject;
    const struct mcplug_converter_ops *ops = s->offer->feature.ops;
    struct mcplug_job job = {
        .subject = s, .thread = pthread_self(), .cancelled = run->cancelled};
    const struct mcplug_content in = {sizeof in,   s->mime, run->in->body,
                                      run->in->fd, 0,       run->in->len};
    const struct mcplug_task task = {sizeof task,   &in,         run->limits, &job,
                                     job_cancelled, s->settings, job_fact};
    struct mcplug_content out = {.struct_size = sizeof out, .fd = -1};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct outcome *o = &run->outcome;

    memset(o, 0, sizeof *o);
    o->r = ops->convert(s->offer->plugin->ctx, &task, &out, &why);
    why.text[sizeof why.text - 1] = '\0';
    if (o->r != MCPLUG_OK)
        snprintf(o->why, sizeof o->why, "%.255s", why.text);
    memcpy(o->facts, job.facts, sizeof o->facts);
    if (out.fd >= 0 && out.fd == in.fd) {
        wrong(s, "gave back the file that it was given");
        out.fd = -1;
    } else if (o->r == MCPLUG_OK) {
        judge_result(s, &out, run->limits, o);
    } else {
        judge_failure(s, &out, o);
    }
    mp_kit_mem.buf_unref(out.body);
    if (out.fd > STDERR_FILENO)
        close(out.fd);
    return NULL;
}

/* `of` says in which way, for the report of a call that does not return. */
static uint64_t enter_and_convert(struct run *run, const char *of)
{
    struct mp_kit *kit = run->subject->kit;
    mp_kit_enter(kit, "converter \"%s\": convert()%s", name_of(run->subject), of);
    convert(run);
    return mp_kit_leave(kit);
}

/* ---- all of them ---- */

static bool likes(struct subject *s, const struct mcplug_limits *limits)
{
    const struct mcplug_converter_ops *ops = s->offer->feature.ops;

    mp_kit_enter(s->kit, "converter \"%s\": match()", name_of(s));
    int match = ops->match(s->offer->plugin->ctx, s->mime, limits);
    mp_kit_leave(s->kit);
    if (match < 0 || match > 100)
        wrong(s, "match() says %d for %s", match, s->mime);
    return match > 0 && match <= 100;
}

static void report_one(const struct run *run)
{
    const struct subject *s = run->subject;
    const char *want = run->limits->want_mime;
    const struct outcome *o = &run->outcome;
    char task[160];

    snprintf(task, sizeof task, "%.64s%s%s", s->mime, want ? " to " : "",
             want ? want : "");
    if (o->r != MCPLUG_OK)
        mp_kit_say(s->kit, true, "converter \"%s\": %s: refused: %s", name_of(s), task,
                   o->why[0] ? o->why : "no reason given");
    else
        mp_kit_say(s->kit, true, "converter \"%s\": %s: %zu bytes of %s%s%s", name_of(s),
                   task, o->len, o->mime, o->facts[0] ? "; facts: " : "", o->facts);
    if (o->r == MCPLUG_OK && !want && strcmp(o->mime, s->mime) != 0)
        mp_kit_say(s->kit, true,
                   "warning: converter \"%s\": without a want_mime the type should stay "
                   "the same",
                   name_of(s));
}

static void try_threads(struct subject *s, const struct run *first)
{
    struct run runs[2] = {*first, *first};
    pthread_t threads[2];
    size_t n = 0;

    mp_kit_enter(s->kit, "converter \"%s\": convert() on two threads", name_of(s));
    while (n < 2 && pthread_create(&threads[n], NULL, convert, &runs[n]) == 0)
        n++;
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    mp_kit_leave(s->kit);
    for (size_t i = 0; i < n; i++)
        if (!same_outcome(&first->outcome, &runs[i].outcome))
            wrong(s, "on two threads at once the result is another");
}

static void try_cancelled(struct subject *s, const struct run *first)
{
    struct run run = *first;
    run.cancelled = true;
    uint64_t took = enter_and_convert(&run, " that is cancelled");
    if (took > CANCELLED_MS)
        wrong(s, "took %u ms to end when cancelled; poll task->cancelled()",
              (unsigned)took);
}

static void try_limits(struct subject *s, const struct run *first)
{
    struct mcplug_limits limits = {.struct_size = sizeof limits,
                                   .want_mime = first->limits->want_mime};
    struct run run = *first;

    run.limits = &limits; /* 0: none */
    enter_and_convert(&run, " without limits");
    if (first->outcome.r == MCPLUG_OK && run.outcome.r != MCPLUG_OK)
        wrong(s, "convert() fails without limits: %.128s", run.outcome.why);
    limits.max_width = limits.max_height = 16;
    limits.max_pixels = 256;
    limits.max_bytes = first->outcome.len > 2 ? first->outcome.len / 2 : 1;
    enter_and_convert(&run, " within narrow limits");
}

/* An error or a result are both fine, if they are in order. */
static void try_cut(struct subject *s, const struct run *first)
{
    const struct {
        size_t len;
        const char *of;
    } cuts[] = {{0, " of an empty body"},
                {1, " of one byte"},
                {s->len / 2, " of half the file"},
                {s->len - (s->len > 0), " of all but the last byte"}};

    for (size_t i = 0; i < MP_COUNT(cuts); i++) {
        struct run run = *first;
        struct input in;
        if (cuts[i].len > s->len || (i && cuts[i].len <= cuts[i - 1].len) ||
            !input_open(s, cuts[i].len, &in))
            continue;
        run.in = &in;
        enter_and_convert(&run, cuts[i].of);
        input_close(s, &in);
    }
}

static void try_want(struct subject *s, const char *want, bool *tried)
{
    struct mcplug_limits limits = usual;
    struct run run = {.subject = s, .limits = &limits};
    struct input in;
    char *own = want ? mp_strdup(want) : NULL;

    limits.want_mime = own;
    if ((own || !want) && likes(s, &limits) && input_open(s, s->len, &in)) {
        run.in = &in;
        enter_and_convert(&run, "");
        report_one(&run);
        if (!*tried) { /* once is enough of these */
            try_threads(s, &run);
            try_cancelled(s, &run);
            try_limits(s, &run);
            try_cut(s, &run);
        }
        *tried = true;
        input_close(s, &in);
    }
    mp_free(own);
}

/* ---- the file ---- */

/* What its first bytes say; or else that of the accepted types which has its extension,
 * or the first of them. */
static const char *mime_of(const struct mp_offer *offer, const char *path,
                           const char *data, size_t len)
{
    const char *const *accepts = offer->feature.accepts;
    const char *slash = strrchr(path, '/'), *extension;
    struct mp_image image = mp_image_look(data, len);

    if (image.mime)
        return image.mime;
    extension = mp_name_extension(slash ? slash + 1 : path);
    for (size_t i = 0; accepts && accepts[i]; i++)
        if (strcmp(mp_mime_extension(accepts[i], strlen(accepts[i])), extension) == 0)
            return accepts[i];
    return accepts && accepts[0] ? accepts[0] : "text/plain";
}

static int read_all(int fd, struct mp_str *out, struct mcplug_error *err)
{
    char piece[16384];
    ssize_t n;

    while ((n = read(fd, piece, sizeof piece)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mp_fail_os(err, MCPLUG_EIO, errno, "it cannot be read");
        if (out->len + (size_t)n > FILE_MAX)
            return mp_fail(err, MCPLUG_ETOOBIG, "it has more than %zu MiB",
                           FILE_MAX >> 20);
        if (!mp_str_add(out, piece, (size_t)n))
            return mp_fail_nomem(err);
    }
    return MCPLUG_OK;
}

static int read_file(const char *path, struct mp_str *out, struct mcplug_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r = fd < 0 ? mp_fail_os(err, MCPLUG_EIO, errno, "it cannot be opened")
                   : read_all(fd, out, err);
    if (fd >= 0)
        close(fd);
    return r;
}

static void try_wants(struct subject *s)
{
    int before = s->kit->failed;
    bool tried = false;

    for (size_t i = 0; i < MP_COUNT(wants); i++)
        try_want(s, wants[i], &tried);
    if (!tried)
        mp_kit_say(s->kit, true,
                   "warning: converter \"%s\": not called: match() likes no type that "
                   "%s could become",
                   name_of(s), s->mime);
    else if (s->kit->failed == before)
        mp_kit_say(s->kit, true,
                   "converter \"%s\": in order on two threads, cancelled, within limits "
                   "and with parts of the file",
                   name_of(s));
}

void mp_kit_converter(struct mp_kit *kit, const struct mp_offer *offer,
                      const mcplug_props *settings)
{
    struct subject s = {.kit = kit, .offer = offer, .settings = settings};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    const char *path = kit->words[0];
    struct mp_str text;

    mp_str_init(&text, FILE_MAX + 1);
    pthread_mutex_init(&s.lock, NULL);
    int r = read_file(path, &text, &why);
    if (r == MCPLUG_OK) {
        s.data = text.data ? text.data : "";
        s.len = text.len;
        s.mime = mp_strdup(mime_of(offer, path, s.data, s.len));
    }
    if (r == MCPLUG_OK && s.mime)
        try_wants(&s);
    else
        mp_kit_say(kit, false, "converter \"%s\": not called with %.128s: %s",
                   offer->feature.name, path, r == MCPLUG_OK ? "no memory" : why.text);
    mp_free(s.mime);
    pthread_mutex_destroy(&s.lock);
    mp_str_clear(&text);
}

/* 0 = no, 1..100 = how well: that much can be said without knowing the content. */
void mp_kit_match(struct mp_kit *kit, const struct mp_offer *offer)
{
    const struct mcplug_converter_ops *ops = offer->feature.ops;
    const char *const *accepts = offer->feature.accepts;
    const char *name = offer->feature.name;
    void *ctx = offer->plugin->ctx;
    int before = kit->failed;

    for (size_t i = 0; accepts && accepts[i]; i++) {
        mp_kit_enter(kit, "converter \"%s\": match()", name);
        int match = ops->match(ctx, accepts[i], &usual);
        mp_kit_leave(kit);
        if (match < 0 || match > 100)
            mp_kit_say(kit, false, "converter \"%s\": match() says %d for %s", name,
                       match, accepts[i]);
    }
    mp_kit_enter(kit, "converter \"%s\": match()", name);
    int match = ops->match(ctx, "x-mcplug/no-such-type", &usual);
    mp_kit_leave(kit);
    if (match != 0)
        mp_kit_say(kit, true, "warning: converter \"%s\": matches any type", name);
    if (kit->failed == before)
        mp_kit_say(kit, true, "converter \"%s\": match() answers", name);
}
