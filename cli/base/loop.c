#include "cli/base/loop.h"

#include "base/mem.h"
#include "cli/base/failure.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/base/signals.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

void cli_loop_open(struct cli_loop *l, mcplug *host)
{
    l->host = host;
    l->signal_fd = cli_signals_open();
}

void cli_loop_close(struct cli_loop *l)
{
    if (l->signal_fd >= 0)
        close(l->signal_fd);
    l->signal_fd = -1;
}

void cli_loop_end(struct cli_loop *l, int exit_code)
{
    if (l->ending)
        return;
    l->ending = true;
    l->exit_code = exit_code;
}

void cli_loop_leave(struct cli_loop *l, int exit_code)
{
    cli_status_show(NULL);
    if (l->restore)
        l->restore(l->arg);
    if (cli_kind_of(exit_code) == CLI_KIND_CANCELLED)
        cli_failure_signal(exit_code - CLI_SIGNAL);
    _exit(cli_exit_code(exit_code));
}

void cli_loop_stop(struct cli_loop *l, int number)
{
    l->signal = number;
    l->leave_at = cli_now() + l->leave_ms;
    l->stop(l->arg, number);
}

static void on_signal(struct cli_loop *l)
{
    int number = cli_signals_read(l->signal_fd);

    if (!number || (l->other && l->other(l->arg, number)))
        return;
    if (l->signal || l->ending)
        cli_loop_leave(l, CLI_SIGNAL + number); /* nothing is left to save */
    cli_loop_stop(l, number);
}

static int wait_ms(const struct cli_loop *l, uint64_t due)
{
    int ms = mcplug_timeout(l->host);
    uint64_t now = cli_now();

    if (l->ending && l->leave_at && (!due || l->leave_at < due))
        due = l->leave_at;
    if (due) {
        uint64_t left = due > now ? due - now : 0;
        if (left > INT_MAX)
            left = INT_MAX;
        if (ms < 0 || left < (uint64_t)ms)
            ms = (int)left;
    }
    return ms;
}

void cli_loop_turn(struct cli_loop *l, int fd, short events, uint64_t due)
{
    struct pollfd fds[] = {
        {.fd = mcplug_fd(l->host), .events = POLLIN},
        {.fd = l->signal_fd, .events = POLLIN},
        {.fd = fd, .events = events},
    };

    if (l->ending && l->leave_at && cli_now() >= l->leave_at)
        cli_loop_leave(l, l->exit_code);
    poll(fds, MP_COUNT(fds), wait_ms(l, due));
    if (fds[1].revents)
        on_signal(l);
    if (l->woken)
        l->woken(l->arg, fds[2].revents);
    mcplug_turn(l->host, 0);
}
