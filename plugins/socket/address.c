/* plugins/socket/address.c - reading addresses from settings, see address.h */
#include "address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *text_of(const struct mcplug_host *host, const mcplug_props *settings,
                           const char *name)
{
    const char *value = host->diag->prop(settings, name);
    return value != NULL ? value : "";
}

int socket_address_unix(const struct mcplug_host *host, const mcplug_props *settings,
                        struct socket_address *out, struct mcplug_error *err)
{
    const char *path = text_of(host, settings, "path");
    const char *url = text_of(host, settings, "url");
    *out = (struct socket_address){.un.sun_family = AF_UNIX};
    if (path[0] == '\0' && strncasecmp(url, "unix:", 5) == 0)
        path = url + 5;
    if (path[0] == '\0')
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "unix: set path, or url to unix:PATH");
    if (strlen(path) >= sizeof out->un.sun_path)
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "unix: path has more than %zu bytes: %s",
                                sizeof out->un.sun_path - 1, path);
    memcpy(out->un.sun_path, path, strlen(path) + 1);
    snprintf(out->text, sizeof out->text, "unix:%s", path);
    return MCPLUG_OK;
}

/* HOST:PORT or [HOST]:PORT. False when it is neither, or too long. */
static int split(const char *text, struct socket_address *out)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || strlen(colon + 1) >= sizeof out->port)
        return 0;
    size_t len = (size_t)(colon - text);
    if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    } else if (memchr(text, ':', len) != NULL) {
        return 0; /* an IPv6 address without brackets: where would it end? */
    }
    if (len == 0 || len >= sizeof out->node)
        return 0;
    memcpy(out->node, text, len);
    strcpy(out->port, colon + 1);
    return 1;
}

int socket_address_tcp(const struct mcplug_host *host, const mcplug_props *settings,
                       struct socket_address *out, struct mcplug_error *err)
{
    const char *node = text_of(host, settings, "host");
    const char *url = text_of(host, settings, "url");
    int64_t port = host->diag->prop_int(settings, "port", 0);
    *out = (struct socket_address){.denied =
                                       host->diag->prop_list(settings, "denyAddresses")};
    if (node[0] != '\0') {
        if (strlen(node) >= sizeof out->node)
            return host->diag->fail(err, MCPLUG_ECONFIG, "tcp: host is too long");
        strcpy(out->node, node);
    } else if (strncasecmp(url, "tcp:", 4) == 0) {
        const char *rest = strncasecmp(url, "tcp://", 6) == 0 ? url + 6 : url + 4;
        if (!split(rest, out))
            return host->diag->fail(err, MCPLUG_ECONFIG,
                                    "tcp: url is not tcp:HOST:PORT: %s", url);
        port = strspn(out->port, "0123456789") == strlen(out->port) ? atoi(out->port) : 0;
    } else {
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "tcp: set host and port, or url to tcp:HOST:PORT");
    }
    if (port < 1 || port > 65535)
        return host->diag->fail(err, MCPLUG_ECONFIG,
                                "tcp: port must be a number from 1 to 65535");
    snprintf(out->port, sizeof out->port, "%d", (int)port);
    snprintf(out->text, sizeof out->text,
             strchr(out->node, ':') != NULL ? "tcp:[%s]:%s" : "tcp:%s:%s", out->node,
             out->port);
    return MCPLUG_OK;
}
