/* plugins/common/header.c - HTTP header fields that are safe to send, see header.h */
#include "header.h"

#include "base64.h"

#include <stdint.h>
#include <string.h>

static const char mark_begin[] = "=?base64?", mark_end[] = "?=";
enum { MARK_BEGIN = sizeof mark_begin - 1, MARK_END = sizeof mark_end - 1 };

/* Letters are those of ASCII, whatever the locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int is_visible(char c)
{
    return c > ' ' && c < 0x7F;
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int header_is_name(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (is_letter(name[i]) || name[i] == '-')
            continue; /* as nearly always */
        if (!is_visible(name[i]) || strchr("\"(),/:;<=>?@[\\]{}", name[i]))
            return 0;
    }
    return len > 0;
}

int header_is_value(const char *value)
{
    for (const unsigned char *p = (const unsigned char *)value; *p; p++)
        if ((*p < ' ' && *p != '\t') || *p == 0x7F)
            return 0;
    return 1;
}

int header_is_reserved(const char *name)
{
    /* In small letters; a star at the end stands for whatever follows. */
    static const char *const table[] = {
        "accept",
        "connection",
        "content-length",
        "content-type",
        "expect",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-param-*",
        "mcp-protocol-version",
        "mcp-session-id",
        "sec-websocket-*",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *want = table[i];
        size_t n = 0;
        while (want[n] && want[n] != '*' && want[n] == lower(name[n]))
            n++;
        if (want[n] == '*' || (want[n] == '\0' && name[n] == '\0'))
            return 1;
    }
    return 0;
}

/* ---- values of any bytes ---- */

size_t header_encoded_size(size_t len)
{
    if (len > SIZE_MAX / 2)
        return SIZE_MAX; /* more than anyone has */
    return MARK_BEGIN + (len + 2) / 3 * 4 + MARK_END + 1;
}

static int looks_encoded(const char *value, size_t len)
{
    return len >= MARK_BEGIN && memcmp(value, mark_begin, MARK_BEGIN) == 0 &&
           memcmp(value + len - MARK_END, mark_end, MARK_END) == 0;
}

/* Blanks and tabs at the ends would be lost on the way. */
static int is_plain(const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int inner = i > 0 && i + 1 < len;
        if (!is_visible(value[i]) && !(inner && value[i] == ' '))
            return 0;
    }
    return !looks_encoded(value, len);
}

size_t header_encode(const char *value, size_t len, char *out)
{
    size_t n = 0;
    if (is_plain(value, len)) {
        if (len)
            memcpy(out, value, len);
        n = len;
    } else {
        memcpy(out, mark_begin, MARK_BEGIN);
        n = MARK_BEGIN;
        n += base64_encode((const unsigned char *)value, len, out + n);
        memcpy(out + n, mark_end, MARK_END);
        n += MARK_END;
    }
    out[n] = '\0';
    return n;
}
