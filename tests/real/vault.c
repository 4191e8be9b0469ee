/* vault VAULT NAME..: asks a vault for secrets, all of them at once, each on a thread of
 * its own, and prints a line for each: NAME: VALUE, or NAME: CODE: MESSAGE. Then it looks
 * at what the module left of the process: a line `changed: ..` for whatever is not as it
 * was. For keyring.sh. */
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "plugin/catalogue.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NAMES_MAX 16

struct question {
    const struct mp_offer *offer;
    const char *name;
    pthread_t thread;
    struct mp_str secret;
    struct mcplug_error err;
    int code;
};

static void *ask(void *arg)
{
    struct question *q = arg;
    q->code = mp_vault_ask(q->offer, NULL, q->name, &q->secret, &q->err);
    return NULL;
}

static void ask_all(const struct mp_offer *offer, char **names, int n)
{
    struct question questions[NAMES_MAX] = {0};

    for (int i = 0; i < n; i++) {
        struct question *q = &questions[i];
        *q = (struct question){.offer = offer, .name = names[i]};
        q->err = (struct mcplug_error)MCPLUG_ERROR_INIT;
        mp_str_init(&q->secret, MP_VAULT_MAX);
        if (pthread_create(&q->thread, NULL, ask, q) != 0)
            abort();
    }
    for (int i = 0; i < n; i++) {
        struct question *q = &questions[i];
        pthread_join(q->thread, NULL);
        if (q->code == MCPLUG_OK)
            printf("%s: %s\n", q->name, q->secret.data);
        else
            printf("%s: %s: %s\n", q->name, mp_error_name(q->code), q->err.text);
        mp_str_clear(&q->secret);
    }
}

/* ---- what is left ---- */

/* Threads that others started may not take signals that are meant for the program. */
static void look_at_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char path[300], line[256], name[64] = "";
        unsigned long long blocked = 0, all = (1ull << (SIGINT - 1)) |
                                              (1ull << (SIGTERM - 1)) |
                                              (1ull << (SIGCHLD - 1));
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *f = entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()
                      ? NULL
                      : fopen(path, "r");
        while (f && fgets(line, sizeof line, f)) {
            sscanf(line, "Name: %63s", name);
            sscanf(line, "SigBlk: %llx", &blocked);
        }
        if (f && (blocked & all) != all)
            printf("changed: the thread %s takes signals\n", name);
        if (f)
            fclose(f);
    }
    if (dir)
        closedir(dir);
}

#define SIGNALS 32

struct signals {
    struct sigaction actions[SIGNALS];
    sigset_t blocked;
};

static void read_signals(struct signals *s)
{
    for (int i = 1; i < SIGNALS; i++)
        sigaction(i, NULL, &s->actions[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &s->blocked);
}

static void look_at_signals(const struct signals *before)
{
    struct signals now = {0};

    read_signals(&now);
    for (int i = 1; i < SIGNALS; i++) {
        if (now.actions[i].sa_handler != before->actions[i].sa_handler)
            printf("changed: what signal %d does\n", i);
        if (sigismember(&now.blocked, i) != sigismember(&before->blocked, i))
            printf("changed: whether signal %d is blocked\n", i);
    }
}

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/* The first lookup makes what the library keeps; from then on nothing may grow. The
 * connection is closed by a thread of GLib, a moment later. */
static void look_at_descriptors(int before)
{
    int now = count_descriptors();

    for (int i = 0; i < 100 && now > before; i++) {
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        now = count_descriptors();
    }
    if (now > before)
        printf("changed: %d descriptors more than before\n", now - before);
}

int main(int argc, char **argv)
{
    static const struct mcplug_wire wire = {.struct_size = sizeof wire};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct mp_catalogue_options options = {.loop = mp_loop_new(&err), .wire = &wire};
    struct mp_catalogue *cat = options.loop ? mp_catalogue_new(&options, &err) : NULL;
    const struct mp_offer *offer = NULL;
    struct signals signals = {0};
    struct mp_str first;

    read_signals(&signals);
    if (argc < 3 || argc > 2 + NAMES_MAX || !cat)
        return 2;
    mp_str_init(&first, MP_VAULT_MAX);
    int r = mp_catalogue_find(cat, MCPLUG_VAULT, argv[1], &offer, &err);
    if (r == MCPLUG_OK)
        r = mp_vault_ask(offer, NULL, argv[2], &first, &err);
    if (r == MCPLUG_OK)
        printf("%s: %s\n", argv[2], first.data);
    else
        printf("%s: %s: %s\n", argv[2], mp_error_name(r), err.text);
    mp_str_clear(&first);
    if (argc > 3 && offer) {
        int before = count_descriptors();
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        before = count_descriptors();
        ask_all(offer, argv + 3, argc - 3);
        look_at_descriptors(before);
    }
    look_at_signals(&signals);
    look_at_threads();
    mp_catalogue_free(cat);
    mp_loop_free(options.loop);
    return 0;
}
