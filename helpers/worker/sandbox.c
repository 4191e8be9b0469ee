#include "helpers/worker/sandbox.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "base/error.h"
#include "base/mem.h"
#include "convert/message.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <fcntl.h>
#include <seccomp.h>
#endif

#define MEMORY ((rlim_t)1 << 30)
/* Files in memory are not in that, but no one of them is larger than an output. */
#define DESCRIPTORS 16
#define CPU_SECONDS 120 /* of its life; it is replaced before (main.c) */

/* The sanitizer's own memory is beyond any limit. */
#if defined __SANITIZE_ADDRESS__
#define IS_SANITIZED true
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

/* `more`: what is left between the signal and the end. */
static void limit(int what, rlim_t value, rlim_t more)
{
    struct rlimit now;

    if (getrlimit((__rlimit_resource_t)what, &now) == 0 &&
        now.rlim_max != RLIM_INFINITY && now.rlim_max < value + more) {
        value = now.rlim_max;
        more = 0;
    }
    setrlimit((__rlimit_resource_t)what, &(struct rlimit){value, value + more});
}

void worker_set_limits(void)
{
    if (!IS_SANITIZED)
        limit(RLIMIT_AS, MEMORY, 0);
    limit(RLIMIT_CPU, CPU_SECONDS, 5);
    limit(RLIMIT_FSIZE, MP_CONVERT_OUTPUT + 4096, 0);
    limit(RLIMIT_CORE, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* others cannot attach to it */
}

/* ---- Landlock: files, and connections where the kernel knows them ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

/* As the kernel has it. Headers of distributions are older than kernels, so the bits are
 * named here: all that there were up to each version. */
struct ruleset {
    uint64_t files, net, scopes;
};

static void lock_files(void)
{
    static const struct ruleset all[] = {
        {(1 << 13) - 1, 0, 0}, {(1 << 14) - 1, 0, 0}, {(1 << 15) - 1, 0, 0},
        {(1 << 15) - 1, 3, 0}, {(1 << 16) - 1, 3, 0}, {(1 << 16) - 1, 3, 3},
    };
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

    if (version < 1)
        return;
    size_t i = (size_t)version > MP_COUNT(all) ? MP_COUNT(all) - 1 : (size_t)version - 1;
    size_t size = version < 4 ? 8 : version < 6 ? 16 : 24;
    long fd = syscall(SYS_landlock_create_ruleset, &all[i], size, 0);
    if (fd < 0)
        return;
    syscall(SYS_landlock_restrict_self, fd, 0);
    close((int)fd);
}

/* ---- seccomp: what the process may ask of the system at all ---- */

#ifdef HAVE_SECCOMP

/* Memory, time, its threads, and files that are open. */
static const int allowed[] = {
    SCMP_SYS(brk),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(close),
    SCMP_SYS(dup),
    SCMP_SYS(eventfd2),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(fstat),
    SCMP_SYS(fstatfs),
    SCMP_SYS(ftruncate),
    SCMP_SYS(futex),
    SCMP_SYS(getcpu),
    SCMP_SYS(getpid),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),
    SCMP_SYS(gettid),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(lseek),
    SCMP_SYS(madvise),
    SCMP_SYS(membarrier),
    SCMP_SYS(memfd_create),
    SCMP_SYS(mmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(mremap),
    SCMP_SYS(munmap),
    SCMP_SYS(nanosleep),
    SCMP_SYS(pipe2),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(pread64),
    SCMP_SYS(preadv),
    SCMP_SYS(pwrite64),
    SCMP_SYS(pwritev),
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(rseq),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_yield),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(sysinfo),
    SCMP_SYS(time),
    SCMP_SYS(uname),
    SCMP_SYS(write),
    SCMP_SYS(writev),
};

/* One call, if its argument `arg` has these bits of `mask`. */
static int allow_if(scmp_filter_ctx filter, int call, unsigned arg, scmp_datum_t mask,
                    scmp_datum_t bits)
{
    const struct scmp_arg_cmp is = {
        .arg = arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = bits};

    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &is);
}

static int add_rules(scmp_filter_ctx filter, int fd)
{
    const scmp_datum_t all = ~(scmp_datum_t)0;
    const scmp_datum_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
    const struct scmp_arg_cmp is_abort[] = {
        {.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)getpid()},
        {.arg = 2, .op = SCMP_CMP_EQ, .datum_a = SIGABRT}};
    int r = 0;

    for (size_t i = 0; i < MP_COUNT(allowed); i++)
        r |= seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
    r |= allow_if(filter, SCMP_SYS(clone), 0, thread, thread);
    /* What it is asked for cannot be seen here; without it libraries use the former. */
    r |=
        seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, NULL);
    r |= allow_if(filter, SCMP_SYS(recvmsg), 0, all, (scmp_datum_t)fd);
    r |= allow_if(filter, SCMP_SYS(sendmsg), 0, all, (scmp_datum_t)fd);
    r |= allow_if(filter, SCMP_SYS(fcntl), 1, all, F_GETFL);
    r |= allow_if(filter, SCMP_SYS(fcntl), 1, all, F_GETFD);
    r |= allow_if(filter, SCMP_SYS(fcntl), 1, all, F_DUPFD_CLOEXEC);
    r |= seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 2, is_abort);
    r |= allow_if(filter, SCMP_SYS(prctl), 0, all, PR_SET_NAME);
    return r;
}

static int lock_calls(int fd, struct mcplug_error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = filter ? add_rules(filter, fd) : -ENOMEM;

    if (!r)
        r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* all threads */
    if (!r)
        r = seccomp_load(filter);
    if (filter)
        seccomp_release(filter);
    return r ? mp_fail_os(err, MCPLUG_ENOTSUP, r < 0 ? -r : EINVAL,
                          "the converter's process cannot be locked in (seccomp)")
             : MCPLUG_OK;
}

#else

static int lock_calls(int fd, struct mcplug_error *err)
{
    (void)fd;
    return mp_fail(
        err, MCPLUG_ENOTSUP,
        "mcplug-worker was built without libseccomp, and cannot lock itself in");
}

#endif

int worker_lock(int fd, struct mcplug_error *err)
{
    limit(RLIMIT_NOFILE, DESCRIPTORS, 0); /* the module has read its files by now */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return mp_fail_os(err, MCPLUG_ENOTSUP, errno,
                          "the converter's process cannot be locked in");
    lock_files();
    return lock_calls(fd, err);
}
