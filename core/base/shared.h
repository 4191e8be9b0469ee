/* shared.h - what of the inside the command may use.
 *
 * libmcplug.so hides everything inside it, except functions declared MP_SHARED: those our
 * own command calls. They are in the version node MCPLUG_PRIVATE of core/libmcplug.map,
 * are no part of the API, and may change with every build. `make lint` compares.
 */
#ifndef MP_BASE_SHARED_H
#define MP_BASE_SHARED_H

#if defined(__GNUC__)
#define MP_SHARED __attribute__((visibility("default")))
#else
#define MP_SHARED
#endif

#endif
