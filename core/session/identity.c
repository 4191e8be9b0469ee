#include "session/session.h"

#include "base/error.h"
#include "base/mem.h"

#define FORMER_BYTES_MAX ((size_t)1 << 20)

static char *copy_view(mp_view v, const char *fallback)
{
    return v.len ? mp_strndup((const char *)v.data, v.len) : mp_strdup(fallback);
}

/* take `fresh`. Programs were promised that what it said stays as long as the server, and
 * a session may be renewed behind their backs. */
static int take_text(mcplug_server *s, char **text, char *fresh, struct mcplug_error *err)
{
    if (!fresh)
        return mp_fail_nomem(err);
    if (!*text) {
        *text = fresh;
        return MCPLUG_OK;
    }
    char **known = strcmp(*text, fresh) == 0 ? text : NULL;
    for (size_t i = 0; i < s->n_former && !known; i++)
        known = strcmp(s->former[i], fresh) == 0 ? &s->former[i] : NULL;
    if (known) {
        char *was = *text;
        *text = *known;
        *known = was;
        mp_free(fresh);
        return MCPLUG_OK;
    }
    s->former_bytes += strlen(*text);
    if (s->n_former == MP_COUNT(s->former) || s->former_bytes > FORMER_BYTES_MAX) {
        mp_free(fresh);
        return mp_fail(err, MCPLUG_EPROTO,
                       "the server says something else of itself in every session");
    }
    s->former[s->n_former++] = *text;
    *text = fresh;
    return MCPLUG_OK;
}

int mp_identity_take(mcplug_server *s, mp_message *m, mp_view info,
                     struct mcplug_error *err)
{
    mp_view caps = mp_message_inner(m, "capabilities"), none = mp_bytes(NULL, 0);
    char *said = mp_view_strdup(mp_message_inner(m, "instructions"));

    int r = take_text(s, &s->instructions, said ? said : mp_strdup(""), err);
    if (r == MCPLUG_OK)
        r = take_text(s, &s->info, copy_view(mp_view_is_object(info) ? info : none, "{}"),
                      err);
    if (r == MCPLUG_OK)
        r = take_text(s, &s->capabilities,
                      copy_view(mp_view_is_object(caps) ? caps : none, "{}"), err);
    return r;
}

void mp_identity_clear(mcplug_server *s)
{
    mp_free(s->info);
    mp_free(s->capabilities);
    mp_free(s->instructions);
    for (size_t i = 0; i < s->n_former; i++)
        mp_free(s->former[i]);
}
