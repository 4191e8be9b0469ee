#include "cli/base/history.h"

#include "base/mem.h"
#include "cli/base/message.h"
#include "cli/base/state_file.h"
#include "json/scan.h"
#include "json/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define DIR_NAME "run"
#define NAME "history"
#define LOCK_TRIES 20 /* a millisecond apart */

/* It is the user's own convenience: nothing is said of it unless that is asked for. */
static void note(const struct mcplug_error *why)
{
    cli_log_line(MCPLUG_LOG_VERBOSE, NAME, why->text);
}

/* ---- the file ---- */

/* All of it, whole lines, but for what is too long at its beginning. */
static void read_all(int fd, struct mp_str *out)
{
    struct stat st;
    off_t at = 0;

    mp_str_init(out, 2 * CLI_HISTORY_FILE);
    if (fstat(fd, &st) != 0)
        return;
    if (st.st_size > (off_t)CLI_HISTORY_FILE)
        at = st.st_size - (off_t)CLI_HISTORY_FILE;
    bool is_cut = at > 0;
    for (ssize_t n = 1; n > 0 && out->len < CLI_HISTORY_FILE && mp_str_reserve(out, 4096);
         at += n) {
        n = pread(fd, out->data + out->len, 4096, at);
        out->len += n > 0 ? (size_t)n : 0;
        out->data[out->len] = '\0';
    }
    char *line = is_cut && out->len ? memchr(out->data, '\n', out->len) : NULL;
    if (line) {
        out->len -= (size_t)(line + 1 - out->data);
        memmove(out->data, line + 1, out->len + 1);
    }
}

static void pause_ms(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The file, which we alone write to until it is closed; -1: others do. Whoever had the
 * lock may have replaced it. */
static int open_locked(const struct mcplug_paths *paths, int dir_fd,
                       struct mcplug_error *err)
{
    struct stat st, now;
    int fd = -1;

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (cli_state_file(paths, DIR_NAME, dir_fd, NAME, O_RDWR | O_APPEND | O_CREAT,
                           &fd, &st, err) != MCPLUG_OK)
            return -1;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 &&
            fstatat(dir_fd, NAME, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
            now.st_dev == st.st_dev && now.st_ino == st.st_ino)
            return fd;
        close(fd);
        pause_ms();
    }
    return -1;
}

static bool put(int fd, const char *data, size_t len)
{
    ssize_t n;

    do
        n = write(fd, data, len);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)len;
}

/* Keeps the newer half, in a file of its own that takes the place of this one. */
static void shrink(int dir_fd, int fd)
{
    static const char other[] = NAME ".new";
    struct mp_str text;
    size_t from = 0;

    read_all(fd, &text);
    if (!text.len) { /* it cannot be read */
        mp_str_clear(&text);
        return;
    }
    while (text.len - from > CLI_HISTORY_FILE / 2) {
        const char *end = memchr(text.data + from, '\n', text.len - from);
        from = end ? (size_t)(end + 1 - text.data) : text.len;
    }
    int new_fd = openat(dir_fd, other,
                        O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = new_fd >= 0 && put(new_fd, text.data + from, text.len - from);
    if (new_fd >= 0)
        ok = close(new_fd) == 0 && ok;
    if (ok)
        renameat(dir_fd, other, dir_fd, NAME);
    else
        unlinkat(dir_fd, other, 0);
    mp_str_clear(&text);
}

/* Whoever was stopped in the middle of a line left it without its end. */
static bool is_torn(int fd, off_t size)
{
    char last = '\n';
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

static void add_line(int dir_fd, int fd, const char *text)
{
    struct mp_str line;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return;
    mp_str_init(&line, 6 * CLI_HISTORY_LINE + 8);
    mp_str_adds(&line, is_torn(fd, st.st_size) ? "\n" : "");
    mp_str_add_json(&line, text, strlen(text));
    mp_str_addc(&line, '\n');
    if (!line.failed && put(fd, line.data, line.len) &&
        (size_t)st.st_size + line.len > CLI_HISTORY_FILE)
        shrink(dir_fd, fd);
    mp_str_clear(&line);
}

void cli_history_add(const struct mcplug_paths *paths, const char *text)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int dir_fd = -1, fd = -1;

    if (!paths->state || strlen(text) > CLI_HISTORY_LINE)
        return;
    if (cli_state_dir(paths, DIR_NAME, true, &dir_fd, &err) == MCPLUG_OK)
        fd = open_locked(paths, dir_fd, &err);
    if (fd >= 0)
        add_line(dir_fd, fd, text);
    else if (err.code != MCPLUG_OK)
        note(&err);
    if (fd >= 0)
        close(fd);
    if (dir_fd >= 0)
        close(dir_fd);
}

/* ---- reading ---- */

/* What is no JSON string is passed over. */
static void take(struct cli_line_edit *e, const char *line, size_t len)
{
    static const struct mp_scan_limits limits = {.depth = 1, .tokens = 4};
    mp_view view = mp_view_trim(mp_bytes(line, len));

    if (!view.len ||
        mp_scan_text((const char *)view.data, view.len, &limits, NULL, NULL) !=
            MCPLUG_OK ||
        !mp_view_is_string(view))
        return;
    char *text = mp_view_strdup(view);
    if (text)
        cli_line_edit_remember(e, text);
    mp_free(text);
}

void cli_history_read(const struct mcplug_paths *paths, struct cli_line_edit *e)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_str text;
    struct stat st;
    int dir_fd = -1, fd = -1;

    if (!paths->state)
        return;
    int r = cli_state_dir(paths, DIR_NAME, false, &dir_fd, &err);
    if (r == MCPLUG_OK && dir_fd >= 0)
        r = cli_state_file(paths, DIR_NAME, dir_fd, NAME, O_RDONLY, &fd, &st, &err);
    if (r != MCPLUG_OK)
        note(&err);
    if (dir_fd >= 0)
        close(dir_fd);
    if (fd < 0)
        return;
    read_all(fd, &text);
    close(fd);
    for (size_t at = 0, n; at < text.len; at += n + 1) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        n = end ? (size_t)(end - (text.data + at)) : text.len - at;
        take(e, text.data + at, n);
    }
    mp_str_clear(&text);
}
