/* fleet.c - a host that has many servers: until all are ready, and what it weighs then.
 *
 *   fleet [--batch N] [--keep] CONFIG
 *
 * The servers of CONFIG, {"mcpServers": {..}}, and no others, go into a toolbox and are
 * warmed up N at a time; 0, the default, is what the library would do. When all of them
 * are ready and their tools are known, the figures are taken, everything is closed, and
 * no process may be left. One line is printed, of NAME=VALUE:
 *
 *   servers, failed, tools
 *   ready_ms    since the program began, until the last one's tools were there
 *   cpu_ms      that this process has used until then, without its children
 *   rss_kb, pss_kb, peak_kb
 *               of this process when all are ready
 *   helpers, helpers_kb
 *               mcplug-reapers, of which each server has one, and their PSS together
 *   close_ms    until every process was gone
 *   left        child processes that are there nevertheless
 *
 * --keep: says "ready" on stderr and stays so until standard input ends, for whoever
 * wants to look at it. Public API only. Exit: 0 when every server was ready and none is
 * left.
 */
#include "client.h"

#include <mcplug/mcplug.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct fleet {
    mcplug *host;
    mcplug_config *config;
    mcplug_toolbox *box;
    size_t failed;
    bool warm;
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "fleet: %s: %s\n", what, why);
    exit(1);
}

/* ---- memory ---- */

/* PSS of a process in kB: what it has alone, and its share of the rest. */
static long pss_kb(const char *pid)
{
    char path[64], line[256];
    long kb = 0;

    snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "Pss: %ld", &kb) == 1)
            break;
    }
    if (f)
        fclose(f);
    return kb;
}

/* Our children; what they weigh is added to `kb`. */
static int children(long *kb)
{
    char path[64], pid[16];
    int n = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (!f)
        die(path, strerror(errno));
    for (; fscanf(f, "%15s", pid) == 1; n++)
        *kb += pss_kb(pid);
    fclose(f);
    return n;
}

/* ---- servers ---- */

static void on_settled(void *arg, mcplug_toolbox *box, const char *server, uint64_t ms,
                       const struct mcplug_error *why)
{
    (void)arg;
    (void)box;
    if (why)
        fprintf(stderr, "fleet: %s: %s, after %llu ms\n", server, why->text,
                (unsigned long long)ms);
}

static void on_warm(void *arg, mcplug_toolbox *box, size_t ready, size_t failed)
{
    struct fleet *f = arg;

    (void)box;
    (void)ready;
    f->failed = failed;
    f->warm = true;
}

static void on_freed(void *arg)
{
    *(bool *)arg = true;
}

/* The tools of all; false while some are not known yet. */
static bool count_tools(const struct fleet *f, size_t *out)
{
    size_t tools = 0, unknown = 0;

    for (size_t i = 0; i < mcplug_config_count(f->config); i++) {
        mcplug_server *h =
            mcplug_toolbox_server(f->box, mcplug_config_name(f->config, i));
        mcplug_list *list = mcplug_server_list(h, MCPLUG_TOOLS);
        if (list)
            tools += mcplug_list_count(list);
        else
            unknown++;
    }
    *out = tools;
    return unknown <= f->failed;
}

static void fill(struct fleet *f, const char *path, unsigned batch)
{
    const char *const files[] = {path, NULL};
    struct mcplug_config_options co = {
        .struct_size = sizeof co, .strict = 1, .more = files};
    struct mcplug_toolbox_options bo = {
        .struct_size = sizeof bo, .batch = batch, .settled = on_settled};
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    if (!(f->host = mcplug_new(NULL, &err)))
        die("mcplug_new", err.text);
    if (!(f->config = mcplug_config_load(&co, &err)))
        die(path, err.text);
    if (mcplug_config_problem(f->config, 0))
        die(path, mcplug_config_problem(f->config, 0));
    if (!(f->box = mcplug_toolbox_new(f->host, &bo, &err)))
        die("mcplug_toolbox_new", err.text);
    for (size_t i = 0; i < mcplug_config_count(f->config); i++) {
        const char *name = mcplug_config_name(f->config, i);
        if (mcplug_toolbox_add_named(f->box, f->config, name, NULL, &err) != MCPLUG_OK)
            die(name, err.text);
    }
}

/* ---- one run ---- */

static void stay(void)
{
    char room[256];

    fputs("ready\n", stderr);
    while (read(STDIN_FILENO, room, sizeof room) > 0)
        ;
}

static bool run(struct fleet *f, const char *path, unsigned batch, bool keep)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    double begun = now_us();
    bool freed = false;
    size_t tools = 0;
    long helpers_kb = 0;

    fill(f, path, batch);
    if (mcplug_toolbox_warm_up(f->box, on_warm, f, &err) != MCPLUG_OK)
        die("mcplug_toolbox_warm_up", err.text);
    while (!f->warm || !count_tools(f, &tools))
        mcplug_turn(f->host, 1);
    double ready = now_us(), cpu = cpu_us();
    int helpers = children(&helpers_kb);
    printf("servers=%zu failed=%zu tools=%zu ready_ms=%.0f cpu_ms=%.0f",
           mcplug_config_count(f->config), f->failed, tools, (ready - begun) / 1e3,
           cpu / 1e3);
    printf(" rss_kb=%ld pss_kb=%ld peak_kb=%ld helpers=%d helpers_kb=%ld",
           status_kb("VmRSS"), pss_kb("self"), status_kb("VmHWM"), helpers, helpers_kb);
    if (keep)
        stay();

    begun = now_us();
    mcplug_toolbox_free(f->box, on_freed, &freed);
    while (!freed)
        mcplug_turn(f->host, 1);
    double closed = now_us();
    int left = children(&helpers_kb);
    printf(" close_ms=%.0f left=%d\n", (closed - begun) / 1e3, left);
    mcplug_config_free(f->config);
    mcplug_free(f->host);
    return f->failed == 0 && left == 0 && waitpid(-1, NULL, WNOHANG) < 0 &&
           errno == ECHILD;
}

int main(int argc, char **argv)
{
    struct fleet f = {0};
    unsigned long batch = 0;
    bool keep = false;
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--keep"))
            keep = true;
        else if (!strcmp(argv[i], "--batch") && i + 1 < argc)
            batch = strtoul(argv[++i], NULL, 10);
        else
            break;
    }
    if (i != argc - 1) {
        fputs("usage: fleet [--batch N] [--keep] CONFIG\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    bool fine = run(&f, argv[i], (unsigned)batch, keep);
    return fine && !fflush(stdout) ? 0 : 1;
}
