/* What libuv would end the process for: core/loop/loop.c has the list. Functions of libc
 * are replaced, so that they fail on demand, in libuv as well. */
#include "fake.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in place of libc's ---- */

static int fail_add; /* errno of epoll_ctl(EPOLL_CTL_ADD); 0: none */
static bool fail_threads;

int epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD && fail_add) {
        errno = fail_add;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epoll_fd, op, fd, event);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                   void *arg)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return fail_threads ? EAGAIN : next(thread, attr, fn, arg);
}

/* ---- kit ---- */

static struct mp_loop *loop;
static unsigned n_called;

static void begin(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    loop = mp_loop_new(&err);
    ck_assert_msg(loop != NULL, "%s", err.text);
}

static void count(void *arg)
{
    (void)arg;
    n_called++;
}

static void count_event(void *arg, unsigned events)
{
    (void)arg, (void)events;
    n_called++;
}

static int open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void close_standard(void)
{
    for (int fd = 0; fd < 3; fd++)
        close(fd);
}

static void check_standard_closed(void)
{
    for (int fd = 0; fd < 3; fd++)
        ck_assert_msg(fcntl(fd, F_GETFD) < 0, "descriptor %d is in use", fd);
}

static bool ends_well(pid_t pid)
{
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- descriptors ---- */

START_TEST(a_loop_that_gets_no_descriptors_fails_and_leaves_none_open)
{
    struct rlimit limit;
    int before = open_fds();

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t most = limit.rlim_cur;
    for (rlim_t few = 0; few < 64 && !loop; few++) {
        struct mcplug_error err = MCPLUG_ERROR_INIT;
        limit.rlim_cur = few;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        loop = mp_loop_new(&err);
        limit.rlim_cur = most;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        if (!loop) {
            ck_assert_int_eq(err.code, MCPLUG_EIO);
            ck_assert_int_eq(err.os_error, EMFILE);
            ck_assert_int_eq(open_fds(), before);
        }
    }
    ck_assert_ptr_nonnull(loop);
    mp_loop_free(loop);
}
END_TEST

START_TEST(a_loop_keeps_away_from_0_1_and_2)
{
    close_standard();
    begin();
    check_standard_closed();
    ck_assert_int_gt(mp_loop_fd(loop), 2);
    check_standard_closed();
    mp_loop_post(loop, count, NULL);
    mp_loop_settle(loop);
    ck_assert_uint_eq(n_called, 1);
    mp_loop_free(loop);
    check_standard_closed();
}
END_TEST

START_TEST(a_child_without_0_1_and_2_can_fork_again)
{
    begin();
    close_standard();
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 ? 0 : 1);
        int status;
        _exit(waitpid(grandchild, &status, 0) == grandchild && status == 0 ? 0 : 1);
    }
    ck_assert(ends_well(child));
    mp_loop_free(loop);
}
END_TEST

/* ---- watches ---- */

START_TEST(a_descriptor_that_epoll_refuses_is_refused_when_it_is_watched)
{
    int ends[2];

    begin();
    ck_assert_int_eq(pipe(ends), 0);
    struct mp_watch *watch = mp_watch_start(loop, ends[0], 0, count_event, NULL);
    ck_assert_ptr_nonnull(watch);
    fail_add = ENOSPC; /* more than fs.epoll.max_user_watches */
    ck_assert_int_eq(mp_watch_update(watch, MP_READABLE), -ENOSPC);
    ck_assert_ptr_null(mp_watch_start(loop, ends[1], MP_WRITABLE, count_event, NULL));
    ck_assert_int_eq(errno, ENOSPC);
    mp_loop_turn(loop, false);
    fail_add = 0;
    ck_assert_int_eq(mp_watch_update(watch, MP_READABLE), 0);
    ck_assert_int_eq(write(ends[1], "x", 1), 1);
    mp_loop_turn(loop, true);
    ck_assert_uint_eq(n_called, 1);
    mp_watch_stop(watch);
    mp_loop_free(loop);
}
END_TEST

/* The table of libuv would have to grow by more than there is. */
START_TEST(a_descriptor_whose_number_is_too_high_for_the_memory_is_refused)
{
    struct rlimit limit, memory;
    unsigned long pages = 0;
    int ends[2];

    begin();
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int high = fcntl(ends[0], F_DUPFD_CLOEXEC, 19000);
    if (high < 0) /* there are no such numbers here */
        return;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &memory), 0);
    memory.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (64 << 10);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &memory), 0);
    struct mp_watch *watch = mp_watch_start(loop, high, MP_READABLE, count_event, NULL);
    int os_error = errno;
    memory.rlim_cur = memory.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &memory), 0);
    ck_assert_ptr_null(watch);
    ck_assert_int_eq(os_error, ENOMEM);
    mp_loop_free(loop);
}
END_TEST

/* ---- descriptors that somebody else closes ---- */

static void check_broken(void)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;

    ck_assert_int_eq(mp_loop_intact(loop, &err), MCPLUG_EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "were closed"));
    mp_loop_wake(loop); /* does not write into what has the number now */
    mp_loop_post(loop, count, NULL);
}

START_TEST(a_loop_whose_epoll_was_closed_says_so)
{
    begin();
    ck_assert_int_eq(mp_loop_intact(loop, NULL), MCPLUG_OK);
    close(mp_loop_fd(loop));
    check_broken();
}
END_TEST

START_TEST(a_loop_whose_epoll_became_another_file_says_so)
{
    int ends[2];

    begin();
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_ge(dup2(ends[0], mp_loop_fd(loop)), 0);
    check_broken();
}
END_TEST

START_TEST(a_loop_whose_epoll_became_another_epoll_says_so)
{
    begin();
    ck_assert_int_ge(dup2(epoll_create1(EPOLL_CLOEXEC), mp_loop_fd(loop)), 0);
    check_broken();
}
END_TEST

START_TEST(a_loop_whose_descriptors_were_all_closed_says_so)
{
    begin();
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    check_broken();
}
END_TEST

/* ---- fork ---- */

static void *run_loop(void *arg)
{
    (void)arg;
    mp_loop_run(loop);
    return NULL;
}

START_TEST(a_loop_knows_that_it_was_forked)
{
    for (int running = 0; running < 2; running++) {
        pthread_t thread;
        begin();
        if (running) {
            ck_assert_int_eq(pthread_create(&thread, NULL, run_loop, NULL), 0);
            while (!mp_loop_is_running(loop))
                sched_yield();
        }
        ck_assert_int_eq(mp_loop_here(loop), !running);
        pid_t child = fork();
        if (child == 0) {
            struct mcplug_error err = MCPLUG_ERROR_INIT;
            bool refused = !mp_loop_here(loop) && mp_loop_forked(loop) &&
                           mp_loop_check(loop, &err) == MCPLUG_EINVAL &&
                           strstr(err.text, "fork()");
            _exit(refused ? 0 : 1);
        }
        ck_assert(ends_well(child));
        ck_assert(!mp_loop_forked(loop));
        if (running) {
            mp_loop_stop(loop);
            pthread_join(thread, NULL);
        }
        mp_loop_free(loop);
    }
}
END_TEST

/* ---- threads ---- */

static atomic_uint n_at_once, most_at_once, n_run;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void pass_gate(void *arg)
{
    (void)arg;
    unsigned n = atomic_fetch_add(&n_at_once, 1) + 1, most = atomic_load(&most_at_once);
    while (n > most && !atomic_compare_exchange_weak(&most_at_once, &most, n)) {
    }
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    atomic_fetch_sub(&n_at_once, 1);
    atomic_fetch_add(&n_run, 1);
}

static void on_done(void *arg, int status)
{
    (void)arg;
    ck_assert_int_eq(status, MCPLUG_OK);
    n_called++;
}

START_TEST(work_runs_on_four_threads_at_most_and_all_of_it_is_done)
{
    begin();
    pthread_mutex_lock(&gate);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(mp_loop_work(loop, pass_gate, on_done, NULL), MCPLUG_OK);
    while (atomic_load(&n_at_once) < 4)
        sched_yield();
    ck_assert_uint_eq(n_called, 0);
    pthread_mutex_unlock(&gate);
    mp_loop_settle(loop);
    ck_assert_uint_eq(n_called, 100);
    ck_assert_uint_eq(atomic_load(&n_run), 100);
    ck_assert_uint_eq(atomic_load(&most_at_once), 4);
    mp_loop_free(loop);
}
END_TEST

START_TEST(work_without_a_thread_fails_and_is_left_to_others_if_there_are_some)
{
    begin();
    fail_threads = true;
    ck_assert_int_eq(mp_loop_work(loop, pass_gate, on_done, NULL), MCPLUG_EIO);
    mp_loop_settle(loop);
    fail_threads = false;
    pthread_mutex_lock(&gate);
    ck_assert_int_eq(mp_loop_work(loop, pass_gate, on_done, NULL), MCPLUG_OK);
    fail_threads = true;
    ck_assert_int_eq(mp_loop_work(loop, pass_gate, on_done, NULL), MCPLUG_OK);
    ck_assert_int_eq(mp_loop_work(loop, pass_gate, on_done, NULL), MCPLUG_OK);
    pthread_mutex_unlock(&gate);
    mp_loop_settle(loop);
    ck_assert_uint_eq(n_called, 3);
    ck_assert_uint_eq(atomic_load(&most_at_once), 1);
    ck_assert_int_eq(mp_loop_work(loop, pass_gate, on_done, NULL), MCPLUG_EIO);
    mp_loop_free(loop);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop_guard");
    TCase *t = tcase_create("guard");
    tcase_add_test(t, a_loop_that_gets_no_descriptors_fails_and_leaves_none_open);
    tcase_add_test(t, a_loop_keeps_away_from_0_1_and_2);
    tcase_add_test(t, a_child_without_0_1_and_2_can_fork_again);
    tcase_add_test(t, a_descriptor_that_epoll_refuses_is_refused_when_it_is_watched);
#ifndef __SANITIZE_ADDRESS__ /* which has an allocator of its own, as valgrind has */
    if (!getenv("MCPLUG_TEST_VALGRIND"))
        tcase_add_test(t,
                       a_descriptor_whose_number_is_too_high_for_the_memory_is_refused);
#endif
    tcase_add_test(t, a_loop_whose_epoll_was_closed_says_so);
    tcase_add_test(t, a_loop_whose_epoll_became_another_file_says_so);
    tcase_add_test(t, a_loop_whose_epoll_became_another_epoll_says_so);
    tcase_add_test(t, a_loop_whose_descriptors_were_all_closed_says_so);
    tcase_add_test(t, a_loop_knows_that_it_was_forked);
    tcase_add_test(t, work_runs_on_four_threads_at_most_and_all_of_it_is_done);
    tcase_add_test(t,
                   work_without_a_thread_fails_and_is_left_to_others_if_there_are_some);
    suite_add_tcase(suite, t);
    return run_to_end(suite);
}
