/* mcplug-check - tries one module against its contract, for `mcplug plugins --check`.
 *
 *   mcplug-check FILE.so [set NAME VALUE | add NAME VALUE | put NAME KEY VALUE]...
 *                [-- SERVER.. | -- SECRET | -- FILE]
 *
 * In a program of its own, because a broken module may take the process with it, and
 * because it plays the core, of which it has all parts. Writes one JSON object per line
 * to stdout: {"passed": true, "check": "..."}, {"calls": "init()"} before what may not
 * come back, and {"end": true} as the last, for a module may call exit(). What the module
 * prints goes to stderr. Exit: 0 everything in order, 1 something is not, 2 wrong words.
 */
#include "helpers/check/kit.h"

#include "base/buf.h"
#include "base/error.h"
#include "plugin/props.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define REPORT_MAX ((size_t)1 << 20)

/* Takes stdout away from the module, so that nothing it prints gets between what is
 * reported. The descriptor to report on, or -1. */
static int begin(void)
{
    struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core); /* a crash here is expected, and reported */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return fd;
}

static void report(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
}

static void on_finding(void *arg, bool passed, const char *line)
{
    const int *fd = arg;
    struct mp_str text;

    mp_str_init(&text, REPORT_MAX);
    mp_str_addf(&text, "{\"passed\":%s,\"check\":", passed ? "true" : "false");
    mp_str_add_json(&text, line, strlen(line));
    mp_str_adds(&text, "}\n");
    if (!text.failed)
        report(*fd, text.data, text.len);
    mp_str_clear(&text);
}

/* Should it be the last line, the module has ended us in that call. */
static void on_call(void *arg, const char *what)
{
    const int *fd = arg;
    struct mp_str text;

    mp_str_init(&text, REPORT_MAX);
    mp_str_adds(&text, "{\"calls\":");
    mp_str_add_json(&text, what, strlen(what));
    mp_str_adds(&text, "}\n");
    if (!text.failed)
        report(*fd, text.data, text.len);
    mp_str_clear(&text);
}

/* Takes the words of one setting; returns how many, 0: they are none. */
static int take_setting(char **words, mcplug_props *props, int *r)
{
    int n = 0;

    while (n < 4 && words[n])
        n++;
    if (n >= 3 && strcmp(words[0], "set") == 0) {
        *r = mp_props_set(props, words[1], words[2]);
        return 3;
    }
    if (n >= 3 && strcmp(words[0], "add") == 0) {
        *r = mp_props_add(props, words[1], words[2]);
        return 3;
    }
    if (n >= 4 && strcmp(words[0], "put") == 0) {
        *r = mp_props_put(props, words[1], words[2], words[3]);
        return 4;
    }
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: mcplug-check FILE.so [set NAME VALUE | add NAME VALUE | "
                    "put NAME KEY VALUE]... [-- SERVER.. | -- SECRET | -- FILE]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const char end[] = "{\"end\":true}\n";
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_props *props = NULL, *settings = NULL;
    const char *const *words = NULL;
    int r = MCPLUG_OK;

    if (argc < 2)
        return usage();
    int fd = begin();
    const struct mp_kit_report to = {on_finding, on_call, &fd};
    props = mp_props_new();
    if (!props)
        r = mp_fail_nomem(&err);
    for (int i = 2, n; r == MCPLUG_OK && i < argc; i += n) {
        if (strcmp(argv[i], "--") == 0 && i + 1 < argc) {
            words = (const char *const *)&argv[i + 1];
            break;
        }
        settings = props;
        n = take_setting(&argv[i], props, &r);
        if (!n) {
            mp_props_free(props);
            return usage();
        }
        if (r != MCPLUG_OK)
            mp_fail(&err, r, "setting %s conflicts with an earlier one", argv[i + 1]);
    }
    if (r == MCPLUG_OK)
        r = mp_plugin_contract(argv[1], settings, words, &to, &err);
    if (r < 0)
        on_finding(&fd, false, err.text);
    report(fd, end, sizeof end - 1);
    mp_props_free(props);
    return r == 0 ? 0 : 1;
}
