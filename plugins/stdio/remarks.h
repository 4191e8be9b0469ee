/* plugins/stdio/remarks.h - a server's stderr, line by line.
 *
 * A line is passed on as soon as it is complete. What goes beyond the first
 * STDIO_REMARK_MAX bytes of it is dropped, so that no server can make us keep
 * more; empty lines are left out. [loop]
 */
#ifndef MCPLUG_STDIO_REMARKS_H
#define MCPLUG_STDIO_REMARKS_H

#include <mcplug/plugin.h>

#define STDIO_REMARK_MAX 4096

struct stdio_remarks {
    const struct mcplug_host *host;
    mcplug_conn *conn;
    size_t len; /* of the line that is not complete yet */
    unsigned char line[STDIO_REMARK_MAX];
};

void stdio_remarks_take(struct stdio_remarks *r, const unsigned char *data, size_t len);

/* stderr is over: a line without its end is one, too. */
void stdio_remarks_end(struct stdio_remarks *r);

#endif /* MCPLUG_STDIO_REMARKS_H */
