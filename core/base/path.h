/* Paths as text. [any] */
#ifndef MP_BASE_PATH_H
#define MP_BASE_PATH_H

#include "base/shared.h"

#define MP_PATH_SHOWN 240 /* of a path, of the 496 bytes that an error has */

/* give: "DIR/NAME"; NULL: no memory */
MP_SHARED char *mp_path_join(const char *dir, const char *name);
/* give: what is before the last slash; "/" for what is right below it */
MP_SHARED char *mp_path_dir(const char *path);
/* give: with the working directory before it when it is relative and that is known; NULL:
 * no memory */
MP_SHARED char *mp_path_absolute(const char *path);
/* For messages: the middle of a long one is left out. Returns `shown`. */
MP_SHARED const char *mp_path_shown(const char *path, char shown[MP_PATH_SHOWN + 1]);

#endif
