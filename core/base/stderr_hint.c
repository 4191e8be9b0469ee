#include "base/stderr_hint.h"

#include "base/text.h"

#include <string.h>

static bool begins(const char *line, size_t len, const char *with)
{
    size_t n = strlen(with);
    return len >= n && memcmp(line, with, n) == 0;
}

static bool has_word(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)line[i];
        if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c >= 0x80)
            return true;
    }
    return false;
}

/* "npm error " or, of older ones, "npm ERR! ": the length of that. */
static size_t npm_len(const char *line, size_t len)
{
    return begins(line, len, "npm error ") ? 10 : begins(line, len, "npm ERR! ") ? 9 : 0;
}

/* Of npm's many lines the first one says it; before it there is only a code. */
static bool is_npm_detail(const char *line, size_t len, const char *had)
{
    size_t n = npm_len(line, len), before = npm_len(had, strlen(had));
    return n && before && !begins(had + before, strlen(had + before), "code ");
}

bool mp_stderr_hint_more(const char *line, size_t len, const char *had)
{
    if (!len || !has_word(line, len))
        return false;
    if (!had || !*had)
        return true;
    return !begins(line, len, "  ") && line[0] != '\t' && /* a frame, a piece of source */
           !begins(line, len, "Node.js v") && !begins(line, len, "npm notice") &&
           !is_npm_detail(line, len, had);
}

void mp_stderr_hint_keep(char *said, const char *line, size_t len)
{
    char kept[MP_STDERR_HINT_MAX + 1];

    if (mp_stderr_hint_more(line, len, said) &&
        mp_text_line(kept, sizeof kept, line, len))
        strcpy(said, kept);
}
