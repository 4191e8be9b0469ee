/* plugins/common/ws_options.h - the settings of a WebSocket, but its URL: for the
 * transport, and for what leads to it. */
#ifndef MCPLUG_COMMON_WS_OPTIONS_H
#define MCPLUG_COMMON_WS_OPTIONS_H

#define WS_OPTIONS                                                                       \
    {"headers", "map", "", "headers of the upgrade request, such as Authorization"},     \
        {"subprotocol", "string", "mcp",                                                 \
         "the subprotocol to request (Sec-WebSocket-Protocol)"},                         \
        {"ping", "duration", "30s",                                                      \
         "send a ping after this time without data; 0: never"},                          \
        {"connectTimeout", "duration", "60s",                                            \
         "time-out of TCP, TLS and the upgrade together"},                               \
        {"caFile", "string", "", "certificates to trust instead of the system's (PEM)"}, \
        {"certFile", "string", "", "client certificate and its chain (PEM)"},            \
        {"keyFile", "string", "", "its private key (PEM), if not in certFile"},          \
        {"denyAddresses", "addresses", "",                                               \
         "set by the policy: what must not be connected to"},                            \
    {                                                                                    \
        "insecure", "bool", "false", "accept any certificate of the server"              \
    }

#endif /* MCPLUG_COMMON_WS_OPTIONS_H */
