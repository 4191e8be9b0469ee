/* plugins/common/ide_file.h - reads one file in which an editor says where it listens.
 * For ide.c alone. */
#ifndef MCPLUG_COMMON_IDE_FILE_H
#define MCPLUG_COMMON_IDE_FILE_H

#include "ide.h"

#include <limits.h>
#include <sys/stat.h>

struct ide_reader {
    const struct mcplug_json *json;
    void (*free)(void *p);
    struct ide *ide; /* what is filled; its file, family and port, and perhaps its pid,
                        are there already */

    char cwd[PATH_MAX];    /* resolved; "": none */
    char folder[PATH_MAX]; /* resolved */
    char text[IDE_FILE_MAX + 1];
};

/* NULL when only the user or root can have put it there, else the reason. */
const char *ide_mistrusted(const struct stat *st);

/* Reads the file `name` of the directory `dir`. NULL when it is fit for use and its
 * process is alive, as far as one can see; else the reason. */
const char *ide_file_read(struct ide_reader *r, int dir, const char *name);

#endif /* MCPLUG_COMMON_IDE_FILE_H */
