#include "rpc/message.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <mcplug/admin.h>

#include <errno.h>
#include <unistd.h>

mp_message *mp_message_new(const char *text, size_t len, char *owned)
{
    mp_message *m = mp_alloc_raw(sizeof *m + (owned ? 0 : len + 1));
    if (!m) {
        mp_free(owned);
        return NULL;
    }
    memset(m, 0, offsetof(mp_message, env) + offsetof(struct mp_envelope, inner));
    atomic_init(&m->refs, 1);
    m->spill_fd = -1;
    m->len = len;
    m->text = owned;
    if (!owned) {
        m->text = (char *)(m + 1);
        if (len)
            memcpy(m->text, text, len);
        m->text[len] = '\0';
    }
    return m;
}

mp_message *mp_message_ref(mp_message *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void mp_message_unref(mp_message *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (m->text != (char *)(m + 1))
        mp_free(m->text);
    if (m->spill_fd >= 0)
        close(m->spill_fd);
    mp_free(m->spills);
    mp_free(m->error);
    mp_free(atomic_load(&m->error_text));
    mp_free(m);
}

mp_view mp_message_view(const mp_message *m, struct mp_span span)
{
    return mp_bytes(span.len ? m->text + span.at : NULL, span.len);
}

/* Names in messages are plain, so comparing the quoted bytes is enough; with an escape,
 * or more members than were noted, the walker looks at them all. */
mp_view mp_message_inner(const mp_message *m, const char *name)
{
    size_t len = strlen(name);

    for (uint32_t i = 0; i < m->env.n_inner; i++) {
        const struct mp_member *in = &m->env.inner[i];
        if (in->key.len == len + 2 && memcmp(m->text + in->key.at + 1, name, len) == 0)
            return mp_message_view(m, in->value);
    }
    if (m->env.n_inner_seen == m->env.n_inner && !(m->env.names & MP_KEYS_ESCAPED))
        return mp_bytes(NULL, 0);
    struct mp_span whole = m->env.params.len   ? m->env.params
                           : m->env.result.len ? m->env.result
                                               : m->env.error;
    return mp_view_get(mp_message_view(m, whole), name);
}

static int part_unique(const mp_message *m, struct mp_span part, struct mcplug_error *err)
{
    mp_view object = mp_message_view(m, part);
    int r = mp_view_unique(object, err);

    return r == MCPLUG_OK ? mp_view_unique(mp_view_get(object, "_meta"), err) : r;
}

int mp_message_unique(const mp_message *m, struct mcplug_error *err)
{
    int r = MCPLUG_OK;

    if (!m->env.names) /* as nearly always */
        return r;
    r = part_unique(m, m->env.params, err);
    if (r == MCPLUG_OK)
        r = part_unique(m, m->env.result, err);
    return r == MCPLUG_OK ? part_unique(m, m->env.error, err) : r;
}

void mp_message_expose(mp_message *m, struct mp_span body)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->n_spills; i++) {
        const struct mp_spilled *s = &m->spills[i];
        if (s->at >= body.at && s->at + s->len <= body.at + body.len)
            m->spills[kept++] = *s;
    }
    m->n_spills = kept;
    m->body = body;
    m->text[body.at + body.len] = '\0';
}

/* ---- as the embedder sees it ---- */

mcplug_result *mcplug_result_ref(mcplug_result *result)
{
    return result ? mp_message_ref(result) : NULL;
}

void mcplug_result_unref(mcplug_result *result)
{
    mp_message_unref(result);
}

const char *mcplug_result_json(const mcplug_result *result, size_t *len)
{
    if (!result)
        return NULL;
    if (len)
        *len = result->body.len;
    return result->text + result->body.at;
}

int mcplug_result_is_error(const mcplug_result *result)
{
    return result && result->env.result.len &&
           mp_view_true(mp_message_inner(result, "isError"));
}

const char *mcplug_result_error_text(const mcplug_result *result)
{
    mcplug_result *m = (mcplug_result *)result; /* the text is kept for the next time */
    mp_view first, text;

    if (!m)
        return NULL;
    struct mp_walk w = mp_walk_into(mp_message_inner(m, "content"));
    char *kept = atomic_load(&m->error_text), *made;
    if (kept)
        return kept;
    text = mp_walk_element(&w, &first) ? mp_view_get(first, "text") : mp_bytes(NULL, 0);
    if (!mp_view_is_string(text))
        text = mp_message_inner(m, "error");
    made = mp_view_strdup(text);
    if (!made)
        return "Unknown error";
    if (!atomic_compare_exchange_strong(&m->error_text, &kept, made)) {
        mp_free(made); /* another thread was quicker */
        return kept;
    }
    return made;
}

size_t mcplug_result_spills(const mcplug_result *result)
{
    return result ? result->n_spills : 0;
}

int mcplug_result_spill(const mcplug_result *result, size_t i, struct mcplug_spill *out)
{
    if (i >= mcplug_result_spills(result) || !out ||
        out->struct_size < MP_SIZE_UP_TO(struct mcplug_spill, json_len))
        return MCPLUG_EINVAL;
    const struct mp_spilled *s = &result->spills[i];
    struct mcplug_spill own = {
        .size = s->size, .json_offset = s->at - result->body.at, .json_len = s->len};
    mp_give_struct(out, own);
    return MCPLUG_OK;
}

int64_t mcplug_result_spill_read(const mcplug_result *result, size_t i, uint64_t offset,
                                 void *buf, size_t len)
{
    if (i >= mcplug_result_spills(result) || !buf)
        return MCPLUG_EINVAL;
    const struct mp_spilled *s = &result->spills[i];
    if (offset >= s->size)
        return 0;
    if (len > s->size - offset)
        len = (size_t)(s->size - offset);
    ssize_t n;
    do
        n = pread(result->spill_fd, buf, len, (off_t)(s->offset + offset));
    while (n < 0 && errno == EINTR);
    return n < 0 ? MCPLUG_EIO : (int64_t)n;
}

int mcplug_result_spill_fd(const mcplug_result *result, size_t i, uint64_t *offset)
{
    if (!result || !offset || i >= result->n_spills)
        return -1;
    *offset = result->spills[i].offset;
    return result->spill_fd;
}
