#include "fit.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The columns that go with `r` rows. */
static uint64_t columns_for(const struct fit *fit, uint64_t w, uint64_t h, uint64_t r)
{
    const uint64_t cw = fit->cell_width, ch = fit->cell_height;
    uint64_t c = (2 * r * ch * w + h * cw) / (2 * h * cw);

    c = least(c, least(fit->columns, fit->symbols ? w : w / cw));
    return c ? c : 1;
}

void fit_image(const struct fit *fit, uint32_t width, uint32_t height, uint32_t *columns,
               uint32_t *rows)
{
    const uint64_t w = width, h = height, cw = fit->cell_width, ch = fit->cell_height;
    /* Rows are coarser than columns, so they are settled first. */
    uint64_t r = least(fit->rows, fit->columns * cw * h / (w * ch));

    r = least(r, fit->symbols ? h * cw / ch : h / ch);
    while (r > 1 && r * columns_for(fit, w, h, r) > fit->cells)
        r--;
    if (r == 0)
        r = 1;
    *columns = (uint32_t)least(columns_for(fit, w, h, r), fit->cells);
    *rows = (uint32_t)r;
}
