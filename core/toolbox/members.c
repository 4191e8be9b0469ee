#include "toolbox/members.h"

#include "base/mem.h"

#include <stdio.h>

void mp_members_init(struct mp_members *m, mp_view root, size_t work)
{
    *m = (struct mp_members){.work = work};
    mp_str_init(&m->text, root.len + 64 + work);
    mp_str_init(&m->scratch, root.len + 64);
    mp_str_init(&m->path, root.len + 64);
    m->failed = !mp_grow(&m->list, &m->cap, 1);
    if (!m->failed)
        m->list[m->n++] = (struct mp_member_entry){.value = root, .visited = true};
}

void mp_members_clear(struct mp_members *m)
{
    mp_str_clear(&m->text);
    mp_str_clear(&m->scratch);
    mp_str_clear(&m->path);
    mp_free(m->list);
    mp_free(m->slots);
}

bool mp_members_spend(struct mp_members *m, size_t work)
{
    if (m->failed || m->is_spent)
        return false;
    m->is_spent = work > m->work;
    m->work -= m->is_spent ? 0 : work;
    return !m->is_spent;
}

static uint64_t hash_name(size_t of, const char *name, size_t len)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ of;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* At least half of the slots are free. */
static bool reserve_slot(struct mp_members *m)
{
    size_t n = m->n_slots ? m->n_slots * 2 : 32;

    if (m->n * 2 < m->n_slots)
        return true;
    size_t *slots = mp_alloc(n * sizeof *slots);
    if (!slots)
        return false;
    for (size_t k = 1; k < m->n; k++) {
        size_t i = m->list[k].hash & (n - 1);
        while (slots[i])
            i = (i + 1) & (n - 1);
        slots[i] = k + 1;
    }
    mp_free(m->slots);
    m->slots = slots;
    m->n_slots = n;
    return true;
}

size_t mp_members_find(struct mp_members *m, size_t of, const char *name, size_t len)
{
    if (!mp_members_spend(m, len + 1))
        return MP_NO_MEMBER;
    if (!reserve_slot(m) || !mp_grow(&m->list, &m->cap, m->n + 1)) {
        m->failed = true;
        return MP_NO_MEMBER;
    }
    uint64_t hash = hash_name(of, name, len);
    size_t i = hash & (m->n_slots - 1);
    for (; m->slots[i]; i = (i + 1) & (m->n_slots - 1)) {
        const struct mp_member_entry *known = &m->list[m->slots[i] - 1];
        if (known->hash == hash && known->of == of && known->len == len &&
            memcmp(m->text.data + known->at, name, len) == 0)
            return m->slots[i] - 1;
        if (!mp_members_spend(m, 1))
            return MP_NO_MEMBER;
    }
    m->list[m->n] =
        (struct mp_member_entry){.of = of, .at = m->text.len, .len = len, .hash = hash};
    m->failed = !mp_str_add(&m->text, name, len);
    m->slots[i] = ++m->n;
    return m->n - 1;
}

size_t mp_members_find_key(struct mp_members *m, size_t of, mp_view key)
{
    mp_str_reset(&m->scratch);
    if (!mp_str_add_view(&m->scratch, key)) {
        m->failed = true;
        return MP_NO_MEMBER;
    }
    return mp_members_find(m, of, m->scratch.len ? m->scratch.data : "", m->scratch.len);
}

/* Of two members of one name the first counts. Elements of arrays have numbers. */
static void index_members(struct mp_members *m, size_t of)
{
    mp_view container = m->list[of].value, key = {NULL, 0}, value;
    struct mp_walk w = mp_walk_into(container);
    bool is_array = mp_view_is_array(container);
    char number[24];

    m->list[of].indexed = true;
    if ((!is_array && !mp_view_is_object(container)) ||
        !mp_members_spend(m, container.len))
        return;
    for (size_t n = 0;
         is_array ? mp_walk_element(&w, &value) : mp_walk_member(&w, &key, &value); n++) {
        size_t len = is_array ? (size_t)snprintf(number, sizeof number, "%zu", n) : 0;
        size_t i = is_array ? mp_members_find(m, of, number, len)
                            : mp_members_find_key(m, of, key);
        if (i == MP_NO_MEMBER)
            return;
        if (!m->list[i].value.len)
            m->list[i].value = value;
    }
}

static int hex(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* One name of a pointer in place, which begins at `at`; returns its end. */
static char *read_name(char *at, char *end, size_t *len)
{
    char *to = at, *name = at;

    for (; at < end && *at != '/'; at++) {
        char c = *at;
        if (c == '%' && end - at > 2 && hex(at[1]) >= 0 && hex(at[2]) >= 0) {
            c = (char)(hex(at[1]) << 4 | hex(at[2]));
            at += 2;
        }
        if (c == '~' && end - at > 1 && (at[1] == '0' || at[1] == '1'))
            c = *++at == '0' ? '~' : '/';
        *to++ = c;
    }
    *len = (size_t)(to - name);
    return at;
}

size_t mp_members_resolve(struct mp_members *m, mp_view ref)
{
    mp_str_reset(&m->path);
    if (!mp_view_is_string(ref))
        return MP_NO_MEMBER;
    if (!mp_str_add_view(&m->path, ref) || m->failed) {
        m->failed = true;
        return MP_NO_MEMBER;
    }
    char *at = m->path.data, *end = at + m->path.len;
    size_t i = 0, len;
    if (at == end || *at++ != '#')
        return MP_NO_MEMBER;
    while (at < end) {
        char *name = at + 1;
        if (*at != '/')
            return MP_NO_MEMBER;
        at = read_name(name, end, &len);
        if (!m->list[i].indexed)
            index_members(m, i);
        i = mp_members_find(m, i, name, len);
        if (i == MP_NO_MEMBER || !m->list[i].value.len)
            return MP_NO_MEMBER;
    }
    return i;
}
