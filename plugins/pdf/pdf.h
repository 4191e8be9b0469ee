/* plugins/pdf/pdf.h - PDF as text, by poppler.
 *
 *   pdf.c     what the core sees: the converter
 *   pages.c   which pages are wanted
 *   sample.c  a document that makes poppler read the files it needs
 */
#ifndef MCPLUG_PDF_PDF_H
#define MCPLUG_PDF_PDF_H

#include <mcplug/plugin.h>
#include <stdbool.h>

enum {
    PDF_RANGES_MAX = 64 /* of the setting `pages` */
};

/* ---- pages.c ---- */

struct pdf_pages {
    size_t n; /* 0: all */
    struct {
        int first, last; /* from 1 */
    } ranges[PDF_RANGES_MAX];
};

/* Reads `1-3,7,10-`; "" means all. False: it is not that, or has too many ranges. */
bool pdf_pages_read(const char *text, struct pdf_pages *out);
bool pdf_pages_has(const struct pdf_pages *pages, int page);

/* ---- sample.c ---- */

/* Text in fonts of each of the four collections of Chinese, Japanese and Korean. */
extern const char pdf_sample[];

#endif
