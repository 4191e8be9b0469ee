/* Addresses: any text is either refused with a reason or gives parts that fit. */
#include "../../plugins/socket/address.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char value[4096];

static const char *prop(const mcplug_props *props, const char *name)
{
    (void)props;
    return strcmp(name, "url") == 0 ? value : "";
}

static int fail(struct mcplug_error *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return code;
}

static int64_t prop_int(const mcplug_props *props, const char *name, int64_t fallback)
{
    (void)props, (void)name;
    return fallback;
}

static const char *const *prop_list(const mcplug_props *props, const char *name)
{
    static const char *const none[] = {NULL};
    (void)props, (void)name;
    return none;
}

static const struct mcplug_diag diag = {.struct_size = sizeof diag,
                                        .prop = prop,
                                        .prop_int = prop_int,
                                        .prop_list = prop_list,
                                        .fail = fail};
static const struct mcplug_host host = {.struct_size = sizeof host, .diag = &diag};

static void check(int r, const struct mcplug_error *err, const struct socket_address *a)
{
    if (r != MCPLUG_OK && (err->code != r || !err->text[0]))
        abort();
    if (r == MCPLUG_OK &&
        (!memchr(a->node, 0, sizeof a->node) || !memchr(a->port, 0, sizeof a->port) ||
         !memchr(a->text, 0, sizeof a->text)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= sizeof value)
        return 0;
    memcpy(value, data, size);
    value[size] = '\0';

    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct socket_address a;
    memset(&a, 0, sizeof a);
    int r = socket_address_unix(&host, NULL, &a, &err);
    check(r, &err, &a);
    err.text[0] = '\0';
    memset(&a, 0, sizeof a);
    r = socket_address_tcp(&host, NULL, &a, &err);
    check(r, &err, &a);
    if (r == MCPLUG_OK && (!a.node[0] || !a.port[0]))
        abort();
    return 0;
}
