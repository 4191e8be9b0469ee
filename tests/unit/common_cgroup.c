#include "../../plugins/common/cgroup.h"
#include "../../plugins/common/mark.h"
#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Our own cgroup; -1: where the tests run it belongs to another user, or there is none.
 */
static int own = -1;
static char mark[MARK_LEN + 1], name[sizeof "mcplug-" + MARK_LEN];

static void set_up(void)
{
    bool has_proc;
    own = cgroup_open_own(&has_proc);
    ck_assert(has_proc);
    ck_assert(mark_make(mark));
    snprintf(name, sizeof name, "mcplug-%s", mark);
}

static void tear_down(void)
{
    if (own >= 0) {
        ck_assert(cgroup_end(own, mark));
        close(own);
    }
}

static bool exists(void)
{
    return faccessat(own, name, F_OK, 0) == 0;
}

/* A child that waits, in the cgroup. It has no descriptor of that, which would keep the
 * lock. */
static pid_t start(void)
{
    char procs[sizeof name + sizeof "/cgroup.procs"];
    snprintf(procs, sizeof procs, "%s/cgroup.procs", name);
    int fd = openat(own, procs, O_WRONLY | O_CLOEXEC), ready[2];
    char end;
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        for (int i = 3; i < 64; i++)
            if (i != ready[1])
                close(i);
        close(ready[1]);
        alarm(60);
        for (;;)
            pause();
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &end, 1), 0); /* it has closed all, this last */
    close(ready[0]);
    ck_assert_int_gt(dprintf(fd, "%d", (int)pid), 0);
    close(fd);
    return pid;
}

static void check_killed(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

START_TEST(our_own_keeps_away_from_the_standard_streams)
{
    bool has_proc;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
        int fd = cgroup_open_own(&has_proc);
        int made = own >= 0 ? cgroup_make(fd, mark) : -1;
        _exit((fd >= 0 && fd <= 2) || (made >= 0 && made <= 2));
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(an_end_kills_what_is_inside)
{
    if (own < 0)
        return;
    int cgroup = cgroup_make(own, mark);
    ck_assert_int_gt(cgroup, 2);
    ck_assert(exists());
    pid_t pid = start();
    ck_assert(cgroup_end(own, mark));
    ck_assert(!exists());
    check_killed(pid);
    ck_assert(cgroup_end(own, mark)); /* what is gone has ended */
    close(cgroup);
}
END_TEST

START_TEST(only_what_nobody_has_locked_is_left_over)
{
    if (own < 0)
        return;
    int cgroup = cgroup_make(own, mark);
    ck_assert_int_gt(cgroup, 2);
    pid_t pid = start();
    cgroup_end_stale(own, false);
    ck_assert(exists());
    ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
    close(cgroup);
    cgroup_end_stale(own, false);
    check_killed(pid);
    cgroup_end_stale(own, false); /* what was still dying is removed by the next */
    ck_assert(!exists());
}
END_TEST

START_TEST(other_names_are_left_alone)
{
    static const char *const others[] = {"mcplug-", "mcplug-0", "mcplug-test.scope"};
    if (own < 0)
        return;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char other[64];
        snprintf(other, sizeof other, "%s-%d", others[i], (int)getpid());
        ck_assert_int_eq(mkdirat(own, other, 0755), 0);
        cgroup_end_stale(own, false);
        ck_assert_int_eq(unlinkat(own, other, AT_REMOVEDIR), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common_cgroup");
    TCase *t = tcase_create("cgroup");
    bool has_proc;
    int here = cgroup_open_own(&has_proc);
    if (here < 0)
        puts("skipped: our own cgroup belongs to another user, or there is none");
    else
        close(here);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, our_own_keeps_away_from_the_standard_streams);
    tcase_add_test(t, an_end_kills_what_is_inside);
    tcase_add_test(t, only_what_nobody_has_locked_is_left_over);
    tcase_add_test(t, other_names_are_left_alone);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
