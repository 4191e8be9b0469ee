/* One peer that answers nothing, or floods us, must not take all descriptors of the
 * process: what goes beyond the host's share waits, but a few requests of each client. */
#include "client.h"

#include <sys/resource.h>

void fetch_share_init(struct fetch_module *module)
{
    struct rlimit files;
    rlim_t share = FETCH_SHARE_MIN;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        share = files.rlim_cur / 4;
    module->share = share < FETCH_SHARE_MIN   ? FETCH_SHARE_MIN
                    : share > FETCH_SHARE_MAX ? FETCH_SHARE_MAX
                                              : (size_t)share;
    module->waiting.last = &module->waiting.first;
}

void fetch_share_clear(struct fetch_module *module)
{
    if (module->timer != NULL)
        module->host->loop->timer_stop(module->timer);
    module->timer = NULL;
}

static int may_begin(const struct mcplug_fetch_client *client)
{
    return client->module->n_begun < client->module->share ||
           client->n_begun < FETCH_RESERVED;
}

static void leave_queue(struct mcplug_fetch_request *f)
{
    struct fetch_waiting *waiting = &f->client->module->waiting;
    if (f->before == NULL)
        return;
    *f->before = f->later;
    if (f->later != NULL)
        f->later->before = f->before;
    else
        waiting->last = f->before;
    f->before = NULL;
}

static void have_turn(struct mcplug_fetch_request *f)
{
    leave_queue(f);
    f->has_turn = 1;
    f->client->n_begun++;
    f->client->module->n_begun++;
}

int fetch_share_take(struct mcplug_fetch_request *f)
{
    struct fetch_waiting *waiting = &f->client->module->waiting;
    if (may_begin(f->client)) {
        have_turn(f);
        return 1;
    }
    f->later = NULL;
    f->before = waiting->last;
    *waiting->last = f;
    waiting->last = &f->later;
    return 0;
}

/* The first whose turn it is. */
static struct mcplug_fetch_request *next_of(const struct fetch_module *module)
{
    struct mcplug_fetch_request *f = module->waiting.first;
    while (f != NULL && (f->stopped || !may_begin(f->client)))
        f = f->later;
    return f;
}

static void on_turn(void *arg)
{
    struct fetch_module *module = arg;
    struct mcplug_fetch_request *f;
    module->timer = NULL;
    while ((f = next_of(module)) != NULL) { /* what is told may end others */
        have_turn(f);
        fetch_begin(f);
    }
}

/* Those that wait do not begin inside of whatever ended this one. */
void fetch_share_give(struct mcplug_fetch_request *f)
{
    struct fetch_module *module = f->client->module;
    leave_queue(f);
    if (!f->has_turn)
        return;
    f->has_turn = 0;
    f->client->n_begun--;
    module->n_begun--;
    if (module->waiting.first != NULL && module->timer == NULL)
        module->timer = module->host->loop->timer_start(module->self, 0, on_turn, module);
}

int fetch_share_is_exceeded(const struct mcplug_fetch_request *f)
{
    return f->client->module->n_connected >= f->client->module->share;
}
