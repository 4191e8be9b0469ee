/* What may be a secret is not shown: see mp_mask_entry() for the rule. */
#include "base/mem.h"
#include "config/expand.h"
#include "config/keys.h"

#include <strings.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789-."
#define NAME LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define BLANKS " \t\r\n'\"`\\"
#define METAS ";|&<>()`"
/* What of the next argument; VALUE: behind =; CODE: one word at a time, for the rest is
 * what runs; EITHER: -e is followed by a variable or by code. */
enum next { SHOW, HIDE_VALUE, HIDE, CODE, EITHER };

/* Hides all up to `end`, or the end of a reference there; "Bearer" and its like stay. */
static const char *add_hidden(struct mp_str *out, const char *p, const char *end)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "token "};

    for (size_t i = 0, n; i < MP_COUNT(schemes); i++)
        if (strncasecmp(p, schemes[i], n = strlen(schemes[i])) == 0 && p + n < end) {
            mp_str_add(out, p, n);
            p += n;
        }
    for (bool hidden = false; p < end;) {
        size_t dollars = strspn(p, "$"), n = dollars == 1 ? mp_expand_reference(p) : 0;
        if (n)
            mp_str_add(out, p, n);
        else if (!hidden)
            mp_str_adds(out, "***");
        hidden = n == 0;
        p += n ? n : dollars ? dollars : 1;
    }
    return p;
}

/* Can it be nothing but a host, with a port or without? */
static bool is_host(const char *p, const char *stop)
{
    const char *name = p + strspn(p, LOWER);
    const char *port = *name == ':' ? name + 1 + strspn(name + 1, "0123456789") : name;
    return name > p && port == stop;
}

/* From the // of a URL on. An @ behind the host may be part of a password with a slash,
 * but what every reader takes for the host is shown. */
static const char *add_authority(struct mp_str *out, const char *p, const char *end)
{
    const char *host = p + 2, *stop = host + strcspn(host, "/?#" BLANKS "<>");
    const char *sign = memrchr(host, '@', (size_t)(stop - host));
    const char *last = memrchr(stop, '@', (size_t)(end - stop));
    const char *name = sign ? sign + 1 : host;
    bool sure = is_host(name, stop) && (sign || memchr(host, '.', (size_t)(stop - host)));

    mp_str_add(out, p, 2);
    if (last && !sure)
        return add_hidden(out, host, end);
    if (sign)
        add_hidden(out, host, sign);
    if (!last || (!sign && stop + strspn(stop, NAME "/") >= last))
        return sign ? sign : host;
    mp_str_add(out, sign ? sign : host, (size_t)(stop - (sign ? sign : host)));
    return add_hidden(out, stop, last);
}

/* Where the secret begins that a name announces: --key, -pX, -sSu; NULL: nowhere. */
static const char *secret_after(const char *name, size_t len)
{
    const char *stop = name + len, *sign = stop + strspn(stop, BLANKS);
    size_t flags = *name == '-' ? 1 + strspn(name + 1, "sSfLvigjnNqt") : len;
    bool sure = *name == '-' || (*sign && strchr("=:>", *sign)) ||
                (len == 6 && strncasecmp(name, "bearer", len) == 0);

    if (flags < len && strchr(len == 2 ? "upHka" : "upHe", name[flags]) &&
        (flags == 1 || flags + 1 == len))
        return flags + 1 == len ? sign + strspn(sign, "= ") : name + 2;
    return sure && mp_key_tells(name, len) ? sign + strspn(sign, "=:>" BLANKS) : NULL;
}

/* The quote that is open at `end`, if `quote` was at `p`; '\0': none. */
static char quote_at(char quote, const char *p, const char *end)
{
    for (; p < end; p++)
        if (quote ? *p == quote : *p == '\'' || *p == '"')
            quote = quote ? '\0' : *p;
    return quote;
}

/* The end of a secret in code: of the quoted text, or of the word. What a shell runs to
 * get it is no secret. */
static const char *word_end(const char *p, char quote, bool pem)
{
    if (!quote && (*p == '\'' || *p == '"'))
        quote = *p++;
    if (pem && !quote)
        return p + strcspn(p, METAS "\n'\"$");
    for (; *p && *p != quote; p++)
        if ((!quote && strchr(METAS BLANKS, *p)) ||
            (quote != '\'' && (*p == '`' || (p[0] == '$' && p[1] == '('))))
            break;
    return p;
}

/* Do options of that spelling have code behind them? sh -c, bash -lc, node --eval */
static bool takes_code(const char *text)
{
    size_t n = strlen(text);
    return (n >= 2 && n <= 5 && text[0] == '-' && text[n - 1] == 'c' &&
            strspn(text + 1, "abcdefghijklmnopqrstuvwxyz") == n - 1) ||
           strcmp(text, "--eval") == 0;
}

/* Adds what may be seen of a text. `next` is HIDE_VALUE: what follows = may not; CODE: a
 * secret ends with its word, else with the text. */
static enum next add_text(struct mp_str *out, const char *p, enum next next)
{
    const char *text = p, *word = p, *stop, *secret = NULL;
    bool code = next == CODE, value = next == HIDE_VALUE;
    char quote = '\0';

    for (bool url = false; *p; p = stop, url = url && p < word) {
        size_t name = strspn(p, NAME), reference = mp_expand_reference(p);
        word = p < word ? word
               : code   ? p + strcspn(p, quote ? BLANKS "<>" : BLANKS METAS)
                        : p + strcspn(p, BLANKS "<>");
        bool pem = strncmp(p, "-----BEGIN", 10) == 0; /* a key */
        if (pem || (name && (p == text || !strchr("/@\\", p[-1]))))
            secret = pem ? p : secret_after(p, name);
        stop = p + (name ? name : reference ? reference : 1);
        if (secret && code) {
            mp_str_add(out, p, (size_t)(secret - p));
            quote = quote_at(quote, p, secret);
            stop = word_end(secret, quote, pem);
            add_hidden(out, secret, stop);
            p = secret;
            secret = NULL;
        } else if (secret) {
            mp_str_add(out, p, (size_t)(secret - p));
            add_hidden(out, secret, secret + strlen(secret));
            return !*secret || (secret == p + 2 && mp_key_tells(p, name)) ? HIDE : SHOW;
        } else if (p[0] == '/' && p[1] == '/') {
            stop = add_authority(out, p, word);
            url = true;
        } else if ((url && strchr("?#", *p)) || (value && *p == '=')) {
            mp_str_addc(out, *p);
            stop = !value ? word : code ? word_end(p + 1, quote, false) : p + strlen(p);
            stop = add_hidden(out, p + 1, stop);
        } else {
            mp_str_add(out, p, (size_t)(stop - p));
            value |= (name == 2 && !memcmp(p, "-e", 2)) ||
                     (name == 5 && !memcmp(p, "--env", 5));
            if (value && !*stop && *p == '-' && !code)
                return p == text && name == 2 ? EITHER : HIDE_VALUE;
        }
        quote = code ? quote_at(quote, p, stop) : '\0';
    }
    return !code && takes_code(text) ? CODE : SHOW;
}

static enum next add_string(struct mp_str *out, enum mp_shown shown, enum next next,
                            mp_view v)
{
    char *text = mp_view_strdup(v);
    bool option = text && (strcmp(text, "-c") == 0 || strcmp(text, "-e") == 0);
    bool hidden = shown == MP_HIDDEN || (next == HIDE && !option);
    struct mp_str seen;

    mp_str_init(&seen, MP_FILE_MAX * 4);
    if (next == EITHER && text)
        next = text[strcspn(text, BLANKS "()")] ? CODE : HIDE_VALUE;
    next = text ? add_text(&seen, text, next) : SHOW;
    if (text && hidden) {
        seen.len = 0;
        add_hidden(&seen, text, text + strlen(text));
    }
    out->failed |= !text || seen.failed;
    mp_str_add_json(out, seen.data ? seen.data : "", seen.len);
    mp_str_clear(&seen);
    mp_free(text);
    return next;
}

static enum next add_value(struct mp_str *out, enum mp_shown shown, enum next next,
                           mp_view v)
{
    struct mp_walk w = mp_walk_into(v);
    bool object = mp_view_is_object(v), hidden = shown == MP_HIDDEN || next == HIDE;
    mp_view key = mp_text(""), item;

    if (mp_view_is_string(v) && shown != MP_SHOWN)
        return add_string(out, shown, next, v);
    if (!object && !mp_view_is_array(v)) {
        v = hidden && !strchr("tfn", v.data[0]) ? mp_text("\"***\"") : v;
        mp_str_add(out, v.data, v.len);
        return SHOW;
    }
    mp_str_addc(out, object ? '{' : '[');
    while (object ? mp_walk_member(&w, &key, &item) : mp_walk_element(&w, &item)) {
        enum mp_shown inner = object ? mp_key_shown(key, shown, &out->failed) : shown;
        if (!out->failed && !strchr("{[", out->data[out->len - 1]))
            mp_str_addc(out, ',');
        mp_str_add(out, key.data, key.len);
        mp_str_adds(out, object ? ":" : "");
        next = add_value(out, inner, object ? SHOW : next, item);
    }
    mp_str_addc(out, object ? '}' : ']');
    return SHOW;
}

bool mp_mask_entry(mp_view entry, struct mp_str *out)
{
    add_value(out, MP_SHOWN_MASKED, SHOW, entry);
    return !out->failed;
}
