#include "cli/watch/watch.h"

#include "base/mem.h"

#include <stdio.h>
#include <time.h>

static void drop_first(struct cli_kept *k)
{
    char **slot = &k->lines[k->first];
    k->bytes -= strlen(*slot) + 1;
    mp_free(mp_move(slot));
    k->first = (k->first + 1) % CLI_KEPT_LINES;
    k->n--;
}

void cli_kept_text(struct mp_str *out, const char *text, size_t len)
{
    const char *end = text + len, *nul;
    for (; (nul = memchr(text, '\0', (size_t)(end - text))); text = nul + 1) {
        mp_str_add(out, text, (size_t)(nul - text));
        mp_str_adds(out, "\\x00");
    }
    mp_str_add(out, text, (size_t)(end - text));
}

void cli_kept_add(struct cli_kept *k, bool from_stderr, const char *text, size_t len)
{
    struct mp_str line;
    struct tm tm;
    char at[16];
    time_t now = time(NULL);

    strftime(at, sizeof at, "%H:%M:%SZ", gmtime_r(&now, &tm));
    mp_str_init(&line, 4 * CLI_KEPT_LINE + 32);
    mp_str_addf(&line, "%s %s", at, from_stderr ? "| " : "");
    cli_kept_text(&line, text, len < CLI_KEPT_LINE ? len : CLI_KEPT_LINE);
    size_t size = line.len + 1;
    char *copy = mp_str_take(&line);
    if (!copy)
        return; /* no memory: it is not kept */
    while (k->n == CLI_KEPT_LINES || (k->n && k->bytes + size > CLI_KEPT_BYTES))
        drop_first(k);
    k->lines[(k->first + k->n++) % CLI_KEPT_LINES] = copy;
    k->bytes += size;
    k->added++;
}

const char *cli_kept_line(const struct cli_kept *k, size_t i)
{
    return k->lines[(k->first + i) % CLI_KEPT_LINES];
}

void cli_kept_clear(struct cli_kept *k)
{
    while (k->n)
        drop_first(k);
}
