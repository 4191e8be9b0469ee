/* mcplug-results.c - long results as an agent gets them, through a toolbox.
 *
 *   mcplug-results [-n CALLS] TOOL BYTES SERVER [ARG]...
 *   mcplug-results --run COMMAND [ARG]...
 *
 * Calls the tool of a server such as result-server.c, so many times over one connection,
 * and prints a JSON object: of the last call
 *
 *   ms          until the record was there: received, kept in a file, looked at
 *   cpu_ms      of this process
 *   stored      the file; null: none
 *   tokens      of what a model gets
 *
 * and of the process peak_kb, the most memory that it ever had, and rss_kb, what it has
 * at the end, with all records freed. Settings are the defaults.
 *
 * --run runs a command and prints its ms and peak_kb on standard error.
 */
#include "client.h"

#include <mcplug/mcplug.h>

#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "mcplug-results: %s: %s\n", what, why);
    exit(1);
}

static mcplug_toolbox *box_of(mcplug *host, char **server)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_toolbox *box = mcplug_toolbox_new(host, NULL, &err);
    mcplug_settings *s = mcplug_settings_new("stdio");
    size_t ready = 0, failed = 0;

    mcplug_settings_set(s, "command", server[0]);
    for (char **arg = server + 1; *arg; arg++)
        mcplug_settings_add(s, "args", *arg);
    if (!box || mcplug_toolbox_add(box, "bench", s, NULL, &err) != MCPLUG_OK ||
        mcplug_toolbox_warm_up_wait(box, &ready, &failed, &err) != MCPLUG_OK)
        die(server[0], err.text);
    if (ready != 1)
        die(server[0], "cannot be connected to");
    mcplug_settings_free(s);
    return box;
}

/* give; NULL: it was not stored */
static char *call(mcplug_toolbox *box, const char *tool, const char *arguments,
                  uint64_t *tokens)
{
    struct mcplug_rendering_info info = {.struct_size = sizeof info};
    const struct mcplug_record *record = NULL;
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    char name[128];

    snprintf(name, sizeof name, "mcp__bench__%s", tool);
    if (mcplug_toolbox_call_wait(box, name, arguments, NULL, &record, &err) != MCPLUG_OK)
        die(name, err.text);
    if (!record->ok)
        die(name, record->result);
    mcplug_rendering_info(record->content, &info);
    char *stored = info.stored ? strdup(info.stored) : NULL;
    *tokens = info.tokens;
    mcplug_record_unref(record);
    return stored;
}

static int measure(long calls, const char *tool, const char *bytes, char **server)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug *host = mcplug_new(NULL, &err);
    char arguments[64], *stored = NULL;
    uint64_t tokens = 0;
    double ms = 0, cpu = 0;

    if (!host)
        die("mcplug_new", err.text);
    mcplug_toolbox *box = box_of(host, server);
    snprintf(arguments, sizeof arguments, "{\"bytes\":%.20s}", bytes);
    for (long i = 0; i < calls; i++) {
        free(stored);
        double begun = now_us(), used = cpu_us();
        stored = call(box, tool, arguments, &tokens);
        ms = (now_us() - begun) / 1000;
        cpu = (cpu_us() - used) / 1000;
    }
    uint64_t few;
    free(call(box, "text", "{\"bytes\":80}", &few)); /* the session is as it was */
    printf("{\"ms\":%.2f,\"cpu_ms\":%.2f,\"peak_kb\":%ld,\"rss_kb\":%ld,\"tokens\":%llu,"
           "\"stored\":%s%s%s}\n",
           ms, cpu, status_kb("VmHWM"), status_kb("VmRSS"), (unsigned long long)tokens,
           stored ? "\"" : "", stored ? stored : "null", stored ? "\"" : "");
    free(stored);
    mcplug_free(host);
    return 0;
}

static int run(char **argv)
{
    double begun = now_us();
    struct rusage usage;
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        die(argv[0], "cannot be run");
    fprintf(stderr, "{\"ms\":%.0f,\"peak_kb\":%ld}\n", (now_us() - begun) / 1000,
            usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    long calls = 1;

    if (argc > 2 && !strcmp(argv[1], "--run"))
        return run(argv + 2);
    if (argc > 2 && !strcmp(argv[1], "-n")) {
        calls = strtol(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    if (argc < 4 || calls < 1) {
        fputs("usage: mcplug-results [-n CALLS] TOOL BYTES SERVER [ARG]...\n"
              "       mcplug-results --run COMMAND [ARG]...\n",
              stderr);
        return 2;
    }
    return measure(calls, argv[1], argv[2], argv + 3);
}
