#include "json/walk.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>

enum { FEW = 16 }; /* as many are compared in pairs, more are sorted */

struct key {
    const char *name; /* unescaped */
    size_t len;
    mp_view written;
};

struct keys {
    struct key few[FEW], *all;
    size_t n, cap;
    struct mp_str names; /* those with escapes; never moves */
};

static int compare(const struct key *a, const struct key *b)
{
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return memcmp(a->name, b->name, a->len);
}

static int by_name(const void *a, const void *b)
{
    return compare(a, b);
}

static struct key *room_for_one(struct keys *k)
{
    if (k->n < FEW)
        return &k->few[k->n++];
    if (!mp_grow(&k->all, &k->cap, k->n + 1))
        return NULL;
    if (k->n == FEW)
        memcpy(k->all, k->few, sizeof k->few);
    return &k->all[k->n++];
}

static bool read_keys(struct keys *k, mp_view object)
{
    struct mp_walk w = mp_walk_into(object);
    mp_view written, value;

    while (mp_walk_member(&w, &written, &value)) {
        struct key *key = room_for_one(k);
        if (!key)
            return false;
        *key = (struct key){(const char *)written.data + 1, written.len - 2, written};
        if (!memchr(key->name, '\\', key->len))
            continue;
        size_t from = k->names.len;
        if ((!k->names.cap && !mp_str_reserve(&k->names, object.len)) ||
            !mp_str_add_view(&k->names, written))
            return false;
        key->name = k->names.data + from;
        key->len = k->names.len - from;
    }
    return true;
}

/* One of two with the same name; NULL: there are none. */
static const struct key *find_twice(struct keys *k)
{
    if (k->n <= FEW) {
        for (size_t i = 1; i < k->n; i++)
            for (size_t j = 0; j < i; j++)
                if (k->few[i].len == k->few[j].len &&
                    compare(&k->few[i], &k->few[j]) == 0)
                    return &k->few[i];
        return NULL;
    }
    qsort(k->all, k->n, sizeof *k->all, by_name);
    for (size_t i = 1; i < k->n; i++)
        if (compare(&k->all[i - 1], &k->all[i]) == 0)
            return &k->all[i];
    return NULL;
}

int mp_view_unique(mp_view object, struct mcplug_error *err)
{
    struct keys k;
    const struct key *twice = NULL;
    int r = MCPLUG_OK;

    if (!mp_view_is_object(object))
        return MCPLUG_OK;
    k.all = NULL;
    k.n = k.cap = 0;
    mp_str_init(&k.names, object.len + 1);
    if (!read_keys(&k, object))
        r = mp_fail_nomem(err);
    else if ((twice = find_twice(&k)))
        r = mp_fail(err, MCPLUG_EPROTO, "duplicate member %.*s",
                    twice->written.len > 66 ? 66 : (int)twice->written.len,
                    (const char *)twice->written.data);
    mp_free(k.all);
    mp_str_clear(&k.names);
    return r;
}
