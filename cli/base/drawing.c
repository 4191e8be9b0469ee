#include "cli/base/drawing.h"

#include "base/text.h"

#include <stdint.h>
#include <string.h>

#define FILE_HEAD "1337;File=inline=1;"
#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

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

/* Printable ASCII, and newlines where `lines`, up to the end of a string. */
static bool take_string(struct reader *r, bool lines)
{
    while (r->at < r->end &&
           ((*r->at >= ' ' && *r->at <= '~') || (lines && *r->at == '\n')))
        r->at++;
    return take(r, "\033\\");
}

/* `ESC _ G KEY=VALUE, .. ; DATA ESC \`: data comes with it (no t but d), is shown and
 * nothing else (no a but T), and the terminal is not asked for an answer (no i, no I). */
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
        ok = ok && !(*key == 't' && *value != 'd') && !(*key == 'a' && *value != 'T');
        if (!ok || (!take(r, ",") && r->at < r->end && *r->at != ';' && *r->at != '\033'))
            return false;
    }
    return take_string(r, false);
}

/* What is behind FILE_HEAD: how large it is to be, and the data. */
static bool take_file(struct reader *r)
{
    static const char *const keys[] = {
        "width=", "height=", "preserveAspectRatio=", "size="};
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < sizeof keys / sizeof keys[0] && !more; i++)
            more = take(r, keys[i]);
        if (more)
            skip(r, "0123456789px%auto");
        if (more && !take(r, ";"))
            break;
    }
    if (!take(r, ":"))
        return false;
    skip(r, BASE64);
    return take(r, "\a") || take(r, "\033\\");
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
        return take(r, "q") && take_string(r, true);
    }
    return take(r, "]" FILE_HEAD) && take_file(r);
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

/* Only colours have `ESC [`. A reset that sets others too, or ends a list, is not taken
 * for one: 38;5;0 is a colour. */
bool cli_drawing_leaves_colours(const char *text, size_t len)
{
    static const char *const resets[] = {"\033[0m", "\033[m"};
    struct reader last = {NULL, text + len};

    for (size_t i = len; i-- > 0 && !last.at;)
        if (i + 1 < len && text[i] == '\033' && text[i + 1] == '[')
            last.at = text + i;
    return last.at && !take(&last, resets[0]) && !take(&last, resets[1]);
}
