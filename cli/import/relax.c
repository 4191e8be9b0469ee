#include "cli/import/relax.h"

#include "json/skip.h"

static void blank(unsigned char *p, const unsigned char *end)
{
    for (; p < end; p++)
        if (*p != '\n' && *p != '\r')
            *p = ' ';
}

/* Behind the comment at `p`; `p` when there is none, NULL when it has no end. */
static unsigned char *skip_comment(unsigned char *p, unsigned char *end)
{
    if (end - p < 2 || *p != '/')
        return p;
    if (p[1] == '*') {
        unsigned char *close = memmem(p + 2, (size_t)(end - p) - 2, "*/", 2);
        return close ? close + 2 : NULL;
    }
    if (p[1] == '/')
        while (p < end && *p != '\n' && *p != '\r')
            p++;
    return p;
}

void cli_import_relax(char *text, size_t len)
{
    unsigned char *p = (unsigned char *)text, *end = p + len, *comma = NULL;
    unsigned char last = ','; /* the last byte that counts; no comma behind another */

    if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        memset(p, ' ', 3);
    while (p < end) {
        unsigned char *behind = skip_comment(p, end);
        if (!behind)
            return; /* no other has an end either; to look for it each time takes long */
        if (behind > p || mp_is_space(*p)) {
            blank(p, behind);
            p = behind > p ? behind : p + 1;
            continue;
        }
        if (comma && (*p == '}' || *p == ']'))
            *comma = ' ';
        comma = *p == ',' && !strchr(",:[{", last) ? p : NULL;
        last = *p;
        p = *p == '"' ? (unsigned char *)mp_skip_string(p, end) : p + 1;
    }
}
