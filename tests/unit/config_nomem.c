/* The configuration while memory fails: once, or from one moment on. Whatever could not
 * be had, nothing becomes usable that would not be with memory. */
#include "nomem_kit.h"

#include "config/supervision.h"
#include "quick.h"

#include "base/error.h"
#include "plugin/props.h"

/* ---- a world in which much is forbidden ---- */

static const char user_file[] =
    "{'mcpServers':{"
    "'plain':{'command':'${A}','args':['a','${UNSET_ONE}','${UNSET_TWO}'],"
    " 'env':{'K':'${file:~/key}'},'cwd':'sub','timeouts':{'connect':'5s','tool':7}},"
    "'remote':{'type':'streamable-http','url':'https://${A}.net/','headers':{'X':'y'}},"
    "'denied':{'command':'${EVIL}'},"
    "'denied-args':{'command':'x','args':['1','2','${EVIL}']},"
    "'denied-url':{'url':'https://evil.net/x'},"
    "'denied-path':{'type':'unix','path':'/evil'},"
    "'denied-host':{'type':'tcp','host':'evil','port':7},"
    "'off':{'command':'x','disabled':true},"
    "'off-denied':{'command':'evil','disabled':true},"
    "'nul':{'command':'x','args':['a\\u0000b']},"
    "'no-name':{'command':'x','env':{'A=B':'c'}},"
    "'empty-name':{'url':'http://h','headers':{'':'c'}},"
    "'probe':{'command':'x','healthProbe':'pong'},"
    "'times':{'command':'x','timeouts':{'tool':'soon'}},"
    "'odd name':{'command':'x'},"
    "'kept-off':{'command':'x','disabled':true},"
    "'local-off':{'command':'x'},"
    "'shadow':{'command':'x'},"
    "'shadow-above':{'command':'x'}}}";

static const char project_file[] =
    "{'mcpServers':{"
    "'foreign':{'command':'x'},"
    "'foreign-denied':{'command':'evil'},"
    "'foreign-args':{'command':'x','args':['1','2','evil']},"
    "'foreign-url':{'url':'https://evil.net/'},"
    "'foreign-path':{'type':'unix','path':'/evil'},"
    "'approved':{'command':'x','cwd':'sub'},"
    "'approved-denied':{'command':'${EVIL}'},"
    "'changed':{'command':'x'},"
    "'shadow':{'command':'y'}}}";

#define LOCAL_TEXT                                                                       \
    "{'mcpServers':{'local-off':{'command':'x','disabled':true},"                        \
    "'local':{'command':'x'}}}\n"

static void give_world(void)
{
    setenv("A", "alpha", 1);
    setenv("EVIL", "evil", 1);
    give("home/key", "k");
    give(PROJECT, "{'mcpServers':{'changed':{'command':'old'}}}");
    load();
    ck_assert_int_eq(mcplug_entry_approve(entry("changed"), &err), MCPLUG_OK);
    give(PROJECT, project_file);
    load();
    ck_assert_int_eq(mcplug_entry_approve(entry("approved"), &err), MCPLUG_OK);
    ck_assert_int_eq(mcplug_entry_approve(entry("approved-denied"), &err), MCPLUG_OK);
    give(ABOVE, "{'mcpServers':{'shadow-above':{'command':'y'}}}");
    give(LOCAL, LOCAL_TEXT);
    give(USER, user_file);
    give("servers.d/a.json", "{'mcpServers':{'kept-off':{'command':'x'},'pkg':"
                             "{'command':'x'}}}");
    give(POLICY,
         "{'deny':[{'command':['evil']},{'command':['x','1','2','evil']},"
         "{'url':'https://evil.net'},{'url':'unix:/evil'},{'url':'tcp:evil:7'}]}");
}

static const struct mcplug_option options[] = {
    {"command", "string", "", ""}, {"args", "list", NULL, ""},
    {"env", "map", NULL, ""},      {"cwd", "string", "", ""},
    {"url", "string", "", ""},     {"headers", "map", NULL, ""},
    {"path", "string", "", ""},    {"host", "string", "", ""},
    {"port", "int", "", ""},       {NULL, NULL, NULL, NULL},
};

/* What everything is with memory. */
static struct known {
    char name[MCPLUG_NAME_MAX + 1];
    char *path;
    enum mcplug_entry_state state;
    uint64_t settings;
    char *type, *missing;
    uint32_t connect_ms;
    uint64_t tool_ms;
} known[64];
static size_t n_known;

static void learn(void)
{
    give_world();
    load();
    for (size_t i = 0; i < config->n_entries; i++) {
        const struct mp_entry *e = &config->entries[i];
        struct known *k = &known[n_known];
        struct mp_resolved r = {0};
        struct mp_supervision u = {0};
        if (e->by)
            continue;
        n_known++;
        snprintf(k->name, sizeof k->name, "%s", e->name);
        k->path = strdup(e->source->path);
        k->state = state_of(e->name);
        if (k->state == MCPLUG_ENTRY_READY) {
            ck_assert_int_eq(resolve_entry(e, options, NULL, &r, &err), MCPLUG_OK);
            k->settings = mp_props_hash(r.props);
            k->type = mp_move(&r.type);
            k->missing = mp_move(&r.missing);
            ck_assert_int_eq(mp_entry_supervision(e, &u, &err), MCPLUG_OK);
            k->connect_ms = u.timeouts.connect_ms;
            k->tool_ms = u.timeouts.tool_ms;
            mp_supervision_clear(&u);
        }
        mp_resolved_clear(&r);
    }
    mcplug_config_free(config);
    config = NULL;
}

static void unlearn(void)
{
    for (size_t i = 0; i < n_known; i++) {
        free(known[i].path);
        free(known[i].type);
        free(known[i].missing);
    }
}

static const struct known *find(const char *name)
{
    for (size_t i = 0; i < n_known; i++)
        if (strcmp(known[i].name, name) == 0)
            return &known[i];
    return NULL;
}

START_TEST(the_world_is_as_it_should_be)
{
    static const struct {
        const char *name;
        enum mcplug_entry_state state;
    } rows[] = {
        {"plain", MCPLUG_ENTRY_READY},
        {"remote", MCPLUG_ENTRY_READY},
        {"denied", MCPLUG_ENTRY_BLOCKED},
        {"denied-args", MCPLUG_ENTRY_BLOCKED},
        {"denied-url", MCPLUG_ENTRY_BLOCKED},
        {"denied-path", MCPLUG_ENTRY_BLOCKED},
        {"denied-host", MCPLUG_ENTRY_BLOCKED},
        {"off", MCPLUG_ENTRY_DISABLED},
        {"off-denied", MCPLUG_ENTRY_BLOCKED},
        {"nul", MCPLUG_ENTRY_BROKEN},
        {"no-name", MCPLUG_ENTRY_BROKEN},
        {"empty-name", MCPLUG_ENTRY_BROKEN},
        {"probe", MCPLUG_ENTRY_BROKEN},
        {"times", MCPLUG_ENTRY_BROKEN},
        {"odd name", MCPLUG_ENTRY_BROKEN},
        {"kept-off", MCPLUG_ENTRY_DISABLED},
        {"local-off", MCPLUG_ENTRY_DISABLED},
        {"shadow", MCPLUG_ENTRY_NEEDS_APPROVAL},
        {"foreign", MCPLUG_ENTRY_NEEDS_APPROVAL},
        {"foreign-denied", MCPLUG_ENTRY_BLOCKED},
        {"foreign-args", MCPLUG_ENTRY_BLOCKED},
        {"foreign-url", MCPLUG_ENTRY_BLOCKED},
        {"foreign-path", MCPLUG_ENTRY_BLOCKED},
        {"approved", MCPLUG_ENTRY_READY},
        {"approved-denied", MCPLUG_ENTRY_BLOCKED},
        {"changed", MCPLUG_ENTRY_NEEDS_APPROVAL},
        {"shadow-above", MCPLUG_ENTRY_NEEDS_APPROVAL},
        {"local", MCPLUG_ENTRY_NEEDS_APPROVAL},
        {"pkg", MCPLUG_ENTRY_READY},
    };
    learn();
    ck_assert_uint_eq(n_known, MP_COUNT(rows));
    for (size_t i = 0; i < MP_COUNT(rows); i++)
        ck_assert_msg(find(rows[i].name) && find(rows[i].name)->state == rows[i].state,
                      "%s", rows[i].name);
    ck_assert_str_eq(find("plain")->missing, "UNSET_ONE, UNSET_TWO");
    unlearn();
}
END_TEST

/* ---- loading and using ---- */

static struct mcplug_config *load_short(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mcplug_config *c = mcplug_config_load(NULL, &why);
    if (!c)
        HOLDS(why.code == MCPLUG_ENOMEM, "%d: %s", why.code, why.text);
    return c;
}

/* A state in the middle of a failure, for everything in it. */
static void look_short(void (*see)(const struct mcplug_config *c,
                                   const struct mp_entry *e,
                                   enum mcplug_entry_state state))
{
    struct mcplug_config *c = load_short();
    for (size_t i = 0; c && i < c->n_entries; i++) {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        if (c->entries[i].by)
            continue;
        enum mcplug_entry_state state = mcplug_entry_state(&c->entries[i], &why);
        HOLDS((state == MCPLUG_ENTRY_READY) == (why.text[0] == '\0'), "%s",
              c->entries[i].name);
        see(c, &c->entries[i], state);
    }
    mcplug_config_free(c);
}

static void see_if_usable(const struct mcplug_config *c, const struct mp_entry *e,
                          enum mcplug_entry_state state)
{
    const struct known *k = find(e->name);
    (void)c;
    HOLDS(k != NULL, "%s: %s came up", when(), e->name);
    if (strcmp(e->source->path, k->path) == 0) /* which one wins is another test */
        HOLDS(state != MCPLUG_ENTRY_READY || k->state == MCPLUG_ENTRY_READY,
              "%s: %s is usable", when(), e->name);
}

static void use_all(void)
{
    look_short(see_if_usable);
}

START_TEST(nothing_becomes_usable_for_want_of_memory)
{
    learn();
    torture(NULL, use_all, NULL);
    unlearn();
}
END_TEST

static void see_if_hidden(const struct mcplug_config *c, const struct mp_entry *e,
                          enum mcplug_entry_state state)
{
    const struct known *k = find(e->name);
    (void)c;
    HOLDS(k && (state != MCPLUG_ENTRY_READY || strcmp(e->source->path, k->path) == 0),
          "%s: %s is that of %s", when(), e->name, e->source->path);
}

static void find_all(void)
{
    look_short(see_if_hidden);
}

START_TEST(no_server_takes_the_place_of_one_that_could_not_be_read)
{
    learn();
    torture(NULL, find_all, NULL);
    unlearn();
}
END_TEST

static void see_if_judged(const struct mcplug_config *c, const struct mp_entry *e,
                          enum mcplug_entry_state state)
{
    const struct known *k = find(e->name);
    (void)c;
    if (!k || k->state != MCPLUG_ENTRY_BLOCKED || strcmp(e->source->path, k->path) != 0)
        return;
    if (state == MCPLUG_ENTRY_NEEDS_APPROVAL && e->approval != MCPLUG_APPROVAL_GIVEN)
        return; /* it is judged again once it is approved */
    HOLDS(state == MCPLUG_ENTRY_BLOCKED || state == MCPLUG_ENTRY_BROKEN,
          "%s: %s is not blocked (%d)", when(), e->name, state);
}

static void judge_all(void)
{
    look_short(see_if_judged);
}

START_TEST(the_policy_is_never_skipped)
{
    learn();
    torture(NULL, judge_all, NULL);
    unlearn();
}
END_TEST

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void see_if_same(const struct mcplug_config *c, const struct mp_entry *e,
                        enum mcplug_entry_state state)
{
    const struct known *k = find(e->name);
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_resolved r = {0};
    struct mp_supervision u = {0};

    (void)c;
    if (state != MCPLUG_ENTRY_READY || !k || k->state != MCPLUG_ENTRY_READY)
        return;
    if (resolve_entry(e, options, NULL, &r, &why) == MCPLUG_OK) {
        HOLDS(same(r.type, k->type), "%s: %s has type %s", when(), e->name, r.type);
        HOLDS(mp_props_hash(r.props) == k->settings, "%s: %s has other settings", when(),
              e->name);
        HOLDS(same(r.missing, k->missing), "%s: %s misses %s", when(), e->name,
              r.missing ? r.missing : "nothing");
        if (mp_entry_supervision(e, &u, &why) == MCPLUG_OK)
            HOLDS(u.timeouts.connect_ms == k->connect_ms &&
                      u.timeouts.tool_ms == k->tool_ms,
                  "%s: %s has other times", when(), e->name);
        mp_supervision_clear(&u);
    } else {
        HOLDS(why.code != MCPLUG_OK && why.text[0], "%s", e->name);
    }
    mp_resolved_clear(&r);
}

static void resolve_all(void)
{
    look_short(see_if_same);
}

START_TEST(what_is_resolved_is_whole_or_an_error)
{
    learn();
    torture(NULL, resolve_all, NULL);
    unlearn();
}
END_TEST

static const struct mcplug_option few[] = {{"command", "string", NULL, ""},
                                           {"count", "int", "1", ""},
                                           {"word", "string", NULL, ""},
                                           {NULL, NULL, NULL, NULL}};

static void check_short(void)
{
    struct mcplug_config *c = load_short();
    for (size_t i = 0; c && i < c->n_entries; i++) {
        struct mcplug_error why = MCPLUG_ERROR_INIT;
        mp_entry_check(&c->entries[i], "x", few);
        /* noted or not: it is broken, or the configuration says that it is not whole */
        HOLDS(mcplug_entry_state(&c->entries[i], &why) != MCPLUG_ENTRY_READY ||
                  c->incomplete,
              "%s: %s is usable", when(), c->entries[i].name);
    }
    mcplug_config_free(c);
}

START_TEST(what_is_wrong_stays_wrong)
{
    give(USER, "{'mcpServers':{'typo':{'command':'x','comand':'y','word':'z'},"
               "'type':{'command':'x','count':'many','word':'z'},"
               "'missing':{'command':'x'}}}");
    torture(NULL, check_short, NULL);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, world, unload);
    tcase_add_test(t, the_world_is_as_it_should_be);
    tcase_add_test(t, nothing_becomes_usable_for_want_of_memory);
    tcase_add_test(t, no_server_takes_the_place_of_one_that_could_not_be_read);
    tcase_add_test(t, the_policy_is_never_skipped);
    tcase_add_test(t, what_is_resolved_is_whole_or_an_error);
    tcase_add_test(t, what_is_wrong_stays_wrong);
}

int main(void)
{
    return run_suite("config_nomem", add);
}
