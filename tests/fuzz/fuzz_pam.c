/* PAMs of the module chafa: what is read lies within the bytes, an error has its text,
 * and what fits a terminal keeps to its bounds. */
#include "../../plugins/chafa/fit.h"
#include "../../plugins/chafa/pam.h"
#include "base/error.h"
#include "must.h"

#include <string.h>

static void fit(const struct pam *pam, const uint8_t seed[4])
{
    const struct fit fit = {1 + seed[0] * 3u,  1 + seed[1] * 3u, 1 + seed[2] * 64u,
                            6 + seed[3] % 20u, 6 + seed[3] / 8u, seed[2] & 1};
    uint32_t columns, rows;

    fit_image(&fit, pam->width, pam->height, &columns, &rows);
    MUST(columns >= 1 && columns <= fit.columns);
    MUST(rows >= 1 && rows <= fit.rows);
    MUST(columns * rows <= fit.cells);
    MUST(fit.symbols || columns == 1 || columns * fit.cell_width <= pam->width);
    MUST(fit.symbols || rows == 1 || rows * fit.cell_height <= pam->height);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mcplug_diag diag = {.struct_size = sizeof diag, .fail = mp_fail};
    struct mcplug_error err = MCPLUG_ERROR_INIT;
    struct pam pam = {0};

    if (size < 4)
        return 0;
    const uint8_t *seed = data;
    data += 4;
    size -= 4;
    uint8_t *copy = malloc(size + !size); /* of just this size */
    MUST(copy != NULL);
    memcpy(copy, data, size);
    int r = pam_read(&diag, (struct mcplug_bytes){copy, size}, &pam, &err);
    if (r != MCPLUG_OK) {
        MUST(r == err.code && err.text[0]);
        MUST(r == MCPLUG_EPROTO || r == MCPLUG_ENOTSUP || r == MCPLUG_ETOOBIG);
    } else {
        size_t len = (size_t)pam.width * pam.height * pam.depth;
        MUST(pam.width >= 1 && pam.width <= PAM_SIDE);
        MUST(pam.height >= 1 && pam.height <= PAM_SIDE);
        MUST(pam.pixels > copy && len <= (size_t)(copy + size - pam.pixels));
        fit(&pam, seed);
    }
    free(copy);
    return 0;
}
