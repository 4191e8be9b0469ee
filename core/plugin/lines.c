/* The service "lines", see <mcplug/plugin.h>. It is written as a module would be, with
 * what the host offers, so that a test of modules sees its memory and its calls too. */
#include "plugin/lines.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct frame {
    struct frame *next;
    mcplug_buf *text; /* owned */
    size_t line_len;  /* with its line end */
    uint64_t serial;
};

struct mcplug_framer {
    const struct mcplug_host *host;
    mcplug_conn *conn;

    int bom;     /* bytes of a byte order mark seen; -1 once past the beginning */
    int in_line; /* the current line has been fed some bytes */
    int held_cr; /* a CR that ended a chunk: part of the line end, or not */

    int kind; /* MCPLUG_LINES_.. */
    int fd;   /* -1 before attach and after detach */
    mcplug_watch *watch;
    unsigned idle_events; /* what the watch waits for when nothing is queued */
    struct frame *first, *last;
    struct frame *spare; /* at least one whenever the queue is empty */
    size_t n_spare;
    size_t sent;    /* bytes of the first line that have left */
    size_t waiting; /* bytes in the queue, of so many lines */
    size_t n_waiting;
    size_t limit; /* for `waiting` */
    int full;     /* the peer takes nothing now: the watch tells when it does again */
    int broken;   /* an errno */
};

/* ---- in ---- */

static const unsigned char byte_order_mark[3] = {0xEF, 0xBB, 0xBF};

static void feed_piece(mcplug_framer *f, const void *data, size_t len, int last)
{
    struct mcplug_bytes piece = {data, len};
    f->host->wire->feed(f->conn, 0, piece, last);
    f->in_line = !last;
}

/* Returns how many bytes of `data` belong to a byte order mark. One that breaks
 * off was none, and what was held back of it is fed. */
static size_t skip_mark(mcplug_framer *f, const unsigned char *data, size_t len)
{
    size_t used = 0;
    while (used < len && f->bom < 3 && data[used] == byte_order_mark[f->bom]) {
        used++;
        f->bom++;
    }
    if (f->bom < 3 && used == len)
        return used;
    if (f->bom > 0 && f->bom < 3)
        feed_piece(f, byte_order_mark, (size_t)f->bom, 0);
    f->bom = -1;
    return used;
}

static void end_line(mcplug_framer *f, const unsigned char *data, size_t len)
{
    if (len > 0 && data[len - 1] == '\r')
        len--;
    if (len > 0 || f->in_line)
        feed_piece(f, data, len, 1);
}

static void feed(mcplug_framer *f, struct mcplug_bytes read)
{
    const unsigned char *data = read.data;
    size_t len = read.len;

    if (f->bom >= 0) {
        size_t used = skip_mark(f, data, len);
        data += used;
        len -= used;
    }
    if (len > 0 && f->held_cr) {
        f->held_cr = 0;
        if (data[0] != '\n')
            feed_piece(f, "\r", 1, 0);
    }
    while (len > 0) {
        const unsigned char *end = memchr(data, '\n', len);
        if (end == NULL)
            break;
        end_line(f, data, (size_t)(end - data));
        len -= (size_t)(end - data) + 1;
        data = end + 1;
    }
    if (len > 0 && data[len - 1] == '\r') {
        f->held_cr = 1;
        len--;
    }
    if (len > 0)
        feed_piece(f, data, len, 0);
}

static void end(mcplug_framer *f)
{
    if (f->bom > 0)
        feed_piece(f, byte_order_mark, (size_t)f->bom, 0);
    if (f->in_line)
        feed_piece(f, "", 0, -1);
    f->bom = -1;
    f->held_cr = 0;
}

/* ---- out ---- */

/* Lines that wait for others of the same turn are written when they are so many, or
 * so long: one system call is shared by enough of them then, and the peer, on another
 * processor, can begin. */
#define FRAMES_AT_ONCE 16
#define BYTES_AT_ONCE 65536

static void attach(mcplug_framer *f, int kind, int fd, mcplug_watch *watch,
                   unsigned idle_events)
{
    f->kind = kind;
    f->fd = fd;
    f->watch = watch;
    f->idle_events = idle_events;
}

static int break_off(mcplug_framer *f, int os_error, struct mcplug_error *err)
{
    f->broken = os_error;
    return f->host->diag->fail_os(err, MCPLUG_ECLOSED, os_error,
                                  "cannot write to the peer");
}

/* 0 when the peer takes nothing now, -1 with errno when it never will again. */
static ssize_t write_some(const mcplug_framer *f, struct iovec *iov, size_t count)
{
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = count};
    ssize_t n;
    do {
        n = f->kind == MCPLUG_LINES_SOCKET
                ? sendmsg(f->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                : writev(f->fd, iov, (int)count);
    } while (n < 0 && errno == EINTR);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : n;
}

/* Two entries for one line: its text and its end. Const is cast away because
 * iovec serves reading, too. */
static void line_iov(struct mcplug_bytes text, size_t sent, struct iovec iov[2])
{
    size_t skip = sent < text.len ? sent : text.len;
    iov[0] = (struct iovec){(void *)(text.data + skip), text.len - skip};
    iov[1] = (struct iovec){(void *)"\n", 1};
}

/* take `frame` */
static void append(mcplug_framer *f, struct frame *entry, mcplug_buf *frame,
                   uint64_t serial, size_t line_len)
{
    *entry = (struct frame){NULL, frame, line_len, serial};
    if (f->first == NULL)
        f->first = entry;
    else
        f->last->next = entry;
    f->last = entry;
    f->waiting += line_len;
    f->n_waiting++;
}

/* give; NULL: out of memory, but never while the queue is empty */
static struct frame *take_spare(mcplug_framer *f)
{
    struct frame *entry = f->spare;
    if (entry == NULL)
        return f->host->mem->alloc(sizeof *entry);
    f->spare = entry->next;
    f->n_spare--;
    return entry;
}

/* Keeps the entry for later, if there are not enough. */
static void drop_first(mcplug_framer *f)
{
    struct frame *entry = f->first;
    f->first = entry->next;
    f->waiting -= entry->line_len;
    f->n_waiting--;
    f->sent = 0;
    f->host->mem->buf_unref(entry->text);
    if (f->n_spare == FRAMES_AT_ONCE) {
        f->host->mem->free(entry);
        return;
    }
    entry->next = f->spare;
    f->spare = entry;
    f->n_spare++;
}

/* The peer takes no more: the watch has to tell when it does. */
static int wait_for_room(mcplug_framer *f)
{
    f->full = 1;
    return f->host->loop->watch_update(f->watch, f->idle_events | MCPLUG_WRITABLE);
}

/* Nothing waits yet, and `sent` bytes of this line are out already. Half a
 * line cannot be taken back, which is why nothing here needs memory. */
static int queue_first(mcplug_framer *f, mcplug_buf *frame, uint64_t serial,
                       size_t line_len, struct mcplug_error *err)
{
    int untouched = f->sent == 0;
    append(f, take_spare(f), frame, serial, line_len);
    if (wait_for_room(f) == 0)
        return MCPLUG_QUEUED;
    drop_first(f);
    f->full = 0;
    if (untouched)
        return f->host->diag->fail(err, MCPLUG_EIO, "cannot wait for the peer to read");
    return break_off(f, EIO, err);
}

/* Behind others, or first of those that wait for the end of the turn. */
static int queue_next(mcplug_framer *f, mcplug_buf *frame, uint64_t serial,
                      size_t line_len, struct mcplug_error *err)
{
    const struct mcplug_host *host = f->host;
    if (f->full && (line_len > f->limit || f->waiting > f->limit - line_len)) {
        host->mem->buf_unref(frame);
        return host->diag->fail(
            err, MCPLUG_EOVERLOADED,
            "the peer does not read: %zu bytes are waiting to be sent", f->waiting);
    }
    struct frame *entry = take_spare(f);
    if (entry == NULL) {
        host->mem->buf_unref(frame);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    append(f, entry, frame, serial, line_len);
    return MCPLUG_QUEUED;
}

/* Writes once, as many lines as fit in one call. Sets *all when nothing of them
 * is left, which is when another call may make sense. */
static ssize_t write_queued(const mcplug_framer *f, int *all)
{
    struct iovec iov[2 * FRAMES_AT_ONCE];
    size_t count = 0, offered = 0, skip = f->sent;
    const struct frame *entry = f->first;
    for (; entry != NULL && count < 2 * FRAMES_AT_ONCE; entry = entry->next) {
        line_iov(f->host->mem->buf_bytes(entry->text), skip, iov + count);
        offered += entry->line_len - skip;
        count += 2;
        skip = 0;
    }
    ssize_t n = write_some(f, iov, count);
    *all = n >= 0 && (size_t)n == offered;
    return n;
}

/* Writes what waits, until the peer takes no more. written() is not told of the frame
 * `untold`, which is the last one. */
static int write_all(mcplug_framer *f, uint64_t untold, struct mcplug_error *err)
{
    while (f->first != NULL) {
        int all;
        ssize_t n = write_queued(f, &all);
        if (n < 0)
            return break_off(f, errno, err);
        f->sent += (size_t)n;
        while (f->first != NULL && f->sent >= f->first->line_len) {
            size_t beyond = f->sent - f->first->line_len;
            uint64_t serial = f->first->serial;
            drop_first(f);
            f->sent = beyond;
            if (serial != untold)
                f->host->wire->written(f->conn, serial);
        }
        if (!all)
            return f->full || wait_for_room(f) == 0 ? MCPLUG_QUEUED
                                                    : break_off(f, EIO, err);
    }
    return MCPLUG_OK;
}

static int send_first(mcplug_framer *f, mcplug_buf *frame, uint64_t serial,
                      struct mcplug_error *err)
{
    const struct mcplug_mem *mem = f->host->mem;
    struct mcplug_bytes text = mem->buf_bytes(frame);
    struct iovec iov[2];

    line_iov(text, 0, iov);
    ssize_t n = write_some(f, iov, 2);
    if (n < 0) {
        int os_error = errno;
        mem->buf_unref(frame);
        return break_off(f, os_error, err);
    }
    if ((size_t)n == text.len + 1) {
        mem->buf_unref(frame);
        return MCPLUG_OK;
    }
    f->sent = (size_t)n;
    return queue_first(f, frame, serial, text.len + 1, err);
}

static int send_line(mcplug_framer *f, mcplug_buf *frame,
                     const struct mcplug_envelope *env, struct mcplug_error *err)
{
    size_t line_len = f->host->mem->buf_bytes(frame).len + 1;
    int more = MCPLUG_KNOWS(env, struct mcplug_envelope, flags) &&
               env->flags & MCPLUG_MORE && line_len < BYTES_AT_ONCE;

    if (f->fd < 0 || f->broken) {
        f->host->mem->buf_unref(frame);
        return f->host->diag->fail(err, MCPLUG_ECLOSED, "the connection is closed");
    }
    if (f->first == NULL && !more)
        return send_first(f, frame, env->serial, err);
    int r = queue_next(f, frame, env->serial, line_len, err);
    if (r < 0 || f->full)
        return r;
    if (more && f->n_waiting < FRAMES_AT_ONCE && f->waiting < BYTES_AT_ONCE)
        return MCPLUG_QUEUED;
    return write_all(f, env->serial, err);
}

static int flush(mcplug_framer *f, struct mcplug_error *err)
{
    int r = write_all(f, 0, err);
    if (r == MCPLUG_OK && f->full) {
        f->full = 0;
        /* Should this fail, the next event comes here again. */
        f->host->loop->watch_update(f->watch, f->idle_events);
    }
    return r < 0 ? r : MCPLUG_OK;
}

static int broken(const mcplug_framer *f)
{
    return f->broken;
}

/* ---- from beginning to end ---- */

static void detach(mcplug_framer *f)
{
    if (f == NULL)
        return;
    while (f->first != NULL)
        drop_first(f);
    f->full = 0;
    f->fd = -1;
    f->watch = NULL;
}

static void free_all(mcplug_framer *f)
{
    if (f == NULL)
        return;
    detach(f);
    while (f->spare != NULL)
        f->host->mem->free(take_spare(f));
    f->host->mem->free(f);
}

static mcplug_framer *create(const struct mcplug_host *host, mcplug_conn *conn,
                             size_t limit)
{
    mcplug_framer *f = host->mem->alloc(sizeof *f);
    if (f == NULL)
        return NULL;
    f->host = host;
    f->conn = conn;
    f->fd = -1;
    f->limit = limit;
    f->spare = host->mem->alloc(sizeof *f->spare);
    f->n_spare = f->spare != NULL;
    if (f->spare == NULL) {
        free_all(f);
        return NULL;
    }
    return f;
}

const struct mcplug_lines mp_lines_table = {
    .struct_size = sizeof mp_lines_table,
    .create = create,
    .attach = attach,
    .feed = feed,
    .end = end,
    .send = send_line,
    .flush = flush,
    .broken = broken,
    .detach = detach,
    .free = free_all,
};
