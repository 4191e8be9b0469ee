/* Newline framing for transports over a stream, as the service "lines" offers it. */
#ifndef MP_PLUGIN_LINES_H
#define MP_PLUGIN_LINES_H

#include <mcplug/plugin.h>

extern const struct mcplug_lines mp_lines_table; /* [loop] */

#endif
