/* plugins/common/text.c - text that grows, JSON that is read, see text.h */
#include "text.h"

#include <stdio.h>
#include <string.h>

/* ---- text that grows ---- */

void text_init(struct text *t, const struct mcplug_mem *mem, size_t max)
{
    *t = (struct text){.mem = mem, .max = max};
}

void text_clear(struct text *t)
{
    if (t->mem != NULL)
        t->mem->free(t->data);
    text_init(t, t->mem, t->max);
}

void text_cut(struct text *t, size_t len)
{
    if (len >= t->len)
        return;
    t->len = len;
    t->data[len] = '\0';
}

struct mcplug_bytes text_bytes(const struct text *t)
{
    return (struct mcplug_bytes){(const unsigned char *)t->data, t->len};
}

void text_add(struct text *t, const void *data, size_t len)
{
    if (t->failed != 0)
        return;
    if (len > t->max - t->len) {
        t->failed = MCPLUG_ETOOBIG;
        return;
    }
    if (t->len + len + 1 > t->size) {
        size_t size = t->size < 512 ? 1024 : t->size * 2;
        while (size < t->len + len + 1)
            size *= 2;
        char *more = t->mem->resize(t->data, size);
        if (more == NULL) {
            t->failed = MCPLUG_ENOMEM;
            return;
        }
        t->data = more;
        t->size = size;
    }
    if (len > 0)
        memcpy(t->data + t->len, data, len);
    t->len += len;
    t->data[t->len] = '\0';
}

void text_adds(struct text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_addu(struct text *t, uint64_t n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    text_adds(t, digits);
}

void text_add_bytes(struct text *t, struct mcplug_bytes b)
{
    text_add(t, b.data, b.len);
}

/* The length of the character of UTF-8 that begins here; 0: it is none. */
static size_t char_len(const unsigned char *s, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n <= 1 || s[0] > 0xf4 || n > len)
        return n == 1;
    uint32_t c = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

static void add_escape(struct text *t, unsigned char c)
{
    char code[8];
    if (c == '"' || c == '\\')
        snprintf(code, sizeof code, "\\%c", c);
    else if (c == '\n')
        snprintf(code, sizeof code, "\\n");
    else
        snprintf(code, sizeof code, "\\u%04x", c);
    text_adds(t, code);
}

void text_add_string(struct text *t, struct mcplug_bytes utf8)
{
    const unsigned char *s = utf8.data;
    size_t from = 0, i = 0;
    text_adds(t, "\"");
    while (i < utf8.len) {
        size_t n = char_len(s + i, utf8.len - i);
        if (n > 1 || (n == 1 && s[i] >= ' ' && s[i] != '"' && s[i] != '\\')) {
            i += n;
            continue;
        }
        text_add(t, s + from, i - from);
        if (n == 1)
            add_escape(t, s[i]);
        else
            text_adds(t, "\xef\xbf\xbd");
        from = ++i;
    }
    if (i > from)
        text_add(t, s + from, i - from);
    text_adds(t, "\"");
}

void text_add_strings(struct text *t, const char *utf8)
{
    const unsigned char *s = (const unsigned char *)(utf8 != NULL ? utf8 : "");
    text_add_string(t, (struct mcplug_bytes){s, strlen((const char *)s)});
}

void text_add_inside(struct text *t, struct mcplug_bytes string)
{
    if (json_is_string(string))
        text_add(t, string.data + 1, string.len - 2);
}

static void add_char(struct text *t, uint32_t c)
{
    unsigned char out[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (n == 1) {
        out[0] = (unsigned char)c;
    } else {
        for (size_t i = n - 1; i > 0; i--, c >>= 6)
            out[i] = (unsigned char)(0x80 | (c & 0x3f));
        out[0] = (unsigned char)((0xf00 >> n & 0xff) | c);
    }
    text_add(t, out, n);
}

void text_add_half(struct text *t, text_half *half)
{
    if (*half != 0)
        text_adds(t, "\xef\xbf\xbd");
    *half = 0;
}

static void add_unit(struct text *t, uint32_t unit, text_half *half)
{
    if (*half != 0 && unit >= 0xdc00 && unit < 0xe000) {
        add_char(t, 0x10000 + ((uint32_t)(*half - 0xd800) << 10) + (unit - 0xdc00));
        *half = 0;
        return;
    }
    text_add_half(t, half);
    if (unit >= 0xd800 && unit < 0xdc00)
        *half = (text_half)unit;
    else
        add_char(t, unit >= 0xdc00 && unit < 0xe000 ? 0xfffd : unit);
}

static uint32_t hex4(const unsigned char *s)
{
    uint32_t n = 0;
    for (int i = 0; i < 4; i++)
        n = n << 4 | (uint32_t)(s[i] <= '9' ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
    return n;
}

void text_add_unescaped(struct text *t, struct mcplug_bytes string, text_half *half)
{
    static const char names[] = "bfnrt", chars[] = "\b\f\n\r\t";
    if (!json_is_string(string))
        return;
    const unsigned char *s = string.data + 1, *end = string.data + string.len - 1;
    while (s < end) {
        const unsigned char *slash = memchr(s, '\\', (size_t)(end - s));
        const unsigned char *stop = slash != NULL ? slash : end;
        if (stop > s) {
            text_add_half(t, half);
            text_add(t, s, (size_t)(stop - s));
        }
        s = stop;
        if (slash == NULL)
            break;
        if (s[1] == 'u') {
            add_unit(t, hex4(s + 2), half);
            s += 6;
        } else {
            const char *name = memchr(names, s[1], sizeof names - 1);
            add_unit(t, name != NULL ? (unsigned char)chars[name - names] : s[1], half);
            s += 2;
        }
    }
}

void text_add_path(struct text *t, const char *s)
{
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        char code[4];
        if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
            strchr("-._~/", c) != NULL)
            snprintf(code, sizeof code, "%c", c);
        else
            snprintf(code, sizeof code, "%%%02X", c);
        text_adds(t, code);
    }
}

/* ---- JSON ---- */

int json_is(struct mcplug_bytes value, const char *text)
{
    size_t n = strlen(text);
    return json_is_string(value) && value.len == n + 2 &&
           memcmp(value.data + 1, text, n) == 0;
}

int json_is_string(struct mcplug_bytes value)
{
    return value.len >= 2 && value.data[0] == '"';
}

int json_is_object(struct mcplug_bytes value)
{
    return value.len >= 2 && value.data[0] == '{';
}

int json_is_array(struct mcplug_bytes value)
{
    return value.len >= 2 && value.data[0] == '[';
}

/* Leaves out blanks and what separates values. */
static void skip_between(struct mcplug_bytes *rest)
{
    while (rest->len > 0 && memchr(" \t\r\n,:", rest->data[0], 6) != NULL) {
        rest->data++;
        rest->len--;
    }
}

static size_t string_len(struct mcplug_bytes s)
{
    size_t i = 1;
    while (i < s.len && s.data[i] != '"')
        i += s.data[i] == '\\' ? 2 : 1;
    return i < s.len ? i + 1 : s.len;
}

static size_t value_len(struct mcplug_bytes s)
{
    size_t i = 0, depth = 0;
    while (i < s.len) {
        unsigned char c = s.data[i];
        if (c == '"') {
            i += string_len((struct mcplug_bytes){s.data + i, s.len - i});
            if (depth == 0)
                return i;
            continue;
        }
        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (depth <= 1)
                return depth == 0 ? i : i + 1;
            depth--;
        } else if (depth == 0 && memchr(" \t\r\n,:", c, 6) != NULL) {
            return i;
        }
        i++;
    }
    return i;
}

static int take_value(struct mcplug_bytes *rest, struct mcplug_bytes *value)
{
    skip_between(rest);
    if (rest->len == 0)
        return 0;
    value->data = rest->data;
    value->len = value_len(*rest);
    rest->data += value->len;
    rest->len -= value->len;
    return value->len > 0;
}

struct mcplug_bytes json_trim(struct mcplug_bytes value)
{
    while (value.len > 0 && memchr(" \t\r\n", value.data[0], 4) != NULL) {
        value.data++;
        value.len--;
    }
    while (value.len > 0 && memchr(" \t\r\n", value.data[value.len - 1], 4) != NULL)
        value.len--;
    return value;
}

struct mcplug_bytes json_inside(struct mcplug_bytes value)
{
    value = json_trim(value);
    if (!json_is_array(value) && !json_is_object(value))
        return (struct mcplug_bytes){NULL, 0};
    return (struct mcplug_bytes){value.data + 1, value.len - 2};
}

int json_next(struct mcplug_bytes *rest, struct mcplug_bytes *value)
{
    return take_value(rest, value);
}

int json_next_member(struct mcplug_bytes *rest, struct mcplug_bytes *key,
                     struct mcplug_bytes *value)
{
    return take_value(rest, key) && take_value(rest, value);
}
