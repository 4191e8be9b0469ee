#include "cli/base/batch.h"

#include "cli/base/message.h"

#include <stdio.h>
#include <string.h>

#define BATCH_SIZE "MCP_SERVER_CONNECTION_BATCH_SIZE"

size_t cli_batch_size(void)
{
    int wrong;
    unsigned n = mcplug_batch_size(&wrong);
    char line[160];

    snprintf(line, sizeof line, BATCH_SIZE " is a number from 1 to %d; it is taken as %u",
             MCPLUG_BATCH_MAX, n);
    if (wrong)
        cli_log_line(MCPLUG_LOG_WARN, "config", line);
    return n;
}

bool cli_batch_may_begin(struct cli_batch *b)
{
    while (b->next < b->n && !b->waits(b->arg, b->next))
        b->next++;
    return !b->stopped && b->next < b->n && b->n_running < b->size;
}

bool cli_batch_begin(struct cli_batch *b)
{
    if (!cli_batch_may_begin(b))
        return false;
    size_t i = b->next++;
    b->running[b->n_running++] = i;
    if (!b->begin(b->arg, i))
        cli_batch_done(b, i);
    return cli_batch_may_begin(b);
}

void cli_batch_done(struct cli_batch *b, size_t i)
{
    size_t k = 0;

    while (k < b->n_running && b->running[k] != i)
        k++;
    if (k == b->n_running)
        return;
    b->n_running--;
    memmove(&b->running[k], &b->running[k + 1], (b->n_running - k) * sizeof *b->running);
}
