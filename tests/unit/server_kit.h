/* For the suites about servers: a host without a toolbox, and servers that are up. */
#ifndef SERVER_KIT_H
#define SERVER_KIT_H

#include "box_kit.h"

static inline void begin_bare(void)
{
    begin(NULL);
    mcplug_toolbox_free(box, NULL, NULL); /* of no use here */
    mcplug_turn(host, 0);
}

static inline mcplug_server *hold(mcplug_settings *settings,
                                  const struct mcplug_server_options *o)
{
    mcplug_server *h = NULL;
    int r = mcplug_open_wait(host, settings, o, &h, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(settings);
    return h;
}

static inline struct mcplug_status status(mcplug_server *h)
{
    struct mcplug_status s = {.struct_size = sizeof s};
    mcplug_server_status(h, &s);
    return s;
}

#endif
