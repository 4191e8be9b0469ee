/* plugins/stdio/remarks.c - a server's stderr, see remarks.h */
#include "remarks.h"

#include <string.h>

static void pass_on(struct stdio_remarks *r, const unsigned char *line, size_t len)
{
    struct mcplug_bytes text = {line, len < STDIO_REMARK_MAX ? len : STDIO_REMARK_MAX};
    if (text.len > 0 && line[text.len - 1] == '\r')
        text.len--;
    if (text.len > 0)
        r->host->wire->remark(r->conn, text);
}

static void pass_on_kept(struct stdio_remarks *r)
{
    pass_on(r, r->line, r->len);
    r->host->mem->free(r->line);
    r->line = NULL;
    r->len = 0;
}

/* Without memory for it, the line is dropped. */
static void keep(struct stdio_remarks *r, const unsigned char *data, size_t len)
{
    size_t room = STDIO_REMARK_MAX - r->len;
    if (r->full || len == 0)
        return;
    if (r->line == NULL)
        r->line = r->host->mem->resize(NULL, STDIO_REMARK_MAX); /* not zeroed */
    if (r->line == NULL) {
        r->full = true;
        return;
    }
    if (len > room)
        len = room;
    memcpy(r->line + r->len, data, len);
    r->len += len;
    if (r->len == STDIO_REMARK_MAX) {
        pass_on_kept(r);
        r->full = true;
    }
}

static void wait_for_end(struct stdio_remarks *r, uint64_t ms);

/* The line may be another one than when the timer was started: lines that come in
 * pieces all the time need no timer each. */
static void on_timer(void *arg)
{
    struct stdio_remarks *r = arg;
    uint64_t age = r->host->loop->now(r->self) - r->since;
    r->timer = NULL;
    if (r->len > 0 && age < STDIO_REMARK_MS)
        wait_for_end(r, STDIO_REMARK_MS - age);
    else
        pass_on_kept(r);
}

/* Without memory for it, the line waits for its end. */
static void wait_for_end(struct stdio_remarks *r, uint64_t ms)
{
    if (r->timer == NULL)
        r->timer = r->host->loop->timer_start(r->self, ms, on_timer, r);
}

void stdio_remarks_take(struct stdio_remarks *r, const unsigned char *data, size_t len)
{
    const unsigned char *end;
    while (len > 0 && (end = memchr(data, '\n', len)) != NULL) {
        size_t n = (size_t)(end - data);
        if (r->len == 0 && !r->full) {
            pass_on(r, data, n); /* the usual case, without a copy */
        } else {
            keep(r, data, n);
            pass_on_kept(r);
            r->full = false;
        }
        data = end + 1;
        len -= n + 1;
    }
    size_t waiting = r->len;
    keep(r, data, len);
    if (waiting == 0 && r->len > 0) {
        r->since = r->host->loop->now(r->self);
        wait_for_end(r, STDIO_REMARK_MS);
    }
}

void stdio_remarks_end(struct stdio_remarks *r)
{
    pass_on_kept(r);
    stdio_remarks_clear(r);
}

void stdio_remarks_clear(struct stdio_remarks *r)
{
    if (r->timer != NULL)
        r->host->loop->timer_stop(r->timer);
    r->timer = NULL;
    r->host->mem->free(r->line);
    r->line = NULL;
    r->len = 0;
}
