/* plugins/socket/address.h - where a socket transport is to connect to. */
#ifndef MCPLUG_SOCKET_ADDRESS_H
#define MCPLUG_SOCKET_ADDRESS_H

#include <mcplug/plugin.h>

#include <netdb.h>
#include <sys/un.h>

struct socket_address {
    char text[320];        /* for people: unix:PATH, tcp:HOST:PORT */
    struct sockaddr_un un; /* of "unix" */
    char node[256];        /* of "tcp" */
    char port[8];
    const char *const *denied; /* addresses, see ../common/ip.h; NULL: none */
};

/* From the setting `path`, or from `url` = unix:PATH. */
int socket_address_unix(const struct mcplug_host *host, const mcplug_props *settings,
                        struct socket_address *out, struct mcplug_error *err);

/* From the settings `host` and `port`, or from `url` = tcp:HOST:PORT, which may
 * have // before the host, and brackets around an IPv6 address. */
int socket_address_tcp(const struct mcplug_host *host, const mcplug_props *settings,
                       struct socket_address *out, struct mcplug_error *err);

#endif /* MCPLUG_SOCKET_ADDRESS_H */
