#include "base/nearest.h"

#include <string.h>

size_t mp_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2];

    if (n > LONGEST || m > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

void mp_nearest(const char *word, const char *candidate, const char **best)
{
    size_t len = strlen(word), other = strlen(candidate);
    size_t most = len < 3 ? 1 : len < 8 ? 2 : 3; /* more is no typing mistake */

    if (other > len + most || len > other + most) /* there may be very many */
        return;
    size_t d = mp_distance(word, candidate);
    /* One edit in a word of one or two letters makes any other such word. */
    if (d > most || (len < 3 && other <= len))
        return;
    if (!*best || d < mp_distance(word, *best))
        *best = candidate;
}
