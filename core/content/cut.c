/* The share that each part of a result gets of a limit. */
#include "content/content.h"

const char mp_cut_warning[] =
    "\n\n[OUTPUT TRUNCATED - exceeded %u token limit]\n\nThe tool output was truncated. "
    "If "
    "this MCP server provides pagination or filtering tools, use them to retrieve "
    "specific portions of the data. If pagination is not available, inform the user that "
    "you are working with truncated output and results may be incomplete.";

/* What is written in place of the middle takes a part of the share. */
#define MIDDLE_ROOM 64

static void cut_text(struct mp_item *item, uint64_t left, unsigned tail)
{
    item->kept = true;
    item->keep = left;
    if (tail && left > 4 * MIDDLE_ROOM) {
        left -= MIDDLE_ROOM;
        item->keep_tail = left * tail / 100;
        item->keep = left - item->keep_tail;
    }
}

/* The next in the order in which they get their share: the one of the highest priority
 * that has not had its turn, the first of several. NULL: there are no more. */
static struct mp_item *next_of(struct mp_item *items, size_t n, int *priority, size_t *at)
{
    for (;;) {
        for (; *at < n; ++*at)
            if (items[*at].priority == *priority)
                return &items[(*at)++];
        int lower = -1;
        for (size_t i = 0; i < n; i++)
            if (items[i].priority < *priority && items[i].priority > lower)
                lower = items[i].priority;
        if (lower < 0)
            return NULL;
        *priority = lower;
        *at = 0;
    }
}

#define SHRUNK_MIN 1024 /* bytes, below which nothing can be seen on an image */

/* What an image takes of the `left` characters; 0: it does not fit. */
static uint64_t image_share(struct mp_item *item, uint64_t left, mp_shrink_fn *shrink,
                            void *arg)
{
    const uint64_t image = MP_IMAGE_TOKENS * MP_CHARS_PER_TOKEN;
    uint64_t bytes = left / 4 * 3 + left % 4 * 3 / 4;

    if (left >= image)
        return image;
    if (!shrink || bytes < SHRUNK_MIN || !shrink(arg, item, bytes))
        return 0;
    return item->data.len;
}

void mp_cut_share(struct mp_item *items, size_t n, uint64_t limit, unsigned tail,
                  mp_shrink_fn *shrink, void *arg)
{
    int priority = 1001;
    size_t at = n;
    uint64_t used = 0;
    struct mp_item *item;

    while ((item = next_of(items, n, &priority, &at))) {
        if (item->image.mime) {
            uint64_t share =
                image_share(item, used < limit ? limit - used : 0, shrink, arg);
            item->kept = share > 0;
            used += share;
        } else if (used >= limit) {
            break;
        } else if (item->chars > limit - used) {
            cut_text(item, limit - used, tail);
            break;
        } else {
            item->kept = true;
            item->keep = item->chars;
            used += item->chars;
        }
    }
}
