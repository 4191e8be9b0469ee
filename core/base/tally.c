#include "base/tally.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void mp_tally_add(struct mp_tally *t, const char *name, size_t count)
{
    size_t i = 0;

    while (i < t->n && strcmp(t->rows[i].name, name) != 0)
        i++;
    if (i == t->n) {
        struct mp_tally_row *rows = mp_resize(t->rows, (t->n + 1) * sizeof *rows);
        if (!rows)
            return;
        t->rows = rows;
        t->rows[t->n++] = (struct mp_tally_row){.name = name};
    }
    t->rows[i].count += count;
}

static int by_count(const void *a, const void *b)
{
    const struct mp_tally_row *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : strcmp(x->name, y->name);
}

void mp_tally_sort(struct mp_tally *t)
{
    if (t->n)
        qsort(t->rows, t->n, sizeof *t->rows, by_count);
}

void mp_tally_clear(struct mp_tally *t)
{
    mp_free(t->rows);
    *t = (struct mp_tally){.rows = NULL};
}
