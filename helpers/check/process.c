#include "helpers/check/kit.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what belongs to the program: signals, umask, locale, directory, environment ----
 */

extern char **environ;

struct mp_kit_process {
    struct sigaction actions[NSIG];
    sigset_t blocked; /* of the kit's thread */
    mode_t umask;
    char locale[512], directory[PATH_MAX];
    char **env; /* NULL-ended copy */
};

static void env_free(char **env)
{
    for (size_t i = 0; env && env[i]; i++)
        mp_free(env[i]);
    mp_free(env);
}

static char **env_copy(void)
{
    size_t n = 0;

    while (environ && environ[n])
        n++;
    char **copy = mp_alloc((n + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = mp_strdup(environ[i]);
    return copy;
}

static void look(struct mp_kit_process *p)
{
    const char *locale = setlocale(LC_ALL, NULL);

    for (int s = 1; s < NSIG; s++)
        sigaction(s, NULL, &p->actions[s]);
    pthread_sigmask(SIG_SETMASK, NULL, &p->blocked);
    p->umask = umask(077);
    umask(p->umask);
    snprintf(p->locale, sizeof p->locale, "%s", locale ? locale : "");
    if (!getcwd(p->directory, sizeof p->directory))
        p->directory[0] = '\0';
    p->env = env_copy();
}

struct mp_kit_process *mp_kit_process_new(void)
{
    struct mp_kit_process *p = mp_alloc(sizeof *p);
    if (p)
        look(p);
    return p;
}

void mp_kit_process_free(struct mp_kit_process *p)
{
    if (p)
        env_free(p->env);
    mp_free(p);
}

/* Flags that a program sets; libraries of C add others. */
#define FLAGS                                                                            \
    (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER |   \
     SA_RESETHAND)

static void compare_signals(struct mp_kit *kit, const char *who,
                            const struct mp_kit_process *was,
                            const struct mp_kit_process *is)
{
    for (int s = 1; s < NSIG; s++) {
        const struct sigaction *a = &was->actions[s], *b = &is->actions[s];
        if (a->sa_handler != b->sa_handler || (a->sa_flags ^ b->sa_flags) & (int)FLAGS)
            mp_kit_say(kit, false, "%s changed the handler of signal %d (%s)", who, s,
                       strsignal(s));
        if (sigismember(&was->blocked, s) != sigismember(&is->blocked, s))
            mp_kit_say(kit, false, "%s %s signal %d (%s)", who,
                       sigismember(&is->blocked, s) ? "blocked" : "unblocked", s,
                       strsignal(s));
    }
}

/* The entry of the variable that `entry` is of. */
static const char *entry_of(char *const *env, const char *entry)
{
    size_t n = strcspn(entry, "=");
    for (size_t i = 0; env && env[i]; i++)
        if (strncmp(env[i], entry, n) == 0 && strcspn(env[i], "=") == n)
            return env[i];
    return NULL;
}

static void compare_env(struct mp_kit *kit, const char *who, char *const *was,
                        char *const *is)
{
    for (size_t i = 0; is && is[i]; i++) {
        const char *old = entry_of(was, is[i]);
        if (!old || strcmp(old, is[i]) != 0)
            mp_kit_say(kit, false, "%s set the environment variable %.*s", who,
                       (int)strcspn(is[i], "="), is[i]);
    }
    for (size_t i = 0; was && was[i]; i++)
        if (!entry_of(is, was[i]))
            mp_kit_say(kit, false, "%s removed the environment variable %.*s", who,
                       (int)strcspn(was[i], "="), was[i]);
}

void mp_kit_process_compare(struct mp_kit *kit, const char *who)
{
    struct mp_kit_process *was = kit->process, *is = was ? mp_kit_process_new() : NULL;

    if (!is)
        return;
    compare_signals(kit, who, was, is);
    if (was->umask != is->umask)
        mp_kit_say(kit, false, "%s changed the umask from %04o to %04o", who,
                   (unsigned)was->umask, (unsigned)is->umask);
    if (strcmp(was->locale, is->locale) != 0)
        mp_kit_say(kit, false, "%s changed the locale from %.64s to %.64s", who,
                   was->locale, is->locale);
    if (strcmp(was->directory, is->directory) != 0)
        mp_kit_say(kit, false, "%s changed the working directory from %.128s to %.128s",
                   who, was->directory, is->directory);
    compare_env(kit, who, was->env, is->env);
    mp_kit_process_free(was);
    kit->process = is; /* who changes nothing more is not to blame */
}

/* ---- stdout ---- */

/* In its place, while the module is there, is a file without a name. */
void mp_kit_stdout_take(struct mp_kit *kit)
{
    fflush(stdout);
    kit->stdout_was = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    kit->stdout_now = memfd_create("stdout", MFD_CLOEXEC);
    if (kit->stdout_was >= 0 && kit->stdout_now >= 0)
        dup2(kit->stdout_now, STDOUT_FILENO);
}

void mp_kit_stdout_give_back(struct mp_kit *kit)
{
    if (kit->stdout_was >= 0 && kit->stdout_now >= 0) {
        fflush(stdout);
        dup2(kit->stdout_was, STDOUT_FILENO);
    }
    if (kit->stdout_was >= 0)
        close(kit->stdout_was);
    if (kit->stdout_now >= 0)
        close(kit->stdout_now);
}

void mp_kit_stdout_check(struct mp_kit *kit, const char *who)
{
    struct stat st;
    char text[64];

    fflush(stdout);
    if (kit->stdout_now < 0 || fstat(kit->stdout_now, &st) != 0 ||
        st.st_size <= kit->stdout_seen)
        return;
    ssize_t n = pread(kit->stdout_now, text, sizeof text, kit->stdout_seen);
    for (ssize_t i = 0; i < n; i++)
        if (text[i] == '\n') {
            n = i;
            break;
        }
    mp_kit_say(kit, false, "%s wrote to stdout, which belongs to the program: %.*s", who,
               n > 0 ? (int)n : 0, text);
    kit->stdout_seen = st.st_size;
}

/* ---- descriptors ---- */

/* Calls fn for each, but for the one that this takes. */
static void each_descriptor(void (*fn)(void *arg, int fd), void *arg)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(dir))
            fn(arg, fd);
    }
    if (dir)
        closedir(dir);
}

static void note(void *arg, int fd)
{
    struct mp_kit_descriptors *d = arg;
    if (fd < MP_KIT_DESCRIPTORS)
        d->open[fd] = true;
}

void mp_kit_descriptors_look(struct mp_kit_descriptors *out)
{
    memset(out, 0, sizeof *out);
    each_descriptor(note, out);
}

void mp_kit_descriptors_compare(struct mp_kit *kit, const struct mp_kit_descriptors *was)
{
    struct mp_kit_descriptors is;
    char path[64], what[128];

    mp_kit_descriptors_look(&is);
    for (int fd = 0; fd < MP_KIT_DESCRIPTORS; fd++) {
        if (was->open[fd] && !is.open[fd])
            mp_kit_say(kit, false, "closed descriptor %d, which was not its own", fd);
        if (was->open[fd] || !is.open[fd])
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, what, sizeof what - 1);
        mp_kit_say(kit, false, "descriptor %d (%.*s) is still open after fini()", fd,
                   n > 0 ? (int)n : 1, n > 0 ? what : "?");
    }
}
