/* Text that grows up to a limit. */
#include "html.h"

#include <string.h>

void html_text_add(struct html_text *t, const char *data, size_t len)
{
    if (t->full || t->nomem || len == 0)
        return;
    if (len > t->max - t->len) { /* whole characters of UTF-8 */
        t->full = true;
        for (len = t->max - t->len; len > 0 && (data[len] & 0xc0) == 0x80; len--)
            ;
    }
    if (len > t->size - t->len) {
        size_t size = t->size < 512 ? 1024 : t->size * 2;
        while (size < t->len + len)
            size *= 2;
        char *more = t->mem->resize(t->data, size);
        if (!more) {
            t->nomem = true;
            return;
        }
        t->data = more;
        t->size = size;
    }
    memcpy(t->data + t->len, data, len);
    t->len += len;
}

void html_text_clear(struct html_text *t)
{
    t->mem->free(t->data);
    t->data = NULL;
    t->len = t->size = 0;
    t->full = t->nomem = false;
}
