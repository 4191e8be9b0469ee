#include "registry/names.h"

#include "base/mem.h"
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "mcp__"
#define SEPARATOR "__"
#define HASH 9          /* _ and eight digits */
#define SPACE_MAX 47    /* of a server's part; leaves a tool one character and a hash */
#define SPACE_HASHED 32 /* of one with a hash: leaves its tools room to be read */

/* Something that has a name: a server, or a tool. */
struct part {
    char *original;
    char name[MP_TOOL_NAME_MAX + 1]; /* of a tool, all of it */
    bool given;                      /* the name stays as it is */
    uint64_t seen;                   /* of a tool: the list that had it last */
};

/* Parts that want different names. Both arrays have all of them. */
struct pool {
    struct part **by_original, **by_name;
    size_t n, bytes;
};

struct server {
    struct part part; /* first */
    struct pool tools;
    uint64_t lists; /* there were */
};

struct mp_names {
    bool plain;
    struct pool servers;
};

/* What is wanted for one part. */
struct wish {
    struct part *part;
    char text[MP_TOOL_NAME_MAX + 1]; /* normalised; cut when it does not fit */
    bool exact;                      /* it needed no normalising */
    bool fits;
};

/* How the parts of a pool are named. */
struct rules {
    const char *server; /* of tools: whose; NULL: these are servers */
    const char *prefix;
    size_t max, hashed_max;
};

/* ---- normalising ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* In a server's part no two _ follow each other, and none is the last: so the first two
 * in a name are what stands between server and tool. */
static void wish_make(struct wish *wish, struct part *part, const struct rules *rules)
{
    size_t begin = strlen(rules->prefix), n = begin;

    wish->part = part;
    wish->exact = true;
    wish->fits = true;
    memcpy(wish->text, rules->prefix, begin);
    for (const char *p = part->original; *p; p++) {
        bool letter = is_letter(*p);
        if (!rules->server && !letter && !is_letter(p[1])) {
            wish->exact = false;
        } else if (n < rules->max) {
            wish->exact = wish->exact && (letter || *p == '_');
            wish->text[n++] = letter ? *p : '_';
        } else {
            wish->fits = false;
        }
    }
    if (n == begin) {
        wish->exact = false;
        wish->text[n++] = 'x';
    }
    wish->text[n] = '\0';
}

/* The name with a hash over what it was; another one for each `attempt`. */
static void name_hashed(const struct wish *wish, const struct rules *rules,
                        unsigned attempt)
{
    struct part *part = wish->part;
    unsigned char digest[MP_SHA256_BYTES];
    char hex[MP_SHA256_HEX + 1];
    size_t len = strlen(wish->text);
    struct mp_sha256 sha;

    mp_sha256_init(&sha);
    if (rules->server)
        mp_sha256_add(&sha, rules->server, strlen(rules->server) + 1);
    mp_sha256_add(&sha, part->original, strlen(part->original) + 1);
    while (attempt--)
        mp_sha256_add(&sha, "", 1);
    mp_sha256_end(&sha, digest);
    mp_sha256_hex(digest, hex);
    if (len > rules->hashed_max - HASH)
        len = rules->hashed_max - HASH;
    if (!rules->server && wish->text[len - 1] == '_')
        len--;
    snprintf(part->name, sizeof part->name, "%.*s_%.8s", (int)len, wish->text, hex);
}

/* ---- orders ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_originals(const void *a, const void *b)
{
    const struct part *const *x = a, *const *y = b;
    return strcmp((*x)->original, (*y)->original);
}

static int compare_names(const void *a, const void *b)
{
    const struct part *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Those that fit are not the same as those that were cut to look like them. */
static int compare_wishes(const void *a, const void *b)
{
    const struct wish *x = a, *y = b;
    return x->fits != y->fits ? x->fits - y->fits : strcmp(x->text, y->text);
}

static int compare_attempts(const void *a, const void *b)
{
    const struct part *x = ((const struct wish *)a)->part;
    const struct part *y = ((const struct wish *)b)->part;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->original, y->original);
}

static void sort_parts(struct part **parts, size_t n,
                       int (*order)(const void *, const void *))
{
    if (n)
        qsort(parts, n, sizeof(struct part *), order);
}

static int is_name(const void *key, const void *at)
{
    return strcmp(key, (*(struct part *const *)at)->name);
}

static struct part *find_original(const struct pool *pool, const char *original)
{
    const struct part wanted = {.original = (char *)original}, *key = &wanted;
    struct part *const *at =
        pool->n ? bsearch(&key, pool->by_original, pool->n, sizeof *at, compare_originals)
                : NULL;
    return at ? *at : NULL;
}

static struct part *find_name(struct part *const *by_name, size_t n, const char *name)
{
    struct part *const *at = n ? bsearch(name, by_name, n, sizeof *at, is_name) : NULL;
    return at ? *at : NULL;
}

/* ---- who gets which name ---- */

/* Those who have what they wish are added to `taken`, the others come first in `wishes`
 * then; how many. Their order does not matter: who has the same wish is looked at
 * together. */
static size_t fulfil(struct wish *wishes, size_t n, struct part **taken, size_t *n_taken)
{
    size_t left = 0, given = *n_taken;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare_wishes(&wishes[i], &wishes[end]) == 0;)
            end++;
        bool alone = end - i == 1;
        for (size_t k = i; k < end; k++) {
            struct wish *wish = &wishes[k];
            if (wish->part->given)
                continue;
            if (wish->fits && (wish->exact || alone) &&
                !find_name(taken, given, wish->text)) {
                memcpy(wish->part->name, wish->text, sizeof wish->text);
                taken[(*n_taken)++] = wish->part;
            } else {
                wishes[left++] = *wish;
            }
        }
    }
    return left;
}

/* The same for names with a hash. Two may have the same one: the first by its original
 * name has it, and the others try again. */
static size_t fulfil_hashed(struct wish *wishes, size_t n, struct part **taken,
                            size_t *n_taken)
{
    size_t left = 0, before = *n_taken;
    const struct part *last = NULL;

    for (size_t i = 0; i < n; i++) {
        struct part *part = wishes[i].part;
        if ((last && strcmp(last->name, part->name) == 0) ||
            find_name(taken, before, part->name))
            wishes[left++] = wishes[i];
        else
            taken[(*n_taken)++] = part;
        last = part;
    }
    return left;
}

/* Names all of `wishes` that have no name given. `taken` has those that are, by name, and
 * room for the others, which are put there too. */
static void settle(struct wish *wishes, size_t n, struct part **taken, size_t n_taken,
                   const struct rules *rules)
{
    if (n)
        qsort(wishes, n, sizeof *wishes, compare_wishes);
    size_t left = fulfil(wishes, n, taken, &n_taken);
    sort_parts(taken, n_taken, compare_names);
    for (unsigned attempt = 0; left; attempt++) {
        for (size_t i = 0; i < left; i++)
            name_hashed(&wishes[i], rules, attempt);
        qsort(wishes, left, sizeof *wishes, compare_attempts);
        left = fulfil_hashed(wishes, left, taken, &n_taken);
        sort_parts(taken, n_taken, compare_names);
    }
}

/* ---- pools ---- */

/* give; `size` of what it is the first member of. NULL: no memory. */
static void *part_new(size_t size, const char *original)
{
    struct part *part = mp_alloc(size);
    if (part && !(part->original = mp_strdup(original))) {
        mp_free(part);
        part = NULL;
    }
    return part;
}

static void part_free(struct part *part)
{
    if (part)
        mp_free(part->original);
    mp_free(part);
}

/* Room for as many parts more. */
static bool pool_reserve(struct pool *pool, size_t more)
{
    size_t bytes = (pool->n + more + 1) * sizeof(struct part *);
    struct part **by_original = mp_resize(pool->by_original, bytes);
    struct part **by_name = mp_resize(pool->by_name, bytes);

    if (by_original)
        pool->by_original = by_original;
    if (by_name)
        pool->by_name = by_name;
    return by_original && by_name;
}

static void pool_clear(struct pool *pool)
{
    for (size_t i = 0; i < pool->n; i++)
        part_free(pool->by_original[i]);
    mp_free(pool->by_original);
    mp_free(pool->by_name);
}

/* ---- servers ---- */

struct mp_names *mp_names_new(bool plain)
{
    struct mp_names *names = mp_alloc(sizeof *names);
    if (names)
        names->plain = plain;
    return names;
}

void mp_names_free(struct mp_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->servers.n; i++)
        pool_clear(&((struct server *)names->servers.by_original[i])->tools);
    pool_clear(&names->servers);
    mp_free(names);
}

static struct server *server_find(const struct mp_names *names, const char *server)
{
    return (struct server *)find_original(&names->servers, server);
}

/* All servers without tools may get another name by a new one: nobody knows theirs. */
int mp_names_server(struct mp_names *names, const char *server)
{
    static const struct rules rules = {NULL, "", SPACE_MAX, SPACE_HASHED};
    struct pool *pool = &names->servers;
    size_t given = 0;

    if (server_find(names, server))
        return MCPLUG_OK;
    struct server *added = part_new(sizeof *added, server);
    struct wish *wishes = mp_alloc_raw((pool->n + 1) * sizeof *wishes);
    if (!added || !wishes || !pool_reserve(pool, 1)) {
        mp_free(wishes);
        part_free((struct part *)added);
        return MCPLUG_ENOMEM;
    }
    for (size_t i = 0; i < pool->n; i++)
        if (pool->by_name[i]->given)
            pool->by_name[given++] = pool->by_name[i];
    pool->by_original[pool->n++] = &added->part;
    sort_parts(pool->by_original, pool->n, compare_originals);
    for (size_t i = 0; i < pool->n; i++)
        wish_make(&wishes[i], pool->by_original[i], &rules);
    settle(wishes, pool->n, pool->by_name, given, &rules);
    mp_free(wishes);
    return MCPLUG_OK;
}

const char *mp_names_namespace(const struct mp_names *names, const char *server)
{
    const struct server *found = server_find(names, server);
    return found ? found->part.name : NULL;
}

/* ---- tools ---- */

/* give; sorted, each once. */
static const char **list_sorted(const char *const *tools, size_t *n)
{
    size_t count = 0, kept = 0;
    while (tools && tools[count])
        count++;
    const char **list = mp_alloc_raw(count * sizeof *list);
    if (!list)
        return NULL;
    if (count) {
        memcpy(list, tools, count * sizeof *list);
        qsort(list, count, sizeof *list, compare_texts);
    }
    for (size_t i = 0; i < count; i++)
        if (!kept || strcmp(list[kept - 1], list[i]) != 0)
            list[kept++] = list[i];
    *n = kept;
    return list;
}

static int tools_replace(struct server *server, const struct rules *rules,
                         const char *const *list, size_t n)
{
    struct pool *pool = &server->tools;
    size_t fresh = 0, bytes = 0, end = pool->n;
    int r = MCPLUG_OK;

    for (size_t i = 0; i < n; i++)
        if (!find_original(pool, list[i])) {
            bytes += strlen(list[i]);
            fresh++;
        }
    if (fresh > MP_NAMES_TOOLS - pool->n || bytes > MP_NAMES_BYTES - pool->bytes)
        return MCPLUG_ETOOBIG;
    struct wish *wishes = mp_alloc_raw(n * sizeof *wishes);
    if (!wishes || !pool_reserve(pool, fresh))
        r = MCPLUG_ENOMEM;
    /* those that are new come behind those there were, and count when all are there */
    for (size_t i = 0; i < n && r == MCPLUG_OK; i++) {
        struct part *part = find_original(pool, list[i]);
        if (!part && (part = part_new(sizeof *part, list[i])))
            pool->by_original[end++] = part;
        if (part)
            wish_make(&wishes[i], part, rules);
        else
            r = MCPLUG_ENOMEM;
    }
    if (r == MCPLUG_OK) {
        server->lists++;
        for (size_t i = 0; i < n; i++)
            wishes[i].part->seen = server->lists;
        settle(wishes, n, pool->by_name, pool->n, rules);
        for (; pool->n < end; pool->n++)
            pool->by_original[pool->n]->given = true;
        sort_parts(pool->by_original, pool->n, compare_originals);
        pool->bytes += bytes;
        server->part.given = pool->n > 0;
    }
    while (end > pool->n)
        part_free(pool->by_original[--end]);
    mp_free(wishes);
    return r;
}

int mp_names_tools(struct mp_names *names, const char *server, const char *const *tools)
{
    char prefix[MP_TOOL_NAME_MAX + 1];
    struct rules rules = {server, prefix, MP_TOOL_NAME_MAX, MP_TOOL_NAME_MAX};
    size_t n;

    const char **list = list_sorted(tools, &n);
    int r = list ? mp_names_server(names, server) : MCPLUG_ENOMEM;
    if (r == MCPLUG_OK) {
        struct server *found = server_find(names, server);
        snprintf(prefix, sizeof prefix, "%s%.*s" SEPARATOR, names->plain ? "" : PREFIX,
                 SPACE_MAX, found->part.name);
        r = tools_replace(found, &rules, list, n);
    }
    mp_free(list);
    return r;
}

const char *mp_names_of(const struct mp_names *names, const char *server,
                        const char *tool)
{
    const struct server *found = server_find(names, server);
    const struct part *part = found ? find_original(&found->tools, tool) : NULL;
    return part && part->seen == found->lists ? part->name : NULL;
}

bool mp_names_resolve(const struct mp_names *names, const char *name, const char **server,
                      const char **tool)
{
    const char *text = name;
    char space[SPACE_MAX + 1];

    if (!names->plain && strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    text += names->plain ? 0 : strlen(PREFIX);
    const char *end = strstr(text, SEPARATOR);
    if (!end || end - text > SPACE_MAX)
        return false;
    memcpy(space, text, (size_t)(end - text));
    space[end - text] = '\0';
    const struct server *found =
        (struct server *)find_name(names->servers.by_name, names->servers.n, space);
    const struct part *part =
        found ? find_name(found->tools.by_name, found->tools.n, name) : NULL;
    if (!part)
        return false;
    *server = found->part.original;
    *tool = part->original;
    return true;
}
