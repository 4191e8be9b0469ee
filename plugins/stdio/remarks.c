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

static void keep(struct stdio_remarks *r, const unsigned char *data, size_t len)
{
    size_t room = STDIO_REMARK_MAX - r->len;
    if (len > room)
        len = room;
    memcpy(r->line + r->len, data, len);
    r->len += len;
}

void stdio_remarks_take(struct stdio_remarks *r, const unsigned char *data, size_t len)
{
    const unsigned char *end;
    while (len > 0 && (end = memchr(data, '\n', len)) != NULL) {
        size_t n = (size_t)(end - data);
        if (r->len == 0) {
            pass_on(r, data, n); /* the usual case, without a copy */
        } else {
            keep(r, data, n);
            stdio_remarks_end(r);
        }
        data = end + 1;
        len -= n + 1;
    }
    keep(r, data, len);
}

void stdio_remarks_end(struct stdio_remarks *r)
{
    pass_on(r, r->line, r->len);
    r->len = 0;
}
