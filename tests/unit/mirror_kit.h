/* For the suites about arguments that go beside a call as headers: x-mcp-header. */
#ifndef MIRROR_KIT_H
#define MIRROR_KIT_H

#include "fake.h"

#include <stdio.h>

static struct fake f;
static struct outcome o;

struct got {
    unsigned times;
    int code;
    size_t count;
    char names[256]; /* "a b c" */
};

static inline void on_list(void *arg, mcplug_list *list, const struct mcplug_error *why)
{
    struct got *g = arg;
    g->times++;
    g->code = why ? why->code : 0;
    g->count = list ? mcplug_list_count(list) : 0;
    for (size_t i = 0; i < g->count; i++) {
        size_t n = strlen(g->names);
        ck_assert_ptr_nonnull(mcplug_list_item(list, i, NULL));
        snprintf(g->names + n, sizeof g->names - n, "%s%s", i ? " " : "",
                 mcplug_list_name(list, i));
    }
}

static inline void start(bool modern, uint32_t caps)
{
    memset(&o, 0, sizeof o);
    fake_init(&f);
    f.ops.caps = caps;
    if (modern)
        fake_modern(&f, NULL, "{\"tools\":{}}");
    else
        fake_legacy(&f, NULL, "{\"tools\":{}}");
}

static inline void say_tools(uint64_t id, const char *tools, const char *more)
{
    fake_sayf(&f, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"tools\":[%s]%s}}",
              ll(id), tools, more);
}

/* Fetches a list of these tools; what the caller got of it. */
static inline struct got list(const char *tools)
{
    struct got g = {0};
    ck_assert_int_eq(mp_lists_get(f.server, MCPLUG_TOOLS, on_list, &g, NULL), 0);
    fake_turn(&f);
    say_tools(fake_expect(&f, "tools/list"), tools, "");
    ck_assert_uint_eq(g.times, 1);
    ck_assert_int_eq(g.code, 0);
    return g;
}

static inline mcplug_call *call(const char *tool, const char *arguments)
{
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    memset(&o, 0, sizeof o);
    mcplug_call *c = fake_call(f.server, tool, arguments, NULL, on_outcome, &o, &err);
    ck_assert_msg(c != NULL, "%s", err.text);
    return c;
}

static inline void say_mismatch(uint64_t id, const char *text)
{
    fake_sayf(&f,
              "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32020,"
              "\"message\":\"%s\"}}",
              ll(id), text);
}

#define TOOL(name, properties)                                                           \
    "{\"name\":\"" name                                                                  \
    "\",\"inputSchema\":{\"type\":\"object\",\"properties\":{" properties "}}}"
#define PROPERTY(name, type, header)                                                     \
    "\"" name "\":{\"type\":\"" type "\",\"x-mcp-header\":\"" header "\"}"
#define REGION TOOL("t", PROPERTY("region", "string", "Region"))
#define GOOD "{\"name\":\"good\",\"inputSchema\":{\"type\":\"object\"}}"

#endif
