/* Line framing: for any bytes in any pieces, the lines that come out are those of a
 * plain splitter. */
#include "base/mem.h"
#include "plugin/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char out[1 << 20];
static size_t n_out;
static int open_line;

static void feed(mcplug_conn *conn, uint64_t exchange, struct mcplug_bytes piece,
                 int last)
{
    (void)conn;
    if (exchange != 0 || n_out + piece.len + 1 > sizeof out)
        abort();
    if (piece.len)
        memcpy(out + n_out, piece.data, piece.len);
    n_out += piece.len;
    open_line = !last;
    if (last)
        out[n_out++] = '\n';
}

static const struct mcplug_wire wire = {.struct_size = sizeof wire, .feed = feed};
static const struct mcplug_mem mem = {
    .struct_size = sizeof mem, .alloc = mp_alloc, .free = mp_free};
static const struct mcplug_host host = {
    .struct_size = sizeof host, .mem = &mem, .wire = &wire};

/* The same thing, the simple way. */
static size_t split(const uint8_t *p, size_t len, unsigned char *to)
{
    size_t n = 0;
    if (len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) {
        p += 3;
        len -= 3;
    }
    while (len) {
        const uint8_t *end = memchr(p, '\n', len);
        size_t line = end ? (size_t)(end - p) : len, kept = line;
        if (kept && p[kept - 1] == '\r') /* also one that waits for its LF at the end */
            kept--;
        if (kept) {
            memcpy(to + n, p, kept);
            n += kept;
            to[n++] = '\n';
        }
        size_t used = end ? line + 1 : line;
        p += used;
        len -= used;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char want[1 << 20];

    if (size < 1 || data[0] + 1u > size || size > 100000)
        return 0;
    const uint8_t *cuts = data + 1, *text = cuts + data[0];
    size_t len = size - 1 - data[0], n_want = split(text, len, want);
    n_out = 0;
    open_line = 0;
    mcplug_framer *f = mp_lines_table.create(&host, NULL, 0);
    if (!f)
        abort();
    for (size_t at = 0, i = 0; at < len;) {
        size_t step = data[0] ? cuts[i++ % data[0]] % 7 + 1u : len;
        if (step > len - at)
            step = len - at;
        mp_lines_table.feed(f, (struct mcplug_bytes){text + at, step});
        at += step;
    }
    mp_lines_table.end(f);
    mp_lines_table.free(f);
    if (open_line || n_out != n_want || memcmp(out, want, n_out)) {
        fprintf(stderr, "%zu bytes out, %zu wanted\n", n_out, n_want);
        abort();
    }
    return 0;
}
