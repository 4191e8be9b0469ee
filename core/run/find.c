/* search_tools: for a model that has more tools than it could read.
 *
 * Tools are ranked by the words of the query that they have (BM25): in their names, which
 * count most, in the name of their server, their descriptions and the names of their
 * parameters. A word that few tools have tells more than one of many. Nothing is kept
 * between searches; one takes the time of reading all descriptions once. */
#include "run/run.h"

#include "base/mem.h"
#include "base/text.h"

enum {
    WORDS_MAX = 32,      /* of a query */
    FOUND = 8,           /* tools, unless the model says how many */
    FOUND_MAX = 20,      /* tools */
    SHOWN_MAX = 200,     /* bytes of a description */
    SERVERS_SHOWN = 1024 /* bytes of their names */
};

/* ---- words ---- */

struct word { /* borrow */
    const char *text;
    size_t len;
};

struct wanted { /* a word of the query */
    struct word word;
    const char *const *like; /* those that mean the same, or NULL */
    size_t tools;            /* that have it */
};

struct query {
    struct wanted words[WORDS_MAX];
    size_t n;
};

static bool is_letter(char c)
{
    return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool same(const char *text, const char *word, size_t len)
{
    size_t i = 0;

    while (i < len && mp_lower(text[i]) == mp_lower(word[i]))
        i++;
    return i == len;
}

static bool ends(const struct word *w, const char *with)
{
    size_t len = strlen(with);

    return w->len > len && same(w->text + w->len - len, with, len);
}

static bool has_vowel(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (strchr("aeiouy", mp_lower(text[i])))
            return true;
    return false;
}

/* Takes away "ing" or "ed", and one of two consonants before it: "getting". */
static void cut_verb(struct word *w, size_t by)
{
    size_t len = w->len - by;

    if (len < 3 || !has_vowel(w->text, len))
        return;
    if (mp_lower(w->text[len - 1]) == mp_lower(w->text[len - 2]) &&
        !strchr("lsz", mp_lower(w->text[len - 1])))
        len--;
    w->len = len;
}

/* The forms of an English word become one: files, file; created, creating, creation.
 * Others stay as they are. */
static void cut_ending(struct word *w)
{
    for (size_t i = 0; i < w->len; i++)
        if ((unsigned char)w->text[i] >= 0x80)
            return;
    if (w->len > 3 && ends(w, "s") && !ends(w, "ss") && !ends(w, "us") && !ends(w, "is"))
        w->len -=
            w->len > 4 && ends(w, "ies")                                              ? 3
            : ends(w, "sses") || ends(w, "xes") || ends(w, "ches") || ends(w, "shes") ? 2
                                                                                      : 1;
    if (ends(w, "ing"))
        cut_verb(w, 3);
    else if (ends(w, "ed"))
        cut_verb(w, 2);
    else if (w->len > 6 && (ends(w, "tion") || ends(w, "sion")))
        w->len -= 3;
    if (w->len > 3 && (ends(w, "e") || ends(w, "y")))
        w->len--;
}

/* The next word of a text; `parts`: "createPage" is two. */
static bool next_word(const char **at, const char *end, bool parts, struct word *out)
{
    const char *p = *at;

    while (p < end && !is_letter(*p))
        p++;
    out->text = p;
    while (p < end && is_letter(*p) &&
           !(parts && p > out->text && is_upper(*p) && !is_upper(p[-1])))
        p++;
    out->len = (size_t)(p - out->text);
    *at = p;
    return out->len > 0;
}

/* Such as stand in any sentence. */
static bool says_little(const struct word *w)
{
    static const char *const list[] = {
        "a",    "an",    "and",  "are", "as",   "at",    "be",   "by",    "can",  "do",
        "for",  "from",  "how",  "i",   "if",   "in",    "into", "is",    "it",   "its",
        "me",   "my",    "need", "of",  "on",   "or",    "out",  "so",    "some", "that",
        "the",  "then",  "this", "to",  "tool", "tools", "use",  "using", "want", "what",
        "when", "which", "with", "you", "your", "please"};

    for (size_t i = 0; i < MP_COUNT(list); i++)
        if (strlen(list[i]) == w->len && same(w->text, list[i], w->len))
            return true;
    return false;
}

static bool is_word(const struct word *a, const struct word *b)
{
    return a->len == b->len && same(a->text, b->text, a->len);
}

static struct word plain(const char *text)
{
    struct word w = {text, strlen(text)};

    cut_ending(&w);
    return w;
}

/* What one program calls so, and another so. */
static const char *const *others_like(const struct word *w)
{
    static const char *const alike[][6] = {
        {"directory", "folder"},
        {"create", "make"},
        {"delete", "remove", "clear"},
        {"image", "picture", "photo"},
        {"run", "execute"},
        {"write", "save"},
        {"fetch", "download", "retrieve"},
        {"web", "internet", "website", "online"},
        {"search", "find", "query"},
        {"issue", "bug", "ticket"},
        {"several", "multiple", "many"},
        {"send", "post"},
        {"move", "rename"},
        {"undo", "reset", "revert"},
        {"chart", "graph", "plot"},
        {"error", "exception"},
        {"edit", "modify", "change", "update"},
    };

    for (size_t i = 0; i < MP_COUNT(alike); i++)
        for (size_t j = 0; j < MP_COUNT(alike[i]) && alike[i][j]; j++)
            if (is_word(w, &(struct word[]){plain(alike[i][j])}[0]))
                return alike[i];
    return NULL;
}

static void add_word(struct query *q, struct word w)
{
    cut_ending(&w);
    for (size_t i = 0; i < q->n; i++)
        if (is_word(&q->words[i].word, &w))
            return;
    if (q->n < WORDS_MAX)
        q->words[q->n++] = (struct wanted){w, others_like(&w), 0};
}

/* Of those that say little all, if there are no others. */
static void split(const char *text, struct query *q)
{
    const char *end = text + strlen(text);

    for (int all = 0; all < 2 && !q->n; all++) {
        struct word w, part;
        for (const char *at = text; next_word(&at, end, false, &w);) {
            if (!all && says_little(&w))
                continue;
            add_word(q, w);
            for (const char *in = w.text; next_word(&in, w.text + w.len, true, &part);)
                if (part.len < w.len && part.len > 1)
                    add_word(q, part);
        }
    }
}

/* ---- how well a tool fits ---- */

/* What a word counts in each place. Where there are many words each counts less. */
struct place {
    double weight;
    double usual; /* how many words there are, as a rule */
    bool is_name; /* made of parts; a part of a word is better than nothing */
};
static const struct place name_place = {4, 3, true}, server_place = {2, 1, true},
                          text_place = {1, 40, false}, parameter_place = {0.5, 6, true};

static double match_one(const struct word *have, const struct word *want, bool is_name)
{
    bool is_foreign = (unsigned char)want->text[0] >= 0x80;

    if (have->len < want->len)
        return 0;
    if (same(have->text, want->text, want->len))
        return have->len == want->len ? 1 : want->len >= 3 ? 0.5 : 0;
    if (!is_foreign && (!is_name || want->len < 4))
        return 0;
    for (size_t i = 1; i + want->len <= have->len; i++)
        if (same(have->text + i, want->text, want->len))
            return 0.3;
    return 0;
}

static double match(const struct word *have, const struct wanted *want, bool is_name)
{
    double as = match_one(have, &want->word, is_name);

    for (const char *const *like = want->like; !as && like && *like; like++) {
        struct word w = plain(*like);
        as = is_word(have, &w) ? 0.5 : 0;
    }
    return as;
}

/* Adds what each word of the query counts in a text. */
static void weigh(const struct query *q, const char *text, size_t len,
                  const struct place *place, float *counts)
{
    double here[WORDS_MAX] = {0}, n = 0;
    struct word w;

    for (const char *at = text; next_word(&at, text + len, place->is_name, &w); n++) {
        cut_ending(&w);
        for (size_t i = 0; i < q->n; i++)
            here[i] += match(&w, &q->words[i], place->is_name);
    }
    for (size_t i = 0; i < q->n; i++)
        counts[i] += (float)(place->weight * here[i] / (0.6 + 0.4 * n / place->usual));
}

static void weigh_tool(const struct mp_known *k, const struct query *q, float *counts)
{
    const char *name = k->tool ? k->tool : k->def.name;
    struct mp_walk w = mp_walk_into(mp_view_get(k->def.schema, "properties"));
    mp_view key, value;

    weigh(q, name, strlen(name), &name_place, counts);
    if (k->server)
        weigh(q, k->server, strlen(k->server), &server_place, counts);
    weigh(q, k->def.description, strlen(k->def.description), &text_place, counts);
    while (mp_walk_member(&w, &key, &value))
        weigh(q, (const char *)key.data, key.len, &parameter_place, counts);
}

/* The logarithm, nearly: what one word in so many tells. */
static double rarity(size_t tools, size_t of)
{
    double ratio = 1 + ((double)of - (double)tools + 0.5) / ((double)tools + 0.5), n = 0;

    for (; ratio >= 2; ratio /= 2)
        n++;
    return n + ratio - 1;
}

static double score(const struct query *q, const float *counts, size_t n_tools)
{
    double sum = 0, whole = 0, had = 0;

    for (size_t i = 0; i < q->n; i++) {
        double rare = rarity(q->words[i].tools, n_tools);
        whole += rare;
        had += counts[i] > 0 ? rare : 0;
        sum += rare * counts[i] / (counts[i] + 1.2);
    }
    return whole > 0 ? sum * (0.5 + 0.5 * had / whole) : 0;
}

/* ---- the search ---- */

struct found {
    const struct mp_known *known;
    double score;
};

static bool is_searchable(const struct mp_known *k)
{
    return k->def.name && !k->is_search && !k->is_bad;
}

/* Keeps the best, in order; of those that are as good, who came first. */
static size_t keep(struct found *best, size_t n, size_t most, struct found one)
{
    size_t at = n;

    while (at > 0 && best[at - 1].score < one.score)
        at--;
    if (at == most)
        return n;
    n -= n == most;
    memmove(&best[at + 1], &best[at], (n - at) * sizeof *best);
    best[at] = one;
    return n + 1;
}

/* false: no memory */
static bool search(const struct mp_offered *o, struct query *q, struct found *best,
                   size_t most, size_t *n_best)
{
    float *counts = mp_alloc((o->n * q->n + 1) * sizeof *counts);
    size_t n_tools = 0, n = 0;

    if (!counts)
        return false;
    for (size_t i = 0; i < o->n; i++)
        if (is_searchable(o->known[i])) {
            n_tools++;
            weigh_tool(o->known[i], q, counts + i * q->n);
            for (size_t w = 0; w < q->n; w++)
                q->words[w].tools += counts[i * q->n + w] > 0;
        }
    for (size_t i = 0; i < o->n; i++) {
        struct found one = {o->known[i], score(q, counts + i * q->n, n_tools)};
        if (one.score > 0)
            n = keep(best, n, most, one);
    }
    mp_free(counts);
    *n_best = n;
    return true;
}

/* ---- what the model reads ---- */

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

static bool is_first_of_server(const struct mp_offered *o, size_t i)
{
    const char *server = o->known[i]->server;

    if (!is_searchable(o->known[i]) || !server || !*server)
        return false;
    while (i-- > 0)
        if (is_searchable(o->known[i]) && o->known[i]->server &&
            strcmp(o->known[i]->server, server) == 0)
            return false;
    return true;
}

/* " There are tools of the servers a, b, c and 7 more." */
static void add_servers(struct mp_str *out, const struct mp_offered *o)
{
    size_t n = 0, more = 0, begin = out->len;

    for (size_t i = 0; i < o->n; i++) {
        if (!is_first_of_server(o, i))
            continue;
        if (out->len - begin > SERVERS_SHOWN) {
            more++;
            continue;
        }
        mp_str_adds(out, n++ ? ", " : " There are tools of the servers ");
        mp_str_adds(out, o->known[i]->server);
    }
    if (more)
        mp_str_addf(out, " and %zu more", more);
    if (n)
        mp_str_addc(out, '.');
}

void mp_search_define(const struct mp_offered *o, struct mp_str *out)
{
    struct mp_str text;

    mp_str_init(&text, (size_t)8 << 10);
    mp_str_adds(&text,
                "Finds tools by what they do. There are more tools than are listed "
                "here: search before you say that something cannot be done. What "
                "is found can be called from the next step on.");
    add_servers(&text, o);
    mp_str_adds(out, "{\"description\":");
    mp_str_add_json(out, text.data, text.len);
    mp_str_adds(out,
                ",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
                "\"query\":{\"type\":\"string\",\"description\":\"words that say what "
                "the tool should do, or a part of its name\"},\"limit\":{\"type\":"
                "\"integer\",\"description\":\"how many at most; 8 if it is left "
                "out\"}},\"required\":[\"query\"]}}");
    out->failed |= text.failed;
    mp_str_clear(&text);
}

int mp_offer_search(const struct mp_offered *o, mp_view arguments, struct mp_str *out)
{
    char *text = mp_view_strdup(mp_view_get(arguments, "query"));
    struct query q = {.n = 0};
    struct found best[FOUND_MAX];
    int64_t limit = FOUND;
    size_t n = 0;

    mp_view_int(mp_view_get(arguments, "limit"), &limit);
    limit = limit < 1 ? 1 : limit > FOUND_MAX ? FOUND_MAX : limit;
    if (text)
        split(text, &q);
    bool ok = text && search(o, &q, best, (size_t)limit, &n);
    for (size_t i = 0; ok && i < n; i++)
        add_line(out, best[i].known);
    if (ok && !n) {
        mp_str_adds(out, "No tool matches. Try other words.");
        add_servers(out, o);
    }
    mp_free(text);
    return ok && !out->failed ? MCPLUG_OK : MCPLUG_ENOMEM;
}
