/* plugins/websocket/target.h - where to connect and how, out of the settings. */
#ifndef WEBSOCKET_TARGET_H
#define WEBSOCKET_TARGET_H

#include "../common/url.h"

#include <mcplug/plugin.h>

enum {
    WS_PATH_MAX = 2000, /* libwebsockets writes the request line into 2048 bytes .. */
    WS_HOST_MAX = 118,  /* .. and the Host field into 128, and cuts what is longer */
    WS_PROTOCOL_MAX = 128,
    WS_HEADERS_MAX = 32 << 10 /* all that the user adds; the buffer has 64 KiB */
};

struct ws_target {
    struct url url;
    char origin[URL_HOST_MAX + 32]; /* "ws://host:port", for messages */
    char host[URL_HOST_MAX + 32];   /* as the Host field has it */
    char path[WS_PATH_MAX + 1];     /* and query */
    const char *subprotocol;        /* NULL: none is asked for */
    char *headers;                  /* "Name: value CR LF" .., owned: secrets */
    size_t headers_len;
    uint64_t ping_ms; /* 0: never */
    uint64_t connect_ms;
    const char *ca_file, *cert_file, *key_file; /* NULL: none */
    int insecure;
    const char *const *denied; /* addresses, see ip.h */
};

/* `settings` must outlive the target. After a failure there is nothing to clear. */
int ws_target_init(struct ws_target *target, const struct mcplug_host *host,
                   const mcplug_props *settings, struct mcplug_error *err);
void ws_target_clear(struct ws_target *target, const struct mcplug_host *host);

#endif /* WEBSOCKET_TARGET_H */
