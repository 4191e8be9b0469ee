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
    struct frame *spare; /* there whenever the queue is empty */
    size_t sent;         /* bytes of the first line that have left */
    size_t waiting;      /* bytes in the queue */
    size_t limit;        /* for `waiting` */
    int broken;          /* an errno */
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

#define FRAMES_AT_ONCE 16

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
}

/* Leaves the entry behind as the spare, if there is none. */
static void drop_first(mcplug_framer *f)
{
    struct frame *entry = f->first;
    f->first = entry->next;
    f->waiting -= entry->line_len;
    f->sent = 0;
    f->host->mem->buf_unref(entry->text);
    entry->text = NULL;
    if (f->spare == NULL)
        f->spare = entry;
    else
        f->host->mem->free(entry);
}

/* Nothing waits yet, and `sent` bytes of this line are out already. Half a
 * line cannot be taken back, which is why nothing here needs memory. */
static int queue_first(mcplug_framer *f, mcplug_buf *frame, uint64_t serial,
                       size_t line_len, struct mcplug_error *err)
{
    struct frame *entry = f->spare;
    int untouched = f->sent == 0;
    f->spare = NULL;
    append(f, entry, frame, serial, line_len);
    unsigned events = f->idle_events | MCPLUG_WRITABLE;
    if (f->host->loop->watch_update(f->watch, events) == 0)
        return MCPLUG_QUEUED;
    drop_first(f);
    if (untouched)
        return f->host->diag->fail(err, MCPLUG_EIO, "cannot wait for the peer to read");
    return break_off(f, EIO, err);
}

static int queue_next(mcplug_framer *f, mcplug_buf *frame, uint64_t serial,
                      size_t line_len, struct mcplug_error *err)
{
    const struct mcplug_host *host = f->host;
    if (line_len > f->limit || f->waiting > f->limit - line_len) {
        host->mem->buf_unref(frame);
        return host->diag->fail(err, MCPLUG_EOVERLOADED,
                                "the peer does not read: %zu bytes wait to be sent",
                                f->waiting);
    }
    struct frame *entry = host->mem->alloc(sizeof *entry);
    if (entry == NULL) {
        host->mem->buf_unref(frame);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    append(f, entry, frame, serial, line_len);
    return MCPLUG_QUEUED;
}

static int send_line(mcplug_framer *f, mcplug_buf *frame, uint64_t serial,
                     struct mcplug_error *err)
{
    const struct mcplug_mem *mem = f->host->mem;
    struct mcplug_bytes text = mem->buf_bytes(frame);
    struct iovec iov[2];

    if (f->fd < 0 || f->broken) {
        mem->buf_unref(frame);
        return f->host->diag->fail(err, MCPLUG_ECLOSED, "the connection is closed");
    }
    if (f->first != NULL)
        return queue_next(f, frame, serial, text.len + 1, err);

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

static int flush(mcplug_framer *f, struct mcplug_error *err)
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
            f->host->wire->written(f->conn, serial);
        }
        if (!all)
            return MCPLUG_OK;
    }
    /* Should this fail, the next event comes here again. */
    f->host->loop->watch_update(f->watch, f->idle_events);
    return MCPLUG_OK;
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
    f->fd = -1;
    f->watch = NULL;
}

static void free_all(mcplug_framer *f)
{
    if (f == NULL)
        return;
    detach(f);
    f->host->mem->free(f->spare);
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
