/* The system has no more to give: descriptors, processes, room on a disk. */
#include "matrix.h"
#include "matrix_kit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes the place of the C library's, for modules too. */
static int spawn_fails; /* an errno */

typedef int spawn_fn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *acts,
                     const posix_spawnattr_t *attr, char *const argv[],
                     char *const envp[]);

__attribute__((visibility("default"))) int
posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *acts,
            const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    spawn_fn *real;

    *(void **)&real = dlsym(RTLD_NEXT, "posix_spawn");
    return spawn_fails ? spawn_fails : real(pid, path, acts, attr, argv, envp);
}

static void limit(int what, rlim_t n)
{
    struct rlimit l;

    ck_assert_int_eq(getrlimit(what, &l), 0);
    l.rlim_cur = n < l.rlim_max ? n : l.rlim_max;
    ck_assert_int_eq(setrlimit(what, &l), 0);
}

static int highest_fd(void)
{
    int highest = 0;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            highest = fd;
    return highest;
}

/* So many have failed, and the next one is not yet due. */
static bool attempts(struct rig *r, unsigned n)
{
    struct mcplug_status s = rig_status(r);
    return s.starts >= n && s.state == MCPLUG_STATE_WAITING;
}

/* The limit is on numbers: what is below the highest is taken first. */
static unsigned take_all(int fds[1024])
{
    unsigned n = 0;
    while (n < 1024 && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    return n;
}

START_TEST(without_descriptors_attempts_fail_with_the_reason_and_go_on)
{
    enum wire wire = (enum wire)_i;
    struct rig *r = rig_new(wire, "");
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    int fds[1024];

    rig_add(r);
    UNTIL(r, 10000, r->users[0].ready); /* modules and their libraries are there */
    rig_good(r);
    limit(RLIMIT_NOFILE, (rlim_t)highest_fd() + 1);
    unsigned n = take_all(fds);
    ck_assert_uint_lt(n, 1024);
    mcplug_restart(r->users[0].server, &err);
    struct shot *s = rig_fire(r, 0, "good", 3, 30000);
    for (int i = 0; i < 6 && !attempts(r, 2) && !s[2].ended; i++)
        rig_run(r, 100);
    limit(RLIMIT_NOFILE, 1024);
    for (unsigned i = 0; i < n; i++)
        close(fds[i]);
    if (rig_is(r, MCPLUG_STATE_WAITING))
        mcplug_restart(r->users[0].server, &err);
    UNTIL(r, 20000, rig_done(r)); /* in their time, or not at all: but they end */
    UNTIL(r, 20000, rig_is(r, MCPLUG_STATE_READY));
    rig_good(r);
    if (wire == STDIO) {
        ck_assert_msg(rig_logged(r, "Too many open files") > 0, "not logged");
        for (int i = 0; i < 3; i++)
            ck_assert_msg(s[i].code == 0, "%s", s[i].text);
    }
    rig_end(r);
}
END_TEST

START_TEST(without_processes_attempts_fail_with_the_reason_and_go_on)
{
    struct rig *r = rig_new(STDIO, "");
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    spawn_fails = _i ? ENOMEM : EAGAIN;
    rig_add(r);
    struct shot *s = rig_fire(r, 0, "good", 3, 30000);
    UNTIL(r, 10000, attempts(r, 3));
    ck_assert_msg(rig_logged(r, "Failed to spawn process") > 0, "not logged");
    ck_assert_ptr_nonnull(rig_status(r).error);
    ck_assert_uint_eq(r->users[0].ready, 0);
    spawn_fails = 0;
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    UNTIL(r, 20000, rig_done(r) && r->users[0].ready);
    ck_assert_int_eq(s[2].code, 0);
    ck_assert_int_eq(r->users[0].why.code, 0);
    spawn_fails = EAGAIN; /* and once it was up */
    rig_kill(r);
    UNTIL(r, 10000, rig_is(r, MCPLUG_STATE_WAITING));
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    UNTIL(r, 10000, attempts(r, 5));
    spawn_fails = 0;
    ck_assert_int_eq(mcplug_restart(r->users[0].server, &err), 0);
    UNTIL(r, 20000, rig_is(r, MCPLUG_STATE_READY));
    rig_good(r);
    rig_end(r);
}
END_TEST

START_TEST(command_that_is_not_there_is_tried_again_and_again)
{
    struct rig *r = rig_new(STDIO, "");

    mcplug_settings_set(r->settings, "command", "/nonexistent/server");
    rig_add(r);
    struct shot *s = rig_fire(r, 0, "good", 1, 500);
    UNTIL(r, 5000, s->ended);
    ck_assert_int_ne(s->code, 0);
    ck_assert_msg(strstr(s->text, "/nonexistent/server"), "%s", s->text);
    ck_assert_uint_ge(rig_status(r).starts, 1);
    rig_end(r);
}
END_TEST

/* ---- no room ---- */

static void fill(struct rig *r, bool gone)
{
    if (gone) { /* a file where the directory was */
        ck_assert_int_eq(rmdir(r->spill), 0);
        int fd = open(r->spill, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
    } else {
        signal(SIGXFSZ, SIG_IGN);
        limit(RLIMIT_FSIZE, 65536); /* files end there, as they do on a full disk */
    }
}

static void empty(struct rig *r, bool gone)
{
    if (gone) {
        ck_assert_int_eq(unlink(r->spill), 0);
        ck_assert_int_eq(mkdir(r->spill, 0700), 0);
    } else {
        limit(RLIMIT_FSIZE, RLIM_INFINITY);
    }
}

START_TEST(full_disk_fails_the_long_answer_alone)
{
    struct rig *r = rig_new(STDIO, "");

    r->ao.max_memory = 100000;
    rig_add(r);
    UNTIL(r, 10000, r->users[0].ready);
    fill(r, _i);
    struct shot *s = rig_fire(r, 0, "big", 1, 20000);
    rig_good(r);
    UNTIL(r, 20000, s->ended);
    ck_assert_int_ne(s->code, 0);
    ck_assert_int_ne(s->code, MCPLUG_ETIMEDOUT);
    rig_good(r);
    ck_assert_uint_eq(rig_status(r).starts, 1); /* nobody else is any the worse */
    empty(r, _i);
    s = rig_fire(r, 0, "big", 1, 20000);
    UNTIL(r, 20000, s->ended);
    ck_assert_msg(s->code == 0, "%s", s->text);
    rig_good(r);
    rig_end(r);
}
END_TEST

void add_want_tests(Suite *suite)
{
    TCase *t = tcase_create("wanting");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, without_descriptors_attempts_fail_with_the_reason_and_go_on, 0,
                        WIRES);
    tcase_add_loop_test(t, without_processes_attempts_fail_with_the_reason_and_go_on, 0,
                        2);
    tcase_add_test(t, command_that_is_not_there_is_tried_again_and_again);
    tcase_add_loop_test(t, full_disk_fails_the_long_answer_alone, 0, 2);
    suite_add_tcase(suite, t);
}
