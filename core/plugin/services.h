/* Tables that a module asks for by name, because few want them: host->service(). */
#ifndef MP_PLUGIN_SERVICES_H
#define MP_PLUGIN_SERVICES_H

#include <mcplug/plugin.h>

#include "base/shared.h"

/* NULL: there is none of that name, or it is older than `version`. [any] */
const void *mp_service_find(const char *name, uint32_t version);

/* Also of use to those who share code with modules. [any] */
MP_SHARED const struct mcplug_json *mp_service_json(void);

#endif
