#include "session/session_private.h"

#include "base/error.h"
#include "base/mem.h"

/* The object, or `{}`. */
static bool keep_object(char **text, mp_view object)
{
    char *fresh = mp_view_is_object(object)
                      ? mp_strndup((const char *)object.data, object.len)
                      : mp_strdup("{}");
    if (fresh) {
        mp_free(*text);
        *text = fresh;
    }
    return fresh;
}

/* Those of the connection before, or all. */
static void drop_facts(struct mp_identity *id, bool all)
{
    struct mp_fact **at = &id->facts;

    while (*at) {
        struct mp_fact *fact = *at;
        if (!all && !fact->is_old) {
            at = &fact->next;
            continue;
        }
        *at = fact->next;
        id->n_facts--;
        mp_free(fact->value);
        mp_free(fact);
    }
}

int mp_identity_take(struct mp_identity *id, mp_message *m, mp_view info,
                     struct mcplug_error *err)
{
    char *said = mp_view_strdup(mp_message_inner(m, "instructions"));

    if (!said && !(said = mp_strdup("")))
        return mp_fail_nomem(err);
    mp_free(id->instructions);
    id->instructions = said;
    drop_facts(id, false);
    return keep_object(&id->info, info) &&
                   keep_object(&id->capabilities, mp_message_inner(m, "capabilities"))
               ? MCPLUG_OK
               : mp_fail_nomem(err);
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
    fact->is_old = false;
}

void mp_identity_renew(struct mp_identity *id)
{
    for (struct mp_fact *fact = id->facts; fact; fact = fact->next)
        fact->is_old = true;
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
    drop_facts(id, true);
    memset(id, 0, sizeof *id);
}
