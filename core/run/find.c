/* search_tools: for a model that has more tools than it could read. */
#include "run/run.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

enum { WORDS_MAX = 32, FOUND = 8, FOUND_MAX = 20, SHOWN_MAX = 200, IN_NAME = 4 };

const char mp_search_definition[] =
    "{\"description\":\"Finds tools by what they do. There are more tools than are "
    "listed "
    "here: search before you say that something cannot be done. What is found can be "
    "called from the next step "
    "on.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"query\":{\"type\":\"string\",\"description\":\"words that say what the tool "
    "should "
    "do, or a part of its name\"},\"limit\":{\"type\":\"integer\",\"description\":\"how "
    "many at most; 8 if it is left out\"}},\"required\":[\"query\"]}}";

struct word {
    char text[64];
    size_t len;
    size_t tools; /* that have it: what all have tells little */
};

static bool is_letter(unsigned char c)
{
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

static size_t split(const char *query, struct word *words)
{
    size_t n = 0;

    while (*query && n < WORDS_MAX) {
        struct word *w = &words[n];
        w->len = w->tools = 0;
        for (; is_letter((unsigned char)*query); query++)
            if (w->len < sizeof w->text - 1)
                w->text[w->len++] = mp_lower(*query);
        w->text[w->len] = '\0';
        n += w->len > 1 || (unsigned char)w->text[0] >= 0x80;
        if (*query)
            query++;
    }
    return n;
}

static bool has(const char *text, const struct word *w)
{
    for (; *text; text++) {
        size_t i = 0;
        while (i < w->len && mp_lower(text[i]) == w->text[i])
            i++;
        if (i == w->len)
            return true;
    }
    return false;
}

struct found {
    struct mp_known *known;
    double score;
    size_t at;
};

static int by_score(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->at < y->at ? -1 : 1;
}

static bool is_searchable(const struct mp_known *k)
{
    return k->def.name && !k->is_search && !k->is_bad;
}

static double score(const struct mp_known *k, const struct word *words, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double weight = 1.0 / (double)(words[i].tools ? words[i].tools : 1);
        if (has(k->def.name, &words[i]))
            sum += IN_NAME * weight + 0.01;
        if (has(k->def.description, &words[i]))
            sum += weight + 0.01;
    }
    return sum;
}

/* The first line, or as much of it as tells what the tool is for. */
static void add_line(struct mp_str *out, const struct mp_known *k)
{
    const char *text = k->def.description;
    size_t len = strcspn(text, "\r\n");

    if (len > SHOWN_MAX) {
        len = SHOWN_MAX;
        while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
    }
    mp_str_addf(out, "%s%s: ", out->len ? "\n" : "", k->def.name);
    mp_str_add(out, text, len);
}

int mp_offer_search(struct mp_offered *o, mp_view arguments, struct mp_str *out)
{
    char *query = mp_view_strdup(mp_view_get(arguments, "query"));
    struct found *found = mp_alloc((o->n + 1) * sizeof *found);
    struct word words[WORDS_MAX];
    size_t n_words = query ? split(query, words) : 0, n = 0;
    int64_t limit = FOUND;

    mp_view_int(mp_view_get(arguments, "limit"), &limit);
    limit = limit < 1 ? 1 : limit > FOUND_MAX ? FOUND_MAX : limit;
    for (size_t i = 0; i < o->n; i++)
        for (size_t w = 0; w < n_words; w++)
            words[w].tools += is_searchable(o->known[i]) &&
                              (has(o->known[i]->def.name, &words[w]) ||
                               has(o->known[i]->def.description, &words[w]));
    for (size_t i = 0; found && i < o->n; i++) {
        double s = is_searchable(o->known[i]) ? score(o->known[i], words, n_words) : 0;
        if (s > 0)
            found[n++] = (struct found){o->known[i], s, i};
    }
    bool ok = found && query;
    if (ok)
        qsort(found, n, sizeof *found, by_score);
    for (size_t i = 0; ok && i < n && i < (size_t)limit; i++) {
        ok = mp_offer_add(o, found[i].known);
        add_line(out, found[i].known);
    }
    if (ok && !n)
        mp_str_adds(out, "No tool matches. Try other words.");
    mp_free(found);
    mp_free(query);
    return ok && !out->failed ? MCPLUG_OK : MCPLUG_ENOMEM;
}
