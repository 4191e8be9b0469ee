#include "toolbox/toolbox.h"

#include "base/text.h"

/* Length of the line end there, as any reader may see one; 0: it is none. */
static size_t line_end(const unsigned char *p, size_t len)
{
    if (p[0] == '\r' && len > 1 && p[1] == '\n')
        return 2;
    if ((p[0] >= '\n' && p[0] <= '\r') || (p[0] >= 0x1c && p[0] <= 0x1e))
        return 1;
    if (len > 1 && p[0] == 0xc2 && p[1] == 0x85) /* U+0085 */
        return 2;
    return len > 2 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] & 0xfe) == 0xa8 ? 3 : 0;
}

/* Not to be seen, and of no use in text. What joins letters and emoji is. */
static bool is_hidden(uint32_t code)
{
    bool joins = code == 0x200c || code == 0x200d || code == 0xfe0e || code == 0xfe0f;
    return code != '\t' && !joins && mp_utf8_deceives(code);
}

/* Past what cannot be seen. */
static const unsigned char *skip_blank(const unsigned char *p, const unsigned char *end)
{
    while (p < end) {
        size_t n = mp_utf8_len(p, (size_t)(end - p));
        uint32_t code = n ? mp_utf8_get(p, n) : 0;
        if (code != ' ' && code != 0xa0 && code != 0xfe0f && !mp_utf8_deceives(code))
            break;
        p += n ? n : 1;
    }
    return p;
}

/* Would this line, up to `end`, be taken for a heading, or for what makes one of the line
 * before it? */
static bool is_heading(const unsigned char *p, const unsigned char *end)
{
    p = skip_blank(p, end);
    if (p == end)
        return false;
    unsigned char first = *p;
    if (first == '#')
        return true;
    if (first == '<')
        return end - p > 2 && (p[1] | 0x20) == 'h' && p[2] >= '1' && p[2] <= '6';
    if (first != '=' && first != '-')
        return false;
    while (p < end && *p == first)
        p++;
    return skip_blank(p, end) == end; /* it underlines the one before */
}

static const unsigned char *find_end(const unsigned char *p, const unsigned char *end)
{
    while (p < end && !line_end(p, (size_t)(end - p)))
        p++;
    return p;
}

bool mp_quote_needed(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;

    while (p < end) {
        const unsigned char *stop = find_end(p, end);
        if (is_heading(p, stop) || (stop < end && *stop != '\n'))
            return true;
        for (size_t n; p < stop; p += n) {
            n = mp_utf8_len(p, (size_t)(stop - p));
            if (!n || is_hidden(mp_utf8_get(p, n)))
                return true;
        }
        p = stop + (stop < end);
    }
    return false;
}

void mp_quote(struct mp_str *out, const char *text, size_t len, bool all)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;

    while (p < end) {
        const unsigned char *stop = find_end(p, end);
        if (all || is_heading(p, stop))
            mp_str_adds(out, p < stop ? "> " : ">");
        for (size_t n; p < stop; p += n) {
            n = mp_utf8_len(p, (size_t)(stop - p));
            bool shown = n && !is_hidden(mp_utf8_get(p, n));
            n = n ? n : 1;
            if (shown)
                mp_str_add(out, p, n);
            else
                mp_str_add_escaped(out, (const char *)p, n, false);
        }
        if (p < end) {
            mp_str_addc(out, '\n');
            p += line_end(p, (size_t)(end - p));
        }
    }
}

void mp_quote_description(struct mp_str *out, mp_view string)
{
    struct mp_str plain, quoted;

    mp_str_init(&plain, string.len + 1);
    mp_str_init(&quoted, 12 * string.len + 1);
    if (!mp_str_add_view(&plain, string)) {
        out->failed = true;
    } else if (!mp_quote_needed(plain.data, plain.len)) {
        mp_str_add(out, string.data, string.len);
    } else {
        mp_quote(&quoted, plain.data, plain.len, false);
        mp_str_add_json(out, quoted.data, quoted.len);
        out->failed = out->failed || quoted.failed;
    }
    mp_str_clear(&plain);
    mp_str_clear(&quoted);
}
