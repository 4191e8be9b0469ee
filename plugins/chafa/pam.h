/* Reading a PAM, the "portable arbitrary map" of Netpbm: a header of lines, then the
 * samples. Of it, what the modules of mcplug write: RGB with or without alpha, 8 bits a
 * sample. Every byte of it may be hostile. [any] */
#ifndef CHAFA_PAM_H
#define CHAFA_PAM_H

#include <mcplug/plugin.h>

#define PAM_SIDE 4096   /* pixels, of width and height */
#define PAM_HEADER 4096 /* bytes */

struct pam {
    uint32_t width, height;
    uint32_t depth; /* 3: RGB, 4: RGB and alpha, which is not premultiplied */
    const unsigned char *pixels; /* width * height * depth bytes within what was read */
};

/* What follows behind the pixels is ignored. MCPLUG_EPROTO: it is no PAM, or broken;
 * MCPLUG_ENOTSUP: of another depth, maximum or type; MCPLUG_ETOOBIG: more than PAM_SIDE
 * a side. */
int pam_read(const struct mcplug_diag *diag, struct mcplug_bytes in, struct pam *out,
             struct mcplug_error *err);

#endif
