/* For the suites about handles: a host without a toolbox, and servers that are up. */
#ifndef HANDLE_KIT_H
#define HANDLE_KIT_H

#include "box_kit.h"

static inline void begin_bare(void)
{
    begin(NULL);
    mcplug_toolbox_free(box, NULL, NULL); /* of no use here */
    mcplug_turn(host, 0);
}

static inline mcplug_handle *hold(mcplug_settings *settings,
                                  const struct mcplug_acquire_options *o)
{
    mcplug_handle *h = NULL;
    int r = mcplug_acquire_wait(host, settings, o, &h, &err);
    ck_assert_msg(r == MCPLUG_OK, "%s", err.text);
    mcplug_settings_free(settings);
    return h;
}

static inline struct mcplug_status status(mcplug_handle *h)
{
    struct mcplug_status s = {.struct_size = sizeof s,
                              .calls.struct_size = sizeof s.calls};
    mcplug_handle_status(h, &s);
    return s;
}

#endif
