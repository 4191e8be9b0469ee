#include "cli/run/run.h"

#include "base/mem.h"
#include "base/path.h"
#include "cli/base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREAD_MAX ((size_t)512 << 20) /* of a file; Base64 and escapes included */

int cli_run_resume(struct cli_run *run, const char *path)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct mp_str text;

    if (fd < 0) {
        cli_error("--resume: cannot open %s: %s", path, strerror(errno));
        return CLI_IO_ERROR;
    }
    mp_str_init(&text, THREAD_MAX + 2 * CLI_RUN_STEP);
    int code = cli_run_read(fd, path, THREAD_MAX, &text);
    if (code == CLI_OK &&
        !(run->thread = mcplug_thread_parse(text.data, text.len, &err))) {
        cli_error("--resume: %s has no saved thread: %s", path, err.text);
        code = err.code == MCPLUG_ENOMEM ? CLI_INTERNAL : CLI_BAD_ARGUMENTS;
    }
    close(fd);
    mp_str_clear(&text);
    return code;
}

/* ---- saving ---- */

static int cannot_save(const char *path, int why)
{
    cli_error("cannot save the thread in %s: %s", path, strerror(why));
    return CLI_IO_ERROR;
}

/* A device or a pipe is there to be written to, not to be replaced. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int cli_run_check_save(const char *path)
{
    struct stat st;

    if (is_special(path))
        return CLI_OK;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return cannot_save(path, EISDIR);
    char *dir = strchr(path, '/') ? mp_path_dir(path) : mp_strdup(".");
    int why = !dir ? ENOMEM : access(dir, W_OK | X_OK) == 0 ? 0 : errno;
    mp_free(dir);
    return why ? cannot_save(path, why) : CLI_OK;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return errno;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Beside what it replaces, which stays until the new one is whole. */
static int replace(const char *path, const char *data, size_t len)
{
    char *real = realpath(path, NULL); /* a link stays one */
    char *beside = NULL;
    int why = 0;

    if (asprintf(&beside, "%s.XXXXXX", real ? real : path) < 0)
        beside = NULL;
    int fd = beside ? mkostemp(beside, O_CLOEXEC) : -1; /* mode 0600 */
    if (fd < 0) {
        why = beside ? errno : ENOMEM;
    } else {
        why = write_all(fd, data, len);
        if (!why && fsync(fd) != 0)
            why = errno;
        if (close(fd) != 0 && !why)
            why = errno;
        if (!why && rename(beside, real ? real : path) != 0)
            why = errno;
        if (why)
            unlink(beside);
    }
    free(beside);
    free(real);
    return why;
}

static int write_special(const char *path, const char *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe too */

    if (fd < 0)
        return errno;
    fcntl(fd, F_SETFL, 0);
    int why = write_all(fd, data, len);
    if (close(fd) != 0 && !why)
        why = errno;
    return why;
}

int cli_run_save(struct cli_run *run, const char *path)
{
    size_t len;
    const char *json = mcplug_thread_json(run->thread, &len);
    int why = !json              ? ENOMEM
              : is_special(path) ? write_special(path, json, len)
                                 : replace(path, json, len);

    return why ? cannot_save(path, why) : CLI_OK;
}
