/* The members of the objects in a schema, by name: where references lead to, and which
 * names there were already. [any]
 *
 * Every loop over what a server wrote pays, by the byte. When the budget is spent nothing
 * is found any more. */
#ifndef MP_TOOLBOX_MEMBERS_H
#define MP_TOOLBOX_MEMBERS_H

#include "base/buf.h"
#include "json/walk.h"

#define MP_NO_MEMBER SIZE_MAX

struct mp_member_entry {
    size_t of;          /* the member that has it, or a number of the caller */
    size_t at, len;     /* its name, in `text` */
    uint64_t hash;      /* of the two */
    mp_view key, value; /* len 0: named, but not described */
    bool indexed;       /* its own members are known */

    /* for whoever merges */
    bool required;
    bool visited;        /* as the target of a reference */
    size_t kept, n_kept; /* what it requires; none before its visit has ended */
};

struct mp_members {
    struct mp_member_entry *list; /* the first is the root */
    size_t n, cap;
    size_t *slots, n_slots; /* they by their hashes: the index + 1, or 0 */
    struct mp_str text, scratch, path;
    size_t work;   /* left */
    bool is_spent; /* more was asked for */
    bool failed;   /* no memory */
};

/* `work` is the budget. Clear it in either case. */
void mp_members_init(struct mp_members *m, mp_view root, size_t work);
void mp_members_clear(struct mp_members *m);
/* false: stop. */
bool mp_members_spend(struct mp_members *m, size_t work);
/* The member of that name, new if need be. MP_NO_MEMBER: stop. */
size_t mp_members_find(struct mp_members *m, size_t of, const char *name, size_t len);
size_t mp_members_find_key(struct mp_members *m, size_t of, mp_view key);
/* The member that a local reference means: "#", "#/$defs/a". MP_NO_MEMBER: there is no
 * such one, or stop. */
size_t mp_members_resolve(struct mp_members *m, mp_view ref);

#endif
