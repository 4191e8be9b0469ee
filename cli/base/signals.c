#include "cli/base/signals.h"

#include "cli/base/failure.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <ucontext.h>
#include <unistd.h>

/* Runs only while a write of ours blocks, or before a command has a descriptor through
 * which it sees the signal. */
static void leave_at_once(int number)
{
    cli_failure_signal(number);
    _exit(CLI_SIGNAL + number);
}

/* Runs only while a write of ours blocks. The signal is blocked again, and comes once
 * more: through the descriptor. */
static void put_off(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    (void)info;

    sigaddset(&interrupted->uc_sigmask, number);
    raise(number);
}

/* Whoever started us with a signal ignored, as shells do with SIGINT for what runs in
 * the background, wants it that way. */
static void handle_with(int number, const struct sigaction *how, sigset_t *set)
{
    struct sigaction old;

    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
        return;
    if (how)
        sigaction(number, how, NULL);
    sigaddset(set, number);
}

static void handle(int number, sigset_t *set)
{
    static const struct sigaction at_once = {.sa_handler = leave_at_once};
    handle_with(number, &at_once, set);
}

void cli_signals_leave(void)
{
    sigset_t set;
    sigemptyset(&set);
    handle(SIGINT, &set);
    handle(SIGTERM, &set);
}

int cli_signals_open(void)
{
    sigset_t set;
    sigemptyset(&set);
    handle(SIGINT, &set);
    handle(SIGTERM, &set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int cli_signals_open_terminal(void)
{
    static const struct sigaction later = {.sa_sigaction = put_off,
                                           .sa_flags = SA_SIGINFO};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCONT);
    handle_with(SIGINT, &later, &set);
    handle_with(SIGTERM, &later, &set);
    handle_with(SIGHUP, NULL, &set);
    handle_with(SIGQUIT, NULL, &set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void cli_signals_suspend(void)
{
    struct sigaction usual = {.sa_handler = SIG_DFL}, before;
    sigset_t set;

    sigaction(SIGTSTP, &usual, &before);
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* here we stand still */
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGTSTP, &before, NULL);
}

int cli_signals_read(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}
