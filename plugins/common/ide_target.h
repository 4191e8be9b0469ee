/* plugins/common/ide_target.h - where the transports for editors go, and with what. */
#ifndef MCPLUG_COMMON_IDE_TARGET_H
#define MCPLUG_COMMON_IDE_TARGET_H

#include "ide.h"
#include "url.h"

/* The settings of such a transport, beside those of its wire. */
#define IDE_OPTIONS                                                                      \
    {"url", "string", "",                                                                \
     "where the editor listens; found by its lock file by default"},                     \
        {"authToken", "secret", "", "the editor's token, 10 to 500 ASCII characters"},   \
    {                                                                                    \
        "ideName", "string", "", "take the editor of this name"                          \
    }

struct ide_target {
    char url[URL_MAX];
    const char *header; /* the field that carries the token; NULL: it wants none */
    char value[IDE_TOKEN_MAX + 16];
};

/* As the settings say, and for what they leave open, the best editor that runs a server
 * with this transport ("ws", "sse", "http"). */
int ide_target_find(const struct mcplug_host *host, mcplug_self *self,
                    const mcplug_props *settings, const char *transport,
                    struct ide_target *out, struct mcplug_error *err);

/* What an editor hears once it is initialized: who we are. give; NULL: no memory */
mcplug_buf *ide_target_greeting(const struct mcplug_host *host);

#endif /* MCPLUG_COMMON_IDE_TARGET_H */
