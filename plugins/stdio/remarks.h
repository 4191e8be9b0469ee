/* plugins/stdio/remarks.h - a server's stderr, line by line.
 *
 * A line is passed on as soon as it is complete, and also one that is not after
 * STDIO_REMARK_MS, for it may be a question that waits for an answer; what follows
 * is a line of its own then. What goes beyond the first STDIO_REMARK_MAX bytes of
 * a line is dropped, so that no server can make us keep more; empty lines are left
 * out. [loop]
 */
#ifndef MCPLUG_STDIO_REMARKS_H
#define MCPLUG_STDIO_REMARKS_H

#include <mcplug/plugin.h>

#include <stdbool.h>

#define STDIO_REMARK_MAX 4096
#define STDIO_REMARK_MS 1000 /* that a line may take until it is complete */

struct stdio_remarks {
    const struct mcplug_host *host;
    mcplug_self *self;
    mcplug_conn *conn;
    mcplug_timer *timer; /* runs while a line waits, and once longer */
    uint64_t since;      /* the line that waits began; ms */
    bool full;           /* this line was passed on; the rest of it is dropped */
    size_t len;          /* of the line that is not complete yet */
    unsigned char *line; /* room for it, STDIO_REMARK_MAX bytes; NULL: there is none */
};

void stdio_remarks_take(struct stdio_remarks *r, const unsigned char *data, size_t len);

/* stderr is over: a line without its end is one, too. */
void stdio_remarks_end(struct stdio_remarks *r);

/* Drops what waits. */
void stdio_remarks_clear(struct stdio_remarks *r);

#endif /* MCPLUG_STDIO_REMARKS_H */
