/* Names of tools towards a model. */
#include "nomem_kit.h"
#include "quick.h"
#include "registry/names.h"

#include <time.h>

#define LIST(...)                                                                        \
    (const char *const[])                                                                \
    {                                                                                    \
        __VA_ARGS__, NULL                                                                \
    }

static struct mp_names *names;
static size_t prefix; /* of all its names */

static void begin(bool plain)
{
    prefix = plain ? 0 : strlen("mcp__");
    names = mp_names_new(plain);
    ck_assert_ptr_nonnull(names);
}

static void end(void)
{
    mp_names_free(names);
    names = NULL;
}

static void tools(const char *server, const char *const *list)
{
    HOLDS(mp_names_tools(names, server, list) == MCPLUG_OK, "tools of %s", server);
}

static void servers(const char *const *list)
{
    for (; *list; list++)
        HOLDS(mp_names_server(names, *list) == MCPLUG_OK, "server %s", *list);
}

static void is_named(const char *server, const char *tool, const char *want)
{
    const char *name = mp_names_of(names, server, tool), *s, *t;
    ck_assert_msg(name && strcmp(name, want) == 0, "%s of %s is %s, not %s", tool, server,
                  name, want);
    ck_assert(mp_names_resolve(names, name, &s, &t));
    ck_assert_str_eq(s, server);
    ck_assert_str_eq(t, tool);
}

/* Is it `base`, _ and eight digits? */
static bool is_hashed(const char *name, const char *base)
{
    size_t n = strlen(base);
    return name && strncmp(name, base, n) == 0 && name[n] == '_' &&
           strspn(name + n + 1, "0123456789abcdef") == 8 && !name[n + 9];
}

/* ---- ordinary ones ---- */

START_TEST(ordinary_names_are_what_the_command_accepts)
{
    begin(false);
    servers(LIST("github", "my-server", "_a"));
    tools("github", LIST("search", "get-issue", "list__all", "_x_", "a.b"));
    tools("my-server", LIST("search"));
    tools("_a", LIST("b"));
    is_named("github", "search", "mcp__github__search");
    is_named("github", "get-issue", "mcp__github__get_issue");
    is_named("github", "list__all", "mcp__github__list__all");
    is_named("github", "_x_", "mcp__github___x_");
    is_named("github", "a.b", "mcp__github__a_b");
    is_named("my-server", "search", "mcp__my_server__search");
    is_named("_a", "b", "mcp___a__b");
    ck_assert_str_eq(mp_names_namespace(names, "my-server"), "my_server");
    ck_assert_ptr_null(mp_names_namespace(names, "my_server"));
    ck_assert(!mp_names_of(names, "github", "none") && !mp_names_of(names, "no", "x"));
    end();
    begin(true);
    tools("my-server", LIST("get-issue"));
    is_named("my-server", "get-issue", "my_server__get_issue");
    end();
}
END_TEST

START_TEST(the_first_two_bars_end_the_server)
{
    begin(false);
    servers(LIST("a", "a__b", "c--", "__", "d__"));
    tools("a", LIST("b__c", "_b"));
    tools("a__b", LIST("c"));
    tools("c--", LIST("", "_", "\xc3\xa9"));
    tools("__", LIST("t"));
    is_named("a", "b__c", "mcp__a__b__c");
    is_named("a", "_b", "mcp__a___b");
    is_named("a__b", "c", "mcp__a_b__c");
    is_named("c--", "", "mcp__c__x");
    is_named("c--", "_", "mcp__c___");
    is_named("c--", "\xc3\xa9", "mcp__c____");
    is_named("__", "t", "mcp__x__t");
    ck_assert_str_eq(mp_names_namespace(names, "d__"), "d");
    end();
}
END_TEST

START_TEST(where_two_would_be_the_same_the_exact_one_keeps_the_name)
{
    char was[MP_TOOL_NAME_MAX + 1];
    begin(false);
    servers(LIST("git-hub", "git_hub", "git.hub", "b-c", "b.c"));
    tools("git_hub", LIST("a-b", "a_b", "a.b", "c-d", "c.d", "e-f"));
    ck_assert_str_eq(mp_names_namespace(names, "git_hub"), "git_hub");
    ck_assert(is_hashed(mp_names_namespace(names, "git-hub"), "git_hub"));
    ck_assert(is_hashed(mp_names_namespace(names, "git.hub"), "git_hub"));
    ck_assert(is_hashed(mp_names_namespace(names, "b-c"), "b_c"));
    ck_assert(is_hashed(mp_names_namespace(names, "b.c"), "b_c"));
    is_named("git_hub", "a_b", "mcp__git_hub__a_b");
    is_named("git_hub", "e-f", "mcp__git_hub__e_f");
    ck_assert(is_hashed(mp_names_of(names, "git_hub", "a-b"), "mcp__git_hub__a_b"));
    ck_assert(is_hashed(mp_names_of(names, "git_hub", "a.b"), "mcp__git_hub__a_b"));
    ck_assert(is_hashed(mp_names_of(names, "git_hub", "c-d"), "mcp__git_hub__c_d"));
    ck_assert(is_hashed(mp_names_of(names, "git_hub", "c.d"), "mcp__git_hub__c_d"));
    snprintf(was, sizeof was, "%s", mp_names_of(names, "git_hub", "a-b"));
    end();

    begin(false); /* somebody is really called like that */
    tools("git_hub", LIST("a-b", "a_b", was + strlen("mcp__git_hub__")));
    is_named("git_hub", was + strlen("mcp__git_hub__"), was);
    ck_assert_str_ne(mp_names_of(names, "git_hub", "a-b"), was);
    ck_assert(is_hashed(mp_names_of(names, "git_hub", "a-b"), "mcp__git_hub__a_b"));
    end();
}
END_TEST

START_TEST(names_that_are_too_long_are_cut_and_get_a_hash)
{
    char server[201], tool[201], want[201];
    memset(server, 's', 200);
    memset(tool, '-', 200);
    server[200] = tool[200] = '\0';

    begin(false); /* exactly as long as may be, and one more */
    tools("a", LIST(tool + 200 - 56, tool + 200 - 57, tool));
    strcpy(want, "mcp__a__");
    memset(want + 8, '_', 56);
    want[64] = '\0';
    is_named("a", tool + 200 - 56, want);
    want[MP_TOOL_NAME_MAX - 9] = '\0';
    ck_assert(is_hashed(mp_names_of(names, "a", tool + 200 - 57), want));
    ck_assert(is_hashed(mp_names_of(names, "a", tool), want));
    end();

    begin(false);
    servers(LIST(server + 200 - 47, server + 200 - 48, server));
    ck_assert_str_eq(mp_names_namespace(names, server + 200 - 47), server + 200 - 47);
    ck_assert(is_hashed(mp_names_namespace(names, server + 200 - 48),
                        server + 200 - 23)); /* short, so that tools can be read */
    ck_assert(is_hashed(mp_names_namespace(names, server), server + 200 - 23));
    tools(server + 200 - 47, LIST("0123456789", "0123456789-"));
    snprintf(want, sizeof want, "mcp__%s__0123456789", server + 200 - 47);
    is_named(server + 200 - 47, "0123456789", want);
    want[MP_TOOL_NAME_MAX - 9] = '\0';
    ck_assert(is_hashed(mp_names_of(names, server + 200 - 47, "0123456789-"), want));
    end();

    begin(false); /* no __ where it was cut */
    snprintf(want, sizeof want, "%s", server + 200 - 22);
    server[22] = '-';
    servers(LIST(server));
    ck_assert(is_hashed(mp_names_namespace(names, server), want));
    end();
}
END_TEST

/* ---- at random ---- */

#define SERVERS 7
#define TOOLS 24

struct world {
    char servers[SERVERS][256], tools[SERVERS][TOOLS][256];
    size_t n_servers, n_tools[SERVERS];
};

static struct world w;
static unsigned seed, first_seed;

#define FITS(condition, ...)                                                             \
    HOLDS(condition, "%s, seed %u: \"%s\" \"%s\"", #condition, first_seed, __VA_ARGS__)

static unsigned chance(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

/* Something that nobody would call a tool; often much like another. */
static void invent(char *out)
{
    static const char *const bits[] = {"a",        "b", "A",  "_", "-",    ".",
                                       "\xc3\xa9", " ", "__", "/", "\xff", "9"};
    static const char *const known[] = {
        "",    "a",   "b__c", "a__b", "c",  "mcp",   "mcp_", "x",  "__", "a_b",
        "a-b", "a.b", "a b",  "_a",   "a_", "mcp__", "x__x", "\n", "A_b"};
    static const unsigned lengths[] = {24, 32, 45, 46, 47, 48, 55, 56, 57, 64, 200};
    out[0] = '\0';
    if (chance(3) == 0) {
        strcpy(out, known[chance(MP_COUNT(known))]);
        return;
    }
    if (chance(4) == 0) { /* a long one, with its own at the end */
        unsigned n = lengths[chance(MP_COUNT(lengths))] - chance(3);
        memset(out, "ab-"[chance(3)], n);
        out[n] = '\0';
        if (chance(2))
            out[chance(n)] = '-';
    }
    for (unsigned i = chance(4); i; i--)
        strcat(out, bits[chance(MP_COUNT(bits))]);
}

/* Some names of a world before: somebody may be called like a name with a hash. */
static void invent_alike(char *out)
{
    size_t s = chance(SERVERS);
    const char *name = NULL;
    if (names && s < w.n_servers && w.n_tools[s])
        name =
            mp_names_of(names, w.servers[s], w.tools[s][chance((unsigned)w.n_tools[s])]);
    if (name)
        snprintf(out, 256, "%s",
                 chance(2) ? strstr(name + prefix, "__") + 2
                           : mp_names_namespace(names, w.servers[s]));
    else
        invent(out);
}

static void add_word(char (*list)[256], size_t *n, const char *word)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(list[i], word) == 0)
            return;
    strcpy(list[(*n)++], word);
}

static void more_words(char (*list)[256], size_t *n, size_t most)
{
    for (unsigned i = chance((unsigned)most) + 1; i && *n < most; i--) {
        char word[256];
        (chance(4) ? invent : invent_alike)(word);
        add_word(list, n, word);
    }
}

static void shuffle(size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = chance((unsigned)i + 1);
        order[i] = order[k];
        order[k] = i;
    }
}

/* The tools of server `s`, in any order, some of them twice. */
static void announce(struct mp_names *set, size_t s)
{
    const char *list[TOOLS + 4];
    size_t order[TOOLS], n = w.n_tools[s];
    shuffle(order, n);
    for (size_t i = 0; i < n; i++)
        list[i] = w.tools[s][order[i]];
    while (n && n < TOOLS + 3 && chance(3) == 0)
        list[n++] = w.tools[s][chance((unsigned)w.n_tools[s])];
    list[n] = NULL;
    FITS(mp_names_tools(set, w.servers[s], list) == MCPLUG_OK, w.servers[s], "");
}

static struct mp_names *build(bool plain)
{
    struct mp_names *set = mp_names_new(plain);
    size_t order[SERVERS];
    shuffle(order, w.n_servers);
    for (size_t i = 0; i < w.n_servers; i++)
        FITS(mp_names_server(set, w.servers[order[i]]) == MCPLUG_OK, "", "");
    shuffle(order, w.n_servers);
    for (size_t i = 0; i < w.n_servers; i++)
        announce(set, order[i]);
    return set;
}

static void check_one(const struct mp_names *set, const char *server, const char *tool)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *name = mp_names_of(set, server, tool), *s, *t;
    FITS(name && name[0] && strlen(name) <= MP_TOOL_NAME_MAX, server, tool);
    FITS(strspn(name, letters) == strlen(name), server, tool);
    /* so it is nobody else's */
    FITS(mp_names_resolve(set, name, &s, &t), server, tool);
    FITS(strcmp(s, server) == 0 && strcmp(t, tool) == 0, server, tool);
}

static void check_world(const struct mp_names *set, const struct mp_names *other)
{
    for (size_t s = 0; s < w.n_servers; s++) {
        const char *server = w.servers[s], *space = mp_names_namespace(set, server);
        FITS(space[0] && !strstr(space, "__") && space[strlen(space) - 1] != '_', server,
             space);
        FITS(strcmp(space, mp_names_namespace(other, server)) == 0, server, space);
        for (size_t i = 0; i < s; i++)
            FITS(strcmp(space, mp_names_namespace(set, w.servers[i])) != 0, server,
                 space);
        for (size_t i = 0; i < w.n_tools[s]; i++) {
            const char *tool = w.tools[s][i];
            check_one(set, server, tool);
            FITS(strcmp(mp_names_of(set, server, tool),
                        mp_names_of(other, server, tool)) == 0,
                 server, tool);
        }
    }
}

static void new_world(void)
{
    struct world made = {.n_servers = 0};
    more_words(made.servers, &made.n_servers, SERVERS);
    for (size_t s = 0; s < made.n_servers; s++)
        more_words(made.tools[s], &made.n_tools[s], TOOLS);
    w = made;
}

START_TEST(names_are_unique_stable_and_at_most_64_characters)
{
    for (unsigned i = 1; i <= fewer(500); i++) {
        first_seed = seed = i == 500 ? (unsigned)time(NULL) : i;
        bool plain = chance(2);
        w.n_servers = 0;
        begin(plain);
        for (int round = 0; round < 3; round++) {
            new_world();
            struct mp_names *set = build(plain), *other = build(plain);
            check_world(set, other);
            mp_names_free(other);
            mp_names_free(names);
            names = set;
        }
        end();
    }
}
END_TEST

/* ---- what was given stays ---- */

START_TEST(a_name_that_was_given_is_never_given_to_another_tool)
{
    const char *s, *t;
    begin(false);
    servers(LIST("git-hub", "b-c"));
    tools("git-hub", LIST("a-b", "old"));
    tools("b-c", NULL);
    ck_assert_str_eq(mp_names_namespace(names, "b-c"), "b_c");
    is_named("git-hub", "a-b", "mcp__git_hub__a_b");
    servers(LIST("git_hub", "b_c")); /* they would have the names, were they not given */
    ck_assert_str_eq(mp_names_namespace(names, "git-hub"), "git_hub");
    ck_assert(is_hashed(mp_names_namespace(names, "git_hub"), "git_hub"));
    ck_assert_str_eq(mp_names_namespace(names, "b_c"), "b_c"); /* no tool had one yet */
    ck_assert(is_hashed(mp_names_namespace(names, "b-c"), "b_c"));

    tools("git-hub", LIST("a_b", "a.b")); /* a-b and old have gone */
    ck_assert_ptr_null(mp_names_of(names, "git-hub", "a-b"));
    ck_assert(is_hashed(mp_names_of(names, "git-hub", "a_b"), "mcp__git_hub__a_b"));
    ck_assert(is_hashed(mp_names_of(names, "git-hub", "a.b"), "mcp__git_hub__a_b"));
    ck_assert(mp_names_resolve(names, "mcp__git_hub__a_b", &s, &t));
    ck_assert_str_eq(s, "git-hub");
    ck_assert_str_eq(t, "a-b");
    tools("git-hub", NULL);
    ck_assert_ptr_null(mp_names_of(names, "git-hub", "a_b"));
    ck_assert(mp_names_resolve(names, "mcp__git_hub__old", &s, &t));
    tools("git-hub", LIST("a-b", "a_b")); /* back again, as they were */
    is_named("git-hub", "a-b", "mcp__git_hub__a_b");
    ck_assert(is_hashed(mp_names_of(names, "git-hub", "a_b"), "mcp__git_hub__a_b"));
    end();
}
END_TEST

/* Every name there ever was, and whose. */
static struct {
    const char *name;
    char text[MP_TOOL_NAME_MAX + 1], server[256], tool[256];
} past[4000];
static size_t n_past;

static void remember(const char *server, const char *tool)
{
    const char *name = mp_names_of(names, server, tool);
    for (size_t i = 0; i < n_past; i++) {
        bool same = strcmp(past[i].text, name) == 0;
        FITS(same == (!strcmp(past[i].server, server) && !strcmp(past[i].tool, tool)),
             server, tool);
        if (same)
            return;
    }
    FITS(n_past < MP_COUNT(past), server, tool);
    past[n_past].name = name;
    strcpy(past[n_past].text, name);
    strcpy(past[n_past].server, server);
    strcpy(past[n_past++].tool, tool);
}

static void change_world(void)
{
    size_t before = w.n_servers;
    if (chance(3) == 0)
        more_words(w.servers, &w.n_servers, SERVERS);
    for (size_t s = before; s < w.n_servers; s++)
        FITS(mp_names_server(names, w.servers[s]) == MCPLUG_OK, w.servers[s], "");
    size_t s = chance((unsigned)w.n_servers);
    while (w.n_tools[s] && chance(3)) /* some go */
        w.n_tools[s]--;
    more_words(w.tools[s], &w.n_tools[s], TOOLS);
    announce(names, s);
}

START_TEST(whatever_comes_and_goes_a_name_means_the_same_tool)
{
    for (unsigned i = 1; i <= fewer(25); i++) {
        first_seed = seed = i == 25 ? (unsigned)time(NULL) : i;
        memset(&w, 0, sizeof w);
        n_past = 0;
        begin(chance(2));
        more_words(w.servers, &w.n_servers, 1);
        for (int k = 0; k < 60; k++) {
            change_world();
            for (size_t s = 0; s < w.n_servers; s++)
                for (size_t t = 0; t < w.n_tools[s]; t++)
                    if (mp_names_of(names, w.servers[s], w.tools[s][t])) {
                        check_one(names, w.servers[s], w.tools[s][t]);
                        remember(w.servers[s], w.tools[s][t]);
                    }
        }
        for (size_t k = 0; k < n_past; k++) {
            const char *s, *t;
            FITS(strcmp(past[k].name, past[k].text) == 0, past[k].server, past[k].tool);
            FITS(mp_names_resolve(names, past[k].text, &s, &t), past[k].text, "");
            FITS(strcmp(s, past[k].server) == 0 && strcmp(t, past[k].tool) == 0, s, t);
        }
        end();
    }
}
END_TEST

/* ---- hostile ---- */

START_TEST(what_is_no_name_is_not_found)
{
    static const char *const wrong[] = {
        "",         "mcp__",      "mcp__a",     "mcp__a__", "a__b",      "mcp__a__bb",
        "mcp__b_b", "mcp__aa__b", "mcp_a__b",   "__",       "mcp__a_b",  "MCP__a__b",
        "mcp____b", "mcp__a___b", "mcp__a__b ", "a",        "mcp__a__B", "mcp__b__b"};
    char name[1000];
    const char *s = "kept", *t = s;
    begin(false);
    ck_assert(!mp_names_resolve(names, "mcp__a__b", &s, &t));
    servers(LIST("a", "b"));
    tools("a", LIST("b"));
    for (size_t i = 0; i < MP_COUNT(wrong); i++)
        ck_assert_msg(!mp_names_resolve(names, wrong[i], &s, &t), "%s", wrong[i]);
    snprintf(name, sizeof name, "mcp__%0900d__b", 0);
    ck_assert(!mp_names_resolve(names, name, &s, &t));
    ck_assert(s == t && strcmp(s, "kept") == 0);
    ck_assert(mp_names_resolve(names, "mcp__a__b", &s, &t));
    end();
    mp_names_free(NULL);
}
END_TEST

START_TEST(two_with_the_same_hash_are_told_apart)
{
    static const char one[] = "-....----...-....---", two[] = ".-.-.-....-.-....---";
    static const char same[] = "mcp__s_______________________4e37266d";
    char other[2][MP_TOOL_NAME_MAX + 1];
    for (int i = 0; i < 2; i++) {
        begin(false);
        tools("s", i ? LIST(one, two) : LIST(two, one));
        is_named("s", one, same); /* the first by its name, not in the list */
        snprintf(other[i], sizeof other[i], "%s", mp_names_of(names, "s", two));
        is_named("s", two, other[i]);
        end();
    }
    ck_assert_str_ne(other[0], same);
    ck_assert_str_eq(other[0], other[1]);
}
END_TEST

/* `n` tools, all different and hard to tell apart; each `len` long. */
static char **crowd(size_t n, size_t len, unsigned from)
{
    char **list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        list[i] = malloc(len + 1);
        memset(list[i], '-', len);
        for (unsigned k = 0, v = from + (unsigned)i; k < 20; k++, v >>= 1)
            list[i][len - 1 - k] = v & 1 ? '.' : '-';
        list[i][len] = '\0';
    }
    return list;
}

static void crowd_free(char **list)
{
    for (size_t i = 0; list[i]; i++)
        free(list[i]);
    free(list);
}

START_TEST(a_server_cannot_have_had_more_than_the_limits)
{
    char **list = crowd(10000, 20, 0),
         **last = crowd(MP_NAMES_TOOLS - 60000 + 1, 20, 60000);
    char **large = crowd(3, MP_NAMES_BYTES / 2, 0);
    begin(false);
    for (unsigned i = 0; i < 6; i++) {
        tools("s", (const char *const *)list);
        crowd_free(list);
        list = crowd(10000, 20, 10000 * (i + 1));
    }
    const char *const *more = (const char *const *)last;
    ck_assert_int_eq(mp_names_tools(names, "s", more), MCPLUG_ETOOBIG);
    ck_assert_ptr_null(mp_names_of(names, "s", last[0])); /* none of them */
    tools("s", more + 1);
    ck_assert_ptr_nonnull(mp_names_of(names, "s", last[1]));
    ck_assert_int_eq(mp_names_tools(names, "s", LIST("one")), MCPLUG_ETOOBIG);
    tools("s", LIST(last[1])); /* what is known may come and go */

    ck_assert_int_eq(mp_names_tools(names, "l", LIST(large[0], large[1], "x")),
                     MCPLUG_ETOOBIG);
    tools("l", LIST(large[0], large[1]));
    ck_assert_int_eq(mp_names_tools(names, "l", LIST("x")), MCPLUG_ETOOBIG);
    ck_assert_ptr_nonnull(mp_names_of(names, "l", large[1]));
    end();
    crowd_free(list);
    crowd_free(last);
    crowd_free(large);
}
END_TEST

/* ---- no memory ---- */

static void with_little_memory(void)
{
    static const char *const first[] = {"a-b", "a.b", "c", NULL};
    static const char *const second[] = {"a_b", "a-b", "d", NULL};
    const char *s, *t;

    if (!(names = mp_names_new(false)))
        return;
    int a = mp_names_server(names, "s-1"), b = mp_names_server(names, "s.1");
    HOLDS(!a == !!mp_names_namespace(names, "s-1"), "half a server %s", when());
    HOLDS(!b == !!mp_names_namespace(names, "s.1"), "half a server %s", when());
    int r = mp_names_tools(names, "s-1", first);
    HOLDS(r == MCPLUG_OK || r == MCPLUG_ENOMEM, "%d %s", r, when());
    for (int i = 0; first[i]; i++)
        HOLDS(!r == !!mp_names_of(names, "s-1", first[i]), "half of them %s", when());
    int again = mp_names_tools(names, "s-1", second);
    if (again == MCPLUG_OK)
        for (int i = 0; second[i]; i++)
            HOLDS(mp_names_of(names, "s-1", second[i]), "half of them %s", when());
    else if (r == MCPLUG_OK)
        for (int i = 0; first[i]; i++)
            HOLDS(
                mp_names_of(names, "s-1", first[i]) &&
                    mp_names_resolve(names, mp_names_of(names, "s-1", first[i]), &s, &t),
                "not as before %s", when());
    end();
}

START_TEST(without_memory_all_is_as_before)
{
    torture(NULL, with_little_memory, NULL);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, ordinary_names_are_what_the_command_accepts);
    tcase_add_test(t, the_first_two_bars_end_the_server);
    tcase_add_test(t, where_two_would_be_the_same_the_exact_one_keeps_the_name);
    tcase_add_test(t, names_that_are_too_long_are_cut_and_get_a_hash);
    tcase_add_test(t, names_are_unique_stable_and_at_most_64_characters);
    tcase_add_test(t, a_name_that_was_given_is_never_given_to_another_tool);
    tcase_add_test(t, whatever_comes_and_goes_a_name_means_the_same_tool);
    tcase_add_test(t, what_is_no_name_is_not_found);
    tcase_add_test(t, a_server_cannot_have_had_more_than_the_limits);
    tcase_add_test(t, two_with_the_same_hash_are_told_apart);
    tcase_add_test(t, without_memory_all_is_as_before);
}

int main(void)
{
    return run_suite("registry_names", add);
}
