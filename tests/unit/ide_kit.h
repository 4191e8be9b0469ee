/* Editors for the suites about them: files in a directory of the test's own. */
#ifndef IDE_KIT_H
#define IDE_KIT_H

#include "../../plugins/common/ide.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/walk.h"

#include <check.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

/* ---- JSON as the core's service reads it ---- */

static int json_valid(struct mcplug_bytes text)
{
    struct mp_scan scan;
    size_t used;
    mp_scan_init(&scan, &mp_scan_defaults);
    return mp_scan_feed(&scan, (const char *)text.data, text.len, false, &used, NULL) ==
               MCPLUG_OK &&
           mp_scan_end(&scan, NULL) == MCPLUG_OK;
}

static struct mcplug_bytes json_at(struct mcplug_bytes array, size_t n)
{
    struct mp_walk w = mp_walk_into(array);
    mp_view value;
    for (size_t i = 0; mp_walk_element(&w, &value); i++)
        if (i == n)
            return value;
    return mp_bytes(NULL, 0);
}

static int json_integer(struct mcplug_bytes value, int64_t *out)
{
    return mp_view_int(value, out);
}

static const struct mcplug_json json = {
    sizeof json, json_valid, mp_view_get, json_at, mp_view_strdup, json_integer,
};

/* ---- a place of our own ---- */

static char top[64];
static struct ide_search where;
static struct ide found[IDE_FILES_MAX];
static char why_skipped[2048]; /* FILE: WHY, the last one */
static int n_skipped;

static void on_skipped(void *arg, const char *file, const char *why)
{
    ck_assert_ptr_eq(arg, &where);
    snprintf(why_skipped, sizeof why_skipped, "%.1500s: %s", file, why);
    n_skipped++;
}

/* A path below `top`, until the next call. */
static inline const char *below(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", top, name);
    return path;
}

static inline void setup(void)
{
    static const char *const dirs[] = {"home",
                                       "home/.claude",
                                       "home/.claude/ide",
                                       "home/.qwen",
                                       "home/c",
                                       "home/c/ide",
                                       "home/.qwen/ide",
                                       "home/.config",
                                       "tmp",
                                       "tmp/gemini",
                                       "home/.config/claude",
                                       "home/.config/claude/ide",
                                       "tmp/qwen",
                                       "tmp/gemini/ide",
                                       "tmp/qwen/ide",
                                       "code",
                                       "code/a",
                                       "code/a/b",
                                       "code/ab"};
    strcpy(top, "/tmp/mcplug-ide-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    for (size_t i = 0; i < MP_COUNT(dirs); i++)
        ck_assert_int_eq(mkdir(below(dirs[i]), 0700), 0);
    memset(&where, 0, sizeof where);
    where.alloc = mp_alloc;
    where.free = mp_free;
    snprintf(where.home, sizeof where.home, "%s/home", top);
    snprintf(where.tmpdir, sizeof where.tmpdir, "%s/tmp", top);
    snprintf(where.cwd, sizeof where.cwd, "%s/code/a/b", top);
    where.skipped = on_skipped;
    where.arg = &where;
    n_skipped = 0;
    why_skipped[0] = '\0';
}

static inline void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    ck_assert_int_eq(system(command), 0);
}

/* Writes a text into a file below `top`, `age` seconds ago. */
MCPLUG_PRINTF(3, 4)
static inline void put(const char *name, int age, const char *fmt, ...)
{
    va_list ap;
    int fd = open(below(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    va_start(ap, fmt);
    ck_assert_int_ge(vdprintf(fd, fmt, ap), 0);
    va_end(ap);
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= age;
    times[1] = times[0];
    ck_assert_int_eq(futimens(fd, times), 0);
    close(fd);
}

/* A good lock file with this port and this folder below `top`. */
static inline void put_lock(int port, int age, const char *folder)
{
    char name[64];
    snprintf(name, sizeof name, "home/.claude/ide/%d.lock", port);
    put(name, age,
        "{\"pid\":%d,\"workspaceFolders\":[\"%s/%s\"],\"ideName\":\"Ed %d\","
        "\"transport\":\"ws\",\"authToken\":\"" TOKEN "\"}",
        (int)getpid(), top, folder, port);
}

static inline int find(void)
{
    return ide_find(&json, &where, found, MP_COUNT(found));
}

#endif
