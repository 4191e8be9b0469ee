#include "cli/base/drawing.h"

#include "base/text.h"

#include <stdint.h>
#include <string.h>

#define FILE_HEAD "1337;File=inline=1;"

struct reader {
    const char *at, *end;
};

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

/* Those of `set` that come next. Returns where they began. */
static const char *skip(struct reader *r, const char *set)
{
    const char *from = r->at;
    while (r->at < r->end && *r->at && strchr(set, *r->at))
        r->at++;
    return from;
}

static bool take(struct reader *r, const char *text)
{
    size_t n = strlen(text);
    if (left(r) < n || memcmp(r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* Printable ASCII, and newlines where `lines`, up to the end of a string; of OSC that may
 * be BEL. */
static bool take_string(struct reader *r, bool lines, bool bell)
{
    while (r->at < r->end &&
           ((*r->at >= ' ' && *r->at <= '~') || (lines && *r->at == '\n')))
        r->at++;
    return (bell && take(r, "\a")) || take(r, "\033\\");
}

/* `ESC _ G KEY=VALUE, .. ; DATA ESC \`: data comes with it (no t but d), and the terminal
 * is not asked for an answer (no i, no I, no a=q). */
static bool take_kitty(struct reader *r)
{
    while (r->at < r->end && *r->at != ';' && *r->at != '\033') {
        const char *key = r->at;
        bool ok = *key >= 'A' && *key <= 'z' && !strchr("iI", *key);
        r->at++;
        ok = ok && take(r, "=");
        const char *value =
            skip(r, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");
        ok = ok && r->at > value;
        ok = ok && !(*key == 't' && *value != 'd') && !(*key == 'a' && *value == 'q');
        if (!ok || (!take(r, ",") && r->at < r->end && *r->at != ';' && *r->at != '\033'))
            return false;
    }
    return take_string(r, false, false);
}

static bool take_sequence(struct reader *r)
{
    if (take(r, "[")) {
        skip(r, "0123456789;");
        return take(r, "m");
    }
    if (take(r, "_G"))
        return take_kitty(r);
    if (take(r, "P")) {
        skip(r, "0123456789;");
        return take(r, "q") && take_string(r, true, false);
    }
    return take(r, "]" FILE_HEAD) && take_string(r, false, true);
}

bool cli_drawing_is_one(const char *text, size_t len)
{
    struct reader r = {text, text + len};

    while (r.at < r.end) {
        unsigned char c = (unsigned char)*r.at;
        size_t n = mp_utf8_len((const unsigned char *)r.at, left(&r));
        bool is_control = c == 0x7f || (c < ' ' && c != '\n') ||
                          (c == 0xc2 && n == 2 && (unsigned char)r.at[1] < 0xa0);
        if (c == '\033') {
            r.at++;
            if (!take_sequence(&r))
                return false;
        } else if (!n || is_control) {
            return false;
        } else {
            r.at += n;
        }
    }
    return true;
}
