#include "convert/convert.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/memory.h"
#include "convert/message.h"
#include "convert/pool.h"
#include "convert/run.h"
#include "json/scan.h"
#include "json/walk.h"
#include "plugin/props.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHOICES 32 /* that are remembered */
#define CHOICE_MS 60000

/* Which file converts a type to another. */
struct choice {
    char *types; /* "MIME WANT" */
    char *file;
    uint64_t until; /* ms */
};

struct mp_converters {
    struct mp_catalogue *catalogue;
    struct mp_loop *loop;
    char *settings;
    struct mp_pool *pool;
    bool is_ready;
    const struct mp_offer **inside; /* converters that run in this process */
    size_t n_inside, inside_cap;
    pthread_mutex_t lock;
    struct choice choices[CHOICES];
    size_t next_choice;
};

/* ---- life ---- */

/* An object of objects, short enough to be handed on. */
static int check_settings(const char *settings, struct mcplug_error *err)
{
    mp_view all = mp_view_trim(mp_text(settings)), name, value;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_walk w = mp_walk_into(all);

    if (all.len > MP_WORKER_TEXT / 2)
        return mp_fail(err, MCPLUG_ECONFIG, "converters: more than %zu bytes of settings",
                       MP_WORKER_TEXT / 2);
    if (mp_scan_text(settings, strlen(settings), &mp_scan_defaults, NULL, &why) !=
        MCPLUG_OK)
        return mp_fail(err, MCPLUG_ECONFIG, "converters: %s", why.text);
    if (!mp_view_is_object(all))
        return mp_fail(err, MCPLUG_ECONFIG, "converters: expected an object");
    while (mp_walk_member(&w, &name, &value)) {
        if (!mp_view_is_object(value))
            return mp_fail(err, MCPLUG_ECONFIG,
                           "converters: expected an object with settings of %.*s",
                           name.len < 64 ? (int)name.len : 64, (const char *)name.data);
        if (!mp_isolation_is_known(mp_view_get(value, "isolation")))
            return mp_fail(err, MCPLUG_ECONFIG,
                           "converters: isolation is \"process\" or \"none\"");
    }
    return MCPLUG_OK;
}

struct mp_converters *mp_converters_new(struct mp_catalogue *catalogue,
                                        struct mp_loop *loop, const char *settings,
                                        struct mcplug_error *err)
{
    struct mp_converters *c = mp_alloc(sizeof *c);
    char *program = mp_path_join(mp_catalogue_helper_dir(catalogue), "mcplug-worker");

    if (!c || !program) {
        mp_fail_nomem(err);
        mp_free(program);
        mp_free(c);
        return NULL;
    }
    c->catalogue = catalogue;
    c->loop = loop;
    pthread_mutex_init(&c->lock, NULL);
    int r = settings ? check_settings(settings, err) : MCPLUG_OK;
    c->settings = mp_strdup(settings ? settings : "{}");
    c->pool = r == MCPLUG_OK ? mp_pool_new(loop, program, err) : NULL;
    mp_free(program);
    if (!c->settings)
        mp_fail_nomem(err);
    if (!c->settings || !c->pool) {
        mp_converters_free(c);
        return NULL;
    }
    return c;
}

static void choice_clear(struct choice *choice)
{
    mp_free(choice->types);
    mp_free(choice->file);
    *choice = (struct choice){0};
}

void mp_converters_free(struct mp_converters *c)
{
    if (!c)
        return;
    mp_pool_free(c->pool);
    for (size_t i = 0; i < CHOICES; i++)
        choice_clear(&c->choices[i]);
    pthread_mutex_destroy(&c->lock);
    mp_free(c->inside);
    mp_free(c->settings);
    mp_free(c);
}

int64_t mp_converters_number(const struct mp_converters *c, const char *converter,
                             const char *name, int64_t fallback)
{
    int64_t n;
    mp_view own = mp_view_get(mp_text(c->settings), converter);

    return own.len && mp_view_int(mp_view_get(own, name), &n) ? n : fallback;
}

size_t mp_converters_workers(struct mp_converters *c)
{
    return mp_pool_count(c->pool);
}

static bool runs_inside(mp_view settings)
{
    return mp_view_is_object(settings) &&
           mp_view_equals(mp_view_get(settings, "isolation"), "none");
}

/* A converter that cannot be loaded is not there; the catalogue has logged why. */
void mp_converters_ready(struct mp_converters *c)
{
    mp_view all = mp_text(c->settings), name, value;
    struct mp_walk w = mp_walk_into(all);

    if (c->is_ready)
        return;
    c->is_ready = true;
    while (mp_walk_member(&w, &name, &value)) {
        const struct mp_offer *offer = NULL;
        char *text = runs_inside(value) ? mp_view_strdup(name) : NULL;
        if (text && mp_grow(&c->inside, &c->inside_cap, c->n_inside + 1) &&
            mp_catalogue_find(c->catalogue, MCPLUG_CONVERTER, text, &offer, NULL) ==
                MCPLUG_OK)
            c->inside[c->n_inside++] = offer;
        mp_free(text);
    }
}

void mp_converters_rest(struct mp_converters *c)
{
    mp_pool_watch(c->pool);
}

void mp_converted_clear(struct mp_converted *out)
{
    if (out->fd >= 0)
        close(out->fd);
    out->fd = -1;
    mp_str_clear(&out->facts);
}

/* ---- what is asked ---- */

/* One conversion on its way. */
struct ask {
    struct mp_converters *c;
    const struct mp_conversion *what;
    char mime[MP_MIME_MAX]; /* without parameters, in small letters */
    uint64_t deadline;
    struct mcplug_error *err;
};

static int cut_mime(struct ask *a)
{
    const char *wrong = NULL;

    if (!mp_mime_base(a->what->mime, a->mime) || strlen(a->what->mime) >= MP_MIME_MAX)
        wrong = a->what->mime;
    else if (a->what->want && !mp_is_mime(a->what->want))
        wrong = a->what->want;
    return wrong ? mp_fail(a->err, MCPLUG_EINVAL, "\"%.64s\" is not a media type", wrong)
                 : MCPLUG_OK;
}

static bool is_cancelled(const struct mp_conversion *what)
{
    return what->cancelled && atomic_load(what->cancelled);
}

/* For a converter in this process, which cannot be ended. */
static int was_cancelled(void *arg)
{
    const struct ask *a = arg;
    return is_cancelled(a->what) || mp_clock_ms() >= a->deadline;
}

static int make_output(struct mp_converted *out, struct mcplug_error *err)
{
    out->fd = mp_memory_file();
    return out->fd >= 0 ? MCPLUG_OK
                        : mp_fail_os(err, MCPLUG_EIO, errno, "no file in memory");
}

/* ---- in this process ---- */

static struct mp_run run_of(const struct ask *a)
{
    const struct mp_conversion *what = a->what;

    return (struct mp_run){.mime = what->mime,
                           .fd = what->fd,
                           .size = what->size,
                           .limits = {.struct_size = sizeof(struct mcplug_limits),
                                      .max_width = what->max_width,
                                      .max_height = what->max_height,
                                      .max_bytes = what->max_bytes,
                                      .max_pixels = what->max_pixels,
                                      .want_mime = what->want},
                           .settings = a->c->settings,
                           .extra = what->extra,
                           .cancelled = was_cancelled,
                           .arg = (void *)a};
}

static const struct mp_offer *find_inside(const struct ask *a)
{
    const struct mp_run run = run_of(a);
    const struct mp_offer *best = NULL;
    int best_match = 0;

    for (size_t i = 0; i < a->c->n_inside; i++) {
        int n = mp_run_match(a->c->inside[i], &run);
        if (n > best_match) {
            best = a->c->inside[i];
            best_match = n;
        }
    }
    return best;
}

static int convert_inside(const struct ask *a, const struct mp_offer *offer,
                          struct mp_converted *out)
{
    const struct mp_run run = run_of(a);
    const char *mime = NULL;

    int r = make_output(out, a->err);
    if (r == MCPLUG_OK)
        r = mp_run_convert(offer, &run, out->fd, &out->size, &mime, &out->facts, a->err);
    if (r == MCPLUG_OK)
        snprintf(out->mime, sizeof out->mime, "%s", mime);
    else if (mp_clock_ms() >= a->deadline)
        r = mp_fail(a->err, MCPLUG_ETIMEDOUT, "the converter took too long");
    return r;
}

/* ---- in another one ---- */

/* What is asked of a worker, for one that judges the answer. */
struct demand {
    const struct ask *a;
    int out_fd; /* -1: how well it does it */
};

/* What a worker says is not believed. From here on its file is as it is: a worker that
 * can still write to it is not one of ours. */
static bool is_sound(void *arg, const struct mp_worker_message *m)
{
    const struct demand *d = arg;
    uint64_t most = d->a->what->max_bytes && d->a->what->max_bytes < MP_CONVERT_OUTPUT
                        ? d->a->what->max_bytes
                        : MP_CONVERT_OUTPUT;
    struct stat st;

    if (d->out_fd < 0)
        return m->head.code >= 0 && m->head.code <= 100;
    if (m->head.code)
        return m->head.code < 0 && *m->texts[MP_TEXT_ERROR];
    return fcntl(d->out_fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE) ==
               0 &&
           fstat(d->out_fd, &st) == 0 && (uint64_t)st.st_size == m->head.size &&
           m->head.size <= most && mp_is_mime(m->texts[MP_TEXT_MIME]) &&
           mp_run_is_facts(m->texts[MP_TEXT_FACTS]);
}

static int ask_worker(const struct ask *a, const char *file, uint32_t kind,
                      struct mp_worker_message *m, int out_fd)
{
    const struct mp_conversion *what = a->what;
    uint64_t now = mp_clock_ms();
    struct demand demand = {a, out_fd};
    struct mp_worker_request request = {.file = file,
                                        .n_fds = kind == MP_WORKER_CONVERT ? 2 : 0,
                                        .timeout_ms =
                                            now < a->deadline ? a->deadline - now : 0,
                                        .cancelled = what->cancelled,
                                        .is_sound = is_sound,
                                        .arg = &demand};

    m->head = (struct mp_worker_head){.kind = kind,
                                      .max_width = what->max_width,
                                      .max_height = what->max_height,
                                      .max_bytes = what->max_bytes,
                                      .max_pixels = what->max_pixels,
                                      .size = what->size};
    m->texts[MP_TEXT_MIME] = what->mime;
    m->texts[MP_TEXT_WANT] = what->want;
    m->texts[MP_TEXT_SETTINGS] = a->c->settings;
    m->texts[MP_TEXT_EXTRA] = what->extra;
    m->texts[MP_TEXT_ERROR] = m->texts[MP_TEXT_FACTS] = NULL;
    m->fds[0] = what->fd;
    m->fds[1] = out_fd;
    return mp_pool_ask(a->c->pool, &request, m, a->err);
}

static int take_answer(const struct ask *a, const struct mp_worker_message *m,
                       struct mp_converted *out)
{
    if (m->head.code)
        return mp_pool_fail(a->err, m);
    out->size = m->head.size;
    snprintf(out->mime, sizeof out->mime, "%s", m->texts[MP_TEXT_MIME]);
    mp_str_init(&out->facts, MP_WORKER_TEXT);
    return mp_str_adds(&out->facts, m->texts[MP_TEXT_FACTS]) ? MCPLUG_OK
                                                             : mp_fail_nomem(a->err);
}

static int convert_outside(const struct ask *a, const char *file,
                           struct mp_converted *out)
{
    struct mp_worker_message *m = mp_alloc(sizeof *m);

    if (!m)
        return mp_fail_nomem(a->err);
    /* It is not to change while it is read; a file of the program's cannot be sealed. */
    fcntl(a->what->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE);
    int r = make_output(out, a->err);
    if (r == MCPLUG_OK)
        r = ask_worker(a, file, MP_WORKER_CONVERT, m, out->fd);
    if (r == MCPLUG_OK)
        r = take_answer(a, m, out);
    mp_free(m);
    return r;
}

/* ---- which ---- */

static char *types_of(const struct ask *a)
{
    struct mp_str s;

    mp_str_init(&s, 4 * (size_t)MP_MIME_MAX);
    mp_str_addf(&s, "%s %s", a->mime, a->what->want ? a->what->want : "");
    return mp_str_take(&s);
}

/* give; NULL: it is not known */
static char *recall(struct mp_converters *c, const char *types)
{
    uint64_t now = mp_clock_ms();
    char *file = NULL;

    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < CHOICES && !file; i++)
        if (c->choices[i].types && c->choices[i].until > now &&
            strcmp(c->choices[i].types, types) == 0)
            file = mp_strdup(c->choices[i].file);
    pthread_mutex_unlock(&c->lock);
    return file;
}

static void forget(struct mp_converters *c, const char *types)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < CHOICES; i++)
        if (c->choices[i].types && strcmp(c->choices[i].types, types) == 0)
            choice_clear(&c->choices[i]);
    pthread_mutex_unlock(&c->lock);
}

static void remember(struct mp_converters *c, const char *types, const char *file)
{
    struct choice choice = {mp_strdup(types), mp_strdup(file), mp_clock_ms() + CHOICE_MS};

    if (!choice.types || !choice.file) {
        choice_clear(&choice);
        return;
    }
    pthread_mutex_lock(&c->lock);
    choice_clear(&c->choices[c->next_choice]);
    c->choices[c->next_choice] = choice;
    c->next_choice = (c->next_choice + 1) % CHOICES;
    pthread_mutex_unlock(&c->lock);
}

struct best {
    const struct ask *a;
    struct mp_worker_message *m;
    char *file; /* give */
    int match;
    struct mcplug_error why; /* of the first that could not be asked */
    int result;
};

/* Asks one more file how well it does it. A module that cannot be loaded must not keep
 * others from being asked. */
static bool compare(void *arg, const char *file)
{
    struct best *b = arg;
    struct mcplug_error why;
    struct ask a = *b->a;

    mp_error_init(&why);
    a.err = &why;
    int r = ask_worker(&a, file, MP_WORKER_MATCH, b->m, -1);
    if (r == MCPLUG_OK && b->m->head.code > b->match) {
        mp_free(b->file);
        b->file = mp_strdup(file);
        b->match = b->m->head.code;
    }
    if (r != MCPLUG_OK && !b->why.code)
        b->why = why;
    if (r == MCPLUG_ECANCELED || r == MCPLUG_ETIMEDOUT)
        b->result = r;
    return b->result == MCPLUG_OK;
}

static int choose(const struct ask *a, char **file)
{
    struct best b = {.a = a, .m = mp_alloc(sizeof *b.m)};

    mp_error_init(&b.why);
    if (!b.m)
        return mp_fail_nomem(a->err);
    int r = mp_catalogue_files(a->c->catalogue, a->mime, compare, &b);
    mp_free(b.m);
    if (r == MCPLUG_OK)
        r = b.result;
    if (r == MCPLUG_ENOMEM)
        mp_fail_nomem(a->err);
    else if (r != MCPLUG_OK)
        mp_error_copy(a->err, &b.why);
    else if (!b.file && b.why.code)
        r = mp_fail(a->err, b.why.code, "%s", b.why.text);
    else if (!b.file)
        r = mp_catalogue_lacks(a->c->catalogue, MCPLUG_CONVERTER, a->mime, a->err);
    if (r == MCPLUG_OK)
        *file = b.file;
    else
        mp_free(b.file);
    return r;
}

int mp_convert(struct mp_converters *c, const struct mp_conversion *what,
               struct mp_converted *out, struct mcplug_error *err)
{
    struct mcplug_error own;
    struct ask a = {c, what, "",
                    mp_clock_ms() + (what->timeout_ms ? what->timeout_ms : MP_CONVERT_MS),
                    err ? err : &own};
    const struct mp_offer *inside = NULL;
    char *types = NULL, *file = NULL;

    mp_error_init(&own);
    *out = (struct mp_converted)MP_CONVERTED_NONE;
    mp_str_init(&out->facts, MP_WORKER_TEXT);
    int r =
        is_cancelled(what) ? mp_fail(a.err, MCPLUG_ECANCELED, "cancelled") : cut_mime(&a);
    if (r == MCPLUG_OK && what->size > MP_CONVERT_INPUT)
        r = mp_fail(err, MCPLUG_ETOOBIG, "it has more than %llu MiB",
                    (unsigned long long)(MP_CONVERT_INPUT >> 20));
    if (r == MCPLUG_OK && (inside = find_inside(&a))) {
        r = convert_inside(&a, inside, out);
    } else if (r == MCPLUG_OK && !(types = types_of(&a))) {
        r = mp_fail_nomem(err);
    } else if (r == MCPLUG_OK) {
        file = recall(c, types);
        if (!file && (r = choose(&a, &file)) == MCPLUG_OK)
            remember(c, types, file);
        if (r == MCPLUG_OK)
            r = convert_outside(&a, file, out);
        if (r == MCPLUG_EIO)
            forget(c, types);
    }
    mp_free(types);
    mp_free(file);
    if (r != MCPLUG_OK)
        mp_converted_clear(out);
    return r;
}
