#include "base/log_rate.h"

#include "base/clock.h"

#include <mcplug/types.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

void mp_log_rate_init(struct mp_log_rate *r)
{
    pthread_mutex_init(&r->lock, NULL);
    r->clock = NULL;
    r->n = 0;
}

static uint64_t now_ms(const struct mp_log_rate *r)
{
    return r->clock ? r->clock() : mp_clock_ms();
}

static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* Its place; one that was used longest ago, if there is no other. */
static struct mp_log_kind *place_of(struct mp_log_rate *r, const struct mp_log_kind *k,
                                    bool *known)
{
    struct mp_log_kind *oldest = r->kinds;

    for (size_t i = 0; i < r->n; i++) {
        struct mp_log_kind *at = &r->kinds[i];
        *known = at->source == k->source && at->like == k->like && at->kind == k->kind &&
                 at->level == k->level;
        if (*known)
            return at;
        oldest = at->since < oldest->since ? at : oldest;
    }
    *known = false;
    return r->n < MP_LOG_RATE_KINDS ? &r->kinds[r->n++] : oldest;
}

static enum mp_log_verdict count(struct mp_log_rate *r, struct mp_log_kind *k,
                                 const char *source, const char *text)
{
    unsigned most = k->level <= MCPLUG_LOG_WARN ? MP_LOG_RATE_WARN : MP_LOG_RATE_MORE;
    bool known;
    struct mp_log_kind *at = place_of(r, k, &known);

    if (!known || (k->since - at->since >= MP_LOG_RATE_MS && !at->more)) {
        *at = *k;
        snprintf(at->from, sizeof at->from, "%s", source);
    }
    if (at->lines >= most) {
        if (at->more++ == 0)
            snprintf(at->text, sizeof at->text, "%s", text);
        return MP_LOG_DROP;
    }
    return ++at->lines == most ? MP_LOG_LAST : MP_LOG_PASS;
}

enum mp_log_verdict mp_log_rate_count(struct mp_log_rate *r, const char *source, int kind,
                                      const void *like, int level, const char *text)
{
    struct mp_log_kind k = {.source = hash(source),
                            .like = like,
                            .kind = kind,
                            .level = level,
                            .since = now_ms(r)};

    pthread_mutex_lock(&r->lock);
    enum mp_log_verdict verdict = count(r, &k, source, text);
    pthread_mutex_unlock(&r->lock);
    return verdict;
}

bool mp_log_rate_over(struct mp_log_rate *r, struct mp_log_kind *out)
{
    uint64_t now = now_ms(r);
    bool found = false;

    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n && !found; i++) {
        struct mp_log_kind *at = &r->kinds[i];
        found = at->more && now - at->since >= MP_LOG_RATE_MS;
        if (found) {
            *out = *at;
            *at = r->kinds[--r->n];
        }
    }
    pthread_mutex_unlock(&r->lock);
    return found;
}
