/* Where the test modules are, a directory of one's own to put some of them in, and a
 * catalogue that searches it. */
#ifndef TEST_PLUGIN_MODULES_H
#define TEST_PLUGIN_MODULES_H

#include "base/mem.h"
#include "loop/loop.h"
#include "plugin/catalogue.h"
#include "suite.h"

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEST_SKIP 77 /* as automake has it */

/* Of the built modules: $MCPLUG_TEST_MODULES or the first argument. */
static const char *modules_dir;
/* Of this test, empty at first, real and absolute. */
static char own_dir[PATH_MAX - 256];

static inline bool modules_find(int argc, char **argv)
{
    modules_dir = argc > 1 ? argv[1] : getenv("MCPLUG_TEST_MODULES");
    return modules_dir != NULL;
}

static inline void own_dir_make(void)
{
    const char *tmp = getenv("TMPDIR");
    char template[PATH_MAX - 256], real[PATH_MAX];

    snprintf(template, sizeof template, "%s/mcplug-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(template));
    ck_assert_ptr_nonnull(realpath(template, real));
    ck_assert_uint_lt(strlen(real), sizeof own_dir);
    strcpy(own_dir, real);
}

static inline int remove_one(const char *path, const struct stat *st, int type,
                             struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static inline void own_dir_remove(void)
{
    nftw(own_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Path of `name` in own_dir; valid until the eighth call after this one. */
static inline const char *own(const char *name)
{
    static char paths[8][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, PATH_MAX, "%s/%s", own_dir, name);
    return path;
}

/* Copies a built module, "good.so", to own_dir as `as`, which may be in a folder. */
static inline const char *place(const char *module, const char *as)
{
    char from[PATH_MAX], bytes[65536];
    const char *to = own(as);
    ssize_t n;

    snprintf(from, sizeof from, "%s/%s", modules_dir, module);
    unlink(to); /* a file that is loaded must not be written to */
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ck_assert_msg(in >= 0, "cannot read %s", from);
    ck_assert_msg(out >= 0, "cannot write %s", to);
    while ((n = read(in, bytes, sizeof bytes)) > 0)
        ck_assert_int_eq(write(out, bytes, (size_t)n), n);
    ck_assert_int_eq(n, 0);
    close(in);
    fchmod(out, 0644);
    close(out);
    return to;
}

/* ---- a catalogue ---- */

static const struct mcplug_wire wire = {.struct_size = sizeof wire};

static struct mp_loop *loop;
static struct mp_catalogue *cat;
static struct mcplug_error err;
static char lines[32][4200]; /* what was logged, as "0 core: .." */
static size_t n_lines;
static struct mp_events log_stream;

static inline void on_log(void *arg, int level, const char *source, const char *text)
{
    (void)arg;
    if (n_lines < MP_COUNT(lines))
        snprintf(lines[n_lines++], sizeof lines[0], "%d %s: %s", level, source, text);
}

static inline void open_catalogue(const char *const *dirs)
{
    struct mp_catalogue_options options = {
        .log = &log_stream,
        .loop = loop,
        .dirs = dirs,
        .wire = &wire,
    };
    mp_catalogue_free(cat);
    n_lines = 0;
    mp_events_init(&log_stream, on_log, NULL, MCPLUG_LOG_VERBOSE);
    cat = mp_catalogue_new(&options, &err);
    ck_assert_ptr_nonnull(cat);
}

static inline void catalogue_setup(void)
{
    unsetenv("MCPLUG_PLUGIN_PATH");
    unsetenv("MCPLUG_HELPER_PATH");
    own_dir_make();
    loop = mp_loop_new(&err);
    ck_assert_ptr_nonnull(loop);
    open_catalogue((const char *const[]){own_dir, NULL});
}

static inline void catalogue_teardown(void)
{
    mp_catalogue_free(cat);
    mp_loop_free(loop);
    own_dir_remove();
}

static inline bool logged(const char *text)
{
    for (size_t i = 0; i < n_lines; i++)
        if (strstr(lines[i], text))
            return true;
    return false;
}

static inline const struct mp_offer *find(const char *name)
{
    const struct mp_offer *offer = NULL;
    int r = mp_catalogue_find(cat, MP_TYPE, name, &offer, &err);
    ck_assert_int_eq(r == MCPLUG_OK, offer != NULL);
    return offer;
}

static inline int load(const char *file)
{
    const struct mp_plugin *plugin = NULL;
    return mp_catalogue_load(cat, file, &plugin, &err);
}

static inline void expect_error(const char *file, const char *message)
{
    char whole[sizeof err.text];
    snprintf(whole, sizeof whole, "%.200s: %.280s", file, message);
    ck_assert_str_eq(err.text, whole);
}

static inline TCase *tcase(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, catalogue_setup, catalogue_teardown);
    suite_add_tcase(suite, tc);
    return tc;
}

#endif
