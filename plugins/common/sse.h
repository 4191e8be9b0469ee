/* plugins/common/sse.h - reads a stream of server-sent events.
 *
 * Nothing is kept of an event's data: it is handed on piece by piece, as it comes,
 * and its lines are joined with LF. What the stream says beside (type, id, retry) is
 * bounded. Line ends are CR, LF and CR LF; a byte order mark at the very beginning is
 * left out; pieces may be cut anywhere.
 */
#ifndef MCPLUG_COMMON_SSE_H
#define MCPLUG_COMMON_SSE_H

#include <mcplug/plugin.h>

enum {
    SSE_TYPE_MAX = 32, /* a longer one is cut, and so none that we know */
    SSE_ID_MAX = 1024  /* a longer one counts as none */
};

struct sse_in {
    /* A piece of the current event's data; never empty. `type` is what the event had
     * said of its type before; it may say another behind it. borrow */
    void (*data)(void *arg, const char *type, struct mcplug_bytes piece);
    /* The event is over; `has_data` when data() was called for it. An event without
     * data counts for its id and retry alone. `id` and `retry_ms` are up to date. */
    void (*event)(void *arg, const char *type, int has_data);
    void *arg;

    char id[SSE_ID_MAX]; /* the last event id; "": none, or more than can be kept */
    int64_t retry_ms;    /* -1: the stream said nothing of it; at most a day */

    /* the parser's own */
    char type[SSE_TYPE_MAX], next_id[SSE_ID_MAX], value[SSE_ID_MAX], word[8];
    size_t value_len, word_len;
    int bom, state, field, after_cr, has_field, has_id, has_data, in_data, bad;
    int64_t number;
};

void sse_in_init(struct sse_in *in,
                 void (*data)(void *arg, const char *type, struct mcplug_bytes piece),
                 void (*event)(void *arg, const char *type, int has_data), void *arg);

/* Feeds what was just read. */
void sse_in_feed(struct sse_in *in, const unsigned char *bytes, size_t len);

/* The stream is over, or begins anew: an event that has not ended is dropped, as the
 * format wants it. True when some of its data had been handed on. `id` and `retry_ms`
 * stay. */
int sse_in_restart(struct sse_in *in);

#endif /* MCPLUG_COMMON_SSE_H */
