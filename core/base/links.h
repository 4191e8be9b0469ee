/* Linked lists of what lives inside its owner: an item has `next`, and `prev`, which is
 * where the pointer to it is (NULL: it is in no list). A list is a pointer to the first
 * one; one that is added to at its end has `last` too, where the next pointer goes. */
#ifndef MP_BASE_LINKS_H
#define MP_BASE_LINKS_H

#define mp_links_append(last, item, next, prev)                                          \
    do {                                                                                 \
        (item)->next = NULL;                                                             \
        (item)->prev = (last);                                                           \
        *(last) = (item);                                                                \
        (last) = &(item)->next;                                                          \
    } while (0)

/* Of a list that has `last`. */
#define mp_links_remove(last, item, next, prev)                                          \
    do {                                                                                 \
        *(item)->prev = (item)->next;                                                    \
        *((item)->next ? &(item)->next->prev : &(last)) = (item)->prev;                  \
        (item)->next = NULL;                                                             \
        (item)->prev = NULL;                                                             \
    } while (0)

/* The same for lists without `last`. */
#define mp_links_push(first, item, next, prev)                                           \
    do {                                                                                 \
        (item)->next = (first);                                                          \
        (item)->prev = &(first);                                                         \
        if (first)                                                                       \
            (first)->prev = &(item)->next;                                               \
        (first) = (item);                                                                \
    } while (0)

#define mp_links_drop(item, next, prev)                                                  \
    do {                                                                                 \
        *(item)->prev = (item)->next;                                                    \
        if ((item)->next)                                                                \
            (item)->next->prev = (item)->prev;                                           \
        (item)->next = NULL;                                                             \
        (item)->prev = NULL;                                                             \
    } while (0)

#endif
