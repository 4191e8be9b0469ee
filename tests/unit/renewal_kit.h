/* For the suites about sessions that the server has forgotten. */
#ifndef RENEWAL_KIT_H
#define RENEWAL_KIT_H

#include "fake.h"

#include <stdio.h>

static struct fake f;
static struct outcome o;

#define FORGOTTEN "the server has ended the session (HTTP 404)"

static inline mcplug_call *call_to(const char *tool, const struct mcplug_call_options *co,
                                   mcplug_done_fn *done, struct outcome *out)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    mcplug_call *c = fake_call(f.server, tool, NULL, co, done, out, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    return c;
}

static inline mcplug_call *call(struct outcome *out)
{
    return call_to("t", NULL, on_outcome, out);
}

static inline void say_done(uint64_t id)
{
    char line[128];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
             ll(id));
    fake_say_on(&f, id, line);
}

/* As the transport for HTTP tells it: the exchange that got the answer ends first, the
 * whole of it in the same turn. */
static inline void forget_with(uint64_t exchange)
{
    if (exchange)
        fake_drop_exchange(&f, exchange, MCPLUG_ECLOSED, 0, 404,
                           "HTTP 404: the request was not carried out");
    fake_drop(&f, MCPLUG_ECLOSED, 0, 404, FORGOTTEN);
}

static inline void forget(void)
{
    forget_with(0);
}

static inline void check_books(void)
{
    struct mcplug_ledger l = {.struct_size = sizeof l};
    fake_ledger(f.server, &l);
    ck_assert_uint_eq(l.issued, l.ok + l.tool_error + l.peer_error + l.transport_error +
                                    l.timed_out + l.cancelled + l.under_way);
}

static struct outcome second;
static unsigned retries;

static inline void done_calls_again(void *arg, mcplug_call *c, mcplug_result *result,
                                    const struct mcplug_error *why)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct outcome *out = arg;

    on_outcome(arg, c, result, why);
    if (!why || ++retries > 100)
        return;
    if (!fake_call(f.server, "t", NULL, NULL, done_calls_again, &second, &err)) {
        out->is_error = true;
        second.code = err.code;
    }
}

#endif
