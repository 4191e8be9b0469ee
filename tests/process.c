#include "process.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void program_beside(const char *name, char *out, size_t size)
{
    char exe[4000];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    ck_assert_int_gt(n, 0);
    exe[n] = '\0';
    *strrchr(exe, '/') = '\0';
    char *libs = strstr(exe, "/.libs");
    if (libs)
        *libs = '\0';
    snprintf(out, size, "%s/%s", exe, name);
}

static void run_apart(const char *const *argv, int in, int out)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        pid_t inner = fork();
        if (inner != 0)
            _exit(inner < 0);
        if (in >= 0)
            dup2(in, STDIN_FILENO);
        dup2(out, STDOUT_FILENO);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

void program_apart(const char *const *argv, int *lifeline, char *line, size_t size)
{
    int in[2] = {-1, -1}, out[2];
    size_t n = 0;

    if (lifeline)
        ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    run_apart(argv, in[0], out[1]);
    close(out[1]);
    if (lifeline) {
        close(in[0]);
        *lifeline = in[1];
    }
    do
        ck_assert_msg(n < size - 1 && read(out[0], line + n, 1) == 1, "%s does not start",
                      argv[0]);
    while (line[n++] != '\n');
    line[n] = '\0';
    close(out[0]);
}

unsigned open_fds(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

unsigned alive(const char *name)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc");
    struct dirent *d;

    ck_assert_ptr_nonnull(dir);
    while ((d = readdir(dir))) {
        char path[300], comm[64] = "";
        snprintf(path, sizeof path, "/proc/%s/comm", d->d_name);
        FILE *f = d->d_name[0] >= '0' && d->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (f && fgets(comm, sizeof comm, f))
            comm[strcspn(comm, "\n")] = '\0';
        if (f)
            fclose(f);
        n += strcmp(comm, name) == 0;
    }
    closedir(dir);
    return n;
}
