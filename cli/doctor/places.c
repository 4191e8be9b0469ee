/* Where files go, and what the environment says. */
#include "cli/doctor/doctor.h"

#include "base/mem.h"
#include "base/path.h"
#include "cli/base/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FREE_MIN ((uint64_t)100 << 20) /* bytes that a disk should have left */
#define MANY 64                        /* levels of directories */

/* ---- directories ---- */

int cli_try_dir(const char *dir, unsigned levels, char **at)
{
    struct stat st;
    *at = mp_strdup(dir);
    while (*at && stat(*at, &st) != 0) {
        if (errno != ENOENT || levels-- == 0 || strcmp(*at, "/") == 0)
            return errno;
        char *up = mp_path_dir(*at);
        mp_free(*at);
        *at = up;
    }
    if (!*at)
        return ENOMEM;
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return faccessat(AT_FDCWD, *at, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

struct place {
    const char *what; /* "settings" */
    const char *dir;
    unsigned levels;
    enum cli_health worst;   /* when it can't be written */
    const char *consequence; /* "servers can't be added" */
    const char *variable;    /* that moves it */
    bool secret;             /* others should not even read it */
};

static bool note_unwritable(struct cli_doctor *d, const struct place *p, char **at)
{
    int e = cli_try_dir(p->dir, p->levels, at);
    if (!*at)
        d->failed = true;
    if (e == 0 || !*at)
        return false;
    cli_doctor_note(d, p->worst, "places", "%s: %s: %s, so %s", p->what, *at, strerror(e),
                    p->consequence);
    if (e == ENOTDIR)
        cli_doctor_todo(d, "A directory is needed there: move the file away, or set %s.",
                        p->variable);
    else if (e == EROFS)
        cli_doctor_todo(
            d, "Its file system is read-only; set %s to a directory that can be written.",
            p->variable);
    else
        cli_doctor_todo(d, "Make it a directory that you own, or set %s to one.",
                        p->variable);
    return true;
}

/* Whoever can write the directory can replace the files in it. */
static bool note_shared(struct cli_doctor *d, const struct place *p)
{
    struct stat st;
    if (stat(p->dir, &st) != 0)
        return false;
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        cli_doctor_note(d, CLI_WRONG, "places",
                        "%s: %s belongs to another user, who can replace its files",
                        p->what, p->dir);
        cli_doctor_todo(
            d, "Take ownership with chown, or set %s to a directory that you own.",
            p->variable);
    } else if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX)) {
        cli_doctor_note(d, CLI_WRONG, "places",
                        "%s: everyone can write to %s and replace its files", p->what,
                        p->dir);
        cli_doctor_todo(d, "chmod 700 %s", p->dir);
    } else if (p->secret && st.st_mode & (S_IRWXG | S_IRWXO)) {
        cli_doctor_note(d, CLI_DOUBTFUL, "places",
                        "%s: other users can read %s (mode %04o)", p->what, p->dir,
                        (unsigned)st.st_mode & 07777);
        cli_doctor_todo(d, "chmod 700 %s", p->dir);
    } else {
        return false;
    }
    return true;
}

static void check_place(struct cli_doctor *d, const struct place *p)
{
    char *at = NULL;
    bool trouble = note_unwritable(d, p, &at);
    trouble = (p->secret && note_shared(d, p)) || trouble;
    if (!trouble && at)
        cli_doctor_note(d, CLI_HEALTHY, "places", "%s: %s", p->what, p->dir);
    mp_free(at);
}

static void check_settings(struct cli_doctor *d, const char *file)
{
    char *dir = mp_path_dir(file), *at = NULL;
    struct place p = {.what = "settings",
                      .dir = dir,
                      .levels = MANY,
                      .worst = CLI_DOUBTFUL,
                      .consequence = "servers cannot be added to your user file",
                      .variable = "XDG_CONFIG_HOME"};
    if (!dir) {
        d->failed = true;
        return;
    }
    bool trouble = note_unwritable(d, &p, &at);
    trouble = note_shared(d, &p) || trouble;
    if (!trouble && access(file, F_OK) == 0 &&
        faccessat(AT_FDCWD, file, R_OK | W_OK, AT_EACCESS) != 0) {
        cli_doctor_note(d, CLI_DOUBTFUL, "places", "settings: %s: %s", file,
                        strerror(errno));
        cli_doctor_todo(d, "chmod u+rw %s", file);
        trouble = true;
    }
    if (!trouble)
        cli_doctor_note(d, CLI_HEALTHY, "places", "settings: %s%s", file,
                        access(file, F_OK) == 0 ? "" : " (not there yet)");
    mp_free(at);
    mp_free(dir);
}

static void check_approvals(struct cli_doctor *d, const char *file)
{
    char *dir = mp_path_dir(file);
    if (!dir) {
        d->failed = true;
        return;
    }
    check_place(d, &(struct place){"approvals", dir, MANY, CLI_DOUBTFUL,
                                   "servers of projects cannot be approved",
                                   "XDG_STATE_HOME", true});
    mp_free(dir);
}

/* A link in its place, or another user's directory, is not written to. */
static void check_logs(struct cli_doctor *d)
{
    char *dir = cli_journal_dir(&d->cli->paths);
    struct place p = {.what = "logs",
                      .dir = dir,
                      .levels = MANY,
                      .worst = CLI_DOUBTFUL,
                      .consequence = "nothing is stored for `mcplug logs`",
                      .variable = "XDG_STATE_HOME",
                      .secret = true};
    struct stat st;

    if (!dir) {
        d->failed = d->failed || d->cli->paths.state;
        return;
    }
    bool there = lstat(dir, &st) == 0;
    if (!cli_journal_wanted()) {
        cli_doctor_note(d, CLI_HEALTHY, "places",
                        "logs: turned off, because " CLI_JOURNAL_OFF " is 0");
    } else if (there && S_ISLNK(st.st_mode)) {
        cli_doctor_note(d, CLI_DOUBTFUL, "places", "logs: %s is a link, so %s", dir,
                        p.consequence);
        cli_doctor_todo(d, "Remove the link, or set XDG_STATE_HOME.");
    } else if (there && S_ISDIR(st.st_mode) && st.st_uid != geteuid()) {
        cli_doctor_note(d, CLI_DOUBTFUL, "places",
                        "logs: %s belongs to another user, so %s", dir, p.consequence);
        cli_doctor_todo(d, "Take ownership with chown, or set XDG_STATE_HOME.");
    } else {
        check_place(d, &p);
    }
    mp_free(dir);
}

static void note_room(struct cli_doctor *d, const struct place *p, const char *at)
{
    struct statvfs fs;
    if (statvfs(at, &fs) != 0)
        return;
    uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize;
    bool little = left < FREE_MIN;
    cli_doctor_note(d, little ? CLI_DOUBTFUL : CLI_HEALTHY, "places",
                    "%s: %s, %llu MiB free", p->what, p->dir,
                    (unsigned long long)(left >> 20));
    if (little)
        cli_doctor_todo(
            d, "Free some space there, or set %s to a directory on another disk.",
            p->variable);
}

/* The first of the places for long answers that can be used; `at` as for cli_try_dir.
 * give both; NULL: there is none, or no memory */
static char *usable(char **at)
{
    char *dir;
    int own;
    for (size_t i = 0; (dir = mcplug_spill_place(i, &own)); i++) {
        if (cli_try_dir(dir, own ? 2 : 0, at) == 0)
            return dir;
        mp_free(*at);
        *at = NULL;
        mcplug_text_free(dir);
    }
    return NULL;
}

/* Long answers go there while they arrive, or to the next place when they can't. */
static void check_spill(struct cli_doctor *d)
{
    int own = 0;
    char *at = NULL, *tried = NULL, *used = NULL, *wanted = mcplug_spill_place(0, &own);
    struct mp_str lost;
    struct place p = {.what = "long answers",
                      .dir = wanted,
                      .levels = own ? 2 : 0,
                      .worst = CLI_WRONG,
                      .consequence = "results with long texts are lost",
                      .variable = "XDG_CACHE_HOME"};

    mp_str_init(&lost, 8192);
    if (wanted)
        used = usable(&at);
    if (used && mp_str_addf(&lost, "they are stored in %s", used)) {
        p.worst = CLI_DOUBTFUL;
        p.consequence = lost.data;
    }
    if (!wanted)
        d->failed = true;
    else
        note_unwritable(d, &p, &tried);
    p.dir = used;
    if (used)
        note_room(d, &p, at);
    mp_str_clear(&lost);
    mp_free(tried);
    mp_free(at);
    mcplug_text_free(used);
    mcplug_text_free(wanted);
}

void cli_doctor_places(struct cli_doctor *d)
{
    const struct mcplug_paths *paths = &d->cli->paths;

    if (!paths->home) {
        cli_doctor_note(d, CLI_DOUBTFUL, "places",
                        "your home directory is unknown, so your settings and approvals "
                        "may not be found");
        cli_doctor_todo(d, "Set HOME.");
    }
    if (paths->settings)
        check_settings(d, paths->settings);
    if (paths->approvals)
        check_approvals(d, paths->approvals);
    check_logs(d);
    if (paths->cache)
        check_place(d, &(struct place){"cache", paths->cache, MANY, CLI_DOUBTFUL,
                                       "nothing is cached and servers are always asked",
                                       "XDG_CACHE_HOME", false});
    check_spill(d);
}

/* ---- variables ---- */

static void check_directories(struct cli_doctor *d)
{
    static const char *const names[] = {
        "HOME",   "XDG_CONFIG_HOME", "XDG_STATE_HOME",     "XDG_CACHE_HOME",
        "TMPDIR", "XDG_RUNTIME_DIR", "MCPLUG_HELPER_PATH",
    };
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value || *value == '/')
            continue;
        cli_doctor_note(
            d, CLI_DOUBTFUL, "environment",
            "%s is \"%.200s\", which is not an absolute path, so it is ignored", names[i],
            value);
        cli_doctor_todo(d, "Set it to a path that begins with /, or unset it.");
    }
    for (const char *at = getenv("MCPLUG_PLUGIN_PATH"); at && *at;) {
        size_t len = strcspn(at, ":");
        if (len && *at != '/') {
            cli_doctor_note(d, CLI_DOUBTFUL, "environment",
                            "MCPLUG_PLUGIN_PATH contains \"%.*s\", which is not an "
                            "absolute path, so it is not searched",
                            len < 200 ? (int)len : 200, at);
            cli_doctor_todo(d, "Use a path that begins with /.");
        }
        at += len + (at[len] == ':');
    }
}

/* As those read it who use it: digits and nothing else. */
static bool is_positive(const char *text, unsigned long long *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return !*end && *out > 0;
}

static void check_numbers(struct cli_doctor *d)
{
    static const struct {
        const char *name;
        unsigned long long max; /* 0: none */
        bool ms;
        const char *todo;
    } numbers[] = {
        {"MCP_TIMEOUT", 0, true, "Set it to milliseconds, such as 30000, or unset it."},
        {"MCP_TOOL_TIMEOUT", 0, true,
         "Set it to milliseconds, such as 600000, or unset it."},
        {"MCP_SERVER_CONNECTION_BATCH_SIZE", 64, false,
         "Set it to a number from 1 to 64, or unset it."},
        {"MAX_MCP_OUTPUT_TOKENS", 0, false,
         "Set it to a number, such as 25000, or unset it."},
    };
    for (size_t i = 0; i < MP_COUNT(numbers); i++) {
        const char *value = getenv(numbers[i].name);
        unsigned long long n = 0;
        if (!value || !*value)
            continue;
        if (!is_positive(value, &n) || (numbers[i].max && n > numbers[i].max))
            cli_doctor_note(d, CLI_DOUBTFUL, "environment",
                            "%s is \"%.64s\", which is not a %s, so it is ignored",
                            numbers[i].name, value,
                            numbers[i].max ? "number from 1 to 64" : "positive number");
        else if (numbers[i].ms && n < 1000)
            cli_doctor_note(d, CLI_DOUBTFUL, "environment",
                            "%s is %llu ms, less than a second", numbers[i].name, n);
        else
            continue;
        cli_doctor_todo(d, "%s", numbers[i].todo);
    }
}

/* Only that there is one: a proxy's URL may have a password in it. */
static bool note_proxies(struct cli_doctor *d)
{
    static const char *const names[] = {"http_proxy",  "HTTP_PROXY", "https_proxy",
                                        "HTTPS_PROXY", "all_proxy",  "ALL_PROXY"};
    struct mp_str set;
    mp_str_init(&set, 256);
    for (size_t i = 0; i < MP_COUNT(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            mp_str_addf(&set, "%s%s", set.len ? ", " : "", names[i]);
    }
    bool any = set.len > 0;
    if (any) {
        const char *small = getenv("http_proxy"), *large = getenv("HTTP_PROXY");
        cli_doctor_note(d, CLI_HEALTHY, "environment",
                        "servers behind URLs are reached through a proxy: %s is set%s",
                        set.data,
                        large && *large && !(small && *small)
                            ? " (for http:// only http_proxy counts)"
                            : "");
    }
    mp_str_clear(&set);
    return any;
}

void cli_doctor_environment(struct cli_doctor *d)
{
    size_t before = cli_doctor_troubles(d);
    check_directories(d);
    check_numbers(d);
    bool proxies = note_proxies(d);
    if (!proxies && cli_doctor_troubles(d) == before)
        cli_doctor_note(d, CLI_HEALTHY, "environment", "OK");
}
