/* Estimates of tokens: the same in pieces, of which the first byte is the size, and never
 * more than there are bytes. */
#include "content/tokens.h"
#include "must.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    size_t piece = (size_t)*data++ + 1;
    size--;
    char *text = malloc(size + !size); /* of just this size */
    MUST(text != NULL);
    memcpy(text, data, size);

    uint64_t whole = mp_tokens_of(text, size);
    MUST(whole <= size && !whole == !size);
    struct mp_tokens t = {0};
    for (size_t at = 0; at < size; at += piece) {
        mp_tokens_feed(&t, text + at, size - at < piece ? size - at : piece);
        MUST(mp_tokens_count(&t) <= t.len);
    }
    MUST(mp_tokens_count(&t) == whole);
    free(text);
    return 0;
}
