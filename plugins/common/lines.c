/* plugins/common/lines.c - newline framing, see lines.h */
#include "lines.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* ---- in ------------------------------------------------------------------- */

static const unsigned char byte_order_mark[3] = {0xEF, 0xBB, 0xBF};

void lines_in_init(struct lines_in *in, const struct mcplug_host *host, mcplug_conn *conn)
{
    *in = (struct lines_in){.host = host, .conn = conn};
}

static void feed(struct lines_in *in, const void *data, size_t len, int last)
{
    struct mcplug_bytes piece = {data, len};
    in->host->wire->feed(in->conn, 0, piece, last);
    in->in_line = !last;
}

/* Returns how many bytes of `data` belong to a byte order mark. One that breaks
 * off was none, and what was held back of it is fed. */
static size_t skip_mark(struct lines_in *in, const unsigned char *data, size_t len)
{
    size_t used = 0;
    while (used < len && in->bom < 3 && data[used] == byte_order_mark[in->bom]) {
        used++;
        in->bom++;
    }
    if (in->bom < 3 && used == len)
        return used;
    if (in->bom > 0 && in->bom < 3)
        feed(in, byte_order_mark, (size_t)in->bom, 0);
    in->bom = -1;
    return used;
}

static void end_line(struct lines_in *in, const unsigned char *data, size_t len)
{
    if (len > 0 && data[len - 1] == '\r')
        len--;
    if (len > 0 || in->in_line)
        feed(in, data, len, 1);
}

void lines_in_feed(struct lines_in *in, const unsigned char *data, size_t len)
{
    if (in->bom >= 0) {
        size_t used = skip_mark(in, data, len);
        data += used;
        len -= used;
    }
    if (len > 0 && in->held_cr) {
        in->held_cr = 0;
        if (data[0] != '\n')
            feed(in, "\r", 1, 0);
    }
    while (len > 0) {
        const unsigned char *end = memchr(data, '\n', len);
        if (end == NULL)
            break;
        end_line(in, data, (size_t)(end - data));
        len -= (size_t)(end - data) + 1;
        data = end + 1;
    }
    if (len > 0 && data[len - 1] == '\r') {
        in->held_cr = 1;
        len--;
    }
    if (len > 0)
        feed(in, data, len, 0);
}

void lines_in_end(struct lines_in *in)
{
    if (in->bom > 0)
        feed(in, byte_order_mark, (size_t)in->bom, 0);
    if (in->in_line)
        feed(in, "", 0, -1);
    in->bom = -1;
    in->held_cr = 0;
}

/* ---- out ------------------------------------------------------------------ */

#define FRAMES_AT_ONCE 16

struct lines_frame {
    struct lines_frame *next;
    mcplug_buf *text; /* owned */
    size_t line_len;  /* with its line end */
    uint64_t serial;
};

int lines_out_init(struct lines_out *out, const struct mcplug_host *host,
                   mcplug_conn *conn, size_t limit, struct mcplug_error *err)
{
    *out = (struct lines_out){.host = host, .conn = conn, .fd = -1, .limit = limit};
    out->spare = host->mem->alloc(sizeof *out->spare);
    if (out->spare == NULL)
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    return MCPLUG_OK;
}

void lines_out_attach(struct lines_out *out, enum lines_kind kind, int fd,
                      mcplug_watch *watch, unsigned idle_events)
{
    out->kind = kind;
    out->fd = fd;
    out->watch = watch;
    out->idle_events = idle_events;
}

static int break_off(struct lines_out *out, int os_error, struct mcplug_error *err)
{
    out->broken = os_error;
    out->host->diag->fail(err, MCPLUG_ECLOSED, "cannot write to the peer: %s",
                          strerror(os_error));
    if (err != NULL)
        err->os_error = os_error;
    return MCPLUG_ECLOSED;
}

/* 0 when the peer takes nothing now, -1 with errno when it never will again. */
static ssize_t write_some(const struct lines_out *out, struct iovec *iov, size_t count)
{
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = count};
    ssize_t n;
    do {
        n = out->kind == LINES_SOCKET
                ? sendmsg(out->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                : writev(out->fd, iov, (int)count);
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
static void append(struct lines_out *out, struct lines_frame *entry, mcplug_buf *frame,
                   uint64_t serial, size_t line_len)
{
    *entry = (struct lines_frame){NULL, frame, line_len, serial};
    if (out->first == NULL)
        out->first = entry;
    else
        out->last->next = entry;
    out->last = entry;
    out->waiting += line_len;
}

/* Leaves the entry behind as the spare, if there is none. */
static void drop_first(struct lines_out *out)
{
    struct lines_frame *entry = out->first;
    out->first = entry->next;
    out->waiting -= entry->line_len;
    out->sent = 0;
    out->host->mem->buf_unref(entry->text);
    entry->text = NULL;
    if (out->spare == NULL)
        out->spare = entry;
    else
        out->host->mem->free(entry);
}

/* Nothing waits yet, and `out->sent` bytes of this line are out already. Half a
 * line cannot be taken back, which is why nothing here needs memory. */
static int queue_first(struct lines_out *out, mcplug_buf *frame, uint64_t serial,
                       size_t line_len, struct mcplug_error *err)
{
    struct lines_frame *entry = out->spare;
    int untouched = out->sent == 0;
    out->spare = NULL;
    append(out, entry, frame, serial, line_len);
    unsigned events = out->idle_events | MCPLUG_WRITABLE;
    if (out->host->loop->watch_update(out->watch, events) == 0)
        return MCPLUG_QUEUED;
    drop_first(out);
    if (untouched)
        return out->host->diag->fail(err, MCPLUG_EIO, "cannot wait for the peer to read");
    return break_off(out, EIO, err);
}

static int queue_next(struct lines_out *out, mcplug_buf *frame, uint64_t serial,
                      size_t line_len, struct mcplug_error *err)
{
    const struct mcplug_host *host = out->host;
    if (line_len > out->limit || out->waiting > out->limit - line_len) {
        host->mem->buf_unref(frame);
        return host->diag->fail(err, MCPLUG_EOVERLOADED,
                                "the peer does not read: %zu bytes wait to be sent",
                                out->waiting);
    }
    struct lines_frame *entry = host->mem->alloc(sizeof *entry);
    if (entry == NULL) {
        host->mem->buf_unref(frame);
        return host->diag->fail(err, MCPLUG_ENOMEM, "out of memory");
    }
    append(out, entry, frame, serial, line_len);
    return MCPLUG_QUEUED;
}

int lines_out_send(struct lines_out *out, mcplug_buf *frame, uint64_t serial,
                   struct mcplug_error *err)
{
    const struct mcplug_mem *mem = out->host->mem;
    struct mcplug_bytes text = mem->buf_bytes(frame);
    struct iovec iov[2];

    if (out->fd < 0 || out->broken) {
        mem->buf_unref(frame);
        return out->host->diag->fail(err, MCPLUG_ECLOSED, "the connection is closed");
    }
    if (out->first != NULL)
        return queue_next(out, frame, serial, text.len + 1, err);

    line_iov(text, 0, iov);
    ssize_t n = write_some(out, iov, 2);
    if (n < 0) {
        int os_error = errno;
        mem->buf_unref(frame);
        return break_off(out, os_error, err);
    }
    if ((size_t)n == text.len + 1) {
        mem->buf_unref(frame);
        return MCPLUG_OK;
    }
    out->sent = (size_t)n;
    return queue_first(out, frame, serial, text.len + 1, err);
}

/* Writes once, as many lines as fit in one call. Sets *all when nothing of them
 * is left, which is when another call may make sense. */
static ssize_t write_queued(const struct lines_out *out, int *all)
{
    struct iovec iov[2 * FRAMES_AT_ONCE];
    size_t count = 0, offered = 0, skip = out->sent;
    const struct lines_frame *entry = out->first;
    for (; entry != NULL && count < 2 * FRAMES_AT_ONCE; entry = entry->next) {
        line_iov(out->host->mem->buf_bytes(entry->text), skip, iov + count);
        offered += entry->line_len - skip;
        count += 2;
        skip = 0;
    }
    ssize_t n = write_some(out, iov, count);
    *all = n >= 0 && (size_t)n == offered;
    return n;
}

int lines_out_flush(struct lines_out *out, struct mcplug_error *err)
{
    while (out->first != NULL) {
        int all;
        ssize_t n = write_queued(out, &all);
        if (n < 0)
            return break_off(out, errno, err);
        out->sent += (size_t)n;
        while (out->first != NULL && out->sent >= out->first->line_len) {
            size_t beyond = out->sent - out->first->line_len;
            uint64_t serial = out->first->serial;
            drop_first(out);
            out->sent = beyond;
            out->host->wire->written(out->conn, serial);
        }
        if (!all)
            return MCPLUG_OK;
    }
    /* Should this fail, the next event comes here again. */
    out->host->loop->watch_update(out->watch, out->idle_events);
    return MCPLUG_OK;
}

void lines_out_clear(struct lines_out *out)
{
    if (out->host == NULL)
        return;
    while (out->first != NULL)
        drop_first(out);
    out->host->mem->free(out->spare);
    out->spare = NULL;
    out->fd = -1;
    out->watch = NULL;
}
