#include "connect/locate.h"

#include "base/error.h"
#include "base/links.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* What the thread and the loop share; the last of the two frees it. */
struct mp_search_thread {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned refs;
    bool is_over;                 /* the thread is about to end */
    struct mp_post post;          /* .. which it tells, even without memory */
    struct mp_searches *searches; /* NULL: the host is gone */
    struct mp_locate *locate;     /* who waits for it; NULL: nobody any more */

    const struct mp_offer *offer;
    const struct mp_plugin *plugin; /* its module, which is not freed while this runs */
    mcplug_props *settings;
    struct mcplug_place place;
    struct mcplug_error why;
    int result;
};

struct mp_locate {
    struct mp_locate *next, **prev; /* while it waits for a thread */
    struct mp_searches *searches;
    struct mp_search_thread *thread;
    struct mp_timer limit;
    uint64_t ms;
    void (*done)(void *, const struct mcplug_place *, const struct mcplug_error *);
    void *arg;
};

/* ---- what a locator tells ---- */

static int note(mcplug_place *place, int r)
{
    if (r != MCPLUG_OK && !place->failed)
        place->failed = r;
    return r;
}

static bool fits(const char *text)
{
    return text && strnlen(text, MP_PLACE_TEXT) < MP_PLACE_TEXT;
}

static int keep(mcplug_place *place, char **at, const char *text)
{
    char *copy = mp_strdup(text);

    if (!copy)
        return note(place, MCPLUG_ENOMEM);
    mp_free(*at);
    *at = copy;
    return MCPLUG_OK;
}

static int place_transport(mcplug_place *place, const char *type)
{
    if (!fits(type) || !*type)
        return note(place, MCPLUG_EINVAL);
    return keep(place, &place->settings->type, type);
}

static int place_set(mcplug_place *place, const char *name, const char *value)
{
    return note(place, fits(value) ? mp_props_set(place->settings->props, name, value)
                                   : MCPLUG_EINVAL);
}

static int place_add(mcplug_place *place, const char *name, const char *value)
{
    return note(place, fits(value) ? mp_props_add(place->settings->props, name, value)
                                   : MCPLUG_EINVAL);
}

static int place_put(mcplug_place *place, const char *name, const char *key,
                     const char *value)
{
    return note(place, fits(key) && fits(value)
                           ? mp_props_put(place->settings->props, name, key, value)
                           : MCPLUG_EINVAL);
}

static int place_fact(mcplug_place *place, const char *name, const char *value)
{
    if (!fits(name) || !fits(value) || place->n_facts == MP_PLACE_FACTS)
        return note(place, MCPLUG_EINVAL);
    struct mcplug_pair fact = {mp_strdup(name), mp_strdup(value)};
    if (!fact.name || !fact.value) {
        mp_free((char *)fact.name);
        mp_free((char *)fact.value);
        return note(place, MCPLUG_ENOMEM);
    }
    place->facts[place->n_facts++] = fact;
    return MCPLUG_OK;
}

static int place_greet(mcplug_place *place, const char *method, const char *params)
{
    if (!fits(method) || !*method || !fits(params ? params : ""))
        return note(place, MCPLUG_EINVAL);
    int r = keep(place, &place->greeting_params, params ? params : "{}");
    return r == MCPLUG_OK ? keep(place, &place->greeting, method) : r;
}

/* The transport's option of that name takes it further. */
static int place_clean_up(mcplug_place *place, const char *const *command)
{
    int r = command && command[0] ? MCPLUG_OK : MCPLUG_EINVAL;

    mp_props_unset(place->settings->props, "cleanUp"); /* the last counts */
    for (size_t i = 0; r == MCPLUG_OK && command[i]; i++)
        r = i < MP_PLACE_WORDS && fits(command[i])
                ? mp_props_add(place->settings->props, "cleanUp", command[i])
                : MCPLUG_EINVAL;
    return note(place, r);
}

const struct mcplug_place_ops mp_place_ops = {
    .struct_size = sizeof mp_place_ops,
    .transport = place_transport,
    .set = place_set,
    .add = place_add,
    .put = place_put,
    .fact = place_fact,
    .greet = place_greet,
    .clean_up = place_clean_up,
};

/* ---- the thread ---- */

static void thread_unref(struct mp_search_thread *t)
{
    pthread_mutex_lock(&t->lock);
    bool is_last = --t->refs == 0;
    pthread_mutex_unlock(&t->lock);
    if (!is_last)
        return;
    for (size_t i = 0; i < t->place.n_facts; i++) {
        mp_free((char *)t->place.facts[i].name);
        mp_free((char *)t->place.facts[i].value);
    }
    mcplug_settings_free(t->place.settings);
    mp_free(t->place.greeting);
    mp_free(t->place.greeting_params);
    mp_props_free(t->settings);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->ended);
    mp_free(t);
}

static void on_answer(void *arg);

static void *run(void *arg)
{
    struct mp_search_thread *t = arg;
    const struct mcplug_locator_ops *ops = t->offer->feature.ops;

    t->result = ops->locate(t->plugin->ctx, t->settings, &t->place, &t->why);
    pthread_mutex_lock(&t->lock);
    t->is_over = true;
    if (t->searches) {
        t->refs++;
        mp_loop_post_own(t->searches->loop, &t->post, on_answer, t);
    }
    pthread_cond_signal(&t->ended);
    pthread_mutex_unlock(&t->lock);
    thread_unref(t);
    return NULL;
}

/* Signals are for the program's own threads. */
static int begin(struct mp_search_thread *t)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t id;

    sigfillset(&all);
    int r = pthread_attr_init(&attr);
    if (r != 0)
        return r;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    t->refs++;
    r = pthread_create(&id, &attr, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (r != 0)
        t->refs--;
    return r;
}

/* ---- which of them run ---- */

static void on_late(struct mp_timer *timer);

static struct mp_search_thread **slot_of(struct mp_searches *s,
                                         const struct mp_search_thread *t)
{
    for (size_t i = 0; i < MP_SEARCHES; i++)
        if (s->threads[i] == t)
            return &s->threads[i];
    return NULL;
}

static void unlist(struct mp_locate *l)
{
    if (l->prev)
        mp_links_remove(l->searches->last, l, next, prev);
}

/* Those that wait begin, as long as there is a thread for them. */
static void begin_some(struct mp_searches *s)
{
    struct mp_search_thread **slot;

    while (s->first && (slot = slot_of(s, NULL))) {
        struct mp_locate *l = s->first;
        unlist(l);
        l->thread->refs++; /* the slot's */
        if (begin(l->thread) == 0) {
            *slot = l->thread;
        } else {
            l->thread->refs--;
            mp_timer_stop(s->loop, &l->limit);
            mp_timer_start(s->loop, &l->limit, 0, on_late);
        }
    }
}

/* ---- its end ---- */

static void locate_free(struct mp_locate *l)
{
    mp_timer_stop(l->searches->loop, &l->limit);
    unlist(l);
    l->thread->locate = NULL;
    thread_unref(l->thread);
    mp_free(l);
}

/* The place is its thread's, which the caller holds. */
static void tell(struct mp_locate *l, const struct mcplug_place *place,
                 const struct mcplug_error *why)
{
    void (*done)(void *, const struct mcplug_place *, const struct mcplug_error *) =
        l->done;
    void *arg = l->arg;

    locate_free(l);
    done(arg, place, why);
}

static void on_late(struct mp_timer *timer)
{
    struct mp_locate *l = MP_OF(timer, struct mp_locate, limit);
    const char *name = l->thread->offer->feature.name;
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    char after[32];

    mp_text_duration(after, sizeof after, l->ms, true);
    if (l->prev)
        mp_fail(&why, MCPLUG_EOVERLOADED,
                "the locator \"%s\" was not called: %d earlier searches are still "
                "running after %s",
                name, MP_SEARCHES, after);
    else if (slot_of(l->searches, l->thread))
        mp_fail(&why, MCPLUG_ETIMEDOUT, "the locator \"%s\" did not answer within %s",
                name, after);
    else
        mp_fail(&why, MCPLUG_EIO, "cannot start a thread for the locator \"%s\"", name);
    tell(l, NULL, &why);
}

static int check(struct mp_search_thread *t, struct mcplug_error *why)
{
    const char *name = t->offer->feature.name;

    t->why.text[sizeof t->why.text - 1] = '\0';
    if (t->result != MCPLUG_OK && (t->why.text[0] || !t->place.failed)) {
        int r = t->result < 0 ? t->result : MCPLUG_EINVAL;
        return mp_fail(why, r, "%s: %s", name,
                       t->why.text[0] ? t->why.text : mp_error_name(r));
    }
    if (t->place.failed == MCPLUG_ENOMEM)
        return mp_fail_nomem(why);
    if (t->place.failed)
        return mp_fail(why, MCPLUG_EINVAL,
                       "the locator \"%s\" returned an invalid answer", name);
    if (!t->place.settings->type)
        return mp_fail(why, MCPLUG_EINVAL, "the locator \"%s\" named no transport", name);
    return MCPLUG_OK;
}

static void on_answer(void *arg)
{
    struct mp_search_thread *t = arg;
    struct mp_searches *s = t->searches;
    struct mp_locate *l = t->locate; /* the loop's thread alone uses it */
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_search_thread **slot = s ? slot_of(s, t) : NULL;

    if (slot) {
        *slot = NULL;
        thread_unref(t);
        begin_some(s);
    }
    if (l && check(t, &why) == MCPLUG_OK)
        tell(l, &t->place, NULL);
    else if (l)
        tell(l, NULL, &why);
    thread_unref(t);
}

/* ---- its beginning ---- */

static struct mp_search_thread *thread_new(struct mp_searches *searches,
                                           const struct mp_offer *offer,
                                           const mcplug_props *settings)
{
    struct mp_search_thread *t = mp_alloc(sizeof *t);

    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->ended, NULL);
    t->refs = 1;
    t->searches = searches;
    t->offer = offer;
    t->plugin = offer->plugin;
    t->why = (struct mcplug_error)MCPLUG_ERROR_INIT;
    t->settings = mp_props_copy(settings);
    t->place.settings = mcplug_settings_new(NULL);
    if (t->settings && t->place.settings)
        return t;
    thread_unref(t);
    return NULL;
}

int mp_locate_start(struct mp_searches *searches, const struct mp_offer *offer,
                    const mcplug_props *settings, uint64_t ms,
                    void (*done)(void *arg, const struct mcplug_place *place,
                                 const struct mcplug_error *why),
                    void *arg, struct mp_locate **out, struct mcplug_error *err)
{
    struct mp_locate *l = mp_alloc(sizeof *l);
    struct mp_search_thread *t = l ? thread_new(searches, offer, settings) : NULL;

    if (!t || mp_timer_start(searches->loop, &l->limit, ms, on_late) != MCPLUG_OK) {
        if (t)
            thread_unref(t);
        mp_free(l);
        return mp_fail_nomem(err);
    }
    t->locate = l;
    l->searches = searches;
    l->thread = t;
    l->ms = ms;
    l->done = done;
    l->arg = arg;
    mp_links_append(searches->last, l, next, prev);
    *out = l;
    begin_some(searches);
    return MCPLUG_OK;
}

void mp_locate_cancel(struct mp_locate *l)
{
    locate_free(l);
}

void mp_searches_init(struct mp_searches *s, struct mp_loop *loop)
{
    s->loop = loop;
    s->last = &s->first;
}

void mp_searches_clear(struct mp_searches *s)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MP_SEARCHES_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    for (size_t i = 0; i < MP_SEARCHES; i++) {
        struct mp_search_thread *t = mp_move(&s->threads[i]);
        if (!t)
            continue;
        pthread_mutex_lock(&t->lock);
        for (int r = 0; !t->is_over && r == 0;)
            r = pthread_cond_timedwait(&t->ended, &t->lock, &until);
        t->searches = NULL;
        if (!t->is_over)
            mp_catalogue_leave(t->offer);
        pthread_mutex_unlock(&t->lock);
        thread_unref(t);
    }
}
