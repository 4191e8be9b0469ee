/* JSON with comments, as editors write it. */
#ifndef CLI_IMPORT_RELAX_H
#define CLI_IMPORT_RELAX_H

#include <stddef.h>

/* Blanks comments, trailing commas and a byte order mark in place, so that offsets stay.
 * Strings are left alone. */
void cli_import_relax(char *text, size_t len);

#endif
