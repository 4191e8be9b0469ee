#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"

static char *copy_view(mp_view v, const char *fallback)
{
    return v.len ? mp_strndup((const char *)v.data, v.len) : mp_strdup(fallback);
}

/* take `fresh` */
static bool take_text(char **text, char *fresh)
{
    if (!fresh)
        return false;
    mp_free(*text);
    *text = fresh;
    return true;
}

int mp_identity_take(struct mp_identity *id, mp_message *m, mp_view info,
                     struct mcplug_error *err)
{
    mp_view caps = mp_message_inner(m, "capabilities"), none = mp_bytes(NULL, 0);
    char *said = mp_view_strdup(mp_message_inner(m, "instructions"));

    if (!take_text(&id->instructions, said ? said : mp_strdup("")) ||
        !take_text(&id->info, copy_view(mp_view_is_object(info) ? info : none, "{}")) ||
        !take_text(&id->capabilities,
                   copy_view(mp_view_is_object(caps) ? caps : none, "{}")))
        return mp_fail_nomem(err);
    return MCPLUG_OK;
}

static struct mp_fact *find(const struct mp_identity *id, const char *name)
{
    struct mp_fact *f = id->facts;

    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

void mp_identity_describe(struct mp_identity *id, const char *name, const char *value)
{
    struct mp_fact *fact = find(id, name);
    char *copy = mp_strdup(value);
    size_t n = strlen(name) + 1;

    if (!fact && copy && id->n_facts < MP_FACTS_MAX &&
        (fact = mp_alloc(sizeof *fact + n))) {
        memcpy(fact->name, name, n);
        fact->next = id->facts;
        id->facts = fact;
        id->n_facts++;
    }
    if (!fact || !copy) {
        mp_free(copy);
        return;
    }
    mp_free(fact->value);
    fact->value = copy;
}

const char *mp_identity_fact(const struct mp_identity *id, const char *name)
{
    const struct mp_fact *fact = find(id, name);
    return fact ? fact->value : NULL;
}

void mp_identity_clear(struct mp_identity *id)
{
    mp_free(id->info);
    mp_free(id->capabilities);
    mp_free(id->instructions);
    while (id->facts) {
        struct mp_fact *fact = id->facts;
        id->facts = fact->next;
        mp_free(fact->value);
        mp_free(fact);
    }
    memset(id, 0, sizeof *id);
}
