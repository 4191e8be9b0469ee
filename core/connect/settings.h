/* How a server is reached: a transport's name and its settings. [any] */
#ifndef MP_CONNECT_SETTINGS_H
#define MP_CONNECT_SETTINGS_H

#include "plugin/props.h"

#include <mcplug/mcplug.h>

struct mcplug_settings {
    char *type; /* NULL: the URL tells */
    mcplug_props *props;
};

/* give; NULL: no memory, also for `props`, which may be NULL then. take `props` */
mcplug_settings *mp_settings_take(const char *type, mcplug_props *props);
mcplug_settings *mp_settings_copy(const mcplug_settings *from);
/* Puts `top` on it, as mp_props_merge() does. */
int mp_settings_merge(mcplug_settings *settings, const mcplug_settings *top,
                      struct mcplug_error *err);
/* What a person would call a server without a name: its program, or its address. Keys
 * that are part of an address stay out of logs. borrow: of these, or `buf` */
const char *mp_settings_name(const mcplug_settings *settings, char *buf, size_t size);

#endif
