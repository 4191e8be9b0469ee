#include "cli/base/message.h"

#include "base/buf.h"
#include "base/text.h"
#include "cli/base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define HELD_MAX ((size_t)1 << 16) /* of all lines while a question waits */

/* The terminal is one for the whole process, and so is what stands on its last line. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char status[512];
static char errors[CLI_REPORT_MAX], hints[CLI_REPORT_MAX]; /* of the process */
static bool holds; /* a question waits on the last line */
static struct mp_str held;
static size_t n_dropped; /* lines that `held` had no room for */
static int shown_level = MCPLUG_LOG_WARN;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static char *log_path, *log_older; /* NULL: it is no file that could be put aside */

#define ERASE "\r\033[K"
#define BELOW "          " /* where a message goes on; a hint begins before that */

static void put(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return; /* nobody is left who could be told */
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
}

/* With `lock`; in one write, so that lines of several threads do not mix. A newline
 * follows. */
static void put_above_status(const char *lines, size_t len)
{
    struct mp_str whole;
    mp_str_init(&whole, LINE_MAX_BYTES + sizeof status + 16);

    if (status[0])
        mp_str_adds(&whole, ERASE);
    mp_str_add(&whole, lines, len);
    mp_str_addc(&whole, '\n');
    mp_str_adds(&whole, status);
    put(STDERR_FILENO, whole.data, whole.len);
    mp_str_clear(&whole);
}

/* take `line` */
static void put_line(struct mp_str *line)
{
    pthread_mutex_lock(&lock);
    if (!holds)
        put_above_status(line->data, line->len);
    else if (held.len + line->len >= HELD_MAX)
        n_dropped++;
    else if (mp_str_add(&held, line->data, line->len))
        mp_str_addc(&held, '\n');
    pthread_mutex_unlock(&lock);
    mp_str_clear(line);
}

void cli_hold(bool hold)
{
    pthread_mutex_lock(&lock);
    if (hold && !holds)
        mp_str_init(&held, HELD_MAX + 128);
    if (!hold && holds) {
        if (n_dropped)
            mp_str_addf(&held,
                        "mcplug: %zu more message%s came while a question waited\n",
                        n_dropped, n_dropped == 1 ? "" : "s");
        if (held.len)
            put_above_status(held.data, held.len - 1);
        mp_str_clear(&held);
        n_dropped = 0;
    }
    holds = hold;
    pthread_mutex_unlock(&lock);
}

/* Makes a line that begins with `head`. Where a terminal would break it, it goes on with
 * `mark`: what others wrote is in it, and must not begin a line of the screen. */
static void make_line(struct mp_str *line, const char *head, const char *mark,
                      const char *text)
{
    mp_str_init(line, LINE_MAX_BYTES);
    if (isatty(STDERR_FILENO)) {
        cli_quote_line(line, head, mark, text, strlen(text), cli_width(STDERR_FILENO));
        line->len -= line->len && line->data[line->len - 1] == '\n';
        return;
    }
    mp_str_adds(line, head);
    mp_str_add_escaped(line, text, strlen(text), false);
}

/* Adds a line; what does not fit is cut off. */
static void keep(char report[CLI_REPORT_MAX], const char *text)
{
    size_t len = strlen(report);
    snprintf(report + len, CLI_REPORT_MAX - len, "%s%s", len ? "\n" : "", text);
}

/* `report`: where the text is kept as well; NULL: nowhere. */
static void put_formatted(char *report, const char *head, const char *fmt, va_list ap)
{
    char raw[4096];
    struct mp_str line;
    vsnprintf(raw, sizeof raw, fmt, ap);
    pthread_mutex_lock(&lock);
    if (report == errors || (report && errors[0])) /* a hint is one about an error */
        keep(report, raw);
    pthread_mutex_unlock(&lock);
    make_line(&line, head, BELOW, raw);
    put_line(&line);
}

void cli_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_formatted(errors, "mcplug: ", fmt, ap);
    va_end(ap);
}

void cli_error_shown(const char *text, const char *shown)
{
    struct mp_str line;

    pthread_mutex_lock(&lock);
    keep(errors, text);
    pthread_mutex_unlock(&lock);
    make_line(&line, "mcplug: ", BELOW, shown);
    put_line(&line);
}

void cli_hint(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_formatted(hints, "        ", fmt, ap);
    va_end(ap);
}

void cli_note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_formatted(NULL, "mcplug: ", fmt, ap);
    va_end(ap);
}

void cli_detail(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_formatted(NULL, "        ", fmt, ap);
    va_end(ap);
}

bool cli_reported(char message[CLI_REPORT_MAX], char hint[CLI_REPORT_MAX])
{
    pthread_mutex_lock(&lock);
    bool any = errors[0];
    if (message)
        memcpy(message, errors, sizeof errors);
    if (hint)
        memcpy(hint, hints, sizeof hints);
    pthread_mutex_unlock(&lock);
    return any;
}

void cli_tell(const char *head, const char *text, size_t len)
{
    struct mp_str line;
    mp_str_init(&line, LINE_MAX_BYTES);
    mp_str_adds(&line, head);
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    if (len > LINE_MAX_BYTES / 16) /* an escaped byte may take a dozen */
        len = LINE_MAX_BYTES / 16;
    mp_str_add_escaped(&line, text, len, true);
    put_line(&line);
}

void cli_tell_prompt(const char *fmt, ...)
{
    char raw[4096];
    struct mp_str line;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    mp_str_init(&line, LINE_MAX_BYTES);
    mp_str_add_escaped(&line, raw, strlen(raw), false);
    put(STDERR_FILENO, line.data, line.len);
    mp_str_clear(&line);
}

/* ---- log lines ---- */

int cli_log_show(int level)
{
    int before = shown_level;
    shown_level = level;
    return before;
}

#define LOG_FILE_MAX ((off_t)64 << 20)
#define LOG_FLAGS (O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC)

int cli_log_open(const char *path)
{
    struct stat st;
    int fd = open(path, LOG_FLAGS, 0600);
    if (fd < 0)
        return errno;
    log_fd = fd;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    log_path = realpath(path, NULL); /* a link to it stays one */
    if (log_path && asprintf(&log_older, "%s.1", log_path) < 0)
        log_older = NULL;
    return log_path && log_older ? 0 : ENOMEM;
}

static bool is_same_file(const struct stat *a, const char *path)
{
    struct stat b;
    return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

/* Puts a file that has become long aside, and begins a new one. Other processes may write
 * there, too, and one of them may have done so. Where it cannot be done, that is the end
 * of the log: it is never longer. */
static void bound_log(void)
{
    struct stat st;

    if (!log_older || fstat(log_fd, &st) != 0 || st.st_size < LOG_FILE_MAX)
        return;
    flock(log_fd, LOCK_EX);
    int fd = !is_same_file(&st, log_path) || rename(log_path, log_older) == 0
                 ? open(log_path, LOG_FLAGS, 0600)
                 : -1;
    int number = errno;
    close(log_fd); /* and unlocks it */
    log_fd = fd;
    if (fd < 0)
        cli_note("warning: the log %s is full and cannot be renamed: %s; nothing more is "
                 "logged there",
                 log_path, strerror(number));
}

/* In one write, so that lines of several processes do not mix. */
static void put_in_file(const struct mp_str *line)
{
    struct timespec now;
    struct mp_str whole;
    struct tm tm;
    char at[32];

    clock_gettime(CLOCK_REALTIME, &now);
    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &tm));
    mp_str_init(&whole, LINE_MAX_BYTES + 64);
    mp_str_addf(&whole, "%s.%03ldZ ", at, now.tv_nsec / 1000000);
    mp_str_add(&whole, line->data, line->len);
    mp_str_addc(&whole, '\n');
    pthread_mutex_lock(&log_lock);
    if (log_fd >= 0)
        bound_log();
    if (log_fd >= 0)
        put(log_fd, whole.data, whole.len);
    pthread_mutex_unlock(&log_lock);
    mp_str_clear(&whole);
}

/* `VRB mcp:NAME `, in at most `columns` */
static void make_mark(struct mp_str *mark, int level, const char *source, size_t columns)
{
    static const char *const names[] = {"ERR", "WRN", "VRB", "TRC"};
    struct mp_str whole;

    mp_str_init(&whole, LINE_MAX_BYTES);
    mp_str_addf(&whole, "%s ", level >= 0 && level < 4 ? names[level] : "TRC");
    mp_str_add_escaped(&whole, source, strlen(source), false);
    mp_str_init(mark, LINE_MAX_BYTES);
    mp_str_add(mark, whole.data, cli_columns_fit(whole.data, whole.len, columns - 1));
    mp_str_addc(mark, ' ');
    mp_str_clear(&whole);
}

void cli_log_file(int level, const char *source, const char *text)
{
    struct mp_str line;
    if (log_fd < 0)
        return;
    make_mark(&line, level, source, LINE_MAX_BYTES);
    mp_str_add_escaped(&line, text, strlen(text), false);
    put_in_file(&line);
    mp_str_clear(&line);
}

void cli_log_line(int level, const char *source, const char *text)
{
    bool terminal = isatty(STDERR_FILENO);
    struct mp_str line, mark;

    cli_log_file(level, source, text);
    if (level > shown_level)
        return;
    make_mark(&mark, level, source,
              terminal ? cli_width(STDERR_FILENO) / 2 + 8 : LINE_MAX_BYTES);
    make_line(&line, mark.data ? mark.data : "", mark.data ? mark.data : "", text);
    put_line(&line);
    mp_str_clear(&mark);
}

static bool is_dumb(void)
{
    const char *term = getenv("TERM");
    return !term || strcmp(term, "dumb") == 0;
}

void cli_status_show(const char *text)
{
    char shown[sizeof status];
    struct winsize size;
    size_t room = 79, put_len = 0;

    if (text && !is_dumb()) {
        size_t len = strlen(text);
        put_len = mp_escape(text, &len, false, false, shown, sizeof shown - 1);
        if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
            room = size.ws_col - 1u; /* the last column would wrap */
        put_len = cli_columns_fit(shown, put_len, room);
    }
    shown[put_len] = '\0';

    pthread_mutex_lock(&lock);
    if (strcmp(shown, status) != 0) {
        put(STDERR_FILENO, ERASE, sizeof ERASE - 1);
        put(STDERR_FILENO, shown, put_len);
        memcpy(status, shown, put_len + 1);
    }
    pthread_mutex_unlock(&lock);
}
