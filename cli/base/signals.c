#include "cli/base/signals.h"

#include "cli/base/failure.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Runs only while a write of ours blocks, or before a command has a descriptor through
 * which it sees the signal. */
static void leave_at_once(int number)
{
    cli_failure_signal(number);
    _exit(CLI_SIGNAL + number);
}

/* Whoever started us with a signal ignored, as shells do with SIGINT for what runs in
 * the background, wants it that way. */
static void handle(int number, sigset_t *set)
{
    struct sigaction at_once = {.sa_handler = leave_at_once}, old;
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
        return;
    sigaction(number, &at_once, NULL);
    sigaddset(set, number);
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

int cli_signals_read(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}
