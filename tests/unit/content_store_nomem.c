/* Storing results, and searching them, while memory fails: each is stored whole or not at
 * all, and what is there stays. */
#include "nomem_kit.h"

#include "content/search.h"
#include "content/store.h"

static int result;
static int source = -1;

static void prepare(void)
{
    nftw(at("results"), remove_one, 16, FTW_DEPTH | FTW_PHYS);
    ck_assert_int_eq(mkdir(at("results"), 0700), 0);
    put("results/mcp-s-t-1.txt", "too old", 0600);
    put("results/mcp-s-t-99999999999999.txt", "too new", 0600);
}

static void check_stored(const char *path, int r, const struct mcplug_error *why)
{
    if (r == MCPLUG_OK) {
        ck_assert_ptr_nonnull(path);
        ck_assert_int_eq(access(path, F_OK), 0);
    } else {
        ck_assert_ptr_null(path);
        ck_assert_int_eq(r, MCPLUG_ENOMEM);
        ck_assert(why->text[0]);
    }
}

static void store_one(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_store *s = mp_store_new(at("results"), 0, 0);
    struct mp_store_file *f = NULL;
    char *path = NULL;

    result = MCPLUG_ENOMEM;
    if (!s)
        return;
    result = mp_store_begin(s, &f, &why);
    if (result == MCPLUG_OK)
        result = mp_store_write(f, "text", 4, &why);
    if (result == MCPLUG_OK)
        result = mp_store_commit(f, "s", "new", "name.txt", NULL, &path, &why);
    check_stored(path, result, &why);
    mp_free(path);
    mp_store_free(s);
}

/* Nothing but results, and the new one once. */
static void after_storing(void)
{
    unsigned n = 0;
    DIR *dir = opendir(at("results"));
    for (struct dirent *e; (e = readdir(dir));) {
        ck_assert(e->d_name[0] != '.' || !e->d_name[strspn(e->d_name, ".")]);
        n += strncmp(e->d_name, "mcp-s-new-", 10) == 0;
    }
    closedir(dir);
    ck_assert_uint_eq(n, result == MCPLUG_OK);
}

START_TEST(a_result_is_stored_whole_or_not_at_all)
{
    torture(prepare, store_one, after_storing);
    ck_assert_int_eq(result, MCPLUG_OK);
}
END_TEST

static void adopt_one(void)
{
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_store *s = mp_store_new(at("results"), 0, 0);
    char *path = NULL;

    result = MCPLUG_ENOMEM;
    if (!s)
        return;
    result = mp_store_adopt(s, source, 3, "s", "new", ".txt", &path, &why);
    check_stored(path, result, &why);
    mp_free(path);
    mp_store_free(s);
}

START_TEST(a_file_is_adopted_or_not)
{
    source = open(at("named"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(source, "abc", 3), 3);
    torture(prepare, adopt_one, after_storing); /* as a copy */
    ck_assert_int_eq(result, MCPLUG_OK);
    close(source);

    source = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(source, "abc", 3), 3);
    torture(prepare, adopt_one, after_storing);
    ck_assert_int_eq(result, MCPLUG_OK);
    close(source);
}
END_TEST

static bool count_one(void *arg, const struct mp_stored *one)
{
    (void)one;
    ++*(int *)arg;
    return true;
}

static void find_one(void)
{
    static const char *const ways[] = {"mcp-s-t-1.txt", "mcp-s-t-1", "1"};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    struct mp_store *s = mp_store_new(at("results"), 0, 0);
    char *name = NULL;
    int fd = -1, n = 0;

    if (!s)
        return;
    for (size_t i = 0; i < MP_COUNT(ways); i++) {
        int r = mp_store_open(s, ways[i], &fd, &name, &why);
        ck_assert(r == MCPLUG_OK || (r == MCPLUG_ENOMEM && fd == -1 && !name));
        ck_assert(r != MCPLUG_OK || strcmp(name, "mcp-s-t-1.txt") == 0);
        if (fd >= 0)
            close(fd);
        fd = -1;
        mp_free(name);
        name = NULL;
    }
    int r = mp_store_each(s, count_one, &n, &why);
    ck_assert(r == MCPLUG_OK ? n == 2 : r == MCPLUG_ENOMEM && n == 0);
    mp_store_free(s);
}

START_TEST(a_result_is_found_or_memory_is_missing)
{
    torture(prepare, find_one, NULL);
}
END_TEST

static bool find_match(void *arg, const struct mp_match *m)
{
    ++*(int *)arg;
    return m->offset == 1;
}

static void search_one(void)
{
    static const struct mp_search_options o = {.ignore_case = true};
    struct mcplug_error why = MCPLUG_ERROR_INIT;
    uint64_t total = 7;
    int n = 0;

    result = mp_search(source, "B", 1, &o, find_match, &n, &total, &why);
    ck_assert(result == MCPLUG_OK || (result == MCPLUG_ENOMEM && why.text[0]));
    ck_assert_int_eq(n, result == MCPLUG_OK);
    ck_assert_uint_eq(total, result == MCPLUG_OK ? 1 : 7);
}

START_TEST(a_search_finds_all_or_memory_is_missing)
{
    source = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(source, "abc", 3), 3);
    torture(NULL, search_one, NULL);
    ck_assert_int_eq(result, MCPLUG_OK);
    close(source);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, a_result_is_stored_whole_or_not_at_all);
    tcase_add_test(t, a_file_is_adopted_or_not);
    tcase_add_test(t, a_search_finds_all_or_memory_is_missing);
    tcase_add_test(t, a_result_is_found_or_memory_is_missing);
}

int main(void)
{
    return run_suite("content_store_nomem", add);
}
