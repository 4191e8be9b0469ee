/* The catalogue of what servers offered last, as files. */
#include "nomem_kit.h"

#include "registry/tool_cache.h"
#include "session/session.h"

#include <time.h>

/* ---- in place of core/session/lists.c ---- */

struct mcplug_list {
    const char *items[4];
    size_t n;
    size_t many; /* the first one that often, with numbers for %d */
};

static char item_text[4096];

size_t mcplug_list_count(const mcplug_list *list)
{
    return list->many ? list->many : list->n;
}

const char *mcplug_list_item(const mcplug_list *list, size_t i, size_t *len)
{
    const char *text = list->items[list->many ? 0 : i], *digits = strstr(text, "%d");
    if (list->many && digits)
        *len = (size_t)snprintf(item_text, sizeof item_text, "%.*s%05zu%s",
                                (int)(digits - text), text, i, digits + 2);
    else
        *len = strlen(text);
    return list->many && digits ? item_text : text;
}

/* ---- kit ---- */

#define A "{\"name\":\"a\",\"description\":\"first\"}"
#define B "{\"name\":\"b\"}"
#define DAY (24 * 3600)

static const mcplug_list two = {.items = {A, B}, .n = 2}, one = {.items = {B}, .n = 1};
static struct mp_tool_cache known;
static char known_path[512];

static void start(void)
{
    world();
    give(USER, "{'mcpServers':{'s':{'command':'x'},'t':{'command':'y'}}}");
    load();
}

static void end(void)
{
    mp_tool_cache_clear(&known);
    unload();
}

/* One list; NULL: an empty one. */
static int save_list(const struct mp_paths *paths, const struct mp_entry *e,
                     const struct mp_identity *id, enum mcplug_kind kind,
                     const mcplug_list *list, int64_t ttl, struct mcplug_error *why)
{
    static const mcplug_list empty;
    mcplug_list *lists[MP_KINDS] = {NULL};
    int64_t ttls[MP_KINDS] = {0};
    char *path = mp_tool_cache_path(paths, e);

    for (int i = 0; i < MP_KINDS; i++)
        if ((int)kind == 1 << i) {
            lists[i] = (mcplug_list *)(list ? list : &empty);
            ttls[i] = ttl;
        }
    int r = mp_tool_cache_save(path, id, lists, ttls, why);
    mp_free(path);
    return r;
}

static void save(const char *name, enum mcplug_kind kind, const mcplug_list *list,
                 int64_t ttl)
{
    save_list(&config->paths, entry(name), NULL, kind, list, ttl, &err);
}

static void save_server(const struct mp_identity *server)
{
    static mcplug_list *const none[MP_KINDS];
    static const int64_t no_ttls[MP_KINDS];
    char *path = mp_tool_cache_path(&config->paths, entry("s"));
    mp_tool_cache_save(path, server, none, no_ttls, &err);
    mp_free(path);
}

static bool reload(const char *name)
{
    mp_tool_cache_clear(&known);
    return mp_tool_cache_load(&config->paths, entry(name), &known);
}

static size_t n_items(enum mcplug_kind kind)
{
    return mp_view_count(mp_tool_cache_items(&known, kind));
}

/* The only file there is, below the test's directory. */
static const char *file(void)
{
    DIR *dir = opendir(at("home/.cache/mcplug/known"));
    ck_assert_ptr_nonnull(dir);
    known_path[0] = '\0';
    for (struct dirent *e; (e = readdir(dir));)
        if (strstr(e->d_name, ".json"))
            snprintf(known_path, sizeof known_path, "home/.cache/mcplug/known/%.255s",
                     e->d_name);
    closedir(dir);
    ck_assert(known_path[0]);
    return known_path;
}

/* Everything in it is that much older. */
static void age(int64_t seconds)
{
    struct mp_file f;
    static char text[MP_FILE_MAX];
    size_t len = 0;

    ck_assert_int_eq(mp_file_read(at(file()), &f, &err), MCPLUG_OK);
    for (char *p = f.text.data, *next; *p; p = next) {
        char *found = strstr(p, "{\"at\":");
        next = found ? found + 6 : p + strlen(p);
        len +=
            (size_t)snprintf(text + len, sizeof text - len, "%.*s", (int)(next - p), p);
        if (found)
            len += (size_t)snprintf(text + len, sizeof text - len, "%lld",
                                    strtoll(next, &next, 10) - (long long)seconds);
    }
    mp_file_clear(&f);
    put(file(), text, 0600);
}

/* ---- what is kept ---- */

START_TEST(what_was_saved_is_there_again)
{
    ck_assert(!reload("s"));
    ck_assert_uint_eq(mp_tool_cache_items(&known, MCPLUG_TOOLS).len, 0);
    int64_t before = time(NULL);
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    ck_assert(reload("s"));
    mp_view items = mp_tool_cache_items(&known, MCPLUG_TOOLS);
    ck_assert_uint_eq(items.len, strlen("[" A "," B "]"));
    ck_assert(memcmp(items.data, "[" A "," B "]", items.len) == 0);
    ck_assert(mp_tool_cache_whole(&known, MCPLUG_TOOLS));
    ck_assert_int_ge(mp_tool_cache_at(&known, MCPLUG_TOOLS), before);
    ck_assert_int_le(mp_tool_cache_at(&known, MCPLUG_TOOLS), time(NULL));
    ck_assert(mp_tool_cache_fresh(&known, MCPLUG_TOOLS, time(NULL)));
    ck_assert_int_eq(look(file()).st_mode & 0777, 0600);
    ck_assert_int_eq(look("home/.cache/mcplug/known").st_mode & 0777, 0700);

    /* of the other kinds, nothing is known */
    ck_assert_uint_eq(mp_tool_cache_items(&known, MCPLUG_PROMPTS).len, 0);
    ck_assert(!mp_tool_cache_whole(&known, MCPLUG_PROMPTS));
    ck_assert(!mp_tool_cache_fresh(&known, MCPLUG_PROMPTS, time(NULL)));
    ck_assert_int_eq(mp_tool_cache_at(&known, MCPLUG_PROMPTS), 0);
    ck_assert_uint_eq(mp_tool_cache_items(&known, (enum mcplug_kind)3).len, 0);
    ck_assert_uint_eq(mp_tool_cache_server(&known).len, 0);
    ck_assert(!reload("t"));
}
END_TEST

START_TEST(kinds_stand_beside_each_other)
{
    static const mcplug_list uris = {.items = {"{\"uri\":\"u:\"}"}, .n = 1};
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    save("s", MCPLUG_RESOURCES, &uris, 60000);
    save("s", MCPLUG_TEMPLATES, NULL, MP_TOOL_CACHE_NO_TTL);
    save("s", (enum mcplug_kind)0, &two, MP_TOOL_CACHE_NO_TTL);
    save("s", MCPLUG_TOOLS, &one, MP_TOOL_CACHE_NO_TTL);
    ck_assert(reload("s"));
    ck_assert_uint_eq(n_items(MCPLUG_TOOLS), 1);
    ck_assert_uint_eq(n_items(MCPLUG_RESOURCES), 1);
    struct mp_walk w = mp_walk_into(mp_tool_cache_items(&known, MCPLUG_RESOURCES));
    mp_view item;
    ck_assert(mp_walk_element(&w, &item));
    ck_assert(mp_view_equals(mp_view_get(item, "uri"), "u:"));
    ck_assert_uint_eq(mp_tool_cache_items(&known, MCPLUG_TEMPLATES).len, 2); /* [] */
    ck_assert(mp_tool_cache_whole(&known, MCPLUG_TEMPLATES));
}
END_TEST

START_TEST(another_definition_is_another_server)
{
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    give(USER, "{'mcpServers':{'s':{'command':'x','args':['1']}}}");
    load();
    ck_assert(!reload("s"));
    give(USER, "{'mcpServers':{'t':{'command':'x'}}}");
    load();
    ck_assert(!reload("t"));
    give(USER, "{ 'mcpServers' : { 's' : { 'command' : 'x', 'disabled' : true } } }");
    load();
    ck_assert(reload("s"));
}
END_TEST

START_TEST(what_is_forgotten_is_gone)
{
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    save("t", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    mp_tool_cache_forget(&config->paths, entry("s"));
    ck_assert(!reload("s"));
    ck_assert(reload("t"));
    mp_tool_cache_forget(&config->paths, entry("s"));
}
END_TEST

START_TEST(without_a_place_nothing_is_kept)
{
    struct mp_paths nowhere = config->paths;
    nowhere.cache = NULL;
    ck_assert(save_list(&nowhere, entry("s"), NULL, MCPLUG_TOOLS, &two, 0, &err) < 0);
    ck_assert(!mp_tool_cache_load(&nowhere, entry("s"), &known));
    mp_tool_cache_forget(&nowhere, entry("s"));
    nowhere.cache = (char *)(uintptr_t)at("project/.mcp.json/below");
    give(PROJECT, "{}");
    ck_assert(save_list(&nowhere, entry("s"), NULL, MCPLUG_TOOLS, &two, 0, &err) < 0);
    ck_assert(!mp_tool_cache_load(&nowhere, entry("s"), &known));
}
END_TEST

/* ---- for how long ---- */

static bool fresh_after(int64_t ttl, int64_t seconds)
{
    save("s", MCPLUG_TOOLS, &two, ttl);
    ck_assert(reload("s"));
    return mp_tool_cache_fresh(&known, MCPLUG_TOOLS,
                               mp_tool_cache_at(&known, MCPLUG_TOOLS) + seconds);
}

START_TEST(a_list_is_fresh_for_its_ttl_or_a_day)
{
    ck_assert(fresh_after(MP_TOOL_CACHE_NO_TTL, 0));
    ck_assert(fresh_after(MP_TOOL_CACHE_NO_TTL, DAY - 1));
    ck_assert(!fresh_after(MP_TOOL_CACHE_NO_TTL, DAY));
    ck_assert(!fresh_after(MP_TOOL_CACHE_NO_TTL, -1)); /* from the future */
    ck_assert(fresh_after(5000, 4));
    ck_assert(!fresh_after(5000, 5));
    ck_assert(!fresh_after(5999, 5)); /* a part of a second is not made a whole one */
    ck_assert(!fresh_after(999, 0));
    ck_assert(!fresh_after(0, 0));
    ck_assert(fresh_after(2 * DAY * INT64_C(1000), DAY + 1));
    ck_assert(fresh_after(INT64_MAX, 29 * DAY));
    ck_assert(!fresh_after(INT64_MAX, 30 * DAY)); /* whatever it says */
}
END_TEST

START_TEST(the_same_list_is_dated_anew_after_five_minutes_or_half_its_time)
{
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    age(300 - 60);
    ino_t first = look(file()).st_ino;
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    ck_assert_uint_eq(look(file()).st_ino, first);
    age(120);
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    ck_assert(reload("s"));
    ck_assert_int_gt(mp_tool_cache_at(&known, MCPLUG_TOOLS), time(NULL) - 60);

    save("s", MCPLUG_TOOLS, &two, 100000); /* a change */
    age(40);
    first = look(file()).st_ino;
    save("s", MCPLUG_TOOLS, &two, 100000);
    ck_assert_uint_eq(look(file()).st_ino, first);
    age(20);
    save("s", MCPLUG_TOOLS, &two, 100000);
    ck_assert(reload("s"));
    ck_assert_int_gt(mp_tool_cache_at(&known, MCPLUG_TOOLS), time(NULL) - 30);

    age(-2 * DAY); /* a clock that went back */
    ck_assert(reload("s") && !mp_tool_cache_fresh(&known, MCPLUG_TOOLS, time(NULL)));
    save("s", MCPLUG_TOOLS, &two, 100000);
    ck_assert(reload("s") && mp_tool_cache_fresh(&known, MCPLUG_TOOLS, time(NULL)));
}
END_TEST

START_TEST(a_list_that_is_never_fresh_is_not_written_each_time)
{
    save("s", MCPLUG_TOOLS, &two, 0);
    ino_t first = look(file()).st_ino;
    save("s", MCPLUG_TOOLS, &two, 0);
    ck_assert_uint_eq(look(file()).st_ino, first);
    age(100);
    save("s", MCPLUG_TOOLS, &two, 0);
    ck_assert(reload("s"));
    ck_assert_int_gt(mp_tool_cache_at(&known, MCPLUG_TOOLS), time(NULL) - 60);
}
END_TEST

/* ---- sizes ---- */

START_TEST(what_is_too_long_is_kept_in_part)
{
    static char about[1200];
    mcplug_list list = {.many = 3000};
    snprintf(about, sizeof about,
             "{\"name\":\"tool%%d\",\"description\":\"%0*d\",\"inputSchema\":"
             "{\"properties\":{\"key\":{\"type\":\"string\"}}}}",
             1000, 0);
    list.items[0] = about;
    save("s", MCPLUG_TOOLS, &list, MP_TOOL_CACHE_NO_TTL);
    ck_assert(reload("s"));
    ck_assert_uint_eq(n_items(MCPLUG_TOOLS), 3000);
    ck_assert(!mp_tool_cache_whole(&known, MCPLUG_TOOLS));
    struct mp_walk w = mp_walk_into(mp_tool_cache_items(&known, MCPLUG_TOOLS));
    mp_view item;
    ck_assert(mp_walk_element(&w, &item));
    ck_assert(mp_view_equals(mp_view_get(item, "name"), "tool00000"));
    ck_assert_uint_eq(mp_view_get(item, "description").len, 0);
    ck_assert_uint_gt(mp_view_path(item, "inputSchema/properties/key").len, 0);

    list.many = 90000; /* more names than there is room for */
    save("s", MCPLUG_TOOLS, &list, MP_TOOL_CACHE_NO_TTL);
    ck_assert(reload("s"));
    ck_assert_uint_gt(n_items(MCPLUG_TOOLS), 10000);
    ck_assert_uint_lt(n_items(MCPLUG_TOOLS), 90000);
    ck_assert(!mp_tool_cache_whole(&known, MCPLUG_TOOLS));
}
END_TEST

static struct mp_identity *server(void)
{
    static struct mp_identity s;
    memset(&s, 0, sizeof s);
    strcpy(s.revision, "2025-11-25");
    s.info = (char *)(uintptr_t) "{\"name\":\"n\",\"version\":\"1\"}";
    s.capabilities = (char *)(uintptr_t) "{\"tools\":{}}";
    return &s;
}

static char *filled(const char *head, int n, const char *tail)
{
    char *text = malloc((size_t)n + strlen(head) + strlen(tail) + 1);
    ck_assert_ptr_nonnull(text);
    sprintf(text, "%s%0*d%s", head, n, 0, tail);
    return text;
}

START_TEST(a_file_that_is_full_can_be_read_again)
{
    static const mcplug_list names = {
        .items = {"{\"name\":\"%d\",\"uri\":\"%d\",\"uriTemplate\":\"%d\"}"},
        .many = 200000};
    struct mp_identity *s = server();
    for (int kind = 1; kind <= 8; kind *= 2)
        save("s", (enum mcplug_kind)kind, &names, INT64_MAX);
    s->info = filled("{\"name\":\"", 16300, "\"}");
    s->capabilities = filled("{\"x\":\"", 8100, "\"}");
    s->instructions = filled("", 30000, "");
    save_server(s);
    free(s->info);
    free(s->capabilities);
    free(s->instructions);
    ck_assert(reload("s"));
    ck_assert_uint_le(known.file.text.len, MP_FILE_MAX);
    for (int kind = 1; kind <= 8; kind *= 2)
        ck_assert_uint_gt(n_items((enum mcplug_kind)kind), 1000);
    mp_view kept = mp_tool_cache_server(&known);
    ck_assert_uint_gt(mp_view_path(kept, "serverInfo/name").len, 16000);
    ck_assert_uint_gt(mp_view_get(kept, "instructions").len, 10000);
}
END_TEST

START_TEST(an_item_as_deep_as_can_be_hides_nothing_else)
{
    char deep[256] = "{\"name\":\"x\",\"a\":";
    mcplug_list list = {.items = {deep}, .n = 1};
    for (int i = 0; i < 62; i++)
        strcat(deep, "[");
    for (int i = 0; i < 62; i++)
        strcat(deep, "]");
    strcat(deep, "}");
    save("s", MCPLUG_PROMPTS, &two, MP_TOOL_CACHE_NO_TTL);
    save("s", MCPLUG_TOOLS, &list, MP_TOOL_CACHE_NO_TTL);
    ck_assert(reload("s"));
    ck_assert_uint_eq(n_items(MCPLUG_PROMPTS), 2);
    ck_assert_uint_eq(mp_tool_cache_items(&known, MCPLUG_TOOLS).len, 0);
}
END_TEST

/* ---- the server itself ---- */

START_TEST(who_a_server_is_is_kept_beside_its_lists)
{
    struct mp_identity *s = server();
    s->instructions = (char *)(uintptr_t) "Be \"kind\".";
    save_list(&config->paths, entry("s"), s, MCPLUG_TOOLS, &two, 1000, &err);
    ck_assert(reload("s"));
    ck_assert_uint_eq(n_items(MCPLUG_TOOLS), 2);
    mp_view kept = mp_tool_cache_server(&known);
    ck_assert(mp_view_true(mp_view_get(kept, "whole")));
    ck_assert(mp_view_equals(mp_view_get(kept, "revision"), "2025-11-25"));
    ck_assert(mp_view_equals(mp_view_path(kept, "serverInfo/name"), "n"));
    ck_assert(mp_view_is_object(mp_view_path(kept, "capabilities/tools")));
    ck_assert(mp_view_equals(mp_view_get(kept, "instructions"), "Be \"kind\"."));
    ino_t first = look(file()).st_ino;
    save_server(s);
    ck_assert_uint_eq(look(file()).st_ino, first);
    s->info = s->capabilities = s->instructions = NULL;
    save_server(s);
    ck_assert(reload("s"));
    ck_assert_uint_eq(n_items(MCPLUG_TOOLS), 2);
    kept = mp_tool_cache_server(&known);
    ck_assert(mp_view_is_object(mp_view_get(kept, "serverInfo")));
    ck_assert_uint_eq(mp_view_get(kept, "instructions").len, 0);
}
END_TEST

START_TEST(of_a_server_that_says_too_much_a_part_is_kept)
{
    struct mp_identity *s = server();
    char *text = malloc(60001);
    for (int i = 0; i < 60000; i += 3)
        memcpy(text + i, i % 2 ? "\xe2\x82\xac" : "\x01\x02\x03", 3);
    text[60000] = '\0';
    s->instructions = text;
    s->info = filled("{\"name\":\"", 17000, "\"}");
    save_server(s);
    ck_assert(reload("s"));
    mp_view kept = mp_tool_cache_server(&known);
    ck_assert(!mp_view_true(mp_view_get(kept, "whole")));
    ck_assert_uint_eq(mp_view_get(kept, "serverInfo").len, 0);
    ck_assert(mp_view_is_object(mp_view_get(kept, "capabilities")));
    char *cut = mp_view_strdup(mp_view_get(kept, "instructions"));
    ck_assert_uint_gt(strlen(cut), 1000);
    ck_assert(memcmp(cut, text, strlen(cut)) == 0); /* no half characters */
    mp_free(cut);
    free(s->info);
    free(text);
}
END_TEST

/* ---- files that are not as they should be ---- */

/* What is there is as good as none, and the next save puts a good one in its place. */
static void check_mended(const char *what)
{
    ck_assert_msg(!reload("s"), "%s", what);
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    ck_assert_msg(reload("s") && n_items(MCPLUG_TOOLS) == 2, "%s", what);
    ck_assert_msg(look(file()).st_mode == (S_IFREG | 0600), "%s", what);
    ck_assert_uint_eq(look(file()).st_uid, geteuid());
}

START_TEST(a_damaged_file_is_as_good_as_none_and_is_mended)
{
    static const char *const bad[] = {
        "",         "{",        "[]", "null", "{\"tools\":{\"at\":1,\"items\":[",
        "{} trail", "\xff\xfe", "\n"};
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    for (size_t i = 0; i < MP_COUNT(bad); i++) {
        put(file(), bad[i], 0600);
        check_mended(bad[i]);
    }
}
END_TEST

START_TEST(parts_of_another_shape_count_as_unknown)
{
    static const char *const odd[] = {
        "{}", "{\"tools\":[{\"name\":\"a\"}],\"at\":1}", /* of an earlier version */
        "{\"tools\":{\"at\":1,\"items\":{}}}",
        "{\"tools\":{\"items\":\"x\",\"whole\":true}}", "{\"tools\":7,\"server\":[]}"};
    int64_t now = time(NULL);
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    for (size_t i = 0; i < MP_COUNT(odd); i++) {
        put(file(), odd[i], 0600);
        ck_assert(reload("s"));
        ck_assert_uint_eq(mp_tool_cache_items(&known, MCPLUG_TOOLS).len, 0);
        ck_assert(!mp_tool_cache_whole(&known, MCPLUG_TOOLS));
        ck_assert(!mp_tool_cache_fresh(&known, MCPLUG_TOOLS, now));
        ck_assert_uint_eq(mp_tool_cache_server(&known).len, 0);
    }
    static const char *const dateless[] = {
        "{\"tools\":{\"items\":[]}}", "{\"tools\":{\"at\":\"1\",\"items\":[]}}",
        "{\"tools\":{\"at\":-5,\"items\":[]}}", "{\"tools\":{\"at\":1e99,\"items\":[]}}",
        "{\"tools\":{\"at\":99999999999999999999,\"items\":[]}}"};
    for (size_t i = 0; i < MP_COUNT(dateless); i++) {
        put(file(), dateless[i], 0600);
        ck_assert(reload("s"));
        ck_assert_int_eq(mp_tool_cache_at(&known, MCPLUG_TOOLS), 0);
        ck_assert(!mp_tool_cache_fresh(&known, MCPLUG_TOOLS, now));
    }
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    ck_assert(reload("s") && n_items(MCPLUG_TOOLS) == 2);
}
END_TEST

START_TEST(files_that_others_could_have_written_are_replaced)
{
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    ck_assert_int_eq(chmod(at(file()), 0620), 0);
    check_mended("the group");
    ck_assert_int_eq(chmod(at(file()), 0602), 0);
    check_mended("anybody");
    if (getuid() == 0) {
        ck_assert_int_eq(chown(at(file()), NOBODY, NOBODY), 0);
        check_mended("another owner");
    } else {
        ck_assert_int_eq(chmod(at(file()), 0200), 0);
        check_mended("nobody can read it");
    }
}
END_TEST

START_TEST(a_file_that_is_too_long_is_replaced_but_a_directory_is_not)
{
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
    char *text = filled("{\"tools\":{\"at\":1,\"items\":[\"", (int)MP_FILE_MAX, "\"]}}");
    put(file(), text, 0600);
    free(text);
    check_mended("too long");
    ck_assert_int_eq(unlink(at(file())), 0);
    ck_assert_int_eq(mkdir(at(known_path), 0700), 0);
    ck_assert(!reload("s"));
    ck_assert_int_ne(save_list(&config->paths, entry("s"), NULL, MCPLUG_TOOLS, &two,
                               MP_TOOL_CACHE_NO_TTL, &err),
                     MCPLUG_OK);
    ck_assert(S_ISDIR(look(known_path).st_mode));
}
END_TEST

START_TEST(a_link_is_replaced_and_not_what_it_leads_to)
{
    static const char *const to[] = {"/dev/zero", "nowhere", "s", "../../../precious"};
    for (size_t i = 0; i < MP_COUNT(to); i++) {
        save("s", MCPLUG_TOOLS, &one, MP_TOOL_CACHE_NO_TTL);
        ck_assert_int_eq(rename(at(file()), at("home/precious")), 0);
        ck_assert_int_eq(symlink(to[i], at(known_path)), 0);
        ino_t first = look("home/precious").st_ino;
        check_mended(to[i]);
        ck_assert_uint_eq(look("home/precious").st_ino, first);
        ck_assert_uint_eq(count("home/.cache/mcplug/known"), 1);
    }
}
END_TEST

/* ---- no memory ---- */

static void save_some(void)
{
    struct mp_identity *s = server();
    s->instructions = (char *)(uintptr_t) "Some.";
    save_list(&config->paths, &config->entries[0], s, MCPLUG_TOOLS, &one, 5000, &err);
}

/* The old list or the new one, and the other kinds are there. */
static void after_saving(void)
{
    ck_assert_msg(reload("s"), "%s", when());
    ck_assert_uint_eq(n_items(MCPLUG_PROMPTS), 1);
    ck_assert(n_items(MCPLUG_TOOLS) == 1 || n_items(MCPLUG_TOOLS) == 2);
    ck_assert(mp_tool_cache_whole(&known, MCPLUG_TOOLS));
    ck_assert_uint_eq(count("home/.cache/mcplug/known"), 1); /* no temporary file */
}

static void before_saving(void)
{
    save("s", MCPLUG_TOOLS, &two, MP_TOOL_CACHE_NO_TTL);
}

static void load_some(void)
{
    struct mp_tool_cache k;
    if (mp_tool_cache_load(&config->paths, &config->entries[0], &k))
        ck_assert_uint_eq(mp_view_count(mp_tool_cache_items(&k, MCPLUG_TOOLS)), 1);
    mp_tool_cache_clear(&k);
}

START_TEST(without_memory_it_is_the_old_file_or_the_new_one)
{
    save("s", MCPLUG_PROMPTS, &one, MP_TOOL_CACHE_NO_TTL);
    torture(before_saving, save_some, after_saving);
    save_some();
    torture(NULL, load_some, NULL);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_checked_fixture(t, start, end);
    tcase_add_test(t, what_was_saved_is_there_again);
    tcase_add_test(t, kinds_stand_beside_each_other);
    tcase_add_test(t, another_definition_is_another_server);
    tcase_add_test(t, what_is_forgotten_is_gone);
    tcase_add_test(t, without_a_place_nothing_is_kept);
    tcase_add_test(t, a_list_is_fresh_for_its_ttl_or_a_day);
    tcase_add_test(t, the_same_list_is_dated_anew_after_five_minutes_or_half_its_time);
    tcase_add_test(t, a_list_that_is_never_fresh_is_not_written_each_time);
    tcase_add_test(t, what_is_too_long_is_kept_in_part);
    tcase_add_test(t, a_file_that_is_full_can_be_read_again);
    tcase_add_test(t, an_item_as_deep_as_can_be_hides_nothing_else);
    tcase_add_test(t, who_a_server_is_is_kept_beside_its_lists);
    tcase_add_test(t, of_a_server_that_says_too_much_a_part_is_kept);
    tcase_add_test(t, a_damaged_file_is_as_good_as_none_and_is_mended);
    tcase_add_test(t, parts_of_another_shape_count_as_unknown);
    tcase_add_test(t, files_that_others_could_have_written_are_replaced);
    tcase_add_test(t, a_file_that_is_too_long_is_replaced_but_a_directory_is_not);
    tcase_add_test(t, a_link_is_replaced_and_not_what_it_leads_to);
    tcase_add_test(t, without_memory_it_is_the_old_file_or_the_new_one);
}

int main(void)
{
    return run_suite("registry_tool_cache", add);
}
