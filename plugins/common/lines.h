/* plugins/common/lines.h - newline framing, for every transport over a stream.
 *
 * One message is one line. Neither half keeps a message: what comes in goes to
 * the core piece by piece, what goes out is kept by reference, and only when the
 * peer does not take it at once. [loop]
 */
#ifndef MCPLUG_COMMON_LINES_H
#define MCPLUG_COMMON_LINES_H

#include <mcplug/plugin.h>

/* ---- in ------------------------------------------------------------------- */

struct lines_in {
    const struct mcplug_host *host;
    mcplug_conn *conn;
    int bom;     /* bytes of a byte order mark seen; -1 once past the beginning */
    int in_line; /* the current line has been fed some bytes */
    int held_cr; /* a CR that ended a chunk: part of the line end, or not */
};

void lines_in_init(struct lines_in *in, const struct mcplug_host *host,
                   mcplug_conn *conn);

/* Feeds what was just read. Line ends are LF or CR LF; empty lines and a byte
 * order mark at the very beginning are left out. */
void lines_in_feed(struct lines_in *in, const unsigned char *data, size_t len);

/* The stream is over: a line without its end is ended, by a `last` of -1. When it is a
 * whole message it counts; otherwise the core takes it for noise, not for an answer. */
void lines_in_end(struct lines_in *in);

/* ---- out ------------------------------------------------------------------ */

enum lines_kind {
    LINES_PIPE,  /* the caller sees to it that a reader exists: no SIGPIPE */
    LINES_SOCKET /* sent with MSG_NOSIGNAL */
};

struct lines_frame;

struct lines_out {
    const struct mcplug_host *host;
    mcplug_conn *conn;
    enum lines_kind kind;
    int fd; /* -1 before attach and after clear */
    mcplug_watch *watch;
    unsigned idle_events; /* what the watch waits for when nothing is queued */
    struct lines_frame *first, *last;
    struct lines_frame *spare; /* there whenever the queue is empty */
    size_t sent;               /* bytes of the first line that have left */
    size_t waiting;            /* bytes in the queue */
    size_t limit;              /* for `waiting` */
    int broken;                /* an errno; see lines_out_send */
};

/* Takes the only memory that sending the first frames will ever need. `limit`
 * bounds what may wait, but for a single frame, which always may. */
int lines_out_init(struct lines_out *out, const struct mcplug_host *host,
                   mcplug_conn *conn, size_t limit, struct mcplug_error *err);

/* From now on writes to `fd`, which does not block, and asks `watch` for
 * MCPLUG_WRITABLE in addition to `idle_events` while something waits. Both stay
 * the caller's. */
void lines_out_attach(struct lines_out *out, enum lines_kind kind, int fd,
                      mcplug_watch *watch, unsigned idle_events);

/* As transport_ops.send. take `frame`. When it fails and `broken` is set, the
 * stream cannot be used any more and the caller has to end the connection. */
int lines_out_send(struct lines_out *out, mcplug_buf *frame, uint64_t serial,
                   struct mcplug_error *err);

/* To be called when the fd is writable. After a failure the caller has to end
 * the connection. */
int lines_out_flush(struct lines_out *out, struct mcplug_error *err);

/* Drops what waits; sending fails from now on. Also fine before init. */
void lines_out_clear(struct lines_out *out);

#endif /* MCPLUG_COMMON_LINES_H */
