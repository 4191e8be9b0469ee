/* Modules compiled into the core. configure writes both macros, one name per module
 * asked for:
 *   MP_BUILTIN_DECLARE  extern const struct mcplug_plugin mcplug_builtin_stdio; ..
 *   MP_BUILTIN_LIST     &mcplug_builtin_stdio, .. with a comma behind each */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "plugin/catalogue.h"

#ifndef MP_BUILTIN_DECLARE
#define MP_BUILTIN_DECLARE
#endif
#ifndef MP_BUILTIN_LIST
#define MP_BUILTIN_LIST
#endif

/* clang-format off */
MP_BUILTIN_DECLARE

const struct mcplug_plugin *const mp_builtins[] = { MP_BUILTIN_LIST NULL };
/* clang-format on */
