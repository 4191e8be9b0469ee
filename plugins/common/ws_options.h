/* plugins/common/ws_options.h - the settings of a WebSocket, but its URL: for the
 * transport, and for what leads to it. */
#ifndef MCPLUG_COMMON_WS_OPTIONS_H
#define MCPLUG_COMMON_WS_OPTIONS_H

#define WS_OPTIONS                                                                       \
    {"headers", "map", "", "header fields for the upgrade, such as Authorization"},      \
        {"subprotocol", "string", "mcp", "what to ask for in Sec-WebSocket-Protocol"},   \
        {"ping", "duration", "30s", "how long silence lasts until a ping; 0: never"},    \
        {"connectTimeout", "duration", "60s", "for TCP, TLS and the upgrade together"},  \
        {"caFile", "string", "", "certificates to trust instead of the system's (PEM)"}, \
        {"certFile", "string", "", "our certificate and its chain (PEM)"},               \
        {"keyFile", "string", "", "its private key (PEM), if not in certFile"},          \
    {                                                                                    \
        "insecure", "bool", "false", "take any certificate of the server"                \
    }

#endif /* MCPLUG_COMMON_WS_OPTIONS_H */
