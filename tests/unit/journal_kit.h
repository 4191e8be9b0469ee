/* For the suites about what is kept of servers: places of the test's own, one journal of
 * the server "s", and what is in its files. */
#ifndef JOURNAL_KIT_H
#define JOURNAL_KIT_H

#include "cli/base/journal.h"

#include "cli/base/message.h"

#include "base/mem.h"
#include "file_kit.h"
#include "quick.h"

#define LOG "state/mcplug/logs/s.log"
#define OLDER "state/mcplug/logs/s.log.1"
#define HEAD_LEN (sizeof "2026-11-16T15:04:05.123Z VRB stderr " - 1)

static struct mcplug_paths paths;
static struct cli_journal *journal;
static char state[300];
static const struct cli_journal_limits generous = {
    .file = 1 << 20, .lines = 1000000, .bytes = 1 << 30, .window_ms = 3600000};

static inline void begin(void)
{
    snprintf(state, sizeof state, "%s/state/mcplug", top);
    paths.state = state;
    unsetenv(CLI_JOURNAL_OFF);
}

static inline void end(void)
{
    cli_journal_close(journal);
    journal = NULL;
}

static inline void use(struct cli_journal_limits limits)
{
    end();
    journal = cli_journal_open_with(&paths, "s", &limits);
    ck_assert_ptr_nonnull(journal);
}

static inline void make_dir(void)
{
    ck_assert_int_eq(mkdir(at("state"), 0700), 0);
    ck_assert_int_eq(mkdir(at("state/mcplug"), 0700), 0);
    ck_assert_int_eq(mkdir(at("state/mcplug/logs"), 0700), 0);
}

static inline void tell(const char *text)
{
    cli_journal_line(journal, MCPLUG_LOG_VERBOSE, CLI_JOURNAL_STDERR, text, strlen(text));
}

/* give; "" for a file that is not there */
static inline char *text_of(const char *name)
{
    struct mp_file file;
    ck_assert_int_eq(mp_file_read_up_to(at(name), (size_t)64 << 20, &file, &err),
                     MCPLUG_OK);
    char *text = mp_strdup(file.exists && file.text.len ? file.text.data : "");
    mp_file_clear(&file);
    return text;
}

static inline size_t lines_of(const char *name)
{
    char *text = text_of(name);
    size_t n = 0;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        n++;
    mp_free(text);
    return n;
}

/* What stands behind the times of all lines, one file. */
static inline void reads(const char *name, const char *wanted)
{
    char *text = text_of(name), got[16384];
    size_t n = 0;

    for (char *p = text, *newline; *p; p = newline + 1) {
        newline = strchr(p, '\n');
        ck_assert_ptr_nonnull(newline);
        ck_assert_int_ge(newline - p, 25);
        ck_assert_msg(p[10] == 'T' && p[19] == '.' && p[23] == 'Z' && p[24] == ' ', "%s",
                      p);
        n += (size_t)snprintf(got + n, sizeof got - n, "%.*s", (int)(newline - p - 24),
                              p + 25);
    }
    got[n] = '\0';
    ck_assert_str_eq(got, wanted);
    mp_free(text);
}

/* What was warned of. */
static inline void warned(const char *part, int times)
{
    char *text = text_of("told");
    int n = 0;
    for (const char *p = text; (p = strstr(p, "WRN logs ")); p++)
        n++;
    ck_assert_msg(n == times && (!part || strstr(text, part)), "%s", text);
    mp_free(text);
}

static inline void listen_to_warnings(void)
{
    cli_log_show(-1);
    ck_assert_int_eq(cli_log_open(at("told")), 0);
}

#endif
