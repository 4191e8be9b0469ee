/* How many cells of a terminal an image gets. [any] */
#ifndef CHAFA_FIT_H
#define CHAFA_FIT_H

#include <stdint.h>

struct fit {                          /* all from 1 */
    uint32_t columns, rows;           /* at most */
    uint32_t cells;                   /* at most so many in all */
    uint32_t cell_width, cell_height; /* pixels */
    int symbols;                      /* a cell shows a character, and no pixels */
};

/* Writes at least 1 and at most fit->columns and fit->rows. The aspect ratio is kept, to
 * within half a column, as far as the image is not smaller than a cell. The image is not
 * enlarged beyond a cell: it gets no more pixels than it has, and as symbols no more
 * columns than it has pixels. */
void fit_image(const struct fit *fit, uint32_t width, uint32_t height, uint32_t *columns,
               uint32_t *rows);

#endif
